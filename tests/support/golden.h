/* golden.h — reading the golden files: event logs, calls, manifests. Test support.
 *
 * A reader gives one line after the other, decompressed when the file is gzip, as text and as JSON
 * tree; what it returns is valid until the next call on that reader. A damaged file or one that is
 * not in the expected form ends the test program with a message that names file and line: golden
 * files are ours, so that is never a finding about the code under test.
 * The forms are described in tests/data/golden/README.md and in the store spec, section 10. */
#ifndef MK_TESTS_GOLDEN_H
#define MK_TESTS_GOLDEN_H

#include "base/json.h"

#define GOLDEN_PATH_MAX 1024

/* Path of a file below the folder that an environment variable names; false when the variable is
 * not set or the file is not there, in which case the test prints why and skips. */
bool golden_test_path(char path[GOLDEN_PATH_MAX], const char *name);   /* $MK_TEST_DATA/golden/ */
bool golden_shared_path(char path[GOLDEN_PATH_MAX], const char *name); /* $MK_SHARED_DATA/ */

typedef struct golden golden;

golden *golden_open(const char *path);
void golden_close(golden *file); /* NULL is fine */

/* The next line without its LF; false at the end. */
bool golden_line(golden *file, mk_str *line);
/* The next line parsed; false at the end. */
bool golden_json(golden *file, mk_str *line, const mk_json **value);
/* The whole rest of the file as one JSON value. */
const mk_json *golden_all(golden *file);

/* One record of an event log. */
typedef struct golden_batch {
    mk_str line; /* without the LF */
    mk_str batch_id;
    int64_t tt;
    const mk_json *ops;
    uint64_t end;   /* file offset just behind the record's LF (uncompressed) */
    char chain[17]; /* rolling hash up to and with this record (store spec, 10.3) */
} golden_batch;

/* Opens a log and checks the header line. */
golden *golden_log_open(const char *path);
bool golden_log_next(golden *log, golden_batch *batch);

/* One line of a calls file. */
typedef struct golden_call {
    mk_str op;
    const mk_json *args;
    bool ok;
    mk_str digest;          /* when ok */
    const mk_json *extent;  /* when ok */
    const mk_json *payload; /* when ok and short; else NULL */
    mk_str code;            /* when not ok */
    const mk_json *details; /* when not ok */
    int line;               /* from 1 */
} golden_call;

bool golden_call_next(golden *calls, golden_call *call);

#endif

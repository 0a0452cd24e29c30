/* load.h — getting data in: files and git history become write batches. Layer: load.
 *
 * A front end per format turns its input into events and ops, a batcher collects them and commits one
 * batch at a time. Each batch is atomic, so that a load that stops has loaded a whole number of
 * batches, and the report says up to which line. Nothing here prints.
 * Source: store spec, 7.7, 7.8, 21 and 24 (1 to 6, 15); docs/ingest.md is the user's side of it. */
#ifndef MK_LOAD_LOAD_H
#define MK_LOAD_LOAD_H

#include "store/store.h"

typedef enum mk_load_format {
    MK_LOAD_AUTO = 0, /* by name and content; see mk_load_detect */
    MK_LOAD_EDGES,    /* edge list: SRC DST TIME [WEIGHT...] */
    MK_LOAD_CSV,
    MK_LOAD_TSV,
    MK_LOAD_JSONL,    /* lines that are events or ops */
    MK_LOAD_EVENTLOG, /* the reference's log, into an empty store */
    MK_LOAD_GIT       /* a repository's history; the path is its folder */
} mk_load_format;

/* Edge lists of the store spec, section 21, to the letter. */
typedef enum mk_load_preset {
    MK_LOAD_PRESET_NONE = 0,
    MK_LOAD_PRESET_COLLEGEMSG,
    MK_LOAD_PRESET_EMAIL_EU,
    MK_LOAD_PRESET_BITCOINOTC
} mk_load_preset;

typedef enum mk_load_separator {
    MK_LOAD_SEP_AUTO = 0, /* the first data row: a tab, else a comma, else blanks */
    MK_LOAD_SEP_BLANKS,   /* runs of spaces and tabs */
    MK_LOAD_SEP_TAB,
    MK_LOAD_SEP_COMMA
} mk_load_separator;

/* Unit of times that are written as plain numbers. AUTO looks at the largest magnitude in the first
 * rows: below 1e11 seconds, below 1e14 milliseconds, else microseconds. A later time of another class
 * is a bad row; times below 1e8 fit every class. */
typedef enum mk_load_unit {
    MK_LOAD_UNIT_AUTO = 0,
    MK_LOAD_UNIT_S,
    MK_LOAD_UNIT_MS,
    MK_LOAD_UNIT_US
} mk_load_unit;

typedef struct mk_load_progress {
    uint64_t rows;        /* read so far */
    uint64_t bytes;       /* of the input, compressed where it is; 0 when unknown */
    uint64_t bytes_total; /* 0 when unknown */
} mk_load_progress;

/* False stops the load with MK_E_CANCELLED; batches committed by then stay. */
typedef bool mk_load_progress_fn(void *ctx, const mk_load_progress *progress);

/* Strings are borrowed for the call. A zero member means what its comment says. */
typedef struct mk_load_options {
    const char *path; /* "-" is standard input; a folder for git */
    mk_load_format format;
    mk_load_preset preset;
    mk_load_separator separator; /* edge lists */
    mk_load_unit unit;
    /* Edge lists: names by position, such as "src,dst,rating,time". src, dst, time, end, rel_type and
     * disc have a meaning, "-" is skipped, anything else is a property, with a type after a colon if
     * wanted. NULL: "src,dst,time", further columns are weight, weight2, ... */
    const char *columns;
    /* CSV and TSV: "src=from,dst=to,vt_s=start,vt_e=end,rel_type='KNOWS',props=amount:int,note";
     * NULL: by the usual names in the header. See docs/ingest.md. */
    const char *mapping;
    bool no_header;         /* CSV and TSV: columns are called 1, 2, ... */
    const char *rel_type;   /* where the input has none; NULL: "EDGE" */
    const char *prefix;     /* put before every uid; NULL: "n" for edge lists, nothing otherwise */
    const char *node_label; /* of nodes that events create; NULL: "Node" */
    const char *source;     /* NULL: "ingest" */
    const char *provenance_ref; /* NULL: null */
    const char *revision;       /* git: where history ends; NULL: HEAD */
    size_t batch_events;        /* events a batch; 0: 50,000 */
    size_t batch_ops;           /* other ops a batch; 0: 10,000 */
    uint64_t skip_bad;          /* bad rows to pass over before giving up */
    bool create_endpoints;      /* assert_edge also asserts endpoints that are no nodes yet */
    mk_load_progress_fn *progress; /* may be NULL; called every few thousand rows */
    void *progress_ctx;
    const mk_alloc *alloc; /* NULL: mk_alloc_default */
    const mk_clock *clock; /* for `seconds`; NULL: mk_clock_system */
} mk_load_options;

#define MK_LOAD_BAD_KEPT 8

typedef struct mk_load_bad {
    uint64_t line;
    char path[192];    /* FILE:LINE or FILE:LINE:COLUMN */
    char message[256]; /* cut when longer */
} mk_load_bad;

typedef struct mk_load_report {
    mk_load_format format; /* as detected */
    mk_load_unit unit;     /* as given or detected; AUTO when no number told */
    uint64_t rows;         /* data rows, records, lines or commits read, bad ones included */
    uint64_t events, ops;  /* committed */
    uint64_t batches;      /* committed */
    uint64_t failed_batches; /* of a replayed log: kept and without effect, as in the reference */
    uint64_t bytes;          /* of text read, after decompression */
    uint64_t skipped;        /* bad rows passed over */
    mk_tt first_tt, last_tt; /* of the batches committed; 0 without any */
    uint64_t done_line;      /* every row up to this line is committed or skipped; git: commits */
    double seconds;
    double rows_per_s;
    mk_load_bad bad[MK_LOAD_BAD_KEPT]; /* the first of the rows passed over */
    size_t bad_count;
} mk_load_report;

/* Loads one input. The report is filled on failure too, and then says how much is committed.
 *
 * Errors: MK_E_INVALID_ARG for a bad row, with path FILE:LINE[:COLUMN] and nothing of the current
 * batch loaded; MK_E_INVALID_ARG for options that contradict each other or the input; MK_E_NOT_FOUND,
 * MK_E_LIMIT, MK_E_CANCELLED, MK_E_NOMEM; MK_E_STATE for a damaged input, a store that refuses, a log
 * that needs an empty store ("not_empty"), a repository loaded before ("already_loaded"), a failing
 * git ("git_failed", "git_missing"). */
MK_CHECK mk_code mk_load_run(mk_store *store, const mk_load_options *options,
                             mk_load_report *report, mk_err *err);

/* Names as the command line spells them; false when there is no such name. */
bool mk_load_format_named(const char *name, mk_load_format *out);
bool mk_load_preset_named(const char *name, mk_load_preset *out);
bool mk_load_unit_named(const char *name, mk_load_unit *out);
const char *mk_load_format_name(mk_load_format format);
const char *mk_load_unit_name(mk_load_unit unit);

/* The format by the name of the file and its first bytes (decompressed). `head` may be cut anywhere.
 * MK_LOAD_AUTO when nothing fits. A known file name also gives its preset. */
mk_load_format mk_load_detect(const char *path, mk_str head, mk_load_preset *preset);

#endif

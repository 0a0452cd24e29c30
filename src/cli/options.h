/* options.h — the option parser. Layer: cli. No allocation.
 *
 * GNU long options (`--store DIR`, `--store=DIR`), single letters (`-n 3`, `-n3`), options and words in
 * any order, `--` before words that begin with a dash. A command declares its options as a table; help
 * texts are made from the same table, so they cannot disagree. */
#ifndef MK_CLI_OPTIONS_H
#define MK_CLI_OPTIONS_H

#include "base/str.h"
#include "base/timetext.h"

#define MK_OPTION_VALUES_MAX 3

/* One option. Tables end with an entry without a name. */
typedef struct mk_option {
    const char *name;   /* without the dashes */
    const char *value;  /* what its values are called in the help, "DIR"; NULL: a flag */
    const char *doc;    /* one sentence without a full stop */
    char letter;        /* 0: none */
    uint8_t count;      /* number of values when there are several; 0 reads as one */
} mk_option;

#define MK_OPTIONS_MAX 40

/* What was given. Everything points into argv. */
typedef struct mk_options {
    const mk_option *tables[2]; /* the command's own, and those of every command */
    bool given[MK_OPTIONS_MAX];
    const char *values[MK_OPTIONS_MAX][MK_OPTION_VALUES_MAX];
    char **words; /* what is no option, in order */
    int word_count;
} mk_options;

/* Reads argv[0..argc). argv is reordered. Of an option given twice the last counts.
 * Errors: usage errors (mk_fail_usage), an unknown option with the nearest known one as a hint. */
MK_CHECK mk_code mk_options_parse(mk_options *options, const mk_option *own, const mk_option *common,
                                  int argc, char **argv, mk_err *err);

/* By name, which must be one of the tables. The value is NULL when the option was not given. */
bool mk_options_has(const mk_options *options, const char *name);
const char *mk_options_value(const mk_options *options, const char *name);
const char *const *mk_options_values(const mk_options *options, const char *name);

/* Values of a type; `out` stays as it was when the option was not given.
 * Errors: a number that is none, or out of bounds, is a usage error; a time that is none, or out of
 * range, is data like any other and MK_E_INVALID_ARG. Both name the option and what would pass. */
MK_CHECK mk_code mk_options_u64(const mk_options *options, const char *name, uint64_t min,
                                uint64_t max, uint64_t *out, mk_err *err);
MK_CHECK mk_code mk_options_time(const mk_options *options, const char *name, int64_t *out,
                                 mk_err *err);

/* A mistake in how the program was called: exit status 2. Returns MK_E_INVALID_ARG. */
mk_code mk_fail_usage(mk_err *err, const char *fmt, ...) MK_PRINTF(2, 3);
bool mk_err_is_usage(const mk_err *err);

/* The nearest of `names` (ends with NULL) to `word` by edit distance; NULL when none is near. */
const char *mk_nearest(const char *word, const char *const *names);

#endif

/* cli.h — what every command is given, and what it may use. Layer: cli.
 *
 * A command is a row of a table: name, options, help, and one function that turns options into calls of
 * the layers below and a result into text. Results go to standard output, everything else to standard
 * error; main prints the error that a command returns and chooses the exit status. */
#ifndef MK_CLI_CLI_H
#define MK_CLI_CLI_H

#include "cli/options.h"
#include "store/view.h"

#define MK_PROGRAM_VERSION "0.1.0"

typedef struct mk_cli mk_cli;

typedef struct mk_command {
    const char *name;     /* one word, or two for "log verify" */
    const char *words;    /* what follows the options, "FILE"; "" for none */
    const char *summary;  /* one line without a full stop */
    const char *help;     /* further paragraphs, lines of at most 78 characters */
    const char *example;  /* lines that run one after the other in an empty folder */
    const mk_option *options;
    int words_min, words_max;
    mk_code (*run)(mk_cli *cli, mk_err *err);
} mk_command;

struct mk_cli {
    const mk_command *command;
    mk_options options;
    bool json;
    bool out_is_terminal;
    bool err_is_terminal;
    bool colour; /* on standard output */
    bool refused; /* set by a command whose result says no: exit status 1, and no error to print */
    _Atomic bool progress_shown; /* warnings come from the store's threads */
    int64_t progress_last_us;
    const mk_alloc *alloc;
};

/* ---- the tables of commands, one for each file ---- */

extern const mk_command mk_commands_store[];
extern const mk_command mk_commands_memory[];
extern const mk_command mk_commands_ingest[];
extern const mk_command mk_commands_replay[];
extern const mk_command mk_commands_log[];
extern const mk_command mk_commands_write[];
extern const mk_command mk_commands_call[];
extern const mk_command mk_commands_synth[];
extern const mk_command mk_commands_bench[];
extern const mk_command mk_commands_mcp[];
extern const mk_command mk_commands_serve[];
extern const mk_command mk_commands_plan[];
extern const mk_command mk_commands_ask[];
extern const mk_command mk_commands_demo[];
extern const mk_command mk_commands_replay_bundle[];
extern const mk_command mk_commands_trace[];
extern const mk_command mk_commands_verify[];
extern const mk_command mk_commands_eval[];

/* ---- the store ---- */

/* --store, else MERKHET_STORE, else .merkhet. */
const char *mk_cli__store_dir(const mk_cli *cli);
/* Warnings of the store go to standard error. `rebuild` folds the log from its start. */
MK_CHECK mk_code mk_cli__open(mk_cli *cli, const char *dir, mk_open_mode mode, bool rebuild,
                              mk_store **out, mk_err *err);
/* Closes after a command that ended with `rc`: its own error is kept, otherwise that of closing. */
MK_CHECK mk_code mk_cli__close(mk_store *store, mk_code rc, mk_err *err);
/* The mask that --show asks for; MK_SHOW_USER without it. */
MK_CHECK mk_code mk_cli__mask(const mk_cli *cli, unsigned *mask, mk_err *err);

/* The model of MERKHET_LLM_URL and its siblings; *out is NULL when there is none. Close it. */
struct mk_model;
MK_CHECK mk_code mk_cli__model_open(mk_cli *cli, struct mk_model **out, mk_err *err);

/* ---- output ---- */

/* Bytes to standard output. Fails when they cannot be written. */
MK_CHECK mk_code mk_cli__put(mk_cli *cli, mk_str text, mk_err *err);
/* One line of canonical JSON and its LF. On a terminal, characters that steer it are escaped. */
MK_CHECK mk_code mk_cli__put_json(mk_cli *cli, mk_str json, mk_err *err);
MK_CHECK mk_code mk_cli__put_buf(mk_cli *cli, const mk_buf *text, mk_err *err);
MK_CHECK mk_code mk_cli__flush(mk_err *err);

/* A line on standard error for people; as {"warning":...} with --json. */
void mk_cli__warn(mk_cli *cli, const char *fmt, ...) MK_PRINTF(2, 3);
void mk_cli__report_error(const mk_cli *cli, const mk_err *err);
/* A line on standard error that is overwritten by the next; nothing unless that is a terminal. Looks at
 * the clock and prints ten times a second at most. */
void mk_cli__progress(mk_cli *cli, const char *fmt, ...) MK_PRINTF(2, 3);
void mk_cli__progress_end(mk_cli *cli);

/* Stored text for people: control characters, and those that reorder a line, as \xNN or \u{NNNN}. */
void mk_text_safe(mk_buf *out, mk_str text);
/* Both forms of a time: 1704067200000000 (2024-01-01T00:00:00Z). */
void mk_text_time(mk_buf *out, int64_t us);
/* 12,345,678 */
void mk_text_count(mk_buf *out, uint64_t n);
/* 12.3 MiB */
void mk_text_bytes(mk_buf *out, uint64_t n);

/* ---- tables ---- */

/* Cells are collected and printed once all widths are known. Texts live in the caller's arena. */
typedef struct mk_table {
    mk_arena *arena;
    mk_str *cells;
    size_t count, cap;
    size_t columns;
    bool *numeric; /* columns aligned to the right */
} mk_table;

#define MK_TABLE_WIDTH_MAX 60 /* a wider cell does not widen its column */

/* `names` are the heads of the columns. */
MK_CHECK mk_code mk_table_begin(mk_table *table, mk_arena *arena, const char *const *names,
                                size_t columns, mk_err *err);
/* The next cell, left to right; the text is copied and made safe. */
MK_CHECK mk_code mk_table_cell(mk_table *table, mk_str text, mk_err *err);
MK_CHECK mk_code mk_table_put(mk_cli *cli, const mk_table *table, mk_err *err);

/* ---- input ---- */

/* All of a file or standard input ("-"), decompressed, at most `max` bytes.
 * Errors: MK_E_LIMIT above that, and those of reading. `what` names it in messages. */
MK_CHECK mk_code mk_cli__read_all(const char *path, size_t max, const char *what, mk_buf *out,
                                  mk_err *err);

#endif

/* load_internal.h — what the front ends share. Layer: load, inside only.
 *
 * A front end reads records through a reader and hands events and ops to a sink. Strings of an event
 * are not copied: they live in a block of the reader, in the sink's arena or in the options. Both stay
 * until the sink has counted the event as done, which is what `seen` and `done` are for. */
#ifndef MK_LOAD_LOAD_INTERNAL_H
#define MK_LOAD_LOAD_INTERNAL_H

#include "load/load.h"

/* ---- sink ---- */

typedef struct mk_load_sink mk_load_sink;
struct mk_load_sink {
    void *ctx;
    mk_code (*event)(mk_load_sink *sink, const mk_event *event, uint64_t line, mk_err *err);
    mk_code (*op)(mk_load_sink *sink, const mk_op *op, uint64_t line, mk_err *err);
    mk_code (*flush)(mk_load_sink *sink, mk_err *err); /* commits what is held */
    mk_arena *arena; /* for strings; may be reset or exchanged inside event(), op() and flush() */
    uint64_t seen;   /* events and ops taken */
    uint64_t done;   /* of those, whose strings are no longer needed */
};

/* What the loaders want from a store; tests put a fake here. */
typedef struct mk_load_target {
    void *ctx;
    mk_code (*write)(void *ctx, const mk_op *ops, size_t count, mk_tt *tt, mk_err *err);
    int64_t (*next_disc)(void *ctx);
    /* Whether `uid` has a believed node version now. */
    mk_code (*has_node)(void *ctx, mk_str uid, bool *has, mk_err *err);
    mk_tt (*last_tt)(void *ctx);
    mk_code (*replay_line)(void *ctx, mk_str line, bool *applied, mk_err *why, mk_err *err);
    mk_code (*replay_flush)(void *ctx, mk_err *err);
} mk_load_target;

/* ---- reader ---- */

/* Up to n bytes at p, *got 0 at the end. */
typedef mk_code mk_load_read_fn(void *ctx, void *p, size_t n, size_t *got, mk_err *err);

typedef struct mk_load_block mk_load_block;

/* A window on the input that grows at its end and is consumed at its start, kept in blocks that are
 * reused only when the sink is done with every event that was handed over while they were read. One
 * byte before the window may always be written to. */
typedef struct mk_load_reader {
    const mk_alloc *alloc;
    mk_load_read_fn *read;
    void *read_ctx;
    const mk_load_sink *sink;
    mk_load_block *current, *retired_first, *retired_last;
    char *at, *end;
    bool ended;     /* the input has no more bytes */
    bool keep_cr;   /* lines keep a CR before their LF */
    uint64_t lines; /* LFs consumed */
    uint64_t bytes; /* read */
    /* The record last given, for messages. */
    const char *record;
    size_t record_size;
    uint64_t line; /* of its first byte, from 1 */
    uint64_t last; /* line of its last byte; stays at the end of the input */
} mk_load_reader;

/* Longest record. Longer ones are refused, since one lost quote could swallow the whole input. */
#define MK_LOAD_RECORD_MAX ((size_t)64 << 20)

void mk_load__reader_init(mk_load_reader *reader, const mk_alloc *alloc, mk_load_read_fn *read,
                          void *read_ctx, const mk_load_sink *sink);
void mk_load__reader_free(mk_load_reader *reader);
static inline mk_str mk_load__window(const mk_load_reader *reader)
{
    return (mk_str){reader->at, (size_t)(reader->end - reader->at)};
}
/* Adds bytes to the window, which may move; *grew false at the end of the input. MK_E_LIMIT when the
 * window holds MK_LOAD_RECORD_MAX bytes. */
MK_CHECK mk_code mk_load__grow(mk_load_reader *reader, bool *grew, mk_err *err);
/* Takes n bytes holding `lines` LFs off the window; the first `size` are the record. */
void mk_load__take(mk_load_reader *reader, size_t n, size_t size, uint64_t lines);
/* The next line without its line end; *more false at the end. */
MK_CHECK mk_code mk_load__line(mk_load_reader *reader, mk_str *line, bool *more, mk_err *err);
/* Drops a byte order mark at the start of the input. */
MK_CHECK mk_code mk_load__skip_bom(mk_load_reader *reader, mk_err *err);

/* A reader over bytes in memory. */
typedef struct mk_load_memory {
    mk_str text;
    size_t step; /* at most this many bytes a call; 0: no limit */
} mk_load_memory;
mk_code mk_load__memory_read(void *ctx, void *p, size_t n, size_t *got, mk_err *err);

/* ---- one run ---- */

typedef struct mk_load {
    const mk_load_options *options;
    const char *name; /* of the input, for messages */
    mk_load_reader *reader;
    mk_load_sink *sink;
    mk_load_target *target; /* NULL when there is no store (tests) */
    mk_load_report *report;
    uint64_t (*bytes_read)(void *ctx, uint64_t *total); /* for progress; may be NULL */
    void *bytes_ctx;
    mk_buf scratch;
} mk_load;

void mk_load__init(mk_load *load, const mk_load_options *options, mk_load_report *report);
void mk_load__free(mk_load *load);

static inline mk_str mk_load__option(const char *text, const char *otherwise)
{
    return mk_str_of(text != NULL ? text : otherwise);
}

/* A bad row: MK_E_INVALID_ARG with path NAME:LINE, and :COLUMN (bytes, from 1) when `at` points into
 * the record. */
mk_code mk_load__bad(mk_load *load, const char *at, mk_err *err, const char *fmt, ...)
    MK_PRINTF(4, 5);
void mk_load__path(const mk_load *load, uint64_t line, const char *at, mk_err *err);
/* After a row failed with `rc`: counts and remembers it and gives MK_OK when it may be passed over. */
MK_CHECK mk_code mk_load__tolerate(mk_load *load, uint64_t line, mk_code rc, mk_err *err);
/* Counts a row and reports progress now and then. MK_E_CANCELLED when the caller wants to stop. */
MK_CHECK mk_code mk_load__count_row(mk_load *load, mk_err *err);
/* Progress at once, for stretches that read nothing. */
MK_CHECK mk_code mk_load__progress(mk_load *load, mk_err *err);

/* Quoting of input in messages: at most this many bytes. */
#define MK_LOAD_QUOTE(s) (int)((s).n > 80 ? 80 : (s).n), ((s).n ? (s).p : "")

/* ---- values ---- */

typedef enum mk_load_type {
    MK_LOAD_T_AUTO, /* a JSON number if it reads as one, else a string */
    MK_LOAD_T_INT,
    MK_LOAD_T_FLOAT,
    MK_LOAD_T_BOOL,
    MK_LOAD_T_STRING,
    MK_LOAD_T_JSON,
    MK_LOAD_T_TIME
} mk_load_type;

bool mk_load__type_named(mk_str name, mk_load_type *out);

/* How numbers are read as times. */
typedef enum mk_load_number {
    MK_LOAD_NUMBER_ANY,     /* integers exactly; fractions as trunc(double x scale) */
    MK_LOAD_NUMBER_INTEGER, /* integer literals only (SNAP text, store spec 21) */
    MK_LOAD_NUMBER_DOUBLE   /* always trunc(double x scale) (rated lists, store spec 21) */
} mk_load_number;

typedef struct mk_load_times {
    mk_load_unit unit; /* AUTO: still to be told by the first number */
    bool detected;     /* so later numbers must be of the same class */
    mk_load_number number;
} mk_load_times;

/* A time in microseconds within +-2^62: a number in the unit, or ISO 8601 text. */
MK_CHECK mk_code mk_load__time(mk_load *load, mk_load_times *times, mk_str text, int64_t *out,
                               mk_err *err);
/* Class of a number by magnitude, for detection: UNIT_AUTO below 1e8 or when it is no number. */
mk_load_unit mk_load__unit_class(mk_str text);

/* One column that becomes a property. */
typedef struct mk_load_prop {
    mk_str name;
    mk_str key; /* `"name":`, canonical */
    mk_load_type type;
    size_t column; /* from 0 */
} mk_load_prop;

/* Sorts by name and fills `key` (in `arena`). MK_E_INVALID_ARG when a name comes twice. */
MK_CHECK mk_code mk_load__props_prepare(mk_arena *arena, mk_load_prop *props, size_t count,
                                        mk_err *err);
/* The canonical object of a row's properties, in the sink's arena; n == 0 when all cells are empty or
 * missing. */
MK_CHECK mk_code mk_load__props_text(mk_load *load, mk_load_times *times, const mk_load_prop *props,
                                     size_t count, const mk_str *fields, size_t field_count,
                                     mk_str *out, mk_err *err);
MK_CHECK mk_code mk_load__uid_slow(mk_load *load, mk_str prefix, mk_str text, mk_str *out,
                                   mk_err *err);
/* A uid with the prefix before it. With a prefix of one byte it is written over the byte before the
 * text, which must be a separator already read. */
MK_CHECK static inline mk_code mk_load__uid(mk_load *load, mk_str prefix, mk_str text, mk_str *out,
                                            mk_err *err)
{
    if (prefix.n != 1 || text.n == 0)
        return mk_load__uid_slow(load, prefix, text, out, err);
    char *before = (char *)(uintptr_t)text.p - 1;
    *before = prefix.p[0];
    *out = (mk_str){before, text.n + 1};
    return MK_OK;
}
/* A bad row when the record is not UTF-8. */
MK_CHECK mk_code mk_load__check_utf8(mk_load *load, mk_str record, mk_err *err);

/* ---- front ends ---- */

MK_CHECK mk_code mk_load__edges(mk_load *load, mk_err *err);
MK_CHECK mk_code mk_load__csv(mk_load *load, char separator, mk_err *err);
MK_CHECK mk_code mk_load__jsonl(mk_load *load, mk_err *err);
MK_CHECK mk_code mk_load__eventlog(mk_load *load, mk_err *err);
MK_CHECK mk_code mk_load__git(mk_load *load, mk_err *err);

#endif

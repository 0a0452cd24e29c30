/* json.h — reading JSON. Layer: base.
 *
 * Our own, because no packaged library keeps what the spec hashes: integers of any size unharmed,
 * `1` apart from `1.0`, member order, the last of duplicate keys at the place of the first. Two
 * levels: a pull reader that allocates nothing for text without escapes (the log decoder runs on
 * it), and a tree in an arena built on top of it. Never recursive over input: depth is a counter.
 * Source: store spec, section 3; operators spec, 3.1. */
#ifndef MK_BASE_JSON_H
#define MK_BASE_JSON_H

#include "base/arena.h"
#include "base/str.h"

typedef struct mk_json_limits {
    size_t depth;       /* nested arrays and objects */
    size_t string_size; /* decoded bytes of one string */
    size_t number_size; /* characters of one number */
    size_t members;     /* members of one object, items of one array */
} mk_json_limits;

/* depth 128, strings 16 MiB, numbers 4,096 characters, members 16 Mi (STORAGE.md, Limits). */
extern const mk_json_limits mk_json_limits_default;

/* ---- pull reader ---- */

typedef enum mk_json_token {
    MK_TOK_END = 0, /* the text is over */
    MK_TOK_NULL,
    MK_TOK_FALSE,
    MK_TOK_TRUE,
    MK_TOK_INT,   /* `text` is the token; `i` its value unless `big` */
    MK_TOK_FLOAT, /* `d`; NaN, Infinity and -Infinity are read as the reference does */
    MK_TOK_STRING,
    MK_TOK_KEY, /* a member name; its value follows */
    MK_TOK_OBJECT,
    MK_TOK_OBJECT_END,
    MK_TOK_ARRAY,
    MK_TOK_ARRAY_END
} mk_json_token;

typedef struct mk_json_reader {
    mk_str input;
    size_t at; /* next byte to look at */
    const mk_json_limits *limits;
    mk_json_token token; /* the token last read, and what came with it: */
    size_t start;        /*   its offset in the input */
    mk_str text;         /*   string or key, decoded; number token. Valid until the next call, and as
                              long as the input when `borrowed` */
    bool borrowed;
    bool big; /*   an integer beyond int64 */
    int64_t i;
    double d;
    mk_buf scratch; /* decoded text of strings with escapes */
    size_t depth;
    uint64_t stack[4]; /* one bit a level: 1 object, 0 array; limits->depth is at most 256 */
    uint8_t expect;    /* internal state */
} mk_json_reader;

void mk_json_open(mk_json_reader *reader, const mk_alloc *alloc, mk_str input,
                  const mk_json_limits *limits /* NULL: default */);
void mk_json_close(mk_json_reader *reader);

/* Reads one token into reader->token. After the outermost value only white space may follow, then
 * MK_TOK_END. Strings are checked UTF-8; a lone surrogate escape is an error.
 * Errors: MK_E_SCHEMA with the byte offset, MK_E_LIMIT for the limits, MK_E_NOMEM. */
MK_CHECK mk_code mk_json_next(mk_json_reader *reader, mk_err *err);

/* After a token that starts a value: reads on to its end and gives the value's bytes in the input. */
MK_CHECK mk_code mk_json_skip(mk_json_reader *reader, mk_str *raw, mk_err *err);

/* ---- tree ---- */

typedef enum mk_json_kind {
    MK_JSON_NULL,
    MK_JSON_BOOL,
    MK_JSON_INT,
    MK_JSON_FLOAT,
    MK_JSON_STRING,
    MK_JSON_ARRAY,
    MK_JSON_OBJECT
} mk_json_kind;

typedef struct mk_json mk_json;
typedef struct mk_member mk_member;

struct mk_json {
    mk_json_kind kind;
    bool b;   /* BOOL: the value. INT: true when beyond int64, digits then in `text` */
    size_t n; /* ARRAY: items. OBJECT: members */
    union {
        int64_t i;
        double d;
        mk_str text; /* STRING: UTF-8; INT with b: canonical decimal digits with optional '-' */
        mk_json *items;
        mk_member *members; /* in the order of the text */
    };
};

struct mk_member {
    mk_str key;
    mk_json value;
};

/* The whole text as one tree. Everything in it lives in `arena`; strings without escapes are copied
 * too, so the input may go. Errors as mk_json_next. */
MK_CHECK mk_code mk_json_parse(mk_arena *arena, mk_str text, const mk_json_limits *limits,
                               mk_json **out, mk_err *err);
/* The same for one value inside a reader whose current token starts it. */
MK_CHECK mk_code mk_json_read_tree(mk_json_reader *reader, mk_arena *arena, mk_json *out,
                                   mk_err *err);

/* Member by name, NULL when absent or not an object. Linear. */
const mk_json *mk_json_get(const mk_json *object, const char *key);
const mk_json *mk_json_get_n(const mk_json *object, mk_str key);

#endif

/* registry.h — operators as data. Layer: op.
 *
 * Everything the world may know about an operator stands in one mk_operator: its arguments, its
 * result, its help, its cost and the function that runs it. Argument checks, defaults, JSON Schemas,
 * manual pages, tool definitions and tests are derived from that table and from nothing else.
 *
 * A new operator is one file that defines `const mk_operator mk_operator_<name>` and one line in
 * operators.h. Source: DESIGN.md, section 1; operators spec, 5 to 8. */
#ifndef MK_OP_REGISTRY_H
#define MK_OP_REGISTRY_H

#include "base/json.h"
#include "op/cost.h"
#include "op/guard.h"
#include "op/page.h"
#include "op/payload.h"
#include "store/view.h"

/* ---- arguments ---- */

typedef enum mk_arg_type {
    MK_ARG_TIMESTAMP, /* integer 0 to 2^62; ISO 8601 text is read as one (decisions.md 1) */
    MK_ARG_INTEGER,   /* `min` to `max`; 5.0 is 5 */
    MK_ARG_NUMBER,    /* integer or float in (above, upto] when `bounded` */
    MK_ARG_BOOLEAN,
    MK_ARG_STRING, /* at least `min` characters */
    MK_ARG_ENUM,   /* one of `choices` */
    MK_ARG_LIST,   /* `min` to `max` values, each like `item` (NULL: anything) */
    MK_ARG_OBJECT, /* closed: exactly the members in `members` */
    MK_ARG_ANY
} mk_arg_type;

typedef struct mk_arg mk_arg;

/* One argument, or one member or item of one. Tables of them end with an entry without a name. */
struct mk_arg {
    const char *name;
    mk_arg_type type;
    bool required;
    bool nullable;
    bool any_size; /* INTEGER: beyond 64 bits is accepted too, and read as the nearest int64 */
    bool bounded;
    int64_t min, max; /* INTEGER, TIMESTAMP: bounds; STRING, LIST: sizes */
    double above, upto;
    const char *const *choices; /* ENUM: ends with NULL */
    const mk_arg *item;         /* LIST */
    const mk_arg *members;      /* OBJECT */
    const char *default_json;   /* canonical JSON; NULL: none, and the member stays absent */
    const char *doc;            /* one or two sentences with units */
};

/* The fragments that operators share (operators spec, section 6). */
#define MK_ARG_AS_OF                                                                               \
    {                                                                                              \
        .name = "as_of_tt", .type = MK_ARG_TIMESTAMP, .max = MK_OPEN_END,                          \
        .default_json = "4611686018427387904",                                                     \
        .doc = "Transaction time: answer from what the store believed then. The default, 2^62, "   \
               "is current belief."                                                                \
    }
#define MK_ARG_LIMIT                                                                               \
    {                                                                                              \
        .name = "limit", .type = MK_ARG_INTEGER, .min = 1, .max = 10000, .default_json = "100",    \
        .doc = "Most rows in this page."                                                           \
    }
#define MK_ARG_CURSOR                                                                              \
    {                                                                                              \
        .name = "cursor", .type = MK_ARG_STRING, .nullable = true, .default_json = "null",         \
        .doc = "Where this page starts: the `cursor` of the page before, with the other arguments " \
               "unchanged. null is the first page."                                                \
    }
#define MK_ARG_REL_TYPES                                                                           \
    {                                                                                              \
        .name = "rel_types", .type = MK_ARG_LIST, .nullable = true, .max = INT64_MAX,              \
        .item = &mk_arg_text, .default_json = "null",                                              \
        .doc = "Only edges of these relation types; null is all, [] is none."                      \
    }
#define MK_ARG_TIME(name_, doc_)                                                                   \
    {                                                                                              \
        .name = (name_), .type = MK_ARG_TIMESTAMP, .required = true, .max = MK_OPEN_END,           \
        .doc = (doc_)                                                                              \
    }
#define MK_ARG_WINDOW                                                                              \
    {                                                                                              \
        .name = "window", .type = MK_ARG_OBJECT, .required = true, .members = mk_arg_window,       \
        .doc = "Valid-time window [t_a, t_b), t_a before t_b."                                     \
    }
extern const mk_arg mk_arg_text;     /* any string */
extern const mk_arg mk_arg_uid;      /* a string of at least one character */
extern const mk_arg mk_arg_window[]; /* members t_a, t_b */

/* ---- results ---- */

typedef enum mk_field_type {
    MK_FIELD_INTEGER,
    MK_FIELD_FLOAT,  /* always a float, 1.0 included */
    MK_FIELD_NUMBER, /* an integer when exact, else a float */
    MK_FIELD_BOOLEAN,
    MK_FIELD_STRING,
    MK_FIELD_TIME, /* an integer, microseconds; 2^62 is "no end" */
    MK_FIELD_LIST, /* of values like `item` */
    MK_FIELD_OBJECT,
    MK_FIELD_ANY
} mk_field_type;

typedef struct mk_field mk_field;

/* One member of a payload or of a row. Tables of them end with an entry without a name, and stand in
 * the spec's field order, which canonical JSON hides but ranking ties see (operators spec, 3.6). */
struct mk_field {
    const char *name;
    mk_field_type type;
    bool nullable;
    bool optional; /* may be absent */
    const char *when; /* optional: there exactly when this argument is so, "include_edges" or "kind=node"; NULL: not said */
    bool open;     /* OBJECT: others beside `members`, of names that the arguments decide */
    const mk_field *item;
    const mk_field *members; /* OBJECT; NULL: any members */
    const char *doc;
};

/* The members of every page, to be put into a payload's table around its `rows` (5.4). */
#define MK_FIELD_ROWS(row_, doc_)                                                                  \
    {                                                                                              \
        .name = "rows", .type = MK_FIELD_LIST, .item = (row_), .doc = (doc_)                       \
    }
#define MK_FIELD_ROWS_TOTAL                                                                        \
    {                                                                                              \
        .name = "rows_total", .type = MK_FIELD_INTEGER,                                            \
        .doc = "Length of the whole list, exact whatever the page."                                \
    }
#define MK_FIELD_TRUNCATED(doc_)                                                                   \
    {                                                                                              \
        .name = "truncated", .type = MK_FIELD_BOOLEAN, .doc = (doc_)                               \
    }
#define MK_FIELD_CURSOR                                                                            \
    {                                                                                              \
        .name = "cursor", .type = MK_FIELD_STRING, .nullable = true,                               \
        .doc = "What to pass as `cursor` for the next page; null after the last."                  \
    }
extern const mk_field mk_field_text;
extern const mk_field mk_field_edge_row; /* EDGE_ROW, an object */

/* ---- operators ---- */

/* One call while it runs. Everything in it is borrowed from the caller of mk_call. */
typedef struct mk_run {
    mk_view *view;
    mk_arena *arena;     /* scratch, rewound by the caller after the call */
    const mk_json *args; /* checked, with defaults filled in */
    mk_page page;        /* which part of the rows is wanted; whole for operators without a page */
    mk_guard *guard;     /* to be asked now and then inside long loops */
    mk_payload *out;
} mk_run;

/* What an operator returns for one value of an argument, where that decides (compute's `fn`). */
typedef struct mk_variant {
    const char *choice;
    bool grouped; /* when `group_by` is given too */
    const mk_field *fields;
} mk_variant;

typedef struct mk_operator {
    const char *name;
    const char *group;   /* heading in manual and tool lists: "graph", "memory", "context" */
    const char *summary; /* one line without a full stop */
    const char *help;    /* paragraphs; NULL: the summary says it */
    const char *example; /* arguments as JSON that run on the spec's fixture F (10.1) */
    const mk_arg *args;
    const mk_field *fields; /* the payload */
    const char *variant_arg;    /* NULL: the payload is always the same */
    const mk_variant *variants; /* ends with an entry without a choice */
    /* Where members of the rows depend on arguments: writes their table, at most `max` entries with the one that
     * ends it, and says whether it could. Looks only at arguments that are there. NULL: `fields` says it all. */
    bool (*row_members)(const mk_json *args, mk_arena *arena, mk_field *members, size_t max);
    mk_cost_fn *cost;       /* NULL: no cost model, never refused */
    /* Checks across arguments, in the order of the spec; NULL: none. */
    mk_code (*validate)(const mk_json *args, mk_err *err);
    /* Reads `args`, runs the kernel, writes the payload. */
    mk_code (*run)(mk_run *run, mk_err *err);
} mk_operator;

/* The payload for these arguments; the general one where a variant cannot be told. */
const mk_field *mk_operator_fields(const mk_operator *op, const mk_json *args);

/* All operators, sorted by name. */
const mk_operator *const *mk_operators(size_t *count);
/* NULL when there is none of that name. */
const mk_operator *mk_operator_find(mk_str name);
/* The one that `name` was probably meant to be, by edit distance; NULL when none is near. */
const mk_operator *mk_operator_near(mk_str name);

/* Validator W: E_INVALID_ARG unless args.window.t_a is before its t_b. */
mk_code mk_validate_window(const mk_json *args, mk_err *err);

/* ---- reading checked arguments ----
 * For arguments that the operator declares; the check has made sure of type and bounds. */
int64_t mk_arg_i64(const mk_json *args, const char *name); /* any_size: saturated */
bool mk_arg_bool(const mk_json *args, const char *name);
mk_str mk_arg_str(const mk_json *args, const char *name); /* null: p NULL, n 0 */
bool mk_arg_is_null(const mk_json *args, const char *name); /* null or absent */

/* E_NOT_FOUND for a uid that an argument names and the view does not know; the path is argument and
 * index (-1: the argument itself). Never says whether the uid exists behind the mask. */
mk_code mk_fail_uid(const mk_run *run, mk_str uid, const char *arg, int64_t index, mk_err *err);

/* Turns names of relation types into a filter's codes; names never used match nothing. A null or
 * absent argument leaves `filter` alone. */
MK_CHECK mk_code mk_arg_rel_types(const mk_run *run, mk_edge_filter *filter, mk_err *err);

#endif

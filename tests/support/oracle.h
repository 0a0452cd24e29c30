/* oracle.h — operators written a second time, slowly, from their definitions. Test support.
 *
 * An oracle knows the model's rows and the text of the specification, and nothing of the kernels. It makes
 * arguments at random that fit the world it is given, and says what the call must return. The driver
 * (tests/oracle/test_op_oracle.c) compares bytes, joins pages, repeats calls about a past belief after
 * later writes, and runs the same calls over every layout of the store's data.
 *
 * One file oracle_<op>.c and one line in oracles.h make an oracle. Source: operators spec, 7 and 8. */
#ifndef MK_TESTS_ORACLE_H
#define MK_TESTS_ORACLE_H

#include "genops.h"
#include "model.h"

/* What arguments may refer to. */
typedef struct oracle_world {
    genops *gen; /* every random choice comes from it */
    const model *m;
    int64_t vt_min, vt_max; /* most valid times of the store lie in [vt_min, vt_max] */
    int64_t as_of;          /* the belief that this call must ask about; MK_OPEN_END: current */
} oracle_world;

/* What a call must give: a payload as canonical JSON with its floats rounded, or an error's code. */
typedef struct oracle_answer {
    mk_code code;
    mk_buf payload;
    bool undecided; /* holds two versions of one vid, whose order is not promised */
} oracle_answer;

typedef struct oracle {
    const char *op;
    /* Appends an argument object that satisfies the schema (wrong uids, empty windows and bad cursors are
     * welcome now and then). When as_of is not MK_OPEN_END it must be said as `as_of_tt`. */
    void (*args)(const oracle_world *world, mk_buf *out);
    /* `args` is what `args` made, parsed; members that have defaults may be absent. `arena` is scratch. */
    void (*answer)(const oracle_world *world, const mk_json *args, mk_arena *arena,
                   oracle_answer *out);
    bool no_belief; /* the operator has no as_of_tt (compute) */
} oracle;

/* ---- for writing oracles ---- */

/* An argument with its default. A float that is an integer counts as one. */
int64_t oracle_int(const mk_json *args, const char *name, int64_t otherwise);
bool oracle_bool(const mk_json *args, const char *name, bool otherwise);
mk_str oracle_text(const mk_json *args, const char *name); /* "" when null or absent */
bool oracle_is_null(const mk_json *args, const char *name); /* or absent */
/* true: the answer is this error. For `return oracle_fail(out, MK_E_NOT_FOUND);`-like lines. */
void oracle_fail(oracle_answer *out, mk_code code);

/* Believed edges in scan order that pass args.rel_types (null or absent: all). */
model_list oracle_edges(const oracle_world *world, const mk_json *args, mk_arena *arena);

/* PAGE (operators spec, 5.4): which rows of a list of `total` are shown for args.limit and args.cursor.
 * False, with the error in `out`, for a bad cursor. */
typedef struct oracle_page {
    size_t from, to, total;
    int64_t next;
    bool truncated;
} oracle_page;
bool oracle_page_of(const mk_json *args, size_t total, int64_t limit_default, oracle_page *page,
                    oracle_answer *out);
/* ["cursor":...] as the first member of an object: `{"cursor":null` or `{"cursor":"12"`. */
void oracle_put_cursor(mk_buf *out, const oracle_page *page);
/* EDGE_ROW of operators spec, 6. */
void oracle_put_edge_row(mk_buf *out, const model_row *row);
/* A float as payloads show it: rounded to nine decimals, shortest text. */
void oracle_put_float(mk_buf *out, double value);
/* A tree as payloads show it: canonical, floats rounded. */
void oracle_put_json(mk_buf *out, mk_arena *arena, mk_json *tree);

/* Pieces of random arguments: a window [a, b) (seldom empty or upside down), an instant, a known uid (now
 * and then an unknown one), `"rel_types":[...]` values, limit and cursor. Each appends JSON text. */
void oracle_gen_window(const oracle_world *world, mk_buf *out);
int64_t oracle_gen_time(const oracle_world *world);
void oracle_gen_uid(const oracle_world *world, mk_buf *out);
void oracle_gen_uids(const oracle_world *world, size_t max, mk_buf *out); /* [..], at least one */
void oracle_gen_rel_types(const oracle_world *world, mk_buf *out);        /* null or [..] */
/* Appends `,"as_of_tt":..` when the call asks about the past (and sometimes when not), then sometimes
 * `,"limit":..` and `,"cursor":..`. */
void oracle_gen_as_of(const oracle_world *world, mk_buf *out);
void oracle_gen_page(const oracle_world *world, bool with_cursor, mk_buf *out);

#endif

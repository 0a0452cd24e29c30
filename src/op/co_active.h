/* co_active.h — the kernel of co_active: joining edges by how their valid times lie. Layer: op. */
#ifndef MK_OP_CO_ACTIVE_H
#define MK_OP_CO_ACTIVE_H

#include "op/registry.h"

/* How the valid time of a lies to that of b (Allen 1983). All comparisons are on the raw numbers, open
 * ends included. The first half has the definitions, the second half is each of them with a and b
 * exchanged; EQUALS is its own inverse. */
typedef enum mk_allen {
    MK_ALLEN_BEFORE,   /* 0 < b.vt_s - a.vt_e <= gap */
    MK_ALLEN_MEETS,    /* a.vt_e = b.vt_s */
    MK_ALLEN_OVERLAPS, /* a.vt_s < b.vt_s < a.vt_e < b.vt_e */
    MK_ALLEN_STARTS,   /* a.vt_s = b.vt_s, a.vt_e < b.vt_e */
    MK_ALLEN_DURING,   /* b.vt_s < a.vt_s, a.vt_e < b.vt_e */
    MK_ALLEN_FINISHES, /* b.vt_s < a.vt_s, a.vt_e = b.vt_e */
    MK_ALLEN_EQUALS,   /* a.vt_s = b.vt_s, a.vt_e = b.vt_e */
    MK_ALLEN_AFTER,
    MK_ALLEN_MET_BY,
    MK_ALLEN_OVERLAPPED_BY,
    MK_ALLEN_STARTED_BY,
    MK_ALLEN_CONTAINS,
    MK_ALLEN_FINISHED_BY
} mk_allen;

/* The valid time of one edge version: all that a join looks at. */
typedef struct mk_join_row {
    int64_t vt_s, vt_e;
} mk_join_row;

/* Two lists, each ascending in vt_s (ties in any order); they may be the same array. */
typedef struct mk_join {
    const mk_join_row *a, *b;
    size_t a_count, b_count;
    mk_allen relation;
    int64_t gap; /* of BEFORE and AFTER, at least 1 */
} mk_join;

/* Brings a list into ascending vt_s: one look at one that is sorted, one merge for each doubling of the
 * number of sorted runs otherwise. Scratch of the same size in `arena`. Errors: MK_E_NOMEM. */
MK_CHECK mk_code mk_join_sort(mk_arena *arena, mk_edge_ref *refs, size_t count, mk_err *err);

/* How many pairs have the one start where the relation needs it, before ends are compared: for each a
 * the b with a.vt_e < b.vt_s <= a.vt_e + gap (BEFORE), b.vt_s = a.vt_e (MEETS), a.vt_s < b.vt_s < a.vt_e
 * (OVERLAPS), b.vt_s = a.vt_s (STARTS, EQUALS), b.vt_s < a.vt_s (DURING, FINISHES); a and b exchanged
 * for the second half. This is what the cap is on (operators spec, 7.11 and O-15).
 * Cost: a search near the last place for each a. Errors: those of the guard. */
MK_CHECK mk_code mk_join_candidates(const mk_join *join, mk_guard *guard, uint64_t *out,
                                    mk_err *err);

/* Calls `each` with the places in a and b of every pair that fits, a paired with itself included where
 * it fits (EQUALS). Ascending by the place in a; in the second half of the relations by that in b.
 * MK_E_CANCELLED when `each` returns false. Cost: that of the candidates. */
typedef bool mk_join_fn(void *ctx, size_t a, size_t b);
MK_CHECK mk_code mk_join_pairs(const mk_join *join, mk_guard *guard, mk_join_fn *each, void *ctx,
                               mk_err *err);

#endif

/* neighborhood_evolution.h — whom an entity gained and lost between two instants. Layer: op.
 *
 * Source: operators spec, 7.10; O-13. */
#ifndef MK_OP_NEIGHBORHOOD_EVOLUTION_H
#define MK_OP_NEIGHBORHOOD_EVOLUTION_H

#include "op/series.h"

typedef struct mk_evolution_args {
    uint32_t uid;   /* dense id */
    int64_t t1, t2; /* t1 is before t2 */
    int64_t stride; /* of the degree's points, microseconds; 0: a twentieth of the span, rounded down */
} mk_evolution_args;

/* Arrays live in the arena given. */
typedef struct mk_evolution {
    mk_buckets grid;      /* its starts are the points of the degree; its stride is the one used */
    uint64_t *degrees;    /* edge versions valid at each point, a self-loop once */
    mk_ranked *gained;    /* neighbours at t2 and not at t1, ascending by uid; rank means nothing */
    mk_ranked *lost;      /* the other way round */
    size_t gained_count, lost_count;
} mk_evolution;

/* Reads the entity's own edges once. Errors: MK_E_LIMIT (points, deadline, memory), MK_E_CANCELLED,
 * MK_E_NOMEM, and what reading the store gives. */
MK_CHECK mk_code mk_evolution_run(mk_view *view, mk_arena *arena, const mk_evolution_args *args,
                                  mk_guard *guard, mk_evolution *out, mk_err *err);

#endif

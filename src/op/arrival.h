/* arrival.h — time-respecting reachability. Layer: op.
 *
 * Standing at x since time a, the arc (x, y, [s, e)) can be taken at max(a, s) if that lies before e and
 * inside the window; taking it costs no time, so several may be taken at one instant.
 * Source: operators spec, 7.4; Wu et al. 2014, "Path problems in temporal graphs". */
#ifndef MK_OP_ARRIVAL_H
#define MK_OP_ARRIVAL_H

#include "op/registry.h"

#define MK_VISITS_MAX 500000u /* edge visits of bounded searches (operators spec, 5.6) */
#define MK_NEVER INT64_MAX /* of a time: not reached */

typedef enum mk_arcs {
    MK_ARCS_OUT,
    MK_ARCS_IN, /* arcs reversed, time still running forward (O-1) */
    MK_ARCS_BOTH
} mk_arcs;

typedef struct mk_arrival_args {
    uint32_t src;
    int64_t t_a, t_b;
    mk_arcs arcs;
    int64_t wait_max; /* of mk_arrival_bounded: longest stay at a node, but the first */
} mk_arrival_args;

/* Those reached, src excepted, in no order: id, and rank = earliest arrival. In the arena. */
typedef struct mk_reached {
    mk_ranked *list;
    size_t count;
} mk_reached;

MK_CHECK mk_code mk_arrival_earliest(mk_view *view, mk_arena *arena, const mk_arrival_args *args,
                                     mk_guard *guard, mk_reached *out, mk_err *err);
/* With bounded waits, where an earlier arrival can be worse: a search over (node, arrival).
 * Errors: MK_E_COST when it needs more than MK_VISITS_MAX edge visits. */
MK_CHECK mk_code mk_arrival_bounded(mk_view *view, mk_arena *arena, const mk_arrival_args *args,
                                    mk_guard *guard, mk_reached *out, mk_err *err);
/* Who can reach args.src (a target here) inside the window: rank = minus the latest departure. */
MK_CHECK mk_code mk_departure_latest(mk_view *view, mk_arena *arena, const mk_arrival_args *args,
                                     mk_guard *guard, mk_reached *out, mk_err *err);

/* MK_E_COST of a search that ran over its budget, with what would make it smaller. */
mk_code mk_fail_visits(const char *lever, mk_err *err);

#endif

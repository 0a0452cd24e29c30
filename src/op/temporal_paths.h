/* temporal_paths.h — paths that respect time, the best k of all. Layer: op.
 *
 * Source: operators spec, 7.5; O-14, O-28. */
#ifndef MK_OP_TEMPORAL_PATHS_H
#define MK_OP_TEMPORAL_PATHS_H

#include "op/arrival.h"

#define MK_PATH_HOPS_MAX 6
#define MK_PATHS_MAX 20

typedef struct mk_path_args {
    uint32_t src, dst;
    int64_t t_a, t_b;
    int64_t hops_max; /* 1 to MK_PATH_HOPS_MAX */
    size_t k;         /* 1 to MK_PATHS_MAX */
} mk_path_args;

typedef struct mk_path {
    int64_t arrival;
    uint32_t hops;
    mk_edge_ref edges[MK_PATH_HOPS_MAX];
} mk_path;

/* The first k by (arrival, hops, (vt_s, eid) of each edge), sorted, and how many there are in all.
 * Errors: MK_E_COST above MK_VISITS_MAX edge visits. */
typedef struct mk_paths {
    mk_path best[MK_PATHS_MAX];
    size_t count;
    uint64_t total;
} mk_paths;

MK_CHECK mk_code mk_paths_find(mk_view *view, mk_arena *arena, const mk_path_args *args,
                               mk_guard *guard, mk_paths *out, mk_err *err);

#endif

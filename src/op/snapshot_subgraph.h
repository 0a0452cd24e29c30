/* snapshot_subgraph.h — the kernel of snapshot_subgraph. Layer: op. */
#ifndef MK_OP_SNAPSHOT_SUBGRAPH_H
#define MK_OP_SNAPSHOT_SUBGRAPH_H

#include "op/registry.h"

typedef struct mk_ball_args {
    const uint32_t *seeds; /* dense ids; duplicates are fine */
    size_t seed_count;
    int64_t hops;
    mk_vt t;
    mk_edge_filter filter; /* relation types; its times are set by the kernel */
} mk_ball_args;

/* Everything within `hops` of the seeds at one instant. Arrays live in the arena given. */
typedef struct mk_ball {
    mk_ranked *nodes; /* rank is the level, code the label; breadth-first order */
    size_t node_count;
    mk_edge_ref *edges; /* with both ends among the nodes, each once, in no order */
    size_t edge_count;
} mk_ball;

/* Source: operators spec, 7.2. Reads the edge list of every node reached once. Errors: MK_E_LIMIT,
 * MK_E_CANCELLED, MK_E_NOMEM, and what reading the store gives. */
MK_CHECK mk_code mk_ball_grow(mk_view *view, mk_arena *arena, const mk_ball_args *args,
                              mk_guard *guard, mk_ball *out, mk_err *err);

#endif

/* diff_snapshots.h — what differs between two instants. Layer: op.
 *
 * Source: operators spec, 7.3; O-16, O-24. */
#ifndef MK_OP_DIFF_SNAPSHOTS_H
#define MK_OP_DIFF_SNAPSHOTS_H

#include "op/snapshot_subgraph.h"

typedef struct mk_diff_args {
    int64_t t1, t2;             /* from and to; t2 may be the earlier */
    const mk_ball_args *around; /* seeds and hops: only what they reach at t1 or at t2; NULL: everything */
    size_t edges_max;           /* edges listed of each kind of change, the first by eid */
} mk_diff_args;

/* A version without what its identity says already; a million of them are common. */
typedef struct mk_diff_at {
    int64_t vt_s;
    uint32_t part, row;
} mk_diff_at;

/* What happened to one identity. Sides: 0 is the earlier instant, 1 the later. */
typedef struct mk_edge_change {
    uint32_t src, dst, rel_type;
    bool has[2]; /* a version on that side */
    int64_t disc;
    mk_diff_at at[2];
} mk_edge_change;

typedef struct mk_node_change {
    uint32_t uid; /* dense id */
    bool has[2];
    mk_node_ref at[2];
} mk_node_change;

typedef enum mk_diff_list { MK_DIFF_ADDED, MK_DIFF_REMOVED, MK_DIFF_CHANGED, MK_DIFF_LISTS } mk_diff_list;

typedef struct mk_diff_edge {
    char eid[24];
    uint32_t place; /* among the diff's edges */
} mk_diff_edge;

typedef struct mk_diff_edges {
    mk_diff_edge *rows; /* the first `count` by eid, ascending */
    size_t count, total;
} mk_diff_edges;

typedef struct mk_diff_nodes {
    mk_ranked *rows; /* all, ascending by uid; code is the place among the diff's nodes */
    size_t total;
} mk_diff_nodes;

/* Arrays live in the arena given. */
typedef struct mk_diff {
    const mk_edge_change *edges; /* in no order, unchanged ones among them */
    const mk_node_change *nodes;
    mk_diff_nodes node_lists[MK_DIFF_LISTS];
    mk_diff_edges edge_lists[MK_DIFF_LISTS];
} mk_diff;

/* A version of a change as a reader of its properties wants it: without vt_e. */
mk_edge_ref mk_edge_change_ref(const mk_edge_change *change, int side);

/* Costs the versions that begin or end between the instants and the edges of their sources, not the
 * snapshots. Errors: MK_E_LIMIT (deadline, memory), MK_E_CANCELLED, MK_E_NOMEM, and what reading the store
 * gives. */
MK_CHECK mk_code mk_diff_run(mk_view *view, mk_arena *arena, const mk_diff_args *args, mk_guard *guard,
                             mk_diff *out, mk_err *err);

#endif

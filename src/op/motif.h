/* motif.h — three edges in time order: the events, and counting and listing motifs in them. Layer: op.
 *
 * Events stand in their total order (vt_s, eid, vid), and the place in it, a 32-bit number, is all that
 * the kernels know of time: `limit` says for each event where the events end that may still belong to an
 * instance it begins. Nodes are numbered afresh when few of the store's entities can take part.
 * Source: operators spec, 7.6 and 7.7. */
#ifndef MK_OP_MOTIF_H
#define MK_OP_MOTIF_H

#include "op/registry.h"

/* The patterns, in the order of mk_motif_names. Named nodes are pairwise distinct. */
typedef enum mk_motif {
    MK_MOTIF_TRIANGLE_CYCLIC,    /* u->v, v->w, w->u */
    MK_MOTIF_TRIANGLE_ACYCLIC_1, /* u->v, u->w, v->w */
    MK_MOTIF_PINGPONG,           /* u->v, v->u, u->v */
    MK_MOTIF_STAR_OUT_3,         /* u->a, u->b, u->c */
    MK_MOTIF_PATH_3              /* u->v, v->w, w->x */
} mk_motif;

extern const char *const mk_motif_names[]; /* ends with NULL */

typedef struct mk_motif_args {
    mk_motif motif;
    int64_t delta; /* most microseconds between first and last edge; 1 or more */
    mk_vt t_a, t_b;
    bool filtered; /* only edges with both ends among `nodes` */
    const uint32_t *nodes; /* dense ids; duplicates are fine */
    size_t node_count;
} mk_motif_args;

/* The events of a window. All arrays have `count` members, stand in event order and live in the arena
 * they were gathered in. Self-loops are counted in `total` and otherwise left out: no motif has one. */
typedef struct mk_motif_events {
    uint64_t total;
    uint32_t count;
    uint32_t nodes;      /* src and dst are below this */
    uint32_t *src, *dst; /* node numbers */
    uint32_t *limit;     /* first place whose event starts more than delta after this one */
    const uint32_t *ids; /* dense id of a node number; NULL: the same */
    int64_t *vt_s;
    uint32_t *rel_type, *part, *row; /* see mk_motif_edge */
} mk_motif_events;

/* The edge at a place, for the view's functions; its end is not known and stays 0. */
mk_edge_ref mk_motif_edge(const mk_motif_events *events, uint32_t place);

#define MK_MOTIF_EVENTS_MAX 5000000u /* without a filter; operators spec, 7.6 */

/* Reads the events that `args` asks for and puts them into event order. Ids, which cost hashes, are made
 * only for events at equal times: for all of them when `listed`, so that instances can be listed in
 * order; otherwise only where their order decides whether they form an instance.
 * Errors: MK_E_INVALID_ARG (too many events without a filter), MK_E_LIMIT, MK_E_CANCELLED, MK_E_NOMEM. */
MK_CHECK mk_code mk_motif_gather(mk_view *view, mk_arena *arena, const mk_motif_args *args,
                                 bool listed, mk_guard *guard, mk_motif_events *out, mk_err *err);

/* Number of instances, without building any. starts[i], unless `starts` is NULL, becomes the number of
 * those whose first edge is event i. Scratch comes from `arena` and goes back to it.
 * Errors: MK_E_LIMIT (also for more than INT64_MAX instances), MK_E_CANCELLED, MK_E_NOMEM. */
MK_CHECK mk_code mk_motif_count(const mk_motif_events *events, mk_motif motif, mk_arena *arena,
                                mk_guard *guard, uint64_t *starts, int64_t *total, mk_err *err);

/* Places of an instance's edges, in motif order. */
typedef struct mk_motif_instance {
    uint32_t edges[3];
} mk_motif_instance;

/* Instances [from, to) of the list in the order of their edges. `starts` is that of mk_motif_count; first
 * edges that lie before the page are skipped by it. `to` must not exceed the number of instances; `out`
 * has room for to - from. Errors: MK_E_LIMIT, MK_E_CANCELLED, MK_E_NOMEM. */
MK_CHECK mk_code mk_motif_list(const mk_motif_events *events, mk_motif motif, mk_arena *arena,
                               mk_guard *guard, const uint64_t *starts, uint64_t from, uint64_t to,
                               mk_motif_instance *out, mk_err *err);

/* ---- glue that both operators share ---- */

/* Reads the checked arguments. Errors: MK_E_NOT_FOUND for a uid of node_filter, MK_E_NOMEM. */
MK_CHECK mk_code mk_motif_read_args(const mk_run *run, mk_motif_args *out, mk_err *err);
/* Validator W, and mode "sample", which does not exist. */
mk_code mk_motif_validate(const mk_json *args, mk_err *err);
/* Cost by pairs of events (operators spec, 5.6). */
void mk_motif_cost(const mk_cost_input *in, mk_cost *out);

extern const char *const mk_motif_modes[];
#define MK_MOTIF_ARGS                                                                              \
    {.name = "motif",                                                                              \
     .type = MK_ARG_ENUM,                                                                          \
     .required = true,                                                                             \
     .choices = mk_motif_names,                                                                    \
     .doc = "The pattern, edges in the order of time. M_triangle_cyclic: u->v, v->w, w->u. "       \
            "M_triangle_acyclic_1: u->v, u->w, v->w. M_2node_pingpong: u->v, v->u, u->v. "         \
            "M_star_out_3: u->a, u->b, u->c. M_path_3: u->v, v->w, w->x."},                        \
        {.name = "delta",                                                                          \
         .type = MK_ARG_INTEGER,                                                                   \
         .required = true,                                                                         \
         .any_size = true,                                                                         \
         .min = 1,                                                                                 \
         .max = INT64_MAX,                                                                         \
         .doc = "Most microseconds from the start of the first edge to the start of the third."},  \
        MK_ARG_WINDOW,                                                                             \
        {.name = "node_filter",                                                                    \
         .type = MK_ARG_LIST,                                                                      \
         .nullable = true,                                                                         \
         .max = 10000,                                                                             \
         .item = &mk_arg_text,                                                                     \
         .default_json = "null",                                                                   \
         .doc = "Only edges with both ends among these uids; null is all, [] is none."},           \
        MK_ARG_AS_OF,                                                                              \
        {.name = "mode",                                                                           \
         .type = MK_ARG_ENUM,                                                                      \
         .choices = mk_motif_modes,                                                                \
         .default_json = "\"exact\"",                                                              \
         .doc = "exact; sample is refused."},                                                      \
    {                                                                                              \
        .name = "seed", .type = MK_ARG_INTEGER, .nullable = true, .any_size = true,                \
        .min = INT64_MIN, .max = INT64_MAX, .default_json = "null", .doc = "Ignored."              \
    }

#endif

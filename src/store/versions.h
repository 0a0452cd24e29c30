/* versions.h — every stored version that a view knows of, superseded ones included. Layer: store.
 *
 * view.h lists what is believed; this lists what was ever believed up to the view's transaction time. Rows come
 * as columns, with the numbers of the batches that began and ended belief in them; numbers ascend with
 * transaction times, and mk_view_batch_tt turns one into the other. Source: store spec, 5, 13; STORAGE.md,
 * "Data". */
#ifndef MK_STORE_VERSIONS_H
#define MK_STORE_VERSIONS_H

#include "store/view.h"

#define MK_STILL_BELIEVED UINT32_MAX

enum { MK_VERSIONS_CURRENT = 1, MK_VERSIONS_SUPERSEDED = 2 };

/* `count` values in every array. What `part` and `row` name goes into an mk_edge_ref or mk_node_ref, as
 * with rows that are believed. */
typedef struct mk_version_block {
    uint32_t count; /* 1 to MK_EDGE_BLOCK */
    uint32_t part;
    const int64_t *vt_s, *vt_e;
    const uint32_t *a;     /* uid of a node, src of an edge: dense ids */
    const uint32_t *b;     /* dst; of nodes without meaning */
    const uint32_t *name;  /* code of the label or of the relation type */
    const uint32_t *row;
    const uint32_t *begun; /* number of the batch that wrote it */
    const uint32_t *ended; /* of the one that superseded it; MK_STILL_BELIEVED as the view sees it */
} mk_version_block;

/* Which versions of a kind a listing gives, and how much of them. */
typedef struct mk_version_filter {
    bool nodes;           /* else edges */
    unsigned which;       /* a sum of MK_VERSIONS_... */
    int64_t vt_lo, vt_hi; /* those that overlap [vt_lo, vt_hi) in valid time */
    bool brief;           /* only vt_s, vt_e, name, begun and ended are wanted; a, b and row are then NULL */
} mk_version_filter;

/* Newest batch that the view sees: numbers are 1 to this, 0 when there is none. */
uint32_t mk_view_batch_count(const mk_view *view);
mk_tt mk_view_batch_tt(const mk_view *view, uint32_t number);

/* The versions that pass the filter, in no order. Blocks are good for the call of `each` only. Cost: the rows
 * of the kind that begin before vt_hi; for superseded ones alone, those that stand near one. MK_E_CANCELLED
 * when `each` returns false. */
typedef bool mk_version_fn(void *ctx, const mk_version_block *block);
MK_CHECK mk_code mk_view_versions(mk_view *view, const mk_version_filter *filter, mk_version_fn *each,
                                  void *ctx, mk_err *err);

#endif

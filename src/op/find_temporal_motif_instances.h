/* find_temporal_motif_instances.h — the kernel of find_temporal_motif_instances. Layer: op. */
#ifndef MK_OP_FIND_TEMPORAL_MOTIF_INSTANCES_H
#define MK_OP_FIND_TEMPORAL_MOTIF_INSTANCES_H

#include "op/motif.h"

/* One page of instances. Arrays live in the arena given. */
typedef struct mk_motif_rows {
    mk_motif_events events;
    mk_span span; /* total is exact whatever the page */
    mk_motif_instance *rows; /* span.end - span.start of them: places in `events` */
} mk_motif_rows;

/* Source: operators spec, 7.7. Counts by first edge, then builds the page's rows only.
 * Errors: those of mk_motif_gather, mk_motif_count and mk_page_span, and what reading the store gives. */
MK_CHECK mk_code mk_motifs_find(mk_view *view, mk_arena *arena, const mk_motif_args *args,
                                const mk_page *page, mk_guard *guard, mk_motif_rows *out, mk_err *err);

#endif

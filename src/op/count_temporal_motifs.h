/* count_temporal_motifs.h — the kernel of count_temporal_motifs. Layer: op. */
#ifndef MK_OP_COUNT_TEMPORAL_MOTIFS_H
#define MK_OP_COUNT_TEMPORAL_MOTIFS_H

#include "op/motif.h"

typedef struct mk_motif_counts {
    int64_t count;   /* instances */
    uint64_t events; /* of the window and filter, self-loops included */
} mk_motif_counts;

/* Source: operators spec, 7.6. Reads the window's events once, or with a filter the lists of its nodes.
 * Errors: those of mk_motif_gather and mk_motif_count, and what reading the store gives. */
MK_CHECK mk_code mk_motifs_count(mk_view *view, mk_arena *arena, const mk_motif_args *args,
                                 mk_guard *guard, mk_motif_counts *out, mk_err *err);

#endif

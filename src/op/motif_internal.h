/* motif_internal.h — what counting and listing of motifs share. Layer: op, internal. */
#ifndef MK_OP_MOTIF_INTERNAL_H
#define MK_OP_MOTIF_INTERNAL_H

#include "op/motif.h"

/* An event seen from one of its ends. */
typedef struct mk_motif_step {
    uint32_t place;
    uint32_t node; /* the other end */
} mk_motif_step;

/* Events by one of their ends, each list in event order: of[at[n]] to of[at[n + 1]] are those of node n. */
typedef struct mk_motif_lists {
    uint32_t *at;
    mk_motif_step *of;
} mk_motif_lists;

/* Lists by `key`, with `other` as the other end; arrays of events->count. */
MK_CHECK mk_code mk_motif__lists(const mk_motif_events *events, const uint32_t *key,
                                 const uint32_t *other, mk_arena *arena, mk_motif_lists *out,
                                 mk_err *err);

/* Room for `count` elements of `size` bytes; NULL when there is none. */
void *mk_motif__get(mk_arena *arena, size_t count, size_t size);

#endif

/* apply_internal.h — what the ops share while a batch is staged. Layer: store, internal. */
#ifndef MK_STORE_APPLY_INTERNAL_H
#define MK_STORE_APPLY_INTERNAL_H

#include "store/internal.h"

/* A version that is believed now: in the tail, or in a segment. */
typedef struct mk_hit {
    mk_segment *segment; /* NULL: tail */
    uint32_t row;
    int64_t vt_s, vt_e;
} mk_hit;

typedef struct mk_staging {
    mk_store *store;
    uint32_t seq;
    mk_tt tt;
    mk_hit *hits;
    size_t hit_count, hit_cap;
    int64_t want_s, want_e; /* hits overlap [want_s, want_e) */
    mk_pending *pending;
    bool strict; /* a new write, not a replayed one: refuse what only old logs may hold */
    mk_err *err;
} mk_staging;

/* Adds the believed tail rows of the identity that overlap [want_s, want_e) to s->hits. */
MK_CHECK mk_code mk_apply__find_in_tail(mk_staging *s, const mk_ident *ident);
/* Inserts a row and notes what it touches. */
MK_CHECK mk_code mk_apply__insert(mk_staging *s, const mk_tail_row *row);
MK_CHECK mk_code mk_apply__origin(mk_staging *s, const mk_op *op, uint32_t *origin);
/* An ingest_events op (events.c). `alone`: it is the whole batch. */
MK_CHECK mk_code mk_apply__events(mk_staging *s, const mk_op *op, bool alone);

#endif

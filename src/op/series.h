/* series.h — a window cut into buckets, and what is counted in them. Layer: op.
 *
 * Counts of events and of active edges come from the places of bounds among sorted starts and ends, so
 * they cost the buckets and not the events. Source: operators spec, 7.8, 7.9. */
#ifndef MK_OP_SERIES_H
#define MK_OP_SERIES_H

#include "op/registry.h"

#define MK_BUCKETS_MAX 2000

/* Bucket i is [t_a + i * stride, min(t_a + (i + 1) * stride, t_b)). */
typedef struct mk_buckets {
    int64_t t_a, t_b;
    int64_t stride;
    size_t count;
} mk_buckets;

/* Errors: MK_E_LIMIT above MK_BUCKETS_MAX buckets, with the smallest stride that would pass. */
MK_CHECK mk_code mk_buckets_of(int64_t t_a, int64_t t_b, int64_t stride, mk_buckets *out, mk_err *err);
/* The buckets of args.window and args.stride. */
MK_CHECK mk_code mk_buckets_of_args(const mk_json *args, mk_buckets *out, mk_err *err);

static inline int64_t mk_bucket_start(const mk_buckets *b, size_t i)
{
    return b->t_a + (int64_t)i * b->stride; /* i is below count, so it lies before t_b */
}
static inline int64_t mk_bucket_end(const mk_buckets *b, size_t i)
{
    return i + 1 < b->count ? mk_bucket_start(b, i + 1) : b->t_b;
}
/* Of a time inside the window. */
static inline size_t mk_bucket_at(const mk_buckets *b, int64_t t)
{
    return (size_t)(((uint64_t)t - (uint64_t)b->t_a) / (uint64_t)b->stride);
}
/* The first bucket that starts at `t` or later; count when there is none. */
static inline size_t mk_bucket_from(const mk_buckets *b, int64_t t)
{
    if (t <= b->t_a)
        return 0;
    if (t > mk_bucket_start(b, b->count - 1))
        return b->count;
    return (size_t)(((uint64_t)t - (uint64_t)b->t_a - 1) / (uint64_t)b->stride + 1);
}

/* counts[i] = events in bucket i: all of them, ... */
MK_CHECK mk_code mk_series_events(mk_view *view, mk_arena *arena, const mk_buckets *buckets,
                                  uint64_t *counts, mk_err *err);
/* ... or those of some relation types (NULL: all) and of one entity (MK_NO_ID: all). */
typedef struct mk_event_choice {
    const uint32_t *rel_types;
    size_t rel_type_count;
    uint32_t uid;
} mk_event_choice;
MK_CHECK mk_code mk_series_chosen(mk_view *view, mk_arena *arena, const mk_buckets *buckets,
                                  const mk_event_choice *choice, mk_guard *guard, uint64_t *counts,
                                  mk_err *err);
/* counts[i] = edge versions valid at the start of bucket i. */
MK_CHECK mk_code mk_series_active(mk_view *view, mk_arena *arena, const mk_buckets *buckets,
                                  uint64_t *counts, mk_err *err);

#endif

/* series.c — a window cut into buckets, and what is counted in them. See series.h. Layer: op. */
#include "op/series.h"

mk_code mk_buckets_of(int64_t t_a, int64_t t_b, int64_t stride, mk_buckets *out, mk_err *err)
{
    MK_ASSERT(t_a < t_b);
    MK_ASSERT(stride >= 1);
    const uint64_t span = (uint64_t)t_b - (uint64_t)t_a;
    const uint64_t count = (span - 1) / (uint64_t)stride + 1;
    if (count > MK_BUCKETS_MAX) {
        const uint64_t least = (span - 1) / MK_BUCKETS_MAX + 1;
        mk_fail(err, MK_E_LIMIT,
                "stride %lld cuts the window into %llu buckets, more than %d; use stride >= %llu",
                (long long)stride, (unsigned long long)count, MK_BUCKETS_MAX,
                (unsigned long long)least);
        mk_err_hint(err, "a stride of %llu or more, or a shorter window", (unsigned long long)least);
        return MK_E_LIMIT;
    }
    *out = (mk_buckets){t_a, t_b, stride, (size_t)count};
    return MK_OK;
}

mk_code mk_buckets_of_args(const mk_json *args, mk_buckets *out, mk_err *err)
{
    const mk_json *window = mk_json_get(args, "window");
    return mk_buckets_of(mk_arg_i64(window, "t_a"), mk_arg_i64(window, "t_b"),
                         mk_arg_i64(args, "stride"), out, err);
}

/* Where the buckets begin, and where the last one ends: count + 1 bounds. */
static int64_t *bounds_of(const mk_buckets *buckets, mk_arena *arena, int64_t plus, mk_err *err)
{
    int64_t *bounds = mk_arena_get(arena, (buckets->count + 1) * sizeof *bounds);
    if (bounds == NULL) {
        (void)mk_fail_nomem(err);
        return NULL;
    }
    for (size_t i = 0; i < buckets->count; i++)
        bounds[i] = mk_bucket_start(buckets, i) + plus;
    bounds[buckets->count] = buckets->t_b + plus;
    return bounds;
}

mk_code mk_series_events(mk_view *view, mk_arena *arena, const mk_buckets *buckets,
                         uint64_t *counts, mk_err *err)
{
    const size_t n = buckets->count;
    int64_t *bounds = bounds_of(buckets, arena, 0, err);
    uint64_t *before = mk_arena_get(arena, (n + 1) * sizeof *before);
    if (bounds == NULL || before == NULL)
        return mk_fail_nomem(err);
    const mk_code rc = mk_view_count_before(view, false, bounds, n + 1, before, err);
    for (size_t i = 0; rc == MK_OK && i < n; i++)
        counts[i] = before[i + 1] - before[i];
    return rc;
}

mk_code mk_series_active(mk_view *view, mk_arena *arena, const mk_buckets *buckets,
                         uint64_t *counts, mk_err *err)
{
    const size_t n = buckets->count;
    mk_code rc;
    int64_t *begun_by = bounds_of(buckets, arena, 1, err); /* vt_s <= t is vt_s < t + 1 */
    int64_t *ended_by = bounds_of(buckets, arena, 0, err);
    uint64_t *ended = mk_arena_get(arena, n * sizeof *ended);
    if (begun_by == NULL || ended_by == NULL || ended == NULL)
        return mk_fail_nomem(err);
    MK_TRY(rc, mk_view_count_before(view, false, begun_by, n, counts, err));
    MK_TRY(rc, mk_view_count_before(view, true, ended_by, n, ended, err));
    for (size_t i = 0; i < n; i++)
        counts[i] -= ended[i];
out:
    return rc;
}

/* ---- events that have to be looked at ---- */

typedef struct tally {
    const mk_buckets *buckets;
    mk_guard *guard;
    uint64_t *counts;
} tally;

static bool count_edge(void *ctx, const mk_edge_ref *ref)
{
    tally *t = ctx;
    t->counts[mk_bucket_at(t->buckets, ref->vt_s)]++;
    return mk_guard_ok(t->guard);
}

static mk_code count_stream(mk_view *view, mk_arena *arena, const mk_edge_filter *filter, tally *t,
                            mk_err *err)
{
    mk_edge_stream *stream;
    const mk_edge_block *block;
    mk_code rc;
    MK_TRY(rc, mk_view_stream(view, arena, filter, false, &stream, err));
    for (;;) {
        MK_TRY(rc, mk_edge_stream_next(stream, &block, err));
        if (block == NULL || !mk_guard_done(t->guard, block->count))
            break;
        for (uint32_t i = 0; i < block->count; i++)
            t->counts[mk_bucket_at(t->buckets, block->vt_s[i])]++;
    }
    rc = mk_guard_result(t->guard, err);
out:
    return rc;
}

mk_code mk_series_chosen(mk_view *view, mk_arena *arena, const mk_buckets *buckets,
                         const mk_event_choice *choice, mk_guard *guard, uint64_t *counts,
                         mk_err *err)
{
    tally t = {buckets, guard, counts};
    const mk_edge_filter filter = {.vt_lo = buckets->t_a,
                                   .vt_hi = buckets->t_b,
                                   .rel_types = choice->rel_types,
                                   .rel_type_count = choice->rel_type_count,
                                   .match = MK_MATCH_STARTS,
                                   .without = MK_WITHOUT_ENDS | MK_WITHOUT_SRC | MK_WITHOUT_DST |
                                              MK_WITHOUT_ROWS};
    memset(counts, 0, buckets->count * sizeof *counts);
    if (choice->uid == MK_NO_ID && choice->rel_types == NULL)
        return mk_series_events(view, arena, buckets, counts, err);
    if (choice->uid == MK_NO_ID)
        return count_stream(view, arena, &filter, &t, err);
    const mk_code rc = mk_view_edges_of(view, choice->uid, &filter, count_edge, &t, err);
    return mk_guard_or(guard, rc, err);
}

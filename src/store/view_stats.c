/* view_stats.c — statistics of what a mask admits. Layer: store.
 *
 * Counts cover all stored versions, whatever the view's transaction time (store spec, 14). */
#include <stdlib.h>

#include "store/view_internal.h"

void mk_view_get_stats(const mk_view *view, mk_view_stats *out)
{
    const mk_state *state = view->state;
    *out = (mk_view_stats){0};
    for (unsigned class = 0; class < MK_CLASS_COUNT; class++) {
        const mk_class_stats *stats = &state->stats[class];
        if (!(view->mask >> class & 1))
            continue;
        out->entities += stats->entities;
        out->node_versions += stats->node_versions;
        out->edge_versions += stats->edge_versions;
        if (!stats->has_extent)
            continue;
        if (!out->has_extent || stats->vt_min < out->vt_min)
            out->vt_min = stats->vt_min;
        if (!out->has_extent || stats->vt_max > out->vt_max)
            out->vt_max = stats->vt_max;
        out->has_extent = true;
    }
    out->max_out_degree = view->mask == MK_SHOW_USER ? state->degree_max_user : state->degree_max_all;
}

static int by_rel_name(const void *x, const void *y)
{
    return mk_str_cmp(((const mk_rel_count *)x)->rel_type, ((const mk_rel_count *)y)->rel_type);
}

/* The running counters when they are of this view's state: sums[code] over the classes shown. Nobody waits
 * for the mutex here; false says that somebody holds it or has published since. */
static bool counters_of_state(const mk_view *view, uint64_t *sums)
{
    mk_store *store = view->store;
    if (pthread_mutex_trylock(&store->mutex) != 0)
        return false;
    const bool same = store->published.seq == view->state->seq;
    for (uint32_t code = 0; same && code < view->state->name_count; code++) {
        const _Atomic uint64_t *counts =
            mk_geo_at(&store->rel_count, code, MK_CLASS_COUNT * sizeof(_Atomic uint64_t));
        sums[code] = 0;
        for (unsigned class = 0; class < MK_CLASS_COUNT; class++)
            if (view->mask >> class & 1)
                sums[code] += atomic_load_explicit(&counts[class], memory_order_relaxed);
    }
    pthread_mutex_unlock(&store->mutex);
    return same;
}

/* The same by looking at every edge version of the state, believed or not. */
static mk_code count_by_scan(const mk_view *view, uint64_t *sums, mk_err *err)
{
    const mk_state *state = view->state;
    mk_code rc = MK_OK;
    memset(sums, 0, (size_t)state->name_count * sizeof *sums);
    for (size_t l = 0; l < MK_EDGE_LANES; l++) {
        const mk_lane lane = mk_scan__edge_lanes[l];
        if (!mk_scan__lane_shown(view, lane))
            continue;
        for (uint32_t part = state->first[lane]; part < state->first[lane + 1]; part++) {
            mk_scan s;
            MK_TRY(rc, mk_scan__open(view, part, &s, err));
            const bool reserved = lane == MK_LANE_RESERVED_EDGE;
            for (uint32_t row = 0; row < s.segment->rows; row++)
                if (!reserved || mk_scan__class_shown(view, mk_col_u32(s.a, row), mk_col_u32(s.b, row)))
                    sums[mk_col_u32(s.rel, row)]++;
        }
    }
    for (uint32_t number = state->tail_lo; number < state->tail_hi; number++) {
        const mk_tail_row *row = mk_state_row(state, number);
        if (!row->node && view->mask >> row->class & 1 &&
            atomic_load_explicit(&row->seq_e, memory_order_relaxed) != row->seq_s)
            sums[row->rel]++;
    }
out:
    return rc;
}

mk_code mk_view_rel_counts(const mk_view *view, mk_arena *arena, mk_rel_count **out, size_t *count,
                           mk_err *err)
{
    const uint32_t names = view->state->name_count;
    mk_rel_count *rels = mk_arena_get(arena, (size_t)names * sizeof *rels);
    uint64_t *sums = mk_arena_get(arena, (size_t)names * sizeof *sums);
    size_t n = 0;
    mk_code rc = MK_OK;
    if (rels == NULL || sums == NULL)
        return mk_fail_nomem(err);
    if (!counters_of_state(view, sums))
        MK_TRY(rc, count_by_scan(view, sums, err));
    for (uint32_t code = 0; code < names; code++)
        if (sums[code] != 0)
            rels[n++] = (mk_rel_count){mk_view_name(view, code), sums[code]};
    qsort(rels, n, sizeof *rels, by_rel_name);
    *out = rels;
    *count = n;
out:
    return rc;
}

/* view_scan.c — what all reading shares: one segment, or the tail, as a view sees it. Layer: store. */
#include "store/view_internal.h"

const mk_lane mk_scan__edge_lanes[MK_EDGE_LANES] = {MK_LANE_INSTANT, MK_LANE_INTERVAL,
                                                    MK_LANE_RESERVED_EDGE};

bool mk_scan__worth(const mk_view *view, const mk_segment *segment, int64_t vt_lo, int64_t vt_hi)
{
    if (segment->zone.seq_s_min > view->seq || segment->zone.vt_s_min >= vt_hi ||
        segment->zone.vt_e_max <= vt_lo)
        return false;
    return !segment->past || (!view->current && segment->zone.seq_e_max > view->seq);
}

bool mk_scan__worth_edges(const mk_view *view, const mk_segment *segment, const mk_edge_filter *filter)
{
    const mk_zone *zone = &segment->zone;
    if (!mk_scan__worth(view, segment, INT64_MIN, INT64_MAX))
        return false;
    switch (filter->match) {
    case MK_MATCH_OVERLAPS: return zone->vt_s_min < filter->vt_hi && zone->vt_e_max > filter->vt_lo;
    case MK_MATCH_STARTS: return zone->vt_s_min < filter->vt_hi && zone->vt_s_max >= filter->vt_lo;
    default: return zone->vt_s_min < filter->vt_hi && zone->vt_e_max >= filter->vt_lo;
    }
}

/* With a constant duration bounds of ends are bounds of starts. Versions are never empty, so what ends in a
 * window also starts before its end. */
mk_start_range mk_scan__starts(const mk_scan *s, const mk_edge_filter *filter)
{
    mk_start_range range = {INT64_MIN, filter->vt_hi};
    if (filter->match == MK_MATCH_STARTS) {
        range.lo = filter->vt_lo;
        return range;
    }
    if (filter->vt_lo == INT64_MIN || !s->segment->end_is_duration || s->vt_e->width != 0 ||
        s->vt_e->step != 0)
        return range;
    const int64_t duration = (int64_t)s->vt_e->base;
    int64_t lo;
    if (__builtin_sub_overflow(filter->vt_lo, duration, &lo) || lo == INT64_MAX)
        return range;
    range.lo = filter->match == MK_MATCH_OVERLAPS ? lo + 1 : lo;
    return range;
}

bool mk_scan__spans_help(const mk_scan *s, const mk_edge_filter *filter)
{
    return filter->match != MK_MATCH_STARTS && filter->vt_lo != INT64_MIN &&
           s->segment->rows > MK_SPAN_ROWS && mk_scan__starts(s, filter).lo == INT64_MIN;
}

static bool has_rel_type(const mk_edge_filter *filter, uint32_t rel_type)
{
    for (size_t i = 0; i < filter->rel_type_count; i++)
        if (filter->rel_types[i] == rel_type)
            return true;
    return false;
}

bool mk_scan__passes(const mk_edge_filter *filter, const mk_edge_ref *ref)
{
    bool inside;
    switch (filter->match) {
    case MK_MATCH_OVERLAPS: inside = ref->vt_s < filter->vt_hi && ref->vt_e > filter->vt_lo; break;
    case MK_MATCH_STARTS: inside = ref->vt_s >= filter->vt_lo && ref->vt_s < filter->vt_hi; break;
    default: inside = ref->vt_e >= filter->vt_lo && ref->vt_e < filter->vt_hi; break;
    }
    return inside && (filter->rel_types == NULL || has_rel_type(filter, ref->rel_type));
}

mk_code mk_scan__open(const mk_view *view, uint32_t part, mk_scan *s, mk_err *err)
{
    mk_segment *segment = view->state->segments[part];
    mk_code rc;
    *s = (mk_scan){.segment = segment, .part = part, .seq = view->seq};
    MK_TRY(rc, mk_segment_col(segment, MK_C_VT_S, &s->vt_s, err));
    MK_TRY(rc, mk_segment_col(segment, MK_C_VT_E, &s->vt_e, err));
    MK_TRY(rc, mk_segment_col(segment, MK_C_A, &s->a, err));
    MK_TRY(rc, mk_segment_col(segment, MK_C_REL, &s->rel, err));
    if (!mk_lane_is_node(segment->lane))
        MK_TRY(rc, mk_segment_col(segment, MK_C_B, &s->b, err));
    if (segment->zone.seq_s_max > view->seq)
        MK_TRY(rc, mk_segment_col(segment, MK_C_SEQ_S, &s->seq_s, err));
    if (segment->past)
        MK_TRY(rc, mk_segment_col(segment, MK_C_SEQ_E, &s->seq_e, err));
    else
        s->ends = atomic_load_explicit(&segment->ends, memory_order_acquire);
out:
    return rc;
}

bool mk_scan__lane_shown(const mk_view *view, mk_lane lane)
{
    if (lane == MK_LANE_RESERVED_EDGE || lane == MK_LANE_RESERVED_NODE)
        return view->mask & ~(unsigned)MK_SHOW_USER;
    return view->mask & MK_SHOW_USER;
}

/* ---- tail rows ---- */

/* Next visible row number of a chain that this state has; MK_NONE at the end. */
static uint32_t follow(const mk_view *view, uint32_t link, bool by_b)
{
    const mk_state *state = view->state;
    while (link != 0 && link - 1 >= state->tail_hi) {
        /* Staged later than this state. The row is linked, so its chunk exists, but perhaps not in
         * this state's list: then the writer's newer chunks lead on, and so we cannot follow. */
        const uint32_t chunk = (link - 1) / MK_TAIL_CHUNK;
        if (chunk - state->chunk_base >= state->chunk_count)
            return MK_NONE - 1; /* ask for a scan of the tail */
        const mk_tail_row *row = mk_state_row(state, link - 1);
        link = atomic_load_explicit(by_b ? &row->older_b : &row->older_a, memory_order_acquire);
    }
    return link == 0 || link - 1 < state->tail_lo ? MK_NONE : link - 1;
}

static bool of_side(const mk_tail_row *row, uint32_t id, int side)
{
    return side == 0 ? row->node && row->a == id : !row->node && (side == 1 ? row->a : row->b) == id;
}

bool mk_scan__tail(const mk_view *view, uint32_t id, int side, mk_tail_fn *each, void *ctx)
{
    const mk_state *state = view->state;
    if (state->tail_lo == state->tail_hi)
        return true;
    mk_heads *heads = mk_heads_at(view->store, id);
    _Atomic uint32_t *head = side == 0 ? &heads->node : side == 1 ? &heads->out : &heads->in;
    uint32_t number = follow(view, atomic_load_explicit(head, memory_order_acquire), side == 2);
    if (number == MK_NONE - 1) {
        for (number = state->tail_lo; number < state->tail_hi; number++) {
            const mk_tail_row *row = mk_state_row(state, number);
            if (of_side(row, id, side) && mk_scan__tail_visible(view, row) && !each(ctx, row, number))
                return false;
        }
        return true;
    }
    while (number != MK_NONE) {
        const mk_tail_row *row = mk_state_row(state, number);
        if (mk_scan__tail_visible(view, row) && !each(ctx, row, number))
            return false;
        number = follow(view,
                        atomic_load_explicit(side == 2 ? &row->older_b : &row->older_a,
                                             memory_order_acquire),
                        side == 2);
    }
    return true;
}

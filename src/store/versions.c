/* versions.c — see versions.h. Layer: store.
 *
 * Rows of a segment are taken a span at a time: first the columns that decide, then, for spans where something
 * passes, the rest, both squeezed to the rows that pass. */
#include "store/versions.h"

#include "store/view_internal.h"

#define BLOCK MK_SPAN_ROWS
static_assert(BLOCK <= MK_EDGE_BLOCK, "a span is a block");

typedef struct listing {
    mk_view *view;
    const mk_version_filter *filter;
    mk_version_fn *each;
    void *ctx;
    uint32_t count; /* rows that pass, and their columns: */
    int64_t vt_s[BLOCK], vt_e[BLOCK];
    uint32_t a[BLOCK], b[BLOCK], name[BLOCK], row[BLOCK], begun[BLOCK], ended[BLOCK];
} listing;

uint32_t mk_view_batch_count(const mk_view *view) { return view->seq; }

mk_tt mk_view_batch_tt(const mk_view *view, uint32_t number)
{
    MK_ASSERT(number <= view->seq);
    return (mk_tt){number != 0 ? mk_batch_tt(view->store, number) : 0};
}

static mk_code give(listing *l, uint32_t part)
{
    const bool brief = l->filter->brief;
    const mk_version_block block = {.count = l->count,
                                    .part = part,
                                    .vt_s = l->vt_s,
                                    .vt_e = l->vt_e,
                                    .a = brief ? NULL : l->a,
                                    .b = brief ? NULL : l->b,
                                    .name = l->name,
                                    .row = brief ? NULL : l->row,
                                    .begun = l->begun,
                                    .ended = l->ended};
    l->count = 0;
    if (block.count == 0 || l->each(l->ctx, &block))
        return MK_OK;
    return MK_E_CANCELLED;
}

static bool is_shown(const listing *l, uint32_t a, uint32_t b)
{
    return l->filter->nodes ? mk_view_entity_visible(l->view, a) : mk_scan__class_shown(l->view, a, b);
}

/* The end of belief as the view sees it. */
static uint32_t seen_end(const mk_view *view, uint32_t ended)
{
    return ended > view->seq ? MK_STILL_BELIEVED : ended;
}

static bool passes(const listing *l, int64_t vt_s, int64_t vt_e, uint32_t begun, uint32_t ended)
{
    const unsigned kind = ended == MK_STILL_BELIEVED ? MK_VERSIONS_CURRENT : MK_VERSIONS_SUPERSEDED;
    return (begun <= l->view->seq) & (vt_s < l->filter->vt_hi) & (l->filter->vt_lo < vt_e) &
           ((l->filter->which & kind) != 0);
}

/* ---- segments ---- */

typedef struct source {
    mk_scan scan;
    const mk_col *begun;
    bool reserved; /* the mask may hide some of its rows */
} source;

static bool is_worth(const listing *l, mk_segment *segment)
{
    const mk_zone *zone = &segment->zone;
    if (zone->seq_s_min > l->view->seq || zone->vt_s_min >= l->filter->vt_hi ||
        zone->vt_e_max <= l->filter->vt_lo)
        return false;
    if (segment->past) /* all its rows have ended; perhaps later than the view sees */
        return (l->filter->which & MK_VERSIONS_SUPERSEDED) || zone->seq_e_max > l->view->seq;
    return (l->filter->which & MK_VERSIONS_CURRENT) ||
           atomic_load_explicit(&segment->ends, memory_order_acquire) != NULL;
}

static bool span_is_worth(const listing *l, const source *s, uint32_t from)
{
    return (l->filter->which & MK_VERSIONS_CURRENT) || s->scan.segment->past || s->scan.ends == NULL ||
           mk_ends_in_span(s->scan.ends, s->scan.segment->rows, from / BLOCK) != 0;
}

static void read_ends(const listing *l, const source *s, uint32_t from, uint32_t count, uint32_t *ended)
{
    if (s->scan.seq_e != NULL)
        mk_col_read_u32(s->scan.seq_e, from, count, ended);
    else if (s->scan.ends != NULL)
        for (uint32_t i = 0; i < count; i++)
            ended[i] = atomic_load_explicit(&s->scan.ends->seq[from + i], memory_order_relaxed);
    else
        memset(ended, 0xFF, count * sizeof *ended); /* MK_STILL_BELIEVED throughout */
    for (uint32_t i = 0; i < count; i++)
        ended[i] = seen_end(l->view, ended[i]);
}

/* Keeps what at[] names; at[i] >= i. */
static void squeeze(uint32_t *column, const uint32_t *at, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        column[i] = column[at[i]];
}

/* The columns that decide; at[] becomes the places of the rows that pass. */
static void read_deciding(listing *l, const source *s, uint32_t from, uint32_t count, uint32_t *at)
{
    mk_col_read(s->scan.vt_s, from, count, l->vt_s);
    mk_col_read(s->scan.vt_e, from, count, l->vt_e);
    mk_col_read_u32(s->begun, from, count, l->begun);
    read_ends(l, s, from, count, l->ended);
    l->count = 0;
    for (uint32_t i = 0; i < count; i++) {
        l->vt_e[i] = mk_end_of(s->scan.segment, l->vt_s[i], l->vt_e[i]);
        at[l->count] = i;
        l->count += passes(l, l->vt_s[i], l->vt_e[i], l->begun[i], l->ended[i]);
    }
}

/* Takes out the rows that the mask hides. */
static void hide(listing *l, uint32_t *at)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < l->count; i++) {
        at[kept] = at[i];
        kept += is_shown(l, l->a[at[i]], l->b[at[i]]);
    }
    l->count = kept;
}

static void list_span(listing *l, const source *s, uint32_t from, uint32_t count)
{
    uint32_t at[BLOCK + 1];
    read_deciding(l, s, from, count, at);
    if (l->count == 0)
        return;
    mk_col_read_u32(s->scan.rel, from, count, l->name);
    if (!l->filter->brief || s->reserved) {
        mk_col_read_u32(s->scan.a, from, count, l->a);
        if (s->scan.b != NULL)
            mk_col_read_u32(s->scan.b, from, count, l->b);
    }
    if (s->reserved)
        hide(l, at);
    for (uint32_t i = 0; i < l->count; i++)
        l->row[i] = from + at[i];
    if (l->count == count)
        return;
    for (uint32_t i = 0; i < l->count; i++) {
        l->vt_s[i] = l->vt_s[at[i]];
        l->vt_e[i] = l->vt_e[at[i]];
    }
    squeeze(l->begun, at, l->count);
    squeeze(l->ended, at, l->count);
    squeeze(l->name, at, l->count);
    if (l->filter->brief)
        return;
    squeeze(l->a, at, l->count);
    if (s->scan.b != NULL)
        squeeze(l->b, at, l->count);
}

static mk_code list_segment(listing *l, uint32_t part, mk_err *err)
{
    const int64_t vt_hi = l->filter->vt_hi;
    source s = {.begun = NULL};
    mk_code rc;
    MK_TRY(rc, mk_scan__open(l->view, part, &s.scan, err));
    mk_segment *segment = s.scan.segment;
    MK_TRY(rc, mk_segment_col(segment, MK_C_SEQ_S, &s.begun, err));
    s.reserved = segment->lane == MK_LANE_RESERVED_EDGE || segment->lane == MK_LANE_RESERVED_NODE;
    const uint32_t to = vt_hi == INT64_MAX ? segment->rows : mk_col_lower(s.scan.vt_s, vt_hi);
    for (uint32_t from = 0; from < to; from += BLOCK) {
        if (!span_is_worth(l, &s, from))
            continue;
        list_span(l, &s, from, to - from < BLOCK ? to - from : BLOCK);
        MK_TRY(rc, give(l, part));
    }
out:
    return rc;
}

/* ---- the tail ---- */

static void take_tail_row(listing *l, const mk_tail_row *row, uint32_t number)
{
    const uint32_t seq_e = atomic_load_explicit(&row->seq_e, memory_order_acquire);
    const uint32_t ended = seen_end(l->view, seq_e), at = l->count;
    if (row->node != l->filter->nodes || seq_e == row->seq_s || /* written and replaced in one batch */
        !passes(l, row->vt_s, row->vt_e, row->seq_s, ended) || !is_shown(l, row->a, row->b))
        return;
    l->vt_s[at] = row->vt_s;
    l->vt_e[at] = row->vt_e;
    l->a[at] = row->a;
    l->b[at] = row->b;
    l->name[at] = row->rel;
    l->row[at] = number;
    l->begun[at] = row->seq_s;
    l->ended[at] = ended;
    l->count++;
}

static mk_code list_tail(listing *l)
{
    const mk_state *state = l->view->state;
    for (uint32_t number = state->tail_lo; number < state->tail_hi; number++) {
        take_tail_row(l, mk_state_row(state, number), number);
        if (l->count == BLOCK) {
            const mk_code rc = give(l, MK_NO_ID);
            if (rc != MK_OK)
                return rc;
        }
    }
    return give(l, MK_NO_ID);
}

mk_code mk_view_versions(mk_view *view, const mk_version_filter *filter, mk_version_fn *each, void *ctx,
                         mk_err *err)
{
    static const mk_lane node_lanes[] = {MK_LANE_NODE, MK_LANE_RESERVED_NODE};
    const mk_lane *lanes = filter->nodes ? node_lanes : mk_scan__edge_lanes;
    const size_t lane_count = filter->nodes ? sizeof node_lanes / sizeof *node_lanes : MK_EDGE_LANES;
    const mk_state *state = view->state;
    listing l = {.view = view, .filter = filter, .each = each, .ctx = ctx};
    mk_code rc = MK_OK;
    for (size_t i = 0; i < lane_count; i++) {
        if (!mk_scan__lane_shown(view, lanes[i]))
            continue;
        for (uint32_t part = state->first[lanes[i]]; part < state->first[lanes[i] + 1]; part++)
            if (is_worth(&l, state->segments[part]))
                MK_TRY(rc, list_segment(&l, part, err));
    }
    rc = list_tail(&l);
out:
    return rc;
}

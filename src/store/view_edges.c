/* view_edges.c — listing the edges of one entity by its lists; scan order. Layer: store. */
#include <stdlib.h>

#include "store/view_internal.h"

static bool wants(const mk_edge_filter *filter, int side)
{
    return filter->sides == 0 || (filter->sides & (side == 0 ? MK_SIDE_OUT : MK_SIDE_IN)) != 0;
}

#define PREFETCH_AHEAD 8u /* rows; a list leads all over the columns */

/* A list as one call walks it. Rows ascend, and so do their starts. */
typedef struct list_walk {
    const mk_scan *scan;
    const mk_col *rows;
    const mk_span_ends *spans; /* NULL: not looked at */
    const mk_edge_filter *filter;
    uint32_t id;
    int side;
    bool reserved; /* rows of several classes; elsewhere both ends are users' */
} list_walk;

uint32_t mk_scan__list_lower(const mk_col *rows, uint32_t from, uint32_t to, uint32_t row)
{
    while (from < to) {
        const uint32_t mid = from + (to - from) / 2;
        if (mk_col_u32(rows, mid) < row)
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

/* Cuts [*from, *to) to the starts that can pass. The place of a start in the whole column is a row number, and
 * with that the list is searched in itself. */
static void cut_list(const mk_scan *s, const mk_edge_filter *filter, const mk_col *rows, uint32_t *from,
                     uint32_t *to)
{
    const mk_start_range starts = mk_scan__starts(s, filter);
    if (starts.hi != INT64_MAX && starts.hi <= s->segment->zone.vt_s_max)
        *to = mk_scan__list_lower(rows, *from, *to, mk_col_lower(s->vt_s, starts.hi));
    if (starts.lo != INT64_MIN && starts.lo > s->segment->zone.vt_s_min)
        *from = mk_scan__list_lower(rows, *from, *to, mk_col_lower(s->vt_s, starts.lo));
}

static void prefetch_row(const list_walk *w, uint32_t row)
{
    const mk_scan *s = w->scan;
    mk_col_prefetch(s->vt_s, row);
    mk_col_prefetch(s->vt_e, row);
    mk_col_prefetch(w->side == 0 ? s->b : s->a, row);
    mk_col_prefetch(s->rel, row);
}

/* Whether the row's span can hold one that passes, by its ends. */
static bool span_worth(const list_walk *w, uint32_t row)
{
    if (w->spans == NULL)
        return true;
    const int64_t most = w->spans->of[row / MK_SPAN_ROWS].max;
    return w->filter->match == MK_MATCH_OVERLAPS ? most > w->filter->vt_lo : most >= w->filter->vt_lo;
}

/* False when `each` returned false. */
static bool walk_list(const mk_view *view, const list_walk *w, uint32_t from, uint32_t to,
                      mk_edge_fn *each, void *ctx)
{
    const bool both = wants(w->filter, 0);
    for (uint32_t i = from; i < to && i < from + PREFETCH_AHEAD; i++)
        prefetch_row(w, mk_col_u32(w->rows, i));
    for (uint32_t i = from; i < to; i++) {
        const uint32_t row = mk_col_u32(w->rows, i);
        if (i + PREFETCH_AHEAD < to)
            prefetch_row(w, mk_col_u32(w->rows, i + PREFETCH_AHEAD));
        if (!span_worth(w, row) || !mk_scan__visible(w->scan, row))
            continue;
        const mk_edge_ref ref = mk_scan__edge(w->scan, row);
        if (w->side == 1 && ref.src == w->id && both) /* a self-loop was given by its source */
            continue;
        if (!mk_scan__passes(w->filter, &ref) ||
            (w->reserved && !mk_scan__class_shown(view, ref.src, ref.dst)))
            continue;
        if (!each(ctx, &ref))
            return false;
    }
    return true;
}

/* Edges of one side of an entity in one segment. */
static mk_code list_side(mk_view *view, uint32_t part, int side, uint32_t id,
                         const mk_edge_filter *filter, mk_edge_fn *each, void *ctx, mk_err *err)
{
    const mk_col *rows;
    uint32_t from, to;
    mk_scan s;
    mk_code rc;
    mk_segment *segment = view->state->segments[part];
    list_walk w = {.scan = &s, .filter = filter, .id = id, .side = side,
                   .reserved = segment->lane == MK_LANE_RESERVED_EDGE};
    MK_TRY(rc, mk_segment_group(segment, side, id, &rows, &from, &to, err));
    if (from == to)
        goto out;
    MK_TRY(rc, mk_scan__open(view, part, &s, err));
    cut_list(&s, filter, rows, &from, &to);
    w.rows = rows;
    if (to - from > PREFETCH_AHEAD && mk_scan__spans_help(&s, filter))
        MK_TRY(rc, mk_segment_span_ends(segment, &w.spans, err));
    if (!walk_list(view, &w, from, to, each, ctx))
        rc = MK_E_CANCELLED;
out:
    return rc;
}

typedef struct tail_edges {
    const mk_view *view;
    const mk_edge_filter *filter;
    mk_edge_fn *each;
    void *ctx;
    uint32_t id;
    bool skip_loops;
} tail_edges;

static bool give_tail_edge(void *ctx, const mk_tail_row *row, uint32_t number)
{
    const tail_edges *t = ctx;
    const mk_edge_ref ref = mk_scan__tail_edge(row, number);
    if (t->skip_loops && ref.src == t->id)
        return true;
    if (!mk_scan__passes(t->filter, &ref) || !mk_scan__class_shown(t->view, ref.src, ref.dst))
        return true;
    return t->each(t->ctx, &ref);
}

mk_code mk_view_edges_of(mk_view *view, uint32_t id, const mk_edge_filter *filter, mk_edge_fn *each,
                         void *ctx, mk_err *err)
{
    const mk_state *state = view->state;
    mk_code rc = MK_OK;
    if (!mk_view_entity_visible(view, id))
        return MK_OK;
    for (size_t l = 0; l < MK_EDGE_LANES; l++) {
        const mk_lane lane = mk_scan__edge_lanes[l];
        if (!mk_scan__lane_shown(view, lane))
            continue;
        for (uint32_t part = state->first[lane]; part < state->first[lane + 1]; part++) {
            if (!mk_scan__worth_edges(view, state->segments[part], filter))
                continue;
            for (int side = 0; side < 2; side++)
                if (wants(filter, side))
                    MK_TRY(rc, list_side(view, part, side, id, filter, each, ctx, err));
        }
    }
    tail_edges t = {view, filter, each, ctx, id, false};
    if (wants(filter, 0) && !mk_scan__tail(view, id, 1, give_tail_edge, &t)) {
        rc = MK_E_CANCELLED;
        goto out;
    }
    t.skip_loops = wants(filter, 0);
    if (wants(filter, 1) && !mk_scan__tail(view, id, 2, give_tail_edge, &t))
        rc = MK_E_CANCELLED;
out:
    return rc;
}

/* ---- scan order ---- */

typedef struct tied {
    char vid[24];
    mk_edge_ref ref;
} tied;

/* Rows of equal vt_s: by vid, equal vids in log order, which within a part is row order and across
 * parts the order of their batches. */
static int by_place(const void *x, const void *y)
{
    const mk_edge_ref *a = x, *b = y;
    if (a->vt_s != b->vt_s)
        return a->vt_s < b->vt_s ? -1 : 1;
    if (a->part != b->part)
        return a->part < b->part ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row;
}

static int by_vid(const void *x, const void *y)
{
    const tied *a = x, *b = y;
    const int c = memcmp(a->vid, b->vid, sizeof a->vid);
    return c != 0 ? c : by_place(&a->ref, &b->ref);
}

static mk_code sort_group(mk_view *view, mk_edge_ref *refs, size_t count, mk_err *err)
{
    char eid[24];
    mk_code rc = MK_OK;
    tied *items = mk_new(view->store->alloc, count * sizeof *items);
    if (items == NULL)
        return mk_fail_nomem(err);
    for (size_t i = 0; i < count; i++) {
        items[i].ref = refs[i];
        MK_TRY(rc, mk_view_edge_ids(view, &refs[i], eid, items[i].vid, err));
    }
    qsort(items, count, sizeof *items, by_vid);
    for (size_t i = 0; i < count; i++)
        refs[i] = items[i].ref;
out:
    mk_free(view->store->alloc, items, count * sizeof *items);
    return rc;
}

/* Ties inside such a part are in order already. */
static bool is_ordered(const mk_view *view, uint32_t part)
{
    if (part == MK_NO_ID)
        return false;
    const mk_segment *segment = view->state->segments[part];
    return mk_lane_is_ordered(segment->lane, segment->past);
}

mk_code mk_view_sort_edges(mk_view *view, mk_edge_ref *refs, size_t count, mk_err *err)
{
    if (count < 2)
        return MK_OK;
    qsort(refs, count, sizeof *refs, by_place);
    for (size_t from = 0; from < count;) {
        size_t to = from + 1;
        bool one_segment = is_ordered(view, refs[from].part);
        for (; to < count && refs[to].vt_s == refs[from].vt_s; to++)
            one_segment &= refs[to].part == refs[from].part;
        if (to - from > 1 && !one_segment) {
            const mk_code rc = sort_group(view, refs + from, to - from, err);
            if (rc != MK_OK)
                return rc;
        }
        from = to;
    }
    return MK_OK;
}

/* view_edges.c — listing edges: of one entity by its lists, of everything by columns. Layer: store. */
#include <stdlib.h>

#include "store/view_internal.h"

static bool passes(const mk_edge_filter *filter, const mk_edge_ref *ref)
{
    if (ref->vt_s >= filter->vt_hi || ref->vt_e <= filter->vt_lo)
        return false;
    if (filter->rel_types == NULL)
        return true;
    for (size_t i = 0; i < filter->rel_type_count; i++)
        if (filter->rel_types[i] == ref->rel_type)
            return true;
    return false;
}

/* Bounds of the rows of a constant duration that can overlap the window; all of them otherwise. */
static int64_t first_start(const mk_scan *s, int64_t vt_lo)
{
    if (!s->segment->end_is_duration || s->vt_e->width != 0 || s->vt_e->step != 0)
        return INT64_MIN;
    const int64_t duration = (int64_t)s->vt_e->base;
    int64_t start;
    if (__builtin_sub_overflow(vt_lo, duration, &start) || start == INT64_MAX)
        return INT64_MIN;
    return start + 1;
}

static uint32_t list_lower(const mk_scan *s, const mk_col *rows, uint32_t from, uint32_t to, int64_t vt)
{
    while (from < to) {
        const uint32_t mid = from + (to - from) / 2;
        if (mk_col_get(s->vt_s, mk_col_u32(rows, mid)) < vt)
            from = mid + 1;
        else
            to = mid;
    }
    return from;
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
    MK_TRY(rc, mk_segment_group(segment, side, id, &rows, &from, &to, err));
    if (from == to)
        goto out;
    MK_TRY(rc, mk_scan__open(view, part, &s, err));
    if (filter->vt_hi != INT64_MAX)
        to = list_lower(&s, rows, from, to, filter->vt_hi);
    const int64_t start = first_start(&s, filter->vt_lo);
    if (start != INT64_MIN)
        from = list_lower(&s, rows, from, to, start);
    for (uint32_t i = from; i < to; i++) {
        const uint32_t row = mk_col_u32(rows, i);
        if (!mk_scan__visible(&s, row))
            continue;
        const mk_edge_ref ref = mk_scan__edge(&s, row);
        if (side == 1 && ref.src == id) /* a self-loop was given by its source */
            continue;
        if (!passes(filter, &ref) || !mk_scan__class_shown(view, ref.src, ref.dst))
            continue;
        if (!each(ctx, &ref)) {
            rc = mk_scan__cancelled(err);
            goto out;
        }
    }
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
    if (!passes(t->filter, &ref) || !mk_scan__class_shown(t->view, ref.src, ref.dst))
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
            if (!mk_scan__worth(view, state->segments[part], filter->vt_lo, filter->vt_hi))
                continue;
            MK_TRY(rc, list_side(view, part, 0, id, filter, each, ctx, err));
            MK_TRY(rc, list_side(view, part, 1, id, filter, each, ctx, err));
        }
    }
    tail_edges t = {view, filter, each, ctx, id, false};
    if (!mk_scan__tail(view, id, 1, give_tail_edge, &t)) {
        rc = mk_scan__cancelled(err);
        goto out;
    }
    t.skip_loops = true;
    if (!mk_scan__tail(view, id, 2, give_tail_edge, &t))
        rc = mk_scan__cancelled(err);
out:
    return rc;
}

/* ---- all edges, a block of rows at a time ---- */

#define BLOCK 256u

typedef struct edge_block {
    int64_t vt_s[BLOCK], vt_e[BLOCK], a[BLOCK], b[BLOCK], rel[BLOCK];
    uint8_t hidden[BLOCK];
} edge_block;

/* Which of the rows [from, from + count) the view does not believe. */
static void hide_rows(const mk_scan *s, uint32_t from, uint32_t count, uint8_t *hidden)
{
    memset(hidden, 0, count);
    if (s->ends != NULL)
        for (uint32_t i = 0; i < count; i++)
            hidden[i] = atomic_load_explicit(&s->ends->seq[from + i], memory_order_relaxed) <= s->seq;
    if (s->seq_s != NULL)
        mk_col_flag_above(s->seq_s, from, count, s->seq, false, hidden);
    if (s->seq_e != NULL)
        mk_col_flag_above(s->seq_e, from, count, s->seq, true, hidden);
}

static void read_block(const mk_scan *s, uint32_t from, uint32_t count, edge_block *block)
{
    mk_col_read(s->vt_s, from, count, block->vt_s);
    mk_col_read(s->vt_e, from, count, block->vt_e);
    if (s->segment->end_is_duration)
        for (uint32_t i = 0; i < count; i++)
            block->vt_e[i] = (int64_t)((uint64_t)block->vt_e[i] + (uint64_t)block->vt_s[i]);
    mk_col_read(s->a, from, count, block->a);
    mk_col_read(s->b, from, count, block->b);
    mk_col_read(s->rel, from, count, block->rel);
}

/* Rows [row, to) of one segment; false when `each` returned false. */
static bool scan_rows(const mk_view *view, const mk_scan *s, uint32_t row, uint32_t to,
                      const mk_edge_filter *filter, mk_edge_fn *each, void *ctx)
{
    const bool reserved = s->segment->lane == MK_LANE_RESERVED_EDGE;
    edge_block block;
    for (; row < to; row += BLOCK) {
        const uint32_t count = to - row < BLOCK ? to - row : BLOCK;
        hide_rows(s, row, count, block.hidden);
        if (memchr(block.hidden, 0, count) == NULL)
            continue;
        read_block(s, row, count, &block);
        for (uint32_t i = 0; i < count; i++) {
            const mk_edge_ref ref = {block.vt_s[i],          block.vt_e[i],
                                     (uint32_t)block.a[i],   (uint32_t)block.b[i],
                                     (uint32_t)block.rel[i], s->part,
                                     row + i};
            if (block.hidden[i] || !passes(filter, &ref) ||
                (reserved && !mk_scan__class_shown(view, ref.src, ref.dst)))
                continue;
            if (!each(ctx, &ref))
                return false;
        }
    }
    return true;
}

static mk_code scan_segment(mk_view *view, uint32_t part, const mk_edge_filter *filter,
                            mk_edge_fn *each, void *ctx, mk_err *err)
{
    mk_scan s;
    mk_code rc;
    MK_TRY(rc, mk_scan__open(view, part, &s, err));
    const int64_t start = first_start(&s, filter->vt_lo);
    const uint32_t row = start == INT64_MIN ? 0 : mk_col_lower(s.vt_s, start);
    const uint32_t to =
        filter->vt_hi == INT64_MAX ? s.segment->rows : mk_col_lower(s.vt_s, filter->vt_hi);
    if (!scan_rows(view, &s, row, to, filter, each, ctx))
        rc = mk_scan__cancelled(err);
out:
    return rc;
}

mk_code mk_view_edges(mk_view *view, const mk_edge_filter *filter, mk_edge_fn *each, void *ctx,
                      mk_err *err)
{
    const mk_state *state = view->state;
    mk_code rc = MK_OK;
    for (size_t l = 0; l < MK_EDGE_LANES; l++) {
        const mk_lane lane = mk_scan__edge_lanes[l];
        if (!mk_scan__lane_shown(view, lane))
            continue;
        for (uint32_t part = state->first[lane]; part < state->first[lane + 1]; part++)
            if (mk_scan__worth(view, state->segments[part], filter->vt_lo, filter->vt_hi))
                MK_TRY(rc, scan_segment(view, part, filter, each, ctx, err));
    }
    const tail_edges t = {view, filter, each, ctx, MK_NO_ID, false};
    for (uint32_t number = state->tail_lo; number < state->tail_hi; number++) {
        const mk_tail_row *row = mk_state_row(state, number);
        if (!row->node && mk_scan__tail_visible(view, row) && !give_tail_edge((void *)&t, row, number)) {
            rc = mk_scan__cancelled(err);
            goto out;
        }
    }
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

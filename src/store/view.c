/* view.c — pinned reading. Layer: store.
 *
 * A view is a state, a batch number S up to which it sees, and a class mask. A row is visible when
 * seq_s <= S < seq_e. For a view of "now" past segments hold nothing visible and are skipped; an older
 * view also looks at those past segments that have rows ending after S. Source: STORAGE.md, "Views". */
#include <stdlib.h>

#include "store/internal.h"

const mk_edge_filter mk_edge_filter_all = {INT64_MIN, INT64_MAX, NULL, 0};

/* Number of batches with tt <= as_of among the first `count`. */
static uint32_t batches_until(const mk_store *store, uint32_t count, int64_t as_of)
{
    uint32_t low = 0, high = count; /* batches 1..low are known to be in, high + 1.. to be out */
    while (low < high) {
        const uint32_t mid = low + (high - low + 1) / 2;
        if (mk_batch_tt(store, mid) <= as_of)
            low = mid;
        else
            high = mid - 1;
    }
    return low;
}

mk_code mk_view_at(mk_store *store, mk_tt as_of, unsigned mask, mk_view **out, mk_err *err)
{
    mk_view *view = mk_new(store->alloc, sizeof *view);
    if (view == NULL)
        return mk_fail_nomem(err);
    *view = (mk_view){.store = store, .mask = mask ? mask : MK_SHOW_USER};
    const mk_code rc = mk_epoch_enter(&store->epoch, &view->slot, err);
    if (rc != MK_OK) {
        mk_free(store->alloc, view, sizeof *view);
        return rc;
    }
    view->state = atomic_load(&store->state);
    mk_buf_init(&view->scratch, store->alloc);
    view->current = as_of.us >= view->state->tt.us;
    view->seq = view->current ? view->state->seq
                              : batches_until(store, view->state->seq, as_of.us);
    *out = view;
    return MK_OK;
}

void mk_view_close(mk_view *view)
{
    if (view == NULL)
        return;
    mk_store *store = view->store;
    mk_epoch_leave(&store->epoch, view->slot);
    mk_buf_free(&view->scratch);
    mk_free(store->alloc, view, sizeof *view);
}

bool mk_view_is_current(const mk_view *view) { return view->current; }

mk_tt mk_view_effective_tt(const mk_view *view)
{
    return (mk_tt){view->seq ? mk_batch_tt(view->store, view->seq) : 0};
}

/* ---- names ---- */

bool mk_view_entity_visible(const mk_view *view, uint32_t id)
{
    return id < view->state->entity_count && (view->mask >> mk_names__class(view->store, id) & 1);
}

uint32_t mk_view_entity(const mk_view *view, mk_str uid)
{
    const uint32_t id = mk_dict_find(&view->store->entities, uid, view->state->entity_count);
    return id != MK_DICT_NONE && mk_view_entity_visible(view, id) ? id : MK_NO_ID;
}

uint32_t mk_view_entity_count(const mk_view *view) { return view->state->entity_count; }

mk_str mk_view_uid(const mk_view *view, uint32_t id)
{
    return mk_dict_text(&view->store->entities, id);
}

mk_str mk_view_name(const mk_view *view, uint32_t code)
{
    return mk_dict_text(&view->store->names, code);
}

uint32_t mk_view_name_code(const mk_view *view, mk_str text)
{
    return mk_dict_find(&view->store->names, text, view->state->name_count);
}

/* ---- one segment, as this view reads it ---- */

typedef struct scan {
    mk_segment *segment;
    uint32_t part;
    uint32_t seq;
    const mk_col *vt_s, *vt_e, *a, *b, *rel;
    const mk_col *seq_s; /* NULL: every row began early enough */
    const mk_col *seq_e; /* past segments */
    mk_ends *ends;
} scan;

/* False when nothing in the segment can be visible in [vt_lo, vt_hi). */
static bool worth_reading(const mk_view *view, const mk_segment *segment, int64_t vt_lo, int64_t vt_hi)
{
    if (segment->zone.seq_s_min > view->seq || segment->zone.vt_s_min >= vt_hi ||
        segment->zone.vt_e_max <= vt_lo)
        return false;
    return !segment->past || (!view->current && segment->zone.seq_e_max > view->seq);
}

static mk_code open_scan(const mk_view *view, uint32_t part, scan *s, mk_err *err)
{
    mk_segment *segment = view->state->segments[part];
    mk_code rc;
    *s = (scan){.segment = segment, .part = part, .seq = view->seq};
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

static bool visible(const scan *s, uint32_t row)
{
    if (s->seq_s != NULL && mk_col_u32(s->seq_s, row) > s->seq)
        return false;
    if (s->ends != NULL && atomic_load_explicit(&s->ends->seq[row], memory_order_relaxed) <= s->seq)
        return false;
    return s->seq_e == NULL || mk_col_u32(s->seq_e, row) > s->seq;
}

static int64_t row_end(const scan *s, uint32_t row, int64_t vt_s)
{
    return mk_end_of(s->segment, vt_s, mk_col_get(s->vt_e, row));
}

static mk_edge_ref edge_ref(const scan *s, uint32_t row)
{
    mk_edge_ref ref = {.vt_s = mk_col_get(s->vt_s, row),
                       .src = mk_col_u32(s->a, row),
                       .dst = mk_col_u32(s->b, row),
                       .rel_type = mk_col_u32(s->rel, row),
                       .part = s->part,
                       .row = row};
    ref.vt_e = row_end(s, row, ref.vt_s);
    return ref;
}

static mk_node_ref node_ref(const scan *s, uint32_t row)
{
    mk_node_ref ref = {.vt_s = mk_col_get(s->vt_s, row),
                       .uid = mk_col_u32(s->a, row),
                       .label = mk_col_u32(s->rel, row),
                       .part = s->part,
                       .row = row};
    ref.vt_e = row_end(s, row, ref.vt_s);
    return ref;
}

/* ---- tail rows ---- */

static bool tail_visible(const mk_view *view, const mk_tail_row *row)
{
    return row->seq_s <= view->seq &&
           atomic_load_explicit(&row->seq_e, memory_order_acquire) > view->seq;
}

static mk_edge_ref tail_edge_ref(const mk_tail_row *row, uint32_t number)
{
    return (mk_edge_ref){row->vt_s, row->vt_e, row->a, row->b, row->rel, MK_NO_ID, number};
}

static mk_node_ref tail_node_ref(const mk_tail_row *row, uint32_t number)
{
    return (mk_node_ref){row->vt_s, row->vt_e, row->a, row->rel, MK_NO_ID, number};
}

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

/* Calls `each` for the visible tail rows of an entity: its node versions (side 0), its edges as source
 * (1) or as target (2). False when `each` returned false. */
typedef bool tail_fn(void *ctx, const mk_tail_row *row, uint32_t number);

static bool of_side(const mk_tail_row *row, uint32_t id, int side)
{
    return side == 0 ? row->node && row->a == id : !row->node && (side == 1 ? row->a : row->b) == id;
}

static bool each_tail_row(const mk_view *view, uint32_t id, int side, tail_fn *each, void *ctx)
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
            if (of_side(row, id, side) && tail_visible(view, row) && !each(ctx, row, number))
                return false;
        }
        return true;
    }
    while (number != MK_NONE) {
        const mk_tail_row *row = mk_state_row(state, number);
        if (tail_visible(view, row) && !each(ctx, row, number))
            return false;
        number = follow(view,
                        atomic_load_explicit(side == 2 ? &row->older_b : &row->older_a,
                                             memory_order_acquire),
                        side == 2);
    }
    return true;
}

/* ---- ids and whole versions ---- */

static mk_code edge_identity(mk_view *view, const mk_edge_ref *ref, int64_t *disc, uint32_t *seq_s,
                             mk_err *err)
{
    mk_code rc = MK_OK;
    if (ref->part == MK_NO_ID) {
        const mk_tail_row *row = mk_state_row(view->state, ref->row);
        *disc = row->disc;
        *seq_s = row->seq_s;
        goto out;
    }
    mk_segment *segment = view->state->segments[ref->part];
    const mk_col *discs, *seqs;
    MK_TRY(rc, mk_segment_col(segment, MK_C_DISC, &discs, err));
    MK_TRY(rc, mk_segment_col(segment, MK_C_SEQ_S, &seqs, err));
    *disc = mk_col_get(discs, ref->row);
    *seq_s = mk_col_u32(seqs, ref->row);
out:
    return rc;
}

mk_code mk_view_edge_ids(mk_view *view, const mk_edge_ref *ref, char eid[24], char vid[24], mk_err *err)
{
    int64_t disc = 0;
    uint32_t seq_s = 0;
    mk_code rc;
    MK_TRY(rc, edge_identity(view, ref, &disc, &seq_s, err));
    MK_TRY(rc, mk_ids__eid(view->store, &view->scratch, ref->src, ref->dst, ref->rel_type, disc, eid,
                           err));
    mk_ids__vid((mk_str){eid, 24}, mk_batch_tt(view->store, seq_s), ref->vt_s, vid);
out:
    return rc;
}

/* Origin, props and batch of a row, wherever it is. */
static mk_code row_rest(mk_view *view, uint32_t part, uint32_t row_number, uint32_t *origin,
                        uint32_t *seq_s, mk_str *props, mk_err *err)
{
    mk_code rc = MK_OK;
    if (part == MK_NO_ID) {
        const mk_tail_row *row = mk_state_row(view->state, row_number);
        *origin = row->origin;
        *seq_s = row->seq_s;
        *props = (mk_str){row->props, row->props_size};
        goto out;
    }
    mk_segment *segment = view->state->segments[part];
    const mk_col *origins, *seqs;
    MK_TRY(rc, mk_segment_col(segment, MK_C_ORIGIN, &origins, err));
    MK_TRY(rc, mk_segment_col(segment, MK_C_SEQ_S, &seqs, err));
    MK_TRY(rc, mk_segment_props(segment, row_number, props, err));
    *origin = mk_col_u32(origins, row_number);
    *seq_s = mk_col_u32(seqs, row_number);
out:
    return rc;
}

mk_code mk_view_node_props(mk_view *view, const mk_node_ref *ref, mk_str *props, mk_err *err)
{
    if (ref->part != MK_NO_ID)
        return mk_segment_props(view->state->segments[ref->part], ref->row, props, err);
    const mk_tail_row *row = mk_state_row(view->state, ref->row);
    *props = (mk_str){row->props, row->props_size};
    return MK_OK;
}

mk_code mk_view_node_version(mk_view *view, mk_arena *arena, const mk_node_ref *ref,
                             mk_node_version *out, mk_err *err)
{
    uint32_t origin = 0, seq_s = 0;
    mk_code rc;
    (void)arena; /* everything lives as long as the view */
    *out = (mk_node_version){.uid = ref->uid,
                             .label = ref->label,
                             .vt_s = ref->vt_s,
                             .vt_e = ref->vt_e,
                             .tt_e = MK_OPEN_END};
    MK_TRY(rc, row_rest(view, ref->part, ref->row, &origin, &seq_s, &out->props, err));
    out->tt_s = mk_batch_tt(view->store, seq_s);
    mk_names__origin_text(view->store, origin, &out->source, &out->provenance_ref,
                          &out->provenance_null);
    mk_ids__vid(mk_view_uid(view, ref->uid), out->tt_s, ref->vt_s, out->vid);
out:
    return rc;
}

mk_code mk_view_edge_version(mk_view *view, mk_arena *arena, const mk_edge_ref *ref,
                             mk_edge_version *out, mk_err *err)
{
    uint32_t origin = 0, seq_s = 0;
    int64_t disc = 0;
    mk_code rc;
    *out = (mk_edge_version){.src = ref->src,
                             .dst = ref->dst,
                             .rel_type = ref->rel_type,
                             .vt_s = ref->vt_s,
                             .vt_e = ref->vt_e,
                             .tt_e = MK_OPEN_END};
    char *digits = mk_arena_get(arena, MK_DISC_TEXT_MAX);
    if (digits == NULL) {
        rc = mk_fail_nomem(err);
        goto out;
    }
    MK_TRY(rc, edge_identity(view, ref, &disc, &seq_s, err));
    MK_TRY(rc, row_rest(view, ref->part, ref->row, &origin, &seq_s, &out->props, err));
    out->disc = mk_names__disc_text(view->store, disc, digits, &out->disc_null);
    out->tt_s = mk_batch_tt(view->store, seq_s);
    mk_names__origin_text(view->store, origin, &out->source, &out->provenance_ref,
                          &out->provenance_null);
    rc = mk_view_edge_ids(view, ref, out->eid, out->vid, err);
out:
    return rc;
}

/* ---- node versions of one entity ---- */

typedef struct node_list {
    mk_arena *arena;
    mk_node_ref *refs;
    size_t count, cap;
    int64_t vt_lo, vt_hi;
    bool failed;
} node_list;

static bool add_node(node_list *list, const mk_node_ref *ref)
{
    if (ref->vt_s >= list->vt_hi || ref->vt_e <= list->vt_lo)
        return true;
    if (list->count == list->cap) {
        const size_t cap = list->cap ? list->cap * 2 : 8;
        mk_node_ref *grown = mk_arena_get(list->arena, cap * sizeof *grown);
        if (grown == NULL) {
            list->failed = true;
            return false;
        }
        if (list->count != 0)
            memcpy(grown, list->refs, list->count * sizeof *grown);
        list->refs = grown;
        list->cap = cap;
    }
    list->refs[list->count++] = *ref;
    return true;
}

static bool add_tail_node(void *ctx, const mk_tail_row *row, uint32_t number)
{
    const mk_node_ref ref = tail_node_ref(row, number);
    return add_node(ctx, &ref);
}

static mk_code collect_nodes(mk_view *view, uint32_t id, node_list *list, mk_err *err)
{
    const mk_state *state = view->state;
    mk_code rc = MK_OK;
    const mk_lane lane = mk_names__class(view->store, id) == MK_CLASS_USER ? MK_LANE_NODE
                                                                            : MK_LANE_RESERVED_NODE;
    for (uint32_t part = state->first[lane]; part < state->first[lane + 1]; part++) {
        const mk_col *rows;
        uint32_t from, to;
        scan s;
        if (!worth_reading(view, state->segments[part], list->vt_lo, list->vt_hi))
            continue;
        MK_TRY(rc, mk_segment_group(state->segments[part], 0, id, &rows, &from, &to, err));
        if (from == to)
            continue;
        MK_TRY(rc, open_scan(view, part, &s, err));
        for (uint32_t i = from; i < to; i++) {
            const uint32_t row = mk_col_u32(rows, i);
            if (!visible(&s, row))
                continue;
            const mk_node_ref ref = node_ref(&s, row);
            if (!add_node(list, &ref)) {
                rc = mk_fail_nomem(err);
                goto out;
            }
        }
    }
    if (!each_tail_row(view, id, 0, add_tail_node, list) && list->failed)
        rc = mk_fail_nomem(err);
out:
    return rc;
}

static int by_vt_s(const void *x, const void *y)
{
    const mk_node_ref *a = x, *b = y;
    return a->vt_s < b->vt_s ? -1 : a->vt_s > b->vt_s;
}

/* Versions of one node with equal vt_s come only from logs that carry overlapping belief; their order
 * is that of their vids. */
static mk_code order_node_ties(mk_view *view, node_list *list, mk_err *err)
{
    for (size_t i = 1; i < list->count; i++)
        for (size_t at = i; at > 0 && list->refs[at - 1].vt_s == list->refs[at].vt_s; at--) {
            mk_node_version x, y;
            mk_code rc;
            rc = mk_view_node_version(view, list->arena, &list->refs[at - 1], &x, err);
            if (rc == MK_OK)
                rc = mk_view_node_version(view, list->arena, &list->refs[at], &y, err);
            if (rc != MK_OK)
                return rc;
            if (memcmp(x.vid, y.vid, sizeof x.vid) <= 0)
                break;
            const mk_node_ref swap = list->refs[at - 1];
            list->refs[at - 1] = list->refs[at];
            list->refs[at] = swap;
        }
    return MK_OK;
}

mk_code mk_view_node_refs(mk_view *view, mk_arena *arena, uint32_t id, mk_node_ref **refs,
                          size_t *count, mk_err *err)
{
    node_list list = {.arena = arena, .vt_lo = INT64_MIN, .vt_hi = INT64_MAX};
    mk_code rc = MK_OK;
    *count = 0;
    *refs = NULL;
    if (!mk_view_entity_visible(view, id))
        return MK_OK;
    MK_TRY(rc, collect_nodes(view, id, &list, err));
    qsort(list.refs ? list.refs : (void *)&list, list.count, sizeof *list.refs, by_vt_s);
    MK_TRY(rc, order_node_ties(view, &list, err));
    *refs = list.refs;
    *count = list.count;
out:
    return rc;
}

mk_code mk_view_node_at(mk_view *view, uint32_t id, mk_vt t, mk_node_ref *ref, bool *found, mk_err *err)
{
    mk_arena arena;
    mk_code rc = MK_OK;
    *found = false;
    if (!mk_view_entity_visible(view, id) || t.us == INT64_MAX)
        return MK_OK;
    mk_arena_init(&arena, view->store->alloc);
    node_list list = {.arena = &arena, .vt_lo = t.us, .vt_hi = t.us + 1};
    MK_TRY(rc, collect_nodes(view, id, &list, err));
    if (list.count > 0) {
        qsort(list.refs, list.count, sizeof *list.refs, by_vt_s);
        *ref = list.refs[list.count - 1];
        *found = true;
    }
out:
    mk_arena_free(&arena);
    return rc;
}

/* ---- edges ---- */

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

static bool class_shown(const mk_view *view, uint32_t src, uint32_t dst)
{
    return view->mask >> mk_names__edge_class(view->store, src, dst) & 1;
}

/* Bounds of the rows of a constant duration that can overlap the window; all of them otherwise. */
static int64_t first_start(const scan *s, int64_t vt_lo)
{
    if (!s->segment->end_is_duration || s->vt_e->width != 0 || s->vt_e->step != 0)
        return INT64_MIN;
    const int64_t duration = (int64_t)s->vt_e->base;
    int64_t start;
    if (__builtin_sub_overflow(vt_lo, duration, &start) || start == INT64_MAX)
        return INT64_MIN;
    return start + 1;
}

static uint32_t list_lower(const scan *s, const mk_col *rows, uint32_t from, uint32_t to, int64_t vt)
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

static mk_code cancelled(mk_err *err) { return mk_fail(err, MK_E_CANCELLED, "stopped by the caller"); }

/* Edges of one side of an entity in one segment. */
static mk_code list_side(mk_view *view, uint32_t part, int side, uint32_t id,
                         const mk_edge_filter *filter, mk_edge_fn *each, void *ctx, mk_err *err)
{
    const mk_col *rows;
    uint32_t from, to;
    scan s;
    mk_code rc;
    mk_segment *segment = view->state->segments[part];
    MK_TRY(rc, mk_segment_group(segment, side, id, &rows, &from, &to, err));
    if (from == to)
        goto out;
    MK_TRY(rc, open_scan(view, part, &s, err));
    if (filter->vt_hi != INT64_MAX)
        to = list_lower(&s, rows, from, to, filter->vt_hi);
    const int64_t start = first_start(&s, filter->vt_lo);
    if (start != INT64_MIN)
        from = list_lower(&s, rows, from, to, start);
    for (uint32_t i = from; i < to; i++) {
        const uint32_t row = mk_col_u32(rows, i);
        if (!visible(&s, row))
            continue;
        const mk_edge_ref ref = edge_ref(&s, row);
        if (side == 1 && ref.src == id) /* a self-loop was given by its source */
            continue;
        if (!passes(filter, &ref) || !class_shown(view, ref.src, ref.dst))
            continue;
        if (!each(ctx, &ref)) {
            rc = cancelled(err);
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
    const mk_edge_ref ref = tail_edge_ref(row, number);
    if (t->skip_loops && ref.src == t->id)
        return true;
    if (!passes(t->filter, &ref) || !class_shown(t->view, ref.src, ref.dst))
        return true;
    return t->each(t->ctx, &ref);
}

static const mk_lane edge_lanes[] = {MK_LANE_INSTANT, MK_LANE_INTERVAL, MK_LANE_RESERVED_EDGE};

/* Whether the mask can show anything of a lane. */
static bool lane_shown(const mk_view *view, mk_lane lane)
{
    if (lane == MK_LANE_RESERVED_EDGE || lane == MK_LANE_RESERVED_NODE)
        return view->mask & ~(unsigned)MK_SHOW_USER;
    return view->mask & MK_SHOW_USER;
}

mk_code mk_view_edges_of(mk_view *view, uint32_t id, const mk_edge_filter *filter, mk_edge_fn *each,
                         void *ctx, mk_err *err)
{
    const mk_state *state = view->state;
    mk_code rc = MK_OK;
    if (!mk_view_entity_visible(view, id))
        return MK_OK;
    for (size_t l = 0; l < sizeof edge_lanes / sizeof *edge_lanes; l++) {
        if (!lane_shown(view, edge_lanes[l]))
            continue;
        for (uint32_t part = state->first[edge_lanes[l]]; part < state->first[edge_lanes[l] + 1];
             part++) {
            if (!worth_reading(view, state->segments[part], filter->vt_lo, filter->vt_hi))
                continue;
            MK_TRY(rc, list_side(view, part, 0, id, filter, each, ctx, err));
            MK_TRY(rc, list_side(view, part, 1, id, filter, each, ctx, err));
        }
    }
    tail_edges t = {view, filter, each, ctx, id, false};
    if (!each_tail_row(view, id, 1, give_tail_edge, &t)) {
        rc = cancelled(err);
        goto out;
    }
    t.skip_loops = true;
    if (!each_tail_row(view, id, 2, give_tail_edge, &t))
        rc = cancelled(err);
out:
    return rc;
}

mk_code mk_view_edges(mk_view *view, const mk_edge_filter *filter, mk_edge_fn *each, void *ctx,
                      mk_err *err)
{
    const mk_state *state = view->state;
    mk_code rc = MK_OK;
    for (size_t l = 0; l < sizeof edge_lanes / sizeof *edge_lanes; l++) {
        if (!lane_shown(view, edge_lanes[l]))
            continue;
        for (uint32_t part = state->first[edge_lanes[l]]; part < state->first[edge_lanes[l] + 1];
             part++) {
            scan s;
            if (!worth_reading(view, state->segments[part], filter->vt_lo, filter->vt_hi))
                continue;
            MK_TRY(rc, open_scan(view, part, &s, err));
            const int64_t start = first_start(&s, filter->vt_lo);
            uint32_t row = start == INT64_MIN ? 0 : mk_col_lower(s.vt_s, start);
            const uint32_t to = filter->vt_hi == INT64_MAX ? s.segment->rows
                                                            : mk_col_lower(s.vt_s, filter->vt_hi);
            const bool reserved = edge_lanes[l] == MK_LANE_RESERVED_EDGE;
            for (; row < to; row++) {
                if (!visible(&s, row))
                    continue;
                const mk_edge_ref ref = edge_ref(&s, row);
                if (!passes(filter, &ref) || (reserved && !class_shown(view, ref.src, ref.dst)))
                    continue;
                if (!each(ctx, &ref)) {
                    rc = cancelled(err);
                    goto out;
                }
            }
        }
    }
    const tail_edges t = {view, filter, each, ctx, MK_NO_ID, false};
    for (uint32_t number = state->tail_lo; number < state->tail_hi; number++) {
        const mk_tail_row *row = mk_state_row(state, number);
        if (!row->node && tail_visible(view, row) && !give_tail_edge((void *)&t, row, number)) {
            rc = cancelled(err);
            goto out;
        }
    }
out:
    return rc;
}

mk_code mk_view_nodes(mk_view *view, int64_t vt_lo, int64_t vt_hi, mk_node_fn *each, void *ctx,
                      mk_err *err)
{
    static const mk_lane lanes[] = {MK_LANE_NODE, MK_LANE_RESERVED_NODE};
    const mk_state *state = view->state;
    mk_code rc = MK_OK;
    for (int l = 0; l < 2; l++) {
        if (!lane_shown(view, lanes[l]))
            continue;
        for (uint32_t part = state->first[lanes[l]]; part < state->first[lanes[l] + 1]; part++) {
            scan s;
            if (!worth_reading(view, state->segments[part], vt_lo, vt_hi))
                continue;
            MK_TRY(rc, open_scan(view, part, &s, err));
            for (uint32_t row = 0; row < s.segment->rows; row++) {
                if (!visible(&s, row))
                    continue;
                const mk_node_ref ref = node_ref(&s, row);
                if (ref.vt_s >= vt_hi)
                    break;
                if (ref.vt_e <= vt_lo || !mk_view_entity_visible(view, ref.uid))
                    continue;
                if (!each(ctx, &ref)) {
                    rc = cancelled(err);
                    goto out;
                }
            }
        }
    }
    for (uint32_t number = state->tail_lo; number < state->tail_hi; number++) {
        const mk_tail_row *row = mk_state_row(state, number);
        const mk_node_ref ref = tail_node_ref(row, number);
        if (!row->node || !tail_visible(view, row) || ref.vt_s >= vt_hi || ref.vt_e <= vt_lo ||
            !mk_view_entity_visible(view, ref.uid))
            continue;
        if (!each(ctx, &ref)) {
            rc = cancelled(err);
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

mk_code mk_view_sort_edges(mk_view *view, mk_edge_ref *refs, size_t count, mk_err *err)
{
    if (count < 2)
        return MK_OK;
    qsort(refs, count, sizeof *refs, by_place);
    for (size_t from = 0; from < count;) {
        size_t to = from + 1;
        bool one_segment = refs[from].part != MK_NO_ID;
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

/* ---- statistics ---- */

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
    for (size_t l = 0; l < sizeof edge_lanes / sizeof *edge_lanes; l++) {
        if (!lane_shown(view, edge_lanes[l]))
            continue;
        for (uint32_t part = state->first[edge_lanes[l]]; part < state->first[edge_lanes[l] + 1];
             part++) {
            scan s;
            MK_TRY(rc, open_scan(view, part, &s, err));
            const bool reserved = edge_lanes[l] == MK_LANE_RESERVED_EDGE;
            for (uint32_t row = 0; row < s.segment->rows; row++)
                if (!reserved || class_shown(view, mk_col_u32(s.a, row), mk_col_u32(s.b, row)))
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

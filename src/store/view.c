/* view.c — pinned reading. Layer: store.
 *
 * A view is a state, a batch number S up to which it sees, and a class mask. A row is visible when
 * seq_s <= S < seq_e. For a view of "now" past segments hold nothing visible and are skipped; an older
 * view also looks at those past segments that have rows ending after S. Source: STORAGE.md, "Views". */
#include <stdlib.h>

#include "store/view_internal.h"

const mk_edge_filter mk_edge_filter_all = {.vt_lo = INT64_MIN, .vt_hi = INT64_MAX};

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

mk_code mk_view_lowered(mk_view *view, uint32_t number, const mk_lowered **out, mk_err *err)
{
    MK_ASSERT((uint64_t)(number + 1) * MK_LOWERED_BLOCK <= mk_view_entity_count(view));
    return mk_lowered_block(&view->store->lowered, &view->store->entities, number, out, err);
}

mk_str mk_view_name(const mk_view *view, uint32_t code)
{
    return mk_dict_text(&view->store->names, code);
}

uint32_t mk_view_name_code(const mk_view *view, mk_str text)
{
    return mk_dict_find(&view->store->names, text, view->state->name_count);
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

mk_code mk_view_edge_disc(mk_view *view, const mk_edge_ref *ref, int64_t *disc, mk_err *err)
{
    uint32_t seq_s;
    return edge_identity(view, ref, disc, &seq_s, err);
}

mk_code mk_view_edge_eid(mk_view *view, const mk_edge_ref *ref, char eid[24], mk_err *err)
{
    int64_t disc = 0;
    uint32_t seq_s;
    mk_code rc = edge_identity(view, ref, &disc, &seq_s, err);
    if (rc == MK_OK)
        rc = mk_ids__eid(view->store, &view->scratch, ref->src, ref->dst, ref->rel_type, disc, eid,
                         err);
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

mk_code mk_view_edge_props(mk_view *view, const mk_edge_ref *ref, mk_str *props, mk_err *err)
{
    uint32_t origin = 0, seq_s = 0;
    return row_rest(view, ref->part, ref->row, &origin, &seq_s, props, err);
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
    const mk_node_ref ref = mk_scan__tail_node(row, number);
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
        mk_scan s;
        if (!mk_scan__worth(view, state->segments[part], list->vt_lo, list->vt_hi))
            continue;
        MK_TRY(rc, mk_segment_group(state->segments[part], 0, id, &rows, &from, &to, err));
        if (from == to)
            continue;
        MK_TRY(rc, mk_scan__open(view, part, &s, err));
        for (uint32_t i = from; i < to; i++) {
            const uint32_t row = mk_col_u32(rows, i);
            if (!mk_scan__visible(&s, row))
                continue;
            const mk_node_ref ref = mk_scan__node(&s, row);
            if (!add_node(list, &ref)) {
                rc = mk_fail_nomem(err);
                goto out;
            }
        }
    }
    if (!mk_scan__tail(view, id, 0, add_tail_node, list) && list->failed)
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

/* ---- all nodes ---- */

mk_code mk_view_nodes(mk_view *view, int64_t vt_lo, int64_t vt_hi, mk_node_fn *each, void *ctx,
                      mk_err *err)
{
    static const mk_lane lanes[] = {MK_LANE_NODE, MK_LANE_RESERVED_NODE};
    const mk_state *state = view->state;
    mk_code rc = MK_OK;
    for (int l = 0; l < 2; l++) {
        if (!mk_scan__lane_shown(view, lanes[l]))
            continue;
        for (uint32_t part = state->first[lanes[l]]; part < state->first[lanes[l] + 1]; part++) {
            mk_scan s;
            if (!mk_scan__worth(view, state->segments[part], vt_lo, vt_hi))
                continue;
            MK_TRY(rc, mk_scan__open(view, part, &s, err));
            for (uint32_t row = 0; row < s.segment->rows; row++) {
                if (!mk_scan__visible(&s, row))
                    continue;
                const mk_node_ref ref = mk_scan__node(&s, row);
                if (ref.vt_s >= vt_hi)
                    break;
                if (ref.vt_e <= vt_lo || !mk_view_entity_visible(view, ref.uid))
                    continue;
                if (!each(ctx, &ref)) {
                    rc = MK_E_CANCELLED;
                    goto out;
                }
            }
        }
    }
    for (uint32_t number = state->tail_lo; number < state->tail_hi; number++) {
        const mk_tail_row *row = mk_state_row(state, number);
        const mk_node_ref ref = mk_scan__tail_node(row, number);
        if (!row->node || !mk_scan__tail_visible(view, row) || ref.vt_s >= vt_hi || ref.vt_e <= vt_lo ||
            !mk_view_entity_visible(view, ref.uid))
            continue;
        if (!each(ctx, &ref)) {
            rc = MK_E_CANCELLED;
            goto out;
        }
    }
out:
    return rc;
}

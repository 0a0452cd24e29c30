/* apply.c — what the five ops do to belief. Layer: store, internal.
 *
 * Ops are applied in order, each to what is believed after the ones before it. A batch is staged in the
 * live structures with the next batch number; a journal remembers how to take it back. The same
 * functions serve new writes, replay and recovery, which is why these agree.
 * Source: store spec, sections 7 and 8; Snodgrass 2000, chapter 10. */
#include <stdio.h>

#include "base/hash.h"
#include "base/sha256.h"
#include "store/apply_internal.h"

/* ---- finding what is believed ---- */

static mk_code add_hit(mk_staging *s, mk_hit found)
{
    if (!(found.vt_s < s->want_e && s->want_s < found.vt_e))
        return MK_OK;
    const mk_code rc = mk_grow(s->store->alloc, (void **)&s->hits, &s->hit_cap, s->hit_count + 1,
                               sizeof *s->hits, s->err);
    if (rc == MK_OK)
        s->hits[s->hit_count++] = found;
    return rc;
}

static mk_code add_segment_hit(void *ctx, mk_segment *segment, uint32_t row, mk_err *err)
{
    mk_staging *s = ctx;
    const mk_col *vt_s, *vt_e;
    mk_code rc;
    MK_TRY(rc, mk_segment_col(segment, MK_C_VT_S, &vt_s, err));
    MK_TRY(rc, mk_segment_col(segment, MK_C_VT_E, &vt_e, err));
    const int64_t start = mk_col_get(vt_s, row);
    rc = add_hit(s, (mk_hit){segment, row, start, mk_end_of(segment, start, mk_col_get(vt_e, row))});
out:
    return rc;
}

static mk_code find_in_lane(mk_staging *s, mk_lane lane, const mk_ident *ident)
{
    const mk_segment_list *list = &s->store->lanes[lane];
    for (size_t i = 0; i < list->count; i++) {
        mk_segment *segment = list->items[i];
        if (segment->past || segment->zone.vt_s_min >= s->want_e ||
            segment->zone.vt_e_max <= s->want_s)
            continue;
        const mk_code rc = mk_segment_find(segment, ident, add_segment_hit, s, s->err);
        if (rc != MK_OK)
            return rc;
    }
    return MK_OK;
}

mk_code mk_apply__find_in_tail(mk_staging *s, const mk_ident *ident)
{
    const mk_store *store = s->store;
    if (store->bucket_count == 0)
        return MK_OK;
    uint32_t number = store->buckets[mk_ident_hash(ident) & (store->bucket_count - 1)];
    for (; number != MK_NONE; number = mk_tail_at(store, number)->bucket_next) {
        const mk_tail_row *row = mk_tail_at(store, number);
        if (row->node != ident->node || row->a != ident->a)
            continue;
        if (!row->node &&
            (row->b != ident->b || row->rel != ident->rel || row->disc != ident->disc))
            continue;
        const mk_code rc = add_hit(s, (mk_hit){NULL, number, row->vt_s, row->vt_e});
        if (rc != MK_OK)
            return rc;
    }
    return MK_OK;
}

/* Fills s->hits with the believed versions of the identity that overlap [want_s, want_e), in order of
 * vt_s. A hub of a hundred overlapping beliefs cannot come from asserts; insertion sort is enough. */
static mk_code find_believed(mk_staging *s, const mk_ident *ident, int64_t want_s, int64_t want_e)
{
    s->hit_count = 0;
    s->want_s = want_s;
    s->want_e = want_e;
    mk_code rc;
    MK_TRY(rc, mk_apply__find_in_tail(s, ident));
    if (ident->node) {
        const bool user = mk_names__class(s->store, ident->a) == MK_CLASS_USER;
        MK_TRY(rc, find_in_lane(s, user ? MK_LANE_NODE : MK_LANE_RESERVED_NODE, ident));
    } else if (mk_names__edge_class(s->store, ident->a, ident->b) == MK_CLASS_USER) {
        MK_TRY(rc, find_in_lane(s, MK_LANE_INSTANT, ident));
        MK_TRY(rc, find_in_lane(s, MK_LANE_INTERVAL, ident));
    } else {
        MK_TRY(rc, find_in_lane(s, MK_LANE_RESERVED_EDGE, ident));
    }
    for (size_t i = 1; i < s->hit_count; i++) {
        const mk_hit moved = s->hits[i];
        size_t at = i;
        for (; at > 0 && s->hits[at - 1].vt_s > moved.vt_s; at--)
            s->hits[at] = s->hits[at - 1];
        s->hits[at] = moved;
    }
out:
    return rc;
}

/* The full row of a hit. Its props stay where they are until the batch is over. */
static mk_code hit_row(mk_staging *s, const mk_hit *found, mk_tail_row *row)
{
    mk_code rc = MK_OK;
    if (found->segment == NULL) {
        *row = *mk_tail_at(s->store, found->row);
        goto out;
    }
    mk_segment *segment = found->segment;
    const mk_col *a, *b, *rel, *disc, *origin;
    mk_str props;
    MK_TRY(rc, mk_segment_col(segment, MK_C_A, &a, s->err));
    MK_TRY(rc, mk_segment_col(segment, MK_C_B, &b, s->err));
    MK_TRY(rc, mk_segment_col(segment, MK_C_REL, &rel, s->err));
    MK_TRY(rc, mk_segment_col(segment, MK_C_DISC, &disc, s->err));
    MK_TRY(rc, mk_segment_col(segment, MK_C_ORIGIN, &origin, s->err));
    MK_TRY(rc, mk_segment_props(segment, found->row, &props, s->err));
    *row = (mk_tail_row){.vt_s = found->vt_s,
                         .vt_e = found->vt_e,
                         .disc = mk_col_get(disc, found->row),
                         .props = props.p,
                         .props_size = (uint32_t)props.n,
                         .a = mk_col_u32(a, found->row),
                         .b = mk_col_u32(b, found->row),
                         .rel = mk_col_u32(rel, found->row),
                         .origin = mk_col_u32(origin, found->row),
                         .node = mk_lane_is_node(segment->lane)};
    row->class = (uint8_t)(row->node ? mk_names__class(s->store, row->a)
                                     : mk_names__edge_class(s->store, row->a, row->b));
out:
    return rc;
}

/* ---- changing what is believed ---- */

static void touch(mk_staging *s, const mk_ident *ident, int64_t vt_s, int64_t vt_e, bool ended)
{
    mk_store *store = s->store;
    mk_pending *pending = s->pending;
    if (pending->touches_all)
        return;
    if (pending->touch_count == MK_TOUCHES_MAX ||
        mk_grow(store->alloc, (void **)&pending->touches, &pending->touch_cap,
                pending->touch_count + 1, sizeof *pending->touches, NULL) != MK_OK) {
        pending->touches_all = true;
        return;
    }
    pending->touches[pending->touch_count++] =
        (mk_touch){mk_ident_hash(ident), {vt_s}, {vt_e}, ended};
}

mk_code mk_apply__insert(mk_staging *s, const mk_tail_row *row)
{
    const mk_ident ident = mk_tail__ident(row);
    touch(s, &ident, row->vt_s, row->vt_e, false);
    return mk_tail__insert(s->store, row, s->err);
}

/* Stops belief in a version. One that this batch wrote itself never existed (store spec, 7.2). */
static mk_code supersede(mk_staging *s, const mk_hit *found)
{
    mk_store *store = s->store;
    mk_code rc;
    MK_TRY(rc, mk_grow(store->alloc, (void **)&store->undo, &store->undo_cap, store->undo_count + 1,
                       sizeof *store->undo, s->err));
    if (found->segment != NULL) {
        const mk_col *a;
        MK_TRY(rc, mk_segment_col(found->segment, MK_C_A, &a, s->err));
        MK_TRY(rc, mk_segment_end(found->segment, found->row, s->seq, s->err));
        if (mk_lane_is_node(found->segment->lane))
            --*mk_believed_at(store, mk_col_u32(a, found->row));
        store->undo[store->undo_count++] =
            (mk_undo){MK_UNDO_END_SEGMENT, found->row, found->segment};
        store->ends_since++;
        goto out;
    }
    mk_tail_row *row = mk_tail_at(store, found->row);
    mk_tail__unbelieve(store, found->row);
    atomic_store_explicit(&row->seq_e, s->seq, memory_order_release);
    if (row->seq_s != s->seq) /* a retired row needs no journal: its insertion is undone */
        store->undo[store->undo_count++] = (mk_undo){MK_UNDO_END_TAIL, found->row, NULL};
out:
    return rc;
}

/* Cuts [cut_s, cut_e) out of every hit and keeps what is left of it as fragments. */
static mk_code carve(mk_staging *s, int64_t cut_s, int64_t cut_e)
{
    for (size_t i = 0; i < s->hit_count; i++) {
        const mk_hit found = s->hits[i];
        mk_tail_row row;
        mk_code rc = hit_row(s, &found, &row);
        if (rc == MK_OK)
            rc = supersede(s, &found);
        if (rc != MK_OK)
            return rc;
        const mk_ident ident = mk_tail__ident(&row);
        touch(s, &ident, found.vt_s, found.vt_e, true);
        row.seq_s = s->seq;
        if (found.vt_s < cut_s) {
            row.vt_s = found.vt_s;
            row.vt_e = found.vt_e < cut_s ? found.vt_e : cut_s;
            rc = mk_apply__insert(s, &row);
        }
        if (rc == MK_OK && cut_e < found.vt_e) {
            row.vt_s = found.vt_s > cut_e ? found.vt_s : cut_e;
            row.vt_e = found.vt_e;
            rc = mk_apply__insert(s, &row);
        }
        if (rc != MK_OK)
            return rc;
    }
    return MK_OK;
}

/* ---- the ops ---- */

static mk_code bad_interval(mk_staging *s, const mk_op *op)
{
    mk_fail(s->err, MK_E_INVALID_ARG, "invalid interval: [%lld, %lld)", (long long)op->vt_s,
            (long long)op->vt_e);
    mk_err_hint(s->err, "swap the two, or leave out vt_e if the fact still holds");
    return MK_E_INVALID_ARG;
}

mk_code mk_apply__origin(mk_staging *s, const mk_op *op, uint32_t *origin)
{
    return mk_names__origin(s->store, op->source, op->provenance_ref, op->provenance_null, origin,
                            s->err);
}

static mk_code apply_assert(mk_staging *s, const mk_op *op)
{
    mk_store *store = s->store;
    mk_tail_row row = {.vt_s = op->vt_s,
                       .vt_e = op->vt_e,
                       .props = op->props.p,
                       .props_size = (uint32_t)op->props.n,
                       .b = MK_NONE,
                       .seq_s = s->seq,
                       .node = op->kind == MK_OP_ASSERT_NODE};
    mk_code rc = MK_OK;
    if (op->vt_s >= op->vt_e) {
        rc = bad_interval(s, op);
        goto out;
    }
    if (row.node) {
        MK_TRY(rc, mk_names__entity(store, op->uid, &row.a, s->err));
        MK_TRY(rc, mk_names__name(store, op->label, &row.rel, s->err));
        row.class = (uint8_t)mk_names__class(store, row.a);
    } else {
        MK_TRY(rc, mk_names__entity(store, op->src, &row.a, s->err));
        MK_TRY(rc, mk_names__entity(store, op->dst, &row.b, s->err));
        MK_TRY(rc, mk_names__name(store, op->rel_type, &row.rel, s->err));
        MK_TRY(rc, mk_names__disc(store, op->disc, op->disc_null, &row.disc, s->err));
        row.class = (uint8_t)mk_names__edge_class(store, row.a, row.b);
    }
    MK_TRY(rc, mk_apply__origin(s, op, &row.origin));
    const mk_ident ident = mk_tail__ident(&row);
    MK_TRY(rc, find_believed(s, &ident, op->vt_s, op->vt_e));
    MK_TRY(rc, carve(s, op->vt_s, op->vt_e));
    rc = mk_apply__insert(s, &row);
out:
    return rc;
}

/* Identity that an op names, without registering anything; false when some part of it is unknown. */
bool mk_apply__ident(const mk_store *store, const mk_op *op, bool node, mk_ident *ident)
{
    *ident = (mk_ident){.node = node};
    if (node) {
        ident->a = mk_dict_find(&store->entities, op->uid, store->entities.count);
        return ident->a != MK_DICT_NONE;
    }
    ident->a = mk_dict_find(&store->entities, op->src, store->entities.count);
    ident->b = mk_dict_find(&store->entities, op->dst, store->entities.count);
    ident->rel = mk_dict_find(&store->names, op->rel_type, store->names.count);
    if (ident->a == MK_DICT_NONE || ident->b == MK_DICT_NONE || ident->rel == MK_DICT_NONE)
        return false;
    if (op->disc_null) {
        ident->disc = MK_DISC_NULL_CODE;
        return true;
    }
    const int64_t n = mk_names__numbered(op->disc);
    if (n >= 0) {
        ident->disc = 2 * n;
        return true;
    }
    const uint32_t code = mk_dict_find(&store->names, op->disc, store->names.count);
    ident->disc = 2 * (int64_t)code + 1;
    return code != MK_DICT_NONE;
}

/* The eid of a ref, for messages: its names may never have been used. */
static void ref_eid(const mk_store *store, const mk_op *op, char eid[25])
{
    mk_op plain = *op;
    mk_buf text;
    uint8_t sha[32];
    mk_buf_init(&text, store->alloc);
    mk_buf_c(&text, '[');
    mk_canon_string(&text, plain.src);
    mk_buf_c(&text, ',');
    mk_canon_string(&text, plain.dst);
    mk_buf_c(&text, ',');
    mk_canon_string(&text, plain.rel_type);
    mk_buf_c(&text, ',');
    if (plain.disc_null)
        mk_buf_z(&text, "null");
    else
        mk_canon_string(&text, plain.disc);
    mk_buf_c(&text, ']');
    memset(eid, '?', 24);
    eid[24] = 0;
    if (mk_buf_done(&text, NULL) == MK_OK) {
        mk_sha256_of(text.p, text.n, sha);
        mk_hex(eid, sha, 12);
    }
    mk_buf_free(&text);
}

static mk_code not_found(mk_staging *s, const mk_op *op)
{
    char eid[25];
    char when[40] = "overlaps vt";
    if (op->kind == MK_OP_RETRACT)
        snprintf(when, sizeof when, "valid at %lld", (long long)op->t);
    if (op->on_node) {
        mk_fail(s->err, MK_E_NOT_FOUND, "no believed node version of %.*s %s", MK_STR_ARG(op->uid),
                when);
    } else {
        ref_eid(s->store, op, eid);
        mk_fail(s->err, MK_E_NOT_FOUND, "no believed edge version of %s %s", eid, when);
    }
    mk_err_hint(s->err, "look at the history first, or assert it instead");
    return MK_E_NOT_FOUND;
}

static mk_code apply_correct(mk_staging *s, const mk_op *op)
{
    mk_ident ident;
    mk_tail_row row;
    mk_code rc = MK_OK;
    if (op->vt_s >= op->vt_e) {
        rc = bad_interval(s, op);
        goto out;
    }
    s->hit_count = 0;
    if (mk_apply__ident(s->store, op, op->on_node, &ident))
        MK_TRY(rc, find_believed(s, &ident, op->vt_s, op->vt_e));
    if (s->hit_count == 0) {
        rc = not_found(s, op);
        goto out;
    }
    /* The label or endpoints of the earliest hit; new props and origin. */
    MK_TRY(rc, hit_row(s, &s->hits[0], &row));
    row.vt_s = op->vt_s;
    row.vt_e = op->vt_e;
    row.seq_s = s->seq;
    row.props = op->props.p;
    row.props_size = (uint32_t)op->props.n;
    MK_TRY(rc, mk_apply__origin(s, op, &row.origin));
    MK_TRY(rc, carve(s, op->vt_s, op->vt_e));
    rc = mk_apply__insert(s, &row);
out:
    return rc;
}

/* Ends belief in the versions of an identity valid at t, from t on; later versions stay. Their parts
 * before t are inserted again, so a view at an earlier transaction time still finds all of it. */
static mk_code apply_retract(mk_staging *s, const mk_op *op)
{
    mk_ident ident;
    mk_code rc = MK_OK;
    s->hit_count = 0;
    /* Overlap with [t, t + 1) is containing t; no version contains INT64_MAX. */
    if (op->t < INT64_MAX && mk_apply__ident(s->store, op, op->on_node, &ident))
        MK_TRY(rc, find_believed(s, &ident, op->t, op->t + 1));
    if (s->hit_count == 0) {
        rc = not_found(s, op);
        goto out;
    }
    rc = carve(s, op->t, INT64_MAX);
out:
    return rc;
}

static mk_code apply_op(mk_staging *s, const mk_op *op, bool alone)
{
    switch (op->kind) {
    case MK_OP_ASSERT_NODE:
    case MK_OP_ASSERT_EDGE: return apply_assert(s, op);
    case MK_OP_RETRACT: return apply_retract(s, op);
    case MK_OP_CORRECT: return apply_correct(s, op);
    case MK_OP_INGEST_EVENTS: return mk_apply__events(s, op, alone);
    case MK_OP_UNKNOWN: break;
    }
    return mk_fail(s->err, MK_E_INVALID_ARG, "unknown op kind: %.*s", MK_STR_ARG(op->raw_kind));
}

/* ---- a batch ---- */

bool mk_apply__is_semantic(mk_code code)
{
    return code == MK_E_NOT_FOUND || code == MK_E_INVALID_ARG;
}

/* Everything publishing will need: the state, a place in the lane, the touches at their final size. */
static mk_code reserve_publication(mk_store *store, mk_pending *pending, mk_err *err)
{
    mk_code rc;
    MK_TRY(rc, mk_publish__reserve(store, pending->bulk != NULL, &pending->state, err));
    if (pending->bulk != NULL) {
        mk_segment_list *list = &store->lanes[pending->bulk->lane];
        MK_TRY(rc, mk_grow(store->alloc, (void **)&list->items, &list->cap, list->count + 1,
                           sizeof *list->items, err));
    }
    if (pending->touches_all)
        pending->touch_count = 0;
    void *touches = pending->touches;
    if (touches != NULL) {
        const size_t size = pending->touch_count * sizeof *pending->touches;
        touches = store->alloc->resize(store->alloc->ctx, touches,
                                       pending->touch_cap * sizeof *pending->touches, size);
        if (touches == NULL && size != 0) {
            rc = mk_fail_nomem(err);
            goto out;
        }
        pending->touches = touches;
        pending->touch_cap = pending->touch_count;
    }
out:
    return rc;
}

mk_code mk_apply__prepare(mk_store *store, mk_err *err)
{
    static const mk_lane lanes[] = {MK_LANE_NODE, MK_LANE_RESERVED_NODE};
    mk_code rc = MK_OK;
    for (int l = 0; l < 2 && !store->believed_ready; l++)
        for (size_t i = 0; i < store->lanes[lanes[l]].count; i++) {
            mk_segment *segment = store->lanes[lanes[l]].items[i];
            const mk_col *a;
            if (segment->past)
                continue;
            MK_TRY(rc, mk_segment_col(segment, MK_C_A, &a, err));
            for (uint32_t row = 0; row < segment->rows; row++)
                if (mk_segment_end_seq(segment, row) == MK_SEQ_OPEN)
                    ++*mk_believed_at(store, mk_col_u32(a, row));
        }
    store->believed_ready = true;
out:
    /* Half a count would be added to by the next try; nothing else has counted yet. */
    for (uint32_t id = 0; rc != MK_OK && id < store->entities.count; id++)
        *mk_believed_at(store, id) = 0;
    return rc;
}

mk_code mk_apply__batch(mk_store *store, const mk_op *ops, size_t count, mk_tt tt, bool strict,
                        mk_pending *pending, mk_err *err)
{
    mk_staging s = {.store = store, .seq = store->staged_seq + 1, .tt = tt, .pending = pending,
                 .strict = strict, .err = err};
    mk_code rc;
    *pending = (mk_pending){.seq = s.seq,
                            .tt = tt,
                            .tt_before = store->staged_tt,
                            .tail_before = store->tail_next,
                            .entities_before = store->entities.count,
                            .names_before = store->names.count,
                            .origins_before = store->origins.count,
                            .disc_before = store->next_disc,
                            .undo_from = store->undo_count};
    if (s.seq >= MK_SEQ_OPEN - 1)
        return mk_fail(err, MK_E_LIMIT, "the store holds 2^32-2 batches, which is all it can");
    MK_TRY(rc, mk_apply__prepare(store, err));
    MK_TRY(rc, mk_geo_reserve(&store->batches, store->alloc, s.seq, sizeof(int64_t), err));
    *(int64_t *)mk_geo_at(&store->batches, s.seq, sizeof(int64_t)) = tt.us;
    for (size_t i = 0; i < count; i++) {
        rc = apply_op(&s, &ops[i], count == 1);
        if (rc != MK_OK) {
            if (err != NULL && mk_apply__is_semantic(rc) && err->path[0] == 0)
                mk_err_path(err, "ops[%zu]", i);
            goto out;
        }
    }
    pending->tail_after = store->tail_next;
    pending->entities_after = store->entities.count;
    pending->names_after = store->names.count;
    pending->origins_after = store->origins.count;
    MK_TRY(rc, reserve_publication(store, pending, err));
    store->staged_seq = s.seq;
    store->staged_tt = tt;
out:
    mk_free(store->alloc, s.hits, s.hit_cap * sizeof *s.hits);
    if (rc != MK_OK)
        mk_apply__undo(store, pending);
    return rc;
}

static void undo_one(mk_store *store, const mk_undo *undo)
{
    if (undo->kind == MK_UNDO_END_SEGMENT) {
        mk_segment_unend(undo->segment, undo->row);
        mk_loaded_col *a = atomic_load(&undo->segment->cols[MK_C_A]);
        if (mk_lane_is_node(undo->segment->lane))
            ++*mk_believed_at(store, mk_col_u32(&a->col, undo->row));
        return;
    }
    mk_tail_row *row = mk_tail_at(store, undo->row);
    if (undo->kind == MK_UNDO_END_TAIL) {
        atomic_store_explicit(&row->seq_e, MK_SEQ_OPEN, memory_order_relaxed);
        mk_tail__believe(store, undo->row);
        return;
    }
    if (atomic_load_explicit(&row->seq_e, memory_order_relaxed) == MK_SEQ_OPEN)
        mk_tail__unbelieve(store, undo->row);
    atomic_store_explicit(&row->seq_e, row->seq_s, memory_order_release);
}

void mk_apply__undo(mk_store *store, mk_pending *pending)
{
    while (store->undo_count > pending->undo_from)
        undo_one(store, &store->undo[--store->undo_count]);
    mk_dict_undo(&store->entities, pending->entities_before);
    mk_dict_undo(&store->names, pending->names_before);
    mk_dict_undo(&store->origins, pending->origins_before);
    store->next_disc = pending->disc_before;
    store->staged_seq = pending->seq - 1;
    store->staged_tt = pending->tt_before;
    mk_segment_free(pending->bulk);
    pending->bulk = NULL;
    mk_free(store->alloc, pending->touches, pending->touch_cap * sizeof *pending->touches);
    pending->touches = NULL;
    if (pending->state != NULL)
        mk_free(store->alloc, pending->state, pending->state->size);
    pending->state = NULL;
}

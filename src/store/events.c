/* events.c — the bulk path: ingest_events. Layer: store, internal.
 *
 * No overlap check and no carving. A small load goes through the tail like any other op; a large one that
 * is a batch of its own becomes a segment at once. Source: store spec, 7.7. */
#include <stdlib.h>

#include "base/hash.h"
#include "store/apply_internal.h"
#include "store/texts.h"

/* Earliest event of an entity in the op at hand; valid while `stamp` is the op's. */
typedef struct first_seen {
    int64_t vt_s;
    uint32_t stamp;
} first_seen;

static first_seen *first_seen_at(mk_store *store, uint32_t id)
{
    return mk_geo_at(&store->first_seen, id, sizeof(first_seen));
}

typedef struct newcomers {
    uint32_t *ids;
    size_t count, cap;
} newcomers;

/* Notes that `id` takes part in an event at vt_s; those without any belief are remembered once. */
static mk_code see(mk_staging *s, newcomers *new, uint32_t id, int64_t vt_s)
{
    mk_store *store = s->store;
    mk_code rc;
    MK_TRY(rc, mk_geo_reserve(&store->first_seen, store->alloc, id, sizeof(first_seen), s->err));
    first_seen *seen = first_seen_at(store, id);
    if (seen->stamp == store->first_stamp) {
        seen->vt_s = vt_s < seen->vt_s ? vt_s : seen->vt_s;
        goto out;
    }
    *seen = (first_seen){vt_s, store->first_stamp};
    if (*mk_believed_at(store, id) != 0)
        goto out;
    MK_TRY(rc, mk_grow(store->alloc, (void **)&new->ids, &new->cap, new->count + 1,
                       sizeof *new->ids, s->err));
    new->ids[new->count++] = id;
out:
    return rc;
}

static int compare_uids(const void *x, const void *y, void *ctx)
{
    const mk_store *store = ctx;
    return mk_str_cmp(mk_dict_text(&store->entities, *(const uint32_t *)x),
                      mk_dict_text(&store->entities, *(const uint32_t *)y));
}

static mk_code insert_newcomers(mk_staging *s, const mk_op *op, uint32_t origin, newcomers *new)
{
    mk_store *store = s->store;
    uint32_t label;
    mk_code rc;
    MK_TRY(rc, mk_names__name(store, op->node_label, &label, s->err));
    if (new->count > 1)
        qsort_r(new->ids, new->count, sizeof *new->ids, compare_uids, store);
    for (size_t i = 0; i < new->count; i++) {
        const uint32_t id = new->ids[i];
        const mk_tail_row row = {.vt_s = first_seen_at(store, id)->vt_s,
                                 .vt_e = MK_OPEN_END,
                                 .props = "{}",
                                 .props_size = 2,
                                 .a = id,
                                 .b = MK_NONE,
                                 .rel = label,
                                 .origin = origin,
                                 .seq_s = s->seq,
                                 .node = true,
                                 .class = (uint8_t)mk_names__class(store, id)};
        MK_TRY(rc, mk_apply__insert(s, &row));
    }
out:
    return rc;
}

typedef struct event_codes {
    uint32_t src, dst, rel;
    int64_t disc, vt_e;
    mk_str last_rel; /* the text `rel` stands for, so that runs of one type are looked up once */
} event_codes;

static mk_code event_names(mk_staging *s, const mk_op *op, size_t index, newcomers *new,
                           event_codes *codes)
{
    mk_store *store = s->store;
    const mk_event *event = &op->events[index];
    mk_code rc;
    MK_TRY(rc, mk_names__entity(store, event->src, &codes->src, s->err));
    MK_TRY(rc, mk_names__entity(store, event->dst, &codes->dst, s->err));
    if (codes->last_rel.p == NULL || !mk_str_eq(codes->last_rel, event->rel_type)) {
        MK_TRY(rc, mk_names__name(store, event->rel_type, &codes->rel, s->err));
        codes->last_rel = event->rel_type;
    }
    if (event->disc_kind == MK_DISC_DEFAULT) {
        const int64_t n = (int64_t)((uint64_t)op->offset + index);
        if (n >= 0 && n < INT64_MAX / 2) {
            codes->disc = 2 * n;
            store->next_disc = n >= store->next_disc ? n + 1 : store->next_disc;
        } else {
            char text[MK_DISC_TEXT_MAX] = "#";
            const mk_str disc = {text, 1 + mk_i64_text(text + 1, n)};
            MK_TRY(rc, mk_names__disc(store, disc, false, &codes->disc, s->err));
        }
    } else {
        MK_TRY(rc, mk_names__disc(store, event->disc, event->disc_kind == MK_DISC_NULL,
                                  &codes->disc, s->err));
    }
    codes->vt_e = event->has_vt_e && event->vt_e != 0 ? event->vt_e
                                                      : (int64_t)((uint64_t)event->vt_s + 1);
    MK_TRY(rc, see(s, new, codes->src, event->vt_s));
    rc = see(s, new, codes->dst, event->vt_s);
out:
    return rc;
}

/* Two rows of one identity that start at one instant in one batch would share a vid (oddity 2). The door
 * has compared the events of each op; this compares with the other ops of the batch. */
static mk_code refuse_twin(mk_staging *s, const mk_tail_row *row, size_t index)
{
    const mk_ident ident = mk_tail__ident(row);
    s->hit_count = 0;
    s->want_s = row->vt_s;
    s->want_e = row->vt_s == INT64_MAX ? INT64_MAX : row->vt_s + 1;
    const mk_code rc = mk_apply__find_in_tail(s, &ident);
    if (rc != MK_OK)
        return rc;
    for (size_t i = 0; i < s->hit_count; i++)
        if (s->hits[i].vt_s == row->vt_s && mk_tail_at(s->store, s->hits[i].row)->seq_s == s->seq) {
            mk_fail(s->err, MK_E_INVALID_ARG,
                    "event %zu repeats an edge that an earlier op of this batch starts at %lld", index,
                    (long long)row->vt_s);
            mk_err_hint(s->err, "give it a disc of its own, or an offset behind the other events");
            return MK_E_INVALID_ARG;
        }
    return MK_OK;
}

/* A small load: rows go through the tail like any other. */
static mk_code events_to_tail(mk_staging *s, const mk_op *op, uint32_t origin, bool alone, newcomers *new)
{
    event_codes codes = {0};
    mk_code rc = MK_OK;
    for (size_t i = 0; i < op->event_count; i++) {
        const mk_event *event = &op->events[i];
        MK_TRY(rc, event_names(s, op, i, new, &codes));
        const mk_tail_row row = {
            .vt_s = event->vt_s,
            .vt_e = codes.vt_e,
            .disc = codes.disc,
            .props = event->props.n ? event->props.p : "{}",
            .props_size = event->props.n ? (uint32_t)event->props.n : 2,
            .a = codes.src,
            .b = codes.dst,
            .rel = codes.rel,
            .origin = origin,
            .seq_s = s->seq,
            .class = (uint8_t)mk_names__edge_class(s->store, codes.src, codes.dst)};
        if (s->strict && !alone)
            MK_TRY(rc, refuse_twin(s, &row, i));
        MK_TRY(rc, mk_apply__insert(s, &row));
    }
out:
    return rc;
}

static void put_event_row(mk_rows *rows, uint32_t i, const mk_event *event,
                          const event_codes *codes, uint32_t origin, uint32_t props, uint32_t seq)
{
    rows->col[MK_C_VT_S][i] = event->vt_s;
    rows->col[MK_C_VT_E][i] = codes->vt_e;
    rows->col[MK_C_A][i] = codes->src;
    rows->col[MK_C_B][i] = codes->dst;
    rows->col[MK_C_REL][i] = codes->rel;
    rows->col[MK_C_DISC][i] = codes->disc;
    rows->col[MK_C_ORIGIN][i] = origin;
    rows->col[MK_C_PROPS][i] = props;
    rows->col[MK_C_SEQ_S][i] = seq;
    rows->col[MK_C_SEQ_E][i] = MK_SEQ_OPEN;
}

/* A large load becomes a segment at once: no tail rows, no links, no buckets. */
static mk_code events_to_segment(mk_staging *s, const mk_op *op, uint32_t origin, newcomers *new)
{
    mk_store *store = s->store;
    const uint32_t count = (uint32_t)op->event_count;
    const size_t size = (size_t)count * MK_C_ROW_COLUMNS * sizeof(int64_t);
    int64_t *room = mk_new(store->alloc, size);
    mk_texts texts = {.alloc = store->alloc, .seed = store->entities.seed};
    event_codes codes = {0};
    mk_rows rows = {.count = count};
    unsigned class = MK_CLASS_USER;
    bool instant = true;
    mk_code rc = MK_OK;
    if (room == NULL) {
        rc = mk_fail_nomem(s->err);
        goto out;
    }
    for (int id = 0; id < MK_C_ROW_COLUMNS; id++)
        rows.col[id] = room + (size_t)id * count;
    for (uint32_t i = 0; i < count; i++) {
        const mk_event *event = &op->events[i];
        uint32_t props = 0;
        MK_TRY(rc, event_names(s, op, i, new, &codes));
        MK_TRY(rc, mk_texts_code(&texts, event->props.n ? event->props : MK_STR("{}"), &props, s->err));
        put_event_row(&rows, i, event, &codes, origin, props, s->seq);
        instant &= codes.vt_e == (int64_t)((uint64_t)event->vt_s + 1);
        const unsigned edge_class = mk_names__edge_class(store, codes.src, codes.dst);
        class = edge_class > class ? edge_class : class;
    }
    rows.texts = texts.items;
    rows.text_count = (uint32_t)texts.count;
    /* Ids of ties need the batch's tt. */
    *(int64_t *)mk_geo_at(&store->batches, s->seq, sizeof(int64_t)) = s->tt.us;
    rc = mk_segment_build(store->alloc,
                          class != MK_CLASS_USER ? MK_LANE_RESERVED_EDGE
                          : instant              ? MK_LANE_INSTANT
                                                 : MK_LANE_INTERVAL,
                          false, store->next_segment_id++, &rows, false, mk_ids__tie, store,
                          &s->pending->bulk, s->err);
    s->pending->touches_all = true;
out:
    mk_texts_free(&texts);
    mk_free(store->alloc, room, size);
    return rc;
}

mk_code mk_apply__events(mk_staging *s, const mk_op *op, bool alone)
{
    mk_store *store = s->store;
    newcomers new = {0};
    uint32_t origin;
    mk_code rc;
    MK_TRY(rc, mk_apply__origin(s, op, &origin));
    store->first_stamp++;
    /* Rows of every class may meet in one segment only when they are all the user's; replayed logs that
     * mix them take the slow way. */
    bool bulk = alone && op->event_count >= MK_BULK_ROWS;
    for (size_t i = 0; bulk && i < op->event_count; i++)
        bulk = op->events[i].props.n <= UINT32_MAX &&
               mk_class_of_uid(op->events[i].src) == MK_CLASS_USER &&
               mk_class_of_uid(op->events[i].dst) == MK_CLASS_USER;
    MK_TRY(rc, bulk ? events_to_segment(s, op, origin, &new) : events_to_tail(s, op, origin, alone, &new));
    rc = insert_newcomers(s, op, origin, &new);
out:
    mk_free(store->alloc, new.ids, new.cap * sizeof *new.ids);
    return rc;
}

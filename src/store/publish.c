/* publish.c — making staged batches visible, and sealing the tail. Layer: store, internal.
 *
 * A state is filled from what the writer holds and published by one atomic store. Its memory was taken
 * when the batch was staged, so publishing cannot fail. Sealing turns the tail into sorted segments
 * and needs that nothing is staged, since the journal names tail rows. */
#include "store/internal.h"
#include "store/texts.h"

static void release_state(mk_retired *self, void *ctx)
{
    const mk_alloc *alloc = ctx;
    mk_free(alloc, self, ((mk_state *)self)->size);
}

static size_t segment_total(const mk_store *store)
{
    size_t total = 0;
    for (int lane = 0; lane < MK_LANE_COUNT; lane++)
        total += store->lanes[lane].count;
    return total;
}

mk_code mk_publish__reserve(mk_store *store, size_t more_segments, mk_state **out, mk_err *err)
{
    const size_t pointers = segment_total(store) + more_segments + store->chunk_count;
    const size_t size = sizeof(mk_state) + pointers * sizeof(void *);
    mk_state *state = mk_new(store->alloc, size);
    if (state == NULL)
        return mk_fail_nomem(err);
    state->size = size;
    *out = state;
    return MK_OK;
}

void mk_publish__fill(mk_store *store, mk_state *state)
{
    state->seq = store->published.seq;
    state->tt = store->published.tt;
    state->tail_lo = store->tail_lo;
    state->tail_hi = store->published.tail_hi;
    state->entity_count = store->published.entities;
    state->name_count = store->published.names;
    state->origin_count = store->published.origins;
    memcpy(state->stats, store->stats, sizeof state->stats);
    state->degree_max_user = store->degree_max_user;
    state->degree_max_all = store->degree_max_all;
    state->segments = (mk_segment **)state->room;
    uint32_t at = 0;
    for (int lane = 0; lane < MK_LANE_COUNT; lane++) {
        state->first[lane] = at;
        for (size_t i = 0; i < store->lanes[lane].count; i++)
            state->segments[at++] = store->lanes[lane].items[i];
    }
    state->first[MK_LANE_COUNT] = at;
    state->chunks = (mk_tail_chunk **)(state->room + at);
    state->chunk_base = store->chunk_base;
    /* Only chunks with visible rows: batches staged on top may have added more than there is room for. */
    const uint32_t chunks = (state->tail_hi + MK_TAIL_CHUNK - 1) / MK_TAIL_CHUNK;
    state->chunk_count = chunks > store->chunk_base ? chunks - store->chunk_base : 0;
    if (state->chunk_count > store->chunk_count)
        state->chunk_count = (uint32_t)store->chunk_count;
    for (size_t i = 0; i < state->chunk_count; i++)
        state->chunks[i] = store->chunks[i];
    mk_state *old = atomic_exchange(&store->state, state);
    if (old != NULL)
        mk_epoch_retire(&store->epoch, &old->retired, release_state, (void *)(uintptr_t)store->alloc);
}

mk_code mk_publish__state(mk_store *store, mk_err *err)
{
    mk_state *state = NULL;
    const mk_code rc = mk_publish__reserve(store, 0, &state, err);
    if (rc == MK_OK)
        mk_publish__fill(store, state);
    return rc;
}

/* ---- statistics ---- */

static void count_edge(mk_store *store, unsigned class, uint32_t src, uint32_t rel, int64_t vt_s,
                       int64_t vt_e)
{
    mk_class_stats *stats = &store->stats[class];
    stats->edge_versions++;
    _Atomic uint64_t *rels =
        mk_geo_at(&store->rel_count, rel, MK_CLASS_COUNT * sizeof(_Atomic uint64_t));
    atomic_fetch_add_explicit(&rels[class], 1, memory_order_relaxed);
    uint32_t *degree = mk_geo_at(&store->degree, src, 2 * sizeof(uint32_t));
    if (++degree[1] > store->degree_max_all)
        store->degree_max_all = degree[1];
    if (class == MK_CLASS_USER && ++degree[0] > store->degree_max_user)
        store->degree_max_user = degree[0];
    /* Rows with no known start say nothing about the first time (decisions.md 3). */
    const int64_t last = vt_e >= MK_OPEN_END ? (int64_t)((uint64_t)vt_s + 1) : vt_e;
    if (!stats->has_extent) {
        stats->vt_min = INT64_MAX;
        stats->vt_max = INT64_MIN;
        stats->has_extent = true;
    }
    if (vt_s != MK_TIME_MIN && vt_s < stats->vt_min)
        stats->vt_min = vt_s;
    if (last > stats->vt_max)
        stats->vt_max = last;
}

void mk_publish__count(mk_store *store, bool node, unsigned class, uint32_t src, uint32_t rel,
                       int64_t vt_s, int64_t vt_e)
{
    if (node)
        store->stats[class].node_versions++;
    else
        count_edge(store, class, src, rel, vt_s, vt_e);
}

static void count_bulk(mk_store *store, mk_segment *segment)
{
    const mk_col *cols[4];
    static const mk_col_id ids[4] = {MK_C_VT_S, MK_C_VT_E, MK_C_A, MK_C_REL};
    for (int i = 0; i < 4; i++)
        cols[i] = &atomic_load(&segment->cols[ids[i]])->col;
    for (uint32_t row = 0; row < segment->rows; row++) {
        const int64_t vt_s = mk_col_get(cols[0], row);
        count_edge(store, MK_CLASS_USER, mk_col_u32(cols[2], row), mk_col_u32(cols[3], row), vt_s,
                   mk_end_of(segment, vt_s, mk_col_get(cols[1], row)));
    }
}

static void count_batch(mk_store *store, const mk_pending *pending)
{
    for (uint32_t id = pending->entities_before; id < pending->entities_after; id++)
        store->stats[mk_names__class(store, id)].entities++;
    for (uint32_t number = pending->tail_before; number < pending->tail_after; number++) {
        const mk_tail_row *row = mk_tail_at(store, number);
        if (atomic_load_explicit(&row->seq_e, memory_order_relaxed) != row->seq_s)
            mk_publish__count(store, row->node, row->class, row->a, row->rel, row->vt_s, row->vt_e);
    }
    if (pending->bulk != NULL)
        count_bulk(store, pending->bulk);
}

/* ---- publication ---- */

static void remember(mk_store *store, mk_pending *pending)
{
    mk_ring_entry *entry = &store->ring_commits[store->ring_next++ % MK_RING_SIZE];
    mk_free(store->alloc, entry->touches, entry->touch_count * sizeof *entry->touches);
    *entry = (mk_ring_entry){pending->tt, (uint32_t)pending->touch_count, pending->touches_all,
                             pending->touches};
    pending->touches = NULL;
}

static void announce(mk_store *store, const mk_pending *pending)
{
    const mk_ring_entry *entry = &store->ring_commits[(store->ring_next - 1) % MK_RING_SIZE];
    const mk_commit commit = {pending->tt, pending->seq, entry->touches, entry->touch_count,
                              entry->touches_all};
    if (store->listener != NULL)
        store->listener(store->listener_ctx, &commit);
}

void mk_publish__upto(mk_store *store, mk_pending *last)
{
    mk_pending *batch = store->pending_first;
    mk_pending *const stop = last->next;
    for (; batch != stop; batch = batch->next) {
        count_batch(store, batch);
        if (batch->bulk != NULL) {
            mk_segment_list *list = &store->lanes[batch->bulk->lane];
            list->items[list->count++] = batch->bulk; /* room was made when it was staged */
            batch->bulk = NULL;
        }
        store->published.seq = batch->seq;
        store->published.tt = batch->tt;
        store->published.tail_hi = batch->tail_after;
        store->published.entities = batch->entities_after;
        store->published.names = batch->names_after;
        store->published.origins = batch->origins_after;
    }
    mk_publish__fill(store, last->state);
    last->state = NULL;
    for (batch = store->pending_first; batch != stop; batch = batch->next) {
        if (batch->state != NULL) /* one state shows the whole group */
            mk_free(store->alloc, batch->state, batch->state->size);
        batch->state = NULL;
        remember(store, batch);
        announce(store, batch);
    }
    store->pending_first = stop;
    if (stop == NULL) {
        store->pending_last = NULL;
        store->undo_count = 0;
        return;
    }
    const size_t gone = stop->undo_from;
    memmove(store->undo, store->undo + gone, (store->undo_count - gone) * sizeof *store->undo);
    store->undo_count -= gone;
    for (batch = stop; batch != NULL; batch = batch->next)
        batch->undo_from -= gone;
}

mk_code mk_list__add(const mk_alloc *alloc, mk_segment_list *list, mk_segment *segment, mk_err *err)
{
    const mk_code rc = mk_grow(alloc, (void **)&list->items, &list->cap, list->count + 1,
                               sizeof *list->items, err);
    if (rc == MK_OK)
        list->items[list->count++] = segment;
    return rc;
}

/* ---- sealing ---- */

static mk_lane lane_of(const mk_tail_row *row)
{
    if (row->node)
        return row->class == MK_CLASS_USER ? MK_LANE_NODE : MK_LANE_RESERVED_NODE;
    if (row->class != MK_CLASS_USER)
        return MK_LANE_RESERVED_EDGE;
    return row->vt_e == (int64_t)((uint64_t)row->vt_s + 1) ? MK_LANE_INSTANT : MK_LANE_INTERVAL;
}

/* 0: not to be kept; 1 + 2*lane + past otherwise. */
static unsigned heap_of(const mk_tail_row *row)
{
    const uint32_t seq_e = atomic_load_explicit(&row->seq_e, memory_order_relaxed);
    if (seq_e == row->seq_s)
        return 0;
    return 1 + 2 * (unsigned)lane_of(row) + (seq_e != MK_SEQ_OPEN);
}

static void put_row(mk_rows *rows, const mk_tail_row *row, uint32_t props)
{
    const uint32_t i = rows->count++;
    rows->col[MK_C_VT_S][i] = row->vt_s;
    rows->col[MK_C_VT_E][i] = row->vt_e;
    rows->col[MK_C_A][i] = row->a;
    rows->col[MK_C_B][i] = row->node ? MK_NONE : row->b;
    rows->col[MK_C_REL][i] = row->rel;
    rows->col[MK_C_DISC][i] = row->node ? 0 : row->disc;
    rows->col[MK_C_ORIGIN][i] = row->origin;
    rows->col[MK_C_PROPS][i] = props;
    rows->col[MK_C_SEQ_S][i] = row->seq_s;
    rows->col[MK_C_SEQ_E][i] = atomic_load_explicit(&row->seq_e, memory_order_relaxed);
}

static mk_code seal_heap(mk_store *store, unsigned heap, mk_rows *rows, mk_segment **out, mk_err *err)
{
    mk_texts texts = {.alloc = store->alloc, .seed = store->entities.seed};
    mk_code rc = MK_OK;
    rows->count = 0;
    for (uint32_t number = store->tail_lo; number < store->tail_next; number++) {
        const mk_tail_row *row = mk_tail_at(store, number);
        uint32_t props = 0;
        if (heap_of(row) != heap)
            continue;
        MK_TRY(rc, mk_texts_code(&texts, (mk_str){row->props, row->props_size}, &props, err));
        put_row(rows, row, props);
    }
    rows->texts = texts.items;
    rows->text_count = (uint32_t)texts.count;
    rc = mk_segment_build(store->alloc, (mk_lane)((heap - 1) / 2), (heap - 1) % 2,
                          store->next_segment_id++, rows, false, mk_ids__tie, store, out, err);
out:
    mk_texts_free(&texts);
    return rc;
}

#define HEAPS (1 + 2 * MK_LANE_COUNT)

mk_code mk_seal__tail(mk_store *store, mk_err *err)
{
    uint32_t count[HEAPS] = {0};
    mk_segment *made[HEAPS] = {NULL};
    uint32_t most = 0;
    mk_state *state = NULL;
    int64_t *room = NULL;
    size_t size = 0;
    mk_code rc = MK_OK;
    MK_ASSERT(store->pending_first == NULL);
    if (store->tail_lo == store->tail_next)
        return MK_OK;
    for (uint32_t number = store->tail_lo; number < store->tail_next; number++)
        count[heap_of(mk_tail_at(store, number))]++;
    for (unsigned heap = 1; heap < HEAPS; heap++)
        most = count[heap] > most ? count[heap] : most;
    size = (size_t)most * MK_C_ROW_COLUMNS * sizeof(int64_t);
    room = mk_new(store->alloc, size);
    if (room == NULL) {
        rc = mk_fail_nomem(err);
        goto out;
    }
    mk_rows rows = {0};
    for (int id = 0; id < MK_C_ROW_COLUMNS; id++)
        rows.col[id] = room + (size_t)id * most;
    for (unsigned heap = 1; heap < HEAPS; heap++)
        if (count[heap] != 0)
            MK_TRY(rc, seal_heap(store, heap, &rows, &made[heap], err));
    MK_TRY(rc, mk_publish__reserve(store, HEAPS, &state, err));
    for (int lane = 0; lane < MK_LANE_COUNT; lane++) {
        mk_segment_list *list = &store->lanes[lane];
        MK_TRY(rc, mk_grow(store->alloc, (void **)&list->items, &list->cap, list->count + 2,
                           sizeof *list->items, err));
    }
    for (unsigned heap = 1; heap < HEAPS; heap++) {
        mk_segment_list *list = &store->lanes[(heap - 1) / 2];
        if (made[heap] != NULL)
            list->items[list->count++] = made[heap];
        made[heap] = NULL;
    }
    /* The old chunks are retired only after the new state is out: a view opened in between must not
     * find its rows in neither place. */
    const uint32_t lo = store->tail_next;
    store->tail_lo = lo;
    store->published.tail_hi = lo;
    mk_publish__fill(store, state);
    state = NULL;
    mk_tail__drop(store, lo);
out:
    for (unsigned heap = 1; heap < HEAPS; heap++)
        mk_segment_free(made[heap]);
    if (state != NULL)
        mk_free(store->alloc, state, state->size);
    mk_free(store->alloc, room, size);
    return rc;
}

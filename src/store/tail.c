/* tail.c — rows that are not sealed yet. Layer: store, internal.
 *
 * Rows stand in chunks that never move, numbered upwards for the life of the handle. Each is linked
 * from its entities (node, out and in chains, newest first) for readers, and, while it is believed,
 * from a bucket by identity for the writer. A row taken back stays in its place and its chains with
 * seq_e == seq_s, which no view can see: numbers are never used twice, so a reader that follows a
 * chain while a batch fails still meets only rows of that chain. */
#include "store/internal.h"

#define FIRST_BUCKETS 4096u

mk_ident mk_tail__ident(const mk_tail_row *row)
{
    if (row->node)
        return (mk_ident){.node = true, .a = row->a};
    return (mk_ident){false, row->a, row->b, row->rel, row->disc};
}

static uint32_t *bucket_of(mk_store *store, const mk_tail_row *row)
{
    const mk_ident ident = mk_tail__ident(row);
    return &store->buckets[mk_ident_hash(&ident) & (store->bucket_count - 1)];
}

void mk_tail__believe(mk_store *store, uint32_t number)
{
    mk_tail_row *row = mk_tail_at(store, number);
    uint32_t *bucket = bucket_of(store, row);
    row->bucket_prev = MK_NONE;
    row->bucket_next = *bucket;
    if (*bucket != MK_NONE)
        mk_tail_at(store, *bucket)->bucket_prev = number;
    *bucket = number;
    store->bucket_used++;
    if (row->node)
        ++*mk_believed_at(store, row->a);
}

void mk_tail__unbelieve(mk_store *store, uint32_t number)
{
    mk_tail_row *row = mk_tail_at(store, number);
    if (row->bucket_prev != MK_NONE)
        mk_tail_at(store, row->bucket_prev)->bucket_next = row->bucket_next;
    else
        *bucket_of(store, row) = row->bucket_next;
    if (row->bucket_next != MK_NONE)
        mk_tail_at(store, row->bucket_next)->bucket_prev = row->bucket_prev;
    store->bucket_used--;
    if (row->node)
        --*mk_believed_at(store, row->a);
}

/* Twice the buckets, filled from the rows that are believed. */
static mk_code grow_buckets(mk_store *store, mk_err *err)
{
    const size_t count = store->bucket_count ? store->bucket_count * 2 : FIRST_BUCKETS;
    uint32_t *fresh = mk_new(store->alloc, count * sizeof *fresh);
    if (fresh == NULL)
        return mk_fail_nomem(err);
    mk_free(store->alloc, store->buckets, store->bucket_count * sizeof *store->buckets);
    memset(fresh, 0xFF, count * sizeof *fresh);
    store->buckets = fresh;
    store->bucket_count = count;
    for (uint32_t number = store->tail_lo; number < store->tail_next; number++) {
        mk_tail_row *row = mk_tail_at(store, number);
        if (atomic_load_explicit(&row->seq_e, memory_order_relaxed) != MK_SEQ_OPEN)
            continue;
        uint32_t *bucket = bucket_of(store, row);
        row->bucket_prev = MK_NONE;
        row->bucket_next = *bucket;
        if (*bucket != MK_NONE)
            mk_tail_at(store, *bucket)->bucket_prev = number;
        *bucket = number;
    }
    return MK_OK;
}

static void release_chunk(mk_retired *self, void *ctx)
{
    (void)ctx;
    mk_tail_chunk *chunk = (mk_tail_chunk *)self;
    mk_arena_free(&chunk->text);
    mk_free(chunk->alloc, chunk, sizeof *chunk);
}

/* The chunk of row tail_next, made when it is the first row there. */
static mk_code chunk_for_next(mk_store *store, mk_tail_chunk **out, mk_err *err)
{
    mk_code rc = MK_OK;
    if (store->chunk_count == 0)
        store->chunk_base = store->tail_next / MK_TAIL_CHUNK;
    const size_t index = store->tail_next / MK_TAIL_CHUNK - store->chunk_base;
    if (index == store->chunk_count) {
        MK_TRY(rc, mk_grow(store->alloc, (void **)&store->chunks, &store->chunk_cap, index + 1,
                           sizeof *store->chunks, err));
        mk_tail_chunk *chunk = mk_new(store->alloc, sizeof *chunk);
        if (chunk == NULL) {
            rc = mk_fail_nomem(err);
            goto out;
        }
        chunk->alloc = store->alloc;
        mk_arena_init(&chunk->text, store->alloc);
        store->chunks[store->chunk_count++] = chunk;
    }
    *out = store->chunks[index];
out:
    return rc;
}

/* Chains for readers: the row knows the older one before it becomes the head. */
static void link_row(mk_store *store, mk_tail_row *row, uint32_t number)
{
    mk_heads *heads = mk_heads_at(store, row->a);
    _Atomic uint32_t *head = row->node ? &heads->node : &heads->out;
    atomic_store_explicit(&row->older_a, atomic_load_explicit(head, memory_order_relaxed),
                          memory_order_relaxed);
    atomic_store_explicit(head, number + 1, memory_order_release);
    if (row->node)
        return;
    head = &mk_heads_at(store, row->b)->in;
    atomic_store_explicit(&row->older_b, atomic_load_explicit(head, memory_order_relaxed),
                          memory_order_relaxed);
    atomic_store_explicit(head, number + 1, memory_order_release);
}

mk_code mk_tail__insert(mk_store *store, const mk_tail_row *source, mk_err *err)
{
    mk_code rc = MK_OK;
    mk_tail_chunk *chunk = NULL;
    if (store->tail_next >= MK_TAIL_ROWS_MAX) {
        rc = mk_fail(err, MK_E_LIMIT, "this handle has written four thousand million rows");
        mk_err_hint(err, "close the store and open it again");
        goto out;
    }
    MK_TRY(rc, chunk_for_next(store, &chunk, err));
    if (store->bucket_used >= store->bucket_count)
        MK_TRY(rc, grow_buckets(store, err));
    MK_TRY(rc, mk_grow(store->alloc, (void **)&store->undo, &store->undo_cap,
                       store->undo_count + 1, sizeof *store->undo, err));
    mk_str props = {"{}", 2};
    if (source->props_size != 2 || memcmp(source->props, "{}", 2) != 0) {
        props = mk_arena_copy(&chunk->text, (mk_str){source->props, source->props_size});
        if (props.p == NULL) {
            rc = mk_fail_nomem(err);
            goto out;
        }
    }
    const uint32_t number = store->tail_next++;
    mk_tail_row *row = &chunk->rows[number % MK_TAIL_CHUNK];
    *row = *source;
    row->props = props.p;
    row->props_size = (uint32_t)props.n;
    atomic_store_explicit(&row->seq_e, MK_SEQ_OPEN, memory_order_relaxed);
    atomic_store_explicit(&row->older_b, 0, memory_order_relaxed);
    link_row(store, row, number);
    mk_tail__believe(store, number);
    store->undo[store->undo_count++] = (mk_undo){MK_UNDO_INSERT, number, NULL};
out:
    return rc;
}

void mk_tail__drop(mk_store *store, uint32_t lo)
{
    const size_t whole = lo / MK_TAIL_CHUNK - store->chunk_base;
    for (size_t i = 0; i < whole && i < store->chunk_count; i++)
        mk_epoch_retire(&store->epoch, &store->chunks[i]->retired, release_chunk, NULL);
    if (whole >= store->chunk_count) {
        store->chunk_count = 0;
    } else {
        store->chunk_count -= whole;
        memmove(store->chunks, store->chunks + whole, store->chunk_count * sizeof *store->chunks);
        store->chunk_base += (uint32_t)whole;
    }
    store->tail_lo = lo;
    memset(store->buckets, 0xFF, store->bucket_count * sizeof *store->buckets);
    store->bucket_used = 0;
}

void mk_tail__free(mk_store *store)
{
    for (size_t i = 0; i < store->chunk_count; i++)
        release_chunk(&store->chunks[i]->retired, NULL);
    mk_free(store->alloc, store->chunks, store->chunk_cap * sizeof *store->chunks);
    mk_free(store->alloc, store->buckets, store->bucket_count * sizeof *store->buckets);
}

/* lowered.c — uids in lower case, block by block. See lowered.h. Layer: store. */
#include "store/lowered.h"

#include "base/lower.h"

void mk_lowered_init(mk_lowered_heap *heap, const mk_alloc *alloc)
{
    *heap = (mk_lowered_heap){.alloc = alloc};
    pthread_mutex_init(&heap->mutex, NULL);
}

static size_t size_of(const mk_lowered *block)
{
    return sizeof *block + block->start[MK_LOWERED_BLOCK];
}

static _Atomic(mk_lowered *) *slot_of(const mk_lowered_heap *heap, uint32_t number)
{
    return mk_geo_at(&heap->blocks, number, sizeof(_Atomic(mk_lowered *)));
}

static mk_lowered *block_at(mk_lowered_heap *heap, uint32_t number)
{
    return number < atomic_load_explicit(&heap->room, memory_order_acquire)
               ? atomic_load_explicit(slot_of(heap, number), memory_order_acquire)
               : NULL;
}

void mk_lowered_free(mk_lowered_heap *heap)
{
    for (uint32_t i = 0; i < atomic_load(&heap->room); i++) {
        mk_lowered *block = block_at(heap, i);
        if (block != NULL)
            mk_free(heap->alloc, block, size_of(block));
    }
    mk_geo_free(&heap->blocks, heap->alloc, sizeof(_Atomic(mk_lowered *)));
    pthread_mutex_destroy(&heap->mutex);
}

static mk_code make_block(mk_lowered_heap *heap, const mk_dict *dict, uint32_t number, mk_lowered **out,
                          mk_err *err)
{
    uint32_t start[MK_LOWERED_BLOCK + 1];
    mk_buf text;
    mk_code rc;
    mk_buf_init(&text, heap->alloc);
    for (uint32_t i = 0; i < MK_LOWERED_BLOCK; i++) {
        start[i] = (uint32_t)text.n;
        mk_lower(&text, mk_dict_text(dict, number * MK_LOWERED_BLOCK + i));
    }
    MK_TRY(rc, mk_buf_done(&text, err));
    start[MK_LOWERED_BLOCK] = (uint32_t)text.n;
    mk_lowered *block = mk_new(heap->alloc, sizeof *block + text.n);
    if (block == NULL) {
        rc = mk_fail_nomem(err);
        goto out;
    }
    memcpy(block->start, start, sizeof start);
    if (text.n != 0)
        memcpy(block->text, text.p, text.n);
    *out = block;
out:
    mk_buf_free(&text);
    return rc;
}

/* Under the mutex. */
static mk_code add_block(mk_lowered_heap *heap, const mk_dict *dict, uint32_t number, mk_lowered **out,
                         mk_err *err)
{
    mk_code rc = MK_OK;
    *out = block_at(heap, number);
    if (*out != NULL)
        return MK_OK;
    if (number >= atomic_load_explicit(&heap->room, memory_order_relaxed)) {
        MK_TRY(rc, mk_geo_reserve(&heap->blocks, heap->alloc, number, sizeof(_Atomic(mk_lowered *)), err));
        atomic_store_explicit(&heap->room, number + 1, memory_order_release);
    }
    MK_TRY(rc, make_block(heap, dict, number, out, err));
    atomic_store_explicit(slot_of(heap, number), *out, memory_order_release);
out:
    return rc;
}

mk_code mk_lowered_block(mk_lowered_heap *heap, const mk_dict *dict, uint32_t number, const mk_lowered **out,
                         mk_err *err)
{
    mk_lowered *block = block_at(heap, number);
    mk_code rc = MK_OK;
    if (block == NULL) {
        pthread_mutex_lock(&heap->mutex);
        rc = add_block(heap, dict, number, &block, err);
        pthread_mutex_unlock(&heap->mutex);
    }
    *out = block;
    return rc;
}

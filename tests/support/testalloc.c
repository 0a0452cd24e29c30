/* testalloc.c — see testalloc.h. */
#include "testalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILL 0xA5
#define MAGIC UINT64_C(0x6D6B626C6F636B21)
#define REPORT_MAX 20

struct testalloc_block {
    uint64_t magic;
    uint64_t call;
    size_t size;
    testalloc_block *next, *previous;
    _Alignas(16) unsigned char bytes[];
};

static testalloc_block *block_of(testalloc *ta, void *p, size_t size)
{
    testalloc_block *block = (testalloc_block *)((char *)p - offsetof(testalloc_block, bytes));

    if (block->magic != MAGIC || block->size != size) {
        ta->wrong_sizes++;
        fprintf(stderr, "testalloc: old size %zu given for a block of %zu bytes\n", size,
                block->magic == MAGIC ? block->size : 0);
    }
    return block->magic == MAGIC ? block : NULL;
}

static testalloc_block *add_block(testalloc *ta, size_t size)
{
    if (size > PTRDIFF_MAX - sizeof(testalloc_block))
        return NULL;
    testalloc_block *block = malloc(sizeof *block + size);
    if (block == NULL)
        return NULL;
    *block = (testalloc_block){.magic = MAGIC, .call = ta->calls, .size = size, .next = ta->blocks};
    memset(block->bytes, FILL, size);
    if (ta->blocks != NULL)
        ta->blocks->previous = block;
    ta->blocks = block;
    ta->live_blocks++;
    ta->live_bytes += size;
    if (ta->live_bytes > ta->peak_bytes)
        ta->peak_bytes = ta->live_bytes;
    return block;
}

static void drop_block(testalloc *ta, testalloc_block *block)
{
    if (block->previous != NULL)
        block->previous->next = block->next;
    else
        ta->blocks = block->next;
    if (block->next != NULL)
        block->next->previous = block->previous;
    ta->live_blocks--;
    ta->live_bytes -= block->size;
    block->magic = 0;
    free(block);
}

static bool must_fail(testalloc *ta)
{
    ta->calls++;
    const bool fails =
        ta->fail_at != 0 && (ta->calls == ta->fail_at || (ta->fail_on && ta->calls > ta->fail_at));
    ta->failures += fails;
    return fails;
}

static void *resize_locked(testalloc *ta, void *p, size_t old_size, size_t new_size)
{
    testalloc_block *old = p != NULL ? block_of(ta, p, old_size) : NULL;
    testalloc_block *fresh = NULL;

    if (p != NULL && old == NULL)
        return NULL; /* not ours: reported, and left alone */
    if (new_size > 0) {
        fresh = must_fail(ta) ? NULL : add_block(ta, new_size);
        if (fresh == NULL)
            return NULL;
    }
    if (old != NULL && fresh != NULL)
        memcpy(fresh->bytes, old->bytes, old->size < new_size ? old->size : new_size);
    if (old != NULL)
        drop_block(ta, old);
    return fresh != NULL ? fresh->bytes : NULL;
}

static void *resize(void *ctx, void *p, size_t old_size, size_t new_size)
{
    testalloc *ta = ctx;

    pthread_mutex_lock(&ta->mutex);
    void *result = resize_locked(ta, p, old_size, new_size);
    pthread_mutex_unlock(&ta->mutex);
    return result;
}

void testalloc_init(testalloc *ta)
{
    *ta = (testalloc){.hook = {resize, ta}};
    pthread_mutex_init(&ta->mutex, NULL);
}

void testalloc_free(testalloc *ta)
{
    while (ta->blocks != NULL)
        drop_block(ta, ta->blocks);
    pthread_mutex_destroy(&ta->mutex);
}

void testalloc_fail(testalloc *ta, uint64_t n, bool and_later)
{
    pthread_mutex_lock(&ta->mutex);
    ta->fail_at = n > 0 ? ta->calls + n : 0;
    ta->fail_on = and_later;
    pthread_mutex_unlock(&ta->mutex);
}

bool testalloc_is_clean(testalloc *ta)
{
    pthread_mutex_lock(&ta->mutex);
    const bool clean = ta->blocks == NULL && ta->wrong_sizes == 0;
    int reported = 0;
    for (const testalloc_block *b = ta->blocks; b != NULL && reported < REPORT_MAX; b = b->next) {
        fprintf(stderr, "testalloc: %zu bytes of call %llu were not freed\n", b->size,
                (unsigned long long)b->call);
        reported++;
    }
    if (ta->live_blocks > REPORT_MAX)
        fprintf(stderr, "testalloc: and %zu blocks more\n", ta->live_blocks - REPORT_MAX);
    pthread_mutex_unlock(&ta->mutex);
    return clean;
}

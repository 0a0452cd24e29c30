/* arena.c — chained bump allocation. Layer: base. */
#include "base/arena.h"

#define BLOCK_MIN ((size_t)16 << 10)
#define BLOCK_MAX ((size_t)4 << 20)
#define ALIGN 16u

struct mk_arena_block {
    mk_arena_block *next;
    size_t size; /* bytes behind this header */
};

static_assert(sizeof(mk_arena_block) % ALIGN == 0, "blocks start aligned");

static char *block_bytes(mk_arena_block *block) { return (char *)(block + 1); }

void mk_arena_init(mk_arena *arena, const mk_alloc *alloc)
{
    *arena = (mk_arena){.alloc = alloc};
}

void mk_arena_free(mk_arena *arena)
{
    for (mk_arena_block *block = arena->first; block != NULL;) {
        mk_arena_block *next = block->next;
        mk_free(arena->alloc, block, sizeof *block + block->size);
        block = next;
    }
    *arena = (mk_arena){.alloc = arena->alloc, .limit = arena->limit};
}

/* Moves on to a block with room for `size` bytes: the next one when it is large enough, else a new
 * one put in front of it, so that blocks kept by a rewind are used again. */
static bool next_block(mk_arena *arena, size_t size)
{
    mk_arena_block **link = arena->block ? &arena->block->next : &arena->first;
    if (*link != NULL && (*link)->size >= size) {
        arena->block = *link;
        arena->used = 0;
        return true;
    }
    size_t want = arena->block ? arena->block->size * 2 : BLOCK_MIN;
    if (want > BLOCK_MAX)
        want = BLOCK_MAX;
    if (want < size)
        want = size;
    size_t bytes;
    if (!mk_size_add(want, sizeof(mk_arena_block), &bytes))
        return false;
    if (arena->limit != 0 && (bytes > arena->limit || arena->total > arena->limit - bytes))
        return false;
    mk_arena_block *block = mk_new(arena->alloc, bytes);
    if (block == NULL)
        return false;
    block->size = want;
    block->next = *link;
    *link = block;
    arena->block = block;
    arena->used = 0;
    arena->total += bytes;
    return true;
}

void *mk_arena_get(mk_arena *arena, size_t size)
{
    if (size > SIZE_MAX - ALIGN)
        return NULL;
    size = size ? (size + ALIGN - 1) & ~(size_t)(ALIGN - 1) : ALIGN;
    const size_t start = (arena->used + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    if (arena->block != NULL && start <= arena->block->size && arena->block->size - start >= size) {
        arena->used = start + size;
        return block_bytes(arena->block) + start;
    }
    if (!next_block(arena, size))
        return NULL;
    arena->used = size;
    return block_bytes(arena->block);
}

void *mk_arena_get0(mk_arena *arena, size_t size)
{
    void *p = mk_arena_get(arena, size);
    if (p != NULL)
        memset(p, 0, size);
    return p;
}

mk_str mk_arena_copy(mk_arena *arena, mk_str s)
{
    char *p;
    if (arena->block != NULL && arena->block->size - arena->used >= s.n) {
        p = block_bytes(arena->block) + arena->used;
    } else {
        if (!next_block(arena, s.n ? s.n : 1))
            return (mk_str){NULL, 0};
        p = block_bytes(arena->block);
    }
    arena->used += s.n;
    if (s.n != 0)
        memcpy(p, s.p, s.n);
    return (mk_str){p, s.n};
}

mk_arena_mark mk_arena_save(const mk_arena *arena)
{
    return (mk_arena_mark){arena->block, arena->used};
}

void mk_arena_rewind(mk_arena *arena, mk_arena_mark mark)
{
    arena->block = mark.block;
    arena->used = mark.used;
}

void mk_arena_reset(mk_arena *arena)
{
    arena->block = NULL;
    arena->used = 0;
}

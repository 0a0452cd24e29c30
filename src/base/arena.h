/* arena.h — memory that dies together. Layer: base.
 *
 * A batch, a query and a request each own one. Blocks are chained and bump-allocated; rewinding to a
 * mark frees nothing but makes the room reusable, so a loop over batches touches the same pages. */
#ifndef MK_BASE_ARENA_H
#define MK_BASE_ARENA_H

#include "base/alloc.h"
#include "base/str.h"

typedef struct mk_arena_block mk_arena_block;

typedef struct mk_arena {
    const mk_alloc *alloc;
    mk_arena_block *first; /* oldest block */
    mk_arena_block *block; /* the block being filled */
    size_t used;           /* bytes used in it */
    size_t limit;          /* most bytes that all blocks together may take; 0: no limit */
    size_t total;          /* bytes taken by all blocks */
} mk_arena;

typedef struct mk_arena_mark {
    mk_arena_block *block;
    size_t used;
} mk_arena_mark;

void mk_arena_init(mk_arena *arena, const mk_alloc *alloc);
void mk_arena_free(mk_arena *arena); /* the arena is empty and usable afterwards */

/* 16-byte aligned; NULL when out of memory or over the limit. Size 0 gives a valid pointer. */
void *mk_arena_get(mk_arena *arena, size_t size);
void *mk_arena_get0(mk_arena *arena, size_t size);
/* Unaligned copy of bytes; p NULL when out of memory. */
mk_str mk_arena_copy(mk_arena *arena, mk_str s);

mk_arena_mark mk_arena_save(const mk_arena *arena);
void mk_arena_rewind(mk_arena *arena, mk_arena_mark mark);
void mk_arena_reset(mk_arena *arena); /* rewind to the start, keeps the blocks */

#endif

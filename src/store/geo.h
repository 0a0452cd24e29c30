/* geo.h — arrays that grow and never move. Layer: store. Header only.
 *
 * Chunk k holds 1,024 << k elements, so 22 pointers cover every 32-bit index, the wasted share is at
 * most half, and a reader may index without a lock: an element, once there, stays where it is. The
 * writer publishes a chunk before the count that makes it reachable. */
#ifndef MK_STORE_GEO_H
#define MK_STORE_GEO_H

#include <stdatomic.h>

#include "base/alloc.h"

#define MK_GEO_CHUNKS 23
#define MK_GEO_FIRST 1024u

typedef struct mk_geo {
    _Atomic(void *) chunks[MK_GEO_CHUNKS];
} mk_geo;

static inline unsigned mk_geo_chunk(uint32_t index, uint32_t *offset)
{
    const uint32_t j = (index >> 10) + 1;
    const unsigned chunk = 31u - (unsigned)__builtin_clz(j);
    *offset = index - (((1u << chunk) - 1) << 10);
    return chunk;
}

/* Address of element `index`, whose chunk must exist. */
static inline void *mk_geo_at(const mk_geo *geo, uint32_t index, size_t elem)
{
    uint32_t offset;
    const unsigned chunk = mk_geo_chunk(index, &offset);
    char *base = atomic_load_explicit(&geo->chunks[chunk], memory_order_acquire);
    return base + (size_t)offset * elem;
}

/* Makes sure that element `index` exists; new chunks are zeroed. One thread at a time. */
MK_CHECK static inline mk_code mk_geo_reserve(mk_geo *geo, const mk_alloc *alloc, uint32_t index,
                                              size_t elem, mk_err *err)
{
    uint32_t offset;
    const unsigned last = mk_geo_chunk(index, &offset);
    for (unsigned chunk = last + 1; chunk-- > 0;) {
        if (atomic_load_explicit(&geo->chunks[chunk], memory_order_relaxed) != NULL)
            break;
        void *p = mk_new0(alloc, ((size_t)MK_GEO_FIRST << chunk) * elem);
        if (p == NULL)
            return mk_fail_nomem(err);
        atomic_store_explicit(&geo->chunks[chunk], p, memory_order_release);
    }
    return MK_OK;
}

static inline void mk_geo_free(mk_geo *geo, const mk_alloc *alloc, size_t elem)
{
    for (unsigned chunk = 0; chunk < MK_GEO_CHUNKS; chunk++) {
        void *p = atomic_load_explicit(&geo->chunks[chunk], memory_order_relaxed);
        mk_free(alloc, p, ((size_t)MK_GEO_FIRST << chunk) * elem);
        atomic_store_explicit(&geo->chunks[chunk], NULL, memory_order_relaxed);
    }
}

#endif

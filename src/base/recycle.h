/* recycle.h — an allocation hook that keeps large freed blocks for the next taker. Layer: base.
 *
 * Sealing, merging and loading take and free the same megabytes over and over, and fresh pages are the
 * dearest memory there is (performance spec, section 2). Blocks from 256 KiB on are rounded up to an
 * eighth of their power of two and, when freed, kept up to a bound; the rest goes straight through. */
#ifndef MK_BASE_RECYCLE_H
#define MK_BASE_RECYCLE_H

#include <pthread.h>

#include "base/alloc.h"

#define MK_RECYCLE_SLOTS 32

typedef struct mk_recycler {
    mk_alloc alloc; /* hand this out */
    const mk_alloc *under;
    pthread_mutex_t mutex;
    struct {
        void *p;
        size_t size;
    } kept[MK_RECYCLE_SLOTS];
    size_t kept_count, kept_bytes, kept_max;
} mk_recycler;

/* Keeps at most `kept_max` bytes. `under` must outlive it. */
MK_CHECK mk_code mk_recycler_init(mk_recycler *recycler, const mk_alloc *under, size_t kept_max,
                                  mk_err *err);
/* Frees what is kept. Blocks still out must have been freed before. */
void mk_recycler_destroy(mk_recycler *recycler);

#endif

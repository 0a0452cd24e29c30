/* epoch.h — freeing what lock-free readers may still look at. Layer: store.
 *
 * A reader enters with a slot that shows the epoch it began in. Whatever is replaced is retired with
 * the epoch of its retirement and freed once every reader inside began later. No reader waits, no
 * writer waits for a reader; a view that stays open only keeps memory. (Fraser 2004.) */
#ifndef MK_STORE_EPOCH_H
#define MK_STORE_EPOCH_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/alloc.h"

#define MK_EPOCH_SLOTS 1024

/* First member of everything that can be retired, so that retiring allocates nothing. */
typedef struct mk_retired {
    struct mk_retired *next;
    uint64_t epoch;
    void (*release)(struct mk_retired *self, void *ctx);
    void *ctx;
} mk_retired;

/* 64 bytes apart, so no two slots share a cache line; not aligned, as our memory is not either. */
typedef struct mk_epoch_slot {
    _Atomic uint64_t since; /* 0: free */
    uint64_t apart[7];
} mk_epoch_slot;

typedef struct mk_epoch {
    _Atomic uint64_t now; /* starts at 1 */
    mk_epoch_slot slots[MK_EPOCH_SLOTS];
    pthread_mutex_t mutex; /* guards the list */
    mk_retired *oldest, *newest;
} mk_epoch;

mk_code mk_epoch_init(mk_epoch *epoch, mk_err *err);
void mk_epoch_destroy(mk_epoch *epoch); /* frees everything retired; no reader may be inside */

/* Slot to hand back on leaving. MK_E_LIMIT when all slots are taken. */
MK_CHECK mk_code mk_epoch_enter(mk_epoch *epoch, unsigned *slot, mk_err *err);
void mk_epoch_leave(mk_epoch *epoch, unsigned slot);

/* After the last pointer to `self` was replaced. */
void mk_epoch_retire(mk_epoch *epoch, mk_retired *self,
                     void (*release)(mk_retired *self, void *ctx), void *ctx);
/* Frees what no reader can see any more. */
void mk_epoch_collect(mk_epoch *epoch);

#endif

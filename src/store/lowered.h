/* lowered.h — uids in lower case, one text for 1,024 of them. Layer: store.
 *
 * Looking for a part of a name reads all names, and what that costs is finding each. Here the names of a
 * block stand one behind the other, so that one search passes over all of them. Blocks are made when first
 * asked for and kept; they never change, since uids do not. Source: operators spec, 7.12; issue of the
 * operator algebra, "name search by a vector scan of one lower-cased text heap". */
#ifndef MK_STORE_LOWERED_H
#define MK_STORE_LOWERED_H

#include <pthread.h>
#include <stdatomic.h>

#include "store/dict.h"

#define MK_LOWERED_BLOCK 1024u

typedef struct mk_lowered {
    uint32_t start[MK_LOWERED_BLOCK + 1]; /* of each uid in `text`; the last is where the text ends */
    char text[];
} mk_lowered;

typedef struct mk_lowered_heap {
    const mk_alloc *alloc;
    pthread_mutex_t mutex; /* blocks are made by one thread at a time, and read by all */
    mk_geo blocks;         /* _Atomic(mk_lowered *) */
    _Atomic uint32_t room; /* slots below this may be read without the mutex */
} mk_lowered_heap;

void mk_lowered_init(mk_lowered_heap *heap, const mk_alloc *alloc);
void mk_lowered_free(mk_lowered_heap *heap);
/* Block `number` of the dictionary's strings, all 1,024 of which the caller knows to be there for good. It
 * lives as long as the heap. Any thread. Errors: MK_E_NOMEM. */
MK_CHECK mk_code mk_lowered_block(mk_lowered_heap *heap, const mk_dict *dict, uint32_t number,
                                  const mk_lowered **out, mk_err *err);

#endif

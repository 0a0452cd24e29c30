/* pool.h — a fixed set of worker threads. Layer: base.
 *
 * For loops whose parts are independent: mk_pool_run hands out indices 0..count-1 and waits. Results
 * must not depend on which thread takes which index. */
#ifndef MK_BASE_POOL_H
#define MK_BASE_POOL_H

#include "base/alloc.h"

typedef struct mk_pool mk_pool;

/* threads 0: as many as the machine has cores. With 1 no thread is started. */
MK_CHECK mk_code mk_pool_open(const mk_alloc *alloc, unsigned threads, mk_pool **out, mk_err *err);
void mk_pool_close(mk_pool *pool); /* NULL is fine; no run may be in progress */
unsigned mk_pool_threads(const mk_pool *pool);

/* Calls work(arg, index) for every index, on the workers and the calling thread; returns when all
 * are done: MK_OK, or the code and error of the failing index that is smallest (the rest still
 * ran or were skipped). pool NULL runs in order on the calling thread. */
MK_CHECK mk_code mk_pool_run(mk_pool *pool, size_t count,
                             mk_code (*work)(void *arg, size_t index, mk_err *err), void *arg,
                             mk_err *err);

#endif

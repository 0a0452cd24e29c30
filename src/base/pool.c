/* pool.c — a fixed set of worker threads.
 *
 * One job at a time. The caller publishes it under the mutex and raises the generation; every
 * worker joins every generation once, takes indices from one counter until none are left, and
 * reports itself done. The caller works too, then waits for the others, so that nothing of the job
 * is touched after mk_pool_run returned.
 *
 * Indices are handed out in rising order and an index is skipped only when a smaller one has
 * already failed. So whatever is smaller than the smallest failing index has run, and the error
 * reported is the same for any number of threads. */
#include "base/pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

/* More threads than this help nobody; it bounds what a wrong option can ask for. */
#define THREADS_MAX 256u

typedef struct job {
    mk_code (*work)(void *arg, size_t index, mk_err *err);
    void *arg;
    size_t count;
    atomic_size_t next;   /* the index to hand out next; may end beyond count */
    atomic_size_t failed; /* smallest failing index so far, SIZE_MAX when none */
    mk_code code;         /* of that index; under the mutex, like err */
    mk_err err;
} job;

struct mk_pool {
    const mk_alloc *alloc;
    unsigned threads; /* the caller included */
    unsigned started; /* workers that exist */
    pthread_t *workers;
    pthread_mutex_t mutex;
    pthread_cond_t job_ready, job_done;
    uint64_t generation; /* raised with every job */
    unsigned busy;       /* workers that have not finished the current one */
    bool running;
    bool closing;
    job job;
};

static void record_failure(mk_pool *pool, size_t index, mk_code code, const mk_err *err)
{
    job *j = &pool->job;

    pthread_mutex_lock(&pool->mutex);
    if (index < atomic_load_explicit(&j->failed, memory_order_relaxed)) {
        atomic_store_explicit(&j->failed, index, memory_order_relaxed);
        j->code = code;
        j->err = *err;
    }
    pthread_mutex_unlock(&pool->mutex);
}

/* Relaxed order is enough: the counters only share out numbers, and whatever the work writes is
 * published by the mutex when its worker reports itself done. */
static void work_through(mk_pool *pool)
{
    job *j = &pool->job;
    mk_err err;

    for (;;) {
        const size_t index = atomic_fetch_add_explicit(&j->next, 1, memory_order_relaxed);
        if (index >= j->count || index > atomic_load_explicit(&j->failed, memory_order_relaxed))
            break;
        memset(&err, 0, sizeof err);
        const mk_code rc = j->work(j->arg, index, &err);
        if (rc != MK_OK)
            record_failure(pool, index, rc, &err);
    }
}

static void *worker_main(void *arg)
{
    mk_pool *pool = arg;
    uint64_t seen = 0;

    pthread_mutex_lock(&pool->mutex);
    for (;;) {
        while (!pool->closing && pool->generation == seen)
            pthread_cond_wait(&pool->job_ready, &pool->mutex);
        if (pool->closing)
            break;
        seen = pool->generation;
        pthread_mutex_unlock(&pool->mutex);
        work_through(pool);
        pthread_mutex_lock(&pool->mutex);
        if (--pool->busy == 0)
            pthread_cond_signal(&pool->job_done);
    }
    pthread_mutex_unlock(&pool->mutex);
    return NULL;
}

/* Cores this process may use, which in a container are fewer than the machine has. */
static unsigned core_count(void)
{
    cpu_set_t set;
    long n;

    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return (unsigned)CPU_COUNT(&set);
    n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (unsigned)n : 1;
}

/* Workers take no signals, so the program's handlers run where the program expects them. */
static mk_code start_workers(mk_pool *pool, mk_err *err)
{
    mk_code rc = MK_OK;
    sigset_t all, old;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    while (pool->started + 1 < pool->threads) {
        const int errnum = pthread_create(&pool->workers[pool->started], NULL, worker_main, pool);
        if (errnum != 0) {
            rc = mk_fail(err, MK_E_STATE, "cannot start thread %u of %u: system error %d",
                         pool->started + 1, pool->threads - 1, errnum);
            mk_err_reason(err, "threads");
            mk_err_hint(err, "raise the limit on processes (ulimit -u) or ask for fewer threads");
            break;
        }
        pool->started++;
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return rc;
}

mk_code mk_pool_open(const mk_alloc *alloc, unsigned threads, mk_pool **out, mk_err *err)
{
    mk_pool *pool = mk_new0(alloc, sizeof *pool);
    mk_code rc;

    if (pool == NULL)
        return mk_fail_nomem(err);
    pool->alloc = alloc;
    pool->threads = threads == 0 ? core_count() : threads;
    if (pool->threads > THREADS_MAX)
        pool->threads = THREADS_MAX;
    pool->workers = mk_new(alloc, pool->threads * sizeof *pool->workers);
    if (pool->workers == NULL) {
        mk_free(alloc, pool, sizeof *pool);
        return mk_fail_nomem(err);
    }
    pthread_mutex_init(&pool->mutex, NULL); /* these three cannot fail with default attributes */
    pthread_cond_init(&pool->job_ready, NULL);
    pthread_cond_init(&pool->job_done, NULL);
    rc = start_workers(pool, err);
    if (rc != MK_OK) {
        mk_pool_close(pool);
        return rc;
    }
    *out = pool;
    return MK_OK;
}

void mk_pool_close(mk_pool *pool)
{
    if (pool == NULL)
        return;
    pthread_mutex_lock(&pool->mutex);
    MK_ASSERT(!pool->running);
    pool->closing = true;
    pthread_cond_broadcast(&pool->job_ready);
    pthread_mutex_unlock(&pool->mutex);
    for (unsigned i = 0; i < pool->started; i++)
        pthread_join(pool->workers[i], NULL);
    pthread_cond_destroy(&pool->job_done);
    pthread_cond_destroy(&pool->job_ready);
    pthread_mutex_destroy(&pool->mutex);
    mk_free(pool->alloc, pool->workers, pool->threads * sizeof *pool->workers);
    mk_free(pool->alloc, pool, sizeof *pool);
}

unsigned mk_pool_threads(const mk_pool *pool)
{
    return pool != NULL ? pool->threads : 1;
}

static mk_code run_in_order(size_t count, mk_code (*work)(void *arg, size_t index, mk_err *err),
                            void *arg, mk_err *err)
{
    mk_code rc = MK_OK;

    for (size_t i = 0; i < count && rc == MK_OK; i++)
        rc = work(arg, i, err);
    return rc;
}

/* False when the pool is at work already: for another thread, or for the work that asks. */
static bool publish(mk_pool *pool, size_t count, mk_code (*work)(void *, size_t, mk_err *),
                    void *arg)
{
    pthread_mutex_lock(&pool->mutex);
    const bool is_free = !pool->running;
    if (is_free) {
        pool->running = true;
        pool->job.work = work;
        pool->job.arg = arg;
        pool->job.count = count;
        pool->job.code = MK_OK;
        atomic_store_explicit(&pool->job.next, 0, memory_order_relaxed);
        atomic_store_explicit(&pool->job.failed, SIZE_MAX, memory_order_relaxed);
        pool->busy = pool->started;
        pool->generation++;
        pthread_cond_broadcast(&pool->job_ready);
    }
    pthread_mutex_unlock(&pool->mutex);
    return is_free;
}

/* A pool that is at work does not make the caller wait, it leaves the work to it: the results are
 * the same, and work may itself use the pool without a deadlock. */
mk_code mk_pool_run(mk_pool *pool, size_t count,
                    mk_code (*work)(void *arg, size_t index, mk_err *err), void *arg, mk_err *err)
{
    if (pool == NULL || pool->threads == 1 || count <= 1 || !publish(pool, count, work, arg))
        return run_in_order(count, work, arg, err);

    work_through(pool);
    pthread_mutex_lock(&pool->mutex);
    while (pool->busy > 0)
        pthread_cond_wait(&pool->job_done, &pool->mutex);
    const mk_code rc = pool->job.code;
    if (rc != MK_OK && err != NULL)
        *err = pool->job.err;
    pool->running = false;
    pthread_mutex_unlock(&pool->mutex);
    return rc;
}

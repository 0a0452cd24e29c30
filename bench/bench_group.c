/* bench_group.c — commits of one op from many threads, which share frames and syncs.
 *
 * Numbers of writers take turns, five rounds of MK_BENCH_MS (1000) milliseconds each, beside the disk's
 * own sync rate. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "store/internal.h"

#define ROUNDS 5
#define CELLS 4
#define WRITERS_MAX 64

static const unsigned writers[CELLS] = {1, 4, 16, WRITERS_MAX};

typedef struct writer {
    mk_store *store;
    unsigned number;
    pthread_t thread;
    uint64_t commits;
    atomic_bool *stop;
    pthread_barrier_t *start;
} writer;

static void *write_on(void *arg)
{
    writer *w = arg;
    char uid[16], props[32];
    mk_err err;
    snprintf(uid, sizeof uid, "e%u", w->number);
    pthread_barrier_wait(w->start);
    while (!atomic_load_explicit(w->stop, memory_order_relaxed)) {
        snprintf(props, sizeof props, "{\"v\":%llu}", (unsigned long long)w->commits);
        const mk_op op = {.kind = MK_OP_ASSERT_NODE,
                          .uid = mk_str_of(uid),
                          .label = MK_STR("Entity"),
                          .props = mk_str_of(props),
                          .vt_e = 1000000,
                          .source = MK_STR("ingest"),
                          .provenance_null = true};
        bench_ok(mk_store_write(w->store, &op, 1, NULL, NULL, &err), &err, "commit");
        w->commits++;
    }
    return NULL;
}

typedef struct measured {
    double rate, group, cpu_us;
} measured;

static measured run(mk_store *store, const bench_disk *disk, unsigned count, double seconds)
{
    static writer threads[WRITERS_MAX];
    atomic_bool stop = false;
    pthread_barrier_t start;
    uint64_t commits = 0;
    pthread_barrier_init(&start, NULL, count + 1);
    const uint64_t groups_before = store->commit_groups, batches_before = store->commit_batches;
    for (unsigned i = 0; i < count; i++) {
        threads[i] = (writer){.store = store, .number = i, .stop = &stop, .start = &start};
        bench_must(pthread_create(&threads[i].thread, NULL, write_on, &threads[i]) == 0, "thread");
    }
    pthread_barrier_wait(&start);
    const double began = bench_now(), cpu = bench_cpu_beside(disk);
    const struct timespec pause = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&pause, NULL);
    atomic_store(&stop, true);
    for (unsigned i = 0; i < count; i++) {
        pthread_join(threads[i].thread, NULL);
        commits += threads[i].commits;
    }
    const double took = bench_now() - began;
    pthread_barrier_destroy(&start);
    return (measured){(double)commits / took,
                      (double)(store->commit_batches - batches_before) /
                          (double)(store->commit_groups - groups_before),
                      (bench_cpu_beside(disk) - cpu) * 1e6 / (double)commits};
}

int main(void)
{
    char dir[1024], label[96];
    static bench_disk disk;
    mk_store *store;
    mk_err err;
    double rate[CELLS][ROUNDS], group[CELLS][ROUNDS], times[CELLS][ROUNDS], cpu[CELLS][ROUNDS];
    double sync[ROUNDS], share[ROUNDS];
    const double seconds = (double)bench_env("MK_BENCH_MS", bench_small() ? 100 : 1000) / 1000;
    bench_reference();
    bench_disk_init(&disk);
    const mk_store_options options = {.mode = MK_OPEN_CREATE_WRITER, .fs = &disk.fs};
    bench_ok(mk_store_open(bench_path(dir, "store"), &options, &store, &err), &err, "open");
    run(store, &disk, WRITERS_MAX, seconds / 4);
    for (int round = 0; round < ROUNDS; round++) {
        sync[round] = bench_sync_rate(200, false, seconds / 2);
        for (int i = 0; i < CELLS; i++) {
            const measured m = run(store, &disk, writers[i], seconds);
            rate[i][round] = m.rate;
            group[i][round] = m.group;
            cpu[i][round] = m.cpu_us;
            times[i][round] = m.rate / rate[0][round];
        }
        share[round] = rate[0][round] / sync[round];
    }
    for (int i = 0; i < CELLS; i++) {
        snprintf(label, sizeof label, "%u writer%s, one op a commit", writers[i], i ? "s" : "");
        bench_row(label, bench_median(rate[i], ROUNDS), "commits/s", "");
        snprintf(label, sizeof label, "%u writer%s: commits in a frame", writers[i], i ? "s" : "");
        bench_row(label, bench_median(group[i], ROUNDS), "", "");
        snprintf(label, sizeof label, "%u writer%s: CPU beside the sync", writers[i], i ? "s" : "");
        bench_row(label, bench_median(cpu[i], ROUNDS), "us/commit", "");
        snprintf(label, sizeof label, "%u writers, times one writer", writers[i]);
        if (writers[i] >= 16)
            bench_bar(label, bench_median(times[i], ROUNDS), "x", BENCH_AT_LEAST,
                      writers[i] == 16 ? 5 : 7);
        else if (writers[i] > 1)
            bench_row(label, bench_median(times[i], ROUNDS), "x", "");
    }
    bench_bar("one writer, to the disk's sync rate of this run", bench_median(share, ROUNDS), "x",
              BENCH_AT_LEAST, 0.8);
    bench_ok(mk_store_close(store, &err), &err, "close");
    return 0;
}

/* bench_corrections.c — what a correction costs, and whether that depends on batches or on history.
 *
 * CPU beside the sync is the CPU time of the whole process, background upkeep included, less what was
 * spent in syncs, over the ops. Cells of a table are measured in turns, five rounds, so that a busy
 * minute falls on all of them. Nodes: the correction matrix of the store spec, 22.3. Edges: whole
 * intervals of MK_BENCH_ROWS (1,000,000) events of the evaluation generator, 22.2. Peer: SQLite, the
 * table and the statements of the performance spec, section 5. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "evalgen.h"
#include "../tests/support/peer.h"
#include "store/internal.h"

#define ROUNDS 5
#define BATCH_MAX 10000u
#define CELLS 5

static const uint32_t batches[CELLS] = {1, 10, 100, 1000, 10000};

typedef struct world {
    mk_store *store;
    bench_disk disk;
    const evalgen *gen; /* NULL: nodes */
    uint32_t targets;   /* entities or edges that are corrected, in turns */
    uint64_t next;      /* corrections so far */
    mk_op ops[BATCH_MAX];
    char uid[BATCH_MAX][16], props[BATCH_MAX][32], disc[BATCH_MAX][EVALGEN_DISC];
} world;

static world *new_world(const char *name, const evalgen *gen, bool manual)
{
    char dir[1024];
    mk_err err;
    world *w = calloc(1, sizeof *w);
    bench_must(w != NULL, "memory");
    bench_disk_init(&w->disk);
    w->gen = gen;
    bench_remove(bench_path(dir, name));
    const mk_store_options options = {
        .mode = MK_OPEN_CREATE_WRITER, .fs = &w->disk.fs, .manual = manual};
    bench_ok(mk_store_open(dir, &options, &w->store, &err), &err, "open");
    return w;
}

static void free_world(world *w)
{
    mk_err err;
    bench_ok(mk_store_close(w->store, &err), &err, "close");
    free(w);
}

static void write_ops(world *w, uint32_t count)
{
    mk_err err;
    bench_ok(mk_store_write(w->store, w->ops, count, NULL, NULL, &err), &err, "corrections");
}

/* The edge that target k stands for: far from its neighbours, as corrections are. */
static uint64_t edge_of(const world *w, uint64_t k) { return k * 7919 % w->gen->scale; }

static void fill(world *w, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++, w->next++) {
        const uint64_t k = w->next % w->targets;
        const int n = snprintf(w->props[i], sizeof w->props[i], "{\"v\":%llu}",
                               (unsigned long long)(w->next + 1000));
        const mk_str props = {w->props[i], (size_t)n};
        if (w->gen != NULL) {
            w->ops[i] = evalgen_correct(w->gen, edge_of(w, k), props, w->disc[i]);
            continue;
        }
        snprintf(w->uid[i], sizeof w->uid[i], "e%u", (unsigned)k);
        w->ops[i] = (mk_op){.kind = MK_OP_ASSERT_NODE,
                            .uid = mk_str_of(w->uid[i]),
                            .label = MK_STR("Entity"),
                            .props = props,
                            .vt_e = 1000000,
                            .source = MK_STR("ingest"),
                            .provenance_null = true};
    }
}

typedef struct measured {
    double cpu_us, all_rate; /* CPU beside the sync per op; ops a second with everything */
} measured;

/* `count` corrections in batches; making the ops is not part of it. */
static measured correct(world *w, uint64_t count, uint32_t batch)
{
    double cpu = 0, wall = 0;
    uint64_t done = 0;
    while (done < count) {
        fill(w, batch);
        const double cpu_start = bench_cpu_beside(&w->disk), start = bench_now();
        write_ops(w, batch);
        wall += bench_now() - start;
        cpu += bench_cpu_beside(&w->disk) - cpu_start;
        done += batch;
    }
    return (measured){cpu * 1e6 / (double)done, (double)done / wall};
}

static void assert_targets(world *w)
{
    for (uint32_t at = 0; at < w->targets; at += BATCH_MAX) {
        const uint32_t left = w->targets - at, count = left < BATCH_MAX ? left : BATCH_MAX;
        fill(w, count);
        write_ops(w, count);
    }
}

static double over_rounds(const double *rounds)
{
    double copy[ROUNDS];
    memcpy(copy, rounds, sizeof copy);
    return bench_median(copy, ROUNDS);
}

/* ---- batch size ---- */

static void by_batch_size(const char *what, world *w)
{
    double cpu[CELLS][ROUNDS], rate[CELLS][ROUNDS], sync[ROUNDS], flat[ROUNDS];
    char label[96];
    const uint64_t most = bench_small() ? 2000 : 40000;
    correct(w, BATCH_MAX, 1000); /* tables that are made when first needed */
    for (int round = 0; round < ROUNDS; round++) {
        sync[round] = bench_sync_rate(200, false, bench_small() ? 0.1 : 0.5);
        for (int i = 0; i < CELLS; i++) {
            const uint64_t few = batches[i] == 1 ? most / 40 : batches[i] == 10 ? most / 8 : most;
            const measured m = correct(w, few, batches[i]);
            cpu[i][round] = m.cpu_us;
            rate[i][round] = m.all_rate;
        }
        double low = cpu[2][round], high = low;
        for (int i = 3; i < CELLS; i++) {
            low = cpu[i][round] < low ? cpu[i][round] : low;
            high = cpu[i][round] > high ? cpu[i][round] : high;
        }
        flat[round] = high / low;
    }
    for (int i = 0; i < CELLS; i++) {
        snprintf(label, sizeof label, "%s, batch of %u: CPU beside the sync", what, batches[i]);
        if (batches[i] == BATCH_MAX)
            bench_bar(label, over_rounds(cpu[i]), "us/op", BENCH_AT_MOST, 5);
        else
            bench_row(label, over_rounds(cpu[i]), "us/op", "");
    }
    snprintf(label, sizeof label, "%s: slowest of 100, 1,000, 10,000 to fastest", what);
    bench_bar(label, over_rounds(flat), "x", BENCH_AT_MOST, 1.5);
    snprintf(label, sizeof label, "%s, batches of 1,000, durable", what);
    bench_bar(label, over_rounds(rate[3]), "/s", BENCH_AT_LEAST, 200000);
    snprintf(label, sizeof label, "%s, one a commit, durable", what);
    bench_row(label, over_rounds(rate[0]), "/s", "");
    double share[ROUNDS];
    for (int round = 0; round < ROUNDS; round++)
        share[round] = rate[0][round] / sync[round];
    snprintf(label, sizeof label, "%s, one a commit, to the disk's sync rate of this run", what);
    bench_bar(label, over_rounds(share), "x", BENCH_AT_LEAST, 0.8);
    bench_note("200 B and a sync, measured in between: %.0f/s", over_rounds(sync));
}

/* ---- history ---- */

#define DEPTHS 4
static const uint32_t depths[DEPTHS] = {1, 10, 100, 1000};

/* Corrections of entities that have so many versions already. Each round spans more rows than the tail
 * holds, so that sealing is in all of them; many shallow entities, fewer deep ones. */
static double at_depth(world *w, uint32_t depth)
{
    double cpu[ROUNDS];
    const uint32_t count = bench_small() ? 2000 : 20000;
    w->targets = depth <= 10 ? count : count / 10;
    w->next = 0;
    for (uint64_t i = 0; i < (uint64_t)w->targets * depth; i += 1000) {
        fill(w, 1000);
        write_ops(w, 1000);
    }
    for (int round = 0; round < ROUNDS; round++)
        cpu[round] = correct(w, count, 1000).cpu_us;
    return bench_median(cpu, ROUNDS);
}

static void by_depth(const char *what, const evalgen *gen)
{
    char label[96], dir[1024];
    const int count = bench_small() ? 3 : DEPTHS;
    double cpu[DEPTHS], low = 1e9, high = 0;
    for (int d = 0; d < count; d++) {
        world *w = new_world("depth", gen, false);
        if (gen != NULL)
            evalgen_load(gen, w->store, 0, gen->scale);
        cpu[d] = at_depth(w, depths[d]);
        free_world(w);
        bench_remove(bench_path(dir, "depth"));
        low = cpu[d] < low ? cpu[d] : low;
        high = cpu[d] > high ? cpu[d] : high;
        snprintf(label, sizeof label, "%s, %u earlier versions, batch of 1,000: CPU beside the sync", what,
                 depths[d]);
        bench_row(label, cpu[d], "us/op", "");
    }
    snprintf(label, sizeof label, "%s: slowest depth to fastest", what);
    bench_bar(label, high / low, "x", BENCH_AT_MOST, 1.5);
}

static void nodes(void)
{
    world *w = new_world("nodes", NULL, false);
    w->targets = BATCH_MAX;
    assert_targets(w);
    by_batch_size("node", w);
    free_world(w);
    by_depth("node", NULL);
}

static void edges(void)
{
    evalgen gen;
    evalgen_init(&gen, bench_rows(1000000));
    world *w = new_world("edges", &gen, false);
    w->targets = (uint32_t)(gen.scale < 200000 ? gen.scale : 200000);
    evalgen_load(&gen, w->store, 0, gen.scale);
    bench_note("%llu events loaded", (unsigned long long)gen.scale);
    const double start = bench_now();
    fill(w, 1);
    write_ops(w, 1);
    bench_row("edge: the first correction after a load", (bench_now() - start) * 1000, "ms", "");
    by_batch_size("edge", w);
    free_world(w);
    by_depth("edge", &gen);
    evalgen_free(&gen);
}

/* ---- the peer ---- */

static double peer_correct(peer *db, peer_query *end, peer_query *insert, uint64_t count,
                           uint32_t batch, int64_t *tt, uint64_t *state, uint64_t rows)
{
    const double start = bench_now();
    for (uint64_t done = 0; done < count; done += batch) {
        ++*tt;
        peer_run(db, "BEGIN IMMEDIATE");
        for (uint32_t i = 0; i < batch; i++) {
            const int64_t key = (int64_t)(bench_random(state) % rows);
            peer_bind_int(insert, 1, *tt);
            peer_bind_int(insert, 2, key);
            peer_bind_int(end, 1, *tt);
            peer_bind_int(end, 2, key);
            while (peer_step(insert)) {
            }
            while (peer_step(end)) {
            }
        }
        peer_run(db, "COMMIT");
    }
    return (double)count / (bench_now() - start);
}

static void load_peer(peer *db, const evalgen *gen)
{
    peer_run(db, "PRAGMA page_size=8192; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
                 "PRAGMA cache_size=-524288; PRAGMA wal_autocheckpoint=10000; PRAGMA temp_store=MEMORY;"
                 "CREATE TABLE edge(id INTEGER PRIMARY KEY, n INT, src INT, dst INT, rel INT, w INT,"
                 " vf INT, vt INT, tf INT, tt INT); BEGIN");
    peer_query *insert =
        peer_prepare(db, "INSERT INTO edge(n,src,dst,rel,w,vf,vt,tf,tt) VALUES(?,?,?,?,1,?,?,1,"
                         "4611686018427387904)");
    for (uint64_t i = 0; i < gen->scale; i++) {
        const evalgen_edge edge = evalgen_at(gen, i);
        const int64_t values[] = {(int64_t)i, edge.src, edge.dst, edge.s, edge.vt_s, edge.vt_e};
        for (int k = 0; k < 6; k++)
            peer_bind_int(insert, k + 1, values[k]);
        while (peer_step(insert)) {
        }
    }
    peer_finish(insert);
    peer_run(db, "COMMIT; CREATE INDEX e_n ON edge(n,tt); CREATE INDEX e_out ON edge(src,dst,vf,vt,tf,tt);"
                 "CREATE INDEX e_in ON edge(dst,src,vf,vt,tf,tt); PRAGMA wal_checkpoint(TRUNCATE)");
}

/* One UPDATE of the end of belief and one INSERT a correction, all indexes kept. */
static void against_peer(void)
{
    char path[1024], dir[1024];
    evalgen gen;
    double ours[2][ROUNDS], theirs[2][ROUNDS], ratio[2][ROUNDS];
    static const uint32_t sizes[2] = {1, 1000};
    peer *db = bench_peer(bench_path(path, "peer.db"));
    if (db == NULL)
        return;
    evalgen_init(&gen, bench_rows(1000000));
    load_peer(db, &gen);
    peer_query *end = peer_prepare(
        db, "UPDATE edge SET tt=?1 WHERE n=?2 AND tt=4611686018427387904 AND tf<>?1");
    peer_query *insert =
        peer_prepare(db, "INSERT INTO edge(n,src,dst,rel,w,vf,vt,tf,tt) SELECT n,src,dst,rel,w+1,vf,vt,?1,"
                         "4611686018427387904 FROM edge WHERE n=?2 AND tt=4611686018427387904");
    world *w = new_world("peer-store", &gen, false);
    w->targets = (uint32_t)gen.scale;
    evalgen_load(&gen, w->store, 0, gen.scale);
    correct(w, 1000, 1000);
    int64_t tt = 1;
    uint64_t state = 1;
    for (int round = 0; round < ROUNDS; round++)
        for (int k = 0; k < 2; k++) {
            const uint64_t few = bench_small() ? 100 : 1000;
            ours[k][round] = correct(w, k == 0 ? few : 100000, sizes[k]).all_rate;
            theirs[k][round] = peer_correct(db, end, insert, k == 0 ? few : few * 10, sizes[k], &tt,
                                            &state, gen.scale);
            ratio[k][round] = ours[k][round] / theirs[k][round];
        }
    bench_row("edge, one a commit", over_rounds(ours[0]), "/s", "");
    bench_row("the same in SQLite, synchronous=FULL", over_rounds(theirs[0]), "/s", "");
    bench_row("times SQLite", over_rounds(ratio[0]), "x", "");
    bench_bar("edge, batches of 1,000", over_rounds(ours[1]), "/s", BENCH_AT_LEAST, 200000);
    bench_row("the same in SQLite, synchronous=FULL", over_rounds(theirs[1]), "/s", "");
    bench_row("times SQLite", over_rounds(ratio[1]), "x", "");
    bench_note("SQLite %s, %llu rows, indexes on number, source and target", peer_version(db),
               (unsigned long long)gen.scale);
    peer_finish(end);
    peer_finish(insert);
    peer_close(db);
    free_world(w);
    bench_remove(bench_path(dir, "peer-store"));
    evalgen_free(&gen);
}

int main(void)
{
    bench_reference();
    if (bench_part("nodes"))
        nodes();
    if (bench_part("edges"))
        edges();
    if (bench_part("peer"))
        against_peer();
    return 0;
}

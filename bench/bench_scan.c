/* bench_scan.c — a scan of everything believed, with superseded rows around, and looking back.
 *
 * MK_BENCH_ROWS (1,000,000) events of the evaluation generator, of which a fifth is corrected over its whole
 * interval, evenly spaced, in batches of 2,000 (store spec, 22.3). Each question counts rows and sums
 * their starts through mk_view_edges; scans that are compared take turns, in CPU time. The peer answers
 * the same as-of question over the same rows. */
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "evalgen.h"
#include "../tests/support/peer.h"
#include "store/internal.h"

#define ROUNDS 9
#define BATCH 2000u

typedef struct sum {
    uint64_t rows;
    int64_t starts;
} sum;

static bool add(void *ctx, const mk_edge_ref *ref)
{
    sum *s = ctx;
    s->rows++;
    s->starts += ref->vt_s;
    return true;
}

/* Milliseconds of one scan of the view that `as_of` opens. */
static double scan_ms(mk_store *store, mk_tt as_of, const mk_edge_filter *filter, sum *out)
{
    mk_view *view;
    mk_err err;
    *out = (sum){0};
    bench_ok(mk_view_at(store, as_of, 0, &view, &err), &err, "view");
    const double start = bench_cpu();
    bench_ok(mk_view_edges(view, filter, add, out, &err), &err, "scan");
    const double took = bench_cpu() - start;
    mk_view_close(view);
    return took * 1000;
}

static mk_store *open_store(const char *name, const evalgen *gen)
{
    char dir[1024];
    mk_store *store;
    mk_err err;
    const mk_store_options options = {.mode = MK_OPEN_CREATE_WRITER, .manual = true};
    bench_remove(bench_path(dir, name));
    bench_ok(mk_store_open(dir, &options, &store, &err), &err, "open");
    evalgen_load(gen, store, 0, gen->scale);
    return store;
}

/* Times of all batches of corrections go to tts; their number is the result. */
static size_t correct_fifth(mk_store *store, const evalgen *gen, mk_tt *tts)
{
    static mk_op ops[BATCH];
    static char disc[BATCH][EVALGEN_DISC];
    mk_err err;
    size_t count = 0, batches = 0;
    for (uint64_t i = 0; i < gen->scale; i += 5) {
        ops[count] = evalgen_correct(gen, i, MK_STR("{\"weight\":2}"), disc[count]);
        if (++count == BATCH || i + 5 >= gen->scale) {
            bench_ok(mk_store_write(store, ops, count, NULL, &tts[batches++], &err), &err, "corrections");
            count = 0;
        }
    }
    return batches;
}

/* Medians of two scans in turns, and the median of their ratios (b to a). */
typedef struct pair {
    double a, b, ratio;
} pair;

static pair compare(mk_store *x, mk_tt x_at, mk_store *y, mk_tt y_at, const mk_edge_filter *filter,
                    sum *x_sum, sum *y_sum)
{
    double a[ROUNDS], b[ROUNDS], ratio[ROUNDS];
    scan_ms(x, x_at, filter, x_sum);
    scan_ms(y, y_at, filter, y_sum);
    for (int i = 0; i < ROUNDS; i++) {
        a[i] = scan_ms(x, x_at, filter, x_sum);
        b[i] = scan_ms(y, y_at, filter, y_sum);
        ratio[i] = b[i] / a[i];
    }
    return (pair){bench_median(a, ROUNDS), bench_median(b, ROUNDS), bench_median(ratio, ROUNDS)};
}

static const mk_tt now = {MK_OPEN_END};

static void superseded(mk_store *plain, mk_store *store, const char *when, double bar)
{
    char label[96];
    sum x, y;
    const pair p = compare(plain, now, store, now, &mk_edge_filter_all, &x, &y);
    bench_must(x.rows == y.rows && x.starts == y.starts, "a correction keeps what is believed in place");
    snprintf(label, sizeof label, "a fifth superseded, %s", when);
    bench_row(label, p.b, "ms", "");
    snprintf(label, sizeof label, "a fifth superseded, %s, to none", when);
    bench_bar(label, p.ratio, "x", BENCH_AT_MOST, bar);
    bench_note("none superseded: %.2f ms, %.2f ns a row; segments %u and %u", p.a,
               p.a * 1e6 / (double)x.rows, atomic_load(&plain->state)->first[MK_LANE_COUNT],
               atomic_load(&store->state)->first[MK_LANE_COUNT]);
}

static void looking_back(mk_store *store, const mk_tt *tts, size_t batches, const char *when)
{
    char label[96];
    sum x, y;
    pair p = compare(store, now, store, tts[batches - 2], &mk_edge_filter_all, &x, &y);
    snprintf(label, sizeof label, "one commit back, to the head, %s", when);
    bench_bar(label, p.ratio, "x", BENCH_AT_MOST, 1.2);
    /* Half of the batches: those that load the events are few. */
    p = compare(store, now, store, tts[batches / 2], &mk_edge_filter_all, &x, &y);
    snprintf(label, sizeof label, "half the log back, to the head, %s", when);
    bench_bar(label, p.ratio, "x", BENCH_AT_MOST, 4);
    p = compare(store, now, store, (mk_tt){tts[0].us - 1}, &mk_edge_filter_all, &x, &y);
    snprintf(label, sizeof label, "before every correction, to the head, %s", when);
    bench_row(label, p.ratio, "x", "");
}

/* ---- the peer ---- */

#define OPEN_END "4611686018427387904"

static peer *load_peer(const evalgen *gen)
{
    char path[1024];
    peer *db = bench_peer(bench_path(path, "peer.db"));
    if (db == NULL)
        return NULL;
    peer_run(db, "PRAGMA page_size=8192; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;"
                 "PRAGMA cache_size=-524288; PRAGMA temp_store=MEMORY; PRAGMA mmap_size=2000000000;"
                 "CREATE TABLE edge(id INTEGER PRIMARY KEY, src INT, dst INT, rel INT, w INT, vf INT,"
                 " vt INT, tf INT, tt INT); BEGIN");
    peer_query *insert = peer_prepare(
        db, "INSERT INTO edge(src,dst,rel,w,vf,vt,tf,tt) VALUES(?,?,?,?,?,?,?,?)");
    for (uint64_t i = 0; i < gen->scale; i++) {
        const evalgen_edge edge = evalgen_at(gen, i);
        const int64_t end = i % 5 == 0 ? (int64_t)(2 + i / 5 / BATCH) : INT64_C(4611686018427387904);
        for (int version = 0; version < (i % 5 == 0 ? 2 : 1); version++) {
            const int64_t values[] = {edge.src,  edge.dst,  edge.s,
                                      1,         edge.vt_s, edge.vt_e,
                                      version ? end : 1, version ? INT64_C(4611686018427387904) : end};
            for (int k = 0; k < 8; k++)
                peer_bind_int(insert, k + 1, values[k]);
            while (peer_step(insert)) {
            }
        }
    }
    peer_finish(insert);
    peer_run(db, "COMMIT; CREATE INDEX e_vt ON edge(vf,vt,tf,tt); ANALYZE");
    return db;
}

static double peer_ms(peer_query *query, int64_t vt, int64_t tt, sum *out)
{
    const double start = bench_cpu();
    peer_bind_int(query, 1, vt);
    peer_bind_int(query, 2, tt);
    while (peer_step(query))
        *out = (sum){(uint64_t)peer_int(query, 0), peer_int(query, 1)};
    return (bench_cpu() - start) * 1000;
}

/* Count and sum of what was valid in the middle, as believed in the middle of the corrections. */
static void as_of(mk_store *store, const evalgen *gen, const mk_tt *tts, size_t batches)
{
    const int64_t vt = (int64_t)(gen->scale / 2 + gen->scale / 40);
    const mk_edge_filter filter = {.vt_lo = vt, .vt_hi = vt + 1};
    const size_t batch = batches / 2;
    double ours[ROUNDS], theirs[ROUNDS], ratio[ROUNDS];
    sum x, y = {0};
    peer *db = load_peer(gen);
    peer_query *query = db == NULL ? NULL
                                   : peer_prepare(db, "SELECT count(*), sum(vf) FROM edge WHERE vf<=?1 AND "
                                                      "vt>?1 AND tf<=?2 AND tt>?2");
    for (int i = 0; i < ROUNDS; i++) {
        ours[i] = scan_ms(store, tts[batch], &filter, &x);
        theirs[i] = query ? peer_ms(query, vt, (int64_t)batch + 2, &y) : 0;
        ratio[i] = theirs[i] / ours[i];
    }
    bench_bar("as-of count and sum at one instant of both clocks", bench_median(ours, ROUNDS), "ms",
              BENCH_AT_MOST, 1.5);
    if (query != NULL) {
        bench_must(x.rows == y.rows && x.starts == y.starts, "SQLite counts the same");
        bench_row("the same in SQLite", bench_median(theirs, ROUNDS), "ms", "");
        bench_row("times faster than SQLite", bench_median(ratio, ROUNDS), "x", "");
        peer_finish(query);
    }
    bench_note("%llu rows of %llu", (unsigned long long)x.rows, (unsigned long long)gen->scale);
    peer_close(db);
}

int main(void)
{
    static mk_tt tts[1u << 20];
    evalgen gen;
    mk_err err;
    bench_reference();
    evalgen_init(&gen, bench_rows(1000000));
    bench_must(gen.scale / 5 / BATCH + 1 < sizeof tts / sizeof *tts, "fewer rows, please");
    mk_store *plain = open_store("plain", &gen), *store = open_store("corrected", &gen);
    const size_t batches = correct_fifth(store, &gen, tts);
    superseded(plain, store, "before a checkpoint", 1.5);
    if (batches > 1)
        looking_back(store, tts, batches, "before a checkpoint");
    bench_ok(mk_store_checkpoint(plain, &err), &err, "checkpoint");
    bench_ok(mk_store_checkpoint(store, &err), &err, "checkpoint");
    superseded(plain, store, "after a checkpoint", 1.1);
    if (batches > 1)
        looking_back(store, tts, batches, "after a checkpoint");
    bench_ok(mk_store_compact(plain, &err), &err, "compaction");
    bench_ok(mk_store_compact(store, &err), &err, "compaction");
    superseded(plain, store, "after a compaction", 1.1);
    if (batches > 1)
        looking_back(store, tts, batches, "after a compaction");
    as_of(store, &gen, tts, batches);
    bench_ok(mk_store_close(plain, &err), &err, "close");
    bench_ok(mk_store_close(store, &err), &err, "close");
    evalgen_free(&gen);
    return 0;
}

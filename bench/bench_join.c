/* bench_join.c — joining edges by how their valid times lie: the kernel, the operator, and SQLite.
 *
 * Kernel: contacts as sensors record them, 198,198 intervals of 44,517 pairs of 10,972 visitors who come in
 * groups of 50 for an hour, each under both its visitors: 396,396 rows. Asked is, for each visitor, which two
 * contacts overlap at all (counted), and which in Allen's sense (found, with the seconds they share). Timed
 * from rows in the order of time, so bringing them together by visitor counts. The sizes are those of the
 * performance spec, section 6, whose own data is not needed.
 * Operator: `coactive.narrow` of the evaluation spec, 20.1, on its registry store of MK_BENCH_ROWS (200,000)
 * events, and joins of everything with everything. SQLite answers the same questions over the same rows.
 * Medians, in CPU time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "load/synth.h"
#include "op/call.h"
#include "op/co_active.h"
#include "../tests/support/peer.h"

#define ROUNDS 15
#define PERSONS 10972u
#define PAIRS 44517u
#define CONTACTS 198198u
#define ROWS (2 * CONTACTS)
#define GROUP 50u

/* ---- contacts ---- */

static int by_start(const void *x, const void *y)
{
    const mk_edge_ref *a = x, *b = y;
    return (a->vt_s > b->vt_s) - (a->vt_s < b->vt_s);
}

/* Contacts in order of time; src and dst are the visitors. Seconds, in steps of 20. */
static mk_edge_ref *make_contacts(uint32_t count)
{
    mk_edge_ref *list = malloc(count * sizeof *list);
    uint64_t seed = 1;
    bench_must(list != NULL, "memory");
    for (uint32_t i = 0; i < count; i++) {
        /* A pair is drawn again for each of its contacts from a sequence of its own. */
        uint64_t pair = bench_random(&seed) % PAIRS + 1;
        const uint32_t a = (uint32_t)(bench_random(&pair) % PERSONS);
        const uint32_t group = a / GROUP * GROUP;
        const uint32_t size = PERSONS - group < GROUP ? PERSONS - group : GROUP;
        const uint32_t b = group + (a - group + 1 + (uint32_t)(bench_random(&pair) % (size - 1))) % size;
        const int64_t begun = (int64_t)(a / GROUP) * 3600;
        const int64_t at = begun + (int64_t)(bench_random(&seed) % 180) * 20;
        const int64_t lasts = 20 * (1 + __builtin_ctzll(bench_random(&seed) | 1 << 10));
        list[i] = (mk_edge_ref){.vt_s = at, .vt_e = at + lasts, .src = a, .dst = b, .row = i};
    }
    qsort(list, count, sizeof *list, by_start);
    return list;
}

typedef struct answer {
    uint64_t any;      /* pairs of contacts of one visitor that overlap at all */
    uint64_t overlaps; /* ordered pairs of which the first overlaps the second */
    int64_t seconds;   /* that those share */
} answer;

typedef struct join_ctx {
    const mk_join *join;
    answer *sum;
} join_ctx;

static bool add_pair(void *ctx, size_t a, size_t b)
{
    const join_ctx *c = ctx;
    c->sum->overlaps++;
    c->sum->seconds += c->join->a[a].vt_e - c->join->b[b].vt_s;
    return true;
}

/* Rows by visitor, each visitor's in order of time: counted, then dealt. */
static void group_rows(const mk_edge_ref *contacts, uint32_t count, mk_join_row *rows, uint32_t *start)
{
    static uint32_t next[PERSONS];
    memset(start, 0, (PERSONS + 1) * sizeof *start);
    for (uint32_t i = 0; i < count; i++) {
        start[contacts[i].src + 1]++;
        start[contacts[i].dst + 1]++;
    }
    for (uint32_t p = 0; p < PERSONS; p++)
        start[p + 1] += start[p];
    memcpy(next, start, sizeof next);
    for (uint32_t i = 0; i < count; i++) {
        const mk_join_row row = {contacts[i].vt_s, contacts[i].vt_e};
        rows[next[contacts[i].src]++] = row;
        rows[next[contacts[i].dst]++] = row;
    }
}

/* All pairs that overlap at all start one inside the other or together, each counted once. */
static void join_any(const mk_join_row *rows, const uint32_t *start, answer *sum)
{
    mk_guard guard;
    mk_err err;
    uint64_t inside, together;
    mk_guard_init(&guard, NULL, 0, NULL);
    for (uint32_t p = 0; p < PERSONS; p++) {
        const uint32_t n = start[p + 1] - start[p];
        mk_join join = {.a = rows + start[p], .b = rows + start[p], .a_count = n, .b_count = n,
                        .relation = MK_ALLEN_OVERLAPS};
        bench_ok(mk_join_candidates(&join, &guard, &inside, &err), &err, "join");
        join.relation = MK_ALLEN_EQUALS;
        bench_ok(mk_join_candidates(&join, &guard, &together, &err), &err, "join");
        sum->any += inside + (together - n) / 2;
    }
}

static void join_overlaps(const mk_join_row *rows, const uint32_t *start, answer *sum)
{
    mk_guard guard;
    mk_err err;
    mk_guard_init(&guard, NULL, 0, NULL);
    for (uint32_t p = 0; p < PERSONS; p++) {
        const uint32_t n = start[p + 1] - start[p];
        const mk_join join = {.a = rows + start[p], .b = rows + start[p], .a_count = n, .b_count = n,
                              .relation = MK_ALLEN_OVERLAPS};
        join_ctx ctx = {&join, sum};
        bench_ok(mk_join_pairs(&join, &guard, add_pair, &ctx, &err), &err, "join");
    }
}

static answer join_kernel(const mk_edge_ref *contacts, uint32_t count)
{
    static uint32_t start[PERSONS + 1];
    mk_join_row *rows = malloc(2 * (size_t)count * sizeof *rows);
    double any[ROUNDS], overlaps[ROUNDS];
    answer sum = {0};
    char label[96];
    bench_must(rows != NULL, "memory");
    group_rows(contacts, count, rows, start); /* touches the memory */
    for (int round = 0; round < ROUNDS; round++) {
        sum = (answer){0};
        double begun = bench_cpu();
        group_rows(contacts, count, rows, start);
        join_any(rows, start, &sum);
        any[round] = (bench_cpu() - begun) * 1000;
        begun = bench_cpu();
        group_rows(contacts, count, rows, start);
        join_overlaps(rows, start, &sum);
        overlaps[round] = (bench_cpu() - begun) * 1000;
    }
    free(rows);
    snprintf(label, sizeof label, "kernel, shared key, %u rows: overlapping pairs counted", 2 * count);
    bench_bar(label, bench_median(any, ROUNDS), "ms", BENCH_AT_MOST, 10);
    snprintf(label, sizeof label, "kernel, shared key, %u rows: Allen's overlaps found", 2 * count);
    bench_bar(label, bench_median(overlaps, ROUNDS), "ms", BENCH_AT_MOST, 10);
    bench_note("%llu pairs overlap; of these %llu in Allen's sense, sharing %lld seconds",
               (unsigned long long)sum.any, (unsigned long long)sum.overlaps, (long long)sum.seconds);
    return sum;
}

/* ---- SQLite, the contacts ---- */

static peer *load_peer(const mk_edge_ref *contacts, uint32_t count)
{
    char path[1024];
    peer *db = bench_peer(bench_path(path, "peer.db"));
    if (db == NULL)
        return NULL;
    peer_run(db, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-524288;"
                 "CREATE TABLE p(id INTEGER PRIMARY KEY, n INT, s INT, e INT); BEGIN");
    peer_query *insert = peer_prepare(db, "INSERT INTO p(n,s,e) VALUES(?,?,?)");
    for (uint32_t i = 0; i < 2 * count; i++) {
        const mk_edge_ref *contact = &contacts[i / 2];
        peer_bind_int(insert, 1, i % 2 ? contact->dst : contact->src);
        peer_bind_int(insert, 2, contact->vt_s);
        peer_bind_int(insert, 3, contact->vt_e);
        peer_step(insert);
    }
    peer_finish(insert);
    peer_run(db, "COMMIT; CREATE INDEX p_nse ON p(n,s,e)");
    return db;
}

static void ask_peer(peer *db, const char *label, const char *sql, uint64_t expected)
{
    double times[3];
    for (int round = -1; round < 3; round++) {
        peer_query *query = peer_prepare(db, sql);
        const double begun = bench_cpu();
        bench_must(peer_step(query), "a row");
        const int64_t count = peer_int(query, 0);
        if (round >= 0)
            times[round] = (bench_cpu() - begun) * 1000;
        peer_finish(query);
        bench_must((uint64_t)count == expected, "SQLite gives the same answer");
    }
    bench_row(label, bench_median(times, 3), "ms", "");
}

static void join_peer(const mk_edge_ref *contacts, uint32_t count, answer sum)
{
    peer *db = load_peer(contacts, count);
    if (db == NULL)
        return;
    ask_peer(db, "  SQLite, index (n, s, e): overlapping pairs counted",
             "SELECT count(*) FROM p x JOIN p y ON x.n=y.n AND x.id<y.id AND x.s<y.e AND y.s<x.e",
             sum.any);
    ask_peer(db, "  SQLite, index (n, s, e): Allen's overlaps found",
             "SELECT count(*), sum(x.e-y.s) FROM p x JOIN p y ON x.n=y.n AND x.s<y.s AND y.s<x.e "
             "AND x.e<y.e",
             sum.overlaps);
    peer_close(db);
}

/* ---- the operator ---- */

static mk_code write_batch(void *ctx, const mk_op *ops, size_t count, mk_tt tt, mk_err *err)
{
    (void)tt;
    return mk_store_write(ctx, ops, count, NULL, NULL, err);
}

static mk_store *load_registry(uint64_t events)
{
    const mk_store_options open = {.mode = MK_OPEN_CREATE_WRITER, .manual = true};
    mk_synth_options options = mk_synth_defaults(MK_SYNTH_REGISTRY);
    mk_synth_report report;
    mk_store *store;
    char dir[1024];
    mk_err err;
    options.events = events;
    mk_synth_report_init(&report, &mk_alloc_default);
    bench_remove(bench_path(dir, "registry"));
    bench_ok(mk_store_open(dir, &open, &store, &err), &err, "open");
    bench_ok(mk_synth_run(&options, write_batch, store, &report, &err), &err, "load");
    bench_ok(mk_store_checkpoint(store, &err), &err, "checkpoint");
    mk_synth_report_free(&report);
    return store;
}

/* One call, median; `expected` is the code it must end with. */
static void ask(mk_store *store, const char *label, const char *args, mk_code expected, bool bar)
{
    double times[ROUNDS];
    mk_call_result result;
    mk_arena arena;
    mk_view *view;
    mk_err err;
    mk_arena_init(&arena, &mk_alloc_default);
    mk_call_result_init(&result, &mk_alloc_default);
    bench_ok(mk_view_at(store, (mk_tt){MK_OPEN_END}, 0, &view, &err), &err, "view");
    for (int round = -1; round < ROUNDS; round++) {
        const double begun = bench_cpu();
        const mk_code rc = mk_call_run(store, view, MK_STR("co_active"), mk_str_of(args), NULL, &arena,
                                       &result, &err);
        if (round >= 0)
            times[round] = (bench_cpu() - begun) * 1000;
        bench_must(rc == expected, rc != MK_OK ? err.message : "the call should be refused");
    }
    const double took = bench_median(times, ROUNDS);
    if (bar)
        bench_bar(label, took, "ms", BENCH_AT_MOST, 1);
    else
        bench_row(label, took, "ms", "");
    mk_view_close(view);
    mk_call_result_free(&result);
    mk_arena_free(&arena);
}

static void join_store(void)
{
    const uint64_t events = bench_rows(200000);
    mk_store *store = load_registry(events);
    mk_err err;
    char label[96];
    snprintf(label, sizeof label, "call, registry of %llu: coactive.narrow", (unsigned long long)events);
    ask(store, label,
        "{\"a_spec\":{\"src\":\"n1\"},\"b_spec\":{\"src\":\"n2\"},"
        "\"allen_relation\":{\"relation\":\"overlaps\"}}",
        MK_OK, true);
    ask(store, "call, all with all: met_by, refused",
        "{\"a_spec\":{},\"b_spec\":{},\"allen_relation\":{\"relation\":\"met_by\"},\"limit\":1}",
        events > 50000 ? MK_E_COST : MK_OK, false);
    ask(store, "call, one with all: met_by",
        "{\"a_spec\":{\"src\":\"n1\"},\"b_spec\":{},\"allen_relation\":{\"relation\":\"met_by\"}}", MK_OK,
        false);
    bench_ok(mk_store_close(store, &err), &err, "close");
}

int main(void)
{
    const uint32_t count = bench_small() ? CONTACTS / 10 : CONTACTS;
    bench_pin();
    bench_reference();
    mk_edge_ref *contacts = make_contacts(count);
    const answer sum = join_kernel(contacts, count);
    join_peer(contacts, count, sum);
    free(contacts);
    join_store();
    return 0;
}

/* bench_history.c — the history of one entity: kernel, whole call, and SQLite.
 *
 * 10,000 random entities of the evaluation generator (store spec, 22.2) at a tenth of MK_BENCH_ROWS and at
 * MK_BENCH_ROWS (10,000,000) versions, read by a process that opened the store for reading. Kernel:
 * mk_view_node_refs and mk_view_node_version, ids included; call: mk_call, JSON text in and out, with the
 * digest. Each is the mean over all entities, median of seven passes after one that is not counted, in CPU
 * time: nothing here waits, and a neighbour on the core should not count. */
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "evalgen.h"
#include "op/call.h"
#include "../tests/support/peer.h"

#define PASSES 7
#define ASKED 10000

typedef struct setting {
    const char *dir;
    evalgen gen;
    uint32_t *asked; /* numbers of nodes */
} setting;

static void load(void *arg, double *numbers)
{
    setting *s = arg;
    mk_store *store;
    mk_err err;
    const mk_store_options options = {.mode = MK_OPEN_CREATE_WRITER};
    bench_ok(mk_store_open(s->dir, &options, &store, &err), &err, "open");
    const double start = bench_now();
    evalgen_load(&s->gen, store, 0, s->gen.scale);
    numbers[0] = bench_now() - start;
    bench_ok(mk_store_close(store, &err), &err, "close");
}

typedef enum kind { REFS, KERNEL, CALL_ON_VIEW, CALL } kind;

static uint64_t ask(mk_store *store, mk_view *view, mk_arena *arena, mk_buf *out, const setting *s,
                    kind what, uint32_t node)
{
    mk_err err;
    mk_arena_reset(arena);
    if (what == REFS || what == KERNEL) {
        mk_node_ref *refs;
        size_t count;
        const uint32_t id = mk_view_entity(view, evalgen_uid(&s->gen, node));
        bench_ok(mk_view_node_refs(view, arena, id, &refs, &count, &err), &err, "history");
        for (size_t i = 0; i < count && what == KERNEL; i++) {
            mk_node_version version;
            bench_ok(mk_view_node_version(view, arena, &refs[i], &version, &err), &err, "version");
        }
        return count;
    }
    char args[64];
    const int n = snprintf(args, sizeof args, "{\"uid\":\"%s\"}", s->gen.uids[node]);
    const mk_str text = {args, (size_t)n};
    mk_buf_clear(out);
    if (what == CALL)
        bench_ok(mk_call(store, "entity_history", text, NULL, arena, out, &err), &err, "call");
    else
        bench_ok(mk_call_on_view(store, view, MK_STR("entity_history"), text, NULL, arena, out, &err),
                 &err, "call");
    return out->n;
}

static double microseconds(mk_store *store, mk_view *view, const setting *s, kind what)
{
    mk_arena arena;
    mk_buf out;
    double passes[PASSES];
    mk_arena_init(&arena, &mk_alloc_default);
    mk_buf_init(&out, &mk_alloc_default);
    for (int pass = -1; pass < PASSES; pass++) {
        uint64_t seen = 0;
        const double start = bench_cpu();
        for (int i = 0; i < ASKED; i++)
            seen += ask(store, view, &arena, &out, s, what, s->asked[i]);
        bench_must(seen >= ASKED, "every entity has a version");
        if (pass >= 0)
            passes[pass] = (bench_cpu() - start) * 1e6 / ASKED;
    }
    mk_buf_free(&out);
    mk_arena_free(&arena);
    return bench_median(passes, PASSES);
}

static void read_all(void *arg, double *numbers)
{
    setting *s = arg;
    mk_store *store;
    mk_view *view;
    mk_err err;
    const mk_store_options options = {.mode = MK_OPEN_READER};
    bench_ok(mk_store_open(s->dir, &options, &store, &err), &err, "open");
    bench_ok(mk_view_at(store, (mk_tt){MK_OPEN_END}, 0, &view, &err), &err, "view");
    for (kind what = REFS; what <= CALL; what++)
        numbers[what] = microseconds(store, view, s, what);
    mk_view_close(view);
    bench_ok(mk_store_close(store, &err), &err, "close");
}

/* The same versions as rows, found by name through an index. */
static double peer_microseconds(const setting *s)
{
    char path[1024];
    double passes[PASSES];
    peer *db = bench_peer(bench_path(path, "peer.db"));
    if (db == NULL)
        return 0;
    peer_run(db, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-524288;"
                 "CREATE TABLE node(uid TEXT, label TEXT, vf INT, vt INT, tf INT, tt INT, props TEXT,"
                 " source TEXT, ref TEXT); BEGIN");
    peer_query *insert = peer_prepare(
        db, "INSERT INTO node VALUES(?,'Node',?,4611686018427387904,1,4611686018427387904,'{}','ingest',"
            "NULL)");
    for (uint64_t i = 0; i < s->gen.nodes; i++) {
        peer_bind_text(insert, 1, s->gen.uids[i]);
        peer_bind_int(insert, 2, (int64_t)i);
        while (peer_step(insert)) {
        }
    }
    peer_finish(insert);
    peer_run(db, "COMMIT; CREATE INDEX by_uid ON node(uid,vf); ANALYZE");
    peer_query *query = peer_prepare(db, "SELECT vf,vt,tf,tt,label,props,source,ref FROM node WHERE uid=? AND "
                                         "tf<=4611686018427387903 AND tt>4611686018427387903 ORDER BY vf");
    for (int pass = -1; pass < PASSES; pass++) {
        uint64_t seen = 0;
        const double start = bench_cpu();
        for (int i = 0; i < ASKED; i++) {
            peer_bind_text(query, 1, s->gen.uids[s->asked[i]]);
            for (; peer_step(query); seen++)
                (void)peer_int(query, 0);
        }
        bench_must(seen == ASKED, "every entity has a row in SQLite");
        if (pass >= 0)
            passes[pass] = (bench_cpu() - start) * 1e6 / ASKED;
    }
    peer_finish(query);
    peer_close(db);
    remove(path);
    return bench_median(passes, PASSES);
}

static void table(uint64_t rows, double bar)
{
    char dir[1024], label[96];
    double loaded[BENCH_NUMBERS], us[BENCH_NUMBERS];
    setting s = {.dir = bench_path(dir, "store")};
    uint64_t state = rows;
    evalgen_init(&s.gen, rows);
    s.asked = malloc(ASKED * sizeof *s.asked);
    bench_must(s.asked != NULL, "memory");
    for (int i = 0; i < ASKED; i++)
        s.asked[i] = (uint32_t)(bench_random(&state) % s.gen.nodes);
    bench_apart(load, &s, loaded);
    bench_apart(read_all, &s, us);
    bench_note("%llu edge versions, %llu entities, loaded in %.1f s", (unsigned long long)rows,
               (unsigned long long)s.gen.nodes, loaded[0]);
    bench_row("history, where the versions are", us[REFS], "us", "");
    snprintf(label, sizeof label, "history, kernel, %llu versions", (unsigned long long)rows);
    bench_bar(label, us[KERNEL], "us", BENCH_AT_MOST, bar);
    bench_bar("history, JSON and digest, view held open", us[CALL_ON_VIEW], "us", BENCH_AT_MOST, 10);
    bench_bar("history, JSON and digest, mk_call", us[CALL], "us", BENCH_AT_MOST, 10);
    const double theirs = peer_microseconds(&s);
    if (theirs > 0) {
        bench_row("the rows in SQLite, by an index on the name", theirs, "us", "");
        bench_row("kernel, times faster than SQLite", theirs / us[KERNEL], "x", "");
    }
    bench_remove(dir);
    free(s.asked);
    evalgen_free(&s.gen);
}

int main(void)
{
    const uint64_t rows = bench_rows(10000000);
    bench_reference();
    table(rows / 10, 1);
    table(rows, 3);
    return 0;
}

/* test_op_sql.c — what SQL can say, said by SQLite over the same rows.
 *
 * Random histories go into a store and, as the slow model's rows, into one table of SQLite's. Counts, sums
 * and sets that a query can express are then asked of both, at the present and at past beliefs: a third
 * reading of the definitions, by somebody else's engine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../support/peer.h"
#include "../support/twin.h"
#include "op/call.h"

enum { HISTORIES = 25, BATCHES = 20, ROUNDS = 10 };

typedef struct world {
    twin twin;
    peer *db;
    mk_arena calls, trees;
    mk_call_result result;
    int64_t as_of; /* of the round */
} world;

/* ---- the rows, in SQL ---- */

static void insert_rows(world *w, model_kind kind)
{
    size_t n;
    const model_row *rows = model_rows(w->twin.model, kind, &n);
    peer_query *insert = peer_prepare(w->db, "INSERT INTO v VALUES(?,?,?,?,?,?,?,?,?,?)");
    for (size_t i = 0; i < n; i++) {
        const mk_str texts[] = {rows[i].identity, rows[i].src, rows[i].dst, rows[i].rel_type, rows[i].label};
        const int64_t times[] = {rows[i].vt_s, rows[i].vt_e, rows[i].tt_s, rows[i].tt_e};
        char copies[5][128];
        peer_bind_int(insert, 1, kind == MODEL_EDGE);
        for (int k = 0; k < 5; k++) {
            snprintf(copies[k], sizeof copies[k], "%.*s", MK_STR_ARG(texts[k]));
            peer_bind_text(insert, 2 + k, copies[k]);
        }
        for (int k = 0; k < 4; k++)
            peer_bind_int(insert, 7 + k, times[k]);
        assert_false(peer_step(insert));
    }
    peer_finish(insert);
}

static bool world_open(world *w, uint64_t seed)
{
    genops_options options = genops_default;
    options.failing_percent = 0;
    options.uid_count = 4 + (int)(seed % 5);
    w->db = peer_open(":memory:");
    if (w->db == NULL)
        return false;
    twin_open(&w->twin, seed, &options, seed % 2 ? 7 : 40);
    mk_arena_init(&w->calls, &mk_alloc_default);
    mk_arena_init(&w->trees, &mk_alloc_default);
    mk_call_result_init(&w->result, &mk_alloc_default);
    for (int i = 0; i < BATCHES; i++) {
        twin_step(&w->twin);
        if (genops_chance(&w->twin.gen, 20))
            twin_upset(&w->twin);
    }
    assert_int_equal(mk_store_replay_flush(w->twin.store, NULL), MK_OK);
    peer_run(w->db, "CREATE TABLE v(edge INT, id TEXT, src TEXT, dst TEXT, rel TEXT, label TEXT,"
                    " vt_s INT, vt_e INT, tt_s INT, tt_e INT)");
    insert_rows(w, MODEL_NODE);
    insert_rows(w, MODEL_EDGE);
    return true;
}

static void world_close(world *w)
{
    mk_call_result_free(&w->result);
    mk_arena_free(&w->trees);
    mk_arena_free(&w->calls);
    twin_close(&w->twin);
    peer_close(w->db);
}

/* ---- asking both ---- */

/* One number of a query over `b`, what is believed at the round's time. */
static int64_t sql(world *w, const char *format, ...) MK_PRINTF(2, 3);
static int64_t sql(world *w, const char *format, ...)
{
    char text[4096], whole[4300];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    const int64_t at = w->as_of < MK_OPEN_END - 1 ? w->as_of : MK_OPEN_END - 1;
    snprintf(whole, sizeof whole, "WITH b AS (SELECT * FROM v WHERE tt_s <= %lld AND %lld < tt_e) %s",
             (long long)at, (long long)at, text);
    peer_query *query = peer_prepare(w->db, whole);
    assert_true(peer_step(query));
    const int64_t value = peer_int(query, 0);
    peer_finish(query);
    return value;
}

/* The whole payload; `format` makes the members beside as_of_tt. */
static const mk_json *ask(world *w, const char *op, const char *format, ...) MK_PRINTF(3, 4);
static const mk_json *ask(world *w, const char *op, const char *format, ...)
{
    char members[1024], args[1200];
    mk_json *tree;
    mk_err err;
    const mk_call_options options = {.row_budget = 100000};
    va_list list;
    va_start(list, format);
    vsnprintf(members, sizeof members, format, list);
    va_end(list);
    snprintf(args, sizeof args, "{\"as_of_tt\":%lld,%s}", (long long)w->as_of, members);
    if (mk_call_run(w->twin.store, NULL, mk_str_of(op), mk_str_of(args), &options, &w->calls, &w->result,
                    &err) != MK_OK)
        fail_msg("MK_SEED=%llu %s %s: %s", (unsigned long long)w->twin.seed, op, args, err.message);
    assert_int_equal(mk_json_parse(&w->trees, mk_buf_view(&w->result.payload.text), NULL, &tree, NULL),
                     MK_OK);
    return tree;
}

static void same(const world *w, const char *what, int64_t ours, int64_t theirs)
{
    if (ours != theirs)
        fail_msg("MK_SEED=%llu as of %lld: %s: %lld, SQLite says %lld", (unsigned long long)w->twin.seed,
                 (long long)w->as_of, what, (long long)ours, (long long)theirs);
}

static int64_t number(const mk_json *payload, const char *name) { return mk_json_get(payload, name)->i; }
static long long some_time(world *w) { return (long long)genops_below(&w->twin.gen, 66); }

/* A known uid, as JSON and as SQL: names of these histories have no single quote that is not doubled here. */
static void some_uid(world *w, char json[256], char text[256])
{
    const size_t count = model_entity_count(w->twin.model);
    const mk_str uid = model_entity(w->twin.model, genops_below(&w->twin.gen, count));
    mk_buf out;
    size_t n = 0;
    mk_buf_init(&out, &mk_alloc_default);
    mk_canon_string(&out, uid);
    snprintf(json, 256, "%.*s", (int)out.n, out.p);
    mk_buf_free(&out);
    text[n++] = '\'';
    for (size_t i = 0; i < uid.n && n < 250; i++) {
        if (uid.p[i] == '\'')
            text[n++] = '\'';
        text[n++] = uid.p[i];
    }
    text[n++] = '\'';
    text[n] = '\0';
}

/* ---- what both can say ---- */

static void histories(world *w)
{
    char uid[256], text[256];
    some_uid(w, uid, text);
    const mk_json *h = ask(w, "entity_history", "\"include_edges\":true,\"uid\":%s", uid);
    same(w, "versions", number(h, "rows_total"),
         sql(w, "SELECT count(*) FROM b WHERE NOT edge AND id=%s", text));
    same(w, "edges", (int64_t)mk_json_get(h, "edges")->n,
         sql(w, "SELECT count(*) FROM b WHERE edge AND (src=%s OR dst=%s)", text, text));
    int64_t sum = 0;
    const mk_json *rows = mk_json_get(h, "rows");
    for (size_t i = 0; i < rows->n; i++)
        sum += number(&rows->items[i], "vt_s");
    same(w, "sum of starts", sum,
         sql(w, "SELECT coalesce(sum(vt_s),0) FROM b WHERE NOT edge AND id=%s", text));
}

static void snapshots(world *w)
{
    char uid[256], text[256];
    some_uid(w, uid, text);
    const long long t = some_time(w);
    const mk_json *s = ask(w, "snapshot_subgraph", "\"hops\":1,\"seeds\":[%s],\"t_valid\":%lld", uid, t);
    const char *reached = "n AS (SELECT DISTINCT id FROM b WHERE NOT edge AND vt_s<=%lld AND %lld<vt_e),"
                          "r AS (SELECT id FROM n WHERE id=%s UNION SELECT n.id FROM n JOIN b ON b.edge AND "
                          "b.vt_s<=%lld AND %lld<b.vt_e"
                          " AND ((b.src=%s AND b.dst=n.id) OR (b.dst=%s AND b.src=n.id)) WHERE EXISTS(SELECT "
                          "1 FROM n WHERE id=%s))";
    char with[2400];
    snprintf(with, sizeof with, reached, t, t, text, t, t, text, text, text);
    same(w, "nodes within a hop", number(s, "nodes_total"), sql(w, ", %s SELECT count(*) FROM r", with));
    same(w, "edges among them", number(s, "rows_total"),
         sql(w,
             ", %s SELECT count(*) FROM b WHERE edge AND vt_s<=%lld AND %lld<vt_e AND src IN r AND dst IN r",
             with, t, t));
}

static void series(world *w)
{
    static const struct {
        const char *metric, *sql;
    } metrics[] = {
        {"node_count", "SELECT count(*) FROM b WHERE NOT edge AND vt_s<=%lld AND %lld<vt_e"},
        {"active_edge_count", "SELECT count(*) FROM b WHERE edge AND vt_s<=%lld AND %lld<vt_e"},
        {"edge_event_count", "SELECT count(*) FROM b WHERE edge AND vt_s>=%lld AND vt_s<%lld+5"},
        {"new_node_rate", "SELECT count(*) FROM (SELECT min(vt_s) AS m FROM b WHERE NOT edge GROUP BY id)"
                          " WHERE m>=%lld AND m<%lld+5"}};
    const long long a = some_time(w);
    for (size_t i = 0; i < 4; i++) {
        char text[400];
        const mk_json *rows =
            mk_json_get(ask(w, "graph_metric_timeseries",
                            "\"metric\":\"%s\",\"stride\":5,\"window\":{\"t_a\":%lld,\"t_b\":%lld}",
                            metrics[i].metric, a, a + 20),
                        "rows");
        for (size_t k = 0; k < rows->n; k++) {
            snprintf(text, sizeof text, "%s", metrics[i].sql);
            const long long t = a + 5 * (long long)k;
            char filled[500];
            /* Both places of each text are the bucket's start. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
            snprintf(filled, sizeof filled, text, t, t);
#pragma GCC diagnostic pop
            same(w, metrics[i].metric, number(&rows->items[k], "value"), sql(w, "%s", filled));
        }
    }
}

static void differences(world *w)
{
    const long long t1 = some_time(w), t2 = some_time(w);
    const mk_json *d = ask(w, "diff_snapshots", "\"t1\":%lld,\"t2\":%lld", t1, t2);
    for (int edge = 0; edge < 2; edge++)
        for (int removed = 0; removed < 2; removed++) {
            char name[32];
            const long long in = removed ? t1 : t2, out = removed ? t2 : t1;
            snprintf(name, sizeof name, "%s_%s_total", edge ? "edges" : "nodes",
                     removed ? "removed" : "added");
            same(
                w, name, number(d, name),
                sql(w,
                    "SELECT count(*) FROM (SELECT id FROM b WHERE edge=%d AND vt_s<=%lld AND %lld<vt_e EXCEPT"
                    " SELECT id FROM b WHERE edge=%d AND vt_s<=%lld AND %lld<vt_e)",
                    edge, in, in, edge, out, out));
        }
}

static void neighbours(world *w)
{
    char uid[256], text[256];
    some_uid(w, uid, text);
    const long long t1 = some_time(w), t2 = t1 + 1 + some_time(w);
    const mk_json *e = ask(w, "neighborhood_evolution", "\"t1\":%lld,\"t2\":%lld,\"uid\":%s", t1, t2, uid);
    const char *set =
        "SELECT CASE WHEN src=%s THEN dst ELSE src END FROM b WHERE edge AND (src=%s OR dst=%s) AND src<>dst"
        " AND vt_s<=%lld AND %lld<vt_e";
    char before[1200], after[1200];
    snprintf(before, sizeof before, set, text, text, text, t1, t1);
    snprintf(after, sizeof after, set, text, text, text, t2, t2);
    same(w, "gained", number(e, "neighbors_gained_total"),
         sql(w, "SELECT count(*) FROM (%s EXCEPT %s)", after, before));
    same(w, "lost", number(e, "neighbors_lost_total"),
         sql(w, "SELECT count(*) FROM (%s EXCEPT %s)", before, after));
}

static void groups(world *w)
{
    const long long a = some_time(w), b = a + 1 + some_time(w);
    const mk_json *rows = mk_json_get(
        ask(w, "aggregate_events",
            "\"aggregates\":[{\"agg\":\"count\"},{\"agg\":\"count_distinct\",\"of\":\"dst\"},{\"agg\":"
            "\"max\",\"of\":\"vt_s\"}],"
            "\"group_by\":[{\"dim\":\"endpoint\",\"role\":\"src\"}],\"window\":{\"t_a\":%lld,\"t_b\":%lld}",
            a, b),
        "rows");
    int64_t count = 0, distinct = 0, latest = 0;
    for (size_t i = 0; i < rows->n; i++) {
        count += number(&rows->items[i], "count");
        distinct += number(&rows->items[i], "distinct_dst");
        latest += number(&rows->items[i], "max_vt_s");
    }
    const char *events =
        "SELECT src, count(*) AS c, count(DISTINCT dst) AS d, max(vt_s) AS m FROM b WHERE edge"
        " AND vt_s>=%lld AND vt_s<%lld GROUP BY src";
    char from[400];
    snprintf(from, sizeof from, events, a, b);
    same(w, "senders", (int64_t)rows->n, sql(w, "SELECT count(*) FROM (%s)", from));
    same(w, "events", count, sql(w, "SELECT coalesce(sum(c),0) FROM (%s)", from));
    same(w, "receivers", distinct, sql(w, "SELECT coalesce(sum(d),0) FROM (%s)", from));
    same(w, "latest", latest, sql(w, "SELECT coalesce(sum(m),0) FROM (%s)", from));
}

static void joins(world *w)
{
    static const struct {
        const char *relation, *on;
    } joins_[] = {{"overlaps", "x.vt_s<y.vt_s AND y.vt_s<x.vt_e AND x.vt_e<y.vt_e"},
                  {"during", "y.vt_s<x.vt_s AND x.vt_e<y.vt_e"},
                  {"meets", "x.vt_e=y.vt_s"},
                  {"before", "y.vt_s>x.vt_e AND y.vt_s-x.vt_e<=9"}};
    char uid[256], text[256];
    some_uid(w, uid, text);
    for (size_t i = 0; i < 4; i++) {
        const mk_json *p =
            ask(w, "co_active",
                "\"a_spec\":{\"src\":%s},\"allen_relation\":{\"gap\":9,\"relation\":\"%s\"},\"b_spec\":{}",
                uid, joins_[i].relation);
        same(w, joins_[i].relation, number(p, "rows_total"),
             sql(w, "SELECT count(*) FROM b x JOIN b y ON %s WHERE x.edge AND y.edge AND x.src=%s",
                 joins_[i].on, text));
    }
}

static void log_of_versions(world *w)
{
    for (int edge = 0; edge < 2; edge++) {
        const mk_json *p = ask(w, "version_history",
                               "\"belief\":\"current\",\"kind\":\"%s\",\"window\":{\"t_a\":5,\"t_b\":40}",
                               edge ? "edge" : "node");
        same(w, "believed versions", number(p, "rows_total"),
             sql(w, "SELECT count(*) FROM b WHERE edge=%d AND vt_s<40 AND 5<vt_e", edge));
    }
}

/* ---- histories ---- */

static bool run_history(uint64_t seed)
{
    static void (*const parts[])(world *) = {histories,  snapshots, series, differences,
                                             neighbours, groups,    joins,  log_of_versions};
    world w;
    if (!world_open(&w, seed))
        return false;
    for (int round = 0; round < ROUNDS && model_entity_count(w.twin.model) > 0; round++) {
        w.as_of = genops_chance(&w.twin.gen, 50)
                      ? MK_OPEN_END : 1 + (int64_t)genops_below(&w.twin.gen, (uint64_t)w.twin.tt);
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
            parts[i](&w);
            mk_arena_reset(&w.trees);
        }
    }
    world_close(&w);
    return true;
}

static void test_op_sql__sqlite_gives_the_same_answers(void **state)
{
    (void)state;
    const char *only = getenv("MK_SEED");
    const uint64_t first = only != NULL ? strtoull(only, NULL, 10) : 1;
    for (uint64_t seed = first; seed < (only != NULL ? first + 1 : HISTORIES); seed++)
        if (!run_history(seed)) {
            print_message("skipped: no SQLite here (package libsqlite3-0)\n");
            skip();
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_op_sql__sqlite_gives_the_same_answers)};
    return cmocka_run_group_tests_name("op_sql", tests, NULL, NULL);
}

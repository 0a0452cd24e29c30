/* test_op_laws.c — laws that operators obey among themselves, over random histories.
 *
 * No expected values here: each law relates answers of operators to each other, so a mistake that a kernel
 * and its oracle share would show. A failure prints MK_SEED=... to repeat one history. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../support/twin.h"
#include "op/call.h"

enum { HISTORIES = 40, BATCHES = 24, ROUNDS = 8 };

typedef struct world {
    twin twin;
    mk_arena calls, trees;
    mk_call_result result;
} world;

static void world_open(world *w, uint64_t seed)
{
    genops_options options = genops_default;
    options.ingest_percent =
        seed % 2 ? 0 : 20; /* without bulk events no identity has two beliefs at a time */
    options.failing_percent = 0;
    options.uid_count = 4 + (int)(seed % 5);
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
}

static void world_close(world *w)
{
    mk_call_result_free(&w->result);
    mk_arena_free(&w->trees);
    mk_arena_free(&w->calls);
    twin_close(&w->twin);
}

#define LAW(w, truth, ...)                                                                         \
    do {                                                                                           \
        if (!(truth)) {                                                                            \
            print_error("MK_SEED=%llu: ", (unsigned long long)(w)->twin.seed);                     \
            fail_msg(__VA_ARGS__);                                                                 \
        }                                                                                          \
    } while (0)

/* The whole payload of a call; the arguments are a printf format. */
static const mk_json *ask(world *w, const char *op, const char *format, ...) MK_PRINTF(3, 4);
static const mk_json *ask(world *w, const char *op, const char *format, ...)
{
    char args[1024];
    mk_json *tree;
    mk_err err;
    const mk_call_options options = {.row_budget = 100000};
    va_list list;
    va_start(list, format);
    vsnprintf(args, sizeof args, format, list);
    va_end(list);
    const mk_code rc = mk_call_run(w->twin.store, NULL, mk_str_of(op), mk_str_of(args), &options,
                                   &w->calls, &w->result, &err);
    LAW(w, rc == MK_OK, "%s %s: %s", op, args, err.message);
    assert_int_equal(mk_json_parse(&w->trees, mk_buf_view(&w->result.payload.text), NULL, &tree, NULL),
                     MK_OK);
    return tree;
}

static int64_t number(const mk_json *payload, const char *name) { return mk_json_get(payload, name)->i; }

/* A quoted uid that the store knows. */
static const char *some_uid(world *w)
{
    mk_buf text;
    const size_t count = model_entity_count(w->twin.model);
    mk_buf_init(&text, &mk_alloc_default);
    mk_canon_string(&text, model_entity(w->twin.model, genops_below(&w->twin.gen, count)));
    mk_buf_c(&text, '\0');
    const mk_str kept = mk_arena_copy(&w->trees, mk_buf_view(&text));
    mk_buf_free(&text);
    return kept.p;
}

static long long some_time(world *w) { return (long long)genops_below(&w->twin.gen, 66); }

/* ---- the laws ---- */

static int64_t metric_at(world *w, const char *metric, long long t)
{
    const mk_json *p =
        ask(w, "graph_metric_timeseries",
            "{\"metric\":\"%s\",\"stride\":1,\"window\":{\"t_a\":%lld,\"t_b\":%lld}}", metric, t, t + 1);
    return number(&mk_json_get(p, "rows")->items[0], "value");
}

/* What is there later is what was there before, plus what was added, minus what was removed. */
static void diffs_balance(world *w)
{
    const long long t1 = some_time(w), t2 = some_time(w);
    const mk_json *d = ask(w, "diff_snapshots", "{\"t1\":%lld,\"t2\":%lld}", t1, t2);
    const int64_t nodes = number(d, "nodes_added_total") - number(d, "nodes_removed_total");
    const int64_t edges = number(d, "edges_added_total") - number(d, "edges_removed_total");
    LAW(w, metric_at(w, "node_count", t1) + nodes == metric_at(w, "node_count", t2), "nodes %lld %lld", t1,
        t2);
    if (w->twin.gen.options.ingest_percent == 0)
        LAW(w, metric_at(w, "active_edge_count", t1) + edges == metric_at(w, "active_edge_count", t2),
            "edges %lld %lld", t1, t2);
}

static bool same_json(world *w, const mk_json *a, const mk_json *b)
{
    mk_buf x, y;
    mk_buf_init(&x, &mk_alloc_default);
    mk_buf_init(&y, &mk_alloc_default);
    assert_int_equal(mk_canon_tree(&x, &w->trees, a, NULL), MK_OK);
    assert_int_equal(mk_canon_tree(&y, &w->trees, b, NULL), MK_OK);
    const bool same = mk_str_eq(mk_buf_view(&x), mk_buf_view(&y));
    mk_buf_free(&x);
    mk_buf_free(&y);
    return same;
}

/* Backwards, what was added is what was removed. */
static void diffs_turn_round(world *w)
{
    static const char *const pairs[][2] = {{"nodes_added", "nodes_removed"},
                                           {"edges_added", "edges_removed"},
                                           {"nodes_removed", "nodes_added"},
                                           {"edges_removed", "edges_added"}};
    const long long t1 = some_time(w), t2 = some_time(w);
    const mk_json *there = ask(w, "diff_snapshots", "{\"t1\":%lld,\"t2\":%lld}", t1, t2);
    const mk_json *back = ask(w, "diff_snapshots", "{\"t1\":%lld,\"t2\":%lld}", t2, t1);
    for (size_t i = 0; i < 4; i++)
        LAW(w, same_json(w, mk_json_get(there, pairs[i][0]), mk_json_get(back, pairs[i][1])),
            "%s, %lld to %lld and back", pairs[i][0], t1, t2);
    LAW(w, number(there, "props_changed_total") == number(back, "props_changed_total"), "props_changed");
}

/* A snapshot shows an entity exactly when its history has a version valid then, under that label. */
static void snapshots_are_histories(world *w)
{
    const char *uid = some_uid(w);
    const long long t = some_time(w);
    const mk_json *rows = mk_json_get(ask(w, "entity_history", "{\"uid\":%s}", uid), "rows");
    const mk_json *nodes = mk_json_get(
        ask(w, "snapshot_subgraph", "{\"hops\":0,\"seeds\":[%s],\"t_valid\":%lld}", uid, t), "nodes");
    const mk_json *valid = NULL;
    for (size_t i = 0; i < rows->n; i++)
        if (number(&rows->items[i], "vt_s") <= t && t < number(&rows->items[i], "vt_e"))
            valid = &rows->items[i];
    LAW(w, (valid != NULL) == (nodes->n == 1), "%s at %lld", uid, t);
    if (valid != NULL)
        LAW(w, same_json(w, mk_json_get(valid, "label"), mk_json_get(&nodes->items[0], "label")),
            "label of %s", uid);
}

static const mk_json *row_of(const mk_json *rows, const mk_json *uid)
{
    for (size_t i = 0; i < rows->n; i++)
        if (mk_str_eq(mk_json_get(&rows->items[i], "uid")->text, uid->text))
            return &rows->items[i];
    return NULL;
}

/* A longer window reaches no fewer, and nobody later. */
static void reach_grows_with_the_window(world *w)
{
    const char *uid = some_uid(w);
    const long long a = some_time(w), b = a + 1 + some_time(w), c = b + some_time(w);
    const char *format = "{\"src\":%s,\"window\":{\"t_a\":%lld,\"t_b\":%lld}}";
    const mk_json *narrow = mk_json_get(ask(w, "temporal_reachability", format, uid, a, b), "rows");
    const mk_json *wide = mk_json_get(ask(w, "temporal_reachability", format, uid, a, c), "rows");
    for (size_t i = 0; i < narrow->n; i++) {
        const mk_json *row = row_of(wide, mk_json_get(&narrow->items[i], "uid"));
        LAW(w,
            row != NULL && number(row, "earliest_arrival") == number(&narrow->items[i], "earliest_arrival"),
            "from %s, %lld to %lld and %lld", uid, a, b, c);
    }
}

/* x reaches y exactly when y is reached from x; leaving no later than the latest departure. */
static void reach_has_two_ends(world *w)
{
    const char *x = some_uid(w), *y = some_uid(w);
    const long long a = some_time(w), b = a + 1 + some_time(w);
    const mk_json *there =
        ask(w, "temporal_reachability", "{\"src\":%s,\"window\":{\"t_a\":%lld,\"t_b\":%lld}}", x, a, b);
    const mk_json *back =
        ask(w, "temporal_reachability_to", "{\"dst\":%s,\"window\":{\"t_a\":%lld,\"t_b\":%lld}}", y, a, b);
    mk_json *ux, *uy;
    assert_int_equal(mk_json_parse(&w->trees, mk_str_of(x), NULL, &ux, NULL), MK_OK);
    assert_int_equal(mk_json_parse(&w->trees, mk_str_of(y), NULL, &uy, NULL), MK_OK);
    const mk_json *arrival = row_of(mk_json_get(there, "rows"), uy);
    const mk_json *departure = row_of(mk_json_get(back, "rows"), ux);
    LAW(w, (arrival != NULL) == (departure != NULL), "%s to %s in [%lld, %lld)", x, y, a, b);
    if (departure == NULL)
        return;
    /* Leaving at the latest departure still works, and one instant later does not. */
    const long long last = (long long)number(departure, "latest_departure");
    for (int late = 0; late < 2 && last + late < b; late++) {
        const mk_json *from = ask(w, "temporal_reachability",
                                  "{\"src\":%s,\"window\":{\"t_a\":%lld,\"t_b\":%lld}}", x, last + late, b);
        LAW(w, (row_of(mk_json_get(from, "rows"), uy) != NULL) == !late, "%s leaves at %lld", x, last + late);
    }
}

/* A path leads to what can be reached, and the first arrives when it is reached at the earliest, if the
 * earliest way is short enough. */
static void paths_lead_where_one_can_go(world *w)
{
    const char *x = some_uid(w), *y = some_uid(w);
    const long long a = some_time(w), b = a + 1 + some_time(w);
    const mk_json *p =
        ask(w, "temporal_paths",
            "{\"dst\":%s,\"max_hops\":3,\"src\":%s,\"window\":{\"t_a\":%lld,\"t_b\":%lld}}", y, x, a, b);
    const mk_json *r =
        ask(w, "temporal_reachability", "{\"src\":%s,\"window\":{\"t_a\":%lld,\"t_b\":%lld}}", x, a, b);
    mk_json *uy;
    assert_int_equal(mk_json_parse(&w->trees, mk_str_of(y), NULL, &uy, NULL), MK_OK);
    const mk_json *arrival = row_of(mk_json_get(r, "rows"), uy), *rows = mk_json_get(p, "rows");
    if (rows->n > 0)
        LAW(w, arrival != NULL && number(&rows->items[0], "arrival") >= number(arrival, "earliest_arrival"),
            "%s to %s in [%lld, %lld)", x, y, a, b);
}

/* Instances inside either half are instances of the whole; those that cross are more. */
static void motifs_add_up(world *w)
{
    static const char *const motifs[] = {"M_triangle_cyclic", "M_triangle_acyclic_1", "M_2node_pingpong",
                                         "M_star_out_3", "M_path_3"};
    const char *motif = motifs[genops_below(&w->twin.gen, 5)];
    const long long a = 0, c = 70, b = 1 + some_time(w), delta = 1 + some_time(w);
    const char *format = "{\"delta\":%lld,\"motif\":\"%s\",\"window\":{\"t_a\":%lld,\"t_b\":%lld}}";
    const int64_t left = number(ask(w, "count_temporal_motifs", format, delta, motif, a, b), "count");
    const int64_t right = number(ask(w, "count_temporal_motifs", format, delta, motif, b, c), "count");
    const int64_t all = number(ask(w, "count_temporal_motifs", format, delta, motif, a, c), "count");
    LAW(w, left + right <= all, "%s, delta %lld, cut at %lld", motif, delta, b);
    LAW(w, number(ask(w, "find_temporal_motif_instances", format, delta, motif, a, c), "rows_total") == all,
        "%s, delta %lld: as many instances as counted", motif, delta);
}

/* Three ways to count events. */
static void events_are_counted_alike(world *w)
{
    const long long a = some_time(w), b = a + 1 + some_time(w);
    const mk_json *series = mk_json_get(
        ask(w, "graph_metric_timeseries",
            "{\"metric\":\"edge_event_count\",\"stride\":7,\"window\":{\"t_a\":%lld,\"t_b\":%lld}}", a, b),
        "rows");
    const mk_json *groups = mk_json_get(
        ask(w, "aggregate_events",
            "{\"aggregates\":[{\"agg\":\"count\"}],\"group_by\":[{\"dim\":\"rel_type\"}],"
            "\"window\":{\"t_a\":%lld,\"t_b\":%lld}}", a, b),
        "rows");
    const mk_json *motif =
        ask(w, "count_temporal_motifs",
            "{\"delta\":1,\"motif\":\"M_path_3\",\"window\":{\"t_a\":%lld,\"t_b\":%lld}}", a, b);
    int64_t sum = 0, grouped = 0;
    for (size_t i = 0; i < series->n; i++)
        sum += number(&series->items[i], "value");
    for (size_t i = 0; i < groups->n; i++)
        grouped += number(&groups->items[i], "count");
    LAW(w, sum == grouped && sum == number(motif, "n_events_in_window"), "[%lld, %lld): %lld, %lld, %lld", a,
        b, (long long)sum, (long long)grouped, (long long)number(motif, "n_events_in_window"));
}

/* What is believed and what is not any more are all there ever was. */
static void versions_are_current_or_superseded(world *w)
{
    static const char *const kinds[] = {"node", "edge"};
    static const char *const beliefs[] = {"current", "superseded", "all"};
    for (int k = 0; k < 2; k++) {
        int64_t totals[3];
        for (int i = 0; i < 3; i++)
            totals[i] = number(ask(w, "version_history",
                                   "{\"belief\":\"%s\",\"kind\":\"%s\",\"window\":{\"t_a\":0,\"t_b\":1000}}",
                                   beliefs[i], kinds[k]),
                               "rows_total");
        LAW(w, totals[0] + totals[1] == totals[2], "%s versions", kinds[k]);
    }
}

static void run_history(uint64_t seed)
{
    static void (*const laws[])(world *) = {
        diffs_balance, diffs_turn_round, snapshots_are_histories, reach_grows_with_the_window,
        reach_has_two_ends, paths_lead_where_one_can_go, motifs_add_up, events_are_counted_alike,
        versions_are_current_or_superseded};
    world w;
    world_open(&w, seed);
    for (int round = 0; round < ROUNDS && model_entity_count(w.twin.model) > 0; round++)
        for (size_t i = 0; i < sizeof laws / sizeof *laws; i++) {
            laws[i](&w);
            mk_arena_reset(&w.trees);
        }
    world_close(&w);
}

static void test_op_laws__hold_over_random_histories(void **state)
{
    (void)state;
    const char *only = getenv("MK_SEED");
    if (only != NULL) {
        run_history(strtoull(only, NULL, 10));
        return;
    }
    for (uint64_t seed = 1; seed <= HISTORIES; seed++)
        run_history(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_op_laws__hold_over_random_histories)};
    return cmocka_run_group_tests_name("op_laws", tests, NULL, NULL);
}

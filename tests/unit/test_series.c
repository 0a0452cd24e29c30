/* test_series.c — buckets, bursts, neighbourhoods and diffs at the sizes and edges that random small stores
 * do not reach.
 *
 * Goal: the buckets of extreme windows; sums and scores to the last bit for long histories; lists cut from
 * long ones; calls that end early. Method: the formulas of the operators spec, 7.8 to 7.10, written out
 * again; a hub with thousands of events; a clock that jumps; memory that runs out at every allocation. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../support/aggregate_world.h"
#include "../support/testalloc.h"
#include "op/burst_detection.h"

enum { HUB_EVENTS = 3000, SERIES = 1200 };

/* A sequence that is the same in every run (Steele, Lea, Flood 2014). */
static uint64_t next_random(uint64_t *seed)
{
    uint64_t x = *seed += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

/* ---- buckets ---- */

static void assert_buckets_cover(int64_t t_a, int64_t t_b, int64_t stride, size_t count)
{
    mk_buckets b;
    assert_int_equal(mk_buckets_of(t_a, t_b, stride, &b, NULL), MK_OK);
    assert_int_equal(b.count, count);
    assert_int_equal(mk_bucket_start(&b, 0), t_a);
    assert_int_equal(mk_bucket_end(&b, count - 1), t_b);
    for (size_t i = 0; i < count; i++) {
        const int64_t s = mk_bucket_start(&b, i), e = mk_bucket_end(&b, i);
        assert_true(s < e);
        assert_int_equal(mk_bucket_at(&b, s), i);
        assert_int_equal(mk_bucket_at(&b, e - 1), i);
        assert_int_equal(mk_bucket_from(&b, s), i);
        assert_int_equal(mk_bucket_from(&b, s + 1), i + 1);
    }
    assert_int_equal(mk_bucket_from(&b, INT64_MIN), 0);
    assert_int_equal(mk_bucket_from(&b, INT64_MAX), count);
}

static void test_series__buckets_cover_the_window_at_the_bounds_of_time(void **state)
{
    (void)state;
    assert_buckets_cover(0, 10, 3, 4);
    assert_buckets_cover(5, 6, 1, 1);
    assert_buckets_cover(5, 6, INT64_MAX, 1);
    assert_buckets_cover(0, MK_OPEN_END, INT64_MAX, 1);
    assert_buckets_cover(0, MK_OPEN_END, MK_OPEN_END - 1, 2);
    assert_buckets_cover(MK_OPEN_END - 2, MK_OPEN_END, 1, 2);
    assert_buckets_cover(0, MK_OPEN_END, MK_OPEN_END / 2000 + 1, 2000);
}

static void test_series__the_stride_that_a_refusal_names_passes_and_no_shorter_one(void **state)
{
    static const int64_t ends[] = {2001, 4000, 4001, 1000003, MK_OPEN_END};
    (void)state;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const int64_t least = (ends[i] - 1) / MK_BUCKETS_MAX + 1;
        char named[64];
        mk_buckets b;
        mk_err err;
        snprintf(named, sizeof named, "use stride >= %lld", (long long)least);
        assert_int_equal(mk_buckets_of(0, ends[i], least, &b, &err), MK_OK);
        assert_int_equal(mk_buckets_of(0, ends[i], least - 1, &b, &err), MK_E_LIMIT);
        if (strstr(err.message, named) == NULL)
            fail_msg("%s does not say %s", err.message, named);
    }
}

/* ---- bursts ---- */

/* The spec's order of additions; element k of a full block of eight goes to r[k]. */
static double sum_by_spec(const double *v, size_t n)
{
    if (n > 128) {
        const size_t h = n / 2 / 8 * 8;
        return sum_by_spec(v, h) + sum_by_spec(v + h, n - h);
    }
    const size_t blocks = n / 8;
    double r[8] = {0}, sum = 0.0;
    for (size_t i = 0; i < blocks * 8; i++)
        r[i % 8] = i < 8 ? v[i] : r[i % 8] + v[i];
    if (blocks > 0)
        sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
    for (size_t i = blocks * 8; i < n; i++)
        sum += v[i];
    return sum;
}

static void test_burst__sums_have_the_order_of_the_spec(void **state)
{
    double v[500];
    uint64_t seed = 1;
    size_t unlike = 0;
    (void)state;
    for (size_t n = 0; n <= 500; n++) {
        double plain = 0.0;
        for (size_t i = 0; i < n; i++)
            plain += v[i] = ldexp((double)(next_random(&seed) >> 11), (int)(next_random(&seed) % 40) - 60);
        const double got = mk_pairwise_sum(v, n), expected = sum_by_spec(v, n);
        assert_memory_equal(&got, &expected, sizeof got);
        unlike += got != plain;
    }
    assert_true(unlike > 100); /* otherwise the order would not have been tested */
}

static int by_size(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* The score of x after h, by the formulas. */
static double score_by_spec(const double *h, size_t m, double x, bool ratio)
{
    double work[500];
    memcpy(work, h, m * sizeof *work);
    if (ratio) {
        qsort(work, m, sizeof *work, by_size);
        const double med = m % 2 ? work[m / 2] : (work[m / 2 - 1] + work[m / 2]) / 2;
        return med > 0 ? x / med : x > 0 ? 1e9 : 0.0;
    }
    const double mean = sum_by_spec(h, m) / (double)m;
    for (size_t i = 0; i < m; i++)
        work[i] = (h[i] - mean) * (h[i] - mean);
    const double std = sqrt(sum_by_spec(work, m) / (double)m);
    return std > 0 ? fabs(x - mean) / std : x == mean ? 0.0 : 1e9;
}

static void check_bursts(const double *values, size_t n, const mk_burst_args *args)
{
    static mk_burst out[SERIES];
    const size_t found = mk_burst_find(values, n, args, out);
    size_t at = 0;
    for (size_t i = 1; i < n; i++) {
        const size_t m = i < args->history ? i : args->history;
        const double score = mk_round9(score_by_spec(values + i - m, m, values[i], args->ratio));
        if (score < args->threshold)
            continue;
        assert_true(at < found);
        assert_int_equal(out[at].bucket, i);
        assert_memory_equal(&out[at].score, &score, sizeof score);
        at++;
    }
    assert_int_equal(at, found);
}

/* Many equal values, silences, and a few that are huge. */
static void test_burst__long_histories_are_judged_by_the_formulas(void **state)
{
    static const size_t histories[] = {2, 3, 8, 10, 127, 128, 129, 499, 500};
    static double values[SERIES];
    uint64_t seed = 7;
    (void)state;
    for (size_t i = 0; i < SERIES; i++) {
        const uint64_t kind = next_random(&seed) % 20;
        values[i] = kind < 4 ? 0.0 : kind == 4 ? (double)(next_random(&seed) % 100000000)
                                               : (double)(next_random(&seed) % 6);
    }
    for (size_t k = 0; k < sizeof histories / sizeof *histories; k++)
        for (int ratio = 0; ratio < 2; ratio++)
            check_bursts(values, SERIES,
                         &(mk_burst_args){.history = histories[k], .threshold = ratio ? 1.0 : 0.1,
                                          .ratio = ratio});
}

/* O-12. */
static void test_burst__the_first_change_after_a_constant_history_is_one(void **state)
{
    const double loud[] = {0, 0, 0, 4, 0}, still[] = {5, 5, 5, 0, 0};
    mk_burst out[5];
    mk_burst_args args = {.history = 3, .threshold = 1e9};
    (void)state;
    assert_int_equal(mk_burst_find(loud, 5, &args, out), 1);
    assert_int_equal(out[0].bucket, 3);
    assert_int_equal(mk_burst_find(still, 5, &args, out), 1);
    assert_int_equal(out[0].bucket, 3);
    args.ratio = true; /* a silence is none by ratio */
    assert_int_equal(mk_burst_find(loud, 5, &args, out), 1);
    assert_int_equal(mk_burst_find(still, 5, &args, out), 0);
    assert_int_equal(mk_burst_find(loud, 1, &args, out), 0);
    assert_int_equal(mk_burst_find(loud, 0, &args, out), 0);
}

/* ---- operators on a hub ---- */

/* Event i: hub to n<i>, or back when i is odd, [i, i + 10); so at most ten hold at a time. */
static void make_hub(world *w)
{
    world_event *events = calloc(HUB_EVENTS, sizeof *events);
    assert_non_null(events);
    for (int i = 0; i < HUB_EVENTS; i++) {
        world_event *e = &events[i];
        snprintf(i % 2 ? e->dst : e->src, WORLD_UID, "hub");
        snprintf(i % 2 ? e->src : e->dst, WORLD_UID, "n%d", i);
        snprintf(e->props, WORLD_PROPS, "{\"w\":%d}", i);
        e->rel = i % 2 ? "BACK" : "OUT";
        e->vt_s = i;
        e->vt_e = i + 10;
    }
    world_open(w, 0);
    world_ingest(w, events, HUB_EVENTS, 0);
    free(events);
}

static const struct {
    const char *op, *args;
} long_calls[] = {
    {"graph_metric_timeseries",
     "{\"metric\":\"reciprocity\",\"stride\":100,\"window\":{\"t_a\":0,\"t_b\":3000}}"},
    {"graph_metric_timeseries",
     "{\"metric\":\"mean_out_degree\",\"stride\":100,\"window\":{\"t_a\":0,\"t_b\":3000}}"},
    {"graph_metric_timeseries",
     "{\"metric\":\"new_node_rate\",\"stride\":100,\"window\":{\"t_a\":0,\"t_b\":3000}}"},
    {"burst_detection", "{\"stride\":3,\"target\":{\"kind\":\"node_activity\",\"uid\":\"hub\"},"
                        "\"window\":{\"t_a\":0,\"t_b\":3000}}"},
    {"burst_detection", "{\"stride\":3,\"target\":{\"kind\":\"edge_event_rate\",\"rel_type\":\"OUT\"},"
                        "\"window\":{\"t_a\":0,\"t_b\":3000}}"},
    {"neighborhood_evolution", "{\"t1\":5,\"t2\":2900,\"uid\":\"hub\"}"},
    {"diff_snapshots", "{\"limit\":3,\"scope\":{\"hops\":1,\"seeds\":[\"hub\"]},\"t1\":5,\"t2\":2900}"},
};
enum { LONG_CALLS = sizeof long_calls / sizeof *long_calls };

/* A clock that moves on one microsecond with every look at it. */
static int64_t jump(void *ctx) { return ++*(int64_t *)ctx; }

static void test_series__long_loops_look_at_the_clock(void **state)
{
    world w;
    (void)state;
    make_hub(&w);
    for (int i = 0; i < LONG_CALLS; i++) {
        int64_t now = 0;
        const mk_clock clock = {jump, &now};
        const mk_call_options options = {.clock = &clock, .deadline_us = 2}; /* passed at the second look */
        mk_err err;
        const mk_code rc = mk_call_run(w.store, NULL, mk_str_of(long_calls[i].op),
                                       mk_str_of(long_calls[i].args), &options, &w.arena, &w.result, &err);
        if (rc != MK_E_LIMIT)
            fail_msg("%s: %s", long_calls[i].args, mk_code_name(rc));
    }
    world_close(&w);
}

/* Method: the n-th allocation of a call fails, for every n until the call gets through. */
static void exhaust(world *w, const char *op, const char *args)
{
    testalloc ta;
    bool through = false;
    testalloc_init(&ta);
    for (uint64_t n = 1; !through && n < 1000; n++) {
        mk_arena arena;
        mk_buf out;
        mk_err err;
        mk_arena_init(&arena, &ta.hook);
        mk_buf_init(&out, &ta.hook);
        const uint64_t before = ta.failures;
        testalloc_fail(&ta, n, false);
        const mk_code rc = mk_call(w->store, op, mk_str_of(args), NULL, &arena, &out, &err);
        testalloc_fail(&ta, 0, false);
        through = ta.failures == before;
        if (rc != (through ? MK_OK : MK_E_NOMEM))
            fail_msg("%s: allocation %d: %s", op, (int)n, mk_code_name(rc));
        mk_buf_free(&out);
        mk_arena_free(&arena);
        assert_true(testalloc_is_clean(&ta));
    }
    assert_true(through);
    testalloc_free(&ta);
}

static void test_series__memory_that_runs_out_anywhere_is_an_error(void **state)
{
    world w;
    (void)state;
    make_hub(&w);
    for (int i = 0; i < LONG_CALLS; i++)
        exhaust(&w, long_calls[i].op, long_calls[i].args);
    world_close(&w);
}

static const mk_json *ask(world *w, mk_arena *trees, const char *op, const char *args, size_t row_budget)
{
    mk_json *tree;
    mk_err err;
    world_must(world_try(w, op, args, row_budget, &err), &err);
    world_must(mk_json_parse(trees, mk_buf_view(&w->result.payload.text), NULL, &tree, &err), &err);
    return tree;
}

static const char *const cut_lists[] = {"edges_added", "edges_removed", "nodes_added", "nodes_removed",
                                        "props_changed"};

/* `part` is the start of `whole`, `limit` long where there is as much; totals are the same. */
static void assert_start(const mk_json *part, const mk_json *whole, size_t limit)
{
    for (size_t k = 0; k < sizeof cut_lists / sizeof *cut_lists; k++) {
        char total[32];
        const mk_json *a = mk_json_get(part, cut_lists[k]), *b = mk_json_get(whole, cut_lists[k]);
        snprintf(total, sizeof total, "%s_total", cut_lists[k]);
        assert_int_equal(mk_json_get(part, total)->i, b->n);
        assert_int_equal(mk_json_get(whole, total)->i, b->n);
        assert_int_equal(a->n, b->n < limit ? b->n : limit);
        for (size_t i = 0; i < a->n && a->items[i].kind == MK_JSON_OBJECT; i++)
            assert_true(mk_str_eq(mk_json_get(&a->items[i], "eid")->text,
                                  mk_json_get(&b->items[i], "eid")->text));
    }
    assert_true(mk_json_get(part, "truncated")->b);
    assert_false(mk_json_get(whole, "truncated")->b);
}

/* A selection of the first by eid must not depend on how many are kept, nor the list on the selection. */
static void test_diff__a_cut_list_is_the_start_of_the_whole_one(void **state)
{
    static const size_t limits[] = {1, 2, 7, 100, 999};
    world_event *events = calloc(HUB_EVENTS, sizeof *events);
    mk_arena trees;
    world w;
    (void)state;
    assert_non_null(events);
    for (int i = 0; i < HUB_EVENTS; i++) {
        world_event *e = &events[i];
        snprintf(e->src, WORLD_UID, "s%d", i % 40);
        snprintf(e->dst, WORLD_UID, "d%d", i);
        snprintf(e->props, WORLD_PROPS, "{}");
        e->rel = "R";
        e->vt_s = i % 3 ? 10 : 0; /* two in three come at 10, the others leave then */
        e->vt_e = i % 3 ? 20 : 10;
    }
    world_open(&w, 500);
    world_ingest(&w, events, HUB_EVENTS, 0);
    mk_arena_init(&trees, &mk_alloc_default);
    const mk_json *whole = ask(&w, &trees, "diff_snapshots", "{\"t1\":5,\"t2\":15}", 1000000);
    const mk_json *added = mk_json_get(whole, "edges_added");
    assert_int_equal(added->n, HUB_EVENTS / 3 * 2);
    assert_int_equal(mk_json_get(whole, "edges_removed")->n, HUB_EVENTS / 3);
    for (size_t i = 1; i < added->n; i++)
        assert_true(mk_str_cmp(mk_json_get(&added->items[i - 1], "eid")->text,
                               mk_json_get(&added->items[i], "eid")->text) < 0);
    for (size_t k = 0; k < sizeof limits / sizeof *limits; k++) {
        char args[64];
        snprintf(args, sizeof args, "{\"limit\":%zu,\"t1\":5,\"t2\":15}", limits[k]);
        assert_start(ask(&w, &trees, "diff_snapshots", args, 0), whole, limits[k]);
    }
    mk_arena_free(&trees);
    world_close(&w);
    free(events);
}

/* A whole result is all of it or a refusal, of every list. */
static void test_series__a_whole_result_is_never_a_part(void **state)
{
    static const char evolution[] = "{\"t1\":50,\"t2\":2900,\"uid\":\"hub\"}";
    world w;
    mk_err err;
    (void)state;
    make_hub(&w);
    /* Five edges and five nodes come, five edges go. */
    assert_int_equal(world_try(&w, "diff_snapshots", "{\"t1\":50,\"t2\":55}", 4, &err), MK_E_LIMIT);
    assert_int_equal(world_try(&w, "diff_snapshots", "{\"t1\":50,\"t2\":55}", 5, &err), MK_OK);
    /* Ten neighbours come, ten go. */
    assert_int_equal(world_try(&w, "neighborhood_evolution", evolution, 9, &err), MK_E_LIMIT);
    assert_int_equal(world_try(&w, "neighborhood_evolution", evolution, 10, &err), MK_OK);
    world_close(&w);
}

static void put_node(world *w, const char *uid, const char *label, const char *props, int64_t vt_s,
                     int64_t vt_e)
{
    mk_err err;
    const mk_op op = {.kind = MK_OP_ASSERT_NODE, .uid = mk_str_of(uid), .label = mk_str_of(label),
                      .props = mk_str_of(props), .vt_s = vt_s, .vt_e = vt_e, .source = MK_STR("ingest"),
                      .provenance_null = true};
    world_must(mk_store_write(w->store, &op, 1, NULL, NULL, &err), &err);
}

/* O-16: what is equal by value has not changed, whatever it looks like; a label always counts. */
static void test_diff__properties_are_compared_by_value(void **state)
{
    static const struct {
        const char *label, *props;
        int changed; /* against {"w":1} under A */
    } later[] = {{"A", "{\"w\":1.0}", 0},   {"A", "{\"w\":true}", 0}, {"A", "{\"w\":2}", 1},
                 {"A", "{\"w\":\"1\"}", 1}, {"A", "{\"w\":null}", 1}, {"A", "{}", 1},
                 {"B", "{\"w\":1}", 1},     {"A", "{\"w\":1}", 0}};
    enum { KINDS = sizeof later / sizeof *later };
    mk_arena trees;
    world w;
    (void)state;
    world_open(&w, 0);
    mk_arena_init(&trees, &mk_alloc_default);
    for (int i = 0; i < KINDS; i++) {
        char uid[16];
        snprintf(uid, sizeof uid, "n%d", i);
        put_node(&w, uid, "A", "{\"w\":1}", 0, 10);
        put_node(&w, uid, later[i].label, later[i].props, 10, 20);
    }
    for (int i = 0; i < KINDS; i++) {
        char args[80];
        snprintf(args, sizeof args,
                 "{\"scope\":{\"hops\":0,\"seeds\":[\"n%d\"]},\"t1\":5,\"t2\":15}", i);
        const mk_json *payload = ask(&w, &trees, "diff_snapshots", args, 0);
        if (mk_json_get(payload, "props_changed_total")->i != later[i].changed)
            fail_msg("%s %s", later[i].label, later[i].props);
        assert_int_equal(mk_json_get(payload, "nodes_added_total")->i, 0);
        assert_int_equal(mk_json_get(payload, "nodes_removed_total")->i, 0);
    }
    mk_arena_free(&trees);
    world_close(&w);
}

/* O-24: two loads give a to b two versions that overlap; the one that starts last stands for the edge. */
static void test_diff__the_last_in_scan_order_stands_for_an_edge_believed_twice(void **state)
{
    static const world_event first = {"a", "b", "R", "{\"w\":1}", 0, 20},
                             second = {"a", "b", "R", "{\"w\":2}", 5, 12};
    static const struct {
        int t1, t2, added, removed, changed;
    } diffs[] = {{2, 8, 0, 0, 1},  {2, 15, 0, 0, 0}, {8, 15, 0, 0, 1},
                 {8, 25, 0, 1, 0}, {25, 8, 1, 0, 0}, {15, 8, 0, 0, 1}};
    mk_arena trees;
    world w;
    (void)state;
    world_open(&w, 0);
    world_ingest(&w, &first, 1, 0);
    world_ingest(&w, &second, 1, 0);
    mk_arena_init(&trees, &mk_alloc_default);
    for (size_t i = 0; i < sizeof diffs / sizeof *diffs; i++) {
        char args[64];
        snprintf(args, sizeof args, "{\"t1\":%d,\"t2\":%d}", diffs[i].t1, diffs[i].t2);
        const mk_json *payload = ask(&w, &trees, "diff_snapshots", args, 0);
        assert_int_equal(mk_json_get(payload, "edges_added_total")->i, diffs[i].added);
        assert_int_equal(mk_json_get(payload, "edges_removed_total")->i, diffs[i].removed);
        assert_int_equal(mk_json_get(payload, "props_changed_total")->i, diffs[i].changed);
    }
    mk_arena_free(&trees);
    world_close(&w);
}

/* O-13: 39 microseconds give 39 points, 40 give 20. */
static void test_neighborhood__the_usual_stride_is_rounded_down(void **state)
{
    static const struct {
        int t2;
        size_t points;
    } spans[] = {{1, 1}, {19, 19}, {20, 20}, {39, 39}, {40, 20}, {59, 30}, {400, 20}};
    mk_arena trees;
    world w;
    (void)state;
    make_hub(&w);
    mk_arena_init(&trees, &mk_alloc_default);
    for (size_t i = 0; i < sizeof spans / sizeof *spans; i++) {
        char args[64];
        snprintf(args, sizeof args, "{\"t1\":0,\"t2\":%d,\"uid\":\"hub\"}", spans[i].t2);
        const mk_json *payload = ask(&w, &trees, "neighborhood_evolution", args, 0);
        const mk_json *points = mk_json_get(payload, "degree_series");
        assert_int_equal(points->n, spans[i].points);
        for (size_t k = 0; k < points->n; k++) { /* at t the events t - 9 to t hold */
            const int64_t t = mk_json_get(&points->items[k], "t")->i;
            assert_int_equal(mk_json_get(&points->items[k], "degree")->i, t < 9 ? t + 1 : 10);
        }
    }
    mk_arena_free(&trees);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_series__buckets_cover_the_window_at_the_bounds_of_time),
        cmocka_unit_test(test_series__the_stride_that_a_refusal_names_passes_and_no_shorter_one),
        cmocka_unit_test(test_burst__sums_have_the_order_of_the_spec),
        cmocka_unit_test(test_burst__long_histories_are_judged_by_the_formulas),
        cmocka_unit_test(test_burst__the_first_change_after_a_constant_history_is_one),
        cmocka_unit_test(test_series__long_loops_look_at_the_clock),
        cmocka_unit_test(test_series__memory_that_runs_out_anywhere_is_an_error),
        cmocka_unit_test(test_diff__a_cut_list_is_the_start_of_the_whole_one),
        cmocka_unit_test(test_series__a_whole_result_is_never_a_part),
        cmocka_unit_test(test_diff__properties_are_compared_by_value),
        cmocka_unit_test(test_diff__the_last_in_scan_order_stands_for_an_edge_believed_twice),
        cmocka_unit_test(test_neighborhood__the_usual_stride_is_rounded_down),
    };
    return cmocka_run_group_tests_name("series", tests, NULL, NULL);
}

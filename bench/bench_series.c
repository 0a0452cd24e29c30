/* bench_series.c — series, bursts, neighbourhoods and diffs on the registry store.
 *
 * Store: that of the evaluation spec, 20.2, with MK_BENCH_ROWS (10,000,000) events, checkpointed. Asked are
 * its queries series.count, burst.zscore, nbr.evolution and diff.global (20.1), the first three against a
 * millisecond, the last against half a microsecond for each version that differs; then metrics and selectors
 * that have to look at every event, and the longest histories of bursts. Whole calls over one open view,
 * medians, in CPU time. */
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "load/synth.h"
#include "op/burst_detection.h"
#include "op/call.h"

#define ROUNDS 15
#define ROUNDS_SLOW 5 /* of calls that read every event */
#define HISTORY 500u

typedef struct bench {
    mk_store *store;
    mk_view *view;
    mk_arena arena;
    mk_call_result result;
    long long span;
} bench;

static mk_code write_batch(void *ctx, const mk_op *ops, size_t count, mk_tt tt, mk_err *err)
{
    (void)tt;
    return mk_store_write(ctx, ops, count, NULL, NULL, err);
}

static void load(bench *b, uint64_t events)
{
    const mk_store_options open = {.mode = MK_OPEN_CREATE_WRITER, .manual = true};
    mk_synth_options options = mk_synth_defaults(MK_SYNTH_REGISTRY);
    mk_synth_report report;
    char dir[1024];
    mk_err err;
    options.events = events;
    b->span = (long long)events;
    mk_synth_report_init(&report, &mk_alloc_default);
    bench_remove(bench_path(dir, "series"));
    bench_ok(mk_store_open(dir, &open, &b->store, &err), &err, "open");
    bench_ok(mk_synth_run(&options, write_batch, b->store, &report, &err), &err, "load");
    bench_ok(mk_store_checkpoint(b->store, &err), &err, "checkpoint");
    bench_ok(mk_view_at(b->store, (mk_tt){MK_OPEN_END}, 0, &b->view, &err), &err, "view");
    mk_arena_init(&b->arena, &mk_alloc_default);
    mk_call_result_init(&b->result, &mk_alloc_default);
    mk_synth_report_free(&report);
}

static void unload(bench *b)
{
    mk_err err;
    mk_call_result_free(&b->result);
    mk_arena_free(&b->arena);
    mk_view_close(b->view);
    bench_ok(mk_store_close(b->store, &err), &err, "close");
}

/* Median milliseconds of one call, after a first that is not counted. */
static double ask(bench *b, const char *op, const char *args, int rounds)
{
    const mk_call_options options = {.ceilings = {.rows_scanned_est = INT64_MAX,
                                                  .expansions_est = INT64_MAX,
                                                  .time_est_ms = INT64_MAX}};
    double times[ROUNDS];
    mk_err err;
    for (int round = -1; round < rounds; round++) {
        const double begun = bench_cpu();
        bench_ok(mk_call_run(b->store, b->view, mk_str_of(op), mk_str_of(args), &options, &b->arena,
                             &b->result, &err),
                 &err, op);
        if (round >= 0)
            times[round] = (bench_cpu() - begun) * 1000;
    }
    return bench_median(times, (size_t)rounds);
}

/* ---- the registry's four ---- */

static void bench_places(bench *b)
{
    const long long stride = b->span / 100 > 1 ? b->span / 100 : 1, mid = b->span / 2;
    char args[256];
    snprintf(args, sizeof args,
             "{\"metric\":\"edge_event_count\",\"stride\":%lld,\"window\":{\"t_a\":0,\"t_b\":%lld}}", stride,
             b->span);
    bench_bar("series.count", ask(b, "graph_metric_timeseries", args, ROUNDS), "ms", BENCH_AT_MOST, 1);
    snprintf(args, sizeof args,
             "{\"stride\":%lld,\"target\":{\"kind\":\"edge_event_rate\"},"
             "\"window\":{\"t_a\":0,\"t_b\":%lld}}",
             stride, b->span);
    bench_bar("burst.zscore", ask(b, "burst_detection", args, ROUNDS), "ms", BENCH_AT_MOST, 1);
    snprintf(args, sizeof args, "{\"t1\":%lld,\"t2\":%lld,\"uid\":\"n1\"}", mid, mid + b->span / 10);
    bench_bar("nbr.evolution", ask(b, "neighborhood_evolution", args, ROUNDS), "ms", BENCH_AT_MOST, 1);
}

/* Sum of the payload's members that end in _total. */
static double differences(const bench *b)
{
    static const char *const totals[] = {"edges_added_total", "edges_removed_total",
                                         "nodes_added_total", "nodes_removed_total",
                                         "props_changed_total"};
    double sum = 0;
    for (size_t i = 0; i < sizeof totals / sizeof *totals; i++) {
        int64_t value = 0;
        mk_str raw;
        bench_must(mk_canon_member(mk_buf_view(&b->result.payload.text), totals[i], &raw) &&
                       mk_str_to_i64(raw, &value),
                   totals[i]);
        sum += (double)value;
    }
    return sum;
}

static void bench_diff(bench *b, const char *name, long long t1, long long t2, bool bar)
{
    char args[96], label[96];
    snprintf(args, sizeof args, "{\"t1\":%lld,\"t2\":%lld}", t1, t2);
    const double ms = ask(b, "diff_snapshots", args, ROUNDS), count = differences(b);
    snprintf(label, sizeof label, "%s, %.0f differences, one of them", name, count);
    if (bar)
        bench_bar(label, ms * 1000 / count, "us", BENCH_AT_MOST, 0.5);
    else
        bench_row(label, ms * 1000 / count, "us", "");
}

/* ---- what reads every event, or scores at length ---- */

static void bench_metrics(bench *b)
{
    static const char *const metrics[] = {"active_edge_count", "mean_out_degree", "new_node_rate",
                                          "reciprocity"};
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++) {
        char args[160];
        snprintf(args, sizeof args, "{\"metric\":\"%s\",\"stride\":%lld,\"window\":{\"t_a\":0,\"t_b\":%lld}}",
                 metrics[i], b->span / 100 + 1, b->span);
        bench_row(metrics[i], ask(b, "graph_metric_timeseries", args, ROUNDS_SLOW), "ms", "");
    }
}

static void bench_selectors(bench *b)
{
    static const char *const targets[][2] = {
        {"bursts of one relation type", "\"kind\":\"edge_event_rate\",\"rel_type\":\"S\""},
        {"bursts of one entity", "\"kind\":\"node_activity\",\"uid\":\"n1\""}};
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        char args[256];
        snprintf(args, sizeof args, "{\"stride\":%lld,\"target\":{%s},\"window\":{\"t_a\":0,\"t_b\":%lld}}",
                 b->span / 100 + 1, targets[i][1], b->span);
        bench_row(targets[i][0], ask(b, "burst_detection", args, ROUNDS_SLOW), "ms", "");
    }
}

/* The most there is: 2000 buckets, each with 500 before it. */
static void bench_scores(void)
{
    static double values[MK_BUCKETS_MAX];
    static mk_burst out[MK_BUCKETS_MAX];
    uint64_t seed = 1;
    for (size_t i = 0; i < MK_BUCKETS_MAX; i++)
        values[i] = (double)(bench_random(&seed) % 1000);
    for (int ratio = 0; ratio < 2; ratio++) {
        const mk_burst_args args = {.history = HISTORY, .threshold = 1.0, .ratio = ratio};
        double times[ROUNDS];
        for (int round = 0; round < ROUNDS; round++) {
            const double begun = bench_cpu();
            bench_must(mk_burst_find(values, MK_BUCKETS_MAX, &args, out) > 0, "bursts");
            times[round] = (bench_cpu() - begun) * 1000;
        }
        bench_row(ratio ? "kernel, 2000 scores by ratio, histories of 500"
                        : "kernel, 2000 scores by zscore, histories of 500",
                  bench_median(times, ROUNDS), "ms", "");
    }
}

int main(void)
{
    bench b = {.span = 0};
    bench_pin();
    bench_reference();
    bench_scores();
    load(&b, bench_rows(10000000));
    bench_note("registry store of %lld events", b.span);
    bench_places(&b);
    const long long mid = b.span / 2;
    bench_diff(&b, "diff.global", mid, mid + b.span / 40, true);
    bench_diff(&b, "diff.global backwards", mid + b.span / 40, mid, false);
    bench_diff(&b, "diff of a hundredth of that", mid, mid + b.span / 4000, false);
    bench_metrics(&b);
    bench_selectors(&b);
    unload(&b);
    return 0;
}

/* test_op_cost.c — an admitted call stays within what was estimated.
 *
 * Goal: the estimate that admits a call bounds what the call then takes. Method: the registry's queries and a
 * few wider ones on a store of 60,000 intervals; processor time against TIME_FACTOR times the estimate,
 * scratch memory against BYTES_PER_UNIT for each estimated unit. The factors are wide on purpose: sanitizers
 * slow a call down tenfold, and a busy machine must not fail the test; a call whose cost grows with something
 * the estimate does not know still does, by far. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "../support/tmpdir.h"
#include "eval/bench.h"

enum { SCALE = 60000, TIME_FACTOR = 40, BYTES_PER_UNIT = 256, RUNS = 3 };
#define TIME_FLOOR_MS 250.0
#define BYTES_FLOOR                                                                                          \
    ((size_t)24 << 20) /* the out lists that a search may keep within its visits, and arrays by entity */

typedef struct world {
    tmpdir dir;
    char path[TMPDIR_PATH_MAX + 16];
    mk_store *store;
    size_t calls;
} world;

static double cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int world_open(void **state)
{
    world *w = calloc(1, sizeof *w);
    mk_err err;
    const mk_store_options reader = {.mode = MK_OPEN_READER};
    assert_non_null(w);
    tmpdir_make(&w->dir);
    snprintf(w->path, sizeof w->path, "%s/store", w->dir.path);
    if (mk_bench_make(w->path, MK_BENCH_REGISTRY, SCALE, NULL, NULL, &err) != MK_OK)
        fail_msg("%s", err.message);
    if (mk_store_open(w->path, &reader, &w->store, &err) != MK_OK)
        fail_msg("%s", err.message);
    *state = w;
    return 0;
}

static int world_close(void **state)
{
    world *w = *state;
    assert_int_equal(mk_store_close(w->store, NULL), MK_OK);
    tmpdir_remove(&w->dir);
    free(w);
    return 0;
}

static mk_code check_call(void *ctx, const char *name, const char *op, mk_str args, mk_err *err)
{
    world *w = ctx;
    mk_arena arena;
    mk_call_result result;
    double best = 1e18;
    mk_arena_init(&arena, &mk_alloc_default);
    mk_call_result_init(&result, &mk_alloc_default);
    for (int i = 0; i < RUNS; i++) {
        const double start = cpu_ms();
        const mk_code rc = mk_call_run(w->store, NULL, mk_str_of(op), args, NULL, &arena, &result, err);
        const double took = cpu_ms() - start;
        if (rc != MK_OK)
            fail_msg("%s: %s", name, err->message);
        best = took < best ? took : best;
    }
    const double units = (double)(result.cost.rows_scanned_est + result.cost.expansions_est);
    const double time_max = TIME_FLOOR_MS + TIME_FACTOR * (double)result.cost.time_est_ms;
    if (best > time_max)
        fail_msg("%s took %.1f ms of processor time, estimated %lld", name, best,
                 (long long)result.cost.time_est_ms);
    if ((double)arena.total > (double)BYTES_FLOOR + BYTES_PER_UNIT * units)
        fail_msg("%s took %zu bytes for %.0f estimated units", name, arena.total, units);
    w->calls++;
    mk_call_result_free(&result);
    mk_arena_free(&arena);
    return MK_OK;
}

static void test_op_cost__the_registry_stays_within_its_estimates(void **state)
{
    world *w = *state;
    mk_err err;
    w->calls = 0;
    assert_int_equal(mk_bench_queries(SCALE, check_call, w, &err), MK_OK);
    assert_int_equal(w->calls, 13);
}

static void test_op_cost__wide_questions_stay_within_their_estimates(void **state)
{
    static const struct {
        const char *op, *args;
    } calls[] = {
        {"version_history", "{\"belief\":\"all\",\"kind\":\"edge\",\"window\":{\"t_a\":0,\"t_b\":60000}}"},
        {"diff_snapshots", "{\"limit\":10000,\"t1\":3000,\"t2\":57000}"},
        {"graph_metric_timeseries",
         "{\"metric\":\"reciprocity\",\"stride\":100,\"window\":{\"t_a\":0,\"t_b\":60000}}"},
        {"graph_metric_timeseries",
         "{\"metric\":\"mean_out_degree\",\"stride\":30,\"window\":{\"t_a\":0,\"t_b\":60000}}"},
        {"temporal_reachability", "{\"src\":\"n1\",\"window\":{\"t_a\":0,\"t_b\":60000}}"},
        {"temporal_reachability_to", "{\"dst\":\"n1\",\"window\":{\"t_a\":0,\"t_b\":60000}}"},
        {"aggregate_events",
         "{\"aggregates\":[{\"agg\":\"count\"}],\"group_by\":[{\"dim\":\"endpoint\",\"role\":\"src\"},"
         "{\"dim\":\"endpoint\",\"role\":\"dst\"}],\"window\":{\"t_a\":0,\"t_b\":60000}}"},
        {"count_temporal_motifs",
         "{\"delta\":600,\"motif\":\"M_star_out_3\",\"window\":{\"t_a\":0,\"t_b\":60000}}"},
        {"snapshot_subgraph",
         "{\"hops\":3,\"limit\":10000,\"seeds\":[\"n1\",\"n2\",\"n3\"],\"t_valid\":30000}"},
    };
    world *w = *state;
    mk_err err;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        assert_int_equal(check_call(w, calls[i].op, calls[i].op, mk_str_of(calls[i].args), &err), MK_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_op_cost__the_registry_stays_within_its_estimates),
        cmocka_unit_test(test_op_cost__wide_questions_stay_within_their_estimates),
    };
    return cmocka_run_group_tests_name("op_cost", tests, world_open, world_close);
}

/* test_arrival.c — reachability in time and paths, where stores are too large for the oracles.
 *
 * Goal: earliest arrivals and latest departures are right whatever arcs share an instant, wherever blocks end
 * and whether rows lie in segments or in the tail; budgets of visits are counted to the last one, and by the
 * candidates of the belief that is asked about (operators spec, 7.4, 7.5, O-28); memory that runs out and
 * calls that are no longer wanted end with an error. Method: random edge lists against relaxation of all
 * edges until nothing changes; stores whose number of visits is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../support/testalloc.h"
#include "../support/tmpdir.h"
#include "op/call.h"
#include "op/temporal_paths.h"

enum { EDGES_MAX = 6000, NODES_MAX = 1200 };

typedef mk_code search_fn(mk_view *view, mk_arena *arena, const mk_arrival_args *args, mk_guard *guard,
                          mk_reached *out, mk_err *err);

typedef struct edge {
    uint32_t src, dst;
    int64_t s, e;
} edge;

typedef struct fixture {
    tmpdir dir;
    mk_store *store;
    mk_view *view;
    mk_arena arena;
    edge edges[EDGES_MAX]; /* all that the store holds */
    size_t count;
    uint32_t ids[NODES_MAX]; /* dense ids; MK_NO_ID: in no edge */
} fixture;

/* A sequence that is the same in every run (Steele, Lea, Flood 2014). */
static uint64_t next_random(uint64_t *seed)
{
    uint64_t x = *seed += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

static void must(mk_code rc, const mk_err *err)
{
    if (rc != MK_OK)
        fail_msg("%s: %s", mk_code_name(rc), err->message);
}

/* ---- stores ---- */

static void open_store(fixture *f)
{
    char path[TMPDIR_PATH_MAX];
    mk_err err;
    const mk_store_options options = {.mode = MK_OPEN_CREATE_WRITER, .manual = true};
    tmpdir_make(&f->dir);
    must(mk_store_open(tmpdir_join(&f->dir, "store", path), &options, &f->store, &err), &err);
    mk_arena_init(&f->arena, &mk_alloc_default);
    f->view = NULL;
    f->count = 0;
}

static void close_store(fixture *f)
{
    mk_err err;
    mk_view_close(f->view);
    mk_arena_free(&f->arena);
    must(mk_store_close(f->store, &err), &err);
    tmpdir_remove(&f->dir);
}

static int set_up(void **state)
{
    static fixture f;
    open_store(&f);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    close_store(*state);
    return 0;
}

static mk_str uid_of(uint32_t node, char text[16])
{
    return (mk_str){text, (size_t)snprintf(text, 16, "n%u", node)};
}

/* Edges [from, count) of the fixture as one batch. */
static mk_tt write_edges(fixture *f, size_t from)
{
    static mk_event events[EDGES_MAX];
    static char names[EDGES_MAX][2][16];
    const size_t n = f->count - from;
    mk_tt tt;
    mk_err err;
    for (size_t i = 0; i < n; i++) {
        const edge *e = &f->edges[from + i];
        events[i] = (mk_event){.src = uid_of(e->src, names[i][0]), .dst = uid_of(e->dst, names[i][1]),
                               .rel_type = MK_STR("R"), .disc_kind = MK_DISC_DEFAULT, .vt_s = e->s,
                               .vt_e = e->e, .has_vt_e = true};
    }
    const mk_op op = {.kind = MK_OP_INGEST_EVENTS, .source = MK_STR("ingest"), .provenance_null = true,
                      .events = events, .event_count = n, .offset = (int64_t)from};
    must(mk_store_write(f->store, &op, 1, NULL, &tt, &err), &err);
    return tt;
}

static void open_view(fixture *f, mk_tt as_of)
{
    char text[16];
    mk_err err;
    mk_view_close(f->view);
    f->view = NULL;
    must(mk_view_at(f->store, as_of, 0, &f->view, &err), &err);
    for (uint32_t i = 0; i < NODES_MAX; i++)
        f->ids[i] = mk_view_entity(f->view, uid_of(i, text));
}

static void add(fixture *f, uint32_t src, uint32_t dst, int64_t s, int64_t e)
{
    assert_true(f->count < EDGES_MAX && src < NODES_MAX && dst < NODES_MAX);
    f->edges[f->count++] = (edge){src, dst, s, e};
}

static mk_code search(fixture *f, search_fn *fn, const mk_arrival_args *args, mk_reached *out, mk_err *err)
{
    mk_guard guard;
    mk_guard_init(&guard, NULL, 0, NULL);
    mk_arena_reset(&f->arena);
    return fn(f->view, &f->arena, args, &guard, out, err);
}

/* ---- the definitions ---- */

/* times[node] = earliest arrival, MK_NEVER without one: all edges again and again. */
static void arrive(const fixture *f, uint32_t src, const mk_arrival_args *args, int64_t times[NODES_MAX])
{
    for (uint32_t i = 0; i < NODES_MAX; i++)
        times[i] = MK_NEVER;
    times[src] = args->t_a;
    for (bool again = true; again;) {
        again = false;
        for (size_t i = 0; i < f->count; i++)
            for (int back = 0; back < 2; back++) {
                const edge *e = &f->edges[i];
                const uint32_t x = back ? e->dst : e->src, y = back ? e->src : e->dst;
                const int64_t t = times[x] > e->s ? times[x] : e->s;
                if (args->arcs == (back ? MK_ARCS_OUT : MK_ARCS_IN) || t >= e->e || t >= args->t_b ||
                    t >= times[y])
                    continue;
                times[y] = t;
                again = true;
            }
    }
}

/* times[node] = latest departure towards dst, MK_NEVER without one. */
static void depart(const fixture *f, uint32_t dst, const mk_arrival_args *args, int64_t times[NODES_MAX])
{
    for (uint32_t i = 0; i < NODES_MAX; i++)
        times[i] = -1;
    times[dst] = args->t_b - 1;
    for (bool again = true; again;) {
        again = false;
        for (size_t i = 0; i < f->count; i++) {
            const edge *e = &f->edges[i];
            const int64_t t = times[e->dst] < e->e - 1 ? times[e->dst] : e->e - 1;
            if (t < args->t_a || t < e->s || t <= times[e->src])
                continue;
            times[e->src] = t;
            again = true;
        }
    }
    for (uint32_t i = 0; i < NODES_MAX; i++)
        times[i] = times[i] < 0 ? MK_NEVER : times[i];
}

/* The list holds each node but `self` with the time that it should have, once. */
static void assert_times(const fixture *f, const mk_reached *got, const int64_t times[NODES_MAX],
                         uint32_t self, int sign, uint64_t seed)
{
    static int64_t found[NODES_MAX];
    for (uint32_t i = 0; i < NODES_MAX; i++)
        found[i] = MK_NEVER;
    for (size_t i = 0; i < got->count; i++) {
        uint32_t node = 0;
        while (node < NODES_MAX && f->ids[node] != got->list[i].id)
            node++;
        assert_true(node < NODES_MAX && node != self && found[node] == MK_NEVER);
        found[node] = sign * got->list[i].rank;
    }
    for (uint32_t i = 0; i < NODES_MAX; i++)
        if (i != self && found[i] != times[i])
            fail_msg("seed %llu, n%u: %lld, expected %lld", (unsigned long long)seed, i,
                     (long long)found[i], (long long)times[i]);
}

static void check(fixture *f, uint32_t node, mk_arrival_args args, uint64_t seed)
{
    static int64_t times[NODES_MAX];
    mk_reached got;
    mk_err err;
    args.src = f->ids[node];
    for (mk_arcs arcs = MK_ARCS_OUT; arcs <= MK_ARCS_BOTH; arcs++) {
        args.arcs = arcs;
        arrive(f, node, &args, times);
        must(search(f, mk_arrival_earliest, &args, &got, &err), &err);
        assert_times(f, &got, times, node, 1, seed);
    }
    depart(f, node, &args, times);
    must(search(f, mk_departure_latest, &args, &got, &err), &err);
    assert_times(f, &got, times, node, -1, seed);
}

/* ---- random edges ---- */

/* How many edges, nodes and starts there are, and how long an edge may last. */
typedef struct shape {
    uint32_t edges, nodes, starts, lasts;
} shape;

static uint32_t below(uint64_t *seed, uint32_t bound) { return (uint32_t)(next_random(seed) % bound); }

static void fill(fixture *f, const shape *how, uint64_t *seed)
{
    for (uint32_t i = 0; i < how->edges; i++) {
        const uint32_t src = below(seed, how->nodes), dst = below(seed, how->nodes);
        const int64_t s = below(seed, how->starts);
        add(f, src, dst, s, s + 1 + below(seed, how->lasts));
    }
}

/* Half of the edges in segments, half in the tail or everything in one place, as the seed has it. */
static void write_split(fixture *f, uint64_t *seed)
{
    const size_t all = f->count;
    mk_err err;
    f->count = next_random(seed) % 2 ? all / 2 : all;
    write_edges(f, 0);
    if (next_random(seed) % 3)
        must(mk_store_checkpoint(f->store, &err), &err);
    if (f->count < all) {
        const size_t from = f->count;
        f->count = all;
        write_edges(f, from);
    }
    open_view(f, (mk_tt){MK_OPEN_END});
}

static void check_shape(const shape *how, uint64_t seed)
{
    static fixture f;
    const uint64_t first = seed;
    const uint32_t most = how->starts + how->lasts;
    open_store(&f);
    fill(&f, how, &seed);
    write_split(&f, &seed);
    for (int i = 0; i < 6; i++) {
        const edge *start = &f.edges[next_random(&seed) % f.count];
        const int64_t t_a = i == 0 ? 0 : below(&seed, how->starts);
        const int64_t t_b = i < 2 ? (int64_t)most + 1 : t_a + 1 + below(&seed, most);
        check(&f, i % 2 ? start->src : start->dst, (mk_arrival_args){.t_a = t_a, .t_b = t_b}, first);
    }
    close_store(&f);
}

/* Instants that hold one event and thousands, that fit a block and that go over several. */
static void test_arrival__instants_are_taken_until_nothing_changes(void **state)
{
    (void)state;
    static const shape shapes[] = {
        {3000, 900, 1, 1},  {5000, 1100, 2, 1},  {5000, 900, 5, 1},    {4000, 1000, 17, 1},
        {3000, 800, 60, 1}, {2000, 700, 500, 1}, {3000, 500, 3000, 1}, {200, 150, 3, 1},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (uint64_t seed = 1; seed <= 4; seed++)
            check_shape(&shapes[i], seed * 100 + i);
}

static void test_arrival__edges_that_last_wait_for_their_tails(void **state)
{
    (void)state;
    static const shape shapes[] = {
        {2000, 900, 1, 3},     {2000, 800, 40, 10},     {1500, 700, 500, 40},
        {1500, 700, 500, 2},   {1200, 1000, 2000, 900}, {60, 20, 30, 6},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (uint64_t seed = 1; seed <= 4; seed++)
            check_shape(&shapes[i], seed * 100 + i);
}

/* A chain at one instant, last arc first: gone over again for each arc, it would take a million looks. */
static void chain(fixture *f, uint32_t length, int64_t at)
{
    for (uint32_t i = length; i-- > 0;)
        add(f, i, i + 1, at, at + 1);
}

static void test_arrival__a_chain_inside_one_instant_is_followed(void **state)
{
    fixture *f = *state;
    static const uint32_t lengths[] = {3, 255, 256, 257, 1100};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        chain(f, lengths[i], (int64_t)i * 10);
        add(f, lengths[i], 0, (int64_t)i * 10 + 1, (int64_t)i * 10 + 2);
    }
    write_edges(f, 0);
    open_view(f, (mk_tt){MK_OPEN_END});
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        const int64_t at = (int64_t)i * 10;
        mk_reached got;
        mk_err err;
        const mk_arrival_args args = {.src = f->ids[0], .t_a = at, .t_b = at + 2};
        must(search(f, mk_arrival_earliest, &args, &got, &err), &err);
        assert_int_equal(got.count, lengths[i]);
        assert_int_equal(got.list[got.count - 1].rank, at);
        check(f, lengths[i] / 2, args, i);
    }
}

/* An instant that is crowded, one that is not, and one that is crowded again and must not see the first. */
static void test_arrival__a_crowded_instant_ends(void **state)
{
    fixture *f = *state;
    for (uint32_t i = 0; i < 600; i++)
        add(f, 500 + i, 1, 5, 6); /* n1 only from those that nobody reaches in time */
    add(f, 0, 2, 5, 6);
    add(f, 2, 500, 6, 7);
    for (uint32_t i = 0; i < 600; i++)
        add(f, 3, 4 + i % 300, 7, 8);
    add(f, 500, 3, 7, 8);
    write_edges(f, 0);
    open_view(f, (mk_tt){MK_OPEN_END});
    static int64_t times[NODES_MAX];
    mk_reached got;
    mk_err err;
    const mk_arrival_args args = {.src = f->ids[0], .t_b = 100};
    arrive(f, 0, &args, times);
    assert_true(times[1] == MK_NEVER && times[500] == 6 && times[4] == 7);
    must(search(f, mk_arrival_earliest, &args, &got, &err), &err);
    assert_times(f, &got, times, 0, 1, 0);
    assert_int_equal(got.count, 303);
}

/* ---- what temporal_reachability_to promises ---- */

/* Law: x is listed with d exactly when dst can be reached from x in [d, t_b), and not in [d + 1, t_b). */
static void test_arrival__a_latest_departure_still_arrives_and_a_later_one_does_not(void **state)
{
    fixture *f = *state;
    uint64_t seed = 9;
    fill(f, &(shape){400, 60, 50, 12}, &seed);
    write_edges(f, 0);
    open_view(f, (mk_tt){MK_OPEN_END});
    static int64_t departure[NODES_MAX];
    mk_reached got;
    mk_err err;
    const mk_arrival_args to = {.src = f->ids[7], .t_a = 10, .t_b = 40};
    must(search(f, mk_departure_latest, &to, &got, &err), &err);
    for (uint32_t i = 0; i < 60; i++)
        departure[i] = MK_NEVER;
    for (uint32_t i = 0; i < 60; i++)
        for (size_t k = 0; k < got.count; k++)
            if (got.list[k].id == f->ids[i])
                departure[i] = -got.list[k].rank;
    for (uint32_t i = 0; i < 60; i++)
        for (int64_t t = 10; i != 7 && f->ids[i] != MK_NO_ID && t < 40; t++) {
            const mk_arrival_args from = {.src = f->ids[i], .t_a = t, .t_b = 40};
            bool arrives = false;
            must(search(f, mk_arrival_earliest, &from, &got, &err), &err);
            for (size_t k = 0; k < got.count; k++)
                arrives |= got.list[k].id == f->ids[7];
            assert_int_equal(arrives, departure[i] != MK_NEVER && t <= departure[i]);
        }
}

/* ---- budgets ---- */

/* The start has `fan` arcs to a hub that has 999: fan + fan * 999 visits. */
static void fan_out(fixture *f, uint32_t fan)
{
    for (uint32_t i = 0; i < fan; i++)
        add(f, 0, 1, 1000 + i, 1001 + i);
    for (uint32_t i = 0; i < 999; i++)
        add(f, 1, 2 + i, 1000, 1001);
}

static void assert_over_budget(mk_code rc, const mk_err *err, const char *lever)
{
    assert_int_equal(rc, MK_E_COST);
    assert_non_null(strstr(err->extra, "\"expansions_est\":500001"));
    assert_non_null(strstr(err->extra, lever));
}

static void test_arrival__bounded_waits_cost_a_visit_for_every_arc_of_a_state(void **state)
{
    fixture *f = *state;
    mk_reached got;
    mk_err err;
    mk_arrival_args args = {.t_b = 5000, .wait_max = 10};
    fan_out(f, 500);
    write_edges(f, 0);
    open_view(f, (mk_tt){MK_OPEN_END});
    args.src = f->ids[0];
    must(search(f, mk_arrival_bounded, &args, &got, &err), &err); /* 500,000 */
    assert_int_equal(got.count, 1000); /* all leaves at the hub's first arrival */
    const size_t from = f->count;
    add(f, 0, 2, 1000, 1001);
    write_edges(f, from);
    open_view(f, (mk_tt){MK_OPEN_END});
    assert_over_budget(search(f, mk_arrival_bounded, &args, &got, &err), &err, "delta_max_wait");
}

/* L loops make L + 1 states of L arcs, and of 2 L where a loop is met from both sides. */
static void test_arrival__a_self_loop_costs_two_visits_in_both_directions(void **state)
{
    fixture *f = *state;
    mk_reached got;
    mk_err err;
    mk_arrival_args args = {.t_b = 5000, .wait_max = 4000};
    for (uint32_t i = 1; i <= 499; i++)
        add(f, 0, 0, i, i + 1);
    write_edges(f, 0);
    open_view(f, (mk_tt){MK_OPEN_END});
    args.src = f->ids[0];
    args.arcs = MK_ARCS_BOTH;
    must(search(f, mk_arrival_bounded, &args, &got, &err), &err); /* 499,000 */
    assert_int_equal(got.count, 0);
    add(f, 0, 0, 500, 501);
    write_edges(f, 499);
    open_view(f, (mk_tt){MK_OPEN_END});
    assert_over_budget(search(f, mk_arrival_bounded, &args, &got, &err), &err,
                       "delta_max_wait"); /* 501,000 */
    args.arcs = MK_ARCS_IN;
    must(search(f, mk_arrival_bounded, &args, &got, &err), &err); /* 250,500 */
}

static mk_code find_paths(fixture *f, uint32_t dst, int64_t hops_max, mk_paths *paths, mk_err *err)
{
    mk_guard guard;
    const mk_path_args args = {.src = f->ids[0], .dst = f->ids[dst], .t_a = 1000, .t_b = 2000,
                               .hops_max = hops_max, .k = 3};
    mk_guard_init(&guard, NULL, 0, NULL);
    mk_arena_reset(&f->arena);
    return mk_paths_find(f->view, &f->arena, &args, &guard, paths, err);
}

static void test_arrival__paths_cost_a_visit_for_every_candidate_of_their_belief(void **state)
{
    fixture *f = *state;
    mk_paths paths;
    mk_err err;
    fan_out(f, 500);
    write_edges(f, 0);
    open_view(f, (mk_tt){MK_OPEN_END});
    must(find_paths(f, 2, 2, &paths, &err), &err); /* 500,000 */
    assert_int_equal(paths.total, 1); /* the leaf's only arc is an instant */
    assert_int_equal(paths.best[0].hops, 2);
    size_t from = f->count;
    add(f, 0, 2, 10, 20); /* over before the window begins */
    const mk_tt before = write_edges(f, from);
    open_view(f, (mk_tt){MK_OPEN_END});
    assert_over_budget(find_paths(f, 2, 2, &paths, &err), &err, "max_hops");
    must(find_paths(f, 2, 1, &paths, &err), &err); /* the last hop is looked at, and not beyond */
    assert_int_equal(paths.total, 0);
    from = f->count;
    add(f, 1100, 1101, 1, 2); /* makes the belief of then a past one */
    write_edges(f, from);
    open_view(f, before);
    must(find_paths(f, 2, 2, &paths, &err), &err); /* O-28 */
    assert_int_equal(paths.total, 1);
}

/* ---- calls that cannot end well ---- */

static const struct {
    const char *op, *args;
} calls[] = {
    {"temporal_reachability", "{\"src\":\"n0\",\"window\":{\"t_a\":0,\"t_b\":200}}"},
    {"temporal_reachability", "{\"src\":\"n0\",\"direction\":\"both\",\"window\":{\"t_a\":0,\"t_b\":200}}"},
    {"temporal_reachability", "{\"src\":\"n0\",\"delta_max_wait\":3,\"window\":{\"t_a\":0,\"t_b\":200}}"},
    {"temporal_reachability", "{\"src\":\"n0\",\"window\":{\"t_a\":0,\"t_b\":5000}}"},
    {"temporal_reachability_to", "{\"dst\":\"n0\",\"window\":{\"t_a\":0,\"t_b\":5000}}"},
    {"temporal_paths", "{\"src\":\"n0\",\"dst\":\"n1\",\"max_hops\":3,\"window\":{\"t_a\":0,\"t_b\":200}}"},
};

/* Instants, crowded ones too, and edges that last behind them. */
static void write_mixture(fixture *f)
{
    uint64_t seed = 3;
    fill(f, &(shape){900, 300, 3, 1}, &seed);
    fill(f, &(shape){600, 300, 100, 1}, &seed);
    for (uint32_t i = 0; i < 300; i++) {
        const uint32_t src = below(&seed, 300);
        add(f, src, below(&seed, 300), 1000 + i, 1100 + i);
    }
    write_edges(f, 0);
}

static void test_arrival__memory_that_runs_out_is_an_error(void **state)
{
    fixture *f = *state;
    write_mixture(f);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        mk_code rc = MK_E_NOMEM;
        for (uint64_t n = 1; rc != MK_OK; n++) {
            testalloc ta;
            mk_arena arena;
            mk_call_result result;
            mk_err err;
            testalloc_init(&ta);
            mk_arena_init(&arena, &ta.hook);
            mk_call_result_init(&result, &ta.hook);
            testalloc_fail(&ta, n, true);
            rc = mk_call_run(f->store, NULL, mk_str_of(calls[i].op), mk_str_of(calls[i].args), NULL, &arena,
                             &result, &err);
            assert_true(rc == MK_OK || rc == MK_E_NOMEM);
            mk_call_result_free(&result);
            mk_arena_free(&arena);
            assert_true(testalloc_is_clean(&ta));
            testalloc_free(&ta);
        }
    }
}

static void test_arrival__a_call_that_is_no_longer_wanted_ends(void **state)
{
    fixture *f = *state;
    atomic_bool cancelled = true;
    mk_reached got;
    mk_paths paths;
    mk_err err;
    write_mixture(f);
    open_view(f, (mk_tt){MK_OPEN_END});
    static search_fn *const searches[] = {mk_arrival_earliest, mk_arrival_bounded, mk_departure_latest};
    for (size_t i = 0; i <= sizeof searches / sizeof *searches; i++) {
        const mk_arrival_args args = {.src = f->ids[0], .t_b = 5000, .wait_max = 50};
        const mk_path_args between = {
            .src = f->ids[0], .dst = f->ids[1], .t_b = 5000, .hops_max = 4, .k = 2};
        mk_guard guard;
        mk_guard_init(&guard, NULL, 0, NULL);
        guard.cancelled = &cancelled;
        guard.countdown = 5;
        mk_arena_reset(&f->arena);
        const mk_code rc = i < sizeof searches / sizeof *searches
                               ? searches[i](f->view, &f->arena, &args, &guard, &got, &err)
                               : mk_paths_find(f->view, &f->arena, &between, &guard, &paths, &err);
        assert_int_equal(rc, MK_E_CANCELLED);
    }
}

#define ON_A_STORE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arrival__instants_are_taken_until_nothing_changes),
        cmocka_unit_test(test_arrival__edges_that_last_wait_for_their_tails),
        ON_A_STORE(test_arrival__a_chain_inside_one_instant_is_followed),
        ON_A_STORE(test_arrival__a_crowded_instant_ends),
        ON_A_STORE(test_arrival__a_latest_departure_still_arrives_and_a_later_one_does_not),
        ON_A_STORE(test_arrival__bounded_waits_cost_a_visit_for_every_arc_of_a_state),
        ON_A_STORE(test_arrival__a_self_loop_costs_two_visits_in_both_directions),
        ON_A_STORE(test_arrival__paths_cost_a_visit_for_every_candidate_of_their_belief),
        ON_A_STORE(test_arrival__memory_that_runs_out_is_an_error),
        ON_A_STORE(test_arrival__a_call_that_is_no_longer_wanted_ends),
    };
    return cmocka_run_group_tests_name("arrival", tests, NULL, NULL);
}

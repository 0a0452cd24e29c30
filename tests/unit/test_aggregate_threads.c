/* test_aggregate_threads.c — aggregate_events gives the same answer with any number of threads.
 *
 * Goal: rows, their order and every number are those of one thread, and errors of one thread end the call.
 * Method: a store of many parts (segments, rows that ended, a tail), every kind of dimension and aggregate,
 * pools of 1 to 5 threads, and no least number of events; the answers are compared as text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../support/aggregate_world.h"
#include "base/num.h"

enum { EVENTS = 6000, BATCH = 500, UIDS = 90, SPAN = 20000 };

static uint64_t next_random(uint64_t *seed)
{
    uint64_t x = *seed += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

static void make_event(world_event *e, uint64_t *seed)
{
    static const char *const rels[] = {"R", "S", "MSG"};
    static const char *const props[] = {"{}", "{\"w\":1}", "{\"w\":0.1}", "{\"w\":-7}", "{\"w\":\"x\"}",
                                        "{\"w\":1e+100}", "{\"w\":123456789012345678901234567890}"};
    e->rel = rels[next_random(seed) % 3];
    e->vt_s = (int64_t)(next_random(seed) % SPAN);
    if (next_random(seed) % 3 == 0) /* many at few times */
        e->vt_s = SPAN / 2 + (int64_t)(next_random(seed) % 20);
    e->vt_e = next_random(seed) % 5 == 0 ? MK_OPEN_END : e->vt_s + 1 + (int64_t)(next_random(seed) % 40);
    snprintf(e->src, WORLD_UID, "u%u", (unsigned)(next_random(seed) % UIDS));
    snprintf(e->dst, WORLD_UID, "u%u", (unsigned)(next_random(seed) % UIDS));
    snprintf(e->props, WORLD_PROPS, "%s", props[next_random(seed) % 7]);
}

static void retract(world *w, const world_event *e, int64_t number)
{
    char disc[24];
    mk_err err;
    snprintf(disc, sizeof disc, "#%lld", (long long)number);
    const mk_op op = {.kind = MK_OP_RETRACT, .src = mk_str_of(e->src), .dst = mk_str_of(e->dst),
                      .rel_type = mk_str_of(e->rel), .disc = mk_str_of(disc), .t = e->vt_s,
                      .source = MK_STR("ingest"), .provenance_null = true};
    world_must(mk_store_write(w->store, &op, 1, NULL, NULL, &err), &err);
}

static int setup(void **state)
{
    world *w = malloc(sizeof *w);
    static world_event events[BATCH];
    uint64_t seed = 3;
    assert_non_null(w);
    *state = w;
    world_open(w, 1100);
    for (int64_t at = 0; at < EVENTS; at += BATCH) {
        for (int i = 0; i < BATCH; i++)
            make_event(&events[i], &seed);
        world_ingest(w, events, BATCH, at);
        for (int i = 0; i < BATCH; i += 50)
            retract(w, &events[i], at + i);
    }
    return 0;
}

static int teardown(void **state)
{
    world_close(*state);
    free(*state);
    return 0;
}

/* ---- answers as text ---- */

static void put_value(mk_buf *out, const mk_agg_value *v)
{
    char text[MK_DOUBLE_TEXT_MAX];
    switch (v->kind) {
    case MK_AGG_NULL: mk_buf_z(out, " null"); break;
    case MK_AGG_INT: mk_buf_printf(out, " %lld", (long long)v->i); break;
    case MK_AGG_BIG: mk_buf_printf(out, " %.*s", MK_STR_ARG(v->digits)); break;
    case MK_AGG_FLOAT: mk_buf_printf(out, " %.*s", (int)mk_double_text(text, v->d), text); break;
    }
}

static void put_result(mk_buf *out, const mk_agg_args *args, const mk_agg_result *r)
{
    mk_buf_printf(out, "total %zu events %llu skipped %llu\n", r->span.total, (unsigned long long)r->events,
                  (unsigned long long)r->skipped);
    for (size_t i = 0; i < r->span.end - r->span.start; i++) {
        mk_buf_printf(out, "%u %u:", r->rows[i].code[0], r->rows[i].code[1]);
        for (size_t a = 0; a < args->fn_count; a++)
            put_value(out, &r->rows[i].value[a]);
        mk_buf_c(out, '\n');
    }
    for (size_t a = 0; a < args->fn_count; a++)
        mk_buf_printf(out, "unread %llu\n", (unsigned long long)r->unread[a]);
}

static mk_code ask(world *w, const mk_agg_args *args, unsigned threads, mk_guard *guard, mk_buf *out,
                   mk_err *err)
{
    mk_agg_args own = *args;
    mk_agg_result result;
    mk_view *view;
    world_must(mk_view_at(w->store, (mk_tt){MK_OPEN_END}, 0, &view, err), err);
    world_must(mk_pool_open(&mk_alloc_default, threads, &own.pool, err), err);
    const mk_code rc = mk_aggregate(view, &w->arena, &own, guard, &result, err);
    if (rc == MK_OK)
        put_result(out, &own, &result);
    mk_pool_close(own.pool);
    mk_view_close(view);
    mk_arena_reset(&w->arena);
    return rc;
}

static mk_agg_args plain(void)
{
    return (mk_agg_args){.t_a = 0, .t_b = SPAN + 100, .filter = mk_edge_filter_all, .share_from = 1,
                         .page = {.limit = 1000000, .whole = true}};
}

static void expect_same(world *w, const mk_agg_args *args)
{
    mk_buf alone, shared;
    mk_guard guard;
    mk_err err;
    mk_buf_init(&alone, &mk_alloc_default);
    mk_buf_init(&shared, &mk_alloc_default);
    mk_guard_init(&guard, NULL, 0, NULL);
    world_must(ask(w, args, 1, &guard, &alone, &err), &err);
    for (unsigned threads = 2; threads <= 5; threads++) {
        mk_buf_clear(&shared);
        world_must(ask(w, args, threads, &guard, &shared, &err), &err);
        if (!mk_str_eq(mk_buf_view(&alone), mk_buf_view(&shared)))
            fail_msg("%u threads:\n%.*s\none:\n%.*s", threads, (int)shared.n, shared.p, (int)alone.n,
                     alone.p);
    }
    mk_buf_free(&alone);
    mk_buf_free(&shared);
}

/* ---- every aggregate, by every dimension ---- */

static const mk_agg_fn fns[] = {
    {.kind = MK_AGG_COUNT},
    {.kind = MK_AGG_DISTINCT, .of = MK_OF_DST},
    {.kind = MK_AGG_DISTINCT, .of = MK_OF_SRC},
    {.kind = MK_AGG_MAX_GAP},
    {.kind = MK_AGG_MIN, .of = MK_OF_VT_S},
    {.kind = MK_AGG_MAX, .of = MK_OF_DURATION},
    {.kind = MK_AGG_MEAN, .of = MK_OF_DURATION},
    {.kind = MK_AGG_MEAN, .of = MK_OF_VT_S},
    {.kind = MK_AGG_MEAN, .of = MK_OF_PROP, .prop = {"w", 1}},
    {.kind = MK_AGG_MAX_SESSION_SPAN, .width = 3},
    {.kind = MK_AGG_MAX_SESSION_SPAN, .width = 60},
    {.kind = MK_AGG_COUNT},
    /* These are read by one thread, whatever the pool. */
    {.kind = MK_AGG_MAX, .of = MK_OF_PROP, .prop = {"w", 1}},
    {.kind = MK_AGG_MAX_IN_WINDOW, .width = 10}};

static void test_aggregate_threads__every_aggregate_is_the_same(void **state)
{
    static const struct {
        size_t count;
        mk_agg_dim dims[2];
        int64_t stride;
    } shapes[] = {
        {.count = 0},
        {.count = 1, .dims = {{.kind = MK_DIM_REL_TYPE}}},
        {.count = 2, .dims = {{.kind = MK_DIM_REL_TYPE}, {.kind = MK_DIM_TIME_BUCKET}}, .stride = 90},
        {.count = 2, .dims = {{.kind = MK_DIM_TIME_BUCKET}, {.kind = MK_DIM_SRC}}, .stride = 9000},
        {.count = 2, .dims = {{.kind = MK_DIM_SRC_LABEL}, {.kind = MK_DIM_DST}}},
        {.count = 1, .dims = {{.kind = MK_DIM_HOUR_OF_DAY}}}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (size_t f = 0; f < sizeof fns / sizeof *fns; f += 2) {
            mk_agg_args args = plain();
            args.dim_count = shapes[s].count;
            memcpy(args.dims, shapes[s].dims, sizeof args.dims);
            args.stride = shapes[s].stride;
            args.fn_count = 2;
            args.fns[0] = fns[f];
            args.fns[1] = fns[f + 1];
            expect_same(*state, &args);
        }
}

static void test_aggregate_threads__filters_and_pairs_are_the_same(void **state)
{
    static const mk_json limit = {.kind = MK_JSON_FLOAT, .d = 0.5};
    uint64_t cohort[UIDS / 64 + 1] = {UINT64_C(0x5555555555555555), 0xFF};
    for (int mode = MK_PAIR_NONE; mode <= MK_PAIR_RECIPROCAL; mode++) {
        mk_agg_args args = plain();
        args.dim_count = 2;
        args.dims[0].kind = MK_DIM_SRC;
        args.dims[1].kind = MK_DIM_DST;
        args.pair_mode = (mk_pair_mode)mode;
        args.fn_count = 2;
        args.fns[0] = fns[0];
        args.fns[1] = fns[8];
        expect_same(*state, &args);
        args.cohort = cohort;
        args.cohort_sides = MK_SIDE_OUT;
        args.prop = MK_STR("w");
        args.cmp = MK_CMP_GT;
        args.value = &limit;
        expect_same(*state, &args);
    }
}

/* ---- ending early ---- */

static void test_aggregate_threads__a_cancelled_call_ends(void **state)
{
    mk_agg_args args = plain();
    atomic_bool cancelled = true;
    mk_guard guard;
    mk_buf out;
    mk_err err;
    mk_buf_init(&out, &mk_alloc_default);
    args.fn_count = 1;
    mk_guard_init(&guard, NULL, 0, &cancelled);
    assert_int_equal(ask(*state, &args, 3, &guard, &out, &err), MK_E_CANCELLED);
    mk_buf_free(&out);
}

static void test_aggregate_threads__parts_share_the_budget_of_memory(void **state)
{
    world *w = *state;
    mk_agg_args args = plain();
    mk_guard guard;
    mk_buf out;
    mk_err err;
    mk_buf_init(&out, &mk_alloc_default);
    args.dim_count = 2;
    args.dims[0].kind = MK_DIM_SRC;
    args.dims[1].kind = MK_DIM_DST;
    args.fn_count = 1;
    args.fns[0] = fns[7];
    mk_guard_init(&guard, NULL, 0, NULL);
    mk_arena_free(&w->arena);
    w->arena.limit = 400000;
    assert_int_equal(ask(w, &args, 3, &guard, &out, &err), MK_E_NOMEM);
    w->arena.limit = 0;
    world_must(ask(w, &args, 3, &guard, &out, &err), &err);
    mk_buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_aggregate_threads__every_aggregate_is_the_same),
        cmocka_unit_test(test_aggregate_threads__filters_and_pairs_are_the_same),
        cmocka_unit_test(test_aggregate_threads__a_cancelled_call_ends),
        cmocka_unit_test(test_aggregate_threads__parts_share_the_budget_of_memory),
    };
    return cmocka_run_group_tests_name("aggregate_threads", tests, setup, teardown);
}

/* test_co_active.c — the interval join finds what two loops find, and the operator stops where it should.
 *
 * Goal: pairs, their order and the number of candidates are right for all thirteen relations, on the
 * bounds of times too. Method: random lists against nested loops; the vectors of the operators
 * spec, 10.2; the cap of 50,000 candidates from both sides. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../support/testalloc.h"
#include "../support/tmpdir.h"
#include "op/call.h"
#include "op/co_active.h"

enum { RELATIONS = MK_ALLEN_FINISHED_BY + 1, LIST_MAX = 40 };

/* ---- the kernel ---- */

/* A sequence that is the same in every run (Steele, Lea, Flood 2014). */
static uint64_t next_random(uint64_t *seed)
{
    uint64_t x = *seed += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

static mk_guard no_guard(void)
{
    mk_guard guard;
    mk_guard_init(&guard, NULL, 0, NULL);
    return guard;
}

/* Mostly small times, so that every relation occurs; now and then the bounds. Upside down intervals are in
 * replayed logs (store spec, 24.3). */
static mk_edge_ref random_edge(uint64_t *seed)
{
    static const int64_t extremes[] = {INT64_MIN, INT64_MAX, MK_OPEN_END, -MK_OPEN_END, INT64_MAX - 1};
    mk_edge_ref ref = {.vt_s = (int64_t)(next_random(seed) % 20)};
    ref.vt_e = ref.vt_s + (int64_t)(next_random(seed) % 10) - 1;
    if (next_random(seed) % 8 == 0)
        ref.vt_e = extremes[next_random(seed) % 5];
    if (next_random(seed) % 16 == 0)
        ref.vt_s = extremes[next_random(seed) % 5];
    return ref;
}

static size_t random_list(uint64_t *seed, mk_join_row *list)
{
    const size_t n = next_random(seed) % (LIST_MAX + 1);
    mk_edge_ref refs[LIST_MAX];
    mk_arena arena;
    for (size_t i = 0; i < n; i++)
        refs[i] = random_edge(seed);
    mk_arena_init(&arena, &mk_alloc_default);
    assert_int_equal(mk_join_sort(&arena, refs, n, NULL), MK_OK);
    mk_arena_free(&arena);
    for (size_t i = 0; i < n; i++)
        list[i] = (mk_join_row){refs[i].vt_s, refs[i].vt_e};
    return n;
}

static __int128 wide(int64_t x) { return x; }

/* The definitions, for the first half of the relations. */
static bool holds(mk_allen relation, int64_t gap, const mk_join_row *a, const mk_join_row *b)
{
    switch (relation) {
    case MK_ALLEN_BEFORE:
        return b->vt_s > a->vt_e && wide(b->vt_s) - a->vt_e <= gap;
    case MK_ALLEN_MEETS: return a->vt_e == b->vt_s;
    case MK_ALLEN_OVERLAPS:
        return a->vt_s < b->vt_s && b->vt_s < a->vt_e && a->vt_e < b->vt_e;
    case MK_ALLEN_STARTS: return a->vt_s == b->vt_s && a->vt_e < b->vt_e;
    case MK_ALLEN_DURING: return b->vt_s < a->vt_s && a->vt_e < b->vt_e;
    case MK_ALLEN_FINISHES: return b->vt_s < a->vt_s && a->vt_e == b->vt_e;
    case MK_ALLEN_EQUALS: return a->vt_s == b->vt_s && a->vt_e == b->vt_e;
    default: return holds((mk_allen)(relation - MK_ALLEN_AFTER), gap, b, a);
    }
}

static bool is_candidate(mk_allen relation, int64_t gap, const mk_join_row *a, const mk_join_row *b)
{
    switch (relation) {
    case MK_ALLEN_OVERLAPS: return a->vt_s < b->vt_s && b->vt_s < a->vt_e;
    case MK_ALLEN_STARTS:
    case MK_ALLEN_EQUALS: return a->vt_s == b->vt_s;
    case MK_ALLEN_DURING:
    case MK_ALLEN_FINISHES: return b->vt_s < a->vt_s;
    case MK_ALLEN_BEFORE:
    case MK_ALLEN_MEETS: return holds(relation, gap, a, b);
    default: return is_candidate((mk_allen)(relation - MK_ALLEN_AFTER), gap, b, a);
    }
}

typedef struct seen {
    uint8_t hit[LIST_MAX][LIST_MAX];
    size_t count;
    size_t last; /* place in the list that leads */
    bool inverse, falls;
} seen;

static bool see(void *ctx, size_t a, size_t b)
{
    seen *s = ctx;
    const size_t lead = s->inverse ? b : a;
    s->falls |= s->count > 0 && lead < s->last;
    s->last = lead;
    s->hit[a][b]++;
    s->count++;
    return true;
}

static void check_join(const mk_join *join, uint64_t round)
{
    mk_guard guard = no_guard();
    seen s = {.inverse = join->relation >= MK_ALLEN_AFTER};
    uint64_t candidates, expected = 0;
    assert_int_equal(mk_join_candidates(join, &guard, &candidates, NULL), MK_OK);
    assert_int_equal(mk_join_pairs(join, &guard, see, &s, NULL), MK_OK);
    for (size_t i = 0; i < join->a_count; i++)
        for (size_t j = 0; j < join->b_count; j++) {
            const mk_join_row *a = &join->a[i], *b = &join->b[j];
            expected += is_candidate(join->relation, join->gap, a, b);
            if (s.hit[i][j] != holds(join->relation, join->gap, a, b))
                fail_msg("round %llu, relation %d: [%lld,%lld) and [%lld,%lld)",
                         (unsigned long long)round, join->relation, (long long)a->vt_s,
                         (long long)a->vt_e, (long long)b->vt_s, (long long)b->vt_e);
        }
    assert_int_equal(candidates, expected);
    assert_false(s.falls);
}

static void test_co_active__the_join_finds_what_two_loops_find(void **state)
{
    mk_join_row a[LIST_MAX], b[LIST_MAX];
    uint64_t seed = 1;
    (void)state;
    for (uint64_t round = 0; round < 400; round++) {
        mk_join join = {.a = a, .b = b, .a_count = random_list(&seed, a)};
        join.b_count = random_list(&seed, b);
        if (round % 5 == 0) {
            join.b = a;
            join.b_count = join.a_count;
        }
        join.gap = round % 7 == 0 ? INT64_MAX : 1 + (int64_t)(next_random(&seed) % 12);
        for (int relation = 0; relation < RELATIONS; relation++) {
            join.relation = (mk_allen)relation;
            check_join(&join, round);
        }
    }
}

static void test_co_active__sorting_keeps_the_order_of_ties(void **state)
{
    enum { N = 1000 };
    static mk_edge_ref list[N];
    uint64_t seed = 7;
    mk_arena arena;
    (void)state;
    mk_arena_init(&arena, &mk_alloc_default);
    for (uint64_t kinds = 1; kinds < 300; kinds += 40) {
        for (uint32_t i = 0; i < N; i++)
            list[i] = (mk_edge_ref){.vt_s = (int64_t)(next_random(&seed) % kinds), .row = i};
        assert_int_equal(mk_join_sort(&arena, list, N, NULL), MK_OK);
        for (size_t i = 1; i < N; i++) {
            assert_true(list[i - 1].vt_s <= list[i].vt_s);
            if (list[i - 1].vt_s == list[i].vt_s)
                assert_true(list[i - 1].row < list[i].row);
        }
    }
    mk_arena_free(&arena);
}

static void test_co_active__sorting_without_memory_is_an_error(void **state)
{
    mk_edge_ref list[] = {{.vt_s = 2}, {.vt_s = 1}};
    testalloc ta;
    mk_arena arena;
    (void)state;
    testalloc_init(&ta);
    mk_arena_init(&arena, &ta.hook);
    testalloc_fail(&ta, 1, true);
    assert_int_equal(mk_join_sort(&arena, list, 2, NULL), MK_E_NOMEM);
    assert_int_equal(mk_join_sort(&arena, list, 1, NULL), MK_OK); /* nothing to do */
    mk_arena_free(&arena);
    testalloc_free(&ta);
}

static bool stop_at_once(void *ctx, size_t a, size_t b)
{
    (void)a;
    (void)b;
    ++*(int *)ctx;
    return false;
}

static void test_co_active__a_join_can_be_stopped(void **state)
{
    static mk_join_row list[5000]; /* all equal */
    const mk_join join = {.a = list, .b = list, .a_count = 5000, .b_count = 5000,
                          .relation = MK_ALLEN_EQUALS};
    mk_guard guard = no_guard();
    atomic_bool cancelled = false;
    uint64_t candidates;
    int calls = 0;
    (void)state;
    assert_int_equal(mk_join_pairs(&join, &guard, stop_at_once, &calls, NULL), MK_E_CANCELLED);
    assert_int_equal(calls, 1);

    mk_guard_init(&guard, NULL, 0, &cancelled);
    cancelled = true;
    assert_int_equal(mk_join_candidates(&join, &guard, &candidates, NULL), MK_E_CANCELLED);
}

/* ---- the operator ---- */

typedef struct fixture {
    tmpdir dir;
    mk_store *store;
    mk_arena arena;
    mk_call_result result;
} fixture;

/* A clock that stands still, so that transaction times are 1, 2, ... */
static int64_t stopped(void *ctx)
{
    (void)ctx;
    return 1;
}
static const mk_clock stopped_clock = {stopped, NULL};

static int setup(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    char path[TMPDIR_PATH_MAX];
    mk_err err;
    if (f == NULL)
        return -1;
    tmpdir_make(&f->dir);
    const mk_store_options options = {
        .mode = MK_OPEN_CREATE_WRITER, .manual = true, .clock = &stopped_clock};
    assert_int_equal(mk_store_open(tmpdir_join(&f->dir, "s", path), &options, &f->store, &err), MK_OK);
    mk_arena_init(&f->arena, &mk_alloc_default);
    mk_call_result_init(&f->result, &mk_alloc_default);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    mk_err err;
    mk_call_result_free(&f->result);
    mk_arena_free(&f->arena);
    assert_int_equal(mk_store_close(f->store, &err), MK_OK);
    tmpdir_remove(&f->dir);
    free(f);
    return 0;
}

/* One batch at the next tt: 1, 2, ... */
static void write_ops(fixture *f, const mk_op *ops, size_t n)
{
    mk_err err;
    mk_tt tt;
    if (mk_store_write(f->store, ops, n, NULL, &tt, &err) != MK_OK)
        fail_msg("%s", err.message);
}

static mk_op edge_op(const char *src, const char *dst, const char *rel, int64_t vt_s, int64_t vt_e)
{
    return (mk_op){.kind = MK_OP_ASSERT_EDGE, .src = mk_str_of(src), .dst = mk_str_of(dst),
                   .rel_type = mk_str_of(rel), .props = MK_STR("{}"), .vt_s = vt_s, .vt_e = vt_e,
                   .source = MK_STR("ingest"), .provenance_null = true};
}

static mk_code call(fixture *f, const char *args, size_t row_budget, mk_err *err)
{
    const mk_call_options options = {.row_budget = row_budget};
    return mk_call_run(f->store, NULL, MK_STR("co_active"), mk_str_of(args), &options, &f->arena,
                       &f->result, err);
}

static void assert_says(const mk_buf *text, const char *part)
{
    if (memmem(text->p, text->n, part, strlen(part)) == NULL)
        fail_msg("no %s in %.*s", part, (int)text->n, text->p);
}

static void gives(fixture *f, const char *args, const char *digest)
{
    mk_err err;
    if (call(f, args, 0, &err) != MK_OK)
        fail_msg("%s", err.message);
    assert_string_equal(f->result.digest, digest);
}

/* Edges of fixture F (operators spec, 10.1); props do not show here. */
static void write_f(fixture *f)
{
    const mk_op nodes[] = {
        {.kind = MK_OP_ASSERT_NODE, .uid = MK_STR("a"), .label = MK_STR("N"), .props = MK_STR("{}"),
         .vt_e = MK_OPEN_END, .source = MK_STR("ingest"), .provenance_null = true}};
    const mk_op ops[] = {edge_op("a", "b", "R", 10, 20), edge_op("b", "c", "R", 15, 30),
                         edge_op("c", "a", "S", 25, 26), edge_op("a", "a", "S", 18, MK_OPEN_END)};
    write_ops(f, nodes, 1);
    for (size_t i = 0; i < 4; i++)
        write_ops(f, &ops[i], 1);
}

static void test_co_active__gives_the_specs_vectors(void **state)
{
    fixture *f = *state;
    write_f(f);
    gives(f,
          "{\"a_spec\":{\"src\":\"a\",\"rel_type\":\"R\"},\"b_spec\":{\"src\":\"b\"},"
          "\"allen_relation\":{\"relation\":\"overlaps\"},\"as_of_tt\":5}",
          "607817da28e28e870bb85a33d9754df9354d504b8bb06060f54745a744733d6d");
    gives(f,
          "{\"a_spec\":{},\"b_spec\":{},\"allen_relation\":{\"relation\":\"before\",\"gap\":5},"
          "\"as_of_tt\":5}",
          "4df088d18536d0aaa7b0f00f4aa6767fa2b57899c5d1931dbbe2ed9a40d1ab3a");
}

static void test_co_active__errors_come_in_the_specs_order(void **state)
{
    fixture *f = *state;
    mk_err err;
    write_f(f);
    /* The gap is missed before a uid is looked at, and a uid before the cursor. */
    assert_int_equal(call(f, "{\"a_spec\":{\"src\":\"nobody\"},\"b_spec\":{},\"cursor\":\"x\","
                             "\"allen_relation\":{\"relation\":\"before\",\"gap\":null}}", 0, &err),
                     MK_E_INVALID_ARG);
    assert_non_null(strstr(err.extra, "\"path\":[\"allen_relation\",\"gap\"]"));
    assert_int_equal(call(f, "{\"a_spec\":{},\"b_spec\":{\"dst\":\"nobody\"},\"cursor\":\"x\","
                             "\"allen_relation\":{\"relation\":\"meets\"}}", 0, &err),
                     MK_E_NOT_FOUND);
    assert_non_null(strstr(err.extra, "\"path\":[\"b_spec\",\"dst\"]"));
    assert_int_equal(call(f, "{\"a_spec\":{},\"b_spec\":{},\"cursor\":\"x\","
                             "\"allen_relation\":{\"relation\":\"meets\"}}", 0, &err),
                     MK_E_INVALID_ARG);
    assert_int_equal(call(f, "{\"a_spec\":{\"uid\":\"a\"},\"b_spec\":{},"
                             "\"allen_relation\":{\"relation\":\"meets\"}}", 0, &err),
                     MK_E_SCHEMA);
    assert_int_equal(call(f, "{\"a_spec\":{},\"b_spec\":{},"
                             "\"allen_relation\":{\"relation\":\"near\"}}", 0, &err),
                     MK_E_SCHEMA);
    /* "" is no restriction (oddity O-26), and a type never used matches nothing. */
    assert_int_equal(call(f, "{\"a_spec\":{\"src\":\"\",\"dst\":null},\"b_spec\":{},"
                             "\"allen_relation\":{\"relation\":\"overlaps\"}}", 0, &err), MK_OK);
    assert_says(&f->result.payload.text, "\"rows_total\":3,");
    assert_int_equal(call(f, "{\"a_spec\":{\"rel_type\":\"NEVER\"},\"b_spec\":{},"
                             "\"allen_relation\":{\"relation\":\"overlaps\"}}", 0, &err), MK_OK);
    assert_says(&f->result.payload.text, "\"rows_total\":0,");
}

/* `n` nested intervals, so that of `during` every earlier start is a candidate and fits: n (n - 1) / 2. */
static void write_nested(fixture *f, int n)
{
    mk_op ops[400];
    char discs[400][8];
    for (int i = 0; i < n; i++) {
        const int at = snprintf(discs[i], sizeof discs[i], "%d", i);
        ops[i] = edge_op("a", "b", "R", i, 2000 - i);
        ops[i].disc = (mk_str){discs[i], (size_t)at};
    }
    write_ops(f, ops, (size_t)n);
}

#define DURING                                                                                     \
    "{\"a_spec\":{},\"b_spec\":{\"src\":\"a\"},\"allen_relation\":{\"relation\":\"during\"}"

static void test_co_active__up_to_50000_candidates_are_looked_at(void **state)
{
    fixture *f = *state;
    mk_err err;
    write_nested(f, 316);
    assert_int_equal(call(f, DURING "}", 0, &err), MK_OK);
    assert_says(&f->result.payload.text, "\"rows_total\":49770,\"truncated\":true}");
    assert_says(&f->result.completeness,
                "{\"rows\":[{\"reason\":\"page\",\"shown\":100,\"total\":49770}]}");
    assert_int_equal(call(f, DURING "}", 49770, &err), MK_OK); /* whole */
    assert_says(&f->result.payload.text, "\"rows_total\":49770,\"truncated\":false}");
    assert_int_equal(call(f, DURING "}", 49769, &err), MK_E_LIMIT);
    assert_int_equal(call(f, DURING ",\"limit\":10,\"cursor\":\"49765\"}", 0, &err), MK_OK);
    assert_says(&f->result.payload.text, "{\"cursor\":null,\"rows\":[{\"a\":{\"dst\":\"b\"");
}

static void test_co_active__more_than_50000_are_refused(void **state)
{
    fixture *f = *state;
    mk_err err;
    write_nested(f, 317);
    assert_int_equal(call(f, DURING "}", 0, &err), MK_E_COST);
    assert_non_null(strstr(err.extra, "\"estimate\":{\"expansions_est\":50086},\"suggestions\":[\""));
    /* The cap is on candidates: none of these fits, and they are as many (oddity O-15). */
    assert_int_equal(call(f, "{\"a_spec\":{},\"b_spec\":{},"
                             "\"allen_relation\":{\"relation\":\"finishes\"}}", 0, &err), MK_E_COST);
    assert_int_equal(call(f, "{\"a_spec\":{},\"b_spec\":{},"
                             "\"allen_relation\":{\"relation\":\"meets\"}}", 0, &err), MK_OK);
}

static void test_co_active__memory_that_runs_out_is_an_error(void **state)
{
    fixture *f = *state;
    mk_code rc = MK_E_NOMEM;
    write_nested(f, 40);
    for (uint64_t n = 1; rc != MK_OK; n++) {
        testalloc ta;
        mk_arena arena;
        mk_call_result result;
        mk_err err;
        testalloc_init(&ta);
        mk_arena_init(&arena, &ta.hook);
        mk_call_result_init(&result, &ta.hook);
        testalloc_fail(&ta, n, true);
        rc = mk_call_run(f->store, NULL, MK_STR("co_active"), MK_STR(DURING "}"), NULL, &arena, &result,
                         &err);
        if (rc != MK_OK)
            assert_int_equal(rc, MK_E_NOMEM);
        mk_call_result_free(&result);
        mk_arena_free(&arena);
        assert_true(testalloc_is_clean(&ta));
        testalloc_free(&ta);
        assert_true(n < 1000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_co_active__the_join_finds_what_two_loops_find),
        cmocka_unit_test(test_co_active__sorting_keeps_the_order_of_ties),
        cmocka_unit_test(test_co_active__sorting_without_memory_is_an_error),
        cmocka_unit_test(test_co_active__a_join_can_be_stopped),
        cmocka_unit_test_setup_teardown(test_co_active__gives_the_specs_vectors, setup, teardown),
        cmocka_unit_test_setup_teardown(test_co_active__errors_come_in_the_specs_order, setup, teardown),
        cmocka_unit_test_setup_teardown(test_co_active__up_to_50000_candidates_are_looked_at, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_co_active__more_than_50000_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_co_active__memory_that_runs_out_is_an_error, setup, teardown),
    };
    return cmocka_run_group_tests_name("co_active", tests, NULL, NULL);
}

/* test_genops.c — the random op generator: same bytes from the same seed, canonical text, every
 * kind of op, and laws that the slow model keeps over what it generates. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../support/genops.h"
#include "../support/model.h"
#include "base/sha256.h"

static void hash_batches(const genops_options *options, int batches, char hex[65])
{
    genops gen;
    mk_buf text;
    uint8_t hash[32];
    genops_init(&gen, options);
    mk_buf_init(&text, &mk_alloc_default);
    for (int i = 0; i < batches; i++)
        genops_next_text(&gen, &text);
    assert_false(text.failed);
    mk_sha256_of(text.p, text.n, hash);
    mk_hex(hex, hash, 32);
    hex[64] = '\0';
    mk_buf_free(&text);
}

/* The pinned hash holds on every platform; it changes only with the generator. */
static void test_genops__a_seed_gives_the_same_bytes_everywhere(void **state)
{
    (void)state;
    char one[65], two[65];
    genops_options options = genops_default;
    options.malformed_percent = 5;
    hash_batches(&options, 200, one);
    assert_string_equal(one, "bb3d8c054252febff4d2403bf670177e779bb1f9852ea1607a9360da0fce63e7");
    options.seed = 2;
    hash_batches(&options, 200, two);
    assert_string_not_equal(one, two);
}

static void test_genops__the_text_is_canonical(void **state)
{
    (void)state;
    genops gen;
    mk_buf text, canonical;
    mk_arena arena;
    genops_options options = genops_default;
    options.malformed_percent = 5;
    genops_init(&gen, &options);
    mk_arena_init(&arena, &mk_alloc_default);
    mk_buf_init(&text, &mk_alloc_default);
    mk_buf_init(&canonical, &mk_alloc_default);
    for (int i = 0; i < 300; i++) {
        mk_buf_clear(&text);
        mk_buf_clear(&canonical);
        genops_next_text(&gen, &text);
        assert_int_equal(mk_canon_text(&canonical, &arena, mk_buf_view(&text), NULL, NULL), MK_OK);
        if (!mk_str_eq(mk_buf_view(&text), mk_buf_view(&canonical)))
            fail_msg("%.*s\nis not\n%.*s", MK_STR_ARG(mk_buf_view(&text)),
                     MK_STR_ARG(mk_buf_view(&canonical)));
        mk_arena_reset(&arena);
    }
    mk_buf_free(&canonical);
    mk_buf_free(&text);
    mk_arena_free(&arena);
}

static void test_genops__every_kind_of_op_occurs(void **state)
{
    (void)state;
    static const char *const kinds[] = {"assert_node", "assert_edge", "retract", "correct",
                                        "ingest_events"};
    int seen[5] = {0};
    genops gen;
    mk_arena arena;
    genops_init(&gen, &genops_default);
    mk_arena_init(&arena, &mk_alloc_default);
    for (int i = 0; i < 200; i++) {
        const mk_json *ops = genops_next(&gen, &arena);
        assert_in_range(ops->n, 1, genops_default.ops_max);
        for (size_t j = 0; j < ops->n; j++)
            for (int kind = 0; kind < 5; kind++)
                seen[kind] += mk_str_eq(mk_json_get(&ops->items[j], "op")->text,
                                        mk_str_of(kinds[kind]));
    }
    for (int kind = 0; kind < 5; kind++)
        assert_true(seen[kind] > 30);
    mk_arena_free(&arena);
}

/* Runs `batches` batches through a model; *failed counts those that failed. */
static model *run(const genops_options *options, int batches, int *failed)
{
    genops gen;
    mk_arena arena;
    model *m = model_new();
    genops_init(&gen, options);
    mk_arena_init(&arena, &mk_alloc_default);
    *failed = 0;
    for (int i = 0; i < batches; i++) {
        *failed += !model_apply(m, 10 + i, genops_next(&gen, &arena), NULL);
        mk_arena_reset(&arena);
    }
    mk_arena_free(&arena);
    return m;
}

static size_t superseded(const model *m, model_kind kind)
{
    size_t n, count = 0;
    const model_row *rows = model_rows(m, kind, &n);
    for (size_t i = 0; i < n; i++)
        count += rows[i].tt_e != MK_OPEN_END;
    return count;
}

static void test_genops__most_batches_succeed_and_many_rows_are_superseded(void **state)
{
    (void)state;
    genops_options options = genops_default;
    int failed;
    options.ops_max = 3;
    model *m = run(&options, 300, &failed);
    assert_in_range(failed, 30, 150);
    assert_true(superseded(m, MODEL_NODE) > 50);
    assert_true(superseded(m, MODEL_EDGE) > 20);
    model_free(m);
}

/* Law I1: whatever is asserted, retracted and corrected, belief of one identity never overlaps. */
static void test_genops__without_ingest_belief_stays_disjoint(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        genops_options options = genops_default;
        mk_str offender = {0};
        int failed;
        options.seed = seed;
        options.ingest_percent = 0;
        model *m = run(&options, 120, &failed);
        if (!model_is_disjoint(m, &offender))
            fail_msg("MK_SEED=%llu: %.*s", (unsigned long long)seed, MK_STR_ARG(offender));
        assert_true(model_times_are_real(m));
        model_free(m);
    }
}

static void test_genops__malformed_and_failing_ops_always_fail(void **state)
{
    (void)state;
    genops_options options = genops_default;
    int failed;
    options.ops_max = 1;
    options.malformed_percent = 100;
    model_free(run(&options, 100, &failed));
    assert_int_equal(failed, 100);
    options.malformed_percent = 0;
    options.failing_percent = 100;
    model_free(run(&options, 100, &failed));
    assert_int_equal(failed, 100);
}

/* Law: what was believed at a past time is the same after any later batch (I4). */
static void test_genops__past_belief_never_changes(void **state)
{
    (void)state;
    enum { BATCHES = 60 };
    genops gen;
    mk_arena arena, answers;
    model *m = model_new();
    size_t counts[BATCHES];
    genops_init(&gen, &genops_default);
    mk_arena_init(&arena, &mk_alloc_default);
    mk_arena_init(&answers, &mk_alloc_default);
    for (int i = 0; i < BATCHES; i++) {
        model_apply(m, 10 + i, genops_next(&gen, &arena), NULL);
        counts[i] = model_believed(m, &answers, MODEL_EDGE, NULL, 10 + i).n;
        for (int j = 0; j <= i; j++)
            assert_int_equal(model_believed(m, &answers, MODEL_EDGE, NULL, 10 + j).n, counts[j]);
        mk_arena_reset(&answers);
        mk_arena_reset(&arena);
    }
    mk_arena_free(&answers);
    mk_arena_free(&arena);
    model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_genops__a_seed_gives_the_same_bytes_everywhere),
        cmocka_unit_test(test_genops__the_text_is_canonical),
        cmocka_unit_test(test_genops__every_kind_of_op_occurs),
        cmocka_unit_test(test_genops__most_batches_succeed_and_many_rows_are_superseded),
        cmocka_unit_test(test_genops__without_ingest_belief_stays_disjoint),
        cmocka_unit_test(test_genops__malformed_and_failing_ops_always_fail),
        cmocka_unit_test(test_genops__past_belief_never_changes),
    };
    return cmocka_run_group_tests_name("genops", tests, NULL, NULL);
}

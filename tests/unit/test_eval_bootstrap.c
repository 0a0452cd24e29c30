/* test_eval_bootstrap.c — the paired bootstrap against the spec's checked vector. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "eval/bootstrap.h"
#include "../support/testalloc.h"

static const double a[] = {1, 1, 1, 0, 1, 0, 1, 1, 0, 1, 1, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 1};
static const double b[] = {0, 1, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};

/* Source: evaluation spec, 15. */
static void test_eval_bootstrap__the_checked_vector_comes_out(void **state)
{
    (void)state;
    mk_bootstrap out;
    assert_int_equal(mk_bootstrap_paired(a, b, 22, NULL, &mk_alloc_default, &out, NULL), MK_OK);
    assert_float_equal(out.difference, 8.0 / 22, 1e-12);
    assert_float_equal(out.lower, 3.0 / 22, 1e-12);
    assert_float_equal(out.upper, 13.0 / 22, 1e-12);
    assert_true(out.significant);
}

static void test_eval_bootstrap__systems_that_are_equal_do_not_differ(void **state)
{
    (void)state;
    mk_bootstrap out;
    assert_int_equal(mk_bootstrap_paired(a, a, 22, NULL, &mk_alloc_default, &out, NULL), MK_OK);
    assert_float_equal(out.difference, 0, 0);
    assert_float_equal(out.lower, 0, 0);
    assert_false(out.significant);
}

static void test_eval_bootstrap__swapping_the_systems_mirrors_the_interval(void **state)
{
    (void)state;
    const mk_bootstrap_options few = {.rounds = 999, .level = 0.9, .seed = 7};
    mk_bootstrap there, back;
    assert_int_equal(mk_bootstrap_paired(a, b, 22, &few, &mk_alloc_default, &there, NULL), MK_OK);
    assert_int_equal(mk_bootstrap_paired(b, a, 22, &few, &mk_alloc_default, &back, NULL), MK_OK);
    assert_float_equal(there.difference, -back.difference, 1e-12);
    assert_float_equal(there.lower, -back.upper, 0.05);
    assert_true(there.lower < there.difference && there.difference < there.upper);
}

static void test_eval_bootstrap__what_cannot_be_drawn_is_refused(void **state)
{
    (void)state;
    mk_bootstrap out;
    const mk_bootstrap_options level = {.level = 1.5}, many = {.rounds = SIZE_MAX};
    testalloc ta;
    assert_int_equal(mk_bootstrap_paired(a, b, 0, NULL, &mk_alloc_default, &out, NULL), MK_E_INVALID_ARG);
    assert_int_equal(mk_bootstrap_paired(a, b, 22, &level, &mk_alloc_default, &out, NULL), MK_E_INVALID_ARG);
    assert_int_equal(mk_bootstrap_paired(a, b, 22, &many, &mk_alloc_default, &out, NULL), MK_E_LIMIT);
    testalloc_init(&ta);
    testalloc_fail(&ta, 1, true);
    assert_int_equal(mk_bootstrap_paired(a, b, 22, NULL, &ta.hook, &out, NULL), MK_E_NOMEM);
    testalloc_fail(&ta, 0, false);
    assert_int_equal(mk_bootstrap_paired(a, b, 22, NULL, &ta.hook, &out, NULL), MK_OK);
    assert_true(testalloc_is_clean(&ta));
    testalloc_free(&ta);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_eval_bootstrap__the_checked_vector_comes_out),
        cmocka_unit_test(test_eval_bootstrap__systems_that_are_equal_do_not_differ),
        cmocka_unit_test(test_eval_bootstrap__swapping_the_systems_mirrors_the_interval),
        cmocka_unit_test(test_eval_bootstrap__what_cannot_be_drawn_is_refused),
    };
    return cmocka_run_group_tests_name("eval_bootstrap", tests, NULL, NULL);
}

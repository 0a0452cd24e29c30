/* test_eval_suite.c — suites in both forms, and what is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "../support/golden.h"
#include "../support/testalloc.h"
#include "base/fs.h"
#include "eval/suite.h"

static mk_arena arena;

static mk_code read_suite(const char *text, mk_eval_suite *out, mk_err *err)
{
    return mk_suite_read(mk_str_of(text), &arena, out, err);
}

static void test_eval_suite__a_list_is_read(void **state)
{
    (void)state;
    mk_eval_suite suite;
    assert_int_equal(
        read_suite("[{\"id\":\"a\",\"question\":\"how many?\",\"kind\":\"count\",\"gold\":3},"
                   "{\"id\":\"b\",\"question\":\"why?\",\"kind\":\"abstain\",\"dataset\":\"git\"},"
                   "{\"id\":\"c\",\"question\":\"who?\",\"kind\":\"entity_set\",\"gold\":[\"x\"],"
                   "\"family\":\"f\",\"input_uids\":[\"x\",\"y\"]}]",
                   &suite, NULL),
        MK_OK);
    assert_int_equal(suite.count, 3);
    assert_true(mk_str_eq(suite.tasks[0].family, MK_STR("list")));
    assert_int_equal(suite.tasks[0].gold->i, 3);
    assert_true(mk_task_wants_abstention(&suite.tasks[1]));
    assert_int_equal(suite.tasks[1].gold->kind, MK_JSON_NULL);
    assert_true(mk_str_eq(suite.tasks[1].family, MK_STR("git")));
    assert_true(mk_str_eq(suite.tasks[2].family, MK_STR("f")));
    assert_int_equal(suite.tasks[2].uid_count, 2);
    assert_int_equal(suite.tasks[2].plan.n, 0);
}

#define TASK                                                                                       \
    "{\"id\":\"t\",\"family\":\"t1\",\"question_text\":\"q\",\"answer_kind\":\"value\",\"gold\":7,"    \
    "\"input_uids\":[],\"gold_source\":\"oracle_plan\",\"oracle_plan\":{\"steps\":[],\"plan_id\":\"p\"}}"

static void test_eval_suite__a_frozen_suite_is_read(void **state)
{
    (void)state;
    mk_eval_suite suite;
    assert_int_equal(read_suite("{\"dataset\":\"d\",\"dev\":[" TASK "],\"test\":[" TASK "]}", &suite, NULL),
                     MK_OK);
    assert_int_equal(suite.count, 2);
    assert_true(mk_str_eq(suite.dataset, MK_STR("d")));
    assert_true(mk_str_eq(suite.tasks[1].plan, MK_STR("{\"plan_id\":\"p\",\"steps\":[]}")));
    assert_true(suite.tasks[1].plan_is_gold);
    assert_int_equal(suite.split_sha.n, 0);
}

static void test_eval_suite__a_changed_test_split_is_refused(void **state)
{
    (void)state;
    mk_eval_suite suite;
    mk_err err;
    assert_int_equal(read_suite("{\"test\":[" TASK "],\"test_split_sha\":\"00\"}", &suite, &err), MK_E_STATE);
    assert_string_equal(err.path, "test_split_sha");
}

static void test_eval_suite__what_is_wrong_is_named_by_its_path(void **state)
{
    (void)state;
    static const struct {
        const char *text, *path;
    } cases[] = {
        {"7", ""},
        {"{\"test\":7}", ""},
        {"{\"dev\":{},\"test\":[]}", ""},
        {"[7]", "[0]"},
        {"[{\"id\":\"a\",\"question\":\"q\",\"kind\":\"count\"}]", "[0].gold"},
        {"[{\"id\":7,\"question\":\"q\",\"kind\":\"count\",\"gold\":1}]", "[0].id"},
        {"[{\"id\":\"a\",\"question\":\"\",\"kind\":\"count\",\"gold\":1}]", "[0].question"},
        {"[{\"id\":\"a\",\"question\":\"q\",\"gold\":1}]", "[0].kind"},
        {"[{\"id\":\"a\",\"question\":\"q\",\"kind\":\"count\",\"gold\":1,\"family\":3}]", "[0].family"},
        {"[{\"id\":\"a\",\"question\":\"q\",\"kind\":\"count\",\"gold\":1,\"input_uids\":[3]}]",
         "[0].input_uids"},
        {"[{\"id\":\"a\",\"question\":\"q\",\"kind\":\"count\",\"gold\":1,\"oracle_plan\":[]}]",
         "[0].oracle_plan"},
        {"{\"test\":[" TASK ",{}]}", "test[1].id"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mk_eval_suite suite;
        mk_err err;
        assert_int_equal(read_suite(cases[i].text, &suite, &err), MK_E_SCHEMA);
        assert_string_equal(err.path, cases[i].path);
    }
}

static void test_eval_suite__the_frozen_half_is_what_its_readme_says(void **state)
{
    (void)state;
    char path[GOLDEN_PATH_MAX];
    mk_eval_suite suite;
    mk_err err;
    mk_buf text;
    size_t counts = 0, intervals = 0;
    if (!golden_shared_path(path, "frozen/suite-collegemsg-half.json"))
        skip();
    mk_buf_init(&text, &mk_alloc_default);
    assert_int_equal(mk_fs_read_all(&mk_fs_posix, path, MK_SUITE_SIZE_MAX, &text, &err), MK_OK);
    assert_int_equal(mk_suite_read(mk_buf_view(&text), &arena, &suite, &err), MK_OK);
    mk_buf_free(&text);
    assert_int_equal(suite.count, 69);
    assert_string_equal(suite.split_sha_found,
                        "7a205958c09b95b466a08ce869df0df14df87f4ee83b6f8f926d84a5a35111f8");
    for (size_t i = 0; i < suite.count; i++) {
        counts += mk_str_eq(suite.tasks[i].kind, MK_STR("count"));
        intervals += mk_str_eq(suite.tasks[i].kind, MK_STR("interval"));
        assert_true(suite.tasks[i].plan_is_gold);
    }
    assert_int_equal(counts, 30);
    assert_int_equal(intervals, 11);
}

static void test_eval_suite__running_out_of_memory_is_an_error(void **state)
{
    (void)state;
    const mk_str text = MK_STR("{\"test\":[" TASK "]}");
    mk_code rc = MK_E_NOMEM;
    testalloc ta;
    testalloc_init(&ta);
    for (uint64_t n = 1; rc != MK_OK && n < 1000; n++) {
        mk_eval_suite suite;
        mk_arena own;
        mk_arena_init(&own, &ta.hook);
        testalloc_fail(&ta, n, false);
        rc = mk_suite_read(text, &own, &suite, NULL);
        testalloc_fail(&ta, 0, false);
        mk_arena_free(&own);
        if (rc != MK_OK)
            assert_int_equal(rc, MK_E_NOMEM);
        assert_true(testalloc_is_clean(&ta));
    }
    assert_int_equal(rc, MK_OK);
    testalloc_free(&ta);
}

static int open_arena(void **state)
{
    (void)state;
    mk_arena_init(&arena, &mk_alloc_default);
    return 0;
}

static int close_arena(void **state)
{
    (void)state;
    mk_arena_free(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_eval_suite__a_list_is_read),
        cmocka_unit_test(test_eval_suite__a_frozen_suite_is_read),
        cmocka_unit_test(test_eval_suite__a_changed_test_split_is_refused),
        cmocka_unit_test(test_eval_suite__what_is_wrong_is_named_by_its_path),
        cmocka_unit_test(test_eval_suite__the_frozen_half_is_what_its_readme_says),
        cmocka_unit_test(test_eval_suite__running_out_of_memory_is_an_error),
    };
    return cmocka_run_group_tests_name("eval_suite", tests, open_arena, close_arena);
}

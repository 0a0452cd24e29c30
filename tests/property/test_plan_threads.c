/* test_plan_threads.c — a plan's trace is the same on one, two and eight threads. Runs under the thread
 * sanitizer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "../support/asked.h"

static void test_plan_threads__traces_do_not_show_how_many_there_were(void **state)
{
    static const unsigned threads[] = {1, 2, 8};
    asked a;
    mk_buf ops, plan;
    char first[65] = "";
    (void)state;
    mk_buf_init(&ops, &mk_alloc_default);
    mk_buf_init(&plan, &mk_alloc_default);
    for (int i = 0; i < 60; i++)
        mk_buf_printf(&ops,
                      "{\"op\":\"assert_edge\",\"src\":\"n%d\",\"dst\":\"n%d\",\"rel_type\":\"R%d\",\"vt_s\":"
                      "%d,\"vt_e\":%d}\n",
                      i % 7, (i * 3 + 1) % 7, i % 3, i * 10, i * 10 + 5);
    mk_buf_c(&ops, '\0');
    asked_open(&a, "{\"op\":\"assert_node\",\"uid\":\"n0\",\"label\":\"N\",\"vt_s\":0}\n");
    asked_write(&a, ops.p);
    /* seven steps side by side, of which two fail, one over the budget of rows; two that read them */
    mk_buf_z(&plan, "{\"plan_id\":\"p\",\"steps\":[");
    for (int i = 1; i <= 7; i++)
        mk_buf_printf(&plan,
                      "{\"id\":\"s%d\",\"op\":\"version_history\",\"args\":{\"kind\":\"edge\",\"window\":{"
                      "\"t_a\":%d,\"t_b\":%d}}},",
                      i, i * 50, i == 3 ? 0 : 100000);
    mk_buf_z(&plan, "{\"id\":\"s8\",\"op\":\"compute\",\"depends_on\":[\"s1\",\"s2\"],\"args\":{\"fn\":"
                    "\"union\",\"field\":\"src\",\"input\":{\"$ref\":\"s1.rows\"},"
                    "\"other\":{\"$ref\":\"s2.rows\"}}},{\"id\":\"s9\",\"op\":\"compute\",\"depends_on\":["
                    "\"s3\"],\"args\":{\"fn\":\"count\",\"input\":{\"$ref\":"
                    "\"s3.rows\"}}}],\"answer_spec\":{\"kind\":\"entity_set\",\"from\":\"s8.rows\"}}");
    mk_buf_c(&plan, '\0');
    for (int round = 0; round < 5; round++)
        for (size_t i = 0; i < 3; i++) {
            const mk_plan_run_options options = {.threads = threads[i], .row_budget = 200};
            mk_trace trace;
            mk_objects *objects;
            assert_int_equal(mk_objects_memory(&mk_alloc_default, 1 << 24, &objects, &a.err), MK_OK);
            (void)asked_run(&a, plan.p, &options, objects, &trace);
            if (first[0] == '\0')
                snprintf(first, sizeof first, "%s", trace.digest);
            assert_string_equal(trace.digest, first);
            mk_objects_close(objects);
        }
    mk_buf_free(&ops);
    mk_buf_free(&plan);
    asked_close(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plan_threads__traces_do_not_show_how_many_there_were),
    };
    return cmocka_run_group_tests_name("plan threads", tests, NULL, NULL);
}

/* test_plan_run.c — what a plan leaves behind: answers, gaps, errors, objects and their names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "../support/asked.h"
#include "../support/golden.h"
#include "../support/testalloc.h"
#include "plan/traces.h"
#include "store/store.h"

static const char world[] =
    "{\"op\":\"assert_node\",\"uid\":\"a\",\"label\":\"P\",\"props\":{\"name\":\"Lee\"},\"vt_s\":0}\n"
    "{\"op\":\"assert_node\",\"uid\":\"b\",\"label\":\"P\",\"props\":{\"name\":\"Lee\"},\"vt_s\":0}\n"
    "{\"op\":\"assert_node\",\"uid\":\"c\",\"label\":\"P\",\"props\":{},\"vt_s\":0}\n"
    "{\"op\":\"assert_edge\",\"src\":\"a\",\"dst\":\"b\",\"rel_type\":\"R\",\"vt_s\":20,\"vt_e\":21}\n"
    "{\"op\":\"assert_edge\",\"src\":\"b\",\"dst\":\"c\",\"rel_type\":\"R\",\"vt_s\":30,\"vt_e\":31}\n"
    "{\"op\":\"assert_edge\",\"src\":\"c\",\"dst\":\"a\",\"rel_type\":\"R\",\"vt_s\":40,\"vt_e\":41}\n";

static char *text_of(asked *a, const mk_json *value)
{
    mk_buf out;
    mk_buf_init(&out, &mk_alloc_default);
    assert_int_equal(mk_canon_tree(&out, &a->arena, value, NULL), MK_OK);
    mk_buf_c(&out, '\0');
    char *copy = mk_arena_get(&a->arena, out.n);
    memcpy(copy, out.p, out.n);
    mk_buf_free(&out);
    return copy;
}

static const mk_json *step(const mk_json *trace, const char *id)
{
    const mk_json *steps = mk_json_get(trace, "steps");
    for (size_t i = 0; i < steps->n; i++)
        if (mk_str_eq(mk_json_get(&steps->items[i], "step_id")->text, mk_str_of(id)))
            return &steps->items[i];
    fail_msg("no step %s", id);
    return NULL;
}

static void assert_member(asked *a, const mk_json *object, const char *name, const char *expected)
{
    const mk_json *member = mk_json_get(object, name);
    assert_non_null(member);
    assert_string_equal(text_of(a, member), expected);
}

#define VERSIONS(limit)                                                                                      \
    "{\"id\":\"s1\",\"op\":\"version_history\",\"args\":{\"kind\":\"edge\",\"window\":{\"t_a\":0,\"t_b\":"   \
    "100}" limit "}}"
#define COUNT_ROWS                                                                                           \
    "{\"id\":\"s2\",\"op\":\"compute\",\"depends_on\":[\"s1\"],\"args\":{\"fn\":\"count\",\"input\":{\"$"    \
    "ref\":\"s1.rows\"}}}"
#define PLAN(steps, kind, from)                                                                              \
    "{\"plan_id\":\"p\",\"steps\":[" steps "],\"answer_spec\":{\"kind\":\"" kind "\",\"from\":\"" from "\"}}"

/* ---- what is whole and what is a part ---- */

static void test_plan_run__a_step_without_a_page_is_whole(void **state)
{
    asked a;
    mk_trace trace;
    (void)state;
    asked_open(&a, world);
    const mk_json *t =
        asked_run(&a, PLAN(VERSIONS("") "," COUNT_ROWS, "count", "s2.value"), NULL, NULL, &trace);
    assert_true(trace.ok);
    assert_member(&a, t, "answer", "3");
    assert_member(&a, t, "answer_gaps", "[]");
    assert_member(&a, step(t, "s1"), "completeness", "{}");
    asked_close(&a);
}

static void test_plan_run__a_number_over_a_page_is_refused_and_its_total_is_not(void **state)
{
    static const char *const parts[] = {",\"limit\":2", ",\"limit\":1,\"cursor\":\"2\""};
    asked a;
    mk_trace trace;
    (void)state;
    asked_open(&a, world);
    for (size_t i = 0; i < 2; i++) {
        char plan[900];
        snprintf(plan, sizeof plan, PLAN(VERSIONS("%s") "," COUNT_ROWS, "count", "s2.value"), parts[i]);
        const mk_json *t = asked_run(&a, plan, NULL, NULL, &trace);
        assert_false(trace.ok);
        assert_member(&a, t, "answer", "null");
        assert_member(&a, mk_json_get(step(t, "s2"), "error"), "error", "\"E_LIMIT\"");
        snprintf(plan, sizeof plan, PLAN(VERSIONS("%s"), "count", "s1.rows_total"), parts[i]);
        t = asked_run(&a, plan, NULL, NULL, &trace);
        assert_true(trace.ok);
        assert_member(&a, t, "answer", "3");
        assert_member(&a, t, "answer_gaps", "[]");
        snprintf(plan, sizeof plan, PLAN(VERSIONS("%s"), "series", "s1.rows"), parts[i]);
        t = asked_run(&a, plan, NULL, NULL, &trace);
        assert_non_null(strstr(text_of(&a, mk_json_get(t, "answer_gaps")), i == 0 ? "page" : "offset"));
    }
    asked_close(&a);
}

static void test_plan_run__the_first_row_of_a_page_is_the_first_row(void **state)
{
    asked a;
    mk_trace trace;
    (void)state;
    asked_open(&a, world);
    const mk_json *t =
        asked_run(&a, PLAN(VERSIONS(",\"limit\":1"), "value", "s1.rows[0].src"), NULL, NULL, &trace);
    assert_member(&a, t, "answer_gaps", "[]");
    t = asked_run(&a, PLAN(VERSIONS(",\"limit\":1,\"cursor\":\"1\""), "value", "s1.rows[0].src"), NULL, NULL,
                  &trace);
    assert_non_null(strstr(text_of(&a, mk_json_get(t, "answer_gaps")), "offset"));
    asked_close(&a);
}

static void test_plan_run__reasons_follow_the_data(void **state)
{
    asked a;
    mk_trace trace;
    (void)state;
    asked_open(&a, world);
    const mk_json *t = asked_run(&a,
                                 PLAN(VERSIONS(",\"limit\":2") ",{\"id\":\"s2\",\"op\":\"compute\",\"depends_"
                                                               "on\":[\"s1\"],\"args\":{\"fn\":\"filter\","
                                                               "\"input\":{\"$ref\":\"s1.rows\"},\"field\":"
                                                               "\"src\",\"cmp\":\"eq\",\"value\":\"a\"}}",
                                      "series", "s2.rows"),
                                 NULL, NULL, &trace);
    assert_non_null(strstr(text_of(&a, mk_json_get(t, "answer_gaps")), "\"via\":\"s1.rows\""));
    /* and a number over what was filtered is refused as one over the page would be */
    t = asked_run(
        &a,
        PLAN(VERSIONS(",\"limit\":2") ",{\"id\":\"s2\",\"op\":\"compute\",\"depends_on\":[\"s1\"],\"args\":{"
                                      "\"fn\":\"filter\",\"input\":{"
                                      "\"$ref\":\"s1.rows\"},\"field\":\"src\",\"cmp\":\"eq\",\"value\":"
                                      "\"a\"}},{\"id\":\"s3\",\"op\":\"compute\",\"depends_on\":["
                                      "\"s2\"],\"args\":{\"fn\":\"count\",\"input\":{\"$ref\":\"s2.rows\"}}}",
             "count", "s3.value"),
        NULL, NULL, &trace);
    assert_member(&a, mk_json_get(step(t, "s3"), "error"), "error", "\"E_LIMIT\"");
    asked_close(&a);
}

static void test_plan_run__the_first_of_several_names_is_ambiguous(void **state)
{
    static const char *const plan =
        PLAN("{\"id\":\"s1\",\"op\":\"resolve_entities\",\"args\":{\"query\":\"%s\"}},{\"id\":\"s2\",\"op\":"
             "\"entity_history\",\"depends_on\":[\"s1\"],"
             "\"args\":{\"uid\":{\"$ref\":\"s1.rows[0].uid\"}}}",
             "count", "s2.rows_total");
    asked a;
    mk_trace trace;
    char text[600];
    (void)state;
    asked_open(&a, world);
    snprintf(text, sizeof text, plan, "Lee");
    const mk_json *t = asked_run(&a, text, NULL, NULL, &trace);
    assert_non_null(strstr(text_of(&a, mk_json_get(t, "answer_gaps")), "ambiguous"));
    snprintf(text, sizeof text, plan, "c");
    t = asked_run(&a, text, NULL, NULL, &trace);
    assert_member(&a, t, "answer_gaps", "[]");
    asked_close(&a);
}

/* ---- belief ---- */

static void test_plan_run__now_is_one_time_and_runs_again_give_the_same_names(void **state)
{
    static const char *const plan = PLAN(VERSIONS("") "," COUNT_ROWS, "count", "s2.value");
    asked a;
    mk_trace first, again, later;
    (void)state;
    asked_open(&a, world);
    (void)asked_run(&a, plan, NULL, NULL, &first);
    (void)asked_run(&a, plan, NULL, NULL, &again);
    assert_string_equal(first.digest, again.digest);
    assert_int_equal(first.as_of_tt, mk_store_last_tt(a.store).us);
    asked_write(
        &a,
        "{\"op\":\"assert_edge\",\"src\":\"a\",\"dst\":\"c\",\"rel_type\":\"R\",\"vt_s\":50,\"vt_e\":51}\n");
    const mk_plan_run_options pinned = {.as_of = {first.as_of_tt}};
    (void)asked_run(&a, plan, &pinned, NULL, &later);
    assert_string_equal(first.digest, later.digest);
    (void)asked_run(&a, plan, NULL, NULL, &later);
    assert_string_not_equal(first.digest, later.digest);
    asked_close(&a);
}

/* ---- failures ---- */

static void test_plan_run__one_branch_fails_and_the_others_run(void **state)
{
    asked a;
    mk_trace trace;
    (void)state;
    asked_open(&a, world);
    const mk_json *t = asked_run(&a,
                                 PLAN(VERSIONS("") ",{\"id\":\"s2\",\"op\":\"entity_history\",\"args\":{"
                                                   "\"uid\":\"nobody\"}},{\"id\":\"s3\",\"op\":"
                                                   "\"compute\",\"depends_on\":[\"s2\"],\"args\":{\"fn\":"
                                                   "\"count\",\"input\":{\"$ref\":\"s2.rows\"}}}",
                                      "count", "s1.rows_total"),
                                 NULL, NULL, &trace);
    assert_true(trace.ok);
    assert_member(&a, t, "answer", "3");
    assert_member(&a, t, "warnings", "[\"s2\",\"s3\"]");
    assert_member(&a, mk_json_get(step(t, "s2"), "error"), "error", "\"E_NOT_FOUND\"");
    assert_member(&a, mk_json_get(step(t, "s3"), "error"), "error", "\"E_UPSTREAM\"");
    assert_member(&a, step(t, "s3"), "status", "\"skipped\"");
    asked_close(&a);
}

static void test_plan_run__plans_that_were_not_checked_fail_in_their_steps(void **state)
{
    static const char *const plans[] = {
        PLAN("{\"id\":\"s1\",\"op\":\"version_history\",\"depends_on\":[\"s2\"],\"args\":{}},{\"id\":\"s2\","
             "\"op\":\"compute\",\"depends_on\":[\"s1\"],\"args\":{}}",
             "count", "s2.value"),
        PLAN("{\"id\":\"s1\",\"op\":\"nothing\",\"args\":{}}", "count", "s1.value"),
        PLAN(COUNT_ROWS, "count", "s2.value"),
        PLAN("{\"id\":\"s1\",\"op\":\"compute\",\"args\":{\"fn\":\"count\",\"input\":{\"$ref\":7}}}", "count",
             "s1.value"),
        PLAN(VERSIONS(""), "count", "s1.nothing"),
        PLAN(VERSIONS(""), "count", "s9.rows"),
        PLAN(VERSIONS(""), "count", "rows"),
    };
    asked a;
    mk_trace trace;
    (void)state;
    asked_open(&a, world);
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        const mk_json *t = asked_run(&a, plans[i], NULL, NULL, &trace);
        assert_false(trace.ok);
        assert_member(&a, t, "answer", "null");
        assert_int_equal(mk_json_get(t, "answer_error")->kind, MK_JSON_STRING);
    }
    asked_close(&a);
}

static void test_plan_run__budgets(void **state)
{
    static const char *const plan = PLAN(VERSIONS("") "," COUNT_ROWS, "count", "s2.value");
    const mk_plan_run_options rows = {.row_budget = 2}, memory = {.memory_max = 64};
    atomic_bool cancelled = true;
    const mk_plan_run_options stopped = {.cancelled = &cancelled};
    asked a;
    mk_trace trace;
    (void)state;
    asked_open(&a, world);
    assert_member(&a, mk_json_get(step(asked_run(&a, plan, &rows, NULL, &trace), "s1"), "error"), "error",
                  "\"E_LIMIT\"");
    assert_member(&a, mk_json_get(step(asked_run(&a, plan, &memory, NULL, &trace), "s1"), "error"), "error",
                  "\"E_LIMIT\"");
    assert_member(&a, mk_json_get(step(asked_run(&a, plan, &stopped, NULL, &trace), "s1"), "error"), "error",
                  "\"E_CANCELLED\"");
    asked_close(&a);
}

/* ---- progress ---- */

typedef struct seen {
    char text[400];
} seen;

static void on_event(void *ctx, const mk_run_event *event)
{
    seen *s = ctx;
    const size_t n = strlen(s->text);
    snprintf(s->text + n, sizeof s->text - n, "%c%.*s ",
             event->kind == MK_EVENT_STEP_STARTED    ? '+'
             : event->kind == MK_EVENT_STEP_FINISHED ? '-'
                                                     : '.',
             (int)event->step_id.n, event->step_id.n ? event->step_id.p : "");
}

static void test_plan_run__events_are_in_the_order_of_the_graph(void **state)
{
    seen s = {""};
    const mk_plan_run_options options = {.event = on_event, .event_ctx = &s};
    asked a;
    mk_trace trace;
    (void)state;
    asked_open(&a, world);
    (void)asked_run(&a, PLAN(COUNT_ROWS "," VERSIONS(""), "count", "s2.value"), &options, NULL, &trace);
    assert_string_equal(s.text, "+s1 -s1 +s2 -s2 . ");
    asked_close(&a);
}

/* ---- objects and traces ---- */

static void test_plan_run__objects_are_named_by_their_bytes_and_read_again(void **state)
{
    asked a;
    mk_trace trace;
    mk_objects *objects;
    mk_str text;
    char dir[TMPDIR_PATH_MAX], path[TMPDIR_PATH_MAX + 80];
    (void)state;
    asked_open(&a, world);
    tmpdir_join(&a.dir, "trace", dir);
    assert_int_equal(mk_objects_dir(&mk_alloc_default, &mk_fs_posix, dir, 0, &objects, &a.err), MK_OK);
    const mk_json *t =
        asked_run(&a, PLAN(VERSIONS("") "," COUNT_ROWS, "count", "s2.value"), NULL, objects, &trace);
    char digest[80];
    static const char *const names[] = {"call_digest", "result_digest"};
    for (size_t i = 0; i < 2; i++) {
        snprintf(digest, sizeof digest, "%.*s", MK_STR_ARG(mk_json_get(step(t, "s1"), names[i])->text));
        assert_int_equal(objects->get(objects, digest, &a.arena, &text, &a.err), MK_OK);
    }
    assert_int_equal(objects->get(objects, "../../etc/passwd", &a.arena, &text, &a.err), MK_E_NOT_FOUND);
    snprintf(path, sizeof path, "trace/%s.json", digest);
    tmpdir_put(&a.dir, path, "{}", 2);
    assert_int_equal(objects->get(objects, digest, &a.arena, &text, &a.err), MK_E_STATE);
    assert_string_equal(a.err.reason, "damaged");
    (void)asked_run(&a, PLAN(VERSIONS("") "," COUNT_ROWS, "count", "s2.value"), NULL, objects, &trace);
    assert_int_equal(objects->get(objects, digest, &a.arena, &text, &a.err), MK_OK); /* made again */
    mk_objects_close(objects);
    asked_close(&a);
}

static void test_plan_run__old_traces_leave_and_pinned_ones_stay(void **state)
{
    asked a;
    mk_trace trace;
    mk_objects *objects;
    mk_trace_entry *list;
    size_t count;
    uint64_t freed;
    uint32_t number = 0;
    char dir[TMPDIR_PATH_MAX], plan[900];
    (void)state;
    asked_open(&a, world);
    tmpdir_join(&a.dir, "trace", dir);
    assert_int_equal(mk_traces_list(&mk_fs_posix, dir, &a.arena, &list, &count, &a.err), MK_OK);
    assert_int_equal(count, 0);
    assert_int_equal(mk_objects_dir(&mk_alloc_default, &mk_fs_posix, dir, 0, &objects, &a.err), MK_OK);
    for (int i = 0; i < 5; i++) {
        snprintf(plan, sizeof plan,
                 PLAN("{\"id\":\"s1\",\"op\":\"version_history\",\"args\":{\"kind\":\"edge\",\"window\":{\"t_"
                      "a\":%d,\"t_b\":100}}}",
                      "count", "s1.rows_total"),
                 i);
        (void)asked_run(&a, plan, NULL, objects, &trace);
        assert_int_equal(mk_traces_save(&mk_alloc_default, &mk_fs_posix, dir, trace.json, &number, &a.err),
                         MK_OK);
        assert_int_equal(number, i + 1);
    }
    assert_int_equal(mk_traces_pin(&mk_alloc_default, &mk_fs_posix, dir, 2, true, &a.err), MK_OK);
    assert_int_equal(mk_traces_pin(&mk_alloc_default, &mk_fs_posix, dir, 99, true, &a.err), MK_E_NOT_FOUND);
    assert_int_equal(mk_traces_gc(&mk_alloc_default, &mk_fs_posix, dir, 3000, &freed, &a.err), MK_OK);
    assert_true(freed > 0);
    assert_int_equal(mk_traces_list(&mk_fs_posix, dir, &a.arena, &list, &count, &a.err), MK_OK);
    assert_true(count >= 1 && count < 5);
    assert_int_equal(list[count - 1].number, 2);
    assert_true(list[count - 1].pinned);
    mk_str text, object;
    const mk_json *tree;
    assert_int_equal(mk_traces_read(&mk_fs_posix, dir, 2, &a.arena, &text, &tree, &a.err), MK_OK);
    char digest[80];
    snprintf(digest, sizeof digest, "%.*s", MK_STR_ARG(mk_json_get(step(tree, "s1"), "result_digest")->text));
    assert_int_equal(objects->get(objects, digest, &a.arena, &object, &a.err),
                     MK_OK); /* what it names stayed too */
    assert_int_equal(mk_traces_read(&mk_fs_posix, dir, 1, &a.arena, &text, &tree, &a.err), MK_E_NOT_FOUND);
    mk_objects_close(objects);
    asked_close(&a);
}

static void test_plan_run__memory_that_runs_out_is_an_error(void **state)
{
    static const char *const plan = PLAN(VERSIONS("") "," COUNT_ROWS, "count", "s2.value");
    asked a;
    mk_plan_report report;
    (void)state;
    asked_open(&a, world);
    assert_int_equal(mk_plan_check(mk_str_of(plan), NULL, &a.arena, &report, &a.err), MK_OK);
    bool done = false;
    for (uint64_t n = 1; n < 2000 && !done; n++) {
        testalloc alloc;
        mk_trace trace;
        mk_arena arena;
        mk_objects *objects = NULL;
        testalloc_init(&alloc);
        testalloc_fail(&alloc, n, true);
        mk_arena_init(&arena, &alloc.hook);
        mk_code rc = mk_objects_memory(&alloc.hook, 1 << 20, &objects, &a.err);
        if (rc == MK_OK)
            rc = mk_plan_run(a.store, &report.plan, NULL, objects, &arena, &trace, &a.err);
        assert_true(rc == MK_OK || rc == MK_E_NOMEM);
        done = rc == MK_OK && trace.ok;
        mk_objects_close(objects);
        mk_arena_free(&arena);
        assert_true(testalloc_is_clean(&alloc));
        testalloc_free(&alloc);
    }
    assert_true(done);
    asked_close(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plan_run__a_step_without_a_page_is_whole),
        cmocka_unit_test(test_plan_run__a_number_over_a_page_is_refused_and_its_total_is_not),
        cmocka_unit_test(test_plan_run__the_first_row_of_a_page_is_the_first_row),
        cmocka_unit_test(test_plan_run__reasons_follow_the_data),
        cmocka_unit_test(test_plan_run__the_first_of_several_names_is_ambiguous),
        cmocka_unit_test(test_plan_run__now_is_one_time_and_runs_again_give_the_same_names),
        cmocka_unit_test(test_plan_run__one_branch_fails_and_the_others_run),
        cmocka_unit_test(test_plan_run__plans_that_were_not_checked_fail_in_their_steps),
        cmocka_unit_test(test_plan_run__budgets),
        cmocka_unit_test(test_plan_run__events_are_in_the_order_of_the_graph),
        cmocka_unit_test(test_plan_run__objects_are_named_by_their_bytes_and_read_again),
        cmocka_unit_test(test_plan_run__old_traces_leave_and_pinned_ones_stay),
        cmocka_unit_test(test_plan_run__memory_that_runs_out_is_an_error),
    };
    return cmocka_run_group_tests_name("plan run", tests, NULL, NULL);
}

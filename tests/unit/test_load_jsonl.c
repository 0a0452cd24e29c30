/* JSON lines and event logs: strict reading, bad lines, and what is handed to the store. */
#include "test_load_support.h"

static void expect(const char *text, const char *lines)
{
    const size_t steps[] = {0, 1, 9};

    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        rig r;
        rig_init(&r);
        r.options.source = "me";
        rig_open(&r, mk_str_of(text), steps[i]);
        const mk_code rc = mk_load__jsonl(&r.load, &r.err);
        if (rc != MK_OK)
            fail_msg("%s: %s", r.err.path, r.err.message);
        assert_string_equal(rig_text(&r), lines);
        rig_free(&r);
    }
}

static void refuse(const char *text, const char *path, const char *words)
{
    rig r;

    rig_init(&r);
    rig_open(&r, mk_str_of(text), 0);
    const mk_code rc = mk_load__jsonl(&r.load, &r.err);
    assert_true(rc == MK_E_INVALID_ARG || rc == MK_E_SCHEMA);
    if (strstr(r.err.path, path) != r.err.path)
        fail_msg("path is: %s", r.err.path);
    if (strstr(r.err.message, words) == NULL)
        fail_msg("message is: %s", r.err.message);
    rig_free(&r);
}

#define EV "\"src\":\"a\",\"dst\":\"b\",\"rel_type\":\"R\""

static void test_load_jsonl__events_have_times_props_and_discs(void **state)
{
    (void)state;
    expect("\xEF\xBB\xBF{" EV ",\"vt_s\":5}\n\n  {" EV ",\"vt_s\":\"1970-01-01T00:00:01Z\",\"vt_e\":2000000,"
           "\"disc\":\"\",\"props\":{\"z\":1.50,\"a\":\"\\u00e9\"}}\r\n",
           "a>b R * [5,-)  @1\n"
           "a>b R  [1000000,2000000) {\"a\":\"\xc3\xa9\",\"z\":1.5} @3\n");
}

static void test_load_jsonl__lines_with_op_are_ops(void **state)
{
    (void)state;
    expect("{\"op\":\"assert_node\",\"uid\":\"a\",\"label\":\"N\",\"vt_s\":1,\"vt_e\":9}\n"
           "{\"op\":\"retract\",\"ref\":{\"kind\":\"node\",\"uid\":\"a\"},\"t\":3}\n"
           "{\"op\":\"retract\",\"ref\":{\"kind\":\"node\",\"uid\":\"a\"},\"t\":3,\"source\":\"them\"}\n",
           "node a N [1,9) {} @1\nop 2 me @2\nop 2 them @3\n");
}

static void test_load_jsonl__bad_lines_are_told_by_line_and_place(void **state)
{
    (void)state;
    refuse("{" EV ",\"vt_s\":5}\n{" EV ",\"vt_s\":}\n", "in.txt:2:4", "");
    refuse("[1]\n", "in.txt:1:1", "no JSON object");
    refuse("{" EV "}\n", "in.txt:1", "no vt_s");
    refuse("{" EV ",\"vt_s\":5,\"weight\":1}\n", "in.txt:1", "no member 'weight'");
    refuse("{" EV ",\"vt_s\":5,\"vt_e\":5}\n", "in.txt:1", "not after");
    refuse("{" EV ",\"vt_s\":5.5}\n", "in.txt:1", "integer");
    refuse("{" EV ",\"vt_s\":9223372036854775807}\n", "in.txt:1", "range");
    refuse("{" EV ",\"vt_s\":\"soon\"}\n", "in.txt:1", "no time");
    refuse("{\"src\":\"\",\"dst\":\"b\",\"rel_type\":\"R\",\"vt_s\":5}\n", "in.txt:1", "empty");
    refuse("{\"src\":1,\"dst\":\"b\",\"rel_type\":\"R\",\"vt_s\":5}\n", "in.txt:1", "string");
    refuse("{\"op\":\"forget\"}\n", "in.txt:1", "forget");
    refuse("{\"op\":\"assert_node\",\"uid\":\"a\",\"label\":\"N\",\"vt_s\":1,\"colour\":1}\n", "in.txt:1",
           "colour");
}

/* ---- event logs ---- */

typedef struct fake {
    mk_tt last;
    int lines, flushes;
} fake;

static mk_tt fake_last_tt(void *ctx)
{
    return ((fake *)ctx)->last;
}

static mk_code fake_replay(void *ctx, mk_str line, bool *applied, mk_err *why, mk_err *err)
{
    fake *f = ctx;

    (void)why;
    if (line.n == 3)
        return mk_fail(err, MK_E_STATE, "damaged");
    f->last.us += 10;
    *applied = ++f->lines != 2;
    return MK_OK;
}

static mk_code fake_flush(void *ctx, mk_err *err)
{
    (void)err;
    ((fake *)ctx)->flushes++;
    return MK_OK;
}

static mk_code replay(rig *r, fake *f, mk_load_target *target, const char *text)
{
    *target = (mk_load_target){
        .ctx = f, .last_tt = fake_last_tt, .replay_line = fake_replay, .replay_flush = fake_flush};
    rig_init(r);
    rig_open(r, mk_str_of(text), 0);
    r->load.target = target;
    return mk_load__eventlog(&r->load, &r->err);
}

#define HEADER "{\"format\":\"tgms-eventlog\",\"version\":1}\n"

static void test_load_eventlog__each_line_is_replayed_as_it_is(void **state)
{
    (void)state;
    rig r;
    fake f = {0};
    mk_load_target target;

    assert_int_equal(replay(&r, &f, &target, HEADER "{\"a\"}\n\n{\"b\"}\n{\"c\"}\n"), MK_OK);
    assert_int_equal(r.report.batches, 2);
    assert_int_equal(r.report.failed_batches, 1);
    assert_int_equal(r.report.first_tt.us, 10);
    assert_int_equal(r.report.last_tt.us, 30);
    assert_int_equal(f.flushes, 1);
    assert_int_equal(r.report.done_line, 5);
    rig_free(&r);
}

static void test_load_eventlog__what_came_before_a_damaged_line_is_kept(void **state)
{
    (void)state;
    rig r;
    fake f = {0};
    mk_load_target target;

    assert_int_equal(replay(&r, &f, &target, HEADER "{\"a\"}\nbad\n"), MK_E_STATE);
    assert_string_equal(r.err.path, "in.txt:3");
    assert_int_equal(f.flushes, 1);
    assert_int_equal(r.report.done_line, 2);
    rig_free(&r);
}

static void test_load_eventlog__a_store_with_batches_refuses(void **state)
{
    (void)state;
    rig r;
    fake f = {.last = {7}};
    mk_load_target target;

    assert_int_equal(replay(&r, &f, &target, HEADER "{\"a\"}\n"), MK_E_STATE);
    assert_string_equal(r.err.reason, "not_empty");
    assert_non_null(strstr(r.err.hint, "replay"));
    rig_free(&r);
    f.last.us = 0;
    assert_int_equal(replay(&r, &f, &target, "{\"format\":\"tgms-eventlog\",\"version\":2}\n"), MK_E_STATE);
    assert_string_equal(r.err.reason, "newer_format");
    rig_free(&r);
    assert_int_equal(replay(&r, &f, &target, "{}\n"), MK_E_STATE);
    rig_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_load_jsonl__events_have_times_props_and_discs),
        cmocka_unit_test(test_load_jsonl__lines_with_op_are_ops),
        cmocka_unit_test(test_load_jsonl__bad_lines_are_told_by_line_and_place),
        cmocka_unit_test(test_load_eventlog__each_line_is_replayed_as_it_is),
        cmocka_unit_test(test_load_eventlog__what_came_before_a_damaged_line_is_kept),
        cmocka_unit_test(test_load_eventlog__a_store_with_batches_refuses),
    };

    return cmocka_run_group_tests_name("load_jsonl", tests, NULL, NULL);
}

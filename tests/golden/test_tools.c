/* test_tools.c — the operators as tools: every golden call over the protocol.
 *
 * Goal: what a client gets over the wire is the reference's result: the same digest, the same codes of
 * errors, text and structured content the same object, within the budget of bytes. Schemas are walked in
 * tests/unit/test_tool_schemas.c. Source: serving spec, 2.4 to 2.7. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../support/golden.h"
#include "../support/tmpdir.h"
#include "base/canon.h"
#include "serve/offer.h"
#include "store/store.h"

static void must(mk_code rc, const mk_err *err)
{
    if (rc != MK_OK)
        fail_msg("%s: %s (%s)", mk_code_name(rc), err->message, err->reason);
}

/* ---- a server over one golden store ---- */

typedef struct rig {
    mk_stream stream;
    tmpdir dir;
    mk_service *service;
    mk_tools tools;
    mk_mcp_offer offer;
    mk_mcp *server;
    mk_mcp_session *session;
    mk_arena arena;
    mk_buf request, answer;
} rig;

static void drop(mk_stream *self, mk_str message)
{
    (void)self;
    (void)message;
}

static void fill(const char *dir, int number)
{
    const mk_store_options options = {.mode = MK_OPEN_CREATE_WRITER, .manual = true};
    char path[GOLDEN_PATH_MAX], name[64];
    mk_store *store;
    mk_err err, why;
    golden_batch batch;
    bool applied;
    snprintf(name, sizeof name, "small-%02d.eventlog.jsonl", number);
    assert_true(golden_test_path(path, name));
    must(mk_store_open(dir, &options, &store, &err), &err);
    golden *log = golden_log_open(path);
    while (golden_log_next(log, &batch))
        must(mk_store_replay_line(store, batch.line, true, &applied, &why, &err), &err);
    must(mk_store_replay_flush(store, &err), &err);
    golden_close(log);
    must(mk_store_close(store, &err), &err);
}

static void rig_open(rig *r, int number, size_t result_bytes)
{
    char path[TMPDIR_PATH_MAX];
    mk_err err;
    *r = (rig){.stream = {.send = drop}};
    tmpdir_make(&r->dir);
    tmpdir_join(&r->dir, "store", path);
    fill(path, number);
    const mk_service_options options = {.dir = path, .result_bytes = result_bytes};
    must(mk_service_open(&mk_alloc_default, &options, &r->service, &err), &err);
    must(mk_tools_open(&mk_alloc_default, r->service, NULL, &r->tools, &err), &err);
    mk_offer_init(&r->offer, r->service, &r->tools, "0");
    must(mk_mcp_open(&mk_alloc_default, &r->offer, NULL, &r->server, &err), &err);
    must(mk_mcp_session_open(r->server, &r->stream, true, MK_STR("public"), &r->session, &err), &err);
    mk_arena_init(&r->arena, &mk_alloc_default);
    mk_buf_init(&r->request, &mk_alloc_default);
    mk_buf_init(&r->answer, &mk_alloc_default);
}

static void rig_close(rig *r)
{
    mk_buf_free(&r->request);
    mk_buf_free(&r->answer);
    mk_arena_free(&r->arena);
    mk_mcp_session_close(r->session);
    mk_mcp_close(r->server);
    mk_tools_close(&r->tools);
    mk_service_close(r->service);
    tmpdir_remove(&r->dir);
}

/* The result of what `request` asks; NULL for a protocol error. */
static const mk_json *ask(rig *r)
{
    mk_mcp_message message;
    mk_json *tree;
    mk_err err;
    int status;
    mk_arena_reset(&r->arena);
    mk_buf_clear(&r->answer);
    mk_mcp_read(mk_buf_view(&r->request), &r->arena, &message);
    assert_int_equal(message.kind, MK_MESSAGE_REQUEST);
    assert_true(mk_mcp_begin(r->session, &message));
    must(mk_mcp_handle(r->server, r->session, &message, &r->stream, &r->arena, &r->answer, &status, &err),
         &err);
    must(mk_json_parse(&r->arena, mk_buf_view(&r->answer), NULL, &tree, &err), &err);
    return mk_json_get(tree, "result");
}

static const mk_json *call_tool(rig *r, const char *name, mk_str arguments)
{
    mk_buf_clear(&r->request);
    mk_buf_printf(
        &r->request,
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"%s\",\"arguments\":",
        name);
    mk_buf_str(&r->request, arguments);
    mk_buf_z(&r->request, "}}");
    return ask(r);
}

static bool is_error(const mk_json *result)
{
    const mk_json *flag = mk_json_get(result, "isError");
    return flag != NULL && flag->b;
}

/* The object in the text block; for a success it is the structured content too. */
static const mk_json *object_of(rig *r, const mk_json *result)
{
    const mk_json *content = mk_json_get(result, "content"),
                  *structured = mk_json_get(result, "structuredContent");
    mk_buf a, b;
    mk_json *tree;
    mk_err err;
    assert_true(content != NULL && content->n >= 1);
    const mk_json *text = mk_json_get(&content->items[0], "text");
    must(mk_json_parse(&r->arena, text->text, NULL, &tree, &err), &err);
    assert_int_equal(structured == NULL, is_error(result));
    if (structured == NULL)
        return tree;
    mk_buf_init(&a, &mk_alloc_default);
    mk_buf_init(&b, &mk_alloc_default);
    must(mk_canon_tree(&a, &r->arena, tree, &err), &err);
    must(mk_canon_tree(&b, &r->arena, structured, &err), &err);
    assert_true(mk_str_eq(mk_buf_view(&a), mk_buf_view(&b)));
    mk_buf_free(&a);
    mk_buf_free(&b);
    return structured;
}

/* ---- golden calls ---- */

typedef struct tally {
    int calls, same, fitted, understood;
} tally;

/* Text that reads as JSON is a literal on the wire, so such calls mean something else there. */
static bool differs_by_design(const golden_call *call)
{
    const mk_json *filter = mk_json_get(call->args, "prop_filter");
    const mk_json *values[] = {mk_json_get(call->args, "value"), mk_json_get(call->args, "fill"),
                               filter != NULL ? mk_json_get(filter, "value") : NULL};
    for (size_t i = 0; i < 3; i++)
        if (values[i] != NULL && values[i]->kind == MK_JSON_STRING)
            return true;
    return false;
}

static void check_call(rig *r, const golden_call *call, tally *t)
{
    char name[80];
    mk_buf args;
    mk_arena scratch;
    mk_err err;
    mk_buf_init(&args, &mk_alloc_default);
    mk_arena_init(&scratch, &mk_alloc_default);
    must(mk_canon_tree(&args, &scratch, call->args, &err), &err);
    snprintf(name, sizeof name, "%.*s", MK_STR_ARG(call->op));
    const mk_json *result = call_tool(r, name, mk_buf_view(&args));
    const mk_json *object = object_of(r, result);
    t->calls++;
    if (is_error(result)) {
        const bool same = mk_str_eq(mk_json_get(object, "error")->text, call->code);
        if (call->ok || (!same && !mk_str_eq(call->code, MK_STR("E_SCHEMA"))))
            fail_msg("line %d: %.*s", call->line, MK_STR_ARG(mk_buf_view(&r->answer)));
        t->same += same;
        t->understood += !same; /* repaired, and then refused for what it asks */
    } else if (!call->ok) {
        if (!mk_str_eq(call->code, MK_STR("E_SCHEMA")) && !mk_str_eq(call->code, MK_STR("E_INVALID_ARG")))
            fail_msg("line %d: not refused", call->line);
        t->understood++; /* 5.0, "a" for ["a"], "12": what has one meaning is repaired */
    } else if (mk_json_get(object, "served") != NULL &&
               mk_json_get(mk_json_get(object, "served"), "limit_used")) {
        t->fitted++;
    } else {
        if (!mk_str_eq(mk_json_get(object, "result_digest")->text, call->digest))
            fail_msg("line %d: another digest: %.*s", call->line, MK_STR_ARG(mk_buf_view(&r->answer)));
        t->same++;
    }
    mk_arena_free(&scratch);
    mk_buf_free(&args);
}

static void test_tools__golden_calls_have_the_references_digests(void **state)
{
    tally t = {0};
    (void)state;
    for (int i = 0; i < 2; i++) {
        char path[GOLDEN_PATH_MAX], name[64];
        golden_call call;
        rig r;
        rig_open(&r, i, 0);
        snprintf(name, sizeof name, "small-%02d.calls.jsonl.gz", i);
        assert_true(golden_test_path(path, name));
        golden *calls = golden_open(path);
        while (golden_call_next(calls, &call))
            if (mk_operator_find(call.op) != NULL && !differs_by_design(&call))
                check_call(&r, &call, &t);
        golden_close(calls);
        rig_close(&r);
    }
    print_message("%d calls: %d the same, %d with a smaller page, %d understood that the reference refuses\n",
                  t.calls, t.same, t.fitted, t.understood);
    assert_true(t.calls > 1000 && t.same > t.calls * 9 / 10);
}

/* ---- budgets and pages ---- */

static void test_tools__results_keep_to_the_budget_and_pages_are_one_snapshot(void **state)
{
    char args[300];
    rig r;
    int pages = 0;
    int64_t rows = 0, total = 0;
    (void)state;
    rig_open(&r, 0, MK_RESULT_BYTES_MIN);
    snprintf(args, sizeof args, "{\"kind\":\"edge\",\"window\":{\"t_a\":0,\"t_b\":null},\"limit\":1000}");
    for (;;) {
        const mk_json *result = call_tool(&r, "version_history", mk_str_of(args));
        const mk_json *object = object_of(&r, result);
        const mk_json *text = mk_json_get(&mk_json_get(result, "content")->items[0], "text");
        assert_false(is_error(result));
        assert_true(text->text.n <= MK_RESULT_BYTES_MIN);
        rows += (int64_t)mk_json_get(object, "rows")->n;
        total = mk_json_get(object, "rows_total")->i;
        pages++;
        const mk_json *cursor = mk_json_get(object, "cursor");
        if (cursor->kind == MK_JSON_NULL)
            break;
        snprintf(args, sizeof args,
                 "{\"kind\":\"edge\",\"window\":{\"t_a\":0,\"t_b\":null},\"limit\":1000,\"cursor\":\"%.*s\"}",
                 MK_STR_ARG(cursor->text));
    }
    assert_int_equal(rows, total);
    assert_true(pages > 1);
    rig_close(&r);
}

static void test_tools__a_cursor_is_refused_where_it_does_not_belong(void **state)
{
    char args[400], cursor[100];
    rig r;
    (void)state;
    rig_open(&r, 0, 0);
    const mk_json *object = object_of(&r, call_tool(&r, "version_history",
                                                    MK_STR("{\"kind\":\"edge\",\"window\":{\"t_a\":0,"
                                                           "\"t_b\":null},\"limit\":1}")));
    snprintf(cursor, sizeof cursor, "%.*s", MK_STR_ARG(mk_json_get(object, "cursor")->text));
    static const char *const others[] = {
        "\"kind\":\"node\",\"window\":{\"t_a\":0,\"t_b\":null}",
        "\"kind\":\"edge\",\"window\":{\"t_a\":1,\"t_b\":null}",
        "\"kind\":\"edge\",\"window\":{\"t_a\":0,\"t_b\":null},\"as_of_tt\":1"};
    for (size_t i = 0; i < 3; i++) {
        snprintf(args, sizeof args, "{%s,\"cursor\":\"%s\"}", others[i], cursor);
        const mk_json *result = call_tool(&r, "version_history", mk_str_of(args));
        assert_true(is_error(result));
        assert_true(mk_str_eq(mk_json_get(object_of(&r, result), "error")->text, MK_STR("E_INVALID_ARG")));
    }
    cursor[strlen(cursor) - 1] = cursor[strlen(cursor) - 1] == '0' ? '1' : '0';
    snprintf(args, sizeof args, "{\"kind\":\"edge\",\"window\":{\"t_a\":0,\"t_b\":null},\"cursor\":\"%s\"}",
             cursor);
    assert_true(is_error(call_tool(&r, "version_history", mk_str_of(args))));
    rig_close(&r);
}

static void test_tools__a_reference_reads_the_whole_result(void **state)
{
    char args[400];
    rig r;
    (void)state;
    rig_open(&r, 0, 0);
    const mk_json *object = object_of(&r, call_tool(&r, "version_history",
                                                    MK_STR("{\"kind\":\"edge\",\"window\":{\"t_a\":0,"
                                                           "\"t_b\":null},\"limit\":2}")));
    const int64_t total = mk_json_get(object, "rows_total")->i;
    snprintf(args, sizeof args, "{\"fn\":\"count\",\"input_ref\":\"%.*s.rows\"}",
             MK_STR_ARG(mk_json_get(object, "result_digest")->text));
    object = object_of(&r, call_tool(&r, "compute", mk_str_of(args)));
    assert_true(total > 2);
    assert_int_equal(mk_json_get(object, "value")->i, total);
    assert_int_equal(mk_json_get(object, "completeness")->n, 0);
    /* rows that a client pastes are not known to be all there were */
    object = object_of(&r, call_tool(&r, "compute", MK_STR("{\"fn\":\"count\",\"input\":[1,2,3]}")));
    assert_int_equal(mk_json_get(object, "value")->i, 3);
    assert_non_null(mk_json_get(mk_json_get(object, "completeness"), "value"));
    static const char *const bad[] = {
        "{\"fn\":\"count\",\"input_ref\":\"x\"}", "{\"fn\":\"count\",\"input_ref\":7}",
        "{\"fn\":\"count\",\"input_ref\":\"0000000000000000000000000000000000000000000000000000000000000000."
        "rows\"}"};
    for (size_t i = 0; i < 3; i++)
        assert_true(is_error(call_tool(&r, "compute", mk_str_of(bad[i]))));
    rig_close(&r);
}

static void test_tools__an_empty_page_says_where_it_looked(void **state)
{
    rig r;
    (void)state;
    rig_open(&r, 0, 0);
    const mk_json *object =
        object_of(&r, call_tool(&r, "version_history",
                                MK_STR("{\"kind\":\"edge\",\"window\":{\"t_a\":"
                                       "\"1950-01-01\",\"t_b\":\"2261-01-01\"},\"rel_types\":[]}")));
    if (mk_json_get(object, "error") != NULL) /* before 1970 is refused, and says so */
        object = object_of(&r, call_tool(&r, "version_history",
                                         MK_STR("{\"kind\":\"edge\",\"window\":{\"t_a\":0,"
                                                "\"t_b\":\"2261-01-01\"},\"rel_types\":[]}")));
    assert_int_equal(mk_json_get(object, "rows")->n, 0);
    const mk_json *note = mk_json_get(mk_json_get(object, "served"), "note");
    assert_non_null(note);
    char text[600];
    snprintf(text, sizeof text, "%.*s", MK_STR_ARG(note->text));
    assert_non_null(strstr(text, "2261-01-01"));
    assert_non_null(strstr(text, "rel_types is an empty list"));
    rig_close(&r);
}

/* ---- questions, plans and answers ---- */

/* What a client's own model says is rated like what ours says. */
static void test_tools__an_answer_of_the_client_is_checked(void **state)
{
    char args[900], digest[80];
    rig r;
    (void)state;
    rig_open(&r, 0, 0);
    const mk_json *object = object_of(
        &r, call_tool(&r, "version_history",
                      MK_STR("{\"kind\":\"edge\",\"window\":{\"t_a\":0,\"t_b\":null},\"limit\":2}")));
    const int64_t total = mk_json_get(object, "rows_total")->i;
    snprintf(digest, sizeof digest, "%.*s", MK_STR_ARG(mk_json_get(object, "result_digest")->text));
    for (int wrong = 0; wrong < 2; wrong++) {
        snprintf(
            args, sizeof args,
            "{\"text\":\"There are %lld "
            "versions.\",\"claims\":[{\"id\":\"c1\",\"type\":\"count\",\"value\":%lld,\"evidence\":[\"%s\"],"
            "\"from\":\"%s.rows_total\"}]}",
            (long long)total + wrong, (long long)total + wrong, digest, digest);
        object = object_of(&r, call_tool(&r, "verify_answer", mk_str_of(args)));
        assert_int_equal(mk_json_get(object, "emitted")->b, !wrong);
    }
    /* the number of rows on a page of two is thin evidence for a count of all */
    snprintf(args, sizeof args,
             "{\"text\":\"There are 2 "
             "versions.\",\"claims\":[{\"id\":\"c1\",\"type\":\"count\",\"value\":2,\"evidence\":[\"%s\"],"
             "\"from\":\"%s.rows\"}]}",
             digest, digest);
    object = object_of(&r, call_tool(&r, "verify_answer", mk_str_of(args)));
    const mk_json *claims = mk_json_get(mk_json_get(object, "report"), "claims");
    assert_false(mk_str_eq(mk_json_get(&claims->items[0], "verdict")->text, MK_STR("supported")));
    static const char *const bad[] = {
        "{}", "{\"text\":\"x\",\"claims\":{}}",
        "{\"text\":\"x\",\"claims\":[{\"id\":\"c\",\"type\":\"count\",\"evidence\":[\"s1\"]}]}",
        "{\"bundle\":\"{}\"}", "{\"bundle\":7}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_true(is_error(call_tool(&r, "verify_answer", mk_str_of(bad[i]))));
    rig_close(&r);
}

static void test_tools__questions_and_plans(void **state)
{
    rig r;
    (void)state;
    rig_open(&r, 0, 0);
    const mk_json *object =
        object_of(&r, call_tool(&r, "ask", MK_STR("{\"question\":\"How many events are there?\"}")));
    assert_false(mk_json_get(object, "abstained")->b);
    assert_int_equal(mk_json_get(object, "claims")->n, 1);
    object = object_of(&r, call_tool(&r, "ask", MK_STR("{\"question\":\"How tall is the tower?\"}")));
    assert_true(mk_json_get(object, "abstained")->b);
    assert_true(is_error(call_tool(&r, "ask", MK_STR("{}"))));
    static const char *const plan =
        "{\"plan_id\":\"p\",\"steps\":[{\"id\":\"s1\",\"op\":\"version_history\",\"args\":{\"kind\":\"edge\","
        "\"window\":{"
        "\"t_a\":0,\"t_b\":4611686018427387904}}}],\"answer_spec\":{\"kind\":\"count\",\"from\":\"s1.%s\"}}";
    char args[700], text[600];
    snprintf(text, sizeof text, plan, "rows_total");
    snprintf(args, sizeof args, "{\"plan\":%s}", text);
    object = object_of(&r, call_tool(&r, "plan_check", mk_str_of(args)));
    assert_true(mk_json_get(object, "valid")->b);
    object = object_of(&r, call_tool(&r, "plan_run", mk_str_of(args)));
    assert_true(mk_json_get(mk_json_get(object, "trace"), "answer")->i > 0);
    snprintf(text, sizeof text, plan, "count");
    snprintf(args, sizeof args, "{\"plan\":%s}", text);
    object = object_of(&r, call_tool(&r, "plan_run", mk_str_of(args)));
    assert_false(mk_json_get(object, "valid")->b);
    rig_close(&r);
}

static void test_tools__a_store_that_is_not_there_is_named(void **state)
{
    const mk_service_options options = {.dir = "/nonexistent/store"};
    rig r = {.stream = {.send = drop}};
    mk_err err;
    (void)state;
    must(mk_service_open(&mk_alloc_default, &options, &r.service, &err), &err);
    must(mk_tools_open(&mk_alloc_default, r.service, "describe_dataset,resolve_entities", &r.tools, &err),
         &err);
    assert_int_equal(r.tools.count, 2);
    mk_offer_init(&r.offer, r.service, &r.tools, "0");
    must(mk_mcp_open(&mk_alloc_default, &r.offer, NULL, &r.server, &err), &err);
    must(mk_mcp_session_open(r.server, &r.stream, true, MK_STR("public"), &r.session, &err), &err);
    mk_arena_init(&r.arena, &mk_alloc_default);
    mk_buf_init(&r.request, &mk_alloc_default);
    mk_buf_init(&r.answer, &mk_alloc_default);
    const mk_json *object = object_of(&r, call_tool(&r, "describe_dataset", MK_STR("{}")));
    assert_true(mk_str_eq(mk_json_get(object, "error")->text, MK_STR("E_STATE")));
    mk_buf_c(&r.answer, '\0');
    assert_non_null(strstr(r.answer.p, "merkhet init"));
    assert_null(call_tool(&r, "temporal_paths", MK_STR("{}"))); /* switched off: no such tool */
    mk_tools none;
    assert_int_equal(mk_tools_open(&mk_alloc_default, r.service, "resolve_entity", &none, &err),
                     MK_E_INVALID_ARG);
    mk_mcp_session_close(r.session);
    mk_mcp_close(r.server);
    mk_tools_close(&r.tools);
    mk_service_close(r.service);
    mk_buf_free(&r.request);
    mk_buf_free(&r.answer);
    mk_arena_free(&r.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tools__golden_calls_have_the_references_digests),
        cmocka_unit_test(test_tools__results_keep_to_the_budget_and_pages_are_one_snapshot),
        cmocka_unit_test(test_tools__a_cursor_is_refused_where_it_does_not_belong),
        cmocka_unit_test(test_tools__a_reference_reads_the_whole_result),
        cmocka_unit_test(test_tools__an_empty_page_says_where_it_looked),
        cmocka_unit_test(test_tools__an_answer_of_the_client_is_checked),
        cmocka_unit_test(test_tools__questions_and_plans),
        cmocka_unit_test(test_tools__a_store_that_is_not_there_is_named),
    };
    return cmocka_run_group_tests_name("tools", tests, NULL, NULL);
}

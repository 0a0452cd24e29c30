/* test_sampling.c — questions that the client's own model plans, in both eras of the protocol.
 *
 * A scripted client answers what it is asked: in a session from another thread, as it would from another
 * place; a request that describes itself is sent again with the answer. Source: agent spec, 18.15; serving
 * spec, 5, 14.2. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "../support/tmpdir.h"
#include "api_json.h"
#include "model/model.h"
#include "serve/offer.h"

#define GOOD_PLAN                                                                                            \
    "{\"answer_spec\":{\"from\":\"s1.rows_total\",\"kind\":\"count\"},\"plan_id\":\"p1\",\"question\":"      \
    "\"q\",\"steps\":[{"                                                                                     \
    "\"args\":{\"uid\":\"ada\"},\"depends_on\":[],\"id\":\"s1\",\"op\":\"entity_history\"}]}"
#define NO_PLAN "{\"steps\":[]}"
#define REPORT(n)                                                                                            \
    "{\"claims\":[{\"evidence\":[\"s1\"],\"from\":\"s1.rows_total\",\"id\":\"c1\",\"type\":\"count\","       \
    "\"value\":" n "}],"                                                                                     \
    "\"text\":\"There are " n " versions.\"}"
#define QUESTION "How many versions does ada have?"
#define CLAIMS_ERA(capabilities)                                                                             \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/"       \
    "clientCapabilities\":{" capabilities "}}"
#define ROUNDS_MAX 12

typedef struct rig {
    mk_stream stream; /* first, so that a stream is its rig */
    tmpdir dir;
    mk_service *service;
    mk_tools tools;
    mk_mcp_offer offer;
    mk_mcp *server;
    mk_mcp_session *session;
    mk_arena arena;
    mk_buf answer;
    /* the client: what its model says, in turn; NULL: it refuses */
    const char *const *replies;
    size_t reply_count;
    size_t asked;         /* questions that came */
    mk_buf questions;     /* their params, a line each */
    pthread_t thread;
    bool answering;
} rig;

/* ---- the client of a session ---- */

static const char *next_reply(rig *r)
{
    const char *reply = r->asked < r->reply_count ? r->replies[r->asked] : NULL;
    r->asked++;
    return reply;
}

/* The result that a model's text is. */
static void put_reply(mk_buf *out, const char *text)
{
    mk_buf_z(out, "{\"role\":\"assistant\",\"model\":\"scripted\",\"stopReason\":\"endTurn\",\"content\":{"
                  "\"type\":\"text\",\"text\":");
    mk_canon_string(out, mk_str_of(text));
    mk_buf_z(out, "}}");
}

typedef struct answering {
    rig *r;
    mk_buf text; /* the response */
} answering;

static void *answer_from_elsewhere(void *arg)
{
    answering *a = arg;
    mk_mcp_message message;
    mk_arena arena;
    mk_buf out;
    int status;
    mk_arena_init(&arena, &mk_alloc_default);
    mk_buf_init(&out, &mk_alloc_default);
    mk_mcp_read(mk_buf_view(&a->text), &arena, &message);
    if (mk_mcp_handle(a->r->server, a->r->session, &message, &a->r->stream, &arena, &out, &status, NULL) !=
            MK_OK ||
        out.n != 0)
        abort();
    mk_buf_free(&out);
    mk_arena_free(&arena);
    mk_buf_free(&a->text);
    free(a);
    return NULL;
}

static void join(rig *r)
{
    if (r->answering)
        pthread_join(r->thread, NULL);
    r->answering = false;
}

/* Questions come one after the other, on the thread of the call. */
static void on_send(mk_stream *self, mk_str message)
{
    rig *r = (rig *)(void *)self;
    mk_json *tree;
    mk_arena arena;
    mk_arena_init(&arena, &mk_alloc_default);
    if (mk_json_parse(&arena, message, NULL, &tree, NULL) != MK_OK)
        abort();
    const mk_json *method = mk_json_get(tree, "method"), *id = mk_json_get(tree, "id");
    if (id != NULL && method != NULL && mk_str_eq(method->text, MK_STR("sampling/createMessage"))) {
        answering *a = calloc(1, sizeof *a);
        const char *reply = next_reply(r);
        join(r);
        if (a == NULL || mk_canon_tree(&r->questions, &arena, mk_json_get(tree, "params"), NULL) != MK_OK)
            abort();
        mk_buf_c(&r->questions, '\n');
        a->r = r;
        mk_buf_init(&a->text, &mk_alloc_default);
        mk_buf_z(&a->text, "{\"jsonrpc\":\"2.0\",\"id\":");
        if (mk_canon_tree(&a->text, &arena, id, NULL) != MK_OK)
            abort();
        mk_buf_z(&a->text, reply != NULL ? ",\"result\":"
                                         : ",\"error\":{\"code\":-1,\"message\":\"the user said no\"}");
        if (reply != NULL)
            put_reply(&a->text, reply);
        mk_buf_c(&a->text, '}');
        r->answering = pthread_create(&r->thread, NULL, answer_from_elsewhere, a) == 0;
        if (!r->answering)
            abort();
    }
    mk_arena_free(&arena);
}

/* ---- the server ---- */

static void write_versions(const char *path)
{
    static const char ops[] = "{\"op\":\"assert_node\",\"uid\":\"ada\",\"label\":\"Person\",\"props\":{"
                              "\"role\":\"clerk\"},\"vt_s\":0}\n"
                              "{\"op\":\"correct\",\"ref\":{\"kind\":\"node\",\"uid\":\"ada\"},\"props\":{"
                              "\"role\":\"lead\"},\"vt_s\":1000}\n"
                              "{\"op\":\"correct\",\"ref\":{\"kind\":\"node\",\"uid\":\"ada\"},\"props\":{"
                              "\"role\":\"head\"},\"vt_s\":2000}\n";
    const mk_store_options options = {.mode = MK_OPEN_CREATE_WRITER, .manual = true};
    const mk_api_origin origin = {.source = MK_STR("test")};
    mk_arena arena;
    mk_store *store;
    size_t count;
    mk_op *list;
    mk_err err;
    mk_tt tt;
    mk_arena_init(&arena, &mk_alloc_default);
    if (mk_store_open(path, &options, &store, &err) != MK_OK ||
        mk_api_read_ops(&arena, mk_str_of(ops), &origin, &list, &count, &err) != MK_OK ||
        mk_store_write(store, list, count, NULL, &tt, &err) != MK_OK || mk_store_close(store, &err) != MK_OK)
        fail_msg("%s", err.message);
    mk_arena_free(&arena);
}

/* `same`: a store that is there already; NULL: one of its own. */
static void rig_open_on(rig *r, const char *same, mk_model *model, const char *const *replies,
                        size_t reply_count)
{
    char path[TMPDIR_PATH_MAX];
    mk_err err;
    *r = (rig){.stream = {.send = on_send}, .replies = replies, .reply_count = reply_count};
    tmpdir_make(&r->dir);
    tmpdir_join(&r->dir, "store", path);
    if (same != NULL)
        snprintf(path, sizeof path, "%s", same);
    else
        write_versions(path);
    const mk_service_options options = {.dir = path, .model = model};
    mk_arena_init(&r->arena, &mk_alloc_default);
    mk_buf_init(&r->answer, &mk_alloc_default);
    mk_buf_init(&r->questions, &mk_alloc_default);
    if (mk_service_open(&mk_alloc_default, &options, &r->service, &err) != MK_OK ||
        mk_tools_open(&mk_alloc_default, r->service, NULL, &r->tools, &err) != MK_OK)
        fail_msg("%s", err.message);
    mk_offer_init(&r->offer, r->service, &r->tools, "0");
    if (mk_mcp_open(&mk_alloc_default, &r->offer, NULL, &r->server, &err) != MK_OK ||
        mk_mcp_session_open(r->server, &r->stream, true, MK_STR("public"), &r->session, &err) != MK_OK)
        fail_msg("%s", err.message);
}

static void rig_open(rig *r, mk_model *model, const char *const *replies, size_t reply_count)
{
    rig_open_on(r, NULL, model, replies, reply_count);
}

static void rig_close(rig *r)
{
    join(r);
    mk_mcp_session_close(r->session);
    mk_mcp_close(r->server);
    mk_tools_close(&r->tools);
    mk_service_close(r->service);
    mk_buf_free(&r->questions);
    mk_buf_free(&r->answer);
    mk_arena_free(&r->arena);
    tmpdir_remove(&r->dir);
}

/* The result of a request. */
static const mk_json *say(rig *r, mk_str request)
{
    mk_mcp_message message;
    mk_json *tree;
    int status;
    mk_err err;
    mk_buf_clear(&r->answer);
    mk_mcp_read(request, &r->arena, &message);
    assert_int_equal(message.kind, MK_MESSAGE_REQUEST);
    assert_true(mk_mcp_begin(r->session, &message));
    if (mk_mcp_handle(r->server, r->session, &message, &r->stream, &r->arena, &r->answer, &status, &err) !=
            MK_OK ||
        mk_json_parse(&r->arena, mk_buf_view(&r->answer), NULL, &tree, &err) != MK_OK)
        fail_msg("%s", err.message);
    const mk_json *result = mk_json_get(tree, "result");
    if (result == NULL)
        fail_msg("no result: %.*s", MK_STR_ARG(mk_buf_view(&r->answer)));
    return result;
}

static bool is_error(const mk_json *result)
{
    const mk_json *flag = mk_json_get(result, "isError");
    return flag != NULL && flag->b;
}

/* The object that a tool's result holds. */
static const mk_json *object_of(rig *r, const mk_json *result)
{
    mk_json *tree;
    mk_err err;
    const mk_json *text = mk_json_get(&mk_json_get(result, "content")->items[0], "text");
    if (mk_json_parse(&r->arena, text->text, NULL, &tree, &err) != MK_OK)
        fail_msg("%s", err.message);
    return tree;
}

/* ---- asking, in each era ---- */

static const mk_json *ask_in_session(rig *r, const char *capabilities, const char *planner)
{
    char text[600];
    snprintf(text, sizeof text,
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-"
             "11-25\",\"capabilities\":{%s},"
             "\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}",
             capabilities);
    (void)say(r, mk_str_of(text));
    snprintf(text, sizeof text,
             "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/"
             "call\",\"params\":{\"name\":\"ask\",\"arguments\":{\"question\":\"" QUESTION
             "\",\"planner\":\"%s\"}}}",
             planner);
    const mk_json *result = say(r, mk_str_of(text));
    join(r);
    return result;
}

/* Rounds until the result is complete; every question but one a round is noticed. */
static const mk_json *ask_in_rounds(rig *r, const char *planner)
{
    mk_buf request, extra;
    const mk_json *result = NULL;
    mk_buf_init(&request, &mk_alloc_default);
    mk_buf_init(&extra, &mk_alloc_default);
    for (int id = 1; id <= ROUNDS_MAX; id++) {
        mk_buf_clear(&request);
        mk_buf_printf(&request,
                      "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/"
                      "call\",\"params\":{\"name\":\"ask\",\"arguments\":{\"question\":\"" QUESTION
                      "\",\"planner\":\"%s\"},",
                      id, planner);
        mk_buf_str(&request, mk_buf_view(&extra));
        mk_buf_z(&request, CLAIMS_ERA("\"sampling\":{}") "}}");
        result = say(r, mk_buf_view(&request));
        const mk_json *type = mk_json_get(result, "resultType");
        if (!mk_str_eq(type->text, MK_STR("input_required")))
            break;
        const mk_json *wanted = mk_json_get(result, "inputRequests"),
                      *token = mk_json_get(result, "requestState");
        assert_int_equal(wanted->n, 1);
        assert_true(mk_str_eq(mk_json_get(&wanted->members[0].value, "method")->text,
                              MK_STR("sampling/createMessage")));
        const char *reply = next_reply(r);
        mk_buf_clear(&extra);
        mk_buf_z(&extra, "\"requestState\":");
        mk_canon_string(&extra, token->text);
        mk_buf_z(&extra, ",\"inputResponses\":{");
        mk_canon_string(&extra, wanted->members[0].key);
        mk_buf_c(&extra, ':');
        if (reply != NULL)
            put_reply(&extra, reply);
        else
            mk_buf_z(&extra, "{\"error\":{\"code\":-1,\"message\":\"no\"}}");
        mk_buf_z(&extra, "},");
    }
    mk_buf_free(&extra);
    mk_buf_free(&request);
    return result;
}

#define REPLIES(...)                                                                                         \
    (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)

static const mk_json *ask_in(rig *r, int era, const char *planner)
{
    return era == 0 ? ask_in_session(r, "\"sampling\":{}", planner) : ask_in_rounds(r, planner);
}

static void assert_answer(rig *r, const mk_json *result, const char *planner, int64_t value)
{
    if (is_error(result))
        fail_msg("%.*s", MK_STR_ARG(mk_buf_view(&r->answer)));
    const mk_json *object = object_of(r, result), *answer = mk_json_get(object, "answer");
    assert_true(mk_str_eq(mk_json_get(object, "planner")->text, mk_str_of(planner)));
    assert_false(mk_json_get(object, "abstained")->b);
    assert_int_equal(mk_json_get(answer, "value")->i, value);
}

/* ---- tests ---- */

static void test_sampling__the_clients_model_plans_and_reports(void **state)
{
    (void)state;
    for (int era = 0; era < 2; era++) {
        rig r;
        rig_open(&r, NULL, REPLIES(NO_PLAN, GOOD_PLAN, REPORT("3")));
        assert_answer(&r, ask_in(&r, era, "auto"), "model", 3);
        assert_int_equal(r.asked, 3); /* a plan that was refused, one that ran, the report */
        rig_close(&r);
    }
}

/* A model of the client's is believed no more than another. */
static void test_sampling__what_it_writes_is_checked(void **state)
{
    (void)state;
    for (int era = 0; era < 2; era++) {
        rig r;
        rig_open(&r, NULL, REPLIES(GOOD_PLAN, REPORT("9"), REPORT("9"), REPORT("9")));
        const mk_json *result = ask_in(&r, era, "auto");
        assert_false(is_error(result));
        assert_null(memmem(r.answer.p, r.answer.n, "There are 9", 11));
        assert_true(r.asked >= 2);
        rig_close(&r);
    }
}

static void test_sampling__behind_a_refusal_stands_the_offline_planner(void **state)
{
    (void)state;
    for (int era = 0; era < 2; era++) {
        rig r;
        rig_open(&r, NULL, REPLIES(NULL));
        assert_answer(&r, ask_in(&r, era, "auto"), "offline", 3);
        assert_int_equal(r.asked, 1);
        rig_close(&r);
        rig_open(&r, NULL, REPLIES("")); /* it may as well say nothing */
        assert_answer(&r, ask_in(&r, era, "auto"), "offline", 3);
        rig_close(&r);
        rig_open(&r, NULL, REPLIES(NULL)); /* asked for by name there is nothing behind it */
        const mk_json *result = ask_in(&r, era, "model");
        assert_true(is_error(result));
        assert_true(mk_str_eq(mk_json_get(object_of(&r, result), "error")->text, MK_STR("E_MODEL")));
        rig_close(&r);
    }
}

static void test_sampling__nobody_is_asked_who_need_not_be(void **state)
{
    rig r;
    (void)state;
    for (int era = 0; era < 2; era++) {
        rig_open(&r, NULL, REPLIES(GOOD_PLAN));
        assert_answer(&r, ask_in(&r, era, "offline"), "offline", 3);
        assert_int_equal(r.asked, 0);
        rig_close(&r);
    }
    rig_open(&r, NULL, REPLIES(GOOD_PLAN)); /* it could, but reads nothing but the answer */
    r.stream.mute = true;
    assert_answer(&r, ask_in(&r, 0, "auto"), "offline", 3);
    assert_int_equal(r.asked, 0);
    rig_close(&r);
    rig_open(&r, NULL, REPLIES(GOOD_PLAN)); /* it did not say that it can */
    assert_answer(&r, ask_in_session(&r, "", "auto"), "offline", 3);
    assert_int_equal(r.asked, 0);
    assert_answer(&r,
                  say(&r, MK_STR("{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"tools/"
                                 "call\",\"params\":{\"name\":\"ask\",\"arguments\":{\"question\":\"" QUESTION
                                 "\"}," CLAIMS_ERA("") "}}")),
                  "offline", 3);
    rig_close(&r);
}

/* ---- beside an endpoint ---- */

/* An endpoint that says what the script says, and keeps what it was shown. */
typedef struct endpoint {
    mk_model model; /* first */
    const char *const *replies;
    size_t calls;
    mk_buf shown; /* system and user text of each call, the nonce replaced, each behind a line break */
} endpoint;

static void put_without(mk_buf *out, mk_str text, mk_str nonce)
{
    for (size_t i = 0; i < text.n;) {
        if (nonce.n != 0 && i + nonce.n <= text.n && memcmp(text.p + i, nonce.p, nonce.n) == 0) {
            mk_buf_z(out, "NONCE");
            i += nonce.n;
        } else {
            mk_buf_c(out, text.p[i++]);
        }
    }
    mk_buf_c(out, '\n');
}

static mk_code endpoint_ask(mk_model *self, const mk_model_request *request, mk_arena *arena,
                            mk_model_reply *out, mk_err *err)
{
    endpoint *e = (endpoint *)self;
    *out = (mk_model_reply){.prompt_tokens = -1, .reply_tokens = -1, .tries = 1};
    memset(out->prompt_digest, '0', 64);
    for (size_t i = 0; i < request->message_count; i++)
        put_without(&e->shown, request->messages[i].content, request->nonce);
    out->text = mk_arena_copy(arena, mk_str_of(e->replies[e->calls++]));
    return out->text.p == NULL ? mk_fail_nomem(err) : MK_OK;
}

/* Thirty-two hex digits behind each other are the nonce: nothing else in a prompt looks like it but digests,
 * of 64. */
static mk_str nonce_in(mk_str text)
{
    size_t run = 0;
    for (size_t i = 0; i <= text.n; i++) {
        const char c = i < text.n ? text.p[i] : ' ';
        const bool hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
        if (!hex && run == 32)
            return (mk_str){text.p + i - 32, 32};
        run = hex ? run + 1 : 0;
    }
    return (mk_str){NULL, 0};
}

static void test_sampling__an_endpoint_comes_first_and_is_shown_the_same_prompts(void **state)
{
    static const char *const replies[] = {NO_PLAN, GOOD_PLAN, REPORT("3")};
    endpoint e = {.model = {.ask = endpoint_ask}, .replies = replies};
    char path[TMPDIR_PATH_MAX];
    mk_buf sampled;
    rig first, r;
    (void)state;
    mk_buf_init(&e.shown, &mk_alloc_default);
    mk_buf_init(&sampled, &mk_alloc_default);
    rig_open(&first, &e.model, NULL, 0);
    assert_answer(&first, ask_in_session(&first, "\"sampling\":{}", "auto"), "model", 3);
    assert_int_equal(first.asked, 0);
    assert_int_equal(e.calls, 3);
    tmpdir_join(&first.dir, "store", path);
    rig_open_on(&r, path, NULL, REPLIES(NO_PLAN, GOOD_PLAN, REPORT("3")));
    assert_answer(&r, ask_in_session(&r, "\"sampling\":{}", "auto"), "model", 3);
    size_t from = 0;
    for (size_t i = 0; i < r.questions.n; i++) {
        mk_json *params;
        if (r.questions.p[i] != '\n')
            continue;
        assert_int_equal(
            mk_json_parse(&r.arena, (mk_str){r.questions.p + from, i - from}, NULL, &params, NULL), MK_OK);
        const mk_json *messages = mk_json_get(params, "messages"),
                      *content = mk_json_get(&messages->items[0], "content");
        const mk_str system = mk_json_get(params, "systemPrompt")->text,
                     user = mk_json_get(content, "text")->text;
        const mk_str found = nonce_in(system), nonce = found.n != 0 ? found : nonce_in(user);
        assert_int_equal(messages->n, 1);
        assert_int_equal(nonce.n, 32);
        assert_true(mk_json_get(params, "maxTokens")->i > 0);
        assert_non_null(mk_json_get(params, "temperature"));
        put_without(&sampled, system, nonce);
        put_without(&sampled, user, nonce);
        from = i + 1;
    }
    assert_true(sampled.n > 1000);
    assert_int_equal(sampled.n, e.shown.n);
    assert_memory_equal(sampled.p, e.shown.p, sampled.n);
    rig_close(&r);
    rig_close(&first);
    mk_buf_free(&sampled);
    mk_buf_free(&e.shown);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sampling__the_clients_model_plans_and_reports),
        cmocka_unit_test(test_sampling__what_it_writes_is_checked),
        cmocka_unit_test(test_sampling__behind_a_refusal_stands_the_offline_planner),
        cmocka_unit_test(test_sampling__nobody_is_asked_who_need_not_be),
        cmocka_unit_test(test_sampling__an_endpoint_comes_first_and_is_shown_the_same_prompts),
    };
    return cmocka_run_group_tests_name("sampling", tests, NULL, NULL);
}

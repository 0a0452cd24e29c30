/* test_mcp.c — the protocol of both eras, with tools of our own: what is answered, and what is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "serve/mcp.h"

/* ---- what the server offers here ---- */

static void entry(const mk_tool *tool, mk_buf *out) { mk_buf_printf(out, "{\"name\":\"%s\"}", tool->name); }

static mk_code run_echo(const mk_tool *tool, mk_mcp_call *call, const mk_json *arguments, mk_buf *out,
                        mk_err *err)
{
    (void)tool;
    mk_mcp_progress(call, 1, 2, "half");
    mk_mcp_progress(call, 1, 2, "not more than before");
    mk_mcp_progress(call, 2, 2, "all");
    mk_mcp_log(call, "info", "echo", "\"low\"");
    mk_mcp_log(call, "error", "echo", "\"high\"");
    mk_buf_z(out, "\"content\":[{\"type\":\"text\",\"text\":\"");
    mk_buf_z(out, arguments != NULL && arguments->n > 0 ? "some" : "none");
    mk_buf_z(out, "\"}]");
    return mk_buf_done(out, err);
}

static mk_code run_fail(const mk_tool *tool, mk_mcp_call *call, const mk_json *arguments, mk_buf *out,
                        mk_err *err)
{
    (void)tool, (void)call, (void)arguments;
    mk_buf_z(out, "what was written before the error");
    return mk_fail(err, MK_E_COST, "too much");
}

static mk_code run_ask(const mk_tool *tool, mk_mcp_call *call, const mk_json *arguments, mk_buf *out,
                       mk_err *err)
{
    const mk_json *answer;
    (void)tool, (void)arguments;
    const mk_code rc = mk_mcp_ask(
        call, "who", MK_ASK_ELICITATION,
        MK_STR("{\"message\":\"who?\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{}}}"), &answer,
        err);
    if (rc != MK_OK)
        return rc;
    const mk_json *action = mk_json_get(answer, "action");
    mk_buf_printf(out, "\"content\":[{\"type\":\"text\",\"text\":\"%.*s\"}]", MK_STR_ARG(action->text));
    return mk_buf_done(out, err);
}

static const mk_tool ask_tool = {.name = "ask_back", .entry = entry, .run = run_ask};
static const mk_tool echo_tool = {.name = "echo", .entry = entry, .run = run_echo};
static const mk_tool fail_tool = {.name = "fail", .entry = entry, .run = run_fail};
static const mk_tool *const tools[] = {&ask_tool, &echo_tool, &fail_tool};

static mk_code offer_read(void *ctx, mk_mcp_call *call, mk_str uri, mk_buf *out, mk_err *err)
{
    (void)ctx, (void)call;
    if (!mk_str_eq(uri, MK_STR("test://one")))
        return mk_fail(err, MK_E_NOT_FOUND, "none");
    mk_buf_z(out, "{\"uri\":\"test://one\",\"text\":\"1\"}");
    return MK_OK;
}

static const mk_mcp_offer offer = {.name = "test", .title = "Test", .version = "1", .instructions = "Do.",
                                   .tools = tools, .tool_count = 3, .read = offer_read};

/* ---- a client ---- */

typedef struct rig {
    mk_stream stream; /* first, so that a stream is its rig */
    mk_mcp *server;
    mk_mcp_session *session;
    mk_arena arena;
    mk_buf answer, sent; /* sent: what came on the way, a line each */
    pthread_mutex_t mutex;
    int status;
} rig;

static void on_send(mk_stream *self, mk_str message)
{
    rig *r = (rig *)(void *)self;
    pthread_mutex_lock(&r->mutex);
    mk_buf_str(&r->sent, message);
    mk_buf_c(&r->sent, '\n');
    pthread_mutex_unlock(&r->mutex);
}

static void rig_open(rig *r, bool assumed, const mk_mcp_options *options)
{
    *r = (rig){.stream = {.send = on_send}};
    mk_arena_init(&r->arena, &mk_alloc_default);
    mk_buf_init(&r->answer, &mk_alloc_default);
    mk_buf_init(&r->sent, &mk_alloc_default);
    pthread_mutex_init(&r->mutex, NULL);
    assert_int_equal(mk_mcp_open(&mk_alloc_default, &offer, options, &r->server, NULL), MK_OK);
    assert_int_equal(mk_mcp_session_open(r->server, &r->stream, assumed, MK_STR("public"), &r->session, NULL),
                     MK_OK);
}

static void rig_close(rig *r)
{
    mk_mcp_session_close(r->session);
    mk_mcp_close(r->server);
    mk_buf_free(&r->answer);
    mk_buf_free(&r->sent);
    mk_arena_free(&r->arena);
    pthread_mutex_destroy(&r->mutex);
}

/* The answer, "" for none. */
static const char *say(rig *r, const char *text)
{
    mk_mcp_message message;
    mk_arena_reset(&r->arena);
    mk_buf_clear(&r->answer);
    mk_buf_clear(&r->sent);
    r->status = 0;
    mk_mcp_read(mk_str_of(text), &r->arena, &message);
    if (message.kind == MK_MESSAGE_REQUEST)
        assert_true(mk_mcp_begin(r->session, &message));
    assert_int_equal(
        mk_mcp_handle(r->server, r->session, &message, &r->stream, &r->arena, &r->answer, &r->status, NULL),
        MK_OK);
    mk_buf_c(&r->answer, '\0');
    mk_buf_c(&r->sent, '\0');
    if (r->answer.p[0] != '\0') { /* whatever is answered is JSON on one line */
        mk_json *tree;
        assert_null(strchr(r->answer.p, '\n'));
        assert_int_equal(mk_json_parse(&r->arena, mk_str_of(r->answer.p), NULL, &tree, NULL), MK_OK);
    }
    return r->answer.p;
}

static void assert_has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("no %s in: %s", part, text);
}

static void assert_says(rig *r, const char *message, const char *part)
{
    const char *answer = say(r, message);
    if (part[0] == '\0')
        assert_string_equal(answer, "");
    else
        assert_has(answer, part);
}

#define INIT(version, capabilities)                                                                          \
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"" version     \
    "\",\"capabilities\":{" capabilities "},\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}"
#define META(capabilities)                                                                                   \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                                 \
    "\"io.modelcontextprotocol/clientCapabilities\":{" capabilities "}}"

/* ---- messages that are none ---- */

static void test_mcp__what_is_no_message_is_answered_and_survived(void **state)
{
    static const struct {
        const char *message, *part;
    } table[] = {
        {"", "-32700"},
        {"{", "-32700"},
        {"\"x\"", "-32600"},
        {"null", "-32600"},
        {"{}", "-32600"},
        {"[]", "-32600"},
        {"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", "-32600"},
        {"{\"id\":1,\"method\":\"ping\"}", "-32600"},
        {"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", "-32600"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}", "-32600"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":5}", "-32600"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"ping\"}", "-326"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":[]}", "-32602"},
        {"{\"jsonrpc\":\"2.0\",\"id\":\"\",\"method\":\"ping\"}", "\"id\":\"\",\"result\":{}"},
        {"{\"jsonrpc\":\"2.0\",\"id\":-3,\"method\":\"ping\"}", "\"id\":-3,\"result\":{}"},
        {"{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"nothing/like\"}", "-32601"},
        {"{\"jsonrpc\":\"2.0\",\"method\":\"nothing/like\"}", ""},
        {"{\"jsonrpc\":\"2.0\",\"id\":77,\"result\":{}}", ""},
        {"{\"jsonrpc\":\"2.0\",\"id\":\"4\",\"error\":{}}", ""},
        {"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":5}}", ""},
        {"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{}}", ""},
    };
    rig r;
    (void)state;
    rig_open(&r, true, NULL);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        assert_says(&r, table[i].message, table[i].part);
    char *deep = malloc(100001);
    assert_non_null(deep);
    memset(deep, '[', 100000);
    deep[100000] = '\0';
    assert_has(say(&r, deep), "-32");
    free(deep);
    assert_says(&r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", "\"result\":{}");
    rig_close(&r);
}

/* ---- sessions ---- */

static void test_mcp__the_version_is_negotiated(void **state)
{
    rig r;
    (void)state;
    rig_open(&r, false, NULL);
    assert_says(&r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}", "-32600");
    assert_says(&r, INIT("2024-11-05", ""), "\"protocolVersion\":\"2024-11-05\"");
    assert_says(&r, INIT("2025-06-18", ""), "\"protocolVersion\":\"2025-06-18\"");
    assert_says(&r, INIT("2026-07-28", ""), "\"protocolVersion\":\"2025-11-25\"");
    assert_says(&r, INIT("x", ""), "\"instructions\":\"Do.\"");
    assert_string_equal(mk_mcp_session_version(r.session), "2025-11-25");
    assert_says(&r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}",
                "{\"name\":\"ask_back\"},{\"name\":\"echo\"},{\"name\":\"fail\"}");
    assert_says(&r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"cursor\":\"\"}}",
                "\"tools\"");
    assert_says(&r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"cursor\":\"z\"}}",
                "-32602");
    rig_close(&r);
}

static void test_mcp__tools_answer_and_their_errors_are_results(void **state)
{
    rig r;
    (void)state;
    rig_open(&r, true, NULL);
    assert_says(&r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\"}}",
                "\"none\"");
    assert_string_equal(r.sent.p,
                        strstr(r.sent.p, "\"high\"") ? r.sent.p : "the error should have been logged");
    assert_null(strstr(r.sent.p, "\"low\""));
    assert_null(strstr(r.sent.p, "progress"));
    const char *answer =
        say(&r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"fail\"}}");
    assert_has(answer, "\"isError\":true");
    assert_has(answer, "E_COST");
    assert_null(strstr(answer, "written before"));
    assert_says(&r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"ech\"}}",
                "Near: echo");
    assert_says(&r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":3}}",
                "-32602");
    assert_says(&r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"}", "-32602");
    rig_close(&r);
}

static void test_mcp__progress_grows_and_goes_to_who_asked(void **state)
{
    rig r;
    (void)state;
    rig_open(&r, true, NULL);
    (void)say(
        &r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"_meta\":"
            "{\"progressToken\":\"p\"}}}");
    assert_has(r.sent.p, "\"progressToken\":\"p\",\"progress\":1,\"total\":2,\"message\":\"half\"");
    assert_has(r.sent.p, "\"progress\":2");
    assert_null(strstr(r.sent.p, "not more"));
    (void)say(
        &r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"_meta\":"
            "{\"progressToken\":7}}}");
    assert_has(r.sent.p, "\"progressToken\":7");
    rig_close(&r);
}

static void test_mcp__levels_of_logs(void **state)
{
    rig r;
    (void)state;
    rig_open(&r, true, NULL);
    assert_says(
        &r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"logging/setLevel\",\"params\":{\"level\":\"loud\"}}",
        "-32602");
    assert_says(
        &r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"logging/setLevel\",\"params\":{\"level\":\"info\"}}",
        "\"result\":{}");
    (void)say(&r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\"}}");
    assert_has(r.sent.p, "\"low\"");
    rig_close(&r);
}

static void test_mcp__resources_are_read_and_watched(void **state)
{
    rig r;
    (void)state;
    rig_open(&r, true, NULL);
    (void)say(&r, INIT("2025-11-25", ""));
    assert_says(
        &r,
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\",\"params\":{\"uri\":\"test://one\"}}",
        "\"contents\":[{\"uri\":\"test://one\"");
    assert_says(
        &r,
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\",\"params\":{\"uri\":\"test://two\"}}",
        "-32002");
    assert_says(&r,
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/"
                "subscribe\",\"params\":{\"uri\":\"test://one\"}}",
                "\"result\":{}");
    mk_buf_clear(&r.sent);
    mk_mcp_notify(r.server, MK_RESOURCE_UPDATED, "test://two");
    assert_int_equal(r.sent.n, 0);
    mk_mcp_notify(r.server, MK_RESOURCE_UPDATED, "test://one");
    mk_buf_c(&r.sent, '\0');
    assert_has(r.sent.p, "notifications/resources/updated\",\"params\":{\"uri\":\"test://one\"}");
    assert_says(&r,
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/"
                "unsubscribe\",\"params\":{\"uri\":\"test://one\"}}",
                "\"result\":{}");
    mk_buf_clear(&r.sent);
    mk_mcp_notify(r.server, MK_RESOURCE_UPDATED, "test://one");
    assert_int_equal(r.sent.n, 0);
    rig_close(&r);
}

/* ---- questions to the client of a session ---- */

typedef struct replying {
    rig *r;
    const char *reply;
} replying;

/* Answers our question when it has been sent. */
static void *reply(void *arg)
{
    const replying *p = arg;
    mk_arena arena;
    mk_buf out;
    mk_mcp_message message;
    char text[200];
    int status;
    long number = -1;
    for (int i = 0; i < 2000 && number < 0; i++) {
        pthread_mutex_lock(&p->r->mutex);
        mk_buf_c(&p->r->sent, '\0');
        const char *at = strstr(p->r->sent.p, "{\"jsonrpc\":\"2.0\",\"id\":\"");
        if (at != NULL)
            number = strtol(at + 23, NULL, 10);
        p->r->sent.n--;
        pthread_mutex_unlock(&p->r->mutex);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":\"%ld\",%s}", number, p->reply);
    mk_arena_init(&arena, &mk_alloc_default);
    mk_buf_init(&out, &mk_alloc_default);
    mk_mcp_read(mk_str_of(text), &arena, &message);
    if (mk_mcp_handle(p->r->server, p->r->session, &message, &p->r->stream, &arena, &out, &status, NULL) !=
        MK_OK)
        number = -2;
    mk_buf_free(&out);
    mk_arena_free(&arena);
    return NULL;
}

static void assert_asked(const char *answer, const char *part)
{
    rig r;
    pthread_t thread;
    rig_open(&r, true, NULL);
    (void)say(&r, INIT("2025-11-25", "\"elicitation\":{}"));
    mk_buf_clear(&r.sent);
    replying p = {&r, answer};
    assert_int_equal(pthread_create(&thread, NULL, reply, &p), 0);
    assert_has(
        say(&r,
            "{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"tools/call\",\"params\":{\"name\":\"ask_back\"}}"),
        part);
    pthread_join(thread, NULL);
    rig_close(&r);
}

static void test_mcp__a_client_is_asked_back_and_may_refuse(void **state)
{
    rig r;
    (void)state;
    assert_asked("\"result\":{\"action\":\"accept\",\"content\":{}}", "\"text\":\"accept\"");
    assert_asked("\"error\":{\"code\":-1,\"message\":\"no\"}", "\"isError\":true");
    assert_asked("\"result\":5", "\"isError\":true");
    rig_open(&r, true, NULL); /* a client that did not say it can is not asked */
    (void)say(&r, INIT("2025-11-25", ""));
    assert_says(&r,
                "{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"tools/call\",\"params\":{\"name\":\"ask_back\"}}",
                "\"isError\":true");
    rig_close(&r);
}

static void test_mcp__a_client_that_stays_silent_is_not_waited_for(void **state)
{
    const mk_mcp_options options = {.reply_us = 20000};
    rig r;
    (void)state;
    rig_open(&r, true, &options);
    (void)say(&r, INIT("2025-11-25", "\"elicitation\":{}"));
    const char *answer = say(
        &r, "{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"tools/call\",\"params\":{\"name\":\"ask_back\"}}");
    assert_has(answer, "\"isError\":true");
    assert_has(answer, "E_LIMIT");
    rig_close(&r);
}

/* ---- requests that describe themselves ---- */

static void test_mcp__modern_requests_carry_what_they_need(void **state)
{
    rig r;
    (void)state;
    rig_open(&r, true, NULL);
    const char *answer =
        say(&r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\",\"params\":{" META("") "}}");
    assert_has(answer, "\"resultType\":\"complete\"");
    assert_has(answer, "\"supportedVersions\":[\"2026-07-28\"]");
    assert_has(answer, "\"ttlMs\":");
    assert_has(answer, "\"cacheScope\":\"public\"");
    assert_has(answer, "\"io.modelcontextprotocol/serverInfo\"");
    assert_says(&r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{" META("") "}}", "-32601");
    assert_int_equal(r.status, 404);
    assert_says(&r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{" META("") "}}",
                "-32601");
    assert_says(
        &r,
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"_meta\":{"
        "\"io.modelcontextprotocol/protocolVersion\":\"2031-01-01\"}}}",
        "-32022,\"message\":\"This protocol version is not served\",\"data\":{\"supported\":[\"2026-07-28\"],"
        "\"requested\":\"2031-01-01\"}");
    assert_int_equal(r.status, 400);
    assert_says(&r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"_meta\":{"
                    "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}}}", "-32602");
    assert_says(&r,
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\",\"params\":{\"uri\":\"test://"
                "two\"," META("") "}}",
                "-32602");
    rig_close(&r);
}

/* Takes the text of a member out of the last answer, escapes and all. */
static void member_text(const rig *r, const char *name, char *to, size_t size)
{
    char key[64];
    snprintf(key, sizeof key, "\"%s\":\"", name);
    const char *at = strstr(r->answer.p, key);
    assert_non_null(at);
    at += strlen(key);
    size_t n = 0;
    while (at[n] != '"')
        n += at[n] == '\\' ? 2 : 1;
    assert_true(n < size);
    memcpy(to, at, n);
    to[n] = '\0';
}

static void second_round(rig *r, const char *state_text, const char *method_params, const char *part)
{
    char *text = malloc(8192);
    assert_non_null(text);
    snprintf(text, 8192,
             "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/"
             "call\",\"params\":{%s,\"requestState\":\"%s\"," META("\"elicitation\":{}") "}}",
             method_params, state_text);
    assert_has(say(r, text), part);
    free(text);
}

static void test_mcp__modern_questions_come_back_with_a_signed_state(void **state)
{
    static const char *const yes =
        "\"name\":\"ask_back\",\"inputResponses\":{\"who\":{\"action\":\"accept\",\"content\":{}}}";
    char token[4096], broken[4096];
    rig r;
    (void)state;
    rig_open(&r, true, NULL);
    const char *answer = say(
        &r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"ask_back\"," META(
                "\"elicitation\":{}") "}}");
    assert_has(answer, "\"resultType\":\"input_required\"");
    assert_has(answer, "\"inputRequests\":{\"who\":{\"method\":\"elicitation/create\"");
    member_text(&r, "requestState", token, sizeof token);
    second_round(&r, token, yes, "\"text\":\"accept\"");
    second_round(&r, token, "\"name\":\"ask_back\"", "input_required");
    second_round(&r, token, "\"name\":\"ask_back\",\"inputResponses\":{\"other\":{}}", "input_required");
    second_round(&r, token, "\"name\":\"ask_back\",\"arguments\":{\"x\":1},\"inputResponses\":{}", "-32602");
    second_round(&r, token, "\"name\":\"echo\"", "-32602");
    for (size_t i = 0; i < strlen(token); i += 3) {
        if (token[i] == '\\' || (i > 0 && token[i - 1] == '\\'))
            continue;
        memcpy(broken, token, sizeof broken);
        broken[i] = broken[i] == 'a' ? 'b' : 'a';
        second_round(&r, broken, yes, "-32602");
    }
    assert_says(
        &r,
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"ask_back\"," META(
            "") "}}",
        "-32021");
    assert_int_equal(r.status, 400);
    rig_close(&r);
}

/* ---- cancelling ---- */

static void test_mcp__a_cancelled_call_says_nothing_more(void **state)
{
    rig r;
    mk_mcp_message message, cancel;
    (void)state;
    rig_open(&r, true, NULL);
    mk_mcp_read(
        MK_STR("{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\"}}"),
        &r.arena, &message);
    assert_true(mk_mcp_begin(r.session, &message));
    assert_false(mk_mcp_begin(r.session, &message)); /* the same id again */
    mk_mcp_read(
        MK_STR("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":5}}"),
        &r.arena, &cancel);
    assert_int_equal(
        mk_mcp_handle(r.server, r.session, &cancel, &r.stream, &r.arena, &r.answer, &r.status, NULL), MK_OK);
    assert_int_equal(
        mk_mcp_handle(r.server, r.session, &message, &r.stream, &r.arena, &r.answer, &r.status, NULL), MK_OK);
    assert_int_equal(r.answer.n, 0);
    assert_int_equal(r.sent.n, 0);
    assert_says(&r, "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\"}", "\"result\":{}");
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mcp__what_is_no_message_is_answered_and_survived),
        cmocka_unit_test(test_mcp__the_version_is_negotiated),
        cmocka_unit_test(test_mcp__tools_answer_and_their_errors_are_results),
        cmocka_unit_test(test_mcp__progress_grows_and_goes_to_who_asked),
        cmocka_unit_test(test_mcp__levels_of_logs),
        cmocka_unit_test(test_mcp__resources_are_read_and_watched),
        cmocka_unit_test(test_mcp__a_client_is_asked_back_and_may_refuse),
        cmocka_unit_test(test_mcp__a_client_that_stays_silent_is_not_waited_for),
        cmocka_unit_test(test_mcp__modern_requests_carry_what_they_need),
        cmocka_unit_test(test_mcp__modern_questions_come_back_with_a_signed_state),
        cmocka_unit_test(test_mcp__a_cancelled_call_says_nothing_more),
    };
    return cmocka_run_group_tests_name("mcp", tests, NULL, NULL);
}

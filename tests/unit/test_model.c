/* test_model.c — the model client against a real server that behaves well, badly and not at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/json.h"
#include "model/model.h"
#include "../support/httpd.h"
#include "../support/testalloc.h"
#include "../support/tmpdir.h"

#define REPLY "{\"plan_id\":\"p\\u00e9\"} \xc3\xa9!"

/* ---- a world: a server with a script, a client, an arena ---- */

typedef struct world {
    httpd server;
    mk_model *model;
    mk_arena arena;
    mk_model_reply reply;
    mk_err err;
} world;

static void enter(world *w, httpd_script *script, void *ctx, const mk_model_options *like)
{
    mk_model_options options = *like;
    httpd_start(&w->server, script, ctx);
    snprintf(options.url, sizeof options.url, "http://127.0.0.1:%u/v1/", w->server.port);
    if (options.model[0] == '\0')
        strcpy(options.model, "m1");
    options.backoff_us = options.backoff_us ? options.backoff_us : 1000;
    assert_int_equal(mk_model_http_open(&mk_alloc_default, &options, &w->model, &w->err), MK_OK);
    mk_arena_init(&w->arena, &mk_alloc_default);
}

static void leave(world *w)
{
    mk_arena_free(&w->arena);
    mk_model_close(w->model);
    httpd_stop(&w->server);
}

static const mk_message hello[] = {{"system", {"be \"brief\"", 10}}, {"user", {"hello", 5}}};

static mk_code ask(world *w, const mk_model_request *like)
{
    mk_model_request request = *like;
    if (request.messages == NULL) {
        request.messages = hello;
        request.message_count = 2;
    }
    return mk_model_ask(w->model, &request, &w->arena, &w->reply, &w->err);
}

static const mk_model_options plain = {.wait_us = 5000000};
static const mk_model_request simple = {.seed = 7};

/* ---- replies that are fine ---- */

static void say_whole(void *ctx, size_t number, const char *body, size_t size, httpd_reply *reply)
{
    (void)ctx, (void)number, (void)body, (void)size;
    httpd_chat(reply, REPLY, "{\"prompt_tokens\":12,\"completion_tokens\":5}");
}

static void say_events(void *ctx, size_t number, const char *body, size_t size, httpd_reply *reply)
{
    (void)ctx, (void)number, (void)body, (void)size;
    httpd_chat_events(reply, REPLY, "{\"prompt_tokens\":12,\"completion_tokens\":5}", true);
    reply->piece = 7; /* events and characters are cut anywhere */
}

static void assert_fine(httpd_script *script)
{
    world w;
    mk_json *body;
    mk_model_totals totals;
    enter(&w, script, NULL, &plain);
    assert_int_equal(ask(&w, &simple), MK_OK);
    assert_true(mk_str_eq(w.reply.text, MK_STR(REPLY)));
    assert_int_equal(w.reply.prompt_tokens, 12);
    assert_int_equal(w.reply.reply_tokens, 5);
    assert_int_equal(w.reply.tries, 1);
    assert_false(w.reply.cached);
    assert_non_null(strstr(w.server.head, "POST /v1/chat/completions HTTP/1.1"));
    assert_int_equal(mk_json_parse(&w.arena, (mk_str){w.server.body, w.server.body_size}, NULL, &body, NULL),
                     MK_OK);
    assert_int_equal(mk_json_get(body, "seed")->i, 7);
    assert_true(mk_json_get(body, "temperature")->d == 0.0);
    assert_true(mk_str_eq(mk_json_get(&mk_json_get(body, "messages")->items[0], "content")->text,
                          MK_STR("be \"brief\"")));
    mk_model_http_totals(w.model, &totals);
    assert_int_equal(totals.prompt_tokens, 12);
    assert_int_equal(totals.requests, 1);
    leave(&w);
}

static void test_model__a_reply_comes_whole_or_in_pieces(void **state)
{
    (void)state;
    assert_fine(say_whole);
    assert_fine(say_events);
}

static void test_model__the_key_is_sent_and_appears_in_no_error(void **state)
{
    (void)state;
    world w;
    mk_model_options options = plain;
    strcpy(options.key, "sk-secret");
    enter(&w, say_whole, NULL, &options);
    assert_int_equal(ask(&w, &simple), MK_OK);
    assert_non_null(strstr(w.server.head, "Authorization: Bearer sk-secret\r\n"));
    assert_null(strstr(w.server.body, "sk-secret"));
    leave(&w);
}

/* ---- replies that are not ---- */

typedef struct bad {
    const char *body; /* of a response with status 200 */
    int status;
    httpd_end end;
    const char *reason;
    size_t requests; /* that the client is to make */
} bad;

static void say_bad(void *ctx, size_t number, const char *body, size_t size, httpd_reply *reply)
{
    const bad *b = ctx;
    (void)number, (void)body, (void)size;
    httpd_respond(reply, b->status, "application/json", b->body, strlen(b->body));
    reply->end = b->end;
}

#define CHAT(content) "{\"choices\":[{\"message\":{\"content\":" content "}}]}"

static void test_model__a_bad_reply_is_a_typed_error(void **state)
{
    (void)state;
    static const bad list[] = {
        {"", 200, HTTPD_CLOSE, "empty", 1},
        {"{", 200, HTTPD_CLOSE, "malformed", 1},
        {"nonsense", 200, HTTPD_CLOSE, "cut_off", 3},
        {"[]", 200, HTTPD_CLOSE, "malformed", 1},
        {"{}", 200, HTTPD_CLOSE, "empty", 1},
        {"{\"choices\":7}", 200, HTTPD_CLOSE, "empty", 1},
        {"{\"choices\":[[]]}", 200, HTTPD_CLOSE, "empty", 1},
        {CHAT("7"), 200, HTTPD_CLOSE, "malformed", 1},
        {CHAT("null"), 200, HTTPD_CLOSE, "empty", 1},
        {CHAT("\"\\ud800\""), 200, HTTPD_CLOSE, "malformed", 1},
        {CHAT("\"\xff\""), 200, HTTPD_CLOSE, "malformed", 1},
        {"{\"error\":{\"message\":\"no <b>such\\u0000 model\"}}", 200, HTTPD_CLOSE, "refused", 1},
        {"data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n", 200, HTTPD_CLOSE, "cut_off", 3},
        {"data: {\"choices\":\n\n", 200, HTTPD_CLOSE, "malformed", 1},
        {"data: {\"error\":\"overloaded\"}\n\n", 200, HTTPD_CLOSE, "refused", 1},
        {"data: [DONE]\n\n", 200, HTTPD_CLOSE, "empty", 1},
        {"bad key", 401, HTTPD_CLOSE, "refused", 1},
        {"no", 404, HTTPD_CLOSE, "refused", 1},
        {"go there", 302, HTTPD_CLOSE, "refused", 1},
        {"later", 429, HTTPD_CLOSE, "refused", 3},
        {"later", 503, HTTPD_CLOSE, "refused", 3},
        {"data: {}\n", 200, HTTPD_RESET, "cut_off", 3},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        world w;
        const mk_model_options options = {.wait_us = 5000000, .retries = 2};
        enter(&w, say_bad, (void *)&list[i], &options);
        assert_int_equal(ask(&w, &simple), MK_E_MODEL);
        assert_int_equal(w.err.code, MK_E_MODEL);
        if (strcmp(w.err.reason, list[i].reason) != 0)
            fail_msg("case %zu: %s: %s", i, w.err.reason, w.err.message);
        assert_int_equal(w.err.retry, MK_RETRY_AS_IS);
        if (w.server.requests != list[i].requests)
            fail_msg("case %zu: %zu requests", i, w.server.requests);
        leave(&w);
    }
}

/* ---- peers that never end ---- */

static void say_nothing(void *ctx, size_t number, const char *body, size_t size, httpd_reply *reply)
{
    (void)ctx, (void)number, (void)body, (void)size;
    reply->end = HTTPD_SILENCE;
}

static void say_forever(void *ctx, size_t number, const char *body, size_t size, httpd_reply *reply)
{
    (void)number, (void)body, (void)size;
    httpd_chat_events(reply, ctx, NULL, false);
    reply->end = HTTPD_FOREVER;
}

static void say_forever_slowly(void *ctx, size_t number, const char *body, size_t size, httpd_reply *reply)
{
    say_forever(ctx, number, body, size, reply);
    reply->piece = 1;
    reply->pause_us = 1000;
}

/* One line that does not end. */
static void say_one_line(void *ctx, size_t number, const char *body, size_t size, httpd_reply *reply)
{
    static const char text[] =
        "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\ndata: {\"choices\":[{\"delta\":{\"x\":\"";
    (void)ctx, (void)number, (void)body, (void)size;
    reply->raw = malloc(65536);
    memset(reply->raw, 'y', 65536);
    memcpy(reply->raw, text, sizeof text - 1);
    reply->size = 65536;
    reply->head_size = sizeof text - 1;
    reply->end = HTTPD_FOREVER;
}

static void assert_ends(httpd_script *script, const char *text, const mk_model_options *options,
                        const char *reason)
{
    world w;
    enter(&w, script, (void *)text, options);
    assert_int_equal(ask(&w, &simple), MK_E_MODEL);
    assert_string_equal(w.err.reason, reason);
    assert_true(w.reply.wait_us < 4000000);
    leave(&w);
}

static void test_model__a_call_ends_whatever_the_peer_does(void **state)
{
    (void)state;
    const mk_model_options short_wait = {.wait_us = 300000};
    const mk_model_options small = {.wait_us = 20000000, .body_max = 100000, .text_max = 1000};
    const mk_model_options small_body = {.wait_us = 20000000, .body_max = 100000};
    assert_ends(say_nothing, NULL, &short_wait, "timeout");
    assert_ends(say_forever_slowly, "again", &short_wait, "timeout");
    assert_ends(say_forever, "again", &small, "too_large");
    assert_ends(say_forever, "", &small_body, "too_large");
    assert_ends(say_one_line, NULL, &small_body, "too_large");
}

static void test_model__no_server_is_unreachable(void **state)
{
    (void)state;
    world w;
    mk_model_options options = {.wait_us = 5000000, .retries = 1, .backoff_us = 1000};
    enter(&w, say_whole, NULL, &plain);
    snprintf(options.url, sizeof options.url, "http://127.0.0.1:%u", w.server.port);
    strcpy(options.model, "m");
    leave(&w);
    assert_int_equal(mk_model_http_open(&mk_alloc_default, &options, &w.model, NULL), MK_OK);
    mk_arena_init(&w.arena, &mk_alloc_default);
    assert_int_equal(ask(&w, &simple), MK_E_MODEL);
    assert_string_equal(w.err.reason, "unreachable");
    assert_int_equal(w.reply.tries, 2);
    mk_arena_free(&w.arena);
    mk_model_close(w.model);
}

static void say_later(void *ctx, size_t number, const char *body, size_t size, httpd_reply *reply)
{
    if (number < 2)
        httpd_respond(reply, number == 0 ? 503 : 429, "text/plain", "later", 5);
    else
        say_events(ctx, number, body, size, reply);
}

static void test_model__a_failure_that_passes_is_tried_again(void **state)
{
    (void)state;
    world w;
    enter(&w, say_later, NULL, &plain);
    assert_int_equal(ask(&w, &simple), MK_OK);
    assert_int_equal(w.reply.tries, 3);
    leave(&w);
}

static void test_model__a_cancelled_question_ends(void **state)
{
    (void)state;
    world w;
    atomic_bool cancelled = true;
    const mk_model_options options = {.wait_us = 20000000, .cancelled = &cancelled};
    enter(&w, say_nothing, NULL, &options);
    assert_int_equal(ask(&w, &simple), MK_E_CANCELLED);
    leave(&w);
}

/* ---- tokens ---- */

static void say_usage(void *ctx, size_t number, const char *body, size_t size, httpd_reply *reply)
{
    (void)number, (void)body, (void)size;
    httpd_chat(reply, "ok", ctx);
}

static void test_model__tokens_that_cannot_be_true_are_not_counted(void **state)
{
    (void)state;
    static const struct {
        const char *usage;
        int64_t prompt, reply;
        uint64_t doubtful;
    } list[] = {
        {"{\"prompt_tokens\":3,\"completion_tokens\":1}", 3, 1, 0},
        {"{}", -1, -1, 0},
        {"null", -1, -1, 0},
        {"{\"prompt_tokens\":-1,\"completion_tokens\":1}", -1, 1, 1},
        {"{\"prompt_tokens\":3,\"completion_tokens\":4611686018427387904}", 3, -1, 1},
        {"{\"prompt_tokens\":3,\"completion_tokens\":99999999999999999999999}", 3, -1, 1},
        {"{\"prompt_tokens\":\"3\",\"completion_tokens\":1.5}", -1, -1, 1},
        {"{\"prompt_tokens\":2000000,\"completion_tokens\":4097}", -1, -1, 1},
        {"{\"prompt_tokens\":0,\"completion_tokens\":0}", -1, -1, 1},
        {"[1]", -1, -1, 0},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        world w;
        mk_model_totals totals;
        enter(&w, say_usage, (void *)list[i].usage, &plain);
        assert_int_equal(ask(&w, &simple), MK_OK);
        assert_int_equal(w.reply.prompt_tokens, list[i].prompt);
        assert_int_equal(w.reply.reply_tokens, list[i].reply);
        mk_model_http_totals(w.model, &totals);
        assert_int_equal(totals.doubtful, list[i].doubtful);
        leave(&w);
    }
}

/* ---- guides ---- */

/* A server that knows one way only and says so of the others. */
static void say_if_known(void *ctx, size_t number, const char *body, size_t size, httpd_reply *reply)
{
    static const char *const ways[] = {"response_format", "grammar", "guided_json"};
    (void)number, (void)size;
    for (size_t i = 0; i < 3; i++) {
        if (strstr(body, ways[i]) != NULL && (ctx == NULL || strcmp(ways[i], ctx) != 0)) {
            httpd_respond(reply, 400, "text/plain", "what?", 5);
            return;
        }
    }
    httpd_chat(reply, "ok", NULL);
}

static void test_model__the_guide_that_a_server_understands_is_used_and_said(void **state)
{
    (void)state;
    static const struct {
        const char *known;
        mk_guide guide;
        unsigned tries;
    } list[] = {{"response_format", MK_GUIDE_JSON_SCHEMA, 1},
                {"grammar", MK_GUIDE_GRAMMAR, 2},
                {"guided_json", MK_GUIDE_GUIDED_JSON, 3},
                {NULL, MK_GUIDE_NONE, 4}};
    for (size_t i = 0; i < 4; i++) {
        world w;
        const mk_model_request request = {.schema = MK_STR("{\"type\":\"object\"}"),
                                          .grammar = MK_STR("root ::= \"a\"\n")};
        enter(&w, say_if_known, (void *)list[i].known, &plain);
        assert_int_equal(ask(&w, &request), MK_OK);
        assert_int_equal(w.reply.guide, list[i].guide);
        assert_int_equal(w.reply.tries, list[i].tries);
        /* It is remembered. */
        assert_int_equal(ask(&w, &request), MK_OK);
        assert_int_equal(w.reply.tries, 1);
        assert_int_equal(w.reply.guide, list[i].guide);
        leave(&w);
    }
}

/* ---- the cache ---- */

static void say_number(void *ctx, size_t number, const char *body, size_t size, httpd_reply *reply)
{
    char text[32];
    (void)ctx, (void)body, (void)size;
    snprintf(text, sizeof text, "reply %zu", number);
    httpd_chat(reply, text, NULL);
}

static void assert_reply(world *w, const mk_model_request *request, const char *text, bool cached)
{
    assert_int_equal(ask(w, request), MK_OK);
    assert_true(mk_str_eq(w->reply.text, mk_str_of(text)));
    assert_int_equal(w->reply.cached, cached);
}

static void test_model__the_cache_knows_everything_that_matters(void **state)
{
    world w;
    mk_model_options options = plain;
    const mk_message other[] = {{"user", MK_STR("good bye")}};
    const mk_message fenced_1[] = {{"user", MK_STR("<data-n111>x</data-n111>")}};
    const mk_message fenced_2[] = {{"user", MK_STR("<data-n222>x</data-n222>")}};
    tmpdir_join(*state, "cache", options.cache_dir);
    enter(&w, say_number, NULL, &options);
    assert_reply(&w, &simple, "reply 0", false);
    assert_reply(&w, &simple, "reply 0", true);
    assert_reply(&w, &(mk_model_request){.seed = 8}, "reply 1", false);
    assert_reply(&w, &(mk_model_request){.seed = 7, .temperature = 0.5}, "reply 2", false);
    assert_reply(&w, &(mk_model_request){.seed = 7, .tokens_max = 9}, "reply 3", false);
    assert_reply(&w, &(mk_model_request){.seed = 7, .schema = MK_STR("{}")}, "reply 4", false);
    assert_reply(&w, &(mk_model_request){.seed = 7, .grammar = MK_STR("root ::= [a]")}, "reply 5", false);
    assert_reply(&w, &(mk_model_request){.seed = 7, .messages = other, .message_count = 1}, "reply 6", false);
    assert_reply(&w, &(mk_model_request){.messages = fenced_1, .message_count = 1, .nonce = MK_STR("n111")},
                 "reply 7", false);
    assert_reply(&w, &(mk_model_request){.messages = fenced_2, .message_count = 1, .nonce = MK_STR("n222")},
                 "reply 7", true);
    leave(&w);
    /* Another endpoint is another key, and so is another model: both of these ask again. */
    enter(&w, say_number, NULL, &options);
    assert_reply(&w, &simple, "reply 0", false);
    leave(&w);
}

static void test_model__a_damaged_cache_file_is_as_none(void **state)
{
    world w;
    char command[TMPDIR_PATH_MAX + 200];
    mk_model_options options = plain;
    tmpdir_join(*state, "cache", options.cache_dir);
    enter(&w, say_number, NULL, &options);
    assert_reply(&w, &simple, "reply 0", false);
    snprintf(command, sizeof command, "sed -i 's/reply 0/reply 9/' '%s'/*.json", options.cache_dir);
    assert_int_equal(system(command), 0);
    assert_reply(&w, &simple, "reply 1", false);
    assert_reply(&w, &simple, "reply 1", true);
    leave(&w);
}

/* ---- settings ---- */

static const char *lookup(void *ctx, const char *name)
{
    const char *const *pairs = ctx;
    for (; pairs[0] != NULL; pairs += 2)
        if (strcmp(pairs[0], name) == 0)
            return pairs[1];
    return NULL;
}

static void test_model__settings_are_read_and_bad_ones_named(void **state)
{
    (void)state;
    static const char *good[] = {"MERKHET_LLM_URL", "http://h/v1", "MERKHET_LLM_MODEL", "big",
                                 "MERKHET_LLM_TIMEOUT", "9", "MERKHET_LLM_RETRIES", "0",
                                 "MERKHET_LLM_GUIDE", "grammar", "MERKHET_LLM_STREAM", "0", NULL};
    static const char *none[] = {NULL};
    static const char *const wrong[][5] = {
        {"MERKHET_LLM_URL", "ftp://h", NULL},
        {"MERKHET_LLM_URL", "http://h", "MERKHET_LLM_TIMEOUT", "soon", NULL},
        {"MERKHET_LLM_URL", "http://h", "MERKHET_LLM_RETRIES", "17", NULL},
        {"MERKHET_LLM_URL", "http://h", "MERKHET_LLM_GUIDE", "yes", NULL},
        {"MERKHET_LLM_URL", "http://h", "MERKHET_LLM_KEY", "a\r\nX: y", NULL},
    };
    mk_model_options options;
    mk_err err;
    bool found;
    assert_int_equal(mk_model_settings(lookup, good, &options, &found, NULL), MK_OK);
    assert_true(found && options.no_retries && options.no_stream);
    assert_string_equal(options.model, "big");
    assert_int_equal(options.wait_us, 9000000);
    assert_int_equal(options.guide, MK_GUIDE_GRAMMAR);
    assert_int_equal(mk_model_settings(lookup, none, &options, &found, NULL), MK_OK);
    assert_false(found);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(mk_model_settings(lookup, (void *)wrong[i], &options, &found, &err),
                         MK_E_INVALID_ARG);
        assert_string_equal(err.path, wrong[i][2] == NULL ? wrong[i][0] : wrong[i][2]);
    }
}

/* ---- memory ---- */

static void test_model__running_out_of_memory_is_reported(void **state)
{
    world w;
    testalloc ta;
    mk_model_options options = {.wait_us = 5000000, .backoff_us = 1000};
    enter(&w, say_events, NULL, &plain);
    snprintf(options.url, sizeof options.url, "http://127.0.0.1:%u", w.server.port);
    strcpy(options.model, "m");
    tmpdir_join(*state, "cache", options.cache_dir);
    for (uint64_t n = 1;; n++) {
        char command[TMPDIR_PATH_MAX + 32];
        mk_model *model = NULL;
        mk_model_reply reply;
        snprintf(command, sizeof command, "rm -rf '%s'", options.cache_dir);
        assert_int_equal(system(command), 0);
        testalloc_init(&ta);
        testalloc_fail(&ta, n, false);
        mk_arena arena;
        mk_arena_init(&arena, &ta.hook);
        const mk_model_request request = {.messages = hello, .message_count = 2};
        mk_code rc = mk_model_http_open(&ta.hook, &options, &model, NULL);
        if (rc == MK_OK)
            rc = mk_model_ask(model, &request, &arena, &reply, &w.err);
        const bool failed = ta.failures != 0;
        assert_true(rc == (failed ? MK_E_NOMEM : MK_OK));
        mk_arena_free(&arena);
        mk_model_close(model);
        assert_true(testalloc_is_clean(&ta));
        testalloc_free(&ta);
        if (!failed)
            break;
        assert_true(n < 200);
    }
    leave(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_model__a_reply_comes_whole_or_in_pieces),
        cmocka_unit_test(test_model__the_key_is_sent_and_appears_in_no_error),
        cmocka_unit_test(test_model__a_bad_reply_is_a_typed_error),
        cmocka_unit_test(test_model__a_call_ends_whatever_the_peer_does),
        cmocka_unit_test(test_model__no_server_is_unreachable),
        cmocka_unit_test(test_model__a_failure_that_passes_is_tried_again),
        cmocka_unit_test(test_model__a_cancelled_question_ends),
        cmocka_unit_test(test_model__tokens_that_cannot_be_true_are_not_counted),
        cmocka_unit_test(test_model__the_guide_that_a_server_understands_is_used_and_said),
        cmocka_unit_test_setup_teardown(test_model__the_cache_knows_everything_that_matters, tmpdir_setup,
                                        tmpdir_teardown),
        cmocka_unit_test_setup_teardown(test_model__a_damaged_cache_file_is_as_none, tmpdir_setup,
                                        tmpdir_teardown),
        cmocka_unit_test(test_model__settings_are_read_and_bad_ones_named),
        cmocka_unit_test_setup_teardown(test_model__running_out_of_memory_is_reported, tmpdir_setup,
                                        tmpdir_teardown),
    };
    return cmocka_run_group_tests_name("model", tests, NULL, NULL);
}

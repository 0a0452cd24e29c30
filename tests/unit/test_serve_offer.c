/* test_serve_offer.c — resources, prompts and completion of the product, asked for over the protocol.
 *
 * Source: serving spec, 4, 6. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "../support/tmpdir.h"
#include "api_json.h"
#include "serve/offer.h"

typedef struct rig {
    mk_stream stream; /* first */
    tmpdir dir;
    mk_service *service;
    mk_tools tools;
    mk_mcp_offer offer;
    mk_mcp *server;
    mk_mcp_session *session;
    mk_arena arena;
    mk_buf answer;
} rig;

static void drop(mk_stream *self, mk_str message)
{
    (void)self;
    (void)message;
}

/* "ann-000" to "ann-149", all called Ann and a number; "ann" of no name; and one that is no user's. */
static void fill(const char *path)
{
    const mk_store_options options = {.mode = MK_OPEN_CREATE_WRITER, .manual = true};
    const mk_write_options reserved = {.allow_reserved = true};
    const mk_api_origin origin = {.source = MK_STR("test")};
    mk_arena arena;
    mk_store *store;
    mk_buf text;
    size_t count;
    mk_op *ops = NULL;
    mk_err err;
    mk_tt tt;
    mk_arena_init(&arena, &mk_alloc_default);
    mk_buf_init(&text, &mk_alloc_default);
    for (int i = 0; i < 150; i++)
        mk_buf_printf(&text,
                      "{\"op\":\"assert_node\",\"uid\":\"ann-%03d\",\"label\":\"Person\",\"props\":{\"name\":"
                      "\"Ann %d\"},\"vt_s\":0}\n",
                      i, i);
    mk_buf_z(&text,
             "{\"op\":\"assert_node\",\"uid\":\"zoe \\\"quoted\\\"\",\"label\":\"Person\",\"vt_s\":0}\n"
             "{\"op\":\"assert_node\",\"uid\":\"bob\",\"label\":\"Person\",\"props\":{\"name\":\"Robert\"},"
             "\"vt_s\":0}\n");
    if (mk_store_open(path, &options, &store, &err) != MK_OK ||
        mk_api_read_ops(&arena, mk_buf_view(&text), &origin, &ops, &count, &err) != MK_OK ||
        mk_store_write(store, ops, count, NULL, &tt, &err) != MK_OK)
        fail_msg("%s", err.message);
    mk_op hidden = ops[0];
    hidden.uid = MK_STR("mn:secret");
    if (mk_store_write(store, &hidden, 1, &reserved, &tt, &err) != MK_OK ||
        mk_store_close(store, &err) != MK_OK)
        fail_msg("%s", err.message);
    mk_buf_free(&text);
    mk_arena_free(&arena);
}

static int setup(void **state)
{
    rig *r = mk_new0(&mk_alloc_default, sizeof *r);
    char path[TMPDIR_PATH_MAX];
    mk_err err;
    r->stream.send = drop;
    tmpdir_make(&r->dir);
    tmpdir_join(&r->dir, "store", path);
    fill(path);
    const mk_service_options options = {.dir = path};
    mk_arena_init(&r->arena, &mk_alloc_default);
    mk_buf_init(&r->answer, &mk_alloc_default);
    if (mk_service_open(&mk_alloc_default, &options, &r->service, &err) != MK_OK ||
        mk_tools_open(&mk_alloc_default, r->service, NULL, &r->tools, &err) != MK_OK)
        fail_msg("%s", err.message);
    mk_offer_init(&r->offer, r->service, &r->tools, "0");
    if (mk_mcp_open(&mk_alloc_default, &r->offer, NULL, &r->server, &err) != MK_OK ||
        mk_mcp_session_open(r->server, &r->stream, true, MK_STR("public"), &r->session, &err) != MK_OK)
        fail_msg("%s", err.message);
    *state = r;
    return 0;
}

static int teardown(void **state)
{
    rig *r = *state;
    mk_mcp_session_close(r->session);
    mk_mcp_close(r->server);
    mk_tools_close(&r->tools);
    mk_service_close(r->service);
    mk_buf_free(&r->answer);
    mk_arena_free(&r->arena);
    tmpdir_remove(&r->dir);
    mk_free(&mk_alloc_default, r, sizeof *r);
    return 0;
}

/* The whole answer. */
static const mk_json *say(rig *r, const char *method, const char *params)
{
    mk_mcp_message message;
    mk_json *tree = NULL;
    mk_buf text;
    int status;
    mk_err err;
    mk_buf_init(&text, &mk_alloc_default);
    mk_buf_printf(&text, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{%s}}", method, params);
    mk_buf_clear(&r->answer);
    mk_mcp_read(mk_buf_view(&text), &r->arena, &message);
    assert_int_equal(message.kind, MK_MESSAGE_REQUEST);
    assert_true(mk_mcp_begin(r->session, &message));
    if (mk_mcp_handle(r->server, r->session, &message, &r->stream, &r->arena, &r->answer, &status, &err) !=
            MK_OK ||
        mk_json_parse(&r->arena, mk_buf_view(&r->answer), NULL, &tree, &err) != MK_OK)
        fail_msg("%s", err.message);
    mk_buf_free(&text);
    return tree;
}

static const mk_json *result_of(rig *r, const char *method, const char *params)
{
    const mk_json *result = mk_json_get(say(r, method, params), "result");
    if (result == NULL)
        fail_msg("%s {%s}: %.*s", method, params, MK_STR_ARG(mk_buf_view(&r->answer)));
    return result;
}

static void assert_refused(rig *r, const char *method, const char *params, int code)
{
    const mk_json *error = mk_json_get(say(r, method, params), "error");
    if (error == NULL || mk_json_get(error, "code")->i != code)
        fail_msg("%s {%s}: %.*s", method, params, MK_STR_ARG(mk_buf_view(&r->answer)));
}

/* ---- prompts ---- */

static void test_serve_offer__prompts_say_what_they_need(void **state)
{
    static const struct {
        const char *name, *needed, *optional;
    } table[] = {{"ask_with_evidence", "question", "as_of"},
                 {"compare_beliefs", "entity earlier later", ""},
                 {"entity_timeline", "entity", ""}};
    rig *r = *state;
    const mk_json *list = mk_json_get(result_of(r, "prompts/list", ""), "prompts");
    assert_int_equal(list->n, sizeof table / sizeof *table);
    for (size_t i = 0; i < list->n; i++) {
        char needed[80] = "", optional[80] = "";
        const mk_json *args = mk_json_get(&list->items[i], "arguments");
        assert_true(mk_str_eq(mk_json_get(&list->items[i], "name")->text, mk_str_of(table[i].name)));
        for (size_t k = 0; k < args->n; k++) {
            char *to = mk_json_get(&args->items[k], "required")->b ? needed : optional;
            const size_t n = strlen(to);
            snprintf(to + n, sizeof needed - n, "%s%.*s", n ? " " : "",
                     MK_STR_ARG(mk_json_get(&args->items[k], "name")->text));
        }
        assert_string_equal(needed, table[i].needed);
        assert_string_equal(optional, table[i].optional);
    }
}

static void test_serve_offer__a_prompt_has_its_arguments_in_it(void **state)
{
    static const struct {
        const char *params, *part;
    } table[] = {
        {"\"name\":\"ask_with_evidence\",\"arguments\":{\"question\":\"Who \\\"is\\\" Ann?\"}",
         "Who \"is\" Ann?"},
        {"\"name\":\"ask_with_evidence\",\"arguments\":{\"question\":\"Who?\",\"as_of\":\"2024-05-01\"}",
         "2024-05-01"},
        {"\"name\":\"compare_beliefs\",\"arguments\":{\"entity\":\"ann-001\",\"earlier\":\"2024-01-01\","
         "\"later\":\"2024-02-02\"}",
         "ann-001 at 2024-01-01 and at 2024-02-02"},
        {"\"name\":\"entity_timeline\",\"arguments\":{\"entity\":\"ann-001\"}", "ann-001"},
    };
    static const char *const bad[] = {
        "\"name\":\"entity_timeline\"",
        "\"name\":\"entity_timeline\",\"arguments\":{\"entity\":\"\"}",
        "\"name\":\"entity_timeline\",\"arguments\":{\"entity\":7}",
        "\"name\":\"compare_beliefs\",\"arguments\":{\"entity\":\"a\",\"later\":\"b\"}",
        "\"name\":\"ask_with_evidence\",\"arguments\":{\"question\":\"Who?\",\"as_of\":7}",
        "\"name\":\"nothing\"",
        ""};
    rig *r = *state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const mk_json *messages = mk_json_get(result_of(r, "prompts/get", table[i].params), "messages");
        const mk_json *content = mk_json_get(&messages->items[0], "content");
        const mk_str text = mk_json_get(content, "text")->text, part = mk_str_of(table[i].part);
        assert_true(mk_str_eq(mk_json_get(&messages->items[0], "role")->text, MK_STR("user")));
        if (memmem(text.p, text.n, part.p, part.n) == NULL)
            fail_msg("no %s in: %.*s", table[i].part, MK_STR_ARG(text));
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_refused(r, "prompts/get", bad[i], -32602);
}

/* ---- completion ---- */

#define PROMPT_REF "\"ref\":{\"type\":\"ref/prompt\",\"name\":\"entity_timeline\"},"
#define ARGUMENT(name, value) "\"argument\":{\"name\":\"" name "\",\"value\":\"" value "\"}"

static const mk_json *completion(rig *r, const char *params)
{
    return mk_json_get(result_of(r, "completion/complete", params), "completion");
}

static void assert_completes(rig *r, const char *params, const char *first, size_t shown, int64_t total)
{
    const mk_json *found = completion(r, params), *values = mk_json_get(found, "values");
    if (values->n != shown || mk_json_get(found, "total")->i != total ||
        (first != NULL && !mk_str_eq(values->items[0].text, mk_str_of(first))))
        fail_msg("%s: %.*s", params, MK_STR_ARG(mk_buf_view(&r->answer)));
}

static void test_serve_offer__names_and_operators_are_completed(void **state)
{
    rig *r = *state;
    assert_completes(r, PROMPT_REF ARGUMENT("entity", "bo"), "bob", 1, 1);
    assert_completes(r, PROMPT_REF ARGUMENT("entity", "BO"), "bob", 1, 1);
    assert_completes(r, PROMPT_REF ARGUMENT("entity", "Robe"), "Robert", 1, 1);
    assert_completes(r, PROMPT_REF ARGUMENT("entity", "zoe"), "zoe \"quoted\"", 1, 1);
    assert_completes(r, PROMPT_REF ARGUMENT("entity", "obert"), NULL, 0,
                     0); /* the inside of a name is for resolve_entities */
    assert_completes(r, PROMPT_REF ARGUMENT("entity", "nobody"), NULL, 0, 0);
    assert_completes(r, PROMPT_REF ARGUMENT("entity", ""), NULL, 0, 0);
    assert_completes(r, PROMPT_REF ARGUMENT("entity", "mn:"), NULL, 0, 0);   /* no entity of a user */
    assert_completes(r, PROMPT_REF ARGUMENT("color", "r"), NULL, 0, 0);
    assert_completes(
        r,
        "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"merkhet://manual/{op}\"}," ARGUMENT("op", "temporal_r"),
        "temporal_reachability", 2, 2);
    const mk_json *many = completion(r, PROMPT_REF ARGUMENT("entity", "ann-"));
    assert_int_equal(mk_json_get(many, "values")->n, 100);
    assert_true(mk_json_get(many, "total")->i >= 100);
}

static void test_serve_offer__every_listed_template_may_be_asked_and_no_other(void **state)
{
    static const char *const unknown[] = {
        "\"ref\":{\"type\":\"ref/prompt\",\"name\":\"nothing\"}," ARGUMENT("entity", "a"),
        "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"merkhet://nothing/{x}\"}," ARGUMENT("x", "a"),
        "\"ref\":{\"type\":\"ref/tool\",\"name\":\"ask\"}," ARGUMENT("x", "a"),
        "\"ref\":{}," ARGUMENT("x", "a"),
        PROMPT_REF "\"argument\":7",
        ARGUMENT("x", "a")};
    rig *r = *state;
    const mk_json *list = mk_json_get(result_of(r, "resources/templates/list", ""), "resourceTemplates");
    char params[300];
    assert_int_equal(list->n, 4);
    for (size_t i = 0; i < list->n; i++) {
        snprintf(params, sizeof params,
                 "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"%.*s\"}," ARGUMENT("id", ""),
                 MK_STR_ARG(mk_json_get(&list->items[i], "uriTemplate")->text));
        assert_completes(r, params, NULL, 0, 0);
    }
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        assert_refused(r, "completion/complete", unknown[i], -32602);
}

/* ---- resources ---- */

static void test_serve_offer__what_is_listed_can_be_read(void **state)
{
    rig *r = *state;
    const mk_json *list = mk_json_get(result_of(r, "resources/list", ""), "resources");
    char params[200];
    assert_int_equal(list->n, 2);
    for (size_t i = 0; i < list->n; i++) {
        const mk_str uri = mk_json_get(&list->items[i], "uri")->text;
        snprintf(params, sizeof params, "\"uri\":\"%.*s\"", MK_STR_ARG(uri));
        const mk_json *contents = mk_json_get(result_of(r, "resources/read", params), "contents");
        assert_int_equal(contents->n, 1);
        assert_true(mk_str_eq(mk_json_get(&contents->items[0], "uri")->text, uri));
        assert_true(mk_str_eq(mk_json_get(&contents->items[0], "mimeType")->text,
                              mk_json_get(&list->items[i], "mimeType")->text));
        assert_true(mk_json_get(&contents->items[0], "text")->text.n > 100);
    }
    (void)result_of(r, "resources/read", "\"uri\":\"merkhet://manual/compute\"");
    static const char *const unknown[] = {"\"uri\":\"merkhet://manual/nothing\"",
                                          "\"uri\":\"merkhet://result/\"", "\"uri\":\"merkhet://result/00\"",
                                          "\"uri\":\"merkhet://trace/../../etc\"",
                                          "\"uri\":\"file:///etc/passwd\""};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        assert_refused(r, "resources/read", unknown[i], -32002);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_serve_offer__prompts_say_what_they_need, setup, teardown),
        cmocka_unit_test_setup_teardown(test_serve_offer__a_prompt_has_its_arguments_in_it, setup, teardown),
        cmocka_unit_test_setup_teardown(test_serve_offer__names_and_operators_are_completed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_serve_offer__every_listed_template_may_be_asked_and_no_other,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(test_serve_offer__what_is_listed_can_be_read, setup, teardown),
    };
    return cmocka_run_group_tests_name("serve_offer", tests, NULL, NULL);
}

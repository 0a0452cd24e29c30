/* test_mcp_stdio_threads.c — the points of the conformance suites, over a pipe, in both eras.
 *
 * The suites speak HTTP and need Node; here the fixture they ask is served by the transport of standard input
 * and output, and a client of ours reads and answers each line. Scenario names in the comments are the
 * suites'. With "threads" in its name it also runs under ThreadSanitizer. Source: serving spec, 4, 5,
 * 7, 12.3. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "../support/mcp_fixture.h"
#include "serve/stdio.h"

#define WAIT_MS 20000

/* ---- a server on two pipes, and its client ---- */

typedef struct peer {
    mk_mcp_offer offer;
    mk_mcp *server;
    int to[2], from[2]; /* the client writes to[1] and reads from[0] */
    pthread_t thread;
    mk_code ended;
    mk_buf in;      /* what was read and not looked at */
    mk_buf answer;  /* the last answer */
    mk_buf between; /* the lines before it, one after the other */
    bool modern;
    const char *capabilities; /* members of the client's */
    const char *sampled, *elicited, *roots; /* results to give when asked; NULL: an error */
    int asked;
} peer;

static void *serve(void *arg)
{
    peer *p = arg;
    const mk_stdio_options options = {
        .in = p->to[0], .out = p->from[1], .stop = -1, .principal = MK_STR("public")};
    p->ended = mk_mcp_stdio(p->server, &mk_alloc_default, &options, NULL);
    close(p->from[1]);
    return NULL;
}

static void send_text(peer *p, const char *text)
{
    assert_int_equal(write(p->to[1], text, strlen(text)), strlen(text));
    assert_int_equal(write(p->to[1], "\n", 1), 1);
}

static const char *handshake(peer *p, const char *version);

static void peer_open_with(peer *p, bool modern, const char *capabilities, const mk_mcp_options *options)
{
    *p = (peer){.modern = modern, .capabilities = capabilities};
    mcp_fixture_init(&p->offer);
    mk_buf_init(&p->in, &mk_alloc_default);
    mk_buf_init(&p->answer, &mk_alloc_default);
    mk_buf_init(&p->between, &mk_alloc_default);
    assert_int_equal(pipe(p->to), 0);
    assert_int_equal(pipe(p->from), 0);
    assert_int_equal(mk_mcp_open(&mk_alloc_default, &p->offer, options, &p->server, NULL), MK_OK);
    assert_int_equal(pthread_create(&p->thread, NULL, serve, p), 0);
    if (!modern)
        (void)handshake(p, "2025-11-25");
}

static void peer_open(peer *p, bool modern, const char *capabilities)
{
    peer_open_with(p, modern, capabilities, NULL);
}

/* Ends the input, and waits for the server to end. */
static void peer_end(peer *p)
{
    close(p->to[1]);
    pthread_join(p->thread, NULL);
    assert_int_equal(p->ended, MK_OK);
}

static void peer_free(peer *p)
{
    close(p->to[0]);
    close(p->from[0]);
    mk_mcp_close(p->server);
    mk_buf_free(&p->in);
    mk_buf_free(&p->answer);
    mk_buf_free(&p->between);
}

static void peer_close(peer *p)
{
    peer_end(p);
    peer_free(p);
}

/* One line, without its end, NUL behind it; false at the end of the output. */
static bool read_line(peer *p, mk_buf *line)
{
    for (;;) {
        const char *end = p->in.n > 0 ? memchr(p->in.p, '\n', p->in.n) : NULL;
        if (end != NULL) {
            const size_t n = (size_t)(end - p->in.p);
            mk_buf_clear(line);
            mk_buf_str(line, (mk_str){p->in.p, n});
            mk_buf_c(line, '\0');
            memmove(p->in.p, end + 1, p->in.n - n - 1);
            p->in.n -= n + 1;
            return true;
        }
        struct pollfd fd = {.fd = p->from[0], .events = POLLIN};
        assert_int_equal(poll(&fd, 1, WAIT_MS), 1);
        char *to = mk_buf_room(&p->in, 4096);
        assert_non_null(to);
        const ssize_t got = read(p->from[0], to, 4096);
        if (got <= 0)
            return false;
        p->in.n += (size_t)got;
    }
}

/* Answers a request of the server with what the test has ready. Its id is between "id": and the next
 * comma. */
static void reply(peer *p, const char *line)
{
    char text[1024], id[64];
    const char *result = strstr(line, "sampling/createMessage") != NULL ? p->sampled
                         : strstr(line, "elicitation/create") != NULL ? p->elicited : p->roots;
    const char *from = strstr(line, "\"id\":") + 5;
    snprintf(id, sizeof id, "%.*s", (int)strcspn(from, ","), from);
    p->asked++;
    if (result != NULL)
        snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}", id, result);
    else
        snprintf(text, sizeof text,
                 "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":-1,\"message\":\"no\"}}", id);
    send_text(p, text);
}

/* Reads up to the answer of a request, whose id the client made. */
static const char *await(peer *p, const char *id)
{
    char head[64];
    snprintf(head, sizeof head, "{\"jsonrpc\":\"2.0\",\"id\":%s,", id);
    mk_buf_clear(&p->between);
    for (;;) {
        assert_true(read_line(p, &p->answer));
        const char *behind = p->answer.p + strcspn(p->answer.p, ",") + 1; /* "id", then what it is */
        behind += strcspn(behind, ",") + 1;
        if (strncmp(p->answer.p, head, strlen(head)) == 0 && strncmp(behind, "\"method\":", 9) != 0)
            break;
        if (strncmp(p->answer.p, "{\"jsonrpc\":\"2.0\",\"id\":", 22) == 0 &&
            strncmp(behind, "\"method\":", 9) == 0)
            reply(p, p->answer.p);
        mk_buf_z(&p->between, p->answer.p);
        mk_buf_c(&p->between, '\n');
    }
    mk_buf_c(&p->between, '\0');
    return p->answer.p;
}

/* The params of a request in the era of the peer: `members` and, in the modern one, what describes it. */
static void send_request(peer *p, const char *id, const char *method, const char *members)
{
    char *text = malloc(65536);
    assert_non_null(text);
    int n = snprintf(text, 65536, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"%s\",\"params\":{%s", id,
                     method, members);
    if (p->modern)
        n += snprintf(text + n, 65536 - (size_t)n,
                      "%s\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                      "\"io.modelcontextprotocol/clientCapabilities\":{%s}}",
                      members[0] != '\0' ? "," : "", p->capabilities);
    snprintf(text + n, 65536 - (size_t)n, "}}");
    send_text(p, text);
    free(text);
}

static const char *ask(peer *p, const char *method, const char *members)
{
    send_request(p, "1", method, members);
    return await(p, "1");
}

static const char *tool(peer *p, const char *name)
{
    char members[128];
    snprintf(members, sizeof members, "\"name\":\"%s\",\"arguments\":{}", name);
    return ask(p, "tools/call", members);
}

static const char *handshake(peer *p, const char *version)
{
    char members[512];
    snprintf(members, sizeof members,
             "\"protocolVersion\":\"%s\",\"capabilities\":{%s},\"clientInfo\":{\"name\":\"t\","
             "\"version\":\"1\"}",
             version, p->capabilities);
    const char *answer = ask(p, "initialize", members);
    send_text(p, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    return answer;
}

static void assert_has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("no %s in: %s", part, text);
}

static void assert_lacks(const char *text, const char *part)
{
    if (strstr(text, part) != NULL)
        fail_msg("%s in: %s", part, text);
}

static int count(const char *text, const char *part)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at += strlen(part))
        n++;
    return n;
}

/* ---- what both eras answer alike ---- */

/* Scenarios tools-list, tools-call-*, resources-*, prompts-*, completion-complete, json-schema-2020-12. */
static const struct {
    const char *method, *members;
    const char *parts[4];
} plain[] = {
    {"tools/list",
     "",
     {"\"tools\":[{\"name\":\"json_schema_2020_12_tool\"", "\"inputSchema\":{\"type\":\"object\"",
      "\"description\":", "\"x-mcp-header\":\"Region\""}},
    {"tools/list", "", {"\"$anchor\":\"addressDef\"", "\"allOf\":[{\"anyOf\":", "\"if\":{", "\"else\":{"}},
    {"tools/call",
     "\"name\":\"test_simple_text\"",
     {"\"text\":\"This is a simple text response for testing.\""}},
    {"tools/call",
     "\"name\":\"test_image_content\"",
     {"\"type\":\"image\"", "\"mimeType\":\"image/png\"", "\"data\":\"iVBORw0KGgo"}},
    {"tools/call", "\"name\":\"test_audio_content\"", {"\"type\":\"audio\"", "\"mimeType\":\"audio/wav\""}},
    {"tools/call",
     "\"name\":\"test_embedded_resource\"",
     {"\"type\":\"resource\"", "\"uri\":\"test://embedded-resource\""}},
    {"tools/call",
     "\"name\":\"test_multiple_content_types\"",
     {"\"type\":\"text\"", "\"type\":\"image\"", "\"type\":\"resource\"", "mixed-content-resource"}},
    {"tools/call",
     "\"name\":\"test_error_handling\"",
     {"\"isError\":true", "intentionally returns an error"}},
    {"resources/list",
     "",
     {"\"uri\":\"test://static-text\"", "\"name\":", "\"description\":", "\"mimeType\":"}},
    {"resources/templates/list", "", {"\"uriTemplate\":\"test://template/{id}/data\""}},
    {"resources/read",
     "\"uri\":\"test://static-text\"",
     {"\"contents\":[{\"uri\":\"test://static-text\"", "\"text\":\"This is"}},
    {"resources/read", "\"uri\":\"test://static-binary\"", {"\"blob\":\"iVBORw0KGgo"}},
    {"resources/read",
     "\"uri\":\"test://template/123/data\"",
     {"\"uri\":\"test://template/123/data\"", "{\\\"id\\\":\\\"123\\\",\\\"templateTest\\\":true"}},
    {"prompts/list",
     "",
     {"\"name\":\"test_simple_prompt\"", "\"arguments\":[{\"name\":\"arg1\"", "\"required\":true"}},
    {"prompts/get", "\"name\":\"test_simple_prompt\"", {"\"text\":\"This is a simple prompt for testing.\""}},
    {"prompts/get",
     "\"name\":\"test_prompt_with_arguments\",\"arguments\":{\"arg1\":\"hello\",\"arg2\":\"world\"}",
     {"Prompt with arguments: arg1='hello', arg2='world'"}},
    {"prompts/get",
     "\"name\":\"test_prompt_with_arguments\",\"arguments\":{\"arg1\":\"hello\"}",
     {"-32602", "arg2"}},
    {"prompts/get",
     "\"name\":\"test_prompt_with_embedded_resource\",\"arguments\":{\"resourceUri\":\"test://x\"}",
     {"\"uri\":\"test://x\"", "Please process the embedded resource above."}},
    {"prompts/get",
     "\"name\":\"test_prompt_with_image\"",
     {"\"type\":\"image\"", "Please analyze the image above."}},
    {"completion/complete",
     "\"ref\":{\"type\":\"ref/"
     "prompt\",\"name\":\"test_prompt_with_arguments\"},\"argument\":{\"name\":\"arg1\",\"value\":\"par\"}",
     {"\"values\":[\"paris\",\"park\",\"party\"],\"total\":3,\"hasMore\":false"}},
    {"tools/call", "\"name\":\"test_nothing\"", {"-32602", "\"data\":{\"tool\":\"test_nothing\"}"}},
    {"nothing/like", "", {"-32601"}},
};

static void test_mcp_stdio__both_eras_offer_the_same(void **state)
{
    (void)state;
    for (int modern = 0; modern < 2; modern++) {
        peer p;
        peer_open(&p, modern, "");
        for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
            const char *answer = ask(&p, plain[i].method, plain[i].members);
            for (size_t k = 0; k < 4 && plain[i].parts[k] != NULL; k++)
                assert_has(answer, plain[i].parts[k]);
            if (strstr(answer, "\"result\":") != NULL) {
                assert_int_equal(count(answer, "\"resultType\":\"complete\""), modern);
                assert_int_equal(count(answer, "io.modelcontextprotocol/serverInfo"), modern);
            }
            assert_string_equal(p.between.p, "");
        }
        /* The order is the same each time. */
        char *first = strdup(ask(&p, "tools/list", ""));
        assert_non_null(first);
        assert_string_equal(ask(&p, "tools/list", ""), first);
        free(first);
        peer_close(&p);
    }
}

/* ---- sessions ---- */

/* Scenarios server-initialize, ping; and what a first message may be. */
static void test_mcp_stdio__a_session_begins_with_any_message(void **state)
{
    static const char *const versions[] = {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"};
    peer p;
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        peer_open(&p, true, ""); /* nothing was said yet */
        p.modern = false;
        char part[64];
        snprintf(part, sizeof part, "\"protocolVersion\":\"%s\"", versions[i]);
        assert_has(handshake(&p, versions[i]), part);
        assert_has(p.answer.p, "\"serverInfo\":{\"name\":\"merkhet-fixture\"");
        assert_has(p.answer.p, "\"capabilities\":{\"tools\":{");
        assert_has(ask(&p, "ping", ""), "\"result\":{}");
        peer_close(&p);
    }
    peer_open(&p, true, "");
    p.modern = false;
    assert_has(handshake(&p, "2026-07-28"), "\"protocolVersion\":\"2025-11-25\"");
    assert_has(handshake(&p, "2025-06-18"), "\"protocolVersion\":\"2025-06-18\""); /* again, and otherwise */
    peer_close(&p);
    peer_open(&p, true, "");
    p.modern = false;
    assert_has(ask(&p, "tools/list", ""), "\"tools\":["); /* no handshake at all */
    p.modern = true;
    assert_has(ask(&p, "server/discover", ""),
               "\"supportedVersions\":[\"2026-07-28\"]"); /* the other era in between */
    p.modern = false;
    assert_has(ask(&p, "ping", ""), "\"result\":{}");
    peer_close(&p);
}

/* Scenarios logging-set-level, tools-call-with-logging. */
static void test_mcp_stdio__logs_come_at_the_level_that_was_set(void **state)
{
    static const char *const levels[] = {"debug", "info",     "notice", "warning",
                                         "error", "critical", "alert",  "emergency"};
    peer p;
    (void)state;
    peer_open(&p, false, "");
    for (size_t i = 0; i < 8; i++) {
        char members[64];
        snprintf(members, sizeof members, "\"level\":\"%s\"", levels[i]);
        assert_has(ask(&p, "logging/setLevel", members), "\"result\":{}");
        assert_has(tool(&p, "test_tool_with_logging"), "\"content\":");
        assert_int_equal(count(p.between.p, "notifications/message"), i <= 1 ? 3 : 0);
    }
    assert_has(ask(&p, "logging/setLevel", "\"level\":\"loud\""), "-32602");
    (void)ask(&p, "logging/setLevel", "\"level\":\"info\"");
    (void)tool(&p, "test_tool_with_logging");
    const char *started =
        strstr(p.between.p, "\"level\":\"info\",\"logger\":\"fixture\",\"data\":\"Tool execution started\"");
    const char *ended = strstr(p.between.p, "Tool execution completed");
    assert_true(started != NULL && ended != NULL && started < ended);
    peer_close(&p);
}

/* Scenario tools-call-with-progress; tokens of both types are echoed as they came. */
static void test_mcp_stdio__progress_is_told_to_who_asked(void **state)
{
    (void)state;
    for (int modern = 0; modern < 2; modern++) {
        peer p;
        peer_open(&p, modern, "");
        p.modern = false; /* _meta is written out here */
        const char *const era = modern ? ",\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                                         "\"io.modelcontextprotocol/clientCapabilities\":{}" : "";
        const char *const tokens[] = {"\"a \\\"b\\\"\"", "0", "-7", "9007199254740993"};
        for (size_t i = 0; i < 4; i++) {
            char members[512], part[128];
            snprintf(members, sizeof members,
                     "\"name\":\"test_tool_with_progress\",\"_meta\":{\"progressToken\":%s%s}", tokens[i],
                     era);
            assert_has(ask(&p, "tools/call", members), "\"content\":");
            assert_int_equal(count(p.between.p, "notifications/progress"), 3);
            for (int done = 0; done <= 100; done += 50) {
                snprintf(part, sizeof part, "{\"progressToken\":%s,\"progress\":%d,\"total\":100}", tokens[i],
                         done);
                assert_has(p.between.p, part);
            }
        }
        p.modern = modern;
        (void)tool(&p, "test_tool_with_progress");
        assert_string_equal(p.between.p, ""); /* nobody asked */
        peer_close(&p);
    }
}

/* A call that says nothing is said to run: by seconds, or a little beyond what it said last. */
static void test_mcp_stdio__a_silent_call_is_heard_of(void **state)
{
    const mk_mcp_options options = {.beat_us = 50000};
    peer p;
    (void)state;
    peer_open_with(&p, false, "", &options);
    assert_has(ask(&p, "tools/call", "\"name\":\"test_silent\",\"_meta\":{\"progressToken\":7}"),
               "half a second");
    assert_true(count(p.between.p, "\"message\":\"still running\"") >= 2);
    assert_has(p.between.p, "{\"progressToken\":7,\"progress\":0.");
    (void)ask(&p, "ping", "");
    assert_string_equal(p.between.p, ""); /* no more of it afterwards */
    (void)tool(&p, "test_silent");
    assert_string_equal(p.between.p, "");
    peer_close(&p);
}

/* Scenarios tools-call-sampling, tools-call-elicitation, elicitation-sep1034-defaults,
 * elicitation-sep1330-enums. */
static void test_mcp_stdio__a_session_asks_and_waits(void **state)
{
    peer p;
    (void)state;
    peer_open(&p, false, "\"sampling\":{},\"elicitation\":{},\"roots\":{}");
    p.sampled = "{\"role\":\"assistant\",\"model\":\"m\",\"content\":{\"type\":\"text\",\"text\":\"Paris\"}}";
    p.elicited = "{\"action\":\"accept\",\"content\":{\"username\":\"eve\",\"email\":\"e@x\"}}";
    p.roots = "{\"roots\":[{\"uri\":\"file:///r\"}]}";
    assert_has(
        ask(&p, "tools/call", "\"name\":\"test_sampling\",\"arguments\":{\"prompt\":\"say \\\"hi\\\"\"}"),
        "\"text\":\"LLM response: Paris\"");
    assert_has(p.between.p, "\"params\":{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\","
                            "\"text\":\"say \\\"hi\\\"\"}}],\"maxTokens\":100}");
    assert_has(
        ask(&p, "tools/call", "\"name\":\"test_elicitation\",\"arguments\":{\"message\":\"who\"}"),
        "User response: action=accept, content={\\\"email\\\":\\\"e@x\\\",\\\"username\\\":\\\"eve\\\"}");
    assert_has(p.between.p, "\"message\":\"who\",\"requestedSchema\":{\"type\":\"object\"");
    p.elicited = "{\"action\":\"decline\"}";
    assert_has(tool(&p, "test_elicitation_sep1034_defaults"), "action=decline, content={}");
    static const char *const defaults[] = {"\"default\":\"John Doe\"", "\"default\":30", "\"default\":95.5",
                                           "\"default\":\"active\"", "\"default\":true"};
    for (size_t i = 0; i < 5; i++)
        assert_has(p.between.p, defaults[i]);
    (void)tool(&p, "test_elicitation_sep1330_enums");
    assert_has(p.between.p, "\"enumNames\":[");
    assert_has(p.between.p, "\"oneOf\":[{\"const\":\"value1\"");
    assert_has(p.between.p, "\"anyOf\":[{\"const\":\"value1\"");
    assert_has(tool(&p, "test_input_required_result_list_roots"), "file:///r");
    assert_int_equal(p.asked, 5);
    p.elicited = NULL; /* refused with an error */
    assert_has(tool(&p, "test_elicitation"), "\"isError\":true");
    peer_close(&p);
    peer_open(&p, false, ""); /* who did not say that it can is not asked */
    assert_has(tool(&p, "test_sampling"), "\"isError\":true");
    assert_has(tool(&p, "test_elicitation"), "\"isError\":true");
    assert_int_equal(p.asked, 0);
    peer_close(&p);
}

/* Scenarios resources-subscribe, resources-unsubscribe. */
static void test_mcp_stdio__a_session_hears_of_what_it_subscribed_to(void **state)
{
    static const char *const updated =
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\",\"params\":{"
        "\"uri\":\"test://watched-resource\"}}";
    peer p;
    (void)state;
    peer_open(&p, false, "");
    (void)tool(&p, "test_trigger_resource_update");
    assert_lacks(p.between.p, "updated");
    assert_has(ask(&p, "resources/subscribe", "\"uri\":\"test://watched-resource\""), "\"result\":{}");
    (void)tool(&p, "test_trigger_resource_update");
    assert_has(p.between.p, updated);
    assert_has(ask(&p, "resources/unsubscribe", "\"uri\":\"test://watched-resource\""), "\"result\":{}");
    (void)tool(&p, "test_trigger_resource_update");
    assert_lacks(p.between.p, "updated");
    (void)tool(&p, "test_trigger_tool_change");
    assert_has(p.between.p, "\"method\":\"notifications/tools/list_changed\"");
    assert_has(ask(&p, "resources/read", "\"uri\":\"test://none\""), "-32002");
    assert_has(p.answer.p, "\"data\":{\"uri\":\"test://none\"}");
    peer_close(&p);
}

/* ---- requests that describe themselves ---- */

/* Scenario server-stateless. */
static void test_mcp_stdio__modern_requests_stand_alone(void **state)
{
    static const char *const removed[] = {"initialize", "ping", "logging/setLevel", "resources/subscribe",
                                          "resources/unsubscribe", "tasks/list", "tasks/result"};
    static const struct {
        const char *meta, *part;
    } envelopes[] = {
        {"\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"", "-32602"},
        {"\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/"
         "clientCapabilities\":[]",
         "-32602"},
        {"\"io.modelcontextprotocol/protocolVersion\":5,\"io.modelcontextprotocol/clientCapabilities\":{}",
         "-32602"},
        {"\"io.modelcontextprotocol/protocolVersion\":\"v999.0.0\",\"io.modelcontextprotocol/"
         "clientCapabilities\":{}",
         "-32022"},
        {"\"io.modelcontextprotocol/protocolVersion\":\"2025-11-25\",\"io.modelcontextprotocol/"
         "clientCapabilities\":{}",
         "\"data\":{\"supported\":[\"2026-07-28\"],\"requested\":\"2025-11-25\"}"},
        {"\"io.modelcontextprotocol/"
         "protocolVersion\":\"\\u0001\\u0001\\u0001\\u0001\\u0001\\u0001\\u0001\\u0001\\u0001\\u0001"
         "\\u0001\\u0001\\u0001\\u0001\\u0001\\u0001\\u0001\\u0001\\u0001\\u0001\\u0001\\u0001\\u0001\\u0001"
         "\\u0001\\u0001\","
         "\"io.modelcontextprotocol/clientCapabilities\":{}",
         "\\u0001\"}}}"},
        {"\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/"
         "clientCapabilities\":{},"
         "\"io.modelcontextprotocol/logLevel\":\"loud\"",
         "-32602"},
    };
    peer p;
    (void)state;
    peer_open(&p, true, "");
    assert_has(ask(&p, "server/discover", ""), "\"capabilities\":{\"tools\":{\"listChanged\":true}");
    assert_has(p.answer.p, "\"instructions\":");
    for (size_t i = 0; i < sizeof removed / sizeof *removed; i++)
        assert_has(ask(&p, removed[i], ""), "-32601");
    p.modern = false;
    for (size_t i = 0; i < sizeof envelopes / sizeof *envelopes; i++) {
        char members[1024];
        snprintf(members, sizeof members, "\"_meta\":{%s}", envelopes[i].meta);
        assert_has(ask(&p, "tools/list", members), envelopes[i].part);
    }
    send_text(&p, "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"tools/list\",\"params\":{\"_meta\":{"
                  "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}}}");
    assert_true(read_line(&p, &p.answer)); /* an id that is none is not echoed, and not null either */
    assert_has(p.answer.p, "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32600");
    p.modern = true;
    assert_has(tool(&p, "test_missing_capability"), "-32021");
    assert_has(p.answer.p, "\"data\":{\"requiredCapabilities\":{\"sampling\":{}}}");
    (void)tool(&p, "test_logging_tool");
    assert_lacks(p.between.p, "notifications/message"); /* nobody set a level */
    p.capabilities = "\"elicitation\":{}";
    (void)tool(&p, "test_streaming_elicitation");
    assert_lacks(p.between.p, "elicitation/create"); /* it is in the answer */
    assert_int_equal(p.asked, 0);
    p.modern = false;
    (void)ask(&p, "tools/call",
              "\"name\":\"test_logging_tool\",\"_meta\":{\"io.modelcontextprotocol/logLevel\":\"info\","
              "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/"
              "clientCapabilities\":{}}");
    assert_int_equal(count(p.between.p, "notifications/message"), 3);
    peer_close(&p);
}

/* Scenarios caching, sep-2164-resource-not-found. */
static void test_mcp_stdio__modern_answers_say_how_long_they_keep(void **state)
{
    static const char *const lists[] = {"server/discover", "tools/list", "resources/list",
                                        "resources/templates/list", "prompts/list"};
    peer p;
    (void)state;
    peer_open(&p, true, "");
    for (size_t i = 0; i < 5; i++)
        assert_has(ask(&p, lists[i], ""), "\"ttlMs\":300000,\"cacheScope\":\"public\"");
    assert_has(ask(&p, "resources/read", "\"uri\":\"test://static-text\""),
               "\"ttlMs\":300000,\"cacheScope\":\"private\"");
    assert_lacks(tool(&p, "test_simple_text"), "ttlMs");
    assert_has(ask(&p, "resources/read", "\"uri\":\"test://none\""), "-32602");
    assert_has(p.answer.p, "\"data\":{\"uri\":\"test://none\"}");
    peer_close(&p);
}

/* The state of the last answer, as JSON text. */
static void last_state(const peer *p, char *to, size_t size)
{
    const char *at = strstr(p->answer.p, "\"requestState\":");
    assert_non_null(at);
    at += strlen("\"requestState\":");
    size_t n = 1;
    while (at[n] != '"')
        n += at[n] == '\\' ? 2 : 1;
    assert_true(n + 2 < size);
    memcpy(to, at, n + 1);
    to[n + 1] = '\0';
}

/* A later round of the last answer's call. */
static const char *answer_round(peer *p, const char *name, const char *responses)
{
    char *members = malloc(16384), *token = malloc(8192);
    assert_true(members != NULL && token != NULL);
    last_state(p, token, 8192);
    snprintf(members, 16384, "\"name\":\"%s\",\"arguments\":{},\"requestState\":%s,\"inputResponses\":{%s}",
             name, token, responses);
    send_request(p, "2", "tools/call", members);
    free(members);
    free(token);
    return await(p, "2");
}

/* Scenarios input-required-result-*. */
static void test_mcp_stdio__modern_questions_are_answers(void **state)
{
#define NAME "\"user_name\":{\"action\":\"accept\",\"content\":{\"name\":\"Ada\"}}"
#define SAID(key)                                                                                            \
    "\"" key "\":{\"role\":\"assistant\",\"model\":\"m\",\"content\":{\"type\":\"text\",\"text\":\"Paris\"}}"
#define ROOTS "\"client_roots\":{\"roots\":[{\"uri\":\"file:///r\"}]}"
    static const char *const elicitation = "test_input_required_result_elicitation";
    static const char *const multiple = "test_input_required_result_multiple_inputs";
    static const char *const rounds = "test_input_required_result_multi_round";
    peer p;
    (void)state;
    peer_open(&p, true, "\"sampling\":{},\"elicitation\":{},\"roots\":{}");
    /* basic-elicitation, result-type, missing-input-response, ignore-extra-params, validate-input */
    assert_has(tool(&p, elicitation),
               "\"resultType\":\"input_required\",\"inputRequests\":{\"user_name\":{"
               "\"method\":\"elicitation/create\",\"params\":{\"message\":\"What is your name?\"");
    assert_has(answer_round(&p, elicitation, "\"wrong\":{}"), "\"inputRequests\":{\"user_name\":");
    assert_has(answer_round(&p, elicitation, "\"user_name\":12345"), "\"inputRequests\":{\"user_name\":");
    assert_has(answer_round(&p, elicitation, NAME ",\"more\":{\"x\":1}"), "\"text\":\"Hello, Ada!\"");
    assert_has(p.answer.p, "\"resultType\":\"complete\"");
    /* basic-sampling, basic-list-roots, request-state */
    assert_has(tool(&p, "test_input_required_result_sampling"),
               "\"capital_question\":{\"method\":\"sampling/createMessage\"");
    assert_has(answer_round(&p, "test_input_required_result_sampling", SAID("capital_question")), "Paris");
    assert_has(tool(&p, "test_input_required_result_list_roots"),
               "\"client_roots\":{\"method\":\"roots/list\",\"params\":{}}");
    assert_has(answer_round(&p, "test_input_required_result_list_roots", ROOTS), "file:///r");
    (void)tool(&p, "test_input_required_result_request_state");
    assert_has(answer_round(&p, "test_input_required_result_request_state",
                            "\"confirm\":{\"action\":\"accept\",\"content\":{\"ok\":true}}"), "state-ok");
    /* multiple-input-requests: all at once, in one piece or in several */
    assert_has(tool(&p, multiple), "\"user_name\":");
    assert_has(p.answer.p, "\"greeting\":{\"method\":\"sampling/createMessage\"");
    assert_has(p.answer.p, "\"client_roots\":");
    assert_has(answer_round(&p, multiple, NAME "," SAID("greeting")), "\"inputRequests\":{\"client_roots\":");
    assert_has(answer_round(&p, multiple, ROOTS), "Ada Paris file:///r");
    /* multi-round: another question, another state */
    char first[4096], second[4096];
    assert_has(tool(&p, rounds), "\"step1\":");
    last_state(&p, first, sizeof first);
    assert_has(answer_round(&p, rounds, "\"step1\":{\"action\":\"accept\",\"content\":{\"name\":\"Ada\"}}"),
               "\"inputRequests\":{\"step2\":");
    last_state(&p, second, sizeof second);
    assert_string_not_equal(first, second);
    assert_has(answer_round(&p, rounds, "\"step2\":{\"action\":\"accept\",\"content\":{\"color\":\"red\"}}"),
               "Ada red");
    /* tampered-state: of another call, and changed */
    (void)tool(&p, "test_input_required_result_tampered_state");
    assert_has(answer_round(&p, elicitation, NAME), "-32602");
    assert_has(ask(&p, "tools/call",
                   "\"name\":\"test_input_required_result_tampered_state\",\"requestState\":\"tampered\""),
               "-32602");
    /* non-tool-request, unsupported-methods */
    assert_has(ask(&p, "prompts/get", "\"name\":\"test_input_required_result_prompt\""),
               "\"inputRequests\":{\"user_context\":");
    assert_has(ask(&p, "prompts/get",
                   "\"name\":\"test_input_required_result_prompt\",\"inputResponses\":{\"user_context\":{"
                   "\"action\":\"accept\",\"content\":{\"context\":\"rain\"}}}"),
               "Use this context: rain");
    assert_has(ask(&p, "tools/list", "\"inputResponses\":{}"), "\"resultType\":\"complete\"");
    /* capability-check */
    p.capabilities = "\"sampling\":{}";
    assert_has(tool(&p, "test_input_required_result_capabilities"), "\"greeting\":");
    assert_lacks(p.answer.p, "user_name");
    assert_lacks(p.answer.p, "client_roots");
    assert_int_equal(p.asked, 0);
    peer_close(&p);
}

/* subscriptions/listen, as server-stateless looks at it. */
static void test_mcp_stdio__modern_subscriptions_are_streams(void **state)
{
    peer p;
    (void)state;
    peer_open(&p, true, "");
    send_request(&p, "\"tools\"", "subscriptions/listen", "\"notifications\":{\"toolsListChanged\":true}");
    send_request(&p, "\"watched\"", "subscriptions/listen",
                 "\"notifications\":{\"promptsListChanged\":true,\"resourceSubscriptions\":[\"test://"
                 "watched-resource\"]}");
    for (int acknowledged = 0; acknowledged < 2; acknowledged++) { /* the first message of each */
        assert_true(read_line(&p, &p.answer));
        assert_has(p.answer.p, "\"method\":\"notifications/subscriptions/acknowledged\"");
    }
    (void)tool(&p, "test_trigger_tool_change");
    assert_string_equal(
        p.between.p,
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\",\"params\":{\"_meta\":{"
        "\"io.modelcontextprotocol/subscriptionId\":\"tools\"}}}\n");
    (void)tool(&p, "test_trigger_prompt_change");
    assert_has(p.between.p, "notifications/prompts/list_changed");
    assert_has(p.between.p, "\"io.modelcontextprotocol/subscriptionId\":\"watched\"");
    (void)tool(&p, "test_trigger_resource_update");
    assert_int_equal(count(p.between.p, "notifications/resources/updated"), 1);
    send_text(&p, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
                  "cancelled\",\"params\":{\"requestId\":\"watched\"}}");
    for (int i = 0; i < 200;
         i++) { /* cancelling needs no answer, so it is over when nothing is told any more */
        (void)tool(&p, "test_trigger_resource_update");
        if (count(p.between.p, "updated") == 0)
            break;
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    assert_int_equal(count(p.between.p, "updated"), 0);
    peer_end(&p); /* what is left ends with a result */
    assert_true(read_line(&p, &p.answer));
    assert_has(p.answer.p,
               "{\"jsonrpc\":\"2.0\",\"id\":\"tools\",\"result\":{\"resultType\":\"complete\",\"_meta\":{"
               "\"io.modelcontextprotocol/subscriptionId\":\"tools\"");
    assert_true(read_line(&p, &p.answer));
    assert_has(p.answer.p, "\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"tools\"");
    assert_false(read_line(&p, &p.answer));
    peer_free(&p);
}

/* ---- many at once ---- */

/* Scenario server-sse-multiple-streams, on the one stream that a pipe is; and cancelling while others run. */
static void test_mcp_stdio__calls_run_beside_each_other(void **state)
{
    (void)state;
    for (int modern = 0; modern < 2; modern++) {
        peer p;
        peer_open(&p, modern, "");
        for (int i = 10; i < 16; i++) {
            char id[16];
            snprintf(id, sizeof id, "%d", i);
            send_request(&p, id, "tools/call", "\"name\":\"test_slow\"");
        }
        assert_has(ask(&p, "tools/list", ""), "\"tools\":["); /* nobody waits for them */
        send_request(&p, "10", "tools/list", "");
        assert_has(await(&p, "10"), "-32600"); /* an id that runs */
        for (int i = 10; i < 16; i++) {
            char text[128];
            snprintf(
                text, sizeof text,
                "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":%d}}",
                i);
            send_text(&p, text);
            send_text(&p, text); /* twice does no harm */
        }
        assert_has(tool(&p, "test_tool_with_progress"), "\"content\":");
        assert_lacks(p.between.p, "\"id\":1");
        peer_end(&p);
        assert_false(read_line(&p, &p.answer)); /* none of the six was answered */
        peer_free(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mcp_stdio__both_eras_offer_the_same),
        cmocka_unit_test(test_mcp_stdio__a_session_begins_with_any_message),
        cmocka_unit_test(test_mcp_stdio__logs_come_at_the_level_that_was_set),
        cmocka_unit_test(test_mcp_stdio__progress_is_told_to_who_asked),
        cmocka_unit_test(test_mcp_stdio__a_silent_call_is_heard_of),
        cmocka_unit_test(test_mcp_stdio__a_session_asks_and_waits),
        cmocka_unit_test(test_mcp_stdio__a_session_hears_of_what_it_subscribed_to),
        cmocka_unit_test(test_mcp_stdio__modern_requests_stand_alone),
        cmocka_unit_test(test_mcp_stdio__modern_answers_say_how_long_they_keep),
        cmocka_unit_test(test_mcp_stdio__modern_questions_are_answers),
        cmocka_unit_test(test_mcp_stdio__modern_subscriptions_are_streams),
        cmocka_unit_test(test_mcp_stdio__calls_run_beside_each_other),
    };
    return cmocka_run_group_tests_name("mcp_stdio", tests, NULL, NULL);
}

/* Messages of the Model Context Protocol, one a line, of both eras, with a session and without. Whatever
 * comes in, each request is answered once, everything sent is JSON on one line, and what is no request is
 * answered only with an error. */
#include <stdlib.h>

#include "../support/mcp_fixture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LINES_MAX 32 /* of one input: a session that remembers */

static mk_mcp_offer offer;
static const mk_tool *tools[64];

static void need(bool truth)
{
    if (!truth)
        abort();
}

/* A fuzzer has no time for tools that wait. */
static void make_offer(void)
{
    static const char *const slow[] = {"test_slow",
                                       "test_silent",
                                       "test_logging_tool",
                                       "test_tool_with_logging",
                                       "test_tool_with_progress",
                                       "test_reconnection"};
    size_t count = 0;
    mcp_fixture_init(&offer);
    for (size_t i = 0; i < mcp_fixture_tool_count; i++) {
        bool waits = false;
        for (size_t k = 0; k < sizeof slow / sizeof *slow; k++)
            waits |= strcmp(mcp_fixture_tools[i]->name, slow[k]) == 0;
        if (!waits)
            tools[count++] = mcp_fixture_tools[i];
    }
    offer.tools = tools;
    offer.tool_count = count;
}

static void need_message(mk_str text)
{
    mk_arena arena;
    mk_json *tree;
    mk_arena_init(&arena, &mk_alloc_default);
    need(memchr(text.p, '\n', text.n) == NULL);
    need(mk_json_parse(&arena, text, NULL, &tree, NULL) == MK_OK);
    need(tree->kind == MK_JSON_OBJECT || tree->kind == MK_JSON_ARRAY);
    mk_arena_free(&arena);
}

static void on_send(mk_stream *self, mk_str message)
{
    (void)self;
    need_message(message);
}

static void take(mk_mcp *server, mk_mcp_session *session, mk_str line)
{
    mk_stream stream = {.send = on_send};
    mk_mcp_message message;
    mk_arena arena;
    mk_buf out;
    int status = 0;
    mk_arena_init(&arena, &mk_alloc_default);
    mk_buf_init(&out, &mk_alloc_default);
    mk_mcp_read(line, &arena, &message);
    need(session == NULL || mk_mcp_begin(session, &message));
    need(mk_mcp_handle(server, session, &message, &stream, &arena, &out, &status, NULL) == MK_OK);
    need(status == 200 || status == 202 || status == 400 || status == 404);
    if (message.kind == MK_MESSAGE_BAD ||
        (message.kind == MK_MESSAGE_REQUEST && !mk_mcp_is_listening(&message)))
        need(out.n > 0); /* the end of a subscription may have been sent already */
    if (message.kind == MK_MESSAGE_NOTIFICATION || message.kind == MK_MESSAGE_RESPONSE)
        need(out.n == 0);
    if (out.n > 0)
        need_message(mk_buf_view(&out));
    mk_buf_free(&out);
    mk_arena_free(&arena);
}

/* The first byte says whether there is a session, and whether it takes requests before the handshake. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const mk_mcp_options options = {.reply_us = 1};
    mk_stream general = {.send = on_send};
    mk_mcp_session *session = NULL;
    mk_mcp *server;
    if (offer.name == NULL)
        make_offer();
    if (size == 0)
        return 0;
    need(mk_mcp_open(&mk_alloc_default, &offer, &options, &server, NULL) == MK_OK);
    mk_mcp_stop_listening(server); /* a subscription ends as soon as it began */
    if (data[0] % 3 != 0)
        need(mk_mcp_session_open(server, &general, data[0] % 3 == 1, MK_STR("public"), &session, NULL) ==
             MK_OK);
    const char *p = (const char *)data + 1, *end = (const char *)data + size;
    for (int lines = 0; p < end && lines < LINES_MAX; lines++) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        if (stop == NULL)
            stop = end;
        take(server, session, (mk_str){p, (size_t)(stop - p)});
        p = stop + 1;
    }
    mk_mcp_session_close(session);
    mk_mcp_close(server);
    return 0;
}

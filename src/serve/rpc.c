/* rpc.c — reading JSON-RPC messages and writing errors. See mcp.h. Layer: serve. */
#include "serve/mcp_internal.h"

/* Depth 64 as the serving spec, 7, wants it; a message has at most 10 MiB anyway. */
static const mk_json_limits message_limits = {.depth = 64, .string_size = 16 << 20, .number_size = 64,
                                              .members = 1 << 20};

#define META_VERSION "io.modelcontextprotocol/protocolVersion"

static void bad(mk_mcp_message *out, int code, const char *why)
{
    out->kind = MK_MESSAGE_BAD;
    out->error = code;
    out->why = why;
}

/* A string or an integer, as JSON text; anything else is no id. */
static bool read_id(const mk_json *id, mk_arena *arena, mk_str *out)
{
    mk_buf text;
    if (id->kind != MK_JSON_STRING && id->kind != MK_JSON_INT)
        return false;
    mk_buf_init(&text, arena->alloc);
    if (id->kind == MK_JSON_STRING)
        mk_canon_string(&text, id->text);
    else if (id->b)
        mk_buf_str(&text, id->text);
    else
        mk_buf_i64(&text, id->i);
    *out = text.failed ? (mk_str){NULL, 0} : mk_arena_copy(arena, mk_buf_view(&text));
    mk_buf_free(&text);
    return out->p != NULL;
}

static void read_claim(mk_mcp_message *out)
{
    out->meta = out->params != NULL ? mk_json_get(out->params, "_meta") : NULL;
    const mk_json *claim = out->meta != NULL ? mk_json_get(out->meta, META_VERSION) : NULL;
    out->claims = claim != NULL;
    if (claim != NULL && claim->kind == MK_JSON_STRING)
        out->claim = claim->text;
}

static void read_object(const mk_json *tree, mk_arena *arena, mk_mcp_message *out)
{
    const mk_json *version = mk_json_get(tree, "jsonrpc"), *id = mk_json_get(tree, "id");
    const mk_json *method = mk_json_get(tree, "method");
    out->params = mk_json_get(tree, "params");
    if (out->params != NULL && out->params->kind == MK_JSON_NULL)
        out->params = NULL;
    read_claim(out); /* first: the era decides how an error looks */
    if (id != NULL && !read_id(id, arena, &out->id)) {
        bad(out, MK_RPC_INVALID, "an id is a string or an integer");
        return;
    }
    if (version == NULL || version->kind != MK_JSON_STRING || !mk_str_eq(version->text, MK_STR("2.0"))) {
        bad(out, MK_RPC_INVALID, "not a JSON-RPC 2.0 message: jsonrpc must be \"2.0\"");
        return;
    }
    if (method == NULL) {
        const bool answers = mk_json_get(tree, "result") != NULL || mk_json_get(tree, "error") != NULL;
        if (answers && id != NULL)
            out->kind = MK_MESSAGE_RESPONSE;
        else
            bad(out, MK_RPC_INVALID, "neither a request nor a response: method is missing");
        return;
    }
    if (method->kind != MK_JSON_STRING) {
        bad(out, MK_RPC_INVALID, "method must be a string");
        return;
    }
    out->method = method->text;
    out->kind = id != NULL ? MK_MESSAGE_REQUEST : MK_MESSAGE_NOTIFICATION;
}

void mk_mcp__read_tree(const mk_json *tree, mk_arena *arena, mk_mcp_message *out)
{
    *out = (mk_mcp_message){.tree = tree};
    if (tree->kind == MK_JSON_ARRAY && tree->n > 0)
        out->kind = MK_MESSAGE_BATCH;
    else if (tree->kind != MK_JSON_OBJECT)
        bad(out, MK_RPC_INVALID, "a message is a JSON object");
    else
        read_object(tree, arena, out);
}

static size_t count_members(const mk_json *value)
{
    size_t count = value->kind == MK_JSON_OBJECT ? value->n : 0;
    for (size_t i = 0; value->kind == MK_JSON_ARRAY && i < value->n; i++)
        count += count_members(&value->items[i]);
    for (size_t i = 0; value->kind == MK_JSON_OBJECT && i < value->n; i++)
        count += count_members(&value->members[i].value);
    return count;
}

/* The tree has one of two members of one name, so there are fewer than the text has keys. */
static bool has_duplicates(mk_str text, const mk_json *tree, const mk_alloc *alloc)
{
    mk_json_reader reader;
    size_t keys = 0;
    mk_code rc;
    mk_json_open(&reader, alloc, text, &message_limits);
    do {
        rc = mk_json_next(&reader, NULL);
        keys += rc == MK_OK && reader.token == MK_TOK_KEY;
    } while (rc == MK_OK && reader.token != MK_TOK_END);
    mk_json_close(&reader);
    return keys != count_members(tree);
}

void mk_mcp_read(mk_str text, mk_arena *arena, mk_mcp_message *out)
{
    mk_json *tree;
    mk_err why;
    *out = (mk_mcp_message){0};
    if (mk_utf8_check(text) != text.n) {
        bad(out, MK_RPC_PARSE, "the message is not UTF-8");
        return;
    }
    if (mk_json_parse(arena, text, &message_limits, &tree, &why) != MK_OK) {
        bad(out, why.code == MK_E_LIMIT ? MK_RPC_INVALID : MK_RPC_PARSE,
            why.code == MK_E_LIMIT ? "the message is nested too deeply or too large"
                                   : "the message is not JSON");
        return;
    }
    if (has_duplicates(text, tree, arena->alloc))
        bad(out, MK_RPC_INVALID, "a member stands twice in one object");
    else
        mk_mcp__read_tree(tree, arena, out);
}

bool mk_mcp_is_slow(const mk_mcp_message *message)
{
    static const char *const slow[] = {"tools/call", "prompts/get", "resources/read", "completion/complete",
                                       "subscriptions/listen"};
    if (message->kind == MK_MESSAGE_BATCH)
        return true;
    if (message->kind != MK_MESSAGE_REQUEST)
        return false;
    for (size_t i = 0; i < sizeof slow / sizeof *slow; i++)
        if (mk_str_eq(message->method, mk_str_of(slow[i])))
            return true;
    return false;
}

bool mk_mcp_is_listening(const mk_mcp_message *message)
{
    return message->kind == MK_MESSAGE_REQUEST && message->claims &&
           mk_str_eq(message->method, MK_STR("subscriptions/listen"));
}

void mk_mcp__error_of(mk_buf *out, const mk_mcp_message *message)
{
    if (message->id.n != 0 || !message->claims) {
        mk_mcp_error(out, message->id, message->error, message->why, NULL);
        return;
    }
    mk_buf_printf(out, "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":%d,\"message\":", message->error);
    mk_canon_string(out, mk_str_of(message->why));
    mk_buf_z(out, "}}");
}

void mk_mcp_error(mk_buf *out, mk_str id, int code, const char *message, const char *data)
{
    mk_buf_z(out, "{\"jsonrpc\":\"2.0\",\"id\":");
    mk_buf_str(out, id.n != 0 ? id : MK_STR("null"));
    mk_buf_printf(out, ",\"error\":{\"code\":%d,\"message\":", code);
    mk_canon_string(out, mk_str_of(message));
    if (data != NULL)
        mk_buf_printf(out, ",\"data\":%s", data);
    mk_buf_z(out, "}}");
}

/* mcp_methods.c — the methods of the protocol. See mcp.h. Layer: serve.
 *
 * One table says which method belongs to which era. Answers of both eras are written by the same functions;
 * the modern one adds what makes each answer stand alone: its type, who answered, how long it may be kept.
 * Source: serving spec, 1.1, 4, 5. */
#include "serve/mcp_internal.h"

#include <stdio.h>

#define NEAR_MAX 5
#define MESSAGE_MAX 600
#define DETAILS_MAX 2000u

/* ---- answers ---- */

static void result_begin(mk_buf *out, const mk_mcp_call *call)
{
    mk_buf_printf(out, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{", (int)call->message->id.n,
                  call->message->id.p);
}

void mk_mcp__server_info(const mk_mcp_call *call, mk_buf *out)
{
    const mk_mcp_offer *offer = call->server->offer;
    mk_buf_printf(out, "{\"name\":\"%s\",\"title\":\"%s\",\"version\":\"%s\"}", offer->name, offer->title,
                  offer->version);
}

/* After members of the result's own; `empty` when there are none. */
static mk_code result_end(mk_buf *out, const mk_mcp_call *call, bool empty, mk_err *err)
{
    if (call->modern) {
        mk_buf_printf(out, "%s\"_meta\":{\"" MK_META("serverInfo") "\":", empty ? "" : ",");
        mk_mcp__server_info(call, out);
        mk_buf_c(out, '}');
    }
    mk_buf_z(out, "}}");
    return mk_buf_done(out, err);
}

static void put_complete(mk_buf *out, const mk_mcp_call *call)
{
    if (call->modern)
        mk_buf_z(out, "\"resultType\":\"complete\",");
}

/* How long a modern answer may be kept, and by whom. */
static void put_cache(mk_buf *out, const mk_mcp_call *call, const char *uri, bool stored)
{
    const mk_mcp_offer *offer = call->server->offer;
    if (!call->modern)
        return;
    const mk_str at = uri != NULL ? mk_str_of(uri) : (mk_str){NULL, 0};
    const int64_t ttl = offer->ttl_ms != NULL ? offer->ttl_ms(offer->ctx, at) : 300000;
    const bool closed = stored || call->server->options.authenticated;
    mk_buf_printf(out, ",\"ttlMs\":%lld,\"cacheScope\":\"%s\"", (long long)ttl,
                  closed ? "private" : "public");
}

static mk_code fail(mk_mcp_call *call, mk_buf *out, int code, const char *message, const char *data,
                    mk_err *err)
{
    mk_mcp_error(out, call->message->id, code, message, data);
    return mk_buf_done(out, err);
}

static const mk_json *param(const mk_mcp_call *call, const char *name)
{
    return call->message->params != NULL && call->message->params->kind == MK_JSON_OBJECT
               ? mk_json_get(call->message->params, name) : NULL;
}

static mk_str text_param(const mk_mcp_call *call, const char *name)
{
    const mk_json *value = param(call, name);
    return value != NULL && value->kind == MK_JSON_STRING ? value->text : (mk_str){NULL, 0};
}

/* ---- the handshake ---- */

/* What the server can do. A modern request says itself which logs it wants, so that logging is no capability
 * there. */
static void put_capabilities(const mk_mcp_call *call, mk_buf *out)
{
    const mk_mcp_offer *offer = call->server->offer;
    mk_buf_printf(out, "\"capabilities\":{\"tools\":{%s}", offer->tools_change ? "\"listChanged\":true" : "");
    if (offer->read != NULL)
        mk_buf_printf(out, ",\"resources\":{\"subscribe\":true%s}",
                      offer->resources_change ? ",\"listChanged\":true" : "");
    if (offer->prompt != NULL)
        mk_buf_printf(out, ",\"prompts\":{%s}", offer->prompts_change ? "\"listChanged\":true" : "");
    if (offer->complete != NULL)
        mk_buf_z(out, ",\"completions\":{}");
    mk_buf_z(out, call->modern ? "}" : ",\"logging\":{}}");
}

static void put_instructions(const mk_mcp_call *call, mk_buf *out)
{
    if (call->server->offer->instructions == NULL)
        return;
    mk_buf_z(out, ",\"instructions\":");
    mk_canon_string(out, mk_str_of(call->server->offer->instructions));
}

static mk_revision negotiate(mk_str asked)
{
    for (int r = MK_REV_2024_11_05; r <= MK_REV_2025_11_25; r++)
        if (mk_str_eq(asked, mk_str_of(mk_mcp__revision_name((mk_revision)r))))
            return (mk_revision)r;
    return MK_REV_2025_11_25;
}

static mk_code initialize(mk_mcp_call *call, mk_buf *out, mk_err *err)
{
    mk_mcp_session *session = call->session;
    const mk_json *capabilities = param(call, "capabilities");
    const mk_revision revision = negotiate(text_param(call, "protocolVersion"));
    static const mk_json none = {.kind = MK_JSON_OBJECT};
    if (session == NULL)
        return fail(call, out, MK_RPC_INVALID, "initialize needs a session", NULL, err);
    if (param(call, "protocolVersion") == NULL)
        return fail(call, out, MK_RPC_PARAMS, "protocolVersion is missing", NULL, err);
    pthread_mutex_lock(&session->mutex);
    session->revision = revision;
    session->level = mk_mcp__level(MK_STR("warning"));
    session->uri_count = 0;
    mk_mcp__capabilities(capabilities != NULL ? capabilities : &none, &session->can_sample,
                         &session->can_elicit, &session->can_roots);
    pthread_mutex_unlock(&session->mutex);
    result_begin(out, call);
    mk_buf_printf(out, "\"protocolVersion\":\"%s\",", mk_mcp__revision_name(revision));
    put_capabilities(call, out);
    mk_buf_z(out, ",\"serverInfo\":");
    mk_mcp__server_info(call, out);
    if (revision >= MK_REV_2025_03_26)
        put_instructions(call, out);
    return result_end(out, call, false, err);
}

static mk_code discover(mk_mcp_call *call, mk_buf *out, mk_err *err)
{
    result_begin(out, call);
    put_complete(out, call);
    mk_buf_z(out, "\"supportedVersions\":[\"" MK_MODERN "\"],");
    put_capabilities(call, out);
    put_cache(out, call, NULL, false);
    put_instructions(call, out);
    return result_end(out, call, false, err);
}

static mk_code ping(mk_mcp_call *call, mk_buf *out, mk_err *err)
{
    result_begin(out, call);
    return result_end(out, call, true, err);
}

/* ---- lists ---- */

/* One page holds everything, so the only cursor there is, is the start. */
static bool bad_cursor(const mk_mcp_call *call)
{
    const mk_json *cursor = param(call, "cursor");
    return cursor != NULL && cursor->kind != MK_JSON_NULL &&
           !(cursor->kind == MK_JSON_STRING && cursor->text.n == 0);
}

static mk_code list_begin(mk_mcp_call *call, mk_buf *out, const char *name)
{
    result_begin(out, call);
    put_complete(out, call);
    mk_buf_printf(out, "\"%s\":[", name);
    return MK_OK;
}

static mk_code list_end(mk_mcp_call *call, mk_buf *out, mk_err *err)
{
    mk_buf_c(out, ']');
    put_cache(out, call, NULL, false);
    return result_end(out, call, false, err);
}

static mk_code list_tools(mk_mcp_call *call, mk_buf *out, mk_err *err)
{
    const mk_mcp_offer *offer = call->server->offer;
    if (bad_cursor(call))
        return fail(call, out, MK_RPC_PARAMS, "there is no such page: the list has one", NULL, err);
    (void)list_begin(call, out, "tools");
    for (size_t i = 0; i < offer->tool_count; i++) {
        if (i > 0)
            mk_buf_c(out, ',');
        offer->tools[i]->entry(offer->tools[i], out);
    }
    return list_end(call, out, err);
}

static mk_code list_others(mk_mcp_call *call, mk_mcp_list list, const char *name, mk_buf *out, mk_err *err)
{
    const mk_mcp_offer *offer = call->server->offer;
    if (bad_cursor(call))
        return fail(call, out, MK_RPC_PARAMS, "there is no such page: the list has one", NULL, err);
    (void)list_begin(call, out, name);
    if (offer->list != NULL)
        offer->list(offer->ctx, list, out);
    return list_end(call, out, err);
}

static mk_code list_resources(mk_mcp_call *call, mk_buf *out, mk_err *err)
{
    return list_others(call, MK_LIST_RESOURCES, "resources", out, err);
}
static mk_code list_templates(mk_mcp_call *call, mk_buf *out, mk_err *err)
{
    return list_others(call, MK_LIST_TEMPLATES, "resourceTemplates", out, err);
}
static mk_code list_prompts(mk_mcp_call *call, mk_buf *out, mk_err *err)
{
    return list_others(call, MK_LIST_PROMPTS, "prompts", out, err);
}

/* ---- several rounds ---- */

/* What a function that may ask ended with, when it is no plain result. True when an answer was written. */
static bool needs_input(mk_mcp_call *call, mk_code rc, const mk_err *why, mk_buf *out, int *status,
                        mk_err *err)
{
    static const char *const capabilities[] = {"sampling", "elicitation", "roots"};
    char data[96];
    if (rc != MK_E_STATE || !call->modern || strcmp(why->reason, "input_required") != 0)
        return false;
    if (call->lacks) {
        snprintf(data, sizeof data, "{\"requiredCapabilities\":{\"%s\":{}}}", capabilities[call->wanted_ask]);
        *status = 400;
        (void)fail(call, out, MK_RPC_CAPABILITY, "the client has to declare what it is asked for", data, err);
        return true;
    }
    result_begin(out, call);
    (void)mk_mcp__input_required(call, out, err);
    (void)result_end(out, call, false, err);
    return true;
}

/* False: the answer is written. */
static bool rounds_ok(mk_mcp_call *call, mk_buf *out, mk_err *err)
{
    if (!call->modern || mk_mcp__read_rounds(call))
        return true;
    (void)fail(call, out, MK_RPC_PARAMS,
               "requestState is not one that was given for this request, or too old", NULL, err);
    return false;
}

/* ---- tools ---- */

static const mk_tool *find_tool(const mk_mcp_offer *offer, mk_str name)
{
    for (size_t i = 0; i < offer->tool_count; i++)
        if (mk_str_eq(mk_str_of(offer->tools[i]->name), name))
            return offer->tools[i];
    return NULL;
}

/* How many pairs of neighbouring letters two names share: near enough for a hint. */
static int likeness(const char *name, mk_str asked)
{
    int shared = 0;
    for (size_t i = 0; i + 1 < asked.n; i++)
        for (const char *p = name; p[0] != '\0' && p[1] != '\0'; p++)
            if (p[0] == asked.p[i] && p[1] == asked.p[i + 1]) {
                shared++;
                break;
            }
    return shared;
}

static mk_code unknown_tool(mk_mcp_call *call, mk_str name, mk_buf *out, mk_err *err)
{
    const mk_mcp_offer *offer = call->server->offer;
    mk_buf message, data;
    mk_code rc;
    bool used[512] = {false};
    const int enough = (int)(name.n / 2);
    mk_buf_init(&message, call->arena->alloc);
    mk_buf_init(&data, call->arena->alloc);
    mk_buf_printf(&message, "Unknown tool '%.*s'.", (int)(name.n > 80 ? 80 : name.n), name.p);
    for (int k = 0; k < NEAR_MAX; k++) {
        size_t best = offer->tool_count;
        for (size_t i = 0; i < offer->tool_count && i < 512; i++)
            if (!used[i] && likeness(offer->tools[i]->name, name) > enough &&
                (best == offer->tool_count ||
                 likeness(offer->tools[i]->name, name) > likeness(offer->tools[best]->name, name)))
                best = i;
        if (best == offer->tool_count)
            break;
        used[best] = true;
        mk_buf_printf(&message, "%s%s", k == 0 ? " Near: " : ", ", offer->tools[best]->name);
    }
    mk_buf_c(&message, '\0');
    mk_buf_z(&data, "{\"tool\":");
    mk_canon_string(&data, (mk_str){name.p, name.n > 200 ? 0 : name.n});
    mk_buf_z(&data, "}");
    mk_buf_c(&data, '\0');
    if (message.failed || data.failed)
        rc = mk_fail_nomem(err);
    else
        rc = fail(call, out, MK_RPC_PARAMS, message.p, data.p, err);
    mk_buf_free(&data);
    mk_buf_free(&message);
    return rc;
}

/* A tool's error is a result that says so; the model reads it and tries again. */
static void put_tool_error(mk_mcp_call *call, const mk_err *why, mk_buf *out)
{
    mk_err shown = *why;
    mk_buf text;
    mk_buf_init(&text, call->arena->alloc);
    if (strlen(shown.message) > MESSAGE_MAX)
        memcpy(shown.message + MESSAGE_MAX - 3, "...", 4);
    mk_err_json(&text, &shown);
    if (text.n > DETAILS_MAX) {
        shown.extra[0] = '\0';
        mk_buf_clear(&text);
        mk_err_json(&text, &shown);
    }
    mk_buf_z(out, "\"content\":[{\"type\":\"text\",\"text\":");
    mk_canon_string(out, mk_buf_view(&text));
    mk_buf_z(out, "}],\"isError\":true");
    if (text.failed)
        out->failed = true;
    mk_buf_free(&text);
}

static mk_code call_tool(mk_mcp_call *call, mk_buf *out, int *status, mk_err *err)
{
    const mk_json *name = param(call, "name"), *arguments = param(call, "arguments");
    mk_err why;
    if (name == NULL || name->kind != MK_JSON_STRING)
        return fail(call, out, MK_RPC_PARAMS, "name must be the name of a tool", NULL, err);
    const mk_tool *tool = find_tool(call->server->offer, name->text);
    if (tool == NULL)
        return unknown_tool(call, name->text, out, err);
    if (!rounds_ok(call, out, err))
        return mk_buf_done(out, err);
    const size_t start = out->n;
    result_begin(out, call);
    put_complete(out, call);
    const size_t before = out->n;
    const mk_code rc = tool->run(tool, call, arguments, out, &why);
    if (rc != MK_OK) {
        out->n = start;
        if (needs_input(call, rc, &why, out, status, err))
            return mk_buf_done(out, err);
        result_begin(out, call);
        put_complete(out, call);
        put_tool_error(call, &why, out);
    } else if (out->n == before) {
        mk_buf_z(out, "\"content\":[]");
    }
    return result_end(out, call, false, err);
}

/* ---- resources, prompts, completion ---- */

static mk_code no_resource(mk_mcp_call *call, mk_str uri, mk_buf *out, mk_err *err)
{
    mk_buf data;
    mk_code rc;
    mk_buf_init(&data, call->arena->alloc);
    mk_buf_z(&data, "{\"uri\":");
    mk_canon_string(&data, (mk_str){uri.p, uri.n > 500 ? 0 : uri.n});
    mk_buf_z(&data, "}");
    mk_buf_c(&data, '\0');
    if (data.failed)
        rc = mk_fail_nomem(err);
    else
        rc = fail(call, out, call->modern ? MK_RPC_PARAMS : MK_RPC_NO_RESOURCE,
                  "Resource not found: read merkhet://dataset/card, or repeat the call that gave the uri",
                  data.p, err);
    mk_buf_free(&data);
    return rc;
}

static mk_code read_resource(mk_mcp_call *call, mk_buf *out, int *status, mk_err *err)
{
    const mk_mcp_offer *offer = call->server->offer;
    const mk_str uri = text_param(call, "uri");
    char at[256];
    mk_err why;
    if (uri.p == NULL)
        return fail(call, out, MK_RPC_PARAMS, "uri must be text", NULL, err);
    if (!rounds_ok(call, out, err))
        return mk_buf_done(out, err);
    const size_t start = out->n;
    result_begin(out, call);
    put_complete(out, call);
    mk_buf_z(out, "\"contents\":[");
    mk_code rc = offer->read != NULL ? offer->read(offer->ctx, call, uri, out, &why)
                                     : mk_fail(&why, MK_E_NOT_FOUND, "no resources");
    if (rc != MK_OK) {
        out->n = start;
        if (needs_input(call, rc, &why, out, status, err))
            return mk_buf_done(out, err);
        if (rc == MK_E_NOT_FOUND)
            return no_resource(call, uri, out, err);
        return fail(call, out, MK_RPC_INTERNAL, why.message, NULL, err);
    }
    mk_buf_c(out, ']');
    snprintf(at, sizeof at, "%.*s", (int)(uri.n > 255 ? 255 : uri.n), uri.p);
    put_cache(out, call, at, true);
    return result_end(out, call, false, err);
}

static mk_code get_prompt(mk_mcp_call *call, mk_buf *out, int *status, mk_err *err)
{
    const mk_mcp_offer *offer = call->server->offer;
    const mk_str name = text_param(call, "name");
    mk_err why;
    if (name.p == NULL)
        return fail(call, out, MK_RPC_PARAMS, "name must be the name of a prompt", NULL, err);
    if (!rounds_ok(call, out, err))
        return mk_buf_done(out, err);
    const size_t start = out->n;
    result_begin(out, call);
    put_complete(out, call);
    mk_code rc = offer->prompt != NULL
                     ? offer->prompt(offer->ctx, call, name, param(call, "arguments"), out, &why)
                     : mk_fail(&why, MK_E_NOT_FOUND, "no prompts");
    if (rc == MK_OK)
        return result_end(out, call, false, err);
    out->n = start;
    if (needs_input(call, rc, &why, out, status, err))
        return mk_buf_done(out, err);
    return fail(call, out, rc == MK_E_NOT_FOUND || rc == MK_E_INVALID_ARG ? MK_RPC_PARAMS : MK_RPC_INTERNAL,
                why.message, NULL, err);
}

static mk_code complete(mk_mcp_call *call, mk_buf *out, mk_err *err)
{
    const mk_mcp_offer *offer = call->server->offer;
    const mk_json *ref = param(call, "ref"), *argument = param(call, "argument");
    const mk_json *name = argument != NULL ? mk_json_get(argument, "name") : NULL;
    const mk_json *value = argument != NULL ? mk_json_get(argument, "value") : NULL;
    size_t shown = 0, total = 0;
    mk_err why;
    if (ref == NULL || ref->kind != MK_JSON_OBJECT || name == NULL || name->kind != MK_JSON_STRING ||
        value == NULL || value->kind != MK_JSON_STRING)
        return fail(call, out, MK_RPC_PARAMS, "ref and argument {name, value} are needed", NULL, err);
    const size_t start = out->n;
    result_begin(out, call);
    put_complete(out, call);
    mk_buf_z(out, "\"completion\":{\"values\":[");
    const mk_code rc =
        offer->complete(offer->ctx, call, ref, name->text, value->text, out, &shown, &total, &why);
    if (rc != MK_OK) {
        out->n = start;
        return fail(call, out, rc == MK_E_NOT_FOUND ? MK_RPC_PARAMS : MK_RPC_INTERNAL, why.message, NULL,
                    err);
    }
    mk_buf_printf(out, "],\"total\":%zu,\"hasMore\":%s}", total, shown < total ? "true" : "false");
    return result_end(out, call, false, err);
}

static mk_code subscribe(mk_mcp_call *call, bool on, mk_buf *out, mk_err *err)
{
    const mk_str uri = text_param(call, "uri");
    if (uri.p == NULL || call->session == NULL)
        return fail(call, out, MK_RPC_PARAMS, "uri must be text", NULL, err);
    if (!mk_mcp__subscribe(call->session, uri, on))
        return fail(call, out, MK_RPC_PARAMS, "at most 8 subscriptions, of uris up to 255 bytes", NULL, err);
    result_begin(out, call);
    return result_end(out, call, true, err);
}

static mk_code set_level(mk_mcp_call *call, mk_buf *out, mk_err *err)
{
    const int level = mk_mcp__level(text_param(call, "level"));
    if (level < 0 || call->session == NULL)
        return fail(call, out, MK_RPC_PARAMS,
                    "level must be one of debug, info, notice, warning, error, critical, alert, emergency",
                    NULL, err);
    pthread_mutex_lock(&call->session->mutex);
    call->session->level = level;
    pthread_mutex_unlock(&call->session->mutex);
    result_begin(out, call);
    return result_end(out, call, true, err);
}

/* ---- which method, in which era ---- */

typedef enum method {
    M_INITIALIZE, M_DISCOVER, M_PING, M_TOOLS, M_CALL, M_RESOURCES, M_TEMPLATES, M_READ, M_PROMPTS, M_PROMPT,
    M_COMPLETE, M_SUBSCRIBE, M_UNSUBSCRIBE, M_LEVEL, M_LISTEN, M_UNKNOWN
} method;

static method method_of(mk_str name, bool modern)
{
    static const struct {
        const char *name;
        bool legacy, modern;
    } table[] = {
        [M_INITIALIZE] = {"initialize", true, false},
        [M_DISCOVER] = {"server/discover", false, true},
        [M_PING] = {"ping", true, false},
        [M_TOOLS] = {"tools/list", true, true},
        [M_CALL] = {"tools/call", true, true},
        [M_RESOURCES] = {"resources/list", true, true},
        [M_TEMPLATES] = {"resources/templates/list", true, true},
        [M_READ] = {"resources/read", true, true},
        [M_PROMPTS] = {"prompts/list", true, true},
        [M_PROMPT] = {"prompts/get", true, true},
        [M_COMPLETE] = {"completion/complete", true, true},
        [M_SUBSCRIBE] = {"resources/subscribe", true, false},
        [M_UNSUBSCRIBE] = {"resources/unsubscribe", true, false},
        [M_LEVEL] = {"logging/setLevel", true, false},
        [M_LISTEN] = {"subscriptions/listen", false, true},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (mk_str_eq(name, mk_str_of(table[i].name)) && (modern ? table[i].modern : table[i].legacy))
            return (method)i;
    return M_UNKNOWN;
}

static mk_code dispatch(mk_mcp_call *call, method m, mk_buf *out, int *status, mk_err *err)
{
    switch (m) {
    case M_INITIALIZE: return initialize(call, out, err);
    case M_DISCOVER: return discover(call, out, err);
    case M_PING: return ping(call, out, err);
    case M_TOOLS: return list_tools(call, out, err);
    case M_CALL: return call_tool(call, out, status, err);
    case M_RESOURCES: return list_resources(call, out, err);
    case M_TEMPLATES: return list_templates(call, out, err);
    case M_READ: return read_resource(call, out, status, err);
    case M_PROMPTS: return list_prompts(call, out, err);
    case M_PROMPT: return get_prompt(call, out, status, err);
    case M_COMPLETE:
        if (call->server->offer->complete != NULL)
            return complete(call, out, err);
        break;
    case M_SUBSCRIBE: return subscribe(call, true, out, err);
    case M_UNSUBSCRIBE: return subscribe(call, false, out, err);
    case M_LEVEL: return set_level(call, out, err);
    case M_LISTEN: return mk_mcp__listen(call, out, status, err);
    case M_UNKNOWN: break;
    }
    *status = 404;
    return fail(call, out, MK_RPC_NO_METHOD, "Method not found", NULL, err);
}

/* What every modern request says of itself. False: the answer is written. */
static bool read_meta(mk_mcp_call *call, mk_buf *out, int *status, mk_err *err)
{
    const mk_json *meta = call->message->meta;
    const mk_json *capabilities = mk_json_get(meta, MK_META("clientCapabilities"));
    const mk_json *level = mk_json_get(meta, MK_META("logLevel"));
    char data[400];
    *status = 400;
    if (call->message->claim.p == NULL) {
        (void)fail(call, out, MK_RPC_PARAMS, "_meta: protocolVersion must be text", NULL, err);
        return false;
    }
    if (!mk_str_eq(call->message->claim, MK_STR(MK_MODERN))) {
        mk_buf quoted;
        mk_buf_init(&quoted, call->arena->alloc);
        mk_canon_string(&quoted, (mk_str){call->message->claim.p,
                                          call->message->claim.n > 40 ? 0 : call->message->claim.n});
        snprintf(data, sizeof data, "{\"supported\":[\"" MK_MODERN "\"],\"requested\":%.*s}",
                 MK_STR_ARG(mk_buf_view(&quoted)));
        mk_buf_free(&quoted);
        (void)fail(call, out, MK_RPC_VERSION, "This protocol version is not served", data, err);
        return false;
    }
    if (capabilities == NULL || capabilities->kind != MK_JSON_OBJECT) {
        (void)fail(call, out, MK_RPC_PARAMS, "_meta: clientCapabilities must be an object", NULL, err);
        return false;
    }
    mk_mcp__capabilities(capabilities, &call->can_sample, &call->can_elicit, &call->can_roots);
    if (level != NULL && level->kind != MK_JSON_NULL) {
        call->level = level->kind == MK_JSON_STRING ? mk_mcp__level(level->text) : -1;
        if (call->level < 0) {
            (void)fail(call, out, MK_RPC_PARAMS, "_meta: logLevel is no level", NULL, err);
            return false;
        }
    }
    *status = 200;
    return true;
}

mk_code mk_mcp__request(mk_mcp_call *call, mk_buf *out, int *status, mk_err *err)
{
    const mk_mcp_message *message = call->message;
    const method m = method_of(message->method, call->modern);
    if (message->params != NULL && message->params->kind != MK_JSON_OBJECT) {
        if (call->modern)
            *status = 400;
        return fail(call, out, MK_RPC_PARAMS, "params must be an object", NULL, err);
    }
    if (call->modern) {
        if (!read_meta(call, out, status, err))
            return mk_buf_done(out, err);
    } else if (m != M_INITIALIZE && (call->session == NULL ||
                                     (call->session->revision == MK_REV_NONE && !call->session->assumed))) {
        *status = 400;
        return fail(call, out, MK_RPC_INVALID, "begin with initialize, or describe the request in _meta",
                    NULL, err);
    }
    return dispatch(call, m, out, status, err);
}

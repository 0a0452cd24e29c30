/* http_mcp.c — the endpoint of the protocol: sessions, streams, and requests that stand alone.
 * Layer: serve.
 *
 * An answer is plain JSON until the call says something on its way; then it becomes a stream of events that
 * ends with the answer. Source: serving spec, 1.1, 4, 5, 8. */
#include "serve/http_session.h"

#include <stdio.h>
#include <stdlib.h>

#define EVENTS "text/event-stream"
#define JSON "application/json"
#define MODERN "2026-07-28"
#define LISTENERS_MAX 64u

enum { RPC_INVALID = -32600, RPC_PARAMS = -32602, RPC_HEADER = -32020, RPC_INTERNAL = -32603 };

/* One message that was posted. Lives in the exchange's arena. */
typedef struct posting {
    mk_stream stream; /* first */
    mk_exchange *x;
    mk_http_session *session; /* NULL: it stands alone */
    mk_mcp_session *mcp;
    bool own;                 /* `mcp` was opened for this message only */
    mk_mcp_message message;
    mk_channel *channel;
    bool may_stream;
    pthread_mutex_t mutex; /* of these two */
    bool streaming, over;
    pthread_mutex_t life;  /* of `closed`: the session is there while it is false */
    bool closed;
} posting;

/* ---- errors of the protocol ---- */

static void rpc_error(mk_exchange *x, unsigned status, const mk_mcp_message *m, int code, const char *why)
{
    const bool named = m != NULL && m->kind == MK_MESSAGE_REQUEST;
    mk_buf_clear(&x->out);
    mk_mcp_error(&x->out, named ? m->id : (mk_str){NULL, 0}, code, why, NULL);
    mk_http__cors(x);
    mk_http__send(x, status, JSON);
}

/* ---- headers of the modern era ---- */


static int base64_of(char c)
{
    return c >= 'A' && c <= 'Z'   ? c - 'A'
           : c >= 'a' && c <= 'z' ? c - 'a' + 26
           : c >= '0' && c <= '9' ? c - '0' + 52
           : c == '+'             ? 62
           : c == '/'             ? 63
                                  : -1;
}

bool mk_http_header_value(const char *text, mk_arena *arena, mk_str *out)
{
    mk_str s = mk_str_of(text);
    while (s.n > 0 && (s.p[0] == ' ' || s.p[0] == '\t'))
        s = (mk_str){s.p + 1, s.n - 1};
    while (s.n > 0 && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
        s.n--;
    *out = s;
    if (s.n < 11 || memcmp(s.p, "=?base64?", 9) != 0 || memcmp(s.p + s.n - 2, "?=", 2) != 0)
        return true;
    const mk_str code = {s.p + 9, s.n - 11};
    size_t padding = 0;
    while (padding < 2 && padding < code.n && code.p[code.n - 1 - padding] == '=')
        padding++;
    char *to = mk_arena_get(arena, code.n + 1);
    if (to == NULL || code.n % 4 != 0)
        return false;
    size_t n = 0;
    for (size_t i = 0; i < code.n; i += 4) {
        uint32_t bits = 0;
        const size_t missing = i + 4 == code.n ? padding : 0;
        for (size_t k = 0; k < 4; k++) {
            const int v = k < 4 - missing ? base64_of(code.p[i + k]) : 0;
            if (v < 0)
                return false;
            bits = bits << 6 | (uint32_t)v;
        }
        if ((missing == 1 && (bits & 0xFF) != 0) || (missing == 2 && (bits & 0xFFFF) != 0))
            return false; /* two texts would mean the same */
        for (size_t k = 0; k < 3 - missing; k++)
            to[n++] = (char)(bits >> (16 - 8 * k));
    }
    *out = (mk_str){to, n};
    return mk_utf8_check(*out) == n;
}

static bool header_is(mk_exchange *x, const char *name, mk_str wanted)
{
    const char *given = mk_http__header_of(x, name);
    mk_str value;
    return given != NULL && mk_http__header_times(x, name) == 1 &&
           mk_http_header_value(given, &x->arena, &value) && mk_str_eq(value, wanted);
}

static mk_str text_param(const mk_mcp_message *m, const char *name)
{
    const mk_json *value =
        m->params != NULL && m->params->kind == MK_JSON_OBJECT ? mk_json_get(m->params, name) : NULL;
    return value != NULL && value->kind == MK_JSON_STRING ? value->text : (mk_str){NULL, 0};
}

static const mk_tool *find_tool(const mk_http *http, mk_str name)
{
    const mk_mcp_offer *offer = mk_mcp_offer_of(http->options.mcp);
    for (size_t i = 0; i < offer->tool_count; i++)
        if (mk_str_eq(mk_str_of(offer->tools[i]->name), name))
            return offer->tools[i];
    return NULL;
}

/* Whether a message calls a tool that writes. */
static bool calls_writer(const mk_http *http, const mk_mcp_message *m)
{
    const mk_tool *tool =
        mk_str_eq(m->method, MK_STR("tools/call")) ? find_tool(http, text_param(m, "name")) : NULL;
    return tool != NULL && tool->writes;
}

/* The same of each message of a batch. */
static bool batch_calls_writer(mk_exchange *x, const mk_mcp_message *m)
{
    for (size_t i = 0; i < m->tree->n; i++) {
        const mk_json *entry = &m->tree->items[i];
        const mk_json *method = entry->kind == MK_JSON_OBJECT ? mk_json_get(entry, "method") : NULL;
        const mk_mcp_message one = {
            .method = method != NULL && method->kind == MK_JSON_STRING ? method->text : (mk_str){NULL, 0},
            .params = method != NULL ? mk_json_get(entry, "params") : NULL};
        if (calls_writer(x->http, &one))
            return true;
    }
    return false;
}

/* Too little scope is refused before anything runs. False: the answer stands. Source: serving spec, 9. */
static bool scope_ok(mk_exchange *x, const mk_mcp_message *m)
{
    if ((x->scopes & MK_SCOPE_WRITE) != 0 ||
        !(m->kind == MK_MESSAGE_BATCH ? batch_calls_writer(x, m) : calls_writer(x->http, m)))
        return true;
    mk_http__needs_write(x);
    return false;
}

/* A scalar as the text that a header has for it. */
static mk_str scalar_text(const mk_json *value, mk_arena *arena)
{
    mk_buf text;
    mk_str copy = {NULL, 0};
    if (value->kind == MK_JSON_STRING)
        return value->text;
    mk_buf_init(&text, arena->alloc);
    if (mk_canon_tree(&text, arena, value, NULL) == MK_OK)
        copy = mk_arena_copy(arena, mk_buf_view(&text));
    mk_buf_free(&text);
    return copy;
}

/* Arguments that the tool marks with x-mcp-header stand in a header as well, both or neither. */
static bool marked_ok(mk_exchange *x, const mk_mcp_message *m)
{
    const mk_tool *tool =
        mk_str_eq(m->method, MK_STR("tools/call")) ? find_tool(x->http, text_param(m, "name")) : NULL;
    const mk_json *arguments = tool != NULL && m->params != NULL ? mk_json_get(m->params, "arguments") : NULL;
    mk_json *entry;
    mk_buf text;
    bool ok = true;
    if (tool == NULL)
        return true;
    mk_buf_init(&text, x->http->alloc);
    tool->entry(tool, &text);
    mk_buf_c(&text, '\0');
    if (!text.failed && strstr(text.p, "x-mcp-header") != NULL &&
        mk_json_parse(&x->arena, (mk_str){text.p, text.n - 1}, NULL, &entry, NULL) == MK_OK) {
        const mk_json *schema = mk_json_get(entry, "inputSchema"),
                      *properties = schema != NULL ? mk_json_get(schema, "properties") : NULL;
        for (size_t i = 0; properties != NULL && i < properties->n && ok; i++) {
            const mk_json *name = mk_json_get(&properties->members[i].value, "x-mcp-header");
            char header[120];
            if (name == NULL || name->kind != MK_JSON_STRING)
                continue;
            snprintf(header, sizeof header, "Mcp-Param-%.*s", (int)(name->text.n > 80 ? 80 : name->text.n),
                     name->text.p);
            const mk_json *value = arguments != NULL && arguments->kind == MK_JSON_OBJECT
                                       ? mk_json_get_n(arguments, properties->members[i].key)
                                       : NULL;
            const bool given = value != NULL && value->kind != MK_JSON_NULL;
            ok = given ? header_is(x, header, scalar_text(value, &x->arena))
                       : mk_http__header_of(x, header) == NULL;
        }
    }
    mk_buf_free(&text);
    return ok;
}

/* What the head says must be what the body says, so that whoever routes by the head is not deceived. The
 * method's header belongs to requests: the official client sends notifications without one. */
static bool modern_headers_ok(mk_exchange *x, const mk_mcp_message *m)
{
    const bool by_name =
        mk_str_eq(m->method, MK_STR("tools/call")) || mk_str_eq(m->method, MK_STR("prompts/get"));
    const bool by_uri = mk_str_eq(m->method, MK_STR("resources/read"));
    const mk_str name = text_param(m, by_uri ? "uri" : "name");
    const char *wrong = NULL;
    if (!header_is(x, "MCP-Protocol-Version", m->claim))
        wrong = "the header MCP-Protocol-Version must equal the version in _meta";
    else if ((m->kind == MK_MESSAGE_REQUEST || mk_http__header_of(x, "Mcp-Method") != NULL) &&
             !header_is(x, "Mcp-Method", m->method))
        wrong = "the header Mcp-Method must equal the method";
    else if ((by_name || by_uri) && name.p != NULL && !header_is(x, "Mcp-Name", name))
        wrong = by_uri ? "the header Mcp-Name must equal the uri" : "the header Mcp-Name must equal the name";
    else if (!marked_ok(x, m))
        wrong = "a header Mcp-Param-... must equal the argument that it stands for, and be there when it is";
    if (wrong == NULL)
        return true;
    rpc_error(x, 400, m, RPC_HEADER, wrong);
    return false;
}

/* ---- streams ---- */

static void put_session_header(posting *p)
{
    if (p->session != NULL)
        mk_http__header(p->x, "Mcp-Session-Id", "%s", p->session->id);
}

/* Under the posting's mutex: the answer becomes a stream. False: there is no memory for one. */
static bool start_stream(posting *p)
{
    mk_exchange *x = p->x;
    mk_err err;
    if (p->streaming)
        return true;
    if (!p->may_stream || mk_channel_open(x->http, p->session, &p->channel, &err) != MK_OK)
        return false;
    x->stream = mk_sse_open(x->http);
    if (x->stream == NULL)
        return false;
    mk_channel_attach(p->channel, x->stream, 0);
    p->streaming = true;
    put_session_header(p);
    mk_http__cors(x);
    mk_http__send(x, 200, EVENTS);
    return true;
}

static void posting_send(mk_stream *self, mk_str message)
{
    posting *p = (posting *)self;
    pthread_mutex_lock(&p->mutex);
    if (!p->over && start_stream(p))
        mk_channel_send(p->channel, message);
    pthread_mutex_unlock(&p->mutex);
}

static void posting_let_go(mk_stream *self)
{
    posting *p = (posting *)self;
    pthread_mutex_lock(&p->mutex);
    if (!p->over && p->session != NULL && start_stream(p))
        mk_channel_let_go(p->channel);
    pthread_mutex_unlock(&p->mutex);
}

/* ---- a message, handled ---- */

static void count_message(posting *p, mk_str answer)
{
    const bool failed =
        answer.n > 30 && memmem(answer.p, answer.n < 120 ? answer.n : 120, "\"error\":{\"code\"", 15) != NULL;
    mk_metrics_mcp(&p->x->http->metrics, p->message.method, p->message.claims, !failed);
}

static void finish(posting *p, mk_buf *out, int status)
{
    mk_exchange *x = p->x;
    pthread_mutex_lock(&p->mutex);
    p->over = true;
    if (p->streaming) {
        if (out->n != 0 && !out->failed)
            mk_channel_send(p->channel, mk_buf_view(out));
        mk_channel_end(p->channel);
    } else {
        mk_buf_clear(&x->out);
        mk_buf_str(&x->out, mk_buf_view(out));
        put_session_header(p);
        mk_http__cors(x);
        /* to a client with a session, 404 says that the session is gone */
        const int said = p->session != NULL && status == 404 ? 200 : status;
        mk_http__send(x, out->n != 0 ? (unsigned)said : 202, out->n != 0 ? JSON : NULL);
    }
    pthread_mutex_unlock(&p->mutex);
}

static void close_posting(posting *p)
{
    pthread_mutex_lock(&p->life);
    p->closed = true;
    pthread_mutex_unlock(&p->life);
    if (p->own)
        mk_mcp_session_close(p->mcp);
    if (p->session != NULL)
        mk_http__session_release(p->session);
    if (p->channel != NULL)
        mk_channel_release(p->channel);
}

static void cancel_request(posting *p)
{
    mk_exchange *x = p->x;
    mk_arena arena;
    mk_buf text, out;
    mk_mcp_message cancel;
    mk_err err;
    int status;
    mk_arena_init(&arena, x->http->alloc);
    mk_buf_init(&text, x->http->alloc);
    mk_buf_init(&out, x->http->alloc);
    mk_buf_printf(
        &text, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":%.*s}}",
        MK_STR_ARG(p->message.id));
    if (!text.failed) {
        mk_mcp_read(mk_buf_view(&text), &arena, &cancel);
        if (mk_mcp_handle(x->http->options.mcp, p->mcp, &cancel, &p->stream, &arena, &out, &status, &err) !=
            MK_OK)
            atomic_store(&x->cancelled, true);
    }
    mk_buf_free(&out);
    mk_buf_free(&text);
    mk_arena_free(&arena);
}

/* The client went away: what stands alone is cancelled, and what it could come back for is not. */
static void posting_gone(mk_exchange *x)
{
    posting *p = x->ctx;
    pthread_mutex_lock(&p->mutex);
    const bool comes_back = p->streaming && p->session != NULL;
    pthread_mutex_unlock(&p->mutex);
    pthread_mutex_lock(&p->life);
    if (!p->closed && !comes_back) {
        if (p->own)
            mk_mcp_session_cancel(p->mcp);
        else
            cancel_request(p);
    }
    pthread_mutex_unlock(&p->life);
}

static void handle(mk_exchange *x)
{
    posting *p = x->ctx;
    mk_buf out;
    mk_err err;
    int status = 200;
    mk_buf_init(&out, x->http->alloc);
    if (mk_mcp_handle(x->http->options.mcp, p->mcp, &p->message, &p->stream, &x->arena, &out, &status,
                      &err) != MK_OK) {
        mk_buf_clear(&out);
        status = 500;
        mk_mcp_error(&out, p->message.id, RPC_INTERNAL, "out of memory", NULL);
    }
    count_message(p, mk_buf_view(&out));
    finish(p, &out, status);
    mk_buf_free(&out);
    close_posting(p);
}

/* ---- subscriptions: each has a thread, since it would keep a worker from all others ---- */

static void *listen_on(void *arg)
{
    mk_exchange *x = arg;
    mk_http *http = x->http;
    handle(x);
    if (!atomic_load(&x->answered))
        mk_http__answered(x);
    mk_http__release(x);
    pthread_mutex_lock(&http->mutex);
    http->listeners--;
    pthread_cond_broadcast(&http->idle);
    pthread_mutex_unlock(&http->mutex);
    return NULL;
}

static bool start_listening(mk_exchange *x)
{
    mk_http *http = x->http;
    pthread_t thread;
    pthread_mutex_lock(&http->mutex);
    const bool room = http->listeners < LISTENERS_MAX && !http->stopping;
    if (room) {
        http->listeners++;
        x->suspended = true;
        MHD_suspend_connection(x->connection);
    }
    pthread_mutex_unlock(&http->mutex);
    if (!room)
        return false;
    if (pthread_create(&thread, NULL, listen_on, mk_http__hold(x)) == 0) {
        pthread_detach(thread);
        return true;
    }
    mk_http__release(x);
    pthread_mutex_lock(&http->mutex);
    http->listeners--;
    x->suspended = false;
    MHD_resume_connection(x->connection);
    pthread_mutex_unlock(&http->mutex);
    return false;
}

/* ---- POST ---- */

static mk_code open_own(posting *p, bool assumed, mk_err *err)
{
    const mk_code rc =
        mk_mcp_session_open(p->x->http->options.mcp, NULL, assumed, p->x->principal, &p->mcp, err);
    p->own = rc == MK_OK;
    if (p->own && p->x->user_only)
        mk_mcp_session_set_user_only(p->mcp);
    return rc;
}

/* The session that a message without a claim belongs to. False: the answer stands. */
static bool find_session(posting *p)
{
    mk_exchange *x = p->x;
    const char *id = mk_http__header_of(x, "Mcp-Session-Id"),
               *version = mk_http__header_of(x, "MCP-Protocol-Version");
    const bool begins =
        p->message.kind == MK_MESSAGE_REQUEST && mk_str_eq(p->message.method, MK_STR("initialize"));
    mk_err err;
    if (version != NULL && strcmp(version, MODERN) == 0) {
        rpc_error(x, 400, &p->message, RPC_PARAMS,
                  "a request of this revision describes itself in params._meta");
        return false;
    }
    if (version != NULL && !begins && !mk_mcp_is_revision(version)) {
        rpc_error(x, 400, &p->message, RPC_INVALID, "this MCP-Protocol-Version is not served");
        return false;
    }
    if (x->http->options.stateless) {
        if (open_own(p, true, &err) == MK_OK)
            return true;
        rpc_error(x, 500, &p->message, RPC_INTERNAL, "out of memory");
        return false;
    }
    if (begins) {
        if (mk_http__session_open(x->http, x->principal, x->user_only, &p->session, &err) == MK_OK) {
            p->mcp = p->session->mcp;
            return true;
        }
        rpc_error(x, 503, &p->message, RPC_INTERNAL, err.message);
        return false;
    }
    if (id == NULL) {
        rpc_error(
            x, 400, &p->message, RPC_INVALID,
            "Mcp-Session-Id is missing: begin with initialize, or describe the request in params._meta");
        return false;
    }
    p->session = mk_http__session_find(x->http, id, x->principal, x->user_only);
    if (p->session == NULL) {
        rpc_error(x, 404, &p->message, RPC_INVALID,
                  "there is no such session, or it has ended: begin again with initialize");
        return false;
    }
    p->mcp = p->session->mcp;
    return true;
}

static bool find_place(posting *p)
{
    mk_err err;
    if (!p->message.claims)
        return find_session(p);
    if (!modern_headers_ok(p->x, &p->message))
        return false;
    if (open_own(p, true, &err) == MK_OK)
        return true;
    rpc_error(p->x, 500, &p->message, RPC_INTERNAL, "out of memory");
    return false;
}

static void post(mk_exchange *x)
{
    posting *p = mk_arena_get0(&x->arena, sizeof *p);
    if (p == NULL) {
        mk_http__refuse(x, 500, MK_E_NOMEM, "out of memory");
        return;
    }
    p->stream = (mk_stream){.send = posting_send, .let_go = posting_let_go};
    p->x = x;
    p->may_stream = mk_http__accepts_events(x, true);
    p->stream.mute = !p->may_stream;
    pthread_mutex_init(&p->mutex, NULL);
    pthread_mutex_init(&p->life, NULL);
    mk_mcp_read(mk_buf_view(&x->body), &x->arena, &p->message);
    x->ctx = p;
    if (!scope_ok(x, &p->message)) {
        close_posting(p);
        return;
    }
    if (p->message.kind == MK_MESSAGE_BAD && !p->message.claims &&
        mk_http__header_of(x, "Mcp-Session-Id") == NULL) {
        handle(x); /* what is no message needs no session to be told so */
        return;
    }
    if (!find_place(p)) {
        close_posting(p);
        return;
    }
    if (!mk_mcp_begin(p->mcp, &p->message)) {
        rpc_error(x, 400, &p->message, RPC_INVALID, "a request of this id runs already");
        close_posting(p);
        return;
    }
    if (!mk_mcp_is_slow(&p->message)) {
        handle(x);
        return;
    }
    x->on_gone = posting_gone;
    if (!mk_mcp_is_listening(&p->message)) {
        if (!mk_http__hand_over(x, handle)) {
            mk_mcp_forget(p->mcp, &p->message);
            close_posting(p);
        }
    } else if (!start_listening(x)) {
        mk_mcp_forget(p->mcp, &p->message);
        rpc_error(x, 503, &p->message, RPC_INTERNAL, "too many subscriptions");
        close_posting(p);
    }
}

/* ---- GET: what belongs to no request; or the rest of a stream that broke ---- */

static void listening_gone(mk_exchange *x)
{
    mk_http_session *session = x->ctx;
    mk_http__session_release(session);
}

static void resume_or_listen(mk_exchange *x, mk_http_session *session)
{
    const char *last = mk_http__header_of(x, "Last-Event-ID");
    mk_channel *channel = NULL;
    uint64_t since = 0;
    mk_err err;
    if (last != NULL) {
        char *end;
        const uint64_t number = strtoull(last, &end, 10);
        if (*end == '-') {
            since = strtoull(end + 1, NULL, 10);
            channel = mk_http__session_channel(session, number);
        }
        if (channel == NULL) {
            mk_http__session_release(session);
            mk_http__refuse(x, 404, MK_E_NOT_FOUND, "there is no such event to go on from");
            return;
        }
    } else if (mk_channel_open(x->http, session, &channel, &err) != MK_OK) {
        mk_http__session_release(session);
        mk_http__refuse(x, 500, MK_E_NOMEM, "out of memory");
        return;
    }
    x->stream = mk_sse_open(x->http);
    if (x->stream == NULL) {
        mk_channel_release(channel);
        mk_http__session_release(session);
        mk_http__refuse(x, 500, MK_E_NOMEM, "out of memory");
        return;
    }
    mk_channel_attach(channel, x->stream, since);
    if (last == NULL)
        mk_http__session_flush(session, channel);
    mk_channel_release(channel);
    x->ctx = session;
    x->on_gone = listening_gone;
    mk_http__header(x, "Mcp-Session-Id", "%s", session->id);
    mk_http__cors(x);
    mk_http__send(x, 200, EVENTS);
}

static void not_here(mk_exchange *x)
{
    mk_http__header(x, "Allow", "POST, OPTIONS");
    mk_http__refuse(x, 405, MK_E_INVALID_ARG, "only POST is served here");
}

/* The session that the head names. NULL: the answer stands. */
static mk_http_session *named_session(mk_exchange *x)
{
    const char *id = mk_http__header_of(x, "Mcp-Session-Id");
    mk_http_session *session =
        id != NULL ? mk_http__session_find(x->http, id, x->principal, x->user_only) : NULL;
    if (session != NULL)
        return session;
    if (id == NULL)
        mk_http__refuse(x, 400, MK_E_INVALID_ARG, "Mcp-Session-Id is missing");
    else
        mk_http__refuse(x, 404, MK_E_NOT_FOUND, "there is no such session, or it has ended");
    return NULL;
}

void mk_http__mcp(mk_exchange *x)
{
    const char *version = mk_http__header_of(x, "MCP-Protocol-Version");
    mk_http_session *session;
    if (x->method == MK_POST) {
        post(x);
        return;
    }
    if (x->http->options.stateless || (version != NULL && strcmp(version, MODERN) == 0)) {
        not_here(x);
        return;
    }
    session = named_session(x);
    if (session == NULL)
        return;
    if (x->method == MK_DELETE) {
        mk_http__session_end(session);
        mk_http__session_release(session);
        mk_http__cors(x);
        mk_http__send(x, 200, NULL);
        return;
    }
    if (x->head || !mk_http__accepts_events(x, false)) {
        mk_http__session_release(session);
        mk_http__refuse(x, 406, MK_E_INVALID_ARG, "Accept must admit text/event-stream");
        return;
    }
    resume_or_listen(x, session);
}

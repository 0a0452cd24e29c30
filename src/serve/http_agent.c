/* http_agent.c — questions, plans, answers and traces over HTTP. See http_internal.h. Layer: serve.
 *
 * A client that accepts a stream of events is told what is done meanwhile; its last event is "result" or
 * "error". Source: serving spec, 13; agent spec, 15.4. */
#include "serve/http_internal.h"

#include <stdio.h>

#include "serve/agent_api.h"
#include "serve/writing.h"

#define JSON "application/json"

typedef mk_code agent_fn(mk_service *service, const mk_caller *caller, const mk_json *arguments, mk_buf *out,
                         mk_err *err);

static mk_caller caller_of(mk_exchange *x)
{
    return (mk_caller){.arena = &x->arena,
                       .principal = x->principal,
                       .user_only = x->user_only,
                       .cancelled = &x->cancelled,
                       .result_bytes = SIZE_MAX,
                       .ctx = x};
}

static void on_progress(void *ctx, const char *what)
{
    mk_exchange *x = ctx;
    char data[80];
    const int n = snprintf(data, sizeof data, "{\"what\":\"%s\"}", what);
    mk_sse_event(x->stream, NULL, "progress", (mk_str){data, (size_t)n});
}

/* True: the answer is a stream from here on. */
static bool start_events(mk_exchange *x)
{
    const char *accept = mk_http__header_of(x, "Accept");
    if (accept == NULL ||
        strcasestr(accept, "text/event-stream") == NULL) /* asked for by name, not by a wildcard */
        return false;
    x->stream = mk_sse_open(x->http);
    if (x->stream == NULL)
        return false;
    mk_http__cors(x);
    mk_http__send(x, 200, "text/event-stream");
    return true;
}

static void send_result(mk_exchange *x, mk_code rc, const mk_err *why, mk_buf *out, bool streams)
{
    if (!streams) {
        if (rc != MK_OK) {
            mk_http__problem(x, mk_http__status_of(rc), why);
            return;
        }
        mk_buf_str(&x->out, mk_buf_view(out));
        mk_http__cors(x);
        mk_http__send(x, 200, JSON);
        return;
    }
    if (rc != MK_OK) {
        mk_buf_clear(out);
        mk_err_json(out, why);
    }
    if (!out->failed)
        mk_sse_event(x->stream, NULL, rc == MK_OK ? "result" : "error", mk_buf_view(out));
    mk_sse_end(x->stream);
}

/* On a worker. */
static void run(mk_exchange *x, agent_fn *fn, bool may_stream)
{
    mk_caller caller = caller_of(x);
    mk_err err;
    mk_buf out;
    const mk_json *body = mk_http__body(x);
    if (body == NULL)
        return;
    const bool streams = may_stream && start_events(x);
    if (streams)
        caller.progress = on_progress;
    mk_buf_init(&out, x->http->alloc);
    const mk_code rc = fn(x->http->options.service, &caller, body, &out, &err);
    send_result(x, rc, &err, &out, streams);
    mk_buf_free(&out);
}

void mk_http__ask(mk_exchange *x) { run(x, mk_agent_ask, true); }
void mk_http__explain(mk_exchange *x) { run(x, mk_agent_explain_diff, true); }
void mk_http__plan_check(mk_exchange *x) { run(x, mk_agent_plan_check, false); }
void mk_http__plan_run(mk_exchange *x) { run(x, mk_agent_plan_run, true); }
void mk_http__verify(mk_exchange *x) { run(x, mk_agent_verify, false); }

static void send_result_now(mk_exchange *x, mk_code rc, const mk_err *why)
{
    if (rc != MK_OK) {
        mk_http__problem(x, mk_http__status_of(rc), why);
        return;
    }
    mk_http__cors(x);
    mk_http__send(x, 200, JSON);
}

/* ---- writing ---- */

/* {"ops":[...]}; a header Idempotency-Key, or "request_id", makes a repeat harmless. */
void mk_http__write(mk_exchange *x)
{
    const mk_caller caller = caller_of(x);
    const char *key = mk_http__header_of(x, "Idempotency-Key");
    mk_err err;
    const mk_json *body = (x->scopes & MK_SCOPE_WRITE) != 0 ? mk_http__body(x) : NULL;
    if ((x->scopes & MK_SCOPE_WRITE) == 0)
        mk_http__needs_write(x);
    if (body == NULL)
        return;
    const mk_json *id = body->kind == MK_JSON_OBJECT ? mk_json_get(body, "request_id") : NULL;
    const mk_writing how = {.request_id = key != NULL                                ? mk_str_of(key)
                                          : id != NULL && id->kind == MK_JSON_STRING ? id->text
                                                                                     : (mk_str){NULL, 0},
                            .reference = mk_str_of(x->request_id)};
    const mk_code rc =
        mk_serve_write(x->http->options.service, &caller,
                       body->kind == MK_JSON_OBJECT ? mk_json_get(body, "ops") : body, &how, &x->out, &err);
    send_result_now(x, rc, &err);
}

/* ---- reading ---- */

void mk_http__info(mk_exchange *x)
{
    const mk_caller caller = caller_of(x);
    mk_err err;
    const mk_code rc =
        mk_agent_info(x->http->options.service, &caller, x->http->options.version, &x->out, &err);
    send_result_now(x, rc, &err);
}

void mk_http__traces(mk_exchange *x)
{
    const mk_caller caller = caller_of(x);
    mk_err err;
    const mk_code rc = mk_agent_traces(x->http->options.service, &caller, &x->out, &err);
    send_result_now(x, rc, &err);
}

void mk_http__trace(mk_exchange *x)
{
    const mk_caller caller = caller_of(x);
    mk_err err;
    const mk_code rc = mk_agent_trace(x->http->options.service, &caller, x->tail, &x->out, &err);
    if (rc == MK_OK && mk_http__has_query(x, "download"))
        mk_http__header(x, "Content-Disposition", "attachment; filename=\"merkhet-%.16s.json\"", x->tail.p);
    send_result_now(x, rc, &err);
}

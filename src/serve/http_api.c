/* http_api.c — the JSON API: operators, results, commits, and how the server is. See http_internal.h.
 * Layer: serve.
 *
 * The default form is canonical, with exact 64-bit integers; ?form=wire is what clients whose integers end at
 * 2^53 read. Source: serving spec, 13; agent spec, 15.4. */
#include "serve/http_internal.h"

#include <stdio.h>

#include "op/call.h"
#include "op/schema.h"
#include "serve/tool.h"

#define JSON "application/json"
#define EVENTS "text/event-stream"
#define CALL_US INT64_C(50000000)
#define QUICK_MS 1 /* an estimate below which a call is not worth another thread */

/* ---- health ---- */

void mk_http__health(mk_exchange *x) { mk_http__send_text(x, 200, "ok\n"); }

void mk_http__ready(mk_exchange *x)
{
    mk_store *store;
    mk_err err;
    if (x->http->options.service == NULL || mk_service_store(x->http->options.service, &store, &err) == MK_OK)
        mk_http__send_text(x, 200, "ok\n");
    else
        mk_http__problem(x, 503, &err);
}

void mk_http__metrics(mk_exchange *x)
{
    mk_http *http = x->http;
    const char *paths[MK_METRIC_ROUTES];
    mk_metrics_facts facts = {.version = http->options.version, .routes = paths};
    mk_disk_stats disk;
    mk_view_stats stats;
    mk_store *store;
    mk_view *view;
    mk_err err;
    for (; facts.route_count < mk_http_route_count && facts.route_count < MK_METRIC_ROUTES;
         facts.route_count++)
        paths[facts.route_count] = mk_http_routes[facts.route_count].path;
    if (http->options.service != NULL && mk_service_store(http->options.service, &store, &err) == MK_OK &&
        mk_view_at(store, (mk_tt){MK_OPEN_END}, mk_service_mask(http->options.service, x->user_only), &view,
                   &err) == MK_OK) {
        mk_view_get_stats(view, &stats);
        mk_view_close(view);
        facts.has_store = true;
        facts.last_tt = mk_store_last_tt(store).us;
        facts.versions = (int64_t)(stats.node_versions + stats.edge_versions);
        if (mk_store_disk_stats(store, &disk, &err) == MK_OK)
            facts.log_bytes = (int64_t)disk.log_bytes;
    }
    mk_metrics_text(&http->metrics, &facts, &x->out);
    mk_http__send(x, 200, "text/plain; version=0.0.4; charset=utf-8");
}

/* ---- the registry ---- */

static void put_member(mk_buf *out, const char *name, const char *text)
{
    mk_buf_printf(out, "\"%s\":", name);
    if (text == NULL)
        mk_buf_z(out, "null");
    else
        mk_canon_string(out, mk_str_of(text));
    mk_buf_c(out, ',');
}

void mk_http__ops(mk_exchange *x)
{
    size_t count;
    const mk_operator *const *ops = mk_operators(&count);
    mk_err err;
    mk_buf_z(&x->out, "{\"operators\":[");
    for (size_t i = 0; i < count; i++) {
        mk_buf_z(&x->out, i ? ",{" : "{");
        put_member(&x->out, "name", ops[i]->name);
        put_member(&x->out, "group", ops[i]->group);
        put_member(&x->out, "summary", ops[i]->summary);
        put_member(&x->out, "help", ops[i]->help);
        mk_buf_printf(&x->out,
                      "\"example\":%s,\"schema\":", ops[i]->example != NULL ? ops[i]->example : "null");
        if (mk_op_schema_json(&x->out, &x->arena, ops[i], &err) != MK_OK) {
            mk_http__problem(x, 500, &err);
            return;
        }
        mk_buf_c(&x->out, '}');
    }
    mk_buf_z(&x->out, "]}");
    mk_http__send(x, 200, JSON);
}

/* ---- one operator ---- */

typedef struct calling {
    const mk_operator *op;
    const mk_json *args; /* NULL: none */
    mk_ceilings ceilings; /* the server's, or lower ones that the request asks for */
    bool wire;
    bool as_200; /* errors of operators are no errors of HTTP: /api/op */
} calling;

static void op_failed(mk_exchange *x, const calling *c, const mk_err *why)
{
    if (!c->as_200) {
        mk_http__problem(x, mk_http__status_of(why->code), why);
        return;
    }
    mk_buf_clear(&x->out);
    mk_err_json(&x->out, why);
    mk_http__cors(x);
    mk_http__send(x, 200, JSON);
}

static void keep_result(mk_exchange *x, const mk_call_result *r, int64_t tt)
{
    const mk_kept kept = {.kind = MK_STR("result"),
                          .id = mk_str_of(r->digest),
                          .principal = x->principal,
                          .text = mk_buf_view(&r->payload.text),
                          .op = mk_str_of(r->op->name),
                          .args = mk_buf_view(&r->args_echo),
                          .gaps = mk_buf_view(&r->completeness),
                          .tt = tt};
    mk_keep_put(x->http->options.service->keep, &kept);
}

static mk_code run_canonical(mk_exchange *x, const calling *c, int64_t deadline, mk_err *err)
{
    mk_service *service = x->http->options.service;
    const mk_call_options options = {.mask = mk_service_mask(service, x->user_only),
                                     .ceilings = c->ceilings,
                                     .time_scale = service->options.time_scale,
                                     .deadline_us = deadline,
                                     .cancelled = &x->cancelled};
    mk_call_result result;
    mk_view *view = NULL;
    mk_store *store;
    mk_arena scratch;
    mk_buf args;
    mk_code rc;
    mk_buf_init(&args, service->alloc);
    mk_arena_init(&scratch, service->alloc);
    scratch.limit = MK_CALL_MEMORY;
    mk_call_result_init(&result, service->alloc);
    if (c->args != NULL && c->args->kind != MK_JSON_NULL)
        MK_TRY(rc, mk_canon_tree(&args, &x->arena, c->args, err));
    else
        mk_buf_z(&args, "{}");
    MK_TRY(rc, mk_service_store(service, &store, err));
    MK_TRY(rc, mk_view_at(store, (mk_tt){MK_OPEN_END}, mk_service_mask(service, x->user_only), &view, err));
    MK_TRY(rc, mk_call_run(store, view, mk_str_of(c->op->name), mk_buf_view(&args), &options, &scratch,
                           &result, err));
    MK_TRY(rc, mk_call_envelope(&result, true, &x->out, err));
    keep_result(x, &result, mk_view_effective_tt(view).us);
out:
    mk_view_close(view);
    mk_call_result_free(&result);
    mk_arena_free(&scratch);
    mk_buf_free(&args);
    return rc;
}

static mk_code run_wire(mk_exchange *x, const calling *c, int64_t deadline, mk_err *err)
{
    const mk_caller caller = {.arena = &x->arena,
                              .principal = x->principal,
                              .user_only = x->user_only,
                              .cancelled = &x->cancelled,
                              .deadline_us = deadline,
                              .result_bytes = SIZE_MAX,
                              .ceilings = c->ceilings};
    char whole[MK_RESULT_URI_MAX];
    return mk_serve_op(x->http->options.service, c->op, &caller, c->args, &x->out, whole, err);
}

static void run_call(mk_exchange *x)
{
    const calling *c = x->ctx;
    const int64_t deadline = mk_clock_system.now_us(mk_clock_system.ctx) + CALL_US, begun = mk_http__now();
    mk_err err;
    const mk_code rc = c->wire ? run_wire(x, c, deadline, &err) : run_canonical(x, c, deadline, &err);
    mk_metrics_op(&x->http->metrics, c->op, mk_http__now() - begun, rc == MK_OK);
    if (rc != MK_OK) {
        op_failed(x, c, &err);
        return;
    }
    mk_http__cors(x);
    mk_http__send(x, 200, JSON);
}

/* Operators without a cost model look up one entity; others are quick when the estimate says so. */
static bool is_quick(mk_exchange *x, const calling *c)
{
    mk_service *service = x->http->options.service;
    const mk_call_options options = {.mask = mk_service_mask(service, x->user_only),
                                     .explain_only = true,
                                     .time_scale = service->options.time_scale};
    mk_call_result result;
    mk_store *store;
    mk_arena scratch;
    mk_buf args;
    mk_err err;
    bool quick = false;
    if (c->op->cost == NULL)
        return true;
    mk_buf_init(&args, service->alloc);
    mk_arena_init(&scratch, service->alloc);
    mk_call_result_init(&result, service->alloc);
    if (c->args != NULL && mk_canon_tree(&args, &x->arena, c->args, &err) == MK_OK &&
        mk_service_store(service, &store, &err) == MK_OK &&
        mk_call_run(store, NULL, mk_str_of(c->op->name), mk_buf_view(&args), &options, &scratch, &result,
                    &err) == MK_OK)
        quick = result.cost.time_est_ms <= QUICK_MS;
    mk_call_result_free(&result);
    mk_arena_free(&scratch);
    mk_buf_free(&args);
    return quick;
}

/* A ceiling may be lowered by whoever calls, to be refused what he does not want to wait for. */
static void lower(int64_t *ceiling, int64_t usual, const mk_json *given, const char *name)
{
    const mk_json *value = given != NULL && given->kind == MK_JSON_OBJECT ? mk_json_get(given, name) : NULL;
    const int64_t now = *ceiling > 0 ? *ceiling : usual;
    if (value != NULL && value->kind == MK_JSON_INT && !value->b && value->i > 0 && value->i < now)
        *ceiling = value->i;
}

static void begin_call(mk_exchange *x, mk_str name, const mk_json *args, const mk_json *ceilings, bool as_200)
{
    calling *c = mk_arena_get0(&x->arena, sizeof *c);
    const char *form = mk_http__query(x, "form");
    mk_err err;
    if (c == NULL) {
        mk_http__refuse(x, 500, MK_E_NOMEM, "out of memory");
        return;
    }
    *c = (calling){.op = mk_operator_find(name),
                   .args = args,
                   .wire = form != NULL && strcmp(form, "wire") == 0,
                   .as_200 = as_200};
    x->ctx = c;
    c->ceilings = x->http->options.service->options.ceilings;
    lower(&c->ceilings.rows_scanned_est, mk_ceilings_default.rows_scanned_est, ceilings, "rows_scanned_est");
    lower(&c->ceilings.expansions_est, mk_ceilings_default.expansions_est, ceilings, "expansions_est");
    lower(&c->ceilings.time_est_ms, mk_ceilings_default.time_est_ms, ceilings, "time_est_ms");
    if (form != NULL && !c->wire && strcmp(form, "canonical") != 0) {
        mk_http__refuse(x, 422, MK_E_INVALID_ARG, "form is canonical or wire");
        return;
    }
    if (c->op == NULL) {
        const mk_operator *near = mk_operator_near(name);
        mk_fail(&err, as_200 ? MK_E_INVALID_ARG : MK_E_NOT_FOUND, "there is no operator \"%.*s\"",
                (int)(name.n > 60 ? 60 : name.n), name.p);
        mk_err_path(&err, "op");
        mk_err_hint(&err, "%s%s%sGET /api/ops lists them", near ? "did you mean " : "",
                    near ? near->name : "", near ? "? " : "");
        op_failed(x, c, &err);
    } else if (is_quick(x, c)) {
        run_call(x);
    } else {
        (void)mk_http__hand_over(x, run_call);
    }
}

/* POST /api/op {"op","args","ceilings"} */
void mk_http__op(mk_exchange *x)
{
    const mk_json *body = mk_http__body(x);
    if (body == NULL)
        return;
    const mk_json *op = body->kind == MK_JSON_OBJECT ? mk_json_get(body, "op") : NULL;
    if (op == NULL || op->kind != MK_JSON_STRING) {
        const calling c = {.as_200 = true};
        mk_err err;
        mk_fail(&err, MK_E_SCHEMA, "op: the name of an operator is needed");
        mk_err_path(&err, "op");
        mk_err_hint(&err, "send {\"op\":\"entity_history\",\"args\":{\"uid\":\"...\"}}");
        op_failed(x, &c, &err);
        return;
    }
    begin_call(x, op->text, mk_json_get(body, "args"), mk_json_get(body, "ceilings"), true);
}

/* POST /api/ops/{name}, the body being the arguments */
void mk_http__op_named(mk_exchange *x)
{
    const mk_json *body = mk_http__body(x);
    if (body != NULL)
        begin_call(x, x->tail, body, NULL, false);
}

/* ---- results that were served ---- */

void mk_http__result(mk_exchange *x)
{
    mk_kept kept;
    mk_err err;
    const char *known = mk_http__header_of(x, "If-None-Match");
    if (mk_keep_get(x->http->options.service->keep, MK_STR("result"), x->tail, x->principal, &x->arena, &kept,
                    &err) != MK_OK) {
        mk_fail(&err, MK_E_NOT_FOUND, "no result of this digest is kept");
        mk_err_hint(&err, "repeat the call that gave it");
        mk_http__problem(x, 404, &err);
        return;
    }
    mk_http__header(x, "ETag", "\"%.*s\"", (int)(x->tail.n > 64 ? 64 : x->tail.n), x->tail.p);
    mk_http__header(x, "Cache-Control", "private, max-age=3600, immutable");
    mk_http__cors(x);
    if (known != NULL && strlen(known) == x->tail.n + 2 && memcmp(known + 1, x->tail.p, x->tail.n) == 0) {
        mk_http__send(x, 304, NULL);
        return;
    }
    mk_buf_str(&x->out, kept.text);
    mk_http__send(x, 200, JSON);
}

/* ---- commits as they come ---- */

void mk_http__events(mk_exchange *x)
{
    mk_http *http = x->http;
    const char *last = mk_http__header_of(x, "Last-Event-ID");
    int64_t since = INT64_MAX;
    if (last != NULL && (!mk_str_to_i64(mk_str_of(last), &since) || since < 0)) {
        mk_http__refuse(x, 422, MK_E_INVALID_ARG, "Last-Event-ID is no transaction time");
        return;
    }
    mk_sse *sse = mk_sse_open(http);
    if (sse == NULL) {
        mk_http__refuse(x, 500, MK_E_NOMEM, "out of memory");
        return;
    }
    mk_sse_raw(sse, ": commits\n\n"); /* so that headers are sent at once */
    pthread_mutex_lock(&http->mutex);
    for (size_t i = 0; i < http->commit_count; i++) {
        char id[32], data[64];
        const int n = snprintf(data, sizeof data, "{\"tt\":%lld}", (long long)http->commits[i]);
        snprintf(id, sizeof id, "%lld", (long long)http->commits[i]);
        if (http->commits[i] > since)
            mk_sse_event(sse, id, "commit", (mk_str){data, (size_t)n});
    }
    x->stream = sse; /* from now on commits are sent to it: none twice, and none is missed */
    pthread_mutex_unlock(&http->mutex);
    mk_http__cors(x);
    mk_http__send(x, 200, EVENTS);
}

void mk_http__openapi(mk_exchange *x)
{
    mk_http__put_openapi(x->http, &x->arena, &x->out);
    mk_http__cors(x);
    mk_http__send(x, 200, JSON);
}

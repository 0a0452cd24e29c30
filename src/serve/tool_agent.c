/* tool_agent.c — ask, plans and answers as tools. See tool.h. Layer: serve.
 *
 * The client's own model may plan, run its plan and have its answer checked: `verify_answer` takes claims that name
 * results of the session by their digests, and rates them as it would rate ours. Source: decisions.md 4, 5, 7. */
#include <stdio.h>

#include "agent/ask.h"
#include "base/sha256.h"
#include "serve/tool.h"

#define OBJECTS_MAX ((size_t)256 << 20)
#define CITED_MAX 64

/* ---- arguments ---- */

static mk_code need_text(const mk_json *arguments, const char *name, mk_str *out, mk_err *err)
{
    const mk_json *value = arguments != NULL ? mk_json_get(arguments, name) : NULL;
    if (value != NULL && value->kind == MK_JSON_STRING && value->text.n != 0) {
        *out = value->text;
        return MK_OK;
    }
    mk_fail(err, MK_E_SCHEMA, "%s: text is needed", name);
    mk_err_path(err, "%s", name);
    return MK_E_SCHEMA;
}

/* An argument that is JSON: as text, or as it is. */
static mk_code need_json(const mk_json *arguments, const char *name, mk_arena *arena, mk_str *out, mk_err *err)
{
    const mk_json *value = arguments != NULL ? mk_json_get(arguments, name) : NULL;
    mk_buf text;
    if (value == NULL || (value->kind != MK_JSON_OBJECT && value->kind != MK_JSON_ARRAY))
        return need_text(arguments, name, out, err);
    mk_buf_init(&text, arena->alloc);
    mk_code rc = mk_canon_tree(&text, arena, value, err);
    if (rc == MK_OK) {
        *out = mk_arena_copy(arena, mk_buf_view(&text));
        rc = out->p != NULL ? MK_OK : mk_fail_nomem(err);
    }
    mk_buf_free(&text);
    return rc;
}

/* as_of_tt as a number, a number in text or a date; absent, null and "" are now. */
static mk_code read_as_of(const mk_json *arguments, int64_t *out, mk_err *err)
{
    const mk_json *value = arguments != NULL ? mk_json_get(arguments, "as_of_tt") : NULL;
    *out = 0;
    if (value == NULL || value->kind == MK_JSON_NULL || (value->kind == MK_JSON_STRING && value->text.n == 0))
        return MK_OK;
    if (value->kind == MK_JSON_INT && !value->b && value->i >= 0) {
        *out = value->i >= MK_OPEN_END ? 0 : value->i;
        return MK_OK;
    }
    if (value->kind == MK_JSON_STRING && mk_time_parse(value->text, out, NULL) == MK_OK)
        return MK_OK;
    mk_fail(err, MK_E_SCHEMA, "as_of_tt: a time is needed, ISO 8601 or microseconds");
    mk_err_path(err, "as_of_tt");
    return MK_E_SCHEMA;
}

/* Texts of a list; a single one is a list of one. `out` has room for `max`. */
static mk_code read_texts(const mk_json *arguments, const char *name, mk_str *out, size_t max, size_t *count, mk_err *err)
{
    const mk_json *list = arguments != NULL ? mk_json_get(arguments, name) : NULL;
    *count = 0;
    if (list == NULL || list->kind == MK_JSON_NULL)
        return MK_OK;
    const mk_json *items = list->kind == MK_JSON_ARRAY ? list->items : list;
    const size_t n = list->kind == MK_JSON_ARRAY ? list->n : 1;
    for (size_t i = 0; i < n; i++) {
        if (items[i].kind != MK_JSON_STRING || *count == max) {
            mk_fail(err, MK_E_SCHEMA, "%s: a list of at most %zu texts is needed", name, max);
            mk_err_path(err, "%s", name);
            return MK_E_SCHEMA;
        }
        out[(*count)++] = items[i].text;
    }
    return MK_OK;
}

static void keep(mk_service *service, mk_mcp_call *call, const char *kind, mk_str id, mk_str text)
{
    const mk_kept kept = {.kind = mk_str_of(kind), .id = id, .principal = mk_mcp_principal(call), .text = text,
                          .op = MK_STR(""), .args = MK_STR(""), .gaps = MK_STR("")};
    mk_keep_put(service->keep, &kept);
}

/* ---- ask ---- */

static void on_ask_event(void *ctx, const mk_ask_event *event)
{
    static const char *const words[] = {"planning", "plan refused", "step started", "step finished", "claim checked", "done"};
    mk_mcp_call *call = ctx;
    mk_mcp_progress(call, mk_mcp_progressed(call) + 1, 0, words[event->kind]);
}

/* Which of several entities is meant, when the client can be asked. n 0: it was not said. */
static mk_code ask_back(mk_mcp_call *call, const mk_ask_result *result, mk_str *chosen, mk_err *err)
{
    const mk_json *answer;
    mk_buf params;
    mk_code rc;
    *chosen = (mk_str){NULL, 0};
    if (result->candidate_count < 2 || !mk_mcp_can_ask(call, MK_ASK_ELICITATION))
        return MK_OK;
    mk_buf_init(&params, mk_mcp_arena(call)->alloc);
    mk_buf_z(&params, "{\"message\":\"Several entities have that name. Which one is meant?\",\"requestedSchema\":{\"type\":\"object\","
                      "\"required\":[\"uid\"],\"properties\":{\"uid\":{\"type\":\"string\",\"enum\":[");
    for (size_t i = 0; i < result->candidate_count && i < 30; i++) {
        if (i > 0)
            mk_buf_c(&params, ',');
        mk_canon_string(&params, result->candidates[i]);
    }
    mk_buf_z(&params, "]}}}}");
    MK_TRY(rc, mk_buf_done(&params, err));
    rc = mk_mcp_ask(call, "which", MK_ASK_ELICITATION, mk_buf_view(&params), &answer, err);
    if (rc == MK_E_STATE && strcmp(err->reason, "input_required") != 0)
        rc = MK_OK; /* refused, or declined: the abstention stands */
    else if (rc == MK_OK) {
        const mk_json *content = mk_json_get(answer, "content"), *uid = content != NULL ? mk_json_get(content, "uid") : NULL;
        for (size_t i = 0; uid != NULL && uid->kind == MK_JSON_STRING && i < result->candidate_count; i++)
            if (mk_str_eq(uid->text, result->candidates[i]))
                *chosen = result->candidates[i];
    }
out:
    mk_buf_free(&params);
    return rc;
}

mk_code mk_tool_ask(mk_service *service, mk_mcp_call *call, const mk_json *arguments, mk_buf *out, mk_err *err)
{
    mk_arena *arena = mk_mcp_arena(call);
    mk_ask_options options = {.planner = MK_PLANNER_OFFLINE, .mask = service->options.mask, .ceilings = service->options.ceilings,
                              .time_scale = service->options.time_scale, .cancelled = mk_mcp_cancelled(call),
                              .event = on_ask_event, .event_ctx = call};
    mk_str uids[CITED_MAX + 1], question, chosen;
    mk_ask_result result;
    mk_objects *objects = NULL;
    mk_store *store;
    mk_buf text, bundle;
    mk_code rc;
    mk_buf_init(&text, service->alloc);
    mk_buf_init(&bundle, service->alloc);
    MK_TRY(rc, need_text(arguments, "question", &question, err));
    MK_TRY(rc, read_as_of(arguments, &options.as_of.us, err));
    MK_TRY(rc, read_texts(arguments, "uids", uids, CITED_MAX, &options.allowed_count, err));
    options.allowed = uids;
    MK_TRY(rc, mk_service_store(service, &store, err));
    MK_TRY(rc, mk_objects_memory(service->alloc, OBJECTS_MAX, &objects, err));
    MK_TRY(rc, mk_ask(store, question, &options, objects, arena, &result, err));
    if (result.abstained) {
        MK_TRY(rc, ask_back(call, &result, &chosen, err));
        if (chosen.n != 0) {
            uids[options.allowed_count++] = chosen;
            MK_TRY(rc, mk_ask(store, question, &options, objects, arena, &result, err));
        }
    }
    if (result.ran) {
        MK_TRY(rc, mk_ask_bundle(&result, objects, arena, &bundle, err));
        keep(service, call, "trace", mk_str_of(result.trace.digest), result.trace.json);
        keep(service, call, "answer", mk_str_of(result.trace.digest), mk_buf_view(&bundle));
    }
    MK_TRY(rc, mk_ask_json(&result, arena, &text, err));
    mk_tool_put_result(out, call, mk_buf_view(&text));
    rc = mk_buf_done(out, err);
out:
    mk_objects_close(objects);
    mk_buf_free(&bundle);
    mk_buf_free(&text);
    return rc;
}

/* ---- plans ---- */

static mk_code check_plan(mk_service *service, mk_mcp_call *call, const mk_json *arguments, mk_store **store, mk_plan_report *report,
                          mk_err *err)
{
    mk_arena *arena = mk_mcp_arena(call);
    mk_view_stats stats;
    mk_view *view = NULL;
    mk_str plan;
    mk_code rc;
    MK_TRY(rc, need_json(arguments, "plan", arena, &plan, err));
    MK_TRY(rc, mk_service_store(service, store, err));
    MK_TRY(rc, mk_view_at(*store, (mk_tt){MK_OPEN_END}, service->options.mask, &view, err));
    mk_view_get_stats(view, &stats);
    const mk_plan_check_options options = {.stats = &stats, .ceilings = service->options.ceilings, .time_scale = service->options.time_scale};
    rc = mk_plan_check(plan, &options, arena, report, err);
out:
    mk_view_close(view);
    return rc;
}

mk_code mk_tool_plan_check(mk_service *service, mk_mcp_call *call, const mk_json *arguments, mk_buf *out, mk_err *err)
{
    mk_plan_report report;
    mk_store *store;
    mk_buf text;
    mk_code rc;
    mk_buf_init(&text, service->alloc);
    MK_TRY(rc, check_plan(service, call, arguments, &store, &report, err));
    mk_plan_report_json(&report, &text);
    MK_TRY(rc, mk_buf_done(&text, err));
    mk_tool_put_result(out, call, mk_buf_view(&text));
    rc = mk_buf_done(out, err);
out:
    mk_buf_free(&text);
    return rc;
}

static void on_run_event(void *ctx, const mk_run_event *event)
{
    mk_mcp_call *call = ctx;
    if (event->kind == MK_EVENT_STEP_FINISHED)
        mk_mcp_progress(call, mk_mcp_progressed(call) + 1, 0, "step finished");
}

/* Every step's result can be read again, and cited in verify_answer, by its digest. */
static mk_code keep_results(mk_service *service, mk_mcp_call *call, const mk_trace *trace, mk_objects *objects, mk_err *err)
{
    mk_arena *arena = mk_mcp_arena(call);
    mk_json *tree;
    mk_code rc = mk_json_parse(arena, trace->json, NULL, &tree, err);
    const mk_json *steps = rc == MK_OK ? mk_json_get(tree, "steps") : NULL;
    for (size_t i = 0; steps != NULL && i < steps->n && rc == MK_OK; i++) {
        const mk_json *result = mk_json_get(&steps->items[i], "result_digest"), *name = mk_json_get(&steps->items[i], "call_digest");
        char digest[65], record[65];
        mk_str payload, call_text;
        mk_json *call_tree;
        if (result == NULL || name == NULL)
            continue;
        snprintf(digest, sizeof digest, "%.*s", MK_STR_ARG(result->text));
        snprintf(record, sizeof record, "%.*s", MK_STR_ARG(name->text));
        MK_TRY(rc, objects->get(objects, digest, arena, &payload, err));
        MK_TRY(rc, objects->get(objects, record, arena, &call_text, err));
        MK_TRY(rc, mk_json_parse(arena, call_text, NULL, &call_tree, err));
        mk_buf args, gaps;
        mk_buf_init(&args, arena->alloc);
        mk_buf_init(&gaps, arena->alloc);
        rc = mk_canon_tree(&args, arena, mk_json_get(call_tree, "args"), err);
        if (rc == MK_OK)
            rc = mk_canon_tree(&gaps, arena, mk_json_get(call_tree, "completeness"), err);
        const mk_kept kept = {.kind = MK_STR("result"), .id = mk_str_of(digest), .principal = mk_mcp_principal(call), .text = payload,
                              .op = mk_json_get(call_tree, "op")->text, .args = mk_buf_view(&args), .gaps = mk_buf_view(&gaps),
                              .tt = trace->as_of_tt};
        if (rc == MK_OK)
            mk_keep_put(service->keep, &kept);
        mk_buf_free(&args);
        mk_buf_free(&gaps);
    }
out:
    return rc;
}

mk_code mk_tool_plan_run(mk_service *service, mk_mcp_call *call, const mk_json *arguments, mk_buf *out, mk_err *err)
{
    mk_plan_run_options options = {.mask = service->options.mask, .ceilings = service->options.ceilings, .time_scale = service->options.time_scale,
                                   .cancelled = mk_mcp_cancelled(call), .event = on_run_event, .event_ctx = call};
    mk_plan_report report;
    mk_objects *objects = NULL;
    mk_trace trace;
    mk_store *store;
    mk_buf text;
    mk_code rc;
    mk_buf_init(&text, service->alloc);
    MK_TRY(rc, read_as_of(arguments, &options.as_of.us, err));
    MK_TRY(rc, check_plan(service, call, arguments, &store, &report, err));
    if (!report.valid) {
        mk_plan_report_json(&report, &text);
    } else {
        MK_TRY(rc, mk_objects_memory(service->alloc, OBJECTS_MAX, &objects, err));
        MK_TRY(rc, mk_plan_run(store, &report.plan, &options, objects, mk_mcp_arena(call), &trace, err));
        MK_TRY(rc, keep_results(service, call, &trace, objects, err));
        keep(service, call, "trace", mk_str_of(trace.digest), trace.json);
        mk_buf_printf(&text, "{\"valid\":true,\"violations\":[],\"trace_id\":\"%s\",\"trace\":", trace.digest);
        mk_buf_str(&text, trace.json);
        mk_buf_c(&text, '}');
    }
    MK_TRY(rc, mk_buf_done(&text, err));
    mk_tool_put_result(out, call, mk_buf_view(&text));
    rc = mk_buf_done(out, err);
out:
    mk_objects_close(objects);
    mk_buf_free(&text);
    return rc;
}

/* ---- answers that a client wrote ---- */

typedef struct citing {
    mk_service *service;
    mk_mcp_call *call;
    mk_arena *arena;
    char digests[CITED_MAX][65];
    mk_kept kept[CITED_MAX];
    char records[CITED_MAX][65]; /* names of the call records */
    mk_str record_text[CITED_MAX];
    size_t count;
    mk_err *err;
} citing;

/* The step that stands for a digest, "s3"; it must be a result of this session. */
static mk_code step_of(citing *c, mk_str digest, char step[8])
{
    size_t i = 0;
    while (i < c->count && !mk_str_eq(mk_str_of(c->digests[i]), digest))
        i++;
    if (i == c->count) {
        if (digest.n != 64 || i == CITED_MAX) {
            mk_fail(c->err, MK_E_INVALID_ARG, "evidence and from name results by their digests, at most %d of them", CITED_MAX);
            mk_err_hint(c->err, "write \"<result_digest>\" in evidence and \"<result_digest>.rows_total\" in from");
            return MK_E_INVALID_ARG;
        }
        const mk_code rc = mk_keep_get(c->service->keep, MK_STR("result"), digest, mk_mcp_principal(c->call), c->arena, &c->kept[i], c->err);
        if (rc == MK_E_NOT_FOUND)
            mk_err_hint(c->err, "only results that this session was given can be cited: repeat the call that gave it");
        if (rc != MK_OK)
            return rc;
        snprintf(c->digests[i], sizeof c->digests[i], "%.*s", MK_STR_ARG(digest));
        c->count++;
    }
    snprintf(step, 8, "s%zu", i + 1);
    return MK_OK;
}

static mk_code put_steps(citing *c, const mk_json *list, mk_buf *out)
{
    char step[8];
    const mk_json *items = list->kind == MK_JSON_ARRAY ? list->items : list;
    const size_t n = list->kind == MK_JSON_ARRAY ? list->n : 1;
    mk_buf_c(out, '[');
    for (size_t i = 0; i < n; i++) {
        const mk_code rc = items[i].kind == MK_JSON_STRING ? step_of(c, items[i].text, step)
                                                           : mk_fail(c->err, MK_E_SCHEMA, "evidence is a list of digests");
        if (rc != MK_OK)
            return rc;
        mk_buf_printf(out, "%s\"%s\"", i ? "," : "", step);
    }
    mk_buf_c(out, ']');
    return MK_OK;
}

static bool is_path(mk_str key)
{
    return mk_str_eq(key, MK_STR("from")) || mk_str_eq(key, MK_STR("num")) || mk_str_eq(key, MK_STR("den")) || mk_str_eq(key, MK_STR("left")) ||
           mk_str_eq(key, MK_STR("right"));
}

/* A claim with steps in the place of digests. */
static mk_code put_claim(citing *c, const mk_json *claim, mk_buf *out)
{
    char step[8];
    mk_code rc = MK_OK;
    if (claim->kind != MK_JSON_OBJECT)
        return mk_fail(c->err, MK_E_SCHEMA, "a claim is an object with id, type, from and evidence");
    mk_buf_c(out, '{');
    for (size_t i = 0; i < claim->n; i++) {
        const mk_member *m = &claim->members[i];
        if (i > 0)
            mk_buf_c(out, ',');
        mk_canon_string(out, m->key);
        mk_buf_c(out, ':');
        if (mk_str_eq(m->key, MK_STR("evidence"))) {
            MK_TRY(rc, put_steps(c, &m->value, out));
        } else if (is_path(m->key) && m->value.kind == MK_JSON_STRING && m->value.text.n > 64) {
            MK_TRY(rc, step_of(c, (mk_str){m->value.text.p, 64}, step));
            mk_buf_printf(out, "\"%s%.*s\"", step, (int)(m->value.text.n - 64 > 300 ? 300 : m->value.text.n - 64), m->value.text.p + 64);
        } else if (mk_str_eq(m->key, MK_STR("claim"))) {
            MK_TRY(rc, put_claim(c, &m->value, out));
        } else {
            MK_TRY(rc, mk_canon_tree(out, c->arena, &m->value, c->err));
        }
    }
    mk_buf_c(out, '}');
out:
    return rc;
}

static mk_code put_answer(citing *c, const mk_json *arguments, mk_buf *out)
{
    const mk_json *claims = mk_json_get(arguments, "claims");
    mk_str text, list_text;
    mk_json *list;
    mk_code rc;
    MK_TRY(rc, need_text(arguments, "text", &text, c->err));
    MK_TRY(rc, need_json(arguments, "claims", c->arena, &list_text, c->err));
    MK_TRY(rc, mk_json_parse(c->arena, list_text, NULL, &list, c->err));
    (void)claims;
    if (list->kind != MK_JSON_ARRAY) {
        rc = mk_fail(c->err, MK_E_SCHEMA, "claims: a list of claims is needed");
        goto out;
    }
    mk_buf_z(out, "{\"claims\":[");
    for (size_t i = 0; i < list->n; i++) {
        if (i > 0)
            mk_buf_c(out, ',');
        MK_TRY(rc, put_claim(c, &list->items[i], out));
    }
    mk_buf_z(out, "],\"text\":");
    mk_canon_string(out, text);
    mk_buf_c(out, '}');
    rc = mk_buf_done(out, c->err);
out:
    return rc;
}

/* The calls that were cited, as a trace and records of the usual shape. */
static mk_code put_trace(citing *c, mk_buf *out)
{
    bool one_tt = true;
    mk_buf record;
    mk_code rc = MK_OK;
    mk_buf_init(&record, c->arena->alloc);
    for (size_t i = 1; i < c->count; i++)
        one_tt &= c->kept[i].tt == c->kept[0].tt;
    mk_buf_z(out, "{\"answer\":null,\"answer_error\":null,\"answer_gaps\":[],\"as_of_tt\":");
    if (one_tt && c->count > 0)
        mk_buf_i64(out, c->kept[0].tt);
    else
        mk_buf_z(out, "null");
    mk_buf_z(out, ",\"ok\":true,\"plan_id\":\"session\",\"steps\":[");
    for (size_t i = 0; i < c->count; i++) {
        const mk_kept *k = &c->kept[i];
        uint8_t sha[32];
        mk_buf_clear(&record);
        mk_buf_printf(&record, "{\"args\":%.*s,\"as_of_tt\":%lld,\"completeness\":%.*s,\"deps\":[],\"op\":\"%.*s\",\"payload_digest\":\"%s\"}",
                      (int)k->args.n, k->args.p, (long long)k->tt, (int)k->gaps.n, k->gaps.p, MK_STR_ARG(k->op), c->digests[i]);
        MK_TRY(rc, mk_buf_done(&record, c->err));
        mk_sha256_of(record.p, record.n, sha);
        mk_hex(c->records[i], sha, sizeof sha);
        c->records[i][64] = '\0';
        c->record_text[i] = mk_arena_copy(c->arena, mk_buf_view(&record));
        if (c->record_text[i].p == NULL) {
            rc = mk_fail_nomem(c->err);
            goto out;
        }
        mk_buf_printf(out, "%s{\"call_digest\":\"%s\",\"completeness\":%.*s,\"op\":\"%.*s\",\"result_digest\":\"%s\",\"status\":\"ok\",\"step_id\":\"s%zu\"}",
                      i ? "," : "", c->records[i], (int)k->gaps.n, k->gaps.p, MK_STR_ARG(k->op), c->digests[i], i + 1);
    }
    mk_buf_z(out, "]}");
    rc = mk_buf_done(out, c->err);
out:
    mk_buf_free(&record);
    return rc;
}

static mk_code get_object(void *ctx, const char *digest, mk_arena *arena, mk_str *text, mk_err *err)
{
    const citing *c = ctx;
    for (size_t i = 0; i < c->count; i++) {
        const mk_str *found = strcmp(c->digests[i], digest) == 0 ? &c->kept[i].text : strcmp(c->records[i], digest) == 0 ? &c->record_text[i] : NULL;
        if (found == NULL)
            continue;
        *text = mk_arena_copy(arena, *found);
        return text->p != NULL ? MK_OK : mk_fail_nomem(err);
    }
    return mk_fail(err, MK_E_NOT_FOUND, "no such object");
}

static mk_code put_verdict(const mk_answer_report *report, const mk_gated *gated, mk_buf *out, mk_err *err)
{
    mk_buf_z(out, "{\"report\":");
    mk_answer_report_json(report, out);
    mk_buf_printf(out, ",\"emitted\":%s,\"answer\":", gated->emitted ? "true" : "false");
    mk_buf_str(out, gated->emitted ? gated->answer : MK_STR("null"));
    mk_buf_z(out, ",\"dropped\":");
    mk_buf_str(out, gated->dropped.n != 0 ? gated->dropped : MK_STR("[]"));
    mk_buf_c(out, '}');
    return mk_buf_done(out, err);
}

static mk_code verify_session(mk_service *service, mk_mcp_call *call, const mk_json *arguments, mk_buf *text, mk_err *err)
{
    static const mk_verify_options options = {.strict = false};
    mk_arena *arena = mk_mcp_arena(call);
    citing *c = mk_arena_get0(arena, sizeof *c);
    mk_answer_report report;
    mk_evidence *evidence;
    mk_gated gated;
    mk_buf answer, trace;
    mk_code rc;
    if (c == NULL)
        return mk_fail_nomem(err);
    *c = (citing){.service = service, .call = call, .arena = arena, .err = err};
    mk_buf_init(&answer, service->alloc);
    mk_buf_init(&trace, service->alloc);
    MK_TRY(rc, put_answer(c, arguments, &answer));
    MK_TRY(rc, put_trace(c, &trace));
    MK_TRY(rc, mk_evidence_open(mk_buf_view(&trace), get_object, c, NULL, NULL, arena, &evidence, err));
    MK_TRY(rc, mk_answer_verify(mk_buf_view(&answer), evidence, &options, arena, &report, err));
    MK_TRY(rc, mk_answer_gate(&report, &options, arena, &gated, err));
    rc = put_verdict(&report, &gated, text, err);
out:
    mk_buf_free(&answer);
    mk_buf_free(&trace);
    return rc;
}

static mk_code verify_bundle(mk_mcp_call *call, const mk_json *arguments, mk_buf *text, mk_err *err)
{
    static const mk_verify_options options = {.strict = false};
    mk_bundle_check check;
    mk_str bundle;
    mk_code rc;
    MK_TRY(rc, need_json(arguments, "bundle", mk_mcp_arena(call), &bundle, err));
    MK_TRY(rc, mk_bundle_verify(bundle, &options, mk_mcp_arena(call), &check, err));
    mk_bundle_check_json(&check, text);
    rc = mk_buf_done(text, err);
out:
    return rc;
}

mk_code mk_tool_verify_answer(mk_service *service, mk_mcp_call *call, const mk_json *arguments, mk_buf *out, mk_err *err)
{
    const mk_json *bundle = arguments != NULL ? mk_json_get(arguments, "bundle") : NULL;
    mk_buf text;
    mk_code rc;
    mk_buf_init(&text, service->alloc);
    if (arguments == NULL || arguments->kind != MK_JSON_OBJECT) {
        rc = mk_fail(err, MK_E_SCHEMA, "verify_answer takes text and claims, or bundle");
        goto out;
    }
    MK_TRY(rc, bundle != NULL && bundle->kind != MK_JSON_NULL && !(bundle->kind == MK_JSON_STRING && bundle->text.n == 0)
                   ? verify_bundle(call, arguments, &text, err)
                   : verify_session(service, call, arguments, &text, err));
    mk_tool_put_result(out, call, mk_buf_view(&text));
    rc = mk_buf_done(out, err);
out:
    mk_buf_free(&text);
    return rc;
}

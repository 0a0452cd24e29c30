/* agent_api.c — see agent_api.h. Layer: serve. */
#include "serve/agent_api.h"

#include <stdio.h>

#include "agent/explain.h"
#include "base/canon.h"
#include "base/timetext.h"

#define OBJECTS_MAX ((size_t)256 << 20)
#define CITED_MAX 64

/* ---- arguments ---- */

mk_code mk_agent__text(const mk_json *arguments, const char *name, mk_str *out, mk_err *err)
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
mk_code mk_agent__json(const mk_json *arguments, const char *name, mk_arena *arena, mk_str *out, mk_err *err)
{
    const mk_json *value = arguments != NULL ? mk_json_get(arguments, name) : NULL;
    mk_buf text;
    if (value == NULL || (value->kind != MK_JSON_OBJECT && value->kind != MK_JSON_ARRAY))
        return mk_agent__text(arguments, name, out, err);
    mk_buf_init(&text, arena->alloc);
    mk_code rc = mk_canon_tree(&text, arena, value, err);
    if (rc == MK_OK) {
        *out = mk_arena_copy(arena, mk_buf_view(&text));
        rc = out->p != NULL ? MK_OK : mk_fail_nomem(err);
    }
    mk_buf_free(&text);
    return rc;
}

/* A time as a number, a number in text or a date; absent, null and "" are now. */
static mk_code read_time(const mk_json *arguments, const char *name, int64_t *out, mk_err *err)
{
    const mk_json *value = arguments != NULL ? mk_json_get(arguments, name) : NULL;
    *out = 0;
    if (value == NULL || value->kind == MK_JSON_NULL || (value->kind == MK_JSON_STRING && value->text.n == 0))
        return MK_OK;
    if (value->kind == MK_JSON_INT && !value->b && value->i >= 0) {
        *out = value->i >= MK_OPEN_END ? 0 : value->i;
        return MK_OK;
    }
    if (value->kind == MK_JSON_STRING && mk_time_parse(value->text, out, NULL) == MK_OK)
        return MK_OK;
    mk_fail(err, MK_E_SCHEMA, "%s: a time is needed, ISO 8601 or microseconds", name);
    mk_err_path(err, "%s", name);
    return MK_E_SCHEMA;
}

/* Texts of a list; a single one is a list of one. `out` has room for `max`. */
static mk_code read_texts(const mk_json *arguments, const char *name, mk_str *out, size_t max, size_t *count,
                          mk_err *err)
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

static void keep(mk_service *service, const mk_caller *caller, const char *kind, mk_str id, mk_str text)
{
    const mk_kept kept = {.kind = mk_str_of(kind), .id = id, .principal = caller->principal, .text = text,
                          .op = MK_STR(""), .args = MK_STR(""), .gaps = MK_STR("")};
    mk_keep_put(service->keep, &kept);
}

/* ---- asking ---- */

static void on_ask_event(void *ctx, const mk_ask_event *event)
{
    static const char *const words[] = {"planning",      "plan refused",  "step started",
                                        "step finished", "claim checked", "done"};
    const mk_caller *caller = ctx;
    if (caller->progress != NULL)
        caller->progress(caller->ctx, words[event->kind]);
}

static mk_code read_planner(const mk_service *service, const mk_caller *caller, const mk_json *arguments,
                            mk_ask_options *options, mk_err *err)
{
    static const char *const names[] = {"auto", "model", "offline"};
    static const mk_planner planners[] = {MK_PLANNER_AUTO, MK_PLANNER_MODEL, MK_PLANNER_OFFLINE};
    const mk_json *value = arguments != NULL ? mk_json_get(arguments, "planner") : NULL;
    options->planner = MK_PLANNER_AUTO;
    options->model = service->options.model != NULL ? service->options.model : caller->model;
    if (value == NULL || value->kind == MK_JSON_NULL || (value->kind == MK_JSON_STRING && value->text.n == 0))
        return MK_OK;
    for (int i = 0; i < 3; i++)
        if (value->kind == MK_JSON_STRING && mk_str_eq(value->text, mk_str_of(names[i]))) {
            options->planner = planners[i];
            return MK_OK;
        }
    mk_fail(err, MK_E_SCHEMA, "planner: auto, model or offline");
    mk_err_path(err, "planner");
    return MK_E_SCHEMA;
}

/* What of a request is the same for asking once and at two beliefs. `uids` has room for one more. */
static mk_code read_asking(mk_service *service, const mk_caller *caller, const mk_json *arguments,
                           mk_str uids[CITED_MAX + 1], mk_str *question, mk_ask_options *options, mk_err *err)
{
    mk_code rc;
    *options = (mk_ask_options){.mask = mk_service_mask(service, caller->user_only),
                                .ceilings = service->options.ceilings,
                                .time_scale = service->options.time_scale,
                                .cancelled = caller->cancelled,
                                .event = on_ask_event,
                                .event_ctx = (void *)(uintptr_t)caller,
                                .allowed = uids};
    MK_TRY(rc, mk_agent__text(arguments, "question", question, err));
    MK_TRY(rc, read_texts(arguments, "uids", uids, CITED_MAX, &options->allowed_count, err));
    rc = read_planner(service, caller, arguments, options, err);
out:
    return rc;
}

mk_code mk_agent_ask(mk_service *service, const mk_caller *caller, const mk_json *arguments, mk_buf *out,
                     mk_err *err)
{
    mk_str uids[CITED_MAX + 1], question, chosen = {NULL, 0};
    mk_ask_options options;
    mk_ask_result result;
    mk_objects *objects = NULL;
    mk_store *store;
    mk_buf bundle;
    mk_code rc;
    mk_buf_init(&bundle, service->alloc);
    MK_TRY(rc, read_asking(service, caller, arguments, uids, &question, &options, err));
    MK_TRY(rc, read_time(arguments, "as_of_tt", &options.as_of.us, err));
    MK_TRY(rc, mk_service_store(service, &store, err));
    MK_TRY(rc, mk_objects_memory(service->alloc, OBJECTS_MAX, &objects, err));
    MK_TRY(rc, mk_ask(store, question, &options, objects, caller->arena, &result, err));
    if (result.abstained && result.candidate_count >= 2 && caller->choose != NULL)
        MK_TRY(rc, caller->choose(caller->ctx, result.candidates, result.candidate_count, &chosen, err));
    if (chosen.n != 0) {
        uids[options.allowed_count++] = chosen;
        MK_TRY(rc, mk_ask(store, question, &options, objects, caller->arena, &result, err));
    }
    if (result.ran) {
        MK_TRY(rc, mk_ask_bundle(&result, objects, caller->arena, &bundle, err));
        keep(service, caller, "trace", mk_str_of(result.trace.digest), result.trace.json);
        keep(service, caller, "answer", mk_str_of(result.trace.digest), mk_buf_view(&bundle));
    }
    rc = mk_ask_json(&result, caller->arena, out, err);
out:
    mk_objects_close(objects);
    mk_buf_free(&bundle);
    return rc;
}

mk_code mk_agent_explain_diff(mk_service *service, const mk_caller *caller, const mk_json *arguments,
                              mk_buf *out, mk_err *err)
{
    mk_explanation *explanation = mk_arena_get0(caller->arena, sizeof *explanation);
    mk_str uids[CITED_MAX + 1], question;
    mk_ask_options options;
    mk_objects *objects = NULL;
    mk_store *store;
    int64_t before, after;
    mk_code rc;
    if (explanation == NULL)
        return mk_fail_nomem(err);
    MK_TRY(rc, read_asking(service, caller, arguments, uids, &question, &options, err));
    MK_TRY(rc, read_time(arguments, "tt_before", &before, err));
    MK_TRY(rc, read_time(arguments, "tt_after", &after, err));
    MK_TRY(rc, mk_service_store(service, &store, err));
    MK_TRY(rc, mk_objects_memory(service->alloc, OBJECTS_MAX, &objects, err));
    if (after == 0)
        after = mk_store_last_tt(store).us;
    MK_TRY(rc, mk_explain_diff(store, question, (mk_tt){before}, (mk_tt){after}, &options, objects,
                               caller->arena, explanation, err));
    rc = mk_explain_json(explanation, caller->arena, out, err);
out:
    mk_objects_close(objects);
    return rc;
}

/* ---- plans ---- */

static mk_code check_plan(mk_service *service, const mk_caller *caller, const mk_json *arguments,
                          mk_store **store, mk_plan_report *report, mk_err *err)
{
    mk_arena *arena = caller->arena;
    mk_view_stats stats;
    mk_view *view = NULL;
    mk_str plan;
    mk_code rc;
    MK_TRY(rc, mk_agent__json(arguments, "plan", arena, &plan, err));
    MK_TRY(rc, mk_service_store(service, store, err));
    MK_TRY(rc,
           mk_view_at(*store, (mk_tt){MK_OPEN_END}, mk_service_mask(service, caller->user_only), &view, err));
    mk_view_get_stats(view, &stats);
    const mk_plan_check_options options = {
        .stats = &stats, .ceilings = service->options.ceilings, .time_scale = service->options.time_scale};
    rc = mk_plan_check(plan, &options, arena, report, err);
out:
    mk_view_close(view);
    return rc;
}

mk_code mk_agent_plan_check(mk_service *service, const mk_caller *caller, const mk_json *arguments,
                            mk_buf *out, mk_err *err)
{
    mk_plan_report report;
    mk_store *store;
    mk_code rc;
    MK_TRY(rc, check_plan(service, caller, arguments, &store, &report, err));
    mk_plan_report_json(&report, out);
    rc = mk_buf_done(out, err);
out:
    return rc;
}

static void on_run_event(void *ctx, const mk_run_event *event)
{
    const mk_caller *caller = ctx;
    if (event->kind == MK_EVENT_STEP_FINISHED && caller->progress != NULL)
        caller->progress(caller->ctx, "step finished");
}

/* Every step's result can be read again, and cited in verify_answer, by its digest. */
static mk_code keep_results(mk_service *service, const mk_caller *caller, const mk_trace *trace,
                            mk_objects *objects, mk_err *err)
{
    mk_arena *arena = caller->arena;
    mk_json *tree;
    mk_code rc = mk_json_parse(arena, trace->json, NULL, &tree, err);
    const mk_json *steps = rc == MK_OK ? mk_json_get(tree, "steps") : NULL;
    for (size_t i = 0; steps != NULL && i < steps->n && rc == MK_OK; i++) {
        const mk_json *result = mk_json_get(&steps->items[i], "result_digest"),
                      *name = mk_json_get(&steps->items[i], "call_digest");
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
        const mk_kept kept = {.kind = MK_STR("result"),
                              .id = mk_str_of(digest),
                              .principal = caller->principal,
                              .text = payload,
                              .op = mk_json_get(call_tree, "op")->text,
                              .args = mk_buf_view(&args),
                              .gaps = mk_buf_view(&gaps),
                              .tt = trace->as_of_tt};
        if (rc == MK_OK)
            mk_keep_put(service->keep, &kept);
        mk_buf_free(&args);
        mk_buf_free(&gaps);
    }
out:
    return rc;
}

mk_code mk_agent_plan_run(mk_service *service, const mk_caller *caller, const mk_json *arguments, mk_buf *out,
                          mk_err *err)
{
    mk_plan_run_options options = {.mask = mk_service_mask(service, caller->user_only),
                                   .ceilings = service->options.ceilings,
                                   .time_scale = service->options.time_scale,
                                   .cancelled = caller->cancelled,
                                   .event = on_run_event,
                                   .event_ctx = (void *)(uintptr_t)caller};
    mk_plan_report report;
    mk_objects *objects = NULL;
    mk_trace trace;
    mk_store *store;
    mk_code rc;
    MK_TRY(rc, read_time(arguments, "as_of_tt", &options.as_of.us, err));
    MK_TRY(rc, check_plan(service, caller, arguments, &store, &report, err));
    if (!report.valid) {
        mk_plan_report_json(&report, out);
    } else {
        MK_TRY(rc, mk_objects_memory(service->alloc, OBJECTS_MAX, &objects, err));
        MK_TRY(rc, mk_plan_run(store, &report.plan, &options, objects, caller->arena, &trace, err));
        MK_TRY(rc, keep_results(service, caller, &trace, objects, err));
        keep(service, caller, "trace", mk_str_of(trace.digest), trace.json);
        mk_buf_printf(out, "{\"valid\":true,\"violations\":[],\"trace_id\":\"%s\",\"trace\":", trace.digest);
        mk_buf_str(out, trace.json);
        mk_buf_c(out, '}');
    }
    rc = mk_buf_done(out, err);
out:
    mk_objects_close(objects);
    return rc;
}

/* ---- what a newcomer is shown ---- */

mk_code mk_agent_info(mk_service *service, const mk_caller *caller, const char *version, mk_buf *out,
                      mk_err *err)
{
    const mk_ask_options options = {.mask = mk_service_mask(service, caller->user_only)};
    mk_str examples[MK_ASK_EXAMPLES];
    size_t count;
    mk_store *store;
    mk_code rc;
    MK_TRY(rc, mk_service_store(service, &store, err));
    MK_TRY(rc, mk_ask_examples(store, &options, caller->arena, examples, &count, err));
    mk_buf_printf(out, "{\"version\":\"%s\",\"planner\":\"%s\",\"as_of_tt\":%lld,\"examples\":[", version,
                  service->options.model != NULL ? "model" : "offline",
                  (long long)mk_store_last_tt(store).us);
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            mk_buf_c(out, ',');
        mk_canon_string(out, examples[i]);
    }
    mk_buf_z(out, "],\"card\":");
    MK_TRY(rc, mk_service_card(service, caller->user_only, caller->arena, out, err));
    mk_buf_c(out, '}');
    rc = mk_buf_done(out, err);
out:
    return rc;
}

/* ---- traces ---- */

static void put_trace(mk_arena *arena, const mk_kept *kept, mk_buf *out)
{
    static const char *const names[] = {"question", "as_of_tt", "complete"};
    mk_json *tree;
    if (mk_json_parse(arena, kept->text, NULL, &tree, NULL) != MK_OK)
        return;
    const mk_json *answer = mk_json_get(tree, "answer"),
                  *text = answer != NULL ? mk_json_get(answer, "text") : NULL;
    const mk_json *claims = answer != NULL ? mk_json_get(answer, "claims") : NULL;
    mk_buf_z(out, "{\"id\":");
    mk_canon_string(out, kept->id);
    mk_buf_printf(out, ",\"claims\":%zu", claims != NULL ? claims->n : 0);
    if (text != NULL && text->kind == MK_JSON_STRING) {
        mk_buf_z(out, ",\"text\":");
        mk_canon_string(out, text->text);
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const mk_json *value = mk_json_get(tree, names[i]);
        if (value == NULL)
            continue;
        mk_buf_printf(out, ",\"%s\":", names[i]);
        if (mk_canon_tree(out, arena, value, NULL) != MK_OK)
            out->failed = true;
    }
    mk_buf_c(out, '}');
}

mk_code mk_agent_traces(mk_service *service, const mk_caller *caller, mk_buf *out, mk_err *err)
{
    mk_kept *list;
    size_t count;
    const mk_code rc =
        mk_keep_list(service->keep, MK_STR("answer"), caller->principal, caller->arena, &list, &count, err);
    if (rc != MK_OK)
        return rc;
    mk_buf_z(out, "{\"traces\":[");
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            mk_buf_c(out, ',');
        put_trace(caller->arena, &list[i], out);
    }
    mk_buf_z(out, "]}");
    return mk_buf_done(out, err);
}

mk_code mk_agent_trace(mk_service *service, const mk_caller *caller, mk_str id, mk_buf *out, mk_err *err)
{
    mk_kept kept;
    const mk_code rc =
        mk_keep_get(service->keep, MK_STR("answer"), id, caller->principal, caller->arena, &kept, err);
    if (rc != MK_OK)
        return rc;
    mk_buf_str(out, kept.text);
    return mk_buf_done(out, err);
}

/* ask_answer.c — from a checked plan to an answer that may leave. Layer: agent.
 *
 * The plan is run, an answer object is made of the trace, every claim of it is looked up in the payloads it
 * cites, and the gate lets through what stands. What leaves is verified once more: the report in the result
 * is that of the gated answer and not of what it was made from. */
#include "agent/ask_internal.h"

#include "agent/report.h"
#include "op/call.h"

/* ---- evidence ---- */

mk_code mk_ask__get(void *ctx, const char *digest, mk_arena *arena, mk_str *text, mk_err *err)
{
    mk_objects *objects = ctx;
    return objects->get(objects, digest, arena, text, err);
}

/* Pattern claims are re-executed at the belief of the answer. */
static mk_code reexecute(void *ctx, mk_str op, mk_str args, int64_t as_of_tt, mk_arena *arena,
                         mk_str *payload, mk_err *err)
{
    const mk_asking *a = ctx;
    const mk_call_options options = {.mask = a->options->mask,
                                     .time_scale = a->options->time_scale,
                                     .ceilings = a->options->ceilings,
                                     .row_budget = MK_PLAN_ROWS_MAX,
                                     .clock = a->options->clock,
                                     .cancelled = a->options->cancelled};
    mk_view *view = NULL;
    mk_call_result result;
    mk_arena scratch;
    mk_code rc;
    mk_call_result_init(&result, arena->alloc);
    mk_arena_init(&scratch, arena->alloc);
    MK_TRY(rc, mk_view_at(a->store, (mk_tt){as_of_tt}, a->options->mask, &view, err));
    MK_TRY(rc, mk_call_run(a->store, view, op, args, &options, &scratch, &result, err));
    *payload = mk_arena_copy(arena, mk_buf_view(&result.payload.text));
    if (payload->p == NULL)
        rc = mk_fail_nomem(err);
out:
    mk_view_close(view);
    mk_arena_free(&scratch);
    mk_call_result_free(&result);
    return rc;
}

/* ---- running ---- */

static void forward_event(void *ctx, const mk_run_event *event)
{
    const mk_asking *a = ctx;
    if (event->kind == MK_EVENT_STEP_STARTED)
        mk_ask__event(a, MK_ASK_STEP_STARTED, event->step_id, event->op, true, 0);
    else if (event->kind == MK_EVENT_STEP_FINISHED)
        mk_ask__event(a, MK_ASK_STEP_FINISHED, event->step_id, event->op, event->ok, event->rows);
}

mk_code mk_ask__run(mk_asking *a, const mk_json **trace, mk_err *err)
{
    const mk_ask_options *o = a->options;
    const mk_plan_run_options options = {.as_of = {a->out->as_of_tt},
                                         .mask = o->mask,
                                         .ceilings = o->ceilings,
                                         .time_scale = o->time_scale,
                                         .wall_us = o->wall_us,
                                         .threads = o->threads,
                                         .no_completeness = o->no_completeness,
                                         .clock = o->clock,
                                         .cancelled = o->cancelled,
                                         .event = forward_event,
                                         .event_ctx = a};
    mk_json *tree = NULL;
    mk_code rc;
    MK_TRY(rc, mk_plan_run(a->store, &a->checked.plan, &options, a->objects, a->arena, &a->out->trace, err));
    a->out->as_of_tt = a->out->trace.as_of_tt;
    rc = mk_json_parse(a->arena, a->out->trace.json, NULL, &tree, err);
    *trace = tree;
out:
    return rc;
}

static mk_str text_of(const mk_json *object, const char *key)
{
    const mk_json *value = mk_json_get(object, key);
    return value != NULL && value->kind == MK_JSON_STRING ? value->text : MK_STR("");
}

/* Why there is no value: every step that failed by itself, or the path to the answer. */
static mk_code miss_failures(mk_asking *a, const mk_json *trace, mk_err *err)
{
    const mk_json *steps = mk_json_get(trace, "steps"), *path = mk_json_get(trace, "answer_error");
    mk_code rc = MK_OK;
    for (size_t i = 0; steps != NULL && steps->kind == MK_JSON_ARRAY && rc == MK_OK && i < steps->n; i++) {
        const mk_json *step = &steps->items[i], *error = mk_json_get(step, "error");
        if (error == NULL || !mk_str_eq(text_of(step, "status"), MK_STR("failed")))
            continue;
        const mk_str id = text_of(step, "step_id"), op = text_of(step, "op"), code = text_of(error, "error"),
                     message = text_of(error, "message");
        rc = mk_ask__miss(a, err, "step %.*s (%.*s) failed: %.*s (%.*s)", MK_STR_ARG(id), MK_STR_ARG(op),
                          MK_STR_ARG(message), MK_STR_ARG(code));
    }
    if (rc == MK_OK && path != NULL && path->kind == MK_JSON_OBJECT) {
        const mk_str message = text_of(path, "message");
        rc = mk_ask__miss(a, err, "the results do not hold what was asked for: %.*s", MK_STR_ARG(message));
    }
    if (rc == MK_OK && !a->out->abstained)
        rc = mk_ask__miss(a, err, "the plan gave no value");
    return rc;
}

/* ---- verifying ---- */

static mk_verify_options verify_options(const mk_asking *a)
{
    return (mk_verify_options){.strict = a->options->strict, .no_completeness = a->options->no_completeness};
}

static mk_code verify_and_gate(mk_asking *a, mk_str answer, mk_evidence *evidence, mk_err *err)
{
    mk_ask_result *out = a->out;
    const mk_verify_options options = verify_options(a);
    mk_answer_report first;
    mk_code rc;
    MK_TRY(rc, mk_answer_verify(answer, evidence, &options, a->arena, &first, err));
    for (size_t i = 0; i < first.claim_count; i++)
        mk_ask__event(a, MK_ASK_CLAIM_CHECKED, first.claims[i].id,
                      mk_str_of(mk_verdict_name(first.claims[i].verdict)),
                      first.claims[i].verdict <= MK_WEAKLY_SUPPORTED, 0);
    out->report = first;
    if (a->options->no_gate) {
        out->gated = (mk_gated){.answer = answer, .dropped = MK_STR("[]"), .emitted = true};
        goto out;
    }
    MK_TRY(rc, mk_answer_gate(&first, &options, a->arena, &out->gated, err));
    if (out->gated.emitted)
        MK_TRY(rc, mk_answer_verify(out->gated.answer, evidence, &options, a->arena, &out->report, err));
out:
    return rc;
}

static mk_code miss_claims(mk_asking *a, mk_err *err)
{
    const mk_answer_report *report = &a->out->report;
    mk_code rc = MK_OK;
    for (size_t i = 0; rc == MK_OK && i < report->claim_count; i++) {
        const mk_claim_result *c = &report->claims[i];
        rc = mk_ask__miss(a, err, "claim %.*s is %s: %.*s", MK_STR_ARG(c->id), mk_verdict_name(c->verdict),
                          MK_STR_ARG(c->reason));
    }
    if (rc == MK_OK && report->claim_count == 0)
        rc = mk_ask__miss(a, err, "nothing in the answer can be checked against the results%s%.*s",
                          report->text.n ? ": " : "", MK_STR_ARG(report->text));
    return rc;
}

/* What a model was shown and said while planning and while reporting, as one list. */
static mk_code add_prompts(mk_asking *a, mk_str more, mk_err *err)
{
    mk_str *all = &a->out->prompts;
    if (more.n <= 2 || all->n <= 2) {
        *all = all->n <= 2 ? more : *all;
        return MK_OK;
    }
    char *joined = mk_arena_get(a->arena, all->n + more.n);
    if (joined == NULL)
        return mk_fail_nomem(err);
    memcpy(joined, all->p, all->n - 1);
    joined[all->n - 1] = ',';
    memcpy(joined + all->n, more.p + 1, more.n - 1);
    *all = (mk_str){joined, all->n + more.n - 1};
    return MK_OK;
}

mk_code mk_ask__report(mk_asking *a, const mk_json *trace, mk_model *model, mk_err *err)
{
    mk_ask_result *out = a->out;
    const mk_report_options options = {.model = model, .verify = verify_options(a)};
    mk_evidence *evidence;
    mk_report report;
    mk_code rc;
    MK_TRY(rc, mk_evidence_open(out->trace.json, mk_ask__get, a->objects, reexecute, a, a->arena, &evidence,
                                err));
    MK_TRY(rc, mk_report_write(out->question, a->checked.plan.json, trace, a->objects, evidence, &options,
                               a->arena, &report, err));
    MK_TRY(rc, add_prompts(a, report.record, err));
    MK_TRY(rc, verify_and_gate(a, report.answer, evidence, err));
    out->ran = true;
    if (out->trace.answer == NULL) {
        rc = miss_failures(a, trace, err);
        goto out;
    }
    if (!out->gated.emitted) {
        rc = miss_claims(a, err);
        goto out;
    }
    out->answer_kind = mk_str_of(mk_answer_kind_name(a->checked.plan.kind));
    out->value = out->trace.answer;
    const mk_json *gaps = out->trace.answer_gaps;
    out->complete = !out->gated.qualified && (gaps == NULL || gaps->n == 0);
out:
    return rc;
}

mk_code mk_ask__answer(mk_asking *a, mk_err *err)
{
    const mk_json *trace;
    mk_code rc;
    MK_TRY(rc, mk_ask__run(a, &trace, err));
    rc = mk_ask__report(a, trace, NULL, err);
out:
    return rc;
}

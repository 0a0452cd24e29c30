/* trial.c — check, run, report, verify, gate. Layer: eval. */
#include "eval/trial.h"

mk_code mk_trial_object(void *ctx, const char *digest, mk_arena *arena, mk_str *text, mk_err *err)
{
    mk_objects *objects = ctx;
    return objects->get(objects, digest, arena, text, err);
}

typedef struct trying {
    mk_store *store;
    const mk_trial_options *options;
    mk_objects *objects;
    mk_arena *arena;
    mk_trial *out;
} trying;

static mk_code say_why(trying *t, const char *code, const char *where, mk_str step, mk_str message,
                       mk_err *err)
{
    mk_buf text;
    mk_code rc;
    mk_buf_init(&text, t->arena->alloc);
    mk_buf_printf(&text, "%s%s%.*s: ", code, where, MK_STR_ARG(step));
    mk_buf_str(&text, message);
    MK_TRY(rc, mk_buf_done(&text, err));
    t->out->why = mk_arena_copy(t->arena, mk_buf_view(&text));
    if (t->out->why.p == NULL)
        rc = mk_fail_nomem(err);
out:
    mk_buf_free(&text);
    return rc;
}

/* ---- check ---- */

static mk_code check(trying *t, mk_str plan, mk_err *err)
{
    const mk_trial_options *o = t->options;
    mk_view_stats stats;
    mk_view *view;
    const mk_tt as_of = {o->as_of.us != 0 ? o->as_of.us : MK_OPEN_END};
    mk_code rc = mk_view_at(t->store, as_of, o->mask, &view, err);
    if (rc != MK_OK)
        return rc;
    mk_view_get_stats(view, &stats);
    const mk_plan_check_options options = {.stats = &stats,
                                           .allowed = o->allowed,
                                           .allowed_count = o->allowed_count,
                                           .ground = o->ground,
                                           .no_contracts = o->no_contracts};
    rc = mk_plan_check(plan, &options, t->arena, &t->out->check, err);
    mk_view_close(view);
    if (rc != MK_OK || t->out->check.valid)
        return rc;
    const mk_violation *first = t->out->check.violation_count > 0 ? t->out->check.violations : NULL;
    if (first == NULL)
        return say_why(t, "E_PLAN_INVALID", "", (mk_str){0}, MK_STR("the plan was refused"), err);
    return say_why(t, first->grounding ? "E_GROUNDING" : mk_code_name(first->code),
                   first->step_id.n > 0 ? " in " : "", first->step_id, first->message, err);
}

/* ---- run ---- */

/* The first step that failed. */
static mk_code say_failure(trying *t, mk_err *err)
{
    mk_json *trace;
    const mk_code rc = mk_json_parse(t->arena, t->out->trace.json, NULL, &trace, err);
    if (rc != MK_OK)
        return rc;
    const mk_json *steps = mk_json_get(trace, "steps"), *reason = mk_json_get(trace, "answer_error");
    for (size_t i = 0; steps != NULL && steps->kind == MK_JSON_ARRAY && i < steps->n; i++) {
        const mk_json *error = mk_json_get(&steps->items[i], "error");
        const mk_json *id = mk_json_get(&steps->items[i], "step_id");
        const mk_json *code = mk_json_get(error, "error"), *message = mk_json_get(error, "message");
        if (id != NULL && code != NULL && code->kind == MK_JSON_STRING && message != NULL &&
            message->kind == MK_JSON_STRING && code->text.n < 64) {
            char name[64];
            memcpy(name, code->text.p, code->text.n);
            name[code->text.n] = '\0';
            return say_why(t, name, " in ", id->text, message->text, err);
        }
    }
    if (reason != NULL && reason->kind == MK_JSON_STRING)
        return say_why(t, "E_ANSWER", "", (mk_str){0}, reason->text, err);
    return say_why(t, "E_ANSWER", "", (mk_str){0}, MK_STR("the plan gave no answer"), err);
}

static mk_code run(trying *t, mk_err *err)
{
    const mk_trial_options *o = t->options;
    const mk_plan_run_options options = {.as_of = o->as_of,
                                         .mask = o->mask,
                                         .threads = o->threads,
                                         .row_budget = o->row_budget,
                                         .no_completeness = o->no_completeness,
                                         .clock = o->clock,
                                         .cancelled = o->cancelled};
    mk_code rc;
    MK_TRY(rc, mk_plan_run(t->store, &t->out->check.plan, &options, t->objects, t->arena, &t->out->trace,
                           err));
    t->out->ran = true;
    if (t->out->trace.answer == NULL)
        rc = say_failure(t, err);
out:
    return rc;
}

/* ---- report, verify, gate ---- */

static mk_code answer(trying *t, mk_err *err)
{
    const mk_trial_options *o = t->options;
    const mk_verify_options verify = {.strict = o->strict, .no_completeness = o->no_completeness};
    mk_trial *out = t->out;
    mk_json *trace;
    mk_code rc;
    MK_TRY(rc, mk_json_parse(t->arena, out->trace.json, NULL, &trace, err));
    MK_TRY(rc, mk_answer_mechanical(out->check.plan.json, trace, MK_ANSWERS_OURS, t->arena, &out->answer,
                                    err));
    MK_TRY(rc, mk_evidence_open(out->trace.json, mk_trial_object, t->objects, NULL, NULL, t->arena,
                                &out->evidence, err));
    MK_TRY(rc, mk_answer_verify(out->answer, out->evidence, &verify, t->arena, &out->report, err));
    out->reported = true;
    out->gated = (mk_gated){.answer = out->answer, .dropped = MK_STR("[]"), .emitted = true};
    if (o->no_gate)
        goto out;
    MK_TRY(rc, mk_answer_gate(&out->report, &verify, t->arena, &out->gated, err));
    if (!out->gated.emitted)
        rc = say_why(t, "E_ANSWER", "", (mk_str){0}, MK_STR("no claim of the answer could be verified"), err);
out:
    return rc;
}

mk_code mk_trial_run(mk_store *store, mk_str plan, const mk_trial_options *options, mk_objects *objects,
                     mk_arena *arena, mk_trial *out, mk_err *err)
{
    static const mk_trial_options usual = {.strict = false};
    trying t = {store, options != NULL ? options : &usual, objects, arena, out};
    mk_code rc;
    *out = (mk_trial){.ran = false};
    MK_TRY(rc, check(&t, plan, err));
    if (!out->check.valid)
        goto out;
    MK_TRY(rc, run(&t, err));
    if (out->trace.answer != NULL)
        rc = answer(&t, err);
out:
    return rc;
}

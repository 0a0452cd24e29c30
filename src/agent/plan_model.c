/* plan_model.c — see plan_model.h. Layer: agent. */
#include "agent/plan_model.h"

#include "agent/output.h"
#include "agent/schema_gbnf.h"
#include "base/canon.h"

struct mk_plan_model {
    const mk_plan_model_options *options;
    mk_arena *arena;
    mk_prompt prompt;
    size_t base_size; /* of the prompt before any repair */
    mk_buf schema, grammar, record;
    unsigned budget; /* calls that may still be made */
    mk_str last;     /* the last output, cleaned */
    mk_plan_model_result result;
};

mk_code mk_plan_model_open(mk_view *view, const mk_plan_model_options *options, mk_arena *arena,
                           mk_plan_model **out, mk_err *err)
{
    const unsigned repairs = options->no_repairs ? 0
                             : options->repairs_max == 0 || options->repairs_max > MK_PLAN_REPAIRS_MAX
                                 ? MK_PLAN_REPAIRS_MAX
                                 : options->repairs_max;
    mk_plan_model *planner = mk_new0(arena->alloc, sizeof *planner);
    mk_code rc;
    *out = NULL;
    if (planner == NULL)
        return mk_fail_nomem(err);
    planner->options = options;
    planner->arena = arena;
    planner->budget = 1 + repairs;
    mk_prompt_init(&planner->prompt, arena->alloc);
    mk_buf_init(&planner->schema, arena->alloc);
    mk_buf_init(&planner->grammar, arena->alloc);
    mk_buf_init(&planner->record, arena->alloc);
    MK_TRY(rc, mk_prompt_planner(&planner->prompt, view, options->task, arena, err));
    planner->base_size = planner->prompt.user.n;
    if (!options->unguided) {
        MK_TRY(rc, mk_plan_schema(&planner->schema, arena, err));
        MK_TRY(rc, mk_plan_grammar(&planner->grammar, err));
    }
    *out = planner;
out:
    if (rc != MK_OK)
        mk_plan_model_close(planner);
    return rc;
}

void mk_plan_model_close(mk_plan_model *planner)
{
    if (planner == NULL)
        return;
    mk_buf_free(&planner->record);
    mk_buf_free(&planner->grammar);
    mk_buf_free(&planner->schema);
    mk_prompt_free(&planner->prompt);
    mk_free(planner->arena->alloc, planner, sizeof *planner);
}

/* ---- one attempt ---- */

static void tell(const mk_plan_model *planner, bool rejected)
{
    const mk_plan_report *report = &planner->result.report;
    const mk_str detail = rejected && report->violation_count != 0 ? report->violations[0].message
                          : MK_STR("");
    if (planner->options->event != NULL)
        planner->options->event(planner->options->event_ctx, planner->result.attempts, rejected, detail);
}

static mk_code ask(mk_plan_model *planner, mk_model_reply *reply, mk_err *err)
{
    mk_message messages[2];
    mk_model_request request;
    mk_prompt_request(&planner->prompt, messages, &request);
    request.schema = mk_buf_view(&planner->schema);
    request.grammar = mk_buf_view(&planner->grammar);
    planner->budget--;
    planner->result.attempts++;
    tell(planner, false);
    return mk_model_ask(planner->options->model, &request, planner->arena, reply, err);
}

static mk_code keep_record(mk_plan_model *planner, const mk_model_reply *reply, mk_err *err)
{
    mk_buf_c(&planner->record, planner->record.n == 0 ? '[' : ',');
    mk_output_record(&planner->prompt, reply, &planner->record);
    return mk_buf_done(&planner->record, err);
}

/* Puts what was wrong with the last output into the conversation. */
static mk_code reject(mk_plan_model *planner, mk_err *err)
{
    mk_buf errors;
    mk_code rc;
    mk_buf_init(&errors, planner->arena->alloc);
    tell(planner, true);
    mk_plan_repair_json(&planner->result.report, &errors);
    MK_TRY(rc, mk_buf_done(&errors, err));
    rc = mk_prompt_rejected(&planner->prompt, planner->last, mk_buf_view(&errors), mk_prompt_cue_plan,
                            planner->arena, err);
out:
    mk_buf_free(&errors);
    return rc;
}

static mk_code attempt(mk_plan_model *planner, mk_err *err)
{
    mk_plan_model_result *result = &planner->result;
    mk_model_reply reply;
    mk_code rc;
    MK_TRY(rc, ask(planner, &reply, err));
    MK_TRY(rc, keep_record(planner, &reply, err));
    planner->last = mk_output_clean(reply.text, planner->arena);
    if (planner->last.p == NULL) {
        rc = mk_fail_nomem(err);
        goto out;
    }
    MK_TRY(rc, mk_plan_check(planner->last, planner->options->check, planner->arena, &result->report, err));
    result->planned = result->report.valid;
    result->plan = result->planned ? planner->last : (mk_str){0};
    if (result->attempts == 1)
        result->first_valid = result->planned;
    if (!result->planned)
        rc = reject(planner, err);
out:
    return rc;
}

/* The conversation begins anew: the task, the plan that ran, and what came of it. */
static mk_code go_back(mk_plan_model *planner, mk_str errors, mk_err *err)
{
    planner->prompt.user.n = planner->base_size;
    return mk_prompt_rejected(&planner->prompt, planner->last, errors, mk_prompt_cue_plan, planner->arena,
                              err);
}

static mk_code copy_record(mk_plan_model *planner, mk_err *err)
{
    const mk_str calls = mk_buf_view(&planner->record);
    char *p = mk_arena_get(planner->arena, calls.n + 2);
    if (p == NULL)
        return mk_fail_nomem(err);
    if (calls.n != 0)
        memcpy(p, calls.p, calls.n);
    else
        p[0] = '[';
    const size_t n = calls.n != 0 ? calls.n : 1;
    p[n] = ']';
    planner->result.record = (mk_str){p, n + 1};
    return MK_OK;
}

mk_code mk_plan_model_next(mk_plan_model *planner, mk_str errors, mk_plan_model_result *out, mk_err *err)
{
    mk_code rc = MK_OK;
    planner->result.planned = false;
    planner->result.plan = (mk_str){0};
    if (errors.n != 0)
        MK_TRY(rc, go_back(planner, errors, err));
    while (planner->budget > 0 && !planner->result.planned)
        MK_TRY(rc, attempt(planner, err));
    planner->result.budget_left = planner->budget > 0;
    MK_TRY(rc, copy_record(planner, err));
    *out = planner->result;
out:
    return rc;
}

/* ---- errors of a run ---- */

static bool is_repairable(const mk_json *error)
{
    static const char *const codes[] = {"E_COST", "E_NOT_FOUND", "E_LIMIT", "E_INVALID_ARG", "E_SCHEMA"};
    const mk_json *code = mk_json_get(error, "error");
    for (size_t i = 0; code != NULL && code->kind == MK_JSON_STRING && i < sizeof codes / sizeof *codes; i++)
        if (mk_str_eq(code->text, mk_str_of(codes[i])))
            return true;
    return false;
}

/* *failed counts steps that did not succeed, *put those whose error was put. */
static mk_code put_step_errors(const mk_json *steps, mk_arena *arena, mk_buf *out, size_t *failed,
                               size_t *put,
                               mk_err *err)
{
    mk_code rc = MK_OK;
    for (size_t i = 0; steps != NULL && steps->kind == MK_JSON_ARRAY && i < steps->n && rc == MK_OK; i++) {
        const mk_json *error = mk_json_get(&steps->items[i], "error");
        const mk_json *id = mk_json_get(&steps->items[i], "step_id");
        *failed += error != NULL;
        if (error == NULL || !is_repairable(error))
            continue;
        mk_buf_z(out, *put != 0 ? ",{\"error\":" : "{\"error\":");
        rc = mk_canon_tree(out, arena, error, err);
        mk_buf_z(out, ",\"step_id\":");
        mk_canon_string(out, id != NULL && id->kind == MK_JSON_STRING ? id->text : MK_STR(""));
        mk_buf_c(out, '}');
        (*put)++;
    }
    return rc;
}

mk_code mk_plan_model_errors(const mk_json *trace, mk_arena *arena, mk_str *errors, mk_err *err)
{
    const mk_json *answer_error = mk_json_get(trace, "answer_error");
    size_t failed = 0, put = 0;
    mk_buf out;
    mk_code rc;
    *errors = (mk_str){0};
    mk_buf_init(&out, arena->alloc);
    mk_buf_z(&out, "{\"error\":\"E_RUN\",\"errors\":[");
    MK_TRY(rc, put_step_errors(mk_json_get(trace, "steps"), arena, &out, &failed, &put, err));
    mk_buf_c(&out, ']');
    /* A path that leads nowhere is for another plan to mend; a step that failed for other reasons is not. */
    const bool path = answer_error != NULL && answer_error->kind == MK_JSON_STRING && failed == put;
    if (path) {
        mk_buf_z(&out, ",\"answer_error\":");
        mk_canon_string(&out, answer_error->text);
    }
    mk_buf_c(&out, '}');
    MK_TRY(rc, mk_buf_done(&out, err));
    if (put != 0 || path) {
        *errors = mk_arena_copy(arena, mk_buf_view(&out));
        rc = errors->p != NULL ? MK_OK : mk_fail_nomem(err);
    }
out:
    mk_buf_free(&out);
    return rc;
}

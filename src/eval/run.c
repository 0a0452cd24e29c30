/* run.c — every task of a suite through one system. Layer: eval.
 *
 * Each task has an arena and a place for its objects of its own, so a suite needs the memory of its largest
 * task; what a row keeps is copied. */
#include "eval/run_internal.h"

#include "eval/score.h"
#include "eval/trial.h"

#define TASK_OBJECTS_MAX ((size_t)1 << 30) /* bytes of one task's calls and payloads */

const char *mk_eval_planner_name(mk_eval_planner planner)
{
    static const char *const names[] = {
        [MK_EVAL_ORACLE] = "oracle", [MK_EVAL_OFFLINE] = "offline", [MK_EVAL_MODEL] = "model"};
    return names[planner];
}

/* ---- the oracle ---- */

static void count_claims(mk_eval_row *row, const mk_trial *trial, bool gated)
{
    size_t unsupported = 0, left = 0;
    for (size_t i = 0; i < trial->report.claim_count; i++) {
        const mk_verdict verdict = trial->report.claims[i].verdict;
        const bool leaves = !gated || verdict == MK_SUPPORTED || verdict == MK_WEAKLY_SUPPORTED;
        left += leaves;
        unsupported += leaves && verdict == MK_UNSUPPORTED;
    }
    row->has_claims = true;
    row->claims = left;
    row->dropped = trial->report.claim_count - left;
    row->unsupported = left > 0 ? (double)unsupported / (double)left : 0;
}

mk_code mk_eval__by_plan(mk_store *store, const mk_eval_options *options, const mk_eval_task *task,
                         mk_objects *objects, mk_arena *arena, mk_eval_row *row, mk_eval_answer *answer,
                         mk_err *err)
{
    const mk_trial_options how = {.mask = options->mask,
                                  .allowed = task->uids,
                                  .allowed_count = task->uid_count,
                                  .ground = true,
                                  .strict = true,
                                  .no_contracts = options->no_contracts,
                                  .no_completeness = options->no_completeness,
                                  .no_gate = options->no_gate,
                                  .threads = options->threads,
                                  .clock = options->clock,
                                  .cancelled = options->cancelled};
    mk_trial trial;
    mk_code rc;
    MK_TRY(rc, mk_trial_run(store, task->plan, &how, objects, arena, &trial, err));
    row->has_plan = true;
    row->first_valid = trial.check.valid;
    row->executed = trial.ran && trial.trace.answer != NULL;
    row->why = trial.why;
    if (trial.reported)
        count_claims(row, &trial, !options->no_gate);
    answer->computed = trial.ran ? trial.trace.answer : NULL;
    answer->value = trial.reported && trial.gated.emitted ? trial.trace.answer : NULL;
out:
    return rc;
}

/* ---- one task ---- */

static mk_code keep(mk_str *text, mk_arena *arena, mk_err *err)
{
    *text = mk_arena_copy(arena, *text);
    return text->p != NULL ? MK_OK : mk_fail_nomem(err);
}

static mk_code keep_answer(mk_eval_row *row, const mk_json *value, mk_arena *scratch, mk_arena *arena,
                           mk_err *err)
{
    mk_buf text;
    mk_code rc;
    row->answer = MK_STR("null");
    if (value == NULL)
        return MK_OK;
    mk_buf_init(&text, arena->alloc);
    MK_TRY(rc, mk_canon_tree(&text, scratch, value, err));
    MK_TRY(rc, mk_buf_done(&text, err));
    row->answer = mk_buf_view(&text);
    rc = keep(&row->answer, arena, err);
out:
    mk_buf_free(&text);
    return rc;
}

static mk_code score(mk_eval_row *row, const mk_eval_answer *answer, mk_arena *scratch, mk_err *err)
{
    const mk_eval_task *task = row->task;
    mk_score s = {0}, computed = {0};
    mk_code rc = MK_OK;
    row->abstained = answer->value == NULL;
    if (mk_task_wants_abstention(task)) {
        row->correct = row->abstained;
        row->trace_correct = answer->computed == NULL;
        row->f1 = row->correct ? 1 : 0;
        goto out;
    }
    if (answer->value != NULL)
        MK_TRY(rc, mk_score_answer(task->kind, task->gold, answer->value, scratch, &s, err));
    if (answer->computed != NULL)
        MK_TRY(rc, mk_score_answer(task->kind, task->gold, answer->computed, scratch, &computed, err));
    row->correct = s.em == 1;
    row->f1 = s.f1;
    row->trace_correct = computed.em == 1;
out:
    return rc;
}

static mk_code run_task(mk_store *store, const mk_eval_options *options, mk_arena *arena, mk_eval_row *row,
                        mk_err *err)
{
    const mk_clock *clock = options->clock != NULL ? options->clock : &mk_clock_system;
    const int64_t start = clock->now_us(clock->ctx);
    mk_eval_answer answer = {NULL, NULL};
    mk_objects *objects = NULL;
    mk_arena scratch;
    mk_code rc;
    mk_arena_init(&scratch, arena->alloc);
    MK_TRY(rc, mk_objects_memory(arena->alloc, TASK_OBJECTS_MAX, &objects, err));
    MK_TRY(rc, (options->planner == MK_EVAL_ORACLE ? mk_eval__by_plan : mk_eval__by_asking)(
                   store, options, row->task, objects, &scratch, row, &answer, err));
    row->wall_ms = (double)(clock->now_us(clock->ctx) - start) / 1000;
    MK_TRY(rc, score(row, &answer, &scratch, err));
    MK_TRY(rc, keep_answer(row, answer.value, &scratch, arena, err));
    rc = keep(&row->why, arena, err);
out:
    mk_objects_close(objects);
    mk_arena_free(&scratch);
    return rc;
}

/* ---- the suite ---- */

static mk_code check_suite(const mk_eval_suite *suite, const mk_eval_options *options, mk_err *err)
{
    for (size_t i = 0; options->planner == MK_EVAL_ORACLE && i < suite->count; i++) {
        if (suite->tasks[i].plan.n > 0)
            continue;
        mk_fail(err, MK_E_INVALID_ARG, "task %.*s carries no plan that an oracle could run",
                MK_STR_ARG(suite->tasks[i].id));
        mk_err_hint(err, "let a planner answer: --planner offline");
        return MK_E_INVALID_ARG;
    }
    return MK_OK;
}

static mk_code note_failure(mk_eval_row *row, mk_arena *arena, mk_err *err)
{
    *row = (mk_eval_row){.task = row->task, .answer = MK_STR("null"), .abstained = true};
    row->correct = mk_task_wants_abstention(row->task);
    row->trace_correct = row->correct;
    row->f1 = row->correct ? 1 : 0;
    row->why = err != NULL ? mk_str_of(err->message) : MK_STR("the model failed");
    return keep(&row->why, arena, err);
}

static mk_code name_ablations(const mk_eval_options *options, mk_arena *arena, mk_str *out, mk_err *err)
{
    const struct {
        bool on;
        const char *name;
    } all[] = {{options->no_contracts, "contracts"},
               {options->no_completeness, "completeness"},
               {options->no_gate, "gate"},
               {options->no_memory, "memory"}};
    mk_buf text;
    mk_buf_init(&text, arena->alloc);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].on)
            mk_buf_printf(&text, "%s%s", text.n > 0 ? "," : "", all[i].name);
    mk_code rc = mk_buf_done(&text, err);
    *out = mk_buf_view(&text);
    if (rc == MK_OK)
        rc = keep(out, arena, err);
    mk_buf_free(&text);
    return rc;
}

mk_code mk_eval_run(mk_store *store, const mk_eval_suite *suite, const mk_eval_options *options,
                    mk_arena *arena, mk_eval_report *out, mk_err *err)
{
    double *baseline;
    mk_code rc;
    MK_TRY(rc, check_suite(suite, options, err));
    *out = (mk_eval_report){.planner = options->planner,
                            .split_sha = suite->split_sha,
                            .rows = mk_arena_get0(arena, suite->count * sizeof *out->rows),
                            .row_count = suite->count};
    if (out->rows == NULL)
        return mk_fail_nomem(err);
    MK_TRY(rc, name_ablations(options, arena, &out->ablated, err));
    for (size_t i = 0; i < suite->count; i++) {
        out->rows[i].task = &suite->tasks[i];
        rc = run_task(store, options, arena, &out->rows[i], err);
        /* An endpoint that never worked is the caller's error; one that fails later costs that task. */
        if (rc == MK_E_MODEL && i > 0)
            rc = note_failure(&out->rows[i], arena, err);
        if (rc != MK_OK)
            goto out;
        if (options->each != NULL)
            options->each(options->each_ctx, &out->rows[i], i + 1, suite->count);
    }
    MK_TRY(rc, mk_eval__baseline(suite, arena, &baseline, err));
    rc = mk_eval__summarise(out, baseline, arena, err);
out:
    return rc;
}

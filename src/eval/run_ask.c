/* run_ask.c — a task through mk_ask, as a user would ask it. Layer: eval.
 *
 * Nothing of the task but its question and the identifiers that come with it is shown to the planner. */
#include "agent/ask.h"
#include "eval/run_internal.h"

static mk_code say_missing(const mk_ask_result *result, mk_arena *arena, mk_str *why, mk_err *err)
{
    mk_buf text;
    mk_code rc;
    mk_buf_init(&text, arena->alloc);
    for (size_t i = 0; i < result->missing_count; i++) {
        mk_buf_z(&text, i > 0 ? "; " : "");
        mk_buf_str(&text, result->missing[i]);
    }
    MK_TRY(rc, mk_buf_done(&text, err));
    *why = mk_arena_copy(arena, mk_buf_view(&text));
    if (why->p == NULL)
        rc = mk_fail_nomem(err);
out:
    mk_buf_free(&text);
    return rc;
}

static void count_claims(mk_eval_row *row, const mk_ask_result *result)
{
    size_t unsupported = 0;
    for (size_t i = 0; i < result->report.claim_count; i++)
        unsupported += result->report.claims[i].verdict == MK_UNSUPPORTED;
    row->has_claims = true;
    row->claims = result->report.claim_count;
    row->unsupported = row->claims > 0 ? (double)unsupported / (double)row->claims : 0;
}

mk_code mk_eval__by_asking(mk_store *store, const mk_eval_options *options, const mk_eval_task *task,
                           mk_objects *objects, mk_arena *arena, mk_eval_row *row, mk_eval_answer *answer,
                           mk_err *err)
{
    const mk_ask_options how = {
        .planner = options->planner == MK_EVAL_MODEL ? MK_PLANNER_MODEL : MK_PLANNER_OFFLINE,
        .model = options->model,
        .mask = options->mask,
        .allowed = task->uids,
        .allowed_count = task->uid_count,
        .threads = options->threads,
        .no_contracts = options->no_contracts,
        .no_completeness = options->no_completeness,
        .no_gate = options->no_gate,
        .no_memory = options->no_memory,
        .no_examples = true,
        .clock = options->clock,
        .cancelled = options->cancelled};
    mk_ask_result result;
    mk_err own;
    mk_code rc = mk_ask(store, task->question, &how, objects, arena, &result, &own);
    if (rc == MK_E_INVALID_ARG) { /* a question that cannot be read is one that is not answered */
        row->why = mk_arena_copy(arena, mk_str_of(own.message));
        return row->why.p != NULL ? MK_OK : mk_fail_nomem(err);
    }
    if (rc != MK_OK) {
        if (err != NULL)
            *err = own;
        return rc;
    }
    row->has_plan = result.plan.n > 0 || result.attempts > 0;
    row->first_valid = result.first_valid;
    row->executed = result.ran && result.trace.answer != NULL;
    if (result.ran && !result.abstained)
        count_claims(row, &result);
    answer->computed = result.ran ? result.trace.answer : NULL;
    answer->value = result.abstained ? NULL : result.value;
    return say_missing(&result, arena, &row->why, err);
}

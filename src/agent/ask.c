/* ask.c — from a question to a plan that may run. Layer: agent.
 *
 * States of one question: read, planned, checked, run, verified, gated. Every state but the last can end in
 * an abstention; none is skipped. What comes after the check is in ask_answer.c, a model's part in
 * ask_model.c. */
#include "agent/ask_internal.h"

#include <stdarg.h>
#include <stdio.h>

#include "agent/history.h"
#include "agent/offline.h"

#define QUESTION_MAX 4096
#define MISSING_MAX 16
#define PHRASE_MAX 1024

mk_code mk_ask__miss(mk_asking *a, mk_err *err, const char *fmt, ...)
{
    char text[PHRASE_MAX];
    va_list args;
    mk_ask_result *out = a->out;
    out->abstained = true;
    if (out->missing == NULL) {
        out->missing = mk_arena_get(a->arena, MISSING_MAX * sizeof *out->missing);
        if (out->missing == NULL)
            return mk_fail_nomem(err);
    }
    if (out->missing_count == MISSING_MAX)
        return MK_OK;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    /* A cut may have split a character. */
    const mk_str whole = mk_str_of(text);
    const mk_str copy = mk_arena_copy(a->arena, (mk_str){text, mk_utf8_check(whole)});
    if (copy.p == NULL)
        return mk_fail_nomem(err);
    out->missing[out->missing_count++] = copy;
    return MK_OK;
}

void mk_ask__event(const mk_asking *a, mk_ask_event_kind kind, mk_str name, mk_str detail, bool ok,
                   uint64_t rows)
{
    if (a->options->event == NULL)
        return;
    const mk_ask_event event = {.kind = kind, .name = name, .detail = detail, .ok = ok, .rows = rows};
    a->options->event(a->options->event_ctx, &event);
}

/* ---- belief ---- */

/* The known range is named, so that the next question can be right. Source: agent spec, 18.16. */
static mk_code check_belief(mk_asking *a, mk_tt as_of, mk_err *err)
{
    char first_text[MK_TIME_TEXT_MAX + 1], asked_text[MK_TIME_TEXT_MAX + 1], last_text[MK_TIME_TEXT_MAX + 1];
    const mk_tt last = mk_store_last_tt(a->store);
    mk_tt first;
    bool any;
    mk_code rc;
    MK_TRY(rc, mk_history_first(a->store, a->arena, &first, &any, err));
    if (!any || as_of.us >= first.us)
        goto out;
    first_text[mk_time_text(first_text, first.us)] = '\0';
    asked_text[mk_time_text(asked_text, as_of.us)] = '\0';
    last_text[mk_time_text(last_text, last.us)] = '\0';
    rc = mk_ask__miss(a, err,
                      "nothing was believed yet at %lld (%s): beliefs begin at %lld (%s) and the newest "
                      "is of %lld (%s)",
                      (long long)as_of.us, asked_text, (long long)first.us, first_text, (long long)last.us,
                      last_text);
out:
    return rc;
}

mk_code mk_ask__open_view(mk_asking *a, mk_tt as_of, mk_err *err)
{
    const mk_tt last = mk_store_last_tt(a->store);
    mk_code rc = MK_OK;
    if (as_of.us != 0 && as_of.us < last.us)
        MK_TRY(rc, check_belief(a, as_of, err));
    mk_view_close(a->view);
    a->view = NULL;
    /* A belief that is still to come is the newest one: pinned, so that the answer stays the same. */
    a->out->as_of_tt = as_of.us == 0 || as_of.us > last.us ? last.us : as_of.us;
    /* What can be asked instead is not to be found where nothing was believed. */
    const bool newest = a->out->abstained || a->out->as_of_tt == 0;
    MK_TRY(rc, mk_view_at(a->store, newest ? (mk_tt){MK_OPEN_END} : (mk_tt){a->out->as_of_tt},
                          a->options->mask, &a->view, err));
out:
    return rc;
}

/* The question may name a belief of its own; one given beside it must not contradict. */
static mk_code take_named_belief(mk_asking *a, const mk_offline_result *plan, mk_err *err)
{
    const int64_t given = a->options->as_of.us;
    if (!plan->has_as_of_tt || plan->as_of_tt == a->out->as_of_tt)
        return MK_OK;
    if (given != 0 && given != plan->as_of_tt)
        return mk_ask__miss(a, err,
                            "the question asks what was believed at %lld, the setting beside it what was "
                            "believed at %lld: one of them must go",
                            (long long)plan->as_of_tt, (long long)given);
    return mk_ask__open_view(a, (mk_tt){plan->as_of_tt}, err);
}

/* ---- plans ---- */

mk_code mk_ask__check(mk_asking *a, mk_err *err)
{
    mk_view_stats stats;
    mk_code rc;
    mk_view_get_stats(a->view, &stats);
    /* The offline planner takes identifiers from the question and from the store's own names, which is
     * what the grounding rule asks for; a model's plan is held to the rule in its own loop. */
    const mk_plan_check_options options = {.stats = &stats,
                                           .ceilings = a->options->ceilings,
                                           .time_scale = a->options->time_scale,
                                           .allowed = a->options->allowed,
                                           .allowed_count = a->options->allowed_count,
                                           .no_contracts = a->options->no_contracts};
    MK_TRY(rc, mk_plan_check(a->out->plan, &options, a->arena, &a->checked, err));
    a->out->first_valid = a->checked.valid;
    if (a->checked.valid)
        goto out;
    for (size_t i = 0; rc == MK_OK && i < a->checked.violation_count; i++) {
        const mk_violation *v = &a->checked.violations[i];
        if (i == 0)
            mk_ask__event(a, MK_ASK_REJECTED, v->step_id, v->message, false, 0);
        rc = mk_ask__miss(a, err, "the plan was refused%s%.*s: %.*s (%s)", v->step_id.n ? " at " : "",
                          MK_STR_ARG(v->step_id), MK_STR_ARG(v->message),
                          v->grounding ? "E_GROUNDING" : mk_code_name(v->code));
    }
out:
    return rc;
}

static mk_code answer_offline(mk_asking *a, mk_err *err)
{
    const mk_offline_options options = {.allowed = a->options->allowed,
                                        .allowed_count = a->options->allowed_count,
                                        .cancelled = a->options->cancelled};
    mk_ask_result *out = a->out;
    mk_offline_result plan;
    mk_code rc;
    out->planner = "offline";
    mk_ask__event(a, MK_ASK_ATTEMPT, MK_STR("offline"), MK_STR(""), true, 0);
    MK_TRY(rc, mk_offline_plan(a->store, a->view, out->question, &options, a->arena, &plan, err));
    out->understood = plan.understood;
    if (!plan.planned) {
        out->candidates = plan.candidates;
        out->candidate_count = plan.candidate_count;
        out->abstained = true;
        for (size_t i = 0; i < plan.missing_count; i++)
            MK_TRY(rc, mk_ask__miss(a, err, "%.*s", MK_STR_ARG(plan.missing[i])));
        goto out;
    }
    MK_TRY(rc, take_named_belief(a, &plan, err));
    if (out->abstained)
        goto out;
    out->plan = plan.plan;
    MK_TRY(rc, mk_ask__check(a, err));
    if (!out->abstained)
        rc = mk_ask__answer(a, err);
out:
    return rc;
}

/* A model that was asked for by name and fails is an error. One that is only configured is a help: without it
 * the question is still read, and the result says by whom. */
static mk_code plan_and_answer(mk_asking *a, mk_err *err)
{
    mk_ask_result *out = a->out;
    const mk_ask_result before = *out;
    mk_err why;
    if (a->options->planner == MK_PLANNER_OFFLINE)
        return answer_offline(a, err);
    if (a->options->model == NULL && a->options->planner == MK_PLANNER_MODEL) {
        mk_fail(err, MK_E_MODEL, "no model is configured");
        mk_err_hint(err, "set MERKHET_LLM_URL and MERKHET_LLM_MODEL, or use the offline planner");
        mk_err_reason(err, "unreachable");
        return MK_E_MODEL;
    }
    if (a->options->model == NULL) {
        out->note = MK_STR("no model is configured, so the offline planner read the question");
        return answer_offline(a, err);
    }
    const mk_code rc = mk_ask__with_model(a, &why);
    if (rc != MK_E_MODEL || a->options->planner == MK_PLANNER_MODEL) {
        if (rc != MK_OK && err != NULL)
            *err = why;
        return rc;
    }
    *out = before;
    out->note = mk_arena_copy(a->arena, mk_str_of(why.message));
    if (out->note.p == NULL)
        return mk_fail_nomem(err);
    return answer_offline(a, err);
}

/* ---- asking ---- */

static mk_code check_question(mk_str question, mk_err *err)
{
    size_t blank = 0;
    while (blank < question.n && (unsigned char)question.p[blank] <= ' ')
        blank++;
    if (blank == question.n)
        return mk_fail(err, MK_E_INVALID_ARG, "the question is empty");
    if (question.n > QUESTION_MAX) {
        mk_fail(err, MK_E_INVALID_ARG, "the question has %zu bytes, at most %d are read", question.n,
                QUESTION_MAX);
        return MK_E_INVALID_ARG;
    }
    const size_t bad = mk_utf8_check(question);
    if (bad != question.n) {
        mk_fail(err, MK_E_INVALID_ARG, "the question is not UTF-8");
        mk_err_offset(err, (int64_t)bad);
        return MK_E_INVALID_ARG;
    }
    return MK_OK;
}

static mk_code add_examples(mk_asking *a, mk_err *err)
{
    mk_ask_result *out = a->out;
    if (!out->abstained || a->view == NULL || a->options->no_examples)
        return MK_OK;
    return mk_offline_examples(a->store, a->view, a->arena, MK_ASK_EXAMPLES, out->examples,
                               &out->example_count, err);
}

mk_code mk_ask(mk_store *store, mk_str question, const mk_ask_options *options, mk_objects *objects,
               mk_arena *arena, mk_ask_result *out, mk_err *err)
{
    mk_asking a = {.store = store, .options = options, .objects = objects, .arena = arena, .out = out};
    mk_code rc;
    *out = (mk_ask_result){.question = question, .planner = "offline"};
    MK_TRY(rc, check_question(question, err));
    out->question = mk_arena_copy(arena, question);
    if (out->question.p == NULL) {
        rc = mk_fail_nomem(err);
        goto out;
    }
    MK_TRY(rc, mk_ask__open_view(&a, options->as_of, err));
    if (!out->abstained)
        MK_TRY(rc, plan_and_answer(&a, err));
    MK_TRY(rc, add_examples(&a, err));
    mk_ask__event(&a, MK_ASK_DONE, MK_STR(""), MK_STR(""), !out->abstained, 0);
out:
    mk_view_close(a.view);
    return rc;
}

mk_code mk_ask__at(mk_store *store, const mk_ask_result *planned, mk_tt as_of, const mk_ask_options *options,
                   mk_objects *objects, mk_arena *arena, mk_ask_result *out, mk_err *err)
{
    mk_asking a = {.store = store, .options = options, .objects = objects, .arena = arena, .out = out};
    mk_code rc;
    *out = (mk_ask_result){.question = planned->question,
                           .planner = planned->planner,
                           .understood = planned->understood,
                           .plan = planned->plan};
    MK_TRY(rc, mk_ask__open_view(&a, as_of, err));
    if (!out->abstained)
        MK_TRY(rc, mk_ask__check(&a, err));
    if (!out->abstained)
        MK_TRY(rc, mk_ask__answer(&a, err));
out:
    mk_view_close(a.view);
    return rc;
}

mk_code mk_ask_examples(mk_store *store, const mk_ask_options *options, mk_arena *arena,
                        mk_str questions[MK_ASK_EXAMPLES], size_t *count, mk_err *err)
{
    mk_view *view = NULL;
    mk_code rc;
    *count = 0;
    MK_TRY(rc, mk_view_at(store, options->as_of.us == 0 ? (mk_tt){MK_OPEN_END} : options->as_of,
                          options->mask, &view, err));
    rc = mk_offline_examples(store, view, arena, MK_ASK_EXAMPLES, questions, count, err);
out:
    mk_view_close(view);
    return rc;
}

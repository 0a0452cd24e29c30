/* ask_model.c — a question that a model plans. Layer: agent.
 *
 * The conversation is plan_model's: what the check refuses and what a run gives go back to the model
 * until its budget is used up. What was run last is reported, whether the model liked it or not; the
 * verifier decides. */
#include "agent/ask_internal.h"
#include "agent/memory.h"
#include "agent/plan_model.h"

enum {
    NOTES_MAX = 3,
    WORDS_MAX = 256,   /* of a question that are looked at for identifiers */
    PHRASE_WORDS = 6,  /* an identifier may have blanks in it */
    FOUND_MAX = 64
};

/* ---- identifiers that the question itself names ---- */

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
static bool is_mark(char c) { return strchr(".,;:?!\"'()[]{}`", c) != NULL && c != '\0'; }

static size_t split_words(mk_str text, mk_str *words)
{
    size_t count = 0;
    for (size_t i = 0; i < text.n && count < WORDS_MAX;) {
        while (i < text.n && is_blank(text.p[i]))
            i++;
        const size_t start = i;
        while (i < text.n && !is_blank(text.p[i]))
            i++;
        if (i > start)
            words[count++] = (mk_str){text.p + start, i - start};
    }
    return count;
}

static mk_str without_marks(mk_str s)
{
    while (s.n != 0 && is_mark(s.p[0]))
        s.p++, s.n--;
    while (s.n != 0 && is_mark(s.p[s.n - 1]))
        s.n--;
    return s;
}

/* What a person wrote down as an identifier, and is one, comes with the task. */
static mk_code collect_allowed(mk_asking *a, const mk_str **out, size_t *out_count, mk_err *err)
{
    const mk_ask_options *o = a->options;
    mk_str words[WORDS_MAX];
    const size_t n = split_words(a->out->question, words);
    mk_str *all = mk_arena_get(a->arena, (o->allowed_count + FOUND_MAX) * sizeof *all);
    size_t count = 0;
    if (all == NULL)
        return mk_fail_nomem(err);
    for (; count < o->allowed_count; count++)
        all[count] = o->allowed[count];
    for (size_t i = 0; i < n; i++)
        for (size_t len = 1; len <= PHRASE_WORDS && i + len <= n &&
             count < o->allowed_count + FOUND_MAX; len++) {
            const mk_str last = words[i + len - 1];
            const mk_str phrase = {words[i].p, (size_t)(last.p + last.n - words[i].p)};
            const mk_str bare = without_marks(phrase);
            if (bare.n != 0 && mk_view_entity(a->view, bare) != MK_NO_ID)
                all[count++] = bare;
            else if (mk_view_entity(a->view, phrase) != MK_NO_ID)
                all[count++] = phrase;
        }
    *out = all;
    *out_count = count;
    return MK_OK;
}

/* ---- notes ---- */

/* Notes that stand, over all that the store knows: which window the question means is for the model to
 * find. */
static mk_code collect_notes(mk_asking *a, const mk_view_stats *stats, mk_str *texts, size_t *count,
                             mk_err *err)
{
    mk_note *notes;
    size_t n;
    mk_code rc = MK_OK;
    *count = 0;
    if (a->options->no_memory || !stats->has_extent)
        goto out;
    MK_TRY(rc, mk_memory_find(a->store, (mk_tt){a->out->as_of_tt}, stats->vt_min, stats->vt_max, NOTES_MAX,
                              a->arena,
                              &notes, &n, err));
    for (; *count < n; (*count)++)
        texts[*count] = notes[*count].text;
out:
    return rc;
}

/* ---- the conversation ---- */

static void forward(void *ctx, size_t attempt, bool rejected, mk_str detail)
{
    (void)attempt;
    mk_ask__event(ctx, rejected ? MK_ASK_REJECTED : MK_ASK_ATTEMPT, MK_STR("model"), detail, !rejected, 0);
}

static mk_code miss_violations(mk_asking *a, const mk_plan_report *report, mk_err *err)
{
    mk_code rc = mk_ask__miss(a, err, "the model wrote no plan that may run");
    for (size_t i = 0; rc == MK_OK && i < report->violation_count; i++)
        rc = mk_ask__miss(a, err, "%.*s", MK_STR_ARG(report->violations[i].message));
    return rc;
}

/* Plans and runs until a run has no error that another plan may avoid. *trace is that of the last run. */
static mk_code converse(mk_asking *a, mk_plan_model *planner, const mk_json **trace, mk_err *err)
{
    mk_ask_result *out = a->out;
    mk_plan_model_result plan;
    mk_str errors = {0};
    mk_code rc;
    *trace = NULL;
    do {
        MK_TRY(rc, mk_plan_model_next(planner, errors, &plan, err));
        out->attempts = plan.attempts;
        out->first_valid = plan.first_valid;
        out->prompts = plan.record;
        if (!plan.planned) {
            /* An earlier plan that ran and failed is no better than none. */
            *trace = NULL;
            out->plan = (mk_str){0};
            rc = miss_violations(a, &plan.report, err);
            goto out;
        }
        out->plan = plan.plan;
        a->checked = plan.report;
        MK_TRY(rc, mk_ask__run(a, trace, err));
        MK_TRY(rc, mk_plan_model_errors(*trace, a->arena, &errors, err));
    } while (errors.n != 0 && plan.budget_left);
out:
    return rc;
}

mk_code mk_ask__with_model(mk_asking *a, mk_err *err)
{
    mk_str notes[NOTES_MAX];
    mk_prompt_task task = {.question = a->out->question, .grounded = true, .notes = notes};
    mk_plan_model *planner = NULL;
    const mk_json *trace;
    mk_view_stats stats;
    mk_code rc;
    a->out->planner = "model";
    mk_view_get_stats(a->view, &stats);
    MK_TRY(rc, collect_allowed(a, &task.allowed, &task.allowed_count, err));
    MK_TRY(rc, collect_notes(a, &stats, notes, &task.note_count, err));
    const mk_plan_check_options check = {.stats = &stats,
                                         .ceilings = a->options->ceilings,
                                         .time_scale = a->options->time_scale,
                                         .allowed = task.allowed,
                                         .allowed_count = task.allowed_count,
                                         .ground = true,
                                         .no_contracts = a->options->no_contracts};
    const mk_plan_model_options options = {
        .model = a->options->model, .task = &task, .check = &check, .event = forward, .event_ctx = a};
    MK_TRY(rc, mk_plan_model_open(a->view, &options, a->arena, &planner, err));
    MK_TRY(rc, converse(a, planner, &trace, err));
    if (trace != NULL)
        rc = mk_ask__report(a, trace, a->options->model, err);
out:
    mk_plan_model_close(planner);
    return rc;
}

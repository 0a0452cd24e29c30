/* offline.c — the planner without a model: what it is given, what it gives. See offline.h. Layer: agent. */
#include "agent/offline_internal.h"

#include <stdarg.h>
#include <stdio.h>

#define QUESTION_MAX 4096
#define MISSING_MAX 12

/* ---- results ---- */

mk_code mk_off__missing(mk_off *q, const char *fmt, ...)
{
    char text[400];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    mk_offline_result *out = q->out;
    if (out->missing == NULL) {
        out->missing = mk_arena_get0(q->arena, MISSING_MAX * sizeof *out->missing);
        if (out->missing == NULL)
            return mk_fail_nomem(q->err);
    }
    if (out->missing_count == MISSING_MAX)
        return MK_OK;
    mk_str copy = mk_arena_copy(q->arena, mk_str_of(text));
    if (copy.p == NULL)
        return mk_fail_nomem(q->err);
    while (copy.n > 0 && mk_utf8_check(copy) != copy.n) /* where the text was cut */
        copy.n--;
    out->missing[out->missing_count++] = copy;
    return MK_OK;
}

mk_code mk_off__plan(mk_off *q, const mk_buf *steps, const char *kind, const char *from,
                     const mk_buf *understood)
{
    mk_buf raw, plan;
    mk_code rc;
    mk_buf_init(&raw, q->arena->alloc);
    mk_buf_init(&plan, q->arena->alloc);
    mk_buf_z(&raw, "{\"plan_id\":\"offline\",\"question\":");
    mk_canon_string(&raw, q->question);
    mk_buf_z(&raw, ",\"steps\":[");
    mk_buf_str(&raw, mk_buf_view(steps));
    mk_buf_printf(&raw, "],\"answer_spec\":{\"kind\":\"%s\",\"from\":\"%s\"}}", kind, from);
    MK_TRY(rc, mk_buf_done(steps, q->err));
    MK_TRY(rc, mk_buf_done(understood, q->err));
    MK_TRY(rc, mk_buf_done(&raw, q->err));
    MK_TRY(rc, mk_canon_text(&plan, q->arena, mk_buf_view(&raw), NULL, q->err));
    q->out->plan = mk_arena_copy(q->arena, mk_buf_view(&plan));
    q->out->understood = mk_arena_copy(q->arena, mk_buf_view(understood));
    if (q->out->plan.p == NULL || q->out->understood.p == NULL) {
        rc = mk_fail_nomem(q->err);
        goto out;
    }
    q->out->planned = true;
    q->out->has_as_of_tt = q->has_belief;
    q->out->as_of_tt = q->belief;
out:
    mk_buf_free(&raw);
    mk_buf_free(&plan);
    return rc;
}

/* ---- words for times ---- */

void mk_off__put_window(const mk_off *q, mk_buf *out)
{
    const int64_t lo = q->has_window ? q->t_a : q->has_extent ? q->vt_min : 0;
    const int64_t hi = q->has_window ? q->t_b : q->has_extent ? q->vt_max : 1;
    mk_buf_printf(out, ",\"window\":{\"t_a\":%lld,\"t_b\":%lld}", (long long)(lo < 0 ? 0 : lo),
                  (long long)hi);
    if (q->has_belief)
        mk_buf_printf(out, ",\"as_of_tt\":%lld", (long long)q->belief);
}

void mk_off__say_times(const mk_off *q, mk_buf *out)
{
    if (q->has_window) {
        mk_buf_z(out, " from ");
        mk_off__put_time(out, q->t_a);
        mk_buf_z(out, " up to, not including, ");
        mk_off__put_time(out, q->t_b);
    } else {
        mk_buf_z(out, " in all of the data");
    }
    if (q->has_belief) {
        mk_buf_z(out, ", as believed at ");
        mk_off__put_time(out, q->belief);
    }
}

/* ---- reading ---- */

static mk_code check_text(mk_str question, mk_err *err)
{
    if (question.n > QUESTION_MAX) {
        mk_fail(err, MK_E_INVALID_ARG, "the question has %zu bytes; at most %d are read", question.n,
                QUESTION_MAX);
        return MK_E_INVALID_ARG;
    }
    const size_t bad = mk_utf8_check(question);
    if (bad == question.n)
        return MK_OK;
    mk_fail(err, MK_E_INVALID_ARG, "the question is not UTF-8");
    mk_err_offset(err, (int64_t)bad);
    return MK_E_INVALID_ARG;
}

mk_code mk_offline_plan(mk_store *store, mk_view *view, mk_str question, const mk_offline_options *options,
                        mk_arena *arena, mk_offline_result *out, mk_err *err)
{
    static const mk_offline_options plain;
    mk_view_stats stats;
    mk_code rc;
    *out = (mk_offline_result){.planned = false};
    MK_TRY(rc, check_text(question, err));
    mk_off *q = mk_arena_get0(arena, sizeof *q);
    if (q == NULL)
        return mk_fail_nomem(err);
    mk_view_get_stats(view, &stats);
    *q = (mk_off){.store = store,
                  .view = view,
                  .arena = arena,
                  .options = options != NULL ? options : &plain,
                  .out = out,
                  .err = err,
                  .question = question,
                  .has_extent = stats.has_extent,
                  .vt_min = stats.vt_min,
                  .vt_max = stats.vt_max};
    mk_off__tokens(q);
    mk_off__times(q);
    MK_TRY(rc, mk_off__names(q));
    rc = mk_off__frames(q);
out:
    return rc;
}

/* ---- questions that this store can answer ---- */

static mk_code try_example(mk_store *store, mk_view *view, mk_arena *arena, const mk_buf *text,
                           mk_str *questions, size_t *count, size_t max, mk_err *err)
{
    mk_offline_result result;
    mk_code rc = mk_buf_done(text, err);
    if (rc != MK_OK || *count == max)
        return rc;
    const mk_str question = mk_arena_copy(arena, mk_buf_view(text));
    if (question.p == NULL)
        return mk_fail_nomem(err);
    rc = mk_offline_plan(store, view, question, NULL, arena, &result, err);
    if (rc == MK_OK && result.planned)
        questions[(*count)++] = question;
    return rc;
}

typedef struct some_uid {
    mk_str uid;
    mk_arena *arena;
    size_t seen;
    mk_view *view;
} some_uid;

/* An entity with several versions is worth asking about; otherwise the first one. */
static bool take_uid(void *ctx, const mk_node_ref *ref)
{
    some_uid *s = ctx;
    const mk_str uid = mk_view_uid(s->view, ref->uid);
    if (s->uid.n == 0 && memchr(uid.p, ' ', uid.n) == NULL)
        s->uid = mk_arena_copy(s->arena, uid);
    return ++s->seen < 50 && s->uid.n == 0;
}

static void put_date(mk_buf *out, int64_t us)
{
    char text[MK_TIME_TEXT_MAX];
    const size_t n = mk_time_text(text, us);
    mk_buf_put(out, text, n > 10 ? 10 : n);
}

mk_code mk_offline_examples(mk_store *store, mk_view *view, mk_arena *arena, size_t max, mk_str *questions,
                            size_t *count, mk_err *err)
{
    some_uid found = {.arena = arena, .view = view};
    mk_view_stats stats;
    mk_buf text;
    mk_code rc;
    *count = 0;
    mk_buf_init(&text, arena->alloc);
    mk_view_get_stats(view, &stats);
    rc = mk_view_nodes(view, INT64_MIN, INT64_MAX, take_uid, &found, err);
    if (rc == MK_E_CANCELLED)
        rc = MK_OK; /* one was found */
    MK_TRY(rc, rc);
    for (int i = 0; i < 7 && *count < max && stats.has_extent; i++) {
        mk_buf_clear(&text);
        if (i >= 3 && i <= 5 && found.uid.n == 0)
            continue;
        switch (i) {
        case 0: mk_buf_z(&text, "How many events are there"); break;
        case 1: mk_buf_z(&text, "Which node sent the most events"); break;
        case 2: mk_buf_z(&text, "How many nodes appeared for the first time"); break;
        case 3: mk_buf_printf(&text, "How many nodes can be reached from %.*s", MK_STR_ARG(found.uid)); break;
        case 4: mk_buf_printf(&text, "How many versions does %.*s have now?", MK_STR_ARG(found.uid)); break;
        case 5: mk_buf_printf(&text, "Which nodes received events from %.*s", MK_STR_ARG(found.uid)); break;
        default: mk_buf_z(&text, "What is the reciprocity of interactions"); break;
        }
        if (i != 4) {
            const bool short_span = (stats.vt_min / 86400000000) == ((stats.vt_max - 1) / 86400000000);
            mk_buf_z(&text, short_span ? " on " : " between ");
            put_date(&text, stats.vt_min);
            if (!short_span) {
                mk_buf_z(&text, " and ");
                put_date(&text, stats.vt_max - 1);
            }
            mk_buf_c(&text, '?');
        }
        MK_TRY(rc, try_example(store, view, arena, &text, questions, count, max, err));
    }
out:
    mk_buf_free(&text);
    return rc;
}

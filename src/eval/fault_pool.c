/* fault_pool.c — running plans into answers that are known to be right. Layer: eval. */
#include "eval/fault_pool.h"

#include <stdlib.h>

#include "eval/score.h"
#include "eval/trial.h"

#define BURSTS_CLAIMED 2
#define UIDS_MAX 20000 /* noted over all results; further ones are not needed */

typedef struct filling {
    mk_store *store;
    mk_fault_pool *pool;
    mk_objects *objects;
    mk_trial_options how;
    mk_err *err;
} filling;

static mk_code keep(filling *f, mk_buf *text, mk_str *out)
{
    mk_code rc = mk_buf_done(text, f->err);
    if (rc == MK_OK) {
        *out = mk_arena_copy(f->pool->arena, mk_buf_view(text));
        rc = out->p != NULL ? MK_OK : mk_fail_nomem(f->err);
    }
    mk_buf_free(text);
    return rc;
}

/* ---- results ---- */

static mk_code read_step(filling *f, const mk_json *step, mk_fault_step *out)
{
    const mk_json *digest = mk_json_get(step, "result_digest");
    char name[65];
    mk_json *payload;
    mk_str text;
    mk_code rc;
    if (digest == NULL || digest->kind != MK_JSON_STRING || digest->text.n != 64)
        return mk_fail(f->err, MK_E_INTERNAL, "a step that is done names no result");
    memcpy(name, digest->text.p, 64);
    name[64] = '\0';
    MK_TRY(rc, f->objects->get(f->objects, name, f->pool->arena, &text, f->err));
    MK_TRY(rc, mk_json_parse(f->pool->arena, text, NULL, &payload, f->err));
    *out = (mk_fault_step){mk_json_get(step, "step_id")->text, mk_json_get(step, "op")->text, payload};
out:
    return rc;
}

static mk_code read_steps(filling *f, mk_str trace, mk_fault_answer *out)
{
    mk_json *tree;
    mk_code rc;
    MK_TRY(rc, mk_json_parse(f->pool->arena, trace, NULL, &tree, f->err));
    const mk_json *steps = mk_json_get(tree, "steps");
    out->steps = mk_arena_get(f->pool->arena, steps->n * sizeof *out->steps);
    if (out->steps == NULL)
        return mk_fail_nomem(f->err);
    for (size_t i = 0; rc == MK_OK && i < steps->n; i++)
        if (mk_str_eq(mk_json_get(&steps->items[i], "status")->text, MK_STR("ok")))
            rc = read_step(f, &steps->items[i], &out->steps[out->step_count++]);
out:
    return rc;
}

static int by_time(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static bool is_time_key(mk_str key)
{
    static const char *const names[] = {"t",    "t_a",  "t_b",
                                        "vt_s", "vt_e", "earliest_arrival", "latest_departure"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (mk_str_eq(key, mk_str_of(names[i])))
            return true;
    return false;
}

mk_code mk_fault_times(const mk_json *payload, mk_arena *arena, int64_t **out, size_t *count, mk_err *err)
{
    const mk_json *rows = mk_json_get(payload, "rows");
    size_t most = 0, n = 0;
    *count = 0;
    for (size_t i = 0; rows != NULL && rows->kind == MK_JSON_ARRAY && i < rows->n; i++)
        most += rows->items[i].kind == MK_JSON_OBJECT ? rows->items[i].n : 0;
    int64_t *times = *out = mk_arena_get(arena, most * sizeof *times);
    if (times == NULL)
        return mk_fail_nomem(err);
    for (size_t i = 0; most > 0 && i < rows->n; i++)
        for (size_t k = 0; rows->items[i].kind == MK_JSON_OBJECT && k < rows->items[i].n; k++) {
            const mk_member *m = &rows->items[i].members[k];
            const bool is_closed = m->value.kind == MK_JSON_INT && !m->value.b && m->value.i < MK_OPEN_END;
            if (is_closed && is_time_key(m->key))
                times[n++] = m->value.i;
        }
    if (n > 0)
        qsort(times, n, sizeof *times, by_time);
    for (size_t i = 0; i < n; i++)
        if (*count == 0 || times[*count - 1] != times[i])
            times[(*count)++] = times[i];
    return MK_OK;
}

/* ---- claims that are true by construction ---- */

static mk_code put_ordering(filling *f, mk_buf *out, const mk_fault_step *step)
{
    int64_t *times;
    size_t count;
    const mk_code rc = mk_fault_times(step->payload, f->pool->arena, &times, &count, f->err);
    if (rc != MK_OK || count < 2)
        return rc;
    mk_buf_printf(out,
                  ",{\"a\":{\"t\":%lld},\"b\":{\"t\":%lld},\"evidence\":[\"%.*s\"],\"from\":\"%.*s.rows\","
                  "\"id\":\"order_%.*s\",\"relation\":\"before\",\"type\":\"ordering\"}",
                  (long long)times[0], (long long)times[count - 1], MK_STR_ARG(step->id),
                  MK_STR_ARG(step->id), MK_STR_ARG(step->id));
    return MK_OK;
}

static void put_bursts(mk_buf *out, const mk_fault_step *step)
{
    const mk_json *rows = mk_json_get(step->payload, "rows");
    if (!mk_str_eq(step->op, MK_STR("burst_detection")) || rows == NULL || rows->kind != MK_JSON_ARRAY)
        return;
    for (size_t i = 0; i < rows->n && i < BURSTS_CLAIMED; i++)
        mk_buf_printf(out,
                      ",{\"assertion\":\"burst\",\"evidence\":[\"%.*s\"],\"from\":\"%.*s.rows[%zu]\",\"id\":"
                      "\"burst_%.*s_%zu\",\"interval\":{\"end\":%lld,\"start\":%lld},\"type\":\"pattern\"}",
                      MK_STR_ARG(step->id), MK_STR_ARG(step->id), i, MK_STR_ARG(step->id), i,
                      (long long)mk_json_get(&rows->items[i], "t_b")->i,
                      (long long)mk_json_get(&rows->items[i], "t_a")->i);
}

/* The first claim once more, as what was believed at the time that its plan is pinned to. */
static mk_code put_belief(filling *f, mk_buf *out, const mk_json *claim, int64_t as_of_tt)
{
    const mk_json *from = mk_json_get(claim, "from"), *evidence = mk_json_get(claim, "evidence");
    mk_code rc;
    if (from == NULL)
        return MK_OK;
    mk_buf_printf(out, ",{\"as_of_tt\":%lld,\"claim\":", (long long)as_of_tt);
    MK_TRY(rc, mk_canon_tree(out, f->pool->arena, claim, f->err));
    mk_buf_z(out, ",\"evidence\":");
    MK_TRY(rc, mk_canon_tree(out, f->pool->arena, evidence, f->err));
    mk_buf_z(out, ",\"from\":");
    mk_canon_string(out, from->text);
    mk_buf_z(out, ",\"id\":\"belief\",\"type\":\"belief\"}");
out:
    return rc;
}

/* ---- pinned plans ---- */

/* The one transaction time that steps of the plan are pinned to. */
static bool pinned_to(const mk_json *plan, int64_t *tt)
{
    const mk_json *steps = mk_json_get(plan, "steps");
    bool any = false;
    for (size_t i = 0; i < steps->n; i++) {
        const mk_json *as_of = mk_json_get(mk_json_get(&steps->items[i], "args"), "as_of_tt");
        if (as_of == NULL || as_of->kind != MK_JSON_INT || as_of->b || as_of->i >= MK_OPEN_END)
            continue;
        if (any && as_of->i != *tt)
            return false;
        *tt = as_of->i;
        any = true;
    }
    return any;
}

/* Copies an object without a member. */
static bool without(mk_arena *arena, mk_json *object, const char *name)
{
    mk_member *members = mk_arena_get(arena, object->n * sizeof *members);
    size_t n = 0;
    if (members == NULL)
        return false;
    for (size_t i = 0; i < object->n; i++)
        if (!mk_str_eq(object->members[i].key, mk_str_of(name)))
            members[n++] = object->members[i];
    object->members = members;
    object->n = n;
    return true;
}

static mk_json *member(mk_json *object, const char *name)
{
    return (mk_json *)mk_json_get(object, name); /* of a tree that is ours */
}

static mk_code first_claim(filling *f, mk_str answer, const mk_json **claim)
{
    mk_json *tree;
    const mk_code rc = mk_json_parse(f->pool->arena, answer, NULL, &tree, f->err);
    *claim = NULL;
    if (rc == MK_OK && mk_json_get(tree, "claims")->n > 0)
        *claim = &mk_json_get(tree, "claims")->items[0];
    return rc;
}

static mk_code run_tree(filling *f, const mk_json *plan, mk_trial *trial)
{
    mk_buf text;
    mk_str canon = {0};
    mk_code rc;
    mk_buf_init(&text, f->pool->arena->alloc);
    rc = mk_canon_tree(&text, f->pool->arena, plan, f->err);
    if (rc != MK_OK) {
        mk_buf_free(&text);
        return rc;
    }
    MK_TRY(rc, keep(f, &text, &canon));
    rc = mk_trial_run(f->store, canon, &f->how, f->objects, f->pool->arena, trial, f->err);
out:
    return rc;
}

/* The same plan under current belief; its first claim, when that says something else. */
static mk_code find_other(filling *f, const mk_eval_task *task, const mk_json *claim, const mk_json **other)
{
    static const char *const said[] = {"value", "uids", "interval"};
    mk_trial trial;
    mk_json *plan;
    mk_code rc;
    MK_TRY(rc, mk_json_parse(f->pool->arena, task->plan, NULL, &plan, f->err));
    mk_json *steps = member(plan, "steps");
    for (size_t i = 0; i < steps->n; i++)
        if (!without(f->pool->arena, member(&steps->items[i], "args"), "as_of_tt"))
            return mk_fail_nomem(f->err);
    MK_TRY(rc, run_tree(f, plan, &trial));
    if (!trial.reported)
        goto out;
    MK_TRY(rc, first_claim(f, trial.answer, other));
    for (size_t i = 0; *other != NULL && i < sizeof said / sizeof *said; i++) {
        const mk_json *then = mk_json_get(claim, said[i]), *now = mk_json_get(*other, said[i]);
        mk_score same;
        if (then == NULL || now == NULL)
            continue;
        MK_TRY(rc, mk_score_answer(MK_STR("text"), then, now, f->pool->arena, &same, f->err));
        if (same.em == 0)
            goto out;
    }
    *other = NULL;
out:
    return rc;
}

/* ---- answers ---- */

static mk_code put_claims(filling *f, mk_buf *out, const mk_fault_answer *answer, const mk_json *claims,
                          bool pinned, int64_t as_of_tt)
{
    mk_code rc = MK_OK;
    for (size_t i = 0; i < claims->n; i++) {
        mk_buf_z(out, i > 0 ? "," : "");
        MK_TRY(rc, mk_canon_tree(out, f->pool->arena, &claims->items[i], f->err));
    }
    if (pinned)
        MK_TRY(rc, put_belief(f, out, &claims->items[0], as_of_tt));
    for (size_t i = 0; i < answer->step_count; i++) {
        MK_TRY(rc, put_ordering(f, out, &answer->steps[i]));
        put_bursts(out, &answer->steps[i]);
    }
out:
    return rc;
}

static mk_code enrich(filling *f, const mk_trial *trial, bool pinned, int64_t as_of_tt, mk_fault_answer *out,
                      bool *any)
{
    mk_json *tree;
    mk_buf text;
    mk_code rc;
    MK_TRY(rc, mk_json_parse(f->pool->arena, trial->answer, NULL, &tree, f->err));
    const mk_json *claims = mk_json_get(tree, "claims");
    *any = claims->n > 0;
    if (!*any)
        goto out;
    mk_buf_init(&text, f->pool->arena->alloc);
    mk_buf_z(&text, "{\"claims\":[");
    rc = put_claims(f, &text, out, claims, pinned, as_of_tt);
    if (rc != MK_OK) {
        mk_buf_free(&text);
        goto out;
    }
    mk_buf_z(&text, "],\"text\":");
    mk_canon_string(&text, mk_json_get(tree, "text")->text);
    mk_buf_c(&text, '}');
    rc = keep(f, &text, &out->answer);
out:
    return rc;
}

static mk_code add_answer(filling *f, const mk_fault_answer *answer)
{
    mk_fault_pool *pool = f->pool;
    if (pool->count == pool->cap) {
        const size_t cap = pool->cap > 0 ? 2 * pool->cap : 256;
        mk_fault_answer *more = mk_arena_get(pool->arena, cap * sizeof *more);
        if (more == NULL)
            return mk_fail_nomem(f->err);
        if (pool->count > 0)
            memcpy(more, pool->answers, pool->count * sizeof *more);
        pool->answers = more;
        pool->cap = cap;
    }
    pool->answers[pool->count++] = *answer;
    return MK_OK;
}

/* ---- the same plan, cut ---- */

static bool has_more_rows(const mk_fault_step *step)
{
    const mk_json *rows = mk_json_get(step->payload, "rows");
    const mk_json *total = mk_json_get(step->payload, "rows_total");
    return rows != NULL && rows->kind == MK_JSON_ARRAY && total != NULL && total->kind == MK_JSON_INT &&
           !total->b && total->i > MK_FAULT_CUT;
}

/* Sets args.limit in a copy; args may have it already. */
static bool limit_to(mk_arena *arena, mk_json *args, int64_t limit)
{
    mk_member *members = mk_arena_get(arena, (args->n + 1) * sizeof *members);
    if (members == NULL || !without(arena, args, "limit"))
        return false;
    if (args->n > 0)
        memcpy(members, args->members, args->n * sizeof *members);
    members[args->n] = (mk_member){MK_STR("limit"), {.kind = MK_JSON_INT, .i = limit}};
    args->members = members;
    args->n++;
    return true;
}

/* The plan up to its last step with more than three rows, that step cut to three, asking for how many there
 * are: which a cut page says rightly. */
static mk_code cut_plan(filling *f, const mk_eval_task *task, const mk_fault_answer *whole, mk_json **plan,
                        mk_str *cut)
{
    const mk_fault_step *last = NULL;
    mk_buf path;
    mk_code rc;
    for (size_t i = 0; i < whole->step_count; i++)
        if (has_more_rows(&whole->steps[i]) && !mk_str_eq(whole->steps[i].op, MK_STR("compute")))
            last = &whole->steps[i];
    if (last == NULL)
        return MK_OK;
    MK_TRY(rc, mk_json_parse(f->pool->arena, task->plan, NULL, plan, f->err));
    mk_json *steps = member(*plan, "steps"), *spec = member(*plan, "answer_spec");
    size_t at = 0;
    while (!mk_str_eq(mk_json_get(&steps->items[at], "id")->text, last->id))
        at++;
    steps->n = at + 1;
    if (!limit_to(f->pool->arena, member(&steps->items[at], "args"), MK_FAULT_CUT))
        return mk_fail_nomem(f->err);
    mk_buf_init(&path, f->pool->arena->alloc);
    mk_buf_printf(&path, "%.*s.rows_total", MK_STR_ARG(last->id));
    MK_TRY(rc, keep(f, &path, &member(spec, "from")->text));
    member(spec, "kind")->text = MK_STR("count");
    *cut = (mk_str){member(spec, "from")->text.p, member(spec, "from")->text.n - strlen("_total")};
out:
    return rc;
}

static mk_code add_cut(filling *f, const mk_eval_task *task, const mk_fault_answer *whole)
{
    mk_fault_answer out = {.task = whole->task};
    mk_json *plan = NULL;
    mk_trial trial;
    mk_code rc;
    MK_TRY(rc, cut_plan(f, task, whole, &plan, &out.cut));
    if (plan == NULL)
        goto out;
    MK_TRY(rc, run_tree(f, plan, &trial));
    if (!trial.reported)
        goto out;
    MK_TRY(rc, read_steps(f, trial.trace.json, &out));
    out.answer = trial.answer;
    out.evidence = trial.evidence;
    rc = add_answer(f, &out);
out:
    return rc;
}

/* ---- one plan ---- */

static mk_code note_result_uids(filling *f, const mk_json *payload)
{
    mk_fault_pool *pool = f->pool;
    mk_str *uids, *all;
    size_t count, n = 0;
    mk_code rc;
    MK_TRY(rc, mk_score_uids(payload, pool->arena, &uids, &count, f->err));
    if (count == 0 || pool->uid_count + count > UIDS_MAX)
        goto out;
    all = mk_arena_get(pool->arena, (pool->uid_count + count) * sizeof *all);
    if (all == NULL)
        return mk_fail_nomem(f->err);
    for (size_t a = 0, b = 0; a < pool->uid_count || b < count;) {
        const int order = a == pool->uid_count ? 1 : b == count ? -1 : mk_str_cmp(pool->uids[a], uids[b]);
        all[n++] = order <= 0 ? pool->uids[a] : uids[b];
        a += order <= 0;
        b += order >= 0;
    }
    pool->uids = all;
    pool->uid_count = n;
out:
    return rc;
}

static mk_code add_task(filling *f, const mk_eval_task *task)
{
    mk_fault_answer out = {.task = task->id};
    const mk_json *claim;
    int64_t as_of_tt = 0;
    mk_trial trial;
    bool any = false;
    mk_code rc;
    MK_TRY(rc, mk_trial_run(f->store, task->plan, &f->how, f->objects, f->pool->arena, &trial, f->err));
    if (!trial.reported)
        goto out;
    const bool pinned = pinned_to(trial.check.plan.json, &as_of_tt);
    MK_TRY(rc, read_steps(f, trial.trace.json, &out));
    MK_TRY(rc, enrich(f, &trial, pinned, as_of_tt, &out, &any));
    if (!any)
        goto out;
    out.evidence = trial.evidence;
    if (pinned) {
        MK_TRY(rc, first_claim(f, trial.answer, &claim));
        MK_TRY(rc, find_other(f, task, claim, &out.other));
    }
    for (size_t i = 0; i < out.step_count; i++)
        MK_TRY(rc, note_result_uids(f, out.steps[i].payload));
    MK_TRY(rc, add_answer(f, &out));
    rc = add_cut(f, task, &out);
out:
    return rc;
}

mk_code mk_fault_pool_fill(mk_store *store, const mk_eval_task *tasks, size_t count, unsigned mask,
                           const atomic_bool *cancelled, mk_objects *objects, mk_fault_pool *pool,
                           mk_err *err)
{
    filling f = {.store = store,
                 .pool = pool,
                 .objects = objects,
                 .how = {.mask = mask, .strict = true, .cancelled = cancelled},
                 .err = err};
    mk_code rc = MK_OK;
    for (size_t i = 0; rc == MK_OK && i < count; i++)
        if (tasks[i].plan_is_gold)
            rc = add_task(&f, &tasks[i]);
    return rc;
}

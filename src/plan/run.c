/* run.c — running a plan. See run.h. Layer: plan.
 *
 * Steps run by generations: all whose dependencies are done, together. Their arguments are made and their
 * results taken in the order of the plan, and budgets are dealt out before a generation starts, so that a
 * trace is the same however many threads there are. Source: agent spec, 7. */
#include <stdio.h>

#include "base/pool.h"
#include "plan/run_internal.h"

#define CALL_MEMORY ((size_t)1 << 30)

static int64_t now_us(const mk_running *r) { return r->clock->now_us(r->clock->ctx); }

static void tell(const mk_running *r, mk_run_event_kind kind, const mk_step_run *s)
{
    mk_run_event event = {.kind = kind, .ok = true};
    if (r->options->event == NULL)
        return;
    if (s != NULL) {
        event.step_id = s->step->id;
        event.op = s->step->op_name;
        event.ok = s->status != MK_STEP_FAILED && s->status != MK_STEP_SKIPPED;
        event.rows = s->rows;
        event.wall_ms = s->wall_ms;
    }
    r->options->event(r->options->event_ctx, &event);
}

/* ---- before a step's call ---- */

static void end_step(mk_step_run *s, mk_step_status status) { s->status = status; }

/* Whether the step may start; otherwise it is skipped, with the reason. */
static bool may_start(mk_running *r, mk_step_run *s)
{
    for (size_t i = 0; i < s->step->depend_count; i++) {
        const mk_step_run *on = &r->steps[s->step->depends[i]];
        if (on->status == MK_STEP_OK)
            continue;
        mk_fail(&s->err, MK_E_STATE, "step %.*s did not complete, so this one has nothing to work with",
                MK_STR_ARG(on->step->id));
        mk_err_reason(&s->err, "upstream");
        end_step(s, MK_STEP_SKIPPED);
        return false;
    }
    const int64_t wall = r->options->wall_us > 0 ? r->options->wall_us : MK_PLAN_WALL_US;
    if (r->options->cancelled != NULL && atomic_load(r->options->cancelled)) {
        mk_fail(&s->err, MK_E_CANCELLED, "cancelled before this step");
    } else if (now_us(r) - r->started_us > wall) {
        mk_fail(&s->err, MK_E_LIMIT, "the plan has run for %lld ms, its limit", (long long)(wall / 1000));
        mk_err_hint(&s->err, "narrow windows and filters, or raise the limit");
        mk_err_extra(&s->err, "\"limit\":\"wall\"", 14);
    } else {
        return true;
    }
    end_step(s, MK_STEP_SKIPPED);
    return false;
}

static bool prepare(mk_running *r, size_t step)
{
    mk_step_run *s = &r->steps[step];
    size_t count;
    if (!may_start(r, s))
        return false;
    if (s->step->op == NULL) {
        const mk_operator *near = mk_operator_near(s->step->op_name);
        (void)mk_operators(&count);
        mk_fail(&s->err, MK_E_NOT_FOUND, "there is no operator '%.*s'",
                (int)(s->step->op_name.n > 60 ? 60 : s->step->op_name.n), s->step->op_name.p);
        if (near != NULL)
            mk_err_hint(&s->err, "did you mean %s?", near->name);
    } else if (mk_run__args(r, step, &s->err) == MK_OK) {
        return true;
    }
    end_step(s, MK_STEP_FAILED);
    return false;
}

/* ---- the calls of a generation ---- */

typedef struct generation {
    mk_running *r;
    size_t steps[MK_PLAN_STEPS_MAX];
    size_t count;
    size_t row_budget;
} generation;

static mk_code call_step(void *arg, size_t index, mk_err *err)
{
    generation *g = arg;
    mk_running *r = g->r;
    const mk_plan_run_options *o = r->options;
    mk_step_run *s = &r->steps[g->steps[index]];
    const int64_t began = now_us(r);
    const int64_t wall = r->started_us + (o->wall_us > 0 ? o->wall_us : MK_PLAN_WALL_US);
    const int64_t own = o->step_us > 0 ? began + o->step_us : wall;
    const mk_call_options options = {.mask = o->mask, .time_scale = o->time_scale, .ceilings = o->ceilings,
                                     .row_budget = g->row_budget, .clock = r->clock,
                                     .deadline_us = own < wall ? own : wall, .cancelled = o->cancelled};
    (void)err;
    s->arena.limit = o->memory_max != 0 ? o->memory_max : CALL_MEMORY;
    s->called = true;
    s->rc = mk_call_run(r->store, NULL, s->step->op_name, s->args, &options, &s->arena, &s->result, &s->err);
    s->wall_ms = (double)(now_us(r) - began) / 1000.0;
    return MK_OK; /* a step that fails does not end the others */
}

/* ---- after it ---- */

static uint64_t materialised(const mk_json *payload)
{
    uint64_t rows = 0;
    for (size_t i = 0; i < payload->n; i++)
        if (payload->members[i].value.kind == MK_JSON_ARRAY)
            rows += payload->members[i].value.n;
    return rows;
}

static void over_budget(mk_running *r, mk_step_run *s, uint64_t budget)
{
    mk_fail(&s->err, MK_E_LIMIT, "the plan's steps have %llu rows together, more than its %llu",
            (unsigned long long)r->rows, (unsigned long long)budget);
    mk_err_hint(&s->err, "narrow the windows, or let an operator count in place of listing");
    mk_err_extra(&s->err, "\"limit\":\"rows\"", 14);
    s->payload = NULL;
    end_step(s, MK_STEP_FAILED);
}

static mk_code take_result(mk_running *r, size_t step, mk_err *err)
{
    mk_step_run *s = &r->steps[step];
    const uint64_t budget = r->options->row_budget != 0 ? r->options->row_budget : MK_PLAN_ROWS_MAX;
    mk_json *payload;
    mk_code rc;
    if (s->rc == MK_E_NOMEM)
        return mk_fail_nomem(err);
    if (s->rc != MK_OK) {
        end_step(s, MK_STEP_FAILED);
        return MK_OK;
    }
    MK_TRY(rc, mk_json_parse(r->arena, mk_buf_view(&s->result.payload.text), NULL, &payload, err));
    s->payload = payload;
    const mk_json *total = mk_json_get(payload, "rows_total"), *rows = mk_json_get(payload, "rows");
    const mk_json *truncated = mk_json_get(payload, "truncated");
    const uint64_t here = materialised(payload);
    s->rows = rows != NULL && rows->kind == MK_JSON_ARRAY ? rows->n : here;
    s->rows_total = total != NULL && total->kind == MK_JSON_INT ? (uint64_t)total->i : s->rows;
    s->truncated = truncated != NULL && truncated->kind == MK_JSON_BOOL && truncated->b;
    memcpy(s->result_digest, s->result.digest, sizeof s->result_digest);
    r->rows += here;
    if (r->rows > budget) {
        over_budget(r, s, budget);
        goto out;
    }
    MK_TRY(rc, mk_run__record(r, step, err));
    end_step(s, MK_STEP_OK);
out:
    return rc;
}

static mk_code run_generation(mk_running *r, mk_pool **pool, const size_t *steps, size_t count, mk_err *err)
{
    const uint64_t budget = r->options->row_budget != 0 ? r->options->row_budget : MK_PLAN_ROWS_MAX;
    generation g = {.r = r, .row_budget = (size_t)(r->rows < budget ? budget - r->rows : 1)};
    mk_code rc = MK_OK;
    for (size_t i = 0; i < count; i++) {
        mk_step_run *s = &r->steps[steps[i]];
        tell(r, MK_EVENT_STEP_STARTED, s);
        if (prepare(r, steps[i]))
            g.steps[g.count++] = steps[i];
    }
    if (g.count > 1 && *pool == NULL) /* threads cost more than most steps, so not before they are of use */
        MK_TRY(rc, mk_pool_open(r->arena->alloc, r->options->threads, pool, err));
    MK_TRY(rc, mk_pool_run(g.count > 1 ? *pool : NULL, g.count, call_step, &g, err));
    for (size_t i = 0; i < g.count; i++)
        MK_TRY(rc, take_result(r, g.steps[i], err));
    for (size_t i = 0; i < count; i++)
        tell(r, MK_EVENT_STEP_FINISHED, &r->steps[steps[i]]);
out:
    return rc;
}

static bool is_ready(const mk_running *r, size_t step, const bool *done)
{
    const mk_plan_step *s = &r->plan->steps[step];
    for (size_t i = 0; i < s->depend_count; i++)
        if (!done[s->depends[i]])
            return false;
    return true;
}

static mk_code run_all(mk_running *r, mk_pool **pool, mk_err *err)
{
    const mk_plan *plan = r->plan;
    bool done[MK_PLAN_STEPS_MAX] = {false};
    size_t at = 0;
    mk_code rc = MK_OK;
    while (at < plan->step_count) {
        size_t count = 0;
        while (at + count < plan->step_count && is_ready(r, plan->order[at + count], done))
            count++;
        if (count == 0) { /* on a cycle, or behind one */
            for (; at < plan->step_count; at++) {
                mk_step_run *s = &r->steps[plan->order[at]];
                mk_fail(&s->err, MK_E_INVALID_ARG, "the step waits for itself");
                end_step(s, MK_STEP_FAILED);
            }
            break;
        }
        MK_TRY(rc, run_generation(r, pool, plan->order + at, count, err));
        for (size_t i = 0; i < count; i++)
            done[plan->order[at + i]] = true;
        at += count;
    }
out:
    return rc;
}

/* ---- the whole ---- */

static mk_code find_tt(mk_running *r, mk_err *err)
{
    const int64_t asked = r->options->as_of.us;
    mk_view *view;
    const mk_tt tt = {asked > 0 ? asked : MK_OPEN_END};
    const mk_code rc = mk_view_at(r->store, tt, r->options->mask, &view, err);
    if (rc != MK_OK)
        return rc;
    const int64_t effective = mk_view_effective_tt(view).us;
    r->tt = asked > 0 && asked < effective ? asked : effective;
    mk_view_close(view);
    return MK_OK;
}

mk_code mk_plan_run(mk_store *store, const mk_plan *plan, const mk_plan_run_options *options,
                    mk_objects *objects, mk_arena *arena, mk_trace *out, mk_err *err)
{
    static const mk_plan_run_options plain;
    mk_pool *pool = NULL;
    mk_code rc;
    *out = (mk_trace){.ok = false};
    mk_running *r = mk_arena_get0(arena, sizeof *r);
    if (r == NULL)
        return mk_fail_nomem(err);
    *r = (mk_running){.store = store,
                      .plan = plan,
                      .options = options != NULL ? options : &plain,
                      .objects = objects,
                      .arena = arena};
    r->clock = r->options->clock != NULL ? r->options->clock : &mk_clock_system;
    r->started_us = now_us(r);
    for (size_t i = 0; i < plan->step_count; i++) {
        r->steps[i].step = &plan->steps[i];
        mk_arena_init(&r->steps[i].arena, arena->alloc);
        mk_call_result_init(&r->steps[i].result, arena->alloc);
    }
    MK_TRY(rc, find_tt(r, err));
    MK_TRY(rc, run_all(r, &pool, err));
    MK_TRY(rc, mk_run__trace(r, out, err));
    tell(r, MK_EVENT_DONE, NULL);
out:
    mk_pool_close(pool);
    for (size_t i = 0; i < plan->step_count; i++) {
        mk_arena_free(&r->steps[i].arena);
        mk_call_result_free(&r->steps[i].result);
    }
    return rc;
}

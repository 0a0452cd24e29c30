/* replay.c — the same plan at the same belief, step by step beside what the bundle holds. Layer: agent. */
#include "agent/replay.h"

#define OBJECTS_MAX ((size_t)1 << 30)

static mk_str member(const mk_json *object, const char *key)
{
    const mk_json *value = mk_json_get(object, key);
    return value != NULL && value->kind == MK_JSON_STRING ? value->text : MK_STR("");
}

static const mk_json *step_named(const mk_json *trace, mk_str id)
{
    const mk_json *steps = mk_json_get(trace, "steps");
    for (size_t i = 0; steps != NULL && steps->kind == MK_JSON_ARRAY && i < steps->n; i++)
        if (mk_str_eq(member(&steps->items[i], "step_id"), id))
            return &steps->items[i];
    return NULL;
}

/* ---- comparing ---- */

static void compare_step(const mk_json *then, const mk_json *now, mk_replayed_step *out)
{
    const mk_json *any = then != NULL ? then : now;
    *out = (mk_replayed_step){.step_id = member(any, "step_id"),
                              .op = member(any, "op"),
                              .status_then = member(then, "status"),
                              .status_now = member(now, "status"),
                              .result_then = member(then, "result_digest"),
                              .result_now = member(now, "result_digest")};
    out->same = then != NULL && now != NULL && mk_str_eq(out->status_then, out->status_now) &&
                mk_str_eq(out->result_then, out->result_now) &&
                mk_str_eq(member(then, "call_digest"), member(now, "call_digest"));
}

static mk_code compare_steps(const mk_json *then, const mk_json *now, mk_arena *arena, mk_replay *out,
                             mk_err *err)
{
    const mk_json *old = mk_json_get(then, "steps"), *new = mk_json_get(now, "steps");
    const size_t n = old != NULL && old->kind == MK_JSON_ARRAY ? old->n : 0;
    const size_t m = new != NULL && new->kind == MK_JSON_ARRAY ? new->n : 0;
    out->steps = mk_arena_get(arena, (n + m) * sizeof *out->steps);
    if (out->steps == NULL)
        return mk_fail_nomem(err);
    out->same = true;
    for (size_t i = 0; i < n; i++)
        compare_step(&old->items[i], step_named(now, member(&old->items[i], "step_id")),
                     &out->steps[out->step_count++]);
    for (size_t i = 0; i < m; i++)
        if (step_named(then, member(&new->items[i], "step_id")) == NULL)
            compare_step(NULL, &new->items[i], &out->steps[out->step_count++]);
    for (size_t i = 0; i < out->step_count; i++)
        out->same = out->same && out->steps[i].same;
    return MK_OK;
}

static mk_code compare_answers(const mk_json *then, const mk_json *now, mk_arena *arena, mk_replay *out,
                               mk_err *err)
{
    static const mk_json none = {.kind = MK_JSON_NULL};
    const mk_json *old = mk_json_get(then, "answer"), *new = mk_json_get(now, "answer");
    mk_buf a, b;
    mk_code rc;
    mk_buf_init(&a, arena->alloc);
    mk_buf_init(&b, arena->alloc);
    MK_TRY(rc, mk_canon_tree(&a, arena, old != NULL ? old : &none, err));
    MK_TRY(rc, mk_canon_tree(&b, arena, new != NULL ? new : &none, err));
    MK_TRY(rc, mk_buf_done(&a, err));
    MK_TRY(rc, mk_buf_done(&b, err));
    out->same_answer = mk_str_eq(mk_buf_view(&a), mk_buf_view(&b));
    out->same = out->same && out->same_answer;
out:
    mk_buf_free(&b);
    mk_buf_free(&a);
    return rc;
}

/* ---- running ---- */

static mk_code plan_of(const mk_json *bundle, mk_arena *arena, mk_plan_report *checked, mk_err *err)
{
    static const mk_json none = {.kind = MK_JSON_NULL};
    static const mk_plan_check_options no_store = {0};
    const mk_json *plan = mk_json_get(bundle, "plan");
    mk_buf text;
    mk_code rc;
    mk_buf_init(&text, arena->alloc);
    MK_TRY(rc, mk_canon_tree(&text, arena, plan != NULL ? plan : &none, err));
    MK_TRY(rc, mk_buf_done(&text, err));
    rc = mk_plan_check(mk_buf_view(&text), &no_store, arena, checked, err);
out:
    mk_buf_free(&text);
    return rc;
}

static mk_code run_again(mk_store *store, const mk_json *bundle, const mk_plan *plan,
                         const mk_plan_run_options *given, mk_arena *arena, mk_replay *out, mk_err *err)
{
    mk_plan_run_options options = *given;
    mk_objects *objects = NULL;
    mk_trace trace;
    mk_json *now;
    mk_code rc;
    options.as_of.us = out->as_of_tt;
    MK_TRY(rc, mk_objects_memory(arena->alloc, OBJECTS_MAX, &objects, err));
    MK_TRY(rc, mk_plan_run(store, plan, &options, objects, arena, &trace, err));
    MK_TRY(rc, mk_json_parse(arena, trace.json, NULL, &now, err));
    out->ran = true;
    MK_TRY(rc, compare_steps(mk_json_get(bundle, "trace"), now, arena, out, err));
    rc = compare_answers(mk_json_get(bundle, "trace"), now, arena, out, err);
out:
    mk_objects_close(objects);
    return rc;
}

mk_code mk_replay_bundle(mk_store *store, mk_str text, const mk_plan_run_options *options, mk_arena *arena,
                         mk_replay *out, mk_err *err)
{
    static const mk_verify_options verify = {0};
    mk_plan_report checked;
    mk_json *bundle;
    mk_code rc;
    *out = (mk_replay){0};
    MK_TRY(rc, mk_bundle_verify(text, &verify, arena, &out->check, err));
    if (!out->check.sound) {
        out->why = MK_STR("the bundle is damaged, so there is nothing to compare with");
        goto out;
    }
    MK_TRY(rc, mk_json_parse(arena, text, NULL, &bundle, err));
    const mk_json *as_of = mk_json_get(bundle, "as_of_tt");
    if (as_of == NULL || as_of->kind != MK_JSON_INT || as_of->b) {
        out->why = MK_STR("the bundle names no belief time");
        goto out;
    }
    out->as_of_tt = as_of->i;
    MK_TRY(rc, plan_of(bundle, arena, &checked, err));
    if (!checked.valid) {
        out->why = checked.violation_count != 0 ? checked.violations[0].message : MK_STR("its plan is "
                                                                                         "no plan");
        goto out;
    }
    rc = run_again(store, bundle, &checked.plan, options, arena, out, err);
out:
    return rc;
}

/* ---- for programs ---- */

static void put_text(mk_buf *out, const char *name, mk_str text)
{
    mk_buf_printf(out, "\"%s\":", name);
    if (text.n == 0)
        mk_buf_z(out, "null");
    else
        mk_canon_string(out, text);
}

void mk_replay_json(const mk_replay *r, mk_buf *out)
{
    mk_buf_printf(out, "{\"as_of_tt\":%lld,\"faults\":[", (long long)r->as_of_tt);
    for (size_t i = 0; i < r->check.fault_count; i++) {
        if (i != 0)
            mk_buf_c(out, ',');
        mk_canon_string(out, r->check.faults[i]);
    }
    mk_buf_printf(out, "],\"same\":%s,\"same_answer\":%s,\"steps\":[", r->same ? "true" : "false",
                  r->same_answer ? "true" : "false");
    for (size_t i = 0; i < r->step_count; i++) {
        const mk_replayed_step *s = &r->steps[i];
        mk_buf_z(out, i != 0 ? ",{" : "{");
        put_text(out, "op", s->op);
        mk_buf_c(out, ',');
        put_text(out, "result_now", s->result_now);
        mk_buf_c(out, ',');
        put_text(out, "result_then", s->result_then);
        mk_buf_printf(out, ",\"same\":%s,", s->same ? "true" : "false");
        put_text(out, "status_now", s->status_now);
        mk_buf_c(out, ',');
        put_text(out, "status_then", s->status_then);
        mk_buf_c(out, ',');
        put_text(out, "step_id", s->step_id);
        mk_buf_c(out, '}');
    }
    mk_buf_z(out, "],");
    put_text(out, "why", r->why);
    mk_buf_c(out, '}');
}

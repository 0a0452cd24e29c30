/* check_args.c — literal arguments of a step. See plan_internal.h. Layer: plan.
 *
 * References are holes: each is replaced by a value that its place takes, and then the operator's own check
 * judges what is left, so that a plan is held to exactly the rules of a call. Every argument is looked at by
 * itself, because a planner should see all that is wrong at once. Source: agent spec, 6 (checks 10 to 12,
 * 14), 17 (O-1, O-5). */
#include "plan/plan_internal.h"

#include <stdio.h>

#include "op/offer.h"
#include "op/schema.h"

bool mk_plan__has_ref(const mk_json *value)
{
    mk_str path;
    if (value->kind == MK_JSON_OBJECT && mk_ref_of(value, &path))
        return true;
    for (size_t i = 0; i < value->n && value->kind == MK_JSON_ARRAY; i++)
        if (mk_plan__has_ref(&value->items[i]))
            return true;
    for (size_t i = 0; i < value->n && value->kind == MK_JSON_OBJECT; i++)
        if (mk_plan__has_ref(&value->members[i].value))
            return true;
    return false;
}

/* ---- holes ---- */

static const mk_json null_json = {.kind = MK_JSON_NULL};

static mk_json hole(mk_checker *c, const mk_arg *arg);

static mk_json list_hole(mk_checker *c, const mk_arg *arg)
{
    mk_json list = {.kind = MK_JSON_ARRAY, .n = (size_t)arg->min};
    list.items = mk_arena_get(c->arena, (list.n + 1) * sizeof *list.items);
    if (list.items == NULL) {
        c->nomem = true;
        return null_json;
    }
    for (size_t i = 0; i < list.n; i++)
        list.items[i] = arg->item != NULL ? hole(c, arg->item) : null_json;
    return list;
}

static mk_json object_hole(mk_checker *c, const mk_arg *arg)
{
    mk_json object = {.kind = MK_JSON_OBJECT};
    size_t count = 0;
    while (arg->members[count].name != NULL)
        count++;
    object.members = mk_arena_get(c->arena, (count + 1) * sizeof *object.members);
    if (object.members == NULL) {
        c->nomem = true;
        return null_json;
    }
    for (size_t i = 0; i < count; i++)
        if (arg->members[i].required)
            object.members[object.n++] =
                (mk_member){mk_str_of(arg->members[i].name), hole(c, &arg->members[i])};
    return object;
}

/* A value that `arg` takes. */
static mk_json hole(mk_checker *c, const mk_arg *arg)
{
    switch (arg->type) {
    case MK_ARG_TIMESTAMP: return (mk_json){.kind = MK_JSON_INT, .i = 0};
    case MK_ARG_INTEGER: return (mk_json){.kind = MK_JSON_INT, .i = arg->min == INT64_MIN ? 0 : arg->min};
    case MK_ARG_NUMBER: return (mk_json){.kind = MK_JSON_FLOAT, .d = arg->bounded ? arg->upto : 1.0};
    case MK_ARG_BOOLEAN: return (mk_json){.kind = MK_JSON_BOOL};
    case MK_ARG_STRING: return (mk_json){.kind = MK_JSON_STRING, .text = MK_STR("x")};
    case MK_ARG_ENUM: return (mk_json){.kind = MK_JSON_STRING, .text = mk_str_of(arg->choices[0])};
    case MK_ARG_LIST: return list_hole(c, arg);
    case MK_ARG_OBJECT: return object_hole(c, arg);
    case MK_ARG_ANY: break;
    }
    return null_json;
}

static const mk_arg *member_of(const mk_arg *members, mk_str name)
{
    for (const mk_arg *a = members; a != NULL && a->name != NULL; a++)
        if (mk_str_eq(mk_str_of(a->name), name))
            return a;
    return NULL;
}

/* A copy with every reference replaced. The check writes into what it is given, so everything is copied. */
static mk_json filled(mk_checker *c, const mk_arg *arg, const mk_json *value)
{
    mk_str path;
    mk_json copy = *value;
    if (value->kind == MK_JSON_OBJECT && mk_ref_of(value, &path))
        return arg != NULL ? hole(c, arg) : null_json;
    if (value->kind == MK_JSON_ARRAY) {
        copy.items = mk_arena_get(c->arena, (value->n + 1) * sizeof *copy.items);
        for (size_t i = 0; copy.items != NULL && i < value->n; i++)
            copy.items[i] =
                filled(c, arg != NULL && arg->type == MK_ARG_LIST ? arg->item : NULL, &value->items[i]);
        c->nomem |= copy.items == NULL;
    } else if (value->kind == MK_JSON_OBJECT) {
        const mk_arg *members = arg != NULL && arg->type == MK_ARG_OBJECT ? arg->members : NULL;
        copy.members = mk_arena_get(c->arena, (value->n + 1) * sizeof *copy.members);
        for (size_t i = 0; copy.members != NULL && i < value->n; i++)
            copy.members[i] =
                (mk_member){value->members[i].key,
                            filled(c, member_of(members, value->members[i].key), &value->members[i].value)};
        c->nomem |= copy.members == NULL;
    }
    return c->nomem ? null_json : copy;
}

/* ---- what the operator's check says ---- */

/* Estimate, ceilings and offers of a refusal, and the path, sorted; without braces. */
static mk_str cost_details(mk_checker *c, mk_str path, const char *extra)
{
    mk_buf raw, sorted;
    mk_str details = {NULL, 0};
    mk_buf_init(&raw, c->arena->alloc);
    mk_buf_init(&sorted, c->arena->alloc);
    mk_buf_z(&raw, "{\"path\":");
    mk_canon_string(&raw, path);
    mk_buf_printf(&raw, ",%s}", extra);
    if (mk_buf_done(&raw, NULL) == MK_OK &&
        mk_canon_text(&sorted, c->arena, mk_buf_view(&raw), NULL, NULL) == MK_OK)
        details = mk_arena_copy(c->arena, (mk_str){sorted.p + 1, sorted.n - 2});
    mk_buf_free(&raw);
    mk_buf_free(&sorted);
    return details;
}

/* Its message begins with the place inside the arguments. */
static void add_error(mk_checker *c, size_t step, const mk_err *err)
{
    char path[300];
    const char *colon = strstr(err->message, ": ");
    const size_t n = colon != NULL ? (size_t)(colon - err->message) : 0;
    const bool placed = n > 0 && n < 200 && memchr(err->message, ' ', n) == NULL;
    snprintf(path, sizeof path, "steps[%zu].args%s%.*s", step, placed ? "." : "", placed ? (int)n : 0,
             err->message);
    mk_violation *v = mk_plan__add(c, err->code, step, path);
    if (v == NULL)
        return;
    v->message = err->hint[0] ? mk_plan__text(c, "%s; %s", err->message, err->hint)
                              : mk_plan__text(c, "%s", err->message);
    if (err->extra[0] && err->code == MK_E_COST)
        v->details = cost_details(c, v->path, err->extra);
}

/* One argument beside the required ones, which are holes here. */
static void check_one(mk_checker *c, size_t step, const mk_arg *arg, const mk_json *value)
{
    const mk_operator *op = c->out->plan.steps[step].op;
    mk_json args = {.kind = MK_JSON_OBJECT};
    mk_err err;
    size_t count = 0;
    while (op->args[count].name != NULL)
        count++;
    args.members = mk_arena_get(c->arena, (count + 1) * sizeof *args.members);
    if (args.members == NULL) {
        c->nomem = true;
        return;
    }
    args.members[args.n++] = (mk_member){mk_str_of(arg->name), filled(c, arg, value)};
    for (size_t i = 0; i < count; i++)
        if (op->args[i].required && &op->args[i] != arg)
            args.members[args.n++] = (mk_member){mk_str_of(op->args[i].name), hole(c, &op->args[i])};
    if (c->nomem)
        return;
    const mk_code rc = mk_args_check(op, c->arena, &args, &err);
    if (rc == MK_E_NOMEM)
        c->nomem = true;
    else if (rc != MK_OK)
        add_error(c, step, &err);
}

static const char *near_arg(const mk_operator *op, mk_str name)
{
    const char *best = NULL;
    size_t most = 2; /* common letters at the start, at least three */
    for (const mk_arg *a = op->args; a->name != NULL; a++) {
        size_t n = 0;
        while (n < name.n && a->name[n] != '\0' && a->name[n] == name.p[n])
            n++;
        if (n > most) {
            most = n;
            best = a->name;
        }
    }
    return best;
}

static void unknown_arg(mk_checker *c, size_t step, mk_str name)
{
    const mk_operator *op = c->out->plan.steps[step].op;
    char path[160], known[400];
    size_t n = 0;
    known[0] = '\0';
    for (const mk_arg *a = op->args; a->name != NULL && n < sizeof known; a++)
        n += (size_t)snprintf(known + n, sizeof known - n, "%s%s", n ? ", " : "", a->name);
    snprintf(path, sizeof path, "steps[%zu].args.%.*s", step, MK_PLAN_CUT(name, 60));
    mk_violation *v = mk_plan__add(c, MK_E_SCHEMA, step, path);
    const char *near = near_arg(op, name);
    if (v != NULL)
        v->message = mk_plan__text(c, "%s has no argument '%.*s'%s%s%s; its arguments: %s", op->name,
                                   MK_PLAN_CUT(name, 60), near ? " (did you mean '" : "", near ? near : "",
                                   near ? "'?)" : "", known);
}

static void missing_arg(mk_checker *c, size_t step, const mk_arg *arg)
{
    char path[160], expects[300];
    mk_op__expects(expects, sizeof expects, arg);
    snprintf(path, sizeof path, "steps[%zu].args.%s", step, arg->name);
    mk_violation *v = mk_plan__add(c, MK_E_SCHEMA, step, path);
    if (v != NULL)
        v->message =
            mk_plan__text(c, "%s needs '%s': %s", c->out->plan.steps[step].op->name, arg->name, expects);
}

/* ---- time ---- */

static bool literal_time(const mk_json *object, const char *name, int64_t *out)
{
    const mk_json *value = mk_json_get(object, name);
    if (value == NULL)
        return false;
    if (value->kind == MK_JSON_STRING)
        return mk_time_parse(value->text, out, NULL) == MK_OK;
    *out = value->i;
    return value->kind == MK_JSON_INT && !value->b;
}

static void check_window(mk_checker *c, size_t step, const char *name, const mk_json *window)
{
    const mk_view_stats *stats = c->options->stats;
    int64_t t_a, t_b;
    char path[100], from[MK_TIME_TEXT_MAX + 1], to[MK_TIME_TEXT_MAX + 1];
    if (window->kind != MK_JSON_OBJECT || !literal_time(window, "t_a", &t_a) ||
        !literal_time(window, "t_b", &t_b))
        return;
    snprintf(path, sizeof path, "steps[%zu].args.%s", step, name);
    if (t_a >= t_b) {
        mk_violation *v = mk_plan__add(c, MK_E_INVALID_ARG, step, path);
        if (v != NULL)
            v->message = mk_plan__text(c, "the window [%lld, %lld) is empty: t_a must be before t_b",
                                       (long long)t_a, (long long)t_b);
    } else if (stats != NULL && stats->has_extent && (t_b <= stats->vt_min || t_a >= stats->vt_max)) {
        mk_violation *v = mk_plan__add(c, MK_E_INVALID_ARG, step, path);
        from[mk_time_text(from, stats->vt_min)] = '\0';
        to[mk_time_text(to, stats->vt_max)] = '\0';
        if (v != NULL)
            v->message = mk_plan__text(
                c, "the window [%lld, %lld) misses the data, which extend over [%lld, %lld), %s to %s",
                (long long)t_a, (long long)t_b, (long long)stats->vt_min, (long long)stats->vt_max, from, to);
    }
}

static void check_times(mk_checker *c, size_t step)
{
    const mk_plan_step *s = &c->out->plan.steps[step];
    int64_t t1, t2;
    for (const mk_arg *a = s->op->args; a->name != NULL; a++) {
        const mk_json *value = mk_json_get(s->args, a->name);
        if (value != NULL && a->type == MK_ARG_OBJECT && a->members == mk_arg_window)
            check_window(c, step, a->name, value);
    }
    if (strcmp(s->op->name, "diff_snapshots") == 0 && literal_time(s->args, "t1", &t1) &&
        literal_time(s->args, "t2", &t2) && t1 == t2) {
        char path[60];
        snprintf(path, sizeof path, "steps[%zu].args.t2", step);
        mk_violation *v = mk_plan__add(c, MK_E_INVALID_ARG, step, path);
        if (v != NULL)
            v->message = MK_STR("t1 and t2 are the same instant: nothing can differ between them");
    }
}

/* ---- cost ---- */

/* The check across arguments, and the estimate: both need every value, so a step with references waits for
 * run time. `args` is checked and has its defaults. */
static void check_whole(mk_checker *c, size_t step)
{
    const mk_plan_check_options *o = c->options;
    const mk_plan_step *s = &c->out->plan.steps[step];
    mk_json args = filled(c, NULL, s->args);
    mk_cost cost = {0};
    mk_buf offers;
    mk_err err;
    if (c->nomem || mk_args_check(s->op, c->arena, &args, &err) != MK_OK)
        return;
    if (s->op->validate != NULL && s->op->validate(&args, &err) != MK_OK) {
        add_error(c, step, &err);
        return;
    }
    if (o->stats == NULL || s->op->cost == NULL)
        return;
    const mk_ceilings *usual = &mk_ceilings_default;
    const mk_ceilings ceilings = {
        .rows_scanned_est =
            o->ceilings.rows_scanned_est > 0 ? o->ceilings.rows_scanned_est : usual->rows_scanned_est,
        .expansions_est = o->ceilings.expansions_est > 0 ? o->ceilings.expansions_est : usual->expansions_est,
        .time_est_ms = o->ceilings.time_est_ms > 0 ? o->ceilings.time_est_ms : usual->time_est_ms};
    const mk_cost_input in = {
        .args = &args, .stats = *o->stats, .scale = o->time_scale > 0.0 ? o->time_scale : 1.0};
    s->op->cost(&in, &cost);
    if (mk_cost_within(&cost, &ceilings))
        return;
    mk_buf_init(&offers, c->arena->alloc);
    if (mk_offers_json(s->op, &in, &ceilings, c->arena, &offers, NULL) == MK_OK &&
        mk_cost_refuse(&cost, &ceilings, mk_buf_view(&offers), &err) == MK_E_COST)
        add_error(c, step, &err);
    else
        c->nomem = true;
    mk_buf_free(&offers);
}

void mk_plan__check_args(mk_checker *c, size_t step)
{
    const mk_plan_step *s = &c->out->plan.steps[step];
    const size_t before = c->out->violation_count;
    for (size_t i = 0; i < s->args->n; i++) {
        const mk_arg *arg = member_of(s->op->args, s->args->members[i].key);
        if (arg == NULL)
            unknown_arg(c, step, s->args->members[i].key);
        else
            check_one(c, step, arg, &s->args->members[i].value);
    }
    for (const mk_arg *a = s->op->args; a->name != NULL; a++)
        if (a->required && mk_json_get(s->args, a->name) == NULL)
            missing_arg(c, step, a);
    check_times(c, step);
    if (c->out->violation_count == before && !mk_plan__has_ref(s->args))
        check_whole(c, step);
}

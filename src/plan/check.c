/* check.c — the static check of a plan. See plan.h. Layer: plan.
 *
 * Steps are looked at in the order in which they would run, because the type of a step follows from those
 * before it; what is found is reported in the order of the plan. Source: agent spec, 6. */
#include "plan/plan_internal.h"

#include <stdio.h>

static void unknown_operator(mk_checker *c, size_t step)
{
    const mk_str name = c->out->plan.steps[step].op_name;
    const mk_operator *near = mk_operator_near(name);
    char path[40], known[900];
    size_t count, n = 0;
    const mk_operator *const *ops = mk_operators(&count);
    known[0] = '\0';
    for (size_t i = 0; i < count && n < sizeof known; i++)
        n += (size_t)snprintf(known + n, sizeof known - n, "%s%s", i ? ", " : "", ops[i]->name);
    snprintf(path, sizeof path, "steps[%zu].op", step);
    mk_violation *v = mk_plan__add(c, MK_E_NOT_FOUND, step, path);
    if (v != NULL)
        v->message =
            mk_plan__text(c, "there is no operator '%.*s'%s%s%s; there are: %s", MK_PLAN_CUT(name, 60),
                          near ? " (did you mean '" : "", near ? near->name : "", near ? "'?)" : "", known);
}

/* Violations of the plan before those of its steps, steps in the plan's order, the answer last. */
static int rank_of(const mk_plan *plan, const mk_violation *v)
{
    if (v->step_id.n == 0)
        return mk_str_starts(v->path, MK_STR("answer_spec")) ? 100 : -1;
    for (size_t i = 0; i < plan->step_count; i++)
        if (mk_str_eq(plan->steps[i].id, v->step_id))
            return (int)i;
    return 99;
}

/* An insertion sort, because equal ranks keep their order and there are few. */
static void sort_violations(mk_plan_report *out)
{
    for (size_t i = 1; i < out->violation_count; i++) {
        const mk_violation v = out->violations[i];
        size_t k = i;
        for (; k > 0 && rank_of(&out->plan, &out->violations[k - 1]) > rank_of(&out->plan, &v); k--)
            out->violations[k] = out->violations[k - 1];
        out->violations[k] = v;
    }
}

mk_code mk_plan_check(mk_str text, const mk_plan_check_options *options, mk_arena *arena, mk_plan_report *out,
                      mk_err *err)
{
    static const mk_plan_check_options plain;
    mk_checker c = {.options = options != NULL ? options : &plain, .arena = arena, .out = out};
    *out = (mk_plan_report){0};
    if (mk_plan__read(&c, text)) {
        const mk_plan *plan = &out->plan;
        for (size_t i = 0; i < plan->step_count && !c.nomem; i++) {
            const size_t step = plan->order[i];
            if (plan->steps[step].op == NULL) {
                unknown_operator(&c, step);
                continue;
            }
            mk_plan__check_args(&c, step);
            mk_plan__check_refs(&c, step);
        }
        if (!c.nomem)
            mk_plan__check_answer(&c);
        sort_violations(out);
    }
    if (c.nomem)
        return mk_fail_nomem(err);
    out->valid = out->has_plan && out->violation_count == 0;
    return MK_OK;
}

/* ---- reports ---- */

static void put_violation(mk_buf *out, const mk_violation *v)
{
    mk_buf_printf(out, "{\"code\":\"%s\",\"details\":{",
                  v->grounding ? "E_GROUNDING" : mk_code_name(v->code));
    if (v->details.n != 0) {
        mk_buf_str(out, v->details);
    } else {
        mk_buf_z(out, "\"path\":");
        mk_canon_string(out, v->path);
    }
    mk_buf_z(out, "},\"message\":");
    mk_canon_string(out, v->message);
    if (v->step_id.n != 0) {
        mk_buf_z(out, ",\"step_id\":");
        mk_canon_string(out, v->step_id);
    }
    mk_buf_c(out, '}');
}

static void put_violations(mk_buf *out, const mk_plan_report *report)
{
    mk_buf_c(out, '[');
    for (size_t i = 0; i < report->violation_count; i++) {
        if (i > 0)
            mk_buf_c(out, ',');
        put_violation(out, &report->violations[i]);
    }
    mk_buf_c(out, ']');
}

void mk_plan_report_json(const mk_plan_report *report, mk_buf *out)
{
    mk_buf_printf(out, "{\"valid\":%s,\"violations\":", report->valid ? "true" : "false");
    put_violations(out, report);
    mk_buf_c(out, '}');
}

void mk_plan_repair_json(const mk_plan_report *report, mk_buf *out)
{
    mk_buf_z(out, "{\"error\":\"E_PLAN_INVALID\",\"violations\":");
    put_violations(out, report);
    mk_buf_c(out, '}');
}

/* run_report.c — means over rows, and the report as JSON. Layer: eval. Source: evaluation spec, 14. */
#include <stdlib.h>

#include "eval/run_internal.h"

/* ---- means ---- */

static void add(mk_eval_group *group, const mk_eval_row *row, double baseline)
{
    group->tasks++;
    group->abstained += row->abstained;
    group->exact_match += row->correct ? 1 : 0;
    group->f1 += row->f1;
    group->baseline += baseline;
}

static void close_group(mk_eval_group *group)
{
    const double n = group->tasks > 0 ? (double)group->tasks : 1;
    group->exact_match /= n;
    group->f1 /= n;
    group->baseline /= n;
}

static int by_name(const void *a, const void *b)
{
    return mk_str_cmp(((const mk_eval_group *)a)->name, ((const mk_eval_group *)b)->name);
}

static mk_eval_group *group_named(mk_eval_group *groups, size_t *count, mk_str name)
{
    for (size_t i = 0; i < *count; i++)
        if (mk_str_eq(groups[i].name, name))
            return &groups[i];
    groups[*count] = (mk_eval_group){.name = name};
    return &groups[(*count)++];
}

#define GROUPS_MAX 256 /* families or kinds of one suite; further ones are counted in the last group */

static mk_code group_rows(const mk_eval_report *report, const double *baseline, bool kinds, mk_arena *arena,
                          mk_eval_group **out, size_t *count, mk_err *err)
{
    mk_eval_group *groups = mk_arena_get(arena, GROUPS_MAX * sizeof *groups);
    if (groups == NULL)
        return mk_fail_nomem(err);
    *count = 0;
    for (size_t i = 0; i < report->row_count; i++) {
        const mk_eval_task *task = report->rows[i].task;
        const mk_str name = *count < GROUPS_MAX - 1 ? (kinds ? task->kind : task->family) : MK_STR("others");
        add(group_named(groups, count, name), &report->rows[i], baseline[i]);
    }
    for (size_t i = 0; i < *count; i++)
        close_group(&groups[i]);
    if (*count > 0)
        qsort(groups, *count, sizeof *groups, by_name);
    *out = groups;
    return MK_OK;
}

typedef struct mean {
    double sum;
    size_t n;
} mean;

static void take(mean *m, bool has, double value)
{
    m->sum += has ? value : 0;
    m->n += has;
}

static double mean_of(const mean *m) { return m->n > 0 ? m->sum / (double)m->n : -1; }

mk_code mk_eval__summarise(mk_eval_report *report, const double *baseline, mk_arena *arena, mk_err *err)
{
    mean valid = {0}, executed = {0}, unsupported = {0}, traces = {0};
    mk_code rc;
    for (size_t i = 0; i < report->row_count; i++) {
        const mk_eval_row *row = &report->rows[i];
        add(&report->overall, row, baseline[i]);
        take(&valid, row->has_plan, row->first_valid ? 1 : 0);
        take(&executed, row->has_plan, row->executed ? 1 : 0);
        take(&unsupported, row->has_claims, row->unsupported);
        take(&traces, true, row->trace_correct ? 1 : 0);
    }
    close_group(&report->overall);
    report->first_attempt_validity = mean_of(&valid);
    report->execution_success = mean_of(&executed);
    report->unsupported_claim_rate = mean_of(&unsupported);
    report->trace_exact_match = mean_of(&traces);
    MK_TRY(rc, group_rows(report, baseline, false, arena, &report->families, &report->family_count, err));
    rc = group_rows(report, baseline, true, arena, &report->kinds, &report->kind_count, err);
out:
    return rc;
}

/* ---- as JSON ---- */

static void put_number(mk_buf *out, const char *name, double value)
{
    mk_buf_printf(out, "\"%s\":", name);
    if (value < 0)
        mk_buf_z(out, "null"); /* nothing to take a mean of */
    else
        mk_canon_double(out, mk_round9(value));
}

static void put_text(mk_buf *out, const char *name, mk_str text)
{
    mk_buf_printf(out, "\"%s\":", name);
    mk_canon_string(out, text);
}

static void put_groups(mk_buf *out, const char *name, const mk_eval_group *groups, size_t count)
{
    mk_buf_printf(out, ",\"%s\":{", name);
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            mk_buf_c(out, ',');
        mk_canon_string(out, groups[i].name);
        mk_buf_printf(out, ":{\"abstained\":%zu,", groups[i].abstained);
        put_number(out, "baseline", groups[i].baseline);
        mk_buf_c(out, ',');
        put_number(out, "exact_match", groups[i].exact_match);
        mk_buf_c(out, ',');
        put_number(out, "f1", groups[i].f1);
        mk_buf_printf(out, ",\"tasks\":%zu}", groups[i].tasks);
    }
    mk_buf_c(out, '}');
}

static void put_row(mk_buf *out, const mk_eval_row *row)
{
    mk_buf_printf(out, "{\"abstained\":%s,\"answer\":", row->abstained ? "true" : "false");
    mk_buf_str(out, row->answer);
    mk_buf_printf(out, ",\"correct\":%s,", row->correct ? "true" : "false");
    put_text(out, "id", row->task->id);
    mk_buf_c(out, '}');
}

/* Why there was no answer, by task; beside the rows, whose shape is fixed. */
static void put_reasons(mk_buf *out, const mk_eval_report *report)
{
    bool any = false;
    mk_buf_z(out, ",\"why\":[");
    for (size_t i = 0; i < report->row_count; i++) {
        const mk_eval_row *row = &report->rows[i];
        if (row->why.n == 0)
            continue;
        mk_buf_z(out, any ? ",{" : "{");
        put_text(out, "id", row->task->id);
        mk_buf_c(out, ',');
        put_text(out, "why", row->why);
        mk_buf_c(out, '}');
        any = true;
    }
    mk_buf_c(out, ']');
}

void mk_eval_report_json(const mk_eval_report *report, mk_buf *out)
{
    mk_buf_printf(out, "{\"ablated\":\"%.*s\",\"abstained\":%zu,", MK_STR_ARG(report->ablated),
                  report->overall.abstained);
    put_number(out, "baseline", report->overall.baseline);
    put_groups(out, "by_family", report->families, report->family_count);
    put_groups(out, "by_kind", report->kinds, report->kind_count);
    mk_buf_c(out, ',');
    put_number(out, "exact_match", report->overall.exact_match);
    mk_buf_c(out, ',');
    put_number(out, "execution_success", report->execution_success);
    mk_buf_c(out, ',');
    put_number(out, "f1", report->overall.f1);
    mk_buf_c(out, ',');
    put_number(out, "first_attempt_validity", report->first_attempt_validity);
    mk_buf_printf(out, ",\"planner\":\"%s\",\"results\":[", mk_eval_planner_name(report->planner));
    for (size_t i = 0; i < report->row_count; i++) {
        if (i > 0)
            mk_buf_c(out, ',');
        put_row(out, &report->rows[i]);
    }
    mk_buf_z(out, "],");
    if (report->split_sha.n > 0) {
        put_text(out, "split_sha", report->split_sha);
        mk_buf_c(out, ',');
    }
    mk_buf_printf(out, "\"tasks\":%zu,", report->overall.tasks);
    put_number(out, "trace_exact_match", report->trace_exact_match);
    mk_buf_c(out, ',');
    put_number(out, "unsupported_claim_rate", report->unsupported_claim_rate);
    put_reasons(out, report);
    mk_buf_c(out, '}');
}

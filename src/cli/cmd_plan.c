/* cmd_plan.c — plan check, plan run: plans, what is wrong with them, and what they give. Layer: cli. */
#include <stdio.h>

#include "cli/cli.h"
#include "cli/plan_text.h"
#include "plan/run.h"
#include "plan/traces.h"

#define ALLOWED_MAX 10000
#define TRACES_MAX (UINT64_C(1) << 30)

/* ---- what both take ---- */

typedef struct planning {
    mk_cli *cli;
    mk_store *store; /* NULL: none was asked for, or none is there */
    mk_view *view;
    mk_arena arena;
    mk_buf text, out;
    mk_view_stats stats;
    mk_plan_check_options check;
} planning;

static void planning_init(planning *p, mk_cli *cli)
{
    *p = (planning){.cli = cli};
    mk_arena_init(&p->arena, cli->alloc);
    mk_buf_init(&p->text, cli->alloc);
    mk_buf_init(&p->out, cli->alloc);
}

static mk_code planning_end(planning *p, mk_code rc, mk_err *err)
{
    mk_view_close(p->view);
    mk_buf_free(&p->text);
    mk_buf_free(&p->out);
    mk_arena_free(&p->arena);
    return p->store != NULL ? mk_cli__close(p->store, rc, err) : rc;
}

/* --ids a,b,c: the identifiers that came with the task; an empty list allows none. */
static mk_code read_ids(planning *p, const char *list, mk_err *err)
{
    mk_str *ids = mk_arena_get(&p->arena, ALLOWED_MAX * sizeof *ids);
    size_t n = 0;
    if (ids == NULL)
        return mk_fail_nomem(err);
    while (*list != '\0') {
        const size_t word = strcspn(list, ",");
        if (n == ALLOWED_MAX) {
            mk_fail_usage(err, "--ids has more than %d identifiers", ALLOWED_MAX);
            return MK_E_INVALID_ARG;
        }
        if (word > 0)
            ids[n++] = (mk_str){list, word};
        list += word + (list[word] == ',');
    }
    p->check.allowed = ids;
    p->check.allowed_count = n;
    p->check.ground = true;
    return MK_OK;
}

static mk_code read_ceiling(const mk_options *o, const char *name, int64_t *out, mk_err *err)
{
    uint64_t value = 0;
    const mk_code rc = mk_options_u64(o, name, 1, INT64_MAX, &value, err);
    *out = (int64_t)value;
    return rc;
}

static mk_code read_common(planning *p, mk_err *err)
{
    const mk_options *o = &p->cli->options;
    mk_code rc;
    MK_TRY(rc, mk_cli__read_all(o->words[0], MK_PLAN_TEXT_MAX, "the plan", &p->text, err));
    MK_TRY(rc, read_ceiling(o, "rows-max", &p->check.ceilings.rows_scanned_est, err));
    MK_TRY(rc, read_ceiling(o, "expansions-max", &p->check.ceilings.expansions_est, err));
    MK_TRY(rc, read_ceiling(o, "time-max", &p->check.ceilings.time_est_ms, err));
    if (mk_options_has(o, "ids"))
        rc = read_ids(p, mk_options_value(o, "ids"), err);
out:
    return rc;
}

static mk_code open_store(planning *p, mk_err *err)
{
    unsigned mask;
    mk_code rc;
    MK_TRY(rc, mk_cli__mask(p->cli, &mask, err));
    MK_TRY(rc, mk_cli__open(p->cli, mk_cli__store_dir(p->cli), MK_OPEN_READER, false, &p->store, err));
    MK_TRY(rc, mk_view_at(p->store, (mk_tt){MK_OPEN_END}, mask, &p->view, err));
    mk_view_get_stats(p->view, &p->stats);
    p->check.stats = &p->stats;
out:
    return rc;
}

/* ---- check ---- */

static mk_code put_report(planning *p, const mk_plan_report *report, mk_err *err)
{
    if (p->cli->json) {
        mk_plan_report_json(report, &p->out);
        return mk_cli__put_json(p->cli, mk_buf_view(&p->out), err);
    }
    if (report->valid)
        mk_buf_printf(&p->out, "the plan is valid: %zu step%s\n", report->plan.step_count,
                      report->plan.step_count == 1 ? "" : "s");
    for (size_t i = 0; i < report->violation_count; i++) {
        const mk_violation *v = &report->violations[i];
        mk_buf_printf(&p->out, "%-14s ", v->grounding ? "E_GROUNDING" : mk_code_name(v->code));
        mk_text_safe(&p->out, v->path.n ? v->path : MK_STR("plan"));
        mk_buf_z(&p->out, "\n  ");
        mk_text_safe(&p->out, v->message);
        mk_buf_c(&p->out, '\n');
    }
    return mk_cli__put_buf(p->cli, &p->out, err);
}

static mk_code run_check(mk_cli *cli, mk_err *err)
{
    planning p;
    mk_plan_report report;
    mk_code rc;
    planning_init(&p, cli);
    MK_TRY(rc, read_common(&p, err));
    if (!mk_options_has(&cli->options, "no-store"))
        MK_TRY(rc, open_store(&p, err));
    MK_TRY(rc, mk_plan_check(mk_buf_view(&p.text), &p.check, &p.arena, &report, err));
    MK_TRY(rc, put_report(&p, &report, err));
    if (!report.valid) {
        rc = mk_fail(err, MK_E_SCHEMA, "the plan has %zu violation%s", report.violation_count,
                     report.violation_count == 1 ? "" : "s");
        mk_err_reason(err, "plan_invalid");
    }
out:
    return planning_end(&p, rc, err);
}

/* ---- run ---- */

static mk_code read_run_options(planning *p, mk_plan_run_options *o, mk_err *err)
{
    const mk_options *given = &p->cli->options;
    uint64_t threads = 0, rows = MK_PLAN_ROWS_MAX, timeout_ms = 0;
    mk_code rc;
    MK_TRY(rc, mk_cli__mask(p->cli, &o->mask, err));
    MK_TRY(rc, mk_options_time(given, "as-of-tt", &o->as_of.us, err));
    MK_TRY(rc, mk_options_u64(given, "threads", 1, 256, &threads, err));
    MK_TRY(rc, mk_options_u64(given, "row-budget", 1, 100000000, &rows, err));
    MK_TRY(rc, mk_options_u64(given, "timeout", 1, 86400000, &timeout_ms, err));
    o->threads = (unsigned)threads;
    o->row_budget = (size_t)rows;
    o->wall_us = (int64_t)timeout_ms * 1000;
    o->ceilings = p->check.ceilings;
out:
    return rc;
}

static void on_event(void *ctx, const mk_run_event *event)
{
    planning *p = ctx;
    if (event->kind == MK_EVENT_STEP_STARTED)
        mk_cli__progress(p->cli, "%.*s %.*s", MK_STR_ARG(event->step_id), MK_STR_ARG(event->op));
}

/* The folder of traces in the store's. */
static mk_code trace_dir(mk_cli *cli, char *path, size_t size, mk_err *err)
{
    const int n = snprintf(path, size, "%s/trace", mk_cli__store_dir(cli));
    if (n > 0 && (size_t)n < size)
        return MK_OK;
    return mk_fail(err, MK_E_LIMIT, "the path of the store is too long");
}

static mk_code execute(planning *p, const mk_plan *plan, mk_err *err)
{
    mk_plan_run_options options = {.event = on_event, .event_ctx = p};
    mk_objects *objects = NULL;
    mk_trace trace;
    char dir[3800];
    uint32_t number = 0;
    mk_code rc;
    const bool keep = !mk_options_has(&p->cli->options, "no-trace");
    MK_TRY(rc, read_run_options(p, &options, err));
    MK_TRY(rc, trace_dir(p->cli, dir, sizeof dir, err));
    if (keep)
        MK_TRY(rc, mk_objects_dir(p->cli->alloc, &mk_fs_posix, dir, TRACES_MAX, &objects, err));
    else
        MK_TRY(rc, mk_objects_memory(p->cli->alloc, SIZE_MAX / 2, &objects, err));
    MK_TRY(rc, mk_plan_run(p->store, plan, &options, objects, &p->arena, &trace, err));
    mk_cli__progress_end(p->cli);
    if (keep)
        MK_TRY(rc, mk_traces_save(p->cli->alloc, &mk_fs_posix, dir, trace.json, &number, err));
    rc = p->cli->json ? mk_cli__put_json(p->cli, trace.json, err)
                      : mk_plan_put_trace(p->cli, &p->arena, trace.json, number, err);
    if (rc == MK_OK && !trace.ok) {
        rc = mk_fail(err, MK_E_STATE, "the plan gave no answer; its trace says why");
        mk_err_reason(err, "no_answer");
    }
out:
    mk_objects_close(objects);
    return rc;
}

static mk_code run_run(mk_cli *cli, mk_err *err)
{
    planning p;
    mk_plan_report report;
    mk_code rc;
    planning_init(&p, cli);
    MK_TRY(rc, read_common(&p, err));
    MK_TRY(rc, open_store(&p, err));
    MK_TRY(rc, mk_plan_check(mk_buf_view(&p.text), &p.check, &p.arena, &report, err));
    if (report.valid) {
        rc = execute(&p, &report.plan, err);
        goto out;
    }
    const mk_str first = report.violation_count ? report.violations[0].message : MK_STR("");
    mk_cli__warn(cli, "%.*s", MK_STR_ARG(first));
    rc = mk_fail(err, MK_E_SCHEMA, "the plan has %zu violation%s", report.violation_count,
                 report.violation_count == 1 ? "" : "s");
    mk_err_reason(err, "plan_invalid");
    mk_err_hint(err, "merkhet plan check lists them");
out:
    return planning_end(&p, rc, err);
}

/* ---- the commands ---- */

#define PLAN_OPTIONS                                                                                         \
    {.name = "ids",                                                                                          \
     .value = "LIST",                                                                                        \
     .doc = "identifiers that came with the task, by commas; no others may be literal"},                     \
        {.name = "rows-max", .value = "N", .doc = "refuse steps that would scan more rows"},                 \
        {.name = "expansions-max", .value = "N", .doc = "refuse steps that would expand more"},              \
        {.name = "time-max", .value = "MS", .doc = "refuse steps estimated to take longer; default 10000"},  \
    {                                                                                                        \
        .name = "show", .value = "LIST", .doc = "also reserved entities: resolution, knowledge, notes"       \
    }

static const mk_option check_options[] = {
    {.name = "no-store", .doc = "judge without a store: neither extent nor cost"},
    PLAN_OPTIONS,
    {0},
};

static const mk_option run_options[] = {
    {.name = "as-of-tt",
     .value = "TIME",
     .doc = "what \"current\" means in every step; default the newest commit"},
    {.name = "threads", .value = "N", .doc = "for steps that do not wait for each other; default all cores"},
    {.name = "row-budget", .value = "N", .doc = "most rows over all steps; default 50000"},
    {.name = "timeout", .value = "MS", .doc = "of the whole plan; default 60000"},
    {.name = "no-trace", .doc = "keep nothing in the store's folder of traces"},
    PLAN_OPTIONS,
    {0},
};

const mk_command mk_commands_plan[] = {
    {.name = "plan check",
     .words = "FILE|-",
     .summary = "says everything that is wrong with a plan before it runs",
     .help = "A plan is a JSON object of steps with references between them (docs/plans.md). All\n"
             "violations are listed, each with the place and what would be accepted; the exit status\n"
             "is 1 when there are any.",
     .example = "merkhet init --store graph\n"
                "echo "
                "'{\"plan_id\":\"p\",\"steps\":[{\"id\":\"s1\",\"op\":\"resolve_entities\",\"args\":{"
                "\"query\":\"ada\"}}],"
                "\"answer_spec\":{\"kind\":\"count\",\"from\":\"s1.rows_total\"}}' | merkhet plan check "
                "--store graph -",
     .options = check_options,
     .words_min = 1,
     .words_max = 1,
     .run = run_check},
    {.name = "plan run",
     .words = "FILE|-",
     .summary = "checks a plan, runs it, and keeps its trace",
     .help = "Steps without a limit are computed whole; what an answer leaves out is said. The same\n"
             "plan at the same belief has the same digests, whatever was written since. The trace is\n"
             "kept in the store's folder (merkhet trace list); --json prints it.",
     .example = "merkhet init --store graph\n"
                "merkhet assert --store graph --node ada --label Person\n"
                "echo "
                "'{\"plan_id\":\"p\",\"steps\":[{\"id\":\"s1\",\"op\":\"resolve_entities\",\"args\":{"
                "\"query\":\"ada\"}}],"
                "\"answer_spec\":{\"kind\":\"count\",\"from\":\"s1.rows_total\"}}' | merkhet plan run "
                "--store graph -",
     .options = run_options,
     .words_min = 1,
     .words_max = 1,
     .run = run_run},
    {0},
};

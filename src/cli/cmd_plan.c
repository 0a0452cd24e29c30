/* cmd_plan.c — plan check: plans and what is wrong with them. Layer: cli. */
#include <stdio.h>

#include "cli/cli.h"
#include "plan/plan.h"

#define ALLOWED_MAX 10000

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

/* ---- the commands ---- */

#define PLAN_OPTIONS                                                                                                    \
    {.name = "ids", .value = "LIST", .doc = "identifiers that came with the task, by commas; no others may be literal"}, \
    {.name = "rows-max", .value = "N", .doc = "refuse steps that would scan more rows"},                                 \
    {.name = "expansions-max", .value = "N", .doc = "refuse steps that would expand more"},                              \
    {.name = "time-max", .value = "MS", .doc = "refuse steps estimated to take longer; default 10000"},                  \
    {.name = "show", .value = "LIST", .doc = "also reserved entities: resolution, knowledge, notes"}

static const mk_option check_options[] = {
    {.name = "no-store", .doc = "judge without a store: neither extent nor cost"},
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
                "echo '{\"plan_id\":\"p\",\"steps\":[{\"id\":\"s1\",\"op\":\"resolve_entities\",\"args\":{\"query\":\"ada\"}}],"
                "\"answer_spec\":{\"kind\":\"count\",\"from\":\"s1.rows_total\"}}' | merkhet plan check --store graph -",
     .options = check_options,
     .words_min = 1,
     .words_max = 1,
     .run = run_check},
    {0},
};

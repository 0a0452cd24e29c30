/* cmd_eval.c — eval run, eval faults: suites through systems, and faults past the verifier. Layer: cli. */
#include <stdarg.h>
#include <stdio.h>

#include "cli/cli.h"
#include "eval/faults.h"
#include "eval/run.h"
#include "model/model.h"

#define MUTANTS_MAX 100000

typedef struct evaluating {
    mk_cli *cli;
    mk_store *store;
    mk_arena arena;
    mk_buf file, out;
    mk_eval_suite suite;
} evaluating;

/* ---- opening ---- */

static mk_code open_all(evaluating *e, mk_err *err)
{
    const char *path = mk_options_value(&e->cli->options, "suite");
    mk_code rc;
    if (path == NULL) {
        rc = mk_fail_usage(err, "name a suite of questions");
        mk_err_hint(err, "write --suite FILE; `merkhet help %s` says what is in it", e->cli->command->name);
        goto out;
    }
    MK_TRY(rc, mk_cli__read_all(path, MK_SUITE_SIZE_MAX, "the suite", &e->file, err));
    MK_TRY(rc, mk_suite_read(mk_buf_view(&e->file), &e->arena, &e->suite, err));
    rc = mk_cli__open(e->cli, mk_cli__store_dir(e->cli), MK_OPEN_READER, false, &e->store, err);
out:
    return rc;
}

static void begin(evaluating *e, mk_cli *cli)
{
    *e = (evaluating){.cli = cli};
    mk_arena_init(&e->arena, cli->alloc);
    mk_buf_init(&e->file, cli->alloc);
    mk_buf_init(&e->out, cli->alloc);
}

static mk_code end(evaluating *e, mk_code rc, mk_err *err)
{
    rc = mk_cli__close(e->store, rc, err);
    mk_buf_free(&e->out);
    mk_buf_free(&e->file);
    mk_arena_free(&e->arena);
    return rc;
}

/* ---- eval run: options ---- */

static mk_code read_planner(const mk_options *o, mk_eval_planner *planner, mk_err *err)
{
    static const char *const names[] = {"oracle", "offline", "model"};
    const char *text = mk_options_value(o, "planner");
    if (text == NULL) {
        *planner = MK_EVAL_OFFLINE;
        return MK_OK;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(text, names[i]) == 0) {
            *planner = (mk_eval_planner)i;
            return MK_OK;
        }
    mk_fail_usage(err, "--planner: there is no planner \"%.60s\"", text);
    mk_err_hint(err, "write oracle, offline or model");
    return MK_E_INVALID_ARG;
}

/* contracts,gate */
static mk_code read_ablations(const mk_options *o, mk_eval_options *out, mk_err *err)
{
    const struct {
        const char *name;
        bool *off;
    } all[] = {{"contracts", &out->no_contracts},
               {"completeness", &out->no_completeness},
               {"gate", &out->no_gate},
               {"memory", &out->no_memory}};
    const char *text = mk_options_value(o, "ablate");
    while (text != NULL && *text != '\0') {
        const size_t n = strcspn(text, ",");
        bool found = false;
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            if (strlen(all[i].name) == n && memcmp(all[i].name, text, n) == 0)
                found = *all[i].off = true;
        if (!found) {
            mk_fail_usage(err, "--ablate: nothing is called \"%.*s\"", (int)(n > 60 ? 60 : n), text);
            mk_err_hint(err, "write contracts, completeness, gate or memory, with commas between");
            return MK_E_INVALID_ARG;
        }
        text += n + (text[n] == ',');
    }
    return MK_OK;
}

/* ---- eval run: for people ---- */

static void show_row(void *ctx, const mk_eval_row *row, size_t done, size_t total)
{
    mk_cli *cli = ctx;
    mk_cli__progress(cli, "eval: %zu of %zu, %.*s", done, total, MK_STR_ARG(row->task->id));
}

static mk_code put_cell(mk_table *table, mk_err *err, const char *fmt, ...) MK_PRINTF(3, 4);
static mk_code put_cell(mk_table *table, mk_err *err, const char *fmt, ...)
{
    char text[160];
    va_list list;
    va_start(list, fmt);
    vsnprintf(text, sizeof text, fmt, list);
    va_end(list);
    return mk_table_cell(table, mk_str_of(text), err);
}

static mk_code put_group(mk_table *table, const char *what, const mk_eval_group *g, mk_err *err)
{
    mk_code rc;
    MK_TRY(rc, put_cell(table, err, "%s%.*s", what, MK_STR_ARG(g->name)));
    MK_TRY(rc, put_cell(table, err, "%zu", g->tasks));
    MK_TRY(rc, put_cell(table, err, "%.3f", g->exact_match));
    MK_TRY(rc, put_cell(table, err, "%.3f", g->f1));
    MK_TRY(rc, put_cell(table, err, "%.3f", g->baseline));
    rc = put_cell(table, err, "%zu", g->abstained);
out:
    return rc;
}

static mk_code put_groups(evaluating *e, const mk_eval_report *report, mk_err *err)
{
    static const char *const heads[] = {"tasks of", "tasks", "exact match", "F1", "constant", "abstained"};
    mk_eval_group all = report->overall;
    mk_table table;
    mk_code rc;
    all.name = MK_STR("all");
    MK_TRY(rc, mk_table_begin(&table, &e->arena, heads, 6, err));
    for (size_t i = 0; i < report->family_count; i++)
        MK_TRY(rc, put_group(&table, "family ", &report->families[i], err));
    for (size_t i = 0; i < report->kind_count; i++)
        MK_TRY(rc, put_group(&table, "kind ", &report->kinds[i], err));
    MK_TRY(rc, put_group(&table, "", &all, err));
    rc = mk_table_put(e->cli, &table, err);
out:
    return rc;
}

static void put_share(mk_buf *out, const char *name, double share)
{
    if (share < 0)
        mk_buf_printf(out, "%-24s none to measure\n", name);
    else
        mk_buf_printf(out, "%-24s %.3f\n", name, share);
}

/* Tasks without the right answer, and why. */
static void put_misses(mk_buf *out, const mk_eval_report *report)
{
    bool any = false;
    for (size_t i = 0; i < report->row_count; i++) {
        const mk_eval_row *row = &report->rows[i];
        if (row->correct)
            continue;
        mk_buf_z(out, any ? "  " : "\nNot right\n  ");
        any = true;
        mk_text_safe(out, row->task->id);
        mk_buf_z(out, row->abstained ? ": abstained" : ": answered ");
        const mk_str shown = row->abstained ? row->why : row->answer;
        mk_buf_z(out, row->abstained && shown.n > 0 ? ": " : "");
        mk_text_safe(out, shown.n > 160 ? (mk_str){shown.p, mk_utf8_check((mk_str){shown.p, 160})} : shown);
        mk_buf_c(out, '\n');
    }
}

static mk_code put_report(evaluating *e, const mk_eval_report *report, mk_err *err)
{
    mk_code rc;
    MK_TRY(rc, put_groups(e, report, err));
    mk_buf_printf(&e->out, "\n%-24s %s%s%.*s\n", "planner", mk_eval_planner_name(report->planner),
                  report->ablated.n > 0 ? ", without " : "", MK_STR_ARG(report->ablated));
    put_share(&e->out, "first plan valid", report->first_attempt_validity);
    put_share(&e->out, "plans that ran", report->execution_success);
    put_share(&e->out, "unsupported claims", report->unsupported_claim_rate);
    put_share(&e->out, "exact match of traces", report->trace_exact_match);
    put_misses(&e->out, report);
    rc = mk_cli__put_buf(e->cli, &e->out, err);
out:
    return rc;
}

static mk_code run_eval(mk_cli *cli, mk_err *err)
{
    mk_eval_options options = {.each = show_row, .each_ctx = cli};
    mk_eval_report report;
    evaluating e;
    mk_code rc;
    begin(&e, cli);
    MK_TRY(rc, read_planner(&cli->options, &options.planner, err));
    MK_TRY(rc, read_ablations(&cli->options, &options, err));
    MK_TRY(rc, mk_cli__mask(cli, &options.mask, err));
    if (options.planner == MK_EVAL_MODEL)
        MK_TRY(rc, mk_cli__model_open(cli, &options.model, err));
    MK_TRY(rc, open_all(&e, err));
    MK_TRY(rc, mk_eval_run(e.store, &e.suite, &options, &e.arena, &report, err));
    mk_cli__progress_end(cli);
    if (cli->json) {
        mk_eval_report_json(&report, &e.out);
        MK_TRY(rc, mk_buf_done(&e.out, err));
        rc = mk_cli__put_json(cli, mk_buf_view(&e.out), err);
    } else {
        rc = put_report(&e, &report, err);
    }
out:
    mk_model_close(options.model);
    return end(&e, rc, err);
}

/* ---- eval faults ---- */

static mk_code put_faults(evaluating *e, const mk_faults_report *report, mk_err *err)
{
    static const char *const heads[] = {"class", "answers", "mutants", "detected", "share"};
    mk_table table;
    mk_code rc;
    MK_TRY(rc, mk_table_begin(&table, &e->arena, heads, 5, err));
    for (int i = 0; i < MK_FAULT_CLASSES; i++) {
        const mk_fault_result *r = &report->classes[i];
        MK_TRY(rc, put_cell(&table, err, "%s", mk_fault_name((mk_fault)i)));
        MK_TRY(rc, put_cell(&table, err, "%zu", r->answers));
        MK_TRY(rc, put_cell(&table, err, "%zu", r->mutants));
        MK_TRY(rc, put_cell(&table, err, "%zu", r->detected));
        const double share = r->mutants > 0 ? (double)r->detected / (double)r->mutants : 0;
        MK_TRY(rc, put_cell(&table, err, "%.3f", share));
    }
    MK_TRY(rc, mk_table_put(e->cli, &table, err));
    mk_buf_printf(&e->out, "\nright answers %zu, of %zu claim types; rejected %zu\n", report->answers,
                  report->types, report->rejected);
    for (size_t i = 0; i < report->surprise_count; i++) {
        mk_buf_z(&e->out, i == 0 ? "\nNot as expected\n  " : "  ");
        mk_text_safe(&e->out, report->surprises[i]);
        mk_buf_c(&e->out, '\n');
    }
    rc = mk_cli__put_buf(e->cli, &e->out, err);
out:
    return rc;
}

static mk_code run_faults(mk_cli *cli, mk_err *err)
{
    mk_faults_options options = {.mutants = MK_FAULT_MUTANTS};
    mk_eval_options ablated = {.planner = MK_EVAL_ORACLE};
    uint64_t mutants = MK_FAULT_MUTANTS;
    mk_faults_report report;
    evaluating e;
    mk_code rc;
    begin(&e, cli);
    MK_TRY(rc, mk_options_u64(&cli->options, "mutants", 1, MUTANTS_MAX, &mutants, err));
    MK_TRY(rc, mk_options_u64(&cli->options, "seed", 0, INT64_MAX, &options.seed, err));
    MK_TRY(rc, read_ablations(&cli->options, &ablated, err));
    MK_TRY(rc, mk_cli__mask(cli, &options.mask, err));
    options.mutants = (size_t)mutants;
    options.no_completeness = ablated.no_completeness;
    MK_TRY(rc, open_all(&e, err));
    mk_cli__progress(cli, "eval: running plans and drawing mutants");
    MK_TRY(rc, mk_faults_run(e.store, &e.suite, &options, &e.arena, &report, err));
    mk_cli__progress_end(cli);
    if (cli->json) {
        mk_faults_report_json(&report, &e.out);
        MK_TRY(rc, mk_buf_done(&e.out, err));
        MK_TRY(rc, mk_cli__put_json(cli, mk_buf_view(&e.out), err));
    } else {
        MK_TRY(rc, put_faults(&e, &report, err));
    }
    rc = mk_faults_verdict(&report, err);
out:
    return end(&e, rc, err);
}

/* ---- the table ---- */

#define SUITE_OPTION                                                                               \
    {                                                                                              \
        .name = "suite", .value = "FILE", .doc = "questions with right answers; - is standard input" \
    }
#define SHOW_OPTION                                                                                \
    {                                                                                              \
        .name = "show", .value = "CLASSES", .doc = "see these too: resolution,knowledge,notes"     \
    }

static const mk_option run_options[] = {
    SUITE_OPTION,
    {.name = "planner", .value = "NAME", .doc = "oracle, offline (default) or model"},
    {.name = "ablate", .value = "PARTS", .doc = "without these: contracts,completeness,gate,memory"},
    SHOW_OPTION,
    {0},
};
static const mk_option faults_options[] = {
    SUITE_OPTION,
    {.name = "mutants", .letter = 'n', .value = "N", .doc = "of each class; default 100"},
    {.name = "seed", .value = "N", .doc = "of what is drawn; default 0"},
    {.name = "ablate", .value = "PARTS", .doc = "without: completeness"},
    SHOW_OPTION,
    {0},
};

#define SUITE_HELP                                                                                 \
    "A suite is a JSON list of {\"id\",\"question\",\"kind\",\"gold\"} with kinds such as count,\n" \
    "value, entity_set, interval and abstain (right when no answer is given), or a\n"              \
    "frozen suite whose tasks also carry the plan that defines the right answer.\n"

const mk_command mk_commands_eval[] = {
    {.name = "eval run",
     .summary = "answers a suite of questions and scores the answers",
     .help = SUITE_HELP
         "oracle runs the plans that tasks carry; offline and model plan themselves. Beside\n"
         "each score stands that of a constant answer: the most frequent right one of its\n"
         "kind. No answer counts as a wrong one. model asks what MERKHET_LLM_URL names.",
     .example = "merkhet assert --store team --node ada --label Person --from 2024-01-01\n"
                "echo '[{\"id\":\"1\",\"question\":\"Will it rain tomorrow?\",\"kind\":\"abstain\"}]' | "
                "merkhet eval run --suite - --store team",
     .words = "",
     .options = run_options,
     .run = run_eval},
    {.name = "eval faults",
     .summary = "makes right answers wrong and counts what the claim verifier notices",
     .help = SUITE_HELP
         "The suite's plans and others made from the store are run; their answers are made\n"
         "wrong in eleven ways. Exit status 1 unless every fault is noticed, no right\n"
         "answer is rejected, and there are enough of both.",
     .example = "merkhet synth skewed -n 5000 --nodes 500 --store team\n"
                "echo '[]' | merkhet eval faults --suite - --store team",
     .words = "",
     .options = faults_options,
     .run = run_faults},
    {0},
};

/* cmd_ask.c — ask: a question in words, an answer with what it rests on. Layer: cli. */
#include <stdio.h>

#include "agent/explain.h"
#include "agent/page.h"
#include "cli/cli.h"
#include "plan/traces.h"

#define ASK_MEMORY_MAX ((size_t)4 << 30)
#define OBJECTS_MAX ((size_t)1 << 30)
#define ALLOWED_MAX 10000
#define TIMEOUT_MS_MAX (UINT64_C(1) << 40)

typedef struct asking {
    mk_cli *cli;
    mk_store *store;
    mk_objects *objects;
    mk_arena arena;
    mk_buf out;
    mk_ask_options options;
    mk_str question;
    bool verbose;
    char trace_dir[4200];
    bool keep; /* the traces */
} asking;

/* ---- options ---- */

static mk_code read_planner(const mk_options *o, mk_planner *planner, mk_err *err)
{
    static const char *const names[] = {"auto", "model", "offline"};
    const char *text = mk_options_value(o, "planner");
    for (size_t i = 0; text != NULL && i < 3; i++)
        if (strcmp(text, names[i]) == 0) {
            *planner = (mk_planner)i;
            return MK_OK;
        }
    if (text == NULL)
        return MK_OK;
    mk_fail_usage(err, "--planner: there is no planner \"%.60s\"", text);
    mk_err_hint(err, "write auto, model or offline");
    return MK_E_INVALID_ARG;
}

/* ada,grace: identifiers that the plan may use as they are. */
static mk_code read_allowed(asking *a, mk_err *err)
{
    const char *text = mk_options_value(&a->cli->options, "uids");
    size_t count = text != NULL && *text != '\0';
    if (count == 0)
        return MK_OK;
    for (const char *p = text; *p != '\0'; p++)
        count += *p == ',';
    if (count > ALLOWED_MAX)
        return mk_fail_usage(err, "--uids: %zu identifiers, at most %d are possible", count, ALLOWED_MAX);
    mk_str *uids = mk_arena_get(&a->arena, count * sizeof *uids);
    if (uids == NULL)
        return mk_fail_nomem(err);
    for (size_t i = 0; i < count; i++) {
        const size_t n = strcspn(text, ",");
        uids[i] = (mk_str){text, n};
        text += n + 1;
    }
    a->options.allowed = uids;
    a->options.allowed_count = count;
    return MK_OK;
}

static mk_code read_options(asking *a, mk_err *err)
{
    const mk_options *o = &a->cli->options;
    uint64_t timeout_ms = 0, time_max = 0;
    mk_code rc;
    MK_TRY(rc, read_planner(o, &a->options.planner, err));
    MK_TRY(rc, mk_cli__mask(a->cli, &a->options.mask, err));
    MK_TRY(rc, mk_options_time(o, "as-of-tt", &a->options.as_of.us, err));
    MK_TRY(rc, mk_options_u64(o, "timeout", 1, TIMEOUT_MS_MAX, &timeout_ms, err));
    MK_TRY(rc, mk_options_u64(o, "time-max", 1, INT64_MAX, &time_max, err));
    MK_TRY(rc, read_allowed(a, err));
    a->options.wall_us = (int64_t)timeout_ms * 1000;
    a->options.ceilings.time_est_ms = (int64_t)time_max;
    a->options.strict = mk_options_has(o, "strict");
    a->verbose = mk_options_has(o, "verbose");
out:
    return rc;
}

/* ---- progress ---- */

static void show_event(void *ctx, const mk_ask_event *event)
{
    asking *a = ctx;
    static const char *const words[] = {
        [MK_ASK_ATTEMPT] = "planning",          [MK_ASK_REJECTED] = "plan refused",
        [MK_ASK_STEP_STARTED] = "step started", [MK_ASK_STEP_FINISHED] = "step finished",
        [MK_ASK_CLAIM_CHECKED] = "claim",       [MK_ASK_DONE] = "done"};
    mk_buf line;
    mk_buf_init(&line, a->cli->alloc);
    mk_buf_printf(&line, "%s", words[event->kind]);
    if (event->name.n != 0) {
        mk_buf_c(&line, ' ');
        mk_text_safe(&line, event->name);
    }
    if (event->detail.n != 0) {
        mk_buf_z(&line, ": ");
        mk_text_safe(&line, event->detail);
    }
    if (event->kind == MK_ASK_STEP_FINISHED)
        mk_buf_printf(&line, ", %s, %llu rows", event->ok ? "ok" : "failed", (unsigned long long)event->rows);
    if (a->verbose)
        fprintf(stderr, "%.*s\n", MK_STR_ARG(mk_buf_view(&line)));
    else
        mk_cli__progress(a->cli, "%.*s", MK_STR_ARG(mk_buf_view(&line)));
    mk_buf_free(&line);
}

/* ---- for people ---- */

static void put_list(mk_buf *out, const char *head, const mk_str *texts, size_t count)
{
    if (count == 0)
        return;
    mk_buf_printf(out, "\n%s\n", head);
    for (size_t i = 0; i < count; i++) {
        mk_buf_z(out, "  ");
        mk_text_safe(out, texts[i]);
        mk_buf_c(out, '\n');
    }
}

static void put_line(mk_buf *out, const char *name, mk_str text)
{
    if (text.n == 0)
        return;
    mk_buf_printf(out, "%-15s ", name);
    mk_text_safe(out, text);
    mk_buf_c(out, '\n');
}

/* "count 343  from s1.rows_total": the claim without what is said elsewhere. */
static mk_code put_claim_body(asking *a, const mk_json *claim, mk_buf *out, mk_err *err)
{
    static const char *const elsewhere[] = {"id", "type", "evidence", "from"};
    mk_buf text;
    mk_code rc = MK_OK;
    mk_buf_init(&text, a->cli->alloc);
    for (size_t i = 0; claim != NULL && claim->kind == MK_JSON_OBJECT && i < claim->n; i++) {
        bool skip = false;
        for (size_t k = 0; k < 4; k++)
            skip |= mk_str_eq(claim->members[i].key, mk_str_of(elsewhere[k]));
        if (skip)
            continue;
        mk_buf_c(&text, ' ');
        if (!mk_str_eq(claim->members[i].key, MK_STR("value"))) {
            mk_buf_str(&text, claim->members[i].key);
            mk_buf_c(&text, ' ');
        }
        MK_TRY(rc, mk_canon_tree(&text, &a->arena, &claim->members[i].value, err));
    }
    const mk_json *from = mk_json_get(claim, "from");
    mk_str body = mk_buf_view(&text);
    const bool cut = body.n > 300;
    mk_text_safe(out, cut ? (mk_str){body.p, mk_utf8_check((mk_str){body.p, 300})} : body);
    if (cut)
        mk_buf_z(out, "...");
    if (from != NULL && from->kind == MK_JSON_STRING) {
        mk_buf_z(out, "  from ");
        mk_text_safe(out, from->text);
    }
    rc = mk_buf_done(&text, err);
out:
    mk_buf_free(&text);
    return rc;
}

static mk_code put_claims(asking *a, const mk_ask_result *result, mk_err *err)
{
    mk_buf *out = &a->out;
    mk_code rc = MK_OK;
    mk_buf_z(out, "\nclaims\n");
    for (size_t i = 0; rc == MK_OK && i < result->report.claim_count; i++) {
        const mk_claim_result *c = &result->report.claims[i];
        mk_buf_printf(out, "  %-4.*s %-16s ", MK_STR_ARG(c->id), mk_verdict_name(c->verdict));
        mk_text_safe(out, c->type);
        rc = put_claim_body(a, c->claim, out, err);
        mk_buf_z(out, "\n       ");
        mk_text_safe(out, c->reason);
        mk_buf_c(out, '\n');
    }
    return rc;
}

static mk_str member(const mk_json *object, const char *key)
{
    const mk_json *value = mk_json_get(object, key);
    return value != NULL && value->kind == MK_JSON_STRING ? value->text : MK_STR("");
}

/* Each step with what it gave, and every field of it that is not complete. */
static mk_code put_steps(asking *a, const mk_ask_result *result, mk_err *err)
{
    mk_buf *out = &a->out;
    mk_json *trace;
    mk_code rc;
    MK_TRY(rc, mk_json_parse(&a->arena, result->trace.json, NULL, &trace, err));
    const mk_json *steps = mk_json_get(trace, "steps");
    if (steps == NULL || steps->kind != MK_JSON_ARRAY)
        goto out;
    mk_buf_z(out, "\nevidence\n");
    for (size_t i = 0; i < steps->n; i++) {
        const mk_json *step = &steps->items[i], *rows = mk_json_get(step, "rows_returned");
        const mk_json *gaps = mk_json_get(step, "completeness");
        const mk_str id = member(step, "step_id"), op = member(step, "op"), digest = member(step,
                                                                                            "result_digest");
        mk_buf_printf(out, "  %-4.*s %-32.*s ", MK_STR_ARG(id), MK_STR_ARG(op));
        if (rows != NULL && rows->kind == MK_JSON_INT && !rows->b)
            mk_buf_printf(out, "%8lld rows", (long long)rows->i);
        else
            mk_text_safe(out, member(step, "status"));
        if (digest.n != 0)
            mk_buf_printf(out, "  %.16s", digest.p);
        if (gaps != NULL && gaps->n != 0) {
            mk_buf_z(out, "\n       incomplete: ");
            MK_TRY(rc, mk_canon_tree(out, &a->arena, gaps, err));
        }
        mk_buf_c(out, '\n');
    }
out:
    return rc;
}

static void put_belief(mk_buf *out, int64_t tt)
{
    mk_buf_printf(out, "%-15s ", "believed at");
    if (tt == 0)
        mk_buf_z(out, "nothing was ever written");
    else
        mk_text_time(out, tt);
    mk_buf_c(out, '\n');
}

static mk_code put_result(asking *a, const mk_ask_result *result, mk_err *err)
{
    mk_buf *out = &a->out;
    mk_code rc = MK_OK;
    mk_text_safe(out, result->abstained ? MK_STR("No answer.") : result->report.text);
    mk_buf_z(out, "\n\n");
    put_line(out, "understood as", result->understood);
    put_belief(out, result->as_of_tt);
    if (!result->abstained)
        put_line(out, "complete", result->complete ? MK_STR("yes") : MK_STR("no: see below"));
    mk_buf_printf(out, "%-15s %s\n", "planner", result->planner);
    put_line(out, "", result->note);
    if (result->ran)
        put_line(out, "trace", mk_str_of(result->trace.digest));
    put_list(out, "missing", result->missing, result->missing_count);
    put_list(out, "it could mean", result->candidates, result->candidate_count);
    if (!result->abstained)
        MK_TRY(rc, put_claims(a, result, err));
    if (!result->abstained)
        MK_TRY(rc, put_steps(a, result, err));
    if (result->ran && result->gated.dropped.n > 2)
        put_line(out, "\ndropped", result->gated.dropped);
    put_list(out, "questions that this store can answer", result->examples, result->example_count);
    rc = mk_buf_done(out, err);
out:
    return rc;
}

/* ---- files ---- */

static mk_code write_file(const char *path, mk_str content, mk_err *err)
{
    FILE *f = fopen(path, "wbe");
    bool ok = f != NULL;
    if (ok) {
        ok = fwrite(content.p, 1, content.n, f) == content.n;
        ok = fclose(f) == 0 && ok;
    }
    if (!ok) {
        mk_fail(err, MK_E_STATE, "%.300s cannot be written", path);
        mk_err_path(err, "%s", path);
        mk_err_reason(err, "io");
        return MK_E_STATE;
    }
    return MK_OK;
}

static mk_code write_files(asking *a, const mk_ask_result *result, mk_err *err)
{
    const char *html = mk_options_value(&a->cli->options, "html");
    const char *file = mk_options_value(&a->cli->options, "save-bundle");
    mk_buf bundle, json, page;
    mk_code rc = MK_OK;
    mk_buf_init(&bundle, a->cli->alloc);
    mk_buf_init(&json, a->cli->alloc);
    mk_buf_init(&page, a->cli->alloc);
    if (html == NULL && file == NULL)
        goto out;
    if (result->ran)
        MK_TRY(rc, mk_ask_bundle(result, a->objects, &a->arena, &bundle, err));
    if (file != NULL && !result->ran)
        mk_cli__warn(a->cli, "nothing was run, so there is no bundle to save");
    else if (file != NULL)
        MK_TRY(rc, write_file(file, mk_buf_view(&bundle), err));
    if (html != NULL) {
        MK_TRY(rc, mk_ask_json(result, &a->arena, &json, err));
        MK_TRY(rc, mk_html_write(mk_buf_view(&json), mk_buf_view(&bundle), &a->arena, &page, err));
        MK_TRY(rc, write_file(html, mk_buf_view(&page), err));
    }
out:
    mk_buf_free(&page);
    mk_buf_free(&json);
    mk_buf_free(&bundle);
    return rc;
}

/* ---- traces ---- */

/* Where results go: into the store's trace/, or nowhere when that cannot be made or is not wanted. */
static mk_code open_objects(asking *a, mk_err *err)
{
    mk_err why;
    a->keep = !mk_options_has(&a->cli->options, "no-trace");
    snprintf(a->trace_dir, sizeof a->trace_dir, "%.4000s/trace", mk_store_dir(a->store));
    if (a->keep &&
        mk_objects_dir(a->cli->alloc, &mk_fs_posix, a->trace_dir, OBJECTS_MAX, &a->objects, &why) == MK_OK)
        return MK_OK;
    if (a->keep)
        mk_cli__warn(a->cli, "the trace is not kept: %s", why.message);
    a->keep = false;
    return mk_objects_memory(a->cli->alloc, OBJECTS_MAX, &a->objects, err);
}

static mk_code keep_trace(const asking *a, const mk_ask_result *result, mk_err *err)
{
    uint32_t number;
    if (!a->keep || !result->ran)
        return MK_OK;
    return mk_traces_save(a->cli->alloc, &mk_fs_posix, a->trace_dir, result->trace.json, &number, err);
}

/* ---- two beliefs ---- */

static void put_change(mk_buf *out, const mk_claim_change *c)
{
    mk_buf_printf(out, "  %-4.*s was ", MK_STR_ARG(c->id));
    mk_text_safe(out, c->before.n != 0 ? c->before : MK_STR("not claimed"));
    mk_buf_z(out, "\n       is  ");
    mk_text_safe(out, c->after.n != 0 ? c->after : MK_STR("not claimed"));
    mk_buf_c(out, '\n');
}

static void put_cause(mk_buf *out, const mk_cause *c)
{
    mk_buf_z(out, "  ");
    mk_text_time(out, c->tt);
    mk_buf_printf(out, "  batch %.*s\n    from ", MK_STR_ARG(c->batch_id));
    mk_text_safe(out, c->before);
    mk_buf_z(out, "\n    to   ");
    mk_text_safe(out, c->after);
    mk_buf_c(out, '\n');
    for (size_t i = 0; i < c->op_count; i++) {
        mk_buf_z(out, "    by   ");
        mk_text_safe(out, c->ops[i]);
        mk_buf_c(out, '\n');
    }
    if (c->op_count < c->ops_total)
        mk_buf_printf(out, "    %zu of its %zu operations are shown\n", c->op_count, c->ops_total);
}

static mk_code put_explanation(asking *a, const mk_explanation *e, mk_err *err)
{
    mk_buf *out = &a->out;
    mk_buf_z(out, "before          ");
    mk_text_safe(out, e->before.abstained ? MK_STR("no answer") : e->before.report.text);
    mk_buf_c(out, '\n');
    put_belief(out, e->before.as_of_tt);
    mk_buf_z(out, "after           ");
    mk_text_safe(out, e->after.abstained ? MK_STR("no answer") : e->after.report.text);
    mk_buf_c(out, '\n');
    put_belief(out, e->after.as_of_tt);
    mk_buf_printf(out, "%-15s %s; %llu transactions lie between\n", "changed", e->differs ? "yes" : "no",
                  (unsigned long long)e->transactions);
    if (e->claim_count != 0)
        mk_buf_z(out, "\nclaims that changed\n");
    for (size_t i = 0; i < e->claim_count; i++)
        put_change(out, &e->claims[i]);
    if (e->cause_count != 0)
        mk_buf_z(out, "\nchanged by\n");
    for (size_t i = 0; i < e->cause_count; i++)
        put_cause(out, &e->causes[i]);
    if (!e->all_causes)
        mk_buf_z(out, "\nThere are more causes than were looked for.\n");
    put_list(out, "missing", e->after.missing, e->after.missing_count);
    put_list(out, "questions that this store can answer", e->after.examples, e->after.example_count);
    return mk_buf_done(out, err);
}

static mk_code explain(asking *a, const char *const *times, mk_err *err)
{
    mk_explanation *e = mk_arena_get0(&a->arena, sizeof *e);
    mk_tt before, after;
    mk_code rc;
    if (e == NULL)
        return mk_fail_nomem(err);
    rc = mk_time_parse(mk_str_of(times[0]), &before.us, err);
    if (rc == MK_OK)
        rc = mk_time_parse(mk_str_of(times[1]), &after.us, err);
    if (rc != MK_OK) {
        mk_err_path(err, "--explain-diff");
        goto out;
    }
    MK_TRY(rc, mk_explain_diff(a->store, a->question, before, after, &a->options, a->objects, &a->arena, e,
                               err));
    mk_cli__progress_end(a->cli);
    MK_TRY(rc, keep_trace(a, &e->before, err));
    MK_TRY(rc, keep_trace(a, &e->after, err));
    MK_TRY(rc, write_files(a, &e->after, err));
    if (a->cli->json) {
        MK_TRY(rc, mk_explain_json(e, &a->arena, &a->out, err));
        MK_TRY(rc, mk_cli__put_json(a->cli, mk_buf_view(&a->out), err));
    } else {
        MK_TRY(rc, put_explanation(a, e, err));
        MK_TRY(rc, mk_cli__put_buf(a->cli, &a->out, err));
    }
    a->cli->refused = e->before.abstained && e->after.abstained;
out:
    return rc;
}

/* ---- one question, or none ---- */

static mk_code list_examples(asking *a, mk_err *err)
{
    mk_str questions[MK_ASK_EXAMPLES];
    size_t count;
    mk_code rc;
    MK_TRY(rc, mk_ask_examples(a->store, &a->options, &a->arena, questions, &count, err));
    if (a->cli->json) {
        mk_buf_z(&a->out, "{\"examples\":[");
        for (size_t i = 0; i < count; i++) {
            if (i != 0)
                mk_buf_c(&a->out, ',');
            mk_canon_string(&a->out, questions[i]);
        }
        mk_buf_z(&a->out, "]}");
        MK_TRY(rc, mk_buf_done(&a->out, err));
        rc = mk_cli__put_json(a->cli, mk_buf_view(&a->out), err);
    } else {
        if (count == 0)
            mk_buf_z(&a->out, "The store holds nothing that could be asked about.\n");
        else
            mk_buf_z(&a->out, "Questions that this store can answer:\n");
        for (size_t i = 0; i < count; i++) {
            mk_buf_z(&a->out, "  ");
            mk_text_safe(&a->out, questions[i]);
            mk_buf_c(&a->out, '\n');
        }
        rc = mk_cli__put_buf(a->cli, &a->out, err);
    }
out:
    return rc;
}

static mk_code answer(asking *a, mk_err *err)
{
    mk_ask_result *result = mk_arena_get0(&a->arena, sizeof *result);
    mk_code rc;
    if (result == NULL)
        return mk_fail_nomem(err);
    MK_TRY(rc, mk_ask(a->store, a->question, &a->options, a->objects, &a->arena, result, err));
    mk_cli__progress_end(a->cli);
    MK_TRY(rc, keep_trace(a, result, err));
    MK_TRY(rc, write_files(a, result, err));
    if (a->cli->json) {
        MK_TRY(rc, mk_ask_json(result, &a->arena, &a->out, err));
        MK_TRY(rc, mk_cli__put_json(a->cli, mk_buf_view(&a->out), err));
    } else {
        MK_TRY(rc, put_result(a, result, err));
        MK_TRY(rc, mk_cli__put_buf(a->cli, &a->out, err));
    }
    a->cli->refused = result->abstained;
out:
    return rc;
}

static mk_code run_ask(mk_cli *cli, mk_err *err)
{
    const char *const *times = mk_options_has(&cli->options, "explain-diff")
                                   ? mk_options_values(&cli->options, "explain-diff")
                                   : NULL;
    asking a = {.cli = cli, .options = {.event = show_event}};
    mk_code rc;
    a.options.event_ctx = &a;
    mk_arena_init(&a.arena, cli->alloc);
    a.arena.limit = ASK_MEMORY_MAX;
    mk_buf_init(&a.out, cli->alloc);
    MK_TRY(rc, read_options(&a, err));
    if (cli->options.word_count == 0 && (times != NULL || mk_options_has(&cli->options, "html"))) {
        rc = mk_fail_usage(err, "there is no question");
        mk_err_hint(err, "write merkhet ask \"...\"; without a question it lists some");
        goto out;
    }
    if (a.options.planner != MK_PLANNER_OFFLINE)
        MK_TRY(rc, mk_cli__model_open(cli, &a.options.model, err));
    MK_TRY(rc, mk_cli__open(cli, mk_cli__store_dir(cli), MK_OPEN_READER, false, &a.store, err));
    if (cli->options.word_count == 0) {
        rc = list_examples(&a, err);
        goto out;
    }
    a.question = mk_str_of(cli->options.words[0]);
    MK_TRY(rc, open_objects(&a, err));
    rc = times != NULL ? explain(&a, times, err) : answer(&a, err);
out:
    mk_objects_close(a.objects);
    mk_model_close(a.options.model);
    rc = mk_cli__close(a.store, rc, err);
    mk_buf_free(&a.out);
    mk_arena_free(&a.arena);
    return rc;
}

/* ---- the table ---- */

static const mk_option ask_options[] = {
    {.name = "as-of-tt", .value = "TIME", .doc = "answer from what was believed then"},
    {.name = "planner", .value = "NAME",
     .doc = "auto, model or offline; auto is the model when one is configured"},
    {.name = "uids", .value = "UID,...", .doc = "identifiers that come with the question"},
    {.name = "html", .value = "FILE", .doc = "also write the answer as one self-contained page"},
    {.name = "save-bundle", .value = "FILE", .doc = "also write the answer with all it rests on"},
    {.name = "explain-diff", .value = "T1 T2", .count = 2,
     .doc = "ask at two beliefs: which claims change, and what changed them"},
    {.name = "show", .value = "CLASSES", .doc = "see these too: resolution,knowledge,notes"},
    {.name = "no-trace", .doc = "keep nothing in the store's folder of traces"},
    {.name = "strict", .doc = "drop claims that cannot be verified"},
    {.name = "time-max", .value = "MS", .doc = "refuse a step estimated to take longer (10000)"},
    {.name = "timeout", .value = "MS", .doc = "end a plan that runs longer (60000)"},
    {.name = "verbose", .letter = 'v', .doc = "a line on standard error for every attempt, step and claim"},
    {0},
};

const mk_command mk_commands_ask[] = {
    {.name = "ask",
     .words = "[QUESTION]",
     .summary = "answers a question in words, with its evidence",
     .help = "The question becomes a plan of operator calls, the plan is checked and run, and every\n"
             "claim of the answer is looked up in the results before it is shown. Without a question,\n"
             "and whenever there is no answer, questions that this very store can answer are listed.\n"
             "Exit status 1: there is no answer; what is missing is printed.",
     .example = "merkhet assert --store team --edge ada KNOWS bob --from 2024-01-01 --create-endpoints\n"
                "merkhet ask --store team",
     .options = ask_options,
     .words_max = 1,
     .run = run_ask},
    {0},
};

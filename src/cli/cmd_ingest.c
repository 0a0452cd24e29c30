/* cmd_ingest.c — ingest: foreign files and git histories into the store. Layer: cli. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/cli.h"
#include "load/load.h"
#include "base/canon.h"

/* ---- options ---- */

static mk_code named(const mk_cli *cli, const char *option, bool known, const char *names, mk_err *err)
{
    if (known)
        return MK_OK;
    mk_fail_usage(err, "--%s: there is no \"%.60s\"", option, mk_options_value(&cli->options, option));
    mk_err_hint(err, "one of %s", names);
    return MK_E_INVALID_ARG;
}

static bool separator_named(const char *name, mk_load_separator *out)
{
    static const char *const names[] = {"auto", "blanks", "tab", "comma"};
    for (size_t i = 0; i < 4; i++)
        if (strcmp(names[i], name) == 0) {
            *out = (mk_load_separator)i;
            return true;
        }
    return false;
}

static mk_code read_names(const mk_cli *cli, mk_load_options *load, mk_err *err)
{
    const mk_options *o = &cli->options;
    const char *text;
    mk_code rc = MK_OK;
    if ((text = mk_options_value(o, "format")) != NULL)
        MK_TRY(rc, named(cli, "format", mk_load_format_named(text, &load->format),
                         "auto, edges, csv, tsv, jsonl, eventlog, git", err));
    if ((text = mk_options_value(o, "preset")) != NULL)
        MK_TRY(rc, named(cli, "preset", mk_load_preset_named(text, &load->preset),
                         "collegemsg, email-eu, bitcoinotc", err));
    if ((text = mk_options_value(o, "unit")) != NULL)
        MK_TRY(rc, named(cli, "unit", mk_load_unit_named(text, &load->unit), "auto, s, ms, us", err));
    if ((text = mk_options_value(o, "sep")) != NULL)
        MK_TRY(rc, named(cli, "sep", separator_named(text, &load->separator),
                         "auto, blanks, tab, comma", err));
out:
    return rc;
}

static mk_code read_options(const mk_cli *cli, mk_load_options *load, mk_err *err)
{
    const mk_options *o = &cli->options;
    uint64_t batch = 0;
    mk_code rc;
    MK_TRY(rc, read_names(cli, load, err));
    MK_TRY(rc, mk_options_u64(o, "batch", 1, 1000000, &batch, err));
    MK_TRY(rc, mk_options_u64(o, "skip-bad", 0, INT64_MAX, &load->skip_bad, err));
    load->path = o->words[0];
    load->batch_events = batch;
    load->batch_ops = batch;
    load->columns = mk_options_value(o, "columns");
    load->mapping = mk_options_value(o, "map");
    load->no_header = mk_options_has(o, "no-header");
    load->rel_type = mk_options_value(o, "rel-type");
    load->prefix = mk_options_value(o, "prefix");
    load->node_label = mk_options_value(o, "label");
    load->source = mk_options_value(o, "source");
    load->provenance_ref = mk_options_value(o, "provenance-ref");
    load->revision = mk_options_value(o, "revision");
    load->create_endpoints = mk_options_has(o, "create-endpoints");
out:
    return rc;
}

/* A name with a typing error should not leave an empty store behind. */
static mk_code check_readable(const char *path, mk_err *err)
{
    if (strcmp(path, "-") == 0 || access(path, R_OK) == 0)
        return MK_OK;
    const bool missing = errno == ENOENT || errno == ENOTDIR;
    mk_fail(err, missing ? MK_E_NOT_FOUND : MK_E_STATE,
            missing ? "there is no file %s" : "may not read %s", path);
    mk_err_path(err, "%s", path);
    mk_err_reason(err, missing ? "missing" : "permission");
    mk_err_hint(err, "name a file, a git repository with --format git, or - for standard input");
    return err->code;
}

/* ---- progress and report ---- */

typedef struct progress_ctx {
    mk_cli *cli;
    int64_t begun_us;
} progress_ctx;

static bool show_progress(void *ctx, const mk_load_progress *p)
{
    progress_ctx *progress = ctx;
    const int64_t now = mk_clock_system.now_us(mk_clock_system.ctx);
    const double seconds = (double)(now - progress->begun_us) / 1e6;
    const double rate = seconds > 0 ? (double)p->rows / seconds : 0;
    if (p->bytes_total != 0)
        mk_cli__progress(progress->cli, "ingest: %3.0f%%  %llu rows  %.0f rows/s",
                         100.0 * (double)p->bytes / (double)p->bytes_total,
                         (unsigned long long)p->rows, rate);
    else
        mk_cli__progress(progress->cli, "ingest: %llu rows  %.0f rows/s", (unsigned long long)p->rows,
                         rate);
    return true;
}

static void put_member(mk_buf *out, const char *name, uint64_t value)
{
    mk_buf_printf(out, ",\"%s\":%llu", name, (unsigned long long)value);
}

static void report_json(const mk_load_report *r, mk_buf *out)
{
    mk_buf_printf(out, "{\"bad\":[");
    for (size_t i = 0; i < r->bad_count; i++) {
        mk_buf_z(out, i ? ",{\"message\":" : "{\"message\":");
        mk_canon_string(out, mk_str_of(r->bad[i].message));
        mk_buf_z(out, ",\"path\":");
        mk_canon_string(out, mk_str_of(r->bad[i].path));
        mk_buf_c(out, '}');
    }
    mk_buf_c(out, ']');
    put_member(out, "batches", r->batches);
    put_member(out, "bytes", r->bytes);
    put_member(out, "done_line", r->done_line);
    put_member(out, "events", r->events);
    put_member(out, "failed_batches", r->failed_batches);
    mk_buf_printf(out, ",\"first_tt\":%lld,\"format\":\"%s\",\"last_tt\":%lld",
                  (long long)r->first_tt.us, mk_load_format_name(r->format), (long long)r->last_tt.us);
    put_member(out, "ops", r->ops);
    put_member(out, "rows", r->rows);
    mk_buf_z(out, ",\"rows_per_s\":");
    mk_canon_double(out, mk_round9(r->rows_per_s));
    mk_buf_z(out, ",\"seconds\":");
    mk_canon_double(out, mk_round9(r->seconds));
    put_member(out, "skipped", r->skipped);
    mk_buf_printf(out, ",\"unit\":\"%s\"}", mk_load_unit_name(r->unit));
}

static void report_for_people(const mk_load_report *r, mk_buf *out)
{
    mk_buf_printf(out, "%-16s %s\n%-16s ", "format", mk_load_format_name(r->format), "rows");
    mk_text_count(out, r->rows);
    mk_buf_printf(out, "\n%-16s ", "events");
    mk_text_count(out, r->events);
    mk_buf_printf(out, "\n%-16s ", "other operations");
    mk_text_count(out, r->ops);
    mk_buf_printf(out, "\n%-16s ", "batches");
    mk_text_count(out, r->batches);
    if (r->failed_batches != 0) {
        mk_buf_printf(out, "\n%-16s ", "failed batches");
        mk_text_count(out, r->failed_batches);
    }
    if (r->last_tt.us != 0) {
        mk_buf_printf(out, "\n%-16s ", "believed since");
        mk_text_time(out, r->last_tt.us);
    }
    mk_buf_printf(out, "\n%-16s %.3f s, ", "time", r->seconds);
    mk_text_count(out, (uint64_t)r->rows_per_s);
    mk_buf_z(out, " rows/s\n");
    if (r->skipped == 0)
        return;
    mk_buf_printf(out, "%-16s ", "skipped rows");
    mk_text_count(out, r->skipped);
    for (size_t i = 0; i < r->bad_count; i++) {
        mk_buf_z(out, "\n  ");
        mk_text_safe(out, mk_str_of(r->bad[i].path));
        mk_buf_z(out, ": ");
        mk_text_safe(out, mk_str_of(r->bad[i].message));
    }
    mk_buf_c(out, '\n');
}

static mk_code put_report(mk_cli *cli, const mk_load_report *report, mk_err *err)
{
    mk_buf out;
    mk_code rc;
    mk_buf_init(&out, cli->alloc);
    if (cli->json) {
        report_json(report, &out);
        MK_TRY(rc, mk_buf_done(&out, err));
        rc = mk_cli__put_json(cli, mk_buf_view(&out), err);
    } else {
        report_for_people(report, &out);
        rc = mk_cli__put_buf(cli, &out, err);
    }
out:
    mk_buf_free(&out);
    return rc;
}

/* A load that stopped has committed whole batches: says up to where, in the error for programs and beside
 * it for people. */
static void tell_how_far(mk_cli *cli, const mk_load_report *report, mk_err *err)
{
    if (cli->json && err->extra[0] == '\0') {
        char loaded[160];
        const int n = snprintf(loaded, sizeof loaded,
                               "\"loaded\":{\"batches\":%llu,\"done_line\":%llu,\"last_tt\":%lld}",
                               (unsigned long long)report->batches, (unsigned long long)report->done_line,
                               (long long)report->last_tt.us);
        mk_err_extra(err, loaded, (size_t)n);
    } else if (report->batches == 0)
        mk_cli__warn(cli, "nothing was loaded");
    else
        mk_cli__warn(cli, "%llu batches are loaded, all rows up to line %llu (tt %lld); the rest is not",
                     (unsigned long long)report->batches, (unsigned long long)report->done_line,
                     (long long)report->last_tt.us);
}

static mk_code run_ingest(mk_cli *cli, mk_err *err)
{
    progress_ctx progress = {cli, mk_clock_system.now_us(mk_clock_system.ctx)};
    mk_load_options options = {.progress = show_progress, .progress_ctx = &progress, .alloc = cli->alloc};
    mk_load_report report = {0};
    mk_store *store = NULL;
    mk_code rc;
    MK_TRY(rc, read_options(cli, &options, err));
    MK_TRY(rc, check_readable(options.path, err));
    MK_TRY(rc, mk_cli__open(cli, mk_cli__store_dir(cli), MK_OPEN_CREATE_WRITER, false, &store, err));
    rc = mk_load_run(store, &options, &report, err);
    mk_cli__progress_end(cli);
    if (rc != MK_OK)
        tell_how_far(cli, &report, err);
    else
        rc = put_report(cli, &report, err);
out:
    return mk_cli__close(store, rc, err);
}

static const mk_option ingest_options[] = {
    {.name = "format", .letter = 'f', .value = "NAME",
     .doc = "edges, csv, tsv, jsonl, eventlog or git; found out when not given"},
    {.name = "preset", .value = "NAME", .doc = "a known data set: collegemsg, email-eu, bitcoinotc"},
    {.name = "sep", .value = "NAME", .doc = "edge lists: blanks, tab or comma"},
    {.name = "unit", .value = "UNIT", .doc = "unit of times that are plain numbers: s, ms or us"},
    {.name = "columns", .value = "LIST", .doc = "edge lists: names by position, \"src,dst,rating,time\""},
    {.name = "map", .value = "MAPPING",
     .doc = "csv, tsv: \"src=from,dst=to,vt_s=start,vt_e=end,props=amount:int\""},
    {.name = "no-header", .doc = "csv, tsv: columns are called 1, 2, ..."},
    {.name = "rel-type", .value = "NAME", .doc = "relation type where the input has none; default EDGE"},
    {.name = "prefix", .value = "TEXT", .doc = "put before every uid; default n for edge lists"},
    {.name = "label", .value = "NAME", .doc = "label of nodes that events create; default Node"},
    {.name = "revision", .value = "REV", .doc = "git: where the history ends; default HEAD"},
    {.name = "source", .value = "TEXT", .doc = "kept with every version; default ingest"},
    {.name = "provenance-ref", .value = "TEXT", .doc = "kept with every version"},
    {.name = "create-endpoints", .doc = "also assert the ends of asserted edges that are no nodes yet"},
    {.name = "batch", .value = "N",
     .doc = "events or operations in a batch; default 50000 events or 10000 others"},
    {.name = "skip-bad", .value = "N", .doc = "pass over up to N bad rows"},
    {0},
};

const mk_command mk_commands_ingest[] = {
    {.name = "ingest",
     .words = "FILE",
     .summary = "loads an edge list, CSV, TSV, JSON lines, an event log or a git history",
     .help = "FILE may be compressed with gzip or zstd; - is standard input; for --format git it is\n"
             "the folder of a repository. Batches are atomic: a bad row stops the load, and the\n"
             "report says up to which line everything is loaded.",
     .example = "printf '1 2 1082040961\\n2 3 1082155839\\n' > messages.txt\n"
                "merkhet ingest messages.txt --rel-type MSG --store mail",
     .options = ingest_options,
     .words_min = 1,
     .words_max = 1,
     .run = run_ingest},
    {0},
};

/* cmd_bench.c — bench: the registry of thirteen queries, and the operators one by one. Layer: cli. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/canon.h"
#include "cli/cli.h"
#include "eval/bench.h"

#define PATH_SIZE 4096

typedef struct showing {
    mk_cli *cli;
    uint64_t scale;
    mk_arena arena;
    mk_table table;
    bool mismatch;
    mk_code rc;
    mk_err *err;
} showing;

/* ---- rows ---- */

static const char *verdict_name(const mk_bench_row *row)
{
    if (row->verdict == MK_BENCH_GUARDRAILED)
        return "guardrailed";
    if (row->verdict == MK_BENCH_FAILED)
        return "failed";
    return !row->has_published ? "" : row->as_published ? "as published" : "NOT AS PUBLISHED";
}

static void put_verdict(mk_buf *out, const mk_bench_row *row)
{
    mk_buf_printf(out, ",\"verdict\":\"%s\",\"why\":", verdict_name(row));
    mk_canon_string(out, mk_str_of(row->why));
}

static void put_json(showing *s, const mk_bench_row *row)
{
    mk_buf out;
    mk_buf_init(&out, s->cli->alloc);
    if (row->verdict != MK_BENCH_MEASURED)
        mk_buf_printf(&out, "{\"hash\":null,\"p50_ms\":null,\"p95_ms\":null");
    else
        mk_buf_printf(&out, "{\"cold_disk_ms\":%.6f,\"cold_ms\":%.6f,\"cpu_ms\":%.6f,\"hash\":\"%s\","
                      "\"memory\":%zu",
                      row->cold_disk_ms, row->cold_ms, row->cpu_ms, row->hash, row->memory);
    if (row->one_thread_ms > 0)
        mk_buf_printf(&out, ",\"one_thread_ms\":%.6f", row->one_thread_ms);
    if (row->verdict == MK_BENCH_MEASURED)
        mk_buf_printf(&out, ",\"p50_ms\":%.6f,\"p95_ms\":%.6f", row->p50_ms, row->p95_ms);
    if (row->has_published)
        mk_buf_printf(&out, ",\"published\":%s", row->as_published ? "true" : "false");
    mk_buf_printf(&out, ",\"query\":\"%s\",\"rows\":%lld,\"scale\":%llu,\"system\":\"merkhet\"", row->query,
                  (long long)row->rows, (unsigned long long)s->scale);
    if (row->verdict != MK_BENCH_MEASURED)
        put_verdict(&out, row);
    mk_buf_c(&out, '}');
    s->rc = mk_buf_done(&out, s->err);
    if (s->rc == MK_OK)
        s->rc = mk_cli__put_json(s->cli, mk_buf_view(&out), s->err);
    if (s->rc == MK_OK)
        s->rc = mk_cli__flush(s->err);
    mk_buf_free(&out);
}

static void cell(showing *s, const char *format, ...) MK_PRINTF(2, 3);
static void cell(showing *s, const char *format, ...)
{
    char text[128];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (s->rc == MK_OK)
        s->rc = mk_table_cell(&s->table, mk_str_of(text), s->err);
}

static void put_cells(showing *s, const mk_bench_row *row)
{
    const bool measured = row->verdict == MK_BENCH_MEASURED;
    cell(s, "%s", row->query);
    if (measured) {
        cell(s, "%.3f", row->p50_ms);
        cell(s, "%.3f", row->p95_ms);
        cell(s, "%.3f", row->cpu_ms);
        if (row->one_thread_ms > 0)
            cell(s, "%.3f", row->one_thread_ms);
        else
            cell(s, "-");
        cell(s, "%.3f", row->cold_ms);
        cell(s, "%.3f", row->cold_disk_ms);
        cell(s, "%lld", (long long)row->rows);
        cell(s, "%.1f", (double)row->memory / 1048576.0);
        cell(s, "%s", row->hash);
    }
    for (int i = 0; !measured && i < 9; i++)
        cell(s, "-");
    cell(s, "%s", verdict_name(row));
}

static void show_row(void *ctx, const mk_bench_row *row)
{
    showing *s = ctx;
    if (s->rc != MK_OK)
        return;
    s->mismatch |= row->has_published && !row->as_published;
    if (s->cli->json)
        put_json(s, row);
    else
        put_cells(s, row);
    mk_cli__progress(s->cli, "bench: %s", row->query);
}

static void show_progress(void *ctx, uint64_t done, uint64_t total)
{
    const showing *s = ctx;
    mk_cli__progress(s->cli, "bench: %llu of %llu events written", (unsigned long long)done,
                     (unsigned long long)total);
}

/* ---- one run ---- */

static bool is_there(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0;
}

/* The store named, or a temporary one, which is removed at the end. */
static mk_code choose_store(mk_cli *cli, char dir[PATH_SIZE], char folder[PATH_SIZE], mk_err *err)
{
    folder[0] = '\0';
    if (mk_options_has(&cli->options, "store")) {
        snprintf(dir, PATH_SIZE, "%s", mk_options_value(&cli->options, "store"));
        return MK_OK;
    }
    const char *tmp = getenv("TMPDIR");
    snprintf(folder, PATH_SIZE, "%.4000s/merkhet-bench-XXXXXX", tmp != NULL && tmp[0] ? tmp : "/tmp");
    if (mkdtemp(folder) == NULL) {
        mk_fail(err, MK_E_STATE, "cannot make a temporary folder %s: %m", folder);
        mk_err_hint(err, "name a folder with --store");
        folder[0] = '\0';
        return MK_E_STATE;
    }
    snprintf(dir, PATH_SIZE, "%.4080s/store", folder);
    return MK_OK;
}

static void remove_folder(const char *folder)
{
    char command[PATH_SIZE + 16];
    if (folder[0] == '\0' || strchr(folder, '\'') != NULL)
        return;
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0)
        fprintf(stderr, "merkhet: %s is left behind\n", folder);
}

static mk_code run_suite(mk_cli *cli, mk_bench_suite suite, const char *dir, showing *s, mk_err *err)
{
    static const char *const heads[] = {"query",   "p50 ms", "p95 ms", "cpu ms", "1 core ms", "cold ms",
                                        "disk ms", "rows",   "MiB",    "answer", ""};
    mk_code rc = MK_OK;
    if (!is_there(dir))
        MK_TRY(rc, mk_bench_make(dir, suite, s->scale, show_progress, s, err));
    mk_cli__progress_end(cli);
    MK_TRY(rc, mk_table_begin(&s->table, &s->arena, heads, 11, err));
    MK_TRY(rc, mk_bench_run(dir, suite, s->scale, show_row, s, err));
    mk_cli__progress_end(cli);
    MK_TRY(rc, s->rc);
    if (!cli->json)
        MK_TRY(rc, mk_table_put(cli, &s->table, err));
    if (s->mismatch) {
        rc = mk_fail(err, MK_E_INTERNAL, "an answer is not the published one");
        mk_err_hint(err, "the store may have been made with another clock; leave out --store");
    }
out:
    return rc;
}

/* {"args":{...},"op":"...","query":"..."}, one a line. */
static mk_code put_query(void *ctx, const char *name, const char *op, mk_str args, mk_err *err)
{
    mk_cli *cli = ctx;
    mk_buf line;
    mk_code rc;
    mk_buf_init(&line, cli->alloc);
    mk_buf_z(&line, "{\"args\":");
    mk_buf_str(&line, args);
    mk_buf_printf(&line, ",\"op\":\"%s\",\"query\":\"%s\"}", op, name);
    MK_TRY(rc, mk_buf_done(&line, err));
    rc = mk_cli__put_json(cli, mk_buf_view(&line), err);
out:
    mk_buf_free(&line);
    return rc;
}

static mk_code run_bench(mk_cli *cli, mk_err *err)
{
    const mk_bench_suite suite =
        strcmp(cli->command->name, "bench ops") == 0 ? MK_BENCH_OPS : MK_BENCH_REGISTRY;
    char dir[PATH_SIZE], folder[PATH_SIZE] = "";
    showing s = {.cli = cli, .scale = 200000, .rc = MK_OK, .err = err};
    mk_code rc;
    mk_arena_init(&s.arena, cli->alloc);
    MK_TRY(rc, mk_options_u64(&cli->options, "scale", 1000, 100000000, &s.scale, err));
    if (suite == MK_BENCH_REGISTRY && mk_options_has(&cli->options, "queries")) {
        rc = mk_bench_queries(s.scale, put_query, cli, err);
        goto out;
    }
    MK_TRY(rc, choose_store(cli, dir, folder, err));
    rc = run_suite(cli, suite, dir, &s, err);
out:
    remove_folder(folder);
    mk_arena_free(&s.arena);
    return rc;
}

static const mk_option registry_options[] = {
    {.name = "scale", .letter = 'n', .value = "N", .doc = "events in the data set; default 200000"},
    {.name = "queries", .doc = "print the queries as JSON lines, for other systems; runs nothing"},
    {0},
};
static const mk_option bench_options[] = {
    {.name = "scale", .letter = 'n', .value = "N", .doc = "events in the data set; default 200000"},
    {0},
};

const mk_command mk_commands_bench[] = {
    {.name = "bench registry",
     .summary = "times the thirteen queries of the cross-system registry",
     .help =
         "Every row has an answer hash, which other systems can be compared by, and says whether it is\n"
         "the published one where there is one. Cold is the first call of a store just opened, disk the\n"
         "same with its files dropped from the page cache, cpu the CPU time of all threads, and 1 core the\n"
         "median without a second thread, of operators that take one. With --store the data set is looked\n"
         "for there, and made when there is nothing; without, a temporary one is made and removed.",
     .example = "merkhet bench registry --scale 2000",
     .words = "",
     .options = registry_options,
     .run = run_bench},
    {.name = "bench ops",
     .summary = "times every operator on a stream of instant events",
     .help = "Some cases find nothing on instants, and one is declined by its cost: they are kept so that\n"
             "the table can be compared.",
     .example = "merkhet bench ops --scale 5000",
     .words = "",
     .options = bench_options,
     .run = run_bench},
    {0},
};

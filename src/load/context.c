/* context.c — rows that went wrong, and how far a run has come. */
#include "load/load_internal.h"

#include <stdarg.h>
#include <stdio.h>

/* Rows between two calls of the progress function. */
#define PROGRESS_ROWS 8192

void mk_load__init(mk_load *load, const mk_load_options *options, mk_load_report *report)
{
    *load = (mk_load){.options = options, .report = report};
    load->name = options->path == NULL                   ? "input"
                 : strcmp(options->path, "-") == 0 ? "stdin"
                                                   : options->path;
    mk_buf_init(&load->scratch, options->alloc != NULL ? options->alloc : &mk_alloc_default);
}

void mk_load__free(mk_load *load)
{
    mk_buf_free(&load->scratch);
}

void mk_load__path(const mk_load *load, uint64_t line, const char *at, mk_err *err)
{
    const mk_load_reader *reader = load->reader;
    const unsigned long long number = line;

    if (at != NULL && reader != NULL && reader->record != NULL && at >= reader->record &&
        at <= reader->record + reader->record_size)
        mk_err_path(err, "%s:%llu:%zu", load->name, number, (size_t)(at - reader->record) + 1);
    else if (line > 0)
        mk_err_path(err, "%s:%llu", load->name, number);
    else
        mk_err_path(err, "%s", load->name);
}

mk_code mk_load__bad(mk_load *load, const char *at, mk_err *err, const char *fmt, ...)
{
    char text[600];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    mk_fail(err, MK_E_INVALID_ARG, "%s", text);
    mk_load__path(load, load->reader->line, at, err);
    return MK_E_INVALID_ARG;
}

mk_code mk_load__tolerate(mk_load *load, uint64_t line, mk_code rc, mk_err *err)
{
    mk_load_report *report = load->report;
    const bool of_the_row = rc == MK_E_INVALID_ARG || rc == MK_E_SCHEMA || rc == MK_E_LIMIT ||
                            rc == MK_E_NOT_FOUND;

    if (!of_the_row || report->skipped >= load->options->skip_bad)
        return rc;
    report->skipped++;
    if (report->bad_count < MK_LOAD_BAD_KEPT) {
        mk_load_bad *bad = &report->bad[report->bad_count++];
        bad->line = line;
        snprintf(bad->path, sizeof bad->path, "%s", err->path);
        snprintf(bad->message, sizeof bad->message, "%.*s", (int)sizeof bad->message - 1,
                 err->message);
    }
    return MK_OK;
}

mk_code mk_load__progress(mk_load *load, mk_err *err)
{
    if (load->options->progress == NULL)
        return MK_OK;
    mk_load_progress now = {.rows = load->report->rows};
    if (load->bytes_read != NULL)
        now.bytes = load->bytes_read(load->bytes_ctx, &now.bytes_total);
    if (load->options->progress(load->options->progress_ctx, &now))
        return MK_OK;
    mk_fail(err, MK_E_CANCELLED, "stopped after %llu rows", (unsigned long long)now.rows);
    mk_err_retry(err, MK_RETRY_AS_IS);
    return MK_E_CANCELLED;
}

mk_code mk_load__count_row(mk_load *load, mk_err *err)
{
    if (++load->report->rows % PROGRESS_ROWS != 0)
        return MK_OK;
    return mk_load__progress(load, err);
}

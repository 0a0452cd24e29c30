/* eventlog.c — the reference's event log, replayed into an empty store.
 *
 * Its records carry their own transaction times and ids, so they are not batched anew: each line goes
 * to the store as it is, and what the reference refused is refused again.
 * Source: store spec, 10.2 and 10.6. */
#include "load/load_internal.h"

static mk_code check_empty(mk_load *load, mk_err *err)
{
    if (load->target->last_tt(load->target->ctx).us == 0)
        return MK_OK;
    mk_fail(err, MK_E_STATE, "%s is an event log, and the store is not empty", load->name);
    mk_err_path(err, "%s", load->name);
    mk_err_reason(err, "not_empty");
    mk_err_hint(err, "replay it into a new store: merkhet replay %s --store NEW", load->name);
    return MK_E_STATE;
}

static mk_code check_header(mk_load *load, mk_str line, mk_err *err)
{
    mk_arena *arena = load->sink->arena;
    mk_json *tree = NULL;
    mk_err why;
    const mk_code rc = mk_json_parse(arena, line, NULL, &tree, &why);
    const mk_json *format = rc == MK_OK ? mk_json_get(tree, "format") : NULL;
    const mk_json *version = rc == MK_OK ? mk_json_get(tree, "version") : NULL;

    if (rc == MK_E_NOMEM)
        return mk_fail_nomem(err);
    if (format == NULL || format->kind != MK_JSON_STRING ||
        !mk_str_eq(format->text, MK_STR("tgms-eventlog"))) {
        mk_fail(err, MK_E_STATE, "the first line is no event log header");
        mk_load__path(load, 1, NULL, err);
        mk_err_hint(err, "the first line has to be {\"format\":\"tgms-eventlog\",\"version\":1}");
        return MK_E_STATE;
    }
    if (version == NULL || version->kind != MK_JSON_INT || version->b || version->i != 1) {
        mk_fail(err, MK_E_STATE, "the event log has an unknown version");
        mk_load__path(load, 1, NULL, err);
        mk_err_reason(err, "newer_format");
        mk_err_hint(err, "version 1 is understood");
        return MK_E_STATE;
    }
    return MK_OK;
}

static bool is_white(mk_str line)
{
    for (size_t i = 0; i < line.n; i++)
        if (line.p[i] != ' ' && line.p[i] != '\t' && line.p[i] != '\r')
            return false;
    return true;
}

static mk_code replay(mk_load *load, mk_str line, mk_err *err)
{
    mk_load_report *report = load->report;
    bool applied = true;
    mk_err why;
    const mk_code rc = load->target->replay_line(load->target->ctx, line, &applied, &why, err);

    if (rc != MK_OK) {
        if (err != NULL && err->path[0] == '\0')
            mk_load__path(load, load->reader->line, NULL, err);
        return rc;
    }
    const mk_tt tt = load->target->last_tt(load->target->ctx);
    if (report->batches == 0)
        report->first_tt = tt;
    report->last_tt = tt;
    report->batches += applied;
    report->failed_batches += !applied;
    return MK_OK;
}

mk_code mk_load__eventlog(mk_load *load, mk_err *err)
{
    uint64_t replayed = 0;
    mk_str line;
    bool more;
    mk_code rc;

    load->reader->keep_cr = true;
    MK_TRY(rc, check_empty(load, err));
    MK_TRY(rc, mk_load__line(load->reader, &line, &more, err));
    MK_TRY(rc, check_header(load, line, err));
    for (;;) {
        MK_TRY(rc, mk_load__line(load->reader, &line, &more, err));
        if (!more)
            break;
        if (is_white(line))
            continue;
        MK_TRY(rc, mk_load__count_row(load, err));
        MK_TRY(rc, replay(load, line, err));
        replayed = load->reader->line;
    }

out:
    /* What was replayed before a bad record stays, and is made durable. */
    if (replayed > 0) {
        mk_err flush;
        const mk_code flushed = load->target->replay_flush(load->target->ctx, &flush);
        if (flushed == MK_OK)
            load->report->done_line = replayed;
        else if (rc == MK_OK) {
            rc = flushed;
            if (err != NULL)
                *err = flush;
        }
    }
    return rc;
}

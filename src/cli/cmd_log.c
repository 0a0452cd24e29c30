/* cmd_log.c — log show, verify, export: the log as it is on disk. Layer: cli.
 *
 * These read frames, not the fold of them, so they work on a log whose store cannot be opened. Beside a
 * live writer they stop at the durable end. */
#include <stdio.h>

#include "base/canon.h"
#include "base/sha256.h"
#include "cli/cli.h"
#include "store/log.h"
#include "store/record.h"

/* One pass over the frames. */
typedef struct walk {
    mk_cli *cli;
    mk_log_reader *reader;
    mk_arena arena;
    mk_log_pos head; /* the durable end that the writer last noted */
    bool head_found;
    mk_log_pos end; /* just after the last frame read */
    bool torn;
    bool stop;
    uint64_t batches, ops, seals;
    /* show */
    int64_t from;
    uint64_t limit;
    bool with_ops;
} walk;

typedef mk_code frame_fn(walk *w, const mk_frame *frame, mk_err *err);

/* Opening the store as a reader says whether it is one; a log is read even when the rest cannot be. */
static mk_code check_is_store(const char *dir, mk_err *err)
{
    char path[4200];
    mk_buf buf;
    mk_buf_init(&buf, &mk_alloc_default);
    snprintf(path, sizeof path, "%.4000s/merkhet.json", dir);
    const mk_code rc = mk_fs_read_all(&mk_fs_posix, path, 65536, &buf, err);
    mk_buf_free(&buf);
    if (rc == MK_E_NOT_FOUND) {
        mk_fail(err, MK_E_NOT_FOUND, "there is no store at %s", dir);
        mk_err_path(err, "%s", dir);
        mk_err_hint(err, "name the folder of a store with --store");
    }
    return rc;
}

static bool writer_is_alive(const char *dir)
{
    char path[4200];
    mk_file *file;
    bool held = false;
    snprintf(path, sizeof path, "%.4000s/lock", dir);
    if (mk_fs_posix.open(mk_fs_posix.ctx, path, MK_OPEN_READ, &file, NULL) != MK_OK)
        return false;
    if (mk_fs_posix.lock(mk_fs_posix.ctx, file, false, &held, NULL) != MK_OK)
        held = true;
    mk_fs_posix.close(mk_fs_posix.ctx, file);
    return held;
}

/* Calls `each` for every frame until the end, or until it sets `stop`. */
static mk_code walk_log(walk *w, frame_fn *each, mk_err *err)
{
    const char *dir = mk_cli__store_dir(w->cli);
    const mk_log_pos start = mk_log_start();
    mk_code rc;
    mk_arena_init(&w->arena, w->cli->alloc);
    w->end = start;
    MK_TRY(rc, check_is_store(dir, err));
    const bool alive = writer_is_alive(dir);
    MK_TRY(rc, mk_log_head_read(&mk_fs_posix, dir, &w->head, &w->head_found, err));
    MK_TRY(rc, mk_log_reader_open(w->cli->alloc, &mk_fs_posix, dir, &start, &w->reader, err));
    while (!w->stop) {
        mk_frame frame;
        mk_log_end end;
        MK_TRY(rc, mk_log_read(w->reader, alive && w->head_found ? &w->head : NULL, &frame, &end, err));
        w->torn = end == MK_LOG_TORN;
        if (end != MK_LOG_MORE)
            break;
        w->end = frame.next;
        MK_TRY(rc, each(w, &frame, err));
    }
out:
    mk_log_reader_close(w->reader);
    mk_arena_free(&w->arena);
    return rc;
}

/* The next line of a frame, with its LF; false at the end. */
static bool take_line(mk_str *lines, mk_str *line)
{
    if (lines->n == 0)
        return false;
    const char *lf = memchr(lines->p, '\n', lines->n);
    const size_t n = lf != NULL ? (size_t)(lf - lines->p) + 1 : lines->n;
    *line = (mk_str){lines->p, n};
    lines->p += n;
    lines->n -= n;
    return true;
}

/* ---- export ---- */

static mk_code export_frame(walk *w, const mk_frame *frame, mk_err *err)
{
    return frame->kind == MK_FRAME_BATCH ? mk_cli__put(w->cli, frame->lines, err) : MK_OK;
}

static mk_code warn_if_torn(walk *w, mk_code rc)
{
    if (rc == MK_OK && w->torn)
        mk_cli__warn(w->cli,
                     "log/%08u.mlog: one unfinished frame at offset %llu was left out; nobody was told "
                     "that it is stored, and the next writer removes it",
                     w->end.file, (unsigned long long)w->end.offset);
    return rc;
}

static mk_code run_export(mk_cli *cli, mk_err *err)
{
    walk w = {.cli = cli};
    mk_code rc;
    MK_TRY(rc, check_is_store(mk_cli__store_dir(cli), err));
    MK_TRY(rc, mk_cli__put(cli, MK_STR("{\"format\":\"tgms-eventlog\",\"version\":1}\n"), err));
    rc = warn_if_torn(&w, walk_log(&w, export_frame, err));
out:
    return rc;
}

/* ---- verify ---- */

static mk_code in_frame(const mk_frame *frame, mk_err *err)
{
    mk_err_path(err, "log/%08u.mlog", frame->pos.file);
    mk_err_offset(err, (int64_t)frame->pos.offset);
    return err->code;
}

static mk_code verify_frame(walk *w, const mk_frame *frame, mk_err *err)
{
    mk_str lines = frame->lines, line;
    int64_t last = frame->pos.tt.us;
    if (frame->kind != MK_FRAME_BATCH) {
        w->seals++;
        return MK_OK;
    }
    while (take_line(&lines, &line)) {
        mk_record record;
        mk_arena_reset(&w->arena);
        if (mk_record_read(&w->arena, line, true, &record, NULL, err) != MK_OK)
            return in_frame(frame, err);
        if (record.tt.us <= last) {
            mk_fail(err, MK_E_STATE, "transaction time %lld does not rise above %lld",
                    (long long)record.tt.us, (long long)last);
            mk_err_reason(err, "damaged");
            return in_frame(frame, err);
        }
        last = record.tt.us;
        w->batches++;
        w->ops += record.op_count;
    }
    mk_cli__progress(w->cli, "verify: %llu batches", (unsigned long long)w->batches);
    return MK_OK;
}

/* The writer notes its durable end in `head`. A log that ends before it, or passes it with another
 * chain, has lost or changed what was acknowledged. */
static mk_code check_head(const walk *w, mk_err *err)
{
    const char *why = NULL;
    if (w->head_found && w->head.frames > w->end.frames)
        why = "the log ends before what was acknowledged";
    else if (w->head_found && w->head.frames == w->end.frames &&
             memcmp(w->head.chain, w->end.chain, sizeof w->end.chain) != 0)
        why = "the chain is not the one that was acknowledged";
    if (why == NULL)
        return MK_OK;
    mk_fail(err, MK_E_STATE, "log/%08u.mlog, offset %llu: %s", w->end.file,
            (unsigned long long)w->end.offset, why);
    mk_err_path(err, "log/%08u.mlog", w->end.file);
    mk_err_offset(err, (int64_t)w->end.offset);
    mk_err_reason(err, "damaged");
    mk_err_hint(err, "restore the folder from a copy; what is before this place is sound");
    return MK_E_STATE;
}

static mk_code put_verdict(const walk *w, mk_err *err)
{
    mk_buf out;
    char chain[65] = "";
    mk_code rc;
    mk_buf_init(&out, w->cli->alloc);
    mk_hex(chain, w->end.chain, 32);
    if (w->cli->json) {
        mk_buf_printf(&out,
                      "{\"batches\":%llu,\"chain\":\"%s\",\"file\":%u,\"frames\":%llu,\"last_tt\":%lld,"
                      "\"offset\":%llu,\"ops\":%llu,\"seals\":%llu,\"torn\":%s}\n",
                      (unsigned long long)w->batches, chain, w->end.file,
                      (unsigned long long)w->end.frames, (long long)w->end.tt.us,
                      (unsigned long long)w->end.offset, (unsigned long long)w->ops,
                      (unsigned long long)w->seals, w->torn ? "true" : "false");
    } else {
        mk_buf_z(&out, "the log is sound\nframes      ");
        mk_text_count(&out, w->end.frames);
        mk_buf_z(&out, "\nbatches     ");
        mk_text_count(&out, w->batches);
        mk_buf_z(&out, "\noperations  ");
        mk_text_count(&out, w->ops);
        mk_buf_printf(&out, "\nchain       %s\nend         log/%08u.mlog, offset %llu\n", chain, w->end.file,
                      (unsigned long long)w->end.offset);
    }
    rc = mk_cli__put_buf(w->cli, &out, err);
    mk_buf_free(&out);
    return rc;
}

static mk_code run_verify(mk_cli *cli, mk_err *err)
{
    walk w = {.cli = cli};
    mk_code rc;
    MK_TRY(rc, walk_log(&w, verify_frame, err));
    mk_cli__progress_end(cli);
    MK_TRY(rc, check_head(&w, err));
    (void)warn_if_torn(&w, MK_OK);
    rc = put_verdict(&w, err);
out:
    return rc;
}

/* ---- show ---- */

static const char *const kind_names[] = {
    [MK_OP_ASSERT_NODE] = "assert_node",     [MK_OP_ASSERT_EDGE] = "assert_edge",
    [MK_OP_RETRACT] = "retract",             [MK_OP_CORRECT] = "correct",
    [MK_OP_INGEST_EVENTS] = "ingest_events", [MK_OP_UNKNOWN] = "unknown",
};

static void put_kinds(const mk_record *record, mk_buf *out)
{
    size_t counts[MK_OP_UNKNOWN + 1] = {0}, events = 0;
    bool first = true;
    for (size_t i = 0; i < record->op_count; i++) {
        counts[record->ops[i].kind]++;
        events += record->ops[i].event_count;
    }
    for (size_t k = 0; k <= MK_OP_UNKNOWN; k++) {
        if (counts[k] == 0)
            continue;
        mk_buf_printf(out, "%s%zu %s", first ? "" : ", ", counts[k], kind_names[k]);
        if (k == MK_OP_INGEST_EVENTS)
            mk_buf_printf(out, " of %zu events", events);
        first = false;
    }
    if (first)
        mk_buf_z(out, record->malformed ? "malformed" : "empty");
}

static void show_for_people(const walk *w, const mk_frame *frame, const mk_record *record, mk_buf *out)
{
    mk_text_time(out, record->tt.us);
    mk_buf_printf(out, "  %s  frame %llu  ", record->batch_id, (unsigned long long)frame->pos.frames);
    put_kinds(record, out);
    mk_buf_c(out, '\n');
    for (size_t i = 0; w->with_ops && i < record->op_count && record->ops[i].kind != MK_OP_UNKNOWN; i++) {
        mk_buf line;
        mk_buf_init(&line, w->cli->alloc);
        mk_op_write(&line, &record->ops[i]);
        out->failed |= line.failed;
        mk_buf_z(out, "    ");
        mk_text_safe(out, mk_buf_view(&line));
        mk_buf_c(out, '\n');
        mk_buf_free(&line);
    }
}

static mk_code show_record(const walk *w, const mk_frame *frame, mk_str line, const mk_record *record,
                           mk_err *err)
{
    mk_buf out;
    mk_code rc;
    mk_buf_init(&out, w->cli->alloc);
    if (w->cli->json) {
        mk_buf_printf(&out, "{\"file\":%u,\"frame\":%llu,\"offset\":%llu,\"record\":", frame->pos.file,
                      (unsigned long long)frame->pos.frames, (unsigned long long)frame->pos.offset);
        mk_buf_put(&out, line.p, line.n - 1);
        mk_buf_c(&out, '}');
        MK_TRY(rc, mk_buf_done(&out, err));
        rc = mk_cli__put_json(w->cli, mk_buf_view(&out), err);
    } else {
        show_for_people(w, frame, record, &out);
        rc = mk_cli__put_buf(w->cli, &out, err);
    }
out:
    mk_buf_free(&out);
    return rc;
}

static mk_code show_frame(walk *w, const mk_frame *frame, mk_err *err)
{
    mk_str lines = frame->lines, line;
    mk_code rc = MK_OK;
    if (frame->kind != MK_FRAME_BATCH || frame->tt_last.us < w->from)
        return MK_OK;
    while (rc == MK_OK && !w->stop && take_line(&lines, &line)) {
        mk_record record;
        mk_arena_reset(&w->arena);
        if (mk_record_read(&w->arena, line, true, &record, NULL, err) != MK_OK)
            return in_frame(frame, err);
        if (record.tt.us < w->from)
            continue;
        if (w->batches == w->limit) {
            w->stop = true;
            mk_cli__warn(w->cli, "more follow: --from %lld, or a larger --limit", (long long)record.tt.us);
            break;
        }
        w->batches++;
        rc = show_record(w, frame, line, &record, err);
    }
    return rc;
}

static mk_code run_show(mk_cli *cli, mk_err *err)
{
    walk w = {.cli = cli, .from = INT64_MIN, .limit = 100};
    mk_code rc;
    w.with_ops = mk_options_has(&cli->options, "ops");
    MK_TRY(rc, mk_options_time(&cli->options, "from", &w.from, err));
    MK_TRY(rc, mk_options_u64(&cli->options, "limit", 1, INT64_MAX, &w.limit, err));
    rc = warn_if_torn(&w, walk_log(&w, show_frame, err));
out:
    return rc;
}

static const mk_option no_options[] = {{0}};
static const mk_option show_options[] = {
    {.name = "from", .value = "TIME", .doc = "start at this transaction time"},
    {.name = "limit", .letter = 'n', .value = "N", .doc = "most batches to show; default 100"},
    {.name = "ops", .doc = "the operations of each batch as well (always with --json)"},
    {0},
};

const mk_command mk_commands_log[] = {
    {.name = "log show",
     .words = "",
     .summary = "prints the batches of the log, oldest first",
     .example = "merkhet assert --store team --node ada --label Person\n"
                "merkhet log show --store team --ops",
     .options = show_options,
     .run = run_show},
    {.name = "log verify",
     .words = "",
     .summary = "checks every frame, checksum, chain link and batch id of the log",
     .help = "Exit status 1 names file and offset of the first damage. One unfinished frame at the\n"
             "end is no damage: nobody was told that it is stored.",
     .example = "merkhet assert --store team --node ada --label Person\n"
                "merkhet log verify --store team",
     .options = no_options,
     .run = run_verify},
    {.name = "log export",
     .words = "",
     .summary = "writes the log as the reference's JSON lines, byte for byte",
     .help = "A header line, then the line of every batch. `merkhet replay` reads it.",
     .example = "merkhet assert --store team --node ada --label Person\n"
                "merkhet log export --store team > team.jsonl",
     .options = no_options,
     .run = run_export},
    {0},
};

/* history.c — walks the frames of the log that can hold what is asked. Layer: agent. */
#include "agent/history.h"

#include "store/log.h"
#include "store/record.h"

/* One walk. `each` gets every batch line of a frame that overlaps (after, until]. */
typedef struct walk {
    mk_tt after, until;
    mk_arena *arena;
    mk_arena scratch; /* for reading one line */
    bool stop;
    int64_t *times;
    size_t count, cap;
    mk_str line;
} walk;
typedef mk_code line_fn(walk *w, mk_str line, mk_tt tt, mk_err *err);

static bool take_line(mk_str *lines, mk_str *line)
{
    if (lines->n == 0)
        return false;
    const char *lf = memchr(lines->p, '\n', lines->n);
    const size_t n = lf != NULL ? (size_t)(lf - lines->p) : lines->n;
    *line = (mk_str){lines->p, n};
    lines->p += n + (lf != NULL);
    lines->n -= n + (lf != NULL);
    return true;
}

static mk_code walk_frame(walk *w, const mk_frame *frame, line_fn *each, mk_err *err)
{
    mk_str lines = frame->lines, line;
    mk_code rc = MK_OK;
    while (rc == MK_OK && !w->stop && take_line(&lines, &line)) {
        mk_record record;
        mk_arena_reset(&w->scratch);
        rc = mk_record_read(&w->scratch, line, false, &record, NULL, err);
        if (rc == MK_OK && record.tt.us > w->until.us)
            w->stop = true;
        else if (rc == MK_OK && record.tt.us > w->after.us)
            rc = each(w, line, record.tt, err);
    }
    return rc;
}

static mk_code walk_log(mk_store *store, walk *w, line_fn *each, mk_err *err)
{
    const mk_log_pos start = mk_log_start();
    mk_log_reader *reader = NULL;
    mk_code rc;
    mk_arena_init(&w->scratch, w->arena->alloc);
    MK_TRY(rc, mk_log_reader_open(w->arena->alloc, &mk_fs_posix, mk_store_dir(store), &start, &reader, err));
    while (!w->stop) {
        mk_frame frame;
        mk_log_end end;
        MK_TRY(rc, mk_log_read(reader, NULL, &frame, &end, err));
        if (end != MK_LOG_MORE || (frame.kind == MK_FRAME_BATCH && frame.tt_first.us > w->until.us))
            break;
        if (frame.kind == MK_FRAME_BATCH && frame.tt_last.us > w->after.us)
            MK_TRY(rc, walk_frame(w, &frame, each, err));
    }
out:
    mk_log_reader_close(reader);
    mk_arena_free(&w->scratch);
    return rc;
}

/* ---- the first ---- */

static mk_code keep_first(walk *w, mk_str line, mk_tt tt, mk_err *err)
{
    (void)line;
    (void)err;
    w->after = tt;
    w->count = 1;
    w->stop = true;
    return MK_OK;
}

mk_code mk_history_first(mk_store *store, mk_arena *arena, mk_tt *first, bool *any, mk_err *err)
{
    walk w = {.after = {INT64_MIN}, .until = mk_store_last_tt(store), .arena = arena};
    const mk_code rc = walk_log(store, &w, keep_first, err);
    *any = w.count != 0;
    *first = w.after;
    return rc;
}

/* ---- the times of a range ---- */

static mk_code keep_time(walk *w, mk_str line, mk_tt tt, mk_err *err)
{
    (void)line;
    if (w->count == w->cap) {
        const size_t cap = w->cap == 0 ? 64 : w->cap * 2;
        if (cap > MK_HISTORY_TIMES_MAX) {
            mk_fail(err, MK_E_LIMIT, "there are more than %zu transactions between the two times",
                    MK_HISTORY_TIMES_MAX);
            mk_err_hint(err, "name two times that lie nearer to each other");
            return MK_E_LIMIT;
        }
        int64_t *more = mk_arena_get(w->arena, cap * sizeof *more);
        if (more == NULL)
            return mk_fail_nomem(err);
        if (w->count != 0)
            memcpy(more, w->times, w->count * sizeof *more);
        w->times = more;
        w->cap = cap;
    }
    w->times[w->count++] = tt.us;
    return MK_OK;
}

mk_code mk_history_times(mk_store *store, mk_tt after, mk_tt until, mk_arena *arena, int64_t **times,
                         size_t *count, mk_err *err)
{
    walk w = {.after = after, .until = until, .arena = arena};
    const mk_code rc = walk_log(store, &w, keep_time, err);
    *times = w.times;
    *count = w.count;
    return rc;
}

/* ---- one batch ---- */

static mk_code keep_line(walk *w, mk_str line, mk_tt tt, mk_err *err)
{
    (void)tt;
    w->stop = true;
    w->line = mk_arena_copy(w->arena, line);
    return w->line.p == NULL ? mk_fail_nomem(err) : MK_OK;
}

mk_code mk_history_line(mk_store *store, mk_tt tt, mk_arena *arena, mk_str *line, mk_err *err)
{
    walk w = {.after = {tt.us - 1}, .until = tt, .arena = arena};
    const mk_code rc = walk_log(store, &w, keep_line, err);
    *line = w.line;
    return rc;
}

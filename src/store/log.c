/* log.c — reads the log: frames in order, and an honest verdict where they end.
 *
 * The reader stands at a position (file, offset, chain, tt, number of frames) and moves one frame at a
 * time through a window of bytes, reused for all frames. Invariant: everything before the position
 * has been checked, or was vouched for by the caller (a checkpoint, `head`) with its chain.
 *
 * A file ends where the next file's header says it does; only the last file has an open end. Hence:
 *   - no frame before the end of a file that has a successor: damage, whatever it looks like, because
 *     the successor was made only after that frame had been synced;
 *   - no frame at the open end: zeros or nothing is a clean end; anything else is one torn frame, or
 *     damage when a valid frame lies behind it (a frame is written only after the one before it was
 *     synced, so a torn frame never has a successor).
 * A writer that recovers copies the frames of doubtful durability from the tail of a file to its
 * successor and lets the successor begin before them (docs/log-format.md). A position behind that
 * point is then found again in the successor, by its number of frames, and checked by its chain.
 *
 * The file may be growing while it is read, and the window may be older than the file. No verdict but
 * "here is a valid frame" is therefore given from bytes that were read before the current call. */
#include "store/log.h"

#include <stdio.h>
#include <zstd.h>

#include "base/sha256.h"
#include "store/log_frame.h"

enum {
    WINDOW_SIZE = 256 << 10, /* bytes read at once; thousands of small frames */
    SCAN_SIZE = 64 << 10     /* bytes looked through at once behind damage */
};

/* Bytes hashed while looking for a valid frame behind damage. Ten times the largest frame; only a
 * forged file can ask for more, and then the answer is to refuse. */
#define SCAN_HASH_MAX (10 * MK_LOG_RAW_MAX)

struct mk_log_reader {
    const mk_alloc *alloc;
    const mk_fs *fs;
    char *dir;
    mk_log_pos pos; /* of the next frame */

    mk_file *file; /* pos.file, or NULL when not open */
    uint64_t size; /* of it, when last asked */
    mk_log_file_start start;
    bool has_next; /* the file pos.file + 1 exists, and */
    mk_log_file_start next; /* this is how it begins */

    uint8_t *window; /* window_count bytes of the file, from window_at on */
    size_t window_cap;
    uint64_t window_at;
    size_t window_count;

    uint8_t *lines; /* decompressed */
    size_t lines_cap;
    ZSTD_DCtx *zstd;

    /* The frame last read. */
    mk_log_pos frame_pos;
    mk_log_header header;
    mk_str bytes;
};

typedef enum step_result { STEP_FRAME, STEP_DONE, STEP_TORN, STEP_MOVED } step_result;

mk_log_pos mk_log_start(void)
{
    mk_log_pos pos = {.file = 1, .offset = MK_LOG_HEADER_SIZE};
    mk_sha256_of("", 0, pos.chain);
    return pos;
}

/* ---- errors ---- */

static mk_code locate_error(mk_err *err, uint32_t file, uint64_t offset, const char *reason)
{
    mk_err_path(err, "log/%08u.mlog", (unsigned)file);
    mk_err_offset(err, offset <= INT64_MAX ? (int64_t)offset : -1);
    mk_err_reason(err, reason);
    return MK_E_STATE;
}

static mk_code fail_damaged(mk_err *err, uint32_t file, uint64_t offset, const char *what)
{
    mk_fail(err, MK_E_STATE, "log/%08u.mlog is damaged at byte %llu: %s", (unsigned)file,
            (unsigned long long)offset, what);
    mk_err_hint(err, "nothing was changed; `merkhet log verify` lists the damage, then restore "
                     "log/%08u.mlog from a copy", (unsigned)file);
    return locate_error(err, file, offset, "damaged");
}

static mk_code fail_newer(mk_err *err, uint32_t file, uint64_t offset, const char *what,
                          unsigned value)
{
    mk_fail(err, MK_E_STATE, "log/%08u.mlog has at byte %llu a %s that this version does not know: %u",
            (unsigned)file, (unsigned long long)offset, what, value);
    mk_err_hint(err, "use a newer merkhet for this store; nothing was changed");
    return locate_error(err, file, offset, "newer_format");
}

static mk_code fail_newer_frame(mk_err *err, const mk_log_pos *pos, const mk_log_header *header)
{
    if (header->version != 1)
        return fail_newer(err, pos->file, pos->offset, "frame version", header->version);
    if (header->kind != MK_FRAME_BATCH && header->kind != MK_FRAME_SEAL)
        return fail_newer(err, pos->file, pos->offset, "frame kind", header->kind);
    if (header->codec > MK_CODEC_ZSTD)
        return fail_newer(err, pos->file, pos->offset, "frame codec", header->codec);
    return fail_newer(err, pos->file, pos->offset, "frame field", 0);
}

static mk_code fail_mismatch(mk_err *err, const mk_log_pos *pos, const char *what)
{
    mk_fail(err, MK_E_STATE, "the log does not continue the position %08u:%llu after %llu frames: %s",
            (unsigned)pos->file, (unsigned long long)pos->offset, (unsigned long long)pos->frames, what);
    mk_err_hint(err, "the log is shorter than, or not of, this store's checkpoint: restore the files of "
                     "log/, or run `merkhet rebuild` to fold the log that is there");
    return locate_error(err, pos->file, pos->offset, "log_mismatch");
}

/* ---- files ---- */

static void drop_window(mk_log_reader *reader)
{
    reader->window_count = 0;
}

static void close_file(mk_log_reader *reader)
{
    if (reader->file != NULL)
        reader->fs->close(reader->fs->ctx, reader->file);
    reader->file = NULL;
    reader->has_next = false;
    drop_window(reader);
}

/* Opens a log file and checks its header. *out NULL when there is no such file. A file gets its name
 * only after its header has been synced, so a bad header is damage and never a torn write. */
static mk_code open_checked(mk_log_reader *reader, uint32_t number, mk_file **out,
                            mk_log_file_start *start, mk_err *err)
{
    const mk_fs *fs = reader->fs;
    mk_file *file = NULL;
    uint8_t bytes[MK_LOG_HEADER_SIZE];
    mk_log_path path;
    mk_log_verdict verdict;
    size_t got;
    mk_code rc;

    *out = NULL;
    MK_TRY(rc, mk_log__file_path(&path, reader->dir, number, false, err));
    rc = fs->open(fs->ctx, path.z, MK_OPEN_READ, &file, err);
    if (rc == MK_E_NOT_FOUND)
        return MK_OK;
    if (rc != MK_OK)
        return rc;
    MK_TRY(rc, fs->read_at(fs->ctx, file, bytes, sizeof bytes, 0, &got, err));
    verdict = got < sizeof bytes ? MK_LOG_BAD : mk_log__file_decode(bytes, start);
    if (verdict == MK_LOG_NEWER)
        MK_TRY(rc, fail_newer(err, number, 0, "file version", (unsigned)(bytes[4] | bytes[5] << 8)));
    if (verdict == MK_LOG_BAD)
        MK_TRY(rc, fail_damaged(err, number, 0, "no valid file header"));
    if (start->number != number)
        MK_TRY(rc, fail_damaged(err, number, 0, "the header has the number of another file"));
    *out = file;
    file = NULL;
out:
    if (file != NULL)
        fs->close(fs->ctx, file);
    return rc;
}

static mk_code probe_next(mk_log_reader *reader, mk_err *err)
{
    mk_file *file;
    mk_code rc;

    MK_TRY(rc, open_checked(reader, reader->pos.file + 1, &file, &reader->next, err));
    if (file == NULL)
        return MK_OK;
    reader->fs->close(reader->fs->ctx, file);
    if (reader->next.frames < reader->start.frames)
        return fail_damaged(err, reader->pos.file + 1, 0, "it begins before the file before it");
    reader->has_next = true;
out:
    return rc;
}

/* Opens pos.file. *found false when it does not exist. */
static mk_code open_file(mk_log_reader *reader, bool *found, mk_err *err)
{
    mk_code rc;

    close_file(reader);
    MK_TRY(rc, open_checked(reader, reader->pos.file, &reader->file, &reader->start, err));
    *found = reader->file != NULL;
    if (!*found)
        return MK_OK;
    MK_TRY(rc, reader->fs->size(reader->fs->ctx, reader->file, &reader->size, err));
    MK_TRY(rc, probe_next(reader, err));
out:
    if (rc != MK_OK)
        close_file(reader);
    return rc;
}

static void stand_at_start(mk_log_reader *reader, const mk_log_file_start *start)
{
    reader->pos.file = start->number;
    reader->pos.offset = MK_LOG_HEADER_SIZE;
    reader->pos.frames = start->frames;
    reader->pos.tt = start->tt;
    memcpy(reader->pos.chain, start->chain, sizeof start->chain);
}

/* From the end of a file to the start of the next. */
static mk_code enter_next(mk_log_reader *reader, mk_err *err)
{
    const mk_log_file_start next = reader->next;

    if (next.frames != reader->pos.frames || next.tt.us != reader->pos.tt.us ||
        memcmp(next.chain, reader->pos.chain, sizeof next.chain) != 0)
        return fail_damaged(err, next.number, 0, "it does not continue the file before it");
    close_file(reader);
    stand_at_start(reader, &next);
    return MK_OK;
}

/* ---- bytes ---- */

/* Up to `need` bytes at `at`, and as many behind them, short of `end`, as make a good read. *whole
 * false when the file has fewer. */
static mk_code look(mk_log_reader *reader, uint64_t at, uint64_t need, uint64_t end,
                    const uint8_t **out, bool *whole, mk_err *err)
{
    const uint64_t window_end = reader->window_at + reader->window_count;
    uint64_t want = need > WINDOW_SIZE ? need : WINDOW_SIZE;
    void *p = reader->window;
    mk_code rc;

    if (at < reader->window_at || at + need > window_end) {
        want = want < end - at ? want : end - at;
        drop_window(reader);
        rc = mk_grow(reader->alloc, &p, &reader->window_cap, (size_t)want, 1, err);
        reader->window = p;
        if (rc != MK_OK)
            return rc;
        MK_TRY(rc, reader->fs->read_at(reader->fs->ctx, reader->file, reader->window, (size_t)want, at,
                                       &reader->window_count, err));
        reader->window_at = at;
    }
    *out = reader->window + (at - reader->window_at);
    *whole = at + need <= reader->window_at + reader->window_count;
    rc = MK_OK;
out:
    return rc;
}

static bool payload_ok(const mk_log_header *header, const uint8_t *payload, uint64_t frame_size)
{
    uint8_t sha[32];

    mk_sha256_of(payload, (size_t)header->stored_size, sha);
    return memcmp(sha, header->payload_sha, sizeof sha) == 0 &&
           mk_log__all_zero(payload + header->stored_size,
                            (size_t)(frame_size - MK_LOG_HEADER_SIZE - header->stored_size));
}

/* Reads the frame at the position and moves behind it. *why is NULL when there was one, else it says
 * what is there instead. A frame that is whole but wrong in its place is an error at once: no torn
 * write explains it. */
static mk_code try_frame(mk_log_reader *reader, uint64_t end, const char **why, mk_err *err)
{
    const mk_log_pos pos = reader->pos;
    uint8_t head[MK_LOG_HEADER_SIZE], chain[32];
    mk_log_header header;
    mk_log_verdict verdict;
    const uint8_t *bytes;
    uint64_t frame_size;
    bool whole;
    mk_code rc;

    *why = "a frame is missing";
    if (pos.offset >= end || end - pos.offset < MK_LOG_HEADER_SIZE)
        return MK_OK;
    MK_TRY(rc, look(reader, pos.offset, MK_LOG_HEADER_SIZE, end, &bytes, &whole, err));
    if (!whole)
        return MK_OK;
    memcpy(head, bytes, sizeof head);
    *why = "no valid frame header";
    verdict = mk_log__header_decode(head, &header);
    if (verdict == MK_LOG_NEWER)
        return fail_newer_frame(err, &pos, &header);
    if (verdict == MK_LOG_BAD)
        return MK_OK;

    *why = "the frame is incomplete";
    frame_size = mk_log__frame_size(header.stored_size);
    if (frame_size > end - pos.offset)
        return MK_OK;
    MK_TRY(rc, look(reader, pos.offset, frame_size, end, &bytes, &whole, err));
    if (!whole)
        return MK_OK;
    *why = "the payload does not match its checksum";
    if (memcmp(bytes, head, sizeof head) != 0 ||
        !payload_ok(&header, bytes + MK_LOG_HEADER_SIZE, frame_size))
        return MK_OK;

    mk_log__chain(pos.chain, head, chain);
    if (memcmp(chain, header.chain, sizeof chain) != 0)
        return fail_damaged(err, pos.file, pos.offset, "the frame does not continue the one before it");
    if (!mk_log__tt_ok((mk_frame_kind)header.kind, header.records, pos.tt, header.tt_first,
                       header.tt_last))
        return fail_damaged(err, pos.file, pos.offset, "its transaction times do not rise");

    *why = NULL;
    reader->frame_pos = pos;
    reader->header = header;
    reader->bytes = (mk_str){(const char *)bytes, (size_t)frame_size};
    reader->pos.offset += frame_size;
    reader->pos.frames++;
    reader->pos.tt.us = header.tt_last;
    memcpy(reader->pos.chain, chain, sizeof chain);
out:
    return rc;
}

/* ---- the open end ---- */

static bool file_number(const char *name, uint32_t *number)
{
    const size_t n = strlen(name);
    int64_t v;

    if (n < 13 || strcmp(name + n - 5, ".mlog") != 0 || name[0] < '0' || name[0] > '9' ||
        !mk_str_to_i64((mk_str){name, n - 5}, &v) || v < 1 || v > UINT32_MAX)
        return false;
    *number = (uint32_t)v;
    return true;
}

static void take_largest(void *arg, const char *name)
{
    uint32_t *largest = arg, number;

    if (file_number(name, &number) && number > *largest)
        *largest = number;
}

/* The largest number of a log file, 0 when there is none. */
static mk_code largest_file(const mk_log_reader *reader, uint32_t *largest, mk_err *err)
{
    mk_err local = {.offset = -1};
    mk_log_path path;
    mk_code rc;

    *largest = 0;
    MK_TRY(rc, mk_log__dir_path(&path, reader->dir, err));
    rc = reader->fs->list(reader->fs->ctx, path.z, take_largest, largest, &local);
    if (rc != MK_OK && strcmp(local.reason, "missing") == 0)
        return MK_OK;
    if (rc != MK_OK && err != NULL)
        *err = local;
out:
    return rc;
}

static mk_code fail_missing(mk_err *err, uint32_t number)
{
    mk_fail(err, MK_E_STATE, "log/%08u.mlog is missing", (unsigned)number);
    mk_err_hint(err, "the log cannot be read without it: restore it from a copy; nothing was changed");
    return locate_error(err, number, 0, "damaged");
}

typedef struct scan {
    uint8_t *buffer;   /* 2 * SCAN_SIZE: bytes looked through, and bytes hashed */
    uint64_t hashed;   /* bytes so far */
    bool zero;         /* nothing but zeros seen */
    bool found;        /* a valid frame */
    uint64_t found_at; /* its offset */
} scan;

/* Is there a whole frame at `at` in the file? Chain and order do not matter here. */
static mk_code scan_candidate(mk_log_reader *reader, scan *s, uint64_t at, uint64_t end, mk_err *err)
{
    uint8_t *const room = s->buffer + SCAN_SIZE;
    uint8_t sha_bytes[32];
    mk_log_header header;
    mk_log_verdict verdict;
    mk_sha256 sha;
    size_t got;
    mk_code rc;

    MK_TRY(rc, reader->fs->read_at(reader->fs->ctx, reader->file, room, MK_LOG_HEADER_SIZE, at, &got,
                                   err));
    verdict = got < MK_LOG_HEADER_SIZE ? MK_LOG_BAD : mk_log__header_decode(room, &header);
    /* Of a newer frame we cannot check the payload; losing one would be worse than refusing. */
    s->found = verdict == MK_LOG_NEWER;
    if (verdict != MK_LOG_GOOD || mk_log__frame_size(header.stored_size) > end - at)
        return MK_OK;
    s->hashed += header.stored_size;
    s->found = s->hashed > SCAN_HASH_MAX;
    if (s->found)
        return MK_OK;
    mk_sha256_init(&sha);
    for (uint64_t done = 0; done < header.stored_size; done += got) {
        const uint64_t left = header.stored_size - done;
        MK_TRY(rc, reader->fs->read_at(reader->fs->ctx, reader->file, room,
                                       (size_t)(left < SCAN_SIZE ? left : SCAN_SIZE),
                                       at + MK_LOG_HEADER_SIZE + done, &got, err));
        if (got == 0)
            return MK_OK;
        mk_sha256_add(&sha, room, got);
    }
    mk_sha256_end(&sha, sha_bytes);
    s->found = memcmp(sha_bytes, header.payload_sha, sizeof sha_bytes) == 0;
out:
    return rc;
}

/* Looks through [at, end) for anything but zeros and for a valid frame that starts behind `at`. */
static mk_code scan_rest(mk_log_reader *reader, scan *s, uint64_t at, uint64_t end, mk_err *err)
{
    const uint64_t from = at;
    mk_code rc = MK_OK;
    size_t got;

    s->zero = true;
    for (; at < end && !s->found; at += got) {
        const uint64_t left = end - at;
        MK_TRY(rc, reader->fs->read_at(reader->fs->ctx, reader->file, s->buffer,
                                       (size_t)(left < SCAN_SIZE ? left : SCAN_SIZE), at, &got, err));
        if (got == 0)
            break;
        if (mk_log__all_zero(s->buffer, got))
            continue;
        s->zero = false;
        /* SCAN_SIZE is a multiple of the alignment, so no magic straddles two pieces. */
        for (size_t i = at == from ? MK_LOG_ALIGN : 0; i + 4 <= got && !s->found; i += MK_LOG_ALIGN) {
            if (memcmp(s->buffer + i, "MKF1", 4) != 0)
                continue;
            MK_TRY(rc, scan_candidate(reader, s, at + i, end, err));
            s->found_at = at + i;
        }
    }
out:
    return rc;
}

/* No frame at the position and no next file: a clean end, a torn frame, or damage? */
static mk_code judge_end(mk_log_reader *reader, const char *why, step_result *result, mk_err *err)
{
    const mk_log_pos *pos = &reader->pos;
    scan s = {0};
    char text[160];
    mk_code rc;

    if (pos->offset > reader->size)
        return fail_mismatch(err, pos, "the file ends before it");
    s.buffer = mk_new(reader->alloc, 2 * SCAN_SIZE);
    if (s.buffer == NULL)
        return mk_fail_nomem(err);
    MK_TRY(rc, scan_rest(reader, &s, pos->offset, reader->size, err));
    if (s.found) {
        snprintf(text, sizeof text, "%s, and a valid frame follows at byte %llu", why,
                 (unsigned long long)s.found_at);
        MK_TRY(rc, fail_damaged(err, pos->file, pos->offset, text));
    }
    *result = s.zero ? STEP_DONE : STEP_TORN;
out:
    mk_free(reader->alloc, s.buffer, 2 * SCAN_SIZE);
    return rc;
}

/* ---- moving ---- */

/* Nothing was ever written, or the file of the position is gone. */
static mk_code judge_absent(mk_log_reader *reader, step_result *result, mk_err *err)
{
    uint32_t largest;
    mk_code rc;

    *result = STEP_DONE;
    if (reader->pos.frames > 0 || reader->pos.file > 1)
        return fail_missing(err, reader->pos.file);
    MK_TRY(rc, largest_file(reader, &largest, err));
    if (largest > 1) /* 1 appeared just now: the log was empty when we looked */
        return fail_missing(err, reader->pos.file);
out:
    return rc;
}

/* Looks once more for what may have appeared since the file was opened. *again when it has. */
static mk_code look_for_next(mk_log_reader *reader, bool *again, mk_err *err)
{
    uint32_t largest;
    mk_code rc;

    MK_TRY(rc, probe_next(reader, err));
    if (!reader->has_next) {
        MK_TRY(rc, largest_file(reader, &largest, err));
        if (largest > reader->pos.file)
            MK_TRY(rc, probe_next(reader, err));
        if (largest > reader->pos.file && !reader->has_next)
            MK_TRY(rc, fail_missing(err, reader->pos.file + 1));
    }
    *again = reader->has_next;
out:
    return rc;
}

/* One frame further, over the ends of files. STEP_MOVED: the position lies behind the end that the
 * next file gives this one, so it has to be found there. */
static mk_code step(mk_log_reader *reader, step_result *result, mk_err *err)
{
    bool fresh = false, found, again;
    const char *why;
    mk_code rc;

    for (;;) {
        if (reader->file == NULL) {
            MK_TRY(rc, open_file(reader, &found, err));
            if (!found)
                return judge_absent(reader, result, err);
            fresh = true;
        }
        if (reader->has_next && reader->pos.offset > reader->next.prev_offset) {
            *result = STEP_MOVED;
            return MK_OK;
        }
        if (reader->has_next && reader->pos.offset == reader->next.prev_offset) {
            MK_TRY(rc, enter_next(reader, err));
            continue;
        }
        MK_TRY(rc, try_frame(reader, reader->has_next ? reader->next.prev_offset : reader->size, &why,
                             err));
        *result = STEP_FRAME;
        if (why == NULL)
            return MK_OK;
        if (!fresh) {
            /* By its name again: a recovering writer may have put another file in its place. */
            close_file(reader);
            continue;
        }
        if (reader->has_next)
            return fail_damaged(err, reader->pos.file, reader->pos.offset, why);
        MK_TRY(rc, look_for_next(reader, &again, err));
        if (!again)
            return judge_end(reader, why, result, err);
        fresh = false; /* the end has moved since the bytes were read */
    }
out:
    return rc;
}

/* Finds a position in the file after its own, where its frames were copied to. */
static mk_code relocate(mk_log_reader *reader, mk_err *err)
{
    const mk_log_pos target = reader->pos;
    const mk_log_file_start next = reader->next;
    step_result result;
    mk_code rc;

    close_file(reader);
    stand_at_start(reader, &next);
    while (reader->pos.frames < target.frames) {
        MK_TRY(rc, step(reader, &result, err));
        if (result != STEP_FRAME)
            MK_TRY(rc, fail_mismatch(err, &target, "its frames are not in the next file"));
    }
    if (reader->pos.frames != target.frames ||
        memcmp(reader->pos.chain, target.chain, sizeof target.chain) != 0)
        MK_TRY(rc, fail_mismatch(err, &target, "the next file holds other frames"));
    rc = MK_OK;
out:
    if (rc != MK_OK) {
        close_file(reader);
        reader->pos = target;
    }
    return rc;
}

static mk_code settle(mk_log_reader *reader, mk_err *err)
{
    bool found;
    mk_code rc;

    if (reader->pos.offset < MK_LOG_HEADER_SIZE || reader->pos.offset % MK_LOG_ALIGN != 0)
        return fail_mismatch(err, &reader->pos, "no frame can start there");
    MK_TRY(rc, open_file(reader, &found, err));
    if (!found)
        return reader->pos.frames == 0 && reader->pos.file == 1 ? MK_OK
                                                                : fail_missing(err, reader->pos.file);
    if (reader->has_next && reader->pos.offset > reader->next.prev_offset)
        return relocate(reader, err);
    if (reader->pos.frames < reader->start.frames ||
        (reader->pos.offset == MK_LOG_HEADER_SIZE &&
         (reader->pos.frames != reader->start.frames ||
          memcmp(reader->pos.chain, reader->start.chain, sizeof reader->start.chain) != 0)))
        return fail_mismatch(err, &reader->pos, "the file begins elsewhere");
    if (reader->pos.offset > reader->size)
        return fail_mismatch(err, &reader->pos, "the file ends before it");
out:
    return rc;
}

/* ---- public ---- */

mk_code mk_log_reader_open(const mk_alloc *alloc, const mk_fs *fs, const char *store_dir,
                           const mk_log_pos *from, mk_log_reader **out, mk_err *err)
{
    mk_log_reader *reader = mk_new0(alloc, sizeof *reader);
    mk_code rc;

    if (reader == NULL)
        return mk_fail_nomem(err);
    reader->alloc = alloc;
    reader->fs = fs;
    reader->pos = *from;
    MK_TRY(rc, mk_log__dir_copy(alloc, store_dir, &reader->dir, err));
    MK_TRY(rc, settle(reader, err));
    *out = reader;
    reader = NULL;
out:
    mk_log_reader_close(reader);
    return rc;
}

void mk_log_reader_close(mk_log_reader *reader)
{
    if (reader == NULL)
        return;
    close_file(reader);
    ZSTD_freeDCtx(reader->zstd);
    mk_free(reader->alloc, reader->window, reader->window_cap);
    mk_free(reader->alloc, reader->lines, reader->lines_cap);
    mk_log__dir_free(reader->alloc, reader->dir);
    mk_free(reader->alloc, reader, sizeof *reader);
}

/* The compressed size of a frame bounds nothing, its header's raw size does (MK_LOG_RAW_MAX). */
static mk_code decompress(mk_log_reader *reader, mk_str stored, mk_str *lines, mk_err *err)
{
    const mk_log_pos *pos = &reader->frame_pos;
    const size_t raw_size = (size_t)reader->header.raw_size;
    void *p = reader->lines;
    mk_code rc;

    if (ZSTD_getFrameContentSize(stored.p, stored.n) != raw_size)
        return fail_damaged(err, pos->file, pos->offset, "the payload has another size when decompressed");
    if (reader->zstd == NULL)
        reader->zstd = ZSTD_createDCtx();
    if (reader->zstd == NULL)
        return mk_fail_nomem(err);
    rc = mk_grow(reader->alloc, &p, &reader->lines_cap, raw_size, 1, err);
    reader->lines = p;
    if (rc != MK_OK)
        return rc;
    if (ZSTD_decompressDCtx(reader->zstd, reader->lines, raw_size, stored.p, stored.n) != raw_size)
        return fail_damaged(err, pos->file, pos->offset, "the payload cannot be decompressed");
    *lines = (mk_str){(const char *)reader->lines, raw_size};
    return MK_OK;
}

static mk_code fill_frame(mk_log_reader *reader, mk_frame *frame, mk_err *err)
{
    const mk_log_header *header = &reader->header;
    const mk_log_pos *pos = &reader->frame_pos;
    mk_str lines = {reader->bytes.p + MK_LOG_HEADER_SIZE, (size_t)header->stored_size};
    mk_code rc = MK_OK;

    if (header->codec == MK_CODEC_ZSTD)
        MK_TRY(rc, decompress(reader, lines, &lines, err));
    if (!mk_log__lines_ok(lines, header->records))
        return fail_damaged(err, pos->file, pos->offset, "it does not hold the lines its header counts");
    *frame = (mk_frame){.kind = (mk_frame_kind)header->kind,
                        .pos = *pos,
                        .next = reader->pos,
                        .tt_first = {header->tt_first},
                        .tt_last = {header->tt_last},
                        .records = header->records,
                        .stored_size = header->stored_size,
                        .lines = lines};
out:
    return rc;
}

mk_code mk_log_read(mk_log_reader *reader, const mk_log_pos *until, mk_frame *frame, mk_log_end *end,
                    mk_err *err)
{
    step_result result;
    mk_code rc;

    *end = MK_LOG_DONE;
    if (until != NULL && reader->pos.frames >= until->frames)
        return MK_OK;
    MK_TRY(rc, step(reader, &result, err));
    if (result == STEP_MOVED) {
        MK_TRY(rc, relocate(reader, err));
        MK_TRY(rc, step(reader, &result, err));
    }
    if (result == STEP_FRAME) {
        *end = MK_LOG_MORE;
        rc = fill_frame(reader, frame, err);
        if (rc != MK_OK)
            reader->pos = reader->frame_pos;
        return rc;
    }
    if (until != NULL)
        return fail_damaged(err, reader->pos.file, reader->pos.offset,
                            "the log ends before the frame that head says was synced");
    *end = result == STEP_TORN ? MK_LOG_TORN : MK_LOG_DONE;
out:
    return rc;
}

/* The frame header at `last` ends in `pos`. */
static bool ends_in(const uint8_t bytes[MK_LOG_HEADER_SIZE], const mk_log_pos *last,
                    const mk_log_pos *pos)
{
    mk_log_header header;
    uint8_t chain[32];

    if (mk_log__header_decode(bytes, &header) != MK_LOG_GOOD)
        return false;
    mk_log__chain(last->chain, bytes, chain);
    return memcmp(chain, header.chain, sizeof chain) == 0 &&
           memcmp(chain, pos->chain, sizeof chain) == 0 && header.tt_last == pos->tt.us &&
           last->frames + 1 == pos->frames && last->file == pos->file &&
           last->offset + mk_log__frame_size(header.stored_size) == pos->offset;
}

mk_code mk_log_pos_check(const mk_alloc *alloc, const mk_fs *fs, const char *store_dir,
                         const mk_log_pos *pos, const mk_log_pos *last_frame, mk_err *err)
{
    mk_log_reader *reader = NULL;
    uint8_t bytes[MK_LOG_HEADER_SIZE];
    size_t got;
    mk_code rc;

    if (pos->frames == 0)
        return MK_OK;
    MK_TRY(rc, mk_log_reader_open(alloc, fs, store_dir, pos, &reader, err));
    if (reader->pos.file != pos->file || reader->pos.offset != pos->offset)
        goto out; /* found again in the next file, where every frame up to it was checked */
    MK_TRY(rc, fs->read_at(fs->ctx, reader->file, bytes, sizeof bytes, last_frame->offset, &got, err));
    if (got < sizeof bytes || !ends_in(bytes, last_frame, pos))
        rc = fail_mismatch(err, pos, "no frame ends there with this chain");
out:
    mk_log_reader_close(reader);
    return rc;
}

/* ---- for the writer ---- */

const mk_log_pos *mk_log__reader_pos(const mk_log_reader *reader)
{
    return &reader->pos;
}

const mk_log_file_start *mk_log__reader_file(const mk_log_reader *reader)
{
    return reader->file == NULL ? NULL : &reader->start;
}

uint64_t mk_log__reader_file_size(const mk_log_reader *reader)
{
    return reader->size;
}

mk_str mk_log__reader_bytes(const mk_log_reader *reader)
{
    return reader->bytes;
}

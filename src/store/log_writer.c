/* log_writer.c — appends frames to the log, and keeps `head`, the durable end for other processes.
 *
 * States of a writer, and what may be trusted in each:
 *   running   everything before `end` is on the disk; nothing but zeros, or the remains of a frame that
 *             was refused and cut, lies behind it. append keeps it running, also when there was no space.
 *   stopped   a sync or a cut failed. The disk may hold the failed frame, a part of it, or nothing, and
 *             after a failed sync the system may call pages clean that never reached the disk
 *             (Rebello et al., "Can Applications Recover from fsync Failures?", USENIX ATC 2020), so
 *             syncing again proves nothing. Every call is refused. stop() enters it, nothing leaves it.
 *
 * Opening makes the durable end equal to the readable end (make_durable). What `head` vouches for was
 * synced. Valid frames behind it are of unknown durability; they are written again into a new file:
 *   1. DIR/log/N+1.mlog.tmp gets a header "continues file N at X" and a copy of the frames, is synced
 *   2. and renamed to N+1.mlog, and the directory is synced;
 *   3. only then file N is cut at X.
 * Power lost before the rename is on disk: file N is as it was, the temporary file is ignored. After it:
 * N+1 is complete, and readers leave file N at X whether or not the cut has happened; the frames behind
 * X are the same ones, byte for byte, as the first in N+1. Power lost between 2 and 3 costs only space.
 * When head vouches for no frame of the last file, that file's very name may be lost (the writer that
 * made it may have stopped there), and a successor must not rely on it: then the same steps put the copy
 * in the last file's place, under its own number and header. The rename is atomic, so on disk there is
 * the old file, which is all there was if any of it was acknowledged, or the new one.
 *
 * A new file by size is made the same way, with no frames to copy. So a file with its final name always
 * has a whole header, and every frame in a file before the last one was synced. */
#include <stdio.h>
#include <zstd.h>

#include "base/sha256.h"
#include "store/log_frame.h"

/* Buffers larger than this are given back after the frame that needed them. */
#define BUFFER_KEEP ((size_t)32 << 20)

struct mk_log_writer {
    const mk_alloc *alloc;
    const mk_fs *fs;
    char *dir;
    mk_log_pos end; /* durable */
    uint64_t file_max;

    mk_file *file;     /* end.file */
    uint64_t reserved; /* size of it, zeros behind `end` */

    mk_file *head; /* NULL until it could be opened */
    uint64_t head_sequence;
    unsigned head_slot; /* written next */
    bool head_behind;   /* the last attempt failed; the next append tries again */

    uint8_t *buffer; /* one frame */
    size_t buffer_cap;
    ZSTD_CCtx *zstd;

    bool stopped;
    char cause[768]; /* what stopped it; the message of that error */
};

/* ---- head ---- */

mk_code mk_log_head_read(const mk_fs *fs, const char *store_dir, mk_log_pos *pos, bool *found,
                         mk_err *err)
{
    uint8_t bytes[MK_LOG_HEADER_SIZE];
    mk_file *file = NULL;
    mk_log_path path;
    mk_log_pos slot_pos;
    uint64_t sequence, newest = 0;
    size_t got;
    mk_code rc;

    *found = false;
    MK_TRY(rc, mk_log__head_path(&path, store_dir, err));
    rc = fs->open(fs->ctx, path.z, MK_OPEN_READ, &file, err);
    if (rc == MK_E_NOT_FOUND)
        return MK_OK;
    if (rc != MK_OK)
        return rc;
    for (uint64_t slot = 0; slot < 2; slot++) {
        MK_TRY(rc, fs->read_at(fs->ctx, file, bytes, sizeof bytes, slot * MK_LOG_HEAD_STRIDE, &got,
                               err));
        if (got < sizeof bytes || mk_log__head_decode(bytes, &slot_pos, &sequence) != MK_LOG_GOOD ||
            (*found && sequence < newest))
            continue;
        *found = true;
        *pos = slot_pos;
        newest = sequence;
    }
out:
    if (file != NULL)
        fs->close(fs->ctx, file);
    return rc;
}

/* Opens head for writing and finds the slot to write: the one that does not hold the newest position. */
static mk_code open_head(mk_log_writer *writer)
{
    const mk_fs *fs = writer->fs;
    uint8_t bytes[MK_LOG_HEADER_SIZE];
    mk_log_path path;
    mk_log_pos pos;
    uint64_t sequence;
    size_t got;
    mk_code rc;

    MK_TRY(rc, mk_log__head_path(&path, writer->dir, NULL));
    MK_TRY(rc, fs->open(fs->ctx, path.z, MK_OPEN_WRITE | MK_OPEN_CREATE, &writer->head, NULL));
    for (unsigned slot = 0; slot < 2; slot++) {
        MK_TRY(rc, fs->read_at(fs->ctx, writer->head, bytes, sizeof bytes,
                               (uint64_t)slot * MK_LOG_HEAD_STRIDE, &got, NULL));
        if (got < sizeof bytes || mk_log__head_decode(bytes, &pos, &sequence) != MK_LOG_GOOD ||
            sequence < writer->head_sequence)
            continue;
        writer->head_sequence = sequence;
        writer->head_slot = 1 - slot;
    }
out:
    if (rc != MK_OK && writer->head != NULL) {
        fs->close(fs->ctx, writer->head);
        writer->head = NULL;
    }
    return rc;
}

/* Tells other processes the durable end. Best effort: the frame is on the disk, so its append has
 * succeeded whatever happens here; other processes see it a little later, and an opening that finds
 * head behind copies more than it had to. A failed write may have spoiled its slot but never the other
 * one, so the same slot is tried again. */
static void write_head(mk_log_writer *writer)
{
    const mk_fs *fs = writer->fs;
    uint8_t bytes[MK_LOG_HEADER_SIZE];

    writer->head_behind = true;
    if (writer->head == NULL && open_head(writer) != MK_OK)
        return;
    mk_log__head_encode(&writer->end, writer->head_sequence + 1, bytes);
    if (fs->write_at(fs->ctx, writer->head, bytes, sizeof bytes,
                     (uint64_t)writer->head_slot * MK_LOG_HEAD_STRIDE, NULL) != MK_OK)
        return;
    writer->head_behind = false;
    writer->head_sequence++;
    writer->head_slot = 1 - writer->head_slot;
}

/* ---- stopping ---- */

static mk_code fail_stopped(const mk_log_writer *writer, mk_err *err)
{
    mk_fail(err, MK_E_STATE, "the log takes no more writes: %s", writer->cause);
    mk_err_hint(err, "check the disk, then close the store and open it again; of the batches that failed "
                     "each is there as a whole or not at all");
    mk_err_reason(err, "writer_stopped");
    mk_err_retry(err, MK_RETRY_AFTER_FIX);
    return MK_E_STATE;
}

static mk_code stop(mk_log_writer *writer, const mk_err *cause, mk_err *err)
{
    writer->stopped = true;
    snprintf(writer->cause, sizeof writer->cause, "%s", cause->message);
    return fail_stopped(writer, err);
}

/* ---- files ---- */

/* Makes room for [.., size) ahead of time. That it fails says nothing yet: the frame may still fit, and
 * the write that follows tells. */
static void reserve_to(mk_log_writer *writer, mk_file *file, uint64_t *reserved, uint64_t size)
{
    const uint64_t target = (size + MK_LOG_RESERVE_STEP - 1) / MK_LOG_RESERVE_STEP * MK_LOG_RESERVE_STEP;

    if (size <= *reserved)
        return;
    if (writer->fs->reserve(writer->fs->ctx, file, *reserved, target - *reserved, NULL) == MK_OK)
        *reserved = target;
}

/* Copies the frames from the reader's position to `until` behind *at. */
static mk_code copy_frames(mk_log_writer *writer, mk_file *file, mk_log_reader *tail,
                           const mk_log_pos *until, uint64_t *at, mk_err *err)
{
    const mk_fs *fs = writer->fs;
    mk_frame frame;
    mk_log_end end;
    mk_str bytes;
    mk_code rc = MK_OK;

    while (mk_log__reader_pos(tail)->frames < until->frames) {
        MK_TRY(rc, mk_log_read(tail, until, &frame, &end, err));
        if (end != MK_LOG_MORE)
            return mk_fail(err, MK_E_INTERNAL, "the log changed while its tail was copied");
        bytes = mk_log__reader_bytes(tail);
        MK_TRY(rc, fs->write_at(fs->ctx, file, bytes.p, bytes.n, *at, err));
        *at += bytes.n;
    }
out:
    return rc;
}

/* A log file under its temporary name, complete and synced. */
typedef struct new_file {
    mk_file *file;
    uint64_t end;      /* of the frames in it */
    uint64_t reserved; /* its size */
    bool sync_failed;  /* why it could not be made */
} new_file;

static mk_code write_file(mk_log_writer *writer, const char *path, const mk_log_file_start *start,
                          mk_log_reader *tail, const mk_log_pos *until, new_file *out, mk_err *err)
{
    const mk_fs *fs = writer->fs;
    uint8_t bytes[MK_LOG_HEADER_SIZE];
    mk_code rc;

    *out = (new_file){.end = MK_LOG_HEADER_SIZE};
    MK_TRY(rc, fs->open(fs->ctx, path, MK_OPEN_WRITE | MK_OPEN_CREATE | MK_OPEN_TRUNCATE, &out->file,
                        err));
    mk_log__file_encode(start, bytes);
    reserve_to(writer, out->file, &out->reserved, MK_LOG_HEADER_SIZE);
    MK_TRY(rc, fs->write_at(fs->ctx, out->file, bytes, sizeof bytes, 0, err));
    if (tail != NULL)
        MK_TRY(rc, copy_frames(writer, out->file, tail, until, &out->end, err));
    rc = fs->sync(fs->ctx, out->file, err);
    out->sync_failed = rc != MK_OK;
out:
    if (rc != MK_OK && out->file != NULL) {
        fs->close(fs->ctx, out->file);
        out->file = NULL;
    }
    return rc;
}

static mk_log_file_start start_after(const mk_log_pos *end)
{
    mk_log_file_start start = {.number = end->file + 1, .prev_offset = end->offset,
                               .frames = end->frames, .tt = end->tt};
    memcpy(start.chain, end->chain, sizeof start.chain);
    return start;
}

/* Puts the file in place under its final name. *unknown when it cannot be told what the disk holds. */
static mk_code install_file(mk_log_writer *writer, const mk_log_file_start *start, mk_log_reader *tail,
                            const mk_log_pos *until, new_file *made, bool *unknown, mk_err *err)
{
    const mk_fs *fs = writer->fs;
    mk_log_path path, temporary, dir;
    mk_code rc;

    *made = (new_file){0};
    *unknown = false;
    MK_TRY(rc, mk_log__dir_path(&dir, writer->dir, err));
    MK_TRY(rc, mk_log__file_path(&path, writer->dir, start->number, false, err));
    MK_TRY(rc, mk_log__file_path(&temporary, writer->dir, start->number, true, err));
    rc = write_file(writer, temporary.z, start, tail, until, made, err);
    *unknown = made->sync_failed;
    if (rc != MK_OK) {
        (void)fs->remove(fs->ctx, temporary.z, NULL);
        return rc;
    }
    *unknown = true;
    MK_TRY(rc, fs->rename(fs->ctx, temporary.z, path.z, err));
    MK_TRY(rc, fs->sync_dir(fs->ctx, dir.z, err));
out:
    return rc;
}

/* Makes the file of `start`, with the frames from `tail` to `until` in it when there are any, and goes
 * on there. Fails without a trace, but stops the writer when a sync or the rename failed. */
static mk_code start_file(mk_log_writer *writer, const mk_log_file_start *start, mk_log_reader *tail,
                          const mk_log_pos *until, mk_err *err)
{
    const mk_fs *fs = writer->fs;
    mk_err cause = {.offset = -1};
    new_file made;
    bool unknown;
    const mk_code rc = install_file(writer, start, tail, until, &made, &unknown, &cause);

    if (rc != MK_OK) {
        if (made.file != NULL)
            fs->close(fs->ctx, made.file);
        if (unknown)
            return stop(writer, &cause, err);
        if (err != NULL)
            *err = cause;
        return rc;
    }
    if (writer->file != NULL) {
        /* Gives back what was reserved behind the old end. Readers leave the file there anyway. */
        if (start->number == writer->end.file + 1)
            (void)fs->truncate(fs->ctx, writer->file, start->prev_offset, NULL);
        fs->close(fs->ctx, writer->file);
    }
    writer->file = made.file;
    writer->reserved = made.reserved > made.end ? made.reserved : made.end;
    writer->end = *until;
    writer->end.file = start->number;
    writer->end.offset = made.end;
    return MK_OK;
}

/* ---- opening ---- */

/* What is known about the end of the log. */
typedef enum trust {
    TRUST_ALL,  /* head vouches for every frame */
    TRUST_HEAD, /* head vouches for a part of the last file */
    TRUST_PAST, /* head vouches for the files before the last one */
    TRUST_NONE  /* there is no head, or it is not of this log */
} trust;

static mk_code fail_lost(const mk_log_pos *head, const mk_log_pos *end, mk_err *err)
{
    mk_fail(err, MK_E_STATE,
            "log/%08u.mlog is damaged at byte %llu: the log ends after %llu frames, but head says that "
            "%llu were synced", (unsigned)end->file, (unsigned long long)end->offset,
            (unsigned long long)end->frames, (unsigned long long)head->frames);
    mk_err_path(err, "log/%08u.mlog", (unsigned)end->file);
    mk_err_offset(err, end->offset <= INT64_MAX ? (int64_t)end->offset : -1);
    mk_err_reason(err, "damaged");
    mk_err_hint(err, "nothing was changed; restore log/ from a copy. To go on without the lost frames, or "
                     "when log/ is an older copy on purpose, delete the file `head` of the store");
    return MK_E_STATE;
}

static bool same_chain(const mk_log_pos *a, const mk_log_pos *b)
{
    return memcmp(a->chain, b->chain, sizeof a->chain) == 0;
}

/* Opens a reader at `from`, which must lie in the last file. *tail NULL when the frame there does not
 * continue this chain: then head is of another log, or spoiled, and says nothing about this one. */
static mk_code open_tail(mk_log_writer *writer, const mk_log_pos *from, uint32_t last_file,
                         mk_log_reader **tail, mk_err *err)
{
    mk_err local = {.offset = -1};
    mk_log_reader *reader = NULL;
    mk_frame frame;
    mk_log_end end;
    mk_code rc;

    *tail = NULL;
    rc = mk_log_reader_open(writer->alloc, writer->fs, writer->dir, from, &reader, &local);
    if (rc == MK_OK && mk_log__reader_pos(reader)->file == last_file) {
        rc = mk_log_read(reader, NULL, &frame, &end, &local);
        if (rc == MK_OK && end == MK_LOG_MORE) {
            mk_log_reader_close(reader);
            return mk_log_reader_open(writer->alloc, writer->fs, writer->dir, from, tail, err);
        }
    }
    mk_log_reader_close(reader);
    if (rc == MK_OK || strcmp(local.reason, "damaged") == 0 || strcmp(local.reason, "log_mismatch") == 0)
        return MK_OK;
    if (err != NULL)
        *err = local;
    return rc;
}

static mk_log_pos start_of(const mk_log_file_start *file)
{
    mk_log_pos pos = {.file = file->number, .offset = MK_LOG_HEADER_SIZE, .tt = file->tt,
                      .frames = file->frames};
    memcpy(pos.chain, file->chain, sizeof pos.chain);
    return pos;
}

/* For TRUST_HEAD, *tail is a reader that stands at head. */
static mk_code judge_tail(mk_log_writer *writer, const mk_log_pos *end, const mk_log_file_start *last,
                          trust *result, mk_log_reader **tail, mk_err *err)
{
    mk_log_pos head = {0};
    bool found;
    mk_code rc;

    *result = TRUST_NONE;
    MK_TRY(rc, mk_log_head_read(writer->fs, writer->dir, &head, &found, err));
    if (!found)
        return MK_OK;
    if (head.frames > end->frames)
        return fail_lost(&head, end, err);
    if (head.file < last->number && head.frames <= last->frames) {
        *result = TRUST_PAST;
        return MK_OK;
    }
    if (head.frames == end->frames) {
        if (same_chain(&head, end) && head.file == end->file && head.offset == end->offset)
            *result = TRUST_ALL;
        return MK_OK;
    }
    MK_TRY(rc, open_tail(writer, &head, last->number, tail, err));
    if (*tail != NULL)
        *result = TRUST_HEAD;
out:
    return rc;
}

static mk_code sync_names(mk_log_writer *writer, mk_err *err)
{
    mk_log_path dir;
    mk_code rc;

    MK_TRY(rc, mk_log__dir_path(&dir, writer->dir, err));
    MK_TRY(rc, writer->fs->sync_dir(writer->fs->ctx, dir.z, err));
    MK_TRY(rc, writer->fs->sync_dir(writer->fs->ctx, writer->dir, err));
out:
    return rc;
}

/* When the name of log/ cannot be made durable it is taken away again, so that the next opening makes
 * it anew: a later sync of the directory would not have to save what this one gave up on. */
static mk_code create_log(mk_log_writer *writer, mk_err *err)
{
    const mk_fs *fs = writer->fs;
    const mk_log_pos begin = mk_log_start();
    mk_log_file_start first = {.number = 1};
    mk_log_path dir, path;
    mk_code rc;

    memcpy(first.chain, begin.chain, sizeof first.chain);
    MK_TRY(rc, mk_log__dir_path(&dir, writer->dir, err));
    MK_TRY(rc, mk_log__file_path(&path, writer->dir, 1, false, err));
    MK_TRY(rc, fs->make_dir(fs->ctx, dir.z, err));
    MK_TRY(rc, start_file(writer, &first, NULL, &begin, err));
    rc = fs->sync_dir(fs->ctx, writer->dir, err);
    if (rc != MK_OK) {
        (void)fs->remove(fs->ctx, path.z, NULL);
        (void)fs->remove(fs->ctx, dir.z, NULL);
    }
out:
    return rc;
}

static mk_code open_last_file(mk_log_writer *writer, const mk_log_pos *end, uint64_t size, mk_err *err)
{
    mk_log_path path;
    mk_code rc;

    MK_TRY(rc, mk_log__file_path(&path, writer->dir, end->file, false, err));
    MK_TRY(rc, writer->fs->open(writer->fs->ctx, path.z, MK_OPEN_WRITE, &writer->file, err));
    writer->end = *end;
    writer->reserved = size;
out:
    return rc;
}

/* Behind the end lie zeros, or a torn frame, which is cut here. The cut needs no sync of its own: until
 * the next frame is synced, losing the cut brings back a torn frame, and that sync takes the file's
 * size along. */
static mk_code cut_torn(mk_log_writer *writer, mk_err *err)
{
    mk_code rc;

    MK_TRY(rc, writer->fs->truncate(writer->fs->ctx, writer->file, writer->end.offset, err));
    writer->reserved = writer->end.offset;
out:
    return rc;
}

/* Writes the last file again, whole, in its own place. */
static mk_code remake_last(mk_log_writer *writer, const mk_log_file_start *last, mk_err *err)
{
    const mk_log_pos from = start_of(last), end = writer->end;
    mk_log_reader *tail = NULL;
    mk_code rc;

    MK_TRY(rc, mk_log_reader_open(writer->alloc, writer->fs, writer->dir, &from, &tail, err));
    MK_TRY(rc, start_file(writer, last, tail, &end, err));
out:
    mk_log_reader_close(tail);
    return rc;
}

/* Without head, nothing but the log itself is known. Frames that can be read were most likely read from
 * the disk (head, never synced, went with the power); a sync makes sure of those that a killed process
 * left in the page cache. A file without frames may be one whose name could not be synced. */
static mk_code make_durable_without_head(mk_log_writer *writer, const mk_log_file_start *last,
                                         mk_err *err)
{
    mk_code rc;

    MK_TRY(rc, sync_names(writer, err));
    if (writer->end.frames == last->frames)
        MK_TRY(rc, remake_last(writer, last, err));
    else
        MK_TRY(rc, writer->fs->sync(writer->fs->ctx, writer->file, err));
out:
    return rc;
}

static mk_code make_durable(mk_log_writer *writer, const mk_log_file_start *last, bool torn, mk_err *err)
{
    const mk_log_pos end = writer->end;
    mk_log_file_start start;
    mk_log_reader *tail = NULL;
    trust known;
    mk_code rc;

    MK_TRY(rc, judge_tail(writer, &end, last, &known, &tail, err));
    if (torn && (known == TRUST_ALL || known == TRUST_NONE))
        MK_TRY(rc, cut_torn(writer, err));
    switch (known) {
    case TRUST_ALL:
        break;
    case TRUST_HEAD:
        start = start_after(mk_log__reader_pos(tail));
        rc = start_file(writer, &start, tail, &end, err);
        break;
    case TRUST_PAST:
        rc = remake_last(writer, last, err);
        break;
    case TRUST_NONE:
        rc = make_durable_without_head(writer, last, err);
        break;
    }
out:
    mk_log_reader_close(tail);
    return rc;
}

static mk_code open_log(mk_log_writer *writer, const mk_log_pos *end, mk_err *err)
{
    mk_log_reader *reader = NULL;
    mk_frame frame;
    mk_log_end what;
    mk_code rc;

    MK_TRY(rc, mk_log_reader_open(writer->alloc, writer->fs, writer->dir, end, &reader, err));
    MK_TRY(rc, mk_log_read(reader, NULL, &frame, &what, err));
    if (what == MK_LOG_MORE)
        MK_TRY(rc, mk_fail(err, MK_E_INTERNAL, "the log goes on behind the position to write at"));
    if (mk_log__reader_file(reader) == NULL) {
        MK_TRY(rc, create_log(writer, err));
        goto out;
    }
    MK_TRY(rc, open_last_file(writer, mk_log__reader_pos(reader), mk_log__reader_file_size(reader), err));
    MK_TRY(rc, make_durable(writer, mk_log__reader_file(reader), what == MK_LOG_TORN, err));
out:
    mk_log_reader_close(reader);
    return rc;
}

mk_code mk_log_writer_open(const mk_alloc *alloc, const mk_fs *fs, const char *store_dir,
                           const mk_log_pos *end, mk_log_writer **out, mk_err *err)
{
    mk_log_writer *writer = mk_new0(alloc, sizeof *writer);
    mk_code rc;

    if (writer == NULL)
        return mk_fail_nomem(err);
    writer->alloc = alloc;
    writer->fs = fs;
    writer->file_max = MK_LOG_FILE_MAX;
    MK_TRY(rc, mk_log__dir_copy(alloc, store_dir, &writer->dir, err));
    MK_TRY(rc, open_log(writer, end, err));
    write_head(writer);
    *out = writer;
    writer = NULL;
out:
    mk_log_writer_close(writer);
    return rc;
}

void mk_log_writer_close(mk_log_writer *writer)
{
    if (writer == NULL)
        return;
    if (writer->file != NULL)
        writer->fs->close(writer->fs->ctx, writer->file);
    if (writer->head != NULL)
        writer->fs->close(writer->fs->ctx, writer->head);
    ZSTD_freeCCtx(writer->zstd);
    mk_free(writer->alloc, writer->buffer, writer->buffer_cap);
    mk_log__dir_free(writer->alloc, writer->dir);
    mk_free(writer->alloc, writer, sizeof *writer);
}

const mk_log_pos *mk_log_writer_end(const mk_log_writer *writer)
{
    return &writer->end;
}

/* ---- appending ---- */

static mk_code room_for(mk_log_writer *writer, size_t size, mk_err *err)
{
    void *p = writer->buffer;
    const mk_code rc = mk_grow(writer->alloc, &p, &writer->buffer_cap, size, 1, err);

    writer->buffer = p;
    return rc;
}

/* Level 1 into the room of n - 1 bytes: a result that saves nothing does not fit, and the lines are
 * stored as they are. *stored 0 then. */
static mk_code compress(mk_log_writer *writer, mk_str lines, size_t *stored, mk_err *err)
{
    if (writer->zstd == NULL) {
        writer->zstd = ZSTD_createCCtx();
        if (writer->zstd == NULL)
            return mk_fail_nomem(err);
    }
    *stored = ZSTD_compressCCtx(writer->zstd, writer->buffer + MK_LOG_HEADER_SIZE, lines.n - 1, lines.p,
                                lines.n, 1);
    if (ZSTD_isError(*stored))
        *stored = 0;
    return MK_OK;
}

/* Builds the frame in the buffer. *size counts header, payload and padding. */
static mk_code build_frame(mk_log_writer *writer, mk_log_header *header, mk_str lines, uint64_t *size,
                           mk_err *err)
{
    size_t stored = 0;
    mk_code rc;

    MK_TRY(rc, room_for(writer, (size_t)mk_log__frame_size(lines.n), err));
    if (lines.n > MK_LOG_ZSTD_ABOVE)
        MK_TRY(rc, compress(writer, lines, &stored, err));
    header->codec = stored > 0 ? MK_CODEC_ZSTD : MK_CODEC_RAW;
    if (stored == 0) {
        memcpy(writer->buffer + MK_LOG_HEADER_SIZE, lines.p, lines.n);
        stored = lines.n;
    }
    header->raw_size = lines.n;
    header->stored_size = stored;
    *size = mk_log__frame_size(stored);
    memset(writer->buffer + MK_LOG_HEADER_SIZE + stored, 0,
           (size_t)(*size - MK_LOG_HEADER_SIZE - stored));
    mk_sha256_of(writer->buffer + MK_LOG_HEADER_SIZE, stored, header->payload_sha);
    mk_log__header_encode(header, writer->end.chain, writer->buffer);
out:
    return rc;
}

/* After a failed write: no trace of the frame may stay, on the disk neither, since the caller reports
 * that it was refused and goes on. Hence the sync, which also tells whether the disk is sound. */
static mk_code cut_back(mk_log_writer *writer, mk_err *err)
{
    const mk_fs *fs = writer->fs;
    mk_err cause = {.offset = -1};
    mk_code rc;

    MK_TRY(rc, fs->truncate(fs->ctx, writer->file, writer->end.offset, &cause));
    MK_TRY(rc, fs->sync(fs->ctx, writer->file, &cause));
    writer->reserved = writer->end.offset;
out:
    return rc == MK_OK ? MK_OK : stop(writer, &cause, err);
}

static mk_code write_frame(mk_log_writer *writer, uint64_t size, mk_err *err)
{
    const mk_fs *fs = writer->fs;
    mk_err cause = {.offset = -1};
    mk_code rc;

    reserve_to(writer, writer->file, &writer->reserved, writer->end.offset + size);
    rc = fs->write_at(fs->ctx, writer->file, writer->buffer, (size_t)size, writer->end.offset, &cause);
    if (rc != MK_OK) {
        const mk_code cut = cut_back(writer, err);
        if (cut != MK_OK)
            return cut;
        if (err != NULL)
            *err = cause;
        return rc;
    }
    rc = fs->sync(fs->ctx, writer->file, &cause);
    return rc == MK_OK ? MK_OK : stop(writer, &cause, err);
}

/* Our own mistakes; they must not reach the disk in a release build either. */
static mk_code check_frame(const mk_log_writer *writer, mk_frame_kind kind, mk_str lines,
                           uint32_t records, mk_tt tt_first, mk_tt tt_last, mk_err *err)
{
    if (lines.n > MK_LOG_RAW_MAX) {
        mk_fail(err, MK_E_LIMIT, "record lines of %zu bytes are over the limit of %llu", lines.n,
                (unsigned long long)MK_LOG_RAW_MAX);
        mk_err_hint(err, "split the batch; a record may have 256 MiB");
        return MK_E_LIMIT;
    }
    if (kind != MK_FRAME_BATCH && kind != MK_FRAME_SEAL)
        return mk_fail(err, MK_E_INTERNAL, "unknown kind of frame: %d", (int)kind);
    if (records == 0 || !mk_log__lines_ok(lines, records))
        return mk_fail(err, MK_E_INTERNAL, "a frame of %u records has other lines", (unsigned)records);
    if (!mk_log__tt_ok(kind, records, writer->end.tt, tt_first.us, tt_last.us))
        return mk_fail(err, MK_E_INTERNAL,
                       "transaction times %lld to %lld of %u records do not follow %lld",
                       (long long)tt_first.us, (long long)tt_last.us, (unsigned)records,
                       (long long)writer->end.tt.us);
    return MK_OK;
}

mk_code mk_log_append(mk_log_writer *writer, mk_frame_kind kind, mk_str lines, uint32_t records,
                      mk_tt tt_first, mk_tt tt_last, mk_log_pos *frame_pos, mk_err *err)
{
    mk_log_header header = {.kind = (uint8_t)kind, .records = records, .tt_first = tt_first.us,
                            .tt_last = tt_last.us};
    uint64_t size;
    mk_code rc;

    if (writer->stopped)
        return fail_stopped(writer, err);
    MK_TRY(rc, check_frame(writer, kind, lines, records, tt_first, tt_last, err));
    if (writer->end.offset > writer->file_max) {
        const mk_log_pos end = writer->end;
        const mk_log_file_start next = start_after(&end);
        MK_TRY(rc, start_file(writer, &next, NULL, &end, err));
    }
    MK_TRY(rc, build_frame(writer, &header, lines, &size, err));
    MK_TRY(rc, write_frame(writer, size, err));

    if (frame_pos != NULL)
        *frame_pos = writer->end;
    writer->end.offset += size;
    writer->end.frames++;
    writer->end.tt = tt_last;
    memcpy(writer->end.chain, header.chain, sizeof header.chain);
    if (writer->reserved < writer->end.offset)
        writer->reserved = writer->end.offset;
    write_head(writer);
out:
    if (writer->buffer_cap > BUFFER_KEEP) {
        mk_free(writer->alloc, writer->buffer, writer->buffer_cap);
        writer->buffer = NULL;
        writer->buffer_cap = 0;
    }
    return rc;
}

/* ---- hooks for tests ---- */

void mk_log__writer_set_file_max(mk_log_writer *writer, uint64_t size)
{
    writer->file_max = size;
}

bool mk_log__writer_head_behind(const mk_log_writer *writer)
{
    return writer->head_behind;
}

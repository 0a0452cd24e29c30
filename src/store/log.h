/* log.h — the truth on disk: framed, checksummed, chained record lines. Layer: store.
 *
 * A frame is the unit of write, checksum, chain, sync and trimming. It holds one or more record lines,
 * each the exact canonical JSON line of one batch (store spec, 10.2) with its LF. The next frame is
 * written only after the previous sync returned, so only the last frame can be torn; damage with a
 * valid frame after it is corruption. Source: STORAGE.md, "Log"; docs/log-format.md. */
#ifndef MK_STORE_LOG_H
#define MK_STORE_LOG_H

#include "base/fs.h"
#include "base/timetext.h"

typedef enum mk_frame_kind { MK_FRAME_BATCH = 1, MK_FRAME_SEAL = 2 } mk_frame_kind;

/* Where a frame starts, and the chain and tt of everything before it. The start of an empty log is
 * {1, 0-of-the-first-frame, SHA-256 of nothing, 0}; mk_log_start gives it. */
typedef struct mk_log_pos {
    uint32_t file;     /* log/%08u.mlog, from 1 */
    uint64_t offset;   /* of the next frame in that file */
    uint8_t chain[32]; /* of the frame before it */
    mk_tt tt;          /* largest tt before it; 0 when none */
    uint64_t frames;   /* number of frames before it */
} mk_log_pos;

mk_log_pos mk_log_start(void);

typedef struct mk_frame {
    mk_frame_kind kind;
    mk_log_pos pos;  /* of this frame */
    mk_log_pos next; /* just after it */
    mk_tt tt_first, tt_last;
    uint32_t records;     /* number of record lines */
    uint64_t stored_size; /* payload bytes on disk */
    mk_str lines;         /* decompressed; valid until the next read on the same reader */
} mk_frame;

/* ---- reading ---- */

typedef struct mk_log_reader mk_log_reader;

/* Reads frames from `from` on, checking header checksum, payload SHA-256, chain, tt order and record
 * count of every one. `from` must be a frame boundary with the right chain. */
MK_CHECK mk_code mk_log_reader_open(const mk_alloc *alloc, const mk_fs *fs, const char *store_dir,
                                    const mk_log_pos *from, mk_log_reader **out, mk_err *err);
void mk_log_reader_close(mk_log_reader *reader);

typedef enum mk_log_end {
    MK_LOG_MORE, /* a frame was read */
    MK_LOG_DONE, /* the log ends cleanly here (nothing, or only preallocated zeros, behind) */
    MK_LOG_TORN  /* one damaged or incomplete frame is last; nothing valid after it */
} mk_log_end;

/* The next frame. `until` (may be NULL) is the durable end: frames at or behind it are not looked at
 * and *end is MK_LOG_DONE. Errors: MK_E_STATE naming file and offset for damage with valid frames
 * behind it (reason "damaged"), and for an unknown version or kind (reason "newer_format"). */
MK_CHECK mk_code mk_log_read(mk_log_reader *reader, const mk_log_pos *until, mk_frame *frame,
                             mk_log_end *end, mk_err *err);

/* True when a frame whose `next` is this position really ends there with this chain: reads only the
 * frame header before it. Constant time; how a checkpoint is checked against its log. `prev_offset`
 * is the offset of that frame in pos->file (0 frames: always true). */
MK_CHECK mk_code mk_log_pos_check(const mk_alloc *alloc, const mk_fs *fs, const char *store_dir,
                                  const mk_log_pos *pos, const mk_log_pos *last_frame, mk_err *err);

/* ---- writing ---- */

typedef struct mk_log_writer mk_log_writer;

/* For a writer that holds the store's lock. `end` is where reading ended. A torn frame behind it is cut
 * (after the caller has warned); valid frames of which it is unknown whether they were synced are
 * synced now. Creates log/ and the first file, and syncs the directories, when there is none. */
MK_CHECK mk_code mk_log_writer_open(const mk_alloc *alloc, const mk_fs *fs, const char *store_dir,
                                    const mk_log_pos *end, mk_log_writer **out, mk_err *err);
void mk_log_writer_close(mk_log_writer *writer);
const mk_log_pos *mk_log_writer_end(const mk_log_writer *writer); /* durable end */

/* One frame: lines (each ending in LF) of `records` batches with tt_first..tt_last; written, synced,
 * and head updated when it returns MK_OK. On a short write or ENOSPC the file is cut back: MK_E_STATE,
 * reason "no_space", the writer stays usable. When the sync or the cut fails the state of the disk is
 * unknown: MK_E_STATE, reason "writer_stopped", now and for every later call.
 * `frame_pos` (may be NULL) receives the position of the frame written. Not thread-safe. */
MK_CHECK mk_code mk_log_append(mk_log_writer *writer, mk_frame_kind kind, mk_str lines,
                               uint32_t records, mk_tt tt_first, mk_tt tt_last,
                               mk_log_pos *frame_pos, mk_err *err);

/* ---- head: the durable end for readers in other processes ---- */

/* Reads DIR/head: the newer of its two checksummed slots. *found false when there is no usable slot. */
MK_CHECK mk_code mk_log_head_read(const mk_fs *fs, const char *store_dir, mk_log_pos *pos,
                                  bool *found, mk_err *err);

#endif

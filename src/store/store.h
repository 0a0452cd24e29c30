/* store.h — opening, writing, committing. Layer: store.
 *
 * A store is one directory: the log is the truth, everything else is a fold of it. One process at a
 * time holds the writer lock; any number of threads write through it (their commits share frames and
 * syncs, never batches); any number of threads and processes read. Source: DESIGN.md 3 and 4,
 * STORAGE.md, store spec. */
#ifndef MK_STORE_STORE_H
#define MK_STORE_STORE_H

#include "base/fs.h"
#include "store/op.h"

typedef struct mk_store mk_store;

typedef enum mk_log_level { MK_LOG_INFO, MK_LOG_WARN, MK_LOG_ERROR } mk_log_level;
typedef void mk_log_fn(void *ctx, mk_log_level level, const char *module, const char *text);

typedef enum mk_open_mode {
    MK_OPEN_READER, /* writes nothing, takes no lock; the store must exist */
    MK_OPEN_WRITER, /* takes the lock, recovers; the store must exist */
    MK_OPEN_CREATE_WRITER /* as WRITER, making an empty store where there is none */
} mk_open_mode;

/* All members may be zero: then the defaults in the comments hold. */
typedef struct mk_store_options {
    mk_open_mode mode;
    const mk_alloc *alloc; /* mk_alloc_default */
    const mk_fs *fs;       /* mk_fs_posix */
    const mk_clock *clock; /* mk_clock_system */
    mk_log_fn *log;        /* silent */
    void *log_ctx;
    uint32_t tail_rows;      /* rows kept unsorted before they are sealed: 16,384 */
    uint64_t tail_log_bytes; /* log since the last checkpoint that starts one: 4 MiB */
    bool manual;             /* no background thread: checkpoint and compaction only when asked */
    bool rebuild;            /* ignore the checkpoint and fold the log from its start */
} mk_store_options;

/* Errors: MK_E_NOT_FOUND (no store there), MK_E_STATE with a reason: "not_a_store", "newer_format",
 * "damaged", "locked", "read_only", "no_space", "io"; MK_E_NOMEM. A writer trims one torn frame and
 * says so through `log`. Nothing is changed on disk by a reader, ever. */
MK_CHECK mk_code mk_store_open(const char *dir, const mk_store_options *options, mk_store **out,
                               mk_err *err);
/* Waits for the background thread, checkpoints what is not yet, releases the lock. All views must be
 * closed. The returned code tells whether that last checkpoint worked; nothing acknowledged depends
 * on it. NULL is fine. */
mk_code mk_store_close(mk_store *store, mk_err *err);

const char *mk_store_dir(const mk_store *store);
bool mk_store_writable(const mk_store *store);
/* Random id given when the store was created, 32 hex characters and a NUL. */
const char *mk_store_id(const mk_store *store);

/* A reader follows the log: looks at `head` and folds what is new. Cheap when nothing is. Safe to
 * call from several threads; pinned views do not move. A writer: MK_OK, nothing to do. */
MK_CHECK mk_code mk_store_refresh(mk_store *store, mk_err *err);

/* ---- writing ---- */

/* Called under the write mutex before anything is staged, with `ctx`; what it returns other than
 * MK_OK refuses the commit and nothing is logged. */
typedef mk_code mk_validate_fn(void *ctx, mk_store *store, mk_err *err);

typedef struct mk_write_options {
    mk_str request_id;     /* n > 0: a repeat returns the first commit's tt and writes nothing */
    bool allow_reserved;   /* modules: uids that begin with tk: okf: mn: (decisions.md 2) */
    mk_validate_fn *validate;
    void *validate_ctx;
} mk_write_options;

/* One batch: checked at the door, validated, ticked, staged by the rules of replay, logged, synced,
 * published; all or nothing. Returns when it is durable. `tt` (may be NULL) receives the batch's
 * transaction time. Strings of the ops are borrowed for the call.
 * Errors: MK_E_INVALID_ARG, MK_E_NOT_FOUND, MK_E_LIMIT with path "ops[i].member"; MK_E_STATE
 * ("read_only_handle", "no_space", "writer_stopped"). On any error the store is as it was. */
MK_CHECK mk_code mk_store_write(mk_store *store, const mk_op *ops, size_t count,
                                const mk_write_options *options, mk_tt *tt, mk_err *err);

/* First offset for "#n" discriminators of a new bulk load: largest n seen + 1, a fold of the log. */
int64_t mk_store_next_disc(mk_store *store);

/* Transaction time of the newest published batch; 0 when there is none. */
mk_tt mk_store_last_tt(mk_store *store);
/* Batches applied so far; failed ones of a replayed log are not counted. */
uint32_t mk_store_batches(mk_store *store);
/* Frames of the log folded so far; 0 for a store nothing was ever written to. */
uint64_t mk_store_log_frames(mk_store *store);

/* Applies one record of a foreign log at its own tt, keeping its bytes: how `replay` and recovery
 * work. *applied false: the batch failed, as in the reference, and is kept but has no effect; *why
 * then holds the error. `check_id` verifies batch_id against the content. */
MK_CHECK mk_code mk_store_replay_line(mk_store *store, mk_str line, bool check_id, bool *applied,
                                      mk_err *why, mk_err *err);
/* Makes everything replayed so far durable (replay writes frames of about 1 MiB). */
MK_CHECK mk_code mk_store_replay_flush(mk_store *store, mk_err *err);

/* ---- commits, as others see them ---- */

/* What one commit did, for conflict checks, quarantine of notes and live statistics. */
typedef struct mk_touch {
    uint64_t identity; /* hash of the identity, the same for equal identities of one store */
    mk_vt vt_s, vt_e;  /* valid interval whose belief was inserted or ended */
    bool ended;        /* a belief of an earlier batch was ended here */
} mk_touch;

typedef struct mk_commit {
    mk_tt tt;
    uint32_t seq;           /* 1 for the first applied batch */
    const mk_touch *touches; /* valid during the call */
    size_t touch_count;
    bool touches_all;       /* too many to list: assume everything was touched */
} mk_commit;

/* One listener, called in commit order after publication, from the committing thread. */
typedef void mk_commit_fn(void *ctx, const mk_commit *commit);
void mk_store_listen(mk_store *store, mk_commit_fn *fn, void *ctx);

/* ---- upkeep ---- */

/* Merges what is due, seals the tail, writes what is not yet on disk, swaps the manifest. */
MK_CHECK mk_code mk_store_checkpoint(mk_store *store, mk_err *err);
/* Merges segments and moves ended rows to past segments until nothing is left to do. */
MK_CHECK mk_code mk_store_compact(mk_store *store, mk_err *err);

typedef struct mk_class_stats {
    uint64_t entities, node_versions, edge_versions;
    bool has_extent;
    int64_t vt_min, vt_max; /* over edge versions (store spec, 14) */
} mk_class_stats;

typedef struct mk_disk_stats {
    uint64_t log_bytes, segment_bytes, index_bytes, dictionary_bytes, other_bytes, trace_bytes;
} mk_disk_stats;

MK_CHECK mk_code mk_store_disk_stats(mk_store *store, mk_disk_stats *out, mk_err *err);

/* SHA-256 over every version (store spec, 11), 64 hex characters and a NUL. A job over the whole
 * store, in bounded memory; `progress` (may be NULL) is called with rows done and total. */
MK_CHECK mk_code mk_store_digest(mk_store *store, char out[65],
                                 void (*progress)(void *ctx, uint64_t done, uint64_t total),
                                 void *ctx, mk_err *err);

#endif

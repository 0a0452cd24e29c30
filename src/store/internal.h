/* internal.h — what the files of src/store share. Layer: store, internal.
 *
 * Who may touch what. The mutex guards everything that stages, publishes or rearranges. Readers use a
 * `mk_state`, immutable once published, and through it segments, tail rows below its `tail_hi` and
 * dictionary entries below its counts. Staged batches live in the very same structures: their rows
 * carry batch numbers above the published one and stand above the published counts, so no reader
 * sees them, and taking them back is a matter of a journal. Source: STORAGE.md, "Commit" and "Views". */
#ifndef MK_STORE_INTERNAL_H
#define MK_STORE_INTERNAL_H

#include <pthread.h>
#include <semaphore.h>

#include "base/recycle.h"
#include "store/dict.h"
#include "store/log.h"
#include "store/lowered.h"
#include "store/record.h"
#include "store/segment.h"
#include "store/view.h"

/* ---- visibility classes ---- */

enum { MK_CLASS_USER, MK_CLASS_RESOLUTION, MK_CLASS_KNOWLEDGE, MK_CLASS_NOTE, MK_CLASS_COUNT };
unsigned mk_class_of_uid(mk_str uid);

/* ---- tail: rows not yet sealed ---- */

#define MK_TAIL_CHUNK 1024u
/* Row numbers of the tail count up for the life of a handle and must not run over. */
#define MK_TAIL_ROWS_MAX (UINT32_MAX - (UINT32_C(1) << 24))

typedef struct mk_tail_row {
    int64_t vt_s, vt_e, disc;
    const char *props;
    uint32_t props_size;
    uint32_t a, b, rel, origin;
    uint32_t seq_s;
    _Atomic uint32_t seq_e;             /* == seq_s: the row never existed (retired, or taken back) */
    _Atomic uint32_t older_a, older_b;  /* links (below) to the next older row of the same entity */
    uint32_t bucket_next, bucket_prev;  /* believed rows by identity; the writer's */
    bool node;
    uint8_t class;
} mk_tail_row;

typedef struct mk_tail_chunk {
    mk_retired retired;
    const mk_alloc *alloc;
    mk_arena text; /* props of these rows */
    mk_tail_row rows[MK_TAIL_CHUNK];
} mk_tail_chunk;

/* Newest tail row of an entity as node, source and target. A link is a row number + 1, 0 for none; one
 * to a row below a state's tail_lo is none either. */
typedef struct mk_heads {
    _Atomic uint32_t node, out, in;
} mk_heads;

/* ---- state: what readers see ---- */

typedef struct mk_state {
    mk_retired retired;
    size_t size;
    uint32_t seq; /* newest batch */
    mk_tt tt;     /* its transaction time */
    uint32_t tail_lo, tail_hi;
    uint32_t entity_count, name_count, origin_count;
    mk_class_stats stats[MK_CLASS_COUNT];
    uint32_t degree_max_user, degree_max_all;
    uint32_t first[MK_LANE_COUNT + 1]; /* segments of a lane: [first[lane], first[lane + 1]) */
    mk_segment **segments;
    uint32_t chunk_base; /* number of the first chunk, whose first row is chunk_base * MK_TAIL_CHUNK */
    uint32_t chunk_count;
    mk_tail_chunk **chunks;
    void *room[]; /* the two arrays */
} mk_state;

/* ---- staging ---- */

typedef enum mk_undo_kind { MK_UNDO_INSERT, MK_UNDO_END_TAIL, MK_UNDO_END_SEGMENT } mk_undo_kind;

typedef struct mk_undo {
    mk_undo_kind kind;
    uint32_t row;
    mk_segment *segment;
} mk_undo;

/* A batch that is staged and not yet durable. */
typedef struct mk_pending {
    struct mk_pending *next;
    uint32_t seq;
    mk_tt tt, tt_before;
    uint32_t tail_before, tail_after;
    uint32_t entities_before, entities_after;
    uint32_t names_before, names_after;
    uint32_t origins_before, origins_after;
    int64_t disc_before;
    size_t undo_from;       /* its entries in the journal start here */
    mk_touch *touches;
    size_t touch_count, touch_cap;
    bool touches_all;
    mk_segment *bulk;       /* a large load that became a segment at once */
    mk_state *state;        /* memory for publishing it */
    sem_t wake; /* posted when it is done, or when its caller is to write the next frame */
    bool done;
    mk_code code;
    mk_err err;
} mk_pending;

typedef struct mk_segment_list {
    mk_segment **items;
    size_t count, cap;
} mk_segment_list;

/* Summary of one published commit in the ring. */
typedef struct mk_ring_entry {
    mk_tt tt;
    uint32_t touch_count;
    bool touches_all;
    mk_touch *touches;
} mk_ring_entry;

#define MK_RING_SIZE 65536u
#define MK_TOUCHES_MAX 1024u /* more in one commit are summed up as "everything" */

typedef struct mk_files mk_files; /* what is on disk: checkpoint.c */

struct mk_store {
    mk_store_options options;
    mk_recycler recycler; /* over options.alloc */
    const mk_alloc *alloc; /* of the recycler */
    const mk_fs *fs;
    char *dir;
    char id[33];
    bool writable;
    mk_file *lock;

    mk_epoch epoch;
    _Atomic(mk_state *) state;

    /* Dictionaries and tables that grow and never move. */
    mk_dict entities; /* tag: visibility class */
    mk_lowered_heap lowered; /* of entities */
    mk_dict names;
    mk_dict origins;  /* keys: u32 source code, u32 provenance code or MK_NONE */
    mk_geo batches;   /* int64 tt by seq; [0] is 0 */
    mk_geo heads;     /* mk_heads by entity */
    mk_geo believed;  /* u32 by entity: believed node versions; the writer's */
    mk_geo degree;    /* u32[2] by entity: edges of class user, of all; guarded by the mutex */
    mk_geo rel_count; /* _Atomic u64[MK_CLASS_COUNT] by name code */

    pthread_mutex_t mutex;
    pthread_cond_t changed; /* a commit finished, the barrier fell, the leader left */

    /* Everything below is guarded by the mutex. */
    bool refuses;             /* a sync failed or an invariant broke: no more writing */
    mk_err refusal;
    bool barrier;             /* nobody may stage: sealing, merging or checkpointing waits for it */
    bool leading;             /* a thread is writing a frame, or was told to */
    bool seal_due;            /* the tail is full: seal as soon as nothing is staged */
    bool merge_due;           /* segments were added */
    uint32_t staged_seq;
    mk_tt staged_tt;
    struct {
        uint32_t seq, tail_hi, entities, names, origins;
        mk_tt tt;
    } published; /* what the newest state shows */
    uint32_t tail_lo, tail_next;
    mk_tail_chunk **chunks; /* of rows [tail_lo, tail_next) */
    size_t chunk_count, chunk_cap;
    uint32_t chunk_base;
    int64_t next_disc;
    mk_segment_list lanes[MK_LANE_COUNT]; /* current and past segments alike */
    uint64_t next_segment_id;
    mk_class_stats stats[MK_CLASS_COUNT];
    uint32_t degree_max_user, degree_max_all;
    uint32_t *buckets; /* believed tail rows by identity hash: newest row or MK_NONE */
    size_t bucket_count;
    uint32_t bucket_used;
    mk_undo *undo;
    size_t undo_count, undo_cap;
    mk_arena scratch;         /* one batch */
    mk_geo first_seen;        /* scratch of bulk events: struct first_seen by entity */
    uint32_t first_stamp;

    /* Group commit. */
    mk_pending *pending_first, *pending_last; /* staged, in order */
    mk_buf group;                             /* their record lines */
    mk_buf writing;                           /* the lines being written now */
    uint32_t group_records;
    mk_tt group_first_tt, group_last_tt;
    mk_pending *group_last;
    uint64_t commit_groups, commit_batches; /* counters, for bench */
    mk_log_writer *log;
    mk_log_pos log_end;   /* after the newest published batch (writer) or folded frame (reader) */
    bool read_dry;        /* a reader met the end of the log with no writer alive */
    mk_log_pos log_last;  /* where the frame before it starts */

    mk_ring_entry *ring_commits;
    uint64_t ring_next; /* commits ever put in; the slot is modulo MK_RING_SIZE */
    mk_commit_fn *listener;
    void *listener_ctx;

    /* Checkpoints. */
    mk_files *files;
    bool closing;
    bool thread_started;
    pthread_t thread;
    bool upkeep_wanted;           /* a checkpoint is due */
    bool merge_wanted;            /* the thread is to look for merges */
    pthread_cond_t upkeep;
    pthread_mutex_t upkeep_mutex; /* one checkpoint or compaction at a time */
    uint64_t log_bytes_since;     /* log bytes since the last checkpoint */
    uint64_t log_bytes_given_up;  /* of those, before the last checkpoint that failed */
    uint32_t ends_since;          /* ends noted since the last checkpoint */
    uint32_t frame_lines_done; /* lines folded of a frame whose folding failed half-way, for the next try */
    bool loading;            /* opening: no other thread knows of the store yet */
    bool loading_checkpoint; /* opening: what fails now is the checkpoint, not the log */
    bool believed_ready; /* `believed` was counted from the segments */
};

/* Replayed lines are written in frames of about this size. */
#define MK_REPLAY_FRAME ((size_t)1 << 20)

#define MK_DEFAULT_TAIL_ROWS 16384u
#define MK_DEFAULT_TAIL_LOG_BYTES (UINT64_C(4) << 20)
#define MK_BULK_ROWS 4096u
#define MK_LANE_SEGMENTS_MAX 256u /* writers wait for the merging thread above this */

void mk_store__log(mk_store *store, mk_log_level level, const char *fmt, ...) MK_PRINTF(3, 4);

/* ---- tail.c ---- */

static inline mk_tail_row *mk_tail_at(const mk_store *store, uint32_t row)
{
    return &store->chunks[row / MK_TAIL_CHUNK - store->chunk_base]->rows[row % MK_TAIL_CHUNK];
}
static inline mk_tail_row *mk_state_row(const mk_state *state, uint32_t row)
{
    return &state->chunks[row / MK_TAIL_CHUNK - state->chunk_base]->rows[row % MK_TAIL_CHUNK];
}
static inline mk_heads *mk_heads_at(const mk_store *store, uint32_t entity)
{
    return mk_geo_at(&store->heads, entity, sizeof(mk_heads));
}
static inline uint32_t *mk_believed_at(const mk_store *store, uint32_t entity)
{
    return mk_geo_at(&store->believed, entity, sizeof(uint32_t));
}
static inline int64_t mk_batch_tt(const mk_store *store, uint32_t seq)
{
    return *(const int64_t *)mk_geo_at(&store->batches, seq, sizeof(int64_t));
}
/* Puts a row at tail_next (journalled), links it for readers and for lookups by identity. */
MK_CHECK mk_code mk_tail__insert(mk_store *store, const mk_tail_row *row, mk_err *err);
/* Takes a believed row out of the identity buckets; seq_e is the caller's. */
void mk_tail__unbelieve(mk_store *store, uint32_t row);
void mk_tail__believe(mk_store *store, uint32_t row);
mk_ident mk_tail__ident(const mk_tail_row *row);
/* Drops the rows below `lo` after they were sealed. */
void mk_tail__drop(mk_store *store, uint32_t lo);
void mk_tail__free(mk_store *store);

/* ---- names.c ---- */

MK_CHECK mk_code mk_names__entity(mk_store *store, mk_str uid, uint32_t *id, mk_err *err);
/* The same for a uid known to be new. */
MK_CHECK mk_code mk_names__entity_new(mk_store *store, mk_str uid, uint32_t *id, mk_err *err);
MK_CHECK mk_code mk_names__name(mk_store *store, mk_str text, uint32_t *code, mk_err *err);
MK_CHECK mk_code mk_names__origin(mk_store *store, mk_str source, mk_str ref, bool ref_null,
                                  uint32_t *code, mk_err *err);
MK_CHECK mk_code mk_names__disc(mk_store *store, mk_str disc, bool null, int64_t *code, mk_err *err);
/* n of "#n" when it is written canonically and fits; -1 otherwise. */
int64_t mk_names__numbered(mk_str disc);
#define MK_DISC_TEXT_MAX 24
/* Text of a discriminator code; `digits` (MK_DISC_TEXT_MAX) holds "#n". */
mk_str mk_names__disc_text(const mk_store *store, int64_t disc, char *digits, bool *null);
void mk_names__origin_text(const mk_store *store, uint32_t origin, mk_str *source, mk_str *ref,
                           bool *ref_null);
unsigned mk_names__edge_class(const mk_store *store, uint32_t src, uint32_t dst);
static inline unsigned mk_names__class(const mk_store *store, uint32_t id)
{
    return mk_dict_entry_at(&store->entities, id)->tag;
}

/* ---- ids.c ---- */

/* 24 lower-case hex characters each. `scratch` is reused between calls. */
MK_CHECK mk_code mk_ids__eid(const mk_store *store, mk_buf *scratch, uint32_t src, uint32_t dst,
                             uint32_t rel, int64_t disc, char eid[24], mk_err *err);
void mk_ids__vid(mk_str identity, int64_t tt_s, int64_t vt_s, char vid[24]);
/* mk_tie_fn for segments: order by vid. ctx is the store. */
mk_code mk_ids__tie(void *ctx, const mk_rows *rows, uint32_t *group, uint32_t count, mk_err *err);

/* ---- apply.c ---- */

/* Stages a batch as number staged_seq + 1 at `tt`. On failure everything is taken back and the error
 * says why; `strict` is for new writes (oddity 2). Semantic failures are MK_E_NOT_FOUND and
 * MK_E_INVALID_ARG, the only ones replay skips. */
MK_CHECK mk_code mk_apply__batch(mk_store *store, const mk_op *ops, size_t count, mk_tt tt,
                                 bool strict, mk_pending *pending, mk_err *err);
/* Takes staged batches back, newest first, down to and including `pending`. */
void mk_apply__undo(mk_store *store, mk_pending *pending);
bool mk_apply__is_semantic(mk_code code);
bool mk_apply__ident(const mk_store *store, const mk_op *op, bool node, mk_ident *ident);

/* ---- publish.c: making staged batches visible; sealing ---- */

/* Publishes all staged batches up to and including `last`. Cannot fail. */
void mk_publish__upto(mk_store *store, mk_pending *last);
/* A fresh state from what the writer holds, for the given counts. NULL when out of memory. */
MK_CHECK mk_code mk_publish__state(mk_store *store, mk_err *err);
/* Memory for a state with `more_segments` beyond what the lanes hold now, and filling it, which also
 * makes it the newest. */
MK_CHECK mk_code mk_publish__reserve(mk_store *store, size_t more_segments, mk_state **out,
                                     mk_err *err);
void mk_publish__fill(mk_store *store, mk_state *state);
/* Turns all tail rows into segments. Nothing may be staged. */
MK_CHECK mk_code mk_seal__tail(mk_store *store, mk_err *err);
/* Counts one stored version into the statistics. */
void mk_publish__count(mk_store *store, bool node, unsigned class, uint32_t src, uint32_t rel,
                       int64_t vt_s, int64_t vt_e);

/* ---- compact.c ---- */

/* Merges until the shape is right; called with the mutex held and nothing staged. */
MK_CHECK mk_code mk_compact__lanes(mk_store *store, bool all, mk_err *err);
/* One merge in the background: the mutex is taken only to plan and to install it. The caller holds
 * upkeep_mutex, so that there is one at a time. *worked: there was something to merge. */
MK_CHECK mk_code mk_compact__step(mk_store *store, bool *worked, mk_err *err);

/* ---- checkpoint.c ---- */

/* Loads the newest checkpoint into an empty store; *found false when there is none that can be used,
 * and the log must be folded from its start. */
MK_CHECK mk_code mk_files__load(mk_store *store, bool *found, mk_err *err);
/* Seals the tail and writes what is not on disk yet; no merging. */
MK_CHECK mk_code mk_files__checkpoint(mk_store *store, mk_err *err);
MK_CHECK mk_code mk_files__init(mk_store *store, mk_err *err);
void mk_files__free(mk_store *store);
/* Sets the counters for names above everything in DIR/data. */
void mk_files__avoid(mk_store *store);

/* ---- commit.c ---- */

/* Waits until nothing is staged and nobody may stage; false (with err) when the store refuses. The
 * mutex is held. Ends with mk_commit__lower. */
MK_CHECK mk_code mk_commit__raise(mk_store *store, mk_err *err);
void mk_commit__lower(mk_store *store);
void mk_commit__refuse(mk_store *store, const mk_err *err);
/* Stages and publishes one record of a log, writing nothing. The mutex is held. */
MK_CHECK mk_code mk_commit__fold(mk_store *store, mk_str line, bool check_id, bool *applied,
                                 mk_err *why, mk_err *err);
/* Writes the lines that replay has folded and not yet logged. The mutex is held. */
MK_CHECK mk_code mk_commit__flush(mk_store *store, mk_err *err);
/* Every record line of a frame. */
MK_CHECK mk_code mk_commit__fold_frame(mk_store *store, const mk_frame *frame, mk_err *err);
/* Seals and merges when it is due and nothing is staged. */
MK_CHECK mk_code mk_commit__tidy(mk_store *store, mk_err *err);

MK_CHECK mk_code mk_list__add(const mk_alloc *alloc, mk_segment_list *list, mk_segment *segment,
                              mk_err *err);

/* Counts believed node versions by entity, which ingestion asks for; once, when first needed. */
MK_CHECK mk_code mk_apply__prepare(mk_store *store, mk_err *err);

struct mk_view {
    mk_store *store;
    const mk_state *state;
    unsigned slot;
    unsigned mask;
    uint32_t seq; /* newest batch it sees */
    bool current;
    mk_buf scratch;
};

#endif

/* segment.h — immutable sorted runs of versions. Layer: store, internal.
 *
 * A segment holds rows of one lane in scan order (vt_s, then vid, equal keys in log order) as narrow
 * columns, with lists of rows by node, by source and by target. Only one thing about it ever changes:
 * `ends`, where the writer notes which rows are no longer believed; a reader compares that with its
 * own batch number and so needs no lock. Past segments hold rows whose end is final, as a column.
 * Batches are numbered 1, 2, ... in the order they were applied; rows carry these 32-bit numbers and
 * not transaction times, and the batch table turns one into the other. Source: STORAGE.md, "Data". */
#ifndef MK_STORE_SEGMENT_H
#define MK_STORE_SEGMENT_H

#include <stdatomic.h>

#include "base/fs.h"
#include "store/column.h"
#include "store/epoch.h"

#define MK_SEQ_OPEN UINT32_MAX /* still believed */
#define MK_NONE UINT32_MAX

/* Where a version lives. Instant edges last one microsecond more or less (their duration is constant
 * in a segment), so they never cross far into the next block of time; reserved rows are apart, so
 * that users never scan them. */
typedef enum mk_lane {
    MK_LANE_NODE,
    MK_LANE_INSTANT,
    MK_LANE_INTERVAL,
    MK_LANE_RESERVED_NODE,
    MK_LANE_RESERVED_EDGE,
    MK_LANE_COUNT
} mk_lane;

static inline bool mk_lane_is_node(mk_lane lane)
{
    return lane == MK_LANE_NODE || lane == MK_LANE_RESERVED_NODE;
}

typedef enum mk_col_id {
    MK_C_VT_S,
    MK_C_VT_E,   /* vt_e, or vt_e - vt_s when `end_is_duration` */
    MK_C_A,      /* uid or src */
    MK_C_B,      /* dst; MK_NONE for nodes */
    MK_C_REL,    /* name code of the relation type or label */
    MK_C_DISC,   /* see mk_disc_* */
    MK_C_ORIGIN, /* code of (source, provenance_ref) */
    MK_C_PROPS,  /* index into the segment's props texts */
    MK_C_SEQ_S,
    MK_C_SEQ_E, /* past segments; MK_SEQ_OPEN throughout in others */
    MK_C_ROW_COLUMNS,
    /* Lists: keys in ascending order (every integer of the range when `step` is 1), where the rows of a
     * key start, and the rows, ascending within a key. */
    MK_C_A_KEYS = MK_C_ROW_COLUMNS,
    MK_C_A_STARTS,
    MK_C_A_ROWS,
    MK_C_B_KEYS,
    MK_C_B_STARTS,
    MK_C_B_ROWS,
    MK_C_PROPS_ENDS, /* where each props text ends in the heap */
    MK_C_COUNT
} mk_col_id;

/* Discriminators as integers: "#n" is 2n, another text is 2 * name code + 1, null is -1. */
#define MK_DISC_NULL_CODE INT64_C(-1)

/* Rows on their way into a segment. Arrays of `count`, all in log order. */
typedef struct mk_rows {
    uint32_t count;
    int64_t *col[MK_C_ROW_COLUMNS];
    const mk_str *texts; /* props by the index in MK_C_PROPS */
    uint32_t text_count;
} mk_rows;

typedef struct mk_zone {
    int64_t vt_s_min, vt_s_max, vt_e_max; /* vt_s_min > vt_s_max when empty */
    uint32_t seq_s_min, seq_s_max, seq_e_max;
} mk_zone;

#define MK_SPAN_ROWS 1024u /* rows of a span: what is known of many rows at once */
#define MK_SPANS(rows) (((uint32_t)(rows) + MK_SPAN_ROWS - 1) / MK_SPAN_ROWS)

typedef struct mk_ends {
    mk_retired retired;
    size_t size;
    _Atomic uint32_t seq[]; /* by row, MK_SEQ_OPEN when believed; then one mask a span */
} mk_ends;

/* A span's mask has a bit for each 32 of its rows: whether one of them has, or had, an end. */
#define MK_SPAN_GROUP 32u

/* Smallest and largest vt_e of each span. Starts are sorted and durations mostly alike, so this finds the
 * rows that hold at an instant, or end in a window, without an order by ends. Made when first asked for. */
typedef struct mk_span_ends {
    size_t size;
    struct {
        int64_t min, max;
    } of[];
} mk_span_ends;

typedef struct mk_loaded_col {
    mk_col col;
} mk_loaded_col;

/* What codes in a file must stay below, so that no file can lead outside a dictionary; batch numbers
 * may reach `seq`. All 0 when nothing was said. */
typedef struct mk_code_limits {
    uint32_t entities, names, origins, seq;
} mk_code_limits;

typedef struct mk_segment {
    mk_retired retired;
    const mk_alloc *alloc;
    uint64_t id; /* never reused; names the file */
    mk_lane lane;
    bool past;
    bool end_is_duration;
    uint32_t rows;
    mk_zone zone;
    /* Loaded when first asked for, by whoever asks; the loser of a race frees its copy. */
    _Atomic(mk_loaded_col *) cols[MK_C_COUNT];
    _Atomic(char *) heap; /* props texts, one behind the other */
    uint64_t heap_size;
    _Atomic(mk_ends *) ends; /* NULL: no row has ended */
    _Atomic(mk_span_ends *) span_ends; /* NULL: not asked for yet */

    /* The writer's, under its mutex: */
    uint32_t ended;      /* rows with an end */
    uint32_t *ident;     /* identity table: row + 1 under a tag; NULL until first needed */
    size_t ident_slots;
    uint32_t lookups;     /* made without a table so far */
    bool merging;         /* a merge is reading it: ends are also listed in `late_ends` */
    bool merge_spoiled;   /* an end was taken back meanwhile: the merge is given up */
    uint32_t *late_ends;  /* rows */
    size_t late_count, late_cap;

    /* On disk: */
    const mk_fs *fs;
    char *path;            /* NULL: not written yet */
    mk_file *file;         /* of an opened segment; stays readable after the writer removed its name */
    uint64_t offset[MK_C_COUNT + 1], size[MK_C_COUNT + 1], sum[MK_C_COUNT + 1]; /* last: heap */
    uint64_t file_size;
    uint32_t ends_saved;   /* `ended` as of the ends file named by the manifest */
    uint64_t ends_version; /* number in that file's name; 0: none */
    mk_code_limits limits;
} mk_segment;

/* Order of rows with equal vt_s; fills order[] of the group by vid. Given by the store, which knows the
 * names that ids are made of. Only edges still believed are ordered so: ids cost hashes, nodes are never
 * listed in scan order, and past rows are ordered when somebody asks (mk_lane_is_ordered). */
typedef mk_code mk_tie_fn(void *ctx, const mk_rows *rows, uint32_t *group, uint32_t count,
                          mk_err *err);

/* Builds a segment from rows in any order (they are sorted here). `presorted` says they are in scan
 * order already, as after a merge. */
MK_CHECK mk_code mk_segment_build(const mk_alloc *alloc, mk_lane lane, bool past, uint64_t id,
                                  const mk_rows *rows, bool presorted, mk_tie_fn *tie, void *ctx,
                                  mk_segment **out, mk_err *err);
/* Whether rows of equal vt_s stand in the order of their vids. */
static inline bool mk_lane_is_ordered(mk_lane lane, bool past) { return !past && !mk_lane_is_node(lane); }
void mk_segment_free(mk_segment *segment);
size_t mk_segment_memory(const mk_segment *segment);

/* The column, loaded when it is not yet. The pointer lives as long as the segment. */
MK_CHECK mk_code mk_segment_load(mk_segment *segment, mk_col_id id, const mk_col **out, mk_err *err);
static inline mk_code mk_segment_col(mk_segment *segment, mk_col_id id, const mk_col **out,
                                     mk_err *err)
{
    mk_loaded_col *loaded = atomic_load_explicit(&segment->cols[id], memory_order_acquire);
    if (__builtin_expect(loaded != NULL, 1)) {
        *out = &loaded->col;
        return MK_OK;
    }
    return mk_segment_load(segment, id, out, err);
}
MK_CHECK mk_code mk_segment_props(mk_segment *segment, uint32_t row, mk_str *out, mk_err *err);

/* The spans' ends, made when they are not there yet. They live as long as the segment. */
MK_CHECK mk_code mk_segment_span_ends(mk_segment *segment, const mk_span_ends **out, mk_err *err);

/* Rows of `key` (by A when side is 0, by B when 1): positions [*from, *to) in the list column. */
MK_CHECK mk_code mk_segment_group(mk_segment *segment, int side, uint32_t key, const mk_col **list,
                                  uint32_t *from, uint32_t *to, mk_err *err);

static inline int64_t mk_end_of(const mk_segment *segment, int64_t vt_s, int64_t stored)
{
    return segment->end_is_duration ? (int64_t)((uint64_t)vt_s + (uint64_t)stored) : stored;
}

/* ---- ends; writer only, under its mutex ---- */

MK_CHECK mk_code mk_segment_end(mk_segment *segment, uint32_t row, uint32_t seq, mk_err *err);
void mk_segment_unend(mk_segment *segment, uint32_t row);
static inline uint32_t mk_segment_end_seq(mk_segment *segment, uint32_t row)
{
    mk_ends *ends = atomic_load_explicit(&segment->ends, memory_order_acquire);
    return ends ? atomic_load_explicit(&ends->seq[row], memory_order_relaxed) : MK_SEQ_OPEN;
}

/* The mask of a span; 0: all its rows are believed. */
static inline uint32_t mk_ends_in_span(mk_ends *ends, uint32_t rows, uint32_t span)
{
    return atomic_load_explicit(&ends->seq[rows + span], memory_order_relaxed);
}

/* ---- identities; writer only ---- */

typedef struct mk_ident {
    bool node;
    uint32_t a, b, rel; /* node: a only */
    int64_t disc;
} mk_ident;
uint64_t mk_ident_hash(const mk_ident *ident);
/* Calls `each` for every believed row of the identity. */
MK_CHECK mk_code mk_segment_find(mk_segment *segment, const mk_ident *ident,
                                 mk_code (*each)(void *ctx, mk_segment *segment, uint32_t row,
                                                 mk_err *err),
                                 void *ctx, mk_err *err);

/* ---- files (segment_file.c) ---- */

/* Writes DIR/data/NAME and syncs it; the directory is the caller's. Sets path, offsets and sizes. */
MK_CHECK mk_code mk_segment_write(mk_segment *segment, const mk_fs *fs, const char *path,
                                  mk_err *err);
/* Opens a written segment: reads its head, loads columns on demand. Errors: MK_E_STATE "damaged". */
MK_CHECK mk_code mk_segment_open(const mk_alloc *alloc, const mk_fs *fs, const char *path,
                                 mk_segment **out, mk_err *err);
/* Rows that have ended by `seq_max` as (row, seq) pairs, written to and read from a small file. */
MK_CHECK mk_code mk_segment_write_ends(mk_segment *segment, const mk_fs *fs, const char *path,
                                       const uint32_t *pairs, uint32_t count, mk_err *err);
MK_CHECK mk_code mk_segment_read_ends(mk_segment *segment, const mk_fs *fs, const char *path,
                                      mk_err *err);

#endif

/* aggregate_internal.h — what the files of aggregate_events share. Layer: op, internal.
 *
 * The events of a call are read in one or more parts, each a stretch of valid time, and each with its own
 * groups: a table from the codes of the dimensions to a number, and for each aggregate an array by that
 * number. Parts are put together in the order of time. Nothing in a part is shared with another, so
 * parts may be filled by different threads, and what is kept of a group (counts, exact sums, sets, extremes)
 * is the same however the events were cut into parts. Source: Graefe 1993, "Query evaluation techniques
 * for large databases", 4.4 (two-phase aggregation). */
#ifndef MK_OP_AGGREGATE_INTERNAL_H
#define MK_OP_AGGREGATE_INTERNAL_H

#include "op/aggregate_events.h"
#include "op/aggregate_mean.h"

/* ---- codes to numbers ---- */

typedef struct mk_agg_slot {
    uint64_t key;
    uint32_t number; /* MK_NO_ID: free */
} mk_agg_slot;

/* Open addressing; the caller hands out the numbers. */
typedef struct mk_agg_map {
    mk_arena *arena;
    uint64_t seed;
    mk_agg_slot *slots;
    size_t slot_count; /* power of two, at most three quarters full; 0 before the first put */
    size_t used;
} mk_agg_map;

/* The slot of `key`, made when missing (its number is then MK_NO_ID, and must be set). */
MK_CHECK mk_code mk_agg__map_at(mk_agg_map *map, uint64_t key, mk_agg_slot **slot, mk_err *err);

/* ---- properties ---- */

typedef enum mk_agg_verdict { MK_VERDICT_SKIP, MK_VERDICT_FALSE, MK_VERDICT_TRUE } mk_agg_verdict;

/* What one text of props says. */
typedef struct mk_agg_props {
    mk_str text; /* p NULL: nothing is known yet */
    mk_agg_verdict verdict;
    mk_agg_value value[MK_AGG_FNS_MAX]; /* for aggregates of PROP; NULL: no number there; digits live as
                                           long as the view */
} mk_agg_props;

#define MK_AGG_PROPS_SLOTS 512u /* texts remembered; power of two, small enough for the second-level cache */

/* Equal texts are stored once in a segment, so most reads find the text's address in the table. */
typedef struct mk_agg_reader {
    mk_view *view;
    const mk_agg_args *args;
    const char *filter_name;                /* canonical text between the quotes; NULL: no filter */
    const char *fn_name[MK_AGG_FNS_MAX];    /* NULL: the aggregate reads no property */
    mk_agg_props *slots;
} mk_agg_reader;

/* Whether any property is read. */
bool mk_agg__reads_props(const mk_agg_args *args);
MK_CHECK mk_code mk_agg__reader_open(mk_agg_reader *reader, mk_view *view, mk_arena *arena,
                                     const mk_agg_args *args, mk_err *err);
/* What the props of a row say; good until the next call. */
MK_CHECK mk_code mk_agg__read(mk_agg_reader *reader, mk_arena *arena, const mk_edge_ref *ref,
                              const mk_agg_props **props, mk_err *err);
/* -1, 0, 1, or 2 when one of them is NaN. Exact, whatever the kinds (operators spec, 4.1). */
int mk_agg__compare(const mk_agg_value *a, const mk_agg_value *b);

/* ---- what is kept of a group ---- */

/* A set of dense ids: a hash table that becomes a bitmap where that is smaller, or there is memory for it. */
typedef struct mk_agg_set {
    uint64_t *bits; /* NULL: `slots` */
    uint32_t *slots;
    uint32_t cap, count; /* of the table; a bitmap is counted when it is asked */
} mk_agg_set;

typedef struct mk_agg_extreme {
    int64_t best;
    uint64_t n;
} mk_agg_extreme;

typedef struct mk_agg_sum {
    __int128 sum;
    uint64_t n;
} mk_agg_sum;

/* Event times met in ascending order. */
typedef struct mk_agg_gap {
    int64_t first, last, most;
    bool any;
} mk_agg_gap;

/* Runs of event times: the first and the last run stand apart, because the neighbouring part may
 * lengthen them. `most` is the longest of all. */
typedef struct mk_agg_session {
    int64_t first, first_end, last_start, last, most;
    bool any, broken; /* broken: first and last run are not the same */
} mk_agg_session;

/* The event times of the last `width`, in a ring. */
typedef struct mk_agg_ring {
    int64_t *times;
    uint32_t cap, head, count, most;
} mk_agg_ring;

/* The first of the best property values in scan order. A NaN that comes first wins, and after it nothing does:
 * `first` and `first_nan` say what came first (operators spec, 4.2, "replace only when strictly smaller"). */
typedef struct mk_agg_best {
    uint64_t n;
    mk_agg_value value; /* NULL while all that came was NaN */
    mk_edge_ref at, first;
    bool first_nan;
} mk_agg_best;

/* The array of one aggregate, by group. Which member is used follows from the aggregate. */
typedef union mk_agg_state {
    void *any;
    mk_agg_set *sets;
    mk_agg_extreme *extremes;
    mk_agg_sum *sums;
    mk_agg_gap *gaps;
    mk_agg_session *sessions;
    mk_agg_ring *rings;
    mk_agg_best *bests;
    mk_mean *means;
} mk_agg_state;

/* ---- parts ---- */

/* A stretch of vt_s with one code: a division is paid only where it ends. */
typedef struct mk_agg_stretch {
    int64_t from, to;
    uint32_t code;
} mk_agg_stretch;

/* A believed version of an endpoint; those of one stand in scan order. */
typedef struct mk_agg_label {
    int64_t vt_s, vt_e;
    int64_t reach; /* the latest end of all versions up to this one */
    uint32_t label;
} mk_agg_label;

/* What the threads of a call have in common. */
typedef struct mk_agg_job {
    mk_view *view;
    const mk_agg_args *args;
    uint32_t entity_count;
    /* Ask for the place in scan order of every two equal property values that start together, which costs
     * hashes: only after a part found that it matters (`unsure`). */
    bool careful;
} mk_agg_job;

typedef struct mk_agg_part {
    mk_agg_job *job;
    mk_arena *arena;
    int64_t vt_lo, vt_hi;
    mk_guard guard; /* its own: a guard counts, and belongs to one thread */
    bool unsure;    /* what came first was not asked, and shows in the result */
    uint64_t skipped;
    mk_agg_reader reader;

    /* Groups. */
    size_t count, cap;
    uint64_t *keys;    /* codes of the dimensions: (first << 32) | second */
    uint64_t *counts;
    uint8_t *ways;     /* RECIPROCAL: bit 0 when an event went up in dense id, bit 1 when down */
    mk_agg_state states[MK_AGG_FNS_MAX];
    size_t cap_max;    /* of groups; 0: none */
    size_t large_bitmaps; /* bytes of bitmaps that tables would have been smaller than */

    /* Codes to groups: codes below both `dense` sizes by a plain array of group + 1, from its second entry on,
     * others by the map. */
    uint32_t dense[MK_AGG_DIMS_MAX];
    uint32_t *table;
    mk_agg_map map;
    mk_agg_stretch stretch[MK_AGG_DIMS_MAX];

    /* Labels of the endpoints met so far: by dense id, in pages made when first needed, a place in label_from
     * + 1, which says where the versions of the entity start among the labels. */
    uint32_t **label_pages;
    uint32_t *label_from; /* one more than entities */
    size_t label_entities, label_from_cap;
    mk_agg_label *labels;
    size_t label_count, label_cap;
} mk_agg_part;

/* Ready to take events of [vt_lo, vt_hi). */
MK_CHECK mk_code mk_agg__part_open(mk_agg_part *part, mk_agg_job *job, mk_arena *arena,
                                   const mk_guard *guard, int64_t vt_lo, int64_t vt_hi, mk_err *err);
/* group[i] becomes the group of row i; new ones are made. (aggregate_keys.c) */
MK_CHECK mk_code mk_agg__groups(mk_agg_part *part, const mk_edge_block *rows, uint32_t *group,
                                mk_err *err);
/* The group with these codes, made when missing. */
MK_CHECK mk_code mk_agg__group_of(mk_agg_part *part, uint64_t key, uint32_t *group, mk_err *err);

/* MK_E_LIMIT for more than MK_AGG_GROUPS_MAX groups. (aggregate_states.c) */
mk_code mk_agg__too_many(mk_err *err);
/* One more group, whose states are empty. */
MK_CHECK mk_code mk_agg__states_add(mk_agg_part *part, mk_err *err);
/* Counts the rows into their groups. */
MK_CHECK mk_code mk_agg__states_take(mk_agg_part *part, const mk_edge_block *rows,
                                     const uint32_t *group, mk_err *err);
/* Puts a later part's group on top of one of this part; `from` is used up. */
MK_CHECK mk_code mk_agg__states_merge(mk_agg_part *into, uint32_t group, mk_agg_part *from,
                                      uint32_t from_group, mk_err *err);
/* The value of an aggregate; big integers get their digits from the arena. */
MK_CHECK mk_code mk_agg__state_value(const mk_agg_part *part, size_t fn, uint32_t group,
                                     mk_agg_value *out, mk_err *err);
/* Events of the group that gave the aggregate a value. */
uint64_t mk_agg__state_reads(const mk_agg_part *part, size_t fn, uint32_t group);
/* Whether the aggregate needs events in the order of time. */
bool mk_agg__needs_time(const mk_agg_fn *fn);
/* Whether its states of two parts can be put together. */
bool mk_agg__merges(const mk_agg_fn *fn);

/* The groups listed[0..count) in the order of the spec, as far as `need`. (aggregate_order.c) */
MK_CHECK mk_code mk_agg__order(const mk_agg_part *part, mk_arena *arena, uint32_t *listed, size_t count,
                               size_t need, mk_err *err);

#endif

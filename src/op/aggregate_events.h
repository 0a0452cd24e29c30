/* aggregate_events.h — the kernel of aggregate_events. Layer: op.
 *
 * Events of a window, filtered, put into groups by up to two dimensions, and up to four numbers about
 * each group. Source: operators spec, 7.13; oddities O-2 to O-4, O-22. */
#ifndef MK_OP_AGGREGATE_EVENTS_H
#define MK_OP_AGGREGATE_EVENTS_H

#include "base/pool.h"
#include "op/registry.h"

#define MK_AGG_DIMS_MAX 2
#define MK_AGG_FNS_MAX 4
#define MK_AGG_BUCKETS_MAX 2000  /* operators spec, 7.13.2 */
#define MK_AGG_GROUPS_MAX 100000 /* 7.13.4 */

typedef enum mk_agg_dim_kind {
    MK_DIM_TIME_BUCKET,
    MK_DIM_HOUR_OF_DAY, /* these three are cyclic */
    MK_DIM_DAY_OF_WEEK,
    MK_DIM_MONTH_OF_YEAR,
    MK_DIM_PERIOD, /* of the calendar, one after the other */
    MK_DIM_REL_TYPE,
    MK_DIM_SRC,
    MK_DIM_DST,
    MK_DIM_SRC_LABEL,
    MK_DIM_DST_LABEL
} mk_agg_dim_kind;

typedef struct mk_agg_dim {
    mk_agg_dim_kind kind;
    int64_t offset_us; /* the calendar ones: local time minus UTC */
    unsigned days, months; /* MK_DIM_PERIOD: its length, one of them 0 */
} mk_agg_dim;

typedef enum mk_agg_fn_kind {
    MK_AGG_COUNT,
    MK_AGG_DISTINCT, /* of SRC or DST */
    MK_AGG_MIN,      /* these three of VT_S, DURATION or PROP */
    MK_AGG_MAX,
    MK_AGG_MEAN,
    MK_AGG_MAX_GAP,
    MK_AGG_MAX_IN_WINDOW,
    MK_AGG_MAX_SESSION_SPAN
} mk_agg_fn_kind;

typedef enum mk_agg_of { MK_OF_NONE, MK_OF_SRC, MK_OF_DST, MK_OF_VT_S, MK_OF_DURATION, MK_OF_PROP } mk_agg_of;

typedef struct mk_agg_fn {
    mk_agg_fn_kind kind;
    mk_agg_of of;
    mk_str prop;   /* of == MK_OF_PROP */
    int64_t width; /* `span` of MAX_IN_WINDOW, `gap` of MAX_SESSION_SPAN; microseconds, 1 or more */
} mk_agg_fn;

typedef enum mk_agg_cmp { MK_CMP_EQ, MK_CMP_NE, MK_CMP_LT, MK_CMP_LE, MK_CMP_GT, MK_CMP_GE } mk_agg_cmp;

typedef enum mk_pair_mode { MK_PAIR_NONE, MK_PAIR_UNDIRECTED, MK_PAIR_RECIPROCAL } mk_pair_mode;

typedef struct mk_agg_args {
    int64_t t_a, t_b;
    int64_t stride;        /* of MK_DIM_TIME_BUCKET; 0 without one */
    mk_edge_filter filter; /* relation types; window and match are the kernel's to set */
    mk_agg_dim dims[MK_AGG_DIMS_MAX];
    size_t dim_count;
    mk_agg_fn fns[MK_AGG_FNS_MAX];
    size_t fn_count;
    /* Endpoint filter: a bit for each dense id below mk_view_entity_count; NULL: none. */
    const uint64_t *cohort;
    unsigned cohort_sides; /* MK_SIDE_OUT: src must be in it, MK_SIDE_IN: dst; both: either */
    /* Property filter: `value` NULL: none. */
    mk_str prop;
    mk_agg_cmp cmp;
    const mk_json *value;
    mk_pair_mode pair_mode; /* not NONE only with the dimensions SRC, DST */
    /* Events from which on the work is shared out to the threads of `pool` (NULL: never). The result does
     * not depend on it. */
    mk_pool *pool;
    uint64_t share_from;
    mk_page page;
} mk_agg_args;

typedef enum mk_agg_value_kind {
    MK_AGG_NULL,
    MK_AGG_INT,
    MK_AGG_BIG, /* beyond int64 */
    MK_AGG_FLOAT
} mk_agg_value_kind;

typedef struct mk_agg_value {
    mk_agg_value_kind kind;
    union {
        int64_t i;
        double d;
        mk_str digits; /* decimal, with '-' when negative */
    };
} mk_agg_value;

/* The number of the period that holds t, and where one begins, in UTC. Numbers follow one another. (aggregate_keys.c) */
int64_t mk_agg_period(const mk_agg_dim *dim, int64_t t);
int64_t mk_agg_period_start(const mk_agg_dim *dim, int64_t number);

/* A code is the number of a bucket or of a period from the one of t_a on, 0 to 23 for an hour, 0 (Monday) to 6, 0 (January) to 11, a name code, or
 * a dense id. MK_NO_ID: a label where no node version is valid. */
typedef struct mk_agg_row {
    uint32_t code[MK_AGG_DIMS_MAX];
    mk_agg_value value[MK_AGG_FNS_MAX];
} mk_agg_row;

typedef struct mk_agg_result {
    mk_agg_row *rows; /* those of the page, [span.start, span.end) of the list; in the arena given */
    mk_span span;
    uint64_t skipped;                 /* events for which the property filter's comparison is not defined */
    uint64_t unread[MK_AGG_FNS_MAX];  /* events of the population that gave the aggregate no value */
    uint64_t events;                  /* of the population */
} mk_agg_result;

/* Errors: MK_E_LIMIT (groups, row budget, deadline), MK_E_INVALID_ARG (cursor), MK_E_CANCELLED,
 * MK_E_NOMEM, and what reading the store gives. Cost: one pass over the events. */
MK_CHECK mk_code mk_aggregate(mk_view *view, mk_arena *arena, const mk_agg_args *args, mk_guard *guard,
                              mk_agg_result *out, mk_err *err);

#endif

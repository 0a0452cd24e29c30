/* view_internal.h — what the files that read a view share. Layer: store, internal. */
#ifndef MK_STORE_VIEW_INTERNAL_H
#define MK_STORE_VIEW_INTERNAL_H

#include "store/internal.h"

/* One segment as a view reads it. */
typedef struct mk_scan {
    mk_segment *segment;
    uint32_t part;
    uint32_t seq;
    const mk_col *vt_s, *vt_e, *a, *b, *rel;
    const mk_col *seq_s; /* NULL: every row began early enough */
    const mk_col *seq_e; /* past segments */
    mk_ends *ends;
} mk_scan;

/* False when nothing in the segment can be visible in [vt_lo, vt_hi). */
bool mk_scan__worth(const mk_view *view, const mk_segment *segment, int64_t vt_lo, int64_t vt_hi);
/* Loads the columns that every reader needs. `part` is the segment's place in the state. */
MK_CHECK mk_code mk_scan__open(const mk_view *view, uint32_t part, mk_scan *s, mk_err *err);
/* Whether the mask can show anything of a lane. */
bool mk_scan__lane_shown(const mk_view *view, mk_lane lane);
/* mk_scan__worth for what an edge filter asks. */
bool mk_scan__worth_edges(const mk_view *view, const mk_segment *segment, const mk_edge_filter *filter);
/* Starts outside [lo, hi) cannot pass the filter. */
typedef struct mk_start_range {
    int64_t lo, hi; /* INT64_MIN, INT64_MAX: no bound */
} mk_start_range;
mk_start_range mk_scan__starts(const mk_scan *s, const mk_edge_filter *filter);
/* Whether looking at the ends of spans can rule rows out that starts cannot: where durations differ. */
bool mk_scan__spans_help(const mk_scan *s, const mk_edge_filter *filter);
/* First position in [from, to) of a list whose row is not below `row`. */
uint32_t mk_scan__list_lower(const mk_col *rows, uint32_t from, uint32_t to, uint32_t row);
bool mk_scan__passes(const mk_edge_filter *filter, const mk_edge_ref *ref);
#define MK_EDGE_LANES 3
extern const mk_lane mk_scan__edge_lanes[MK_EDGE_LANES];
static inline bool mk_scan__class_shown(const mk_view *view, uint32_t src, uint32_t dst)
{
    return view->mask >> mk_names__edge_class(view->store, src, dst) & 1;
}

static inline bool mk_scan__visible(const mk_scan *s, uint32_t row)
{
    if (s->seq_e != NULL && mk_col_u32(s->seq_e, row) <= s->seq)
        return false;
    if (s->seq_s != NULL && mk_col_u32(s->seq_s, row) > s->seq)
        return false;
    if (s->ends == NULL)
        return true;
    /* Few rows ever end. The masks of all spans stay in the cache, the rows' own numbers do not. */
    const uint32_t mask = mk_ends_in_span(s->ends, s->segment->rows, row / MK_SPAN_ROWS);
    return !(mask >> (row % MK_SPAN_ROWS / MK_SPAN_GROUP) & 1) ||
           atomic_load_explicit(&s->ends->seq[row], memory_order_relaxed) > s->seq;
}

static inline mk_edge_ref mk_scan__edge(const mk_scan *s, uint32_t row)
{
    const int64_t vt_s = mk_col_get(s->vt_s, row);
    return (mk_edge_ref){vt_s,
                         mk_end_of(s->segment, vt_s, mk_col_get(s->vt_e, row)),
                         mk_col_u32(s->a, row),
                         mk_col_u32(s->b, row),
                         mk_col_u32(s->rel, row),
                         s->part,
                         row};
}

static inline mk_node_ref mk_scan__node(const mk_scan *s, uint32_t row)
{
    const int64_t vt_s = mk_col_get(s->vt_s, row);
    return (mk_node_ref){vt_s,
                         mk_end_of(s->segment, vt_s, mk_col_get(s->vt_e, row)),
                         mk_col_u32(s->a, row),
                         mk_col_u32(s->rel, row),
                         s->part,
                         row};
}

/* The rows of a segment in [lo, hi) whose edges leave one of filter->srcs, ascending; in `arena`.
 * (view_picks.c) */
MK_CHECK mk_code mk_scan__pick(mk_segment *segment, const mk_edge_filter *filter, uint32_t lo,
                               uint32_t hi, mk_arena *arena, const uint32_t **rows, uint32_t *count,
                               mk_err *err);

/* ---- tail rows ---- */

static inline bool mk_scan__tail_visible(const mk_view *view, const mk_tail_row *row)
{
    return row->seq_s <= view->seq &&
           atomic_load_explicit(&row->seq_e, memory_order_acquire) > view->seq;
}

static inline mk_edge_ref mk_scan__tail_edge(const mk_tail_row *row, uint32_t number)
{
    return (mk_edge_ref){row->vt_s, row->vt_e, row->a, row->b, row->rel, MK_NO_ID, number};
}

static inline mk_node_ref mk_scan__tail_node(const mk_tail_row *row, uint32_t number)
{
    return (mk_node_ref){row->vt_s, row->vt_e, row->a, row->rel, MK_NO_ID, number};
}

/* Calls `each` for the visible tail rows of an entity: its node versions (side 0), its edges as source
 * (1) or as target (2). False when `each` returned false. */
typedef bool mk_tail_fn(void *ctx, const mk_tail_row *row, uint32_t number);
bool mk_scan__tail(const mk_view *view, uint32_t id, int side, mk_tail_fn *each, void *ctx);

#endif

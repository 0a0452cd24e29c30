/* view_stream.c — all edges a view believes, in blocks of columns. Layer: store.
 *
 * A source is a stretch of rows of one segment, or the tail. Its rows are decoded a span at a time into
 * columns of its own, hidden and unwanted rows squeezed out, so what a kernel sees is dense. In time order
 * the sources are merged by runs: as long as one source's starts do not pass the heads of the others, its
 * block is handed out as it is, without a copy. Loads come in time order, so runs are long; a tail or a
 * segment of corrections cuts them only where it has rows. When only edges of some entities are asked for, their
 * lists say which rows of a segment are read. */
#include <stdlib.h>

#include "store/view_internal.h"

typedef struct columns {
    int64_t vt_s[MK_EDGE_BLOCK], vt_e[MK_EDGE_BLOCK];
    uint32_t src[MK_EDGE_BLOCK], dst[MK_EDGE_BLOCK], rel_type[MK_EDGE_BLOCK], row[MK_EDGE_BLOCK];
    uint8_t keep[MK_EDGE_BLOCK];
} columns;

typedef struct source {
    mk_scan scan;      /* of a segment */
    bool is_tail;
    bool classes;      /* rows of several visibility classes: each is looked at */
    bool opened;
    bool in_window;    /* every row of the stretch lies right: times need no look */
    int64_t first;     /* no row starts before it */
    uint32_t row, to;  /* rows not read yet; of picks or the tail: places in those */
    const uint32_t *picks; /* the rows of the segment that are read, ascending; NULL: all */
    mk_edge_ref *tail; /* sorted by start */
    const mk_span_ends *spans; /* NULL: not looked at */
    columns *block;
    uint32_t at, count; /* rows of `block` not handed out yet: [at, count) */
} source;

struct mk_edge_stream {
    mk_view *view;
    mk_arena *arena;
    mk_edge_filter filter;
    bool in_time;
    source *sources;
    size_t source_count;
    size_t current; /* part by part: the source being read */
    size_t live;    /* in time: sources [0, live) have been opened */
    columns *spare; /* block of a source that has ended */
    mk_edge_block out;
};

static_assert(MK_EDGE_BLOCK == MK_SPAN_ROWS, "a block is a span");

/* ---- one span ---- */

/* keep[i] = 1 for rows of [from, from + count) that the view believes. False: none has to be looked at. */
static bool mark_believed(const mk_scan *s, uint32_t from, uint32_t count, uint8_t *keep)
{
    bool marked = false;
    uint32_t mask = s->ends == NULL
                        ? 0 : mk_ends_in_span(s->ends, s->segment->rows, from / MK_SPAN_ROWS);
    if (mask != 0)
        memset(keep, 1, count);
    for (; mask != 0; mask &= mask - 1) {
        /* Rows of one group; the stretch asked for may begin or end inside it. */
        const uint32_t group = from / MK_SPAN_ROWS * MK_SPAN_ROWS +
                               (uint32_t)__builtin_ctz(mask) * MK_SPAN_GROUP;
        for (uint32_t row = group; row < group + MK_SPAN_GROUP; row++)
            if (row >= from && row < from + count)
                keep[row - from] =
                    atomic_load_explicit(&s->ends->seq[row], memory_order_relaxed) > s->seq;
        marked = true;
    }
    if (s->seq_s != NULL || s->seq_e != NULL) {
        uint8_t hidden[MK_EDGE_BLOCK] = {0};
        if (s->seq_s != NULL)
            mk_col_flag_above(s->seq_s, from, count, s->seq, false, hidden);
        if (s->seq_e != NULL)
            mk_col_flag_above(s->seq_e, from, count, s->seq, true, hidden);
        for (uint32_t i = 0; i < count; i++)
            keep[i] = hidden[i] ? 0 : marked ? keep[i] : 1;
        marked = true;
    }
    return marked;
}

/* Times of a span, and which of its rows lie right in the window. */
static void match_times(const mk_edge_filter *filter, uint32_t count, columns *c)
{
    const int64_t lo = filter->vt_lo, hi = filter->vt_hi;
    if (filter->match == MK_MATCH_OVERLAPS)
        for (uint32_t i = 0; i < count; i++)
            c->keep[i] &= (uint8_t)((c->vt_s[i] < hi) & (c->vt_e[i] > lo));
    else if (filter->match == MK_MATCH_STARTS)
        for (uint32_t i = 0; i < count; i++)
            c->keep[i] &= (uint8_t)((c->vt_s[i] >= lo) & (c->vt_s[i] < hi));
    else
        for (uint32_t i = 0; i < count; i++)
            c->keep[i] &= (uint8_t)((c->vt_e[i] >= lo) & (c->vt_e[i] < hi));
}

static void match_rel_types(const mk_edge_filter *filter, uint32_t count, columns *c)
{
    if (filter->rel_type_count == 1) {
        const uint32_t wanted = filter->rel_types[0];
        for (uint32_t i = 0; i < count; i++)
            c->keep[i] &= (uint8_t)(c->rel_type[i] == wanted);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint8_t found = 0;
        for (size_t k = 0; k < filter->rel_type_count; k++)
            found |= (uint8_t)(c->rel_type[i] == filter->rel_types[k]);
        c->keep[i] &= found;
    }
}

/* Moves the kept rows together; the writes run behind the reads. */
static uint32_t squeeze(columns *c, uint32_t count)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++) {
        c->vt_s[n] = c->vt_s[i];
        c->vt_e[n] = c->vt_e[i];
        c->src[n] = c->src[i];
        c->dst[n] = c->dst[i];
        c->rel_type[n] = c->rel_type[i];
        c->row[n] = c->row[i];
        n += c->keep[i];
    }
    return n;
}

static bool times_all_match(const mk_edge_filter *filter)
{
    return filter->vt_lo == INT64_MIN && filter->vt_hi == INT64_MAX;
}

/* Whether a span can hold a row that passes, by its ends. */
static bool span_worth(const source *src, const mk_edge_filter *filter, uint32_t span)
{
    if (src->spans == NULL)
        return true;
    const int64_t least = src->spans->of[span].min, most = src->spans->of[span].max;
    if (filter->match == MK_MATCH_OVERLAPS)
        return most > filter->vt_lo;
    return most >= filter->vt_lo && least < filter->vt_hi;
}

/* ---- rows into columns ---- */

/* Rows that are read together: `count` from `from` on, or those of `picks`. */
typedef struct batch {
    uint32_t from, count;
    const uint32_t *picks;
} batch;

static void read_times(const mk_col *col, const batch *rows, int64_t *values)
{
    if (rows->picks != NULL)
        mk_col_pick(col, rows->picks, rows->count, values);
    else
        mk_col_read(col, rows->from, rows->count, values);
}

static void read_codes(const mk_col *col, const batch *rows, uint32_t *values)
{
    if (rows->picks != NULL)
        mk_col_pick_u32(col, rows->picks, rows->count, values);
    else
        mk_col_read_u32(col, rows->from, rows->count, values);
}

static void read_ends(const mk_scan *s, const batch *rows, columns *c)
{
    read_times(s->vt_e, rows, c->vt_e);
    if (s->segment->end_is_duration)
        for (uint32_t i = 0; i < rows->count; i++)
            c->vt_e[i] = (int64_t)((uint64_t)c->vt_e[i] + (uint64_t)c->vt_s[i]);
}

/* Reads rows into the source's block, but for those that do not pass. `some`: keep[] says which are believed. */
static void read_rows(const mk_edge_stream *stream, source *src, const batch *rows, bool some)
{
    const mk_scan *s = &src->scan;
    const mk_edge_filter *filter = &stream->filter;
    const uint32_t count = rows->count;
    columns *c = src->block;
    src->at = src->count = 0;
    if (some && memchr(c->keep, 1, count) == NULL)
        return;
    read_times(s->vt_s, rows, c->vt_s);
    if (!(filter->without & MK_WITHOUT_ENDS) || filter->match != MK_MATCH_STARTS)
        read_ends(s, rows, c);
    read_codes(s->rel, rows, c->rel_type);
    const bool times = !src->in_window && !times_all_match(filter), types = filter->rel_types != NULL;
    if (!some && (times || types || src->classes))
        memset(c->keep, 1, count);
    some |= times || types || src->classes;
    if (times)
        match_times(filter, count, c);
    if (types)
        match_rel_types(filter, count, c);
    if (some && memchr(c->keep, 1, count) == NULL)
        return;
    if (!(filter->without & MK_WITHOUT_SRC) || src->classes)
        read_codes(s->a, rows, c->src);
    if (!(filter->without & MK_WITHOUT_DST) || src->classes)
        read_codes(s->b, rows, c->dst);
    if (src->classes)
        for (uint32_t i = 0; i < count; i++)
            c->keep[i] &= (uint8_t)mk_scan__class_shown(stream->view, c->src[i], c->dst[i]);
    for (uint32_t i = 0; i < count && !(filter->without & MK_WITHOUT_ROWS); i++)
        c->row[i] = rows->picks != NULL ? rows->picks[i] : rows->from + i;
    src->count = some && memchr(c->keep, 0, count) != NULL ? squeeze(c, count) : count;
}

static void read_picks(const mk_edge_stream *stream, source *src)
{
    const uint32_t left = src->to - src->row;
    const batch rows = {.count = left < MK_EDGE_BLOCK ? left : MK_EDGE_BLOCK, .picks = src->picks + src->row};
    src->row += rows.count;
    for (uint32_t i = 0; i < rows.count; i++)
        src->block->keep[i] = mk_scan__visible(&src->scan, rows.picks[i]);
    read_rows(stream, src, &rows, true);
}

/* Reads up to the end of a span, if that is worth it. */
static void read_span(const mk_edge_stream *stream, source *src)
{
    const uint32_t from = src->row, span = from / MK_SPAN_ROWS, span_end = (span + 1) * MK_SPAN_ROWS;
    src->row = span_end < src->to ? span_end : src->to;
    const batch rows = {.from = from, .count = src->row - from};
    if (span_worth(src, &stream->filter, span))
        read_rows(stream, src, &rows, mark_believed(&src->scan, from, rows.count, src->block->keep));
}

static void read_tail(source *src)
{
    columns *c = src->block;
    uint32_t n = 0;
    for (; src->row < src->to && n < MK_EDGE_BLOCK; src->row++, n++) {
        const mk_edge_ref *ref = &src->tail[src->row];
        c->vt_s[n] = ref->vt_s;
        c->vt_e[n] = ref->vt_e;
        c->src[n] = ref->src;
        c->dst[n] = ref->dst;
        c->rel_type[n] = ref->rel_type;
        c->row[n] = ref->row;
    }
    src->at = 0;
    src->count = n;
}

/* Fills the source's block with its next rows; count 0 when there are no more. */
static void refill(const mk_edge_stream *stream, source *src)
{
    src->at = src->count = 0;
    if (src->is_tail) {
        read_tail(src);
        return;
    }
    while (src->row < src->to && src->count == 0) {
        if (src->picks != NULL)
            read_picks(stream, src);
        else
            read_span(stream, src);
    }
}

/* ---- sources ---- */

static mk_code add_segment(mk_edge_stream *stream, uint32_t part, mk_err *err)
{
    source *src = &stream->sources[stream->source_count];
    mk_code rc;
    *src = (source){0};
    MK_TRY(rc, mk_scan__open(stream->view, part, &src->scan, err));
    const mk_start_range starts = mk_scan__starts(&src->scan, &stream->filter);
    src->row = starts.lo == INT64_MIN ? 0 : mk_col_lower(src->scan.vt_s, starts.lo);
    src->to = starts.hi == INT64_MAX ? src->scan.segment->rows
                                     : mk_col_lower(src->scan.vt_s, starts.hi);
    if (stream->filter.srcs != NULL && src->row < src->to) {
        MK_TRY(rc, mk_scan__pick(src->scan.segment, &stream->filter, src->row, src->to, stream->arena,
                                 &src->picks, &src->to, err));
        src->row = 0;
    }
    if (src->row >= src->to)
        goto out;
    if (src->picks == NULL && mk_scan__spans_help(&src->scan, &stream->filter))
        MK_TRY(rc, mk_segment_span_ends(src->scan.segment, &src->spans, err));
    src->classes = src->scan.segment->lane == MK_LANE_RESERVED_EDGE;
    /* Bounds of starts are all there is to it when starts are asked for, or what holds and all durations are alike. */
    src->in_window = stream->filter.match == MK_MATCH_STARTS ||
                     (stream->filter.match == MK_MATCH_OVERLAPS && starts.lo != INT64_MIN);
    src->first = mk_col_get(src->scan.vt_s, src->picks != NULL ? src->picks[0] : src->row);
    stream->source_count++;
out:
    return rc;
}

static int by_start(const void *x, const void *y)
{
    const mk_edge_ref *a = x, *b = y;
    if (a->vt_s != b->vt_s)
        return a->vt_s < b->vt_s ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row;
}

typedef struct tail_reading {
    const mk_edge_stream *stream;
    source *src;
} tail_reading;

static bool take_tail_row(void *ctx, const mk_tail_row *row, uint32_t number)
{
    const tail_reading *t = ctx;
    const mk_edge_ref ref = mk_scan__tail_edge(row, number);
    if (mk_scan__passes(&t->stream->filter, &ref) &&
        mk_scan__class_shown(t->stream->view, ref.src, ref.dst))
        t->src->tail[t->src->to++] = ref;
    return true;
}

static mk_code add_tail(mk_edge_stream *stream, mk_err *err)
{
    const mk_view *view = stream->view;
    const mk_state *state = view->state;
    const mk_edge_filter *filter = &stream->filter;
    const uint32_t rows = state->tail_hi - state->tail_lo;
    source *src = &stream->sources[stream->source_count];
    tail_reading reading = {stream, src};
    *src = (source){.is_tail = true};
    if (rows == 0)
        return MK_OK;
    src->tail = mk_arena_get(stream->arena, rows * sizeof *src->tail);
    if (src->tail == NULL)
        return mk_fail_nomem(err);
    for (size_t i = 0; filter->srcs != NULL && i < filter->src_count; i++)
        (void)mk_scan__tail(view, filter->srcs[i], 1, take_tail_row, &reading);
    for (uint32_t number = state->tail_lo; filter->srcs == NULL && number < state->tail_hi; number++) {
        const mk_tail_row *row = mk_state_row(state, number);
        if (!row->node && mk_scan__tail_visible(view, row))
            (void)take_tail_row(&reading, row, number);
    }
    if (src->to == 0)
        return MK_OK;
    qsort(src->tail, src->to, sizeof *src->tail, by_start);
    src->first = src->tail[0].vt_s;
    stream->source_count++;
    return MK_OK;
}

static int by_first(const void *x, const void *y)
{
    const source *a = x, *b = y;
    return a->first < b->first ? -1 : a->first > b->first;
}

static mk_code add_sources(mk_edge_stream *stream, mk_err *err)
{
    const mk_view *view = stream->view;
    const mk_state *state = view->state;
    size_t size;
    mk_code rc = MK_OK;
    const size_t most = state->first[MK_LANE_COUNT] + 1;
    if (!mk_size_mul(most, sizeof *stream->sources, &size) ||
        (stream->sources = mk_arena_get(stream->arena, size)) == NULL)
        return mk_fail_nomem(err);
    for (size_t l = 0; l < MK_EDGE_LANES; l++) {
        const mk_lane lane = mk_scan__edge_lanes[l];
        if (!mk_scan__lane_shown(view, lane))
            continue;
        for (uint32_t part = state->first[lane]; part < state->first[lane + 1]; part++)
            if (mk_scan__worth_edges(view, state->segments[part], &stream->filter))
                MK_TRY(rc, add_segment(stream, part, err));
    }
    rc = add_tail(stream, err);
    if (rc == MK_OK && stream->in_time)
        qsort(stream->sources, stream->source_count, sizeof *stream->sources, by_first);
out:
    return rc;
}

mk_code mk_view_stream(mk_view *view, mk_arena *arena, const mk_edge_filter *filter, bool in_time,
                       mk_edge_stream **out, mk_err *err)
{
    mk_edge_stream *stream = mk_arena_get0(arena, sizeof *stream);
    if (stream == NULL)
        return mk_fail_nomem(err);
    stream->view = view;
    stream->arena = arena;
    stream->filter = *filter;
    stream->in_time = in_time;
    if ((filter->rel_types == NULL || filter->rel_type_count > 0) &&
        (filter->srcs == NULL || filter->src_count > 0)) {
        const mk_code rc = add_sources(stream, err);
        if (rc != MK_OK)
            return rc;
    }
    *out = stream;
    return MK_OK;
}

/* ---- giving blocks ---- */

static mk_code give_columns(mk_edge_stream *stream, source *src, mk_err *err)
{
    src->block = stream->spare != NULL ? stream->spare : mk_arena_get0(stream->arena, sizeof *src->block);
    stream->spare = NULL;
    src->opened = true;
    return src->block != NULL ? MK_OK : mk_fail_nomem(err);
}

/* Rows [at, at + count) of the source's block. */
static const mk_edge_block *hand_out(mk_edge_stream *stream, source *src, uint32_t count)
{
    const columns *c = src->block;
    const uint32_t at = src->at;
    stream->out = (mk_edge_block){count,          src->is_tail ? MK_NO_ID : src->scan.part,
                                  c->vt_s + at,   c->vt_e + at,
                                  c->src + at,    c->dst + at,
                                  c->rel_type + at, c->row + at};
    src->at += count;
    return &stream->out;
}

static mk_code next_of_parts(mk_edge_stream *stream, const mk_edge_block **block, mk_err *err)
{
    *block = NULL;
    while (stream->current < stream->source_count) {
        source *src = &stream->sources[stream->current];
        if (!src->opened) {
            const mk_code rc = give_columns(stream, src, err);
            if (rc != MK_OK)
                return rc;
        }
        refill(stream, src);
        if (src->count > 0) {
            *block = hand_out(stream, src, src->count);
            return MK_OK;
        }
        stream->spare = src->block;
        stream->current++;
    }
    return MK_OK;
}

/* Takes an exhausted source out of the live ones; their order does not matter. */
static void retire(mk_edge_stream *stream, size_t i)
{
    source *sources = stream->sources;
    stream->spare = sources[i].block;
    sources[i] = sources[--stream->live];
    memmove(&sources[stream->live], &sources[stream->live + 1],
            (--stream->source_count - stream->live) * sizeof *sources);
}

/* The live source whose next row starts first, and the first start of the others. Sources that begin at or
 * before that row are made live first. */
static mk_code first_source(mk_edge_stream *stream, size_t *best, int64_t *others, mk_err *err)
{
    for (;;) {
        *best = SIZE_MAX;
        int64_t least = INT64_MAX;
        *others = INT64_MAX;
        for (size_t i = 0; i < stream->live; i++) {
            const source *src = &stream->sources[i];
            const int64_t head = src->block->vt_s[src->at];
            if (*best == SIZE_MAX || head < least) {
                *others = *best == SIZE_MAX ? INT64_MAX : least;
                least = head;
                *best = i;
            } else if (head < *others) {
                *others = head;
            }
        }
        if (stream->live == stream->source_count)
            return MK_OK;
        source *waiting = &stream->sources[stream->live];
        if (*best != SIZE_MAX && waiting->first > least) {
            *others = waiting->first < *others ? waiting->first : *others;
            return MK_OK;
        }
        const mk_code rc = give_columns(stream, waiting, err);
        if (rc != MK_OK)
            return rc;
        stream->live++;
        refill(stream, waiting);
        if (waiting->count == 0)
            retire(stream, stream->live - 1);
    }
}

/* How many rows from `at` on start at or before `bound`. */
static uint32_t run_length(const source *src, int64_t bound)
{
    const int64_t *vt_s = src->block->vt_s;
    uint32_t lo = src->at, hi = src->count;
    if (vt_s[hi - 1] <= bound)
        return hi - lo;
    while (lo < hi) {
        const uint32_t middle = lo + (hi - lo) / 2;
        if (vt_s[middle] <= bound)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo - src->at;
}

static mk_code next_in_time(mk_edge_stream *stream, const mk_edge_block **block, mk_err *err)
{
    size_t best;
    int64_t others;
    *block = NULL;
    for (size_t i = 0; i < stream->live; i++) {
        source *src = &stream->sources[i];
        if (src->at < src->count)
            continue;
        refill(stream, src);
        if (src->count == 0)
            retire(stream, i--);
    }
    const mk_code rc = first_source(stream, &best, &others, err);
    if (rc != MK_OK || best == SIZE_MAX)
        return rc;
    source *src = &stream->sources[best];
    *block = hand_out(stream, src, run_length(src, others));
    return MK_OK;
}

mk_code mk_edge_stream_next(mk_edge_stream *stream, const mk_edge_block **block, mk_err *err)
{
    return stream->in_time ? next_in_time(stream, block, err) : next_of_parts(stream, block, err);
}

/* ---- what kind of edges there are ---- */

mk_code mk_view_all_instants(mk_view *view, const mk_edge_filter *filter, bool *all, mk_err *err)
{
    const mk_state *state = view->state;
    mk_code rc = MK_OK;
    *all = true;
    for (size_t l = 0; l < MK_EDGE_LANES && *all; l++) {
        const mk_lane lane = mk_scan__edge_lanes[l];
        if (!mk_scan__lane_shown(view, lane))
            continue;
        for (uint32_t part = state->first[lane]; *all && part < state->first[lane + 1]; part++) {
            mk_segment *segment = state->segments[part];
            const mk_col *vt_e;
            if (!mk_scan__worth_edges(view, segment, filter))
                continue;
            MK_TRY(rc, mk_segment_col(segment, MK_C_VT_E, &vt_e, err));
            *all = segment->end_is_duration && vt_e->width == 0 && vt_e->step == 0 && vt_e->base == 1;
        }
    }
    for (uint32_t number = state->tail_lo; *all && number < state->tail_hi; number++) {
        const mk_tail_row *row = mk_state_row(state, number);
        const mk_edge_ref ref = mk_scan__tail_edge(row, number);
        *all = row->node || ref.vt_e - ref.vt_s == 1 || !mk_scan__passes(filter, &ref) ||
               !mk_scan__tail_visible(view, row);
    }
out:
    return rc;
}

/* ---- one at a time ---- */

static mk_code give_each(mk_edge_stream *stream, mk_edge_fn *each, void *ctx, mk_err *err)
{
    for (;;) {
        const mk_edge_block *block;
        const mk_code rc = mk_edge_stream_next(stream, &block, err);
        if (rc != MK_OK || block == NULL)
            return rc;
        for (uint32_t i = 0; i < block->count; i++) {
            const mk_edge_ref ref = mk_edge_block_ref(block, i);
            if (!each(ctx, &ref))
                return MK_E_CANCELLED;
        }
    }
}

mk_code mk_view_edges(mk_view *view, const mk_edge_filter *filter, mk_edge_fn *each, void *ctx,
                      mk_err *err)
{
    mk_arena arena;
    mk_edge_stream *stream = NULL;
    mk_code rc;
    mk_arena_init(&arena, view->store->alloc);
    MK_TRY(rc, mk_view_stream(view, &arena, filter, false, &stream, err));
    rc = give_each(stream, each, ctx, err);
out:
    mk_arena_free(&arena);
    return rc;
}

/* ---- counting without reading ---- */

typedef struct counting {
    mk_view *view;
    bool ends;
    const int64_t *bounds;
    size_t n;
    uint64_t *counts;   /* on the way: counts[i] holds what lies between bounds i - 1 and i */
} counting;

/* The first bound that a time lies before (starts) or at (ends); n when there is none. */
static size_t bound_of(const counting *c, int64_t time)
{
    size_t lo = 0, hi = c->n;
    while (lo < hi) {
        const size_t middle = lo + (hi - lo) / 2;
        if (c->ends ? c->bounds[middle] >= time : c->bounds[middle] > time)
            hi = middle;
        else
            lo = middle + 1;
    }
    return lo;
}

static void count_one(counting *c, int64_t time, uint64_t by)
{
    const size_t i = bound_of(c, time);
    if (i < c->n)
        c->counts[i] += by;
}

/* Rows of spans in which something is hidden are read; all others are counted by their places. */
static bool clean_span(const mk_scan *s, uint32_t span)
{
    return s->seq_s == NULL && s->seq_e == NULL &&
           (s->ends == NULL || mk_ends_in_span(s->ends, s->segment->rows, span) == 0);
}

/* Takes back the hidden rows of a span that places counted. */
static void uncount_hidden(counting *c, const mk_scan *s, uint32_t span)
{
    const uint32_t from = span * MK_SPAN_ROWS;
    const uint32_t left = s->segment->rows - from;
    const uint32_t count = left < MK_SPAN_ROWS ? left : MK_SPAN_ROWS;
    uint8_t keep[MK_SPAN_ROWS];
    if (clean_span(s, span) || !mark_believed(s, from, count, keep))
        return;
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *hidden = memchr(keep + i, 0, count - i);
        if (hidden == NULL)
            break;
        i = (uint32_t)(hidden - keep);
        const int64_t vt_s = mk_col_get(s->vt_s, from + i);
        const int64_t time =
            c->ends ? mk_end_of(s->segment, vt_s, mk_col_get(s->vt_e, from + i)) : vt_s;
        count_one(c, time, UINT64_MAX); /* minus one */
    }
}

/* Starts are sorted; so are ends when all durations are alike. */
static void count_places(counting *c, const mk_scan *s, int64_t duration)
{
    uint32_t before = 0;
    for (size_t i = 0; i < c->n; i++) {
        int64_t bound = c->bounds[i];
        uint32_t place = 0;
        if (!c->ends)
            place = mk_col_lower(s->vt_s, bound);
        else if (!__builtin_sub_overflow(bound, duration, &bound))
            place = bound == INT64_MAX ? s->segment->rows : mk_col_lower(s->vt_s, bound + 1);
        c->counts[i] += place - before;
        before = place;
    }
    for (uint32_t span = 0; span < MK_SPANS(s->segment->rows); span++)
        uncount_hidden(c, s, span);
}

/* Ends in any order: spans that end between two bounds as a whole are counted as a whole. */
static mk_code count_spans(counting *c, const mk_scan *s, mk_err *err)
{
    const mk_span_ends *ends;
    const mk_code rc = mk_segment_span_ends(s->segment, &ends, err);
    for (uint32_t span = 0; rc == MK_OK && span < MK_SPANS(s->segment->rows); span++) {
        const uint32_t from = span * MK_SPAN_ROWS;
        const uint32_t left = s->segment->rows - from;
        const uint32_t count = left < MK_SPAN_ROWS ? left : MK_SPAN_ROWS;
        if (bound_of(c, ends->of[span].min) == bound_of(c, ends->of[span].max)) {
            count_one(c, ends->of[span].max, count);
        } else {
            for (uint32_t row = from; row < from + count; row++)
                count_one(c, mk_end_of(s->segment, mk_col_get(s->vt_s, row), mk_col_get(s->vt_e, row)), 1);
        }
        uncount_hidden(c, s, span);
    }
    return rc;
}

static mk_code count_segment(counting *c, uint32_t part, mk_err *err)
{
    mk_scan s;
    const mk_code rc = mk_scan__open(c->view, part, &s, err);
    if (rc != MK_OK)
        return rc;
    const bool alike = s.segment->end_is_duration && s.vt_e->width == 0 && s.vt_e->step == 0;
    if (c->ends && !alike)
        return count_spans(c, &s, err);
    count_places(c, &s, alike ? (int64_t)s.vt_e->base : 0);
    return MK_OK;
}

static mk_code count_rows(counting *c, uint32_t part, mk_err *err)
{
    mk_scan s;
    const mk_code rc = mk_scan__open(c->view, part, &s, err);
    for (uint32_t row = 0; rc == MK_OK && row < s.segment->rows; row++) {
        if (!mk_scan__visible(&s, row))
            continue;
        const mk_edge_ref ref = mk_scan__edge(&s, row);
        if (mk_scan__class_shown(c->view, ref.src, ref.dst))
            count_one(c, c->ends ? ref.vt_e : ref.vt_s, 1);
    }
    return rc;
}

mk_code mk_view_count_before(mk_view *view, bool ends, const int64_t *bounds, size_t n,
                             uint64_t *counts, mk_err *err)
{
    const mk_state *state = view->state;
    counting c = {view, ends, bounds, n, counts};
    mk_code rc = MK_OK;
    if (n == 0)
        return MK_OK;
    memset(counts, 0, n * sizeof *counts);
    for (size_t l = 0; l < MK_EDGE_LANES; l++) {
        const mk_lane lane = mk_scan__edge_lanes[l];
        if (!mk_scan__lane_shown(view, lane))
            continue;
        for (uint32_t part = state->first[lane]; part < state->first[lane + 1]; part++)
            if (mk_scan__worth(view, state->segments[part], INT64_MIN, INT64_MAX))
                MK_TRY(rc, lane == MK_LANE_RESERVED_EDGE ? count_rows(&c, part, err)
                                                         : count_segment(&c, part, err));
    }
    for (uint32_t number = state->tail_lo; number < state->tail_hi; number++) {
        const mk_tail_row *row = mk_state_row(state, number);
        if (!row->node && mk_scan__tail_visible(view, row) &&
            mk_scan__class_shown(view, row->a, row->b))
            count_one(&c, ends ? row->vt_e : row->vt_s, 1);
    }
    for (size_t i = 1; i < n; i++)
        counts[i] += counts[i - 1];
out:
    return rc;
}

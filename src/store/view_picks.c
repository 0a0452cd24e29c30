/* view_picks.c — the rows of a segment that lists lead to, in the order of the columns. Layer: store.
 *
 * The list of one entity leads all over a segment: each of its rows is another page, and each column of it
 * another line. Taken together and sorted, the rows of many lists lie close to each other, so pages and lines
 * are met once and in order; and as rows ascend by start, so does what is read of them. */
#include "store/view_internal.h"

#define DIGIT_BITS 11
#define DIGITS (1u << DIGIT_BITS)

/* Sorts by lowest digits first (Knuth, vol. 3, 5.2.5). Returns whichever of the two arrays has the result. */
static uint32_t *sort_rows(uint32_t *rows, uint32_t *spare, uint32_t count, uint32_t most)
{
    for (unsigned shift = 0; shift < 32 && most >> shift != 0; shift += DIGIT_BITS) {
        uint32_t starts[DIGITS] = {0}, sum = 0;
        for (uint32_t i = 0; i < count; i++)
            starts[rows[i] >> shift & (DIGITS - 1)]++;
        for (uint32_t d = 0; d < DIGITS; d++) {
            const uint32_t n = starts[d];
            starts[d] = sum;
            sum += n;
        }
        for (uint32_t i = 0; i < count; i++)
            spare[starts[rows[i] >> shift & (DIGITS - 1)]++] = rows[i];
        uint32_t *swap = rows;
        rows = spare;
        spare = swap;
    }
    return rows;
}

/* The part [*from, *to) of an entity's list that lies in [lo, hi). */
static mk_code list_of(mk_segment *segment, uint32_t id, uint32_t lo, uint32_t hi, const mk_col **list,
                       uint32_t *from, uint32_t *to, mk_err *err)
{
    const mk_code rc = mk_segment_group(segment, 0, id, list, from, to, err);
    if (rc != MK_OK || *from == *to)
        return rc;
    if (hi < segment->rows)
        *to = mk_scan__list_lower(*list, *from, *to, hi);
    if (lo > 0)
        *from = mk_scan__list_lower(*list, *from, *to, lo);
    return MK_OK;
}

mk_code mk_scan__pick(mk_segment *segment, const mk_edge_filter *filter, uint32_t lo, uint32_t hi,
                      mk_arena *arena, const uint32_t **rows, uint32_t *count, mk_err *err)
{
    const mk_col *list;
    uint32_t from, to, total = 0, n = 0;
    mk_code rc = MK_OK;
    for (size_t i = 0; i < filter->src_count; i++) {
        MK_TRY(rc, list_of(segment, filter->srcs[i], lo, hi, &list, &from, &to, err));
        total += to - from; /* no row is in two lists, so no more than the segment has */
    }
    uint32_t *all = mk_arena_get(arena, (size_t)total * sizeof *all);
    uint32_t *spare = mk_arena_get(arena, (size_t)total * sizeof *spare);
    if (all == NULL || spare == NULL)
        return mk_fail_nomem(err);
    for (size_t i = 0; i < filter->src_count; i++) {
        MK_TRY(rc, list_of(segment, filter->srcs[i], lo, hi, &list, &from, &to, err));
        if (from < to)
            mk_col_read_u32(list, from, to - from, all + n);
        n += to - from;
    }
    *rows = sort_rows(all, spare, n, n > 0 ? hi - 1 : 0);
    *count = n;
out:
    return rc;
}

/* page.h — pages of a list, and the order they need. Layer: op.
 *
 * A list is computed as far as its page needs: its length is always exact, its rows are sorted only
 * up to the page's end. Source: operators spec, 5.4. */
#ifndef MK_OP_PAGE_H
#define MK_OP_PAGE_H

#include "store/view.h"

/* Which rows are asked for. */
typedef struct mk_page {
    int64_t offset;    /* from the cursor; negative counts from the end, as in the reference */
    int64_t limit;     /* 1 or more */
    bool whole;        /* no page was asked for: everything, or E_LIMIT above `limit` rows */
    mk_str bad_cursor; /* p not NULL: the cursor is no number. Said by mk_page_span and not before,
                          because an unknown uid is the error to report when both are wrong */
} mk_page;

/* Which rows are given. */
typedef struct mk_span {
    size_t start, end, total;
    bool truncated; /* rows exist after `end` */
    int64_t next;   /* offset of the next page when truncated */
} mk_span;

/* A page from a cursor's text (p NULL or "": the first) and a limit. Reads what the reference's integer
 * reader does: surrounding white space, a sign, single underscores, decimal digits of any script;
 * beyond int64 saturates. `cursor` is borrowed by the result. */
mk_page mk_page_from(mk_str cursor, int64_t limit);

/* The rows of `page` in a list of `total`. A negative offset is a slice from the end, as in the
 * reference, except where that gives an empty page whose cursor is itself: that is MK_E_INVALID_ARG,
 * like a cursor that is no number.
 * MK_E_LIMIT with the total when the page is whole and the list longer than its limit. */
MK_CHECK mk_code mk_page_span(const mk_page *page, size_t total, mk_span *out, mk_err *err);

/* Brings the `need` first rows in scan order (vt_s, vid) to the front, sorted; the rest of the array
 * is then in no order. Cost: one pass with a heap of `need`, ids only for those. */
MK_CHECK mk_code mk_page_first_edges(mk_view *view, mk_arena *arena, mk_edge_ref *refs, size_t count,
                                     size_t need, mk_err *err);

/* An entity with a rank, listed by (rank, uid). */
typedef struct mk_ranked {
    mk_str uid;
    int64_t rank;
    uint32_t id;   /* dense id */
    uint32_t code; /* whatever travels along: a label, an index */
} mk_ranked;

/* Sorts by (rank, uid); scratch of the same size in `arena`. */
MK_CHECK mk_code mk_ranked_sort(mk_arena *arena, mk_ranked *list, size_t count, mk_err *err);

/* Brings the `need` first by (rank, uid) to the front, sorted; the rest is then in no order. Fills uid from
 * id, for those it looks at only: of a long list most names are never read. */
MK_CHECK mk_code mk_ranked_first(mk_view *view, mk_arena *arena, mk_ranked *list, size_t count,
                                 size_t need, mk_err *err);

/* Room for `need` elements in an array inside `arena`, which is moved when it must grow. */
MK_CHECK mk_code mk_op_grow(mk_arena *arena, void **p, size_t *cap, size_t need, size_t elem,
                            mk_err *err);

#endif

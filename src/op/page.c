/* page.c — offsets, slices, and sorting no further than a page. Layer: op. */
#include "op/page.h"

#include <stdio.h>
#include <utf8proc.h>

/* ---- cursors ---- */

/* White space that the reference strips: Unicode's, and the four separators below U+0020. */
static bool is_space(int32_t c)
{
    if (c >= 0x1C && c <= 0x1F)
        return true;
    if ((c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85)
        return true;
    const utf8proc_category_t category = utf8proc_category(c);
    return category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL ||
           category == UTF8PROC_CATEGORY_ZP;
}

/* Value of a decimal digit of any script, -1 for anything else. Digits of one script are ten code
 * points in a row that begin with zero (Unicode 15.0, section 4.6), and runs of scripts that touch are
 * multiples of ten, so the distance from the start of the run gives the value. */
static int digit_value(int32_t c)
{
    if (c < 0x80)
        return c >= '0' && c <= '9' ? c - '0' : -1;
    if (utf8proc_category(c) != UTF8PROC_CATEGORY_ND)
        return -1;
    int32_t first = c;
    while (utf8proc_category(first - 1) == UTF8PROC_CATEGORY_ND)
        first--;
    return (int)((c - first) % 10);
}

/* The next character and its size; -1 at the end and for bytes that are not UTF-8. */
static int32_t char_at(mk_str s, size_t at, size_t *size)
{
    utf8proc_int32_t c = -1;
    if (at >= s.n)
        return -1;
    const utf8proc_ssize_t n = utf8proc_iterate((const utf8proc_uint8_t *)s.p + at,
                                                (utf8proc_ssize_t)(s.n - at), &c);
    *size = n > 0 ? (size_t)n : 1;
    return n > 0 ? c : -1;
}

static size_t skip_spaces(mk_str s, size_t at)
{
    size_t size;
    for (int32_t c = char_at(s, at, &size); c >= 0 && is_space(c); c = char_at(s, at, &size))
        at += size;
    return at;
}

/* Digits with single underscores between them; false unless there is at least one digit. */
static bool read_digits(mk_str s, size_t *at, int64_t *value)
{
    size_t size = 0;
    bool any = false;
    *value = 0;
    for (;;) {
        size_t next = *at;
        if (any && next < s.n && s.p[next] == '_')
            next++;
        const int32_t c = char_at(s, next, &size);
        const int digit = c < 0 ? -1 : digit_value(c);
        if (digit < 0)
            return any;
        if (__builtin_mul_overflow(*value, 10, value) || __builtin_add_overflow(*value, digit, value))
            *value = INT64_MAX / 20; /* past the end of any list, and stays there */
        *at = next + size;
        any = true;
    }
}

mk_page mk_page_from(mk_str cursor, int64_t limit)
{
    mk_page page = {.limit = limit};
    if (cursor.n == 0)
        return page;
    size_t at = skip_spaces(cursor, 0);
    bool minus = false;
    if (at < cursor.n && (cursor.p[at] == '+' || cursor.p[at] == '-'))
        minus = cursor.p[at++] == '-';
    if (!read_digits(cursor, &at, &page.offset) || skip_spaces(cursor, at) != cursor.n)
        page.bad_cursor = cursor;
    else if (minus)
        page.offset = -page.offset;
    return page;
}

static mk_code bad_cursor(mk_str cursor, mk_err *err)
{
    mk_fail(err, MK_E_INVALID_ARG, "bad cursor: '%.*s'", MK_STR_ARG(cursor));
    mk_err_hint(err, "pass the `cursor` of the page before, or null for the first page");
    mk_err_extra(err, "\"path\":[\"cursor\"]", 17);
    return MK_E_INVALID_ARG;
}

/* ---- slices ---- */

static mk_code over_budget(size_t total, int64_t limit, mk_err *err)
{
    char extra[80];
    const int n = snprintf(extra, sizeof extra, "\"limit\":\"rows\",\"rows_total\":%zu", total);
    mk_fail(err, MK_E_LIMIT, "the whole list has %zu rows, more than the budget of %lld", total,
            (long long)limit);
    mk_err_hint(err, "narrow the question, or ask for a page with `limit`");
    mk_err_extra(err, extra, (size_t)n);
    return MK_E_LIMIT;
}

/* The index that a slice bound means: negative counts from the end. */
static size_t slice_bound(int64_t at, size_t total)
{
    if (at < 0)
        at += (int64_t)total;
    if (at < 0)
        return 0;
    return (uint64_t)at < total ? (size_t)at : total;
}

mk_code mk_page_span(const mk_page *page, size_t total, mk_span *out, mk_err *err)
{
    if (page->bad_cursor.p != NULL)
        return bad_cursor(page->bad_cursor, err);
    if (page->whole) {
        if (total > (uint64_t)page->limit)
            return over_budget(total, page->limit, err);
        *out = (mk_span){.end = total, .total = total};
        return MK_OK;
    }
    const int64_t stop = page->offset > INT64_MAX - page->limit ? INT64_MAX
                                                                : page->offset + page->limit;
    mk_span span = {.start = slice_bound(page->offset, total),
                    .end = slice_bound(stop, total),
                    .total = total};
    if (span.end < span.start)
        span.end = span.start;
    const int64_t shown = (int64_t)(span.end - span.start);
    span.next = page->offset + shown;
    span.truncated = span.next < (int64_t)total;
    if (span.truncated && shown == 0) {
        char text[24];
        const size_t n = mk_i64_text(text, page->offset);
        return bad_cursor((mk_str){text, n}, err);
    }
    *out = span;
    return MK_OK;
}

/* ---- the first rows of a list ---- */

static void sift_down(int64_t *heap, size_t n, size_t at)
{
    const int64_t v = heap[at];
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && heap[child + 1] > heap[child])
            child++;
        if (heap[child] <= v)
            break;
        heap[at] = heap[child];
    }
    heap[at] = v;
}

/* The need-th smallest of `count` numbers that stand `stride` bytes apart, by a heap of the `need` smallest
 * seen. */
static int64_t nth_smallest(const void *first, size_t stride, size_t count, size_t need, int64_t *heap)
{
    const char *at = first;
    int64_t value;
    for (size_t i = 0; i < need; i++, at += stride)
        memcpy(&heap[i], at, sizeof value);
    for (size_t i = need / 2; i-- > 0;)
        sift_down(heap, need, i);
    for (size_t i = need; i < count; i++, at += stride) {
        memcpy(&value, at, sizeof value);
        if (value < heap[0]) {
            heap[0] = value;
            sift_down(heap, need, 0);
        }
    }
    return heap[0];
}

mk_code mk_page_first_edges(mk_view *view, mk_arena *arena, mk_edge_ref *refs, size_t count,
                            size_t need, mk_err *err)
{
    if (need == 0)
        return MK_OK;
    if (need >= count / 2)
        return mk_view_sort_edges(view, refs, count, err);
    const mk_arena_mark mark = mk_arena_save(arena);
    int64_t *heap = mk_arena_get(arena, need * sizeof *heap);
    if (heap == NULL)
        return mk_fail_nomem(err);
    const int64_t last = nth_smallest(&refs->vt_s, sizeof *refs, count, need, heap);
    mk_arena_rewind(arena, mark);
    /* Ties of the last start stay in: the vid decides between them. */
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (refs[i].vt_s <= last) {
            const mk_edge_ref hit = refs[i];
            refs[i] = refs[kept];
            refs[kept++] = hit;
        }
    }
    return mk_view_sort_edges(view, refs, kept, err);
}

/* ---- ranked entities ---- */

static bool ranked_before(const mk_ranked *a, const mk_ranked *b)
{
    if (a->rank != b->rank)
        return a->rank < b->rank;
    return mk_str_cmp(a->uid, b->uid) < 0;
}

static void merge(const mk_ranked *from, mk_ranked *to, size_t lo, size_t mid, size_t hi)
{
    size_t a = lo, b = mid;
    for (size_t i = lo; i < hi; i++) {
        const bool left = a < mid && (b >= hi || !ranked_before(&from[b], &from[a]));
        to[i] = left ? from[a++] : from[b++];
    }
}

/* Bottom-up merge sort (Knuth, vol. 3, 5.2.4): no recursion, one scratch array, stable. */
mk_code mk_ranked_sort(mk_arena *arena, mk_ranked *list, size_t count, mk_err *err)
{
    if (count < 2)
        return MK_OK;
    size_t size;
    const mk_arena_mark mark = mk_arena_save(arena);
    mk_ranked *scratch =
        mk_size_mul(count, sizeof *scratch, &size) ? mk_arena_get(arena, size) : NULL;
    if (scratch == NULL)
        return mk_fail_nomem(err);
    mk_ranked *from = list, *to = scratch;
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t lo = 0; lo < count; lo += 2 * width) {
            const size_t mid = lo + width < count ? lo + width : count;
            const size_t hi = lo + 2 * width < count ? lo + 2 * width : count;
            merge(from, to, lo, mid, hi);
        }
        mk_ranked *swap = from;
        from = to;
        to = swap;
    }
    if (from != list)
        memcpy(list, from, size);
    mk_arena_rewind(arena, mark);
    return MK_OK;
}

mk_code mk_ranked_first(mk_view *view, mk_arena *arena, mk_ranked *list, size_t count,
                        size_t need, mk_err *err)
{
    size_t kept = count;
    if (need == 0)
        return MK_OK;
    if (need < count / 2) {
        const mk_arena_mark mark = mk_arena_save(arena);
        int64_t *heap = mk_arena_get(arena, need * sizeof *heap);
        if (heap == NULL)
            return mk_fail_nomem(err);
        const int64_t last = nth_smallest(&list->rank, sizeof *list, count, need, heap);
        mk_arena_rewind(arena, mark);
        kept = 0;
        for (size_t i = 0; i < count; i++) {
            if (list[i].rank <= last) { /* ties of the last rank: the uid decides */
                const mk_ranked hit = list[i];
                list[i] = list[kept];
                list[kept++] = hit;
            }
        }
    }
    for (size_t i = 0; i < kept; i++)
        list[i].uid = mk_view_uid(view, list[i].id);
    return mk_ranked_sort(arena, list, kept, err);
}

mk_code mk_op_grow(mk_arena *arena, void **p, size_t *cap, size_t need, size_t elem, mk_err *err)
{
    if (need <= *cap)
        return MK_OK;
    size_t want = *cap < 32 ? 64 : *cap * 2, size;
    if (want < need)
        want = need;
    void *grown = mk_size_mul(want, elem, &size) ? mk_arena_get(arena, size) : NULL;
    if (grown == NULL)
        return mk_fail_nomem(err);
    if (*cap != 0)
        memcpy(grown, *p, *cap * elem);
    *p = grown;
    *cap = want;
    return MK_OK;
}

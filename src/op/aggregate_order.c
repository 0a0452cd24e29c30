/* aggregate_order.c — groups in the order of the spec. Layer: op.
 *
 * Codes of time and of the calendar ascend as they are; those of names and entities stand for texts,
 * which ascend by code point, and a missing label comes first. Texts are compared by their first eight bytes,
 * read once, and in full only when those are equal. Rows are ordered up to the end of the page: a heap keeps
 * the best `need` groups. Source: operators spec, 7.13.4; heapsort: Knuth, vol. 3, 5.2.3. */
#include "op/aggregate_internal.h"

typedef struct entry {
    uint64_t rank[MK_AGG_DIMS_MAX]; /* a code, or the first eight bytes of a text */
    uint32_t group;
} entry;

static bool is_text(mk_agg_dim_kind kind) { return kind >= MK_DIM_REL_TYPE; }

static uint32_t code_of(const mk_agg_part *part, uint32_t group, size_t d)
{
    return (uint32_t)(d == 0 ? part->keys[group] >> 32 : part->keys[group]);
}

static mk_str text_of(const mk_agg_part *part, size_t d, uint32_t code)
{
    const mk_agg_dim_kind kind = part->job->args->dims[d].kind;
    if (kind == MK_DIM_SRC || kind == MK_DIM_DST)
        return mk_view_uid(part->job->view, code);
    return code == MK_NO_ID ? MK_STR("") : mk_view_name(part->job->view, code);
}

static uint64_t first_bytes(mk_str text)
{
    uint64_t v = 0;
    for (size_t i = 0; i < 8; i++)
        v = v << 8 | (i < text.n ? (uint8_t)text.p[i] : 0);
    return v;
}

static int compare_texts(const mk_agg_part *part, size_t d, uint32_t x, uint32_t y)
{
    if (x == y)
        return 0;
    if (x == MK_NO_ID || y == MK_NO_ID)
        return x == MK_NO_ID ? -1 : 1;
    return mk_str_cmp(text_of(part, d, x), text_of(part, d, y));
}

static bool before(const mk_agg_part *part, const entry *x, const entry *y)
{
    const mk_agg_args *args = part->job->args;
    for (size_t d = 0; d < args->dim_count; d++) {
        if (x->rank[d] != y->rank[d])
            return x->rank[d] < y->rank[d];
        if (!is_text(args->dims[d].kind))
            continue;
        const int c = compare_texts(part, d, code_of(part, x->group, d), code_of(part, y->group, d));
        if (c != 0)
            return c < 0;
    }
    return false;
}

static entry entry_of(const mk_agg_part *part, uint32_t group)
{
    const mk_agg_args *args = part->job->args;
    entry e = {.group = group};
    for (size_t d = 0; d < args->dim_count; d++) {
        const uint32_t code = code_of(part, group, d);
        e.rank[d] = is_text(args->dims[d].kind) ? first_bytes(text_of(part, d, code)) : code;
    }
    return e;
}

/* The largest stands on top. */
static void sift_down(const mk_agg_part *part, entry *heap, size_t n, size_t at)
{
    const entry moved = heap[at];
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && before(part, &heap[child], &heap[child + 1]))
            child++;
        if (!before(part, &moved, &heap[child]))
            break;
        heap[at] = heap[child];
    }
    heap[at] = moved;
}

mk_code mk_agg__order(const mk_agg_part *part, mk_arena *arena, uint32_t *listed, size_t count,
                      size_t need, mk_err *err)
{
    if (need == 0)
        return MK_OK;
    const mk_arena_mark mark = mk_arena_save(arena);
    entry *heap = mk_arena_get(arena, need * sizeof *heap);
    if (heap == NULL)
        return mk_fail_nomem(err);
    for (size_t i = 0; i < need; i++)
        heap[i] = entry_of(part, listed[i]);
    for (size_t i = need / 2; i-- > 0;)
        sift_down(part, heap, need, i);
    for (size_t i = need; i < count; i++) {
        const entry e = entry_of(part, listed[i]);
        if (before(part, &e, &heap[0])) {
            heap[0] = e;
            sift_down(part, heap, need, 0);
        }
    }
    for (size_t n = need; n > 0; n--) {
        listed[n - 1] = heap[0].group;
        heap[0] = heap[n - 1];
        sift_down(part, heap, n - 1, 0);
    }
    mk_arena_rewind(arena, mark);
    return MK_OK;
}

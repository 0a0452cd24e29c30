/* co_active_join.c — the interval join of co_active, by sort-merge. Layer: op. See co_active.h.
 *
 * Both lists stand in ascending start. Every relation says in which interval the start of b must lie,
 * given a, so the candidates of an a are one run of b, whose ends are found by a search that begins at
 * the run before: over lists that move on together that is a sort-merge join, and a lone interval that
 * lasts for ever costs a logarithm. Inverse relations are the same join with the lists exchanged. */
#include "op/co_active.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))

/* ---- sorting ---- */

/* Merges the runs [lo, mid) and [mid, hi); equal starts keep their order. */
static void merge(const mk_edge_ref *from, mk_edge_ref *to, size_t lo, size_t mid, size_t hi)
{
    size_t a = lo, b = mid;
    for (size_t i = lo; i < hi; i++) {
        const bool left = a < mid && (b >= hi || from[a].vt_s <= from[b].vt_s);
        to[i] = left ? from[a++] : from[b++];
    }
}

/* The first index behind the sorted run that begins at `at`. */
static size_t run_end(const mk_edge_ref *refs, size_t count, size_t at)
{
    while (++at < count && refs[at - 1].vt_s <= refs[at].vt_s)
        continue;
    return at;
}

/* One pass of the natural merge sort (Knuth, vol. 3, 5.2.4): every second run with the one behind it. */
static void merge_pass(const mk_edge_ref *from, mk_edge_ref *to, size_t count)
{
    for (size_t lo = 0; lo < count;) {
        const size_t mid = run_end(from, count, lo);
        const size_t hi = mid < count ? run_end(from, count, mid) : count;
        merge(from, to, lo, mid, hi);
        lo = hi;
    }
}

mk_code mk_join_sort(mk_arena *arena, mk_edge_ref *refs, size_t count, mk_err *err)
{
    if (count == 0 || run_end(refs, count, 0) == count)
        return MK_OK;
    const mk_arena_mark mark = mk_arena_save(arena);
    const size_t size = count * sizeof *refs; /* cannot overflow: that much is in memory */
    mk_edge_ref *from = refs, *to = mk_arena_get(arena, size);
    if (to == NULL)
        return mk_fail_nomem(err);
    while (run_end(from, count, 0) < count) {
        merge_pass(from, to, count);
        mk_edge_ref *swap = from;
        from = to;
        to = swap;
    }
    if (from != refs)
        memcpy(refs, from, size);
    mk_arena_rewind(arena, mark);
    return MK_OK;
}

/* ---- the join ---- */

/* The first place in [lo, hi] whose start is not before t; hi is one, or the end. */
static size_t halve(const mk_join_row *rows, size_t lo, size_t hi, int64_t t)
{
    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        if (rows[mid].vt_s < t)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* The same, looked for by doubling steps from a place whose start is before t, or from one whose start is
 * not (Bentley and Yao 1976). */
static size_t seek_behind(const mk_join_row *rows, size_t count, size_t near, int64_t t)
{
    size_t step = 1;
    while (count - near > step && rows[near + step].vt_s < t) {
        near += step;
        step *= 2;
    }
    return halve(rows, near + 1, count - near > step ? near + step : count, t);
}

static size_t seek_before(const mk_join_row *rows, size_t near, int64_t t)
{
    size_t step = 1;
    while (near >= step && rows[near - step].vt_s >= t) {
        near -= step;
        step *= 2;
    }
    return halve(rows, near >= step ? near - step + 1 : 0, near, t);
}

/* Most runs begin and end within a few rows of the place known; those are met by walking, which a
 * processor foresees better than a search. */
#define WALK 8

/* The first place whose start is not before t, near which `near` is expected. */
static ALWAYS_INLINE size_t seek(const mk_join_row *rows, size_t count, size_t near, int64_t t)
{
    if (near > 0 && rows[near - 1].vt_s >= t)
        return seek_before(rows, near - 1, t);
    const size_t end = count - near > WALK ? near + WALK : count;
    for (; near < end; near++)
        if (rows[near].vt_s >= t)
            return near;
    return near == count ? count : seek_behind(rows, count, near - 1, t);
}

/* A join in the first half of the relations: outer is a, inner is b, or the other way round. */
typedef struct sweep {
    const mk_join_row *outer, *inner;
    size_t outer_count, inner_count;
    mk_allen relation;
    int64_t gap;
} sweep;

static bool is_inverse(mk_allen relation) { return relation >= MK_ALLEN_AFTER; }

static sweep sweep_of(const mk_join *join)
{
    sweep s = {.outer = join->a, .inner = join->b, .outer_count = join->a_count,
               .inner_count = join->b_count, .relation = join->relation, .gap = join->gap};
    if (!is_inverse(join->relation))
        return s;
    s.outer = join->b;
    s.inner = join->a;
    s.outer_count = join->b_count;
    s.inner_count = join->a_count;
    s.relation = (mk_allen)(join->relation - MK_ALLEN_AFTER);
    return s;
}

/* The starts that an inner row may have: *first to *last. False when there are none. Replayed logs may
 * hold any number as a time (store spec, 24.12), so nothing is added to one without care. */
static ALWAYS_INLINE bool start_bounds(mk_allen relation, int64_t gap, const mk_join_row *x,
                                       int64_t *first, int64_t *last)
{
    switch (relation) {
    case MK_ALLEN_BEFORE:
        if (__builtin_add_overflow(x->vt_e, gap, last))
            *last = INT64_MAX;
        return !__builtin_add_overflow(x->vt_e, 1, first);
    case MK_ALLEN_MEETS:
        *first = *last = x->vt_e;
        return true;
    case MK_ALLEN_OVERLAPS:
        return !__builtin_add_overflow(x->vt_s, 1, first) &&
               !__builtin_sub_overflow(x->vt_e, 1, last) && *first <= *last;
    case MK_ALLEN_STARTS:
    case MK_ALLEN_EQUALS:
        *first = *last = x->vt_s;
        return true;
    default: /* DURING, FINISHES */
        *first = INT64_MIN;
        return !__builtin_sub_overflow(x->vt_s, 1, last);
    }
}

/* The rest of the relation, for a candidate. */
static ALWAYS_INLINE bool ends_fit(mk_allen relation, const mk_join_row *x, const mk_join_row *y)
{
    switch (relation) {
    case MK_ALLEN_OVERLAPS:
    case MK_ALLEN_STARTS:
    case MK_ALLEN_DURING: return x->vt_e < y->vt_e;
    case MK_ALLEN_FINISHES:
    case MK_ALLEN_EQUALS: return x->vt_e == y->vt_e;
    default: return true;
    }
}

/* What is done with the candidates of one outer row. */
typedef struct visitor {
    mk_guard *guard;
    mk_join_fn *each; /* NULL: they are only counted */
    void *ctx;
    bool inverse;
    uint64_t count;
} visitor;

static ALWAYS_INLINE bool visit(const visitor *v, size_t outer, size_t inner)
{
    return v->inverse ? v->each(v->ctx, inner, outer) : v->each(v->ctx, outer, inner);
}

/* One loop over the outer rows. `relation` and `counts` are constants wherever this is called, so each
 * relation has a loop of its own with nothing left to decide in it. A run starts near the last one's start;
 * its end, when only counted, is near its start, or near the last end where all runs start together. */
static ALWAYS_INLINE bool sweep_as(const sweep *s, mk_allen relation, bool counts, visitor *v)
{
    const mk_join_row *inner = s->inner;
    const size_t n = s->inner_count;
    size_t from = 0, to = 0;
    int64_t first, last;
    for (size_t i = 0; i < s->outer_count; i++) {
        if (!mk_guard_ok(v->guard))
            return false;
        const mk_join_row x = s->outer[i];
        if (!start_bounds(relation, s->gap, &x, &first, &last))
            continue;
        const bool all = first == INT64_MIN;
        from = all ? 0 : seek(inner, n, from, first);
        if (counts) {
            to = last == INT64_MAX ? n : seek(inner, n, all ? to : from, last + 1);
            v->count += to - from;
            continue;
        }
        for (size_t j = from; j < n && inner[j].vt_s <= last; j++)
            if (ends_fit(relation, &x, &inner[j]) && !visit(v, i, j))
                return false;
    }
    return true;
}

static bool sweep_counting(const sweep *s, visitor *v)
{
    switch (s->relation) {
    case MK_ALLEN_BEFORE: return sweep_as(s, MK_ALLEN_BEFORE, true, v);
    case MK_ALLEN_MEETS: return sweep_as(s, MK_ALLEN_MEETS, true, v);
    case MK_ALLEN_OVERLAPS: return sweep_as(s, MK_ALLEN_OVERLAPS, true, v);
    case MK_ALLEN_STARTS:
    case MK_ALLEN_EQUALS: return sweep_as(s, MK_ALLEN_EQUALS, true, v);
    default: return sweep_as(s, MK_ALLEN_DURING, true, v);
    }
}

static bool sweep_visiting(const sweep *s, visitor *v)
{
    switch (s->relation) {
    case MK_ALLEN_BEFORE: return sweep_as(s, MK_ALLEN_BEFORE, false, v);
    case MK_ALLEN_MEETS: return sweep_as(s, MK_ALLEN_MEETS, false, v);
    case MK_ALLEN_OVERLAPS: return sweep_as(s, MK_ALLEN_OVERLAPS, false, v);
    case MK_ALLEN_STARTS: return sweep_as(s, MK_ALLEN_STARTS, false, v);
    case MK_ALLEN_DURING: return sweep_as(s, MK_ALLEN_DURING, false, v);
    case MK_ALLEN_FINISHES: return sweep_as(s, MK_ALLEN_FINISHES, false, v);
    default: return sweep_as(s, MK_ALLEN_EQUALS, false, v);
    }
}

mk_code mk_join_candidates(const mk_join *join, mk_guard *guard, uint64_t *out, mk_err *err)
{
    const sweep s = sweep_of(join);
    visitor v = {.guard = guard};
    const bool whole = sweep_counting(&s, &v);
    *out = v.count;
    return whole ? MK_OK : mk_guard_result(guard, err);
}

mk_code mk_join_pairs(const mk_join *join, mk_guard *guard, mk_join_fn *each, void *ctx,
                      mk_err *err)
{
    const sweep s = sweep_of(join);
    visitor v = {.guard = guard, .each = each, .ctx = ctx, .inverse = is_inverse(join->relation)};
    if (sweep_visiting(&s, &v))
        return MK_OK;
    return mk_guard_or(guard, mk_fail(err, MK_E_CANCELLED, "stopped by the caller"), err);
}

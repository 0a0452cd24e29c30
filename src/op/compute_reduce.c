/* compute_reduce.c — one value of many, and the best of many. Layer: op.
 *
 * Source: operators spec, 8.3 to 8.5. */
#include <math.h>
#include <stdlib.h>

#include "base/num.h"
#include "op/compute_internal.h"

/* ---- reducers ---- */

static mk_code check_numbers(const mk_values *values, mk_err *err)
{
    for (size_t i = 0; i < values->n; i++) {
        const mk_json *v = values->list[i];
        if (!mk_is_number(v))
            return mk_compute__refuse("field", err, "value %zu is no number; filter it out first", i);
        if (v->kind == MK_JSON_FLOAT && !isfinite(v->d))
            return mk_compute__refuse("field", err, "value %zu is not finite", i);
    }
    return MK_OK;
}

/* Strictly smaller (larger) ones replace the candidate, so of equals the first is kept. */
static const mk_json *extreme(const mk_values *values, int sign)
{
    const mk_json *best = values->list[0];
    for (size_t i = 1; i < values->n; i++)
        if (mk_number_compare(values->list[i], best, NULL) * sign > 0)
            best = values->list[i];
    return best;
}

/* qsort is not stable, so the place decides between equals: kinds of equal numbers may differ. */
typedef struct placed {
    const mk_json *value;
    size_t place;
} placed;

static int by_value(const void *x, const void *y)
{
    const placed *a = x, *b = y;
    const int order = mk_number_compare(a->value, b->value, NULL);
    return order != 0 ? order : a->place < b->place ? -1 : a->place > b->place;
}

static mk_code median(mk_run *run, const mk_values *values, mk_json *out, mk_err *err)
{
    const size_t n = values->n;
    placed *sorted = mk_arena_get(run->arena, n * sizeof *sorted);
    if (sorted == NULL)
        return mk_fail_nomem(err);
    for (size_t i = 0; i < n; i++)
        sorted[i] = (placed){values->list[i], i};
    qsort(sorted, n, sizeof *sorted, by_value);
    if (n % 2 == 1) {
        *out = *sorted[n / 2].value;
        return MK_OK;
    }
    const mk_json *middle[2] = {sorted[n / 2 - 1].value, sorted[n / 2].value};
    return mk_arith_mean(middle, 2, run->arena, out, err);
}

static mk_code reduce(mk_run *run, mk_str fn, const mk_values *values, mk_json *out, mk_err *err)
{
    if (mk_str_eq(fn, MK_STR("count"))) {
        *out = (mk_json){.kind = MK_JSON_INT, .i = (int64_t)values->n};
        return MK_OK;
    }
    mk_code rc = check_numbers(values, err);
    if (rc != MK_OK)
        return rc;
    if (mk_str_eq(fn, MK_STR("sum"))) {
        rc = mk_arith_sum(values->list, values->n, run->arena, out, err);
        return mk_compute__blame("field", rc, err);
    }
    if (values->n == 0)
        return mk_compute__refuse("input", err, "%.*s of nothing", MK_STR_ARG(fn));
    if (mk_str_eq(fn, MK_STR("mean")))
        return mk_arith_mean(values->list, values->n, run->arena, out, err);
    if (mk_str_eq(fn, MK_STR("median")))
        return median(run, values, out, err);
    *out = *extreme(values, mk_str_eq(fn, MK_STR("max")) ? 1 : -1);
    return MK_OK;
}

/* The values that a function reads of some rows; count reads none. */
static mk_code values_of(mk_run *run, mk_str fn, const mk_values *rows, mk_values *out, mk_err *err)
{
    const bool counting = mk_str_eq(fn, MK_STR("count"));
    const mk_str field = counting ? (mk_str){NULL, 0} : mk_compute__name(run, "field");
    return mk_compute__column(run, rows, field, "field", out, err);
}

/* ---- by groups ---- */

typedef struct grouped {
    mk_run *run;
    mk_str by, fn;
    const mk_groups *groups;
    mk_json *values;
} grouped;

/* {g: key, fn: value}; a member of one name holds the value (O-17). */
static mk_json *group_row(void *ctx, size_t i)
{
    const grouped *g = ctx;
    mk_json *row = mk_arena_get(g->run->arena, sizeof *row);
    mk_member *members = mk_arena_get(g->run->arena, 2 * sizeof *members);
    if (row == NULL || members == NULL)
        return NULL;
    const bool one = mk_str_eq(g->by, g->fn);
    members[0] = (mk_member){g->by, *g->groups->keys[i]};
    members[one ? 0 : 1] = (mk_member){g->fn, g->values[i]};
    *row = (mk_json){.kind = MK_JSON_OBJECT, .n = one ? 1 : 2, .members = members};
    return row;
}

/* One group's value. Its scratch goes at once, because there may be as many groups as rows; only an
 * integer beyond int64 has digits there that must stay. */
static mk_code reduce_group(mk_run *run, mk_str fn, const mk_values *rows, mk_json *out, mk_err *err)
{
    const mk_arena_mark mark = mk_arena_save(run->arena);
    mk_values values;
    mk_code rc;
    MK_TRY(rc, values_of(run, fn, rows, &values, err));
    MK_TRY(rc, reduce(run, fn, &values, out, err));
    if (!(out->kind == MK_JSON_INT && out->b))
        mk_arena_rewind(run->arena, mark);
out:
    return rc;
}

static mk_code reduce_groups(mk_run *run, mk_str fn, const mk_values *rows, mk_err *err)
{
    grouped g = {.run = run, .by = mk_compute__name(run, "group_by"), .fn = fn};
    mk_groups groups;
    mk_code rc;
    MK_TRY(rc, mk_compute__group(run, rows, g.by, &groups, err));
    g.groups = &groups;
    g.values = mk_arena_get(run->arena, groups.count * sizeof *g.values);
    if (g.values == NULL)
        return mk_fail_nomem(err);
    for (size_t i = 0; i < groups.count; i++) {
        MK_TRY(rc, reduce_group(run, fn, &groups.rows[i], &g.values[i], err));
        if (!mk_guard_ok(run->guard))
            return mk_guard_result(run->guard, err);
    }
    rc = mk_compute__page(run, groups.count, group_row, &g, err);
out:
    return rc;
}

mk_code mk_compute__reduce(mk_run *run, mk_str fn, mk_err *err)
{
    mk_values rows, values;
    mk_json value;
    mk_code rc;
    MK_TRY(rc, mk_compute__rows(run, "input", &rows, err));
    if (!mk_arg_is_null(run->args, "group_by"))
        return reduce_groups(run, fn, &rows, err);
    MK_TRY(rc, values_of(run, fn, &rows, &values, err));
    MK_TRY(rc, reduce(run, fn, &values, &value, err));
    rc = mk_compute__value(run, &value, err);
out:
    return rc;
}

/* ---- topk ---- */

typedef struct entry {
    const mk_json *row;
    const mk_json *weight; /* numeric */
    size_t place;
    mk_str text; /* made when a tie asks for it; p NULL until then */
} entry;

typedef struct ranking {
    mk_run *run;
    mk_buf scratch;
    bool nomem;
} ranking;

static const mk_json zero = {.kind = MK_JSON_INT};

static mk_str text_of(ranking *r, entry *e)
{
    if (e->text.p == NULL) {
        mk_buf_clear(&r->scratch);
        mk_value_text(&r->scratch, e->row);
        if (!r->scratch.failed)
            e->text = mk_arena_copy(r->run->arena, mk_buf_view(&r->scratch));
        r->nomem |= e->text.p == NULL;
    }
    return e->text.p != NULL ? e->text : MK_STR("");
}

/* Larger weights first, then smaller texts, then the order of the input. */
static bool ranks_before(ranking *r, entry *a, entry *b)
{
    const int order = mk_number_compare(a->weight, b->weight, NULL);
    if (order != 0)
        return order > 0;
    const int text = mk_str_cmp(text_of(r, a), text_of(r, b));
    return text != 0 ? text < 0 : a->place < b->place;
}

static void sift_down(ranking *r, entry *heap, size_t n, size_t at)
{
    entry moved = heap[at]; /* its text may be made on the way down */
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && ranks_before(r, &heap[child], &heap[child + 1]))
            child++;
        if (!ranks_before(r, &moved, &heap[child]))
            break;
        heap[at] = heap[child];
    }
    heap[at] = moved;
}

/* The `need` first in ranking order come to the front, sorted: a heap of them with the last on top takes
 * every better one, and is then taken apart from the back. */
static void rank_first(ranking *r, entry *list, size_t n, size_t need)
{
    if (need == 0)
        return;
    for (size_t i = need / 2; i-- > 0;)
        sift_down(r, list, need, i);
    for (size_t i = need; i < n; i++) {
        if (!ranks_before(r, &list[i], &list[0]))
            continue;
        const entry out = list[0];
        list[0] = list[i];
        list[i] = out;
        sift_down(r, list, need, 0);
    }
    for (size_t k = need; k > 1; k--) {
        const entry last = list[0];
        list[0] = list[k - 1];
        list[k - 1] = last;
        sift_down(r, list, k - 1, 0);
    }
}

/* ceil(n * p / 100) for the exact decimal value of p's shortest text, or of 100 - p. */
static size_t percent_of(size_t n, const mk_json *pct, bool rest)
{
    char text[MK_DOUBLE_TEXT_MAX];
    const double d = pct->kind == MK_JSON_FLOAT ? pct->d : (double)pct->i;
    const size_t size = mk_double_text(text, d); /* leaves room for a NUL */
    text[size] = '\0';
    uint64_t digits = 0;
    int exponent = 0;
    bool fraction = false;
    for (size_t i = 0; i < size; i++) {
        if (text[i] == 'e') {
            exponent += (int)strtol(text + i + 1, NULL, 10);
            break;
        }
        if (text[i] == '.') {
            fraction = true;
            continue;
        }
        digits = digits * 10 + (uint64_t)(text[i] - '0');
        exponent -= fraction;
    }
    /* p = digits * 10^exponent with exponent <= 0 but for "100.0"-like texts, which end in a zero. */
    if (exponent < -22)
        return rest ? n : (digits != 0 && n != 0); /* below 10^-6 of a row for any list there is */
    unsigned __int128 num = digits, den = 100;
    for (; exponent < 0; exponent++)
        den *= 10;
    for (; exponent > 0; exponent--)
        num *= 10;
    if (rest)
        num = den - num;
    return (size_t)((num * n + den - 1) / den);
}

typedef struct cut {
    size_t from, to; /* of the ranking */
} cut;

static cut cut_of(const mk_run *run, size_t n)
{
    const bool top = mk_str_eq(mk_arg_str(run->args, "side"), MK_STR("top"));
    const mk_json *k = mk_json_get(run->args, "k"), *pct = mk_json_get(run->args, "pct");
    size_t at;
    if (k->kind != MK_JSON_NULL)
        at = top ? ((size_t)k->i < n ? (size_t)k->i : n) : n - ((size_t)k->i < n ? (size_t)k->i : n);
    else
        at = percent_of(n, pct, !top);
    return top ? (cut){0, at} : (cut){at, n};
}

static mk_code rank_rows(mk_run *run, ranking *r, const mk_values *rows, mk_values *out, mk_err *err)
{
    mk_values weights;
    mk_code rc;
    MK_TRY(rc, mk_compute__column(run, rows, mk_compute__name(run, "field"), "field", &weights, err));
    entry *list = mk_arena_get(run->arena, rows->n * sizeof *list);
    if (list == NULL)
        return mk_fail_nomem(err);
    for (size_t i = 0; i < rows->n; i++)
        list[i] = (entry){.row = rows->list[i],
                          .weight = mk_is_numeric(weights.list[i]) ? weights.list[i] : &zero,
                          .place = i};
    const cut kept = cut_of(run, rows->n);
    rank_first(r, list, rows->n, kept.to);
    if (r->nomem)
        return mk_fail_nomem(err);
    for (size_t i = kept.from; i < kept.to; i++)
        out->list[out->n++] = list[i].row;
out:
    return rc;
}

static mk_code check_topk(const mk_run *run, mk_err *err)
{
    const bool k = !mk_arg_is_null(run->args, "k"), pct = !mk_arg_is_null(run->args, "pct");
    if (k == pct)
        return mk_compute__refuse(k ? "pct" : "k", err, "topk needs exactly one of k and pct");
    if (mk_compute__name(run, "field").p == NULL)
        return mk_compute__refuse("field", err, "topk needs the member to rank by");
    return MK_OK;
}

static mk_code rank_all(mk_run *run, ranking *r, const mk_values *rows, mk_values *out, mk_err *err)
{
    const mk_str by = mk_compute__name(run, "group_by");
    mk_groups groups;
    mk_code rc;
    out->list = mk_arena_get(run->arena, rows->n * sizeof *out->list);
    out->n = 0;
    if (out->list == NULL)
        return mk_fail_nomem(err);
    if (by.p == NULL)
        return rank_rows(run, r, rows, out, err);
    MK_TRY(rc, mk_compute__group(run, rows, by, &groups, err));
    for (size_t i = 0; i < groups.count; i++) {
        MK_TRY(rc, rank_rows(run, r, &groups.rows[i], out, err));
        if (!mk_guard_ok(run->guard))
            return mk_guard_result(run->guard, err);
    }
out:
    return rc;
}

mk_code mk_compute__topk(mk_run *run, mk_err *err)
{
    ranking r = {.run = run};
    mk_values rows, kept;
    mk_code rc;
    mk_buf_init(&r.scratch, run->arena->alloc);
    MK_TRY(rc, mk_compute__rows(run, "input", &rows, err));
    MK_TRY(rc, check_topk(run, err));
    MK_TRY(rc, rank_all(run, &r, &rows, &kept, err));
    rc = mk_compute__page_of(run, &kept, err);
out:
    mk_buf_free(&r.scratch);
    return rc;
}

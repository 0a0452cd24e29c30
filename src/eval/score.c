/* score.c — exact match and partial credit. Layer: eval.
 *
 * Source: evaluation spec, 10.1 and 10.2, with its worked examples as tests. */
#include "eval/score.h"

#include <math.h>
#include <stdlib.h>

#include "base/canon.h"
#include "base/num.h"

#define DEPTH_MAX 128 /* as the JSON reader has it */

static bool is_kind(mk_str kind, const char *name) { return mk_str_eq(kind, mk_str_of(name)); }
static mk_score all_or_nothing(bool right)
{
    const double x = right ? 1.0 : 0.0;
    return (mk_score){x, x, x, x};
}

/* ---- canonical equality ---- */

static mk_code same_json(const mk_json *a, const mk_json *b, mk_arena *arena, bool *same, mk_err *err)
{
    mk_buf left, right;
    mk_code rc;
    mk_buf_init(&left, arena->alloc);
    mk_buf_init(&right, arena->alloc);
    MK_TRY(rc, mk_canon_tree(&left, arena, a, err));
    MK_TRY(rc, mk_canon_tree(&right, arena, b, err));
    MK_TRY(rc, mk_buf_done(&left, err));
    MK_TRY(rc, mk_buf_done(&right, err));
    *same = mk_str_eq(mk_buf_view(&left), mk_buf_view(&right));
out:
    mk_buf_free(&right);
    mk_buf_free(&left);
    return rc;
}

/* ---- numbers and single values ---- */

static bool is_number(const mk_json *v) { return v->kind == MK_JSON_INT || v->kind == MK_JSON_FLOAT; }

static double number(const mk_json *v)
{
    if (v->kind == MK_JSON_FLOAT)
        return v->d;
    return v->b ? mk_double_parse(v->text) : (double)v->i;
}

static bool same_number(const mk_json *a, const mk_json *b)
{
    if (a->kind == MK_JSON_INT && b->kind == MK_JSON_INT)
        return a->b == b->b && (a->b ? mk_str_eq(a->text, b->text) : a->i == b->i);
    return fabs(number(a) - number(b)) <= 1e-9;
}

static mk_code score_value(const mk_json *gold, const mk_json *pred, mk_arena *arena, mk_score *out,
                           mk_err *err)
{
    bool same = false;
    mk_code rc = MK_OK;
    if (is_number(gold) && is_number(pred))
        same = same_number(gold, pred);
    else if (gold->kind != MK_JSON_NULL && gold->kind == pred->kind)
        rc = same_json(gold, pred, arena, &same, err);
    *out = all_or_nothing(same);
    return rc;
}

/* ---- sets ---- */

static bool is_uid_key(mk_str key)
{
    return mk_str_eq(key, MK_STR("uid")) || mk_str_eq(key, MK_STR("src")) || mk_str_eq(key, MK_STR("dst"));
}

/* Every string under uid, src or dst at any depth; counts while `out` is NULL. False when nested too deep. */
static bool collect(const mk_json *value, bool named, mk_str *out, size_t *count, int depth)
{
    if (depth == 0)
        return false;
    if (value->kind == MK_JSON_STRING && named) {
        if (out != NULL)
            out[*count] = value->text;
        (*count)++;
    }
    for (size_t i = 0; value->kind == MK_JSON_ARRAY && i < value->n; i++)
        if (!collect(&value->items[i], false, out, count, depth - 1))
            return false;
    for (size_t i = 0; value->kind == MK_JSON_OBJECT && i < value->n; i++)
        if (!collect(&value->members[i].value, is_uid_key(value->members[i].key), out, count, depth - 1))
            return false;
    return true;
}

static bool collect_items(const mk_json *value, mk_str *out, size_t *count)
{
    *count = 0;
    if (value->kind != MK_JSON_ARRAY)
        return collect(value, true, out, count, DEPTH_MAX);
    for (size_t i = 0; i < value->n; i++)
        if (!collect(&value->items[i], true, out, count, DEPTH_MAX))
            return false;
    return true;
}

static int by_text(const void *a, const void *b)
{
    return mk_str_cmp(*(const mk_str *)a, *(const mk_str *)b);
}

mk_code mk_score_uids(const mk_json *value, mk_arena *arena, mk_str **out, size_t *count, mk_err *err)
{
    size_t most, n = 0;
    if (!collect_items(value, NULL, &most))
        return mk_fail(err, MK_E_LIMIT, "the answer is nested deeper than %d levels", DEPTH_MAX);
    *out = mk_arena_get(arena, most * sizeof **out);
    if (*out == NULL)
        return mk_fail_nomem(err);
    if (!collect_items(value, *out, &most))
        return mk_fail(err, MK_E_INTERNAL, "an answer changed while it was read");
    if (most > 0)
        qsort(*out, most, sizeof **out, by_text);
    for (size_t i = 0; i < most; i++)
        if (n == 0 || !mk_str_eq((*out)[n - 1], (*out)[i]))
            (*out)[n++] = (*out)[i];
    *count = n;
    return MK_OK;
}

static size_t common(const mk_str *a, size_t n, const mk_str *b, size_t m)
{
    size_t both = 0;
    for (size_t i = 0, k = 0; i < n && k < m;) {
        const int order = mk_str_cmp(a[i], b[k]);
        both += order == 0;
        i += order <= 0;
        k += order >= 0;
    }
    return both;
}

static mk_code score_set(const mk_json *gold, const mk_json *pred, mk_arena *arena, mk_score *out,
                         mk_err *err)
{
    mk_str *wanted = NULL, *got = NULL;
    size_t n = 0, m = 0;
    mk_code rc;
    MK_TRY(rc, mk_score_uids(gold, arena, &wanted, &n, err));
    MK_TRY(rc, mk_score_uids(pred, arena, &got, &m, err));
    if (n == 0 && m == 0) {
        *out = all_or_nothing(true);
        goto out;
    }
    const double both = (double)common(wanted, n, got, m);
    *out = (mk_score){.precision = m > 0 ? both / (double)m : 0, .recall = n > 0 ? both / (double)n : 0};
    if (out->precision + out->recall > 0)
        out->f1 = 2 * out->precision * out->recall / (out->precision + out->recall);
    out->em = n == m && both == (double)n ? 1.0 : 0.0;
out:
    return rc;
}

/* ---- intervals ---- */

static bool as_interval(const mk_json *value, double *start, double *end)
{
    static const char *const names[][2] = {{"t_a", "t_b"}, {"start", "end"}};
    for (size_t i = 0; i < 2; i++) {
        const mk_json *s = mk_json_get(value, names[i][0]), *e = mk_json_get(value, names[i][1]);
        if (s != NULL && e != NULL && is_number(s) && is_number(e)) {
            *start = number(s);
            *end = number(e);
            return true;
        }
    }
    return false;
}

static mk_score score_interval(const mk_json *gold, const mk_json *pred)
{
    double a, b, c, d;
    if (!as_interval(gold, &a, &b) || !as_interval(pred, &c, &d))
        return all_or_nothing(false);
    const double both = fmax(0, fmin(b, d) - fmax(a, c)), hull = fmax(b, d) - fmin(a, c);
    const double iou = hull > 0 && isfinite(hull) ? both / hull : 0;
    return (mk_score){iou >= 0.5 ? 1.0 : 0.0, iou, iou, iou};
}

/* ---- any kind ---- */

mk_code mk_score_answer(mk_str kind, const mk_json *gold, const mk_json *pred, mk_arena *arena,
                        mk_score *out, mk_err *err)
{
    static const mk_json null = {.kind = MK_JSON_NULL};
    const mk_arena_mark mark = mk_arena_save(arena);
    bool same = false;
    mk_code rc = MK_OK;
    pred = pred != NULL ? pred : &null;
    *out = all_or_nothing(false);
    if (is_kind(kind, "count") || is_kind(kind, "value")) {
        rc = score_value(gold, pred, arena, out, err);
    } else if (is_kind(kind, "entity_set")) {
        rc = score_set(gold, pred, arena, out, err);
    } else if (is_kind(kind, "interval")) {
        *out = score_interval(gold, pred);
    } else {
        rc = same_json(gold, pred, arena, &same, err);
        *out = all_or_nothing(same);
    }
    mk_arena_rewind(arena, mark);
    return rc;
}

/* ---- from an answer object to a value ---- */

static const mk_json *first_value(const mk_json *claims)
{
    for (size_t i = 0; i < claims->n; i++) {
        const mk_json *type = mk_json_get(&claims->items[i], "type");
        const mk_json *value = mk_json_get(&claims->items[i], "value");
        if (type != NULL && type->kind == MK_JSON_STRING && value != NULL &&
            (is_kind(type->text, "count") || is_kind(type->text, "value")))
            return value;
    }
    return NULL;
}

static const mk_json *first_interval(const mk_json *claims)
{
    for (size_t i = 0; i < claims->n; i++) {
        const mk_json *interval = mk_json_get(&claims->items[i], "interval");
        const mk_json *value = mk_json_get(&claims->items[i], "value");
        if (interval != NULL && interval->kind == MK_JSON_OBJECT && interval->n > 0)
            return interval;
        if (value != NULL && value->kind == MK_JSON_OBJECT)
            return value;
    }
    return NULL;
}

static mk_code all_uids(const mk_json *claims, mk_arena *arena, const mk_json **out, mk_err *err)
{
    size_t count = 0;
    for (size_t i = 0; i < claims->n; i++) {
        const mk_json *uids = mk_json_get(&claims->items[i], "uids");
        count += uids != NULL && uids->kind == MK_JSON_ARRAY ? uids->n : 0;
    }
    mk_json *list = mk_arena_get0(arena, sizeof *list);
    mk_json *items = mk_arena_get(arena, count * sizeof *items);
    if (list == NULL || items == NULL)
        return mk_fail_nomem(err);
    *list = (mk_json){.kind = MK_JSON_ARRAY, .items = items};
    for (size_t i = 0; i < claims->n; i++) {
        const mk_json *uids = mk_json_get(&claims->items[i], "uids");
        for (size_t k = 0; uids != NULL && uids->kind == MK_JSON_ARRAY && k < uids->n; k++)
            items[list->n++] = uids->items[k];
    }
    *out = list;
    return MK_OK;
}

mk_code mk_score_extract(mk_str kind, const mk_json *answer, mk_arena *arena, const mk_json **out,
                         mk_err *err)
{
    const mk_json *claims = mk_json_get(answer, "claims"), *text = mk_json_get(answer, "text");
    *out = answer;
    if (claims == NULL || claims->kind != MK_JSON_ARRAY || text == NULL)
        return MK_OK;
    if (is_kind(kind, "count") || is_kind(kind, "value"))
        *out = first_value(claims);
    else if (is_kind(kind, "interval"))
        *out = first_interval(claims);
    else if (is_kind(kind, "entity_set"))
        return all_uids(claims, arena, out, err);
    else
        *out = text;
    return MK_OK;
}

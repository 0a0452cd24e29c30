/* arith.c — arithmetic on JSON numbers. See arith.h. Layer: op. */
#include "op/arith.h"

#include <math.h>

#include "base/bigint.h"
#include "op/aggregate_mean.h"
#include "op/cost.h"

static bool is_int(const mk_json *a) { return a->kind == MK_JSON_INT; }
static mk_json of_i64(int64_t i) { return (mk_json){.kind = MK_JSON_INT, .i = i}; }
static mk_json of_double(double d) { return (mk_json){.kind = MK_JSON_FLOAT, .d = d}; }

static bool to_big(const mk_json *a, mk_arena *arena, mk_big *out)
{
    return a->b ? mk_big_from_digits(out, arena, a->text) : mk_big_from_i64(out, arena, a->i);
}

static mk_code from_big(const mk_big *a, mk_arena *arena, mk_json *out, mk_err *err)
{
    bool fits;
    int64_t value = 0;
    mk_str digits = {NULL, 0};
    if (!mk_big_to_text(a, arena, &fits, &value, &digits))
        return mk_fail_nomem(err);
    *out = fits ? of_i64(value) : (mk_json){.kind = MK_JSON_INT, .b = true, .text = digits};
    return MK_OK;
}

static mk_code fail_range(mk_err *err)
{
    mk_fail(err, MK_E_INVALID_ARG, "an integer beyond all floats meets a float");
    mk_err_hint(err, "compute with integers only, or with smaller ones");
    return MK_E_INVALID_ARG;
}

mk_code mk_arith_double(const mk_json *a, mk_arena *arena, double *out, mk_err *err)
{
    mk_big big;
    if (!is_int(a) || !a->b) {
        *out = is_int(a) ? (double)a->i : a->d;
        return MK_OK;
    }
    if (!to_big(a, arena, &big) || !mk_big_to_double(&big, arena, out))
        return mk_fail_nomem(err);
    return isinf(*out) ? fail_range(err) : MK_OK;
}

static mk_code two_doubles(const mk_json *a, const mk_json *b, mk_arena *arena, double d[2], mk_err *err)
{
    const mk_code rc = mk_arith_double(a, arena, &d[0], err);
    return rc == MK_OK ? mk_arith_double(b, arena, &d[1], err) : rc;
}

/* ---- add, subtract, multiply ---- */

typedef bool big_fn(mk_big *out, mk_arena *arena, const mk_big *a, const mk_big *b);

static mk_code by_big(big_fn *fn, const mk_json *a, const mk_json *b, mk_arena *arena, mk_json *out,
                      mk_err *err)
{
    mk_big x, y, result;
    if (!to_big(a, arena, &x) || !to_big(b, arena, &y) || !fn(&result, arena, &x, &y))
        return mk_fail_nomem(err);
    return from_big(&result, arena, out, err);
}

static bool both_small(const mk_json *a, const mk_json *b)
{
    return is_int(a) && is_int(b) && !a->b && !b->b;
}

mk_code mk_arith_add(const mk_json *a, const mk_json *b, mk_arena *arena, mk_json *out, mk_err *err)
{
    int64_t small;
    double d[2];
    if (both_small(a, b) && !__builtin_add_overflow(a->i, b->i, &small)) {
        *out = of_i64(small);
        return MK_OK;
    }
    if (is_int(a) && is_int(b))
        return by_big(mk_big_add, a, b, arena, out, err);
    const mk_code rc = two_doubles(a, b, arena, d, err);
    *out = of_double(d[0] + d[1]);
    return rc;
}

mk_code mk_arith_sub(const mk_json *a, const mk_json *b, mk_arena *arena, mk_json *out, mk_err *err)
{
    int64_t small;
    double d[2];
    if (both_small(a, b) && !__builtin_sub_overflow(a->i, b->i, &small)) {
        *out = of_i64(small);
        return MK_OK;
    }
    if (is_int(a) && is_int(b))
        return by_big(mk_big_sub, a, b, arena, out, err);
    const mk_code rc = two_doubles(a, b, arena, d, err);
    *out = of_double(d[0] - d[1]);
    return rc;
}

mk_code mk_arith_mul(const mk_json *a, const mk_json *b, mk_arena *arena, mk_json *out, mk_err *err)
{
    int64_t small;
    double d[2];
    if (both_small(a, b) && !__builtin_mul_overflow(a->i, b->i, &small)) {
        *out = of_i64(small);
        return MK_OK;
    }
    if (is_int(a) && is_int(b))
        return by_big(mk_big_mul, a, b, arena, out, err);
    const mk_code rc = two_doubles(a, b, arena, d, err);
    *out = of_double(d[0] * d[1]);
    return rc;
}

/* ---- division ---- */

static mk_code fail_zero(mk_err *err)
{
    mk_fail(err, MK_E_INVALID_ARG, "a division by zero");
    mk_err_hint(err, "filter out rows whose divisor is 0 first");
    return MK_E_INVALID_ARG;
}

static bool is_zero(const mk_json *a)
{
    return is_int(a) ? !a->b && a->i == 0 : a->d == 0.0;
}

/* Floor division of small integers; false for the one that overflows. */
static bool floor_small(int64_t a, int64_t b, int64_t *q, int64_t *r)
{
    if (a == INT64_MIN && b == -1)
        return false;
    *q = a / b;
    *r = a % b;
    if (*r != 0 && (*r < 0) != (b < 0)) {
        (*q)--;
        *r += b;
    }
    return true;
}

static uint64_t magnitude(int64_t i) { return i < 0 ? -(uint64_t)i : (uint64_t)i; }

static mk_code div_big(const mk_json *a, const mk_json *b, mk_arena *arena, mk_json *out, mk_err *err)
{
    mk_big x, y, q, r;
    double whole, rest;
    if (!to_big(a, arena, &x) || !to_big(b, arena, &y) || !mk_big_floordiv(&q, &r, arena, &x, &y))
        return mk_fail_nomem(err);
    if (r.n == 0)
        return from_big(&q, arena, out, err);
    if (!mk_big_to_double(&q, arena, &whole) || !mk_big_quotient(&rest, arena, &r, &y))
        return mk_fail_nomem(err);
    if (isinf(whole))
        return fail_range(err);
    *out = of_double(whole + rest);
    return MK_OK;
}

mk_code mk_arith_div(const mk_json *a, const mk_json *b, mk_arena *arena, mk_json *out, mk_err *err)
{
    int64_t q, r;
    double d[2];
    if (is_zero(b))
        return fail_zero(err);
    if (!is_int(a) || !is_int(b)) {
        const mk_code rc = two_doubles(a, b, arena, d, err);
        *out = of_double(d[0] / d[1]);
        return rc;
    }
    if (!both_small(a, b) || b->i == INT64_MIN || !floor_small(a->i, b->i, &q, &r))
        return div_big(a, b, arena, out, err);
    if (r == 0)
        *out = of_i64(q);
    else
        *out = of_double((double)q + mk_cost_quotient((int64_t)magnitude(r), (int64_t)magnitude(b->i)));
    return MK_OK;
}

/* The reference's float floor division (operators spec, 4.2). */
static double float_floor(double x, double y)
{
    const double m = fmod(x, y);
    double d = (x - m) / y;
    if (m != 0.0 && (m < 0.0) != (y < 0.0))
        d = d - 1.0;
    if (d == 0.0)
        return copysign(0.0, x / y);
    double f = floor(d);
    if (d - f > 0.5)
        f = f + 1.0;
    return f;
}

mk_code mk_arith_floordiv(const mk_json *a, const mk_json *b, mk_arena *arena, mk_json *out,
                          mk_err *err)
{
    int64_t q, r;
    double d[2];
    mk_big x, y, whole, rest;
    if (is_zero(b))
        return fail_zero(err);
    if (both_small(a, b) && floor_small(a->i, b->i, &q, &r)) {
        *out = of_i64(q);
        return MK_OK;
    }
    if (!is_int(a) || !is_int(b)) {
        const mk_code rc = two_doubles(a, b, arena, d, err);
        *out = of_double(float_floor(d[0], d[1]));
        return rc;
    }
    if (!to_big(a, arena, &x) || !to_big(b, arena, &y) ||
        !mk_big_floordiv(&whole, &rest, arena, &x, &y))
        return mk_fail_nomem(err);
    return from_big(&whole, arena, out, err);
}

/* ---- sums ---- */

/* Compensated from the first float on. *next is where an integer beyond int64 ended that; n otherwise. */
static double sum_floats(double f, const mk_json *const *values, size_t n, size_t *next)
{
    double c = 0.0;
    size_t i = *next;
    for (; i < n; i++) {
        if (is_int(values[i])) {
            if (values[i]->b)
                break;
            f = f + (double)values[i]->i;
            continue;
        }
        const double x = values[i]->d, t = f + x;
        c += fabs(f) >= fabs(x) ? (f - t) + x : (x - t) + f;
        f = t;
    }
    *next = i;
    return c != 0.0 && isfinite(c) ? f + c : f;
}

mk_code mk_arith_sum(const mk_json *const *values, size_t n, mk_arena *arena, mk_json *out, mk_err *err)
{
    mk_json sum = of_i64(0);
    bool compensate = true; /* until something breaks the fast ways, after which additions are plain */
    size_t i = 0;
    mk_code rc = MK_OK;
    while (i < n && is_int(values[i]) && !values[i]->b &&
           !__builtin_add_overflow(sum.i, values[i]->i, &sum.i))
        i++;
    if (i < n && is_int(values[i]) && !values[i]->b) /* the addition above wrapped: back to before it */
        sum.i = (int64_t)((uint64_t)sum.i - (uint64_t)values[i]->i);
    for (; i < n; compensate &= !is_int(&sum)) {
        MK_TRY(rc, mk_arith_add(&sum, values[i++], arena, &sum, err));
        if (compensate && !is_int(&sum)) {
            sum.d = sum_floats(sum.d, values, n, &i);
            compensate = false;
        }
    }
    *out = sum;
out:
    return rc;
}

mk_code mk_arith_mean(const mk_json *const *values, size_t n, mk_arena *arena, mk_json *out, mk_err *err)
{
    mk_mean mean = {0};
    mk_mean_result result;
    mk_code rc = MK_OK;
    for (size_t i = 0; i < n; i++) {
        if (!is_int(values[i]))
            MK_TRY(rc, mk_mean_float(&mean, arena, values[i]->d, err));
        else if (values[i]->b)
            MK_TRY(rc, mk_mean_digits(&mean, arena, values[i]->text, err));
        else
            MK_TRY(rc, mk_mean_int(&mean, arena, values[i]->i, err));
    }
    MK_TRY(rc, mk_mean_result_of(&mean, arena, &result, err));
    if (result.kind == MK_MEAN_INT)
        *out = of_i64(result.i);
    else if (result.kind == MK_MEAN_DIGITS)
        *out = (mk_json){.kind = MK_JSON_INT, .b = true, .text = result.digits};
    else
        *out = of_double(result.d);
out:
    return rc;
}

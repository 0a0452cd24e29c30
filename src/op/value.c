/* value.c — how JSON values are compared. See value.h. Layer: op. */
#include "op/value.h"

#include <math.h>
#include <stdio.h>

#include "base/hash.h"
#include "base/num.h"

bool mk_is_number(const mk_json *value)
{
    return value->kind == MK_JSON_INT || value->kind == MK_JSON_FLOAT;
}

bool mk_is_numeric(const mk_json *value)
{
    return mk_is_number(value) || value->kind == MK_JSON_BOOL;
}

/* ---- integers of any size ---- */

static int sign_of(const mk_json *integer)
{
    if (integer->b)
        return integer->text.p[0] == '-' ? -1 : 1;
    return (integer->i > 0) - (integer->i < 0);
}

static mk_str magnitude(mk_str digits)
{
    return digits.p[0] == '-' ? (mk_str){digits.p + 1, digits.n - 1} : digits;
}

/* Canonical digits without signs. */
static int digits_compare(mk_str a, mk_str b)
{
    if (a.n != b.n)
        return a.n < b.n ? -1 : 1;
    const int order = memcmp(a.p, b.p, a.n);
    return (order > 0) - (order < 0);
}

int mk_integer_compare(const mk_json *a, const mk_json *b)
{
    if (!a->b && !b->b)
        return (a->i > b->i) - (a->i < b->i);
    if (a->b != b->b) /* the one beyond int64 decides */
        return a->b ? sign_of(a) : -sign_of(b);
    if (sign_of(a) != sign_of(b))
        return sign_of(a);
    return sign_of(a) * digits_compare(magnitude(a->text), magnitude(b->text));
}

/* ---- an integer and a float ---- */

static int small_against_float(int64_t i, double d)
{
    if (d >= 0x1p63)
        return -1;
    if (d < -0x1p63)
        return 1;
    const int64_t whole = (int64_t)d; /* towards zero */
    if (i != whole)
        return i < whole ? -1 : 1;
    const double rest = d - (double)whole; /* exact: below 2^53 there are fractions, above none */
    return (rest < 0.0) - (rest > 0.0);
}

/* A float that is as large as an integer beyond int64 is an integer itself, and has exact digits. */
static int big_against_float(const mk_json *big, double d)
{
    const int sign = sign_of(big);
    if (isinf(d))
        return d > 0 ? -1 : 1;
    if (fabs(d) < 0x1p63 || (d < 0) != (sign < 0))
        return sign;
    char digits[400];
    const int n = snprintf(digits, sizeof digits, "%.0f", fabs(d));
    return sign * digits_compare(magnitude(big->text), (mk_str){digits, (size_t)n});
}

static int integer_against_float(const mk_json *integer, double d)
{
    return integer->b ? big_against_float(integer, d) : small_against_float(integer->i, d);
}

int mk_number_compare(const mk_json *a, const mk_json *b, bool *unordered)
{
    mk_json as_int[2];
    const mk_json *x[2] = {a, b};
    if (unordered != NULL)
        *unordered = false;
    for (int i = 0; i < 2; i++) {
        if (x[i]->kind == MK_JSON_FLOAT && isnan(x[i]->d)) {
            if (unordered != NULL)
                *unordered = true;
            return 0;
        }
        if (x[i]->kind == MK_JSON_BOOL) {
            as_int[i] = (mk_json){.kind = MK_JSON_INT, .i = x[i]->b};
            x[i] = &as_int[i];
        }
    }
    if (x[0]->kind == MK_JSON_INT && x[1]->kind == MK_JSON_INT)
        return mk_integer_compare(x[0], x[1]);
    if (x[0]->kind == MK_JSON_INT)
        return integer_against_float(x[0], x[1]->d);
    if (x[1]->kind == MK_JSON_INT)
        return -integer_against_float(x[1], x[0]->d);
    return (x[0]->d > x[1]->d) - (x[0]->d < x[1]->d);
}

/* ---- equality ---- */

static bool lists_equal(const mk_json *a, const mk_json *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (!mk_value_equal(&a->items[i], &b->items[i]))
            return false;
    return true;
}

static bool objects_equal(const mk_json *a, const mk_json *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++) {
        /* Objects of the store have sorted members, so the partner mostly stands at the same place. */
        const mk_json *other = mk_str_eq(a->members[i].key, b->members[i].key)
                                   ? &b->members[i].value
                                   : mk_json_get_n(b, a->members[i].key);
        if (other == NULL || !mk_value_equal(&a->members[i].value, other))
            return false;
    }
    return true;
}

bool mk_value_equal(const mk_json *a, const mk_json *b)
{
    if (mk_is_numeric(a) && mk_is_numeric(b)) {
        bool unordered;
        return mk_number_compare(a, b, &unordered) == 0 && !unordered;
    }
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case MK_JSON_NULL: return true;
    case MK_JSON_STRING: return mk_str_eq(a->text, b->text);
    case MK_JSON_ARRAY: return lists_equal(a, b);
    case MK_JSON_OBJECT: return objects_equal(a, b);
    default: return false;
    }
}

/* ---- keys ---- */

bool mk_is_scalar(const mk_json *value)
{
    return value->kind != MK_JSON_ARRAY && value->kind != MK_JSON_OBJECT;
}

static uint64_t hash_double(double d, uint64_t seed)
{
    uint64_t bits;
    d = d == 0.0 ? 0.0 : d; /* -0.0 is 0.0 */
    memcpy(&bits, &d, sizeof bits);
    return mk_mix64(bits ^ seed);
}

/* As the double that it equals; where there is none it equals integers only, and goes by its digits: many
 * integers share a nearest double, and a list of such keys must not share a slot. */
static uint64_t hash_integer(const mk_json *value, uint64_t seed)
{
    const double d = value->b ? mk_double_parse(value->text) : (double)value->i;
    if (integer_against_float(value, d) == 0)
        return hash_double(d, seed);
    return value->b ? mk_hash64(value->text.p, value->text.n, seed)
                    : mk_mix64((uint64_t)value->i ^ seed);
}

uint64_t mk_scalar_hash(const mk_json *value, uint64_t seed)
{
    switch (value->kind) {
    case MK_JSON_STRING: return mk_hash64(value->text.p, value->text.n, seed);
    case MK_JSON_INT: return hash_integer(value, seed);
    case MK_JSON_BOOL: return hash_double(value->b ? 1.0 : 0.0, seed);
    case MK_JSON_FLOAT:
        /* NaN equals nothing, so its place tells it from other NaN, which would all share a slot. */
        return isnan(value->d) ? mk_mix64((uint64_t)(uintptr_t)value ^ seed)
                               : hash_double(value->d, seed);
    default: return mk_mix64(seed);
    }
}

static int kind_rank(const mk_json *value)
{
    switch (value->kind) {
    case MK_JSON_NULL: return 0;
    case MK_JSON_BOOL: return 1;
    case MK_JSON_FLOAT: return 2;
    case MK_JSON_INT: return 3;
    default: return 4;
    }
}

int mk_key_compare(const mk_json *a, const mk_json *b)
{
    const int x = kind_rank(a), y = kind_rank(b);
    if (x != y)
        return x < y ? -1 : 1;
    if (a->kind == MK_JSON_STRING)
        return mk_str_cmp(a->text, b->text);
    return a->kind == MK_JSON_NULL ? 0 : mk_number_compare(a, b, NULL);
}

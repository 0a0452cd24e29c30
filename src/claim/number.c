/* number.c — numbers and values of JSON, compared exactly. Layer: claim.
 *
 * Integers keep all their digits, so that two neighbours above 2^53 stay two; an integer and a float are
 * compared by their true values. Source: agent spec, 2.2, 12.3; operators spec, 4.3. */
#include <math.h>

#include "base/num.h"
#include "claim/claim_internal.h"

#define TWO_63 9223372036854775808.0
#define TWO_53 9007199254740992.0
#define TOLERANCE 1e-9
/* Members are looked up one by one, so objects of more are not compared: arguments and rows have far
 * fewer, and hostile ones cost no more than this many look-ups a member. */
#define MEMBERS_MAX 256

bool mk_claim__is_number(const mk_json *value)
{
    return value != NULL && (value->kind == MK_JSON_INT ||
                             (value->kind == MK_JSON_FLOAT && isfinite(value->d)));
}

bool mk_claim__i64(const mk_json *value, int64_t *out)
{
    if (value == NULL || value->kind != MK_JSON_INT || value->b)
        return false;
    *out = value->i;
    return true;
}

double mk_claim__double(const mk_json *number)
{
    if (number->kind == MK_JSON_FLOAT)
        return number->d;
    return number->b ? mk_double_parse(number->text) : (double)number->i;
}

static int order_of(double a, double b) { return (a > b) - (a < b); }

/* Canonical digits of any length. */
static int compare_digits(mk_str a, mk_str b)
{
    const bool a_minus = a.n > 0 && a.p[0] == '-', b_minus = b.n > 0 && b.p[0] == '-';
    if (a_minus != b_minus)
        return a_minus ? -1 : 1;
    int order = a.n != b.n ? (a.n > b.n ? 1 : -1) : memcmp(a.p, b.p, a.n);
    order = (order > 0) - (order < 0);
    return a_minus ? -order : order;
}

static mk_str digits_of(const mk_json *integer, char room[24])
{
    if (integer->b)
        return integer->text;
    return (mk_str){room, mk_i64_text(room, integer->i)};
}

static int compare_i64_double(int64_t i, double d)
{
    if (d >= TWO_63)
        return -1;
    if (d < -TWO_63)
        return 1;
    const int64_t whole = (int64_t)d;
    if (i != whole)
        return i > whole ? 1 : -1;
    return order_of((double)whole, d);
}

int mk_claim__compare(const mk_json *a, const mk_json *b)
{
    if (a->kind == MK_JSON_INT && b->kind == MK_JSON_INT) {
        char room_a[24], room_b[24];
        if (!a->b && !b->b)
            return (a->i > b->i) - (a->i < b->i);
        return compare_digits(digits_of(a, room_a), digits_of(b, room_b));
    }
    if (a->kind == MK_JSON_INT && !a->b)
        return compare_i64_double(a->i, b->d);
    if (b->kind == MK_JSON_INT && !b->b)
        return -compare_i64_double(b->i, a->d);
    return order_of(mk_claim__double(a), mk_claim__double(b));
}

bool mk_claim__same_number(const mk_json *a, const mk_json *b)
{
    if (mk_claim__compare(a, b) == 0)
        return true;
    if (a->kind == MK_JSON_INT && b->kind == MK_JSON_INT)
        return false;
    const double x = mk_claim__double(a), y = mk_claim__double(b);
    return fabs(x) < TWO_53 && fabs(y) < TWO_53 && fabs(x - y) <= TOLERANCE;
}

/* ---- values ---- */

static bool same_at(const mk_json *a, const mk_json *b, int depth);

static bool same_members(const mk_json *a, const mk_json *b, int depth)
{
    if (a->n != b->n || a->n > MEMBERS_MAX)
        return false;
    for (size_t i = 0; i < a->n; i++) {
        const mk_json *other = mk_json_get_n(b, a->members[i].key);
        if (other == NULL || !same_at(&a->members[i].value, other, depth))
            return false;
    }
    return true;
}

static bool same_at(const mk_json *a, const mk_json *b, int depth)
{
    if (mk_claim__is_number(a) && mk_claim__is_number(b))
        return mk_claim__compare(a, b) == 0;
    if (a->kind != b->kind || depth == 0)
        return false;
    switch (a->kind) {
    case MK_JSON_NULL:
        return true;
    case MK_JSON_BOOL:
        return a->b == b->b;
    case MK_JSON_STRING:
        return mk_str_eq(a->text, b->text);
    case MK_JSON_OBJECT:
        return same_members(a, b, depth - 1);
    case MK_JSON_ARRAY:
        if (a->n != b->n)
            return false;
        for (size_t i = 0; i < a->n; i++)
            if (!same_at(&a->items[i], &b->items[i], depth - 1))
                return false;
        return true;
    default:
        return false;
    }
}

bool mk_claim__same(const mk_json *a, const mk_json *b)
{
    return same_at(a, b, MK_CLAIM_DEPTH_MAX);
}

/* ---- comparisons by name ---- */

static const char *const comparisons[] = {"eq", "ne", "lt", "le", "gt", "ge", "contains"};

bool mk_claim__is_cmp(mk_str cmp)
{
    for (size_t i = 0; i < sizeof comparisons / sizeof *comparisons; i++)
        if (mk_str_eq(cmp, mk_str_of(comparisons[i])))
            return true;
    return false;
}

static bool order_holds(int order, mk_str cmp)
{
    if (mk_str_eq(cmp, MK_STR("eq")))
        return order == 0;
    if (mk_str_eq(cmp, MK_STR("ne")))
        return order != 0;
    if (mk_str_eq(cmp, MK_STR("lt")))
        return order < 0;
    if (mk_str_eq(cmp, MK_STR("le")))
        return order <= 0;
    if (mk_str_eq(cmp, MK_STR("gt")))
        return order > 0;
    return order >= 0;
}

static bool holds_part(mk_str whole, mk_str part)
{
    return part.n == 0 || (whole.n >= part.n && memmem(whole.p, whole.n, part.p, part.n) != NULL);
}

static bool holds_contained(const mk_json *left, const mk_json *right, bool *known)
{
    *known = true;
    if (left->kind == MK_JSON_STRING && right->kind == MK_JSON_STRING)
        return holds_part(left->text, right->text);
    if (left->kind == MK_JSON_ARRAY) {
        for (size_t i = 0; i < left->n; i++)
            if (mk_claim__same(&left->items[i], right))
                return true;
        return false;
    }
    *known = false;
    return false;
}

bool mk_claim__holds(const mk_json *left, mk_str cmp, const mk_json *right, bool *known)
{
    *known = mk_claim__is_cmp(cmp);
    if (!*known)
        return false;
    if (mk_str_eq(cmp, MK_STR("contains")))
        return holds_contained(left, right, known);
    if (mk_claim__is_number(left) && mk_claim__is_number(right))
        return order_holds(mk_claim__same_number(left, right) ? 0 : mk_claim__compare(left, right), cmp);
    if (left->kind == MK_JSON_STRING && right->kind == MK_JSON_STRING)
        return order_holds(mk_str_cmp(left->text, right->text), cmp);
    /* Of values of two kinds it is only known that they differ, and of others whether they do. */
    *known = mk_str_eq(cmp, MK_STR("eq")) || mk_str_eq(cmp, MK_STR("ne"));
    return *known && mk_claim__same(left, right) == mk_str_eq(cmp, MK_STR("eq"));
}

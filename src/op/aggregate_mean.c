/* aggregate_mean.c — see aggregate_mean.h. Layer: op.
 *
 * A sum is an array of cells; cell i counts units of 2^(32 i), in a sum of doubles times 2^-1074, the
 * smallest of them. A value is cut at multiples of 32 bits and its pieces are added to their cells, of
 * which each has room for 2^31 pieces; after 2^30 the carries are passed on. Nothing is rounded before
 * the end. */
#include "op/aggregate_mean.h"

#include <math.h>

#include "base/num.h"
#include "op/cost.h"

#define REAL_CELLS 70u           /* 2,240 bits: doubles span 2,098, and 2^64 of them need 64 more */
#define REAL_UNIT 1074           /* cell 0 of a sum of doubles counts units of 2^-1074 */
#define PENDING_MAX (1u << 30)
#define HEADROOM 3u              /* cells above the longest value: 2^64 of them, and a sign */
#define SMALL_MAX (INT64_C(1) << 53)

typedef struct mk_mean_cells cells;
struct mk_mean_cells {
    size_t count;
    uint32_t pending; /* values added since the carries were passed on */
    int64_t cell[];
};

static cells *cells_new(mk_arena *arena, size_t count)
{
    cells *c = mk_arena_get0(arena, sizeof *c + count * sizeof c->cell[0]);
    if (c != NULL)
        c->count = count;
    return c;
}

/* Cells below the last come to lie in [0, 2^32); the last one carries the sign. */
static void pass_carries(cells *c)
{
    int64_t carry = 0;
    for (size_t i = 0; i + 1 < c->count; i++) {
        const int64_t v = c->cell[i] + carry;
        carry = v >> 32;
        c->cell[i] = v & 0xFFFFFFFF;
    }
    c->cell[c->count - 1] += carry;
    c->pending = 0;
}

/* Adds or takes away value * 2^(32 at). */
static void add_bits(cells *c, size_t at, unsigned __int128 value, bool minus)
{
    for (; value != 0; value >>= 32, at++) {
        const int64_t piece = (int64_t)(uint32_t)value;
        c->cell[at] += minus ? -piece : piece;
    }
    if (++c->pending == PENDING_MAX)
        pass_carries(c);
}

static void add_double(cells *real, double d)
{
    int exponent;
    const double part = frexp(fabs(d), &exponent); /* in [0.5, 1), or 0 */
    uint64_t bits = (uint64_t)ldexp(part, 53);
    int at = exponent - 53 + REAL_UNIT;
    if (at < 0) { /* a subnormal, whose last bits are zeros */
        bits >>= -at;
        at = 0;
    }
    add_bits(real, (size_t)at / 32, (unsigned __int128)bits << (at % 32), signbit(d));
}

static void add_wide(cells *c, size_t at, unsigned shift, __int128 value)
{
    const bool minus = value < 0;
    unsigned __int128 rest = minus ? -(unsigned __int128)value : (unsigned __int128)value;
    for (; rest != 0; rest >>= 64, at += 2)
        add_bits(c, at, (unsigned __int128)(uint64_t)rest << shift, minus);
}

static mk_code need_real(mk_mean *mean, mk_arena *arena, mk_err *err)
{
    if (mean->real == NULL)
        mean->real = cells_new(arena, REAL_CELLS);
    return mean->real != NULL ? MK_OK : mk_fail_nomem(err);
}

/* Room in the sum of integers for values of `count` cells. */
static mk_code need_whole(mk_mean *mean, mk_arena *arena, size_t count, mk_err *err)
{
    count += HEADROOM;
    cells *old = mean->whole;
    if (old != NULL && old->count >= count)
        return MK_OK;
    cells *grown = cells_new(arena, count);
    if (grown == NULL)
        return mk_fail_nomem(err);
    if (old != NULL) {
        pass_carries(old);
        memcpy(grown->cell, old->cell, old->count * sizeof old->cell[0]);
        /* The last cell's sign goes on upwards. */
        const int64_t top = old->cell[old->count - 1];
        grown->cell[old->count - 1] = top & 0xFFFFFFFF;
        grown->cell[old->count] = top >> 32;
    }
    mean->whole = grown;
    return MK_OK;
}

/* ---- taking values ---- */

mk_code mk_mean_int(mk_mean *mean, mk_arena *arena, int64_t value, mk_err *err)
{
    mk_code rc = MK_OK;
    if (value >= -SMALL_MAX && value <= SMALL_MAX) {
        mean->n++;
        mean->small += value;
        return MK_OK;
    }
    MK_TRY(rc, need_whole(mean, arena, 2, err));
    MK_TRY(rc, need_real(mean, arena, err));
    add_wide(mean->whole, 0, 0, value);
    add_double(mean->real, (double)value);
    mean->n++;
out:
    return rc;
}

/* Digits to cells: multiply by 10^9 and add, nine digits at a time. Returns the cells used. */
static size_t parse_digits(mk_str digits, uint32_t *cell)
{
    size_t used = 0;
    for (size_t i = 0; i < digits.n;) {
        uint64_t factor = 1, carry = 0;
        const size_t stop = i + 9 < digits.n ? i + 9 : digits.n;
        for (; i < stop; i++) {
            factor *= 10;
            carry = carry * 10 + (uint64_t)(digits.p[i] - '0');
        }
        for (size_t k = 0; k < used; k++) {
            const uint64_t v = cell[k] * factor + carry;
            cell[k] = (uint32_t)v;
            carry = v >> 32;
        }
        if (carry != 0)
            cell[used++] = (uint32_t)carry;
    }
    return used;
}

mk_code mk_mean_digits(mk_mean *mean, mk_arena *arena, mk_str digits, mk_err *err)
{
    int64_t small;
    if (mk_str_to_i64(digits, &small))
        return mk_mean_int(mean, arena, small, err);
    const double nearest = mk_double_parse(digits);
    const bool minus = digits.p[0] == '-';
    if (minus)
        digits = (mk_str){digits.p + 1, digits.n - 1};
    const size_t cells_max = digits.n / 9 + 1;
    mk_code rc = MK_OK;
    MK_TRY(rc, need_whole(mean, arena, cells_max, err));
    MK_TRY(rc, need_real(mean, arena, err));
    const mk_arena_mark mark = mk_arena_save(arena);
    uint32_t *cell = mk_arena_get(arena, cells_max * sizeof *cell);
    if (cell == NULL)
        return mk_fail_nomem(err);
    const size_t used = parse_digits(digits, cell);
    for (size_t i = 0; i < used; i++)
        mean->whole->cell[i] += minus ? -(int64_t)cell[i] : (int64_t)cell[i];
    if (++mean->whole->pending == PENDING_MAX)
        pass_carries(mean->whole);
    mk_arena_rewind(arena, mark);
    if (isfinite(nearest))
        add_double(mean->real, nearest);
    else
        mean->special += nearest;
    mean->n++;
out:
    return rc;
}

mk_code mk_mean_float(mk_mean *mean, mk_arena *arena, double value, mk_err *err)
{
    mk_code rc = MK_OK;
    MK_TRY(rc, need_real(mean, arena, err));
    if (isfinite(value))
        add_double(mean->real, value);
    else
        mean->special += value;
    mean->floats = true;
    mean->n++;
out:
    return rc;
}

static void add_cells(cells *into, cells *from)
{
    pass_carries(into);
    pass_carries(from);
    for (size_t i = 0; i < from->count; i++)
        into->cell[i] += from->cell[i];
    pass_carries(into);
}

mk_code mk_mean_merge(mk_mean *into, mk_arena *arena, const mk_mean *from, mk_err *err)
{
    mk_code rc = MK_OK;
    if (from->whole != NULL) {
        MK_TRY(rc, need_whole(into, arena, from->whole->count, err));
        add_cells(into->whole, from->whole);
    }
    if (from->real != NULL) {
        MK_TRY(rc, need_real(into, arena, err));
        add_cells(into->real, from->real);
    }
    into->n += from->n;
    into->small += from->small;
    into->floats |= from->floats;
    into->special += from->special;
out:
    return rc;
}

/* ---- results ---- */

/* The absolute value in cells of [0, 2^32); true when the sum was negative. */
static bool magnitude(cells *c)
{
    pass_carries(c);
    const bool minus = c->cell[c->count - 1] < 0;
    if (minus) {
        for (size_t i = 0; i < c->count; i++)
            c->cell[i] = -c->cell[i];
        pass_carries(c);
    }
    return minus;
}

/* The double nearest to the cells' value, ties to even. A result below 2^-1022 has no bits to lose,
 * because all values are multiples of 2^-1074; so there is one rounding. */
static double round_cells(const cells *c, bool minus)
{
    size_t top = c->count;
    while (top > 0 && c->cell[top - 1] == 0)
        top--;
    if (top == 0)
        return 0.0;
    unsigned __int128 window = 0; /* the three highest cells */
    for (size_t i = 0; i < 3; i++)
        window = window << 32 | (top > i ? (uint32_t)c->cell[top - 1 - i] : 0);
    bool rest = false;
    for (size_t i = 0; i + 3 < top; i++)
        rest |= c->cell[i] != 0;
    const int zeros = __builtin_clz((uint32_t)c->cell[top - 1]);
    window <<= zeros;
    rest |= (uint32_t)window != 0;
    const uint64_t bits = (uint64_t)(window >> 32) | rest;
    const double d = ldexp((double)bits, 32 * ((int)top - 3) + 32 - zeros - REAL_UNIT);
    return minus ? -d : d;
}

static mk_code mean_of_floats(const mk_mean *mean, mk_arena *arena, mk_mean_result *out, mk_err *err)
{
    out->kind = MK_MEAN_FLOAT;
    if (mean->special != 0.0) { /* true for NaN too */
        out->d = mean->special;
        return MK_OK;
    }
    cells *sum = cells_new(arena, REAL_CELLS);
    if (sum == NULL)
        return mk_fail_nomem(err);
    add_cells(sum, mean->real);
    add_wide(sum, REAL_UNIT / 32, REAL_UNIT % 32, mean->small);
    const bool minus = magnitude(sum);
    out->d = round_cells(sum, minus) / (double)mean->n;
    return MK_OK;
}

/* Divides in place; returns the remainder. */
static uint64_t divide(cells *c, uint64_t by)
{
    unsigned __int128 rest = 0;
    for (size_t i = c->count; i-- > 0;) {
        rest = rest << 32 | (uint32_t)c->cell[i];
        c->cell[i] = (int64_t)(uint32_t)(rest / by);
        rest %= by;
    }
    return (uint64_t)rest;
}

/* Decimal digits; uses up the cells. */
static mk_code to_digits(cells *c, bool minus, mk_arena *arena, mk_str *out, mk_err *err)
{
    const size_t size = c->count * 10 + 12;
    char *text = mk_arena_get(arena, size);
    if (text == NULL)
        return mk_fail_nomem(err);
    size_t at = size, top = c->count;
    do {
        uint64_t nine = divide(c, 1000000000);
        while (top > 0 && c->cell[top - 1] == 0)
            top--;
        for (int i = 0; i < 9; i++, nine /= 10)
            text[--at] = (char)('0' + nine % 10);
    } while (top > 0);
    while (at + 1 < size && text[at] == '0')
        at++;
    if (minus && text[at] != '0')
        text[--at] = '-';
    *out = (mk_str){text + at, size - at};
    return MK_OK;
}

/* Floor division of a sum that may be beyond 128 bits. */
static mk_code mean_of_whole(const mk_mean *mean, mk_arena *arena, mk_mean_result *out, mk_err *err)
{
    mk_code rc = MK_OK;
    cells *sum = cells_new(arena, mean->whole->count + HEADROOM);
    if (sum == NULL)
        return mk_fail_nomem(err);
    add_cells(sum, mean->whole);
    add_wide(sum, 0, 0, mean->small);
    const bool minus = magnitude(sum);
    uint64_t rest = divide(sum, mean->n);
    if (rest != 0 && minus) {
        add_bits(sum, 0, 1, false);
        pass_carries(sum);
        rest = mean->n - rest;
    }
    MK_TRY(rc, to_digits(sum, minus, arena, &out->digits, err));
    if (rest != 0) {
        out->kind = MK_MEAN_FLOAT;
        out->d = mk_double_parse(out->digits) + mk_cost_quotient((int64_t)rest, (int64_t)mean->n);
    } else {
        out->kind = mk_str_to_i64(out->digits, &out->i) ? MK_MEAN_INT : MK_MEAN_DIGITS;
    }
out:
    return rc;
}

/* Q of the operators spec, 4.2. */
static void mean_of_small(const mk_mean *mean, mk_mean_result *out)
{
    const __int128 n = (__int128)mean->n;
    __int128 q = mean->small / n, rest = mean->small % n;
    if (rest < 0) {
        rest += n;
        q--;
    }
    if (rest == 0) {
        *out = (mk_mean_result){.kind = MK_MEAN_INT, .i = (int64_t)q};
        return;
    }
    *out = (mk_mean_result){.kind = MK_MEAN_FLOAT,
                            .d = (double)(int64_t)q +
                                 mk_cost_quotient((int64_t)rest, (int64_t)mean->n)};
}

mk_code mk_mean_result_of(const mk_mean *mean, mk_arena *arena, mk_mean_result *out, mk_err *err)
{
    *out = (mk_mean_result){.kind = MK_MEAN_NONE};
    if (mean->n == 0)
        return MK_OK;
    if (mean->floats)
        return mean_of_floats(mean, arena, out, err);
    if (mean->whole != NULL)
        return mean_of_whole(mean, arena, out, err);
    mean_of_small(mean, out);
    return MK_OK;
}

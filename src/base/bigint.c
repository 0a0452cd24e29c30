/* bigint.c — integers of any size. See bigint.h. Layer: base. */
#include "base/bigint.h"

#include <math.h>

static bool make(mk_big *out, mk_arena *arena, size_t limbs)
{
    size_t size;
    *out = (mk_big){.n = limbs};
    if (!mk_size_mul(limbs + 1, sizeof *out->limb, &size))
        return false;
    out->limb = mk_arena_get0(arena, size);
    if (out->limb == NULL)
        out->n = 0; /* trim, on the way out, must find no limbs */
    return out->limb != NULL;
}

static void trim(mk_big *a)
{
    while (a->n > 0 && a->limb[a->n - 1] == 0)
        a->n--;
    a->minus &= a->n > 0;
}

/* ---- in and out ---- */

bool mk_big_from_i64(mk_big *out, mk_arena *arena, int64_t value)
{
    const uint64_t magnitude = value < 0 ? -(uint64_t)value : (uint64_t)value;
    if (!make(out, arena, 2))
        return false;
    out->limb[0] = (uint32_t)magnitude;
    out->limb[1] = (uint32_t)(magnitude >> 32);
    out->minus = value < 0;
    trim(out);
    return true;
}

/* magnitude = magnitude * factor + add; there is room. */
static void mul_add(mk_big *a, uint32_t factor, uint32_t add)
{
    uint64_t carry = add;
    for (size_t i = 0; i < a->n; i++) {
        carry += (uint64_t)a->limb[i] * factor;
        a->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry != 0)
        a->limb[a->n++] = (uint32_t)carry;
}

bool mk_big_from_digits(mk_big *out, mk_arena *arena, mk_str digits)
{
    const bool minus = digits.n > 0 && digits.p[0] == '-';
    if (!make(out, arena, digits.n / 9 + 2)) /* nine digits need less than a limb */
        return false;
    out->n = 0;
    for (size_t i = minus; i < digits.n; i++)
        mul_add(out, 10, (uint32_t)(digits.p[i] - '0'));
    out->minus = minus;
    trim(out);
    return true;
}

/* magnitude /= by; gives the remainder. */
static uint32_t div_small(mk_big *a, uint32_t by)
{
    uint64_t rest = 0;
    for (size_t i = a->n; i-- > 0;) {
        rest = rest << 32 | a->limb[i];
        a->limb[i] = (uint32_t)(rest / by);
        rest %= by;
    }
    trim(a);
    return (uint32_t)rest;
}

static bool copy(mk_big *out, mk_arena *arena, const mk_big *a)
{
    if (!make(out, arena, a->n))
        return false;
    if (a->n > 0)
        memcpy(out->limb, a->limb, a->n * sizeof *a->limb);
    out->minus = a->minus;
    return true;
}

bool mk_big_to_text(const mk_big *a, mk_arena *arena, bool *fits, int64_t *value, mk_str *digits)
{
    const uint64_t low = (a->n > 0 ? a->limb[0] : 0) | (uint64_t)(a->n > 1 ? a->limb[1] : 0) << 32;
    const uint64_t most = (uint64_t)INT64_MAX + a->minus;
    *fits = a->n <= 2 && low <= most;
    if (*fits) {
        *value = (int64_t)(a->minus ? -low : low);
        return true;
    }
    mk_big rest;
    const size_t size = a->n * 10 + 2; /* a limb has less than ten digits */
    char *text = mk_arena_get(arena, size);
    if (text == NULL || !copy(&rest, arena, a))
        return false;
    size_t at = size;
    while (rest.n > 0) {
        uint32_t nine = div_small(&rest, 1000000000);
        for (int i = 0; i < 9 && (rest.n > 0 || nine != 0); i++, nine /= 10)
            text[--at] = (char)('0' + nine % 10);
    }
    if (a->minus)
        text[--at] = '-';
    *digits = (mk_str){text + at, size - at};
    return true;
}

/* ---- magnitudes ---- */

static int compare(const mk_big *a, const mk_big *b)
{
    if (a->n != b->n)
        return a->n < b->n ? -1 : 1;
    for (size_t i = a->n; i-- > 0;)
        if (a->limb[i] != b->limb[i])
            return a->limb[i] < b->limb[i] ? -1 : 1;
    return 0;
}

static bool add_magnitudes(mk_big *out, mk_arena *arena, const mk_big *a, const mk_big *b)
{
    const size_t n = (a->n > b->n ? a->n : b->n) + 1;
    uint64_t carry = 0;
    if (!make(out, arena, n))
        return false;
    for (size_t i = 0; i < n; i++) {
        carry += (uint64_t)(i < a->n ? a->limb[i] : 0) + (i < b->n ? b->limb[i] : 0);
        out->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    return true;
}

/* |a| - |b|, where |a| is not less. */
static bool sub_magnitudes(mk_big *out, mk_arena *arena, const mk_big *a, const mk_big *b)
{
    int64_t borrow = 0;
    if (!make(out, arena, a->n))
        return false;
    for (size_t i = 0; i < a->n; i++) {
        borrow += (int64_t)a->limb[i] - (i < b->n ? b->limb[i] : 0);
        out->limb[i] = (uint32_t)borrow;
        borrow >>= 32;
    }
    return true;
}

static bool add_signed(mk_big *out, mk_arena *arena, const mk_big *a, const mk_big *b, bool b_minus)
{
    bool ok;
    if (a->minus == b_minus) {
        ok = add_magnitudes(out, arena, a, b);
        out->minus = a->minus;
    } else if (compare(a, b) >= 0) {
        ok = sub_magnitudes(out, arena, a, b);
        out->minus = a->minus;
    } else {
        ok = sub_magnitudes(out, arena, b, a);
        out->minus = b_minus;
    }
    trim(out);
    return ok;
}

bool mk_big_add(mk_big *out, mk_arena *arena, const mk_big *a, const mk_big *b)
{
    return add_signed(out, arena, a, b, b->minus);
}

bool mk_big_sub(mk_big *out, mk_arena *arena, const mk_big *a, const mk_big *b)
{
    return add_signed(out, arena, a, b, !b->minus);
}

bool mk_big_mul(mk_big *out, mk_arena *arena, const mk_big *a, const mk_big *b)
{
    if (!make(out, arena, a->n + b->n))
        return false;
    for (size_t i = 0; i < a->n; i++) {
        uint64_t carry = 0;
        for (size_t k = 0; k < b->n; k++) {
            carry += (uint64_t)a->limb[i] * b->limb[k] + out->limb[i + k];
            out->limb[i + k] = (uint32_t)carry;
            carry >>= 32;
        }
        out->limb[i + b->n] = (uint32_t)carry;
    }
    out->minus = a->minus != b->minus;
    trim(out);
    return true;
}

/* ---- division ---- */

static bool shift_left(mk_big *out, mk_arena *arena, const mk_big *a, size_t bits)
{
    const size_t limbs = bits / 32;
    const unsigned rest = (unsigned)(bits % 32);
    if (!make(out, arena, a->n + limbs + 1))
        return false;
    for (size_t i = 0; i < a->n; i++) {
        const uint64_t wide = (uint64_t)a->limb[i] << rest;
        out->limb[i + limbs] |= (uint32_t)wide;
        out->limb[i + limbs + 1] = (uint32_t)(wide >> 32);
    }
    out->minus = a->minus;
    trim(out);
    return true;
}

/* One digit of Knuth's algorithm D: u[at..at + v->n] -= digit * v; returns the digit. */
static uint32_t divide_step(uint32_t *u, const mk_big *v, size_t at)
{
    const uint64_t top = (uint64_t)u[at + v->n] << 32 | u[at + v->n - 1];
    uint64_t digit = top / v->limb[v->n - 1], rest = top % v->limb[v->n - 1];
    while (digit > UINT32_MAX ||
           (v->n > 1 && digit * v->limb[v->n - 2] > (rest << 32 | u[at + v->n - 2]))) {
        digit--;
        rest += v->limb[v->n - 1];
        if (rest > UINT32_MAX)
            break;
    }
    int64_t borrow = 0;
    uint64_t carry = 0;
    for (size_t i = 0; i <= v->n; i++) {
        carry += i < v->n ? digit * v->limb[i] : 0;
        borrow += (int64_t)u[at + i] - (uint32_t)carry;
        u[at + i] = (uint32_t)borrow;
        carry >>= 32;
        borrow >>= 32;
    }
    if (borrow == 0)
        return (uint32_t)digit;
    carry = 0; /* one too many: add v back */
    for (size_t i = 0; i <= v->n; i++) {
        carry += (uint64_t)u[at + i] + (i < v->n ? v->limb[i] : 0);
        u[at + i] = (uint32_t)carry;
        carry >>= 32;
    }
    return (uint32_t)digit - 1;
}

/* |a| = q |b| + r, both not negative. */
static bool divide_magnitudes(mk_big *q, mk_big *r, mk_arena *arena, const mk_big *a, const mk_big *b)
{
    mk_big u, v;
    const unsigned shift = (unsigned)__builtin_clz(b->limb[b->n - 1]);
    if (!shift_left(&v, arena, b, shift) || !shift_left(&u, arena, a, shift))
        return false;
    u.n = a->n + 1; /* with a leading zero where there is one; make left room */
    if (!make(q, arena, a->n >= b->n ? a->n - b->n + 1 : 0))
        return false;
    for (size_t at = q->n; at-- > 0;)
        q->limb[at] = divide_step(u.limb, &v, at);
    trim(q);
    u.minus = false;
    trim(&u);
    if (!copy(r, arena, &u))
        return false;
    for (unsigned i = 0; i < shift; i++) { /* back by the same bits, at most 31 */
        uint32_t down = 0;
        for (size_t k = r->n; k-- > 0;) {
            const uint32_t low = r->limb[k] & 1;
            r->limb[k] = r->limb[k] >> 1 | down << 31;
            down = low;
        }
    }
    trim(r);
    return true;
}

bool mk_big_floordiv(mk_big *q, mk_big *r, mk_arena *arena, const mk_big *a, const mk_big *b)
{
    mk_big whole, rest, one;
    if (!divide_magnitudes(&whole, &rest, arena, a, b) || !mk_big_from_i64(&one, arena, 1))
        return false;
    if (a->minus == b->minus || rest.n == 0) {
        *q = whole;
        q->minus = a->minus != b->minus && q->n > 0;
        *r = rest;
        r->minus = b->minus && r->n > 0;
        return true;
    }
    /* Rounds towards minus infinity: one further down, and the rest seen from there. */
    if (!mk_big_add(q, arena, &whole, &one) || !sub_magnitudes(r, arena, b, &rest))
        return false;
    q->minus = true;
    r->minus = b->minus;
    trim(r);
    return true;
}

/* ---- doubles ---- */

static size_t bit_length(const mk_big *a)
{
    return a->n == 0 ? 0 : a->n * 32 - (size_t)__builtin_clz(a->limb[a->n - 1]);
}

/* |a| / |b| with at least 64 bits of quotient, the last of which also stands for all that follow: rounding
 * that to 53 bits rounds once. */
static bool quotient_bits(const mk_big *a, const mk_big *b, mk_arena *arena, uint64_t *bits,
                          int *exponent)
{
    mk_big num, q, r, den;
    const int64_t want = 65 + (int64_t)bit_length(b) - (int64_t)bit_length(a);
    if (!shift_left(&num, arena, a, want > 0 ? (size_t)want : 0) ||
        !shift_left(&den, arena, b, want < 0 ? (size_t)-want : 0) ||
        !divide_magnitudes(&q, &r, arena, &num, &den))
        return false;
    /* 65 or 66 bits: the lowest two or three are folded into one. */
    const size_t length = bit_length(&q);
    const unsigned drop = length > 64 ? (unsigned)(length - 64) : 0;
    const unsigned __int128 wide = (unsigned __int128)(q.n > 2 ? q.limb[2] : 0) << 64 |
                                   (uint64_t)(q.n > 1 ? q.limb[1] : 0) << 32 |
                                   (q.n > 0 ? q.limb[0] : 0);
    *bits = (uint64_t)(wide >> drop);
    if (r.n > 0 || (wide & (((unsigned __int128)1 << drop) - 1)) != 0)
        *bits |= 1;
    *exponent = (int)drop - (int)want;
    return true;
}

/* Subnormal results would be rounded twice by ldexp; they are rounded here, at the bit that remains. */
static double scale(uint64_t bits, int exponent)
{
    const int top = exponent + 64 - __builtin_clzll(bits); /* value < 2^top */
    const int lost = -1074 - exponent;
    if (top > -1021 || lost <= 0)
        return ldexp((double)bits, exponent);
    if (lost >= 64)
        return lost == 64 && bits > UINT64_C(1) << 63 ? 0x1p-1074 : 0.0;
    const uint64_t kept = bits >> lost, rest = bits & ((UINT64_C(1) << lost) - 1);
    const uint64_t half = UINT64_C(1) << (lost - 1);
    return ldexp((double)(kept + (rest > half || (rest == half && (kept & 1)))), -1074);
}

bool mk_big_quotient(double *out, mk_arena *arena, const mk_big *a, const mk_big *b)
{
    uint64_t bits;
    int exponent;
    *out = 0.0;
    if (a->n == 0)
        return true;
    if (!quotient_bits(a, b, arena, &bits, &exponent))
        return false;
    const double magnitude = scale(bits, exponent);
    *out = a->minus != b->minus ? -magnitude : magnitude;
    return true;
}

bool mk_big_to_double(const mk_big *a, mk_arena *arena, double *out)
{
    mk_big one;
    return mk_big_from_i64(&one, arena, 1) && mk_big_quotient(out, arena, a, &one);
}

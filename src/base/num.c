/* num.c — doubles to text and back, exact.
 *
 * Every answer here is decided in integers: a double is m * 2^q, a decimal is w * 10^e, and the
 * question which of two neighbours is nearer is a comparison of integers. Three tiers give the
 * same answer at different prices: double arithmetic where it is provably exact, 128-bit integers
 * where they are wide enough, and a fixed-size big integer for the rest. The tables are the powers
 * that fit a machine word and nothing else.
 *
 * Printing follows the idea of Ryu (Adams 2018): with the value scaled so that its integer part has
 * at least 17 digits, the integers A and B closest to the ends of the rounding interval, the
 * integer part Q and the class of the fraction behind Q decide the shortest digits. Reading follows
 * Clinger 1990, and beyond his fast path divides exactly. */
#include "base/num.h"

#include "base/canon.h"

__extension__ typedef unsigned __int128 u128;

#define MANTISSA_BITS 52
#define MANTISSA_ONE (UINT64_C(1) << MANTISSA_BITS)
#define EXPONENT_MASK 0x7FF
#define EXPONENT_MIN (-1074) /* of the last bit of a subnormal */

/* 5^27 is the last power of five below 2^63. */
#define POW5_MAX 27
static const uint64_t pow5[POW5_MAX + 1] = {
    1u,
    5u,
    25u,
    125u,
    625u,
    3125u,
    15625u,
    78125u,
    390625u,
    1953125u,
    9765625u,
    48828125u,
    244140625u,
    1220703125u,
    6103515625u,
    30517578125u,
    152587890625u,
    762939453125u,
    3814697265625u,
    19073486328125u,
    95367431640625u,
    476837158203125u,
    2384185791015625u,
    11920928955078125u,
    59604644775390625u,
    298023223876953125u,
    1490116119384765625u,
    7450580596923828125u,
};

/* 10^22 is the last power of ten that a double holds exactly. */
#define POW10_EXACT_MAX 22
static const double pow10_exact[POW10_EXACT_MAX + 1] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
};

static uint64_t bits_of(double d)
{
    uint64_t bits;
    memcpy(&bits, &d, sizeof bits);
    return bits;
}

static double double_of(uint64_t bits)
{
    double d;
    memcpy(&d, &bits, sizeof d);
    return d;
}

static int bit_length64(uint64_t x) { return x == 0 ? 0 : 64 - __builtin_clzll(x); }

static int bit_length128(u128 x)
{
    const uint64_t high = (uint64_t)(x >> 64);
    return high != 0 ? 64 + bit_length64(high) : bit_length64((uint64_t)x);
}

/* m * 2^q of a finite double without its sign. */
typedef struct binary {
    uint64_t m;
    int q;
} binary;

static binary binary_of(double d)
{
    const uint64_t bits = bits_of(d);
    const int biased = (int)(bits >> MANTISSA_BITS) & EXPONENT_MASK;
    const uint64_t fraction = bits & (MANTISSA_ONE - 1);
    if (biased == 0)
        return (binary){fraction, EXPONENT_MIN};
    return (binary){fraction | MANTISSA_ONE, biased - 1 + EXPONENT_MIN};
}

static bool is_finite(double d)
{
    return ((bits_of(d) >> MANTISSA_BITS) & EXPONENT_MASK) != EXPONENT_MASK;
}

/* m * 2^q with m <= 2^53 as a double; exact unless it overflows, which gives infinity. q is at
 * least EXPONENT_MIN. */
static double compose(uint64_t m, int q)
{
    if (m == 0)
        return 0.0;
    if (m == MANTISSA_ONE << 1) {
        m >>= 1;
        q++;
    }
    while (m < MANTISSA_ONE && q > EXPONENT_MIN) {
        m <<= 1;
        q--;
    }
    if (m < MANTISSA_ONE)
        return double_of(m);
    const int biased = q - EXPONENT_MIN + 1;
    if (biased >= EXPONENT_MASK)
        return double_of((uint64_t)EXPONENT_MASK << MANTISSA_BITS);
    return double_of(((uint64_t)biased << MANTISSA_BITS) | (m & (MANTISSA_ONE - 1)));
}

/* The double nearest to (x + f) * 2^q, ties to even, where 0 < f < 1 when `sticky` and f = 0
 * otherwise. x < 2^127; with `sticky`, x has more than 54 bits. */
static double round_to_double(u128 x, int q, bool sticky)
{
    const int excess = bit_length128(x) - (MANTISSA_BITS + 1);
    const int drop = excess > EXPONENT_MIN - q ? excess : EXPONENT_MIN - q;
    if (drop <= 0)
        return compose((uint64_t)x, q);
    if (drop > 127)
        return 0.0; /* below half of the smallest subnormal */
    uint64_t m = (uint64_t)(x >> drop);
    const u128 rest = x & (((u128)1 << drop) - 1);
    const u128 half = (u128)1 << (drop - 1);
    if (rest > half || (rest == half && (sticky || (m & 1) != 0)))
        m++;
    return compose(m, q + drop);
}

/* ---- big integers of fixed size ---- */

/* The largest number is made by reading: 801 digits or 5^1131, each below 2^2670, with 128 bits of
 * shifts on top. */
#define BIG_LIMBS 48

/* limb[0] is the lowest; limb[n-1] is not 0; zero has n = 0. */
typedef struct big {
    size_t n;
    uint64_t limb[BIG_LIMBS];
} big;

static void big_set(big *b, uint64_t x)
{
    b->limb[0] = x;
    b->n = x != 0;
}

static void big_copy(big *to, const big *from)
{
    to->n = from->n;
    memcpy(to->limb, from->limb, from->n * sizeof from->limb[0]);
}

static void big_trim(big *b)
{
    while (b->n > 0 && b->limb[b->n - 1] == 0)
        b->n--;
}

/* b = b * factor + add */
static void big_mul_add(big *b, uint64_t factor, uint64_t add)
{
    uint64_t carry = add;
    for (size_t i = 0; i < b->n; i++) {
        const u128 t = (u128)b->limb[i] * factor + carry;
        b->limb[i] = (uint64_t)t;
        carry = (uint64_t)(t >> 64);
    }
    if (carry != 0) {
        MK_ASSERT(b->n < BIG_LIMBS);
        b->limb[b->n++] = carry;
    }
}

static void big_mul_pow5(big *b, int e)
{
    for (; e > POW5_MAX; e -= POW5_MAX)
        big_mul_add(b, pow5[POW5_MAX], 0);
    big_mul_add(b, pow5[e], 0);
}

static int big_bit_length(const big *b)
{
    return b->n == 0 ? 0 : (int)(b->n - 1) * 64 + bit_length64(b->limb[b->n - 1]);
}

static void big_shift_left(big *b, int count)
{
    const size_t limbs = (size_t)count / 64;
    const int bits = count % 64;
    if (b->n == 0)
        return;
    if (limbs > 0) {
        MK_ASSERT(b->n + limbs <= BIG_LIMBS);
        memmove(b->limb + limbs, b->limb, b->n * sizeof b->limb[0]);
        memset(b->limb, 0, limbs * sizeof b->limb[0]);
        b->n += limbs;
    }
    if (bits > 0)
        big_mul_add(b, UINT64_C(1) << bits, 0);
}

static int big_cmp(const big *a, const big *b)
{
    if (a->n != b->n)
        return a->n < b->n ? -1 : 1;
    for (size_t i = a->n; i-- > 0;)
        if (a->limb[i] != b->limb[i])
            return a->limb[i] < b->limb[i] ? -1 : 1;
    return 0;
}

/* a -= b * factor over the limbs of b and one more; true when the result is below zero (and then
 * holds its two's complement). */
static bool sub_multiple(uint64_t *a, const big *b, uint64_t factor)
{
    uint64_t carry = 0, borrow = 0;
    for (size_t i = 0; i < b->n; i++) {
        const u128 product = (u128)b->limb[i] * factor + carry;
        const u128 difference = (u128)a[i] - (uint64_t)product - borrow;
        carry = (uint64_t)(product >> 64);
        a[i] = (uint64_t)difference;
        borrow = (uint64_t)(difference >> 64) & 1;
    }
    const u128 difference = (u128)a[b->n] - carry - borrow;
    a[b->n] = (uint64_t)difference;
    return (difference >> 64) != 0;
}

/* a += b over the limbs of b and one more; true when it carries out, that is, ends below zero no
 * longer. */
static bool add_back(uint64_t *a, const big *b)
{
    uint64_t carry = 0;
    for (size_t i = 0; i < b->n; i++) {
        const u128 sum = (u128)a[i] + b->limb[i] + carry;
        a[i] = (uint64_t)sum;
        carry = (uint64_t)(sum >> 64);
    }
    const u128 sum = (u128)a[b->n] + carry;
    a[b->n] = (uint64_t)sum;
    return (sum >> 64) != 0;
}

/* One step of long division: returns num / den and leaves the remainder in num. The top bit of
 * den's highest limb must be set, and num < den * 2^64.
 * Source: Knuth, TAOCP 2, 4.3.1, algorithm D: the guess is at most 2 too large. */
static uint64_t big_divide(big *num, const big *den)
{
    const size_t n = den->n;
    MK_ASSERT(n > 0 && den->limb[n - 1] >> 63 != 0 && n < BIG_LIMBS);
    MK_ASSERT(num->n <= n + 1);
    if (num->n < n)
        return 0;
    if (num->n == n)
        num->limb[n] = 0;
    const uint64_t high = num->limb[n];
    uint64_t guess = UINT64_MAX;
    if (high < den->limb[n - 1])
        guess = (uint64_t)((((u128)high << 64) | num->limb[n - 1]) / den->limb[n - 1]);
    bool negative = sub_multiple(num->limb, den, guess);
    while (negative) {
        guess--;
        negative = !add_back(num->limb, den);
    }
    num->n = n;
    big_trim(num);
    return guess;
}

/* Shifts both so that den may divide. The quotient is unchanged. */
static void big_normalise(big *num, big *den)
{
    const int shift = 64 - bit_length64(den->limb[den->n - 1]);
    big_shift_left(num, shift);
    big_shift_left(den, shift);
}

/* ---- printing ---- */

/* digits * 10^exponent, without trailing zeros in digits. */
typedef struct decimal {
    uint64_t digits;
    int exponent;
} decimal;

typedef enum fraction {
    FRACTION_NONE,
    FRACTION_BELOW_HALF,
    FRACTION_HALF,
    FRACTION_ABOVE_HALF
} fraction;

/* The rounding interval of a double, scaled by 10^k and cut to integers. */
typedef struct window {
    uint64_t first;    /* the lowest integer that still reads back to the double */
    uint64_t last;     /* the highest one */
    uint64_t value;    /* integer part of the double itself */
    fraction fraction; /* what follows the integer part */
} window;

/* floor(e * log10(2)), right for |e| <= 1650. */
static int floor_log10_pow2(int e)
{
    const int64_t scaled = (int64_t)e * 78913;
    return (int)(scaled >= 0 ? scaled / 262144 : -((-scaled + 262143) / 262144));
}

/* The ends belong to the interval when m is even, since reading rounds ties to even. */
static void set_ends(window *w, uint64_t low, bool low_exact, uint64_t high, bool high_exact,
                     bool even)
{
    w->first = low_exact && even ? low : low + 1;
    w->last = high_exact && !even ? high - 1 : high;
}

/* The window in quarters of the last place: the value is 4m, the ends are half a place away, but
 * below a power of two only a quarter. `below` is 1 or 2. Needs 0 <= k <= POW5_MAX. */
static window window_from_words(binary b, int k, unsigned below)
{
    const u128 unit = pow5[k];
    const int exponent = b.q - 2 + k;
    const int left = exponent > 0 ? exponent : 0;
    const int right = exponent < 0 ? -exponent : 0;
    const u128 mask = ((u128)1 << right) - 1;
    const u128 low = (4 * b.m - below) * unit << left;
    const u128 mid = 4 * b.m * unit << left;
    const u128 high = (4 * b.m + 2) * unit << left;
    window w = {.value = (uint64_t)(mid >> right), .fraction = FRACTION_NONE};
    const u128 rest = mid & mask;
    if (rest != 0) {
        const u128 half = (u128)1 << (right - 1);
        w.fraction = rest < half    ? FRACTION_BELOW_HALF
                     : rest == half ? FRACTION_HALF
                                    : FRACTION_ABOVE_HALF;
    }
    set_ends(&w, (uint64_t)(low >> right), (low & mask) == 0, (uint64_t)(high >> right),
             (high & mask) == 0, (b.m & 1) == 0);
    return w;
}

/* floor(unit * factor / den); the remainder is left in rest. */
static uint64_t scaled_quotient(const big *unit, uint64_t factor, const big *den, big *rest)
{
    big_copy(rest, unit);
    big_mul_add(rest, factor, 0);
    return big_divide(rest, den);
}

/* The same for any k. */
static window window_from_big(binary b, int k, unsigned below)
{
    big unit, den, rest;
    const int exponent = b.q - 2 + k;
    big_set(&unit, 1);
    big_set(&den, 1);
    if (k >= 0)
        big_mul_pow5(&unit, k);
    else
        big_mul_pow5(&den, -k);
    if (exponent >= 0)
        big_shift_left(&unit, exponent);
    else
        big_shift_left(&den, -exponent);
    big_normalise(&unit, &den);

    const uint64_t low = scaled_quotient(&unit, 4 * b.m - below, &den, &rest);
    const bool low_exact = rest.n == 0;
    const uint64_t high = scaled_quotient(&unit, 4 * b.m + 2, &den, &rest);
    const bool high_exact = rest.n == 0;
    window w = {.value = scaled_quotient(&unit, 4 * b.m, &den, &rest), .fraction = FRACTION_NONE};
    if (rest.n != 0) {
        big_shift_left(&rest, 1);
        const int order = big_cmp(&rest, &den);
        w.fraction = order < 0    ? FRACTION_BELOW_HALF
                     : order == 0 ? FRACTION_HALF
                                  : FRACTION_ABOVE_HALF;
    }
    set_ends(&w, low, low_exact, high, high_exact, (b.m & 1) == 0);
    return w;
}

/* True when the multiple of `step` above the value is nearer to it than the one below, or as near
 * and even. */
static bool upper_is_nearer(const window *w, uint64_t step)
{
    const uint64_t rest = w->value % step;
    const bool odd = (w->value / step & 1) != 0;
    if (step == 1)
        return w->fraction == FRACTION_ABOVE_HALF || (w->fraction == FRACTION_HALF && odd);
    if (rest != step / 2)
        return rest > step / 2;
    return w->fraction != FRACTION_NONE || odd;
}

/* The multiple of the largest power of ten inside the window, nearest to the value. */
static decimal shorten(const window *w, int k)
{
    uint64_t step = 1;
    int dropped = 0;
    while (w->last / (step * 10) * (step * 10) >= w->first) {
        step *= 10;
        dropped++;
    }
    const uint64_t lower = w->value / step;
    const bool lower_fits = lower * step >= w->first;
    const bool upper_fits = (lower + 1) * step <= w->last;
    const bool upper = upper_fits && (!lower_fits || upper_is_nearer(w, step));
    return (decimal){lower + (upper ? 1 : 0), dropped - k};
}

static decimal strip_zeros(uint64_t digits, int exponent)
{
    while (digits % 10 == 0) {
        digits /= 10;
        exponent++;
    }
    return (decimal){digits, exponent};
}

/* Tries 15 digits in double arithmetic. No two decimals of 15 digits share a double, so one that
 * reads back is the only one, and the shortest once its zeros are gone; and it reads back exactly
 * when the operands below are exact, which they are up to 10^22. `log10` is at most one too low. */
static bool short_decimal(double d, int log10, decimal *out)
{
    int k = 14 - log10;
    if (k < -POW10_EXACT_MAX || k > POW10_EXACT_MAX)
        return false;
    double scaled = k >= 0 ? d * pow10_exact[k] : d / pow10_exact[-k];
    if (scaled >= 999999999999999.5) {
        k--;
        if (k < -POW10_EXACT_MAX)
            return false;
        scaled = k >= 0 ? d * pow10_exact[k] : d / pow10_exact[-k];
    }
    const uint64_t digits = (uint64_t)(scaled + 0.5);
    const double back =
        k >= 0 ? (double)digits / pow10_exact[k] : (double)digits * pow10_exact[-k];
    if (back != d)
        return false;
    *out = strip_zeros(digits, -k);
    return true;
}

/* d is finite and above 0. */
static decimal shortest_decimal(double d)
{
    const binary b = binary_of(d);
    const int log10 = floor_log10_pow2(bit_length64(b.m) - 1 + b.q);
    decimal out;
    if (d < 9007199254740992.0 && d == (double)(uint64_t)d)
        return strip_zeros((uint64_t)d, 0);
    if (short_decimal(d, log10, &out))
        return out;
    /* 17 digits or 18 before the point: at least 17 tell all doubles apart. */
    const int k = 16 - log10;
    const bool at_power_of_two = b.m == MANTISSA_ONE && b.q > EXPONENT_MIN;
    const unsigned below = at_power_of_two ? 1 : 2;
    const window w = k >= 0 && k <= POW5_MAX ? window_from_words(b, k, below)
                                             : window_from_big(b, k, below);
    return shorten(&w, k);
}

static char *put(char *p, const char *from, size_t n)
{
    memcpy(p, from, n);
    return p + n;
}

static char *put_zeros(char *p, int n)
{
    memset(p, '0', (size_t)n);
    return p + n;
}

/* 0.DIGITS * 10^point with point in (-4, 16] */
static char *put_positional(char *p, const char *digits, int n, int point)
{
    if (point <= 0) {
        p = put(p, "0.", 2);
        p = put_zeros(p, -point);
        return put(p, digits, (size_t)n);
    }
    if (n <= point) {
        p = put(p, digits, (size_t)n);
        p = put_zeros(p, point - n);
        return put(p, ".0", 2);
    }
    p = put(p, digits, (size_t)point);
    *p++ = '.';
    return put(p, digits + point, (size_t)(n - point));
}

static char *put_scientific(char *p, const char *digits, int n, int point)
{
    *p++ = digits[0];
    if (n > 1) {
        *p++ = '.';
        p = put(p, digits + 1, (size_t)(n - 1));
    }
    const int exponent = point - 1;
    const unsigned size = (unsigned)(exponent < 0 ? -exponent : exponent);
    *p++ = 'e';
    *p++ = exponent < 0 ? '-' : '+';
    if (size < 10)
        *p++ = '0';
    return p + mk_u64_text(p, size);
}

size_t mk_double_text(char *p, double d)
{
    char *const begin = p;
    if (d != d)
        return (size_t)(put(p, "NaN", 3) - begin);
    if (bits_of(d) >> 63 != 0) {
        *p++ = '-';
        d = -d;
    }
    if (!is_finite(d))
        return (size_t)(put(p, "Infinity", 8) - begin);
    if (d == 0)
        return (size_t)(put(p, "0.0", 3) - begin);

    const decimal value = shortest_decimal(d);
    char digits[20];
    const int n = (int)mk_u64_text(digits, value.digits);
    const int point = n + value.exponent;
    p = point > -4 && point <= 16 ? put_positional(p, digits, n, point)
                                  : put_scientific(p, digits, n, point);
    return (size_t)(p - begin);
}

/* ---- reading ---- */

/* No point half-way between two doubles has more than 767 significant digits, so what follows the
 * 800th matters only by being zero or not. */
#define DIGITS_MAX 800
/* Digits that surely fit a uint64_t. */
#define WORD_DIGITS 19
/* Far beyond the shift that the digits of any token in memory can make up for. */
#define EXPONENT_CAP INT64_C(1000000000000000)

/* 0.DIGITS * 10^point; the digits start at `first`, which is not 0, and may hold the point. */
typedef struct scanned {
    const char *first;
    size_t count; /* digits up to the last that is not 0 */
    int64_t point;
    uint64_t word; /* the first WORD_DIGITS of them, or fewer */
} scanned;

static bool is_digit(char c) { return (unsigned char)(c - '0') < 10; }

static int64_t read_exponent(const char *p, const char *end)
{
    bool negative = false;
    int64_t e = 0;
    if (p < end && (*p == '+' || *p == '-'))
        negative = *p++ == '-';
    for (; p < end && is_digit(*p); p++)
        if (e < EXPONENT_CAP)
            e = e * 10 + (*p - '0');
    return negative ? -e : e;
}

/* p stands behind the sign. */
static scanned scan_decimal(const char *p, const char *end)
{
    scanned s = {.first = p};
    size_t seen = 0;
    bool behind_point = false;
    for (; p < end; p++) {
        if (*p == '.') {
            behind_point = true;
            continue;
        }
        if (!is_digit(*p))
            break;
        if (seen == 0 && *p == '0') { /* a leading zero */
            s.point -= behind_point;
            continue;
        }
        if (seen == 0)
            s.first = p;
        if (seen < WORD_DIGITS)
            s.word = s.word * 10 + (uint64_t)(*p - '0');
        seen++;
        s.point += !behind_point;
        if (*p != '0')
            s.count = seen;
    }
    if (p < end)
        s.point += read_exponent(p + 1, end);
    /* Zeros at the end of the word would only make it larger than it need be. */
    for (size_t n = seen < WORD_DIGITS ? seen : WORD_DIGITS; n > s.count; n--)
        s.word /= 10;
    return s;
}

/* w * 10^e where both fit into words: one exact product or one exact division. */
static double from_words(uint64_t w, int e)
{
    if (e >= 0)
        return round_to_double((u128)w * pow5[e], e, false);
    const int shift = 63 + 64 - bit_length64(w);
    const u128 num = (u128)w << shift;
    const u128 quotient = num / pow5[-e];
    return round_to_double(quotient, e - shift, quotient * pow5[-e] != num);
}

static void big_from_digits(big *b, const char *p, size_t count)
{
    uint64_t chunk = 0, scale = 1;
    big_set(b, 0);
    for (; count > 0; p++) {
        if (*p == '.')
            continue;
        chunk = chunk * 10 + (uint64_t)(*p - '0');
        scale *= 10;
        count--;
        if (scale == UINT64_C(10000000000000000000) || count == 0) {
            big_mul_add(b, scale, chunk);
            chunk = 0;
            scale = 1;
        }
    }
}

/* Any number of digits, by one exact division of big integers. */
static double from_big(const scanned *s)
{
    big num, den;
    const bool cut = s->count > DIGITS_MAX;
    int e = (int)(s->point - (int64_t)(cut ? DIGITS_MAX : s->count));
    big_from_digits(&num, s->first, cut ? DIGITS_MAX : s->count);
    if (cut) {
        big_mul_add(&num, 10, 1);
        e--;
    }
    big_set(&den, 1);
    if (e >= 0)
        big_mul_pow5(&num, e);
    else
        big_mul_pow5(&den, -e);

    /* The quotient gets 63 or 64 bits, enough for 53 and the decision how to round. */
    const int shift = big_bit_length(&den) + 63 - big_bit_length(&num);
    if (shift >= 0)
        big_shift_left(&num, shift);
    else
        big_shift_left(&den, -shift);
    big_normalise(&num, &den);
    const uint64_t quotient = big_divide(&num, &den);
    return round_to_double(quotient, e - shift, num.n != 0);
}

static double from_scanned(const scanned *s)
{
    if (s->count == 0)
        return 0.0;
    if (s->count <= WORD_DIGITS && s->point > -64 && s->point < 64) {
        const int e = (int)s->point - (int)s->count;
        if (s->word <= MANTISSA_ONE << 1 && e >= -POW10_EXACT_MAX && e <= POW10_EXACT_MAX)
            return e < 0 ? (double)s->word / pow10_exact[-e] : (double)s->word * pow10_exact[e];
        if (e >= -POW5_MAX && e <= POW5_MAX)
            return from_words(s->word, e);
    }
    if (s->point > 310)
        return double_of((uint64_t)EXPONENT_MASK << MANTISSA_BITS);
    if (s->point < -330)
        return 0.0;
    return from_big(s);
}

double mk_double_parse(mk_str token)
{
    const bool negative = token.n > 0 && token.p[0] == '-';
    const scanned s = scan_decimal(token.p + (negative ? 1 : 0), token.p + token.n);
    const double d = from_scanned(&s);
    return negative ? -d : d;
}

/* ---- rounding ---- */

#define ROUND_PLACES 9
#define BILLION UINT64_C(1000000000)

/* n = |d| * 10^9 rounded to an integer, ties to even, is exact in 128 bits: m * 5^9 has 74. From
 * 2^43 on a double has no tenth place, so the last bit is at least 2^-9 and d stays as it is. */
double mk_round9(double d)
{
    if (!is_finite(d))
        return d;
    const binary b = binary_of(d);
    const int drop = -(b.q + ROUND_PLACES);
    if (drop <= 0)
        return d;
    u128 n = 0;
    if (drop < 76) {
        const u128 scaled = (u128)b.m * pow5[ROUND_PLACES];
        const u128 rest = scaled & (((u128)1 << drop) - 1);
        const u128 half = (u128)1 << (drop - 1);
        n = scaled >> drop;
        if (rest > half || (rest == half && (n & 1) != 0))
            n++;
    }
    double rounded;
    if (n <= MANTISSA_ONE << 1) {
        rounded = (double)(uint64_t)n / (double)BILLION;
    } else {
        const u128 num = n << 54; /* below 2^127, and a quotient above 2^77 */
        rounded = round_to_double(num / BILLION, -54, num % BILLION != 0);
    }
    return bits_of(d) >> 63 != 0 ? -rounded : rounded;
}

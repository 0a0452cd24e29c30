/* test_bigint.c — integers of any size against 128-bit arithmetic and identities. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>

#include <cmocka.h>

#include "base/bigint.h"

static uint64_t state = 42;
static uint64_t next(void)
{
    uint64_t z = (state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* Of all sizes alike. */
static int64_t some_int(void)
{
    const int64_t v = (int64_t)(next() >> (next() % 64));
    return next() & 1 ? -v : v;
}

static mk_big big(mk_arena *arena, int64_t v)
{
    mk_big b;
    assert_true(mk_big_from_i64(&b, arena, v));
    return b;
}

static mk_big digits(mk_arena *arena, const char *text)
{
    mk_big b;
    assert_true(mk_big_from_digits(&b, arena, mk_str_of(text)));
    return b;
}

static void assert_wide(mk_arena *arena, const mk_big *got, __int128 expected)
{
    char text[64];
    size_t at = sizeof text;
    unsigned __int128 rest = expected < 0 ? -(unsigned __int128)expected : (unsigned __int128)expected;
    do
        text[--at] = (char)('0' + (int)(rest % 10));
    while ((rest /= 10) != 0);
    if (expected < 0)
        text[--at] = '-';
    bool fits;
    int64_t value;
    mk_str shown;
    char small[24];
    assert_true(mk_big_to_text(got, arena, &fits, &value, &shown));
    if (fits)
        shown = (mk_str){small, mk_i64_text(small, value)};
    assert_int_equal(fits, expected >= INT64_MIN && expected <= INT64_MAX);
    assert_true(mk_str_eq(shown, (mk_str){text + at, sizeof text - at}));
}

static void test_bigint__agrees_with_128_bits(void **unused)
{
    (void)unused;
    mk_arena arena;
    mk_arena_init(&arena, &mk_alloc_default);
    for (int i = 0; i < 20000; i++) {
        const int64_t x = some_int(), y = some_int();
        const mk_big a = big(&arena, x), b = big(&arena, y);
        mk_big out, rest;
        assert_true(mk_big_add(&out, &arena, &a, &b));
        assert_wide(&arena, &out, (__int128)x + y);
        assert_true(mk_big_sub(&out, &arena, &a, &b));
        assert_wide(&arena, &out, (__int128)x - y);
        assert_true(mk_big_mul(&out, &arena, &a, &b));
        assert_wide(&arena, &out, (__int128)x * y);
        if (y != 0) {
            __int128 q = (__int128)x / y, r = (__int128)x % y;
            if (r != 0 && (r < 0) != (y < 0)) {
                q--;
                r += y;
            }
            assert_true(mk_big_floordiv(&out, &rest, &arena, &a, &b));
            assert_wide(&arena, &out, q);
            assert_wide(&arena, &rest, r);
        }
        mk_arena_reset(&arena);
    }
    mk_arena_free(&arena);
}

static mk_big huge(mk_arena *arena, size_t limbs)
{
    mk_big a = big(arena, (int64_t)(next() >> 1) | 1), b;
    for (size_t i = 1; i < limbs; i++) {
        const mk_big m = big(arena, next() % 7 == 0 ? INT64_C(1) << 32 : (int64_t)(next() >> 2) + 1);
        assert_true(mk_big_mul(&b, arena, &a, &m));
        a = b;
    }
    a.minus = next() & 1;
    return a;
}

/* Law: a = q b + r, and r lies between 0 and b. */
static void test_bigint__division_undoes_multiplication(void **unused)
{
    (void)unused;
    mk_arena arena;
    mk_arena_init(&arena, &mk_alloc_default);
    for (int i = 0; i < 3000; i++) {
        const mk_big a = huge(&arena, 1 + next() % 12), b = huge(&arena, 1 + next() % 8);
        mk_big q, r, product, sum, zero;
        assert_true(mk_big_floordiv(&q, &r, &arena, &a, &b));
        assert_true(mk_big_mul(&product, &arena, &q, &b));
        assert_true(mk_big_add(&sum, &arena, &product, &r));
        assert_true(mk_big_sub(&zero, &arena, &sum, &a));
        assert_int_equal(zero.n, 0);
        assert_true(r.n == 0 || r.minus == b.minus);
        assert_true(r.n <= b.n);
        mk_arena_reset(&arena);
    }
    mk_arena_free(&arena);
}

static void test_bigint__quotients_and_doubles_are_rounded_once(void **unused)
{
    (void)unused;
    mk_arena arena;
    double d;
    mk_arena_init(&arena, &mk_alloc_default);
    for (int i = 0; i < 20000; i++) {
        /* Exact in doubles, so that one division is the right answer. */
        const int64_t x = some_int() >> 11, y = (some_int() >> 11) | 1;
        const mk_big a = big(&arena, x), b = big(&arena, y);
        assert_true(mk_big_quotient(&d, &arena, &a, &b));
        assert_true(d == (double)x / (double)y);
        const int64_t z = some_int();
        const mk_big c = big(&arena, z);
        assert_true(mk_big_to_double(&c, &arena, &d));
        assert_true(d == (double)z);
        mk_arena_reset(&arena);
    }
    const mk_big big_one = digits(&arena, "1180591620717411303424"), tiny = big(&arena, 3);
    assert_true(mk_big_to_double(&big_one, &arena, &d));
    assert_true(d == 0x1p70);
    assert_true(mk_big_quotient(&d, &arena, &big_one, &tiny));
    assert_true(d == 0x1p70 / 3.0);
    char nines[400];
    memset(nines, '9', 399);
    nines[399] = '\0';
    const mk_big over = digits(&arena, nines);
    assert_true(mk_big_to_double(&over, &arena, &d));
    assert_true(isinf(d));
    nines[308] = '\0';
    const mk_big ten308 = digits(&arena, nines), one = big(&arena, 1);
    assert_true(mk_big_to_double(&ten308, &arena, &d));
    assert_true(d == 1e308);
    mk_big den; /* 1 / 10^(2 * 161.5): a subnormal */
    assert_true(mk_big_mul(&den, &arena, &ten308, &big_one));
    assert_true(mk_big_quotient(&d, &arena, &one, &den));
    assert_true(d == 0.0 || d < 0x1p-1022);
    mk_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bigint__agrees_with_128_bits),
        cmocka_unit_test(test_bigint__division_undoes_multiplication),
        cmocka_unit_test(test_bigint__quotients_and_doubles_are_rounded_once),
    };
    return cmocka_run_group_tests_name("bigint", tests, NULL, NULL);
}

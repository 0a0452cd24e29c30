/* test_exact.c — arithmetic on numbers of any size: quotients, floor divisions, sums and means.
 *
 * Values that no shorter computation gives are written down; they come from the definitions by arithmetic on
 * integers and fractions of any size. Random ones are compared with 128-bit integers, into which the values
 * are chosen to fit. Source: operators spec, 4.1, 4.2. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>

#include <cmocka.h>

#include "../support/testalloc.h"
#include "base/canon.h"
#include "op/arith.h"

static mk_arena arena;
static mk_buf text;

static int setup(void **state)
{
    (void)state;
    mk_arena_init(&arena, &mk_alloc_default);
    mk_buf_init(&text, &mk_alloc_default);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    mk_buf_free(&text);
    mk_arena_free(&arena);
    return 0;
}

static uint64_t state64 = 3;
static uint64_t next(void)
{
    uint64_t z = (state64 += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* Of all sizes alike. */
static int64_t some_int(void)
{
    const int64_t v = (int64_t)(next() >> (1 + next() % 63));
    return next() & 1 ? -v : v;
}

static const mk_json *value(const char *json)
{
    mk_json *tree;
    mk_err err;
    if (mk_json_parse(&arena, mk_str_of(json), NULL, &tree, &err) != MK_OK)
        fail_msg("%s: %s", json, err.message);
    return tree;
}

/* 10^zeros * digits, as JSON text. */
static const char *big(const char *digits, size_t zeros)
{
    const size_t n = strlen(digits);
    char *out = mk_arena_get(&arena, n + zeros + 1);
    assert_non_null(out);
    memcpy(out, digits, n);
    memset(out + n, '0', zeros);
    out[n + zeros] = '\0';
    return out;
}

static const char *show(const mk_json *v)
{
    mk_buf_clear(&text);
    assert_int_equal(mk_canon_tree(&text, &arena, v, NULL), MK_OK);
    mk_buf_c(&text, '\0');
    return text.p;
}

static bool same_number(const mk_json *got, const char *expected)
{
    const mk_json *e = value(expected);
    if (got->kind == MK_JSON_FLOAT && e->kind == MK_JSON_FLOAT)
        return memcmp(&got->d, &e->d, sizeof got->d) == 0;
    return got->kind == e->kind && strcmp(show(got), expected) == 0;
}

typedef mk_code arith_fn(const mk_json *a, const mk_json *b, mk_arena *arena, mk_json *out, mk_err *err);

static void check(arith_fn *fn, const char *a, const char *b, const char *expected)
{
    mk_json out;
    mk_err err;
    if (fn(value(a), value(b), &arena, &out, &err) != MK_OK)
        fail_msg("%s and %s: %s", a, b, err.message);
    if (!same_number(&out, expected))
        fail_msg("%s and %s: %s, expected %s", a, b, show(&out), expected);
}

/* ---- the four operations ---- */

static void test_exact__integers_leave_64_bits_unharmed(void **state)
{
    (void)state;
    check(mk_arith_add, "9223372036854775807", "1", "9223372036854775808");
    check(mk_arith_add, "9223372036854775808", "-1", "9223372036854775807");
    check(mk_arith_sub, "-9223372036854775808", "1", "-9223372036854775809");
    check(mk_arith_mul, "4611686018427387904", "4611686018427387904",
          "21267647932558653966460912964485513216");
    check(mk_arith_mul, "-9223372036854775808", "-1", "9223372036854775808");
    check(mk_arith_mul, "1180591620717411303424", "0", "0");
    check(mk_arith_sub, big("1", 300), big("1", 300), "0");
}

static void test_exact__a_float_makes_the_other_side_one(void **state)
{
    (void)state;
    check(mk_arith_add, "1", "2.0", "3.0");
    check(mk_arith_sub, "9007199254740993", "0.0", "9007199254740992.0"); /* to the even neighbour */
    check(mk_arith_mul, "1180591620717411303424", "0.5", "590295810358705700000.0");
    check(mk_arith_mul, "0", "-1.5", "-0.0");
    check(mk_arith_div, "-0.0", "5", "-0.0");
}

static void test_exact__operations_agree_with_128_bits(void **state)
{
    (void)state;
    for (int i = 0; i < 20000; i++) {
        const mk_json a = {.kind = MK_JSON_INT, .i = some_int()}, b = {.kind = MK_JSON_INT, .i = some_int()};
        const __int128 wide[] = {(__int128)a.i + b.i, (__int128)a.i - b.i, (__int128)a.i * b.i};
        arith_fn *const fns[] = {mk_arith_add, mk_arith_sub, mk_arith_mul};
        mk_json out;
        for (int k = 0; k < 3; k++) {
            assert_int_equal(fns[k](&a, &b, &arena, &out, NULL), MK_OK);
            const bool fits = wide[k] >= INT64_MIN && wide[k] <= INT64_MAX;
            assert_int_equal(out.kind, MK_JSON_INT);
            assert_int_equal(out.b, !fits);
            if (fits)
                assert_true(out.i == wide[k]);
        }
        mk_arena_reset(&arena);
    }
}

/* ---- quotients ---- */

static void test_exact__quotients_are_integers_when_they_divide(void **state)
{
    (void)state;
    check(mk_arith_div, "6", "3", "2");
    check(mk_arith_div, "-6", "3", "-2");
    check(mk_arith_div, "0", "-7", "0");
    check(mk_arith_div, "9007199254740993", "1", "9007199254740993");
    check(mk_arith_div, "-9223372036854775808", "-1", "9223372036854775808");
    check(mk_arith_div, big("1", 30), big("1", 15), "1000000000000000");
    check(mk_arith_div, big("-6", 400), big("2", 380), big("-3", 20));
}

/* The whole part and the rest are rounded apart and then added, which one division would not give. */
static void test_exact__other_quotients_follow_the_rule(void **state)
{
    (void)state;
    check(mk_arith_div, "7", "-2", "-3.5");
    check(mk_arith_div, "1", "3", "0.3333333333333333");
    check(mk_arith_div, "-1", "3", "-0.33333333333333337"); /* -1 + 2/3 */
    check(mk_arith_div, "4611686018427387904", "3", "1.5372286728091292e+18");
    check(mk_arith_div, "9007199254740993", "2", "4503599627370496.0");
    check(mk_arith_div, "9223372036854775807", "-9223372036854775808", "-1.0");
    check(mk_arith_div, "-9223372036854775808", "9223372036854775807", "-1.0");
    check(mk_arith_div, big("1", 30), "7", "1.4285714285714285e+29");
    check(mk_arith_div, big("1", 400), big("3", 395), "33333.333333333336");
    check(mk_arith_div, big("5", 323), big("7", 323), "0.7142857142857143");
    check(mk_arith_div, "1", big("1", 330), "0.0");
    check(mk_arith_div, "3", big("-2", 400), "0.0"); /* floor -1, and the rest rounds to 1 */
    check(mk_arith_div, "1", "4.0", "0.25");
}

/* Up to 53 bits one division rounds rest/divisor correctly. */
static void test_exact__random_quotients_follow_the_rule(void **state)
{
    (void)state;
    for (int i = 0; i < 50000; i++) {
        const mk_json a = {.kind = MK_JSON_INT, .i = some_int()};
        const mk_json b = {.kind = MK_JSON_INT, .i = (some_int() >> 11) | 1};
        __int128 q = (__int128)a.i / b.i, r = (__int128)a.i % b.i;
        mk_json out;
        if (r != 0 && (r < 0) != (b.i < 0)) {
            q--;
            r += b.i;
        }
        assert_int_equal(mk_arith_floordiv(&a, &b, &arena, &out, NULL), MK_OK);
        assert_true(out.kind == MK_JSON_INT && !out.b && out.i == q);
        assert_int_equal(mk_arith_div(&a, &b, &arena, &out, NULL), MK_OK);
        if (r == 0)
            assert_true(out.kind == MK_JSON_INT && out.i == q);
        else
            assert_true(out.kind == MK_JSON_FLOAT && out.d == (double)q + (double)r / (double)b.i);
    }
}

static void test_exact__floor_division_of_floats_is_the_reference_s(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"-7.5", "2", "-4.0"},    {"5.0", "0.1", "49.0"},      {"7.0", "-2", "-4.0"},
        {"-0.0", "5", "-0.0"},    {"0.0", "-5", "-0.0"},       {"1.0", "-5.0", "-1.0"},
        {"6.0", "0.1", "59.0"},   {"-6.0", "0.1", "-60.0"},    {"1", "0.1", "9.0"},
        {"2.5", "2.5", "1.0"},    {"1e300", "1e-5", "1e305"},  {"-1e-300", "1e300", "-1.0"},
        {"1e16", "0.3", "3.3333333333333336e16"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check(mk_arith_floordiv, cases[i][0], cases[i][1], cases[i][2]);
    check(mk_arith_floordiv, "-7", "2", "-4");
    check(mk_arith_floordiv, "-9223372036854775808", "-1", "9223372036854775808");
    check(mk_arith_floordiv, big("1", 30), "-7", "-142857142857142857142857142858");
    check(mk_arith_floordiv, "-1", big("1", 30), "-1");
}

static void test_exact__zero_divides_nothing(void **state)
{
    (void)state;
    static const char *const zeros[] = {"0", "0.0", "-0.0"};
    for (size_t i = 0; i < 3; i++) {
        mk_json out;
        mk_err err;
        assert_int_equal(mk_arith_div(value("1"), value(zeros[i]), &arena, &out, &err), MK_E_INVALID_ARG);
        assert_true(err.hint[0] != '\0');
        assert_int_equal(mk_arith_floordiv(value(big("1", 40)), value(zeros[i]), &arena, &out, &err),
                         MK_E_INVALID_ARG);
    }
}

static void test_exact__an_integer_beyond_doubles_meets_no_float(void **state)
{
    (void)state;
    arith_fn *const fns[] = {mk_arith_add, mk_arith_sub, mk_arith_mul, mk_arith_div, mk_arith_floordiv};
    mk_json out;
    mk_err err;
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(fns[i](value(big("1", 400)), value("0.5"), &arena, &out, &err), MK_E_INVALID_ARG);
        assert_int_equal(fns[i](value("0.5"), value(big("-1", 400)), &arena, &out, &err), MK_E_INVALID_ARG);
        assert_int_equal(fns[i](value(big("1", 400)), value(big("1", 399)), &arena, &out, &err), MK_OK);
    }
}

/* ---- lists ---- */

typedef mk_code list_fn(const mk_json *const *values, size_t n, mk_arena *arena, mk_json *out, mk_err *err);

static mk_code over(list_fn *fn, const mk_json *list, mk_json *out, mk_err *err)
{
    const mk_json **items = mk_arena_get(&arena, list->n * sizeof *items);
    assert_non_null(items);
    for (size_t i = 0; i < list->n; i++)
        items[i] = &list->items[i];
    return fn(items, list->n, &arena, out, err);
}

static void check_list(list_fn *fn, const char *list, const char *expected)
{
    mk_json out;
    mk_err err;
    if (over(fn, value(list), &out, &err) != MK_OK)
        fail_msg("%s: %s", list, err.message);
    if (!same_number(&out, expected))
        fail_msg("%s: %s, expected %s", list, show(&out), expected);
}

#define TENTHS "0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1"

static void test_exact__sums_of_integers_are_exact(void **state)
{
    (void)state;
    check_list(mk_arith_sum, "[]", "0");
    check_list(mk_arith_sum, "[1,2]", "3");
    check_list(mk_arith_sum, "[9223372036854775807,1]", "9223372036854775808");
    check_list(mk_arith_sum, "[9223372036854775807,1,-1]", "9223372036854775807");
    check_list(mk_arith_sum, "[-9223372036854775808,-1]", "-9223372036854775809");
    check_list(mk_arith_sum, "[1,1180591620717411303424,-1180591620717411303424]", "1");
}

static void test_exact__sums_from_the_first_float_on_are_compensated(void **state)
{
    (void)state;
    check_list(mk_arith_sum, "[1,2.0]", "3.0");
    check_list(mk_arith_sum, "[" TENTHS "]", "1.0");
    check_list(mk_arith_sum, "[0," TENTHS "]", "1.0");
    check_list(mk_arith_sum, "[1e100,1.0,-1e100]", "1.0");
    check_list(mk_arith_sum, "[1e100,1,-1e100]", "0.0"); /* an integer is added plainly */
    check_list(mk_arith_sum, "[-0.0]", "0.0");           /* 0 + -0.0 */
    check_list(mk_arith_sum, "[1,0.1,1180591620717411303424,0.2]", "1.1805916207174113e+21");
}

/* Once an integer has left 64 bits, or meets the floats from beyond, additions are plain to the end. */
static void test_exact__sums_are_plain_after_an_integer_beyond_64_bits(void **state)
{
    (void)state;
    check_list(mk_arith_sum, "[9223372036854775807,1,-9223372036854775808," TENTHS "]",
               "0.9999999999999999");
    check_list(mk_arith_sum, "[9223372036854775808,-9223372036854775808," TENTHS "]",
               "0.9999999999999999");
    check_list(mk_arith_sum, "[0.0,9223372036854775808,-9223372036854775808," TENTHS "]",
               "0.9999999999999999");
    /* What was compensated before is put in first. */
    check_list(mk_arith_sum, "[1e100,1.0,-1e100,18446744073709551616,-18446744073709551616]", "0.0");
    check_list(mk_arith_sum, "[1e100,65536.0,-1e100,18446744073709551616,-18446744073709551616]",
               "65536.0");
}

static void test_exact__means_are_exact(void **state)
{
    (void)state;
    check_list(mk_arith_mean, "[1,2,3]", "2");
    check_list(mk_arith_mean, "[1,2]", "1.5");
    check_list(mk_arith_mean, "[-1,0,0]", "-0.33333333333333337");
    check_list(mk_arith_mean, "[9223372036854775807,9223372036854775807]", "9223372036854775807");
    check_list(mk_arith_mean, "[9223372036854775807,9223372036854775809]", "9223372036854775808");
    check_list(mk_arith_mean, "[1180591620717411303424,1180591620717411303426]", "1180591620717411303425");
    check_list(mk_arith_mean, "[1180591620717411303424,0.25,1]", "3.935305402391371e+20");
    check_list(mk_arith_mean, "[" TENTHS "]", "0.1");
    check_list(mk_arith_mean, "[0.1,0.2,0.3]", "0.19999999999999998");
    check_list(mk_arith_mean, "[1e100,1.0,-1e100]", "0.3333333333333333");
    check_list(mk_arith_mean, "[1e16,1.0,1e-16]", "3333333333333334.0"); /* just above a tie */
    check_list(mk_arith_mean, "[4611686018427387904,0.5,-4611686018427387904]", "0.16666666666666666");
    check_list(mk_arith_mean, "[9007199254740993,0.0]", "4503599627370496.0");
    check_list(mk_arith_mean, "[5e-324,5e-324]", "5e-324");
    check_list(mk_arith_mean, "[-0.5,0.5]", "0.0");
    check_list(mk_arith_mean, "[-0.0,-0.0]", "0.0");
}

/* Values are multiples of 2^-40 below 2^50, so their sum in that unit fits 128 bits, and the conversion of
 * that to a double rounds once. */
static void test_exact__random_means_of_floats_agree_with_128_bits(void **state)
{
    (void)state;
    enum { MOST = 60 };
    for (int round = 0; round < 3000; round++) {
        mk_json values[MOST], out;
        const mk_json *items[MOST];
        const size_t n = 1 + next() % MOST;
        __int128 sum = 0;
        for (size_t i = 0; i < n; i++) {
            const int64_t steps = some_int() >> 11;
            const int shift = (int)(next() % 37);
            values[i] = (mk_json){.kind = MK_JSON_FLOAT, .d = ldexp((double)steps, shift - 40)};
            items[i] = &values[i];
            sum += (__int128)steps * ((__int128)1 << shift);
        }
        assert_int_equal(mk_arith_mean(items, n, &arena, &out, NULL), MK_OK);
        assert_int_equal(out.kind, MK_JSON_FLOAT);
        assert_true(out.d == ldexp((double)sum, -40) / (double)n);
        for (size_t i = n; i > 1; i--) { /* any order gives the same */
            const size_t k = next() % i;
            const mk_json *swap = items[i - 1];
            items[i - 1] = items[k];
            items[k] = swap;
        }
        const double before = out.d;
        assert_int_equal(mk_arith_mean(items, n, &arena, &out, NULL), MK_OK);
        assert_true(out.d == before);
        mk_arena_reset(&arena);
    }
}

static void test_exact__lists_with_integers_beyond_doubles(void **state)
{
    (void)state;
    mk_json list_items[2], out;
    mk_json list = {.kind = MK_JSON_ARRAY, .n = 2, .items = list_items};
    list_items[0] = *value(big("1", 400));
    list_items[1] = *value(big("3", 400));
    assert_int_equal(over(mk_arith_mean, &list, &out, NULL), MK_OK);
    assert_true(same_number(&out, big("2", 400)));
    assert_int_equal(over(mk_arith_sum, &list, &out, NULL), MK_OK);
    assert_true(same_number(&out, big("4", 400)));
    list_items[1] = *value("0.5");
    assert_int_equal(over(mk_arith_sum, &list, &out, NULL), MK_E_INVALID_ARG);
    /* The mean says it with a value that no payload takes. */
    assert_int_equal(over(mk_arith_mean, &list, &out, NULL), MK_OK);
    assert_true(out.kind == MK_JSON_FLOAT && !isfinite(out.d));
}

/* ---- memory ---- */

/* Everything that needs room of its own, in one go. */
static mk_code all_of_it(const mk_json *a, const mk_json *b, const mk_json *f, mk_arena *room)
{
    const mk_json *list[] = {a, b, a}, *mixed[] = {a, f, b};
    mk_json out;
    mk_code rc;
    MK_TRY(rc, mk_arith_add(a, b, room, &out, NULL));
    MK_TRY(rc, mk_arith_mul(a, b, room, &out, NULL));
    MK_TRY(rc, mk_arith_div(a, b, room, &out, NULL));
    MK_TRY(rc, mk_arith_floordiv(a, b, room, &out, NULL));
    MK_TRY(rc, mk_arith_mul(a, f, room, &out, NULL));
    MK_TRY(rc, mk_arith_sum(list, 3, room, &out, NULL));
    MK_TRY(rc, mk_arith_mean(list, 3, room, &out, NULL));
    rc = mk_arith_mean(mixed, 3, room, &out, NULL);
out:
    return rc;
}

/* The arena has one block, of which `left` bytes are free, and gets no other: so every request is the one
 * that fails, for one size or another. */
static void test_exact__memory_that_runs_out_is_an_error(void **state)
{
    (void)state;
    const mk_json *a = value("123456789012345678901234567890"), *b = value("-98765432109876543210");
    const mk_json *f = value("0.5");
    mk_code rc = MK_E_NOMEM;
    size_t left = 0;
    for (; rc != MK_OK; left += 16) {
        testalloc ta;
        mk_arena room;
        testalloc_init(&ta);
        mk_arena_init(&room, &ta.hook);
        assert_non_null(mk_arena_get(&room, 16));
        room.limit = room.total;
        const mk_arena_mark mark = mk_arena_save(&room);
        size_t most = 0;
        for (; mk_arena_get(&room, most + 16) != NULL; most += 16)
            mk_arena_rewind(&room, mark);
        mk_arena_rewind(&room, mark);
        assert_true(left <= most);
        assert_non_null(mk_arena_get(&room, most - left));
        rc = all_of_it(a, b, f, &room);
        assert_true(rc == MK_OK || rc == MK_E_NOMEM);
        mk_arena_free(&room);
        assert_true(testalloc_is_clean(&ta));
        testalloc_free(&ta);
    }
    assert_true(left > 1000);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_exact__integers_leave_64_bits_unharmed),
        TEST(test_exact__a_float_makes_the_other_side_one),
        TEST(test_exact__operations_agree_with_128_bits),
        TEST(test_exact__quotients_are_integers_when_they_divide),
        TEST(test_exact__other_quotients_follow_the_rule),
        TEST(test_exact__random_quotients_follow_the_rule),
        TEST(test_exact__floor_division_of_floats_is_the_reference_s),
        TEST(test_exact__zero_divides_nothing),
        TEST(test_exact__an_integer_beyond_doubles_meets_no_float),
        TEST(test_exact__sums_of_integers_are_exact),
        TEST(test_exact__sums_from_the_first_float_on_are_compensated),
        TEST(test_exact__sums_are_plain_after_an_integer_beyond_64_bits),
        TEST(test_exact__means_are_exact),
        TEST(test_exact__random_means_of_floats_agree_with_128_bits),
        TEST(test_exact__lists_with_integers_beyond_doubles),
        TEST(test_exact__memory_that_runs_out_is_an_error),
    };
    return cmocka_run_group_tests_name("exact", tests, NULL, NULL);
}

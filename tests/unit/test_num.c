/* test_num.c — doubles to text and back, against tables and against the C library.
 *
 * The C library of the test machine prints and reads doubles exactly, so "%.17g", "%.9f" and strtod
 * are the oracle here; the code under test uses none of them. Random numbers come from one fixed
 * seed unless MK_SEED gives another, and a failure prints the number's bits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/canon.h"
#include "base/hash.h"
#include "base/num.h"

#define RANDOM_DOUBLES 150000

static uint64_t random_state;

static uint64_t next_random(void)
{
    random_state += UINT64_C(0x9E3779B97F4A7C15);
    return mk_mix64(random_state);
}

static void seed_random(void)
{
    const char *seed = getenv("MK_SEED");
    random_state = seed != NULL ? strtoull(seed, NULL, 10) : 1;
}

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

/* Any finite bit pattern, or one of the shapes that stores hold: decimals of few digits, integers,
 * neighbours of powers of two, numbers of ordinary size. */
static double random_double(void)
{
    const uint64_t r = next_random();
    double d;
    switch (r % 6) {
    case 0:
        d = (double)(int64_t)(next_random() >> (r >> 8) % 64) / pow(10, (double)((r >> 16) % 20));
        break;
    case 1:
        d = (double)(int64_t)next_random();
        break;
    case 2:
        d = double_of(bits_of(ldexp(1, (int)((r >> 8) % 2098) - 1074)) + (r >> 20) % 5 - 2);
        break;
    case 3:
        d = ldexp((double)(next_random() >> 11), (int)((r >> 8) % 120) - 110);
        break;
    default:
        d = double_of(next_random());
        break;
    }
    return isfinite(d) ? d : 0.5;
}

static const char *text_of(double d)
{
    static char text[MK_DOUBLE_TEXT_MAX + 1];
    const size_t n = mk_double_text(text, d);
    assert_true(n <= MK_DOUBLE_TEXT_MAX);
    text[n] = '\0';
    return text;
}

static double parse(const char *text) { return mk_double_parse(mk_str_of(text)); }

#define assert_same_double(got, want, what)                                                        \
    do {                                                                                           \
        if (bits_of(got) != bits_of(want)) {                                                       \
            print_error("%s: got %a, want %a\n", (what), (got), (want));                           \
            fail();                                                                                \
        }                                                                                          \
    } while (0)

typedef struct text_case {
    double d;
    const char *text;
} text_case;

static void check_texts(const text_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(text_of(cases[i].d), cases[i].text);
        assert_same_double(parse(cases[i].text), cases[i].d, cases[i].text);
    }
}
#define CHECK_TEXTS(cases) check_texts(cases, sizeof(cases) / sizeof(cases)[0])

static void test_num__text_has_the_layout_of_the_spec(void **state)
{
    (void)state;
    static const text_case cases[] = {
        {1.0, "1.0"},
        {100000.0, "100000.0"},
        {0.0001, "0.0001"},
        {0.00001, "1e-05"},
        {0.00012345678901234567, "0.00012345678901234567"},
        {1e15, "1000000000000000.0"},
        {9999999999999998.0, "9999999999999998.0"},
        {1e16, "1e+16"},
        {1.2345e16, "1.2345e+16"},
        {1.5e300, "1.5e+300"},
        {1e100, "1e+100"},
        {0.1, "0.1"},
        {2.5, "2.5"},
        {-2.5, "-2.5"},
        {123.456, "123.456"},
        {0.0, "0.0"},
        {-0.0, "-0.0"},
        {1e-7, "1e-07"},
        {1.7e-10, "1.7e-10"},
        {12345678.123456789, "12345678.12345679"},
        {1700000000000000.5, "1700000000000000.5"},
    };
    CHECK_TEXTS(cases);
}

static void test_num__text_is_shortest_at_the_edges_of_the_range(void **state)
{
    (void)state;
    static const text_case cases[] = {
        {5e-324, "5e-324"},
        {1e-323, "1e-323"},
        {2.2250738585072014e-308, "2.2250738585072014e-308"},
        {2.225073858507201e-308, "2.225073858507201e-308"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
        {9007199254740991.0, "9007199254740991.0"},
        {9007199254740992.0, "9007199254740992.0"},
        {9007199254740994.0, "9007199254740994.0"},
        {4611686018427387904.0, "4.611686018427388e+18"},
        {1.5372286728091293e18, "1.5372286728091292e+18"},
        {5e22, "5e+22"},
        {1e23, "1e+23"},
        {9.5367431640625e-07, "9.5367431640625e-07"},
    };
    CHECK_TEXTS(cases);
}

/* Below a power of two the doubles lie twice as dense; printing that overlooks it gives a shorter
 * text that reads back to the neighbour, or misses the shortest one. */
static void test_num__text_of_powers_of_two_keeps_the_narrow_side(void **state)
{
    (void)state;
    assert_string_equal(text_of(ldexp(1, -24)), "5.960464477539063e-08");
    assert_string_equal(text_of(ldexp(1, -44)), "5.684341886080802e-14");
    assert_string_equal(text_of(ldexp(1, 89)), "6.189700196426902e+26");
    for (int e = -1074; e <= 1023; e++) {
        const double d = ldexp(1, e);
        assert_same_double(parse(text_of(d)), d, "power of two");
    }
}

static void test_num__text_of_non_finite_values_are_words(void **state)
{
    (void)state;
    assert_string_equal(text_of(NAN), "NaN");
    assert_string_equal(text_of(-NAN), "NaN");
    assert_string_equal(text_of(INFINITY), "Infinity");
    assert_string_equal(text_of(-INFINITY), "-Infinity");
}

/* Digits of a text without leading and trailing zeros, and the power of ten of the first. */
static size_t significant(const char *text, char *digits)
{
    size_t n = 0;
    for (; *text != '\0' && *text != 'e'; text++)
        if (*text >= '0' && *text <= '9' && (n > 0 || *text != '0'))
            digits[n++] = *text;
    while (n > 0 && digits[n - 1] == '0')
        n--;
    digits[n] = '\0';
    return n;
}

/* The fewest digits for which "%.*e" reads back. Away from powers of two nothing shorter exists,
 * since the nearest decimal of that length is inside the interval when any is. */
static void check_shortest(double d)
{
    char text[64], digits[64], best[64];
    int precision = 0;
    const char *ours = text_of(d);
    const size_t n = significant(ours, digits);
    assert_same_double(strtod(ours, NULL), d, ours);
    do {
        snprintf(text, sizeof text, "%.*e", precision++, d);
    } while (strtod(text, NULL) != d);
    const size_t n_best = significant(text, best);
    if (n > n_best) {
        print_error("%a: %s is longer than %s\n", d, ours, text);
        fail();
    }
    if (n == n_best && strcmp(digits, best) != 0) {
        print_error("%a: %s is not as near as %s\n", d, ours, text);
        fail();
    }
    /* One digit fewer than the C library finds is only possible at a power of two. */
    if (n < n_best)
        assert_true((bits_of(d) & ((UINT64_C(1) << 52) - 1)) == 0);
}

static void test_num__text_is_the_shortest_for_random_doubles(void **state)
{
    (void)state;
    seed_random();
    for (int i = 0; i < RANDOM_DOUBLES / 5; i++) {
        const double d = random_double();
        if (d != 0)
            check_shortest(d);
    }
}

static void test_num__text_reads_back_for_random_doubles(void **state)
{
    (void)state;
    seed_random();
    for (int i = 0; i < RANDOM_DOUBLES; i++) {
        const double d = random_double();
        const char *text = text_of(d);
        assert_same_double(parse(text), d, text);
    }
}

static void check_parse(const char *text)
{
    assert_same_double(parse(text), strtod(text, NULL), text);
}

static void test_num__parse_agrees_with_the_tables(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "0",
        "-0",
        "0.0",
        "-0.0",
        "1e5",
        "1E+2",
        "0.10",
        "0e999999999999999999999",
        "1e309",
        "-1e309",
        "1.7976931348623158e308",
        "1.7976931348623159e308",
        "179769313486231580793728971405303415079934132710037826936173778980444968292764750946649017977587"
        "2070963302864166928879109465555478519404026306574886715058206819089020007083836762738548458177115"
        "3176447573027006985557136695962284291481986083493647529271907416844436551070434271155969950809304"
        "288003904471834256",
        "4.9e-324",
        "2.4703282292062327e-324",
        "2.4703282292062328e-324",
        "2.47032822920623272088284396434110686182e-324",
        "1e-400",
        "2.2250738585072011e-308",
        "2.2250738585072012e-308",
        "2.2250738585072014e-308",
        "9007199254740993",
        "9007199254740992.999999999999999999999999999999",
        "9007199254740993.000000000000000000000000000001",
        "9223372036854775808",
        "18446744073709551615",
        "123456789012345678901234567890",
        "0.000000000000000000000000000000000000000000000000000000000000000000001e69",
        "1000000000000000000000000000000000000000000000000000000000000000000000e-69",
        "8.5e22",
        "1e23",
        "8.442911973260991817129021e-309",
        "6.25e-2000",
        "1e-9999999999999999999999",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        check_parse(texts[i]);
    assert_true(isinf(parse("1e9999999999999999999999")));
}

/* The exact decimal expansion of the middle between a double and the next one, which must go to the
 * even neighbour, and up as soon as a digit follows it, however far behind. */
static void test_num__parse_decides_ties_with_hundreds_of_digits(void **state)
{
    (void)state;
    static char text[4096];
    seed_random();
    for (int i = 0; i < 2000; i++) {
        const double d = fabs(double_of(next_random()));
        const uint64_t bits = bits_of(d);
        if (!isfinite(d) || d > 1e300)
            continue;
        const long double middle = ((long double)d + (long double)double_of(bits + 1)) / 2;
        const int n = snprintf(text, sizeof text, "%.1150Lf", middle);
        check_parse(text);
        memset(text + n, '0', 1000);
        memcpy(text + n + 1000, "1", 2);
        assert_true(bits_of(parse(text)) == bits + 1);
    }
}

static void test_num__parse_agrees_for_random_decimals(void **state)
{
    (void)state;
    char text[80];
    seed_random();
    for (int i = 0; i < RANDOM_DOUBLES; i++) {
        const uint64_t r = next_random();
        const uint64_t digits = next_random() >> (r >> 32) % 64;
        const int exponent = (int)(r % 3 == 0 ? (r >> 8) % 680 : 310 + (r >> 8) % 60) - 340;
        if ((r >> 20) % 4 == 0)
            snprintf(text, sizeof text, "%llu.%06llue%d", (unsigned long long)digits,
                     (unsigned long long)(next_random() % 1000000), exponent);
        else
            snprintf(text, sizeof text, "%llue%d", (unsigned long long)digits, exponent);
        check_parse(text);
    }
}

static void test_num__parse_reads_numbers_of_4096_digits(void **state)
{
    (void)state;
    static char text[4097];
    memset(text, '9', 4096);
    assert_true(isinf(parse(text)));
    text[0] = '0';
    text[1] = '.';
    check_parse(text);
    memset(text + 2, '0', 4000);
    check_parse(text);
    memset(text + 2, '1', 4000);
    memcpy(text + 4090, "e+300", 6);
    check_parse(text);
    seed_random();
    for (size_t i = 2; i < 4090; i++)
        text[i] = (char)('0' + next_random() % 10);
    check_parse(text);
}

static double library_round9(double d)
{
    char text[400];
    snprintf(text, sizeof text, "%.9f", d);
    return strtod(text, NULL);
}

static void test_num__round9_agrees_with_the_table(void **state)
{
    (void)state;
    static const text_case cases[] = {
        {1.0 / 3, "0.333333333"},
        {2.0 / 3, "0.666666667"},
        {0.1 + 0.2, "0.3"},
        {123456.7890123456, "123456.789012346"},
        {12345678.123456789, "12345678.12345679"},
        {0.0009765625, "0.000976562"},
        {0.0029296875, "0.002929688"},
        {5.9604644775390625e-08, "6e-08"},
        {4.5e-10, "0.0"},
        {5e-10, "1e-09"},
        {-1e-10, "-0.0"},
        {-0.0, "-0.0"},
        {1700000000000000.5, "1700000000000000.5"},
        {4611686018427387904.0 / 3, "1.5372286728091292e+18"},
        {5e-324, "0.0"},
        {1e300, "1e+300"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_string_equal(text_of(mk_round9(cases[i].d)), cases[i].text);
    assert_true(bits_of(mk_round9(12345678.123456789)) == bits_of(12345678.123456789));
    assert_true(isnan(mk_round9(NAN)));
    assert_true(isinf(mk_round9(INFINITY)));
}

static void test_num__round9_agrees_for_random_doubles(void **state)
{
    (void)state;
    seed_random();
    for (int i = 0; i < RANDOM_DOUBLES; i++) {
        const double d = random_double();
        assert_same_double(mk_round9(d), library_round9(d), "any size");
        /* The sizes where the tenth place is a bit of the number: 2^-40 to 2^44. */
        const double e = ldexp((double)(next_random() >> 11), -93 + (int)(next_random() % 85));
        assert_same_double(mk_round9(e), library_round9(e), "near the tenth place");
    }
}

/* k * 2^-10 is a tie at the tenth place for every odd k. */
static void test_num__round9_sends_ties_to_even(void **state)
{
    (void)state;
    for (int k = -20001; k < 20000; k += 2) {
        const double d = (double)k / 1024;
        assert_same_double(mk_round9(d), library_round9(d), "tie");
    }
}

static void test_num__round9_is_idempotent(void **state)
{
    (void)state;
    seed_random();
    for (int i = 0; i < RANDOM_DOUBLES; i++) {
        const double once = mk_round9(random_double());
        assert_same_double(mk_round9(once), once, "twice");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_num__text_has_the_layout_of_the_spec),
        cmocka_unit_test(test_num__text_is_shortest_at_the_edges_of_the_range),
        cmocka_unit_test(test_num__text_of_powers_of_two_keeps_the_narrow_side),
        cmocka_unit_test(test_num__text_of_non_finite_values_are_words),
        cmocka_unit_test(test_num__text_is_the_shortest_for_random_doubles),
        cmocka_unit_test(test_num__text_reads_back_for_random_doubles),
        cmocka_unit_test(test_num__parse_agrees_with_the_tables),
        cmocka_unit_test(test_num__parse_decides_ties_with_hundreds_of_digits),
        cmocka_unit_test(test_num__parse_agrees_for_random_decimals),
        cmocka_unit_test(test_num__parse_reads_numbers_of_4096_digits),
        cmocka_unit_test(test_num__round9_agrees_with_the_table),
        cmocka_unit_test(test_num__round9_agrees_for_random_doubles),
        cmocka_unit_test(test_num__round9_sends_ties_to_even),
        cmocka_unit_test(test_num__round9_is_idempotent),
    };
    return cmocka_run_group_tests_name("num", tests, NULL, NULL);
}

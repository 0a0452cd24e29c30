/* test_timetext.c — reading and printing times. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/timetext.h"

#define SECOND INT64_C(1000000)
#define DAY (86400 * SECOND)

static int64_t parsed(const char *text)
{
    mk_err err;
    int64_t us = 0;

    if (mk_time_parse(mk_str_of(text), &us, &err) != MK_OK)
        fail_msg("%s: %s", text, err.message);
    return us;
}

static void check_refused(const char *text, int64_t offset, const char *in_message,
                          const char *in_hint)
{
    mk_err err;
    int64_t us = 77;

    assert_int_equal(mk_time_parse(mk_str_of(text), &us, &err), MK_E_INVALID_ARG);
    assert_int_equal(us, 77);
    assert_int_equal(err.code, MK_E_INVALID_ARG);
    if (err.offset != offset)
        fail_msg("%s: offset %lld, not %lld", text, (long long)err.offset, (long long)offset);
    if (strstr(err.message, in_message) == NULL)
        fail_msg("%s: \"%s\" is not in \"%s\"", text, in_message, err.message);
    if (strstr(err.hint, in_hint) == NULL)
        fail_msg("%s: \"%s\" is not in \"%s\"", text, in_hint, err.hint);
    assert_int_equal(mk_time_parse(mk_str_of(text), &us, NULL), MK_E_INVALID_ARG);
}

static void check_text(int64_t us, const char *expected)
{
    char room[MK_TIME_TEXT_MAX + 1];
    const size_t n = mk_time_text(room, us);

    assert_true(n <= MK_TIME_TEXT_MAX);
    room[n] = '\0';
    assert_string_equal(room, expected);
}

/* xorshift64*; Vigna 2016. */
static uint64_t next_random(uint64_t *seed)
{
    *seed ^= *seed >> 12;
    *seed ^= *seed << 25;
    *seed ^= *seed >> 27;
    return *seed * UINT64_C(0x2545F4914F6CDD1D);
}

/* ---- reading ---- */

static void test_timetext__integers_are_microseconds(void **state)
{
    (void)state;
    assert_int_equal(parsed("0"), 0);
    assert_int_equal(parsed("1714521600000000"), INT64_C(1714521600000000));
    assert_int_equal(parsed("-1"), -1);
    assert_int_equal(parsed("+15"), 15);
    assert_int_equal(parsed("4611686018427387904"), MK_OPEN_END);
    assert_int_equal(parsed("-4611686018427387904"), MK_TIME_MIN);
}

static void test_timetext__a_bare_number_of_four_digits_is_not_a_year(void **state)
{
    (void)state;
    assert_int_equal(parsed("2024"), 2024);
    assert_int_equal(parsed("-0044"), -44);
    assert_int_equal(parsed("2024Z"), parsed("2024-01-01"));
}

static void test_timetext__open_has_two_spellings(void **state)
{
    (void)state;
    assert_int_equal(parsed("open"), MK_OPEN_END);
    assert_int_equal(parsed(".."), MK_OPEN_END);
}

static void test_timetext__dates_start_at_midnight_utc(void **state)
{
    (void)state;
    assert_int_equal(parsed("1970-01-01"), 0);
    assert_int_equal(parsed("1970-01-02"), DAY);
    assert_int_equal(parsed("1969-12-31"), -DAY);
    assert_int_equal(parsed("2024-05-01"), INT64_C(1714521600) * SECOND);
    assert_int_equal(parsed("2024-05"), INT64_C(1714521600) * SECOND);
    assert_int_equal(parsed("+2024-05-01"), INT64_C(1714521600) * SECOND);
    assert_int_equal(parsed("0000-01-01"), INT64_C(-62167219200) * SECOND);
    assert_int_equal(parsed("-0001-12-31"), INT64_C(-62167305600) * SECOND);
    assert_int_equal(parsed("9999-12-31"), INT64_C(253402214400) * SECOND);
    assert_int_equal(parsed("-9999-01-01"), mk_days_of_civil(-9999, 1, 1) * DAY);
}

static void test_timetext__times_of_day_are_read_to_the_microsecond(void **state)
{
    const int64_t day = parsed("2024-05-01");

    (void)state;
    assert_int_equal(parsed("2024-05-01T12:30"), day + 45000 * SECOND);
    assert_int_equal(parsed("2024-05-01 12:30"), day + 45000 * SECOND);
    assert_int_equal(parsed("2024-05-01t12:30:15z"), day + 45015 * SECOND);
    assert_int_equal(parsed("2024-05-01T12:30:15.5Z"), day + 45015 * SECOND + 500000);
    assert_int_equal(parsed("2024-05-01T12:30:15.000001Z"), day + 45015 * SECOND + 1);
    assert_int_equal(parsed("2024-05-01T12:30:15.0000019999999Z"), day + 45015 * SECOND + 1);
    assert_int_equal(parsed("1969-12-31T23:59:59.9999999"), -1);
    assert_int_equal(parsed("2024-05-01T24:00"), day + DAY);
    assert_int_equal(parsed("2024-05-01T24:00:00.000Z"), day + DAY);
    assert_int_equal(parsed("2016-12-31T23:59:60Z"), parsed("2017-01-01"));
}

static void test_timetext__zones_move_towards_utc(void **state)
{
    const int64_t noon = parsed("2024-05-01T12:00Z");

    (void)state;
    assert_int_equal(parsed("2024-05-01T14:00+02:00"), noon);
    assert_int_equal(parsed("2024-05-01T14:00+02"), noon);
    assert_int_equal(parsed("2024-05-01T14:00+0200"), noon);
    assert_int_equal(parsed("2024-05-01T06:30:00-05:30"), noon);
    assert_int_equal(parsed("2024-05-01T12:00:00.0-00:00"), noon);
    assert_int_equal(parsed("2024-05-01+02:00"), parsed("2024-04-30T22:00"));
    assert_int_equal(parsed("2024-01-01T00:30+01:00"), parsed("2023-12-31T23:30"));
}

static void test_timetext__leap_days_follow_the_gregorian_rule(void **state)
{
    (void)state;
    assert_int_equal(parsed("2024-02-29") + DAY, parsed("2024-03-01"));
    assert_int_equal(parsed("2000-02-29") + DAY, parsed("2000-03-01"));
    assert_int_equal(parsed("-0004-02-29") + DAY, parsed("-0004-03-01"));
    check_refused("2023-02-29", 8, "not between 01 and 28, the last day of February 2023",
                  "2023-02-28");
    check_refused("1900-02-29", 8, "the last day of February 1900", "1900-02-28");
    check_refused("2024-02-30", 8, "day 30", "2024-02-29");
    check_refused("2024-04-31T10:00", 8, "the last day of April 2024", "2024-04-30");
    check_refused("-0044-02-30", 9, "February -0044", "-0044-02-29");
}

static void test_timetext__errors_name_the_part_and_what_would_pass(void **state)
{
    (void)state;
    check_refused("2024-13-01", 5, "month 13", "from 01 to 12");
    check_refused("2024-00", 5, "month 00", "from 01 to 12");
    check_refused("2024-05-00", 8, "day 00", "2024-05-01");
    check_refused("2024-5-1", 5, "month at offset 5 needs 2 digits", "2024-05-01");
    check_refused("24-05-01", 0, "year at offset 0 needs 4 digits", "2024-05-01");
    check_refused("12024-05-01", 0, "more than 4 digits", "2024-05-01");
    check_refused("2024-05-01T25:00", 11, "hour 25", "from 00 to 24");
    check_refused("2024-05-01T24:01", 11, "hour 24", "24:00");
    check_refused("2024-05-01T24:00:00.1", 11, "hour 24", "24:00");
    check_refused("2024-05-01T12:60", 14, "minute 60", "from 00 to 59");
    check_refused("2024-05-01T12:00:61", 17, "second 61", "from 00 to 60");
    check_refused("2024-05-01T12", 13, "minutes", "T12:30:00Z");
    check_refused("2024-05-01T12:00:00.", 20, "fraction", "T12:30:00Z");
    check_refused("2024-05-01T12:00+24:00", 17, "zone hour 24", "from 00 to 23");
    check_refused("2024-05-01T12:00+02:", 20, "zone minute", "T12:30:00Z");
    check_refused("2024-05-01T12:00Z ", 17, "unexpected text at offset 17", "open");
    check_refused(" 2024-05-01", 0, "year", "open");
    check_refused("2024-05T12:00", 7, "unexpected text", "2024-05-01T12:30:00Z");
    check_refused("", 0, "year", "1714521600000000");
    check_refused("now", 0, "year", "open");
    check_refused("OPEN", 0, "year", "open");
    check_refused("100.0", 0, "year", "integer of microseconds");
    check_refused("-", 1, "year", "open");
}

static void test_timetext__integers_out_of_range_are_refused(void **state)
{
    (void)state;
    check_refused("4611686018427387905", 0, "2^62", "4611686018427387904");
    check_refused("-4611686018427387905", 0, "2^62", "-4611686018427387904");
    check_refused("9223372036854775808", 0, "2^62", "4611686018427387904");
    check_refused("99999999999999999999999999999999", 0, "2^62", "4611686018427387904");
}

static void test_timetext__hostile_text_is_cut_and_may_hold_any_byte(void **state)
{
    static const char zeros[20] = {0};
    char big[5000];
    mk_err err;
    int64_t us;

    (void)state;
    memset(big, 'x', sizeof big);
    assert_int_equal(mk_time_parse((mk_str){big, sizeof big}, &us, &err), MK_E_INVALID_ARG);
    assert_true(strlen(err.message) < 200);
    assert_int_equal(mk_time_parse((mk_str){zeros, sizeof zeros}, &us, &err), MK_E_INVALID_ARG);
    assert_int_equal(mk_time_parse((mk_str){NULL, 0}, &us, &err), MK_E_INVALID_ARG);
    memset(big, '7', sizeof big);
    memcpy(big, "2024-05-01T00:00:00.", 20);
    assert_int_equal(mk_time_parse((mk_str){big, sizeof big}, &us, &err), MK_OK);
    assert_int_equal(us, parsed("2024-05-01T00:00:00.777777"));
}

/* Goal: no reader looks behind the end. Method: every prefix of a long time in a block of exactly
 * its size, which the address sanitizer watches. */
static void test_timetext__no_prefix_reads_behind_its_end(void **state)
{
    static const char text[] = "-2024-02-29T12:30:15.123456789+05:30";

    (void)state;
    for (size_t n = 0; n < sizeof text; n++) {
        char *copy = test_malloc(n + 1);
        int64_t us;
        memcpy(copy + 1, text, n);
        (void)!mk_time_parse((mk_str){copy + 1, n}, &us, NULL);
        test_free(copy);
    }
}

/* ---- printing ---- */

static void test_timetext__printing_is_shortest_in_utc(void **state)
{
    (void)state;
    check_text(0, "1970-01-01T00:00:00Z");
    check_text(INT64_C(1714521600000000), "2024-05-01T00:00:00Z");
    check_text(-1, "1969-12-31T23:59:59.999999Z");
    check_text(500000, "1970-01-01T00:00:00.5Z");
    check_text(120, "1970-01-01T00:00:00.00012Z");
    check_text(MK_OPEN_END, "open");
    check_text(MK_TIME_MIN, "-4611686018427387904");
    check_text(MK_OPEN_END - 1, "4611686018427387903");
    check_text(INT64_MIN, "-9223372036854775808");
    check_text(INT64_MAX, "9223372036854775807");
    check_text(parsed("-0044-03-15"), "-0044-03-15T00:00:00Z");
    check_text(parsed("9999-12-31T23:59:59.999999"), "9999-12-31T23:59:59.999999Z");
    check_text(parsed("9999-12-31T24:00"), "253402300800000000");
    check_text(parsed("-9999-01-01"), "-9999-01-01T00:00:00Z");
    check_text(parsed("-9999-01-01") - 1, "-377705116800000001");
}

/* Law: what is printed reads back as the same time, over the whole range and around year 0 to 4000,
 * where the text is a date and not an integer. */
static void test_timetext__printed_times_read_back(void **state)
{
    uint64_t seed = 20240501;

    (void)state;
    for (int i = 0; i < 200000; i++) {
        const uint64_t random = next_random(&seed);
        const int64_t wide = (int64_t)(random >> 1) - MK_OPEN_END;
        const int64_t us = i % 2 ? wide : wide / 37;
        char room[MK_TIME_TEXT_MAX];
        const size_t n = mk_time_text(room, us);
        int64_t back = 0;
        assert_true(n <= sizeof room);
        if (mk_time_parse((mk_str){room, n}, &back, NULL) != MK_OK || back != us)
            fail_msg("%lld is printed as %.*s, which reads as %lld", (long long)us, (int)n, room,
                     (long long)back);
    }
}

/* Goal: the closed formulas against counting day by day. */
static void test_timetext__days_count_one_by_one_through_the_calendar(void **state)
{
    static const unsigned lengths[13] = {0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int64_t days = mk_days_of_civil(-801, 1, 1);

    (void)state;
    for (int64_t year = -801; year <= 2801; year++) {
        const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
        for (unsigned month = 1; month <= 12; month++) {
            const unsigned last = lengths[month] + (month == 2 && leap);
            for (unsigned day = 1; day <= last; day++, days++) {
                int64_t y;
                unsigned m, d;
                mk_civil_of_days(days, &y, &m, &d);
                if (mk_days_of_civil(year, month, day) != days || y != year || m != month ||
                    d != day)
                    fail_msg("day %lld", (long long)days);
            }
        }
    }
    assert_int_equal(mk_days_of_civil(1970, 1, 1), 0);
}

static void test_timetext__far_years_convert_both_ways(void **state)
{
    static const int64_t years[] = {-10000000, -146139, -10000, 10000, 146139, 10000000};

    (void)state;
    for (size_t i = 0; i < sizeof years / sizeof years[0]; i++) {
        int64_t year;
        unsigned month, day;
        mk_civil_of_days(mk_days_of_civil(years[i], 2, 28), &year, &month, &day);
        assert_int_equal(year, years[i]);
        assert_int_equal(month, 2);
        assert_int_equal(day, 28);
    }
}

static void test_timetext__the_system_clock_is_after_this_test_was_written(void **state)
{
    const int64_t now = mk_clock_system.now_us(mk_clock_system.ctx);

    (void)state;
    assert_true(now > parsed("2024-01-01"));
    assert_true(now < parsed("9999-01-01"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_timetext__integers_are_microseconds),
        cmocka_unit_test(test_timetext__a_bare_number_of_four_digits_is_not_a_year),
        cmocka_unit_test(test_timetext__open_has_two_spellings),
        cmocka_unit_test(test_timetext__dates_start_at_midnight_utc),
        cmocka_unit_test(test_timetext__times_of_day_are_read_to_the_microsecond),
        cmocka_unit_test(test_timetext__zones_move_towards_utc),
        cmocka_unit_test(test_timetext__leap_days_follow_the_gregorian_rule),
        cmocka_unit_test(test_timetext__errors_name_the_part_and_what_would_pass),
        cmocka_unit_test(test_timetext__integers_out_of_range_are_refused),
        cmocka_unit_test(test_timetext__hostile_text_is_cut_and_may_hold_any_byte),
        cmocka_unit_test(test_timetext__no_prefix_reads_behind_its_end),
        cmocka_unit_test(test_timetext__printing_is_shortest_in_utc),
        cmocka_unit_test(test_timetext__printed_times_read_back),
        cmocka_unit_test(test_timetext__days_count_one_by_one_through_the_calendar),
        cmocka_unit_test(test_timetext__far_years_convert_both_ways),
        cmocka_unit_test(test_timetext__the_system_clock_is_after_this_test_was_written),
    };

    return cmocka_run_group_tests_name("timetext", tests, NULL, NULL);
}

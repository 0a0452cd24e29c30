/* timetext.c — times as people write them.
 *
 * A reader walks the text once from left to right: date, then time of day, then zone, each optional
 * after the part before it. Every part checks its own range where it stands, so an error can say
 * which part, at which offset, and what would have passed. Beyond the forms in the header it reads
 * the variants that RFC 3339 and the knowledge spec (section 6) allow: "t" and "z" in lower case,
 * "+HHMM", and second 60, which is the first instant of the next minute. */
#include "base/timetext.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#define US_PER_SECOND INT64_C(1000000)
#define US_PER_DAY (INT64_C(86400) * US_PER_SECOND)

/* Of an unreadable time this much is quoted in the message. */
#define QUOTE_MAX 64

#define HINT_FORMS                                                                                 \
    "write an integer of microseconds since 1970 such as 1714521600000000, a date such as "        \
    "2024-05-01, an instant such as 2024-05-01T12:30:00Z, or open"

/* ---- calendar ---- */

static const char *const month_names[13] = {
    "",     "January", "February",  "March",   "April",    "May",     "June",
    "July", "August",  "September", "October", "November", "December"};

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static bool is_leap(int64_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static int days_in_month(int64_t year, int month)
{
    static const int days[13] = {0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

    return days[month] + (month == 2 && is_leap(year));
}

/* Counts years from March, so that the leap day is the last of its year, in eras of 400 years,
 * which all have 146,097 days. Source: Hinnant, "chrono-Compatible Low-Level Date Algorithms",
 * 2013. */
int64_t mk_days_of_civil(int64_t year, unsigned month, unsigned day)
{
    const int64_t y = year - (month <= 2);
    const int64_t era = floor_div(y, 400);
    const int64_t year_of_era = y - era * 400;
    const int64_t month_from_march = (month + 9) % 12;
    const int64_t day_of_year = (153 * month_from_march + 2) / 5 + (int64_t)day - 1;
    const int64_t day_of_era =
        year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;

    return era * 146097 + day_of_era - 719468; /* days from 0000-03-01 to 1970-01-01 */
}

void mk_civil_of_days(int64_t days, int64_t *year, unsigned *month, unsigned *day)
{
    const int64_t z = days + 719468;
    const int64_t era = floor_div(z, 146097);
    const int64_t day_of_era = z - era * 146097;
    const int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    const int64_t day_of_year =
        day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const int64_t month_from_march = (5 * day_of_year + 2) / 153;

    *day = (unsigned)(day_of_year - (153 * month_from_march + 2) / 5 + 1);
    *month = (unsigned)(month_from_march < 10 ? month_from_march + 3 : month_from_march - 9);
    *year = year_of_era + era * 400 + (*month <= 2);
}

/* ---- reading ---- */

typedef struct reader {
    mk_str text;
    size_t at; /* next byte to look at */
    mk_err *err;
} reader;

typedef struct civil {
    int64_t year;
    int month, day;
    int hour, minute, second;
    int64_t fraction_us;
    int zone_minutes; /* east of UTC */
} civil;

MK_PRINTF(3, 4)
static mk_code fail_part(const reader *r, size_t offset, const char *fmt, ...)
{
    char what[160];
    va_list args;

    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    const bool cut = r->text.n > QUOTE_MAX;
    mk_fail(r->err, MK_E_INVALID_ARG, "\"%.*s%s\" is not a time: %s",
            (int)(cut ? QUOTE_MAX : r->text.n), r->text.n > 0 ? r->text.p : "", cut ? "..." : "",
            what);
    mk_err_offset(r->err, (int64_t)offset);
    mk_err_hint(r->err, HINT_FORMS);
    return MK_E_INVALID_ARG;
}

static int peek(const reader *r)
{
    return r->at < r->text.n ? (unsigned char)r->text.p[r->at] : -1;
}

static bool take(reader *r, char c)
{
    const bool found = peek(r) == (unsigned char)c;

    r->at += found;
    return found;
}

static bool at_digit(const reader *r)
{
    const int c = peek(r);

    return c >= '0' && c <= '9';
}

static mk_code read_digits(reader *r, const char *part, size_t count, int *out)
{
    const size_t start = r->at;
    int value = 0;

    for (size_t i = 0; i < count; i++) {
        if (!at_digit(r))
            return fail_part(r, start, "the %s at offset %zu needs %zu digits", part, start, count);
        value = value * 10 + (r->text.p[r->at++] - '0');
    }
    *out = value;
    return MK_OK;
}

static mk_code read_two(reader *r, const char *part, int min, int max, int *out)
{
    const size_t start = r->at;
    mk_code rc;

    MK_TRY(rc, read_digits(r, part, 2, out));
    if (*out < min || *out > max) {
        rc = fail_part(r, start, "%s %02d at offset %zu is not between %02d and %02d", part, *out,
                       start, min, max);
        mk_err_hint(r->err, "use a %s from %02d to %02d", part, min, max);
    }
out:
    return rc;
}

static mk_code read_year(reader *r, civil *c)
{
    const bool negative = peek(r) == '-';
    int year = 0;
    mk_code rc;

    if (negative || peek(r) == '+')
        r->at++;
    const size_t start = r->at;
    MK_TRY(rc, read_digits(r, "year", 4, &year));
    if (at_digit(r))
        return fail_part(r, start, "the year at offset %zu has more than 4 digits", start);
    c->year = negative ? -year : year;
out:
    return rc;
}

static mk_code read_day(reader *r, civil *c)
{
    const size_t start = r->at;
    const int last = days_in_month(c->year, c->month);
    mk_code rc;

    MK_TRY(rc, read_digits(r, "day", 2, &c->day));
    if (c->day < 1 || c->day > last) {
        const char *sign = c->year < 0 ? "-" : "";
        const int year = (int)(c->year < 0 ? -c->year : c->year);
        rc = fail_part(r, start,
                       "day %02d at offset %zu is not between 01 and %d, the last day of %s %s%04d",
                       c->day, start, last, month_names[c->month], sign, year);
        mk_err_hint(r->err, "use a day from 01 to %d, such as %s%04d-%02d-%02d", last, sign, year,
                    c->month, c->day < 1 ? 1 : last);
    }
out:
    return rc;
}

/* Returns with *whole true when the text had year, month and day, after which a time may follow. */
static mk_code read_date(reader *r, civil *c, bool *whole)
{
    mk_code rc;

    *whole = false;
    MK_TRY(rc, read_year(r, c));
    if (!take(r, '-'))
        goto out;
    MK_TRY(rc, read_two(r, "month", 1, 12, &c->month));
    if (!take(r, '-'))
        goto out;
    MK_TRY(rc, read_day(r, c));
    *whole = true;
out:
    return rc;
}

/* Digits beyond the sixth are read and dropped, which rounds towards the past at any date because
 * the fraction counts forward from its second. */
static mk_code read_fraction(reader *r, civil *c)
{
    int64_t unit = US_PER_SECOND;

    if (!at_digit(r))
        return fail_part(r, r->at, "the fraction at offset %zu needs a digit", r->at);
    while (at_digit(r)) {
        unit /= 10;
        c->fraction_us += (r->text.p[r->at++] - '0') * unit;
    }
    return MK_OK;
}

static mk_code read_time_of_day(reader *r, civil *c)
{
    const size_t start = r->at;
    mk_code rc;

    MK_TRY(rc, read_two(r, "hour", 0, 24, &c->hour));
    if (!take(r, ':'))
        return fail_part(r, r->at, "the hour must be followed by \":\" and minutes at offset %zu",
                         r->at);
    MK_TRY(rc, read_two(r, "minute", 0, 59, &c->minute));
    if (take(r, ':')) {
        MK_TRY(rc, read_two(r, "second", 0, 60, &c->second));
        if (take(r, '.'))
            MK_TRY(rc, read_fraction(r, c));
    }
    if (c->hour == 24 && (c->minute != 0 || c->second != 0 || c->fraction_us != 0)) {
        rc = fail_part(r, start, "hour 24 at offset %zu is only allowed as 24:00", start);
        mk_err_hint(r->err, "use an hour from 00 to 23, or 24:00 for the end of the day");
    }
out:
    return rc;
}

static mk_code read_zone(reader *r, civil *c)
{
    const int sign = peek(r) == '-' ? -1 : 1;
    int hours = 0, minutes = 0;
    mk_code rc = MK_OK;

    if (take(r, 'Z') || take(r, 'z'))
        return MK_OK;
    if (!take(r, '+') && !take(r, '-'))
        return MK_OK;
    MK_TRY(rc, read_two(r, "zone hour", 0, 23, &hours));
    if (take(r, ':') || at_digit(r))
        MK_TRY(rc, read_two(r, "zone minute", 0, 59, &minutes));
    c->zone_minutes = sign * (hours * 60 + minutes);
out:
    return rc;
}

static int64_t us_of_civil(const civil *c)
{
    const int64_t days = mk_days_of_civil(c->year, (unsigned)c->month, (unsigned)c->day);
    const int64_t minutes = c->hour * 60 + c->minute - c->zone_minutes;

    return days * US_PER_DAY + (minutes * 60 + c->second) * US_PER_SECOND + c->fraction_us;
}

static mk_code parse_iso(mk_str text, int64_t *out_us, mk_err *err)
{
    reader r = {text, 0, err};
    civil c = {.month = 1, .day = 1};
    bool whole_date;
    mk_code rc;

    MK_TRY(rc, read_date(&r, &c, &whole_date));
    if (whole_date && (take(&r, 'T') || take(&r, 't') || take(&r, ' ')))
        MK_TRY(rc, read_time_of_day(&r, &c));
    MK_TRY(rc, read_zone(&r, &c));
    if (r.at != text.n)
        return fail_part(&r, r.at, "unexpected text at offset %zu", r.at);
    *out_us = us_of_civil(&c);
out:
    return rc;
}

static bool is_integer(mk_str text)
{
    size_t i = text.n > 0 && (text.p[0] == '-' || text.p[0] == '+');

    if (i == text.n)
        return false;
    while (i < text.n && text.p[i] >= '0' && text.p[i] <= '9')
        i++;
    return i == text.n;
}

static mk_code parse_integer(mk_str text, int64_t *out_us, mk_err *err)
{
    int64_t us;

    if (!mk_str_to_i64(text, &us) || us < MK_TIME_MIN || us > MK_OPEN_END) {
        const reader r = {text, 0, err};
        fail_part(&r, 0, "beyond 2^62 microseconds from 1970");
        mk_err_hint(err, "use an integer from %lld to %lld; open means no end",
                    (long long)MK_TIME_MIN, (long long)MK_OPEN_END);
        return MK_E_INVALID_ARG;
    }
    *out_us = us;
    return MK_OK;
}

mk_code mk_time_parse(mk_str text, int64_t *out_us, mk_err *err)
{
    if (mk_str_eq(text, MK_STR("open")) || mk_str_eq(text, MK_STR(".."))) {
        *out_us = MK_OPEN_END;
        return MK_OK;
    }
    if (is_integer(text))
        return parse_integer(text, out_us, err);
    return parse_iso(text, out_us, err);
}

/* ---- printing ---- */

static char *put_digits(char *p, int64_t value, int count)
{
    for (int i = count - 1; i >= 0; i--) {
        p[i] = (char)('0' + value % 10);
        value /= 10;
    }
    return p + count;
}

static char *put_date(char *p, int64_t year, unsigned month, unsigned day)
{
    if (year < 0)
        *p++ = '-';
    p = put_digits(p, year < 0 ? -year : year, 4);
    *p++ = '-';
    p = put_digits(p, month, 2);
    *p++ = '-';
    return put_digits(p, day, 2);
}

static char *put_time_of_day(char *p, int64_t us_of_day)
{
    const int64_t seconds = us_of_day / US_PER_SECOND;
    const int64_t fraction = us_of_day % US_PER_SECOND;

    *p++ = 'T';
    p = put_digits(p, seconds / 3600, 2);
    *p++ = ':';
    p = put_digits(p, seconds / 60 % 60, 2);
    *p++ = ':';
    p = put_digits(p, seconds % 60, 2);
    if (fraction != 0) {
        *p++ = '.';
        p = put_digits(p, fraction, 6);
        while (p[-1] == '0')
            p--;
    }
    *p++ = 'Z';
    return p;
}

size_t mk_time_text(char *p, int64_t us)
{
    const int64_t days = floor_div(us, US_PER_DAY);
    int64_t year;
    unsigned month, day;
    char *end;

    if (us == MK_OPEN_END) {
        memcpy(p, "open", 4);
        return 4;
    }
    mk_civil_of_days(days, &year, &month, &day);
    if (year < -9999 || year > 9999)
        return mk_i64_text(p, us);
    end = put_date(p, year, month, day);
    end = put_time_of_day(end, us - days * US_PER_DAY);
    return (size_t)(end - p);
}

/* ---- clock ---- */

/* The seconds are already rounded down and the nanoseconds are never negative, so dividing them
 * rounds towards the past before 1970 too. */
static int64_t system_now_us(void *ctx)
{
    struct timespec now = {0, 0};

    (void)ctx;
    clock_gettime(CLOCK_REALTIME, &now); /* cannot fail for this clock and a valid pointer */
    return (int64_t)now.tv_sec * US_PER_SECOND + now.tv_nsec / 1000;
}

const mk_clock mk_clock_system = {system_now_us, NULL};

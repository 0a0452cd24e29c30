/* offline_time.c — dates and spans as people write them. See offline_internal.h. Layer: agent.
 *
 * UTC, half-open. A day, a month, a year is all of it; a span between two dates includes both, a span between
 * two instants not its end. A number in brackets behind a readable time is the same time exactly, and
 * wins. */
#include "agent/offline_internal.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/num.h"

#define SECOND INT64_C(1000000)
#define DAY (86400 * SECOND)

/* ---- numbers ---- */

static bool read_digits(mk_str s, int64_t *out)
{
    int64_t v = 0;
    if (s.n == 0 || s.n > 18)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
        v = v * 10 + (s.p[i] - '0');
    }
    *out = v;
    return true;
}

/* Seconds, milliseconds or microseconds since 1970, told apart by their size. */
static bool read_epoch(mk_str s, int64_t *us)
{
    int64_t v;
    if (!read_digits(s, &v))
        return false;
    if (s.n == 10)
        *us = v * SECOND;
    else if (s.n == 13)
        *us = v * 1000;
    else
        *us = v;
    return s.n == 10 || s.n == 13 || s.n == 16;
}

static int month_of(const char *low)
{
    static const char *const names[] = {"january",   "february", "march",    "april",
                                        "may",       "june",     "july",     "august",
                                        "september", "october",  "november", "december"};
    const size_t n = strlen(low);
    for (int i = 0; i < 12; i++)
        if (strcmp(low, names[i]) == 0 || (n == 3 && strncmp(low, names[i], 3) == 0) ||
            (i == 8 && strcmp(low, "sept") == 0))
            return i + 1;
    return 0;
}

static int ordinal_of(const char *low)
{
    static const char *const words[] = {"first", "second", "third", "fourth", "fifth"};
    static const char *const short_words[] = {"1st", "2nd", "3rd", "4th", "5th"};
    for (int i = 0; i < 5; i++)
        if (strcmp(low, words[i]) == 0 || strcmp(low, short_words[i]) == 0)
            return i + 1;
    return 0;
}

/* A day of a month: 5, 05, 5th. */
static int day_of(const mk_token *t)
{
    size_t n = t->text.n;
    int64_t v;
    if (n > 2 && (mk_str_eq((mk_str){t->low + n - 2, 2}, MK_STR("st")) ||
                  mk_str_eq((mk_str){t->low + n - 2, 2}, MK_STR("nd")) ||
                  mk_str_eq((mk_str){t->low + n - 2, 2}, MK_STR("rd")) ||
                  mk_str_eq((mk_str){t->low + n - 2, 2}, MK_STR("th"))))
        n -= 2;
    return n <= 2 && read_digits((mk_str){t->low, n}, &v) && v >= 1 && v <= 31 ? (int)v : 0;
}

static int year_of(const mk_token *t)
{
    int64_t v;
    return t->text.n == 4 && read_digits(t->text, &v) && v >= 1900 && v <= 2100 ? (int)v : 0;
}

static int64_t day_start(int year, int month, int day)
{
    return mk_days_of_civil(year, (unsigned)month, (unsigned)day) * DAY;
}

static int64_t month_start(int year, int month)
{
    return month > 12 ? day_start(year + 1, month - 12, 1) : day_start(year, month, 1);
}

/* ---- one point ---- */

static const mk_token *at(const mk_off *q, size_t i)
{
    static const mk_token none;
    return i < q->count && !q->tokens[i].used ? &q->tokens[i] : &none;
}

static bool is_day_valid(int year, int month, int day)
{
    int64_t y;
    unsigned m, d;
    mk_civil_of_days(mk_days_of_civil(year, (unsigned)month, (unsigned)day), &y, &m, &d);
    return y == year && (int)m == month && (int)d == day;
}

/* The year of a date without one: the only one that the data have. */
static int only_year(const mk_off *q, int month)
{
    int64_t from, to;
    unsigned m, d;
    if (!q->has_extent)
        return 0;
    mk_civil_of_days(q->vt_min / DAY, &from, &m, &d);
    mk_civil_of_days((q->vt_max - 1) / DAY, &to, &m, &d);
    int found = 0;
    for (int64_t y = from; y <= to; y++)
        if (month_start((int)y, month) < q->vt_max && month_start((int)y, month + 1) > q->vt_min)
            found = found == 0 ? (int)y : -1;
    return found > 0 ? found : 0;
}

/* "14:40", "14:40:05"; microseconds of the day, -1: none. */
static int64_t clock_of(const mk_token *t)
{
    int h, m, s = 0, used = 0;
    const size_t n = t->text.n;
    if (n >= 4 && n <= 8 && sscanf(t->low, "%2d:%2d%n:%2d%n", &h, &m, &used, &s, &used) >= 2 &&
        (size_t)used == n && h < 24 && m < 60 && s < 60)
        return ((int64_t)h * 3600 + m * 60 + s) * SECOND;
    return -1;
}

static size_t skip_commas(const mk_off *q, size_t i, const char *words)
{
    while (i < q->count && mk_off__is_any(at(q, i), words))
        i++;
    return i;
}

/* A calendar day at token i: "2004-06-17", "June 15, 2004", "15 June 2004", "15 June". Gives the tokens
 * used. */
static size_t read_day(const mk_off *q, size_t i, int64_t *day)
{
    const mk_token *a = at(q, i), *b = at(q, i + 1), *c = at(q, i + 2);
    int64_t us;
    if (a->text.n == 10 && a->text.p[4] == '-' && mk_time_parse(a->text, &us, NULL) == MK_OK) {
        *day = us;
        return 1;
    }
    int month = month_of(a->low), d = month ? day_of(b) : 0, year = d ? year_of(c) : 0;
    if (month && d && !b->opens) {
        const int y = year ? year : only_year(q, month);
        if (y && is_day_valid(y, month, d)) {
            *day = day_start(y, month, d);
            return year ? 3 : 2;
        }
        return 0;
    }
    d = day_of(a);
    size_t next = i + 1;
    if (d && mk_off__is(at(q, next), "of"))
        next++;
    month = d ? month_of(at(q, next)->low) : 0;
    year = month ? year_of(at(q, next + 1)) : 0;
    if (month) {
        const int y = year ? year : only_year(q, month);
        if (y && is_day_valid(y, month, d)) {
            *day = day_start(y, month, d);
            return next - i + (year ? 2 : 1);
        }
    }
    return 0;
}

/* "(1083219325595855)" behind a readable time. */
static size_t read_exact(const mk_off *q, size_t i, int64_t *us)
{
    return at(q, i)->opens && at(q, i)->text.n == 16 && read_digits(at(q, i)->text, us) ? 1 : 0;
}

static size_t read_instant(const mk_off *q, size_t i, mk_span_of_time *out)
{
    const mk_token *a = at(q, i);
    int64_t us, exact;
    size_t n = 0;
    bool noon = false;
    if (a->text.n > 16 && a->text.p[4] == '-' && mk_time_parse(a->text, &us, NULL) == MK_OK) {
        n = 1;
    } else if (read_epoch(a->text, &us)) {
        n = 1;
    } else {
        noon = mk_off__is(a, "noon") || mk_off__is(a, "midnight");
        size_t from = noon ? skip_commas(q, i + 1, "utc on of") : i;
        const size_t day = read_day(q, from, &us);
        if (day == 0)
            return 0;
        n = from - i + day;
        size_t next = i + n;
        if (mk_off__is(at(q, next), "at"))
            next++;
        const int64_t clock = clock_of(at(q, next));
        if (noon)
            us += mk_off__is(a, "noon") ? DAY / 2 : 0;
        else if (clock >= 0) {
            us += clock;
            n = next + 1 - i;
        } else
            return 0;
    }
    if (mk_off__is_any(at(q, i + n), "utc gmt z"))
        n++;
    if (read_exact(q, i + n, &exact)) {
        us = exact;
        n++;
    }
    *out = (mk_span_of_time){.lo = us, .hi = us, .first = i, .last = i + n - 1, .instant = true};
    return n;
}

/* "first week of June 2013", "third quarter of 2013", "Q3 2013", "second half of 2012". */
static size_t read_part(const mk_off *q, size_t i, mk_span_of_time *out)
{
    const bool last = mk_off__is(at(q, i), "last");
    const int nth = ordinal_of(at(q, i)->low);
    const mk_token *unit = at(q, i + 1);
    size_t n = 2;
    if (strlen(at(q, i)->low) == 2 && at(q, i)->low[0] == 'q' && at(q, i)->low[1] >= '1' &&
        at(q, i)->low[1] <= '4') {
        const size_t skip = mk_off__is(at(q, i + 1), "of");
        const int quarter = at(q, i)->low[1] - '0', year = year_of(at(q, i + 1 + skip));
        if (!year)
            return 0;
        *out = (mk_span_of_time){.lo = month_start(year, quarter * 3 - 2),
                                 .hi = month_start(year, quarter * 3 + 1)};
        return 2 + skip;
    }
    if (!nth && !last)
        return 0;
    if (mk_off__is(at(q, i + n), "of") || mk_off__is(at(q, i + n), "in"))
        n++;
    const int month = month_of(at(q, i + n)->low);
    int year = month ? year_of(at(q, i + n + 1)) : year_of(at(q, i + n));
    const size_t with_year = month ? (year ? 2 : 1) : 1;
    if (month && !year)
        year = only_year(q, month);
    if (!year)
        return 0;
    if (month && mk_off__is(unit, "week")) {
        const int64_t lo =
            last ? month_start(year, month + 1) - 7 * DAY : day_start(year, month, nth * 7 - 6);
        int64_t hi = lo + 7 * DAY;
        if (hi > month_start(year, month + 1))
            hi = month_start(year, month + 1);
        *out = (mk_span_of_time){.lo = lo, .hi = hi};
    } else if (month && mk_off__is(unit, "half") && nth <= 2 && nth > 0) {
        *out = (mk_span_of_time){.lo = nth == 1 ? month_start(year, month) : day_start(year, month, 16),
                                 .hi = nth == 1 ? day_start(year, month, 16) : month_start(year, month + 1)};
    } else if (!month && mk_off__is(unit, "quarter") && nth <= 4) {
        const int quarter = last ? 4 : nth;
        *out = (mk_span_of_time){.lo = month_start(year, quarter * 3 - 2),
                                 .hi = month_start(year, quarter * 3 + 1)};
    } else if (!month && mk_off__is(unit, "half") && nth <= 2) {
        *out = (mk_span_of_time){.lo = month_start(year, last || nth == 2 ? 7 : 1),
                                 .hi = month_start(year, last || nth == 2 ? 13 : 7)};
    } else {
        return 0;
    }
    return n + with_year;
}

static bool month_may_follow(const mk_off *q, size_t i)
{
    /* "may" is a month only where a date can stand */
    return !mk_off__is(at(q, i), "may") || at(q, i)->capital;
}

/* A day, a month, a quarter, a year. */
static size_t read_range(const mk_off *q, size_t i, mk_span_of_time *out)
{
    int64_t day;
    size_t n = read_part(q, i, out);
    if (n == 0 && (n = read_day(q, i, &day)) != 0)
        *out = (mk_span_of_time){.lo = day, .hi = day + DAY};
    if (n == 0) {
        const int month = month_may_follow(q, i) ? month_of(at(q, i)->low) : 0;
        const size_t skip = month && mk_off__is(at(q, i + 1), "of");
        int year = month ? year_of(at(q, i + 1 + skip)) : 0;
        if (month) {
            n = year ? 2 + skip : 1;
            year = year ? year : only_year(q, month);
            if (!year)
                return 0;
            *out = (mk_span_of_time){.lo = month_start(year, month), .hi = month_start(year, month + 1)};
        } else if ((year = year_of(at(q, i))) != 0) {
            n = 1;
            *out = (mk_span_of_time){.lo = month_start(year, 1), .hi = month_start(year, 13)};
        } else if (at(q, i)->text.n == 7 && at(q, i)->text.p[4] == '-' &&
                   mk_time_parse(at(q, i)->text, &day, NULL) == MK_OK) {
            int64_t y;
            unsigned m, d;
            mk_civil_of_days(day / DAY, &y, &m, &d);
            n = 1;
            *out = (mk_span_of_time){.lo = day, .hi = month_start((int)y, (int)m + 1)};
        }
    }
    if (n != 0 && mk_off__is_any(at(q, i + n), "utc gmt"))
        n++;
    out->first = i;
    out->last = i + n - 1;
    return n;
}

/* Anything that names a time, and words that cut a piece off it: "the start of 1 January 2023", "the end of
 * 2010". */
static size_t read_point(const mk_off *q, size_t i, mk_span_of_time *out)
{
    const size_t the = mk_off__is(at(q, i), "the");
    const mk_token *edge = at(q, i + the);
    if (mk_off__is_any(edge, "start beginning end") && mk_off__is(at(q, i + the + 1), "of")) {
        const size_t n = read_range(q, i + the + 2, out);
        if (n == 0)
            return 0;
        const int64_t t = mk_off__is(edge, "end") ? out->hi : out->lo;
        *out = (mk_span_of_time){.lo = t, .hi = t, .first = i, .last = i + the + 1 + n, .instant = true};
        return the + 2 + n;
    }
    if (mk_off__is(at(q, i), "epoch")) {
        size_t next = i + 1;
        while (mk_off__is_any(at(q, next), "second seconds ms us micros microseconds milliseconds time"))
            next++;
        const size_t n = read_instant(q, next, out);
        out->first = i;
        return n != 0 ? next - i + n : 0;
    }
    size_t n = read_instant(q, i + the, out);
    if (n == 0)
        n = read_range(q, i + the, out);
    out->first = i;
    return n != 0 ? n + the : 0;
}

/* ---- lengths: "5.2-day buckets", "232.4 hours", "within one hour" ---- */

static int64_t unit_of(const char *low)
{
    if (strcmp(low, "d") == 0 || strncmp(low, "day", 3) == 0) return DAY;
    if (strcmp(low, "h") == 0 || strncmp(low, "hour", 4) == 0) return 3600 * SECOND;
    if (strncmp(low, "minute", 6) == 0 || strcmp(low, "min") == 0) return 60 * SECOND;
    if (strncmp(low, "week", 4) == 0) return 7 * DAY;
    if (strncmp(low, "second", 6) == 0) return SECOND;
    return 0;
}

/* 36, or 1.5. */
static bool is_decimal(const char *text)
{
    const char *rest = text + strspn(text, "0123456789");
    if (rest == text || *rest == '\0')
        return rest != text;
    return *rest == '.' && rest[1] != '\0' && rest[1 + strspn(rest + 1, "0123456789")] == '\0';
}

static void read_length(mk_off *q, size_t i)
{
    static const char *const words[] = {"zero", "one",   "two",   "three", "four", "five",
                                        "six",  "seven", "eight", "nine",  "ten"};
    mk_token *t = &q->tokens[i];
    char number[48];
    size_t n = strlen(t->low);
    int64_t unit = i + 1 < q->count && !q->tokens[i + 1].used ? unit_of(q->tokens[i + 1].low) : 0;
    bool joined = false;
    memcpy(number, t->low, n + 1);
    if (n > 1 && (number[n - 1] == 'h' || number[n - 1] == 'd') && number[n - 2] >= '0' &&
        number[n - 2] <= '9') {
        unit = unit_of(number + n - 1);
        number[n - 1] = '\0';
        joined = true;
    }
    double v = is_decimal(number) ? mk_double_parse(mk_str_of(number)) : 0;
    for (int w = 1; w <= 10; w++)
        if (strcmp(number, words[w]) == 0)
            v = w;
    if (unit == 0 || !(v > 0 && v < 1e6) || q->length_count == MK_OFF_TIMES_MAX)
        return;
    q->lengths[q->length_count++] = (mk_length){.us = (int64_t)(v * (double)unit + 0.5), .unit_us = unit,
                                                .rounded = strchr(number, '.') != NULL, .token = i};
    t->used = true;
    if (!joined)
        q->tokens[i + 1].used = true;
}

/* ---- windows ---- */

static void use(mk_off *q, size_t first, size_t last)
{
    for (size_t i = first; i <= last && i < q->count; i++)
        q->tokens[i].used = true;
}

/* "(both days included)", "inclusive", "that day included", "(UTC)" say what is assumed anyway. */
static void use_remarks(mk_off *q, size_t i)
{
    size_t end = i;
    bool said = false;
    while (end < q->count && end < i + 6 &&
           mk_off__is_any(at(q, end),
                          "both days day that included inclusive utc all in full the and end start of")) {
        said |= mk_off__is_any(at(q, end), "included inclusive utc");
        end++;
        if (said && q->tokens[end - 1].ends)
            break;
    }
    if (said)
        use(q, i, end - 1);
}

static void set_window(mk_off *q, int64_t lo, int64_t hi)
{
    q->has_window = true;
    q->t_a = lo;
    q->t_b = hi;
}

/* Two points with a word between them. "between 15 and 31 January 2012" shares its month. */
static bool read_pair(mk_off *q, size_t i, const char *joints)
{
    mk_span_of_time a, b;
    size_t n = read_point(q, i + 1, &a);
    size_t joint = i + 1 + n;
    if (n == 0 && day_of(at(q, i + 1)) && mk_off__is_any(at(q, i + 2), joints)) {
        const size_t m = read_range(q, i + 3, &b);
        int64_t y;
        unsigned month, d;
        if (m == 0)
            return false;
        mk_civil_of_days(b.lo / DAY, &y, &month, &d);
        set_window(q, day_start((int)y, (int)month, day_of(at(q, i + 1))), b.hi);
        use(q, i, i + 2 + m);
        use_remarks(q, i + 3 + m);
        return true;
    }
    if (n == 0)
        return false;
    while (joint < q->count && mk_off__is_any(at(q, joint), "utc included inclusive"))
        joint++;
    if (!mk_off__is_any(at(q, joint), joints))
        return false;
    size_t second = joint + 1;
    const size_t m = read_point(q, second, &b);
    if (m == 0)
        return false;
    /* "1 March to 3 March 2014": the first took the only year there is, or the second's. */
    if (!a.instant && a.lo > b.lo)
        return false;
    set_window(q, a.lo, b.hi);
    use(q, i, second + m - 1);
    use_remarks(q, second + m);
    return true;
}

/* The year of a second date belongs to a first without one: "1 March to 3 March 2014". */
static void lend_year(mk_off *q)
{
    for (size_t i = 0; i + 5 < q->count; i++) {
        const bool first = day_of(at(q, i)) && month_of(at(q, i + 1)->low) && !year_of(at(q, i + 2));
        const bool other = month_of(at(q, i)->low) && day_of(at(q, i + 1)) && !year_of(at(q, i + 2));
        const bool months = month_of(at(q, i)->low) && mk_off__is_any(at(q, i + 1), "to through until and") &&
                            month_of(at(q, i + 2)->low) && year_of(at(q, i + 3));
        if (months || !(first || other) || !mk_off__is_any(at(q, i + 2), "to through until and"))
            continue;
        for (size_t k = i + 3; k < i + 6 && k < q->count; k++)
            if (year_of(at(q, k)) && q->count < MK_OFF_TOKENS_MAX) {
                memmove(&q->tokens[i + 3], &q->tokens[i + 2], (q->count - i - 2) * sizeof *q->tokens);
                q->tokens[i + 2] = q->tokens[k + 1];
                q->tokens[i + 2].ends = false;
                q->count++;
                return;
            }
    }
}

static bool read_month_pair(mk_off *q, size_t i)
{
    const int a = month_of(at(q, i)->low), b = a ? month_of(at(q, i + 2)->low) : 0,
              y = b ? year_of(at(q, i + 3)) : 0;
    if (!y || !mk_off__is_any(at(q, i + 1), "to through until and") || a > b)
        return false;
    set_window(q, month_start(y, a), month_start(y, b + 1));
    use(q, i, i + 3);
    use_remarks(q, i + 4);
    return true;
}

static void add_instant(mk_off *q, const mk_span_of_time *p)
{
    if (q->instant_count < MK_OFF_TIMES_MAX)
        q->instants[q->instant_count++] = *p;
}

/* Whether words just before say that a time is one of belief. */
static bool is_belief_time(const mk_off *q, size_t i)
{
    for (size_t k = i; k > 0 && k + 5 > i; k--) {
        const mk_token *t = &q->tokens[k - 1];
        if (mk_off__is_any(t, "transaction believed belief recorded knew"))
            return true;
        if (!mk_off__is_any(t, "time on at as of in the state to by"))
            return false;
    }
    return false;
}

static void bound_window(mk_off *q, int64_t lo, int64_t hi)
{
    if (!q->has_window)
        set_window(q, q->has_extent ? q->vt_min : 0, q->has_extent ? q->vt_max : MK_OPEN_END);
    if (lo != INT64_MIN)
        q->t_a = lo;
    if (hi != INT64_MAX)
        q->t_b = hi;
}

/* A single time with the word before it. */
static bool read_single(mk_off *q, size_t i)
{
    mk_span_of_time p;
    const mk_token *word = at(q, i);
    const size_t n = read_point(q, i + 1, &p);
    const size_t end = i + n;
    if (n == 0)
        return false;
    if (is_belief_time(q, i + 1)) {
        q->has_belief = true;
        q->belief = p.instant ? p.lo : p.hi - 1;
    } else if (mk_off__is(word, "since")) {
        bound_window(q, p.lo, INT64_MAX);
    } else if (mk_off__is(word, "after")) {
        bound_window(q, p.instant ? p.lo + 1 : p.hi, INT64_MAX);
    } else if (mk_off__is_any(word, "before until till")) {
        bound_window(q, INT64_MIN, mk_off__is(word, "before") ? p.lo : p.hi);
    } else if (mk_off__is(word, "by")) {
        bound_window(q, INT64_MIN, p.hi);
    } else if (p.instant) {
        add_instant(q, &p);
    } else if (mk_off__is_any(word, "in on during of for within throughout meaning")) {
        if (q->has_window && !(p.lo <= q->t_a && p.hi >= q->t_b))
            return false;
        if (!q->has_window)
            set_window(q, p.lo, p.hi);
    } else {
        return false;
    }
    use(q, i, end);
    use_remarks(q, end + 1);
    return true;
}

/* "(April, May and June)" behind a quarter only says it again. */
static void use_repetitions(mk_off *q)
{
    for (size_t i = 0; i < q->count; i++) {
        size_t end = i;
        bool months = false, inside = q->has_window;
        if (q->tokens[i].used || !q->tokens[i].opens)
            continue;
        for (; end < q->count && !q->tokens[end].used; end++) {
            const int month = month_of(q->tokens[end].low);
            const bool glue =
                mk_off__is_any(&q->tokens[end], "to and through utc") || day_of(&q->tokens[end]) != 0;
            if (month == 0 && !glue)
                break;
            months |= month != 0;
            if (month != 0) {
                int64_t y;
                unsigned m, d;
                mk_civil_of_days(q->t_a / DAY, &y, &m, &d);
                inside &= month_start((int)y, month) < q->t_b && month_start((int)y, month + 1) > q->t_a;
            }
        }
        if (months && inside && end > i && q->tokens[end - 1].ends)
            use(q, i, end - 1);
    }
}

void mk_off__times(mk_off *q)
{
    lend_year(q);
    for (size_t i = 0; i < q->count; i++) {
        if (q->tokens[i].used)
            continue;
        if (mk_off__is_any(at(q, i), "from between starting meaning") &&
            read_pair(q, i, "to and until till through"))
            continue;
        if (read_month_pair(q, i))
            continue;
    }
    for (size_t i = 0; i < q->count; i++) {
        mk_span_of_time p;
        if (q->tokens[i].used)
            continue;
        if (mk_off__is_any(at(q, i), "since after before until till by in on during of at for within "
                                     "throughout time meaning from as and") &&
            read_single(q, i))
            continue;
        const size_t n = read_instant(q, i, &p); /* exact enough to need no word */
        if (n == 0)
            continue;
        if (is_belief_time(q, i)) {
            q->has_belief = true;
            q->belief = p.lo;
        } else {
            add_instant(q, &p);
        }
        use(q, i, i + n - 1);
    }
    use_repetitions(q);
    for (size_t i = 0; i < q->count; i++) {
        if (q->has_window && mk_off__is_any(at(q, i), "summer winter spring autumn meaning"))
            q->tokens[i].used = true; /* the question says what it means by it */
        if (!q->tokens[i].used)
            read_length(q, i);
    }
}

void mk_off__put_time(mk_buf *out, int64_t us)
{
    char text[MK_TIME_TEXT_MAX];
    mk_buf_put(out, text, mk_time_text(text, us));
}

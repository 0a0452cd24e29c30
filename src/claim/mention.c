/* mention.c — numbers and times as they stand in a text. Layer: claim.
 *
 * Numbers: digits with or without a sign, thousands separators, a fraction, an exponent, a percent sign;
 * English number words from two on. Times: ISO 8601 as our own reporter writes them, each standing for as
 * long as its precision says. Source: agent spec, 12.8. */
#include <math.h>

#include "base/num.h"
#include "base/timetext.h"
#include "claim/claim_internal.h"

#define NUMBER_SIZE_MAX 64 /* characters of a number in a text; longer ones are words with digits */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static char at(mk_str s, size_t i) { return i < s.n ? s.p[i] : '\0'; }

/* ---- word characters ---- */

/* Code points beyond ASCII that part words: spaces, dashes, quotes, and what else is punctuation. */
static bool parts_words(uint32_t c)
{
    return (c >= 0xA0 && c <= 0xBF && c != 0xAA && c != 0xB2 && c != 0xB3 && c != 0xB5 && c != 0xB9 &&
            c != 0xBA &&
            !(c >= 0xBC && c <= 0xBE)) ||
           c == 0xD7 || c == 0xF7 || (c >= 0x2000 && c <= 0x206F) || (c >= 0x3000 && c <= 0x3003) ||
           (c >= 0x3008 && c <= 0x3011) || c == 0x2190 || c == 0x2192 || c == 0x2212;
}

/* The text has been checked to be UTF-8. */
static uint32_t decode(mk_str s, size_t *size)
{
    const uint8_t *p = (const uint8_t *)s.p;
    if (p[0] < 0x80 || s.n < 2) {
        *size = 1;
        return p[0];
    }
    *size = p[0] >= 0xF0 ? 4 : p[0] >= 0xE0 ? 3 : 2;
    *size = *size > s.n ? s.n : *size;
    uint32_t c = p[0] & (0xFFu >> (*size + 1));
    for (size_t i = 1; i < *size; i++)
        c = c << 6 | (p[i] & 0x3Fu);
    return c;
}

size_t mk_word_char(mk_str text)
{
    size_t size;
    if (text.n == 0)
        return 0;
    const char c = text.p[0];
    if ((unsigned char)c < 0x80)
        return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    return parts_words(decode(text, &size)) ? 0 : size;
}

/* ---- numbers in digits ---- */

/* "1,234,567" from its second group on; 0 when the commas do not part thousands. */
static size_t thousands(mk_str text, size_t digits)
{
    size_t end = digits;
    while (at(text, end) == ',' && is_digit(at(text, end + 1)) && is_digit(at(text, end + 2)) &&
           is_digit(at(text, end + 3)) && !is_digit(at(text, end + 4)))
        end += 4;
    return digits <= 3 && end > digits ? end : 0;
}

static size_t digits_end(mk_str text, size_t i)
{
    while (is_digit(at(text, i)))
        i++;
    return i;
}

/* Behind the fraction and the exponent, if there are any. */
static size_t fraction_end(mk_str text, size_t i, unsigned *decimals)
{
    if (at(text, i) == '.' && is_digit(at(text, i + 1))) {
        const size_t end = digits_end(text, i + 1);
        *decimals = (unsigned)(end - i - 1);
        i = end;
    }
    if (at(text, i) == 'e' || at(text, i) == 'E') {
        const size_t sign = at(text, i + 1) == '+' || at(text, i + 1) == '-';
        if (is_digit(at(text, i + 1 + sign)))
            i = digits_end(text, i + 1 + sign);
    }
    return i;
}

/* The value of a token without its commas. */
static mk_json value_of(mk_str token, bool is_whole)
{
    int64_t whole;
    if (is_whole && mk_str_to_i64(token, &whole))
        return (mk_json){.kind = MK_JSON_INT, .i = whole};
    return (mk_json){.kind = MK_JSON_FLOAT, .d = mk_double_parse(token)};
}

/* Leading zeros are no JSON, and mk_double_parse wants a token that is. */
static mk_str without_zeros(char *p, size_t n)
{
    const size_t sign = n > 0 && p[0] == '-';
    size_t zeros = 0;
    while (sign + zeros + 1 < n && p[sign + zeros] == '0' && is_digit(p[sign + zeros + 1]))
        zeros++;
    memmove(p + sign, p + sign + zeros, n - sign - zeros);
    return (mk_str){p, n - zeros};
}

bool mk_mention__number(mk_str text, mk_mention *out)
{
    char token[NUMBER_SIZE_MAX];
    const size_t sign = at(text, 0) == '-';
    const mk_str rest = {text.p + sign, text.n - sign};
    size_t n = 0;
    if (!is_digit(at(rest, 0)))
        return false;
    *out = (mk_mention){.numeric = true};
    const size_t digits = digits_end(rest, 0), grouped = thousands(rest, digits);
    const size_t whole_end = grouped > 0 ? grouped : digits;
    const size_t end = fraction_end(rest, whole_end, &out->decimals);
    if (sign + end > sizeof token || (at(rest, end) == '.' && is_digit(at(rest, end + 1))) ||
        mk_word_char((mk_str){rest.p + end, rest.n - end}) > 0)
        return false;
    for (size_t i = 0; i < sign + end; i++)
        if (text.p[i] != ',')
            token[n++] = text.p[i];
    out->number = value_of(without_zeros(token, n), end == whole_end);
    out->percent = at(rest, end) == '%';
    out->end = sign + end + out->percent;
    return out->number.kind == MK_JSON_INT || isfinite(out->number.d);
}

/* ---- numbers in words ---- */

typedef struct number_word {
    const char *word;
    int64_t value;
} number_word;

static const number_word small_words[] = {
    {"two", 2},        {"three", 3},     {"four", 4},      {"five", 5},     {"six", 6},
    {"seven", 7},      {"eight", 8},     {"nine", 9},      {"ten", 10},     {"eleven", 11},
    {"twelve", 12},    {"thirteen", 13}, {"fourteen", 14}, {"fifteen", 15}, {"sixteen", 16},
    {"seventeen", 17}, {"eighteen", 18}, {"nineteen", 19}, {"zero", 0},     {"one", 1},
};
static const number_word tens_words[] = {
    {"twenty", 20}, {"thirty", 30},  {"forty", 40},  {"fifty", 50},
    {"sixty", 60},  {"seventy", 70}, {"eighty", 80}, {"ninety", 90},
};
static const number_word large_words[] = {
    {"hundred", 100}, {"thousand", 1000}, {"million", 1000000}, {"billion", 1000000000}, {"dozen", 12},
};

/* The length of the word at the start of the text, any case, when it is in the table. */
static size_t word_in(mk_str text, const number_word *words, size_t count, int64_t *value)
{
    char lower[16];
    size_t n = 0;
    while (n < sizeof lower && ((at(text, n) | 0x20) >= 'a' && (at(text, n) | 0x20) <= 'z')) {
        lower[n] = (char)(text.p[n] | 0x20);
        n++;
    }
    if (mk_word_char((mk_str){text.p + n, text.n - n}) > 0)
        return 0;
    for (size_t i = 0; i < count; i++)
        if (mk_str_eq((mk_str){lower, n}, mk_str_of(words[i].word))) {
            *value = words[i].value;
            return n;
        }
    return 0;
}
#define WORD_IN(text, words, value) word_in((text), (words), sizeof(words) / sizeof *(words), (value))

static mk_str from(mk_str text, size_t i) { return (mk_str){text.p + i, text.n - i}; }

/* "seven", "twenty", "twenty-three". */
static size_t below_hundred(mk_str text, int64_t *value)
{
    int64_t unit;
    size_t n = WORD_IN(text, small_words, value);
    if (n > 0)
        return n;
    n = WORD_IN(text, tens_words, value);
    if (n > 0 && (at(text, n) == '-' || at(text, n) == ' ')) {
        const size_t more = WORD_IN(from(text, n + 1), small_words, &unit);
        if (more > 0 && unit > 0 && unit < 10) {
            *value += unit;
            n += 1 + more;
        }
    }
    return n;
}

/* "one" on its own is a pronoun as often as a number, so it counts only before a larger word. */
bool mk_mention__number_word(mk_str text, mk_mention *out)
{
    int64_t value = 1, factor;
    size_t end = below_hundred(text, &value), factors = 0;
    if (end == 0)
        end = WORD_IN(text, large_words, &value);
    else
        while (factors < 2 && at(text, end) == ' ') {
            const size_t n = WORD_IN(from(text, end + 1), large_words, &factor);
            if (n == 0)
                break;
            value *= factor;
            end += 1 + n;
            factors++;
        }
    if (end == 0 || (value == 1 && factors == 0))
        return false;
    *out = (mk_mention){.end = end, .numeric = true, .number = {.kind = MK_JSON_INT, .i = value}};
    return true;
}

/* ---- times ---- */

static bool is_shape(mk_str text, const char *shape)
{
    for (size_t i = 0; shape[i] != '\0'; i++)
        if (shape[i] == '0' ? !is_digit(at(text, i)) : at(text, i) != shape[i])
            return false;
    return true;
}

static int64_t month_after(mk_str text)
{
    int64_t year = 0, month = 0;
    for (size_t i = 0; i < 4; i++)
        year = year * 10 + (text.p[i] - '0');
    for (size_t i = 5; i < 7; i++)
        month = month * 10 + (text.p[i] - '0');
    if (month >= 12)
        return mk_days_of_civil(year + 1, 1, 1) * INT64_C(86400000000);
    return mk_days_of_civil(year, (unsigned)month + 1, 1) * INT64_C(86400000000);
}

/* The end of the time of day at `i` ("T12:30:05.25"), and how long its last digit stands for. */
static size_t clock_end(mk_str text, size_t i, int64_t *length)
{
    const mk_str rest = {text.p + i, text.n - i};
    if (!(is_shape(rest, "T00:00") || is_shape(rest, " 00:00")))
        return i;
    *length = 60000000;
    i += 6;
    if (is_shape((mk_str){text.p + i, text.n - i}, ":00")) {
        *length = 1000000;
        i += 3;
        if (at(text, i) == '.' && is_digit(at(text, i + 1)))
            for (i++; is_digit(at(text, i)); i++)
                *length = *length > 1 ? *length / 10 : 1;
    }
    return i;
}

static size_t zone_end(mk_str text, size_t i)
{
    const mk_str rest = {text.p + i, text.n - i};
    if (at(text, i) == 'Z')
        return i + 1;
    if (is_shape(rest, "+00:00") || is_shape(rest, "-00:00"))
        return i + 6;
    return i;
}

bool mk_mention__time(mk_str text, mk_mention *out)
{
    int64_t from_us, length = INT64_C(86400000000);
    size_t end = 7;
    if (!is_shape(text, "0000-00"))
        return false;
    const bool is_month = !is_shape(text, "0000-00-00");
    if (!is_month) {
        end = clock_end(text, 10, &length);
        if (end > 10)
            end = zone_end(text, end);
    }
    if (mk_word_char((mk_str){text.p + end, text.n - end}) > 0 ||
        mk_time_parse((mk_str){text.p, end}, &from_us, NULL) != MK_OK)
        return false;
    *out = (mk_mention){.end = end, .timed = true, .from = from_us};
    out->until = is_month ? month_after(text) : from_us + length;
    return true;
}

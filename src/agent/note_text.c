/* note_text.c — see note_text.h. Layer: agent. */
#include "agent/note_text.h"

#include <stdio.h>
#include <strings.h>
#include <utf8proc.h>

#include "base/num.h"

#define DEPTH_MAX 8     /* of facts */
#define WORD_MAX 32     /* longer ones are no number words */
#define TOKEN_MAX 64    /* longer numbers are no facts */

typedef struct checking {
    mk_str text;
    const mk_json *facts;
    char *why;
    size_t why_size;
} checking;

static bool refuse(const checking *c, const char *what, mk_str part)
{
    snprintf(c->why, c->why_size, "%s: \"%.*s\"", what, (int)(part.n > 40 ? 40 : part.n),
             part.n ? part.p : "");
    return false;
}

/* ---- facts ---- */

static bool is_fact(const mk_json *value, bool whole, int64_t i, double d, int depth)
{
    if (value->kind == MK_JSON_INT && !value->b)
        return whole ? value->i == i : (double)value->i == d;
    if (value->kind == MK_JSON_FLOAT)
        return value->d == d;
    if (depth == DEPTH_MAX)
        return false;
    for (size_t k = 0; value->kind == MK_JSON_ARRAY && k < value->n; k++)
        if (is_fact(&value->items[k], whole, i, d, depth + 1))
            return true;
    for (size_t k = 0; value->kind == MK_JSON_OBJECT && k < value->n; k++)
        if (is_fact(&value->members[k].value, whole, i, d, depth + 1))
            return true;
    return false;
}

/* ---- numbers of digits ---- */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || ((unsigned char)c & 0x80) != 0;
}

static size_t digits(mk_str s, size_t at)
{
    const size_t start = at;
    while (at < s.n && is_digit(s.p[at]))
        at++;
    return at - start;
}

/* Copies the integer part without its thousands separators; 0 when it has none. */
static size_t take_integer(mk_str s, size_t *at, char *token, size_t *n)
{
    size_t size = digits(s, *at);
    const size_t first = size;
    for (;;) {
        if (*n + size + 1 >= TOKEN_MAX)
            return 0;
        memcpy(token + *n, s.p + *at, size);
        *n += size;
        *at += size;
        const bool grouped = first <= 3 && *at < s.n && s.p[*at] == ',' && digits(s, *at + 1) == 3;
        if (!grouped)
            return *n;
        (*at)++;
        size = 3;
    }
}

/* A fraction or an exponent with at least one digit; puts it into the token. False: none, or too long. */
static bool take_part(mk_str s, size_t *at, char mark, char *token, size_t *n)
{
    size_t p = *at;
    if (p >= s.n || (s.p[p] | (mark == 'e' ? 0x20 : 0)) != mark)
        return false;
    p++;
    if (mark == 'e' && p < s.n && (s.p[p] == '+' || s.p[p] == '-'))
        p++;
    const size_t size = digits(s, p);
    if (size == 0 || *n + (p - *at) + size >= TOKEN_MAX)
        return false;
    memcpy(token + *n, s.p + *at, p - *at + size);
    *n += p - *at + size;
    *at = p + size;
    return true;
}

/* The number at *at, whose sign stands before it. Moves *at behind it. */
static bool check_number(const checking *c, size_t *at)
{
    const mk_str s = c->text;
    const size_t start = *at;
    char token[TOKEN_MAX];
    size_t n = 0;
    int64_t i = 0;
    const bool minus = start > 0 && (s.p[start - 1] == '-' ||
                                     (start >= 3 && memcmp(s.p + start - 3, "\xe2\x88\x92", 3) == 0));
    if (minus)
        token[n++] = '-';
    const size_t integer = take_integer(s, at, token, &n);
    const bool fraction = integer != 0 && take_part(s, at, '.', token, &n);
    const bool exponent = integer != 0 && take_part(s, at, 'e', token, &n);
    const size_t end = *at;
    const mk_str shown = {s.p + start, end - start};
    const size_t next = end < s.n && s.p[end] == ' ' ? end + 1 : end;
    const bool glued = (start > 0 && is_letter(s.p[start - 1])) ||
                       (end < s.n && (is_letter(s.p[end]) || is_digit(s.p[end])));
    if (integer == 0)
        return refuse(c, "a number too long to be a fact", shown);
    if (glued || (next < s.n && s.p[next] == '%'))
        return refuse(c, "a number with something attached to it", shown);
    const bool whole = !fraction && !exponent && mk_str_to_i64((mk_str){token, n}, &i);
    if (!is_fact(c->facts, whole, i, mk_double_parse((mk_str){token, n}), 0))
        return refuse(c, "a number that is in no fact", shown);
    return true;
}

/* ---- numbers of letters ---- */

/* Words with a value, and words (-1) that count without saying a fact's number. */
static const struct {
    const char *word;
    int value;
} number_words[] = {
    {"no", 0},       {"none", 0},     {"nothing", 0},  {"nobody", 0},   {"zero", 0},     {"nil", 0},
    {"one", 1},      {"single", 1},   {"once", 1},     {"two", 2},      {"both", 2},     {"twice", -1},
    {"pair", 2},     {"couple", 2},   {"three", 3},    {"four", 4},     {"five", 5},     {"six", 6},
    {"seven", 7},    {"eight", 8},    {"nine", 9},     {"ten", 10},     {"eleven", 11},  {"twelve", 12},
    {"thirteen", 13}, {"fourteen", 14}, {"fifteen", 15}, {"sixteen", 16}, {"seventeen", 17}, {"eighteen", 18},
    {"nineteen", 19}, {"twenty", 20},  {"thirty", 30},  {"forty", 40},   {"fifty", 50},   {"sixty", 60},
    {"seventy", 70}, {"eighty", 80},  {"ninety", 90},  {"hundred", -1}, {"hundreds", -1}, {"thousand", -1},
    {"thousands", -1}, {"million", -1}, {"millions", -1}, {"billion", -1}, {"billions", -1}, {"trillion", -1},
    {"dozen", -1},   {"dozens", -1},  {"score", -1},   {"half", -1},    {"halved", -1},  {"third", -1},
    {"quarter", -1}, {"double", -1},  {"doubled", -1}, {"triple", -1},  {"tripled", -1}, {"thrice", -1},
    {"tenfold", -1}, {"twofold", -1}, {"percent", -1}, {"per cent", -1},
};

static bool check_word(const checking *c, mk_str word)
{
    char text[WORD_MAX];
    if (word.n >= sizeof text)
        return true;
    memcpy(text, word.p, word.n);
    text[word.n] = '\0';
    for (size_t i = 0; i < sizeof number_words / sizeof *number_words; i++) {
        const int value = number_words[i].value;
        if (strcasecmp(text, number_words[i].word) != 0)
            continue;
        if (value < 0 || !is_fact(c->facts, true, value, value, 0))
            return refuse(c, "a number word that is in no fact", word);
    }
    return true;
}

/* ---- the walk ---- */

/* A character beyond ASCII that is a digit or another number (a fraction, a superscript, a numeral). */
static size_t other_character(const checking *c, size_t at, bool *number)
{
    utf8proc_int32_t code;
    const utf8proc_ssize_t size = utf8proc_iterate((const utf8proc_uint8_t *)c->text.p + at,
                                                   (utf8proc_ssize_t)(c->text.n - at), &code);
    const utf8proc_category_t category = size > 0 ? utf8proc_category(code) : UTF8PROC_CATEGORY_CN;
    *number = category == UTF8PROC_CATEGORY_ND || category == UTF8PROC_CATEGORY_NL ||
              category == UTF8PROC_CATEGORY_NO;
    return size > 0 ? (size_t)size : 1;
}

static bool check_at(const checking *c, size_t *at)
{
    const mk_str s = c->text;
    const size_t start = *at;
    bool number = false;
    if (is_digit(s.p[start]))
        return check_number(c, at);
    if (((unsigned char)s.p[start] & 0x80) != 0) {
        *at += other_character(c, start, &number);
        return !number || refuse(c, "a number in other digits", (mk_str){s.p + start, *at - start});
    }
    if (!is_letter(s.p[start])) {
        (*at)++;
        return true;
    }
    while (*at < s.n && is_letter(s.p[*at]) && ((unsigned char)s.p[*at] & 0x80) == 0 && s.p[*at] != '_')
        (*at)++;
    if (*at == start)
        (*at)++; /* an underscore */
    return check_word(c, (mk_str){s.p + start, *at - start});
}

static size_t count_words(mk_str text)
{
    size_t words = 0;
    bool inside = false;
    for (size_t i = 0; i < text.n; i++) {
        const bool space = text.p[i] == ' ' || (text.p[i] >= '\t' && text.p[i] <= '\r');
        words += !space && !inside;
        inside = !space;
    }
    return words;
}

bool mk_note_text_accept(mk_str text, const mk_json *facts, size_t words_max, char *why, size_t why_size)
{
    const checking c = {.text = text, .facts = facts, .why = why, .why_size = why_size};
    const size_t words = count_words(text);
    if (mk_utf8_check(text) != text.n)
        return refuse(&c, "not UTF-8", (mk_str){0});
    if (words == 0 || words > words_max) {
        snprintf(why, why_size, "%zu words; 1 to %zu are accepted", words, words_max);
        return false;
    }
    for (size_t at = 0; at < text.n;)
        if (!check_at(&c, &at))
            return false;
    return true;
}

/* prose.c — what a text asserts, and whether claims say the same. Layer: claim.
 *
 * A text is read from left to right; at each place where a word may start the longest of a known
 * identifier, a time, a number and a word with digits is a mention. Claims are gathered into two sorted
 * lists, of strings and of numbers, in which a mention is looked up: the paths, ids and citations of a
 * claim say nothing about the world and are left out. Source: agent spec, 12.8, 18.5. */
#include <math.h>
#include <stdlib.h>

#include "claim/claim_internal.h"

/* ---- identifiers in a text ---- */

static mk_str from(mk_str text, size_t i) { return (mk_str){text.p + i, text.n - i}; }

/* The first of the sorted ids, from `low` on, that is not below `key`. */
static size_t not_below(const mk_str *ids, size_t low, size_t high, mk_str key)
{
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (mk_str_cmp(ids[middle], key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static size_t char_size(mk_str text)
{
    const size_t word = mk_word_char(text);
    if (word > 0 || (unsigned char)text.p[0] < 0x80)
        return word > 0 ? word : 1;
    size_t n = 1;
    while (n < text.n && ((unsigned char)text.p[n] & 0xC0) == 0x80)
        n++;
    return n;
}

/* The longest identifier that the text starts with and that ends where a word may end; 0: none. */
static size_t id_at(mk_str text, const mk_str *ids, size_t count)
{
    size_t low = 0, best = 0, end = 0;
    while (end < text.n && low < count) {
        const bool in_word = mk_word_char(from(text, end)) > 0;
        end += char_size(from(text, end));
        if (in_word && end < text.n && mk_word_char(from(text, end)) > 0)
            continue;
        const mk_str prefix = {text.p, end};
        low = not_below(ids, low, count, prefix);
        if (low == count || !mk_str_starts(ids[low], prefix))
            break;
        if (ids[low].n == end)
            best = end;
    }
    return best;
}

/* ---- words with digits ---- */

/* Digits of other scripts, fractions, superscripts, circled and Roman numerals as characters. */
static bool is_odd_digit(mk_str text)
{
    const uint8_t *p = (const uint8_t *)text.p;
    if (text.n < 2 || p[0] < 0xC2)
        return false;
    if (p[0] == 0xC2)
        return p[1] == 0xB2 || p[1] == 0xB3 || p[1] == 0xB9 || (p[1] >= 0xBC && p[1] <= 0xBE);
    if (p[0] == 0xD9 || p[0] == 0xDB)
        return p[0] == 0xD9 ? p[1] >= 0xA0 && p[1] <= 0xA9 : p[1] >= 0xB0 && p[1] <= 0xB9;
    if (text.n < 3 || p[0] < 0xE0)
        return false;
    const uint32_t c = (uint32_t)(p[0] & 0x0F) << 12 | (uint32_t)(p[1] & 0x3F) << 6 | (p[2] & 0x3F);
    if (p[0] >= 0xF0)
        return p[0] == 0xF0 && p[1] == 0x9D && p[2] == 0x9F;
    return (c >= 0x0900 && c <= 0x0E5F && (c & 0x7F) >= 0x66 && (c & 0x7F) <= 0x6F) ||
        (c >= 0x2070 && c <= 0x2089) ||
           (c >= 0x2150 && c <= 0x218B) || (c >= 0x2460 && c <= 0x24FF) || (c >= 0x3021 && c <= 0x3029) ||
           (c >= 0x3220 && c <= 0x3229) || (c >= 0xFF10 && c <= 0xFF19);
}

/* The word at the start of the text; *digits says whether it has any. */
static size_t word_at(mk_str text, bool *digits)
{
    size_t end = 0;
    *digits = false;
    while (end < text.n) {
        const size_t n = mk_word_char(from(text, end));
        const bool odd = is_odd_digit(from(text, end));
        if (n == 0 && !odd)
            break;
        *digits |= odd || (text.p[end] >= '0' && text.p[end] <= '9');
        end += n > 0 ? n : char_size(from(text, end));
    }
    return end;
}

/* ---- mentions ---- */

static void prefer(mk_mention *best, const mk_mention *other)
{
    if (other->end > best->end)
        *best = *other;
}

/* The mention at the start of the text; end 0: none. `sign` allows a minus. */
static mk_mention mention_at(mk_str text, bool sign, const mk_str *ids, size_t id_count)
{
    mk_mention best = {.end = id_at(text, ids, id_count)}, other;
    bool digits;
    if (best.end > 0 && mk_mention__number(text, &other) && other.end >= best.end)
        best = other; /* an identifier made of digits is a number as well */
    if (mk_mention__time(text, &other))
        prefer(&best, &other);
    if ((sign || text.p[0] != '-') && mk_mention__number(text, &other))
        prefer(&best, &other);
    if (mk_mention__number_word(text, &other))
        prefer(&best, &other);
    other = (mk_mention){.end = word_at(text, &digits)};
    if (digits)
        prefer(&best, &other);
    return best;
}

static mk_code add(mk_mentions *out, size_t *cap, const mk_mention *mention, mk_arena *arena, mk_err *err)
{
    if (out->count == *cap) {
        const size_t more = *cap > 0 ? *cap * 2 : 32;
        mk_mention *items = mk_arena_get(arena, more * sizeof *items);
        if (items == NULL)
            return mk_fail_nomem(err);
        if (out->count > 0)
            memcpy(items, out->items, out->count * sizeof *items);
        out->items = items;
        *cap = more;
    }
    out->items[out->count++] = *mention;
    return MK_OK;
}

mk_code mk_prose__mentions(mk_str text, const mk_str *ids, size_t id_count, mk_arena *arena, mk_mentions *out,
                           mk_err *err)
{
    size_t cap = 0, i = 0;
    bool in_word = false;
    *out = (mk_mentions){.items = NULL};
    while (i < text.n) {
        const mk_str rest = from(text, i);
        const bool word = mk_word_char(rest) > 0 || is_odd_digit(rest);
        mk_mention m = {.end = 0};
        if (!in_word || !word)
            m = mention_at(rest, !in_word, ids, id_count);
        if (m.end > 0) {
            m.start = i;
            m.end += i;
            const mk_code rc = add(out, &cap, &m, arena, err);
            if (rc != MK_OK)
                return rc;
            i = m.end;
            in_word = mk_word_char((mk_str){text.p + i - 1, 1}) > 0 && text.p[i - 1] != '%';
            continue;
        }
        in_word = word;
        i += char_size(rest);
    }
    return MK_OK;
}

/* ---- sentences ---- */

static const mk_mention *mention_over(const mk_mentions *mentions, size_t at)
{
    size_t low = 0, high = mentions->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (mentions->items[middle].end <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low < mentions->count && mentions->items[low].start <= at ? &mentions->items[low] : NULL;
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

size_t mk_prose__sentence_end(mk_str text, size_t at, const mk_mentions *mentions)
{
    while (at < text.n) {
        const mk_mention *over = mention_over(mentions, at);
        if (over != NULL) {
            at = over->end;
            continue;
        }
        const char c = text.p[at++];
        const bool mark = c == '.' || c == '!' || c == '?';
        if (c != '\n' && !(mark && (at == text.n || is_blank(text.p[at]))))
            continue;
        while (at < text.n && is_blank(text.p[at]))
            at++;
        return at;
    }
    return at;
}

/* ---- what claims say ---- */

/* Members of a claim that say something about the world. */
static const char *const saying[] = {
    "value", "uids", "a", "b", "relation", "interval", "args", "where", "left", "right", "hops", "as_of_tt",
    "claim", "tt_before", "tt_after", "before", "after", "cause_tt",
};
/* Texts in them that do not: names of operators, fields, relations, paths. */
static const char *const not_saying[] = {
    "field", "cmp", "id", "type", "from", "from_before", "evidence", "op", "kind", "metric", "assertion",
    "left", "right", "relation", "direction", "method",
};

static bool among(mk_str key, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (mk_str_eq(key, mk_str_of(names[i])))
            return true;
    return false;
}

typedef struct gathering {
    mk_cover *out;
    bool fill;
} gathering;

static void note_string(gathering *g, mk_str text)
{
    if (g->fill)
        g->out->strings[g->out->string_count] = text;
    g->out->string_count++;
}

static void note_number(gathering *g, mk_json number)
{
    if (g->fill)
        g->out->numbers[g->out->number_count] = number;
    g->out->number_count++;
}

static void gather(gathering *g, const mk_json *value, bool text_says, int depth)
{
    if (depth == 0)
        return;
    if (value->kind == MK_JSON_STRING && text_says && value->text.n > 0)
        note_string(g, value->text);
    if (mk_claim__is_number(value))
        note_number(g, *value);
    for (size_t i = 0; value->kind == MK_JSON_ARRAY && i < value->n; i++)
        gather(g, &value->items[i], text_says, depth - 1);
    for (size_t i = 0; value->kind == MK_JSON_OBJECT && i < value->n; i++) {
        const mk_member *m = &value->members[i];
        gather(g, &m->value, !among(m->key, not_saying, sizeof not_saying / sizeof *not_saying), depth - 1);
    }
}

/* Lists that a claim states whole have a length, and what is absent occurs zero times. */
static void gather_lengths(gathering *g, const mk_json *claim)
{
    const mk_json *type = mk_json_get(claim, "type");
    const mk_json *uids = mk_json_get(claim, "uids"), *hops = mk_json_get(claim, "hops");
    if (type == NULL || type->kind != MK_JSON_STRING)
        return;
    if (mk_str_eq(type->text, MK_STR("set_equal")) && uids != NULL)
        note_number(g, mk_claim__as_number(uids));
    if (mk_str_eq(type->text, MK_STR("path")) && hops != NULL)
        note_number(g, mk_claim__as_number(hops));
    if (mk_str_eq(type->text, MK_STR("absence")))
        note_number(g, (mk_json){.kind = MK_JSON_INT});
}

static void gather_claim(gathering *g, const mk_json *claim, int depth)
{
    gather_lengths(g, claim);
    for (size_t i = 0; i < claim->n; i++) {
        const mk_member *m = &claim->members[i];
        if (mk_str_eq(m->key, MK_STR("claim")) && depth > 0)
            gather_claim(g, &m->value, depth - 1);
        else if (among(m->key, saying, sizeof saying / sizeof *saying))
            gather(g, &m->value, !among(m->key, not_saying, sizeof not_saying / sizeof *not_saying),
                   MK_CLAIM_DEPTH_MAX);
    }
}

static int by_number(const void *a, const void *b) { return mk_claim__compare(a, b); }

mk_code mk_prose__cover(const mk_json *const *claims, size_t count, mk_arena *arena, mk_cover *out,
                        mk_err *err)
{
    *out = (mk_cover){.strings = NULL};
    gathering g = {.out = out};
    for (size_t i = 0; i < count; i++)
        gather_claim(&g, claims[i], 1);
    out->strings = mk_arena_get(arena, out->string_count * sizeof *out->strings);
    out->numbers = mk_arena_get(arena, out->number_count * sizeof *out->numbers);
    if (out->strings == NULL || out->numbers == NULL)
        return mk_fail_nomem(err);
    g.fill = true;
    out->string_count = out->number_count = 0;
    for (size_t i = 0; i < count; i++)
        gather_claim(&g, claims[i], 1);
    out->string_count = mk_lexicon_sort(out->strings, out->string_count);
    if (out->number_count > 0)
        qsort(out->numbers, out->number_count, sizeof *out->numbers, by_number);
    return MK_OK;
}

/* ---- looking up ---- */

static size_t first_number(const mk_cover *cover, const mk_json *least)
{
    size_t low = 0, high = cover->number_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (mk_claim__compare(&cover->numbers[middle], least) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* A claimed number from `least` to `most`; `rounded` passes over integers, which are written in full. */
static bool has_between(const mk_cover *cover, const mk_json *least, const mk_json *most, bool rounded)
{
    for (size_t i = first_number(cover, least); i < cover->number_count; i++) {
        if (mk_claim__compare(&cover->numbers[i], most) > 0)
            return false;
        if (!rounded || cover->numbers[i].kind == MK_JSON_FLOAT)
            return true;
    }
    return false;
}

/* A number as it was written: itself, or a claimed fraction rounded to as many decimals. */
static bool has_number(const mk_cover *cover, const mk_json *number, unsigned decimals)
{
    const double d = mk_claim__double(number), slack = 1e-9;
    const double half = decimals > 0 && decimals < 16 ? 0.5 * pow(10, -(double)decimals) : 0;
    if (has_between(cover, number, number, false))
        return true;
    const mk_json least = {.kind = MK_JSON_FLOAT, .d = d - half - slack * (fabs(d) < 1e6)};
    const mk_json most = {.kind = MK_JSON_FLOAT, .d = d + half + slack * (fabs(d) < 1e6)};
    return (number->kind == MK_JSON_FLOAT || fabs(d) < 1e6) && has_between(cover, &least, &most, true);
}

static bool has_time(const mk_cover *cover, const mk_mention *m)
{
    const mk_json least = {.kind = MK_JSON_INT, .i = m->from};
    const mk_json most = {.kind = MK_JSON_INT, .i = m->until - 1};
    return has_between(cover, &least, &most, false);
}

static int by_text(const void *a, const void *b)
{
    return mk_str_cmp(*(const mk_str *)a, *(const mk_str *)b);
}

bool mk_prose__covers(const mk_cover *cover, mk_str text, const mk_mention *m)
{
    const mk_str word = {text.p + m->start, m->end - m->start};
    if (cover->string_count > 0 && bsearch(&word, cover->strings, cover->string_count, sizeof word,
                                           by_text) != NULL)
        return true;
    if (m->timed)
        return has_time(cover, m);
    if (!m->numeric)
        return false;
    if (has_number(cover, &m->number, m->decimals))
        return true;
    const mk_json share = {.kind = MK_JSON_FLOAT, .d = mk_claim__double(&m->number) / 100};
    return m->percent && has_number(cover, &share, m->decimals + 2);
}

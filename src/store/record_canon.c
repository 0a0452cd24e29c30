/* record_canon.c — is this text canonical JSON already? Layer: store.
 *
 * A record of an honest log is canonical, so its slices can be kept as they are. That is found out by
 * one walk over the bytes and not by writing the text anew: the readers have checked the grammar
 * before, which leaves white space, the order of members, the choice of escapes and the layout of
 * numbers. Nothing is allocated; the last member name of each open object is remembered as a slice.
 * Source: store spec, section 3. */
#include "base/num.h"
#include "store/record_internal.h"

/* As deep as the JSON reader goes at most (json.h: one bit a level in four words). */
#define CANON_DEPTH_MAX 256

typedef struct walk {
    mk_str text;
    size_t at;
    size_t depth;
    bool key_next;                    /* the next string is a member name */
    bool is_object[CANON_DEPTH_MAX];
    mk_str last_key[CANON_DEPTH_MAX]; /* escaped as in the text; p NULL before the first */
} walk;

/* The byte that a canonical string stands for at *at, which moves on. */
static unsigned char decoded_byte(mk_str raw, size_t *at)
{
    static const char names[] = "bfnrt";
    static const unsigned char values[] = {0x08, 0x0c, 0x0a, 0x0d, 0x09};
    const char c = raw.p[(*at)++];

    if (c != '\\' || *at >= raw.n)
        return (unsigned char)c;
    const char name = raw.p[(*at)++];
    if (name == 'u' && raw.n - *at >= 4) {
        const char tens = raw.p[*at + 2], ones = raw.p[*at + 3];
        *at += 4;
        return (unsigned char)((tens - '0') * 16 + (ones <= '9' ? ones - '0' : ones - 'a' + 10));
    }
    for (size_t i = 0; i < sizeof values; i++) {
        if (names[i] == name)
            return values[i];
    }
    return (unsigned char)name;
}

static bool key_before_slow(mk_str a, mk_str b)
{
    if (memchr(a.p, '\\', a.n) == NULL && memchr(b.p, '\\', b.n) == NULL)
        return mk_str_cmp(a, b) < 0;
    size_t i = 0, j = 0;
    while (i < a.n && j < b.n) {
        const unsigned char x = decoded_byte(a, &i), y = decoded_byte(b, &j);
        if (x != y)
            return x < y;
    }
    return i >= a.n && j < b.n;
}

/* Whether a comes before b, which are not equal in an object without duplicates. */
static inline bool key_before(mk_str a, mk_str b)
{
    /* Most neighbours differ in their first byte, which tells unless an escape hides it. */
    if (a.n != 0 && b.n != 0 && a.p[0] != b.p[0] && a.p[0] != '\\' && b.p[0] != '\\')
        return (unsigned char)a.p[0] < (unsigned char)b.p[0];
    return key_before_slow(a, b);
}

/* `p` stands behind the backslash. Gives the size of the escape behind it, 0 when the canonical form
 * would write the character in another way. */
static size_t escape_size(const char *p, size_t n)
{
    if (n == 0)
        return 0;
    if (p[0] != 'u')
        return memchr("\"\\bfnrt", p[0], 7) != NULL ? 1 : 0;
    if (n < 5 || memcmp(p + 1, "00", 2) != 0 || (p[3] != '0' && p[3] != '1'))
        return 0;
    const bool digit = p[4] >= '0' && p[4] <= '9';
    if (!digit && !(p[4] >= 'a' && p[4] <= 'f'))
        return 0;
    if (p[3] == '0' && memchr("89acd", p[4], 5) != NULL) /* these have short names */
        return 0;
    return 5;
}

/* At the opening quote. The text between the quotes goes to *raw. */
static inline bool walk_string(walk *w, mk_str *raw)
{
    const size_t start = ++w->at;

    while (w->at < w->text.n) {
        w->at += mk_record__plain_span(w->text.p + w->at, w->text.n - w->at, false);
        if (w->at >= w->text.n)
            return false;
        const char c = w->text.p[w->at++];
        if (c == '"') {
            *raw = (mk_str){w->text.p + start, w->at - 1 - start};
            return true;
        }
        if (c != '\\')
            return false;
        const size_t size = escape_size(w->text.p + w->at, w->text.n - w->at);
        if (size == 0)
            return false;
        w->at += size;
    }
    return false;
}

static inline bool is_digit(char c) { return (unsigned char)(c - '0') < 10; }

static bool walk_number(walk *w)
{
    const mk_str rest = {w->text.p + w->at, w->text.n - w->at};
    size_t n = rest.p[0] == '-';
    bool is_float = false;

    while (n < rest.n && is_digit(rest.p[n]))
        n++;
    if (n > 1 && n < rest.n && (rest.p[n] == ',' || rest.p[n] == '}')) {
        w->at += n;
        return n != 2 || rest.p[0] != '-' || rest.p[1] != '0';
    }
    n = 0;
    if (mk_str_starts(rest, MK_STR("-Infinity"))) {
        w->at += 9;
        return true;
    }
    for (; n < rest.n; n++) {
        const char c = rest.p[n];
        if (c == '.' || c == 'e' || c == 'E')
            is_float = true;
        else if (c != '-' && c != '+' && !is_digit(c))
            break;
    }
    const mk_str token = {rest.p, n};
    w->at += n;
    if (!is_float)
        return !mk_str_eq(token, MK_STR("-0"));
    char text[MK_DOUBLE_TEXT_MAX];
    const size_t size = mk_double_text(text, mk_double_parse(token));
    return mk_str_eq(token, (mk_str){text, size});
}

static bool walk_literal(walk *w)
{
    static const mk_str literals[] = {{"true", 4}, {"false", 5}, {"null", 4}, {"NaN", 3},
                                      {"Infinity", 8}};
    const mk_str rest = {w->text.p + w->at, w->text.n - w->at};

    for (size_t i = 0; i < sizeof literals / sizeof literals[0]; i++) {
        if (mk_str_starts(rest, literals[i])) {
            w->at += literals[i].n;
            return true;
        }
    }
    return false;
}

static inline bool walk_open(walk *w, bool object)
{
    if (w->depth == CANON_DEPTH_MAX)
        return false;
    w->is_object[w->depth] = object;
    w->last_key[w->depth] = (mk_str){NULL, 0};
    w->depth++;
    w->key_next = object;
    w->at++;
    return true;
}

static inline bool walk_key_or_string(walk *w)
{
    mk_str raw;

    if (!walk_string(w, &raw))
        return false;
    if (!w->key_next)
        return true;
    mk_str *last = &w->last_key[w->depth - 1];
    if (last->p != NULL && !key_before(*last, raw))
        return false;
    *last = raw;
    w->key_next = false;
    return true;
}

static inline bool walk_step(walk *w)
{
    const char c = w->text.p[w->at];

    switch (c) {
    case '{':
    case '[':
        return walk_open(w, c == '{');
    case '}':
    case ']':
        if (w->depth == 0)
            return false;
        w->depth--;
        w->key_next = false;
        w->at++;
        return true;
    case ',':
        w->key_next = w->depth != 0 && w->is_object[w->depth - 1];
        w->at++;
        return true;
    case ':':
        w->at++;
        return true;
    case '"':
        return walk_key_or_string(w);
    default:
        return c == '-' || is_digit(c) ? walk_number(w) : walk_literal(w);
    }
}

bool mk_record__is_canonical(mk_str text)
{
    walk w;

    w.text = text;
    w.at = 0;
    w.depth = 0;
    w.key_next = false;
    while (w.at < text.n) {
        if (!walk_step(&w))
            return false;
    }
    return w.depth == 0;
}

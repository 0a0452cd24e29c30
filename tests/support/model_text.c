/* model_text.c — Unicode for the slow model: lower case, and integers inside cursors. See model.h.
 *
 * Both work on decoded code points; categories and simple mappings come from utf8proc (Unicode 15). */
#include "model.h"

#include <stdio.h>
#include <stdlib.h>

#include <utf8proc.h>

static void must(bool ok)
{
    if (!ok) {
        fputs("model: out of memory\n", stderr);
        abort();
    }
}

/* ---- lower case (4.6; The Unicode Standard, section 3.13, D135, D136 and table 3-17) ---- */

typedef struct code_points {
    int32_t *p;
    size_t n;
} code_points;

static code_points decode(mk_arena *arena, mk_str text)
{
    code_points cps = {.p = mk_arena_get(arena, (text.n + 1) * sizeof *cps.p)};
    must(cps.p != NULL);
    for (size_t at = 0; at < text.n;) {
        utf8proc_int32_t cp;
        const utf8proc_ssize_t size = utf8proc_iterate((const utf8proc_uint8_t *)text.p + at,
                                                       (utf8proc_ssize_t)(text.n - at), &cp);
        must(size > 0); /* readers have checked the UTF-8 */
        cps.p[cps.n++] = cp;
        at += (size_t)size;
    }
    return cps;
}

static bool within(int32_t cp, int32_t first, int32_t last) { return first <= cp && cp <= last; }

/* Lu, Ll, Lt, and of Other_Lowercase and Other_Uppercase what is not skipped as ignorable anyway. */
static bool is_cased(int32_t cp)
{
    const utf8proc_category_t category = utf8proc_category(cp);
    return category == UTF8PROC_CATEGORY_LU || category == UTF8PROC_CATEGORY_LL ||
           category == UTF8PROC_CATEGORY_LT || cp == 0xAA || cp == 0xBA ||
           within(cp, 0x2160, 0x217F) || within(cp, 0x24B6, 0x24E9) ||
           within(cp, 0x1F130, 0x1F149) || within(cp, 0x1F150, 0x1F169) ||
           within(cp, 0x1F170, 0x1F189);
}

/* Mn, Me, Cf, Lm, Sk, and Word_Break MidLetter, MidNumLet or Single_Quote. */
static bool is_case_ignorable(int32_t cp)
{
    static const int32_t in_words[] = {0x27,   0x2E,   0x3A,   0xB7,   0x387,  0x55F,
                                       0x5F4,  0x2018, 0x2019, 0x2024, 0x2027, 0xFE13,
                                       0xFE52, 0xFE55, 0xFF07, 0xFF0E, 0xFF1A};
    for (size_t i = 0; i < sizeof in_words / sizeof *in_words; i++)
        if (cp == in_words[i])
            return true;
    switch (utf8proc_category(cp)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
        return true;
    default:
        return false;
    }
}

static bool is_final_sigma(code_points text, size_t at)
{
    size_t before = at, after = at + 1;
    while (before > 0 && is_case_ignorable(text.p[before - 1]))
        before--;
    while (after < text.n && is_case_ignorable(text.p[after]))
        after++;
    return before > 0 && is_cased(text.p[before - 1]) &&
           (after == text.n || !is_cased(text.p[after]));
}

static void put_code_point(mk_buf *out, int32_t cp)
{
    utf8proc_uint8_t bytes[4];
    mk_buf_put(out, bytes, (size_t)utf8proc_encode_char(cp, bytes));
}

void model_lower(mk_buf *out, mk_str text)
{
    mk_arena arena;
    mk_arena_init(&arena, &mk_alloc_default);
    const code_points cps = decode(&arena, text);
    for (size_t i = 0; i < cps.n; i++) {
        if (cps.p[i] == 0x130) {
            put_code_point(out, 'i');
            put_code_point(out, 0x307);
        } else if (cps.p[i] == 0x3A3) {
            put_code_point(out, is_final_sigma(cps, i) ? 0x3C2 : 0x3C3);
        } else {
            put_code_point(out, utf8proc_tolower(cps.p[i]));
        }
    }
    mk_arena_free(&arena);
}

bool model_lower_contains(mk_str text, mk_str lower_query)
{
    mk_buf lower;
    mk_buf_init(&lower, &mk_alloc_default);
    model_lower(&lower, text);
    must(!lower.failed);
    bool found = false;
    for (size_t at = 0; !found && at + lower_query.n <= lower.n; at++)
        found = memcmp(lower.p + at, lower_query.p, lower_query.n) == 0;
    mk_buf_free(&lower);
    return found;
}

/* ---- cursors (operators spec, 5.4) ---- */

static bool is_space(int32_t cp)
{
    const utf8proc_category_t category = utf8proc_category(cp);
    return within(cp, 9, 13) || cp == 0x85 || category == UTF8PROC_CATEGORY_ZS ||
           category == UTF8PROC_CATEGORY_ZL || category == UTF8PROC_CATEGORY_ZP;
}

/* 0 to 9, or -1. Unicode keeps decimal digits in unbroken runs of ten, each beginning with zero. */
static int digit_of(int32_t cp)
{
    int32_t first = cp;
    if (utf8proc_category(cp) != UTF8PROC_CATEGORY_ND)
        return -1;
    while (utf8proc_category(first - 1) == UTF8PROC_CATEGORY_ND)
        first--;
    return (int)((cp - first) % 10);
}

enum { CURSOR_DIGITS_MAX = 4300 }; /* the reference's reader refuses longer integers */

enum { OFFSET_DIGITS_MAX = 18 }; /* any such number, and its sum with a limit, fits an int64 */

/* Digits with single underscores between them. *size is how many digits count: a number of more than
 * OFFSET_DIGITS_MAX is far past the end, and its value is not read on. */
static bool read_digits(const int32_t *p, size_t n, int64_t *out, size_t *size)
{
    size_t digits = 0;
    *size = 0;
    *out = 0;
    for (size_t i = 0; i < n; i++) {
        const int digit = digit_of(p[i]);
        if (digit < 0 && !(p[i] == '_' && i > 0 && i + 1 < n && p[i - 1] != '_'))
            return false;
        if (digit < 0)
            continue;
        digits++;
        *size += *size > 0 || digit > 0;
        if (*size <= OFFSET_DIGITS_MAX)
            *out = *out * 10 + digit;
    }
    return digits > 0 && digits <= CURSOR_DIGITS_MAX;
}

bool model_read_cursor(mk_str cursor, int64_t *offset)
{
    mk_arena arena;
    mk_arena_init(&arena, &mk_alloc_default);
    const code_points text = decode(&arena, cursor);
    const int32_t *p = text.p, *end = text.p + text.n;
    bool minus = false;
    size_t size = 0;
    *offset = 0;
    while (p < end && is_space(*p))
        p++;
    while (end > p && is_space(end[-1]))
        end--;
    if (p < end && (*p == '+' || *p == '-'))
        minus = *p++ == '-';
    bool ok = cursor.n == 0 || read_digits(p, (size_t)(end - p), offset, &size);
    if (minus && size > OFFSET_DIGITS_MAX)
        ok = false; /* the reference gives an empty page and the same cursor again, for ever */
    if (minus)
        *offset = -*offset;
    mk_arena_free(&arena);
    return ok;
}

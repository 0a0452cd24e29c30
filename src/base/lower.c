/* lower.c — full Unicode lower-casing. Layer: base.
 *
 * utf8proc has the one-to-one mappings. What it lacks is the two special cases of the default
 * algorithm: U+0130, the only character with a longer lower-case form, and the final sigma, which
 * looks at its neighbours past everything case-ignorable. */
#include "base/lower.h"

#include <string.h>
#include <utf8proc.h>

#define SIGMA 0x03A3
#define SIGMA_SMALL 0x03C3
#define SIGMA_FINAL 0x03C2

/* Word_Break MidLetter, MidNumLet or Single_Quote (WordBreakProperty.txt, Unicode 15.0). */
static bool breaks_inside_word(int32_t c)
{
    static const int32_t list[] = {0x0027, 0x002E, 0x003A, 0x00B7, 0x0387, 0x055F, 0x05F4,
                                   0x2018, 0x2019, 0x2024, 0x2027, 0xFE13, 0xFE52, 0xFE55,
                                   0xFF07, 0xFF0E, 0xFF1A};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        if (c == list[i])
            return true;
    }
    return false;
}

static bool case_ignorable(int32_t c)
{
    switch (utf8proc_category(c)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
        return true;
    default:
        return breaks_inside_word(c);
    }
}

/* Cased, for characters that are not case-ignorable: letters with case, and the Other_Lowercase and
 * Other_Uppercase ranges of PropList.txt that are not modifier letters or marks. */
static bool cased(int32_t c)
{
    switch (utf8proc_category(c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
        return true;
    default:
        return c == 0x00AA || c == 0x00BA || (c >= 0x2160 && c <= 0x217F) ||
               (c >= 0x24B6 && c <= 0x24E9) || (c >= 0x1F130 && c <= 0x1F149) ||
               (c >= 0x1F150 && c <= 0x1F169) || (c >= 0x1F170 && c <= 0x1F189);
    }
}

static int32_t char_at(mk_str s, size_t at, size_t *size)
{
    utf8proc_int32_t c;
    const utf8proc_ssize_t n = utf8proc_iterate((const utf8proc_uint8_t *)s.p + at,
                                                (utf8proc_ssize_t)(s.n - at), &c);
    *size = n > 0 ? (size_t)n : 1;
    return n > 0 ? c : -1;
}

/* Whether the first character after `at` that is not case-ignorable is cased. */
static bool cased_after(mk_str s, size_t at)
{
    for (size_t size; at < s.n; at += size) {
        const int32_t c = char_at(s, at, &size);
        if (c < 0)
            return false;
        if (!case_ignorable(c))
            return cased(c);
    }
    return false;
}

static void put_char(mk_buf *out, int32_t c)
{
    utf8proc_uint8_t bytes[4];
    const utf8proc_ssize_t n = utf8proc_encode_char(c, bytes);
    mk_buf_put(out, bytes, (size_t)n);
}

/* Lower-cases from `at` on. Whether a cased character stands before is carried along, so that a text
 * of sigmas costs no look back; a look ahead ends at the next letter. */
static void lower_from(mk_buf *out, mk_str text, size_t at)
{
    bool after_cased = false;
    for (size_t i = 0; i < at; i++) {
        if (!case_ignorable((unsigned char)text.p[i]))
            after_cased = cased((unsigned char)text.p[i]);
    }
    for (size_t size; at < text.n; at += size) {
        const int32_t c = char_at(text, at, &size);
        if (c < 0)
            mk_buf_put(out, text.p + at, size);
        else if (c == 0x0130)
            mk_buf_put(out, "i\xCC\x87", 3);
        else if (c == SIGMA)
            put_char(out, after_cased && !cased_after(text, at + size) ? SIGMA_FINAL : SIGMA_SMALL);
        else
            put_char(out, utf8proc_tolower(c));
        if (c < 0 || !case_ignorable(c))
            after_cased = c >= 0 && cased(c);
    }
}

void mk_lower(mk_buf *out, mk_str text)
{
    char *to = mk_buf_room(out, text.n);
    if (to == NULL)
        return;
    size_t i = 0;
    for (; i < text.n && (unsigned char)text.p[i] < 0x80; i++) {
        const char c = text.p[i];
        to[i] = c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
    }
    out->n += i;
    if (i < text.n)
        lower_from(out, text, i);
}

bool mk_lower_contains(mk_buf *scratch, mk_str text, mk_str needle)
{
    if (needle.n == 0)
        return true;
    scratch->n = 0; /* running out of memory stays noted */
    mk_lower(scratch, text);
    if (scratch->failed || scratch->n < needle.n)
        return false;
    return memmem(scratch->p, scratch->n, needle.p, needle.n) != NULL;
}

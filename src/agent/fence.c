/* fence.c — see fence.h. Layer: agent. */
#include "agent/fence.h"

#include <utf8proc.h>

#include "base/canon.h"
#include "base/hash.h"
#include "base/sha256.h"

#define LESS_THAN "\\x3c"
#define DEPTH_MAX 32 /* of a JSON value; what lies deeper is left out */
/* Bytes looked at for each character wanted. Most text needs one to four; more is invisible filler. */
#define BYTES_PER_CHAR 8

void mk_fence_init(mk_fence *fence)
{
    const uint64_t random[2] = {mk_entropy64(), mk_entropy64()};
    mk_hex(fence->nonce, (const uint8_t *)random, sizeof random);
    fence->nonce[32] = '\0';
}

/* ---- characters ---- */

/* What a character of cleaned text becomes; 0: nothing. */
static utf8proc_int32_t visible(utf8proc_int32_t c)
{
    switch (utf8proc_category(c)) {
    case UTF8PROC_CATEGORY_CC:
        return c == '\t' || c == '\n' || c == '\r' ? ' ' : 0;
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
        return ' ';
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
        return 0;
    default:
        return c;
    }
}

/* Code points of the text with bytes that are not UTF-8 replaced. Returns their number. */
static size_t decode(mk_str text, utf8proc_int32_t *out)
{
    size_t n = 0;
    for (size_t at = 0; at < text.n;) {
        const utf8proc_ssize_t size =
            utf8proc_iterate((const utf8proc_uint8_t *)text.p + at, (utf8proc_ssize_t)(text.n - at), &out[n]);
        if (size <= 0)
            out[n] = 0xFFFD;
        at += size > 0 ? (size_t)size : 1;
        n++;
    }
    return n;
}

/* Compatibility decomposition of each character, without those that are to be ignored. Returns the number
 * that there is, of which at most `cap` are written. */
static size_t decompose(const utf8proc_int32_t *in, size_t n, utf8proc_int32_t *out, size_t cap)
{
    size_t total = 0;
    int boundary = 0;
    for (size_t i = 0; i < n; i++) {
        utf8proc_int32_t piece[32]; /* the longest decomposition has 18 */
        const utf8proc_ssize_t count =
            utf8proc_decompose_char(in[i], piece, 32, UTF8PROC_COMPAT | UTF8PROC_COMPOSE | UTF8PROC_STABLE |
                                                          UTF8PROC_IGNORE, &boundary);
        for (utf8proc_ssize_t k = 0; k < count && k < 32; k++, total++)
            if (total < cap)
                out[total] = piece[k];
    }
    return total;
}

/* Puts combining marks into their order, which utf8proc leaves to whoever decomposes by character. Runs are
 * short in text and cut at 32, so that a hostile one does not cost its square. */
static void order_marks(utf8proc_int32_t *p, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        const utf8proc_int32_t c = p[i];
        const int class = utf8proc_get_property(c)->combining_class;
        size_t at = i;
        for (size_t moved = 0; class != 0 && at > 0 && moved < 32; at--, moved++) {
            const int before = utf8proc_get_property(p[at - 1])->combining_class;
            if (before <= class)
                break;
            p[at] = p[at - 1];
        }
        p[at] = c;
    }
}

/* ---- cleaning ---- */

/* Appends at most `chars_max` characters of p, then the mark of a cut when there are more. */
static void put_capped(mk_buf *out, const utf8proc_int32_t *p, size_t n, size_t chars_max, bool cut)
{
    size_t chars = 0;
    for (size_t i = 0; i < n; i++) {
        utf8proc_uint8_t bytes[4];
        const utf8proc_int32_t c = visible(p[i]);
        const size_t width = c == '<' ? sizeof LESS_THAN - 1 : 1;
        if (c == 0)
            continue;
        if (chars + width > chars_max) {
            cut = true;
            break;
        }
        if (c == '<')
            mk_buf_z(out, LESS_THAN);
        else
            mk_buf_put(out, bytes, (size_t)utf8proc_encode_char(c, bytes));
        chars += width;
    }
    if (cut)
        mk_buf_z(out, MK_FENCE_CUT);
}

static bool is_plain(mk_str text)
{
    for (size_t i = 0; i < text.n; i++)
        if ((uint8_t)text.p[i] < 0x20 || (uint8_t)text.p[i] >= 0x7F || text.p[i] == '<')
            return false;
    return true;
}

static void clean_unicode(mk_buf *out, mk_str text, size_t chars_max, bool cut)
{
    const size_t in_size = (text.n + 1) * sizeof(utf8proc_int32_t);
    utf8proc_int32_t *in = mk_new(out->alloc, in_size), *wide = NULL;
    size_t n = 0, wide_size = 0;
    if (in != NULL) {
        const size_t count = decode(text, in);
        n = decompose(in, count, NULL, 0);
        wide_size = (n + 1) * sizeof *wide;
        wide = mk_new(out->alloc, wide_size);
        if (wide != NULL)
            decompose(in, count, wide, n);
    }
    if (wide != NULL) {
        order_marks(wide, n);
        const utf8proc_ssize_t composed = utf8proc_normalize_utf32(
            wide, (utf8proc_ssize_t)n, UTF8PROC_COMPAT | UTF8PROC_COMPOSE | UTF8PROC_STABLE);
        put_capped(out, wide, composed > 0 ? (size_t)composed : 0, chars_max, cut);
    }
    out->failed |= in == NULL || wide == NULL;
    mk_free(out->alloc, wide, wide_size);
    mk_free(out->alloc, in, in_size);
}

void mk_fence_clean(mk_buf *out, mk_str text, size_t chars_max)
{
    const size_t bytes_max = chars_max * BYTES_PER_CHAR + 64;
    const bool cut = text.n > bytes_max;
    if (cut) {
        text.n = bytes_max;
        while (text.n > 0 && ((uint8_t)text.p[text.n] & 0xC0) == 0x80)
            text.n--; /* not inside a character */
    }
    if (!cut && text.n <= chars_max && is_plain(text))
        mk_buf_str(out, text);
    else
        clean_unicode(out, text, chars_max, cut);
}

/* ---- blocks ---- */

void mk_fence_put(const mk_fence *fence, mk_buf *out, const char *kind, mk_str text, size_t chars_max)
{
    mk_buf_printf(out, "<data-%s kind=\"%s\">\n", fence->nonce, kind);
    mk_fence_clean(out, text, chars_max);
    mk_buf_printf(out, "\n</data-%s>\n", fence->nonce);
}

/* ---- JSON ---- */

typedef struct cleaning {
    mk_arena *arena;
    mk_buf buf;
    bool nomem;
} cleaning;

static mk_str clean_string(cleaning *c, mk_str text, size_t chars_max)
{
    mk_buf_clear(&c->buf);
    mk_fence_clean(&c->buf, text, chars_max);
    const mk_str copy = mk_arena_copy(c->arena, mk_buf_view(&c->buf));
    c->nomem |= copy.p == NULL || c->buf.failed;
    return copy;
}

static void clean_value(cleaning *c, const mk_json *value, size_t chars_max, size_t depth, mk_json *out);

static void clean_items(cleaning *c, const mk_json *value, size_t chars_max, size_t depth, mk_json *out)
{
    out->items = mk_arena_get(c->arena, (value->n + 1) * sizeof *out->items);
    c->nomem |= out->items == NULL;
    for (size_t i = 0; i < value->n && !c->nomem; i++)
        clean_value(c, &value->items[i], chars_max, depth + 1, &out->items[i]);
}

static void clean_members(cleaning *c, const mk_json *value, size_t depth, mk_json *out)
{
    out->members = mk_arena_get(c->arena, (value->n + 1) * sizeof *out->members);
    c->nomem |= out->members == NULL;
    for (size_t i = 0; i < value->n && !c->nomem; i++) {
        const mk_str key = value->members[i].key;
        const size_t most = mk_str_eq(key, MK_STR("name")) ? MK_FENCE_NAME_MAX : MK_FENCE_STRING_MAX;
        out->members[i].key = clean_string(c, key, MK_FENCE_NAME_MAX);
        clean_value(c, &value->members[i].value, most, depth + 1, &out->members[i].value);
    }
}

/* Depth is bounded here, whoever read the value. */
static void clean_value(cleaning *c, const mk_json *value, size_t chars_max, size_t depth, mk_json *out)
{
    *out = *value;
    if (value->kind == MK_JSON_STRING)
        out->text = clean_string(c, value->text, chars_max);
    else if (value->kind != MK_JSON_ARRAY && value->kind != MK_JSON_OBJECT)
        return;
    else if (depth == DEPTH_MAX)
        *out = (mk_json){.kind = MK_JSON_STRING, .text = MK_STR(MK_FENCE_CUT)};
    else if (value->kind == MK_JSON_ARRAY)
        clean_items(c, value, chars_max, depth, out);
    else
        clean_members(c, value, depth, out);
}

mk_code mk_fence_put_json(const mk_fence *fence, mk_buf *out, mk_arena *arena, const char *kind,
                          const mk_json *value, size_t chars_max, mk_err *err)
{
    const mk_arena_mark mark = mk_arena_save(arena);
    cleaning c = {.arena = arena};
    mk_json clean;
    mk_buf text;
    mk_code rc;
    mk_buf_init(&c.buf, arena->alloc);
    mk_buf_init(&text, arena->alloc);
    clean_value(&c, value, MK_FENCE_STRING_MAX, 0, &clean);
    rc = c.nomem ? mk_fail_nomem(err) : mk_canon_tree(&text, arena, &clean, err);
    if (rc == MK_OK) {
        mk_fence_put(fence, out, kind, mk_buf_view(&text), chars_max);
        rc = mk_buf_done(out, err);
    }
    mk_buf_free(&text);
    mk_buf_free(&c.buf);
    mk_arena_rewind(arena, mark);
    return rc;
}

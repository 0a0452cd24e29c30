/* page_text.c — data as text of a page: escaped, visible, in both forms of time. Layer: agent. */
#include "agent/page_internal.h"

#include "base/timetext.h"

/* Characters of two or three bytes that are not shown but change what is: C1 controls, directional marks,
 * embeddings, overrides and isolates, the line separators, zero-width characters. 0: an ordinary one. */
static size_t unseen(mk_str text, uint32_t *code)
{
    const unsigned char *p = (const unsigned char *)text.p;
    if (text.n >= 2 && p[0] == 0xc2 && p[1] < 0xa0) {
        *code = p[1];
        return 2;
    }
    if (text.n < 3 || (p[0] != 0xe2 && p[0] != 0xef))
        return 0;
    *code = ((uint32_t)(p[0] & 15) << 12) | ((uint32_t)(p[1] & 63) << 6) | (p[2] & 63);
    return (*code >= 0x200b && *code <= 0x200f) || (*code >= 0x2028 && *code <= 0x202e) ||
                   (*code >= 0x2060 && *code <= 0x206f) || *code == 0xfeff
               ? 3
               : 0;
}

void mk_html__text(mk_buf *out, mk_str text)
{
    while (text.n != 0) {
        const char c = text.p[0];
        uint32_t code;
        size_t n = unseen(text, &code);
        if (n != 0)
            mk_buf_printf(out, "\\u{%x}", (unsigned)code);
        else if (c == '&')
            mk_buf_z(out, "&amp;");
        else if (c == '<')
            mk_buf_z(out, "&lt;");
        else if (c == '>')
            mk_buf_z(out, "&gt;");
        else if (c == '"')
            mk_buf_z(out, "&quot;");
        else if (c == '\'')
            mk_buf_z(out, "&#39;");
        else if (((unsigned char)c < ' ' && c != '\n') || c == 0x7f)
            mk_buf_printf(out, "\\x%02x", (unsigned)(unsigned char)c);
        else
            mk_buf_c(out, c);
        n += n == 0;
        text.p += n;
        text.n -= n;
    }
}

void mk_html__clipped(mk_buf *out, mk_str text, size_t max)
{
    if (text.n <= max) {
        mk_html__text(out, text);
        return;
    }
    while (max != 0 && ((unsigned char)text.p[max] & 0xc0) == 0x80)
        max--;
    mk_html__text(out, (mk_str){text.p, max});
    mk_buf_printf(out, "<span class=more>… %zu more bytes</span>", text.n - max);
}

void mk_html__time(mk_buf *out, int64_t us)
{
    char text[MK_TIME_TEXT_MAX];
    const mk_str iso = {text, mk_time_text(text, us)};
    if (us == MK_OPEN_END) {
        mk_buf_z(out, "<span class=time>open</span>");
        return;
    }
    mk_buf_z(out, "<span class=time>");
    mk_buf_str(out, iso);
    mk_buf_printf(out, " <span class=us>%lld</span></span>", (long long)us);
}

/* Line breaks after commas and brackets outside strings; `text` is canonical JSON. */
static void break_lines(mk_buf *out, mk_str text)
{
    size_t depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < text.n; i++) {
        const char c = text.p[i];
        const bool opens = !quoted && (c == '{' || c == '['), closes = !quoted && (c == '}' || c == ']');
        const bool empty = opens && i + 1 < text.n && (text.p[i + 1] == '}' || text.p[i + 1] == ']');
        if (closes && depth != 0 && text.p[i - 1] != '{' && text.p[i - 1] != '[')
            mk_buf_printf(out, "\n%*s", (int)(2 * (depth - 1)), "");
        depth -= closes && depth != 0;
        mk_buf_c(out, c);
        depth += opens;
        if ((opens && !empty) || (c == ',' && !quoted))
            mk_buf_printf(out, "\n%*s", (int)(2 * depth), "");
        else if (c == ':' && !quoted)
            mk_buf_c(out, ' ');
        if (quoted && c == '\\' && i + 1 < text.n)
            mk_buf_c(out, text.p[++i]);
        else if (c == '"')
            quoted = !quoted;
    }
}

void mk_html__json(mk_html *page, const mk_json *value, bool indent, size_t max)
{
    mk_buf flat, broken;
    mk_buf_init(&flat, page->arena->alloc);
    mk_buf_init(&broken, page->arena->alloc);
    if (mk_canon_tree(&flat, page->arena, value, NULL) != MK_OK)
        page->out->failed = true;
    if (indent)
        break_lines(&broken, mk_buf_view(&flat));
    page->out->failed |= flat.failed || broken.failed;
    mk_html__clipped(page->out, mk_buf_view(indent ? &broken : &flat), max);
    mk_buf_free(&broken);
    mk_buf_free(&flat);
}

void mk_html__base64(mk_buf *out, const void *p, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *in = p;
    for (size_t i = 0; i < n; i += 3) {
        const size_t left = n - i;
        const uint32_t v = ((uint32_t)in[i] << 16) | (left > 1 ? (uint32_t)in[i + 1] << 8 : 0) |
                           (left > 2 ? in[i + 2] : 0);
        const char four[4] = {digits[v >> 18], digits[(v >> 12) & 63],
                              left > 1 ? digits[(v >> 6) & 63] : '=', left > 2 ? digits[v & 63] : '='};
        mk_buf_put(out, four, 4);
    }
}

void mk_html__anchor(mk_buf *out, const mk_ref *ref)
{
    mk_buf_str(out, ref->step); /* letters and digits: the reader of references has seen to it */
    if (ref->count == 0)
        return;
    mk_buf_c(out, '.');
    mk_buf_str(out, ref->segments[0].name);
    if (ref->segments[0].index == MK_REF_AT)
        mk_buf_printf(out, "-%llu", (unsigned long long)ref->segments[0].at);
}

mk_str mk_html__member(const mk_json *object, const char *key)
{
    const mk_json *value = mk_json_get(object, key);
    return value != NULL && value->kind == MK_JSON_STRING ? value->text : MK_STR("");
}

const mk_json *mk_html__list(const mk_json *object, const char *key)
{
    const mk_json *value = mk_json_get(object, key);
    return value != NULL && value->kind == MK_JSON_ARRAY ? value : NULL;
}

bool mk_html__integer(const mk_json *object, const char *key, int64_t *out)
{
    const mk_json *value = mk_json_get(object, key);
    if (value == NULL || value->kind != MK_JSON_INT || value->b)
        return false;
    *out = value->i;
    return true;
}

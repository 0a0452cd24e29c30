/* value_text.c — values as the reference's text, which breaks ties and joins columns. Layer: op.
 *
 * Members stand in the order of their insertion, strings are quoted with the quote they do not contain, and
 * characters that cannot be printed are escaped. Source: operators spec, 4.5; Unicode 15.0. */
#include <stdio.h>
#include <utf8proc.h>

#include "base/num.h"
#include "op/value.h"

static void put_value(mk_buf *out, const mk_json *value);

static bool is_printable(int32_t c)
{
    switch (utf8proc_category(c)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP: return false;
    case UTF8PROC_CATEGORY_ZS: return c == ' ';
    default: return true;
    }
}

static void put_escape(mk_buf *out, int32_t c)
{
    if (c < 0x100)
        mk_buf_printf(out, "\\x%02x", (unsigned)c);
    else if (c < 0x10000)
        mk_buf_printf(out, "\\u%04x", (unsigned)c);
    else
        mk_buf_printf(out, "\\U%08x", (unsigned)c);
}

/* One character of `size` bytes inside quotes. */
static void put_quoted(mk_buf *out, int32_t c, const char *p, size_t size, char quote)
{
    if (c == '\\' || c == quote) {
        mk_buf_c(out, '\\');
        mk_buf_c(out, (char)c);
    } else if (c == '\n') {
        mk_buf_z(out, "\\n");
    } else if (c == '\r') {
        mk_buf_z(out, "\\r");
    } else if (c == '\t') {
        mk_buf_z(out, "\\t");
    } else if (is_printable(c)) {
        mk_buf_put(out, p, size);
    } else {
        put_escape(out, c);
    }
}

static void put_string(mk_buf *out, mk_str text)
{
    const bool single = text.n > 0 && memchr(text.p, '\'', text.n) != NULL;
    const bool both = single && memchr(text.p, '"', text.n) != NULL;
    const char quote = single && !both ? '"' : '\'';
    mk_buf_c(out, quote);
    for (size_t at = 0; at < text.n;) {
        int32_t c;
        const ptrdiff_t size = utf8proc_iterate((const uint8_t *)text.p + at,
                                                (ptrdiff_t)(text.n - at), &c);
        if (size <= 0)
            break; /* readers have checked the text */
        put_quoted(out, c, text.p + at, (size_t)size, quote);
        at += (size_t)size;
    }
    mk_buf_c(out, quote);
}

static void put_float(mk_buf *out, double d)
{
    char text[MK_DOUBLE_TEXT_MAX];
    if (d != d)
        mk_buf_z(out, "nan");
    else if (d - d != 0.0)
        mk_buf_z(out, d > 0 ? "inf" : "-inf");
    else
        mk_buf_put(out, text, mk_double_text(text, d));
}

static void put_list(mk_buf *out, const mk_json *value)
{
    mk_buf_c(out, '[');
    for (size_t i = 0; i < value->n; i++) {
        if (i > 0)
            mk_buf_z(out, ", ");
        put_value(out, &value->items[i]);
    }
    mk_buf_c(out, ']');
}

static void put_object(mk_buf *out, const mk_json *value)
{
    mk_buf_c(out, '{');
    for (size_t i = 0; i < value->n; i++) {
        if (i > 0)
            mk_buf_z(out, ", ");
        put_string(out, value->members[i].key);
        mk_buf_z(out, ": ");
        put_value(out, &value->members[i].value);
    }
    mk_buf_c(out, '}');
}

/* Depth is that of the text the value was read from, which the reader bounds. */
static void put_value(mk_buf *out, const mk_json *value)
{
    switch (value->kind) {
    case MK_JSON_NULL: mk_buf_z(out, "None"); break;
    case MK_JSON_BOOL: mk_buf_z(out, value->b ? "True" : "False"); break;
    case MK_JSON_INT:
        if (value->b)
            mk_buf_str(out, value->text);
        else
            mk_buf_i64(out, value->i);
        break;
    case MK_JSON_FLOAT: put_float(out, value->d); break;
    case MK_JSON_STRING: put_string(out, value->text); break;
    case MK_JSON_ARRAY: put_list(out, value); break;
    case MK_JSON_OBJECT: put_object(out, value); break;
    }
}

void mk_value_text(mk_buf *out, const mk_json *value)
{
    if (value->kind == MK_JSON_STRING)
        mk_buf_str(out, value->text);
    else
        put_value(out, value);
}

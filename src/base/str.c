/* str.c — byte strings, UTF-8 checking and the growing buffer. Layer: base. */
#include "base/str.h"

#include <stdarg.h>
#include <stdio.h>

int mk_str_cmp(mk_str a, mk_str b)
{
    const size_t n = a.n < b.n ? a.n : b.n;
    const int c = n ? memcmp(a.p, b.p, n) : 0;
    if (c != 0)
        return c;
    return a.n < b.n ? -1 : a.n > b.n;
}

bool mk_str_starts(mk_str s, mk_str prefix)
{
    return s.n >= prefix.n && (prefix.n == 0 || memcmp(s.p, prefix.p, prefix.n) == 0);
}

/* Length of the well-formed sequence at p, 0 when there is none within n bytes. Table 3-7 of the
 * Unicode standard: the second byte carries the restrictions. */
static size_t utf8_sequence(const unsigned char *p, size_t n)
{
    const unsigned char c = p[0];
    if (c < 0x80)
        return 1;
    if (c < 0xC2 || c > 0xF4)
        return 0;
    const size_t size = c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
    if (n < size)
        return 0;
    unsigned char low = 0x80, high = 0xBF;
    if (c == 0xE0)
        low = 0xA0;
    else if (c == 0xED)
        high = 0x9F;
    else if (c == 0xF0)
        low = 0x90;
    else if (c == 0xF4)
        high = 0x8F;
    if (p[1] < low || p[1] > high)
        return 0;
    for (size_t i = 2; i < size; i++)
        if ((p[i] & 0xC0) != 0x80)
            return 0;
    return size;
}

size_t mk_utf8_check(mk_str s)
{
    const unsigned char *p = (const unsigned char *)s.p;
    size_t i = 0;
    while (i < s.n) {
        uint64_t word;
        if (s.n - i >= sizeof word) {
            memcpy(&word, p + i, sizeof word);
            if ((word & 0x8080808080808080u) == 0) {
                i += sizeof word;
                continue;
            }
        }
        const size_t size = utf8_sequence(p + i, s.n - i);
        if (size == 0)
            return i;
        i += size;
    }
    return s.n;
}

bool mk_str_to_i64(mk_str s, int64_t *out)
{
    size_t i = 0;
    const bool negative = s.n > 0 && s.p[0] == '-';
    if (s.n > 0 && (s.p[0] == '-' || s.p[0] == '+'))
        i = 1;
    if (i == s.n)
        return false;
    uint64_t value = 0;
    for (; i < s.n; i++) {
        const unsigned digit = (unsigned char)s.p[i] - (unsigned)'0';
        if (digit > 9 || value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    if (value > (uint64_t)INT64_MAX + negative)
        return false;
    *out = negative ? (int64_t)(0 - value) : (int64_t)value;
    return true;
}

void mk_buf_init(mk_buf *buf, const mk_alloc *alloc)
{
    *buf = (mk_buf){.alloc = alloc};
}

void mk_buf_free(mk_buf *buf)
{
    mk_free(buf->alloc, buf->p, buf->cap);
    *buf = (mk_buf){.alloc = buf->alloc};
}

char *mk_buf_room(mk_buf *buf, size_t more)
{
    if (buf->failed)
        return NULL;
    if (buf->cap - buf->n >= more && buf->p != NULL)
        return buf->p + buf->n;
    size_t need;
    void *p = buf->p;
    if (!mk_size_add(buf->n, more, &need) ||
        mk_grow(buf->alloc, &p, &buf->cap, need < 64 ? 64 : need, 1, NULL) != MK_OK) {
        buf->failed = true;
        return NULL;
    }
    buf->p = p;
    return buf->p + buf->n;
}

void mk_buf_put(mk_buf *buf, const void *p, size_t n)
{
    char *room = mk_buf_room(buf, n);
    if (room == NULL || n == 0)
        return;
    memcpy(room, p, n);
    buf->n += n;
}

void mk_buf_c(mk_buf *buf, char c)
{
    char *room = mk_buf_room(buf, 1);
    if (room == NULL)
        return;
    *room = c;
    buf->n++;
}

size_t mk_u64_text(char *p, uint64_t v)
{
    static const char pairs[] = "00010203040506070809101112131415161718192021222324"
                                "25262728293031323334353637383940414243444546474849"
                                "50515253545556575859606162636465666768697071727374"
                                "75767778798081828384858687888990919293949596979899";
    char digits[20];
    size_t at = sizeof digits;
    while (v >= 100) {
        const unsigned two = (unsigned)(v % 100) * 2;
        v /= 100;
        digits[--at] = pairs[two + 1];
        digits[--at] = pairs[two];
    }
    if (v >= 10)
        digits[--at] = pairs[v * 2 + 1];
    digits[--at] = v >= 10 ? pairs[v * 2] : (char)('0' + v);
    memcpy(p, digits + at, sizeof digits - at);
    return sizeof digits - at;
}

size_t mk_i64_text(char *p, int64_t v)
{
    if (v >= 0)
        return mk_u64_text(p, (uint64_t)v);
    p[0] = '-';
    return 1 + mk_u64_text(p + 1, 0 - (uint64_t)v);
}

void mk_buf_i64(mk_buf *buf, int64_t v)
{
    char *room = mk_buf_room(buf, 20);
    if (room != NULL)
        buf->n += mk_i64_text(room, v);
}

void mk_buf_u64(mk_buf *buf, uint64_t v)
{
    char *room = mk_buf_room(buf, 20);
    if (room != NULL)
        buf->n += mk_u64_text(room, v);
}

void mk_buf_printf(mk_buf *buf, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    char small[256];
    const int n = vsnprintf(small, sizeof small, fmt, args);
    va_end(args);
    if (n < 0) {
        buf->failed = true;
        return;
    }
    if ((size_t)n < sizeof small) {
        mk_buf_put(buf, small, (size_t)n);
        return;
    }
    char *room = mk_buf_room(buf, (size_t)n + 1);
    if (room == NULL)
        return;
    va_start(args, fmt);
    vsnprintf(room, (size_t)n + 1, fmt, args);
    va_end(args);
    buf->n += (size_t)n;
}

mk_code mk_buf_done(const mk_buf *buf, mk_err *err)
{
    return buf->failed ? mk_fail_nomem(err) : MK_OK;
}

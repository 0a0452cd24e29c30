/* err.c — filling the error value. Layer: base. */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

static const char *const code_names[] = {
    [MK_OK] = "OK",
    [MK_E_SCHEMA] = "E_SCHEMA",
    [MK_E_INVALID_ARG] = "E_INVALID_ARG",
    [MK_E_NOT_FOUND] = "E_NOT_FOUND",
    [MK_E_COST] = "E_COST",
    [MK_E_LIMIT] = "E_LIMIT",
    [MK_E_STATE] = "E_STATE",
    [MK_E_WRITE_CONFLICT] = "E_WRITE_CONFLICT",
    [MK_E_SERIALIZATION] = "E_SERIALIZATION",
    [MK_E_SNAPSHOT_TOO_OLD] = "E_SNAPSHOT_TOO_OLD",
    [MK_E_ISOLATION] = "E_ISOLATION",
    [MK_E_MODEL] = "E_MODEL",
    [MK_E_CANCELLED] = "E_CANCELLED",
    [MK_E_INTERNAL] = "E_INTERNAL",
    [MK_E_NOMEM] = "E_INTERNAL",
};

const char *mk_code_name(mk_code code)
{
    const size_t index = (size_t)code;
    if (index >= sizeof code_names / sizeof *code_names)
        return "E_INTERNAL";
    return code_names[index];
}

/* True when the bytes from `at` to the end begin a UTF-8 sequence that the end cuts off. */
static bool is_cut_sequence(const char *text, size_t at, size_t n)
{
    const unsigned char lead = (unsigned char)text[at];
    const size_t want = lead >= 0xF0 && lead < 0xF5 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (lead < 0xC2 || lead >= 0xF5 || n - at >= want)
        return false;
    for (size_t i = at + 1; i < n; i++)
        if (((unsigned char)text[i] & 0xC0) != 0x80)
            return false;
    return true;
}

/* Makes what snprintf left in `text` safe to show: a sequence cut off at the end goes, other bytes that
 * are no UTF-8 and control characters become '?'. */
static void make_printable(char *text)
{
    size_t n = strlen(text);
    size_t from = 0;
    for (;;) {
        const size_t bad = from + mk_utf8_check((mk_str){text + from, n - from});
        if (bad >= n)
            break;
        if (is_cut_sequence(text, bad, n)) {
            text[bad] = 0;
            n = bad;
            break;
        }
        text[bad] = '?';
        from = bad + 1;
    }
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7F)
            text[i] = '?';
}

static void print_into(char *out, size_t size, const char *fmt, va_list args) MK_PRINTF(3, 0);
static void print_into(char *out, size_t size, const char *fmt, va_list args)
{
    if (vsnprintf(out, size, fmt, args) < 0)
        out[0] = 0;
    make_printable(out);
}

mk_code mk_fail(mk_err *err, mk_code code, const char *fmt, ...)
{
    if (err == NULL)
        return code;
    err->code = code;
    err->retry = MK_RETRY_AFTER_FIX;
    err->offset = -1;
    err->reason[0] = err->path[0] = err->hint[0] = err->extra[0] = 0;
    va_list args;
    va_start(args, fmt);
    print_into(err->message, sizeof err->message, fmt, args);
    va_end(args);
    return code;
}

void mk_err_path(mk_err *err, const char *fmt, ...)
{
    if (err == NULL)
        return;
    va_list args;
    va_start(args, fmt);
    print_into(err->path, sizeof err->path, fmt, args);
    va_end(args);
}

void mk_err_hint(mk_err *err, const char *fmt, ...)
{
    if (err == NULL)
        return;
    va_list args;
    va_start(args, fmt);
    print_into(err->hint, sizeof err->hint, fmt, args);
    va_end(args);
}

void mk_err_reason(mk_err *err, const char *reason)
{
    if (err != NULL)
        snprintf(err->reason, sizeof err->reason, "%s", reason);
}

void mk_err_offset(mk_err *err, int64_t offset)
{
    if (err != NULL)
        err->offset = offset;
}

void mk_err_retry(mk_err *err, mk_retry retry)
{
    if (err != NULL)
        err->retry = retry;
}

void mk_err_extra(mk_err *err, const char *members, size_t size)
{
    if (err == NULL || size >= sizeof err->extra)
        return;
    memcpy(err->extra, members, size);
    err->extra[size] = 0;
}

mk_code mk_fail_nomem(mk_err *err)
{
    mk_fail(err, MK_E_NOMEM, "out of memory");
    mk_err_reason(err, "no_memory");
    mk_err_retry(err, MK_RETRY_AS_IS);
    return MK_E_NOMEM;
}

#ifdef MK_DEBUG
void mk_assert_failed(const char *what, const char *file, int line)
{
    fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, what);
    abort();
}
#endif

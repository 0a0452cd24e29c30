/* output.c — text for people and for programs. Layer: cli.
 *
 * Stored text may hold anything that is UTF-8. What reaches a terminal has its control characters, and
 * those that reorder or hide text, replaced by escapes: in tables always, in JSON on a terminal only,
 * where \uNNNN means the same value. */
#include "cli/cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <utf8proc.h>

#include "base/canon.h"
#include "base/instream.h"

#define PROGRESS_INTERVAL_US 100000

/* ---- characters ---- */

/* Decodes the character at p, which is well-formed UTF-8; 0 and one byte forward where it is not. */
static size_t decode(const char *p, size_t n, uint32_t *code)
{
    utf8proc_int32_t c;
    const utf8proc_ssize_t size =
        utf8proc_iterate((const utf8proc_uint8_t *)p, (utf8proc_ssize_t)n, &c);
    *code = size > 0 ? (uint32_t)c : 0;
    return size > 0 ? (size_t)size : 1;
}

/* Control characters (C0, DEL, C1), line and paragraph separators, marks that set the direction of
 * text, and the byte order mark. */
static bool steers(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x061c || (c >= 0x200e && c <= 0x200f) ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

void mk_text_safe(mk_buf *out, mk_str text)
{
    for (size_t i = 0; i < text.n;) {
        uint32_t c;
        const size_t size = decode(text.p + i, text.n - i, &c);
        if (size == 1 && steers(c))
            mk_buf_printf(out, "\\x%02x", (unsigned char)text.p[i]);
        else if (steers(c))
            mk_buf_printf(out, "\\u{%04x}", (unsigned)c);
        else
            mk_buf_put(out, text.p + i, size);
        i += size;
    }
}

/* Canonical JSON has raw what steers a terminal above U+001F, and only inside strings. */
static void json_safe(mk_buf *out, mk_str text)
{
    for (size_t i = 0; i < text.n;) {
        uint32_t c;
        const size_t size = decode(text.p + i, text.n - i, &c);
        if (c > 0x1f && steers(c))
            mk_buf_printf(out, "\\u%04x", (unsigned)c);
        else
            mk_buf_put(out, text.p + i, size);
        i += size;
    }
}

/* Columns that text takes on a terminal. */
static size_t width_of(mk_str text)
{
    size_t width = 0;
    for (size_t i = 0; i < text.n;) {
        uint32_t c;
        i += decode(text.p + i, text.n - i, &c);
        const int w = utf8proc_charwidth((utf8proc_int32_t)c);
        width += w > 0 ? (size_t)w : 0;
    }
    return width;
}

/* ---- values ---- */

void mk_text_time(mk_buf *out, int64_t us)
{
    char iso[MK_TIME_TEXT_MAX];
    const size_t n = mk_time_text(iso, us);
    mk_buf_i64(out, us);
    mk_buf_printf(out, " (%.*s)", (int)n, iso);
}

void mk_text_count(mk_buf *out, uint64_t n)
{
    char digits[20];
    const size_t size = mk_u64_text(digits, n);
    for (size_t i = 0; i < size; i++) {
        if (i != 0 && (size - i) % 3 == 0)
            mk_buf_c(out, ',');
        mk_buf_c(out, digits[i]);
    }
}

void mk_text_bytes(mk_buf *out, uint64_t n)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    double value = (double)n;
    size_t unit = 0;
    while (value >= 1024 && unit < 4) {
        value /= 1024;
        unit++;
    }
    mk_buf_printf(out, unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
}

/* ---- standard output ---- */

static mk_code output_failed(mk_err *err)
{
    const int number = errno;
    mk_fail(err, MK_E_STATE, "cannot write the result: %s",
            number == ENOSPC ? "no space left on the device" : "standard output is closed or failing");
    mk_err_reason(err, number == ENOSPC ? "no_space" : "io");
    mk_err_hint(err, "what the command did to the store stands; only its output is lost");
    return MK_E_STATE;
}

mk_code mk_cli__put(mk_cli *cli, mk_str text, mk_err *err)
{
    (void)cli;
    if (text.n != 0 && fwrite(text.p, 1, text.n, stdout) != text.n)
        return output_failed(err);
    return MK_OK;
}

mk_code mk_cli__put_buf(mk_cli *cli, const mk_buf *text, mk_err *err)
{
    mk_code rc;
    MK_TRY(rc, mk_buf_done(text, err));
    rc = mk_cli__put(cli, mk_buf_view(text), err);
out:
    return rc;
}

mk_code mk_cli__put_json(mk_cli *cli, mk_str json, mk_err *err)
{
    mk_buf safe;
    mk_code rc;
    mk_buf_init(&safe, cli->alloc);
    if (cli->out_is_terminal) {
        json_safe(&safe, json);
        MK_TRY(rc, mk_buf_done(&safe, err));
        json = mk_buf_view(&safe);
    }
    MK_TRY(rc, mk_cli__put(cli, json, err));
    rc = mk_cli__put(cli, MK_STR("\n"), err);
out:
    mk_buf_free(&safe);
    return rc;
}

mk_code mk_cli__flush(mk_err *err)
{
    return fflush(stdout) == 0 && !ferror(stdout) ? MK_OK : output_failed(err);
}

/* ---- standard error ---- */

void mk_cli__warn(mk_cli *cli, const char *fmt, ...)
{
    char text[1200];
    mk_buf out;
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    mk_cli__progress_end(cli);
    mk_buf_init(&out, cli->alloc);
    if (cli->json) {
        mk_buf_z(&out, "{\"warning\":");
        mk_canon_string(&out, mk_str_of(text));
        mk_buf_z(&out, "}\n");
    } else {
        mk_buf_z(&out, "merkhet: warning: ");
        mk_text_safe(&out, mk_str_of(text));
        mk_buf_c(&out, '\n');
    }
    if (!out.failed)
        fwrite(out.p, 1, out.n, stderr);
    mk_buf_free(&out);
}

/* merkhet: PATH: MESSAGE
 *   HINT  (CODE, reason, byte N) */
static void error_for_people(const mk_err *err, mk_buf *out)
{
    mk_buf_z(out, "merkhet: ");
    if (err->path[0] != '\0' && strstr(err->message, err->path) == NULL)
        mk_buf_printf(out, "%s: ", err->path);
    mk_buf_z(out, err->message);
    if (err->hint[0] != '\0')
        mk_buf_printf(out, "\n  %s", err->hint);
    if (!mk_err_is_usage(err)) {
        mk_buf_printf(out, "  (%s", mk_code_name(err->code == MK_E_NOMEM ? MK_E_INTERNAL : err->code));
        if (err->reason[0] != '\0')
            mk_buf_printf(out, ", %s", err->reason);
        if (err->offset >= 0)
            mk_buf_printf(out, ", byte %lld", (long long)err->offset);
        mk_buf_c(out, ')');
    }
    mk_buf_c(out, '\n');
}

void mk_cli__report_error(const mk_cli *cli, const mk_err *err)
{
    mk_buf out;
    mk_buf_init(&out, cli->alloc);
    if (cli->json) {
        mk_err_json(&out, err);
        mk_buf_c(&out, '\n');
    } else {
        error_for_people(err, &out);
    }
    if (out.failed)
        fprintf(stderr, "merkhet: %s\n", err->message);
    else
        fwrite(out.p, 1, out.n, stderr);
    mk_buf_free(&out);
}

void mk_cli__progress(mk_cli *cli, const char *fmt, ...)
{
    char text[200];
    va_list args;
    if (!cli->err_is_terminal || cli->json)
        return;
    const int64_t now = mk_clock_system.now_us(mk_clock_system.ctx);
    if (now - cli->progress_last_us < PROGRESS_INTERVAL_US)
        return;
    cli->progress_last_us = now;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    fprintf(stderr, "\r\033[K%s", text);
    fflush(stderr);
    cli->progress_shown = true;
}

void mk_cli__progress_end(mk_cli *cli)
{
    if (!cli->progress_shown)
        return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
    cli->progress_shown = false;
}

/* ---- tables ---- */

mk_code mk_table_begin(mk_table *table, mk_arena *arena, const char *const *names, size_t columns,
                       mk_err *err)
{
    mk_code rc = MK_OK;
    *table = (mk_table){.arena = arena, .columns = columns};
    table->numeric = mk_arena_get0(arena, columns * sizeof *table->numeric);
    if (table->numeric == NULL)
        return mk_fail_nomem(err);
    for (size_t i = 0; i < columns && rc == MK_OK; i++)
        rc = mk_table_cell(table, mk_str_of(names[i]), err);
    return rc;
}

/* Old arrays stay in the arena: together they are as large as the last. */
static bool grow_cells(mk_table *table)
{
    const size_t cap = table->cap ? 2 * table->cap : 64;
    mk_str *cells = mk_arena_get(table->arena, cap * sizeof *cells);
    if (cells == NULL)
        return false;
    if (table->count != 0)
        memcpy(cells, table->cells, table->count * sizeof *cells);
    table->cells = cells;
    table->cap = cap;
    return true;
}

mk_code mk_table_cell(mk_table *table, mk_str text, mk_err *err)
{
    mk_buf safe;
    mk_code rc;
    mk_buf_init(&safe, table->arena->alloc);
    if (table->count == table->cap && !grow_cells(table)) {
        rc = mk_fail_nomem(err);
        goto out;
    }
    mk_text_safe(&safe, text);
    MK_TRY(rc, mk_buf_done(&safe, err));
    const mk_str copy = mk_arena_copy(table->arena, mk_buf_view(&safe));
    if (copy.p == NULL && safe.n != 0) {
        rc = mk_fail_nomem(err);
        goto out;
    }
    table->cells[table->count++] = copy;
out:
    mk_buf_free(&safe);
    return rc;
}

static void put_cell(mk_buf *out, mk_str text, size_t width, bool right, bool last)
{
    const size_t have = width_of(text);
    const size_t pad = have < width ? width - have : 0;
    for (size_t i = 0; right && i < pad; i++)
        mk_buf_c(out, ' ');
    mk_buf_str(out, text);
    for (size_t i = 0; !right && !last && i < pad; i++)
        mk_buf_c(out, ' ');
    if (!last)
        mk_buf_z(out, "  ");
}

mk_code mk_table_put(mk_cli *cli, const mk_table *table, mk_err *err)
{
    const size_t columns = table->columns, rows = table->count / columns;
    mk_buf out;
    mk_code rc;
    mk_buf_init(&out, cli->alloc);
    size_t *widths = mk_arena_get0(table->arena, columns * sizeof *widths);
    if (widths == NULL) {
        rc = mk_fail_nomem(err);
        goto out;
    }
    for (size_t i = 0; i < table->count; i++) {
        const size_t width = width_of(table->cells[i]);
        const size_t column = i % columns;
        if (width > widths[column] && (width <= MK_TABLE_WIDTH_MAX || i < columns))
            widths[column] = width;
    }
    for (size_t row = 0; row < rows; row++) {
        if (row == 0 && cli->colour)
            mk_buf_z(&out, "\033[1m");
        for (size_t c = 0; c < columns; c++)
            put_cell(&out, table->cells[row * columns + c], widths[c], table->numeric[c] && row != 0,
                     c + 1 == columns);
        if (row == 0 && cli->colour)
            mk_buf_z(&out, "\033[0m");
        mk_buf_c(&out, '\n');
    }
    rc = mk_cli__put_buf(cli, &out, err);
out:
    mk_buf_free(&out);
    return rc;
}

/* ---- input ---- */

mk_code mk_cli__read_all(const char *path, size_t max, const char *what, mk_buf *out, mk_err *err)
{
    enum { CHUNK = 1 << 18 };
    mk_instream *in = NULL;
    mk_code rc;
    mk_buf_clear(out);
    MK_TRY(rc, mk_instream_open(out->alloc, path, &in, err));
    for (;;) {
        size_t got;
        char *room = mk_buf_room(out, CHUNK);
        if (room == NULL) {
            rc = mk_fail_nomem(err);
            goto out;
        }
        MK_TRY(rc, mk_instream_read(in, room, CHUNK, &got, err));
        if (got == 0)
            break;
        out->n += got;
        if (out->n > max) {
            rc = mk_fail(err, MK_E_LIMIT, "%s: more than %zu bytes", what, max);
            mk_err_hint(err, "split it; a batch, a call and a string each have a largest size");
            goto out;
        }
    }
out:
    mk_instream_close(in);
    return rc;
}

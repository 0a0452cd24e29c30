/* instream.c — reading a file or stdin, decompressing on the way.
 *
 * Bytes go source -> `input` -> decoder -> `text` -> lines. The first bytes choose the decoder once
 * and for all. Both buffers are made once and used again; `text` grows only for a line that does
 * not fit, so a small file that decompresses to terabytes costs no more memory than any other.
 *
 * A stream is in one of three states: open; ended, after which every read gives nothing; broken,
 * after which every read gives the same error. What was decoded before the damage is handed out
 * first. */
#include "base/instream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/fs_internal.h"
#include "base/instream_internal.h"

/* Large enough that system calls and decoder calls do not show in a profile, small enough for the
 * second-level cache. */
#define BUFFER_SIZE ((size_t)256 * 1024)
/* zlib counts in 32 bits. */
#define DECODE_STEP_MAX ((size_t)1 << 30)
/* zstd frames that need more than 128 MiB to decode are refused: the size comes from the input. */
#define ZSTD_WINDOW_LOG_MAX 27

typedef enum format { FORMAT_PLAIN, FORMAT_GZIP, FORMAT_ZSTD } format;

struct mk_instream {
    const mk_alloc *alloc;
    char *name; /* for messages; name_size bytes with the NUL */
    size_t name_size;
    int fd; /* -1: the source is `memory` */
    bool close_fd;
    mk_str memory;
    size_t memory_step;
    uint64_t source_read; /* bytes taken from the source */
    uint64_t total;
    bool source_ended;

    format format;
    z_stream gzip;
    bool gzip_ready;
    ZSTD_DCtx *zstd;
    bool between; /* gzip members or zstd frames, where an end is an end */
    bool ended;
    const char *broken; /* what is wrong, NULL while nothing is; static storage */
    mk_code broken_code;
    uint64_t broken_at;

    char *input; /* BUFFER_SIZE bytes; [input_at, input_end) not yet decoded */
    size_t input_at, input_end;
    char *text; /* text_cap bytes; [text_at, text_end) not yet handed out */
    size_t text_at, text_end, text_cap;
    uint64_t line_number;
};

/* ---- source ---- */

static mk_code read_memory(mk_instream *in, void *p, size_t n, size_t *got)
{
    if (in->memory_step > 0 && n > in->memory_step)
        n = in->memory_step;
    if (n > in->memory.n)
        n = in->memory.n;
    if (n > 0)
        memcpy(p, in->memory.p, n);
    in->memory.p += n;
    in->memory.n -= n;
    *got = n;
    return MK_OK;
}

static mk_code read_fd(mk_instream *in, void *p, size_t n, size_t *got, mk_err *err)
{
    ssize_t k;

    do
        k = read(in->fd, p, n);
    while (k < 0 && errno == EINTR);
    if (k < 0) {
        mk_fs__fail(err, MK_E_STATE, errno, "read", in->name);
        mk_err_offset(err, (int64_t)in->source_read);
        return MK_E_STATE;
    }
    *got = (size_t)k;
    return MK_OK;
}

static mk_code read_source(mk_instream *in, void *p, size_t n, size_t *got, mk_err *err)
{
    mk_code rc = MK_OK;

    *got = 0;
    if (in->source_ended)
        return MK_OK;
    if (in->fd < 0)
        MK_TRY(rc, read_memory(in, p, n, got));
    else
        MK_TRY(rc, read_fd(in, p, n, got, err));
    in->source_read += *got;
    in->source_ended = *got == 0;
out:
    return rc;
}

static mk_code fill_input(mk_instream *in, mk_err *err)
{
    size_t got;
    mk_code rc;

    if (in->input_at < in->input_end)
        return MK_OK;
    MK_TRY(rc, read_source(in, in->input, BUFFER_SIZE, &got, err));
    in->input_at = 0;
    in->input_end = got;
out:
    return rc;
}

static uint64_t source_offset(const mk_instream *in)
{
    return in->source_read - (in->input_end - in->input_at);
}

/* ---- damage ---- */

static void set_broken(mk_instream *in, mk_code code, const char *what)
{
    in->broken = what;
    in->broken_code = code;
    in->broken_at = source_offset(in);
}

static mk_code fail_broken(const mk_instream *in, mk_err *err)
{
    if (in->broken_code == MK_E_NOMEM)
        return mk_fail_nomem(err);
    mk_fail(err, in->broken_code, "%s: %s at compressed byte %llu", in->name, in->broken,
            (unsigned long long)in->broken_at);
    mk_err_path(err, "%s", in->name);
    mk_err_offset(err, (int64_t)in->broken_at);
    mk_err_reason(err, in->broken_code == MK_E_LIMIT ? "window" : "damaged");
    mk_err_hint(err,
                in->broken_code == MK_E_LIMIT
                    ? "compress the file again with a window of at most 128 MiB (zstd --long=27)"
                    : "fetch or compress the file again; gzip -t or zstd -t must accept it");
    return in->broken_code;
}

/* ---- decoders: each gives at least one byte, or sets `ended` or `broken` ---- */

static mk_code decode_plain(mk_instream *in, char *p, size_t n, size_t *got, mk_err *err)
{
    const size_t left = in->input_end - in->input_at;
    mk_code rc;

    if (left > 0) { /* what was read to choose the decoder */
        *got = left < n ? left : n;
        memcpy(p, in->input + in->input_at, *got);
        in->input_at += *got;
        return MK_OK;
    }
    MK_TRY(rc, read_source(in, p, n, got, err));
    in->ended = *got == 0;
out:
    return rc;
}

/* Zeros behind the last member are padding (tapes, block devices) and belong to it, as for gzip(1).
 */
static void skip_padding(mk_instream *in)
{
    while (in->input_at < in->input_end && in->input[in->input_at] == '\0')
        in->input_at++;
}

static void note_gzip_result(mk_instream *in, int result, bool progress)
{
    if (result == Z_STREAM_END)
        in->between = true;
    else if (result == Z_MEM_ERROR)
        set_broken(in, MK_E_NOMEM, "out of memory");
    else if (result == Z_NEED_DICT || result == Z_DATA_ERROR || result == Z_STREAM_ERROR)
        set_broken(in, MK_E_STATE, "the gzip data is damaged");
    else if (!progress && in->source_ended)
        set_broken(in, MK_E_STATE, "the gzip data is cut short");
}

static mk_code decode_gzip(mk_instream *in, char *p, size_t n, size_t *got, mk_err *err)
{
    z_stream *z = &in->gzip;
    mk_code rc = MK_OK;

    while (*got == 0 && !in->ended && in->broken == NULL) {
        MK_TRY(rc, fill_input(in, err));
        if (in->between) {
            skip_padding(in);
            if (in->input_at == in->input_end) {
                in->ended = in->source_ended;
                continue;
            }
            inflateReset(z);
            in->between = false;
        }
        z->next_in = (unsigned char *)in->input + in->input_at;
        z->avail_in = (uInt)(in->input_end - in->input_at);
        z->next_out = (unsigned char *)p;
        z->avail_out = (uInt)n;
        const size_t before = z->avail_in;
        const int result = inflate(z, Z_NO_FLUSH);
        *got = n - z->avail_out;
        in->input_at = in->input_end - z->avail_in;
        note_gzip_result(in, result, *got > 0 || z->avail_in < before);
    }
out:
    return rc;
}

static void note_zstd_result(mk_instream *in, size_t result, bool progress)
{
    if (!ZSTD_isError(result)) {
        in->between = result == 0;
        if (!progress && in->source_ended && !in->between)
            set_broken(in, MK_E_STATE, "the zstd data is cut short");
        return;
    }
    switch (ZSTD_getErrorCode(result)) {
    case ZSTD_error_memory_allocation:
        set_broken(in, MK_E_NOMEM, "out of memory");
        break;
    case ZSTD_error_frameParameter_windowTooLarge:
        set_broken(in, MK_E_LIMIT, "the zstd frame needs too much memory");
        break;
    default:
        set_broken(in, MK_E_STATE, "the zstd data is damaged");
    }
}

static mk_code decode_zstd(mk_instream *in, char *p, size_t n, size_t *got, mk_err *err)
{
    mk_code rc = MK_OK;

    while (*got == 0 && !in->ended && in->broken == NULL) {
        MK_TRY(rc, fill_input(in, err));
        if (in->between && in->input_at == in->input_end) {
            in->ended = in->source_ended;
            continue;
        }
        ZSTD_inBuffer from = {in->input + in->input_at, in->input_end - in->input_at, 0};
        ZSTD_outBuffer to = {p, n, 0};
        const size_t result = ZSTD_decompressStream(in->zstd, &to, &from);
        *got = to.pos;
        in->input_at += from.pos;
        note_zstd_result(in, result, to.pos > 0 || from.pos > 0);
    }
out:
    return rc;
}

static mk_code decode(mk_instream *in, char *p, size_t n, size_t *got, mk_err *err)
{
    mk_code rc = MK_OK;

    *got = 0;
    if (n > DECODE_STEP_MAX)
        n = DECODE_STEP_MAX;
    if (n == 0 || in->ended)
        return MK_OK;
    if (in->broken != NULL)
        return fail_broken(in, err);
    if (in->format == FORMAT_PLAIN)
        MK_TRY(rc, decode_plain(in, p, n, got, err));
    else if (in->format == FORMAT_GZIP)
        MK_TRY(rc, decode_gzip(in, p, n, got, err));
    else
        MK_TRY(rc, decode_zstd(in, p, n, got, err));
    if (*got == 0 && in->broken != NULL)
        rc = fail_broken(in, err);
out:
    return rc;
}

/* ---- opening ---- */

/* zlib frees without saying the size, so each block begins with it. */
#define ZLIB_HEAD 16

static void *zlib_alloc(void *opaque, unsigned count, unsigned size)
{
    size_t bytes;

    if (!mk_size_mul(count, size, &bytes) || !mk_size_add(bytes, ZLIB_HEAD, &bytes))
        return NULL;
    char *block = mk_new0(opaque, bytes);
    if (block == NULL)
        return NULL;
    memcpy(block, &bytes, sizeof bytes);
    return block + ZLIB_HEAD;
}

static void zlib_free(void *opaque, void *p)
{
    char *block = (char *)p - ZLIB_HEAD;
    size_t bytes;

    memcpy(&bytes, block, sizeof bytes);
    mk_free(opaque, block, bytes);
}

static mk_code start_gzip(mk_instream *in, mk_err *err)
{
    in->gzip.zalloc = zlib_alloc;
    in->gzip.zfree = zlib_free;
    in->gzip.opaque = (void *)in->alloc;                 /* zlib only passes it back */
    if (inflateInit2(&in->gzip, 16 + MAX_WBITS) != Z_OK) /* 16: gzip framing */
        return mk_fail_nomem(err);
    in->gzip_ready = true;
    return MK_OK;
}

/* The decoder's own memory does not come from our hook: zstd offers that only in the part of its
 * interface that changes between versions. It is bounded by ZSTD_WINDOW_LOG_MAX. */
static mk_code start_zstd(mk_instream *in, mk_err *err)
{
    in->zstd = ZSTD_createDCtx();
    if (in->zstd == NULL ||
        ZSTD_isError(ZSTD_DCtx_setParameter(in->zstd, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG_MAX)))
        return mk_fail_nomem(err);
    in->between = true;
    return MK_OK;
}

static format format_of(const unsigned char *p, size_t n)
{
    static const unsigned char zstd_magic[4] = {0x28, 0xB5, 0x2F, 0xFD};
    static const unsigned char skippable_tail[3] = {0x2A, 0x4D, 0x18}; /* RFC 8878, 3.1.2 */

    if (n >= 2 && p[0] == 0x1F && p[1] == 0x8B)
        return FORMAT_GZIP;
    if (n >= 4 && memcmp(p, zstd_magic, 4) == 0)
        return FORMAT_ZSTD;
    if (n >= 4 && (p[0] & 0xF0) == 0x50 && memcmp(p + 1, skippable_tail, 3) == 0)
        return FORMAT_ZSTD;
    return FORMAT_PLAIN;
}

static mk_code choose_decoder(mk_instream *in, mk_err *err)
{
    mk_code rc = MK_OK;

    while (in->input_end < 4 && !in->source_ended) { /* pipes may give single bytes */
        size_t got;
        MK_TRY(rc,
               read_source(in, in->input + in->input_end, BUFFER_SIZE - in->input_end, &got, err));
        in->input_end += got;
    }
    in->format = format_of((const unsigned char *)in->input, in->input_end);
    if (in->format == FORMAT_GZIP)
        MK_TRY(rc, start_gzip(in, err));
    else if (in->format == FORMAT_ZSTD)
        MK_TRY(rc, start_zstd(in, err));
out:
    return rc;
}

static mk_code make(const mk_alloc *alloc, const char *name, mk_instream **out, mk_err *err)
{
    mk_instream *in = mk_new0(alloc, sizeof *in);

    if (in == NULL)
        return mk_fail_nomem(err);
    in->alloc = alloc;
    in->fd = -1;
    in->text_cap = BUFFER_SIZE;
    in->name_size = strlen(name) + 1;
    in->name = mk_new(alloc, in->name_size);
    in->input = mk_new(alloc, BUFFER_SIZE);
    in->text = mk_new(alloc, in->text_cap);
    if (in->name == NULL || in->input == NULL || in->text == NULL) {
        mk_instream_close(in);
        return mk_fail_nomem(err);
    }
    memcpy(in->name, name, in->name_size);
    *out = in;
    return MK_OK;
}

static mk_code open_fd(mk_instream *in, const char *path, mk_err *err)
{
    struct stat st;

    if (strcmp(path, "-") == 0) {
        in->fd = STDIN_FILENO;
    } else {
        do
            in->fd = open(path, O_RDONLY | O_CLOEXEC);
        while (in->fd < 0 && errno == EINTR);
        if (in->fd < 0)
            return mk_fs__fail(err,
                               errno == ENOENT || errno == ENOTDIR ? MK_E_NOT_FOUND : MK_E_STATE,
                               errno, "open", path);
        in->close_fd = true;
    }
    if (fstat(in->fd, &st) == 0 && S_ISREG(st.st_mode)) {
        in->total = (uint64_t)st.st_size;
        posix_fadvise(in->fd, 0, 0, POSIX_FADV_SEQUENTIAL); /* only advice; failing costs nothing */
    }
    return MK_OK;
}

mk_code mk_instream_open(const mk_alloc *alloc, const char *path, mk_instream **out, mk_err *err)
{
    mk_instream *in = NULL;
    mk_code rc;

    MK_TRY(rc, make(alloc, strcmp(path, "-") == 0 ? "standard input" : path, &in, err));
    MK_TRY(rc, open_fd(in, path, err));
    MK_TRY(rc, choose_decoder(in, err));
    *out = in;
    in = NULL;
out:
    mk_instream_close(in);
    return rc;
}

mk_code mk_instream__open_memory(const mk_alloc *alloc, mk_str bytes, size_t step,
                                 mk_instream **out, mk_err *err)
{
    mk_instream *in = NULL;
    mk_code rc;

    MK_TRY(rc, make(alloc, "memory", &in, err));
    in->memory = bytes;
    in->memory_step = step;
    in->total = bytes.n;
    MK_TRY(rc, choose_decoder(in, err));
    *out = in;
    in = NULL;
out:
    mk_instream_close(in);
    return rc;
}

void mk_instream_close(mk_instream *in)
{
    if (in == NULL)
        return;
    if (in->gzip_ready)
        inflateEnd(&in->gzip);
    ZSTD_freeDCtx(in->zstd); /* NULL is fine */
    if (in->close_fd)
        close(in->fd);
    mk_free(in->alloc, in->name, in->name_size);
    mk_free(in->alloc, in->input, BUFFER_SIZE);
    mk_free(in->alloc, in->text, in->text_cap);
    mk_free(in->alloc, in, sizeof *in);
}

/* ---- reading ---- */

mk_code mk_instream_read(mk_instream *in, void *p, size_t n, size_t *got, mk_err *err)
{
    const size_t left = in->text_end - in->text_at;

    if (left == 0)
        return decode(in, p, n, got, err);
    *got = left < n ? left : n;
    memcpy(p, in->text + in->text_at, *got);
    in->text_at += *got;
    return MK_OK;
}

/* Room behind text_end: first by moving the begun line to the front, then by growing. */
static mk_code make_text_room(mk_instream *in, mk_err *err)
{
    if (in->text_at > 0) {
        memmove(in->text, in->text + in->text_at, in->text_end - in->text_at);
        in->text_end -= in->text_at;
        in->text_at = 0;
    }
    if (in->text_end < in->text_cap)
        return MK_OK;
    void *grown = in->text;
    size_t cap = in->text_cap;
    const mk_code rc = mk_grow(in->alloc, &grown, &cap, in->text_cap + BUFFER_SIZE, 1, err);
    in->text = grown;
    in->text_cap = cap;
    return rc;
}

static mk_code fail_long_line(const mk_instream *in, size_t max_line, mk_err *err)
{
    mk_fail(err, MK_E_LIMIT, "%s: line %llu is longer than %zu bytes", in->name,
            (unsigned long long)in->line_number + 1, max_line);
    mk_err_path(err, "%s", in->name);
    mk_err_hint(err, "split the line, or check that the file is text with line ends");
    return MK_E_LIMIT;
}

/* The size of the line at text_at and whether an LF ends it; reads on as far as needed. A line is
 * given up when even without a CR it would be too long. */
static mk_code find_line(mk_instream *in, size_t max_line, size_t *size, bool *ended_by_lf,
                         mk_err *err)
{
    size_t seen = 0;
    mk_code rc = MK_OK;

    for (;;) {
        const size_t left = in->text_end - in->text_at;
        const char *line = in->text + in->text_at;
        const char *lf = left > seen ? memchr(line + seen, '\n', left - seen) : NULL;
        size_t got;
        *ended_by_lf = lf != NULL;
        *size = lf != NULL ? (size_t)(lf - line) : left;
        if (lf != NULL || in->ended)
            break;
        if (left > max_line && left - max_line > 1)
            break;
        seen = left;
        MK_TRY(rc, make_text_room(in, err));
        MK_TRY(rc, decode(in, in->text + in->text_end, in->text_cap - in->text_end, &got, err));
        in->text_end += got;
    }
out:
    return rc;
}

mk_code mk_instream_line(mk_instream *in, size_t max_line, bool strip_cr, mk_str *line, bool *more,
                         bool *ended_by_lf, mk_err *err)
{
    bool lf;
    size_t size;
    mk_code rc;

    MK_TRY(rc, find_line(in, max_line, &size, &lf, err));
    *more = lf || size > 0;
    *ended_by_lf = lf;
    if (!*more)
        goto out;
    const char *start = in->text + in->text_at;
    const size_t shown = size - (strip_cr && lf && size > 0 && start[size - 1] == '\r');
    if (shown > max_line) {
        rc = fail_long_line(in, max_line, err);
        goto out;
    }
    *line = (mk_str){start, shown};
    in->text_at += size + lf;
    in->line_number++;
out:
    return rc;
}

uint64_t mk_instream_read_bytes(const mk_instream *in)
{
    return source_offset(in);
}
uint64_t mk_instream_total_bytes(const mk_instream *in)
{
    return in->total;
}
uint64_t mk_instream_line_number(const mk_instream *in)
{
    return in->line_number;
}

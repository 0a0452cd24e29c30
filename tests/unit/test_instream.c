/* test_instream.c — plain, gzip and zstd input, as bytes and as lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "../support/testalloc.h"
#include "../support/tmpdir.h"
#include "base/instream_internal.h"

#define LINE_MAX_BYTES 1000

typedef enum packing { PLAIN, GZIP, ZSTD, PACKINGS } packing;

/* ---- making input ---- */

static void put_gzip(mk_buf *out, mk_str text)
{
    z_stream z = {0};
    const size_t room = compressBound(text.n) + 64;

    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (unsigned char *)(uintptr_t)text.p;
    z.avail_in = (uInt)text.n;
    z.next_out = (unsigned char *)mk_buf_room(out, room);
    z.avail_out = (uInt)room;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    out->n += room - z.avail_out;
    deflateEnd(&z);
}

static void put_zstd(mk_buf *out, mk_str text)
{
    const size_t room = ZSTD_compressBound(text.n);
    const size_t n = ZSTD_compress(mk_buf_room(out, room), room, text.p, text.n, 3);

    assert_false(ZSTD_isError(n));
    out->n += n;
}

static void put_packed(mk_buf *out, mk_str text, packing how)
{
    if (how == GZIP)
        put_gzip(out, text);
    else if (how == ZSTD)
        put_zstd(out, text);
    else
        mk_buf_str(out, text);
}

/* About `size` bytes of lines that do not compress to nothing. */
static void put_lines(mk_buf *out, size_t size)
{
    uint64_t x = 88172645463325252u;

    while (out->n < size) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        mk_buf_printf(out, "%llx %.*s\n", (unsigned long long)x, (int)(x % 60),
                      "------------------------------------------------------------");
    }
}

static mk_instream *open_bytes(const mk_alloc *alloc, mk_str bytes, size_t step)
{
    mk_instream *in = NULL;
    mk_err err;

    if (mk_instream__open_memory(alloc, bytes, step, &in, &err) != MK_OK)
        fail_msg("%s", err.message);
    return in;
}

static mk_code read_everything(mk_instream *in, size_t step, mk_buf *out, mk_err *err)
{
    for (;;) {
        size_t got;
        const mk_code rc = mk_instream_read(in, mk_buf_room(out, step), step, &got, err);
        if (rc != MK_OK || got == 0)
            return rc;
        out->n += got;
    }
}

static void next_line(mk_instream *in, const char *expected, bool expected_lf)
{
    mk_str line;
    bool more, lf;
    mk_err err;

    if (mk_instream_line(in, LINE_MAX_BYTES, true, &line, &more, &lf, &err) != MK_OK)
        fail_msg("%s", err.message);
    assert_true(more);
    if (!mk_str_eq(line, mk_str_of(expected)))
        fail_msg("read \"%.*s\", not \"%s\"", MK_STR_ARG(line), expected);
    assert_int_equal(lf, expected_lf);
}

static void no_line(mk_instream *in)
{
    mk_str line;
    bool more, lf;

    assert_int_equal(mk_instream_line(in, LINE_MAX_BYTES, true, &line, &more, &lf, NULL), MK_OK);
    assert_false(more);
}

/* ---- bytes ---- */

/* Law: whatever the packing, the size of the pieces that arrive and the size of the reads, the
 * bytes are the same. The text is larger than both buffers. */
static void test_instream__every_packing_gives_the_same_bytes(void **state)
{
    static const size_t steps[] = {0, 1, 4093};
    testalloc ta;
    mk_buf text, packed, out;

    (void)state;
    testalloc_init(&ta);
    mk_buf_init(&text, &ta.hook);
    mk_buf_init(&packed, &ta.hook);
    mk_buf_init(&out, &ta.hook);
    put_lines(&text, 700000);
    for (packing how = PLAIN; how < PACKINGS; how++) {
        mk_buf_clear(&packed);
        put_packed(&packed, mk_buf_view(&text), how);
        for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
            mk_instream *in = open_bytes(&ta.hook, mk_buf_view(&packed), steps[i]);
            mk_buf_clear(&out);
            assert_int_equal(read_everything(in, i == 0 ? 1000000 : 7777, &out, NULL), MK_OK);
            assert_true(mk_str_eq(mk_buf_view(&out), mk_buf_view(&text)));
            assert_int_equal(mk_instream_read_bytes(in), packed.n);
            assert_int_equal(mk_instream_total_bytes(in), packed.n);
            mk_instream_close(in);
        }
    }
    mk_buf_free(&text);
    mk_buf_free(&packed);
    mk_buf_free(&out);
    assert_true(testalloc_is_clean(&ta));
    testalloc_free(&ta);
}

static void test_instream__members_and_frames_in_a_row_are_one(void **state)
{
    (void)state;
    for (packing how = GZIP; how < PACKINGS; how++) {
        for (size_t step = 0; step < 3; step++) {
            mk_buf packed;
            mk_buf_init(&packed, &mk_alloc_default);
            put_packed(&packed, MK_STR("one\ntw"), how);
            put_packed(&packed, MK_STR(""), how);
            put_packed(&packed, MK_STR("o\n"), how);
            mk_instream *in = open_bytes(&mk_alloc_default, mk_buf_view(&packed), step);
            next_line(in, "one", true);
            next_line(in, "two", true);
            no_line(in);
            mk_instream_close(in);
            mk_buf_free(&packed);
        }
    }
}

static void test_instream__zstd_may_start_with_a_skippable_frame(void **state)
{
    mk_buf packed;

    (void)state;
    mk_buf_init(&packed, &mk_alloc_default);
    mk_buf_put(&packed, "\x5A\x2A\x4D\x18\x03\0\0\0abc", 11);
    put_zstd(&packed, MK_STR("x"));
    mk_instream *in = open_bytes(&mk_alloc_default, mk_buf_view(&packed), 0);
    next_line(in, "x", false);
    mk_instream_close(in);
    mk_buf_free(&packed);
}

static void test_instream__zeros_behind_gzip_are_padding(void **state)
{
    mk_buf packed;

    (void)state;
    mk_buf_init(&packed, &mk_alloc_default);
    put_gzip(&packed, MK_STR("x\n"));
    mk_buf_put(&packed, "\0\0\0\0\0\0", 6);
    mk_instream *in = open_bytes(&mk_alloc_default, mk_buf_view(&packed), 1);
    next_line(in, "x", true);
    no_line(in);
    mk_instream_close(in);
    mk_buf_free(&packed);
}

/* ---- damage ---- */

static mk_code read_packed(mk_str bytes, mk_buf *out, mk_err *err)
{
    mk_instream *in = open_bytes(&mk_alloc_default, bytes, 0);
    size_t got;

    mk_buf_clear(out);
    const mk_code rc = read_everything(in, 50, out, err);
    if (rc != MK_OK) { /* and it stays so */
        char c;
        assert_int_equal(mk_instream_read(in, &c, 1, &got, NULL), rc);
    }
    mk_instream_close(in);
    return rc;
}

static void test_instream__a_cut_stream_is_an_error_at_every_length(void **state)
{
    const mk_str text =
        MK_STR("some text that is long enough to have a body, some text, some text\n");
    mk_buf packed, out;

    (void)state;
    mk_buf_init(&packed, &mk_alloc_default);
    mk_buf_init(&out, &mk_alloc_default);
    for (packing how = GZIP; how < PACKINGS; how++) {
        mk_buf_clear(&packed);
        put_packed(&packed, text, how);
        for (size_t n = 4; n < packed.n; n++) {
            mk_err err;
            assert_int_equal(read_packed((mk_str){packed.p, n}, &out, &err), MK_E_STATE);
            assert_string_equal(err.reason, "damaged");
            assert_int_equal(err.offset, n);
            assert_non_null(strstr(err.message, "cut short"));
            assert_true(mk_str_starts(text, mk_buf_view(&out)));
        }
    }
    mk_buf_free(&packed);
    mk_buf_free(&out);
}

static void test_instream__damage_is_an_error_with_an_offset_after_the_good_bytes(void **state)
{
    mk_buf text, packed, out;

    (void)state;
    mk_buf_init(&text, &mk_alloc_default);
    mk_buf_init(&packed, &mk_alloc_default);
    mk_buf_init(&out, &mk_alloc_default);
    put_lines(&text, 500000);
    for (packing how = GZIP; how < PACKINGS; how++) {
        mk_err err;
        mk_buf_clear(&packed);
        put_packed(&packed, mk_buf_view(&text), how);
        const size_t first = packed.n;
        put_packed(&packed, MK_STR("tail"), how);
        packed.p[first] ^= 0x55; /* the magic of the second part */
        assert_int_equal(read_packed(mk_buf_view(&packed), &out, &err), MK_E_STATE);
        assert_true(mk_str_eq(mk_buf_view(&out), mk_buf_view(&text)));
        assert_string_equal(err.reason, "damaged");
        assert_true(err.offset >= (int64_t)first && err.offset <= (int64_t)packed.n);
    }
    mk_buf_free(&text);
    mk_buf_free(&packed);
    mk_buf_free(&out);
}

static void test_instream__a_wrong_gzip_checksum_is_an_error(void **state)
{
    mk_buf packed, out;
    mk_err err;

    (void)state;
    mk_buf_init(&packed, &mk_alloc_default);
    mk_buf_init(&out, &mk_alloc_default);
    put_gzip(&packed, MK_STR("text"));
    packed.p[packed.n - 6] ^= 1;
    assert_int_equal(read_packed(mk_buf_view(&packed), &out, &err), MK_E_STATE);
    assert_non_null(strstr(err.message, "damaged"));
    mk_buf_free(&packed);
    mk_buf_free(&out);
}

/* A frame header that asks for a window of 2 GiB must not get it. */
static void test_instream__a_huge_zstd_window_is_refused(void **state)
{
    const mk_str header = MK_STR("\x28\xB5\x2F\xFD\x00\xA8\x01\x00\x00");
    mk_buf out;
    mk_err err;

    (void)state;
    mk_buf_init(&out, &mk_alloc_default);
    assert_int_equal(read_packed(header, &out, &err), MK_E_LIMIT);
    assert_non_null(strstr(err.hint, "128 MiB"));
    mk_buf_free(&out);
}

/* Goal: memory does not follow the size of the output. Method: 64 MiB of zeros out of some 64 kB,
 * under an allocator that knows its peak. */
static void test_instream__a_bomb_needs_no_memory(void **state)
{
    testalloc ta;
    mk_buf packed, zeros;
    char room[10000];
    uint64_t sum = 0;
    size_t got;

    (void)state;
    testalloc_init(&ta);
    mk_buf_init(&packed, &mk_alloc_default);
    mk_buf_init(&zeros, &mk_alloc_default);
    memset(mk_buf_room(&zeros, 64 << 20), 0, 64 << 20);
    zeros.n = 64 << 20;
    put_gzip(&packed, mk_buf_view(&zeros));
    mk_instream *in = open_bytes(&ta.hook, mk_buf_view(&packed), 0);
    do {
        assert_int_equal(mk_instream_read(in, room, sizeof room, &got, NULL), MK_OK);
        sum += got;
    } while (got > 0);
    mk_instream_close(in);
    assert_int_equal(sum, 64 << 20);
    assert_true(ta.peak_bytes < 1 << 20);
    assert_true(testalloc_is_clean(&ta));
    testalloc_free(&ta);
    mk_buf_free(&packed);
    mk_buf_free(&zeros);
}

/* ---- lines ---- */

static void test_instream__lines_end_at_lf_and_may_lose_a_cr(void **state)
{
    (void)state;
    for (size_t step = 0; step < 4; step++) {
        mk_instream *in = open_bytes(&mk_alloc_default, MK_STR("a\n\nb\r\n\r\nc\rd\ne\r"), step);
        assert_int_equal(mk_instream_line_number(in), 0);
        next_line(in, "a", true);
        assert_int_equal(mk_instream_line_number(in), 1);
        next_line(in, "", true);
        next_line(in, "b", true);
        next_line(in, "", true);
        next_line(in, "c\rd", true);
        next_line(in, "e\r", false);
        assert_int_equal(mk_instream_line_number(in), 6);
        no_line(in);
        no_line(in);
        assert_int_equal(mk_instream_line_number(in), 6);
        mk_instream_close(in);
    }
}

static void test_instream__a_cr_is_kept_when_asked(void **state)
{
    mk_instream *in = open_bytes(&mk_alloc_default, MK_STR("b\r\n"), 0);
    mk_str line;
    bool more, lf;

    (void)state;
    assert_int_equal(mk_instream_line(in, 10, false, &line, &more, &lf, NULL), MK_OK);
    assert_true(mk_str_eq(line, MK_STR("b\r")));
    mk_instream_close(in);
}

static void test_instream__nothing_is_no_line(void **state)
{
    mk_instream *in = open_bytes(&mk_alloc_default, MK_STR(""), 0);
    char c;
    size_t got = 7;

    (void)state;
    no_line(in);
    assert_int_equal(mk_instream_read(in, &c, 1, &got, NULL), MK_OK);
    assert_int_equal(got, 0);
    mk_instream_close(in);
    mk_instream_close(NULL);
}

/* Law: the lines, put together again, are the text, for lines that cross every buffer boundary and
 * for lines longer than the buffer. */
static void test_instream__lines_put_together_are_the_text(void **state)
{
    mk_buf text, packed, out;
    testalloc ta;

    (void)state;
    testalloc_init(&ta);
    mk_buf_init(&text, &mk_alloc_default);
    mk_buf_init(&packed, &mk_alloc_default);
    mk_buf_init(&out, &mk_alloc_default);
    put_lines(&text, 600000);
    memset(mk_buf_room(&text, 900000), 'L', 900000);
    text.n += 900000;
    mk_buf_c(&text, '\n');
    put_lines(&text, text.n + 300000);
    mk_buf_z(&text, "end");
    for (packing how = PLAIN; how < PACKINGS; how++) {
        bool more, lf = true;
        mk_buf_clear(&packed);
        mk_buf_clear(&out);
        put_packed(&packed, mk_buf_view(&text), how);
        mk_instream *in = open_bytes(&ta.hook, mk_buf_view(&packed), 60000);
        for (;;) {
            mk_str line;
            assert_int_equal(mk_instream_line(in, 1000000, false, &line, &more, &lf, NULL), MK_OK);
            if (!more)
                break;
            mk_buf_str(&out, line);
            if (lf)
                mk_buf_c(&out, '\n');
        }
        assert_true(mk_str_eq(mk_buf_view(&out), mk_buf_view(&text)));
        mk_instream_close(in);
    }
    mk_buf_free(&text);
    mk_buf_free(&packed);
    mk_buf_free(&out);
    assert_true(testalloc_is_clean(&ta));
    testalloc_free(&ta);
}

static void test_instream__lines_over_the_limit_are_refused(void **state)
{
    mk_str line;
    bool more, lf;
    mk_err err;

    (void)state;
    for (size_t step = 0; step < 3; step++) {
        mk_instream *in =
            open_bytes(&mk_alloc_default, MK_STR("12345\n1234\r\n12345\r\n123456\n"), step);
        assert_int_equal(mk_instream_line(in, 5, true, &line, &more, &lf, NULL), MK_OK);
        assert_int_equal(mk_instream_line(in, 5, true, &line, &more, &lf, NULL), MK_OK);
        assert_int_equal(line.n, 4);
        assert_int_equal(mk_instream_line(in, 5, true, &line, &more, &lf, NULL), MK_OK);
        assert_int_equal(line.n, 5);
        assert_int_equal(mk_instream_line(in, 5, true, &line, &more, &lf, &err), MK_E_LIMIT);
        assert_non_null(strstr(err.message, "line 4"));
        mk_instream_close(in);
    }
}

/* A line without end must be refused long before it is in memory. */
static void test_instream__an_endless_line_is_given_up_early(void **state)
{
    testalloc ta;
    mk_buf text;
    mk_str line;
    bool more, lf;

    (void)state;
    testalloc_init(&ta);
    mk_buf_init(&text, &mk_alloc_default);
    memset(mk_buf_room(&text, 8 << 20), 'x', 8 << 20);
    text.n = 8 << 20;
    mk_instream *in = open_bytes(&ta.hook, mk_buf_view(&text), 0);
    assert_int_equal(mk_instream_line(in, 1000, true, &line, &more, &lf, NULL), MK_E_LIMIT);
    mk_instream_close(in);
    assert_true(ta.peak_bytes < 1 << 20);
    testalloc_free(&ta);
    mk_buf_free(&text);
}

static void test_instream__bytes_and_lines_can_be_mixed(void **state)
{
    mk_instream *in = open_bytes(&mk_alloc_default, MK_STR("head\nbody"), 0);
    char room[10];
    size_t got;

    (void)state;
    next_line(in, "head", true);
    assert_int_equal(mk_instream_read(in, room, 3, &got, NULL), MK_OK);
    assert_int_equal(got, 3);
    assert_memory_equal(room, "bod", 3);
    next_line(in, "y", false);
    mk_instream_close(in);
}

/* ---- files ---- */

static void test_instream__files_of_every_packing_are_read(void **state)
{
    for (packing how = PLAIN; how < PACKINGS; how++) {
        char path[TMPDIR_PATH_MAX];
        mk_instream *in = NULL;
        mk_buf packed;
        mk_buf_init(&packed, &mk_alloc_default);
        put_packed(&packed, MK_STR("one\ntwo"), how);
        tmpdir_put(*state, "f", packed.p, packed.n);
        assert_int_equal(
            mk_instream_open(&mk_alloc_default, tmpdir_join(*state, "f", path), &in, NULL), MK_OK);
        assert_int_equal(mk_instream_total_bytes(in), packed.n);
        next_line(in, "one", true);
        next_line(in, "two", false);
        no_line(in);
        mk_instream_close(in);
        mk_buf_free(&packed);
    }
}

static void test_instream__a_dash_is_standard_input(void **state)
{
    mk_instream *in = NULL;
    int ends[2];

    (void)state;
    const int saved = dup(STDIN_FILENO);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "from a pipe\n", 12), 12);
    close(ends[1]);
    assert_int_equal(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
    close(ends[0]);
    assert_int_equal(mk_instream_open(&mk_alloc_default, "-", &in, NULL), MK_OK);
    assert_int_equal(mk_instream_total_bytes(in), 0);
    next_line(in, "from a pipe", true);
    no_line(in);
    mk_instream_close(in);
    assert_true(dup2(saved, STDIN_FILENO) >= 0); /* close left descriptor 0 alone */
    close(saved);
}

static void test_instream__files_that_cannot_be_read_are_typed_errors(void **state)
{
    tmpdir *dir = *state;
    char path[TMPDIR_PATH_MAX];
    mk_instream *in = NULL;
    mk_err err;

    assert_int_equal(mk_instream_open(&mk_alloc_default, tmpdir_join(dir, "no", path), &in, &err),
                     MK_E_NOT_FOUND);
    assert_string_equal(err.reason, "missing");
    assert_non_null(strstr(err.message, "/no"));
    assert_int_equal(mk_instream_open(&mk_alloc_default, dir->path, &in, &err), MK_E_STATE);
    assert_string_equal(err.reason, "io");
    assert_null(in);
}

static void test_instream__running_out_of_memory_leaks_nothing(void **state)
{
    mk_buf text, packed, out;

    (void)state;
    mk_buf_init(&text, &mk_alloc_default);
    mk_buf_init(&packed, &mk_alloc_default);
    mk_buf_init(&out, &mk_alloc_default);
    memset(mk_buf_room(&text, 400000), 'L', 400000); /* one line that makes the buffer grow */
    text.n = 400000;
    put_gzip(&packed, mk_buf_view(&text));
    for (uint64_t n = 1;; n++) {
        testalloc ta;
        mk_instream *in = NULL;
        mk_str line;
        bool more, lf;
        testalloc_init(&ta);
        testalloc_fail(&ta, n, false);
        mk_code rc = mk_instream__open_memory(&ta.hook, mk_buf_view(&packed), 0, &in, NULL);
        if (rc == MK_OK)
            rc = mk_instream_line(in, 1000000, false, &line, &more, &lf, NULL);
        mk_instream_close(in);
        assert_true(testalloc_is_clean(&ta));
        const bool failed = ta.failures > 0;
        testalloc_free(&ta);
        assert_int_equal(rc, failed ? MK_E_NOMEM : MK_OK);
        if (!failed) {
            assert_true(n > 5);
            break;
        }
    }
    mk_buf_free(&text);
    mk_buf_free(&packed);
    mk_buf_free(&out);
}

#define IN_TMPDIR(test) cmocka_unit_test_setup_teardown(test, tmpdir_setup, tmpdir_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_instream__every_packing_gives_the_same_bytes),
        cmocka_unit_test(test_instream__members_and_frames_in_a_row_are_one),
        cmocka_unit_test(test_instream__zstd_may_start_with_a_skippable_frame),
        cmocka_unit_test(test_instream__zeros_behind_gzip_are_padding),
        cmocka_unit_test(test_instream__a_cut_stream_is_an_error_at_every_length),
        cmocka_unit_test(test_instream__damage_is_an_error_with_an_offset_after_the_good_bytes),
        cmocka_unit_test(test_instream__a_wrong_gzip_checksum_is_an_error),
        cmocka_unit_test(test_instream__a_huge_zstd_window_is_refused),
        cmocka_unit_test(test_instream__a_bomb_needs_no_memory),
        cmocka_unit_test(test_instream__lines_end_at_lf_and_may_lose_a_cr),
        cmocka_unit_test(test_instream__a_cr_is_kept_when_asked),
        cmocka_unit_test(test_instream__nothing_is_no_line),
        cmocka_unit_test(test_instream__lines_put_together_are_the_text),
        cmocka_unit_test(test_instream__lines_over_the_limit_are_refused),
        cmocka_unit_test(test_instream__an_endless_line_is_given_up_early),
        cmocka_unit_test(test_instream__bytes_and_lines_can_be_mixed),
        IN_TMPDIR(test_instream__files_of_every_packing_are_read),
        cmocka_unit_test(test_instream__a_dash_is_standard_input),
        IN_TMPDIR(test_instream__files_that_cannot_be_read_are_typed_errors),
        cmocka_unit_test(test_instream__running_out_of_memory_leaks_nothing),
    };

    return cmocka_run_group_tests_name("instream", tests, NULL, NULL);
}

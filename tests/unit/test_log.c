/* test_log.c — the log on real files: round trips, every kind of end, every kind of damage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/sha256.h"
#include "store/log_frame.h"
#include "../support/tmpdir.h"

static const mk_alloc *const alloc = &mk_alloc_default;

/* Real files, but nothing here loses power: waiting for the disk at every append would only take time.
 * Syncs are the business of tests/fault/test_log_faults.c. */
static mk_code sync_nothing(void *ctx, mk_file *file, mk_err *err)
{
    (void)ctx, (void)file, (void)err;
    return MK_OK;
}

static mk_code sync_no_dir(void *ctx, const char *path, mk_err *err)
{
    (void)ctx, (void)path, (void)err;
    return MK_OK;
}

/* Reserving is part of the round trip below; in the others 16 MiB of blocks would be taken and given
 * back each time. */
static mk_code reserve_little(void *ctx, mk_file *file, uint64_t at, uint64_t n, mk_err *err)
{
    return mk_fs_posix.reserve(ctx, file, at, n < 65536 ? n : 65536, err);
}

static mk_fs quick_fs(void)
{
    mk_fs quick = mk_fs_posix;
    quick.sync = sync_nothing;
    quick.sync_dir = sync_no_dir;
    quick.reserve = reserve_little;
    return quick;
}

static mk_fs fs_table;
static const mk_fs *const fs = &fs_table;

/* ---- helpers ---- */

/* A record line that says its tt, padded to about `size` bytes; the caller frees it. With `noise` it
 * cannot be compressed well. */
static mk_str make_line(int64_t tt, size_t size, bool noise)
{
    char *p = malloc(size + 128);
    uint64_t x = (uint64_t)tt * 0x9E3779B97F4A7C15u + 1;
    assert_non_null(p);
    size_t n = (size_t)sprintf(p, "{\"batch_id\":\"0123456789abcdef\",\"ops\":[\"");
    while (n < size) {
        x = mk_mix64(x + 0x9E3779B97F4A7C15u);
        p[n++] = noise ? (char)(' ' + 3 + x % 90) : 'x';
        if (p[n - 1] == '\\' || p[n - 1] == '"')
            p[n - 1] = '.';
    }
    n += (size_t)sprintf(p + n, "\"],\"tt\":%lld}\n", (long long)tt);
    return (mk_str){p, n};
}

static void append_line(mk_log_writer *writer, int64_t tt, size_t size, bool noise)
{
    mk_err err = {.offset = -1};
    mk_str line = make_line(tt, size, noise);
    mk_log_pos at, end = *mk_log_writer_end(writer);
    const mk_code rc =
        mk_log_append(writer, MK_FRAME_BATCH, line, 1, (mk_tt){tt}, (mk_tt){tt}, &at, &err);
    if (rc != MK_OK)
        print_error("append: %s\n", err.message);
    assert_int_equal(rc, MK_OK);
    assert_int_equal(at.frames, end.frames);
    free((char *)line.p);
}

typedef struct reading {
    mk_code rc;
    mk_err err;
    mk_log_end end;
    mk_log_pos pos;     /* after the last good frame */
    mk_log_pos last;    /* of the last good frame */
    uint64_t frames;
    uint64_t compressed;
    uint64_t text_hash; /* of all lines */
} reading;

static reading read_from(const char *dir, mk_log_pos from, const mk_log_pos *until)
{
    reading r = {.pos = from, .err = {.offset = -1}};
    mk_log_reader *reader = NULL;
    mk_frame frame;

    r.rc = mk_log_reader_open(alloc, fs, dir, &from, &reader, &r.err);
    while (r.rc == MK_OK) {
        r.rc = mk_log_read(reader, until, &frame, &r.end, &r.err);
        if (r.rc != MK_OK || r.end != MK_LOG_MORE)
            break;
        assert_int_equal(frame.pos.frames, r.pos.frames);
        assert_memory_equal(frame.pos.chain, r.pos.chain, 32);
        r.frames++;
        r.compressed += frame.stored_size < frame.lines.n;
        r.last = frame.pos;
        r.pos = frame.next;
        r.text_hash = mk_hash64(frame.lines.p, frame.lines.n, r.text_hash);
    }
    mk_log_reader_close(reader);
    return r;
}

static reading read_log(const char *dir)
{
    return read_from(dir, mk_log_start(), NULL);
}

static mk_log_writer *open_writer(const char *dir)
{
    const reading r = read_log(dir);
    mk_log_writer *writer = NULL;
    mk_err err = {.offset = -1};

    assert_int_equal(r.rc, MK_OK);
    const mk_code rc = mk_log_writer_open(alloc, fs, dir, &r.pos, &writer, &err);
    if (rc != MK_OK)
        print_error("open: %s\n", err.message);
    assert_int_equal(rc, MK_OK);
    return writer;
}

static void file_name(const tmpdir *dir, uint32_t number, char out[TMPDIR_PATH_MAX])
{
    char name[32];
    sprintf(name, "log/%08u.mlog", (unsigned)number);
    tmpdir_join(dir, name, out);
}

static uint8_t *slurp(const char *path, size_t *size)
{
    struct stat st;
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fstat(fileno(f), &st), 0);
    *size = (size_t)st.st_size;
    uint8_t *p = malloc(*size + 1);
    assert_non_null(p);
    assert_int_equal(fread(p, 1, *size, f), *size);
    fclose(f);
    return p;
}

static void dump(const char *path, const void *p, size_t size)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(p, 1, size, f), size);
    fclose(f);
}

static void poke(const char *path, uint64_t at, const void *p, size_t n)
{
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    assert_int_equal(fseek(f, (long)at, SEEK_SET), 0);
    assert_int_equal(fwrite(p, 1, n, f), n);
    fclose(f);
}

static void flip(const char *path, uint64_t at)
{
    uint8_t c;
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fseek(f, (long)at, SEEK_SET), 0);
    assert_int_equal(fread(&c, 1, 1, f), 1);
    fclose(f);
    c ^= (uint8_t)(1u << at % 8);
    poke(path, at, &c, 1);
}

static void fix_checksum(uint8_t header[128])
{
    const uint64_t sum = mk_checksum64(header, 120);
    for (int i = 0; i < 8; i++)
        header[120 + i] = (uint8_t)(sum >> 8 * i);
}

/* A log of `count` small frames in one file, cut to its used size, with head removed. */
static void make_log(const tmpdir *dir, int count, mk_log_pos *pos /* count + 1 */)
{
    char path[TMPDIR_PATH_MAX];
    mk_log_writer *writer = open_writer(dir->path);

    pos[0] = *mk_log_writer_end(writer);
    for (int i = 0; i < count; i++) {
        append_line(writer, 100 * (i + 1), 50, false);
        pos[i + 1] = *mk_log_writer_end(writer);
    }
    mk_log_writer_close(writer);
    file_name(dir, pos[count].file, path);
    assert_int_equal(truncate(path, (off_t)pos[count].offset), 0);
    unlink(tmpdir_join(dir, "head", path));
}

static void assert_damaged(const reading *r, uint64_t offset)
{
    assert_int_equal(r->rc, MK_E_STATE);
    assert_string_equal(r->err.reason, "damaged");
    assert_int_equal(r->err.offset, offset);
    assert_non_null(strstr(r->err.hint, "merkhet log verify"));
    assert_non_null(strstr(r->err.message, ".mlog"));
}

/* ---- round trips ---- */

static void test_log__missing_folder_is_an_empty_log(void **state)
{
    const tmpdir *dir = *state;
    const reading r = read_log(dir->path);

    assert_int_equal(r.rc, MK_OK);
    assert_int_equal(r.end, MK_LOG_DONE);
    assert_int_equal(r.frames, 0);
}

static void test_log__lines_come_back_as_written(void **state)
{
    const tmpdir *dir = *state;
    fs_table = mk_fs_posix; /* nothing left out in this one */
    static const size_t sizes[] = {0, 1, 60, 61, 62, 63, 64, 500, 65400, 65600, 300000, 3000000};
    mk_log_writer *writer = open_writer(dir->path);
    uint64_t hash = 0;
    int64_t tt = 1000;

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (int noise = 0; noise < 2; noise++, tt++) {
            const mk_str line = make_line(tt, sizes[i], noise);
            append_line(writer, tt, sizes[i], noise);
            hash = mk_hash64(line.p, line.n, hash);
            free((char *)line.p);
        }
    }
    const mk_log_pos end = *mk_log_writer_end(writer);
    mk_log_writer_close(writer);

    const reading r = read_log(dir->path);
    assert_int_equal(r.rc, MK_OK);
    assert_int_equal(r.end, MK_LOG_DONE);
    assert_int_equal(r.frames, 24);
    assert_true(r.compressed >= 3);
    assert_true(r.text_hash == hash);
    assert_memory_equal(&r.pos, &end, sizeof end);
    fs_table = quick_fs();
}

static void test_log__several_records_share_a_frame_and_a_seal_keeps_the_tt(void **state)
{
    const tmpdir *dir = *state;
    mk_log_writer *writer = open_writer(dir->path);
    mk_log_reader *reader;
    const mk_log_pos start = mk_log_start();
    mk_frame frame;
    mk_log_end end;

    assert_int_equal(mk_log_append(writer, MK_FRAME_BATCH, MK_STR("a\nb\nc\n"), 3, (mk_tt){5},
                                   (mk_tt){9}, NULL, NULL), MK_OK);
    assert_int_equal(mk_log_append(writer, MK_FRAME_SEAL, MK_STR("s\n"), 1, (mk_tt){9}, (mk_tt){9},
                                   NULL, NULL), MK_OK);
    assert_int_equal(mk_log_append(writer, MK_FRAME_BATCH, MK_STR("d\n"), 1, (mk_tt){10}, (mk_tt){10},
                                   NULL, NULL), MK_OK);
    mk_log_writer_close(writer);

    assert_int_equal(mk_log_reader_open(alloc, fs, dir->path, &start, &reader, NULL), MK_OK);
    assert_int_equal(mk_log_read(reader, NULL, &frame, &end, NULL), MK_OK);
    assert_int_equal(frame.records, 3);
    assert_true(mk_str_eq(frame.lines, MK_STR("a\nb\nc\n")));
    assert_int_equal(frame.tt_first.us, 5);
    assert_int_equal(frame.tt_last.us, 9);
    assert_int_equal(mk_log_read(reader, NULL, &frame, &end, NULL), MK_OK);
    assert_int_equal(frame.kind, MK_FRAME_SEAL);
    assert_int_equal(mk_log_read(reader, NULL, &frame, &end, NULL), MK_OK);
    assert_int_equal(frame.next.tt.us, 10);
    mk_log_reader_close(reader);
}

static void test_log__our_own_mistakes_do_not_reach_the_disk(void **state)
{
    const tmpdir *dir = *state;
    mk_log_writer *writer = open_writer(dir->path);
    append_line(writer, 10, 10, false);
    const mk_log_pos end = *mk_log_writer_end(writer);
    const struct { mk_str lines; uint32_t records; int64_t first, last; } bad[] = {
        {MK_STR("a\n"), 1, 10, 10}, {MK_STR("a\n"), 1, 9, 9},   {MK_STR("a\n"), 1, 11, 12},
        {MK_STR("a"), 1, 11, 11},   {MK_STR("a\n"), 2, 11, 12}, {MK_STR("a\nb\n"), 1, 11, 11},
        {MK_STR(""), 0, 11, 11},    {MK_STR("a\n"), 0, 11, 11}, {MK_STR("a\nb\nc\n"), 3, 11, 12},
        {MK_STR("a\nb\n"), 2, 12, 11},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(mk_log_append(writer, MK_FRAME_BATCH, bad[i].lines, bad[i].records,
                                       (mk_tt){bad[i].first}, (mk_tt){bad[i].last}, NULL, NULL),
                         MK_E_INTERNAL);
    assert_memory_equal(&end, mk_log_writer_end(writer), sizeof end);
    append_line(writer, 11, 10, false);
    mk_log_writer_close(writer);
    assert_int_equal(read_log(dir->path).frames, 2);
}

static void test_log__a_record_over_the_limit_is_refused(void **state)
{
    const tmpdir *dir = *state;
    mk_log_writer *writer = open_writer(dir->path);
    mk_err err = {.offset = -1};
    /* The size alone decides; the bytes are not looked at. */
    const mk_str huge = {"\n", (size_t)MK_LOG_RAW_MAX + 1};
    assert_int_equal(mk_log_append(writer, MK_FRAME_BATCH, huge, 1, (mk_tt){1}, (mk_tt){1}, NULL, &err),
                     MK_E_LIMIT);
    append_line(writer, 1, 10, false);
    mk_log_writer_close(writer);
}

static void test_log__continues_after_reopening(void **state)
{
    const tmpdir *dir = *state;
    uint8_t chain[2][32];
    tmpdir other;
    tmpdir_make(&other);

    for (int reopen = 0; reopen < 2; reopen++) {
        const char *path = reopen ? dir->path : other.path;
        mk_log_writer *writer = open_writer(path);
        for (int64_t tt = 1; tt <= 200; tt++) {
            append_line(writer, tt, (size_t)tt * 7, tt % 2);
            if (reopen && tt % 10 == 0) {
                mk_log_writer_close(writer);
                writer = open_writer(path);
            }
        }
        memcpy(chain[reopen], mk_log_writer_end(writer)->chain, 32);
        assert_int_equal(mk_log_writer_end(writer)->file, 1);
        mk_log_writer_close(writer);
    }
    assert_memory_equal(chain[0], chain[1], 32); /* the chain tells the history, not the sessions */
    assert_int_equal(read_log(dir->path).frames, 200);
    tmpdir_remove(&other);
}

static void test_log__reading_can_start_at_any_frame_and_end_at_any(void **state)
{
    const tmpdir *dir = *state;
    mk_log_pos pos[31];
    mk_log_writer *writer = open_writer(dir->path);

    mk_log__writer_set_file_max(writer, 1000);
    pos[0] = *mk_log_writer_end(writer);
    for (int i = 0; i < 30; i++) {
        append_line(writer, i + 1, 100, false);
        pos[i + 1] = *mk_log_writer_end(writer);
    }
    mk_log_writer_close(writer);
    assert_true(pos[30].file > 4);
    for (int i = 0; i <= 30; i++) {
        for (int k = 0; k <= 30; k += 3) {
            const reading r = read_from(dir->path, pos[i], &pos[k]);
            assert_int_equal(r.rc, MK_OK);
            assert_int_equal(r.end, MK_LOG_DONE);
            assert_int_equal(r.frames, k > i ? k - i : 0);
        }
    }
}

static void test_log__many_files_read_as_one_log(void **state)
{
    const tmpdir *dir = *state;
    char path[TMPDIR_PATH_MAX];
    mk_log_writer *writer = open_writer(dir->path);

    for (int64_t tt = 1; tt <= 500; tt++) {
        mk_log__writer_set_file_max(writer, 20000);
        append_line(writer, tt, 200, false);
        if (tt % 99 == 0) {
            mk_log_writer_close(writer);
            writer = open_writer(dir->path);
        }
    }
    const mk_log_pos end = *mk_log_writer_end(writer);
    mk_log_writer_close(writer);
    reading r = read_log(dir->path);
    assert_int_equal(r.rc, MK_OK);
    assert_int_equal(r.frames, 500);
    assert_true(end.file > 5);
    assert_memory_equal(&end, &r.pos, sizeof end);

    /* No file may be missing from the middle or the front. */
    char moved[TMPDIR_PATH_MAX];
    tmpdir_join(dir, "moved", moved);
    for (uint32_t number = 1; number < end.file; number++) {
        file_name(dir, number, path);
        assert_int_equal(rename(path, moved), 0);
        r = read_log(dir->path);
        assert_int_equal(r.rc, MK_E_STATE);
        assert_string_equal(r.err.reason, "damaged");
        assert_non_null(strstr(r.err.message, "missing"));
        assert_int_equal(rename(moved, path), 0);
    }
    /* Nor may two change places. */
    char first[TMPDIR_PATH_MAX], second[TMPDIR_PATH_MAX];
    file_name(dir, 2, first);
    file_name(dir, 3, second);
    rename(first, moved), rename(second, first), rename(moved, second);
    r = read_log(dir->path);
    assert_damaged(&r, 0);
}

static void test_log__reader_follows_a_writer_over_files(void **state)
{
    const tmpdir *dir = *state;
    const mk_log_pos start = mk_log_start();
    mk_log_writer *writer = open_writer(dir->path);
    mk_log_reader *reader;
    mk_log_pos head;
    mk_frame frame;
    mk_log_end end;
    bool found;

    mk_log__writer_set_file_max(writer, 2000);
    assert_int_equal(mk_log_reader_open(alloc, fs, dir->path, &start, &reader, NULL), MK_OK);
    for (int64_t tt = 1; tt <= 100; tt++) {
        append_line(writer, tt, tt % 20 == 0 ? 70000 : 80, true);
        if (tt % 3 != 0) {
            /* Looking at the end must not spoil what is read there later. */
            assert_int_equal(mk_log_head_read(fs, dir->path, &head, &found, NULL), MK_OK);
            assert_true(found);
            assert_int_equal(head.frames, tt);
            do
                assert_int_equal(mk_log_read(reader, tt % 2 ? &head : NULL, &frame, &end, NULL), MK_OK);
            while (end == MK_LOG_MORE);
            assert_int_equal(end, MK_LOG_DONE);
            assert_int_equal(mk_log__reader_pos(reader)->frames, tt);
        }
    }
    mk_log_reader_close(reader);
    mk_log_writer_close(writer);
}

static void test_log__a_checkpoint_position_is_checked_against_the_log(void **state)
{
    const tmpdir *dir = *state;
    char path[TMPDIR_PATH_MAX];
    mk_log_pos pos[6], wrong;
    mk_err err = {.offset = -1};

    make_log(dir, 5, pos);
    assert_int_equal(mk_log_pos_check(alloc, fs, dir->path, &pos[0], &pos[0], NULL), MK_OK);
    for (int i = 1; i <= 5; i++) {
        assert_int_equal(mk_log_pos_check(alloc, fs, dir->path, &pos[i], &pos[i - 1], NULL), MK_OK);
        wrong = pos[i];
        wrong.chain[7] ^= 1;
        assert_int_equal(mk_log_pos_check(alloc, fs, dir->path, &wrong, &pos[i - 1], &err), MK_E_STATE);
        assert_string_equal(err.reason, "log_mismatch");
        wrong = pos[i];
        wrong.offset += 8;
        assert_int_equal(mk_log_pos_check(alloc, fs, dir->path, &wrong, &pos[i - 1], NULL), MK_E_STATE);
        wrong = pos[i];
        wrong.frames++;
        assert_int_equal(mk_log_pos_check(alloc, fs, dir->path, &wrong, &pos[i - 1], NULL), MK_E_STATE);
    }
    /* A log shorter than its checkpoint refuses. */
    file_name(dir, 1, path);
    assert_int_equal(truncate(path, (off_t)pos[4].offset), 0);
    assert_int_equal(mk_log_pos_check(alloc, fs, dir->path, &pos[5], &pos[4], NULL), MK_E_STATE);
    unlink(path);
    assert_int_equal(mk_log_pos_check(alloc, fs, dir->path, &pos[5], &pos[4], NULL), MK_E_STATE);
}

/* ---- the end ---- */

static void test_log__cut_at_any_byte_of_the_last_frame_loses_only_that_frame(void **state)
{
    const tmpdir *dir = *state;
    char path[TMPDIR_PATH_MAX], head[TMPDIR_PATH_MAX];
    mk_log_pos pos[4];
    size_t size;

    make_log(dir, 3, pos);
    file_name(dir, 1, path);
    tmpdir_join(dir, "head", head);
    uint8_t *bytes = slurp(path, &size);
    for (uint64_t cut = pos[2].offset; cut < size; cut++) {
        for (int zeros = 0; zeros < 2; zeros++) { /* the rest missing, or reserved and never written */
            dump(path, bytes, (size_t)cut);
            if (zeros)
                assert_int_equal(truncate(path, (off_t)size + 4096), 0);
            unlink(head);
            reading r = read_log(dir->path);
            assert_int_equal(r.rc, MK_OK);
            /* Zeros in place of zeros: the frame's own padding, or the zero bytes at its end. */
            if (zeros && mk_log__all_zero(bytes + cut, size - cut)) {
                assert_int_equal(r.frames, 3);
                continue;
            }
            assert_int_equal(r.end, cut == pos[2].offset ? MK_LOG_DONE : MK_LOG_TORN);
            assert_memory_equal(&r.pos, &pos[2], sizeof r.pos);

            mk_log_writer *writer = open_writer(dir->path);
            append_line(writer, 250, 20, false);
            append_line(writer, 260, 20, false);
            mk_log_writer_close(writer);
            r = read_log(dir->path);
            assert_int_equal(r.rc, MK_OK);
            assert_int_equal(r.end, MK_LOG_DONE);
            assert_int_equal(r.frames, 4);
        }
    }
    free(bytes);
}

static void test_log__a_flipped_bit_is_damage_in_the_middle_and_torn_at_the_end(void **state)
{
    const tmpdir *dir = *state;
    char path[TMPDIR_PATH_MAX];
    mk_log_pos pos[4];

    make_log(dir, 3, pos);
    file_name(dir, 1, path);
    for (int frame = 0; frame < 3; frame++) {
        for (uint64_t at = pos[frame].offset; at < pos[frame + 1].offset; at++) {
            flip(path, at);
            const reading r = read_log(dir->path);
            if (frame < 2) {
                assert_damaged(&r, pos[frame].offset);
                assert_int_equal(r.frames, frame);
            } else {
                assert_int_equal(r.rc, MK_OK);
                assert_int_equal(r.end, MK_LOG_TORN);
                assert_memory_equal(&r.pos, &pos[2], sizeof r.pos);
            }
            flip(path, at);
        }
    }
    assert_int_equal(read_log(dir->path).frames, 3);
    for (uint64_t at = 0; at < MK_LOG_HEADER_SIZE; at++) {
        flip(path, at);
        const reading r = read_log(dir->path);
        assert_damaged(&r, 0);
        flip(path, at);
    }
}

static void test_log__the_last_frame_of_a_file_with_a_successor_is_never_torn(void **state)
{
    const tmpdir *dir = *state;
    char path[TMPDIR_PATH_MAX];
    mk_log_writer *writer = open_writer(dir->path);
    mk_log_pos last;

    append_line(writer, 1, 30, false);
    last = *mk_log_writer_end(writer);
    append_line(writer, 2, 30, false);
    mk_log__writer_set_file_max(writer, 0);
    append_line(writer, 3, 30, false);
    mk_log_writer_close(writer);
    /* Even when the successor's own frame is gone. */
    file_name(dir, 2, path);
    assert_int_equal(truncate(path, MK_LOG_HEADER_SIZE), 0);
    file_name(dir, 1, path);
    flip(path, last.offset + 130);
    const reading r = read_log(dir->path);
    assert_damaged(&r, last.offset);
}

static void test_log__rubbish_behind_the_end_is_torn_and_a_zeroed_header_is_seen(void **state)
{
    const tmpdir *dir = *state;
    static const uint8_t zeros[512];
    char path[TMPDIR_PATH_MAX];
    mk_log_pos pos[4];

    make_log(dir, 3, pos);
    file_name(dir, 1, path);
    /* A lost sector in the middle must not look like the end of the log. */
    size_t size;
    uint8_t *bytes = slurp(path, &size);
    poke(path, pos[1].offset, zeros, (size_t)(pos[2].offset - pos[1].offset));
    reading r = read_log(dir->path);
    assert_damaged(&r, pos[1].offset);
    dump(path, bytes, size);

    assert_int_equal(truncate(path, 1 << 20), 0);
    poke(path, 700000, "?", 1);
    r = read_log(dir->path);
    assert_int_equal(r.rc, MK_OK);
    assert_int_equal(r.end, MK_LOG_TORN);
    assert_int_equal(r.frames, 3);
    free(bytes);
}

/* ---- other formats ---- */

static void test_log__newer_formats_are_refused_untouched(void **state)
{
    const tmpdir *dir = *state;
    static const struct { size_t at; uint8_t value; } changes[] = {
        {4, 2}, {6, 3}, {7, 2}, {13, 1}, {112, 1},
    };
    char path[TMPDIR_PATH_MAX];
    mk_log_pos pos[4];
    size_t size;

    make_log(dir, 3, pos);
    file_name(dir, 1, path);
    uint8_t *bytes = slurp(path, &size);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        for (int frame = 0; frame < 3; frame++) {
            uint8_t header[128];
            memcpy(header, bytes + pos[frame].offset, sizeof header);
            header[changes[i].at] = changes[i].value;
            fix_checksum(header);
            poke(path, pos[frame].offset, header, sizeof header);
            const reading r = read_log(dir->path);
            assert_int_equal(r.rc, MK_E_STATE);
            assert_string_equal(r.err.reason, "newer_format");
            assert_int_equal(r.err.offset, pos[frame].offset);
            assert_non_null(strstr(r.err.hint, "newer merkhet"));
            dump(path, bytes, size);
        }
    }
    uint8_t header[128];
    memcpy(header, bytes, sizeof header);
    header[4] = 2;
    fix_checksum(header);
    poke(path, 0, header, sizeof header);
    reading r = read_log(dir->path);
    assert_string_equal(r.err.reason, "newer_format");

    /* A newer frame behind a damaged one keeps that one from being cut. */
    dump(path, bytes, size);
    memcpy(header, bytes + pos[2].offset, sizeof header);
    header[4] = 9;
    fix_checksum(header);
    poke(path, pos[2].offset, header, sizeof header);
    flip(path, pos[1].offset + 20);
    r = read_log(dir->path);
    assert_damaged(&r, pos[1].offset);
    free(bytes);
}

static void test_log__impossible_sizes_allocate_nothing(void **state)
{
    const tmpdir *dir = *state;
    static const uint64_t sizes[] = {0, MK_LOG_RAW_MAX, MK_LOG_RAW_MAX + 1, UINT64_MAX, UINT64_MAX - 127,
                                     INT64_MAX};
    char path[TMPDIR_PATH_MAX];
    mk_log_pos pos[2];
    size_t size;

    make_log(dir, 1, pos);
    file_name(dir, 1, path);
    uint8_t *bytes = slurp(path, &size);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            uint8_t header[128];
            memcpy(header, bytes + pos[0].offset, sizeof header);
            for (int b = 0; b < 8; b++) {
                header[16 + b] = (uint8_t)(sizes[i] >> 8 * b);
                header[24 + b] = (uint8_t)(sizes[k] >> 8 * b);
            }
            header[7] = (uint8_t)(k % 2);
            fix_checksum(header);
            poke(path, pos[0].offset, header, sizeof header);
            const reading r = read_log(dir->path);
            assert_int_equal(r.rc, MK_OK);
            assert_int_equal(r.end, MK_LOG_TORN);
        }
    }
    free(bytes);
}

static void test_log__a_file_of_another_log_is_refused(void **state)
{
    const tmpdir *dir = *state;
    tmpdir other;
    char path[TMPDIR_PATH_MAX], foreign[TMPDIR_PATH_MAX];
    size_t size;

    tmpdir_make(&other);
    for (int k = 0; k < 2; k++) {
        mk_log_writer *writer = open_writer(k ? other.path : dir->path);
        mk_log__writer_set_file_max(writer, 0);
        for (int64_t tt = 1; tt <= 3; tt++)
            append_line(writer, tt * 10 + k, 30, false);
        mk_log_writer_close(writer);
    }
    file_name(dir, 2, path);
    file_name(&other, 2, foreign);
    uint8_t *bytes = slurp(foreign, &size);
    dump(path, bytes, size);
    const reading r = read_log(dir->path);
    assert_damaged(&r, 0);
    free(bytes);
    tmpdir_remove(&other);
}

/* A file that is no log at all under the name of one. */
static void test_log__a_foreign_file_is_refused(void **state)
{
    const tmpdir *dir = *state;
    char path[TMPDIR_PATH_MAX];
    mk_log_pos pos[2];

    make_log(dir, 1, pos);
    file_name(dir, 1, path);
    dump(path, "{\"format\":\"tgms-eventlog\",\"version\":1}\n", 39);
    reading r = read_log(dir->path);
    assert_damaged(&r, 0);
    dump(path, "", 0);
    r = read_log(dir->path);
    assert_damaged(&r, 0);
}

/* ---- head ---- */

static void test_log__head_survives_the_loss_of_either_slot(void **state)
{
    const tmpdir *dir = *state;
    char path[TMPDIR_PATH_MAX];
    mk_log_pos head;
    bool found;
    mk_log_writer *writer = open_writer(dir->path);

    append_line(writer, 1, 30, false);
    append_line(writer, 2, 30, false);
    mk_log_writer_close(writer);
    tmpdir_join(dir, "head", path);
    uint64_t seen = 0;
    for (uint64_t slot = 0; slot < 2; slot++) {
        for (uint64_t at = 0; at < 128; at++) {
            flip(path, slot * MK_LOG_HEAD_STRIDE + at);
            assert_int_equal(mk_log_head_read(fs, dir->path, &head, &found, NULL), MK_OK);
            assert_true(found);
            assert_true(head.frames == 1 || head.frames == 2);
            seen |= head.frames;
            flip(path, slot * MK_LOG_HEAD_STRIDE + at);
        }
    }
    assert_int_equal(seen, 3);
    flip(path, 5);
    flip(path, MK_LOG_HEAD_STRIDE + 5);
    assert_int_equal(mk_log_head_read(fs, dir->path, &head, &found, NULL), MK_OK);
    assert_false(found);
    writer = open_writer(dir->path); /* repairs it */
    mk_log_writer_close(writer);
    assert_int_equal(mk_log_head_read(fs, dir->path, &head, &found, NULL), MK_OK);
    assert_true(found);
    assert_int_equal(head.frames, 2);
    assert_int_equal(head.file, 1);
}

static void test_log__frames_that_head_knows_cannot_vanish(void **state)
{
    const tmpdir *dir = *state;
    char path[TMPDIR_PATH_MAX];
    mk_log_writer *writer = open_writer(dir->path);
    mk_err err = {.offset = -1};
    mk_log_pos before, head;
    bool found;

    append_line(writer, 1, 30, false);
    before = *mk_log_writer_end(writer);
    append_line(writer, 2, 30, false);
    mk_log_writer_close(writer);
    file_name(dir, 1, path);
    flip(path, before.offset + 140);

    reading r = read_log(dir->path);
    assert_int_equal(r.end, MK_LOG_TORN); /* all that the log alone can say */
    assert_int_equal(mk_log_writer_open(alloc, fs, dir->path, &r.pos, &writer, &err), MK_E_STATE);
    assert_string_equal(err.reason, "damaged");
    assert_int_equal(mk_log_head_read(fs, dir->path, &head, &found, NULL), MK_OK);
    r = read_from(dir->path, mk_log_start(), &head);
    assert_damaged(&r, before.offset);
    /* The way out that the hint names. */
    unlink(tmpdir_join(dir, "head", path));
    writer = open_writer(dir->path);
    append_line(writer, 2, 30, false);
    mk_log_writer_close(writer);
    assert_int_equal(read_log(dir->path).frames, 2);
}

static void test_log__a_head_of_another_log_is_ignored(void **state)
{
    const tmpdir *dir = *state;
    tmpdir other;
    char path[TMPDIR_PATH_MAX];
    size_t size;

    tmpdir_make(&other);
    mk_log_writer *writer = open_writer(other.path);
    append_line(writer, 7, 30, false);
    append_line(writer, 8, 90, false);
    mk_log_writer_close(writer);
    uint8_t *bytes = slurp(tmpdir_join(&other, "head", path), &size);

    writer = open_writer(dir->path);
    for (int64_t tt = 1; tt <= 5; tt++) {
        append_line(writer, tt, 40, false);
        if (tt == 2 || tt == 5) { /* as many frames, and fewer */
            mk_log_writer_close(writer);
            dump(tmpdir_join(dir, "head", path), bytes, size);
            writer = open_writer(dir->path);
            assert_int_equal(mk_log_writer_end(writer)->frames, tt);
        }
    }
    append_line(writer, 6, 40, false);
    mk_log_writer_close(writer);
    assert_int_equal(read_log(dir->path).frames, 6);
    free(bytes);
    tmpdir_remove(&other);
}

/* Goal: what an opening does when head is behind the log. Method: put back an old head. */
static void test_log__frames_behind_head_move_to_a_new_file(void **state)
{
    const tmpdir *dir = *state;
    char path[TMPDIR_PATH_MAX], head_path[TMPDIR_PATH_MAX];
    mk_log_pos pos[11];
    size_t head_size, size;
    uint8_t *head = NULL;
    mk_log_writer *writer = open_writer(dir->path);
    mk_log_reader *follower;

    tmpdir_join(dir, "head", head_path);
    pos[0] = *mk_log_writer_end(writer);
    for (int i = 1; i <= 10; i++) {
        append_line(writer, i, 40 + (size_t)i, false);
        pos[i] = *mk_log_writer_end(writer);
        if (i == 6)
            head = slurp(head_path, &head_size);
    }
    mk_log_writer_close(writer);
    dump(head_path, head, head_size);
    file_name(dir, 1, path);
    uint8_t *old = slurp(path, &size);
    assert_int_equal(mk_log_reader_open(alloc, fs, dir->path, &pos[8], &follower, NULL), MK_OK);

    writer = open_writer(dir->path);
    assert_int_equal(mk_log_writer_end(writer)->file, 2);
    assert_int_equal(mk_log_writer_end(writer)->frames, 10);
    append_line(writer, 11, 40, false);
    const mk_log_pos end = *mk_log_writer_end(writer);
    mk_log_writer_close(writer);

    for (int uncut = 0; uncut < 2; uncut++) {
        /* The old file may not have been cut: readers must leave it at the same place. */
        if (uncut)
            dump(path, old, size);
        for (int i = 0; i <= 10; i++) {
            const reading r = read_from(dir->path, pos[i], NULL);
            assert_int_equal(r.rc, MK_OK);
            assert_int_equal(r.frames, 11 - i);
            assert_memory_equal(&r.pos, &end, sizeof end);
            if (i > 0)
                assert_int_equal(mk_log_pos_check(alloc, fs, dir->path, &pos[i], &pos[i - 1], NULL),
                                 MK_OK);
        }
        mk_log_pos wrong = pos[9];
        wrong.chain[0] ^= 1;
        assert_int_equal(mk_log_pos_check(alloc, fs, dir->path, &wrong, &pos[8], NULL), MK_E_STATE);
    }
    /* A reader that stood inside the moved part finds its way. */
    mk_frame frame;
    mk_log_end what;
    for (int i = 9; i <= 11; i++) {
        assert_int_equal(mk_log_read(follower, NULL, &frame, &what, NULL), MK_OK);
        assert_int_equal(what, MK_LOG_MORE);
        assert_int_equal(frame.tt_first.us, i);
    }
    assert_int_equal(mk_log_read(follower, NULL, &frame, &what, NULL), MK_OK);
    assert_int_equal(what, MK_LOG_DONE);
    mk_log_reader_close(follower);
    free(old);
    free(head);
}

/* Like the last, but head knows nothing of the last file: that one is written again in its place. */
static void test_log__a_doubtful_file_is_replaced_and_readers_notice(void **state)
{
    const tmpdir *dir = *state;
    char head_path[TMPDIR_PATH_MAX], path[TMPDIR_PATH_MAX];
    size_t head_size;
    mk_log_writer *writer = open_writer(dir->path);
    mk_log_reader *follower;
    const mk_log_pos start = mk_log_start();
    mk_frame frame;
    mk_log_end what;

    tmpdir_join(dir, "head", head_path);
    append_line(writer, 1, 40, false);
    append_line(writer, 2, 40, false);
    uint8_t *head = slurp(head_path, &head_size);
    mk_log__writer_set_file_max(writer, 0);
    append_line(writer, 3, 40, false);
    mk_log__writer_set_file_max(writer, 100000);
    append_line(writer, 4, 40, false);
    mk_log_pos end = *mk_log_writer_end(writer);
    mk_log_writer_close(writer);
    assert_int_equal(end.file, 2);
    dump(head_path, head, head_size);
    file_name(dir, 2, path);
    poke(path, end.offset, "torn", 4);

    assert_int_equal(mk_log_reader_open(alloc, fs, dir->path, &start, &follower, NULL), MK_OK);
    for (int i = 0; i < 5; i++)
        assert_int_equal(mk_log_read(follower, NULL, &frame, &what, NULL), MK_OK);
    assert_int_equal(what, MK_LOG_TORN);

    writer = open_writer(dir->path);
    assert_memory_equal(&end, mk_log_writer_end(writer), sizeof end);
    append_line(writer, 5, 40, false);
    end = *mk_log_writer_end(writer);
    mk_log_writer_close(writer);
    const reading r = read_log(dir->path);
    assert_int_equal(r.rc, MK_OK);
    assert_int_equal(r.end, MK_LOG_DONE);
    assert_memory_equal(&r.pos, &end, sizeof end);
    assert_int_equal(mk_log_read(follower, NULL, &frame, &what, NULL), MK_OK);
    assert_int_equal(what, MK_LOG_MORE);
    assert_int_equal(frame.tt_first.us, 5);
    mk_log_reader_close(follower);
    free(head);
}

/* ---- the documented example ---- */

/* docs/log-format.md shows these bytes; whoever changes the format changes both. */
static void test_log__the_example_of_the_format_document_is_what_we_write(void **state)
{
    const tmpdir *dir = *state;
    static const char expected[] =
        "4d4b4c3101000000010000000000000000000000000000000000000000000000"
        "0000000000000000e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934c"
        "a495991b7852b855000000000000000000000000000000000000000000000000"
        "0000000000000000000000000000000000000000000000000f02a00f02742294"
        "4d4b463101000100010000000000000032000000000000003200000000000000"
        "c800000000000000c800000000000000f3e2860a1f4ce1b55de0a12db988e686"
        "8fade1d74f22e0dc35a6d24d9596e6ef6b687002229e5171367814fd9ac50eaf"
        "83bcc78e51aa8b2d72cb840a53fb3fd70000000000000000b619d0f970f19080"
        "7b2262617463685f6964223a2263666166376238383638363133323338222c22"
        "6f7073223a5b5d2c227474223a3230307d0a000000000000";
    const mk_str line = MK_STR("{\"batch_id\":\"cfaf7b8868613238\",\"ops\":[],\"tt\":200}\n");
    char path[TMPDIR_PATH_MAX], hex[sizeof expected];
    size_t size;
    mk_log_writer *writer = open_writer(dir->path);

    assert_int_equal(mk_log_append(writer, MK_FRAME_BATCH, line, 1, (mk_tt){200}, (mk_tt){200}, NULL,
                                   NULL), MK_OK);
    mk_log_writer_close(writer);
    file_name(dir, 1, path);
    uint8_t *bytes = slurp(path, &size);
    mk_hex(hex, bytes, (sizeof expected - 1) / 2);
    assert_memory_equal(hex, expected, sizeof expected - 1);
    assert_true(mk_log__all_zero(bytes + (sizeof expected - 1) / 2, size - (sizeof expected - 1) / 2));
    free(bytes);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(test_log__##name, tmpdir_setup, tmpdir_teardown)
    const struct CMUnitTest tests[] = {
        T(missing_folder_is_an_empty_log),
        T(lines_come_back_as_written),
        T(several_records_share_a_frame_and_a_seal_keeps_the_tt),
        T(our_own_mistakes_do_not_reach_the_disk),
        T(a_record_over_the_limit_is_refused),
        T(continues_after_reopening),
        T(reading_can_start_at_any_frame_and_end_at_any),
        T(many_files_read_as_one_log),
        T(reader_follows_a_writer_over_files),
        T(a_checkpoint_position_is_checked_against_the_log),
        T(cut_at_any_byte_of_the_last_frame_loses_only_that_frame),
        T(a_flipped_bit_is_damage_in_the_middle_and_torn_at_the_end),
        T(the_last_frame_of_a_file_with_a_successor_is_never_torn),
        T(rubbish_behind_the_end_is_torn_and_a_zeroed_header_is_seen),
        T(newer_formats_are_refused_untouched),
        T(impossible_sizes_allocate_nothing),
        T(a_file_of_another_log_is_refused),
        T(a_foreign_file_is_refused),
        T(head_survives_the_loss_of_either_slot),
        T(frames_that_head_knows_cannot_vanish),
        T(a_head_of_another_log_is_ignored),
        T(frames_behind_head_move_to_a_new_file),
        T(a_doubtful_file_is_replaced_and_readers_notice),
        T(the_example_of_the_format_document_is_what_we_write),
    };
    fs_table = quick_fs();
    return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}

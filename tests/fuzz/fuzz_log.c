/* fuzz_log.c — any bytes as the files of a log: every verdict is fine, a crash is not.
 *
 * The input is a log in one or two files and a head, in memory. Its first byte chooses how much is put
 * right before reading, since no fuzzer guesses a checksum: with bit 0 the magics, hashes and checksums
 * of file and frame headers, with bit 1 the chain as well, so that the payload is reached. */
#include <stdlib.h>

#include "base/hash.h"
#include "base/sha256.h"
#include "store/log_frame.h"

typedef struct disk {
    const uint8_t *file[2], *head;
    size_t file_size[2], head_size;
} disk;

struct mk_file {
    const uint8_t *p;
    size_t n;
};

static mk_code mem_open(void *ctx, const char *path, unsigned flags, mk_file **out, mk_err *err)
{
    const disk *d = ctx;
    mk_file found = {NULL, 0};

    if (strcmp(path, "s/log/00000001.mlog") == 0)
        found = (mk_file){d->file[0], d->file_size[0]};
    else if (strcmp(path, "s/log/00000002.mlog") == 0 && d->file_size[1] > 0)
        found = (mk_file){d->file[1], d->file_size[1]};
    else if (strcmp(path, "s/head") == 0)
        found = (mk_file){d->head, d->head_size};
    if (found.p == NULL || flags != MK_OPEN_READ)
        return mk_fail(err, MK_E_NOT_FOUND, "no file");
    *out = malloc(sizeof **out);
    if (*out == NULL)
        return mk_fail_nomem(err);
    **out = found;
    return MK_OK;
}

static void mem_close(void *ctx, mk_file *file)
{
    (void)ctx;
    free(file);
}

static mk_code mem_read_at(void *ctx, mk_file *file, void *p, size_t n, uint64_t at, size_t *got,
                           mk_err *err)
{
    (void)ctx, (void)err;
    *got = at >= file->n ? 0 : file->n - (size_t)at < n ? file->n - (size_t)at : n;
    if (*got > 0)
        memcpy(p, file->p + at, *got);
    return MK_OK;
}

static mk_code mem_size(void *ctx, mk_file *file, uint64_t *size, mk_err *err)
{
    (void)ctx, (void)err;
    *size = file->n;
    return MK_OK;
}

static mk_code mem_list(void *ctx, const char *path, void (*each)(void *arg, const char *name),
                        void *arg, mk_err *err)
{
    (void)path, (void)err;
    each(arg, "00000001.mlog");
    if (((const disk *)ctx)->file_size[1] > 0)
        each(arg, "00000002.mlog");
    return MK_OK;
}

static uint64_t get64(const uint8_t *p)
{
    uint64_t v = 0;
    for (int i = 7; i >= 0; i--)
        v = v << 8 | p[i];
    return v;
}

static void seal(uint8_t *header, const char *magic)
{
    memcpy(header, magic, 4);
    const uint64_t sum = mk_checksum64(header, 120);
    for (int i = 0; i < 8; i++)
        header[120 + i] = (uint8_t)(sum >> 8 * i);
}

static void put64(uint8_t *p, uint64_t v)
{
    for (int i = 0; i < 8; i++)
        p[i] = (uint8_t)(v >> 8 * i);
}

/* What a chained log of two files has to carry from one to the other. */
typedef struct carry {
    uint8_t chain[32];
    uint64_t frames, tt, end;
} carry;

static void repair_file(uint8_t *p, uint8_t number, carry *c)
{
    memset(p, 0, MK_LOG_HEADER_SIZE);
    p[4] = 1;
    p[8] = number;
    put64(p + 16, number == 1 ? 0 : c->end);
    put64(p + 24, c->frames);
    put64(p + 32, c->tt);
    memcpy(p + 40, c->chain, 32);
}

static void repair_frame(uint8_t *h)
{
    memset(h + 12, 0, 4);
    memset(h + 112, 0, 8);
    memset(h + 26, 0, 6); /* a size that has a chance to fit */
    if (h[7] == MK_CODEC_RAW)
        memcpy(h + 16, h + 24, 8);
    h[4] = 1;
    h[5] = 0;
}

static void repair(uint8_t *p, size_t n, uint8_t number, bool chained, carry *c)
{
    if (n < MK_LOG_HEADER_SIZE)
        return;
    if (chained)
        repair_file(p, number, c);
    seal(p, "MKL1");
    size_t at = MK_LOG_HEADER_SIZE;
    while (n - at >= MK_LOG_HEADER_SIZE) {
        uint8_t *h = p + at;
        const uint64_t left = n - at - MK_LOG_HEADER_SIZE;
        if (chained)
            repair_frame(h);
        const uint64_t stored = get64(h + 24);
        if (stored <= left)
            mk_sha256_of(h + MK_LOG_HEADER_SIZE, (size_t)stored, h + 48);
        if (chained) {
            memcpy(h, "MKF1", 4);
            mk_log__chain(c->chain, h, c->chain);
            memcpy(h + 80, c->chain, 32);
            c->tt = get64(h + 40);
            c->frames++;
        }
        seal(h, "MKF1");
        if (stored > left || mk_log__frame_size(stored) - MK_LOG_HEADER_SIZE > left)
            break;
        at += (size_t)mk_log__frame_size(stored);
    }
    c->end = at;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 4)
        return 0;
    const uint8_t mode = data[0];
    const size_t body = size - 4, split = body < 2 ? body : (size_t)(data[1] | data[2] << 8) % (body + 1);
    uint8_t *bytes = malloc(body + 1);
    if (bytes == NULL)
        return 0;
    memcpy(bytes, data + 4, body);
    disk d = {{bytes, bytes + split}, bytes, {split, body - split}, body};
    const mk_fs fs = {.ctx = &d, .open = mem_open, .close = mem_close, .read_at = mem_read_at,
                      .size = mem_size, .list = mem_list};
    const mk_log_pos start = mk_log_start();
    mk_log_pos head, last = start, pos = start;
    mk_log_reader *reader = NULL;
    mk_frame frame;
    mk_log_end end = MK_LOG_MORE;
    mk_err err;
    carry c = {.frames = 0};
    bool found;

    memcpy(c.chain, start.chain, sizeof c.chain);
    if (mode & 1) {
        repair(bytes, split, 1, mode & 2, &c);
        repair(bytes + split, body - split, 2, mode & 2, &c);
    }
    if (mk_log_reader_open(&mk_alloc_default, &fs, "s", &start, &reader, &err) == MK_OK) {
        while (end == MK_LOG_MORE) {
            if (mk_log_read(reader, NULL, &frame, &end, &err) != MK_OK)
                break;
            if (end == MK_LOG_MORE) {
                if (!mk_log__lines_ok(frame.lines, frame.records))
                    abort();
                last = frame.pos;
                pos = frame.next;
            }
        }
        mk_log_reader_close(reader);
    }
    if (pos.frames > 0 && last.file == pos.file &&
        mk_log_pos_check(&mk_alloc_default, &fs, "s", &pos, &last, &err) != MK_OK)
        abort(); /* what was just read is there */
    (void)!mk_log_head_read(&fs, "s", &head, &found, &err);
    free(bytes);
    return 0;
}

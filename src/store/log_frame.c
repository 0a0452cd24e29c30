/* log_frame.c — encodes and decodes the fixed structures of the log.
 *
 * Every structure has the shape: 4 bytes magic, u16 version, fields, zeros, u64 xxh3 of all before.
 * The checksum comes first when reading: a structure with a wrong one says nothing, one with a right
 * one and an unknown version was written by a newer program and must not be touched. Bytes that have
 * no meaning in version 1 must be zero, so that a later program can give them one safely. */
#include "store/log_frame.h"

#include <assert.h>
#include <stdio.h>

#include "base/hash.h"
#include "base/sha256.h"

enum { VERSION = 1, CHECKSUM_AT = 120 };

static_assert(CHECKSUM_AT + 8 == MK_LOG_HEADER_SIZE, "the checksum is the last field");
static_assert(MK_LOG_HEADER_SIZE % MK_LOG_ALIGN == 0, "frames stay aligned");
static_assert(MK_LOG_HEADER_SIZE <= MK_LOG_HEAD_STRIDE, "a slot fits before the next one");

static void put16(uint8_t *p, uint16_t v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
}

static void put32(uint8_t *p, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(v >> 8 * i);
}

static void put64(uint8_t *p, uint64_t v)
{
    for (int i = 0; i < 8; i++)
        p[i] = (uint8_t)(v >> 8 * i);
}

static uint16_t get16(const uint8_t *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static uint32_t get32(const uint8_t *p)
{
    uint32_t v = 0;
    for (int i = 3; i >= 0; i--)
        v = v << 8 | p[i];
    return v;
}

static uint64_t get64(const uint8_t *p)
{
    uint64_t v = 0;
    for (int i = 7; i >= 0; i--)
        v = v << 8 | p[i];
    return v;
}

static void begin(uint8_t *out, const char *magic)
{
    memset(out, 0, MK_LOG_HEADER_SIZE);
    memcpy(out, magic, 4);
    put16(out + 4, VERSION);
}

static void seal(uint8_t *out)
{
    put64(out + CHECKSUM_AT, mk_checksum64(out, CHECKSUM_AT));
}

static bool sound(const uint8_t *bytes, const char *magic)
{
    return memcmp(bytes, magic, 4) == 0 &&
           get64(bytes + CHECKSUM_AT) == mk_checksum64(bytes, CHECKSUM_AT);
}

/* ---- frame header ---- */

void mk_log__chain(const uint8_t chain_before[32], const uint8_t bytes[MK_LOG_HEADER_SIZE],
                   uint8_t out[32])
{
    mk_sha256 sha;
    mk_sha256_init(&sha);
    mk_sha256_add(&sha, chain_before, 32);
    mk_sha256_add(&sha, bytes, MK_LOG_CHAINED_SIZE);
    mk_sha256_end(&sha, out);
}

void mk_log__header_encode(mk_log_header *header, const uint8_t chain_before[32],
                           uint8_t out[MK_LOG_HEADER_SIZE])
{
    header->version = VERSION;
    begin(out, "MKF1");
    out[6] = header->kind;
    out[7] = header->codec;
    put32(out + 8, header->records);
    put64(out + 16, header->raw_size);
    put64(out + 24, header->stored_size);
    put64(out + 32, (uint64_t)header->tt_first);
    put64(out + 40, (uint64_t)header->tt_last);
    memcpy(out + 48, header->payload_sha, 32);
    mk_log__chain(chain_before, out, header->chain);
    memcpy(out + 80, header->chain, 32);
    seal(out);
}

/* Compression is used only where it saves something, so no payload is larger than its lines. */
static bool sizes_possible(const mk_log_header *header)
{
    if (header->raw_size == 0 || header->raw_size > MK_LOG_RAW_MAX || header->stored_size == 0)
        return false;
    if (header->codec == MK_CODEC_RAW ? header->stored_size != header->raw_size
                                      : header->stored_size >= header->raw_size)
        return false;
    return header->records > 0 && header->records <= header->raw_size;
}

mk_log_verdict mk_log__header_decode(const uint8_t bytes[MK_LOG_HEADER_SIZE], mk_log_header *out)
{
    memset(out, 0, sizeof *out);
    if (!sound(bytes, "MKF1"))
        return MK_LOG_BAD;
    out->version = get16(bytes + 4);
    out->kind = bytes[6];
    out->codec = bytes[7];
    if (out->version != VERSION || out->codec > MK_CODEC_ZSTD ||
        (out->kind != MK_FRAME_BATCH && out->kind != MK_FRAME_SEAL) ||
        !mk_log__all_zero(bytes + 12, 4) || !mk_log__all_zero(bytes + 112, 8))
        return MK_LOG_NEWER;
    out->records = get32(bytes + 8);
    out->raw_size = get64(bytes + 16);
    out->stored_size = get64(bytes + 24);
    out->tt_first = (int64_t)get64(bytes + 32);
    out->tt_last = (int64_t)get64(bytes + 40);
    memcpy(out->payload_sha, bytes + 48, 32);
    memcpy(out->chain, bytes + 80, 32);
    return sizes_possible(out) ? MK_LOG_GOOD : MK_LOG_BAD;
}

/* ---- file header ---- */

void mk_log__file_encode(const mk_log_file_start *start, uint8_t out[MK_LOG_HEADER_SIZE])
{
    begin(out, "MKL1");
    put32(out + 8, start->number);
    put64(out + 16, start->prev_offset);
    put64(out + 24, start->frames);
    put64(out + 32, (uint64_t)start->tt.us);
    memcpy(out + 40, start->chain, 32);
    seal(out);
}

mk_log_verdict mk_log__file_decode(const uint8_t bytes[MK_LOG_HEADER_SIZE], mk_log_file_start *out)
{
    memset(out, 0, sizeof *out);
    if (!sound(bytes, "MKL1"))
        return MK_LOG_BAD;
    if (get16(bytes + 4) != VERSION || !mk_log__all_zero(bytes + 6, 2) ||
        !mk_log__all_zero(bytes + 12, 4) || !mk_log__all_zero(bytes + 72, 48))
        return MK_LOG_NEWER;
    out->number = get32(bytes + 8);
    out->prev_offset = get64(bytes + 16);
    out->frames = get64(bytes + 24);
    out->tt.us = (int64_t)get64(bytes + 32);
    memcpy(out->chain, bytes + 40, 32);
    return MK_LOG_GOOD;
}

/* ---- head slot ---- */

void mk_log__head_encode(const mk_log_pos *pos, uint64_t sequence, uint8_t out[MK_LOG_HEADER_SIZE])
{
    begin(out, "MKH1");
    put64(out + 8, sequence);
    put32(out + 16, pos->file);
    put64(out + 24, pos->offset);
    put64(out + 32, (uint64_t)pos->tt.us);
    put64(out + 40, pos->frames);
    memcpy(out + 48, pos->chain, 32);
    seal(out);
}

mk_log_verdict mk_log__head_decode(const uint8_t bytes[MK_LOG_HEADER_SIZE], mk_log_pos *pos,
                                   uint64_t *sequence)
{
    memset(pos, 0, sizeof *pos);
    *sequence = 0;
    if (!sound(bytes, "MKH1"))
        return MK_LOG_BAD;
    if (get16(bytes + 4) != VERSION)
        return MK_LOG_NEWER;
    *sequence = get64(bytes + 8);
    pos->file = get32(bytes + 16);
    pos->offset = get64(bytes + 24);
    pos->tt.us = (int64_t)get64(bytes + 32);
    pos->frames = get64(bytes + 40);
    memcpy(pos->chain, bytes + 48, 32);
    return MK_LOG_GOOD;
}

/* ---- small rules ---- */

bool mk_log__all_zero(const void *p, size_t n)
{
    const uint8_t *bytes = p;
    /* A block is zero when its first byte is and it equals itself moved by one. */
    return n == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, n - 1) == 0);
}

bool mk_log__lines_ok(mk_str lines, uint32_t records)
{
    uint32_t count = 0;
    const char *p = lines.p, *end = lines.p + lines.n;

    if (lines.n == 0 || end[-1] != '\n')
        return false;
    while (p < end) {
        p = (const char *)memchr(p, '\n', (size_t)(end - p)) + 1;
        if (count++ == records)
            return false;
    }
    return count == records;
}

bool mk_log__tt_ok(mk_frame_kind kind, uint32_t records, mk_tt before, int64_t first, int64_t last)
{
    if (kind == MK_FRAME_SEAL ? first < before.us : first <= before.us)
        return false;
    if (kind == MK_FRAME_SEAL)
        return first <= last;
    /* As many different integers as there are records lie between the two. */
    return first <= last && (uint64_t)last - (uint64_t)first >= records - 1u &&
           (records > 1 || first == last);
}

/* ---- paths ---- */

static mk_code path_result(int n, const char *store_dir, mk_err *err)
{
    if (n >= 0 && n < MK_LOG_PATH_MAX)
        return MK_OK;
    mk_fail(err, MK_E_LIMIT, "path of the store is too long: %.80s...", store_dir);
    mk_err_hint(err, "use a directory whose path is shorter than %d bytes", MK_LOG_PATH_MAX - 32);
    return MK_E_LIMIT;
}

mk_code mk_log__dir_path(mk_log_path *out, const char *store_dir, mk_err *err)
{
    return path_result(snprintf(out->z, sizeof out->z, "%s/log", store_dir), store_dir, err);
}

mk_code mk_log__file_path(mk_log_path *out, const char *store_dir, uint32_t number, bool temporary,
                          mk_err *err)
{
    const int n = snprintf(out->z, sizeof out->z, "%s/log/%08u.mlog%s", store_dir, (unsigned)number,
                           temporary ? ".tmp" : "");
    return path_result(n, store_dir, err);
}

mk_code mk_log__head_path(mk_log_path *out, const char *store_dir, mk_err *err)
{
    return path_result(snprintf(out->z, sizeof out->z, "%s/head", store_dir), store_dir, err);
}

mk_code mk_log__dir_copy(const mk_alloc *alloc, const char *dir, char **out, mk_err *err)
{
    const size_t size = strlen(dir) + 1;
    char *copy = mk_new(alloc, size);

    if (copy == NULL)
        return mk_fail_nomem(err);
    memcpy(copy, dir, size);
    *out = copy;
    return MK_OK;
}

void mk_log__dir_free(const mk_alloc *alloc, char *dir)
{
    if (dir != NULL)
        mk_free(alloc, dir, strlen(dir) + 1);
}

/* segment_file.c — segments on disk. Layer: store, internal.
 *
 * A file is a head with a checksum, then one section per column and one for the props texts (zstd),
 * each with its own checksum. It is written once, under a name never used before, and read a section
 * at a time, when somebody first needs it. Nothing here is a permanent format: a file that does not
 * read is replaced by folding the log again. */
#include <stdio.h>
#include <string.h>
#include <zstd.h>

#include "base/hash.h"
#include "store/segment.h"

#define MAGIC 0x31534B4Du /* "MKS1" */
#define VERSION 1u
#define SECTIONS (MK_C_COUNT + 1)
#define HEAD_SIZE (4u * 5 + 8 + 3 * 8 + 3 * 4 + 8 + SECTIONS * 24u + 8)

static mk_code damaged(const char *path, const char *what, mk_err *err)
{
    mk_fail(err, MK_E_STATE, "%s: %s", path, what);
    mk_err_reason(err, "damaged");
    mk_err_path(err, "%s", path);
    mk_err_hint(err, "run `merkhet rebuild`: the log has everything");
    return MK_E_STATE;
}

/* ---- writing ---- */

static void encode_head(const mk_segment *segment, uint8_t head[HEAD_SIZE])
{
    uint8_t *p = head;
#define PUT32(v) (mk_put_u32(p, (v)), p += 4)
#define PUT64(v) (mk_put_u64(p, (v)), p += 8)
    PUT32(MAGIC);
    PUT32(VERSION);
    PUT32((uint32_t)segment->lane);
    PUT32((uint32_t)segment->past | (uint32_t)segment->end_is_duration << 1);
    PUT32(segment->rows);
    PUT64(segment->id);
    PUT64((uint64_t)segment->zone.vt_s_min);
    PUT64((uint64_t)segment->zone.vt_s_max);
    PUT64((uint64_t)segment->zone.vt_e_max);
    PUT32(segment->zone.seq_s_min);
    PUT32(segment->zone.seq_s_max);
    PUT32(segment->zone.seq_e_max);
    PUT64(segment->heap_size);
    for (int i = 0; i < SECTIONS; i++) {
        PUT64(segment->offset[i]);
        PUT64(segment->size[i]);
        PUT64(segment->sum[i]);
    }
    PUT64(mk_checksum64(head, HEAD_SIZE - 8));
#undef PUT32
#undef PUT64
    MK_ASSERT(p == head + HEAD_SIZE);
}

static mk_code encode_heap(const mk_segment *segment, mk_buf *out, mk_err *err)
{
    if (segment->heap_size == 0)
        return MK_OK;
    const size_t bound = ZSTD_compressBound(segment->heap_size);
    char *room = mk_buf_room(out, bound);
    if (room == NULL)
        return mk_fail_nomem(err);
    const size_t n = ZSTD_compress(room, bound, atomic_load(&segment->heap), segment->heap_size, 1);
    if (ZSTD_isError(n))
        return mk_fail(err, MK_E_INTERNAL, "zstd: %s", ZSTD_getErrorName(n));
    out->n += n;
    return MK_OK;
}

/* One section at a time through one buffer; the head goes in last, at the front. */
static mk_code write_sections(mk_segment *segment, const mk_fs *fs, mk_file *file, mk_buf *buf,
                              mk_err *err)
{
    uint64_t at = HEAD_SIZE;
    mk_code rc = MK_OK;
    for (int i = 0; i < SECTIONS; i++) {
        mk_buf_clear(buf);
        if (i == MK_C_COUNT) {
            MK_TRY(rc, encode_heap(segment, buf, err));
        } else {
            const mk_loaded_col *loaded = atomic_load(&segment->cols[i]);
            if (loaded != NULL)
                mk_col_encode(&loaded->col, buf);
        }
        MK_TRY(rc, mk_buf_done(buf, err));
        segment->offset[i] = at;
        segment->size[i] = buf->n;
        segment->sum[i] = mk_checksum64(buf->p, buf->n);
        if (buf->n != 0)
            MK_TRY(rc, fs->write_at(fs->ctx, file, buf->p, buf->n, at, err));
        at += buf->n;
    }
    uint8_t head[HEAD_SIZE];
    encode_head(segment, head);
    MK_TRY(rc, fs->write_at(fs->ctx, file, head, HEAD_SIZE, 0, err));
    segment->file_size = at;
    rc = fs->sync(fs->ctx, file, err);
out:
    return rc;
}

static mk_code keep_path(mk_segment *segment, const mk_fs *fs, const char *path, mk_err *err)
{
    const size_t size = strlen(path) + 1;
    char *copy = mk_new(segment->alloc, size);
    if (copy == NULL)
        return mk_fail_nomem(err);
    memcpy(copy, path, size);
    segment->path = copy;
    segment->fs = fs;
    return MK_OK;
}

mk_code mk_segment_write(mk_segment *segment, const mk_fs *fs, const char *path, mk_err *err)
{
    mk_file *file = NULL;
    mk_buf buf;
    mk_code rc;
    mk_buf_init(&buf, segment->alloc);
    MK_TRY(rc, fs->open(fs->ctx, path, MK_OPEN_WRITE | MK_OPEN_CREATE | MK_OPEN_TRUNCATE, &file, err));
    MK_TRY(rc, write_sections(segment, fs, file, &buf, err));
    rc = keep_path(segment, fs, path, err);
out:
    if (file != NULL)
        fs->close(fs->ctx, file);
    mk_buf_free(&buf);
    return rc;
}

/* ---- reading ---- */

static bool decode_head(mk_segment *segment, const uint8_t head[HEAD_SIZE], uint64_t file_size)
{
    const uint8_t *p = head;
#define GET32() (p += 4, mk_get_u32(p - 4))
#define GET64() (p += 8, mk_get_u64(p - 8))
    if (mk_get_u64(head + HEAD_SIZE - 8) != mk_checksum64(head, HEAD_SIZE - 8))
        return false;
    if (GET32() != MAGIC || GET32() != VERSION)
        return false;
    const uint32_t lane = GET32(), flags = GET32();
    if (lane >= MK_LANE_COUNT || flags > 3)
        return false;
    segment->lane = (mk_lane)lane;
    segment->past = flags & 1;
    segment->end_is_duration = flags & 2;
    segment->rows = GET32();
    segment->id = GET64();
    segment->zone.vt_s_min = (int64_t)GET64();
    segment->zone.vt_s_max = (int64_t)GET64();
    segment->zone.vt_e_max = (int64_t)GET64();
    segment->zone.seq_s_min = GET32();
    segment->zone.seq_s_max = GET32();
    segment->zone.seq_e_max = GET32();
    segment->heap_size = GET64();
    segment->file_size = file_size;
    for (int i = 0; i < SECTIONS; i++) {
        segment->offset[i] = GET64();
        segment->size[i] = GET64();
        segment->sum[i] = GET64();
        if (segment->offset[i] > file_size || segment->size[i] > file_size - segment->offset[i])
            return false;
    }
#undef GET32
#undef GET64
    return segment->rows > 0;
}

mk_code mk_segment_open(const mk_alloc *alloc, const mk_fs *fs, const char *path, mk_segment **out,
                        mk_err *err)
{
    uint8_t head[HEAD_SIZE];
    mk_file *file = NULL;
    uint64_t size;
    size_t got;
    mk_code rc;
    mk_segment *segment = mk_new0(alloc, sizeof *segment);
    if (segment == NULL)
        return mk_fail_nomem(err);
    segment->alloc = alloc;
    MK_TRY(rc, fs->open(fs->ctx, path, MK_OPEN_READ, &file, err));
    MK_TRY(rc, fs->size(fs->ctx, file, &size, err));
    MK_TRY(rc, fs->read_at(fs->ctx, file, head, HEAD_SIZE, 0, &got, err));
    if (got != HEAD_SIZE || !decode_head(segment, head, size)) {
        rc = damaged(path, "not a segment, or its head is damaged", err);
        goto out;
    }
    MK_TRY(rc, keep_path(segment, fs, path, err));
    segment->file = file;
    file = NULL;
    *out = segment;
    segment = NULL;
out:
    if (file != NULL)
        fs->close(fs->ctx, file);
    mk_segment_free(segment);
    return rc;
}

/* The bytes of one section into buf, checked. */
static mk_code read_section(const mk_segment *segment, int section, mk_buf *buf, mk_err *err)
{
    const mk_fs *fs = segment->fs;
    mk_file *file = NULL;
    size_t got;
    mk_code rc = MK_OK;
    if (segment->path == NULL || segment->size[section] == 0) {
        rc = mk_fail(err, MK_E_INTERNAL, "segment %llu has no section %d",
                     (unsigned long long)segment->id, section);
        goto out;
    }
    char *room = mk_buf_room(buf, segment->size[section]);
    if (room == NULL) {
        rc = mk_fail_nomem(err);
        goto out;
    }
    if (segment->file == NULL)
        MK_TRY(rc, fs->open(fs->ctx, segment->path, MK_OPEN_READ, &file, err));
    MK_TRY(rc, fs->read_at(fs->ctx, file ? file : segment->file, room, segment->size[section],
                           segment->offset[section], &got, err));
    buf->n += got;
    if (got != segment->size[section] || mk_checksum64(room, got) != segment->sum[section])
        rc = damaged(segment->path, "a section does not match its checksum", err);
out:
    if (file != NULL)
        fs->close(fs->ctx, file);
    return rc;
}

/* How many rows the section's column must have; its own count where nothing else tells. */
static uint32_t expected_rows(const mk_segment *segment, mk_col_id id, mk_str bytes)
{
    const bool by_row = id < MK_C_ROW_COLUMNS || id == MK_C_A_ROWS || id == MK_C_B_ROWS;
    if (by_row || bytes.n < 4)
        return segment->rows;
    /* A list has a key for at least a quarter of its range, so a count beyond that is no count. */
    const uint32_t count = mk_get_u32((const uint8_t *)bytes.p);
    return id == MK_C_PROPS_ENDS || count <= 4 * (uint64_t)segment->rows ? count : segment->rows;
}

/* Values that may be, or the one exception beside them. */
typedef struct allowed {
    uint64_t below;
    int64_t or_else;
} allowed;

static uint64_t limit_of(uint32_t limit) { return limit ? limit : (uint64_t)UINT32_MAX + 1; }

static allowed allowed_in(const mk_segment *segment, mk_col_id id)
{
    const mk_code_limits *limits = &segment->limits;
    switch (id) {
    case MK_C_A: return (allowed){limit_of(limits->entities), 0};
    case MK_C_B:
        return mk_lane_is_node(segment->lane) ? (allowed){0, MK_NONE}
                                              : (allowed){limit_of(limits->entities), 0};
    case MK_C_REL: return (allowed){limit_of(limits->names), 0};
    case MK_C_DISC: return (allowed){INT64_MAX, MK_DISC_NULL_CODE};
    case MK_C_ORIGIN: return (allowed){limit_of(limits->origins), 0};
    case MK_C_SEQ_S: return (allowed){limits->seq ? (uint64_t)limits->seq + 1 : MK_SEQ_OPEN, 0};
    case MK_C_SEQ_E:
        if (!segment->past)
            return (allowed){0, MK_SEQ_OPEN};
        return (allowed){limits->seq ? (uint64_t)limits->seq + 1 : MK_SEQ_OPEN, 0};
    case MK_C_A_ROWS:
    case MK_C_B_ROWS: return (allowed){segment->rows, 0};
    case MK_C_A_STARTS:
    case MK_C_B_STARTS: return (allowed){(uint64_t)segment->rows + 1, 0};
    default: return (allowed){UINT64_MAX, -1};
    }
}

static bool rows_ok(const mk_segment *segment, mk_col_id id, const mk_col *col, uint32_t from, uint32_t n)
{
    const allowed range = allowed_in(segment, id);
    const uint64_t names = limit_of(segment->limits.names);
    int64_t v[512];
    bool good = true;
    mk_col_read(col, from, n, v);
    for (uint32_t i = 0; i < n; i++)
        good &= (uint64_t)v[i] < range.below || v[i] == range.or_else;
    for (uint32_t i = 0; id == MK_C_DISC && i < n; i++)
        good &= v[i] < 0 || !(v[i] & 1) || (uint64_t)v[i] >> 1 < names;
    return good;
}

/* Codes in a file name nothing outside the dictionaries, and lists no row outside the segment. Of even
 * steps that do not wrap, the two rows at each end tell about all, odd values included. */
static bool codes_ok(const mk_segment *segment, mk_col_id id, const mk_col *col)
{
    if (col->rows == 0 || allowed_in(segment, id).below == UINT64_MAX)
        return true;
    if (col->width == 0 && col->rows > 512) {
        const __int128 last = (__int128)(int64_t)col->base + (__int128)(int64_t)col->step * (col->rows - 1);
        return last == mk_col_get(col, col->rows - 1) && rows_ok(segment, id, col, 0, 2) &&
               rows_ok(segment, id, col, col->rows - 2, 2);
    }
    for (uint64_t from = 0; from < col->rows; from += 512) {
        const uint32_t left = col->rows - (uint32_t)from;
        if (!rows_ok(segment, id, col, (uint32_t)from, left < 512 ? left : 512))
            return false;
    }
    return true;
}

mk_code mk_segment_load(mk_segment *segment, mk_col_id id, const mk_col **out, mk_err *err)
{
    mk_buf buf;
    mk_loaded_col *fresh = NULL;
    mk_code rc;
    mk_buf_init(&buf, segment->alloc);
    MK_TRY(rc, read_section(segment, id, &buf, err));
    fresh = mk_new(segment->alloc, sizeof *fresh);
    if (fresh == NULL) {
        rc = mk_fail_nomem(err);
        goto out;
    }
    fresh->col = (mk_col){.alloc = segment->alloc};
    MK_TRY(rc, mk_col_decode(segment->alloc, mk_buf_view(&buf),
                             expected_rows(segment, id, mk_buf_view(&buf)), &fresh->col, err));
    if (!codes_ok(segment, id, &fresh->col)) {
        rc = damaged(segment->path, "a column holds a value that names nothing", err);
        goto out;
    }
    mk_loaded_col *there = NULL;
    if (atomic_compare_exchange_strong(&segment->cols[id], &there, fresh)) {
        *out = &fresh->col;
        fresh = NULL;
    } else {
        *out = &there->col;
    }
out:
    if (fresh != NULL) {
        mk_col_free(&fresh->col);
        mk_free(segment->alloc, fresh, sizeof *fresh);
    }
    mk_buf_free(&buf);
    return rc;
}

static mk_code load_heap(mk_segment *segment, const char **out, mk_err *err)
{
    mk_buf buf;
    char *fresh = NULL;
    mk_code rc;
    mk_buf_init(&buf, segment->alloc);
    MK_TRY(rc, read_section(segment, MK_C_COUNT, &buf, err));
    if (ZSTD_getFrameContentSize(buf.p, buf.n) != segment->heap_size) {
        rc = damaged(segment->path, "the props texts have another size than the head says", err);
        goto out;
    }
    fresh = mk_new(segment->alloc, segment->heap_size);
    if (fresh == NULL) {
        rc = mk_fail_nomem(err);
        goto out;
    }
    const size_t n = ZSTD_decompress(fresh, segment->heap_size, buf.p, buf.n);
    if (ZSTD_isError(n) || n != segment->heap_size) {
        rc = damaged(segment->path, "the props texts do not decompress", err);
        goto out;
    }
    char *there = NULL;
    if (atomic_compare_exchange_strong(&segment->heap, &there, fresh)) {
        *out = fresh;
        fresh = NULL;
    } else {
        *out = there;
    }
out:
    mk_free(segment->alloc, fresh, segment->heap_size);
    mk_buf_free(&buf);
    return rc;
}

mk_code mk_segment_props(mk_segment *segment, uint32_t row, mk_str *out, mk_err *err)
{
    const mk_col *props, *ends;
    const char *heap = atomic_load_explicit(&segment->heap, memory_order_acquire);
    mk_code rc = MK_OK;
    if (heap == NULL)
        MK_TRY(rc, load_heap(segment, &heap, err));
    MK_TRY(rc, mk_segment_col(segment, MK_C_PROPS, &props, err));
    MK_TRY(rc, mk_segment_col(segment, MK_C_PROPS_ENDS, &ends, err));
    const uint32_t text = mk_col_u32(props, row);
    if (text >= ends->rows) {
        rc = damaged(segment->path ? segment->path : "segment", "a row names no props text", err);
        goto out;
    }
    const uint64_t from = text ? (uint64_t)mk_col_get(ends, text - 1) : 0;
    const uint64_t to = (uint64_t)mk_col_get(ends, text);
    if (from > to || to > segment->heap_size) {
        rc = damaged(segment->path ? segment->path : "segment", "a props text has no place", err);
        goto out;
    }
    *out = (mk_str){heap + from, (size_t)(to - from)};
out:
    return rc;
}

/* ---- ends ---- */

#define ENDS_MAGIC 0x31454B4Du /* "MKE1" */

mk_code mk_segment_write_ends(mk_segment *segment, const mk_fs *fs, const char *path,
                              const uint32_t *pairs, uint32_t count, mk_err *err)
{
    mk_buf buf;
    mk_file *file = NULL;
    mk_code rc = MK_OK;
    mk_buf_init(&buf, segment->alloc);
    const size_t size = 16 + (size_t)count * 8 + 8;
    uint8_t *p = (uint8_t *)mk_buf_room(&buf, size);
    if (p == NULL) {
        rc = mk_fail_nomem(err);
        goto out;
    }
    mk_put_u32(p, ENDS_MAGIC);
    mk_put_u32(p + 4, count);
    mk_put_u64(p + 8, segment->id);
    for (size_t i = 0; i < 2 * (size_t)count; i++)
        mk_put_u32(p + 16 + 4 * i, pairs[i]);
    mk_put_u64(p + size - 8, mk_checksum64(p, size - 8));
    MK_TRY(rc, fs->open(fs->ctx, path, MK_OPEN_WRITE | MK_OPEN_CREATE | MK_OPEN_TRUNCATE, &file, err));
    MK_TRY(rc, fs->write_at(fs->ctx, file, p, size, 0, err));
    rc = fs->sync(fs->ctx, file, err);
out:
    if (file != NULL)
        fs->close(fs->ctx, file);
    mk_buf_free(&buf);
    return rc;
}

mk_code mk_segment_read_ends(mk_segment *segment, const mk_fs *fs, const char *path, mk_err *err)
{
    mk_buf buf;
    mk_code rc;
    mk_buf_init(&buf, segment->alloc);
    rc = mk_fs_read_all(fs, path, (size_t)segment->rows * 8 + 24, &buf, err);
    if (rc == MK_E_LIMIT)
        rc = damaged(path, "the list of ended rows is longer than the segment", err);
    if (rc != MK_OK)
        goto out;
    const uint8_t *p = (const uint8_t *)buf.p;
    if (buf.n < 24 || mk_get_u32(p) != ENDS_MAGIC || mk_get_u64(p + 8) != segment->id ||
        buf.n != 24 + (size_t)mk_get_u32(p + 4) * 8 ||
        mk_get_u64(p + buf.n - 8) != mk_checksum64(p, buf.n - 8)) {
        rc = damaged(path, "the list of ended rows is damaged", err);
        goto out;
    }
    const uint32_t count = mk_get_u32(p + 4);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t row = mk_get_u32(p + 16 + 8 * (size_t)i);
        const uint32_t seq = mk_get_u32(p + 20 + 8 * (size_t)i);
        if (row >= segment->rows || mk_segment_end_seq(segment, row) != MK_SEQ_OPEN ||
            seq == MK_SEQ_OPEN || (segment->limits.seq != 0 && seq > segment->limits.seq)) {
            rc = damaged(path, "the list of ended rows says what cannot be", err);
            goto out;
        }
        MK_TRY(rc, mk_segment_end(segment, row, seq, err));
    }
out:
    mk_buf_free(&buf);
    return rc;
}

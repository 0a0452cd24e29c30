/* log_frame.h — the bytes of the log: file header, frame header, head slot. Layer: store, internal.
 *
 * Pure encoding and decoding, shared by the reader (log.c) and the writer (log_writer.c). All three
 * structures are 128 bytes, little-endian, written field by field, zero where nothing is defined, and
 * end in the xxh3 of the 120 bytes before. Source: docs/log-format.md; STORAGE.md, "Log". */
#ifndef MK_STORE_LOG_FRAME_H
#define MK_STORE_LOG_FRAME_H

#include "store/log.h"

enum {
    MK_LOG_HEADER_SIZE = 128,  /* of a file header, a frame header and a head slot */
    MK_LOG_CHAINED_SIZE = 80,  /* leading bytes of a frame header that the chain covers */
    MK_LOG_ALIGN = 8,          /* frames start at multiples of this */
    MK_LOG_HEAD_STRIDE = 4096, /* between the two slots of head: no device sector holds both */
    MK_LOG_PATH_MAX = 4096     /* bytes of a path with its NUL; what Linux accepts */
};

#define MK_LOG_ZSTD_ABOVE (UINT64_C(64) << 10)  /* frames with more line bytes are compressed */
#define MK_LOG_RESERVE_STEP (UINT64_C(16) << 20) /* files grow by this, so that a sync of one small
                                                    frame need not change the file's size */
#define MK_LOG_FILE_MAX (UINT64_C(256) << 20)   /* a file past this is not written to any more */
/* Line bytes of one frame. Bounds what a reader allocates for a frame; STORAGE.md, "Limits". */
#define MK_LOG_RAW_MAX (UINT64_C(256) << 20)

typedef enum mk_log_codec { MK_CODEC_RAW = 0, MK_CODEC_ZSTD = 1 } mk_log_codec;

typedef struct mk_log_header {
    uint16_t version;
    uint8_t kind;  /* mk_frame_kind */
    uint8_t codec; /* mk_log_codec */
    uint32_t records;
    uint64_t raw_size;    /* bytes of lines */
    uint64_t stored_size; /* bytes of payload, without padding */
    int64_t tt_first, tt_last;
    uint8_t payload_sha[32];
    uint8_t chain[32];
} mk_log_header;

typedef enum mk_log_verdict {
    MK_LOG_GOOD,  /* checked, all fields possible */
    MK_LOG_BAD,   /* no magic, a wrong checksum, or sizes that cannot be */
    MK_LOG_NEWER  /* sound, but of a version, kind, codec or field we do not know */
} mk_log_verdict;

/* Encodes header->..., computing version, chain (returned in header->chain) and checksum. */
void mk_log__header_encode(mk_log_header *header, const uint8_t chain_before[32],
                           uint8_t out[MK_LOG_HEADER_SIZE]);
/* On MK_LOG_NEWER `out` holds the version, kind and codec only for messages. */
mk_log_verdict mk_log__header_decode(const uint8_t bytes[MK_LOG_HEADER_SIZE], mk_log_header *out);
/* SHA-256(chain before, the first 80 bytes of the frame header). */
void mk_log__chain(const uint8_t chain_before[32], const uint8_t bytes[MK_LOG_HEADER_SIZE],
                   uint8_t out[32]);
/* Header, payload and padding. Cannot overflow for stored_size <= MK_LOG_RAW_MAX. */
static inline uint64_t mk_log__frame_size(uint64_t stored_size)
{
    return MK_LOG_HEADER_SIZE + (stored_size + MK_LOG_ALIGN - 1) / MK_LOG_ALIGN * MK_LOG_ALIGN;
}

/* What a log file says about its beginning. */
typedef struct mk_log_file_start {
    uint32_t number;
    uint64_t prev_offset; /* file number-1 ends here, whatever else lies behind; 0 for file 1 */
    uint64_t frames;      /* before this file */
    mk_tt tt;             /* largest before it */
    uint8_t chain[32];    /* of the frame before it */
} mk_log_file_start;

void mk_log__file_encode(const mk_log_file_start *start, uint8_t out[MK_LOG_HEADER_SIZE]);
mk_log_verdict mk_log__file_decode(const uint8_t bytes[MK_LOG_HEADER_SIZE], mk_log_file_start *out);

void mk_log__head_encode(const mk_log_pos *pos, uint64_t sequence, uint8_t out[MK_LOG_HEADER_SIZE]);
mk_log_verdict mk_log__head_decode(const uint8_t bytes[MK_LOG_HEADER_SIZE], mk_log_pos *pos,
                                   uint64_t *sequence);

bool mk_log__all_zero(const void *p, size_t n);
/* Every record line ends in LF and there are exactly `records` of them. */
bool mk_log__lines_ok(mk_str lines, uint32_t records);
/* tt rises: over `before` for batches, not below it for seals; over one record, first equals last. */
bool mk_log__tt_ok(mk_frame_kind kind, uint32_t records, mk_tt before, int64_t first, int64_t last);

/* DIR/log, DIR/log/%08u.mlog, the latter with ".tmp", DIR/head. MK_E_LIMIT when the path is too long. */
typedef struct mk_log_path {
    char z[MK_LOG_PATH_MAX];
} mk_log_path;
MK_CHECK mk_code mk_log__dir_path(mk_log_path *out, const char *store_dir, mk_err *err);
MK_CHECK mk_code mk_log__file_path(mk_log_path *out, const char *store_dir, uint32_t number,
                                   bool temporary, mk_err *err);
MK_CHECK mk_code mk_log__head_path(mk_log_path *out, const char *store_dir, mk_err *err);

/* An own copy of a directory's name. */
MK_CHECK mk_code mk_log__dir_copy(const mk_alloc *alloc, const char *dir, char **out, mk_err *err);
void mk_log__dir_free(const mk_alloc *alloc, char *dir);

/* ---- what the writer needs of the reader ---- */

/* Where the next frame is looked for. */
const mk_log_pos *mk_log__reader_pos(const mk_log_reader *reader);
/* Number, chain and so on of the file being read; NULL when there is no file yet. */
const mk_log_file_start *mk_log__reader_file(const mk_log_reader *reader);
/* Size on disk of that file when it was last looked at. */
uint64_t mk_log__reader_file_size(const mk_log_reader *reader);
/* Header, payload and padding of the frame last read; valid until the next read. */
mk_str mk_log__reader_bytes(const mk_log_reader *reader);

/* ---- hooks for tests ---- */

/* Files end past `size` instead of MK_LOG_FILE_MAX, for this writer. */
void mk_log__writer_set_file_max(mk_log_writer *writer, uint64_t size);
/* True when the last attempt to write head failed; it is tried again with the next append. */
bool mk_log__writer_head_behind(const mk_log_writer *writer);

#endif

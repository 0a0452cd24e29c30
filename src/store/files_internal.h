/* files_internal.h — what writing and loading checkpoints share. Layer: store, internal. */
#ifndef MK_STORE_FILES_INTERNAL_H
#define MK_STORE_FILES_INTERNAL_H

#include "base/hash.h"
#include "store/internal.h"

#define MK_MANIFEST "MANIFEST"
#define MK_MANIFEST_FORMAT 2
#define MK_PATH_MAX 4096

/* Append-only files: bytes and items that the newest manifest covers, and their checksum, which goes
 * on from item to item. */
typedef struct mk_tape {
    uint64_t bytes, sum;
    uint32_t items;
} mk_tape;

struct mk_files {
    uint64_t generation;
    mk_tape entities, names, origins;
    uint32_t batches;
    uint64_t batches_sum, degree_sum;
    char degree[64]; /* file of degrees, "" when there is none */
};

/* DIR/data/NAME. */
MK_CHECK mk_code mk_files__path(const mk_store *store, char path[MK_PATH_MAX], const char *name,
                                mk_err *err);
mk_code mk_files__damaged(const char *what, mk_err *err);

static inline uint64_t mk_sum_on(uint64_t sum, uint64_t item)
{
    return mk_mix64(sum + item + UINT64_C(0x9E3779B97F4A7C15));
}

#endif

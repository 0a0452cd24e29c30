/* hash.h — seeded hashing and an interning table. Layer: base.
 *
 * Hashes are seeded per table, and nothing that is output depends on their order. */
#ifndef MK_BASE_HASH_H
#define MK_BASE_HASH_H

#include "base/arena.h"

uint64_t mk_hash64(const void *p, size_t n, uint64_t seed);      /* xxh3 */
uint64_t mk_checksum64(const void *p, size_t n);                 /* xxh3, seed 0, for files */
/* Mixes one integer (a bijection of 64 bits), for tables keyed by numbers. */
static inline uint64_t mk_mix64(uint64_t x)
{
    x ^= x >> 32;
    x *= 0xD6E8FEB86659FD93u;
    x ^= x >> 32;
    x *= 0xD6E8FEB86659FD93u;
    x ^= x >> 32;
    return x;
}
/* Bytes from the system for seeds; falls back to the clock when there are none. */
uint64_t mk_entropy64(void);

/* String -> dense u32 code in order of first insertion. Single-threaded. */
typedef struct mk_intern {
    const mk_alloc *alloc;
    uint64_t seed;
    uint32_t *slots; /* code + 1, 0 free; power of two */
    size_t slot_count;
    mk_str *strings; /* by code */
    size_t count, cap;
    mk_arena text;
} mk_intern;

void mk_intern_init(mk_intern *table, const mk_alloc *alloc, uint64_t seed);
void mk_intern_free(mk_intern *table);
#define MK_INTERN_NONE UINT32_MAX
uint32_t mk_intern_find(const mk_intern *table, mk_str s); /* MK_INTERN_NONE when absent */
MK_CHECK mk_code mk_intern_add(mk_intern *table, mk_str s, uint32_t *code, mk_err *err);

#endif

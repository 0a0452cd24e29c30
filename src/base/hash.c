/* hash.c — seeded hashing and the interning table. Layer: base. */
#include "base/hash.h"

#include <sys/random.h>
#include <time.h>
#include <xxhash.h>

uint64_t mk_hash64(const void *p, size_t n, uint64_t seed)
{
    return XXH3_64bits_withSeed(p, n, seed);
}

uint64_t mk_checksum64(const void *p, size_t n) { return XXH3_64bits(p, n); }

uint64_t mk_entropy64(void)
{
    uint64_t seed;
    if (getrandom(&seed, sizeof seed, 0) == (ssize_t)sizeof seed)
        return seed;
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return mk_mix64((uint64_t)now.tv_nsec ^ (uint64_t)(uintptr_t)&now);
}

void mk_intern_init(mk_intern *table, const mk_alloc *alloc, uint64_t seed)
{
    *table = (mk_intern){.alloc = alloc, .seed = seed};
    mk_arena_init(&table->text, alloc);
}

void mk_intern_free(mk_intern *table)
{
    mk_free(table->alloc, table->slots, table->slot_count * sizeof *table->slots);
    mk_free(table->alloc, table->strings, table->cap * sizeof *table->strings);
    mk_arena_free(&table->text);
    mk_intern_init(table, table->alloc, table->seed);
}

/* The slot that holds s, or the free one where it would go. The table has free slots. */
static size_t slot_of(const mk_intern *table, mk_str s)
{
    const size_t mask = table->slot_count - 1;
    size_t slot = mk_hash64(s.p, s.n, table->seed) & mask;
    while (table->slots[slot] != 0 && !mk_str_eq(table->strings[table->slots[slot] - 1], s))
        slot = (slot + 1) & mask;
    return slot;
}

uint32_t mk_intern_find(const mk_intern *table, mk_str s)
{
    if (table->count == 0)
        return MK_INTERN_NONE;
    return table->slots[slot_of(table, s)] - 1;
}

static mk_code grow_slots(mk_intern *table, mk_err *err)
{
    const size_t fresh_count = table->slot_count ? table->slot_count * 2 : 64;
    uint32_t *fresh = mk_new0(table->alloc, fresh_count * sizeof *fresh);
    if (fresh == NULL)
        return mk_fail_nomem(err);
    mk_free(table->alloc, table->slots, table->slot_count * sizeof *table->slots);
    table->slots = fresh;
    table->slot_count = fresh_count;
    for (size_t code = 0; code < table->count; code++)
        fresh[slot_of(table, table->strings[code])] = (uint32_t)code + 1;
    return MK_OK;
}

mk_code mk_intern_add(mk_intern *table, mk_str s, uint32_t *code, mk_err *err)
{
    mk_code rc = MK_OK;
    if ((table->count + 1) * 4 > table->slot_count * 3)
        MK_TRY(rc, grow_slots(table, err));
    const size_t slot = slot_of(table, s);
    if (table->slots[slot] != 0) {
        *code = table->slots[slot] - 1;
        goto out;
    }
    if (table->count >= UINT32_MAX - 1) {
        rc = mk_fail(err, MK_E_LIMIT, "more than 2^32-2 distinct strings");
        goto out;
    }
    MK_TRY(rc, mk_grow(table->alloc, (void **)&table->strings, &table->cap, table->count + 1,
                       sizeof *table->strings, err));
    const mk_str copy = mk_arena_copy(&table->text, s);
    if (copy.p == NULL) {
        rc = mk_fail_nomem(err);
        goto out;
    }
    table->strings[table->count] = copy;
    *code = (uint32_t)table->count++;
    table->slots[slot] = *code + 1;
out:
    return rc;
}

/* dict.c — the append-only string dictionary. Layer: store. */
#include "store/dict.h"

#include "base/hash.h"

#define FIRST_SLOTS 1024u

struct mk_dict_table {
    mk_retired retired;
    const mk_alloc *alloc;
    size_t size; /* bytes of this block */
    uint64_t mask;
    _Atomic uint32_t slots[]; /* code + 1; 0 free */
};

static void release_table(mk_retired *self, void *ctx)
{
    (void)ctx;
    mk_dict_table *table = (mk_dict_table *)self;
    mk_free(table->alloc, table, table->size);
}

static mk_dict_table *new_table(const mk_alloc *alloc, uint64_t slots)
{
    const size_t size = sizeof(mk_dict_table) + slots * sizeof(_Atomic uint32_t);
    mk_dict_table *table = mk_new0(alloc, size);
    if (table != NULL) {
        table->alloc = alloc;
        table->size = size;
        table->mask = slots - 1;
    }
    return table;
}

void mk_dict_init(mk_dict *dict, const mk_alloc *alloc, mk_epoch *epoch, uint64_t seed)
{
    *dict = (mk_dict){.alloc = alloc, .epoch = epoch, .seed = seed};
    mk_arena_init(&dict->text, alloc);
}

void mk_dict_free(mk_dict *dict)
{
    mk_dict_table *table = atomic_load(&dict->table);
    if (table != NULL)
        release_table(&table->retired, NULL);
    mk_geo_free(&dict->entries, dict->alloc, sizeof(mk_dict_entry));
    mk_arena_free(&dict->text);
}

uint32_t mk_dict_find(const mk_dict *dict, mk_str s, uint32_t count)
{
    const mk_dict_table *table = atomic_load_explicit(&dict->table, memory_order_acquire);
    if (table == NULL || count == 0)
        return MK_DICT_NONE;
    for (uint64_t slot = mk_hash64(s.p, s.n, dict->seed) & table->mask;;
         slot = (slot + 1) & table->mask) {
        const uint32_t stored = atomic_load_explicit(&table->slots[slot], memory_order_acquire);
        if (stored == 0)
            return MK_DICT_NONE;
        /* Entries at or above `count` may be in the making: do not look at them. */
        if (stored - 1 < count && mk_str_eq(mk_dict_text(dict, stored - 1), s))
            return stored - 1;
    }
}

static void put(mk_dict_table *table, uint64_t hash, uint32_t code)
{
    uint64_t slot = hash & table->mask;
    while (atomic_load_explicit(&table->slots[slot], memory_order_relaxed) != 0)
        slot = (slot + 1) & table->mask;
    atomic_store_explicit(&table->slots[slot], code + 1, memory_order_release);
}

/* A table with that many slots; the old one is retired, as readers may be probing it. */
static mk_code replace_table(mk_dict *dict, uint64_t slots, mk_err *err)
{
    mk_dict_table *old = atomic_load_explicit(&dict->table, memory_order_relaxed);
    mk_dict_table *fresh = new_table(dict->alloc, slots);
    if (fresh == NULL)
        return mk_fail_nomem(err);
    for (uint32_t code = 0; code < dict->count; code++) {
        const mk_str s = mk_dict_text(dict, code);
        put(fresh, mk_hash64(s.p, s.n, dict->seed), code);
    }
    atomic_store_explicit(&dict->table, fresh, memory_order_release);
    if (old != NULL)
        mk_epoch_retire(dict->epoch, &old->retired, release_table, NULL);
    return MK_OK;
}

mk_code mk_dict_reserve(mk_dict *dict, uint32_t count, mk_err *err)
{
    const mk_dict_table *table = atomic_load_explicit(&dict->table, memory_order_relaxed);
    uint64_t slots = table ? table->mask + 1 : FIRST_SLOTS;
    while ((uint64_t)count * 4 > slots * 3)
        slots *= 2;
    if (table != NULL && slots == table->mask + 1)
        return MK_OK;
    return replace_table(dict, slots, err);
}

mk_code mk_dict_add_new(mk_dict *dict, mk_str s, uint32_t *code, mk_err *err)
{
    mk_code rc = MK_OK;
    if (dict->count >= UINT32_MAX - 1 || s.n > UINT32_MAX) {
        rc = mk_fail(err, MK_E_LIMIT, "the dictionary is full: 2^32-2 strings");
        goto out;
    }
    MK_TRY(rc, mk_dict_reserve(dict, dict->count + 1, err));
    MK_TRY(rc, mk_geo_reserve(&dict->entries, dict->alloc, dict->count, sizeof(mk_dict_entry), err));
    const mk_str copy = mk_arena_copy(&dict->text, s);
    if (copy.p == NULL) {
        rc = mk_fail_nomem(err);
        goto out;
    }
    *mk_dict_entry_at(dict, dict->count) = (mk_dict_entry){copy.p, (uint32_t)copy.n, 0};
    *code = dict->count++;
    dict->text_size += s.n;
    put(atomic_load_explicit(&dict->table, memory_order_relaxed),
        mk_hash64(s.p, s.n, dict->seed), *code);
out:
    return rc;
}

mk_code mk_dict_add(mk_dict *dict, mk_str s, uint32_t *code, mk_err *err)
{
    *code = mk_dict_find(dict, s, dict->count);
    return *code != MK_DICT_NONE ? MK_OK : mk_dict_add_new(dict, s, code, err);
}

void mk_dict_undo(mk_dict *dict, uint32_t count)
{
    mk_dict_table *table = atomic_load_explicit(&dict->table, memory_order_relaxed);
    while (dict->count > count) {
        const uint32_t code = --dict->count;
        const mk_str s = mk_dict_text(dict, code);
        dict->text_size -= s.n;
        uint64_t slot = mk_hash64(s.p, s.n, dict->seed) & table->mask;
        while (atomic_load_explicit(&table->slots[slot], memory_order_relaxed) != code + 1)
            slot = (slot + 1) & table->mask;
        atomic_store_explicit(&table->slots[slot], 0, memory_order_release);
    }
}

/* dict.h — strings to dense codes, one writer, lock-free readers. Layer: store.
 *
 * Entities (uids, in registration order) and names (labels, relation types, discriminators, sources)
 * are such dictionaries. Text and entries never move; the hash table is replaced when it grows and
 * the old one retired. Codes at or above a reader's published count do not exist for it, which is what
 * lets a failing batch take its registrations back: newest first, so no probe sequence of an older
 * entry ever runs through a removed slot. */
#ifndef MK_STORE_DICT_H
#define MK_STORE_DICT_H

#include "base/arena.h"
#include "store/epoch.h"
#include "store/geo.h"

typedef struct mk_dict_entry {
    const char *p;
    uint32_t n;
    uint32_t tag; /* free for the owner; entities keep their visibility class here */
} mk_dict_entry;

typedef struct mk_dict_table mk_dict_table;

typedef struct mk_dict {
    const mk_alloc *alloc;
    mk_epoch *epoch;
    uint64_t seed;
    mk_geo entries; /* of mk_dict_entry */
    _Atomic(mk_dict_table *) table;
    uint32_t count; /* the writer's; readers use the published count of their state */
    uint64_t text_size;
    mk_arena text;
} mk_dict;

void mk_dict_init(mk_dict *dict, const mk_alloc *alloc, mk_epoch *epoch, uint64_t seed);
void mk_dict_free(mk_dict *dict);

#define MK_DICT_NONE UINT32_MAX
/* Code below `count`, MK_DICT_NONE when absent. Any thread. */
uint32_t mk_dict_find(const mk_dict *dict, mk_str s, uint32_t count);
/* Code of s, added when new. Writer only. MK_E_LIMIT at 2^32-2 strings. */
MK_CHECK mk_code mk_dict_add(mk_dict *dict, mk_str s, uint32_t *code, mk_err *err);
/* Room for `count` strings in all, so that a load of many does not grow the table step by step. */
MK_CHECK mk_code mk_dict_reserve(mk_dict *dict, uint32_t count, mk_err *err);
/* Adds a string known to be new. Writer only. */
MK_CHECK mk_code mk_dict_add_new(mk_dict *dict, mk_str s, uint32_t *code, mk_err *err);
/* Forgets the newest strings until `count` are left; their text stays allocated. Writer only. */
void mk_dict_undo(mk_dict *dict, uint32_t count);

static inline mk_dict_entry *mk_dict_entry_at(const mk_dict *dict, uint32_t code)
{
    return mk_geo_at(&dict->entries, code, sizeof(mk_dict_entry));
}
static inline mk_str mk_dict_text(const mk_dict *dict, uint32_t code)
{
    const mk_dict_entry *entry = mk_dict_entry_at(dict, code);
    return (mk_str){entry->p, entry->n};
}

#endif

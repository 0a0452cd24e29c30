/* names.c — texts to codes: entities, names, origins, discriminators. Layer: store, internal. */
#include "store/internal.h"

unsigned mk_class_of_uid(mk_str uid)
{
    if (uid.n < 3 || (uid.p[0] != 't' && uid.p[0] != 'o' && uid.p[0] != 'm'))
        return MK_CLASS_USER;
    if (mk_str_starts(uid, MK_STR("tk:")))
        return MK_CLASS_RESOLUTION;
    if (mk_str_starts(uid, MK_STR("okf:")))
        return MK_CLASS_KNOWLEDGE;
    if (mk_str_starts(uid, MK_STR("mn:")))
        return MK_CLASS_NOTE;
    return MK_CLASS_USER;
}

mk_code mk_names__entity_new(mk_store *store, mk_str uid, uint32_t *id, mk_err *err)
{
    const uint32_t next = store->entities.count;
    mk_code rc;
    MK_TRY(rc, mk_geo_reserve(&store->heads, store->alloc, next, sizeof(mk_heads), err));
    MK_TRY(rc, mk_geo_reserve(&store->believed, store->alloc, next, sizeof(uint32_t), err));
    MK_TRY(rc, mk_geo_reserve(&store->degree, store->alloc, next, 2 * sizeof(uint32_t), err));
    MK_TRY(rc, mk_dict_add_new(&store->entities, uid, id, err));
    mk_dict_entry_at(&store->entities, *id)->tag = mk_class_of_uid(uid);
out:
    return rc;
}

mk_code mk_names__entity(mk_store *store, mk_str uid, uint32_t *id, mk_err *err)
{
    *id = mk_dict_find(&store->entities, uid, store->entities.count);
    return *id != MK_DICT_NONE ? MK_OK : mk_names__entity_new(store, uid, id, err);
}

mk_code mk_names__name(mk_store *store, mk_str text, uint32_t *code, mk_err *err)
{
    mk_code rc;
    MK_TRY(rc, mk_dict_add(&store->names, text, code, err));
    rc = mk_geo_reserve(&store->rel_count, store->alloc, *code,
                        MK_CLASS_COUNT * sizeof(_Atomic uint64_t), err);
out:
    return rc;
}

mk_code mk_names__origin(mk_store *store, mk_str source, mk_str ref, bool ref_null, uint32_t *code,
                         mk_err *err)
{
    uint32_t key[2] = {0, MK_NONE};
    mk_code rc;
    /* An empty source reads back as "ingest" (store spec, 5). */
    MK_TRY(rc, mk_names__name(store, source.n ? source : MK_STR("ingest"), &key[0], err));
    if (!ref_null)
        MK_TRY(rc, mk_names__name(store, ref, &key[1], err));
    rc = mk_dict_add(&store->origins, (mk_str){(const char *)key, sizeof key}, code, err);
out:
    return rc;
}

void mk_names__origin_text(const mk_store *store, uint32_t origin, mk_str *source, mk_str *ref,
                           bool *ref_null)
{
    uint32_t key[2];
    memcpy(key, mk_dict_text(&store->origins, origin).p, sizeof key);
    *source = mk_dict_text(&store->names, key[0]);
    *ref_null = key[1] == MK_NONE;
    *ref = *ref_null ? (mk_str){NULL, 0} : mk_dict_text(&store->names, key[1]);
}

int64_t mk_names__numbered(mk_str disc)
{
    if (disc.n < 2 || disc.n > 18 || disc.p[0] != '#' || (disc.p[1] == '0' && disc.n > 2))
        return -1;
    int64_t n = 0;
    for (size_t i = 1; i < disc.n; i++) {
        const unsigned digit = (unsigned char)disc.p[i] - (unsigned)'0';
        if (digit > 9)
            return -1;
        n = n * 10 + digit;
    }
    return n;
}

mk_code mk_names__disc(mk_store *store, mk_str disc, bool null, int64_t *code, mk_err *err)
{
    if (null) {
        *code = MK_DISC_NULL_CODE;
        return MK_OK;
    }
    const int64_t n = mk_names__numbered(disc);
    if (n >= 0) {
        *code = 2 * n;
        if (n >= store->next_disc)
            store->next_disc = n + 1;
        return MK_OK;
    }
    uint32_t name = 0;
    const mk_code rc = mk_names__name(store, disc, &name, err);
    *code = 2 * (int64_t)name + 1;
    return rc;
}

mk_str mk_names__disc_text(const mk_store *store, int64_t disc, char *digits, bool *null)
{
    *null = disc == MK_DISC_NULL_CODE;
    if (*null)
        return (mk_str){NULL, 0};
    if (disc & 1)
        return mk_dict_text(&store->names, (uint32_t)(disc >> 1));
    digits[0] = '#';
    return (mk_str){digits, 1 + mk_i64_text(digits + 1, disc >> 1)};
}

unsigned mk_names__edge_class(const mk_store *store, uint32_t src, uint32_t dst)
{
    const unsigned a = mk_names__class(store, src), b = mk_names__class(store, dst);
    return a > b ? a : b;
}

/* texts.c — interning of borrowed props texts. Layer: store, internal. */
#include "store/texts.h"

#include "base/hash.h"

mk_code mk_texts_code(mk_texts *set, mk_str text, uint32_t *code, mk_err *err)
{
    mk_code rc = MK_OK;
    if (set->count > 0 && mk_str_eq(set->items[set->count - 1], text)) {
        *code = (uint32_t)set->count - 1;
        goto out;
    }
    if ((set->count + 1) * 2 > set->slot_count) {
        const size_t fresh_count = set->slot_count ? set->slot_count * 2 : 256;
        uint32_t *fresh = mk_new0(set->alloc, fresh_count * sizeof *fresh);
        if (fresh == NULL) {
            rc = mk_fail_nomem(err);
            goto out;
        }
        for (size_t i = 0; i < set->count; i++) {
            size_t at = mk_hash64(set->items[i].p, set->items[i].n, set->seed) & (fresh_count - 1);
            while (fresh[at] != 0)
                at = (at + 1) & (fresh_count - 1);
            fresh[at] = (uint32_t)i + 1;
        }
        mk_free(set->alloc, set->slots, set->slot_count * sizeof *set->slots);
        set->slots = fresh;
        set->slot_count = fresh_count;
    }
    size_t at = mk_hash64(text.p, text.n, set->seed) & (set->slot_count - 1);
    while (set->slots[at] != 0 && !mk_str_eq(set->items[set->slots[at] - 1], text))
        at = (at + 1) & (set->slot_count - 1);
    if (set->slots[at] == 0) {
        MK_TRY(rc, mk_grow(set->alloc, (void **)&set->items, &set->cap, set->count + 1,
                           sizeof *set->items, err));
        set->items[set->count++] = text;
        set->slots[at] = (uint32_t)set->count;
    }
    *code = set->slots[at] - 1;
out:
    return rc;
}

void mk_texts_free(mk_texts *set)
{
    mk_free(set->alloc, set->items, set->cap * sizeof *set->items);
    mk_free(set->alloc, set->slots, set->slot_count * sizeof *set->slots);
}

/* texts.h — the distinct props texts of a segment in the making. Layer: store, internal. */
#ifndef MK_STORE_TEXTS_H
#define MK_STORE_TEXTS_H

#include "base/str.h"

typedef struct mk_texts {
    const mk_alloc *alloc;
    uint64_t seed;
    mk_str *items; /* borrowed texts, in order of first use */
    size_t count, cap;
    uint32_t *slots;
    size_t slot_count;
} mk_texts;

void mk_texts_free(mk_texts *texts);
/* Index of `text`, added when new. Runs of one text cost a comparison. */
MK_CHECK mk_code mk_texts_code(mk_texts *texts, mk_str text, uint32_t *code, mk_err *err);

#endif

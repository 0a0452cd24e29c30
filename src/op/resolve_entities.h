/* resolve_entities.h — the kernel of resolve_entities. Layer: op. */
#ifndef MK_OP_RESOLVE_ENTITIES_H
#define MK_OP_RESOLVE_ENTITIES_H

#include "op/registry.h"

typedef struct mk_find_args {
    mk_str query; /* not empty */
    mk_str label; /* p NULL: any; "" is a real filter */
    mk_page page;
} mk_find_args;

/* Matches by (rank, uid), sorted as far as the page needs; rank is the score 0 to 2. */
typedef struct mk_found {
    mk_ranked *list;
    mk_span span;
} mk_found;

/* Source: operators spec, 7.12. The list lives in `arena`, which also takes one byte for each entity
 * of the store. Errors as mk_history_read. */
MK_CHECK mk_code mk_find_entities(mk_view *view, mk_arena *arena, const mk_find_args *args,
                                  mk_guard *guard, mk_found *out, mk_err *err);

#endif

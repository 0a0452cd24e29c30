/* entity_history.h — the kernel of entity_history. Layer: op. */
#ifndef MK_OP_ENTITY_HISTORY_H
#define MK_OP_ENTITY_HISTORY_H

#include "op/registry.h"

typedef struct mk_history_args {
    uint32_t entity;
    mk_page page;
    bool include_edges;
} mk_history_args;

/* Arrays live in the arena given. */
typedef struct mk_history {
    mk_node_ref *rows; /* all believed versions in scan order; the page is [span.start, span.end) */
    mk_span span;
    mk_edge_ref *edges; /* the first edge_shown in scan order */
    size_t edges_shown, edges_total;
} mk_history;

/* Source: operators spec, 7.1. Errors: MK_E_INVALID_ARG (cursor), MK_E_LIMIT, MK_E_CANCELLED,
 * MK_E_NOMEM, and what reading the store gives. */
MK_CHECK mk_code mk_history_read(mk_view *view, mk_arena *arena, const mk_history_args *args,
                                 mk_guard *guard, mk_history *out, mk_err *err);

#endif

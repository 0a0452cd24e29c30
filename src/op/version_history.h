/* version_history.h — the kernel of version_history. Layer: op. */
#ifndef MK_OP_VERSION_HISTORY_H
#define MK_OP_VERSION_HISTORY_H

#include "op/registry.h"
#include "store/versions.h"

typedef struct mk_versions_args {
    bool nodes;             /* else edges */
    unsigned which;         /* a sum of MK_VERSIONS_... */
    mk_edge_filter filter;  /* the window, and relation types when edges are asked for */
    mk_page page;
} mk_versions_args;

typedef struct mk_version_row {
    int64_t vt_s, vt_e;
    uint32_t a, b, name; /* as in mk_version_block */
    uint32_t part, row;
    uint32_t begun, ended; /* batches; ended may be MK_STILL_BELIEVED */
    char vid[24];
} mk_version_row;

/* Rows of the page, by (transaction time, vid); in the arena given. */
typedef struct mk_versions {
    mk_version_row *rows;
    mk_span span;
} mk_versions;

/* Source: operators spec, 7.14. Cost: two passes over the columns; ids (hashes) are made of the batches that
 * the page lies in. Scratch: four bytes a batch, and a row for each up to the end of the page that lies in one
 * of those batches. Errors: MK_E_INVALID_ARG (cursor), MK_E_LIMIT, MK_E_CANCELLED, MK_E_NOMEM, and what reading
 * the store gives. */
MK_CHECK mk_code mk_versions_list(mk_view *view, mk_arena *arena, const mk_versions_args *args,
                                  mk_guard *guard, mk_versions *out, mk_err *err);

#endif

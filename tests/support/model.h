/* model.h — a bi-temporal store that is slow and obviously right. Test support.
 *
 * The oracle for the real store and for three of its operators. It is written from the text of the
 * specification alone: rows in two plain arrays, every question a linear scan, every batch undone by
 * putting the old arrays back. It shares nothing with the engine but src/base: it reads ops as JSON
 * trees, not as the store's own types, so a mistake in decoding shows too.
 *
 * It knows no visibility classes (decisions, section 2) and no log. Running out of memory aborts the
 * test. Source: store spec, sections 2 to 14; operators spec, 2 to 7.2 and 7.12. */
#ifndef MK_TESTS_MODEL_H
#define MK_TESTS_MODEL_H

#include "base/canon.h"
#include "base/timetext.h"

typedef struct model model;

typedef enum model_kind { MODEL_NODE = 0, MODEL_EDGE = 1 } model_kind;

/* One stored version. Texts live as long as the model. */
typedef struct model_row {
    mk_str identity; /* uid of a node, eid of an edge */
    mk_str vid;
    mk_str label; /* nodes only */
    mk_str src, dst, rel_type, disc; /* edges only */
    bool disc_null;                  /* the disc is JSON null, which an event may say */
    int64_t vt_s, vt_e, tt_s, tt_e;
    mk_str props; /* canonical JSON */
    mk_str source;
    mk_str provenance_ref;
    bool provenance_null;
} model_row;

/* Rows picked out of a model; the pointers are good until the next model_apply. */
typedef struct model_list {
    const model_row **rows;
    size_t n;
} model_list;

model *model_new(void);
void model_free(model *m); /* NULL is fine */

/* Applies one batch at `tt`, whole or not at all. False: the batch failed and left no trace but the
 * time; `err` says why as the spec's code: E_NOT_FOUND, E_INVALID_ARG (also every malformed op,
 * store spec, oddity 15), E_STATE when `tt` is not after the last one. Ops are checked and applied
 * one by one, so with several faults the first op's is reported. `ops` is borrowed. */
bool model_apply(model *m, int64_t tt, const mk_json *ops, mk_err *err);
/* The same from JSON text of the ops array; text that does not parse is the test's mistake. */
bool model_apply_text(model *m, int64_t tt, mk_str ops, mk_err *err);

/* Store digest (store spec, section 11): 64 hex digits and a NUL. */
void model_digest(const model *m, char hex[65]);

typedef struct model_stats {
    size_t n_entities, n_node_versions, n_edge_versions, max_out_degree;
    bool has_vt_min, has_vt_max;
    int64_t vt_min, vt_max;
} model_stats;

model_stats model_stats_of(const model *m);
/* All of section 14, rel_type_counts included, as canonical JSON appended to `out`. */
void model_stats_json(const model *m, mk_buf *out);
/* {"vt_max":...,"vt_min":...}: what results echo as dataset_extent. */
void model_extent_json(const model *m, mk_buf *out);

/* Known uids in the order of registration: the index is the dense id. */
size_t model_entity_count(const model *m);
mk_str model_entity(const model *m, size_t index);
bool model_knows(const model *m, mk_str uid);

/* Every stored version of a kind, believed or superseded, in the order of writing. */
const model_row *model_rows(const model *m, model_kind kind, size_t *n);
/* The versions believed at `as_of` (clamped below MK_OPEN_END), of one identity or, when `identity`
 * is NULL, of all, ordered by (vt_s, vid). The list lives in `arena`. */
model_list model_believed(const model *m, mk_arena *arena, model_kind kind, const mk_str *identity,
                          int64_t as_of);
/* Scan order, (vt_s, vid): negative, 0 or positive. */
int model_scan_order(const model_row *x, const model_row *y);
/* The eid of an edge: 24 hex digits and a NUL. */
void model_eid(mk_str src, mk_str dst, mk_str rel_type, mk_str disc, bool disc_null, char eid[25]);

/* Invariant I1: no two versions of one identity overlap in valid time and in belief alike. False
 * with the first offender in *identity. Ingesting may break it (oddity 1), the other ops may not. */
bool model_is_disjoint(const model *m, mk_str *identity);
/* Invariants I3 and I6: every tt is that of an applied batch, and no belief is empty. */
bool model_times_are_real(const model *m);

/* Ceilings of the cost check; 0 stands for the default (operators spec, 5.6). */
typedef struct model_ceilings {
    int64_t rows_scanned_est, expansions_est, time_est_ms;
} model_ceilings;

/* What a call gave. Initialise with model_answer_init; reused by each call. */
typedef struct model_answer {
    bool ok;
    mk_buf payload;  /* canonical, rounded; the bytes that `digest` covers */
    char digest[65]; /* result_digest */
    mk_buf extent;   /* dataset_extent, canonical */
    mk_err error;    /* when not ok */
    mk_buf path;     /* E_SCHEMA: details.path, canonical; otherwise empty */
} model_answer;

void model_answer_init(model_answer *answer);
void model_answer_free(model_answer *answer);

/* The whole call pipeline (operators spec, section 5) for entity_history, snapshot_subgraph and
 * resolve_entities; any other name is an unknown operator. `ceilings` may be NULL. */
void model_call(const model *m, const char *op, const mk_json *args,
                const model_ceilings *ceilings, model_answer *answer);

/* Full Unicode lower case (operators spec, 4.6) appended to `out`. */
void model_lower(mk_buf *out, mk_str text);
bool model_lower_contains(mk_str text, mk_str lower_query);
/* Offset in a cursor; "" is 0. False when it is not an integer. Numbers of more than 18 digits are cut
 * to 18, which is as far past the end, or refused when negative. */
bool model_read_cursor(mk_str cursor, int64_t *offset);

#endif

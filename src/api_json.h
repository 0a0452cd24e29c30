/* api_json.h — the forms that the public library and the program share. Layer: above all folders.
 *
 * Both take write operations as JSON text and give statistics as JSON; what those look like is decided
 * here and nowhere else. Source: store spec, 7.1 and 14. */
#ifndef MK_API_JSON_H
#define MK_API_JSON_H

#include "store/record.h"
#include "store/view.h"

/* For operations that do not say it themselves. n 0: "ingest" and null. */
typedef struct mk_api_origin {
    mk_str source;
    mk_str provenance_ref;
} mk_api_origin;

/* Write operations as a JSON array, or as JSON texts one a line, blank lines aside. The result lives in
 * `arena`. Errors: as mk_op_from_json, with the path "ops[i]...", offsets from the start of the text. */
MK_CHECK mk_code mk_api_read_ops(mk_arena *arena, mk_str text, const mk_api_origin *origin,
                                 mk_op **ops, size_t *count, mk_err *err);

/* Puts an assert_node before each assert_edge whose end has no believed version and is not asserted
 * earlier in the batch: label `label`, no properties, valid from the edge's start on. *ops may be moved
 * within `arena`. Source: store spec, 24, oddity 6. */
MK_CHECK mk_code mk_api_add_endpoints(mk_store *store, mk_arena *arena, mk_str label, mk_op **ops,
                                      size_t *count, mk_err *err);

/* Everything mk_api_stats_json prints. Array and strings live in the arena or as long as the store. */
typedef struct mk_api_stats {
    mk_view_stats view;
    mk_rel_count *rel_types;
    size_t rel_type_count;
    mk_disk_stats disk;
    uint64_t batches, frames;
    mk_tt last_tt;
} mk_api_stats;

MK_CHECK mk_code mk_api_stats_read(mk_store *store, unsigned mask, mk_arena *arena,
                                   mk_api_stats *out, mk_err *err);
void mk_api_stats_json(const mk_store *store, const mk_api_stats *stats, mk_buf *out);
uint64_t mk_api_disk_total(const mk_disk_stats *disk);

/* Writes `args`, an object, with a time added as the member `name`. E_INVALID_ARG when it has one already;
 * text that is no object is copied as it is, for the operator's own checks to refuse. */
MK_CHECK mk_code mk_api_args_add_time(mk_arena *arena, mk_str args, const char *name, int64_t us,
                                      mk_buf *out, mk_err *err);

#endif

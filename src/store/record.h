/* record.h — ops and records as JSON. Layer: store.
 *
 * A record is one line of the log: canonical JSON of {"batch_id","ops","tt"} and LF. The strict reader
 * stands at the door of every write path; the lenient one reads what a replayed log may hold. The
 * writer's bytes are exactly the reference's. Source: store spec, 4, 7.1, 10.2, 10.8, 24. */
#ifndef MK_STORE_RECORD_H
#define MK_STORE_RECORD_H

#include "store/op.h"

/* Limits of STORAGE.md that the door enforces (MK_E_LIMIT). Replay lifts the first three. */
#define MK_STRING_MAX ((size_t)16 << 20)
#define MK_PROPS_MAX ((size_t)1 << 20)
#define MK_BATCH_OPS_MAX 1000000u /* ops, or events of one op */
#define MK_RECORD_MAX ((size_t)256 << 20)

/* ---- the door ---- */

/* One op from JSON, strictly: unknown members, missing members, wrong types, empty uids or sources,
 * times beyond +-2^62 and empty intervals are refused, defaults filled in. `path` such as "ops[3]"
 * is put before the member's name in err->path. Everything lives in `arena` or in the tree.
 * Errors: MK_E_SCHEMA (shape), MK_E_INVALID_ARG (value), MK_E_LIMIT, MK_E_NOMEM. */
MK_CHECK mk_code mk_op_from_json(const mk_json *json, mk_arena *arena, const char *path, mk_op *out,
                                 mk_err *err);

/* The same rules for an op made by C callers: non-empty uid, source and refs, UTF-8, times, intervals,
 * sizes, event discriminators that would give one vid twice in the batch (oddity 2), reserved
 * prefixes tk: okf: mn: unless allowed (decisions.md 2). `index` is its place for "ops[i]...". Props
 * must be canonical JSON already; this is checked. */
MK_CHECK mk_code mk_op_check(const mk_op *op, size_t index, bool allow_reserved, mk_arena *scratch,
                             mk_err *err);

/* ---- records ---- */

typedef struct mk_record {
    mk_tt tt;
    mk_op *ops;
    size_t op_count;
    char batch_id[17]; /* as in the line, NUL-terminated */
    bool malformed;    /* an op the reference would crash on: a failed batch, `why` says which */
    mk_err why;
} mk_record;

/* Reads a line (without or with its LF). Strings are slices of `line` where it has no escapes, else in
 * `arena`. With check_id the batch_id is compared with the hash of the content (a slice of the line
 * when that is canonical, else the content is put in canonical form first). `canonical` (may be
 * NULL) tells whether the line is in canonical form byte for byte; props of a non-canonical line are
 * re-made in canonical form.
 * Errors: MK_E_STATE (not a record, wrong id; reason "damaged"), MK_E_NOMEM. A malformed op is no
 * error of the line. */
MK_CHECK mk_code mk_record_read(mk_arena *arena, mk_str line, bool check_id, mk_record *out,
                                bool *canonical, mk_err *err);

/* Appends the whole line, LF included, and its batch_id computed over the content. */
MK_CHECK mk_code mk_record_write(mk_buf *out, const mk_op *ops, size_t count, mk_tt tt, mk_err *err);

/* Appends one op as canonical JSON. */
void mk_op_write(mk_buf *out, const mk_op *op);

#endif

/* keep.h — a bounded table of what was served. Layer: serve.
 *
 * Results are kept by digest, traces and answers by id, so that a client can read again or refer to what it
 * was given. The least recently used leave first. What one principal made, others do not find.
 * Source: serving spec, 6; decisions.md 8, 11. */
#ifndef MK_SERVE_KEEP_H
#define MK_SERVE_KEEP_H

#include "base/arena.h"

#define MK_KEEP_ENTRIES 256u
#define MK_KEEP_BYTES ((size_t)64 << 20)

typedef struct mk_keep mk_keep;

/* What is kept of one thing; the texts are copied. */
typedef struct mk_kept {
    mk_str kind;      /* "result", "trace", "answer" */
    mk_str id;        /* digest or handle */
    mk_str principal; /* who may read it */
    mk_str text;      /* canonical JSON */
    mk_str op, args;  /* of a result: the call it came from, filled arguments as canonical JSON */
    mk_str gaps;      /* of a result: its completeness, canonical JSON */
    int64_t tt;       /* of a result: the transaction time it was computed at */
} mk_kept;

MK_CHECK mk_code mk_keep_open(const mk_alloc *alloc, size_t entries_max, size_t bytes_max, mk_keep **out,
                              mk_err *err);
void mk_keep_close(mk_keep *keep); /* NULL is fine */

/* Any thread. What is larger than the whole table is not kept, and putting the same again makes it the
 * newest. A table that has no memory keeps nothing, which is no error. */
void mk_keep_put(mk_keep *keep, const mk_kept *what);
/* Copies into `arena`. MK_E_NOT_FOUND, also for what others made; MK_E_NOMEM. */
MK_CHECK mk_code mk_keep_get(mk_keep *keep, mk_str kind, mk_str id, mk_str principal, mk_arena *arena,
                             mk_kept *out, mk_err *err);

/* Everything of a kind that a principal made, the newest first, copied into `arena`. */
MK_CHECK mk_code mk_keep_list(mk_keep *keep, mk_str kind, mk_str principal, mk_arena *arena, mk_kept **out,
                              size_t *count, mk_err *err);

#endif

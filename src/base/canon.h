/* canon.h — canonical JSON, to the byte. Layer: base.
 *
 * Ids, digests and log records hash this form: no white space, members sorted by code point,
 * shortest doubles in the reference's layout, raw UTF-8 but for `"`, `\` and control characters.
 * Source: store spec, section 3; operators spec, 3.2 to 3.4. */
#ifndef MK_BASE_CANON_H
#define MK_BASE_CANON_H

#include "base/json.h"

/* Quoted and escaped. The text must be UTF-8 (readers have checked it). */
void mk_canon_string(mk_buf *out, mk_str text);
void mk_canon_double(mk_buf *out, double d);
/* A tree; members are sorted in a scratch array inside `arena` (may be NULL only for flat values).
 * Errors: MK_E_NOMEM (also sticky in `out`). Non-finite doubles print NaN, Infinity, -Infinity. */
MK_CHECK mk_code mk_canon_tree(mk_buf *out, mk_arena *arena, const mk_json *value, mk_err *err);
/* Text to canonical text in one go; when `text` is canonical already the result is equal to it. */
MK_CHECK mk_code mk_canon_text(mk_buf *out, mk_arena *arena, mk_str text,
                               const mk_json_limits *limits, mk_err *err);

/* {"error","message","details"} for an error value; details has path, hint, reason, offset, retry
 * where set, and the extra members. */
void mk_err_json(mk_buf *out, const mk_err *err);

/* Replaces every float of the tree by itself rounded to 9 decimals, ties to even on the exact value
 * (operators spec, 3.4). False when a float is not finite; the tree is then partly rounded. */
bool mk_json_round9(mk_json *value);
double mk_round9(double d);

#endif

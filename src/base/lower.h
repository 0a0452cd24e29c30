/* lower.h — lower-casing as name lookup means it. Layer: base.
 *
 * The full default mapping of Unicode 15: U+0130 becomes `i` and U+0307, and a capital sigma at the
 * end of a word becomes the final one. Source: operators spec, 4.6; Unicode 15.0, section 3.13 and
 * SpecialCasing.txt. */
#ifndef MK_OP_LOWER_H
#define MK_OP_LOWER_H

#include "base/str.h"

/* Appends the lower-case form of UTF-8 `text`. Out of memory shows in `out`. Bytes that are not UTF-8
 * are copied. */
void mk_lower(mk_buf *out, mk_str text);
/* Whether lower-case `needle` occurs in the lower-case form of `text`; `scratch` is overwritten, and
 * out of memory shows in it and stays until it is cleared. An empty needle always occurs. */
bool mk_lower_contains(mk_buf *scratch, mk_str text, mk_str needle);

#endif

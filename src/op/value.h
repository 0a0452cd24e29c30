/* value.h — how JSON values are compared. Layer: op.
 *
 * Integers of any size, floats and booleans are one kind of thing: 1, 1.0 and true are equal, and an
 * integer is compared with a float by their exact values. Source: operators spec, 4.1, 4.3. */
#ifndef MK_OP_VALUE_H
#define MK_OP_VALUE_H

#include "base/json.h"

/* INT of any size, FLOAT or BOOL. */
bool mk_is_numeric(const mk_json *value);
/* INT of any size or FLOAT; booleans are no numbers for arithmetic. */
bool mk_is_number(const mk_json *value);

/* Exact order of two numeric values: negative, 0, positive; *unordered (may be NULL) when one is NaN. */
int mk_number_compare(const mk_json *a, const mk_json *b, bool *unordered);
/* Of two integers, of any size. */
int mk_integer_compare(const mk_json *a, const mk_json *b);

/* Equality of operators spec, 4.3; NaN equals nothing. Recursion is bounded by the reader's depth. */
bool mk_value_equal(const mk_json *a, const mk_json *b);

/* Null, boolean, number or string: what may be a key. */
bool mk_is_scalar(const mk_json *value);
/* Equal scalars hash alike, whatever their kinds. */
uint64_t mk_scalar_hash(const mk_json *value, uint64_t seed);
/* Order of keys (4.4): null, booleans, floats, integers, strings; inside a kind the natural order. */
int mk_key_compare(const mk_json *a, const mk_json *b);

/* The text form T (4.5): a string as it is, everything else as the reference writes it. */
void mk_value_text(mk_buf *out, const mk_json *value);

#endif

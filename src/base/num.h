/* num.h — doubles to text and back, exact and without a locale. Layer: base. No allocation. */
#ifndef MK_BASE_NUM_H
#define MK_BASE_NUM_H

#include "base/str.h"

#define MK_DOUBLE_TEXT_MAX 32

/* Shortest digits that read back to d, nearest to d among those, in the layout of the store spec,
 * section 3 (1.0, 1e+16, 1e-05, -0.0; NaN, Infinity, -Infinity). At least MK_DOUBLE_TEXT_MAX bytes at
 * p; returns the number written, no NUL. */
size_t mk_double_text(char *p, double d);

/* A JSON number token (with or without fraction and exponent) to the nearest double, ties to even,
 * for any number of digits; overflow gives infinity, underflow 0 or a subnormal. The token must be
 * well-formed. */
double mk_double_parse(mk_str token);

#endif

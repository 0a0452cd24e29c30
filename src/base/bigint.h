/* bigint.h — integers of any size, for the few that need it. Layer: base.
 *
 * Sign and magnitude in 32-bit limbs, least significant first, schoolbook algorithms (Knuth, vol. 2,
 * 4.3.1). Numbers have at most some thousand digits, so nothing cleverer would show. Everything lives in
 * the arena given; results never share limbs with operands. NULL is out of memory. */
#ifndef MK_BASE_BIGINT_H
#define MK_BASE_BIGINT_H

#include "base/arena.h"

typedef struct mk_big {
    bool minus;     /* never of zero */
    size_t n;       /* limbs without leading zeros; 0 is zero */
    uint32_t *limb;
} mk_big;

MK_CHECK bool mk_big_from_i64(mk_big *out, mk_arena *arena, int64_t value);
/* Decimal digits with an optional '-'; well-formed. */
MK_CHECK bool mk_big_from_digits(mk_big *out, mk_arena *arena, mk_str digits);
/* *fits: the value as an int64. Otherwise decimal digits in the arena. */
MK_CHECK bool mk_big_to_text(const mk_big *a, mk_arena *arena, bool *fits, int64_t *value,
                             mk_str *digits);
/* The nearest double, ties to even; infinite when beyond all doubles. */
MK_CHECK bool mk_big_to_double(const mk_big *a, mk_arena *arena, double *out);

MK_CHECK bool mk_big_add(mk_big *out, mk_arena *arena, const mk_big *a, const mk_big *b);
MK_CHECK bool mk_big_sub(mk_big *out, mk_arena *arena, const mk_big *a, const mk_big *b);
MK_CHECK bool mk_big_mul(mk_big *out, mk_arena *arena, const mk_big *a, const mk_big *b);
/* a = q b + r, r with the sign of b (floor division); b is not zero. */
MK_CHECK bool mk_big_floordiv(mk_big *q, mk_big *r, mk_arena *arena, const mk_big *a, const mk_big *b);
/* The correctly rounded quotient of two integers; b is not zero. */
MK_CHECK bool mk_big_quotient(double *out, mk_arena *arena, const mk_big *a, const mk_big *b);

#endif

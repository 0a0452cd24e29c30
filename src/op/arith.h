/* arith.h — arithmetic on JSON numbers, exact for integers of any size. Layer: op.
 *
 * Integers stay integers as long as the operation allows; with a float in it the other operand becomes the
 * nearest double. Digits of results beyond int64 live in the arena. Operands are INT or FLOAT.
 * Errors: MK_E_INVALID_ARG for an integer beyond doubles where one is needed, and for a divisor of zero;
 * MK_E_NOMEM. Source: operators spec, 4.1, 4.2. */
#ifndef MK_OP_ARITH_H
#define MK_OP_ARITH_H

#include "base/json.h"

MK_CHECK mk_code mk_arith_add(const mk_json *a, const mk_json *b, mk_arena *arena, mk_json *out, mk_err *err);
MK_CHECK mk_code mk_arith_sub(const mk_json *a, const mk_json *b, mk_arena *arena, mk_json *out, mk_err *err);
MK_CHECK mk_code mk_arith_mul(const mk_json *a, const mk_json *b, mk_arena *arena, mk_json *out, mk_err *err);
/* The quotient rule Q: an integer when it divides, else a float. */
MK_CHECK mk_code mk_arith_div(const mk_json *a, const mk_json *b, mk_arena *arena, mk_json *out, mk_err *err);
/* Towards minus infinity; floats by the reference's float floor division. */
MK_CHECK mk_code mk_arith_floordiv(const mk_json *a, const mk_json *b, mk_arena *arena, mk_json *out,
                                   mk_err *err);
/* The nearest double. */
MK_CHECK mk_code mk_arith_double(const mk_json *a, mk_arena *arena, double *out, mk_err *err);

/* The plain sum: from the left, integers exactly, floats compensated (Neumaier 1974) from the first on. An
 * empty list gives the integer 0. */
MK_CHECK mk_code mk_arith_sum(const mk_json *const *values, size_t n, mk_arena *arena, mk_json *out,
                              mk_err *err);
/* MEAN: Q of the exact sum when all are integers, else the exactly rounded sum divided once. n > 0. */
MK_CHECK mk_code mk_arith_mean(const mk_json *const *values, size_t n, mk_arena *arena, mk_json *out,
                               mk_err *err);

#endif

/* aggregate_mean.h — the exact mean of numbers that come one by one, in any order. Layer: op.
 *
 * MEAN of the operators spec, 4.2: an exact quotient as long as all values are integers of any size, and
 * from the first float on the exactly rounded sum divided by the count. Sums are kept exact, as arrays of
 * 32-bit digits in 64-bit cells, so neither order nor grouping of the values can show in the result.
 * Source: R. Neal 2015, "Fast exact summation using small and large superaccumulators"; Knuth, vol. 2,
 * 4.3.1. */
#ifndef MK_OP_AGGREGATE_MEAN_H
#define MK_OP_AGGREGATE_MEAN_H

#include "base/arena.h"

/* Zeroed: no values yet. What it grows to lives in the arenas given. */
typedef struct mk_mean {
    uint64_t n;
    __int128 small;       /* sum of integers that a double holds exactly */
    bool floats;          /* a float has come */
    double special;       /* sum of the values that are not finite; 0: none came */
    struct mk_mean_cells *whole; /* sum of the other integers; NULL: 0 */
    struct mk_mean_cells *real;  /* sum of the floats, and of the other integers as doubles; NULL: 0 */
} mk_mean;

MK_CHECK mk_code mk_mean_int(mk_mean *mean, mk_arena *arena, int64_t value, mk_err *err);
/* Decimal digits with an optional '-'. */
MK_CHECK mk_code mk_mean_digits(mk_mean *mean, mk_arena *arena, mk_str digits, mk_err *err);
MK_CHECK mk_code mk_mean_float(mk_mean *mean, mk_arena *arena, double value, mk_err *err);
/* Adds the values of `from`. */
MK_CHECK mk_code mk_mean_merge(mk_mean *into, mk_arena *arena, const mk_mean *from, mk_err *err);

typedef enum mk_mean_kind { MK_MEAN_NONE, MK_MEAN_INT, MK_MEAN_DIGITS, MK_MEAN_FLOAT } mk_mean_kind;
typedef struct mk_mean_result {
    mk_mean_kind kind; /* NONE: no values */
    int64_t i;
    mk_str digits; /* in the arena */
    double d;      /* not finite when a value was not, or the sum is beyond doubles */
} mk_mean_result;
MK_CHECK mk_code mk_mean_result_of(const mk_mean *mean, mk_arena *arena, mk_mean_result *out,
                                   mk_err *err);

#endif

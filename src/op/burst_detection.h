/* burst_detection.h — buckets whose count stands out from those just before. Layer: op.
 *
 * Source: operators spec, 7.9; O-12. */
#ifndef MK_OP_BURST_DETECTION_H
#define MK_OP_BURST_DETECTION_H

#include "op/series.h"

typedef struct mk_burst_args {
    size_t history;   /* buckets looked back at, 2 to 500 */
    double threshold; /* least score */
    bool ratio;       /* by the median; otherwise by mean and standard deviation */
} mk_burst_args;

typedef struct mk_burst {
    size_t bucket;
    double score; /* rounded to nine decimals, as it was compared */
} mk_burst;

/* Bursts in time order; room for n of them in `out`. Bucket 0 has no history and is none. */
size_t mk_burst_find(const double *values, size_t n, const mk_burst_args *args, mk_burst *out);
/* Pairwise summation in the reference's order, so that scores agree to the last bit. */
double mk_pairwise_sum(const double *values, size_t n);

#endif

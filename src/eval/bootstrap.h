/* bootstrap.h — how far a difference between two systems can be trusted. Layer: eval.
 *
 * Paired bootstrap: tasks are drawn again and again with repetition, and the differences of their scores are
 * averaged. Tasks that belong together (a pair of probes, the seeds of one task) are to be averaged into one
 * score first: draws treat tasks as independent. Draws repeat those of the reference.
 * Source: evaluation spec, 15; Efron and Tibshirani 1993, ch. 13. */
#ifndef MK_EVAL_BOOTSTRAP_H
#define MK_EVAL_BOOTSTRAP_H

#include "base/alloc.h"

#define MK_BOOTSTRAP_ROUNDS 10000
#define MK_BOOTSTRAP_WORK_MAX (UINT64_C(1) << 33) /* draws: about half a minute */

/* Members of 0: the default. */
typedef struct mk_bootstrap_options {
    size_t rounds; /* MK_BOOTSTRAP_ROUNDS */
    double level;  /* of confidence: 0.95 */
    uint64_t seed;
} mk_bootstrap_options;

typedef struct mk_bootstrap {
    double difference;   /* mean of a[i] - b[i] */
    double lower, upper; /* of the interval of confidence */
    bool significant;    /* the interval leaves out zero */
} mk_bootstrap;

/* `a` and `b` are the scores of two systems on the same `count` tasks. `options` may be NULL.
 * Errors: MK_E_INVALID_ARG (no task, a level outside 0 to 1), MK_E_LIMIT (count times rounds), MK_E_NOMEM. */
MK_CHECK mk_code mk_bootstrap_paired(const double *a, const double *b, size_t count,
                                     const mk_bootstrap_options *options, const mk_alloc *alloc,
                                     mk_bootstrap *out, mk_err *err);

#endif

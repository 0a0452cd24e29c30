/* bench.h — the cross-system registry and the operator micro-benchmark. Layer: eval.
 *
 * Source: evaluation spec, 19 to 21. No cell is timed before its answer is hashed; the hash covers the
 * payload without its cursor, so that systems with other cursors can be compared. */
#ifndef MK_EVAL_BENCH_H
#define MK_EVAL_BENCH_H

#include "op/call.h"

typedef enum mk_bench_suite {
    MK_BENCH_REGISTRY, /* 13 queries on the registry data set of `scale` events (20) */
    MK_BENCH_OPS       /* 12 cases on the v1 stream of `scale` events and scale / 50 nodes (19) */
} mk_bench_suite;

typedef enum mk_bench_verdict {
    MK_BENCH_MEASURED,
    MK_BENCH_GUARDRAILED, /* declined by the cost policy */
    MK_BENCH_FAILED
} mk_bench_verdict;

typedef struct mk_bench_row {
    const char *query; /* "hist.single", "entity_history base" */
    mk_bench_verdict verdict;
    const char *why;      /* of a call that was not measured: its error */
    double p50_ms, p95_ms; /* after warming up, in process */
    double cpu_ms; /* median CPU time of the same calls, all threads: what a busy machine disturbs least */
    double cold_ms;       /* the first call of a store just opened, its files in the page cache */
    double cold_disk_ms; /* the same with its files dropped from the page cache, as far as the system obeys */
    double one_thread_ms; /* median on one core, where the operator may take several threads; else 0 */
    int64_t rows;         /* rows_total; else the sum of the totals; else count; else rows */
    char hash[33];        /* 32 hex digits and a NUL */
    bool has_published, as_published;
    size_t memory; /* scratch that the call took */
} mk_bench_row;

typedef void mk_bench_row_fn(void *ctx, const mk_bench_row *row);
/* Events written so far, of scale; may be NULL. */
typedef void mk_bench_progress_fn(void *ctx, uint64_t done, uint64_t total);

/* Writes the data set into a new store at `dir`, registry with the test clock of evaluation spec, 21.
 * Errors: those of opening and writing; MK_E_STATE when there is a store already. */
MK_CHECK mk_code mk_bench_make(const char *dir, mk_bench_suite suite, uint64_t scale,
                               mk_bench_progress_fn *progress, void *ctx, mk_err *err);
/* Runs the suite against it; `each` gets a row as soon as it is known. Times are wall times.
 * Errors: those of opening; MK_E_NOMEM. A call that fails is a row. */
MK_CHECK mk_code mk_bench_run(const char *dir, mk_bench_suite suite, uint64_t scale,
                              mk_bench_row_fn *each, void *ctx, mk_err *err);

/* The registry's queries, for other systems to be asked: name, operator, arguments as JSON. */
typedef mk_code mk_bench_query_fn(void *ctx, const char *name, const char *op, mk_str args, mk_err *err);
MK_CHECK mk_code mk_bench_queries(uint64_t scale, mk_bench_query_fn *each, void *ctx, mk_err *err);

#endif

/* metrics.h — counters of a server as Prometheus text. Layer: serve.
 *
 * All labels come from closed sets, never from what a client sends. Source: serving spec, 10. */
#ifndef MK_SERVE_METRICS_H
#define MK_SERVE_METRICS_H

#include <stdatomic.h>

#include "op/registry.h"

#define MK_METRIC_OPS 64
#define MK_METRIC_ROUTES 48
#define MK_METRIC_METHODS 20
#define MK_METRIC_BUCKETS 12

typedef struct mk_histogram {
    _Atomic uint64_t counts[MK_METRIC_BUCKETS + 1];
    _Atomic uint64_t sum_us;
} mk_histogram;

typedef struct mk_metrics {
    mk_histogram ops[MK_METRIC_OPS][2];                /* by operator; outcome: ok, error */
    _Atomic uint64_t http[MK_METRIC_ROUTES + 1][5];    /* by route (the last: none), by class of status */
    _Atomic uint64_t mcp[MK_METRIC_METHODS + 1][2][2]; /* by method, era (legacy, modern), outcome */
    _Atomic int64_t sessions;
} mk_metrics;

void mk_metrics_op(mk_metrics *m, const mk_operator *op, int64_t us, bool ok);
void mk_metrics_http(mk_metrics *m, size_t route, unsigned status);
void mk_metrics_mcp(mk_metrics *m, mk_str method, bool modern, bool ok);

/* What the metrics do not know themselves. */
typedef struct mk_metrics_facts {
    const char *version;
    const char *const *routes; /* their paths */
    size_t route_count;
    bool has_store;
    int64_t last_tt, versions, log_bytes;
} mk_metrics_facts;

void mk_metrics_text(const mk_metrics *m, const mk_metrics_facts *facts, mk_buf *out);

#endif

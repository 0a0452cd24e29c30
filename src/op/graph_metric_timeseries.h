/* graph_metric_timeseries.h — one number of the graph for every bucket of a window. Layer: op.
 *
 * Source: operators spec, 7.8. */
#ifndef MK_OP_GRAPH_METRIC_TIMESERIES_H
#define MK_OP_GRAPH_METRIC_TIMESERIES_H

#include "op/series.h"

typedef enum mk_metric {
    MK_METRIC_NODE_COUNT,
    MK_METRIC_EDGE_EVENT_COUNT,
    MK_METRIC_ACTIVE_EDGE_COUNT,
    MK_METRIC_MEAN_OUT_DEGREE, /* active edges by valid nodes, whatever the edges' ends (O-10) */
    MK_METRIC_NEW_NODE_RATE,
    MK_METRIC_RECIPROCITY /* of distinct ordered pairs; a self-loop counts (O-11) */
} mk_metric;

/* Values by bucket: of the last and the one before it doubles, of all others counts. */
typedef struct mk_metric_series {
    bool is_float;
    uint64_t *counts;
    double *values;
} mk_metric_series;

MK_CHECK mk_code mk_metric_run(mk_view *view, mk_arena *arena, const mk_buckets *buckets,
                               mk_metric metric, mk_guard *guard, mk_metric_series *out, mk_err *err);

#endif

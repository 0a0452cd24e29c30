/* operators.h — the list of all operators. Layer: op.
 *
 * One line here and one file beside it make an operator. Sorted by name; a test holds the order. */
#ifndef MK_OP_OPERATORS_H
#define MK_OP_OPERATORS_H

#include "op/registry.h"

#define MK_OPERATORS(X) \
    X(aggregate_events) \
    X(burst_detection) \
    X(co_active) \
    X(compute) \
    X(count_temporal_motifs) \
    X(diff_snapshots) \
    X(entity_history) \
    X(find_temporal_motif_instances) \
    X(graph_metric_timeseries) \
    X(neighborhood_evolution) \
    X(resolve_entities) \
    X(snapshot_subgraph) \
    X(temporal_paths) \
    X(temporal_reachability) \
    X(temporal_reachability_to) \
    X(version_history)

#define MK_OPERATOR_DECLARE(name) extern const mk_operator mk_operator_##name;
MK_OPERATORS(MK_OPERATOR_DECLARE)
#undef MK_OPERATOR_DECLARE

#endif

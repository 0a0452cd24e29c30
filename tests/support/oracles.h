/* oracles.h — the list of all oracles, sorted by name. Test support. */
#ifndef MK_TESTS_ORACLES_H
#define MK_TESTS_ORACLES_H

#include "oracle.h"

#define MK_ORACLES(X) \
    X(aggregate_events) \
    X(burst_detection) \
    X(co_active) \
    X(count_temporal_motifs) \
    X(compute) \
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

#define MK_ORACLE_DECLARE(name) extern const oracle oracle_##name;
MK_ORACLES(MK_ORACLE_DECLARE)
#undef MK_ORACLE_DECLARE

#endif

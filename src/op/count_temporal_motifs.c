/* count_temporal_motifs.c — how often three edges follow each other in a pattern. Layer: op. */
#include "op/count_temporal_motifs.h"

#include "op/operators.h"

mk_code mk_motifs_count(mk_view *view, mk_arena *arena, const mk_motif_args *args, mk_guard *guard,
                        mk_motif_counts *out, mk_err *err)
{
    const mk_arena_mark mark = mk_arena_save(arena);
    mk_motif_events events;
    mk_code rc;

    MK_TRY(rc, mk_motif_gather(view, arena, args, false, guard, &events, err));
    MK_TRY(rc, mk_motif_count(&events, args->motif, arena, guard, NULL, &out->count, err));
    out->events = events.total;

out:
    mk_arena_rewind(arena, mark);
    return rc;
}

/* ---- glue ---- */

static mk_code run_count_temporal_motifs(mk_run *run, mk_err *err)
{
    mk_motif_args args;
    mk_motif_counts counts;
    mk_code rc;

    MK_TRY(rc, mk_motif_read_args(run, &args, err));
    MK_TRY(rc, mk_motifs_count(run->view, run->arena, &args, run->guard, &counts, err));
    mk_payload_int(run->out, "count", counts.count);
    mk_payload_int(run->out, "n_events_in_window", (int64_t)counts.events);
    mk_payload_bool(run->out, "truncated", false);

out:
    return rc;
}

static const mk_arg args_count_temporal_motifs[] = {
    MK_MOTIF_ARGS,
    {0},
};

static const mk_field fields_count_temporal_motifs[] = {
    {.name = "count", .type = MK_FIELD_INTEGER, .doc = "Number of instances."},
    {.name = "n_events_in_window",
     .type = MK_FIELD_INTEGER,
     .doc = "Believed edges that start in the window and pass node_filter."},
    MK_FIELD_TRUNCATED("Always false: counts are exact."),
    {0},
};

const mk_operator mk_operator_count_temporal_motifs = {
    .name = "count_temporal_motifs",
    .group = "graph",
    .summary = "how often three edges follow each other in a pattern within some time",
    .help = "Edges are those that start in the window, whatever their relation type; a corrected edge "
            "counts as its parts. The three are in strict order of start, equal starts by eid, and the "
            "third starts at most delta after the first. All nodes of a pattern are different.",
    .example = "{\"delta\":15,\"motif\":\"M_triangle_cyclic\",\"window\":{\"t_a\":0,\"t_b\":100}}",
    .args = args_count_temporal_motifs,
    .fields = fields_count_temporal_motifs,
    .cost = mk_motif_cost,
    .validate = mk_motif_validate,
    .run = run_count_temporal_motifs,
};

/* motif_args.c — arguments, checks and cost of both motif operators. Layer: op. */
#include "op/motif.h"

const char *const mk_motif_names[] = {
    [MK_MOTIF_TRIANGLE_CYCLIC] = "M_triangle_cyclic",
    [MK_MOTIF_TRIANGLE_ACYCLIC_1] = "M_triangle_acyclic_1",
    [MK_MOTIF_PINGPONG] = "M_2node_pingpong",
    [MK_MOTIF_STAR_OUT_3] = "M_star_out_3",
    [MK_MOTIF_PATH_3] = "M_path_3",
    NULL,
};

const char *const mk_motif_modes[] = {"exact", "sample", NULL};

static mk_motif motif_of(const mk_json *args)
{
    const mk_str name = mk_arg_str(args, "motif");
    size_t i = 0;
    while (!mk_str_eq(name, mk_str_of(mk_motif_names[i])))
        i++;
    return (mk_motif)i;
}

static mk_code read_nodes(const mk_run *run, mk_motif_args *args, mk_err *err)
{
    const mk_json *list = mk_json_get(run->args, "node_filter");
    uint32_t *nodes = mk_arena_get(run->arena, list->n * sizeof *nodes); /* at most 10,000 */
    if (nodes == NULL)
        return mk_fail_nomem(err);
    for (size_t i = 0; i < list->n; i++) {
        nodes[i] = mk_view_entity(run->view, list->items[i].text);
        if (nodes[i] == MK_NO_ID)
            return mk_fail_uid(run, list->items[i].text, "node_filter", (int64_t)i, err);
    }
    args->filtered = true;
    args->nodes = nodes;
    args->node_count = list->n;
    return MK_OK;
}

mk_code mk_motif_read_args(const mk_run *run, mk_motif_args *out, mk_err *err)
{
    const mk_json *window = mk_json_get(run->args, "window");
    *out = (mk_motif_args){
        .motif = motif_of(run->args),
        .delta = mk_arg_i64(run->args, "delta"),
        .t_a = {mk_arg_i64(window, "t_a")},
        .t_b = {mk_arg_i64(window, "t_b")},
    };
    return mk_arg_is_null(run->args, "node_filter") ? MK_OK : read_nodes(run, out, err);
}

mk_code mk_motif_validate(const mk_json *args, mk_err *err)
{
    const mk_code rc = mk_validate_window(args, err);
    if (rc != MK_OK || mk_str_eq(mk_arg_str(args, "mode"), MK_STR("exact")))
        return rc;
    mk_fail(err, MK_E_INVALID_ARG, "mode 'sample' is not implemented");
    mk_err_path(err, "mode");
    mk_err_hint(err, "leave mode out, or say \"exact\": counting exactly is fast");
    return MK_E_INVALID_ARG;
}

/* Events that are expected in the window, with the filter's share of them. */
static int64_t expected_events(const mk_cost_input *in, double fraction, bool filtered, size_t named)
{
    const int64_t versions = (int64_t)in->stats.edge_versions;
    const int64_t entities = in->stats.entities > 0 ? (int64_t)in->stats.entities : 1;
    const int64_t all = (int64_t)((double)versions * fraction);
    if (!filtered)
        return all;
    const double mean = mk_cost_quotient(versions, entities);
    const double degree = mean > 1.0 ? mean : 1.0;
    const int64_t some = (int64_t)(((double)named * degree) * fraction) + 1;
    return some < all ? some : all;
}

/* Source: operators spec, 5.6, "Pairs"; an empty filter is priced like none (oddity O-26). */
void mk_motif_cost(const mk_cost_input *in, mk_cost *out)
{
    const double pairs_max = 1099511627776.0; /* 2^40 */
    const mk_json *filter = mk_json_get(in->args, "node_filter");
    const bool filtered = filter != NULL && filter->kind == MK_JSON_ARRAY && filter->n > 0;
    const double fraction = mk_cost_window_fraction(in);
    const int64_t events = expected_events(in, fraction, filtered, filtered ? filter->n : 0);
    int64_t span = 0;
    if (in->stats.has_extent && in->stats.vt_max > in->stats.vt_min)
        span = (int64_t)((double)(in->stats.vt_max - in->stats.vt_min) * fraction);
    double density = span > 0 ? mk_cost_quotient(mk_arg_i64(in->args, "delta"), span) : 1.0;
    density = density < 1.0 ? density : 1.0;

    const unsigned __int128 square = (unsigned __int128)(uint64_t)events * (uint64_t)events;
    const double pairs = (double)square * density / 2.0;
    out->rows_scanned_est = (int64_t)in->stats.edge_versions;
    out->expansions_est = (int64_t)(pairs < pairs_max ? pairs : pairs_max);
    const double each = filtered ? 20.0 : 0.3;
    const double ms = ((double)out->rows_scanned_est * 55.0 + (double)out->expansions_est * each) /
                      1000000.0;
    out->time_est_ms = (int64_t)ms;
}

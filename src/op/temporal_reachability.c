/* temporal_reachability.c — whom something could have reached, and when. Layer: op.
 *
 * The kernels are in arrival.c and arrival_bounded.c. Source: operators spec, 7.4. */
#include "op/arrival.h"
#include "op/operators.h"

static const char *const directions[] = {"out", "in", "both", NULL};

static mk_arcs arcs_of(const mk_json *args)
{
    const mk_str direction = mk_arg_str(args, "direction");
    if (mk_str_eq(direction, MK_STR("in")))
        return MK_ARCS_IN;
    return mk_str_eq(direction, MK_STR("both")) ? MK_ARCS_BOTH : MK_ARCS_OUT;
}

static mk_code write_reached(mk_run *run, const mk_reached *reached, mk_err *err)
{
    mk_buf *text = &run->out->text;
    mk_span span;
    mk_code rc;
    MK_TRY(rc, mk_page_span(&run->page, reached->count, &span, err));
    MK_TRY(rc, mk_ranked_first(run->view, run->arena, reached->list, reached->count, span.end, err));
    mk_payload_cursor(run->out, &span);
    mk_payload_list(run->out, "rows");
    for (size_t i = span.start; i < span.end; i++) {
        mk_payload_item(run->out);
        mk_buf_z(text, "{\"earliest_arrival\":");
        mk_buf_i64(text, reached->list[i].rank);
        mk_buf_z(text, ",\"uid\":");
        mk_canon_string(text, reached->list[i].uid);
        mk_buf_c(text, '}');
    }
    mk_payload_list_end(run->out);
    mk_payload_int(run->out, "rows_total", (int64_t)span.total);
    mk_payload_bool(run->out, "truncated", span.truncated);
    mk_payload_page_gaps(run->out, "rows", &span);
out:
    return rc;
}

static mk_code run_temporal_reachability(mk_run *run, mk_err *err)
{
    const mk_json *window = mk_json_get(run->args, "window");
    const mk_str uid = mk_arg_str(run->args, "src");
    const bool bounded = !mk_arg_is_null(run->args, "delta_max_wait");
    mk_arrival_args args = {.src = mk_view_entity(run->view, uid),
                            .t_a = mk_arg_i64(window, "t_a"),
                            .t_b = mk_arg_i64(window, "t_b"),
                            .arcs = arcs_of(run->args)};
    mk_reached reached;
    mk_code rc;

    if (args.src == MK_NO_ID)
        return mk_fail_uid(run, uid, "src", -1, err);
    if (bounded)
        args.wait_max = mk_arg_i64(run->args, "delta_max_wait");
    MK_TRY(rc, (bounded ? mk_arrival_bounded : mk_arrival_earliest)(run->view, run->arena, &args,
                                                                    run->guard, &reached, err));
    rc = write_reached(run, &reached, err);

out:
    return rc;
}

static void cost_temporal_reachability(const mk_cost_input *in, mk_cost *out)
{
    out->rows_scanned_est =
        (int64_t)((double)in->stats.edge_versions * mk_cost_window_fraction(in));
    out->expansions_est = out->rows_scanned_est * 8;
    mk_cost_time(in, 170.0, out);
}

static const mk_arg args_temporal_reachability[] = {
    {.name = "src", .type = MK_ARG_STRING, .required = true, .min = 1, .doc = "Uid to start from."},
    MK_ARG_WINDOW,
    MK_ARG_AS_OF,
    {.name = "delta_max_wait",
     .type = MK_ARG_INTEGER,
     .nullable = true,
     .any_size = true,
     .min = 1,
     .max = INT64_MAX,
     .default_json = "null",
     .doc = "Longest stay at an entity on the way, microseconds; the start may wait freely."},
    {.name = "direction",
     .type = MK_ARG_ENUM,
     .choices = directions,
     .default_json = "\"out\"",
     .doc = "Along edges, against them with time still running forward, or either way. Who could have "
            "reached src is temporal_reachability_to, not \"in\"."},
    MK_ARG_LIMIT,
    MK_ARG_CURSOR,
    {0},
};

static const mk_field reached_members[] = {
    {.name = "uid", .type = MK_FIELD_STRING, .doc = "An entity that can be reached."},
    {.name = "earliest_arrival", .type = MK_FIELD_TIME, .doc = "When, at the earliest."},
    {0},
};
static const mk_field reached_row = {
    .name = "reached", .type = MK_FIELD_OBJECT, .members = reached_members};

static const mk_field fields_temporal_reachability[] = {
    MK_FIELD_ROWS(&reached_row, "By (earliest_arrival, uid); without src."),
    MK_FIELD_ROWS_TOTAL,
    MK_FIELD_TRUNCATED("Whether rows follow this page."),
    MK_FIELD_CURSOR,
    {0},
};

const mk_operator mk_operator_temporal_reachability = {
    .name = "temporal_reachability",
    .group = "graph",
    .summary = "whom an entity could have reached in a window, and when at the earliest",
    .help = "Edges are taken while they are valid, times never running backwards; taking one costs no "
            "time. direction \"in\" reverses the edges but not time, as the reference does: it does not "
            "answer who could have reached src. temporal_reachability_to does.",
    .example = "{\"src\":\"a\",\"window\":{\"t_a\":0,\"t_b\":100}}",
    .args = args_temporal_reachability,
    .fields = fields_temporal_reachability,
    .cost = cost_temporal_reachability,
    .validate = mk_validate_window,
    .run = run_temporal_reachability,
};

/* temporal_reachability_to.c — who could have reached something, leaving when at the latest. Layer: op.
 *
 * The mirror image of temporal_reachability, which its direction "in" is not (operators spec, O-1): paths
 * end at dst, and time runs forward along them. */
#include "op/arrival.h"
#include "op/operators.h"

static mk_code write_departures(mk_run *run, const mk_reached *reached, mk_err *err)
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
        mk_buf_z(text, "{\"latest_departure\":");
        mk_buf_i64(text, -reached->list[i].rank);
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

static mk_code run_temporal_reachability_to(mk_run *run, mk_err *err)
{
    const mk_json *window = mk_json_get(run->args, "window");
    const mk_str uid = mk_arg_str(run->args, "dst");
    const mk_arrival_args args = {.src = mk_view_entity(run->view, uid),
                                  .t_a = mk_arg_i64(window, "t_a"),
                                  .t_b = mk_arg_i64(window, "t_b")};
    mk_reached reached;
    mk_code rc;

    if (args.src == MK_NO_ID)
        return mk_fail_uid(run, uid, "dst", -1, err);
    MK_TRY(rc, mk_departure_latest(run->view, run->arena, &args, run->guard, &reached, err));
    rc = write_departures(run, &reached, err);

out:
    return rc;
}

static void cost_temporal_reachability_to(const mk_cost_input *in, mk_cost *out)
{
    out->rows_scanned_est =
        (int64_t)((double)in->stats.edge_versions * mk_cost_window_fraction(in));
    out->expansions_est = out->rows_scanned_est * 8;
    mk_cost_time(in, 170.0, out);
}

static const mk_arg args_temporal_reachability_to[] = {
    {.name = "dst", .type = MK_ARG_STRING, .required = true, .min = 1, .doc = "Uid to arrive at."},
    MK_ARG_WINDOW,
    MK_ARG_AS_OF,
    MK_ARG_LIMIT,
    MK_ARG_CURSOR,
    {0},
};

static const mk_field departure_members[] = {
    {.name = "uid", .type = MK_FIELD_STRING, .doc = "An entity that can reach dst."},
    {.name = "latest_departure",
     .type = MK_FIELD_TIME,
     .doc = "The last instant at which it may still be left."},
    {0},
};
static const mk_field departure_row = {
    .name = "departure", .type = MK_FIELD_OBJECT, .members = departure_members};

static const mk_field fields_temporal_reachability_to[] = {
    MK_FIELD_ROWS(&departure_row, "Latest departure first, then by uid; without dst."),
    MK_FIELD_ROWS_TOTAL,
    MK_FIELD_TRUNCATED("Whether rows follow this page."),
    MK_FIELD_CURSOR,
    {0},
};

const mk_operator mk_operator_temporal_reachability_to = {
    .name = "temporal_reachability_to",
    .group = "graph",
    .summary = "who could have reached an entity, and leaving when at the latest",
    .help = "Paths follow edges forward in time and end at dst before the window does. An entity is in the "
            "list exactly when temporal_reachability from it, in the same window, lists dst.",
    .example = "{\"dst\":\"c\",\"window\":{\"t_a\":0,\"t_b\":100}}",
    .args = args_temporal_reachability_to,
    .fields = fields_temporal_reachability_to,
    .cost = cost_temporal_reachability_to,
    .validate = mk_validate_window,
    .run = run_temporal_reachability_to,
};

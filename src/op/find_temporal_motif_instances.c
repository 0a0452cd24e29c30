/* find_temporal_motif_instances.c — which three edges follow each other in a pattern. Layer: op. */
#include "op/find_temporal_motif_instances.h"

#include "op/operators.h"

mk_code mk_motifs_find(mk_view *view, mk_arena *arena, const mk_motif_args *args, const mk_page *page,
                       mk_guard *guard, mk_motif_rows *out, mk_err *err)
{
    int64_t total;
    size_t size;
    mk_code rc;

    MK_TRY(rc, mk_motif_gather(view, arena, args, true, guard, &out->events, err));
    uint64_t *starts = mk_arena_get(arena, out->events.count * sizeof *starts);
    if (starts == NULL)
        return mk_fail_nomem(err);
    MK_TRY(rc, mk_motif_count(&out->events, args->motif, arena, guard, starts, &total, err));
    MK_TRY(rc, mk_page_span(page, (size_t)total, &out->span, err));
    out->rows = mk_size_mul(out->span.end - out->span.start, sizeof *out->rows, &size)
                    ? mk_arena_get(arena, size)
                    : NULL;
    if (out->rows == NULL)
        return mk_fail_nomem(err);
    rc = mk_motif_list(&out->events, args->motif, arena, guard, starts, out->span.start, out->span.end,
                       out->rows, err);

out:
    return rc;
}

/* ---- glue ---- */

/* The edge last written in one of the three places of a row: rows that follow each other share edges. */
typedef struct written {
    bool known;
    uint32_t place;
    char eid[24];
} written;

static mk_code write_edge(mk_run *run, const mk_motif_events *events, uint32_t place, written *w,
                          mk_err *err)
{
    const mk_edge_ref ref = mk_motif_edge(events, place);
    mk_buf *text = &run->out->text;
    mk_code rc = MK_OK;
    if (!w->known || w->place != place)
        rc = mk_view_edge_eid(run->view, &ref, w->eid, err);
    if (rc != MK_OK)
        return rc;
    w->known = true;
    w->place = place;
    mk_buf_z(text, "{\"dst\":");
    mk_canon_string(text, mk_view_uid(run->view, ref.dst));
    mk_buf_z(text, ",\"eid\":\"");
    mk_buf_put(text, w->eid, sizeof w->eid);
    mk_buf_z(text, "\",\"rel_type\":");
    mk_canon_string(text, mk_view_name(run->view, ref.rel_type));
    mk_buf_z(text, ",\"src\":");
    mk_canon_string(text, mk_view_uid(run->view, ref.src));
    mk_buf_z(text, ",\"t\":");
    mk_buf_i64(text, ref.vt_s);
    mk_buf_c(text, '}');
    return MK_OK;
}

static mk_code write_rows(mk_run *run, const mk_motif_rows *found, mk_err *err)
{
    written last[3] = {0};
    mk_buf *text = &run->out->text;
    mk_payload_list(run->out, "rows");
    for (size_t i = 0; i < found->span.end - found->span.start; i++) {
        mk_payload_item(run->out);
        for (int k = 0; k < 3; k++) {
            mk_buf_z(text, k == 0 ? "{\"edges\":[" : ",");
            const mk_code rc =
                write_edge(run, &found->events, found->rows[i].edges[k], &last[k], err);
            if (rc != MK_OK)
                return rc;
        }
        mk_buf_z(text, "]}");
        if (!mk_guard_ok(run->guard))
            return mk_guard_result(run->guard, err);
    }
    mk_payload_list_end(run->out);
    return MK_OK;
}

static mk_code run_find_temporal_motif_instances(mk_run *run, mk_err *err)
{
    mk_motif_args args;
    mk_motif_rows found;
    mk_code rc;

    MK_TRY(rc, mk_motif_read_args(run, &args, err));
    MK_TRY(rc, mk_motifs_find(run->view, run->arena, &args, &run->page, run->guard, &found, err));
    mk_payload_cursor(run->out, &found.span);
    MK_TRY(rc, write_rows(run, &found, err));
    mk_payload_int(run->out, "rows_total", (int64_t)found.span.total);
    mk_payload_bool(run->out, "truncated", found.span.truncated);
    mk_payload_page_gaps(run->out, "rows", &found.span);

out:
    return rc;
}

static const mk_arg args_find_temporal_motif_instances[] = {
    MK_MOTIF_ARGS,
    MK_ARG_LIMIT,
    MK_ARG_CURSOR,
    {0},
};

static const mk_field edge_members[] = {
    {.name = "src", .type = MK_FIELD_STRING, .doc = "Uid where the edge starts."},
    {.name = "dst", .type = MK_FIELD_STRING, .doc = "Uid where it ends."},
    {.name = "t", .type = MK_FIELD_TIME, .doc = "When it starts to be valid."},
    {.name = "eid", .type = MK_FIELD_STRING, .doc = "Identity of the edge, 24 hex characters."},
    {.name = "rel_type", .type = MK_FIELD_STRING, .doc = "Relation type."},
    {0},
};
static const mk_field edge = {.name = "edge", .type = MK_FIELD_OBJECT, .members = edge_members};
static const mk_field row_members[] = {
    {.name = "edges",
     .type = MK_FIELD_LIST,
     .item = &edge,
     .doc = "The three edges, in the order of the pattern, which is that of time."},
    {0},
};
static const mk_field instance_row = {
    .name = "instance", .type = MK_FIELD_OBJECT, .members = row_members};

static const mk_field fields_find_temporal_motif_instances[] = {
    MK_FIELD_ROWS(&instance_row, "Instances by (t, eid) of their edges."),
    MK_FIELD_ROWS_TOTAL,
    MK_FIELD_TRUNCATED("Whether rows follow this page."),
    MK_FIELD_CURSOR,
    {0},
};

const mk_operator mk_operator_find_temporal_motif_instances = {
    .name = "find_temporal_motif_instances",
    .group = "graph",
    .summary = "which three edges follow each other in a pattern within some time",
    .help = "The instances that count_temporal_motifs counts, with the same arguments. Only the rows of "
            "the page are built; rows_total is exact.",
    .example = "{\"delta\":15,\"motif\":\"M_triangle_cyclic\",\"window\":{\"t_a\":0,\"t_b\":100}}",
    .args = args_find_temporal_motif_instances,
    .fields = fields_find_temporal_motif_instances,
    .cost = mk_motif_cost,
    .validate = mk_motif_validate,
    .run = run_find_temporal_motif_instances,
};

/* entity_history.c — all believed versions of one entity, and the edges at it. Layer: op.
 *
 * The store keeps an entity's believed versions together and in order, so the kernel only cuts the
 * page; edges come unordered, and of a hub's million only the first `limit` are sorted. */
#include "op/entity_history.h"

#include "op/operators.h"

typedef struct collect {
    mk_arena *arena;
    mk_guard *guard;
    mk_edge_ref *refs;
    size_t count, cap;
    mk_code rc;
    mk_err *err;
} collect;

static bool keep_edge(void *ctx, const mk_edge_ref *ref)
{
    collect *c = ctx;
    if (!mk_guard_ok(c->guard))
        return false;
    c->rc = mk_op_grow(c->arena, (void **)&c->refs, &c->cap, c->count + 1, sizeof *c->refs, c->err);
    if (c->rc != MK_OK)
        return false;
    c->refs[c->count++] = *ref;
    return true;
}

static mk_code read_edges(mk_view *view, mk_arena *arena, const mk_history_args *args,
                          mk_guard *guard, mk_history *out, mk_err *err)
{
    collect c = {.arena = arena, .guard = guard, .rc = MK_OK, .err = err};
    mk_code rc = mk_view_edges_of(view, args->entity, &mk_edge_filter_all, keep_edge, &c, err);
    if (c.rc != MK_OK)
        return c.rc;
    if (rc != MK_OK)
        return mk_guard_or(guard, rc, err);

    /* Edges have no cursor; a whole result has all of them or is refused like its rows. */
    const mk_page head = {.limit = args->page.limit, .whole = args->page.whole};
    mk_span span;
    rc = mk_page_span(&head, c.count, &span, err);
    if (rc != MK_OK)
        return rc;
    out->edges = c.refs;
    out->edges_shown = span.end;
    out->edges_total = c.count;
    return mk_page_first_edges(view, arena, c.refs, c.count, span.end, err);
}

mk_code mk_history_read(mk_view *view, mk_arena *arena, const mk_history_args *args,
                        mk_guard *guard, mk_history *out, mk_err *err)
{
    *out = (mk_history){0};
    size_t count;
    mk_code rc = mk_view_node_refs(view, arena, args->entity, &out->rows, &count, err);
    if (rc == MK_OK)
        rc = mk_page_span(&args->page, count, &out->span, err);
    if (rc == MK_OK && args->include_edges)
        rc = read_edges(view, arena, args, guard, out, err);
    return rc;
}

static mk_code write_edges(mk_run *run, const mk_history *history, mk_err *err)
{
    const bool cut = history->edges_shown < history->edges_total;
    mk_payload_list(run->out, "edges");
    for (size_t i = 0; i < history->edges_shown; i++) {
        mk_payload_item(run->out);
        const mk_code rc = mk_payload_edge_row(run->out, run->view, &history->edges[i], err);
        if (rc != MK_OK)
            return rc;
    }
    mk_payload_list_end(run->out);
    mk_payload_bool(run->out, "edges_truncated", cut);
    if (cut)
        mk_payload_gap(run->out, "edges", MK_GAP_SUBLIST, history->edges_shown,
                       history->edges_total);
    return MK_OK;
}

static mk_code write_rows(mk_run *run, const mk_history *history, mk_err *err)
{
    const mk_span *span = &history->span;
    mk_payload_list(run->out, "rows");
    for (size_t i = span->start; i < span->end; i++) {
        mk_payload_item(run->out);
        const mk_code rc = mk_payload_node_version(run->out, run->view, &history->rows[i], err);
        if (rc != MK_OK)
            return rc;
    }
    mk_payload_list_end(run->out);
    mk_payload_int(run->out, "rows_total", (int64_t)span->total);
    mk_payload_bool(run->out, "truncated", span->truncated);
    mk_payload_page_gaps(run->out, "rows", span);
    return MK_OK;
}

static mk_code run_entity_history(mk_run *run, mk_err *err)
{
    const mk_str uid = mk_arg_str(run->args, "uid");
    const mk_history_args args = {
        .entity = mk_view_entity(run->view, uid),
        .page = run->page,
        .include_edges = mk_arg_bool(run->args, "include_edges"),
    };
    if (args.entity == MK_NO_ID)
        return mk_fail_uid(run, uid, "uid", -1, err);

    mk_history history;
    mk_code rc = mk_history_read(run->view, run->arena, &args, run->guard, &history, err);
    if (rc != MK_OK)
        return rc;
    mk_payload_cursor(run->out, &history.span);
    if (args.include_edges)
        rc = write_edges(run, &history, err);
    return rc == MK_OK ? write_rows(run, &history, err) : rc;
}

/* One entity has as many versions as entities have on average. */
static void cost_entity_history(const mk_cost_input *in, mk_cost *out)
{
    const uint64_t entities = in->stats.entities ? in->stats.entities : 1;
    const uint64_t rows = in->stats.node_versions / entities +
                          (in->stats.node_versions % entities != 0);
    out->rows_scanned_est = rows ? (int64_t)rows : 1;
    mk_cost_time(in, 55.0, out);
}

static const mk_arg args_entity_history[] = {
    {.name = "uid", .type = MK_ARG_STRING, .required = true, .min = 1, .doc = "The entity."},
    MK_ARG_AS_OF,
    {.name = "include_edges",
     .type = MK_ARG_BOOLEAN,
     .default_json = "false",
     .doc = "Also list the edges that start or end at the entity."},
    MK_ARG_LIMIT,
    MK_ARG_CURSOR,
    {0},
};

static const mk_field version_members[] = {
    {.name = "vid", .type = MK_FIELD_STRING, .doc = "Identity of the version, 24 hex characters."},
    {.name = "uid", .type = MK_FIELD_STRING, .doc = "The entity."},
    {.name = "label", .type = MK_FIELD_STRING, .doc = "Its kind, as of this version."},
    {.name = "vt_s", .type = MK_FIELD_TIME, .doc = "Valid from."},
    {.name = "vt_e", .type = MK_FIELD_TIME, .doc = "Valid until, exclusive."},
    {.name = "tt_s", .type = MK_FIELD_TIME, .doc = "Believed since."},
    {.name = "tt_e", .type = MK_FIELD_TIME, .doc = "2^62: believed at as_of_tt."},
    {.name = "props",
     .type = MK_FIELD_ANY,
     .doc = "Properties, floats to nine decimals; an object but in logs of other programs."},
    {.name = "source", .type = MK_FIELD_STRING, .doc = "Who wrote it."},
    {.name = "provenance_ref",
     .type = MK_FIELD_STRING,
     .nullable = true,
     .doc = "What the writer referred to."},
    {0},
};
static const mk_field version_row = {
    .name = "version", .type = MK_FIELD_OBJECT, .members = version_members};

static const mk_field fields_entity_history[] = {
    MK_FIELD_ROWS(&version_row, "Versions of the entity by (vt_s, vid)."),
    MK_FIELD_ROWS_TOTAL,
    MK_FIELD_TRUNCATED("Whether rows follow this page."),
    MK_FIELD_CURSOR,
    {.name = "edges",
     .type = MK_FIELD_LIST,
     .item = &mk_field_edge_row,
     .optional = true,
     .when = "include_edges",
     .doc = "With include_edges: the first `limit` edge versions by (vt_s, vid), whatever the page."},
    {.name = "edges_truncated",
     .type = MK_FIELD_BOOLEAN,
     .optional = true,
     .when = "include_edges",
     .doc = "Whether there are more edges than `limit`."},
    {0},
};

const mk_operator mk_operator_entity_history = {
    .name = "entity_history",
    .group = "graph",
    .summary = "all versions of one entity that are believed at a transaction time",
    .help = "Each row says what held of the entity from vt_s to vt_e, and since when the store "
            "believes it. Ask with an earlier as_of_tt to see what was believed before a "
            "correction. An entity known only as the end of an edge has no rows.",
    .example = "{\"uid\":\"a\"}",
    .args = args_entity_history,
    .fields = fields_entity_history,
    .cost = cost_entity_history,
    .run = run_entity_history,
};

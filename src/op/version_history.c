/* version_history.c — what was written and superseded, in the order of belief. Layer: op.
 *
 * The order is (transaction time, vid), and batches are numbered by transaction time. A first pass counts the
 * rows of each batch, which gives the total and the batches that the page lies in. A second one makes ids for
 * the rows of these batches alone and keeps the first of them in a heap. */
#include "op/version_history.h"

#include "op/operators.h"

/* ---- passing over the rows ---- */

typedef struct pass {
    mk_view *view;
    mk_arena *arena;
    const mk_versions_args *args;
    mk_guard *guard;
    /* First pass. */
    uint32_t *counts; /* rows by batch */
    size_t total;
    /* Second pass: rows of the batches [first, last], of which the first `need` are kept. */
    uint32_t first, last;
    mk_version_row *heap; /* the largest on top */
    size_t count, need;
    mk_code rc;
    mk_err *err;
} pass;

static bool has_rel_type(const mk_edge_filter *filter, uint32_t code)
{
    if (filter->rel_types == NULL)
        return true;
    for (size_t i = 0; i < filter->rel_type_count; i++)
        if (filter->rel_types[i] == code)
            return true;
    return false;
}

static mk_code pass_over(pass *p, bool brief, mk_version_fn *each)
{
    const mk_versions_args *args = p->args;
    const mk_version_filter filter = {.nodes = args->nodes, .which = args->which,
                                      .vt_lo = args->filter.vt_lo, .vt_hi = args->filter.vt_hi,
                                      .brief = brief};
    const mk_code rc = mk_view_versions(p->view, &filter, each, p, p->err);
    return p->rc != MK_OK ? p->rc : mk_guard_or(p->guard, rc, p->err);
}

static bool count_rows(void *ctx, const mk_version_block *block)
{
    pass *p = ctx;
    if (!mk_guard__look(p->guard))
        return false;
    for (uint32_t i = 0; i < block->count; i++) {
        const bool hit = has_rel_type(&p->args->filter, block->name[i]);
        p->counts[block->begun[i]] += hit;
        p->total += hit;
    }
    return true;
}

/* ---- the rows of the page ---- */

/* Equal vids, which old logs may hold, stay in the order of the rows. */
static bool comes_before(const mk_version_row *x, const mk_version_row *y)
{
    if (x->begun != y->begun)
        return x->begun < y->begun;
    const int c = memcmp(x->vid, y->vid, sizeof x->vid);
    if (c != 0)
        return c < 0;
    return x->part != y->part ? x->part < y->part : x->row < y->row;
}

static void sift_down(mk_version_row *heap, size_t n, size_t at)
{
    const mk_version_row moved = heap[at];
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && comes_before(&heap[child], &heap[child + 1]))
            child++;
        if (!comes_before(&moved, &heap[child]))
            break;
        heap[at] = heap[child];
    }
    heap[at] = moved;
}

static void sift_up(mk_version_row *heap, size_t at)
{
    const mk_version_row moved = heap[at];
    for (size_t parent; at > 0; at = parent) {
        parent = (at - 1) / 2;
        if (!comes_before(&heap[parent], &moved))
            break;
        heap[at] = heap[parent];
    }
    heap[at] = moved;
}

static mk_edge_ref edge_ref_of(const mk_version_row *row)
{
    return (mk_edge_ref){row->vt_s, row->vt_e, row->a, row->b, row->name, row->part, row->row};
}

static mk_node_ref node_ref_of(const mk_version_row *row)
{
    return (mk_node_ref){row->vt_s, row->vt_e, row->a, row->name, row->part, row->row};
}

static mk_code make_vid(const pass *p, mk_version_row *row)
{
    if (!p->args->nodes) {
        char eid[24];
        const mk_edge_ref ref = edge_ref_of(row);
        return mk_view_edge_ids(p->view, &ref, eid, row->vid, p->err);
    }
    const mk_arena_mark mark = mk_arena_save(p->arena);
    const mk_node_ref ref = node_ref_of(row);
    mk_node_version version;
    const mk_code rc = mk_view_node_version(p->view, p->arena, &ref, &version, p->err);
    if (rc == MK_OK)
        memcpy(row->vid, version.vid, sizeof row->vid);
    mk_arena_rewind(p->arena, mark);
    return rc;
}

static bool keep_rows(void *ctx, const mk_version_block *block)
{
    pass *p = ctx;
    for (uint32_t i = 0; i < block->count; i++) {
        const bool full = p->count == p->need;
        if (block->begun[i] < p->first || block->begun[i] > (full ? p->heap[0].begun : p->last) ||
            !has_rel_type(&p->args->filter, block->name[i]))
            continue;
        if (!mk_guard_ok(p->guard))
            return false;
        mk_version_row row = {.vt_s = block->vt_s[i], .vt_e = block->vt_e[i], .a = block->a[i],
                              .b = block->b[i], .name = block->name[i], .part = block->part,
                              .row = block->row[i], .begun = block->begun[i], .ended = block->ended[i]};
        p->rc = make_vid(p, &row);
        if (p->rc != MK_OK)
            return false;
        if (!full) {
            p->heap[p->count++] = row;
            sift_up(p->heap, p->count - 1);
        } else if (comes_before(&row, &p->heap[0])) {
            p->heap[0] = row;
            sift_down(p->heap, p->count, 0);
        }
    }
    return mk_guard__look(p->guard);
}

static void sort_heap(mk_version_row *heap, size_t count)
{
    for (size_t n = count; n > 1; n--) {
        const mk_version_row last = heap[n - 1];
        heap[n - 1] = heap[0];
        heap[0] = last;
        sift_down(heap, n - 1, 0);
    }
}

/* The batch that row `index` of the list was written by; *before is how many rows come before that batch. */
static uint32_t batch_of(const pass *p, size_t index, size_t *before)
{
    uint32_t batch = 0;
    for (*before = 0; *before + p->counts[batch] <= index; batch++)
        *before += p->counts[batch];
    return batch;
}

static mk_code collect_page(pass *p, mk_versions *out)
{
    const mk_span *span = &out->span;
    size_t before, unused, size;
    p->first = batch_of(p, span->start, &before);
    p->last = batch_of(p, span->end - 1, &unused);
    p->need = span->end - before;
    p->heap = mk_size_mul(p->need, sizeof *p->heap, &size) ? mk_arena_get(p->arena, size) : NULL;
    if (p->heap == NULL)
        return mk_fail_nomem(p->err);
    const mk_code rc = pass_over(p, false, keep_rows);
    if (rc != MK_OK)
        return rc;
    MK_ASSERT(p->count == p->need);
    sort_heap(p->heap, p->count);
    out->rows = p->heap + (span->start - before);
    return MK_OK;
}

mk_code mk_versions_list(mk_view *view, mk_arena *arena, const mk_versions_args *args, mk_guard *guard,
                         mk_versions *out, mk_err *err)
{
    const size_t batches = (size_t)mk_view_batch_count(view) + 1;
    pass p = {.view = view, .arena = arena, .args = args, .guard = guard, .rc = MK_OK, .err = err};
    mk_code rc;
    *out = (mk_versions){0};
    p.counts = mk_arena_get0(arena, batches * sizeof *p.counts);
    if (p.counts == NULL)
        return mk_fail_nomem(err);
    MK_TRY(rc, pass_over(&p, true, count_rows));
    MK_TRY(rc, mk_page_span(&args->page, p.total, &out->span, err));
    if (out->span.start < out->span.end)
        rc = collect_page(&p, out);
out:
    return rc;
}

/* ---- glue ---- */

static void put_text(mk_buf *text, const char *before, mk_str value)
{
    mk_buf_z(text, before);
    mk_canon_string(text, value);
}

static void put_int(mk_buf *text, const char *before, int64_t value)
{
    mk_buf_z(text, before);
    mk_buf_i64(text, value);
}

static mk_str hex24(const char *hex) { return (mk_str){hex, 24}; }

/* tt_e to vt_s; the members stand in ascending order. */
static void put_times(mk_run *run, const mk_version_row *row, bool node)
{
    mk_buf *text = &run->out->text;
    put_int(text, ",\"tt_e\":", row->ended == MK_STILL_BELIEVED
                                    ? MK_OPEN_END
                                    : mk_view_batch_tt(run->view, row->ended).us);
    put_int(text, ",\"tt_s\":", mk_view_batch_tt(run->view, row->begun).us);
    if (node)
        put_text(text, ",\"uid\":", mk_view_uid(run->view, row->a));
    put_text(text, ",\"vid\":", hex24(row->vid));
    put_int(text, ",\"vt_e\":", row->vt_e);
    put_int(text, ",\"vt_s\":", row->vt_s);
    mk_buf_c(text, '}');
}

static void put_node(mk_run *run, const mk_version_row *row)
{
    put_text(&run->out->text, "{\"label\":", mk_view_name(run->view, row->name));
    put_times(run, row, true);
}

static mk_code put_edge(mk_run *run, const mk_version_row *row, mk_err *err)
{
    const mk_arena_mark mark = mk_arena_save(run->arena);
    const mk_edge_ref ref = edge_ref_of(row);
    mk_buf *text = &run->out->text;
    mk_edge_version edge;
    mk_code rc;
    MK_TRY(rc, mk_view_edge_version(run->view, run->arena, &ref, &edge, err));
    if (edge.disc_null)
        mk_buf_z(text, "{\"disc\":null");
    else
        put_text(text, "{\"disc\":", edge.disc);
    put_text(text, ",\"dst\":", mk_view_uid(run->view, row->b));
    put_text(text, ",\"eid\":", hex24(edge.eid));
    put_text(text, ",\"rel_type\":", mk_view_name(run->view, row->name));
    put_text(text, ",\"src\":", mk_view_uid(run->view, row->a));
    put_times(run, row, false);
out:
    mk_arena_rewind(run->arena, mark);
    return rc;
}

static mk_code write_versions(mk_run *run, const mk_versions *versions, bool nodes, mk_err *err)
{
    const mk_span *span = &versions->span;
    mk_code rc = MK_OK;
    mk_payload_cursor(run->out, span);
    mk_payload_list(run->out, "rows");
    for (size_t i = 0; i < span->end - span->start; i++) {
        mk_payload_item(run->out);
        if (nodes)
            put_node(run, &versions->rows[i]);
        else
            MK_TRY(rc, put_edge(run, &versions->rows[i], err));
    }
    mk_payload_list_end(run->out);
    mk_payload_int(run->out, "rows_total", (int64_t)span->total);
    mk_payload_bool(run->out, "truncated", span->truncated);
    mk_payload_page_gaps(run->out, "rows", span);
out:
    return rc;
}

static bool asks_nodes(const mk_json *args) { return mk_str_eq(mk_arg_str(args, "kind"), MK_STR("node")); }

static mk_code validate_version_history(const mk_json *args, mk_err *err)
{
    const mk_code rc = mk_validate_window(args, err);
    if (rc != MK_OK || !asks_nodes(args) || mk_arg_is_null(args, "rel_types"))
        return rc;
    mk_fail(err, MK_E_INVALID_ARG, "rel_types is given, but nodes have a label and no relation type");
    mk_err_hint(err, "leave rel_types out, or ask for kind: edge");
    mk_err_extra(err, "\"path\":[\"rel_types\"]", 20);
    return MK_E_INVALID_ARG;
}

static mk_code run_version_history(mk_run *run, mk_err *err)
{
    const mk_json *window = mk_json_get(run->args, "window");
    const mk_str belief = mk_arg_str(run->args, "belief");
    mk_versions_args args = {.nodes = asks_nodes(run->args), .filter = mk_edge_filter_all,
                             .page = run->page};
    mk_versions versions;
    mk_code rc;

    args.which = mk_str_eq(belief, MK_STR("current"))      ? MK_VERSIONS_CURRENT
                 : mk_str_eq(belief, MK_STR("superseded")) ? MK_VERSIONS_SUPERSEDED
                                                           : MK_VERSIONS_CURRENT | MK_VERSIONS_SUPERSEDED;
    args.filter.vt_lo = mk_arg_i64(window, "t_a");
    args.filter.vt_hi = mk_arg_i64(window, "t_b");
    MK_TRY(rc, mk_arg_rel_types(run, &args.filter, err));
    MK_TRY(rc, mk_versions_list(run->view, run->arena, &args, run->guard, &versions, err));
    MK_TRY(rc, write_versions(run, &versions, args.nodes, err));
out:
    return rc;
}

/* Each version is charged twice (oddity O-7). */
static void cost_version_history(const mk_cost_input *in, mk_cost *out)
{
    out->rows_scanned_est = (int64_t)(in->stats.edge_versions + in->stats.node_versions);
    out->expansions_est = out->rows_scanned_est;
    mk_cost_time(in, 15400.0, out);
}

static const char *const kind_names[] = {"node", "edge", NULL};
static const char *const belief_names[] = {"current", "superseded", "all", NULL};

static const mk_arg args_version_history[] = {
    {.name = "kind", .type = MK_ARG_ENUM, .required = true, .choices = kind_names,
     .doc = "Versions of what."},
    MK_ARG_WINDOW,
    {.name = "belief", .type = MK_ARG_ENUM, .choices = belief_names, .default_json = "\"current\"",
     .doc = "current: still believed at as_of_tt; superseded: no longer; all: both."},
    MK_ARG_REL_TYPES,
    MK_ARG_AS_OF,
    MK_ARG_LIMIT,
    MK_ARG_CURSOR,
    {0},
};

static const mk_field row_members[] = {
    {.name = "vid", .type = MK_FIELD_STRING, .doc = "Identity of this version, 24 hex characters."},
    {.name = "uid", .type = MK_FIELD_STRING, .optional = true, .when = "kind=node",
     .doc = "Nodes: the entity."},
    {.name = "label", .type = MK_FIELD_STRING, .optional = true, .when = "kind=node",
     .doc = "Nodes: its label."},
    {.name = "eid", .type = MK_FIELD_STRING, .optional = true, .when = "kind=edge",
     .doc = "Edges: identity of the edge."},
    {.name = "src", .type = MK_FIELD_STRING, .optional = true, .when = "kind=edge",
     .doc = "Edges: uid where it starts."},
    {.name = "dst", .type = MK_FIELD_STRING, .optional = true, .when = "kind=edge",
     .doc = "Edges: uid where it ends."},
    {.name = "rel_type", .type = MK_FIELD_STRING, .optional = true, .when = "kind=edge",
     .doc = "Edges: relation type."},
    {.name = "disc", .type = MK_FIELD_STRING, .nullable = true, .optional = true, .when = "kind=edge",
     .doc = "Edges: what tells edges with the same ends and type apart."},
    {.name = "vt_s", .type = MK_FIELD_TIME, .doc = "Valid from."},
    {.name = "vt_e", .type = MK_FIELD_TIME, .doc = "Valid until, exclusive."},
    {.name = "tt_s", .type = MK_FIELD_TIME, .doc = "Believed from."},
    {.name = "tt_e", .type = MK_FIELD_TIME, .doc = "Believed until, exclusive; 2^62 when not superseded."},
    {0},
};
static const mk_field version_row = {.name = "version", .type = MK_FIELD_OBJECT, .members = row_members};
static const mk_field fields_version_history[] = {
    MK_FIELD_ROWS(&version_row, "Versions by (tt_s, vid)."),
    MK_FIELD_ROWS_TOTAL,
    MK_FIELD_TRUNCATED("Whether rows follow this page."),
    MK_FIELD_CURSOR,
    {0},
};

const mk_operator mk_operator_version_history = {
    .name = "version_history",
    .group = "graph",
    .summary = "versions in the order they were written, superseded ones included",
    .help = "All versions of a kind written by as_of_tt whose valid time overlaps the window. A correction "
            "that splits one version into three closes one belief and opens three.",
    .example = "{\"belief\":\"all\",\"kind\":\"edge\",\"window\":{\"t_a\":10,\"t_b\":16}}",
    .args = args_version_history,
    .fields = fields_version_history,
    .cost = cost_version_history,
    .validate = validate_version_history,
    .run = run_version_history,
};

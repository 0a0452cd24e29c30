/* temporal_paths.c — paths that respect time, the best k of all. See temporal_paths.h. Layer: op.
 *
 * Depth-first over the out lists, which are read once a node and kept. All paths are counted, because the
 * total is part of the answer; only those that may be among the best k are compared, and eids, which cost
 * hashes, decide only between edges that start together. The last hop is taken from the list: of its edges
 * only those to dst are looked at, all of them being visits (operators spec, 7.5). */
#include "op/temporal_paths.h"

#include "base/hash.h"
#include "op/operators.h"

/* ---- out lists, read once ---- */

typedef struct out_list {
    uint32_t id;
    bool known;
    size_t from, count; /* in `edges` of the search; the array may move while lists are added */
} out_list;

typedef struct search {
    mk_view *view;
    mk_arena *arena;
    const mk_path_args *args;
    mk_guard *guard;
    mk_edge_filter filter;
    uint64_t seed;
    out_list *lists; /* open addressing by id */
    size_t mask, used;
    mk_edge_ref *edges;
    size_t edge_count, edge_cap;
    uint64_t visits;
    mk_paths *found;
    mk_path path; /* the partial path in hand */
    uint32_t nodes[MK_PATH_HOPS_MAX + 1];
    bool nomem;
    mk_err *err;
} search;

static out_list *list_slot(const search *s, uint32_t id)
{
    size_t at = mk_mix64(s->seed ^ id) & s->mask;
    while (s->lists[at].known && s->lists[at].id != id)
        at = (at + 1) & s->mask;
    return &s->lists[at];
}

static mk_code lists_resize(search *s, size_t slots)
{
    const out_list *old = s->lists;
    const size_t old_count = old != NULL ? s->mask + 1 : 0;
    s->lists = mk_arena_get0(s->arena, slots * sizeof *s->lists);
    if (s->lists == NULL)
        return mk_fail_nomem(s->err);
    s->mask = slots - 1;
    for (size_t i = 0; i < old_count; i++)
        if (old[i].known)
            *list_slot(s, old[i].id) = old[i];
    return MK_OK;
}

static bool keep_edge(void *ctx, const mk_edge_ref *ref)
{
    search *s = ctx;
    if (mk_op_grow(s->arena, (void **)&s->edges, &s->edge_cap, s->edge_count + 1, sizeof *s->edges,
                   NULL) != MK_OK) {
        s->nomem = true;
        return false;
    }
    s->edges[s->edge_count++] = *ref;
    return mk_guard_ok(s->guard);
}

static mk_code out_of(search *s, uint32_t id, out_list *out)
{
    mk_code rc;
    if ((s->used + 1) * 4 > (s->mask + 1) * 3)
        MK_TRY(rc, lists_resize(s, (s->mask + 1) * 2));
    out_list *list = list_slot(s, id);
    if (!list->known) {
        const size_t from = s->edge_count;
        rc = mk_view_edges_of(s->view, id, &s->filter, keep_edge, s, s->err);
        if (s->nomem)
            return mk_fail_nomem(s->err);
        MK_TRY(rc, mk_guard_or(s->guard, rc, s->err));
        *list = (out_list){id, true, from, s->edge_count - from};
        s->used++;
    }
    *out = *list;
    rc = MK_OK;
out:
    return rc;
}

/* ---- order ---- */

static mk_code edge_before(search *s, const mk_edge_ref *a, const mk_edge_ref *b, int *order)
{
    char eid[2][24];
    mk_code rc = MK_OK;
    *order = a->vt_s < b->vt_s ? -1 : a->vt_s > b->vt_s;
    if (*order != 0 || (a->part == b->part && a->row == b->row))
        return MK_OK;
    MK_TRY(rc, mk_view_edge_eid(s->view, a, eid[0], s->err));
    MK_TRY(rc, mk_view_edge_eid(s->view, b, eid[1], s->err));
    *order = memcmp(eid[0], eid[1], sizeof eid[0]);
out:
    return rc;
}

static mk_code path_before(search *s, const mk_path *a, const mk_path *b, bool *before)
{
    int order = a->arrival < b->arrival ? -1 : a->arrival > b->arrival;
    mk_code rc = MK_OK;
    if (order == 0)
        order = a->hops < b->hops ? -1 : a->hops > b->hops;
    for (uint32_t i = 0; order == 0 && i < a->hops; i++)
        MK_TRY(rc, edge_before(s, &a->edges[i], &b->edges[i], &order));
    *before = order < 0;
out:
    return rc;
}

/* Puts the path in hand into its place among the best, which are few: sorted by insertion. */
static mk_code take_path(search *s)
{
    mk_paths *found = s->found;
    mk_code rc = MK_OK;
    bool before = true;
    found->total++;
    if (found->count == s->args->k) {
        MK_TRY(rc, path_before(s, &s->path, &found->best[found->count - 1], &before));
        if (!before)
            goto out;
        found->count--;
    }
    size_t at = found->count++;
    for (; at > 0; at--) {
        MK_TRY(rc, path_before(s, &s->path, &found->best[at - 1], &before));
        if (!before)
            break;
        found->best[at] = found->best[at - 1];
    }
    found->best[at] = s->path;
out:
    return rc;
}

/* ---- the search ---- */

/* What stands between two levels of the search. */
typedef struct level {
    out_list list;
    size_t at; /* next edge of the list */
    int64_t time;
} level;

static bool visited(const search *s, uint32_t depth, uint32_t id)
{
    for (uint32_t i = 0; i <= depth; i++)
        if (s->nodes[i] == id)
            return true;
    return false;
}

static mk_code open_level(search *s, level *l, uint32_t id, int64_t time)
{
    const mk_code rc = out_of(s, id, &l->list);
    if (rc != MK_OK)
        return rc;
    l->at = 0;
    l->time = time;
    s->visits += l->list.count;
    if (s->visits > MK_VISITS_MAX)
        return mk_fail_visits("lower max_hops", s->err);
    return MK_OK;
}

/* Takes the edge if it can be taken at all; the path then ends at dst or leads one level down. */
static mk_code follow(search *s, level *levels, uint32_t *depth, const mk_edge_ref *ref)
{
    const uint32_t d = *depth;
    const int64_t time = levels[d].time > ref->vt_s ? levels[d].time : ref->vt_s;
    if (time >= ref->vt_e || time >= s->args->t_b || visited(s, d, ref->dst))
        return MK_OK;
    s->path.edges[d] = *ref;
    if (ref->dst == s->args->dst) {
        s->path.arrival = time;
        s->path.hops = d + 1;
        return take_path(s);
    }
    if (d + 1 == (uint32_t)s->args->hops_max)
        return MK_OK;
    s->nodes[d + 1] = ref->dst;
    *depth = d + 1;
    return open_level(s, &levels[d + 1], ref->dst, time);
}

static mk_code explore(search *s)
{
    level levels[MK_PATH_HOPS_MAX];
    uint32_t depth = 0;
    mk_code rc;
    s->nodes[0] = s->args->src;
    MK_TRY(rc, open_level(s, &levels[0], s->args->src, s->args->t_a));
    for (;;) {
        level *l = &levels[depth];
        const bool last = depth + 1 == (uint32_t)s->args->hops_max;
        const mk_edge_ref *edges = s->edges + l->list.from;
        while (last && l->at < l->list.count && edges[l->at].dst != s->args->dst)
            l->at++;
        if (l->at == l->list.count) {
            if (depth == 0)
                break;
            depth--;
            continue;
        }
        const mk_edge_ref ref = edges[l->at++];
        if (!mk_guard_ok(s->guard))
            return mk_guard_result(s->guard, s->err);
        MK_TRY(rc, follow(s, levels, &depth, &ref));
    }
out:
    return rc;
}

mk_code mk_paths_find(mk_view *view, mk_arena *arena, const mk_path_args *args, mk_guard *guard,
                      mk_paths *out, mk_err *err)
{
    /* The reference's candidates differ between current and past belief (O-28). */
    search s = {.view = view, .arena = arena, .args = args, .guard = guard,
                .filter = {.vt_lo = mk_view_is_current(view) ? INT64_MIN : args->t_a,
                           .vt_hi = args->t_b,
                           .match = MK_MATCH_OVERLAPS,
                           .sides = MK_SIDE_OUT},
                .seed = mk_entropy64(), .found = out, .err = err};
    out->count = 0;
    out->total = 0;
    const mk_code rc = lists_resize(&s, 256);
    return rc == MK_OK ? explore(&s) : rc;
}

/* ---- glue ---- */

static mk_code write_path(mk_run *run, const mk_path *path, mk_err *err)
{
    mk_buf *text = &run->out->text;
    char eid[24];
    mk_code rc = MK_OK;
    mk_buf_z(text, "{\"arrival\":");
    mk_buf_i64(text, path->arrival);
    mk_buf_z(text, ",\"edges\":[");
    for (uint32_t i = 0; i < path->hops; i++) {
        const mk_edge_ref *ref = &path->edges[i];
        MK_TRY(rc, mk_view_edge_eid(run->view, ref, eid, err));
        mk_buf_z(text, i ? ",{\"dst\":" : "{\"dst\":");
        mk_canon_string(text, mk_view_uid(run->view, ref->dst));
        mk_buf_z(text, ",\"eid\":");
        mk_canon_string(text, (mk_str){eid, sizeof eid});
        mk_buf_z(text, ",\"rel_type\":");
        mk_canon_string(text, mk_view_name(run->view, ref->rel_type));
        mk_buf_z(text, ",\"src\":");
        mk_canon_string(text, mk_view_uid(run->view, ref->src));
        mk_buf_z(text, ",\"t\":");
        mk_buf_i64(text, ref->vt_s);
        mk_buf_c(text, '}');
    }
    mk_buf_z(text, "],\"hops\":");
    mk_buf_u64(text, path->hops);
    mk_buf_c(text, '}');
out:
    return rc;
}

static mk_code write_paths(mk_run *run, const mk_paths *paths, mk_err *err)
{
    mk_code rc = MK_OK;
    mk_payload_member_start(run->out, "cursor");
    mk_buf_z(&run->out->text, "null");
    mk_payload_list(run->out, "rows");
    for (size_t i = 0; i < paths->count; i++) {
        mk_payload_item(run->out);
        MK_TRY(rc, write_path(run, &paths->best[i], err));
    }
    mk_payload_list_end(run->out);
    mk_payload_int(run->out, "rows_total", (int64_t)paths->total);
    mk_payload_bool(run->out, "truncated", paths->total > paths->count);
    if (paths->total > paths->count)
        mk_payload_gap(run->out, "rows", MK_GAP_TOP_K, paths->count, paths->total);
out:
    return rc;
}

static mk_code read_uid(const mk_run *run, const char *name, uint32_t *id, mk_err *err)
{
    const mk_str uid = mk_arg_str(run->args, name);
    *id = mk_view_entity(run->view, uid);
    return *id != MK_NO_ID ? MK_OK : mk_fail_uid(run, uid, name, -1, err);
}

static mk_code run_temporal_paths(mk_run *run, mk_err *err)
{
    const mk_json *window = mk_json_get(run->args, "window");
    mk_path_args args = {.t_a = mk_arg_i64(window, "t_a"),
                         .t_b = mk_arg_i64(window, "t_b"),
                         .hops_max = mk_arg_i64(run->args, "max_hops"),
                         .k = (size_t)mk_arg_i64(run->args, "k")};
    mk_paths paths;
    mk_code rc;

    MK_TRY(rc, read_uid(run, "src", &args.src, err));
    MK_TRY(rc, read_uid(run, "dst", &args.dst, err));
    MK_TRY(rc, mk_paths_find(run->view, run->arena, &args, run->guard, &paths, err));
    rc = write_paths(run, &paths, err);

out:
    return rc;
}

/* The number of partial paths if every node had the mean number of edges (operators spec, 5.6). */
static void cost_temporal_paths(const mk_cost_input *in, mk_cost *out)
{
    const double ceiling = 0x1p40;
    const int64_t entities = (int64_t)in->stats.entities > 1 ? (int64_t)in->stats.entities : 1;
    const int64_t edges =
        (int64_t)((double)in->stats.edge_versions * mk_cost_window_fraction(in));
    double mean = mk_cost_quotient(edges, entities), paths = 1.0, sum = 0.0;
    if (mean < 1.0)
        mean = 1.0;
    for (int64_t hop = mk_json_get(in->args, "max_hops")->i; hop > 0 && sum < ceiling; hop--) {
        paths = paths * mean;
        sum = sum + paths;
    }
    out->rows_scanned_est = edges;
    out->expansions_est = sum < ceiling ? (int64_t)sum : (int64_t)ceiling;
    mk_cost_time(in, 170.0, out);
}

static const mk_arg args_temporal_paths[] = {
    {.name = "src", .type = MK_ARG_STRING, .required = true, .min = 1, .doc = "Uid to start from."},
    {.name = "dst", .type = MK_ARG_STRING, .required = true, .min = 1, .doc = "Uid to arrive at."},
    MK_ARG_WINDOW,
    {.name = "k",
     .type = MK_ARG_INTEGER,
     .min = 1,
     .max = MK_PATHS_MAX,
     .default_json = "5",
     .doc = "How many paths to show; all are counted."},
    {.name = "max_hops",
     .type = MK_ARG_INTEGER,
     .min = 1,
     .max = MK_PATH_HOPS_MAX,
     .default_json = "4",
     .doc = "Most edges on a path."},
    MK_ARG_AS_OF,
    {0},
};

static const mk_field path_edge_members[] = {
    {.name = "src", .type = MK_FIELD_STRING, .doc = "Uid where the edge starts."},
    {.name = "dst", .type = MK_FIELD_STRING, .doc = "Uid where it ends."},
    {.name = "rel_type", .type = MK_FIELD_STRING, .doc = "Relation type."},
    {.name = "eid", .type = MK_FIELD_STRING, .doc = "Identity of the edge."},
    {.name = "t", .type = MK_FIELD_TIME, .doc = "Start of the edge, which may lie before it is taken."},
    {0},
};
static const mk_field path_edge = {
    .name = "hop", .type = MK_FIELD_OBJECT, .members = path_edge_members};
static const mk_field path_members[] = {
    {.name = "arrival", .type = MK_FIELD_TIME, .doc = "When dst is reached."},
    {.name = "hops", .type = MK_FIELD_INTEGER, .doc = "Number of edges."},
    {.name = "edges", .type = MK_FIELD_LIST, .item = &path_edge, .doc = "In the order taken."},
    {0},
};
static const mk_field path_row = {.name = "path", .type = MK_FIELD_OBJECT, .members = path_members};

static const mk_field fields_temporal_paths[] = {
    MK_FIELD_ROWS(&path_row, "The first k by (arrival, hops, then start and eid of each edge)."),
    {.name = "rows_total", .type = MK_FIELD_INTEGER, .doc = "How many paths there are."},
    MK_FIELD_TRUNCATED("Whether there are more than k."),
    {.name = "cursor", .type = MK_FIELD_STRING, .nullable = true, .doc = "Always null."},
    {0},
};

const mk_operator mk_operator_temporal_paths = {
    .name = "temporal_paths",
    .group = "graph",
    .summary = "paths from one entity to another along which time never runs backwards",
    .help = "Paths have no node twice and end where they first enter dst; parallel edges make different "
            "paths. All of them are found, so k does not make a search cheaper; a narrower window and "
            "fewer hops do.",
    .example = "{\"dst\":\"c\",\"src\":\"a\",\"window\":{\"t_a\":0,\"t_b\":100}}",
    .args = args_temporal_paths,
    .fields = fields_temporal_paths,
    .cost = cost_temporal_paths,
    .validate = mk_validate_window,
    .run = run_temporal_paths,
};

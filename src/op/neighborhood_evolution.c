/* neighborhood_evolution.c — whom an entity gained and lost between two instants. Layer: op.
 *
 * Only the entity's own lists are read, once, over [t1, t2]. Every edge adds one to the degree where it
 * begins to be valid and takes one away where it ends; neighbours at both instants are ids, sorted and
 * subtracted. Source: operators spec, 7.10; O-13. */
#include "op/neighborhood_evolution.h"

#include <stdlib.h>

#include "op/operators.h"

#define POINTS_USUAL 20 /* what the default stride aims at; it is rounded down, so there may be more (O-13) */

typedef struct ids {
    uint32_t *list;
    size_t count, cap;
} ids;

typedef struct gathering {
    mk_arena *arena;
    mk_guard *guard;
    const mk_evolution_args *args;
    const mk_buckets *grid;
    uint64_t *degrees; /* differences, modulo 2^64 */
    ids before, after; /* neighbours at t1 and at t2 */
    mk_code rc;
    mk_err *err;
} gathering;

static void add(gathering *g, ids *to, uint32_t id)
{
    g->rc = mk_op_grow(g->arena, (void **)&to->list, &to->cap, to->count + 1, sizeof *to->list, g->err);
    if (g->rc == MK_OK)
        to->list[to->count++] = id;
}

static bool holds_at(const mk_edge_ref *ref, int64_t t) { return ref->vt_s <= t && t < ref->vt_e; }

static bool meet(void *ctx, const mk_edge_ref *ref)
{
    gathering *g = ctx;
    const mk_evolution_args *args = g->args;
    const uint32_t other = ref->src == args->uid ? ref->dst : ref->src;
    const size_t from = mk_bucket_from(g->grid, ref->vt_s), to = mk_bucket_from(g->grid, ref->vt_e);
    if (from < to) {
        g->degrees[from]++;
        if (to < g->grid->count)
            g->degrees[to]--;
    }
    if (other != args->uid && holds_at(ref, args->t1))
        add(g, &g->before, other);
    if (g->rc == MK_OK && other != args->uid && holds_at(ref, args->t2))
        add(g, &g->after, other);
    return g->rc == MK_OK && mk_guard_ok(g->guard);
}

static int by_id(const void *x, const void *y)
{
    const uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    return a < b ? -1 : a > b;
}

static void make_set(ids *set)
{
    size_t n = 0;
    if (set->count == 0)
        return;
    qsort(set->list, set->count, sizeof *set->list, by_id);
    for (size_t i = 0; i < set->count; i++)
        if (n == 0 || set->list[n - 1] != set->list[i])
            set->list[n++] = set->list[i];
    set->count = n;
}

static mk_code gather(mk_view *view, gathering *g)
{
    /* t2 is at most 2^62, so the instant after it is a time. */
    const mk_edge_filter filter = {.vt_lo = g->args->t1, .vt_hi = g->args->t2 + 1};
    const mk_code rc = mk_view_edges_of(view, g->args->uid, &filter, meet, g, g->err);
    if (g->rc != MK_OK)
        return g->rc;
    for (size_t i = 1; i < g->grid->count; i++)
        g->degrees[i] += g->degrees[i - 1];
    make_set(&g->before);
    make_set(&g->after);
    return mk_guard_or(g->guard, rc, g->err);
}

/* The members of `from` that are not in `without`, in the order of their uids. */
static mk_code difference(mk_view *view, mk_arena *arena, const ids *from, const ids *without,
                          mk_ranked **out, size_t *count, mk_err *err)
{
    size_t n = 0, k = 0;
    mk_ranked *list = mk_arena_get(arena, from->count * sizeof *list);
    if (list == NULL)
        return mk_fail_nomem(err);
    for (size_t i = 0; i < from->count; i++) {
        while (k < without->count && without->list[k] < from->list[i])
            k++;
        if (k == without->count || without->list[k] != from->list[i])
            list[n++] = (mk_ranked){.uid = mk_view_uid(view, from->list[i]), .id = from->list[i]};
    }
    *out = list;
    *count = n;
    return mk_ranked_sort(arena, list, n, err);
}

mk_code mk_evolution_run(mk_view *view, mk_arena *arena, const mk_evolution_args *args,
                         mk_guard *guard, mk_evolution *out, mk_err *err)
{
    const int64_t usual = (args->t2 - args->t1) / POINTS_USUAL;
    const int64_t stride = args->stride != 0 ? args->stride : usual > 1 ? usual : 1;
    mk_code rc;
    *out = (mk_evolution){0};
    MK_TRY(rc, mk_buckets_of(args->t1, args->t2, stride, &out->grid, err));
    out->degrees = mk_arena_get0(arena, out->grid.count * sizeof *out->degrees);
    if (out->degrees == NULL)
        return mk_fail_nomem(err);
    gathering g = {.arena = arena, .guard = guard, .args = args, .grid = &out->grid,
                   .degrees = out->degrees, .rc = MK_OK, .err = err};
    MK_TRY(rc, gather(view, &g));
    MK_TRY(rc, difference(view, arena, &g.after, &g.before, &out->gained, &out->gained_count, err));
    rc = difference(view, arena, &g.before, &g.after, &out->lost, &out->lost_count, err);
out:
    return rc;
}

/* ---- glue ---- */

/* `name` and `name`_total; what is shown is cut to the limit. */
static mk_code write_change(mk_run *run, const char *name, const char *total, const mk_ranked *list,
                            size_t count, bool *cut, mk_err *err)
{
    const mk_page head = {.limit = run->page.limit, .whole = run->page.whole};
    mk_span span;
    const mk_code rc = mk_page_span(&head, count, &span, err);
    if (rc != MK_OK)
        return rc;
    mk_payload_list(run->out, name);
    for (size_t i = 0; i < span.end; i++) {
        mk_payload_item(run->out);
        mk_payload_string(run->out, list[i].uid);
    }
    mk_payload_list_end(run->out);
    mk_payload_int(run->out, total, (int64_t)count);
    if (span.truncated)
        mk_payload_gap(run->out, name, MK_GAP_SUBLIST, span.end, count);
    *cut |= span.truncated;
    return MK_OK;
}

static void write_degrees(mk_run *run, const mk_evolution *e)
{
    mk_buf *text = &run->out->text;
    mk_payload_list(run->out, "degree_series");
    for (size_t i = 0; i < e->grid.count; i++) {
        mk_payload_item(run->out);
        mk_buf_z(text, "{\"degree\":");
        mk_buf_u64(text, e->degrees[i]);
        mk_buf_z(text, ",\"t\":");
        mk_buf_i64(text, mk_bucket_start(&e->grid, i));
        mk_buf_c(text, '}');
    }
    mk_payload_list_end(run->out);
}

static mk_code run_neighborhood_evolution(mk_run *run, mk_err *err)
{
    const mk_str uid = mk_arg_str(run->args, "uid");
    const mk_evolution_args args = {
        .uid = mk_view_entity(run->view, uid),
        .t1 = mk_arg_i64(run->args, "t1"),
        .t2 = mk_arg_i64(run->args, "t2"),
        .stride = mk_arg_is_null(run->args, "stride") ? 0 : mk_arg_i64(run->args, "stride"),
    };
    mk_evolution e;
    bool cut = false;
    mk_code rc;

    if (args.uid == MK_NO_ID)
        return mk_fail_uid(run, uid, "uid", -1, err);
    MK_TRY(rc, mk_evolution_run(run->view, run->arena, &args, run->guard, &e, err));
    write_degrees(run, &e);
    MK_TRY(rc, write_change(run, "neighbors_gained", "neighbors_gained_total", e.gained,
                            e.gained_count, &cut, err));
    MK_TRY(rc, write_change(run, "neighbors_lost", "neighbors_lost_total", e.lost, e.lost_count,
                            &cut, err));
    mk_payload_int(run->out, "stride", e.grid.stride);
    mk_payload_bool(run->out, "truncated", cut);

out:
    return rc;
}

static mk_code validate_neighborhood_evolution(const mk_json *args, mk_err *err)
{
    const int64_t t1 = mk_arg_i64(args, "t1"), t2 = mk_arg_i64(args, "t2");
    if (t1 < t2)
        return MK_OK;
    mk_fail(err, MK_E_INVALID_ARG, "t1 %lld is not before t2 %lld", (long long)t1, (long long)t2);
    mk_err_hint(err, t1 == t2 ? "snapshot_subgraph shows one instant" : "swap t1 and t2");
    mk_err_extra(err, "\"path\":[\"t1\"]", 13);
    return MK_E_INVALID_ARG;
}

static void cost_neighborhood_evolution(const mk_cost_input *in, mk_cost *out)
{
    out->rows_scanned_est = mk_cost_scan(in);
    mk_cost_time(in, 170.0, out);
}

static const mk_arg args_neighborhood_evolution[] = {
    {.name = "uid",
     .type = MK_ARG_STRING,
     .required = true,
     .min = 1,
     .doc = "The entity."},
    MK_ARG_TIME("t1", "The first instant, microseconds or ISO 8601."),
    MK_ARG_TIME("t2", "The second instant, later than t1."),
    MK_ARG_AS_OF,
    {.name = "stride",
     .type = MK_ARG_INTEGER,
     .nullable = true,
     .min = 1,
     .max = INT64_MAX,
     .default_json = "null",
     .doc = "Distance of the degree's points, microseconds, at most 2000 points; null is a twentieth "
            "of the span, rounded down."},
    MK_ARG_LIMIT,
    {0},
};

static const mk_field degree_members[] = {
    {.name = "t", .type = MK_FIELD_TIME, .doc = "The instant."},
    {.name = "degree", .type = MK_FIELD_INTEGER, .doc = "Edges valid then, parallel ones included."},
    {0},
};
static const mk_field degree_row = {
    .name = "point", .type = MK_FIELD_OBJECT, .members = degree_members};

static const mk_field fields_neighborhood_evolution[] = {
    {.name = "neighbors_gained",
     .type = MK_FIELD_LIST,
     .item = &mk_field_text,
     .doc = "Uids that are neighbours at t2 and not at t1, ascending, the first `limit`."},
    {.name = "neighbors_gained_total", .type = MK_FIELD_INTEGER, .doc = "How many there are."},
    {.name = "neighbors_lost",
     .type = MK_FIELD_LIST,
     .item = &mk_field_text,
     .doc = "Uids that are neighbours at t1 and not at t2, ascending, the first `limit`."},
    {.name = "neighbors_lost_total", .type = MK_FIELD_INTEGER, .doc = "How many there are."},
    {.name = "degree_series",
     .type = MK_FIELD_LIST,
     .item = &degree_row,
     .doc = "The degree at t1, t1 + stride, ... before t2."},
    {.name = "stride", .type = MK_FIELD_INTEGER, .doc = "The stride that was used."},
    MK_FIELD_TRUNCATED("Whether one of the two lists was cut."),
    {0},
};

const mk_operator mk_operator_neighborhood_evolution = {
    .name = "neighborhood_evolution",
    .group = "graph",
    .summary = "neighbours gained and lost between two instants, and the degree on the way",
    .help = "A neighbour shares an edge with the entity, in either direction, that is valid at the "
            "instant; whether the neighbour itself is valid does not matter.",
    .example = "{\"t1\":11,\"t2\":27,\"uid\":\"a\"}",
    .args = args_neighborhood_evolution,
    .fields = fields_neighborhood_evolution,
    .cost = cost_neighborhood_evolution,
    .validate = validate_neighborhood_evolution,
    .run = run_neighborhood_evolution,
};

/* neighborhood_evolution.c — whom an entity gained and lost between two instants. Layer: op.
 *
 * Only the entity's own lists are read, once, over [t1, t2]. Every edge adds one to the degree where it
 * begins to be valid and takes one away where it ends; neighbours at both instants are ids, sorted and
 * subtracted. Source: operators spec, 7.10; O-13. */
#include <stdlib.h>

#include "op/operators.h"
#include "op/series.h"

typedef struct ids {
    uint32_t *list;
    size_t count, cap;
} ids;

typedef struct evolution {
    mk_arena *arena;
    mk_guard *guard;
    uint32_t uid;
    int64_t t1, t2;
    mk_buckets grid;
    uint64_t *degrees; /* differences, modulo 2^64 */
    ids before, after; /* neighbours at t1 and at t2 */
    mk_code rc;
    mk_err *err;
} evolution;

static void add(evolution *e, ids *to, uint32_t id)
{
    e->rc = mk_op_grow(e->arena, (void **)&to->list, &to->cap, to->count + 1, sizeof *to->list, e->err);
    if (e->rc == MK_OK)
        to->list[to->count++] = id;
}

/* The first point of the grid at `t` or later. */
static size_t point_from(const evolution *e, int64_t t)
{
    if (t <= e->t1)
        return 0;
    if (t > mk_bucket_start(&e->grid, e->grid.count - 1))
        return e->grid.count;
    return (size_t)(((uint64_t)t - (uint64_t)e->t1 - 1) / (uint64_t)e->grid.stride + 1);
}

static bool meet(void *ctx, const mk_edge_ref *ref)
{
    evolution *e = ctx;
    const uint32_t other = ref->src == e->uid ? ref->dst : ref->src;
    const size_t from = point_from(e, ref->vt_s), to = point_from(e, ref->vt_e);
    if (from < to) {
        e->degrees[from]++;
        if (to < e->grid.count)
            e->degrees[to]--;
    }
    if (other != e->uid && ref->vt_s <= e->t1 && e->t1 < ref->vt_e)
        add(e, &e->before, other);
    if (e->rc == MK_OK && other != e->uid && ref->vt_s <= e->t2 && e->t2 < ref->vt_e)
        add(e, &e->after, other);
    return e->rc == MK_OK && mk_guard_ok(e->guard);
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

static mk_code gather(mk_view *view, evolution *e)
{
    const mk_edge_filter filter = {.vt_lo = e->t1, .vt_hi = e->t2 + 1}; /* t2 is at most 2^62 */
    e->degrees = mk_arena_get0(e->arena, e->grid.count * sizeof *e->degrees);
    if (e->degrees == NULL)
        return mk_fail_nomem(e->err);
    const mk_code rc = mk_view_edges_of(view, e->uid, &filter, meet, e, e->err);
    if (e->rc != MK_OK)
        return e->rc;
    for (size_t i = 1; i < e->grid.count; i++)
        e->degrees[i] += e->degrees[i - 1];
    make_set(&e->before);
    make_set(&e->after);
    return mk_guard_or(e->guard, rc, e->err);
}

/* ---- glue ---- */

/* The members of `from` that are not in `without`, in the order of their uids. */
static mk_code difference(mk_run *run, const ids *from, const ids *without, mk_ranked **out,
                          size_t *count, mk_err *err)
{
    size_t n = 0, k = 0;
    mk_ranked *list = mk_arena_get(run->arena, from->count * sizeof *list);
    if (list == NULL)
        return mk_fail_nomem(err);
    for (size_t i = 0; i < from->count; i++) {
        while (k < without->count && without->list[k] < from->list[i])
            k++;
        if (k == without->count || without->list[k] != from->list[i])
            list[n++] = (mk_ranked){.uid = mk_view_uid(run->view, from->list[i])};
    }
    *out = list;
    *count = n;
    return mk_ranked_sort(run->arena, list, n, err);
}

/* `name` and `name`_total; what is shown is cut to the limit. */
static mk_code write_change(mk_run *run, const char *name, const char *total, const ids *from,
                            const ids *without, bool *cut, mk_err *err)
{
    const mk_page head = {.limit = run->page.limit, .whole = run->page.whole};
    mk_ranked *list = NULL;
    size_t count = 0;
    mk_span span;
    mk_code rc;
    MK_TRY(rc, difference(run, from, without, &list, &count, err));
    MK_TRY(rc, mk_page_span(&head, count, &span, err));
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
out:
    return rc;
}

static void write_degrees(mk_run *run, const evolution *e)
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
    evolution e = {.arena = run->arena, .guard = run->guard, .rc = MK_OK, .err = err};
    const mk_str uid = mk_arg_str(run->args, "uid");
    bool cut = false;
    mk_code rc;

    e.t1 = mk_arg_i64(run->args, "t1");
    e.t2 = mk_arg_i64(run->args, "t2");
    e.uid = mk_view_entity(run->view, uid);
    if (e.uid == MK_NO_ID)
        return mk_fail_uid(run, uid, "uid", -1, err);
    int64_t stride = (e.t2 - e.t1) / 20 > 1 ? (e.t2 - e.t1) / 20 : 1;
    if (!mk_arg_is_null(run->args, "stride"))
        stride = mk_arg_i64(run->args, "stride");
    MK_TRY(rc, mk_buckets_of(e.t1, e.t2, stride, &e.grid, err));
    MK_TRY(rc, gather(run->view, &e));
    write_degrees(run, &e);
    MK_TRY(rc, write_change(run, "neighbors_gained", "neighbors_gained_total", &e.after, &e.before,
                            &cut, err));
    MK_TRY(rc, write_change(run, "neighbors_lost", "neighbors_lost_total", &e.before, &e.after, &cut,
                            err));
    mk_payload_int(run->out, "stride", stride);
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

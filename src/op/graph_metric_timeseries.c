/* graph_metric_timeseries.c — one number of the graph for every bucket. Layer: op.
 *
 * Edges are counted by places (series.h). Nodes are few and have no order by time: one pass over their
 * versions, of which each adds one where it begins to be valid and takes one away where it ends. Pairs are
 * kept in a hash table whose entries carry the bucket that saw them last, so that nothing is cleared
 * between buckets; the events come in time order. */
#include "op/graph_metric_timeseries.h"

#include "base/hash.h"
#include "op/operators.h"

/* ---- nodes ---- */

typedef struct node_pass {
    const mk_buckets *buckets;
    mk_guard *guard;
    uint64_t *counts; /* differences between buckets, modulo 2^64 */
    int64_t *first;   /* by dense id: the earliest start seen */
} node_pass;

static bool count_valid(void *ctx, const mk_node_ref *ref)
{
    node_pass *p = ctx;
    const size_t from = mk_bucket_from(p->buckets, ref->vt_s), to = mk_bucket_from(p->buckets, ref->vt_e);
    if (from < to) {
        p->counts[from]++;
        if (to < p->buckets->count)
            p->counts[to]--;
    }
    return mk_guard_ok(p->guard);
}

static mk_code nodes_valid(mk_view *view, const mk_buckets *buckets, mk_guard *guard,
                           uint64_t *counts, mk_err *err)
{
    node_pass p = {.buckets = buckets, .guard = guard, .counts = counts};
    memset(counts, 0, buckets->count * sizeof *counts);
    const mk_code rc = mk_view_nodes(view, buckets->t_a, buckets->t_b, count_valid, &p, err);
    for (size_t i = 1; i < buckets->count; i++)
        counts[i] += counts[i - 1];
    return mk_guard_or(guard, rc, err);
}

static bool note_first(void *ctx, const mk_node_ref *ref)
{
    node_pass *p = ctx;
    if (ref->vt_s < p->first[ref->uid])
        p->first[ref->uid] = ref->vt_s;
    return mk_guard_ok(p->guard);
}

static mk_code nodes_new(mk_view *view, mk_arena *arena, const mk_buckets *buckets,
                         mk_guard *guard, uint64_t *counts, mk_err *err)
{
    const uint32_t entities = mk_view_entity_count(view);
    node_pass p = {.buckets = buckets, .guard = guard};
    p.first = mk_arena_get(arena, (size_t)entities * sizeof *p.first);
    if (p.first == NULL)
        return mk_fail_nomem(err);
    for (uint32_t id = 0; id < entities; id++)
        p.first[id] = INT64_MAX;
    memset(counts, 0, buckets->count * sizeof *counts);
    const mk_code rc = mk_view_nodes(view, INT64_MIN, INT64_MAX, note_first, &p, err);
    for (uint32_t id = 0; id < entities; id++)
        if (p.first[id] >= buckets->t_a && p.first[id] < buckets->t_b)
            counts[mk_bucket_at(buckets, p.first[id])]++;
    return mk_guard_or(guard, rc, err);
}

static mk_code mean_out_degree(mk_view *view, mk_arena *arena, const mk_buckets *buckets,
                               mk_guard *guard, double *values, mk_err *err)
{
    uint64_t *edges = mk_arena_get(arena, buckets->count * sizeof *edges);
    uint64_t *nodes = mk_arena_get(arena, buckets->count * sizeof *nodes);
    mk_code rc;
    if (edges == NULL || nodes == NULL)
        return mk_fail_nomem(err);
    MK_TRY(rc, mk_series_active(view, arena, buckets, edges, err));
    MK_TRY(rc, nodes_valid(view, buckets, guard, nodes, err));
    for (size_t i = 0; i < buckets->count; i++)
        values[i] = nodes[i] != 0 ? (double)edges[i] / (double)nodes[i] : 0.0;
out:
    return rc;
}

/* ---- reciprocity ---- */

typedef struct pair {
    uint64_t key;    /* src and dst */
    uint32_t bucket; /* 1 + the bucket it was last seen in; 0: free */
} pair;

typedef struct pairs {
    mk_arena *arena;
    uint64_t seed;
    pair *slots;
    size_t mask;
    size_t used; /* slots that are not free */
    uint32_t bucket;
    uint64_t distinct, answered; /* in this bucket */
} pairs;

static pair *pair_slot(const pairs *p, uint64_t key)
{
    size_t at = mk_mix64(key ^ p->seed) & p->mask;
    while (p->slots[at].bucket != 0 && p->slots[at].key != key)
        at = (at + 1) & p->mask;
    return &p->slots[at];
}

/* A table of `slots`; pairs of earlier buckets stay behind. */
static mk_code pairs_resize(pairs *p, size_t slots, mk_err *err)
{
    const pair *old = p->slots;
    const size_t old_count = old != NULL ? p->mask + 1 : 0;
    size_t size;
    p->slots = mk_size_mul(slots, sizeof *p->slots, &size) ? mk_arena_get0(p->arena, size) : NULL;
    if (p->slots == NULL)
        return mk_fail_nomem(err);
    p->mask = slots - 1;
    p->used = 0;
    for (size_t i = 0; i < old_count; i++) {
        if (old[i].bucket != p->bucket)
            continue;
        *pair_slot(p, old[i].key) = old[i];
        p->used++;
    }
    return MK_OK;
}

static mk_code pairs_add(pairs *p, uint32_t src, uint32_t dst, mk_err *err)
{
    if ((p->used + 1) * 4 > (p->mask + 1) * 3) {
        /* As many live pairs decide the new size, so stale ones are dropped and not carried along. */
        const size_t slots = p->distinct * 4 > p->mask + 1 ? (p->mask + 1) * 2 : p->mask + 1;
        const mk_code rc = pairs_resize(p, slots, err);
        if (rc != MK_OK)
            return rc;
    }
    pair *slot = pair_slot(p, (uint64_t)src << 32 | dst);
    if (slot->bucket == p->bucket)
        return MK_OK;
    p->used += slot->bucket == 0;
    *slot = (pair){.key = (uint64_t)src << 32 | dst, .bucket = p->bucket};
    p->distinct++;
    if (src == dst)
        p->answered++;
    else if (pair_slot(p, (uint64_t)dst << 32 | src)->bucket == p->bucket)
        p->answered += 2;
    return MK_OK;
}

static void end_bucket(pairs *p, double *values)
{
    if (p->distinct > 0)
        values[p->bucket - 1] = (double)p->answered / (double)p->distinct;
    p->distinct = p->answered = 0;
}

static mk_code add_block(pairs *p, const mk_buckets *buckets, const mk_edge_block *block,
                         double *values, mk_err *err)
{
    for (uint32_t i = 0; i < block->count; i++) {
        const uint32_t bucket = (uint32_t)mk_bucket_at(buckets, block->vt_s[i]) + 1;
        if (bucket != p->bucket) {
            end_bucket(p, values);
            p->bucket = bucket;
        }
        const mk_code rc = pairs_add(p, block->src[i], block->dst[i], err);
        if (rc != MK_OK)
            return rc;
    }
    return MK_OK;
}

static mk_code reciprocity(mk_view *view, mk_arena *arena, const mk_buckets *buckets,
                           mk_guard *guard, double *values, mk_err *err)
{
    const mk_edge_filter filter = {
        .vt_lo = buckets->t_a, .vt_hi = buckets->t_b, .match = MK_MATCH_STARTS,
        .without = MK_WITHOUT_ENDS | MK_WITHOUT_ROWS};
    pairs p = {.arena = arena, .seed = mk_entropy64(), .bucket = 1};
    mk_edge_stream *stream;
    const mk_edge_block *block;
    mk_code rc;
    for (size_t i = 0; i < buckets->count; i++)
        values[i] = 0.0;
    MK_TRY(rc, pairs_resize(&p, 1024, err));
    MK_TRY(rc, mk_view_stream(view, arena, &filter, true, &stream, err));
    for (;;) {
        MK_TRY(rc, mk_edge_stream_next(stream, &block, err));
        if (block == NULL || !mk_guard_done(guard, block->count))
            break;
        MK_TRY(rc, add_block(&p, buckets, block, values, err));
    }
    end_bucket(&p, values);
    rc = mk_guard_result(guard, err);
out:
    return rc;
}

/* ---- all metrics ---- */

mk_code mk_metric_run(mk_view *view, mk_arena *arena, const mk_buckets *buckets, mk_metric metric,
                      mk_guard *guard, mk_metric_series *out, mk_err *err)
{
    *out = (mk_metric_series){
        .is_float = metric == MK_METRIC_MEAN_OUT_DEGREE || metric == MK_METRIC_RECIPROCITY};
    out->counts = mk_arena_get(arena, buckets->count * sizeof *out->counts);
    out->values = mk_arena_get(arena, buckets->count * sizeof *out->values);
    if (out->counts == NULL || out->values == NULL)
        return mk_fail_nomem(err);
    switch (metric) {
    case MK_METRIC_NODE_COUNT: return nodes_valid(view, buckets, guard, out->counts, err);
    case MK_METRIC_EDGE_EVENT_COUNT:
        return mk_series_events(view, arena, buckets, out->counts, err);
    case MK_METRIC_ACTIVE_EDGE_COUNT:
        return mk_series_active(view, arena, buckets, out->counts, err);
    case MK_METRIC_MEAN_OUT_DEGREE:
        return mean_out_degree(view, arena, buckets, guard, out->values, err);
    case MK_METRIC_NEW_NODE_RATE:
        return nodes_new(view, arena, buckets, guard, out->counts, err);
    default: return reciprocity(view, arena, buckets, guard, out->values, err);
    }
}

/* ---- glue ---- */

/* In the order of mk_metric. */
static const char *const metrics[] = {"node_count",      "edge_event_count", "active_edge_count",
                                      "mean_out_degree", "new_node_rate",    "reciprocity",
                                      NULL};

static mk_metric metric_of(const mk_json *args)
{
    const mk_str name = mk_arg_str(args, "metric");
    int i = 0;
    while (!mk_str_eq(name, mk_str_of(metrics[i])))
        i++;
    return (mk_metric)i;
}

static void write_row(mk_run *run, const mk_buckets *buckets, const mk_metric_series *series, size_t i)
{
    mk_buf *text = &run->out->text;
    mk_payload_item(run->out);
    mk_buf_z(text, "{\"t_a\":");
    mk_buf_i64(text, mk_bucket_start(buckets, i));
    mk_buf_z(text, ",\"t_b\":");
    mk_buf_i64(text, mk_bucket_end(buckets, i));
    mk_buf_z(text, ",\"value\":");
    if (series->is_float)
        mk_payload_float(run->out, series->values[i]);
    else
        mk_buf_u64(text, series->counts[i]);
    mk_buf_c(text, '}');
}

static mk_code run_graph_metric_timeseries(mk_run *run, mk_err *err)
{
    mk_metric_series series;
    mk_buckets buckets;
    mk_span span;
    mk_code rc;

    MK_TRY(rc, mk_buckets_of_args(run->args, &buckets, err));
    MK_TRY(rc, mk_metric_run(run->view, run->arena, &buckets, metric_of(run->args), run->guard,
                             &series, err));
    MK_TRY(rc, mk_page_span(&run->page, buckets.count, &span, err));
    mk_payload_cursor(run->out, &span);
    mk_payload_int(run->out, "n_buckets", (int64_t)buckets.count);
    mk_payload_list(run->out, "rows");
    for (size_t i = span.start; i < span.end; i++)
        write_row(run, &buckets, &series, i);
    mk_payload_list_end(run->out);
    mk_payload_int(run->out, "rows_total", (int64_t)span.total);
    mk_payload_bool(run->out, "truncated", span.truncated);
    mk_payload_page_gaps(run->out, "rows", &span);

out:
    return rc;
}

static void cost_graph_metric_timeseries(const mk_cost_input *in, mk_cost *out)
{
    out->rows_scanned_est = mk_cost_scan(in);
    mk_cost_time(in, 55.0, out);
}

static const mk_arg args_graph_metric_timeseries[] = {
    {.name = "metric",
     .type = MK_ARG_ENUM,
     .required = true,
     .choices = metrics,
     .doc = "node_count and active_edge_count: versions valid where the bucket starts; "
            "edge_event_count: edges that start in it; mean_out_degree: active edges by valid nodes; "
            "new_node_rate: entities whose first version starts in it; reciprocity: the share of "
            "ordered pairs with an event in it that have one the other way as well."},
    MK_ARG_WINDOW,
    {.name = "stride",
     .type = MK_ARG_INTEGER,
     .required = true,
     .min = 1,
     .max = INT64_MAX,
     .doc = "Length of a bucket, microseconds; at most 2000 buckets."},
    MK_ARG_AS_OF,
    MK_ARG_LIMIT,
    MK_ARG_CURSOR,
    {0},
};

static const mk_field metric_row_members[] = {
    {.name = "t_a", .type = MK_FIELD_TIME, .doc = "Start of the bucket."},
    {.name = "t_b", .type = MK_FIELD_TIME, .doc = "End of the bucket, exclusive."},
    {.name = "value",
     .type = MK_FIELD_NUMBER,
     .doc = "An integer; of mean_out_degree and reciprocity a float."},
    {0},
};
static const mk_field metric_row = {
    .name = "bucket", .type = MK_FIELD_OBJECT, .members = metric_row_members};

static const mk_field fields_graph_metric_timeseries[] = {
    MK_FIELD_ROWS(&metric_row, "One row for each bucket, empty ones included, in time order."),
    MK_FIELD_ROWS_TOTAL,
    MK_FIELD_TRUNCATED("Whether rows follow this page."),
    MK_FIELD_CURSOR,
    {.name = "n_buckets", .type = MK_FIELD_INTEGER, .doc = "How many buckets the window has."},
    {0},
};

const mk_operator mk_operator_graph_metric_timeseries = {
    .name = "graph_metric_timeseries",
    .group = "graph",
    .summary = "a metric of the whole graph over time, by buckets of equal length",
    .help = "mean_out_degree divides all active edges by all valid nodes, whether or not the edges' "
            "ends are among them; reciprocity counts a self-loop as answered.",
    .example = "{\"metric\":\"edge_event_count\",\"stride\":10,\"window\":{\"t_a\":0,\"t_b\":40}}",
    .args = args_graph_metric_timeseries,
    .fields = fields_graph_metric_timeseries,
    .cost = cost_graph_metric_timeseries,
    .validate = mk_validate_window,
    .run = run_graph_metric_timeseries,
};

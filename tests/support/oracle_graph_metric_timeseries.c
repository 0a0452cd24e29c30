/* oracle_graph_metric_timeseries.c — metrics by counting anew in every bucket. Source: operators spec,
 * 7.8. */
#include "oracle_series.h"

static const char *const metrics[] = {"node_count",      "edge_event_count", "active_edge_count",
                                      "mean_out_degree", "new_node_rate",    "reciprocity"};

static void args(const oracle_world *world, mk_buf *out)
{
    mk_buf_printf(out, "{\"metric\":\"%s\",\"window\":", metrics[genops_below(world->gen, 6)]);
    oracle_gen_window(world, out);
    oracle_gen_stride(world, out);
    oracle_gen_as_of(world, out);
    oracle_gen_page(world, true, out);
    mk_buf_c(out, '}');
}

static size_t valid_at(const model_list *list, int64_t t)
{
    size_t n = 0;
    for (size_t i = 0; i < list->n; i++)
        n += list->rows[i]->vt_s <= t && t < list->rows[i]->vt_e;
    return n;
}

/* Entities whose earliest believed start lies in [a, b). */
static size_t newcomers(const model_list *nodes, int64_t a, int64_t b)
{
    size_t n = 0;
    for (size_t i = 0; i < nodes->n; i++) {
        bool first = true;
        for (size_t k = 0; k < i && first; k++) /* in order of start */
            first = !mk_str_eq(nodes->rows[k]->identity, nodes->rows[i]->identity);
        n += first && nodes->rows[i]->vt_s >= a && nodes->rows[i]->vt_s < b;
    }
    return n;
}

static bool in_bucket(const model_row *e, int64_t a, int64_t b) { return e->vt_s >= a && e->vt_s < b; }

static bool has_pair(const model_list *edges, mk_str src, mk_str dst, int64_t a, int64_t b, size_t before)
{
    for (size_t i = 0; i < before; i++)
        if (in_bucket(edges->rows[i], a, b) && mk_str_eq(edges->rows[i]->src, src) &&
            mk_str_eq(edges->rows[i]->dst, dst))
            return true;
    return false;
}

static double reciprocity(const model_list *edges, int64_t a, int64_t b)
{
    size_t pairs = 0, answered = 0;
    for (size_t i = 0; i < edges->n; i++) {
        const model_row *e = edges->rows[i];
        if (!in_bucket(e, a, b) || has_pair(edges, e->src, e->dst, a, b, i))
            continue;
        pairs++;
        answered += has_pair(edges, e->dst, e->src, a, b, edges->n);
    }
    return pairs ? (double)answered / (double)pairs : 0.0;
}

static void put_value(mk_buf *out, mk_str metric, const model_list *nodes, const model_list *edges,
                      int64_t a, int64_t b)
{
    size_t n = 0;
    if (mk_str_eq(metric, MK_STR("reciprocity"))) {
        oracle_put_float(out, reciprocity(edges, a, b));
        return;
    }
    if (mk_str_eq(metric, MK_STR("mean_out_degree"))) {
        const size_t valid = valid_at(nodes, a);
        oracle_put_float(out, valid ? (double)valid_at(edges, a) / (double)valid : 0.0);
        return;
    }
    if (mk_str_eq(metric, MK_STR("node_count")))
        n = valid_at(nodes, a);
    else if (mk_str_eq(metric, MK_STR("active_edge_count")))
        n = valid_at(edges, a);
    else if (mk_str_eq(metric, MK_STR("new_node_rate")))
        n = newcomers(nodes, a, b);
    else
        for (size_t i = 0; i < edges->n; i++)
            n += in_bucket(edges->rows[i], a, b);
    mk_buf_u64(out, n);
}

static void answer(const oracle_world *world, const mk_json *args_, mk_arena *arena, oracle_answer *out)
{
    const int64_t as_of = oracle_int(args_, "as_of_tt", MK_OPEN_END);
    oracle_grid grid;
    oracle_page page;
    if (!oracle_grid_of(args_, &grid, out))
        return;
    const model_list nodes = model_believed(world->m, arena, MODEL_NODE, NULL, as_of);
    const model_list edges = model_believed(world->m, arena, MODEL_EDGE, NULL, as_of);
    if (!oracle_page_of(args_, (size_t)grid.count, 100, &page, out))
        return;
    oracle_put_cursor(&out->payload, &page);
    mk_buf_printf(&out->payload, ",\"n_buckets\":%lld,\"rows\":[", (long long)grid.count);
    for (size_t i = page.from; i < page.to; i++) {
        const int64_t a = oracle_grid_start(&grid, i), b = oracle_grid_end(&grid, i);
        mk_buf_printf(&out->payload, "%s{\"t_a\":%lld,\"t_b\":%lld,\"value\":", i > page.from ? "," : "",
                      (long long)a, (long long)b);
        put_value(&out->payload, oracle_text(args_, "metric"), &nodes, &edges, a, b);
        mk_buf_c(&out->payload, '}');
    }
    mk_buf_printf(&out->payload, "],\"rows_total\":%zu,\"truncated\":%s}", page.total,
                  page.truncated ? "true" : "false");
}

const oracle oracle_graph_metric_timeseries = {
    .op = "graph_metric_timeseries", .args = args, .answer = answer};

/* oracle_count_temporal_motifs.c — motifs by three nested loops. Source: operators spec, 7.6. */
#include "oracle_motif.h"

#include <stdlib.h>

/* ---- arguments ---- */

static const char *const motifs[] = {"M_triangle_cyclic", "M_triangle_acyclic_1", "M_2node_pingpong",
                                     "M_star_out_3", "M_path_3"};

static void gen_node_filter(const oracle_world *world, mk_buf *out)
{
    mk_buf_z(out, ",\"node_filter\":");
    if (genops_chance(world->gen, 10))
        mk_buf_z(out, "null");
    else if (genops_chance(world->gen, 5))
        mk_buf_z(out, "[]");
    else
        oracle_gen_uids(world, 12, out);
}

static int64_t gen_delta(const oracle_world *world)
{
    const uint64_t span = (uint64_t)(world->vt_max - world->vt_min);
    if (genops_chance(world->gen, 5))
        return INT64_MAX;
    return 1 + (int64_t)genops_below(world->gen, genops_chance(world->gen, 50) ? span + 2 : span / 8 + 1);
}

void oracle_motif_args(const oracle_world *world, mk_buf *out)
{
    mk_buf_printf(out, "{\"motif\":\"%s\",\"delta\":%lld,\"window\":", motifs[genops_below(world->gen, 5)],
                  (long long)gen_delta(world));
    oracle_gen_window(world, out);
    if (genops_chance(world->gen, 45))
        gen_node_filter(world, out);
    if (genops_chance(world->gen, 10))
        mk_buf_z(out, genops_chance(world->gen, 10) ? ",\"mode\":\"sample\"" : ",\"mode\":\"exact\"");
    if (genops_chance(world->gen, 5))
        mk_buf_z(out, genops_chance(world->gen, 50) ? ",\"seed\":null" : ",\"seed\":-7");
    oracle_gen_as_of(world, out);
}

static void args(const oracle_world *world, mk_buf *out)
{
    oracle_motif_args(world, out);
    mk_buf_c(out, '}');
}

/* ---- events ---- */

static bool is_listed(const mk_json *list, mk_str uid)
{
    for (size_t i = 0; i < list->n; i++)
        if (mk_str_eq(list->items[i].text, uid))
            return true;
    return false;
}

static int by_time_and_ids(const void *x, const void *y)
{
    const model_row *a = *(const model_row *const *)x, *b = *(const model_row *const *)y;
    if (a->vt_s != b->vt_s)
        return a->vt_s < b->vt_s ? -1 : 1;
    const int eids = mk_str_cmp(a->identity, b->identity);
    if (eids != 0)
        return eids;
    const int vids = mk_str_cmp(a->vid, b->vid);
    return vids != 0 ? vids : (a > b) - (a < b);
}

bool oracle_motif_events(const oracle_world *world, const mk_json *args_, mk_arena *arena,
                         model_list *events, oracle_answer *out)
{
    const mk_json *window = mk_json_get(args_, "window"), *filter = mk_json_get(args_, "node_filter");
    const int64_t t_a = oracle_int(window, "t_a", 0), t_b = oracle_int(window, "t_b", 0);
    const bool filtered = !oracle_is_null(args_, "node_filter");
    if (t_a >= t_b || mk_str_eq(oracle_text(args_, "mode"), MK_STR("sample"))) {
        oracle_fail(out, MK_E_INVALID_ARG);
        return false;
    }
    for (size_t i = 0; filtered && i < filter->n; i++) {
        if (!model_knows(world->m, filter->items[i].text)) {
            oracle_fail(out, MK_E_NOT_FOUND);
            return false;
        }
    }
    *events = oracle_edges(world, args_, arena);
    size_t n = 0;
    for (size_t i = 0; i < events->n; i++) {
        const model_row *row = events->rows[i];
        if (row->vt_s < t_a || row->vt_s >= t_b)
            continue;
        if (!filtered || (is_listed(filter, row->src) && is_listed(filter, row->dst)))
            events->rows[n++] = row;
    }
    events->n = n;
    if (n > 0)
        qsort(events->rows, n, sizeof *events->rows, by_time_and_ids);
    return true;
}

/* ---- patterns ---- */

static bool differ(const mk_str *nodes, int count)
{
    for (int i = 0; i < count; i++)
        for (int k = 0; k < i; k++)
            if (mk_str_eq(nodes[i], nodes[k]))
                return false;
    return true;
}

static bool joins(const model_row *e, mk_str src, mk_str dst)
{
    return mk_str_eq(e->src, src) && mk_str_eq(e->dst, dst);
}

bool oracle_motif_is_instance(const mk_json *args_, const model_row *e1, const model_row *e2,
                              const model_row *e3)
{
    const mk_str motif = oracle_text(args_, "motif"), u = e1->src, v = e1->dst;
    const mk_str four[4] = {u, v, e2->dst, e3->dst};
    if (e3->vt_s - e1->vt_s > oracle_int(args_, "delta", 1))
        return false;
    if (mk_str_eq(motif, MK_STR("M_triangle_cyclic")))
        return differ(four, 3) && mk_str_eq(e2->src, v) && joins(e3, e2->dst, u);
    if (mk_str_eq(motif, MK_STR("M_triangle_acyclic_1")))
        return differ(four, 3) && mk_str_eq(e2->src, u) && joins(e3, v, e2->dst);
    if (mk_str_eq(motif, MK_STR("M_2node_pingpong")))
        return differ(four, 2) && joins(e2, v, u) && joins(e3, u, v);
    if (mk_str_eq(motif, MK_STR("M_star_out_3")))
        return differ(four, 4) && mk_str_eq(e2->src, u) && mk_str_eq(e3->src, u);
    return differ(four, 4) && mk_str_eq(e2->src, v) && mk_str_eq(e3->src, e2->dst);
}

static void answer(const oracle_world *world, const mk_json *args_, mk_arena *arena, oracle_answer *out)
{
    model_list list;
    int64_t count = 0;
    if (!oracle_motif_events(world, args_, arena, &list, out))
        return;
    for (size_t i = 0; i < list.n; i++)
        for (size_t j = i + 1; j < list.n; j++)
            for (size_t k = j + 1; k < list.n; k++)
                count += oracle_motif_is_instance(args_, list.rows[i], list.rows[j], list.rows[k]);
    mk_buf_printf(&out->payload, "{\"count\":%lld,\"n_events_in_window\":%zu,\"truncated\":false}",
                  (long long)count, list.n);
}

const oracle oracle_count_temporal_motifs = {
    .op = "count_temporal_motifs", .args = args, .answer = answer};

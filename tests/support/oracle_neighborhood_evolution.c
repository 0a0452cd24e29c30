/* oracle_neighborhood_evolution.c — neighbours by looking at every edge. Source: operators spec, 7.10. */
#include <stdlib.h>

#include "oracle_series.h"

static void args(const oracle_world *world, mk_buf *out)
{
    int64_t t1 = oracle_gen_time(world), t2 = oracle_gen_time(world);
    if (t1 > t2 && !genops_chance(world->gen, 4)) {
        const int64_t swap = t1;
        t1 = t2;
        t2 = swap;
    }
    mk_buf_printf(out, "{\"t1\":%lld,\"t2\":%lld,\"uid\":", (long long)t1, (long long)t2);
    oracle_gen_uid(world, out);
    if (genops_chance(world->gen, 40))
        mk_buf_printf(out, ",\"stride\":%d", 1 + (int)genops_below(world->gen, 9));
    oracle_gen_as_of(world, out);
    oracle_gen_page(world, false, out);
    mk_buf_c(out, '}');
}

static bool valid_at(const model_row *e, int64_t t) { return e->vt_s <= t && t < e->vt_e; }

static bool is_neighbor(const model_list *edges, mk_str uid, mk_str other, int64_t t)
{
    for (size_t i = 0; i < edges->n; i++) {
        const model_row *e = edges->rows[i];
        if (valid_at(e, t) && ((mk_str_eq(e->src, uid) && mk_str_eq(e->dst, other)) ||
                               (mk_str_eq(e->dst, uid) && mk_str_eq(e->src, other))))
            return true;
    }
    return false;
}

static int by_text(const void *x, const void *y)
{
    return mk_str_cmp(*(const mk_str *)x, *(const mk_str *)y);
}

/* Neighbours at `in` and not at `out_`, the first `limit`; how many there are. */
static size_t put_change(const oracle_world *world, const model_list *edges, mk_str uid, int64_t in,
                         int64_t out_, size_t limit, const char *name, mk_arena *arena, mk_buf *out)
{
    const size_t known = model_entity_count(world->m);
    mk_str *list = mk_arena_get(arena, (known + 1) * sizeof *list);
    size_t n = 0;
    if (list == NULL)
        abort();
    for (size_t i = 0; i < known; i++) {
        const mk_str other = model_entity(world->m, i);
        if (!mk_str_eq(other, uid) && is_neighbor(edges, uid, other, in) &&
            !is_neighbor(edges, uid, other, out_))
            list[n++] = other;
    }
    qsort(list, n, sizeof *list, by_text);
    mk_buf_printf(out, ",\"%s\":[", name);
    for (size_t i = 0; i < n && i < limit; i++) {
        if (i > 0)
            mk_buf_c(out, ',');
        mk_canon_string(out, list[i]);
    }
    mk_buf_printf(out, "],\"%s_total\":%zu", name, n);
    return n;
}

static void answer(const oracle_world *world, const mk_json *args_, mk_arena *arena, oracle_answer *out)
{
    const int64_t t1 = oracle_int(args_, "t1", 0), t2 = oracle_int(args_, "t2", 0);
    const mk_str uid = oracle_text(args_, "uid");
    const size_t limit = (size_t)oracle_int(args_, "limit", 100);
    if (t1 >= t2) {
        oracle_fail(out, MK_E_INVALID_ARG);
        return;
    }
    if (!model_knows(world->m, uid)) {
        oracle_fail(out, MK_E_NOT_FOUND);
        return;
    }
    const int64_t usual = (t2 - t1) / 20 > 1 ? (t2 - t1) / 20 : 1;
    const int64_t stride = oracle_int(args_, "stride", usual);
    if ((t2 - t1 - 1) / stride + 1 > 2000) {
        oracle_fail(out, MK_E_LIMIT);
        return;
    }
    const model_list edges = model_believed(world->m, arena, MODEL_EDGE, NULL,
                                            oracle_int(args_, "as_of_tt", MK_OPEN_END));
    mk_buf_z(&out->payload, "{\"degree_series\":[");
    const int64_t points = (t2 - t1 - 1) / stride + 1;
    for (int64_t p = 0; p < points; p++) {
        const int64_t t = t1 + p * stride;
        size_t degree = 0;
        for (size_t i = 0; i < edges.n; i++)
            degree += valid_at(edges.rows[i], t) &&
                      (mk_str_eq(edges.rows[i]->src, uid) || mk_str_eq(edges.rows[i]->dst, uid));
        mk_buf_printf(&out->payload, "%s{\"degree\":%zu,\"t\":%lld}", p ? "," : "", degree, (long long)t);
    }
    mk_buf_c(&out->payload, ']');
    const size_t gained =
        put_change(world, &edges, uid, t2, t1, limit, "neighbors_gained", arena, &out->payload);
    const size_t lost =
        put_change(world, &edges, uid, t1, t2, limit, "neighbors_lost", arena, &out->payload);
    mk_buf_printf(&out->payload, ",\"stride\":%lld,\"truncated\":%s}", (long long)stride,
                  gained > limit || lost > limit ? "true" : "false");
}

const oracle oracle_neighborhood_evolution = {
    .op = "neighborhood_evolution", .args = args, .answer = answer};

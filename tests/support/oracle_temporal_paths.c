/* oracle_temporal_paths.c — all paths by recursion, then sorted. Source: operators spec, 7.5.
 *
 * The visit budget is not modelled: stores of these tests are far too small to reach it. */
#include <stdlib.h>

#include "oracle_reach.h"

enum { HOPS_MAX = 6, PATHS_MAX = 200000 };

typedef struct path {
    int64_t arrival;
    int hops;
    const model_row *edges[HOPS_MAX];
} path;

typedef struct walk {
    const model_list *edges;
    mk_str dst;
    int64_t t_a, t_b;
    int hops_max;
    path now;
    path *paths;
    size_t count;
} walk;

static void args(const oracle_world *world, mk_buf *out)
{
    mk_buf_z(out, "{\"src\":");
    oracle_gen_uid(world, out);
    mk_buf_z(out, ",\"dst\":");
    oracle_gen_uid(world, out);
    mk_buf_z(out, ",\"window\":");
    oracle_gen_window(world, out);
    mk_buf_printf(out, ",\"max_hops\":%d", 1 + (int)genops_below(world->gen, 3));
    if (genops_chance(world->gen, 50))
        mk_buf_printf(out, ",\"k\":%d", 1 + (int)genops_below(world->gen, 20));
    oracle_gen_as_of(world, out);
    mk_buf_c(out, '}');
}

static bool seen(const walk *w, mk_str src, mk_str node)
{
    bool there = mk_str_eq(src, node);
    for (int i = 0; i < w->now.hops; i++)
        there |= mk_str_eq(w->now.edges[i]->dst, node);
    return there;
}

static void go(walk *w, mk_str src, mk_str at, int64_t t)
{
    for (size_t i = 0; i < w->edges->n; i++) {
        const model_row *e = w->edges->rows[i];
        const int64_t time = t > e->vt_s ? t : e->vt_s;
        if (!mk_str_eq(e->src, at) || time >= e->vt_e || time >= w->t_b || seen(w, src, e->dst))
            continue;
        w->now.edges[w->now.hops++] = e;
        if (mk_str_eq(e->dst, w->dst)) {
            if (w->count == PATHS_MAX)
                abort();
            w->paths[w->count] = w->now;
            w->paths[w->count++].arrival = time;
        } else if (w->now.hops < w->hops_max) {
            go(w, src, e->dst, time);
        }
        w->now.hops--;
    }
}

static int by_rank(const void *x, const void *y)
{
    const path *a = x, *b = y;
    if (a->arrival != b->arrival)
        return a->arrival < b->arrival ? -1 : 1;
    if (a->hops != b->hops)
        return a->hops - b->hops;
    for (int i = 0; i < a->hops; i++) {
        if (a->edges[i]->vt_s != b->edges[i]->vt_s)
            return a->edges[i]->vt_s < b->edges[i]->vt_s ? -1 : 1;
        const int order = mk_str_cmp(a->edges[i]->identity, b->edges[i]->identity);
        if (order != 0)
            return order;
    }
    return 0;
}

static void put_path(mk_buf *out, const path *p)
{
    mk_buf_printf(out, "{\"arrival\":%lld,\"edges\":[", (long long)p->arrival);
    for (int i = 0; i < p->hops; i++) {
        const model_row *e = p->edges[i];
        mk_buf_z(out, i ? ",{\"dst\":" : "{\"dst\":");
        mk_canon_string(out, e->dst);
        mk_buf_z(out, ",\"eid\":");
        mk_canon_string(out, e->identity);
        mk_buf_z(out, ",\"rel_type\":");
        mk_canon_string(out, e->rel_type);
        mk_buf_z(out, ",\"src\":");
        mk_canon_string(out, e->src);
        mk_buf_printf(out, ",\"t\":%lld}", (long long)e->vt_s);
    }
    mk_buf_printf(out, "],\"hops\":%d}", p->hops);
}

static void answer(const oracle_world *world, const mk_json *args_, mk_arena *arena, oracle_answer *out)
{
    const mk_json *window = mk_json_get(args_, "window");
    const mk_str src = oracle_text(args_, "src");
    const size_t k = (size_t)oracle_int(args_, "k", 5);
    walk w = {.dst = oracle_text(args_, "dst"), .t_a = oracle_int(window, "t_a", 0),
              .t_b = oracle_int(window, "t_b", 0), .hops_max = (int)oracle_int(args_, "max_hops", 4)};
    if (!oracle_reach_check(world, w.t_a, w.t_b, src, out) ||
        !oracle_reach_check(world, w.t_a, w.t_b, w.dst, out))
        return;
    const model_list edges = model_believed(world->m, arena, MODEL_EDGE, NULL,
                                            oracle_int(args_, "as_of_tt", MK_OPEN_END));
    w.edges = &edges;
    w.paths = mk_arena_get(arena, PATHS_MAX * sizeof *w.paths);
    if (w.paths == NULL)
        abort();
    if (!mk_str_eq(src, w.dst))
        go(&w, src, src, w.t_a);
    qsort(w.paths, w.count, sizeof *w.paths, by_rank);
    mk_buf_z(&out->payload, "{\"cursor\":null,\"rows\":[");
    for (size_t i = 0; i < w.count && i < k; i++) {
        if (i > 0)
            mk_buf_c(&out->payload, ',');
        put_path(&out->payload, &w.paths[i]);
    }
    mk_buf_printf(&out->payload, "],\"rows_total\":%zu,\"truncated\":%s}", w.count,
                  w.count > k ? "true" : "false");
}

const oracle oracle_temporal_paths = {.op = "temporal_paths", .args = args, .answer = answer};

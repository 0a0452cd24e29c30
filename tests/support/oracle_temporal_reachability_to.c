/* oracle_temporal_reachability_to.c — who can reach something, by trying every departure.
 *
 * For every entity and every instant of the window, forward: can a walk that starts there then get to dst?
 * The latest instant that works is the answer. Only the instants just before something ends or the window
 * does can be last ones, so those are tried. Shares no step with the kernel, which goes backwards. */
#include <stdlib.h>

#include "oracle_reach.h"

static void args(const oracle_world *world, mk_buf *out)
{
    mk_buf_z(out, "{\"dst\":");
    oracle_gen_uid(world, out);
    mk_buf_z(out, ",\"window\":");
    oracle_gen_window(world, out);
    oracle_gen_as_of(world, out);
    oracle_gen_page(world, true, out);
    mk_buf_c(out, '}');
}

typedef struct reach {
    const oracle_world *world;
    const model_list *edges;
    int64_t t_b;
    int64_t *arrival;
} reach;

static size_t place_of(const oracle_world *world, mk_str uid)
{
    size_t i = 0;
    while (!mk_str_eq(model_entity(world->m, i), uid))
        i++;
    return i;
}

/* Forward from `from` at t; grows arrivals until nothing changes. */
static bool gets_there(reach *r, size_t from, int64_t t, size_t to)
{
    const size_t known = model_entity_count(r->world->m);
    for (size_t i = 0; i < known; i++)
        r->arrival[i] = INT64_MAX;
    r->arrival[from] = t;
    for (bool again = true; again;) {
        again = false;
        for (size_t k = 0; k < r->edges->n; k++) {
            const model_row *e = r->edges->rows[k];
            const size_t u = place_of(r->world, e->src), v = place_of(r->world, e->dst);
            const int64_t at = r->arrival[u] > e->vt_s ? r->arrival[u] : e->vt_s;
            if (r->arrival[u] == INT64_MAX || at >= e->vt_e || at >= r->t_b || at >= r->arrival[v])
                continue;
            r->arrival[v] = at;
            again = true;
        }
    }
    return r->arrival[to] != INT64_MAX;
}

/* The latest of the instants worth trying; INT64_MIN when none works. */
static int64_t latest(reach *r, size_t from, int64_t t_a, size_t to)
{
    int64_t best = INT64_MIN;
    for (size_t k = 0; k <= r->edges->n; k++) {
        const int64_t t = k == r->edges->n ? r->t_b - 1 : r->edges->rows[k]->vt_e - 1;
        if (t >= t_a && t < r->t_b && t > best && gets_there(r, from, t, to))
            best = t;
    }
    return best;
}

static void answer(const oracle_world *world, const mk_json *args_, mk_arena *arena, oracle_answer *out)
{
    const mk_json *window = mk_json_get(args_, "window");
    const int64_t t_a = oracle_int(window, "t_a", 0), t_b = oracle_int(window, "t_b", 0);
    const mk_str dst = oracle_text(args_, "dst");
    const size_t known = model_entity_count(world->m);
    if (!oracle_reach_check(world, t_a, t_b, dst, out))
        return;
    const model_list edges = model_believed(world->m, arena, MODEL_EDGE, NULL,
                                            oracle_int(args_, "as_of_tt", MK_OPEN_END));
    reach r = {world, &edges, t_b, mk_arena_get(arena, known * sizeof *r.arrival)};
    oracle_reached *list = mk_arena_get(arena, (known + 1) * sizeof *list);
    if (r.arrival == NULL || list == NULL)
        abort();
    const size_t to = place_of(world, dst);
    size_t n = 0;
    for (size_t i = 0; i < known; i++) {
        const int64_t t = i == to ? INT64_MIN : latest(&r, i, t_a, to);
        if (t != INT64_MIN)
            list[n++] = (oracle_reached){model_entity(world->m, i), t};
    }
    oracle_put_reached(args_, list, n, "latest_departure", true, out);
}

const oracle oracle_temporal_reachability_to = {
    .op = "temporal_reachability_to", .args = args, .answer = answer};

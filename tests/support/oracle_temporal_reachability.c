/* oracle_temporal_reachability.c — reachability as a closure over (node, arrival). Source: operators
 * spec, 7.4.
 *
 * Without a cap on waits the set of arrivals is grown until nothing changes; with one, every arrival of a
 * node is a state of its own. Both by looking at all edges again and again. */
#include <stdlib.h>

#include "oracle_reach.h"

static void args(const oracle_world *world, mk_buf *out)
{
    static const char *const directions[] = {"out", "in", "both"};
    mk_buf_z(out, "{\"src\":");
    oracle_gen_uid(world, out);
    mk_buf_z(out, ",\"window\":");
    oracle_gen_window(world, out);
    if (genops_chance(world->gen, 50))
        mk_buf_printf(out, ",\"direction\":\"%s\"", directions[genops_below(world->gen, 3)]);
    if (genops_chance(world->gen, 40))
        mk_buf_printf(out, ",\"delta_max_wait\":%d", 1 + (int)genops_below(world->gen, 12));
    oracle_gen_as_of(world, out);
    oracle_gen_page(world, true, out);
    mk_buf_c(out, '}');
}

typedef struct state {
    size_t node;
    int64_t t;
} state;

enum { STATES_MAX = 20000 };

typedef struct closure {
    const oracle_world *world;
    const model_list *edges;
    int64_t t_a, t_b, wait; /* wait < 0: no cap */
    mk_str direction;
    state *states;
    size_t count;
} closure;

static size_t place_of(const oracle_world *world, mk_str uid)
{
    size_t i = 0;
    while (!mk_str_eq(model_entity(world->m, i), uid))
        i++;
    return i;
}

static void add(closure *c, size_t node, int64_t t)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->states[i].node == node && c->states[i].t == t)
            return;
    if (c->count == STATES_MAX)
        abort();
    c->states[c->count++] = (state){node, t};
}

static void take(closure *c, size_t from, size_t arc_from, size_t arc_to, const model_row *e)
{
    const state x = c->states[from];
    const int64_t t = x.t > e->vt_s ? x.t : e->vt_s;
    if (x.node != arc_from || t >= e->vt_e || t >= c->t_b)
        return;
    if (c->wait >= 0 && from != 0 && t - x.t > c->wait)
        return;
    add(c, arc_to, t);
}

static void close_up(closure *c)
{
    const bool in = mk_str_eq(c->direction, MK_STR("in")), both = mk_str_eq(c->direction, MK_STR("both"));
    for (size_t i = 0; i < c->count; i++)
        for (size_t k = 0; k < c->edges->n; k++) {
            const model_row *e = c->edges->rows[k];
            const size_t u = place_of(c->world, e->src), v = place_of(c->world, e->dst);
            if (e->vt_s >= c->t_b || e->vt_e <= c->t_a)
                continue;
            if (!in)
                take(c, i, u, v, e);
            if (in || both)
                take(c, i, v, u, e);
        }
}

static void answer(const oracle_world *world, const mk_json *args_, mk_arena *arena, oracle_answer *out)
{
    const mk_json *window = mk_json_get(args_, "window");
    const mk_str src = oracle_text(args_, "src");
    closure c = {.world = world, .t_a = oracle_int(window, "t_a", 0), .t_b = oracle_int(window, "t_b", 0),
                 .wait = oracle_int(args_, "delta_max_wait", -1),
                 .direction = oracle_text(args_, "direction")};
    if (!oracle_reach_check(world, c.t_a, c.t_b, src, out))
        return;
    const model_list edges = model_believed(world->m, arena, MODEL_EDGE, NULL,
                                            oracle_int(args_, "as_of_tt", MK_OPEN_END));
    c.edges = &edges;
    c.states = mk_arena_get(arena, STATES_MAX * sizeof *c.states);
    oracle_reached *list = mk_arena_get(arena, (model_entity_count(world->m) + 1) * sizeof *list);
    if (c.states == NULL || list == NULL)
        abort();
    const size_t start = place_of(world, src);
    add(&c, start, c.t_a);
    close_up(&c);
    size_t n = 0;
    for (size_t node = 0; node < model_entity_count(world->m); node++) {
        int64_t earliest = INT64_MAX;
        for (size_t i = 0; i < c.count; i++)
            if (c.states[i].node == node && c.states[i].t < earliest)
                earliest = c.states[i].t;
        if (node != start && earliest != INT64_MAX)
            list[n++] = (oracle_reached){model_entity(world->m, node), earliest};
    }
    oracle_put_reached(args_, list, n, "earliest_arrival", false, out);
}

const oracle oracle_temporal_reachability = {
    .op = "temporal_reachability", .args = args, .answer = answer};

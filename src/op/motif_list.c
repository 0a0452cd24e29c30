/* motif_list.c — the instances of a page, in order. Layer: op.
 *
 * How many instances each first edge begins is known from counting, so those before the page cost an
 * addition and only what is shown is built: the second edges of a first one in time order, and for each
 * the third edges behind it. */
#include "op/motif_internal.h"

/* Where an edge of a motif starts and ends: the index of a node among u, v, w (the heads of the first
 * and second edge are v and w), or ANEW for a node that has not occurred. */
enum { U, V, W, ANEW };

static const struct {
    uint8_t second_from, second_to, third_from, third_to;
} shapes[] = {
    [MK_MOTIF_TRIANGLE_CYCLIC] = {V, ANEW, W, U},    [MK_MOTIF_TRIANGLE_ACYCLIC_1] = {U, ANEW, V, W},
    [MK_MOTIF_PINGPONG] = {V, U, U, V},              [MK_MOTIF_STAR_OUT_3] = {U, ANEW, U, ANEW},
    [MK_MOTIF_PATH_3] = {V, ANEW, W, ANEW},
};

typedef struct listing {
    const mk_motif_events *events;
    mk_motif motif;
    mk_guard *guard;
    mk_motif_lists lists;
    uint64_t at, from, to; /* number of the next instance; the page */
    mk_motif_instance *out;
} listing;

/* The first edge out of `node` behind `place`. */
static const mk_motif_step *behind(const listing *l, uint32_t node, uint32_t place)
{
    uint32_t lo = l->lists.at[node], hi = l->lists.at[node + 1];
    while (lo < hi) {
        const uint32_t middle = lo + (hi - lo) / 2;
        if (l->lists.of[middle].place <= place)
            lo = middle + 1;
        else
            hi = middle;
    }
    return &l->lists.of[lo];
}

static const mk_motif_step *end_of(const listing *l, uint32_t node)
{
    return &l->lists.of[l->lists.at[node + 1]];
}

/* Whether `node` is what a shape wants, the first `count` of `nodes` being taken. */
static bool fits(uint32_t node, unsigned wanted, const uint32_t *nodes, int count)
{
    if (wanted != ANEW)
        return node == nodes[wanted];
    for (int i = 0; i < count; i++)
        if (node == nodes[i])
            return false;
    return true;
}

/* The third edges behind two that are given. False when the call must end. */
static bool list_thirds(listing *l, const uint32_t nodes[3], uint32_t first, uint32_t second)
{
    const unsigned wanted = shapes[l->motif].third_to;
    const uint32_t from = nodes[shapes[l->motif].third_from], limit = l->events->limit[first];
    const mk_motif_step *end = end_of(l, from);
    for (const mk_motif_step *s = behind(l, from, second); s < end && s->place < limit; s++) {
        if (!mk_guard_ok(l->guard))
            return false;
        if (!fits(s->node, wanted, nodes, 3))
            continue;
        if (l->at >= l->from)
            l->out[l->at - l->from] = (mk_motif_instance){{first, second, s->place}};
        if (++l->at == l->to)
            break;
    }
    return true;
}

/* All instances that `first` begins, as far as the page's end. */
static bool list_first(listing *l, uint32_t first)
{
    const unsigned wanted = shapes[l->motif].second_to;
    const uint32_t limit = l->events->limit[first];
    uint32_t nodes[3] = {l->events->src[first], l->events->dst[first], 0};
    const uint32_t from = nodes[shapes[l->motif].second_from];
    const mk_motif_step *end = end_of(l, from);
    for (const mk_motif_step *s = behind(l, from, first); s < end && s->place < limit; s++) {
        if (!mk_guard_ok(l->guard))
            return false;
        if (!fits(s->node, wanted, nodes, 2))
            continue;
        nodes[W] = s->node;
        if (!list_thirds(l, nodes, first, s->place))
            return false;
        if (l->at == l->to)
            break;
    }
    return true;
}

mk_code mk_motif_list(const mk_motif_events *events, mk_motif motif, mk_arena *arena,
                      mk_guard *guard, const uint64_t *starts, uint64_t from, uint64_t to,
                      mk_motif_instance *out, mk_err *err)
{
    const mk_arena_mark mark = mk_arena_save(arena);
    listing l = {.events = events, .motif = motif, .guard = guard, .from = from, .to = to, .out = out};
    if (from >= to)
        return MK_OK;
    mk_code rc = mk_motif__lists(events, events->src, events->dst, arena, &l.lists, err);
    for (uint32_t i = 0; rc == MK_OK && i < events->count && l.at < to; i++) {
        if (l.at < from && starts[i] <= from - l.at)
            l.at += starts[i];
        else if (starts[i] > 0 && !list_first(&l, i))
            rc = mk_guard_result(guard, err);
    }
    MK_ASSERT(rc != MK_OK || l.at == to);
    mk_arena_rewind(arena, mark);
    return rc;
}

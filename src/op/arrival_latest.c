/* arrival_latest.c — latest departures, backwards from the target. See arrival.h. Layer: op.
 *
 * Label-setting over the in lists, latest departures first: whoever must be at y by time d can leave x over the
 * arc (x, y, [s, e)) at min(d, e - 1), if that is not before s. A departure never lies after the one it is
 * derived from, so the latest of those left is final, and every list is read once at most.
 * Source: Dijkstra 1959; Wu et al. 2014, "Path problems in temporal graphs", section 4. */
#include "op/arrival.h"

/* Ranks are minus a departure, so that smaller is better, as in the list that is given back. */
typedef struct backward {
    mk_view *view;
    mk_arena *arena;
    const mk_arrival_args *args;
    mk_guard *guard;
    int64_t *rank; /* by dense id: the best so far; MK_NEVER: none */
    mk_ranked *list; /* those whose rank is final */
    size_t count, cap;
    mk_ranked *heap; /* by rank; entries that are no longer their node's best are passed over */
    size_t heap_count, heap_cap;
    uint32_t here; /* whose list is being read */
    mk_code rc;
    mk_err *err;
} backward;

static void heap_push(backward *b, int64_t rank, uint32_t id)
{
    b->rc = mk_op_grow(b->arena, (void **)&b->heap, &b->heap_cap, b->heap_count + 1, sizeof *b->heap,
                       b->err);
    if (b->rc != MK_OK)
        return;
    size_t at = b->heap_count++;
    for (; at > 0 && b->heap[(at - 1) / 2].rank > rank; at = (at - 1) / 2)
        b->heap[at] = b->heap[(at - 1) / 2];
    b->heap[at] = (mk_ranked){.rank = rank, .id = id};
}

static mk_ranked heap_pop(backward *b)
{
    const mk_ranked top = b->heap[0], last = b->heap[--b->heap_count];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < b->heap_count; at = child) {
        if (child + 1 < b->heap_count && b->heap[child + 1].rank < b->heap[child].rank)
            child++;
        if (b->heap[child].rank >= last.rank)
            break;
        b->heap[at] = b->heap[child];
    }
    b->heap[at] = last;
    return top;
}

/* A better rank for a node, which goes into the heap anew: its old entry stays and comes up later. */
static void improve(backward *b, uint32_t id, int64_t rank)
{
    if (rank >= b->rank[id])
        return;
    b->rank[id] = rank;
    heap_push(b, rank, id);
}

static bool meet_incoming(void *ctx, const mk_edge_ref *ref)
{
    backward *b = ctx;
    const int64_t by = -b->rank[b->here];
    const int64_t departure = ref->vt_e - 1 < by ? ref->vt_e - 1 : by;
    if (departure >= ref->vt_s && departure >= b->args->t_a)
        improve(b, ref->src, -departure);
    return b->rc == MK_OK && mk_guard_ok(b->guard);
}

/* The node's rank is final: notes it, and goes over what leads to it. */
static mk_code settle(backward *b, mk_ranked top)
{
    const mk_edge_filter filter = {
        .vt_lo = b->args->t_a, .vt_hi = -top.rank + 1, .sides = MK_SIDE_IN};
    mk_code rc;
    MK_TRY(rc, mk_op_grow(b->arena, (void **)&b->list, &b->cap, b->count + 1, sizeof *b->list, b->err));
    b->list[b->count++] = top;
    b->here = top.id;
    rc = mk_view_edges_of(b->view, top.id, &filter, meet_incoming, b, b->err);
    rc = b->rc != MK_OK ? b->rc : mk_guard_or(b->guard, rc, b->err);
out:
    return rc;
}

mk_code mk_departure_latest(mk_view *view, mk_arena *arena, const mk_arrival_args *args,
                            mk_guard *guard, mk_reached *out, mk_err *err)
{
    const uint32_t entities = mk_view_entity_count(view);
    backward b = {.view = view, .arena = arena, .args = args, .guard = guard, .rc = MK_OK, .err = err};
    mk_code rc;

    b.rank = mk_arena_get(arena, (size_t)entities * sizeof *b.rank);
    if (b.rank == NULL)
        return mk_fail_nomem(err);
    for (uint32_t id = 0; id < entities; id++)
        b.rank[id] = MK_NEVER;
    improve(&b, args->src, -(args->t_b - 1));
    MK_TRY(rc, b.rc);
    while (b.heap_count > 0) {
        const mk_ranked top = heap_pop(&b);
        if (top.rank == b.rank[top.id]) /* entered once with that rank, so it comes up once */
            MK_TRY(rc, settle(&b, top));
    }
    *out = (mk_reached){b.list + 1, b.count - 1}; /* the first is the target */

out:
    return rc;
}

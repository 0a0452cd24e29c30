/* arrival.c — earliest arrivals in one pass, latest departures backwards. See arrival.h. Layer: op.
 *
 * Forward, arcs come in ascending start, and arrivals are set in ascending order, so the first one set for
 * a node is its earliest. An arc whose tail is not reached yet is kept in a list of that node: when the node
 * is reached, at time t, the arcs of its list that still hold at t are taken at once. That covers arcs that
 * began before t as well as those of the same instant that went by already, and an arc of a node that is
 * reached is never kept. Where every arc is an instant only those of one instant could matter; they are
 * gone over until nothing changes, and nothing is kept at all. */
#include "op/arrival.h"

#include <stdio.h>

#define INSTANT_ARCS_MAX 256u /* arcs of one instant that are gone over again and again */

/* An arc that waits for its tail to be reached. */
typedef struct waiting {
    int64_t end;
    uint32_t to;
    uint32_t next; /* place + 1; 0: none */
} waiting;

typedef struct forward {
    mk_view *view;
    mk_arena *arena;
    const mk_arrival_args *args;
    mk_guard *guard;
    int64_t *arrival; /* by dense id; MK_NEVER: not reached */
    mk_ranked *list;
    size_t count, cap;
    uint32_t *first; /* by dense id: place + 1 of its newest waiting arc; NULL: all arcs are instants */
    waiting *arcs;
    size_t arc_count, arc_cap;
    uint32_t here; /* backwards: whose list is being read */
    mk_code rc;
    mk_err *err;
} forward;

static void reach(forward *f, uint32_t id, int64_t t)
{
    f->arrival[id] = t;
    f->rc = mk_op_grow(f->arena, (void **)&f->list, &f->cap, f->count + 1, sizeof *f->list, f->err);
    if (f->rc == MK_OK)
        f->list[f->count++] = (mk_ranked){.rank = t, .id = id};
}

/* ---- arcs that wait ---- */

static mk_code make_lists(forward *f)
{
    f->first = mk_arena_get0(f->arena, ((size_t)mk_view_entity_count(f->view) + 1) * sizeof *f->first);
    return f->first != NULL ? MK_OK : mk_fail_nomem(f->err);
}

static void keep(forward *f, uint32_t from, uint32_t to, int64_t end)
{
    f->rc = mk_op_grow(f->arena, (void **)&f->arcs, &f->arc_cap, f->arc_count + 1, sizeof *f->arcs, f->err);
    if (f->rc != MK_OK)
        return;
    f->arcs[f->arc_count] = (waiting){end, to, f->first[from]};
    f->first[from] = (uint32_t)++f->arc_count;
}

/* Reaches `id` at t, and everything that waiting arcs lead to from there at the same instant. */
static void reach_all(forward *f, uint32_t id, int64_t t)
{
    size_t at = f->count;
    reach(f, id, t);
    for (; f->rc == MK_OK && at < f->count; at++) {
        const uint32_t node = f->list[at].id;
        for (uint32_t place = f->first[node]; place != 0 && f->rc == MK_OK;) {
            const waiting arc = f->arcs[place - 1];
            if (arc.end > t && f->arrival[arc.to] > t)
                reach(f, arc.to, t);
            place = arc.next;
        }
        f->first[node] = 0;
    }
}

/* Arrivals so far are not after s, so a node either is reached or has none. */
static void take_arc(forward *f, uint32_t x, uint32_t y, int64_t s, int64_t e)
{
    if (f->arrival[x] == MK_NEVER)
        keep(f, x, y, e);
    else if (f->arrival[y] == MK_NEVER)
        reach_all(f, y, s);
}

static mk_code take_block(forward *f, const mk_edge_block *block)
{
    const mk_arcs arcs = f->args->arcs;
    for (uint32_t i = 0; i < block->count && f->rc == MK_OK; i++) {
        if (arcs != MK_ARCS_IN)
            take_arc(f, block->src[i], block->dst[i], block->vt_s[i], block->vt_e[i]);
        if (arcs != MK_ARCS_OUT && f->rc == MK_OK)
            take_arc(f, block->dst[i], block->src[i], block->vt_s[i], block->vt_e[i]);
    }
    return f->rc;
}

/* Arcs that began before the window and hold when it does: they wait, the source not being reached yet. */
static mk_code keep_earlier(forward *f)
{
    const int64_t t_a = f->args->t_a;
    const mk_edge_filter filter = {
        .vt_lo = t_a, .vt_hi = t_a, .match = MK_MATCH_OVERLAPS, .without = MK_WITHOUT_ROWS};
    const mk_edge_block *block;
    mk_edge_stream *stream;
    mk_code rc;
    MK_TRY(rc, mk_view_stream(f->view, f->arena, &filter, false, &stream, f->err));
    for (;;) {
        MK_TRY(rc, mk_edge_stream_next(stream, &block, f->err));
        if (block == NULL || !mk_guard_done(f->guard, block->count))
            break;
        MK_TRY(rc, take_block(f, block));
    }
    rc = mk_guard_result(f->guard, f->err);
out:
    return rc;
}

/* ---- arcs that are instants ---- */

/* True when the arc reached a node. */
static inline bool relax(forward *f, uint32_t x, uint32_t y, int64_t s)
{
    if (f->arrival[x] > s || f->arrival[y] <= s)
        return false;
    reach(f, y, s);
    return true;
}

static inline bool relax_arcs(forward *f, uint32_t src, uint32_t dst, int64_t s)
{
    bool reached = false;
    if (f->args->arcs != MK_ARCS_IN)
        reached = relax(f, src, dst, s);
    if (f->args->arcs != MK_ARCS_OUT)
        reached |= relax(f, dst, src, s);
    return reached;
}

/* ---- the pass ---- */

/* Arcs of one instant, collected over blocks. */
typedef struct instant {
    int64_t s;
    struct {
        uint32_t src, dst;
    } *arcs;
    size_t count, cap;
} instant;

/* Many arcs at one instant: they wait for their tails as arcs that last do, for a single pass. */
static mk_code end_crowded(forward *f, const instant *now, size_t count)
{
    const mk_code rc = f->first != NULL ? MK_OK : make_lists(f);
    for (size_t i = 0; rc == MK_OK && i < count && f->rc == MK_OK; i++) {
        if (f->args->arcs != MK_ARCS_IN)
            take_arc(f, now->arcs[i].src, now->arcs[i].dst, now->s, now->s + 1);
        if (f->args->arcs != MK_ARCS_OUT && f->rc == MK_OK)
            take_arc(f, now->arcs[i].dst, now->arcs[i].src, now->s, now->s + 1);
    }
    return rc != MK_OK ? rc : f->rc;
}

static mk_code end_instant(forward *f, instant *now)
{
    const size_t count = now->count;
    bool again = count > 1;
    now->count = 0;
    if (count > INSTANT_ARCS_MAX)
        return end_crowded(f, now, count);
    if (count == 1)
        (void)relax_arcs(f, now->arcs[0].src, now->arcs[0].dst, now->s);
    while (again && f->rc == MK_OK) {
        again = false;
        for (size_t i = 0; i < count; i++)
            again |= relax_arcs(f, now->arcs[i].src, now->arcs[i].dst, now->s);
    }
    return f->rc;
}

static mk_code pass_instants(forward *f, const mk_edge_block *block, instant *now)
{
    mk_code rc = MK_OK;
    for (uint32_t i = 0; i < block->count; i++) {
        if (block->vt_s[i] != now->s) {
            MK_TRY(rc, end_instant(f, now));
            now->s = block->vt_s[i];
        }
        MK_TRY(rc, mk_op_grow(f->arena, (void **)&now->arcs, &now->cap, now->count + 1,
                              sizeof *now->arcs, f->err));
        now->arcs[now->count].src = block->src[i];
        now->arcs[now->count++].dst = block->dst[i];
    }
out:
    return rc;
}

static mk_code run_pass(forward *f, bool instants)
{
    const mk_edge_filter filter = {
        .vt_lo = f->args->t_a, .vt_hi = f->args->t_b, .match = MK_MATCH_STARTS,
        .without = MK_WITHOUT_ROWS | (instants ? MK_WITHOUT_ENDS : 0)};
    const mk_edge_block *block;
    mk_edge_stream *stream;
    instant now = {.s = INT64_MIN};
    mk_code rc;
    MK_TRY(rc, mk_view_stream(f->view, f->arena, &filter, true, &stream, f->err));
    for (;;) {
        MK_TRY(rc, mk_edge_stream_next(stream, &block, f->err));
        if (block == NULL || !mk_guard_done(f->guard, block->count))
            break;
        MK_TRY(rc, instants ? pass_instants(f, block, &now) : take_block(f, block));
    }
    MK_TRY(rc, end_instant(f, &now));
    rc = mk_guard_result(f->guard, f->err);
out:
    return rc;
}

mk_code mk_arrival_earliest(mk_view *view, mk_arena *arena, const mk_arrival_args *args,
                            mk_guard *guard, mk_reached *out, mk_err *err)
{
    const mk_edge_filter window = {.vt_lo = args->t_a, .vt_hi = args->t_b};
    const uint32_t entities = mk_view_entity_count(view);
    forward f = {.view = view, .arena = arena, .args = args, .guard = guard, .rc = MK_OK, .err = err};
    bool instants;
    mk_code rc;

    f.arrival = mk_arena_get(arena, (size_t)entities * sizeof *f.arrival);
    if (f.arrival == NULL)
        return mk_fail_nomem(err);
    for (uint32_t id = 0; id < entities; id++)
        f.arrival[id] = MK_NEVER;
    MK_TRY(rc, mk_view_all_instants(view, &window, &instants, err));
    if (instants) {
        reach(&f, args->src, args->t_a);
    } else {
        MK_TRY(rc, make_lists(&f));
        MK_TRY(rc, keep_earlier(&f));
        reach_all(&f, args->src, args->t_a);
    }
    MK_TRY(rc, f.rc);
    MK_TRY(rc, run_pass(&f, instants));
    *out = (mk_reached){f.list + 1, f.count - 1}; /* the first is the source */

out:
    return rc;
}

mk_code mk_fail_visits(const char *lever, mk_err *err)
{
    char extra[256];
    const int n = snprintf(extra, sizeof extra,
                           "\"estimate\":{\"expansions_est\":%u},"
                           "\"suggestions\":[\"a narrower valid-time window\",\"%s\"]",
                           MK_VISITS_MAX + 1, lever);
    mk_fail(err, MK_E_COST, "the search needs more than %u edge visits", MK_VISITS_MAX);
    mk_err_hint(err, "ask about a narrower window, or %s", lever);
    mk_err_extra(err, extra, (size_t)n);
    return MK_E_COST;
}

/* ---- backwards ----
 *
 * Label-setting (Dijkstra 1959) from the target, latest departures first: whoever must be at y by time d can
 * leave x over the arc (x, y, [s, e)) at min(d, e - 1), if that is not before s. */

typedef struct backward {
    forward f;      /* arrival holds minus the latest departure, so that smaller is better */
    mk_ranked *heap; /* by rank; entries that are no longer best are passed over */
    size_t heap_count, heap_cap;
} backward;

static void heap_push(backward *b, int64_t rank, uint32_t id)
{
    b->f.rc = mk_op_grow(b->f.arena, (void **)&b->heap, &b->heap_cap, b->heap_count + 1,
                         sizeof *b->heap, b->f.err);
    if (b->f.rc != MK_OK)
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

static bool meet_incoming(void *ctx, const mk_edge_ref *ref)
{
    backward *b = ctx;
    const forward *f = &b->f;
    const int64_t by = -f->arrival[f->here];
    const int64_t departure = ref->vt_e - 1 < by ? ref->vt_e - 1 : by;
    const int64_t first = ref->vt_s > f->args->t_a ? ref->vt_s : f->args->t_a;
    if (departure >= first && -departure < f->arrival[ref->src]) {
        f->arrival[ref->src] = -departure;
        heap_push(b, -departure, ref->src);
    }
    return b->f.rc == MK_OK && mk_guard_ok(f->guard);
}

static mk_code settle(backward *b, mk_ranked top)
{
    forward *f = &b->f;
    const mk_edge_filter filter = {
        .vt_lo = f->args->t_a, .vt_hi = -top.rank + 1, .sides = MK_SIDE_IN};
    f->here = top.id;
    reach(f, top.id, top.rank);
    if (f->rc != MK_OK)
        return f->rc;
    const mk_code rc = mk_view_edges_of(f->view, top.id, &filter, meet_incoming, b, f->err);
    return f->rc != MK_OK ? f->rc : mk_guard_or(f->guard, rc, f->err);
}

mk_code mk_departure_latest(mk_view *view, mk_arena *arena, const mk_arrival_args *args,
                            mk_guard *guard, mk_reached *out, mk_err *err)
{
    const uint32_t entities = mk_view_entity_count(view);
    backward b = {.f = {.view = view, .arena = arena, .args = args, .guard = guard, .rc = MK_OK,
                        .err = err}};
    mk_code rc = MK_OK;
    b.f.arrival = mk_arena_get(arena, (size_t)entities * sizeof *b.f.arrival);
    uint8_t *settled = mk_arena_get0(arena, (size_t)entities + 1);
    if (b.f.arrival == NULL || settled == NULL)
        return mk_fail_nomem(err);
    for (uint32_t id = 0; id < entities; id++)
        b.f.arrival[id] = MK_NEVER;
    b.f.arrival[args->src] = -(args->t_b - 1);
    heap_push(&b, -(args->t_b - 1), args->src);
    MK_TRY(rc, b.f.rc);
    while (b.heap_count > 0) {
        const mk_ranked top = heap_pop(&b);
        if (settled[top.id])
            continue;
        settled[top.id] = 1;
        MK_TRY(rc, settle(&b, top));
    }
    *out = (mk_reached){b.f.list + 1, b.f.count - 1};

out:
    return rc;
}

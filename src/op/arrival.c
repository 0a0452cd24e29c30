/* arrival.c — earliest arrivals in one pass, latest departures backwards. See arrival.h. Layer: op.
 *
 * Forward, arcs come in ascending start, and arrivals are set in ascending order, so the first one set for
 * a node is its earliest. Two things a single pass would miss are looked up when a node is first reached,
 * at time t: arcs that began before t and still hold, and arcs of the same instant that went by already.
 * Both are among the node's arcs that hold at t, and one look at its list finds them. Where every arc is
 * an instant the first kind does not exist, and the second is found by going over the arcs of one instant
 * until nothing changes, so the lists are not needed at all. */
#include "op/arrival.h"

#include <stdio.h>

#define INSTANT_ARCS_MAX 64u /* arcs of one instant that are gone over again and again */

typedef struct forward {
    mk_view *view;
    mk_arena *arena;
    const mk_arrival_args *args;
    mk_guard *guard;
    int64_t *arrival; /* by dense id; MK_NEVER: not reached */
    mk_ranked *list;
    size_t count, cap;
    bool look_back;   /* arcs may have begun earlier: lists are looked at */
    size_t looked;    /* list[looked..count) have not been looked at */
    uint32_t here;    /* whose list is being read */
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

/* One arc in one direction at the time it begins. True when it reached a node. */
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

/* ---- arcs that hold when a node is reached ---- */

static bool meet_holding(void *ctx, const mk_edge_ref *ref)
{
    forward *f = ctx;
    const uint32_t other = ref->src == f->here ? ref->dst : ref->src;
    const int64_t t = f->arrival[f->here];
    if (f->arrival[other] > t)
        reach(f, other, t);
    return f->rc == MK_OK && mk_guard_ok(f->guard);
}

static mk_code look_at(forward *f, uint32_t id)
{
    static const unsigned sides[] = {
        [MK_ARCS_OUT] = MK_SIDE_OUT, [MK_ARCS_IN] = MK_SIDE_IN, [MK_ARCS_BOTH] = 0};
    const int64_t t = f->arrival[id];
    const mk_edge_filter filter = {.vt_lo = t, .vt_hi = t + 1, .sides = sides[f->args->arcs]};
    f->here = id;
    const mk_code rc = mk_view_edges_of(f->view, id, &filter, meet_holding, f, f->err);
    return f->rc != MK_OK ? f->rc : mk_guard_or(f->guard, rc, f->err);
}

/* Everything reached through lists at the instant of the newest arrival. */
static mk_code look_back(forward *f)
{
    mk_code rc = MK_OK;
    while (rc == MK_OK && f->looked < f->count)
        rc = look_at(f, f->list[f->looked++].id);
    return rc;
}

/* ---- the pass ---- */

static mk_code pass_looking_back(forward *f, const mk_edge_block *block)
{
    for (uint32_t i = 0; i < block->count; i++) {
        if (!relax_arcs(f, block->src[i], block->dst[i], block->vt_s[i]))
            continue;
        const mk_code rc = f->rc != MK_OK ? f->rc : look_back(f);
        if (rc != MK_OK)
            return rc;
    }
    return MK_OK;
}

/* Arcs of one instant, collected over blocks. */
typedef struct instant {
    uint32_t src[INSTANT_ARCS_MAX], dst[INSTANT_ARCS_MAX];
    uint32_t count;
    bool crowded; /* more than fit: whoever is reached now is looked up */
    int64_t s;
} instant;

static mk_code end_instant(forward *f, instant *now)
{
    bool again = now->count > 1;
    if (now->count == 1)
        (void)relax_arcs(f, now->src[0], now->dst[0], now->s);
    while (again) {
        again = false;
        for (uint32_t i = 0; i < now->count; i++)
            again |= relax_arcs(f, now->src[i], now->dst[i], now->s);
    }
    now->count = 0;
    return f->rc;
}

/* An instant with many arcs: each relaxed as it comes, with the lists for those that went by. */
static mk_code crowd(forward *f, instant *now)
{
    const mk_code rc = end_instant(f, now);
    now->crowded = true;
    while (f->looked < f->count && f->list[f->looked].rank < now->s)
        f->looked++; /* reached at earlier instants: nothing of theirs is left */
    return rc == MK_OK ? look_back(f) : rc;
}

static mk_code pass_instants(forward *f, const mk_edge_block *block, instant *now)
{
    mk_code rc = MK_OK;
    for (uint32_t i = 0; i < block->count && rc == MK_OK; i++) {
        if (block->vt_s[i] != now->s) {
            rc = end_instant(f, now);
            *now = (instant){.s = block->vt_s[i]};
            f->looked = f->count;
        } else if (now->count == INSTANT_ARCS_MAX && !now->crowded) {
            rc = crowd(f, now);
        }
        if (now->crowded) {
            if (rc == MK_OK && relax_arcs(f, block->src[i], block->dst[i], now->s))
                rc = f->rc == MK_OK ? look_back(f) : f->rc;
            continue;
        }
        now->src[now->count] = block->src[i];
        now->dst[now->count++] = block->dst[i];
    }
    return rc;
}

static mk_code run_pass(forward *f)
{
    const mk_edge_filter filter = {
        .vt_lo = f->args->t_a, .vt_hi = f->args->t_b, .match = MK_MATCH_STARTS};
    const mk_edge_block *block;
    mk_edge_stream *stream;
    instant now = {.s = INT64_MIN};
    mk_code rc;
    MK_TRY(rc, mk_view_stream(f->view, f->arena, &filter, true, &stream, f->err));
    for (;;) {
        MK_TRY(rc, mk_edge_stream_next(stream, &block, f->err));
        if (block == NULL || !mk_guard_done(f->guard, block->count))
            break;
        MK_TRY(rc, f->look_back ? pass_looking_back(f, block) : pass_instants(f, block, &now));
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
    f.look_back = !instants;
    reach(&f, args->src, args->t_a);
    MK_TRY(rc, f.rc);
    if (f.look_back)
        MK_TRY(rc, look_back(&f));
    MK_TRY(rc, run_pass(&f));
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

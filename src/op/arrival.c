/* arrival.c — earliest arrivals in one pass over time. See arrival.h. Layer: op.
 *
 * Arcs come in ascending start, so a node's first arrival is its earliest and whether it is reached is all that
 * later arcs ask. An arc whose tail is not reached yet is kept in a list of that node: when the node is reached,
 * at time t, the arcs of its list that still hold at t are taken at once. That covers arcs that began before t
 * as well as those of the same instant that went by already, and an arc of a node that is reached is never kept.
 *
 * Where every arc is an instant, only arcs of one instant can lead back to arcs that went by. Nothing is kept
 * then: most arcs are passed over in a loop that looks at two flags each, and only when one reaches a node are
 * the arcs of its instant gone over again. There are at most as many such steps as nodes.
 * Source: Wu et al. 2014, "Path problems in temporal graphs", section 4; operators spec, 7.4. */
#include "op/arrival.h"

#include <stdio.h>

#define INSTANT_ARCS_MAX 256u /* arcs of one instant that are gone over again; above it, they wait in lists */

/* An arc that waits for its tail to be reached. */
typedef struct waiting {
    int64_t end;
    uint32_t to;
    uint32_t next; /* place + 1; 0: none */
} waiting;

typedef struct arc {
    uint32_t from, to;
} arc;

/* The arcs so far of the instant in which the last block ended; the next block may go on with it. */
typedef struct instant {
    int64_t s;
    bool crowded; /* its arcs wait in lists, and `arcs` is not looked at */
    arc *arcs;
    size_t count, cap;
} instant;

typedef struct forward {
    mk_view *view;
    mk_arena *arena;
    const mk_arrival_args *args;
    mk_guard *guard;
    uint8_t *reached; /* by dense id: 1 or 0 */
    mk_ranked *list;
    size_t count, cap;
    uint32_t *first; /* by dense id: place + 1 of its newest waiting arc; NULL: none waits */
    waiting *arcs;
    size_t arc_count, arc_cap;
    instant now; /* where every arc is an instant */
    mk_code rc;
    mk_err *err;
} forward;

static void reach(forward *f, uint32_t id, int64_t t)
{
    f->reached[id] = 1;
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

/* Apart from `keep`, which runs once an arc. Places must fit 32 bits; 64 GiB of arcs come before that. */
static bool more_arcs(forward *f)
{
    f->rc = f->arc_count == UINT32_MAX
                ? mk_fail_nomem(f->err)
                : mk_op_grow(f->arena, (void **)&f->arcs, &f->arc_cap, f->arc_count + 1, sizeof *f->arcs, f->err);
    return f->rc == MK_OK;
}

static void keep(forward *f, uint32_t from, uint32_t to, int64_t end)
{
    if (f->arc_count == f->arc_cap && !more_arcs(f))
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
            const waiting w = f->arcs[place - 1];
            if (w.end > t && !f->reached[w.to])
                reach(f, w.to, t);
            place = w.next;
        }
        f->first[node] = 0;
    }
}

static inline void take_arc(forward *f, uint32_t x, uint32_t y, int64_t s, int64_t e)
{
    if (!f->reached[x])
        keep(f, x, y, e);
    else if (!f->reached[y])
        reach_all(f, y, s);
}

/* An edge as the one or two arcs that the direction makes of it. */
static inline void take_edge(forward *f, uint32_t src, uint32_t dst, int64_t s, int64_t e)
{
    if (f->args->arcs != MK_ARCS_IN)
        take_arc(f, src, dst, s, e);
    if (f->args->arcs != MK_ARCS_OUT && f->rc == MK_OK)
        take_arc(f, dst, src, s, e);
}

static mk_code take_block(forward *f, const mk_edge_block *block)
{
    for (uint32_t i = 0; i < block->count && f->rc == MK_OK; i++)
        take_edge(f, block->src[i], block->dst[i], block->vt_s[i], block->vt_e[i]);
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

/* The first edge from i on that leads from a node that is reached to one that is not; `count` when there is none.
 * Eight at a time without a branch: almost none does. */
static uint32_t next_step(const forward *f, const mk_edge_block *block, uint32_t i)
{
    const uint8_t *reached = f->reached;
    const bool in = f->args->arcs == MK_ARCS_IN;
    const uint8_t either = f->args->arcs == MK_ARCS_BOTH;
    const uint32_t *from = in ? block->dst : block->src, *to = in ? block->src : block->dst;
    for (; i + 8 <= block->count; i += 8) {
        unsigned any = 0;
        for (uint32_t k = i; k < i + 8; k++)
            any |= (reached[from[k]] ^ reached[to[k]]) & (reached[from[k]] | either);
        if (any)
            break;
    }
    while (i < block->count &&
           !((reached[from[i]] ^ reached[to[i]]) & (reached[from[i]] | either)))
        i++;
    return i;
}

static inline void relax(forward *f, uint32_t src, uint32_t dst, int64_t s)
{
    const mk_arcs arcs = f->args->arcs;
    if (f->reached[src] == f->reached[dst])
        return;
    if (arcs == MK_ARCS_BOTH || f->reached[src] == (arcs == MK_ARCS_OUT))
        reach(f, f->reached[src] ? dst : src, s);
}

/* Goes over the arcs of instant s so far, [from, to) of the block behind those of blocks before, until nothing
 * more is reached. */
static void settle_instant(forward *f, const mk_edge_block *block, uint32_t from, uint32_t to, size_t before)
{
    const int64_t s = block->vt_s[from];
    size_t count;
    do {
        count = f->count;
        for (size_t i = 0; i < before && f->rc == MK_OK; i++)
            relax(f, f->now.arcs[i].from, f->now.arcs[i].to, s);
        for (uint32_t i = from; i < to && f->rc == MK_OK; i++)
            relax(f, block->src[i], block->dst[i], s);
    } while (f->count > count && f->rc == MK_OK);
}

/* The rest of a crowded instant in this block; where it ends. */
static uint32_t take_crowd(forward *f, const mk_edge_block *block, uint32_t i)
{
    const int64_t s = f->now.s;
    for (; i < block->count && block->vt_s[i] == s && f->rc == MK_OK; i++)
        take_edge(f, block->src[i], block->dst[i], s, s + 1);
    return i;
}

/* Many arcs at one instant: they wait for their tails as arcs that last do, and each is looked at twice. */
static uint32_t start_crowd(forward *f, const mk_edge_block *block, uint32_t from, size_t before)
{
    const int64_t s = block->vt_s[from];
    f->rc = f->first != NULL ? MK_OK : make_lists(f);
    for (size_t i = 0; i < before && f->rc == MK_OK; i++)
        take_edge(f, f->now.arcs[i].from, f->now.arcs[i].to, s, s + 1);
    f->now.s = s;
    f->now.crowded = true;
    return take_crowd(f, block, from);
}

/* Takes edge i, and what it leads to at the same instant; where to go on. */
static uint32_t step(forward *f, const mk_edge_block *block, uint32_t i)
{
    uint32_t from = i;
    while (from > 0 && block->vt_s[from - 1] == block->vt_s[i])
        from--;
    const size_t before = from == 0 && f->now.s == block->vt_s[i] ? f->now.count : 0;
    if (i - from + before >= INSTANT_ARCS_MAX)
        return start_crowd(f, block, from, before);
    settle_instant(f, block, from, i + 1, before);
    return i + 1;
}

/* Keeps the arcs of the block's last instant for the next block. */
static mk_code carry(forward *f, const mk_edge_block *block)
{
    instant *now = &f->now;
    const int64_t s = block->vt_s[block->count - 1];
    uint32_t from = block->count;
    if (now->s != s) {
        now->s = s;
        now->count = 0;
        now->crowded = false;
    }
    if (now->crowded)
        return MK_OK;
    while (from > 0 && block->vt_s[from - 1] == s)
        from--;
    const mk_code rc = mk_op_grow(f->arena, (void **)&now->arcs, &now->cap, now->count + block->count - from,
                                  sizeof *now->arcs, f->err);
    for (uint32_t i = from; rc == MK_OK && i < block->count; i++)
        now->arcs[now->count++] = (arc){block->src[i], block->dst[i]};
    return rc;
}

static mk_code take_instants(forward *f, const mk_edge_block *block)
{
    uint32_t i = f->now.crowded && block->vt_s[0] == f->now.s ? take_crowd(f, block, 0) : 0;
    while (f->rc == MK_OK && (i = next_step(f, block, i)) < block->count)
        i = step(f, block, i);
    return f->rc == MK_OK ? carry(f, block) : f->rc;
}

/* ---- the pass ---- */

static mk_code run_pass(forward *f, bool instants)
{
    const mk_edge_filter filter = {
        .vt_lo = f->args->t_a, .vt_hi = f->args->t_b, .match = MK_MATCH_STARTS,
        .without = MK_WITHOUT_ROWS | (instants ? MK_WITHOUT_ENDS : 0)};
    const mk_edge_block *block;
    mk_edge_stream *stream;
    mk_code rc;
    MK_TRY(rc, mk_view_stream(f->view, f->arena, &filter, true, &stream, f->err));
    for (;;) {
        MK_TRY(rc, mk_edge_stream_next(stream, &block, f->err));
        if (block == NULL || !mk_guard_done(f->guard, block->count))
            break;
        MK_TRY(rc, instants ? take_instants(f, block) : take_block(f, block));
    }
    rc = mk_guard_result(f->guard, f->err);
out:
    return rc;
}

mk_code mk_arrival_earliest(mk_view *view, mk_arena *arena, const mk_arrival_args *args,
                            mk_guard *guard, mk_reached *out, mk_err *err)
{
    const mk_edge_filter window = {.vt_lo = args->t_a, .vt_hi = args->t_b};
    forward f = {.view = view, .arena = arena, .args = args, .guard = guard, .now = {.s = INT64_MIN},
                 .rc = MK_OK, .err = err};
    bool instants;
    mk_code rc;

    f.reached = mk_arena_get0(arena, (size_t)mk_view_entity_count(view) + 1);
    if (f.reached == NULL)
        return mk_fail_nomem(err);
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

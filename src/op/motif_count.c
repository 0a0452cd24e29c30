/* motif_count.c — counting motifs without building any. Layer: op.
 *
 * Stars and ping-pongs are counted by windows that slide over the lists of a node, with counters per
 * neighbour, in time linear in the events (Paranjape, Benson and Leskovec 2017, section 4.1 and 4.2). The
 * other three start from walks: two edges in a row, head to tail, within delta. Those are gone through
 * once, as the scans around a centre of Gao et al. 2022 are, and for each the third edges are a
 * difference of two places in a list, so how many there are does not matter.
 *
 * Everything is counted by first edge, so that a list of instances knows what lies before a page. */
#include "op/motif_internal.h"

/* Where counts go. Sums are modular on the way and right at the end, when all terms are in. */
typedef struct tally {
    unsigned __int128 total;
    uint64_t *starts; /* by place; NULL: not asked for */
} tally;

static inline void tally_add(tally *t, uint32_t place, uint64_t n)
{
    t->total += n;
    if (t->starts != NULL)
        t->starts[place] += n;
}

static inline void tally_sub(tally *t, uint32_t place, uint64_t n)
{
    t->total -= n;
    if (t->starts != NULL)
        t->starts[place] -= n;
}

typedef struct counting {
    const mk_motif_events *events;
    mk_arena *arena;
    mk_guard *guard;
    tally tally;
} counting;

/* ---- lists ---- */

/* Counting sort; at[] first holds the ends of the lists before, one place further on. */
mk_code mk_motif__lists(const mk_motif_events *events, const uint32_t *key, const uint32_t *other,
                        mk_arena *arena, mk_motif_lists *out, mk_err *err)
{
    const uint32_t count = events->count, nodes = events->nodes;
    out->at = mk_motif__get(arena, (size_t)nodes + 2, sizeof *out->at);
    out->of = mk_motif__get(arena, count, sizeof *out->of);
    if (out->at == NULL || out->of == NULL)
        return mk_fail_nomem(err);
    memset(out->at, 0, ((size_t)nodes + 2) * sizeof *out->at);
    uint32_t *next = out->at + 1, *sizes = out->at + 2;
    for (uint32_t i = 0; i < count; i++)
        sizes[key[i]]++;
    for (uint32_t n = 1; n < nodes; n++)
        sizes[n] += sizes[n - 1];
    for (uint32_t i = 0; i < count; i++)
        out->of[next[key[i]]++] = (mk_motif_step){i, other[i]};
    return MK_OK;
}

/* ---- stars ---- */

/* Pairs of edges to different nodes, of those in the window, that also avoid a node met `same` times. */
static uint64_t star_pairs(uint64_t size, uint64_t squares, uint64_t same)
{
    return (size * size - squares) / 2 - same * (size - same);
}

/* Centre by centre, from the last edge to the first: the window holds what may follow it. `met` counts the
 * window's edges by their other end, `squares` is the sum of the squares of that. */
static mk_code count_stars(counting *c, mk_err *err)
{
    const mk_motif_events *events = c->events;
    mk_motif_lists out;
    mk_code rc = mk_motif__lists(events, events->src, events->dst, c->arena, &out, err);
    uint32_t *met = mk_arena_get0(c->arena, (size_t)events->nodes * sizeof *met);
    if (rc != MK_OK || met == NULL)
        return mk_fail_nomem(err);
    for (uint32_t u = 0; u < events->nodes; u++) {
        const uint32_t from = out.at[u], to = out.at[u + 1];
        uint64_t size = 0, squares = 0;
        uint32_t back = to;
        if (to - from < 3)
            continue;
        if (!mk_motif__spend(c->guard, to - from))
            return mk_guard_result(c->guard, err);
        for (uint32_t k = to; k-- > from;) {
            const mk_motif_step step = out.of[k];
            const uint32_t limit = events->limit[step.place];
            for (; back - 1 > k && out.of[back - 1].place >= limit; back--) {
                squares -= 2 * (uint64_t)met[out.of[back - 1].node]-- - 1;
                size--;
            }
            tally_add(&c->tally, step.place, star_pairs(size, squares, met[step.node]));
            squares += 2 * (uint64_t)met[step.node]++ + 1;
            size++;
        }
        for (uint32_t k = from; k < back; k++)
            met[out.of[k].node] = 0;
    }
    return MK_OK;
}

/* ---- ping-pongs ---- */

/* What a window holds of the edges between its centre and a neighbour, by direction. */
typedef struct talk {
    uint64_t pairs[2]; /* an edge of this direction, later one of the other */
    uint32_t edges[2];
} talk;

/* Lists by the smaller of both ends; the other end times two, plus the direction. */
static mk_code pair_lists(counting *c, mk_motif_lists *out, mk_err *err)
{
    const mk_motif_events *events = c->events;
    uint32_t *key = mk_motif__get(c->arena, events->count, sizeof *key);
    uint32_t *other = mk_motif__get(c->arena, events->count, sizeof *other);
    if (key == NULL || other == NULL)
        return mk_fail_nomem(err);
    for (uint32_t i = 0; i < events->count; i++) {
        const uint32_t src = events->src[i], dst = events->dst[i];
        key[i] = src < dst ? src : dst;
        other[i] = src < dst ? dst * 2 : src * 2 + 1;
    }
    return mk_motif__lists(events, key, other, c->arena, out, err);
}

/* As for stars, from the last edge to the first. */
static mk_code count_pingpongs(counting *c, mk_err *err)
{
    const mk_motif_events *events = c->events;
    mk_motif_lists lists;
    mk_code rc = pair_lists(c, &lists, err);
    talk *talks = mk_arena_get0(c->arena, (size_t)events->nodes * sizeof *talks);
    if (rc != MK_OK || talks == NULL)
        return mk_fail_nomem(err);
    for (uint32_t u = 0; u < events->nodes; u++) {
        const uint32_t from = lists.at[u], to = lists.at[u + 1];
        uint32_t back = to;
        if (to - from < 3)
            continue;
        if (!mk_motif__spend(c->guard, to - from))
            return mk_guard_result(c->guard, err);
        for (uint32_t k = to; k-- > from;) {
            const mk_motif_step step = lists.of[k];
            const uint32_t limit = events->limit[step.place];
            for (; back - 1 > k && lists.of[back - 1].place >= limit; back--) {
                const uint32_t node = lists.of[back - 1].node, way = node & 1;
                talk *old = &talks[node >> 1];
                old->edges[way]--;
                old->pairs[!way] -= old->edges[!way];
            }
            const uint32_t way = step.node & 1;
            talk *t = &talks[step.node >> 1];
            tally_add(&c->tally, step.place, t->pairs[!way]);
            t->pairs[way] += t->edges[!way];
            t->edges[way]++;
        }
        for (uint32_t k = from; k < back; k++)
            talks[lists.of[k].node >> 1] = (talk){0};
    }
    return MK_OK;
}

/* ---- walks ---- */

/* Edges out of the node that an edge enters, within delta after it: of[from] to of[to]. */
typedef struct reach {
    uint32_t from, to;
} reach;

typedef struct walks {
    mk_motif_lists out, in;
    reach *reach;      /* by place in out.of */
    uint32_t *cursors; /* room for a number by node */
} walks;

static void restart(const counting *c, const walks *w)
{
    memcpy(w->cursors, w->out.at, (size_t)c->events->nodes * sizeof *w->cursors);
}

/* One pass in event order finds `from`: the edges of a list that came before are those it has passed. A
 * second one, which runs ahead to the limit, finds `to`. */
static mk_code find_walks(counting *c, walks *w, mk_err *err)
{
    const mk_motif_events *events = c->events;
    const uint32_t count = events->count;
    mk_code rc;

    MK_TRY(rc, mk_motif__lists(events, events->src, events->dst, c->arena, &w->out, err));
    MK_TRY(rc, mk_motif__lists(events, events->dst, events->src, c->arena, &w->in, err));
    w->reach = mk_motif__get(c->arena, count, sizeof *w->reach);
    w->cursors = mk_motif__get(c->arena, events->nodes, sizeof *w->cursors);
    uint32_t *ahead = mk_motif__get(c->arena, events->nodes, sizeof *ahead);
    if (w->reach == NULL || w->cursors == NULL || ahead == NULL) {
        rc = mk_fail_nomem(err);
        goto out;
    }
    restart(c, w);
    memcpy(ahead, w->cursors, (size_t)events->nodes * sizeof *ahead);
    for (uint32_t i = 0, limit = 0; i < count; i++) {
        while (limit < events->limit[i])
            ahead[events->src[limit++]]++;
        w->reach[w->cursors[events->src[i]]++] =
            (reach){w->cursors[events->dst[i]], ahead[events->dst[i]]};
    }

out:
    return rc;
}

/* Whether any edge out of u can be followed in time. */
static bool any_walk(const walks *w, uint32_t u)
{
    for (uint32_t k = w->out.at[u]; k < w->out.at[u + 1]; k++)
        if (w->reach[k].from < w->reach[k].to)
            return true;
    return false;
}

/* ---- triangles ---- */

/* The edges between one centre and a neighbour that may close a triangle now: places[lo] to places[hi],
 * ascending. `nearest` is the place of the one that decides whether there is any. */
typedef struct closing {
    uint32_t nearest, lo, hi;
} closing;

typedef struct closings {
    uint32_t *places; /* of the edges at each node in turn, those with one neighbour side by side */
    uint32_t *where;  /* by place: where it stands in `places` */
    closing *by_node;
} closings;

/* Sorts the edges at each node by their other end: they are taken in the order of lists by that end and
 * dealt out to lists like `own`. */
static mk_code group_edges(counting *c, const walks *w, const mk_motif_lists *by_other,
                           const mk_motif_lists *own, closings *out, mk_err *err)
{
    const uint32_t count = c->events->count, nodes = c->events->nodes;
    out->places = mk_motif__get(c->arena, count, sizeof *out->places);
    out->where = mk_motif__get(c->arena, count, sizeof *out->where);
    out->by_node = mk_motif__get(c->arena, nodes, sizeof *out->by_node);
    if (out->places == NULL || out->where == NULL || out->by_node == NULL)
        return mk_fail_nomem(err);
    memcpy(w->cursors, own->at, (size_t)nodes * sizeof *w->cursors);
    for (uint32_t k = 0; k < count; k++) {
        const mk_motif_step step = by_other->of[k];
        const uint32_t at = w->cursors[step.node]++;
        out->places[at] = step.place;
        out->where[step.place] = at;
    }
    return MK_OK;
}

/* How many of the ascending values [lo, hi) are above `bound`: steps that double from the end, then halving
 * (Bentley and Yao 1976). */
static uint32_t count_above(const uint32_t *values, uint32_t lo, uint32_t hi, uint32_t bound)
{
    const uint32_t end = hi;
    uint32_t step = 1;
    for (; hi - lo >= step && values[hi - step] > bound; step *= 2)
        hi -= step;
    if (hi - lo >= step)
        lo = hi - step + 1;
    while (lo < hi) {
        const uint32_t middle = lo + (hi - lo) / 2;
        if (values[middle] > bound)
            hi = middle;
        else
            lo = middle + 1;
    }
    return end - lo;
}

/* How many of them are below it, from the start. */
static uint32_t count_below(const uint32_t *values, uint32_t lo, uint32_t hi, uint32_t bound)
{
    const uint32_t start = lo;
    uint32_t step = 1;
    for (; hi - lo >= step && values[lo + step - 1] < bound; step *= 2)
        lo += step;
    if (hi - lo >= step)
        hi = lo + step - 1;
    while (lo < hi) {
        const uint32_t middle = lo + (hi - lo) / 2;
        if (values[middle] < bound)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo - start;
}

/* The edge w->u that comes next in time may close cycles from now on. */
static inline void admit(closings *cl, mk_motif_step step)
{
    closing *edges = &cl->by_node[step.node];
    const uint32_t at = cl->where[step.place];
    if (edges->nearest == 0)
        edges->lo = at;
    edges->hi = at + 1;
    edges->nearest = step.place;
}

/* Cycles u->v->w->u. While the edges out of u go by in time, those into u are admitted as far as the
 * limit, and each walk u->v->w finds its closing edges by w: admitted ones behind the second edge. */
static mk_code cycles_of(counting *c, const walks *w, closings *cl, uint32_t u, bool minus, mk_err *err)
{
    const mk_motif_step *out = w->out.of, *in = w->in.of;
    const uint32_t in_end = w->in.at[u + 1];
    uint32_t next = w->in.at[u];
    for (uint32_t k = w->out.at[u]; k < w->out.at[u + 1]; k++) {
        const reach r = w->reach[k];
        const uint32_t first = out[k].place, limit = c->events->limit[first];
        uint64_t sum = 0;
        if (r.from == r.to)
            continue;
        if (!mk_motif__spend(c->guard, r.to - r.from))
            return mk_guard_result(c->guard, err);
        for (; next < in_end && in[next].place < limit; next++)
            if (in[next].place > first)
                admit(cl, in[next]);
        for (uint32_t f = r.from; f < r.to; f++) {
            const closing *edges = &cl->by_node[out[f].node];
            if (edges->nearest > out[f].place)
                sum += count_above(cl->places, edges->lo, edges->hi, out[f].place);
        }
        if (sum != 0 && minus)
            tally_sub(&c->tally, first, sum);
        else if (sum != 0)
            tally_add(&c->tally, first, sum);
    }
    for (uint32_t k = w->in.at[u]; k < next; k++)
        cl->by_node[in[k].node].nearest = 0;
    return MK_OK;
}

static mk_code count_cycles(counting *c, walks *w, bool minus, mk_err *err)
{
    closings cl;
    mk_code rc = group_edges(c, w, &w->out, &w->in, &cl, err);
    if (rc != MK_OK)
        return rc;
    memset(cl.by_node, 0, (size_t)c->events->nodes * sizeof *cl.by_node);
    for (uint32_t u = 0; u < c->events->nodes && rc == MK_OK; u++)
        if (w->in.at[u] < w->in.at[u + 1] && any_walk(w, u))
            rc = cycles_of(c, w, &cl, u, minus, err);
    return rc;
}

/* All edges out of u by their head, none passed yet. */
static void admit_all(closings *cl, const walks *w, uint32_t u)
{
    for (uint32_t k = w->out.at[u]; k < w->out.at[u + 1]; k++) {
        const mk_motif_step step = w->out.of[k];
        closing *edges = &cl->by_node[step.node];
        const uint32_t at = cl->where[step.place];
        if (edges->nearest == UINT32_MAX) {
            edges->nearest = step.place;
            edges->lo = at;
        }
        edges->hi = at + 1;
    }
}

/* The edge that begins at `at` in the list of its head is passed. */
static inline void pass_edge(closings *cl, closing *edges, uint32_t at)
{
    edges->lo = at + 1;
    edges->nearest = edges->lo < edges->hi ? cl->places[edges->lo] : UINT32_MAX;
}

/* Triangles u->v, u->w, v->w: each walk u->v->w has the edges u->w between its two. */
static mk_code shortcuts_of(counting *c, const walks *w, closings *cl, uint32_t u, mk_err *err)
{
    const mk_motif_step *out = w->out.of;
    admit_all(cl, w, u);
    for (uint32_t k = w->out.at[u]; k < w->out.at[u + 1]; k++) {
        const reach r = w->reach[k];
        const uint32_t first = out[k].place;
        uint64_t sum = 0;
        pass_edge(cl, &cl->by_node[out[k].node], cl->where[first]);
        if (!mk_motif__spend(c->guard, r.to - r.from))
            return mk_guard_result(c->guard, err);
        for (uint32_t f = r.from; f < r.to; f++) {
            const closing *edges = &cl->by_node[out[f].node];
            if (edges->nearest < out[f].place)
                sum += count_below(cl->places, edges->lo, edges->hi, out[f].place);
        }
        if (sum != 0)
            tally_add(&c->tally, first, sum);
    }
    for (uint32_t k = w->out.at[u]; k < w->out.at[u + 1]; k++)
        cl->by_node[out[k].node].nearest = UINT32_MAX;
    return MK_OK;
}

static mk_code count_shortcuts(counting *c, walks *w, mk_err *err)
{
    closings cl;
    mk_code rc = group_edges(c, w, &w->in, &w->out, &cl, err);
    if (rc != MK_OK)
        return rc;
    memset(cl.by_node, 0xFF, (size_t)c->events->nodes * sizeof *cl.by_node);
    for (uint32_t u = 0; u < c->events->nodes && rc == MK_OK; u++)
        if (w->out.at[u + 1] - w->out.at[u] > 1 && any_walk(w, u))
            rc = shortcuts_of(c, w, &cl, u, err);
    return rc;
}

/* ---- paths ---- */

/* Walks u->v->w->x with w other than u, x still any node: for each of the first two edges a difference of
 * places in the list of w. */
static mk_code count_long_walks(counting *c, walks *w, mk_err *err)
{
    const mk_motif_events *events = c->events;
    const mk_motif_step *out = w->out.of;
    uint32_t *own = mk_motif__get(c->arena, events->nodes, sizeof *own);
    uint32_t *ahead = w->cursors, limit = 0;
    if (own == NULL)
        return mk_fail_nomem(err);
    restart(c, w);
    memcpy(own, ahead, (size_t)events->nodes * sizeof *own);
    for (uint32_t i = 0; i < events->count; i++) {
        const uint32_t u = events->src[i];
        const reach r = w->reach[own[u]++];
        uint64_t sum = 0;
        while (limit < events->limit[i])
            ahead[events->src[limit++]]++;
        if (!mk_motif__spend(c->guard, r.to - r.from))
            return mk_guard_result(c->guard, err);
        for (uint32_t f = r.from; f < r.to; f++) {
            const uint32_t node = out[f].node;
            sum += node != u ? ahead[node] - w->reach[f].from : 0;
        }
        tally_add(&c->tally, i, sum);
    }
    return MK_OK;
}

/* The lists of edges out of and into one node, gone through together. */
typedef struct merge {
    const mk_motif_step *out, *in;
    uint32_t out_at, in_at;
} merge;

static inline uint32_t merge_place(const merge *m, uint32_t out_end, uint32_t in_end, bool *leaves)
{
    const uint32_t a = m->out_at < out_end ? m->out[m->out_at].place : UINT32_MAX;
    const uint32_t b = m->in_at < in_end ? m->in[m->in_at].place : UINT32_MAX;
    *leaves = a < b;
    return *leaves ? a : b;
}

/* What a window around a centre holds of one neighbour. */
typedef struct visit {
    uint64_t returns; /* an edge to it, later one from it */
    uint32_t out, in;
} visit;

/* Walks u->v->w->v with w other than u, which are no paths. */
static void take_returns_of(counting *c, const walks *w, visit *visits, uint32_t v)
{
    const uint32_t out_end = w->out.at[v + 1], in_end = w->in.at[v + 1];
    merge left = {w->out.of, w->in.of, w->out.at[v], w->in.at[v]}, right = left;
    uint64_t returns = 0;
    bool leaves;
    for (uint32_t k = w->in.at[v]; k < in_end; k++) {
        const mk_motif_step first = w->in.of[k];
        const uint32_t limit = c->events->limit[first.place];
        while (merge_place(&left, out_end, in_end, &leaves) <= first.place) {
            visit *gone = &visits[leaves ? w->out.of[left.out_at].node : w->in.of[left.in_at].node];
            const bool inside = left.out_at < right.out_at || left.in_at < right.in_at;
            left.out_at += leaves;
            left.in_at += !leaves;
            if (!inside) {
                right = left;
            } else if (leaves) {
                gone->out--;
                gone->returns -= gone->in;
                returns -= gone->in;
            } else {
                gone->in--;
            }
        }
        while (merge_place(&right, out_end, in_end, &leaves) < limit) {
            visit *come = &visits[leaves ? w->out.of[right.out_at++].node
                                         : w->in.of[right.in_at++].node];
            if (leaves) {
                come->out++;
            } else {
                come->in++;
                come->returns += come->out;
                returns += come->out;
            }
        }
        tally_sub(&c->tally, first.place, returns - visits[first.node].returns);
    }
    for (; left.out_at < right.out_at; left.out_at++)
        visits[w->out.of[left.out_at].node] = (visit){0};
    for (; left.in_at < right.in_at; left.in_at++)
        visits[w->in.of[left.in_at].node] = (visit){0};
}

static mk_code take_returns(counting *c, const walks *w, mk_err *err)
{
    const uint32_t nodes = c->events->nodes;
    visit *visits = mk_arena_get0(c->arena, (size_t)nodes * sizeof *visits);
    if (visits == NULL)
        return mk_fail_nomem(err);
    for (uint32_t v = 0; v < nodes; v++) {
        const uint32_t out = w->out.at[v + 1] - w->out.at[v], in = w->in.at[v + 1] - w->in.at[v];
        if (out == 0 || in < 2)
            continue;
        if (!mk_motif__spend(c->guard, (size_t)out + in))
            return mk_guard_result(c->guard, err);
        take_returns_of(c, w, visits, v);
    }
    return MK_OK;
}

/* Paths are the walks of three edges whose nodes all differ: those that return to their second node and
 * those that return to their first are taken out. */
static mk_code count_paths(counting *c, walks *w, mk_err *err)
{
    mk_code rc;
    MK_TRY(rc, count_long_walks(c, w, err));
    MK_TRY(rc, take_returns(c, w, err));
    rc = count_cycles(c, w, true, err);
out:
    return rc;
}

/* ---- all of them ---- */

static mk_code count_by_walks(counting *c, mk_motif motif, mk_err *err)
{
    walks w;
    const mk_code rc = find_walks(c, &w, err);
    if (rc != MK_OK)
        return rc;
    switch (motif) {
    case MK_MOTIF_TRIANGLE_CYCLIC: return count_cycles(c, &w, false, err);
    case MK_MOTIF_TRIANGLE_ACYCLIC_1: return count_shortcuts(c, &w, err);
    default: return count_paths(c, &w, err);
    }
}

static mk_code fail_overflow(mk_err *err)
{
    mk_fail(err, MK_E_LIMIT, "there are more than %lld instances", (long long)INT64_MAX);
    mk_err_hint(err, "ask for a shorter window or a smaller delta");
    mk_err_extra(err, "\"limit\":\"instances\"", 19);
    return MK_E_LIMIT;
}

mk_code mk_motif_count(const mk_motif_events *events, mk_motif motif, mk_arena *arena,
                       mk_guard *guard, uint64_t *starts, int64_t *total, mk_err *err)
{
    const mk_arena_mark mark = mk_arena_save(arena);
    counting c = {.events = events, .arena = arena, .guard = guard, .tally = {.starts = starts}};
    mk_code rc = MK_OK;
    *total = 0;
    if (starts != NULL && events->count > 0)
        memset(starts, 0, events->count * sizeof *starts);
    if (events->count < 3)
        return MK_OK;
    if (motif == MK_MOTIF_STAR_OUT_3)
        rc = count_stars(&c, err);
    else if (motif == MK_MOTIF_PINGPONG)
        rc = count_pingpongs(&c, err);
    else
        rc = count_by_walks(&c, motif, err);
    mk_arena_rewind(arena, mark);
    if (rc == MK_OK && c.tally.total > INT64_MAX)
        rc = fail_overflow(err);
    if (rc == MK_OK)
        *total = (int64_t)c.tally.total;
    return rc;
}

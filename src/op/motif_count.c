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

/* Where lists by `key` begin; at[n + 1] is where list n begins, for now, and at[0] unset: dealing out moves
 * each place on to where it belongs. NULL when there is no memory. */
static uint32_t *list_starts(const mk_motif_events *events, const uint32_t *key, mk_arena *arena)
{
    const uint32_t count = events->count, nodes = events->nodes;
    uint32_t *at = mk_arena_get0(arena, ((size_t)nodes + 2) * sizeof *at);
    if (at == NULL)
        return NULL;
    for (uint32_t i = 0; i < count; i++)
        at[key[i] + 2]++;
    for (uint32_t n = 3; n < nodes + 2; n++)
        at[n] += at[n - 1];
    return at;
}

mk_code mk_motif__lists(const mk_motif_events *events, const uint32_t *key, const uint32_t *other,
                        mk_arena *arena, mk_motif_lists *out, mk_err *err)
{
    const uint32_t count = events->count;
    uint32_t *restrict at = list_starts(events, key, arena);
    mk_motif_step *restrict of = mk_motif__get(arena, (size_t)count + 1, sizeof *of);
    if (at == NULL || of == NULL)
        return mk_fail_nomem(err);
    of[count] = (mk_motif_step){UINT32_MAX, 0};
    for (uint32_t i = 0; i < count; i++)
        of[at[key[i] + 1]++] = (mk_motif_step){i, other[i]};
    *out = (mk_motif_lists){at, of};
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
        if (!mk_guard_done(c->guard, to - from))
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
        if (!mk_guard_done(c->guard, to - from))
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

/* An edge that is followed in time: the edges out of its head behind it are of[from] to of[end], those within
 * its limit come first, and there is at least one. */
typedef struct opening {
    uint32_t first, limit; /* places in event order */
    uint32_t from, end;
} opening;

typedef struct walks {
    mk_motif_lists out;
    uint32_t *from;    /* by place in out.of: the first edge out of its head that comes behind it */
    opening *openings; /* in event order */
    uint32_t opening_count;
    uint32_t *cursors; /* room for a number by node */
} walks;

/* Where the lists of edges out of each node begin. */
static void restart(const counting *c, const walks *w)
{
    memcpy(w->cursors, w->out.at, (size_t)c->events->nodes * sizeof *w->cursors);
}

/* In event order, the edges of a list that came before an event are those that the pass has seen. Whether an
 * edge is followed is as good as random, so none of this branches. */
static void fill_walks(const mk_motif_events *events, walks *w)
{
    const uint32_t *src = events->src, *dst = events->dst, *limits = events->limit, *at = w->out.at;
    const mk_motif_step *of = w->out.of;
    const uint32_t count = events->count;
    uint32_t *restrict now = w->cursors, *restrict from = w->from;
    opening *restrict openings = w->openings;
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t next = now[dst[i]], end = at[dst[i] + 1];
        from[now[src[i]]++] = next;
        openings[n] = (opening){i, limits[i], next, end};
        /* of[] has one member more than there are events, which begins no list. */
        n += (next < end) & (of[next].place < limits[i]);
    }
    w->opening_count = n;
}

static mk_code find_walks(counting *c, walks *w, mk_err *err)
{
    const mk_motif_events *events = c->events;
    const size_t count = (size_t)events->count + 1;
    mk_code rc = mk_motif__lists(events, events->src, events->dst, c->arena, &w->out, err);
    w->from = mk_motif__get(c->arena, count, sizeof *w->from);
    w->openings = mk_motif__get(c->arena, count, sizeof *w->openings);
    w->cursors = mk_motif__get(c->arena, events->nodes, sizeof *w->cursors);
    if (rc != MK_OK || w->from == NULL || w->openings == NULL || w->cursors == NULL)
        return mk_fail_nomem(err);
    restart(c, w);
    fill_walks(events, w);
    return MK_OK;
}

/* ---- triangles ---- */

/* The edges between a centre and one neighbour: edges[lo] to edges[hi], in event order. */
typedef struct run {
    uint32_t lo, hi;
} run;

/* Their first and last place, which is all that most walks look at. */
typedef struct stretch {
    uint32_t first, last;
} stretch;

static const stretch no_stretch = {.first = UINT32_MAX};

/* What closes walks: the edges into each node for cycles, those out of it for shortcuts, the ones with the
 * same other end side by side; and the openings by the node they start from. */
typedef struct closings {
    bool cycles;
    const uint32_t *at;
    mk_motif_step *edges;
    stretch *stretches; /* by node, for the centre at hand; no_stretch where there are none */
    run *runs;          /* the same */
    uint32_t *openings_at;
    opening *openings;
} closings;

/* The edges at each node sorted by their other end: they are taken in the order of lists by that end, and
 * dealt out to lists that begin at `at`. */
static void deal_edges(const mk_motif_lists *by_other, uint32_t nodes, const uint32_t *at,
                       uint32_t *restrict next, mk_motif_step *restrict edges)
{
    memcpy(next, at, (size_t)nodes * sizeof *next);
    for (uint32_t other = 0; other < nodes; other++)
        for (uint32_t k = by_other->at[other]; k < by_other->at[other + 1]; k++) {
            const mk_motif_step step = by_other->of[k];
            edges[next[step.node]++] = (mk_motif_step){step.place, other};
        }
}

/* Where the lists of edges into each node begin, for cycles, which need no more of them; otherwise the lists. */
static mk_code incoming(counting *c, bool cycles, mk_motif_lists *in, mk_err *err)
{
    const mk_motif_events *events = c->events;
    if (!cycles)
        return mk_motif__lists(events, events->dst, events->src, c->arena, in, err);
    uint32_t *at = list_starts(events, events->dst, c->arena);
    if (at == NULL)
        return mk_fail_nomem(err);
    *in = (mk_motif_lists){.at = at + 1};
    return MK_OK;
}

static mk_code group_edges(counting *c, const walks *w, closings *out, mk_err *err)
{
    const mk_motif_events *events = c->events;
    mk_motif_lists in = {0};
    const mk_code rc = incoming(c, out->cycles, &in, err);
    out->edges = mk_motif__get(c->arena, events->count, sizeof *out->edges);
    out->runs = mk_motif__get(c->arena, events->nodes, sizeof *out->runs);
    out->stretches = mk_motif__get(c->arena, events->nodes, sizeof *out->stretches);
    if (rc != MK_OK || out->edges == NULL || out->runs == NULL || out->stretches == NULL)
        return mk_fail_nomem(err);
    out->at = out->cycles ? in.at : w->out.at;
    deal_edges(out->cycles ? &w->out : &in, events->nodes, out->at, w->cursors, out->edges);
    for (uint32_t n = 0; n < events->nodes; n++)
        out->stretches[n] = no_stretch;
    return MK_OK;
}

static mk_code group_openings(counting *c, const walks *w, closings *out, mk_err *err)
{
    const uint32_t *src = c->events->src, count = w->opening_count, nodes = c->events->nodes;
    uint32_t *restrict at = mk_arena_get0(c->arena, ((size_t)nodes + 2) * sizeof *at);
    opening *restrict openings = mk_motif__get(c->arena, count, sizeof *openings);
    if (at == NULL || openings == NULL)
        return mk_fail_nomem(err);
    for (uint32_t i = 0; i < count; i++)
        at[src[w->openings[i].first] + 2]++;
    for (uint32_t n = 3; n < nodes + 2; n++)
        at[n] += at[n - 1];
    for (uint32_t i = 0; i < count; i++)
        openings[at[src[w->openings[i].first] + 1]++] = w->openings[i];
    out->openings_at = at;
    out->openings = openings;
    return MK_OK;
}

static void open_runs(closings *cl, uint32_t centre)
{
    const uint32_t from = cl->at[centre], to = cl->at[centre + 1];
    for (uint32_t k = to; k-- > from;) {
        cl->stretches[cl->edges[k].node].first = cl->edges[k].place;
        cl->runs[cl->edges[k].node].lo = k;
    }
    for (uint32_t k = from; k < to; k++) {
        cl->stretches[cl->edges[k].node].last = cl->edges[k].place;
        cl->runs[cl->edges[k].node].hi = k + 1;
    }
}

static void close_runs(closings *cl, uint32_t centre)
{
    for (uint32_t k = cl->at[centre]; k < cl->at[centre + 1]; k++)
        cl->stretches[cl->edges[k].node] = no_stretch;
}

/* The first of edges[lo] to edges[hi] that is not before `place`. */
static uint32_t seek(const mk_motif_step *edges, uint32_t lo, uint32_t hi, uint32_t place)
{
    while (lo < hi) {
        const uint32_t middle = lo + (hi - lo) / 2;
        if (edges[middle].place < place)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

#define SHORT_RUN 32u /* up to here looking at all is cheaper than two searches that guess wrong */

/* How many edges of a run lie behind `after` and before `before`. */
static uint32_t count_between(const mk_motif_step *edges, run r, uint32_t after, uint32_t before)
{
    if (r.hi - r.lo <= SHORT_RUN) {
        uint32_t count = 0;
        for (uint32_t k = r.lo; k < r.hi; k++)
            count += (edges[k].place > after) & (edges[k].place < before);
        return count;
    }
    const uint32_t lo = seek(edges, r.lo, r.hi, after + 1);
    return seek(edges, lo, r.hi, before) - lo;
}

/* Walks u->v->w of one opening whose ends are joined: for cycles by an edge w->u behind them and within the
 * limit, otherwise by an edge u->w between their two. Returns where the walks end. */
static inline uint32_t close_opening(const closings *cl, const mk_motif_step *out, opening o, bool cycles,
                                     uint64_t *sum)
{
    const stretch *stretches = cl->stretches;
    uint32_t f = o.from;
    *sum = 0;
    for (; f < o.end && out[f].place < o.limit; f++) {
        const stretch s = stretches[out[f].node];
        const uint32_t after = cycles ? out[f].place : o.first;
        const uint32_t before = cycles ? o.limit : out[f].place;
        if ((s.last > after) & (s.first < before))
            *sum += count_between(cl->edges, cl->runs[out[f].node], after, before);
    }
    return f;
}

/* All walks from u. They are taken out of the tally when `minus`. */
static mk_code close_walks(counting *c, const walks *w, closings *cl, uint32_t u, bool minus, mk_err *err)
{
    open_runs(cl, u);
    for (uint32_t i = cl->openings_at[u]; i < cl->openings_at[u + 1]; i++) {
        const opening o = cl->openings[i];
        uint64_t sum;
        const uint32_t end = cl->cycles ? close_opening(cl, w->out.of, o, true, &sum)
                                        : close_opening(cl, w->out.of, o, false, &sum);
        if (minus)
            tally_sub(&c->tally, o.first, sum);
        else
            tally_add(&c->tally, o.first, sum);
        if (!mk_guard_done(c->guard, end - o.from))
            return mk_guard_result(c->guard, err);
    }
    close_runs(cl, u);
    return MK_OK;
}

static mk_code count_triangles(counting *c, const walks *w, bool cycles, bool minus, mk_err *err)
{
    closings cl = {.cycles = cycles};
    mk_code rc;
    MK_TRY(rc, group_edges(c, w, &cl, err));
    MK_TRY(rc, group_openings(c, w, &cl, err));
    for (uint32_t u = 0; u < c->events->nodes; u++)
        if (cl.at[u] < cl.at[u + 1] && cl.openings_at[u] < cl.openings_at[u + 1])
            MK_TRY(rc, close_walks(c, w, &cl, u, minus, err));
out:
    return rc;
}

/* ---- paths ---- */

/* Walks u->v->w->x with w other than u, x still any node. In event order the lists are kept where they stand
 * at the limit, so for each walk of two edges the third ones are a difference of places in one list. */
static mk_code count_long_walks(counting *c, const walks *w, mk_err *err)
{
    const uint32_t *src = c->events->src, *from = w->from;
    const mk_motif_step *out = w->out.of;
    uint32_t *restrict ahead = w->cursors;
    uint32_t seen = 0;
    restart(c, w);
    for (uint32_t i = 0; i < w->opening_count; i++) {
        const opening o = w->openings[i];
        const uint32_t u = src[o.first];
        uint32_t f = o.from;
        uint64_t sum = 0;
        for (; seen < o.limit; seen++)
            ahead[src[seen]]++;
        for (; f < o.end && out[f].place < o.limit; f++)
            sum += (ahead[out[f].node] - from[f]) & -(uint32_t)(out[f].node != u);
        tally_add(&c->tally, o.first, sum);
        if (!mk_guard_done(c->guard, f - o.from))
            return mk_guard_result(c->guard, err);
    }
    return MK_OK;
}

/* An edge at a node. */
typedef struct stop {
    uint32_t place;
    uint32_t node;  /* the other end times two; 1 is added to edges into the node */
    uint32_t limit; /* of an edge into the node that is an opening; otherwise 0 */
} stop;

/* All edges at each node in event order: of[at[n]] to of[at[n + 1]]. */
typedef struct stops {
    uint32_t *at;
    stop *of;
} stops;

static mk_code both_ways(counting *c, const walks *w, stops *lists, mk_err *err)
{
    const mk_motif_events *events = c->events;
    const uint32_t *src = events->src, *dst = events->dst, count = events->count;
    uint32_t *restrict at = list_starts(events, dst, c->arena);
    stop *restrict of = mk_motif__get(c->arena, (size_t)count * 2, sizeof *of);
    if (at == NULL || of == NULL)
        return mk_fail_nomem(err);
    for (uint32_t n = 0; n < events->nodes; n++)
        at[n + 1] += w->out.at[n];
    for (uint32_t i = 0, next = 0; i < count; i++) {
        /* Behind the last opening stands a free one, in which `first` is no place that comes up again. */
        const uint32_t opens = w->openings[next].first == i && next < w->opening_count;
        of[at[src[i] + 1]++] = (stop){i, dst[i] * 2, 0};
        of[at[dst[i] + 1]++] = (stop){i, src[i] * 2 + 1, w->openings[next].limit & -opens};
        next += opens;
    }
    *lists = (stops){at, of};
    return MK_OK;
}

/* What a window around a centre holds of one neighbour. */
typedef struct visit {
    uint64_t returns; /* an edge to it, later one from it */
    uint32_t out, in;
} visit;

/* An edge comes in at the late end of the window; the result is by how much its returns grow. */
static inline uint64_t visit_add(visit *visits, uint32_t node)
{
    visit *at = &visits[node >> 1];
    const uint64_t returns = at->out & -(uint64_t)(node & 1);
    at->out += !(node & 1);
    at->in += node & 1;
    at->returns += returns;
    return returns;
}

/* An edge goes out at the early end. */
static inline uint64_t visit_drop(visit *visits, uint32_t node)
{
    visit *at = &visits[node >> 1];
    const uint64_t returns = at->in & ((uint64_t)(node & 1) - 1);
    at->out -= !(node & 1);
    at->in -= node & 1;
    at->returns -= returns;
    return returns;
}

/* Walks u->v->w->v with w other than u, which are no paths, by their first edge: returns to v in the window
 * behind it, but for those from u. */
static void take_returns_of(counting *c, const stops *lists, visit *visits, uint32_t v)
{
    const stop *of = lists->of;
    const uint32_t end = lists->at[v + 1];
    uint32_t left = lists->at[v], right = left;
    uint64_t returns = 0;
    for (uint32_t k = left; k < end; k++) {
        const uint32_t limit = of[k].limit;
        if (limit == 0)
            continue;
        for (; left <= k && left < right; left++)
            returns -= visit_drop(visits, of[left].node);
        left = k + 1;
        right = right < left ? left : right;
        for (; right < end && of[right].place < limit; right++)
            returns += visit_add(visits, of[right].node);
        tally_sub(&c->tally, of[k].place, returns - visits[of[k].node >> 1].returns);
    }
    for (; left < right; left++)
        visits[of[left].node >> 1] = (visit){0};
}

static mk_code take_returns(counting *c, const walks *w, mk_err *err)
{
    const uint32_t nodes = c->events->nodes;
    stops lists = {0};
    visit *visits = mk_arena_get0(c->arena, (size_t)nodes * sizeof *visits);
    const mk_code rc = both_ways(c, w, &lists, err);
    if (rc != MK_OK || visits == NULL)
        return mk_fail_nomem(err);
    for (uint32_t v = 0; v < nodes; v++) {
        const uint32_t out = w->out.at[v + 1] - w->out.at[v], all = lists.at[v + 1] - lists.at[v];
        if (out == 0 || all < out + 2)
            continue;
        if (!mk_guard_done(c->guard, all))
            return mk_guard_result(c->guard, err);
        take_returns_of(c, &lists, visits, v);
    }
    return MK_OK;
}

/* Paths are the walks of three edges whose nodes all differ: those that return to their second node and
 * those that return to their first are taken out. */
static mk_code count_paths(counting *c, const walks *w, mk_err *err)
{
    mk_code rc;
    MK_TRY(rc, count_long_walks(c, w, err));
    MK_TRY(rc, take_returns(c, w, err));
    rc = count_triangles(c, w, true, true, err);
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
    case MK_MOTIF_TRIANGLE_CYCLIC: return count_triangles(c, &w, true, false, err);
    case MK_MOTIF_TRIANGLE_ACYCLIC_1: return count_triangles(c, &w, false, false, err);
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

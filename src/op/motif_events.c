/* motif_events.c — the events of a window in their total order. Layer: op.
 *
 * The view's stream gives blocks of columns in time order, which are taken over as they are, or with a filter
 * those of their rows that pass it. When few nodes are named the stream reads what their lists lead to. Events
 * at one time then stand in no order, and are sorted by (eid, vid) as far as anyone can tell the difference. */
#include <stdlib.h>

#include "base/hash.h"
#include "op/motif_internal.h"

/* One event, as long as they are collected, or sorted at one time. */
typedef struct event {
    int64_t vt_s;
    uint32_t src, dst, rel_type, part, row;
} event;

void *mk_motif__get(mk_arena *arena, size_t count, size_t size)
{
    size_t bytes;
    return mk_size_mul(count, size, &bytes) ? mk_arena_get(arena, bytes) : NULL;
}

/* ---- node numbers ---- */

typedef struct slot {
    uint32_t id;     /* MK_NO_ID: free */
    uint32_t number;
} slot;

/* Dense ids numbered in the order they are put in. Made for a known number of them, so it never grows.
 * Hashed by a random odd factor (Dietzfelbinger et al. 1997), which is one multiplication. */
typedef struct numbering {
    uint64_t factor;
    slot *slots;
    size_t mask; /* power of two, less one */
    unsigned shift;
    uint32_t *ids;
    uint32_t count;
} numbering;

/* `spread`: slots for each id, 2 or more; the more, the fewer looks it takes to see that an id is not there. */
static mk_code numbering_init(numbering *map, mk_arena *arena, size_t ids_max, size_t spread, mk_err *err)
{
    size_t slots = 16;
    unsigned bits = 4;
    for (; slots / spread < ids_max; slots *= 2)
        bits++;
    *map = (numbering){.factor = mk_entropy64() | 1, .mask = slots - 1, .shift = 64 - bits};
    map->slots = mk_motif__get(arena, slots, sizeof *map->slots);
    map->ids = mk_motif__get(arena, ids_max, sizeof *map->ids);
    if (map->slots == NULL || map->ids == NULL)
        return mk_fail_nomem(err);
    memset(map->slots, 0xFF, slots * sizeof *map->slots);
    return MK_OK;
}

/* The slot of `id`, or the free one where it belongs. */
static inline slot *numbering_at(const numbering *map, uint32_t id)
{
    size_t at = (id * map->factor) >> map->shift;
    while (map->slots[at].id != id && map->slots[at].id != MK_NO_ID)
        at = (at + 1) & map->mask;
    return &map->slots[at];
}

static uint32_t numbering_put(numbering *map, uint32_t id)
{
    slot *s = numbering_at(map, id);
    if (s->id == MK_NO_ID) {
        *s = (slot){.id = id, .number = map->count};
        map->ids[map->count++] = id;
    }
    return s->number;
}

/* The number of `id`, MK_NO_ID when it has none. */
static uint32_t numbering_find(const numbering *map, uint32_t id)
{
    const slot *s = numbering_at(map, id);
    return s->id == MK_NO_ID ? MK_NO_ID : s->number;
}

/* ---- columns ---- */

static mk_code columns_init(mk_motif_events *events, mk_arena *arena, size_t count, mk_err *err)
{
    events->vt_s = mk_motif__get(arena, count, sizeof *events->vt_s);
    events->src = mk_motif__get(arena, count, sizeof *events->src);
    events->dst = mk_motif__get(arena, count, sizeof *events->dst);
    events->limit = mk_motif__get(arena, count, sizeof *events->limit);
    events->rel_type = mk_motif__get(arena, count, sizeof *events->rel_type);
    events->part = mk_motif__get(arena, count, sizeof *events->part);
    events->row = mk_motif__get(arena, count, sizeof *events->row);
    const bool all = events->vt_s && events->src && events->dst && events->limit &&
                     events->rel_type && events->part && events->row;
    return all ? MK_OK : mk_fail_nomem(err);
}

static event event_at(const mk_motif_events *events, uint32_t i)
{
    return (event){.vt_s = events->vt_s[i], .src = events->src[i], .dst = events->dst[i],
                   .rel_type = events->rel_type[i], .part = events->part[i],
                   .row = events->row[i]};
}

static void event_put(mk_motif_events *events, uint32_t i, const event *e)
{
    events->vt_s[i] = e->vt_s;
    events->src[i] = e->src;
    events->dst[i] = e->dst;
    events->rel_type[i] = e->rel_type;
    events->part[i] = e->part;
    events->row[i] = e->row;
}

/* ---- everything in the window ---- */

static mk_edge_filter window_of(const mk_motif_args *args)
{
    mk_edge_filter filter = mk_edge_filter_all;
    filter.match = MK_MATCH_STARTS;
    filter.vt_lo = args->t_a.us;
    filter.vt_hi = args->t_b.us;
    filter.without = MK_WITHOUT_ENDS;
    return filter;
}

static mk_code fail_too_many(uint64_t count, mk_err *err)
{
    mk_fail(err, MK_E_INVALID_ARG, "%llu events in the window, and without a node_filter at most %u",
            (unsigned long long)count, MK_MOTIF_EVENTS_MAX);
    mk_err_path(err, "window");
    mk_err_hint(err, "ask for a shorter window, or name the nodes in node_filter");
    return MK_E_INVALID_ARG;
}

static void take_block(mk_motif_events *events, const mk_edge_block *block)
{
    const uint32_t at = events->count, n = block->count;
    memcpy(events->vt_s + at, block->vt_s, n * sizeof *block->vt_s);
    memcpy(events->src + at, block->src, n * sizeof *block->src);
    memcpy(events->dst + at, block->dst, n * sizeof *block->dst);
    memcpy(events->rel_type + at, block->rel_type, n * sizeof *block->rel_type);
    memcpy(events->row + at, block->row, n * sizeof *block->row);
    for (uint32_t i = 0; i < n; i++)
        events->part[at + i] = block->part;
    events->count += n;
}

static void drop_self_loops(mk_motif_events *events)
{
    uint32_t kept = 0;
    while (kept < events->count && events->src[kept] != events->dst[kept])
        kept++;
    for (uint32_t i = kept; i < events->count; i++) {
        if (events->src[i] == events->dst[i])
            continue;
        const event e = event_at(events, i);
        event_put(events, kept++, &e);
    }
    events->count = kept;
}

/* Arrays by node should not be larger than the events when those are few. */
static mk_code number_nodes(mk_motif_events *events, mk_arena *arena, uint32_t entities, mk_err *err)
{
    events->nodes = entities;
    if (events->count >= entities / 4)
        return MK_OK;
    numbering map;
    const mk_code rc = numbering_init(&map, arena, (size_t)events->count * 2, 2, err);
    if (rc != MK_OK)
        return rc;
    for (uint32_t i = 0; i < events->count; i++) {
        events->src[i] = numbering_put(&map, events->src[i]);
        events->dst[i] = numbering_put(&map, events->dst[i]);
    }
    events->nodes = map.count;
    events->ids = map.ids;
    return MK_OK;
}

static mk_code gather_window(mk_view *view, mk_arena *arena, const mk_motif_args *args,
                             mk_guard *guard, mk_motif_events *out, mk_err *err)
{
    const int64_t bounds[2] = {args->t_a.us, args->t_b.us};
    const mk_edge_filter filter = window_of(args);
    const mk_edge_block *block;
    mk_edge_stream *stream;
    uint64_t before[2];
    mk_code rc;

    MK_TRY(rc, mk_view_count_before(view, false, bounds, 2, before, err));
    out->total = before[1] - before[0];
    if (out->total > MK_MOTIF_EVENTS_MAX)
        return fail_too_many(out->total, err);
    MK_TRY(rc, columns_init(out, arena, out->total, err));
    MK_TRY(rc, mk_view_stream(view, arena, &filter, true, &stream, err));
    for (;;) {
        MK_TRY(rc, mk_edge_stream_next(stream, &block, err));
        if (block == NULL)
            break;
        if (block->count > out->total - out->count) {
            rc = mk_fail(err, MK_E_INTERNAL, "the view's count and its stream differ");
            goto out;
        }
        take_block(out, block);
        if (!mk_guard_done(guard, block->count))
            return mk_guard_result(guard, err);
    }
    drop_self_loops(out);
    rc = number_nodes(out, arena, mk_view_entity_count(view), err);

out:
    return rc;
}

/* ---- between named nodes ---- */

typedef struct collecting {
    mk_arena *arena;
    const numbering *map;
    event *list;
    size_t count, cap;
    uint64_t total;
} collecting;

/* Keeps the edges with both ends named; which those are cannot be foretold, so nothing branches on it. */
static mk_code take_named(collecting *c, const mk_edge_block *block, mk_err *err)
{
    const mk_code rc = mk_op_grow(c->arena, (void **)&c->list, &c->cap, c->count + block->count,
                                  sizeof *c->list, err);
    for (uint32_t i = 0; rc == MK_OK && i < block->count; i++) {
        const uint32_t src = numbering_find(c->map, block->src[i]);
        const uint32_t dst = numbering_find(c->map, block->dst[i]);
        const bool named = (src != MK_NO_ID) & (dst != MK_NO_ID);
        c->list[c->count] = (event){.vt_s = block->vt_s[i], .src = src, .dst = dst,
                                    .rel_type = block->rel_type[i], .part = block->part,
                                    .row = block->row[i]};
        c->total += named;
        c->count += named & (src != dst);
    }
    return rc;
}

/* A row that a list leads to costs about what five rows of the whole stream cost. */
#define LISTS_PAY(named, entities) ((named) <= (entities) / 5)

static mk_code collect(mk_view *view, const mk_motif_args *args, mk_guard *guard, collecting *c, mk_err *err)
{
    mk_edge_filter filter = window_of(args);
    const mk_edge_block *block;
    mk_edge_stream *stream;
    mk_code rc;
    if (LISTS_PAY(c->map->count, mk_view_entity_count(view))) {
        filter.srcs = c->map->ids;
        filter.src_count = c->map->count;
    }
    MK_TRY(rc, mk_view_stream(view, c->arena, &filter, true, &stream, err));
    for (;;) {
        MK_TRY(rc, mk_edge_stream_next(stream, &block, err));
        if (block == NULL)
            break;
        MK_TRY(rc, take_named(c, block, err));
        if (!mk_guard_done(guard, block->count))
            return mk_guard_result(guard, err);
    }
out:
    return rc;
}

static mk_code gather_named(mk_view *view, mk_arena *arena, const mk_motif_args *args,
                            mk_guard *guard, mk_motif_events *out, mk_err *err)
{
    numbering map;
    collecting c = {.arena = arena, .map = &map};
    mk_code rc;

    MK_TRY(rc, numbering_init(&map, arena, args->node_count, 8, err));
    for (size_t i = 0; i < args->node_count; i++)
        numbering_put(&map, args->nodes[i]);
    MK_TRY(rc, collect(view, args, guard, &c, err));
    if (c.count >= UINT32_MAX / 2) {
        rc = mk_fail(err, MK_E_LIMIT, "more events than can be numbered");
        goto out;
    }
    MK_TRY(rc, columns_init(out, arena, c.count, err));
    out->count = (uint32_t)c.count;
    for (uint32_t i = 0; i < out->count; i++)
        event_put(out, i, &c.list[i]);
    out->total = c.total;
    out->nodes = map.count;
    out->ids = map.ids;

out:
    return rc;
}

/* ---- events at one time ---- */

typedef struct tied {
    char eid[24];
    char vid[24]; /* only where eids are equal */
    event e;
} tied;

typedef struct ordering {
    mk_view *view;
    mk_motif_events *events;
    mk_guard *guard;
    bool all;              /* every event of a group is to be sorted */
    bool any_shared;       /* not only head to tail: two tails or two heads at one node matter too */
    uint32_t *out, *in;    /* by node: 1 + place of the last event seen that leaves or enters it */
    uint8_t *wanted;       /* by place: needs its ids */
    tied *list;
    size_t cap;
    mk_arena *arena;
} ordering;

/* The same version written twice by one batch stands in the order of the log. */
static int by_place(const event *a, const event *b)
{
    if (a->part != b->part)
        return a->part < b->part ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row;
}

static int by_eid(const void *x, const void *y)
{
    const tied *a = x, *b = y;
    const int c = memcmp(a->eid, b->eid, sizeof a->eid);
    return c != 0 ? c : by_place(&a->e, &b->e);
}

static int by_vid(const void *x, const void *y)
{
    const tied *a = x, *b = y;
    const int c = memcmp(a->vid, b->vid, sizeof a->vid);
    return c != 0 ? c : by_place(&a->e, &b->e);
}

/* Marks event i when it meets another one of the group that begins at `from`. */
static void meet(ordering *o, uint32_t from, uint32_t i)
{
    const uint32_t src = o->events->src[i], dst = o->events->dst[i];
    const uint32_t met[4] = {o->in[src], o->out[dst], o->any_shared ? o->out[src] : 0,
                             o->any_shared ? o->in[dst] : 0};
    for (int k = 0; k < 4; k++)
        if (met[k] > from && met[k] != i + 1)
            o->wanted[i] = 1;
    o->out[src] = o->in[dst] = i + 1;
}

/* Marks those events of a group whose order can matter. Only the last event at a node is remembered, so it
 * takes a second pass to see for all what comes behind them. */
static uint32_t mark_wanted(ordering *o, uint32_t from, uint32_t to)
{
    uint32_t count = 0;
    if (o->all) {
        memset(o->wanted + from, 1, to - from);
        return to - from;
    }
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = from; i < to; i++)
            meet(o, from, i);
    for (uint32_t i = from; i < to; i++)
        count += o->wanted[i];
    return count;
}

static mk_edge_ref edge_of(const mk_motif_events *events, const event *e)
{
    const uint32_t *ids = events->ids;
    return (mk_edge_ref){.vt_s = e->vt_s,
                         .src = ids != NULL ? ids[e->src] : e->src,
                         .dst = ids != NULL ? ids[e->dst] : e->dst,
                         .rel_type = e->rel_type,
                         .part = e->part,
                         .row = e->row};
}

mk_edge_ref mk_motif_edge(const mk_motif_events *events, uint32_t place)
{
    const event e = event_at(events, place);
    return edge_of(events, &e);
}

/* Versions of one edge that start together come only from repeated ingests (oddity O-24): those are put into
 * the order of their vids. `list` is sorted by eid. */
static mk_code sort_versions(const ordering *o, tied *list, uint32_t count, mk_err *err)
{
    for (uint32_t from = 0, to; from < count; from = to) {
        to = from + 1;
        while (to < count && memcmp(list[from].eid, list[to].eid, sizeof list->eid) == 0)
            to++;
        for (uint32_t i = from; i < to && to - from > 1; i++) {
            const mk_edge_ref ref = edge_of(o->events, &list[i].e);
            const mk_code rc = mk_view_edge_ids(o->view, &ref, list[i].eid, list[i].vid, err);
            if (rc != MK_OK)
                return rc;
        }
        if (to - from > 1)
            qsort(list + from, to - from, sizeof *list, by_vid);
    }
    return MK_OK;
}

/* Events [from, to) start at one time: the marked ones come first, sorted. */
static mk_code order_group(ordering *o, uint32_t from, uint32_t to, mk_err *err)
{
    const uint32_t count = mark_wanted(o, from, to);
    uint32_t sorted = 0, rest = count;
    if (count == 0)
        return MK_OK;
    mk_code rc;
    MK_TRY(rc, mk_op_grow(o->arena, (void **)&o->list, &o->cap, to - from, sizeof *o->list, err));
    for (uint32_t i = from; i < to; i++) {
        tied *t = &o->list[o->wanted[i] ? sorted++ : rest++];
        t->e = event_at(o->events, i);
        if (!o->wanted[i])
            continue;
        const mk_edge_ref ref = edge_of(o->events, &t->e);
        MK_TRY(rc, mk_view_edge_eid(o->view, &ref, t->eid, err));
        if (!mk_guard_ok(o->guard))
            return mk_guard_result(o->guard, err);
    }
    qsort(o->list, count, sizeof *o->list, by_eid);
    MK_TRY(rc, sort_versions(o, o->list, count, err));
    for (uint32_t i = from; i < to; i++)
        event_put(o->events, i, &o->list[i - from].e);

out:
    return rc;
}

static mk_code ordering_init(ordering *o, mk_arena *arena, mk_err *err)
{
    const size_t nodes = (size_t)o->events->nodes * sizeof *o->out;
    o->arena = arena;
    o->out = mk_arena_get0(arena, nodes);
    o->in = mk_arena_get0(arena, nodes);
    o->wanted = mk_arena_get0(arena, o->events->count);
    return o->out && o->in && o->wanted ? MK_OK : mk_fail_nomem(err);
}

/* Whether the order of events at one time decides what is an instance: it always does for lists. Of a
 * cycle, a ping-pong or a path every two edges in a row meet head to tail, so others never change places
 * with effect; three edges out of a node are a star in any order. */
static mk_code order_ties(mk_view *view, mk_arena *arena, mk_motif motif, bool listed,
                          mk_guard *guard, mk_motif_events *events, mk_err *err)
{
    const mk_arena_mark mark = mk_arena_save(arena);
    ordering o = {.view = view, .events = events, .guard = guard, .all = listed,
                  .any_shared = motif == MK_MOTIF_TRIANGLE_ACYCLIC_1};
    mk_code rc = MK_OK;
    if (!listed && motif == MK_MOTIF_STAR_OUT_3)
        return MK_OK;
    const int64_t *vt_s = events->vt_s;
    const uint32_t count = events->count;
    for (uint32_t from = 0, to; from < count; from = to) {
        to = from + 1;
        if (to == count || vt_s[to] != vt_s[from])
            continue;
        while (to < count && vt_s[to] == vt_s[from])
            to++;
        if (o.wanted == NULL)
            MK_TRY(rc, ordering_init(&o, arena, err));
        MK_TRY(rc, order_group(&o, from, to, err));
    }

out:
    mk_arena_rewind(arena, mark);
    return rc;
}

/* ---- all of it ---- */

/* Event `at` waits for its limit; `limit` is the first place not known to be inside it. */
typedef struct lane {
    uint32_t at, limit;
} lane;

/* One step of a merge of the starts with the starts less delta: either the event at `limit` is inside, or it is
 * where the limit lies. Nobody can foretell which, so both are done and one counts. Starts lie in the window,
 * which is in 0 to 2^62. */
static inline void lane_step(lane *l, const int64_t *t, uint32_t *limits, int64_t delta)
{
    const uint32_t inside = t[l->limit] - t[l->at] <= delta;
    limits[l->at] = l->limit;
    l->limit += inside;
    l->at += !inside;
}

#define LANES 4u /* stretches worked on in turn: each step waits for what the one before it has read */

static void set_limits(mk_motif_events *events, int64_t delta)
{
    const int64_t *t = events->vt_s;
    uint32_t *restrict limits = events->limit;
    const uint32_t count = events->count, length = count / LANES;
    lane lanes[LANES];
    for (uint32_t l = 0; l < LANES; l++)
        lanes[l] = (lane){l * length, l * length}; /* an event is inside its own limit */
    /* A step moves a lane on by one place, so none can end before so many are done. What is inside for an event
     * is inside for all between the two, so no lane's limit passes that of the last. */
    for (bool going = length > 0; going;) {
        uint32_t steps = count - lanes[LANES - 1].limit;
        for (uint32_t l = 0; l < LANES; l++) {
            const uint32_t left = (l + 1) * length - lanes[l].at;
            steps = left < steps ? left : steps;
        }
        for (uint32_t s = 0; s < steps; s++)
            for (uint32_t l = 0; l < LANES; l++)
                lane_step(&lanes[l], t, limits, delta);
        going = steps > 0;
    }
    for (uint32_t l = 0; l < LANES; l++) {
        const uint32_t end = l + 1 < LANES ? (l + 1) * length : count;
        while (lanes[l].at < end && lanes[l].limit < count)
            lane_step(&lanes[l], t, limits, delta);
        for (; lanes[l].at < end; lanes[l].at++)
            limits[lanes[l].at] = count;
    }
}

mk_code mk_motif_gather(mk_view *view, mk_arena *arena, const mk_motif_args *args, bool listed,
                        mk_guard *guard, mk_motif_events *out, mk_err *err)
{
    *out = (mk_motif_events){0};
    mk_code rc = args->filtered ? gather_named(view, arena, args, guard, out, err)
                                : gather_window(view, arena, args, guard, out, err);
    if (rc == MK_OK)
        rc = order_ties(view, arena, args->motif, listed, guard, out, err);
    if (rc == MK_OK)
        set_limits(out, args->delta);
    return rc;
}

/* arrival_bounded.c — arrivals when nobody may wait long. See arrival.h. Layer: op.
 *
 * With bounded waits an earlier arrival can forbid a later arc, so every (node, arrival) that can be
 * reached is a state of its own. They are kept in a hash set whose entries also form the queue; the order
 * of visits does not matter to the result, nor to how many there are. */
#include "base/hash.h"
#include "op/arrival.h"

typedef struct state {
    int64_t t;
    uint32_t id;
} state;

typedef struct search {
    mk_view *view;
    mk_arena *arena;
    const mk_arrival_args *args;
    mk_guard *guard;
    state *states; /* in the order found; the first is the start */
    size_t count, cap, at;
    uint32_t *slots; /* index + 1 */
    size_t mask;
    uint64_t seed;
    uint32_t visits;
    mk_code rc;
    mk_err *err;
} search;

static uint64_t hash_of(const search *s, state x)
{
    return mk_mix64(s->seed ^ mk_mix64((uint64_t)x.t) ^ x.id);
}

static uint32_t *slot_of(const search *s, state x)
{
    size_t at = hash_of(s, x) & s->mask;
    while (s->slots[at] != 0 &&
           (s->states[s->slots[at] - 1].t != x.t || s->states[s->slots[at] - 1].id != x.id))
        at = (at + 1) & s->mask;
    return &s->slots[at];
}

static mk_code make_room(search *s)
{
    if (s->slots != NULL && (s->count + 1) * 4 <= (s->mask + 1) * 3)
        return MK_OK;
    const size_t count = s->slots != NULL ? (s->mask + 1) * 2 : 256;
    s->slots = mk_arena_get0(s->arena, count * sizeof *s->slots);
    if (s->slots == NULL)
        return mk_fail_nomem(s->err);
    s->mask = count - 1;
    for (size_t i = 0; i < s->count; i++)
        *slot_of(s, s->states[i]) = (uint32_t)i + 1;
    return MK_OK;
}

static mk_code add_state(search *s, state x)
{
    mk_code rc;
    MK_TRY(rc, make_room(s));
    uint32_t *slot = slot_of(s, x);
    if (*slot != 0)
        goto out;
    MK_TRY(rc, mk_op_grow(s->arena, (void **)&s->states, &s->cap, s->count + 1, sizeof *s->states,
                          s->err));
    s->states[s->count] = x;
    *slot = (uint32_t)++s->count;
out:
    return rc;
}

static void take(search *s, uint32_t to, const mk_edge_ref *ref)
{
    const state x = s->states[s->at];
    const int64_t t = x.t > ref->vt_s ? x.t : ref->vt_s;
    if (t < ref->vt_e && t < s->args->t_b && (s->at == 0 || t - x.t <= s->args->wait_max))
        s->rc = add_state(s, (state){t, to});
}

/* Every arc of the node is a visit, whether it can be taken or not; in both directions a self-loop is two. */
static bool meet_arc(void *ctx, const mk_edge_ref *ref)
{
    search *s = ctx;
    const uint32_t here = s->states[s->at].id;
    const bool loop = ref->src == ref->dst;
    s->visits += s->args->arcs == MK_ARCS_BOTH && loop ? 2 : 1;
    if (s->visits > MK_VISITS_MAX) {
        s->rc = mk_fail_visits("drop or relax delta_max_wait", s->err);
        return false;
    }
    take(s, ref->src == here ? ref->dst : ref->src, ref);
    return s->rc == MK_OK && mk_guard_ok(s->guard);
}

static mk_code visit(search *s)
{
    static const unsigned sides[] = {
        [MK_ARCS_OUT] = MK_SIDE_OUT, [MK_ARCS_IN] = MK_SIDE_IN, [MK_ARCS_BOTH] = 0};
    const mk_edge_filter filter = {
        .vt_lo = s->args->t_a, .vt_hi = s->args->t_b, .sides = sides[s->args->arcs]};
    const mk_code rc =
        mk_view_edges_of(s->view, s->states[s->at].id, &filter, meet_arc, s, s->err);
    return s->rc != MK_OK ? s->rc : mk_guard_or(s->guard, rc, s->err);
}

/* The earliest of each node's states. */
static mk_code collect(search *s, mk_reached *out)
{
    const uint32_t entities = mk_view_entity_count(s->view);
    int64_t *earliest = mk_arena_get(s->arena, (size_t)entities * sizeof *earliest);
    out->list = mk_arena_get(s->arena, s->count * sizeof *out->list);
    out->count = 0;
    if (earliest == NULL || out->list == NULL)
        return mk_fail_nomem(s->err);
    for (uint32_t id = 0; id < entities; id++)
        earliest[id] = MK_NEVER;
    for (size_t i = 0; i < s->count; i++)
        if (s->states[i].t < earliest[s->states[i].id])
            earliest[s->states[i].id] = s->states[i].t;
    earliest[s->args->src] = MK_NEVER;
    for (size_t i = 0; i < s->count; i++) {
        const uint32_t id = s->states[i].id;
        if (earliest[id] != MK_NEVER)
            out->list[out->count++] = (mk_ranked){.rank = earliest[id], .id = id};
        earliest[id] = MK_NEVER;
    }
    return MK_OK;
}

mk_code mk_arrival_bounded(mk_view *view, mk_arena *arena, const mk_arrival_args *args,
                           mk_guard *guard, mk_reached *out, mk_err *err)
{
    search s = {.view = view, .arena = arena, .args = args, .guard = guard, .seed = mk_entropy64(),
                .rc = MK_OK, .err = err};
    mk_code rc = add_state(&s, (state){args->t_a, args->src});
    for (; rc == MK_OK && s.at < s.count; s.at++)
        rc = visit(&s);
    return rc == MK_OK ? collect(&s, out) : rc;
}

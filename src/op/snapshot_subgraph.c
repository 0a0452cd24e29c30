/* snapshot_subgraph.c — the k-hop neighbourhood at one instant. Layer: op.
 *
 * Breadth-first search over an array of nodes in the order they were reached, beside a hash map from
 * dense id to place in it (or to "not valid then", so that nobody is looked up twice). When the edge
 * list of the i-th node is read, an edge whose other end stands at i or behind is new, and one whose
 * other end stands before i was kept when that end was read: each list is read once, and each edge
 * kept once, hubs included. */
#include "op/snapshot_subgraph.h"

#include "base/hash.h"
#include "op/operators.h"

/* ---- dense id -> place ---- */

#define PLACE_INVALID (UINT32_MAX - 1) /* known, but no version of it is valid at the instant */

typedef struct slot {
    uint32_t id; /* MK_NO_ID: free */
    uint32_t place;
} slot;

typedef struct places {
    mk_arena *arena;
    uint64_t seed;
    slot *slots;
    size_t slot_count; /* power of two, at most three quarters full */
    size_t used;
} places;

static mk_code places_resize(places *map, size_t slot_count, mk_err *err)
{
    size_t size;
    slot *slots =
        mk_size_mul(slot_count, sizeof *slots, &size) ? mk_arena_get(map->arena, size) : NULL;
    if (slots == NULL)
        return mk_fail_nomem(err);
    memset(slots, 0xFF, size);
    for (size_t i = 0; i < map->slot_count; i++) {
        if (map->slots[i].id == MK_NO_ID)
            continue;
        size_t at = mk_mix64(map->slots[i].id ^ map->seed) & (slot_count - 1);
        while (slots[at].id != MK_NO_ID)
            at = (at + 1) & (slot_count - 1);
        slots[at] = map->slots[i];
    }
    map->slots = slots;
    map->slot_count = slot_count;
    return MK_OK;
}

/* The slot of `id`, or the free one where it belongs. */
static slot *places_at(const places *map, uint32_t id)
{
    size_t at = mk_mix64(id ^ map->seed) & (map->slot_count - 1);
    while (map->slots[at].id != MK_NO_ID && map->slots[at].id != id)
        at = (at + 1) & (map->slot_count - 1);
    return &map->slots[at];
}

static mk_code places_put(places *map, uint32_t id, uint32_t place, mk_err *err)
{
    if ((map->used + 1) * 4 > map->slot_count * 3) {
        const mk_code rc = places_resize(map, map->slot_count * 2, err);
        if (rc != MK_OK)
            return rc;
    }
    *places_at(map, id) = (slot){.id = id, .place = place};
    map->used++;
    return MK_OK;
}

/* ---- the search ---- */

typedef struct search {
    mk_view *view;
    mk_arena *arena;
    const mk_ball_args *args;
    mk_guard *guard;
    places map;
    mk_ball *ball;
    size_t node_cap, edge_cap;
    uint32_t at;   /* place of the node whose edges are being read */
    int64_t level; /* its level */
    mk_code rc;
    mk_err *err;
} search;

/* The place of `id`; a node met for the first time gets the next one, at `level`, if a version of it
 * is valid at the instant. */
static mk_code reach(search *s, uint32_t id, int64_t level, uint32_t *place)
{
    const slot *known = places_at(&s->map, id);
    if (known->id == id) {
        *place = known->place;
        return MK_OK;
    }
    mk_node_ref ref;
    bool found = false;
    mk_code rc = MK_OK;
    if (mk_view_entity_visible(s->view, id))
        rc = mk_view_node_at(s->view, id, s->args->t, &ref, &found, s->err);
    if (rc != MK_OK)
        return rc;
    mk_ball *ball = s->ball;
    *place = found ? (uint32_t)ball->node_count : PLACE_INVALID;
    if (found) {
        rc = mk_op_grow(s->arena, (void **)&ball->nodes, &s->node_cap, ball->node_count + 1,
                        sizeof *ball->nodes, s->err);
        if (rc != MK_OK)
            return rc;
        ball->nodes[ball->node_count++] = (mk_ranked){
            .uid = mk_view_uid(s->view, id), .rank = level, .id = id, .code = ref.label};
    }
    return places_put(&s->map, id, *place, s->err);
}

static mk_code keep_edge(search *s, const mk_edge_ref *ref)
{
    mk_ball *ball = s->ball;
    const mk_code rc = mk_op_grow(s->arena, (void **)&ball->edges, &s->edge_cap,
                                  ball->edge_count + 1, sizeof *ball->edges, s->err);
    if (rc == MK_OK)
        ball->edges[ball->edge_count++] = *ref;
    return rc;
}

static bool meet_edge(void *ctx, const mk_edge_ref *ref)
{
    search *s = ctx;
    const uint32_t here = s->ball->nodes[s->at].id;
    const uint32_t other = ref->src == here ? ref->dst : ref->src;
    uint32_t place = PLACE_INVALID;
    if (!mk_guard_ok(s->guard))
        return false;
    if (s->level < s->args->hops) {
        s->rc = reach(s, other, s->level + 1, &place);
    } else {
        const slot *known = places_at(&s->map, other);
        if (known->id == other)
            place = known->place;
    }
    if (s->rc == MK_OK && place != PLACE_INVALID && place >= s->at)
        s->rc = keep_edge(s, ref);
    return s->rc == MK_OK;
}

static mk_code expand(search *s, const mk_edge_filter *filter)
{
    for (s->at = 0; s->at < s->ball->node_count; s->at++) {
        s->level = s->ball->nodes[s->at].rank;
        const mk_code rc = mk_view_edges_of(s->view, s->ball->nodes[s->at].id, filter, meet_edge, s,
                                            s->err);
        if (s->rc != MK_OK)
            return s->rc;
        if (rc != MK_OK)
            return mk_guard_or(s->guard, rc, s->err);
    }
    return MK_OK;
}

mk_code mk_ball_grow(mk_view *view, mk_arena *arena, const mk_ball_args *args, mk_guard *guard,
                     mk_ball *out, mk_err *err)
{
    *out = (mk_ball){0};
    search s = {.view = view, .arena = arena, .args = args, .guard = guard, .ball = out,
                .map = {.arena = arena, .seed = mk_entropy64()}, .rc = MK_OK, .err = err};
    mk_edge_filter filter = args->filter;
    filter.vt_lo = args->t.us;
    filter.vt_hi = args->t.us + 1;

    mk_code rc = places_resize(&s.map, 256, err);
    for (size_t i = 0; rc == MK_OK && i < args->seed_count; i++) {
        uint32_t place;
        rc = reach(&s, args->seeds[i], 0, &place);
    }
    return rc == MK_OK ? expand(&s, &filter) : rc;
}

/* ---- glue ---- */

static mk_code read_seeds(const mk_run *run, mk_ball_args *args, mk_err *err)
{
    const mk_json *list = mk_json_get(run->args, "seeds");
    uint32_t *seeds = mk_arena_get(run->arena, list->n * sizeof *seeds); /* at most 10,000 */
    if (seeds == NULL)
        return mk_fail_nomem(err);
    for (size_t i = 0; i < list->n; i++) {
        seeds[i] = mk_view_entity(run->view, list->items[i].text);
        if (seeds[i] == MK_NO_ID)
            return mk_fail_uid(run, list->items[i].text, "seeds", (int64_t)i, err);
    }
    args->seeds = seeds;
    args->seed_count = list->n;
    return MK_OK;
}

/* Nodes have no cursor: the first `limit`, or in a whole result all of them. */
static mk_code write_nodes(mk_run *run, const mk_ball *ball, bool *cut, mk_err *err)
{
    const mk_page head = {.limit = run->page.limit, .whole = run->page.whole};
    mk_span span;
    const mk_code rc = mk_page_span(&head, ball->node_count, &span, err);
    if (rc != MK_OK)
        return rc;
    mk_buf *text = &run->out->text;
    mk_payload_list(run->out, "nodes");
    for (size_t i = 0; i < span.end; i++) {
        mk_payload_item(run->out);
        mk_buf_z(text, "{\"hop\":");
        mk_buf_i64(text, ball->nodes[i].rank);
        mk_buf_z(text, ",\"label\":");
        mk_canon_string(text, mk_view_name(run->view, ball->nodes[i].code));
        mk_buf_z(text, ",\"uid\":");
        mk_canon_string(text, ball->nodes[i].uid);
        mk_buf_c(text, '}');
    }
    mk_payload_list_end(run->out);
    *cut = span.truncated;
    mk_payload_int(run->out, "nodes_total", (int64_t)span.total);
    mk_payload_bool(run->out, "nodes_truncated", *cut);
    if (*cut)
        mk_payload_gap(run->out, "nodes", MK_GAP_SUBLIST, span.end, span.total);
    return MK_OK;
}

static mk_code write_ball(mk_run *run, const mk_ball *ball, mk_err *err)
{
    mk_span span;
    bool nodes_cut;
    mk_code rc;

    MK_TRY(rc, mk_page_span(&run->page, ball->edge_count, &span, err));
    MK_TRY(rc, mk_page_first_edges(run->view, run->arena, ball->edges, ball->edge_count, span.end,
                                   err));
    mk_payload_cursor(run->out, &span);
    MK_TRY(rc, write_nodes(run, ball, &nodes_cut, err));
    mk_payload_list(run->out, "rows");
    for (size_t i = span.start; i < span.end; i++) {
        mk_payload_item(run->out);
        MK_TRY(rc, mk_payload_edge_row(run->out, run->view, &ball->edges[i], err));
    }
    mk_payload_list_end(run->out);
    mk_payload_int(run->out, "rows_total", (int64_t)span.total);
    mk_payload_bool(run->out, "truncated", span.truncated || nodes_cut);
    mk_payload_page_gaps(run->out, "rows", &span);

out:
    return rc;
}

static mk_code run_snapshot_subgraph(mk_run *run, mk_err *err)
{
    mk_ball_args args = {
        .hops = mk_arg_i64(run->args, "hops"),
        .t = {mk_arg_i64(run->args, "t_valid")},
        .filter = mk_edge_filter_all,
    };
    mk_ball ball;
    mk_code rc;

    MK_TRY(rc, read_seeds(run, &args, err));
    MK_TRY(rc, mk_arg_rel_types(run, &args.filter, err));
    MK_TRY(rc, mk_ball_grow(run->view, run->arena, &args, run->guard, &ball, err));
    MK_TRY(rc, mk_ranked_sort(run->arena, ball.nodes, ball.node_count, err));
    MK_TRY(rc, write_ball(run, &ball, err));

out:
    return rc;
}

static void cost_snapshot_subgraph(const mk_cost_input *in, mk_cost *out)
{
    out->rows_scanned_est = mk_cost_scan(in);
    mk_cost_time(in, 115.0, out);
}

static const mk_arg args_snapshot_subgraph[] = {
    {.name = "seeds",
     .type = MK_ARG_LIST,
     .required = true,
     .min = 1,
     .max = 10000,
     .item = &mk_arg_uid,
     .doc = "Uids to start from."},
    {.name = "hops",
     .type = MK_ARG_INTEGER,
     .max = 3,
     .default_json = "1",
     .doc = "How many edges away from a seed to go."},
    MK_ARG_TIME("t_valid", "The instant, microseconds or ISO 8601."),
    MK_ARG_AS_OF,
    MK_ARG_REL_TYPES,
    MK_ARG_LIMIT,
    MK_ARG_CURSOR,
    {0},
};

static const mk_field node_members[] = {
    {.name = "uid", .type = MK_FIELD_STRING, .doc = "The entity."},
    {.name = "label", .type = MK_FIELD_STRING, .doc = "Label of the version valid at t_valid."},
    {.name = "hop", .type = MK_FIELD_INTEGER, .doc = "Distance from the nearest seed."},
    {0},
};
static const mk_field node_row = {
    .name = "node", .type = MK_FIELD_OBJECT, .members = node_members};

static const mk_field fields_snapshot_subgraph[] = {
    MK_FIELD_ROWS(&mk_field_edge_row, "Edges with both ends among the nodes, by (vt_s, vid)."),
    MK_FIELD_ROWS_TOTAL,
    MK_FIELD_TRUNCATED("Whether rows follow this page or nodes were cut."),
    MK_FIELD_CURSOR,
    {.name = "nodes",
     .type = MK_FIELD_LIST,
     .item = &node_row,
     .doc = "The first `limit` nodes by (hop, uid), whatever the page."},
    {.name = "nodes_total", .type = MK_FIELD_INTEGER, .doc = "How many nodes there are."},
    {.name = "nodes_truncated", .type = MK_FIELD_BOOLEAN, .doc = "Whether nodes were cut."},
    {0},
};

const mk_operator mk_operator_snapshot_subgraph = {
    .name = "snapshot_subgraph",
    .group = "graph",
    .summary = "what surrounds some entities at one instant, up to three hops away",
    .help = "Nodes and edges are those valid at t_valid; direction does not matter, and the search "
            "passes only through entities that are themselves valid then. Seeds that are not valid "
            "at t_valid are left out without an error.",
    .example = "{\"hops\":1,\"seeds\":[\"a\"],\"t_valid\":16}",
    .args = args_snapshot_subgraph,
    .fields = fields_snapshot_subgraph,
    .cost = cost_snapshot_subgraph,
    .run = run_snapshot_subgraph,
};

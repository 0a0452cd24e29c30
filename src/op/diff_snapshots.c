/* diff_snapshots.c — what differs between two instants. Layer: op.
 *
 * Only versions that begin or end between the two can make a difference, and those are what is read. They
 * are gathered by identity; then the lists of the sources that occur are read once more for versions that
 * hold at both instants, because bulk loads may give one identity several versions at a time, of which
 * the last in scan order stands for it (O-24). The rest is a table of identities with a version on either
 * side. Eids cost a hash each, so lists are selected by a heap of the page's size.
 * Source: operators spec, 7.3; O-16. */
#include "op/diff_snapshots.h"

#include "base/hash.h"
#include "op/operators.h"
#include "op/value.h"

/* ---- edges by identity ---- */

/* Open addressing from a hash to places in an array that grows. A slot has the hash's upper half beside the
 * place, so that other identities are passed over, and the table grows, without a look at the array. */
typedef struct table {
    uint64_t *slots; /* tag and place + 1; 0: free */
    size_t mask, used;
} table;

typedef struct gathering {
    mk_view *view;
    mk_arena *arena;
    mk_guard *guard;
    int64_t lo, hi; /* the earlier and the later instant */
    uint64_t seed;
    const uint8_t *allowed; /* by dense id; NULL: everything is in scope */
    mk_edge_change *edges;
    size_t edge_count, edge_cap;
    table edge_table;
    mk_node_change *nodes;
    size_t node_count, node_cap;
    table node_table;
    mk_code rc;
    mk_err *err;
} gathering;

static bool in_scope(const gathering *d, uint32_t id)
{
    return d->allowed == NULL || d->allowed[id];
}

static uint64_t edge_hash(const gathering *d, uint32_t src, uint32_t dst, uint32_t rel, int64_t disc)
{
    uint64_t h = mk_mix64(d->seed ^ ((uint64_t)src << 32 | dst));
    return mk_mix64(h ^ (uint64_t)disc ^ ((uint64_t)rel << 40));
}

static uint32_t slot_place(uint64_t slot) { return (uint32_t)slot - 1; }
static uint64_t slot_of(uint64_t hash, uint32_t place) { return hash >> 32 << 32 | (place + 1); }
/* Where the search for a tag begins. */
static size_t slot_start(const table *t, uint64_t hash) { return (size_t)(hash >> 32) & t->mask; }

static mk_code table_room(gathering *d, table *t)
{
    if (t->slots != NULL && (t->used + 1) * 4 <= (t->mask + 1) * 3)
        return MK_OK;
    const table old = *t;
    const size_t count = old.slots != NULL ? (old.mask + 1) * 4 : 1024;
    size_t size;
    t->slots = mk_size_mul(count, sizeof *t->slots, &size) ? mk_arena_get0(d->arena, size) : NULL;
    if (t->slots == NULL)
        return mk_fail_nomem(d->err);
    t->mask = count - 1;
    for (size_t i = 0; old.slots != NULL && i <= old.mask; i++) {
        if (old.slots[i] == 0)
            continue;
        size_t at = slot_start(t, old.slots[i]);
        while (t->slots[at] != 0)
            at = (at + 1) & t->mask;
        t->slots[at] = old.slots[i];
    }
    return MK_OK;
}

/* The slot of an identity, or the free one where it belongs. */
static uint64_t *edge_slot(const gathering *d, const mk_edge_ref *ref, int64_t disc, uint64_t hash)
{
    const table *t = &d->edge_table;
    size_t at = slot_start(t, hash);
    for (; t->slots[at] != 0; at = (at + 1) & t->mask) {
        if (t->slots[at] >> 32 != hash >> 32)
            continue;
        const mk_edge_change *e = &d->edges[slot_place(t->slots[at])];
        if (e->src == ref->src && e->dst == ref->dst && e->rel_type == ref->rel_type && e->disc == disc)
            break;
    }
    return &t->slots[at];
}

mk_edge_ref mk_edge_change_ref(const mk_edge_change *e, int side)
{
    return (mk_edge_ref){.vt_s = e->at[side].vt_s, .src = e->src, .dst = e->dst, .rel_type = e->rel_type,
                         .part = e->at[side].part, .row = e->at[side].row};
}

/* Whether `a` comes before `b` in scan order. */
static mk_code comes_before(gathering *d, const mk_edge_ref *a, const mk_edge_ref *b, bool *before)
{
    mk_edge_ref pair[2] = {*b, *a};
    if (a->vt_s != b->vt_s) {
        *before = a->vt_s < b->vt_s;
        return MK_OK;
    }
    const mk_code rc = mk_view_sort_edges(d->view, pair, 2, d->err);
    *before = pair[0].part == a->part && pair[0].row == a->row;
    return rc;
}

static mk_code offer(gathering *d, mk_edge_change *e, int side, const mk_edge_ref *ref)
{
    bool before = true;
    mk_code rc = MK_OK;
    if (e->has[side]) {
        const mk_edge_ref there = mk_edge_change_ref(e, side);
        rc = comes_before(d, &there, ref, &before);
    }
    if (rc == MK_OK && before) {
        e->has[side] = true;
        e->at[side] = (mk_diff_at){ref->vt_s, ref->part, ref->row};
    }
    return rc;
}

static mk_code take_edge(gathering *d, int side, const mk_edge_ref *ref)
{
    int64_t disc;
    mk_code rc;
    if (!in_scope(d, ref->src) || !in_scope(d, ref->dst))
        return MK_OK;
    MK_TRY(rc, mk_view_edge_disc(d->view, ref, &disc, d->err));
    MK_TRY(rc, table_room(d, &d->edge_table));
    const uint64_t hash = edge_hash(d, ref->src, ref->dst, ref->rel_type, disc);
    uint64_t *slot = edge_slot(d, ref, disc, hash);
    if (*slot == 0) {
        MK_TRY(rc, mk_op_grow(d->arena, (void **)&d->edges, &d->edge_cap, d->edge_count + 1,
                              sizeof *d->edges, d->err));
        d->edges[d->edge_count] = (mk_edge_change){
            .src = ref->src, .dst = ref->dst, .rel_type = ref->rel_type, .disc = disc};
        *slot = slot_of(hash, (uint32_t)d->edge_count++);
        d->edge_table.used++;
    }
    rc = offer(d, &d->edges[slot_place(*slot)], side, ref);
out:
    return rc;
}

/* Versions that hold at one of the instants and not at the other. */
static mk_code gather_edges(gathering *d, mk_match match)
{
    const mk_edge_filter filter = {.vt_lo = d->lo + 1, .vt_hi = d->hi + 1, .match = match};
    const int side = match == MK_MATCH_STARTS;
    mk_edge_stream *stream;
    const mk_edge_block *block;
    mk_code rc;
    MK_TRY(rc, mk_view_stream(d->view, d->arena, &filter, false, &stream, d->err));
    for (;;) {
        MK_TRY(rc, mk_edge_stream_next(stream, &block, d->err));
        if (block == NULL || !mk_guard_done(d->guard, block->count))
            break;
        for (uint32_t i = 0; i < block->count; i++) {
            if (side == 1 ? block->vt_e[i] <= d->hi : block->vt_s[i] > d->lo)
                continue; /* begins and ends in between */
            const mk_edge_ref ref = mk_edge_block_ref(block, i);
            MK_TRY(rc, take_edge(d, side, &ref));
        }
    }
    rc = mk_guard_result(d->guard, d->err);
out:
    return rc;
}

/* A version that holds at both instants competes for both sides of its identity, if that is known. */
static bool meet_lasting(void *ctx, const mk_edge_ref *ref)
{
    gathering *d = ctx;
    int64_t disc;
    if (ref->vt_s > d->lo || ref->vt_e <= d->hi)
        return mk_guard_ok(d->guard);
    d->rc = mk_view_edge_disc(d->view, ref, &disc, d->err);
    if (d->rc != MK_OK)
        return false;
    const uint64_t *slot =
        edge_slot(d, ref, disc, edge_hash(d, ref->src, ref->dst, ref->rel_type, disc));
    for (int side = 0; *slot != 0 && side < 2 && d->rc == MK_OK; side++)
        d->rc = offer(d, &d->edges[slot_place(*slot)], side, ref);
    return d->rc == MK_OK && mk_guard_ok(d->guard);
}

static mk_code gather_lasting(gathering *d)
{
    const mk_edge_filter filter = {.vt_lo = d->lo, .vt_hi = d->lo + 1, .sides = MK_SIDE_OUT};
    uint8_t *read = mk_arena_get0(d->arena, (size_t)mk_view_entity_count(d->view) + 1);
    if (read == NULL)
        return mk_fail_nomem(d->err);
    for (size_t i = 0; i < d->edge_count; i++) {
        const uint32_t src = d->edges[i].src;
        if (read[src])
            continue;
        read[src] = 1;
        const mk_code rc = mk_view_edges_of(d->view, src, &filter, meet_lasting, d, d->err);
        if (d->rc != MK_OK)
            return d->rc;
        if (rc != MK_OK)
            return mk_guard_or(d->guard, rc, d->err);
    }
    return MK_OK;
}

/* ---- nodes ---- */

static mk_code take_node(gathering *d, int side, const mk_node_ref *ref)
{
    mk_code rc;
    MK_TRY(rc, table_room(d, &d->node_table));
    const uint64_t hash = mk_mix64(d->seed ^ ref->uid);
    uint64_t *slots = d->node_table.slots;
    size_t at = slot_start(&d->node_table, hash);
    while (slots[at] != 0 && d->nodes[slot_place(slots[at])].uid != ref->uid)
        at = (at + 1) & d->node_table.mask;
    if (slots[at] == 0) {
        MK_TRY(rc, mk_op_grow(d->arena, (void **)&d->nodes, &d->node_cap, d->node_count + 1,
                              sizeof *d->nodes, d->err));
        d->nodes[d->node_count] = (mk_node_change){.uid = ref->uid};
        slots[at] = slot_of(hash, (uint32_t)d->node_count++);
        d->node_table.used++;
    }
    mk_node_change *node = &d->nodes[slot_place(slots[at])];
    node->has[side] = true;
    node->at[side] = *ref;
out:
    return rc;
}

/* Versions of one node never overlap, so one that holds at both instants is alone and no change. */
static bool meet_node(void *ctx, const mk_node_ref *ref)
{
    gathering *d = ctx;
    const bool at_lo = ref->vt_s <= d->lo && d->lo < ref->vt_e;
    const bool at_hi = ref->vt_s <= d->hi && d->hi < ref->vt_e;
    if (at_lo != at_hi && in_scope(d, ref->uid))
        d->rc = take_node(d, at_hi, ref);
    return d->rc == MK_OK && mk_guard_ok(d->guard);
}

static mk_code gather(gathering *d)
{
    mk_code rc = MK_OK;
    if (d->lo == d->hi)
        return MK_OK;
    rc = mk_view_nodes(d->view, d->lo, d->hi + 1, meet_node, d, d->err);
    if (d->rc != MK_OK)
        return d->rc;
    MK_TRY(rc, mk_guard_or(d->guard, rc, d->err));
    MK_TRY(rc, gather_edges(d, MK_MATCH_STARTS));
    MK_TRY(rc, gather_edges(d, MK_MATCH_ENDS));
    rc = d->edge_count > 0 ? gather_lasting(d) : MK_OK;
out:
    return rc;
}

/* ---- scope ---- */

/* The nodes within reach of the seeds at either instant. */
static mk_code reach_scope(gathering *d, const mk_ball_args *around)
{
    mk_ball_args args = *around;
    uint8_t *allowed = mk_arena_get0(d->arena, (size_t)mk_view_entity_count(d->view) + 1);
    if (allowed == NULL)
        return mk_fail_nomem(d->err);
    for (int side = 0; side < 2; side++) {
        mk_ball ball;
        args.t = (mk_vt){side == 0 ? d->lo : d->hi};
        const mk_code rc = mk_ball_grow(d->view, d->arena, &args, d->guard, &ball, d->err);
        if (rc != MK_OK)
            return rc;
        for (size_t i = 0; i < ball.node_count; i++)
            allowed[ball.nodes[i].id] = 1;
    }
    d->allowed = allowed;
    return MK_OK;
}

/* ---- selecting by eid ---- */

static bool above(const mk_diff_edge *a, const mk_diff_edge *b)
{
    return memcmp(a->eid, b->eid, sizeof a->eid) > 0;
}

/* Rows are a heap with the largest eid on top, until they are sorted. */
static void sift_down(mk_diff_edge *heap, size_t count, size_t at)
{
    const mk_diff_edge moved = heap[at];
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && above(&heap[child + 1], &heap[child]))
            child++;
        if (!above(&heap[child], &moved))
            break;
        heap[at] = heap[child];
    }
    heap[at] = moved;
}

/* Keeps the `cap` smallest of those offered. */
static void select_one(mk_diff_edges *to, size_t cap, const mk_diff_edge *item)
{
    to->total++;
    if (to->count < cap) {
        size_t at = to->count++;
        for (; at > 0 && above(item, &to->rows[(at - 1) / 2]); at = (at - 1) / 2)
            to->rows[at] = to->rows[(at - 1) / 2];
        to->rows[at] = *item;
    } else if (cap > 0 && above(&to->rows[0], item)) {
        to->rows[0] = *item;
        sift_down(to->rows, to->count, 0);
    }
}

static void heap_sort(mk_diff_edges *list)
{
    for (size_t n = list->count; n > 1; n--) {
        const mk_diff_edge top = list->rows[0];
        list->rows[0] = list->rows[n - 1];
        list->rows[n - 1] = top;
        sift_down(list->rows, n - 1, 0);
    }
}

/* ---- what kind of change ---- */

static mk_code props_differ(gathering *d, mk_str a, mk_str b, bool *differ)
{
    const mk_arena_mark mark = mk_arena_save(d->arena);
    mk_json *x, *y;
    mk_code rc = MK_OK;
    *differ = false;
    if (mk_str_eq(a, b))
        return MK_OK;
    MK_TRY(rc, mk_json_parse(d->arena, a, NULL, &x, d->err));
    MK_TRY(rc, mk_json_parse(d->arena, b, NULL, &y, d->err));
    *differ = !mk_value_equal(x, y);
out:
    mk_arena_rewind(d->arena, mark);
    return rc;
}

static bool same_row(const mk_diff_at *a, const mk_diff_at *b)
{
    return a->part == b->part && a->row == b->row;
}

/* Versions with equal vids are one version to the reference (O-24): the same identity, start and batch. */
static mk_code vids_equal(gathering *d, const mk_edge_change *e, bool *equal)
{
    char eid[24], vid[2][24];
    mk_code rc = MK_OK;
    *equal = same_row(&e->at[0], &e->at[1]);
    if (*equal || e->at[0].vt_s != e->at[1].vt_s)
        return MK_OK;
    for (int side = 0; side < 2; side++) {
        const mk_edge_ref ref = mk_edge_change_ref(e, side);
        MK_TRY(rc, mk_view_edge_ids(d->view, &ref, eid, vid[side], d->err));
    }
    *equal = memcmp(vid[0], vid[1], sizeof vid[0]) == 0;
out:
    return rc;
}

static mk_code edge_changed(gathering *d, const mk_edge_change *e, bool *changed)
{
    mk_str props[2];
    bool equal;
    mk_code rc;
    *changed = false;
    MK_TRY(rc, vids_equal(d, e, &equal));
    if (equal)
        goto out;
    for (int side = 0; side < 2; side++) {
        const mk_edge_ref ref = mk_edge_change_ref(e, side);
        MK_TRY(rc, mk_view_edge_props(d->view, &ref, &props[side], d->err));
    }
    rc = props_differ(d, props[0], props[1], changed);
out:
    return rc;
}

static mk_code node_changed(gathering *d, const mk_node_change *n, bool *changed)
{
    mk_str props[2];
    mk_code rc = MK_OK;
    *changed = n->at[0].label != n->at[1].label;
    if (*changed)
        return MK_OK;
    for (int side = 0; side < 2; side++)
        MK_TRY(rc, mk_view_node_props(d->view, &n->at[side], &props[side], d->err));
    rc = props_differ(d, props[0], props[1], changed);
out:
    return rc;
}

/* ---- the three lists of either kind ---- */

/* `forward`: t1 is the earlier instant. */
static mk_diff_list list_of(const bool has[2], bool forward)
{
    if (has[0] && has[1])
        return MK_DIFF_CHANGED;
    return has[forward] ? MK_DIFF_ADDED : MK_DIFF_REMOVED;
}

static mk_code list_nodes(gathering *d, bool forward, mk_diff *out)
{
    mk_code rc = MK_OK;
    for (int list = 0; list < MK_DIFF_LISTS; list++) {
        mk_diff_nodes *to = &out->node_lists[list];
        to->rows = mk_arena_get(d->arena, (d->node_count + 1) * sizeof *to->rows);
        if (to->rows == NULL)
            return mk_fail_nomem(d->err);
    }
    for (size_t i = 0; i < d->node_count; i++) {
        const mk_diff_list list = list_of(d->nodes[i].has, forward);
        mk_diff_nodes *to = &out->node_lists[list];
        bool wanted = true;
        if (list == MK_DIFF_CHANGED)
            MK_TRY(rc, node_changed(d, &d->nodes[i], &wanted));
        if (wanted)
            to->rows[to->total++] = (mk_ranked){
                .uid = mk_view_uid(d->view, d->nodes[i].uid), .code = (uint32_t)i};
        if (!mk_guard_ok(d->guard))
            return mk_guard_result(d->guard, d->err);
    }
    for (int list = 0; list < MK_DIFF_LISTS; list++)
        MK_TRY(rc, mk_ranked_sort(d->arena, out->node_lists[list].rows, out->node_lists[list].total,
                                  d->err));
out:
    return rc;
}

static mk_code list_edges(gathering *d, bool forward, size_t most, mk_diff *out)
{
    const size_t cap = most < d->edge_count ? most : d->edge_count;
    mk_code rc = MK_OK;
    for (int list = 0; list < MK_DIFF_LISTS; list++) {
        mk_diff_edges *to = &out->edge_lists[list];
        to->rows = mk_arena_get(d->arena, (cap + 1) * sizeof *to->rows);
        if (to->rows == NULL)
            return mk_fail_nomem(d->err);
    }
    for (size_t i = 0; i < d->edge_count; i++) {
        const mk_edge_change *e = &d->edges[i];
        const mk_diff_list list = list_of(e->has, forward);
        mk_diff_edge item = {.place = (uint32_t)i};
        bool wanted = true;
        if (list == MK_DIFF_CHANGED)
            MK_TRY(rc, edge_changed(d, e, &wanted));
        if (!wanted)
            continue;
        const mk_edge_ref ref = mk_edge_change_ref(e, e->has[0] ? 0 : 1);
        MK_TRY(rc, mk_view_edge_eid(d->view, &ref, item.eid, d->err));
        select_one(&out->edge_lists[list], cap, &item);
        if (!mk_guard_ok(d->guard))
            return mk_guard_result(d->guard, d->err);
    }
    for (int list = 0; list < MK_DIFF_LISTS; list++)
        heap_sort(&out->edge_lists[list]);
out:
    return rc;
}

mk_code mk_diff_run(mk_view *view, mk_arena *arena, const mk_diff_args *args, mk_guard *guard,
                    mk_diff *out, mk_err *err)
{
    const bool forward = args->t1 <= args->t2;
    gathering d = {.view = view, .arena = arena, .guard = guard, .lo = forward ? args->t1 : args->t2,
                   .hi = forward ? args->t2 : args->t1, .seed = mk_entropy64(), .rc = MK_OK, .err = err};
    mk_code rc = MK_OK;
    *out = (mk_diff){0};
    if (args->around != NULL)
        MK_TRY(rc, reach_scope(&d, args->around));
    MK_TRY(rc, gather(&d));
    MK_TRY(rc, list_nodes(&d, forward, out));
    MK_TRY(rc, list_edges(&d, forward, args->edges_max, out));
    out->edges = d.edges;
    out->nodes = d.nodes;
out:
    return rc;
}

/* ---- glue ---- */

/* The argument `scope`; *around stays NULL without one. */
static mk_code read_scope(const mk_run *run, mk_ball_args *args, const mk_ball_args **around, mk_err *err)
{
    const mk_json *scope = mk_json_get(run->args, "scope");
    if (scope == NULL || scope->kind == MK_JSON_NULL)
        return MK_OK;
    const mk_json *list = mk_json_get(scope, "seeds");
    uint32_t *seeds = mk_arena_get(run->arena, list->n * sizeof *seeds); /* at most 10,000 */
    if (seeds == NULL)
        return mk_fail_nomem(err);
    for (size_t i = 0; i < list->n; i++) {
        seeds[i] = mk_view_entity(run->view, list->items[i].text);
        if (seeds[i] == MK_NO_ID)
            return mk_fail_uid(run, list->items[i].text, "scope", (int64_t)i, err);
    }
    *args = (mk_ball_args){.seeds = seeds, .seed_count = list->n, .hops = mk_arg_i64(scope, "hops"),
                           .filter = mk_edge_filter_all};
    *around = args;
    return MK_OK;
}

typedef struct writer {
    mk_run *run;
    const mk_diff *diff;
    int from, to; /* the sides of t1 and t2 */
    bool cut;
} writer;

/* How many of `total` are shown; notes what is not. */
static mk_code shown(writer *w, const char *name, size_t total, size_t *count, mk_err *err)
{
    const mk_page head = {.limit = w->run->page.limit, .whole = w->run->page.whole};
    mk_span span;
    const mk_code rc = mk_page_span(&head, total, &span, err);
    if (rc != MK_OK)
        return rc;
    *count = span.end;
    if (span.truncated)
        mk_payload_gap(w->run->out, name, MK_GAP_SUBLIST, span.end, total);
    w->cut |= span.truncated;
    return MK_OK;
}

static mk_code write_nodes(writer *w, const char *name, const char *total, mk_diff_list list,
                           mk_err *err)
{
    const mk_diff_nodes *nodes = &w->diff->node_lists[list];
    size_t count;
    const mk_code rc = shown(w, name, nodes->total, &count, err);
    if (rc != MK_OK)
        return rc;
    mk_payload_list(w->run->out, name);
    for (size_t i = 0; i < count; i++) {
        mk_payload_item(w->run->out);
        mk_payload_string(w->run->out, nodes->rows[i].uid);
    }
    mk_payload_list_end(w->run->out);
    mk_payload_int(w->run->out, total, (int64_t)nodes->total);
    return MK_OK;
}

static mk_code write_edges(writer *w, const char *name, const char *total, mk_diff_list list,
                           mk_err *err)
{
    const mk_diff_edges *edges = &w->diff->edge_lists[list];
    mk_buf *text = &w->run->out->text;
    size_t count;
    const mk_code rc = shown(w, name, edges->total, &count, err);
    if (rc != MK_OK)
        return rc;
    mk_payload_list(w->run->out, name);
    for (size_t i = 0; i < count; i++) {
        const mk_edge_change *e = &w->diff->edges[edges->rows[i].place];
        mk_payload_item(w->run->out);
        mk_buf_z(text, "{\"dst\":");
        mk_canon_string(text, mk_view_uid(w->run->view, e->dst));
        mk_buf_z(text, ",\"eid\":");
        mk_canon_string(text, (mk_str){edges->rows[i].eid, 24});
        mk_buf_z(text, ",\"rel_type\":");
        mk_canon_string(text, mk_view_name(w->run->view, e->rel_type));
        mk_buf_z(text, ",\"src\":");
        mk_canon_string(text, mk_view_uid(w->run->view, e->src));
        mk_buf_c(text, '}');
    }
    mk_payload_list_end(w->run->out);
    mk_payload_int(w->run->out, total, (int64_t)edges->total);
    return MK_OK;
}

/* {"label":...,"props":...} of a node, {"props":...} of an edge. */
static mk_code write_node_state(writer *w, const mk_node_ref *ref, mk_err *err)
{
    mk_buf *text = &w->run->out->text;
    mk_str props;
    mk_code rc;
    MK_TRY(rc, mk_view_node_props(w->run->view, ref, &props, err));
    mk_buf_z(text, "{\"label\":");
    mk_canon_string(text, mk_view_name(w->run->view, ref->label));
    mk_buf_z(text, ",\"props\":");
    MK_TRY(rc, mk_payload_json(w->run->out, props, err));
    mk_buf_c(text, '}');
out:
    return rc;
}

static mk_code write_edge_state(writer *w, const mk_edge_change *e, int side, mk_err *err)
{
    const mk_edge_ref ref = mk_edge_change_ref(e, side);
    mk_buf *text = &w->run->out->text;
    mk_str props;
    mk_code rc;
    MK_TRY(rc, mk_view_edge_props(w->run->view, &ref, &props, err));
    mk_buf_z(text, "{\"props\":");
    MK_TRY(rc, mk_payload_json(w->run->out, props, err));
    mk_buf_c(text, '}');
out:
    return rc;
}

static mk_code write_changed_node(writer *w, size_t i, mk_err *err)
{
    const mk_ranked *item = &w->diff->node_lists[MK_DIFF_CHANGED].rows[i];
    const mk_node_change *n = &w->diff->nodes[item->code];
    mk_buf *text = &w->run->out->text;
    mk_code rc;
    mk_buf_z(text, "{\"from\":");
    MK_TRY(rc, write_node_state(w, &n->at[w->from], err));
    mk_buf_z(text, ",\"id\":");
    mk_canon_string(text, item->uid);
    mk_buf_z(text, ",\"kind\":\"node\",\"to\":");
    MK_TRY(rc, write_node_state(w, &n->at[w->to], err));
    mk_buf_c(text, '}');
out:
    return rc;
}

static mk_code write_changed_edge(writer *w, size_t i, mk_err *err)
{
    const mk_diff_edge *item = &w->diff->edge_lists[MK_DIFF_CHANGED].rows[i];
    const mk_edge_change *e = &w->diff->edges[item->place];
    mk_buf *text = &w->run->out->text;
    mk_code rc;
    mk_buf_z(text, "{\"from\":");
    MK_TRY(rc, write_edge_state(w, e, w->from, err));
    mk_buf_z(text, ",\"id\":");
    mk_canon_string(text, (mk_str){item->eid, 24});
    mk_buf_z(text, ",\"kind\":\"edge\",\"to\":");
    MK_TRY(rc, write_edge_state(w, e, w->to, err));
    mk_buf_c(text, '}');
out:
    return rc;
}

static mk_code write_changed(writer *w, mk_err *err)
{
    const size_t nodes = w->diff->node_lists[MK_DIFF_CHANGED].total;
    const size_t total = nodes + w->diff->edge_lists[MK_DIFF_CHANGED].total;
    size_t count;
    mk_code rc;
    MK_TRY(rc, shown(w, "props_changed", total, &count, err));
    mk_payload_list(w->run->out, "props_changed");
    for (size_t i = 0; i < count; i++) {
        mk_payload_item(w->run->out);
        MK_TRY(rc, i < nodes ? write_changed_node(w, i, err) : write_changed_edge(w, i - nodes, err));
    }
    mk_payload_list_end(w->run->out);
    mk_payload_int(w->run->out, "props_changed_total", (int64_t)total);
out:
    return rc;
}

static mk_code run_diff_snapshots(mk_run *run, mk_err *err)
{
    mk_diff_args args = {.t1 = mk_arg_i64(run->args, "t1"), .t2 = mk_arg_i64(run->args, "t2"),
                         .edges_max = (size_t)run->page.limit};
    const int to = args.t1 <= args.t2; /* the later side, unless time is walked back */
    mk_ball_args scope;
    mk_diff diff;
    mk_code rc;

    MK_TRY(rc, read_scope(run, &scope, &args.around, err));
    MK_TRY(rc, mk_diff_run(run->view, run->arena, &args, run->guard, &diff, err));
    writer w = {.run = run, .diff = &diff, .from = !to, .to = to};
    MK_TRY(rc, write_edges(&w, "edges_added", "edges_added_total", MK_DIFF_ADDED, err));
    MK_TRY(rc, write_edges(&w, "edges_removed", "edges_removed_total", MK_DIFF_REMOVED, err));
    MK_TRY(rc, write_nodes(&w, "nodes_added", "nodes_added_total", MK_DIFF_ADDED, err));
    MK_TRY(rc, write_nodes(&w, "nodes_removed", "nodes_removed_total", MK_DIFF_REMOVED, err));
    MK_TRY(rc, write_changed(&w, err));
    mk_payload_bool(run->out, "truncated", w.cut);

out:
    return rc;
}

/* ---- the declaration ---- */

static void cost_diff_snapshots(const mk_cost_input *in, mk_cost *out)
{
    out->rows_scanned_est = mk_cost_scan(in);
    mk_cost_time(in, 115.0, out);
}

static const mk_arg scope_members[] = {
    {.name = "seeds",
     .type = MK_ARG_LIST,
     .required = true,
     .min = 1,
     .max = 10000,
     .item = &mk_arg_uid,
     .doc = "Uids to start from."},
    {.name = "hops",
     .type = MK_ARG_INTEGER,
     .required = true,
     .max = 3,
     .doc = "How many edges away from a seed to go, at either instant."},
    {0},
};

static const mk_arg args_diff_snapshots[] = {
    MK_ARG_TIME("t1", "The instant to compare from, microseconds or ISO 8601."),
    MK_ARG_TIME("t2", "The instant to compare to; may be the earlier one."),
    MK_ARG_AS_OF,
    {.name = "scope",
     .type = MK_ARG_OBJECT,
     .nullable = true,
     .members = scope_members,
     .default_json = "null",
     .doc = "Only what lies around these entities at t1 or t2; null is everything."},
    MK_ARG_LIMIT,
    {0},
};

static const mk_field diff_edge_members[] = {
    {.name = "eid", .type = MK_FIELD_STRING, .doc = "Identity of the edge."},
    {.name = "src", .type = MK_FIELD_STRING, .doc = "Uid where it starts."},
    {.name = "dst", .type = MK_FIELD_STRING, .doc = "Uid where it ends."},
    {.name = "rel_type", .type = MK_FIELD_STRING, .doc = "Relation type."},
    {0},
};
static const mk_field diff_edge_row = {
    .name = "edge", .type = MK_FIELD_OBJECT, .members = diff_edge_members};
static const mk_field state_members[] = {
    {.name = "label", .type = MK_FIELD_STRING, .optional = true, .doc = "Label, of nodes only."},
    {.name = "props", .type = MK_FIELD_ANY, .doc = "Properties; an object but in logs of other programs."},
    {0},
};
static const mk_field change_members[] = {
    {.name = "kind", .type = MK_FIELD_STRING, .doc = "node or edge."},
    {.name = "id", .type = MK_FIELD_STRING, .doc = "Uid or eid."},
    {.name = "from", .type = MK_FIELD_OBJECT, .members = state_members, .doc = "At t1."},
    {.name = "to", .type = MK_FIELD_OBJECT, .members = state_members, .doc = "At t2."},
    {0},
};
static const mk_field change_row = {
    .name = "change", .type = MK_FIELD_OBJECT, .members = change_members};

#define TOTAL(name_)                                                                               \
    {                                                                                              \
        .name = (name_), .type = MK_FIELD_INTEGER, .doc = "How many there are, shown or not."      \
    }

static const mk_field fields_diff_snapshots[] = {
    {.name = "nodes_added", .type = MK_FIELD_LIST, .item = &mk_field_text, .doc = "Uids at t2 only."},
    TOTAL("nodes_added_total"),
    {.name = "nodes_removed", .type = MK_FIELD_LIST, .item = &mk_field_text, .doc = "Uids at t1 only."},
    TOTAL("nodes_removed_total"),
    {.name = "edges_added",
     .type = MK_FIELD_LIST,
     .item = &diff_edge_row,
     .doc = "Edges at t2 only, by eid."},
    TOTAL("edges_added_total"),
    {.name = "edges_removed",
     .type = MK_FIELD_LIST,
     .item = &diff_edge_row,
     .doc = "Edges at t1 only, by eid."},
    TOTAL("edges_removed_total"),
    {.name = "props_changed",
     .type = MK_FIELD_LIST,
     .item = &change_row,
     .doc = "What is there at both and differs in label or properties: nodes by uid, then edges by eid."},
    TOTAL("props_changed_total"),
    MK_FIELD_TRUNCATED("Whether one of the lists was cut to `limit`."),
    {0},
};

const mk_operator mk_operator_diff_snapshots = {
    .name = "diff_snapshots",
    .group = "graph",
    .summary = "what was added, removed or changed between two instants",
    .help = "Properties are compared by value: 1, 1.0 and true are equal, so such a change is not listed.",
    .example = "{\"t1\":11,\"t2\":16}",
    .args = args_diff_snapshots,
    .fields = fields_diff_snapshots,
    .cost = cost_diff_snapshots,
    .run = run_diff_snapshots,
};

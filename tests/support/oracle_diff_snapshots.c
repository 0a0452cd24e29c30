/* oracle_diff_snapshots.c — both snapshots whole, compared. Source: operators spec, 7.3. */
#include <stdlib.h>

#include "oracle.h"

static void args(const oracle_world *world, mk_buf *out)
{
    mk_buf_printf(out, "{\"t1\":%lld,\"t2\":%lld", (long long)oracle_gen_time(world),
                  (long long)oracle_gen_time(world));
    if (genops_chance(world->gen, 40)) {
        mk_buf_z(out, ",\"scope\":{\"seeds\":");
        oracle_gen_uids(world, 3, out);
        mk_buf_printf(out, ",\"hops\":%d}", (int)genops_below(world->gen, 4));
    }
    oracle_gen_as_of(world, out);
    oracle_gen_page(world, false, out);
    mk_buf_c(out, '}');
}

/* ---- a snapshot: the last version in scan order stands for its identity ---- */

typedef struct snapshot {
    const model_row **rows; /* sorted by identity */
    size_t n;
} snapshot;

static int by_identity(const void *x, const void *y)
{
    return mk_str_cmp((*(const model_row *const *)x)->identity, (*(const model_row *const *)y)->identity);
}

static snapshot at(const model_list *all, int64_t t, mk_arena *arena)
{
    snapshot s = {mk_arena_get(arena, (all->n + 1) * sizeof *s.rows), 0};
    if (s.rows == NULL)
        abort();
    for (size_t i = 0; i < all->n; i++) {
        const model_row *row = all->rows[i];
        size_t k = 0;
        if (t < row->vt_s || t >= row->vt_e)
            continue;
        while (k < s.n && !mk_str_eq(s.rows[k]->identity, row->identity))
            k++;
        s.rows[k] = row;
        s.n += k == s.n;
    }
    qsort(s.rows, s.n, sizeof *s.rows, by_identity);
    return s;
}

static const model_row *find(const snapshot *s, mk_str identity)
{
    for (size_t i = 0; i < s->n; i++)
        if (mk_str_eq(s->rows[i]->identity, identity))
            return s->rows[i];
    return NULL;
}

/* ---- scope ---- */

/* Marks what is within reach of the seeds in the snapshot of all versions valid at t. */
static void mark(const oracle_world *world, const model_list *edges, const snapshot *nodes, int64_t t,
                 const mk_json *scope, uint8_t *allowed)
{
    const mk_json *seeds = mk_json_get(scope, "seeds");
    const size_t known = model_entity_count(world->m);
    uint8_t level[64] = {0}; /* 1 + hop; stores of these tests have fewer entities */
    if (known > 64)
        abort();
    for (size_t i = 0; i < known; i++)
        for (size_t k = 0; k < seeds->n; k++)
            if (mk_str_eq(model_entity(world->m, i), seeds->items[k].text) &&
                find(nodes, model_entity(world->m, i)) != NULL)
                level[i] = 1;
    for (int hop = 1; hop <= (int)oracle_int(scope, "hops", 0); hop++)
        for (size_t e = 0; e < edges->n; e++) {
            const model_row *row = edges->rows[e];
            if (t < row->vt_s || t >= row->vt_e)
                continue;
            for (size_t i = 0; i < known; i++)
                for (size_t k = 0; k < known; k++) {
                    const mk_str u = model_entity(world->m, i), v = model_entity(world->m, k);
                    const bool joined = (mk_str_eq(row->src, u) && mk_str_eq(row->dst, v)) ||
                                        (mk_str_eq(row->src, v) && mk_str_eq(row->dst, u));
                    if (joined && level[i] == hop && level[k] == 0 && find(nodes, v) != NULL)
                        level[k] = (uint8_t)(hop + 1);
                }
        }
    for (size_t i = 0; i < known; i++)
        allowed[i] |= level[i] != 0;
}

static bool in_scope(const oracle_world *world, const uint8_t *allowed, mk_str uid)
{
    for (size_t i = 0; i < model_entity_count(world->m); i++)
        if (mk_str_eq(model_entity(world->m, i), uid))
            return allowed[i];
    return false;
}

/* ---- equality of values: numbers by value, whatever their kinds ---- */

static bool equal(const mk_json *a, const mk_json *b)
{
    const bool x = a->kind == MK_JSON_INT || a->kind == MK_JSON_FLOAT || a->kind == MK_JSON_BOOL;
    const bool y = b->kind == MK_JSON_INT || b->kind == MK_JSON_FLOAT || b->kind == MK_JSON_BOOL;
    if (x && y) {
        const long double p = a->kind == MK_JSON_FLOAT ? a->d : a->kind == MK_JSON_BOOL ? a->b : a->i;
        const long double q = b->kind == MK_JSON_FLOAT ? b->d : b->kind == MK_JSON_BOOL ? b->b : b->i;
        if ((a->kind == MK_JSON_INT && a->b) || (b->kind == MK_JSON_INT && b->b))
            return a->kind == MK_JSON_INT && b->kind == MK_JSON_INT && a->b && b->b &&
                   mk_str_eq(a->text, b->text);
        return p == q; /* 64 bits of mantissa hold every int64 and every double */
    }
    if (a->kind != b->kind || a->n != b->n)
        return false;
    if (a->kind == MK_JSON_STRING)
        return mk_str_eq(a->text, b->text);
    for (size_t i = 0; a->kind == MK_JSON_ARRAY && i < a->n; i++)
        if (!equal(&a->items[i], &b->items[i]))
            return false;
    for (size_t i = 0; a->kind == MK_JSON_OBJECT && i < a->n; i++) {
        const mk_json *other = mk_json_get_n(b, a->members[i].key);
        if (other == NULL || !equal(&a->members[i].value, other))
            return false;
    }
    return true;
}

static mk_json *props_of(const model_row *row, mk_arena *arena)
{
    mk_json *tree = NULL;
    if (mk_json_parse(arena, row->props, NULL, &tree, NULL) != MK_OK)
        abort();
    return tree;
}

static bool changed(const model_row *a, const model_row *b, bool node, mk_arena *arena)
{
    if (mk_str_eq(a->vid, b->vid))
        return false;
    return (node && !mk_str_eq(a->label, b->label)) ||
           !equal(props_of(a, arena), props_of(b, arena));
}

/* ---- writing ---- */

typedef struct writer {
    const oracle_world *world;
    const uint8_t *allowed; /* NULL: everything */
    mk_arena *arena;
    mk_buf *out;
    size_t limit, shown;
    bool cut;
} writer;

static bool admits(const writer *w, const model_row *row, bool node)
{
    if (w->allowed == NULL)
        return true;
    return node ? in_scope(w->world, w->allowed, row->identity)
                : in_scope(w->world, w->allowed, row->src) && in_scope(w->world, w->allowed, row->dst);
}

static void put_only(writer *w, const snapshot *in, const snapshot *not_in, bool node, const char *name)
{
    size_t n = 0;
    mk_buf_printf(w->out, "%s\"%s\":[", w->out->n ? "," : "{", name);
    for (size_t i = 0; i < in->n; i++) {
        const model_row *row = in->rows[i];
        if (find(not_in, row->identity) != NULL || !admits(w, row, node))
            continue;
        if (n++ >= w->limit)
            continue;
        if (n > 1)
            mk_buf_c(w->out, ',');
        if (node) {
            mk_canon_string(w->out, row->identity);
            continue;
        }
        mk_buf_z(w->out, "{\"dst\":");
        mk_canon_string(w->out, row->dst);
        mk_buf_z(w->out, ",\"eid\":");
        mk_canon_string(w->out, row->identity);
        mk_buf_z(w->out, ",\"rel_type\":");
        mk_canon_string(w->out, row->rel_type);
        mk_buf_z(w->out, ",\"src\":");
        mk_canon_string(w->out, row->src);
        mk_buf_c(w->out, '}');
    }
    mk_buf_printf(w->out, "],\"%s_total\":%zu", name, n);
    w->cut |= n > w->limit;
}

static void put_state(writer *w, const model_row *row, bool node)
{
    mk_buf_c(w->out, '{');
    if (node) {
        mk_buf_z(w->out, "\"label\":");
        mk_canon_string(w->out, row->label);
        mk_buf_c(w->out, ',');
    }
    mk_buf_z(w->out, "\"props\":");
    oracle_put_json(w->out, w->arena, props_of(row, w->arena));
    mk_buf_c(w->out, '}');
}

/* How many changed; writes as many as the limit still allows. */
static size_t put_changed(writer *w, const snapshot *from, const snapshot *to, bool node)
{
    size_t n = 0;
    for (size_t i = 0; i < from->n; i++) {
        const model_row *a = from->rows[i], *b = find(to, a->identity);
        if (b == NULL || !admits(w, a, node) || !changed(a, b, node, w->arena))
            continue;
        n++;
        if (w->shown == w->limit)
            continue;
        mk_buf_z(w->out, w->shown++ ? ",{\"from\":" : "{\"from\":");
        put_state(w, a, node);
        mk_buf_z(w->out, ",\"id\":");
        mk_canon_string(w->out, a->identity);
        mk_buf_printf(w->out, ",\"kind\":\"%s\",\"to\":", node ? "node" : "edge");
        put_state(w, b, node);
        mk_buf_c(w->out, '}');
    }
    return n;
}

static bool seeds_known(const oracle_world *world, const mk_json *scope)
{
    const mk_json *seeds = mk_json_get(scope, "seeds");
    for (size_t i = 0; seeds != NULL && i < seeds->n; i++)
        if (!model_knows(world->m, seeds->items[i].text))
            return false;
    return true;
}

static void answer(const oracle_world *world, const mk_json *args_, mk_arena *arena, oracle_answer *out)
{
    const int64_t as_of = oracle_int(args_, "as_of_tt", MK_OPEN_END);
    const int64_t t[2] = {oracle_int(args_, "t1", 0), oracle_int(args_, "t2", 0)};
    const mk_json *scope = mk_json_get(args_, "scope");
    const model_list nodes = model_believed(world->m, arena, MODEL_NODE, NULL, as_of);
    const model_list edges = model_believed(world->m, arena, MODEL_EDGE, NULL, as_of);
    uint8_t allowed[64] = {0};
    snapshot n[2], e[2];
    if (scope != NULL && !seeds_known(world, scope)) {
        oracle_fail(out, MK_E_NOT_FOUND);
        return;
    }
    for (int i = 0; i < 2; i++) {
        n[i] = at(&nodes, t[i], arena);
        e[i] = at(&edges, t[i], arena);
        if (scope != NULL)
            mark(world, &edges, &n[i], t[i], scope, allowed);
    }
    writer w = {.world = world, .allowed = scope != NULL ? allowed : NULL, .arena = arena,
                .out = &out->payload, .limit = (size_t)oracle_int(args_, "limit", 100)};
    put_only(&w, &e[1], &e[0], false, "edges_added");
    put_only(&w, &e[0], &e[1], false, "edges_removed");
    put_only(&w, &n[1], &n[0], true, "nodes_added");
    put_only(&w, &n[0], &n[1], true, "nodes_removed");
    mk_buf_z(w.out, ",\"props_changed\":[");
    const size_t total = put_changed(&w, &n[0], &n[1], true) + put_changed(&w, &e[0], &e[1], false);
    mk_buf_printf(w.out, "],\"props_changed_total\":%zu,\"truncated\":%s}", total,
                  w.cut || total > w.limit ? "true" : "false");
}

const oracle oracle_diff_snapshots = {.op = "diff_snapshots", .args = args, .answer = answer};

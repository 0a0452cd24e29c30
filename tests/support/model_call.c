/* model_call.c — three operators over the slow model, with the whole call pipeline. See model.h.
 *
 * Arguments are checked against a small table per operator, then the operator writes its payload as
 * canonical JSON straight into a buffer, members in sorted order; floats only occur in stored props
 * and are rounded where those are written.
 * Source: operators spec, sections 3.4, 5, 6, 7.1, 7.2, 7.12. */
#include "model.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/sha256.h"

static void must(bool ok)
{
    if (!ok) {
        fputs("model: out of memory\n", stderr);
        abort();
    }
}

/* ---- arguments (5.2, 6) ---- */

typedef enum arg_type {
    ARG_INT,          /* between min and max */
    ARG_BOOL,
    ARG_TEXT,         /* not empty */
    ARG_TEXT_OR_NULL,
    ARG_UIDS,         /* 1 to 10,000 texts, none empty */
    ARG_TEXTS_OR_NULL
} arg_type;

typedef struct arg {
    const char *name;
    arg_type type;
    bool required;
    int64_t min, max;
} arg;

enum { UIDS_MAX = 10000, LIMIT_MAX = 10000, LIMIT_DEFAULT = 100, HOPS_MAX = 3 };

#define ARG_AS_OF {"as_of_tt", ARG_INT, false, 0, MK_OPEN_END}
#define ARG_LIMIT {"limit", ARG_INT, false, 1, LIMIT_MAX}
#define ARG_CURSOR {"cursor", ARG_TEXT_OR_NULL, false, 0, 0}
#define ARGS_END {NULL, ARG_INT, false, 0, 0}

static const arg history_args[] = {{"uid", ARG_TEXT, true, 0, 0},
                                   ARG_AS_OF,
                                   {"include_edges", ARG_BOOL, false, 0, 0},
                                   ARG_LIMIT,
                                   ARG_CURSOR,
                                   ARGS_END};
static const arg snapshot_args[] = {{"seeds", ARG_UIDS, true, 0, 0},
                                    {"hops", ARG_INT, false, 0, HOPS_MAX},
                                    {"t_valid", ARG_INT, true, 0, MK_OPEN_END},
                                    ARG_AS_OF,
                                    {"rel_types", ARG_TEXTS_OR_NULL, false, 0, 0},
                                    ARG_LIMIT,
                                    ARG_CURSOR,
                                    ARGS_END};
static const arg resolve_args[] = {{"query", ARG_TEXT, true, 0, 0},
                                   {"label", ARG_TEXT_OR_NULL, false, 0, 0},
                                   ARG_AS_OF,
                                   ARG_LIMIT,
                                   ARG_CURSOR,
                                   ARGS_END};

typedef struct call {
    const model *m;
    mk_arena arena;
    const mk_json *args;
    model_answer *answer;
    int64_t as_of_tt; /* the argument, not clamped */
    int64_t limit;
    mk_str cursor; /* empty when null or absent */
} call;

static bool refuse_schema(call *c, const char *name, const size_t *index, const char *what)
{
    mk_buf *path = &c->answer->path;
    mk_buf_c(path, '[');
    if (name != NULL)
        mk_canon_string(path, mk_str_of(name));
    if (index != NULL)
        mk_buf_printf(path, ",%zu", *index);
    mk_buf_c(path, ']');
    mk_fail(&c->answer->error, MK_E_SCHEMA, "invalid arguments: %s%s%s", name != NULL ? name : "",
            name != NULL ? " " : "", what);
    return false;
}

/* An integer, or a float that is one: 5.0 is 5 (decisions, section 6). */
static bool to_int(const mk_json *value, int64_t *out)
{
    if (value->kind == MK_JSON_INT && !value->b) {
        *out = value->i;
        return true;
    }
    if (value->kind != MK_JSON_FLOAT || !(value->d >= -0x1p63 && value->d < 0x1p63) ||
        (double)(int64_t)value->d != value->d)
        return false;
    *out = (int64_t)value->d;
    return true;
}

static bool check_texts(call *c, const arg *spec, const mk_json *value)
{
    const bool uids = spec->type == ARG_UIDS;
    if (value->kind != MK_JSON_ARRAY)
        return refuse_schema(c, spec->name, NULL, "is not an array");
    if (uids && (value->n < 1 || value->n > UIDS_MAX))
        return refuse_schema(c, spec->name, NULL, "must have 1 to 10000 items");
    for (size_t i = 0; i < value->n; i++)
        if (value->items[i].kind != MK_JSON_STRING || (uids && value->items[i].text.n == 0))
            return refuse_schema(c, spec->name, &i, "has an item that is not a (non-empty) string");
    return true;
}

static bool check_value(call *c, const arg *spec, const mk_json *value)
{
    int64_t number;
    switch (spec->type) {
    case ARG_INT:
        if (!to_int(value, &number) || number < spec->min || number > spec->max)
            return refuse_schema(c, spec->name, NULL, "is not an integer in its range");
        return true;
    case ARG_BOOL:
        return value->kind == MK_JSON_BOOL || refuse_schema(c, spec->name, NULL, "is not a boolean");
    case ARG_TEXT:
        return (value->kind == MK_JSON_STRING && value->text.n > 0) ||
               refuse_schema(c, spec->name, NULL, "is not a non-empty string");
    case ARG_TEXT_OR_NULL:
        return value->kind == MK_JSON_STRING || value->kind == MK_JSON_NULL ||
               refuse_schema(c, spec->name, NULL, "is neither a string nor null");
    case ARG_UIDS:
        return check_texts(c, spec, value);
    case ARG_TEXTS_OR_NULL:
        return value->kind == MK_JSON_NULL || check_texts(c, spec, value);
    }
    return false;
}

static const arg *find_arg(const arg *specs, mk_str name)
{
    for (; specs->name != NULL; specs++)
        if (mk_str_eq(mk_str_of(specs->name), name))
            return specs;
    return NULL;
}

/* The shortest path is reported: first what concerns the whole object, an unknown argument before a
 * missing one, then the values in the order of the schema. */
static bool check_args(call *c, const arg *specs)
{
    const mk_json *args = c->args;
    if (args == NULL || args->kind != MK_JSON_OBJECT)
        return refuse_schema(c, NULL, NULL, "not an object");
    for (size_t i = 0; i < args->n; i++)
        if (find_arg(specs, args->members[i].key) == NULL)
            return refuse_schema(c, NULL, NULL, "an unknown argument");
    for (const arg *spec = specs; spec->name != NULL; spec++)
        if (spec->required && mk_json_get(args, spec->name) == NULL)
            return refuse_schema(c, NULL, NULL, "a required argument is missing");
    for (const arg *spec = specs; spec->name != NULL; spec++) {
        const mk_json *value = mk_json_get(args, spec->name);
        if (value != NULL && !check_value(c, spec, value))
            return false;
    }
    return true;
}

static int64_t int_arg(const call *c, const char *name, int64_t otherwise)
{
    const mk_json *value = mk_json_get(c->args, name);
    if (value != NULL)
        to_int(value, &otherwise);
    return otherwise;
}

static mk_str text_arg(const call *c, const char *name)
{
    const mk_json *value = mk_json_get(c->args, name);
    return value != NULL && value->kind == MK_JSON_STRING ? value->text : MK_STR("");
}

static bool require_known(call *c, mk_str uid)
{
    if (model_knows(c->m, uid))
        return true;
    mk_fail(&c->answer->error, MK_E_NOT_FOUND, "unknown uid: %.*s", MK_STR_ARG(uid));
    return false;
}

/* ---- pages (5.4) ---- */

static bool read_cursor(call *c, int64_t *offset)
{
    if (model_read_cursor(c->cursor, offset))
        return true;
    mk_fail(&c->answer->error, MK_E_INVALID_ARG, "bad cursor: '%.*s'", MK_STR_ARG(c->cursor));
    return false;
}

typedef struct row_page {
    size_t from, to, total; /* rows [from, to) of total */
    int64_t next;           /* offset plus rows shown; what a following cursor says */
    bool truncated;
} row_page;

/* A place in a list of n as slices have it: negative ones count from the end. */
static size_t slice_place(int64_t at, size_t n)
{
    if (at < 0)
        at += (int64_t)n;
    if (at < 0)
        return 0;
    return at < (int64_t)n ? (size_t)at : n;
}

/* The text of the spec (5.4) would refuse a negative offset; the reference's answers, among the golden
 * calls, follow the slice rules (oddity O-9), and so do we. */
static bool make_page(call *c, size_t total, row_page *out)
{
    int64_t offset;
    if (!read_cursor(c, &offset))
        return false;
    out->total = total;
    out->from = slice_place(offset, total);
    out->to = slice_place(offset + c->limit, total);
    if (out->to < out->from)
        out->to = out->from;
    out->next = offset + (int64_t)(out->to - out->from);
    out->truncated = out->next < (int64_t)total;
    return true;
}

static void put_cursor(mk_buf *out, const row_page *page)
{
    if (page->truncated)
        mk_buf_printf(out, "{\"cursor\":\"%lld\"", (long long)page->next);
    else
        mk_buf_z(out, "{\"cursor\":null");
}

static void put_total(mk_buf *out, const row_page *page, bool truncated)
{
    mk_buf_printf(out, ",\"rows_total\":%zu,\"truncated\":%s}", page->total,
                  truncated ? "true" : "false");
}

/* ---- values in rows ---- */

static void put_text(mk_buf *out, const char *before, mk_str text)
{
    mk_buf_z(out, before);
    mk_canon_string(out, text);
}

static void put_int(mk_buf *out, const char *before, int64_t value)
{
    mk_buf_z(out, before);
    mk_buf_i64(out, value);
}

static mk_json *parse_props(call *c, const model_row *v)
{
    mk_json *tree = NULL;
    must(mk_json_parse(&c->arena, v->props, NULL, &tree, NULL) == MK_OK);
    return tree;
}

static bool put_rounded(call *c, mk_json *value)
{
    if (!mk_json_round9(value)) {
        mk_fail(&c->answer->error, MK_E_INVALID_ARG, "a float of the result is not finite");
        return false;
    }
    must(mk_canon_tree(&c->answer->payload, &c->arena, value, NULL) == MK_OK);
    return true;
}

static void put_edge_row(mk_buf *out, const model_row *v)
{
    put_text(out, "{\"dst\":", v->dst);
    put_text(out, ",\"eid\":", v->identity);
    put_text(out, ",\"rel_type\":", v->rel_type);
    put_text(out, ",\"src\":", v->src);
    put_text(out, ",\"vid\":", v->vid);
    put_int(out, ",\"vt_e\":", v->vt_e);
    put_int(out, ",\"vt_s\":", v->vt_s);
    mk_buf_c(out, '}');
}

static void put_edge_rows(mk_buf *out, const model_list *edges, size_t from, size_t to)
{
    mk_buf_c(out, '[');
    for (size_t i = from; i < to; i++) {
        if (i > from)
            mk_buf_c(out, ',');
        put_edge_row(out, edges->rows[i]);
    }
    mk_buf_c(out, ']');
}

/* Keeps the rows that pass; the order stays. */
static void filter_list(model_list *list, bool (*keep)(const model_row *, const void *),
                        const void *with)
{
    size_t n = 0;
    for (size_t i = 0; i < list->n; i++)
        if (keep(list->rows[i], with))
            list->rows[n++] = list->rows[i];
    list->n = n;
}

/* ---- entity_history (7.1) ---- */

static bool put_node_version(call *c, const model_row *v)
{
    mk_buf *out = &c->answer->payload;
    put_text(out, "{\"label\":", v->label);
    mk_buf_z(out, ",\"props\":");
    if (!put_rounded(c, parse_props(c, v)))
        return false;
    mk_buf_z(out, ",\"provenance_ref\":");
    if (v->provenance_null)
        mk_buf_z(out, "null");
    else
        mk_canon_string(out, v->provenance_ref);
    put_text(out, ",\"source\":", v->source);
    put_int(out, ",\"tt_e\":", v->tt_e > c->as_of_tt ? MK_OPEN_END : v->tt_e);
    put_int(out, ",\"tt_s\":", v->tt_s);
    put_text(out, ",\"uid\":", v->identity);
    put_text(out, ",\"vid\":", v->vid);
    put_int(out, ",\"vt_e\":", v->vt_e);
    put_int(out, ",\"vt_s\":", v->vt_s);
    mk_buf_c(out, '}');
    return true;
}

static bool is_incident(const model_row *v, const void *uid)
{
    return mk_str_eq(v->src, *(const mk_str *)uid) || mk_str_eq(v->dst, *(const mk_str *)uid);
}

static bool entity_history(call *c)
{
    mk_buf *out = &c->answer->payload;
    const mk_str uid = text_arg(c, "uid");
    const mk_json *with_edges = mk_json_get(c->args, "include_edges");
    row_page page;
    if (!require_known(c, uid))
        return false;
    const model_list rows = model_believed(c->m, &c->arena, MODEL_NODE, &uid, c->as_of_tt);
    if (!make_page(c, rows.n, &page))
        return false;

    put_cursor(out, &page);
    if (with_edges != NULL && with_edges->b) {
        model_list edges = model_believed(c->m, &c->arena, MODEL_EDGE, NULL, c->as_of_tt);
        filter_list(&edges, is_incident, &uid);
        const bool cut = edges.n > (size_t)c->limit;
        mk_buf_z(out, ",\"edges\":");
        put_edge_rows(out, &edges, 0, cut ? (size_t)c->limit : edges.n);
        mk_buf_printf(out, ",\"edges_truncated\":%s", cut ? "true" : "false");
    }
    mk_buf_z(out, ",\"rows\":[");
    for (size_t i = page.from; i < page.to; i++) {
        if (i > page.from)
            mk_buf_c(out, ',');
        if (!put_node_version(c, rows.rows[i]))
            return false;
    }
    mk_buf_c(out, ']');
    put_total(out, &page, page.truncated);
    return true;
}

/* ---- snapshot_subgraph (7.2) ---- */

enum { NOT_REACHED = -1 };

typedef struct snapshot_node {
    mk_str uid, label;
    int hop; /* NOT_REACHED until a level takes it */
} snapshot_node;

typedef struct snapshot {
    snapshot_node *nodes;
    size_t n;
    model_list edges;
} snapshot;

static bool is_valid_at(const model_row *v, const void *t)
{
    return v->vt_s <= *(const int64_t *)t && *(const int64_t *)t < v->vt_e;
}

static bool has_rel_type(const model_row *v, const void *rel_types)
{
    const mk_json *list = rel_types;
    for (size_t i = 0; i < list->n; i++)
        if (mk_str_eq(list->items[i].text, v->rel_type))
            return true;
    return false;
}

static snapshot_node *find_node(const snapshot *g, mk_str uid)
{
    for (size_t i = 0; i < g->n; i++)
        if (mk_str_eq(g->nodes[i].uid, uid))
            return &g->nodes[i];
    return NULL;
}

/* The nodes and edges that are there at t_valid. */
static snapshot take_snapshot(call *c)
{
    const int64_t t = int_arg(c, "t_valid", 0);
    const mk_json *rel_types = mk_json_get(c->args, "rel_types");
    snapshot g = {.edges = model_believed(c->m, &c->arena, MODEL_EDGE, NULL, c->as_of_tt)};
    filter_list(&g.edges, is_valid_at, &t);
    if (rel_types != NULL && rel_types->kind == MK_JSON_ARRAY)
        filter_list(&g.edges, has_rel_type, rel_types);

    model_list versions = model_believed(c->m, &c->arena, MODEL_NODE, NULL, c->as_of_tt);
    filter_list(&versions, is_valid_at, &t);
    g.nodes = mk_arena_get(&c->arena, versions.n * sizeof *g.nodes);
    must(g.nodes != NULL);
    for (size_t i = 0; i < versions.n; i++) {
        const model_row *v = versions.rows[i];
        snapshot_node *node = find_node(&g, v->identity);
        if (node == NULL)
            node = &g.nodes[g.n++];
        *node = (snapshot_node){.uid = v->identity, .label = v->label, .hop = NOT_REACHED};
    }
    return g;
}

static void reach(snapshot *g, mk_str from, mk_str to, int hop)
{
    const snapshot_node *a = find_node(g, from);
    snapshot_node *b = find_node(g, to);
    if (a != NULL && b != NULL && a->hop == hop - 1 && b->hop == NOT_REACHED)
        b->hop = hop;
}

static bool both_reached(const model_row *v, const void *snapshot_of)
{
    const snapshot *g = snapshot_of;
    const snapshot_node *a = find_node(g, v->src), *b = find_node(g, v->dst);
    return a != NULL && b != NULL && a->hop != NOT_REACHED && b->hop != NOT_REACHED;
}

static int by_hop_and_uid(const void *a, const void *b)
{
    const snapshot_node *x = a, *y = b;
    return x->hop != y->hop ? x->hop - y->hop : mk_str_cmp(x->uid, y->uid);
}

/* Drops the nodes that were not reached and orders the rest. */
static void keep_reached(snapshot *g)
{
    size_t n = 0;
    for (size_t i = 0; i < g->n; i++)
        if (g->nodes[i].hop != NOT_REACHED)
            g->nodes[n++] = g->nodes[i];
    g->n = n;
    qsort(g->nodes, g->n, sizeof *g->nodes, by_hop_and_uid);
}

static void put_nodes(mk_buf *out, const snapshot *g, size_t n)
{
    mk_buf_z(out, ",\"nodes\":[");
    for (size_t i = 0; i < n; i++) {
        put_int(out, i > 0 ? ",{\"hop\":" : "{\"hop\":", g->nodes[i].hop);
        put_text(out, ",\"label\":", g->nodes[i].label);
        put_text(out, ",\"uid\":", g->nodes[i].uid);
        mk_buf_c(out, '}');
    }
    mk_buf_c(out, ']');
}

static bool snapshot_subgraph(call *c)
{
    mk_buf *out = &c->answer->payload;
    const mk_json *seeds = mk_json_get(c->args, "seeds");
    const int hops = (int)int_arg(c, "hops", 1);
    row_page page;
    for (size_t i = 0; i < seeds->n; i++)
        if (!require_known(c, seeds->items[i].text))
            return false;

    snapshot g = take_snapshot(c);
    for (size_t i = 0; i < seeds->n; i++) {
        snapshot_node *seed = find_node(&g, seeds->items[i].text);
        if (seed != NULL)
            seed->hop = 0;
    }
    for (int hop = 1; hop <= hops; hop++) {
        for (size_t i = 0; i < g.edges.n; i++) {
            reach(&g, g.edges.rows[i]->src, g.edges.rows[i]->dst, hop);
            reach(&g, g.edges.rows[i]->dst, g.edges.rows[i]->src, hop);
        }
    }
    filter_list(&g.edges, both_reached, &g);
    keep_reached(&g);
    if (!make_page(c, g.edges.n, &page))
        return false;

    const bool cut = g.n > (size_t)c->limit;
    put_cursor(out, &page);
    put_nodes(out, &g, cut ? (size_t)c->limit : g.n);
    mk_buf_printf(out, ",\"nodes_total\":%zu,\"nodes_truncated\":%s,\"rows\":", g.n,
                  cut ? "true" : "false");
    put_edge_rows(out, &g.edges, page.from, page.to);
    put_total(out, &page, page.truncated || cut);
    return true;
}

/* ---- resolve_entities (7.12) ---- */

enum { MATCH_UID = 0, MATCH_IN_UID = 1, MATCH_IN_NAME = 2, NO_MATCH = 3 };

typedef struct resolved {
    const model_row *latest;
    mk_json *name; /* of the latest version; NULL when it has none */
    int match;
} resolved;

static mk_json *name_of(call *c, const model_row *v)
{
    mk_json *props = parse_props(c, v);
    for (size_t i = 0; props->kind == MK_JSON_OBJECT && i < props->n; i++)
        if (mk_str_eq(props->members[i].key, MK_STR("name")))
            return &props->members[i].value;
    return NULL;
}

static int score(mk_str uid, const mk_json *name, mk_str query, mk_str lower_query)
{
    if (mk_str_eq(uid, query))
        return MATCH_UID;
    if (model_lower_contains(uid, lower_query))
        return MATCH_IN_UID;
    if (name != NULL && name->kind == MK_JSON_STRING && model_lower_contains(name->text, lower_query))
        return MATCH_IN_NAME;
    return NO_MATCH;
}

/* One entry for a uid with believed versions: the best score of them all, and the latest version. */
static resolved resolve_uid(call *c, mk_str uid, const model_list *versions, mk_str query,
                            mk_str lower_query)
{
    resolved entry = {.match = NO_MATCH};
    for (size_t i = 0; i < versions->n; i++) {
        const model_row *v = versions->rows[i];
        entry.latest = v; /* they come in scan order */
        entry.name = name_of(c, v);
        const int match = score(uid, entry.name, query, lower_query);
        entry.match = match < entry.match ? match : entry.match;
    }
    return entry;
}

static int by_match_and_uid(const void *a, const void *b)
{
    const resolved *x = a, *y = b;
    return x->match != y->match ? x->match - y->match
                                : mk_str_cmp(x->latest->identity, y->latest->identity);
}

static resolved *resolve_all(call *c, mk_str query, mk_str lower_query, size_t *n)
{
    const mk_json *label = mk_json_get(c->args, "label");
    const bool any = label == NULL || label->kind == MK_JSON_NULL;
    const size_t known = model_entity_count(c->m);
    resolved *all = mk_arena_get(&c->arena, known * sizeof *all);
    must(all != NULL);
    *n = 0;
    for (size_t i = 0; i < known; i++) {
        const mk_str uid = model_entity(c->m, i);
        const model_list versions =
            model_believed(c->m, &c->arena, MODEL_NODE, &uid, c->as_of_tt);
        const resolved entry = resolve_uid(c, uid, &versions, query, lower_query);
        if (entry.match != NO_MATCH && (any || mk_str_eq(entry.latest->label, label->text)))
            all[(*n)++] = entry;
    }
    qsort(all, *n, sizeof *all, by_match_and_uid);
    return all;
}

static bool put_resolved(call *c, const resolved *entry)
{
    mk_buf *out = &c->answer->payload;
    put_text(out, "{\"label\":", entry->latest->label);
    put_int(out, ",\"match\":", entry->match);
    mk_buf_z(out, ",\"name\":");
    if (entry->name == NULL)
        mk_buf_z(out, "null");
    else if (!put_rounded(c, entry->name))
        return false;
    put_text(out, ",\"uid\":", entry->latest->identity);
    mk_buf_c(out, '}');
    return true;
}

static bool resolve_entities(call *c)
{
    mk_buf *out = &c->answer->payload;
    const mk_str query = text_arg(c, "query");
    mk_buf lower;
    size_t n;
    row_page page;
    mk_buf_init(&lower, &mk_alloc_default);
    model_lower(&lower, query);
    must(!lower.failed);
    const resolved *all = resolve_all(c, query, mk_buf_view(&lower), &n);
    mk_buf_free(&lower);
    if (!make_page(c, n, &page))
        return false;

    put_cursor(out, &page);
    mk_buf_z(out, ",\"rows\":[");
    for (size_t i = page.from; i < page.to; i++) {
        if (i > page.from)
            mk_buf_c(out, ',');
        if (!put_resolved(c, &all[i]))
            return false;
    }
    mk_buf_c(out, ']');
    put_total(out, &page, page.truncated);
    return true;
}

/* ---- the pipeline (5.1) ---- */

typedef struct operator_spec {
    const char *name;
    const arg *args;
    bool (*run)(call *);
    bool one_entity; /* priced by the versions of one entity, otherwise by a scan (5.6) */
    double coefficient;
} operator_spec;

static const operator_spec operators[] = {
    {"entity_history", history_args, entity_history, true, 55.0},
    {"resolve_entities", resolve_args, resolve_entities, false, 170.0},
    {"snapshot_subgraph", snapshot_args, snapshot_subgraph, false, 115.0},
};

static int64_t ceiling(int64_t given, int64_t otherwise) { return given != 0 ? given : otherwise; }

static bool check_cost(call *c, const operator_spec *op, const model_ceilings *given)
{
    const model_ceilings none = {0};
    const model_stats stats = model_stats_of(c->m);
    const int64_t nodes = (int64_t)stats.n_node_versions, edges = (int64_t)stats.n_edge_versions;
    const int64_t entities = stats.n_entities > 0 ? (int64_t)stats.n_entities : 1;
    const int64_t each = (nodes + entities - 1) / entities;
    const int64_t rows = op->one_entity ? (each > 1 ? each : 1) : edges + nodes;
    const int64_t time_ms = (int64_t)((double)rows * op->coefficient / 1000000.0);
    given = given != NULL ? given : &none;
    if (rows <= ceiling(given->rows_scanned_est, INT64_C(5120000000)) &&
        time_ms <= ceiling(given->time_est_ms, 10000))
        return true;
    mk_fail(&c->answer->error, MK_E_COST, "the estimate of %lld rows and %lld ms is over a ceiling",
            (long long)rows, (long long)time_ms);
    return false;
}

static bool run(call *c, const operator_spec *op, const model_ceilings *ceilings)
{
    if (!check_args(c, op->args))
        return false;
    c->as_of_tt = int_arg(c, "as_of_tt", MK_OPEN_END);
    c->limit = int_arg(c, "limit", LIMIT_DEFAULT);
    c->cursor = text_arg(c, "cursor");
    return check_cost(c, op, ceilings) && op->run(c);
}

static const operator_spec *find_operator(const char *name)
{
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (strcmp(operators[i].name, name) == 0)
            return &operators[i];
    return NULL;
}

static void seal(model_answer *answer)
{
    uint8_t hash[32];
    must(!answer->payload.failed && !answer->extent.failed);
    mk_sha256_of(answer->payload.p, answer->payload.n, hash);
    mk_hex(answer->digest, hash, 32);
    answer->digest[64] = '\0';
}

void model_call(const model *m, const char *op, const mk_json *args,
                const model_ceilings *ceilings, model_answer *answer)
{
    const operator_spec *spec = find_operator(op);
    call c = {.m = m, .args = args, .answer = answer};
    mk_arena_init(&c.arena, &mk_alloc_default);
    mk_buf_clear(&answer->payload);
    mk_buf_clear(&answer->extent);
    mk_buf_clear(&answer->path);
    answer->digest[0] = '\0';
    if (spec == NULL)
        mk_fail(&answer->error, MK_E_INVALID_ARG, "unknown operator: %s", op);
    answer->ok = spec != NULL && run(&c, spec, ceilings);
    if (answer->ok) {
        model_extent_json(m, &answer->extent);
        seal(answer);
    } else {
        mk_buf_clear(&answer->payload);
    }
    mk_arena_free(&c.arena);
}

void model_answer_init(model_answer *answer)
{
    memset(answer, 0, sizeof *answer);
    mk_buf_init(&answer->payload, &mk_alloc_default);
    mk_buf_init(&answer->extent, &mk_alloc_default);
    mk_buf_init(&answer->path, &mk_alloc_default);
}

void model_answer_free(model_answer *answer)
{
    mk_buf_free(&answer->payload);
    mk_buf_free(&answer->extent);
    mk_buf_free(&answer->path);
}

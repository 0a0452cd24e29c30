/* model.c — rows and writing of the slow model. See model.h.
 *
 * Two arrays of rows hold every version ever kept. A batch works on them in place; before it starts
 * both are copied, and a failing batch puts the copies back. Nothing is indexed. */
#include "model.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/sha256.h"

typedef struct rows {
    model_row *p;
    size_t n;
    size_t cap;
} rows;

struct model {
    mk_arena text;    /* every text of every row */
    mk_arena scratch; /* dies with the batch */
    rows rows[2];     /* by model_kind */
    mk_str *entities; /* by dense id */
    size_t entity_count, entity_cap;
    int64_t *applied; /* tts of the batches that succeeded */
    size_t applied_count, applied_cap;
    int64_t tt; /* of the batch being applied, or of the last one */
};

static void must(bool ok)
{
    if (!ok) {
        fputs("model: out of memory\n", stderr);
        abort();
    }
}

static void grow(void *p, size_t *cap, size_t need, size_t elem)
{
    void *block;
    memcpy(&block, p, sizeof block);
    must(mk_grow(&mk_alloc_default, &block, cap, need, elem, NULL) == MK_OK);
    memcpy(p, &block, sizeof block);
}

static mk_str keep(model *m, mk_str s)
{
    const mk_str copy = mk_arena_copy(&m->text, s);
    must(copy.p != NULL);
    return copy;
}

model *model_new(void)
{
    model *m = mk_new0(&mk_alloc_default, sizeof *m);
    must(m != NULL);
    mk_arena_init(&m->text, &mk_alloc_default);
    mk_arena_init(&m->scratch, &mk_alloc_default);
    m->tt = INT64_MIN;
    return m;
}

void model_free(model *m)
{
    if (m == NULL)
        return;
    for (int kind = 0; kind < 2; kind++)
        mk_free(&mk_alloc_default, m->rows[kind].p, m->rows[kind].cap * sizeof(model_row));
    mk_free(&mk_alloc_default, m->entities, m->entity_cap * sizeof(mk_str));
    mk_free(&mk_alloc_default, m->applied, m->applied_cap * sizeof(int64_t));
    mk_arena_free(&m->scratch);
    mk_arena_free(&m->text);
    mk_free(&mk_alloc_default, m, sizeof *m);
}

/* ---- ids (section 4) ---- */

static void hex24_of(const mk_buf *text, char hex[25])
{
    uint8_t hash[32];
    must(!text->failed);
    mk_sha256_of(text->p, text->n, hash);
    mk_hex(hex, hash, 12);
    hex[24] = '\0';
}

void model_eid(mk_str src, mk_str dst, mk_str rel_type, mk_str disc, bool disc_null, char eid[25])
{
    mk_buf text;
    mk_buf_init(&text, &mk_alloc_default);
    mk_buf_c(&text, '[');
    mk_canon_string(&text, src);
    mk_buf_c(&text, ',');
    mk_canon_string(&text, dst);
    mk_buf_c(&text, ',');
    mk_canon_string(&text, rel_type);
    mk_buf_c(&text, ',');
    if (disc_null)
        mk_buf_z(&text, "null");
    else
        mk_canon_string(&text, disc);
    mk_buf_c(&text, ']');
    hex24_of(&text, eid);
    mk_buf_free(&text);
}

static mk_str edge_identity(model *m, const model_row *row)
{
    char eid[25];
    model_eid(row->src, row->dst, row->rel_type, row->disc, row->disc_null, eid);
    return keep(m, mk_str_of(eid));
}

static mk_str version_id(model *m, mk_str identity, int64_t tt_s, int64_t vt_s)
{
    char vid[25];
    mk_buf text;
    mk_buf_init(&text, &mk_alloc_default);
    mk_buf_str(&text, identity);
    mk_buf_c(&text, ':');
    mk_buf_i64(&text, tt_s);
    mk_buf_c(&text, ':');
    mk_buf_i64(&text, vt_s);
    hex24_of(&text, vid);
    mk_buf_free(&text);
    return keep(m, mk_str_of(vid));
}

/* ---- the rules every op shares (section 7.2) ---- */

static bool believed_now(const model_row *v) { return v->tt_e == MK_OPEN_END; }

static bool overlaps(const model_row *v, int64_t s, int64_t e)
{
    return v->vt_s < e && s < v->vt_e;
}

static bool valid_at(const model_row *v, int64_t t, int64_t unused)
{
    (void)unused;
    return v->vt_s <= t && t < v->vt_e;
}

static void insert_row(model *m, model_kind kind, model_row row)
{
    rows *all = &m->rows[kind];
    row.tt_s = m->tt;
    row.tt_e = MK_OPEN_END;
    row.vid = version_id(m, row.identity, row.tt_s, row.vt_s);
    grow(&all->p, &all->cap, all->n + 1, sizeof *all->p);
    all->p[all->n++] = row;
}

/* A version of an earlier batch is closed; one of this batch never existed and is taken out. */
static void supersede(model *m, model_kind kind, size_t index)
{
    rows *all = &m->rows[kind];
    if (all->p[index].tt_s != m->tt) {
        all->p[index].tt_e = m->tt;
        return;
    }
    memmove(&all->p[index], &all->p[index + 1], (all->n - index - 1) * sizeof *all->p);
    all->n--;
}

int model_scan_order(const model_row *x, const model_row *y)
{
    if (x->vt_s != y->vt_s)
        return x->vt_s < y->vt_s ? -1 : 1;
    return mk_str_cmp(x->vid, y->vid);
}

/* By insertion, because rows that agree (oddity 2) must keep the order of writing. */
static void sort_hits(model_row *hits, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        const model_row row = hits[i];
        size_t at = i;
        for (; at > 0 && model_scan_order(&row, &hits[at - 1]) < 0; at--)
            hits[at] = hits[at - 1];
        hits[at] = row;
    }
}

/* Supersedes the versions of `identity` that are believed now and match, and returns copies of them
 * as they were, ordered by (vt_s, vid). */
static model_row *take_hits(model *m, model_kind kind, mk_str identity,
                            bool (*match)(const model_row *, int64_t, int64_t), int64_t s,
                            int64_t e, size_t *count)
{
    const rows *all = &m->rows[kind];
    size_t n = 0;
    for (size_t i = 0; i < all->n; i++) {
        const model_row *v = &all->p[i];
        n += believed_now(v) && mk_str_eq(v->identity, identity) && match(v, s, e);
    }
    model_row *hits = mk_arena_get(&m->scratch, n * sizeof *hits);
    must(hits != NULL);
    *count = n;
    for (size_t i = all->n; i-- > 0;) {
        const model_row *v = &all->p[i];
        if (believed_now(v) && mk_str_eq(v->identity, identity) && match(v, s, e)) {
            hits[--n] = *v;
            supersede(m, kind, i);
        }
    }
    sort_hits(hits, *count);
    return hits;
}

static void insert_fragment(model *m, model_kind kind, const model_row *from, int64_t s, int64_t e)
{
    model_row piece = *from;
    piece.vt_s = s;
    piece.vt_e = e;
    insert_row(m, kind, piece);
}

/* Keeps what the hits say outside [s, e). */
static void insert_remainders(model *m, model_kind kind, const model_row *hits, size_t n, int64_t s,
                              int64_t e)
{
    for (size_t i = 0; i < n; i++) {
        const model_row *v = &hits[i];
        if (v->vt_s < s)
            insert_fragment(m, kind, v, v->vt_s, v->vt_e < s ? v->vt_e : s);
        if (e < v->vt_e)
            insert_fragment(m, kind, v, v->vt_s > e ? v->vt_s : e, v->vt_e);
    }
}

static void register_entity(model *m, mk_str uid)
{
    if (model_knows(m, uid))
        return;
    grow(&m->entities, &m->entity_cap, m->entity_count + 1, sizeof *m->entities);
    m->entities[m->entity_count++] = keep(m, uid);
}

/* ---- members of an op; a wrong one is malformed and fails the batch ---- */

static bool malformed(const char *name, const char *what, mk_err *err)
{
    mk_fail(err, MK_E_INVALID_ARG, "malformed op: member %s is %s", name, what);
    return false;
}

static bool read_text(model *m, const mk_json *op, const char *name, const char *otherwise,
                      mk_str *out, mk_err *err)
{
    const mk_json *value = mk_json_get(op, name);
    if (value == NULL) {
        if (otherwise == NULL)
            return malformed(name, "missing", err);
        *out = keep(m, mk_str_of(otherwise));
        return true;
    }
    if (value->kind != MK_JSON_STRING)
        return malformed(name, "not a string", err);
    *out = keep(m, value->text);
    return true;
}

static bool read_text_or_null(model *m, const mk_json *op, const char *name, const char *otherwise,
                              mk_str *out, bool *null, mk_err *err)
{
    const mk_json *value = mk_json_get(op, name);
    *null = value != NULL ? value->kind == MK_JSON_NULL : otherwise == NULL;
    if (*null)
        return true;
    return read_text(m, op, name, otherwise, out, err);
}

static bool read_int(const mk_json *op, const char *name, const int64_t *otherwise, int64_t *out,
                     mk_err *err)
{
    const mk_json *value = mk_json_get(op, name);
    if (value == NULL && otherwise == NULL)
        return malformed(name, "missing", err);
    if (value != NULL && (value->kind != MK_JSON_INT || value->b))
        return malformed(name, "not a 64-bit integer", err);
    *out = value != NULL ? value->i : *otherwise;
    return true;
}

static mk_str canonical(model *m, const mk_json *value)
{
    mk_buf text;
    mk_buf_init(&text, &mk_alloc_default);
    must(mk_canon_tree(&text, &m->scratch, value, NULL) == MK_OK);
    const mk_str kept = keep(m, mk_buf_view(&text));
    mk_buf_free(&text);
    return kept;
}

static bool read_props(model *m, const mk_json *op, bool required, mk_str *out, mk_err *err)
{
    const mk_json *value = mk_json_get(op, "props");
    if (value == NULL && required)
        return malformed("props", "missing", err);
    *out = value != NULL ? canonical(m, value) : MK_STR("{}");
    return true;
}

/* An empty source reads back as "ingest" (section 5, oddity 11). */
static bool read_origin(model *m, const mk_json *op, model_row *row, mk_err *err)
{
    if (!read_text(m, op, "source", "ingest", &row->source, err))
        return false;
    if (row->source.n == 0)
        row->source = MK_STR("ingest");
    return read_text_or_null(m, op, "provenance_ref", NULL, &row->provenance_ref,
                             &row->provenance_null, err);
}

static bool read_endpoints(model *m, const mk_json *op, model_row *row, mk_err *err)
{
    return read_text(m, op, "src", NULL, &row->src, err) &&
           read_text(m, op, "dst", NULL, &row->dst, err) &&
           read_text(m, op, "rel_type", NULL, &row->rel_type, err);
}

static bool read_interval(const mk_json *op, int64_t *vt_s, int64_t *vt_e, mk_err *err)
{
    const int64_t open = MK_OPEN_END;
    if (!read_int(op, "vt_s", NULL, vt_s, err) || !read_int(op, "vt_e", &open, vt_e, err))
        return false;
    if (*vt_s >= *vt_e) {
        mk_fail(err, MK_E_INVALID_ARG, "invalid interval: [%lld, %lld)", (long long)*vt_s,
                (long long)*vt_e);
        return false;
    }
    return true;
}

/* What a retract or correct is about. */
static bool read_ref(model *m, const mk_json *op, model_kind *kind, mk_str *identity, mk_err *err)
{
    const mk_json *ref = mk_json_get(op, "ref");
    mk_str name;
    model_row edge = {0};
    if (ref == NULL || ref->kind != MK_JSON_OBJECT)
        return malformed("ref", "not an object", err);
    if (!read_text(m, ref, "kind", NULL, &name, err))
        return false;
    if (mk_str_eq(name, MK_STR("node"))) {
        *kind = MODEL_NODE;
        if (!read_text(m, ref, "uid", NULL, identity, err))
            return false;
        return identity->n > 0 || malformed("uid", "empty", err);
    }
    if (!mk_str_eq(name, MK_STR("edge")))
        return malformed("kind", "neither node nor edge", err);
    *kind = MODEL_EDGE;
    if (!read_endpoints(m, ref, &edge, err) ||
        !read_text_or_null(m, ref, "disc", "", &edge.disc, &edge.disc_null, err))
        return false;
    if (edge.src.n == 0 || edge.dst.n == 0 || edge.rel_type.n == 0)
        return malformed("ref", "an edge without src, dst or rel_type", err);
    *identity = edge_identity(m, &edge);
    return true;
}

/* ---- the five ops (sections 7.3 to 7.7) ---- */

static void assert_version(model *m, model_kind kind, const model_row *row)
{
    size_t n;
    const model_row *hits =
        take_hits(m, kind, row->identity, overlaps, row->vt_s, row->vt_e, &n);
    insert_remainders(m, kind, hits, n, row->vt_s, row->vt_e);
    insert_row(m, kind, *row);
}

static bool apply_assert_node(model *m, const mk_json *op, mk_err *err)
{
    model_row row = {0};
    if (!read_text(m, op, "uid", NULL, &row.identity, err) ||
        !read_text(m, op, "label", NULL, &row.label, err) ||
        !read_props(m, op, false, &row.props, err) || !read_origin(m, op, &row, err) ||
        !read_interval(op, &row.vt_s, &row.vt_e, err))
        return false;
    register_entity(m, row.identity);
    assert_version(m, MODEL_NODE, &row);
    return true;
}

static bool apply_assert_edge(model *m, const mk_json *op, mk_err *err)
{
    model_row row = {0};
    if (!read_endpoints(m, op, &row, err) ||
        !read_text_or_null(m, op, "disc", "", &row.disc, &row.disc_null, err) ||
        !read_props(m, op, false, &row.props, err) || !read_origin(m, op, &row, err) ||
        !read_interval(op, &row.vt_s, &row.vt_e, err))
        return false;
    row.identity = edge_identity(m, &row);
    register_entity(m, row.src);
    register_entity(m, row.dst);
    assert_version(m, MODEL_EDGE, &row);
    return true;
}

static bool apply_retract(model *m, const mk_json *op, mk_err *err)
{
    model_kind kind;
    mk_str identity;
    int64_t t;
    size_t n;
    if (!read_ref(m, op, &kind, &identity, err) || !read_int(op, "t", NULL, &t, err))
        return false;
    const model_row *hits = take_hits(m, kind, identity, valid_at, t, 0, &n);
    for (size_t i = 0; i < n; i++)
        if (hits[i].vt_s < t)
            insert_fragment(m, kind, &hits[i], hits[i].vt_s, t);
    if (n == 0)
        mk_fail(err, MK_E_NOT_FOUND, "no believed %s version of %.*s valid at %lld",
                kind == MODEL_NODE ? "node" : "edge", MK_STR_ARG(identity), (long long)t);
    return n > 0;
}

static bool apply_correct(model *m, const mk_json *op, mk_err *err)
{
    model_kind kind;
    model_row given = {0};
    size_t n;
    if (!read_ref(m, op, &kind, &given.identity, err) ||
        !read_props(m, op, true, &given.props, err) || !read_origin(m, op, &given, err) ||
        !read_interval(op, &given.vt_s, &given.vt_e, err))
        return false;
    const model_row *hits =
        take_hits(m, kind, given.identity, overlaps, given.vt_s, given.vt_e, &n);
    if (n == 0) {
        mk_fail(err, MK_E_NOT_FOUND, "no believed %s version of %.*s overlaps vt",
                kind == MODEL_NODE ? "node" : "edge", MK_STR_ARG(given.identity));
        return false;
    }
    insert_remainders(m, kind, hits, n, given.vt_s, given.vt_e);

    model_row row = hits[0]; /* label or endpoints of the earliest hit */
    row.vt_s = given.vt_s;
    row.vt_e = given.vt_e;
    row.props = given.props;
    row.source = given.source;
    row.provenance_ref = given.provenance_ref;
    row.provenance_null = given.provenance_null;
    insert_row(m, kind, row);
    return true;
}

/* One event as an edge version; `number` is its position in the call, for the default disc. */
static bool read_event(model *m, const mk_json *event, int64_t number, model_row *row, mk_err *err)
{
    char disc[32];
    if (event->kind != MK_JSON_OBJECT)
        return malformed("events", "not a list of objects", err);
    snprintf(disc, sizeof disc, "#%lld", (long long)number);
    if (!read_endpoints(m, event, row, err) || !read_int(event, "vt_s", NULL, &row->vt_s, err) ||
        !read_text_or_null(m, event, "disc", disc, &row->disc, &row->disc_null, err) ||
        !read_props(m, event, false, &row->props, err))
        return false;

    const mk_json *end = mk_json_get(event, "vt_e");
    const int64_t absent = 0;
    row->vt_e = 0;
    if (end != NULL && end->kind != MK_JSON_NULL &&
        !read_int(event, "vt_e", &absent, &row->vt_e, err))
        return false;
    if (row->vt_e == 0) { /* an end of 0 reads as absent (oddity 3) */
        if (row->vt_s == INT64_MAX)
            return malformed("vt_s", "too late to end one microsecond later", err);
        row->vt_e = row->vt_s + 1;
    }
    row->identity = edge_identity(m, row);
    return true;
}

typedef struct first_seen {
    mk_str uid;
    int64_t vt_s;
    bool known; /* has a believed version already */
} first_seen;

/* Appends the uid, or lowers the time at which it was first seen. Returns the new count. */
static size_t note_first(first_seen *first, size_t n, mk_str uid, int64_t vt_s)
{
    for (size_t i = 0; i < n; i++) {
        if (mk_str_eq(first[i].uid, uid)) {
            first[i].vt_s = vt_s < first[i].vt_s ? vt_s : first[i].vt_s;
            return n;
        }
    }
    first[n] = (first_seen){.uid = uid, .vt_s = vt_s};
    return n + 1;
}

static bool has_believed_node(const model *m, mk_str uid)
{
    const rows *nodes = &m->rows[MODEL_NODE];
    for (size_t i = 0; i < nodes->n; i++)
        if (believed_now(&nodes->p[i]) && mk_str_eq(nodes->p[i].identity, uid))
            return true;
    return false;
}

static bool apply_ingest(model *m, const mk_json *op, mk_err *err)
{
    const mk_json *events = mk_json_get(op, "events");
    model_row origin = {0};
    int64_t offset;
    const int64_t zero = 0;
    if (events == NULL || events->kind != MK_JSON_ARRAY)
        return malformed("events", "not an array", err);
    if (!read_int(op, "offset", &zero, &offset, err) || !read_origin(m, op, &origin, err) ||
        !read_text(m, op, "node_label", "Node", &origin.label, err))
        return false;
    if (offset > INT64_MAX - (int64_t)events->n)
        return malformed("offset", "too large", err);

    model_row *edges = mk_arena_get0(&m->scratch, events->n * sizeof *edges);
    first_seen *first = mk_arena_get(&m->scratch, 2 * events->n * sizeof *first);
    size_t first_count = 0;
    must(edges != NULL && first != NULL);
    for (size_t i = 0; i < events->n; i++) {
        edges[i].source = origin.source;
        edges[i].provenance_ref = origin.provenance_ref;
        edges[i].provenance_null = origin.provenance_null;
        if (!read_event(m, &events->items[i], offset + (int64_t)i, &edges[i], err))
            return false;
        first_count = note_first(first, first_count, edges[i].src, edges[i].vt_s);
        first_count = note_first(first, first_count, edges[i].dst, edges[i].vt_s);
    }

    for (size_t i = 0; i < first_count; i++) {
        first[i].known = has_believed_node(m, first[i].uid);
        register_entity(m, first[i].uid);
    }
    for (size_t i = 0; i < first_count; i++) {
        model_row node = origin;
        node.identity = first[i].uid;
        node.props = MK_STR("{}");
        node.vt_s = first[i].vt_s;
        node.vt_e = MK_OPEN_END;
        if (!first[i].known)
            insert_row(m, MODEL_NODE, node);
    }
    for (size_t i = 0; i < events->n; i++)
        insert_row(m, MODEL_EDGE, edges[i]);
    return true;
}

static bool apply_op(model *m, const mk_json *op, mk_err *err)
{
    static const struct {
        const char *name;
        bool (*apply)(model *, const mk_json *, mk_err *);
    } kinds[] = {{"assert_node", apply_assert_node},
                 {"assert_edge", apply_assert_edge},
                 {"retract", apply_retract},
                 {"correct", apply_correct},
                 {"ingest_events", apply_ingest}};
    const mk_json *name = mk_json_get(op, "op");
    if (name == NULL || name->kind != MK_JSON_STRING)
        return malformed("op", "not a string", err);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (mk_str_eq(name->text, mk_str_of(kinds[i].name)))
            return kinds[i].apply(m, op, err);
    mk_fail(err, MK_E_INVALID_ARG, "unknown op kind: %.*s", MK_STR_ARG(name->text));
    return false;
}

/* ---- batches (section 8) ---- */

typedef struct saved {
    model_row *rows[2];
    size_t n[2];
    size_t entity_count;
} saved;

static saved save(model *m)
{
    saved before = {.entity_count = m->entity_count};
    for (int kind = 0; kind < 2; kind++) {
        const size_t size = m->rows[kind].n * sizeof(model_row);
        before.n[kind] = m->rows[kind].n;
        before.rows[kind] = mk_arena_get(&m->scratch, size);
        must(before.rows[kind] != NULL);
        if (size > 0)
            memcpy(before.rows[kind], m->rows[kind].p, size);
    }
    return before;
}

static void restore(model *m, const saved *before)
{
    m->entity_count = before->entity_count;
    for (int kind = 0; kind < 2; kind++) {
        /* A batch only ever lets the capacity grow. */
        m->rows[kind].n = before->n[kind];
        if (before->n[kind] > 0)
            memcpy(m->rows[kind].p, before->rows[kind], before->n[kind] * sizeof(model_row));
    }
}

bool model_apply(model *m, int64_t tt, const mk_json *ops, mk_err *err)
{
    if (tt <= m->tt) {
        mk_fail(err, MK_E_STATE, "tt %lld is not after %lld", (long long)tt, (long long)m->tt);
        return false;
    }
    m->tt = tt; /* a failed batch uses up its time too */

    const saved before = save(m);
    bool ok = ops->kind == MK_JSON_ARRAY || malformed("ops", "not an array", err);
    for (size_t i = 0; ok && i < ops->n; i++)
        ok = apply_op(m, &ops->items[i], err);
    if (ok) {
        grow(&m->applied, &m->applied_cap, m->applied_count + 1, sizeof *m->applied);
        m->applied[m->applied_count++] = tt;
    } else {
        restore(m, &before);
    }
    mk_arena_reset(&m->scratch);
    return ok;
}

bool model_apply_text(model *m, int64_t tt, mk_str ops, mk_err *err)
{
    mk_arena arena;
    mk_json *tree = NULL;
    mk_arena_init(&arena, &mk_alloc_default);
    if (mk_json_parse(&arena, ops, NULL, &tree, err) != MK_OK) {
        fprintf(stderr, "model: the test's own ops do not parse: %.*s\n", MK_STR_ARG(ops));
        abort();
    }
    const bool ok = model_apply(m, tt, tree, err);
    mk_arena_free(&arena);
    return ok;
}

/* ---- what is there ---- */

size_t model_entity_count(const model *m) { return m->entity_count; }

mk_str model_entity(const model *m, size_t index) { return m->entities[index]; }

bool model_knows(const model *m, mk_str uid)
{
    for (size_t i = 0; i < m->entity_count; i++)
        if (mk_str_eq(m->entities[i], uid))
            return true;
    return false;
}

const model_row *model_rows(const model *m, model_kind kind, size_t *n)
{
    *n = m->rows[kind].n;
    return m->rows[kind].p;
}

static int in_scan_order(const void *a, const void *b)
{
    const model_row *x = *(const model_row *const *)a, *y = *(const model_row *const *)b;
    const int order = model_scan_order(x, y);
    return order != 0 ? order : (x < y ? -1 : x > y); /* then the order of writing */
}

model_list model_believed(const model *m, mk_arena *arena, model_kind kind, const mk_str *identity,
                          int64_t as_of)
{
    const rows *all = &m->rows[kind];
    const int64_t at = as_of < MK_OPEN_END ? as_of : MK_OPEN_END - 1;
    model_list list = {.rows = mk_arena_get(arena, all->n * sizeof *list.rows)};
    must(list.rows != NULL);
    for (size_t i = 0; i < all->n; i++) {
        const model_row *v = &all->p[i];
        if (v->tt_s <= at && at < v->tt_e &&
            (identity == NULL || mk_str_eq(v->identity, *identity)))
            list.rows[list.n++] = v;
    }
    qsort(list.rows, list.n, sizeof *list.rows, in_scan_order);
    return list;
}

bool model_is_disjoint(const model *m, mk_str *identity)
{
    for (int kind = 0; kind < 2; kind++) {
        const rows *all = &m->rows[kind];
        for (size_t i = 0; i < all->n; i++) {
            for (size_t j = i + 1; j < all->n; j++) {
                const model_row *x = &all->p[i], *y = &all->p[j];
                if (overlaps(x, y->vt_s, y->vt_e) && x->tt_s < y->tt_e && y->tt_s < x->tt_e &&
                    mk_str_eq(x->identity, y->identity)) {
                    *identity = x->identity;
                    return false;
                }
            }
        }
    }
    return true;
}

static bool is_applied(const model *m, int64_t tt)
{
    for (size_t i = 0; i < m->applied_count; i++)
        if (m->applied[i] == tt)
            return true;
    return false;
}

bool model_times_are_real(const model *m)
{
    for (int kind = 0; kind < 2; kind++) {
        for (size_t i = 0; i < m->rows[kind].n; i++) {
            const model_row *v = &m->rows[kind].p[i];
            if (v->tt_s >= v->tt_e || !is_applied(m, v->tt_s) ||
                (v->tt_e != MK_OPEN_END && !is_applied(m, v->tt_e)))
                return false;
        }
    }
    return true;
}

/* digest.c — one hash over every stored version. Layer: store.
 *
 * The digest is the SHA-256 of one JSON document with all edge rows in order of (eid, tt_s, vt_s, vid) and
 * then all node rows in order of (uid, tt_s, vt_s, vid). eids are not stored, so the rows are keyed by
 * hashing first. Memory is bounded: when there are more edge rows than a pass holds, several passes
 * each take a slice of the eid space. Source: store spec, section 11. */
#include <stdlib.h>

#include "base/sha256.h"
#include "store/internal.h"

#define PASS_ROWS (UINT64_C(1) << 23)

typedef struct item {
    uint8_t key[12];      /* eid; for nodes unused */
    uint32_t part, row;   /* part MK_NONE: tail */
    int64_t tt_s, vt_s;
} item;

typedef struct job {
    mk_store *store;
    const mk_state *state;
    item *items;
    size_t count, cap;
    mk_sha256 sha;
    mk_buf text, scratch;
    bool first;
    void (*progress)(void *ctx, uint64_t done, uint64_t total);
    void *progress_ctx;
    uint64_t done, total;
} job;

/* ---- gathering ---- */

/* A row as the digest sees it. */
typedef struct row_view {
    int64_t vt_s, vt_e, disc;
    uint32_t a, b, rel, origin, seq_s, seq_e;
    mk_str props;
} row_view;

static mk_code read_row(const job *j, uint32_t part, uint32_t number, row_view *out, mk_err *err)
{
    mk_code rc = MK_OK;
    if (part == MK_NONE) {
        const mk_tail_row *row = mk_state_row(j->state, number);
        *out = (row_view){row->vt_s, row->vt_e, row->disc, row->a, row->b, row->rel, row->origin,
                          row->seq_s, atomic_load_explicit(&row->seq_e, memory_order_acquire),
                          {row->props, row->props_size}};
        goto out;
    }
    mk_segment *segment = j->state->segments[part];
    int64_t v[MK_C_ROW_COLUMNS];
    for (int id = 0; id < MK_C_ROW_COLUMNS; id++) {
        const mk_col *col;
        MK_TRY(rc, mk_segment_col(segment, (mk_col_id)id, &col, err));
        v[id] = mk_col_get(col, number);
    }
    MK_TRY(rc, mk_segment_props(segment, number, &out->props, err));
    out->vt_s = v[MK_C_VT_S];
    out->vt_e = mk_end_of(segment, v[MK_C_VT_S], v[MK_C_VT_E]);
    out->disc = v[MK_C_DISC];
    out->a = (uint32_t)v[MK_C_A];
    out->b = (uint32_t)v[MK_C_B];
    out->rel = (uint32_t)v[MK_C_REL];
    out->origin = (uint32_t)v[MK_C_ORIGIN];
    out->seq_s = (uint32_t)v[MK_C_SEQ_S];
    out->seq_e = segment->past ? (uint32_t)v[MK_C_SEQ_E] : mk_segment_end_seq(segment, number);
out:
    return rc;
}

typedef mk_code each_row(job *j, uint32_t part, uint32_t number, void *ctx, mk_err *err);

static bool is_node_part(const job *j, uint32_t part)
{
    return mk_lane_is_node(j->state->segments[part]->lane);
}

/* Every row of one kind that the state holds. */
static mk_code walk(job *j, bool nodes, each_row *each, void *ctx, mk_err *err)
{
    const mk_state *state = j->state;
    mk_code rc = MK_OK;
    for (uint32_t part = 0; part < state->first[MK_LANE_COUNT]; part++)
        for (uint32_t row = 0; is_node_part(j, part) == nodes && row < state->segments[part]->rows; row++)
            MK_TRY(rc, each(j, part, row, ctx, err));
    for (uint32_t number = state->tail_lo; number < state->tail_hi; number++) {
        const mk_tail_row *row = mk_state_row(state, number);
        if (row->node == nodes &&
            atomic_load_explicit(&row->seq_e, memory_order_acquire) != row->seq_s)
            MK_TRY(rc, each(j, MK_NONE, number, ctx, err));
    }
out:
    return rc;
}

static mk_code keep(job *j, const item *found, mk_err *err)
{
    const mk_code rc = mk_grow(j->store->alloc, (void **)&j->items, &j->cap, j->count + 1,
                               sizeof *j->items, err);
    if (rc == MK_OK)
        j->items[j->count++] = *found;
    return rc;
}

typedef struct slice {
    unsigned index, of; /* this pass takes eids whose first byte times `of` / 256 is `index` */
} slice;

static mk_code key_edge(job *j, uint32_t part, uint32_t number, void *ctx, mk_err *err)
{
    const slice *want = ctx;
    row_view row;
    char eid[24];
    item found = {.part = part, .row = number};
    mk_code rc;
    MK_TRY(rc, read_row(j, part, number, &row, err));
    MK_TRY(rc, mk_ids__eid(j->store, &j->scratch, row.a, row.b, row.rel, row.disc, eid, err));
    mk_unhex((mk_str){eid, 24}, found.key, 12);
    if (found.key[0] * want->of / 256 != want->index)
        goto out;
    found.tt_s = mk_batch_tt(j->store, row.seq_s);
    found.vt_s = row.vt_s;
    rc = keep(j, &found, err);
out:
    return rc;
}

static mk_code key_node(job *j, uint32_t part, uint32_t number, void *ctx, mk_err *err)
{
    row_view row;
    item found = {.part = part, .row = number};
    mk_code rc;
    (void)ctx;
    MK_TRY(rc, read_row(j, part, number, &row, err));
    memcpy(found.key, &row.a, sizeof row.a); /* for the comparison by uid text */
    found.tt_s = mk_batch_tt(j->store, row.seq_s);
    found.vt_s = row.vt_s;
    rc = keep(j, &found, err);
out:
    return rc;
}

/* ---- order ---- */

/* vids hash the identity with tt_s and vt_s, so rows equal in all three are equal in vid as well. What
 * remains is log order, which is the order in a segment. */
static int by_time(const item *a, const item *b)
{
    if (a->tt_s != b->tt_s)
        return a->tt_s < b->tt_s ? -1 : 1;
    if (a->vt_s != b->vt_s)
        return a->vt_s < b->vt_s ? -1 : 1;
    if (a->part != b->part)
        return a->part < b->part ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row;
}

static int by_eid(const void *x, const void *y)
{
    const item *a = x, *b = y;
    const int c = memcmp(a->key, b->key, sizeof a->key);
    return c != 0 ? c : by_time(a, b);
}

static int by_uid(const void *x, const void *y, void *ctx)
{
    const job *j = ctx;
    const item *a = x, *b = y;
    uint32_t u, v;
    memcpy(&u, a->key, sizeof u);
    memcpy(&v, b->key, sizeof v);
    if (u == v)
        return by_time(a, b);
    return mk_str_cmp(mk_dict_text(&j->store->entities, u), mk_dict_text(&j->store->entities, v));
}

/* ---- text ---- */

static int64_t end_tt(const job *j, uint32_t seq_e)
{
    return seq_e > j->state->seq ? MK_OPEN_END : mk_batch_tt(j->store, seq_e);
}

static void put_key(mk_buf *out, const char *key) { mk_buf_z(out, key); }

static void put_name(mk_buf *out, const char *key, mk_str text)
{
    put_key(out, key);
    mk_canon_string(out, text);
}

static void put_number(mk_buf *out, const char *key, int64_t v)
{
    put_key(out, key);
    mk_buf_i64(out, v);
}

/* The members that edges and nodes share, between `props` and the end; canonical order interleaves
 * them, so each kind writes its own. */
static void put_origin(const job *j, mk_buf *out, const row_view *row, mk_str *source)
{
    mk_str ref;
    bool null;
    mk_names__origin_text(j->store, row->origin, source, &ref, &null);
    put_key(out, ",\"props\":");
    mk_buf_str(out, row->props);
    put_key(out, ",\"provenance_ref\":");
    if (null)
        mk_buf_z(out, "null");
    else
        mk_canon_string(out, ref);
}

static void put_vid(mk_buf *out, mk_str identity, int64_t tt_s, int64_t vt_s)
{
    char vid[24];
    mk_ids__vid(identity, tt_s, vt_s, vid);
    put_key(out, ",\"vid\":\"");
    mk_buf_put(out, vid, sizeof vid);
    mk_buf_c(out, '"');
}

static mk_code put_edge(job *j, const item *it, mk_err *err)
{
    mk_buf *out = &j->text;
    row_view row;
    char eid[24], digits[MK_DISC_TEXT_MAX];
    bool null;
    mk_str source;
    const mk_code rc = read_row(j, it->part, it->row, &row, err);
    if (rc != MK_OK)
        return rc;
    mk_hex(eid, it->key, 12);
    const mk_str disc = mk_names__disc_text(j->store, row.disc, digits, &null);
    put_key(out, "{\"disc\":");
    if (null)
        mk_buf_z(out, "null");
    else
        mk_canon_string(out, disc);
    put_name(out, ",\"dst\":", mk_dict_text(&j->store->entities, row.b));
    put_key(out, ",\"eid\":\"");
    mk_buf_put(out, eid, sizeof eid);
    mk_buf_c(out, '"');
    put_origin(j, out, &row, &source);
    put_name(out, ",\"rel_type\":", mk_dict_text(&j->store->names, row.rel));
    put_name(out, ",\"source\":", source);
    put_name(out, ",\"src\":", mk_dict_text(&j->store->entities, row.a));
    put_number(out, ",\"tt_e\":", end_tt(j, row.seq_e));
    put_number(out, ",\"tt_s\":", it->tt_s);
    put_vid(out, (mk_str){eid, sizeof eid}, it->tt_s, row.vt_s);
    put_number(out, ",\"vt_e\":", row.vt_e);
    put_number(out, ",\"vt_s\":", row.vt_s);
    mk_buf_c(out, '}');
    return MK_OK;
}

static mk_code put_node(job *j, const item *it, mk_err *err)
{
    mk_buf *out = &j->text;
    row_view row;
    mk_str source;
    const mk_code rc = read_row(j, it->part, it->row, &row, err);
    if (rc != MK_OK)
        return rc;
    const mk_str uid = mk_dict_text(&j->store->entities, row.a);
    put_name(out, "{\"label\":", mk_dict_text(&j->store->names, row.rel));
    put_origin(j, out, &row, &source);
    put_name(out, ",\"source\":", source);
    put_number(out, ",\"tt_e\":", end_tt(j, row.seq_e));
    put_number(out, ",\"tt_s\":", it->tt_s);
    put_name(out, ",\"uid\":", uid);
    put_vid(out, uid, it->tt_s, row.vt_s);
    put_number(out, ",\"vt_e\":", row.vt_e);
    put_number(out, ",\"vt_s\":", row.vt_s);
    mk_buf_c(out, '}');
    return MK_OK;
}

static mk_code flush(job *j, size_t above, mk_err *err)
{
    if (j->text.n <= above)
        return mk_buf_done(&j->text, err);
    mk_sha256_add(&j->sha, j->text.p, j->text.n);
    const mk_code rc = mk_buf_done(&j->text, err);
    mk_buf_clear(&j->text);
    return rc;
}

static mk_code put_items(job *j, mk_code (*put)(job *j, const item *it, mk_err *err), mk_err *err)
{
    mk_code rc = MK_OK;
    for (size_t i = 0; i < j->count; i++) {
        if (!j->first)
            mk_buf_c(&j->text, ',');
        j->first = false;
        MK_TRY(rc, put(j, &j->items[i], err));
        MK_TRY(rc, flush(j, 65536, err));
        if (++j->done % 65536 == 0 && j->progress != NULL)
            j->progress(j->progress_ctx, j->done, j->total);
    }
    j->count = 0;
out:
    return rc;
}

static mk_code run(job *j, char out[65], mk_err *err)
{
    uint64_t edges = 0, nodes = 0;
    mk_code rc = MK_OK;
    for (int class = 0; class < MK_CLASS_COUNT; class++) {
        edges += j->state->stats[class].edge_versions;
        nodes += j->state->stats[class].node_versions;
    }
    j->total = edges + nodes;
    mk_sha256_init(&j->sha);
    mk_buf_z(&j->text, "{\"edges\":[");
    j->first = true;
    const unsigned passes = edges / PASS_ROWS < 255 ? (unsigned)(edges / PASS_ROWS) + 1 : 256;
    for (unsigned pass = 0; pass < passes; pass++) {
        slice want = {pass, passes};
        MK_TRY(rc, walk(j, false, key_edge, &want, err));
        if (j->count != 0)
            qsort(j->items, j->count, sizeof *j->items, by_eid);
        MK_TRY(rc, put_items(j, put_edge, err));
    }
    mk_buf_z(&j->text, "],\"nodes\":[");
    j->first = true;
    MK_TRY(rc, walk(j, true, key_node, NULL, err));
    if (j->count != 0)
        qsort_r(j->items, j->count, sizeof *j->items, by_uid, j);
    MK_TRY(rc, put_items(j, put_node, err));
    mk_buf_z(&j->text, "]}");
    MK_TRY(rc, flush(j, 0, err));
    uint8_t sha[32];
    mk_sha256_end(&j->sha, sha);
    mk_hex(out, sha, 32);
    out[64] = 0;
out:
    return rc;
}

mk_code mk_store_digest(mk_store *store, char out[65],
                        void (*progress)(void *ctx, uint64_t done, uint64_t total), void *ctx,
                        mk_err *err)
{
    mk_view *view = NULL;
    job j = {.store = store, .progress = progress, .progress_ctx = ctx};
    mk_code rc;
    mk_buf_init(&j.text, store->alloc);
    mk_buf_init(&j.scratch, store->alloc);
    MK_TRY(rc, mk_view_at(store, (mk_tt){MK_OPEN_END}, MK_SHOW_USER, &view, err));
    j.state = view->state;
    rc = run(&j, out, err);
out:
    mk_free(store->alloc, j.items, j.cap * sizeof *j.items);
    mk_buf_free(&j.text);
    mk_buf_free(&j.scratch);
    mk_view_close(view);
    return rc;
}

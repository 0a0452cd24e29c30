/* api_json.c — write operations from JSON, statistics to JSON. Layer: above all folders. */
#include "api_json.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/hash.h"

/* ---- operations ---- */

typedef struct op_list {
    mk_arena *arena;
    mk_op *items;
    size_t count, cap;
} op_list;

static mk_code push(op_list *list, const mk_op *op, mk_err *err)
{
    if (list->count == MK_BATCH_OPS_MAX) {
        mk_fail(err, MK_E_LIMIT, "more than %u operations in one batch", MK_BATCH_OPS_MAX);
        mk_err_hint(err, "write them in several batches");
        return MK_E_LIMIT;
    }
    if (list->count == list->cap) {
        const size_t cap = list->cap ? 2 * list->cap : 16;
        mk_op *items = mk_arena_get(list->arena, cap * sizeof *items);
        if (items == NULL)
            return mk_fail_nomem(err);
        if (list->count != 0)
            memcpy(items, list->items, list->count * sizeof *items);
        list->items = items;
        list->cap = cap;
    }
    list->items[list->count++] = *op;
    return MK_OK;
}

static mk_code push_json(op_list *list, const mk_json *json, const mk_api_origin *origin, mk_err *err)
{
    char path[40];
    mk_op op;
    mk_code rc;
    snprintf(path, sizeof path, "ops[%zu]", list->count);
    MK_TRY(rc, mk_op_from_json(json, list->arena, path, &op, err));
    if (origin->source.n != 0 && mk_json_get(json, "source") == NULL)
        op.source = origin->source;
    if (origin->provenance_ref.n != 0 && mk_json_get(json, "provenance_ref") == NULL) {
        op.provenance_ref = origin->provenance_ref;
        op.provenance_null = false;
    }
    rc = push(list, &op, err);
out:
    return rc;
}

static bool is_blank(mk_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] != ' ' && s.p[i] != '\t' && s.p[i] != '\r' && s.p[i] != '\n')
            return false;
    return true;
}

/* One JSON text that starts `base` bytes into the input. */
static mk_code parse(op_list *list, mk_str text, size_t base, mk_json **out, mk_err *err)
{
    const mk_code rc = mk_json_parse(list->arena, text, NULL, out, err);
    if (rc != MK_OK && err != NULL) {
        if (err->offset >= 0)
            err->offset += (int64_t)base;
        if (err->path[0] == '\0')
            mk_err_path(err, "ops[%zu]", list->count);
    }
    return rc;
}

static mk_code read_array(op_list *list, mk_str text, const mk_api_origin *origin, mk_err *err)
{
    mk_json *array;
    mk_code rc;
    MK_TRY(rc, parse(list, text, 0, &array, err));
    for (size_t i = 0; i < array->n && rc == MK_OK; i++)
        rc = push_json(list, &array->items[i], origin, err);
out:
    return rc;
}

static mk_code read_lines(op_list *list, mk_str text, const mk_api_origin *origin, mk_err *err)
{
    mk_code rc = MK_OK;
    for (size_t at = 0; at < text.n && rc == MK_OK;) {
        const char *end = memchr(text.p + at, '\n', text.n - at);
        const mk_str line = {text.p + at, (end ? (size_t)(end - text.p) : text.n) - at};
        if (!is_blank(line)) {
            mk_json *json;
            MK_TRY(rc, parse(list, line, at, &json, err));
            rc = push_json(list, json, origin, err);
        }
        at += line.n + 1;
    }
out:
    return rc;
}

mk_code mk_api_read_ops(mk_arena *arena, mk_str text, const mk_api_origin *origin, mk_op **ops,
                        size_t *count, mk_err *err)
{
    op_list list = {.arena = arena};
    size_t first = 0;
    while (first < text.n && is_blank((mk_str){text.p + first, 1}))
        first++;
    const bool array = first < text.n && text.p[first] == '[';
    const mk_code rc = array ? read_array(&list, text, origin, err)
                             : read_lines(&list, text, origin, err);
    *ops = list.items;
    *count = list.count;
    return rc;
}

/* ---- endpoints ---- */

typedef struct endpoints {
    mk_view *view;
    mk_arena *arena;
    mk_intern seen; /* uids that have a version, or get one in this batch */
    mk_str label;
    op_list out;
} endpoints;

static mk_code add_endpoint(endpoints *e, const mk_op *edge, mk_str uid, mk_err *err)
{
    mk_node_ref *refs;
    size_t count = 0;
    uint32_t code;
    mk_code rc;
    if (mk_intern_find(&e->seen, uid) != MK_INTERN_NONE)
        return MK_OK;
    const uint32_t id = mk_view_entity(e->view, uid);
    if (id != MK_NO_ID)
        MK_TRY(rc, mk_view_node_refs(e->view, e->arena, id, &refs, &count, err));
    MK_TRY(rc, mk_intern_add(&e->seen, uid, &code, err));
    if (count != 0)
        goto out;
    const mk_op node = {.kind = MK_OP_ASSERT_NODE,
                        .uid = uid,
                        .label = e->label,
                        .props = MK_STR("{}"),
                        .vt_s = edge->vt_s,
                        .vt_e = MK_OPEN_END,
                        .source = edge->source,
                        .provenance_ref = edge->provenance_ref,
                        .provenance_null = edge->provenance_null};
    rc = push(&e->out, &node, err);
out:
    return rc;
}

static mk_code add_op(endpoints *e, const mk_op *op, mk_err *err)
{
    uint32_t code;
    mk_code rc = MK_OK;
    if (op->kind == MK_OP_ASSERT_NODE)
        MK_TRY(rc, mk_intern_add(&e->seen, op->uid, &code, err));
    if (op->kind == MK_OP_ASSERT_EDGE) {
        MK_TRY(rc, add_endpoint(e, op, op->src, err));
        MK_TRY(rc, add_endpoint(e, op, op->dst, err));
    }
    rc = push(&e->out, op, err);
out:
    return rc;
}

mk_code mk_api_add_endpoints(mk_store *store, mk_arena *arena, mk_str label, mk_op **ops,
                             size_t *count, mk_err *err)
{
    const unsigned all = MK_SHOW_USER | MK_SHOW_RESOLUTION | MK_SHOW_KNOWLEDGE | MK_SHOW_NOTES;
    endpoints e = {.arena = arena, .label = label, .out = {.arena = arena}};
    mk_code rc;
    mk_intern_init(&e.seen, arena->alloc, mk_entropy64());
    MK_TRY(rc, mk_view_at(store, (mk_tt){MK_OPEN_END}, all, &e.view, err));
    for (size_t i = 0; i < *count; i++)
        MK_TRY(rc, add_op(&e, &(*ops)[i], err));
    *ops = e.out.items;
    *count = e.out.count;
out:
    mk_view_close(e.view);
    mk_intern_free(&e.seen);
    return rc;
}

/* ---- statistics ---- */

mk_code mk_api_stats_read(mk_store *store, unsigned mask, mk_arena *arena, mk_api_stats *out,
                          mk_err *err)
{
    mk_view *view = NULL;
    mk_code rc;
    *out = (mk_api_stats){0};
    MK_TRY(rc, mk_view_at(store, (mk_tt){MK_OPEN_END}, mask, &view, err));
    mk_view_get_stats(view, &out->view);
    MK_TRY(rc, mk_view_rel_counts(view, arena, &out->rel_types, &out->rel_type_count, err));
    MK_TRY(rc, mk_store_disk_stats(store, &out->disk, err));
    out->batches = mk_store_batches(store);
    out->frames = mk_store_log_frames(store);
    out->last_tt = mk_store_last_tt(store);
out:
    mk_view_close(view);
    return rc;
}

uint64_t mk_api_disk_total(const mk_disk_stats *disk)
{
    return disk->log_bytes + disk->segment_bytes + disk->index_bytes + disk->dictionary_bytes +
           disk->other_bytes + disk->trace_bytes;
}

static void put_u64(mk_buf *out, const char *before, uint64_t value)
{
    mk_buf_z(out, before);
    mk_buf_u64(out, value);
}

static void put_time_or_null(mk_buf *out, const char *before, bool given, int64_t value)
{
    mk_buf_z(out, before);
    if (given)
        mk_buf_i64(out, value);
    else
        mk_buf_z(out, "null");
}

void mk_api_stats_json(const mk_store *store, const mk_api_stats *stats, mk_buf *out)
{
    const mk_disk_stats *disk = &stats->disk;
    put_u64(out, "{\"batches\":", stats->batches);
    put_u64(out, ",\"disk\":{\"dictionary\":", disk->dictionary_bytes);
    put_u64(out, ",\"indexes\":", disk->index_bytes);
    put_u64(out, ",\"log\":", disk->log_bytes);
    put_u64(out, ",\"other\":", disk->other_bytes);
    put_u64(out, ",\"segments\":", disk->segment_bytes);
    put_u64(out, ",\"total\":", mk_api_disk_total(disk));
    put_u64(out, ",\"trace\":", disk->trace_bytes);
    put_u64(out, "},\"frames\":", stats->frames);
    put_time_or_null(out, ",\"last_tt\":", true, stats->last_tt.us);
    put_u64(out, ",\"max_out_degree\":", stats->view.max_out_degree);
    put_u64(out, ",\"n_edge_versions\":", stats->view.edge_versions);
    put_u64(out, ",\"n_entities\":", stats->view.entities);
    put_u64(out, ",\"n_node_versions\":", stats->view.node_versions);
    mk_buf_z(out, ",\"rel_type_counts\":{");
    for (size_t i = 0; i < stats->rel_type_count; i++) {
        mk_canon_string(out, stats->rel_types[i].rel_type);
        put_u64(out, ":", stats->rel_types[i].count);
        mk_buf_z(out, i + 1 < stats->rel_type_count ? "," : "");
    }
    mk_buf_printf(out, "},\"store_id\":\"%s\"", mk_store_id(store));
    put_time_or_null(out, ",\"vt_max\":", stats->view.has_extent, stats->view.vt_max);
    put_time_or_null(out, ",\"vt_min\":", stats->view.has_extent, stats->view.vt_min);
    mk_buf_c(out, '}');
}

/* ---- arguments of calls ---- */

mk_code mk_api_args_add_time(mk_arena *arena, mk_str args, const char *name, int64_t us, mk_buf *out,
                             mk_err *err)
{
    mk_json *tree;
    mk_code rc;
    MK_TRY(rc, mk_json_parse(arena, args, NULL, &tree, err));
    if (tree->kind != MK_JSON_OBJECT) {
        mk_buf_str(out, args);
        goto out;
    }
    if (mk_json_get(tree, name) != NULL) {
        rc = mk_fail(err, MK_E_INVALID_ARG, "%s is given twice: in the arguments and beside them", name);
        mk_err_path(err, "%s", name);
        mk_err_hint(err, "leave out one of the two");
        goto out;
    }
    mk_member *members = mk_arena_get(arena, (tree->n + 1) * sizeof *members);
    if (members == NULL) {
        rc = mk_fail_nomem(err);
        goto out;
    }
    if (tree->n != 0)
        memcpy(members, tree->members, tree->n * sizeof *members);
    members[tree->n].key = mk_str_of(name);
    members[tree->n].value = (mk_json){.kind = MK_JSON_INT, .i = us};
    mk_json whole = {.kind = MK_JSON_OBJECT, .n = tree->n + 1};
    whole.members = members;
    rc = mk_canon_tree(out, arena, &whole, err);
out:
    return rc;
}

/* bundle_tree.c — a bundle's members, its leaves and its root. Layer: claim.
 *
 * The root covers what an answer rests on row by row, so that one row can be shown without the others.
 * Each leaf carries its own path, so that it cannot be passed off as another. Source: agent spec, 18.11. */
#include "claim/bundle_internal.h"

/* Steps may share a payload, but not so often that a small file becomes endless work. */
#define LEAF_BYTES_MAX (2 * MK_BUNDLE_MAX)
#define OBJECTS_MAX 256 /* calls and payloads: as many as a trace has steps */

/* ---- members ---- */

static mk_code fail_bundle(mk_err *err, const char *name)
{
    mk_fail(err, MK_E_SCHEMA, "this is no bundle: \"%s\" is missing or not of its kind", name);
    mk_err_path(err, "%s", name);
    mk_err_hint(err, "`merkhet ask QUESTION --save-bundle FILE` writes one");
    return MK_E_SCHEMA;
}

mk_code mk_bundle__read(mk_str text, mk_arena *arena, mk_bundle_tree *out, mk_err *err)
{
    mk_json *tree;
    if (text.n > MK_BUNDLE_MAX)
        return mk_fail(err, MK_E_LIMIT, "a bundle has at most %zu bytes", MK_BUNDLE_MAX);
    const mk_code rc = mk_json_parse(arena, text, NULL, &tree, err);
    if (rc != MK_OK)
        return rc;
    const struct {
        const char *name;
        mk_json_kind kind;
        const mk_json **place;
    } members[] = {
        {"answer", MK_JSON_OBJECT, &out->answer},     {"calls", MK_JSON_OBJECT, &out->calls},
        {"digests", MK_JSON_OBJECT, &out->digests},   {"payloads", MK_JSON_OBJECT, &out->payloads},
        {"plan", MK_JSON_OBJECT, &out->plan},         {"prompts", MK_JSON_ARRAY, &out->prompts},
        {"question", MK_JSON_STRING, &out->question}, {"report", MK_JSON_OBJECT, &out->report},
        {"trace", MK_JSON_OBJECT, &out->trace},       {"versions", MK_JSON_OBJECT, &out->versions},
    };
    int64_t version;
    out->whole = tree;
    out->as_of_tt = mk_json_get(tree, "as_of_tt");
    if (!mk_claim__i64(mk_json_get(tree, "bundle"), &version) || version != 1)
        return fail_bundle(err, "bundle");
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        *members[i].place = mk_json_get(tree, members[i].name);
        if (*members[i].place == NULL || (*members[i].place)->kind != members[i].kind)
            return fail_bundle(err, members[i].name);
    }
    if (out->as_of_tt == NULL || tree->n != sizeof members / sizeof *members + 2)
        return fail_bundle(err, "as_of_tt");
    if (out->calls->n > OBJECTS_MAX || out->payloads->n > OBJECTS_MAX)
        return fail_bundle(err, out->calls->n > OBJECTS_MAX ? "calls" : "payloads");
    return MK_OK;
}

mk_code mk_bundle__digest(const mk_json *value, mk_arena *arena, char hex[65], mk_err *err)
{
    mk_buf buf;
    uint8_t hash[32];
    mk_buf_init(&buf, arena->alloc);
    mk_code rc = mk_canon_tree(&buf, arena, value, err);
    if (rc == MK_OK)
        rc = mk_buf_done(&buf, err);
    if (rc == MK_OK) {
        mk_sha256_of(buf.p, buf.n, hash);
        mk_hex(hex, hash, sizeof hash);
        hex[64] = '\0';
    }
    mk_buf_free(&buf);
    return rc;
}

/* ---- leaves ---- */

mk_code mk_bundle__leaf_hash(mk_str path, const mk_json *value, mk_arena *arena, mk_hash32 *out,
                             size_t *bytes, mk_err *err)
{
    mk_buf buf;
    mk_buf_init(&buf, arena->alloc);
    mk_buf_c(&buf, '[');
    mk_canon_string(&buf, path);
    mk_buf_c(&buf, ',');
    mk_code rc = mk_canon_tree(&buf, arena, value, err);
    mk_buf_c(&buf, ']');
    if (rc == MK_OK)
        rc = mk_buf_done(&buf, err);
    if (rc == MK_OK)
        *out = mk_merkle_leaf(mk_buf_view(&buf));
    *bytes += buf.n;
    mk_buf_free(&buf);
    return rc;
}

static mk_code room_for_one(mk_leaves *out, mk_arena *arena, mk_err *err)
{
    if (out->count < out->cap)
        return MK_OK;
    const size_t cap = out->cap > 0 ? out->cap * 2 : 64;
    size_t size;
    mk_leaf *items = mk_size_mul(cap, sizeof *items, &size) ? mk_arena_get(arena, size) : NULL;
    if (items == NULL)
        return mk_fail_nomem(err);
    if (out->count > 0)
        memcpy(items, out->items, out->count * sizeof *items);
    out->items = items;
    out->cap = cap;
    return MK_OK;
}

static mk_code add_leaf(mk_leaves *out, mk_str path, const mk_json *value, mk_arena *arena, mk_err *err)
{
    mk_code rc = room_for_one(out, arena, err);
    if (rc != MK_OK)
        return rc;
    mk_leaf *leaf = &out->items[out->count];
    leaf->path = mk_arena_copy(arena, path);
    leaf->value = *value;
    if (leaf->path.p == NULL)
        return mk_fail_nomem(err);
    rc = mk_bundle__leaf_hash(leaf->path, value, arena, &leaf->hash, &out->bytes, err);
    if (rc != MK_OK)
        return rc;
    out->count++;
    if (out->bytes > LEAF_BYTES_MAX)
        return mk_fail(err, MK_E_LIMIT, "the steps of a bundle name more than %zu bytes of results",
                       LEAF_BYTES_MAX);
    return MK_OK;
}

/* "s2.rows" as a list is its length and its items, anything else is one leaf. `path` is a buffer that
 * holds the path and is given back as it was. */
static mk_code add_value(mk_leaves *out, mk_buf *path, const mk_json *value, mk_arena *arena, mk_err *err)
{
    const size_t n = path->n;
    mk_code rc = MK_OK;
    if (value->kind != MK_JSON_ARRAY)
        return add_leaf(out, mk_buf_view(path), value, arena, err);
    const mk_json length = mk_claim__as_number(value);
    mk_buf_z(path, "[]");
    MK_TRY(rc, mk_buf_done(path, err));
    MK_TRY(rc, add_leaf(out, mk_buf_view(path), &length, arena, err));
    for (size_t i = 0; i < value->n; i++) {
        path->n = n;
        mk_buf_printf(path, "[%zu]", i);
        MK_TRY(rc, mk_buf_done(path, err));
        MK_TRY(rc, add_leaf(out, mk_buf_view(path), &value->items[i], arena, err));
    }
out:
    path->n = n;
    return rc;
}

/* Every member of an object as a value of its own. */
static mk_code add_members(mk_leaves *out, mk_buf *path, const mk_json *object, mk_arena *arena, mk_err *err)
{
    const size_t n = path->n;
    mk_code rc = MK_OK;
    for (size_t i = 0; i < object->n; i++) {
        path->n = n;
        mk_buf_c(path, '.');
        mk_buf_str(path, object->members[i].key);
        MK_TRY(rc, mk_buf_done(path, err));
        MK_TRY(rc, add_value(out, path, &object->members[i].value, arena, err));
    }
out:
    path->n = n;
    return rc;
}

static const mk_json *object_of(const mk_json *objects, const mk_json *name)
{
    const mk_json *object =
        name != NULL && name->kind == MK_JSON_STRING ? mk_json_get_n(objects, name->text) : NULL;
    return object != NULL && object->kind == MK_JSON_OBJECT ? object : NULL;
}

static mk_code add_step(mk_leaves *out, const mk_bundle_tree *bundle, const mk_json *step, mk_buf *path,
                        mk_arena *arena, mk_err *err)
{
    const mk_json *id = mk_json_get(step, "step_id");
    const mk_json *call = object_of(bundle->calls, mk_json_get(step, "call_digest"));
    const mk_json *payload = object_of(bundle->payloads, mk_json_get(step, "result_digest"));
    if (id == NULL || id->kind != MK_JSON_STRING || call == NULL || payload == NULL)
        return MK_OK;
    mk_buf_clear(path);
    mk_buf_str(path, id->text);
    mk_code rc = mk_buf_done(path, err);
    if (rc == MK_OK)
        rc = add_leaf(out, mk_buf_view(path), call, arena, err);
    return rc == MK_OK ? add_members(out, path, payload, arena, err) : rc;
}

mk_code mk_bundle__leaves(const mk_bundle_tree *bundle, mk_arena *arena, mk_leaves *out, mk_err *err)
{
    const mk_json *steps = mk_json_get(bundle->trace, "steps");
    mk_buf path;
    mk_code rc;
    *out = (mk_leaves){.items = NULL};
    mk_buf_init(&path, arena->alloc);
    if (steps == NULL || steps->kind != MK_JSON_ARRAY || steps->n > MK_CLAIM_STEPS_MAX) {
        rc = fail_bundle(err, "trace");
        goto out;
    }
    for (size_t i = 0; i < steps->n; i++)
        MK_TRY(rc, add_step(out, bundle, &steps->items[i], &path, arena, err));
    MK_TRY(rc, add_leaf(out, MK_STR("plan"), bundle->plan, arena, err));
    mk_buf_clear(&path);
    mk_buf_z(&path, "answer");
    MK_TRY(rc, add_members(out, &path, bundle->answer, arena, err));
    rc = add_leaf(out, MK_STR("report"), bundle->report, arena, err);
out:
    mk_buf_free(&path);
    return rc;
}

mk_code mk_bundle__root(const mk_leaves *leaves, mk_arena *arena, mk_hash32 *out, mk_err *err)
{
    const mk_arena_mark mark = mk_arena_save(arena);
    mk_hash32 *hashes = mk_arena_get(arena, leaves->count * sizeof *hashes);
    if (hashes == NULL)
        return mk_fail_nomem(err);
    for (size_t i = 0; i < leaves->count; i++)
        hashes[i] = leaves->items[i].hash;
    *out = mk_merkle_root(hashes, leaves->count);
    mk_arena_rewind(arena, mark);
    return MK_OK;
}

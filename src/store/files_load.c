/* files_load.c — loading a checkpoint. Layer: store, internal.
 *
 * Nothing in a file is trusted: sizes, checksums and cross-references are looked at, and whatever does not
 * fit makes the caller fold the log from its start. */
#include <inttypes.h>
#include <stdio.h>

#include "base/sha256.h"
#include "store/files_internal.h"

#define MANIFEST_MAX ((size_t)64 << 20)

/* ---- loading a checkpoint ---- */

static bool get_int(const mk_json *json, int64_t *out)
{
    if (json == NULL || json->kind != MK_JSON_INT || json->b)
        return false;
    *out = json->i;
    return true;
}

static bool get_pos(const mk_json *json, mk_log_pos *pos)
{
    int64_t file, frames, offset, tt;
    const mk_json *chain = mk_json_get(json, "chain");
    if (!get_int(mk_json_get(json, "file"), &file) || !get_int(mk_json_get(json, "frames"), &frames) ||
        !get_int(mk_json_get(json, "offset"), &offset) || !get_int(mk_json_get(json, "tt"), &tt) ||
        chain == NULL || chain->kind != MK_JSON_STRING || !mk_unhex(chain->text, pos->chain, 32))
        return false;
    pos->file = (uint32_t)file;
    pos->frames = (uint64_t)frames;
    pos->offset = (uint64_t)offset;
    pos->tt.us = tt;
    return true;
}

static bool get_tape(const mk_json *json, mk_tape *out)
{
    int64_t items, bytes, sum;
    if (json == NULL || json->kind != MK_JSON_ARRAY || json->n != 3 ||
        !get_int(&json->items[0], &items) || !get_int(&json->items[1], &bytes) ||
        !get_int(&json->items[2], &sum) || items < 0 || items > UINT32_MAX - 1 || bytes < 0)
        return false;
    *out = (mk_tape){(uint64_t)bytes, (uint64_t)sum, (uint32_t)items};
    return true;
}

static mk_code read_tape(mk_store *store, const char *name, uint64_t bytes, mk_buf *buf, mk_err *err)
{
    char path[MK_PATH_MAX];
    const mk_fs *fs = store->fs;
    mk_file *file = NULL;
    uint64_t there;
    size_t got = 0;
    mk_code rc = MK_OK;
    mk_buf_clear(buf);
    if (bytes == 0)
        return MK_OK;
    MK_TRY(rc, mk_files__path(store, path, name, err));
    MK_TRY(rc, fs->open(fs->ctx, path, MK_OPEN_READ, &file, err));
    MK_TRY(rc, fs->size(fs->ctx, file, &there, err));
    if (there < bytes) { /* before any memory is taken for it */
        rc = mk_files__damaged(name, err);
        goto out;
    }
    char *room = mk_buf_room(buf, bytes);
    if (room == NULL) {
        rc = mk_fail_nomem(err);
        goto out;
    }
    MK_TRY(rc, fs->read_at(fs->ctx, file, room, bytes, 0, &got, err));
    buf->n = got;
    if (got != bytes)
        rc = mk_files__damaged(name, err);
out:
    if (file != NULL)
        fs->close(fs->ctx, file);
    return rc;
}

typedef mk_code add_text(mk_store *store, mk_str text, uint32_t *code, mk_err *err);

static mk_code add_origin(mk_store *store, mk_str text, uint32_t *code, mk_err *err)
{
    uint32_t key[2];
    if (text.n != sizeof key)
        return mk_files__damaged("origins", err);
    memcpy(key, text.p, sizeof key);
    if (key[0] >= store->names.count || (key[1] != MK_NONE && key[1] >= store->names.count))
        return mk_files__damaged("origins", err);
    return mk_dict_add(&store->origins, text, code, err);
}

static mk_code load_dict(mk_store *store, const char *name, mk_dict *dict, const mk_tape *t,
                         add_text *add, mk_err *err)
{
    mk_buf buf;
    mk_code rc;
    mk_buf_init(&buf, store->alloc);
    MK_TRY(rc, read_tape(store, name, t->bytes, &buf, err));
    if (t->items > t->bytes / 4) { /* each item has a head of four bytes */
        rc = mk_files__damaged(name, err);
        goto out;
    }
    MK_TRY(rc, mk_dict_reserve(dict, t->items, err));
    size_t at = 0;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < t->items; i++) {
        uint32_t code;
        if (buf.n - at < 4 || buf.n - at - 4 < mk_get_u32((const uint8_t *)buf.p + at)) {
            rc = mk_files__damaged(name, err);
            goto out;
        }
        const uint32_t size = mk_get_u32((const uint8_t *)buf.p + at);
        sum = mk_sum_on(sum, mk_checksum64(buf.p + at + 4, size));
        MK_TRY(rc, add(store, (mk_str){buf.p + at + 4, size}, &code, err));
        if (code != i) {
            rc = mk_files__damaged(name, err);
            goto out;
        }
        at += 4 + (size_t)size;
    }
    if (at != buf.n || sum != t->sum)
        rc = mk_files__damaged(name, err);
out:
    mk_buf_free(&buf);
    return rc;
}

static mk_code load_batches(mk_store *store, uint32_t count, mk_err *err)
{
    mk_buf buf;
    mk_code rc;
    mk_buf_init(&buf, store->alloc);
    MK_TRY(rc, read_tape(store, "batches", (uint64_t)count * 8, &buf, err));
    MK_TRY(rc, mk_geo_reserve(&store->batches, store->alloc, count, sizeof(int64_t), err));
    uint64_t sum = 0;
    for (uint32_t seq = 1; seq <= count; seq++) {
        const uint64_t tt = mk_get_u64((const uint8_t *)buf.p + 8 * (size_t)(seq - 1));
        *(int64_t *)mk_geo_at(&store->batches, seq, sizeof(int64_t)) = (int64_t)tt;
        sum = mk_sum_on(sum, tt);
    }
    if (sum != store->files->batches_sum)
        rc = mk_files__damaged("batches", err);
out:
    mk_buf_free(&buf);
    return rc;
}

static mk_code load_degrees(mk_store *store, const char *name, uint32_t count, mk_err *err)
{
    mk_buf buf;
    mk_code rc;
    mk_buf_init(&buf, store->alloc);
    MK_TRY(rc, read_tape(store, name, (uint64_t)count * 8, &buf, err));
    if (mk_checksum64(buf.p, buf.n) != store->files->degree_sum) {
        rc = mk_files__damaged(name, err);
        goto out;
    }
    for (uint32_t id = 0; id < count; id++) {
        uint32_t *degree = mk_geo_at(&store->degree, id, 2 * sizeof(uint32_t));
        degree[0] = mk_get_u32((const uint8_t *)buf.p + 8 * (size_t)id);
        degree[1] = mk_get_u32((const uint8_t *)buf.p + 8 * (size_t)id + 4);
    }
out:
    mk_buf_free(&buf);
    return rc;
}

static mk_code load_segment(mk_store *store, uint64_t id, uint64_t ends_version, mk_err *err)
{
    char path[MK_PATH_MAX], name[80];
    mk_segment *segment = NULL;
    mk_code rc;
    snprintf(name, sizeof name, "%012" PRIu64 ".seg", id);
    MK_TRY(rc, mk_files__path(store, path, name, err));
    MK_TRY(rc, mk_segment_open(store->alloc, store->fs, path, &segment, err));
    if (segment->id != id) {
        rc = mk_files__damaged(name, err);
        goto out;
    }
    segment->limits = (mk_code_limits){store->entities.count, store->names.count, store->origins.count,
                                       store->files->batches};
    if (ends_version != 0) {
        snprintf(name, sizeof name, "%012" PRIu64 "-%" PRIu64 ".ends", id, ends_version);
        MK_TRY(rc, mk_files__path(store, path, name, err));
        MK_TRY(rc, mk_segment_read_ends(segment, store->fs, path, err));
        segment->ends_saved = segment->ended;
        segment->ends_version = ends_version;
    }
    MK_TRY(rc, mk_list__add(store->alloc, &store->lanes[segment->lane], segment, err));
    segment = NULL;
out:
    mk_segment_free(segment);
    return rc;
}

static mk_code load_lists(mk_store *store, const mk_json *root, mk_err *err)
{
    const mk_json *segments = mk_json_get(root, "segments"), *rels = mk_json_get(root, "rels");
    const mk_json *stats = mk_json_get(root, "stats");
    mk_code rc = MK_OK;
    if (segments == NULL || segments->kind != MK_JSON_ARRAY || rels == NULL ||
        rels->kind != MK_JSON_ARRAY || stats == NULL || stats->kind != MK_JSON_ARRAY ||
        stats->n != MK_CLASS_COUNT)
        return mk_files__damaged(MK_MANIFEST, err);
    for (size_t i = 0; i < segments->n; i++) {
        const mk_json *pair = &segments->items[i];
        int64_t id, version;
        if (pair->kind != MK_JSON_ARRAY || pair->n != 2 || !get_int(&pair->items[0], &id) ||
            !get_int(&pair->items[1], &version))
            return mk_files__damaged(MK_MANIFEST, err);
        MK_TRY(rc, load_segment(store, (uint64_t)id, (uint64_t)version, err));
    }
    for (size_t i = 0; i < rels->n; i++) {
        const mk_json *row = &rels->items[i];
        int64_t code = -1, count;
        if (row->kind != MK_JSON_ARRAY || row->n != 1 + MK_CLASS_COUNT ||
            !get_int(&row->items[0], &code) || code < 0 || code >= store->names.count)
            return mk_files__damaged(MK_MANIFEST, err);
        _Atomic uint64_t *counts = mk_geo_at(&store->rel_count, (uint32_t)code,
                                             MK_CLASS_COUNT * sizeof(_Atomic uint64_t));
        for (int class = 0; class < MK_CLASS_COUNT; class++) {
            if (!get_int(&row->items[1 + class], &count))
                return mk_files__damaged(MK_MANIFEST, err);
            atomic_store_explicit(&counts[class], (uint64_t)count, memory_order_relaxed);
        }
    }
    for (int class = 0; class < MK_CLASS_COUNT; class++) {
        const mk_json *row = &stats->items[class];
        int64_t v[6];
        for (int i = 0; i < 6; i++)
            if (row->kind != MK_JSON_ARRAY || row->n != 6 || !get_int(&row->items[i], &v[i]))
                return mk_files__damaged(MK_MANIFEST, err);
        store->stats[class] = (mk_class_stats){(uint64_t)v[0], (uint64_t)v[1], (uint64_t)v[2],
                                               v[3] != 0, v[4], v[5]};
    }
out:
    return rc;
}

static mk_code load_root(mk_store *store, const mk_json *root, mk_err *err)
{
    mk_files *files = store->files;
    const mk_json *degree = mk_json_get(root, "degree"), *most = mk_json_get(root, "degree_max");
    int64_t format, generation, batches, batches_sum, degree_sum, next_segment, max_user, max_all;
    mk_code rc = MK_OK;
    if (!get_int(mk_json_get(root, "format"), &format) || format != MK_MANIFEST_FORMAT ||
        !get_int(mk_json_get(root, "generation"), &generation) ||
        !get_int(mk_json_get(root, "batches"), &batches) || batches < 0 || batches >= MK_SEQ_OPEN ||
        !get_int(mk_json_get(root, "batches_sum"), &batches_sum) ||
        !get_int(mk_json_get(root, "degree_sum"), &degree_sum) ||
        !get_int(mk_json_get(root, "next_segment"), &next_segment) ||
        !get_int(mk_json_get(root, "next_disc"), &store->next_disc) ||
        !get_tape(mk_json_get(root, "entities"), &files->entities) ||
        !get_tape(mk_json_get(root, "names"), &files->names) ||
        !get_tape(mk_json_get(root, "origins"), &files->origins) ||
        !get_pos(mk_json_get(root, "log"), &store->log_end) ||
        !get_pos(mk_json_get(root, "log_last"), &store->log_last) || degree == NULL ||
        degree->kind != MK_JSON_STRING || degree->text.n >= sizeof files->degree || most == NULL ||
        most->kind != MK_JSON_ARRAY || most->n != 2 || !get_int(&most->items[0], &max_user) ||
        !get_int(&most->items[1], &max_all))
        return mk_files__damaged(MK_MANIFEST, err);
    files->generation = (uint64_t)generation;
    files->batches = (uint32_t)batches;
    files->batches_sum = (uint64_t)batches_sum;
    files->degree_sum = (uint64_t)degree_sum;
    memcpy(files->degree, degree->text.p, degree->text.n);
    files->degree[degree->text.n] = 0;
    store->next_segment_id = (uint64_t)next_segment;
    store->degree_max_user = (uint32_t)max_user;
    store->degree_max_all = (uint32_t)max_all;
    MK_TRY(rc, load_dict(store, "names", &store->names, &files->names, mk_names__name, err));
    MK_TRY(rc, load_dict(store, "entities", &store->entities, &files->entities,
                         mk_names__entity_new, err));
    MK_TRY(rc, load_dict(store, "origins", &store->origins, &files->origins, add_origin, err));
    MK_TRY(rc, load_batches(store, files->batches, err));
    if (files->degree[0] != 0)
        MK_TRY(rc, load_degrees(store, files->degree, files->entities.items, err));
    MK_TRY(rc, load_lists(store, root, err));
    store->staged_seq = files->batches;
    store->staged_tt = store->log_end.tt;
    store->published.seq = files->batches;
    store->published.tt = (mk_tt){files->batches ? mk_batch_tt(store, files->batches) : 0};
    store->published.tail_hi = 0;
    store->published.entities = store->entities.count;
    store->published.names = store->names.count;
    store->published.origins = store->origins.count;
out:
    return rc;
}

/* The manifest's JSON text, its checksum checked. */
static mk_code read_manifest(const mk_store *store, mk_buf *buf, bool *found, mk_err *err)
{
    char path[MK_PATH_MAX];
    mk_code rc;
    *found = false;
    MK_TRY(rc, mk_files__path(store, path, MK_MANIFEST, err));
    rc = mk_fs_read_all(store->fs, path, MANIFEST_MAX, buf, err);
    if (rc == MK_E_NOT_FOUND)
        return MK_OK;
    if (rc == MK_E_LIMIT)
        return mk_files__damaged(MK_MANIFEST, err);
    if (rc != MK_OK)
        return rc;
    char sum[24];
    if (buf->n < 18 || buf->p[buf->n - 18] != '\n')
        return mk_files__damaged(MK_MANIFEST, err);
    const size_t text = buf->n - 18;
    snprintf(sum, sizeof sum, "\n%016" PRIx64 "\n", mk_checksum64(buf->p, text));
    if (memcmp(buf->p + text, sum, 18) != 0)
        return mk_files__damaged(MK_MANIFEST, err);
    buf->n = text;
    *found = true;
out:
    return rc;
}

mk_code mk_files__load(mk_store *store, bool *found, mk_err *err)
{
    mk_buf buf;
    mk_arena arena;
    mk_json *root;
    mk_code rc;
    mk_buf_init(&buf, store->alloc);
    mk_arena_init(&arena, store->alloc);
    MK_TRY(rc, read_manifest(store, &buf, found, err));
    if (!*found)
        goto out;
    MK_TRY(rc, mk_json_parse(&arena, mk_buf_view(&buf), NULL, &root, err));
    rc = load_root(store, root, err);
out:
    mk_arena_free(&arena);
    mk_buf_free(&buf);
    return rc;
}

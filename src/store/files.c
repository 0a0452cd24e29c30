/* files.c — checkpoints: what lies under DIR/data. Layer: store, internal.
 *
 * A manifest names everything a checkpoint consists of: segment files and their lists of ended rows,
 * how much of the append-only files (entities, names, origins, batches) counts, the counters, and the
 * log position up to which all this is a fold of the log. Files are written and synced first, then the
 * manifest is renamed into place, then what no manifest names is removed. All of it is derived: when
 * anything does not read, the log is folded from its start instead.
 * Source: STORAGE.md, "Checkpoint, compaction, recovery". */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/sha256.h"
#include "store/internal.h"

#define MANIFEST "MANIFEST"
#define FORMAT 2
#define MANIFEST_MAX ((size_t)64 << 20)
#define PATH_MAX_SIZE 4096

/* Append-only files: bytes and items that the newest manifest covers, and their checksum, which goes
 * on from item to item. */
typedef struct tape {
    uint64_t bytes, sum;
    uint32_t items;
} tape;

struct mk_files {
    uint64_t generation;
    tape entities, names, origins;
    uint32_t batches;
    uint64_t batches_sum, degree_sum;
    char degree[64]; /* file of degrees, "" when there is none */
};

static mk_code path_of(const mk_store *store, char path[PATH_MAX_SIZE], const char *name, mk_err *err)
{
    const int n = snprintf(path, PATH_MAX_SIZE, "%s/data/%s", store->dir, name);
    if (n < 0 || n >= PATH_MAX_SIZE)
        return mk_fail(err, MK_E_INVALID_ARG, "the path of the store is too long");
    return MK_OK;
}

static mk_code damaged(const char *what, mk_err *err)
{
    mk_fail(err, MK_E_STATE, "the checkpoint is damaged: %s", what);
    mk_err_reason(err, "damaged");
    return MK_E_STATE;
}

/* ---- append-only files ---- */

static uint64_t sum_on(uint64_t sum, uint64_t item)
{
    return mk_mix64(sum + item + UINT64_C(0x9E3779B97F4A7C15));
}

static mk_code append_bytes(mk_store *store, const char *name, uint64_t at, mk_str bytes, mk_err *err)
{
    char path[PATH_MAX_SIZE];
    const mk_fs *fs = store->fs;
    mk_file *file = NULL;
    mk_code rc;
    if (bytes.n == 0)
        return MK_OK;
    MK_TRY(rc, path_of(store, path, name, err));
    MK_TRY(rc, fs->open(fs->ctx, path, MK_OPEN_WRITE | MK_OPEN_CREATE, &file, err));
    MK_TRY(rc, fs->write_at(fs->ctx, file, bytes.p, bytes.n, at, err));
    rc = fs->sync(fs->ctx, file, err);
out:
    if (file != NULL)
        fs->close(fs->ctx, file);
    return rc;
}

static mk_code append_dict(mk_store *store, const char *name, const mk_dict *dict, uint32_t count,
                           const tape *from, tape *to, mk_err *err)
{
    mk_buf buf;
    uint64_t sum = from->sum;
    mk_code rc;
    mk_buf_init(&buf, store->alloc);
    for (uint32_t code = from->items; code < count; code++) {
        const mk_str text = mk_dict_text(dict, code);
        sum = sum_on(sum, mk_checksum64(text.p, text.n));
        uint8_t size[4];
        mk_put_u32(size, (uint32_t)text.n);
        mk_buf_put(&buf, size, sizeof size);
        mk_buf_str(&buf, text);
    }
    MK_TRY(rc, mk_buf_done(&buf, err));
    MK_TRY(rc, append_bytes(store, name, from->bytes, mk_buf_view(&buf), err));
    *to = (tape){from->bytes + buf.n, sum, count};
out:
    mk_buf_free(&buf);
    return rc;
}

static mk_code append_batches(mk_store *store, uint32_t from, uint32_t to, uint64_t *sum, mk_err *err)
{
    mk_buf buf;
    mk_code rc;
    mk_buf_init(&buf, store->alloc);
    for (uint32_t seq = from + 1; seq <= to; seq++) {
        uint8_t tt[8];
        mk_put_u64(tt, (uint64_t)mk_batch_tt(store, seq));
        *sum = sum_on(*sum, (uint64_t)mk_batch_tt(store, seq));
        mk_buf_put(&buf, tt, sizeof tt);
    }
    MK_TRY(rc, mk_buf_done(&buf, err));
    rc = append_bytes(store, "batches", (uint64_t)from * 8, mk_buf_view(&buf), err);
out:
    mk_buf_free(&buf);
    return rc;
}

/* ---- a snapshot of what to write, taken under the barrier ---- */

typedef struct ended {
    mk_segment *segment;
    uint32_t *pairs;
    uint32_t count;
} ended;

typedef struct snapshot {
    mk_files next;
    mk_log_pos log_end, log_last;
    int64_t next_disc;
    uint64_t next_segment_id;
    uint32_t seq, entities;
    mk_class_stats stats[MK_CLASS_COUNT];
    uint32_t degree_max_user, degree_max_all;
    mk_segment **segments;
    size_t segment_count;
    ended *ends;
    size_t end_count;
    uint8_t *degrees;
    uint64_t log_bytes;
    mk_buf rels; /* JSON array text */
} snapshot;

static void free_snapshot(mk_store *store, snapshot *s)
{
    for (size_t i = 0; i < s->end_count; i++)
        mk_free(store->alloc, s->ends[i].pairs, (size_t)s->ends[i].count * 8);
    mk_free(store->alloc, s->ends, s->segment_count * sizeof *s->ends);
    mk_free(store->alloc, s->segments, s->segment_count * sizeof *s->segments);
    mk_free(store->alloc, s->degrees, (size_t)s->entities * 8);
    mk_buf_free(&s->rels);
}

static mk_code copy_ends(mk_store *store, snapshot *s, mk_segment *segment, mk_err *err)
{
    ended *copy = &s->ends[s->end_count];
    copy->segment = segment;
    copy->pairs = mk_new(store->alloc, (size_t)segment->ended * 8);
    if (copy->pairs == NULL)
        return mk_fail_nomem(err);
    copy->count = 0;
    for (uint32_t row = 0; row < segment->rows && copy->count < segment->ended; row++) {
        const uint32_t seq = mk_segment_end_seq(segment, row);
        if (seq == MK_SEQ_OPEN)
            continue;
        copy->pairs[2 * copy->count] = row;
        copy->pairs[2 * copy->count++ + 1] = seq;
    }
    s->end_count++;
    return MK_OK;
}

static void note_rels(mk_store *store, snapshot *s)
{
    mk_buf_c(&s->rels, '[');
    for (uint32_t code = 0; code < store->published.names; code++) {
        const _Atomic uint64_t *counts =
            mk_geo_at(&store->rel_count, code, MK_CLASS_COUNT * sizeof(_Atomic uint64_t));
        uint64_t sum = 0;
        for (int class = 0; class < MK_CLASS_COUNT; class++)
            sum += atomic_load_explicit(&counts[class], memory_order_relaxed);
        if (sum == 0)
            continue;
        mk_buf_printf(&s->rels, "%s[%" PRIu32, s->rels.n > 1 ? "," : "", code);
        for (int class = 0; class < MK_CLASS_COUNT; class++)
            mk_buf_printf(&s->rels, ",%" PRIu64,
                          atomic_load_explicit(&counts[class], memory_order_relaxed));
        mk_buf_c(&s->rels, ']');
    }
    mk_buf_c(&s->rels, ']');
}

/* Under the mutex with the barrier up and the tail sealed. */
static mk_code take_snapshot(mk_store *store, snapshot *s, mk_err *err)
{
    mk_code rc = MK_OK;
    s->next = *store->files;
    s->log_end = store->log_end;
    s->log_last = store->log_last;
    s->next_disc = store->next_disc;
    s->next_segment_id = store->next_segment_id;
    s->seq = store->published.seq;
    s->entities = store->published.entities;
    memcpy(s->stats, store->stats, sizeof s->stats);
    s->degree_max_user = store->degree_max_user;
    s->degree_max_all = store->degree_max_all;
    s->log_bytes = store->log_bytes_since;
    size_t count = 0;
    for (int lane = 0; lane < MK_LANE_COUNT; lane++)
        count += store->lanes[lane].count;
    s->segment_count = count;
    s->segments = mk_new(store->alloc, count * sizeof *s->segments);
    s->ends = mk_new(store->alloc, count * sizeof *s->ends);
    s->degrees = mk_new(store->alloc, (size_t)s->entities * 8);
    if (s->segments == NULL || s->ends == NULL || s->degrees == NULL) {
        rc = mk_fail_nomem(err);
        goto out;
    }
    count = 0;
    for (int lane = 0; lane < MK_LANE_COUNT; lane++)
        for (size_t i = 0; i < store->lanes[lane].count; i++) {
            mk_segment *segment = store->lanes[lane].items[i];
            s->segments[count++] = segment;
            if (segment->ended != segment->ends_saved)
                MK_TRY(rc, copy_ends(store, s, segment, err));
        }
    for (uint32_t id = 0; id < s->entities; id++) {
        const uint32_t *degree = mk_geo_at(&store->degree, id, 2 * sizeof(uint32_t));
        mk_put_u32(s->degrees + 8 * (size_t)id, degree[0]);
        mk_put_u32(s->degrees + 8 * (size_t)id + 4, degree[1]);
    }
    note_rels(store, s);
    rc = mk_buf_done(&s->rels, err);
out:
    return rc;
}

/* ---- writing a checkpoint ---- */

static mk_code write_segments(mk_store *store, snapshot *s, mk_err *err)
{
    char path[PATH_MAX_SIZE], name[80];
    mk_code rc = MK_OK;
    for (size_t i = 0; i < s->segment_count; i++) {
        mk_segment *segment = s->segments[i];
        if (segment->path != NULL)
            continue;
        snprintf(name, sizeof name, "%012" PRIu64 ".seg", segment->id);
        MK_TRY(rc, path_of(store, path, name, err));
        MK_TRY(rc, mk_segment_write(segment, store->fs, path, err));
    }
    for (size_t i = 0; i < s->end_count; i++) {
        ended *e = &s->ends[i];
        e->segment->ends_version = s->next.generation;
        snprintf(name, sizeof name, "%012" PRIu64 "-%" PRIu64 ".ends", e->segment->id,
                 s->next.generation);
        MK_TRY(rc, path_of(store, path, name, err));
        MK_TRY(rc, mk_segment_write_ends(e->segment, store->fs, path, e->pairs, e->count, err));
        e->segment->ends_saved = e->count;
    }
out:
    return rc;
}

static void put_pos(mk_buf *out, const mk_log_pos *pos)
{
    char chain[64];
    mk_hex(chain, pos->chain, 32);
    mk_buf_printf(out,
                  "{\"chain\":\"%.64s\",\"file\":%" PRIu32 ",\"frames\":%" PRIu64
                  ",\"offset\":%" PRIu64 ",\"tt\":%" PRId64 "}",
                  chain, pos->file, pos->frames, pos->offset, pos->tt.us);
}

static void put_tape(mk_buf *out, const char *name, const tape *t)
{
    mk_buf_printf(out, ",\"%s\":[%" PRIu32 ",%" PRIu64 ",%" PRId64 "]", name, t->items, t->bytes,
                  (int64_t)t->sum);
}

static void put_manifest(mk_buf *out, const snapshot *s)
{
    mk_buf_printf(out,
                  "{\"batches\":%" PRIu32 ",\"batches_sum\":%" PRId64
                  ",\"degree\":\"%s\",\"degree_max\":[%" PRIu32 ",%" PRIu32 "],\"degree_sum\":%" PRId64,
                  s->next.batches, (int64_t)s->next.batches_sum, s->next.degree, s->degree_max_user,
                  s->degree_max_all, (int64_t)s->next.degree_sum);
    put_tape(out, "entities", &s->next.entities);
    mk_buf_printf(out, ",\"format\":%d,\"generation\":%" PRIu64, FORMAT, s->next.generation);
    mk_buf_z(out, ",\"log\":");
    put_pos(out, &s->log_end);
    mk_buf_z(out, ",\"log_last\":");
    put_pos(out, &s->log_last);
    put_tape(out, "names", &s->next.names);
    mk_buf_printf(out, ",\"next_disc\":%" PRId64 ",\"next_segment\":%" PRIu64, s->next_disc,
                  s->next_segment_id);
    put_tape(out, "origins", &s->next.origins);
    mk_buf_z(out, ",\"rels\":");
    mk_buf_str(out, mk_buf_view(&s->rels));
    mk_buf_z(out, ",\"segments\":[");
    for (size_t i = 0; i < s->segment_count; i++)
        mk_buf_printf(out, "%s[%" PRIu64 ",%" PRIu64 "]", i ? "," : "", s->segments[i]->id,
                      s->segments[i]->ends_version);
    mk_buf_z(out, "],\"stats\":[");
    for (int class = 0; class < MK_CLASS_COUNT; class++) {
        const mk_class_stats *stats = &s->stats[class];
        mk_buf_printf(out,
                      "%s[%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%d,%" PRId64 ",%" PRId64 "]",
                      class ? "," : "", stats->entities, stats->node_versions,
                      stats->edge_versions, stats->has_extent, stats->vt_min, stats->vt_max);
    }
    mk_buf_z(out, "]}");
    mk_buf_printf(out, "\n%016" PRIx64 "\n", mk_checksum64(out->p, out->n));
}

/* Files that the new manifest does not name: leftovers of merges and of checkpoints that died. */
typedef struct sweep {
    mk_store *store;
    const snapshot *s;
    mk_buf victims; /* names, NUL-separated */
} sweep;

static bool named(const snapshot *s, const char *name)
{
    static const char *const fixed[] = {MANIFEST, "entities", "names", "origins", "batches"};
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        if (strcmp(name, fixed[i]) == 0)
            return true;
    if (strcmp(name, s->next.degree) == 0)
        return true;
    uint64_t id = 0, version = 0;
    char *rest;
    id = strtoull(name, &rest, 10);
    if (*rest == '-')
        version = strtoull(rest + 1, &rest, 10);
    for (size_t i = 0; i < s->segment_count; i++)
        if (s->segments[i]->id == id)
            return strcmp(rest, ".seg") == 0 ||
                   (strcmp(rest, ".ends") == 0 && s->segments[i]->ends_version == version);
    return false;
}

static void sweep_name(void *arg, const char *name)
{
    sweep *w = arg;
    if (!named(w->s, name))
        mk_buf_put(&w->victims, name, strlen(name) + 1);
}

static void remove_unnamed(mk_store *store, const snapshot *s)
{
    char dir[PATH_MAX_SIZE], path[PATH_MAX_SIZE];
    sweep w = {.store = store, .s = s};
    mk_buf_init(&w.victims, store->alloc);
    snprintf(dir, sizeof dir, "%s/data", store->dir);
    if (store->fs->list(store->fs->ctx, dir, sweep_name, &w, NULL) == MK_OK && !w.victims.failed)
        for (size_t at = 0; at < w.victims.n; at += strlen(w.victims.p + at) + 1)
            if (path_of(store, path, w.victims.p + at, NULL) == MK_OK &&
                store->fs->remove(store->fs->ctx, path, NULL) != MK_OK)
                mk_store__log(store, MK_LOG_WARN, "could not remove %s", path);
    mk_buf_free(&w.victims);
}

static mk_code write_snapshot(mk_store *store, snapshot *s, mk_err *err)
{
    char dir[PATH_MAX_SIZE];
    const mk_files *old = store->files;
    mk_buf manifest;
    mk_code rc = MK_OK;
    mk_buf_init(&manifest, store->alloc);
    /* Names are used once: after a failure it is unknown whether the disk has this number's manifest. */
    s->next.generation = ++store->files->generation;
    snprintf(dir, sizeof dir, "%s/data", store->dir);
    MK_TRY(rc, store->fs->make_dir(store->fs->ctx, dir, err));
    MK_TRY(rc, write_segments(store, s, err));
    MK_TRY(rc, append_dict(store, "entities", &store->entities, s->entities, &old->entities,
                           &s->next.entities, err));
    MK_TRY(rc, append_dict(store, "names", &store->names, s->next.names.items, &old->names,
                           &s->next.names, err));
    MK_TRY(rc, append_dict(store, "origins", &store->origins, s->next.origins.items, &old->origins,
                           &s->next.origins, err));
    s->next.batches_sum = old->batches_sum;
    MK_TRY(rc, append_batches(store, old->batches, s->seq, &s->next.batches_sum, err));
    s->next.batches = s->seq;
    snprintf(s->next.degree, sizeof s->next.degree, "degree-%" PRIu64, s->next.generation);
    MK_TRY(rc, append_bytes(store, s->next.degree, 0,
                            (mk_str){(const char *)s->degrees, (size_t)s->entities * 8}, err));
    s->next.degree_sum = mk_checksum64(s->degrees, (size_t)s->entities * 8);
    if (s->entities == 0)
        s->next.degree[0] = 0;
    put_manifest(&manifest, s);
    MK_TRY(rc, mk_buf_done(&manifest, err));
    MK_TRY(rc, store->fs->sync_dir(store->fs->ctx, dir, err));
    MK_TRY(rc, mk_fs_replace(store->fs, dir, MANIFEST, mk_buf_view(&manifest), err));
    *store->files = s->next;
    remove_unnamed(store, s);
out:
    mk_buf_free(&manifest);
    return rc;
}

mk_code mk_store_checkpoint(mk_store *store, mk_err *err)
{
    snapshot s = {0};
    mk_code rc;
    if (!store->writable)
        return mk_fail(err, MK_E_STATE, "the store is open for reading only");
    mk_buf_init(&s.rels, store->alloc);
    /* One at a time. Like a reader it is inside an epoch: segments that are merged away meanwhile stay
     * until their files are written. */
    unsigned slot;
    pthread_mutex_lock(&store->upkeep_mutex);
    MK_TRY(rc, mk_epoch_enter(&store->epoch, &slot, err));
    pthread_mutex_lock(&store->mutex);
    rc = mk_commit__raise(store, err);
    if (rc == MK_OK) {
        /* A checkpoint never runs ahead of the log. */
        rc = mk_commit__flush(store, err);
        if (rc == MK_OK)
            rc = mk_seal__tail(store, err);
        if (rc == MK_OK) {
            s.next = *store->files;
            rc = take_snapshot(store, &s, err);
            s.next.names.items = store->published.names;
            s.next.origins.items = store->published.origins;
        }
        mk_commit__lower(store);
    }
    pthread_mutex_unlock(&store->mutex);
    if (rc == MK_OK)
        rc = write_snapshot(store, &s, err);
    if (rc == MK_OK) {
        pthread_mutex_lock(&store->mutex);
        store->log_bytes_since -= s.log_bytes < store->log_bytes_since ? s.log_bytes : store->log_bytes_since;
        pthread_mutex_unlock(&store->mutex);
    }
    free_snapshot(store, &s);
    mk_epoch_leave(&store->epoch, slot);
out:
    pthread_mutex_unlock(&store->upkeep_mutex);
    return rc;
}

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

static bool get_tape(const mk_json *json, tape *out)
{
    int64_t items, bytes, sum;
    if (json == NULL || json->kind != MK_JSON_ARRAY || json->n != 3 ||
        !get_int(&json->items[0], &items) || !get_int(&json->items[1], &bytes) ||
        !get_int(&json->items[2], &sum) || items < 0 || items > UINT32_MAX - 1 || bytes < 0)
        return false;
    *out = (tape){(uint64_t)bytes, (uint64_t)sum, (uint32_t)items};
    return true;
}

static mk_code read_tape(mk_store *store, const char *name, uint64_t bytes, mk_buf *buf, mk_err *err)
{
    char path[PATH_MAX_SIZE];
    const mk_fs *fs = store->fs;
    mk_file *file = NULL;
    uint64_t there;
    size_t got = 0;
    mk_code rc = MK_OK;
    mk_buf_clear(buf);
    if (bytes == 0)
        return MK_OK;
    MK_TRY(rc, path_of(store, path, name, err));
    MK_TRY(rc, fs->open(fs->ctx, path, MK_OPEN_READ, &file, err));
    MK_TRY(rc, fs->size(fs->ctx, file, &there, err));
    if (there < bytes) { /* before any memory is taken for it */
        rc = damaged(name, err);
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
        rc = damaged(name, err);
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
        return damaged("origins", err);
    memcpy(key, text.p, sizeof key);
    if (key[0] >= store->names.count || (key[1] != MK_NONE && key[1] >= store->names.count))
        return damaged("origins", err);
    return mk_dict_add(&store->origins, text, code, err);
}

static mk_code load_dict(mk_store *store, const char *name, const tape *t, add_text *add, mk_err *err)
{
    mk_buf buf;
    mk_code rc;
    mk_buf_init(&buf, store->alloc);
    MK_TRY(rc, read_tape(store, name, t->bytes, &buf, err));
    size_t at = 0;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < t->items; i++) {
        uint32_t code;
        if (buf.n - at < 4 || buf.n - at - 4 < mk_get_u32((const uint8_t *)buf.p + at)) {
            rc = damaged(name, err);
            goto out;
        }
        const uint32_t size = mk_get_u32((const uint8_t *)buf.p + at);
        sum = sum_on(sum, mk_checksum64(buf.p + at + 4, size));
        MK_TRY(rc, add(store, (mk_str){buf.p + at + 4, size}, &code, err));
        if (code != i) {
            rc = damaged(name, err);
            goto out;
        }
        at += 4 + (size_t)size;
    }
    if (at != buf.n || sum != t->sum)
        rc = damaged(name, err);
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
        sum = sum_on(sum, tt);
    }
    if (sum != store->files->batches_sum)
        rc = damaged("batches", err);
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
        rc = damaged(name, err);
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
    char path[PATH_MAX_SIZE], name[80];
    mk_segment *segment = NULL;
    mk_code rc;
    snprintf(name, sizeof name, "%012" PRIu64 ".seg", id);
    MK_TRY(rc, path_of(store, path, name, err));
    MK_TRY(rc, mk_segment_open(store->alloc, store->fs, path, &segment, err));
    if (segment->id != id) {
        rc = damaged(name, err);
        goto out;
    }
    segment->limits = (mk_code_limits){store->entities.count, store->names.count, store->origins.count,
                                       store->files->batches};
    if (ends_version != 0) {
        snprintf(name, sizeof name, "%012" PRIu64 "-%" PRIu64 ".ends", id, ends_version);
        MK_TRY(rc, path_of(store, path, name, err));
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
        return damaged(MANIFEST, err);
    for (size_t i = 0; i < segments->n; i++) {
        const mk_json *pair = &segments->items[i];
        int64_t id, version;
        if (pair->kind != MK_JSON_ARRAY || pair->n != 2 || !get_int(&pair->items[0], &id) ||
            !get_int(&pair->items[1], &version))
            return damaged(MANIFEST, err);
        MK_TRY(rc, load_segment(store, (uint64_t)id, (uint64_t)version, err));
    }
    for (size_t i = 0; i < rels->n; i++) {
        const mk_json *row = &rels->items[i];
        int64_t code = -1, count;
        if (row->kind != MK_JSON_ARRAY || row->n != 1 + MK_CLASS_COUNT ||
            !get_int(&row->items[0], &code) || code < 0 || code >= store->names.count)
            return damaged(MANIFEST, err);
        _Atomic uint64_t *counts = mk_geo_at(&store->rel_count, (uint32_t)code,
                                             MK_CLASS_COUNT * sizeof(_Atomic uint64_t));
        for (int class = 0; class < MK_CLASS_COUNT; class++) {
            if (!get_int(&row->items[1 + class], &count))
                return damaged(MANIFEST, err);
            atomic_store_explicit(&counts[class], (uint64_t)count, memory_order_relaxed);
        }
    }
    for (int class = 0; class < MK_CLASS_COUNT; class++) {
        const mk_json *row = &stats->items[class];
        int64_t v[6];
        for (int i = 0; i < 6; i++)
            if (row->kind != MK_JSON_ARRAY || row->n != 6 || !get_int(&row->items[i], &v[i]))
                return damaged(MANIFEST, err);
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
    if (!get_int(mk_json_get(root, "format"), &format) || format != FORMAT ||
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
        return damaged(MANIFEST, err);
    files->generation = (uint64_t)generation;
    files->batches = (uint32_t)batches;
    files->batches_sum = (uint64_t)batches_sum;
    files->degree_sum = (uint64_t)degree_sum;
    memcpy(files->degree, degree->text.p, degree->text.n);
    files->degree[degree->text.n] = 0;
    store->next_segment_id = (uint64_t)next_segment;
    store->degree_max_user = (uint32_t)max_user;
    store->degree_max_all = (uint32_t)max_all;
    MK_TRY(rc, load_dict(store, "names", &files->names, mk_names__name, err));
    MK_TRY(rc, load_dict(store, "entities", &files->entities, mk_names__entity, err));
    MK_TRY(rc, load_dict(store, "origins", &files->origins, add_origin, err));
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
    char path[PATH_MAX_SIZE];
    mk_code rc;
    *found = false;
    MK_TRY(rc, path_of(store, path, MANIFEST, err));
    rc = mk_fs_read_all(store->fs, path, MANIFEST_MAX, buf, err);
    if (rc == MK_E_NOT_FOUND)
        return MK_OK;
    if (rc == MK_E_LIMIT)
        return damaged(MANIFEST, err);
    if (rc != MK_OK)
        return rc;
    char sum[24];
    if (buf->n < 18 || buf->p[buf->n - 18] != '\n')
        return damaged(MANIFEST, err);
    const size_t text = buf->n - 18;
    snprintf(sum, sizeof sum, "\n%016" PRIx64 "\n", mk_checksum64(buf->p, text));
    if (memcmp(buf->p + text, sum, 18) != 0)
        return damaged(MANIFEST, err);
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

mk_code mk_files__generation(const mk_store *store, uint64_t *generation, mk_err *err)
{
    mk_buf buf;
    mk_arena arena;
    mk_json *root;
    bool found;
    int64_t value = 0;
    mk_code rc;
    *generation = 0;
    mk_buf_init(&buf, store->alloc);
    mk_arena_init(&arena, store->alloc);
    MK_TRY(rc, read_manifest(store, &buf, &found, err));
    if (!found)
        goto out;
    MK_TRY(rc, mk_json_parse(&arena, mk_buf_view(&buf), NULL, &root, err));
    if (!get_int(mk_json_get(root, "generation"), &value))
        rc = damaged(MANIFEST, err);
    *generation = (uint64_t)value;
out:
    mk_arena_free(&arena);
    mk_buf_free(&buf);
    return rc;
}

uint64_t mk_files__loaded(const mk_store *store) { return store->files->generation; }

/* Numbers above those of every file that is there, so that a fold from the start reuses no name that
 * another process may still be reading. */
static void avoid_name(void *arg, const char *name)
{
    mk_store *store = arg;
    char *rest;
    uint64_t generation = 0;
    const uint64_t id = strtoull(name, &rest, 10);
    if (rest != name && id >= store->next_segment_id)
        store->next_segment_id = id + 1;
    if (rest != name && *rest == '-')
        generation = strtoull(rest + 1, NULL, 10);
    else if (strncmp(name, "degree-", 7) == 0)
        generation = strtoull(name + 7, NULL, 10);
    if (generation > store->files->generation)
        store->files->generation = generation;
}

void mk_files__avoid(mk_store *store)
{
    char dir[PATH_MAX_SIZE];
    snprintf(dir, sizeof dir, "%s/data", store->dir);
    /* No folder, no names to avoid. */
    const mk_code rc = store->fs->list(store->fs->ctx, dir, avoid_name, store, NULL);
    (void)rc;
}

mk_code mk_files__init(mk_store *store, mk_err *err)
{
    store->files = mk_new0(store->alloc, sizeof *store->files);
    return store->files ? MK_OK : mk_fail_nomem(err);
}

void mk_files__free(mk_store *store)
{
    mk_free(store->alloc, store->files, sizeof *store->files);
    store->files = NULL;
}

/* ---- how much there is ---- */

typedef struct usage {
    mk_store *store;
    const char *folder;
    mk_disk_stats *out;
} usage;

static void add_usage(void *arg, const char *name)
{
    usage *u = arg;
    char path[PATH_MAX_SIZE];
    mk_file *file;
    uint64_t size = 0;
    const mk_fs *fs = u->store->fs;
    const int n = snprintf(path, sizeof path, "%s/%s/%s", u->store->dir, u->folder, name);
    if (n < 0 || n >= PATH_MAX_SIZE || fs->open(fs->ctx, path, MK_OPEN_READ, &file, NULL) != MK_OK)
        return;
    if (fs->size(fs->ctx, file, &size, NULL) != MK_OK)
        size = 0;
    fs->close(fs->ctx, file);
    const char *dot = strrchr(name, '.');
    if (strcmp(u->folder, "trace") == 0)
        u->out->trace_bytes += size;
    else if (dot != NULL && strcmp(dot, ".seg") == 0)
        u->out->segment_bytes += size; /* lists are taken off below */
    else if (strcmp(name, "entities") == 0 || strcmp(name, "names") == 0 || strcmp(name, "origins") == 0)
        u->out->dictionary_bytes += size;
    else
        u->out->other_bytes += size;
}

mk_code mk_store_disk_stats(mk_store *store, mk_disk_stats *out, mk_err *err)
{
    char dir[PATH_MAX_SIZE];
    static const char *const folders[] = {"data", "trace"};
    *out = (mk_disk_stats){0};
    (void)err;
    for (size_t i = 0; i < 2; i++) {
        usage u = {store, folders[i], out};
        snprintf(dir, sizeof dir, "%s/%s", store->dir, folders[i]);
        /* A folder that is not there holds nothing. */
        if (store->fs->list(store->fs->ctx, dir, add_usage, &u, NULL) != MK_OK)
            continue;
    }
    /* A checkpoint at work sets where segments lie while it holds this one only. */
    pthread_mutex_lock(&store->upkeep_mutex);
    pthread_mutex_lock(&store->mutex);
    for (int lane = 0; lane < MK_LANE_COUNT; lane++)
        for (size_t i = 0; i < store->lanes[lane].count; i++) {
            const mk_segment *segment = store->lanes[lane].items[i];
            for (int id = MK_C_A_KEYS; segment->path != NULL && id <= MK_C_B_ROWS; id++)
                out->index_bytes += segment->size[id];
        }
    const mk_log_pos end = store->log_end;
    pthread_mutex_unlock(&store->mutex);
    pthread_mutex_unlock(&store->upkeep_mutex);
    /* The last file is longer than what was written: room is reserved ahead. */
    out->log_bytes = end.offset;
    for (uint32_t number = 1; number < end.file; number++) {
        char name[32];
        usage u = {store, "log", &(mk_disk_stats){0}};
        snprintf(name, sizeof name, "%08" PRIu32 ".mlog", number);
        add_usage(&u, name);
        out->log_bytes += u.out->other_bytes;
    }
    out->segment_bytes -= out->index_bytes < out->segment_bytes ? out->index_bytes : out->segment_bytes;
    return MK_OK;
}

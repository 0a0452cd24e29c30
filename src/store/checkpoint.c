/* checkpoint.c — writing a checkpoint. Layer: store.
 *
 * Under the barrier the tail is sealed and everything that changes is copied; the files are then written
 * and synced without holding anybody up, and the manifest that names them is renamed into place. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/sha256.h"
#include "store/files_internal.h"

/* ---- append-only files ---- */

static mk_code append_bytes(mk_store *store, const char *name, uint64_t at, mk_str bytes, mk_err *err)
{
    char path[MK_PATH_MAX];
    const mk_fs *fs = store->fs;
    mk_file *file = NULL;
    mk_code rc;
    if (bytes.n == 0)
        return MK_OK;
    MK_TRY(rc, mk_files__path(store, path, name, err));
    MK_TRY(rc, fs->open(fs->ctx, path, MK_OPEN_WRITE | MK_OPEN_CREATE, &file, err));
    MK_TRY(rc, fs->write_at(fs->ctx, file, bytes.p, bytes.n, at, err));
    rc = fs->sync(fs->ctx, file, err);
out:
    if (file != NULL)
        fs->close(fs->ctx, file);
    return rc;
}

static mk_code append_dict(mk_store *store, const char *name, const mk_dict *dict, uint32_t count,
                           const mk_tape *from, mk_tape *to, mk_err *err)
{
    mk_buf buf;
    uint64_t sum = from->sum;
    mk_code rc;
    mk_buf_init(&buf, store->alloc);
    for (uint32_t code = from->items; code < count; code++) {
        const mk_str text = mk_dict_text(dict, code);
        sum = mk_sum_on(sum, mk_checksum64(text.p, text.n));
        uint8_t size[4];
        mk_put_u32(size, (uint32_t)text.n);
        mk_buf_put(&buf, size, sizeof size);
        mk_buf_str(&buf, text);
    }
    MK_TRY(rc, mk_buf_done(&buf, err));
    MK_TRY(rc, append_bytes(store, name, from->bytes, mk_buf_view(&buf), err));
    *to = (mk_tape){from->bytes + buf.n, sum, count};
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
        *sum = mk_sum_on(*sum, (uint64_t)mk_batch_tt(store, seq));
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
    char path[MK_PATH_MAX], name[80];
    mk_code rc = MK_OK;
    for (size_t i = 0; i < s->segment_count; i++) {
        mk_segment *segment = s->segments[i];
        if (segment->path != NULL)
            continue;
        snprintf(name, sizeof name, "%012" PRIu64 ".seg", segment->id);
        MK_TRY(rc, mk_files__path(store, path, name, err));
        MK_TRY(rc, mk_segment_write(segment, store->fs, path, err));
    }
    for (size_t i = 0; i < s->end_count; i++) {
        ended *e = &s->ends[i];
        e->segment->ends_version = s->next.generation;
        snprintf(name, sizeof name, "%012" PRIu64 "-%" PRIu64 ".ends", e->segment->id,
                 s->next.generation);
        MK_TRY(rc, mk_files__path(store, path, name, err));
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

static void put_tape(mk_buf *out, const char *name, const mk_tape *t)
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
    mk_buf_printf(out, ",\"format\":%d,\"generation\":%" PRIu64, MK_MANIFEST_FORMAT, s->next.generation);
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
    static const char *const fixed[] = {MK_MANIFEST, "entities", "names", "origins", "batches"};
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
    char dir[MK_PATH_MAX], path[MK_PATH_MAX];
    sweep w = {.store = store, .s = s};
    mk_buf_init(&w.victims, store->alloc);
    snprintf(dir, sizeof dir, "%s/data", store->dir);
    if (store->fs->list(store->fs->ctx, dir, sweep_name, &w, NULL) == MK_OK && !w.victims.failed)
        for (size_t at = 0; at < w.victims.n; at += strlen(w.victims.p + at) + 1)
            if (mk_files__path(store, path, w.victims.p + at, NULL) == MK_OK &&
                store->fs->remove(store->fs->ctx, path, NULL) != MK_OK)
                mk_store__log(store, MK_LOG_WARN, "could not remove %s", path);
    mk_buf_free(&w.victims);
}

static mk_code write_snapshot(mk_store *store, snapshot *s, mk_err *err)
{
    char dir[MK_PATH_MAX];
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
    MK_TRY(rc, mk_fs_replace(store->fs, dir, MK_MANIFEST, mk_buf_view(&manifest), err));
    *store->files = s->next;
    remove_unnamed(store, s);
out:
    mk_buf_free(&manifest);
    return rc;
}

mk_code mk_files__checkpoint(mk_store *store, mk_err *err)
{
    snapshot s = {0};
    mk_code rc;
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
        const uint64_t since = store->log_bytes_since;
        store->log_bytes_since -= s.log_bytes < since ? s.log_bytes : since;
        store->log_bytes_given_up = 0;
        pthread_mutex_unlock(&store->mutex);
    }
    free_snapshot(store, &s);
    mk_epoch_leave(&store->epoch, slot);
out:
    pthread_mutex_unlock(&store->upkeep_mutex);
    return rc;
}

mk_code mk_store_checkpoint(mk_store *store, mk_err *err)
{
    bool worked = true;
    mk_code rc = MK_OK;
    if (!store->writable)
        return mk_fail(err, MK_E_STATE, "the store is open for reading only");
    /* Whoever asks for one by name wants the store in its best shape; the background thread takes turns. */
    pthread_mutex_lock(&store->upkeep_mutex);
    while (rc == MK_OK && worked)
        rc = mk_compact__step(store, &worked, err);
    pthread_mutex_unlock(&store->upkeep_mutex);
    return rc == MK_OK ? mk_files__checkpoint(store, err) : rc;
}

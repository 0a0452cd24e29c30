/* store.c — opening, closing, following the log. Layer: store.
 *
 * States of a handle: loading (single-threaded; nothing may be trusted) -> open (a state is published) ->
 * closing. Loading takes the newest checkpoint, or nothing when it cannot be used, and folds the log
 * behind it. Only the log decides what the store holds. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/hash.h"
#include "base/sha256.h"
#include "store/internal.h"

#define META_MAX 65536
#define FORMAT 1
#define RECYCLED_BYTES ((size_t)128 << 20) /* working memory of one load or merge */
#define LOAD_TRIES 5 /* a reader may find files gone that a writer has just replaced */

void mk_store__log(mk_store *store, mk_log_level level, const char *fmt, ...)
{
    char text[1024];
    va_list args;
    if (store->options.log == NULL)
        return;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    store->options.log(store->options.log_ctx, level, "store", text);
}

/* ---- the directory ---- */

typedef struct listing {
    size_t names;
    bool meta;
} listing;

static void look(void *arg, const char *name)
{
    listing *l = arg;
    /* What a creation that died half-way leaves behind is as good as nothing. */
    l->names += strcmp(name, "merkhet.json.tmp") != 0;
    l->meta |= strcmp(name, "merkhet.json") == 0;
}

static mk_code not_a_store(const mk_store *store, const char *why, mk_err *err)
{
    mk_fail(err, MK_E_STATE, "%s is not a Merkhet store: %s", store->dir, why);
    mk_err_reason(err, "not_a_store");
    mk_err_path(err, "%s", store->dir);
    mk_err_hint(err, "name the folder of a store, or a folder that is empty or missing to create one");
    return MK_E_STATE;
}

static mk_code read_meta(mk_store *store, mk_err *err)
{
    mk_buf buf;
    mk_arena arena;
    mk_json *root;
    char path[4096];
    mk_code rc;
    mk_buf_init(&buf, store->alloc);
    mk_arena_init(&arena, store->alloc);
    snprintf(path, sizeof path, "%s/merkhet.json", store->dir);
    MK_TRY(rc, mk_fs_read_all(store->fs, path, META_MAX, &buf, err));
    rc = mk_json_parse(&arena, mk_buf_view(&buf), NULL, &root, err);
    if (rc == MK_E_NOMEM)
        goto out;
    const mk_json *format = rc == MK_OK ? mk_json_get(root, "format") : NULL;
    const mk_json *id = rc == MK_OK ? mk_json_get(root, "id") : NULL;
    if (format == NULL || format->kind != MK_JSON_INT || id == NULL || id->kind != MK_JSON_STRING ||
        id->text.n != 32) {
        rc = not_a_store(store, "merkhet.json is damaged", err);
        goto out;
    }
    if (format->b || format->i != FORMAT) {
        rc = mk_fail(err, MK_E_STATE, "%s was made by a newer merkhet (format %lld)", store->dir,
                     (long long)(format->b ? 0 : format->i));
        mk_err_reason(err, "newer_format");
        mk_err_hint(err, "use the merkhet that made it, or a newer one");
        goto out;
    }
    memcpy(store->id, id->text.p, 32);
out:
    mk_arena_free(&arena);
    mk_buf_free(&buf);
    return rc;
}

static mk_code create(mk_store *store, mk_err *err)
{
    char text[128];
    const uint64_t high = mk_entropy64(), low = mk_entropy64();
    const int n = snprintf(text, sizeof text, "{\"format\":%d,\"id\":\"%016" PRIx64 "%016" PRIx64 "\"}\n",
                           FORMAT, high, low);
    return mk_fs_replace(store->fs, store->dir, "merkhet.json", (mk_str){text, (size_t)n}, err);
}

/* Parent of the store's directory, for syncing the entry of a new one. */
static void parent_of(const mk_store *store, char *out, size_t size)
{
    snprintf(out, size, "%s", store->dir);
    char *slash = strrchr(out, '/');
    if (slash == NULL)
        snprintf(out, size, ".");
    else if (slash == out)
        out[1] = 0;
    else
        *slash = 0;
}

static mk_code find_or_create(mk_store *store, mk_err *err)
{
    listing seen = {0};
    mk_err why;
    char parent[4096];
    const mk_fs *fs = store->fs;
    const bool may_create = store->options.mode == MK_OPEN_CREATE_WRITER;
    mk_code rc = fs->list(fs->ctx, store->dir, look, &seen, &why);
    if (rc == MK_OK && seen.meta)
        return read_meta(store, err);
    if (rc == MK_OK && seen.names != 0)
        return not_a_store(store, "it holds other files and no merkhet.json", err);
    if (rc != MK_OK && strcmp(why.reason, "missing") != 0 && rc != MK_E_NOT_FOUND) {
        if (err != NULL)
            *err = why;
        return rc;
    }
    if (!may_create) {
        mk_fail(err, MK_E_NOT_FOUND, "there is no store at %s", store->dir);
        mk_err_path(err, "%s", store->dir);
        mk_err_hint(err, "create one with `merkhet init --store DIR`, or name another with --store");
        return MK_E_NOT_FOUND;
    }
    MK_TRY(rc, fs->make_dir(fs->ctx, store->dir, err));
    parent_of(store, parent, sizeof parent);
    MK_TRY(rc, fs->sync_dir(fs->ctx, parent, err));
    MK_TRY(rc, create(store, err));
    rc = read_meta(store, err);
out:
    return rc;
}

static mk_code lock_store(mk_store *store, mk_err *err)
{
    char path[4096];
    bool held = false;
    mk_code rc;
    snprintf(path, sizeof path, "%s/lock", store->dir);
    MK_TRY(rc, store->fs->open(store->fs->ctx, path, MK_OPEN_WRITE | MK_OPEN_CREATE, &store->lock, err));
    MK_TRY(rc, store->fs->lock(store->fs->ctx, store->lock, true, &held, err));
    if (held) {
        rc = mk_fail(err, MK_E_STATE, "another process is writing to %s", store->dir);
        mk_err_reason(err, "locked");
        mk_err_path(err, "%s", path);
        mk_err_hint(err, "wait for it to finish or stop it; reading works meanwhile");
        mk_err_retry(err, MK_RETRY_AS_IS);
    }
out:
    return rc;
}

static bool writer_is_alive(mk_store *store)
{
    char path[4096];
    mk_file *file = NULL;
    bool held = false;
    snprintf(path, sizeof path, "%s/lock", store->dir);
    if (store->fs->open(store->fs->ctx, path, MK_OPEN_READ, &file, NULL) != MK_OK)
        return false;
    if (store->fs->lock(store->fs->ctx, file, false, &held, NULL) != MK_OK)
        held = true; /* unknown: stay behind the durable end */
    store->fs->close(store->fs->ctx, file);
    return held;
}

/* ---- loading ---- */

/* A dead writer may have left frames behind the durable end that only the page cache holds; a writer that
 * starts right now may be writing some. Whoever wrote it, a frame that a reader shows must stay. */
static mk_code make_durable(mk_store *store, const mk_frame *frame, mk_err *err)
{
    char path[4096];
    mk_file *file;
    mk_code rc;
    snprintf(path, sizeof path, "%s/log/%08" PRIu32 ".mlog", store->dir, frame->pos.file);
    MK_TRY(rc, store->fs->open(store->fs->ctx, path, MK_OPEN_READ, &file, err));
    rc = store->fs->sync(store->fs->ctx, file, err);
    store->fs->close(store->fs->ctx, file);
out:
    return rc;
}

/* Frames from log_end on, up to the durable end when a writer is at work. */
static mk_code fold_log(mk_store *store, bool *torn, mk_err *err)
{
    mk_log_reader *reader = NULL;
    mk_log_pos head;
    const mk_log_pos *until = NULL;
    bool found = false;
    mk_code rc = MK_OK;
    *torn = false;
    if (!store->writable) {
        const bool alive = writer_is_alive(store);
        MK_TRY(rc, mk_log_head_read(store->fs, store->dir, &head, &found, err));
        if (!found)
            head = mk_log_start();
        /* Whatever a writer that is gone left behind the noted end was taken when it was first met. */
        if ((alive || (store->read_dry && found)) && head.frames <= store->log_end.frames)
            goto out;
        until = alive ? &head : NULL;
        store->read_dry = false;
    }
    MK_TRY(rc, mk_log_reader_open(store->alloc, store->fs, store->dir, &store->log_end, &reader, err));
    for (;;) {
        mk_frame frame;
        mk_log_end end;
        MK_TRY(rc, mk_log_read(reader, until, &frame, &end, err));
        *torn = end == MK_LOG_TORN;
        if (end != MK_LOG_MORE)
            break;
        if (!store->writable && frame.pos.frames >= head.frames)
            MK_TRY(rc, make_durable(store, &frame, err));
        if (frame.kind == MK_FRAME_BATCH) {
            store->loading_checkpoint = true; /* the frame is sound: what fails is reading a segment */
            MK_TRY(rc, mk_commit__fold_frame(store, &frame, err));
            store->loading_checkpoint = false;
        }
        store->log_last = frame.pos;
        store->log_end = frame.next;
    }
    store->read_dry = !store->writable && until == NULL;
out:
    mk_log_reader_close(reader);
    return rc;
}

static mk_code load(mk_store *store, bool use_checkpoint, mk_err *err)
{
    bool found = false, torn;
    mk_code rc;
    store->log_end = store->log_last = mk_log_start();
    store->next_segment_id = 1;
    MK_TRY(rc, mk_files__init(store, err));
    MK_TRY(rc, mk_geo_reserve(&store->batches, store->alloc, 0, sizeof(int64_t), err));
    if (use_checkpoint) {
        store->loading_checkpoint = true;
        MK_TRY(rc, mk_files__load(store, &found, err));
        store->loading_checkpoint = false;
        if (found)
            MK_TRY(rc, mk_log_pos_check(store->alloc, store->fs, store->dir, &store->log_end,
                                        &store->log_last, err));
    }
    if (!found)
        mk_files__avoid(store);
    MK_TRY(rc, mk_publish__state(store, err));
    store->loading = true;
    rc = fold_log(store, &torn, err);
    store->loading = false;
    store->loading_checkpoint &= found;
    if (rc != MK_OK)
        goto out;
    if (torn && store->writable)
        mk_store__log(store, MK_LOG_WARN,
                      "the last frame of the log is incomplete and is cut off: file=%" PRIu32
                      " offset=%" PRIu64 "; it was never acknowledged",
                      store->log_end.file, store->log_end.offset);
    if (store->writable) {
        MK_TRY(rc, mk_log_writer_open(store->alloc, store->fs, store->dir, &store->log_end,
                                      &store->log, err));
        /* The writer may have moved the last frames into a new file. log_end and log_last stay where they
         * were read, as a pair that a checkpoint can be checked by: a reader finds the place again. */
    }
out:
    return rc;
}

/* ---- life ---- */

static void free_segments(mk_store *store)
{
    for (int lane = 0; lane < MK_LANE_COUNT; lane++) {
        mk_segment_list *list = &store->lanes[lane];
        for (size_t i = 0; i < list->count; i++)
            mk_segment_free(list->items[i]);
        mk_free(store->alloc, list->items, list->cap * sizeof *list->items);
    }
}

static void free_store(mk_store *store)
{
    const mk_alloc *alloc = store->alloc;
    mk_log_writer_close(store->log);
    mk_epoch_destroy(&store->epoch);
    mk_state *state = atomic_load(&store->state);
    if (state != NULL)
        mk_free(alloc, state, state->size);
    free_segments(store);
    mk_tail__free(store);
    mk_lowered_free(&store->lowered);
    mk_dict_free(&store->entities);
    mk_dict_free(&store->names);
    mk_dict_free(&store->origins);
    mk_geo_free(&store->batches, alloc, sizeof(int64_t));
    mk_geo_free(&store->heads, alloc, sizeof(mk_heads));
    mk_geo_free(&store->believed, alloc, sizeof(uint32_t));
    mk_geo_free(&store->degree, alloc, 2 * sizeof(uint32_t));
    mk_geo_free(&store->rel_count, alloc, MK_CLASS_COUNT * sizeof(_Atomic uint64_t));
    mk_geo_free(&store->first_seen, alloc, 16);
    mk_free(alloc, store->undo, store->undo_cap * sizeof *store->undo);
    for (size_t i = 0; store->ring_commits != NULL && i < MK_RING_SIZE; i++)
        mk_free(alloc, store->ring_commits[i].touches,
                store->ring_commits[i].touch_count * sizeof(mk_touch));
    mk_free(alloc, store->ring_commits, MK_RING_SIZE * sizeof *store->ring_commits);
    mk_arena_free(&store->scratch);
    mk_buf_free(&store->group);
    mk_buf_free(&store->writing);
    mk_files__free(store);
    if (store->lock != NULL)
        store->fs->close(store->fs->ctx, store->lock);
    pthread_cond_destroy(&store->changed);
    pthread_cond_destroy(&store->upkeep);
    pthread_mutex_destroy(&store->mutex);
    pthread_mutex_destroy(&store->upkeep_mutex);
    if (store->dir != NULL)
        mk_free(alloc, store->dir, strlen(store->dir) + 1);
    const mk_alloc *under = store->options.alloc;
    mk_recycler_destroy(&store->recycler);
    mk_free(under, store, sizeof *store);
}

static mk_code new_store(const char *dir, const mk_store_options *options, mk_store **out, mk_err *err)
{
    const mk_alloc *alloc = options->alloc ? options->alloc : &mk_alloc_default;
    mk_store *store = mk_new0(alloc, sizeof *store);
    mk_code rc = MK_OK;
    if (store == NULL)
        return mk_fail_nomem(err);
    rc = mk_recycler_init(&store->recycler, alloc, RECYCLED_BYTES, err);
    if (rc != MK_OK) {
        mk_free(alloc, store, sizeof *store);
        return rc;
    }
    store->options = *options;
    store->options.alloc = alloc;
    alloc = store->alloc = &store->recycler.alloc;
    store->fs = store->options.fs = options->fs ? options->fs : &mk_fs_posix;
    if (options->clock == NULL)
        store->options.clock = &mk_clock_system;
    if (options->tail_rows == 0)
        store->options.tail_rows = MK_DEFAULT_TAIL_ROWS;
    if (options->tail_log_bytes == 0)
        store->options.tail_log_bytes = MK_DEFAULT_TAIL_LOG_BYTES;
    store->writable = options->mode != MK_OPEN_READER;
    /* Staging a batch takes microseconds: spinning a little beats going to sleep for it. */
    pthread_mutexattr_t adaptive;
    pthread_mutexattr_init(&adaptive);
    pthread_mutexattr_settype(&adaptive, PTHREAD_MUTEX_ADAPTIVE_NP);
    pthread_mutex_init(&store->mutex, &adaptive);
    pthread_mutexattr_destroy(&adaptive);
    pthread_mutex_init(&store->upkeep_mutex, NULL);
    pthread_cond_init(&store->changed, NULL);
    pthread_cond_init(&store->upkeep, NULL);
    rc = mk_epoch_init(&store->epoch, err);
    const uint64_t seed = mk_entropy64();
    mk_lowered_init(&store->lowered, alloc);
    mk_dict_init(&store->entities, alloc, &store->epoch, seed);
    mk_dict_init(&store->names, alloc, &store->epoch, seed);
    mk_dict_init(&store->origins, alloc, &store->epoch, seed);
    mk_arena_init(&store->scratch, alloc);
    mk_buf_init(&store->group, alloc);
    mk_buf_init(&store->writing, alloc);
    size_t dir_size = strlen(dir);
    while (dir_size > 1 && dir[dir_size - 1] == '/')
        dir_size--;
    store->dir = mk_new0(alloc, dir_size + 1);
    store->ring_commits = mk_new0(alloc, MK_RING_SIZE * sizeof *store->ring_commits);
    if (rc == MK_OK && (store->dir == NULL || store->ring_commits == NULL))
        rc = mk_fail_nomem(err);
    if (store->dir != NULL)
        memcpy(store->dir, dir, dir_size);
    if (rc != MK_OK) {
        free_store(store);
        return rc;
    }
    *out = store;
    return MK_OK;
}

/* One merge; the mutex is held, and let go meanwhile. False when there was nothing to merge. */
static bool merge_once(mk_store *store)
{
    mk_err err;
    bool worked = false;
    pthread_mutex_unlock(&store->mutex);
    pthread_mutex_lock(&store->upkeep_mutex);
    const mk_code rc = mk_compact__step(store, &worked, &err);
    pthread_mutex_unlock(&store->upkeep_mutex);
    mk_epoch_collect(&store->epoch);
    pthread_mutex_lock(&store->mutex);
    if (rc != MK_OK)
        mk_store__log(store, MK_LOG_WARN, "merging put off: %s", err.message);
    return rc == MK_OK && worked;
}

static void checkpoint_once(mk_store *store)
{
    mk_err err;
    pthread_mutex_unlock(&store->mutex);
    const mk_code rc = mk_files__checkpoint(store, &err);
    pthread_mutex_lock(&store->mutex);
    store->upkeep_wanted = false;
    if (rc == MK_OK)
        return;
    mk_store__log(store, MK_LOG_WARN, "checkpoint skipped, the log has everything: %s", err.message);
    store->log_bytes_given_up = store->log_bytes_since; /* try again after as much log as before */
}

/* The background thread: checkpoints and merges when a commit asks for it. A checkpoint goes before the
 * next merge, since it bounds what the next opening has to fold. */
static void *keep_up(void *arg)
{
    mk_store *store = arg;
    pthread_mutex_lock(&store->mutex);
    while (!store->closing) {
        if (store->upkeep_wanted) {
            checkpoint_once(store);
        } else if (store->merge_wanted) {
            store->merge_wanted = merge_once(store);
            pthread_cond_broadcast(&store->changed);
        } else {
            pthread_cond_wait(&store->upkeep, &store->mutex);
        }
    }
    pthread_mutex_unlock(&store->mutex);
    return NULL;
}

mk_code mk_store_open(const char *dir, const mk_store_options *options, mk_store **out, mk_err *err)
{
    static const mk_store_options defaults = {0};
    mk_store *store = NULL;
    mk_err local;
    mk_code rc = MK_OK;
    bool use_checkpoint = true;
    if (options == NULL)
        options = &defaults;
    if (err == NULL)
        err = &local;
    use_checkpoint = !options->rebuild;
    for (int attempt = 0;; attempt++) { /* ends: without the checkpoint nothing is tried again */
        MK_TRY(rc, new_store(dir, options, &store, err));
        MK_TRY(rc, find_or_create(store, err));
        if (store->writable)
            MK_TRY(rc, lock_store(store, err));
        rc = load(store, use_checkpoint, err);
        if (rc == MK_OK)
            break;
        /* A reader may have met files being replaced: look again. Otherwise the checkpoint is no good,
         * and the log has everything. */
        const bool missing = rc == MK_E_NOT_FOUND && !store->writable && attempt + 1 < LOAD_TRIES;
        const bool bad = use_checkpoint && (store->loading_checkpoint || rc == MK_E_NOT_FOUND) &&
                         rc != MK_E_NOMEM;
        if (!missing && !bad)
            goto out;
        if (!missing) {
            mk_store__log(store, MK_LOG_WARN, "the checkpoint is not usable (%s); folding the log",
                          err->message);
            use_checkpoint = false;
        }
        free_store(store);
        store = NULL;
    }
    if (store->writable && !options->manual) {
        if (pthread_create(&store->thread, NULL, keep_up, store) != 0) {
            rc = mk_fail_nomem(err);
            goto out;
        }
        store->thread_started = true;
    }
    *out = store;
    store = NULL;
out:
    if (store != NULL)
        free_store(store);
    return rc;
}

mk_code mk_store_close(mk_store *store, mk_err *err)
{
    mk_code rc = MK_OK;
    if (store == NULL)
        return MK_OK;
    pthread_mutex_lock(&store->mutex);
    store->closing = true;
    pthread_cond_signal(&store->upkeep);
    pthread_mutex_unlock(&store->mutex);
    if (store->thread_started)
        pthread_join(store->thread, NULL);
    if (store->writable && !store->options.manual && store->log_bytes_since != 0 && !store->refuses)
        rc = mk_files__checkpoint(store, err);
    free_store(store);
    return rc;
}

const char *mk_store_dir(const mk_store *store) { return store->dir; }
bool mk_store_writable(const mk_store *store) { return store->writable; }
const char *mk_store_id(const mk_store *store) { return store->id; }

mk_tt mk_store_last_tt(mk_store *store)
{
    pthread_mutex_lock(&store->mutex);
    const mk_tt tt = store->published.tt;
    pthread_mutex_unlock(&store->mutex);
    return tt;
}

uint32_t mk_store_batches(mk_store *store)
{
    pthread_mutex_lock(&store->mutex);
    const uint32_t batches = store->published.seq;
    pthread_mutex_unlock(&store->mutex);
    return batches;
}

uint64_t mk_store_log_frames(mk_store *store)
{
    pthread_mutex_lock(&store->mutex);
    const uint64_t frames = store->log_end.frames;
    pthread_mutex_unlock(&store->mutex);
    return frames;
}

mk_code mk_store_refresh(mk_store *store, mk_err *err)
{
    bool torn;
    if (store->writable)
        return MK_OK;
    pthread_mutex_lock(&store->mutex);
    const mk_code rc = fold_log(store, &torn, err);
    mk_epoch_collect(&store->epoch);
    pthread_mutex_unlock(&store->mutex);
    return rc;
}

mk_code mk_store_compact(mk_store *store, mk_err *err)
{
    mk_code rc;
    if (!store->writable)
        return mk_fail(err, MK_E_STATE, "the store is open for reading only");
    pthread_mutex_lock(&store->upkeep_mutex);
    pthread_mutex_lock(&store->mutex);
    rc = mk_commit__raise(store, err);
    if (rc == MK_OK) {
        rc = mk_seal__tail(store, err);
        if (rc == MK_OK)
            rc = mk_compact__lanes(store, true, err);
        mk_commit__lower(store);
    }
    pthread_mutex_unlock(&store->mutex);
    pthread_mutex_unlock(&store->upkeep_mutex);
    return rc;
}

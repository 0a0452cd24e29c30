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

#include "store/files_internal.h"

mk_code mk_files__path(const mk_store *store, char path[MK_PATH_MAX], const char *name, mk_err *err)
{
    const int n = snprintf(path, MK_PATH_MAX, "%s/data/%s", store->dir, name);
    if (n < 0 || n >= MK_PATH_MAX)
        return mk_fail(err, MK_E_INVALID_ARG, "the path of the store is too long");
    return MK_OK;
}

mk_code mk_files__damaged(const char *what, mk_err *err)
{
    mk_fail(err, MK_E_STATE, "the checkpoint is damaged: %s", what);
    mk_err_reason(err, "damaged");
    return MK_E_STATE;
}

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
    char dir[MK_PATH_MAX];
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
    char path[MK_PATH_MAX];
    mk_file *file;
    uint64_t size = 0;
    const mk_fs *fs = u->store->fs;
    const int n = snprintf(path, sizeof path, "%s/%s/%s", u->store->dir, u->folder, name);
    if (n < 0 || n >= MK_PATH_MAX || fs->open(fs->ctx, path, MK_OPEN_READ, &file, NULL) != MK_OK)
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
    char dir[MK_PATH_MAX];
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

/* objects.c — content-addressed objects in memory and in a folder. See run.h. Layer: plan.
 *
 * An object's name is the SHA-256 of its text, so writing twice is nothing, and whoever reads hashes again.
 * Files are written beside their name and renamed; they are not synced: one that a power cut tore does not
 * hash to its name, and the command that made it makes it again. */
#include <stdio.h>

#include "base/hash.h"
#include "base/sha256.h"
#include "plan/run.h"
#include "plan/traces.h"

#define OBJECT_MAX ((size_t)256 << 20)

static void digest_of(mk_str text, char out[65])
{
    uint8_t sha[32];
    mk_sha256_of(text.p, text.n, sha);
    mk_hex(out, sha, sizeof sha);
    out[64] = '\0';
}

static bool is_digest(const char *digest)
{
    size_t n = 0;
    while ((digest[n] >= '0' && digest[n] <= '9') || (digest[n] >= 'a' && digest[n] <= 'f'))
        n++;
    return n == 64 && digest[64] == '\0';
}

static mk_code no_object(const char *digest, mk_err *err)
{
    mk_fail(err, MK_E_NOT_FOUND, "there is no object %.64s", digest);
    mk_err_hint(err,
                "repeat the command that made it: the same plan at the same belief gives the same objects");
    return MK_E_NOT_FOUND;
}

/* Whether `text` is what the name says. */
static mk_code verify(const char *digest, mk_str text, const char *where, mk_err *err)
{
    char actual[65];
    digest_of(text, actual);
    if (strcmp(actual, digest) == 0)
        return MK_OK;
    mk_fail(err, MK_E_STATE, "the object %.16s... does not hash to its name: it was changed or torn", digest);
    mk_err_reason(err, "damaged");
    mk_err_path(err, "%s", where);
    mk_err_hint(err, "delete it and repeat the command that made it");
    return MK_E_STATE;
}

/* ---- in memory ---- */

typedef struct kept {
    char digest[65];
    mk_str text;
} kept;

typedef struct memory_objects {
    mk_objects base;
    const mk_alloc *alloc;
    mk_arena arena;
    kept *list;
    size_t count, cap, bytes, bytes_max;
} memory_objects;

static const kept *find(const memory_objects *m, const char *digest)
{
    for (size_t i = 0; i < m->count; i++)
        if (strcmp(m->list[i].digest, digest) == 0)
            return &m->list[i];
    return NULL;
}

static mk_code memory_put(mk_objects *self, const char digest[65], mk_str text, mk_err *err)
{
    memory_objects *m = (memory_objects *)(void *)self;
    if (find(m, digest) != NULL)
        return MK_OK;
    if (text.n > m->bytes_max - m->bytes) {
        mk_fail(err, MK_E_LIMIT, "the results of this run need more than %zu bytes", m->bytes_max);
        mk_err_extra(err, "\"limit\":\"objects\"", 17);
        return MK_E_LIMIT;
    }
    const mk_code rc = mk_grow(m->alloc, (void **)&m->list, &m->cap, m->count + 1, sizeof *m->list, err);
    if (rc != MK_OK)
        return rc;
    kept *k = &m->list[m->count];
    k->text = mk_arena_copy(&m->arena, text);
    if (k->text.p == NULL)
        return mk_fail_nomem(err);
    memcpy(k->digest, digest, sizeof k->digest);
    m->bytes += text.n;
    m->count++;
    return MK_OK;
}

static mk_code memory_get(mk_objects *self, const char *digest, mk_arena *arena, mk_str *text, mk_err *err)
{
    const kept *k = find((const memory_objects *)(void *)self, digest);
    if (k == NULL)
        return no_object(digest, err);
    *text = mk_arena_copy(arena, k->text);
    return text->p != NULL ? verify(digest, *text, "memory", err) : mk_fail_nomem(err);
}

static void memory_close(mk_objects *self)
{
    memory_objects *m = (memory_objects *)(void *)self;
    mk_arena_free(&m->arena);
    mk_free(m->alloc, m->list, m->cap * sizeof *m->list);
    mk_free(m->alloc, m, sizeof *m);
}

mk_code mk_objects_memory(const mk_alloc *alloc, size_t bytes_max, mk_objects **out, mk_err *err)
{
    memory_objects *m = mk_new0(alloc, sizeof *m);
    *out = NULL;
    if (m == NULL)
        return mk_fail_nomem(err);
    m->base = (mk_objects){.put = memory_put, .get = memory_get, .close = memory_close};
    m->alloc = alloc;
    m->bytes_max = bytes_max;
    mk_arena_init(&m->arena, alloc);
    *out = &m->base;
    return MK_OK;
}

void mk_objects_close(mk_objects *objects)
{
    if (objects != NULL)
        objects->close(objects);
}

/* ---- in a folder ---- */

typedef struct dir_objects {
    mk_objects base;
    const mk_alloc *alloc;
    const mk_fs *fs;
    uint64_t bytes_max;
    char dir[3800];
} dir_objects;

static void object_path(const dir_objects *d, const char *digest, char *path, size_t size)
{
    snprintf(path, size, "%s/%.64s.json", d->dir, digest);
}

/* Whether the file is there and is what it should be. */
static bool is_there(const dir_objects *d, const char *path, mk_str text)
{
    mk_buf now;
    mk_buf_init(&now, d->alloc);
    const bool same =
        mk_fs_read_all(d->fs, path, OBJECT_MAX, &now, NULL) == MK_OK && mk_str_eq(mk_buf_view(&now), text);
    mk_buf_free(&now);
    return same;
}

static mk_code write_file(const dir_objects *d, const char *path, mk_str text, mk_err *err)
{
    char beside[4096];
    mk_file *file = NULL;
    mk_code rc;
    snprintf(beside, sizeof beside, "%s.%016llx.tmp", path, (unsigned long long)mk_entropy64());
    MK_TRY(rc,
           d->fs->open(d->fs->ctx, beside, MK_OPEN_WRITE | MK_OPEN_CREATE | MK_OPEN_TRUNCATE, &file, err));
    rc = d->fs->write_at(d->fs->ctx, file, text.p, text.n, 0, err);
    d->fs->close(d->fs->ctx, file);
    if (rc == MK_OK)
        rc = d->fs->rename(d->fs->ctx, beside, path, err);
    if (rc != MK_OK) {
        const mk_code gone =
            d->fs->remove(d->fs->ctx, beside, NULL); /* the first error is the one to report */
        (void)gone;
    }
out:
    return rc;
}

static mk_code dir_put(mk_objects *self, const char digest[65], mk_str text, mk_err *err)
{
    const dir_objects *d = (const dir_objects *)(void *)self;
    char path[4000];
    object_path(d, digest, path, sizeof path);
    return is_there(d, path, text) ? MK_OK : write_file(d, path, text, err);
}

static mk_code dir_get(mk_objects *self, const char *digest, mk_arena *arena, mk_str *text, mk_err *err)
{
    const dir_objects *d = (const dir_objects *)(void *)self;
    char path[4000];
    mk_buf file;
    mk_code rc;
    mk_buf_init(&file, d->alloc);
    if (!is_digest(digest)) {
        rc = no_object(digest, err);
        goto out;
    }
    object_path(d, digest, path, sizeof path);
    rc = mk_fs_read_all(d->fs, path, OBJECT_MAX, &file, err);
    if (rc == MK_E_NOT_FOUND)
        rc = no_object(digest, err);
    MK_TRY(rc, rc);
    MK_TRY(rc, verify(digest, mk_buf_view(&file), path, err));
    *text = mk_arena_copy(arena, mk_buf_view(&file));
    if (text->p == NULL)
        rc = mk_fail_nomem(err);
out:
    mk_buf_free(&file);
    return rc;
}

/* Cleaning up comes last, when all that a run put is named by its trace; that it fails harms nothing. */
static void dir_close(mk_objects *self)
{
    dir_objects *d = (dir_objects *)(void *)self;
    if (d->bytes_max != 0) {
        uint64_t freed;
        const mk_code rc = mk_traces_gc(d->alloc, d->fs, d->dir, d->bytes_max, &freed, NULL);
        (void)rc;
    }
    mk_free(d->alloc, d, sizeof *d);
}

mk_code mk_objects_dir(const mk_alloc *alloc, const mk_fs *fs, const char *dir, uint64_t bytes_max,
                       mk_objects **out, mk_err *err)
{
    dir_objects *d = NULL;
    mk_code rc;
    *out = NULL;
    if (strlen(dir) >= sizeof d->dir) {
        mk_fail(err, MK_E_LIMIT, "the path of the folder of traces is too long");
        return MK_E_LIMIT;
    }
    d = mk_new0(alloc, sizeof *d);
    if (d == NULL)
        return mk_fail_nomem(err);
    d->base = (mk_objects){.put = dir_put, .get = dir_get, .close = dir_close};
    d->alloc = alloc;
    d->fs = fs;
    d->bytes_max = bytes_max;
    snprintf(d->dir, sizeof d->dir, "%s", dir);
    MK_TRY(rc, fs->make_dir(fs->ctx, dir, err));
    *out = &d->base;
    d = NULL;
out:
    if (d != NULL)
        mk_free(alloc, d, sizeof *d);
    return rc;
}

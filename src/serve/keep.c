/* keep.c — the table of what was served. See keep.h. Layer: serve.
 *
 * A few hundred entries are searched one by one, but by what stands densely beside them: a hash of the key,
 * and when each was used last. Reading those of all entries costs less than the lock around it; the texts are
 * looked at only when a hash fits. */
#include "serve/keep.h"

#include "base/hash.h"

#include <pthread.h>

typedef struct entry {
    mk_kept what; /* texts live in `block`; p NULL in kind: free */
    void *block;
    size_t size;
} entry;

struct mk_keep {
    const mk_alloc *alloc;
    pthread_mutex_t mutex;
    size_t entries_max, bytes_max, bytes;
    uint64_t clock, seed;
    entry *entries;
    /* of each entry: of its key, and when it was used last; both 0 when it is free */
    uint64_t *hashes, *used;
};

static void free_table(mk_keep *keep)
{
    mk_free(keep->alloc, keep->entries, keep->entries_max * sizeof *keep->entries);
    mk_free(keep->alloc, keep->hashes, keep->entries_max * sizeof *keep->hashes);
    mk_free(keep->alloc, keep->used, keep->entries_max * sizeof *keep->used);
    mk_free(keep->alloc, keep, sizeof *keep);
}

mk_code mk_keep_open(const mk_alloc *alloc, size_t entries_max, size_t bytes_max, mk_keep **out, mk_err *err)
{
    mk_keep *keep = mk_new0(alloc, sizeof *keep);
    *out = NULL;
    if (keep == NULL)
        return mk_fail_nomem(err);
    keep->alloc = alloc;
    keep->entries_max = entries_max;
    keep->bytes_max = bytes_max;
    keep->seed = mk_entropy64();
    keep->entries = mk_new0(alloc, entries_max * sizeof *keep->entries);
    keep->hashes = mk_new0(alloc, entries_max * sizeof *keep->hashes);
    keep->used = mk_new0(alloc, entries_max * sizeof *keep->used);
    if (keep->entries == NULL || keep->hashes == NULL || keep->used == NULL) {
        free_table(keep);
        return mk_fail_nomem(err);
    }
    pthread_mutex_init(&keep->mutex, NULL);
    *out = keep;
    return MK_OK;
}

static void drop(mk_keep *keep, size_t i)
{
    entry *e = &keep->entries[i];
    if (e->block == NULL)
        return;
    mk_free(keep->alloc, e->block, e->size);
    keep->bytes -= e->size;
    keep->hashes[i] = keep->used[i] = 0;
    *e = (entry){0};
}

void mk_keep_close(mk_keep *keep)
{
    if (keep == NULL)
        return;
    for (size_t i = 0; i < keep->entries_max; i++)
        drop(keep, i);
    pthread_mutex_destroy(&keep->mutex);
    free_table(keep);
}

#define NOT_THERE SIZE_MAX

/* Never 0, which is a free entry's. */
static uint64_t hash_key(const mk_keep *keep, mk_str kind, mk_str id, mk_str principal)
{
    const uint64_t h =
        mk_hash64(id.p, id.n, mk_hash64(principal.p, principal.n, mk_hash64(kind.p, kind.n, keep->seed)));
    return h != 0 ? h : 1;
}

static size_t find(const mk_keep *keep, uint64_t hash, mk_str kind, mk_str id, mk_str principal)
{
    for (size_t i = 0; i < keep->entries_max; i++) {
        const mk_kept *what = &keep->entries[i].what;
        if (keep->hashes[i] == hash && mk_str_eq(what->id, id) && mk_str_eq(what->kind, kind) &&
            mk_str_eq(what->principal, principal))
            return i;
    }
    return NOT_THERE;
}

/* A free entry, made by letting the least recently used leave until there is room for `size` more bytes. */
static size_t make_room(mk_keep *keep, size_t size)
{
    for (;;) {
        size_t oldest = 0; /* a free one counts as used before all */
        for (size_t i = 1; i < keep->entries_max; i++)
            if (keep->used[i] < keep->used[oldest])
                oldest = i;
        if (keep->used[oldest] == 0 && keep->bytes + size <= keep->bytes_max)
            return oldest;
        if (keep->used[oldest] == 0) /* there are free ones, but bytes are short: the oldest of the others */
            for (size_t i = 0; i < keep->entries_max; i++)
                if (keep->used[i] != 0 && (keep->used[oldest] == 0 || keep->used[i] < keep->used[oldest]))
                    oldest = i;
        drop(keep, oldest);
    }
}

static mk_str pack(char **at, mk_str text)
{
    const mk_str packed = {*at, text.n};
    if (text.n != 0)
        memcpy(*at, text.p, text.n);
    *at += text.n;
    return packed;
}

static void fill(entry *e, char *block, size_t size, const mk_kept *what)
{
    char *at = block;
    *e = (entry){.what = *what, .block = block, .size = size};
    e->what.kind = pack(&at, what->kind);
    e->what.id = pack(&at, what->id);
    e->what.principal = pack(&at, what->principal);
    e->what.text = pack(&at, what->text);
    e->what.op = pack(&at, what->op);
    e->what.args = pack(&at, what->args);
    e->what.gaps = pack(&at, what->gaps);
}

void mk_keep_put(mk_keep *keep, const mk_kept *what)
{
    const size_t size = what->kind.n + what->id.n + what->principal.n + what->text.n + what->op.n +
                        what->args.n + what->gaps.n + 1;
    if (size > keep->bytes_max)
        return;
    const uint64_t hash = hash_key(keep, what->kind, what->id, what->principal);
    pthread_mutex_lock(&keep->mutex);
    size_t i = find(keep, hash, what->kind, what->id, what->principal);
    char *block = i == NOT_THERE ? mk_new(keep->alloc, size) : NULL;
    if (block != NULL) {
        i = make_room(keep, size);
        fill(&keep->entries[i], block, size, what);
        keep->hashes[i] = hash;
        keep->bytes += size;
    }
    if (i != NOT_THERE)
        keep->used[i] = ++keep->clock;
    pthread_mutex_unlock(&keep->mutex);
}

static mk_code copy_out(mk_arena *arena, const mk_kept *from, mk_kept *out, mk_err *err)
{
    *out = (mk_kept){.kind = mk_arena_copy(arena, from->kind), .id = mk_arena_copy(arena, from->id),
                     .principal = mk_arena_copy(arena, from->principal),
                     .text = mk_arena_copy(arena, from->text), .op = mk_arena_copy(arena, from->op),
                     .args = mk_arena_copy(arena, from->args),
                     .gaps = mk_arena_copy(arena, from->gaps), .tt = from->tt};
    const bool all = out->kind.p && out->id.p && out->principal.p && out->text.p && out->op.p &&
                     out->args.p && out->gaps.p;
    return all ? MK_OK : mk_fail_nomem(err);
}

mk_code mk_keep_get(mk_keep *keep, mk_str kind, mk_str id, mk_str principal, mk_arena *arena, mk_kept *out,
                    mk_err *err)
{
    mk_code rc;
    const uint64_t hash = hash_key(keep, kind, id, principal);
    pthread_mutex_lock(&keep->mutex);
    const size_t i = find(keep, hash, kind, id, principal);
    if (i != NOT_THERE) {
        keep->used[i] = ++keep->clock;
        rc = copy_out(arena, &keep->entries[i].what, out, err);
    } else {
        rc = mk_fail(err, MK_E_NOT_FOUND, "no %.*s \"%.*s\" is kept", MK_STR_ARG(kind),
                     (int)(id.n > 80 ? 80 : id.n), id.p);
        mk_err_hint(err, "repeat the call that gave it: the table holds the newest %u", MK_KEEP_ENTRIES);
    }
    pthread_mutex_unlock(&keep->mutex);
    return rc;
}

mk_code mk_keep_list(mk_keep *keep, mk_str kind, mk_str principal, mk_arena *arena, mk_kept **out,
                     size_t *count, mk_err *err)
{
    mk_code rc = MK_OK;
    uint64_t below = UINT64_MAX;
    *count = 0;
    *out = mk_arena_get0(arena, keep->entries_max * sizeof **out);
    if (*out == NULL)
        return mk_fail_nomem(err);
    pthread_mutex_lock(&keep->mutex);
    for (;;) { /* by age; the table is small */
        size_t next = NOT_THERE;
        for (size_t i = 0; i < keep->entries_max; i++)
            if (keep->used[i] != 0 && keep->used[i] < below &&
                (next == NOT_THERE || keep->used[i] > keep->used[next]) &&
                mk_str_eq(keep->entries[i].what.kind, kind) &&
                mk_str_eq(keep->entries[i].what.principal, principal))
                next = i;
        if (next == NOT_THERE)
            break;
        below = keep->used[next];
        MK_TRY(rc, copy_out(arena, &keep->entries[next].what, &(*out)[(*count)++], err));
    }
out:
    pthread_mutex_unlock(&keep->mutex);
    return rc;
}

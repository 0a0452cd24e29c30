/* keep.c — the table of what was served. See keep.h. Layer: serve.
 *
 * 256 entries are searched one by one: comparing a few words each costs less than the lock around it. */
#include "serve/keep.h"

#include <pthread.h>

typedef struct entry {
    mk_kept what; /* texts live in `block`; p NULL in kind: free */
    void *block;
    size_t size;
    uint64_t used; /* when last */
} entry;

struct mk_keep {
    const mk_alloc *alloc;
    pthread_mutex_t mutex;
    size_t entries_max, bytes_max, bytes;
    uint64_t clock;
    entry *entries;
};

mk_code mk_keep_open(const mk_alloc *alloc, size_t entries_max, size_t bytes_max, mk_keep **out, mk_err *err)
{
    mk_keep *keep = mk_new0(alloc, sizeof *keep);
    *out = NULL;
    if (keep == NULL)
        return mk_fail_nomem(err);
    keep->entries = mk_new0(alloc, entries_max * sizeof *keep->entries);
    if (keep->entries == NULL) {
        mk_free(alloc, keep, sizeof *keep);
        return mk_fail_nomem(err);
    }
    keep->alloc = alloc;
    keep->entries_max = entries_max;
    keep->bytes_max = bytes_max;
    pthread_mutex_init(&keep->mutex, NULL);
    *out = keep;
    return MK_OK;
}

static void drop(mk_keep *keep, entry *e)
{
    if (e->block == NULL)
        return;
    mk_free(keep->alloc, e->block, e->size);
    keep->bytes -= e->size;
    *e = (entry){0};
}

void mk_keep_close(mk_keep *keep)
{
    if (keep == NULL)
        return;
    for (size_t i = 0; i < keep->entries_max; i++)
        drop(keep, &keep->entries[i]);
    pthread_mutex_destroy(&keep->mutex);
    mk_free(keep->alloc, keep->entries, keep->entries_max * sizeof *keep->entries);
    mk_free(keep->alloc, keep, sizeof *keep);
}

static entry *find(const mk_keep *keep, mk_str kind, mk_str id, mk_str principal)
{
    for (size_t i = 0; i < keep->entries_max; i++) {
        entry *e = &keep->entries[i];
        if (e->block != NULL && mk_str_eq(e->what.id, id) && mk_str_eq(e->what.kind, kind) &&
            mk_str_eq(e->what.principal, principal))
            return e;
    }
    return NULL;
}

/* A free entry, made by letting the least recently used leave until there is room for `size` more bytes. */
static entry *make_room(mk_keep *keep, size_t size)
{
    for (;;) {
        entry *oldest = NULL, *empty = NULL;
        for (size_t i = 0; i < keep->entries_max; i++) {
            entry *e = &keep->entries[i];
            if (e->block == NULL)
                empty = e;
            else if (oldest == NULL || e->used < oldest->used)
                oldest = e;
        }
        if (empty != NULL && keep->bytes + size <= keep->bytes_max)
            return empty;
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
    pthread_mutex_lock(&keep->mutex);
    entry *e = find(keep, what->kind, what->id, what->principal);
    char *block = e == NULL ? mk_new(keep->alloc, size) : NULL;
    if (e == NULL && block != NULL) {
        e = make_room(keep, size);
        fill(e, block, size, what);
        keep->bytes += size;
    }
    if (e != NULL)
        e->used = ++keep->clock;
    pthread_mutex_unlock(&keep->mutex);
}

static mk_code copy_out(mk_arena *arena, const mk_kept *from, mk_kept *out, mk_err *err)
{
    *out = (mk_kept){.kind = mk_arena_copy(arena, from->kind), .id = mk_arena_copy(arena, from->id),
                     .principal = mk_arena_copy(arena, from->principal),
                     .text = mk_arena_copy(arena, from->text), .op = mk_arena_copy(arena, from->op),
                     .args = mk_arena_copy(arena, from->args),
                     .gaps = mk_arena_copy(arena, from->gaps), .tt = from->tt};
    const bool all = out->kind.p && out->id.p && out->principal.p && out->text.p && out->op.p && out->args.p &&
                     out->gaps.p;
    return all ? MK_OK : mk_fail_nomem(err);
}

mk_code mk_keep_get(mk_keep *keep, mk_str kind, mk_str id, mk_str principal, mk_arena *arena, mk_kept *out,
                    mk_err *err)
{
    mk_code rc;
    pthread_mutex_lock(&keep->mutex);
    entry *e = find(keep, kind, id, principal);
    if (e != NULL) {
        e->used = ++keep->clock;
        rc = copy_out(arena, &e->what, out, err);
    } else {
        rc = mk_fail(err, MK_E_NOT_FOUND, "no %.*s \"%.*s\" is kept", MK_STR_ARG(kind),
                     (int)(id.n > 80 ? 80 : id.n), id.p);
        mk_err_hint(err, "repeat the call that gave it: the table holds the newest %u", MK_KEEP_ENTRIES);
    }
    pthread_mutex_unlock(&keep->mutex);
    return rc;
}

mk_code mk_keep_list(mk_keep *keep, mk_str kind, mk_str principal, mk_arena *arena, mk_kept **out, size_t *count, mk_err *err)
{
    mk_code rc = MK_OK;
    uint64_t below = UINT64_MAX;
    *count = 0;
    *out = mk_arena_get0(arena, keep->entries_max * sizeof **out);
    if (*out == NULL)
        return mk_fail_nomem(err);
    pthread_mutex_lock(&keep->mutex);
    for (;;) { /* by age; the table is small */
        const entry *next = NULL;
        for (size_t i = 0; i < keep->entries_max; i++) {
            const entry *e = &keep->entries[i];
            if (e->block != NULL && e->used < below && (next == NULL || e->used > next->used) && mk_str_eq(e->what.kind, kind) &&
                mk_str_eq(e->what.principal, principal))
                next = e;
        }
        if (next == NULL)
            break;
        below = next->used;
        MK_TRY(rc, copy_out(arena, &next->what, &(*out)[(*count)++], err));
    }
out:
    pthread_mutex_unlock(&keep->mutex);
    return rc;
}

/* simfs.c — see simfs.h for the model.
 *
 * A node is a file or a folder. Each has two states, `now` (what the program sees) and `disk` (what
 * a power cut cannot take), and the changes that lead from one to the other: for files a list of
 * items in the node, for folders one list of name changes for the whole disk, because a rename
 * belongs to two. Invariant: `disk` with all changes applied in order is `now`. Sync moves changes
 * into `disk`; a power cut moves some of them there and then sets `now` to `disk`. One mutex guards
 * everything. */
#include "simfs.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define PAGE_SIZE_BYTES 4096u
#define SECTOR_SIZE 512u
/* Larger files mean a runaway test; they fail like a file system's own limit would. */
#define FILE_SIZE_MAX (UINT64_C(1) << 32)
#define NAME_SIZE_MAX 256

/* Sparse bytes: a missing page is zeros. Bytes may exist beyond `size`; nobody sees them. */
typedef struct content {
    unsigned char **pages;
    size_t page_count;
    uint64_t size;
} content;

typedef struct node node;

typedef struct entry {
    char *name;
    node *target;
} entry;

typedef struct names {
    entry *v;
    size_t n;
} names;

typedef struct item { /* a pending change of a file */
    bool is_write;    /* otherwise a change of size */
    bool given_up;    /* was pending when a sync failed */
    uint64_t at;      /* of the bytes, or the new size */
    size_t n;
    unsigned char *bytes;
} item;

struct node {
    node *next; /* all nodes of the disk, oldest first */
    bool is_dir;
    bool reached; /* scratch of the sweep */
    unsigned handles;
    mk_file *lock_holder;
    content now, disk;           /* files */
    item *items;                 /* files */
    size_t item_count, item_cap; /* files */
    names now_names, disk_names; /* folders */
};

typedef struct change { /* a pending change of names */
    node *dir; /* where `name` comes to point to `target`, or to nothing when that is NULL */
    char *name;
    node *target;
    node *from_dir; /* of a rename; NULL otherwise */
    char *from_name;
    bool chosen;
} change;

struct simfs {
    pthread_mutex_t mutex;
    mk_fs fs;
    node *root, *last; /* the list of nodes starts at the root */
    change *changes;
    size_t change_count, change_cap;
    simfs_faults faults;
    uint64_t calls, syncs;
    uint64_t generation; /* of handles; older ones are dead */
    bool off;
    bool injected; /* the call being made was told to fail */
};

struct mk_file {
    node *target;
    uint64_t generation;
    bool writable;
    char *path;
};

/* ---- memory and chance ---- */

static void *need(void *p)
{
    if (p == NULL) {
        fprintf(stderr, "simfs: out of memory\n");
        abort();
    }
    return p;
}

static void *grown(void *p, size_t *cap, size_t count, size_t elem)
{
    if (count < *cap)
        return p;
    *cap = *cap ? *cap * 2 : 16;
    return need(realloc(p, *cap * elem));
}

/* splitmix64; Steele, Lea and Flood 2014. */
static uint64_t next_random(uint64_t *seed)
{
    uint64_t z = *seed += UINT64_C(0x9E3779B97F4A7C15);

    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

/* One power cut: how likely things survive differs from cut to cut, so that nearly all and nearly
 * nothing are as common as half. */
typedef struct chance {
    uint64_t seed;
    unsigned keep_in_8;
} chance;

static chance chance_of(uint64_t seed)
{
    static const unsigned in_8[] = {1, 4, 4, 7};
    chance c = {seed, 0};

    if (seed == SIMFS_SEED_KEEP_ALL)
        c.keep_in_8 = 8;
    else if (seed != SIMFS_SEED_DROP_ALL)
        c.keep_in_8 = in_8[next_random(&c.seed) % 4];
    return c;
}

static bool survives(chance *c)
{
    return next_random(&c->seed) % 8 < c->keep_in_8;
}

/* How many of n changes that happen in order did: all when lucky, else any smaller number. */
static size_t survivors(chance *c, size_t n)
{
    if (n == 0 || survives(c))
        return n;
    return c->keep_in_8 == 0 ? 0 : next_random(&c->seed) % n;
}

/* ---- bytes ---- */

static void content_put(content *c, uint64_t at, const unsigned char *p, size_t n)
{
    while (n > 0) {
        const size_t page = at / PAGE_SIZE_BYTES, offset = at % PAGE_SIZE_BYTES;
        const size_t part = n < PAGE_SIZE_BYTES - offset ? n : PAGE_SIZE_BYTES - offset;
        if (page >= c->page_count) {
            const size_t count = page + page / 2 + 4;
            c->pages = need(realloc(c->pages, count * sizeof *c->pages));
            memset(c->pages + c->page_count, 0, (count - c->page_count) * sizeof *c->pages);
            c->page_count = count;
        }
        if (c->pages[page] == NULL)
            c->pages[page] = need(calloc(1, PAGE_SIZE_BYTES));
        memcpy(c->pages[page] + offset, p, part);
        at += part;
        p += part;
        n -= part;
    }
}

static void content_get(const content *c, uint64_t at, unsigned char *p, size_t n)
{
    while (n > 0) {
        const size_t page = at / PAGE_SIZE_BYTES, offset = at % PAGE_SIZE_BYTES;
        const size_t part = n < PAGE_SIZE_BYTES - offset ? n : PAGE_SIZE_BYTES - offset;
        if (page < c->page_count && c->pages[page] != NULL)
            memcpy(p, c->pages[page] + offset, part);
        else
            memset(p, 0, part);
        at += part;
        p += part;
        n -= part;
    }
}

static void content_drop_beyond_size(content *c)
{
    size_t page = c->size / PAGE_SIZE_BYTES;
    const size_t offset = c->size % PAGE_SIZE_BYTES;

    if (page < c->page_count && c->pages[page] != NULL && offset > 0)
        memset(c->pages[page] + offset, 0, PAGE_SIZE_BYTES - offset);
    for (page += offset > 0; page < c->page_count; page++) {
        free(c->pages[page]);
        c->pages[page] = NULL;
    }
}

static void content_set_size(content *c, uint64_t size)
{
    const bool shrinks = size < c->size;

    c->size = size;
    if (shrinks)
        content_drop_beyond_size(c);
}

static void content_free(content *c)
{
    for (size_t i = 0; i < c->page_count; i++)
        free(c->pages[i]);
    free(c->pages);
    *c = (content){0};
}

static void content_copy(content *to, const content *from)
{
    content_free(to);
    for (size_t i = 0; i < from->page_count; i++)
        if (from->pages[i] != NULL)
            content_put(to, (uint64_t)i * PAGE_SIZE_BYTES, from->pages[i], PAGE_SIZE_BYTES);
    to->size = from->size;
}

/* ---- pending changes of files ---- */

static void add_item(node *file, item it)
{
    file->items = grown(file->items, &file->item_cap, file->item_count, sizeof *file->items);
    file->items[file->item_count++] = it;
}

static void set_size(node *file, uint64_t size)
{
    if (size == file->now.size)
        return;
    content_set_size(&file->now, size);
    add_item(file, (item){.at = size});
}

static void put_bytes(node *file, uint64_t at, const void *p, size_t n)
{
    if (n == 0)
        return;
    if (at + n > file->now.size)
        set_size(file, at + n);
    content_put(&file->now, at, p, n);
    unsigned char *bytes = need(malloc(n));
    memcpy(bytes, p, n);
    add_item(file, (item){.is_write = true, .at = at, .n = n, .bytes = bytes});
}

static void apply_item(node *file, const item *it)
{
    if (it->is_write)
        content_put(&file->disk, it->at, it->bytes, it->n);
    else
        content_set_size(&file->disk, it->at);
}

static void clear_items(node *file)
{
    for (size_t i = 0; i < file->item_count; i++)
        free(file->items[i].bytes);
    file->item_count = 0;
}

/* After a failed sync: cut every write into sectors, so that later ones can save each on its own.
 */
static void give_up(node *file)
{
    item *old = file->items;
    const size_t count = file->item_count;

    file->items = NULL;
    file->item_count = file->item_cap = 0;
    for (size_t i = 0; i < count; i++) {
        item whole = old[i];
        whole.given_up = true;
        if (!whole.is_write) {
            add_item(file, whole);
            continue;
        }
        for (size_t done = 0; done < whole.n;) {
            item part = whole;
            const size_t room = SECTOR_SIZE - (whole.at + done) % SECTOR_SIZE;
            part.at = whole.at + done;
            part.n = whole.n - done < room ? whole.n - done : room;
            part.bytes = need(malloc(part.n));
            memcpy(part.bytes, whole.bytes + done, part.n);
            add_item(file, part);
            done += part.n;
        }
        free(whole.bytes);
    }
    free(old);
}

/* A given-up change is saved only by a later one of the same sector, or of the size. */
static bool is_saved(const node *file, size_t index)
{
    const item *it = &file->items[index];

    if (!it->given_up)
        return true;
    for (size_t i = index + 1; i < file->item_count; i++) {
        const item *later = &file->items[i];
        if (later->given_up || later->is_write != it->is_write)
            continue;
        if (!it->is_write)
            return true;
        if (later->at / SECTOR_SIZE <= it->at / SECTOR_SIZE &&
            it->at / SECTOR_SIZE <= (later->at + later->n - 1) / SECTOR_SIZE)
            return true;
    }
    return false;
}

static void sync_items(node *file)
{
    size_t kept = 0;

    bool *saved = need(malloc(file->item_count + 1));
    for (size_t i = 0; i < file->item_count; i++)
        saved[i] = is_saved(file, i);
    for (size_t i = 0; i < file->item_count; i++) {
        if (saved[i]) {
            apply_item(file, &file->items[i]);
            free(file->items[i].bytes);
        } else {
            file->items[kept++] = file->items[i];
        }
    }
    file->item_count = kept;
    free(saved);
}

static uint64_t sectors_touched(const node *file)
{
    uint64_t end = 0;

    for (size_t i = 0; i < file->item_count; i++)
        if (file->items[i].is_write && file->items[i].at + file->items[i].n > end)
            end = file->items[i].at + file->items[i].n;
    return (end + SECTOR_SIZE - 1) / SECTOR_SIZE;
}

/* keep[s] says how many more versions of sector s survive; they are the oldest ones. */
static void apply_surviving_sectors(node *file, const item *it, uint32_t *keep)
{
    for (size_t done = 0; done < it->n;) {
        const uint64_t at = it->at + done;
        const size_t room = SECTOR_SIZE - at % SECTOR_SIZE;
        const size_t part = it->n - done < room ? it->n - done : room;
        if (keep[at / SECTOR_SIZE] > 0) {
            keep[at / SECTOR_SIZE]--;
            content_put(&file->disk, at, it->bytes + done, part);
        }
        done += part;
    }
}

static void cut_file(node *file, chance *c)
{
    const uint64_t sectors = sectors_touched(file);
    uint32_t *keep = need(calloc(sectors + 1, sizeof *keep));
    size_t sizes = 0;

    for (size_t i = 0; i < file->item_count; i++) {
        const item *it = &file->items[i];
        sizes += !it->is_write;
        if (it->is_write)
            for (uint64_t s = it->at / SECTOR_SIZE; s <= (it->at + it->n - 1) / SECTOR_SIZE; s++)
                keep[s]++;
    }
    for (uint64_t s = 0; s < sectors; s++)
        keep[s] = (uint32_t)survivors(c, keep[s]);
    sizes = survivors(c, sizes);
    for (size_t i = 0; i < file->item_count; i++) {
        const item *it = &file->items[i];
        if (it->is_write) {
            apply_surviving_sectors(file, it, keep);
        } else if (sizes > 0) {
            sizes--;
            apply_item(file, it);
        }
    }
    free(keep);
    clear_items(file);
    content_drop_beyond_size(&file->disk);
    content_copy(&file->now, &file->disk);
}

/* ---- names ---- */

static entry *find_entry(const names *list, const char *name)
{
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->v[i].name, name) == 0)
            return &list->v[i];
    return NULL;
}

/* NULL removes the name. */
static void set_entry(names *list, const char *name, node *target)
{
    entry *e = find_entry(list, name);

    if (e != NULL && target != NULL) {
        e->target = target;
    } else if (e != NULL) {
        free(e->name);
        *e = list->v[--list->n];
    } else if (target != NULL) {
        list->v = need(realloc(list->v, (list->n + 1) * sizeof *list->v));
        list->v[list->n++] = (entry){need(strdup(name)), target};
    }
}

static void names_free(names *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(list->v[i].name);
    free(list->v);
    *list = (names){0};
}

static void names_copy(names *to, const names *from)
{
    names_free(to);
    for (size_t i = 0; i < from->n; i++)
        set_entry(to, from->v[i].name, from->v[i].target);
}

static void change_names(simfs *sim, change ch)
{
    sim->changes = grown(sim->changes, &sim->change_cap, sim->change_count, sizeof *sim->changes);
    if (ch.from_dir != NULL) {
        set_entry(&ch.from_dir->now_names, ch.from_name, NULL);
        ch.from_name = need(strdup(ch.from_name));
    }
    set_entry(&ch.dir->now_names, ch.name, ch.target);
    ch.name = need(strdup(ch.name));
    sim->changes[sim->change_count++] = ch;
}

static bool touches(const change *ch, const node *dir, const char *name)
{
    return dir != NULL && ((ch->dir == dir && strcmp(ch->name, name) == 0) ||
                           (ch->from_dir == dir && strcmp(ch->from_name, name) == 0));
}

static bool share_name(const change *a, const change *b)
{
    return touches(a, b->dir, b->name) || touches(a, b->from_dir, b->from_name);
}

/* Makes the chosen changes permanent and forgets them, and with `forget_rest` the others too. */
static void settle_names(simfs *sim, bool forget_rest)
{
    size_t kept = 0;

    for (size_t i = 0; i < sim->change_count; i++) {
        change *ch = &sim->changes[i];
        if (!ch->chosen && !forget_rest) {
            sim->changes[kept++] = *ch;
            continue;
        }
        if (ch->chosen) {
            if (ch->from_dir != NULL)
                set_entry(&ch->from_dir->disk_names, ch->from_name, NULL);
            set_entry(&ch->dir->disk_names, ch->name, ch->target);
        }
        free(ch->name);
        free(ch->from_name);
    }
    sim->change_count = kept;
}

/* Changes of the folder, and whatever came before them under the same names. */
static void sync_names(simfs *sim, const node *dir)
{
    for (size_t i = 0; i < sim->change_count; i++)
        sim->changes[i].chosen = sim->changes[i].dir == dir || sim->changes[i].from_dir == dir;
    for (size_t i = sim->change_count; i-- > 0;)
        for (size_t j = 0; sim->changes[i].chosen && j < i; j++)
            if (share_name(&sim->changes[j], &sim->changes[i]))
                sim->changes[j].chosen = true;
    settle_names(sim, false);
}

/* A change whose name has an earlier one that did not happen does not happen either. */
static void cut_names(simfs *sim, chance *c)
{
    for (size_t i = 0; i < sim->change_count; i++) {
        sim->changes[i].chosen = survives(c);
        for (size_t j = 0; sim->changes[i].chosen && j < i; j++)
            if (!sim->changes[j].chosen && share_name(&sim->changes[j], &sim->changes[i]))
                sim->changes[i].chosen = false;
    }
    settle_names(sim, true);
}

/* ---- the tree ---- */

static node *new_node(simfs *sim, bool is_dir)
{
    node *made = need(calloc(1, sizeof *made));

    made->is_dir = is_dir;
    if (sim->last != NULL)
        sim->last->next = made;
    else
        sim->root = made;
    sim->last = made;
    return made;
}

static void free_node(node *gone)
{
    content_free(&gone->now);
    content_free(&gone->disk);
    clear_items(gone);
    free(gone->items);
    names_free(&gone->now_names);
    names_free(&gone->disk_names);
    free(gone);
}

/* The folder a path is in and its last name there; NULL when a folder on the way is missing. For
 * the root the name is "". */
static node *walk(simfs *sim, const char *path, char name[NAME_SIZE_MAX])
{
    node *dir = sim->root;

    name[0] = '\0';
    for (;;) {
        const size_t n = (path += strspn(path, "/"), strcspn(path, "/"));
        if (n == 0)
            return dir;
        if (name[0] != '\0') {
            const entry *e = find_entry(&dir->now_names, name);
            if (e == NULL || !e->target->is_dir)
                return NULL;
            dir = e->target;
            name[0] = '\0';
        }
        if (n >= NAME_SIZE_MAX)
            return NULL;
        if (!(n == 1 && path[0] == '.')) {
            memcpy(name, path, n);
            name[n] = '\0';
        }
        path += n;
    }
}

static node *lookup(simfs *sim, const char *path)
{
    char name[NAME_SIZE_MAX];
    node *dir = walk(sim, path, name);

    if (dir == NULL || name[0] == '\0')
        return dir;
    const entry *e = find_entry(&dir->now_names, name);
    return e != NULL ? e->target : NULL;
}

/* Depth is bounded by the paths the tests make. */
static uint64_t used_below(const node *at)
{
    uint64_t sum = at->now.size;

    for (size_t i = 0; i < at->now_names.n; i++)
        sum += used_below(at->now_names.v[i].target);
    return sum;
}

static void mark_reached(node *at)
{
    at->reached = true;
    for (size_t i = 0; i < at->now_names.n; i++)
        mark_reached(at->now_names.v[i].target);
}

/* Frees what neither a name nor a handle leads to. Only right when nothing is pending. */
static void sweep(simfs *sim)
{
    mark_reached(sim->root);
    for (node *at = sim->root; at != NULL; at = at->next)
        while (at->next != NULL && !at->next->reached && at->next->handles == 0) {
            node *gone = at->next;
            at->next = gone->next;
            free_node(gone);
        }
    for (node *at = sim->root; at != NULL; at = at->next) {
        at->reached = false;
        sim->last = at;
    }
}

/* ---- calls ---- */

static mk_code fail_with(mk_err *err, mk_code code, const char *reason, const char *what,
                         const char *path)
{
    mk_fail(err, code, "cannot %s %s: simulated disk says %s", what, path, reason);
    mk_err_path(err, "%s", path);
    mk_err_reason(err, reason);
    return code;
}

static mk_code fail(mk_err *err, const char *reason, const char *what, const char *path)
{
    return fail_with(err, MK_E_STATE, reason, what, path);
}

static bool should_fail(const simfs *sim)
{
    const simfs_faults *f = &sim->faults;

    return f->fail_at != 0 && sim->calls >= f->fail_at &&
           sim->calls - f->fail_at < (f->fail_count ? f->fail_count : 1);
}

/* Every call goes from begin to end, also when begin fails. */
static mk_code begin(simfs *sim, bool changes, const char *what, const char *path, mk_err *err)
{
    pthread_mutex_lock(&sim->mutex);
    sim->injected = false;
    if (sim->off)
        return fail(err, "power", what, path);
    if (!changes)
        return MK_OK;
    sim->calls++;
    sim->injected = should_fail(sim);
    if (sim->injected)
        return fail(err, sim->faults.fail_reason ? sim->faults.fail_reason : "io", what, path);
    return MK_OK;
}

static mk_code begin_file(simfs *sim, mk_file *file, bool changes, const char *what, mk_err *err)
{
    const mk_code rc = begin(sim, changes, what, file->path, err);

    if (file->generation != sim->generation) {
        sim->injected = false;
        return fail(err, "power", what, file->path);
    }
    if (rc == MK_OK && changes && !file->writable)
        return fail(err, "io", what, file->path);
    return rc;
}

static void end(simfs *sim)
{
    if (sim->faults.cut_at != 0 && sim->calls >= sim->faults.cut_at) {
        sim->off = true;
        sim->faults.cut_at = 0; /* so that power comes back for good */
    }
    pthread_mutex_unlock(&sim->mutex);
}

/* Free bytes, or more than any file can take. */
static uint64_t room_left(simfs *sim)
{
    if (sim->faults.capacity == 0)
        return FILE_SIZE_MAX * 2;
    const uint64_t used = used_below(sim->root);
    return used < sim->faults.capacity ? sim->faults.capacity - used : 0;
}

static mk_code sim_open(void *ctx, const char *path, unsigned flags, mk_file **out, mk_err *err)
{
    simfs *sim = ctx;
    char name[NAME_SIZE_MAX];
    mk_code rc;

    MK_TRY(rc, begin(sim, (flags & (MK_OPEN_CREATE | MK_OPEN_TRUNCATE)) != 0, "open", path, err));
    node *dir = walk(sim, path, name);
    node *target = dir != NULL ? lookup(sim, path) : NULL;
    if (dir == NULL || (target == NULL && !(flags & MK_OPEN_CREATE))) {
        rc = fail_with(err, MK_E_NOT_FOUND, "missing", "open", path);
        goto out;
    }
    if (target != NULL && (flags & MK_OPEN_EXCLUSIVE)) {
        rc = fail(err, "exists", "open", path);
        goto out;
    }
    if (target != NULL && target->is_dir) {
        rc = fail(err, "io", "open", path);
        goto out;
    }
    if (target == NULL) {
        target = new_node(sim, false);
        change_names(sim, (change){.dir = dir, .name = name, .target = target});
    }
    if (flags & MK_OPEN_TRUNCATE)
        set_size(target, 0);
    target->handles++;
    mk_file *file = need(calloc(1, sizeof *file));
    *file = (mk_file){target, sim->generation, (flags & MK_OPEN_WRITE) != 0, need(strdup(path))};
    *out = file;
out:
    end(sim);
    return rc;
}

static void sim_close(void *ctx, mk_file *file)
{
    simfs *sim = ctx;

    if (file == NULL)
        return;
    pthread_mutex_lock(&sim->mutex);
    file->target->handles--;
    if (file->target->lock_holder == file)
        file->target->lock_holder = NULL;
    pthread_mutex_unlock(&sim->mutex);
    free(file->path);
    free(file);
}

static mk_code sim_read_at(void *ctx, mk_file *file, void *p, size_t n, uint64_t at, size_t *got,
                           mk_err *err)
{
    simfs *sim = ctx;
    mk_code rc;

    *got = 0;
    MK_TRY(rc, begin_file(sim, file, false, "read", err));
    const uint64_t size = file->target->now.size;
    if (at < size) {
        *got = n < size - at ? n : size - at;
        content_get(&file->target->now, at, p, *got);
    }
out:
    end(sim);
    return rc;
}

static mk_code sim_write_at(void *ctx, mk_file *file, const void *p, size_t n, uint64_t at,
                            mk_err *err)
{
    simfs *sim = ctx;
    mk_code rc = begin_file(sim, file, true, "write", err);
    size_t fits = n;

    if (rc != MK_OK) {
        fits = !sim->injected ? 0 : n < sim->faults.fail_prefix ? n : sim->faults.fail_prefix;
    } else if (at > FILE_SIZE_MAX || n > FILE_SIZE_MAX - at) {
        rc = fail(err, "io", "write", file->path);
        fits = 0;
    } else if (n > 0) {
        const uint64_t end_max = file->target->now.size + room_left(sim);
        if (at + n > end_max) {
            rc = fail(err, "no_space", "write", file->path);
            fits = at < end_max ? end_max - at : 0;
        }
    }
    put_bytes(file->target, at, p, fits);
    end(sim);
    return rc;
}

static mk_code sim_size(void *ctx, mk_file *file, uint64_t *size, mk_err *err)
{
    simfs *sim = ctx;
    mk_code rc;

    MK_TRY(rc, begin_file(sim, file, false, "look at", err));
    *size = file->target->now.size;
out:
    end(sim);
    return rc;
}

static mk_code grow_to(simfs *sim, mk_file *file, uint64_t size, const char *what, mk_err *err)
{
    if (size > FILE_SIZE_MAX)
        return fail(err, "io", what, file->path);
    if (size > file->target->now.size && size - file->target->now.size > room_left(sim))
        return fail(err, "no_space", what, file->path);
    set_size(file->target, size);
    return MK_OK;
}

static mk_code sim_truncate(void *ctx, mk_file *file, uint64_t size, mk_err *err)
{
    simfs *sim = ctx;
    mk_code rc;

    MK_TRY(rc, begin_file(sim, file, true, "set the size of", err));
    MK_TRY(rc, grow_to(sim, file, size, "set the size of", err));
out:
    end(sim);
    return rc;
}

static mk_code sim_reserve(void *ctx, mk_file *file, uint64_t at, uint64_t n, mk_err *err)
{
    simfs *sim = ctx;
    mk_code rc;

    MK_TRY(rc, begin_file(sim, file, true, "reserve space in", err));
    if (n > 0 && (at > FILE_SIZE_MAX || n > FILE_SIZE_MAX || at + n > file->target->now.size))
        MK_TRY(rc, grow_to(sim, file, at > FILE_SIZE_MAX || n > FILE_SIZE_MAX ? UINT64_MAX : at + n,
                           "reserve space in", err));
out:
    end(sim);
    return rc;
}

static bool is_ignored(simfs *sim, const char *path)
{
    const simfs_faults *f = &sim->faults;

    sim->syncs++;
    return sim->syncs == f->ignore_sync_at ||
           (f->ignore_sync_of != NULL && strstr(path, f->ignore_sync_of) != NULL);
}

static mk_code sim_sync(void *ctx, mk_file *file, mk_err *err)
{
    simfs *sim = ctx;
    const mk_code rc = begin_file(sim, file, true, "sync", err);

    if (rc == MK_OK && !is_ignored(sim, file->path))
        sync_items(file->target);
    else if (rc != MK_OK && sim->injected)
        give_up(file->target);
    end(sim);
    return rc;
}

static mk_code sim_sync_dir(void *ctx, const char *path, mk_err *err)
{
    simfs *sim = ctx;
    mk_code rc;

    MK_TRY(rc, begin(sim, true, "sync folder", path, err));
    const node *dir = lookup(sim, path);
    if (dir == NULL || !dir->is_dir)
        rc = fail(err, "missing", "sync folder", path);
    else if (!is_ignored(sim, path))
        sync_names(sim, dir);
out:
    end(sim);
    return rc;
}

/* What POSIX asks of a rename onto something that exists. */
static bool may_replace(const node *old, const node *fresh)
{
    return old == NULL || (!old->is_dir && !fresh->is_dir) ||
           (old->is_dir && fresh->is_dir && old->now_names.n == 0);
}

static mk_code sim_rename(void *ctx, const char *from, const char *to, mk_err *err)
{
    simfs *sim = ctx;
    char from_name[NAME_SIZE_MAX], to_name[NAME_SIZE_MAX];
    mk_code rc;

    MK_TRY(rc, begin(sim, true, "rename", from, err));
    node *from_dir = walk(sim, from, from_name), *to_dir = walk(sim, to, to_name);
    node *target = lookup(sim, from);
    if (to_dir == NULL || target == NULL || from_name[0] == '\0' || to_name[0] == '\0')
        rc = fail(err, "missing", "rename", from);
    else if (!may_replace(lookup(sim, to), target))
        rc = fail(err, "exists", "rename", from);
    else if (lookup(sim, to) != target)
        change_names(sim, (change){.dir = to_dir,
                                   .name = to_name,
                                   .target = target,
                                   .from_dir = from_dir,
                                   .from_name = from_name});
out:
    end(sim);
    return rc;
}

static mk_code sim_remove(void *ctx, const char *path, mk_err *err)
{
    simfs *sim = ctx;
    char name[NAME_SIZE_MAX];
    mk_code rc;

    MK_TRY(rc, begin(sim, true, "remove", path, err));
    node *dir = walk(sim, path, name);
    const node *target = lookup(sim, path);
    if (target == NULL)
        goto out;
    if (name[0] == '\0' || (target->is_dir && target->now_names.n > 0))
        rc = fail(err, "exists", "remove", path);
    else
        change_names(sim, (change){.dir = dir, .name = name});
out:
    end(sim);
    return rc;
}

static mk_code sim_make_dir(void *ctx, const char *path, mk_err *err)
{
    simfs *sim = ctx;
    char name[NAME_SIZE_MAX];
    mk_code rc;

    MK_TRY(rc, begin(sim, true, "make folder", path, err));
    node *dir = walk(sim, path, name);
    const node *old = lookup(sim, path);
    if (dir == NULL)
        rc = fail(err, "missing", "make folder", path);
    else if (old != NULL && !old->is_dir)
        rc = fail(err, "exists", "make folder", path);
    else if (old == NULL)
        change_names(sim, (change){.dir = dir, .name = name, .target = new_node(sim, true)});
out:
    end(sim);
    return rc;
}

/* The names are copied first, because `each` may call the disk again. */
static mk_code sim_list(void *ctx, const char *path, void (*each)(void *arg, const char *name),
                        void *arg, mk_err *err)
{
    simfs *sim = ctx;
    names copy = {0};
    mk_code rc;

    MK_TRY(rc, begin(sim, false, "list folder", path, err));
    const node *dir = lookup(sim, path);
    if (dir == NULL || !dir->is_dir)
        rc = fail(err, "missing", "list folder", path);
    else
        names_copy(&copy, &dir->now_names);
out:
    end(sim);
    for (size_t i = 0; i < copy.n; i++)
        each(arg, copy.v[i].name);
    names_free(&copy);
    return rc;
}

static mk_code sim_lock(void *ctx, mk_file *file, bool take, bool *held_by_other, mk_err *err)
{
    simfs *sim = ctx;
    mk_code rc;

    MK_TRY(rc, begin_file(sim, file, false, "lock", err));
    mk_file *holder = file->target->lock_holder;
    *held_by_other = holder != NULL && holder != file;
    if (take && !file->writable)
        rc = fail(err, "io", "lock", file->path);
    else if (take && holder == NULL)
        file->target->lock_holder = file;
out:
    end(sim);
    return rc;
}

/* ---- the machine ---- */

simfs *simfs_new(void)
{
    simfs *sim = need(calloc(1, sizeof *sim));

    pthread_mutex_init(&sim->mutex, NULL);
    new_node(sim, true);
    sim->fs = (mk_fs){
        .ctx = sim,
        .open = sim_open,
        .close = sim_close,
        .read_at = sim_read_at,
        .write_at = sim_write_at,
        .size = sim_size,
        .truncate = sim_truncate,
        .reserve = sim_reserve,
        .sync = sim_sync,
        .sync_dir = sim_sync_dir,
        .rename = sim_rename,
        .remove = sim_remove,
        .make_dir = sim_make_dir,
        .list = sim_list,
        .lock = sim_lock,
    };
    return sim;
}

void simfs_free(simfs *sim)
{
    if (sim == NULL)
        return;
    settle_names(sim, true);
    for (node *at = sim->root; at != NULL;) {
        node *gone = at;
        at = at->next;
        free_node(gone);
    }
    free(sim->changes);
    pthread_mutex_destroy(&sim->mutex);
    free(sim);
}

const mk_fs *simfs_fs(simfs *sim)
{
    return &sim->fs;
}

void simfs_set_faults(simfs *sim, const simfs_faults *faults)
{
    pthread_mutex_lock(&sim->mutex);
    sim->faults = *faults;
    pthread_mutex_unlock(&sim->mutex);
}

static void drop_handles(simfs *sim)
{
    sim->generation++;
    for (node *at = sim->root; at != NULL; at = at->next)
        at->lock_holder = NULL;
}

void simfs_power_cut(simfs *sim, uint64_t seed)
{
    chance c = chance_of(seed);

    pthread_mutex_lock(&sim->mutex);
    drop_handles(sim);
    cut_names(sim, &c);
    for (node *at = sim->root; at != NULL; at = at->next) {
        if (at->is_dir)
            names_copy(&at->now_names, &at->disk_names);
        else
            cut_file(at, &c);
    }
    sweep(sim);
    sim->off = false;
    pthread_mutex_unlock(&sim->mutex);
}

void simfs_kill(simfs *sim)
{
    pthread_mutex_lock(&sim->mutex);
    drop_handles(sim);
    pthread_mutex_unlock(&sim->mutex);
}

/* ---- looking at it ---- */

uint64_t simfs_calls(simfs *sim)
{
    pthread_mutex_lock(&sim->mutex);
    const uint64_t calls = sim->calls;
    pthread_mutex_unlock(&sim->mutex);
    return calls;
}

uint64_t simfs_syncs(simfs *sim)
{
    pthread_mutex_lock(&sim->mutex);
    const uint64_t syncs = sim->syncs;
    pthread_mutex_unlock(&sim->mutex);
    return syncs;
}

size_t simfs_pending(simfs *sim)
{
    pthread_mutex_lock(&sim->mutex);
    size_t pending = sim->change_count;
    for (const node *at = sim->root; at != NULL; at = at->next)
        pending += at->item_count;
    pthread_mutex_unlock(&sim->mutex);
    return pending;
}

uint64_t simfs_used(simfs *sim)
{
    pthread_mutex_lock(&sim->mutex);
    const uint64_t used = used_below(sim->root);
    pthread_mutex_unlock(&sim->mutex);
    return used;
}

bool simfs_is_off(simfs *sim)
{
    pthread_mutex_lock(&sim->mutex);
    const bool off = sim->off;
    pthread_mutex_unlock(&sim->mutex);
    return off;
}

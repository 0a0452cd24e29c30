/* fuzz_segment.c — a checkpoint with hostile bytes in it: any verdict is fine, a crash is not.
 *
 * A small store is made once, on a disk in memory. The input is a list of edits to its files under
 * data/: manifest, segments, lists of ended rows, dictionaries. Each edit is four bytes: file, offset
 * (two, modulo the size), new byte. Bit 0 of the first input byte has all checksums put right
 * afterwards, since no fuzzer guesses one; bit 1 opens for writing, writes, merges and checkpoints.
 * Whatever opens without a word about damage may be wrong, as the checksums were forged, but must
 * not lead outside anything. */
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "store/internal.h"

/* ---- a disk in memory ---- */

#define FILES 96
#define FILE_SIZE_MAX ((size_t)1 << 20)

typedef struct mem_file {
    char name[96]; /* "" free */
    uint8_t *p;
    size_t n;
} mem_file;

typedef struct mem_disk {
    mem_file files[FILES];
} mem_disk;

struct mk_file {
    mem_disk *disk;
    unsigned index;
};

static mem_file *find(mem_disk *d, const char *name)
{
    for (unsigned i = 0; i < FILES; i++)
        if (d->files[i].name[0] != 0 && strcmp(d->files[i].name, name) == 0)
            return &d->files[i];
    return NULL;
}

static mk_code refuse(mk_err *err, mk_code code)
{
    mk_fail(err, code, "the disk in memory refuses");
    mk_err_reason(err, code == MK_E_NOT_FOUND ? "missing" : "no_space");
    return code;
}

static mk_code mem_open(void *ctx, const char *path, unsigned flags, mk_file **out, mk_err *err)
{
    mem_disk *d = ctx;
    mem_file *file = find(d, path);
    if (file == NULL && !(flags & MK_OPEN_CREATE))
        return refuse(err, MK_E_NOT_FOUND);
    for (unsigned i = 0; i < FILES && file == NULL; i++)
        if (d->files[i].name[0] == 0) {
            file = &d->files[i];
            snprintf(file->name, sizeof file->name, "%s", path);
        }
    if (file == NULL)
        return refuse(err, MK_E_STATE);
    if (flags & MK_OPEN_TRUNCATE)
        file->n = 0;
    *out = malloc(sizeof **out);
    if (*out == NULL)
        return mk_fail_nomem(err);
    **out = (mk_file){d, (unsigned)(file - d->files)};
    return MK_OK;
}

static void mem_close(void *ctx, mk_file *file)
{
    (void)ctx;
    free(file);
}

static mk_code mem_read_at(void *ctx, mk_file *file, void *p, size_t n, uint64_t at, size_t *got, mk_err *err)
{
    const mem_file *f = &file->disk->files[file->index];
    (void)ctx, (void)err;
    *got = at >= f->n ? 0 : f->n - (size_t)at < n ? f->n - (size_t)at : n;
    if (*got > 0)
        memcpy(p, f->p + at, *got);
    return MK_OK;
}

static mk_code resize_file(mem_file *f, uint64_t n, mk_err *err)
{
    if (n > FILE_SIZE_MAX)
        return refuse(err, MK_E_STATE);
    uint8_t *p = realloc(f->p, n ? (size_t)n : 1);
    if (p == NULL)
        return mk_fail_nomem(err);
    if (n > f->n)
        memset(p + f->n, 0, (size_t)n - f->n);
    f->p = p;
    f->n = (size_t)n;
    return MK_OK;
}

static mk_code mem_write_at(void *ctx, mk_file *file, const void *p, size_t n, uint64_t at, mk_err *err)
{
    mem_file *f = &file->disk->files[file->index];
    (void)ctx;
    if (at > FILE_SIZE_MAX || n > FILE_SIZE_MAX)
        return refuse(err, MK_E_STATE);
    const mk_code rc = at + n > f->n ? resize_file(f, at + n, err) : MK_OK;
    if (rc == MK_OK && n > 0)
        memcpy(f->p + at, p, n);
    return rc;
}

static mk_code mem_size(void *ctx, mk_file *file, uint64_t *size, mk_err *err)
{
    (void)ctx, (void)err;
    *size = file->disk->files[file->index].n;
    return MK_OK;
}

static mk_code mem_truncate(void *ctx, mk_file *file, uint64_t size, mk_err *err)
{
    (void)ctx;
    return resize_file(&file->disk->files[file->index], size, err);
}

static mk_code mem_reserve(void *ctx, mk_file *file, uint64_t at, uint64_t n, mk_err *err)
{
    (void)ctx, (void)file, (void)at, (void)n, (void)err;
    return MK_OK;
}

static mk_code mem_sync(void *ctx, mk_file *file, mk_err *err)
{
    (void)ctx, (void)file, (void)err;
    return MK_OK;
}

static mk_code mem_dir(void *ctx, const char *path, mk_err *err)
{
    (void)ctx, (void)path, (void)err;
    return MK_OK;
}

static mk_code mem_remove(void *ctx, const char *path, mk_err *err)
{
    mem_file *f = find(ctx, path);
    (void)err;
    if (f != NULL)
        f->name[0] = 0;
    return MK_OK;
}

static mk_code mem_rename(void *ctx, const char *from, const char *to, mk_err *err)
{
    mem_file *f = find(ctx, from);
    if (f == NULL)
        return refuse(err, MK_E_NOT_FOUND);
    const mk_code rc = mem_remove(ctx, to, err);
    snprintf(f->name, sizeof f->name, "%s", to);
    return rc;
}

static mk_code mem_list(void *ctx, const char *path, void (*each)(void *arg, const char *name), void *arg,
                        mk_err *err)
{
    mem_disk *d = ctx;
    const size_t n = strlen(path);
    (void)err;
    for (unsigned i = 0; i < FILES; i++)
        if (strncmp(d->files[i].name, path, n) == 0 && d->files[i].name[n] == '/' &&
            strchr(d->files[i].name + n + 1, '/') == NULL)
            each(arg, d->files[i].name + n + 1);
    return MK_OK;
}

static mk_code mem_lock(void *ctx, mk_file *file, bool take, bool *held, mk_err *err)
{
    (void)ctx, (void)file, (void)take, (void)err;
    *held = false;
    return MK_OK;
}

static mk_fs fs_of(mem_disk *d)
{
    return (mk_fs){d,           mem_open, mem_close, mem_read_at, mem_write_at, mem_size, mem_truncate,
                   mem_reserve, mem_sync, mem_dir,   mem_rename,  mem_remove,   mem_dir,  mem_list,
                   mem_lock};
}

static void copy_disk(mem_disk *to, const mem_disk *from)
{
    for (unsigned i = 0; i < FILES; i++) {
        to->files[i].name[0] = 0;
        if (from->files[i].name[0] == 0)
            continue;
        if (resize_file(&to->files[i], from->files[i].n, NULL) != MK_OK)
            continue;
        memcpy(to->files[i].name, from->files[i].name, sizeof to->files[i].name);
        if (from->files[i].n > 0)
            memcpy(to->files[i].p, from->files[i].p, from->files[i].n);
    }
}

/* ---- memory with a limit: hostile sizes must not take the machine's ---- */

typedef struct budget {
    size_t used, limit;
} budget;

static void *bounded(void *ctx, void *p, size_t old_size, size_t new_size)
{
    budget *b = ctx;
    if (new_size > old_size && new_size - old_size > b->limit - b->used)
        return NULL;
    void *q = mk_alloc_default.resize(mk_alloc_default.ctx, p, old_size, new_size);
    if (q != NULL || new_size == 0)
        b->used = b->used - old_size + new_size;
    return q;
}

/* ---- the store ---- */

static int64_t still(void *ctx)
{
    (void)ctx;
    return 0;
}
static const mk_clock still_clock = {still, NULL};

static mk_code open_store(mk_fs *fs, const mk_alloc *alloc, mk_open_mode mode, mk_store **store)
{
    mk_err err;
    const mk_store_options options = {
        .mode = mode, .alloc = alloc, .fs = fs, .clock = &still_clock, .tail_rows = 5, .manual = true};
    return mk_store_open("s", &options, store, &err);
}

static mk_code put_node(mk_store *store, mk_op_kind kind, const char *uid, int64_t vt_s)
{
    const mk_op op = {.kind = kind, .on_node = kind != MK_OP_ASSERT_NODE, .uid = mk_str_of(uid),
                      .label = MK_STR("N"), .props = MK_STR("{\"n\":1}"), .vt_s = vt_s, .vt_e = vt_s + 40,
                      .t = vt_s, .source = MK_STR("fuzz"), .provenance_null = true};
    return mk_store_write(store, &op, 1, NULL, NULL, NULL);
}

static mk_code put_edge(mk_store *store, int64_t vt_s, int64_t vt_e, const char *disc)
{
    const mk_op op = {.kind = MK_OP_ASSERT_EDGE, .src = MK_STR("a"), .dst = MK_STR("b"),
                      .rel_type = MK_STR("R"), .disc = mk_str_of(disc), .props = MK_STR("{}"), .vt_s = vt_s,
                      .vt_e = vt_e, .source = MK_STR("fuzz"), .provenance_ref = MK_STR("why")};
    return mk_store_write(store, &op, 1, NULL, NULL, NULL);
}

static void make_base(mem_disk *d)
{
    mk_fs fs = fs_of(d);
    mk_store *store;
    mk_code rc = open_store(&fs, NULL, MK_OPEN_CREATE_WRITER, &store);
    if (rc != MK_OK)
        abort();
    for (int i = 0; i < 12 && rc == MK_OK; i++) {
        rc = put_node(store, MK_OP_ASSERT_NODE, i % 3 ? "a" : "b", i * 7);
        if (rc == MK_OK)
            rc = put_edge(store, i, i + 1, i % 2 ? "#3" : "text");
        if (rc == MK_OK)
            rc = put_edge(store, i * 2, i * 2 + 9, "");
        if (rc == MK_OK && i == 5)
            rc = mk_store_compact(store, NULL);
        if (rc == MK_OK && i == 7)
            rc = mk_store_checkpoint(store, NULL);
    }
    if (rc == MK_OK)
        rc = put_node(store, MK_OP_CORRECT, "a", 10);
    if (rc == MK_OK)
        rc = mk_store_checkpoint(store, NULL);
    if (rc == MK_OK)
        rc = put_node(store, MK_OP_RETRACT, "b", 30); /* behind the checkpoint */
    if (rc != MK_OK || mk_store_close(store, NULL) != MK_OK)
        abort();
}

/* ---- forging checksums ---- */

#define SECTIONS (MK_C_COUNT + 1u)
#define SEGMENT_SECTIONS_AT 72u
#define SEGMENT_HEAD (SEGMENT_SECTIONS_AT + SECTIONS * 24u + 8u)

static void forge_segment(mem_file *f)
{
    if (f->n < SEGMENT_HEAD)
        return;
    for (unsigned i = 0; i < SECTIONS; i++) {
        uint8_t *p = f->p + SEGMENT_SECTIONS_AT + 24 * i;
        const uint64_t offset = mk_get_u64(p), size = mk_get_u64(p + 8);
        if (offset <= f->n && size <= f->n - offset)
            mk_put_u64(p + 16, mk_checksum64(f->p + offset, (size_t)size));
    }
    mk_put_u64(f->p + SEGMENT_HEAD - 8, mk_checksum64(f->p, SEGMENT_HEAD - 8));
}

static void forge(mem_file *f)
{
    const char *dot = strrchr(f->name, '.');
    if (dot != NULL && strcmp(dot, ".seg") == 0)
        forge_segment(f);
    else if (dot != NULL && strcmp(dot, ".ends") == 0 && f->n >= 8)
        mk_put_u64(f->p + f->n - 8, mk_checksum64(f->p, f->n - 8));
    else if (strstr(f->name, "MANIFEST") != NULL && f->n >= 18) {
        char sum[24];
        snprintf(sum, sizeof sum, "\n%016llx\n", (unsigned long long)mk_checksum64(f->p, f->n - 18));
        memcpy(f->p + f->n - 18, sum, 18);
    }
}

static void edit(mem_disk *d, const uint8_t *data, size_t size, bool forged)
{
    mem_file *targets[FILES];
    unsigned count = 0;
    for (unsigned i = 0; i < FILES; i++)
        if (strncmp(d->files[i].name, "s/data/", 7) == 0 && d->files[i].n > 0)
            targets[count++] = &d->files[i];
    for (size_t i = 0; i + 4 <= size && i < 400; i += 4) {
        mem_file *f = targets[data[i] % count];
        f->p[(size_t)(data[i + 1] | data[i + 2] << 8) % f->n] = data[i + 3];
    }
    for (unsigned i = 0; forged && i < count; i++)
        forge(targets[i]);
}

/* ---- using it ---- */

static bool see_edge(void *ctx, const mk_edge_ref *ref)
{
    unsigned *count = ctx;
    (void)ref;
    return ++*count < 100000;
}

static bool see_node(void *ctx, const mk_node_ref *ref)
{
    unsigned *count = ctx;
    (void)ref;
    return ++*count < 100000;
}

static void read_it(mk_store *store, const mk_alloc *alloc)
{
    mk_view *view;
    mk_arena arena;
    char digest[65];
    unsigned edges = 0, nodes = 0;
    (void)!mk_store_digest(store, digest, NULL, NULL, NULL);
    if (mk_view_at(store, (mk_tt){MK_OPEN_END}, 15, &view, NULL) != MK_OK)
        return;
    mk_arena_init(&arena, alloc);
    for (uint32_t id = 0; id < mk_view_entity_count(view) && id < 8; id++) {
        mk_node_ref *refs;
        mk_node_version version;
        size_t count;
        if (mk_view_node_refs(view, &arena, id, &refs, &count, NULL) == MK_OK)
            for (size_t i = 0; i < count && i < 100; i++)
                (void)!mk_view_node_version(view, &arena, &refs[i], &version, NULL);
        (void)!mk_view_edges_of(view, id, &mk_edge_filter_all, see_edge, &edges, NULL);
    }
    (void)!mk_view_edges(view, &mk_edge_filter_all, see_edge, &edges, NULL);
    (void)!mk_view_nodes(view, INT64_MIN, INT64_MAX, see_node, &nodes, NULL);
    mk_arena_free(&arena);
    mk_view_close(view);
}

static void write_it(mk_store *store)
{
    (void)!put_node(store, MK_OP_ASSERT_NODE, "a", 12);
    (void)!put_edge(store, 3, 50, "");
    (void)!put_node(store, MK_OP_RETRACT, "b", 5);
    (void)!mk_store_compact(store, NULL);
    (void)!mk_store_checkpoint(store, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static mem_disk base, disk; /* made once; the copy keeps its buffers between runs */
    static bool made;
    if (!made)
        make_base(&base);
    made = true;
    if (size == 0)
        return 0;
    copy_disk(&disk, &base);
    edit(&disk, data + 1, size - 1, data[0] & 1);
    mk_fs fs = fs_of(&disk);
    budget b = {0, (size_t)64 << 20};
    const mk_alloc alloc = {bounded, &b};
    mk_store *store;
    const bool writes = data[0] & 2;
    if (open_store(&fs, &alloc, writes ? MK_OPEN_WRITER : MK_OPEN_READER, &store) == MK_OK) {
        read_it(store, &alloc);
        if (writes)
            write_it(store);
        (void)!mk_store_close(store, NULL);
    }
    if (b.used != 0)
        abort(); /* something was not given back */
    return 0;
}

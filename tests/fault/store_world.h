/* store_world.h — one scenario for all fault tests of the store, and the digests it must show.
 *
 * Batches are numbered from 0 and always written in order at transaction times 1, 2, ..., because the
 * clock stands still. So what a store may hold after any accident is one of the digests expected[0..n],
 * where expected[m] is the digest after the first m batches, told by the slow model. Steps beside the
 * writes (checkpoints, merges, reads, reopening) must not change it. */
#ifndef MK_TESTS_STORE_WORLD_H
#define MK_TESTS_STORE_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "store/internal.h"
#include "store/txn.h"
#include "../support/model.h"
#include "../support/simfs.h"

/* ---- batches ---- */

#define BATCHES 12
#define BULK_EVENTS 4096
#define OPS_MAX 6
#define BULK_BATCH 8 /* with `world_bulk`: this one ingests so many events that it becomes a segment */

typedef struct batch {
    mk_op ops[OPS_MAX];
    size_t count;
    bool reserved;          /* needs allow_reserved */
    const char *request_id; /* NULL: none */
} batch;

static batch world_batches[BATCHES];
static char world_expected[BATCHES + 1][65];
static mk_event world_events[BULK_EVENTS];
static char world_uids[64][8];

static mk_op *next_op(batch *b, mk_op_kind kind)
{
    mk_op *op = &b->ops[b->count++];
    *op = (mk_op){.kind = kind, .props = MK_STR("{}"), .vt_e = MK_OPEN_END, .source = MK_STR("test"),
                  .provenance_null = true};
    return op;
}

static mk_op *node_op(batch *b, mk_op_kind kind, const char *uid, int64_t vt_s, int64_t vt_e,
                      const char *props)
{
    mk_op *op = next_op(b, kind);
    op->on_node = kind == MK_OP_RETRACT || kind == MK_OP_CORRECT;
    op->uid = mk_str_of(uid);
    op->label = MK_STR("Thing");
    op->vt_s = vt_s;
    op->vt_e = vt_e;
    op->t = vt_s;
    op->props = mk_str_of(props);
    return op;
}

static mk_op *edge_op(batch *b, mk_op_kind kind, const char *src, const char *dst, int64_t vt_s,
                      int64_t vt_e, const char *props)
{
    mk_op *op = next_op(b, kind);
    op->src = mk_str_of(src);
    op->dst = mk_str_of(dst);
    op->rel_type = MK_STR("KNOWS");
    op->disc = MK_STR("");
    op->vt_s = vt_s;
    op->vt_e = vt_e;
    op->t = vt_s;
    op->props = mk_str_of(props);
    return op;
}

static void events_op(batch *b, size_t from, size_t count, int64_t offset)
{
    mk_op *op = next_op(b, MK_OP_INGEST_EVENTS);
    op->events = world_events + from;
    op->event_count = count;
    op->offset = offset;
    op->node_label = MK_STR("Person");
}

static void make_events(void)
{
    for (int i = 0; i < 64; i++)
        snprintf(world_uids[i], sizeof world_uids[i], "u%02u", (unsigned)i % 64);
    for (int i = 0; i < BULK_EVENTS; i++)
        world_events[i] = (mk_event){.src = mk_str_of(world_uids[i * 7 % 64]),
                                     .dst = mk_str_of(world_uids[(i * 13 + 1) % 64]),
                                     .rel_type = i % 3 ? MK_STR("MAILS") : MK_STR("CALLS"),
                                     .disc_kind = MK_DISC_DEFAULT,
                                     .props = i % 5 ? (mk_str){NULL, 0} : MK_STR("{\"n\":1}"),
                                     .vt_s = i / 3 * 10};
    world_events[2].has_vt_e = true; /* one interval among instants */
    world_events[2].vt_e = 77;
    world_events[3].disc_kind = MK_DISC_GIVEN;
    world_events[3].disc = MK_STR("by hand");
}

static void make_batches(bool bulk)
{
    batch *b = world_batches;
    memset(world_batches, 0, sizeof world_batches);
    make_events();
    node_op(b, MK_OP_ASSERT_NODE, "a", 0, 100, "{\"name\":\"Ann\"}");
    node_op(b, MK_OP_ASSERT_NODE, "b", 0, MK_OPEN_END, "{\"name\":\"Bob\"}");
    edge_op(b, MK_OP_ASSERT_EDGE, "a", "b", 0, 50, "{\"since\":1}");
    b++;
    events_op(b, 0, 6, 0);
    b++;
    node_op(b, MK_OP_CORRECT, "a", 10, 20, "{\"name\":\"Anne\"}");
    edge_op(b, MK_OP_RETRACT, "a", "b", 25, 0, "{}");
    b++;
    edge_op(b, MK_OP_ASSERT_EDGE, "b", "a", 5, 6, "{}");
    edge_op(b, MK_OP_ASSERT_EDGE, "b", "a", 5, 9, "{\"twice\":true}");
    b++;
    node_op(b, MK_OP_ASSERT_NODE, "c", 7, MK_OPEN_END, "{}");
    b->request_id = "request-1";
    b++;
    node_op(b, MK_OP_ASSERT_NODE, "tk:rule", 1, 2, "{}");
    b->reserved = true;
    b++;
    edge_op(b, MK_OP_CORRECT, "a", "b", 3, 8, "{\"since\":2}");
    node_op(b, MK_OP_ASSERT_NODE, "a", 50, 150, "{\"name\":\"Ann\",\"old\":true}");
    b++;
    node_op(b, MK_OP_RETRACT, "b", 40, 0, "{}");
    b++;
    events_op(b, 6, bulk ? BULK_EVENTS - 6 : 5, 6);
    if (bulk)
        b->ops[0].events = world_events, b->ops[0].event_count = BULK_EVENTS;
    b++;
    node_op(b, MK_OP_CORRECT, world_uids[7], 15, 25, "{\"seen\":1}");
    node_op(b, MK_OP_RETRACT, world_uids[1], 30, 0, "{}");
    b++;
    edge_op(b, MK_OP_ASSERT_EDGE, "c", "a", -5, MK_OPEN_END, "{}");
    b++;
    node_op(b, MK_OP_RETRACT, "c", 9, 0, "{}");
    edge_op(b, MK_OP_RETRACT, "c", "a", 0, 0, "{}");
}

/* ---- what the model says ---- */

static void model_batch(model *m, const batch *b, int64_t tt)
{
    mk_buf line;
    mk_op ops[OPS_MAX + 1];
    size_t count = b->count;
    mk_err err;
    memcpy(ops, b->ops, count * sizeof *ops);
    if (b->request_id != NULL) { /* a request is a node of the notes, as decisions.md 3 has it */
        static char uid[64];
        snprintf(uid, sizeof uid, "mn:req:%s", b->request_id);
        ops[count++] = (mk_op){.kind = MK_OP_ASSERT_NODE, .uid = mk_str_of(uid),
                               .label = MK_STR("Request"), .props = MK_STR("{}"), .vt_e = MK_OPEN_END,
                               .source = MK_STR("ingest"), .provenance_null = true};
    }
    mk_buf_init(&line, &mk_alloc_default);
    assert_int_equal(mk_record_write(&line, ops, count, (mk_tt){tt}, &err), MK_OK);
    mk_buf_c(&line, 0);
    char *from = strstr(line.p, "\"ops\":") + 6, *to = NULL;
    for (char *p = from; (p = strstr(p, ",\"tt\":")) != NULL; p++)
        to = p;
    if (!model_apply_text(m, tt, (mk_str){from, (size_t)(to - from)}, &err))
        fail_msg("the model refuses: %s", err.message);
    mk_buf_free(&line);
}

static void expect_digests(bool bulk)
{
    model *m = model_new();
    make_batches(bulk);
    model_digest(m, world_expected[0]);
    for (int i = 0; i < BATCHES; i++) {
        model_batch(m, &world_batches[i], i + 1);
        model_digest(m, world_expected[i + 1]);
    }
    model_free(m);
}

/* ---- a disk that tells what is synced ---- */

#define TAP_FILES 64
#define TAP_SYNCS 4096

typedef struct tap {
    mk_fs fs; /* what the store gets */
    const mk_fs *under;
    const char *deny; /* creating a file whose path contains this fails for want of space */
    mk_file *files[TAP_FILES];
    char paths[TAP_FILES][128];
    unsigned syncs;
    char sync_paths[TAP_SYNCS][64]; /* of the n-th sync or sync_dir, from 1, without what failed */
} tap;

static mk_code tap_open(void *ctx, const char *path, unsigned flags, mk_file **out, mk_err *err)
{
    tap *t = ctx;
    if (t->deny != NULL && (flags & MK_OPEN_CREATE) && strstr(path, t->deny) != NULL) {
        mk_fail(err, MK_E_STATE, "%s: no space", path);
        mk_err_reason(err, "no_space");
        return MK_E_STATE;
    }
    const mk_code rc = t->under->open(t->under->ctx, path, flags, out, err);
    for (int i = 0; rc == MK_OK && i < TAP_FILES; i++)
        if (t->files[i] == NULL) {
            t->files[i] = *out;
            snprintf(t->paths[i], sizeof t->paths[i], "%s", path);
            return rc;
        }
    return rc;
}
static void tap_close(void *ctx, mk_file *file)
{
    tap *t = ctx;
    for (int i = 0; i < TAP_FILES; i++)
        if (t->files[i] == file)
            t->files[i] = NULL;
    t->under->close(t->under->ctx, file);
}
static mk_code tap_read_at(void *ctx, mk_file *file, void *p, size_t n, uint64_t at, size_t *got,
                           mk_err *err)
{
    tap *t = ctx;
    return t->under->read_at(t->under->ctx, file, p, n, at, got, err);
}
static mk_code tap_write_at(void *ctx, mk_file *file, const void *p, size_t n, uint64_t at, mk_err *err)
{
    tap *t = ctx;
    return t->under->write_at(t->under->ctx, file, p, n, at, err);
}
static mk_code tap_size(void *ctx, mk_file *file, uint64_t *size, mk_err *err)
{
    tap *t = ctx;
    return t->under->size(t->under->ctx, file, size, err);
}
static mk_code tap_truncate(void *ctx, mk_file *file, uint64_t size, mk_err *err)
{
    tap *t = ctx;
    return t->under->truncate(t->under->ctx, file, size, err);
}
/* The store would read 16 MiB of zeros at every opening; a page shows the same. */
static mk_code tap_reserve(void *ctx, mk_file *file, uint64_t at, uint64_t n, mk_err *err)
{
    tap *t = ctx;
    return t->under->reserve(t->under->ctx, file, at, n < 4096 ? n : 4096, err);
}
static void tap_note(tap *t, mk_code rc, const char *path)
{
    if (rc == MK_OK && ++t->syncs < TAP_SYNCS)
        snprintf(t->sync_paths[t->syncs], sizeof t->sync_paths[0], "%s", path);
}
static mk_code tap_sync(void *ctx, mk_file *file, mk_err *err)
{
    tap *t = ctx;
    const mk_code rc = t->under->sync(t->under->ctx, file, err);
    for (int i = 0; i < TAP_FILES; i++)
        if (t->files[i] == file)
            tap_note(t, rc, t->paths[i]);
    return rc;
}
static mk_code tap_sync_dir(void *ctx, const char *path, mk_err *err)
{
    tap *t = ctx;
    const mk_code rc = t->under->sync_dir(t->under->ctx, path, err);
    char text[64];
    snprintf(text, sizeof text, "folder %s", path);
    tap_note(t, rc, text);
    return rc;
}
static mk_code tap_rename(void *ctx, const char *from, const char *to, mk_err *err)
{
    tap *t = ctx;
    const mk_code rc = t->under->rename(t->under->ctx, from, to, err);
    for (int i = 0; rc == MK_OK && i < TAP_FILES; i++)
        if (t->files[i] != NULL && strcmp(t->paths[i], from) == 0)
            snprintf(t->paths[i], sizeof t->paths[i], "%s", to);
    return rc;
}
static mk_code tap_remove(void *ctx, const char *path, mk_err *err)
{
    tap *t = ctx;
    return t->under->remove(t->under->ctx, path, err);
}
static mk_code tap_make_dir(void *ctx, const char *path, mk_err *err)
{
    tap *t = ctx;
    return t->under->make_dir(t->under->ctx, path, err);
}
static mk_code tap_list(void *ctx, const char *path, void (*each)(void *arg, const char *name), void *arg,
                        mk_err *err)
{
    tap *t = ctx;
    return t->under->list(t->under->ctx, path, each, arg, err);
}
static mk_code tap_lock(void *ctx, mk_file *file, bool take, bool *held, mk_err *err)
{
    tap *t = ctx;
    return t->under->lock(t->under->ctx, file, take, held, err);
}

static inline void tap_init(tap *t, const mk_fs *under)
{
    *t = (tap){.under = under};
    t->fs = (mk_fs){t,          tap_open,     tap_close,  tap_read_at, tap_write_at, tap_size, tap_truncate,
                    tap_reserve, tap_sync,    tap_sync_dir, tap_rename, tap_remove,  tap_make_dir,
                    tap_list,   tap_lock};
}

/* ---- steps ---- */

typedef enum step_kind { WRITE, TXN, CHECKPOINT, COMPACT, READ, DIGEST, REOPEN, REBUILD } step_kind;

/* All batches, with everything else in between; sealing happens every few rows, merges every few seals. */
static const step_kind world_steps[] = {
    REOPEN, WRITE, READ,   WRITE, CHECKPOINT, WRITE,  WRITE, REOPEN, TXN,     CHECKPOINT, WRITE, WRITE,
    DIGEST, WRITE, REOPEN, WRITE, CHECKPOINT, WRITE,  READ,  COMPACT, CHECKPOINT, WRITE,  REBUILD, TXN,
    CHECKPOINT, REOPEN, READ, DIGEST};
#define STEPS (sizeof world_steps / sizeof *world_steps)

typedef struct world {
    const mk_alloc *alloc;
    const mk_fs *fs;
    mk_store *store; /* NULL while closed */
    int acked;       /* batches acknowledged */
    int warnings;
    bool background; /* with the upkeep thread */
    char digest[65]; /* of the last DIGEST */
} world;

static int64_t still(void *ctx)
{
    (void)ctx;
    return 0;
}
static const mk_clock still_clock = {still, NULL};

static void count_warning(void *ctx, mk_log_level level, const char *module, const char *text)
{
    world *w = ctx;
    (void)module;
    w->warnings += level != MK_LOG_INFO;
    if (getenv("MK_VERBOSE") != NULL)
        fprintf(stderr, "%s\n", text);
}

static mk_code world_open(world *w, mk_open_mode mode, bool rebuild, mk_store **out, mk_err *err)
{
    const mk_store_options options = {.mode = mode, .alloc = w->alloc, .fs = w->fs, .clock = &still_clock,
                                      .log = count_warning, .log_ctx = w, .tail_rows = 3,
                                      .manual = true, .rebuild = rebuild};
    return mk_store_open("dir/s", &options, out, err);
}

static void world_close(world *w)
{
    (void)mk_store_close(w->store, NULL); /* by hand: nothing is written here */
    w->store = NULL;
}

static mk_code write_batch(world *w, mk_err *err)
{
    const batch *b = &world_batches[w->acked];
    const mk_write_options options = {
        .request_id = b->request_id ? mk_str_of(b->request_id) : (mk_str){NULL, 0},
        .allow_reserved = b->reserved};
    mk_tt tt;
    const mk_code rc = mk_store_write(w->store, b->ops, b->count, &options, &tt, err);
    if (rc == MK_OK)
        assert_int_equal(tt.us, ++w->acked);
    return rc;
}

static mk_code write_txn(world *w, mk_err *err)
{
    const batch *b = &world_batches[w->acked];
    const mk_write_options options = {
        .request_id = b->request_id ? mk_str_of(b->request_id) : (mk_str){NULL, 0},
        .allow_reserved = b->reserved};
    mk_txn *txn = NULL;
    mk_tt tt;
    mk_code rc;
    MK_TRY(rc, mk_txn_begin(w->store, MK_ISO_SERIALIZABLE, 0, &txn, err));
    for (size_t i = 0; i < b->count; i++) {
        MK_TRY(rc, mk_txn_read(txn, &b->ops[i], (mk_vt){0}, (mk_vt){10}, err));
        MK_TRY(rc, mk_txn_write(txn, &b->ops[i], err));
    }
    rc = mk_txn_commit(txn, &options, &tt, err);
    if (rc == MK_OK)
        assert_int_equal(tt.us, ++w->acked);
out:
    mk_txn_end(txn);
    return rc;
}

typedef struct seen {
    mk_view *view;
    size_t edges;
    mk_edge_ref refs[8192];
} seen;

static bool see_edge(void *ctx, const mk_edge_ref *ref)
{
    seen *s = ctx;
    assert_true(s->edges < 8192);
    s->refs[s->edges++] = *ref;
    return true;
}

static mk_code read_all(world *w, mk_err *err)
{
    static seen s;
    mk_arena arena;
    mk_node_ref *refs;
    mk_node_version node;
    mk_edge_version edge;
    mk_rel_count *rels;
    size_t count;
    mk_code rc;
    s = (seen){0};
    mk_arena_init(&arena, w->alloc);
    MK_TRY(rc, mk_view_at(w->store, (mk_tt){w->acked}, 15, &s.view, err));
    for (uint32_t id = 0; id < mk_view_entity_count(s.view) && id < 5; id++) {
        MK_TRY(rc, mk_view_node_refs(s.view, &arena, id, &refs, &count, err));
        for (size_t i = 0; i < count; i++)
            MK_TRY(rc, mk_view_node_version(s.view, &arena, &refs[i], &node, err));
        s.edges = 0;
        MK_TRY(rc, mk_view_edges_of(s.view, id, &mk_edge_filter_all, see_edge, &s, err));
    }
    s.edges = 0;
    MK_TRY(rc, mk_view_edges(s.view, &mk_edge_filter_all, see_edge, &s, err));
    MK_TRY(rc, mk_view_sort_edges(s.view, s.refs, s.edges, err));
    for (size_t i = 0; i < s.edges && i < 10; i++)
        MK_TRY(rc, mk_view_edge_version(s.view, &arena, &s.refs[i], &edge, err));
    rc = mk_view_rel_counts(s.view, &arena, &rels, &count, err);
out:
    mk_view_close(s.view);
    mk_arena_free(&arena);
    return rc;
}

static inline mk_code world_step(world *w, step_kind kind, mk_err *err)
{
    switch (kind) {
    case WRITE: return write_batch(w, err);
    case TXN: return write_txn(w, err);
    case CHECKPOINT: return mk_store_checkpoint(w->store, err);
    case COMPACT: return mk_store_compact(w->store, err);
    case READ: return read_all(w, err);
    case DIGEST: return mk_store_digest(w->store, w->digest, NULL, NULL, err);
    case REOPEN:
    case REBUILD:
        world_close(w);
        return world_open(w, MK_OPEN_CREATE_WRITER, kind == REBUILD, &w->store, err);
    }
    return MK_OK;
}

/* How many batches the store holds, at least `from`; -1 when it is no whole number of them or when it
 * cannot be read, with *err telling. */
static int batches_in(mk_store *store, int from, mk_err *err)
{
    char digest[65];
    err->code = MK_OK;
    if (mk_store_digest(store, digest, NULL, NULL, err) != MK_OK)
        return -1;
    for (int m = from; m <= BATCHES; m++)
        if (strcmp(digest, world_expected[m]) == 0)
            return m;
    return -1;
}

/* Every frame of the log reads. */
static inline bool log_verifies(const mk_fs *fs, mk_err *err)
{
    const mk_log_pos start = mk_log_start();
    mk_log_reader *reader = NULL;
    mk_frame frame;
    mk_log_end end = MK_LOG_MORE;
    mk_code rc = mk_log_reader_open(&mk_alloc_default, fs, "dir/s", &start, &reader, err);
    while (rc == MK_OK && end == MK_LOG_MORE)
        rc = mk_log_read(reader, NULL, &frame, &end, err);
    mk_log_reader_close(reader);
    return rc == MK_OK;
}

/* The folder that holds the store, there for good. */
static inline simfs *world_disk(void)
{
    simfs *sim = simfs_new();
    const mk_fs *fs = simfs_fs(sim);
    assert_int_equal(fs->make_dir(fs->ctx, "dir", NULL), MK_OK);
    assert_int_equal(fs->sync_dir(fs->ctx, "/", NULL), MK_OK);
    return sim;
}

#endif

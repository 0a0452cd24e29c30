/* store_support.h — ops from C, stores with small tails, and what a view shows as bytes. Test support.
 *
 * Shared by the tests of threads, reader processes, transactions and the door. Everything fails the
 * test on the spot, so a helper that returns has worked. */
#ifndef MK_TESTS_STORE_SUPPORT_H
#define MK_TESTS_STORE_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/sha256.h"
#include "store/log.h"
#include "store/txn.h"

#include "../support/tmpdir.h"

/* cmocka's own checks leave the test by longjmp, which only the main thread may do. */
#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                \
            abort();                                                                               \
        }                                                                                          \
    } while (0)
/* The same for a call that fills `err`. */
#define MUST_OK(call, err)                                                                         \
    do {                                                                                           \
        if ((call) != MK_OK) {                                                                     \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, (err).message);          \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

static const mk_tt now = {MK_OPEN_END};

/* ---- ops ---- */

static inline mk_op node_op(const char *uid, const char *props, int64_t vt_s, int64_t vt_e)
{
    return (mk_op){.kind = MK_OP_ASSERT_NODE,
                   .uid = mk_str_of(uid),
                   .label = MK_STR("Node"),
                   .props = mk_str_of(props),
                   .vt_s = vt_s,
                   .vt_e = vt_e,
                   .source = MK_STR("ingest"),
                   .provenance_null = true};
}

static inline mk_op edge_op(const char *src, const char *dst, const char *disc, const char *props,
                            int64_t vt_s, int64_t vt_e)
{
    mk_op op = node_op("", props, vt_s, vt_e);
    op.kind = MK_OP_ASSERT_EDGE;
    op.uid = op.label = MK_STR("");
    op.src = mk_str_of(src);
    op.dst = mk_str_of(dst);
    op.rel_type = MK_STR("KNOWS");
    op.disc = mk_str_of(disc);
    return op;
}

static inline mk_op retract_node_op(const char *uid, int64_t t)
{
    mk_op op = node_op(uid, "{}", 0, 0);
    op.kind = MK_OP_RETRACT;
    op.on_node = true;
    op.label = op.props = MK_STR("");
    op.t = t;
    return op;
}

static inline mk_op correct_node_op(const char *uid, const char *props, int64_t vt_s, int64_t vt_e)
{
    mk_op op = node_op(uid, props, vt_s, vt_e);
    op.kind = MK_OP_CORRECT;
    op.on_node = true;
    op.label = MK_STR("");
    return op;
}

static inline mk_event event_of(const char *src, const char *dst, int64_t vt_s)
{
    return (mk_event){.src = mk_str_of(src),
                      .dst = mk_str_of(dst),
                      .rel_type = MK_STR("SENT"),
                      .disc_kind = MK_DISC_DEFAULT,
                      .vt_s = vt_s};
}

static inline mk_op events_op(mk_event *events, size_t count, int64_t offset)
{
    return (mk_op){.kind = MK_OP_INGEST_EVENTS,
                   .events = events,
                   .event_count = count,
                   .offset = offset,
                   .node_label = MK_STR("Node"),
                   .source = MK_STR("ingest"),
                   .provenance_null = true};
}

/* ---- stores ---- */

static inline mk_store *open_store(const char *dir, mk_store_options options)
{
    mk_store *store = NULL;
    mk_err err;
    MUST_OK(mk_store_open(dir, &options, &store, &err), err);
    return store;
}

static inline void close_store(mk_store *store)
{
    mk_err err;
    MUST_OK(mk_store_close(store, &err), err);
}

static inline mk_tt write_ops(mk_store *store, const mk_op *ops, size_t count)
{
    mk_err err;
    mk_tt tt = {0};
    MUST_OK(mk_store_write(store, ops, count, NULL, &tt, &err), err);
    return tt;
}

static inline void digest_of(mk_store *store, char digest[65])
{
    mk_err err;
    MUST_OK(mk_store_digest(store, digest, NULL, NULL, &err), err);
}

/* Calls `each` with every record line of a log, LF included. */
typedef void line_fn(void *ctx, mk_str line);

static inline void each_line(const char *dir, line_fn *each, void *ctx)
{
    const mk_log_pos start = mk_log_start();
    mk_log_reader *reader = NULL;
    mk_err err;
    MUST_OK(mk_log_reader_open(&mk_alloc_default, &mk_fs_posix, dir, &start, &reader, &err), err);
    for (;;) {
        mk_frame frame;
        mk_log_end end;
        MUST_OK(mk_log_read(reader, NULL, &frame, &end, &err), err);
        if (end != MK_LOG_MORE)
            break;
        for (mk_str rest = frame.lines; frame.kind == MK_FRAME_BATCH && rest.n != 0;) {
            const char *lf = memchr(rest.p, '\n', rest.n);
            MUST(lf != NULL);
            const size_t size = (size_t)(lf - rest.p) + 1;
            each(ctx, (mk_str){rest.p, size});
            rest = (mk_str){rest.p + size, rest.n - size};
        }
    }
    mk_log_reader_close(reader);
}

static inline void replay_one(void *ctx, mk_str line)
{
    mk_err err, why;
    bool applied = false;
    MUST_OK(mk_store_replay_line(ctx, line, true, &applied, &why, &err), err);
    MUST(applied); /* what we write ourselves never fails on replay */
}

/* Digest of a fresh store at `to` that replays the log of the store at `from`. */
static inline void replay_digest(const char *from, const char *to, char digest[65])
{
    mk_err err;
    mk_store *store = open_store(to, (mk_store_options){.mode = MK_OPEN_CREATE_WRITER, .manual = true});
    each_line(from, replay_one, store);
    MUST_OK(mk_store_replay_flush(store, &err), err);
    digest_of(store, digest);
    close_store(store);
}

static inline void count_line(void *ctx, mk_str line)
{
    (void)line;
    ++*(uint64_t *)ctx;
}

static inline void hash_line(void *ctx, mk_str line) { mk_sha256_add(ctx, line.p, line.n); }

/* SHA-256 over all record lines. */
static inline void log_hash(const char *dir, uint8_t sha[32])
{
    mk_sha256 hash;
    mk_sha256_init(&hash);
    each_line(dir, hash_line, &hash);
    mk_sha256_end(&hash, sha);
}

/* ---- what a view shows ---- */

typedef struct shown {
    mk_view *view;
    mk_arena *arena;
    mk_edge_ref *edges;
    size_t edge_count, edge_cap;
    mk_node_ref *nodes;
    size_t node_count, node_cap;
} shown;

static inline bool keep_edge(void *ctx, const mk_edge_ref *ref)
{
    shown *s = ctx;
    if (mk_grow(&mk_alloc_default, (void **)&s->edges, &s->edge_cap, s->edge_count + 1,
                sizeof *s->edges, NULL) != MK_OK)
        abort();
    s->edges[s->edge_count++] = *ref;
    return true;
}

static inline bool keep_node(void *ctx, const mk_node_ref *ref)
{
    shown *s = ctx;
    if (mk_grow(&mk_alloc_default, (void **)&s->nodes, &s->node_cap, s->node_count + 1,
                sizeof *s->nodes, NULL) != MK_OK)
        abort();
    s->nodes[s->node_count++] = *ref;
    return true;
}

static inline void shown_free(shown *s)
{
    mk_free(&mk_alloc_default, s->edges, s->edge_cap * sizeof *s->edges);
    mk_free(&mk_alloc_default, s->nodes, s->node_cap * sizeof *s->nodes);
    *s = (shown){0};
}

static inline void hash_i64(mk_sha256 *hash, int64_t v) { mk_sha256_add(hash, &v, sizeof v); }

static inline void hash_str(mk_sha256 *hash, mk_str s)
{
    hash_i64(hash, (int64_t)s.n);
    mk_sha256_add(hash, s.p, s.n);
}

static inline void hash_edges(shown *s, mk_sha256 *hash)
{
    mk_err err;
    MUST_OK(mk_view_sort_edges(s->view, s->edges, s->edge_count, &err), err);
    hash_i64(hash, (int64_t)s->edge_count);
    for (size_t i = 0; i < s->edge_count; i++) {
        mk_edge_version v;
        mk_arena_reset(s->arena);
        MUST_OK(mk_view_edge_version(s->view, s->arena, &s->edges[i], &v, &err), err);
        mk_sha256_add(hash, v.eid, 24);
        mk_sha256_add(hash, v.vid, 24);
        hash_i64(hash, v.vt_s);
        hash_i64(hash, v.vt_e);
        hash_i64(hash, v.tt_s);
        hash_str(hash, v.props);
        hash_str(hash, v.source);
        hash_str(hash, v.disc);
    }
    s->edge_count = 0;
}

static inline void hash_history(shown *s, uint32_t id, mk_sha256 *hash)
{
    mk_err err;
    mk_node_ref *refs;
    size_t count;
    mk_arena_reset(s->arena);
    MUST_OK(mk_view_node_refs(s->view, s->arena, id, &refs, &count, &err), err);
    hash_i64(hash, (int64_t)count);
    for (size_t i = 0; i < count; i++) {
        mk_node_version v;
        MUST_OK(mk_view_node_version(s->view, s->arena, &refs[i], &v, &err), err);
        mk_sha256_add(hash, v.vid, 24);
        hash_i64(hash, v.vt_s);
        hash_i64(hash, v.vt_e);
        hash_i64(hash, v.tt_s);
        hash_str(hash, v.props);
        hash_str(hash, mk_view_name(s->view, v.label));
    }
}

/* SHA-256 of every belief of a view: histories and neighbourhoods of all entities, both scans. Equal for
 * all views of one transaction time, whatever was written or merged since. */
static inline void beliefs_hash(mk_view *view, uint8_t sha[32])
{
    mk_arena arena;
    mk_err err;
    mk_sha256 hash;
    mk_arena_init(&arena, &mk_alloc_default);
    shown s = {.view = view, .arena = &arena};
    mk_sha256_init(&hash);
    hash_i64(&hash, mk_view_effective_tt(view).us);
    for (uint32_t id = 0; id < mk_view_entity_count(view); id++) {
        mk_node_ref *refs;
        size_t count;
        MUST_OK(mk_view_node_refs(view, &arena, id, &refs, &count, &err), err);
        MUST_OK(mk_view_edges_of(view, id, &mk_edge_filter_all, keep_edge, &s, &err), err);
        if (count == 0 && s.edge_count == 0)
            continue;
        MUST(mk_view_entity(view, mk_view_uid(view, id)) == id);
        hash_str(&hash, mk_view_uid(view, id));
        hash_history(&s, id, &hash);
        hash_edges(&s, &hash);
    }
    MUST_OK(mk_view_edges(view, &mk_edge_filter_all, keep_edge, &s, &err), err);
    hash_edges(&s, &hash);
    MUST_OK(mk_view_nodes(view, INT64_MIN, INT64_MAX, keep_node, &s, &err), err);
    hash_i64(&hash, (int64_t)s.node_count);
    mk_sha256_end(&hash, sha);
    shown_free(&s);
    mk_arena_free(&arena);
}

/* The same and the statistics, which are of the state and not of the transaction time: equal for one
 * view for as long as it is open. */
static inline void view_hash(mk_view *view, uint8_t sha[32])
{
    mk_sha256 hash;
    mk_view_stats stats;
    mk_arena arena;
    mk_rel_count *rels;
    size_t rel_count;
    mk_err err;
    beliefs_hash(view, sha);
    mk_arena_init(&arena, &mk_alloc_default);
    mk_view_get_stats(view, &stats);
    mk_sha256_init(&hash);
    mk_sha256_add(&hash, sha, 32);
    hash_i64(&hash, mk_view_entity_count(view));
    hash_i64(&hash, (int64_t)stats.entities);
    hash_i64(&hash, (int64_t)stats.node_versions);
    hash_i64(&hash, (int64_t)stats.edge_versions);
    hash_i64(&hash, stats.has_extent ? stats.vt_min : 0);
    hash_i64(&hash, stats.has_extent ? stats.vt_max : 0);
    hash_i64(&hash, (int64_t)stats.max_out_degree);
    MUST_OK(mk_view_rel_counts(view, &arena, &rels, &rel_count, &err), err);
    for (size_t i = 0; i < rel_count; i++) {
        hash_str(&hash, rels[i].rel_type);
        hash_i64(&hash, (int64_t)rels[i].count);
        stats.edge_versions -= rels[i].count;
    }
    MUST(stats.edge_versions == 0); /* the counts add up */
    mk_sha256_end(&hash, sha);
    mk_arena_free(&arena);
}

/* The value of {"m":N} in the version of a node valid at `t`; -1 when there is none. */
static inline int64_t marker_of(mk_view *view, mk_str uid, int64_t t)
{
    mk_arena arena;
    mk_err err;
    mk_node_ref ref;
    mk_node_version v;
    bool found = false;
    int64_t marker = -1;
    const uint32_t id = mk_view_entity(view, uid);
    if (id == MK_NO_ID)
        return -1;
    mk_arena_init(&arena, &mk_alloc_default);
    MUST_OK(mk_view_node_at(view, id, (mk_vt){t}, &ref, &found, &err), err);
    if (found) {
        MUST_OK(mk_view_node_version(view, &arena, &ref, &v, &err), err);
        MUST(v.props.n > 6 && memcmp(v.props.p, "{\"m\":", 5) == 0);
        MUST(mk_str_to_i64((mk_str){v.props.p + 5, v.props.n - 6}, &marker));
    }
    mk_arena_free(&arena);
    return marker;
}

#endif

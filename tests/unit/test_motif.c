/* test_motif.c — temporal motifs are counted and listed as three nested loops would.
 *
 * Goal: counts, counts by first edge, lists and their pages are right for all five motifs; events at one time
 * stand in the order of their ids wherever the rows lie; what a filter names decides how events are read and
 * never what is read; costs, errors and limits are those of the operators spec, 5.6 and 7.6. Method: random
 * event lists against the definitions; random stores whose ids the test sorts itself; the counts that the
 * evaluation spec, section 21, publishes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../support/testalloc.h"
#include "../support/tmpdir.h"
#include "load/synth.h"
#include "op/call.h"
#include "op/count_temporal_motifs.h"
#include "op/find_temporal_motif_instances.h"

enum { MOTIFS = MK_MOTIF_PATH_3 + 1, EVENTS_MAX = 500 };

/* A sequence that is the same in every run (Steele, Lea, Flood 2014). */
static uint64_t next_random(uint64_t *seed)
{
    uint64_t x = *seed += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

static mk_guard no_guard(void)
{
    mk_guard guard;
    mk_guard_init(&guard, NULL, 0, NULL);
    return guard;
}

/* ---- the definitions ---- */

/* The five patterns of operators spec, 7.6, for three events that are in order and within delta. */
static bool is_instance(mk_motif motif, const uint32_t *src, const uint32_t *dst, uint32_t i, uint32_t j,
                        uint32_t k)
{
    const uint32_t u = src[i], v = dst[i], w = dst[j], x = dst[k];
    const bool three = u != v && u != w && v != w, four = three && x != u && x != v && x != w;
    switch (motif) {
    case MK_MOTIF_TRIANGLE_CYCLIC: return three && src[j] == v && src[k] == w && x == u;
    case MK_MOTIF_TRIANGLE_ACYCLIC_1: return three && src[j] == u && src[k] == v && x == w;
    case MK_MOTIF_PINGPONG: return u != v && src[j] == v && w == u && src[k] == u && x == v;
    case MK_MOTIF_STAR_OUT_3: return four && src[j] == u && src[k] == u;
    default: return four && src[j] == v && src[k] == w;
    }
}

typedef struct found {
    mk_motif_instance *list;
    size_t count, cap;
    uint64_t starts[EVENTS_MAX];
} found;

static void find_all(const mk_motif_events *e, mk_motif motif, found *out)
{
    out->count = 0;
    memset(out->starts, 0, sizeof out->starts);
    for (uint32_t i = 0; i < e->count; i++)
        for (uint32_t j = i + 1; j < e->limit[i]; j++)
            for (uint32_t k = j + 1; k < e->limit[i]; k++) {
                if (!is_instance(motif, e->src, e->dst, i, j, k))
                    continue;
                assert_int_equal(mk_grow(&mk_alloc_default, (void **)&out->list, &out->cap, out->count + 1,
                                         sizeof *out->list, NULL),
                                 MK_OK);
                out->list[out->count++] = (mk_motif_instance){{i, j, k}};
                out->starts[i]++;
            }
}

static void found_free(found *f) { mk_free(&mk_alloc_default, f->list, f->cap * sizeof *f->list); }

/* ---- the kernels ---- */

typedef struct events_room {
    uint32_t src[EVENTS_MAX], dst[EVENTS_MAX], limit[EVENTS_MAX];
} events_room;

/* No self-loops; limits ascend and lie behind their event. */
static mk_motif_events random_events(uint64_t *seed, uint32_t count, uint32_t nodes, uint32_t reach,
                                     events_room *room)
{
    for (uint32_t i = 0, limit = 0; i < count; i++) {
        room->src[i] = (uint32_t)(next_random(seed) % nodes);
        room->dst[i] = (room->src[i] + 1 + (uint32_t)(next_random(seed) % (nodes - 1))) % nodes;
        const uint32_t next = i + 1 + (uint32_t)(next_random(seed) % (reach + 1));
        limit = limit > next ? limit : next;
        limit = limit < count ? limit : count;
        room->limit[i] = limit;
    }
    return (mk_motif_events){.count = count, .total = count, .nodes = nodes, .src = room->src,
                             .dst = room->dst, .limit = room->limit};
}

static void check_counts(const mk_motif_events *events, mk_arena *arena, uint64_t seed)
{
    found expected = {0};
    for (int m = 0; m < MOTIFS; m++) {
        mk_guard guard = no_guard();
        uint64_t starts[EVENTS_MAX];
        int64_t total, alone;
        find_all(events, (mk_motif)m, &expected);
        assert_int_equal(mk_motif_count(events, (mk_motif)m, arena, &guard, starts, &total, NULL), MK_OK);
        assert_int_equal(mk_motif_count(events, (mk_motif)m, arena, &guard, NULL, &alone, NULL), MK_OK);
        if (total != (int64_t)expected.count || alone != total)
            fail_msg("seed %llu, %s: %lld, expected %zu", (unsigned long long)seed, mk_motif_names[m],
                     (long long)total, expected.count);
        assert_memory_equal(starts, expected.starts, events->count * sizeof *starts);
    }
    found_free(&expected);
}

static void test_motif__counts_are_those_of_three_loops(void **state)
{
    (void)state;
    events_room room;
    mk_arena arena;
    uint64_t seed = 1;
    mk_arena_init(&arena, &mk_alloc_default);
    for (int round = 0; round < 1500; round++) {
        const uint64_t began = seed;
        const uint32_t nodes = 2 + (uint32_t)(next_random(&seed) % (round % 5 == 0 ? 30 : 6));
        const uint32_t count = (uint32_t)(next_random(&seed) % 50);
        const uint32_t reach = (uint32_t)(next_random(&seed) % 12);
        const mk_motif_events events = random_events(&seed, count, nodes, reach, &room);
        check_counts(&events, &arena, began);
        mk_arena_reset(&arena);
    }
    mk_arena_free(&arena);
}

/* So many edges between the same nodes that runs are searched and not looked through. */
static void test_motif__long_runs_are_counted_alike(void **state)
{
    (void)state;
    events_room room;
    mk_arena arena;
    uint64_t seed = 2;
    mk_arena_init(&arena, &mk_alloc_default);
    for (uint32_t reach = 2; reach <= 128; reach *= 4) {
        const mk_motif_events events = random_events(&seed, EVENTS_MAX, 3, reach, &room);
        check_counts(&events, &arena, reach);
        mk_arena_reset(&arena);
    }
    mk_arena_free(&arena);
}

static void check_page(const mk_motif_events *events, mk_motif motif, const found *all, mk_arena *arena,
                       uint64_t from, uint64_t to)
{
    mk_guard guard = no_guard();
    mk_motif_instance *rows = mk_arena_get(arena, (to - from) * sizeof *rows);
    assert_non_null(rows);
    assert_int_equal(
        mk_motif_list(events, motif, arena, &guard, all->starts, from, to, rows, NULL), MK_OK);
    if (to > from)
        assert_memory_equal(rows, all->list + from, (to - from) * sizeof *rows);
}

static void test_motif__every_page_is_a_piece_of_the_list(void **state)
{
    (void)state;
    events_room room;
    mk_arena arena;
    found all = {0};
    uint64_t seed = 3;
    mk_arena_init(&arena, &mk_alloc_default);
    for (int round = 0; round < 120; round++) {
        const uint32_t nodes = 2 + (uint32_t)(next_random(&seed) % 6);
        const mk_motif_events events =
            random_events(&seed, 8 + (uint32_t)(next_random(&seed) % 30), nodes, 8, &room);
        const mk_motif motif = (mk_motif)(round % MOTIFS);
        find_all(&events, motif, &all);
        check_page(&events, motif, &all, &arena, 0, all.count);
        for (int page = 0; page < 12 && all.count > 0; page++) {
            const uint64_t from = next_random(&seed) % all.count;
            const uint64_t to = from + next_random(&seed) % (all.count - from + 1);
            check_page(&events, motif, &all, &arena, from, to);
        }
        mk_arena_reset(&arena);
    }
    found_free(&all);
    mk_arena_free(&arena);
}

/* n edges out of one node to n others at one time: n (n - 1) (n - 2) / 6 stars. */
static mk_code count_fan(uint32_t n, int64_t *total, mk_err *err)
{
    mk_arena arena;
    mk_guard guard = no_guard();
    mk_arena_init(&arena, &mk_alloc_default);
    mk_motif_events events = {.count = n, .nodes = n + 1};
    events.src = mk_arena_get0(&arena, n * sizeof *events.src);
    events.dst = mk_arena_get(&arena, n * sizeof *events.dst);
    events.limit = mk_arena_get(&arena, n * sizeof *events.limit);
    for (uint32_t i = 0; i < n; i++) {
        events.dst[i] = i + 1;
        events.limit[i] = n;
    }
    const mk_code rc = mk_motif_count(&events, MK_MOTIF_STAR_OUT_3, &arena, &guard, NULL, total, err);
    mk_arena_free(&arena);
    return rc;
}

static void test_motif__counts_reach_to_the_end_of_64_bits(void **state)
{
    (void)state;
    mk_err err;
    int64_t total;
    assert_int_equal(count_fan(2000000, &total, &err), MK_OK);
    assert_int_equal(total, INT64_C(1333331333334000000));
    assert_int_equal(count_fan(4000000, &total, &err), MK_E_LIMIT);
    assert_non_null(strstr(err.extra, "\"limit\":\"instances\""));
}

static void test_motif__a_call_that_is_no_longer_wanted_ends(void **state)
{
    (void)state;
    static events_room room;
    static mk_motif_instance rows[100000];
    atomic_bool cancelled = true;
    mk_arena arena;
    found all = {0};
    uint64_t seed = 4;
    mk_arena_init(&arena, &mk_alloc_default);
    const mk_motif_events events = random_events(&seed, EVENTS_MAX, 5, 20, &room);
    for (int m = 0; m < MOTIFS; m++) {
        mk_guard guard;
        mk_err err;
        int64_t total;
        for (int work = 0; work < 2; work++) {
            mk_guard_init(&guard, NULL, 0, NULL);
            guard.cancelled = &cancelled;
            guard.countdown = 5;
            find_all(&events, (mk_motif)m, &all);
            assert_in_range(all.count, 6, 100000);
            const mk_code rc =
                work == 0 ? mk_motif_count(&events, (mk_motif)m, &arena, &guard, NULL, &total, &err)
                          : mk_motif_list(&events, (mk_motif)m, &arena, &guard, all.starts, 0, all.count,
                                          rows, &err);
            assert_int_equal(rc, MK_E_CANCELLED);
        }
    }
    found_free(&all);
    mk_arena_free(&arena);
}

/* ---- stores ---- */

typedef struct fixture {
    tmpdir dir;
    mk_store *store;
    mk_arena arena;
    mk_call_result result;
} fixture;

static void must(mk_code rc, const mk_err *err)
{
    if (rc != MK_OK)
        fail_msg("%s: %s", mk_code_name(rc), err->message);
}

static int set_up(void **state)
{
    static fixture f;
    mk_err err;
    char path[TMPDIR_PATH_MAX];
    const mk_store_options options = {.mode = MK_OPEN_CREATE_WRITER, .manual = true};
    tmpdir_make(&f.dir);
    must(mk_store_open(tmpdir_join(&f.dir, "store", path), &options, &f.store, &err), &err);
    mk_arena_init(&f.arena, &mk_alloc_default);
    mk_call_result_init(&f.result, &mk_alloc_default);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    mk_err err;
    mk_call_result_free(&f->result);
    mk_arena_free(&f->arena);
    must(mk_store_close(f->store, &err), &err);
    tmpdir_remove(&f->dir);
    return 0;
}

enum { NODES = 60, BATCH = 120 };

static mk_str uid_of(uint32_t node)
{
    static char uids[NODES][8];
    snprintf(uids[node], sizeof uids[node], "n%u", node);
    return mk_str_of(uids[node]);
}

/* One bulk load. Few times, so that most events are tied; discriminators are the default, so that loads write
 * versions of the same edges (oddity O-24); self-loops occur. */
static void write_events(fixture *f, uint64_t *seed)
{
    mk_event events[BATCH];
    mk_err err;
    for (int i = 0; i < BATCH; i++) {
        const uint32_t src = (uint32_t)(next_random(seed) % 9 * (next_random(seed) % 7) % NODES);
        events[i] = (mk_event){.src = uid_of(src),
                               .dst = uid_of((uint32_t)(next_random(seed) % 9)),
                               .rel_type = MK_STR("R"),
                               .disc_kind = MK_DISC_DEFAULT,
                               .vt_s = 10 + (int64_t)(next_random(seed) % 12)};
    }
    const mk_op op = {.kind = MK_OP_INGEST_EVENTS, .source = MK_STR("ingest"), .provenance_null = true,
                      .events = events, .event_count = BATCH, .node_label = MK_STR("Node")};
    must(mk_store_write(f->store, &op, 1, NULL, NULL, &err), &err);
}

/* Everybody is known, so that a filter of a few is a small part. */
static void write_nodes(fixture *f)
{
    mk_op ops[NODES];
    mk_err err;
    for (uint32_t i = 0; i < NODES; i++)
        ops[i] = (mk_op){.kind = MK_OP_ASSERT_NODE, .uid = uid_of(i), .label = MK_STR("Node"),
                         .props = MK_STR("{}"), .vt_e = 100, .source = MK_STR("ingest"),
                         .provenance_null = true};
    must(mk_store_write(f->store, ops, NODES, NULL, NULL, &err), &err);
}

/* ---- events in order, the plain way ---- */

typedef struct line {
    mk_edge_ref ref;
    char eid[24], vid[24];
} line;

typedef struct plain {
    mk_view *view;
    const mk_motif_args *args;
    line lines[EVENTS_MAX * 2];
    uint32_t count, loops;
} plain;

static bool named(const mk_motif_args *args, uint32_t id)
{
    for (size_t i = 0; i < args->node_count; i++)
        if (args->nodes[i] == id)
            return true;
    return !args->filtered;
}

static bool take_line(void *ctx, const mk_edge_ref *ref)
{
    plain *p = ctx;
    mk_err err;
    if (ref->vt_s < p->args->t_a.us || ref->vt_s >= p->args->t_b.us || !named(p->args, ref->src) ||
        !named(p->args, ref->dst))
        return true;
    if (ref->src == ref->dst) {
        p->loops++;
        return true;
    }
    assert_true(p->count < EVENTS_MAX * 2);
    line *l = &p->lines[p->count++];
    l->ref = *ref;
    must(mk_view_edge_ids(p->view, ref, l->eid, l->vid, &err), &err);
    return true;
}

static int by_order(const void *x, const void *y)
{
    const line *a = x, *b = y;
    if (a->ref.vt_s != b->ref.vt_s)
        return a->ref.vt_s < b->ref.vt_s ? -1 : 1;
    const int c = memcmp(a->eid, b->eid, sizeof a->eid);
    return c != 0 ? c : memcmp(a->vid, b->vid, sizeof a->vid);
}

static void read_plainly(mk_view *view, const mk_motif_args *args, plain *p)
{
    mk_err err;
    p->view = view;
    p->args = args;
    p->count = p->loops = 0;
    must(mk_view_edges(view, &mk_edge_filter_all, take_line, p, &err), &err);
    qsort(p->lines, p->count, sizeof *p->lines, by_order);
}

/* Instances by the definitions, delta included. */
static int64_t count_plainly(const plain *p)
{
    uint32_t src[EVENTS_MAX * 2], dst[EVENTS_MAX * 2];
    int64_t count = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        src[i] = p->lines[i].ref.src;
        dst[i] = p->lines[i].ref.dst;
    }
    for (uint32_t i = 0; i < p->count; i++)
        for (uint32_t j = i + 1; j < p->count; j++)
            for (uint32_t k = j + 1; k < p->count; k++) {
                if (p->lines[k].ref.vt_s - p->lines[i].ref.vt_s > p->args->delta)
                    break;
                count += is_instance(p->args->motif, src, dst, i, j, k);
            }
    return count;
}

static void assert_order(const mk_motif_events *events, const plain *p)
{
    assert_int_equal(events->count, p->count);
    assert_int_equal(events->total, p->count + p->loops);
    for (uint32_t i = 0; i < p->count; i++) {
        const mk_edge_ref ref = mk_motif_edge(events, i), *line_ref = &p->lines[i].ref;
        assert_int_equal(ref.vt_s, line_ref->vt_s);
        assert_int_equal(ref.src, line_ref->src);
        assert_int_equal(ref.dst, line_ref->dst);
        assert_int_equal(ref.part, line_ref->part);
        assert_int_equal(ref.row, line_ref->row);
        const uint32_t limit = events->limit[i];
        assert_true(ref.vt_s + p->args->delta >= events->vt_s[limit - 1]);
        assert_true(limit == p->count || ref.vt_s + p->args->delta < events->vt_s[limit]);
    }
}

/* One random question, by all motifs. */
static void check_view(fixture *f, mk_view *view, uint64_t *seed)
{
    static plain p;
    uint32_t nodes[20];
    mk_err err;
    mk_guard guard = no_guard();
    const int64_t t_a = (int64_t)(next_random(seed) % 12);
    mk_motif_args args = {.delta = 1 + (int64_t)(next_random(seed) % 4),
                          .t_a = {t_a},
                          .t_b = {t_a + 1 + (int64_t)(next_random(seed) % 30)},
                          .filtered = next_random(seed) % 4 != 0,
                          .nodes = nodes};
    /* Up to a fifth of all: by their lists; more: from the stream. Some are named twice. */
    args.node_count = args.filtered ? next_random(seed) % (next_random(seed) % 2 ? 8 : 20) : 0;
    for (size_t i = 0; i < args.node_count; i++)
        nodes[i] = mk_view_entity(view, uid_of((uint32_t)(next_random(seed) % 12)));
    for (int m = 0; m < MOTIFS; m++) {
        mk_motif_events events;
        mk_motif_counts counts;
        mk_motif_rows rows;
        const mk_page page = {.limit = 3};
        args.motif = (mk_motif)m;
        read_plainly(view, &args, &p);
        must(mk_motif_gather(view, &f->arena, &args, true, &guard, &events, &err), &err);
        assert_order(&events, &p);
        const int64_t expected = count_plainly(&p);
        must(mk_motifs_count(view, &f->arena, &args, &guard, &counts, &err), &err);
        must(mk_motifs_find(view, &f->arena, &args, &page, &guard, &rows, &err), &err);
        assert_int_equal(counts.count, expected);
        assert_int_equal(counts.events, p.count + p.loops);
        assert_int_equal(rows.span.total, expected);
        mk_arena_reset(&f->arena);
    }
}

static void test_motif__tied_events_stand_in_the_order_of_their_ids(void **state)
{
    fixture *f = *state;
    mk_err err;
    uint64_t seed = 5;
    write_nodes(f);
    for (int batch = 0; batch < 4; batch++) {
        mk_view *view;
        write_events(f, &seed);
        must(mk_view_at(f->store, (mk_tt){MK_OPEN_END}, 0, &view, &err), &err);
        for (int question = 0; question < 12; question++)
            check_view(f, view, &seed);
        mk_view_close(view);
        /* The next batch lies in the tail beside a segment. */
        must(mk_store_checkpoint(f->store, &err), &err);
    }
}

static mk_code write_batch(void *ctx, const mk_op *ops, size_t count, mk_tt tt, mk_err *err)
{
    (void)tt;
    return mk_store_write(ctx, ops, count, NULL, NULL, err);
}

static void load_registry(fixture *f, uint64_t events)
{
    mk_err err;
    mk_synth_report report;
    mk_synth_options options = mk_synth_defaults(MK_SYNTH_REGISTRY);
    options.events = events;
    mk_synth_report_init(&report, &mk_alloc_default);
    must(mk_synth_run(&options, write_batch, f->store, &report, &err), &err);
    mk_synth_report_free(&report);
}

/* Evaluation spec, 20.1 and 21, `motif.filtered`: n0 to n199 are all of the nodes. */
static void test_motif__the_evaluations_count_is_found(void **state)
{
    fixture *f = *state;
    mk_err err;
    mk_view *view;
    uint32_t nodes[200];
    mk_guard guard = no_guard();
    mk_motif_counts counts;
    mk_motif_args args = {.motif = MK_MOTIF_TRIANGLE_CYCLIC, .delta = 400, .t_b = {20000},
                          .filtered = true, .nodes = nodes, .node_count = 200};
    load_registry(f, 20000);
    must(mk_view_at(f->store, (mk_tt){MK_OPEN_END}, 0, &view, &err), &err);
    for (int i = 0; i < 200; i++) {
        char uid[16];
        snprintf(uid, sizeof uid, "n%d", i);
        nodes[i] = mk_view_entity(view, mk_str_of(uid));
    }
    must(mk_motifs_count(view, &f->arena, &args, &guard, &counts, &err), &err);
    assert_int_equal(counts.count, 427);
    args.filtered = false;
    must(mk_motifs_count(view, &f->arena, &args, &guard, &counts, &err), &err);
    assert_int_equal(counts.count, 427);
    mk_view_close(view);
}

/* ---- calls ---- */

static mk_code call(fixture *f, const char *op, const char *args, size_t row_budget, mk_err *err)
{
    const mk_call_options options = {.row_budget = row_budget};
    return mk_call_run(f->store, NULL, mk_str_of(op), mk_str_of(args), &options, &f->arena, &f->result, err);
}

static void assert_says(const mk_buf *text, const char *part)
{
    mk_buf copy;
    mk_buf_init(&copy, &mk_alloc_default);
    mk_buf_str(&copy, mk_buf_view(text));
    mk_buf_c(&copy, '\0');
    const bool found_it = strstr(copy.p, part) != NULL;
    if (!found_it)
        print_error("no %s in %s\n", part, copy.p);
    mk_buf_free(&copy);
    assert_true(found_it);
}

#define WINDOW "\"window\":{\"t_a\":0,\"t_b\":100}"
#define COUNT "count_temporal_motifs"
#define FIND "find_temporal_motif_instances"

static void test_motif__arguments_are_refused_alike(void **state)
{
    fixture *f = *state;
    static const struct {
        const char *args;
        mk_code code;
    } cases[] = {
        {"{\"delta\":5," WINDOW "}", MK_E_SCHEMA}, /* oddity O-6 */
        {"{\"motif\":\"M_path_3\"," WINDOW "}", MK_E_SCHEMA},
        {"{\"delta\":5,\"motif\":\"M_path_3\"}", MK_E_SCHEMA},
        {"{\"delta\":0,\"motif\":\"M_path_3\"," WINDOW "}", MK_E_SCHEMA},
        {"{\"delta\":5,\"motif\":\"M_path_4\"," WINDOW "}", MK_E_SCHEMA},
        {"{\"delta\":5,\"motif\":\"M_path_3\",\"mode\":\"fast\"," WINDOW "}", MK_E_SCHEMA},
        {"{\"delta\":5,\"motif\":\"M_path_3\",\"mode\":\"sample\"," WINDOW "}", MK_E_INVALID_ARG},
        {"{\"delta\":5,\"motif\":\"M_path_3\",\"window\":{\"t_a\":9,\"t_b\":9}}", MK_E_INVALID_ARG},
        {"{\"delta\":5,\"motif\":\"M_path_3\",\"node_filter\":[\"n0\",\"nobody\"]," WINDOW "}",
         MK_E_NOT_FOUND},
        {"{\"delta\":5.0,\"motif\":\"M_path_3\",\"mode\":\"exact\",\"seed\":7," WINDOW "}", MK_OK},
        {"{\"delta\":99999999999999999999,\"motif\":\"M_path_3\",\"seed\":null," WINDOW "}", MK_OK},
        {"{\"delta\":5,\"motif\":\"M_path_3\",\"node_filter\":[]," WINDOW "}", MK_OK},
    };
    uint64_t seed = 6;
    write_nodes(f);
    write_events(f, &seed);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mk_err err = {0};
        for (int op = 0; op < 2; op++) {
            if (call(f, op ? FIND : COUNT, cases[i].args, 0, &err) != cases[i].code)
                fail_msg("%s: %s", cases[i].args, err.message);
        }
        if (cases[i].code == MK_E_NOT_FOUND)
            assert_non_null(strstr(err.extra, "\"path\":[\"node_filter\",1]"));
    }
    assert_says(&f->result.payload.text,
                "{\"cursor\":null,\"rows\":[],\"rows_total\":0,\"truncated\":false}");
}

static void test_motif__a_page_says_what_it_leaves_out(void **state)
{
    fixture *f = *state;
    mk_err err;
    uint64_t seed = 7;
    const char *args =
        "{\"cursor\":\"2\",\"delta\":9,\"limit\":5,\"motif\":\"M_star_out_3\"," WINDOW "}";
    write_events(f, &seed);
    must(call(f, FIND, args, 0, &err), &err);
    assert_says(&f->result.payload.text, "{\"cursor\":\"7\",\"rows\":[{\"edges\":[{\"dst\":");
    assert_says(&f->result.completeness, "{\"rows\":[{\"reason\":\"offset\",\"shown\":5,");
    assert_says(&f->result.completeness, "{\"reason\":\"page\",\"shown\":5,");
    args = "{\"delta\":9,\"motif\":\"M_star_out_3\"," WINDOW "}";
    assert_int_equal(call(f, FIND, args, 3, &err), MK_E_LIMIT);
    must(call(f, FIND, args, 10000000, &err), &err);
    assert_says(&f->result.payload.text, "\"truncated\":false}");
    assert_int_equal(f->result.completeness.n, 2);
}

static void test_motif__memory_that_runs_out_is_an_error(void **state)
{
    fixture *f = *state;
    uint64_t seed = 8;
    write_nodes(f);
    write_events(f, &seed);
    for (int which = 0; which < 4; which++) {
        static const char *const args[2] = {
            "{\"delta\":2,\"motif\":\"M_path_3\"," WINDOW "}",
            "{\"delta\":2,\"motif\":\"M_triangle_acyclic_1\"," WINDOW
            ",\"node_filter\":[\"n0\",\"n1\",\"n2\",\"n3\"]}"};
        mk_code rc = MK_E_NOMEM;
        for (uint64_t n = 1; rc != MK_OK; n++) {
            testalloc ta;
            mk_arena arena;
            mk_call_result result;
            mk_err err;
            testalloc_init(&ta);
            mk_arena_init(&arena, &ta.hook);
            mk_call_result_init(&result, &ta.hook);
            testalloc_fail(&ta, n, true);
            rc = mk_call_run(f->store, NULL, mk_str_of(which & 1 ? FIND : COUNT),
                             mk_str_of(args[which / 2]), NULL, &arena, &result, &err);
            assert_true(rc == MK_OK || rc == MK_E_NOMEM);
            mk_call_result_free(&result);
            mk_arena_free(&arena);
            assert_true(testalloc_is_clean(&ta));
            testalloc_free(&ta);
        }
    }
}

/* A budget of memory that grows: refused until it is enough, and then the answer is whole. */
static void test_motif__the_memory_budget_is_kept(void **state)
{
    fixture *f = *state;
    uint64_t seed = 9;
    int refused = 0;
    for (int batch = 0; batch < 10; batch++)
        write_events(f, &seed);
    for (size_t limit = 20000;; limit += limit / 2) {
        mk_arena arena;
        mk_err err;
        mk_arena_init(&arena, &mk_alloc_default);
        arena.limit = limit;
        const mk_code rc = mk_call_run(f->store, NULL, MK_STR(FIND),
                                       MK_STR("{\"delta\":2,\"motif\":\"M_path_3\"," WINDOW "}"),
                                       NULL, &arena, &f->result, &err);
        assert_true(arena.total <= limit);
        mk_arena_free(&arena);
        if (rc == MK_OK)
            break;
        assert_int_equal(rc, MK_E_LIMIT);
        assert_non_null(strstr(err.extra, "\"limit\":\"memory\""));
        refused++;
    }
    assert_true(refused > 0);
}

/* ---- cost ---- */

static mk_cost cost_of(const char *args, mk_view_stats stats)
{
    mk_arena arena;
    mk_json *tree;
    mk_cost cost;
    mk_arena_init(&arena, &mk_alloc_default);
    assert_int_equal(mk_json_parse(&arena, mk_str_of(args), NULL, &tree, NULL), MK_OK);
    const mk_cost_input in = {.args = tree, .stats = stats, .scale = 3.0};
    mk_motif_cost(&in, &cost);
    mk_arena_free(&arena);
    return cost;
}

static void assert_cost(mk_cost cost, int64_t rows, int64_t expansions, int64_t ms)
{
    assert_int_equal(cost.rows_scanned_est, rows);
    assert_int_equal(cost.expansions_est, expansions);
    assert_int_equal(cost.time_est_ms, ms);
}

#define ALL_TIME "\"window\":{\"t_a\":0,\"t_b\":3000000}"

/* Numbers worked out by hand from operators spec, 5.6; the first is published in evaluation spec, 19. The
 * deployment's scale does not count. */
static void test_motif__costs_are_counted_in_pairs(void **state)
{
    (void)state;
    const mk_view_stats stats = {.entities = 10000, .edge_versions = 1000000, .has_extent = true,
                                 .vt_max = 3000000};
    const mk_view_stats empty = {0};
    assert_cost(cost_of("{\"delta\":100000,\"window\":{\"t_a\":0,\"t_b\":300000}}", stats), 1000000,
                1666666666, 554);
    /* 201 events. */
    assert_cost(cost_of("{\"delta\":60000,\"node_filter\":[\"a\",\"a\"]," ALL_TIME "}", stats), 1000000, 404,
                55);
    /* An empty filter is priced like none (oddity O-26). */
    assert_cost(cost_of("{\"delta\":60000,\"node_filter\":[]," ALL_TIME "}", stats), 1000000,
                10000000000, 3055);
    assert_cost(cost_of("{\"delta\":9000000," ALL_TIME "}", stats), 1000000, 500000000000, 150055);
    assert_cost(cost_of("{\"delta\":1,\"window\":{\"t_a\":5000000,\"t_b\":6000000}}", stats), 1000000,
                0, 55);
    assert_cost(cost_of("{\"delta\":1,\"node_filter\":[\"a\"]," ALL_TIME "}", empty), 0, 0, 0);
}

static void test_motif__an_estimate_ends_at_two_to_the_forty(void **state)
{
    (void)state;
    const mk_view_stats stats = {.entities = 1, .edge_versions = 4000000000, .has_extent = true,
                                 .vt_max = 10};
    assert_cost(cost_of("{\"delta\":10,\"window\":{\"t_a\":0,\"t_b\":10}}", stats), 4000000000,
                INT64_C(1) << 40, 549853);
}

#define ON_A_STORE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_motif__counts_are_those_of_three_loops),
        cmocka_unit_test(test_motif__long_runs_are_counted_alike),
        cmocka_unit_test(test_motif__every_page_is_a_piece_of_the_list),
        cmocka_unit_test(test_motif__counts_reach_to_the_end_of_64_bits),
        cmocka_unit_test(test_motif__a_call_that_is_no_longer_wanted_ends),
        ON_A_STORE(test_motif__tied_events_stand_in_the_order_of_their_ids),
        ON_A_STORE(test_motif__the_evaluations_count_is_found),
        ON_A_STORE(test_motif__arguments_are_refused_alike),
        ON_A_STORE(test_motif__a_page_says_what_it_leaves_out),
        ON_A_STORE(test_motif__memory_that_runs_out_is_an_error),
        ON_A_STORE(test_motif__the_memory_budget_is_kept),
        cmocka_unit_test(test_motif__costs_are_counted_in_pairs),
        cmocka_unit_test(test_motif__an_estimate_ends_at_two_to_the_forty),
    };
    return cmocka_run_group_tests_name("motif", tests, NULL, NULL);
}

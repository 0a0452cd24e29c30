/* Random histories on the store and on the slow model: what one believes, the other does.
 *
 * Every round makes batches from a seed, gives each to both, and compares success, error code, digest,
 * statistics and the answers of three operators at past beliefs. Sealing, merging, checkpoints and
 * reopening happen at random in between and must change nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../support/twin.h"

static void compare_digest(twin *w, const char *when)
{
    char ours[65], theirs[65];
    mk_err err;
    if (mk_store_digest(w->store, ours, NULL, NULL, &err) != MK_OK)
        fail_msg("seed %llu: digest %s: %s", (unsigned long long)w->seed, when, err.message);
    model_digest(w->model, theirs);
    if (strcmp(ours, theirs) != 0)
        fail_msg("MK_SEED=%llu: digests differ %s at tt %lld", (unsigned long long)w->seed, when,
                 (long long)w->tt);
}

static void compare_stats(twin *w)
{
    mk_view *view;
    mk_view_stats ours;
    const model_stats theirs = model_stats_of(w->model);
    assert_int_equal(mk_view_at(w->store, (mk_tt){MK_OPEN_END}, 0, &view, NULL), MK_OK);
    mk_view_get_stats(view, &ours);
    mk_view_close(view);
    assert_int_equal(ours.entities, theirs.n_entities);
    assert_int_equal(ours.node_versions, theirs.n_node_versions);
    assert_int_equal(ours.edge_versions, theirs.n_edge_versions);
    assert_int_equal(ours.max_out_degree, theirs.max_out_degree);
    assert_int_equal(ours.has_extent, theirs.has_vt_max);
    if (ours.has_extent) {
        assert_int_equal(ours.vt_min, theirs.vt_min);
        assert_int_equal(ours.vt_max, theirs.vt_max);
    }
}

static void compare_history(twin *w, mk_view *view, mk_arena *arena, mk_str uid, int64_t as_of)
{
    mk_node_ref *refs;
    size_t count;
    const model_list expected = model_believed(w->model, arena, MODEL_NODE, &uid, as_of);
    const uint32_t id = mk_view_entity(view, uid);
    if (id == MK_NO_ID) {
        assert_false(model_knows(w->model, uid));
        return;
    }
    assert_int_equal(mk_view_node_refs(view, arena, id, &refs, &count, NULL), MK_OK);
    if (count != expected.n)
        fail_msg("MK_SEED=%llu: %zu versions of %.*s as of %lld, not %zu", (unsigned long long)w->seed,
                 count, MK_STR_ARG(uid), (long long)as_of, expected.n);
    for (size_t i = 0; i < count; i++) {
        mk_node_version v;
        assert_int_equal(mk_view_node_version(view, arena, &refs[i], &v, NULL), MK_OK);
        assert_true(mk_str_eq((mk_str){v.vid, 24}, expected.rows[i]->vid));
        assert_true(mk_str_eq(v.props, expected.rows[i]->props));
        assert_true(mk_str_eq(mk_view_name(view, v.label), expected.rows[i]->label));
        assert_int_equal(v.vt_e, expected.rows[i]->vt_e);
        assert_true(mk_str_eq(v.source, expected.rows[i]->source));
        assert_int_equal(v.provenance_null, expected.rows[i]->provenance_null);
    }
}

typedef struct edge_list {
    mk_edge_ref refs[4096];
    size_t count;
} edge_list;

static bool add_edge(void *ctx, const mk_edge_ref *ref)
{
    edge_list *list = ctx;
    assert_true(list->count < 4096);
    list->refs[list->count++] = *ref;
    return true;
}

static void compare_edge_lists(twin *w, mk_view *view, edge_list *list, model_list expected,
                               int64_t as_of)
{
    if (list->count != expected.n)
        fail_msg("MK_SEED=%llu: %zu edges as of %lld, not %zu", (unsigned long long)w->seed,
                 list->count, (long long)as_of, expected.n);
    assert_int_equal(mk_view_sort_edges(view, list->refs, list->count, NULL), MK_OK);
    for (size_t i = 0; i < list->count; i++) {
        char eid[24], vid[24];
        assert_int_equal(mk_view_edge_ids(view, &list->refs[i], eid, vid, NULL), MK_OK);
        assert_true(mk_str_eq((mk_str){eid, 24}, expected.rows[i]->identity));
        assert_true(mk_str_eq((mk_str){vid, 24}, expected.rows[i]->vid));
    }
}

/* ---- filters, streams and counts ---- */

static bool matches(const mk_edge_filter *filter, const model_row *row)
{
    switch (filter->match) {
    case MK_MATCH_OVERLAPS: return row->vt_s < filter->vt_hi && row->vt_e > filter->vt_lo;
    case MK_MATCH_STARTS: return row->vt_s >= filter->vt_lo && row->vt_s < filter->vt_hi;
    default: return row->vt_e >= filter->vt_lo && row->vt_e < filter->vt_hi;
    }
}

static bool has_side(const mk_edge_filter *filter, const model_row *row, mk_str uid)
{
    const unsigned sides = filter->sides ? filter->sides : MK_SIDE_OUT | MK_SIDE_IN;
    return ((sides & MK_SIDE_OUT) && mk_str_eq(row->src, uid)) ||
           ((sides & MK_SIDE_IN) && mk_str_eq(row->dst, uid));
}

/* What a stream gives, and that it gives it in the order it promised. */
static void drain(mk_view *view, mk_arena *arena, const mk_edge_filter *filter, bool in_time,
                  edge_list *list)
{
    mk_edge_stream *stream;
    const mk_edge_block *block;
    int64_t before = INT64_MIN;
    list->count = 0;
    assert_int_equal(mk_view_stream(view, arena, filter, in_time, &stream, NULL), MK_OK);
    for (;;) {
        assert_int_equal(mk_edge_stream_next(stream, &block, NULL), MK_OK);
        if (block == NULL)
            return;
        assert_in_range(block->count, 1, MK_EDGE_BLOCK);
        for (uint32_t i = 0; i < block->count; i++) {
            const mk_edge_ref ref = mk_edge_block_ref(block, i);
            assert_true(!in_time || ref.vt_s >= before);
            before = ref.vt_s;
            add_edge(list, &ref);
        }
    }
}

/* Streams of the edges out of some entities, of those in `part`, which pass the filter. */
static void compare_srcs(twin *w, mk_view *view, mk_arena *arena, mk_edge_filter filter, model_list part,
                         int64_t as_of, edge_list *list)
{
    genops *gen = &w->gen;
    const int uids = gen->options.uid_count, percent = (int)genops_below(gen, 101);
    uint32_t *ids = mk_arena_get(arena, (size_t)uids * sizeof *ids);
    model_list out = {mk_arena_get(arena, (part.n + 1) * sizeof *part.rows), 0};
    filter.srcs = ids;
    for (int k = uids; k-- > 0;) {
        const uint32_t id = mk_view_entity(view, genops_uid(gen, k));
        if (id != MK_NO_ID && genops_chance(gen, percent))
            ids[filter.src_count++] = id;
    }
    for (size_t i = 0; i < part.n; i++) {
        const uint32_t src = mk_view_entity(view, part.rows[i]->src);
        bool wanted = false;
        for (size_t k = 0; k < filter.src_count; k++)
            wanted |= ids[k] == src;
        if (wanted)
            out.rows[out.n++] = part.rows[i];
    }
    for (int in_time = 0; in_time < 2; in_time++) {
        drain(view, arena, &filter, in_time, list);
        compare_edge_lists(w, view, list, out, as_of);
    }
}

static void compare_filtered(twin *w, mk_view *view, model_list all, int64_t as_of, edge_list *list)
{
    genops *gen = &w->gen;
    mk_arena arena;
    const mk_str uid = genops_uid(gen, (int)genops_below(gen, (uint64_t)gen->options.uid_count));
    const uint32_t id = mk_view_entity(view, uid);
    const uint32_t rel = all.n ? mk_view_name_code(view, all.rows[genops_below(gen, all.n)]->rel_type) : 0;
    const int64_t lo = (int64_t)genops_below(gen, 60), hi = lo + 1 + (int64_t)genops_below(gen, 20);
    const mk_edge_filter filter = {.vt_lo = genops_chance(gen, 20) ? INT64_MIN : lo,
                                   .vt_hi = genops_chance(gen, 20) ? INT64_MAX : hi,
                                   .rel_types = genops_chance(gen, 50) ? &rel : NULL,
                                   .rel_type_count = genops_chance(gen, 95),
                                   .match = (mk_match)genops_below(gen, 3),
                                   .sides = (unsigned)genops_below(gen, 4)};
    mk_arena_init(&arena, &mk_alloc_default);
    model_list part = {mk_arena_get(&arena, (all.n + 1) * sizeof *all.rows), 0};
    model_list of = {mk_arena_get(&arena, (all.n + 1) * sizeof *all.rows), 0};
    for (size_t i = 0; i < all.n; i++) {
        if (!matches(&filter, all.rows[i]) ||
            (filter.rel_types != NULL &&
             (filter.rel_type_count == 0 ||
              !mk_str_eq(all.rows[i]->rel_type, mk_view_name(view, rel)))))
            continue;
        part.rows[part.n++] = all.rows[i];
        if (has_side(&filter, all.rows[i], uid))
            of.rows[of.n++] = all.rows[i];
    }
    for (int in_time = 0; in_time < 2; in_time++) {
        drain(view, &arena, &filter, in_time, list);
        compare_edge_lists(w, view, list, part, as_of);
    }
    compare_srcs(w, view, &arena, filter, part, as_of, list);
    list->count = 0;
    if (id != MK_NO_ID) {
        assert_int_equal(mk_view_edges_of(view, id, &filter, add_edge, list, NULL), MK_OK);
        compare_edge_lists(w, view, list, of, as_of);
    }
    mk_arena_free(&arena);
}

static void compare_counts(twin *w, mk_view *view, model_list all)
{
    int64_t bounds[12];
    uint64_t counts[12];
    for (size_t i = 0; i < 12; i++)
        bounds[i] = (int64_t)i * 6 - 2 + (int64_t)genops_below(&w->gen, 6);
    bounds[11] = genops_chance(&w->gen, 50) ? MK_OPEN_END : 100;
    for (int ends = 0; ends < 2; ends++) {
        assert_int_equal(mk_view_count_before(view, ends, bounds, 12, counts, NULL), MK_OK);
        for (size_t i = 0; i < 12; i++) {
            uint64_t expected = 0;
            for (size_t k = 0; k < all.n; k++)
                expected += ends ? all.rows[k]->vt_e <= bounds[i] : all.rows[k]->vt_s < bounds[i];
            if (counts[i] != expected)
                fail_msg("MK_SEED=%llu: %llu %s before %lld, not %llu", (unsigned long long)w->seed,
                         (unsigned long long)counts[i], ends ? "ends" : "starts",
                         (long long)bounds[i], (unsigned long long)expected);
        }
    }
}

static void compare_edges(twin *w, mk_view *view, mk_arena *arena, int64_t as_of)
{
    static edge_list list;
    const model_list all = model_believed(w->model, arena, MODEL_EDGE, NULL, as_of);
    list.count = 0;
    assert_int_equal(mk_view_edges(view, &mk_edge_filter_all, add_edge, &list, NULL), MK_OK);
    compare_edge_lists(w, view, &list, all, as_of);
    compare_filtered(w, view, all, as_of, &list);
    compare_counts(w, view, all);
}

static void compare_at(twin *w, int64_t as_of)
{
    mk_view *view;
    mk_arena arena;
    mk_arena_init(&arena, &mk_alloc_default);
    assert_int_equal(mk_view_at(w->store, (mk_tt){as_of}, 0, &view, NULL), MK_OK);
    for (int i = 0; i < w->gen.options.uid_count; i++)
        compare_history(w, view, &arena, genops_uid(&w->gen, i), as_of);
    compare_edges(w, view, &arena, as_of);
    mk_view_close(view);
    mk_arena_free(&arena);
}

/* Beliefs of one identity never overlap in valid time, at any transaction time, unless bulk events were
 * loaded, which carve nothing (invariant I1). The store was just found equal to the model. */
static void check_disjoint(const twin *w)
{
    mk_str identity;
    if (w->gen.options.ingest_percent == 0 && !model_is_disjoint(w->model, &identity))
        fail_msg("MK_SEED=%llu: beliefs of %.*s overlap", (unsigned long long)w->seed,
                 MK_STR_ARG(identity));
    assert_true(model_times_are_real(w->model));
}

static void run_history(uint64_t seed, int batches)
{
    twin w;
    genops_options options = genops_default;
    options.malformed_percent = seed % 3 == 0 ? 2 : 0;
    options.ingest_percent = seed % 4 == 0 ? 40 : seed % 4 == 1 ? 0 : 10;
    options.uid_count = 4 + (int)(seed % 6);
    if (seed % 5 == 0)
        options.vt_max = 8;
    twin_open(&w, seed, &options, seed % 2 ? 7 : 40);
    for (int i = 0; i < batches; i++) {
        twin_step(&w);
        if (genops_chance(&w.gen, 20))
            twin_upset(&w);
        if (i % 7 == 0) {
            compare_digest(&w, "after a batch");
            compare_stats(&w);
            compare_at(&w, 1 + (int64_t)genops_below(&w.gen, (uint64_t)w.tt));
            compare_at(&w, MK_OPEN_END);
        }
    }
    assert_int_equal(mk_store_replay_flush(w.store, NULL), MK_OK);
    twin_close_store(&w);
    twin_open_store(&w);
    compare_digest(&w, "after reopening");
    check_disjoint(&w);
    for (int64_t as_of = 0; as_of <= w.tt; as_of += batches > 10 ? 3 : 1)
        compare_at(&w, as_of);
    twin_close(&w);
}

static void test_store__believes_what_the_model_believes(void **state)
{
    (void)state;
    const char *only = getenv("MK_SEED");
    const char *rounds = getenv("MK_ROUNDS");
    if (only != NULL) {
        run_history(strtoull(only, NULL, 10), 60);
        return;
    }
    const uint64_t count = rounds ? strtoull(rounds, NULL, 10) : 60;
    for (uint64_t seed = 1; seed <= count; seed++)
        run_history(seed, 60);
}

/* Many short histories find what long ones bury: every belief of each is compared. */
static void test_store__thousands_of_short_histories_agree(void **state)
{
    (void)state;
    for (uint64_t seed = 1000; seed < 3000 && getenv("MK_SEED") == NULL; seed++)
        run_history(seed, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_store__believes_what_the_model_believes),
        cmocka_unit_test(test_store__thousands_of_short_histories_agree),
    };
    return cmocka_run_group_tests_name("store_model", tests, NULL, NULL);
}

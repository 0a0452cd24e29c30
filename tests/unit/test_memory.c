/* test_memory.c — notes hold what operators say, and stand exactly as long as that does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../support/testalloc.h"
#include "../support/tmpdir.h"
#include "agent/memory.h"
#include "agent/note_text.h"
#include "base/json.h"
#include "op/call.h"

#define WEEK MK_MEMORY_STRIDE_US
#define DAY (INT64_C(86400) * 1000000)

/* ---- a world ---- */

typedef struct world {
    tmpdir dir;
    mk_store *store;
    mk_arena arena;
    mk_memory_built built;
    mk_note *notes;
    size_t count;
} world;

static void enter(world *w)
{
    const mk_store_options options = {.mode = MK_OPEN_CREATE_WRITER, .manual = true};
    *w = (world){0};
    tmpdir_make(&w->dir);
    assert_int_equal(mk_store_open(w->dir.path, &options, &w->store, NULL), MK_OK);
    mk_arena_init(&w->arena, &mk_alloc_default);
}

static void leave(world *w)
{
    mk_arena_free(&w->arena);
    assert_int_equal(mk_store_close(w->store, NULL), MK_OK);
    tmpdir_remove(&w->dir);
}

static mk_code write_op(world *w, mk_op op)
{
    op.source = MK_STR("test");
    op.provenance_null = true;
    if (op.props.n == 0)
        op.props = MK_STR("{}");
    return mk_store_write(w->store, &op, 1, NULL, NULL, NULL);
}

static void node(world *w, const char *uid, int64_t vt_s, int64_t vt_e)
{
    assert_int_equal(write_op(w, (mk_op){.kind = MK_OP_ASSERT_NODE, .uid = mk_str_of(uid),
                                         .label = MK_STR("N"),
                                         .vt_s = vt_s, .vt_e = vt_e}),
                     MK_OK);
}

static void event(world *w, const char *src, const char *dst, int64_t t, const char *disc)
{
    assert_int_equal(write_op(w, (mk_op){.kind = MK_OP_ASSERT_EDGE, .src = mk_str_of(src),
                                         .dst = mk_str_of(dst),
                                         .rel_type = MK_STR("R"), .disc = mk_str_of(disc), .vt_s = t,
                                         .vt_e = t + 1}),
                     MK_OK);
}

/* Three weeks from the grid's week 100 on: an event a day, more on one day of the middle one. */
static void fill(world *w)
{
    node(w, "a", 100 * WEEK, MK_OPEN_END);
    node(w, "b", 101 * WEEK + 5, MK_OPEN_END);
    node(w, "c", 100 * WEEK, 100 * WEEK + DAY);
    for (int64_t day = 0; day < 21; day++)
        event(w, "a", "b", 100 * WEEK + day * DAY + 7, "");
    for (int i = 0; i < 9; i++) {
        char disc[16];
        snprintf(disc, sizeof disc, "%d", i);
        event(w, "b", "a", 101 * WEEK + 3 * DAY + 100 + i, disc);
    }
}

static void build(world *w, mk_model *model)
{
    mk_err err;
    const mk_memory_build_options options = {.model = model};
    if (mk_memory_build(w->store, &options, &w->arena, &w->built, &err) != MK_OK)
        fail_msg("%s", err.message);
}

static void list_at(world *w, int64_t tt)
{
    assert_int_equal(mk_memory_list(w->store, (mk_tt){tt}, INT64_MIN, INT64_MAX, &w->arena, &w->notes,
                                    &w->count,
                                    NULL),
                     MK_OK);
}
static void list(world *w) { list_at(w, MK_OPEN_END); }

/* Which notes are stale, as digits: "010". */
static void assert_stale(world *w, const char *wanted)
{
    char seen[64] = "";
    list(w);
    assert_true(w->count < sizeof seen);
    for (size_t i = 0; i < w->count; i++)
        seen[i] = w->notes[i].stale ? '1' : '0';
    assert_string_equal(seen, wanted);
}

static int64_t fact(world *w, const mk_note *note, const char *name)
{
    mk_json *tree;
    assert_int_equal(mk_json_parse(&w->arena, note->facts, NULL, &tree, NULL), MK_OK);
    return mk_json_get(tree, name)->i;
}

/* ---- facts ---- */

static void test_memory__facts_are_what_operators_say(void **state)
{
    (void)state;
    world w;
    enter(&w);
    fill(&w);
    build(&w, NULL);
    assert_int_equal(w.built.windows, 3);
    assert_int_equal(w.built.written, 3);
    assert_stale(&w, "000");
    for (size_t i = 0; i < 3; i++) {
        const mk_note *note = &w.notes[i];
        assert_int_equal(note->t_a, (100 + (int64_t)i) * WEEK);
        assert_int_equal(note->t_b, note->t_a + WEEK);
        assert_int_equal(fact(&w, note, "n_events"), i == 1 ? 16 : 7);
        assert_true(note->written_tt > note->as_of_tt);
    }
    assert_int_equal(fact(&w, &w.notes[0], "n_new_nodes"), 2);
    assert_int_equal(fact(&w, &w.notes[1], "n_new_nodes"), 1);
    assert_int_equal(fact(&w, &w.notes[2], "n_new_nodes"), 0);
    assert_int_equal(fact(&w, &w.notes[1], "n_burst_buckets"), 1);
    assert_non_null(memmem(w.notes[1].facts.p, w.notes[1].facts.n, "\"value\":10.0", 12));
    leave(&w);
}

static void test_memory__every_number_of_a_text_is_a_fact(void **state)
{
    (void)state;
    world w;
    char why[160];
    enter(&w);
    fill(&w);
    build(&w, NULL);
    list(&w);
    for (size_t i = 0; i < w.count; i++) {
        mk_json *facts;
        assert_int_equal(mk_json_parse(&w.arena, w.notes[i].facts, NULL, &facts, NULL), MK_OK);
        assert_true(mk_note_text_accept(w.notes[i].text, facts, MK_MEMORY_WORDS_MAX, why, sizeof why));
    }
    leave(&w);
}

static void test_memory__an_empty_store_has_no_windows_and_too_many_are_refused(void **state)
{
    (void)state;
    world w;
    mk_err err;
    const mk_memory_build_options options = {0};
    enter(&w);
    build(&w, NULL);
    assert_int_equal(w.built.windows, 0);
    event(&w, "a", "b", 1, "");
    event(&w, "a", "b", 5000 * WEEK, "");
    assert_int_equal(mk_memory_build(w.store, &options, &w.arena, &w.built, &err), MK_E_LIMIT);
    assert_non_null(strstr(err.hint, "build from 0 to 1209600000000000 first"));
    assert_int_equal(mk_memory_build(w.store, &(mk_memory_build_options){.from = 4999 * WEEK,
                                                                         .to = 5001 * WEEK},
                                     &w.arena, &w.built, NULL),
                     MK_OK);
    assert_int_equal(w.built.windows, 2);
    leave(&w);
}

/* ---- how long a note stands ---- */

static void test_memory__a_second_build_writes_nothing(void **state)
{
    (void)state;
    world w;
    enter(&w);
    fill(&w);
    build(&w, NULL);
    const uint32_t batches = mk_store_batches(w.store);
    build(&w, NULL);
    assert_int_equal(w.built.windows, 3);
    assert_int_equal(w.built.written, 0);
    assert_int_equal(mk_store_batches(w.store), batches);
    leave(&w);
}

static void test_memory__a_correction_quarantines_its_window_and_a_build_renews_it(void **state)
{
    (void)state;
    world w;
    enter(&w);
    fill(&w);
    build(&w, NULL);
    list(&w);
    const int64_t before = w.notes[1].as_of_tt;
    assert_int_equal(write_op(&w, (mk_op){.kind = MK_OP_CORRECT, .src = MK_STR("b"), .dst = MK_STR("a"),
                                          .rel_type = MK_STR("R"), .disc = MK_STR("3"),
                                          .props = MK_STR("{\"w\":1}"), .vt_s = 101 * WEEK + 3 * DAY + 103,
                                          .vt_e = 101 * WEEK + 3 * DAY + 104}),
                     MK_OK);
    assert_stale(&w, "010");
    build(&w, NULL);
    assert_int_equal(w.built.written, 1);
    assert_stale(&w, "000");
    assert_int_equal(w.count, 3);
    assert_true(w.notes[1].as_of_tt > before);
    leave(&w);
}

static void test_memory__each_kind_of_write_quarantines_what_it_changes(void **state)
{
    (void)state;
    world w;
    enter(&w);
    fill(&w);
    build(&w, NULL);
    event(&w, "a", "b", 100 * WEEK + 9, "late"); /* an event that comes late */
    assert_stale(&w, "100");
    build(&w, NULL);
    assert_int_equal(write_op(&w, (mk_op){.kind = MK_OP_RETRACT, .src = MK_STR("a"), .dst = MK_STR("b"),
                                          .rel_type = MK_STR("R"), .disc = MK_STR("late"),
                                          .t = 100 * WEEK + 9}),
                     MK_OK);
    assert_stale(&w, "100");
    build(&w, NULL);
    assert_int_equal(fact(&w, &w.notes[0], "n_events"), 8); /* listed before the build */
    list(&w);
    assert_int_equal(fact(&w, &w.notes[0], "n_events"), 7);
    const mk_event bulk[] = {{.src = MK_STR("x"), .dst = MK_STR("y"), .rel_type = MK_STR("R"),
                              .vt_s = 102 * WEEK + 1}};
    assert_int_equal(write_op(&w, (mk_op){.kind = MK_OP_INGEST_EVENTS, .events = (mk_event *)bulk,
                                          .event_count = 1, .node_label = MK_STR("N")}),
                     MK_OK);
    assert_stale(&w, "001");
    leave(&w);
}

static void test_memory__a_replayed_batch_quarantines_like_any_other(void **state)
{
    (void)state;
    world w;
    bool applied;
    mk_err why, err;
    static const char line[] =
        "{\"batch_id\":\"0123456789abcdef\",\"ops\":[{\"disc\":\"\",\"dst\":\"b\",\"op\":\"assert_edge\","
        "\"props\":{},"
        "\"provenance_ref\":null,\"rel_type\":\"R\",\"source\":\"far\",\"src\":\"a\",\"vt_e\":61084800000007,"
        "\"vt_s\":61084800000005}],\"tt\":4000000000000000}";
    enter(&w);
    fill(&w);
    build(&w, NULL);
    if (mk_store_replay_line(w.store, mk_str_of(line), false, &applied, &why, &err) != MK_OK)
        fail_msg("%s", err.message);
    if (!applied)
        fail_msg("%s", why.message);
    assert_int_equal(mk_store_replay_flush(w.store, NULL), MK_OK);
    assert_stale(&w, "010"); /* 61084800000005 = 101 * WEEK + 5 */
    leave(&w);
}

static void test_memory__a_write_elsewhere_quarantines_nothing(void **state)
{
    (void)state;
    world w;
    enter(&w);
    fill(&w);
    build(&w, NULL);
    /* The node's version is rewritten in two parts; what is seen through the windows is as it was. */
    assert_int_equal(write_op(&w, (mk_op){.kind = MK_OP_RETRACT, .on_node = true, .uid = MK_STR("a"),
                                          .t = 200 * WEEK}),
                     MK_OK);
    assert_stale(&w, "000");
    assert_int_equal(write_op(&w, (mk_op){.kind = MK_OP_CORRECT, .on_node = true, .uid = MK_STR("b"),
                                          .props = MK_STR("{\"w\":1}"), .vt_s = 150 * WEEK,
                                          .vt_e = 160 * WEEK}),
                     MK_OK);
    assert_stale(&w, "000");
    event(&w, "a", "b", 300 * WEEK, "");
    assert_stale(&w, "000");
    /* From the middle window on it is another thing. */
    assert_int_equal(write_op(&w, (mk_op){.kind = MK_OP_CORRECT, .on_node = true, .uid = MK_STR("a"),
                                          .props = MK_STR("{\"w\":1}"), .vt_s = 101 * WEEK + 1,
                                          .vt_e = MK_OPEN_END}),
                     MK_OK);
    assert_stale(&w, "011");
    leave(&w);
}

static void test_memory__an_earlier_first_appearance_quarantines_later_notes(void **state)
{
    (void)state;
    world w;
    enter(&w);
    fill(&w);
    node(&w, "d", 102 * WEEK + 1, MK_OPEN_END);
    build(&w, NULL);
    list(&w);
    assert_int_equal(fact(&w, &w.notes[2], "n_new_nodes"), 1);
    node(&w, "d", 100 * WEEK + 1, 100 * WEEK + 2);
    assert_stale(&w, "111"); /* the first had it appear, and the others are no longer its first */
    build(&w, NULL);
    list(&w);
    assert_int_equal(fact(&w, &w.notes[2], "n_new_nodes"), 0);
    leave(&w);
}

static void test_memory__a_past_belief_has_the_notes_that_stood_then(void **state)
{
    (void)state;
    world w;
    enter(&w);
    fill(&w);
    const int64_t empty = mk_store_last_tt(w.store).us;
    build(&w, NULL);
    const int64_t then = mk_store_last_tt(w.store).us;
    event(&w, "a", "b", 100 * WEEK + 9, "late");
    assert_stale(&w, "100");
    list_at(&w, then);
    assert_int_equal(w.count, 3);
    assert_false(w.notes[0].stale);
    list_at(&w, empty);
    assert_int_equal(w.count, 0);
    leave(&w);
}

static uint64_t next_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

/* A write of any kind somewhere around the three windows; some find nothing to change. */
static void write_random(world *w, uint64_t *seed)
{
    static const char *const uids[] = {"a", "b", "c", "d"};
    const mk_str uid = mk_str_of(uids[next_random(seed) % 4]), other = mk_str_of(uids[next_random(seed) % 4]);
    const mk_str props = next_random(seed) % 2 ? MK_STR("{\"w\":1}") : MK_STR("{}"), rel = MK_STR("R");
    const int64_t t = 99 * WEEK + (int64_t)(next_random(seed) % 70) * (WEEK / 14) + 7;
    const int64_t e = next_random(seed) % 3 == 0 ? MK_OPEN_END
                      : t + 1 + (int64_t)(next_random(seed) % 3) * WEEK;
    const mk_op ops[] = {
        {.kind = MK_OP_ASSERT_NODE, .uid = uid, .label = MK_STR("N"), .vt_s = t, .vt_e = e},
        {.kind = MK_OP_CORRECT, .on_node = true, .uid = uid, .props = props, .vt_s = t, .vt_e = e},
        {.kind = MK_OP_RETRACT, .on_node = true, .uid = uid, .t = t},
        {.kind = MK_OP_ASSERT_EDGE, .src = uid, .dst = other, .rel_type = rel, .vt_s = t, .vt_e = e},
        {.kind = MK_OP_RETRACT, .src = uid, .dst = other, .rel_type = rel, .t = t},
        {.kind = MK_OP_CORRECT, .src = uid, .dst = other, .rel_type = rel, .props = props, .vt_s = t,
         .vt_e = e},
    };
    (void)write_op(w, ops[next_random(seed) % 6]);
}

/* A metric now, by week from week 100 on. */
static const mk_json *weekly(world *w, const char *metric)
{
    char args[200];
    mk_json *tree;
    mk_buf out;
    mk_buf_init(&out, &mk_alloc_default);
    snprintf(args, sizeof args, "{\"metric\":\"%s\",\"stride\":%lld,\"window\":{\"t_a\":%lld,\"t_b\":%lld}}",
             metric, (long long)WEEK, (long long)(100 * WEEK), (long long)(103 * WEEK));
    assert_int_equal(mk_call(w->store, "graph_metric_timeseries", mk_str_of(args), NULL, &w->arena, &out,
                             NULL),
                     MK_OK);
    assert_int_equal(mk_json_parse(&w->arena, mk_buf_view(&out), NULL, &tree, NULL), MK_OK);
    mk_buf_free(&out);
    return mk_json_get(tree, "rows");
}

/* Compares the notes that stand with the metrics now; counts them. */
static size_t assert_standing_true(world *w)
{
    size_t standing = 0;
    const mk_json *events = weekly(w, "edge_event_count"), *newcomers = weekly(w, "new_node_rate");
    list(w);
    for (size_t i = 0; i < w->count; i++) {
        const int64_t week = w->notes[i].t_a / WEEK - 100;
        if (w->notes[i].stale || week < 0 || week > 2)
            continue;
        standing++;
        assert_int_equal(fact(w, &w->notes[i], "n_events"), mk_json_get(&events->items[week], "value")->i);
        assert_int_equal(fact(w, &w->notes[i], "n_new_nodes"),
                         mk_json_get(&newcomers->items[week], "value")->i);
    }
    return standing;
}

/* Law: a note that stands says what would be computed now, after writes of every kind. */
static void test_memory__a_note_that_stands_is_true(void **state)
{
    (void)state;
    uint64_t seed = 42;
    size_t standing = 0, all = 0;
    for (int round = 0; round < 16; round++) {
        world w;
        enter(&w);
        fill(&w);
        for (int step = 0; step < 12; step++) {
            if (step % 4 == 0)
                build(&w, NULL);
            write_random(&w, &seed);
            standing += assert_standing_true(&w);
            all += 3;
        }
        leave(&w);
    }
    assert_true(standing > all / 4 && standing < all); /* some stand, some do not */
}

/* ---- notes and the rest of the store ---- */

static void test_memory__notes_are_hidden_and_their_names_reserved(void **state)
{
    (void)state;
    world w;
    mk_view *view;
    mk_err err;
    const mk_op forged = {.kind = MK_OP_ASSERT_NODE, .uid = MK_STR("mn:window:604800000000:60480000000000"),
                          .label = MK_STR("Note"), .props = MK_STR("{}"), .vt_e = MK_OPEN_END,
                          .source = MK_STR("x"), .provenance_null = true};
    enter(&w);
    fill(&w);
    build(&w, NULL);
    assert_int_equal(mk_view_at(w.store, (mk_tt){MK_OPEN_END}, 0, &view, NULL), MK_OK);
    assert_int_equal(mk_view_entity(view, forged.uid), MK_NO_ID);
    mk_view_close(view);
    assert_int_equal(mk_store_write(w.store, &forged, 1, NULL, NULL, &err), MK_E_INVALID_ARG);
    /* What a foreign log puts there is not taken for a note. */
    assert_int_equal(mk_store_write(w.store, &forged, 1, &(mk_write_options){.allow_reserved = true}, NULL,
                                    NULL),
                     MK_OK);
    list(&w);
    assert_int_equal(w.count, 2);
    leave(&w);
}

static void test_memory__the_notes_that_fit_best_come_first_and_stale_ones_never(void **state)
{
    (void)state;
    world w;
    enter(&w);
    fill(&w);
    build(&w, NULL);
    assert_int_equal(mk_memory_find(w.store, (mk_tt){MK_OPEN_END}, 100 * WEEK + 5 * DAY,
                                    102 * WEEK + 3 * DAY, 2,
                                    &w.arena, &w.notes, &w.count, NULL),
                     MK_OK);
    assert_int_equal(w.count, 2);
    assert_int_equal(w.notes[0].t_a, 101 * WEEK);
    assert_int_equal(w.notes[1].t_a, 102 * WEEK);
    event(&w, "a", "b", 101 * WEEK + 9, "late");
    assert_int_equal(mk_memory_find(w.store, (mk_tt){MK_OPEN_END}, 0, MK_OPEN_END, 9, &w.arena, &w.notes,
                                    &w.count, NULL),
                     MK_OK);
    assert_int_equal(w.count, 2);
    assert_int_equal(w.notes[0].t_a, 100 * WEEK);
    leave(&w);
}

/* ---- a model's texts ---- */

typedef struct script {
    mk_model model;
    const char *const *replies; /* the last is said again and again; NULL fails */
    size_t asked;
    mk_str prompts[16];
    mk_arena arena;
} script;

static mk_code say(mk_model *self, const mk_model_request *request, mk_arena *arena, mk_model_reply *out,
                   mk_err *err)
{
    script *s = (script *)self;
    const char *reply = s->replies[0];
    s->prompts[s->asked % 16] = mk_arena_copy(&s->arena, request->messages[1].content);
    s->asked++;
    if (reply == NULL)
        return mk_fail(err, MK_E_MODEL, "down");
    if (s->replies[1] != NULL)
        s->replies++;
    *out = (mk_model_reply){.text = mk_arena_copy(arena, mk_str_of(reply))};
    return MK_OK;
}

static void build_with(world *w, script *s, const char *const *replies)
{
    *s = (script){.model = {.ask = say}, .replies = replies};
    mk_arena_init(&s->arena, &mk_alloc_default);
    enter(w);
    event(w, "a", "b", 100 * WEEK + 5, "");
    build(w, &s->model);
    list(w);
    assert_int_equal(w->count, 1);
}

static void test_memory__a_models_text_is_kept_when_its_numbers_are_facts(void **state)
{
    (void)state;
    static const char *const replies[] = {"A quiet week with 1 event and 0 new nodes.", NULL};
    world w;
    script s;
    build_with(&w, &s, replies);
    assert_int_equal(w.built.accepted, 1);
    assert_true(w.notes[0].by_model);
    assert_true(mk_str_eq(w.notes[0].text, mk_str_of(replies[0])));
    mk_arena_free(&s.arena);
    leave(&w);
}

static void test_memory__a_made_up_number_is_rejected_with_its_reason_and_replaced(void **state)
{
    (void)state;
    static const char *const better[] = {"There were 17 events.", "There was 1 event.", NULL};
    static const char *const never[] = {"There were 17 events.", "There were seventeen events.", NULL};
    world w;
    script s;
    build_with(&w, &s, better);
    assert_int_equal(w.built.rejected, 1);
    assert_true(w.notes[0].by_model);
    assert_int_equal(s.asked, 2);
    assert_true(s.prompts[1].n > s.prompts[0].n); /* the second try is another question */
    assert_non_null(memmem(s.prompts[1].p, s.prompts[1].n, "a number that is in no fact", 27));
    mk_arena_free(&s.arena);
    leave(&w);
    build_with(&w, &s, never);
    assert_int_equal(w.built.rejected, 2);
    assert_false(w.notes[0].by_model);
    assert_true(mk_str_starts(w.notes[0].text, MK_STR("From 60480000000000 to ")));
    mk_arena_free(&s.arena);
    leave(&w);
}

static void test_memory__a_model_that_fails_costs_its_text_only(void **state)
{
    (void)state;
    static const char *const replies[] = {NULL};
    world w;
    script s;
    build_with(&w, &s, replies);
    assert_int_equal(w.built.written, 1);
    assert_int_equal(s.asked, 1);
    assert_false(w.notes[0].by_model);
    mk_arena_free(&s.arena);
    leave(&w);
}

static void test_memory__numbers_are_seen_in_every_dress(void **state)
{
    (void)state;
    static const char facts_text[] = "{\"n\":1200,\"m\":0,\"l\":[{\"v\":12.5},{\"t\":-3},5]}";
    static const struct {
        const char *text;
        bool accepted;
    } list_of[] = {
        {"1200 events, 5 bursts.", true},
        {"1,200 events", true},
        {"value 12.5; none else", true},
        {"value 12.50", true},
        {"it fell to -3", true},
        {"1.2e3 events", true},
        {"five bursts", true},
        {"nothing of note", true},
        {"1201 events", false},
        {"-1200 events", false},
        {"\xe2\x88\x92" "1200 events", false},
        {"1e3 events", false},
        {"version v5", false},
        {"5th day", false},
        {"5k events", false},
        {"5% more", false},
        {"5 % more", false},
        {"five percent", false},
        {"six bursts", false},
        {"twenty-five bursts", false},
        {"a dozen", false},
        {"twice as many", false},
        {"twelve hundred", false},
        {"\xd9\xa5 bursts", false},     /* Arabic-Indic five */
        {"\xef\xbc\x95 bursts", false}, /* full-width five */
        {"\xc2\xbd of it", false},      /* one half */
        {"\xe2\x85\xa4 bursts", false}, /* Roman five */
        {"5.0.1", false},
        {"00000000000000000000000000000000000000000000000000000000000000000000005", false},
        {"12,5 events", false},
        {"", false},
        {"\xff", false},
    };
    mk_arena arena;
    mk_json *facts;
    char why[160];
    mk_arena_init(&arena, &mk_alloc_default);
    assert_int_equal(mk_json_parse(&arena, mk_str_of(facts_text), NULL, &facts, NULL), MK_OK);
    for (size_t i = 0; i < sizeof list_of / sizeof *list_of; i++) {
        why[0] = '\0';
        if (mk_note_text_accept(mk_str_of(list_of[i].text), facts, 120, why,
                                sizeof why) != list_of[i].accepted)
            fail_msg("\"%s\": %s", list_of[i].text, why);
        assert_true(list_of[i].accepted || why[0] != '\0');
    }
    assert_false(mk_note_text_accept(MK_STR("a b c d"), facts, 3, why, sizeof why));
    mk_arena_free(&arena);
}

/* ---- memory that runs out ---- */

static void test_memory__running_out_of_memory_is_reported(void **state)
{
    (void)state;
    static const char *const replies[] = {"There were 17 events.", "There was 1 event.", NULL};
    world w;
    enter(&w);
    event(&w, "a", "b", 100 * WEEK + 5, "");
    for (uint64_t n = 1;; n += 3) {
        testalloc ta;
        mk_arena arena;
        mk_note *notes;
        size_t count;
        script s = {.model = {.ask = say}, .replies = replies};
        mk_arena_init(&s.arena, &mk_alloc_default);
        testalloc_init(&ta);
        mk_arena_init(&arena, &ta.hook);
        const mk_memory_build_options options = {.model = &s.model};
        testalloc_fail(&ta, n, false);
        mk_code rc = mk_memory_build(w.store, &options, &arena, &w.built, NULL);
        if (rc == MK_OK)
            rc = mk_memory_list(w.store, (mk_tt){MK_OPEN_END}, 0, MK_OPEN_END, &arena, &notes, &count, NULL);
        const bool failed = ta.failures != 0;
        /* An operator calls the memory of one call that is used up a limit. */
        if (failed ? rc != MK_E_NOMEM && rc != MK_E_LIMIT : rc != MK_OK)
            fail_msg("allocation %llu: %s", (unsigned long long)n, mk_code_name(rc));
        mk_arena_free(&arena);
        assert_true(testalloc_is_clean(&ta));
        testalloc_free(&ta);
        mk_arena_free(&s.arena);
        if (!failed)
            break;
        assert_true(n < 2000);
        event(&w, "a", "b", 100 * WEEK + 5, ""); /* whatever was written does not stand */
    }
    leave(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory__facts_are_what_operators_say),
        cmocka_unit_test(test_memory__every_number_of_a_text_is_a_fact),
        cmocka_unit_test(test_memory__an_empty_store_has_no_windows_and_too_many_are_refused),
        cmocka_unit_test(test_memory__a_second_build_writes_nothing),
        cmocka_unit_test(test_memory__a_correction_quarantines_its_window_and_a_build_renews_it),
        cmocka_unit_test(test_memory__each_kind_of_write_quarantines_what_it_changes),
        cmocka_unit_test(test_memory__a_replayed_batch_quarantines_like_any_other),
        cmocka_unit_test(test_memory__a_write_elsewhere_quarantines_nothing),
        cmocka_unit_test(test_memory__an_earlier_first_appearance_quarantines_later_notes),
        cmocka_unit_test(test_memory__a_past_belief_has_the_notes_that_stood_then),
        cmocka_unit_test(test_memory__a_note_that_stands_is_true),
        cmocka_unit_test(test_memory__notes_are_hidden_and_their_names_reserved),
        cmocka_unit_test(test_memory__the_notes_that_fit_best_come_first_and_stale_ones_never),
        cmocka_unit_test(test_memory__a_models_text_is_kept_when_its_numbers_are_facts),
        cmocka_unit_test(test_memory__a_made_up_number_is_rejected_with_its_reason_and_replaced),
        cmocka_unit_test(test_memory__a_model_that_fails_costs_its_text_only),
        cmocka_unit_test(test_memory__numbers_are_seen_in_every_dress),
        cmocka_unit_test(test_memory__running_out_of_memory_is_reported),
    };
    return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}

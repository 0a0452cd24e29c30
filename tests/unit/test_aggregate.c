/* test_aggregate.c — exact means, and what aggregate_events and version_history do at their bounds.
 *
 * Goal: what random small histories (tests/oracle) do not reach: the vectors of the operators spec, caps,
 * values whose order or size is awkward, memory that runs out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <time.h>

#include "../support/aggregate_world.h"
#include "../support/oracle_paper.h"
#include "../support/testalloc.h"
#include "base/num.h"
#include "op/aggregate_mean.h"

/* ---- means ---- */

typedef struct meter {
    mk_arena arena;
    mk_mean mean;
} meter;

static void meter_open(meter *m)
{
    *m = (meter){.mean = {.n = 0}};
    mk_arena_init(&m->arena, &mk_alloc_default);
}

static void add_text(meter *m, const char *number)
{
    const mk_str text = mk_str_of(number);
    const bool is_float = strpbrk(number, ".e") != NULL;
    assert_int_equal(is_float ? mk_mean_float(&m->mean, &m->arena, mk_double_parse(text), NULL)
                              : mk_mean_digits(&m->mean, &m->arena, text, NULL),
                     MK_OK);
}

static mk_mean_result result_of(meter *m)
{
    mk_mean_result result;
    assert_int_equal(mk_mean_result_of(&m->mean, &m->arena, &result, NULL), MK_OK);
    return result;
}

/* The mean of numbers written with spaces between them, as text. */
static const char *mean_of(const char *numbers)
{
    static char text[400];
    char copy[400];
    meter m;
    meter_open(&m);
    snprintf(copy, sizeof copy, "%s", numbers);
    for (char *number = strtok(copy, " "); number != NULL; number = strtok(NULL, " "))
        add_text(&m, number);
    const mk_mean_result r = result_of(&m);
    switch (r.kind) {
    case MK_MEAN_NONE: snprintf(text, sizeof text, "none"); break;
    case MK_MEAN_INT: snprintf(text, sizeof text, "%lld", (long long)r.i); break;
    case MK_MEAN_DIGITS: snprintf(text, sizeof text, "%.*s", MK_STR_ARG(r.digits)); break;
    case MK_MEAN_FLOAT: text[mk_double_text(text, r.d)] = '\0'; break;
    }
    mk_arena_free(&m.arena);
    return text;
}

static void test_mean__integers_that_divide_stay_integers(void **state)
{
    (void)state;
    assert_string_equal(mean_of(""), "none");
    assert_string_equal(mean_of("4"), "4");
    assert_string_equal(mean_of("1 2"), "1.5");
    assert_string_equal(mean_of("-1 -2"), "-1.5");
    assert_string_equal(mean_of("-7 3"), "-2");
    assert_string_equal(mean_of("1 1 2"), "1.3333333333333333");
    assert_string_equal(mean_of("9223372036854775807 9223372036854775807"), "9223372036854775807");
    assert_string_equal(mean_of("9223372036854775807 9223372036854775805"), "9223372036854775806");
    assert_string_equal(mean_of("-9223372036854775808 -9223372036854775807 -9223372036854775809"),
                        "-9223372036854775808");
}

static void test_mean__integers_may_have_any_size(void **state)
{
    (void)state;
    assert_string_equal(mean_of("123456789012345678901234567890"), "123456789012345678901234567890");
    assert_string_equal(mean_of("123456789012345678901234567890 2"), "61728394506172839450617283946");
    assert_string_equal(mean_of("-123456789012345678901234567890 1"), "-6.172839450617284e+28");
    assert_string_equal(mean_of("123456789012345678901234567890 -123456789012345678901234567890 6"), "2");
    assert_string_equal(mean_of("-100000000000000000000 1"), "-5e+19"); /* floor, then + 0.5 */
    assert_string_equal(mean_of("18446744073709551616 18446744073709551616"), "18446744073709551616");
}

static void test_mean__a_float_makes_one_rounding_of_an_exact_sum(void **state)
{
    (void)state;
    assert_string_equal(mean_of("1e100 1.0 -1e100"), "0.3333333333333333");
    assert_string_equal(mean_of("0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1"), "0.1");
    assert_string_equal(mean_of("3 1.5 2 1"), "1.875");
    assert_string_equal(mean_of("-0.0"), "0.0");
    assert_string_equal(mean_of("5e-324 5e-324"), "5e-324");
    assert_string_equal(mean_of("-5e-324 2.2250738585072014e-308"), "1.1125369292536007e-308");
    assert_string_equal(mean_of("9007199254740993 0.0"), "4503599627370496.0"); /* the integer rounds first */
    /* Half-way but for a bit far below, which decides the rounding. */
    assert_string_equal(mean_of("9007199254740992 1 0.0"), "3002399751580330.5");
    assert_string_equal(mean_of("9007199254740992 1 1e-30"), "3002399751580331.5");
    assert_string_equal(mean_of("9007199254740992 1 0.000030517578125"), "3002399751580331.5");
    assert_string_equal(mean_of("1.7976931348623157e308 -1.7976931348623157e308 3.0"), "1.0");
}

static void test_mean__a_sum_beyond_doubles_is_not_finite(void **state)
{
    (void)state;
    assert_string_equal(mean_of("1.7976931348623157e308 1.7976931348623157e308"), "Infinity");
    assert_string_equal(mean_of("1e400 1.0"), "Infinity");
}

static uint64_t next_random(uint64_t *seed)
{
    uint64_t x = *seed += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

/* Method: random doubles of all sizes, cut into two means at random, against expansions. */
static void test_mean__parts_put_together_round_like_the_whole(void **state)
{
    (void)state;
    uint64_t seed = 7;
    for (int round = 0; round < 400; round++) {
        meter parts[2];
        paper_expansion sum = {.n = 0};
        const int count = 1 + (int)(next_random(&seed) % 40);
        meter_open(&parts[0]);
        meter_open(&parts[1]);
        for (int i = 0; i < count; i++) {
            const double d =
                ldexp((double)(int64_t)next_random(&seed), (int)(next_random(&seed) % 160) - 100);
            meter *m = &parts[next_random(&seed) % 2];
            assert_int_equal(mk_mean_float(&m->mean, &m->arena, d, NULL), MK_OK);
            paper_expand(&sum, d);
        }
        assert_int_equal(mk_mean_merge(&parts[0].mean, &parts[0].arena, &parts[1].mean, NULL), MK_OK);
        const mk_mean_result r = result_of(&parts[0]);
        if (r.kind != MK_MEAN_FLOAT || r.d != paper_round(&sum) / count)
            fail_msg("round %d: %.17g, expected %.17g", round, r.d, paper_round(&sum) / count);
        mk_arena_free(&parts[0].arena);
        mk_arena_free(&parts[1].arena);
    }
}

/* The same with integers of up to 60 digits, against addition on paper. */
static void test_mean__integers_add_up_as_on_paper(void **state)
{
    (void)state;
    uint64_t seed = 11;
    for (int round = 0; round < 400; round++) {
        int8_t sum[PAPER_DIGITS] = {0};
        char quotient[PAPER_DIGITS + 2], text[80];
        const int count = 1 + (int)(next_random(&seed) % 9);
        meter parts[2];
        meter_open(&parts[0]);
        meter_open(&parts[1]);
        for (int i = 0; i < count; i++) {
            size_t n = 0, digits = 1 + next_random(&seed) % 60;
            if (next_random(&seed) % 2)
                text[n++] = '-';
            text[n++] = (char)('1' + next_random(&seed) % 9);
            while (--digits > 0)
                text[n++] = (char)('0' + next_random(&seed) % 10);
            text[n] = '\0';
            add_text(&parts[next_random(&seed) % 2], text);
            paper_add(sum, (mk_str){text, n});
        }
        assert_int_equal(mk_mean_merge(&parts[1].mean, &parts[1].arena, &parts[0].mean, NULL), MK_OK);
        const int64_t rest = paper_divide(sum, count, quotient);
        const mk_mean_result r = result_of(&parts[1]);
        if (rest != 0) {
            assert_int_equal(r.kind, MK_MEAN_FLOAT);
            assert_true(r.d == mk_double_parse(mk_str_of(quotient)) + (double)rest / count);
        } else if (r.kind == MK_MEAN_INT) {
            snprintf(text, sizeof text, "%lld", (long long)r.i);
            assert_string_equal(text, quotient);
        } else {
            assert_int_equal(r.kind, MK_MEAN_DIGITS);
            assert_true(mk_str_eq(r.digits, mk_str_of(quotient)));
        }
        mk_arena_free(&parts[0].arena);
        mk_arena_free(&parts[1].arena);
    }
}

/* ---- fixture F and its vectors (operators spec, 10.1, 10.2) ---- */

static void assert_edge(world *w, const char *src, const char *dst, const char *rel, const char *props,
                        int64_t vt_s, int64_t vt_e)
{
    mk_err err;
    const mk_op op = {.kind = MK_OP_ASSERT_EDGE, .src = mk_str_of(src), .dst = mk_str_of(dst),
                      .rel_type = mk_str_of(rel), .props = mk_str_of(props), .disc = MK_STR(""),
                      .vt_s = vt_s, .vt_e = vt_e, .source = MK_STR("ingest"), .provenance_null = true};
    world_must(mk_store_write(w->store, &op, 1, NULL, NULL, &err), &err);
}

/* The content of fixture F as it was believed at 5, with the clock's transaction times. */
static void make_f(world *w)
{
    static const char *const nodes[][2] = {{"a", "N"}, {"b", "N"}, {"c", "M"}};
    mk_err err;
    world_open(w, 0);
    for (int i = 0; i < 3; i++) {
        const mk_op op = {.kind = MK_OP_ASSERT_NODE, .uid = mk_str_of(nodes[i][0]),
                          .label = mk_str_of(nodes[i][1]), .props = MK_STR("{}"), .vt_e = MK_OPEN_END,
                          .source = MK_STR("ingest"), .provenance_null = true};
        world_must(mk_store_write(w->store, &op, 1, NULL, NULL, &err), &err);
    }
    assert_edge(w, "a", "b", "R", "{\"w\":1}", 10, 20);
    assert_edge(w, "b", "c", "R", "{\"w\":2.5}", 15, 30);
    assert_edge(w, "c", "a", "S", "{\"w\":4}", 25, 26);
    assert_edge(w, "a", "a", "S", "{}", 18, MK_OPEN_END);
}

#define WINDOW ",\"window\":{\"t_a\":0,\"t_b\":100}}"

static void test_aggregate__fixture_f_gives_the_printed_vectors(void **state)
{
    (void)state;
    world w;
    make_f(&w);
    world_expect(&w, "aggregate_events",
                 "{\"group_by\":[],\"aggregates\":[{\"agg\":\"count\"},{\"agg\":\"mean\","
                 "\"of\":\"vt_s\"}]" WINDOW,
                 "{\"cursor\":null,\"rows\":[{\"count\":4,\"mean_vt_s\":17.0}],\"rows_total\":1,"
                 "\"truncated\":false}");
    assert_string_equal(w.result.digest, "31b40c1e1bc46d5acec55f17b700a39cab801a680d6b613b9344bd5b9afb1526");
    world_expect(&w, "aggregate_events",
                 "{\"group_by\":[{\"dim\":\"rel_type\"}],\"aggregates\":[{\"agg\":\"count\"},"
                 "{\"agg\":\"mean\","
                 "\"of\":\"duration\"},{\"agg\":\"mean\",\"of\":\"prop\",\"prop\":\"w\"},"
                 "{\"agg\":\"max_gap\"}]" WINDOW,
                 "{\"cursor\":null,\"prop_coercion\":{\"w\":1},\"rows\":[{\"count\":2,\"max_gap\":5,"
                 "\"mean_duration\":12.5,\"mean_prop_w\":1.75,\"rel_type\":\"R\"},{\"count\":2,\"max_gap\":7,"
                 "\"mean_duration\":1.0,\"mean_prop_w\":4,\"rel_type\":\"S\"}],\"rows_total\":2,"
                 "\"truncated\":false}");
    assert_string_equal(w.result.digest, "d7fb5f4e6a77b746dd1383d434e27138b24470b09500aa4a06d22d7434e27ab1");
    world_expect(&w, "aggregate_events",
                 "{\"group_by\":[{\"dim\":\"time_bucket\"},{\"dim\":\"label\",\"role\":\"dst\"}],"
                 "\"stride\":20,"
                 "\"aggregates\":[{\"agg\":\"count\"},{\"agg\":\"count_distinct\",\"of\":\"src\"}]" WINDOW,
                 "{\"cursor\":null,\"rows\":[{\"count\":1,\"distinct_src\":1,\"dst_label\":\"M\",\"t_a\":0,"
                 "\"t_b\":20},{\"count\":2,\"distinct_src\":1,\"dst_label\":\"N\",\"t_a\":0,\"t_b\":20},{"
                 "\"count\":1,\"distinct_src\":1,\"dst_label\":\"N\",\"t_a\":20,\"t_b\":40}],"
                 "\"rows_total\":3,"
                 "\"truncated\":false}");
    world_expect(&w, "aggregate_events",
                 "{\"group_by\":[{\"dim\":\"calendar_unit\",\"unit\":\"day_of_week\","
                 "\"tz_offset_minutes\":-60}],"
                 "\"aggregates\":[{\"agg\":\"max_in_window\",\"span\":6},{\"agg\":\"max_session_span\","
                 "\"gap\":5}]" WINDOW,
                 "{\"cursor\":null,\"rows\":[{\"day_of_week\":\"Wednesday\",\"max_in_window\":2,"
                 "\"max_session_span\":8}],\"rows_total\":1,\"truncated\":false}");
    world_close(&w);
}

/* Operators spec, 10.4: dense ids are z 0, y 1, x 2, a 3. */
static void test_aggregate__pairs_show_the_order_of_registration(void **state)
{
    (void)state;
    static const world_event events[] = {{"z", "y", "R", "{}", 1, 2}, {"y", "z", "R", "{}", 2, 3},
                                         {"y", "x", "R", "{}", 5, 6}, {"a", "z", "R", "{}", 9, 10}};
#define ENDS "\"group_by\":[{\"dim\":\"endpoint\",\"role\":\"src\"},{\"dim\":\"endpoint\",\"role\":\"dst\"}]"
    world w;
    world_open(&w, 0);
    world_ingest(&w, events, 4, 0);
    world_expect(&w, "aggregate_events",
                 "{" ENDS ",\"pair_mode\":\"undirected\",\"aggregates\":[{\"agg\":\"count\"},{\"agg\":"
                 "\"count_distinct\",\"of\":\"src\"},{\"agg\":\"count_distinct\",\"of\":\"dst\"}]" WINDOW,
                 "{\"cursor\":null,\"rows\":[{\"count\":1,\"distinct_dst\":1,\"distinct_src\":1,"
                 "\"dst\":\"x\","
                 "\"src\":\"y\"},{\"count\":1,\"distinct_dst\":1,\"distinct_src\":1,\"dst\":\"a\",\"src\":"
                 "\"z\"},{\"count\":2,\"distinct_dst\":1,\"distinct_src\":1,\"dst\":\"y\",\"src\":\"z\"}],"
                 "\"rows_total\":3,\"truncated\":false}");
    assert_string_equal(w.result.digest, "1940f82688afbac6208241edd663935cbdc54c8abe2e04d7ad220e11327390fa");
    world_expect(&w, "aggregate_events",
                 "{" ENDS ",\"pair_mode\":\"reciprocal\",\"aggregates\":[{\"agg\":\"count\"}]" WINDOW,
                 "{\"cursor\":null,\"rows\":[{\"count\":2,\"dst\":\"y\",\"src\":\"z\"}],\"rows_total\":1,"
                 "\"truncated\":false}");
    assert_string_equal(w.result.digest, "f89122fef38b9c6bb984be225032f1d5146dba5c5df0c17871644e069af32ecb");
    world_close(&w);
}

/* ---- awkward values ---- */

/* Two events at one time with equal values of different kinds: the one with the smaller vid is shown. */
static void test_aggregate__the_first_of_equal_values_is_shown(void **state)
{
    (void)state;
    int ints = 0, floats = 0;
    for (int k = 0; k < 12; k++) {
        world_event events[2] = {{"a", "", "R", "{\"w\":1}", 5, 6}, {"a", "", "R", "{\"w\":1.0}", 5, 6}};
        char expected[200];
        mk_edge_ref refs[2];
        mk_view *view;
        mk_err err;
        world w;
        snprintf(events[0].dst, WORLD_UID, "x%d", k);
        snprintf(events[1].dst, WORLD_UID, "y%d", k);
        world_open(&w, 0);
        world_ingest(&w, events, 2, 0);
        world_must(mk_view_at(w.store, (mk_tt){MK_OPEN_END}, 0, &view, &err), &err);
        refs[0] = (mk_edge_ref){.vt_s = 5, .vt_e = 6, .src = 0, .dst = 1,
                                .rel_type = mk_view_name_code(view, MK_STR("R")), .part = MK_NO_ID, .row = 0};
        char eid[24], vid[2][24];
        mk_edge_stream *stream;
        const mk_edge_block *block;
        world_must(mk_view_stream(view, &w.arena, &mk_edge_filter_all, true, &stream, &err), &err);
        world_must(mk_edge_stream_next(stream, &block, &err), &err);
        assert_int_equal(block->count, 2);
        for (uint32_t i = 0; i < 2; i++) {
            refs[i] = mk_edge_block_ref(block, i);
            world_must(mk_view_edge_ids(view, &refs[i], eid, vid[i], &err), &err);
        }
        const uint32_t first = memcmp(vid[0], vid[1], 24) < 0 ? refs[0].dst : refs[1].dst;
        const bool is_int = mk_view_uid(view, first).p[0] == 'x';
        mk_view_close(view);
        snprintf(expected, sizeof expected,
                 "{\"cursor\":null,\"prop_coercion\":{\"w\":0},\"rows\":[{\"max_prop_w\":%s,"
                 "\"min_prop_w\":%s}],"
                 "\"rows_total\":1,\"truncated\":false}",
                 is_int ? "1" : "1.0", is_int ? "1" : "1.0");
        world_expect(&w, "aggregate_events",
                     "{\"group_by\":[],\"aggregates\":[{\"agg\":\"min\",\"of\":\"prop\",\"prop\":\"w\"},"
                     "{\"agg\":"
                     "\"max\",\"of\":\"prop\",\"prop\":\"w\"}]" WINDOW,
                     expected);
        *(is_int ? &ints : &floats) += 1;
        world_close(&w);
    }
    assert_true(ints > 0 && floats > 0); /* both orders occurred */
}

static void test_aggregate__names_of_properties_may_hold_anything(void **state)
{
    (void)state;
    static const world_event events[] = {{"a", "b", "R", "{\"a\\\"b\\n\":2,\"z\":\"x\"}", 5, 6}};
    world w;
    world_open(&w, 0);
    world_ingest(&w, events, 1, 0);
    world_expect(&w, "aggregate_events",
                 "{\"group_by\":[],\"aggregates\":[{\"agg\":\"max\",\"of\":\"prop\",\"prop\":\"a\\\"b\\n\"}],"
                 "\"prop_filter\":{\"prop\":\"z\",\"cmp\":\"ge\",\"value\":\"w\"}" WINDOW,
                 "{\"cursor\":null,\"prop_coercion\":{\"a\\\"b\\n\":0,\"z\":0},\"rows\":[{"
                 "\"max_prop_a\\\"b\\n\":2}],\"rows_total\":1,\"truncated\":false}");
    world_close(&w);
}

static void test_aggregate__what_a_rule_leaves_out_is_said(void **state)
{
    (void)state;
    world w;
    make_f(&w);
    mk_err err;
    const char *args = "{\"group_by\":[],\"aggregates\":[{\"agg\":\"mean\",\"of\":\"prop\","
        "\"prop\":\"w\"}]" WINDOW;
    world_must(world_try(&w, "aggregate_events", args, 0, &err), &err);
    assert_true(mk_str_eq(mk_buf_view(&w.result.completeness),
                          MK_STR("{\"rows\":[{\"reason\":\"excluded\",\"shown\":3,\"total\":4}]}")));
    args = "{\"group_by\":[],\"aggregates\":[{\"agg\":\"count\"}]" WINDOW;
    world_must(world_try(&w, "aggregate_events", args, 0, &err), &err);
    assert_true(mk_str_eq(mk_buf_view(&w.result.completeness), MK_STR("{}")));
    world_close(&w);
}

/* ---- caps ---- */

static void test_aggregate__too_many_buckets_name_the_stride_that_passes(void **state)
{
    (void)state;
#define BUCKETS(stride, t_b)                                                                       \
    "{\"group_by\":[{\"dim\":\"time_bucket\"}],\"aggregates\":[{\"agg\":\"count\"}],\"stride\":" stride      \
    ",\"window\":{\"t_a\":0,\"t_b\":" t_b "}}"
    world w;
    make_f(&w);
    const mk_err err = world_refuse(&w, "aggregate_events", BUCKETS("1", "4001"), MK_E_LIMIT);
    assert_non_null(strstr(err.hint, "stride >= 3"));
    world_refuse(&w, "aggregate_events", BUCKETS("2", "4001"), MK_E_LIMIT);
    world_expect(&w, "aggregate_events", BUCKETS("3", "4001"),
                 "{\"cursor\":null,\"rows\":[{\"count\":1,\"t_a\":9,\"t_b\":12},{\"count\":1,\"t_a\":15,"
                 "\"t_b\":18},{\"count\":1,\"t_a\":18,\"t_b\":21},{\"count\":1,\"t_a\":24,\"t_b\":27}],"
                 "\"rows_total\":4,\"truncated\":false}");
    world_expect(&w, "aggregate_events", BUCKETS("9223372036854775807", "4611686018427387904"),
                 "{\"cursor\":null,\"rows\":[{\"count\":4,\"t_a\":0,\"t_b\":4611686018427387904}],"
                 "\"rows_total\":1,\"truncated\":false}");
    world_close(&w);
}

/* An event between the hub and each of the entities s<from> to s<to - 1>. */
static void ingest_spokes(world *w, size_t from, size_t to, bool outwards)
{
    world_event *events = calloc(to - from, sizeof *events);
    assert_non_null(events);
    for (size_t i = from; i < to; i++) {
        world_event *e = &events[i - from];
        *e = (world_event){.src = "hub", .dst = "hub", .rel = "R", .props = "{}",
                           .vt_s = (int64_t)i % 90, .vt_e = (int64_t)i % 90 + 1};
        snprintf(outwards ? e->dst : e->src, WORLD_UID, "s%zu", i);
    }
    world_ingest(w, events, to - from, (int64_t)from);
    free(events);
}

static void ingest_star(world *w, size_t from, size_t to) { ingest_spokes(w, from, to, false); }

static void test_aggregate__the_cap_on_groups_counts_the_groups_that_are_shown(void **state)
{
    (void)state;
    const char *by_src = "{\"group_by\":[{\"dim\":\"endpoint\",\"role\":\"src\"}],\"aggregates\":[{\"agg\":"
                         "\"count\"}],\"limit\":1" WINDOW;
    static const world_event back[] = {{"hub", "s7", "S", "{}", 3, 4}};
    world w;
    mk_err err;
    world_open(&w, 0);
    ingest_star(&w, 0, MK_AGG_GROUPS_MAX);
    world_expect(&w, "aggregate_events", by_src,
                 "{\"cursor\":\"1\",\"rows\":[{\"count\":1,\"src\":\"s0\"}],\"rows_total\":100000,"
                 "\"truncated\":true}");
    ingest_star(&w, MK_AGG_GROUPS_MAX, MK_AGG_GROUPS_MAX + 1);
    err = world_refuse(&w, "aggregate_events", by_src, MK_E_LIMIT);
    assert_string_equal(err.extra, "\"limit\":\"groups\"");
    world_ingest(&w, back, 1, 200000);
    world_expect(&w, "aggregate_events",
                 "{" ENDS ",\"pair_mode\":\"reciprocal\",\"aggregates\":[{\"agg\":\"count\"}]" WINDOW,
                 "{\"cursor\":null,\"rows\":[{\"count\":2,\"dst\":\"s7\",\"src\":\"hub\"}],\"rows_total\":1,"
                 "\"truncated\":false}");
    world_refuse(&w, "aggregate_events",
                 "{" ENDS ",\"pair_mode\":\"undirected\",\"aggregates\":[{\"agg\":\"count\"}]" WINDOW,
                 MK_E_LIMIT);
    ingest_spokes(&w, 0, MK_AGG_GROUPS_MAX + 1, true);
    world_refuse(&w, "aggregate_events",
                 "{" ENDS ",\"pair_mode\":\"reciprocal\",\"aggregates\":[{\"agg\":\"count\"}]" WINDOW,
                 MK_E_LIMIT);
    world_close(&w);
}

static void test_aggregate__a_whole_result_keeps_to_the_row_budget(void **state)
{
    (void)state;
    const char *args = "{\"group_by\":[{\"dim\":\"endpoint\",\"role\":\"src\"}],\"aggregates\":[{\"agg\":"
                       "\"count\"}]" WINDOW;
    world w;
    mk_err err;
    world_open(&w, 0);
    ingest_star(&w, 0, 500);
    world_must(world_try(&w, "aggregate_events", args, 500, &err), &err);
    assert_int_equal(world_try(&w, "aggregate_events", args, 499, &err), MK_E_LIMIT);
    assert_non_null(strstr(err.extra, "\"rows_total\":500"));
    world_close(&w);
}

/* ---- the calendar ---- */

static void test_aggregate__months_are_those_of_the_gregorian_calendar(void **state)
{
    (void)state;
    static const struct {
        const char *time;
        const char *month;
    } days[] = {{"1970-01-01T00:00:00Z", "January"},    {"1972-02-29T23:59:59Z", "February"},
                {"1972-03-01T00:00:00Z", "March"},      {"2000-02-29T12:00:00Z", "February"},
                {"2100-02-28T23:59:59Z", "February"},   {"2100-03-01T00:00:00Z", "March"},
                {"2024-12-31T23:59:59Z", "December"},   {"9999-11-30T23:59:59Z", "November"}};
    for (size_t i = 0; i < sizeof days / sizeof *days; i++) {
        char args[300], expected[200];
        world_event event = {"a", "b", "R", "{}", 0, 0};
        world w;
        assert_int_equal(mk_time_parse(mk_str_of(days[i].time), &event.vt_s, NULL), MK_OK);
        event.vt_e = event.vt_s + 1;
        world_open(&w, 0);
        world_ingest(&w, &event, 1, 0);
        snprintf(args, sizeof args,
                 "{\"group_by\":[{\"dim\":\"calendar_unit\",\"unit\":\"month_of_year\"}],\"aggregates\":[{"
                 "\"agg\":\"count\"}],\"window\":{\"t_a\":0,\"t_b\":%lld}}", (long long)MK_OPEN_END);
        snprintf(expected, sizeof expected,
                 "{\"cursor\":null,\"rows\":[{\"count\":1,\"month_of_year\":\"%s\"}],\"rows_total\":1,"
                 "\"truncated\":false}", days[i].month);
        world_expect(&w, "aggregate_events", args, expected);
        world_close(&w);
    }
}

static time_t utc(struct tm tm) { return timegm(&tm); }

/* The stretch of the calendar that holds a second, by the C library's calendar. */
static void libc_period(const char *unit, time_t second, int64_t *from, int64_t *to)
{
    struct tm tm;
    gmtime_r(&second, &tm);
    struct tm a = {.tm_year = tm.tm_year, .tm_mon = tm.tm_mon, .tm_mday = tm.tm_mday}, b;
    if (strcmp(unit, "week") == 0)
        a.tm_mday -= (tm.tm_wday + 6) % 7;
    if (strcmp(unit, "month") == 0 || strcmp(unit, "quarter") == 0 || strcmp(unit, "year") == 0)
        a.tm_mday = 1;
    if (strcmp(unit, "quarter") == 0)
        a.tm_mon -= a.tm_mon % 3;
    if (strcmp(unit, "year") == 0)
        a.tm_mon = 0;
    b = a;
    b.tm_mday += strcmp(unit, "day") == 0 ? 1 : strcmp(unit, "week") == 0 ? 7 : 0;
    b.tm_mon += strcmp(unit, "month") == 0 ? 1 : strcmp(unit, "quarter") == 0 ? 3 : 0;
    b.tm_year += strcmp(unit, "year") == 0;
    *from = (int64_t)utc(a) * 1000000;
    *to = (int64_t)utc(b) * 1000000;
}

static void test_aggregate__periods_are_those_of_the_calendar_and_of_the_offset(void **state)
{
    (void)state;
    static const char *const units[] = {"day", "week", "month", "quarter", "year"};
    uint64_t seed = 7;
    for (int round = 0; round < 60; round++) {
        const int64_t second = (int64_t)(next_random(&seed) % UINT64_C(8000000000)),
                      offset = round % 3 == 0 ? (int64_t)(next_random(&seed) % 2881) - 1440 : 0;
        world_event event = {"a", "b", "R", "{}", second * 1000000 + 17, second * 1000000 + 18};
        world w;
        world_open(&w, 0);
        world_ingest(&w, &event, 1, 0);
        for (size_t u = 0; u < 5; u++) {
            char args[300], expected[200];
            int64_t from, to;
            libc_period(units[u], (time_t)(second + offset * 60), &from, &to);
            /* the window begins before the period or inside it: the bounds are the calendar's */
            const int64_t t_a = round % 2 == 0 ? event.vt_s
                                : event.vt_s > 40 * INT64_C(86400000000)
                                    ? event.vt_s - 40 * INT64_C(86400000000)
                                    : 0;
            snprintf(args, sizeof args,
                     "{\"group_by\":[{\"dim\":\"calendar_period\",\"unit\":\"%s\",\"tz_offset_minutes\":%d}],"
                     "\"aggregates\":[{\"agg\":\"count\"}],"
                     "\"window\":{\"t_a\":%lld,\"t_b\":%lld}}",
                     units[u], (int)offset, (long long)t_a, (long long)event.vt_e);
            snprintf(expected, sizeof expected,
                     "{\"cursor\":null,\"rows\":[{\"count\":1,\"t_a\":%lld,\"t_b\":%lld}],\"rows_total\":1,"
                     "\"truncated\":false}",
                     (long long)(from - offset * 60000000), (long long)(to - offset * 60000000));
            world_expect(&w, "aggregate_events", args, expected);
        }
        world_close(&w);
    }
}

static void test_aggregate__periods_need_their_own_unit_and_have_a_limit(void **state)
{
    (void)state;
    world_event event = {"a", "b", "R", "{}", 0, 1};
    world w;
    world_open(&w, 0);
    world_ingest(&w, &event, 1, 0);
    world_refuse(&w, "aggregate_events",
                 "{\"group_by\":[{\"dim\":\"calendar_period\"}],\"aggregates\":[{\"agg\":\"count\"}]" WINDOW,
                 MK_E_INVALID_ARG);
    world_refuse(&w, "aggregate_events",
                 "{\"group_by\":[{\"dim\":\"calendar_period\",\"unit\":\"hour_of_day\"}],\"aggregates\":[{"
                 "\"agg\":\"count\"}]" WINDOW,
                 MK_E_INVALID_ARG);
    world_refuse(&w, "aggregate_events",
                 "{\"group_by\":[{\"dim\":\"calendar_unit\",\"unit\":\"month\"}],\"aggregates\":[{\"agg\":"
                 "\"count\"}]" WINDOW,
                 MK_E_INVALID_ARG);
    world_refuse(&w, "aggregate_events",
                 "{\"group_by\":[{\"dim\":\"time_bucket\"},{\"dim\":\"calendar_period\",\"unit\":\"day\"}],"
                 "\"stride\":50,"
                 "\"aggregates\":[{\"agg\":\"count\"}]" WINDOW,
                 MK_E_INVALID_ARG);
    world_refuse(&w, "aggregate_events",
                 "{\"group_by\":[{\"dim\":\"calendar_period\",\"unit\":\"month\"}],\"aggregates\":[{\"agg\":"
                 "\"count\"}],"
                 "\"window\":{\"t_a\":0,\"t_b\":4611686018427387904}}",
                 MK_E_LIMIT);
    world_close(&w);
}

/* ---- ending early ---- */

/* Method: the n-th allocation of a call fails, for every n until the call gets through. */
static void exhaust(world *w, const char *op, const char *args)
{
    testalloc ta;
    bool through = false;
    testalloc_init(&ta);
    for (uint64_t n = 1; !through && n < 1000; n++) {
        mk_arena arena;
        mk_buf out;
        mk_err err;
        mk_arena_init(&arena, &ta.hook);
        mk_buf_init(&out, &ta.hook);
        const uint64_t before = ta.failures;
        testalloc_fail(&ta, n, false);
        const mk_code rc = mk_call(w->store, op, mk_str_of(args), NULL, &arena, &out, &err);
        testalloc_fail(&ta, 0, false);
        through = ta.failures == before;
        if (rc != (through ? MK_OK : MK_E_NOMEM))
            fail_msg("%s: allocation %d: %s", op, (int)n, mk_code_name(rc));
        mk_buf_free(&out);
        mk_arena_free(&arena);
        assert_true(testalloc_is_clean(&ta));
    }
    assert_true(through);
    testalloc_free(&ta);
}

static void test_aggregate__memory_that_runs_out_anywhere_is_an_error(void **state)
{
    (void)state;
    world w;
    make_f(&w);
    ingest_star(&w, 0, 3000);
    exhaust(&w, "aggregate_events",
            "{\"group_by\":[{\"dim\":\"label\",\"role\":\"src\"},{\"dim\":\"endpoint\",\"role\":\"src\"}],"
            "\"aggregates\":[{\"agg\":\"count_distinct\",\"of\":\"dst\"},{\"agg\":\"max_in_window\","
            "\"span\":50},"
            "{\"agg\":\"mean\",\"of\":\"prop\",\"prop\":\"w\"},{\"agg\":\"min\",\"of\":\"prop\","
            "\"prop\":\"w\"}],"
            "\"prop_filter\":{\"prop\":\"w\",\"cmp\":\"ge\",\"value\":1}" WINDOW);
    exhaust(&w, "aggregate_events",
            "{\"group_by\":[{\"dim\":\"rel_type\"}],\"aggregates\":[{\"agg\":\"count_distinct\","
            "\"of\":\"src\"},"
            "{\"agg\":\"max_gap\"}],\"endpoint_filter\":{\"role\":\"dst\",\"uids\":[\"hub\"]}" WINDOW);
    exhaust(&w, "version_history",
            "{\"belief\":\"all\",\"kind\":\"edge\",\"limit\":10,\"window\":{\"t_a\":0,\"t_b\":100}}");
    exhaust(&w, "version_history", "{\"kind\":\"node\",\"window\":{\"t_a\":0,\"t_b\":100}}");
    world_close(&w);
}

static void test_aggregate__a_cancelled_call_ends_with_its_own_error(void **state)
{
    (void)state;
    static const struct {
        const char *op, *args;
    } calls[] = {
        {"aggregate_events", "{\"group_by\":[],\"aggregates\":[{\"agg\":\"count\"}]" WINDOW},
        {"version_history", "{\"kind\":\"edge\",\"window\":{\"t_a\":0,\"t_b\":100}}"}};
    world w;
    mk_err err;
    atomic_bool cancelled = true;
    const mk_call_options options = {.cancelled = &cancelled};
    make_f(&w);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(mk_call_run(w.store, NULL, mk_str_of(calls[i].op), mk_str_of(calls[i].args),
                                     &options, &w.arena, &w.result, &err),
                         MK_E_CANCELLED);
        assert_int_equal(err.retry, MK_RETRY_AS_IS);
    }
    world_close(&w);
}

/* ---- version_history ---- */

static void test_version_history__a_correction_closes_one_belief_and_opens_three(void **state)
{
    (void)state;
    static const struct {
        const char *belief;
        int64_t rows;
    } counts[] = {{"current", 6}, {"superseded", 1}, {"all", 7}};
    world w;
    mk_err err;
    make_f(&w);
    const mk_op correct = {.kind = MK_OP_CORRECT, .src = MK_STR("a"), .dst = MK_STR("b"),
                           .rel_type = MK_STR("R"), .disc = MK_STR(""), .props = MK_STR("{\"w\":7}"),
                           .vt_s = 12, .vt_e = 15, .source = MK_STR("ingest"), .provenance_null = true};
    world_must(mk_store_write(w.store, &correct, 1, NULL, NULL, &err), &err);
    for (int sealed = 0; sealed < 2; sealed++) {
        for (int i = 0; i < 3; i++) {
            char args[200], total[40];
            snprintf(args, sizeof args, "{\"belief\":\"%s\",\"kind\":\"edge\",\"window\":{\"t_a\":0,"
                "\"t_b\":100}}",
                     counts[i].belief);
            snprintf(total, sizeof total, "\"rows_total\":%lld,", (long long)counts[i].rows);
            world_must(world_try(&w, "version_history", args, 0, &err), &err);
            mk_buf_c(&w.result.payload.text, '\0');
            assert_non_null(strstr(w.result.payload.text.p, total));
        }
        world_must(mk_store_checkpoint(w.store, &err), &err);
    }
    world_close(&w);
}

/* Goal: what belongs to a module is as if never written, unless the caller's mask admits it (decisions.md 2),
 * in the tail as in segments. */
static void test_version_history__reserved_rows_need_the_mask(void **state)
{
    (void)state;
    static const char *const calls[][2] = {
        {"version_history", "{\"belief\":\"all\",\"kind\":\"edge\",\"window\":{\"t_a\":0,\"t_b\":100}}"},
        {"version_history", "{\"kind\":\"node\",\"window\":{\"t_a\":0,\"t_b\":100}}"},
        {"aggregate_events",
         "{\"group_by\":[{\"dim\":\"endpoint\",\"role\":\"src\"}],"
         "\"aggregates\":[{\"agg\":\"count\"}]" WINDOW}};
    static const int totals[3][2] = {{4, 5}, {3, 4}, {3, 4}};
    const mk_write_options options = {.allow_reserved = true};
    const mk_op ops[] = {{.kind = MK_OP_ASSERT_NODE, .uid = MK_STR("mn:1"), .label = MK_STR("Note"),
                          .props = MK_STR("{}"), .vt_e = MK_OPEN_END, .source = MK_STR("ingest"),
                          .provenance_null = true},
                         {.kind = MK_OP_ASSERT_EDGE, .src = MK_STR("mn:1"), .dst = MK_STR("a"),
                          .rel_type = MK_STR("ABOUT"), .disc = MK_STR(""), .props = MK_STR("{}"), .vt_s = 7,
                          .vt_e = 9, .source = MK_STR("ingest"), .provenance_null = true}};
    world w;
    mk_err err;
    make_f(&w);
    world_must(mk_store_write(w.store, ops, 2, &options, NULL, &err), &err);
    for (int sealed = 0; sealed < 2; sealed++) {
        for (int i = 0; i < 6; i++) {
            char total[40];
            const mk_call_options call = {.mask = i % 2 ? MK_SHOW_USER | MK_SHOW_NOTES : 0};
            world_must(mk_call_run(w.store, NULL, mk_str_of(calls[i / 2][0]), mk_str_of(calls[i / 2][1]),
                                   &call, &w.arena, &w.result, &err),
                       &err);
            snprintf(total, sizeof total, "\"rows_total\":%d,", totals[i / 2][i % 2]);
            mk_buf_c(&w.result.payload.text, '\0');
            if (strstr(w.result.payload.text.p, total) == NULL)
                fail_msg("expected %s in %s", total, w.result.payload.text.p);
        }
        world_must(mk_store_checkpoint(w.store, &err), &err);
    }
    world_close(&w);
}

/* Goal: pages inside one large batch, whose rows have one transaction time, join to the whole. */
static void test_version_history__pages_cut_a_batch_by_vid(void **state)
{
    (void)state;
    enum { ROWS = 3000, PAGE = 700 };
    world w;
    mk_err err;
    char args[200], last[24] = "";
    size_t seen = 0;
    world_open(&w, 0);
    ingest_star(&w, 0, ROWS);
    for (size_t offset = 0; offset < ROWS; offset += PAGE) {
        mk_json *payload;
        snprintf(args, sizeof args, "{\"cursor\":\"%zu\",\"kind\":\"edge\",\"limit\":%d,"
            "\"window\":{\"t_a\":0,"
                 "\"t_b\":100}}", offset, PAGE);
        world_must(world_try(&w, "version_history", args, 0, &err), &err);
        const mk_arena_mark mark = mk_arena_save(&w.arena);
        world_must(mk_json_parse(&w.arena, mk_buf_view(&w.result.payload.text), NULL, &payload, &err), &err);
        const mk_json *rows = mk_json_get(payload, "rows");
        for (size_t i = 0; i < rows->n; i++, seen++) {
            const mk_str vid = mk_json_get(&rows->items[i], "vid")->text;
            assert_true(memcmp(last, vid.p, sizeof last) < 0);
            memcpy(last, vid.p, sizeof last);
        }
        mk_arena_rewind(&w.arena, mark);
    }
    assert_int_equal(seen, ROWS);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mean__integers_that_divide_stay_integers),
        cmocka_unit_test(test_mean__integers_may_have_any_size),
        cmocka_unit_test(test_mean__a_float_makes_one_rounding_of_an_exact_sum),
        cmocka_unit_test(test_mean__a_sum_beyond_doubles_is_not_finite),
        cmocka_unit_test(test_mean__parts_put_together_round_like_the_whole),
        cmocka_unit_test(test_mean__integers_add_up_as_on_paper),
        cmocka_unit_test(test_aggregate__fixture_f_gives_the_printed_vectors),
        cmocka_unit_test(test_aggregate__pairs_show_the_order_of_registration),
        cmocka_unit_test(test_aggregate__the_first_of_equal_values_is_shown),
        cmocka_unit_test(test_aggregate__names_of_properties_may_hold_anything),
        cmocka_unit_test(test_aggregate__what_a_rule_leaves_out_is_said),
        cmocka_unit_test(test_aggregate__too_many_buckets_name_the_stride_that_passes),
        cmocka_unit_test(test_aggregate__the_cap_on_groups_counts_the_groups_that_are_shown),
        cmocka_unit_test(test_aggregate__a_whole_result_keeps_to_the_row_budget),
        cmocka_unit_test(test_aggregate__months_are_those_of_the_gregorian_calendar),
        cmocka_unit_test(test_aggregate__periods_are_those_of_the_calendar_and_of_the_offset),
        cmocka_unit_test(test_aggregate__periods_need_their_own_unit_and_have_a_limit),
        cmocka_unit_test(test_aggregate__memory_that_runs_out_anywhere_is_an_error),
        cmocka_unit_test(test_aggregate__a_cancelled_call_ends_with_its_own_error),
        cmocka_unit_test(test_version_history__a_correction_closes_one_belief_and_opens_three),
        cmocka_unit_test(test_version_history__reserved_rows_need_the_mask),
        cmocka_unit_test(test_version_history__pages_cut_a_batch_by_vid),
    };
    return cmocka_run_group_tests_name("aggregate", tests, NULL, NULL);
}

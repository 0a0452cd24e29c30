/* test_claim_time.c — verdicts on orders, intervals, paths, patterns and beliefs. */
#include "../support/claimworld.h"

static void history(world *w)
{
    world_start(w);
    world_step(w, "s1", "snapshot_subgraph", "{\"as_of_tt\":500,\"limit\":77}", "{}", "[]",
               "{\"cursor\":null,\"edges\":[{\"dst\":\"b\",\"eid\":\"e1\",\"props\":{\"t\":5},\"src\":\"a\","
               "\"vt_e\":40,\"vt_s\":10},"
               "{\"dst\":\"c\",\"eid\":\"e2\",\"src\":\"b\",\"vt_e\":30,\"vt_s\":20},"
               "{\"dst\":\"d\",\"eid\":\"e3\",\"src\":\"c\",\"vt_e\":15,\"vt_s\":11}],"
               "\"nodes\":[{\"uid\":\"a\"}],\"nodes_total\":1}");
    static const char rows[] = "{\"cursor\":null,\"rows\":[{\"arrival\":20,\"edges\":["
                               "{\"dst\":\"b\",\"src\":\"a\",\"t\":12},"
                               "{\"dst\":\"c\",\"src\":\"b\",\"t\":9}],"
                               "\"hops\":2}],\"rows_total\":1,\"truncated\":false}";
    char deps[160];
    const mk_str paths = world_step(w, "s2", "temporal_paths", "{\"as_of_tt\":500}",
                                    "{\"rows\":[{\"reason\":\"top_k\",\"shown\":1,\"total\":3}]}", "[]",
                                    rows);
    snprintf(deps, sizeof deps, "[{\"call_digest\":\"%.*s\",\"step_id\":\"s2\"}]", MK_STR_ARG(paths));
    world_step(w, "s3", "compute", "{\"fn\":\"filter\"}", "{}", deps, rows);
    world_step(w, "s4", "compute", "{\"fn\":\"filter\"}", "{}", "[]", rows);
}

static void test_claim_time__allen_relations_and_instants(void **state)
{
    (void)state;
    world w;
    history(&w);
#define ORDER(a, rel, b) "{\"type\":\"ordering\",\"a\":" a ",\"b\":" b ",\"relation\":" rel \
    ",\"evidence\":[\"s1\"]}"
    expect(&w, ORDER("{\"start\":10,\"end\":40}", "\"contains\"", "{\"t_a\":20,\"t_b\":30}"), MK_SUPPORTED,
           NULL);
    expect(&w, ORDER("{\"start\":10,\"end\":40}", "\"during\"", "{\"t_a\":20,\"t_b\":30}"), MK_UNSUPPORTED,
           "contains");
    /* Two instants a microsecond apart are before each other and do not meet. */
    expect(&w, ORDER("{\"t\":10}", "\"before\"", "{\"t\":11}"), MK_SUPPORTED, NULL);
    expect(&w, ORDER("{\"t\":10}", "\"meets\"", "{\"t\":11}"), MK_UNSUPPORTED, NULL);
    expect(&w, ORDER("{\"t\":10}", "{\"within\":1}", "{\"t\":11}"), MK_SUPPORTED, NULL);
    expect(&w, ORDER("{\"t\":10}", "{\"within\":1}", "{\"t\":20}"), MK_UNSUPPORTED, NULL);
    /* 5 is a stored property, 77 an argument, 41 nothing, and 40 before 10 is no interval. */
    expect(&w, ORDER("{\"t\":5}", "\"before\"", "{\"t\":11}"), MK_UNVERIFIABLE, "ungrounded");
    expect(&w, ORDER("{\"t\":10}", "\"before\"", "{\"t\":77}"), MK_UNVERIFIABLE, "ungrounded");
    expect(&w, ORDER("{\"start\":10,\"end\":41}", "\"contains\"", "{\"t\":20}"), MK_UNVERIFIABLE,
           "ungrounded");
    expect(&w, ORDER("{\"start\":40,\"end\":10}", "\"before\"", "{\"t\":20}"), MK_UNVERIFIABLE, "malformed");
    expect(&w, ORDER("{\"t\":10}", "\"sometime\"", "{\"t\":11}"), MK_UNVERIFIABLE, "malformed");
#undef ORDER
    expect(&w,
           "{\"type\":\"ordering\",\"a\":{\"t\":10},\"b\":{\"t\":20},\"relation\":\"before\","
           "\"from\":\"s1.edges\",\"evidence\":[\"s1\"]}",
           MK_SUPPORTED, NULL);
    expect(&w,
           "{\"type\":\"ordering\",\"a\":{\"t\":10},\"b\":{\"t\":20},\"relation\":\"before\","
           "\"from\":\"s1.nodes\",\"evidence\":[\"s1\"]}",
           MK_UNVERIFIABLE, "ungrounded");
    world_end(&w);
}

static void test_claim_time__all_thirteen_relations_have_their_converse(void **state)
{
    (void)state;
    static const char *const names[] = {"before", "meets", "overlaps", "starts", "during", "finishes",
                                        "equals",
                                        "after", "met_by", "overlapped_by", "started_by", "contains",
                                            "finished_by"};
    /* a against [10,20): both ends of a run over enough places to see each. */
    world w;
    bool seen[13] = {false};
    world_start(&w);
    world_step(&w, "s1", "version_history", "{\"as_of_tt\":500}", "{}", "[]",
               "{\"rows\":[{\"t\":5},{\"t\":8},{\"t\":10},{\"t\":12},{\"t\":15},{\"t\":20},{\"t\":25},"
               "{\"t\":30}],\"rows_total\":8}");
    static const int at[] = {5, 8, 10, 12, 15, 20, 25, 30};
    for (size_t s = 0; s < 8; s++)
        for (size_t e = s + 1; e < 8; e++) {
            size_t holds = 0;
            for (size_t k = 0; k < 13; k++) {
                char claim[240];
                snprintf(claim, sizeof claim,
                         "{\"type\":\"ordering\",\"a\":{\"start\":%d,\"end\":%d},\"b\":{\"start\":10,"
                         "\"end\":20},"
                         "\"relation\":\"%s\",\"evidence\":[\"s1\"]}", at[s], at[e], names[k]);
                const mk_claim_result r = world_claim(&w, claim);
                assert_true(r.verdict == MK_SUPPORTED || r.verdict == MK_UNSUPPORTED);
                holds += r.verdict == MK_SUPPORTED;
                seen[k] |= r.verdict == MK_SUPPORTED;
            }
            assert_int_equal(holds, 1);
        }
    for (size_t k = 0; k < 13; k++)
        assert_true(seen[k]);
    world_end(&w);
}

static void test_claim_time__an_interval_is_that_of_its_row(void **state)
{
    (void)state;
    world w;
    history(&w);
#define AT(s, e, path) "{\"type\":\"interval\",\"interval\":{\"start\":" s ",\"end\":" e "},\"from\":\"" \
    path "\",\"evidence\":[\"s1\"]}"
    expect(&w, AT("20", "30", "s1.edges[1]"), MK_SUPPORTED, NULL);
    expect(&w, AT("20", "31", "s1.edges[1]"), MK_UNSUPPORTED, "mismatch");
    expect(&w, AT("20", "30", "s1.edges[0]"), MK_UNSUPPORTED, "mismatch");
    expect(&w, AT("20", "30", "s1.edges"), MK_UNVERIFIABLE, "no interval");
    expect(&w, AT("30", "20", "s1.edges[1]"), MK_UNVERIFIABLE, "malformed");
    expect(&w,
           "{\"type\":\"interval\",\"interval\":{\"t\":20},\"from\":\"s1.edges[1].vt_s\","
           "\"evidence\":[\"s1\"]}",
           MK_SUPPORTED, NULL);
#undef AT
    world_end(&w);
}

static void test_claim_time__every_hop_of_a_path_is_checked(void **state)
{
    (void)state;
    world w;
    history(&w);
#define PATH(hops, from, step) "{\"type\":\"path\",\"hops\":[" hops "],\"from\":\"" from \
    "\",\"evidence\":[\"" step "\"]}"
#define HOP(a, b, t) "{\"src\":\"" a "\",\"dst\":\"" b "\",\"t\":" t "}"
    /* One of the paths that the operator lists, whatever their edges' starts; more paths do no harm. */
    expect(&w, PATH(HOP("a", "b", "12") "," HOP("b", "c", "9"), "s2.rows[0]", "s2"), MK_SUPPORTED, NULL);
    expect(&w, PATH(HOP("a", "b", "12") "," HOP("b", "c", "9"), "s2.rows", "s2"), MK_SUPPORTED, NULL);
    expect(&w, PATH(HOP("a", "b", "12"), "s2.rows[0]", "s2"), MK_UNSUPPORTED, "mismatch");
    expect(&w, PATH(HOP("a", "b", "12") "," HOP("c", "b", "9"), "s2.rows[0]", "s2"), MK_UNSUPPORTED,
           "does not start");
    /* Loose edges: to c at 20, and the edge to d had ended by then. */
    expect(&w, PATH(HOP("a", "b", "10") "," HOP("b", "c", "20"), "s1.edges", "s1"), MK_SUPPORTED, NULL);
    expect(&w, PATH(HOP("a", "b", "10") "," HOP("b", "c", "20") "," HOP("c", "d", "11"), "s1.edges", "s1"),
           MK_UNSUPPORTED, "mismatch");
    expect(&w, PATH(HOP("a", "c", "10"), "s1.edges", "s1"), MK_UNSUPPORTED, "mismatch");
    expect(&w, PATH("", "s1.edges", "s1"), MK_UNVERIFIABLE, "malformed");
    /* Computed rows: from a path that a step found, and from nothing. */
    expect(&w, PATH(HOP("a", "b", "12") "," HOP("b", "c", "9"), "s3.rows[0]", "s3"), MK_SUPPORTED, NULL);
    expect(&w, PATH(HOP("a", "b", "12") "," HOP("b", "c", "9"), "s4.rows[0]", "s4"), MK_UNSUPPORTED,
           "mismatch");
#undef PATH
#undef HOP
    world_end(&w);
}

/* ---- patterns ---- */

#define SERIES_ARGS "{\"as_of_tt\":500,\"limit\":null,\"metric\":\"edge_event_count\"," \
    "\"stride\":10,\"window\":{\"t_a\":0,\"t_b\":60}}"
#define CLAIM_ARGS "{\"metric\":\"edge_event_count\",\"stride\":10,\"window\":{\"t_a\":0,\"t_b\":60}}"

static void put_series(world *w, const char *id, const char *op, const char *args, const int *values,
                       size_t count, const char *gaps)
{
    mk_buf rows;
    mk_buf_init(&rows, &mk_alloc_default);
    mk_buf_z(&rows, "{\"cursor\":null,\"n_buckets\":6,\"rows\":[");
    for (size_t i = 0; i < count; i++)
        mk_buf_printf(&rows, "%s{\"t_a\":%zu,\"t_b\":%zu,\"value\":%d}", i > 0 ? "," : "", i * 10,
                      i * 10 + 10, values[i]);
    mk_buf_printf(&rows, "],\"rows_total\":%zu,\"truncated\":false}", count);
    mk_buf_c(&rows, '\0');
    world_step(w, id, op, args, gaps, "[]", rows.p);
    mk_buf_free(&rows);
}

static void test_claim_time__trend_and_concentration_without_a_store(void **state)
{
    (void)state;
    static const int rising[] = {1, 2, 3, 9, 5, 6}, flat[] = {4, 4, 4, 4, 4, 4};
    world w;
    world_start(&w);
    put_series(&w, "s1", "graph_metric_timeseries", SERIES_ARGS, rising, 6, "{}");
    put_series(&w, "s2", "graph_metric_timeseries", SERIES_ARGS, flat, 6, "{}");
    put_series(&w, "s3", "graph_metric_timeseries", SERIES_ARGS, rising, 6,
               "{\"rows\":[{\"reason\":\"page\",\"shown\":6,\"total\":9}]}");
#define PATTERN(assertion, more, s, e, step) \
    "{\"type\":\"pattern\",\"assertion\":\"" assertion "\"," more "\"interval\":{\"start\":" s ",\"end\":" e \
    "},\"from\":\"" step ".rows\",\"evidence\":[\"" step "\"],\"op\":\"graph_metric_timeseries\",\"args\":" \
    CLAIM_ARGS "}"
#define UP "\"direction\":\"increasing\","
#define DOWN "\"direction\":\"decreasing\","
    expect(&w, PATTERN("trend", UP, "0", "60", "s1"), MK_SUPPORTED, NULL);
    expect(&w, PATTERN("trend", DOWN, "0", "60", "s1"), MK_UNSUPPORTED, "higher");
    /* Judged on the interval and not on what surrounds it. */
    expect(&w, PATTERN("trend", UP, "30", "60", "s1"), MK_UNVERIFIABLE, "too_short");
    expect(&w, PATTERN("trend", UP, "0", "60", "s2"), MK_UNSUPPORTED, "flat");
    expect(&w, PATTERN("trend", DOWN, "0", "60", "s2"), MK_UNSUPPORTED, "flat");
    expect(&w, PATTERN("trend", "\"direction\":\"sideways\",", "0", "60", "s1"), MK_UNVERIFIABLE,
           "malformed");
    expect(&w, PATTERN("trend", UP, "0", "60", "s3"), MK_WEAKLY_SUPPORTED, "page");
    expect(&w, PATTERN("concentration", "", "30", "40", "s1"), MK_SUPPORTED, NULL);
    expect(&w, PATTERN("concentration", "", "20", "30", "s1"), MK_UNSUPPORTED, "elsewhere");
    expect(&w, PATTERN("concentration", "", "0", "10", "s2"), MK_UNSUPPORTED, "flat");
    expect(&w, PATTERN("concentration", "", "30", "40", "s3"), MK_WEAKLY_SUPPORTED, "page");
    expect(&w, PATTERN("wave", "", "30", "40", "s1"), MK_UNVERIFIABLE, "malformed");
#undef PATTERN
    world_end(&w);
}

#define BURST_ARGS "{\"as_of_tt\":500,\"stride\":10,\"target\":{\"kind\":\"node_activity\"," \
    "\"rel_type\":null,\"uid\":\"a\"},\"window\":{\"t_a\":0,\"t_b\":60}}"
#define BURST(s, e, from, args) \
    "{\"type\":\"temporal_pattern\",\"assertion\":\"burst\",\"interval\":{\"start\":" s ",\"end\":" e \
    "},\"from\":\"" \
    from "\",\"evidence\":[\"s1\"],\"op\":\"burst_detection\",\"args\":" args "}"

static void test_claim_time__a_burst_is_of_its_own_call(void **state)
{
    (void)state;
    world w;
    world_start(&w);
    world_step(&w, "s1", "burst_detection", BURST_ARGS, "{}", "[]",
               "{\"cursor\":null,\"n_buckets\":6,\"rows\":[{\"score\":9.0,\"t_a\":30,\"t_b\":40,"
               "\"value\":9.0},"
               "{\"score\":4.0,\"t_a\":50,\"t_b\":60,\"value\":7.0}],\"rows_total\":2,\"truncated\":false}");
#define OF_A "{\"stride\":10,\"target\":{\"kind\":\"node_activity\",\"uid\":\"a\"},\"window\":{\"t_a\":0," \
    "\"t_b\":60}}"
    expect(&w, BURST("30", "40", "s1.rows[0]", OF_A), MK_SUPPORTED, NULL);
    expect(&w, BURST("30", "40", "s1.rows", OF_A), MK_SUPPORTED, NULL);
    /* Moved, even on to another burst: `from` says which one is meant. */
    expect(&w, BURST("60", "70", "s1.rows[0]", OF_A), MK_UNSUPPORTED, "mismatch");
    expect(&w, BURST("50", "60", "s1.rows[0]", OF_A), MK_UNSUPPORTED, "mismatch");
    /* Another node, another grid, another method, another belief. */
    expect(&w,
           BURST("30", "40", "s1.rows[0]",
                 "{\"stride\":10,\"target\":{\"kind\":\"node_activity\",\"uid\":\"b\"},\"window\":{\"t_a\":0,"
                 "\"t_b\":60}}"),
           MK_UNVERIFIABLE, "other_call");
    expect(&w,
           BURST("30", "40", "s1.rows[0]",
                 "{\"stride\":5,\"target\":{\"kind\":\"node_activity\",\"uid\":\"a\"},\"window\":{\"t_a\":0,"
                 "\"t_b\":60}}"),
           MK_UNVERIFIABLE, "other_call");
    expect(&w,
           BURST("30", "40", "s1.rows[0]",
                 "{\"method\":\"ratio\",\"stride\":10,\"target\":{\"kind\":\"node_activity\",\"uid\":\"a\"},"
                 "\"window\":{\"t_a\":0,\"t_b\":60}}"),
           MK_UNVERIFIABLE, "other_call");
    expect(&w,
           BURST("30", "40", "s1.rows[0]",
                 "{\"as_of_tt\":400,\"stride\":10,\"target\":{\"kind\":\"node_activity\",\"uid\":\"a\"},"
                 "\"window\":{\"t_a\":0,\"t_b\":60}}"),
           MK_UNVERIFIABLE, "other_belief");
    /* A claim of the reference's kind means the parameters of the step it cites. */
    expect(&w,
           "{\"type\":\"temporal_pattern\",\"assertion\":\"burst\",\"interval\":{\"start\":30,\"end\":40},"
           "\"evidence\":[\"s1\"]}",
           MK_SUPPORTED, NULL);
    expect(&w,
           "{\"type\":\"temporal_pattern\",\"assertion\":\"trend\",\"interval\":{\"start\":30,\"end\":40},"
           "\"evidence\":[\"s1\"]}",
           MK_UNVERIFIABLE, "no_store");
    world_end(&w);
}

/* A store with one burst; notes what it was asked. */
typedef struct fake_store {
    char args[400];
    int64_t tt;
    int start;
} fake_store;

static mk_code fake_run(void *ctx, mk_str op, mk_str args, int64_t tt, mk_arena *arena, mk_str *payload,
                        mk_err *err)
{
    fake_store *s = ctx;
    char text[300];
    (void)op;
    (void)err;
    s->tt = tt;
    snprintf(s->args, sizeof s->args, "%.*s", MK_STR_ARG(args));
    snprintf(text, sizeof text,
             "{\"cursor\":null,\"n_buckets\":6,\"rows\":[{\"score\":9.0,\"t_a\":%d,\"t_b\":%d,"
             "\"value\":9.0}],"
             "\"rows_total\":1,\"truncated\":false}", s->start, s->start + 10);
    *payload = mk_arena_copy(arena, mk_str_of(text));
    return MK_OK;
}

static void test_claim_time__patterns_are_run_again(void **state)
{
    (void)state;
    fake_store store = {.start = 30};
    world w;
    world_start(&w);
    world_step(&w, "s1", "burst_detection", BURST_ARGS, "{}", "[]",
               "{\"cursor\":null,\"n_buckets\":6,\"rows\":[{\"score\":9.0,\"t_a\":30,\"t_b\":40,"
               "\"value\":9.0}],"
               "\"rows_total\":1,\"truncated\":false}");
    w.reexec = fake_run;
    w.reexec_ctx = &store;
    expect(&w, BURST("30", "40", "s1.rows[0]", OF_A), MK_SUPPORTED, NULL);
    assert_int_equal(store.tt, WORLD_TT);
    assert_string_equal(store.args, OF_A);
    /* Nothing cited is such a call: the grid is anchored at the interval, ten spans on both sides. */
    expect(&w,
           "{\"type\":\"pattern\",\"assertion\":\"concentration\",\"interval\":{\"start\":25,\"end\":35},"
           "\"evidence\":[\"s1\"]}",
           MK_UNSUPPORTED, "flat");
    assert_string_equal(store.args,
                        "{\"metric\":\"edge_event_count\",\"stride\":10,\"window\":{\"t_a\":5,\"t_b\":135}}");
    /* The store disagrees with the trace. */
    store.start = 20;
    expect(&w, BURST("30", "40", "s1.rows[0]", OF_A), MK_UNSUPPORTED, "differs");
    world_end(&w);
}

/* ---- beliefs ---- */

static void beliefs(world *w)
{
    world_start(w);
#define AT(id, tt, value) world_step(w, id, "count_things", "{\"as_of_tt\":" tt ",\"uid\":\"a\"}", "{}", \
    "[]", "{\"truncated\":false,\"value\":" value "}")
    AT("s1", "100", "7");
    AT("s2", "500", "9");
    AT("s3", "299", "7");
    AT("s4", "300", "9");
#undef AT
    world_step(w, "s5", "version_history", "{\"as_of_tt\":500}", "{}", "[]",
               "{\"rows\":[{\"tt_s\":400,\"uid\":\"a\"}],\"rows_total\":1}");
}

static void test_claim_time__a_belief_is_of_its_time(void **state)
{
    (void)state;
    world w;
    beliefs(&w);
#define BELIEF(tt, value) "{\"type\":\"belief\",\"as_of_tt\":" tt ",\"evidence\":[\"s1\"]," \
    "\"from\":\"s1.value\",\"claim\":{\"type\":\"count\",\"value\":" value "}}"
    expect(&w, BELIEF("100", "7"), MK_SUPPORTED, NULL);
    expect(&w, BELIEF("100", "8"), MK_UNSUPPORTED, "mismatch");
    expect(&w, BELIEF("500", "7"), MK_UNSUPPORTED, "other_belief");
#undef BELIEF
    world_end(&w);
}

static void test_claim_time__a_change_of_belief_has_two_values_and_a_cause(void **state)
{
    (void)state;
    world w;
    beliefs(&w);
#define CHANGE(before, after, cause, evidence) \
    "{\"type\":\"belief_change\",\"tt_before\":100,\"tt_after\":500,\"before\":" before ",\"after\":" after \
    ",\"cause_tt\":" cause ",\"from\":\"s2.value\",\"evidence\":[" evidence "]}"
#define ALL "\"s1\",\"s2\",\"s3\",\"s4\""
    expect(&w, CHANGE("7", "9", "300", ALL), MK_SUPPORTED, NULL);
    expect(&w, CHANGE("7", "9", "null", ALL), MK_SUPPORTED, NULL);
    expect(&w, CHANGE("8", "9", "300", ALL), MK_UNSUPPORTED, "mismatch");
    expect(&w, CHANGE("7", "10", "300", ALL), MK_UNSUPPORTED, "mismatch");
    expect(&w, CHANGE("9", "9", "300", ALL), MK_UNSUPPORTED, "same");
    expect(&w, CHANGE("7", "9", "600", ALL), MK_UNSUPPORTED, "between");
    /* 299 still said 7 and so did its predecessor: it made no difference. */
    expect(&w, CHANGE("7", "9", "299", ALL), MK_UNSUPPORTED, "not made at");
    /* A transaction that is only there proves nothing; one that is not there is not grounded. */
    expect(&w, CHANGE("7", "9", "400", "\"s1\",\"s2\",\"s5\""), MK_WEAKLY_SUPPORTED, "cause_unproved");
    expect(&w, CHANGE("7", "9", "401", "\"s1\",\"s2\",\"s5\""), MK_UNVERIFIABLE, "ungrounded");
    expect(&w, CHANGE("7", "9", "300", "\"s2\""), MK_UNVERIFIABLE, "missing");
    world_end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_claim_time__allen_relations_and_instants),
        cmocka_unit_test(test_claim_time__all_thirteen_relations_have_their_converse),
        cmocka_unit_test(test_claim_time__an_interval_is_that_of_its_row),
        cmocka_unit_test(test_claim_time__every_hop_of_a_path_is_checked),
        cmocka_unit_test(test_claim_time__trend_and_concentration_without_a_store),
        cmocka_unit_test(test_claim_time__a_burst_is_of_its_own_call),
        cmocka_unit_test(test_claim_time__patterns_are_run_again),
        cmocka_unit_test(test_claim_time__a_belief_is_of_its_time),
        cmocka_unit_test(test_claim_time__a_change_of_belief_has_two_values_and_a_cause),
    };
    return cmocka_run_group_tests_name("claim_time", tests, NULL, NULL);
}

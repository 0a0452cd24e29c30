/* test_claim.c — verdicts on claims about numbers, values, identifiers and lists. */
#include "../support/claimworld.h"

/* The store of the agent spec, 19: a->b at 20, b->c at 30. s9 is s2 cut to its first row. */
static void spread(world *w)
{
    world_start(w);
    world_step(w, "s1", "resolve_entities", "{\"as_of_tt\":500,\"query\":\"a\"}", "{}", "[]",
               "{\"cursor\":null,\"rows\":[{\"label\":\"Node\",\"match\":0,\"name\":null,\"uid\":\"a\"}],"
               "\"rows_total\":1,\"truncated\":false}");
    const mk_str reach = world_step(
        w, "s2", "temporal_reachability",
            "{\"as_of_tt\":500,\"src\":\"a\",\"window\":{\"t_a\":0,\"t_b\":31}}", "{}", "[]",
        "{\"cursor\":null,\"rows\":[{\"earliest_arrival\":20,\"uid\":\"b\"},{\"earliest_arrival\":30,"
        "\"uid\":\"c\"}],"
        "\"rows_total\":2,\"truncated\":false}");
    char deps[160];
    snprintf(deps, sizeof deps, "[{\"call_digest\":\"%.*s\",\"step_id\":\"s2\"}]", MK_STR_ARG(reach));
    world_step(w, "s3", "compute", "{\"fn\":\"count\"}", "{}", deps, "{\"truncated\":false,\"value\":2}");
    world_failed_step(w, "s4", "compute");
    world_step(w, "s9", "temporal_reachability",
               "{\"as_of_tt\":500,\"limit\":1,\"src\":\"a\",\"window\":{\"t_a\":0,\"t_b\":31}}",
               "{\"rows\":[{\"reason\":\"page\",\"shown\":1,\"total\":2}]}", "[]",
               "{\"cursor\":\"x\",\"rows\":[{\"earliest_arrival\":20,\"uid\":\"b\"}],\"rows_total\":2,"
               "\"truncated\":true}");
}

/* Source: agent spec, 19.6. */
static void test_claim__the_answer_of_the_spec_is_supported(void **state)
{
    (void)state;
    world w;
    spread(&w);
    const mk_answer_report r = world_verify(
        &w, "{\"text\":\"Starting at a, 2 nodes are reached; b comes first, before c.\",\"claims\":["
            "{\"id\":\"c1\",\"type\":\"count\",\"value\":2,\"from\":\"s3.value\",\"evidence\":[\"s3\"]},"
            "{\"id\":\"c2\",\"type\":\"entity\",\"uids\":[\"b\",\"c\"],\"evidence\":[\"s2\"]},"
            "{\"id\":\"c3\",\"type\":\"ordering\",\"a\":{\"t\":20},\"b\":{\"t\":30},\"relation\":\"before\","
            "\"evidence\":[\"s2\"]}]}");
    assert_true(r.schema_valid);
    assert_int_equal(r.claim_count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(r.claims[i].verdict, MK_SUPPORTED);
    assert_true(r.ucr == 0);
    /* Of 2, a, b and c only a has no claim. */
    assert_true(r.coverage == 0.75);
    assert_int_equal(r.uncovered_count, 1);
    assert_true(mk_str_eq(r.uncovered[0], MK_STR("a")));
    world_end(&w);
}

/* Source: agent spec, 19.7, every line. */
static void test_claim__the_table_of_rejected_claims(void **state)
{
    (void)state;
    static const struct {
        const char *claim;
        mk_verdict verdict;
        const char *says;
    } lines[] = {
        {"{\"type\":\"count\",\"value\":3,\"from\":\"s3.value\",\"evidence\":[\"s3\"]}", MK_UNSUPPORTED,
         "3 is not among the candidates [2]"},
        {"{\"type\":\"count\",\"value\":\"2\",\"from\":\"s3.value\",\"evidence\":[\"s3\"]}", MK_UNSUPPORTED,
         "text never equals a number"},
        {"{\"type\":\"count\",\"value\":2,\"from\":\"s3.value\",\"evidence\":[\"s2\"]}", MK_UNVERIFIABLE,
         "uncited"},
        {"{\"type\":\"count\",\"value\":2,\"from\":\"s3\",\"evidence\":[\"s3\"]}", MK_UNVERIFIABLE,
         "not_a_path"},
        {"{\"type\":\"entity\",\"uids\":[\"b\",\"c\",\"d\"],\"evidence\":[\"s2\"]}", MK_UNSUPPORTED,
         "not in the evidence: d"},
        {"{\"type\":\"entity\",\"uids\":[],\"evidence\":[\"s2\"]}", MK_UNVERIFIABLE, "nothing is claimed"},
        {"{\"type\":\"ordering\",\"a\":{\"t\":20},\"b\":{\"t\":30},\"relation\":\"after\","
         "\"evidence\":[\"s2\"]}",
         MK_UNSUPPORTED, "the relation is before"},
        {"{\"type\":\"ordering\",\"a\":{\"t\":20},\"b\":{\"t\":29},\"relation\":\"before\","
         "\"evidence\":[\"s2\"]}",
         MK_UNVERIFIABLE, "29 is no time in the evidence"},
        {"{\"type\":\"ordering\",\"a\":{\"t\":20},\"b\":{\"t\":31},\"relation\":\"before\","
         "\"evidence\":[\"s2\"]}",
         MK_UNVERIFIABLE, "31 is no time in the evidence"},
        {"{\"type\":\"count\",\"value\":2,\"evidence\":[\"s4\"]}", MK_UNVERIFIABLE, "no evidence"},
        {"{\"type\":\"entity\",\"uids\":[\"b\"],\"evidence\":[\"s9\"]}", MK_WEAKLY_SUPPORTED, "page"},
    };
    world w;
    spread(&w);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        expect(&w, lines[i].claim, lines[i].verdict, lines[i].says);
    const mk_answer_report r =
        world_verify(&w,
                     "{\"text\":\"\",\"claims\":[{\"id\":\"c1\",\"type\":\"count\",\"value\":2,"
                     "\"evidence\":[]}]}");
    assert_false(r.schema_valid);
    assert_true(r.ucr == 1);
    world_end(&w);
}

static void test_claim__completeness_is_of_the_field_that_was_read(void **state)
{
    (void)state;
    world w;
    spread(&w);
#define AT(type, rest, from) "{\"type\":\"" type "\"," rest ",\"from\":\"" from "\",\"evidence\":[\"s9\"]}"
    expect(&w, AT("count", "\"value\":2", "s9.rows_total"), MK_SUPPORTED, NULL);
    expect(&w, AT("count", "\"value\":1", "s9.rows"), MK_WEAKLY_SUPPORTED, "page");
    expect(&w, AT("count", "\"value\":2", "s9.rows"), MK_UNSUPPORTED, "mismatch");
    /* "At least" and "there is" survive the page, "exactly", "at most" and "none" do not. */
    expect(&w, AT("lower_bound", "\"value\":1", "s9.rows"), MK_SUPPORTED, NULL);
    expect(&w, AT("upper_bound", "\"value\":5", "s9.rows"), MK_WEAKLY_SUPPORTED, "page");
    expect(&w, AT("upper_bound", "\"value\":1", "s9.rows"), MK_UNSUPPORTED, "more than 1");
    expect(&w, AT("upper_bound", "\"value\":5", "s9.rows_total"), MK_SUPPORTED, NULL);
    expect(&w, AT("entity", "\"uids\":[\"b\"]", "s9.rows"), MK_SUPPORTED, NULL);
    expect(&w, AT("value", "\"value\":\"b\"", "s9.rows[0].uid"), MK_SUPPORTED, NULL);
    expect(&w, AT("set_equal", "\"uids\":[\"b\"]", "s9.rows"), MK_WEAKLY_SUPPORTED, "page");
    expect(&w, AT("absence", "\"where\":{\"field\":\"uid\",\"cmp\":\"eq\",\"value\":\"c\"}", "s9.rows"),
           MK_WEAKLY_SUPPORTED, "page");
    expect(&w, AT("absence", "\"where\":{\"field\":\"uid\",\"cmp\":\"eq\",\"value\":\"b\"}", "s9.rows"),
           MK_UNSUPPORTED, "mismatch");
    expect(&w, AT("boolean", "\"value\":true", "s9.rows"), MK_SUPPORTED, NULL);
    expect(&w, AT("comparison", "\"left\":\"s9.rows\",\"cmp\":\"gt\",\"right\":0", "s9.rows"), MK_SUPPORTED,
           NULL);
    expect(&w, AT("comparison", "\"left\":\"s9.rows\",\"cmp\":\"lt\",\"right\":2", "s9.rows"),
           MK_WEAKLY_SUPPORTED, "page");
    expect(&w, AT("ratio", "\"num\":\"s9.rows\",\"den\":\"s9.rows_total\",\"value\":0.5", "s9.rows"),
           MK_WEAKLY_SUPPORTED, "page");
#undef AT
    w.no_completeness = true;
    expect(&w, "{\"type\":\"count\",\"value\":1,\"from\":\"s9.rows\",\"evidence\":[\"s9\"]}", MK_SUPPORTED,
           NULL);
    world_end(&w);
}

/* A cut that the call record does not own up to is seen in the payload. */
static void test_claim__an_undeclared_cut_is_seen(void **state)
{
    (void)state;
    world w;
    world_start(&w);
    world_step(&w, "s1", "version_history", "{\"as_of_tt\":500,\"cursor\":\"abc\"}", "{}", "[]",
               "{\"cursor\":null,\"rows\":[{\"uid\":\"z\",\"vt_s\":5}],"
               "\"rows_total\":7,\"truncated\":false}");
    expect(&w, "{\"type\":\"count\",\"value\":1,\"from\":\"s1.rows\",\"evidence\":[\"s1\"]}",
           MK_WEAKLY_SUPPORTED, "offset");
    expect(&w, "{\"type\":\"value\",\"value\":\"z\",\"from\":\"s1.rows[0].uid\",\"evidence\":[\"s1\"]}",
           MK_WEAKLY_SUPPORTED, "offset");
    expect(&w, "{\"type\":\"count\",\"value\":7,\"from\":\"s1.rows_total\",\"evidence\":[\"s1\"]}",
           MK_SUPPORTED, NULL);
    world_end(&w);
}

static void test_claim__numbers_are_compared_exactly(void **state)
{
    (void)state;
    world w;
    world_start(&w);
    world_step(&w, "s1", "aggregate_events", "{\"as_of_tt\":500}", "{}", "[]",
               "{\"cursor\":null,\"rows\":[{\"big\":9007199254740993,\"share\":0.3,\"flag\":true}],"
               "\"rows_total\":1,"
               "\"truncated\":false}");
#define AT(value, path) "{\"type\":\"value\",\"value\":" value ",\"from\":\"s1.rows[0]." path \
    "\",\"evidence\":[\"s1\"]}"
    expect(&w, AT("9007199254740993", "big"), MK_SUPPORTED, NULL);
    expect(&w, AT("9007199254740992", "big"), MK_UNSUPPORTED, NULL);
    expect(&w, AT("9007199254740994", "big"), MK_UNSUPPORTED, NULL);
    expect(&w, AT("0.30000000000000004", "share"), MK_SUPPORTED, NULL);
    expect(&w, AT("0.3001", "share"), MK_UNSUPPORTED, NULL);
    /* true is no number. */
    expect(&w, AT("1", "flag"), MK_UNSUPPORTED, NULL);
    expect(&w, AT("true", "flag"), MK_SUPPORTED, NULL);
    expect(&w, AT("null", "flag"), MK_UNVERIFIABLE, "no_value");
    /* 1.0 is 1. */
    expect(&w, "{\"type\":\"count\",\"value\":1.0,\"from\":\"s1.rows_total\",\"evidence\":[\"s1\"]}",
           MK_SUPPORTED, NULL);
#undef AT
    world_end(&w);
}

static void test_claim__identifiers_come_from_fields_for_identifiers(void **state)
{
    (void)state;
    world w;
    world_start(&w);
    const mk_str call = world_step(
        &w, "s1", "entity_history", "{\"as_of_tt\":500,\"uid\":\"asked\"}", "{}", "[]",
        "{\"cursor\":null,\"rows\":[{\"label\":\"Person\",\"props\":{\"uid\":\"stored\",\"t\":77},"
        "\"source\":\"ingest\","
        "\"tt_s\":3,\"uid\":\"ada\",\"vt_s\":10,\"vt_e\":20}],\"rows_total\":1,\"truncated\":false}");
    char deps[160];
    snprintf(deps, sizeof deps, "[{\"call_digest\":\"%.*s\",\"step_id\":\"s1\"}]", MK_STR_ARG(call));
    world_step(&w, "s2", "compute", "{\"fn\":\"union\",\"input\":[\"ada\"],\"other\":[\"made up\"]}", "{}",
               deps, "{\"cursor\":null,\"rows\":[\"ada\",\"made up\"],\"rows_total\":2,\"truncated\":false}");
    world_step(&w, "s3", "compute", "{\"fn\":\"union\",\"input\":[\"zed\"],\"other\":[]}", "{}", "[]",
               "{\"cursor\":null,\"rows\":[\"zed\"],\"rows_total\":1,\"truncated\":false}");
    static const char *const not_ids[] = {"asked", "stored", "Person", "ingest", "entity_history", "s1", ""};
    expect(&w, "{\"type\":\"entity\",\"uids\":[\"ada\"],\"evidence\":[\"s1\"]}", MK_SUPPORTED, NULL);
    for (size_t i = 0; i < sizeof not_ids / sizeof *not_ids; i++) {
        char claim[120];
        snprintf(claim, sizeof claim, "{\"type\":\"entity\",\"uids\":[\"%s\"],\"evidence\":[\"s1\"]}",
                 not_ids[i]);
        expect(&w, claim, MK_UNSUPPORTED, "not_found");
    }
    expect(&w,
           "{\"type\":\"entity\",\"uids\":[\"stored\"],\"from\":\"s1.rows[0].props.uid\","
           "\"evidence\":[\"s1\"]}",
           MK_UNSUPPORTED, "not_ids");
    /* What a computation was given does not become an identifier by passing through it. */
    expect(&w, "{\"type\":\"entity\",\"uids\":[\"ada\"],\"from\":\"s2.rows\",\"evidence\":[\"s2\"]}",
           MK_SUPPORTED, NULL);
    expect(&w, "{\"type\":\"entity\",\"uids\":[\"made up\"],\"from\":\"s2.rows\",\"evidence\":[\"s2\"]}",
           MK_UNSUPPORTED, "not_found");
    expect(&w, "{\"type\":\"set_equal\",\"uids\":[\"zed\"],\"from\":\"s3.rows\",\"evidence\":[\"s3\"]}",
           MK_UNVERIFIABLE, "uncited");
    world_end(&w);
}

static void test_claim__a_set_is_exactly_that_set(void **state)
{
    (void)state;
    world w;
    spread(&w);
#define SET(uids) "{\"type\":\"set_equal\",\"uids\":" uids ",\"from\":\"s2.rows\",\"evidence\":[\"s2\"]}"
    expect(&w, SET("[\"b\",\"c\"]"), MK_SUPPORTED, NULL);
    expect(&w, SET("[\"c\",\"b\",\"b\"]"), MK_SUPPORTED, NULL);
    expect(&w, SET("[\"b\"]"), MK_UNSUPPORTED, "left out: c");
    expect(&w, SET("[\"b\",\"c\",\"n9999\"]"), MK_UNSUPPORTED, "not in the evidence: n9999");
    expect(&w, SET("[]"), MK_UNSUPPORTED, "left out: b");
    expect(&w, "{\"type\":\"set_equal\",\"uids\":[\"b\"],\"evidence\":[\"s2\"]}", MK_UNVERIFIABLE, "no_from");
#undef SET
    world_end(&w);
}

static void test_claim__absence_needs_a_field_that_is_there(void **state)
{
    (void)state;
    world w;
    spread(&w);
#define NONE(field, cmp, value) \
    "{\"type\":\"absence\",\"where\":{\"field\":\"" field "\",\"cmp\":\"" cmp "\",\"value\":" value \
    "},\"from\":\"s2.rows\",\"evidence\":[\"s2\"]}"
    expect(&w, NONE("earliest_arrival", "gt", "30"), MK_SUPPORTED, NULL);
    expect(&w, NONE("earliest_arrival", "ge", "30"), MK_UNSUPPORTED, "item 1 is one");
    expect(&w, NONE("arrival", "gt", "30"), MK_UNVERIFIABLE, "no such field");
    expect(&w, NONE("uid", "gt", "30"), MK_UNVERIFIABLE, "cannot be compared");
    expect(&w, NONE("uid", "like", "30"), MK_UNVERIFIABLE, "malformed");
#undef NONE
    world_end(&w);
}

static void test_claim__strict_wants_from(void **state)
{
    (void)state;
    world w;
    spread(&w);
    w.strict = true;
    expect(&w, "{\"type\":\"count\",\"value\":2,\"evidence\":[\"s3\"]}", MK_UNVERIFIABLE, "no_from");
    expect(&w, "{\"type\":\"entity\",\"uids\":[\"b\"],\"evidence\":[\"s2\"]}", MK_UNVERIFIABLE, "no_from");
    expect(&w, "{\"type\":\"count\",\"value\":2,\"from\":\"s3.value\",\"evidence\":[\"s3\"]}", MK_SUPPORTED,
           NULL);
    world_end(&w);
}

static void test_claim__comparisons_and_ratios_name_what_they_read(void **state)
{
    (void)state;
    world w;
    spread(&w);
#define CMP(left, cmp, right) \
    "{\"type\":\"comparison\",\"left\":" left ",\"cmp\":\"" cmp "\",\"right\":" right \
    ",\"evidence\":[\"s2\",\"s3\"]}"
    expect(&w, CMP("\"s2.rows_total\"", "eq", "\"s3.value\""), MK_SUPPORTED, NULL);
    expect(&w, CMP("\"s2.rows[0].earliest_arrival\"", "lt", "\"s2.rows[1].earliest_arrival\""), MK_SUPPORTED,
           NULL);
    expect(&w, CMP("\"s2.rows_total\"", "gt", "\"s3.value\""), MK_UNSUPPORTED, "mismatch");
    expect(&w, CMP("\"s1.rows_total\"", "lt", "\"s3.value\""), MK_UNVERIFIABLE, "uncited");
    expect(&w, CMP("1", "lt", "2"), MK_UNVERIFIABLE, "uncited");
    expect(&w, CMP("\"s2.rows[0].uid\"", "lt", "\"s3.value\""), MK_UNVERIFIABLE, "malformed");
#undef CMP
#define RATIO(value) "{\"type\":\"ratio\",\"num\":\"s3.value\",\"den\":\"s2.rows[0].earliest_arrival\"," \
    "\"value\":" value ",\"evidence\":[\"s2\",\"s3\"]}"
    expect(&w, RATIO("0.1"), MK_SUPPORTED, NULL);
    expect(&w, RATIO("0.11"), MK_UNSUPPORTED, "mismatch");
#undef RATIO
    world_end(&w);
}

static void test_claim__tampered_objects_are_no_evidence(void **state)
{
    (void)state;
    world w;
    spread(&w);
    const mk_str claim =
        MK_STR("{\"type\":\"count\",\"value\":2,\"from\":\"s2.rows_total\",\"evidence\":[\"s2\"]}");
    expect(&w, claim.p, MK_SUPPORTED, NULL);
    for (size_t i = 0; i < w.object_count; i++)
        if (holds_text(w.texts[i], "\"earliest_arrival\":30"))
            ((char *)w.texts[i].p)[w.texts[i].n - 2] ^= 1;
    expect(&w, claim.p, MK_UNVERIFIABLE, "damaged");
    world_end(&w);
}

static void test_claim__malformed_answers_are_refused_whole(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "", "[]", "{}", "{\"text\":1,\"claims\":[]}", "{\"text\":\"\",\"claims\":{}}",
        "{\"text\":\"\",\"claims\":[],\"more\":1}",
        "{\"text\":\"\",\"claims\":[{\"id\":\"c\",\"type\":\"count\"}]}",
        "{\"text\":\"\",\"claims\":[{\"id\":\"c\",\"type\":\"magic\",\"evidence\":[\"s1\"]}]}",
        "{\"text\":\"\",\"claims\":[{\"id\":\"c\",\"type\":\"count\",\"evidence\":[1]}]}",
        "{\"text\":\"\",\"claims\":[{\"id\":\"c\",\"type\":\"count\",\"evidence\":[\"s1\"],\"value\":{}}]}",
        "{\"text\":\"\",\"claims\":[{\"id\":\"c\",\"type\":\"count\",\"evidence\":[\"s1\"],\"value\":NaN}]}",
        "{\"text\":\"\",\"claims\":[{\"id\":\"c\",\"id\":\"d\",\"type\":\"count\",\"evidence\":[\"s1\"]}]}",
        "{\"text\":\"\",\"claims\":[{\"id\":\"c\",\"type\":\"count\",\"evidence\":[\"s1\"]},"
        "{\"id\":\"c\",\"type\":\"count\",\"evidence\":[\"s1\"]}]}",
        "{\"text\":\"\",\"claims\":[{\"id\":\"c\",\"type\":\"count\",\"evidence\":[\"s1\"],\"colour\":1}]}",
        "{\"text\":\"\",\"claims\":[{\"id\":\"c\",\"type\":\"belief\",\"evidence\":[\"s1\"],\"claim\":"
        "{\"type\":\"belief\",\"claim\":{\"type\":\"count\"}}}]}",
    };
    world w;
    spread(&w);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const mk_answer_report r = world_verify(&w, bad[i]);
        if (r.schema_valid)
            fail_msg("passes: %s", bad[i]);
        assert_true(r.schema_error.n > 0);
        assert_int_equal(r.claim_count, 0);
    }
    world_end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_claim__the_answer_of_the_spec_is_supported),
        cmocka_unit_test(test_claim__the_table_of_rejected_claims),
        cmocka_unit_test(test_claim__completeness_is_of_the_field_that_was_read),
        cmocka_unit_test(test_claim__an_undeclared_cut_is_seen),
        cmocka_unit_test(test_claim__numbers_are_compared_exactly),
        cmocka_unit_test(test_claim__identifiers_come_from_fields_for_identifiers),
        cmocka_unit_test(test_claim__a_set_is_exactly_that_set),
        cmocka_unit_test(test_claim__absence_needs_a_field_that_is_there),
        cmocka_unit_test(test_claim__strict_wants_from),
        cmocka_unit_test(test_claim__comparisons_and_ratios_name_what_they_read),
        cmocka_unit_test(test_claim__tampered_objects_are_no_evidence),
        cmocka_unit_test(test_claim__malformed_answers_are_refused_whole),
    };
    return cmocka_run_group_tests_name("claim", tests, NULL, NULL);
}

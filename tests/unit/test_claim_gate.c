/* test_claim_gate.c — what of an answer may leave, and mechanical answers. */
#include "../support/claimworld.h"

static void results(world *w)
{
    world_start(w);
    world_step(w, "s1", "temporal_reachability", "{\"as_of_tt\":500}", "{}", "[]",
               "{\"cursor\":null,\"rows\":[{\"earliest_arrival\":1704067200000000,\"uid\":\"n9\"},"
               "{\"earliest_arrival\":1704153600000000,\"uid\":\"Route 66\"}],\"rows_total\":2,"
               "\"truncated\":false}");
    world_step(w, "s2", "temporal_reachability", "{\"as_of_tt\":500}",
               "{\"rows\":[{\"reason\":\"page\",\"shown\":1,\"total\":1234}]}", "[]",
               "{\"cursor\":\"x\",\"rows\":[{\"earliest_arrival\":20,\"uid\":\"n9\"}],\"rows_total\":1234,"
               "\"truncated\":true}");
    world_step(w, "s3", "compute", "{}", "{}", "[]", "{\"truncated\":false,\"value\":0.123456789}");
}

static mk_gated gate(world *w, const char *answer)
{
    const mk_verify_options options = {.strict = w->strict};
    mk_gated gated;
    const mk_answer_report report = world_verify(w, answer);
    assert_true(report.schema_valid);
    assert_int_equal(mk_answer_gate(&report, &options, &w->arena, &gated, NULL), MK_OK);
    return gated;
}

static mk_str text_of(world *w, mk_str answer)
{
    mk_json *tree;
    assert_int_equal(mk_json_parse(&w->arena, answer, NULL, &tree, NULL), MK_OK);
    return mk_json_get(tree, "text")->text;
}

#define COUNT "{\"id\":\"c1\",\"type\":\"count\",\"value\":1234,\"from\":\"s2.rows_total\"," \
    "\"evidence\":[\"s2\"]}"
#define WRONG "{\"id\":\"c2\",\"type\":\"count\",\"value\":5,\"from\":\"s1.rows_total\"," \
    "\"evidence\":[\"s1\"]}"
#define SET "{\"id\":\"c3\",\"type\":\"set_equal\",\"uids\":[\"n9\",\"Route 66\"],\"from\":\"s1.rows\"," \
    "\"evidence\":[\"s1\"]}"
#define TIME "{\"id\":\"c4\",\"type\":\"value\",\"value\":1704067200000000," \
    "\"from\":\"s1.rows[0].earliest_arrival\",\"evidence\":[\"s1\"]}"
#define SHARE "{\"id\":\"c5\",\"type\":\"value\",\"value\":0.123456789,\"from\":\"s3.value\"," \
    "\"evidence\":[\"s3\"]}"
#define WEAK "{\"id\":\"c6\",\"type\":\"count\",\"value\":1,\"from\":\"s2.rows\",\"evidence\":[\"s2\"]}"

/* Each sentence alone with all sound claims: does it stand? */
static void test_claim_gate__sentences_rest_on_claims(void **state)
{
    (void)state;
    static const struct {
        const char *sentence;
        bool stands;
    } lines[] = {
        {"There are 1234 nodes.", true},
        {"There are 1,234 nodes.", true},
        {"There are 1234.0 nodes.", true},
        {"There are 1235 nodes.", false},
        {"There are 12,34 nodes.", false},
        {"There are -1234 nodes.", false},
        {"n9 is reached.", true},
        {"n99 is reached.", false},
        {"n9 and n10 are reached.", false},
        {"Route 66 is reached.", true},
        {"Route 67 is reached.", false},
        {"There are 66 routes.", false},
        {"Two are reached.", true},
        {"Three are reached.", false},
        {"Twenty-three are reached.", false},
        {"Two hundred are reached.", false},
        {"On 2024-01-01 it was reached.", true},
        {"In 2024-01 it was reached.", true},
        {"On 2024-01-02 it was reached.", false},
        {"At 2024-01-01T00:00:00Z it was reached.", true},
        {"At 2024-01-01T00:00:01Z it was reached.", false},
        {"At 1704067200000000 (2024-01-01T00:00:00Z) it was reached.", true},
        {"The share is 0.123.", true},
        {"The share is 12.3%.", true},
        {"The share is 0.124.", false},
        {"The share is 13%.", false},
        {"Nothing is mentioned here.", true},
        {"There are 5\xc2\xb2 nodes.", false},
        {"There are \xd9\xa3 nodes.", false},
        {"There are \xef\xbc\x95 nodes.", false},
        {"It took 10ms.", false},
        {"From 10.0.0.1 on.", false},
        {"About 1e3 nodes.", false},
    };
    world w;
    results(&w);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char answer[2000];
        snprintf(answer, sizeof answer,
                 "{\"text\":\"Known. %s\",\"claims\":[" COUNT "," SET "," TIME "," SHARE "]}",
                     lines[i].sentence);
        const mk_gated g = gate(&w, answer);
        assert_true(g.emitted);
        assert_false(g.qualified);
        if (holds_text(text_of(&w, g.answer), lines[i].sentence) != lines[i].stands)
            fail_msg("%s: %s", lines[i].sentence, lines[i].stands ? "was removed" : "was kept");
    }
    world_end(&w);
}

static void test_claim_gate__what_rests_on_a_dropped_claim_goes(void **state)
{
    (void)state;
    world w;
    results(&w);
    const mk_gated g =
        gate(&w, "{\"text\":\"It is clear. 1234 are reached. Only 5 are new! Yes.\",\"claims\":[" COUNT ","
             WRONG "]}");
    assert_true(g.emitted);
    assert_true(mk_str_eq(text_of(&w, g.answer), MK_STR("1234 are reached.")));
    assert_true(holds_text(g.dropped, "\"id\":\"c2\""));
    assert_false(holds_text(g.answer, "c2"));
    /* Nothing left of the text: the surviving claims speak for themselves. */
    const mk_gated h = gate(&w, "{\"text\":\"Only 5 are new.\",\"claims\":[" COUNT "," WRONG "]}");
    assert_true(mk_str_eq(text_of(&w, h.answer), MK_STR("The count is 1234.")));
    world_end(&w);
}

static void test_claim_gate__weak_claims_are_qualified_in_words(void **state)
{
    (void)state;
    world w;
    results(&w);
    const mk_gated g = gate(&w, "{\"text\":\"1 is listed. 1234 are reached.\",\"claims\":[" COUNT "," WEAK
                            "]}");
    assert_true(g.emitted && g.qualified);
    assert_true(mk_str_eq(text_of(&w, g.answer),
                          MK_STR("1 is listed. (Incomplete: only part of the rows was read.) 1234 are "
                                 "reached.")));
    world_end(&w);
}

static void test_claim_gate__nothing_survives_nothing_leaves(void **state)
{
    (void)state;
    world w;
    results(&w);
    const mk_gated g = gate(&w, "{\"text\":\"5 nodes, n9 among them.\",\"claims\":[" WRONG "]}");
    assert_false(g.emitted);
    assert_false(holds_text(g.answer, "5") || holds_text(g.answer, "n9"));
    const mk_gated h = gate(&w, "{\"text\":\"5 nodes.\",\"claims\":[]}");
    assert_false(h.emitted);
    world_end(&w);
}

static void test_claim_gate__the_unverifiable_are_listed_or_dropped(void **state)
{
    (void)state;
    world w;
    results(&w);
    const char *answer = "{\"text\":\"1234 are reached. 7 are new.\",\"claims\":[" COUNT
                         ",{\"id\":\"u\",\"type\":\"count\",\"value\":7,\"from\":\"s8.value\","
                         "\"evidence\":[\"s8\"]}]}";
    const mk_gated lax = gate(&w, answer);
    assert_true(holds_text(lax.unverified, "\"id\":\"u\"") && mk_str_eq(lax.dropped, MK_STR("[]")));
    w.strict = true;
    const mk_gated strict = gate(&w, answer);
    assert_true(holds_text(strict.dropped, "\"id\":\"u\"") && mk_str_eq(strict.unverified, MK_STR("[]")));
    assert_true(mk_str_eq(text_of(&w, strict.answer), MK_STR("1234 are reached.")));
    assert_true(mk_str_eq(text_of(&w, lax.answer), MK_STR("1234 are reached.")));
    world_end(&w);
}

/* Law: whatever a reporter writes, each word with a digit that leaves stands in a surviving claim or is a way
 * to write what does. Random texts out of fragments, true and false, glued in every way. */
static void test_claim_gate__no_number_leaves_without_a_claim(void **state)
{
    (void)state;
    static const char *const fragments[] = {
        "1234", "1,234", "5", "n9", "n10", "66", "Route 66", "1235", "12.3%", "0.123", "0.5", "2", "two",
            "seven",
        "2024-01-01", "2024-01-02", "-1234", "1704067200000000", ". ", "! ", "; ", ", ", " and ", " ", "\\n",
            "x", "-",
        "(", ")", " is ", "n", "9", "s2", "c1", "\xc3\xa9", "\xe2\x80\x94", "\xd9\xa3", "1e3", "%", ".",
    };
    /* What the four claims allow, as whole words with digits; Route 66 is one of their identifiers. */
    static const char *const allowed[] = {"1234", "1,234", "n9", "66", "12.3%", "0.123", "2", "2024-01-01",
                                          "1704067200000000"};
    static const char separators[] = " ;!()\n\"";
    uint64_t state64 = 42;
    world w;
    results(&w);
    for (int run = 0; run < 3000; run++) {
        char answer[3000], text[400] = "";
        for (int i = 0; i < 14; i++) {
            state64 = state64 * UINT64_C(6364136223846793005) + 1442695040888963407u;
            strcat(text, fragments[(state64 >> 33) % (sizeof fragments / sizeof *fragments)]);
        }
        snprintf(answer, sizeof answer, "{\"text\":\"%s\",\"claims\":[" COUNT "," SET "," TIME "," SHARE ","
                 WRONG "]}", text);
        const mk_gated g = gate(&w, answer);
        const mk_str out = text_of(&w, g.answer);
        if (mk_str_starts(out, MK_STR("The count is ")))
            continue; /* put into words by ourselves */
        for (size_t at = 0; at < out.n;) {
            size_t end = at;
            bool digits = false, known = false;
            while (end < out.n && strchr(separators, out.p[end]) == NULL) {
                digits |= out.p[end] >= '0' && out.p[end] <= '9';
                end++;
            }
            for (size_t k = 0; k < sizeof allowed / sizeof *allowed; k++)
                known |= memmem(out.p + at, end - at, allowed[k], strlen(allowed[k])) != NULL;
            if (digits && !known)
                fail_msg("%.*s leaves in \"%.*s\" out of \"%s\"", (int)(end - at), out.p + at,
                         MK_STR_ARG(out), text);
            at = end + 1;
        }
        world_end(&w);
        results(&w);
    }
    world_end(&w);
}

/* ---- mechanical answers ---- */

static mk_str mechanical(world *w, const char *kind, const char *from, const char *answer, mk_answers style)
{
    mk_json *plan, *trace;
    char text[2000];
    mk_str out;
    snprintf(text, sizeof text, "{\"answer_spec\":{\"from\":\"%s\",\"kind\":\"%s\"}}", from, kind);
    assert_int_equal(mk_json_parse(&w->arena, mk_str_of(text), NULL, &plan, NULL), MK_OK);
    snprintf(text, sizeof text, "{\"answer\":%s}", answer);
    assert_int_equal(mk_json_parse(&w->arena, mk_str_of(text), NULL, &trace, NULL), MK_OK);
    assert_int_equal(mk_answer_mechanical(plan, trace, style, &w->arena, &out, NULL), MK_OK);
    /* Canonical to the byte. */
    mk_buf canon;
    mk_buf_init(&canon, &mk_alloc_default);
    assert_int_equal(mk_canon_text(&canon, &w->arena, out, NULL, NULL), MK_OK);
    assert_true(mk_str_eq(mk_buf_view(&canon), out));
    mk_buf_free(&canon);
    return out;
}

static void many_kinds(world *w)
{
    world_start(w);
    world_step(w, "s1", "op", "{\"as_of_tt\":500}", "{}", "[]",
               "{\"cursor\":null,\"ok\":true,\"name\":\"Ann. 2 of them\",\"rows\":[{\"dst\":\"b\","
               "\"src\":\"c\",\"t_a\":0,\"t_b\":100,\"value\":5},"
               "{\"dst\":\"c\",\"src\":\"b\",\"t_a\":100,\"t_b\":200,\"value\":2.5}],\"rows_total\":2,"
               "\"share\":0.5,\"none\":[]}");
    world_step(w, "s2", "temporal_paths", "{\"as_of_tt\":500}", "{}", "[]",
               "{\"cursor\":null,\"rows\":[{\"arrival\":9,\"edges\":[{\"dst\":\"b\",\"src\":\"a\",\"t\":9}],"
               "\"hops\":1}],\"rows_total\":1}");
    world_step(w, "s3", "compute", "{\"as_of_tt\":500}", "{}", "[]",
               "{\"pairs\":[{\"dst\":\"b\",\"seen\":7,\"src\":\"c\"}],"
               "\"parts\":[{\"key\":\"who\",\"value\":\"Ann. 2 of them\"},"
               "{\"key\":\"when\",\"value\":{\"t_a\":0,\"t_b\":100}}]}");
}

static const struct {
    const char *kind, *from, *answer, *holds; /* `holds`: part of the claims; NULL: there are none */
} kinds[] = {
    {"count", "s1.rows_total", "2", "\"type\":\"count\",\"value\":2"},
    {"count", "s1.rows", "[{},{}]", "\"type\":\"count\",\"value\":2"},
    {"value", "s1.share", "0.5", "\"type\":\"value\",\"value\":0.5"},
    {"value", "s1.name", "\"Ann. 2 of them\"", "\"type\":\"value\",\"value\":\"Ann. 2 of them\""},
    {"value", "s1.ok", "true", "\"type\":\"boolean\",\"value\":true"},
    {"entity_set", "s1.rows", "[{\"dst\":\"b\",\"src\":\"c\"},{\"dst\":\"c\",\"src\":\"b\"}]",
     "\"uids\":[\"b\",\"c\"]"},
    {"entity_set", "s1.rows[*].src", "[\"c\",\"b\"]", "\"uids\":[\"c\",\"b\"]"},
    {"entity_set", "s1.none", "[]", "\"type\":\"set_equal\",\"uids\":[]"},
    {"interval", "s1.rows[0]", "{\"t_a\":0,\"t_b\":100}", "\"interval\":{\"end\":100,\"start\":0}"},
    {"series", "s1.rows", "[{\"t_a\":0,\"t_b\":100,\"value\":5},{\"t_a\":100,\"t_b\":200,\"value\":2.5}]",
     "s1.rows[1].value"},
    {"series", "s1.rows[*].value", "[5,2.5]", "s1.rows[1].value"},
    {"series", "s1.none", "[]", "\"value\":0"},
    {"series", "s3.pairs", "[{\"dst\":\"b\",\"seen\":7,\"src\":\"c\"}]", "s3.pairs[0].src"},
    {"series", "s3.pairs[*].dst", "[\"b\"]", "s3.pairs[0].dst"},
    {"series", "s3.parts", "[{\"key\":\"who\",\"value\":\"Ann. 2 of them\"},"
     "{\"key\":\"when\",\"value\":{\"t_a\":0,\"t_b\":100}}]", "s3.parts[1].value"},
    {"paths", "s2.rows", "[{\"arrival\":9,\"edges\":[{\"dst\":\"b\",\"src\":\"a\",\"t\":9}],\"hops\":1}]",
     "\"hops\":[{"},
    {"text", "s1.name", "\"Ann. 2 of them\"", "\"type\":\"value\""},
    /* Kind and value do not fit. */
    {"count", "s1.name", "\"Ann\"", NULL},
    {"count", "s1", "{\"value\":2}", NULL},
    {"value", "s1.rows[0]", "{\"t_a\":0}", NULL},
    {"entity_set", "s1.rows_total", "2", NULL},
    {"entity_set", "s1.rows[*].value", "[5,2.5]", NULL},
    {"interval", "s1.rows", "[1]", NULL},
    {"interval", "s1.share", "0.5", NULL},
    {"series", "s1.share", "0.5", NULL},
    {"paths", "s1.rows", "[1,2]", NULL},
    {"count", "s1.gone", "null", NULL},
    {"magic", "s1.share", "0.5", NULL},
};

static void test_claim_gate__mechanical_answers_always_verify(void **state)
{
    (void)state;
    world w;
    many_kinds(&w);
    w.strict = true;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const mk_str answer = mechanical(&w, kinds[i].kind, kinds[i].from, kinds[i].answer, MK_ANSWERS_OURS);
        char *text = mk_arena_get0(&w.arena, answer.n + 1);
        memcpy(text, answer.p, answer.n);
        const mk_answer_report r = world_verify(&w, text);
        assert_true(r.schema_valid);
        assert_true(r.text.n > 0);
        if ((r.claim_count > 0) != (kinds[i].holds != NULL))
            fail_msg("%s of %s: %s", kinds[i].kind, kinds[i].answer, text);
        if (kinds[i].holds == NULL)
            continue;
        if (!holds_text(answer, kinds[i].holds))
            fail_msg("%s of %s: %s", kinds[i].kind, kinds[i].answer, text);
        for (size_t k = 0; k < r.claim_count; k++)
            if (r.claims[k].verdict != MK_SUPPORTED)
                fail_msg("%s: %.*s", text, MK_STR_ARG(r.claims[k].reason));
        /* And the gate takes nothing out of its text. */
        const mk_gated g = gate(&w, text);
        if (r.uncovered_count > 0 || !g.emitted)
            fail_msg("%s: not covered: %.*s", text, MK_STR_ARG(r.uncovered[0]));
    }
    world_end(&w);
}

/* Source: evaluation spec, 6. */
static void test_claim_gate__the_references_claims_can_be_had(void **state)
{
    (void)state;
    world w;
    many_kinds(&w);
    mk_str a = mechanical(&w, "interval", "s1.rows[0]", "{\"t_a\":7,\"t_b\":100}", MK_ANSWERS_REFERENCE);
    assert_true(holds_text(a,
                           "{\"claims\":[{\"evidence\":[\"s1\"],\"id\":\"c1\",\"type\":\"value\","
                           "\"value\":7}],"));
    a = mechanical(&w, "entity_set", "s1.rows", "[\"b\",{\"dst\":\"z\",\"src\":\"c\"},5]",
                   MK_ANSWERS_REFERENCE);
    assert_true(holds_text(a,
                           "{\"claims\":[{\"evidence\":[\"s1\"],\"id\":\"c1\",\"type\":\"entity\","
                           "\"uids\":[\"b\",\"c\",\"z\"]}],"));
    a = mechanical(&w, "value", "s1.name", "\"Ann\"", MK_ANSWERS_REFERENCE);
    assert_true(holds_text(a, "{\"claims\":[],"));
    a = mechanical(&w, "count", "s1.rows_total", "2", MK_ANSWERS_REFERENCE);
    assert_true(holds_text(a, "\"from\":\"s1.rows_total\""));
    world_end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_claim_gate__sentences_rest_on_claims),
        cmocka_unit_test(test_claim_gate__what_rests_on_a_dropped_claim_goes),
        cmocka_unit_test(test_claim_gate__weak_claims_are_qualified_in_words),
        cmocka_unit_test(test_claim_gate__nothing_survives_nothing_leaves),
        cmocka_unit_test(test_claim_gate__the_unverifiable_are_listed_or_dropped),
        cmocka_unit_test(test_claim_gate__no_number_leaves_without_a_claim),
        cmocka_unit_test(test_claim_gate__mechanical_answers_always_verify),
        cmocka_unit_test(test_claim_gate__the_references_claims_can_be_had),
    };
    return cmocka_run_group_tests_name("claim_gate", tests, NULL, NULL);
}

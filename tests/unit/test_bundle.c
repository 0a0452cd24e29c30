/* test_bundle.c — bundles: round trip, every byte covered, forged reports, proofs of single claims. */
#include "../support/claimworld.h"
#include "claim/bundle.h"

#define ANSWER \
    "{\"claims\":[{\"evidence\":[\"s2\"],\"from\":\"s2.rows_total\",\"id\":\"c1\",\"type\":\"count\"," \
    "\"value\":2}," \
    "{\"evidence\":[\"s2\"],\"from\":\"s2.rows\",\"id\":\"c2\",\"type\":\"entity\",\"uids\":[\"c\"]}," \
    "{\"evidence\":[\"s3\"],\"from\":\"s3.rows\",\"id\":\"c3\",\"type\":\"set_equal\"," \
    "\"uids\":[\"b\",\"c\"]}]," \
    "\"text\":\"2 are reached: b, c.\"}"

static void spread(world *w)
{
    char deps[160];
    world_start(w);
    const mk_str call = world_step(
        w, "s2", "temporal_reachability", "{\"as_of_tt\":500,\"src\":\"a\"}", "{}", "[]",
        "{\"cursor\":null,\"rows\":[{\"earliest_arrival\":20,\"uid\":\"b\"},{\"earliest_arrival\":30,"
        "\"uid\":\"c\"}],"
        "\"rows_total\":2,\"truncated\":false}");
    snprintf(deps, sizeof deps, "[{\"call_digest\":\"%.*s\",\"step_id\":\"s2\"}]", MK_STR_ARG(call));
    world_step(w, "s3", "compute", "{\"fn\":\"union\"}", "{}", deps,
               "{\"cursor\":null,\"rows\":[\"b\",\"c\"],\"rows_total\":2,\"truncated\":false}");
}

/* A bundle of the answer with its own report, or with that of another. */
static mk_str bundle_of(world *w, const char *answer, const char *reported)
{
    mk_buf report, out;
    mk_err err = {0};
    mk_buf_init(&report, &mk_alloc_default);
    mk_buf_init(&out, &mk_alloc_default);
    const mk_answer_report r = world_verify(w, reported);
    mk_answer_report_json(&r, &report);
    const mk_bundle_parts parts = {.question = MK_STR("How many does a reach?"),
                                   .plan = MK_STR("{\"plan_id\":\"p\"}"),
                                   .trace = world_trace(w),
                                   .answer = mk_str_of(answer),
                                   .report = mk_buf_view(&report),
                                   .versions = MK_STR("{\"merkhet\":\"0\"}")};
    if (mk_bundle_write(&parts, world_get, w, &w->arena, &out, &err) != MK_OK)
        fail_msg("%s", err.message);
    const mk_str text = mk_arena_copy(&w->arena, mk_buf_view(&out));
    mk_buf_free(&report);
    mk_buf_free(&out);
    return text;
}

static void test_bundle__is_sound_and_verifies_by_itself(void **state)
{
    (void)state;
    world w;
    mk_bundle_check check;
    spread(&w);
    const mk_str text = bundle_of(&w, ANSWER, ANSWER);
    assert_false(holds_text(text, "wall_ms"));
    assert_int_equal(mk_bundle_verify(text, NULL, &w.arena, &check, NULL), MK_OK);
    if (!check.sound)
        fail_msg("%.*s", MK_STR_ARG(check.faults[0]));
    assert_int_equal(check.answer.claim_count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(check.answer.claims[i].verdict, MK_SUPPORTED);
    assert_true(check.gated.emitted);
    /* With the line feed that files end in, too. */
    mk_buf file, json;
    mk_buf_init(&file, &mk_alloc_default);
    mk_buf_init(&json, &mk_alloc_default);
    mk_buf_str(&file, text);
    mk_buf_c(&file, '\n');
    assert_int_equal(mk_bundle_verify(mk_buf_view(&file), NULL, &w.arena, &check, NULL), MK_OK);
    assert_true(check.sound);
    mk_bundle_check_json(&check, &json);
    mk_json *tree;
    assert_int_equal(mk_json_parse(&w.arena, mk_buf_view(&json), NULL, &tree, NULL), MK_OK);
    mk_buf_free(&json);
    mk_buf_free(&file);
    world_end(&w);
}

/* Every byte, in two of its bits: found with its place, or refused as JSON or as a bundle. */
static void test_bundle__any_changed_byte_is_found(void **state)
{
    (void)state;
    world w;
    mk_arena scratch;
    spread(&w);
    mk_arena_init(&scratch, &mk_alloc_default);
    const mk_str text = bundle_of(&w, ANSWER, ANSWER);
    char *copy = mk_arena_get(&w.arena, text.n);
    memcpy(copy, text.p, text.n);
    static const char flips[] = {1, 32};
    size_t found = 0, refused = 0;
    for (size_t i = 0; i < text.n; i++)
        for (size_t f = 0; f < sizeof flips; f++) {
            mk_bundle_check check;
            mk_err err = {0};
            copy[i] = (char)(text.p[i] ^ flips[f]);
            const mk_code rc = mk_bundle_verify((mk_str){copy, text.n}, NULL, &scratch, &check, &err);
            copy[i] = text.p[i];
            if (rc == MK_OK && check.sound)
                fail_msg("byte %zu flipped by %d passes", i, flips[f]);
            if (rc == MK_OK && check.fault_count == 0)
                fail_msg("byte %zu flipped by %d: no fault is named", i, flips[f]);
            if (rc != MK_OK && (rc != MK_E_SCHEMA || err.message[0] == '\0'))
                fail_msg("byte %zu flipped by %d: %s", i, flips[f], mk_code_name(rc));
            found += rc == MK_OK;
            refused += rc != MK_OK;
            mk_arena_reset(&scratch);
        }
    assert_true(found > 1000 && refused > 50);
    mk_arena_free(&scratch);
    world_end(&w);
}

static void test_bundle__faults_name_their_place(void **state)
{
    (void)state;
    static const struct {
        const char *was, *is, *place;
    } changes[] = {
        {"\"earliest_arrival\":30", "\"earliest_arrival\":31", "payloads."},
        {"\"src\":\"a\"", "\"src\":\"b\"", "calls."},
        {"\"text\":\"2 are", "\"text\":\"3 are", "answer: does not hash"},
        {"How many", "Who many", "question: does not hash"},
        {"\"merkhet\":\"0\"", "\"merkhet\":\"1\"", "versions: does not hash"},
        {"\"as_of_tt\":500,\"bundle\"", "\"as_of_tt\":501,\"bundle\"", "as_of_tt: is not the belief time"},
        {"\"coverage\":1.0", "\"coverage\":0.0", "report: does not hash"},
        {"\"ok\":true,", "\"ok\": true,", "canonical form"},
    };
    world w;
    spread(&w);
    const mk_str text = bundle_of(&w, ANSWER, ANSWER);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        mk_bundle_check check;
        mk_buf buf;
        bool named = false;
        mk_buf_init(&buf, &mk_alloc_default);
        const char *at = memmem(text.p, text.n, changes[i].was, strlen(changes[i].was));
        assert_non_null(at);
        mk_buf_put(&buf, text.p, (size_t)(at - text.p));
        mk_buf_z(&buf, changes[i].is);
        at += strlen(changes[i].was);
        mk_buf_put(&buf, at, (size_t)(text.p + text.n - at));
        assert_int_equal(mk_bundle_verify(mk_buf_view(&buf), NULL, &w.arena, &check, NULL), MK_OK);
        assert_false(check.sound);
        for (size_t k = 0; k < check.fault_count; k++)
            named |= holds_text(check.faults[k], changes[i].place);
        if (!named)
            fail_msg("%s: %.*s", changes[i].place, MK_STR_ARG(check.faults[0]));
        mk_buf_free(&buf);
    }
    world_end(&w);
}

/* All hashes right and the report of a truthful answer beside a false one. */
static void test_bundle__a_report_cannot_promise_more_than_the_evidence(void **state)
{
    (void)state;
    static const char lie[] =
        "{\"claims\":[{\"evidence\":[\"s2\"],\"from\":\"s2.rows_total\",\"id\":\"c1\",\"type\":\"count\","
        "\"value\":3}],\"text\":\"3\"}";
    world w;
    mk_bundle_check check;
    spread(&w);
    const mk_str text = bundle_of(&w, lie, ANSWER);
    assert_int_equal(mk_bundle_verify(text, NULL, &w.arena, &check, NULL), MK_OK);
    assert_false(check.sound);
    assert_true(holds_text(check.faults[0], "report.claims[0]: promises more"));
    assert_int_equal(check.answer.claims[0].verdict, MK_UNSUPPORTED);
    assert_false(check.gated.emitted);
    world_end(&w);
}

static void test_bundle__what_is_none_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "", "{}", "[]", "null", "{\"bundle\":1}", "{\"bundle\":2}",
        "{\"answer\":{},\"as_of_tt\":1,\"bundle\":1,\"calls\":{},\"digests\":{},\"payloads\":{},\"plan\":{},"
        "\"prompts\":[],"
        "\"question\":\"\",\"report\":{},\"trace\":{},\"versions\":{}}",
        "{\"answer\":[],\"as_of_tt\":1,\"bundle\":1,\"calls\":{},\"digests\":{},\"payloads\":{},\"plan\":{},"
        "\"prompts\":[],"
        "\"question\":\"\",\"report\":{},\"trace\":{\"steps\":[]},\"versions\":{}}",
    };
    world w;
    world_start(&w);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        mk_bundle_check check;
        mk_err err = {0};
        assert_int_equal(mk_bundle_verify(mk_str_of(bad[i]), NULL, &w.arena, &check, &err), MK_E_SCHEMA);
        assert_true(err.message[0] != '\0');
    }
    world_end(&w);
}

/* ---- proofs ---- */

static mk_str root_of(world *w, mk_str bundle)
{
    mk_json *tree;
    assert_int_equal(mk_json_parse(&w->arena, bundle, NULL, &tree, NULL), MK_OK);
    return mk_json_get(mk_json_get(tree, "digests"), "root")->text;
}

static mk_str prove(world *w, mk_str bundle, const char *claim)
{
    mk_buf out;
    mk_err err = {0};
    mk_buf_init(&out, &mk_alloc_default);
    if (mk_bundle_prove(bundle, mk_str_of(claim), &w->arena, &out, &err) != MK_OK)
        fail_msg("%s", err.message);
    const mk_str text = mk_arena_copy(&w->arena, mk_buf_view(&out));
    mk_buf_free(&out);
    return text;
}

static bool holds(world *w, mk_str proof, mk_str root, mk_str *why)
{
    char hex[65] = "";
    bool ok = false;
    memcpy(hex, root.p, 64);
    const mk_code rc = mk_proof_verify(proof, hex, &w->arena, &ok, why, NULL);
    assert_true(rc == MK_OK || rc == MK_E_SCHEMA);
    return ok;
}

static void test_bundle__one_claim_can_be_proved(void **state)
{
    (void)state;
    world w;
    mk_str why;
    spread(&w);
    const mk_str text = bundle_of(&w, ANSWER, ANSWER), root = root_of(&w, text);
    static const char *const claims[] = {"c1", "c2", "c3"};
    for (size_t i = 0; i < 3; i++) {
        const mk_str proof = prove(&w, text, claims[i]);
        if (!holds(&w, proof, root, &why))
            fail_msg("%s: %.*s", claims[i], MK_STR_ARG(why));
        /* For no other root. */
        char other[65];
        memcpy(other, root.p, 64);
        other[0] = other[0] == '0' ? '1' : '0';
        assert_false(holds(&w, proof, (mk_str){other, 64}, &why));
    }
    /* A count needs no rows; one identifier needs the row it is in and not the other. */
    assert_false(holds_text(prove(&w, text, "c1"), "earliest_arrival"));
    assert_true(holds_text(prove(&w, text, "c2"), "\"uid\":\"c\""));
    assert_false(holds_text(prove(&w, text, "c2"), "\"uid\":\"b\""));
    mk_buf out;
    mk_buf_init(&out, &mk_alloc_default);
    assert_int_equal(mk_bundle_prove(text, MK_STR("c9"), &w.arena, &out, NULL), MK_E_NOT_FOUND);
    mk_buf_free(&out);
    world_end(&w);
}

static void test_bundle__a_changed_proof_does_not_hold(void **state)
{
    (void)state;
    world w;
    mk_str why;
    spread(&w);
    const mk_str text = bundle_of(&w, ANSWER, ANSWER), root = root_of(&w, text);
    const mk_str proof = prove(&w, text, "c2");
    char *copy = mk_arena_get(&w.arena, proof.n);
    memcpy(copy, proof.p, proof.n);
    for (size_t i = 0; i < proof.n; i++) {
        copy[i] ^= 1;
        if (holds(&w, (mk_str){copy, proof.n}, root, &why))
            fail_msg("byte %zu ('%c' in %.40s) changed and it still holds", i, proof.p[i],
                     proof.p + (i > 20 ? i - 20 : 0));
        copy[i] ^= 1;
    }
    world_end(&w);
}

/* A false claim has a proof that it is in the bundle, and does not hold. */
static void test_bundle__the_proof_of_a_false_claim_does_not_hold(void **state)
{
    (void)state;
    static const char *const lies[] = {
        "\"from\":\"s2.rows\",\"type\":\"set_equal\",\"uids\":[\"b\"]",
        "\"from\":\"s2.rows\",\"type\":\"entity\",\"uids\":[\"d\"]",
        "\"from\":\"s2.rows\",\"type\":\"absence\",\"where\":{\"cmp\":\"eq\",\"field\":\"uid\","
        "\"value\":\"c\"}",
        "\"from\":\"s2.rows[0].uid\",\"type\":\"value\",\"value\":\"c\"",
        "\"from\":\"s2.rows\",\"type\":\"count\",\"value\":1",
    };
    world w;
    mk_str why;
    spread(&w);
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        char answer[400];
        snprintf(answer, sizeof answer,
                 "{\"claims\":[{\"evidence\":[\"s2\"],\"id\":\"c1\",%s}],\"text\":\"\"}", lies[i]);
        const mk_str text = bundle_of(&w, answer, answer);
        assert_false(holds(&w, prove(&w, text, "c1"), root_of(&w, text), &why));
        assert_true(why.n > 0);
    }
    world_end(&w);
}

static size_t proof_size(size_t rows)
{
    world w;
    mk_buf payload;
    world_start(&w);
    mk_buf_init(&payload, &mk_alloc_default);
    mk_buf_z(&payload, "{\"cursor\":null,\"rows\":[");
    for (size_t i = 0; i < rows; i++)
        mk_buf_printf(&payload, "%s{\"uid\":\"n%06zu\"}", i > 0 ? "," : "", i);
    mk_buf_printf(&payload, "],\"rows_total\":%zu}", rows);
    mk_buf_c(&payload, '\0');
    world_step(&w, "s1", "op", "{}", "{}", "[]", payload.p);
    mk_buf_free(&payload);
    static const char answer[] =
        "{\"claims\":[{\"evidence\":[\"s1\"],\"from\":\"s1.rows\",\"id\":\"c1\",\"type\":\"entity\","
        "\"uids\":[\"n000003\"]}],\"text\":\"\"}";
    const mk_str text = bundle_of(&w, answer, answer), proof = prove(&w, text, "c1");
    mk_str why;
    assert_true(holds(&w, proof, root_of(&w, text), &why));
    world_end(&w);
    return proof.n;
}

static void test_bundle__proofs_grow_with_the_logarithm(void **state)
{
    (void)state;
    const size_t small = proof_size(64), middle = proof_size(1024), large = proof_size(16384);
    /* Sixteen times the rows: as many bytes more each time, give or take digits. */
    assert_in_range(large - middle, (middle - small) * 8 / 10, (middle - small) * 12 / 10);
    assert_true(large < 3 * small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bundle__is_sound_and_verifies_by_itself),
        cmocka_unit_test(test_bundle__any_changed_byte_is_found),
        cmocka_unit_test(test_bundle__faults_name_their_place),
        cmocka_unit_test(test_bundle__a_report_cannot_promise_more_than_the_evidence),
        cmocka_unit_test(test_bundle__what_is_none_is_refused),
        cmocka_unit_test(test_bundle__one_claim_can_be_proved),
        cmocka_unit_test(test_bundle__a_changed_proof_does_not_hold),
        cmocka_unit_test(test_bundle__the_proof_of_a_false_claim_does_not_hold),
        cmocka_unit_test(test_bundle__proofs_grow_with_the_logarithm),
    };
    return cmocka_run_group_tests_name("bundle", tests, NULL, NULL);
}

/* test_eval_faults.c — mutators make answers false, and the verifier is asked about each. */
#include "../support/claimworld.h"
#include "../support/testalloc.h"

#include "base/canon.h"
#include "eval/faults.h"
#include "load/synth_random.h"

/* A reach result with five entities, its count, and bursts; everything an answer could rest on. */
typedef struct fixture {
    world w;
    mk_fault_pool pool;
    mk_fault_step steps[3];
} fixture;

#define REACH                                                                                      \
    "{\"cursor\":null,\"rows\":[{\"earliest_arrival\":1000000,\"uid\":\"a\"},"                        \
    "{\"earliest_arrival\":2000000,\"uid\":\"b\"},{\"earliest_arrival\":3000000,\"uid\":\"c\"},"      \
    "{\"earliest_arrival\":4000000,\"uid\":\"d\"},{\"earliest_arrival\":5000000,\"uid\":\"e\"}],"     \
    "\"rows_total\":5,\"truncated\":false}"
#define CUT                                                                                        \
    "{\"cursor\":\"3\",\"rows\":[{\"earliest_arrival\":1000000,\"uid\":\"a\"},"                       \
    "{\"earliest_arrival\":2000000,\"uid\":\"b\"},{\"earliest_arrival\":3000000,\"uid\":\"c\"}],"     \
    "\"rows_total\":5,\"truncated\":true}"
#define BURSTS                                                                                     \
    "{\"cursor\":null,\"n_buckets\":30,\"rows\":[{\"score\":4.0,\"t_a\":7000000,\"t_b\":8000000,"     \
    "\"value\":9.0}],\"rows_total\":1,\"truncated\":false}"
#define ANSWER                                                                                     \
    "{\"claims\":[{\"evidence\":[\"s2\"],\"from\":\"s2.value\",\"id\":\"c1\",\"type\":\"count\","     \
    "\"value\":5},{\"evidence\":[\"s1\"],\"from\":\"s1.rows\",\"id\":\"c2\",\"type\":\"set_equal\","  \
    "\"uids\":[\"a\",\"b\",\"c\",\"d\",\"e\"]},{\"a\":{\"t\":1000000},\"b\":{\"t\":5000000},"          \
    "\"evidence\":[\"s1\"],\"from\":\"s1.rows\",\"id\":\"c3\",\"relation\":\"before\",\"type\":"      \
    "\"ordering\"},{\"evidence\":[\"s3\"],\"from\":\"s3.rows[0]\",\"id\":\"c4\",\"interval\":{"       \
    "\"end\":8000000,\"start\":7000000},\"type\":\"interval\"},{\"as_of_tt\":500,\"claim\":{"        \
    "\"evidence\":[\"s2\"],\"from\":\"s2.value\",\"id\":\"c1\",\"type\":\"count\",\"value\":5},"      \
    "\"evidence\":[\"s2\"],\"from\":\"s2.value\",\"id\":\"c5\",\"type\":\"belief\"}],"               \
    "\"text\":\"5 are reached.\"}"

static mk_json *json(fixture *f, const char *text)
{
    mk_json *tree;
    assert_int_equal(mk_json_parse(&f->w.arena, mk_str_of(text), NULL, &tree, NULL), MK_OK);
    return tree;
}

static mk_evidence *evidence(fixture *f)
{
    mk_evidence *out;
    assert_int_equal(
        mk_evidence_open(world_trace(&f->w), world_get, &f->w, NULL, NULL, &f->w.arena, &out, NULL), MK_OK);
    return out;
}

static void start(fixture *f, const char *reach, const char *gaps)
{
    char deps[160];
    *f = (fixture){.pool = {.count = 1}};
    world_start(&f->w);
    const mk_str call = world_step(&f->w, "s1", "temporal_reachability",
                                   "{\"as_of_tt\":500,\"src\":\"x\",\"window\":{\"t_a\":0,\"t_b\":9000000}}",
                                   gaps, "[]", reach);
    snprintf(deps, sizeof deps, "[{\"call_digest\":\"%.*s\",\"step_id\":\"s1\"}]", MK_STR_ARG(call));
    world_step(&f->w, "s2", "compute", "{\"fn\":\"count\"}", "{}", deps, "{\"truncated\":false,\"value\":5}");
    world_step(&f->w, "s3", "burst_detection",
               "{\"as_of_tt\":500,\"stride\":1000000,\"target\":{\"kind\":\"edge_event_rate\"},\"window\":{"
               "\"t_a\":0,"
               "\"t_b\":9000000}}",
               "{}", "[]", BURSTS);
    f->steps[0] = (mk_fault_step){MK_STR("s1"), MK_STR("temporal_reachability"), json(f, reach)};
    f->steps[1] =
        (mk_fault_step){MK_STR("s2"), MK_STR("compute"), json(f, "{\"truncated\":false,\"value\":5}")};
    f->steps[2] = (mk_fault_step){MK_STR("s3"), MK_STR("burst_detection"), json(f, BURSTS)};
    f->pool.arena = &f->w.arena;
    f->pool.uid_count = 6;
    f->pool.uids = mk_arena_get(&f->w.arena, 6 * sizeof *f->pool.uids);
    for (size_t i = 0; i < 6; i++)
        f->pool.uids[i] = (mk_str){&"abcdez"[i], 1};
    f->pool.answers = mk_arena_get0(&f->w.arena, 2 * sizeof *f->pool.answers);
    f->pool.answers[0] = (mk_fault_answer){.task = MK_STR("t"),
                                           .answer = MK_STR(ANSWER),
                                           .evidence = evidence(f),
                                           .steps = f->steps,
                                           .step_count = 3,
                                           .other = json(f, "{\"type\":\"count\",\"value\":6}")};
}

static void end(fixture *f) { world_end(&f->w); }

/* Mutates with a seed; the mutant as canonical text, NULL when the class did not apply. */
static const char *mutant(fixture *f, mk_fault fault, uint64_t seed)
{
    mk_random random;
    bool nomem = false;
    mk_buf text;
    mk_random_seed(&random, seed);
    mk_mutation m = {.random = &random,
                     .arena = &f->w.arena,
                     .pool = &f->pool,
                     .answer = &f->pool.answers[0],
                     .tree = json(f, ANSWER)};
    if (!mk_fault_mutate(fault, &m, &nomem))
        return NULL;
    mk_buf_init(&text, &mk_alloc_default);
    assert_int_equal(mk_canon_tree(&text, &f->w.arena, m.tree, NULL), MK_OK);
    mk_buf_c(&text, '\0');
    const char *out = mk_arena_copy(&f->w.arena, mk_buf_view(&text)).p;
    mk_buf_free(&text);
    return out;
}

static bool is_one_of(const char *text, const char *const *parts)
{
    for (; *parts != NULL; parts++)
        if (strstr(text, *parts) != NULL)
            return true;
    return false;
}

/* For each class, what every mutant must have, whatever is drawn. */
static void test_eval_faults__each_class_does_what_its_name_says(void **state)
{
    (void)state;
    static const struct {
        mk_fault fault;
        const char *parts[8]; /* each mutant has one of them */
    } classes[] = {
        {MK_FAULT_COUNT_PM1, {"\"value\":4}", "\"value\":6}"}},
        {MK_FAULT_UID_SWAP, {"\"invented_"}},
        {MK_FAULT_INTERVAL_SHIFT,
         {"{\"t\":1000003}", "{\"t\":999997}", "\"start\":10000000", "\"start\":4000000"}},
        {MK_FAULT_ORDERING_INVERT, {"\"relation\":\"after\""}},
        {MK_FAULT_ENTITY_DROP,
         {"[\"b\",\"c\",\"d\",\"e\"]", "[\"a\",\"c\",\"d\",\"e\"]", "[\"a\",\"b\",\"d\",\"e\"]",
          "[\"a\",\"b\",\"c\",\"e\"]", "[\"a\",\"b\",\"c\",\"d\"]"}},
        {MK_FAULT_ENTITY_ADD, {"[\"a\",\"b\",\"c\",\"d\",\"e\",\"z\"]"}},
        {MK_FAULT_ORDERING_SWAP, {"{\"a\":{\"t\":5000000},\"b\":{\"t\":1000000}"}},
        {MK_FAULT_INTERVAL_UNITS, {"{\"t\":1000}", "{\"t\":5000}", "{\"end\":8000,\"start\":7000}"}},
        {MK_FAULT_WRONG_BELIEF_STATE, {"\"value\":6}"}},
    };
    fixture f;
    start(&f, REACH, "{}");
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        size_t made = 0;
        for (uint64_t seed = 0; seed < 40; seed++) {
            const char *text = mutant(&f, classes[i].fault, seed);
            if (text == NULL)
                continue;
            made++;
            if (strcmp(text, ANSWER) == 0 || !is_one_of(text, classes[i].parts))
                fail_msg("%s made %s", mk_fault_name(classes[i].fault), text);
        }
        assert_true(made > 0);
    }
    end(&f);
}

static void test_eval_faults__a_changed_number_changes_in_the_text_too(void **state)
{
    (void)state;
    fixture f;
    start(&f, REACH, "{}");
    const char *text = mutant(&f, MK_FAULT_COUNT_PM1, 1);
    assert_non_null(text);
    assert_null(strstr(text, "5 are reached"));
    assert_true(strstr(text, "4 are reached") != NULL || strstr(text, "6 are reached") != NULL);
    end(&f);
}

/* A mutation that would still be true is none: here the shifted side lands on another time of the
 * evidence. */
static void test_eval_faults__what_would_still_be_true_is_not_made(void **state)
{
    (void)state;
    fixture f;
    start(&f,
          "{\"rows\":[{\"earliest_arrival\":999997,\"uid\":\"a\"},{\"earliest_arrival\":1000003,\"uid\":"
          "\"b\"}],"
          "\"rows_total\":2,\"truncated\":false}",
          "{}");
    for (uint64_t seed = 0; seed < 40; seed++) {
        const char *text = mutant(&f, MK_FAULT_INTERVAL_SHIFT, seed);
        if (text != NULL)
            assert_null(strstr(text, "{\"t\":999997}"));
    }
    /* Every identifier is in the evidence or the claim: there is nothing to add. */
    f.pool.uid_count = 5;
    for (uint64_t seed = 0; seed < 40; seed++)
        assert_null(mutant(&f, MK_FAULT_ENTITY_ADD, seed));
    /* Nothing is pinned to another belief. */
    f.pool.answers[0].other = NULL;
    assert_null(mutant(&f, MK_FAULT_WRONG_BELIEF_STATE, 1));
    assert_null(mutant(&f, MK_FAULT_TRUNCATED_COUNT, 1));
    end(&f);
}

static void test_eval_faults__everything_is_noticed_and_nothing_right_rejected(void **state)
{
    (void)state;
    const mk_faults_options options = {.mutants = 30, .seed = 5};
    mk_faults_report report;
    fixture f;
    start(&f, REACH, "{}");
    assert_int_equal(mk_faults_on_pool(&f.pool, &options, &report, NULL), MK_OK);
    assert_int_equal(report.answers, 1);
    assert_int_equal(report.rejected, 0);
    assert_int_equal(report.types, 5);
    for (int i = 0; i < MK_FAULT_CLASSES; i++) {
        const mk_fault_result *r = &report.classes[i];
        if (r->detected != r->mutants)
            fail_msg("%s: %zu of %zu; %.*s", mk_fault_name((mk_fault)i), r->detected, r->mutants,
                     MK_STR_ARG(report.surprises[0]));
        assert_int_equal(r->mutants, i == MK_FAULT_TRUNCATED_COUNT ? 0 : 30);
    }
    assert_int_equal(report.surprise_count, 0);
    end(&f);
}

/* Three rows of five: claimed as all, and as the five that they are a page of. */
static void test_eval_faults__a_cut_list_is_not_the_whole(void **state)
{
    (void)state;
    mk_faults_options options = {.mutants = 30};
    mk_faults_report report;
    fixture f;
    start(&f, CUT, "{\"rows\":[{\"reason\":\"page\",\"shown\":3,\"total\":5}]}");
    f.pool.answers[0].cut = MK_STR("s1.rows");
    f.pool.answers[0].answer = MK_STR(
        "{\"claims\":[{\"evidence\":[\"s1\"],\"from\":\"s1.rows_total\",\"id\":\"c1\",\"type\":\"count\","
        "\"value\":5}],\"text\":\"5\"}");
    assert_int_equal(mk_faults_on_pool(&f.pool, &options, &report, NULL), MK_OK);
    assert_int_equal(report.rejected, 0);
    assert_int_equal(report.classes[MK_FAULT_TRUNCATED_COUNT].mutants, 30);
    assert_int_equal(report.classes[MK_FAULT_TRUNCATED_COUNT].detected, 30);
    /* Without looking at completeness nobody would see it: the class measures what it is meant to. */
    options.no_completeness = true;
    assert_int_equal(mk_faults_on_pool(&f.pool, &options, &report, NULL), MK_OK);
    assert_int_equal(report.classes[MK_FAULT_TRUNCATED_COUNT].detected, 0);
    assert_true(report.surprise_count > 0);
    end(&f);
}

/* An answer that the verifier rejects although it is right is a false positive, and is not mutated. */
static void test_eval_faults__a_rejected_right_answer_is_counted(void **state)
{
    (void)state;
    const mk_faults_options options = {.mutants = 5};
    mk_faults_report report;
    fixture f;
    mk_err err;
    start(&f, REACH, "{}");
    f.pool.answers[0].answer =
        MK_STR("{\"claims\":[{\"evidence\":[\"s2\"],\"from\":\"s2.value\",\"id\":\"c1\","
               "\"type\":\"count\",\"value\":7}],\"text\":\"7\"}");
    assert_int_equal(mk_faults_on_pool(&f.pool, &options, &report, NULL), MK_OK);
    assert_int_equal(report.rejected, 1);
    assert_int_equal(report.surprise_count, 1);
    assert_int_equal(report.classes[MK_FAULT_COUNT_PM1].mutants, 0);
    report.answers = MK_FAULT_ANSWERS;
    report.types = MK_FAULT_TYPES;
    assert_int_equal(mk_faults_verdict(&report, &err), MK_E_STATE);
    assert_non_null(strstr(err.message, "rejected"));
    end(&f);
}

static void test_eval_faults__a_run_that_is_too_small_or_misses_one_fails(void **state)
{
    (void)state;
    mk_faults_report report = {.answers = MK_FAULT_ANSWERS, .types = MK_FAULT_TYPES, .wanted = 10};
    mk_err err;
    for (int i = 0; i < MK_FAULT_CLASSES; i++)
        report.classes[i] = (mk_fault_result){10, 10, 1};
    assert_int_equal(mk_faults_verdict(&report, &err), MK_OK);
    report.classes[MK_FAULT_ENTITY_DROP].detected = 9;
    assert_int_equal(mk_faults_verdict(&report, &err), MK_E_STATE);
    assert_non_null(strstr(err.message, "entity_drop"));
    report.classes[MK_FAULT_ENTITY_DROP] = (mk_fault_result){0, 0, 0};
    assert_int_equal(mk_faults_verdict(&report, &err), MK_E_STATE);
    assert_non_null(strstr(err.message, "0 mutants of 10"));
    report.answers = MK_FAULT_ANSWERS - 1;
    assert_int_equal(mk_faults_verdict(&report, &err), MK_E_STATE);
    assert_non_null(strstr(err.message, "clean pool"));
}

/* The n-th allocation fails, for every n: an error and nothing else. */
static void test_eval_faults__running_out_of_memory_is_an_error(void **state)
{
    (void)state;
    const mk_faults_options options = {.mutants = 1};
    mk_faults_report report;
    mk_code rc = MK_E_NOMEM;
    testalloc ta;
    fixture f;
    start(&f, REACH, "{}");
    testalloc_init(&ta);
    for (uint64_t n = 1; rc != MK_OK && n < 5000; n++) {
        mk_arena arena;
        mk_arena_init(&arena, &ta.hook);
        f.pool.arena = &arena;
        f.pool.answers[0].rejected = false;
        testalloc_fail(&ta, n, false);
        rc = mk_faults_on_pool(&f.pool, &options, &report, NULL);
        testalloc_fail(&ta, 0, false);
        mk_arena_free(&arena);
        if (rc != MK_OK)
            assert_int_equal(rc, MK_E_NOMEM);
        assert_true(testalloc_is_clean(&ta));
    }
    assert_int_equal(rc, MK_OK);
    testalloc_free(&ta);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_eval_faults__each_class_does_what_its_name_says),
        cmocka_unit_test(test_eval_faults__a_changed_number_changes_in_the_text_too),
        cmocka_unit_test(test_eval_faults__what_would_still_be_true_is_not_made),
        cmocka_unit_test(test_eval_faults__everything_is_noticed_and_nothing_right_rejected),
        cmocka_unit_test(test_eval_faults__a_cut_list_is_not_the_whole),
        cmocka_unit_test(test_eval_faults__a_rejected_right_answer_is_counted),
        cmocka_unit_test(test_eval_faults__a_run_that_is_too_small_or_misses_one_fails),
        cmocka_unit_test(test_eval_faults__running_out_of_memory_is_an_error),
    };
    return cmocka_run_group_tests_name("eval_faults", tests, NULL, NULL);
}

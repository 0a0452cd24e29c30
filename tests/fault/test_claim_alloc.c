/* test_claim_alloc.c — the n-th allocation fails, for every n, while an answer is verified and put into a
 * bundle. Whatever fails comes back as an error value, and nothing leaks. */
#include "../support/claimworld.h"
#include "../support/testalloc.h"
#include "claim/bundle.h"

#define ANSWER \
    "{\"claims\":[{\"evidence\":[\"s1\"],\"from\":\"s1.rows\",\"id\":\"c1\",\"type\":\"set_equal\"," \
    "\"uids\":[\"b\",\"c\"]}," \
    "{\"a\":{\"t\":20},\"b\":{\"t\":30},\"evidence\":[\"s1\"],\"id\":\"c2\",\"relation\":\"before\"," \
    "\"type\":\"ordering\"}," \
    "{\"evidence\":[\"s1\"],\"from\":\"s1.rows_total\",\"id\":\"c3\",\"type\":\"count\",\"value\":3}]," \
    "\"text\":\"b and c at 20 and 30. There are 3.\"}"

/* All that can be done with an answer, once. */
static mk_code work(world *w, mk_str trace, mk_arena *arena)
{
    mk_evidence *evidence;
    mk_answer_report report;
    mk_gated gated;
    mk_bundle_check check;
    mk_buf json, bundle, proof;
    mk_code rc;
    mk_buf_init(&json, arena->alloc);
    mk_buf_init(&bundle, arena->alloc);
    mk_buf_init(&proof, arena->alloc);
    MK_TRY(rc, mk_evidence_open(trace, world_get, w, NULL, NULL, arena, &evidence, NULL));
    MK_TRY(rc, mk_answer_verify(MK_STR(ANSWER), evidence, NULL, arena, &report, NULL));
    MK_TRY(rc, mk_answer_gate(&report, NULL, arena, &gated, NULL));
    mk_answer_report_json(&report, &json);
    MK_TRY(rc, mk_buf_done(&json, NULL));
    const mk_bundle_parts parts = {.question = MK_STR("q"), .plan = MK_STR("{}"), .trace = trace,
                                   .answer = MK_STR(ANSWER), .report = mk_buf_view(&json)};
    MK_TRY(rc, mk_bundle_write(&parts, world_get, w, arena, &bundle, NULL));
    MK_TRY(rc, mk_bundle_verify(mk_buf_view(&bundle), NULL, arena, &check, NULL));
    rc = mk_bundle_prove(mk_buf_view(&bundle), MK_STR("c1"), arena, &proof, NULL);
out:
    mk_buf_free(&json);
    mk_buf_free(&bundle);
    mk_buf_free(&proof);
    return rc;
}

static void test_claim_alloc__every_failure_is_an_error(void **state)
{
    (void)state;
    world w;
    uint64_t n = 0;
    mk_code rc = MK_E_NOMEM;
    world_start(&w);
    world_step(&w, "s1", "temporal_reachability", "{\"as_of_tt\":500}", "{}", "[]",
               "{\"cursor\":null,\"rows\":[{\"earliest_arrival\":20,\"uid\":\"b\"},{\"earliest_arrival\":30,"
               "\"uid\":\"c\"}],"
               "\"rows_total\":2,\"truncated\":false}");
    const mk_str trace = world_trace(&w);
    while (rc != MK_OK) {
        testalloc ta;
        mk_arena arena;
        testalloc_init(&ta);
        mk_arena_init(&arena, &ta.hook);
        testalloc_fail(&ta, ++n, true);
        rc = work(&w, trace, &arena);
        if (rc != MK_OK)
            assert_int_equal(rc, MK_E_NOMEM);
        mk_arena_free(&arena);
        assert_true(testalloc_is_clean(&ta));
        testalloc_free(&ta);
    }
    assert_true(n > 20);
    world_end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_claim_alloc__every_failure_is_an_error)};
    return cmocka_run_group_tests_name("claim_alloc", tests, NULL, NULL);
}

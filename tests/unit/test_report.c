/* test_report.c — the reporter over a plan that really ran: a model's words count as far as they hold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../support/tmpdir.h"
#include "agent/report.h"
#include "base/canon.h"

/* Store of the agent spec, 19: a->b at 20, b->c at 30; the plan counts whom a reaches. */
static const char plan_text[] =
    "{\"plan_id\":\"demo\",\"steps\":[{\"id\":\"s1\",\"op\":\"temporal_reachability\","
    "\"args\":{\"src\":\"a\","
    "\"window\":{\"t_a\":0,\"t_b\":100}},\"depends_on\":[]},{\"id\":\"s2\",\"op\":\"compute\","
    "\"args\":{\"fn\":"
    "\"count\",\"input\":{\"$ref\":\"s1.rows\"}},\"depends_on\":[\"s1\"]}],\"answer_spec\":{\"kind\":\"co"
    "unt\","
    "\"from\":\"s2.value\"}}";

#define CLAIM(value) \
    "{\"evidence\":[\"s2\"],\"from\":\"s2.value\",\"id\":\"c1\",\"type\":\"count\",\"value\":" value "}"
#define RIGHT "{\"text\":\"In all, 2 nodes are reached.\",\"claims\":[" CLAIM("2") "]}"
#define WRONG "{\"text\":\"In all, 3 nodes are reached.\",\"claims\":[" CLAIM("3") "]}"
#define LOOSE "{\"text\":\"In all, 2 nodes are reached. Another 7 are not.\",\"claims\":[" CLAIM("2") "]}"

typedef struct world {
    mk_model model;
    tmpdir dir;
    mk_store *store;
    mk_objects *objects;
    mk_arena arena;
    mk_plan_report plan;
    mk_trace trace;
    mk_json *trace_tree;
    mk_evidence *evidence;
    const char *const *replies;
    size_t asked;
    mk_str prompts[4];
    mk_report report;
} world;

static mk_code say(mk_model *self, const mk_model_request *request, mk_arena *arena, mk_model_reply *out,
                   mk_err *err)
{
    world *w = (world *)self;
    const char *reply = w->replies[w->asked];
    assert_true(w->asked < 4);
    w->prompts[w->asked++] = mk_arena_copy(&w->arena, request->messages[1].content);
    if (reply == NULL)
        return mk_fail(err, MK_E_MODEL, "down");
    *out = (mk_model_reply){.text = mk_arena_copy(arena, mk_str_of(reply)), .guide = MK_GUIDE_NONE};
    return MK_OK;
}

static void write_op(world *w, mk_op op)
{
    op.source = MK_STR("test");
    op.provenance_null = true;
    op.props = MK_STR("{}");
    assert_int_equal(mk_store_write(w->store, &op, 1, NULL, NULL, NULL), MK_OK);
}

static mk_code get_object(void *ctx, const char *digest, mk_arena *arena, mk_str *text, mk_err *err)
{
    mk_objects *objects = ctx;
    return objects->get(objects, digest, arena, text, err);
}

static void enter(world *w, const char *const *replies)
{
    static const char *const nodes[] = {"a", "b", "c"};
    const mk_store_options options = {.mode = MK_OPEN_CREATE_WRITER, .manual = true};
    *w = (world){.model = {.ask = say}, .replies = replies};
    tmpdir_make(&w->dir);
    assert_int_equal(mk_store_open(w->dir.path, &options, &w->store, NULL), MK_OK);
    for (size_t i = 0; i < 3; i++)
        write_op(w, (mk_op){.kind = MK_OP_ASSERT_NODE, .uid = mk_str_of(nodes[i]), .label = MK_STR("Node"),
                            .vt_e = MK_OPEN_END});
    for (int i = 0; i < 2; i++)
        write_op(w, (mk_op){.kind = MK_OP_ASSERT_EDGE, .src = mk_str_of(nodes[i]),
                            .dst = mk_str_of(nodes[i + 1]),
                            .rel_type = MK_STR("R"), .vt_s = 20 + 10 * i, .vt_e = 21 + 10 * i});
    mk_arena_init(&w->arena, &mk_alloc_default);
    const mk_plan_check_options check = {0};
    const mk_plan_run_options run = {.threads = 1};
    assert_int_equal(mk_plan_check(mk_str_of(plan_text), &check, &w->arena, &w->plan, NULL), MK_OK);
    assert_true(w->plan.valid);
    assert_int_equal(mk_objects_memory(&mk_alloc_default, (size_t)1 << 24, &w->objects, NULL), MK_OK);
    assert_int_equal(mk_plan_run(w->store, &w->plan.plan, &run, w->objects, &w->arena, &w->trace, NULL),
                     MK_OK);
    assert_true(w->trace.ok);
    assert_int_equal(mk_json_parse(&w->arena, w->trace.json, NULL, &w->trace_tree, NULL), MK_OK);
    assert_int_equal(mk_evidence_open(w->trace.json, get_object, w->objects, NULL, NULL, &w->arena,
                                      &w->evidence,
                                      NULL),
                     MK_OK);
}

static void leave(world *w)
{
    mk_arena_free(&w->arena);
    mk_objects_close(w->objects);
    assert_int_equal(mk_store_close(w->store, NULL), MK_OK);
    tmpdir_remove(&w->dir);
}

static void report(world *w, bool with_model)
{
    const mk_report_options options = {.model = with_model ? &w->model : NULL, .verify = {.strict = true}};
    assert_int_equal(mk_report_write(MK_STR("how many?"), w->plan.plan.json, w->trace_tree, w->objects,
                                     w->evidence,
                                     &options, &w->arena, &w->report, NULL),
                     MK_OK);
}

/* What may leave of the report. */
static mk_gated gate(world *w)
{
    const mk_verify_options verify = {.strict = true};
    mk_answer_report checked;
    mk_gated gated;
    assert_int_equal(mk_answer_verify(w->report.answer, w->evidence, &verify, &w->arena, &checked, NULL),
                     MK_OK);
    assert_true(checked.schema_valid);
    assert_int_equal(mk_answer_gate(&checked, &verify, &w->arena, &gated, NULL), MK_OK);
    return gated;
}

static bool has(mk_str text, const char *part)
{
    return memmem(text.p, text.n, part, strlen(part)) != NULL;
}

/* The mechanical answer: every claim of it holds. */
static void assert_mechanical(world *w)
{
    const mk_verify_options verify = {.strict = true};
    mk_answer_report checked;
    assert_false(w->report.by_model);
    assert_int_equal(mk_answer_verify(w->report.answer, w->evidence, &verify, &w->arena, &checked, NULL),
                     MK_OK);
    assert_true(checked.schema_valid && checked.claim_count > 0);
    for (size_t i = 0; i < checked.claim_count; i++)
        assert_int_equal(checked.claims[i].verdict, MK_SUPPORTED);
}

static void test_report__without_a_model_it_is_mechanical(void **state)
{
    (void)state;
    static const char *const none[] = {NULL};
    world w;
    enter(&w, none);
    report(&w, false);
    assert_mechanical(&w);
    assert_true(mk_str_eq(w.report.record, MK_STR("[]")));
    assert_int_equal(w.asked, 0);
    leave(&w);
}

static void test_report__a_models_answer_that_holds_is_taken(void **state)
{
    (void)state;
    static const char *const replies[] = {"```json\n" RIGHT "\n```", NULL};
    world w;
    mk_json *record;
    enter(&w, replies);
    report(&w, true);
    assert_true(w.report.by_model);
    assert_int_equal(w.report.attempts, 1);
    assert_true(gate(&w).emitted);
    assert_true(has(w.prompts[0], "\"value\":2")); /* it was shown the results */
    assert_int_equal(mk_json_parse(&w.arena, w.report.record, NULL, &record, NULL), MK_OK);
    assert_int_equal(record->n, 1);
    leave(&w);
}

static void test_report__an_invalid_answer_is_told_why_and_tried_once_more(void **state)
{
    (void)state;
    static const char *const first[] = {"2 nodes.", "{\"text\":7}", WRONG, LOOSE};
    for (size_t i = 0; i < sizeof first / sizeof *first; i++) {
        const char *const replies[] = {first[i], RIGHT, NULL};
        world w;
        enter(&w, replies);
        report(&w, true);
        assert_true(w.report.by_model);
        assert_int_equal(w.report.attempts, 2);
        assert_true(mk_str_eq(w.report.answer, MK_STR(RIGHT)));
        assert_true(has(w.prompts[1], "E_ANSWER"));
        leave(&w);
    }
}

static void test_report__twice_invalid_gives_the_mechanical_answer(void **state)
{
    (void)state;
    static const char *const bad[] = {"words", "[]", "{\"text\":\"x\",\"claims\":[{}]}", WRONG, "\xff"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *const replies[] = {bad[i], bad[i], NULL};
        world w;
        enter(&w, replies);
        report(&w, true);
        assert_int_equal(w.report.attempts, 2);
        assert_mechanical(&w);
        leave(&w);
    }
}

static void test_report__a_model_that_fails_gives_the_mechanical_answer(void **state)
{
    (void)state;
    static const char *const down[] = {NULL};
    static const char *const half[] = {WRONG, NULL};
    world w;
    enter(&w, down);
    report(&w, true);
    assert_mechanical(&w);
    leave(&w);
    enter(&w, half);
    report(&w, true);
    assert_mechanical(&w);
    leave(&w);
}

static void test_report__a_number_without_a_claim_does_not_pass_the_gate(void **state)
{
    (void)state;
    static const char *const replies[] = {LOOSE, LOOSE, NULL};
    world w;
    enter(&w, replies);
    report(&w, true);
    const mk_gated gated = gate(&w);
    assert_true(gated.emitted);
    assert_true(has(gated.answer, "2 nodes"));
    assert_false(has(gated.answer, "7"));
    leave(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_report__without_a_model_it_is_mechanical),
        cmocka_unit_test(test_report__a_models_answer_that_holds_is_taken),
        cmocka_unit_test(test_report__an_invalid_answer_is_told_why_and_tried_once_more),
        cmocka_unit_test(test_report__twice_invalid_gives_the_mechanical_answer),
        cmocka_unit_test(test_report__a_model_that_fails_gives_the_mechanical_answer),
        cmocka_unit_test(test_report__a_number_without_a_claim_does_not_pass_the_gate),
    };
    return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}

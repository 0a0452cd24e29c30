/* test_plan_model.c — the conversation with a model that plans: attempts, repairs, budget, cleaning. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../support/httpd.h"
#include "../support/tmpdir.h"
#include "agent/output.h"
#include "agent/plan_model.h"
#include "base/canon.h"

#define GOOD                                                                                              \
    "{\"plan_id\":\"p\",\"steps\":[{\"id\":\"s1\",\"op\":\"resolve_entities\",\"args\":{\"query\":\"a\"},"   \
    "\"depends_on\":[]}],\"answer_spec\":{\"kind\":\"count\",\"from\":\"s1.rows_total\"}}"
#define WRONG_FIELD                                                                                       \
    "{\"plan_id\":\"p\",\"steps\":[{\"id\":\"s1\",\"op\":\"resolve_entities\",\"args\":{\"query\":\"a\"},"   \
    "\"depends_on\":[]}],\"answer_spec\":{\"kind\":\"count\",\"from\":\"s1.count\"}}"
#define UNGROUNDED                                                                                        \
    "{\"plan_id\":\"p\",\"steps\":[{\"id\":\"s1\",\"op\":\"entity_history\",\"args\":{\"uid\":\"zed\"},"     \
    "\"depends_on\":[]}],\"answer_spec\":{\"kind\":\"count\",\"from\":\"s1.rows_total\"}}"

/* ---- a world: a store, a model that says what a script has ---- */

typedef struct world {
    mk_model model;
    tmpdir dir;
    mk_store *store;
    mk_view *view;
    mk_arena arena;
    const char *const *replies; /* NULL fails */
    size_t asked;
    mk_str prompts[8];
    bool guided;
    size_t attempts, rejections;
    mk_plan_model *planner;
    mk_plan_model_result result;
    mk_err err;
} world;

static mk_code say(mk_model *self, const mk_model_request *request, mk_arena *arena, mk_model_reply *out,
                   mk_err *err)
{
    world *w = (world *)self;
    const char *reply = w->replies[w->asked];
    assert_true(w->asked < 8);
    assert_int_equal(request->message_count, 2);
    w->prompts[w->asked++] = mk_arena_copy(&w->arena, request->messages[1].content);
    w->guided = request->schema.n != 0 && request->grammar.n != 0;
    if (reply == NULL)
        return mk_fail(err, MK_E_MODEL, "down");
    *out = (mk_model_reply){.text = mk_arena_copy(arena, mk_str_of(reply)), .guide = MK_GUIDE_NONE};
    return MK_OK;
}

static void on_event(void *ctx, size_t attempt, bool rejected, mk_str detail)
{
    world *w = ctx;
    assert_true(attempt >= 1 && attempt <= 4);
    if (rejected)
        w->rejections += detail.n != 0;
    else
        w->attempts++;
}

static mk_plan_model_options options_of(world *w)
{
    static const mk_prompt_task task = {.question = {"how many are called a?", 22}, .grounded = true};
    static const mk_plan_check_options check = {.ground = true};
    return (mk_plan_model_options){.model = &w->model, .task = &task, .check = &check, .event = on_event,
                                   .event_ctx = w};
}

static void enter(world *w, const char *const *replies)
{
    const mk_store_options options = {.mode = MK_OPEN_CREATE_WRITER, .manual = true};
    *w = (world){.model = {.ask = say}, .replies = replies};
    tmpdir_make(&w->dir);
    assert_int_equal(mk_store_open(w->dir.path, &options, &w->store, NULL), MK_OK);
    assert_int_equal(mk_view_at(w->store, (mk_tt){MK_OPEN_END}, 0, &w->view, NULL), MK_OK);
    mk_arena_init(&w->arena, &mk_alloc_default);
}

static void leave(world *w)
{
    mk_plan_model_close(w->planner);
    mk_arena_free(&w->arena);
    mk_view_close(w->view);
    assert_int_equal(mk_store_close(w->store, NULL), MK_OK);
    tmpdir_remove(&w->dir);
}

static mk_code run(world *w, const mk_plan_model_options *options)
{
    const mk_code rc = mk_plan_model_open(w->view, options, &w->arena, &w->planner, &w->err);
    return rc == MK_OK ? mk_plan_model_next(w->planner, (mk_str){0}, &w->result, &w->err) : rc;
}

static bool prompt_has(const world *w, size_t i, const char *text)
{
    return memmem(w->prompts[i].p, w->prompts[i].n, text, strlen(text)) != NULL;
}

/* ---- repairs ---- */

static void test_plan_model__bad_json_then_a_bad_plan_then_a_good_one(void **state)
{
    (void)state;
    static const char *const replies[] = {"I would look up a.", WRONG_FIELD, GOOD, NULL};
    world w;
    enter(&w, replies);
    const mk_plan_model_options options = options_of(&w);
    assert_int_equal(run(&w, &options), MK_OK);
    assert_true(w.result.planned && w.result.budget_left && !w.result.first_valid);
    assert_int_equal(w.result.attempts, 3);
    assert_int_equal(w.attempts, 3);
    assert_int_equal(w.rejections, 2);
    assert_true(mk_str_eq(w.result.plan, MK_STR(GOOD)));
    assert_true(w.guided);
    /* The whole history stays, and the repair names the fields that there are. */
    assert_true(prompt_has(&w, 1, "I would look up a."));
    assert_true(prompt_has(&w, 2, "I would look up a."));
    assert_true(prompt_has(&w, 2, "rows_total"));
    leave(&w);
}

static void test_plan_model__a_good_plan_needs_one_call(void **state)
{
    (void)state;
    static const char *const replies[] = {"<think>a {\"b\":1}\n</think>\n```json\n" GOOD "\n```", NULL};
    world w;
    enter(&w, replies);
    const mk_plan_model_options options = options_of(&w);
    assert_int_equal(run(&w, &options), MK_OK);
    assert_true(w.result.planned && w.result.first_valid);
    assert_int_equal(w.asked, 1);
    leave(&w);
}

static void test_plan_model__there_are_never_more_than_four_calls(void **state)
{
    (void)state;
    static const char *const replies[] = {WRONG_FIELD, UNGROUNDED, "{}", "[1,", GOOD, NULL};
    world w;
    enter(&w, replies);
    mk_plan_model_options options = options_of(&w);
    options.repairs_max = 99;
    assert_int_equal(run(&w, &options), MK_OK);
    assert_false(w.result.planned);
    assert_false(w.result.budget_left);
    assert_int_equal(w.result.plan.n, 0);
    assert_int_equal(w.asked, 4);
    assert_int_equal(mk_plan_model_next(w.planner, MK_STR("{\"error\":\"E_RUN\"}"), &w.result, NULL), MK_OK);
    assert_int_equal(w.asked, 4);
    assert_false(w.result.planned);
    leave(&w);
}

static void test_plan_model__an_identifier_out_of_nowhere_is_rejected(void **state)
{
    (void)state;
    static const char *const replies[] = {UNGROUNDED, GOOD, NULL};
    world w;
    enter(&w, replies);
    const mk_plan_model_options options = options_of(&w);
    assert_int_equal(run(&w, &options), MK_OK);
    assert_int_equal(w.result.attempts, 2);
    assert_true(prompt_has(&w, 1, "E_GROUNDING"));
    leave(&w);
}

static void test_plan_model__a_run_s_errors_start_from_the_plan_that_ran(void **state)
{
    (void)state;
    static const char *const replies[] = {"first words", GOOD, WRONG_FIELD, GOOD, NULL};
    world w;
    enter(&w, replies);
    const mk_plan_model_options options = options_of(&w);
    assert_int_equal(run(&w, &options), MK_OK);
    assert_int_equal(mk_plan_model_next(w.planner, MK_STR("{\"error\":\"E_RUN\",\"errors\":[]}"),
                                        &w.result, NULL),
                     MK_OK);
    assert_true(w.result.planned);
    assert_int_equal(w.result.attempts, 4);
    assert_false(w.result.first_valid);
    assert_false(prompt_has(&w, 2, "first words")); /* earlier attempts are dropped, but they count */
    assert_true(prompt_has(&w, 2, "E_RUN"));
    assert_true(prompt_has(&w, 2, "resolve_entities"));
    leave(&w);
}

static void test_plan_model__a_model_that_fails_is_an_error(void **state)
{
    (void)state;
    static const char *const replies[] = {WRONG_FIELD, NULL};
    world w;
    enter(&w, replies);
    const mk_plan_model_options options = options_of(&w);
    assert_int_equal(run(&w, &options), MK_E_MODEL);
    leave(&w);
}

static void test_plan_model__repairs_and_guides_can_be_switched_off(void **state)
{
    (void)state;
    static const char *const replies[] = {WRONG_FIELD, GOOD, NULL};
    world w;
    enter(&w, replies);
    mk_plan_model_options options = options_of(&w);
    options.no_repairs = options.unguided = true;
    assert_int_equal(run(&w, &options), MK_OK);
    assert_false(w.result.planned);
    assert_int_equal(w.asked, 1);
    assert_false(w.guided);
    leave(&w);
}

static void test_plan_model__hostile_outputs_are_violations(void **state)
{
    (void)state;
    static const char *const outputs[] = {
        "", "null", "[]", "{\"steps\":NaN}", "```json\n```", "<think>", "<think></think>", "```",
        "{\"a\":1}{\"b\":2}",
        "{\"plan_id\":\"p\",\"plan_id\":\"q\",\"steps\":[],\"answer_spec\":{}}",
        "{\"plan_id\":\"p\",\"steps\":[{\"id\":\"s1\",\"op\":\"x\",\"args\":{\"$ref\":7},"
        "\"depends_on\":[\"s1\"]}],"
        "\"answer_spec\":{\"kind\":\"count\",\"from\":\"s1\"}}",
        "\xff\xfe", "{\"plan_id\":99999999999999999999999}",
        "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
    };
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
        const char *const replies[] = {outputs[i], outputs[i], outputs[i], outputs[i], NULL};
        world w;
        enter(&w, replies);
        const mk_plan_model_options options = options_of(&w);
        assert_int_equal(run(&w, &options), MK_OK);
        assert_false(w.result.planned);
        assert_int_equal(w.rejections, 4);
        leave(&w);
    }
}

/* ---- records ---- */

static void test_plan_model__every_call_is_on_record(void **state)
{
    (void)state;
    static const char *const replies[] = {WRONG_FIELD, GOOD, NULL};
    world w;
    mk_json *record;
    enter(&w, replies);
    const mk_plan_model_options options = options_of(&w);
    assert_int_equal(run(&w, &options), MK_OK);
    assert_int_equal(mk_json_parse(&w.arena, w.result.record, NULL, &record, NULL), MK_OK);
    assert_int_equal(record->n, 2);
    assert_true(mk_str_eq(mk_json_get(&record->items[1], "reply")->text, MK_STR(GOOD)));
    assert_true(mk_str_eq(mk_json_get(&record->items[1], "guide")->text, MK_STR("none")));
    leave(&w);
}

/* ---- errors of a run ---- */

static void assert_errors(const char *trace, const char *wanted)
{
    mk_arena arena;
    mk_json *tree;
    mk_str errors;
    mk_arena_init(&arena, &mk_alloc_default);
    assert_int_equal(mk_json_parse(&arena, mk_str_of(trace), NULL, &tree, NULL), MK_OK);
    assert_int_equal(mk_plan_model_errors(tree, &arena, &errors, NULL), MK_OK);
    if (!mk_str_eq(errors, mk_str_of(wanted)))
        fail_msg("%.*s", MK_STR_ARG(errors));
    mk_arena_free(&arena);
}

static void test_plan_model__all_errors_of_a_run_are_told_and_ours_are_not(void **state)
{
    (void)state;
    assert_errors("{\"steps\":[{\"step_id\":\"s1\",\"status\":\"ok\"}],\"answer_error\":null}", "");
    assert_errors("{\"steps\":[{\"step_id\":\"s1\",\"error\":{\"error\":\"E_COST\"}},"
                  "{\"step_id\":\"s2\",\"error\":"
                  "{\"error\":\"E_NOT_FOUND\"}}],\"answer_error\":null}",
                  "{\"error\":\"E_RUN\",\"errors\":[{\"error\":{\"error\":\"E_COST\"},\"step_id\":\"s1\"},"
                  "{\"error\":{\"error\":\"E_NOT_FOUND\"},\"step_id\":\"s2\"}]}");
    assert_errors("{\"steps\":[{\"step_id\":\"s1\",\"error\":{\"error\":\"E_STATE\"}}],"
                  "\"answer_error\":\"x\"}", "");
    assert_errors("{\"steps\":[{\"step_id\":\"s1\"}],\"answer_error\":\"no field\"}",
                  "{\"error\":\"E_RUN\",\"errors\":[],\"answer_error\":\"no field\"}");
    assert_errors("{}", "");
    assert_errors("[]", "");
}

/* ---- cleaning ---- */

static void assert_cleaned(const char *text, const char *wanted)
{
    mk_arena arena;
    mk_arena_init(&arena, &mk_alloc_default);
    const mk_str clean = mk_output_clean(mk_str_of(text), &arena);
    if (!mk_str_eq(clean, mk_str_of(wanted)))
        fail_msg("%s -> %.*s", text, MK_STR_ARG(clean));
    mk_arena_free(&arena);
}

static void test_plan_model__thoughts_and_fences_go_and_nothing_else(void **state)
{
    (void)state;
    assert_cleaned(" {} \n", "{}");
    assert_cleaned("<think>{\"a\":1}</think>{}", "{}");
    assert_cleaned("a<think>b</think>c<think>\n</think>d", "acd");
    assert_cleaned("<think>{}", "<think>{}");
    assert_cleaned("```json\n{}\n```", "{}");
    assert_cleaned("```\n[1]\n```", "[1]");
    assert_cleaned("Here:\n```json\n{\"a\":1}\n```\nand\n```\n{}\n```", "{\"a\":1}");
    assert_cleaned("Here:\n```sh\nls\n```\nand\n```\n{}\n```", "{}");
    assert_cleaned("Here: {}", "Here: {}");
    assert_cleaned("```json\n{", "```json\n{");
    assert_cleaned("``````", "");
    assert_cleaned("", "");
}

/* ---- over the wire ---- */

static void say_script(void *ctx, size_t number, const char *body, size_t size, httpd_reply *reply)
{
    (void)ctx, (void)size;
    if (strstr(body, "response_format") != NULL)
        httpd_respond(reply, 400, "text/plain", "no such thing", 13);
    else
        httpd_chat_events(reply, number < 2 ? WRONG_FIELD : GOOD, NULL, true);
}

static void test_plan_model__a_rerun_over_http_is_free(void **state)
{
    (void)state;
    static const char *const unused[] = {NULL};
    world w;
    httpd server;
    mk_model_options http = {.wait_us = 20000000};
    enter(&w, unused);
    httpd_start(&server, say_script, NULL);
    snprintf(http.url, sizeof http.url, "http://127.0.0.1:%u", server.port);
    strcpy(http.model, "m");
    tmpdir_join(&w.dir, "cache", http.cache_dir);
    mk_plan_model_options options = options_of(&w);
    assert_int_equal(mk_model_http_open(&mk_alloc_default, &http, &options.model, NULL), MK_OK);
    for (int round = 0; round < 2; round++) {
        mk_json *record;
        assert_int_equal(run(&w, &options), MK_OK);
        assert_true(w.result.planned);
        assert_int_equal(w.result.attempts, 2);
        assert_int_equal(server.requests, 3); /* one for a guide that the server does not know */
        assert_int_equal(mk_json_parse(&w.arena, w.result.record, NULL, &record, NULL), MK_OK);
        assert_int_equal(mk_json_get(&record->items[0], "cached")->b, round == 1);
        mk_plan_model_close(w.planner); /* another prompt, with another nonce */
        w.planner = NULL;
    }
    mk_model_close(options.model);
    httpd_stop(&server);
    leave(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plan_model__bad_json_then_a_bad_plan_then_a_good_one),
        cmocka_unit_test(test_plan_model__a_good_plan_needs_one_call),
        cmocka_unit_test(test_plan_model__there_are_never_more_than_four_calls),
        cmocka_unit_test(test_plan_model__an_identifier_out_of_nowhere_is_rejected),
        cmocka_unit_test(test_plan_model__a_run_s_errors_start_from_the_plan_that_ran),
        cmocka_unit_test(test_plan_model__a_model_that_fails_is_an_error),
        cmocka_unit_test(test_plan_model__repairs_and_guides_can_be_switched_off),
        cmocka_unit_test(test_plan_model__hostile_outputs_are_violations),
        cmocka_unit_test(test_plan_model__every_call_is_on_record),
        cmocka_unit_test(test_plan_model__all_errors_of_a_run_are_told_and_ours_are_not),
        cmocka_unit_test(test_plan_model__thoughts_and_fences_go_and_nothing_else),
        cmocka_unit_test(test_plan_model__a_rerun_over_http_is_free),
    };
    return cmocka_run_group_tests_name("plan_model", tests, NULL, NULL);
}

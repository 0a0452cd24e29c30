/* test_eval_run.c — suites through the oracle, the constant baseline, the report, and plans made from a
 * store. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../support/tmpdir.h"
#include "api_json.h"
#include "eval/generate.h"
#include "eval/run_internal.h"
#include "eval/score.h"
#include "model/model.h"
#include "store/store.h"

/* Chains of messages among three people, and a correction. */
typedef struct world {
    tmpdir dir;
    mk_store *store;
    mk_arena arena;
    mk_err err;
} world;

static void write_ops(world *w, const char *text)
{
    const mk_api_origin origin = {.source = MK_STR("test")};
    mk_op *ops;
    size_t count;
    if (mk_api_read_ops(&w->arena, mk_str_of(text), &origin, &ops, &count, &w->err) != MK_OK ||
        mk_store_write(w->store, ops, count, NULL, NULL, &w->err) != MK_OK)
        fail_msg("%s", w->err.message);
}

static int setup(void **state)
{
    world *w = mk_new0(&mk_alloc_default, sizeof *w);
    char path[TMPDIR_PATH_MAX];
    const mk_store_options options = {.mode = MK_OPEN_CREATE_WRITER, .manual = true};
    tmpdir_make(&w->dir);
    mk_arena_init(&w->arena, &mk_alloc_default);
    if (mk_store_open(tmpdir_join(&w->dir, "store", path), &options, &w->store, &w->err) != MK_OK)
        fail_msg("%s", w->err.message);
    write_ops(w, "{\"op\":\"assert_node\",\"uid\":\"a\",\"label\":\"Person\",\"props\":{},\"vt_s\":0}\n"
                 "{\"op\":\"assert_node\",\"uid\":\"b\",\"label\":\"Person\",\"props\":{},\"vt_s\":0}\n"
                 "{\"op\":\"assert_node\",\"uid\":\"c\",\"label\":\"Person\",\"props\":{},\"vt_s\":0}\n"
                 "{\"op\":\"assert_edge\",\"src\":\"a\",\"dst\":\"b\",\"rel_type\":\"MSG\",\"vt_s\":100,\"vt_"
                 "e\":101}\n"
                 "{\"op\":\"assert_edge\",\"src\":\"b\",\"dst\":\"c\",\"rel_type\":\"MSG\",\"vt_s\":200,\"vt_"
                 "e\":201}\n");
    write_ops(w, "{\"op\":\"correct\",\"ref\":{\"kind\":\"node\",\"uid\":\"a\"},\"props\":{\"x\":1},\"vt_s\":"
                 "50,\"vt_e\":60}\n");
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    world *w = *state;
    (void)mk_store_close(w->store, NULL);
    mk_arena_free(&w->arena);
    tmpdir_remove(&w->dir);
    mk_free(&mk_alloc_default, w, sizeof *w);
    return 0;
}

#define REACH(id, kind, from, gold, extra)                                                                   \
    "{\"id\":\"" id "\",\"family\":\"t1\",\"question\":\"q\",\"kind\":\"" kind "\",\"gold\":" gold           \
    ",\"input_uids\":[\"a\"],\"oracle_plan\":{\"plan_id\":\"p\",\"question\":\"q\",\"steps\":[{\"id\":"      \
    "\"s1\","                                                                                                \
    "\"op\":\"temporal_reachability\",\"depends_on\":[],\"args\":{" extra                                    \
    "\"src\":\"a\",\"window\":{\"t_a\":0,\"t_b\":1000}}}],\"answer_spec\":{\"kind\":\"" kind                 \
    "\",\"from\":\"" from "\"}}}"

static mk_eval_report run_suite(world *w, const char *text, const mk_eval_options *options)
{
    mk_eval_suite *suite = mk_arena_get(&w->arena, sizeof *suite);
    mk_eval_report report = {.row_count = 0};
    if (mk_suite_read(mk_str_of(text), &w->arena, suite, &w->err) != MK_OK ||
        mk_eval_run(w->store, suite, options, &w->arena, &report, &w->err) != MK_OK)
        fail_msg("%s", w->err.message);
    return report;
}

static void test_eval_run__right_and_wrong_golds_are_told_apart(void **state)
{
    world *w = *state;
    const mk_eval_options options = {.planner = MK_EVAL_ORACLE, .threads = 1};
    const mk_eval_report r =
        run_suite(w,
                  "[" REACH("right", "count", "s1.rows_total", "2", "") "," REACH(
                      "wrong", "count", "s1.rows_total", "3",
                      "") "," REACH("set", "entity_set", "s1.rows", "[\"c\",\"b\"]",
                                    "") "," REACH("first", "value", "s1.rows[0].uid", "\"b\"", "") "]",
                  &options);
    assert_int_equal(r.row_count, 4);
    assert_true(r.rows[0].correct);
    assert_false(r.rows[1].correct);
    assert_false(r.rows[1].abstained);
    assert_true(mk_str_eq(r.rows[1].answer, MK_STR("2")));
    assert_true(r.rows[2].correct);
    assert_true(r.rows[3].correct);
    assert_float_equal(r.overall.exact_match, 0.75, 1e-12);
    assert_float_equal(r.first_attempt_validity, 1, 0);
    assert_float_equal(r.execution_success, 1, 0);
    assert_float_equal(r.unsupported_claim_rate, 0, 0);
    assert_int_equal(r.kind_count, 3);
    assert_true(mk_str_eq(r.kinds[0].name, MK_STR("count")));
    assert_float_equal(r.kinds[0].exact_match, 0.5, 0);
}

static void test_eval_run__a_plan_that_is_refused_abstains_and_says_why(void **state)
{
    world *w = *state;
    const mk_eval_options options = {.planner = MK_EVAL_ORACLE, .threads = 1};
    const mk_eval_report r = run_suite(
        w, "[" REACH("bad", "count", "s1.rows_total", "2", "\"nonsense\":1,") "]", &options);
    assert_true(r.rows[0].abstained);
    assert_false(r.rows[0].correct);
    assert_false(r.rows[0].first_valid);
    assert_true(r.rows[0].why.n > 0);
    assert_true(mk_str_eq(r.rows[0].answer, MK_STR("null")));
    assert_float_equal(r.first_attempt_validity, 0, 0);
    assert_float_equal(r.unsupported_claim_rate, -1, 0); /* there was nothing to measure */
}

static void test_eval_run__an_oracle_needs_plans(void **state)
{
    world *w = *state;
    const mk_eval_options options = {.planner = MK_EVAL_ORACLE};
    mk_eval_suite suite;
    mk_eval_report report;
    assert_int_equal(
        mk_suite_read(MK_STR("[{\"id\":\"x\",\"question\":\"q\",\"kind\":\"count\",\"gold\":1}]"), &w->arena,
                      &suite, NULL),
        MK_OK);
    assert_int_equal(mk_eval_run(w->store, &suite, &options, &w->arena, &report, &w->err), MK_E_INVALID_ARG);
    assert_non_null(strstr(w->err.hint, "offline"));
}

static void test_eval_run__the_report_is_canonical_and_has_the_agreed_members(void **state)
{
    world *w = *state;
    static const char *const names[] = {"tasks",
                                        "exact_match",
                                        "abstained",
                                        "by_family",
                                        "by_kind",
                                        "results",
                                        "baseline",
                                        "first_attempt_validity",
                                        "execution_success",
                                        "unsupported_claim_rate",
                                        "planner"};
    const mk_eval_options options = {
        .planner = MK_EVAL_ORACLE, .threads = 1, .no_gate = true, .no_memory = true};
    const mk_eval_report r = run_suite(w, "[" REACH("x", "count", "s1.rows_total", "2", "") "]", &options);
    mk_buf text, canon;
    mk_json *tree;
    mk_buf_init(&text, &mk_alloc_default);
    mk_buf_init(&canon, &mk_alloc_default);
    mk_eval_report_json(&r, &text);
    assert_int_equal(mk_json_parse(&w->arena, mk_buf_view(&text), NULL, &tree, &w->err), MK_OK);
    assert_int_equal(mk_canon_tree(&canon, &w->arena, tree, &w->err), MK_OK);
    assert_true(mk_str_eq(mk_buf_view(&text), mk_buf_view(&canon)));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_non_null(mk_json_get(tree, names[i]));
    const mk_json *row = &mk_json_get(tree, "results")->items[0];
    assert_int_equal(row->n, 4);
    assert_true(mk_json_get(row, "correct")->b);
    assert_true(mk_str_eq(mk_json_get(tree, "ablated")->text, MK_STR("gate,memory")));
    mk_buf_free(&canon);
    mk_buf_free(&text);
}

/* ---- a model that is a script ---- */

/* Writes the right plan when it is asked first, and nonsense as a report ever after. */
typedef struct scripted {
    mk_model model;
    const char *plan;
    size_t calls;
} scripted;

static mk_code speak(mk_model *self, const mk_model_request *request, mk_arena *arena, mk_model_reply *out,
                     mk_err *err)
{
    scripted *s = (scripted *)self;
    (void)request;
    const char *text = s->calls++ == 0 ? s->plan : "nothing like an answer";
    *out = (mk_model_reply){
        .text = mk_arena_copy(arena, mk_str_of(text)), .prompt_tokens = -1, .reply_tokens = -1};
    return out->text.p != NULL ? MK_OK : mk_fail_nomem(err);
}

#define PLANNED                                                                                              \
    "{\"plan_id\":\"p\",\"question\":\"q\",\"steps\":[{\"id\":\"s1\",\"op\":\"temporal_reachability\","      \
    "\"depends_on\":[],\"args\":{\"src\":\"a\",\"window\":{\"t_a\":0,\"t_b\":1000}}}],\"answer_spec\":{"     \
    "\"kind\":\"count\",\"from\":\"s1.rows_total\"}}"

/* Source: evaluation spec, 13: with the oracle's plans in its mouth a model scores like the oracle, whatever
 * it reports. */
static void test_eval_run__a_model_that_writes_the_right_plan_is_right(void **state)
{
    world *w = *state;
    scripted s = {.model = {.ask = speak}, .plan = PLANNED};
    const mk_eval_options options = {.planner = MK_EVAL_MODEL, .model = &s.model, .threads = 1};
    const mk_eval_report r = run_suite(w,
                                       "[{\"id\":\"x\",\"question\":\"Whom can a "
                                       "reach?\",\"kind\":\"count\",\"gold\":2,\"input_uids\":[\"a\"]}]",
                                       &options);
    assert_true(s.calls >= 2);
    assert_true(r.rows[0].correct);
    assert_true(r.rows[0].first_valid);
    assert_true(r.rows[0].executed);
    assert_float_equal(r.first_attempt_validity, 1, 0);
    assert_float_equal(r.unsupported_claim_rate, 0, 0);
}

static void test_eval_run__a_model_that_writes_no_plan_abstains(void **state)
{
    world *w = *state;
    scripted s = {.model = {.ask = speak}, .plan = "I would rather not."};
    const mk_eval_options options = {.planner = MK_EVAL_MODEL, .model = &s.model, .threads = 1};
    const mk_eval_report r = run_suite(
        w, "[{\"id\":\"x\",\"question\":\"Whom can a reach?\",\"kind\":\"count\",\"gold\":2},"
           "{\"id\":\"y\",\"question\":\"Will it rain?\",\"kind\":\"abstain\"}]",
        &options);
    assert_true(r.rows[0].abstained);
    assert_false(r.rows[0].correct);
    assert_false(r.rows[0].first_valid);
    assert_true(r.rows[0].why.n > 0);
    assert_true(r.rows[1].correct);
    assert_float_equal(r.first_attempt_validity, 0, 0);
}

/* Three counts of which two are 1: saying 1 always gets two. An abstention cannot be a constant answer. */
static void test_eval_run__the_constant_answer_is_the_most_frequent(void **state)
{
    world *w = *state;
    mk_eval_suite suite;
    double *baseline;
    assert_int_equal(
        mk_suite_read(MK_STR("[{\"id\":\"1\",\"question\":\"q\",\"kind\":\"count\",\"gold\":5},"
                             "{\"id\":\"2\",\"question\":\"q\",\"kind\":\"count\",\"gold\":1},"
                             "{\"id\":\"3\",\"question\":\"q\",\"kind\":\"entity_set\",\"gold\":[\"a\"]},"
                             "{\"id\":\"4\",\"question\":\"q\",\"kind\":\"count\",\"gold\":1},"
                             "{\"id\":\"5\",\"question\":\"q\",\"kind\":\"abstain\"}]"),
                      &w->arena, &suite, NULL),
        MK_OK);
    assert_int_equal(mk_eval__baseline(&suite, &w->arena, &baseline, NULL), MK_OK);
    const double wanted[] = {0, 1, 1, 1, 0};
    for (size_t i = 0; i < 5; i++)
        assert_float_equal(baseline[i], wanted[i], 0);
}

/* ---- plans made from a store ---- */

static void test_eval_generate__plans_are_the_same_for_a_seed_and_differ_between_seeds(void **state)
{
    world *w = *state;
    mk_eval_task *a, *b, *c;
    size_t n, m, k, different = 0;
    assert_int_equal(mk_eval_generate(w->store, 0, 1, &w->arena, &a, &n, NULL), MK_OK);
    assert_int_equal(mk_eval_generate(w->store, 0, 1, &w->arena, &b, &m, NULL), MK_OK);
    assert_int_equal(mk_eval_generate(w->store, 0, 2, &w->arena, &c, &k, NULL), MK_OK);
    assert_true(n > 0);
    assert_int_equal(n, m);
    for (size_t i = 0; i < n; i++) {
        assert_true(mk_str_eq(a[i].plan, b[i].plan));
        different += i < k && !mk_str_eq(a[i].plan, c[i].plan);
    }
    assert_true(different > 0);
}

static void test_eval_generate__a_store_without_edges_gives_no_plans(void **state)
{
    world *w = *state;
    const mk_store_options options = {.mode = MK_OPEN_CREATE_WRITER, .manual = true};
    char path[TMPDIR_PATH_MAX];
    mk_store *empty;
    mk_eval_task *tasks;
    size_t count;
    assert_int_equal(mk_store_open(tmpdir_join(&w->dir, "empty", path), &options, &empty, &w->err), MK_OK);
    assert_int_equal(mk_eval_generate(empty, 0, 1, &w->arena, &tasks, &count, NULL), MK_OK);
    assert_int_equal(count, 0);
    assert_int_equal(mk_store_close(empty, NULL), MK_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_eval_run__right_and_wrong_golds_are_told_apart),
        cmocka_unit_test(test_eval_run__a_plan_that_is_refused_abstains_and_says_why),
        cmocka_unit_test(test_eval_run__an_oracle_needs_plans),
        cmocka_unit_test(test_eval_run__the_report_is_canonical_and_has_the_agreed_members),
        cmocka_unit_test(test_eval_run__a_model_that_writes_the_right_plan_is_right),
        cmocka_unit_test(test_eval_run__a_model_that_writes_no_plan_abstains),
        cmocka_unit_test(test_eval_run__the_constant_answer_is_the_most_frequent),
        cmocka_unit_test(test_eval_generate__plans_are_the_same_for_a_seed_and_differ_between_seeds),
        cmocka_unit_test(test_eval_generate__a_store_without_edges_gives_no_plans),
    };
    return cmocka_run_group_tests_name("eval_run", tests, setup, teardown);
}

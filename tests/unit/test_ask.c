/* test_ask.c — from a question to what may leave: answers, abstentions, beliefs, bundles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../support/testalloc.h"
#include "../support/tmpdir.h"
#include "agent/ask_internal.h"
#include "agent/explain.h"
#include "agent/history.h"
#include "agent/replay.h"
#include "api_json.h"

/* Two people in one history each; three writes, so that there are beliefs to tell apart. */
typedef struct world {
    tmpdir dir;
    mk_store *store;
    mk_objects *objects;
    mk_arena arena;
    mk_tt tt[4];
    mk_err err;
} world;

static mk_tt write_ops(world *w, const char *text)
{
    const mk_api_origin origin = {.source = MK_STR("test")};
    mk_op *ops;
    size_t count;
    mk_tt tt;
    if (mk_api_read_ops(&w->arena, mk_str_of(text), &origin, &ops, &count, &w->err) != MK_OK ||
        mk_store_write(w->store, ops, count, NULL, &tt, &w->err) != MK_OK)
        fail_msg("%s", w->err.message);
    return tt;
}

static int setup(void **state)
{
    world *w = mk_new0(&mk_alloc_default, sizeof *w);
    char path[TMPDIR_PATH_MAX];
    const mk_store_options options = {.mode = MK_OPEN_CREATE_WRITER, .manual = true};
    tmpdir_make(&w->dir);
    mk_arena_init(&w->arena, &mk_alloc_default);
    if (mk_store_open(tmpdir_join(&w->dir, "store", path), &options, &w->store, &w->err) != MK_OK ||
        mk_objects_memory(&mk_alloc_default, (size_t)64 << 20, &w->objects, &w->err) != MK_OK)
        fail_msg("%s", w->err.message);
    w->tt[0] = write_ops(w,
                         "{\"op\":\"assert_node\",\"uid\":\"ada\",\"label\":\"Person\",\"props\":{\""
                         "role\":\"analyst\"},\"vt_s\":0}\n"
                            "{\"op\":\"assert_node\",\"uid\":\"bob\",\"label\":\"Person\",\"props\":{\""
                            "role\":\"clerk\"},\"vt_s\":0}\n"
                            "{\"op\":\"assert_edge\",\"src\":\"ada\",\"dst\":\"bob\",\"rel_type\":\""
                            "KNOWS\",\"vt_s\":100,\"vt_e\":200}\n");
    w->tt[1] = write_ops(w,
                         "{\"op\":\"assert_node\",\"uid\":\"eve\",\"label\":\"Person\",\"props\":{},\""
                         "vt_s\":0}\n");
    w->tt[2] = write_ops(w,
                         "{\"op\":\"correct\",\"ref\":{\"kind\":\"node\",\"uid\":\"ada\"},\"props\":{\""
                         "role\":\"lead\"},\"vt_s\":50,\"vt_e\":60}\n");
    w->tt[3] = write_ops(w,
                         "{\"op\":\"assert_node\",\"uid\":\"dan\",\"label\":\"Person\",\"props\":{},\""
                         "vt_s\":0}\n");
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    world *w = *state;
    mk_objects_close(w->objects);
    (void)mk_store_close(w->store, NULL);
    mk_arena_free(&w->arena);
    tmpdir_remove(&w->dir);
    mk_free(&mk_alloc_default, w, sizeof *w);
    return 0;
}

#define HISTORY_PLAN                                                                               \
    "{\"answer_spec\":{\"from\":\"s1.rows_total\",\"kind\":\"count\"},\"plan_id\":\"p1\","         \
    "\"question\":\"how many versions has ada?\",\"steps\":[{\"args\":{\"uid\":\"%s\"},"           \
    "\"depends_on\":[],\"id\":\"s1\",\"op\":\"entity_history\"}]}"

static mk_ask_result planned(world *w, const char *uid)
{
    mk_buf plan;
    mk_buf_init(&plan, &mk_alloc_default);
    mk_buf_printf(&plan, HISTORY_PLAN, uid);
    const mk_ask_result result = {.question = MK_STR("how many versions has ada?"),
                                  .planner = "offline",
                                  .understood = MK_STR("the number of versions of ada"),
                                  .plan = mk_arena_copy(&w->arena, mk_buf_view(&plan))};
    mk_buf_free(&plan);
    return result;
}

static mk_ask_result answer_at(world *w, const char *uid, mk_tt as_of)
{
    static const mk_ask_options options = {.threads = 1};
    const mk_ask_result plan = planned(w, uid);
    mk_ask_result out;
    if (mk_ask__at(w->store, &plan, as_of, &options, w->objects, &w->arena, &out, &w->err) != MK_OK)
        fail_msg("%s", w->err.message);
    return out;
}

static const mk_json *json_of(world *w, const mk_ask_result *result)
{
    mk_buf text, canon;
    mk_json *tree;
    mk_buf_init(&text, &mk_alloc_default);
    mk_buf_init(&canon, &mk_alloc_default);
    if (mk_ask_json(result, &w->arena, &text, &w->err) != MK_OK ||
        mk_json_parse(&w->arena, mk_buf_view(&text), NULL, &tree, &w->err) != MK_OK ||
        mk_canon_text(&canon, &w->arena, mk_buf_view(&text), NULL, &w->err) != MK_OK)
        fail_msg("%s", w->err.message);
    assert_true(mk_str_eq(mk_buf_view(&text), mk_buf_view(&canon)));
    mk_buf_free(&canon);
    mk_buf_free(&text);
    return tree;
}

/* ---- answers ---- */

static void test_ask__an_answer_carries_its_claims_and_evidence(void **state)
{
    world *w = *state;
    const mk_ask_result result = answer_at(w, "ada", w->tt[3]);
    assert_false(result.abstained);
    assert_true(result.complete);
    assert_non_null(result.value);
    assert_int_equal(result.value->i, 3);
    assert_true(result.report.claim_count > 0);
    for (size_t i = 0; i < result.report.claim_count; i++)
        assert_int_equal(result.report.claims[i].verdict, MK_SUPPORTED);
    assert_int_equal(result.as_of_tt, w->tt[3].us);
}

/* Source: decisions.md 5. */
static void test_ask__the_json_has_the_agreed_shape(void **state)
{
    world *w = *state;
    static const char *const members[] = {"abstained", "answer", "as_of_tt", "claims", "complete", "dropped",
                                          "missing", "planner", "question", "trace", "understood"};
    const mk_ask_result result = answer_at(w, "ada", w->tt[3]);
    const mk_json *tree = json_of(w, &result);
    assert_int_equal(tree->n, sizeof members / sizeof *members);
    for (size_t i = 0; i < tree->n; i++)
        assert_non_null(mk_json_get(tree, members[i]));
    const mk_json *answer = mk_json_get(tree, "answer"), *claim = &mk_json_get(tree, "claims")->items[0];
    assert_int_equal(answer->n, 3);
    assert_true(mk_str_eq(mk_json_get(answer, "kind")->text, MK_STR("count")));
    assert_int_equal(mk_json_get(answer, "value")->i, 3);
    assert_true(mk_str_eq(mk_json_get(claim, "verdict")->text, MK_STR("supported")));
    assert_int_equal(mk_json_get(claim, "reasons")->kind, MK_JSON_ARRAY);
    assert_int_equal(mk_json_get(tree, "trace")->text.n, 64);
}

static void test_ask__a_failed_step_is_an_abstention_that_says_so(void **state)
{
    world *w = *state;
    const mk_ask_result result = answer_at(w, "nobody", w->tt[3]);
    assert_true(result.abstained);
    assert_null(result.value);
    assert_true(result.missing_count > 0);
    const mk_json *tree = json_of(w, &result);
    assert_int_equal(mk_json_get(tree, "answer")->kind, MK_JSON_NULL);
    assert_int_equal(mk_json_get(tree, "claims")->n, 0);
}

/* ---- questions ---- */

static void test_ask__every_example_is_answered(void **state)
{
    world *w = *state;
    const mk_ask_options options = {.planner = MK_PLANNER_OFFLINE};
    mk_str questions[MK_ASK_EXAMPLES];
    size_t count;
    assert_int_equal(mk_ask_examples(w->store, &options, &w->arena, questions, &count, &w->err), MK_OK);
    assert_int_equal(count, MK_ASK_EXAMPLES);
    for (size_t i = 0; i < count; i++) {
        mk_ask_result result;
        assert_int_equal(mk_ask(w->store, questions[i], &options, w->objects, &w->arena, &result, &w->err),
                         MK_OK);
        if (result.abstained)
            fail_msg("no answer to \"%.*s\": %.*s", MK_STR_ARG(questions[i]),
                     MK_STR_ARG(result.missing_count ? result.missing[0] : MK_STR("")));
    }
}

static void test_ask__an_abstention_lists_what_can_be_asked(void **state)
{
    world *w = *state;
    const mk_ask_options options = {.planner = MK_PLANNER_OFFLINE};
    mk_ask_result result;
    assert_int_equal(mk_ask(w->store, MK_STR("Will it rain in Lisbon tomorrow?"), &options, w->objects,
                            &w->arena,
                            &result, &w->err),
                     MK_OK);
    assert_true(result.abstained);
    assert_false(result.ran);
    assert_true(result.missing_count > 0);
    assert_int_equal(result.example_count, MK_ASK_EXAMPLES);
    const mk_json *tree = json_of(w, &result);
    assert_int_equal(mk_json_get(tree, "examples")->n, MK_ASK_EXAMPLES);
    assert_int_equal(mk_json_get(tree, "trace")->kind, MK_JSON_NULL);
}

static void test_ask__no_question_is_refused(void **state)
{
    world *w = *state;
    static const mk_ask_options options = {0};
    static const mk_str bad[] = {{"", 0}, {" \t\n", 3}, {"who\xff?", 5}};
    mk_ask_result result;
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(mk_ask(w->store, bad[i], &options, w->objects, &w->arena, &result, &w->err),
                         MK_E_INVALID_ARG);
    char long_one[5000];
    memset(long_one, 'a', sizeof long_one);
    assert_int_equal(mk_ask(w->store, (mk_str){long_one, sizeof long_one}, &options, w->objects, &w->arena,
                            &result,
                            &w->err),
                     MK_E_INVALID_ARG);
}

/* ---- a model ---- */

/* Says what the script says, one reply a call; then, and where the script has NULL, it fails. */
typedef struct script {
    mk_model model;
    const char *const *replies;
    size_t count, calls;
} script;

static mk_code say_next(mk_model *self, const mk_model_request *request, mk_arena *arena, mk_model_reply *out,
                        mk_err *err)
{
    script *s = (script *)self;
    const size_t at = s->calls++;
    (void)request;
    *out = (mk_model_reply){.prompt_tokens = -1, .reply_tokens = -1, .tries = 1};
    if (at >= s->count || s->replies[at] == NULL)
        return mk_fail(err, MK_E_MODEL, "the endpoint is away");
    memset(out->prompt_digest, '0', 64);
    out->text = mk_arena_copy(arena, mk_str_of(s->replies[at]));
    return out->text.p == NULL ? mk_fail_nomem(err) : MK_OK;
}

#define SCRIPT(...)                                                                                \
    {.model = {.ask = say_next}, .replies = (const char *const[]){__VA_ARGS__},                    \
     .count = sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)}

#define GOOD_PLAN                                                                                  \
    "{\"answer_spec\":{\"from\":\"s1.rows_total\",\"kind\":\"count\"},\"plan_id\":\"p1\","         \
    "\"question\":\"q\",\"steps\":[{\"args\":{\"uid\":\"ada\"},\"depends_on\":[],\"id\":\"s1\","    \
    "\"op\":\"entity_history\"}]}"
#define NO_PLAN "{\"steps\":[]}"
#define TRUE_REPORT                                                                                \
    "{\"claims\":[{\"evidence\":[\"s1\"],\"from\":\"s1.rows_total\",\"id\":\"c1\","                \
    "\"type\":\"count\",\"value\":3}],\"text\":\"There are 3 versions.\"}"
#define FALSE_REPORT                                                                               \
    "{\"claims\":[{\"evidence\":[\"s1\"],\"from\":\"s1.rows_total\",\"id\":\"c1\","                \
    "\"type\":\"count\",\"value\":9}],\"text\":\"There are 9 versions.\"}"

static mk_code ask_model(world *w, script *s, mk_planner planner, mk_ask_result *out)
{
    const mk_ask_options options = {.planner = planner, .model = &s->model, .threads = 1};
    return mk_ask(w->store, MK_STR("How many versions has ada?"), &options, w->objects, &w->arena, out,
                  &w->err);
}

static void test_ask__a_model_is_told_what_was_wrong_and_its_answer_is_checked(void **state)
{
    world *w = *state;
    script s = SCRIPT(NO_PLAN, GOOD_PLAN, TRUE_REPORT);
    mk_ask_result result;
    assert_int_equal(ask_model(w, &s, MK_PLANNER_MODEL, &result), MK_OK);
    assert_false(result.abstained);
    assert_string_equal(result.planner, "model");
    assert_int_equal(result.attempts, 2);
    assert_false(result.first_valid);
    assert_int_equal(result.value->i, 3);
    assert_non_null(memmem(result.report.text.p, result.report.text.n, "3 versions", 10));
    mk_json *prompts;
    assert_int_equal(mk_json_parse(&w->arena, result.prompts, NULL, &prompts, &w->err), MK_OK);
    assert_int_equal(prompts->n, 3);
}

static void test_ask__a_false_report_does_not_leave(void **state)
{
    world *w = *state;
    script s = SCRIPT(GOOD_PLAN, FALSE_REPORT, FALSE_REPORT);
    mk_ask_result result;
    assert_int_equal(ask_model(w, &s, MK_PLANNER_MODEL, &result), MK_OK);
    assert_null(memmem(result.report.text.p, result.report.text.n, "9", 1));
    const mk_json *tree = json_of(w, &result);
    const mk_json *claims = mk_json_get(tree, "claims");
    for (size_t i = 0; i < claims->n; i++)
        assert_true(mk_str_eq(mk_json_get(&claims->items[i], "verdict")->text, MK_STR("supported")));
}

static void test_ask__a_model_that_never_writes_a_plan_gives_no_answer(void **state)
{
    world *w = *state;
    script s = SCRIPT(NO_PLAN, "no JSON", "{}", NO_PLAN, NO_PLAN, NO_PLAN);
    mk_ask_result result;
    assert_int_equal(ask_model(w, &s, MK_PLANNER_MODEL, &result), MK_OK);
    assert_true(result.abstained);
    assert_int_equal(s.calls, 4);
    assert_true(result.missing_count > 1);
}

/* Asked for by name its failure is an error; else the question is read without it. */
static void test_ask__without_the_model_the_offline_planner_reads(void **state)
{
    world *w = *state;
    script s = SCRIPT(NULL);
    const mk_ask_options none = {.planner = MK_PLANNER_MODEL};
    mk_ask_result result;
    assert_int_equal(ask_model(w, &s, MK_PLANNER_MODEL, &result), MK_E_MODEL);
    assert_int_equal(ask_model(w, &s, MK_PLANNER_AUTO, &result), MK_OK);
    assert_string_equal(result.planner, "offline");
    assert_non_null(memmem(result.note.p, result.note.n, "away", 4));
    assert_int_equal(mk_ask(w->store, MK_STR("Who?"), &none, w->objects, &w->arena, &result, &w->err),
                     MK_E_MODEL);
}

/* ---- progress ---- */

typedef struct seen {
    mk_ask_event_kind kinds[64];
    size_t count;
} seen;

static void see(void *ctx, const mk_ask_event *event)
{
    seen *s = ctx;
    if (s->count < 64)
        s->kinds[s->count++] = event->kind;
}

static void test_ask__events_come_in_order_and_every_step_ends(void **state)
{
    world *w = *state;
    seen s = {.count = 0};
    const mk_ask_options options = {.threads = 1, .event = see, .event_ctx = &s};
    const mk_ask_result plan = planned(w, "ada");
    mk_ask_result out;
    assert_int_equal(mk_ask__at(w->store, &plan, w->tt[3], &options, w->objects, &w->arena, &out, &w->err),
                     MK_OK);
    assert_int_equal(s.count, 3);
    assert_int_equal(s.kinds[0], MK_ASK_STEP_STARTED);
    assert_int_equal(s.kinds[1], MK_ASK_STEP_FINISHED);
    assert_int_equal(s.kinds[2], MK_ASK_CLAIM_CHECKED);
}

/* ---- beliefs ---- */

static void test_ask__a_belief_of_the_past_stays_as_it_was(void **state)
{
    world *w = *state;
    const mk_ask_result first = answer_at(w, "ada", w->tt[0]);
    write_ops(w,
              "{\"op\":\"correct\",\"ref\":{\"kind\":\"node\",\"uid\":\"ada\"},\"props\":{},\"vt_s\":70,"
              "\"vt_e\":80}\n");
    const mk_ask_result again = answer_at(w, "ada", w->tt[0]);
    assert_int_equal(first.value->i, 1);
    assert_string_equal(first.trace.digest, again.trace.digest);
}

/* Source: agent spec, 18.16. */
static void test_ask__a_belief_before_the_first_names_the_known_range(void **state)
{
    world *w = *state;
    char first[32];
    const mk_ask_result result = answer_at(w, "ada", (mk_tt){1000});
    assert_true(result.abstained);
    assert_int_equal(result.missing_count, 1);
    first[mk_i64_text(first, w->tt[0].us)] = '\0';
    assert_non_null(memmem(result.missing[0].p, result.missing[0].n, first, strlen(first)));
}

static void test_ask__a_belief_to_come_is_pinned_to_the_newest(void **state)
{
    world *w = *state;
    const mk_ask_result result = answer_at(w, "ada", (mk_tt){MK_OPEN_END});
    assert_int_equal(result.as_of_tt, w->tt[3].us);
}

static void test_history__the_log_has_every_transaction(void **state)
{
    world *w = *state;
    int64_t *times;
    size_t count;
    mk_tt first;
    mk_str line;
    bool any;
    assert_int_equal(mk_history_first(w->store, &w->arena, &first, &any, &w->err), MK_OK);
    assert_true(any);
    assert_int_equal(first.us, w->tt[0].us);
    assert_int_equal(mk_history_times(w->store, w->tt[0], w->tt[2], &w->arena, &times, &count, &w->err),
                     MK_OK);
    assert_int_equal(count, 2);
    assert_int_equal(times[1], w->tt[2].us);
    assert_int_equal(mk_history_line(w->store, w->tt[2], &w->arena, &line, &w->err), MK_OK);
    assert_non_null(memmem(line.p, line.n, "\"lead\"", 6));
    assert_int_equal(mk_history_line(w->store, (mk_tt){w->tt[2].us + 1}, &w->arena, &line, &w->err), MK_OK);
    assert_int_equal(line.n, 0);
}

/* ---- what changed ---- */

static mk_explanation explain(world *w, mk_tt before, mk_tt after)
{
    static const mk_ask_options options = {.threads = 1};
    mk_explanation out = {.after = answer_at(w, "ada", after), .all_causes = true};
    if (mk_explain__planned(w->store, before, after, &options, w->objects, &w->arena, &out, &w->err) != MK_OK)
        fail_msg("%s", w->err.message);
    return out;
}

/* Of three transactions between the beliefs one changed the answer; without it there is no difference. */
static void test_explain__the_cause_is_the_transaction_that_made_the_difference(void **state)
{
    world *w = *state;
    const mk_explanation e = explain(w, w->tt[0], w->tt[3]);
    assert_true(e.differs);
    assert_int_equal(e.transactions, 3);
    assert_int_equal(e.cause_count, 1);
    assert_int_equal(e.causes[0].tt, w->tt[2].us);
    assert_true(mk_str_eq(e.causes[0].before, MK_STR("1")));
    assert_true(mk_str_eq(e.causes[0].after, MK_STR("3")));
    assert_int_equal(e.causes[0].op_count, 1);
    assert_non_null(memmem(e.causes[0].ops[0].p, e.causes[0].ops[0].n, "\"lead\"", 6));
    assert_int_equal(e.claim_count, 1);
    assert_false(explain(w, w->tt[0], w->tt[1]).differs);
    assert_false(explain(w, w->tt[2], w->tt[3]).differs);
}

static void test_explain__every_cause_is_found_in_order(void **state)
{
    world *w = *state;
    const mk_tt again = write_ops(
        w, "{\"op\":\"correct\",\"ref\":{\"kind\":\"node\",\"uid\":\"ada\"},\"props\":{},\"vt_s\":70,\""
           "vt_e\":80}\n");
    const mk_explanation e = explain(w, w->tt[0], again);
    assert_int_equal(e.cause_count, 2);
    assert_int_equal(e.causes[0].tt, w->tt[2].us);
    assert_int_equal(e.causes[1].tt, again.us);
    assert_true(mk_str_eq(e.causes[0].after, e.causes[1].before));
}

static void test_explain__before_the_first_belief_there_is_no_answer(void **state)
{
    world *w = *state;
    const mk_explanation e = explain(w, (mk_tt){0}, w->tt[1]);
    assert_true(e.before.abstained);
    assert_true(e.differs);
    assert_int_equal(e.causes[0].tt, w->tt[0].us);
}

static void test_explain__times_must_be_in_order(void **state)
{
    world *w = *state;
    static const mk_ask_options options = {0};
    mk_explanation e;
    assert_int_equal(mk_explain_diff(w->store, MK_STR("who?"), w->tt[1], w->tt[1], &options, w->objects,
                                     &w->arena, &e,
                                     &w->err),
                     MK_E_INVALID_ARG);
}

/* ---- bundles ---- */

static mk_str bundle_of(world *w, const mk_ask_result *result)
{
    mk_buf bundle;
    mk_buf_init(&bundle, &mk_alloc_default);
    if (mk_ask_bundle(result, w->objects, &w->arena, &bundle, &w->err) != MK_OK)
        fail_msg("%s", w->err.message);
    const mk_str copy = mk_arena_copy(&w->arena, mk_buf_view(&bundle));
    mk_buf_free(&bundle);
    return copy;
}

static void test_replay__later_corrections_do_not_change_what_a_bundle_says(void **state)
{
    world *w = *state;
    static const mk_plan_run_options options = {.threads = 1};
    const mk_ask_result result = answer_at(w, "ada", w->tt[3]);
    const mk_str bundle = bundle_of(w, &result);
    mk_replay replay;
    write_ops(w,
              "{\"op\":\"correct\",\"ref\":{\"kind\":\"node\",\"uid\":\"ada\"},\"props\":{},\"vt_s\":70,"
              "\"vt_e\":80}\n");
    assert_int_equal(mk_replay_bundle(w->store, bundle, &options, &w->arena, &replay, &w->err), MK_OK);
    assert_true(replay.ran);
    assert_true(replay.same);
    assert_int_equal(replay.step_count, 1);
}

static void test_replay__another_store_says_something_else(void **state)
{
    world *w = *state;
    static const mk_plan_run_options options = {.threads = 1};
    const mk_ask_result result = answer_at(w, "ada", w->tt[3]);
    const mk_str bundle = bundle_of(w, &result);
    const mk_store_options create = {.mode = MK_OPEN_CREATE_WRITER, .manual = true};
    char path[TMPDIR_PATH_MAX];
    mk_store *other;
    mk_replay replay;
    assert_int_equal(mk_store_open(tmpdir_join(&w->dir, "other", path), &create, &other, &w->err), MK_OK);
    assert_int_equal(mk_replay_bundle(other, bundle, &options, &w->arena, &replay, &w->err), MK_OK);
    assert_true(replay.ran);
    assert_false(replay.same);
    assert_false(replay.same_answer);
    (void)mk_store_close(other, NULL);
}

static void test_replay__a_changed_bundle_is_not_run(void **state)
{
    world *w = *state;
    static const mk_plan_run_options options = {.threads = 1};
    const mk_ask_result result = answer_at(w, "ada", w->tt[3]);
    const mk_str bundle = bundle_of(w, &result);
    char *at = memmem(bundle.p, bundle.n, "\"rows_total\":3", 14);
    mk_replay replay;
    assert_non_null(at);
    at[13] = '4';
    const mk_code rc = mk_replay_bundle(w->store, bundle, &options, &w->arena, &replay, &w->err);
    assert_int_equal(rc, MK_OK);
    assert_false(replay.ran);
    assert_false(replay.same);
    assert_true(replay.check.fault_count > 0);
}

/* ---- memory ---- */

/* Asks with an allocator whose n-th call, and all after it, fail. */
static mk_code ask_starved(world *w, testalloc *ta, uint64_t n)
{
    static const mk_ask_options options = {.threads = 1};
    const mk_ask_result plan = planned(w, "ada");
    mk_objects *objects = NULL;
    mk_ask_result out;
    mk_arena arena;
    mk_buf json;
    mk_code rc;
    mk_arena_init(&arena, &ta->hook);
    mk_buf_init(&json, &ta->hook);
    testalloc_fail(ta, n, true);
    MK_TRY(rc, mk_objects_memory(&ta->hook, (size_t)1 << 20, &objects, NULL));
    MK_TRY(rc, mk_ask__at(w->store, &plan, w->tt[3], &options, objects, &arena, &out, NULL));
    MK_TRY(rc, mk_ask_json(&out, &arena, &json, NULL));
    mk_buf_clear(&json);
    if (out.ran)
        rc = mk_ask_bundle(&out, objects, &arena, &json, NULL);
out:
    testalloc_fail(ta, 0, false);
    mk_objects_close(objects);
    mk_buf_free(&json);
    mk_arena_free(&arena);
    return rc;
}

static void test_ask__running_out_of_memory_is_an_error(void **state)
{
    world *w = *state;
    testalloc ta;
    uint64_t failures = 1;
    testalloc_init(&ta);
    for (uint64_t n = 1; failures != 0; n += 1 + n / 16) {
        const uint64_t before = ta.failures;
        const mk_code rc = ask_starved(w, &ta, n);
        failures = ta.failures - before;
        if (rc != MK_OK && rc != MK_E_NOMEM)
            fail_msg("allocation %llu failed: %s", (unsigned long long)n, mk_code_name(rc));
        assert_true(failures == 0 ? rc == MK_OK : true);
        assert_true(testalloc_is_clean(&ta));
    }
    testalloc_free(&ta);
}

#define ASK_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ASK_TEST(test_ask__an_answer_carries_its_claims_and_evidence),
        ASK_TEST(test_ask__the_json_has_the_agreed_shape),
        ASK_TEST(test_ask__a_failed_step_is_an_abstention_that_says_so),
        ASK_TEST(test_ask__every_example_is_answered),
        ASK_TEST(test_ask__an_abstention_lists_what_can_be_asked),
        ASK_TEST(test_ask__no_question_is_refused),
        ASK_TEST(test_ask__a_model_is_told_what_was_wrong_and_its_answer_is_checked),
        ASK_TEST(test_ask__a_false_report_does_not_leave),
        ASK_TEST(test_ask__a_model_that_never_writes_a_plan_gives_no_answer),
        ASK_TEST(test_ask__without_the_model_the_offline_planner_reads),
        ASK_TEST(test_ask__events_come_in_order_and_every_step_ends),
        ASK_TEST(test_ask__a_belief_of_the_past_stays_as_it_was),
        ASK_TEST(test_ask__a_belief_before_the_first_names_the_known_range),
        ASK_TEST(test_ask__a_belief_to_come_is_pinned_to_the_newest),
        ASK_TEST(test_history__the_log_has_every_transaction),
        ASK_TEST(test_explain__the_cause_is_the_transaction_that_made_the_difference),
        ASK_TEST(test_explain__every_cause_is_found_in_order),
        ASK_TEST(test_explain__before_the_first_belief_there_is_no_answer),
        ASK_TEST(test_explain__times_must_be_in_order),
        ASK_TEST(test_replay__later_corrections_do_not_change_what_a_bundle_says),
        ASK_TEST(test_replay__another_store_says_something_else),
        ASK_TEST(test_replay__a_changed_bundle_is_not_run),
        ASK_TEST(test_ask__running_out_of_memory_is_an_error),
    };
    return cmocka_run_group_tests_name("ask", tests, NULL, NULL);
}

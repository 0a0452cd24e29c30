/* test_even_plans.c — hand-written plans against the shared answers to questions that people asked.
 *
 * Goal: what the fifteen operators can express, they compute. tests/questions/even_plans.json has a plan for
 * each of the 54 questions of the shared even.json, or says what is missing. A plan is checked with no
 * identifiers but those in the question, run, reported, verified strictly and gated; what leaves the gate is
 * compared by the rules of scores. tests/questions/README.md says how a shared answer becomes a value of a
 * plan. Then the planner without a model reads the same questions: it may say nothing, and must not be wrong.
 * Source: issue 4; evaluation spec, 10. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../support/golden.h"
#include "../support/tmpdir.h"
#include "agent/offline.h"
#include "base/canon.h"
#include "eval/score.h"
#include "eval/trial.h"
#include "load/load.h"
#include "store/store.h"

#define IDS_MAX 16 /* identifiers in one question */
#define OBJECTS_MAX ((size_t)1 << 30)

static void must(mk_code rc, const mk_err *err)
{
    if (rc != MK_OK)
        fail_msg("%s: %s (%s)", mk_code_name(rc), err->message, err->reason);
}

/* ---- the data ---- */

typedef struct graph {
    const char *name, *file;
    mk_load_format format;
    mk_load_preset preset;
    mk_store *store;
} graph;

typedef struct world {
    tmpdir dir;
    graph graphs[2];
    golden *even_file, *plans_file;
    const mk_json *even, *plans; /* NULL: the shared data are not there */
    mk_arena arena;
} world;

static void load(world *w, graph *g, const char *path)
{
    const mk_store_options options = {.mode = MK_OPEN_CREATE_WRITER, .manual = true};
    const mk_load_options how = {.path = path, .format = g->format, .preset = g->preset};
    char dir[TMPDIR_PATH_MAX];
    mk_load_report report;
    mk_err err;
    must(mk_store_open(tmpdir_join(&w->dir, g->name, dir), &options, &g->store, &err), &err);
    must(mk_load_run(g->store, &how, &report, &err), &err);
}

static int setup(void **state)
{
    world *w = mk_new0(&mk_alloc_default, sizeof *w);
    char even[GOLDEN_PATH_MAX], plans[GOLDEN_PATH_MAX], data[2][GOLDEN_PATH_MAX];
    if (w == NULL)
        return -1;
    *state = w;
    w->graphs[0] = (graph){.name = "collegemsg",
                           .file = "/frozen/collegemsg.eventlog.jsonl.gz",
                           .format = MK_LOAD_EVENTLOG};
    w->graphs[1] = (graph){.name = "bitcoinotc",
                           .file = "/graphs/soc-sign-bitcoinotc.csv.gz",
                           .preset = MK_LOAD_PRESET_BITCOINOTC};
    tmpdir_make(&w->dir);
    mk_arena_init(&w->arena, &mk_alloc_default);
    if (!golden_test_path(plans, "../../questions/even_plans.json") ||
        !golden_shared_path(even, "/questions/even.json") ||
        !golden_shared_path(data[0], w->graphs[0].file) || !golden_shared_path(data[1], w->graphs[1].file)) {
        printf("the shared questions or their data are not there: skipped\n");
        return 0;
    }
    for (size_t i = 0; i < 2; i++)
        load(w, &w->graphs[i], data[i]);
    w->even_file = golden_open(even);
    w->plans_file = golden_open(plans);
    w->even = golden_all(w->even_file);
    w->plans = golden_all(w->plans_file);
    return 0;
}

static int teardown(void **state)
{
    world *w = *state;
    for (size_t i = 0; i < 2; i++)
        if (w->graphs[i].store != NULL)
            (void)mk_store_close(w->graphs[i].store, NULL);
    golden_close(w->even_file);
    golden_close(w->plans_file);
    mk_arena_free(&w->arena);
    tmpdir_remove(&w->dir);
    mk_free(&mk_alloc_default, w, sizeof *w);
    return 0;
}

static mk_str text_of(const mk_json *object, const char *name)
{
    const mk_json *value = mk_json_get(object, name);
    return value != NULL && value->kind == MK_JSON_STRING ? value->text : (mk_str){NULL, 0};
}

static bool text_is(const mk_json *object, const char *name, const char *wanted)
{
    return mk_str_eq(text_of(object, name), mk_str_of(wanted));
}

/* ---- a shared answer as a value of a plan ---- */

static mk_json list(mk_arena *arena, size_t n)
{
    mk_json out = {.kind = MK_JSON_ARRAY, .n = n, .items = mk_arena_get0(arena, (n + 1) * sizeof(mk_json))};
    assert_non_null(out.items);
    return out;
}

static mk_json pair(mk_arena *arena, const char *a, mk_json x, const char *b, mk_json y)
{
    mk_json out = {.kind = MK_JSON_OBJECT, .n = 2, .members = mk_arena_get0(arena, 2 * sizeof(mk_member))};
    assert_non_null(out.members);
    out.members[0] = (mk_member){mk_str_of(a), x};
    out.members[1] = (mk_member){mk_str_of(b), y};
    return out;
}

static mk_json part(mk_arena *arena, const mk_json *answer)
{
    const mk_json *value = mk_json_get(answer, "value");
    assert_non_null(value);
    if (text_is(answer, "type", "date"))
        return pair(arena, "t_a", value->items[0], "t_b", value->items[1]);
    if (text_is(answer, "type", "entities") && value->n == 1)
        return value->items[0];
    return *value;
}

static mk_json wanted(mk_arena *arena, const mk_json *answer)
{
    const mk_json *value = mk_json_get(answer, "value");
    mk_json out = {.kind = MK_JSON_NULL};
    if (text_is(answer, "type", "none"))
        return out;
    assert_non_null(value);
    out = *value;
    if (text_is(answer, "type", "numbers") || text_is(answer, "type", "tuple")) {
        out = list(arena, value->n);
        for (size_t i = 0; i < value->n; i++) {
            const bool named = value->kind == MK_JSON_OBJECT;
            const mk_json *item = named ? &value->members[i].value : &value->items[i];
            const mk_json key = {.kind = MK_JSON_STRING,
                                 .text = named ? value->members[i].key : text_of(item, "key")};
            out.items[i] = pair(arena, "key", key, "value", part(arena, item));
        }
    }
    assert_true(mk_json_round9(&out)); /* as operators do with what they return */
    return out;
}

/* Rows as lists of the members that `columns` names: how the two of a pair are called is the question's
 * matter and not the operator's. */
static const mk_json *projected(mk_arena *arena, const mk_json *rows, const mk_json *columns)
{
    if (columns == NULL || rows == NULL)
        return rows;
    mk_json *out = mk_arena_get0(arena, sizeof *out);
    assert_non_null(out);
    *out = list(arena, rows->n);
    for (size_t i = 0; i < rows->n; i++) {
        out->items[i] = list(arena, columns->n);
        for (size_t c = 0; c < columns->n; c++) {
            const mk_json *member = mk_json_get_n(&rows->items[i], columns->items[c].text);
            assert_non_null(member);
            out->items[i].items[c] = *member;
        }
    }
    return out;
}

/* ---- one question ---- */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_word(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* The identifiers that a question names: words of an n and digits. */
static size_t ids_in(mk_str text, mk_str ids[IDS_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < text.n; i++) {
        size_t end = i + 1;
        if (text.p[i] != 'n' || (i > 0 && is_word(text.p[i - 1])))
            continue;
        while (end < text.n && is_digit(text.p[end]))
            end++;
        if (end > i + 1 && (end == text.n || !is_word(text.p[end])) && count < IDS_MAX)
            ids[count++] = (mk_str){text.p + i, end - i};
    }
    return count;
}

static mk_str plan_text(mk_arena *arena, const mk_json *plan)
{
    mk_buf text;
    mk_err err;
    mk_buf_init(&text, arena->alloc);
    must(mk_canon_tree(&text, arena, plan, &err), &err);
    const mk_str copy = mk_arena_copy(arena, mk_buf_view(&text));
    mk_buf_free(&text);
    assert_non_null(copy.p);
    return copy;
}

static const mk_json *answer_of(const mk_json *question, const mk_json *entry)
{
    const mk_json *which = mk_json_get(entry, "alternative"), *others = mk_json_get(question, "alternatives");
    if (which == NULL)
        return mk_json_get(question, "answer");
    assert_true(which->kind == MK_JSON_INT && (size_t)which->i < others->n);
    return mk_json_get(&others->items[which->i], "answer");
}

static bool say(const mk_json *entry, const char *what, mk_str more)
{
    print_error("%.*s: %s %.*s\n", MK_STR_ARG(text_of(entry, "id")), what, MK_STR_ARG(more));
    return false;
}

/* A plan that must fail does so in the step and with the code that its entry names. */
static bool failed_as_told(const mk_json *entry, const mk_json *fails, const mk_trial *trial)
{
    char start[80];
    const int n = snprintf(start, sizeof start, "%.*s in %.*s: ", MK_STR_ARG(text_of(fails, "error")),
                           MK_STR_ARG(text_of(fails, "step")));
    if (trial->ran && trial->trace.answer == NULL && trial->why.n > (size_t)n &&
        memcmp(trial->why.p, start, (size_t)n) == 0)
        return true;
    return say(entry, "should have failed otherwise; why:", trial->why);
}

/* An answer that saying nothing would give as well. */
static bool is_nothing(const mk_json *gold)
{
    return gold->kind == MK_JSON_NULL || (gold->kind == MK_JSON_BOOL && !gold->b) ||
           (gold->kind == MK_JSON_INT && !gold->b && gold->i == 0) ||
           (gold->kind == MK_JSON_ARRAY && gold->n == 0);
}

static bool is_right(const mk_json *question, const mk_json *entry, const mk_trial *trial,
                     mk_arena *arena)
{
    const mk_json *plan = mk_json_get(entry, "plan"), *fails = mk_json_get(entry, "fails");
    const mk_str kind = text_of(mk_json_get(plan, "answer_spec"), "kind");
    const mk_json gold = wanted(arena, answer_of(question, entry));
    mk_score score;
    mk_err err;
    if (!trial->check.valid)
        return say(entry, "is refused:", trial->why);
    if (fails != NULL)
        return gold.kind == MK_JSON_NULL && failed_as_told(entry, fails, trial);
    if (!trial->reported || !trial->gated.emitted)
        return say(entry, "gives no answer:", trial->why);
    for (size_t i = 0; i < trial->report.claim_count; i++)
        if (trial->report.claims[i].verdict != MK_SUPPORTED)
            return say(entry, "makes a claim that does not stand:", trial->report.claims[i].reason);
    if (trial->trace.answer_gaps->n != 0)
        return say(entry, "is not complete", (mk_str){"", 0});
    const mk_json *answer = projected(arena, trial->trace.answer, mk_json_get(entry, "columns"));
    must(mk_score_answer(kind, &gold, answer, arena, &score, &err), &err);
    return score.em == 1 || say(entry, "gives", plan_text(arena, answer));
}

static bool try_plan(world *w, const mk_json *question, const mk_json *entry)
{
    const mk_json *budget = mk_json_get(entry, "row_budget");
    mk_str ids[IDS_MAX];
    mk_trial_options options = {.allowed = ids, .ground = true, .strict = true};
    mk_objects *objects;
    mk_arena arena;
    mk_trial trial;
    mk_err err;
    const graph *g = text_is(entry, "graph", w->graphs[0].name) ? &w->graphs[0] : &w->graphs[1];
    assert_true(text_is(question, "dataset", g->name) && text_is(entry, "graph", g->name));
    options.allowed_count = ids_in(text_of(question, "question"), ids);
    options.row_budget = budget != NULL ? (size_t)budget->i : 0;
    mk_arena_init(&arena, &mk_alloc_default);
    must(mk_objects_memory(&mk_alloc_default, OBJECTS_MAX, &objects, &err), &err);
    must(mk_trial_run(g->store, plan_text(&arena, mk_json_get(entry, "plan")), &options, objects, &arena,
                      &trial, &err), &err);
    const bool right = is_right(question, entry, &trial, &arena);
    mk_objects_close(objects);
    mk_arena_free(&arena);
    return right;
}

/* ---- the planner without a model ---- */

/* Whether the planner's plan for a question gives the shared answer, or a listed alternative; *answered: it
 * gave one. The shape of the answer is free: one uid is a set of one, a row with t_a and t_b the interval it
 * begins with. */
static bool offline_is_right(world *w, const mk_json *question, bool *answered)
{
    const mk_json *others = mk_json_get(question, "alternatives");
    const graph *g = text_is(question, "dataset", w->graphs[0].name) ? &w->graphs[0] : &w->graphs[1];
    const mk_trial_options options = {.strict = true};
    mk_offline_result read;
    mk_objects *objects;
    mk_arena arena;
    mk_trial trial;
    mk_view *view;
    mk_err err;
    bool right = false;
    mk_arena_init(&arena, &mk_alloc_default);
    must(mk_view_at(g->store, (mk_tt){MK_OPEN_END}, MK_SHOW_USER, &view, &err), &err);
    must(mk_offline_plan(g->store, view, text_of(question, "question"), NULL, &arena, &read, &err), &err);
    *answered = read.planned;
    if (read.planned) {
        must(mk_objects_memory(&mk_alloc_default, OBJECTS_MAX, &objects, &err), &err);
        must(mk_trial_run(g->store, read.plan, &options, objects, &arena, &trial, &err), &err);
        *answered = trial.reported && trial.gated.emitted;
        for (size_t i = 0; *answered && i <= others->n && !right; i++) {
            const mk_json *answer =
                i == 0 ? mk_json_get(question, "answer") : mk_json_get(&others->items[i - 1], "answer");
            const mk_json gold = wanted(&arena, answer);
            mk_json *plan;
            mk_score score;
            must(mk_json_parse(&arena, read.plan, NULL, &plan, &err), &err);
            must(mk_score_answer(text_of(mk_json_get(plan, "answer_spec"), "kind"), &gold, trial.trace.answer,
                                 &arena, &score, &err),
                 &err);
            right = score.em == 1;
        }
        if (*answered && !right)
            (void)say(question, "was read as", read.understood);
        mk_objects_close(objects);
    }
    mk_view_close(view);
    mk_arena_free(&arena);
    return right;
}

/* ---- tests ---- */

static void test_even_plans__the_offline_planner_answers_twenty_and_none_wrong(void **state)
{
    world *w = *state;
    size_t answers = 0, right = 0;
    if (w->even == NULL)
        skip();
    for (size_t i = 0; i < w->even->n; i++) {
        bool answered;
        right += offline_is_right(w, &w->even->items[i], &answered);
        answers += answered;
    }
    printf("the offline planner answers %zu of %zu questions, %zu right\n", answers, w->even->n, right);
    assert_int_equal(right, answers);
    assert_true(answers >= 20);
}

static void test_even_plans__give_the_shared_answers(void **state)
{
    world *w = *state;
    size_t expressed = 0, right = 0, on_nothing = 0;
    if (w->even == NULL)
        skip();
    assert_int_equal(w->plans->n, w->even->n);
    for (size_t i = 0; i < w->even->n; i++) {
        const mk_json *question = &w->even->items[i], *entry = &w->plans->items[i];
        const mk_json *empty = mk_json_get(question, "empty");
        mk_json gold;
        assert_true(mk_str_eq(text_of(question, "id"), text_of(entry, "id")));
        assert_true((mk_json_get(entry, "plan") != NULL) != (text_of(entry, "why").n > 0));
        if (mk_json_get(entry, "plan") == NULL)
            continue;
        expressed++;
        right += try_plan(w, question, entry);
        gold = wanted(&w->arena, answer_of(question, entry));
        on_nothing += empty->kind != MK_JSON_NULL && is_nothing(&gold);
    }
    printf("%zu of %zu questions can be expressed; %zu plans give the shared answer, "
           "%zu of them about nothing in the data\n",
           expressed, w->even->n, right, on_nothing);
    assert_int_equal(right, expressed);
    assert_int_equal(expressed, 51);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_even_plans__give_the_shared_answers),
        cmocka_unit_test(test_even_plans__the_offline_planner_answers_twenty_and_none_wrong),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

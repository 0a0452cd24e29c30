/* test_schema_gbnf.c — the grammar's strings are plans, and the plans that people wrote are in it.
 *
 * Method: a reader of grammars of its own makes thousands of strings, and the static check looks at each; the
 * shared suite's plans, with their members in the grammar's order, are recognised. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../support/gbnf.h"
#include "agent/gbnf_internal.h"
#include "agent/prompt.h"
#include "agent/schema_gbnf.h"
#include "base/canon.h"
#include "plan/plan.h"

#define SAMPLES 4000

typedef struct world {
    mk_arena arena;
    mk_buf text;
    gbnf *grammar;
} world;

static void enter(world *w)
{
    mk_arena_init(&w->arena, &mk_alloc_default);
    mk_buf_init(&w->text, &mk_alloc_default);
    assert_int_equal(mk_plan_grammar(&w->text, NULL), MK_OK);
    w->grammar = gbnf_read(mk_buf_view(&w->text), &w->arena);
}

static void leave(world *w)
{
    mk_buf_free(&w->text);
    mk_arena_free(&w->arena);
}

/* ---- strings are plans ---- */

/* Checks 1 to 11 and the answer's: shape, names, references, contracts, types. Times, grounding and
 * cost are the model's to get right. */
static const mk_violation *shape_violation(const mk_plan_report *report)
{
    for (size_t i = 0; i < report->violation_count; i++)
        if (!report->violations[i].grounding &&
            (report->violations[i].code == MK_E_SCHEMA || report->violations[i].code == MK_E_NOT_FOUND))
            return &report->violations[i];
    return NULL;
}

static void test_schema_gbnf__every_string_passes_the_checks_of_shape(void **state)
{
    (void)state;
    world w;
    uint64_t seed = 7;
    size_t lengths[MK_PLAN_STEPS_MAX + 1] = {0}, references = 0;
    const mk_plan_check_options options = {0};
    mk_buf plan;
    enter(&w);
    mk_buf_init(&plan, &mk_alloc_default);
    for (int i = 0; i < SAMPLES; i++) {
        mk_arena arena;
        mk_plan_report report;
        mk_buf_clear(&plan);
        mk_arena_init(&arena, &mk_alloc_default);
        gbnf_sample(w.grammar, &seed, &plan);
        assert_int_equal(mk_plan_check(mk_buf_view(&plan), &options, &arena, &report, NULL), MK_OK);
        const mk_violation *v = shape_violation(&report);
        if (v != NULL || !report.has_plan)
            fail_msg("%.*s\n%.*s: %.*s", MK_STR_ARG(mk_buf_view(&plan)), MK_STR_ARG(v ? v->path : MK_STR("")),
                     MK_STR_ARG(v ? v->message : MK_STR("no plan")));
        lengths[report.plan.step_count]++;
        references += memmem(plan.p, plan.n, "$ref", 4) != NULL;
        mk_arena_free(&arena);
    }
    for (size_t n = 1; n <= MK_GRAMMAR_STEPS; n++)
        assert_true(lengths[n] > SAMPLES / 100);
    assert_true(references > SAMPLES / 10);
    mk_buf_free(&plan);
    leave(&w);
}

/* ---- plans are strings ---- */

static void put_json(mk_buf *out, mk_arena *arena, const mk_json *value)
{
    assert_int_equal(mk_canon_tree(out, arena, value, NULL), MK_OK);
}

static const mk_arg *members_of(const mk_arg *arg)
{
    return arg == NULL ? NULL : arg->type == MK_ARG_OBJECT ? arg->members : NULL;
}

static void put_value(mk_buf *out, mk_arena *arena, const mk_arg *arg, const mk_json *value);

/* Required members before others, each in the order of the table; `first` says which others come first. */
static void put_members(mk_buf *out, mk_arena *arena, const mk_arg *table, const mk_json *object,
                        const char *const *first)
{
    size_t put = 0;
    mk_buf_c(out, '{');
    for (int pass = 0; pass < 3; pass++) {
        for (const mk_arg *a = table; a->name != NULL; a++) {
            bool early = false;
            for (const char *const *f = first; *f != NULL; f++)
                early |= strcmp(*f, a->name) == 0;
            const int when = a->required ? 0 : early ? 1 : 2;
            const mk_json *value = mk_json_get(object, a->name);
            if (value == NULL || when != pass)
                continue;
            mk_buf_z(out, put++ ? ",\"" : "\"");
            mk_buf_z(out, a->name);
            mk_buf_z(out, "\":");
            put_value(out, arena, a, value);
        }
    }
    assert_int_equal(put, object->n);
    mk_buf_c(out, '}');
}

static const char *const none[] = {NULL};

static void put_value(mk_buf *out, mk_arena *arena, const mk_arg *arg, const mk_json *value)
{
    mk_str ref;
    const mk_arg *members = members_of(arg);
    if (mk_ref_of(value, &ref) || value->kind != MK_JSON_OBJECT || members == NULL)
        put_json(out, arena, value);
    else
        put_members(out, arena, members, value, none);
}

/* compute's arguments stand in the order in which each function has them. */
static void put_compute(mk_buf *out, mk_arena *arena, const mk_json *args)
{
    static const char *const order[] = {"fn", "input", "field", "cmp", "value", "k", "side", "x", "y",
                                        "limit"};
    size_t put = 0;
    mk_buf_c(out, '{');
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        const mk_json *value = mk_json_get(args, order[i]);
        if (value == NULL)
            continue;
        mk_buf_printf(out, "%s\"%s\":", put++ ? "," : "", order[i]);
        put_json(out, arena, value);
    }
    assert_int_equal(put, args->n);
    mk_buf_c(out, '}');
}

static void put_step(mk_buf *out, mk_arena *arena, const mk_json *step)
{
    static const char *const holes[] = {"seeds", "node_filter", "t1", "t2", "t_valid", "uid", "src", "dst",
                                        "endpoint_filter", NULL};
    const mk_operator *op = mk_operator_find(mk_json_get(step, "op")->text);
    assert_non_null(op);
    mk_buf_z(out, "{\"id\":");
    put_json(out, arena, mk_json_get(step, "id"));
    mk_buf_printf(out, ",\"op\":\"%s\",\"args\":", op->name);
    if (op->variant_arg != NULL)
        put_compute(out, arena, mk_json_get(step, "args"));
    else
        put_members(out, arena, op->args, mk_json_get(step, "args"), holes);
    mk_buf_z(out, ",\"depends_on\":");
    const mk_json *depends = mk_json_get(step, "depends_on");
    if (depends != NULL)
        put_json(out, arena, depends);
    else
        mk_buf_z(out, "[]");
    mk_buf_c(out, '}');
}

static void put_plan(mk_buf *out, mk_arena *arena, const mk_json *plan)
{
    const mk_json *steps = mk_json_get(plan, "steps"), *question = mk_json_get(plan, "question");
    mk_buf_z(out, "{\"plan_id\":");
    put_json(out, arena, mk_json_get(plan, "plan_id"));
    if (question != NULL) {
        mk_buf_z(out, ",\"question\":");
        put_json(out, arena, question);
    }
    mk_buf_z(out, ",\"steps\":[");
    for (size_t i = 0; i < steps->n; i++) {
        if (i != 0)
            mk_buf_c(out, ',');
        put_step(out, arena, &steps->items[i]);
    }
    mk_buf_z(out, "],\"answer_spec\":{\"kind\":");
    put_json(out, arena, mk_json_get(mk_json_get(plan, "answer_spec"), "kind"));
    mk_buf_z(out, ",\"from\":");
    put_json(out, arena, mk_json_get(mk_json_get(plan, "answer_spec"), "from"));
    mk_buf_z(out, "}}");
}

static void assert_in_language(world *w, const mk_json *plan)
{
    mk_buf text;
    size_t reached;
    mk_buf_init(&text, &mk_alloc_default);
    put_plan(&text, &w->arena, plan);
    if (!gbnf_matches(w->grammar, mk_buf_view(&text), &reached))
        fail_msg("not a string of the grammar from here: %.*s\n%.*s", (int)(text.n - reached),
                 text.p + reached,
                 (int)text.n, text.p);
    mk_buf_free(&text);
}

static void test_schema_gbnf__the_examples_of_the_prompt_are_strings_and_valid(void **state)
{
    (void)state;
    world w;
    const mk_plan_check_options options = {.ground = true};
    enter(&w);
    assert_true(mk_prompt_example_count >= 5);
    for (size_t i = 0; i < mk_prompt_example_count; i++) {
        mk_plan_report report;
        mk_json *plan;
        const mk_str text = mk_str_of(mk_prompt_examples[i]);
        assert_int_equal(mk_json_parse(&w.arena, text, NULL, &plan, NULL), MK_OK);
        assert_int_equal(mk_plan_check(text, &options, &w.arena, &report, NULL), MK_OK);
        if (!report.valid)
            fail_msg("%s\n%.*s", mk_prompt_examples[i], MK_STR_ARG(report.violations[0].message));
        assert_in_language(&w, plan);
    }
    leave(&w);
}

static void test_schema_gbnf__the_shared_suites_plans_are_strings(void **state)
{
    (void)state;
    static const char *const halves[] = {"dev", "test"};
    const char *shared = getenv("MK_SHARED_DATA");
    char path[1024];
    mk_buf file;
    mk_json *suite;
    world w;
    size_t plans = 0;
    if (shared == NULL) {
        puts("skipped: MK_SHARED_DATA is not set");
        skip();
    }
    snprintf(path, sizeof path, "%s/frozen/suite-collegemsg-half.json", shared);
    enter(&w);
    mk_buf_init(&file, &mk_alloc_default);
    assert_int_equal(mk_fs_read_all(&mk_fs_posix, path, (size_t)16 << 20, &file, NULL), MK_OK);
    assert_int_equal(mk_json_parse(&w.arena, mk_buf_view(&file), NULL, &suite, NULL), MK_OK);
    for (int h = 0; h < 2; h++) {
        const mk_json *tasks = mk_json_get(suite, halves[h]);
        for (size_t i = 0; tasks != NULL && i < tasks->n; i++, plans++)
            assert_in_language(&w, mk_json_get(&tasks->items[i], "oracle_plan"));
    }
    assert_true(plans > 60);
    mk_buf_free(&file);
    leave(&w);
}

static void test_schema_gbnf__what_is_no_plan_is_no_string(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "", "{}", "{\"plan_id\":\"\",\"steps\":[",
        "{\"plan_id\":\"p\",\"steps\":[],\"answer_spec\":{\"kind\":\"count\",\"from\":\"s1.rows_total\"}}",
        /* a field that the operator does not return */
        "{\"plan_id\":\"p\",\"steps\":[{\"id\":\"s1\",\"op\":\"resolve_entities\",\"args\":{\"query\":\"a\"},"
        "\"depends_on\":[]}],\"answer_spec\":{\"kind\":\"count\",\"from\":\"s1.count\"}}",
        /* a later step's result */
        "{\"plan_id\":\"p\",\"steps\":[{\"id\":\"s1\",\"op\":\"entity_history\",\"args\":{\"uid\":{\"$ref\":"
        "\"s2.rows[0].uid\"}},\"depends_on\":[]}],\"answer_spec\":{\"kind\":\"count\","
        "\"from\":\"s1.rows_total\"}}",
    };
    static const char good[] =
        "{\"plan_id\":\"p\",\"steps\":[{\"id\":\"s1\",\"op\":\"resolve_entities\",\"args\":{\"query\":\"a\"},"
        "\"depends_on\":[]}],\"answer_spec\":{\"kind\":\"count\",\"from\":\"s1.rows_total\"}}";
    world w;
    enter(&w);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_false(gbnf_matches(w.grammar, mk_str_of(texts[i]), NULL));
    assert_true(gbnf_matches(w.grammar, mk_str_of(good), NULL));
    leave(&w);
}

static void test_schema_gbnf__the_grammar_has_a_size_that_can_be_sent(void **state)
{
    (void)state;
    world w;
    enter(&w);
    print_message("grammar: %zu bytes, %zu rules\n", w.text.n, gbnf_rule_count(w.grammar));
    assert_true(w.text.n < (size_t)1 << 20);
    leave(&w);
}

/* ---- ranges ---- */

static bool in_range(int64_t min, int64_t max, int64_t value)
{
    char text[32];
    mk_buf rule;
    mk_arena arena;
    mk_arena_init(&arena, &mk_alloc_default);
    mk_buf_init(&rule, &mk_alloc_default);
    mk_buf_z(&rule, "root ::= ");
    mk_gbnf__range(&rule, min, max);
    mk_buf_c(&rule, '\n');
    gbnf *grammar = gbnf_read(mk_buf_view(&rule), &arena);
    snprintf(text, sizeof text, "%lld", (long long)value);
    const bool in = gbnf_matches(grammar, mk_str_of(text), NULL);
    mk_buf_free(&rule);
    mk_arena_free(&arena);
    return in;
}

static void test_schema_gbnf__ranges_of_integers_are_exact(void **state)
{
    (void)state;
    static const int64_t bounds[][2] = {{0, 0}, {1, 9}, {0, 9}, {1, 10}, {7, 23}, {27, 381}, {1, 1000},
                                        {99, 101},
                                        {-5, 5}, {-120, -7}, {0, 1440}, {5, 5}, {10, 99}, {-1440, 1440}};
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++)
        for (int64_t v = bounds[i][0] - 12; v <= bounds[i][1] + 12; v++)
            if (in_range(bounds[i][0], bounds[i][1], v) != (v >= bounds[i][0] && v <= bounds[i][1]))
                fail_msg("%lld in %lld..%lld", (long long)v, (long long)bounds[i][0],
                         (long long)bounds[i][1]);
    assert_true(in_range(0, MK_OPEN_END, MK_OPEN_END));
    assert_false(in_range(0, MK_OPEN_END, MK_OPEN_END + 1));
    assert_true(in_range(0, INT64_MAX, INT64_MAX));
    assert_true(in_range(INT64_MIN, INT64_MAX, INT64_MIN));
}

/* ---- the schema ---- */

static void test_schema_gbnf__the_schema_is_canonical_and_names_every_operator(void **state)
{
    (void)state;
    mk_arena arena;
    mk_json *tree;
    mk_buf schema, again;
    size_t count;
    mk_operators(&count);
    mk_arena_init(&arena, &mk_alloc_default);
    mk_buf_init(&schema, &mk_alloc_default);
    mk_buf_init(&again, &mk_alloc_default);
    assert_int_equal(mk_plan_schema(&schema, &arena, NULL), MK_OK);
    assert_int_equal(mk_json_parse(&arena, mk_buf_view(&schema), NULL, &tree, NULL), MK_OK);
    put_json(&again, &arena, tree);
    assert_true(mk_str_eq(mk_buf_view(&schema), mk_buf_view(&again)));
    const mk_json *steps = mk_json_get(mk_json_get(tree, "properties"), "steps");
    assert_int_equal(mk_json_get(mk_json_get(steps, "items"), "anyOf")->n, count);
    assert_true(schema.n < 64 * 1024);
    mk_buf_free(&again);
    mk_buf_free(&schema);
    mk_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schema_gbnf__every_string_passes_the_checks_of_shape),
        cmocka_unit_test(test_schema_gbnf__the_examples_of_the_prompt_are_strings_and_valid),
        cmocka_unit_test(test_schema_gbnf__the_shared_suites_plans_are_strings),
        cmocka_unit_test(test_schema_gbnf__what_is_no_plan_is_no_string),
        cmocka_unit_test(test_schema_gbnf__the_grammar_has_a_size_that_can_be_sent),
        cmocka_unit_test(test_schema_gbnf__ranges_of_integers_are_exact),
        cmocka_unit_test(test_schema_gbnf__the_schema_is_canonical_and_names_every_operator),
    };
    return cmocka_run_group_tests_name("schema_gbnf", tests, NULL, NULL);
}

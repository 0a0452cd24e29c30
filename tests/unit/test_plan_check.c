/* test_plan_check.c — every check of a plan refuses what it should, with place and code,
 * and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "../support/golden.h"
#include "plan/plan.h"

/* ---- helpers ---- */

static void check(const char *text, const mk_plan_check_options *options, mk_arena *arena,
                  mk_plan_report *out)
{
    assert_int_equal(mk_plan_check(mk_str_of(text), options, arena, out, NULL), MK_OK);
    mk_buf json;
    mk_json *tree;
    mk_buf_init(&json, &mk_alloc_default);
    mk_plan_repair_json(out, &json); /* whatever was found, the report is canonical JSON */
    mk_buf_clear(&json);
    mk_plan_report_json(out, &json);
    assert_int_equal(mk_json_parse(arena, mk_buf_view(&json), NULL, &tree, NULL), MK_OK);
    mk_buf again;
    mk_buf_init(&again, &mk_alloc_default);
    assert_int_equal(mk_canon_tree(&again, arena, tree, NULL), MK_OK);
    assert_true(mk_str_eq(mk_buf_view(&json), mk_buf_view(&again)));
    mk_buf_free(&again);
    mk_buf_free(&json);
}

/* Exactly one violation, with this code at this path; "" expects a valid plan. */
static void assert_only(const char *text, const mk_plan_check_options *options, const char *code,
                        const char *path, const char *word)
{
    mk_arena arena;
    mk_plan_report report;
    mk_arena_init(&arena, &mk_alloc_default);
    check(text, options, &arena, &report);
    if (code[0] == '\0') {
        if (!report.valid)
            fail_msg("%.*s: %.*s in %s", MK_STR_ARG(report.violations[0].path),
                     MK_STR_ARG(report.violations[0].message), text);
    } else {
        if (report.violation_count != 1)
            fail_msg("%zu violations, the first %.*s, in %s", report.violation_count,
                     report.violation_count ? (int)report.violations[0].message.n : 0,
                     report.violation_count ? report.violations[0].message.p : "", text);
        const mk_violation *v = &report.violations[0];
        char message[1300];
        snprintf(message, sizeof message, "%.*s", MK_STR_ARG(v->message));
        assert_string_equal(v->grounding ? "E_GROUNDING" : mk_code_name(v->code), code);
        if (!mk_str_eq(v->path, mk_str_of(path)))
            fail_msg("path %.*s, not %s: %s", MK_STR_ARG(v->path), path, message);
        if (strstr(message, word) == NULL)
            fail_msg("no \"%s\" in: %s", word, message);
    }
    mk_arena_free(&arena);
}

/* A plan of these steps whose answer is this. */
static const char *plan(char *to, size_t size, const char *steps, const char *kind, const char *from)
{
    snprintf(to, size, "{\"plan_id\":\"p\",\"steps\":[%s],\"answer_spec\":{\"kind\":\"%s\",\"from\":\"%s\"}}",
             steps, kind, from);
    return to;
}

static void assert_step(const char *steps, const char *kind, const char *from,
                        const mk_plan_check_options *options, const char *code, const char *path,
                        const char *word)
{
    char text[4000];
    assert_only(plan(text, sizeof text, steps, kind, from), options, code, path, word);
}

#define REACH                                                                                                \
    "{\"id\":\"s1\",\"op\":\"temporal_reachability\",\"args\":{\"src\":\"a\",\"window\":{\"t_a\":0,\"t_b\":" \
    "100}}}"
#define STEP2(args) REACH ",{\"id\":\"s2\",\"op\":\"compute\",\"depends_on\":[\"s1\"],\"args\":" args "}"

/* ---- the shape ---- */

static void test_plan_check__texts_that_are_no_plan(void **state)
{
    static const struct {
        const char *text, *path, *word;
    } table[] = {
        {"", "", "JSON"},
        {"{", "", "JSON"},
        {"[]", "", "one JSON object"},
        {"{\"plan_id\":\"a\",\"plan_id\":\"b\"}", "", "twice"},
        {"{\"plan_id\":\"a\",\"x\":NaN}", "", "not finite"},
        {"{\"plan_id\":\"a\",\"x\":123456789012345678901234567890}", "", "64 bits"},
        {"{\"plan_id\":\"p\",\"steps\":[" REACH
         "],\"answer_spec\":{\"kind\":\"count\",\"from\":\"s1.rows_total\"},\"note\":1}",
         "note", "unknown member"},
        {"{\"plan_id\":\"p\",\"steps\":[" REACH
         "],\"answer_spec\":{\"kind\":\"total\",\"from\":\"s1.rows_total\"}}",
         "answer_spec.kind", "one of count"},
        {"{\"plan_id\":\"\",\"steps\":[" REACH
         "],\"answer_spec\":{\"kind\":\"count\",\"from\":\"s1.rows_total\"}}",
         "plan_id", "not empty"},
        {"{\"plan_id\":\"p\",\"steps\":[],\"answer_spec\":{\"kind\":\"count\",\"from\":\"s1.rows_total\"}}",
         "steps", "1 to 12"},
        {"{\"plan_id\":\"p\",\"steps\":[" REACH "," REACH
         "],\"answer_spec\":{\"kind\":\"count\",\"from\":\"s1.rows_total\"}}",
         "steps[1].id", "two steps"},
        {"{\"plan_id\":\"p\",\"steps\":[{\"id\":\"s1\\n\",\"op\":\"compute\",\"args\":{}}],\"answer_spec\":{"
         "\"kind\":\"count\",\"from\":\"s1.v\"}}",
         "steps[0].id", "letter s"},
        {"{\"plan_id\":\"p\",\"steps\":[{\"id\":\"s1\",\"op\":\"compute\",\"args\":[]}],\"answer_spec\":{"
         "\"kind\":\"count\",\"from\":\"s1.v\"}}",
         "steps[0].args", "object"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        assert_only(table[i].text, NULL, "E_SCHEMA", table[i].path, table[i].word);
}

static void test_plan_check__hostile_sizes(void **state)
{
    (void)state;
    mk_buf text;
    mk_arena arena;
    mk_plan_report report;
    mk_buf_init(&text, &mk_alloc_default);
    mk_arena_init(&arena, &mk_alloc_default);
    mk_buf_z(&text, "{\"plan_id\":\"p\",\"steps\":[");
    for (int i = 0; i < 10000; i++)
        mk_buf_printf(&text, "%s{\"id\":\"s%d\",\"op\":\"compute\",\"args\":{}}", i ? "," : "", i);
    mk_buf_z(&text, "],\"answer_spec\":{\"kind\":\"count\",\"from\":\"s1.value\"}}");
    mk_buf_c(&text, '\0');
    check(text.p, NULL, &arena, &report);
    assert_false(report.valid);
    assert_int_equal(report.violation_count, 1);
    mk_buf_clear(&text);
    for (int i = 0; i < 100000; i++)
        mk_buf_c(&text, i % 2 ? '{' : '[');
    mk_buf_c(&text, '\0');
    check(text.p, NULL, &arena, &report);
    assert_false(report.valid);
    mk_arena_free(&arena);
    mk_buf_free(&text);
}

static void test_plan_check__cycles_and_unknown_dependencies(void **state)
{
    (void)state;
    assert_step(
        "{\"id\":\"s1\",\"op\":\"resolve_entities\",\"args\":{\"query\":\"a\"},\"depends_on\":[\"s1\"]}",
        "count", "s1.rows_total", NULL, "E_SCHEMA", "steps", "wait for each other: s1");
    assert_step(
        "{\"id\":\"s1\",\"op\":\"resolve_entities\",\"args\":{\"query\":\"a\"},\"depends_on\":[\"s2\"]},"
        "{\"id\":\"s2\",\"op\":\"resolve_entities\",\"args\":{\"query\":\"a\"},\"depends_on\":[\"s1\"]}",
        "count", "s1.rows_total", NULL, "E_SCHEMA", "steps", "s1 s2");
    assert_step(
        "{\"id\":\"s1\",\"op\":\"resolve_entities\",\"args\":{\"query\":\"a\"},\"depends_on\":[\"s7\"]}",
        "count", "s1.rows_total", NULL, "E_SCHEMA", "steps[0].depends_on[0]", "no step 's7'");
}

/* ---- operators and arguments ---- */

static void test_plan_check__operators_and_arguments(void **state)
{
    static const struct {
        const char *step, *code, *path, *word;
    } table[] = {
        {"{\"id\":\"s1\",\"op\":\"temporal_reach\",\"args\":{}}", "E_NOT_FOUND", "steps[0].op",
         "there are: aggregate_events"},
        {"{\"id\":\"s1\",\"op\":\"resolve_entities\",\"args\":{\"query\":\"a\",\"labels\":\"x\"}}",
         "E_SCHEMA", "steps[0].args.labels", "did you mean 'label'"},
        {"{\"id\":\"s1\",\"op\":\"resolve_entities\",\"args\":{}}", "E_SCHEMA", "steps[0].args.query",
         "needs 'query'"},
        {"{\"id\":\"s1\",\"op\":\"resolve_entities\",\"args\":{\"query\":5}}", "E_SCHEMA",
         "steps[0].args.query", "a string"},
        {"{\"id\":\"s1\",\"op\":\"resolve_entities\",\"args\":{\"query\":\"a\",\"limit\":0}}", "E_SCHEMA",
         "steps[0].args.limit", "1 to 10000"},
        {"{\"id\":\"s1\",\"op\":\"temporal_reachability\",\"args\":{\"src\":\"a\",\"window\":{\"t_a\":0,\"t_"
         "b\":9},\"direction\":\"sideways\"}}",
         "E_SCHEMA", "steps[0].args.direction", "one of out, in, both"},
        {"{\"id\":\"s1\",\"op\":\"temporal_reachability\",\"args\":{\"src\":\"a\",\"window\":{\"t_a\":9,\"t_"
         "b\":9}}}",
         "E_INVALID_ARG", "steps[0].args.window", "empty"},
        {"{\"id\":\"s1\",\"op\":\"temporal_reachability\",\"args\":{\"src\":\"a\",\"window\":{\"t_a\":0,\"t_"
         "c\":9}}}",
         "E_SCHEMA", "steps[0].args.window", "unknown argument 't_c'"},
        {"{\"id\":\"s1\",\"op\":\"diff_snapshots\",\"args\":{\"t1\":5,\"t2\":5}}", "E_INVALID_ARG",
         "steps[0].args.t2", "same instant"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char text[1000];
        snprintf(text, sizeof text,
                 "{\"plan_id\":\"p\",\"steps\":[%s],\"answer_spec\":{\"kind\":\"text\",\"from\":\"s1\"}}",
                 table[i].step);
        assert_only(text, NULL, table[i].code, table[i].path, table[i].word);
    }
    assert_step("{\"id\":\"s1\",\"op\":\"resolve_entities\",\"args\":{\"query\":\"a\",\"limit\":100.0}}",
                "count", "s1.rows_total", NULL, "", "", "");
}

static void test_plan_check__all_wrong_arguments_are_named_at_once(void **state)
{
    mk_arena arena;
    mk_plan_report report;
    char text[1000];
    (void)state;
    mk_arena_init(&arena, &mk_alloc_default);
    check(plan(text, sizeof text,
               "{\"id\":\"s1\",\"op\":\"temporal_reachability\",\"args\":{\"limit\":0,\"direction\":\"x\","
               "\"wait\":1}}",
               "count", "s9.rows_total"),
          NULL, &arena, &report);
    assert_int_equal(report.violation_count, 6); /* limit, direction, wait, src, window; and the answer */
    mk_arena_free(&arena);
}

/* ---- references ---- */

static void test_plan_check__references(void **state)
{
    static const struct {
        const char *steps, *kind, *from, *code, *path, *word;
    } table[] = {
        {STEP2("{\"fn\":\"count\",\"input\":{\"$ref\":\"s1.rows\"}}"), "count", "s2.value", "", "", ""},
        {STEP2("{\"fn\":\"count\",\"input\":{\"$ref\":5}}"), "count", "s2.value", "E_SCHEMA",
         "steps[1].args.input", "must be text"},
        {STEP2("{\"fn\":\"count\",\"input\":{\"$ref\":\"s1\"}}"), "count", "s2.value", "E_SCHEMA",
         "steps[1].args.input", "no reference"},
        {STEP2("{\"fn\":\"count\",\"input\":{\"$ref\":\"s1.rows[0][1]\"}}"), "count", "s2.value", "E_SCHEMA",
         "steps[1].args.input", "offset"},
        {STEP2("{\"fn\":\"count\",\"input\":{\"$ref\":\"s3.rows\"}}"), "count", "s2.value", "E_SCHEMA",
         "steps[1].args.input", "depends_on"},
        {STEP2("{\"fn\":\"count\",\"input\":{\"$ref\":\"s1.count\"}}"), "count", "s2.value", "E_SCHEMA",
         "steps[1].args.input", "fields: rows, rows_total, truncated, cursor"},
        {STEP2("{\"fn\":\"count\",\"input\":{\"$ref\":\"s1.rows[*].uidd\"}}"), "count", "s2.value",
         "E_SCHEMA", "steps[1].args.input", "did you mean 'uid'"},
        {STEP2("{\"fn\":\"count\",\"input\":{\"$ref\":\"s1.rows_total[0]\"}}"), "count", "s2.value",
         "E_SCHEMA", "steps[1].args.input", "no list"},
        {STEP2("{\"fn\":\"count\",\"input\":{\"$ref\":\"s1.rows_total\"}}"), "count", "s2.value", "E_SCHEMA",
         "steps[1].args.input", "an integer"},
        {STEP2("{\"fn\":\"ratio\",\"x\":{\"$ref\":\"s1.rows\"},\"y\":2}"), "value", "s2.value", "E_SCHEMA",
         "steps[1].args.x", "a list"},
        {STEP2("{\"fn\":\"max\",\"input\":{\"$ref\":\"s1.rows\"},\"field\":\"arrival\"}"), "value",
         "s2.value", "E_SCHEMA", "steps[1].args.field", "they have: uid, earliest_arrival"},
        {STEP2("{\"fn\":\"topk\",\"input\":{\"$ref\":\"s1.rows\"},\"field\":\"earliest_arrival\",\"k\":1}"),
         "value", "s2.value", "E_SCHEMA", "answer_spec.from", "no output field 'value'"},
        {STEP2("{\"fn\":\"topk\",\"input\":{\"$ref\":\"s1.rows\"},\"field\":\"earliest_arrival\",\"k\":1}"),
         "value", "s2.rows[0].name", "E_SCHEMA", "answer_spec.from", "fields: uid, earliest_arrival"},
        {STEP2("{\"fn\":\"topk\",\"input\":{\"$ref\":\"s1.rows\"},\"field\":\"earliest_arrival\",\"k\":1}"),
         "value", "s2.rows[0].uid", "", "", ""},
        {STEP2("{\"fn\":\"derive\",\"input\":{\"$ref\":\"s1.rows\"},\"field\":\"earliest_arrival\",\"op\":"
               "\"add\",\"value\":1,\"into\":\"later\"}"),
         "value", "s2.rows[0].later", "", "", ""},
        {STEP2("{\"fn\":\"count\",\"input\":{\"$ref\":\"s1.rows\"},\"group_by\":\"uid\"}"), "value",
         "s2.rows[0].count", "", "", ""},
        {STEP2("{\"fn\":\"join\",\"input\":{\"$ref\":\"s1.rows\"},\"other\":{\"$ref\":\"s1.rows\"},\"on\":"
               "\"uid\"}"),
         "value", "s2.rows[0].r_earliest_arrival", "", "", ""},
        {STEP2("{\"fn\":\"join\",\"input\":{\"$ref\":\"s1.rows\"},\"other\":{\"$ref\":\"s1.rows\"},\"on\":"
               "\"uid\"}"),
         "value", "s2.rows[0].earliest", "E_SCHEMA", "answer_spec.from", "r_earliest_arrival"},
        {REACH, "count", "s1.rows", "E_SCHEMA", "answer_spec.from", "a count is a number"},
        {REACH, "count", "s1", "E_SCHEMA", "answer_spec.from", "a count is a number"},
        {REACH, "interval", "s1.rows[0]", "E_SCHEMA", "answer_spec.from", "t_a and t_b"},
        {REACH, "entity_set", "s1.rows_total", "E_SCHEMA", "answer_spec.from", "list of uids"},
        {REACH, "entity_set", "s1.rows", "", "", ""},
        {REACH, "entity_set", "s1.rows[*].uid", "", "", ""},
        {REACH, "series", "s1.rows_total", "E_SCHEMA", "answer_spec.from", "a list"},
        {REACH, "count", "s1.rows_total.x[*][*]", "E_SCHEMA", "answer_spec.from", "offset"},
        {"{\"id\":\"s1\",\"op\":\"entity_history\",\"args\":{\"uid\":\"a\"}}", "series", "s1.edges",
         "E_SCHEMA", "answer_spec.from", "no output field 'edges'"},
        {"{\"id\":\"s1\",\"op\":\"entity_history\",\"args\":{\"uid\":\"a\",\"include_edges\":true}}",
         "series", "s1.edges", "", "", ""},
        {"{\"id\":\"s1\",\"op\":\"aggregate_events\",\"args\":{\"group_by\":[{\"dim\":\"rel_type\"}],"
         "\"aggregates\":[{\"agg\":\"count\"}],"
         "\"window\":{\"t_a\":0,\"t_b\":9}}}",
         "value", "s1.rows[0].events", "E_SCHEMA", "answer_spec.from", "count, rel_type"},
        {"{\"id\":\"s1\",\"op\":\"aggregate_events\",\"args\":{\"group_by\":[{\"dim\":\"rel_type\"}],"
         "\"aggregates\":[{\"agg\":\"count\"}],"
         "\"window\":{\"t_a\":0,\"t_b\":9}}}",
         "value", "s1.rows[0].count", "", "", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        assert_step(table[i].steps, table[i].kind, table[i].from, NULL, table[i].code, table[i].path,
                    table[i].word);
}

/* ---- identifiers ---- */

static void test_plan_check__identifiers_come_from_the_task_or_an_operator(void **state)
{
    const mk_str ids[] = {MK_STR("a"), MK_STR("b")};
    const mk_plan_check_options none = {.ground = true},
                                two = {.ground = true, .allowed = ids, .allowed_count = 2}, off = {0};
    static const char *const launder =
        "{\"id\":\"s1\",\"op\":\"compute\",\"args\":{\"fn\":\"filter\",\"input\":[{\"u\":\"made-up\"}],"
        "\"field\":\"u\",\"cmp\":\"not_null\"}},"
        "{\"id\":\"s2\",\"op\":\"entity_history\",\"depends_on\":[\"s1\"],\"args\":{\"uid\":{\"$ref\":\"s1."
        "rows[0].u\"}}}";
    static const char *const cohort = "{\"id\":\"s1\",\"op\":\"aggregate_events\",\"args\":{\"group_by\":[],"
                                      "\"aggregates\":[{\"agg\":\"count\"}],\"window\":{\"t_a\":0,\"t_b\":9},"
                                      "\"endpoint_filter\":{\"role\":\"src\",\"uids\":[\"a\",\"zed\"]}}}";
    (void)state;
    assert_step(REACH, "count", "s1.rows_total", &off, "", "", "");
    assert_step(REACH, "count", "s1.rows_total", &two, "", "", "");
    assert_step(REACH, "count", "s1.rows_total", &none, "E_GROUNDING", "steps[0].args.src",
                "resolve_entities");
    assert_step(cohort, "count", "s1.rows[0].count", &two, "E_GROUNDING",
                "steps[0].args.endpoint_filter.uids[1]", "zed");
    assert_step(launder, "count", "s2.rows_total", &two, "E_GROUNDING", "steps[1].args.uid", "wrote itself");
    assert_step(launder, "count", "s2.rows_total", &off, "", "", "");
    assert_step("{\"id\":\"s1\",\"op\":\"resolve_entities\",\"args\":{\"query\":\"zed\"}},"
                "{\"id\":\"s2\",\"op\":\"compute\",\"depends_on\":[\"s1\"],\"args\":{\"fn\":\"filter\","
                "\"input\":{\"$ref\":\"s1.rows\"},"
                "\"field\":\"match\",\"cmp\":\"eq\",\"value\":0}},"
                "{\"id\":\"s3\",\"op\":\"entity_history\",\"depends_on\":[\"s2\"],\"args\":{\"uid\":{\"$"
                "ref\":\"s2.rows[0].uid\"}}}",
                "count", "s3.rows_total", &none, "", "", "");
}

/* ---- the store ---- */

static void test_plan_check__windows_and_cost_are_judged_against_the_store(void **state)
{
    const mk_view_stats stats = {.entities = 1000,
                                 .node_versions = 1000,
                                 .edge_versions = 100000,
                                 .has_extent = true,
                                 .vt_min = 50,
                                 .vt_max = 80,
                                 .max_out_degree = 500};
    const mk_plan_check_options with = {.stats = &stats},
                                cheap = {.stats = &stats, .ceilings = {.rows_scanned_est = 2000}};
    (void)state;
    assert_step("{\"id\":\"s1\",\"op\":\"version_history\",\"args\":{\"kind\":\"edge\",\"window\":{\"t_a\":"
                "80,\"t_b\":90}}}",
                "count", "s1.rows_total", &with, "E_INVALID_ARG", "steps[0].args.window", "misses the data");
    assert_step("{\"id\":\"s1\",\"op\":\"version_history\",\"args\":{\"kind\":\"edge\",\"window\":{\"t_a\":0,"
                "\"t_b\":50}}}",
                "count", "s1.rows_total", &with, "E_INVALID_ARG", "steps[0].args.window", "1970-01-01");
    assert_step("{\"id\":\"s1\",\"op\":\"version_history\",\"args\":{\"kind\":\"edge\",\"window\":{\"t_a\":"
                "79,\"t_b\":90}}}",
                "count", "s1.rows_total", &with, "", "", "");
    assert_step(REACH, "count", "s1.rows_total", &cheap, "E_COST", "steps[0].args", "counter_offers");
}

/* ---- real plans, and what becomes of them ---- */

typedef struct suite_tally {
    int plans, mutants, survivors;
} suite_tally;

/* Every name in every path gets one letter more. */
static void mutate(const char *text, const mk_plan_check_options *options, suite_tally *t)
{
    static const char *const keys[] = {"\"$ref\":\"", "\"from\":\""};
    char *copy = malloc(strlen(text) + 2);
    assert_non_null(copy);
    for (size_t k = 0; k < 2; k++)
        for (const char *at = strstr(text, keys[k]); at != NULL; at = strstr(at + 1, keys[k])) {
            const char *path = at + strlen(keys[k]);
            for (size_t i = 1; path[i - 1] != '"'; i++) {
                if (path[i] != '.' && path[i] != '[' && path[i] != '"')
                    continue;
                if (path[i - 1] == ']')
                    continue;
                const size_t cut = (size_t)(path - text) + i;
                memcpy(copy, text, cut);
                copy[cut] = 'x';
                strcpy(copy + cut + 1, text + cut);
                mk_arena arena;
                mk_plan_report report;
                mk_arena_init(&arena, &mk_alloc_default);
                check(copy, options, &arena, &report);
                t->mutants++;
                if (report.valid) {
                    t->survivors++;
                    print_message("survived: %s\n", copy);
                }
                mk_arena_free(&arena);
            }
        }
    free(copy);
}

static void check_split(const mk_json *tasks, suite_tally *t)
{
    for (size_t i = 0; i < tasks->n; i++) {
        const mk_json *ids = mk_json_get(&tasks->items[i], "input_uids");
        mk_arena arena;
        mk_plan_report report;
        mk_buf text;
        mk_arena_init(&arena, &mk_alloc_default);
        mk_buf_init(&text, &mk_alloc_default);
        mk_str *allowed = mk_arena_get(&arena, (ids->n + 1) * sizeof *allowed);
        for (size_t k = 0; k < ids->n; k++)
            allowed[k] = ids->items[k].text;
        const mk_plan_check_options options = {.ground = true, .allowed = allowed, .allowed_count = ids->n};
        assert_int_equal(mk_canon_tree(&text, &arena, mk_json_get(&tasks->items[i], "oracle_plan"), NULL),
                         MK_OK);
        mk_buf_c(&text, '\0');
        check(text.p, &options, &arena, &report);
        if (!report.valid)
            fail_msg("%.*s: %s", MK_STR_ARG(report.violations[0].message), text.p);
        mutate(text.p, &options, t);
        t->plans++;
        mk_buf_free(&text);
        mk_arena_free(&arena);
    }
}

static void test_plan_check__oracle_plans_pass_and_every_changed_path_is_refused(void **state)
{
    char path[GOLDEN_PATH_MAX];
    suite_tally t = {0};
    (void)state;
    if (!golden_shared_path(path, "frozen/suite-collegemsg-half.json")) {
        print_message("skipped: the frozen suite is not there; set MK_SHARED_DATA\n");
        skip();
    }
    golden *file = golden_open(path);
    const mk_json *suite = golden_all(file);
    check_split(mk_json_get(suite, "dev"), &t);
    check_split(mk_json_get(suite, "test"), &t);
    golden_close(file);
    print_message("%d plans, %d mutants\n", t.plans, t.mutants);
    assert_true(t.plans > 50 && t.mutants > 200);
    assert_int_equal(t.survivors, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plan_check__texts_that_are_no_plan),
        cmocka_unit_test(test_plan_check__hostile_sizes),
        cmocka_unit_test(test_plan_check__cycles_and_unknown_dependencies),
        cmocka_unit_test(test_plan_check__operators_and_arguments),
        cmocka_unit_test(test_plan_check__all_wrong_arguments_are_named_at_once),
        cmocka_unit_test(test_plan_check__references),
        cmocka_unit_test(test_plan_check__identifiers_come_from_the_task_or_an_operator),
        cmocka_unit_test(test_plan_check__windows_and_cost_are_judged_against_the_store),
        cmocka_unit_test(test_plan_check__oracle_plans_pass_and_every_changed_path_is_refused),
    };
    return cmocka_run_group_tests_name("plan check", tests, NULL, NULL);
}

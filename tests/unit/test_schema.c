/* test_schema.c — the registry's tables, and what is derived from them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "op/schema.h"

/* ---- an operator that uses every kind of argument ---- */

static const char *const dummy_modes[] = {"fast", "slow", NULL};
static const mk_arg dummy_item_members[] = {
    {.name = "dim", .type = MK_ARG_ENUM, .required = true, .choices = dummy_modes},
    {.name = "size", .type = MK_ARG_INTEGER, .nullable = true, .min = 1, .max = INT64_MAX,
     .any_size = true},
    {0},
};
static const mk_arg dummy_item = {
    .name = "item", .type = MK_ARG_OBJECT, .members = dummy_item_members};
static const mk_arg dummy_args[] = {
    MK_ARG_WINDOW,
    {.name = "items", .type = MK_ARG_LIST, .item = &dummy_item, .max = 3, .default_json = "[]"},
    {.name = "mode", .type = MK_ARG_ENUM, .choices = dummy_modes, .default_json = "\"fast\""},
    {.name = "pct", .type = MK_ARG_NUMBER, .nullable = true, .bounded = true, .above = 0.0,
     .upto = 100.0, .default_json = "null"},
    {.name = "flag", .type = MK_ARG_BOOLEAN, .default_json = "false"},
    {.name = "gap", .type = MK_ARG_INTEGER, .min = 1, .max = INT64_MAX, .any_size = true},
    {.name = "value", .type = MK_ARG_ANY, .default_json = "null"},
    MK_ARG_REL_TYPES,
    MK_ARG_AS_OF,
    MK_ARG_LIMIT,
    MK_ARG_CURSOR,
    {0},
};
static const mk_field dummy_row_members[] = {
    {.name = "value", .type = MK_FIELD_NUMBER, .nullable = true, .doc = "A \"value\"."},
    {0},
};
static const mk_field dummy_row = {
    .name = "row", .type = MK_FIELD_OBJECT, .members = dummy_row_members};
static const mk_field dummy_fields[] = {
    MK_FIELD_ROWS(&dummy_row, NULL),
    {.name = "extra", .type = MK_FIELD_ANY, .optional = true},
    {0},
};
static const mk_operator dummy = {
    .name = "dummy",
    .group = "test",
    .summary = "does nothing",
    .example = "{\"window\":{\"t_a\":0,\"t_b\":1}}",
    .args = dummy_args,
    .fields = dummy_fields,
};

#define WINDOW "\"window\":{\"t_a\":0,\"t_b\":9}"

typedef struct checked {
    mk_arena arena;
    mk_buf text;
    mk_err err;
    mk_code rc;
} checked;

static checked check(const mk_operator *op, const char *json)
{
    checked c = {0};
    mk_json *args;
    mk_arena_init(&c.arena, &mk_alloc_default);
    mk_buf_init(&c.text, &mk_alloc_default);
    assert_int_equal(mk_json_parse(&c.arena, mk_str_of(json), NULL, &args, &c.err), MK_OK);
    c.rc = mk_args_check(op, &c.arena, args, &c.err);
    if (c.rc == MK_OK) {
        assert_int_equal(mk_canon_tree(&c.text, &c.arena, args, &c.err), MK_OK);
        mk_buf_c(&c.text, '\0');
    }
    return c;
}

static void done(checked *c)
{
    mk_buf_free(&c->text);
    mk_arena_free(&c->arena);
}

static void accepts(const char *json, const char *expected)
{
    checked c = check(&dummy, json);
    if (c.rc != MK_OK)
        fail_msg("%s: %s", json, c.err.message);
    assert_string_equal(c.text.p, expected);
    done(&c);
}

/* `path` is the JSON list in details.path. */
static void refuses(const char *json, const char *path)
{
    char expected[128];
    checked c = check(&dummy, json);
    if (c.rc != MK_E_SCHEMA)
        fail_msg("%s: accepted", json);
    assert_int_equal(c.err.code, MK_E_SCHEMA);
    snprintf(expected, sizeof expected, "\"path\":%s", path);
    if (strcmp(c.err.extra, expected) != 0)
        fail_msg("%s: got %s, expected %s", json, c.err.extra, expected);
    assert_true(c.err.hint[0] != '\0');
    done(&c);
}

/* ---- the table itself ---- */

static void check_arg_table(const mk_operator *op, const mk_arg *args)
{
    for (const mk_arg *a = args; a->name != NULL; a++) {
        if (a->doc == NULL)
            fail_msg("%s.%s is not described", op->name, a->name);
        assert_false(a->required && a->default_json != NULL);
        assert_true(a->type != MK_ARG_ENUM || a->choices != NULL);
        assert_true(a->type != MK_ARG_OBJECT || a->members != NULL);
        for (const mk_arg *b = args; b < a; b++)
            assert_string_not_equal(a->name, b->name);
    }
}

static void check_field_table(const mk_operator *op, const mk_field *fields)
{
    for (const mk_field *a = fields; a->name != NULL; a++) {
        if (a->doc == NULL)
            fail_msg("%s: result field %s is not described", op->name, a->name);
        assert_true(a->type != MK_FIELD_LIST || a->item != NULL);
        for (const mk_field *b = fields; b < a; b++)
            assert_string_not_equal(a->name, b->name);
        const mk_field *inner = a->item != NULL ? a->item->members : a->members;
        if (inner != NULL) {
            for (const mk_field *m = inner; m->name != NULL; m++)
                assert_non_null(m->doc);
        }
    }
}

static void test_schema__the_table_is_sorted_and_complete(void **state)
{
    (void)state;
    size_t count;
    const mk_operator *const *ops = mk_operators(&count);
    assert_true(count >= 3);
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            assert_true(strcmp(ops[i - 1]->name, ops[i]->name) < 0);
        assert_ptr_equal(mk_operator_find(mk_str_of(ops[i]->name)), ops[i]);
        assert_non_null(ops[i]->group);
        assert_non_null(ops[i]->summary);
        assert_non_null(ops[i]->run);
        check_arg_table(ops[i], ops[i]->args);
        check_field_table(ops[i], ops[i]->fields);
    }
    assert_null(mk_operator_find(MK_STR("entity_histor")));
    assert_null(mk_operator_find(MK_STR("")));
    assert_null(mk_operator_find((mk_str){"entity_history\0x", 16}));
}

static void test_schema__every_example_and_every_default_passes_its_own_check(void **state)
{
    (void)state;
    size_t count;
    const mk_operator *const *ops = mk_operators(&count);
    for (size_t i = 0; i < count; i++) {
        checked once = check(ops[i], ops[i]->example);
        if (once.rc != MK_OK)
            fail_msg("%s: %s", ops[i]->name, once.err.message);
        /* With all defaults written out, nothing is added and nothing refused. */
        checked twice = check(ops[i], once.text.p);
        assert_int_equal(twice.rc, MK_OK);
        assert_string_equal(once.text.p, twice.text.p);
        done(&twice);
        done(&once);
    }
}

static void test_schema__a_near_name_is_found(void **state)
{
    (void)state;
    assert_string_equal(mk_operator_near(MK_STR("entity_histroy"))->name, "entity_history");
    assert_string_equal(mk_operator_near(MK_STR("resolve_entity"))->name, "resolve_entities");
    assert_null(mk_operator_near(MK_STR("x")));
    char longer[200];
    memset(longer, 'e', sizeof longer);
    assert_null(mk_operator_near((mk_str){longer, sizeof longer}));
}

/* ---- arguments ---- */

static void test_schema__defaults_are_added_at_the_top_only(void **state)
{
    (void)state;
    accepts("{\"items\":[{\"dim\":\"slow\"}],\"mode\":\"slow\"," WINDOW "}",
            "{\"as_of_tt\":4611686018427387904,\"cursor\":null,\"flag\":false,"
            "\"items\":[{\"dim\":\"slow\"}],\"limit\":100,\"mode\":\"slow\",\"pct\":null,"
            "\"rel_types\":null,\"value\":null,\"window\":{\"t_a\":0,\"t_b\":9}}");
}

static void test_schema__integral_floats_and_iso_times_become_integers(void **state)
{
    (void)state;
    accepts("{\"as_of_tt\":\"1970-01-01T00:00:01Z\",\"gap\":1e3,\"limit\":5.0,"
            "\"pct\":5.0,\"window\":{\"t_a\":\"1970-01-01\",\"t_b\":-0.0}}",
            "{\"as_of_tt\":1000000,\"cursor\":null,\"flag\":false,\"gap\":1000,\"items\":[],"
            "\"limit\":5,\"mode\":\"fast\",\"pct\":5.0,\"rel_types\":null,\"value\":null,"
            "\"window\":{\"t_a\":0,\"t_b\":0}}");
}

static void test_schema__integers_of_any_size_are_kept_where_they_may_be(void **state)
{
    (void)state;
    checked c = check(&dummy, "{\"gap\":99999999999999999999," WINDOW "}");
    assert_int_equal(c.rc, MK_OK);
    assert_non_null(strstr(c.text.p, "\"gap\":99999999999999999999,"));
    done(&c);
    c = check(&dummy, "{\"gap\":1e20," WINDOW "}");
    assert_int_equal(c.rc, MK_OK);
    assert_non_null(strstr(c.text.p, "\"gap\":100000000000000000000,"));
    done(&c);
    refuses("{\"gap\":-99999999999999999999," WINDOW "}", "[\"gap\"]");
    refuses("{\"limit\":99999999999999999999," WINDOW "}", "[\"limit\"]");
    refuses("{\"limit\":1e20," WINDOW "}", "[\"limit\"]");
}

static void test_schema__wrong_values_are_refused_with_their_path(void **state)
{
    (void)state;
    refuses("[]", "[]");
    refuses("7", "[]");
    refuses("{}", "[]");
    refuses("{\"window\":null}", "[\"window\"]");
    refuses("{\"window\":{\"t_a\":1}}", "[\"window\"]");
    refuses("{\"window\":{\"t_a\":1,\"t_b\":2,\"t_c\":3}}", "[\"window\"]");
    refuses("{\"window\":{\"t_a\":-1,\"t_b\":2}}", "[\"window\",\"t_a\"]");
    refuses("{\"window\":{\"t_a\":1,\"t_b\":4611686018427387905}}", "[\"window\",\"t_b\"]");
    refuses("{\"window\":{\"t_a\":\"1969-12-31\",\"t_b\":2}}", "[\"window\",\"t_a\"]");
    refuses("{\"as_of_tt\":\"bad\"," WINDOW "}", "[\"as_of_tt\"]");
    refuses("{\"as_of_tt\":true," WINDOW "}", "[\"as_of_tt\"]");
    refuses("{\"flag\":0," WINDOW "}", "[\"flag\"]");
    refuses("{\"flag\":null," WINDOW "}", "[\"flag\"]");
    refuses("{\"limit\":0," WINDOW "}", "[\"limit\"]");
    refuses("{\"limit\":10001," WINDOW "}", "[\"limit\"]");
    refuses("{\"limit\":1.5," WINDOW "}", "[\"limit\"]");
    refuses("{\"limit\":NaN," WINDOW "}", "[\"limit\"]");
    refuses("{\"limit\":\"5\"," WINDOW "}", "[\"limit\"]");
    refuses("{\"cursor\":5," WINDOW "}", "[\"cursor\"]");
    refuses("{\"mode\":\"medium\"," WINDOW "}", "[\"mode\"]");
    refuses("{\"mode\":\"fas\"," WINDOW "}", "[\"mode\"]");
    refuses("{\"pct\":0," WINDOW "}", "[\"pct\"]");
    refuses("{\"pct\":100.5," WINDOW "}", "[\"pct\"]");
    refuses("{\"pct\":true," WINDOW "}", "[\"pct\"]");
    refuses("{\"pct\":Infinity," WINDOW "}", "[\"pct\"]");
    refuses("{\"rel_types\":[\"R\",1]," WINDOW "}", "[\"rel_types\",1]");
    refuses("{\"items\":[{},{},{},{}]," WINDOW "}", "[\"items\"]");
    refuses("{\"items\":[{\"dim\":\"fast\"},{}]," WINDOW "}", "[\"items\",1]");
    refuses("{\"items\":[{\"dim\":\"fast\",\"size\":0}]," WINDOW "}", "[\"items\",0,\"size\"]");
}

static void test_schema__the_shortest_path_wins_and_unknown_beats_missing(void **state)
{
    (void)state;
    refuses("{\"items\":[{\"dim\":1}],\"limit\":0," WINDOW "}", "[\"limit\"]");
    refuses("{\"items\":[{\"dim\":1}],\"window\":{\"t_a\":\"x\",\"t_b\":2}}",
            "[\"window\",\"t_a\"]");
    checked c = check(&dummy, "{\"limit\":0,\"wimdow\":1}");
    assert_int_equal(c.rc, MK_E_SCHEMA);
    assert_string_equal(c.err.extra, "\"path\":[]");
    assert_non_null(strstr(c.err.message, "wimdow"));
    assert_non_null(strstr(c.err.hint, "window"));
    done(&c);
}

static void test_schema__hostile_text_does_not_reach_an_error_unclean(void **state)
{
    (void)state;
    checked c = check(&dummy, "{\"\\u0001\\n\\\"quoted\\\"\":1}");
    mk_buf json;
    mk_json *tree;
    mk_buf_init(&json, &mk_alloc_default);
    assert_int_equal(c.rc, MK_E_SCHEMA);
    mk_err_json(&json, &c.err);
    assert_int_equal(mk_json_parse(&c.arena, mk_buf_view(&json), NULL, &tree, NULL), MK_OK);
    mk_buf_free(&json);
    done(&c);
}

static mk_code window_rc(const char *args, mk_err *err)
{
    mk_arena arena;
    mk_json *tree;
    mk_arena_init(&arena, &mk_alloc_default);
    assert_int_equal(mk_json_parse(&arena, mk_str_of(args), NULL, &tree, NULL), MK_OK);
    const mk_code rc = mk_validate_window(tree, err);
    mk_arena_free(&arena);
    return rc;
}

static void test_schema__a_window_must_not_be_empty(void **state)
{
    (void)state;
    mk_err err;
    assert_int_equal(window_rc("{\"window\":{\"t_a\":4,\"t_b\":5}}", &err), MK_OK);
    assert_int_equal(window_rc("{\"window\":{\"t_a\":5,\"t_b\":5}}", &err), MK_E_INVALID_ARG);
    assert_string_equal(err.extra, "\"path\":[\"window\"]");
    assert_int_equal(window_rc("{\"window\":{\"t_a\":6,\"t_b\":5}}", &err), MK_E_INVALID_ARG);
}

/* ---- derived text ---- */

static void test_schema__argument_and_result_schemas_say_what_the_table_says(void **state)
{
    (void)state;
    static const mk_arg args[] = {
        {.name = "uid", .type = MK_ARG_STRING, .required = true, .min = 1, .doc = "Who."},
        {.name = "at", .type = MK_ARG_TIMESTAMP, .nullable = true, .max = 9,
         .default_json = "null"},
        {.name = "how", .type = MK_ARG_ENUM, .choices = dummy_modes, .default_json = "\"fast\""},
        {.name = "some", .type = MK_ARG_LIST, .item = &mk_arg_text, .max = INT64_MAX},
        {0},
    };
    const mk_operator op = {.name = "small", .args = args, .fields = dummy_fields};
    mk_arena arena;
    mk_buf out;
    mk_err err;
    mk_arena_init(&arena, &mk_alloc_default);
    mk_buf_init(&out, &mk_alloc_default);
    assert_int_equal(mk_op_schema_json(&out, &arena, &op, &err), MK_OK);
    mk_buf_c(&out, '\0');
    assert_string_equal(
        out.p,
        "{\"arguments\":{\"additionalProperties\":false,\"properties\":{"
        "\"at\":{\"default\":null,\"maximum\":9,\"minimum\":0,"
        "\"type\":[\"integer\",\"string\",\"null\"]},"
        "\"how\":{\"default\":\"fast\",\"enum\":[\"fast\",\"slow\"]},"
        "\"some\":{\"items\":{\"type\":\"string\"},\"type\":\"array\"},"
        "\"uid\":{\"description\":\"Who.\",\"minLength\":1,\"type\":\"string\"}},"
        "\"required\":[\"uid\"],\"type\":\"object\"},"
        "\"result\":{\"additionalProperties\":false,\"properties\":{"
        "\"extra\":{\"$comment\":\"any value\"},"
        "\"rows\":{\"items\":{\"additionalProperties\":false,\"properties\":{"
        "\"value\":{\"description\":\"A \\\"value\\\".\",\"type\":[\"number\",\"null\"]}},"
        "\"required\":[\"value\"],\"type\":\"object\"},\"type\":\"array\"}},"
        "\"required\":[\"rows\"],\"type\":\"object\"}}");
    mk_buf_free(&out);
    mk_arena_free(&arena);
}

static void test_schema__every_operator_has_schemas_and_a_readable_manual(void **state)
{
    (void)state;
    size_t count;
    const mk_operator *const *ops = mk_operators(&count);
    mk_arena arena;
    mk_buf out;
    mk_err err;
    mk_arena_init(&arena, &mk_alloc_default);
    mk_buf_init(&out, &mk_alloc_default);
    for (size_t i = 0; i < count; i++) {
        mk_buf_clear(&out);
        assert_int_equal(mk_op_schema_json(&out, &arena, ops[i], &err), MK_OK);
        mk_buf_clear(&out);
        mk_op_manual(&out, ops[i]);
        mk_buf_c(&out, '\0');
        assert_false(out.failed);
        assert_non_null(strstr(out.p, ops[i]->example));
        for (const mk_arg *a = ops[i]->args; a->name != NULL; a++)
            assert_non_null(strstr(out.p, a->name));
        for (const char *line = out.p; *line != '\0'; line += strcspn(line, "\n") + 1) {
            if (strcspn(line, "\n") > 100 && strncmp(line, "  merkhet", 9) != 0)
                fail_msg("%s: a line of the manual is too long: %s", ops[i]->name, line);
        }
    }
    mk_buf_clear(&out);
    mk_op_list(&out);
    mk_buf_c(&out, '\0');
    for (size_t i = 0; i < count; i++)
        assert_non_null(strstr(out.p, ops[i]->name));
    mk_buf_free(&out);
    mk_arena_free(&arena);
}

/* ---- cost ---- */

static void test_schema__quotients_are_rounded_once(void **state)
{
    (void)state;
    assert_true(mk_cost_quotient(0, 7) == 0.0);
    assert_true(mk_cost_quotient(1, 3) == 1.0 / 3.0);
    assert_true(mk_cost_quotient(7, 7) == 1.0);
    /* Both too long for a double: converting first would give 1.0 for the first. */
    assert_true(mk_cost_quotient(INT64_C(9007199254740993), INT64_C(9007199254740994)) ==
                0x1.fffffffffffffp-1);
    assert_true(mk_cost_quotient(INT64_C(4611686018427387903), INT64_C(9223372036854775807)) == 0.5);
    assert_true(mk_cost_quotient(1, INT64_C(9223372036854775807)) == 0x1p-63);
    assert_true(mk_cost_quotient(INT64_C(4611686018427387904), 1) == 0x1p62);
}

static mk_cost_input cost_input(mk_arena *arena, const char *args)
{
    mk_cost_input in = {
        .stats = {.entities = 4, .node_versions = 10, .edge_versions = 1001, .has_extent = true,
                  .vt_min = 100, .vt_max = 400},
        .scale = 1.0,
    };
    mk_json *tree;
    assert_int_equal(mk_json_parse(arena, mk_str_of(args), NULL, &tree, NULL), MK_OK);
    in.args = tree;
    return in;
}

static void test_schema__the_window_fraction_is_of_the_extent(void **state)
{
    (void)state;
    static const struct {
        const char *args;
        double expected;
    } cases[] = {
        {"{}", 1.0},
        {"{\"window\":{\"t_a\":0,\"t_b\":1000}}", 1.0},
        {"{\"window\":{\"t_a\":200,\"t_b\":300}}", 1.0 / 3.0},
        {"{\"window\":{\"t_a\":0,\"t_b\":100}}", 0.0},
        {"{\"window\":{\"t_a\":0,\"t_b\":4611686018427387904}}", 1.0},
    };
    mk_arena arena;
    mk_arena_init(&arena, &mk_alloc_default);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mk_cost_input in = cost_input(&arena, cases[i].args);
        assert_true(mk_cost_window_fraction(&in) == cases[i].expected);
        in.stats.has_extent = false;
        assert_true(mk_cost_window_fraction(&in) == 1.0);
    }
    mk_cost_input in = cost_input(&arena, cases[2].args);
    assert_int_equal(mk_cost_scan(&in), 333 + 10);
    mk_arena_free(&arena);
}

static void test_schema__a_call_is_refused_strictly_above_its_ceiling(void **state)
{
    (void)state;
    mk_arena arena;
    mk_err err;
    mk_arena_init(&arena, &mk_alloc_default);
    const mk_cost_input in = cost_input(&arena, "{}");
    /* The first refused sizes that the spec prints (5.6). */
    static const struct {
        double coeff;
        int64_t first;
    } cases[] = {{55.0, 181836364}, {115.0, 86965218}, {170.0, 58829412}};
    for (size_t i = 0; i < 3; i++) {
        mk_cost cost = {.rows_scanned_est = cases[i].first - 1};
        mk_cost_time(&in, cases[i].coeff, &cost);
        assert_true(mk_cost_within(&cost, &mk_ceilings_default));
        cost.rows_scanned_est++;
        mk_cost_time(&in, cases[i].coeff, &cost);
        assert_false(mk_cost_within(&cost, &mk_ceilings_default));
        assert_int_equal(mk_cost_refuse(&cost, &mk_ceilings_default, MK_STR("[]"), &err), MK_E_COST);
        assert_non_null(strstr(err.extra, "\"ceilings\":{\"time_est_ms\":10000},\"counter_offers\":[],"));
    }
    mk_arena_free(&arena);
}

/* ---- pages ---- */

static void test_schema__cursors_are_read_as_the_reference_reads_them(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t offset; /* -100: refused */
    } cases[] = {
        {"", 0},           {"0", 0},       {"12", 12},      {" 2", 2},       {"\t+3\n", 3},
        {"-1", -1},        {"1_000", 1000}, {"\xC2\xA0" "7", 7}, {"\xD9\xA1\xD9\xA2", 12},
        {"\xF0\x9D\x9F\x97", 9}, /* a mathematical nine, in a run of five tens */
        {"99999999999999999999999", INT64_MAX / 20}, {"_1", -100}, {"1__0", -100}, {"1_", -100},
        {"+", -100},       {"1e3", -100},  {"1.0", -100},   {"x", -100},     {"+ 1", -100},
        {" ", -100},       {"1 1", -100},  {"\xFF", -100},  {"\xE2\x85\xA3", -100},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const mk_page page = mk_page_from(mk_str_of(cases[i].text), 5);
        if ((page.bad_cursor.p != NULL) != (cases[i].offset == -100))
            fail_msg("'%s' is %s", cases[i].text, page.bad_cursor.p ? "refused" : "accepted");
        if (page.bad_cursor.p == NULL && cases[i].offset != INT64_MAX / 20)
            assert_int_equal(page.offset, cases[i].offset);
        if (cases[i].offset == INT64_MAX / 20)
            assert_true(page.offset > 1000000000000);
    }
}

static void test_schema__spans_are_slices(void **state)
{
    (void)state;
    static const struct {
        int64_t offset, limit;
        size_t total, start, end;
        bool truncated;
        int64_t next;
    } cases[] = {
        {0, 10, 0, 0, 0, false, 0},   {0, 10, 10, 0, 10, false, 10}, {0, 10, 11, 0, 10, true, 10},
        {10, 10, 11, 10, 11, false, 11}, {99, 10, 11, 11, 11, false, 99},
        {-1, 10, 7, 6, 7, true, 0},   {-9, 10, 7, 0, 1, true, -8},
        {INT64_MAX / 20, 10000, 3, 3, 3, false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const mk_page page = {.offset = cases[i].offset, .limit = cases[i].limit};
        mk_span span;
        mk_err err;
        assert_int_equal(mk_page_span(&page, cases[i].total, &span, &err), MK_OK);
        assert_int_equal(span.start, cases[i].start);
        assert_int_equal(span.end, cases[i].end);
        assert_int_equal(span.truncated, cases[i].truncated);
        if (span.truncated)
            assert_int_equal(span.next, cases[i].next);
    }
    const mk_page endless = {.offset = -1, .limit = 1};
    mk_span span;
    assert_int_equal(mk_page_span(&endless, 5, &span, NULL), MK_E_INVALID_ARG);
}

static void test_schema__ranked_entities_sort_by_rank_then_uid(void **state)
{
    (void)state;
    enum { COUNT = 300 };
    static char names[COUNT][8];
    mk_ranked list[COUNT];
    mk_arena arena;
    mk_arena_init(&arena, &mk_alloc_default);
    for (uint32_t i = 0; i < COUNT; i++) {
        const uint32_t mixed = i * 167 % COUNT; /* 167 and 300 have no common factor */
        snprintf(names[i], sizeof names[i], "u%03u", mixed);
        list[i] = (mk_ranked){.uid = mk_str_of(names[i]), .rank = mixed % 3, .id = mixed};
    }
    assert_int_equal(mk_ranked_sort(&arena, list, COUNT, NULL), MK_OK);
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(list[i].rank, i / 100);
        assert_int_equal(list[i].id, i % 100 * 3 + i / 100);
    }
    mk_arena_free(&arena);
}

/* ---- payloads ---- */

static void payload_value(mk_str stored, const char *expected)
{
    mk_arena arena;
    mk_payload payload;
    mk_err err;
    mk_arena_init(&arena, &mk_alloc_default);
    mk_payload_init(&payload, &mk_alloc_default);
    mk_payload_begin(&payload, &arena);
    mk_payload_member_start(&payload, "v");
    assert_int_equal(mk_payload_json(&payload, stored, &err), MK_OK);
    const mk_code rc = mk_payload_end(&payload, &err);
    if (expected == NULL) {
        assert_int_equal(rc, MK_E_INVALID_ARG);
    } else {
        assert_int_equal(rc, MK_OK);
        mk_buf_c(&payload.text, '\0');
        assert_string_equal(payload.text.p, expected);
    }
    mk_payload_free(&payload);
    mk_arena_free(&arena);
}

static void test_schema__stored_json_is_copied_and_only_its_floats_rounded(void **state)
{
    (void)state;
    payload_value(MK_STR("{}"), "{\"v\":{}}");
    payload_value(MK_STR("{\"a\":[true,false,null,1,\"1.5e9 \\\" .\"]}"),
                  "{\"v\":{\"a\":[true,false,null,1,\"1.5e9 \\\" .\"]}}");
    payload_value(MK_STR("[0.0009765625,1e-05,1e+16,-1e-10,5]"),
                  "{\"v\":[0.000976562,1e-05,1e+16,-0.0,5]}");
    payload_value(MK_STR("{\"a.b\":1.0}"), "{\"v\":{\"a.b\":1.0}}");
    payload_value(MK_STR("1e-05"), "{\"v\":1e-05}");
    payload_value(MK_STR("{\"a\":NaN}"), NULL);
    payload_value(MK_STR("[-Infinity]"), NULL);
    payload_value(MK_STR("\"NaN Infinity\""), "{\"v\":\"NaN Infinity\"}");
}

static void test_schema__a_float_that_is_not_finite_fails_the_payload(void **state)
{
    (void)state;
    mk_arena arena;
    mk_payload payload;
    mk_err err;
    mk_arena_init(&arena, &mk_alloc_default);
    mk_payload_init(&payload, &mk_alloc_default);
    mk_payload_begin(&payload, &arena);
    mk_payload_member_start(&payload, "v");
    mk_payload_float(&payload, __builtin_inf());
    assert_int_equal(mk_payload_end(&payload, &err), MK_E_INVALID_ARG);
    mk_payload_begin(&payload, &arena);
    mk_payload_member_start(&payload, "v");
    mk_payload_float(&payload, 1.0 / 3.0);
    assert_int_equal(mk_payload_end(&payload, &err), MK_OK);
    mk_buf_c(&payload.text, '\0');
    assert_string_equal(payload.text.p, "{\"v\":0.333333333}");
    mk_payload_free(&payload);
    mk_arena_free(&arena);
}

static void test_schema__gaps_are_listed_by_field(void **state)
{
    (void)state;
    mk_payload payload;
    mk_buf out;
    mk_arena arena;
    mk_arena_init(&arena, &mk_alloc_default);
    mk_payload_init(&payload, &mk_alloc_default);
    mk_buf_init(&out, &mk_alloc_default);
    mk_payload_begin(&payload, &arena);
    const mk_span span = {.start = 10, .end = 20, .total = 343, .truncated = true, .next = 20};
    mk_payload_page_gaps(&payload, "rows", &span);
    mk_payload_gap(&payload, "edges", MK_GAP_SUBLIST, 1, 2);
    mk_payload_gaps_json(&out, &payload);
    mk_buf_c(&out, '\0');
    assert_string_equal(out.p, "{\"edges\":[{\"reason\":\"sublist\",\"shown\":1,\"total\":2}],"
                               "\"rows\":[{\"reason\":\"offset\",\"shown\":10,\"total\":343},"
                               "{\"reason\":\"page\",\"shown\":10,\"total\":343}]}");
    mk_buf_free(&out);
    mk_payload_free(&payload);
    mk_arena_free(&arena);
}

static void test_schema__members_of_stored_objects_are_found_in_their_text(void **state)
{
    (void)state;
    static const struct {
        const char *object, *raw; /* NULL: absent */
    } cases[] = {
        {"{}", NULL},
        {"{\"name\":1}", "1"},
        {"{\"a\":{\"name\":2},\"name\":\"x,}\\\"\"}", "\"x,}\\\"\""},
        {"{\"a\":\"\\\\\",\"name\":[1,{\"b\":2}],\"z\":0}", "[1,{\"b\":2}]"},
        {"{\"a\":\"name\",\"names\":3}", NULL},
        /* Never read past the end, whatever the text. */
        {"", NULL}, {"{", NULL}, {"{\"", NULL}, {"{\"name\"", NULL}, {"{\"name\":", NULL},
        {"{\"a\":]]]]", NULL}, {"{\"name\":\"\\", "\"\\"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mk_str raw;
        const bool found = mk_canon_member(mk_str_of(cases[i].object), "name", &raw);
        assert_int_equal(found, cases[i].raw != NULL);
        if (found)
            assert_true(mk_str_eq(raw, mk_str_of(cases[i].raw)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schema__the_table_is_sorted_and_complete),
        cmocka_unit_test(test_schema__every_example_and_every_default_passes_its_own_check),
        cmocka_unit_test(test_schema__a_near_name_is_found),
        cmocka_unit_test(test_schema__defaults_are_added_at_the_top_only),
        cmocka_unit_test(test_schema__integral_floats_and_iso_times_become_integers),
        cmocka_unit_test(test_schema__integers_of_any_size_are_kept_where_they_may_be),
        cmocka_unit_test(test_schema__wrong_values_are_refused_with_their_path),
        cmocka_unit_test(test_schema__the_shortest_path_wins_and_unknown_beats_missing),
        cmocka_unit_test(test_schema__hostile_text_does_not_reach_an_error_unclean),
        cmocka_unit_test(test_schema__a_window_must_not_be_empty),
        cmocka_unit_test(test_schema__argument_and_result_schemas_say_what_the_table_says),
        cmocka_unit_test(test_schema__every_operator_has_schemas_and_a_readable_manual),
        cmocka_unit_test(test_schema__quotients_are_rounded_once),
        cmocka_unit_test(test_schema__the_window_fraction_is_of_the_extent),
        cmocka_unit_test(test_schema__a_call_is_refused_strictly_above_its_ceiling),
        cmocka_unit_test(test_schema__cursors_are_read_as_the_reference_reads_them),
        cmocka_unit_test(test_schema__spans_are_slices),
        cmocka_unit_test(test_schema__ranked_entities_sort_by_rank_then_uid),
        cmocka_unit_test(test_schema__stored_json_is_copied_and_only_its_floats_rounded),
        cmocka_unit_test(test_schema__a_float_that_is_not_finite_fails_the_payload),
        cmocka_unit_test(test_schema__gaps_are_listed_by_field),
        cmocka_unit_test(test_schema__members_of_stored_objects_are_found_in_their_text),
    };
    return cmocka_run_group_tests_name("schema", tests, NULL, NULL);
}

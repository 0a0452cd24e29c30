/* test_tool_schemas.c — what clients are told about tools: every schema of every set of tools, walked, and
 * weighed.
 *
 * Goal: no big client refuses or drops a tool of ours, and the list leaves a model room to think. Method: the
 * table of serving spec 3.3 as code, run over the default set, the set with --write, each group and each tool
 * alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/canon.h"
#include "serve/tool.h"

#define LIST_MAX ((size_t)48 * 1024)  /* decisions.md 7 */
#define ENTRY_MAX ((size_t)3 * 1024)  /* serving spec, 2.7 */
#define JOINED_MAX 64                 /* "mcp__merkhet__" and a name: more is refused by model APIs */

typedef struct rig {
    mk_service *service;
    mk_tools tools;
    mk_arena arena;
    mk_buf text;
} rig;

/* A list needs no store. */
static void rig_open(rig *r, const char *only, bool write, size_t result_bytes)
{
    const mk_service_options options = {
        .dir = "/nonexistent/store", .write = write, .result_bytes = result_bytes};
    mk_err err;
    mk_arena_init(&r->arena, &mk_alloc_default);
    mk_buf_init(&r->text, &mk_alloc_default);
    if (mk_service_open(&mk_alloc_default, &options, &r->service, &err) != MK_OK ||
        mk_tools_open(&mk_alloc_default, r->service, only, &r->tools, &err) != MK_OK)
        fail_msg("%s", err.message);
}

static void rig_close(rig *r)
{
    mk_tools_close(&r->tools);
    mk_service_close(r->service);
    mk_buf_free(&r->text);
    mk_arena_free(&r->arena);
}

/* The entry of a tool; its text is in r->text until the next. */
static const mk_json *entry_of(rig *r, const mk_tool *tool)
{
    mk_json *tree = NULL;
    mk_err err;
    mk_buf_clear(&r->text);
    tool->entry(tool, &r->text);
    if (r->text.failed || mk_json_parse(&r->arena, mk_buf_view(&r->text), NULL, &tree, &err) != MK_OK)
        fail_msg("the entry of %s is no JSON", tool->name);
    return tree;
}

/* ---- the walk ---- */

static bool is_one_of(mk_str word, const char *const *words)
{
    for (; *words != NULL; words++)
        if (mk_str_eq(word, mk_str_of(*words)))
            return true;
    return false;
}

static bool says(mk_str text, mk_str part)
{
    return part.n <= text.n && memmem(text.p, text.n, part.p, part.n) != NULL;
}

/* Providers drop keywords, so each bound must stand in the words beside it. */
static bool bound_ok(const mk_json *node, const char *keyword)
{
    const mk_json *bound = mk_json_get(node, keyword), *about = mk_json_get(node, "description");
    char number[32];
    if (bound == NULL)
        return true;
    const int n =
        snprintf(number, sizeof number, "%lld", bound->kind == MK_JSON_INT ? (long long)bound->i : 0);
    return bound->kind == MK_JSON_INT && about != NULL && says(about->text, (mk_str){number, (size_t)n});
}

static bool enum_ok(const mk_json *node, mk_str type)
{
    const mk_json *values = mk_json_get(node, "enum");
    if (values == NULL)
        return true;
    if (!mk_str_eq(type, MK_STR("string")) || values->kind != MK_JSON_ARRAY || values->n == 0 ||
        values->n > 30)
        return false;
    for (size_t i = 0; i < values->n; i++)
        if (values->items[i].kind != MK_JSON_STRING || values->items[i].text.n == 0 ||
            values->items[i].text.n > 40)
            return false;
    return true;
}

static bool name_ok(mk_str name)
{
    for (size_t k = 0; k < name.n; k++)
        if (!((name.p[k] >= 'a' && name.p[k] <= 'z') ||
              (k > 0 && (name.p[k] == '_' || (name.p[k] >= '0' && name.p[k] <= '9')))))
            return false;
    return name.n > 0 && name.n <= 40;
}

static const char *problem_of(const mk_json *node, int depth);

static const char *object_problem(const mk_json *node, int depth)
{
    const mk_json *properties = mk_json_get(node, "properties"),
                  *closed = mk_json_get(node, "additionalProperties");
    const mk_json *required = mk_json_get(node, "required");
    if (depth > 3)
        return "objects are nested deeper than 3";
    if (closed == NULL || closed->kind != MK_JSON_BOOL || closed->b)
        return "an object is not closed";
    if (properties == NULL || properties->kind != MK_JSON_OBJECT || properties->n > 25 ||
        (depth > 1 && properties->n == 0))
        return "an object has no properties, or more than 25";
    if (required != NULL && (required->kind != MK_JSON_ARRAY || required->n == 0))
        return "required is an empty list";
    for (size_t i = 0; required != NULL && i < required->n; i++)
        if (mk_json_get_n(properties, required->items[i].text) == NULL)
            return "what is required is no property";
    for (size_t i = 0; i < properties->n; i++) {
        const mk_str name = properties->members[i].key;
        if (!name_ok(name) || mk_str_eq(name, MK_STR("args")))
            return "a property has a name that it cannot have";
        const char *inner = problem_of(&properties->members[i].value, depth + 1);
        if (inner != NULL)
            return inner;
    }
    return NULL;
}

/* What of the table a schema breaks; NULL: nothing. */
static const char *problem_of(const mk_json *node, int depth)
{
    static const char *const types[] = {"string", "integer", "number", "boolean", "array", "object", NULL};
    static const char *const words[] = {
        "type",     "properties", "required", "additionalProperties", "items", "enum", "minimum", "maximum",
        "minItems", "maxItems",   "default",  "description",          NULL};
    if (node->kind != MK_JSON_OBJECT)
        return "a schema is no object";
    for (size_t i = 0; i < node->n; i++)
        if (!is_one_of(node->members[i].key, words))
            return "a keyword is outside the subset";
    const mk_json *type = mk_json_get(node, "type"), *items = mk_json_get(node, "items");
    if (type == NULL || type->kind != MK_JSON_STRING || !is_one_of(type->text, types))
        return "a node has no type, or several";
    if (!enum_ok(node, type->text))
        return "enum is for 1 to 30 short strings";
    if (!bound_ok(node, "minimum") || !bound_ok(node, "maximum") || !bound_ok(node, "minItems") ||
        !bound_ok(node, "maxItems"))
        return "a bound is no integer, or not in the words beside it";
    if (mk_str_eq(type->text, MK_STR("array")) != (items != NULL))
        return "a list has one schema for its items, and nothing else has";
    const char *inner = items != NULL ? problem_of(items, depth) : NULL;
    if (inner == NULL && mk_str_eq(type->text, MK_STR("object")))
        inner = object_problem(node, depth);
    return inner;
}

/* Open at every level, and silent about errors: a client that validates would hide them otherwise.
 * Source: 2.5, 3.4. */
static void walk_output(const mk_json *node, const char *tool)
{
    const mk_json *properties = mk_json_get(node, "properties");
    if (mk_json_get(node, "additionalProperties") != NULL || mk_json_get(node, "enum") != NULL)
        fail_msg("%s: the schema of its result is not open", tool);
    for (size_t i = 0; properties != NULL && i < properties->n; i++) {
        assert_false(mk_str_eq(properties->members[i].key, MK_STR("error")) ||
                     mk_str_eq(properties->members[i].key, MK_STR("isError")));
        walk_output(&properties->members[i].value, tool);
    }
}

static bool hint(const mk_json *annotations, const char *name)
{
    const mk_json *value = mk_json_get(annotations, name);
    if (value == NULL || value->kind != MK_JSON_BOOL)
        fail_msg("the hint %s is missing", name);
    return value->b;
}

static void check_entry(rig *r, const mk_tool *tool)
{
    const mk_json *entry = entry_of(r, tool), *about = mk_json_get(entry, "description"),
                  *output = mk_json_get(entry, "outputSchema");
    const mk_json *annotations = mk_json_get(entry, "annotations"),
                  *input = mk_json_get(entry, "inputSchema");
    const size_t n = strlen(tool->name);
    mk_buf text;
    mk_err err;
    if (n < 3 || n > 40 || strlen("mcp__merkhet__") + n > JOINED_MAX)
        fail_msg("%s: the name is too short or too long", tool->name);
    assert_true(name_ok(mk_str_of(tool->name)));
    assert_true(mk_str_eq(mk_json_get(entry, "name")->text, mk_str_of(tool->name)));
    assert_true(mk_json_get(entry, "title")->text.n > 0);
    if (about->text.n < 20 || about->text.n > 500)
        fail_msg("%s: the description has %zu bytes", tool->name, about->text.n);
    assert_true(mk_str_eq(mk_json_get(input, "type")->text, MK_STR("object")));
    const char *problem = problem_of(input, 1);
    if (problem != NULL)
        fail_msg("%s: %s", tool->name, problem);
    assert_true(mk_str_eq(mk_json_get(output, "type")->text, MK_STR("object")));
    walk_output(output, tool->name);
    mk_buf_init(&text, &mk_alloc_default);
    assert_int_equal(mk_canon_tree(&text, &r->arena, output, &err), MK_OK);
    assert_true(text.n <= 300);
    mk_buf_free(&text);
    assert_non_null(mk_json_get(annotations, "title"));
    assert_int_equal(hint(annotations, "readOnlyHint"), !tool->writes);
    assert_int_equal(hint(annotations, "idempotentHint"), !tool->writes);
    assert_false(hint(annotations, "destructiveHint"));
    assert_false(hint(annotations, "openWorldHint"));
}

static void check_set(const char *only, bool write)
{
    rig r;
    rig_open(&r, only, write, 0);
    assert_true(r.tools.count > 0);
    for (size_t i = 0; i < r.tools.count; i++) {
        check_entry(&r, r.tools.list[i]);
        if (i > 0)
            assert_true(strcmp(r.tools.list[i - 1]->name, r.tools.list[i]->name) < 0);
    }
    rig_close(&r);
}

/* ---- tests ---- */

static void test_tool_schemas__every_set_of_tools_stays_in_what_all_clients_accept(void **state)
{
    rig r;
    (void)state;
    check_set(NULL, false);
    check_set(NULL, true);
    rig_open(&r, NULL, true, 0);
    for (size_t i = 0; i < r.tools.count; i++)
        check_set(r.tools.list[i]->name, true);
    rig_close(&r);
    size_t count;
    const mk_operator *const *ops = mk_operators(&count);
    for (size_t i = 0; i < count; i++)
        check_set(ops[i]->group, false);
}

/* Silence of the walk means something only if it notices each of these. */
static void test_tool_schemas__the_walk_notices_what_clients_refuse(void **state)
{
#define ROOT(properties)                                                                                     \
    "{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{" properties "}}"
#define DEEP(inner) "\"o\":{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{" inner "}}"
    static const char *const good[] = {
        ROOT(""), ROOT("\"a\":{\"type\":\"string\"}"),
        ROOT("\"k\":{\"type\":\"integer\",\"minimum\":1,\"description\":\"at least 1\"}"),
        ROOT("\"l\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}"),
        ROOT(DEEP(DEEP("\"a\":{\"type\":\"string\"}")))};
    static const char *const bad[] = {
        "[]",
        "true",
        "{}",
        "{\"type\":\"object\",\"properties\":{}}",
        "{\"type\":\"object\",\"additionalProperties\":true,\"properties\":{}}",
        "{\"type\":\"object\",\"additionalProperties\":false}",
        "{\"$schema\":\"x\",\"type\":\"object\",\"additionalProperties\":false,\"properties\":{}}",
        "{\"type\":\"object\",\"additionalProperties\":false,\"required\":[],\"properties\":{}}",
        "{\"type\":\"object\",\"additionalProperties\":false,\"required\":[\"b\"],\"properties\":{\"a\":{"
        "\"type\":\"string\"}}}",
        ROOT("\"a\":{}"),
        ROOT("\"a\":true"),
        ROOT("\"a\":{\"type\":[\"string\",\"null\"]}"),
        ROOT("\"a\":{\"type\":\"null\"}"),
        ROOT("\"a\":{\"type\":\"array\"}"),
        ROOT("\"a\":{\"type\":\"array\",\"items\":[{\"type\":\"string\"}]}"),
        ROOT("\"a\":{\"type\":\"string\",\"items\":{\"type\":\"string\"}}"),
        ROOT("\"a\":{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{}}"),
        ROOT("\"a\":{\"anyOf\":[{\"type\":\"string\"}]}"),
        ROOT("\"a\":{\"type\":\"string\",\"format\":\"date\"}"),
        ROOT("\"a\":{\"type\":\"string\",\"const\":\"x\"}"),
        ROOT("\"a\":{\"type\":\"integer\",\"enum\":[1]}"),
        ROOT("\"a\":{\"type\":\"string\",\"enum\":[]}"),
        ROOT("\"a\":{\"type\":\"string\",\"enum\":[1]}"),
        ROOT("\"a\":{\"type\":\"integer\",\"minimum\":1}"),
        ROOT("\"a\":{\"type\":\"integer\",\"maximum\":9,\"description\":\"small\"}"),
        ROOT("\"args\":{\"type\":\"string\"}"),
        ROOT("\"A\":{\"type\":\"string\"}"),
        ROOT("\"_a\":{\"type\":\"string\"}"),
        ROOT("\"\":{\"type\":\"string\"}"),
        ROOT(DEEP(DEEP(DEEP("\"a\":{\"type\":\"string\"}"))))};
    mk_arena arena;
    mk_json *tree;
    (void)state;
    mk_arena_init(&arena, &mk_alloc_default);
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_int_equal(mk_json_parse(&arena, mk_str_of(good[i]), NULL, &tree, NULL), MK_OK);
        if (problem_of(tree, 1) != NULL)
            fail_msg("%s: %s", good[i], problem_of(tree, 1));
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(mk_json_parse(&arena, mk_str_of(bad[i]), NULL, &tree, NULL), MK_OK);
        if (problem_of(tree, 1) == NULL)
            fail_msg("not noticed: %s", bad[i]);
    }
    mk_arena_free(&arena);
}

static void test_tool_schemas__the_default_set_is_complete(void **state)
{
    static const char *const beyond[] = {"ask", "describe_dataset", "plan_check", "plan_run",
                                         "verify_answer"};
    static const char *const writing[] = {"graph_assert", "graph_correct", "graph_retract"};
    size_t count, found = 0, written = 0;
    rig r;
    (void)state;
    const mk_operator *const *ops = mk_operators(&count);
    rig_open(&r, NULL, true, 0);
    for (size_t i = 0; i < r.tools.count; i++) {
        for (size_t k = 0; k < count; k++)
            found += strcmp(r.tools.list[i]->name, ops[k]->name) == 0;
        for (size_t k = 0; k < sizeof beyond / sizeof *beyond; k++)
            found += strcmp(r.tools.list[i]->name, beyond[k]) == 0;
        for (size_t k = 0; k < sizeof writing / sizeof *writing; k++)
            written += strcmp(r.tools.list[i]->name, writing[k]) == 0 && r.tools.list[i]->writes;
    }
    assert_int_equal(found, count + sizeof beyond / sizeof *beyond);
    assert_int_equal(written, sizeof writing / sizeof *writing);
    assert_int_equal(r.tools.count, found + written);
    rig_close(&r);
}

/* Two operators are one tool each for what others split into a dozen, and are larger for it. Their size may
 * not grow. */
static size_t entry_max(const char *name)
{
    return strcmp(name, "aggregate_events") == 0 ? (size_t)4900
           : strcmp(name, "compute") == 0        ? (size_t)4200
                                                 : ENTRY_MAX;
}

static void test_tool_schemas__the_list_keeps_to_its_budget(void **state)
{
    size_t all = 0, operators = 0, largest = 0;
    const char *which = "";
    rig r;
    (void)state;
    rig_open(&r, NULL, false, 0);
    for (size_t i = 0; i < r.tools.count; i++) {
        const mk_tool *tool = r.tools.list[i];
        (void)entry_of(&r, tool);
        const size_t n = r.text.n;
        if (n > entry_max(tool->name))
            fail_msg("%s has %zu bytes, at most %zu are allowed", tool->name, n, entry_max(tool->name));
        all += n + 1;
        if (mk_operator_find(mk_str_of(tool->name)) != NULL || strcmp(tool->name, "describe_dataset") == 0)
            operators += n + 1;
        if (n > largest) {
            largest = n;
            which = tool->name;
        }
    }
    print_message(
        "%zu tools that read: %zu bytes; operators and describe_dataset: %zu; the largest: %s, %zu\n",
        r.tools.count, all, operators, which, largest);
    assert_true(all <= LIST_MAX);
    rig_close(&r);
}

/* A client that caches the list must get the same bytes from the next process. */
static void test_tool_schemas__entries_are_the_same_bytes_every_time(void **state)
{
    rig a, b;
    (void)state;
    rig_open(&a, NULL, true, 0);
    rig_open(&b, NULL, true, 0);
    for (size_t i = 0; i < a.tools.count; i++) {
        (void)entry_of(&a, a.tools.list[i]);
        (void)entry_of(&b, b.tools.list[i]);
        assert_true(mk_str_eq(mk_buf_view(&a.text), mk_buf_view(&b.text)));
    }
    rig_close(&b);
    rig_close(&a);
}

/* A raised budget of results is told to the client that would cut them. Source: serving spec, 2.7. */
static void test_tool_schemas__a_raised_result_budget_is_told_and_capped(void **state)
{
    static const struct {
        size_t given;
        int64_t told;
    } table[] = {
        {MK_RESULT_BYTES, 0}, {MK_RESULT_BYTES_MIN, 0}, {100000, 100000}, {MK_RESULT_BYTES_MAX, 500000}};
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        rig r;
        rig_open(&r, "version_history", false, table[i].given);
        const mk_json *meta = mk_json_get(entry_of(&r, r.tools.list[0]), "_meta");
        assert_int_equal(meta != NULL ? mk_json_get(meta, "anthropic/maxResultSizeChars")->i : 0,
                         table[i].told);
        rig_close(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tool_schemas__every_set_of_tools_stays_in_what_all_clients_accept),
        cmocka_unit_test(test_tool_schemas__the_walk_notices_what_clients_refuse),
        cmocka_unit_test(test_tool_schemas__the_default_set_is_complete),
        cmocka_unit_test(test_tool_schemas__the_list_keeps_to_its_budget),
        cmocka_unit_test(test_tool_schemas__entries_are_the_same_bytes_every_time),
        cmocka_unit_test(test_tool_schemas__a_raised_result_budget_is_told_and_capped),
    };
    return cmocka_run_group_tests_name("tool_schemas", tests, NULL, NULL);
}

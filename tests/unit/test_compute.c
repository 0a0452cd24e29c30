/* test_compute.c — compute, without a store: it reads none.
 *
 * The spec's vectors with their digests, each function's declared shape against what it returns, what is
 * refused and which argument is named, and the corners that random arguments seldom meet.
 * Source: operators spec, 8 and 10.3; O-17 to O-20, O-30, O-32, O-33. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../support/testalloc.h"
#include "base/sha256.h"
#include "op/operators.h"
#include "op/schema.h"

typedef struct bench {
    mk_arena arena;
    mk_payload payload;
    mk_err err;
    size_t row_budget;            /* 0: the page that the arguments ask for */
    const atomic_bool *cancelled; /* NULL: never */
} bench;

static int setup(void **state)
{
    bench *b = calloc(1, sizeof *b);
    assert_non_null(b);
    mk_arena_init(&b->arena, &mk_alloc_default);
    mk_payload_init(&b->payload, &mk_alloc_default);
    *state = b;
    return 0;
}

static int teardown(void **state)
{
    bench *b = *state;
    mk_payload_free(&b->payload);
    mk_arena_free(&b->arena);
    free(b);
    return 0;
}

/* ---- calling ---- */

static mk_code run(bench *b, const mk_json *args, mk_arena *arena)
{
    mk_guard guard;
    mk_run call = {.arena = arena, .args = args, .guard = &guard, .out = &b->payload};
    mk_code rc;
    call.page = b->row_budget > 0
                    ? (mk_page){.limit = (int64_t)b->row_budget, .whole = true}
                    : mk_page_from((mk_str){NULL, 0}, mk_arg_i64(args, "limit"));
    mk_payload_begin(&b->payload, arena);
    mk_guard_init(&guard, NULL, 0, b->cancelled);
    MK_TRY(rc, mk_operator_compute.run(&call, &b->err));
    rc = mk_payload_end(&b->payload, &b->err);
out:
    return rc;
}

static mk_json *parse(bench *b, mk_str text)
{
    mk_json *tree;
    if (mk_json_parse(&b->arena, text, NULL, &tree, &b->err) != MK_OK)
        fail_msg("%.*s: %s", MK_STR_ARG(text), b->err.message);
    return tree;
}

static mk_json *checked(bench *b, const char *args)
{
    mk_json *tree = parse(b, mk_str_of(args));
    if (mk_args_check(&mk_operator_compute, &b->arena, tree, &b->err) != MK_OK)
        fail_msg("%s: %s", args, b->err.message);
    return tree;
}

static mk_code compute(bench *b, const char *args) { return run(b, checked(b, args), &b->arena); }

static void check(bench *b, const char *args, const char *expected)
{
    const mk_code rc = compute(b, args);
    if (rc != MK_OK)
        fail_msg("%s: %s %s", args, mk_code_name(rc), b->err.message);
    if (!mk_str_eq(mk_buf_view(&b->payload.text), mk_str_of(expected)))
        fail_msg("%s\ngot      %.*s\nexpected %s", args, (int)b->payload.text.n, b->payload.text.p,
                 expected);
}

/* The value alone. */
static void check_value(bench *b, const char *args, const char *expected)
{
    char whole[700];
    snprintf(whole, sizeof whole, "{\"truncated\":false,\"value\":%s}", expected);
    check(b, args, whole);
}

/* All rows, of which there are `n`. */
static void check_rows(bench *b, const char *args, int n, const char *expected)
{
    char whole[700];
    snprintf(whole, sizeof whole, "{\"cursor\":null,\"rows\":[%s],\"rows_total\":%d,\"truncated\":false}",
             expected, n);
    check(b, args, whole);
}

/* Refused, and the argument at fault is named. */
static void check_refused(bench *b, const char *args, const char *arg)
{
    char path[64];
    snprintf(path, sizeof path, "\"path\":[\"%s\"]", arg);
    const mk_code rc = compute(b, args);
    if (rc != MK_E_INVALID_ARG || strcmp(b->err.extra, path) != 0)
        fail_msg("%s: %s %s %s, expected %s", args, mk_code_name(rc), rc != MK_OK ? b->err.message : "",
                 rc != MK_OK ? b->err.extra : "", path);
}

/* ---- the spec's vectors ---- */

#define TIES "[{\"u\":\"it's\",\"n\":1},{\"u\":\"x\",\"n\":1},{\"n\":1,\"u\":\"x\"}]"
#define MIXED                                                                                      \
    "[{\"n\":1,\"u\":\"b\"},{\"n\":1,\"u\":\"a\"},{\"n\":null,\"u\":\"c\"},{\"n\":true,\"u\":\"q\"}," \
    "{\"n\":-1,\"u\":\"z\"}]"

static const char *const vectors[][2] = {
    {"{\"fn\":\"mean\",\"input\":[1,2]}", "a0c52f363471116afe51b1e4a9ca8bd91c873b4ee86830a771e98d28989ed174"},
    {"{\"fn\":\"sum\",\"input\":[]}", "0542fd8047ddac0ee1c7e648c9daaa24a9ca870f763c622ef6c7a7d077777ab9"},
    {"{\"fn\":\"sum\",\"input\":[1,2.0]}",
     "e4f45fda4dff521f1986a1435bf6b40f63d1ff90be084167b0e3ef9be0ad6cf0"},
    {"{\"fn\":\"ratio\",\"x\":1,\"y\":3}",
     "0b22959b4c93c2147f7d494f3004757e0f9b3da65ae3daf9d9d6e6d230df80c6"},
    {"{\"fn\":\"ratio\",\"x\":4611686018427387904,\"y\":3}",
     "b280d5f60ac5f1f95282cebd229c3e52b890a5d6a76cbee84dd54b664bc23889"},
    {"{\"fn\":\"ratio\",\"x\":-0.0,\"y\":5}",
     "342f41e8039222640ca186212aa450e2e2792d5deff6ee4d45845d82c461bc59"},
    {"{\"fn\":\"median\",\"input\":[3,1.5,2,1]}",
     "616986b63d514558953643367dad55be69ed2241cbc4c8d74ea14e3f2d5d43fd"},
    {"{\"fn\":\"interval_relation\",\"a\":{\"start\":3,\"end\":5},\"b\":{\"start\":1,\"end\":3}}",
     "194e9e2b2adf7e3e9fe3899c878446194f94740dd2ce2e0c8eb54f40cb252dda"},
    {"{\"fn\":\"union\",\"input\":[\"b\",\"a\",\"b\"],\"other\":[\"c\",1]}",
     "d116eac681cc11bab9196a1a4ab0fd4c6e8ece9a7147f56bafab3abbfbbfc06b"},
    {"{\"fn\":\"topk\",\"field\":\"n\",\"pct\":50,\"input\":[{\"who\":\"a\",\"n\":3},{\"who\":\"b\",\"n\":5},"
     "{\"who\":\"c\",\"n\":3}]}",
     "1e734136e4658d02c74e1eac6a9a987dcb26e7ff7b9f700722bc09c24822564f"},
    {"{\"fn\":\"topk\",\"field\":\"n\",\"k\":9,\"input\":" TIES "}",
     "0445804523a9e37c44e1e21f3705e760773e64eaa21052ab7ed4a8400dc11b12"},
    {"{\"fn\":\"topk\",\"field\":\"n\",\"k\":9,\"input\":" MIXED "}",
     "229f65ccf04fde68b1bb82c25f765a1e8dc3bad1d07732b4a09620f6fb400d63"},
    {"{\"fn\":\"mean\",\"field\":\"v\",\"group_by\":\"g\",\"input\":[{\"g\":\"x\",\"v\":1},{\"g\":\"y\","
     "\"v\":4},"
     "{\"g\":\"x\",\"v\":2}]}",
     "088e798c753c60df540a3c30dc88d0b55ad555486aeaa7518d3b540629ca7d1e"},
    {"{\"fn\":\"count\",\"group_by\":\"g\",\"input\":[{\"g\":1},{\"g\":1.0},{\"g\":true},{\"g\":null},"
     "{\"g\":\"a\"}]}",
     "41e9c69863bd92c6ea44c4da4cd59feb41647dd8406ea15091de91561146ed70"},
    {"{\"fn\":\"join\",\"how\":\"left\",\"on\":\"src\",\"other_on\":\"dst\",\"fill\":0,\"input\":"
     "[{\"src\":\"u0\",\"count\":5},{\"src\":\"u1\",\"count\":2}],\"other\":[{\"dst\":\"u0\",\"count\":3},"
     "{\"dst\":\"u9\",\"count\":7}]}",
     "0256afaf0c7610006f32358334dc9831195c238461ec06e026b516d1bfeb580f"},
    {"{\"fn\":\"derive\",\"op\":\"concat\",\"field\":\"a\",\"value\":2,\"into\":\"c\",\"input\":[{\"a\":1.5},"
     "{\"a\":null}]}",
     "74109e3fb1b3606412d4a27b96fc5fb9a8fa5a7b15acac6a0899b49df14e8f65"},
    {"{\"fn\":\"filter\",\"cmp\":\"eq\",\"value\":1,\"input\":[true,1,1.0,2]}",
     "1e74f4f8c3fa724d13278abb5672560836a6f72e3a6c46148912cb19eaa68275"},
};

static void test_compute__gives_the_digests_of_the_specification(void **state)
{
    bench *b = *state;
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        uint8_t digest[32];
        char hex[64];
        assert_int_equal(compute(b, vectors[i][0]), MK_OK);
        mk_sha256_of(b->payload.text.p, b->payload.text.n, digest);
        mk_hex(hex, digest, sizeof digest);
        if (memcmp(hex, vectors[i][1], sizeof hex) != 0)
            fail_msg("%s: %.*s", vectors[i][0], (int)b->payload.text.n, b->payload.text.p);
    }
}

/* ---- what is declared is what comes ---- */

static bool fits(const mk_json *value, const mk_field *field);

static bool members_fit(const mk_json *object, const mk_field *fields, bool open)
{
    size_t known = 0;
    for (const mk_field *f = fields; f->name != NULL; f++) {
        const mk_json *value = mk_json_get(object, f->name);
        if (value == NULL ? !f->optional : !fits(value, f))
            return false;
        known += value != NULL;
    }
    return open || known == object->n;
}

static bool fits(const mk_json *value, const mk_field *field)
{
    if (field->type == MK_FIELD_ANY || (field->nullable && value->kind == MK_JSON_NULL))
        return true;
    switch (field->type) {
    case MK_FIELD_INTEGER: return value->kind == MK_JSON_INT;
    case MK_FIELD_NUMBER: return value->kind == MK_JSON_INT || value->kind == MK_JSON_FLOAT;
    case MK_FIELD_BOOLEAN: return value->kind == MK_JSON_BOOL;
    case MK_FIELD_STRING: return value->kind == MK_JSON_STRING;
    case MK_FIELD_LIST:
        for (size_t i = 0; value->kind == MK_JSON_ARRAY && i < value->n; i++)
            if (!fits(&value->items[i], field->item))
                return false;
        return value->kind == MK_JSON_ARRAY;
    case MK_FIELD_OBJECT:
        return value->kind == MK_JSON_OBJECT &&
               (field->members == NULL || members_fit(value, field->members, field->open));
    default: return false;
    }
}

#define ROWS "\"input\":[{\"g\":\"a\",\"v\":1},{\"g\":\"b\",\"v\":2.5},{\"g\":\"a\",\"v\":3}]"
#define BY ",\"field\":\"v\",\"group_by\":\"g\"}"

/* A call of every function, in every form whose result differs. */
static const char *const forms[] = {
    "{\"fn\":\"count\"," ROWS "}",
    "{\"fn\":\"sum\"," ROWS ",\"field\":\"v\"}",
    "{\"fn\":\"min\"," ROWS ",\"field\":\"v\"}",
    "{\"fn\":\"max\"," ROWS ",\"field\":\"v\"}",
    "{\"fn\":\"mean\"," ROWS ",\"field\":\"v\"}",
    "{\"fn\":\"median\"," ROWS ",\"field\":\"v\"}",
    "{\"fn\":\"count\"," ROWS BY,
    "{\"fn\":\"sum\"," ROWS BY,
    "{\"fn\":\"min\"," ROWS BY,
    "{\"fn\":\"max\"," ROWS BY,
    "{\"fn\":\"mean\"," ROWS BY,
    "{\"fn\":\"median\"," ROWS BY,
    "{\"fn\":\"topk\",\"k\":1," ROWS ",\"field\":\"v\"}",
    "{\"fn\":\"topk\",\"k\":1," ROWS BY,
    "{\"fn\":\"filter\",\"cmp\":\"gt\",\"value\":1," ROWS ",\"field\":\"v\"}",
    "{\"fn\":\"ratio\",\"x\":1,\"y\":2}",
    "{\"fn\":\"diff\",\"x\":1,\"y\":2}",
    "{\"fn\":\"percent\",\"x\":1,\"y\":2}",
    "{\"fn\":\"intersect\",\"input\":[1,2],\"other\":[2]}",
    "{\"fn\":\"difference\",\"input\":[1,2],\"other\":[2]}",
    "{\"fn\":\"union\",\"input\":[1,2],\"other\":[2]}",
    "{\"fn\":\"derive\",\"op\":\"add\",\"value\":1,\"into\":\"z\"," ROWS ",\"field\":\"v\"}",
    "{\"fn\":\"join\",\"on\":\"g\",\"input\":[{\"g\":1}],\"other\":[{\"g\":1,\"w\":2}]}",
    "{\"fn\":\"interval_relation\",\"a\":{\"start\":0,\"end\":1},\"b\":{\"start\":0,\"end\":1}}",
    "{\"fn\":\"compare\",\"cmp\":\"gt\",\"x\":1,\"y\":2}",
};

static void test_compute__compares_two_numbers(void **state)
{
    static const char *const cmps[] = {"eq", "ne", "lt", "le", "gt", "ge"};
    static const struct {
        const char *x, *y;
        int sign;
    } pairs[] = {{"1", "2", -1},
                 {"2", "2", 0},
                 {"2", "2.0", 0},
                 {"-1", "-2", 1},
                 {"0.1", "0.10000000000000002", -1},
                 {"123456789012345678901234567890", "123456789012345678901234567891", -1},
                 {"9007199254740993", "9007199254740992", 1}};
    bench *b = *state;
    for (size_t p = 0; p < sizeof pairs / sizeof *pairs; p++)
        for (size_t c = 0; c < 6; c++) {
            char text[200];
            const int s = pairs[p].sign;
            const bool expected[] = {s == 0, s != 0, s < 0, s <= 0, s > 0, s >= 0};
            snprintf(text, sizeof text, "{\"fn\":\"compare\",\"cmp\":\"%s\",\"x\":%s,\"y\":%s}", cmps[c],
                     pairs[p].x, pairs[p].y);
            assert_int_equal(run(b, checked(b, text), &b->arena), MK_OK);
            const mk_json *value = mk_json_get(parse(b, mk_buf_view(&b->payload.text)), "value");
            assert_int_equal(value->kind, MK_JSON_BOOL);
            if (value->b != expected[c])
                fail_msg("%s", text);
        }
    static const char *const bad[] = {"{\"fn\":\"compare\",\"x\":1,\"y\":2}",
                                      "{\"fn\":\"compare\",\"cmp\":\"contains\",\"x\":1,\"y\":2}",
                                      "{\"fn\":\"compare\",\"cmp\":\"eq\",\"x\":1}"};
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(run(b, checked(b, bad[i]), &b->arena), MK_E_INVALID_ARG);
}

static void test_compute__every_function_returns_what_it_declares(void **state)
{
    bench *b = *state;
    size_t variants = 0;
    for (const mk_variant *v = mk_operator_compute.variants; v->choice != NULL; v++)
        variants++;
    assert_int_equal(variants, sizeof forms / sizeof forms[0]); /* none is left out here */
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        const mk_json *args = checked(b, forms[i]);
        assert_int_equal(run(b, args, &b->arena), MK_OK);
        const mk_json *payload = parse(b, mk_buf_view(&b->payload.text));
        const mk_field *own = mk_operator_fields(&mk_operator_compute, args);
        assert_ptr_not_equal(own, mk_operator_compute.fields);
        if (!members_fit(payload, own, false) || !members_fit(payload, mk_operator_compute.fields, false))
            fail_msg("%s: %.*s", forms[i], (int)b->payload.text.n, b->payload.text.p);
    }
}

/* A declaration that everything fits would say nothing. */
static void test_compute__declarations_tell_functions_apart(void **state)
{
    bench *b = *state;
    const mk_json *count = checked(b, forms[0]), *by = checked(b, forms[6]), *mean_by = checked(b, forms[10]);
    assert_int_equal(run(b, by, &b->arena), MK_OK);
    const mk_json *groups = parse(b, mk_buf_view(&b->payload.text));
    assert_true(members_fit(groups, mk_operator_fields(&mk_operator_compute, by), false));
    assert_false(members_fit(groups, mk_operator_fields(&mk_operator_compute, count), false));
    assert_false(members_fit(groups, mk_operator_fields(&mk_operator_compute, mean_by), false));
}

static void test_compute__the_schema_describes_grouped_rows(void **state)
{
    bench *b = *state;
    mk_buf schema;
    mk_buf_init(&schema, &mk_alloc_default);
    assert_int_equal(mk_op_result_schema(&schema, &b->arena, &mk_operator_compute, &b->err), MK_OK);
    const mk_json *forms_of = mk_json_get(parse(b, mk_buf_view(&schema)), "anyOf");
    assert_non_null(forms_of);
    const mk_json *row = NULL;
    for (size_t i = 0; i < forms_of->n; i++)
        if (mk_str_eq(mk_json_get(&forms_of->items[i], "title")->text, MK_STR("fn: median with group_by")))
            row = mk_json_get(mk_json_get(mk_json_get(&forms_of->items[i], "properties"), "rows"), "items");
    assert_non_null(row);
    assert_null(mk_json_get(row, "additionalProperties")); /* the key's name is an argument */
    assert_non_null(mk_json_get(mk_json_get(row, "properties"), "median"));
    assert_true(mk_str_eq(mk_json_get(row, "required")->items[0].text, MK_STR("median")));
    mk_buf_free(&schema);
}

/* ---- reducers ---- */

static void test_compute__reducers_keep_the_kind_of_the_data(void **state)
{
    bench *b = *state;
    check_value(b, "{\"fn\":\"count\",\"input\":[1,null,\"a\",[]],\"field\":\"absent\"}", "4");
    check_value(b, "{\"fn\":\"min\",\"input\":[1.0,1,2]}", "1.0"); /* of equals the first */
    check_value(b, "{\"fn\":\"max\",\"input\":[1,2,2.0]}", "2");
    check_value(b, "{\"fn\":\"median\",\"input\":[1,1.0]}", "1.0");
    check_value(b, "{\"fn\":\"median\",\"input\":[3,1,2.0]}", "2.0");
    check_value(b, "{\"fn\":\"median\",\"input\":[2.0,5,2]}", "2"); /* sorted stably */
    check_value(b, "{\"fn\":\"median\",\"input\":[1,4]}", "2.5");
    check_value(b, "{\"fn\":\"mean\",\"input\":[1,2,3]}", "2");
    check_value(b, "{\"fn\":\"max\",\"input\":[9007199254740992.0,9007199254740993]}", "9007199254740993");
    check_value(b, "{\"fn\":\"sum\",\"input\":[9223372036854775807,9223372036854775807]}",
                "18446744073709551614");
    check_value(b, "{\"fn\":\"sum\",\"input\":[0.1,0.2]}", "0.3"); /* rounded on the way out */
}

static void test_compute__reducers_refuse_what_is_no_number(void **state)
{
    bench *b = *state;
    static const char *const fns[] = {"sum", "min", "max", "mean", "median"};
    static const char *const odd[] = {"true", "null", "\"1\"", "[1]", "{}", "NaN", "Infinity"};
    char args[120];
    for (size_t i = 0; i < 5; i++) {
        for (size_t k = 0; k < sizeof odd / sizeof odd[0]; k++) {
            snprintf(args, sizeof args, "{\"fn\":\"%s\",\"input\":[1,%s]}", fns[i], odd[k]);
            check_refused(b, args, "field");
        }
        snprintf(args, sizeof args, "{\"fn\":\"%s\"}", fns[i]);
        check_refused(b, args, "input");
        snprintf(args, sizeof args, "{\"fn\":\"%s\",\"input\":[{\"v\":1},{\"w\":1}],\"field\":\"v\"}",
                 fns[i]);
        check_refused(b, args, "field");
        snprintf(args, sizeof args, "{\"fn\":\"%s\",\"input\":[]}", fns[i]);
        if (i > 0)
            check_refused(b, args, "input");
    }
    check_refused(b, "{\"fn\":\"count\"}", "input");
    /* Beyond doubles there is no sum, and no way to show it. */
    assert_int_equal(compute(b, "{\"fn\":\"sum\",\"input\":[1e308,1e308]}"), MK_E_INVALID_ARG);
    assert_int_equal(compute(b, "{\"fn\":\"mean\",\"input\":[1.5e308,1.5e308]}"), MK_E_INVALID_ARG);
    check_value(b, "{\"fn\":\"mean\",\"input\":[1.5e308,1.5e308,-1.5e308]}", "5e+307");
}

/* ---- groups ---- */

static void test_compute__groups_stand_in_key_order_with_their_first_keys(void **state)
{
    bench *b = *state;
    check_rows(b,
               "{\"fn\":\"sum\",\"field\":\"v\",\"group_by\":\"g\",\"input\":[{\"g\":\"a\",\"v\":1},"
               "{\"g\":2,\"v\":1},{\"g\":true,\"v\":1},{\"g\":1.0,\"v\":1.5},{\"g\":null,\"v\":1},"
               "{\"g\":2.0,\"v\":5},{\"g\":-0.0,\"v\":1},{\"g\":0,\"v\":1}]}",
               5,
               "{\"g\":null,\"sum\":1},{\"g\":true,\"sum\":2.5},{\"g\":-0.0,\"sum\":2},{\"g\":2,\"sum\":6},"
               "{\"g\":\"a\",\"sum\":1}");
    check_refused(b, "{\"fn\":\"count\",\"group_by\":\"g\",\"input\":[{\"g\":[]}]}", "group_by");
    check_refused(b, "{\"fn\":\"count\",\"group_by\":\"g\",\"input\":[{\"h\":1}]}", "group_by");
    check_refused(b, "{\"fn\":\"count\",\"group_by\":\"g\",\"input\":[7]}", "group_by");
    check_rows(b, "{\"fn\":\"count\",\"group_by\":\"g\",\"input\":[]}", 0, "");
}

static void test_compute__a_key_called_like_the_function_is_lost(void **state)
{
    check_rows(*state, "{\"fn\":\"count\",\"group_by\":\"count\",\"input\":[{\"count\":7},{\"count\":7}]}", 1,
               "{\"count\":2}");
}

/* Each group's scratch is given up before the next, but not the digits of a result. */
static void test_compute__groups_keep_integers_of_any_size(void **state)
{
    check_rows(*state,
               "{\"fn\":\"sum\",\"field\":\"v\",\"group_by\":\"g\",\"input\":["
               "{\"g\":1,\"v\":9223372036854775807},{\"g\":1,\"v\":1},"
               "{\"g\":2,\"v\":-9223372036854775807},{\"g\":2,\"v\":-9},{\"g\":3,\"v\":0.5},"
               "{\"g\":4,\"v\":18446744073709551616},{\"g\":4,\"v\":18446744073709551616}]}",
               4,
               "{\"g\":1,\"sum\":9223372036854775808},{\"g\":2,\"sum\":-9223372036854775816},"
               "{\"g\":3,\"sum\":0.5},{\"g\":4,\"sum\":36893488147419103232}");
}

static void test_compute__only_reducers_and_topk_take_groups(void **state)
{
    static const char *const others[] = {"filter",     "ratio", "diff",   "percent", "intersect",
                                         "difference", "union", "derive", "join",    "interval_relation"};
    char args[100];
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        snprintf(args, sizeof args, "{\"fn\":\"%s\",\"group_by\":\"g\",\"x\":1,\"y\":1}", others[i]);
        check_refused(*state, args, "group_by");
    }
}

/* ---- topk ---- */

/* Rows {"n":0} to {"n":count-1}. */
static const char *topk_of(bench *b, int count, const char *rest)
{
    mk_buf text;
    mk_buf_init(&text, &mk_alloc_default);
    mk_buf_printf(&text, "{\"fn\":\"topk\",\"field\":\"n\",\"limit\":1,%s,\"input\":[", rest);
    for (int i = 0; i < count; i++)
        mk_buf_printf(&text, "%s{\"n\":%d}", i ? "," : "", i);
    mk_buf_z(&text, "]}");
    mk_buf_c(&text, '\0');
    const mk_str copy = mk_arena_copy(&b->arena, mk_buf_view(&text));
    mk_buf_free(&text);
    assert_non_null(copy.p);
    return copy.p;
}

static void test_compute__topk_cuts_at_the_exact_percentage(void **state)
{
    bench *b = *state;
    static const struct {
        int rows;
        const char *rest;
        int kept;
    } cases[] = {
        {25, "\"pct\":28", 7},        {25, "\"pct\":28.0", 7},      {1, "\"pct\":50", 1},
        {1000, "\"pct\":0.1", 1},     {1000, "\"pct\":0.3", 3},     {3000, "\"pct\":0.1", 3},
        {10, "\"pct\":1e-300", 1},    {0, "\"pct\":50", 0},         {7, "\"pct\":100", 7},
        {7, "\"pct\":99.99999", 7},   {100, "\"pct\":57.0000001", 58}, {3, "\"pct\":33.333333333333336", 2},
        {25, "\"pct\":28,\"side\":\"bottom\"", 7}, {10, "\"pct\":1e-300,\"side\":\"bottom\"", 0},
        {7, "\"pct\":100,\"side\":\"bottom\"", 7}, {3, "\"pct\":50,\"side\":\"bottom\"", 1},
        {5, "\"k\":9", 5},            {5, "\"k\":2", 2},
        {5, "\"k\":9,\"side\":\"bottom\"", 5},     {5, "\"k\":2,\"side\":\"bottom\"", 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(compute(b, topk_of(b, cases[i].rows, cases[i].rest)), MK_OK);
        const mk_json *total = mk_json_get(parse(b, mk_buf_view(&b->payload.text)), "rows_total");
        if (total->i != cases[i].kept)
            fail_msg("%d rows, %s: %d kept", cases[i].rows, cases[i].rest, (int)total->i);
    }
}

static void test_compute__topk_ranks_by_value_and_then_by_text(void **state)
{
    bench *b = *state;
    check_rows(b, "{\"fn\":\"topk\",\"field\":\"n\",\"k\":3,\"side\":\"bottom\",\"input\":" MIXED "}", 3,
               "{\"n\":true,\"u\":\"q\"},{\"n\":null,\"u\":\"c\"},{\"n\":-1,\"u\":\"z\"}");
    /* Texts are those of the floats before rounding, and of members in the order given. */
    check_rows(b,
               "{\"fn\":\"topk\",\"field\":\"n\",\"k\":2,\"input\":[{\"n\":1,\"f\":0.10000000000000002},"
               "{\"n\":1,\"f\":0.1}]}",
               2, "{\"f\":0.1,\"n\":1},{\"f\":0.1,\"n\":1}");
    check_rows(b,
               "{\"fn\":\"topk\",\"field\":\"n\",\"k\":1,\"input\":[{\"n\":1,\"a\":0},{\"a\":9,\"n\":1}]}", 1,
               "{\"a\":9,\"n\":1}");
    check_rows(b,
               "{\"fn\":\"topk\",\"field\":\"n\",\"k\":1,\"group_by\":\"g\",\"input\":[{\"g\":\"b\",\"n\":1},"
               "{\"g\":\"a\",\"n\":1},{\"g\":\"b\",\"n\":9},{\"g\":\"a\",\"n\":[5]}]}",
               2, "{\"g\":\"a\",\"n\":1},{\"g\":\"b\",\"n\":9}");
    check_rows(b,
               "{\"fn\":\"topk\",\"field\":\"n\",\"k\":2,\"input\":[{\"n\":9007199254740992.0},"
               "{\"n\":9007199254740993},{\"n\":18446744073709551616}]}",
               2, "{\"n\":18446744073709551616},{\"n\":9007199254740993}");
}

/* The best `k` come from a heap and a full ranking from the same heap emptied; both are one order. */
static void test_compute__topk_is_a_prefix_of_the_full_ranking(void **state)
{
    bench *b = *state;
    enum { N = 60 };
    mk_buf rows;
    char args[8000], previous[8000] = "";
    uint64_t seed = 5;
    mk_buf_init(&rows, &mk_alloc_default);
    for (int i = 0; i < N; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        mk_buf_printf(&rows, "%s{\"n\":%d,\"u\":%d}", i ? "," : "", (int)(seed >> 62),
                      (int)(seed >> 40 & 15));
    }
    for (int k = N; k > 0; k--) {
        snprintf(args, sizeof args, "{\"fn\":\"topk\",\"field\":\"n\",\"k\":%d,\"input\":[%.*s]}", k,
                 (int)rows.n, rows.p);
        assert_int_equal(compute(b, args), MK_OK);
        const mk_str shown = mk_buf_view(&b->payload.text);
        const char *end = strstr(shown.p, "],\"rows_total\"");
        assert_non_null(end);
        const size_t size = (size_t)(end - shown.p);
        if (k < N)
            assert_memory_equal(previous, shown.p, size);
        memcpy(previous, shown.p, size);
        mk_arena_reset(&b->arena);
    }
    mk_buf_free(&rows);
}

static void test_compute__topk_needs_one_measure_and_a_field(void **state)
{
    check_refused(*state, "{\"fn\":\"topk\",\"field\":\"n\",\"input\":[]}", "k");
    check_refused(*state, "{\"fn\":\"topk\",\"field\":\"n\",\"k\":1,\"pct\":1,\"input\":[]}", "pct");
    check_refused(*state, "{\"fn\":\"topk\",\"k\":1,\"input\":[]}", "field");
    check_refused(*state, "{\"fn\":\"topk\",\"k\":1,\"field\":\"n\"}", "input");
    check_refused(*state, "{\"fn\":\"topk\",\"k\":1,\"field\":\"n\",\"input\":[{\"m\":1}]}", "field");
}

/* ---- filter ---- */

static void test_compute__filter_compares_like_with_like(void **state)
{
    bench *b = *state;
    static const struct {
        const char *cmp, *value, *kept;
        int n;
    } cases[] = {
        {"ge", "1.5", "2,2.5", 2},
        {"lt", "1", "0,-1", 2},
        {"ne", "2.0", "0,-1,1,2.5", 4},
        {"eq", "true", "1", 1},
        {"is_null", "null", "", 0},
        {"not_null", "null", "0,-1,1,2,2.5", 5},
    };
    char args[120];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        snprintf(args, sizeof args,
                 "{\"fn\":\"filter\",\"cmp\":\"%s\",\"value\":%s,\"input\":[0,-1,1,2,2.5]}", cases[i].cmp,
                 cases[i].value);
        check_rows(b, args, cases[i].n, cases[i].kept);
    }
    check_rows(b, "{\"fn\":\"filter\",\"cmp\":\"gt\",\"value\":\"Z\",\"input\":[\"a\",\"A\",\"\xC3\xA9\"]}",
               2, "\"a\",\"\xC3\xA9\"");
    check_rows(b, "{\"fn\":\"filter\",\"cmp\":\"lt\",\"value\":[1,2],\"input\":[[1],[1,1],[1,2],[0,9,9],[]]}",
               4, "[1],[1,1],[0,9,9],[]");
    check_rows(b,
               "{\"fn\":\"filter\",\"cmp\":\"eq\",\"value\":[1,null],\"input\":[[true,null],[1.0,null,0]]}",
               1, "[true,null]");
    check_rows(
        b,
        "{\"fn\":\"filter\",\"cmp\":\"lt\",\"field\":\"a\",\"field2\":\"b\",\"input\":[{\"a\":1,\"b\":2},"
        "{\"a\":2,\"b\":2}]}",
        1, "{\"a\":1,\"b\":2}");
}

static void test_compute__contains_looks_into_texts_and_lists(void **state)
{
    bench *b = *state;
    check_rows(
        b,
        "{\"fn\":\"filter\",\"cmp\":\"contains\",\"value\":\"b\",\"input\":[\"abc\",\"\",[\"b\"],[\"abc\"],"
        "{\"b\":1},7,null]}",
        2, "\"abc\",[\"b\"]");
    check_rows(b, "{\"fn\":\"filter\",\"cmp\":\"contains\",\"value\":\"\",\"input\":[\"\",\"a\"]}", 2,
               "\"\",\"a\"");
    check_rows(b, "{\"fn\":\"filter\",\"cmp\":\"contains\",\"value\":1,\"input\":[[true],[1.0],[\"1\"]]}", 2,
               "[true],[1.0]");
    check_rows(b, "{\"fn\":\"filter\",\"cmp\":\"contains\",\"input\":[[null],[0]]}", 1, "[null]");
    check_refused(b, "{\"fn\":\"filter\",\"cmp\":\"contains\",\"value\":1,\"input\":[\"1\"]}", "value");
}

static void test_compute__filter_refuses_what_has_no_order(void **state)
{
    bench *b = *state;
    static const char *const cmps[] = {"eq", "ne", "lt", "le", "gt", "ge"};
    static const char *const apart[][2] = {
        {"\"1\"", "1"}, {"{}", "1"}, {"{}", "{}"}, {"[1]", "1"}, {"[\"a\"]", "[1]"}, {"[null]", "[1]"}};
    char args[120];
    for (size_t i = 0; i < 6; i++) {
        for (size_t k = 0; k < sizeof apart / sizeof apart[0]; k++) {
            snprintf(args, sizeof args, "{\"fn\":\"filter\",\"cmp\":\"%s\",\"value\":%s,\"input\":[%s]}",
                     cmps[i], apart[k][1], apart[k][0]);
            check_refused(b, args, "value");
        }
        snprintf(args, sizeof args, "{\"fn\":\"filter\",\"cmp\":\"%s\",\"input\":[1]}", cmps[i]);
        check_refused(b, args, "cmp");
        snprintf(args, sizeof args, "{\"fn\":\"filter\",\"cmp\":\"%s\",\"input\":[]}", cmps[i]);
        check_rows(b, args, 0, ""); /* nothing is compared */
    }
    check_refused(b, "{\"fn\":\"filter\",\"input\":[]}", "cmp");
    check_refused(b, "{\"fn\":\"filter\",\"cmp\":\"eq\",\"value\":1}", "input");
    check_refused(b, "{\"fn\":\"filter\",\"cmp\":\"eq\",\"value\":1,\"field2\":\"b\",\"input\":[]}",
                  "field2");
    check_refused(b, "{\"fn\":\"filter\",\"cmp\":\"is_null\",\"field2\":\"b\",\"input\":[]}", "field2");
    check_refused(b,
                  "{\"fn\":\"filter\",\"cmp\":\"eq\",\"field\":\"a\",\"field2\":\"b\",\"input\":[{\"a\":1}]}",
                  "field2");
    check_refused(b, "{\"fn\":\"filter\",\"cmp\":\"eq\",\"value\":1,\"field\":\"a\",\"input\":[3]}", "field");
}

/* ---- sets ---- */

static void test_compute__sets_show_the_representation_of_the_reference(void **state)
{
    bench *b = *state;
    static const struct {
        const char *fn, *input, *other, *rows;
        int n;
    } cases[] = {
        {"union", "[1,2]", "[1.0,3.0]", "3.0,1,2", 3},
        {"union", "[1.0]", "[true,1]", "1.0", 1},
        {"difference", "[1.0,2,\"a\",null]", "[true]", "null,2,\"a\"", 3},
        {"intersect", "[1,2]", "[1.0,2.0]", "1.0,2.0", 2},     /* equal sizes: of other */
        {"intersect", "[1]", "[1.0,2.0]", "1", 1},             /* of the smaller */
        {"intersect", "[1,2,3]", "[true]", "true", 1},
        {"intersect", "[1,1,1,2,2]", "[1.0,2.0,9]", "1,2", 2}, /* sizes of sets, not of lists */
        {"intersect", "[]", "[]", "", 0},
    };
    char args[160];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        snprintf(args, sizeof args, "{\"fn\":\"%s\",\"input\":%s,\"other\":%s}", cases[i].fn, cases[i].input,
                 cases[i].other);
        check_rows(b, args, cases[i].n, cases[i].rows);
    }
    check_rows(b, "{\"fn\":\"intersect\",\"field\":\"a\",\"other_field\":\"b\",\"input\":[{\"a\":1}],"
                  "\"other\":[{\"b\":1}]}",
               1, "1");
    check_rows(b, "{\"fn\":\"intersect\",\"field\":\"a\",\"other_field\":\"\",\"input\":[{\"a\":1}],"
                  "\"other\":[{\"a\":1}]}",
               1, "1");
}

static void test_compute__sets_have_scalar_members(void **state)
{
    bench *b = *state;
    check_refused(b, "{\"fn\":\"union\",\"input\":[[]],\"other\":[]}", "input");
    check_refused(b, "{\"fn\":\"union\",\"input\":[],\"other\":[{}]}", "other");
    check_refused(b, "{\"fn\":\"union\",\"input\":[]}", "other");
    check_refused(b, "{\"fn\":\"union\",\"other\":[]}", "input");
    check_refused(b, "{\"fn\":\"union\",\"field\":\"a\",\"input\":[1],\"other\":[]}", "field");
    check_refused(
        b, "{\"fn\":\"union\",\"field\":\"a\",\"other_field\":\"b\",\"input\":[],\"other\":[{\"a\":1}]}",
        "other_field");
}

/* ---- derive ---- */

#define DERIVE(op_, rest_) "{\"fn\":\"derive\",\"op\":\"" op_ "\",\"into\":\"z\",\"field\":\"a\"," rest_ "}"

static void test_compute__derive_adds_the_last_member(void **state)
{
    bench *b = *state;
    check_rows(b, DERIVE("add", "\"field2\":\"b\",\"input\":[{\"b\":2,\"a\":1},{\"a\":0.5,\"b\":1}]"), 2,
               "{\"a\":1,\"b\":2,\"z\":3},{\"a\":0.5,\"b\":1,\"z\":1.5}");
    check_rows(b, DERIVE("sub", "\"value\":9,\"input\":[{\"a\":-9223372036854775808}]"), 1,
               "{\"a\":-9223372036854775808,\"z\":-9223372036854775817}");
    check_rows(b, DERIVE("mul", "\"value\":0.5,\"input\":[{\"a\":3}]"), 1, "{\"a\":3,\"z\":1.5}");
    check_rows(b, DERIVE("div", "\"value\":-2,\"input\":[{\"a\":7},{\"a\":8}]"), 2,
               "{\"a\":7,\"z\":-3.5},{\"a\":8,\"z\":-4}");
    check_rows(b, DERIVE("floordiv", "\"value\":0.1,\"input\":[{\"a\":5.0},{\"a\":-0.0}]"), 2,
               "{\"a\":5.0,\"z\":49.0},{\"a\":-0.0,\"z\":-0.0}");
    check_rows(b, DERIVE("concat", "\"field2\":\"b\",\"input\":[{\"a\":\"it's\",\"b\":[\"x\",true]}]"), 1,
               "{\"a\":\"it's\",\"b\":[\"x\",true],\"z\":\"it's|['x', True]\"}");
    check_rows(b, DERIVE("add", "\"value\":1,\"input\":[]"), 0, "");
}

static void test_compute__derive_names_the_side_that_is_wrong(void **state)
{
    bench *b = *state;
    check_refused(b, DERIVE("add", "\"value\":1,\"input\":[{\"a\":\"x\"}]"), "field");
    check_refused(b, DERIVE("add", "\"value\":true,\"input\":[{\"a\":1}]"), "value");
    check_refused(b, DERIVE("add", "\"field2\":\"b\",\"input\":[{\"a\":1,\"b\":null}]"), "field2");
    check_refused(b, DERIVE("add", "\"field2\":\"b\",\"input\":[{\"a\":1}]"), "field2");
    check_refused(b, DERIVE("add", "\"value\":1,\"input\":[{\"b\":1}]"), "field");
    check_refused(b, DERIVE("add", "\"value\":1,\"input\":[{\"a\":1,\"z\":1}]"), "into");
    check_refused(b, DERIVE("add", "\"value\":1,\"input\":[1]"), "input");
    check_refused(b, DERIVE("add", "\"value\":1,\"field2\":\"b\",\"input\":[]"), "field2");
    check_refused(b, DERIVE("add", "\"input\":[]"), "field2");
    check_refused(b, DERIVE("div", "\"value\":0,\"input\":[{\"a\":1}]"), "value");
    check_refused(b, DERIVE("div", "\"field2\":\"b\",\"input\":[{\"a\":1,\"b\":-0.0}]"), "field2");
    check_refused(b, DERIVE("floordiv", "\"value\":0.0,\"input\":[{\"a\":1}]"), "value");
    check_refused(b, "{\"fn\":\"derive\",\"op\":\"add\",\"field\":\"a\",\"value\":1,\"input\":[]}", "into");
    check_refused(b, "{\"fn\":\"derive\",\"into\":\"z\",\"field\":\"a\",\"value\":1,\"input\":[]}", "op");
    check_refused(b, "{\"fn\":\"derive\",\"op\":\"add\",\"into\":\"z\",\"value\":1,\"input\":[]}", "field");
}

/* ---- join ---- */

#define JOIN(rest_, l_, r_) "{\"fn\":\"join\",\"on\":\"k\"," rest_ "\"input\":[" l_ "],\"other\":[" r_ "]}"

static void test_compute__join_stands_in_key_order(void **state)
{
    bench *b = *state;
    check_rows(b, JOIN("", "{\"k\":2},{\"k\":\"a\"},{\"k\":null},{\"k\":1.5},{\"k\":9}",
                       "{\"k\":\"a\"},{\"k\":1.5},{\"k\":null},{\"k\":2.0}"),
               4,
               "{\"k\":null,\"r_k\":null},{\"k\":1.5,\"r_k\":1.5},{\"k\":2,\"r_k\":2.0},"
               "{\"k\":\"a\",\"r_k\":\"a\"}");
    check_rows(b, JOIN("\"other_prefix\":\"o.\",\"other_on\":\"j\",", "{\"k\":1,\"v\":1}",
                       "{\"v\":5,\"j\":1}"),
               1, "{\"k\":1,\"o.j\":1,\"o.v\":5,\"v\":1}");
    check_rows(b, JOIN("\"other_on\":\"\",", "{\"k\":1}", "{\"k\":1}"), 1, "{\"k\":1,\"r_k\":1}");
}

static void test_compute__join_fills_every_column_of_the_other_side(void **state)
{
    bench *b = *state;
    check_rows(b, JOIN("\"how\":\"left\",\"fill\":{\"x\":0.5},", "{\"k\":1},{\"k\":2}",
                       "{\"k\":2,\"b\":1},{\"k\":3,\"a\":1},{\"a\":1,\"k\":4,\"c\":1}"),
               2,
               "{\"k\":1,\"r_a\":{\"x\":0.5},\"r_b\":{\"x\":0.5},\"r_c\":{\"x\":0.5},\"r_k\":{\"x\":0.5}},"
               "{\"k\":2,\"r_b\":1,\"r_k\":2}");
    check_rows(b, JOIN("\"how\":\"left\",", "{\"k\":1}", ""), 1, "{\"k\":1,\"r_k\":null}");
    check_rows(b, JOIN("\"how\":\"left\",\"other_on\":\"j\",", "{\"k\":1}", "{\"j\":5,\"v\":1}"), 1,
               "{\"k\":1,\"r_j\":null,\"r_v\":null}");
}

static void test_compute__join_refuses_keys_twice_and_names_twice(void **state)
{
    bench *b = *state;
    check_refused(b, JOIN("", "{\"k\":1},{\"k\":true}", ""), "on");
    check_refused(b, JOIN("", "", "{\"k\":0},{\"k\":-0.0}"), "other_on");
    check_refused(b, JOIN("", "{\"k\":1},{\"k\":1}", "{\"k\":1},{\"k\":1}"),
                  "other_on"); /* first looked at */
    check_refused(b, JOIN("", "{\"k\":[]}", ""), "on");
    check_refused(b, JOIN("", "{}", ""), "on");
    check_refused(b, JOIN("", "", "7"), "other_on");
    check_refused(b, "{\"fn\":\"join\",\"input\":[],\"other\":[]}", "on");
    check_refused(b, "{\"fn\":\"join\",\"on\":\"k\",\"input\":[]}", "other");
    check_refused(b, "{\"fn\":\"join\",\"on\":\"k\",\"other\":[]}", "input");
    check_refused(b, JOIN("", "{\"k\":1,\"r_v\":1}", "{\"k\":1,\"v\":1}"), "other_prefix");
    check_refused(b, JOIN("\"how\":\"left\",", "{\"k\":1,\"r_v\":1}", "{\"k\":2,\"v\":1}"), "other_prefix");
    /* No partner has that member, and no row is filled. */
    check_rows(b, JOIN("", "{\"k\":1,\"r_v\":1},{\"k\":3,\"r_v\":1}", "{\"k\":2,\"v\":1},{\"k\":1}"), 1,
               "{\"k\":1,\"r_k\":1,\"r_v\":1}");
}

/* ---- two numbers, two intervals ---- */

static void test_compute__pairs_of_numbers(void **state)
{
    bench *b = *state;
    check_value(b, "{\"fn\":\"ratio\",\"x\":6,\"y\":3}", "2");
    check_value(b, "{\"fn\":\"percent\",\"x\":1,\"y\":4}", "25");
    check_value(b, "{\"fn\":\"percent\",\"x\":9223372036854775807,\"y\":100}", "9223372036854775807");
    check_value(b, "{\"fn\":\"percent\",\"x\":0.5,\"y\":2}", "25.0");
    check_value(b, "{\"fn\":\"diff\",\"x\":1,\"y\":3}", "-2");
    check_value(b, "{\"fn\":\"diff\",\"x\":1,\"y\":0.5}", "0.5");
    check_value(b, "{\"fn\":\"diff\",\"x\":-9223372036854775808,\"y\":1}", "-9223372036854775809");
    check_refused(b, "{\"fn\":\"ratio\",\"x\":1,\"y\":0}", "y");
    check_refused(b, "{\"fn\":\"percent\",\"x\":1,\"y\":-0.0}", "y");
    check_refused(b, "{\"fn\":\"diff\",\"x\":1}", "y");
    check_refused(b, "{\"fn\":\"diff\",\"y\":1}", "x");
}

static void test_compute__each_interval_relation_has_its_converse(void **state)
{
    bench *b = *state;
    static const char *const pairs[][2] = {{"before", "after"},           {"meets", "met_by"},
                                           {"overlaps", "overlapped_by"}, {"starts", "started_by"},
                                           {"during", "contains"},        {"finishes", "finished_by"},
                                           {"equals", "equals"}};
    bool seen[7] = {false};
    for (int as = 0; as < 4; as++)
        for (int ae = as + 1; ae < 5; ae++)
            for (int bs = 0; bs < 4; bs++)
                for (int be = bs + 1; be < 5; be++) {
                    mk_str names[2];
                    for (int k = 0; k < 2; k++) {
                        char args[160];
                        snprintf(args, sizeof args,
                                 "{\"fn\":\"interval_relation\",\"%c\":{\"start\":%d,\"end\":%d},\"%c\":{"
                                 "\"start\":%d,"
                                 "\"end\":%d}}",
                                 k ? 'b' : 'a', as, ae, k ? 'a' : 'b', bs, be);
                        assert_int_equal(compute(b, args), MK_OK);
                        names[k] = mk_json_get(parse(b, mk_buf_view(&b->payload.text)), "value")->text;
                    }
                    int found = -1;
                    for (int i = 0; i < 7; i++)
                        for (int k = 0; k < 2; k++)
                            if (mk_str_eq(names[0], mk_str_of(pairs[i][k])) &&
                                mk_str_eq(names[1], mk_str_of(pairs[i][!k])))
                                found = i;
                    assert_true(found >= 0);
                    seen[found] = true;
                    mk_arena_reset(&b->arena);
                }
    for (int i = 0; i < 7; i++)
        assert_true(seen[i]);
}

static void test_compute__intervals_start_before_they_end(void **state)
{
    bench *b = *state;
#define SPAN(name, s, e) "\"" name "\":{\"start\":" s ",\"end\":" e "}"
    check_refused(b, "{\"fn\":\"interval_relation\"," SPAN("a", "1", "1") "," SPAN("b", "0", "1") "}", "a");
    check_refused(b, "{\"fn\":\"interval_relation\"," SPAN("a", "0", "1") "," SPAN("b", "2", "1") "}", "b");
    check_refused(b, "{\"fn\":\"interval_relation\"," SPAN("a", "0", "1") "}", "b");
    check_refused(b, "{\"fn\":\"interval_relation\"," SPAN("b", "0", "1") "}", "a");
    check_value(b,
                "{\"fn\":\"interval_relation\"," SPAN("a", "-9223372036854775808",
                                                      "9223372036854775807") "," SPAN("b", "0", "1") "}",
                "\"contains\"");
}

/* ---- pages and bounds ---- */

static void test_compute__a_cut_page_says_so(void **state)
{
    bench *b = *state;
    mk_buf gaps;
    mk_buf_init(&gaps, &mk_alloc_default);
    check(b, "{\"fn\":\"union\",\"limit\":2,\"input\":[3,1,2],\"other\":[]}",
          "{\"cursor\":\"2\",\"rows\":[1,2],\"rows_total\":3,\"truncated\":true}");
    mk_payload_gaps_json(&gaps, &b->payload);
    assert_true(mk_str_eq(mk_buf_view(&gaps),
                          MK_STR("{\"rows\":[{\"reason\":\"page\",\"shown\":2,\"total\":3}]}")));
    b->row_budget = 3;
    check_rows(b, "{\"fn\":\"union\",\"limit\":2,\"input\":[3,1,2],\"other\":[]}", 3, "1,2,3");
    mk_buf_clear(&gaps);
    mk_payload_gaps_json(&gaps, &b->payload);
    assert_true(mk_str_eq(mk_buf_view(&gaps), MK_STR("{}")));
    b->row_budget = 2;
    assert_int_equal(compute(b, "{\"fn\":\"union\",\"input\":[3,1,2],\"other\":[]}"), MK_E_LIMIT);
    mk_buf_free(&gaps);
}

/* ROWS of 3,000 keys {"k":i,"v":i % 7}. */
static void put_long_list(mk_buf *out, const char *name)
{
    mk_buf_printf(out, ",\"%s\":[", name);
    for (int i = 0; i < 3000; i++)
        mk_buf_printf(out, "%s{\"k\":%d,\"v\":%d}", i ? "," : "", i, i % 7);
    mk_buf_c(out, ']');
}

static const char *const long_calls[] = {
    "\"fn\":\"derive\",\"op\":\"concat\",\"field\":\"k\",\"value\":1,\"into\":\"z\",\"limit\":10000",
    "\"fn\":\"derive\",\"op\":\"div\",\"field\":\"k\",\"value\":7,\"into\":\"z\",\"limit\":10000",
    "\"fn\":\"join\",\"on\":\"k\",\"how\":\"left\",\"limit\":10000",
    "\"fn\":\"union\",\"field\":\"k\",\"limit\":10000",
    "\"fn\":\"mean\",\"field\":\"v\",\"group_by\":\"k\"",
    "\"fn\":\"topk\",\"field\":\"v\",\"k\":5,\"group_by\":\"k\"",
    "\"fn\":\"topk\",\"field\":\"v\",\"pct\":90,\"limit\":10000",
    "\"fn\":\"filter\",\"field\":\"v\",\"cmp\":\"ge\",\"value\":0,\"limit\":10000",
};

static const mk_json *long_call(bench *b, const char *head)
{
    mk_buf text;
    mk_buf_init(&text, &mk_alloc_default);
    mk_buf_printf(&text, "{%s", head);
    put_long_list(&text, "input");
    put_long_list(&text, "other");
    mk_buf_z(&text, "}");
    mk_buf_c(&text, '\0');
    const mk_json *args = checked(b, text.p);
    mk_buf_free(&text);
    return args;
}

static void test_compute__a_call_that_is_not_wanted_ends(void **state)
{
    bench *b = *state;
    const atomic_bool yes = true;
    for (size_t i = 0; i < sizeof long_calls / sizeof long_calls[0]; i++) {
        const mk_json *args = long_call(b, long_calls[i]);
        b->cancelled = NULL;
        assert_int_equal(run(b, args, &b->arena), MK_OK);
        b->cancelled = &yes;
        assert_int_equal(run(b, args, &b->arena), MK_E_CANCELLED);
    }
}

/* Whatever the size of the budget, a call gives its result or runs out of memory, and leaks nothing. */
static void test_compute__a_budget_of_memory_is_kept(void **state)
{
    bench *b = *state;
    for (size_t i = 0; i < sizeof long_calls / sizeof long_calls[0]; i++) {
        const mk_json *args = long_call(b, long_calls[i]);
        mk_code rc = MK_E_NOMEM;
        for (uint64_t n = 1; rc != MK_OK; n++) {
            testalloc ta;
            mk_arena room;
            testalloc_init(&ta);
            mk_arena_init(&room, &ta.hook);
            testalloc_fail(&ta, n, true);
            rc = run(b, args, &room);
            assert_true(rc == MK_OK || rc == MK_E_NOMEM);
            mk_arena_free(&room);
            assert_true(testalloc_is_clean(&ta));
            testalloc_free(&ta);
            assert_true(n < 1000);
        }
        mk_arena_reset(&b->arena);
    }
}

/* Beyond 2^53 neighbours share their nearest doubles; these are all one double, and would be one slot. */
static void test_compute__keys_of_any_size_stay_apart(void **state)
{
    bench *b = *state;
    enum { KEYS = 20000 };
    mk_buf text;
    mk_buf_init(&text, &mk_alloc_default);
    mk_buf_z(&text, "{\"fn\":\"union\",\"limit\":1,\"other\":[],\"input\":[");
    for (int i = 0; i < KEYS; i++)
        mk_buf_printf(&text, "%s1000000000000000000000000000000000000%05d", i ? "," : "", i);
    mk_buf_z(&text, "]}");
    mk_buf_c(&text, '\0');
    check(b, text.p,
          "{\"cursor\":\"1\",\"rows\":[100000000000000000000000000000000000000000],\"rows_total\":20000,"
          "\"truncated\":true}");
    mk_buf_free(&text);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_compute__gives_the_digests_of_the_specification),
        TEST(test_compute__every_function_returns_what_it_declares),
        TEST(test_compute__compares_two_numbers),
        TEST(test_compute__declarations_tell_functions_apart),
        TEST(test_compute__the_schema_describes_grouped_rows),
        TEST(test_compute__reducers_keep_the_kind_of_the_data),
        TEST(test_compute__reducers_refuse_what_is_no_number),
        TEST(test_compute__groups_stand_in_key_order_with_their_first_keys),
        TEST(test_compute__a_key_called_like_the_function_is_lost),
        TEST(test_compute__groups_keep_integers_of_any_size),
        TEST(test_compute__only_reducers_and_topk_take_groups),
        TEST(test_compute__topk_cuts_at_the_exact_percentage),
        TEST(test_compute__topk_ranks_by_value_and_then_by_text),
        TEST(test_compute__topk_is_a_prefix_of_the_full_ranking),
        TEST(test_compute__topk_needs_one_measure_and_a_field),
        TEST(test_compute__filter_compares_like_with_like),
        TEST(test_compute__contains_looks_into_texts_and_lists),
        TEST(test_compute__filter_refuses_what_has_no_order),
        TEST(test_compute__sets_show_the_representation_of_the_reference),
        TEST(test_compute__sets_have_scalar_members),
        TEST(test_compute__derive_adds_the_last_member),
        TEST(test_compute__derive_names_the_side_that_is_wrong),
        TEST(test_compute__join_stands_in_key_order),
        TEST(test_compute__join_fills_every_column_of_the_other_side),
        TEST(test_compute__join_refuses_keys_twice_and_names_twice),
        TEST(test_compute__pairs_of_numbers),
        TEST(test_compute__each_interval_relation_has_its_converse),
        TEST(test_compute__intervals_start_before_they_end),
        TEST(test_compute__a_cut_page_says_so),
        TEST(test_compute__a_call_that_is_not_wanted_ends),
        TEST(test_compute__a_budget_of_memory_is_kept),
        TEST(test_compute__keys_of_any_size_stay_apart),
    };
    return cmocka_run_group_tests_name("compute", tests, NULL, NULL);
}

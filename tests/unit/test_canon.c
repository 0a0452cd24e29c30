/* test_canon.c — canonical text to the byte: the tables of the specs, the records of the reference's
 * own logs, and errors as JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/canon.h"
#include "base/sha256.h"

/* Lines of each log that are compared; the first ones already hold every shape. */
#define LINES_PER_LOG 200

static void check_canon(const char *text, const char *want)
{
    mk_arena arena;
    mk_buf out;
    mk_err err;
    mk_arena_init(&arena, &mk_alloc_default);
    mk_buf_init(&out, &mk_alloc_default);
    if (mk_canon_text(&out, &arena, mk_str_of(text), NULL, &err) != MK_OK) {
        print_error("%s: %s\n", text, err.message);
        fail();
    }
    mk_buf_c(&out, '\0');
    assert_string_equal(out.p, want);
    mk_buf_free(&out);
    mk_arena_free(&arena);
}

static void test_canon__the_tables_of_the_spec_hold(void **state)
{
    (void)state;
    check_canon("{\"b\":1,\"a\":{\"z\":[1,2.50,\"x\"],\"y\":null},\"10\":1,\"9\":2}",
                "{\"10\":1,\"9\":2,\"a\":{\"y\":null,\"z\":[1,2.5,\"x\"]},\"b\":1}");
    check_canon("[1e5, 1E+2, -0, 1.0, 0.10]", "[100000.0,100.0,0,1.0,0.1]");
    check_canon("{\"\\ud83d\\ude00\":1,\"\\uffff\":2}", "{\"\uffff\":2,\"\U0001F600\":1}");
    check_canon("[1e15,9999999999999998.0,1e16,0.0001,0.00001,1.5e300,5e-324,-0.0,0e5]",
                "[1000000000000000.0,9999999999999998.0,1e+16,0.0001,1e-05,1.5e+300,5e-324,-0.0,0.0]");
    check_canon("[NaN,Infinity,-Infinity,1e400]", "[NaN,Infinity,-Infinity,Infinity]");
    check_canon("[ true , false , null , [ ] , { } ]", "[true,false,null,[],{}]");
}

static void test_canon__integers_of_any_size_are_unharmed(void **state)
{
    (void)state;
    check_canon("[9223372036854775807,-9223372036854775808,9223372036854775808,"
                "-123456789012345678901234567890]",
                "[9223372036854775807,-9223372036854775808,9223372036854775808,"
                "-123456789012345678901234567890]");
}

static void test_canon__only_what_must_be_escaped_is(void **state)
{
    (void)state;
    check_canon("\"\\u0000\\u0001\\b\\t\\n\\u000b\\f\\r\\u001F\\\"\\\\\\/\\u007f\\u2028\\u2029\\u00e9\"",
                "\"\\u0000\\u0001\\b\\t\\n\\u000b\\f\\r\\u001f\\\"\\\\/\x7F\u2028\u2029\u00e9\"");
    check_canon("\"a long run of plain text, then \\\" and as much plain text again\"",
                "\"a long run of plain text, then \\\" and as much plain text again\"");
}

static void test_canon__duplicates_and_empty_names_sort(void **state)
{
    (void)state;
    check_canon("{\"ab\":1,\"a\":2,\"\":3,\"ab\":4}", "{\"\":3,\"a\":2,\"ab\":4}");
}

static void check_digest(const char *text, const char *want)
{
    uint8_t digest[32];
    char hex[65] = {0};
    check_canon(text, text);
    mk_sha256_of(text, strlen(text), digest);
    mk_hex(hex, digest, sizeof digest);
    assert_string_equal(hex, want);
}

static void test_canon__digests_of_the_spec_come_out(void **state)
{
    (void)state;
    check_digest("{}", "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a");
    check_digest("[]", "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945");
    check_digest("0.1", "14be4b45f18e0d8c67b4f719b5144eee88497e413709d11d85b096d8e2346310");
    check_digest("{\"\u00e9\":\"\u00fc\"}",
                 "7ab44b65251d851ae53c921c1aec83b09b135bcf2c26bcfa8cdb3568229d52b8");
    check_digest("{\"cursor\":null,\"rows\":[],\"rows_total\":0,\"truncated\":false}",
                 "5aa6671c762a729801a2c98a87dbc41230f4c93b1bea0c82c8f37f6bf2535c6c");
}

/* Members in falling order, so that every merge of the sort has work to do. */
static void test_canon__many_members_are_sorted(void **state)
{
    (void)state;
    const int count = 1000;
    mk_buf text, want, out;
    mk_arena arena;
    mk_err err;
    mk_arena_init(&arena, &mk_alloc_default);
    mk_buf_init(&text, &mk_alloc_default);
    mk_buf_init(&want, &mk_alloc_default);
    mk_buf_init(&out, &mk_alloc_default);
    for (int i = 0; i < count; i++) {
        const int name = (i * 7919) % count; /* a permutation: 7919 and 1000 share no factor */
        mk_buf_printf(&text, "%c\"%04d\":{\"b\":%d,\"a\":[]}", i == 0 ? '{' : ',', name, name);
        mk_buf_printf(&want, "%c\"%04d\":{\"a\":[],\"b\":%d}", i == 0 ? '{' : ',', i, i);
    }
    mk_buf_c(&text, '}');
    mk_buf_c(&want, '}');
    assert_int_equal(mk_canon_text(&out, &arena, mk_buf_view(&text), NULL, &err), MK_OK);
    assert_true(mk_str_eq(mk_buf_view(&out), mk_buf_view(&want)));
    mk_buf_free(&text);
    mk_buf_free(&want);
    mk_buf_free(&out);
    mk_arena_free(&arena);
}

static void test_canon__trees_of_every_depth_are_written(void **state)
{
    (void)state;
    char text[1100];
    for (size_t depth = 1; depth <= 128; depth += 1) {
        size_t n = 0;
        for (size_t i = 0; i < depth; i++)
            n += (size_t)snprintf(text + n, sizeof text - n, i % 2 ? "[1," : "{\"a\":");
        n += (size_t)snprintf(text + n, sizeof text - n, "0.5");
        for (size_t i = depth; i-- > 0;)
            n += (size_t)snprintf(text + n, sizeof text - n, i % 2 ? "]" : "}");
        check_canon(text, text);
    }
}

static void check_log(const char *path)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *line = NULL;
    size_t size = 0;
    int lines = 0;
    mk_arena arena;
    mk_buf out;
    mk_arena_init(&arena, &mk_alloc_default);
    mk_buf_init(&out, &mk_alloc_default);
    for (; lines < LINES_PER_LOG; lines++) {
        const ssize_t n = getline(&line, &size, file);
        if (n <= 0)
            break;
        const mk_str want = {line, (size_t)n - (line[n - 1] == '\n')};
        mk_err err;
        mk_buf_clear(&out);
        assert_int_equal(mk_canon_text(&out, &arena, want, NULL, &err), MK_OK);
        if (!mk_str_eq(mk_buf_view(&out), want)) {
            print_error("%s, line %d: %.*s\n", path, lines + 1, MK_STR_ARG(mk_buf_view(&out)));
            fail();
        }
    }
    assert_true(lines > 0);
    free(line);
    fclose(file);
    mk_buf_free(&out);
    mk_arena_free(&arena);
}

static void test_canon__records_of_the_reference_are_canonical_already(void **state)
{
    (void)state;
    const char *data = getenv("MK_SHARED_DATA");
    char pattern[4096];
    glob_t found;
    if (data == NULL) {
        print_message("skipped: MK_SHARED_DATA is not set\n");
        skip();
    }
    snprintf(pattern, sizeof pattern, "%s/golden/small-*.eventlog.jsonl", data);
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++)
        check_log(found.gl_pathv[i]);
    globfree(&found);
}

static void test_canon__round9_reaches_every_float_and_nothing_else(void **state)
{
    (void)state;
    mk_arena arena;
    mk_json *value;
    mk_buf out;
    mk_err err;
    const mk_str text = MK_STR("{\"a\":[0.3333333333333333,{\"b\":0.30000000000000004,\"i\":7}],"
                               "\"c\":-1e-10,\"d\":\"0.3333333333333333\",\"e\":[],\"f\":2.0}");
    mk_arena_init(&arena, &mk_alloc_default);
    mk_buf_init(&out, &mk_alloc_default);
    assert_int_equal(mk_json_parse(&arena, text, NULL, &value, &err), MK_OK);
    assert_true(mk_json_round9(value));
    assert_int_equal(mk_canon_tree(&out, &arena, value, &err), MK_OK);
    mk_buf_c(&out, '\0');
    assert_string_equal(out.p, "{\"a\":[0.333333333,{\"b\":0.3,\"i\":7}],\"c\":-0.0,"
                               "\"d\":\"0.3333333333333333\",\"e\":[],\"f\":2.0}");
    mk_buf_free(&out);
    mk_arena_free(&arena);
}

/* 100 levels, more than one C frame of the walk holds. */
static void test_canon__round9_reaches_deep_floats_and_refuses_infinities(void **state)
{
    (void)state;
    mk_json nodes[101] = {{.kind = MK_JSON_NULL}};
    for (size_t i = 0; i < 100; i++)
        nodes[i] = (mk_json){.kind = MK_JSON_ARRAY, .n = 1, .items = &nodes[i + 1]};
    nodes[100] = (mk_json){.kind = MK_JSON_FLOAT, .d = 1.0 / 3};
    assert_true(mk_json_round9(&nodes[0]));
    assert_true(nodes[100].d == 0.333333333);
    nodes[100].d = INFINITY;
    assert_false(mk_json_round9(&nodes[0]));
    nodes[100].d = NAN;
    assert_false(mk_json_round9(&nodes[100]));
}

static void check_err(const mk_err *err, const char *want)
{
    mk_buf out;
    mk_buf_init(&out, &mk_alloc_default);
    mk_err_json(&out, err);
    mk_buf_c(&out, '\0');
    assert_false(out.failed);
    assert_string_equal(out.p, want);
    mk_buf_free(&out);
}

static void test_canon__errors_have_one_shape(void **state)
{
    (void)state;
    mk_err err;
    mk_fail(&err, MK_E_INVALID_ARG, "invalid interval: [%d, %d)", 2, 1);
    check_err(&err, "{\"details\":{\"retry\":\"after_fix\"},\"error\":\"E_INVALID_ARG\","
                    "\"message\":\"invalid interval: [2, 1)\"}");
    mk_err_path(&err, "ops[%d].vt_e", 3);
    mk_err_hint(&err, "swap the two, or leave out \"vt_e\"");
    mk_err_offset(&err, 0);
    mk_err_reason(&err, "empty");
    mk_err_retry(&err, MK_RETRY_NEVER);
    check_err(&err, "{\"details\":{\"hint\":\"swap the two, or leave out \\\"vt_e\\\"\",\"offset\":0,"
                    "\"path\":\"ops[3].vt_e\",\"reason\":\"empty\",\"retry\":\"never\"},"
                    "\"error\":\"E_INVALID_ARG\",\"message\":\"invalid interval: [2, 1)\"}");
}

static void set_extra(mk_err *err, const char *members)
{
    mk_err_extra(err, members, strlen(members));
}

static void test_canon__extra_details_are_sorted_in(void **state)
{
    (void)state;
    mk_err err;
    mk_fail(&err, MK_E_COST, "too dear");
    mk_err_path(&err, "here");
    mk_err_retry(&err, MK_RETRY_AS_IS);
    set_extra(&err, "\"estimate\":12.5,\"known\":[\"a\"],\"zone\":null");
    check_err(&err, "{\"details\":{\"estimate\":12.5,\"known\":[\"a\"],\"path\":\"here\","
                    "\"retry\":\"as_is\",\"zone\":null},\"error\":\"E_COST\",\"message\":\"too dear\"}");
    /* A name of ours among them does not make two members of one name. */
    mk_fail(&err, MK_E_COST, "too dear");
    set_extra(&err, "\"retry\":1");
    check_err(&err, "{\"details\":{\"retry\":\"after_fix\"},\"error\":\"E_COST\","
                    "\"message\":\"too dear\"}");
    /* What is not JSON is left out rather than passed on. */
    mk_fail(&err, MK_E_COST, "too dear");
    set_extra(&err, "\"a\":");
    check_err(&err, "{\"details\":{\"retry\":\"after_fix\"},\"error\":\"E_COST\","
                    "\"message\":\"too dear\"}");
}

static void test_canon__out_of_memory_shows_as_internal(void **state)
{
    (void)state;
    mk_err err;
    assert_int_equal(mk_fail_nomem(&err), MK_E_NOMEM);
    mk_buf out;
    mk_buf_init(&out, &mk_alloc_default);
    mk_err_json(&out, &err);
    mk_buf_c(&out, '\0');
    assert_non_null(strstr(out.p, "\"error\":\"E_INTERNAL\""));
    assert_non_null(strstr(out.p, "\"reason\":\"no_memory\""));
    mk_buf_free(&out);
}

/* ---- out of memory ---- */

static void *failing_resize(void *ctx, void *p, size_t old_size, size_t new_size)
{
    int *left = ctx;
    (void)old_size;
    if (new_size == 0) {
        free(p);
        return NULL;
    }
    return (*left)-- > 0 ? realloc(p, new_size) : NULL;
}

static void test_canon__every_failed_allocation_is_reported(void **state)
{
    (void)state;
    const mk_str text = MK_STR("{\"b\":{\"z\":1,\"a\":\"\\n\"},\"a\":0.5}");
    int refused = 0;
    for (int first = 0;; first++) {
        int left = first;
        const mk_alloc alloc = {failing_resize, &left};
        mk_arena arena;
        mk_buf out;
        mk_err err;
        mk_arena_init(&arena, &alloc);
        mk_buf_init(&out, &alloc);
        const mk_code rc = mk_canon_text(&out, &arena, text, NULL, &err);
        mk_buf_free(&out);
        mk_arena_free(&arena);
        if (rc == MK_OK)
            break;
        assert_int_equal(rc, MK_E_NOMEM);
        refused++;
    }
    assert_true(refused >= 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_canon__the_tables_of_the_spec_hold),
        cmocka_unit_test(test_canon__integers_of_any_size_are_unharmed),
        cmocka_unit_test(test_canon__only_what_must_be_escaped_is),
        cmocka_unit_test(test_canon__duplicates_and_empty_names_sort),
        cmocka_unit_test(test_canon__digests_of_the_spec_come_out),
        cmocka_unit_test(test_canon__many_members_are_sorted),
        cmocka_unit_test(test_canon__trees_of_every_depth_are_written),
        cmocka_unit_test(test_canon__records_of_the_reference_are_canonical_already),
        cmocka_unit_test(test_canon__round9_reaches_every_float_and_nothing_else),
        cmocka_unit_test(test_canon__round9_reaches_deep_floats_and_refuses_infinities),
        cmocka_unit_test(test_canon__errors_have_one_shape),
        cmocka_unit_test(test_canon__extra_details_are_sorted_in),
        cmocka_unit_test(test_canon__out_of_memory_shows_as_internal),
        cmocka_unit_test(test_canon__every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests_name("canon", tests, NULL, NULL);
}

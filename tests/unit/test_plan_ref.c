/* test_plan_ref.c — references: what is one, and what it leads to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/canon.h"
#include "plan/ref.h"

static void test_plan_ref__paths_are_read(void **state)
{
    (void)state;
    mk_ref ref;
    assert_int_equal(mk_ref_parse(MK_STR("s12.rows[*].edges[0].src"), false, &ref, NULL), MK_OK);
    assert_true(mk_str_eq(ref.step, MK_STR("s12")));
    assert_int_equal(ref.count, 3);
    assert_int_equal(ref.segments[0].index, MK_REF_ALL);
    assert_int_equal(ref.segments[1].index, MK_REF_AT);
    assert_int_equal(ref.segments[1].at, 0);
    assert_int_equal(ref.segments[2].index, MK_REF_NO_INDEX);
    assert_int_equal(mk_ref_parse(MK_STR("s1"), true, &ref, NULL), MK_OK);
    assert_int_equal(ref.count, 0);
    assert_int_equal(mk_ref_parse(MK_STR("s1._a9"), false, &ref, NULL), MK_OK);
}

/* Source: agent spec, 19.8. */
static void test_plan_ref__everything_else_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "", "s1", "s1.", "s1..n", "S1.n", "s.n", "1.n", "s1.rows[-1]", "s1.rows[0][1]", "s1.rows[",
        "s1.rows[]", "s1.rows[0", "s1.rows[*].e[*]", "s1.a-b", "s1.n ", " s1.n", "s1.n\n", "s1.9a",
        "s1.\xc3\xa9", "s1.n.", "s1.rows[99999999999999999999]", "s1.rows[0]x", "s1[0]",
        "s1.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        mk_ref ref;
        mk_err err;
        if (mk_ref_parse(mk_str_of(bad[i]), false, &ref, &err) != MK_E_SCHEMA)
            fail_msg("'%s' was taken", bad[i]);
        assert_in_range(err.offset, 0, strlen(bad[i]));
    }
    mk_ref ref;
    assert_int_equal(mk_ref_parse((mk_str){"s1.n\0x", 6}, false, &ref, NULL), MK_E_SCHEMA);
}

static void test_plan_ref__only_an_object_with_one_member_is_a_reference(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool is, string;
    } cases[] = {{"{\"$ref\":\"s1.n\"}", true, true},
                 {"{\"$ref\":7}", true, false},
                 {"{\"$ref\":\"s1.n\",\"x\":1}", false, false},
                 {"{\"ref\":\"s1.n\"}", false, false},
                 {"\"s1.n\"", false, false},
                 {"{}", false, false}};
    mk_arena arena;
    mk_arena_init(&arena, &mk_alloc_default);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mk_json *value;
        mk_str text;
        assert_int_equal(mk_json_parse(&arena, mk_str_of(cases[i].text), NULL, &value, NULL), MK_OK);
        assert_int_equal(mk_ref_of(value, &text), cases[i].is);
        if (cases[i].is)
            assert_int_equal(text.p != NULL, cases[i].string);
    }
    mk_arena_free(&arena);
}

#define OUTPUT                                                                                     \
    "{\"rows\":[{\"u\":\"a\",\"e\":[{\"s\":\"x\"}]},{\"u\":\"b\",\"e\":[{\"s\":\"y\"}]}],\"n\":7,"     \
    "\"z\":null,\"none\":[]}"

static mk_code resolve(mk_arena *arena, const char *path, mk_buf *out, mk_err *err)
{
    mk_ref ref;
    mk_json *payload;
    const mk_json *value;
    assert_int_equal(mk_json_parse(arena, MK_STR(OUTPUT), NULL, &payload, NULL), MK_OK);
    assert_int_equal(mk_ref_parse(mk_str_of(path), false, &ref, err), MK_OK);
    const mk_code rc = mk_ref_resolve(&ref, payload, arena, &value, err);
    mk_buf_clear(out);
    if (rc == MK_OK)
        assert_int_equal(mk_canon_tree(out, arena, value, NULL), MK_OK);
    mk_buf_c(out, '\0');
    return rc;
}

/* Source: agent spec, 19.8. */
static void test_plan_ref__paths_lead_where_the_spec_says(void **state)
{
    (void)state;
    static const struct {
        const char *path, *value; /* NULL: refused */
    } cases[] = {{"s1.n", "7"},
                 {"s1.rows[1].u", "\"b\""},
                 {"s1.rows[*].u", "[\"a\",\"b\"]"},
                 {"s1.rows[*].e[0].s", "[\"x\",\"y\"]"},
                 {"s1.rows[*]", "[{\"e\":[{\"s\":\"x\"}],\"u\":\"a\"},{\"e\":[{\"s\":\"y\"}],\"u\":\"b\"}]"},
                 {"s1.none[*].u", "[]"},
                 {"s1.z", "null"},
                 {"s1.rows[2]", NULL},
                 {"s1.none[0].u", NULL},
                 {"s1.z.q", NULL},
                 {"s1.n[0]", NULL},
                 {"s1.rows.u", NULL},
                 {"s1.rows[*].nope", NULL},
                 {"s1.nope", NULL}};
    mk_arena arena;
    mk_buf out;
    mk_err err;
    mk_arena_init(&arena, &mk_alloc_default);
    mk_buf_init(&out, &mk_alloc_default);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const mk_code rc = resolve(&arena, cases[i].path, &out, &err);
        assert_int_equal(rc, cases[i].value != NULL ? MK_OK : MK_E_INVALID_ARG);
        if (cases[i].value != NULL)
            assert_string_equal(out.p, cases[i].value);
    }
    assert_int_equal(resolve(&arena, "s1.none[0].u", &out, &err), MK_E_INVALID_ARG);
    assert_non_null(strstr(err.hint, "found nothing"));
    assert_int_equal(resolve(&arena, "s1.rows[2]", &out, &err), MK_E_INVALID_ARG);
    assert_non_null(strstr(err.message, "index 2 is outside a list of 2"));
    mk_buf_free(&out);
    mk_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plan_ref__paths_are_read),
        cmocka_unit_test(test_plan_ref__everything_else_is_refused),
        cmocka_unit_test(test_plan_ref__only_an_object_with_one_member_is_a_reference),
        cmocka_unit_test(test_plan_ref__paths_lead_where_the_spec_says),
    };
    return cmocka_run_group_tests_name("plan_ref", tests, NULL, NULL);
}

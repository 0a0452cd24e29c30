/* test_eval_score.c — exact match and partial credit; the spec's worked examples first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "eval/score.h"

static mk_arena arena;

static mk_json *json(const char *text)
{
    mk_json *tree;
    assert_int_equal(mk_json_parse(&arena, mk_str_of(text), NULL, &tree, NULL), MK_OK);
    return tree;
}

static mk_score score(const char *kind, const char *gold, const char *pred)
{
    mk_score out;
    assert_int_equal(mk_score_answer(mk_str_of(kind), json(gold), pred != NULL ? json(pred) : NULL, &arena,
                                     &out, NULL),
                     MK_OK);
    return out;
}

/* Source: evaluation spec, 10.2. */
static void test_eval_score__worked_examples(void **state)
{
    (void)state;
    static const struct {
        const char *kind, *gold, *pred;
        double em, f1;
    } cases[] = {
        {"count", "12", "12.0000000004", 1, 1},
        {"count", "12", "\"12\"", 0, 0},
        {"value", "\"n4\"", "\"n4\"", 1, 1},
        {"entity_set", "[{\"src\":\"a\",\"dst\":\"b\"}]", "[\"b\",\"a\",\"a\"]", 1, 1},
        {"entity_set", "[\"a\",\"b\",\"c\"]", "[\"b\",\"c\",\"d\",\"e\"]", 0, 4.0 / 7},
        {"interval", "{\"t_a\":0,\"t_b\":100}", "{\"t_a\":40,\"t_b\":110}", 1, 60.0 / 110},
        {"interval", "{\"t_a\":0,\"t_b\":100}", "{\"t_a\":60,\"t_b\":160}", 0, 0.25},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const mk_score s = score(cases[i].kind, cases[i].gold, cases[i].pred);
        assert_float_equal(s.em, cases[i].em, 0);
        assert_float_equal(s.f1, cases[i].f1, 1e-12);
    }
}

static void test_eval_score__booleans_and_texts_are_no_numbers(void **state)
{
    (void)state;
    assert_float_equal(score("value", "1", "true").em, 0, 0);
    assert_float_equal(score("value", "true", "true").em, 1, 0);
    assert_float_equal(score("value", "\"3\"", "3").em, 0, 0);
    assert_float_equal(score("value", "null", "null").em, 0, 0);
    assert_float_equal(score("value", "0", NULL).em, 0, 0);
}

static void test_eval_score__large_integers_are_compared_exactly(void **state)
{
    (void)state;
    assert_float_equal(score("value", "4611686018427387904", "4611686018427387903").em, 0, 0);
    assert_float_equal(score("value", "99999999999999999999", "99999999999999999999").em, 1, 0);
    assert_float_equal(score("value", "99999999999999999999", "99999999999999999998").em, 0, 0);
    assert_float_equal(score("value", "5", "5.0").em, 1, 0);
}

static void test_eval_score__sets_ignore_order_and_read_rows_at_any_depth(void **state)
{
    (void)state;
    assert_float_equal(score("entity_set", "[]", NULL).em, 1, 0);
    assert_float_equal(score("entity_set", "[\"a\"]", NULL).f1, 0, 0);
    assert_float_equal(score("entity_set", "[\"a\"]", "\"a\"").em, 1, 0);
    assert_float_equal(
        score("entity_set", "[\"a\",\"b\"]", "[{\"edges\":[{\"src\":\"b\",\"dst\":\"a\"}]}]").em, 1, 0);
    assert_float_equal(score("entity_set", "[\"a\"]", "[{\"name\":\"a\"}]").em, 0, 0);
    const mk_score s = score("entity_set", "[\"a\",\"b\"]", "[\"a\"]");
    assert_float_equal(s.precision, 1, 0);
    assert_float_equal(s.recall, 0.5, 0);
}

static void test_eval_score__intervals_have_two_spellings_and_may_be_disjoint(void **state)
{
    (void)state;
    assert_float_equal(score("interval", "{\"t_a\":0,\"t_b\":10}", "{\"start\":0,\"end\":10}").em, 1, 0);
    assert_float_equal(score("interval", "{\"t_a\":0,\"t_b\":10}", "{\"start\":0,\"end\":20}").em, 1, 0);
    assert_float_equal(score("interval", "{\"t_a\":0,\"t_b\":10}", "{\"start\":0,\"end\":21}").em, 0, 0);
    assert_float_equal(score("interval", "{\"t_a\":0,\"t_b\":10}", "{\"start\":20,\"end\":30}").f1, 0, 0);
    assert_float_equal(score("interval", "{\"t_a\":0,\"t_b\":10}", "5").em, 0, 0);
    assert_float_equal(score("interval", "{\"t_a\":0,\"t_b\":1e999}", "{\"t_a\":0,\"t_b\":1e999}").f1, 0, 0);
    assert_float_equal(score("interval", "{\"t_a\":5,\"t_b\":5}", "{\"t_a\":5,\"t_b\":5}").em, 0, 0);
}

static void test_eval_score__other_kinds_are_equal_as_canonical_json(void **state)
{
    (void)state;
    assert_float_equal(score("series", "[{\"a\":1,\"b\":2}]", "[ {\"b\":2, \"a\":1} ]").em, 1, 0);
    assert_float_equal(score("series", "[1]", "[1.0]").em, 0, 0);
    assert_float_equal(score("boolean", "true", "true").em, 1, 0);
}

static void extracts(const char *kind, const char *answer, const char *wanted)
{
    const mk_json *value;
    assert_int_equal(mk_score_extract(mk_str_of(kind), json(answer), &arena, &value, NULL), MK_OK);
    if (wanted == NULL) {
        assert_null(value);
        return;
    }
    mk_score s;
    assert_non_null(value);
    assert_int_equal(mk_score_answer(MK_STR("text"), json(wanted), value, &arena, &s, NULL), MK_OK);
    assert_float_equal(s.em, 1, 0);
}

/* Source: evaluation spec, 10.1. */
static void test_eval_score__answers_give_the_value_of_their_kind(void **state)
{
    (void)state;
    static const char answer[] =
        "{\"text\":\"t\",\"claims\":[{\"type\":\"entity\",\"uids\":[\"a\"]},{\"type\":\"count\"},"
        "{\"type\":\"count\",\"value\":3},{\"type\":\"value\",\"value\":4},"
        "{\"type\":\"interval\",\"interval\":{\"start\":1,\"end\":2}},{\"type\":\"set_equal\",\"uids\":["
        "\"b\"]}]}";
    extracts("count", answer, "3");
    extracts("entity_set", answer, "[\"a\",\"b\"]");
    extracts("interval", answer, "{\"start\":1,\"end\":2}");
    extracts("series", answer, "\"t\"");
    extracts("count", "{\"text\":\"t\",\"claims\":[]}", NULL);
    extracts("count", "17", "17");
    extracts("interval", "{\"text\":\"t\",\"claims\":[{\"type\":\"value\",\"value\":{\"t_a\":1}}]}",
             "{\"t_a\":1}");
}

static int open_arena(void **state)
{
    (void)state;
    mk_arena_init(&arena, &mk_alloc_default);
    return 0;
}

static int close_arena(void **state)
{
    (void)state;
    mk_arena_free(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_eval_score__worked_examples),
        cmocka_unit_test(test_eval_score__booleans_and_texts_are_no_numbers),
        cmocka_unit_test(test_eval_score__large_integers_are_compared_exactly),
        cmocka_unit_test(test_eval_score__sets_ignore_order_and_read_rows_at_any_depth),
        cmocka_unit_test(test_eval_score__intervals_have_two_spellings_and_may_be_disjoint),
        cmocka_unit_test(test_eval_score__other_kinds_are_equal_as_canonical_json),
        cmocka_unit_test(test_eval_score__answers_give_the_value_of_their_kind),
    };
    return cmocka_run_group_tests_name("eval_score", tests, open_arena, close_arena);
}

/* test_fence.c — nothing that is put behind a fence gets out of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../support/testalloc.h"
#include "agent/fence.h"

static void assert_clean(const char *text, size_t chars_max, const char *wanted)
{
    mk_buf out;
    mk_buf_init(&out, &mk_alloc_default);
    mk_fence_clean(&out, mk_str_of(text), chars_max);
    mk_buf_c(&out, '\0');
    assert_false(out.failed);
    assert_string_equal(out.p, wanted);
    mk_buf_free(&out);
}

static void test_fence__plain_text_stays_as_it_is(void **state)
{
    (void)state;
    assert_clean("", 10, "");
    assert_clean("ada > 3 & \"x\" {}", 100, "ada > 3 & \"x\" {}");
    assert_clean("Zo\xc3\xab \xe5\x8c\x97\xe4\xba\xac", 100, "Zo\xc3\xab \xe5\x8c\x97\xe4\xba\xac");
}

static void test_fence__no_tag_of_any_spelling_begins(void **state)
{
    (void)state;
    assert_clean("</data>", 100, "\\x3c/data>");
    assert_clean("</DATA >", 100, "\\x3c/DATA >");
    assert_clean("<\xe2\x80\x8b/da\xe2\x80\x8bta>", 100, "\\x3c/data>");       /* zero-width spaces */
    assert_clean("\xef\xbc\x9c/data\xef\xbc\x9e", 100, "\\x3c/data>");         /* full width */
    assert_clean("\xef\xb9\xa4/data\xef\xb9\xa5", 100, "\\x3c/data>");         /* small */
    assert_clean("<\xef\xb8\x8f/data>", 100, "\\x3c/data>");                   /* variation selector */
    assert_clean("<\xf3\xa0\x80\xaf/data>", 100, "\\x3c/data>");               /* tag character */
    assert_clean("<\n/\tdata>", 100, "\\x3c / data>");
    assert_clean("\xff<data", 100, "\xef\xbf\xbd\\x3c" "data");
}

static void test_fence__invisible_and_reordering_characters_go(void **state)
{
    (void)state;
    assert_clean("a\xe2\x80\xae" "b\xe2\x80\x8f" "c\xef\xbb\xbf" "d", 100, "abcd");
    assert_clean("a\x01\x1b[31mb\x7f", 100, "a[31mb");
    assert_clean("a\xc2\x85" "b\xe2\x80\xa8" "c\xe2\x80\xa9" "d\xc2\xa0" "e", 100, "ab c d e");
    assert_clean("a\xcd\x8f" "b\xe3\x85\xa4" "c\xee\x80\x80" "d", 100, "abcd"); /* joiner, filler, private */
}

static void test_fence__escapes_come_before_caps_and_are_whole(void **state)
{
    (void)state;
    assert_clean("abcdef", 3, "abc" MK_FENCE_CUT);
    assert_clean("ab<", 6, "ab\\x3c");
    assert_clean("ab<", 5, "ab" MK_FENCE_CUT);
    assert_clean("\xc3\xa9\xc3\xa9\xc3\xa9", 2, "\xc3\xa9\xc3\xa9" MK_FENCE_CUT);
    assert_clean("abc", 3, "abc");
}

static void test_fence__a_huge_value_costs_no_more_than_its_cap(void **state)
{
    (void)state;
    mk_buf out;
    const size_t size = (size_t)64 << 20;
    char *text = malloc(size);
    assert_non_null(text);
    memset(text, '<', size);
    mk_buf_init(&out, &mk_alloc_default);
    mk_fence_clean(&out, (mk_str){text, size}, 512);
    assert_true(out.n <= 512 + sizeof MK_FENCE_CUT);
    memset(text, '\xcc', size); /* half a combining mark, again and again */
    mk_buf_clear(&out);
    mk_fence_clean(&out, (mk_str){text, size}, 512);
    assert_true(out.n <= 3 * 512 + sizeof MK_FENCE_CUT);
    mk_buf_free(&out);
    free(text);
}

static void test_fence__the_longest_decompositions_and_runs_of_marks_are_fine(void **state)
{
    (void)state;
    char text[3000] = "";
    mk_buf out;
    for (int i = 0; i < 300; i++)
        strcat(text, "\xef\xb7\xba"); /* U+FDFA becomes 18 characters */
    mk_buf_init(&out, &mk_alloc_default);
    mk_fence_clean(&out, mk_str_of(text), 512);
    assert_int_equal(mk_utf8_check(mk_buf_view(&out)), out.n);
    mk_buf_clear(&out);
    strcpy(text, "a");
    for (int i = 0; i < 400; i++)
        strcat(text, i % 2 ? "\xcc\xa3" : "\xcc\x81"); /* dot below, acute */
    mk_fence_clean(&out, mk_str_of(text), 512);
    assert_int_equal(mk_utf8_check(mk_buf_view(&out)), out.n);
    mk_buf_free(&out);
}

/* Law: for any bytes the block begins with its tag, ends with it, and has no other `<`. */
static void test_fence__random_bytes_stay_inside(void **state)
{
    (void)state;
    static const char *const pieces[] = {"<", "</data-", "\xef\xbc\x9c", "\xe2\x80\x8b", "data", ">", "\xff",
                                         "\xcc\xb8", "\n", "\\", "\"",
                                         "\xf3\xa0\x80\xaf", "x", "\xed\xa0\x80"};
    mk_fence fence;
    mk_buf out, text;
    char open[80], close[80];
    uint64_t seed = 1;
    mk_fence_init(&fence);
    snprintf(open, sizeof open, "<data-%s kind=\"note\">\n", fence.nonce);
    snprintf(close, sizeof close, "\n</data-%s>\n", fence.nonce);
    mk_buf_init(&out, &mk_alloc_default);
    mk_buf_init(&text, &mk_alloc_default);
    for (int round = 0; round < 5000; round++) {
        mk_buf_clear(&out);
        mk_buf_clear(&text);
        for (int i = 0; i < 12; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            if ((seed >> 60) == 0)
                mk_buf_z(&text, fence.nonce);
            mk_buf_z(&text, pieces[(seed >> 33) % (sizeof pieces / sizeof *pieces)]);
        }
        mk_fence_put(&fence, &out, "note", mk_buf_view(&text), 40);
        assert_memory_equal(out.p, open, strlen(open));
        assert_memory_equal(out.p + out.n - strlen(close), close, strlen(close));
        const mk_str inside = {out.p + strlen(open), out.n - strlen(open) - strlen(close)};
        assert_null(inside.n ? memchr(inside.p, '<', inside.n) : NULL);
        assert_null(inside.n ? memchr(inside.p, '\n', inside.n) : NULL);
        assert_int_equal(mk_utf8_check(inside), inside.n);
    }
    mk_buf_free(&text);
    mk_buf_free(&out);
}

static void test_fence__keys_and_strings_of_json_are_cleaned_one_by_one(void **state)
{
    (void)state;
    static const char text[] =
        "{\"</data>\":1,\"a\":[\"</data>\",{\"name\":\"" /* a tag across two fields, and a long name */
        "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"
        "nnnnnnnnn"
        "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn\"}],\"b\":\"<\",\"c\":\"/data>\",\"d\":\"\xef\xbc\x82\"}";
    mk_fence fence = {"n"};
    mk_arena arena;
    mk_json *tree;
    mk_buf out;
    mk_arena_init(&arena, &mk_alloc_default);
    mk_buf_init(&out, &mk_alloc_default);
    assert_int_equal(mk_json_parse(&arena, mk_str_of(text), NULL, &tree, NULL), MK_OK);
    assert_int_equal(mk_fence_put_json(&fence, &out, &arena, "card", tree, 4000, NULL), MK_OK);
    mk_buf_c(&out, '\0');
    assert_non_null(strstr(out.p, "{\"\\\\x3c/data>\":1,\"a\":[\"\\\\x3c/data>\",{\"name\":\"nnn"));
    assert_non_null(strstr(out.p, "n" MK_FENCE_CUT
                                  "\"}],\"b\":\"\\\\x3c\",\"c\":\"/data>\",\"d\":\"\\\"\"}"));
    assert_null(strstr(out.p + 1, "<data"));
    mk_buf_free(&out);
    mk_arena_free(&arena);
}

static void test_fence__nonces_differ(void **state)
{
    (void)state;
    mk_fence a, b;
    mk_fence_init(&a);
    mk_fence_init(&b);
    assert_int_equal(strlen(a.nonce), 32);
    assert_string_not_equal(a.nonce, b.nonce);
}

static void test_fence__running_out_of_memory_shows(void **state)
{
    (void)state;
    for (uint64_t n = 1; n < 30; n++) {
        testalloc ta;
        mk_buf out;
        testalloc_init(&ta);
        testalloc_fail(&ta, n, true);
        mk_buf_init(&out, &ta.hook);
        mk_fence_put(&(mk_fence){"n"}, &out, "note", MK_STR("\xef\xbc\x9c caf\xc3\xa9"), 100);
        assert_true(out.failed == (ta.failures != 0));
        mk_buf_free(&out);
        assert_true(testalloc_is_clean(&ta));
        testalloc_free(&ta);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fence__plain_text_stays_as_it_is),
        cmocka_unit_test(test_fence__no_tag_of_any_spelling_begins),
        cmocka_unit_test(test_fence__invisible_and_reordering_characters_go),
        cmocka_unit_test(test_fence__escapes_come_before_caps_and_are_whole),
        cmocka_unit_test(test_fence__a_huge_value_costs_no_more_than_its_cap),
        cmocka_unit_test(test_fence__the_longest_decompositions_and_runs_of_marks_are_fine),
        cmocka_unit_test(test_fence__random_bytes_stay_inside),
        cmocka_unit_test(test_fence__keys_and_strings_of_json_are_cleaned_one_by_one),
        cmocka_unit_test(test_fence__nonces_differ),
        cmocka_unit_test(test_fence__running_out_of_memory_shows),
    };
    return cmocka_run_group_tests_name("fence", tests, NULL, NULL);
}

/* test_lower.c — lower-casing gives the full Unicode default mapping. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/sha256.h"
#include "base/lower.h"

static void assert_lower(mk_str text, mk_str expected)
{
    mk_buf out;
    mk_buf_init(&out, &mk_alloc_default);
    mk_lower(&out, text);
    if (!mk_str_eq(mk_buf_view(&out), expected))
        fail_msg("%.*s: got %.*s, expected %.*s", MK_STR_ARG(text), MK_STR_ARG(mk_buf_view(&out)),
                 MK_STR_ARG(expected));
    mk_buf_free(&out);
}

static void test_lower__ascii_and_simple_mappings(void **state)
{
    (void)state;
    assert_lower(MK_STR(""), MK_STR(""));
    assert_lower(MK_STR("AZaz09@[`{"), MK_STR("azaz09@[`{"));
    assert_lower(MK_STR("Ünï É Ж ẞ"), MK_STR("ünï é ж ß"));
    assert_lower(MK_STR("\xE2\x84\xAA"), MK_STR("k")); /* the Kelvin sign becomes an ASCII letter */
    assert_lower(MK_STR("𐐀李"), MK_STR("𐐨李")); /* outside the BMP; no case */
    assert_lower((mk_str){"A\0B", 3}, (mk_str){"a\0b", 3});
}

static void test_lower__dotted_capital_i_becomes_two_characters(void **state)
{
    (void)state;
    assert_lower(MK_STR("İ"), MK_STR("i\xCC\x87"));
    assert_lower(MK_STR("DİS"), MK_STR("di\xCC\x87s"));
}

static void test_lower__a_sigma_at_the_end_of_a_word_is_final(void **state)
{
    (void)state;
    assert_lower(MK_STR("Σ"), MK_STR("σ"));
    assert_lower(MK_STR("ΟΔΟΣ"), MK_STR("οδος"));
    assert_lower(MK_STR("ΟΔΟΣ ΣΑΣ"), MK_STR("οδος σας"));
    assert_lower(MK_STR("ΑΣΑ"), MK_STR("ασα"));
    assert_lower(MK_STR("AΣΣ"), MK_STR("aσς"));
    assert_lower(MK_STR("1Σ"), MK_STR("1σ"));       /* a digit has no case */
    assert_lower(MK_STR("A.Σ"), MK_STR("a.ς"));     /* a full stop is ignored */
    assert_lower(MK_STR("AΣ'"), MK_STR("aς'"));     /* so is an apostrophe behind, */
    assert_lower(MK_STR("AΣ'b"), MK_STR("aσ'b"));   /* behind which the word goes on */
    assert_lower(MK_STR("A\xCC\x81Σ"), MK_STR("a\xCC\x81ς"));
    assert_lower(MK_STR("ªΣ"), MK_STR("ªς"));       /* cased without being a letter with case */
    assert_lower(MK_STR("ⅣΣ"), MK_STR("ⅳς"));
}

static void test_lower__bytes_that_are_not_utf8_stay(void **state)
{
    (void)state;
    assert_lower(MK_STR("A\xFF" "B\xC3"), MK_STR("a\xFF" "b\xC3"));
}

static size_t encode(char *p, uint32_t c)
{
    if (c < 0x80) {
        p[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        p[0] = (char)(0xC0 | c >> 6);
        p[1] = (char)(0x80 | (c & 63));
        return 2;
    }
    p[0] = (char)(0xE0 | c >> 12);
    p[1] = (char)(0x80 | (c >> 6 & 63));
    p[2] = (char)(0x80 | (c & 63));
    return 3;
}

static void add_lower(mk_sha256 *sha, mk_buf *out, const uint32_t *chars, size_t count)
{
    char text[16];
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        n += encode(text + n, chars[i]);
    mk_buf_clear(out);
    mk_lower(out, (mk_str){text, n});
    mk_sha256_add(sha, out->p, out->n);
}

/* Goal: every character of the alphabets in use, alone and around a sigma, so that the classes "cased"
 * and "case-ignorable" are pinned too. Method: one hash over all results, equal to that of the
 * reference's runtime, over blocks that no version of Unicode from 14 on has changed. */
static void test_lower__every_character_alone_and_around_a_sigma(void **state)
{
    (void)state;
    static const uint32_t blocks[][2] = {{1, 0x800}, {0x1E00, 0x2C00}, {0xFB00, 0x10000}};
    mk_sha256 sha;
    mk_buf out;
    uint8_t hash[32];
    char hex[65] = {0};
    mk_buf_init(&out, &mk_alloc_default);
    mk_sha256_init(&sha);
    for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++) {
        for (uint32_t c = blocks[b][0]; c < blocks[b][1]; c++) {
            const uint32_t s = 0x3A3;
            add_lower(&sha, &out, (uint32_t[]){c}, 1);
            add_lower(&sha, &out, (uint32_t[]){c, s}, 2);
            add_lower(&sha, &out, (uint32_t[]){'a', s, c}, 3);
            add_lower(&sha, &out, (uint32_t[]){'a', c, s}, 3);
            add_lower(&sha, &out, (uint32_t[]){'a', s, c, 'b'}, 4);
        }
    }
    mk_sha256_end(&sha, hash);
    mk_hex(hex, hash, sizeof hash);
    assert_string_equal(hex, "c5dacb4fe4f04f6ab7a8d1a6fd672ca16f382d43b278ccff28173996e8e5f235");
    mk_buf_free(&out);
}

static bool contains(const char *text, const char *needle)
{
    mk_buf scratch;
    mk_buf_init(&scratch, &mk_alloc_default);
    const bool found = mk_lower_contains(&scratch, mk_str_of(text), mk_str_of(needle));
    mk_buf_free(&scratch);
    return found;
}

static void test_lower__contains_looks_in_the_lowered_text(void **state)
{
    (void)state;
    assert_true(contains("Anna Ünï", "ünï"));
    assert_true(contains("Anna", ""));
    assert_true(contains("", ""));
    assert_false(contains("", "a"));
    assert_false(contains("Anna", "annas"));
    assert_false(contains("Anna", "A")); /* the needle is taken as it is */
    assert_true(contains("İ", "i"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lower__ascii_and_simple_mappings),
        cmocka_unit_test(test_lower__dotted_capital_i_becomes_two_characters),
        cmocka_unit_test(test_lower__a_sigma_at_the_end_of_a_word_is_final),
        cmocka_unit_test(test_lower__bytes_that_are_not_utf8_stay),
        cmocka_unit_test(test_lower__every_character_alone_and_around_a_sigma),
        cmocka_unit_test(test_lower__contains_looks_in_the_lowered_text),
    };
    return cmocka_run_group_tests_name("lower", tests, NULL, NULL);
}

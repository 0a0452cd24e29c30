/* test_base.c — strings, buffers, arenas, interning, hashing, error values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../support/testalloc.h"
#include "base/arena.h"
#include "base/hash.h"
#include "base/sha256.h"

static void test_str__utf8_check_finds_the_first_bad_byte(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t size, bad;
    } cases[] = {
        {"plain ascii text", 16, 16},
        {"h\xC3\xA9llo w\xC3\xB6rld", 13, 13},
        {"\xF0\x9F\x8E\xAF", 4, 4},
        {"abc\xFF", 4, 3},
        {"\xC0\x80", 2, 0},             /* overlong */
        {"ab\xE0\x80\x80", 5, 2},       /* overlong */
        {"\xED\xA0\x80", 3, 0},         /* surrogate */
        {"\xF4\x90\x80\x80", 4, 0},     /* above U+10FFFF */
        {"12345678\xE2\x82", 10, 8},    /* cut short */
        {"\x80", 1, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(mk_utf8_check((mk_str){cases[i].text, cases[i].size}), cases[i].bad);
}

static void test_str__integers_read_back_as_written(void **state)
{
    (void)state;
    static const int64_t values[] = {0, 1, -1, 9, 10, 99, 100, 101, 12345, INT64_MAX, INT64_MIN,
                                     1000000000000000000, -999, INT64_C(1082040961000000)};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char text[32], expected[32];
        int64_t back = 7;
        const size_t n = mk_i64_text(text, values[i]);
        assert_int_equal(n, snprintf(expected, sizeof expected, "%lld", (long long)values[i]));
        assert_memory_equal(text, expected, n);
        assert_true(mk_str_to_i64((mk_str){text, n}, &back));
        assert_int_equal(back, values[i]);
    }
    char text[32];
    assert_int_equal(mk_u64_text(text, UINT64_MAX), 20);
    assert_memory_equal(text, "18446744073709551615", 20);
}

static void test_str__what_is_no_int64_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "-", "+", "1x", " 1", "9223372036854775808",
                                        "-9223372036854775809", "1.0", "99999999999999999999999"};
    int64_t out;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_false(mk_str_to_i64(mk_str_of(texts[i]), &out));
    assert_true(mk_str_to_i64(MK_STR("-9223372036854775808"), &out));
    assert_true(out == INT64_MIN);
}

static void test_buf__running_out_of_memory_is_sticky_and_reported_once(void **state)
{
    (void)state;
    testalloc failing;
    testalloc_init(&failing);
    mk_buf buf;
    mk_buf_init(&buf, &failing.hook);
    mk_buf_z(&buf, "kept");
    testalloc_fail(&failing, 1, true);
    for (int i = 0; i < 100; i++)
        mk_buf_z(&buf, "this does not fit into what was there before");
    assert_true(buf.failed);
    assert_int_equal(mk_buf_done(&buf, NULL), MK_E_NOMEM);
    assert_memory_equal(buf.p, "kept", 4);
    mk_buf_free(&buf);
    assert_true(testalloc_is_clean(&failing));
    testalloc_free(&failing);
}

static void test_arena__rewinding_reuses_the_same_memory(void **state)
{
    (void)state;
    testalloc under;
    testalloc_init(&under);
    mk_arena arena;
    mk_arena_init(&arena, &under.hook);
    char *keep = mk_arena_get(&arena, 100);
    memset(keep, 'k', 100);
    const mk_arena_mark mark = mk_arena_save(&arena);
    size_t total = 0;
    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < 1000; i++) {
            char *p = mk_arena_get(&arena, (size_t)(i % 97));
            assert_int_equal((uintptr_t)p % 16, 0);
            memset(p, 'x', (size_t)(i % 97));
        }
        if (round == 0)
            total = arena.total;
        mk_arena_rewind(&arena, mark);
    }
    assert_int_equal(arena.total, total);
    for (int i = 0; i < 100; i++)
        assert_int_equal(keep[i], 'k');
    mk_arena_free(&arena);
    assert_true(testalloc_is_clean(&under));
    testalloc_free(&under);
}

static void test_arena__a_limit_is_an_end_not_a_crash(void **state)
{
    (void)state;
    mk_arena arena;
    mk_arena_init(&arena, &mk_alloc_default);
    arena.limit = 100000;
    int got = 0;
    while (mk_arena_get(&arena, 1000) != NULL)
        got++;
    assert_in_range(got, 10, 100);
    assert_true(arena.total <= arena.limit);
    mk_arena_free(&arena);
}

static void test_intern__codes_are_dense_and_stable(void **state)
{
    (void)state;
    mk_intern table;
    mk_intern_init(&table, &mk_alloc_default, 12345);
    char text[32];
    for (uint32_t i = 0; i < 5000; i++) {
        uint32_t code;
        const int n = snprintf(text, sizeof text, "name-%u", i);
        assert_int_equal(mk_intern_add(&table, (mk_str){text, (size_t)n}, &code, NULL), MK_OK);
        assert_int_equal(code, i);
    }
    assert_int_equal(mk_intern_find(&table, MK_STR("name-4321")), 4321);
    assert_true(mk_intern_find(&table, MK_STR("absent")) == MK_INTERN_NONE);
    mk_intern_free(&table);
}

static void test_alloc__sizes_that_overflow_are_reported(void **state)
{
    (void)state;
    size_t out = 7;
    assert_false(mk_size_mul(SIZE_MAX / 2, 3, &out));
    assert_false(mk_size_add(SIZE_MAX, 1, &out));
    assert_int_equal(out, 7);
    void *p = NULL;
    size_t cap = 0;
    assert_int_equal(mk_grow(&mk_alloc_default, &p, &cap, SIZE_MAX / 4, 16, NULL), MK_E_NOMEM);
    assert_null(p);
}

static void test_err__hostile_text_is_made_printable_and_cut_whole(void **state)
{
    (void)state;
    mk_err err;
    mk_fail(&err, MK_E_INVALID_ARG, "got %s", "a\x1B[2J\xFF\xC3\xA9");
    assert_string_equal(err.message, "got a?[2J?\xC3\xA9");
    char longest[2000];
    for (size_t i = 0; i + 2 < sizeof longest; i += 2)
        memcpy(longest + i, "\xC3\xA9", 2);
    longest[sizeof longest - 2] = 0;
    mk_fail(&err, MK_E_INVALID_ARG, "x%s", longest);
    assert_true(strlen(err.message) < sizeof err.message);
    assert_int_equal(mk_utf8_check(mk_str_of(err.message)), strlen(err.message));
    assert_int_equal(mk_fail(NULL, MK_E_LIMIT, "nobody listens"), MK_E_LIMIT);
}

static void test_sha256__known_digests(void **state)
{
    (void)state;
    uint8_t sha[32], back[32];
    char hex[64];
    mk_sha256_of("abc", 3, sha);
    mk_hex(hex, sha, 32);
    assert_memory_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", 64);
    mk_sha256 parts;
    mk_sha256_init(&parts);
    mk_sha256_add(&parts, "a", 1);
    mk_sha256_add(&parts, NULL, 0);
    mk_sha256_add(&parts, "bc", 2);
    mk_sha256_end(&parts, back);
    assert_memory_equal(sha, back, 32);
    assert_true(mk_unhex((mk_str){hex, 64}, back, 32));
    assert_memory_equal(sha, back, 32);
    assert_false(mk_unhex(MK_STR("0G"), back, 1));
    assert_false(mk_unhex(MK_STR("0A"), back, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_str__utf8_check_finds_the_first_bad_byte),
        cmocka_unit_test(test_str__integers_read_back_as_written),
        cmocka_unit_test(test_str__what_is_no_int64_is_refused),
        cmocka_unit_test(test_buf__running_out_of_memory_is_sticky_and_reported_once),
        cmocka_unit_test(test_arena__rewinding_reuses_the_same_memory),
        cmocka_unit_test(test_arena__a_limit_is_an_end_not_a_crash),
        cmocka_unit_test(test_intern__codes_are_dense_and_stable),
        cmocka_unit_test(test_alloc__sizes_that_overflow_are_reported),
        cmocka_unit_test(test_err__hostile_text_is_made_printable_and_cut_whole),
        cmocka_unit_test(test_sha256__known_digests),
    };
    return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}

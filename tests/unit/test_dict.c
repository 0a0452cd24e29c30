/* Dictionaries: codes in order of addition, growth, taking back, and readers that see a prefix. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "store/dict.h"
#include "../support/testalloc.h"

typedef struct fixture {
    testalloc ta;
    mk_epoch epoch;
    mk_dict dict;
} fixture;

static int set_up(void **state)
{
    fixture *f = test_malloc(sizeof *f);
    testalloc_init(&f->ta);
    assert_int_equal(mk_epoch_init(&f->epoch, NULL), MK_OK);
    mk_dict_init(&f->dict, &f->ta.hook, &f->epoch, 42);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    mk_dict_free(&f->dict);
    mk_epoch_destroy(&f->epoch);
    const bool clean = testalloc_is_clean(&f->ta);
    testalloc_free(&f->ta);
    test_free(f);
    return clean ? 0 : -1;
}

static uint32_t add(fixture *f, const char *text)
{
    uint32_t code;
    assert_int_equal(mk_dict_add(&f->dict, mk_str_of(text), &code, NULL), MK_OK);
    return code;
}

static const char *name(uint32_t i)
{
    static char text[32];
    snprintf(text, sizeof text, "name-%u", (unsigned)i);
    return text;
}

static void test_dict__codes_count_up_and_repeat(void **state)
{
    fixture *f = *state;
    assert_int_equal(add(f, "a"), 0);
    assert_int_equal(add(f, ""), 1);
    assert_int_equal(add(f, "b"), 2);
    assert_int_equal(add(f, ""), 1);
    assert_int_equal(add(f, "a"), 0);
    assert_int_equal(f->dict.count, 3);
    assert_int_equal(f->dict.text_size, 2);
    assert_true(mk_str_eq(mk_dict_text(&f->dict, 2), MK_STR("b")));
    assert_int_equal(mk_dict_find(&f->dict, MK_STR("c"), 3), MK_DICT_NONE);
}

static void test_dict__bytes_of_any_kind_are_kept(void **state)
{
    fixture *f = *state;
    uint32_t code;
    const mk_str with_zero = {"x\0y", 3}, other = {"x\0z", 3};
    assert_int_equal(mk_dict_add(&f->dict, with_zero, &code, NULL), MK_OK);
    assert_int_equal(mk_dict_add(&f->dict, other, &code, NULL), MK_OK);
    assert_int_equal(code, 1);
    assert_int_equal(mk_dict_find(&f->dict, with_zero, 2), 0);
    assert_true(mk_str_eq(mk_dict_text(&f->dict, 0), with_zero));
}

static void test_dict__growth_moves_nothing_and_loses_nothing(void **state)
{
    fixture *f = *state;
    enum { COUNT = 20000 };
    const char *first = NULL;
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_int_equal(add(f, name(i)), i);
        if (i == 0)
            first = mk_dict_text(&f->dict, 0).p;
    }
    assert_ptr_equal(mk_dict_text(&f->dict, 0).p, first);
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_int_equal(mk_dict_find(&f->dict, mk_str_of(name(i)), COUNT), i);
        assert_true(mk_str_eq(mk_dict_text(&f->dict, i), mk_str_of(name(i))));
    }
}

static void test_dict__a_reader_sees_only_what_is_published(void **state)
{
    fixture *f = *state;
    assert_int_equal(mk_dict_find(&f->dict, MK_STR("a"), 0), MK_DICT_NONE); /* not even a table */
    for (uint32_t i = 0; i < 100; i++)
        add(f, name(i));
    for (uint32_t count = 0; count <= 100; count += 10)
        for (uint32_t i = 0; i < 100; i++)
            assert_int_equal(mk_dict_find(&f->dict, mk_str_of(name(i)), count),
                             i < count ? i : MK_DICT_NONE);
}

static void test_dict__what_is_taken_back_was_never_there(void **state)
{
    fixture *f = *state;
    for (uint32_t i = 0; i < 3000; i++)
        add(f, name(i));
    const uint64_t size = f->dict.text_size;
    for (uint32_t i = 3000; i < 9000; i++) /* across growths of the table */
        add(f, name(i));
    mk_dict_undo(&f->dict, 3000);
    assert_int_equal(f->dict.count, 3000);
    assert_int_equal(f->dict.text_size, size);
    for (uint32_t i = 0; i < 9000; i++)
        assert_int_equal(mk_dict_find(&f->dict, mk_str_of(name(i)), f->dict.count),
                         i < 3000 ? i : MK_DICT_NONE);
    /* The same codes are given again, to other strings. */
    for (uint32_t i = 9000; i < 12000; i++)
        assert_int_equal(add(f, name(i)), i - 6000);
    for (uint32_t i = 0; i < 3000; i++)
        assert_int_equal(mk_dict_find(&f->dict, mk_str_of(name(i)), f->dict.count), i);
    mk_dict_undo(&f->dict, 0);
    assert_int_equal(mk_dict_find(&f->dict, MK_STR("name-0"), 0), MK_DICT_NONE);
    assert_int_equal(add(f, "again"), 0);
}

static void test_dict__the_old_table_lives_while_a_reader_is_inside(void **state)
{
    fixture *f = *state;
    unsigned slot;
    for (uint32_t i = 0; i < 500; i++)
        add(f, name(i));
    assert_int_equal(mk_epoch_enter(&f->epoch, &slot, NULL), MK_OK);
    for (uint32_t i = 500; i < 5000; i++)
        add(f, name(i));
    const size_t before = f->ta.live_blocks;
    mk_epoch_collect(&f->epoch);
    assert_int_equal(f->ta.live_blocks, before);
    mk_epoch_leave(&f->epoch, slot);
    mk_epoch_collect(&f->epoch);
    assert_true(f->ta.live_blocks < before);
    assert_int_equal(mk_dict_find(&f->dict, MK_STR("name-77"), f->dict.count), 77);
}

static void test_dict__no_memory_changes_nothing(void **state)
{
    fixture *f = *state;
    uint32_t code;
    unsigned failed = 0;
    for (uint32_t i = 0; i < 4000; i++) {
        for (uint64_t n = 1;; n++) {
            testalloc_fail(&f->ta, n, false);
            const mk_code rc = mk_dict_add(&f->dict, mk_str_of(name(i)), &code, NULL);
            testalloc_fail(&f->ta, 0, false);
            if (rc == MK_OK)
                break;
            failed++;
            assert_int_equal(rc, MK_E_NOMEM);
            assert_int_equal(f->dict.count, i);
            assert_int_equal(mk_dict_find(&f->dict, mk_str_of(name(i)), i), MK_DICT_NONE);
        }
        assert_int_equal(code, i);
    }
    assert_true(failed > 5);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_dict__codes_count_up_and_repeat),
        TEST(test_dict__bytes_of_any_kind_are_kept),
        TEST(test_dict__growth_moves_nothing_and_loses_nothing),
        TEST(test_dict__a_reader_sees_only_what_is_published),
        TEST(test_dict__what_is_taken_back_was_never_there),
        TEST(test_dict__the_old_table_lives_while_a_reader_is_inside),
        TEST(test_dict__no_memory_changes_nothing),
    };
#undef TEST
    return cmocka_run_group_tests_name("dict", tests, NULL, NULL);
}

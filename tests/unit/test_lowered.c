/* test_lowered.c — names are found in blocks of lower-cased text as they are one by one.
 *
 * Goal: a hit lies inside one name and never across two, at the bounds of blocks too; capital letters that
 * grow in lower case shift nothing. Method: 2,500 names chosen so that neighbours spell queries together,
 * against a loop over all names. A failed allocation leaves the heap as it was. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../support/testalloc.h"
#include "../support/tmpdir.h"
#include "base/lower.h"
#include "op/call.h"
#include "op/resolve_entities.h"
#include "store/lowered.h"

enum { NAMES = 2500 };

/* "AB" ends before "ab..." begins, an I with a dot is one byte longer in lower case, and every name is
 * new. */
static void name_of(int i, char out[64])
{
    static const char *const parts[] = {"ab", "AB", "\xC4\xB0i", "ba", "B", "\xCE\xA3\xCE\xA3", "a\\\"", "x"};
    snprintf(out, 64, "%s%d%s", parts[i % 8], i, parts[(i / 8) % 8]);
}

static void fill(mk_dict *dict)
{
    char name[64];
    mk_err err;
    uint32_t code;
    for (int i = 0; i < NAMES; i++) {
        name_of(i, name);
        assert_int_equal(mk_dict_add(dict, mk_str_of(name), &code, &err), MK_OK);
        assert_int_equal(code, i);
    }
}

static void test_lowered__a_block_holds_its_names_in_lower_case(void **state)
{
    (void)state;
    mk_epoch epoch;
    mk_dict dict;
    mk_lowered_heap heap;
    const mk_lowered *block, *again;
    mk_buf low;
    mk_err err;
    assert_int_equal(mk_epoch_init(&epoch, &err), MK_OK);
    mk_dict_init(&dict, &mk_alloc_default, &epoch, 7);
    mk_lowered_init(&heap, &mk_alloc_default);
    mk_buf_init(&low, &mk_alloc_default);
    fill(&dict);
    for (uint32_t number = 2; number-- > 0;) {
        assert_int_equal(mk_lowered_block(&heap, &dict, number, &block, &err), MK_OK);
        for (uint32_t i = 0; i < MK_LOWERED_BLOCK; i++) {
            mk_buf_clear(&low);
            mk_lower(&low, mk_dict_text(&dict, number * MK_LOWERED_BLOCK + i));
            assert_int_equal(low.n, block->start[i + 1] - block->start[i]);
            assert_memory_equal(low.p, block->text + block->start[i], low.n);
        }
        assert_int_equal(mk_lowered_block(&heap, &dict, number, &again, &err), MK_OK);
        assert_ptr_equal(again, block);
    }
    mk_buf_free(&low);
    mk_lowered_free(&heap);
    mk_dict_free(&dict);
    mk_epoch_destroy(&epoch);
}

static void test_lowered__every_failed_allocation_is_an_error_and_no_more(void **state)
{
    (void)state;
    mk_epoch epoch;
    mk_dict dict;
    const mk_lowered *block;
    mk_err err;
    assert_int_equal(mk_epoch_init(&epoch, &err), MK_OK);
    mk_dict_init(&dict, &mk_alloc_default, &epoch, 7);
    fill(&dict);
    mk_code rc = MK_E_NOMEM;
    for (uint64_t n = 1; rc != MK_OK; n++) {
        testalloc ta;
        mk_lowered_heap heap;
        testalloc_init(&ta);
        testalloc_fail(&ta, n, false);
        mk_lowered_init(&heap, &ta.hook);
        rc = mk_lowered_block(&heap, &dict, 1, &block, &err);
        if (rc != MK_OK) {
            assert_int_equal(rc, MK_E_NOMEM);
            testalloc_fail(&ta, 0, false);
            assert_int_equal(mk_lowered_block(&heap, &dict, 1, &block, &err), MK_OK);
        } else {
            assert_true(n > 2);
        }
        mk_lowered_free(&heap);
        assert_true(testalloc_is_clean(&ta));
        testalloc_free(&ta);
    }
    mk_dict_free(&dict);
    mk_epoch_destroy(&epoch);
}

/* ---- through the operator ---- */

static mk_store *open_world(tmpdir *dir)
{
    const mk_store_options options = {.mode = MK_OPEN_CREATE_WRITER};
    static char names[NAMES][64];
    static mk_op ops[NAMES];
    mk_store *store;
    mk_err err;
    mk_tt tt;
    char path[TMPDIR_PATH_MAX];
    tmpdir_make(dir);
    assert_int_equal(mk_store_open(tmpdir_join(dir, "s", path), &options, &store, &err), MK_OK);
    for (int i = 0; i < NAMES; i++) {
        name_of(i, names[i]);
        ops[i] = (mk_op){.kind = MK_OP_ASSERT_NODE, .uid = mk_str_of(names[i]), .label = MK_STR("N"),
                         .props = MK_STR("{}"), .vt_e = MK_OPEN_END, .source = MK_STR("ingest"),
                         .provenance_null = true};
    }
    assert_int_equal(mk_store_write(store, ops, NAMES, NULL, &tt, &err), MK_OK);
    return store;
}

static size_t count_one_by_one(const char *query)
{
    mk_buf scratch, low;
    size_t hits = 0;
    mk_buf_init(&scratch, &mk_alloc_default);
    mk_buf_init(&low, &mk_alloc_default);
    mk_lower(&low, mk_str_of(query));
    for (int i = 0; i < NAMES; i++) {
        char name[64];
        name_of(i, name);
        hits += mk_lower_contains(&scratch, mk_str_of(name), mk_buf_view(&low));
    }
    mk_buf_free(&low);
    mk_buf_free(&scratch);
    return hits;
}

static void test_lowered__the_operator_finds_what_a_loop_finds(void **state)
{
    (void)state;
    static const char *const queries[] = {"a",  "AB", "abab", "bab", "i\xCC\x87", "\xC4\xB0I", "1", "99",
                                          "xx", "1023", "1024ab", "ab1", "\\\"", "\xCF\x83\xCF\x82", "zz"};
    tmpdir dir;
    mk_store *store = open_world(&dir);
    mk_arena arena;
    mk_view *view;
    mk_err err;
    mk_arena_init(&arena, &mk_alloc_default);
    assert_int_equal(mk_view_at(store, (mk_tt){MK_OPEN_END}, MK_SHOW_USER, &view, &err), MK_OK);
    for (size_t q = 0; q < sizeof queries / sizeof *queries; q++) {
        mk_guard guard;
        mk_found found;
        const mk_find_args args = {.query = mk_str_of(queries[q]), .page = {.limit = 10000}};
        mk_guard_init(&guard, NULL, 0, NULL);
        assert_int_equal(mk_find_entities(view, &arena, &args, &guard, &found, &err), MK_OK);
        if (found.span.total != count_one_by_one(queries[q]))
            fail_msg("%s: %zu found, expected %zu", queries[q], (size_t)found.span.total,
                     count_one_by_one(queries[q]));
        mk_arena_reset(&arena);
    }
    mk_view_close(view);
    mk_arena_free(&arena);
    assert_int_equal(mk_store_close(store, &err), MK_OK);
    tmpdir_remove(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lowered__a_block_holds_its_names_in_lower_case),
        cmocka_unit_test(test_lowered__every_failed_allocation_is_an_error_and_no_more),
        cmocka_unit_test(test_lowered__the_operator_finds_what_a_loop_finds),
    };
    return cmocka_run_group_tests_name("lowered", tests, NULL, NULL);
}

/* test_keep.c — the table of what was served: who finds what, who leaves first, and what it costs in
 * memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "../support/testalloc.h"
#include "serve/keep.h"

typedef struct table {
    testalloc ta;
    mk_arena arena;
    mk_keep *keep;
} table;

static void open_table(table *t, size_t entries, size_t bytes)
{
    testalloc_init(&t->ta);
    mk_arena_init(&t->arena, &t->ta.hook);
    assert_int_equal(mk_keep_open(&t->ta.hook, entries, bytes, &t->keep, NULL), MK_OK);
}

static void close_table(table *t)
{
    mk_keep_close(t->keep);
    mk_arena_free(&t->arena);
    assert_true(testalloc_is_clean(&t->ta));
    testalloc_free(&t->ta);
}

static void put(table *t, const char *kind, const char *id, const char *principal, const char *text)
{
    const mk_kept kept = {.kind = mk_str_of(kind),
                          .id = mk_str_of(id),
                          .principal = mk_str_of(principal),
                          .text = mk_str_of(text),
                          .tt = 7};
    mk_keep_put(t->keep, &kept);
}

/* Its text; NULL: not found. */
static const char *get(table *t, const char *kind, const char *id, const char *principal)
{
    mk_kept kept;
    mk_err err;
    const mk_code rc =
        mk_keep_get(t->keep, mk_str_of(kind), mk_str_of(id), mk_str_of(principal), &t->arena, &kept, &err);
    if (rc != MK_OK) {
        assert_int_equal(rc, MK_E_NOT_FOUND);
        return NULL;
    }
    assert_int_equal(kept.tt, 7);
    char *text = mk_arena_get(&t->arena, kept.text.n + 1);
    memcpy(text, kept.text.p, kept.text.n);
    text[kept.text.n] = '\0';
    return text;
}

static void test_keep__what_one_made_others_do_not_find(void **state)
{
    table t;
    (void)state;
    open_table(&t, 4, 1000);
    put(&t, "result", "d1", "user:ada", "{\"a\":1}");
    assert_string_equal(get(&t, "result", "d1", "user:ada"), "{\"a\":1}");
    assert_null(get(&t, "result", "d1", "user:bob"));
    assert_null(get(&t, "trace", "d1", "user:ada"));
    assert_null(get(&t, "result", "d", "user:ada"));
    assert_null(get(&t, "resul", "td1", "user:ada"));
    put(&t, "result", "d1", "user:bob", "{\"a\":1}");
    assert_string_equal(get(&t, "result", "d1", "user:bob"), "{\"a\":1}");
    close_table(&t);
}

static void test_keep__the_least_recently_used_leaves(void **state)
{
    table t;
    (void)state;
    open_table(&t, 3, 1000);
    put(&t, "r", "1", "p", "one");
    put(&t, "r", "2", "p", "two");
    put(&t, "r", "3", "p", "three");
    assert_non_null(get(&t, "r", "1", "p")); /* used again by reading */
    put(&t, "r", "2", "p", "two");           /* and by putting */
    put(&t, "r", "4", "p", "four");
    assert_null(get(&t, "r", "3", "p"));
    assert_string_equal(get(&t, "r", "1", "p"), "one");
    assert_string_equal(get(&t, "r", "2", "p"), "two");
    assert_string_equal(get(&t, "r", "4", "p"), "four");
    close_table(&t);
}

static void test_keep__bytes_are_bounded(void **state)
{
    char text[61];
    table t;
    (void)state;
    memset(text, 'x', 60);
    text[60] = '\0';
    open_table(&t, 100, 200);
    const size_t empty = t.ta.live_bytes;
    for (int i = 0; i < 1000; i++) {
        char id[16];
        snprintf(id, sizeof id, "%d", i);
        put(&t, "r", id, "p", text);
        assert_true(t.ta.live_bytes - empty <= 200);
    }
    assert_non_null(get(&t, "r", "999", "p"));
    assert_non_null(get(&t, "r", "997", "p")); /* 66 bytes each with kind, id and owner */
    assert_null(get(&t, "r", "996", "p")); /* there are free entries, but no bytes */
    char large[300];
    memset(large, 'y', sizeof large - 1);
    large[sizeof large - 1] = '\0';
    put(&t, "r", "large", "p", large);
    assert_null(get(&t, "r", "large", "p"));
    assert_non_null(get(&t, "r", "999", "p"));
    close_table(&t);
}

static void test_keep__lists_are_by_age_and_by_owner(void **state)
{
    mk_kept *all;
    size_t count;
    table t;
    (void)state;
    open_table(&t, 10, 1000);
    put(&t, "trace", "1", "p", "one");
    put(&t, "result", "2", "p", "two");
    put(&t, "trace", "3", "q", "three");
    put(&t, "trace", "4", "p", "four");
    assert_non_null(get(&t, "trace", "1", "p"));
    assert_int_equal(mk_keep_list(t.keep, MK_STR("trace"), MK_STR("p"), &t.arena, &all, &count, NULL), MK_OK);
    assert_int_equal(count, 2);
    assert_true(mk_str_eq(all[0].id, MK_STR("1")) && mk_str_eq(all[1].id, MK_STR("4")));
    assert_int_equal(mk_keep_list(t.keep, MK_STR("trace"), MK_STR("nobody"), &t.arena, &all, &count, NULL),
                     MK_OK);
    assert_int_equal(count, 0);
    close_table(&t);
}

/* Whichever allocation fails, what stands in the table stays, and nothing is lost. */
static void test_keep__out_of_memory_keeps_what_was_there(void **state)
{
    testalloc ta;
    (void)state;
    for (uint64_t n = 1; n < 100; n++) {
        mk_keep *keep;
        testalloc_init(&ta);
        testalloc_fail(&ta, n, false);
        if (mk_keep_open(&ta.hook, 4, 1000, &keep, NULL) == MK_OK) {
            const mk_kept one = {
                .kind = MK_STR("r"), .id = MK_STR("1"), .principal = MK_STR("p"), .text = MK_STR("one")};
            mk_arena arena;
            mk_kept out;
            mk_arena_init(&arena, &mk_alloc_default);
            mk_keep_put(keep, &one); /* may fail */
            testalloc_fail(&ta, 0, false);
            mk_keep_put(keep, &one);
            assert_int_equal(mk_keep_get(keep, one.kind, one.id, one.principal, &arena, &out, NULL), MK_OK);
            mk_arena_free(&arena);
            mk_keep_close(keep);
        }
        const bool failed = ta.failures != 0;
        assert_true(testalloc_is_clean(&ta));
        testalloc_free(&ta);
        if (!failed) {
            assert_true(n > 4);
            return;
        }
    }
    fail_msg("an allocation failed each time");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keep__what_one_made_others_do_not_find),
        cmocka_unit_test(test_keep__the_least_recently_used_leaves),
        cmocka_unit_test(test_keep__bytes_are_bounded),
        cmocka_unit_test(test_keep__lists_are_by_age_and_by_owner),
        cmocka_unit_test(test_keep__out_of_memory_keeps_what_was_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

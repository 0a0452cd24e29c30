/* test_recycle.c — large blocks come back warm, small ones pass through, nothing leaks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../support/testalloc.h"
#include "base/recycle.h"

#define LARGE ((size_t)1 << 20)

static void test_recycle__a_freed_large_block_is_handed_out_again(void **state)
{
    (void)state;
    testalloc under;
    mk_recycler r;
    testalloc_init(&under);
    assert_int_equal(mk_recycler_init(&r, &under.hook, 8 * LARGE, NULL), MK_OK);
    void *first = mk_new(&r.alloc, LARGE);
    mk_free(&r.alloc, first, LARGE);
    /* Any size that rounds to the same block will do. */
    void *again = mk_new(&r.alloc, LARGE - 100);
    assert_ptr_equal(first, again);
    void *other = mk_new(&r.alloc, LARGE);
    assert_ptr_not_equal(other, again);
    mk_free(&r.alloc, again, LARGE - 100);
    mk_free(&r.alloc, other, LARGE);
    mk_recycler_destroy(&r);
    assert_true(testalloc_is_clean(&under));
    testalloc_free(&under);
}

static void test_recycle__contents_survive_growing_and_shrinking(void **state)
{
    (void)state;
    testalloc under;
    mk_recycler r;
    testalloc_init(&under);
    assert_int_equal(mk_recycler_init(&r, &under.hook, 8 * LARGE, NULL), MK_OK);
    size_t size = 1000;
    unsigned char *p = mk_new(&r.alloc, size);
    for (size_t i = 0; i < size; i++)
        p[i] = (unsigned char)i;
    static const size_t steps[] = {5000, 300000, 310000, 2 * LARGE, 3 * LARGE, 300000, 1000};
    for (size_t s = 0; s < sizeof steps / sizeof *steps; s++) {
        p = r.alloc.resize(r.alloc.ctx, p, size, steps[s]);
        assert_non_null(p);
        size = steps[s];
        for (size_t i = 0; i < 1000; i++)
            assert_int_equal(p[i], (unsigned char)i);
        memset(p + 1000, 0xEE, size - 1000);
    }
    mk_free(&r.alloc, p, size);
    mk_recycler_destroy(&r);
    assert_true(testalloc_is_clean(&under));
    testalloc_free(&under);
}

static void test_recycle__it_keeps_no_more_than_it_may(void **state)
{
    (void)state;
    testalloc under;
    mk_recycler r;
    void *blocks[64];
    testalloc_init(&under);
    assert_int_equal(mk_recycler_init(&r, &under.hook, 4 * LARGE, NULL), MK_OK);
    for (size_t i = 0; i < 64; i++)
        blocks[i] = mk_new(&r.alloc, LARGE);
    for (size_t i = 0; i < 64; i++)
        mk_free(&r.alloc, blocks[i], LARGE);
    assert_true(r.kept_bytes <= 4 * LARGE);
    assert_true(r.kept_count >= 1);
    mk_recycler_destroy(&r);
    assert_true(testalloc_is_clean(&under));
    testalloc_free(&under);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recycle__a_freed_large_block_is_handed_out_again),
        cmocka_unit_test(test_recycle__contents_survive_growing_and_shrinking),
        cmocka_unit_test(test_recycle__it_keeps_no_more_than_it_may),
    };
    return cmocka_run_group_tests_name("recycle", tests, NULL, NULL);
}

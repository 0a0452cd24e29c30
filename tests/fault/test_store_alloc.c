/* test_store_alloc.c — memory runs out at the n-th allocation, for every n.
 *
 * The scenario runs on a disk in memory with a counting allocator. When a step fails it must say so,
 * have changed nothing, and succeed when it is tried again; at the end every block is given back. The
 * scenario with a bulk load takes longer, so there only some of the allocations fail unless MK_LONG
 * is set. */
#include "store_world.h"

#include "../support/testalloc.h"

/* What failed is undone: the store holds what was acknowledged. */
static void check_unchanged(world *w, uint64_t n, size_t step)
{
    mk_err err;
    if (w->store == NULL)
        return;
    const int held = batches_in(w->store, 0, &err);
    if (held != w->acked)
        fail_msg("allocation %llu: step %zu left %d batches, not %d (%s)", (unsigned long long)n, step, held,
                 w->acked, err.code ? err.message : "");
}

/* Returns false when the scenario ended before the n-th allocation. */
static bool run_failing(uint64_t n, bool and_later)
{
    testalloc ta;
    mk_err err;
    simfs *sim = world_disk();
    static tap t;
    testalloc_init(&ta);
    tap_init(&t, simfs_fs(sim));
    world w = {.alloc = &ta.hook, .fs = &t.fs};
    testalloc_fail(&ta, n, and_later);
    for (size_t step = 0; step < STEPS; step++) {
        const uint64_t before = ta.failures;
        const int warnings = w.warnings;
        const mk_code rc = world_step(&w, world_steps[step], &err);
        if (ta.failures > before && (rc != MK_OK || w.warnings > warnings || !and_later))
            testalloc_fail(&ta, 0, false);
        if (rc == MK_OK)
            continue;
        if (rc != MK_E_NOMEM || ta.failures == before)
            fail_msg("allocation %llu: step %zu says %s: %s", (unsigned long long)n, step, mk_code_name(rc),
                     err.message);
        check_unchanged(&w, n, step);
        if (world_step(&w, world_steps[step], &err) != MK_OK)
            fail_msg("allocation %llu: step %zu fails for good: %s", (unsigned long long)n, step,
                     err.message);
    }
    const bool failed = ta.failures > 0;
    testalloc_fail(&ta, 0, false);
    assert_int_equal(w.acked, BATCHES);
    check_unchanged(&w, n, STEPS);
    world_close(&w);
    if (!testalloc_is_clean(&ta))
        fail_msg("allocation %llu: memory is not given back", (unsigned long long)n);
    testalloc_free(&ta);
    simfs_free(sim);
    return failed;
}

static void test_store_alloc__every_failure_is_undone(void **state)
{
    (void)state;
    expect_digests(false);
    const uint64_t stride = getenv("MK_LONG") != NULL ? 1 : 17;
    const char *only = getenv("MK_FAIL_AT");
    uint64_t n = only ? strtoull(only, NULL, 10) : 1;
    for (; run_failing(n, false); n += stride)
        ;
    assert_true(n > 100);
    print_message("%llu allocations\n", (unsigned long long)n - 1);
}

/* Not one allocation but all from the n-th on, until a step has said so. */
static void test_store_alloc__lasting_shortage_is_undone(void **state)
{
    (void)state;
    expect_digests(false);
    const uint64_t stride = getenv("MK_LONG") != NULL ? 1 : 61;
    for (uint64_t n = 1; run_failing(n, true); n += stride)
        ;
}

static void test_store_alloc__bulk_load_is_undone(void **state)
{
    (void)state;
    expect_digests(true);
    const uint64_t stride = getenv("MK_LONG") != NULL ? 1 : 211;
    for (uint64_t n = 1; run_failing(n, false); n += stride)
        ;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_store_alloc__every_failure_is_undone),
        cmocka_unit_test(test_store_alloc__lasting_shortage_is_undone),
        cmocka_unit_test(test_store_alloc__bulk_load_is_undone),
    };
    return cmocka_run_group_tests_name("store_alloc", tests, NULL, NULL);
}

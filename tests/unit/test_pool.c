/* test_pool.c — worker threads. Run under the thread sanitizer too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "../support/testalloc.h"
#include "base/pool.h"

#define COUNT 5000

static mk_pool *open_pool(unsigned threads)
{
    mk_pool *pool = NULL;
    mk_err err;

    if (mk_pool_open(&mk_alloc_default, threads, &pool, &err) != MK_OK)
        fail_msg("%s", err.message);
    return pool;
}

static mk_code count_visit(void *arg, size_t index, mk_err *err)
{
    int *visits = arg; /* each element is touched by one thread only, which the sanitizer checks */

    (void)err;
    visits[index]++;
    return MK_OK;
}

static void test_pool__every_index_runs_once_whatever_the_threads(void **state)
{
    static int visits[COUNT];

    (void)state;
    for (unsigned threads = 0; threads <= 5; threads++) {
        mk_pool *pool = open_pool(threads);
        memset(visits, 0, sizeof visits);
        for (size_t count = 0; count <= COUNT; count = count * 4 + 1) {
            assert_int_equal(mk_pool_run(pool, count, count_visit, visits, NULL), MK_OK);
            for (size_t i = 0; i < count; i++) {
                assert_int_equal(visits[i], 1);
                visits[i] = 0;
            }
            for (size_t i = count; i < COUNT; i++)
                assert_int_equal(visits[i], 0);
        }
        mk_pool_close(pool);
    }
}

static void test_pool__the_number_of_threads_is_what_was_asked(void **state)
{
    (void)state;
    mk_pool *pool = open_pool(3);
    assert_int_equal(mk_pool_threads(pool), 3);
    mk_pool_close(pool);
    pool = open_pool(1);
    assert_int_equal(mk_pool_threads(pool), 1);
    mk_pool_close(pool);
    pool = open_pool(0);
    assert_true(mk_pool_threads(pool) >= 1);
    mk_pool_close(pool);
    pool = open_pool(1000000);
    assert_true(mk_pool_threads(pool) < 1000);
    mk_pool_close(pool);
    assert_int_equal(mk_pool_threads(NULL), 1);
    mk_pool_close(NULL);
}

typedef struct meeting {
    atomic_int arrived;
    int expected;
} meeting;

/* Returns only when so many calls are inside at once. */
static mk_code meet(void *arg, size_t index, mk_err *err)
{
    meeting *m = arg;

    (void)index;
    (void)err;
    atomic_fetch_add(&m->arrived, 1);
    while (atomic_load(&m->arrived) < m->expected)
        sched_yield();
    return MK_OK;
}

static void test_pool__the_caller_and_the_workers_run_side_by_side(void **state)
{
    mk_pool *pool = open_pool(3);

    (void)state;
    for (int i = 0; i < 100; i++) {
        meeting m = {.expected = 3};
        assert_int_equal(mk_pool_run(pool, 3, meet, &m, NULL), MK_OK);
    }
    mk_pool_close(pool);
}

typedef struct failing {
    size_t first;
    atomic_int ran_before; /* indices before `first` that ran */
} failing;

static mk_code fail_from(void *arg, size_t index, mk_err *err)
{
    failing *f = arg;

    if (index < f->first) {
        atomic_fetch_add(&f->ran_before, 1);
        return MK_OK;
    }
    if (index % 2 == 0 && index != f->first)
        return MK_OK;
    return mk_fail(err, index == f->first ? MK_E_LIMIT : MK_E_STATE, "index %zu", index);
}

/* Law: the error is that of the smallest failing index, and everything before it ran. */
static void test_pool__the_error_is_of_the_smallest_failing_index(void **state)
{
    (void)state;
    for (unsigned threads = 1; threads <= 4; threads++) {
        mk_pool *pool = open_pool(threads);
        for (size_t first = 0; first < 300; first += 7) {
            failing f = {.first = first};
            char expected[32];
            mk_err err;
            snprintf(expected, sizeof expected, "index %zu", first);
            assert_int_equal(mk_pool_run(pool, 400, fail_from, &f, &err), MK_E_LIMIT);
            assert_int_equal(err.code, MK_E_LIMIT);
            assert_string_equal(err.message, expected);
            assert_int_equal(atomic_load(&f.ran_before), first);
            assert_int_equal(mk_pool_run(pool, 400, fail_from, &f, NULL), MK_E_LIMIT);
        }
        failing none = {.first = 1000};
        assert_int_equal(mk_pool_run(pool, 400, fail_from, &none, NULL), MK_OK);
        mk_pool_close(pool);
    }
}

/* Both indices are inside before either fails, and `last` fails some time after the other. */
typedef struct late {
    atomic_int inside, failed;
    size_t last;
} late;

static mk_code fail_both(void *arg, size_t index, mk_err *err)
{
    late *l = arg;

    atomic_fetch_add(&l->inside, 1);
    while (atomic_load(&l->inside) < 2 || (index == l->last && atomic_load(&l->failed) == 0))
        sched_yield();
    for (int i = 0; index == l->last && i < 200; i++)
        sched_yield(); /* time for the first failure to be recorded */
    atomic_fetch_add(&l->failed, 1);
    return mk_fail(err, MK_E_LIMIT, "index %zu", index);
}

static void test_pool__the_order_of_failing_does_not_matter(void **state)
{
    mk_pool *pool = open_pool(2);

    (void)state;
    for (size_t i = 0; i < 100; i++) {
        late l = {.last = i % 2};
        mk_err err;
        assert_int_equal(mk_pool_run(pool, 2, fail_both, &l, &err), MK_E_LIMIT);
        assert_string_equal(err.message, "index 0");
    }
    mk_pool_close(pool);
}

static void test_pool__without_a_pool_work_runs_in_order_and_stops(void **state)
{
    failing f = {.first = 10};
    mk_err err;

    (void)state;
    assert_int_equal(mk_pool_run(NULL, 400, fail_from, &f, &err), MK_E_LIMIT);
    assert_string_equal(err.message, "index 10");
    assert_int_equal(atomic_load(&f.ran_before), 10);
}

typedef struct nested {
    mk_pool *pool;
    atomic_int inner;
} nested;

static mk_code inner_work(void *arg, size_t index, mk_err *err)
{
    (void)index;
    (void)err;
    atomic_fetch_add((atomic_int *)arg, 1);
    return MK_OK;
}

static mk_code outer_work(void *arg, size_t index, mk_err *err)
{
    nested *n = arg;

    (void)index;
    return mk_pool_run(n->pool, 10, inner_work, &n->inner, err);
}

static void test_pool__work_may_use_the_pool_itself(void **state)
{
    nested n = {.pool = open_pool(3)};

    (void)state;
    assert_int_equal(mk_pool_run(n.pool, 50, outer_work, &n, NULL), MK_OK);
    assert_int_equal(atomic_load(&n.inner), 500);
    mk_pool_close(n.pool);
}

static void *run_from_thread(void *arg)
{
    nested *n = arg;

    for (int i = 0; i < 50; i++)
        if (mk_pool_run(n->pool, 20, inner_work, &n->inner, NULL) != MK_OK)
            return NULL;
    return n;
}

static void test_pool__several_threads_may_share_a_pool(void **state)
{
    nested n = {.pool = open_pool(3)};
    pthread_t threads[3];

    (void)state;
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_from_thread, &n), 0);
    for (int i = 0; i < 3; i++) {
        void *result;
        pthread_join(threads[i], &result);
        assert_ptr_equal(result, &n);
    }
    assert_int_equal(atomic_load(&n.inner), 3 * 50 * 20);
    mk_pool_close(n.pool);
}

static void test_pool__running_out_of_memory_leaks_nothing(void **state)
{
    (void)state;
    for (uint64_t k = 1; k <= 3; k++) {
        testalloc ta;
        mk_pool *pool = NULL;
        testalloc_init(&ta);
        testalloc_fail(&ta, k, false);
        const mk_code rc = mk_pool_open(&ta.hook, 2, &pool, NULL);
        assert_int_equal(rc, k <= 2 ? MK_E_NOMEM : MK_OK);
        mk_pool_close(pool);
        assert_true(testalloc_is_clean(&ta));
        testalloc_free(&ta);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pool__every_index_runs_once_whatever_the_threads),
        cmocka_unit_test(test_pool__the_number_of_threads_is_what_was_asked),
        cmocka_unit_test(test_pool__the_caller_and_the_workers_run_side_by_side),
        cmocka_unit_test(test_pool__the_error_is_of_the_smallest_failing_index),
        cmocka_unit_test(test_pool__the_order_of_failing_does_not_matter),
        cmocka_unit_test(test_pool__without_a_pool_work_runs_in_order_and_stops),
        cmocka_unit_test(test_pool__work_may_use_the_pool_itself),
        cmocka_unit_test(test_pool__several_threads_may_share_a_pool),
        cmocka_unit_test(test_pool__running_out_of_memory_leaks_nothing),
    };

    return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}

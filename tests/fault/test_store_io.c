/* test_store_io.c — every call that changes the disk fails in turn, for want of space or for no reason.
 *
 * A step that fails must say why and must have lost nothing: what was acknowledged is there, and a batch
 * that failed is there whole or not at all. Where only space was missing, or a write failed and could be
 * cut back, the same handle goes on; after a failed sync it refuses to write, but still reads, and the
 * next opening goes on. */
#include "store_world.h"

#include <pthread.h>

typedef struct accident {
    simfs_faults faults;
    bool lasting; /* until a step has failed */
} accident;

typedef struct run {
    world w;
    simfs *sim;
    tap t;
    uint64_t at;
    size_t step;
} run;

static void complain(const run *r, const char *what, const mk_err *err)
{
    fail_msg("call %llu, step %zu: %s (%s: %s)", (unsigned long long)r->at, r->step, what,
             mk_code_name(err->code), err->message);
}

static void check_holds(run *r, int most)
{
    mk_err err = {0};
    const int held = batches_in(r->w.store, r->w.acked, &err);
    if (held < r->w.acked || held > most)
        complain(r, "the store does not hold what was acknowledged", &err);
}

/* A step failed. Leaves the handle able to go on. */
static void recover(run *r, mk_err *err)
{
    const step_kind kind = world_steps[r->step];
    const simfs_faults none = {0};
    mk_err again;
    simfs_set_faults(r->sim, &none);
    if (err->code != MK_E_STATE)
        complain(r, "not E_STATE", err);
    if (r->w.store == NULL) /* opening failed; it works now, or the next line says so */
        return;
    check_holds(r, r->w.acked);
    if (kind == CHECKPOINT || strcmp(err->reason, "writer_stopped") != 0)
        return;
    /* The writer has stopped: it goes on refusing while reading works. */
    if (world_step(&r->w, kind, &again) == MK_OK || strcmp(again.reason, "writer_stopped") != 0)
        complain(r, "a stopped writer writes", &again);
    if (read_all(&r->w, &again) != MK_OK)
        complain(r, "a stopped writer does not read", &again);
    check_holds(r, r->w.acked);
    if (world_step(&r->w, REOPEN, &again) != MK_OK)
        complain(r, "the store does not open again", &again);
    check_holds(r, r->w.acked + 1);
    r->w.acked = batches_in(r->w.store, r->w.acked, &again);
}

static void finish(run *r)
{
    mk_err err = {0};
    const simfs_faults none = {0};
    simfs_set_faults(r->sim, &none);
    if (r->w.acked != BATCHES)
        complain(r, "batches are missing", &err);
    world_close(&r->w);
    /* What is there is there for good: nothing that was acknowledged waits for a sync. */
    simfs_power_cut(r->sim, SIMFS_SEED_DROP_ALL);
    if (world_step(&r->w, REOPEN, &err) != MK_OK)
        complain(r, "the store does not open at the end", &err);
    check_holds(r, BATCHES);
    world_close(&r->w);
    if (!log_verifies(r->w.fs, &err))
        complain(r, "the log does not verify", &err);
}

/* Returns false when the scenario made fewer calls. */
static bool run_failing(uint64_t at, const accident *a)
{
    static run r;
    mk_err err = {0};
    bool failed = false;
    r = (run){.at = at, .sim = world_disk()};
    tap_init(&r.t, simfs_fs(r.sim));
    r.w = (world){.alloc = &mk_alloc_default, .fs = &r.t.fs};
    simfs_faults faults = a->faults;
    faults.fail_at = simfs_calls(r.sim) + at;
    faults.fail_count = a->lasting ? UINT64_MAX / 4 : 1;
    simfs_set_faults(r.sim, &faults);
    for (r.step = 0; r.step < STEPS; r.step++) {
        /* A retry of a batch that turned out to be there writes the next one instead. */
        const step_kind kind = world_steps[r.step];
        if ((kind == WRITE || kind == TXN) && r.w.acked == BATCHES)
            continue;
        if (world_step(&r.w, kind, &err) == MK_OK)
            continue;
        failed = true;
        recover(&r, &err);
        if ((kind == WRITE || kind == TXN) && r.w.acked == BATCHES)
            continue;
        if (world_step(&r.w, kind, &err) != MK_OK)
            complain(&r, "fails for good", &err);
    }
    failed |= simfs_calls(r.sim) >= faults.fail_at;
    finish(&r);
    simfs_free(r.sim);
    return failed;
}

static void run_accident(const accident *a, uint64_t stride)
{
    const uint64_t by = getenv("MK_LONG") != NULL ? 1 : stride;
    const char *only = getenv("MK_FAIL_AT");
    expect_digests(false);
    uint64_t at = only ? strtoull(only, NULL, 10) : 1;
    while (run_failing(at, a))
        at += by;
    assert_true(at > 50);
}

static void test_store_io__one_call_without_space(void **state)
{
    (void)state;
    run_accident(&(accident){.faults = {.fail_reason = "no_space"}}, 5);
}

static void test_store_io__one_call_that_fails(void **state)
{
    (void)state;
    run_accident(&(accident){.faults = {.fail_reason = "io"}}, 5);
}

static void test_store_io__a_write_cut_short(void **state)
{
    (void)state;
    run_accident(&(accident){.faults = {.fail_reason = "no_space", .fail_prefix = 100}}, 11);
}

static void test_store_io__a_full_disk_until_it_is_noticed(void **state)
{
    (void)state;
    run_accident(&(accident){.faults = {.fail_reason = "no_space"}, .lasting = true}, 11);
}

/* ---- what the errors say ---- */

static void start(run *r)
{
    mk_err err;
    *r = (run){.sim = world_disk()};
    tap_init(&r->t, simfs_fs(r->sim));
    r->w = (world){.alloc = &mk_alloc_default, .fs = &r->t.fs};
    expect_digests(false);
    assert_int_equal(world_step(&r->w, REOPEN, &err), MK_OK);
    assert_int_equal(world_step(&r->w, WRITE, &err), MK_OK);
}

static void stop(run *r)
{
    world_close(&r->w);
    simfs_free(r->sim);
}

static void test_store_io__no_space_says_so_and_passes(void **state)
{
    (void)state;
    static run r;
    mk_err err;
    start(&r);
    /* As much as there is, so the next frame does not fit once what was reserved is used up. */
    const simfs_faults full = {.capacity = simfs_used(r.sim)}, none = {0};
    simfs_set_faults(r.sim, &full);
    mk_code rc = MK_OK;
    while (r.w.acked < BATCHES && (rc = world_step(&r.w, WRITE, &err)) == MK_OK)
        ;
    assert_int_equal(rc, MK_E_STATE);
    assert_string_equal(err.reason, "no_space");
    check_holds(&r, r.w.acked);
    assert_int_equal(world_step(&r.w, READ, &err), MK_OK);
    simfs_set_faults(r.sim, &none);
    while (r.w.acked < BATCHES)
        assert_int_equal(world_step(&r.w, WRITE, &err), MK_OK);
    assert_int_equal(world_step(&r.w, REOPEN, &err), MK_OK);
    check_holds(&r, BATCHES);
    stop(&r);
}

static void test_store_io__a_failed_sync_stops_the_writer(void **state)
{
    (void)state;
    static run r;
    mk_err err;
    start(&r);
    /* The write of a frame, then its sync. */
    const simfs_faults faults = {.fail_at = simfs_calls(r.sim) + 2}, none = {0};
    simfs_set_faults(r.sim, &faults);
    assert_int_equal(world_step(&r.w, WRITE, &err), MK_E_STATE);
    assert_string_equal(err.reason, "writer_stopped");
    simfs_set_faults(r.sim, &none);
    assert_int_equal(world_step(&r.w, WRITE, &err), MK_E_STATE);
    assert_string_equal(err.reason, "writer_stopped");
    assert_int_equal(world_step(&r.w, CHECKPOINT, &err), MK_E_STATE);
    assert_int_equal(world_step(&r.w, READ, &err), MK_OK);
    check_holds(&r, r.w.acked);
    assert_int_equal(world_step(&r.w, REOPEN, &err), MK_OK);
    check_holds(&r, r.w.acked + 1);
    stop(&r);
}

/* ---- the background checkpoint ---- */

typedef struct watch {
    pthread_mutex_t mutex;
    pthread_cond_t warned;
    int warnings;
} watch;

static void note_warning(void *ctx, mk_log_level level, const char *module, const char *text)
{
    watch *w = ctx;
    (void)module;
    if (level == MK_LOG_INFO || strstr(text, "checkpoint") == NULL)
        return;
    pthread_mutex_lock(&w->mutex);
    w->warnings++;
    pthread_cond_signal(&w->warned);
    pthread_mutex_unlock(&w->mutex);
}

static void test_store_io__a_checkpoint_without_space_is_skipped(void **state)
{
    (void)state;
    watch warned = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};
    static run r;
    mk_err err;
    r = (run){.sim = world_disk()};
    tap_init(&r.t, simfs_fs(r.sim));
    r.t.deny = "/data/";
    r.w = (world){.alloc = &mk_alloc_default, .fs = &r.t.fs};
    const mk_store_options options = {.mode = MK_OPEN_CREATE_WRITER, .fs = &r.t.fs, .clock = &still_clock,
                                      .log = note_warning, .log_ctx = &warned, .tail_rows = 3,
                                      .tail_log_bytes = 1};
    expect_digests(false);
    assert_int_equal(mk_store_open("dir/s", &options, &r.w.store, &err), MK_OK);
    while (r.w.acked < BATCHES)
        assert_int_equal(write_batch(&r.w, &err), MK_OK);
    pthread_mutex_lock(&warned.mutex);
    while (warned.warnings == 0)
        pthread_cond_wait(&warned.warned, &warned.mutex);
    pthread_mutex_unlock(&warned.mutex);
    check_holds(&r, BATCHES);
    /* It tries once more when there is log that no attempt has seen. */
    if (mk_store_close(r.w.store, &err) != MK_OK)
        assert_string_equal(err.reason, "no_space");
    r.w.store = NULL;
    r.t.deny = NULL;
    assert_int_equal(world_step(&r.w, REOPEN, &err), MK_OK);
    check_holds(&r, BATCHES);
    stop(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_store_io__one_call_without_space),
        cmocka_unit_test(test_store_io__one_call_that_fails),
        cmocka_unit_test(test_store_io__a_write_cut_short),
        cmocka_unit_test(test_store_io__a_full_disk_until_it_is_noticed),
        cmocka_unit_test(test_store_io__no_space_says_so_and_passes),
        cmocka_unit_test(test_store_io__a_failed_sync_stops_the_writer),
        cmocka_unit_test(test_store_io__a_checkpoint_without_space_is_skipped),
    };
    return cmocka_run_group_tests_name("store_io", tests, NULL, NULL);
}

/* Transactions of several threads: conflicts with batches that are staged and not yet durable, requests
 * repeated at the same time, and the law that serializable transactions are what their commit order,
 * one after the other, would have been. */
#include <pthread.h>
#include <stdatomic.h>

#include "store_support.h"

/* ---- a disk whose next sync waits until it is let go ---- */

typedef struct gate {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool closed;
    int waiting;
    mk_code result; /* of the sync that waited */
} gate;

static gate the_gate = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, 0, MK_OK};

static mk_code gated_sync(void *ctx, mk_file *file, mk_err *err)
{
    mk_code rc = MK_OK;
    pthread_mutex_lock(&the_gate.mutex);
    if (the_gate.closed) {
        the_gate.waiting++;
        pthread_cond_broadcast(&the_gate.changed);
        while (the_gate.closed)
            pthread_cond_wait(&the_gate.changed, &the_gate.mutex);
        the_gate.waiting--;
        rc = the_gate.result;
    }
    pthread_mutex_unlock(&the_gate.mutex);
    if (rc != MK_OK) {
        mk_fail(err, rc, "the disk is gone");
        mk_err_reason(err, "io");
        return rc;
    }
    return mk_fs_posix.sync(ctx, file, err);
}

static void close_gate(void)
{
    pthread_mutex_lock(&the_gate.mutex);
    the_gate.closed = true;
    pthread_mutex_unlock(&the_gate.mutex);
}

static void await_sync(void)
{
    pthread_mutex_lock(&the_gate.mutex);
    while (the_gate.waiting == 0)
        pthread_cond_wait(&the_gate.changed, &the_gate.mutex);
    pthread_mutex_unlock(&the_gate.mutex);
}

static void open_gate(mk_code result)
{
    pthread_mutex_lock(&the_gate.mutex);
    the_gate.closed = false;
    the_gate.result = result;
    pthread_cond_broadcast(&the_gate.changed);
    pthread_mutex_unlock(&the_gate.mutex);
}

/* ---- a store on that disk ---- */

typedef struct fixture {
    tmpdir dir;
    char path[TMPDIR_PATH_MAX];
    mk_fs fs;
    mk_store *store;
} fixture;

static int setup(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    if (f == NULL)
        return -1;
    tmpdir_make(&f->dir);
    tmpdir_join(&f->dir, "store", f->path);
    f->fs = mk_fs_posix;
    f->fs.sync = gated_sync;
    f->store = open_store(f->path, (mk_store_options){.mode = MK_OPEN_CREATE_WRITER,
                                                      .fs = &f->fs,
                                                      .tail_rows = 48,
                                                      .manual = true});
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    close_store(f->store);
    tmpdir_remove(&f->dir);
    free(f);
    return 0;
}

/* One write in a thread of its own. */
typedef struct attempt {
    mk_store *store;
    mk_op op;
    const char *request_id;
    pthread_t thread;
    _Atomic bool done;
    mk_code code;
    mk_tt tt;
    mk_err err;
} attempt;

static void *try_write(void *arg)
{
    attempt *a = arg;
    const mk_write_options options = {.request_id = a->request_id ? mk_str_of(a->request_id)
                                                                  : (mk_str){NULL, 0}};
    a->code = mk_store_write(a->store, &a->op, 1, &options, &a->tt, &a->err);
    atomic_store(&a->done, true);
    return NULL;
}

static void start(attempt *a, fixture *f, mk_op op, const char *request_id)
{
    *a = (attempt){.store = f->store, .op = op, .request_id = request_id};
    assert_int_equal(pthread_create(&a->thread, NULL, try_write, a), 0);
}

static mk_txn *begin(mk_store *store, mk_isolation isolation)
{
    mk_txn *txn = NULL;
    mk_err err;
    MUST_OK(mk_txn_begin(store, isolation, 0, &txn, &err), err);
    return txn;
}

/* ---- staged batches ---- */

static mk_code commit_node(mk_store *store, mk_txn *txn, const char *read, const char *uid, mk_err *err)
{
    const mk_op op = node_op(uid, "{\"m\":2}", 0, 10);
    mk_tt tt;
    if (read != NULL) {
        const mk_op seen = node_op(read, "{}", 0, 1);
        MUST(mk_txn_read(txn, &seen, (mk_vt){0}, (mk_vt){10}, NULL) == MK_OK);
    }
    MUST(mk_txn_write(txn, &op, NULL) == MK_OK);
    const mk_code rc = mk_txn_commit(txn, NULL, &tt, err);
    mk_txn_end(txn);
    (void)store;
    return rc;
}

static void test_txn_threads__a_staged_batch_conflicts_before_it_is_durable(void **state)
{
    fixture *f = *state;
    attempt first;
    mk_err err;
    mk_view *view;
    close_gate();
    start(&first, f, node_op("n", "{\"m\":1}", 0, 10), NULL);
    await_sync();
    /* Not published, so no view sees it; yet what it writes is taken. */
    MUST_OK(mk_view_at(f->store, now, 0, &view, &err), err);
    assert_int_equal(marker_of(view, MK_STR("n"), 1), -1);
    mk_view_close(view);
    assert_int_equal(commit_node(f->store, begin(f->store, MK_ISO_SNAPSHOT), NULL, "n", &err),
                     MK_E_WRITE_CONFLICT);
    assert_int_equal(commit_node(f->store, begin(f->store, MK_ISO_SERIALIZABLE), "n", "m", &err),
                     MK_E_SERIALIZATION);
    assert_false(atomic_load(&first.done));
    open_gate(MK_OK);
    pthread_join(first.thread, NULL);
    assert_int_equal(first.code, MK_OK);
    char expected[48];
    snprintf(expected, sizeof expected, "\"tt\":%lld", (long long)first.tt.us);
    assert_string_equal(err.extra, expected);
    assert_int_equal(commit_node(f->store, begin(f->store, MK_ISO_SERIALIZABLE), "n", "n", &err), MK_OK);
}

static void test_txn_threads__a_failed_sync_fails_all_that_wait(void **state)
{
    fixture *f = *state;
    attempt first, second;
    mk_err err;
    mk_view *view;
    const mk_op before = node_op("kept", "{\"m\":1}", 0, 10);
    write_ops(f->store, &before, 1);
    close_gate();
    start(&first, f, node_op("a", "{}", 0, 10), NULL);
    await_sync();
    start(&second, f, node_op("b", "{}", 0, 10), NULL);
    /* Whether the second is staged by now or only wants to be, it must not succeed. */
    open_gate(MK_E_STATE);
    pthread_join(first.thread, NULL);
    pthread_join(second.thread, NULL);
    assert_int_equal(first.code, MK_E_STATE);
    assert_int_equal(second.code, MK_E_STATE);
    assert_string_equal(first.err.reason, "writer_stopped");
    assert_string_equal(second.err.reason, "writer_stopped");
    MUST_OK(mk_view_at(f->store, now, 0, &view, &err), err);
    assert_int_equal(marker_of(view, MK_STR("kept"), 1), 1);
    assert_int_equal(mk_view_entity(view, MK_STR("a")), MK_NO_ID);
    assert_int_equal(mk_view_entity(view, MK_STR("b")), MK_NO_ID);
    mk_view_close(view);
    assert_int_equal(mk_store_write(f->store, &before, 1, NULL, NULL, &err), MK_E_STATE);
    assert_string_equal(err.reason, "writer_stopped");
}

/* ---- requests ---- */

enum { REPEATS = 8, ROUNDS = 12 };

static void test_txn_threads__a_request_repeated_at_once_is_written_once(void **state)
{
    fixture *f = *state;
    attempt tries[REPEATS];
    uint64_t records = 0;
    char id[16];
    for (int round = 0; round < ROUNDS; round++) {
        snprintf(id, sizeof id, "r%d", round);
        close_gate();
        for (int i = 0; i < REPEATS; i++)
            start(&tries[i], f, node_op("n", "{}", i, i + 1), id);
        await_sync();
        open_gate(MK_OK);
        for (int i = 0; i < REPEATS; i++)
            pthread_join(tries[i].thread, NULL);
        for (int i = 0; i < REPEATS; i++) {
            assert_int_equal(tries[i].code, MK_OK);
            assert_int_equal(tries[i].tt.us, tries[0].tt.us);
        }
    }
    each_line(f->path, count_line, &records);
    assert_int_equal(records, ROUNDS);
}

/* ---- serializable means serial ---- */

enum { THREADS = 4, COMMITS = 40, ACCOUNTS = 6 };

/* What one committed transaction read and wrote. */
typedef struct deed {
    int64_t tt;
    int read[3], wrote[2];
    int64_t seen[3], put[2];
    int read_count, write_count;
} deed;

typedef struct worker {
    mk_store *store;
    mk_isolation isolation;
    uint64_t random;
    pthread_t thread;
    deed deeds[COMMITS];
    int deed_count;
    uint64_t refused;
} worker;

static uint64_t below(worker *w, uint64_t n)
{
    w->random = w->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (w->random >> 33) % n;
}

static void account_uid(char uid[32], int account) { snprintf(uid, 32, "account-%d", account); }

/* Reads up to three accounts, writes up to two values that depend on what was read. */
static mk_code work(worker *w, deed *d)
{
    char uids[ACCOUNTS][32], props[2][40];
    mk_err err;
    mk_tt tt = {0};
    int64_t sum = 1 + (int64_t)below(w, 5);
    mk_txn *txn = begin(w->store, w->isolation);
    *d = (deed){.read_count = 1 + (int)below(w, 3), .write_count = 1 + (int)below(w, 2)};
    for (int i = 0; i < ACCOUNTS; i++)
        account_uid(uids[i], i);
    for (int i = 0; i < d->read_count; i++) {
        d->read[i] = (int)below(w, ACCOUNTS);
        const mk_op op = node_op(uids[d->read[i]], "{}", 0, 1);
        MUST(mk_txn_read(txn, &op, (mk_vt){0}, (mk_vt){MK_OPEN_END}, NULL) == MK_OK);
        d->seen[i] = marker_of(mk_txn_view(txn), op.uid, 1);
        sum += d->seen[i];
    }
    /* Sometimes what was read, sometimes something else: skew and lost updates alike. */
    d->wrote[0] = below(w, 2) ? d->read[0] : (int)below(w, ACCOUNTS);
    d->wrote[1] = (d->wrote[0] + 1) % ACCOUNTS;
    for (int i = 0; i < d->write_count; i++) {
        d->put[i] = (sum * 7 + i) % 1000003;
        snprintf(props[i], sizeof props[i], "{\"m\":%lld}", (long long)d->put[i]);
        const mk_op op = node_op(uids[d->wrote[i]], props[i], 0, MK_OPEN_END);
        MUST(mk_txn_write(txn, &op, NULL) == MK_OK);
    }
    const mk_code rc = mk_txn_commit(txn, NULL, &tt, &err);
    d->tt = tt.us;
    mk_txn_end(txn);
    MUST(rc == MK_OK || rc == MK_E_WRITE_CONFLICT || rc == MK_E_SERIALIZATION);
    MUST(rc == MK_OK || err.retry == MK_RETRY_AS_IS);
    return rc;
}

static void *work_on(void *arg)
{
    worker *w = arg;
    while (w->deed_count < COMMITS) {
        if (work(w, &w->deeds[w->deed_count]) == MK_OK)
            w->deed_count++;
        else
            w->refused++;
    }
    return NULL;
}

static int by_tt(const void *x, const void *y)
{
    const deed *a = x, *b = y;
    return a->tt < b->tt ? -1 : a->tt > b->tt;
}

/* Does the deeds one after the other on a plain array. True when each would have read the same; under
 * snapshot isolation only what a deed also wrote is compared, which is that no update was lost. */
static bool is_serial(const deed *deeds, size_t count, bool all_reads, int64_t value[ACCOUNTS])
{
    memset(value, 0, ACCOUNTS * sizeof *value);
    for (size_t i = 0; i < count; i++) {
        const deed *d = &deeds[i];
        for (int r = 0; r < d->read_count; r++) {
            bool compare = all_reads;
            for (int j = 0; j < d->write_count; j++)
                compare |= d->wrote[j] == d->read[r];
            if (compare && value[d->read[r]] != d->seen[r])
                return false;
        }
        for (int j = 0; j < d->write_count; j++)
            value[d->wrote[j]] = d->put[j];
    }
    return true;
}

static void check_values(mk_store *store, const int64_t value[ACCOUNTS])
{
    mk_view *view;
    char uid[32];
    assert_int_equal(mk_view_at(store, now, 0, &view, NULL), MK_OK);
    for (int i = 0; i < ACCOUNTS; i++) {
        account_uid(uid, i);
        assert_int_equal(marker_of(view, mk_str_of(uid), 1), value[i]);
    }
    mk_view_close(view);
}

static void run_workers(fixture *f, mk_isolation isolation, uint64_t seed)
{
    static worker workers[THREADS];
    static deed deeds[THREADS * COMMITS];
    int64_t value[ACCOUNTS];
    mk_op ops[ACCOUNTS];
    char uids[ACCOUNTS][32];
    size_t count = 0;
    uint64_t refusals = 0, records = 0;
    memset(workers, 0, sizeof workers);
    for (int i = 0; i < ACCOUNTS; i++) {
        account_uid(uids[i], i);
        ops[i] = node_op(uids[i], "{\"m\":0}", 0, MK_OPEN_END);
    }
    write_ops(f->store, ops, ACCOUNTS);
    for (int i = 0; i < THREADS; i++) {
        workers[i].store = f->store;
        workers[i].isolation = isolation;
        workers[i].random = seed * 1000 + (uint64_t)i;
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work_on, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        memcpy(deeds + count, workers[i].deeds, sizeof workers[i].deeds);
        count += COMMITS;
        refusals += workers[i].refused;
    }
    qsort(deeds, count, sizeof *deeds, by_tt);
    if (!is_serial(deeds, count, isolation == MK_ISO_SERIALIZABLE, value))
        fail_msg("MK_SEED=%llu: the outcome is not that of the commit order", (unsigned long long)seed);
    check_values(f->store, value);
    each_line(f->path, count_line, &records);
    assert_int_equal(records, 1 + count); /* what was refused left nothing in the log */
    print_message("%zu commits, %llu refused\n", count, (unsigned long long)refusals);
}

static uint64_t seed_or(uint64_t usual)
{
    const char *text = getenv("MK_SEED");
    return text ? strtoull(text, NULL, 10) : usual;
}

static void test_txn_threads__serializable_is_the_commit_order(void **state)
{
    run_workers(*state, MK_ISO_SERIALIZABLE, seed_or(1));
}

static void test_txn_threads__snapshot_loses_no_update(void **state)
{
    run_workers(*state, MK_ISO_SNAPSHOT, seed_or(2));
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_txn_threads__##name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_staged_batch_conflicts_before_it_is_durable),
        TEST(a_failed_sync_fails_all_that_wait),
        TEST(a_request_repeated_at_once_is_written_once),
        TEST(serializable_is_the_commit_order),
        TEST(snapshot_loses_no_update),
    };
    return cmocka_run_group_tests_name("txn_threads", tests, NULL, NULL);
}

/* Readers against writers in one process, with tails so small that sealing, merging and background
 * checkpoints never stop.
 *
 * Every batch of a writer sets three nodes of its own to one marker, among other things, so a view that
 * sees two markers of one writer has seen half a batch. Failing batches set a marker that nobody may
 * ever see. Laws: a pinned view gives the same bytes for ever; a batch is seen whole or not at all; what
 * was acknowledged is seen by every view opened afterwards; transaction times are unique and published
 * in order; and the log alone gives the same store again. */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "store_support.h"

enum { WRITERS = 4, READERS = 3, BATCHES = 48, NODES = 3, PINS = 3, COMMITS_MAX = 16384 };

typedef struct arena_of_threads {
    mk_store *store;
    _Atomic int writers_left;
    _Atomic int64_t acknowledged; /* largest tt that any write has returned */
    _Atomic uint64_t checks;
    int64_t announced[COMMITS_MAX]; /* by the listener, in its order */
    size_t announced_count;
} arena_of_threads;

typedef struct writer {
    arena_of_threads *all;
    pthread_t thread;
    int number;
    int64_t tts[BATCHES];
    size_t tt_count;
} writer;

static void own_uid(char uid[32], int writer_number, int node)
{
    snprintf(uid, 32, "w%d-%d", writer_number, node);
}

static void raise_to(_Atomic int64_t *value, int64_t to)
{
    int64_t seen = atomic_load(value);
    while (seen < to && !atomic_compare_exchange_weak(value, &seen, to))
        continue;
}

/* ---- writers ---- */

/* Ops of one batch and the texts they borrow. */
typedef struct draft {
    mk_op ops[16];
    size_t count;
    char uids[NODES][32];
    char props[32], more[4][40];
    mk_event events[4];
} draft;

static void set_marker(draft *d, int number, int64_t marker, bool correct)
{
    snprintf(d->props, sizeof d->props, "{\"m\":%lld}", (long long)marker);
    for (int node = 0; node < NODES; node++) {
        own_uid(d->uids[node], number, node);
        d->ops[d->count++] = correct ? correct_node_op(d->uids[node], d->props, 0, MK_OPEN_END)
                                     : node_op(d->uids[node], d->props, 0, MK_OPEN_END);
    }
}

/* Writers meet on the nodes and edges named "s0" to "s2". */
static void add_shared(draft *d, int number, int i)
{
    const int64_t start = (i * 7 + number * 3) % 50;
    d->ops[d->count++] = node_op("s0", d->props, start, start + 10);
    d->ops[d->count++] = edge_op("s0", "s1", "", d->props, start, start + 5);
    d->ops[d->count++] = edge_op("s1", "s1", "loop", d->props, start, MK_OPEN_END);
}

static void add_events(draft *d, int number, int i)
{
    const int64_t first = ((int64_t)number * BATCHES + i) * 4;
    for (int e = 0; e < 4; e++)
        d->events[e] = event_of(d->uids[e % NODES], "hub", 100 + i);
    d->ops[d->count++] = events_op(d->events, 4, first);
}

/* A batch that must fail at its last op, having registered names and ended beliefs before. */
static void write_failing(writer *w, int i)
{
    draft d = {.count = 0};
    mk_err err;
    mk_tt tt = {-1};
    set_marker(&d, w->number, 1000000, false);
    snprintf(d.more[0], sizeof d.more[0], "ghost-%d-%d", w->number, i);
    d.ops[d.count++] = node_op(d.more[0], "{}", 0, 5);
    d.ops[d.count++] = edge_op(d.more[0], "s0", d.more[0], "{}", 0, 5);
    d.ops[d.count++] = retract_node_op("never", 3);
    MUST(mk_store_write(w->all->store, d.ops, d.count, NULL, &tt, &err) == MK_E_NOT_FOUND);
    MUST(tt.us == -1);
}

static void check_own_marker(writer *w, int64_t marker, mk_tt tt)
{
    mk_view *view;
    mk_err err;
    char uid[32];
    MUST_OK(mk_view_at(w->all->store, now, 0, &view, &err), err);
    MUST(mk_view_effective_tt(view).us >= tt.us);
    for (int node = 0; node < NODES; node++) {
        own_uid(uid, w->number, node);
        MUST(marker_of(view, mk_str_of(uid), 1) == marker);
    }
    mk_view_close(view);
}

static void *write_batches(void *arg)
{
    writer *w = arg;
    for (int i = 0; i < BATCHES; i++) {
        draft d = {.count = 0};
        if (i % 6 == 4)
            write_failing(w, i);
        set_marker(&d, w->number, i, i % 5 == 3);
        if (i % 3 == 0)
            add_shared(&d, w->number, i);
        if (i % 4 == 1)
            add_events(&d, w->number, i);
        snprintf(d.more[1], sizeof d.more[1], "t%d", w->number);
        if (i % 8 == 2)
            d.ops[d.count++] = node_op(d.more[1], d.props, 10, 90);
        if (i % 8 == 6)
            d.ops[d.count++] = retract_node_op(d.more[1], 40);
        const mk_tt tt = write_ops(w->all->store, d.ops, d.count);
        w->tts[w->tt_count++] = tt.us;
        raise_to(&w->all->acknowledged, tt.us);
        check_own_marker(w, i, tt);
    }
    atomic_fetch_sub(&w->all->writers_left, 1);
    return NULL;
}

/* ---- readers ---- */

static void check_whole_batches(mk_view *view)
{
    char uid[32];
    for (int number = 0; number < WRITERS; number++) {
        own_uid(uid, number, 0);
        const int64_t marker = marker_of(view, mk_str_of(uid), 1);
        MUST(marker < BATCHES);
        for (int node = 1; node < NODES; node++) {
            own_uid(uid, number, node);
            MUST(marker_of(view, mk_str_of(uid), 1) == marker);
        }
    }
    for (uint32_t id = 0; id < mk_view_entity_count(view); id++)
        MUST(!mk_str_starts(mk_view_uid(view, id), MK_STR("ghost")));
    MUST(mk_view_entity(view, MK_STR("ghost-0-4")) == MK_NO_ID);
}

typedef struct pin {
    mk_view *view;
    uint8_t whole[32], beliefs[32];
} pin;

static void check_pin(arena_of_threads *all, const pin *p)
{
    uint8_t again[32];
    mk_view *other;
    mk_err err;
    view_hash(p->view, again);
    MUST(memcmp(again, p->whole, 32) == 0);
    /* A view made now of that past time looks at other segments and must agree. */
    MUST_OK(mk_view_at(all->store, mk_view_effective_tt(p->view), 0, &other, &err), err);
    beliefs_hash(other, again);
    MUST(memcmp(again, p->beliefs, 32) == 0);
    mk_view_close(other);
    atomic_fetch_add(&all->checks, 1);
}

static void *read_views(void *arg)
{
    arena_of_threads *all = arg;
    pin pins[PINS] = {{0}};
    mk_err err;
    int64_t last = 0;
    for (size_t round = 0; atomic_load(&all->writers_left) > 0 || round < 2 * PINS; round++) {
        pin *p = &pins[round % PINS];
        const int64_t acknowledged = atomic_load(&all->acknowledged);
        if (p->view != NULL) {
            check_pin(all, p);
            mk_view_close(p->view);
        }
        MUST_OK(mk_view_at(all->store, now, 0, &p->view, &err), err);
        const int64_t tt = mk_view_effective_tt(p->view).us;
        MUST(tt >= acknowledged && tt >= last && mk_view_is_current(p->view));
        last = tt;
        check_whole_batches(p->view);
        view_hash(p->view, p->whole);
        beliefs_hash(p->view, p->beliefs);
    }
    for (size_t i = 0; i < PINS; i++) {
        check_pin(all, &pins[i]);
        mk_view_close(pins[i].view);
    }
    return NULL;
}

/* ---- upkeep on demand, beside the background's ---- */

static void *keep_up(void *arg)
{
    arena_of_threads *all = arg;
    mk_err err;
    char digest[65];
    for (int round = 0; atomic_load(&all->writers_left) > 0; round++) {
        mk_disk_stats disk;
        MUST_OK(mk_store_disk_stats(all->store, &disk, &err), err);
        MUST(mk_store_last_tt(all->store).us >= 0 && mk_store_next_disc(all->store) >= 0);
        if (round % 3 == 0)
            MUST_OK(mk_store_checkpoint(all->store, &err), err);
        if (round % 3 == 1)
            MUST_OK(mk_store_compact(all->store, &err), err);
        if (round % 3 == 2)
            digest_of(all->store, digest);
    }
    return NULL;
}

/* ---- together ---- */

static void note_commit(void *ctx, const mk_commit *commit)
{
    arena_of_threads *all = ctx;
    MUST(all->announced_count < COMMITS_MAX);
    MUST(commit->seq == all->announced_count + 1);
    all->announced[all->announced_count++] = commit->tt.us;
}

static int by_value(const void *x, const void *y)
{
    const int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return a < b ? -1 : a > b;
}

static void check_times(arena_of_threads *all, writer *writers)
{
    int64_t returned[WRITERS * BATCHES];
    size_t count = 0;
    for (int i = 0; i < WRITERS; i++)
        for (size_t j = 0; j < writers[i].tt_count; j++) {
            assert_true(j == 0 || writers[i].tts[j - 1] < writers[i].tts[j]);
            returned[count++] = writers[i].tts[j];
        }
    qsort(returned, count, sizeof *returned, by_value);
    assert_int_equal(count, all->announced_count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(returned[i], all->announced[i]); /* the same, and published in order */
        assert_true(i == 0 || returned[i - 1] < returned[i]);
    }
}

static void check_log(const tmpdir *dir, const char *path, const char digest[65])
{
    char again[65], copy[TMPDIR_PATH_MAX];
    replay_digest(path, tmpdir_join(dir, "copy", copy), again);
    assert_string_equal(again, digest);
    for (int rebuild = 0; rebuild < 2; rebuild++) {
        mk_store *store = open_store(
            path, (mk_store_options){.mode = MK_OPEN_WRITER, .manual = true, .rebuild = rebuild});
        digest_of(store, again);
        assert_string_equal(again, digest);
        close_store(store);
    }
}

static void run_threads(uint32_t tail_rows, uint64_t tail_log_bytes, bool upkeep)
{
    static arena_of_threads all;
    static writer writers[WRITERS];
    pthread_t readers[READERS], keeper;
    tmpdir dir;
    char path[TMPDIR_PATH_MAX], digest[65];
    memset(&all, 0, sizeof all);
    memset(writers, 0, sizeof writers);
    tmpdir_make(&dir);
    tmpdir_join(&dir, "store", path);
    all.store = open_store(path, (mk_store_options){.mode = MK_OPEN_CREATE_WRITER,
                                                    .tail_rows = tail_rows,
                                                    .tail_log_bytes = tail_log_bytes});
    atomic_store(&all.writers_left, WRITERS);
    mk_store_listen(all.store, note_commit, &all);
    for (int i = 0; i < WRITERS; i++) {
        writers[i].all = &all;
        writers[i].number = i;
        assert_int_equal(pthread_create(&writers[i].thread, NULL, write_batches, &writers[i]), 0);
    }
    for (int i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&readers[i], NULL, read_views, &all), 0);
    if (upkeep)
        assert_int_equal(pthread_create(&keeper, NULL, keep_up, &all), 0);
    for (int i = 0; i < WRITERS; i++)
        pthread_join(writers[i].thread, NULL);
    for (int i = 0; i < READERS; i++)
        pthread_join(readers[i], NULL);
    if (upkeep)
        pthread_join(keeper, NULL);
    assert_true(atomic_load(&all.checks) >= READERS * PINS);
    check_times(&all, writers);
    digest_of(all.store, digest);
    close_store(all.store);
    check_log(&dir, path, digest);
    tmpdir_remove(&dir);
}

static void test_store_threads__views_stay_and_batches_are_whole(void **state)
{
    (void)state;
    run_threads(16, 4096, false);
}

static void test_store_threads__a_tail_that_is_sealed_rarely_is_no_different(void **state)
{
    (void)state;
    run_threads(2000, 64 << 10, false);
}

static void test_store_threads__checkpoints_and_merges_on_demand_change_nothing(void **state)
{
    (void)state;
    run_threads(200, 8192, true);
}

/* ---- a reader's handle with several threads ---- */

/* Threads that share a handle for reading, refresh it all the time and hold views meanwhile, beside a writer
 * that has its own handle of the same store. */
typedef struct follower {
    mk_store *reader;
    _Atomic bool *done;
    _Atomic int64_t *acknowledged;
    int64_t last;
    pthread_t thread;
} follower;

static void *follow(void *arg)
{
    follower *f = arg;
    for (bool stop = false; !stop;) {
        mk_view *view;
        mk_err err;
        uint8_t before[32], after[32];
        stop = atomic_load(f->done);
        const int64_t acknowledged = atomic_load(f->acknowledged);
        MUST_OK(mk_store_refresh(f->reader, &err), err);
        MUST_OK(mk_view_at(f->reader, now, 0, &view, &err), err);
        MUST(mk_view_effective_tt(view).us >= acknowledged && mk_view_effective_tt(view).us >= f->last);
        f->last = mk_view_effective_tt(view).us;
        check_whole_batches(view);
        view_hash(view, before);
        MUST_OK(mk_store_refresh(f->reader, &err), err);
        view_hash(view, after);
        MUST(memcmp(before, after, 32) == 0);
        mk_view_close(view);
    }
    return NULL;
}

static void test_store_threads__a_reader_is_refreshed_by_many(void **state)
{
    (void)state;
    static arena_of_threads all;
    static writer w;
    tmpdir dir;
    char path[TMPDIR_PATH_MAX], ours[65], theirs[65];
    follower followers[READERS];
    _Atomic bool done = false;
    memset(&all, 0, sizeof all);
    w = (writer){.all = &all};
    tmpdir_make(&dir);
    tmpdir_join(&dir, "store", path);
    all.store = open_store(path, (mk_store_options){
                                     .mode = MK_OPEN_CREATE_WRITER, .tail_rows = 64, .tail_log_bytes = 8192});
    atomic_store(&all.writers_left, 1);
    mk_store *reader = open_store(path, (mk_store_options){.mode = MK_OPEN_READER, .tail_rows = 40});
    for (int i = 0; i < READERS; i++) {
        followers[i] = (follower){.reader = reader, .done = &done, .acknowledged = &all.acknowledged};
        assert_int_equal(pthread_create(&followers[i].thread, NULL, follow, &followers[i]), 0);
    }
    assert_int_equal(pthread_create(&w.thread, NULL, write_batches, &w), 0);
    pthread_join(w.thread, NULL);
    atomic_store(&done, true);
    for (int i = 0; i < READERS; i++) {
        pthread_join(followers[i].thread, NULL);
        assert_int_equal(followers[i].last, w.tts[w.tt_count - 1]);
    }
    digest_of(all.store, ours);
    digest_of(reader, theirs);
    assert_string_equal(ours, theirs);
    close_store(reader);
    close_store(all.store);
    tmpdir_remove(&dir);
}

/* ---- large loads ---- */

enum { LOAD_EVENTS = 4200, LOADS = 3 };

typedef struct loader {
    mk_store *store;
    _Atomic bool done;
} loader;

static bool count_edge(void *ctx, const mk_edge_ref *ref)
{
    (void)ref;
    ++*(size_t *)ctx;
    return true;
}

static void *load_events(void *arg)
{
    loader *l = arg;
    mk_event *events = calloc(LOAD_EVENTS, sizeof *events);
    MUST(events != NULL);
    for (int load = 0; load < LOADS; load++) {
        static const char *const uids[] = {"a", "b", "c", "d"};
        for (int i = 0; i < LOAD_EVENTS; i++)
            events[i] = event_of(uids[i % 4], uids[i / 4 % 4], load * 100000 + i);
        const mk_op op = events_op(events, LOAD_EVENTS, mk_store_next_disc(l->store));
        write_ops(l->store, &op, 1);
    }
    free(events);
    atomic_store(&l->done, true);
    return NULL;
}

static void *write_beside(void *arg)
{
    loader *l = arg;
    for (int i = 0; !atomic_load(&l->done) && i < 400; i++) {
        const mk_op op = node_op("beside", "{}", i % 20, i % 20 + 4);
        write_ops(l->store, &op, 1);
    }
    return NULL;
}

static void test_store_threads__a_large_load_is_seen_whole_or_not_at_all(void **state)
{
    (void)state;
    tmpdir dir;
    char path[TMPDIR_PATH_MAX], digest[65];
    pthread_t threads[2];
    tmpdir_make(&dir);
    tmpdir_join(&dir, "store", path);
    loader l = {.store = open_store(path, (mk_store_options){.mode = MK_OPEN_CREATE_WRITER,
                                                             .tail_rows = 32,
                                                             .tail_log_bytes = 100000})};
    assert_int_equal(pthread_create(&threads[0], NULL, load_events, &l), 0);
    assert_int_equal(pthread_create(&threads[1], NULL, write_beside, &l), 0);
    for (size_t seen = 0; seen < (size_t)LOADS * LOAD_EVENTS;) {
        mk_view *view;
        size_t count = 0;
        mk_view_stats stats;
        assert_int_equal(mk_view_at(l.store, now, 0, &view, NULL), MK_OK);
        assert_int_equal(mk_view_edges(view, &mk_edge_filter_all, count_edge, &count, NULL), MK_OK);
        mk_view_get_stats(view, &stats);
        mk_view_close(view);
        assert_true(count % LOAD_EVENTS == 0 && count >= seen);
        assert_int_equal(stats.edge_versions, count);
        seen = count;
    }
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    assert_int_equal(mk_store_next_disc(l.store), LOADS * LOAD_EVENTS);
    digest_of(l.store, digest);
    close_store(l.store);
    check_log(&dir, path, digest);
    tmpdir_remove(&dir);
}

/* ---- group commit ---- */

enum { GROUP_THREADS = 16, GROUP_OPS = 12 };

/* A disk whose syncs take as long as those of a real one, so that commits meet. */
static mk_code slow_sync(void *ctx, mk_file *file, mk_err *err)
{
    const struct timespec rest = {.tv_nsec = 2000000};
    nanosleep(&rest, NULL);
    return mk_fs_posix.sync(ctx, file, err);
}

typedef struct single {
    mk_store *store;
    int number;
    pthread_t thread;
} single;

static void *write_singles(void *arg)
{
    const single *s = arg;
    char uid[32];
    snprintf(uid, sizeof uid, "n%d", s->number);
    for (int i = 0; i < GROUP_OPS; i++) {
        const mk_op op = node_op(uid, "{}", i, i + 1);
        write_ops(s->store, &op, 1);
    }
    return NULL;
}

static void test_store_threads__single_ops_of_many_threads_share_frames(void **state)
{
    (void)state;
    tmpdir dir;
    char path[TMPDIR_PATH_MAX];
    single singles[GROUP_THREADS];
    uint64_t records = 0;
    mk_fs slow = mk_fs_posix;
    slow.sync = slow_sync;
    tmpdir_make(&dir);
    tmpdir_join(&dir, "store", path);
    mk_store *store = open_store(
        path, (mk_store_options){.mode = MK_OPEN_CREATE_WRITER, .fs = &slow, .manual = true});
    const uint64_t before = mk_store_log_frames(store);
    for (int i = 0; i < GROUP_THREADS; i++) {
        singles[i] = (single){.store = store, .number = i};
        assert_int_equal(pthread_create(&singles[i].thread, NULL, write_singles, &singles[i]), 0);
    }
    for (int i = 0; i < GROUP_THREADS; i++)
        pthread_join(singles[i].thread, NULL);
    const uint64_t frames = mk_store_log_frames(store) - before;
    close_store(store);
    each_line(path, count_line, &records);
    assert_int_equal(records, GROUP_THREADS * GROUP_OPS); /* a frame is shared, a batch never */
    print_message("%d commits in %llu frames\n", GROUP_THREADS * GROUP_OPS, (unsigned long long)frames);
    assert_true(frames * 2 <= GROUP_THREADS * GROUP_OPS);
    tmpdir_remove(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_store_threads__views_stay_and_batches_are_whole),
        cmocka_unit_test(test_store_threads__a_tail_that_is_sealed_rarely_is_no_different),
        cmocka_unit_test(test_store_threads__checkpoints_and_merges_on_demand_change_nothing),
        cmocka_unit_test(test_store_threads__a_reader_is_refreshed_by_many),
        cmocka_unit_test(test_store_threads__a_large_load_is_seen_whole_or_not_at_all),
        cmocka_unit_test(test_store_threads__single_ops_of_many_threads_share_frames),
    };
    return cmocka_run_group_tests_name("store_threads", tests, NULL, NULL);
}

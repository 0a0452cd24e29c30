/* A reader process beside a writer process: this program reads, a child that it forks writes.
 *
 * The child obeys one-letter commands from a pipe and says through another what it has done, so a test
 * knows what was acknowledged even when the child is killed. Batch m sets three nodes to the marker m,
 * among other things: a reader that sees two markers has seen half a batch. The reader's file layer
 * aborts on anything that would change the disk. */
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "store_support.h"

enum { NODES = 3, KILLS = 15 };

static const char *const uids[NODES] = {"a", "b", "c"};

/* ---- a reader's disk ---- */

static mk_code open_for_reading(void *ctx, const char *path, unsigned flags, mk_file **out, mk_err *err)
{
    MUST(flags == MK_OPEN_READ);
    return mk_fs_posix.open(ctx, path, flags, out, err);
}

static mk_code no_write(void *ctx, mk_file *file, const void *p, size_t n, uint64_t at, mk_err *err)
{
    (void)ctx, (void)file, (void)p, (void)n, (void)at, (void)err;
    abort();
}

static mk_code no_truncate(void *ctx, mk_file *file, uint64_t size, mk_err *err)
{
    (void)ctx, (void)file, (void)size, (void)err;
    abort();
}

static mk_code no_reserve(void *ctx, mk_file *file, uint64_t at, uint64_t n, mk_err *err)
{
    (void)ctx, (void)file, (void)at, (void)n, (void)err;
    abort();
}

static mk_code no_rename(void *ctx, const char *from, const char *to, mk_err *err)
{
    (void)ctx, (void)from, (void)to, (void)err;
    abort();
}

static mk_code no_change(void *ctx, const char *path, mk_err *err)
{
    (void)ctx, (void)path, (void)err;
    abort();
}

static mk_fs reading_fs(void)
{
    mk_fs fs = mk_fs_posix;
    fs.open = open_for_reading;
    fs.write_at = no_write;
    fs.truncate = no_truncate;
    fs.reserve = no_reserve;
    fs.rename = no_rename;
    fs.remove = no_change;
    fs.make_dir = no_change;
    return fs;
}

static mk_fs the_reading_fs;

static mk_store *open_reader(const char *path)
{
    the_reading_fs = reading_fs();
    return open_store(path, (mk_store_options){
                                .mode = MK_OPEN_READER, .fs = &the_reading_fs, .tail_rows = 24});
}

/* ---- the writer process ---- */

/* What the child does to itself at its n-th append from now: nothing (0), or die there. */
typedef enum death { LIVES, DIES_BEFORE_HEAD, DIES_IN_THE_FRAME } death;

static struct {
    death death;
    uint64_t countdown;
} doom;

static mk_code dying_sync(void *ctx, mk_file *file, mk_err *err)
{
    const mk_code rc = mk_fs_posix.sync(ctx, file, err);
    if (doom.death == DIES_BEFORE_HEAD && --doom.countdown == 0)
        raise(SIGKILL);
    return rc;
}

static mk_code dying_write(void *ctx, mk_file *file, const void *p, size_t n, uint64_t at, mk_err *err)
{
    if (doom.death == DIES_IN_THE_FRAME && --doom.countdown == 0) {
        const mk_code rc = mk_fs_posix.write_at(ctx, file, p, n / 2, at, err);
        (void)rc;
        raise(SIGKILL);
    }
    return mk_fs_posix.write_at(ctx, file, p, n, at, err);
}

typedef struct ack {
    int64_t marker, tt, at_us; /* at_us: monotonic clock after the commit returned */
} ack;

static int64_t monotonic_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static bool send_all(int to, const void *p, size_t n)
{
    return write(to, p, n) == (ssize_t)n; /* shorter than PIPE_BUF, so whole or not at all */
}

static bool receive(int from, void *p, size_t n)
{
    size_t got = 0;
    while (got < n) {
        const ssize_t more = read(from, (char *)p + got, n - got);
        if (more <= 0)
            return false;
        got += (size_t)more;
    }
    return true;
}

static ack write_batch(mk_store *store, int64_t marker)
{
    mk_op ops[NODES + 2];
    mk_event events[2];
    char props[32];
    snprintf(props, sizeof props, "{\"m\":%lld}", (long long)marker);
    for (int i = 0; i < NODES; i++)
        ops[i] = node_op(uids[i], props, 0, MK_OPEN_END);
    ops[NODES] = edge_op("a", "b", "", props, marker % 20, marker % 20 + 5);
    events[0] = event_of("a", "c", marker);
    events[1] = event_of("c", "d", marker);
    ops[NODES + 1] = events_op(events, 2, 2 * marker);
    const mk_tt tt = write_ops(store, ops, NODES + 2);
    return (ack){marker, tt.us, monotonic_us()};
}

static int64_t newest_marker(mk_store *store)
{
    mk_view *view;
    mk_err err;
    MUST_OK(mk_view_at(store, now, 0, &view, &err), err);
    const int64_t marker = marker_of(view, mk_str_of(uids[0]), 1);
    for (int i = 1; i < NODES; i++)
        MUST(marker_of(view, mk_str_of(uids[i]), 1) == marker);
    mk_view_close(view);
    return marker;
}

static void obey(mk_store *store, int from, int to)
{
    char command, digest[65];
    mk_err err;
    const ack hello = {newest_marker(store), mk_store_last_tt(store).us, 0};
    ack last = hello;
    if (!send_all(to, &hello, sizeof hello))
        return;
    while (receive(from, &command, 1) && command != 'q') {
        switch (command) {
        case 'r': /* run until killed */
            do
                last = write_batch(store, last.marker + 1);
            while (send_all(to, &last, sizeof last));
            return;
        case 'w':
            last = write_batch(store, last.marker + 1);
            break;
        case 'c':
            MUST_OK(mk_store_compact(store, &err), err);
            MUST_OK(mk_store_checkpoint(store, &err), err);
            break;
        case 'h': /* the next frame is synced and the child dies before it says so */
            doom.death = DIES_BEFORE_HEAD;
            doom.countdown = 1;
            continue;
        case 't': /* half of the next frame is written */
            doom.death = DIES_IN_THE_FRAME;
            doom.countdown = 1;
            continue;
        case 'd':
            digest_of(store, digest);
            MUST(send_all(to, digest, sizeof digest));
            continue;
        default: abort();
        }
        if (!send_all(to, &last, sizeof last))
            return;
    }
}

typedef struct peer {
    pid_t pid;
    int to, from;
    ack hello;
} peer;

static peer start_writer(const char *path, bool manual)
{
    int commands[2], answers[2];
    peer p = {0};
    MUST(pipe(commands) == 0 && pipe(answers) == 0);
    fflush(NULL);
    p.pid = fork();
    MUST(p.pid >= 0);
    if (p.pid == 0) {
        mk_fs fs = mk_fs_posix;
        signal(SIGPIPE, SIG_IGN);
        fs.sync = dying_sync;
        fs.write_at = dying_write;
        close(commands[1]);
        close(answers[0]);
        mk_store *store = open_store(path, (mk_store_options){.mode = MK_OPEN_CREATE_WRITER,
                                                              .fs = &fs,
                                                              .tail_rows = 24,
                                                              .tail_log_bytes = 6000,
                                                              .manual = manual});
        obey(store, commands[0], answers[1]);
        close_store(store);
        _exit(0);
    }
    close(commands[0]);
    close(answers[1]);
    p.to = commands[1];
    p.from = answers[0];
    MUST(receive(p.from, &p.hello, sizeof p.hello));
    return p;
}

static void command(peer *p, char letter) { MUST(send_all(p->to, &letter, 1)); }

static ack ask(peer *p, char letter)
{
    ack answer;
    command(p, letter);
    MUST(receive(p->from, &answer, sizeof answer));
    return answer;
}

/* Waits for the end; true when it was a kill. */
static bool finish(peer *p)
{
    int status;
    MUST(waitpid(p->pid, &status, 0) == p->pid);
    close(p->to);
    close(p->from);
    MUST(WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status);
}

static void quit(peer *p)
{
    command(p, 'q');
    assert_false(finish(p));
}

/* ---- the reader ---- */

static void refresh(mk_store *reader)
{
    mk_err err;
    MUST_OK(mk_store_refresh(reader, &err), err);
}

static void same_digest(peer *p, mk_store *reader)
{
    char theirs[65], ours[65];
    command(p, 'd');
    MUST(receive(p->from, theirs, sizeof theirs));
    refresh(reader);
    digest_of(reader, ours);
    assert_string_equal(ours, theirs);
}

typedef struct fixture {
    tmpdir dir;
    char path[TMPDIR_PATH_MAX];
} fixture;

static int setup(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    if (f == NULL)
        return -1;
    tmpdir_make(&f->dir);
    tmpdir_join(&f->dir, "store", f->path);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    tmpdir_remove(&f->dir);
    free(f);
    return 0;
}

static void test_store_readers__a_reader_moves_only_when_it_refreshes(void **state)
{
    fixture *f = *state;
    peer p = start_writer(f->path, true);
    mk_store *reader = open_reader(f->path);
    assert_int_equal(newest_marker(reader), -1);
    for (int i = 0; i < 20; i++) {
        const int64_t before = newest_marker(reader);
        const ack done = ask(&p, 'w');
        assert_int_equal(newest_marker(reader), before);
        refresh(reader);
        assert_int_equal(newest_marker(reader), done.marker);
        assert_int_equal(mk_store_last_tt(reader).us, done.tt);
    }
    same_digest(&p, reader);
    close_store(reader);
    quit(&p);
}

static void test_store_readers__one_writes_and_others_are_refused(void **state)
{
    fixture *f = *state;
    peer p = start_writer(f->path, true);
    ask(&p, 'w');
    mk_store *second = NULL, *reader = open_reader(f->path);
    mk_err err, why;
    bool applied;
    const mk_store_options options = {.mode = MK_OPEN_WRITER};
    const mk_op op = node_op("a", "{}", 0, 1);
    assert_int_equal(mk_store_open(f->path, &options, &second, &err), MK_E_STATE);
    assert_string_equal(err.reason, "locked");
    assert_int_equal(err.retry, MK_RETRY_AS_IS);
    assert_null(second);
    assert_false(mk_store_writable(reader));
    assert_int_equal(mk_store_write(reader, &op, 1, NULL, NULL, &err), MK_E_STATE);
    assert_string_equal(err.reason, "read_only_handle");
    assert_int_equal(mk_store_replay_line(reader, MK_STR("{}\n"), true, &applied, &why, &err), MK_E_STATE);
    assert_int_equal(mk_store_checkpoint(reader, &err), MK_E_STATE);
    assert_int_equal(mk_store_compact(reader, &err), MK_E_STATE);
    ask(&p, 'w'); /* the writer did not notice */
    same_digest(&p, reader);
    quit(&p);
    assert_int_equal(mk_store_open(f->path, &options, &second, &err), MK_OK);
    close_store(second);
    close_store(reader);
}

/* The view's segments are read for the first time when their files are gone. */
static void test_store_readers__deleted_files_stay_readable(void **state)
{
    fixture *f = *state;
    uint8_t expected[32], got[32];
    mk_view *view, *early;
    mk_err err;
    peer p = start_writer(f->path, true);
    for (int i = 0; i < 40; i++)
        ask(&p, 'w');
    ask(&p, 'c');
    for (int i = 0; i < 5; i++)
        ask(&p, 'w');
    mk_store *lazy = open_reader(f->path), *eager = open_reader(f->path);
    MUST_OK(mk_view_at(eager, now, 0, &early, &err), err);
    view_hash(early, expected);
    mk_view_close(early);
    MUST_OK(mk_view_at(lazy, now, 0, &view, &err), err);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 10; i++)
            ask(&p, 'w');
        ask(&p, 'c');
        if (round == 1)
            refresh(lazy);
    }
    view_hash(view, got);
    assert_memory_equal(expected, got, 32);
    mk_view_close(view);
    same_digest(&p, lazy);
    same_digest(&p, eager);
    close_store(lazy);
    close_store(eager);
    quit(&p);
}

/* The frame was synced, and its writer died before head or anybody heard of it. A reader takes it when the
 * lock is free; the next writer moves it to another file, and the reader must not fold it twice. */
static void test_store_readers__a_frame_that_head_does_not_know_is_folded_once(void **state)
{
    fixture *f = *state;
    peer p = start_writer(f->path, true);
    for (int i = 0; i < 3; i++)
        ask(&p, 'w');
    mk_store *reader = open_reader(f->path);
    for (int round = 0; round < 3; round++) {
        const int64_t before = newest_marker(reader);
        command(&p, 'h');
        command(&p, 'w');
        assert_true(finish(&p));
        if (round != 1) { /* once it sleeps through all of it */
            refresh(reader);
            assert_int_equal(newest_marker(reader), before + 1);
        }
        p = start_writer(f->path, true);
        assert_int_equal(p.hello.marker, before + 1);
        refresh(reader);
        assert_int_equal(newest_marker(reader), before + 1);
        same_digest(&p, reader);
        const ack done = ask(&p, 'w');
        refresh(reader);
        assert_int_equal(newest_marker(reader), done.marker);
        same_digest(&p, reader);
    }
    close_store(reader);
    quit(&p);
}

/* A checkpoint of just that moment names a position that was moved, and must still be good. */
static void test_store_readers__a_checkpoint_after_such_a_death_can_be_opened(void **state)
{
    fixture *f = *state;
    for (int round = 0; round < 3; round++) {
        peer p = start_writer(f->path, true);
        const ack done = ask(&p, 'w');
        command(&p, 'h');
        command(&p, 'w');
        assert_true(finish(&p));
        for (int again = 0; again < 3; again++) {
            p = start_writer(f->path, true);
            assert_int_equal(p.hello.marker, done.marker + 1);
            ask(&p, 'c');
            mk_store *reader = open_reader(f->path);
            assert_int_equal(newest_marker(reader), done.marker + 1);
            close_store(reader);
            quit(&p);
        }
    }
}

static void test_store_readers__half_a_frame_is_nothing(void **state)
{
    fixture *f = *state;
    peer p = start_writer(f->path, true);
    ask(&p, 'w');
    mk_store *reader = open_reader(f->path);
    for (int round = 0; round < 3; round++) {
        const int64_t before = newest_marker(reader);
        command(&p, 't');
        command(&p, 'w');
        assert_true(finish(&p));
        refresh(reader);
        assert_int_equal(newest_marker(reader), before);
        p = start_writer(f->path, true);
        assert_int_equal(p.hello.marker, before);
        ask(&p, 'w');
        refresh(reader);
        assert_int_equal(newest_marker(reader), before + 1);
        same_digest(&p, reader);
    }
    close_store(reader);
    quit(&p);
}

/* ---- under load ---- */

/* What the reader believes of the writer's progress while it runs. */
typedef struct watch {
    peer p;
    mk_store *reader;
    int64_t acknowledged, seen, tt;
    mk_view *pinned;
    uint8_t pinned_hash[32];
    int64_t delays[4096]; /* from acknowledgement to sight, microseconds */
    ack unseen[4096];
    size_t delay_count, unseen_count, rounds;
} watch;

static void take_acks(watch *w, bool to_the_end)
{
    ack a;
    for (;;) {
        fd_set set;
        struct timeval none = {0};
        FD_ZERO(&set);
        FD_SET(w->p.from, &set);
        if (!to_the_end && select(w->p.from + 1, &set, NULL, NULL, &none) != 1)
            return;
        if (!receive(w->p.from, &a, sizeof a))
            return;
        assert_int_equal(a.marker, w->acknowledged + 1);
        w->acknowledged = a.marker;
        if (w->unseen_count < 4096)
            w->unseen[w->unseen_count++] = a;
    }
}

static void check_pinned(watch *w)
{
    uint8_t again[32];
    mk_err err;
    if (w->pinned != NULL) {
        view_hash(w->pinned, again);
        assert_memory_equal(again, w->pinned_hash, 32);
    }
    if (w->pinned == NULL || w->rounds % 64 == 0) {
        mk_view_close(w->pinned);
        MUST_OK(mk_view_at(w->reader, now, 0, &w->pinned, &err), err);
        view_hash(w->pinned, w->pinned_hash);
    }
}

static void look_once(watch *w, const char *path)
{
    mk_log_pos head;
    mk_err err;
    bool found;
    take_acks(w, false);
    refresh(w->reader);
    const int64_t marker = newest_marker(w->reader), at = monotonic_us();
    MUST_OK(mk_log_head_read(&mk_fs_posix, path, &head, &found, &err), err);
    assert_true(marker >= w->acknowledged && marker >= w->seen);
    assert_true(!found || mk_store_last_tt(w->reader).us <= head.tt.us);
    w->seen = marker;
    size_t kept = 0;
    for (size_t i = 0; i < w->unseen_count; i++) {
        if (w->unseen[i].marker > marker)
            w->unseen[kept++] = w->unseen[i];
        else if (w->delay_count < 4096)
            w->delays[w->delay_count++] = at > w->unseen[i].at_us ? at - w->unseen[i].at_us : 0;
    }
    w->unseen_count = kept;
    if (w->rounds++ % 16 == 0)
        check_pinned(w);
}

static int by_value(const void *x, const void *y)
{
    const int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return a < b ? -1 : a > b;
}

static void test_store_readers__follow_a_writer_that_is_killed_again_and_again(void **state)
{
    fixture *f = *state;
    static watch w;
    w = (watch){.acknowledged = -1, .seen = -1};
    int64_t total = 0;
    w.p = start_writer(f->path, false);
    w.reader = open_reader(f->path);
    for (int kill_number = 0; kill_number < KILLS; kill_number++) {
        assert_true(w.p.hello.marker >= w.acknowledged && w.p.hello.marker <= w.acknowledged + 1);
        w.acknowledged = w.p.hello.marker;
        command(&w.p, 'r');
        /* Some writers live for a few commits only, others for several checkpoints. */
        const int64_t until = w.acknowledged + 2 + kill_number % 5 * 17;
        while (w.acknowledged < until)
            look_once(&w, f->path);
        kill(w.p.pid, SIGKILL);
        take_acks(&w, true);
        assert_true(finish(&w.p));
        refresh(w.reader);
        const int64_t marker = newest_marker(w.reader);
        assert_true(marker >= w.acknowledged && marker <= w.acknowledged + 1);
        w.unseen_count = 0;
        mk_store *fresh = open_reader(f->path);
        assert_int_equal(newest_marker(fresh), marker);
        close_store(fresh);
        total = marker;
        w.seen = marker;
        w.p = start_writer(f->path, kill_number % 4 == 3);
        assert_int_equal(w.p.hello.marker, marker);
    }
    check_pinned(&w);
    same_digest(&w.p, w.reader);
    mk_view_close(w.pinned);
    close_store(w.reader);
    quit(&w.p);
    qsort(w.delays, w.delay_count, sizeof *w.delays, by_value);
    assert_true(w.delay_count > 0);
    print_message("%lld batches, %d kills; visible after %lld us (median of %zu)\n", (long long)total,
                  KILLS, (long long)w.delays[w.delay_count / 2], w.delay_count);
    /* The goal is 100 ms; a busy machine gets ten times that. */
    assert_true(w.delays[w.delay_count / 2] < 1000000);
    char digest[65], again[65], copy[TMPDIR_PATH_MAX];
    mk_store *reader = open_reader(f->path);
    digest_of(reader, digest);
    close_store(reader);
    replay_digest(f->path, tmpdir_join(&f->dir, "copy", copy), again);
    assert_string_equal(digest, again);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_store_readers__##name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_reader_moves_only_when_it_refreshes),
        TEST(one_writes_and_others_are_refused),
        TEST(deleted_files_stay_readable),
        TEST(a_frame_that_head_does_not_know_is_folded_once),
        TEST(a_checkpoint_after_such_a_death_can_be_opened),
        TEST(half_a_frame_is_nothing),
        TEST(follow_a_writer_that_is_killed_again_and_again),
    };
    return cmocka_run_group_tests_name("store_readers", tests, NULL, NULL);
}

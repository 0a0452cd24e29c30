/* test_fs.c — the real file layer, and the helpers over any file layer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "../support/simfs.h"
#include "../support/tmpdir.h"

static const mk_fs *const fs = &mk_fs_posix;

static mk_file *open_file(const char *path, unsigned flags)
{
    mk_file *file = NULL;
    mk_err err;

    if (fs->open(fs->ctx, path, flags, &file, &err) != MK_OK)
        fail_msg("%s", err.message);
    return file;
}

static void put(mk_file *file, const char *text, uint64_t at)
{
    assert_int_equal(fs->write_at(fs->ctx, file, text, strlen(text), at, NULL), MK_OK);
}

static void check_bytes(mk_file *file, uint64_t at, size_t ask, const void *expected, size_t size)
{
    char room[256];
    size_t got;

    assert_true(ask <= sizeof room);
    assert_int_equal(fs->read_at(fs->ctx, file, room, ask, at, &got, NULL), MK_OK);
    assert_int_equal(got, size);
    assert_memory_equal(room, expected, size);
}

static uint64_t size_of(mk_file *file)
{
    uint64_t size = 0;

    assert_int_equal(fs->size(fs->ctx, file, &size, NULL), MK_OK);
    return size;
}

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

/* ---- bytes ---- */

static void test_fs__bytes_written_are_read_back_at_their_offset(void **state)
{
    char path[TMPDIR_PATH_MAX];
    mk_file *file = open_file(tmpdir_join(*state, "f", path), MK_OPEN_WRITE | MK_OPEN_CREATE);

    put(file, "hello", 0);
    put(file, "world", 10);
    assert_int_equal(size_of(file), 15);
    check_bytes(file, 0, 15, "hello\0\0\0\0\0world", 15);
    check_bytes(file, 12, 100, "rld", 3);
    check_bytes(file, 15, 10, "", 0);
    check_bytes(file, 1000, 10, "", 0);
    fs->close(fs->ctx, file);
}

static void test_fs__truncate_cuts_and_extends_with_zeros(void **state)
{
    char path[TMPDIR_PATH_MAX];
    mk_file *file = open_file(tmpdir_join(*state, "f", path), MK_OPEN_WRITE | MK_OPEN_CREATE);

    put(file, "abcdef", 0);
    assert_int_equal(fs->truncate(fs->ctx, file, 3, NULL), MK_OK);
    assert_int_equal(fs->truncate(fs->ctx, file, 5, NULL), MK_OK);
    check_bytes(file, 0, 10, "abc\0\0", 5);
    fs->close(fs->ctx, file);
}

static void test_fs__reserve_extends_with_zeros_and_never_shrinks(void **state)
{
    char path[TMPDIR_PATH_MAX];
    mk_file *file = open_file(tmpdir_join(*state, "f", path), MK_OPEN_WRITE | MK_OPEN_CREATE);
    struct stat st;

    put(file, "abc", 0);
    assert_int_equal(fs->reserve(fs->ctx, file, 0, 100000, NULL), MK_OK);
    assert_int_equal(size_of(file), 100000);
    check_bytes(file, 0, 5, "abc\0\0", 5);
    check_bytes(file, 99998, 5, "\0\0", 2);
    assert_int_equal(fs->reserve(fs->ctx, file, 10, 20, NULL), MK_OK);
    assert_int_equal(fs->reserve(fs->ctx, file, 500000, 0, NULL), MK_OK);
    assert_int_equal(size_of(file), 100000);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, 100000);
    fs->close(fs->ctx, file);
}

static void test_fs__sync_of_files_and_folders_succeeds(void **state)
{
    tmpdir *dir = *state;
    char path[TMPDIR_PATH_MAX];
    mk_file *file = open_file(tmpdir_join(dir, "f", path), MK_OPEN_WRITE | MK_OPEN_CREATE);

    put(file, "x", 0);
    assert_int_equal(fs->sync(fs->ctx, file, NULL), MK_OK);
    assert_int_equal(fs->sync_dir(fs->ctx, dir->path, NULL), MK_OK);
    fs->close(fs->ctx, file);
    fs->close(fs->ctx, NULL);
}

/* ---- flags of open ---- */

static void test_fs__open_flags_create_cut_and_exclude(void **state)
{
    char path[TMPDIR_PATH_MAX];
    mk_file *file = NULL;
    mk_err err;

    tmpdir_join(*state, "f", path);
    assert_int_equal(fs->open(fs->ctx, path, MK_OPEN_WRITE, &file, &err), MK_E_NOT_FOUND);
    assert_string_equal(err.reason, "missing");
    file = open_file(path, MK_OPEN_WRITE | MK_OPEN_CREATE | MK_OPEN_EXCLUSIVE);
    put(file, "abc", 0);
    fs->close(fs->ctx, file);
    assert_int_equal(
        fs->open(fs->ctx, path, MK_OPEN_WRITE | MK_OPEN_CREATE | MK_OPEN_EXCLUSIVE, &file, &err),
        MK_E_STATE);
    assert_string_equal(err.reason, "exists");
    file = open_file(path, MK_OPEN_WRITE | MK_OPEN_CREATE);
    assert_int_equal(size_of(file), 3);
    fs->close(fs->ctx, file);
    file = open_file(path, MK_OPEN_WRITE | MK_OPEN_TRUNCATE);
    assert_int_equal(size_of(file), 0);
    fs->close(fs->ctx, file);
}

static void test_fs__files_do_not_leak_into_other_programs(void **state)
{
    char path[TMPDIR_PATH_MAX], link[64], target[TMPDIR_PATH_MAX];
    mk_file *file = open_file(tmpdir_join(*state, "f", path), MK_OPEN_WRITE | MK_OPEN_CREATE);
    int found = 0;

    for (int fd = 0; fd < 256; fd++) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        const ssize_t n = readlink(link, target, sizeof target - 1);
        if (n < 0)
            continue;
        target[n] = '\0';
        if (strcmp(strrchr(target, '/') ? strrchr(target, '/') : "", "/f") != 0)
            continue;
        found++;
        assert_true((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    }
    fs->close(fs->ctx, file);
    assert_int_equal(found, 1);
}

/* ---- errors ---- */

static void test_fs__a_missing_file_is_named_with_the_systems_text(void **state)
{
    char path[TMPDIR_PATH_MAX];
    mk_file *file = NULL;
    mk_err err;

    tmpdir_join(*state, "absent", path);
    assert_int_equal(fs->open(fs->ctx, path, MK_OPEN_READ, &file, &err), MK_E_NOT_FOUND);
    assert_null(file);
    assert_non_null(strstr(err.message, "absent"));
    assert_non_null(strstr(err.message, "No such file or directory"));
    assert_non_null(strstr(err.path, "/"));
    assert_int_equal(fs->rename(fs->ctx, path, path, &err), MK_E_STATE);
    assert_string_equal(err.reason, "missing");
    assert_int_equal(fs->sync_dir(fs->ctx, path, &err), MK_E_STATE);
    assert_string_equal(err.reason, "missing");
}

static void test_fs__a_full_disk_is_no_space_with_the_offset(void **state)
{
    mk_file *file;
    mk_err err;

    (void)state;
    if (access("/dev/full", W_OK) != 0) {
        puts("skipped: no /dev/full on this system");
        skip();
    }
    file = open_file("/dev/full", MK_OPEN_WRITE);
    assert_int_equal(fs->write_at(fs->ctx, file, "x", 1, 7, &err), MK_E_STATE);
    assert_string_equal(err.reason, "no_space");
    assert_int_equal(err.offset, 7);
    assert_non_null(strstr(err.hint, "free space"));
    fs->close(fs->ctx, file);
}

/* Method: a limit on file sizes makes the system take only a part of a write. The error must come
 * from the second call, at the offset where the first stopped. */
static void test_fs__a_short_write_is_continued(void **state)
{
    char path[TMPDIR_PATH_MAX];
    mk_file *file = open_file(tmpdir_join(*state, "f", path), MK_OPEN_WRITE | MK_OPEN_CREATE);
    static char block[20000];
    struct rlimit old, small;
    mk_err err;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = old;
    small.rlim_cur = 10000;
    void (*old_handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    const mk_code rc = fs->write_at(fs->ctx, file, block, sizeof block, 0, &err);
    setrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, old_handler);
    assert_int_equal(rc, MK_E_STATE);
    assert_string_equal(err.reason, "io");
    assert_int_equal(err.offset, 10000);
    assert_int_equal(size_of(file), 10000);
    fs->close(fs->ctx, file);
}

static void test_fs__offsets_beyond_the_systems_range_are_errors(void **state)
{
    char path[TMPDIR_PATH_MAX], c = 'x';
    mk_file *file = open_file(tmpdir_join(*state, "f", path), MK_OPEN_WRITE | MK_OPEN_CREATE);
    size_t got;
    mk_err err;

    assert_int_equal(fs->write_at(fs->ctx, file, &c, 1, UINT64_MAX, &err), MK_E_STATE);
    assert_string_equal(err.reason, "io");
    assert_int_equal(fs->read_at(fs->ctx, file, &c, 1, INT64_MAX, &got, &err), MK_E_STATE);
    assert_int_equal(fs->truncate(fs->ctx, file, UINT64_MAX, &err), MK_E_STATE);
    assert_int_equal(fs->reserve(fs->ctx, file, 1, UINT64_MAX, &err), MK_E_STATE);
    assert_int_equal(size_of(file), 0);
    fs->close(fs->ctx, file);
}

static void test_fs__permission_is_told_apart(void **state)
{
    char path[TMPDIR_PATH_MAX];
    mk_file *file = NULL;
    mk_err err;

    /* Root may read everything, so it looks as somebody else. */
    const bool root = geteuid() == 0;
    tmpdir_put(*state, "f", "x", 1);
    chmod(tmpdir_join(*state, "f", path), 0);
    if (root)
        assert_int_equal(seteuid(65534), 0);
    const mk_code rc = fs->open(fs->ctx, path, MK_OPEN_READ, &file, &err);
    if (root)
        assert_int_equal(seteuid(0), 0);
    assert_int_equal(rc, MK_E_STATE);
    assert_string_equal(err.reason, "permission");
}

static void test_fs__reading_a_folder_is_an_io_error(void **state)
{
    tmpdir *dir = *state;
    mk_buf buf;
    mk_err err;

    mk_buf_init(&buf, &mk_alloc_default);
    assert_int_equal(mk_fs_read_all(fs, dir->path, 1 << 20, &buf, &err), MK_E_STATE);
    assert_string_equal(err.reason, "io");
    mk_buf_free(&buf);
}

/* ---- names ---- */

typedef struct seen {
    int count;
    bool a, b;
} seen;

static void see(void *arg, const char *name)
{
    seen *s = arg;

    s->count++;
    s->a |= strcmp(name, "a") == 0;
    s->b |= strcmp(name, "b") == 0;
}

static void test_fs__names_are_made_listed_renamed_and_removed(void **state)
{
    tmpdir *dir = *state;
    char a[TMPDIR_PATH_MAX], b[TMPDIR_PATH_MAX], c[TMPDIR_PATH_MAX];
    seen s = {0};
    mk_err err;

    tmpdir_join(dir, "a", a);
    tmpdir_join(dir, "b", b);
    tmpdir_join(dir, "c", c);
    assert_int_equal(fs->make_dir(fs->ctx, a, NULL), MK_OK);
    assert_int_equal(fs->make_dir(fs->ctx, a, NULL), MK_OK);
    tmpdir_put(dir, "c", "1", 1);
    assert_int_equal(fs->make_dir(fs->ctx, c, &err), MK_E_STATE);
    assert_string_equal(err.reason, "exists");
    tmpdir_put(dir, "b", "2", 1);
    assert_int_equal(fs->rename(fs->ctx, c, b, NULL), MK_OK);
    assert_int_equal(fs->list(fs->ctx, dir->path, see, &s, NULL), MK_OK);
    assert_int_equal(s.count, 2);
    assert_true(s.a && s.b);
    assert_int_equal(fs->list(fs->ctx, c, see, &s, &err), MK_E_STATE);
    assert_string_equal(err.reason, "missing");
    assert_int_equal(fs->remove(fs->ctx, b, NULL), MK_OK);
    assert_int_equal(fs->remove(fs->ctx, b, NULL), MK_OK);
    assert_int_equal(fs->remove(fs->ctx, a, NULL), MK_OK);
    assert_false(exists(a));
}

static void test_fs__a_folder_with_files_is_not_removed(void **state)
{
    char path[TMPDIR_PATH_MAX];
    mk_err err;

    assert_int_equal(fs->make_dir(fs->ctx, tmpdir_join(*state, "d", path), NULL), MK_OK);
    tmpdir_put(*state, "d/f", "x", 1);
    assert_int_equal(fs->remove(fs->ctx, path, &err), MK_E_STATE);
    assert_string_equal(err.reason, "exists");
    assert_true(exists(path));
}

/* ---- locks ---- */

static bool take_lock(mk_file *file, bool take)
{
    bool other = false;

    assert_int_equal(fs->lock(fs->ctx, file, take, &other, NULL), MK_OK);
    return !other;
}

static void test_fs__two_handles_of_one_process_exclude_each_other(void **state)
{
    char path[TMPDIR_PATH_MAX];
    mk_file *a = open_file(tmpdir_join(*state, "lock", path), MK_OPEN_WRITE | MK_OPEN_CREATE);
    mk_file *b = open_file(path, MK_OPEN_WRITE);
    mk_file *reader = open_file(path, MK_OPEN_READ);

    assert_true(take_lock(b, false));
    assert_true(take_lock(a, true));
    assert_true(take_lock(a, true));
    assert_true(take_lock(a, false));
    assert_false(take_lock(b, true));
    assert_false(take_lock(b, false));
    assert_false(take_lock(reader, false));
    fs->close(fs->ctx, reader);
    assert_false(take_lock(b, true));
    fs->close(fs->ctx, a);
    assert_true(take_lock(b, false));
    assert_true(take_lock(b, true));
    fs->close(fs->ctx, b);
}

static void test_fs__a_killed_process_leaves_no_lock(void **state)
{
    char path[TMPDIR_PATH_MAX], c;
    int ready[2];
    mk_file *file = open_file(tmpdir_join(*state, "lock", path), MK_OPEN_WRITE | MK_OPEN_CREATE);

    assert_int_equal(pipe(ready), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        mk_file *mine = NULL;
        bool other = true;
        if (fs->open(fs->ctx, path, MK_OPEN_WRITE, &mine, NULL) != MK_OK ||
            fs->lock(fs->ctx, mine, true, &other, NULL) != MK_OK || other ||
            write(ready[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &c, 1), 1);
    assert_false(take_lock(file, true));
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_true(take_lock(file, true));
    close(ready[0]);
    fs->close(fs->ctx, file);
}

/* ---- whole files ---- */

static void test_fs__read_all_gives_the_whole_file_or_says_why_not(void **state)
{
    static char big[200000];
    char path[TMPDIR_PATH_MAX];
    mk_buf buf;
    mk_err err;

    memset(big, 'b', sizeof big);
    mk_buf_init(&buf, &mk_alloc_default);
    tmpdir_put(*state, "f", big, sizeof big);
    assert_int_equal(mk_fs_read_all(fs, tmpdir_join(*state, "f", path), sizeof big, &buf, NULL),
                     MK_OK);
    assert_int_equal(buf.n, sizeof big);
    assert_memory_equal(buf.p, big, sizeof big);
    assert_int_equal(mk_fs_read_all(fs, path, sizeof big - 1, &buf, &err), MK_E_LIMIT);
    tmpdir_put(*state, "f", "", 0);
    assert_int_equal(mk_fs_read_all(fs, path, 0, &buf, NULL), MK_OK);
    assert_int_equal(buf.n, 0);
    assert_int_equal(mk_fs_read_all(fs, tmpdir_join(*state, "no", path), 10, &buf, &err),
                     MK_E_NOT_FOUND);
    mk_buf_free(&buf);
}

/* Goal: files whose size says 0 or lies, as under /proc, are read to their end. */
static void test_fs__read_all_does_not_trust_the_size(void **state)
{
    mk_buf buf;
    mk_err err;

    (void)state;
    if (!exists("/proc/self/status")) {
        puts("skipped: no /proc on this system");
        skip();
    }
    mk_buf_init(&buf, &mk_alloc_default);
    assert_int_equal(mk_fs_read_all(fs, "/proc/self/status", 1 << 20, &buf, NULL), MK_OK);
    assert_true(buf.n > 100);
    assert_int_equal(mk_fs_read_all(fs, "/proc/self/status", 10, &buf, &err), MK_E_LIMIT);
    mk_buf_free(&buf);
}

static void check_content(const mk_fs *in, const char *path, const char *expected)
{
    mk_buf buf;

    mk_buf_init(&buf, &mk_alloc_default);
    assert_int_equal(mk_fs_read_all(in, path, 1000, &buf, NULL), MK_OK);
    assert_int_equal(buf.n, strlen(expected));
    assert_memory_equal(buf.p, expected, buf.n);
    mk_buf_free(&buf);
}

static void test_fs__replace_leaves_the_new_content_and_nothing_else(void **state)
{
    tmpdir *dir = *state;
    char path[TMPDIR_PATH_MAX];
    seen s = {0};
    mk_err err;

    assert_int_equal(mk_fs_replace(fs, dir->path, "a", MK_STR("first"), NULL), MK_OK);
    assert_int_equal(mk_fs_replace(fs, dir->path, "a", MK_STR("2nd"), NULL), MK_OK);
    check_content(fs, tmpdir_join(dir, "a", path), "2nd");
    assert_int_equal(fs->list(fs->ctx, dir->path, see, &s, NULL), MK_OK);
    assert_int_equal(s.count, 1);
    assert_int_equal(mk_fs_replace(fs, path, "a", MK_STR("x"), &err), MK_E_NOT_FOUND);
    check_content(fs, path, "2nd");
}

static void test_fs__replace_refuses_endless_paths(void **state)
{
    char name[5000];
    mk_err err;

    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_int_equal(mk_fs_replace(fs, ((tmpdir *)*state)->path, name, MK_STR(""), &err),
                     MK_E_LIMIT);
}

/* Law: whichever call fails, the old content or the new is there, the old whenever the rename was
 * not reached, and no temporary file stays. */
static void test_fs__replace_is_all_or_nothing_when_a_call_fails(void **state)
{
    (void)state;
    for (uint64_t k = 1;; k++) {
        simfs *sim = simfs_new();
        const mk_fs *in = simfs_fs(sim);
        mk_err err;
        seen s = {0};
        assert_int_equal(mk_fs_replace(in, "/", "a", MK_STR("old"), NULL), MK_OK);
        simfs_faults faults = {.fail_at = simfs_calls(sim) + k, .fail_prefix = 1};
        simfs_set_faults(sim, &faults);
        const mk_code rc = mk_fs_replace(in, "/", "a", MK_STR("new"), &err);
        assert_int_equal(in->list(in->ctx, "/", see, &s, NULL), MK_OK);
        assert_int_equal(s.count, 1);
        check_content(in, "/a", rc == MK_OK || k == 5 ? "new" : "old");
        simfs_free(sim);
        if (rc == MK_OK) {
            assert_int_equal(k,
                             6); /* open, write, sync, rename and sync of the folder were tried */
            break;
        }
        assert_string_equal(err.reason, "io");
    }
}

/* Law: wherever power is lost, the old content or the new is there, and the new when the call had
 * returned. `skip_sync` names a sync to leave out, which must break the law for some cut. */
static int broken_replaces(uint64_t skip_sync)
{
    int broken = 0;

    for (uint64_t k = 1; k <= 5; k++) {
        for (uint64_t seed = 0; seed < 40; seed++) {
            simfs *sim = simfs_new();
            const mk_fs *in = simfs_fs(sim);
            mk_buf buf;
            mk_buf_init(&buf, &mk_alloc_default);
            assert_int_equal(mk_fs_replace(in, "/", "a", MK_STR("old"), NULL), MK_OK);
            simfs_faults faults = {.cut_at = simfs_calls(sim) + k,
                                   .ignore_sync_at = skip_sync ? simfs_syncs(sim) + skip_sync : 0};
            simfs_set_faults(sim, &faults);
            const mk_code rc = mk_fs_replace(in, "/", "a", MK_STR("new"), NULL);
            simfs_power_cut(sim, seed);
            const mk_code read_rc = mk_fs_read_all(in, "/a", 100, &buf, NULL);
            const bool is_new = read_rc == MK_OK && mk_str_eq(mk_buf_view(&buf), MK_STR("new"));
            const bool is_old = read_rc == MK_OK && mk_str_eq(mk_buf_view(&buf), MK_STR("old"));
            broken += rc == MK_OK ? !is_new : !(is_new || is_old);
            mk_buf_free(&buf);
            simfs_free(sim);
        }
    }
    return broken;
}

static void test_fs__replace_survives_power_cuts(void **state)
{
    (void)state;
    assert_int_equal(broken_replaces(0), 0);
}

static void test_fs__replace_needs_each_of_its_syncs(void **state)
{
    (void)state;
    assert_true(broken_replaces(1) > 0);
    assert_true(broken_replaces(2) > 0);
}

#define IN_TMPDIR(test) cmocka_unit_test_setup_teardown(test, tmpdir_setup, tmpdir_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_TMPDIR(test_fs__bytes_written_are_read_back_at_their_offset),
        IN_TMPDIR(test_fs__truncate_cuts_and_extends_with_zeros),
        IN_TMPDIR(test_fs__reserve_extends_with_zeros_and_never_shrinks),
        IN_TMPDIR(test_fs__sync_of_files_and_folders_succeeds),
        IN_TMPDIR(test_fs__open_flags_create_cut_and_exclude),
        IN_TMPDIR(test_fs__files_do_not_leak_into_other_programs),
        IN_TMPDIR(test_fs__a_missing_file_is_named_with_the_systems_text),
        cmocka_unit_test(test_fs__a_full_disk_is_no_space_with_the_offset),
        IN_TMPDIR(test_fs__a_short_write_is_continued),
        IN_TMPDIR(test_fs__offsets_beyond_the_systems_range_are_errors),
        IN_TMPDIR(test_fs__permission_is_told_apart),
        IN_TMPDIR(test_fs__reading_a_folder_is_an_io_error),
        IN_TMPDIR(test_fs__names_are_made_listed_renamed_and_removed),
        IN_TMPDIR(test_fs__a_folder_with_files_is_not_removed),
        IN_TMPDIR(test_fs__two_handles_of_one_process_exclude_each_other),
        IN_TMPDIR(test_fs__a_killed_process_leaves_no_lock),
        IN_TMPDIR(test_fs__read_all_gives_the_whole_file_or_says_why_not),
        cmocka_unit_test(test_fs__read_all_does_not_trust_the_size),
        IN_TMPDIR(test_fs__replace_leaves_the_new_content_and_nothing_else),
        IN_TMPDIR(test_fs__replace_refuses_endless_paths),
        cmocka_unit_test(test_fs__replace_is_all_or_nothing_when_a_call_fails),
        cmocka_unit_test(test_fs__replace_survives_power_cuts),
        cmocka_unit_test(test_fs__replace_needs_each_of_its_syncs),
    };

    return cmocka_run_group_tests_name("fs", tests, NULL, NULL);
}

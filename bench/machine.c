/* machine.c — what the machine and its disk can do at this moment; see bench.h.
 *
 * Machines differ, and neighbours come and go, so every table carries these beside it. */
#include <dirent.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/sha256.h"
#include "bench.h"

#define ROUNDS 5

/* ---- arithmetic, memory, hashing ---- */

/* What a loop computes must go somewhere, or the compiler leaves the loop out. */
static volatile uint64_t sink;

double bench_loop_ms(void)
{
    uint64_t x = 1;
    const double start = bench_now();
    for (int i = 0; i < 3000000; i++) /* each step waits for the one before it */
        x = (x ^ x >> 27) * UINT64_C(0x9E3779B97F4A7C15);
    sink = x;
    return (bench_now() - start) * 1000;
}

#define CHASE_SLOTS (UINT32_C(1) << 22) /* 16 MiB: beyond the second level of cache */

/* Nanoseconds of a read whose address the read before it told. */
static double chase_ns(void)
{
    uint32_t *next = malloc(CHASE_SLOTS * sizeof *next);
    uint64_t state = 1;
    bench_must(next != NULL, "memory");
    for (uint32_t i = 0; i < CHASE_SLOTS; i++)
        next[i] = i;
    for (uint32_t i = CHASE_SLOTS - 1; i > 0; i--) { /* Sattolo: one cycle through all */
        const uint32_t j = (uint32_t)(bench_random(&state) % i), swap = next[i];
        next[i] = next[j];
        next[j] = swap;
    }
    uint32_t at = 0;
    const double start = bench_now();
    for (int i = 0; i < 500000; i++)
        at = next[at];
    const double took = bench_now() - start;
    sink = at;
    free(next);
    return took * 1e9 / 500000;
}

/* Nanoseconds of hashing `size` bytes. */
static double sha_ns(size_t size, int count)
{
    static char bytes[16384];
    uint8_t out[32];
    const double start = bench_now();
    for (int i = 0; i < count; i++) {
        mk_sha256_of(bytes, size, out);
        memcpy(bytes, out, 8);
    }
    return (bench_now() - start) * 1e9 / count;
}

void bench_reference(void)
{
    double loop[ROUNDS], chase[ROUNDS], small[ROUNDS], large[ROUNDS], append[ROUNDS], over[ROUNDS];
    const double seconds = bench_small() ? 0.05 : 0.3;
    for (int i = 0; i < ROUNDS; i++) {
        loop[i] = bench_loop_ms();
        chase[i] = chase_ns();
        small[i] = sha_ns(48, 100000);
        large[i] = 16384 / sha_ns(16384, 1000) * 1000;
        append[i] = bench_sync_rate(200, false, seconds);
        over[i] = bench_sync_rate(200, true, seconds);
    }
    printf("beside this: loop %.1f ms, read that waits for a read (16 MiB) %.0f ns, ",
           bench_median(loop, ROUNDS), bench_median(chase, ROUNDS));
    printf("SHA-256 %.0f ns for 48 B and %.0f MB/s, 200 B and a sync %.0f/s (%.0f/s in place)\n",
           bench_median(small, ROUNDS), bench_median(large, ROUNDS), bench_median(append, ROUNDS),
           bench_median(over, ROUNDS));
}

/* ---- the disk ---- */

double bench_sync_rate(size_t size, bool preallocated, double seconds)
{
    char path[1024];
    char *bytes = malloc(size);
    const size_t room = (size_t)32 << 20;
    bench_must(bytes != NULL && size < room, "memory");
    memset(bytes, 'x', size);
    const int fd = open(bench_path(path, "sync-probe"), O_CREAT | O_TRUNC | O_WRONLY, 0644);
    bench_must(fd >= 0, path);
    if (preallocated) {
        char *zeros = calloc(1, room);
        bench_must(zeros != NULL && pwrite(fd, zeros, room, 0) == (ssize_t)room && fsync(fd) == 0, path);
        free(zeros);
    }
    uint64_t count = 0;
    off_t at = 0;
    const double start = bench_now();
    double took = 0;
    for (; took < seconds; took = bench_now() - start) {
        bench_must(pwrite(fd, bytes, size, at) == (ssize_t)size && fdatasync(fd) == 0, path);
        at += (off_t)size;
        if (preallocated && (size_t)at + size > room)
            at = 0;
        count++;
    }
    close(fd);
    unlink(path);
    free(bytes);
    return (double)count / took;
}

static uint64_t nanoseconds(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The functions of the real disk take their own context, so ours is found by being the only one. */
static bench_disk *counted;

static void count_sync(uint64_t wall, uint64_t cpu)
{
    atomic_fetch_add(&counted->syncs, 1);
    atomic_fetch_add(&counted->wall_ns, nanoseconds(CLOCK_MONOTONIC) - wall);
    atomic_fetch_add(&counted->cpu_ns, nanoseconds(CLOCK_THREAD_CPUTIME_ID) - cpu);
}

static mk_code timed_sync(void *ctx, mk_file *file, mk_err *err)
{
    const uint64_t wall = nanoseconds(CLOCK_MONOTONIC), cpu = nanoseconds(CLOCK_THREAD_CPUTIME_ID);
    const mk_code rc = mk_fs_posix.sync(ctx, file, err);
    count_sync(wall, cpu);
    return rc;
}

static mk_code timed_sync_dir(void *ctx, const char *path, mk_err *err)
{
    const uint64_t wall = nanoseconds(CLOCK_MONOTONIC), cpu = nanoseconds(CLOCK_THREAD_CPUTIME_ID);
    const mk_code rc = mk_fs_posix.sync_dir(ctx, path, err);
    count_sync(wall, cpu);
    return rc;
}

void bench_disk_init(bench_disk *disk)
{
    disk->fs = mk_fs_posix;
    disk->fs.sync = timed_sync;
    disk->fs.sync_dir = timed_sync_dir;
    atomic_init(&disk->syncs, 0);
    atomic_init(&disk->wall_ns, 0);
    atomic_init(&disk->cpu_ns, 0);
    counted = disk;
}

double bench_cpu_beside(const bench_disk *disk)
{
    return bench_cpu() - (double)atomic_load(&disk->cpu_ns) / 1e9;
}

/* ---- folders ---- */

typedef void file_fn(void *ctx, const char *path, uint64_t size);

static void walk(const char *path, file_fn *each, void *ctx)
{
    DIR *dir = opendir(path);
    if (dir == NULL)
        return;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        char name[2048];
        struct stat st;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        if (lstat(name, &st) != 0)
            continue;
        if (S_ISDIR(st.st_mode))
            walk(name, each, ctx);
        each(ctx, name, S_ISDIR(st.st_mode) ? 0 : (uint64_t)st.st_blocks * 512);
    }
    closedir(dir);
}

static void add_size(void *ctx, const char *path, uint64_t size)
{
    (void)path;
    *(uint64_t *)ctx += size;
}

uint64_t bench_folder_size(const char *dir, const char *name)
{
    char path[2048];
    uint64_t total = 0;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    walk(path, add_size, &total);
    return total;
}

static void forget(void *ctx, const char *path, uint64_t size)
{
    (void)ctx;
    (void)size;
    const int fd = open(path, O_RDONLY);
    if (fd < 0)
        return;
    fsync(fd); /* only clean pages can be dropped */
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    close(fd);
}

void bench_forget(const char *dir) { walk(dir, forget, NULL); }

static void unlink_one(void *ctx, const char *path, uint64_t size)
{
    (void)ctx;
    (void)size;
    remove(path);
}

void bench_remove(const char *dir)
{
    walk(dir, unlink_one, NULL);
    remove(dir);
}

/* ---- processes ---- */

void bench_apart(void (*fn)(void *arg, double *numbers), void *arg, double numbers[BENCH_NUMBERS])
{
    const size_t size = BENCH_NUMBERS * sizeof(double);
    int ends[2], status = 1;
    fflush(stdout);
    bench_must(pipe(ends) == 0, "pipe");
    const pid_t child = fork();
    bench_must(child >= 0, "fork");
    if (child == 0) {
        double mine[BENCH_NUMBERS] = {0};
        fn(arg, mine);
        fflush(stdout);
        _exit(write(ends[1], mine, size) == (ssize_t)size ? 0 : 1);
    }
    close(ends[1]);
    const bool whole = read(ends[0], numbers, size) == (ssize_t)size;
    close(ends[0]);
    waitpid(child, &status, 0);
    bench_must(whole && status == 0, "a process of its own");
}

pid_t bench_again(char **argv, int *out)
{
    int ends[2];
    fflush(stdout);
    bench_must(pipe(ends) == 0, "pipe");
    const pid_t child = vfork();
    bench_must(child >= 0, "fork");
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        argv[0] = (char *)"bench";
        execv("/proc/self/exe", argv);
        _exit(127);
    }
    close(ends[1]);
    *out = ends[0];
    return child;
}

/* bench.h — what the benchmarks share: a clock, medians, a table row, the input. */
#ifndef MK_BENCH_H
#define MK_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fs.h"

double bench_now(void); /* seconds, monotonic */
double bench_cpu(void); /* CPU seconds of this process */
double bench_median(double *values, size_t count); /* sorts them */
size_t bench_rss(void); /* resident bytes of this process */
void bench_pin(void);   /* this process and its threads onto one core */
/* Number from the environment, or the default. */
uint64_t bench_env(const char *name, uint64_t otherwise);
/* "<TMPDIR>/<name>" in static storage, one per call site's buffer. */
const char *bench_path(char out[1024], const char *name);
/* Ends the program with a message when `ok` is false. */
void bench_must(bool ok, const char *what);

/* Ends the program with the error's message when rc is not MK_OK. */
void bench_ok(mk_code rc, const mk_err *err, const char *what);
/* MK_BENCH_ROWS, or `full`; with MK_BENCH_SMALL=1 a hundredth of it, at least 10,000. */
uint64_t bench_rows(uint64_t full);
bool bench_small(void);
/* Whether a part of a benchmark should run: MK_BENCH_PART is not set, or names it. */
bool bench_part(const char *name);
/* A sequence of numbers that is the same in every run. */
uint64_t bench_random(uint64_t *state);

/* SQLite on a new file; NULL, with a note printed, when there is none. */
struct peer *bench_peer(const char *path);

/* One row: what, measured, unit, and what is aimed at ("" for none). */
void bench_row(const char *what, double value, const char *unit, const char *aim);
/* The same with a number to reach, which is "at most" or "at least", and whether it was. */
typedef enum bench_side { BENCH_AT_MOST, BENCH_AT_LEAST } bench_side;
void bench_bar(const char *what, double value, const char *unit, bench_side side, double bar);
void bench_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* ---- what this machine can do right now, to read the other numbers by ---- */

/* One line: a fixed arithmetic loop, a chase through memory, SHA-256 and the disk's sync rate. */
void bench_reference(void);
/* Milliseconds of three million multiplications that wait for each other: how fast a core is now. */
double bench_loop_ms(void);
/* Syncs a second when `size` bytes are written before each, for about `seconds`: appended to a growing
 * file, or written over blocks that are there already. */
double bench_sync_rate(size_t size, bool preallocated, double seconds);

/* The disk, with what syncing takes counted apart, from any thread. `fs` is handed to a store. */
typedef struct bench_disk {
    mk_fs fs;
    _Atomic uint64_t syncs, wall_ns, cpu_ns;
} bench_disk;
void bench_disk_init(bench_disk *disk);
/* CPU seconds of this process that were not spent in syncs. */
double bench_cpu_beside(const bench_disk *disk);

/* ---- processes ---- */

/* Runs fn(arg) in a process of its own, which has none of this one's memory habits, and gives back the
 * numbers it filled in; ends the program when it fails. */
#define BENCH_NUMBERS 16
void bench_apart(void (*fn)(void *arg, double *numbers), void *arg, double numbers[BENCH_NUMBERS]);
/* Starts this program again as `argv` (argv[0] is filled in here); its standard output goes to *out. */
pid_t bench_again(char **argv, int *out);
/* Bytes of all files under DIR/name ("" for all of the folder). */
uint64_t bench_folder_size(const char *dir, const char *name);
/* Asks the system to forget the cached pages of all files below the folder. */
void bench_forget(const char *dir);
void bench_remove(const char *dir);

/* CollegeMsg repeated to `rows` rows as a text file, repeat k shifted by k spans; a generated stand-in of
 * the same size and shape where the data is absent (said on stderr). */
void bench_write_events(const char *path, uint64_t rows);

#endif

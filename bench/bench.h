/* bench.h — what the benchmarks share: a clock, medians, a table row, the input. */
#ifndef MK_BENCH_H
#define MK_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* One row: what, measured, unit, and what is aimed at ("" for none). */
void bench_row(const char *what, double value, const char *unit, const char *aim);
void bench_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* CollegeMsg repeated to `rows` rows as a text file, repeat k shifted by k spans; a generated stand-in of
 * the same size and shape where the data is absent (said on stderr). */
void bench_write_events(const char *path, uint64_t rows);

#endif

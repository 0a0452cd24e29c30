/* bench.c — see bench.h. */
#include "bench.h"

#include "../tests/support/peer.h"

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/instream.h"

static double seconds(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

double bench_now(void) { return seconds(CLOCK_MONOTONIC); }
double bench_cpu(void) { return seconds(CLOCK_PROCESS_CPUTIME_ID); }

static int by_value(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;
    return a < b ? -1 : a > b;
}

double bench_median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, by_value);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

size_t bench_rss(void)
{
    unsigned long total = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f == NULL)
        return 0;
    if (fscanf(f, "%lu %lu", &total, &resident) != 2)
        resident = 0;
    fclose(f);
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}

void bench_pin(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(sched_getcpu(), &set);
    bench_must(sched_setaffinity(0, sizeof set, &set) == 0, "pinning to one core");
}

uint64_t bench_env(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text != NULL && *text != 0 ? strtoull(text, NULL, 10) : otherwise;
}

const char *bench_path(char out[1024], const char *name)
{
    const char *dir = getenv("TMPDIR");
    snprintf(out, 1024, "%s/%s", dir ? dir : "/tmp", name);
    return out;
}

void bench_must(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "bench: failed: %s\n", what);
    exit(1);
}

void bench_ok(mk_code rc, const mk_err *err, const char *what)
{
    if (rc == MK_OK)
        return;
    fprintf(stderr, "bench: %s: %s (%s)\n", what, err->message, mk_code_name(rc));
    exit(1);
}

bool bench_small(void) { return bench_env("MK_BENCH_SMALL", 0) != 0; }

uint64_t bench_rows(uint64_t full)
{
    if (!bench_small())
        return bench_env("MK_BENCH_ROWS", full);
    return full / 100 < 10000 ? 10000 : full / 100;
}

bool bench_part(const char *name)
{
    const char *part = getenv("MK_BENCH_PART");
    return part == NULL || *part == 0 || strcmp(part, name) == 0;
}

uint64_t bench_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

void bench_row(const char *what, double value, const char *unit, const char *aim)
{
    char number[32];
    snprintf(number, sizeof number,
             value >= 1000 ? "%.0f" : value >= 10 ? "%.1f" : value >= 0.01 ? "%.3f" : "%.6f", value);
    printf("%-58s %14s %-12s %s\n", what, number, unit, aim);
    fflush(stdout);
}

void bench_bar(const char *what, double value, const char *unit, bench_side side, double bar)
{
    char aim[64];
    const bool met = side == BENCH_AT_MOST ? value <= bar : value >= bar;
    snprintf(aim, sizeof aim, "%s %.10g%s", side == BENCH_AT_MOST ? "<=" : ">=", bar,
             met ? "" : "   MISSED");
    bench_row(what, value, unit, aim);
}

void bench_note(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fputs("  ", stdout);
    vprintf(fmt, args);
    fputc('\n', stdout);
    va_end(args);
}

/* ---- input ---- */

typedef struct contact {
    unsigned src, dst;
    int64_t time;
} contact;

#define CONTACTS 59835

static size_t read_contacts(contact *out)
{
    char path[1024];
    const char *data = getenv("MK_SHARED_DATA");
    mk_instream *in;
    size_t n = 0;
    snprintf(path, sizeof path, "%s/graphs/CollegeMsg.txt.gz", data ? data : "");
    if (data == NULL || mk_instream_open(&mk_alloc_default, path, &in, NULL) != MK_OK)
        return 0;
    for (;;) {
        mk_str line;
        bool more, lf;
        bench_must(mk_instream_line(in, 4096, true, &line, &more, &lf, NULL) == MK_OK, path);
        if (!more || n == CONTACTS)
            break;
        char text[128];
        snprintf(text, sizeof text, "%.*s", MK_STR_ARG(line));
        long long time;
        if (sscanf(text, "%u %u %lld", &out[n].src, &out[n].dst, &time) == 3)
            out[n++].time = time;
    }
    mk_instream_close(in);
    return n;
}

static size_t invent_contacts(contact *out)
{
    uint64_t state = 1;
    fprintf(stderr, "CollegeMsg is not there (MK_SHARED_DATA); using generated contacts instead\n");
    for (size_t i = 0; i < CONTACTS; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        const unsigned x = (unsigned)(state >> 33);
        out[i] = (contact){1 + x % 1899, 1 + (x / 1899) % 1899, 1082040961 + (int64_t)i * 279};
    }
    return CONTACTS;
}

void bench_write_events(const char *path, uint64_t rows)
{
    contact *contacts = malloc(CONTACTS * sizeof *contacts);
    bench_must(contacts != NULL, "memory");
    size_t n = read_contacts(contacts);
    if (n == 0)
        n = invent_contacts(contacts);
    const int64_t span = contacts[n - 1].time - contacts[0].time + 1;
    FILE *f = fopen(path, "w");
    bench_must(f != NULL, path);
    for (uint64_t i = 0; i < rows; i++) {
        const contact *c = &contacts[i % n];
        fprintf(f, "%u %u %lld\n", c->src, c->dst, (long long)(c->time + (int64_t)(i / n) * span));
    }
    bench_must(fclose(f) == 0, path);
    free(contacts);
}

struct peer *bench_peer(const char *path)
{
    peer *db = peer_open(path);
    if (db == NULL)
        bench_note("no SQLite here (package libsqlite3-0): its rows are left out");
    return db;
}

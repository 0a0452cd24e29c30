/* bench_open.c — a new process opens the store and answers one history: after a clean close, after a
 * kill, after a kill with a long log behind, and with a cold page cache.
 *
 * MK_BENCH_ROWS (10,000,000) events of the evaluation generator. Times are from just before the process
 * is started to its answer. The killed writer commits corrections in batches of 1,000 until it dies. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "evalgen.h"
#include "store/store.h"
#include "store/view.h"

#define ROUNDS 5

/* ---- the processes that are started ---- */

static _Noreturn void answer(const char *dir, bool writer)
{
    mk_store *store;
    mk_view *view;
    mk_arena arena;
    mk_node_ref *refs;
    mk_node_version version;
    size_t count;
    mk_err err;
    const mk_store_options options = {.mode = writer ? MK_OPEN_WRITER : MK_OPEN_READER};
    bench_ok(mk_store_open(dir, &options, &store, &err), &err, "open");
    bench_ok(mk_view_at(store, (mk_tt){MK_OPEN_END}, 0, &view, &err), &err, "view");
    mk_arena_init(&arena, &mk_alloc_default);
    const uint32_t id = mk_view_entity(view, MK_STR("n9"));
    bench_ok(mk_view_node_refs(view, &arena, id, &refs, &count, &err), &err, "history");
    bench_must(count >= 1, "n9 has a history");
    bench_ok(mk_view_node_version(view, &arena, &refs[0], &version, &err), &err, "version");
    const double at = bench_now();
    bench_must(write(STDOUT_FILENO, &at, sizeof at) == (ssize_t)sizeof at, "answer");
    _exit(0); /* as a process that is killed right after: opening must not count on closing */
}

/* Corrects edges until it is killed; writes a byte for every batch. */
static _Noreturn void write_on(const char *dir, uint64_t rows)
{
    enum { BATCH = 1000 };
    static mk_op ops[BATCH];
    static char disc[BATCH][EVALGEN_DISC];
    evalgen gen;
    mk_store *store;
    mk_err err;
    uint64_t state = (uint64_t)getpid();
    const mk_store_options options = {.mode = MK_OPEN_WRITER};
    evalgen_init(&gen, rows);
    bench_ok(mk_store_open(dir, &options, &store, &err), &err, "open");
    for (;;) {
        for (int i = 0; i < BATCH; i++)
            ops[i] = evalgen_correct(&gen, bench_random(&state) % rows, MK_STR("{\"weight\":2}"), disc[i]);
        bench_ok(mk_store_write(store, ops, BATCH, NULL, NULL, &err), &err, "corrections");
        bench_must(write(STDOUT_FILENO, "+", 1) == 1, "saying so");
    }
}

/* ---- measuring ---- */

static double open_ms(const char *dir, const char *how)
{
    char *argv[] = {NULL, (char *)how, (char *)dir, NULL};
    double at;
    int out;
    const double start = bench_now();
    const pid_t child = bench_again(argv, &out);
    bench_must(read(out, &at, sizeof at) == (ssize_t)sizeof at, "a new process answers");
    close(out);
    waitpid(child, NULL, 0);
    return (at - start) * 1000;
}

/* Corrections acknowledged before the kill, `seconds` after the first batch. */
static uint64_t kill_under_load(const char *dir, uint64_t rows, double seconds)
{
    char number[32], bytes[4096];
    char *argv[] = {NULL, (char *)"write", (char *)dir, number, NULL};
    int out;
    snprintf(number, sizeof number, "%llu", (unsigned long long)rows);
    const pid_t child = bench_again(argv, &out);
    bench_must(read(out, bytes, 1) == 1, "the writer has begun");
    usleep((useconds_t)(seconds * 1e6)); /* the pipe holds the bytes of 65,536 batches */
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    uint64_t batches = 1;
    for (ssize_t n; (n = read(out, bytes, sizeof bytes)) > 0;)
        batches += (uint64_t)n;
    close(out);
    return batches * 1000;
}

static void clean(const char *dir)
{
    double reader[ROUNDS], writer[ROUNDS], cold[ROUNDS];
    open_ms(dir, "read");
    for (int i = 0; i < ROUNDS; i++) {
        reader[i] = open_ms(dir, "read");
        writer[i] = open_ms(dir, "recover");
    }
    for (int i = 0; i < ROUNDS; i++) {
        bench_forget(dir);
        cold[i] = open_ms(dir, "read");
    }
    bench_bar("after a clean close: a reader's answer", bench_median(reader, ROUNDS), "ms",
              BENCH_AT_MOST, 50);
    bench_bar("after a clean close: a writer's answer", bench_median(writer, ROUNDS), "ms",
              BENCH_AT_MOST, 50);
    bench_row("after a clean close, cold page cache: a reader's", bench_median(cold, ROUNDS), "ms", "");
}

static void killed(const char *dir, uint64_t rows)
{
    double reader[ROUNDS], writer[ROUNDS], cold[ROUNDS], worst = 0;
    char logs[256] = "";
    const double unit = bench_small() ? 0.1 : 1;
    for (int i = 0; i < ROUNDS; i++) {
        const uint64_t ops = kill_under_load(dir, rows, unit * (0.5 + i));
        reader[i] = open_ms(dir, "read");
        writer[i] = open_ms(dir, "recover");
        bench_forget(dir);
        cold[i] = open_ms(dir, "read");
        worst = reader[i] > worst ? reader[i] : worst;
        snprintf(logs + strlen(logs), sizeof logs - strlen(logs), " %llu: %.0f/%.0f;",
                 (unsigned long long)ops, reader[i], writer[i]);
    }
    bench_bar("after kill -9 under load: a reader's answer", bench_median(reader, ROUNDS), "ms",
              BENCH_AT_MOST, 150);
    bench_row("after kill -9 under load: the slowest of five", worst, "ms", "");
    bench_bar("after kill -9 under load: a writer recovers and answers", bench_median(writer, ROUNDS), "ms",
              BENCH_AT_MOST, 150);
    bench_row("after kill -9, cold page cache: a reader's", bench_median(cold, ROUNDS), "ms", "");
    bench_note("corrections before the kill: reader/writer ms:%s", logs);
}

/* In a process of its own, so that nothing is left in memory. */
typedef struct setting {
    const char *dir;
    uint64_t rows;
} setting;

static void load(void *arg, double *numbers)
{
    const setting *s = arg;
    evalgen gen;
    mk_store *store;
    mk_err err;
    const mk_store_options options = {.mode = MK_OPEN_CREATE_WRITER};
    evalgen_init(&gen, s->rows);
    bench_ok(mk_store_open(s->dir, &options, &store, &err), &err, "open");
    evalgen_load(&gen, store, 0, s->rows);
    const double start = bench_now();
    bench_ok(mk_store_close(store, &err), &err, "close");
    numbers[0] = bench_now() - start;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "read") == 0)
        answer(argv[2], false);
    if (argc == 3 && strcmp(argv[1], "recover") == 0)
        answer(argv[2], true);
    if (argc == 4 && strcmp(argv[1], "write") == 0)
        write_on(argv[2], strtoull(argv[3], NULL, 10));
    char dir[1024];
    double numbers[BENCH_NUMBERS];
    setting s = {bench_path(dir, "store"), bench_rows(10000000)};
    bench_reference();
    bench_apart(load, &s, numbers);
    bench_note("%llu versions, log %.0f MB, everything %.0f MB", (unsigned long long)s.rows,
               (double)bench_folder_size(dir, "log") / 1e6, (double)bench_folder_size(dir, "") / 1e6);
    clean(dir);
    killed(dir, s.rows);
    bench_remove(dir);
    return 0;
}

/* bench_ingest.c — from text to durable and indexed; what it takes at rest; opening again.
 *
 * MK_BENCH_ROWS (10,000,000) rows of CollegeMsg repeated, batches of 50,000, one sync a batch, on one
 * core, background work included. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "load/load_internal.h"
#include "store/internal.h"

static uint64_t rows;

static void must(mk_code rc, const mk_err *err, const char *what)
{
    if (rc == MK_OK)
        return;
    fprintf(stderr, "%s: %s\n", what, err->message);
    exit(1);
}

static void load(const char *text, const char *dir)
{
    mk_store *store;
    mk_err err;
    mk_load_report report;
    const mk_store_options options = {.mode = MK_OPEN_CREATE_WRITER};
    const mk_load_options how = {.path = text, .format = MK_LOAD_EDGES, .preset = MK_LOAD_PRESET_COLLEGEMSG};
    double start = bench_now(), cpu = bench_cpu();
    must(mk_store_open(dir, &options, &store, &err), &err, "open");
    must(mk_load_run(store, &how, &report, &err), &err, "load");
    const double loaded = bench_now() - start, loaded_cpu = bench_cpu() - cpu;
    bench_row("text to durable and indexed, one core", (double)rows / loaded, "events/s", "1,000,000");
    bench_note("%.2f s wall, %.2f s CPU, %llu batches", loaded, loaded_cpu,
               (unsigned long long)report.batches);
    start = bench_now();
    must(mk_store_close(store, &err), &err, "close");
    bench_row("closing with a checkpoint", bench_now() - start, "s", "");
}

static void at_rest(const char *dir)
{
    mk_store *store;
    mk_err err;
    mk_disk_stats disk;
    const mk_store_options options = {.mode = MK_OPEN_READER};
    must(mk_store_open(dir, &options, &store, &err), &err, "open");
    must(mk_store_disk_stats(store, &disk, &err), &err, "stats");
    const double versions = (double)rows;
    bench_row("at rest: segments", (double)disk.segment_bytes / versions, "B/version", "10");
    bench_row("at rest: lists", (double)disk.index_bytes / versions, "B/version", "12");
    bench_row("at rest: log", (double)disk.log_bytes / versions, "B/version", "10");
    size_t memory = 0;
    const mk_state *state = atomic_load(&store->state);
    const size_t before = bench_rss();
    for (uint32_t i = 0; i < state->first[MK_LANE_COUNT]; i++)
        for (int id = 0; id < MK_C_COUNT; id++)
            if (state->segments[i]->size[id] != 0) {
                const mk_col *col;
                must(mk_segment_col(state->segments[i], (mk_col_id)id, &col, &err), &err, "column");
            }
    for (uint32_t i = 0; i < state->first[MK_LANE_COUNT]; i++)
        memory += mk_segment_memory(state->segments[i]);
    bench_row("query-ready memory, every column loaded", (double)memory / versions, "B/version", "40");
    bench_note("%u segments; resident grew by %.1f B/version", state->first[MK_LANE_COUNT],
               (double)(bench_rss() - before) / versions);
    must(mk_store_close(store, &err), &err, "close");
}

/* A new process opens the store and answers one history; printed by the child, in ms. */
static double open_and_ask(const char *dir)
{
    int pipe_ends[2];
    double ms = 0;
    bench_must(pipe(pipe_ends) == 0, "pipe");
    const pid_t child = fork();
    bench_must(child >= 0, "fork");
    if (child == 0) {
        mk_store *store;
        mk_err err;
        mk_view *view;
        mk_arena arena;
        mk_node_ref *refs;
        size_t count;
        const mk_store_options options = {.mode = MK_OPEN_READER};
        const double start = bench_now();
        must(mk_store_open(dir, &options, &store, &err), &err, "open");
        must(mk_view_at(store, (mk_tt){MK_OPEN_END}, 0, &view, &err), &err, "view");
        mk_arena_init(&arena, &mk_alloc_default);
        const uint32_t id = mk_view_entity(view, MK_STR("n9"));
        must(mk_view_node_refs(view, &arena, id, &refs, &count, &err), &err, "history");
        ms = (bench_now() - start) * 1000;
        bench_must(count == 1 && write(pipe_ends[1], &ms, sizeof ms) == (ssize_t)sizeof ms, "history");
        _exit(0);
    }
    close(pipe_ends[1]);
    bench_must(read(pipe_ends[0], &ms, sizeof ms) == (ssize_t)sizeof ms, "child");
    close(pipe_ends[0]);
    waitpid(child, NULL, 0);
    return ms;
}

static void opening(const char *dir)
{
    double times[5];
    for (int i = 0; i < 5; i++)
        times[i] = open_and_ask(dir);
    bench_row("new process: open and answer one history, clean", bench_median(times, 5), "ms", "50");
}

static void replay(const char *dir, const char *again)
{
    mk_store *store;
    mk_err err;
    const mk_store_options options = {.mode = MK_OPEN_WRITER, .rebuild = true, .manual = true};
    (void)again;
    const double start = bench_now();
    must(mk_store_open(dir, &options, &store, &err), &err, "fold");
    bench_row("replay of our own log, without the digest", (double)rows / (bench_now() - start),
              "events/s", "1,500,000");
    must(mk_store_close(store, &err), &err, "close");
}

static mk_code count_event(mk_load_sink *sink, const mk_event *event, uint64_t line, mk_err *err)
{
    (void)event;
    (void)line;
    (void)err;
    sink->seen++;
    sink->done++;
    return MK_OK;
}

static mk_code read_file(void *ctx, void *p, size_t n, size_t *got, mk_err *err)
{
    (void)err;
    *got = fread(p, 1, n, ctx);
    return MK_OK;
}

/* The text parser alone, events handed to a counter. */
static void parse(const char *text)
{
    mk_load_options options = {.path = text, .format = MK_LOAD_EDGES,
                               .preset = MK_LOAD_PRESET_COLLEGEMSG, .alloc = &mk_alloc_default,
                               .clock = &mk_clock_system};
    double rates[5];
    mk_err err;
    for (int i = 0; i < 5; i++) {
        mk_load load;
        mk_load_report report = {0};
        mk_load_reader reader = {0};
        mk_arena arena;
        mk_arena_init(&arena, &mk_alloc_default);
        mk_load_sink sink = {.event = count_event, .arena = &arena};
        FILE *f = fopen(text, "r");
        bench_must(f != NULL, text);
        mk_load__init(&load, &options, &report);
        load.sink = &sink;
        mk_load__reader_init(&reader, options.alloc, read_file, f, &sink);
        load.reader = &reader;
        const double start = bench_now();
        must(mk_load__edges(&load, &err), &err, "parse");
        rates[i] = (double)sink.seen / (bench_now() - start);
        bench_must(sink.seen == rows, "every line is an event");
        mk_load__reader_free(&reader);
        mk_load__free(&load);
        mk_arena_free(&arena);
        fclose(f);
    }
    bench_row("text parsing alone", bench_median(rates, 5), "lines/s", "5,000,000");
}

int main(void)
{
    char text[1024], dir[1024], again[1024];
    rows = bench_env("MK_BENCH_ROWS", 10000000);
    bench_path(text, "events.txt");
    bench_path(dir, "store");
    bench_path(again, "again");
    bench_pin();
    if (access(text, R_OK) != 0)
        bench_write_events(text, rows);
    if (!bench_env("MK_BENCH_LOAD_ONLY", 0))
        parse(text);
    load(text, dir);
    if (bench_env("MK_BENCH_LOAD_ONLY", 0))
        return 0;
    at_rest(dir);
    opening(dir);
    replay(dir, again);
    return 0;
}

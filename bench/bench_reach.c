/* bench_reach.c — who reaches whom in time, and along which paths.
 *
 * Over CollegeMsg and over 2,000,000 events of the same shape, all instants: earliest arrivals from one source
 * over the whole window, a number per event that the window holds, which is what one-pass programs are timed by
 * (performance spec, section 4). Then over the evaluation's registry store of MK_BENCH_ROWS (1,000,000) events,
 * whose edges last: `reach.window` and `paths.k` (evaluation spec, 20) as kernels and as calls from JSON to JSON,
 * the same window backwards and with bounded waits. Medians, in CPU time; the arena is kept, as a server keeps
 * it. */
#include <stdio.h>

#include "bench.h"
#include "load/load.h"
#include "load/synth.h"
#include "op/call.h"
#include "op/temporal_paths.h"

#define ROUNDS 21
#define SOURCES 8

typedef mk_code reach_fn(mk_view *view, mk_arena *arena, const mk_arrival_args *args, mk_guard *guard,
                         mk_reached *out, mk_err *err);

typedef struct setting {
    mk_store *store;
    mk_view *view;
    mk_arena arena;
    mk_guard guard;
} setting;

static void open_store(setting *s, const char *name)
{
    char dir[1024];
    mk_err err;
    const mk_store_options options = {.mode = MK_OPEN_CREATE_WRITER, .manual = true};
    bench_remove(bench_path(dir, name));
    bench_ok(mk_store_open(dir, &options, &s->store, &err), &err, "open");
    mk_arena_init(&s->arena, &mk_alloc_default);
    mk_guard_init(&s->guard, NULL, 0, NULL);
}

/* Rows lie in segments, as they do in a store that has been open for a while. */
static void open_view(setting *s)
{
    mk_err err;
    bench_ok(mk_store_checkpoint(s->store, &err), &err, "checkpoint");
    bench_ok(mk_store_compact(s->store, &err), &err, "compaction");
    bench_ok(mk_view_at(s->store, (mk_tt){MK_OPEN_END}, 0, &s->view, &err), &err, "view");
}

static void close_store(setting *s)
{
    mk_err err;
    mk_view_close(s->view);
    mk_arena_free(&s->arena);
    bench_ok(mk_store_close(s->store, &err), &err, "close");
}

static uint32_t entity(const setting *s, const char *uid)
{
    const uint32_t id = mk_view_entity(s->view, mk_str_of(uid));
    bench_must(id != MK_NO_ID, uid);
    return id;
}

/* Milliseconds of one search from the view on. */
static double reach_ms(setting *s, reach_fn *search, const mk_arrival_args *args, size_t *count)
{
    mk_reached reached;
    mk_err err;
    mk_arena_reset(&s->arena);
    const double start = bench_cpu();
    bench_ok(search(s->view, &s->arena, args, &s->guard, &reached, &err), &err, "search");
    *count = reached.count;
    return (bench_cpu() - start) * 1000;
}

static double median_reach(setting *s, reach_fn *search, const mk_arrival_args *args, size_t *count)
{
    double times[ROUNDS];
    for (int round = -1; round < ROUNDS; round++) {
        const double ms = reach_ms(s, search, args, count);
        if (round >= 0)
            times[round] = ms;
    }
    return bench_median(times, ROUNDS);
}

/* ---- instants ---- */

/* Sources are spread over all entities; the number is a mean over them of medians. */
static void instants(uint64_t rows, const char *label)
{
    setting s;
    char path[1024], text[96];
    mk_err err;
    mk_load_report report;
    const mk_load_options how = {
        .path = path, .format = MK_LOAD_EDGES, .preset = MK_LOAD_PRESET_COLLEGEMSG};
    open_store(&s, "events");
    bench_write_events(bench_path(path, "events.txt"), rows);
    bench_ok(mk_load_run(s.store, &how, &report, &err), &err, "load");
    open_view(&s);

    const uint32_t entities = mk_view_entity_count(s.view);
    double sum = 0, back = 0;
    size_t reached = 0, reaching = 0, count;
    for (uint32_t i = 0; i < SOURCES; i++) {
        const mk_arrival_args args = {.src = entities / SOURCES * i, .t_b = MK_OPEN_END};
        sum += median_reach(&s, mk_arrival_earliest, &args, &count);
        reached += count;
        back += median_reach(&s, mk_departure_latest, &args, &count);
        reaching += count;
    }
    snprintf(text, sizeof text, "one source, %s, per event", label);
    bench_bar(text, sum / SOURCES * 1e6 / (double)rows, "ns", BENCH_AT_MOST, 1.5);
    snprintf(text, sizeof text, "one target, %s, per event", label);
    bench_row(text, back / SOURCES * 1e6 / (double)rows, "ns", "");
    bench_note("%llu events; %zu reached and %zu reaching on average", (unsigned long long)rows,
               reached / SOURCES, reaching / SOURCES);
    close_store(&s);
}

/* ---- the evaluation's questions ---- */

static mk_code write_batch(void *ctx, const mk_op *ops, size_t count, mk_tt tt, mk_err *err)
{
    (void)tt;
    return mk_store_write(ctx, ops, count, NULL, NULL, err);
}

static void load_registry(setting *s, uint64_t events)
{
    mk_err err;
    mk_synth_options options = mk_synth_defaults(MK_SYNTH_REGISTRY);
    mk_synth_report report;
    options.events = events;
    open_store(s, "registry");
    mk_synth_report_init(&report, &mk_alloc_default);
    bench_ok(mk_synth_run(&options, write_batch, s->store, &report, &err), &err, "load");
    mk_synth_report_free(&report);
    open_view(s);
}

static double median_call(setting *s, const char *op, const char *args)
{
    double times[ROUNDS];
    mk_buf out;
    mk_err err;
    mk_buf_init(&out, &mk_alloc_default);
    for (int round = -1; round < ROUNDS; round++) {
        mk_buf_clear(&out);
        mk_arena_reset(&s->arena);
        const double start = bench_cpu();
        bench_ok(mk_call_on_view(s->store, s->view, mk_str_of(op), mk_str_of(args), NULL, &s->arena, &out,
                                 &err),
                 &err, op);
        if (round >= 0)
            times[round] = (bench_cpu() - start) * 1000;
    }
    mk_buf_free(&out);
    return bench_median(times, ROUNDS);
}

/* A bar where the number of events has one. */
static void registry_row(const char *label, double ms, uint64_t events, double at_1m, double at_10m)
{
    if (events == 1000000)
        bench_bar(label, ms, "ms", BENCH_AT_MOST, at_1m);
    else if (events == 10000000 && at_10m > 0)
        bench_bar(label, ms, "ms", BENCH_AT_MOST, at_10m);
    else
        bench_row(label, ms, "ms", "");
}

static void reach_window(setting *s, uint64_t events)
{
    char args[128];
    size_t forward, backward, bounded;
    mk_arrival_args window = {.src = entity(s, "n1"), .t_b = (int64_t)events / 10};
    registry_row("reach.window, kernel", median_reach(s, mk_arrival_earliest, &window, &forward), events, 5, 80);
    snprintf(args, sizeof args, "{\"src\":\"n1\",\"window\":{\"t_a\":0,\"t_b\":%lld}}", (long long)window.t_b);
    registry_row("reach.window, JSON and digest, view held open", median_call(s, "temporal_reachability", args),
                 events, 5, 80);
    bench_row("the same window backwards, kernel", median_reach(s, mk_departure_latest, &window, &backward), "ms",
              "");
    /* Few of the window's states are within the visit budget. */
    window.t_b = (int64_t)events / 1000;
    window.wait_max = window.t_b / 4;
    bench_row("bounded waits, a hundredth of the window, kernel",
              median_reach(s, mk_arrival_bounded, &window, &bounded), "ms", "");
    bench_note("%zu reached, %zu reaching, %zu with bounded waits", forward, backward, bounded);
    bench_must(events != 1000000 || forward == 9998, "the count of the evaluation spec, 21");
}

static void paths_k(setting *s, uint64_t events)
{
    char args[160];
    double times[ROUNDS];
    mk_paths paths;
    mk_err err;
    const mk_path_args quarter = {.src = entity(s, "n1"), .dst = entity(s, "n2"),
                                  .t_b = (int64_t)events / 4, .hops_max = 3, .k = 3};
    for (int round = -1; round < ROUNDS; round++) {
        mk_arena_reset(&s->arena);
        const double start = bench_cpu();
        bench_ok(mk_paths_find(s->view, &s->arena, &quarter, &s->guard, &paths, &err), &err, "paths");
        if (round >= 0)
            times[round] = (bench_cpu() - start) * 1000;
    }
    registry_row("paths.k, kernel", bench_median(times, ROUNDS), events, 1, 0);
    snprintf(args, sizeof args,
             "{\"dst\":\"n2\",\"k\":3,\"max_hops\":3,\"src\":\"n1\",\"window\":{\"t_a\":0,\"t_b\":%lld}}",
             (long long)quarter.t_b);
    registry_row("paths.k, JSON and digest, view held open", median_call(s, "temporal_paths", args), events, 1,
                 0);
    bench_note("%llu paths", (unsigned long long)paths.total);
}

int main(void)
{
    const uint64_t events = bench_rows(1000000);
    setting s;
    bench_reference();
    if (bench_part("instants")) {
        instants(59835, "CollegeMsg");
        instants(bench_rows(2000000), "repeated");
    }
    if (bench_part("registry")) {
        load_registry(&s, events);
        reach_window(&s, events);
        paths_k(&s, events);
        close_store(&s);
    }
    return 0;
}

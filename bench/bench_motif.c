/* bench_motif.c — counting and listing temporal motifs.
 *
 * All five motifs over CollegeMsg, at a delta of one hour and of one day, without a filter: five counts each,
 * from the view to the number, and what of it is counting once the events are in memory, which is what
 * programs that count all 36 motifs of three edges are timed by (performance spec, section 3). Then the first
 * and the last page of a list. Then the evaluation's question `motif.filtered` (evaluation spec, 20) over its
 * registry store of MK_BENCH_ROWS (1,000,000) events, as a kernel and as a call from JSON to JSON. Medians,
 * in CPU time; the arena is kept, as a server keeps it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "load/load.h"
#include "load/synth.h"
#include "op/call.h"
#include "op/count_temporal_motifs.h"
#include "op/find_temporal_motif_instances.h"

#define ROUNDS 21
#define HOUR INT64_C(3600000000)
#define DAY (24 * HOUR)
enum { MOTIFS = MK_MOTIF_PATH_3 + 1 };

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

/* ---- CollegeMsg ---- */

static void load_messages(setting *s)
{
    char text[1024];
    mk_err err;
    mk_load_report report;
    const mk_load_options how = {
        .path = text, .format = MK_LOAD_EDGES, .preset = MK_LOAD_PRESET_COLLEGEMSG};
    open_store(s, "messages");
    bench_write_events(bench_path(text, "messages.txt"), 59835);
    bench_ok(mk_load_run(s->store, &how, &report, &err), &err, "load");
    open_view(s);
}

static mk_motif_args everything(mk_motif motif, int64_t delta)
{
    return (mk_motif_args){.motif = motif, .delta = delta, .t_b = {MK_OPEN_END}};
}

/* Milliseconds of one count from the view on. */
static double count_ms(setting *s, const mk_motif_args *args, mk_motif_counts *counts)
{
    mk_err err;
    const double start = bench_cpu();
    bench_ok(mk_motifs_count(s->view, &s->arena, args, &s->guard, counts, &err), &err, "count");
    return (bench_cpu() - start) * 1000;
}

/* The same without reading the store. */
static double kernel_ms(setting *s, const mk_motif_args *args, int64_t *count)
{
    const mk_arena_mark mark = mk_arena_save(&s->arena);
    mk_motif_events events;
    mk_err err;
    bench_ok(mk_motif_gather(s->view, &s->arena, args, false, &s->guard, &events, &err), &err, "events");
    const double start = bench_cpu();
    bench_ok(mk_motif_count(&events, args->motif, &s->arena, &s->guard, NULL, count, &err), &err, "count");
    const double took = (bench_cpu() - start) * 1000;
    mk_arena_rewind(&s->arena, mark);
    return took;
}

/* Medians by motif, and of all five together. */
static void five_motifs(setting *s, const char *label, int64_t delta)
{
    double whole[MOTIFS][ROUNDS], alone[MOTIFS][ROUNDS], together[ROUNDS], counting[ROUNDS];
    char text[96];
    mk_motif_counts counts[MOTIFS];
    for (int round = -1; round < ROUNDS; round++) {
        double sum = 0, bare_sum = 0;
        for (int m = 0; m < MOTIFS; m++) {
            const mk_motif_args args = everything((mk_motif)m, delta);
            const double ms = count_ms(s, &args, &counts[m]);
            int64_t again;
            const double bare = kernel_ms(s, &args, &again);
            bench_must(again == counts[m].count, "counts agree");
            sum += ms;
            bare_sum += bare;
            if (round < 0)
                continue;
            whole[m][round] = ms;
            alone[m][round] = bare;
        }
        if (round < 0)
            continue;
        together[round] = sum;
        counting[round] = bare_sum;
    }
    for (int m = 0; m < MOTIFS; m++) {
        snprintf(text, sizeof text, "%s within one %s", mk_motif_names[m], label);
        bench_row(text, bench_median(whole[m], ROUNDS), "ms", "");
        bench_note("counting alone %.3f ms; %lld instances", bench_median(alone[m], ROUNDS),
                   (long long)counts[m].count);
    }
    snprintf(text, sizeof text, "all five within one %s, from the view on", label);
    bench_bar(text, bench_median(together, ROUNDS), "ms", BENCH_AT_MOST, 20);
    snprintf(text, sizeof text, "all five within one %s, counting alone", label);
    bench_row(text, bench_median(counting, ROUNDS), "ms", "");
}

static void pages(setting *s)
{
    double first[ROUNDS], last[ROUNDS];
    const mk_motif_args args = everything(MK_MOTIF_STAR_OUT_3, DAY);
    mk_motif_rows rows = {0};
    mk_err err;
    for (int round = -1; round < ROUNDS; round++) {
        for (int page = 0; page < 2; page++) {
            const mk_page wanted = {.offset = page == 0 ? 0 : (int64_t)rows.span.total - 100, .limit = 100};
            const double start = bench_cpu();
            bench_ok(mk_motifs_find(s->view, &s->arena, &args, &wanted, &s->guard, &rows, &err), &err,
                     "find");
            if (round >= 0)
                (page == 0 ? first : last)[round] = (bench_cpu() - start) * 1000;
            mk_arena_reset(&s->arena);
        }
    }
    bench_row("stars within one day: first 100 of the list", bench_median(first, ROUNDS), "ms", "");
    bench_row("stars within one day: last 100 of the list", bench_median(last, ROUNDS), "ms", "");
    bench_note("%zu in all", rows.span.total);
}

/* ---- motif.filtered ---- */

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

static double call_ms(setting *s, mk_str args, mk_buf *out)
{
    mk_err err;
    mk_buf_clear(out);
    mk_arena_reset(&s->arena);
    const double start = bench_cpu();
    bench_ok(mk_call_on_view(s->store, s->view, MK_STR("count_temporal_motifs"), args, NULL, &s->arena, out,
                             &err),
             &err, "call");
    return (bench_cpu() - start) * 1000;
}

/* The two hundred nodes, the extent and the delta of the evaluation's question. */
static void filtered(setting *s, uint64_t events)
{
    double kernel[ROUNDS], call[ROUNDS];
    uint32_t nodes[200];
    mk_motif_counts counts;
    mk_buf text, out;
    mk_motif_args args = {.motif = MK_MOTIF_TRIANGLE_CYCLIC,
                          .delta = (int64_t)events / 50,
                          .t_b = {(int64_t)events},
                          .filtered = true,
                          .nodes = nodes,
                          .node_count = 200};
    mk_buf_init(&text, &mk_alloc_default);
    mk_buf_init(&out, &mk_alloc_default);
    mk_buf_printf(&text, "{\"delta\":%lld,\"motif\":\"M_triangle_cyclic\",\"node_filter\":[",
                  (long long)args.delta);
    for (int i = 0; i < 200; i++) {
        char uid[16];
        snprintf(uid, sizeof uid, "n%d", i);
        nodes[i] = mk_view_entity(s->view, mk_str_of(uid));
        bench_must(nodes[i] != MK_NO_ID, uid);
        mk_buf_printf(&text, "%s\"%s\"", i ? "," : "", uid);
    }
    mk_buf_printf(&text, "],\"window\":{\"t_a\":0,\"t_b\":%lld}}", (long long)events);
    for (int round = -1; round < ROUNDS; round++) {
        const double ms = count_ms(s, &args, &counts), whole = call_ms(s, mk_buf_view(&text), &out);
        if (round < 0)
            continue;
        kernel[round] = ms;
        call[round] = whole;
    }
    bench_bar("motif.filtered, kernel", bench_median(kernel, ROUNDS), "ms", BENCH_AT_MOST, 1);
    bench_row("motif.filtered, JSON and digest, view held open", bench_median(call, ROUNDS), "ms", "");
    bench_note("%lld cycles among %llu of %llu events", (long long)counts.count,
               (unsigned long long)counts.events, (unsigned long long)events);
    bench_must(events != 1000000 || counts.count == 385, "the count of the evaluation spec, 21");
    mk_buf_free(&out);
    mk_buf_free(&text);
}

int main(void)
{
    setting s;
    bench_reference();
    load_messages(&s);
    five_motifs(&s, "hour", HOUR);
    five_motifs(&s, "day", DAY);
    pages(&s);
    close_store(&s);
    load_registry(&s, bench_rows(1000000));
    filtered(&s, bench_rows(1000000));
    close_store(&s);
    return 0;
}

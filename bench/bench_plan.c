/* bench_plan.c — what a plan costs beside the time of its operators.
 *
 * Four steps over CollegeMsg: the plan is checked, run, traced, its objects are kept, its mechanical answer is written,
 * verified against the trace and gated. Wall time of all of it, less the time that the operators' calls took by the trace's
 * own account; once with objects in memory and once in a folder. Source: agent spec, 7; issue's bar of 10 ms. */
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "claim/answer.h"
#include "load/load.h"
#include "plan/run.h"

#define ROUNDS 31

static const char plan_text[] =
    "{\"plan_id\":\"bench\",\"steps\":["
    "{\"id\":\"s1\",\"op\":\"temporal_reachability\",\"args\":{\"src\":\"n9\",\"window\":{\"t_a\":0,\"t_b\":4611686018427387904}}},"
    "{\"id\":\"s2\",\"op\":\"entity_history\",\"depends_on\":[\"s1\"],\"args\":{\"uid\":{\"$ref\":\"s1.rows[0].uid\"}}},"
    "{\"id\":\"s3\",\"op\":\"compute\",\"depends_on\":[\"s1\"],\"args\":{\"fn\":\"topk\",\"k\":10,\"field\":\"earliest_arrival\",\"input\":{\"$ref\":\"s1.rows\"}}},"
    "{\"id\":\"s4\",\"op\":\"compute\",\"depends_on\":[\"s2\",\"s3\"],\"args\":{\"fn\":\"ratio\",\"x\":{\"$ref\":\"s3.rows[0].earliest_arrival\"},"
    "\"y\":{\"$ref\":\"s3.rows[9].earliest_arrival\"}}}],\"answer_spec\":{\"kind\":\"value\",\"from\":\"s4.value\"}}";

typedef struct keeping {
    mk_objects *objects;
} keeping;

static mk_code get_object(void *ctx, const char *digest, mk_arena *arena, mk_str *text, mk_err *err)
{
    const keeping *k = ctx;
    return k->objects->get(k->objects, digest, arena, text, err);
}

/* Milliseconds that the calls took, by the trace. */
static double call_ms(const mk_json *trace)
{
    const mk_json *steps = mk_json_get(trace, "steps");
    double ms = 0;
    for (size_t i = 0; i < steps->n; i++)
        ms += mk_json_get(&steps->items[i], "wall_ms")->d;
    return ms;
}

static void one_round(mk_store *store, mk_objects *objects, mk_arena *arena, double *beside, double *calls)
{
    static const mk_verify_options strict = {.strict = true};
    keeping k = {objects};
    mk_plan_report report;
    mk_answer_report verdicts;
    mk_evidence *evidence;
    mk_view_stats stats;
    mk_view *view;
    mk_gated gated;
    mk_trace trace;
    mk_json *tree;
    mk_str answer;
    mk_err err;
    mk_arena_reset(arena);
    const double began = bench_now();
    bench_ok(mk_view_at(store, (mk_tt){MK_OPEN_END}, 0, &view, &err), &err, "view");
    mk_view_get_stats(view, &stats);
    const mk_plan_check_options check = {.stats = &stats};
    bench_ok(mk_plan_check(mk_str_of(plan_text), &check, arena, &report, &err), &err, "check");
    bench_must(report.valid, "the plan is not valid");
    bench_ok(mk_plan_run(store, &report.plan, NULL, objects, arena, &trace, &err), &err, "run");
    bench_must(trace.ok, "the plan gave no answer");
    bench_ok(mk_json_parse(arena, trace.json, NULL, &tree, &err), &err, "trace");
    bench_ok(mk_answer_mechanical(report.plan.json, tree, MK_ANSWERS_OURS, arena, &answer, &err), &err, "answer");
    bench_ok(mk_evidence_open(trace.json, get_object, &k, NULL, NULL, arena, &evidence, &err), &err, "evidence");
    bench_ok(mk_answer_verify(answer, evidence, &strict, arena, &verdicts, &err), &err, "verify");
    bench_ok(mk_answer_gate(&verdicts, &strict, arena, &gated, &err), &err, "gate");
    bench_must(gated.emitted, "the answer did not pass the gate");
    const double ended = bench_now();
    mk_view_close(view);
    *calls = call_ms(tree);
    *beside = (ended - began) * 1e3 - *calls;
}

static void bench_objects(mk_store *store, const char *what, const char *dir)
{
    double beside[ROUNDS], calls[ROUNDS];
    mk_objects *objects;
    mk_arena arena;
    mk_err err;
    mk_arena_init(&arena, &mk_alloc_default);
    if (dir == NULL)
        bench_ok(mk_objects_memory(&mk_alloc_default, (size_t)1 << 30, &objects, &err), &err, "objects");
    else
        bench_ok(mk_objects_dir(&mk_alloc_default, &mk_fs_posix, dir, 0, &objects, &err), &err, "objects");
    for (int i = 0; i < ROUNDS; i++)
        one_round(store, objects, &arena, &beside[i], &calls[i]);
    bench_bar(what, bench_median(beside, ROUNDS), "ms", BENCH_AT_MOST, 10);
    bench_row("  its operators' calls", bench_median(calls, ROUNDS), "ms", "");
    mk_objects_close(objects);
    mk_arena_free(&arena);
}

int main(void)
{
    char dir[1024], text[1024], trace[1024];
    mk_err err;
    mk_store *store;
    mk_load_report report;
    const mk_store_options options = {.mode = MK_OPEN_CREATE_WRITER, .manual = true};
    const mk_load_options how = {.path = text, .format = MK_LOAD_EDGES, .preset = MK_LOAD_PRESET_COLLEGEMSG};
    bench_reference();
    bench_remove(bench_path(dir, "plans"));
    bench_remove(bench_path(trace, "plans-trace"));
    bench_ok(mk_store_open(dir, &options, &store, &err), &err, "open");
    bench_write_events(bench_path(text, "messages.txt"), 59835);
    bench_ok(mk_load_run(store, &how, &report, &err), &err, "load");
    bench_ok(mk_store_checkpoint(store, &err), &err, "checkpoint");
    bench_objects(store, "a plan of four steps beside its calls, objects in memory", NULL);
    bench_objects(store, "the same, objects in a folder", trace);
    bench_ok(mk_store_close(store, &err), &err, "close");
    return 0;
}

/* Answers: any bytes as an answer about one small trace.
 *
 * Whatever it says, verification ends with a report, the gate lets no number or identifier pass that no
 * surviving claim covers, and what leaves verifies again to the same claims. */
#include <stdlib.h>

#include "base/sha256.h"
#include "claim/answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MEMORY_MAX ((size_t)64 << 20)

static void need(bool truth)
{
    if (!truth)
        abort();
}

#define PAGE "{\"rows\":[{\"reason\":\"page\",\"shown\":2,\"total\":9}]}"
static const struct {
    const char *op, *args, *gaps, *payload;
} steps[] = {
    {"temporal_reachability", "{\"as_of_tt\":500}", "{}",
     "{\"cursor\":null,\"rows\":[{\"earliest_arrival\":20,\"uid\":\"b\"},{\"earliest_arrival\":30,"
     "\"uid\":\"c\"}],"
     "\"rows_total\":2,\"truncated\":false}"},
    {"graph_metric_timeseries", "{\"as_of_tt\":500,\"metric\":\"edge_event_count\",\"stride\":10}", PAGE,
     "{\"cursor\":\"x\",\"rows\":[{\"t_a\":0,\"t_b\":10,\"value\":5},{\"t_a\":10,\"t_b\":20,\"value\":2.5}],"
     "\"rows_total\":9,\"truncated\":true}"},
    {"temporal_paths", "{\"as_of_tt\":400}", "{}",
     "{\"cursor\":null,\"rows\":[{\"arrival\":9,\"edges\":[{\"dst\":\"b\",\"src\":\"a\",\"t\":9}],"
     "\"hops\":1}],"
     "\"rows_total\":1,\"truncated\":false}"},
    {"compute", "{\"fn\":\"count\"}", "{}", "{\"truncated\":false,\"value\":2}"},
};
#define STEP_COUNT (sizeof steps / sizeof *steps)

/* Objects of the trace, by name. */
typedef struct objects {
    char names[2 * STEP_COUNT][65];
    mk_str texts[2 * STEP_COUNT];
    size_t count;
} objects;

static const char *keep(objects *o, mk_str text)
{
    uint8_t hash[32];
    mk_sha256_of(text.p, text.n, hash);
    mk_hex(o->names[o->count], hash, sizeof hash);
    o->texts[o->count] = text;
    return o->names[o->count++];
}

static mk_code get(void *ctx, const char *digest, mk_arena *arena, mk_str *text, mk_err *err)
{
    const objects *o = ctx;
    (void)arena;
    for (size_t i = 0; i < o->count; i++)
        if (strcmp(o->names[i], digest) == 0) {
            *text = o->texts[i];
            return MK_OK;
        }
    return mk_fail(err, MK_E_NOT_FOUND, "none");
}

static mk_str make_trace(objects *o, mk_arena *arena)
{
    mk_buf trace, call;
    mk_buf_init(&trace, arena->alloc);
    mk_buf_z(&trace, "{\"as_of_tt\":500,\"steps\":[");
    for (size_t i = 0; i < STEP_COUNT; i++) {
        mk_buf_init(&call, arena->alloc);
        const char *payload = keep(o, mk_str_of(steps[i].payload));
        mk_buf_printf(&call,
                      "{\"args\":%s,\"as_of_tt\":500,\"completeness\":%s,\"deps\":[],\"op\":\"%s\","
                      "\"payload_digest\":\"%s\"}",
                      steps[i].args, steps[i].gaps, steps[i].op, payload);
        const char *name = keep(o, mk_arena_copy(arena, mk_buf_view(&call)));
        mk_buf_printf(&trace,
                      "%s{\"call_digest\":\"%s\",\"op\":\"%s\",\"result_digest\":\"%s\",\"status\":\"ok\","
                      "\"step_id\":\"s%zu\"}",
                      i > 0 ? "," : "", name, steps[i].op, payload, i + 1);
        mk_buf_free(&call);
    }
    mk_buf_z(&trace, "]}");
    const mk_str text = mk_arena_copy(arena, mk_buf_view(&trace));
    mk_buf_free(&trace);
    return text;
}

/* What has left the gate says the same thing when it comes back. */
static void check_gated(const mk_gated *gated, mk_evidence *evidence, const mk_verify_options *options,
                        mk_arena *arena)
{
    mk_answer_report again;
    const mk_code rc = mk_answer_verify(gated->answer, evidence, options, arena, &again, NULL);
    need(rc == MK_OK || rc == MK_E_NOMEM);
    if (rc != MK_OK)
        return;
    need(again.schema_valid);
    for (size_t i = 0; i < again.claim_count; i++)
        need(again.claims[i].verdict == MK_SUPPORTED || again.claims[i].verdict == MK_WEAKLY_SUPPORTED);
    need(gated->emitted == (again.claim_count > 0));
}

static void run(mk_str answer, bool strict, mk_arena *arena)
{
    const mk_verify_options options = {.strict = strict};
    objects o = {.count = 0};
    mk_evidence *evidence;
    mk_answer_report report;
    mk_gated gated;
    mk_buf json;
    mk_json *tree;
    need(mk_evidence_open(make_trace(&o, arena), get, &o, NULL, NULL, arena, &evidence, NULL) == MK_OK);
    if (mk_answer_verify(answer, evidence, &options, arena, &report, NULL) != MK_OK ||
        mk_answer_gate(&report, &options, arena, &gated, NULL) != MK_OK)
        return; /* the arena's limit */
    mk_buf_init(&json, arena->alloc);
    mk_answer_report_json(&report, &json);
    mk_code rc = mk_json_parse(arena, mk_buf_view(&json), NULL, &tree, NULL);
    need(rc == MK_OK || rc == MK_E_NOMEM);
    mk_buf_free(&json);
    check_gated(&gated, evidence, &options, arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mk_arena arena;
    const mk_str answer = {(const char *)data, size};
    mk_arena_init(&arena, &mk_alloc_default);
    arena.limit = MEMORY_MAX;
    run(answer, false, &arena);
    mk_arena_reset(&arena);
    run(answer, true, &arena);
    mk_arena_free(&arena);
    return 0;
}

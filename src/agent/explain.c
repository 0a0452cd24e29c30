/* explain.c — runs one plan at two beliefs and finds what lies between. Layer: agent. */
#include "agent/explain.h"

#include "agent/ask_internal.h"
#include "agent/history.h"
#include "store/record.h"

enum {
    CAUSES_MAX = 64,
    OPS_LOOKED_AT = 2000, /* of one transaction, for those that speak of what the plan read */
    EVENTS_SHOWN = 20     /* an operation with more is counted and not shown */
};
#define LOOK_BYTES_MAX ((size_t)1 << 30) /* results of one look at a belief in between */

/* The transactions between the two beliefs, and the value after each that was looked at. Index 0 is the
 * belief before all of them. */
typedef struct timeline {
    mk_store *store;
    const mk_ask_options *options;
    mk_objects *objects;
    mk_arena *arena;
    mk_explanation *out;
    const mk_plan *plan;
    int64_t *times; /* times[i - 1] is the transaction that leads to index i */
    size_t count;
    size_t runs;
} timeline;

static mk_code text_of(mk_arena *arena, const mk_json *value, mk_str *out, mk_err *err)
{
    mk_buf text;
    mk_code rc = MK_OK;
    mk_buf_init(&text, arena->alloc);
    if (value == NULL)
        mk_buf_z(&text, "null");
    else
        MK_TRY(rc, mk_canon_tree(&text, arena, value, err));
    MK_TRY(rc, mk_buf_done(&text, err));
    *out = mk_arena_copy(arena, mk_buf_view(&text));
    if (out->p == NULL)
        rc = mk_fail_nomem(err);
out:
    mk_buf_free(&text);
    return rc;
}

/* ---- looking at beliefs in between ---- */

/* A look keeps its value and nothing else: its results are no evidence of the answer. */
static mk_code value_at(timeline *t, size_t index, mk_str *value, mk_err *err)
{
    const mk_plan_run_options options = {.as_of = {t->times[index - 1]},
                                         .mask = t->options->mask,
                                         .ceilings = t->options->ceilings,
                                         .time_scale = t->options->time_scale,
                                         .wall_us = t->options->wall_us,
                                         .threads = t->options->threads,
                                         .clock = t->options->clock,
                                         .cancelled = t->options->cancelled};
    mk_objects *objects = NULL;
    mk_arena scratch;
    mk_trace trace;
    mk_str text;
    mk_code rc;
    mk_arena_init(&scratch, t->arena->alloc);
    scratch.limit = t->arena->limit;
    t->runs++;
    MK_TRY(rc, mk_objects_memory(t->arena->alloc, LOOK_BYTES_MAX, &objects, err));
    MK_TRY(rc, mk_plan_run(t->store, t->plan, &options, objects, &scratch, &trace, err));
    MK_TRY(rc, text_of(&scratch, trace.answer, &text, err));
    *value = mk_arena_copy(t->arena, text);
    if (value->p == NULL)
        rc = mk_fail_nomem(err);
out:
    mk_objects_close(objects);
    mk_arena_free(&scratch);
    return rc;
}

typedef struct stretch {
    size_t lo, hi;
    mk_str at_lo, at_hi;
} stretch;

/* Halves each stretch whose ends differ until it is one transaction long; left halves first, so that causes
 * come in order. */
static mk_code find_causes(timeline *t, stretch whole, mk_err *err)
{
    stretch stack[2 * 8 * sizeof(size_t)];
    size_t depth = 0;
    mk_code rc = MK_OK;
    mk_explanation *out = t->out;
    stack[depth++] = whole;
    while (depth != 0) {
        const stretch s = stack[--depth];
        mk_str at_mid;
        if (mk_str_eq(s.at_lo, s.at_hi))
            continue;
        if (s.hi - s.lo == 1) {
            if (out->cause_count == CAUSES_MAX) {
                out->all_causes = false;
                break;
            }
            out->causes[out->cause_count++] =
                (mk_cause){.tt = t->times[s.hi - 1], .before = s.at_lo, .after = s.at_hi};
            continue;
        }
        if (t->runs >= MK_EXPLAIN_RUNS_MAX) {
            out->all_causes = false;
            break;
        }
        const size_t mid = s.lo + (s.hi - s.lo) / 2;
        MK_TRY(rc, value_at(t, mid, &at_mid, err));
        stack[depth++] = (stretch){mid, s.hi, at_mid, s.at_hi};
        stack[depth++] = (stretch){s.lo, mid, s.at_lo, at_mid};
    }
out:
    return rc;
}

/* ---- what a cause wrote ---- */

/* Everything that the plan read and was given, at one belief, as one text to look names up in. */
static mk_code read_texts(timeline *t, const mk_ask_result *result, mk_buf *out, mk_err *err)
{
    mk_json *trace;
    mk_code rc = MK_OK;
    if (!result->ran)
        return MK_OK;
    MK_TRY(rc, mk_json_parse(t->arena, result->trace.json, NULL, &trace, err));
    const mk_json *steps = mk_json_get(trace, "steps");
    for (size_t i = 0; steps != NULL && steps->kind == MK_JSON_ARRAY && i < steps->n; i++) {
        static const char *const names[] = {"call_digest", "result_digest"};
        for (size_t k = 0; k < 2; k++) {
            const mk_json *name = mk_json_get(&steps->items[i], names[k]);
            mk_str text;
            if (name == NULL || name->kind != MK_JSON_STRING || name->text.n != 64)
                continue;
            char digest[65] = "";
            memcpy(digest, name->text.p, 64);
            MK_TRY(rc, t->objects->get(t->objects, digest, t->arena, &text, err));
            mk_buf_str(out, text);
            mk_buf_c(out, '\n');
        }
    }
    rc = mk_buf_done(out, err);
out:
    return rc;
}

static bool is_named(mk_str texts, mk_str uid, mk_buf *scratch)
{
    if (uid.n == 0)
        return false;
    mk_buf_clear(scratch);
    mk_canon_string(scratch, uid);
    return !scratch->failed && memmem(texts.p, texts.n, scratch->p, scratch->n) != NULL;
}

static bool op_is_named(const mk_op *op, mk_str texts, mk_buf *scratch)
{
    if (is_named(texts, op->uid, scratch) || is_named(texts, op->src, scratch) || is_named(texts, op->dst,
                                                                                           scratch))
        return true;
    for (size_t i = 0; i < op->event_count && i < EVENTS_SHOWN; i++)
        if (is_named(texts, op->events[i].src, scratch) || is_named(texts, op->events[i].dst, scratch))
            return true;
    return false;
}

static mk_code op_text(mk_arena *arena, const mk_op *op, mk_buf *scratch, mk_str *out, mk_err *err)
{
    mk_buf_clear(scratch);
    if (op->event_count > EVENTS_SHOWN)
        mk_buf_printf(scratch, "{\"event_count\":%zu,\"op\":\"ingest_events\"}", op->event_count);
    else
        mk_op_write(scratch, op);
    *out = mk_arena_copy(arena, mk_buf_view(scratch));
    return scratch->failed || out->p == NULL ? mk_fail_nomem(err) : MK_OK;
}

/* The operations that speak of what the plan read; the first ones when none does. */
static mk_code describe_cause(timeline *t, mk_cause *cause, mk_str texts, mk_err *err)
{
    mk_record record;
    mk_buf scratch;
    mk_str line;
    mk_code rc;
    mk_buf_init(&scratch, t->arena->alloc);
    MK_TRY(rc, mk_history_line(t->store, (mk_tt){cause->tt}, t->arena, &line, err));
    if (line.n == 0)
        goto out;
    MK_TRY(rc, mk_record_read(t->arena, line, false, &record, NULL, err));
    cause->batch_id = mk_arena_copy(t->arena, mk_str_of(record.batch_id));
    cause->ops = mk_arena_get(t->arena, MK_EXPLAIN_OPS_MAX * sizeof *cause->ops);
    if (cause->ops == NULL || cause->batch_id.p == NULL) {
        rc = mk_fail_nomem(err);
        goto out;
    }
    cause->ops_total = record.op_count;
    for (int all = 0; all < 2 && cause->op_count == 0; all++)
        for (size_t i = 0; i < record.op_count && i < OPS_LOOKED_AT &&
             cause->op_count < MK_EXPLAIN_OPS_MAX; i++)
            if (record.ops[i].kind != MK_OP_UNKNOWN && (all || op_is_named(&record.ops[i], texts, &scratch)))
                MK_TRY(rc, op_text(t->arena, &record.ops[i], &scratch, &cause->ops[cause->op_count++], err));
out:
    mk_buf_free(&scratch);
    return rc;
}

/* ---- claims ---- */

static const mk_claim_result *same_claim(const mk_ask_result *result, const mk_claim_result *claim)
{
    for (size_t i = 0; !result->abstained && i < result->report.claim_count; i++) {
        const mk_claim_result *other = &result->report.claims[i];
        if (mk_str_eq(other->id, claim->id) && mk_str_eq(other->type, claim->type))
            return other;
    }
    return NULL;
}

static mk_code claim_change(timeline *t, const mk_claim_result *before, const mk_claim_result *after,
                            mk_err *err)
{
    const mk_claim_result *any = before != NULL ? before : after;
    const mk_json *from = mk_json_get(any->claim, "from");
    mk_claim_change change = {.id = any->id, .type = any->type};
    mk_code rc = MK_OK;
    if (from != NULL && from->kind == MK_JSON_STRING)
        change.from = from->text;
    if (before != NULL) {
        change.verdict_before = mk_verdict_name(before->verdict);
        MK_TRY(rc, text_of(t->arena, before->claim, &change.before, err));
    }
    if (after != NULL) {
        change.verdict_after = mk_verdict_name(after->verdict);
        MK_TRY(rc, text_of(t->arena, after->claim, &change.after, err));
    }
    if (!mk_str_eq(change.before, change.after) ||
        (before != NULL && after != NULL && before->verdict != after->verdict))
        t->out->claims[t->out->claim_count++] = change;
out:
    return rc;
}

static mk_code compare_claims(timeline *t, mk_err *err)
{
    mk_explanation *out = t->out;
    const size_t n = out->before.abstained ? 0 : out->before.report.claim_count;
    const size_t m = out->after.abstained ? 0 : out->after.report.claim_count;
    mk_code rc = MK_OK;
    out->claims = mk_arena_get(t->arena, (n + m) * sizeof *out->claims);
    if (out->claims == NULL)
        return mk_fail_nomem(err);
    for (size_t i = 0; i < n; i++)
        MK_TRY(rc, claim_change(t, &out->before.report.claims[i],
                                same_claim(&out->after, &out->before.report.claims[i]), err));
    for (size_t i = 0; i < m; i++)
        if (same_claim(&out->before, &out->after.report.claims[i]) == NULL)
            MK_TRY(rc, claim_change(t, NULL, &out->after.report.claims[i], err));
out:
    return rc;
}

/* ---- the whole ---- */

static mk_code look_between(timeline *t, mk_err *err)
{
    mk_explanation *out = t->out;
    const mk_plan_check_options options = {.no_contracts = t->options->no_contracts};
    stretch whole = {.hi = t->count};
    mk_plan_report checked;
    mk_buf texts;
    mk_code rc;
    mk_buf_init(&texts, t->arena->alloc);
    MK_TRY(rc, text_of(t->arena, out->before.ran ? out->before.trace.answer : NULL, &whole.at_lo, err));
    MK_TRY(rc, text_of(t->arena, out->after.ran ? out->after.trace.answer : NULL, &whole.at_hi, err));
    out->differs = !mk_str_eq(whole.at_lo, whole.at_hi);
    if (!out->differs || t->count == 0)
        goto out;
    MK_TRY(rc, mk_plan_check(out->after.plan, &options, t->arena, &checked, err));
    t->plan = &checked.plan;
    MK_TRY(rc, find_causes(t, whole, err));
    MK_TRY(rc, read_texts(t, &out->before, &texts, err));
    MK_TRY(rc, read_texts(t, &out->after, &texts, err));
    for (size_t i = 0; i < out->cause_count; i++)
        MK_TRY(rc, describe_cause(t, &out->causes[i], mk_buf_view(&texts), err));
out:
    t->plan = NULL; /* it dies with `checked` */
    mk_buf_free(&texts);
    return rc;
}

/* Before 1970 nothing was believed, and 0 would mean "now". */
static mk_tt not_zero(mk_tt tt) { return (mk_tt){tt.us > 0 ? tt.us : 1}; }

mk_code mk_explain__planned(mk_store *store, mk_tt before, mk_tt after, const mk_ask_options *options,
                            mk_objects *objects, mk_arena *arena, mk_explanation *out, mk_err *err)
{
    timeline t = {.store = store, .options = options, .objects = objects, .arena = arena, .out = out};
    mk_code rc;
    MK_TRY(rc, mk_ask__at(store, &out->after, not_zero(before), options, objects, arena, &out->before, err));
    out->causes = mk_arena_get(arena, CAUSES_MAX * sizeof *out->causes);
    if (out->causes == NULL) {
        rc = mk_fail_nomem(err);
        goto out;
    }
    MK_TRY(rc, mk_history_times(store, before, after, arena, &t.times, &t.count, err));
    out->transactions = t.count;
    MK_TRY(rc, compare_claims(&t, err));
    rc = look_between(&t, err);
out:
    return rc;
}

mk_code mk_explain_diff(mk_store *store, mk_str question, mk_tt before, mk_tt after,
                        const mk_ask_options *options, mk_objects *objects, mk_arena *arena,
                        mk_explanation *out, mk_err *err)
{
    mk_ask_options at_after = *options;
    mk_code rc;
    *out = (mk_explanation){.all_causes = true};
    if (before.us >= after.us) {
        mk_fail(err, MK_E_INVALID_ARG, "the first belief, %lld, is not before the second, %lld",
                (long long)before.us, (long long)after.us);
        mk_err_hint(err, "swap the two");
        return MK_E_INVALID_ARG;
    }
    at_after.as_of = not_zero(after);
    MK_TRY(rc, mk_ask(store, question, &at_after, objects, arena, &out->after, err));
    out->before = out->after;
    if (out->after.plan.n != 0)
        rc = mk_explain__planned(store, before, after, options, objects, arena, out, err);
out:
    return rc;
}

/* ---- for programs ---- */

static void put_cause(const mk_cause *cause, mk_buf *out)
{
    mk_buf_z(out, "{\"after\":");
    mk_buf_str(out, cause->after);
    mk_buf_z(out, ",\"batch_id\":");
    mk_canon_string(out, cause->batch_id);
    mk_buf_z(out, ",\"before\":");
    mk_buf_str(out, cause->before);
    mk_buf_z(out, ",\"ops\":[");
    for (size_t i = 0; i < cause->op_count; i++) {
        if (i != 0)
            mk_buf_c(out, ',');
        mk_buf_str(out, cause->ops[i]);
    }
    mk_buf_printf(out, "],\"ops_total\":%zu,\"tt\":%lld}", cause->ops_total, (long long)cause->tt);
}

static void put_change(const mk_claim_change *change, mk_buf *out)
{
    const char *was = change->verdict_before, *is = change->verdict_after;
    mk_buf_z(out, "{\"after\":");
    mk_buf_str(out, change->after.n != 0 ? change->after : MK_STR("null"));
    mk_buf_z(out, ",\"before\":");
    mk_buf_str(out, change->before.n != 0 ? change->before : MK_STR("null"));
    mk_buf_z(out, ",\"id\":");
    mk_canon_string(out, change->id);
    mk_buf_printf(out, ",\"verdict_after\":%s%s%s,\"verdict_before\":%s%s%s}", is ? "\"" : "",
                  is ? is : "null",
                  is ? "\"" : "", was ? "\"" : "", was ? was : "null", was ? "\"" : "");
}

mk_code mk_explain_json(const mk_explanation *e, mk_arena *arena, mk_buf *out, mk_err *err)
{
    mk_code rc;
    mk_buf_z(out, "{\"after\":");
    MK_TRY(rc, mk_ask_json(&e->after, arena, out, err));
    mk_buf_z(out, ",\"before\":");
    MK_TRY(rc, mk_ask_json(&e->before, arena, out, err));
    mk_buf_z(out, ",\"causes\":[");
    for (size_t i = 0; i < e->cause_count; i++) {
        if (i != 0)
            mk_buf_c(out, ',');
        put_cause(&e->causes[i], out);
    }
    mk_buf_printf(out, "],\"changed\":%s,\"claims\":[", e->differs ? "true" : "false");
    for (size_t i = 0; i < e->claim_count; i++) {
        if (i != 0)
            mk_buf_c(out, ',');
        put_change(&e->claims[i], out);
    }
    mk_buf_printf(out, "],\"complete\":%s,\"question\":", e->all_causes ? "true" : "false");
    mk_canon_string(out, e->after.question);
    mk_buf_printf(out, ",\"transactions\":%llu}", (unsigned long long)e->transactions);
    rc = mk_buf_done(out, err);
out:
    return rc;
}

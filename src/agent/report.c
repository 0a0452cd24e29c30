/* report.c — see report.h. Layer: agent. */
#include "agent/report.h"

#include "agent/output.h"
#include "base/canon.h"

#define ANSWER_TOKENS 2048

typedef struct reporting {
    const mk_report_options *options;
    mk_evidence *evidence;
    mk_arena *arena;
    mk_prompt prompt;
    mk_buf record;
    mk_report *out;
    mk_str best; /* an answer of which something survives the gate; p NULL: none */
} reporting;

/* What is wrong with an answer, as JSON; nothing when all of it holds. */
static void put_faults(const mk_answer_report *report, mk_buf *out)
{
    bool faults = !report->schema_valid;
    for (size_t i = 0; i < report->claim_count; i++)
        faults |= report->claims[i].verdict == MK_UNSUPPORTED || report->claims[i].verdict == MK_UNVERIFIABLE;
    if (!faults && report->uncovered_count == 0)
        return;
    mk_buf_z(out, "{\"claims\":[");
    bool first = true;
    for (size_t i = 0; i < report->claim_count; i++) {
        const mk_claim_result *claim = &report->claims[i];
        if (claim->verdict != MK_UNSUPPORTED && claim->verdict != MK_UNVERIFIABLE)
            continue;
        mk_buf_z(out, first ? "{\"id\":" : ",{\"id\":");
        mk_canon_string(out, claim->id);
        mk_buf_z(out, ",\"reason\":");
        mk_canon_string(out, claim->reason);
        mk_buf_printf(out, ",\"verdict\":\"%s\"}", mk_verdict_name(claim->verdict));
        first = false;
    }
    mk_buf_z(out, "],\"error\":\"E_ANSWER\",\"message\":");
    mk_canon_string(out, report->schema_valid ? MK_STR("not every statement holds") : report->schema_error);
    mk_buf_z(out, ",\"uncovered\":[");
    for (size_t i = 0; i < report->uncovered_count; i++) {
        if (i != 0)
            mk_buf_c(out, ',');
        mk_canon_string(out, report->uncovered[i]);
    }
    mk_buf_z(out, "]}");
}

/* Looks at one answer; *good when nothing is wrong with it. */
static mk_code judge(reporting *r, mk_str answer, mk_buf *faults, bool *good, mk_err *err)
{
    mk_answer_report report;
    mk_gated gated;
    mk_code rc;
    MK_TRY(rc, mk_answer_verify(answer, r->evidence, &r->options->verify, r->arena, &report, err));
    put_faults(&report, faults);
    MK_TRY(rc, mk_buf_done(faults, err));
    *good = faults->n == 0;
    if (!report.schema_valid)
        goto out;
    MK_TRY(rc, mk_answer_gate(&report, &r->options->verify, r->arena, &gated, err));
    if (gated.emitted)
        r->best = answer;
    else
        *good = false;
out:
    return rc;
}

static mk_code try_model(reporting *r, bool *good, mk_err *err)
{
    mk_message messages[2];
    mk_model_request request;
    mk_model_reply reply;
    mk_buf faults;
    mk_code rc;
    mk_buf_init(&faults, r->arena->alloc);
    mk_prompt_request(&r->prompt, messages, &request);
    request.tokens_max = ANSWER_TOKENS;
    r->out->attempts++;
    MK_TRY(rc, mk_model_ask(r->options->model, &request, r->arena, &reply, err));
    mk_buf_c(&r->record, r->record.n == 0 ? '[' : ',');
    mk_output_record(&r->prompt, &reply, &r->record);
    MK_TRY(rc, mk_buf_done(&r->record, err));
    const mk_str answer = mk_output_clean(reply.text, r->arena);
    if (answer.p == NULL) {
        rc = mk_fail_nomem(err);
        goto out;
    }
    MK_TRY(rc, judge(r, answer, &faults, good, err));
    if (!*good && faults.n == 0)
        mk_buf_z(&faults, "{\"error\":\"E_ANSWER\",\"message\":\"nothing of it can be said\"}");
    if (!*good)
        rc = mk_prompt_rejected(&r->prompt, reply.text, mk_buf_view(&faults), mk_prompt_cue_answer,
                                r->arena, err);
out:
    mk_buf_free(&faults);
    return rc;
}

static mk_code ask_model(reporting *r, mk_str question, const mk_json *trace, mk_objects *objects,
                         mk_err *err)
{
    bool good = false;
    mk_code rc;
    MK_TRY(rc, mk_prompt_reporter(&r->prompt, question, trace, objects, r->arena, err));
    while (!good && r->out->attempts < MK_REPORT_TRIES)
        MK_TRY(rc, try_model(r, &good, err));
out:
    return rc == MK_E_MODEL ? MK_OK : rc;
}

mk_code mk_report_write(mk_str question, const mk_json *plan, const mk_json *trace, mk_objects *objects,
                        mk_evidence *evidence, const mk_report_options *options, mk_arena *arena,
                        mk_report *out, mk_err *err)
{
    reporting r = {.options = options, .evidence = evidence, .arena = arena, .out = out};
    mk_code rc = MK_OK;
    *out = (mk_report){0};
    mk_prompt_init(&r.prompt, arena->alloc);
    mk_buf_init(&r.record, arena->alloc);
    if (options->model != NULL)
        MK_TRY(rc, ask_model(&r, question, trace, objects, err));
    mk_buf_z(&r.record, r.record.n == 0 ? "[]" : "]");
    MK_TRY(rc, mk_buf_done(&r.record, err));
    out->record = mk_arena_copy(arena, mk_buf_view(&r.record));
    if (out->record.p == NULL) {
        rc = mk_fail_nomem(err);
        goto out;
    }
    out->by_model = r.best.p != NULL;
    out->answer = r.best;
    if (!out->by_model)
        rc = mk_answer_mechanical(plan, trace, options->style, arena, &out->answer, err);
out:
    mk_buf_free(&r.record);
    mk_prompt_free(&r.prompt);
    return rc;
}

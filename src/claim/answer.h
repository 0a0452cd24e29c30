/* answer.h — answers, what they rest on, and whether they hold. Layer: claim.
 *
 * An answer is text and claims; a claim names the steps it rests on and, by a path, the value it states.
 * Verification reads results and nothing else: whatever a claim says is looked for in the payloads that it
 * cites, with what those payloads leave out. The folder knows base only, so that build/merkhet-verify is
 * small enough to audit: traces, calls and payloads come as JSON (docs/trace-format.md), re-execution
 * as a function. Source: agent spec, 11, 12, 18.1 to 18.5, 18.17; decisions.md 5. */
#ifndef MK_CLAIM_ANSWER_H
#define MK_CLAIM_ANSWER_H

#include "base/canon.h"

/* ---- evidence ---- */

/* The object under a digest as text in `arena`, verified against its name. */
typedef mk_code mk_object_fn(void *ctx, const char *digest, mk_arena *arena, mk_str *text, mk_err *err);
/* Runs an operator at a belief time (pattern claims); gives its payload. Without a store: NULL. */
typedef mk_code mk_reexec_fn(void *ctx, mk_str op, mk_str args, int64_t as_of_tt, mk_arena *arena,
                             mk_str *payload, mk_err *err);

typedef struct mk_evidence mk_evidence;
/* A trace and the objects it names. Objects that are missing or do not hash to their name are noted, and
 * claims that cite them become unverifiable. Lives in `arena`. Errors: MK_E_SCHEMA for a trace that is
 * none, MK_E_NOMEM. */
MK_CHECK mk_code mk_evidence_open(mk_str trace, mk_object_fn *get, void *get_ctx, mk_reexec_fn *reexec,
                                  void *reexec_ctx, mk_arena *arena, mk_evidence **out, mk_err *err);

/* ---- verdicts ---- */

typedef enum mk_verdict {
    MK_SUPPORTED,
    MK_WEAKLY_SUPPORTED,
    MK_UNSUPPORTED,
    MK_UNVERIFIABLE
} mk_verdict;
const char *mk_verdict_name(mk_verdict verdict); /* "supported", "weakly_supported", ... */

typedef struct mk_claim_result {
    mk_str id, type;
    const mk_json *claim;
    mk_verdict verdict;
    mk_str reason;          /* one sentence for a person */
    const char *reasons[8]; /* machine words: "page", "excluded", "mismatch", "uncited", ... */
    size_t reason_count;
} mk_claim_result;

typedef struct mk_answer_report {
    bool schema_valid;
    mk_str schema_error;
    mk_str text;
    mk_claim_result *claims;
    size_t claim_count;
    double ucr, coverage;
    mk_str *ids; /* what counts as an identifier in a text about this evidence, sorted */
    size_t id_count;
    mk_str *uncovered; /* numbers and identifiers of the text that no claim covers */
    size_t uncovered_count;
} mk_answer_report;

typedef struct mk_verify_options {
    bool strict;           /* count and value claims must have `from`; unverifiable ones are dropped */
    bool no_completeness;  /* ablation */
} mk_verify_options;

/* `answer` is {"text","claims":[...]}. Never fails on its content. Everything lives in `arena`. */
MK_CHECK mk_code mk_answer_verify(mk_str answer, mk_evidence *evidence,
                                  const mk_verify_options *options, mk_arena *arena,
                                  mk_answer_report *out, mk_err *err);
/* {"claims":[{"id","type","verdict","reason","reasons"}],"metrics":{...},"schema_valid":...}; canonical. */
void mk_answer_report_json(const mk_answer_report *report, mk_buf *out);

/* ---- the gate ---- */

typedef struct mk_gated {
    /* What may leave: {"text","claims"}, canonical; the text rests on surviving claims only. */
    mk_str answer;
    mk_str dropped; /* [{"id","reason","verdict"}], canonical */
    /* The same for unverifiable claims when they are not dropped (not strict); they are not in the text. */
    mk_str unverified;
    bool emitted;   /* false: nothing survived */
    bool qualified; /* some surviving claim is weak, and the text says so */
} mk_gated;

/* One gate for library, command line, MCP and page (agent spec, 12.7). Sentences that contain a number or
 * an identifier without a surviving claim are removed. */
MK_CHECK mk_code mk_answer_gate(const mk_answer_report *report, const mk_verify_options *options,
                                mk_arena *arena, mk_gated *out, mk_err *err);

/* ---- mechanical answers ---- */

typedef enum mk_answers { MK_ANSWERS_OURS, MK_ANSWERS_REFERENCE } mk_answers;
/* The answer object that follows from a plan and its trace, always verifiable (agent spec, 11.4;
 * decisions.md 5). `plan` and `trace` are JSON trees. */
MK_CHECK mk_code mk_answer_mechanical(const mk_json *plan, const mk_json *trace, mk_answers style,
                                      mk_arena *arena, mk_str *answer, mk_err *err);

#endif

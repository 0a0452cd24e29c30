/* report.h — the reporter: from a trace to an answer object. Layer: agent.
 *
 * A model may write it; what it writes counts only as far as the claim verifier and the gate let it.
 * After two attempts that do not, the mechanical answer is taken, which always verifies.
 * Source: agent spec, 11.2, 11.4; decisions.md 5. */
#ifndef MK_AGENT_REPORT_H
#define MK_AGENT_REPORT_H

#include "agent/prompt.h"
#include "claim/answer.h"

#define MK_REPORT_TRIES 2

/* All members may be zero. */
typedef struct mk_report_options {
    mk_model *model; /* NULL: the mechanical answer */
    mk_verify_options verify;
    mk_answers style; /* of the mechanical answer */
} mk_report_options;

/* Everything lives in the caller's arena. */
typedef struct mk_report {
    mk_str answer; /* {"claims","text"}, not yet gated */
    bool by_model;
    size_t attempts; /* calls of the model */
    mk_str record;   /* JSON list of them, as in mk_plan_model_result */
} mk_report;

/* `trace` is a trace's JSON whose objects are in `objects`; `evidence` is opened over the same. A model that
 * fails is no error: the mechanical answer takes its place. Errors: MK_E_NOMEM, MK_E_CANCELLED. */
MK_CHECK mk_code mk_report_write(mk_str question, const mk_json *plan, const mk_json *trace,
                                 mk_objects *objects, mk_evidence *evidence, const mk_report_options *options,
                                 mk_arena *arena, mk_report *out, mk_err *err);

#endif

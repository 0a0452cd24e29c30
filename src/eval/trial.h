/* trial.h — one plan on its way to a verified answer, with everything that happened. Layer: eval.
 *
 * The stations are those of every question: check, run, mechanical answer, verify, gate. Evaluation keeps
 * what each of them said. Source: evaluation spec, 6, 11.2, 13. */
#ifndef MK_EVAL_TRIAL_H
#define MK_EVAL_TRIAL_H

#include "claim/answer.h"
#include "plan/run.h"

/* All members may be zero. */
typedef struct mk_trial_options {
    unsigned mask;
    mk_tt as_of;           /* 0: what is believed now */
    const mk_str *allowed; /* identifiers that the task supplies */
    size_t allowed_count;
    bool ground;           /* others must not stand in the plan */
    bool strict;
    bool no_contracts, no_completeness, no_gate; /* ablations */
    unsigned threads;
    size_t row_budget; /* over all steps; 0: MK_PLAN_ROWS_MAX */
    const mk_clock *clock;
    const atomic_bool *cancelled;
} mk_trial_options;

/* Everything lives in the arena, and reads `objects` while evidence is opened only. */
typedef struct mk_trial {
    mk_plan_report check;
    bool ran;       /* the plan was valid, and trace is filled */
    mk_trace trace;
    bool reported;  /* there was an answer, and all below is filled */
    mk_str answer;  /* {"text","claims"} as reported, before the gate */
    mk_evidence *evidence;
    mk_answer_report report; /* of `answer` */
    mk_gated gated; /* without a gate: the answer as it was */
    mk_str why;     /* why there is no answer: "E_LIMIT in s3: ..." ; n 0: there is one */
} mk_trial;

/* Errors: MK_E_NOMEM, MK_E_CANCELLED, what the store and `objects` report. A plan that is refused or fails
 * is a result. */
MK_CHECK mk_code mk_trial_run(mk_store *store, mk_str plan, const mk_trial_options *options,
                              mk_objects *objects, mk_arena *arena, mk_trial *out, mk_err *err);

/* An object as claims want it; ctx is a mk_objects. */
mk_code mk_trial_object(void *ctx, const char *digest, mk_arena *arena, mk_str *text, mk_err *err);

#endif

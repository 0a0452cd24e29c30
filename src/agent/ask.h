/* ask.h — from a question to a checked answer. Layer: agent.
 *
 * One path for library, command line, servers and evaluation: plan, check, run, report, verify, gate. A
 * planner may only choose operators and words; what leaves here was computed by operators and let through
 * by the claim verifier, or it is an abstention that says what is missing.
 * Source: agent spec, 1, 12.7, 18.9, 18.12, 18.14, 18.16; decisions.md 4, 5, 11. */
#ifndef MK_AGENT_ASK_H
#define MK_AGENT_ASK_H

#include "claim/answer.h"
#include "claim/bundle.h"
#include "model/model.h"
#include "plan/run.h"

#define MK_ASK_EXAMPLES 5 /* questions shown beside an abstention */

typedef enum mk_planner {
    MK_PLANNER_AUTO, /* the model when one is configured, else the offline planner */
    MK_PLANNER_MODEL,
    MK_PLANNER_OFFLINE
} mk_planner;

/* ---- progress ---- */

typedef enum mk_ask_event_kind {
    MK_ASK_ATTEMPT,  /* a planner was asked; name: the planner */
    MK_ASK_REJECTED, /* its plan was refused; detail: the first violation */
    MK_ASK_STEP_STARTED,
    MK_ASK_STEP_FINISHED,
    MK_ASK_CLAIM_CHECKED, /* name: the claim; detail: its verdict */
    MK_ASK_DONE
} mk_ask_event_kind;
typedef struct mk_ask_event {
    mk_ask_event_kind kind;
    mk_str name, detail;
    bool ok;
    uint64_t rows; /* STEP_FINISHED */
} mk_ask_event;
/* Called from the thread that asked, and for steps from the threads that run them, one at a time. */
typedef void mk_ask_event_fn(void *ctx, const mk_ask_event *event);

/* ---- asking ---- */

/* All members may be zero. */
typedef struct mk_ask_options {
    mk_planner planner;
    mk_model *model; /* NULL: none is configured */
    mk_tt as_of; /* belief time; 0: the one that the question names, else what is believed now */
    unsigned mask;
    const mk_str *allowed; /* identifiers that came with the question, beside those written in it */
    size_t allowed_count;
    mk_ceilings ceilings;
    double time_scale;
    int64_t wall_us; /* for running the plan; 0: MK_PLAN_WALL_US */
    unsigned threads;
    bool strict;     /* the gate drops what cannot be verified */
    bool no_contracts, no_completeness, no_gate, no_memory; /* ablations */
    bool no_examples; /* an abstention lists none: they cost reading the store */
    const mk_clock *clock;
    const atomic_bool *cancelled;
    mk_ask_event_fn *event;
    void *event_ctx;
} mk_ask_options;

/* Everything lives in the arena that was given, or in the store. */
typedef struct mk_ask_result {
    mk_str question;
    const char *planner; /* "offline" or "model": who made the plan */
    bool abstained;      /* then `missing` says why, and `examples` what could be asked */
    mk_str note;         /* why it was not the planner that was asked for; n 0: it was */
    mk_str understood;   /* the reading as a sentence */
    mk_str *missing;
    size_t missing_count;
    mk_str *candidates; /* what an ambiguous name could mean */
    size_t candidate_count;
    mk_str examples[MK_ASK_EXAMPLES];
    size_t example_count;
    mk_str plan; /* canonical JSON; n 0: there was none */
    bool ran;    /* trace, answer and report are there */
    mk_trace trace;
    mk_answer_report report; /* of the answer that leaves */
    mk_gated gated;
    mk_str answer_kind;    /* "count", "entity_set", ... */
    const mk_json *value;  /* NULL unless a claim about it stands */
    mk_str prompts;        /* JSON list of what a model was shown and said; n 0: no model */
    size_t attempts;       /* plans that a model wrote */
    bool first_valid;      /* the first plan, of whichever planner, passed the check as it was */
    int64_t as_of_tt;
    bool complete; /* the value and all claims rest on whole results */
} mk_ask_result;

/* Answers, or abstains, which is a result and no error. The objects of the run are put into `objects`.
 * Errors: MK_E_INVALID_ARG (the question is empty, not UTF-8 or too long), MK_E_MODEL when a model was asked
 * for by name and fails, MK_E_CANCELLED, MK_E_NOMEM, what the store and `objects` report. */
MK_CHECK mk_code mk_ask(mk_store *store, mk_str question, const mk_ask_options *options,
                        mk_objects *objects, mk_arena *arena, mk_ask_result *out, mk_err *err);

/* Only the questions that an abstention would list. */
MK_CHECK mk_code mk_ask_examples(mk_store *store, const mk_ask_options *options, mk_arena *arena,
                                 mk_str questions[MK_ASK_EXAMPLES], size_t *count, mk_err *err);

/* The shape of decisions.md 5, canonical, with "candidates" and "examples" beside an abstention. */
MK_CHECK mk_code mk_ask_json(const mk_ask_result *result, mk_arena *arena, mk_buf *out, mk_err *err);
/* The answer with all it rests on, for mk_bundle_verify. MK_E_STATE when the result is an abstention without
 * a run. */
MK_CHECK mk_code mk_ask_bundle(const mk_ask_result *result, mk_objects *objects, mk_arena *arena,
                               mk_buf *out, mk_err *err);

#endif

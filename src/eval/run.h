/* run.h — a suite through a system, and what came of it. Layer: eval.
 *
 * Three systems answer the same questions: `oracle` runs the plan that a task carries, `offline` and `model`
 * plan themselves, through mk_ask. Beside every score stands that of a constant answer: for each kind of
 * answer the right one that is most frequent in the suite, given to every task of that kind. No answer counts
 * as wrong, whatever the kind, but for kind `abstain`. Source: evaluation spec, 10 to 14 and 22. */
#ifndef MK_EVAL_RUN_H
#define MK_EVAL_RUN_H

#include <stdatomic.h>

#include "base/canon.h"
#include "eval/suite.h"
#include "store/view.h"

typedef enum mk_eval_planner { MK_EVAL_ORACLE, MK_EVAL_OFFLINE, MK_EVAL_MODEL } mk_eval_planner;
const char *mk_eval_planner_name(mk_eval_planner planner);

/* What one task came to. */
typedef struct mk_eval_row {
    const mk_eval_task *task;
    mk_str answer;    /* canonical JSON of the value that left the system; "null" when it abstained */
    bool abstained;
    bool correct;     /* exact match, or rightly abstained */
    double f1;
    bool has_plan;    /* a planner emitted one: the next two mean something */
    bool first_valid; /* the first one passed the check */
    bool executed;    /* and a plan ran to an answer */
    bool trace_correct; /* what the plan computed is right, whether or not it left the system */
    bool has_claims;  /* an answer was verified: the next three mean something */
    double unsupported; /* share of the claims that left the system */
    size_t claims, dropped;
    mk_str why;       /* of an abstention */
    double wall_ms;
} mk_eval_row;
typedef void mk_eval_row_fn(void *ctx, const mk_eval_row *row, size_t done, size_t total);

/* All members may be zero. */
typedef struct mk_eval_options {
    mk_eval_planner planner;
    struct mk_model *model; /* what MK_EVAL_MODEL asks; NULL: none is configured */
    bool no_contracts, no_completeness, no_gate, no_memory; /* ablations */
    unsigned mask;
    unsigned threads;
    const mk_clock *clock;         /* of wall_ms; NULL: the system's */
    const atomic_bool *cancelled;
    mk_eval_row_fn *each;          /* called after every task */
    void *each_ctx;
} mk_eval_options;

typedef struct mk_eval_group {
    mk_str name;
    size_t tasks, abstained;
    double exact_match, f1; /* means over tasks */
    double baseline;        /* exact match of the constant answer */
} mk_eval_group;

/* Everything lives in the arena. */
typedef struct mk_eval_report {
    mk_eval_planner planner;
    mk_str ablated; /* "contracts,gate"; n 0: nothing */
    mk_eval_row *rows;
    size_t row_count;
    mk_eval_group overall;
    mk_eval_group *families, *kinds; /* sorted by name */
    size_t family_count, kind_count;
    /* Means over the rows that have a value; -1 when none has. */
    double first_attempt_validity, execution_success, unsupported_claim_rate;
    double trace_exact_match; /* exact match of what plans computed, over all tasks */
    mk_str split_sha; /* of the suite's test split; n 0: none */
} mk_eval_report;

/* Errors: MK_E_INVALID_ARG (oracle, and a task has no plan), MK_E_MODEL (no model is configured or it fails),
 * MK_E_CANCELLED, MK_E_NOMEM, what the store reports. A task that fails otherwise is a row. */
MK_CHECK mk_code mk_eval_run(mk_store *store, const mk_eval_suite *suite, const mk_eval_options *options,
                             mk_arena *arena, mk_eval_report *out, mk_err *err);

/* {"tasks","exact_match","abstained","by_family","by_kind","results",...}, canonical. */
void mk_eval_report_json(const mk_eval_report *report, mk_buf *out);

#endif

/* fault_pool.h — right answers with all they rest on, to be made wrong. Layer: eval.
 *
 * Every plan of a suite and of the store itself is run; its mechanical answer is enriched with claims that
 * are true by construction: orderings of times in its results, bursts, what was believed. Beside it stands
 * what the mutators need: the same question under current belief, and the same plan with a step cut to
 * three rows.
 * Source: evaluation spec, 17 and 18; decisions.md 5. */
#ifndef MK_EVAL_FAULT_POOL_H
#define MK_EVAL_FAULT_POOL_H

#include "claim/answer.h"
#include "eval/suite.h"
#include "plan/run.h"

#define MK_FAULT_CUT 3 /* rows of a step that was cut */

typedef struct mk_fault_step {
    mk_str id, op;
    const mk_json *payload;
} mk_fault_step;

typedef struct mk_fault_answer {
    mk_str task;
    mk_str answer; /* {"text","claims"}, canonical; the first claim is the mechanical one */
    mk_evidence *evidence;
    mk_fault_step *steps; /* completed ones */
    size_t step_count;
    mk_str cut;    /* "s1.rows": what was cut; n 0: nothing */
    const mk_json *other; /* the first claim as current belief would have it; NULL: the same, or not pinned */
    bool rejected; /* by the verifier as it stands: a false positive, and not to be mutated */
} mk_fault_answer;

/* Everything lives in `arena`. */
typedef struct mk_fault_pool {
    mk_arena *arena;
    mk_fault_answer *answers;
    size_t count, cap;
    mk_str *uids; /* identifiers in any result, sorted */
    size_t uid_count;
} mk_fault_pool;

/* Runs the plans and fills the pool; those that fail or claim nothing are left out. `rejected` is not yet
 * set.
 * Errors: MK_E_NOMEM, MK_E_CANCELLED, what the store reports. */
MK_CHECK mk_code mk_fault_pool_fill(mk_store *store, const mk_eval_task *tasks, size_t count, unsigned mask,
                                    const atomic_bool *cancelled, mk_objects *objects, mk_fault_pool *pool,
                                    mk_err *err);
/* The times in the rows of a result, each once, ascending; in `arena`. */
MK_CHECK mk_code mk_fault_times(const mk_json *payload, mk_arena *arena, int64_t **out, size_t *count,
                                mk_err *err);

#endif

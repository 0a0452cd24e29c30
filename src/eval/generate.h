/* generate.h — plans made from a store, for answers of kinds that suites lack. Layer: eval.
 *
 * Sets, intervals, orderings, bursts and beliefs about this very store, as plans that are run for fault
 * injection. Draws depend on the seed and on what the store believes, nothing else.
 * Source: evaluation spec, 4 and 5 for contexts and windows; decisions.md 5. */
#ifndef MK_EVAL_GENERATE_H
#define MK_EVAL_GENERATE_H

#include "eval/suite.h"
#include "store/view.h"

/* Plans that belong together, in turn: what each template found in this store. A store without edges gives
 * none. Tasks have a plan, an id and a kind; their gold is null, since running the plan is what defines it.
 * Everything lives in `arena`. Errors: MK_E_NOMEM, what reading the store reports. */
MK_CHECK mk_code mk_eval_generate(mk_store *store, unsigned mask, uint64_t seed, mk_arena *arena,
                                  mk_eval_task **tasks, size_t *count, mk_err *err);

#endif

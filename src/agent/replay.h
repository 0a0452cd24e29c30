/* replay.h — runs the plan of a bundle again and compares. Layer: agent.
 *
 * A bundle says what a store answered at a belief. The same store, or one folded from the same log, gives the
 * same names of calls and results for ever, whatever was corrected since. Source: agent spec, 18.10. */
#ifndef MK_AGENT_REPLAY_H
#define MK_AGENT_REPLAY_H

#include "claim/bundle.h"
#include "plan/run.h"

/* One step, then and now. */
typedef struct mk_replayed_step {
    mk_str step_id, op;
    mk_str status_then, status_now; /* n 0: the step is not there */
    mk_str result_then, result_now; /* digests; n 0: no result */
    bool same;                      /* of call, result and status */
} mk_replayed_step;

typedef struct mk_replay {
    mk_bundle_check check; /* of the bundle itself, before anything is run */
    bool ran;              /* false: the bundle is damaged, or its plan is none; `why` says it */
    mk_str why;
    int64_t as_of_tt;
    mk_replayed_step *steps;
    size_t step_count;
    bool same_answer;
    bool same; /* everything */
} mk_replay;

/* `options->as_of` is not looked at. Everything in the result lives in `arena`.
 * Errors: as mk_bundle_verify and mk_plan_run. */
MK_CHECK mk_code mk_replay_bundle(mk_store *store, mk_str bundle, const mk_plan_run_options *options,
                                  mk_arena *arena, mk_replay *out, mk_err *err);

/* {"as_of_tt","faults","same","same_answer","steps":[{"op","result_now","result_then","same","status_now",
 * "status_then","step_id"}],"why"}; canonical. */
void mk_replay_json(const mk_replay *replay, mk_buf *out);

#endif

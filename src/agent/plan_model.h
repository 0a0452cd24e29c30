/* plan_model.h — the planner that asks a model. Layer: agent.
 *
 * A conversation: the first attempt, then repairs, each told what was wrong with the one before. Static
 * violations and errors of a run share one budget. The model is given the plan's JSON Schema and
 * grammar; what it wrote is read as if nobody had. Source: agent spec, 10.4, 10.5, 17 (O-17), 18.6,
 * 18.14. */
#ifndef MK_AGENT_PLAN_MODEL_H
#define MK_AGENT_PLAN_MODEL_H

#include "agent/prompt.h"

#define MK_PLAN_REPAIRS_MAX 3

/* Told before each call and after each rejection. `detail` is the first violation, empty before a call. */
typedef void mk_plan_model_event_fn(void *ctx, size_t attempt, bool rejected, mk_str detail);

/* Members but `model`, `task` and `check` may be zero. Borrowed for the life of the conversation. */
typedef struct mk_plan_model_options {
    mk_model *model;
    const mk_prompt_task *task;
    const mk_plan_check_options *check; /* allowed and ground as in the task */
    unsigned repairs_max;               /* at most MK_PLAN_REPAIRS_MAX; 0: that */
    bool no_repairs;
    bool unguided; /* send neither schema nor grammar */
    mk_plan_model_event_fn *event;
    void *event_ctx;
} mk_plan_model_options;

/* Everything lives in the conversation's arena. */
typedef struct mk_plan_model_result {
    bool planned;         /* the last attempt is a valid plan */
    mk_str plan;          /* its JSON text */
    mk_plan_report report; /* of the last attempt */
    size_t attempts;      /* calls so far */
    bool first_valid;     /* the very first output was a valid plan; repairs never change it */
    bool budget_left;     /* another attempt may be made */
    mk_str record;        /* JSON list of the calls: prompts, replies, tokens */
} mk_plan_model_result;

typedef struct mk_plan_model mk_plan_model;
/* `view` is read now and not kept. Errors: MK_E_NOMEM, what reading the store reports. */
MK_CHECK mk_code mk_plan_model_open(mk_view *view, const mk_plan_model_options *options, mk_arena *arena,
                                    mk_plan_model **out, mk_err *err);
void mk_plan_model_close(mk_plan_model *planner); /* NULL is fine */

/* Asks until a plan is valid or the budget is used up. `errors` is empty at first; later it is what running
 * the plan gave (mk_plan_model_errors), and the conversation goes on from that plan alone.
 * Errors: MK_E_MODEL, MK_E_CANCELLED, MK_E_NOMEM. A plan that never became valid is a result. */
MK_CHECK mk_code mk_plan_model_next(mk_plan_model *planner, mk_str errors, mk_plan_model_result *out,
                                    mk_err *err);

/* All errors of a run that another plan may avoid, the answer's path included, as one JSON object in `arena`;
 * empty when there is none. `trace` is a trace's JSON. */
MK_CHECK mk_code mk_plan_model_errors(const mk_json *trace, mk_arena *arena, mk_str *errors, mk_err *err);

#endif

/* plan.h — plans: a small program of operator calls, read strictly and checked before it runs. Layer: plan.
 *
 * A plan is one JSON object: steps with an operator, arguments and dependencies, and where the answer is
 * to be found. Any value inside `args` may be {"$ref":"s1.rows[0].uid"}, a path into the result of a step
 * that is listed in `depends_on`. Source: agent spec, 4 to 6; decisions.md 4 to 6. */
#ifndef MK_PLAN_PLAN_H
#define MK_PLAN_PLAN_H

#include "op/registry.h"
#include "plan/ref.h"

#define MK_PLAN_STEPS_MAX 12
#define MK_PLAN_TEXT_MAX ((size_t)4 << 20)

typedef enum mk_answer_kind {
    MK_ANSWER_COUNT,
    MK_ANSWER_VALUE,
    MK_ANSWER_ENTITY_SET,
    MK_ANSWER_INTERVAL,
    MK_ANSWER_SERIES,
    MK_ANSWER_PATHS,
    MK_ANSWER_TEXT
} mk_answer_kind;
const char *mk_answer_kind_name(mk_answer_kind kind);

typedef struct mk_plan_step {
    mk_str id; /* "s" and digits */
    mk_str op_name;
    const mk_operator *op; /* NULL when not registered; the check says so */
    const mk_json *args;
    size_t depends[MK_PLAN_STEPS_MAX]; /* indices of steps */
    size_t depend_count;
} mk_plan_step;

/* Everything lives in the arena it was read into. */
typedef struct mk_plan {
    mk_str plan_id, question;
    mk_plan_step steps[MK_PLAN_STEPS_MAX];
    size_t step_count;
    size_t order[MK_PLAN_STEPS_MAX]; /* generations of Kahn's algorithm, plan order inside each */
    bool cyclic;                     /* steps wait for each other; such a plan is not run */
    mk_answer_kind kind;
    mk_str from;         /* "s3" or "s3.rows[0].uid" */
    const mk_json *json; /* the plan's own text as a tree */
} mk_plan;

/* ---- the static check ---- */

typedef struct mk_violation {
    mk_code code;
    bool grounding;      /* shown as E_GROUNDING */
    mk_str step_id;      /* n 0: none */
    mk_str message;      /* names the legal alternative */
    mk_str path;         /* where in the plan: "steps[2].args.window.t_b" */
    mk_str details; /* all members of `details`, canonical JSON text without braces; n 0: the path alone */
} mk_violation;

typedef struct mk_plan_check_options {
    const mk_view_stats *stats; /* NULL: no store, so neither extent nor cost is judged */
    mk_ceilings ceilings;       /* as in mk_call_options */
    double time_scale;
    const mk_str *allowed; /* identifiers that the task supplies */
    size_t allowed_count;
    bool ground;       /* literal identifiers must be in `allowed`; false: the rule is off */
    bool no_contracts; /* ablation: output contracts are not looked at */
} mk_plan_check_options;

typedef struct mk_plan_report {
    bool valid;
    mk_plan plan; /* when it could be read, valid or not */
    bool has_plan;
    mk_violation *violations;
    size_t violation_count;
} mk_plan_report;

/* Reads and checks a plan's text; never fails on its content, whatever that is. Everything in the report
 * lives in `arena`. Errors: MK_E_NOMEM only. */
MK_CHECK mk_code mk_plan_check(mk_str text, const mk_plan_check_options *options, mk_arena *arena,
                               mk_plan_report *out, mk_err *err);
/* {"valid":true,"violations":[{"code","message","details":{"path",...},"step_id"}]}; canonical. */
void mk_plan_report_json(const mk_plan_report *report, mk_buf *out);
/* {"error":"E_PLAN_INVALID","violations":[...]}: what a planner is shown. */
void mk_plan_repair_json(const mk_plan_report *report, mk_buf *out);

#endif

/* plan_internal.h — what the files of the static check share. Layer: plan, internal. */
#ifndef MK_PLAN_INTERNAL_H
#define MK_PLAN_INTERNAL_H

#include "plan/plan.h"

#define MK_PLAN_VIOLATIONS_MAX 200 /* more tell a planner nothing new */
#define MK_PLAN_NO_STEP SIZE_MAX

typedef struct mk_type mk_type;

typedef struct mk_checker {
    const mk_plan_check_options *options;
    mk_arena *arena;
    mk_plan_report *out;
    size_t cap;
    bool nomem;
    const mk_type *types[MK_PLAN_STEPS_MAX]; /* of each step's payload; NULL: not known */
} mk_checker;

/* Starts a violation; NULL when there is no memory, or there are too many already. `path` is a format. */
mk_violation *mk_plan__add(mk_checker *c, mk_code code, size_t step, const char *path);
/* A text in the arena, cut to what fits; bytes that steer a terminal become '?'. */
mk_str mk_plan__text(mk_checker *c, const char *fmt, ...) MK_PRINTF(2, 3);
/* At most `max` bytes of a text that somebody else wrote, for a message. */
#define MK_PLAN_CUT(s, max) (int)((s).n > (max) ? (max) : (s).n), ((s).n ? (s).p : "")

/* ---- plan.c ---- */
/* Reads the text into c->out->plan. Violations are added; false when there is no plan to go on with. */
bool mk_plan__read(mk_checker *c, mk_str text);

/* ---- check_args.c ---- */
/* Arguments of one step as far as they are literals: names, presence, types, temporal sense, cost. */
void mk_plan__check_args(mk_checker *c, size_t step);

/* ---- check_refs.c ---- */
/* References of one step: syntax, scope, the fields they lead to, what may stand where they stand, and
 * where identifiers come from. Gives the step's type. */
void mk_plan__check_refs(mk_checker *c, size_t step);
void mk_plan__check_answer(mk_checker *c);
/* Whether a reference is anywhere in a value. */
bool mk_plan__has_ref(const mk_json *value);

#endif

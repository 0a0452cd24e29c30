/* run_internal.h — what the files of mk_eval_run share. Layer: eval. */
#ifndef MK_EVAL_RUN_INTERNAL_H
#define MK_EVAL_RUN_INTERNAL_H

#include "eval/run.h"
#include "plan/run.h"

/* One answer on its way to a row. */
typedef struct mk_eval_answer {
    const mk_json *value; /* what left the system; NULL: it abstained */
    const mk_json *computed; /* what the plan gave; NULL: nothing */
} mk_eval_answer;

/* Fills the row's members about plan, run and claims, and the answer. `objects` is the task's own. */
MK_CHECK mk_code mk_eval__by_plan(mk_store *store, const mk_eval_options *options, const mk_eval_task *task,
                                  mk_objects *objects, mk_arena *arena, mk_eval_row *row,
                                  mk_eval_answer *answer, mk_err *err);
MK_CHECK mk_code mk_eval__by_asking(mk_store *store, const mk_eval_options *options, const mk_eval_task *task,
                                    mk_objects *objects, mk_arena *arena, mk_eval_row *row,
                                    mk_eval_answer *answer, mk_err *err);

/* Sets `baseline[i]` to the exact match of the constant answer on task i. */
MK_CHECK mk_code mk_eval__baseline(const mk_eval_suite *suite, mk_arena *arena, double **baseline,
                                   mk_err *err);

/* Groups and means over the rows, which are all there. */
MK_CHECK mk_code mk_eval__summarise(mk_eval_report *report, const double *baseline, mk_arena *arena,
                                    mk_err *err);

#endif

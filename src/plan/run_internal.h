/* run_internal.h — what the files of the executor share. Layer: plan, internal. */
#ifndef MK_PLAN_RUN_INTERNAL_H
#define MK_PLAN_RUN_INTERNAL_H

#include "plan/run.h"

typedef enum mk_step_status { MK_STEP_WAITING, MK_STEP_OK, MK_STEP_FAILED, MK_STEP_SKIPPED } mk_step_status;

/* A step while it runs, and what is left of it. */
typedef struct mk_step_run {
    const mk_plan_step *step;
    mk_step_status status;
    bool called;
    char args_sha[17];
    char call_digest[65], result_digest[65];
    double wall_ms;
    uint64_t rows, rows_total;
    bool truncated;
    mk_str args;               /* resolved, canonical, as the call gets them */
    const mk_json *payload;    /* NULL: not ok */
    const mk_json *gaps;       /* completeness, inherited reasons included; an object */
    mk_json *inherited;        /* reasons that came with the arguments; a list */
    size_t inherited_count, inherited_cap;
    bool cut;                  /* an argument is a list of which a part is missing */
    mk_str cut_path;           /* that argument's reference */
    mk_err err;
    /* One call. */
    mk_arena arena;
    mk_call_result result;
    mk_code rc;
} mk_step_run;

typedef struct mk_running {
    mk_store *store;
    const mk_plan *plan;
    const mk_plan_run_options *options;
    mk_objects *objects;
    mk_arena *arena;
    const mk_clock *clock;
    int64_t started_us, tt;
    uint64_t rows; /* materialised so far */
    mk_step_run steps[MK_PLAN_STEPS_MAX];
} mk_running;

/* ---- run_args.c ---- */
/* Puts the step's references in and pins its belief; remembers what they leave out. An error is the
 * step's. */
mk_code mk_run__args(mk_running *r, size_t step, mk_err *err);
/* Reasons at a reference into a step: a list of objects as in `completeness`, with "via" when it is text. */
mk_code mk_run__gaps_of(mk_running *r, const mk_ref *ref, size_t on, mk_str via, mk_json *list, size_t *count,
                        size_t max, mk_err *err);
#define MK_RUN_GAPS_MAX 32

/* ---- run_trace.c ---- */
/* The objects of a step that is done. */
mk_code mk_run__record(mk_running *r, size_t step, mk_err *err);
mk_code mk_run__trace(mk_running *r, mk_trace *out, mk_err *err);

#endif

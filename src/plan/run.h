/* run.h — running a plan into a trace. Layer: plan.
 *
 * "Current" becomes one transaction time at the start and is recorded. Steps without a page are
 * computed whole up to the row budget. What a result leaves out is known per field and follows the data
 * through references. Every call leaves two content-addressed objects, its record and its payload; the
 * trace names them. docs/trace-format.md has the shapes.
 * Source: agent spec, 7 to 9 and 18.1, 18.7; decisions.md 4, 5, 11. */
#ifndef MK_PLAN_RUN_H
#define MK_PLAN_RUN_H

#include "op/call.h"
#include "plan/plan.h"

#define MK_PLAN_ROWS_MAX 50000       /* rows materialised over all steps */
#define MK_PLAN_WALL_US INT64_C(60000000)

/* ---- content-addressed objects ---- */

/* Where calls and payloads go and come from. A folder (mk_trace_dir_open), a table in memory
 * (mk_trace_memory_open) or a bundle. `get` verifies what it reads against the name. */
typedef struct mk_objects mk_objects;
struct mk_objects {
    /* Keeps canonical `text` under its SHA-256; writing what is there already is fine. */
    mk_code (*put)(mk_objects *self, const char digest[65], mk_str text, mk_err *err);
    /* The text under that name, in `arena`. MK_E_NOT_FOUND; MK_E_STATE reason "damaged" when it does not hash
     * to its name. */
    mk_code (*get)(mk_objects *self, const char *digest, mk_arena *arena, mk_str *text, mk_err *err);
    void (*close)(mk_objects *self);
};
MK_CHECK mk_code mk_objects_memory(const mk_alloc *alloc, size_t bytes_max, mk_objects **out, mk_err *err);
/* Files DIR/<digest>.json, written to a temporary name and renamed; at most `bytes_max`, the oldest that
 * no pinned trace names leave. */
MK_CHECK mk_code mk_objects_dir(const mk_alloc *alloc, const mk_fs *fs, const char *dir,
                                uint64_t bytes_max, mk_objects **out, mk_err *err);
void mk_objects_close(mk_objects *objects); /* NULL is fine */

/* ---- progress ---- */

typedef enum mk_run_event_kind {
    MK_EVENT_STEP_STARTED,
    MK_EVENT_STEP_FINISHED,
    MK_EVENT_DONE
} mk_run_event_kind;
typedef struct mk_run_event {
    mk_run_event_kind kind;
    mk_str step_id, op;
    bool ok;
    uint64_t rows;
    double wall_ms;
} mk_run_event;
typedef void mk_run_event_fn(void *ctx, const mk_run_event *event);

/* ---- running ---- */

typedef struct mk_plan_run_options {
    mk_tt as_of; /* what "current" means; 0 or MK_OPEN_END: the newest commit at the start */
    unsigned mask;
    mk_ceilings ceilings;
    double time_scale;
    size_t row_budget;  /* 0: MK_PLAN_ROWS_MAX */
    size_t memory_max;  /* scratch of one call; 0: 1 GiB */
    int64_t wall_us;    /* 0: MK_PLAN_WALL_US */
    int64_t step_us;    /* deadline of one step; 0: none */
    unsigned threads;   /* for independent steps; 0: as many as cores */
    bool no_completeness; /* ablation: incompleteness is not looked at */
    const mk_clock *clock;
    const atomic_bool *cancelled;
    mk_run_event_fn *event;
    void *event_ctx;
} mk_plan_run_options;

typedef struct mk_trace {
    mk_str json; /* canonical; docs/trace-format.md */
    char digest[65]; /* of the trace without its wall times */
    bool ok;
    const mk_json *answer;       /* NULL: none */
    const mk_json
        *answer_gaps; /* reasons why it is not complete, as in `completeness`; empty list: complete */
    int64_t as_of_tt;
} mk_trace;

/* Runs a plan (checked or not: everything is looked at again) and puts its objects into `objects`. A step
 * that fails is in the trace and no error of this function. The trace lives in `arena`.
 * Errors: MK_E_NOMEM, MK_E_STATE, what `objects` reports. */
MK_CHECK mk_code mk_plan_run(mk_store *store, const mk_plan *plan,
                             const mk_plan_run_options *options, mk_objects *objects,
                             mk_arena *arena, mk_trace *out, mk_err *err);

#endif

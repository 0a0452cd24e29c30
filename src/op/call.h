/* call.h — the one way to run an operator. Layer: op.
 *
 * Look up, check, fill defaults, validate, estimate, run, digest, wrap: the same steps in the same
 * order for the command line, plans, servers and tests. Source: operators spec, section 5. */
#ifndef MK_OP_CALL_H
#define MK_OP_CALL_H

#include "op/registry.h"

/* All members may be zero. */
typedef struct mk_call_options {
    unsigned mask;        /* MK_SHOW_...; 0: user only */
    double time_scale;    /* multiplies time estimates; 0: 1.0 */
    mk_ceilings ceilings; /* members of 0: the default */
    bool explain_only;    /* estimate and ceilings in place of the result; nothing is run */
    bool completeness;    /* adds the member `completeness` to the envelope */
    /* A call whose arguments have neither `limit` nor `cursor` is computed whole when its list has at
     * most this many rows, and is E_LIMIT above; `limit` and `cursor` are then null in args_echo.
     * 0: the operator's default page. Source: decisions.md 4. */
    size_t row_budget;
    const mk_clock *clock; /* for the deadline; NULL: mk_clock_system */
    int64_t deadline_us;   /* in the clock's time; 0: none */
    const atomic_bool *cancelled; /* true ends the call with E_CANCELLED; NULL: never */
} mk_call_options;

/* A result in parts. Reuse one for many calls: it keeps its memory. */
typedef struct mk_call_result {
    const mk_operator *op;
    mk_buf args_echo;      /* canonical JSON */
    mk_payload payload;    /* payload.text: canonical JSON, what the digest covers */
    mk_buf completeness;   /* canonical JSON; {} when nothing is left out */
    char digest[65];       /* NUL-terminated hex */
    mk_cost cost;          /* all zero for an operator without a cost model */
    mk_ceilings ceilings;  /* in force */
    bool explained;        /* explain_only: no payload, no digest */
    bool has_extent;
    int64_t vt_min, vt_max;
} mk_call_result;

void mk_call_result_init(mk_call_result *result, const mk_alloc *alloc);
void mk_call_result_free(mk_call_result *result);
/* The envelope (operators spec, 5.3), canonical; appended to `out`. */
MK_CHECK mk_code mk_call_envelope(const mk_call_result *result, bool completeness, mk_buf *out,
                                  mk_err *err);

/* Runs `op` with arguments given as JSON text and appends the envelope to `out`, which is as before
 * on any error. `arena` is scratch: rewound at the end, its limit is the call's memory budget.
 * `options` may be NULL.
 *
 * Errors: those of the operators spec, 5.5, with details.path where an argument is at fault. An
 * unknown operator is MK_E_INVALID_ARG with details.known. A budget of memory that is used up and a
 * deadline that has passed are MK_E_LIMIT, with details.limit. */
MK_CHECK mk_code mk_call(mk_store *store, const char *op, mk_str args,
                         const mk_call_options *options, mk_arena *arena, mk_buf *out,
                         mk_err *err);

/* The same in parts. `view` may be NULL; otherwise calls about current belief (as_of_tt absent or
 * 2^62) read it, and options->mask must be the mask it was opened with. */
MK_CHECK mk_code mk_call_run(mk_store *store, mk_view *view, mk_str op, mk_str args,
                             const mk_call_options *options, mk_arena *arena,
                             mk_call_result *result, mk_err *err);
/* mk_call over an open view. */
MK_CHECK mk_code mk_call_on_view(mk_store *store, mk_view *view, mk_str op, mk_str args,
                                 const mk_call_options *options, mk_arena *arena, mk_buf *out,
                                 mk_err *err);

#endif

/* offline.h — the planner without a model: a deterministic reading of questions. Layer: agent.
 *
 * A question becomes a plan when it has exactly one reading and every content word of it was used by that
 * reading; otherwise the planner abstains and says what it understood and what is missing. Vocabulary
 * (relation types, labels, properties, names) comes from the store. Source: agent spec, 18.9, 18.16. */
#ifndef MK_AGENT_OFFLINE_H
#define MK_AGENT_OFFLINE_H

#include <stdatomic.h>

#include "store/view.h"

/* All members may be zero. */
typedef struct mk_offline_options {
    const mk_str *allowed; /* identifiers that came with the task; they need no resolving */
    size_t allowed_count;
    size_t memory_max;     /* scratch; 0: 256 MiB */
    const atomic_bool *cancelled;
} mk_offline_options;

/* Everything lives in the caller's arena. */
typedef struct mk_offline_result {
    bool planned;
    mk_str plan;         /* canonical JSON for mk_plan_check; empty when not planned */
    mk_str understood;   /* the reading as a sentence, with dates spelled out; when abstaining, what was
                            understood */
    mk_str as_of_text;   /* belief time that the question itself names ("as believed on ..."); empty: none */
    bool has_as_of_tt;
    int64_t as_of_tt;    /* that time, microseconds */
    mk_str *missing;     /* abstention: what is missing or not understood, one phrase each */
    size_t missing_count;
    mk_str *candidates;  /* abstention for an ambiguous name: the identifiers it could mean */
    size_t candidate_count;
} mk_offline_result;

/* Reads a question against what `view` holds. An abstention is a result and no error.
 * Errors: MK_E_INVALID_ARG (not UTF-8, longer than 4096 bytes), MK_E_NOMEM, MK_E_LIMIT, MK_E_CANCELLED,
 * what reading the store reports. */
MK_CHECK mk_code mk_offline_plan(mk_store *store, mk_view *view, mk_str question,
                                 const mk_offline_options *options, mk_arena *arena,
                                 mk_offline_result *out, mk_err *err);

/* Up to `max` (at most 8) questions that this very store can answer, each checked to give a plan. */
MK_CHECK mk_code mk_offline_examples(mk_store *store, mk_view *view, mk_arena *arena, size_t max,
                                     mk_str *questions, size_t *count, mk_err *err);

#endif

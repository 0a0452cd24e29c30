/* explain.h — one question at two beliefs: what changed, and which transactions changed it. Layer: agent.
 *
 * The same plan is run at both times. Where a value differs, the transactions between are bisected with the
 * plan itself as the test, so a named cause is not a guess from what it wrote: the belief just before it
 * gives the one value, the belief just after it the other. Changes that were undone again between two
 * looks stay unseen, as they do not explain a difference. Source: agent spec, 18.12. */
#ifndef MK_AGENT_EXPLAIN_H
#define MK_AGENT_EXPLAIN_H

#include "agent/ask.h"

#define MK_EXPLAIN_RUNS_MAX 128 /* looks at beliefs in between; then the causes found so far are given */
#define MK_EXPLAIN_OPS_MAX 20   /* operations of a transaction that are shown */

/* One transaction that changed the value. */
typedef struct mk_cause {
    int64_t tt;
    mk_str before, after; /* canonical JSON; "null" where there was no answer */
    mk_str batch_id;
    mk_str *ops; /* canonical JSON of those operations that speak of what the plan read */
    size_t op_count, ops_total;
} mk_cause;

/* A claim that does not say the same at both beliefs. */
typedef struct mk_claim_change {
    mk_str id, type, from;
    mk_str before, after;                 /* the claim as canonical JSON; n 0: there is none */
    const char *verdict_before, *verdict_after; /* NULL: there is none */
} mk_claim_change;

typedef struct mk_explanation {
    mk_ask_result before, after; /* the whole answers */
    bool differs;
    mk_claim_change *claims;
    size_t claim_count;
    mk_cause *causes; /* ascending by time */
    size_t cause_count;
    uint64_t transactions; /* between the two beliefs */
    bool all_causes;       /* false: MK_EXPLAIN_RUNS_MAX was reached first */
} mk_explanation;

/* Asks at `before` and at `after` (before < after). `options->as_of` is not looked at. When the question
 * cannot be planned both results are that abstention. Errors: as mk_ask; MK_E_INVALID_ARG for times that
 * are not in order. */
MK_CHECK mk_code mk_explain_diff(mk_store *store, mk_str question, mk_tt before, mk_tt after,
                                 const mk_ask_options *options, mk_objects *objects, mk_arena *arena,
                                 mk_explanation *out, mk_err *err);

/* The same once out->after holds the answer at `after` and its plan. */
MK_CHECK mk_code mk_explain__planned(mk_store *store, mk_tt before, mk_tt after,
                                     const mk_ask_options *options, mk_objects *objects, mk_arena *arena,
                                     mk_explanation *out, mk_err *err);

/* {"after","before","causes","changed","claims","complete","question","transactions"}, canonical; after
 * and before as mk_ask_json. */
MK_CHECK mk_code mk_explain_json(const mk_explanation *explanation, mk_arena *arena, mk_buf *out,
                                 mk_err *err);

#endif

/* faults.h — whether the claim verifier catches what is wrong, class by class. Layer: eval.
 *
 * Right answers are made wrong in eleven ways, and the verifier, in strict mode, must notice each time; and
 * leave the right answers alone. No model is involved. A mutation is always false: what would still hold by
 * accident (a time moved onto another time of the evidence) is drawn again.
 * Source: evaluation spec, 17 and 18; decisions.md 5. */
#ifndef MK_EVAL_FAULTS_H
#define MK_EVAL_FAULTS_H

#include <stdatomic.h>

#include "eval/fault_pool.h"

#define MK_FAULT_CLASSES 11
#define MK_FAULT_MUTANTS 100 /* of each class, at least, for a run that counts */
#define MK_FAULT_ANSWERS 60  /* right answers, at least */
#define MK_FAULT_TYPES 5     /* claim types among them, at least */
#define MK_FAULT_MISSED_MAX 8 /* shown of each kind of surprise */

/* What is done to an answer, in the order of the classes. */
typedef enum mk_fault {
    MK_FAULT_COUNT_PM1,
    MK_FAULT_UID_SWAP,
    MK_FAULT_INTERVAL_SHIFT,
    MK_FAULT_ORDERING_INVERT,
    MK_FAULT_ENTITY_DROP,
    MK_FAULT_ENTITY_ADD,
    MK_FAULT_ORDERING_SWAP,
    MK_FAULT_INTERVAL_UNITS,
    MK_FAULT_WRONG_STEP_CITATION,
    MK_FAULT_TRUNCATED_COUNT,
    MK_FAULT_WRONG_BELIEF_STATE
} mk_fault;
const char *mk_fault_name(mk_fault fault);

/* All members may be zero. */
typedef struct mk_faults_options {
    size_t mutants; /* of each class; 0: MK_FAULT_MUTANTS */
    uint64_t seed;
    unsigned mask;
    bool no_generated; /* only the suite's own plans */
    bool no_completeness; /* ablation: what a cut list leaves out is not looked at */
    const atomic_bool *cancelled;
} mk_faults_options;

typedef struct mk_fault_result {
    size_t mutants, detected;
    size_t answers; /* that the class applies to */
} mk_fault_result;

/* Texts live in the arena. */
typedef struct mk_faults_report {
    mk_fault_result classes[MK_FAULT_CLASSES];
    size_t answers, rejected; /* the clean pool */
    size_t types;             /* of claims in it */
    mk_str surprises[2 * MK_FAULT_MISSED_MAX]; /* mutants that passed and right answers that did not, each
                                                  with its class, task and claim */
    size_t surprise_count;
    size_t wanted; /* mutants of each class */
} mk_faults_report;

/* Errors: MK_E_NOMEM, MK_E_CANCELLED, what the store reports. What the verifier misses is no error. */
MK_CHECK mk_code mk_faults_run(mk_store *store, const mk_eval_suite *suite, const mk_faults_options *options,
                               mk_arena *arena, mk_faults_report *out, mk_err *err);
/* The same over a pool that is there already. */
MK_CHECK mk_code mk_faults_on_pool(mk_fault_pool *pool, const mk_faults_options *options,
                                   mk_faults_report *out, mk_err *err);

/* MK_OK when everything was detected, nothing right was rejected, and the run is large enough to say so;
 * else MK_E_STATE naming the first class, or the pool, that falls short. */
MK_CHECK mk_code mk_faults_verdict(const mk_faults_report *report, mk_err *err);

/* {"classes":{"name":{"detected","mutants"}},"clean":{"answers","rejected"},...}, canonical. */
void mk_faults_report_json(const mk_faults_report *report, mk_buf *out);

/* ---- one mutation ---- */


typedef struct mk_mutation {
    struct mk_random *random; /* load/synth_random.h */
    mk_arena *arena;
    const mk_fault_pool *pool;
    const mk_fault_answer *answer;
    mk_json *tree;    /* a copy of the answer, to be changed */
    size_t claim;     /* index of the claim that was changed */
} mk_mutation;

/* Changes the copy. False, and the copy is not to be used, when the class does not apply to this answer or to
 * what was drawn. Draws: claim, then position, side and replacement (evaluation spec, 18). *nomem is set when
 * memory ran out. */
bool mk_fault_mutate(mk_fault fault, mk_mutation *m, bool *nomem);

#endif

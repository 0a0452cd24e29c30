/* score.h — how right an answer is. Layer: eval. No I/O.
 *
 * Exact match and partial credit by kind of answer, as in the evaluation spec, 10, but for integers, which
 * are compared exactly: doubles would make neighbours above 2^53 equal, open ends among them. Where the
 * spec's rule flatters (an empty set equals no answer; intervals match from half an overlap on) callers
 * decide what to do about it; mk_eval_run counts no answer as wrong. */
#ifndef MK_EVAL_SCORE_H
#define MK_EVAL_SCORE_H

#include "base/json.h"

typedef struct mk_score {
    double em; /* 0 or 1 */
    double f1; /* 0 to 1 */
    double precision, recall; /* of sets; otherwise as f1 */
} mk_score;

/* Compares a raw value with the right one. `pred` NULL: no answer. `arena` is scratch; it is rewound.
 * Errors: MK_E_NOMEM, MK_E_LIMIT (an answer nested deeper than JSON may be). */
MK_CHECK mk_code mk_score_answer(mk_str kind, const mk_json *gold, const mk_json *pred, mk_arena *arena,
                                 mk_score *out, mk_err *err);

/* The value that an answer object {"text","claims"} gives for a kind; any other value is its own. NULL: it
 * gives none. What had to be built lives in `arena`. */
MK_CHECK mk_code mk_score_extract(mk_str kind, const mk_json *answer, mk_arena *arena, const mk_json **out,
                                  mk_err *err);

/* The set of strings that a value stands for, sorted: of a list, its strings and what its other items hold
 * under uid, src or dst at any depth. The array lives in `arena`. Errors: MK_E_NOMEM, MK_E_LIMIT as above. */
MK_CHECK mk_code mk_score_uids(const mk_json *value, mk_arena *arena, mk_str **out, size_t *count,
                               mk_err *err);

#endif

/* offer.h — what a refused call could ask instead. Layer: op.
 *
 * A refusal for its cost is a dead end unless it names a question that would be let through. The
 * estimator is cheap and says the same before and after, so the largest admissible value of each
 * argument is found by bisecting it. Source: DESIGN.md, 5 (contract 5); operators spec, 5.6. */
#ifndef MK_OP_OFFER_H
#define MK_OP_OFFER_H

#include "op/registry.h"

/* Appends a canonical JSON list: for every argument that alone can bring the call under the ceilings, the
 * value nearest to the one given that does: {"arg":"window","value":{"t_a":0,"t_b":99}}, {"arg":"hops",
 * "value":2}; for a list of uids its length, {"arg":"node_filter","items_max":12}. [] when none can.
 * `in->args` is checked and has its defaults; it is not changed. Errors: MK_E_NOMEM. */
MK_CHECK mk_code mk_offers_json(const mk_operator *op, const mk_cost_input *in,
                                const mk_ceilings *ceilings, mk_arena *arena, mk_buf *out,
                                mk_err *err);

#endif

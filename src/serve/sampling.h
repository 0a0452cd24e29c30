/* sampling.h — the client's own model, as a model of ours. Layer: serve.
 *
 * It is shown the prompts that an endpoint would be shown, and what it writes is checked like any other
 * model's plan and report. In a session it is asked on the stream of the call; a request that describes
 * itself is answered by asking for input, and is sent again with what the model wrote. Source: serving spec,
 * 5, 14.2 (rule 10); agent spec, 18.15. */
#ifndef MK_SERVE_SAMPLING_H
#define MK_SERVE_SAMPLING_H

#include "model/model.h"
#include "serve/mcp.h"

typedef struct mk_sampling {
    mk_model model; /* first, so that a model is its sampling */
    mk_mcp_call *call;
    unsigned asked; /* questions so far: each has a key of its own, the same in every round */
} mk_sampling;

/* Good for this call only, on its thread. NULL: the client did not say that its model can be asked. What goes
 * wrong at the client is MK_E_MODEL ("refused", "timeout", "empty"), behind which the offline planner stands;
 * MK_E_STATE "input_required" passes through and ends the round. */
mk_model *mk_sampling_init(mk_sampling *sampling, mk_mcp_call *call);

#endif

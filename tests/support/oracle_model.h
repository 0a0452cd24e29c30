/* oracle_model.h — oracles of the operators that the slow model answers itself. Test support. */
#ifndef MK_TESTS_ORACLE_MODEL_H
#define MK_TESTS_ORACLE_MODEL_H

#include "oracle.h"

/* The model's own pipeline (model_call), which shares nothing with the kernels. */
static inline void oracle_from_model(const oracle_world *world, const char *op, const mk_json *args,
                                     oracle_answer *out)
{
    model_answer got;
    model_answer_init(&got);
    model_call(world->m, op, args, NULL, &got);
    if (got.ok)
        mk_buf_str(&out->payload, mk_buf_view(&got.payload));
    else
        oracle_fail(out, got.error.code);
    model_answer_free(&got);
}

#endif

/* schema_gbnf.h — the form of a plan, for servers that hold a model to it. Layer: agent.
 *
 * Both are made from the registry. The JSON Schema describes every plan there is. The grammar describes
 * fewer, and of those only ones that the static check lets through as far as shape, references and
 * contracts go: a context-free grammar cannot say that a reference names a step that is depended on and
 * a field that this step's operator returns, unless what follows a step is spelled out for each
 * operator. So its plans are chains of at most MK_GRAMMAR_STEPS steps, in which a step reads the one
 * before it or none.
 * Source: agent spec, 18.6; the GBNF notation of llama.cpp. */
#ifndef MK_AGENT_SCHEMA_GBNF_H
#define MK_AGENT_SCHEMA_GBNF_H

#include "op/registry.h"

#define MK_GRAMMAR_STEPS 4

/* A JSON Schema (draft 2020-12), canonical. Errors: MK_E_NOMEM. */
MK_CHECK mk_code mk_plan_schema(mk_buf *out, mk_arena *arena, mk_err *err);
/* Rules of GBNF, one a line; `root` is a plan without white space. Members come in this order: plan_id,
 * question, steps, answer_spec; id, op, args, depends_on; kind, from; required arguments before others,
 * each in the order of the operator's table. Errors: MK_E_NOMEM. */
MK_CHECK mk_code mk_plan_grammar(mk_buf *out, mk_err *err);

#endif

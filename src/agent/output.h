/* output.h — what a model wrote, made ready to be read. Layer: agent.
 *
 * Source: agent spec, 10.3 and 10.5. */
#ifndef MK_AGENT_OUTPUT_H
#define MK_AGENT_OUTPUT_H

#include "agent/prompt.h"

/* Drops <think> blocks and takes the inside of a code fence when the whole is one, or when it holds an
 * object; else the text as it is, trimmed. Nothing else is forgiven. In `arena` or borrowed from
 * `text`; p NULL when out of memory. */
mk_str mk_output_clean(mk_str text, mk_arena *arena);

/* Appends
 * {"cached","guide","prompt","prompt_digest","prompt_tokens","reply","reply_tokens","system_sha256","tries",
 * "wait_us"}, canonical: one call of a model, for bundles. The system message is named by its digest. */
void mk_output_record(const mk_prompt *prompt, const mk_model_reply *reply, mk_buf *out);

#endif

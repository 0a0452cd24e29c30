/* request.h — what is sent, and the name it has in the cache. Layer: model. */
#ifndef MK_MODEL_REQUEST_H
#define MK_MODEL_REQUEST_H

#include "model/model.h"

#define MK_REQUEST_TOKENS 4096 /* of a reply, where the request does not say */

/* The body of a chat completion, JSON. `guide` is never AUTO. */
MK_CHECK mk_code mk_request_body(const mk_model_options *options, const mk_model_request *request,
                                 mk_guide guide, mk_buf *out, mk_err *err);
/* SHA-256 of the messages as canonical JSON, each nonce in them replaced by a word. */
MK_CHECK mk_code mk_request_prompt_digest(const mk_alloc *alloc, const mk_model_request *request,
                                          char digest[65], mk_err *err);
/* SHA-256 over everything that can change a reply: endpoint, model, messages, temperature, seed, token limit,
 * the guide that was asked for, schema and grammar. Source: agent spec, 17, O-19. */
MK_CHECK mk_code mk_request_key(const mk_alloc *alloc, const mk_model_options *options,
                                const mk_model_request *request, char key[65], mk_err *err);

/* "http://host/v1" becomes "http://host/v1/chat/completions". At least MK_MODEL_TEXT_MAX + 32 bytes. */
void mk_request_url(const mk_model_options *options, char *out);

/* ---- the cache: one file a key ---- */

/* *found false: there is none, or it is damaged, which is the same. */
MK_CHECK mk_code mk_cache_get(const mk_model_options *options, const mk_alloc *alloc, const char key[65],
                              mk_arena *arena, mk_model_reply *out, bool *found, mk_err *err);
MK_CHECK mk_code mk_cache_put(const mk_model_options *options, const mk_alloc *alloc, const char key[65],
                              const mk_model_reply *reply, mk_err *err);

#endif

/* fence.h — the one way for text that is not ours into a prompt. Layer: agent.
 *
 * Stored content may be analysed, never obeyed. Whatever is no constant of this program (values, property
 * names, errors, notes, a question, a model's own words) is cleaned and stands between tags that carry
 * a nonce nobody could know when the text was written:
 *
 *     <data-5f0c... kind="card">
 *     {"rel_types":["MSG"]}
 *     </data-5f0c...>
 *
 * Cleaned text has no `<` at all, so no tag begins in it, nor across two fields of it; it is NFKC, so
 * no other character looks like one to a tokenizer that folds; it has no control, format, private or
 * unassigned characters and no line breaks. Source: agent spec, 13 and 17 (O-12); Unicode 15.0, UAX 15. */
#ifndef MK_AGENT_FENCE_H
#define MK_AGENT_FENCE_H

#include "base/json.h"

/* Most characters, with what stands in for `<` counted as it is written. */
#define MK_FENCE_NAME_MAX 128
#define MK_FENCE_STRING_MAX 512
#define MK_FENCE_NOTE_MAX 512
#define MK_FENCE_CARD_MAX 4000
#define MK_FENCE_ERRORS_MAX 6000
#define MK_FENCE_OUTPUT_MAX 6000  /* a model's own words, shown back to it */
#define MK_FENCE_SUMMARY_MAX 24000
#define MK_FENCE_QUESTION_MAX 4096
#define MK_FENCE_CUT "[cut]" /* ends what was longer */

/* 32 hex digits and a NUL. */
typedef struct mk_fence {
    char nonce[33];
} mk_fence;

/* A fresh nonce from the system's entropy. */
void mk_fence_init(mk_fence *fence);

/* Appends a block; `kind` is a constant. Out of memory shows in `out`. Text that is not UTF-8 is repaired.
 * Cost: linear in `chars_max`, whatever the size of the text. */
void mk_fence_put(const mk_fence *fence, mk_buf *out, const char *kind, mk_str text, size_t chars_max);
/* A JSON value: keys and strings are cleaned and capped one by one (strings under a key `name` at
 * MK_FENCE_NAME_MAX), then the whole. Errors: MK_E_NOMEM. */
MK_CHECK mk_code mk_fence_put_json(const mk_fence *fence, mk_buf *out, mk_arena *arena, const char *kind,
                                   const mk_json *value, size_t chars_max, mk_err *err);

/* Only the cleaning. */
void mk_fence_clean(mk_buf *out, mk_str text, size_t chars_max);

#endif

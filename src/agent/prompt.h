/* prompt.h — what planner, reporter and note writer are told. Layer: agent.
 *
 * A prompt is two messages: `system` is made of constants and the registry alone, so that it is the same for
 * every question and a server can keep it; `user` is constants around fenced blocks. Later turns of a
 * conversation are appended to the user's message, since some servers refuse two messages of one role in a
 * row, and a model's own words are data like any other. Source: agent spec, 10.1, 10.4, 11.1, 13, 14, 17
 * (O-12, O-20, O-22). */
#ifndef MK_AGENT_PROMPT_H
#define MK_AGENT_PROMPT_H

#include "agent/fence.h"
#include "model/model.h"
#include "plan/run.h"

typedef struct mk_prompt {
    mk_fence fence;
    mk_buf system, user;
} mk_prompt;

/* A prompt with a nonce of its own. Free it in any case. */
void mk_prompt_init(mk_prompt *prompt, const mk_alloc *alloc);
void mk_prompt_free(mk_prompt *prompt);
/* The two messages and the nonce, borrowed from the prompt. */
void mk_prompt_request(const mk_prompt *prompt, mk_message messages[2], mk_model_request *request);

/* ---- the planner ---- */

typedef struct mk_prompt_task {
    mk_str question;
    const mk_str *allowed; /* identifiers that the task supplies */
    size_t allowed_count;
    bool grounded; /* literal identifiers must be among them */
    const mk_str *notes; /* of the evolution memory */
    size_t note_count;
} mk_prompt_task;

/* The dataset's card is taken from `view`. Errors: MK_E_NOMEM, what reading the store reports. */
MK_CHECK mk_code mk_prompt_planner(mk_prompt *prompt, mk_view *view, const mk_prompt_task *task,
                                   mk_arena *arena, mk_err *err);
/* Appends a turn: what the model wrote, and why it was not good. `errors` is JSON. */
MK_CHECK mk_code mk_prompt_rejected(mk_prompt *prompt, mk_str output, mk_str errors, const char *cue,
                                    mk_arena *arena, mk_err *err);
extern const char *const mk_prompt_cue_plan;   /* "...corrected plan only" */
extern const char *const mk_prompt_cue_answer; /* "...corrected answer object only" */
extern const char *const mk_prompt_cue_note;

/* The worked examples as JSON texts, for the test that checks them. */
extern const char *const mk_prompt_examples[];
extern const size_t mk_prompt_example_count;

/* ---- the reporter ---- */

/* `trace` is a trace's JSON; rows come through `objects`. Objects that are missing are said to be. */
MK_CHECK mk_code mk_prompt_reporter(mk_prompt *prompt, mk_str question, const mk_json *trace,
                                    mk_objects *objects, mk_arena *arena, mk_err *err);

/* ---- notes ---- */

MK_CHECK mk_code mk_prompt_note(mk_prompt *prompt, const mk_json *facts, mk_arena *arena, mk_err *err);

#endif

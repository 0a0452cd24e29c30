/* claimworld.h — a trace made by hand: steps, their call records and payloads, and answers about them. */
#ifndef MK_TESTS_CLAIMWORLD_H
#define MK_TESTS_CLAIMWORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "claim/answer.h"

#define WORLD_OBJECTS_MAX 64
#define WORLD_TT 500 /* what the trace was pinned to */

typedef struct world {
    mk_arena arena;
    mk_str names[WORLD_OBJECTS_MAX], texts[WORLD_OBJECTS_MAX];
    size_t object_count;
    mk_buf steps;
    mk_reexec_fn *reexec;
    void *reexec_ctx;
    bool strict, no_completeness;
} world;

void world_start(world *w);
void world_end(world *w);
/* Canonical text, kept under its digest. */
mk_str world_put(world *w, const char *json);
/* A step that is ok. `args` and `gaps` are JSON objects, `deps` a JSON list. Returns its call digest. */
mk_str world_step(world *w, const char *id, const char *op, const char *args, const char *gaps,
                  const char *deps, const char *payload);
void world_failed_step(world *w, const char *id, const char *op);
mk_code world_get(void *ctx, const char *digest, mk_arena *arena, mk_str *text, mk_err *err);
/* Everything but the steps is a stand-in. */
mk_str world_trace(world *w);
mk_answer_report world_verify(world *w, const char *answer);
/* The verdict on one claim, given without its id. */
mk_claim_result world_claim(world *w, const char *claim);
bool has_reason(const mk_claim_result *result, const char *word);
bool holds_text(mk_str text, const char *part);
/* `part` must be in the reason, or be one of the machine words. */
void expect(world *w, const char *claim, mk_verdict verdict, const char *part);

#endif

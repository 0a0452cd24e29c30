/* ask_internal.h — one question on its way to an answer. Layer: agent. */
#ifndef MK_AGENT_ASK_INTERNAL_H
#define MK_AGENT_ASK_INTERNAL_H

#include "agent/ask.h"

/* Everything that the stations of mk_ask share. */
typedef struct mk_asking {
    mk_store *store;
    mk_view *view; /* at the belief that the question is about */
    const mk_ask_options *options;
    mk_objects *objects;
    mk_arena *arena;
    mk_ask_result *out;
    mk_plan_report checked; /* the plan that is run */
} mk_asking;

/* Adds a phrase to `missing`, copied; the result is an abstention from then on. */
MK_CHECK mk_code mk_ask__miss(mk_asking *a, mk_err *err, const char *fmt, ...) MK_PRINTF(3, 4);
void mk_ask__event(const mk_asking *a, mk_ask_event_kind kind, mk_str name, mk_str detail, bool ok,
                   uint64_t rows);

/* The static check of out->plan into a->checked; violations are an abstention. */
MK_CHECK mk_code mk_ask__check(mk_asking *a, mk_err *err);
/* A model plans, is told what was wrong, and plans again; then as mk_ask__answer. MK_E_MODEL. */
MK_CHECK mk_code mk_ask__with_model(mk_asking *a, mk_err *err);

/* Opens the view at options->as_of. A belief time before the first transaction is an abstention. */
MK_CHECK mk_code mk_ask__open_view(mk_asking *a, mk_tt as_of, mk_err *err);

/* Runs the checked plan: out->trace, and `trace` as a tree. */
MK_CHECK mk_code mk_ask__run(mk_asking *a, const mk_json **trace, mk_err *err);
/* Reports what was run, verifies, gates. An answer that does not stand is an abstention. `model` writes the
 * report; NULL: it is mechanical. */
MK_CHECK mk_code mk_ask__report(mk_asking *a, const mk_json *trace, mk_model *model, mk_err *err);
/* The two, one after the other, without a model. */
MK_CHECK mk_code mk_ask__answer(mk_asking *a, mk_err *err);

/* Answers with the plan of `planned` at another belief; nothing is planned again. `as_of` is not 0. */
MK_CHECK mk_code mk_ask__at(mk_store *store, const mk_ask_result *planned, mk_tt as_of,
                            const mk_ask_options *options, mk_objects *objects, mk_arena *arena,
                            mk_ask_result *out, mk_err *err);

/* An object as claims want it. ctx is a mk_objects. */
mk_code mk_ask__get(void *ctx, const char *digest, mk_arena *arena, mk_str *text, mk_err *err);

#endif

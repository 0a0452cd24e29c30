/* agent_api.h — questions, plans and answers for whoever is at the other end of a wire. Layer: serve.
 *
 * Each function takes its arguments as JSON and appends its answer as JSON: the tools of the protocol and the
 * routes of the API are the same functions. Source: decisions.md 4, 5, 7; agent spec, 15. */
#ifndef MK_SERVE_AGENT_API_H
#define MK_SERVE_AGENT_API_H

#include "serve/caller.h"
#include "serve/service.h"

/* {"question","as_of_tt","uids","planner"}: the shape of decisions.md 5. What was run is kept as a trace and,
 * with all it rests on, as an answer, both under the id in "trace". Errors: MK_E_SCHEMA, those of mk_ask. */
MK_CHECK mk_code mk_agent_ask(mk_service *service, const mk_caller *caller, const mk_json *arguments,
                              mk_buf *out, mk_err *err);
/* {"question","tt_before","tt_after","uids"}: as mk_explain_json. */
MK_CHECK mk_code mk_agent_explain_diff(mk_service *service, const mk_caller *caller, const mk_json *arguments,
                                       mk_buf *out, mk_err *err);
/* {"plan"}: {"valid","violations",...}. */
MK_CHECK mk_code mk_agent_plan_check(mk_service *service, const mk_caller *caller, const mk_json *arguments,
                                     mk_buf *out, mk_err *err);
/* {"plan","as_of_tt"}: the same, and "trace" and "trace_id" when it ran. */
MK_CHECK mk_code mk_agent_plan_run(mk_service *service, const mk_caller *caller, const mk_json *arguments,
                                   mk_buf *out, mk_err *err);
/* {"bundle"}, or {"text","claims"} over results that the caller was given. (agent_verify.c) */
MK_CHECK mk_code mk_agent_verify(mk_service *service, const mk_caller *caller, const mk_json *arguments,
                                 mk_buf *out, mk_err *err);

/* {"card","examples","planner","version","as_of_tt"}: what a newcomer is shown. */
MK_CHECK mk_code mk_agent_info(mk_service *service, const mk_caller *caller, const char *version, mk_buf *out,
                               mk_err *err);
/* {"traces":[{"id","question","as_of_tt","complete","claims","answer"}]}, the newest first: what of the
 * caller's is kept. */
MK_CHECK mk_code mk_agent_traces(mk_service *service, const mk_caller *caller, mk_buf *out, mk_err *err);
/* The answer of that id with all it rests on, as mk_bundle_verify reads it. MK_E_NOT_FOUND. */
MK_CHECK mk_code mk_agent_trace(mk_service *service, const mk_caller *caller, mk_str id, mk_buf *out,
                                mk_err *err);

/* ---- arguments, for the files of this part ---- */

MK_CHECK mk_code mk_agent__text(const mk_json *arguments, const char *name, mk_str *out, mk_err *err);
/* JSON as text, or as it is. */
MK_CHECK mk_code mk_agent__json(const mk_json *arguments, const char *name, mk_arena *arena, mk_str *out,
                                mk_err *err);

#endif

/* tool_agent.c — ask, plans and answers as tools: agent_api.h with what the protocol adds. See tool.h.
 * Layer: serve. */
#include <stdio.h>

#include "serve/agent_api.h"
#include "serve/sampling.h"
#include "serve/tool.h"

static void on_progress(void *ctx, const char *what)
{
    mk_mcp_call *call = ctx;
    mk_mcp_progress(call, mk_mcp_progressed(call) + 1, 0, what);
}

/* Several entities of one name: the client is asked which one it means. */
static mk_code choose(void *ctx, const mk_str *candidates, size_t count, mk_str *chosen, mk_err *err)
{
    mk_mcp_call *call = ctx;
    const mk_json *answer;
    mk_buf params;
    mk_code rc;
    *chosen = (mk_str){NULL, 0};
    if (!mk_mcp_can_ask(call, MK_ASK_ELICITATION))
        return MK_OK;
    mk_buf_init(&params, mk_mcp_arena(call)->alloc);
    mk_buf_z(&params, "{\"message\":\"Several entities have that name. Which one is "
                      "meant?\",\"requestedSchema\":{\"type\":\"object\","
                      "\"required\":[\"uid\"],\"properties\":{\"uid\":{\"type\":\"string\",\"enum\":[");
    for (size_t i = 0; i < count && i < 30; i++) {
        if (i > 0)
            mk_buf_c(&params, ',');
        mk_canon_string(&params, candidates[i]);
    }
    mk_buf_z(&params, "]}}}}");
    MK_TRY(rc, mk_buf_done(&params, err));
    rc = mk_mcp_ask(call, "which", MK_ASK_ELICITATION, mk_buf_view(&params), &answer, err);
    if (rc == MK_E_STATE && strcmp(err->reason, "input_required") != 0)
        rc = MK_OK; /* refused, or declined: the abstention stands */
    else if (rc == MK_OK) {
        const mk_json *content = mk_json_get(answer, "content"),
                      *uid = content != NULL ? mk_json_get(content, "uid") : NULL;
        for (size_t i = 0; uid != NULL && uid->kind == MK_JSON_STRING && i < count; i++)
            if (mk_str_eq(uid->text, candidates[i]))
                *chosen = candidates[i];
    }
out:
    mk_buf_free(&params);
    return rc;
}

typedef mk_code agent_fn(mk_service *service, const mk_caller *caller, const mk_json *arguments, mk_buf *out,
                         mk_err *err);

static mk_code run(agent_fn *fn, mk_service *service, mk_mcp_call *call, const mk_json *arguments,
                   mk_buf *out, mk_err *err)
{
    mk_sampling sampling;
    const mk_caller caller = {.arena = mk_mcp_arena(call),
                              .principal = mk_mcp_principal(call),
                              .user_only = mk_mcp_is_user_only(call),
                              .cancelled = mk_mcp_cancelled(call),
                              .deadline_us = mk_mcp_deadline(call),
                              .model = mk_sampling_init(&sampling, call),
                              .progress = on_progress,
                              .choose = choose,
                              .ctx = call};
    mk_buf text;
    mk_buf_init(&text, service->alloc);
    mk_code rc = fn(service, &caller, arguments, &text, err);
    if (rc == MK_OK) {
        mk_tool_put_result(out, call, mk_buf_view(&text));
        rc = mk_buf_done(out, err);
    }
    mk_buf_free(&text);
    return rc;
}

mk_code mk_tool_ask(mk_service *service, mk_mcp_call *call, const mk_json *arguments, mk_buf *out,
                    mk_err *err)
{
    return run(mk_agent_ask, service, call, arguments, out, err);
}

mk_code mk_tool_plan_check(mk_service *service, mk_mcp_call *call, const mk_json *arguments, mk_buf *out,
                           mk_err *err)
{
    return run(mk_agent_plan_check, service, call, arguments, out, err);
}

mk_code mk_tool_plan_run(mk_service *service, mk_mcp_call *call, const mk_json *arguments, mk_buf *out,
                         mk_err *err)
{
    return run(mk_agent_plan_run, service, call, arguments, out, err);
}

mk_code mk_tool_verify_answer(mk_service *service, mk_mcp_call *call, const mk_json *arguments, mk_buf *out,
                              mk_err *err)
{
    return run(mk_agent_verify, service, call, arguments, out, err);
}

mk_code mk_tool_write(mk_service *service, mk_mcp_call *call, mk_write_verb verb, const mk_json *arguments,
                      mk_buf *out, mk_err *err)
{
    const mk_caller caller = {.arena = mk_mcp_arena(call),
                              .principal = mk_mcp_principal(call),
                              .user_only = mk_mcp_is_user_only(call),
                              .cancelled = mk_mcp_cancelled(call)};
    mk_buf text;
    mk_buf_init(&text, service->alloc);
    mk_code rc = mk_serve_facts(service, &caller, verb, arguments, mk_mcp_request_id(call), &text, err);
    if (rc == MK_OK) {
        mk_tool_put_result(out, call, mk_buf_view(&text));
        rc = mk_buf_done(out, err);
    }
    mk_buf_free(&text);
    return rc;
}

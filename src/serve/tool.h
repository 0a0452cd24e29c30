/* tool.h — what a server offers as tools. Layer: serve.
 *
 * Every operator of the registry is a tool with its own flat, typed schema, in the subset that the big
 * clients accept; beside them stand the data set's card, questions, plans, and the check of answers. Source:
 * serving spec, 3; decisions.md 4, 7. */
#ifndef MK_SERVE_TOOL_H
#define MK_SERVE_TOOL_H

#include "serve/caller.h"
#include "serve/mcp.h"
#include "serve/service.h"
#include "serve/writing.h"

typedef struct mk_tools {
    const mk_alloc *alloc;
    mk_tool *all;
    void *data;
    const mk_tool **list; /* sorted by name; for mk_mcp_offer */
    size_t count, cap;
} mk_tools;

/* The tools of `service`, which must outlive them. `only`: names of tools or of groups ("graph", "context"),
 * separated by commas; NULL: all. Errors: MK_E_INVALID_ARG for a name that is none, with those that are;
 * MK_E_NOMEM. */
MK_CHECK mk_code mk_tools_open(const mk_alloc *alloc, mk_service *service, const char *only, mk_tools *out,
                               mk_err *err);
void mk_tools_close(mk_tools *tools);

/* The `inputSchema` of an operator's tool, and the whole entry of tools/list. */
void mk_tool_input_schema(mk_buf *out, const mk_operator *op);
void mk_tool_op_entry(mk_buf *out, const mk_operator *op,
                      bool raised /* the result budget is above the usual */, size_t result_bytes);
/* Whether the tool of `op` takes an argument that the operator has. */
bool mk_tool_takes(const mk_operator *op, const char *name);
/* Whether its lists can be given by reference to a result. */
bool mk_tool_takes_refs(const mk_operator *op);

#define MK_RESULT_URI_MAX 100

/* Runs an operator for a client: repairs what came, follows references and wire cursors, keeps to the result
 * budget, says what was adapted. Appends the result in wire form. When a member had to be left out,
 * `full_result` is the uri of the whole, else "". */
MK_CHECK mk_code mk_serve_op(mk_service *service, const mk_operator *op, const mk_caller *caller,
                             const mk_json *arguments, mk_buf *out, char full_result[MK_RESULT_URI_MAX],
                             mk_err *err);

/* The same as a tool: appends the members of a tool result. */
MK_CHECK mk_code mk_tool_run_op(mk_service *service, const mk_operator *op, mk_mcp_call *call,
                                const mk_json *arguments, mk_buf *out, mk_err *err);

/* The tools beyond operators (decisions.md 7); each appends the members of a tool result. */
MK_CHECK mk_code mk_tool_ask(mk_service *service, mk_mcp_call *call, const mk_json *arguments, mk_buf *out,
                             mk_err *err);
MK_CHECK mk_code mk_tool_plan_check(mk_service *service, mk_mcp_call *call, const mk_json *arguments,
                                    mk_buf *out, mk_err *err);
MK_CHECK mk_code mk_tool_plan_run(mk_service *service, mk_mcp_call *call, const mk_json *arguments,
                                  mk_buf *out, mk_err *err);
MK_CHECK mk_code mk_tool_verify_answer(mk_service *service, mk_mcp_call *call, const mk_json *arguments,
                                       mk_buf *out, mk_err *err);

/* graph_assert, graph_retract, graph_correct. (tool_agent.c) */
MK_CHECK mk_code mk_tool_write(mk_service *service, mk_mcp_call *call, mk_write_verb verb,
                               const mk_json *arguments, mk_buf *out, mk_err *err);

/* One text block, and the same object as structured content for clients that know it. `text` is compact
 * JSON. */
void mk_tool_put_result(mk_buf *out, const mk_mcp_call *call, mk_str text);

#endif

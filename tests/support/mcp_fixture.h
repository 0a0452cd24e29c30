/* mcp_fixture.h — what the conformance suites of the Model Context Protocol ask a server for, by
 * their fixed names.
 *
 * Tools, prompts and resources for tests only; the protocol and the transports under them are the program's
 * own. tests/e2e/mcp_fixture.c serves them, unit tests call them. Source: serving spec, 12.2; the texts are
 * those that the suites look for. */
#ifndef MK_TESTS_MCP_FIXTURE_H
#define MK_TESTS_MCP_FIXTURE_H

#include "serve/mcp.h"

/* Fills an offer for mk_mcp_open. Everything it points to is constant. */
void mcp_fixture_init(mk_mcp_offer *offer);

/* The tools, sorted by name, in mcp_fixture_tools.c. */
extern const mk_tool *const mcp_fixture_tools[];
extern const size_t mcp_fixture_tool_count;

/* A tool's entry and what it does without asking anybody. */
typedef struct mcp_fixture_row {
    const char *about;
    const char *schema; /* of the arguments; NULL: none are taken */
    const char *result; /* members of the result that is always the same; NULL: `run` makes it */
} mcp_fixture_row;

/* Tools that ask the client, in mcp_fixture_ask.c: `data` is their mcp_fixture_row. */
mk_code mcp_fixture_run_sampling(const mk_tool *tool, mk_mcp_call *call, const mk_json *args, mk_buf *out,
                                 mk_err *err);
mk_code mcp_fixture_run_elicitation(const mk_tool *tool, mk_mcp_call *call, const mk_json *args, mk_buf *out,
                                    mk_err *err);
/* Asks what the tool's row in a table says, as many at once as it may, round after round. */
mk_code mcp_fixture_run_rounds(const mk_tool *tool, mk_mcp_call *call, const mk_json *args, mk_buf *out,
                               mk_err *err);
/* The prompt that asks first. */
mk_code mcp_fixture_ask_context(mk_mcp_call *call, mk_buf *out, mk_err *err);

/* "content" with one text. */
mk_code mcp_fixture_put_text(mk_buf *out, mk_str text, mk_err *err);

#define MCP_FIXTURE_PNG                                                                                      \
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mP4z8AAAAMBAQD3A0FDAAAAAElFTkSuQmCC"
#define MCP_FIXTURE_WAV "UklGRiwAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQgAAACAgICAgICAgA=="

#endif

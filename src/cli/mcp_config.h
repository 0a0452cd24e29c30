/* mcp_config.h — what a client's configuration needs to start, or to find, this server. Layer: cli. */
#ifndef MK_CLI_MCP_CONFIG_H
#define MK_CLI_MCP_CONFIG_H

#include "cli/cli.h"

/* Prints the entry for `client` ("claude-desktop", "vscode", ...): the command with absolute paths and the
 * options of `mcp` that were given, or, when `url` is not NULL, the address of a server that runs. Errors:
 * MK_E_INVALID_ARG for an unknown client or what is no address; MK_E_STATE when the program's own path cannot
 * be found. */
MK_CHECK mk_code mk_mcp_config(mk_cli *cli, const char *client, const char *url, mk_err *err);

#endif

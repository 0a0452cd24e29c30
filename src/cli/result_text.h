/* result_text.h — the envelope of a call as tables for people. Layer: cli. */
#ifndef MK_CLI_RESULT_TEXT_H
#define MK_CLI_RESULT_TEXT_H

#include "cli/cli.h"
#include "op/registry.h"

/* Prints `envelope` (operators spec, 5.3). Names, order and types of its members come from the
 * operator's table. */
MK_CHECK mk_code mk_result_put(mk_cli *cli, mk_arena *arena, const mk_operator *op, mk_str envelope,
                               mk_err *err);

#endif

/* plan_text.h — traces for people. Layer: cli. */
#ifndef MK_CLI_PLAN_TEXT_H
#define MK_CLI_PLAN_TEXT_H

#include "base/json.h"
#include "cli/cli.h"

/* Answer, what it leaves out, belief time, and a line for each step. `number` is that of the kept trace, 0:
 * none. */
MK_CHECK mk_code mk_plan_put_trace(mk_cli *cli, mk_arena *arena, mk_str trace, uint32_t number, mk_err *err);

#endif

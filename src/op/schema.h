/* schema.h — what the registry's tables say, as checks and as text. Layer: op.
 *
 * Source: operators spec, 5.1 and 5.2; decisions.md 1 and 6. */
#ifndef MK_OP_SCHEMA_H
#define MK_OP_SCHEMA_H

#include "op/registry.h"

/* Checks `args` against the operator's table, turns `5.0` into 5 and ISO 8601 texts into integers in
 * place, and adds defaults for absent top-level members. Members of `args` are moved within `arena`.
 *
 * Errors: MK_E_SCHEMA; of several violations the one with the shortest path, details.path being the
 * list of keys and indices that leads to the value, details.hint what would pass. MK_E_NOMEM. */
MK_CHECK mk_code mk_args_check(const mk_operator *op, mk_arena *arena, mk_json *args, mk_err *err);

/* {"arguments":{...},"result":{...}}: two JSON Schemas (draft 2020-12), canonical text. */
MK_CHECK mk_code mk_op_schema_json(mk_buf *out, mk_arena *arena, const mk_operator *op, mk_err *err);
/* Only the one or the other. */
MK_CHECK mk_code mk_op_args_schema(mk_buf *out, mk_arena *arena, const mk_operator *op, mk_err *err);
MK_CHECK mk_code mk_op_result_schema(mk_buf *out, mk_arena *arena, const mk_operator *op,
                                     mk_err *err);

/* "an integer from 1 to 10000", "one of out, in, both": what an argument accepts, for hints and
 * manuals. NUL-terminated, cut to `size`. */
void mk_op__expects(char *p, size_t size, const mk_arg *arg);

/* The manual page as plain text, lines of at most 100 characters, ends with LF. */
void mk_op_manual(mk_buf *out, const mk_operator *op);
/* All operators by group: name and summary, one a line. */
void mk_op_list(mk_buf *out);

#endif

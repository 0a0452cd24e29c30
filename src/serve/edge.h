/* edge.h — what clients send, made into what operators take. Layer: serve.
 *
 * Models write 5.0 for 5, "a" for ["a"], null for an argument they do not want, and dates. All that has one
 * meaning is understood, by the kind that the operator declares for the place; what is left fails in the
 * operator's own check, with its path. Source: serving spec, 2.2 and 3.3. */
#ifndef MK_SERVE_EDGE_H
#define MK_SERVE_EDGE_H

#include "op/registry.h"

/* `arguments` may be NULL or null (no arguments) and is left alone. The result lives in `arena`.
 * Errors: MK_E_SCHEMA with a path for an integer beyond 2^53 where text is meant, and for text that holds no
 * object where one is meant; MK_E_NOMEM. */
MK_CHECK mk_code mk_edge_repair(const mk_operator *op, const mk_json *arguments, mk_arena *arena,
                                mk_json **out, mk_err *err);

/* The same for one value in the place of `arg`. *absent: it stands for "not given". */
MK_CHECK mk_code mk_edge_repair_value(const mk_arg *arg, const mk_json *value, mk_arena *arena, mk_json *out,
                                      bool *absent, mk_err *err);

#endif

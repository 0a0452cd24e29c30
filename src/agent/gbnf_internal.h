/* gbnf_internal.h — what the files of the grammar share. Layer: agent, internal. */
#ifndef MK_AGENT_GBNF_INTERNAL_H
#define MK_AGENT_GBNF_INTERNAL_H

#include "op/registry.h"

/* A literal of GBNF: quoted and escaped. */
void mk_gbnf__quote(mk_buf *out, const char *text);
/* `"\"name\":"` */
void mk_gbnf__key(mk_buf *out, const char *name);
/* An expression for the decimal integers from min to max. */
void mk_gbnf__range(mk_buf *out, int64_t min, int64_t max);
/* An expression for the literal values of an argument; lists of at most 32 items, numbers without exponents.
 * Uses the rules of mk_gbnf__terms. */
void mk_gbnf__value(mk_buf *out, const mk_arg *arg);
/* The rules that values are made of. */
void mk_gbnf__terms(mk_buf *out);

#endif

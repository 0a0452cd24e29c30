/* manual.h — the operators as a planner is told about them. Layer: agent.
 *
 * Shorter than the manual for people, and made from the same table, so that both say what is enforced.
 * Source: agent spec, 3 and 10.1. */
#ifndef MK_AGENT_MANUAL_H
#define MK_AGENT_MANUAL_H

#include "op/registry.h"

/* One block an operator, sorted by name: summary, help, arguments, fields of the result, an example. */
void mk_manual_put(mk_buf *out);
/* "rows[] {uid, earliest_arrival}, rows_total, truncated, cursor" */
void mk_manual_fields(mk_buf *out, const mk_field *fields);

#endif

/* offline_steps.h — writing the steps of a plan, one after the other. Layer: agent, internal. */
#ifndef MK_AGENT_OFFLINE_STEPS_H
#define MK_AGENT_OFFLINE_STEPS_H

#include "agent/offline_internal.h"

/* Of a plan that the check admits (agent spec, 5). */
#define MK_STEPS_MAX 12

typedef struct mk_steps {
    mk_buf text; /* the inside of the list */
    int count;
} mk_steps;

void mk_steps_init(mk_steps *steps, const mk_alloc *alloc);
void mk_steps_free(mk_steps *steps);

/* Begins step s<number> and gives its number; its arguments are appended to `text`, without braces. */
int mk_steps_open(mk_steps *steps, const char *op);
/* `a` and `b`: steps that it depends on, 0: none. */
void mk_steps_close(mk_steps *steps, int a, int b);
/* A whole step of compute. */
int mk_steps_compute(mk_steps *steps, int a, int b, const char *fmt, ...) MK_PRINTF(4, 5);
/* The members that aggregate_events and version_history have in common: window and belief; `everywhen`: all
 * of the data. */
void mk_steps_window(mk_steps *steps, const mk_off *q, bool everywhen);

/* The plan, answered by a member of a step, such as "rows_total". */
MK_CHECK mk_code mk_steps_plan(mk_off *q, const mk_steps *steps, const char *kind, int step,
                               const char *member, const mk_buf *said);

#endif

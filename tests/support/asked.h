/* asked.h — a small store written from JSON lines, for tests of plans and questions. */
#ifndef MK_TESTS_ASKED_H
#define MK_TESTS_ASKED_H

#include "plan/run.h"
#include "tmpdir.h"

typedef struct asked {
    tmpdir dir;
    mk_store *store;
    mk_view *view;
    mk_arena arena;
    mk_err err;
} asked;

/* A store with these operations as one batch; a failure ends the test program. */
void asked_open(asked *a, const char *operations);
void asked_close(asked *a);
/* One more batch; the view moves to it. */
void asked_write(asked *a, const char *operations);
/* Checks and runs a plan; a plan that is not valid ends the test program. The trace lives in the arena. */
const mk_json *asked_run(asked *a, const char *plan, const mk_plan_run_options *options, mk_objects *objects,
                         mk_trace *trace);

#endif

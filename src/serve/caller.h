/* caller.h — who calls a function of the server, whatever wire the call came by. Layer: serve. */
#ifndef MK_SERVE_CALLER_H
#define MK_SERVE_CALLER_H

#include <stdatomic.h>

#include "base/arena.h"
#include "op/cost.h"

/* `arena` is the call's own, and what it gives lives there. */
typedef struct mk_caller {
    mk_arena *arena;
    mk_str principal;
    bool user_only;               /* sees entities of users only, whatever the server shows to others */
    const atomic_bool *cancelled; /* NULL: never */
    int64_t deadline_us;          /* in the system clock's time; 0: none */
    mk_ceilings ceilings;         /* of an operator's cost; members of 0: the default */
    size_t result_bytes;          /* most text of an operator's result; SIZE_MAX: all of it */
    struct mk_model *model;       /* the caller's own, to plan with; NULL: the server's, or none */
    /* What is done, as it is done; NULL: nobody wants to know. Any thread. */
    void (*progress)(void *ctx, const char *what);
    /* Which of several entities is meant, out of `candidates`; *chosen stays empty when it is not said. NULL:
     * nobody can be asked. */
    mk_code (*choose)(void *ctx, const mk_str *candidates, size_t count, mk_str *chosen, mk_err *err);
    void *ctx;
} mk_caller;

#endif

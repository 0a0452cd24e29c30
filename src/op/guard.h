/* guard.h — ending a call that takes too long or is no longer wanted. Layer: op. */
#ifndef MK_OP_GUARD_H
#define MK_OP_GUARD_H

#include <stdatomic.h>

#include "base/timetext.h"

/* A call's deadline and cancel flag. `cancelled` may be set by another thread at any time. */
typedef struct mk_guard {
    const mk_clock *clock;
    int64_t deadline_us; /* in the clock's time; INT64_MAX: none */
    const atomic_bool *cancelled;
    uint32_t countdown;
    mk_code tripped; /* MK_OK, or why the call must end; stays once set */
} mk_guard;

#define MK_GUARD_INTERVAL 1024 /* units of work between two looks at clock and flag */

/* clock NULL: the system's; deadline_us 0: none; cancelled NULL: never. Looks at once, so that a call
 * that is late already ends before it starts. */
void mk_guard_init(mk_guard *guard, const mk_clock *clock, int64_t deadline_us,
                   const atomic_bool *cancelled);
bool mk_guard__look(mk_guard *guard);

/* One unit of work is done; false when the call must end. */
static inline bool mk_guard_ok(mk_guard *guard)
{
    if (--guard->countdown != 0)
        return guard->tripped == MK_OK;
    return mk_guard__look(guard);
}

/* `units` units of work are done, for loops over blocks. */
static inline bool mk_guard_done(mk_guard *guard, uint32_t units)
{
    if (guard->countdown > units) {
        guard->countdown -= units;
        return guard->tripped == MK_OK;
    }
    return mk_guard__look(guard);
}

/* The error of a guard that tripped (MK_E_LIMIT for the deadline, MK_E_CANCELLED), else MK_OK. */
mk_code mk_guard_result(const mk_guard *guard, mk_err *err);

/* For listings of the store, which end with MK_E_CANCELLED when a callback gives up: the guard's own
 * error when it was the guard, `rc` otherwise. */
mk_code mk_guard_or(const mk_guard *guard, mk_code rc, mk_err *err);

#endif

/* guard.c — deadline and cancel flag of a call. Layer: op. */
#include "op/guard.h"

void mk_guard_init(mk_guard *guard, const mk_clock *clock, int64_t deadline_us,
                   const atomic_bool *cancelled)
{
    *guard = (mk_guard){
        .clock = clock ? clock : &mk_clock_system,
        .deadline_us = deadline_us ? deadline_us : INT64_MAX,
        .cancelled = cancelled,
        .tripped = MK_OK,
    };
    (void)mk_guard__look(guard);
}

bool mk_guard__look(mk_guard *guard)
{
    guard->countdown = MK_GUARD_INTERVAL;
    if (guard->tripped != MK_OK)
        return false;
    if (guard->cancelled != NULL && atomic_load_explicit(guard->cancelled, memory_order_relaxed))
        guard->tripped = MK_E_CANCELLED;
    else if (guard->deadline_us != INT64_MAX &&
             guard->clock->now_us(guard->clock->ctx) >= guard->deadline_us)
        guard->tripped = MK_E_LIMIT;
    return guard->tripped == MK_OK;
}

mk_code mk_guard_result(const mk_guard *guard, mk_err *err)
{
    if (guard->tripped == MK_E_CANCELLED) {
        mk_fail(err, MK_E_CANCELLED, "the call was cancelled");
        mk_err_retry(err, MK_RETRY_AS_IS);
    } else if (guard->tripped == MK_E_LIMIT) {
        mk_fail(err, MK_E_LIMIT, "the call did not finish before its deadline");
        mk_err_hint(err, "ask for less (a shorter window, fewer hops, fewer seeds) or allow more time");
        mk_err_extra(err, "\"limit\":\"deadline\"", 18);
    }
    return guard->tripped;
}

mk_code mk_guard_or(const mk_guard *guard, mk_code rc, mk_err *err)
{
    return guard->tripped != MK_OK ? mk_guard_result(guard, err) : rc;
}

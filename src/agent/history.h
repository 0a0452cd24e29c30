/* history.h — which transactions a store has, read from its log. Layer: agent.
 *
 * Views answer what was believed; only the log knows which batch made it so. Frames outside the asked range
 * are checked but not looked into. Reads the store's folder through mk_fs_posix, beside a live writer too.
 * Source: agent spec, 18.12; docs/log-format.md. */
#ifndef MK_AGENT_HISTORY_H
#define MK_AGENT_HISTORY_H

#include "store/store.h"

#define MK_HISTORY_TIMES_MAX ((size_t)16 << 20)

/* Transaction time of the first batch; *any false in a store that nothing was written to. */
MK_CHECK mk_code mk_history_first(mk_store *store, mk_arena *arena, mk_tt *first, bool *any, mk_err *err);

/* Transaction times in (after, until], ascending; the array lives in `arena`.
 * Errors: MK_E_LIMIT above MK_HISTORY_TIMES_MAX; MK_E_STATE for a damaged log. */
MK_CHECK mk_code mk_history_times(mk_store *store, mk_tt after, mk_tt until, mk_arena *arena,
                                  int64_t **times, size_t *count, mk_err *err);

/* The batch of that transaction time as its line in the log (canonical JSON without the LF), in `arena`;
 * n 0 when there is none. */
MK_CHECK mk_code mk_history_line(mk_store *store, mk_tt tt, mk_arena *arena, mk_str *line, mk_err *err);

#endif

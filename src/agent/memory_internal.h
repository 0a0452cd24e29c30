/* memory_internal.h — what the files of the evolution memory share. Layer: agent, internal. */
#ifndef MK_AGENT_MEMORY_INTERNAL_H
#define MK_AGENT_MEMORY_INTERNAL_H

#include "agent/memory.h"

/* Sets `stale` of notes, which are sorted by t_a and do not overlap each other, as `data` (a view of user
 * data) sees it. Errors: MK_E_NOMEM, what reading the store reports. */
MK_CHECK mk_code mk_memory__judge(mk_view *data, mk_note *notes, size_t count, mk_arena *arena, mk_err *err);

#endif

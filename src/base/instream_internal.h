/* instream_internal.h — a stream over memory, for tests and fuzzing. Layer: base, this folder only.
 */
#ifndef MK_BASE_INSTREAM_INTERNAL_H
#define MK_BASE_INSTREAM_INTERNAL_H

#include "base/instream.h"

/* Reads `bytes`, borrowed until close, as if they were a pipe that hands out at most `step` bytes
 * at a time (0: no bound). Errors: MK_E_NOMEM, MK_E_STATE. */
MK_CHECK mk_code mk_instream__open_memory(const mk_alloc *alloc, mk_str bytes, size_t step,
                                          mk_instream **out, mk_err *err);

#endif

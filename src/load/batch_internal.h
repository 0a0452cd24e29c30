/* batch_internal.h — the sink that writes to a store. Layer: load, inside only. */
#ifndef MK_LOAD_BATCH_INTERNAL_H
#define MK_LOAD_BATCH_INTERNAL_H

#include "base/hash.h"
#include "load/load_internal.h"

#define MK_LOAD_BATCH_EVENTS 50000 /* store spec, 7.8 */
#define MK_LOAD_BATCH_OPS 10000    /* keeps the memory of a batch of large ops low */

/* Either `events` or `ops` holds something, never both: order is never mixed. */
typedef struct mk_batcher {
    mk_load_sink sink;
    mk_load *load;
    /* Behind sink.arena, in turn. The row that ends a batch of the other kind has its strings beside
     * those of that batch, so its arena lives one batch longer. */
    mk_arena arenas[2];
    mk_event *events;
    mk_op *ops;
    uint64_t *lines; /* of events or ops */
    size_t event_count, event_cap, event_room;
    size_t op_count, op_cap, op_room;
    size_t line_room;
    mk_intern made; /* create_endpoints: nodes that this batch makes */
    int64_t offset; /* of the next "#n" */
} mk_batcher;

void mk_batcher__init(mk_batcher *batcher, mk_load *load);
void mk_batcher__free(mk_batcher *batcher);
/* Commits what is held. On failure nothing of it is loaded. */
MK_CHECK mk_code mk_batcher__flush(mk_batcher *batcher, mk_err *err);

#endif

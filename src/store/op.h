/* op.h — one write operation, typed. Layer: store.
 *
 * The same five ops stand in the log, on the command line and in replay (store spec, section 7.1).
 * Two readers make them from JSON: the strict one at the door refuses whatever section 24 lists as
 * malformed, the lenient one accepts for replay what the reference's log may hold. One writer turns
 * them back into the exact canonical text that the log keeps. */
#ifndef MK_STORE_OP_H
#define MK_STORE_OP_H

#include "base/canon.h"
#include "base/timetext.h"

typedef enum mk_op_kind {
    MK_OP_ASSERT_NODE,
    MK_OP_ASSERT_EDGE,
    MK_OP_RETRACT,
    MK_OP_CORRECT,
    MK_OP_INGEST_EVENTS,
    MK_OP_UNKNOWN /* only from the lenient reader: fails the batch, as in the reference */
} mk_op_kind;

typedef enum mk_disc_kind {
    MK_DISC_GIVEN,   /* `disc` is the text, "" included */
    MK_DISC_DEFAULT, /* absent: "#" + position for events */
    MK_DISC_NULL     /* JSON null, only in replayed logs; hashes as null */
} mk_disc_kind;

/* One instantaneous or interval event of a bulk batch. Strings are borrowed. */
typedef struct mk_event {
    mk_str src, dst, rel_type;
    mk_str disc;
    mk_disc_kind disc_kind;
    mk_str props; /* canonical JSON; n == 0 when the event has none ({}) */
    int64_t vt_s;
    int64_t vt_e;
    bool has_vt_e; /* the member is present; the reference reads 0 and null as absent */
} mk_event;

typedef struct mk_op {
    mk_op_kind kind;
    bool on_node; /* RETRACT, CORRECT: the ref names a node */
    mk_str uid;
    mk_str src, dst, rel_type, disc;
    bool disc_null;
    mk_str label;
    mk_str props; /* canonical JSON text */
    int64_t vt_s, vt_e;
    int64_t t; /* RETRACT */
    mk_str source;         /* "" reads back as "ingest" */
    mk_str provenance_ref; /* meaningful unless provenance_null */
    bool provenance_null;
    mk_event *events; /* INGEST_EVENTS */
    size_t event_count;
    int64_t offset;
    mk_str node_label;
    mk_str raw_kind; /* UNKNOWN: the name, for the message */
} mk_op;

#endif

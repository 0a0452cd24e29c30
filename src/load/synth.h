/* synth.h — data sets that are made, the same everywhere for the same seed. Layer: load.
 *
 * A generator hands over one write batch after the other, in the order in which they are to be written, so
 * a data set of any size needs the memory of one batch (and what a kind says below). What a batch becomes
 * is the caller's: a write to a store, a line of an event log, JSON lines; the last two are here.
 *
 *   v1        the reference's benchmark stream: instant events with preferential attachment, and
 *             planted rings, ping-pongs and bursts. Byte for byte. 24 bytes of memory an event.
 *   registry  the reference's evaluation store: intervals in communities, one burst, corrections and
 *             retractions, one batch each. Depends on the number of events alone.
 *   skewed    ours: power-law degrees, instants and intervals of heavy-tailed length, planted cycles,
 *             paths and bursts with ground truth, corrections in clusters and several deep.
 *
 * Source: store spec, 22; evaluation spec, 5 and 20.2. */
#ifndef MK_LOAD_SYNTH_H
#define MK_LOAD_SYNTH_H

#include "store/op.h"

typedef enum mk_synth_kind { MK_SYNTH_V1, MK_SYNTH_REGISTRY, MK_SYNTH_SKEWED } mk_synth_kind;

/* False when there is no such name. */
bool mk_synth_kind_named(const char *name, mk_synth_kind *out);
const char *mk_synth_kind_name(mk_synth_kind kind);

/* Start with mk_synth_defaults. A member that is not of the kind is left alone. */
typedef struct mk_synth_options {
    mk_synth_kind kind;
    uint64_t events; /* v1, skewed: background and, for skewed, planted ones; registry: at least 40 */
    uint64_t nodes;  /* v1, skewed: at least 2 */
    uint64_t seed;   /* v1, skewed */
    /* v1 */
    uint64_t rings, pingpongs;
    /* v1, skewed */
    uint64_t bursts;
    /* skewed */
    uint64_t cycles, paths;
    unsigned corrections; /* percent of the events that are corrected, 0 to 50 */
    unsigned skew;        /* 1 (even) to 5; degrees have the tail exponent 2 + 1 / (skew - 1) */
    const mk_alloc *alloc; /* NULL: mk_alloc_default */
} mk_synth_options;

/* v1: 1,000 nodes, 100,000 events. registry: 20,000 events. skewed: 100,000 events of 10,000 nodes, three
 * cycles, paths and bursts each, 5% corrected, skew 3. Seed 0. */
mk_synth_options mk_synth_defaults(mk_synth_kind kind);

/* One batch. Everything in it is good during the call only. `tt` ascends and is the transaction time that a
 * log should give it; a store has its own clock. For v1 and registry it is 10^15 + 1, + 2, ... (the fixed
 * test clock of the evaluation spec, 21), for skewed just after the last event of the batch. */
typedef mk_code mk_synth_fn(void *ctx, const mk_op *ops, size_t count, mk_tt tt, mk_err *err);

typedef struct mk_synth_report {
    uint64_t batches, events, ops; /* ops: those that are no bulk load */
    mk_buf manifest; /* canonical JSON: generator, parameters, totals, and what is planted where */
} mk_synth_report;

void mk_synth_report_init(mk_synth_report *report, const mk_alloc *alloc);
void mk_synth_report_free(mk_synth_report *report);

/* MK_E_INVALID_ARG for options that do not fit the kind, with the option's name as path. */
MK_CHECK mk_code mk_synth_check(const mk_synth_options *options, mk_err *err);

/* Makes the whole data set. Errors: those of mk_synth_check; MK_E_NOMEM; what `each` returns other than
 * MK_OK. */
MK_CHECK mk_code mk_synth_run(const mk_synth_options *options, mk_synth_fn *each, void *ctx,
                              mk_synth_report *report, mk_err *err);

/* ---- as text ---- */

/* Appends a batch as lines of events and ops, which `ingest` reads. For v1 they are the reference's bytes;
 * otherwise every event says its discriminator, so that later lines can refer to it. Batches are not kept
 * apart. */
void mk_synth_lines(mk_synth_kind kind, const mk_op *ops, size_t count, mk_buf *out);

/* The first line of an event log; each batch is then one mk_record_write. */
#define MK_SYNTH_LOG_HEADER "{\"format\":\"tgms-eventlog\",\"version\":1}\n"

#endif

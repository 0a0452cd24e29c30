/* synth_internal.h — what the generators share. Layer: load, inside only. */
#ifndef MK_LOAD_SYNTH_INTERNAL_H
#define MK_LOAD_SYNTH_INTERNAL_H

#include "load/synth.h"

#define MK_SYNTH_CHUNK 50000u /* events of a batch (store spec, 7.7) */
#define MK_SYNTH_UID 32       /* bytes of the longest uid and discriminator made, NUL included */
#define MK_SYNTH_PROPS 48

/* An event with room for its texts. */
typedef struct mk_synth_event {
    char src[MK_SYNTH_UID], dst[MK_SYNTH_UID];
    char props[MK_SYNTH_PROPS]; /* canonical JSON; "": none */
    const char *rel_type;       /* static */
    int64_t vt_s;
    int64_t vt_e; /* 0: an instant */
} mk_synth_event;

/* Events on their way into batches, and the caller behind them. */
typedef struct mk_synth_out {
    const mk_synth_options *options;
    const mk_alloc *alloc;
    mk_synth_fn *each;
    void *ctx;
    mk_synth_report *report;
    mk_synth_event *texts; /* MK_SYNTH_CHUNK of them */
    mk_event *events;
    size_t held;
    uint64_t offset; /* number of the first event held, in the whole stream */
} mk_synth_out;

/* Where the next event goes: fill it, then call mk_synth__take, which hands a full chunk on with the
 * transaction time given. */
static inline mk_synth_event *mk_synth__next(mk_synth_out *out) { return &out->texts[out->held]; }
MK_CHECK mk_code mk_synth__take(mk_synth_out *out, mk_tt tt, mk_err *err);
/* Hands on what is held, if anything. */
MK_CHECK mk_code mk_synth__flush(mk_synth_out *out, mk_tt tt, mk_err *err);
/* One batch of other ops. */
MK_CHECK mk_code mk_synth__ops(mk_synth_out *out, const mk_op *ops, size_t count, mk_tt tt,
                               mk_err *err);
/* Transaction time of the next batch on the fixed test clock. */
mk_tt mk_synth__tick(const mk_synth_out *out);

/* "n17", "ring3_a": prefix, number, rest. `out` has MK_SYNTH_UID bytes. */
void mk_synth__uid(char *out, const char *prefix, uint64_t number, const char *rest);
/* MK_E_INVALID_ARG for an option, with what would pass. */
mk_code mk_synth__refuse(mk_err *err, const char *option, uint64_t value, const char *hint);
/* Mixes 64 bits; the registry's function of the evaluation spec, 20.2. */
static inline uint64_t mk_synth__mix(uint64_t x)
{
    x *= UINT64_C(0x9E3779B97F4A7C15);
    x ^= x >> 30;
    x *= UINT64_C(0xBF58476D1CE4E5B9);
    x ^= x >> 27;
    x *= UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

/* ---- the kinds: what they refuse, and one run ---- */

MK_CHECK mk_code mk_synth__v1_check(const mk_synth_options *options, mk_err *err);
MK_CHECK mk_code mk_synth__registry_check(const mk_synth_options *options, mk_err *err);
MK_CHECK mk_code mk_synth__skewed_check(const mk_synth_options *options, mk_err *err);
MK_CHECK mk_code mk_synth__v1(mk_synth_out *out, mk_err *err);
MK_CHECK mk_code mk_synth__registry(mk_synth_out *out, mk_err *err);
MK_CHECK mk_code mk_synth__skewed(mk_synth_out *out, mk_err *err);

#endif

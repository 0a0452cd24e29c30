/* memory.h — notes about windows of time: the evolution memory. Layer: agent.
 *
 * A note holds facts that operators computed about one window, and a sentence made of them. Windows are seven
 * days long and begin at multiples of seven days since the epoch, so that they never move. A note is an
 * ordinary node version on the reserved identity `mn:window:<stride>:<t_a>`, valid over its window, and
 * says as of which transaction time its numbers were computed.
 *
 * A note stands as long as nothing that was written since changes what is believed about its window. That is
 * found out when notes are read, by comparing versions; so it holds on every write path, replay included,
 * and nobody has to be told. Source: agent spec, 14 and 17 (O-21, O-22); decisions.md 2, 3. */
#ifndef MK_AGENT_MEMORY_H
#define MK_AGENT_MEMORY_H

#include "model/model.h"
#include "store/view.h"

#define MK_MEMORY_STRIDE_US (INT64_C(7) * 86400 * 1000000)
#define MK_MEMORY_WINDOWS_MAX 2000 /* of one build: what a time series has buckets for */
#define MK_MEMORY_FIND_MAX 16
#define MK_MEMORY_WORDS_MAX 120

/* Everything lives in the caller's arena. */
typedef struct mk_note {
    int64_t t_a, t_b;     /* valid time, microseconds */
    int64_t as_of_tt;     /* belief that the numbers are about */
    int64_t written_tt;   /* when it was stored */
    mk_str text;
    mk_str facts;         /* canonical JSON */
    bool by_model;        /* the text is a model's, accepted because every number in it is a fact */
    bool stale;           /* what is believed about the window has changed since */
} mk_note;

/* All members may be zero. */
typedef struct mk_memory_build_options {
    int64_t from, to;  /* only windows that overlap [from, to), microseconds; both 0: the store's extent */
    mk_model *model;   /* writes the texts; NULL: sentences of numbers only */
    size_t memory_max; /* scratch of one operator call; 0: 1 GiB */
    void (*progress)(void *ctx, size_t done, size_t total);
    void *progress_ctx;
    const atomic_bool *cancelled;
} mk_memory_build_options;

typedef struct mk_memory_built {
    size_t windows;  /* looked at */
    size_t written;  /* new, or written anew because the old note no longer stands */
    size_t accepted; /* of those, with a model's text */
    size_t rejected; /* model texts that were not accepted */
    mk_tt tt;        /* of the last batch; 0: nothing was written */
} mk_memory_built;

/* Writes the notes that are missing or stale; those that stand are left alone.
 * Errors: MK_E_LIMIT for more than MK_MEMORY_WINDOWS_MAX windows, naming a range that passes;
 * MK_E_STATE for a reader; MK_E_CANCELLED; what operators and the store report. A model that fails
 * costs its text only. */
MK_CHECK mk_code mk_memory_build(mk_store *store, const mk_memory_build_options *options, mk_arena *arena,
                                 mk_memory_built *out, mk_err *err);

/* All notes that were stored at belief time `as_of` (MK_OPEN_END: now) and overlap [from, to), by window,
 * stale ones marked. Cost: one pass over the versions that begin before the last window's end.
 * Errors: MK_E_NOMEM, what reading the store reports. */
MK_CHECK mk_code mk_memory_list(mk_store *store, mk_tt as_of, int64_t from, int64_t to, mk_arena *arena,
                                mk_note **notes, size_t *count, mk_err *err);

/* The up to `max` notes that stand and overlap [from, to), best first: by overlap in proportion to the note's
 * length, ties to the earlier. For planners. */
MK_CHECK mk_code mk_memory_find(mk_store *store, mk_tt as_of, int64_t from, int64_t to, size_t max,
                                mk_arena *arena, mk_note **notes, size_t *count, mk_err *err);

/* {"as_of_tt","by_model","facts","stale","t_a","t_b","text","written_tt"}, canonical. */
void mk_note_json(const mk_note *note, mk_buf *out);

#endif

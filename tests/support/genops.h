/* genops.h — random batches of write operations from a seed. Test support.
 *
 * Few identities and a short stretch of valid time, so that overlaps, corrections and re-assertions
 * are the rule; texts and values that are awkward to store and to print. The same seed and options
 * give the same bytes on every platform: the generator is splitmix64 (Steele, Lea, Flood 2014), and
 * numbers with a fraction are chosen from a list of texts, never computed. */
#ifndef MK_TESTS_GENOPS_H
#define MK_TESTS_GENOPS_H

#include "base/json.h"

typedef struct genops_options {
    uint64_t seed;
    int uid_count;   /* 1 to GENOPS_UIDS_MAX */
    int64_t vt_min;  /* valid times lie in [vt_min, vt_max], open ends aside */
    int64_t vt_max;
    int ops_max;     /* ops of a batch: 1 to ops_max */
    int events_max;  /* events of an ingest: 0 to events_max */
    int ingest_percent;    /* share of ops that are ingest_events */
    int open_percent;      /* share of intervals without an end */
    int failing_percent;   /* share of ops made to fail: nothing to retract, an interval upside down,
                              an unknown op. Others may fail too, as retracts and corrects do. */
    int malformed_percent; /* share of ops that are malformed (store spec, oddity 15) */
} genops_options;

enum { GENOPS_UIDS_MAX = 16 };

/* 8 uids, times 0 to 60, up to 6 ops, up to 5 events; 10% ingest, 20% open, 5% failing, 0 malformed. */
extern const genops_options genops_default;

enum { GENOPS_MEMORY = 32 };

/* An assertion made before: what retract and correct are aimed at. */
typedef struct genops_past {
    bool edge;
    int uid, dst, rel, disc;
    int64_t vt_s, vt_e;
} genops_past;

typedef struct genops {
    genops_options options;
    uint64_t state;
    genops_past past[GENOPS_MEMORY]; /* the latest ones, in a ring */
    size_t past_count;
} genops;

void genops_init(genops *gen, const genops_options *options);

/* Appends the next batch to `out`: the canonical JSON text of its ops array. */
void genops_next_text(genops *gen, mk_buf *out);
/* The same as a tree in `arena`. Running out of memory aborts. */
const mk_json *genops_next(genops *gen, mk_arena *arena);

/* For callers that need more randomness from the same seed: below `n` (n > 0), and 1 in `n`. */
uint64_t genops_below(genops *gen, uint64_t n);
bool genops_chance(genops *gen, int percent);
/* One of the uids that the generator uses; some may never have been written. Static storage. */
mk_str genops_uid(const genops *gen, int index);

#endif

/* twin.h — a store and the slow model, fed the same batches. Test support.
 *
 * What the two must have in common is for the tests to say; this makes sure that both got the same
 * input, accepted the same batches, and that the store's rows lie in every layout there is: sealed,
 * merged, checkpointed and opened again at random. Everything fails the test on the spot. */
#ifndef MK_TESTS_TWIN_H
#define MK_TESTS_TWIN_H

#include "genops.h"
#include "model.h"
#include "store/view.h"
#include "tmpdir.h"

typedef struct twin {
    tmpdir dir;
    char path[TMPDIR_PATH_MAX + 16];
    uint32_t tail_rows;
    mk_store *store;
    model *model;
    genops gen;
    int64_t tt; /* of the last batch */
    uint64_t seed;
} twin;

/* An empty pair. `options` is copied, its seed taken from `seed`. */
void twin_open(twin *t, uint64_t seed, const genops_options *options, uint32_t tail_rows);
void twin_close(twin *t);
void twin_close_store(twin *t);
void twin_open_store(twin *t);

/* The next random batch for both. */
void twin_step(twin *t);
/* Perhaps merges, checkpoints or opens the store again. */
void twin_upset(twin *t);

#endif

/* testalloc.h — memory that is counted, checked and made to run out.
 *
 * Every block carries its size and the number of the call that made it, so that a wrong old size, a
 * block freed twice and a leak are seen. New bytes are filled with a pattern and a resized block
 * always moves, so that nobody lives on luck. Safe to use from several threads. */
#ifndef MK_TESTS_TESTALLOC_H
#define MK_TESTS_TESTALLOC_H

#include <pthread.h>

#include "base/alloc.h"

typedef struct testalloc_block testalloc_block;

typedef struct testalloc {
    mk_alloc hook; /* pass &ta.hook as the mk_alloc */
    pthread_mutex_t mutex;
    testalloc_block *blocks; /* all that live, newest first */
    uint64_t calls;          /* allocations and resizes so far, failed ones included; not frees */
    uint64_t fail_at;        /* this call fails; 0 none */
    bool fail_on;            /* and so does every later one */
    uint64_t failures;       /* calls made to fail */
    size_t live_blocks, live_bytes, peak_bytes;
    size_t
        wrong_sizes; /* calls whose old size was not the block's, or whose pointer was not ours */
} testalloc;

void testalloc_init(testalloc *ta);
/* Frees what still lives, without reporting it. */
void testalloc_free(testalloc *ta);

/* The n-th call from now on fails, n from 1, once or with all after it; 0 stops failing. */
void testalloc_fail(testalloc *ta, uint64_t n, bool and_later);

/* True when nothing lives and every size was right; otherwise prints each finding to stderr. */
bool testalloc_is_clean(testalloc *ta);

#endif

/* synth_random.h — the reference's random numbers, to the bit. Layer: load. No allocation.
 *
 * MT19937 seeded by an array of words (Matsumoto and Nishimura 1998, 2002), and the draws that the
 * reference's language makes of it. Whoever has to repeat something of the reference that was drawn (data,
 * task suites, mutants) draws in the same order from here.
 * Source: evaluation spec, 3; store spec, 22.1. */
#ifndef MK_LOAD_SYNTH_RANDOM_H
#define MK_LOAD_SYNTH_RANDOM_H

#include <stddef.h>
#include <stdint.h>

#define MK_RANDOM_WORDS 624

typedef struct mk_random {
    uint32_t words[MK_RANDOM_WORDS];
    size_t at; /* next word to give out */
} mk_random;

void mk_random_seed(mk_random *random, uint64_t seed);
uint32_t mk_random_u32(mk_random *random);
/* The next k bits, 1 to 64, as a number. */
uint64_t mk_random_bits(mk_random *random, unsigned k);
/* Evenly from 0 to n - 1, n at least 1. Draws again until a number fits, below(1) too. */
uint64_t mk_random_below(mk_random *random, uint64_t n);
/* In [0, 1), a multiple of 2^-53. */
double mk_random_unit(mk_random *random);
/* k different places in a sequence of n, in the order drawn; k at most n, and at most MK_RANDOM_SAMPLE_MAX
 * when the sequence is short enough to be copied (see evaluation spec, 3). */
#define MK_RANDOM_SAMPLE_MAX 5
void mk_random_sample(mk_random *random, uint64_t n, size_t k, uint64_t *out);

#endif

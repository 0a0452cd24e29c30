/* synth_random.c — see synth_random.h. */
#include "load/synth_random.h"

#include "base/err.h"

enum { N = MK_RANDOM_WORDS, M = 397 };

static void init_by_number(mk_random *random, uint32_t s)
{
    uint32_t *w = random->words;
    w[0] = s;
    for (uint32_t i = 1; i < N; i++)
        w[i] = UINT32_C(1812433253) * (w[i - 1] ^ w[i - 1] >> 30) + i;
    random->at = N;
}

/* init_by_array of the 2002 initialisation; `key` has at least one word. */
static void init_by_array(mk_random *random, const uint32_t *key, uint32_t size)
{
    uint32_t *w = random->words, i = 1, j = 0;
    init_by_number(random, 19650218);
    for (uint32_t k = N > size ? N : size; k > 0; k--) {
        w[i] = (w[i] ^ (w[i - 1] ^ w[i - 1] >> 30) * UINT32_C(1664525)) + key[j] + j;
        if (++i >= N) {
            w[0] = w[N - 1];
            i = 1;
        }
        if (++j >= size)
            j = 0;
    }
    for (uint32_t k = N - 1; k > 0; k--) {
        w[i] = (w[i] ^ (w[i - 1] ^ w[i - 1] >> 30) * UINT32_C(1566083941)) - i;
        if (++i >= N) {
            w[0] = w[N - 1];
            i = 1;
        }
    }
    w[0] = UINT32_C(0x80000000);
}

void mk_random_seed(mk_random *random, uint64_t seed)
{
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    init_by_array(random, key, key[1] != 0 ? 2 : 1);
}

static void twist(mk_random *random)
{
    uint32_t *w = random->words;
    for (size_t i = 0; i < N; i++) {
        const uint32_t y = (w[i] & UINT32_C(0x80000000)) | (w[(i + 1) % N] & UINT32_C(0x7FFFFFFF));
        w[i] = w[(i + M) % N] ^ y >> 1 ^ (y & 1 ? UINT32_C(0x9908B0DF) : 0);
    }
    random->at = 0;
}

uint32_t mk_random_u32(mk_random *random)
{
    if (random->at == N)
        twist(random);
    uint32_t y = random->words[random->at++];
    y ^= y >> 11;
    y ^= y << 7 & UINT32_C(0x9D2C5680);
    y ^= y << 15 & UINT32_C(0xEFC60000);
    return y ^ y >> 18;
}

uint64_t mk_random_bits(mk_random *random, unsigned k)
{
    MK_ASSERT(k >= 1 && k <= 64);
    if (k <= 32)
        return mk_random_u32(random) >> (32 - k);
    const uint64_t low = mk_random_u32(random);
    return low | (uint64_t)(mk_random_u32(random) >> (64 - k)) << 32;
}

uint64_t mk_random_below(mk_random *random, uint64_t n)
{
    MK_ASSERT(n >= 1);
    const unsigned k = 64 - (unsigned)__builtin_clzll(n);
    uint64_t r = mk_random_bits(random, k);
    while (r >= n)
        r = mk_random_bits(random, k);
    return r;
}

double mk_random_unit(mk_random *random)
{
    const uint32_t a = mk_random_u32(random) >> 5, b = mk_random_u32(random) >> 6;
    return ((double)a * 67108864.0 + (double)b) / 9007199254740992.0;
}

/* A sequence of up to 21 is copied, and a place drawn is filled from the end. */
#define POOL_MAX 21

static void sample_from_pool(mk_random *random, uint64_t n, size_t k, uint64_t *out)
{
    uint64_t pool[POOL_MAX] = {0};
    for (uint64_t i = 0; i < n; i++)
        pool[i] = i;
    for (size_t i = 0; i < k; i++) {
        const uint64_t j = mk_random_below(random, n - i);
        out[i] = pool[j];
        pool[j] = pool[n - i - 1];
    }
}

void mk_random_sample(mk_random *random, uint64_t n, size_t k, uint64_t *out)
{
    MK_ASSERT(k <= n);
    MK_ASSERT(k <= MK_RANDOM_SAMPLE_MAX);
    if (n <= POOL_MAX) {
        sample_from_pool(random, n, k, out);
        return;
    }
    for (size_t i = 0; i < k; i++) {
        size_t same;
        do {
            out[i] = mk_random_below(random, n);
            for (same = 0; same < i && out[same] != out[i]; same++)
                continue;
        } while (same < i);
    }
}

/* bootstrap.c — the paired bootstrap. Layer: eval. */
#include "eval/bootstrap.h"

#include <stdlib.h>

#include "load/synth_random.h"

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void draw(const double *a, const double *b, size_t count, double *means, size_t rounds, uint64_t seed)
{
    mk_random random;
    mk_random_seed(&random, seed);
    for (size_t r = 0; r < rounds; r++) {
        double sum = 0;
        for (size_t i = 0; i < count; i++) {
            const uint64_t at = mk_random_below(&random, count);
            sum += a[at] - b[at];
        }
        means[r] = sum / (double)count;
    }
    qsort(means, rounds, sizeof *means, by_size);
}

mk_code mk_bootstrap_paired(const double *a, const double *b, size_t count,
                            const mk_bootstrap_options *options, const mk_alloc *alloc, mk_bootstrap *out,
                            mk_err *err)
{
    const size_t rounds = options != NULL && options->rounds > 0 ? options->rounds : MK_BOOTSTRAP_ROUNDS;
    const double level = options != NULL && options->level != 0 ? options->level : 0.95;
    double sum = 0;
    size_t draws;
    if (count == 0)
        return mk_fail(err, MK_E_INVALID_ARG, "there is no task to compare two systems on");
    if (!(level > 0 && level < 1))
        return mk_fail(err, MK_E_INVALID_ARG, "a level of confidence lies between 0 and 1");
    if (!mk_size_mul(count, rounds, &draws) || draws > MK_BOOTSTRAP_WORK_MAX)
        return mk_fail(err, MK_E_LIMIT, "%zu rounds over %zu tasks are more than %llu draws", rounds, count,
                       (unsigned long long)MK_BOOTSTRAP_WORK_MAX);
    double *means = mk_new(alloc, rounds * sizeof *means);
    if (means == NULL)
        return mk_fail_nomem(err);
    for (size_t i = 0; i < count; i++)
        sum += a[i] - b[i];
    draw(a, b, count, means, rounds, options != NULL ? options->seed : 0);
    const size_t low = (size_t)((1 - level) / 2 * (double)rounds);
    const size_t high = (size_t)((1 - (1 - level) / 2) * (double)rounds);
    *out = (mk_bootstrap){.difference = sum / (double)count,
                          .lower = means[low],
                          .upper = means[high < rounds ? high : rounds - 1]};
    out->significant = out->lower > 0 || out->upper < 0;
    mk_free(alloc, means, rounds * sizeof *means);
    return MK_OK;
}

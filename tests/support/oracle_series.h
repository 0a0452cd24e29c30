/* oracle_series.h — buckets, for the oracles that have them. Test support. */
#ifndef MK_TESTS_ORACLE_SERIES_H
#define MK_TESTS_ORACLE_SERIES_H

#include "oracle.h"

typedef struct oracle_grid {
    int64_t t_a, t_b, stride, count;
} oracle_grid;

static inline void oracle_gen_stride(const oracle_world *world, mk_buf *out)
{
    mk_buf_printf(out, ",\"stride\":%lld",
                  genops_chance(world->gen, 4) ? (long long)MK_OPEN_END
                                               : (long long)(1 + genops_below(world->gen, 20)));
}

/* False, with the error in `out`, for an empty window or too many buckets. */
static inline bool oracle_grid_of(const mk_json *args, oracle_grid *grid, oracle_answer *out)
{
    const mk_json *window = mk_json_get(args, "window");
    *grid = (oracle_grid){.t_a = oracle_int(window, "t_a", 0),
                          .t_b = oracle_int(window, "t_b", 0),
                          .stride = oracle_int(args, "stride", 1)};
    if (grid->t_a >= grid->t_b) {
        oracle_fail(out, MK_E_INVALID_ARG);
        return false;
    }
    const int64_t span = grid->t_b - grid->t_a; /* times are not negative */
    grid->count = span / grid->stride + (span % grid->stride != 0);
    if (grid->count > 2000) {
        oracle_fail(out, MK_E_LIMIT);
        return false;
    }
    return true;
}

static inline int64_t oracle_grid_start(const oracle_grid *grid, size_t i)
{
    return grid->t_a + (int64_t)i * grid->stride;
}

static inline int64_t oracle_grid_end(const oracle_grid *grid, size_t i)
{
    return (int64_t)i + 1 == grid->count ? grid->t_b : oracle_grid_start(grid, i + 1);
}

#endif

/* oracle_burst_detection.c — bursts by the formulas. Source: operators spec, 7.9. */
#include <math.h>
#include <stdlib.h>

#include "oracle_series.h"

static void args(const oracle_world *world, mk_buf *out)
{
    const bool node = genops_chance(world->gen, 50);
    size_t n;
    const model_row *rows = model_rows(world->m, MODEL_EDGE, &n);
    mk_buf_printf(out, "{\"target\":{\"kind\":\"%s\"", node ? "node_activity" : "edge_event_rate");
    if (node ? !genops_chance(world->gen, 3) : genops_chance(world->gen, 10)) {
        mk_buf_z(out, ",\"uid\":");
        oracle_gen_uid(world, out);
    }
    if (genops_chance(world->gen, 30)) {
        mk_buf_z(out, ",\"rel_type\":");
        if (n == 0 || genops_chance(world->gen, 20))
            mk_buf_z(out, genops_chance(world->gen, 50) ? "null" : "\"NEVER_USED\"");
        else
            mk_canon_string(out, rows[genops_below(world->gen, n)].rel_type);
    }
    mk_buf_z(out, "},\"window\":");
    oracle_gen_window(world, out);
    oracle_gen_stride(world, out);
    if (genops_chance(world->gen, 50))
        mk_buf_z(out, ",\"method\":\"ratio\"");
    if (genops_chance(world->gen, 70))
        mk_buf_printf(out, ",\"params\":{\"r\":%d.5,\"w\":%d,\"z\":0.%d}",
                      1 + (int)genops_below(world->gen, 2), 2 + (int)genops_below(world->gen, 20),
                      1 + (int)genops_below(world->gen, 9));
    oracle_gen_as_of(world, out);
    oracle_gen_page(world, true, out);
    mk_buf_c(out, '}');
}

/* Sums of at most 128 numbers in the order that the spec fixes. */
static double pairwise(const double *v, size_t n)
{
    double r[8], sum = 0.0;
    size_t i = 0;
    if (n >= 8) {
        i = n - n % 8;
        for (int k = 0; k < 8; k++)
            r[k] = v[k];
        for (size_t k = 8; k < i; k++)
            r[k % 8] += v[k];
        sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
    }
    for (; i < n; i++)
        sum += v[i];
    return sum;
}

static int by_size(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static double score_of(const double *h, size_t m, double x, bool ratio)
{
    double work[512];
    if (ratio) {
        memcpy(work, h, m * sizeof *h);
        qsort(work, m, sizeof *work, by_size);
        const double med = m % 2 ? work[m / 2] : (work[m / 2 - 1] + work[m / 2]) / 2;
        return med > 0 ? x / med : x > 0 ? 1e9 : 0.0;
    }
    const double mean = pairwise(h, m) / (double)m;
    for (size_t i = 0; i < m; i++)
        work[i] = (h[i] - mean) * (h[i] - mean);
    const double std = sqrt(pairwise(work, m) / (double)m);
    return std > 0 ? fabs(x - mean) / std : x == mean ? 0.0 : 1e9;
}

static double number(const mk_json *object, const char *name, double otherwise)
{
    const mk_json *v = mk_json_get(object, name);
    return v == NULL ? otherwise : v->kind == MK_JSON_FLOAT ? v->d : (double)v->i;
}

static bool counts(const model_row *e, mk_str rel_type, mk_str uid)
{
    return (rel_type.n == 0 || mk_str_eq(e->rel_type, rel_type)) &&
           (uid.n == 0 || mk_str_eq(e->src, uid) || mk_str_eq(e->dst, uid));
}

static void answer(const oracle_world *world, const mk_json *args_, mk_arena *arena, oracle_answer *out)
{
    const mk_json *target = mk_json_get(args_, "target"), *params = mk_json_get(args_, "params");
    const bool node = mk_str_eq(oracle_text(target, "kind"), MK_STR("node_activity"));
    const bool ratio = mk_str_eq(oracle_text(args_, "method"), MK_STR("ratio"));
    const mk_str uid = node ? oracle_text(target, "uid") : MK_STR("");
    const size_t w = (size_t)oracle_int(params, "w", 10);
    const double least = ratio ? number(params, "r", 3.0) : number(params, "z", 3.0);
    oracle_grid grid;
    oracle_page page;
    const mk_json *window = mk_json_get(args_, "window");
    if (oracle_int(window, "t_a", 0) >= oracle_int(window, "t_b", 0) || (node && uid.n == 0)) {
        oracle_fail(out, MK_E_INVALID_ARG);
        return;
    }
    if (!oracle_grid_of(args_, &grid, out))
        return;
    if (node && !model_knows(world->m, uid)) {
        oracle_fail(out, MK_E_NOT_FOUND);
        return;
    }
    double *x = mk_arena_get0(arena, (size_t)grid.count * sizeof *x);
    double *scores = mk_arena_get0(arena, (size_t)grid.count * sizeof *scores);
    size_t *hits = mk_arena_get(arena, (size_t)grid.count * sizeof *hits), found = 0;
    if (x == NULL || scores == NULL || hits == NULL)
        abort();
    const model_list edges = model_believed(world->m, arena, MODEL_EDGE, NULL,
                                            oracle_int(args_, "as_of_tt", MK_OPEN_END));
    for (size_t i = 0; i < edges.n; i++)
        for (size_t b = 0; b < (size_t)grid.count; b++)
            x[b] += edges.rows[i]->vt_s >= oracle_grid_start(&grid, b) &&
                    edges.rows[i]->vt_s < oracle_grid_end(&grid, b) &&
                    counts(edges.rows[i], oracle_text(target, "rel_type"), uid);
    for (size_t b = 1; b < (size_t)grid.count; b++) {
        const size_t m = b < w ? b : w;
        scores[b] = mk_round9(score_of(x + b - m, m, x[b], ratio));
        if (scores[b] >= least)
            hits[found++] = b;
    }
    if (!oracle_page_of(args_, found, 100, &page, out))
        return;
    oracle_put_cursor(&out->payload, &page);
    mk_buf_printf(&out->payload, ",\"n_buckets\":%lld,\"rows\":[", (long long)grid.count);
    for (size_t i = page.from; i < page.to; i++) {
        mk_buf_z(&out->payload, i > page.from ? ",{\"score\":" : "{\"score\":");
        oracle_put_float(&out->payload, scores[hits[i]]);
        mk_buf_printf(&out->payload, ",\"t_a\":%lld,\"t_b\":%lld,\"value\":",
                      (long long)oracle_grid_start(&grid, hits[i]),
                      (long long)oracle_grid_end(&grid, hits[i]));
        oracle_put_float(&out->payload, x[hits[i]]);
        mk_buf_c(&out->payload, '}');
    }
    mk_buf_printf(&out->payload, "],\"rows_total\":%zu,\"truncated\":%s}", page.total,
                  page.truncated ? "true" : "false");
}

const oracle oracle_burst_detection = {.op = "burst_detection", .args = args, .answer = answer};

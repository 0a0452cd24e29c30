/* cost.c — the cost model's arithmetic and its refusal. Layer: op.
 *
 * Source: operators spec, 5.6. All products and quotients are single double operations in the order
 * written there; the file must not be compiled with contraction or fast-math. */
#include "op/cost.h"

#include <math.h>
#include <stdio.h>

const mk_ceilings mk_ceilings_default = {
    .rows_scanned_est = INT64_C(5120000000),
    .expansions_est = INT64_C(1280000000),
    .time_est_ms = 10000,
};

/* Shifts the numerator so that the integer quotient has at least 55 bits, folds the remainder into
 * the lowest bit, and lets the conversion to double round once. */
double mk_cost_quotient(int64_t num, int64_t den)
{
    MK_ASSERT(num >= 0);
    MK_ASSERT(den > 0);
    if (num == 0)
        return 0.0;
    const int num_bits = 64 - __builtin_clzll((unsigned long long)num);
    const int den_bits = 64 - __builtin_clzll((unsigned long long)den);
    int shift = 56 - (num_bits - den_bits);
    if (shift < 0)
        shift = 0;
    const unsigned __int128 wide = (unsigned __int128)(uint64_t)num << shift;
    uint64_t q = (uint64_t)(wide / (uint64_t)den);
    if (wide % (uint64_t)den != 0)
        q |= 1;
    return ldexp((double)q, -shift);
}

double mk_cost_window_fraction(const mk_cost_input *in)
{
    const mk_json *window = mk_json_get(in->args, "window");
    const mk_view_stats *stats = &in->stats;
    if (window == NULL || !stats->has_extent || stats->vt_max <= stats->vt_min)
        return 1.0;
    const mk_json *t_a = mk_json_get(window, "t_a");
    const mk_json *t_b = mk_json_get(window, "t_b");
    if (t_a == NULL || t_b == NULL)
        return 1.0;
    const int64_t lo = t_a->i > stats->vt_min ? t_a->i : stats->vt_min;
    const int64_t hi = t_b->i < stats->vt_max ? t_b->i : stats->vt_max;
    if (hi <= lo)
        return 0.0;
    /* Times lie within 2^62 of zero, so neither difference overflows. */
    const double part = mk_cost_quotient(hi - lo, stats->vt_max - stats->vt_min);
    return part < 1.0 ? part : 1.0;
}

int64_t mk_cost_scan(const mk_cost_input *in)
{
    const double edges = (double)in->stats.edge_versions * mk_cost_window_fraction(in);
    return (int64_t)edges + (int64_t)in->stats.node_versions;
}

void mk_cost_time(const mk_cost_input *in, double coeff, mk_cost *out)
{
    const double units = (double)(out->rows_scanned_est + out->expansions_est);
    const double ms = ((units * coeff) * in->scale) / 1000000.0;
    out->time_est_ms = ms < 9.0e18 ? (int64_t)ms : INT64_MAX;
}

void mk_cost_json(mk_buf *out, const mk_cost *cost)
{
    mk_buf_z(out, "{\"expansions_est\":");
    mk_buf_i64(out, cost->expansions_est);
    mk_buf_z(out, ",\"rows_scanned_est\":");
    mk_buf_i64(out, cost->rows_scanned_est);
    mk_buf_z(out, ",\"time_est_ms\":");
    mk_buf_i64(out, cost->time_est_ms);
    mk_buf_c(out, '}');
}

/* One estimate against its ceiling; writes the ceiling when it is exceeded. */
static void exceeds(char *text, size_t size, size_t *n, const char *name, int64_t est,
                    int64_t ceiling)
{
    if (est <= ceiling)
        return;
    *n += (size_t)snprintf(text + *n, size - *n, "%s\"%s\":%lld", *n ? "," : "", name,
                           (long long)ceiling);
}

bool mk_cost_within(const mk_cost *cost, const mk_ceilings *ceilings)
{
    return cost->expansions_est <= ceilings->expansions_est &&
           cost->rows_scanned_est <= ceilings->rows_scanned_est &&
           cost->time_est_ms <= ceilings->time_est_ms;
}

mk_code mk_cost_refuse(const mk_cost *cost, const mk_ceilings *ceilings, mk_str offers, mk_err *err)
{
    char exceeded[160], extra[1000];
    size_t n = 0;
    exceeded[0] = '\0';
    exceeds(exceeded, sizeof exceeded, &n, "expansions_est", cost->expansions_est,
            ceilings->expansions_est);
    exceeds(exceeded, sizeof exceeded, &n, "rows_scanned_est", cost->rows_scanned_est,
            ceilings->rows_scanned_est);
    exceeds(exceeded, sizeof exceeded, &n, "time_est_ms", cost->time_est_ms, ceilings->time_est_ms);
    const int size = snprintf(
        extra, sizeof extra,
        "\"ceilings\":{%s},\"counter_offers\":%.*s,\"estimate\":{\"expansions_est\":%lld,"
        "\"rows_scanned_est\":%lld,\"time_est_ms\":%lld},\"suggestions\":[\"a narrower valid-time "
        "window\",\"a node_filter or a smaller seed set\",\"a rel_types restriction\","
        "\"fewer hops or max_hops\"]",
        exceeded, MK_STR_ARG(offers), (long long)cost->expansions_est,
        (long long)cost->rows_scanned_est, (long long)cost->time_est_ms);
    MK_ASSERT(size > 0 && (size_t)size < sizeof extra);
    mk_fail(err, MK_E_COST,
            "the call is estimated at %lld rows, %lld expansions and %lld ms, above its ceilings",
            (long long)cost->rows_scanned_est, (long long)cost->expansions_est,
            (long long)cost->time_est_ms);
    mk_err_hint(err, "%s",
                offers.n > 2 ? "ask one of details.counter_offers, or raise details.ceilings"
                             : "narrow the question, or raise the ceilings named in details.ceilings");
    mk_err_extra(err, extra, (size_t)size);
    return MK_E_COST;
}

/* cost.h — what a call will cost, before it runs. Layer: op.
 *
 * Estimates are integers computed in the exact double arithmetic of the operators spec, section 5.6,
 * because whether a call is refused must not depend on the machine. */
#ifndef MK_OP_COST_H
#define MK_OP_COST_H

#include "base/json.h"
#include "store/view.h"

typedef struct mk_cost {
    int64_t rows_scanned_est;
    int64_t expansions_est;
    int64_t time_est_ms;
} mk_cost;

/* Ceilings; a member of 0 or less means the default. */
typedef struct mk_ceilings {
    int64_t rows_scanned_est; /* 5,120,000,000 */
    int64_t expansions_est;   /* 1,280,000,000 */
    int64_t time_est_ms;      /* 10,000 */
} mk_ceilings;

extern const mk_ceilings mk_ceilings_default;

/* What an operator's estimate may depend on. `scale` multiplies times (1.0: this class of machine). */
typedef struct mk_cost_input {
    const mk_json *args; /* checked, with defaults */
    mk_view_stats stats;
    double scale;
} mk_cost_input;

typedef void mk_cost_fn(const mk_cost_input *in, mk_cost *out);

/* The part of the store's valid-time extent that args.window covers, 0.0 to 1.0; 1.0 without one. */
double mk_cost_window_fraction(const mk_cost_input *in);
/* trunc(edge versions * window fraction) + node versions. */
int64_t mk_cost_scan(const mk_cost_input *in);
/* Sets time_est_ms from the other two; `coeff` is milliseconds per million units. */
void mk_cost_time(const mk_cost_input *in, double coeff, mk_cost *out);
/* The nearest double to num / den, ties to even; 0 <= num, 0 < den. */
double mk_cost_quotient(int64_t num, int64_t den);

bool mk_cost_within(const mk_cost *cost, const mk_ceilings *ceilings);
/* MK_E_COST with estimate, exceeded ceilings, suggestions and counter-offers (canonical JSON, see
 * offer.h) in the details. */
mk_code mk_cost_refuse(const mk_cost *cost, const mk_ceilings *ceilings, mk_str offers, mk_err *err);

/* {"expansions_est":..,"rows_scanned_est":..,"time_est_ms":..} */
void mk_cost_json(mk_buf *out, const mk_cost *cost);

#endif

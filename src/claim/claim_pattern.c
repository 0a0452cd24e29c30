/* claim_pattern.c — claims about the shape of a series: burst, concentration, trend. Layer: claim.
 *
 * A pattern claim carries the call that shows it: operator and parameters, at the belief time of the
 * trace. With a store that very call is run again and compared with the cited step; without one the
 * cited step must be that call. A claim without parameters means those of the cited step or, when none of
 * the right operator is cited, a grid anchored at its interval. A trend is judged inside the interval, and
 * a flat series has none. Source: agent spec, 12.6, 18.4, O-10; decisions.md 5. */
#include <math.h>

#include "claim/claim_internal.h"

#define SPANS_AROUND 10 /* context on both sides of the interval (agent spec, 12.6) */
#define TREND_BUCKETS_MIN 4
#define TREND_BUCKETS 10 /* of a trend that names no call */
#define FLAT 1e-9        /* relative difference of two means that is no difference */

typedef enum pattern_shape { BURST, CONCENTRATION, TREND } pattern_shape;

typedef struct pattern {
    pattern_shape shape;
    mk_when interval;
    bool increasing;
    mk_str op;
    const mk_json *args; /* NULL: the default grid */
    bool has_belief;
    int64_t belief;
    mk_claim_step *cited;   /* the step that is this very call; NULL */
    const mk_json *rows;    /* the series */
    const mk_claim_step *source; /* what `rows` was taken from */
    const mk_json *row;     /* the one row that `from` leads to; NULL */
} pattern;

/* ---- the call ---- */

static const char *op_of(pattern_shape shape)
{
    return shape == BURST ? "burst_detection" : "graph_metric_timeseries";
}

/* Absent, null and the operators' defaults are the same: zscore, no params, any relation and node. */
static bool is_default(mk_str name, const mk_json *value)
{
    if (value->kind == MK_JSON_NULL)
        return true;
    if (mk_str_eq(name, MK_STR("method")))
        return value->kind == MK_JSON_STRING && mk_str_eq(value->text, MK_STR("zscore"));
    return mk_str_eq(name, MK_STR("params")) && value->kind == MK_JSON_OBJECT && value->n == 0;
}

static bool covers(const mk_json *a, const mk_json *b, int depth)
{
    for (size_t i = 0; i < a->n; i++) {
        const mk_member *m = &a->members[i];
        const mk_json *other = mk_json_get_n(b, m->key);
        if (!mk_claim__is_parameter(m->key))
            continue;
        if (other == NULL ? is_default(m->key, &m->value) : mk_claim__same(&m->value, other))
            continue;
        if (other == NULL || depth == 0 || m->value.kind != MK_JSON_OBJECT || other->kind != MK_JSON_OBJECT ||
            !covers(&m->value, other, depth - 1) || !covers(other, &m->value, depth - 1))
            return false;
    }
    return true;
}

static bool same_args(const mk_json *a, const mk_json *b)
{
    const size_t most = 64; /* operators have a dozen */
    return a->n <= most && b->n <= most && covers(a, b, 1) && covers(b, a, 1);
}

static bool is_this_call(const pattern *p, const mk_claim_step *step)
{
    return mk_str_eq(step->op, p->op) && step->has_belief && p->has_belief && step->belief == p->belief &&
           (p->args == NULL || same_args(p->args, step->args));
}

/* The step of `from` alone when there is one, else any that is cited. */
static void find_cited(const mk_checking *c, const mk_found *found, bool has_from, pattern *p)
{
    for (size_t i = 0; i < c->cited_count && p->cited == NULL; i++)
        if ((!has_from || found->step == c->cited[i]) && is_this_call(p, c->cited[i]))
            p->cited = c->cited[i];
    if (p->cited != NULL && p->args == NULL)
        p->args = p->cited->args;
}

static bool read_shape(mk_checking *c, pattern *p)
{
    const mk_str assertion = mk_claim__string(c, "assertion"), direction = mk_claim__string(c, "direction");
    if (mk_str_eq(assertion, MK_STR("burst")))
        p->shape = BURST;
    else if (mk_str_eq(assertion, MK_STR("concentration")))
        p->shape = CONCENTRATION;
    else if (mk_str_eq(assertion, MK_STR("trend")))
        p->shape = TREND;
    else {
        mk_claim__settle(c, MK_UNVERIFIABLE, "malformed", "assertion must be burst, concentration or trend");
        return false;
    }
    p->increasing = direction.n == 0 || mk_str_eq(direction, MK_STR("increasing"));
    if (!p->increasing && !mk_str_eq(direction, MK_STR("decreasing"))) {
        mk_claim__settle(c, MK_UNVERIFIABLE, "malformed", "direction must be increasing or decreasing");
        return false;
    }
    if (!mk_claim__when(mk_claim__member(c, "interval"), &p->interval)) {
        mk_claim__settle(c, MK_UNVERIFIABLE, "malformed", "a pattern needs an interval, start before end");
        return false;
    }
    return true;
}

static bool read_call(mk_checking *c, pattern *p)
{
    const mk_str op = mk_claim__string(c, "op"), wanted = mk_str_of(op_of(p->shape));
    p->op = op.n > 0 ? op : wanted;
    p->args = mk_claim__member(c, "args");
    p->has_belief = c->evidence->has_as_of;
    p->belief = c->evidence->as_of_tt;
    if (!mk_str_eq(p->op, wanted)) {
        mk_claim__settle(c, MK_UNVERIFIABLE, "malformed", "%.*s does not show this; %s does",
                         MK_STR_ARG(p->op), op_of(p->shape));
        return false;
    }
    const mk_json *as_of = p->args != NULL ? mk_json_get(p->args, "as_of_tt") : NULL;
    if (as_of != NULL && as_of->kind != MK_JSON_NULL) {
        p->has_belief = mk_claim__i64(as_of, &p->belief);
        if (!p->has_belief || (c->evidence->has_as_of && p->belief != c->evidence->as_of_tt)) {
            mk_claim__settle(c, MK_UNVERIFIABLE, "other_belief", "the claim is about another belief time");
            return false;
        }
    }
    return true;
}

/* ---- running it again ---- */

static void put_member(mk_buf *out, const char *name, int64_t value)
{
    mk_buf_printf(out, "\"%s\":%lld", name, (long long)value);
}

/* Buckets of the interval's length around it, the interval being one of them; for a trend, buckets inside
 * it. Times before zero are not asked about, so whole spans are left out there. */
static void put_default_args(mk_buf *out, const pattern *p)
{
    const int64_t span = p->interval.end - p->interval.start;
    int64_t start = p->interval.start, end = p->interval.end, stride = span;
    if (p->shape == TREND) {
        stride = span / TREND_BUCKETS > 0 ? span / TREND_BUCKETS : 1;
    } else {
        for (int i = 0; i < SPANS_AROUND && start >= span; i++)
            start -= span;
        for (int i = 0; i < SPANS_AROUND && end <= MK_CLAIM_OPEN_END - span; i++)
            end += span;
    }
    mk_buf_z(out, p->shape == BURST ? "{" : "{\"metric\":\"edge_event_count\",");
    put_member(out, "stride", stride);
    mk_buf_z(out, p->shape == BURST ? ",\"target\":{\"kind\":\"edge_event_rate\"}" : "");
    mk_buf_z(out, ",\"window\":{");
    put_member(out, "t_a", start);
    mk_buf_c(out, ',');
    put_member(out, "t_b", end);
    mk_buf_z(out, "}}");
}

/* *payload NULL: settled. */
static mk_code run_again(mk_checking *c, const pattern *p, const mk_json **payload, mk_err *err)
{
    mk_buf text;
    mk_json *args;
    mk_err why = {0};
    mk_code rc = MK_OK;
    mk_buf_init(&text, c->arena->alloc);
    if (p->args == NULL) {
        put_default_args(&text, p);
        MK_TRY(rc, mk_buf_done(&text, err));
        MK_TRY(rc, mk_json_parse(c->arena, mk_buf_view(&text), NULL, &args, err));
    }
    MK_TRY(rc, mk_claim__reexec(c, p->op, p->args != NULL ? p->args : args, p->belief, payload, &why, err));
    if (*payload == NULL)
        mk_claim__settle(c, MK_UNVERIFIABLE, "not_run", "%.*s could not be run again: %s", MK_STR_ARG(p->op),
                         why.message);
out:
    mk_buf_free(&text);
    return rc;
}

/* What the store gives now must be what the trace has, as far as the trace shows it. */
static bool agrees(const mk_claim_step *cited, const mk_json *fresh)
{
    const mk_json *before = mk_json_get(cited->payload, "rows"), *now = mk_json_get(fresh, "rows");
    if (before == NULL || now == NULL || cited->gap_count > 0)
        return cited->gap_count > 0;
    return mk_claim__same(before, now);
}

static mk_code use_store(mk_checking *c, pattern *p, mk_err *err)
{
    static const mk_json no_call = {.kind = MK_JSON_OBJECT};
    mk_claim_step *fresh = mk_arena_get0(c->arena, sizeof *fresh);
    const mk_json *payload;
    if (fresh == NULL)
        return mk_fail_nomem(err);
    mk_code rc = run_again(c, p, &payload, err);
    if (rc != MK_OK || payload == NULL)
        return rc;
    if (p->cited != NULL && !agrees(p->cited, payload)) {
        mk_claim__settle(c, MK_UNSUPPORTED, "differs",
                         "run again, the call gives another result than the trace has");
        return MK_OK;
    }
    *fresh = (mk_claim_step){.id = p->op, .call = &no_call, .payload = payload};
    rc = mk_evidence__fill(fresh, c->arena, err);
    p->source = fresh;
    p->rows = mk_json_get(payload, "rows");
    return rc;
}

/* The series to judge; p->rows NULL: settled. */
static mk_code find_series(mk_checking *c, pattern *p, bool has_from, mk_err *err)
{
    if (has_from && p->cited == NULL) {
        mk_claim__settle(c, MK_UNVERIFIABLE, "other_call",
                         "the cited step is not the call that the claim names");
        return MK_OK;
    }
    if (!p->has_belief) {
        mk_claim__settle(c, MK_UNVERIFIABLE, "other_belief", "the trace has no belief time");
        return MK_OK;
    }
    if (c->evidence->reexec != NULL) {
        const mk_code rc = use_store(c, p, err);
        if (rc != MK_OK || p->rows == NULL)
            return rc;
    } else if (p->cited == NULL) {
        mk_claim__settle(c, MK_UNVERIFIABLE, "no_store",
                         "there is no store to run the call again, and no cited step is that call");
        return MK_OK;
    } else {
        p->source = p->cited;
        p->rows = mk_json_get(p->cited->payload, "rows");
    }
    if (p->rows == NULL || p->rows->kind != MK_JSON_ARRAY) {
        mk_claim__settle(c, MK_UNVERIFIABLE, "malformed", "the result has no rows");
        p->rows = NULL;
    }
    return MK_OK;
}

/* ---- judging ---- */

static bool read_bucket(const mk_json *row, mk_when *when, double *value)
{
    const mk_json *v = mk_json_get(row, "value");
    if (!mk_claim__row_interval(row, when) || !mk_claim__is_number(v))
        return false;
    *value = mk_claim__double(v);
    return true;
}

/* A bucket shows a pattern of the interval when one of the two lies inside the other. */
static bool is_about(mk_when bucket, mk_when interval)
{
    return (bucket.start >= interval.start && bucket.end <= interval.end) ||
           (interval.start >= bucket.start && interval.end <= bucket.end);
}

static bool same_when(mk_when a, mk_when b) { return a.start == b.start && a.end == b.end; }

static void settle_malformed_series(mk_checking *c)
{
    mk_claim__settle(c, MK_UNVERIFIABLE, "malformed", "the result is no series of buckets");
}

static void judge_burst(mk_checking *c, const pattern *p)
{
    mk_when when;
    double value;
    bool flagged = false;
    for (size_t i = 0; i < p->rows->n; i++) {
        if (!read_bucket(&p->rows->items[i], &when, &value)) {
            settle_malformed_series(c);
            return;
        }
        flagged |= is_about(when, p->interval);
    }
    if (p->row != NULL)
        flagged = flagged && read_bucket(p->row, &when, &value) && same_when(when, p->interval);
    if (flagged)
        mk_claim__settle(c, MK_SUPPORTED, NULL, "a flagged bucket is there");
    else
        mk_claim__settle(c, MK_UNSUPPORTED, "mismatch", "no flagged bucket is there");
    mk_claim__weaken(c, p->source, MK_STR("rows"), MK_NEED_MEMBER);
}

static void judge_concentration(mk_checking *c, const pattern *p)
{
    mk_when top = {0}, when;
    double most = -INFINITY, least = INFINITY, value;
    for (size_t i = 0; i < p->rows->n; i++) {
        if (!read_bucket(&p->rows->items[i], &when, &value)) {
            settle_malformed_series(c);
            return;
        }
        if (value > most)
            top = when;
        most = fmax(most, value);
        least = fmin(least, value);
    }
    if (p->rows->n < 2 || most <= least)
        mk_claim__settle(c, MK_UNSUPPORTED, "flat", "no bucket stands out");
    else if (is_about(top, p->interval))
        mk_claim__settle(c, MK_SUPPORTED, NULL, "the largest bucket is there");
    else
        mk_claim__settle(c, MK_UNSUPPORTED, "mismatch", "the largest bucket is elsewhere");
    mk_claim__weaken(c, p->source, MK_STR("rows"), MK_NEED_WHOLE);
}

/* The buckets that lie inside the interval, in order. */
static bool collect_inside(mk_checking *c, const pattern *p, double *values, size_t *count)
{
    *count = 0;
    for (size_t i = 0; i < p->rows->n; i++) {
        mk_when when;
        double value;
        if (!read_bucket(&p->rows->items[i], &when, &value)) {
            settle_malformed_series(c);
            return false;
        }
        if (when.start >= p->interval.start && when.end <= p->interval.end)
            values[(*count)++] = value;
    }
    if (*count < TREND_BUCKETS_MIN) {
        mk_claim__settle(c, MK_UNVERIFIABLE, "too_short", "a trend needs four buckets inside its interval");
        return false;
    }
    return true;
}

static double mean(const double *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return sum / (double)count;
}

static mk_code judge_trend(mk_checking *c, const pattern *p, mk_err *err)
{
    size_t count, size;
    double *values = mk_size_mul(p->rows->n, sizeof *values, &size) ? mk_arena_get(c->arena, size) : NULL;
    if (values == NULL)
        return mk_fail_nomem(err);
    if (!collect_inside(c, p, values, &count))
        return MK_OK;
    const double first = mean(values, count / 2), second = mean(values + count / 2, count - count / 2);
    const double change = second - first;
    if (fabs(change) <= FLAT * fmax(fabs(first), fabs(second)))
        mk_claim__settle(c, MK_UNSUPPORTED, "flat", "the series is flat, neither increasing nor decreasing");
    else if ((change > 0) == p->increasing)
        mk_claim__settle(c, MK_SUPPORTED, NULL, "the second half is %s than the first",
                         change > 0 ? "higher" : "lower");
    else
        mk_claim__settle(c, MK_UNSUPPORTED, "mismatch", "the second half is %s than the first",
                         change > 0 ? "higher" : "lower");
    mk_claim__weaken(c, p->source, MK_STR("rows"), MK_NEED_WHOLE);
    return MK_OK;
}

mk_code mk_claim__pattern(mk_checking *c, mk_err *err)
{
    pattern p = {.has_belief = false};
    mk_found found = {.step = NULL};
    bool has_from;
    mk_code rc;
    if (!read_shape(c, &p) || !read_call(c, &p))
        return MK_OK;
    MK_TRY(rc, mk_claim__from(c, &found, &has_from, err));
    if (!has_from && mk_claim__has_from(c))
        goto out;
    find_cited(c, &found, has_from, &p);
    if (has_from && found.value->kind == MK_JSON_OBJECT)
        p.row = found.value;
    MK_TRY(rc, find_series(c, &p, has_from, err));
    if (p.rows == NULL || !mk_claim__spend(c, p.rows->n))
        goto out;
    if (p.shape == BURST)
        judge_burst(c, &p);
    else if (p.shape == CONCENTRATION)
        judge_concentration(c, &p);
    else
        rc = judge_trend(c, &p, err);
out:
    return rc;
}

/* burst_detection.c — buckets whose count stands out from those just before. Layer: op.
 *
 * A score keeps all its bits through the rounding when it is large, so the order of additions is part of
 * the answer: sums are pairwise, in blocks of eight (operators spec, 7.9; Higham 1993). */
#include "op/burst_detection.h"

#include <math.h>

#include "op/operators.h"

#define HISTORY_MAX 500
#define SCORE_FROM_NOTHING 1e9 /* any change after a constant history */

double mk_pairwise_sum(const double *values, size_t n)
{
    if (n > 128) {
        const size_t half = n / 2 - n / 2 % 8;
        return mk_pairwise_sum(values, half) + mk_pairwise_sum(values + half, n - half);
    }
    double sum = 0.0;
    size_t i = 0;
    if (n >= 8) {
        double r[8];
        for (size_t k = 0; k < 8; k++)
            r[k] = values[k];
        for (i = 8; i + 8 <= n; i += 8)
            for (size_t k = 0; k < 8; k++)
                r[k] += values[i + k];
        sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
    }
    for (; i < n; i++)
        sum += values[i];
    return sum;
}

static double z_score(const double *history, size_t m, double x)
{
    double squares[HISTORY_MAX];
    const double mean = mk_pairwise_sum(history, m) / (double)m;
    for (size_t i = 0; i < m; i++)
        squares[i] = (history[i] - mean) * (history[i] - mean);
    const double deviation = sqrt(mk_pairwise_sum(squares, m) / (double)m);
    if (deviation > 0.0)
        return fabs(x - mean) / deviation;
    return x == mean ? 0.0 : SCORE_FROM_NOTHING;
}

/* The values of a history in order, kept so while the history moves: one leaves, one comes. Sorting each
 * history anew would cost its square, 2000 times. */
typedef struct ordered {
    double list[HISTORY_MAX];
    size_t count;
} ordered;

static void ordered_add(ordered *o, double x)
{
    size_t at = o->count++;
    for (; at > 0 && o->list[at - 1] > x; at--)
        o->list[at] = o->list[at - 1];
    o->list[at] = x;
}

/* `x` is among them. */
static void ordered_remove(ordered *o, double x)
{
    size_t at = 0;
    while (o->list[at] != x)
        at++;
    for (o->count--; at < o->count; at++)
        o->list[at] = o->list[at + 1];
}

static double median(const ordered *o)
{
    const size_t half = o->count / 2;
    return o->count % 2 ? o->list[half] : (o->list[half - 1] + o->list[half]) / 2;
}

static double ratio_score(const ordered *history, double x)
{
    const double middle = median(history);
    if (middle > 0.0)
        return x / middle;
    return x > 0.0 ? SCORE_FROM_NOTHING : 0.0;
}

size_t mk_burst_find(const double *values, size_t n, const mk_burst_args *args, mk_burst *out)
{
    MK_ASSERT(args->history >= 1);
    MK_ASSERT(args->history <= HISTORY_MAX);
    ordered history = {.count = 0};
    size_t found = 0;
    for (size_t i = 1; i < n; i++) {
        const size_t m = i < args->history ? i : args->history;
        double score;
        if (args->ratio) {
            if (i > args->history)
                ordered_remove(&history, values[i - 1 - args->history]);
            ordered_add(&history, values[i - 1]);
            score = ratio_score(&history, values[i]);
        } else {
            score = z_score(values + i - m, m, values[i]);
        }
        score = mk_round9(score);
        if (score >= args->threshold)
            out[found++] = (mk_burst){i, score};
    }
    return found;
}

/* ---- glue ---- */

static bool is_text(const mk_json *object, const char *name)
{
    const mk_json *value = mk_json_get(object, name);
    return value != NULL && value->kind == MK_JSON_STRING && value->text.n > 0;
}

static bool is_activity(const mk_json *target)
{
    return mk_str_eq(mk_arg_str(target, "kind"), MK_STR("node_activity"));
}

static mk_code validate_burst_detection(const mk_json *args, mk_err *err)
{
    const mk_json *target = mk_json_get(args, "target");
    const mk_code rc = mk_validate_window(args, err);
    if (rc != MK_OK || !is_activity(target) || is_text(target, "uid"))
        return rc;
    mk_fail(err, MK_E_INVALID_ARG, "target.kind node_activity needs target.uid");
    mk_err_hint(err, "name the entity, or ask for edge_event_rate");
    mk_err_extra(err, "\"path\":[\"target\",\"uid\"]", 23);
    return MK_E_INVALID_ARG;
}

static double number_or(const mk_json *object, const char *name, double otherwise)
{
    const mk_json *value = mk_json_get(object, name);
    if (value == NULL)
        return otherwise;
    if (value->kind == MK_JSON_FLOAT)
        return value->d;
    return value->b ? 0x1p63 : (double)value->i; /* beyond int64: above every score there is */
}

static mk_burst_args read_burst_args(const mk_json *args)
{
    const mk_json *params = mk_json_get(args, "params");
    const mk_json *history = mk_json_get(params, "w");
    const bool ratio = mk_str_eq(mk_arg_str(args, "method"), MK_STR("ratio"));
    return (mk_burst_args){.history = history != NULL ? (size_t)history->i : 10,
                           .ratio = ratio,
                           .threshold = number_or(params, ratio ? "r" : "z", 3.0)};
}

static mk_code read_choice(const mk_run *run, mk_event_choice *choice, mk_err *err)
{
    const mk_json *target = mk_json_get(run->args, "target");
    *choice = (mk_event_choice){.uid = MK_NO_ID};
    if (is_activity(target)) {
        const mk_str uid = mk_arg_str(target, "uid");
        choice->uid = mk_view_entity(run->view, uid);
        if (choice->uid == MK_NO_ID)
            return mk_fail_uid(run, uid, "target", -1, err);
    }
    if (is_text(target, "rel_type")) {
        uint32_t *code = mk_arena_get(run->arena, sizeof *code);
        if (code == NULL)
            return mk_fail_nomem(err);
        *code = mk_view_name_code(run->view, mk_arg_str(target, "rel_type"));
        choice->rel_types = code;
        choice->rel_type_count = *code != MK_NO_ID;
    }
    return MK_OK;
}

static mk_code count_values(mk_run *run, const mk_buckets *buckets, double *values, mk_err *err)
{
    mk_event_choice choice;
    mk_code rc;
    uint64_t *counts = mk_arena_get(run->arena, buckets->count * sizeof *counts);
    if (counts == NULL)
        return mk_fail_nomem(err);
    MK_TRY(rc, read_choice(run, &choice, err));
    MK_TRY(rc, mk_series_chosen(run->view, run->arena, buckets, &choice, run->guard, counts, err));
    for (size_t i = 0; i < buckets->count; i++)
        values[i] = (double)counts[i];
out:
    return rc;
}

static void write_row(mk_run *run, const mk_buckets *buckets, const mk_burst *burst, double value)
{
    mk_buf *text = &run->out->text;
    mk_payload_item(run->out);
    mk_buf_z(text, "{\"score\":");
    mk_payload_float(run->out, burst->score);
    mk_buf_z(text, ",\"t_a\":");
    mk_buf_i64(text, mk_bucket_start(buckets, burst->bucket));
    mk_buf_z(text, ",\"t_b\":");
    mk_buf_i64(text, mk_bucket_end(buckets, burst->bucket));
    mk_buf_z(text, ",\"value\":");
    mk_payload_float(run->out, value);
    mk_buf_c(text, '}');
}

static mk_code run_burst_detection(mk_run *run, mk_err *err)
{
    const mk_burst_args args = read_burst_args(run->args);
    mk_buckets buckets;
    mk_span span;
    mk_code rc;

    MK_TRY(rc, mk_buckets_of_args(run->args, &buckets, err));
    double *values = mk_arena_get(run->arena, buckets.count * sizeof *values);
    mk_burst *bursts = mk_arena_get(run->arena, buckets.count * sizeof *bursts);
    if (values == NULL || bursts == NULL)
        return mk_fail_nomem(err);
    MK_TRY(rc, count_values(run, &buckets, values, err));
    const size_t found = mk_burst_find(values, buckets.count, &args, bursts);
    MK_TRY(rc, mk_page_span(&run->page, found, &span, err));
    mk_payload_cursor(run->out, &span);
    mk_payload_int(run->out, "n_buckets", (int64_t)buckets.count);
    mk_payload_list(run->out, "rows");
    for (size_t i = span.start; i < span.end; i++)
        write_row(run, &buckets, &bursts[i], values[bursts[i].bucket]);
    mk_payload_list_end(run->out);
    mk_payload_int(run->out, "rows_total", (int64_t)span.total);
    mk_payload_bool(run->out, "truncated", span.truncated);
    mk_payload_page_gaps(run->out, "rows", &span);

out:
    return rc;
}

static void cost_burst_detection(const mk_cost_input *in, mk_cost *out)
{
    out->rows_scanned_est = mk_cost_scan(in);
    mk_cost_time(in, 55.0, out);
}

static const char *const kinds[] = {"edge_event_rate", "node_activity", NULL};
static const char *const methods[] = {"zscore", "ratio", NULL};

static const mk_arg target_members[] = {
    {.name = "kind",
     .type = MK_ARG_ENUM,
     .required = true,
     .choices = kinds,
     .doc = "edge_event_rate: events of the whole graph; node_activity: those of one entity."},
    {.name = "rel_type",
     .type = MK_ARG_STRING,
     .nullable = true,
     .doc = "Only events of this relation type; null or empty is all."},
    {.name = "uid",
     .type = MK_ARG_STRING,
     .nullable = true,
     .doc = "The entity; needed by node_activity, ignored otherwise."},
    {0},
};
static const mk_arg params_members[] = {
    {.name = "w",
     .type = MK_ARG_INTEGER,
     .min = 2,
     .max = HISTORY_MAX,
     .doc = "How many buckets before one its history has; 10 when absent."},
    {.name = "z",
     .type = MK_ARG_NUMBER,
     .bounded = true,
     .above = 0.09999999999999999, /* the double before 0.1: at least 0.1 */
     .upto = 1e308,
     .doc = "Least score of zscore; 3.0 when absent."},
    {.name = "r",
     .type = MK_ARG_NUMBER,
     .bounded = true,
     .above = 0.9999999999999999, /* at least 1.0 */
     .upto = 1e308,
     .doc = "Least score of ratio; 3.0 when absent."},
    {0},
};

static const mk_arg args_burst_detection[] = {
    {.name = "target",
     .type = MK_ARG_OBJECT,
     .required = true,
     .members = target_members,
     .doc = "What is counted."},
    MK_ARG_WINDOW,
    {.name = "stride",
     .type = MK_ARG_INTEGER,
     .required = true,
     .min = 1,
     .max = INT64_MAX,
     .doc = "Length of a bucket, microseconds; at most 2000 buckets."},
    {.name = "method",
     .type = MK_ARG_ENUM,
     .choices = methods,
     .default_json = "\"zscore\"",
     .doc = "zscore: distance from the mean in standard deviations; ratio: multiple of the median."},
    {.name = "params",
     .type = MK_ARG_OBJECT,
     .members = params_members,
     .default_json = "{}",
     .doc = "History and thresholds."},
    MK_ARG_AS_OF,
    MK_ARG_LIMIT,
    MK_ARG_CURSOR,
    {0},
};

static const mk_field burst_row_members[] = {
    {.name = "t_a", .type = MK_FIELD_TIME, .doc = "Start of the bucket."},
    {.name = "t_b", .type = MK_FIELD_TIME, .doc = "End of the bucket, exclusive."},
    {.name = "value", .type = MK_FIELD_FLOAT, .doc = "Events in it."},
    {.name = "score", .type = MK_FIELD_FLOAT, .doc = "How far it stands out."},
    {0},
};
static const mk_field burst_row = {
    .name = "burst", .type = MK_FIELD_OBJECT, .members = burst_row_members};

static const mk_field fields_burst_detection[] = {
    MK_FIELD_ROWS(&burst_row, "Buckets at or above the threshold, in time order."),
    MK_FIELD_ROWS_TOTAL,
    MK_FIELD_TRUNCATED("Whether rows follow this page."),
    MK_FIELD_CURSOR,
    {.name = "n_buckets", .type = MK_FIELD_INTEGER, .doc = "How many buckets the window has."},
    {0},
};

const mk_operator mk_operator_burst_detection = {
    .name = "burst_detection",
    .group = "graph",
    .summary = "buckets whose number of events stands out from the buckets before",
    .help = "A bucket is compared with up to w buckets before it; the first has no history and is never "
            "reported. zscore finds drops as well as peaks. After a constant history any change "
            "scores 1000000000.0, so the first event after silence is always a burst.",
    .example = "{\"params\":{\"w\":3},\"stride\":5,\"target\":{\"kind\":\"edge_event_rate\"},"
               "\"window\":{\"t_a\":0,\"t_b\":40}}",
    .args = args_burst_detection,
    .fields = fields_burst_detection,
    .cost = cost_burst_detection,
    .validate = validate_burst_detection,
    .run = run_burst_detection,
};

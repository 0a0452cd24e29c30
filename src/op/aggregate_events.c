/* aggregate_events.c — the operator: arguments, their rules, and the payload. Layer: op.
 *
 * The kernel is in aggregate_scan.c and the files beside it. */
#include "op/aggregate_events.h"

#include <stdio.h>

#include "op/operators.h"

/* Events from which on a call takes more than one thread: starting them costs about as much as reading a
 * tenth of this. */
#define SHARE_FROM (UINT64_C(1) << 19)

/* ---- names ---- */

static const char *const dim_names[] = {"time_bucket", "calendar_unit", "rel_type", "endpoint", "label",
                                        "calendar_period", NULL};
static const char *const unit_names[] = {"hour_of_day", "day_of_week", "month_of_year", "day", "week",
                                         "month", "quarter", "year", NULL};
#define UNIT_PERIODS 3 /* from here on they are periods, and cyclic before */
static const char *const role_names[] = {"src", "dst", NULL};
static const char *const cohort_names[] = {"src", "dst", "either", NULL};
static const char *const fn_names[] = {"count",   "count_distinct", "min",           "max", "mean",
                                       "max_gap", "max_in_window",  "max_session_span", NULL};
static const char *const of_names[] = {"src", "dst", "vt_s", "duration", "prop", NULL};
static const char *const cmp_names[] = {"eq", "ne", "lt", "le", "gt", "ge", NULL};
static const char *const pair_names[] = {"undirected", "reciprocal", NULL};

enum { DIM_TIME_BUCKET, DIM_CALENDAR_UNIT, DIM_REL_TYPE, DIM_ENDPOINT, DIM_LABEL, DIM_CALENDAR_PERIOD };

/* Place of a member in a list of names; -1 when null or absent. */
static int choice(const mk_json *object, const char *member, const char *const *names)
{
    const mk_str text = mk_arg_str(object, member);
    for (int i = 0; text.p != NULL && names[i] != NULL; i++)
        if (mk_str_eq(text, mk_str_of(names[i])))
            return i;
    return -1;
}

static mk_code fail_at(mk_err *err, const char *arg, size_t index, const char *why, const char *hint)
{
    char extra[64];
    const int n = snprintf(extra, sizeof extra, "\"path\":[\"%s\",%zu]", arg, index);
    mk_fail(err, MK_E_INVALID_ARG, "%s[%zu]: %s", arg, index, why);
    mk_err_hint(err, "%s", hint);
    mk_err_extra(err, extra, (size_t)n);
    return MK_E_INVALID_ARG;
}

static mk_code fail_arg(mk_err *err, const char *arg, const char *why, const char *hint)
{
    char extra[64];
    const int n = snprintf(extra, sizeof extra, "\"path\":[\"%s\"]", arg);
    mk_fail(err, MK_E_INVALID_ARG, "%s: %s", arg, why);
    mk_err_hint(err, "%s", hint);
    mk_err_extra(err, extra, (size_t)n);
    return MK_E_INVALID_ARG;
}

/* ---- dimensions ---- */

/* Whether its groups are stretches of time, with the columns t_a and t_b. */
static bool has_bounds(const mk_agg_dim *dim) { return dim->kind == MK_DIM_TIME_BUCKET || dim->kind == MK_DIM_PERIOD; }

static mk_code read_dim(const mk_json *list, size_t i, mk_agg_args *out, mk_err *err)
{
    const mk_json *given = &list->items[i];
    const int dim = choice(given, "dim", dim_names), unit = choice(given, "unit", unit_names);
    const int role = choice(given, "role", role_names);
    const bool offset = !mk_arg_is_null(given, "tz_offset_minutes");
    const bool has_role = dim == DIM_ENDPOINT || dim == DIM_LABEL;
    if (dim != DIM_CALENDAR_UNIT && dim != DIM_CALENDAR_PERIOD && (unit >= 0 || offset))
        return fail_at(err, "group_by", i, "`unit` and `tz_offset_minutes` belong to calendar_unit and calendar_period",
                       "leave them out, or group by calendar_unit");
    if (dim == DIM_CALENDAR_UNIT && (unit < 0 || unit >= UNIT_PERIODS))
        return fail_at(err, "group_by", i, "calendar_unit needs a cyclic `unit`",
                       "give hour_of_day, day_of_week or month_of_year, or group by calendar_period");
    if (dim == DIM_CALENDAR_PERIOD && unit < UNIT_PERIODS)
        return fail_at(err, "group_by", i, "calendar_period needs a `unit`", "give day, week, month, quarter or year");
    if (has_role && role < 0)
        return fail_at(err, "group_by", i, "endpoint and label need a `role`", "give src or dst");
    if (!has_role && role >= 0)
        return fail_at(err, "group_by", i, "`role` belongs to endpoint and label", "leave it out");

    mk_agg_dim *d = &out->dims[i];
    static const mk_agg_dim_kind kinds[] = {MK_DIM_TIME_BUCKET, MK_DIM_HOUR_OF_DAY, MK_DIM_REL_TYPE,
                                            MK_DIM_SRC, MK_DIM_SRC_LABEL, MK_DIM_PERIOD};
    *d = (mk_agg_dim){.kind = kinds[dim]};
    static const unsigned char days[] = {1, 7, 0, 0, 0}, month_counts[] = {0, 0, 1, 3, 12};
    if (dim == DIM_CALENDAR_PERIOD) {
        d->days = days[unit - UNIT_PERIODS];
        d->months = month_counts[unit - UNIT_PERIODS];
    }
    if (dim == DIM_CALENDAR_UNIT && unit > 0)
        d->kind = unit == 1 ? MK_DIM_DAY_OF_WEEK : MK_DIM_MONTH_OF_YEAR;
    if (role == 1)
        d->kind = dim == DIM_ENDPOINT ? MK_DIM_DST : MK_DIM_DST_LABEL;
    if (offset)
        d->offset_us = mk_arg_i64(given, "tz_offset_minutes") * INT64_C(60000000);
    for (size_t k = 0; k < i; k++)
        if (out->dims[k].kind == d->kind || (has_bounds(&out->dims[k]) && has_bounds(d)))
            return fail_at(err, "group_by", i, "the same dimension twice", "leave one of them out");
    return MK_OK;
}

/* ---- aggregates ---- */

static bool same_field(const mk_agg_fn *x, const mk_agg_fn *y)
{
    return x->kind == y->kind && x->of == y->of && (x->of != MK_OF_PROP || mk_str_eq(x->prop, y->prop));
}

/* What is wrong with the members of an aggregate, NULL when nothing; *hint says what would be right. */
static const char *fn_fault(const mk_json *given, int fn, int of, const char **hint)
{
    const bool span = !mk_arg_is_null(given, "span"), gap = !mk_arg_is_null(given, "gap");
    const bool prop = !mk_arg_is_null(given, "prop");
    *hint = "leave it out";
    if (prop && of + 1 != MK_OF_PROP)
        return "`prop` belongs to of: prop";
    if (span && fn != MK_AGG_MAX_IN_WINDOW)
        return "`span` belongs to max_in_window";
    if (gap && fn != MK_AGG_MAX_SESSION_SPAN)
        return "`gap` belongs to max_session_span";
    if (fn >= MK_AGG_MAX_GAP && of >= 0)
        return "an aggregate over the sequence of events has no `of`";
    if (fn == MK_AGG_COUNT && of >= 0)
        return "count has no `of`";
    *hint = "give it, in microseconds";
    if (fn == MK_AGG_MAX_IN_WINDOW && !span)
        return "max_in_window needs a `span`";
    if (fn == MK_AGG_MAX_SESSION_SPAN && !gap)
        return "max_session_span needs a `gap`";
    *hint = "give src or dst";
    if (fn == MK_AGG_DISTINCT && of + 1 != MK_OF_SRC && of + 1 != MK_OF_DST)
        return "count_distinct counts src or dst";
    *hint = "give vt_s, duration or prop";
    if (fn >= MK_AGG_MIN && fn <= MK_AGG_MEAN && of + 1 < MK_OF_VT_S)
        return "min, max and mean are of vt_s, duration or prop";
    *hint = "name the property in `prop`";
    if (of + 1 == MK_OF_PROP && !prop)
        return "of: prop needs a `prop`";
    return NULL;
}

static mk_code read_fn(const mk_json *list, size_t i, mk_agg_args *out, mk_err *err)
{
    const mk_json *given = &list->items[i];
    const int fn = choice(given, "agg", fn_names), of = choice(given, "of", of_names);
    const char *hint;
    const char *fault = fn_fault(given, fn, of, &hint);
    if (fault != NULL)
        return fail_at(err, "aggregates", i, fault, hint);

    mk_agg_fn *f = &out->fns[i];
    *f = (mk_agg_fn){.kind = (mk_agg_fn_kind)fn, .of = (mk_agg_of)(of + 1)};
    if (f->of == MK_OF_PROP)
        f->prop = mk_arg_str(given, "prop");
    if (fn == MK_AGG_MAX_IN_WINDOW)
        f->width = mk_arg_i64(given, "span");
    if (fn == MK_AGG_MAX_SESSION_SPAN)
        f->width = mk_arg_i64(given, "gap");
    if (f->width > out->t_b - out->t_a) /* the same by definition, and it keeps sums of times in range */
        f->width = out->t_b - out->t_a;
    for (size_t k = 0; k < i; k++)
        if (same_field(&out->fns[k], f))
            return fail_at(err, "aggregates", i, "two aggregates with the same name in the result",
                           "ask for one of them in a second call");
    return MK_OK;
}

/* ---- rules across arguments ---- */

static mk_code check_buckets(const mk_agg_args *args, bool has_buckets, bool has_stride, mk_err *err)
{
    if (!has_buckets)
        return has_stride ? fail_arg(err, "stride", "nothing is grouped by time_bucket",
                                     "leave it out, or add {\"dim\":\"time_bucket\"} to group_by")
                          : MK_OK;
    if (!has_stride)
        return fail_arg(err, "stride", "time_bucket needs a stride", "give one, in microseconds");
    const int64_t span = args->t_b - args->t_a;
    const int64_t buckets = (span - 1) / args->stride + 1;
    if (buckets <= MK_AGG_BUCKETS_MAX)
        return MK_OK;
    mk_fail(err, MK_E_LIMIT, "stride %lld makes %lld buckets, more than %d", (long long)args->stride,
            (long long)buckets, MK_AGG_BUCKETS_MAX);
    mk_err_hint(err, "use stride >= %lld", (long long)((span - 1) / MK_AGG_BUCKETS_MAX + 1));
    mk_err_extra(err, "\"limit\":\"buckets\",\"path\":[\"stride\"]", 35);
    return MK_E_LIMIT;
}

static mk_code check_periods(const mk_agg_args *args, const mk_agg_dim *dim, size_t i, mk_err *err)
{
    const int64_t periods = mk_agg_period(dim, args->t_b - 1) - mk_agg_period(dim, args->t_a) + 1;
    if (periods <= MK_AGG_BUCKETS_MAX)
        return MK_OK;
    mk_fail(err, MK_E_LIMIT, "group_by[%zu]: the window has %lld such periods, more than %d", i, (long long)periods,
            MK_AGG_BUCKETS_MAX);
    mk_err_hint(err, "take a longer period, or a shorter window");
    mk_err_extra(err, "\"limit\":\"buckets\",\"path\":[\"group_by\"]", 37);
    return MK_E_LIMIT;
}

/* Everything in the arguments that needs no store. Source: operators spec, 7.13.2. */
static mk_code read_shape(const mk_json *args, mk_agg_args *out, mk_err *err)
{
    const mk_json *window = mk_json_get(args, "window");
    const mk_json *dims = mk_json_get(args, "group_by"), *fns = mk_json_get(args, "aggregates");
    const bool has_stride = !mk_arg_is_null(args, "stride");
    bool has_buckets = false;
    mk_code rc;

    MK_TRY(rc, mk_validate_window(args, err));
    *out = (mk_agg_args){.t_a = mk_arg_i64(window, "t_a"), .t_b = mk_arg_i64(window, "t_b"),
                         .filter = mk_edge_filter_all, .dim_count = dims->n, .fn_count = fns->n};
    for (size_t i = 0; i < dims->n; i++) {
        MK_TRY(rc, read_dim(dims, i, out, err));
        has_buckets |= out->dims[i].kind == MK_DIM_TIME_BUCKET;
        if (out->dims[i].kind == MK_DIM_PERIOD)
            MK_TRY(rc, check_periods(out, &out->dims[i], i, err));
    }
    for (size_t i = 0; i < fns->n; i++)
        MK_TRY(rc, read_fn(fns, i, out, err));
    out->pair_mode = (mk_pair_mode)(choice(args, "pair_mode", pair_names) + 1);
    if (out->pair_mode != MK_PAIR_NONE && (out->dim_count != 2 || out->dims[0].kind != MK_DIM_SRC ||
                                           out->dims[1].kind != MK_DIM_DST)) {
        rc = fail_arg(err, "pair_mode", "group_by must be the endpoints src and dst, in this order",
                      "leave pair_mode out, or group by both endpoints");
        goto out;
    }
    if (has_stride)
        out->stride = mk_arg_i64(args, "stride");
    rc = check_buckets(out, has_buckets, has_stride, err);
out:
    return rc;
}

static mk_code validate_aggregate_events(const mk_json *args, mk_err *err)
{
    mk_agg_args shape;
    return read_shape(args, &shape, err);
}

/* ---- filters ---- */

/* Uids that nobody knows are ignored (oddity O-26). */
static mk_code read_cohort(const mk_run *run, mk_agg_args *out, mk_err *err)
{
    const mk_json *given = mk_json_get(run->args, "endpoint_filter");
    if (given == NULL || given->kind == MK_JSON_NULL)
        return MK_OK;
    const mk_json *uids = mk_json_get(given, "uids");
    const size_t words = mk_view_entity_count(run->view) / 64 + 1;
    uint64_t *bits = mk_arena_get0(run->arena, words * sizeof *bits);
    if (bits == NULL)
        return mk_fail_nomem(err);
    for (size_t i = 0; i < uids->n; i++) {
        const uint32_t id = mk_view_entity(run->view, uids->items[i].text);
        if (id != MK_NO_ID)
            bits[id / 64] |= UINT64_C(1) << (id % 64);
    }
    static const unsigned sides[] = {MK_SIDE_OUT, MK_SIDE_IN, MK_SIDE_OUT | MK_SIDE_IN};
    out->cohort = bits;
    out->cohort_sides = sides[choice(given, "role", cohort_names)];
    return MK_OK;
}

static void read_prop_filter(const mk_run *run, mk_agg_args *out)
{
    const mk_json *given = mk_json_get(run->args, "prop_filter");
    if (given == NULL || given->kind == MK_JSON_NULL)
        return;
    out->prop = mk_arg_str(given, "prop");
    out->cmp = (mk_agg_cmp)choice(given, "cmp", cmp_names);
    out->value = mk_json_get(given, "value");
}

/* ---- the payload ---- */

/* A member of the rows. Those of a dimension are one or two. */
typedef struct column {
    mk_str name;
    bool is_fn;
    bool is_end; /* `t_b` of a bucket */
    size_t index;
} column;

#define COLUMNS_MAX (MK_AGG_DIMS_MAX + 1 + MK_AGG_FNS_MAX) /* buckets have two, and occur once */

static mk_str fn_name(const mk_agg_fn *fn, mk_arena *arena)
{
    static const char *const prefix[] = {
        [MK_AGG_COUNT] = "count",     [MK_AGG_DISTINCT] = "distinct_",
        [MK_AGG_MIN] = "min_",        [MK_AGG_MAX] = "max_",
        [MK_AGG_MEAN] = "mean_",      [MK_AGG_MAX_GAP] = "max_gap",
        [MK_AGG_MAX_IN_WINDOW] = "max_in_window", [MK_AGG_MAX_SESSION_SPAN] = "max_session_span"};
    static const char *const suffix[] = {
        [MK_OF_NONE] = "",      [MK_OF_SRC] = "src",           [MK_OF_DST] = "dst",
        [MK_OF_VT_S] = "vt_s",  [MK_OF_DURATION] = "duration", [MK_OF_PROP] = "prop_"};
    const mk_str a = mk_str_of(prefix[fn->kind]), b = mk_str_of(suffix[fn->of]);
    char *text = mk_arena_get(arena, a.n + b.n + fn->prop.n + 1);
    if (text == NULL)
        return (mk_str){NULL, 0};
    memcpy(text, a.p, a.n);
    memcpy(text + a.n, b.p, b.n);
    if (fn->prop.n != 0)
        memcpy(text + a.n + b.n, fn->prop.p, fn->prop.n);
    return (mk_str){text, a.n + b.n + fn->prop.n};
}

/* Sorted by name, as canonical objects are. */
static mk_code make_columns(const mk_agg_args *args, mk_arena *arena, column *columns, size_t *count,
                            mk_err *err)
{
    static const char *const names[] = {
        [MK_DIM_TIME_BUCKET] = "t_a",       [MK_DIM_HOUR_OF_DAY] = "hour_of_day",
        [MK_DIM_DAY_OF_WEEK] = "day_of_week", [MK_DIM_MONTH_OF_YEAR] = "month_of_year",
        [MK_DIM_PERIOD] = "t_a",
        [MK_DIM_REL_TYPE] = "rel_type",     [MK_DIM_SRC] = "src", [MK_DIM_DST] = "dst",
        [MK_DIM_SRC_LABEL] = "src_label",   [MK_DIM_DST_LABEL] = "dst_label"};
    size_t n = 0;
    for (size_t d = 0; d < args->dim_count; d++) {
        columns[n++] = (column){.name = mk_str_of(names[args->dims[d].kind]), .index = d};
        if (has_bounds(&args->dims[d]))
            columns[n++] = (column){.name = MK_STR("t_b"), .is_end = true, .index = d};
    }
    for (size_t a = 0; a < args->fn_count; a++) {
        columns[n++] = (column){.name = fn_name(&args->fns[a], arena), .is_fn = true, .index = a};
        if (columns[n - 1].name.p == NULL)
            return mk_fail_nomem(err);
    }
    for (size_t i = 1; i < n; i++)
        for (size_t k = i; k > 0 && mk_str_cmp(columns[k].name, columns[k - 1].name) < 0; k--) {
            const column swap = columns[k];
            columns[k] = columns[k - 1];
            columns[k - 1] = swap;
        }
    *count = n;
    return MK_OK;
}

static void put_bucket_bound(mk_buf *text, const mk_agg_args *args, uint32_t bucket, bool end)
{
    int64_t t = args->t_a + (int64_t)bucket * args->stride;
    if (end && (__builtin_add_overflow(t, args->stride, &t) || t > args->t_b))
        t = args->t_b;
    mk_buf_i64(text, t);
}

/* Those of the calendar, wherever the window cuts. */
static void put_period_bound(mk_buf *text, const mk_agg_args *args, const mk_agg_dim *dim, uint32_t code, bool end)
{
    mk_buf_i64(text, mk_agg_period_start(dim, mk_agg_period(dim, args->t_a) + code + end));
}

static void put_dim(mk_run *run, const mk_agg_args *args, const column *c, uint32_t code)
{
    static const char *const days[] = {"Monday", "Tuesday",  "Wednesday", "Thursday",
                                       "Friday", "Saturday", "Sunday"};
    static const char *const months[] = {"January",   "February", "March",    "April",
                                         "May",       "June",     "July",     "August",
                                         "September", "October",  "November", "December"};
    mk_buf *text = &run->out->text;
    switch (args->dims[c->index].kind) {
    case MK_DIM_TIME_BUCKET: put_bucket_bound(text, args, code, c->is_end); break;
    case MK_DIM_PERIOD: put_period_bound(text, args, &args->dims[c->index], code, c->is_end); break;
    case MK_DIM_HOUR_OF_DAY: mk_buf_u64(text, code); break;
    case MK_DIM_DAY_OF_WEEK: mk_canon_string(text, mk_str_of(days[code])); break;
    case MK_DIM_MONTH_OF_YEAR: mk_canon_string(text, mk_str_of(months[code])); break;
    case MK_DIM_SRC:
    case MK_DIM_DST: mk_canon_string(text, mk_view_uid(run->view, code)); break;
    default:
        if (code == MK_NO_ID)
            mk_buf_z(text, "null");
        else
            mk_canon_string(text, mk_view_name(run->view, code));
        break;
    }
}

static void put_value(mk_run *run, const mk_agg_value *value)
{
    switch (value->kind) {
    case MK_AGG_NULL: mk_buf_z(&run->out->text, "null"); break;
    case MK_AGG_INT: mk_buf_i64(&run->out->text, value->i); break;
    case MK_AGG_BIG: mk_buf_str(&run->out->text, value->digits); break;
    case MK_AGG_FLOAT: mk_payload_float(run->out, value->d); break;
    }
}

static void put_row(mk_run *run, const mk_agg_args *args, const column *columns, size_t count,
                    const mk_agg_row *row)
{
    mk_buf *text = &run->out->text;
    for (size_t i = 0; i < count; i++) {
        const column *c = &columns[i];
        mk_buf_c(text, i == 0 ? '{' : ',');
        mk_canon_string(text, c->name);
        mk_buf_c(text, ':');
        if (c->is_fn)
            put_value(run, &row->value[c->index]);
        else
            put_dim(run, args, c, row->code[c->index]);
    }
    mk_buf_c(text, '}');
}

/* ---- what properties did not give ---- */

typedef struct coercion {
    mk_str prop;
    uint64_t count;
} coercion;

static void add_coercion(coercion *list, size_t *n, mk_str prop, uint64_t count)
{
    size_t at = 0;
    while (at < *n && mk_str_cmp(list[at].prop, prop) < 0)
        at++;
    if (at == *n || !mk_str_eq(list[at].prop, prop)) {
        memmove(&list[at + 1], &list[at], (*n - at) * sizeof *list);
        list[at] = (coercion){.prop = prop};
        (*n)++;
    }
    list[at].count += count;
}

/* The member `prop_coercion`, when a property is read (oddity O-4). */
static void put_coercion(mk_run *run, const mk_agg_args *args, const mk_agg_result *result)
{
    coercion list[MK_AGG_FNS_MAX + 1];
    size_t n = 0;
    if (args->value != NULL)
        add_coercion(list, &n, args->prop, result->skipped);
    for (size_t a = 0; a < args->fn_count; a++)
        if (args->fns[a].of == MK_OF_PROP)
            add_coercion(list, &n, args->fns[a].prop, result->unread[a]);
    if (n == 0)
        return;
    mk_payload_member_start(run->out, "prop_coercion");
    for (size_t i = 0; i < n; i++) {
        mk_buf_c(&run->out->text, i == 0 ? '{' : ',');
        mk_canon_string(&run->out->text, list[i].prop);
        mk_buf_c(&run->out->text, ':');
        mk_buf_u64(&run->out->text, list[i].count);
    }
    mk_buf_c(&run->out->text, '}');
}

/* Events that a rule of type left out of some number: those without a usable property, and open intervals
 * where durations are asked for. `shown` is what the number with the fewest rests on. */
static void note_excluded(mk_run *run, const mk_agg_args *args, const mk_agg_result *result)
{
    uint64_t most = 0;
    for (size_t a = 0; a < args->fn_count; a++)
        most = result->unread[a] > most ? result->unread[a] : most;
    if (most + result->skipped > 0)
        mk_payload_gap(run->out, "rows", MK_GAP_EXCLUDED, result->events - most,
                       result->events + result->skipped);
}

static mk_code write_groups(mk_run *run, const mk_agg_args *args, const mk_agg_result *result, mk_err *err)
{
    column columns[COLUMNS_MAX];
    size_t count = 0;
    const mk_code rc = make_columns(args, run->arena, columns, &count, err);
    if (rc != MK_OK)
        return rc;
    mk_payload_cursor(run->out, &result->span);
    put_coercion(run, args, result);
    mk_payload_list(run->out, "rows");
    for (size_t i = 0; i < result->span.end - result->span.start; i++) {
        mk_payload_item(run->out);
        put_row(run, args, columns, count, &result->rows[i]);
    }
    mk_payload_list_end(run->out);
    mk_payload_int(run->out, "rows_total", (int64_t)result->span.total);
    mk_payload_bool(run->out, "truncated", result->span.truncated);
    mk_payload_page_gaps(run->out, "rows", &result->span);
    note_excluded(run, args, result);
    return MK_OK;
}

/* ---- the call ---- */

/* Threads are a matter of speed: a call that cannot have them does without. */
static mk_pool *open_pool(const mk_run *run)
{
    mk_view_stats stats;
    mk_pool *pool = NULL;
    mk_view_get_stats(run->view, &stats);
    if (stats.edge_versions < SHARE_FROM || mk_pool_open(run->arena->alloc, 0, &pool, NULL) != MK_OK)
        return NULL;
    return pool;
}

static mk_code run_aggregate_events(mk_run *run, mk_err *err)
{
    mk_agg_args args = {.pool = NULL};
    mk_agg_result result;
    mk_code rc;

    MK_TRY(rc, read_shape(run->args, &args, err));
    MK_TRY(rc, mk_arg_rel_types(run, &args.filter, err));
    MK_TRY(rc, read_cohort(run, &args, err));
    read_prop_filter(run, &args);
    args.page = run->page;
    args.share_from = SHARE_FROM;
    args.pool = open_pool(run);
    MK_TRY(rc, mk_aggregate(run->view, run->arena, &args, run->guard, &result, err));
    rc = write_groups(run, &args, &result, err);

out:
    mk_pool_close(args.pool);
    return rc;
}

static void cost_aggregate_events(const mk_cost_input *in, mk_cost *out)
{
    out->rows_scanned_est = mk_cost_scan(in);
    mk_cost_time(in, 170.0, out);
}

/* ---- declaration ---- */

static const mk_arg dim_members[] = {
    {.name = "dim", .type = MK_ARG_ENUM, .required = true, .choices = dim_names,
     .doc = "What to group by."},
    {.name = "role", .type = MK_ARG_ENUM, .nullable = true, .choices = role_names,
     .doc = "endpoint and label: of which end."},
    {.name = "unit", .type = MK_ARG_ENUM, .nullable = true, .choices = unit_names,
     .doc = "calendar_unit: hour_of_day, day_of_week or month_of_year, which are cyclic: all Mondays are one. "
            "calendar_period: day, week, month, quarter or year, one group for each in the window."},
    {.name = "tz_offset_minutes", .type = MK_ARG_INTEGER, .nullable = true, .min = -1440, .max = 1440,
     .doc = "The calendar ones: local time minus UTC, in minutes."},
    {0},
};
static const mk_arg dim_arg = {.name = "dimension", .type = MK_ARG_OBJECT, .members = dim_members};

static const mk_arg fn_members[] = {
    {.name = "agg", .type = MK_ARG_ENUM, .required = true, .choices = fn_names,
     .doc = "What to compute of each group."},
    {.name = "of", .type = MK_ARG_ENUM, .nullable = true, .choices = of_names,
     .doc = "count_distinct: src or dst. min, max, mean: vt_s, duration or prop."},
    {.name = "prop", .type = MK_ARG_STRING, .nullable = true, .min = 1,
     .doc = "of: prop: which property; values that are no numbers are left out and counted."},
    {.name = "span", .type = MK_ARG_INTEGER, .nullable = true, .any_size = true, .min = 1,
     .max = INT64_MAX, .doc = "max_in_window: length of the sliding window, microseconds."},
    {.name = "gap", .type = MK_ARG_INTEGER, .nullable = true, .any_size = true, .min = 1,
     .max = INT64_MAX,
     .doc = "max_session_span: a session ends where nothing follows for longer, microseconds."},
    {0},
};
static const mk_arg fn_arg = {.name = "aggregate", .type = MK_ARG_OBJECT, .members = fn_members};

static const mk_arg prop_filter_members[] = {
    {.name = "prop", .type = MK_ARG_STRING, .required = true, .min = 1, .doc = "Which property."},
    {.name = "cmp", .type = MK_ARG_ENUM, .required = true, .choices = cmp_names,
     .doc = "How its value must compare with `value`."},
    {.name = "value", .type = MK_ARG_ANY, .required = true,
     .doc = "A number, a string or a boolean; events with a value of another class are left out."},
    {0},
};
static const mk_arg endpoint_filter_members[] = {
    {.name = "role", .type = MK_ARG_ENUM, .required = true, .choices = cohort_names,
     .doc = "Which end must be among `uids`."},
    {.name = "uids", .type = MK_ARG_LIST, .required = true, .max = 50000, .item = &mk_arg_text,
     .doc = "Unknown ones are ignored; an empty list keeps no event."},
    {0},
};

static const mk_arg args_aggregate_events[] = {
    {.name = "group_by", .type = MK_ARG_LIST, .required = true, .max = MK_AGG_DIMS_MAX,
     .item = &dim_arg, .doc = "Up to two dimensions; [] makes one group of everything."},
    {.name = "aggregates", .type = MK_ARG_LIST, .required = true, .min = 1, .max = MK_AGG_FNS_MAX,
     .item = &fn_arg, .doc = "One to four numbers about each group."},
    MK_ARG_WINDOW,
    {.name = "stride", .type = MK_ARG_INTEGER, .nullable = true, .min = 1, .max = INT64_MAX,
     .default_json = "null", .doc = "time_bucket: width of the buckets, microseconds; at most 2000 buckets."},
    MK_ARG_REL_TYPES,
    {.name = "prop_filter", .type = MK_ARG_OBJECT, .nullable = true, .members = prop_filter_members,
     .default_json = "null", .doc = "Only events with such a property."},
    {.name = "endpoint_filter", .type = MK_ARG_OBJECT, .nullable = true,
     .members = endpoint_filter_members, .default_json = "null",
     .doc = "Only events of certain entities."},
    {.name = "pair_mode", .type = MK_ARG_ENUM, .nullable = true, .choices = pair_names,
     .default_json = "null",
     .doc = "With group_by [endpoint src, endpoint dst]: undirected folds both directions into one "
            "group; reciprocal does so for pairs that occur both ways and drops the others."},
    MK_ARG_AS_OF,
    MK_ARG_LIMIT,
    MK_ARG_CURSOR,
    {0},
};

static mk_field_type column_type(const mk_agg_args *args, const column *c)
{
    if (c->is_fn)
        return args->fns[c->index].kind == MK_AGG_COUNT || args->fns[c->index].kind == MK_AGG_DISTINCT ? MK_FIELD_INTEGER
                                                                                                  : MK_FIELD_ANY;
    switch (args->dims[c->index].kind) {
    case MK_DIM_TIME_BUCKET:
    case MK_DIM_PERIOD: return MK_FIELD_TIME;
    case MK_DIM_HOUR_OF_DAY: return MK_FIELD_ANY;
    default: return MK_FIELD_STRING;
    }
}

/* From the two arguments that decide; the others may not be known yet. */
static bool row_members(const mk_json *json, mk_arena *arena, mk_field *members, size_t max)
{
    const mk_json *dims = mk_json_get(json, "group_by"), *fns = mk_json_get(json, "aggregates");
    mk_agg_args args = {.dim_count = dims->n, .fn_count = fns->n};
    column columns[COLUMNS_MAX];
    mk_code rc = MK_OK;
    size_t count = 0;
    for (size_t i = 0; rc == MK_OK && i < dims->n; i++)
        rc = read_dim(dims, i, &args, NULL);
    for (size_t i = 0; rc == MK_OK && i < fns->n; i++)
        rc = read_fn(fns, i, &args, NULL);
    if (rc != MK_OK || make_columns(&args, arena, columns, &count, NULL) != MK_OK || count + 1 > max)
        return false;
    for (size_t i = 0; i < count; i++) {
        char *name = mk_arena_get(arena, columns[i].name.n + 1);
        if (name == NULL)
            return false;
        memcpy(name, columns[i].name.p, columns[i].name.n);
        name[columns[i].name.n] = '\0';
        members[i] = (mk_field){.name = name, .type = column_type(&args, &columns[i])};
    }
    members[count] = (mk_field){0};
    return true;
}

/* The members of a row depend on the arguments, and some on names of properties, so the declaration names
 * none: a dimension gives t_a and t_b, hour_of_day, day_of_week, month_of_year, rel_type, src, dst,
 * src_label or dst_label; an aggregate count, distinct_src, min_vt_s, mean_duration, max_prop_NAME, ... */
static const mk_field group_row = {.name = "group", .type = MK_FIELD_OBJECT};
static const mk_field fields_aggregate_events[] = {
    MK_FIELD_ROWS(&group_row, "Groups: the columns of group_by in its order, then one member an aggregate."),
    MK_FIELD_ROWS_TOTAL,
    MK_FIELD_TRUNCATED("Whether rows follow this page."),
    MK_FIELD_CURSOR,
    {.name = "prop_coercion", .type = MK_FIELD_OBJECT, .optional = true,
     .doc = "When properties are read: for each, how often an event had no usable value, counted once by "
            "the filter and once by each aggregate."},
    {0},
};

const mk_operator mk_operator_aggregate_events = {
    .name = "aggregate_events",
    .group = "graph",
    .summary = "counts, extremes, means and sequences of events, by group",
    .help = "An event is an edge version whose valid time starts in the window; a correction that splits an "
            "interval makes several. Groups exist for keys that occur. Durations are over closed intervals. "
            "max_gap, max_in_window and max_session_span look at the event times of a group in order.",
    .example = "{\"aggregates\":[{\"agg\":\"count\"},{\"agg\":\"mean\",\"of\":\"duration\"}],"
               "\"group_by\":[{\"dim\":\"rel_type\"}],\"window\":{\"t_a\":0,\"t_b\":100}}",
    .args = args_aggregate_events,
    .fields = fields_aggregate_events,
    .row_members = row_members,
    .cost = cost_aggregate_events,
    .validate = validate_aggregate_events,
    .run = run_aggregate_events,
};

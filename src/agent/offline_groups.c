/* offline_groups.c — pairs, loops, days without events, hours and weekdays, shares. See offline_internal.h.
 * Layer: agent.
 *
 * What one aggregation by something else than one end of events answers. Each reader lists the words that it
 * understands; a word beyond them means another question. Source: agent spec, 18.9; questions spec, 3 and
 * 11. */
#include "agent/offline_steps.h"

#include <stdio.h>

#define B(c) MK_C(C_##c)
#define DAY_US INT64_C(86400000000)

typedef struct groups {
    mk_off *q;
    mk_steps steps;
    mk_buf said;
    uint64_t bits; /* of the question, words that say nothing aside */
    bool counts, yes;
} groups;

/* ---- words ---- */

static bool says(const mk_off *q, const char *words)
{
    for (size_t i = 0; i < q->count; i++)
        if (!q->tokens[i].used && mk_off__is_any(&q->tokens[i], words))
            return true;
    return false;
}

static bool only(const groups *g, uint64_t known) { return (g->bits & ~known) == 0; }

/* Neither names nor times that do not make a window. */
static bool is_plain(const mk_off *q)
{
    return q->name_count == 0 && q->instant_count == 0 && q->length_count == 0 && q->rel_count <= 1;
}

/* ---- steps ---- */

static void put_filters(groups *g, const char *cmp, int64_t value)
{
    const mk_off *q = g->q;
    mk_buf *out = &g->steps.text;
    if (q->rel_count != 0) {
        mk_buf_z(out, ",\"rel_types\":[");
        mk_canon_string(out, q->rels[0]);
        mk_buf_c(out, ']');
    }
    if (cmp != NULL) {
        mk_buf_z(out, ",\"prop_filter\":{\"prop\":");
        mk_canon_string(out, q->prop);
        mk_buf_printf(out, ",\"cmp\":\"%s\",\"value\":%lld}", cmp, (long long)value);
    }
}

static int put_aggregate(groups *g, const char *dims, const char *more, const char *cmp, int64_t value)
{
    const int step = mk_steps_open(&g->steps, "aggregate_events");
    mk_buf_printf(&g->steps.text, "\"group_by\":[%s],\"aggregates\":[{\"agg\":\"count\"}]%s", dims, more);
    put_filters(g, cmp, value);
    mk_steps_window(&g->steps, g->q, false);
    mk_steps_close(&g->steps, 0, 0);
    return step;
}

static int put_exists(groups *g, int step)
{
    return mk_steps_compute(&g->steps, step, 0,
                            "\"fn\":\"compare\",\"cmp\":\"gt\",\"x\":{\"$ref\":\"s%d.rows_total\"},\"y\":0",
                            step);
}

static mk_code finish(groups *g, const char *kind, int step, const char *member, bool *planned)
{
    if (g->q->rel_count != 0)
        mk_buf_printf(&g->said, ", only of type %.*s,", MK_STR_ARG(g->q->rels[0]));
    mk_off__say_times(g->q, &g->said);
    *planned = true;
    return mk_steps_plan(g->q, &g->steps, kind, step, member, &g->said);
}

#define PAIR_DIMS "{\"dim\":\"endpoint\",\"role\":\"src\"},{\"dim\":\"endpoint\",\"role\":\"dst\"}"

/* ---- events of one with itself ---- */

static mk_code loops(groups *g, bool *planned)
{
    const mk_off *q = g->q;
    const bool same_ends = (g->bits & B(SAME)) != 0 && says(q, "sender source rater giver") &&
                           says(q, "receiver recipient target rated");
    const bool self = (g->bits & B(SELF)) != 0 || same_ends;
    if (!self || !is_plain(q) || q->number_count != 0 ||
        !only(g, B(SAME) | B(SELF) | B(COUNT) | B(WHO) | B(DID) | B(EVENT) | B(SEND) | B(RECEIVE) | B(NODE) |
                     B(EXIST) | B(INVOLVED) | B(DISTINCT)))
        return MK_OK;
    const size_t count = mk_off__find(q, C_COUNT), node = mk_off__find(q, C_NODE),
                 event = mk_off__find(q, C_EVENT);
    const bool nodes = node < event || (!g->counts && !g->yes);
    const int pairs = put_aggregate(g, PAIR_DIMS, "", NULL, 0);
    const int same = mk_steps_compute(&g->steps, pairs, 0,
                                      "\"fn\":\"filter\",\"input\":{\"$ref\":\"s%d.rows\"},\"field\":\"src\","
                                      "\"cmp\":\"eq\",\"field2\":\"dst\"",
                                      pairs);
    if (g->yes) {
        mk_buf_z(&g->said, "Whether there are events whose source is their target too");
        return finish(g, "value", put_exists(g, same), "value", planned);
    }
    if (nodes) {
        mk_buf_printf(&g->said, "%s have events of which they are source and target",
                      g->counts ? "How many nodes" : "Which nodes");
        return finish(g, g->counts ? "count" : "entity_set", same, g->counts ? "rows_total" : "rows[*].src",
                      planned);
    }
    if (count == q->count)
        return MK_OK;
    const int sum = mk_steps_compute(
        &g->steps, same, 0, "\"fn\":\"sum\",\"input\":{\"$ref\":\"s%d.rows\"},\"field\":\"count\"", same);
    mk_buf_z(&g->said, "How many events have the same source and target");
    return finish(g, "count", sum, "value", planned);
}

/* ---- pairs ---- */

/* "exactly 3", "at least two", "only once": how often, by the number or the word for it. 0: it is not said;
 * -1: in a way that is not understood. */
static int how_often(const groups *g, const char **cmp, int64_t *n)
{
    const mk_off *q = g->q;
    int found = 0;
    for (size_t i = 0; i < q->count; i++) {
        const mk_token *t = &q->tokens[i];
        const bool once = !t->used && (mk_off__is_any(t, "once twice one"));
        const char *how = !t->used && (once || t->concept == C_NUMBER) ? mk_off__comparison(q, i) : NULL;
        if (how == NULL && (t->used || t->concept != C_NUMBER))
            continue;
        if (how == NULL)
            return -1;
        int64_t value = mk_off__is(t, "twice") ? 2 : 1;
        for (size_t k = 0; k < q->number_count; k++)
            if (q->number_tokens[k] == i)
                value = q->numbers[k];
        if (found != 0 && (strcmp(how, *cmp) != 0 || value != *n))
            return -1;
        *cmp = how;
        *n = value;
        found++;
    }
    return found != 0;
}

static mk_code pairs(groups *g, bool *planned)
{
    const mk_off *q = g->q;
    const char *cmp;
    int64_t n;
    if ((g->bits & B(PAIR)) == 0 || !g->counts || !is_plain(q) ||
        (g->bits & (B(POSITIVE) | B(NEGATIVE))) != 0)
        return MK_OK;
    const uint64_t plain = B(PAIR) | B(COUNT) | B(NODE) | B(DISTINCT) | B(EVENT) | B(SEND) | B(RECEIVE) |
                           B(EXIST) | B(INVOLVED) | B(NEIGHBOUR) | B(DID);
    const bool mutual = q->mutual || (g->bits & B(RECIPROCAL)) != 0 || (says(q, "each") && says(q, "other"));
    if (mutual && q->number_count == 0 && only(g, plain | B(RECIPROCAL) | B(EACH) | B(OTHER) | B(BOTH))) {
        const int both = put_aggregate(g, PAIR_DIMS, ",\"pair_mode\":\"reciprocal\"", NULL, 0);
        const int step = mk_steps_compute(&g->steps, both, 0, /* one with itself is no pair */
                                          "\"fn\":\"filter\",\"input\":{\"$ref\":\"s%d.rows\"},\"field\":"
                                          "\"src\",\"cmp\":\"ne\",\"field2\":\"dst\"",
                                          both);
        mk_buf_z(&g->said, "How many pairs of nodes, regardless of order, have events in both directions");
        return finish(g, "count", step, "rows_total", planned);
    }
    /* who sends and who receives has to be said; without order a pair could be two */
    const bool ordered = says(q, "sender source rater giver") && says(q, "receiver recipient target rated");
    if (mutual || !ordered || !only(g, plain | B(ONLY) | B(ONCE) | B(NUMBER) | B(ABOVE) | B(BELOW) | B(TIME)))
        return MK_OK;
    int step = put_aggregate(g, PAIR_DIMS, "", NULL, 0);
    mk_buf_z(&g->said, "How many ordered pairs of source and target have events");
    const int often = how_often(g, &cmp, &n);
    if (often < 0 || (often == 0 && (g->bits & (B(ONCE) | B(NUMBER) | B(ONLY))) != 0))
        return MK_OK;
    if (often > 0) {
        step = mk_steps_compute(&g->steps, step, 0,
                                "\"fn\":\"filter\",\"input\":{\"$ref\":\"s%d.rows\"},\"field\":\"count\","
                                "\"cmp\":\"%s\",\"value\":%lld",
                                step, cmp, (long long)n);
        mk_buf_printf(&g->said, ", their number being %s %lld", cmp, (long long)n);
    }
    return finish(g, "count", step, "rows_total", planned);
}

/* "Had A and B rated each other": an event in either direction, both. */
static mk_code each_other(groups *g, bool *planned)
{
    const mk_off *q = g->q;
    int sums[2];
    if (!g->yes || q->name_count != 2 || q->instant_count != 0 || q->length_count != 0 ||
        q->number_count != 0 || q->rel_count > 1 || !says(q, "each") || !says(q, "other") ||
        q->names[1].first != q->names[0].last + 2 || !mk_off__is(&q->tokens[q->names[0].last + 1], "and") ||
        !only(g, B(DID) | B(EVENT) | B(SEND) | B(EACH) | B(OTHER) | B(BOTH)) ||
        ((g->bits & (B(EVENT) | B(SEND))) == 0 && q->rel_count == 0))
        return MK_OK;
    for (int i = 0; i < 2; i++) {
        const int from = mk_steps_open(&g->steps, "aggregate_events");
        mk_buf_z(&g->steps.text, "\"group_by\":[{\"dim\":\"endpoint\",\"role\":\"dst\"}],\"aggregates\":[{"
                                 "\"agg\":\"count\"}],\"endpoint_filter\":{\"role\":\"src\",\"uids\":[");
        mk_canon_string(&g->steps.text, q->names[i].uid);
        mk_buf_z(&g->steps.text, "]}");
        put_filters(g, NULL, 0);
        mk_steps_window(&g->steps, q, false);
        mk_steps_close(&g->steps, 0, 0);
        const int these = mk_steps_open(&g->steps, "compute");
        mk_buf_printf(
            &g->steps.text,
            "\"fn\":\"filter\",\"input\":{\"$ref\":\"s%d.rows\"},\"field\":\"dst\",\"cmp\":\"eq\",\"value\":",
            from);
        mk_canon_string(&g->steps.text, q->names[1 - i].uid);
        mk_steps_close(&g->steps, from, 0);
        sums[i] =
            mk_steps_compute(&g->steps, these, 0,
                             "\"fn\":\"sum\",\"input\":{\"$ref\":\"s%d.rows\"},\"field\":\"count\"", these);
    }
    const int least = mk_steps_compute(
        &g->steps, sums[0], sums[1],
        "\"fn\":\"min\",\"input\":[{\"$ref\":\"s%d.value\"},{\"$ref\":\"s%d.value\"}]", sums[0], sums[1]);
    const int step =
        mk_steps_compute(&g->steps, least, 0,
                         "\"fn\":\"compare\",\"cmp\":\"gt\",\"x\":{\"$ref\":\"s%d.value\"},\"y\":0", least);
    mk_buf_printf(&g->said, "Whether there is an event from %.*s to %.*s and one back",
                  MK_STR_ARG(q->names[0].uid), MK_STR_ARG(q->names[1].uid));
    return finish(g, "value", step, "value", planned);
}

/* ---- days without events ---- */

static mk_code silent_days(groups *g, bool *planned)
{
    mk_off *q = g->q;
    const bool zero =
        (q->number_count == 1 && q->numbers[0] == 0) || (q->number_count == 0 && (g->bits & B(NOT)) != 0);
    if (!zero || !says(q, "day days") || !is_plain(q) || !q->has_extent || !(g->counts || g->yes) ||
        q->rel_count != 0 || (g->bits & B(EVENT)) == 0 ||
        !only(g, B(PERIOD) | B(COUNT) | B(DID) | B(EVENT) | B(SEND) | B(NOT) | B(NUMBER) | B(EXIST) |
                     B(INVOLVED) | B(RECEIVE)))
        return MK_OK;
    const int64_t lo = q->has_window ? q->t_a : q->vt_min, hi = q->has_window ? q->t_b : q->vt_max;
    q->has_window = true; /* whole days */
    q->t_a = lo - lo % DAY_US;
    q->t_b = hi + (DAY_US - hi % DAY_US) % DAY_US;
    const int series = mk_steps_open(&g->steps, "graph_metric_timeseries");
    mk_buf_printf(&g->steps.text, "\"metric\":\"edge_event_count\",\"stride\":%lld", (long long)DAY_US);
    mk_steps_window(&g->steps, q, false);
    mk_steps_close(&g->steps, 0, 0);
    const int step = mk_steps_compute(
        &g->steps, series, 0,
        "\"fn\":\"filter\",\"input\":{\"$ref\":\"s%d.rows\"},\"field\":\"value\",\"cmp\":\"eq\",\"value\":0",
        series);
    mk_buf_printf(&g->said, "%s days (UTC) without any event", g->yes ? "Whether there are" : "How many");
    return g->yes ? finish(g, "value", put_exists(g, step), "value", planned)
                  : finish(g, "count", step, "rows_total", planned);
}

/* ---- weekdays, hours of the day, months of the year ---- */

/* All the groups there can be must be there, or the least would be one of those that are not; and the best
 * must be alone. */
static mk_code is_unique(groups *g, const char *unit, size_t all, bool least, bool *unique)
{
    const mk_json *rows;
    mk_arena scratch;
    mk_buf args;
    mk_code rc;
    *unique = false;
    mk_arena_init(&scratch, g->q->arena->alloc);
    mk_buf_init(&args, g->q->arena->alloc);
    mk_buf_printf(
        &args,
        "{\"group_by\":[{\"dim\":\"calendar_unit\",\"unit\":\"%s\"}],\"aggregates\":[{\"agg\":\"count\"}]",
        unit);
    if (g->q->rel_count != 0) {
        mk_buf_z(&args, ",\"rel_types\":[");
        mk_canon_string(&args, g->q->rels[0]);
        mk_buf_c(&args, ']');
    }
    mk_off__put_window(g->q, &args);
    mk_buf_c(&args, '}');
    MK_TRY(rc, mk_buf_done(&args, g->q->err));
    MK_TRY(rc, mk_off__aggregate(g->q, mk_buf_view(&args), &scratch, &rows));
    int64_t best = 0;
    size_t equal = 0;
    for (size_t i = 0; rows != NULL && i < rows->n; i++) {
        const int64_t n = mk_json_get(&rows->items[i], "count")->i;
        if (i == 0 || (least ? n < best : n > best)) {
            best = n;
            equal = 0;
        }
        equal += n == best;
    }
    *unique = rows != NULL && equal == 1 && (!least || rows->n == all);
out:
    mk_buf_free(&args);
    mk_arena_free(&scratch);
    return rc;
}

static mk_code busiest_unit(groups *g, bool *planned)
{
    mk_off *q = g->q;
    static const struct {
        const char *words[4], *one, *unit;
        size_t all;
    } units[] = {{{"day", "of", "week", NULL}, "weekday", "day_of_week", 7},
                 {{"hour", "of", "day", NULL}, "", "hour_of_day", 24},
                 {{"month", "of", "year", NULL}, "", "month_of_year", 12}};
    const bool least = (g->bits & B(LEAST)) != 0;
    bool unique = false;
    size_t found = 3;
    mk_code rc;
    for (size_t u = 0; u < 3; u++)
        for (size_t i = 0; i < q->count; i++) {
            size_t k = i, w = 0;
            for (; k < q->count && units[u].words[w] != NULL; k++)
                if (mk_off__is(&q->tokens[k], units[u].words[w]))
                    w++;
                else if (!mk_off__is(&q->tokens[k], "the"))
                    break;
            if (units[u].words[w] == NULL ||
                (units[u].one[0] != '\0' && mk_off__is(&q->tokens[i], units[u].one)))
                found = u;
        }
    if (found == 3 || !is_plain(q) || q->number_count != 0 || least == ((g->bits & B(MOST)) != 0) ||
        !only(g, B(PERIOD) | B(MOST) | B(LEAST) | B(EVENT) | B(SEND) | B(COUNT) | B(TOTAL) | B(INVOLVED) |
                     B(EXIST) | B(RECEIVE)) ||
        (g->bits & B(EVENT)) == 0)
        return MK_OK;
    MK_TRY(rc, is_unique(g, units[found].unit, units[found].all, least, &unique));
    if (!unique)
        return mk_off__missing(q, "a unique answer: several are equal, or some have no event at all");
    char dims[80];
    snprintf(dims, sizeof dims, "{\"dim\":\"calendar_unit\",\"unit\":\"%s\"}", units[found].unit);
    const int counts = put_aggregate(g, dims, "", NULL, 0);
    const int step = mk_steps_compute(
        &g->steps, counts, 0,
        "\"fn\":\"topk\",\"input\":{\"$ref\":\"s%d.rows\"},\"field\":\"count\",\"k\":1,\"side\":\"%s\"",
        counts, least ? "bottom" : "top");
    mk_buf_printf(&g->said, "Which %s (UTC) has the %s events", units[found].unit, least ? "fewest" : "most");
    snprintf(dims, sizeof dims, "rows[0].%s", units[found].unit);
    rc = finish(g, "value", step, dims, planned);
out:
    return rc;
}

/* ---- what part of the events ---- */

static mk_code share(groups *g, bool *planned)
{
    mk_off *q = g->q;
    const bool positive = (g->bits & B(POSITIVE)) != 0, percent = says(q, "percentage percent");
    if ((g->bits & B(SHARE)) == 0 || positive == ((g->bits & B(NEGATIVE)) != 0) || q->prop.n == 0 ||
        !is_plain(q) || q->rel_count != 0 ||
        !(q->number_count == 0 || (q->number_count == 1 && q->numbers[0] == 0)) ||
        !says(q, "percentage percent share fraction proportion") ||
        !only(g, B(SHARE) | B(EVENT) | B(POSITIVE) | B(NEGATIVE) | B(ABOVE) | B(BELOW) | B(NUMBER) | B(SEND) |
                     B(VALUE) | B(EXIST)))
        return MK_OK;
    const int part = put_aggregate(g, "", "", positive ? "gt" : "lt", 0),
              whole = put_aggregate(g, "", "", NULL, 0);
    int sums[2];
    for (int i = 0; i < 2; i++)
        sums[i] = mk_steps_compute(&g->steps, i ? whole : part, 0,
                                   "\"fn\":\"sum\",\"input\":{\"$ref\":\"s%d.rows\"},\"field\":\"count\"",
                                   i ? whole : part);
    const int step =
        mk_steps_compute(&g->steps, sums[0], sums[1],
                         "\"fn\":\"%s\",\"x\":{\"$ref\":\"s%d.value\"},\"y\":{\"$ref\":\"s%d.value\"}",
                         percent ? "percent" : "ratio", sums[0], sums[1]);
    mk_buf_printf(&g->said, "What %s of all events have a %.*s %s 0", percent ? "percentage" : "part",
                  MK_STR_ARG(q->prop), positive ? "above" : "below");
    return finish(g, "value", step, "value", planned);
}

/* ---- who gives or gets the highest on average, perhaps among those with enough events ---- */

/* The direction of the verbs, which must agree: "gave", "rated" make sources; 0: they do not, or there is
 * none. */
static int direction(const mk_off *q)
{
    int found = 0;
    for (size_t i = 0; i < q->count; i++) {
        const mk_token *t = &q->tokens[i];
        const bool passive = i > 0 && mk_off__is_any(&q->tokens[i - 1], "was were is are been being");
        const int here = t->used ? 0 : t->concept == C_SEND || (mk_off__is_event_verb(t) && !passive) ? 1
                         : t->concept == C_RECEIVE || mk_off__is_event_verb(t) ? -1 : 0;
        if (here != 0 && found != 0 && here != found)
            return 0;
        found = here != 0 ? here : found;
    }
    return found;
}

static mk_code is_alone(groups *g, const char *end, const char *column, const char *cmp, int64_t n,
                        bool least, bool *alone)
{
    const mk_json *rows;
    mk_arena scratch;
    mk_buf args;
    mk_code rc;
    double best = 0;
    size_t equal = 0;
    *alone = false;
    mk_arena_init(&scratch, g->q->arena->alloc);
    mk_buf_init(&args, g->q->arena->alloc);
    mk_buf_printf(&args,
                  "{\"group_by\":[{\"dim\":\"endpoint\",\"role\":\"%s\"}],\"aggregates\":[{\"agg\":\"count\"}"
                  ",{\"agg\":\"mean\",\"of\":\"prop\",\"prop\":",
                  end);
    mk_canon_string(&args, g->q->prop);
    mk_buf_z(&args, "}]");
    mk_off__put_window(g->q, &args);
    mk_buf_c(&args, '}');
    MK_TRY(rc, mk_buf_done(&args, g->q->err));
    MK_TRY(rc, mk_off__aggregate(g->q, mk_buf_view(&args), &scratch, &rows));
    for (size_t i = 0; rows != NULL && i < rows->n; i++) {
        const mk_json *count = mk_json_get(&rows->items[i], "count"),
                      *mean = mk_json_get(&rows->items[i], column);
        const bool enough = cmp == NULL || (strcmp(cmp, "ge") == 0 ? count->i >= n : count->i > n);
        if (!enough || mean == NULL || (mean->kind != MK_JSON_INT && mean->kind != MK_JSON_FLOAT))
            continue;
        const double v = mean->kind == MK_JSON_INT ? (double)mean->i : mean->d;
        if (equal == 0 || (least ? v < best : v > best)) {
            best = v;
            equal = 0;
        }
        equal += v == best;
    }
    *alone = equal == 1;
out:
    mk_buf_free(&args);
    mk_arena_free(&scratch);
    return rc;
}

static mk_code best_average(groups *g, bool *planned)
{
    mk_off *q = g->q;
    const bool least = (g->bits & B(LEAST)) != 0,
               asks = !g->counts && !g->yes && (mk_off__concepts(q) & (B(WHICH) | B(WHO))) != 0;
    const int way = direction(q);
    const char *cmp = NULL, *end = way > 0 ? "src" : "dst";
    char dims[80], column[100];
    int64_t n = 0;
    bool alone = false;
    mk_code rc;
    if ((g->bits & B(AVERAGE)) == 0 || q->prop.n == 0 || q->prop.n > 60 || !asks || way == 0 ||
        !is_plain(q) || q->rel_count != 0 || least == ((g->bits & B(MOST)) != 0) ||
        (g->bits & (B(NODE) | B(WHO))) == 0 ||
        !only(g, B(AVERAGE) | B(MOST) | B(LEAST) | B(NODE) | B(WHO) | B(EVENT) | B(SEND) | B(RECEIVE) |
                     B(OTHER) | B(ONLY) | B(NUMBER) | B(ABOVE) | B(VALUE) | B(COUNT)))
        return MK_OK;
    const bool among = says(q, "considering among amongst");
    if (among != (q->number_count == 1) || ((g->bits & B(ONLY)) != 0 && !among))
        return MK_OK;
    if (among && (how_often(g, &cmp, &n) <= 0 || (strcmp(cmp, "ge") != 0 && strcmp(cmp, "gt") != 0)))
        return MK_OK;
    snprintf(column, sizeof column, "mean_prop_%.*s", MK_STR_ARG(q->prop));
    MK_TRY(rc, is_alone(g, end, column, cmp, n, least, &alone));
    if (!alone)
        return mk_off__missing(q, "a unique answer: several have the same average");
    snprintf(dims, sizeof dims, "{\"dim\":\"endpoint\",\"role\":\"%s\"}", end);
    int step = mk_steps_open(&g->steps, "aggregate_events");
    mk_buf_printf(
        &g->steps.text,
        "\"group_by\":[%s],\"aggregates\":[{\"agg\":\"count\"},{\"agg\":\"mean\",\"of\":\"prop\",\"prop\":",
        dims);
    mk_canon_string(&g->steps.text, q->prop);
    mk_buf_z(&g->steps.text, "}]");
    mk_steps_window(&g->steps, q, false);
    mk_steps_close(&g->steps, 0, 0);
    if (cmp != NULL)
        step = mk_steps_compute(&g->steps, step, 0,
                                "\"fn\":\"filter\",\"input\":{\"$ref\":\"s%d.rows\"},\"field\":\"count\","
                                "\"cmp\":\"%s\",\"value\":%lld",
                                step, cmp, (long long)n);
    step = mk_steps_compute(
        &g->steps, step, 0,
        "\"fn\":\"topk\",\"input\":{\"$ref\":\"s%d.rows\"},\"field\":\"%s\",\"k\":1,\"side\":\"%s\"", step,
        column, least ? "bottom" : "top");
    mk_buf_printf(&g->said, "Which node %s events with the %s mean %.*s",
                  way > 0 ? "is source of" : "is target of", least ? "lowest" : "highest",
                  MK_STR_ARG(q->prop));
    if (cmp != NULL)
        mk_buf_printf(&g->said, ", of those with %s %lld events", cmp[1] == 'e' ? "at least" : "more than",
                      (long long)n);
    rc = finish(g, "entity_set", step, way > 0 ? "rows[*].src" : "rows[*].dst", planned);
out:
    return rc;
}

/* ---- reading ---- */

mk_code mk_off__groups(mk_off *q, bool *planned)
{
    static mk_code (*const readers[])(groups *, bool *) = {loops,        pairs, each_other,  silent_days,
                                                           busiest_unit, share, best_average};
    const uint64_t quiet = B(STOP) | B(EVER) | B(WHICH) | B(TIME) | (q->has_belief ? B(BELIEF) | B(NOW) : 0);
    const size_t missing = q->out->missing_count;
    mk_code rc = MK_OK;
    *planned = false;
    for (size_t i = 0; i < sizeof readers / sizeof *readers && rc == MK_OK && !*planned &&
                       q->out->missing_count == missing && q->count != 0;
         i++) {
        groups g = {.q = q, .bits = mk_off__concepts(q) & ~quiet};
        g.counts = (g.bits & B(COUNT)) != 0;
        g.yes = q->tokens[0].concept == C_DID;
        mk_steps_init(&g.steps, q->arena->alloc);
        mk_buf_init(&g.said, q->arena->alloc);
        rc = readers[i](&g, planned);
        mk_steps_free(&g.steps);
        mk_buf_free(&g.said);
    }
    return rc;
}

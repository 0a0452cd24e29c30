/* oracle_aggregate_events.c — aggregate_events by lists, strings and schoolbook arithmetic.
 *
 * Groups are found by comparing texts, sets by comparing every two, means by adding on paper.
 * Source: operators spec, 7.13. */
#include "oracle.h"
#include "oracle_paper.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/num.h"

enum { DIMS = 2, AGGS = 4 };

static bool is(mk_str text, const char *word) { return mk_str_eq(text, mk_str_of(word)); }

static const char *pick(const oracle_world *world, const char *const *words, size_t n)
{
    return words[genops_below(world->gen, n)];
}
#define PICK(world, words) pick((world), (words), sizeof(words) / sizeof *(words))

/* ---- arguments ---- */

static const char *const props[] = {"w", "w", "w", "name", "\u00e9", "none"};

/* Dimensions and aggregates that go together in every choice, as texts without the last brace. */
static const char *const dim_texts[] = {
    "{\"dim\":\"time_bucket\"",
    "{\"dim\":\"calendar_unit\",\"unit\":\"hour_of_day\"",
    "{\"dim\":\"calendar_unit\",\"unit\":\"day_of_week\"",
    "{\"dim\":\"calendar_unit\",\"unit\":\"month_of_year\"",
    "{\"dim\":\"rel_type\"",
    "{\"dim\":\"endpoint\",\"role\":\"src\"",
    "{\"dim\":\"endpoint\",\"role\":\"dst\"",
    "{\"dim\":\"label\",\"role\":\"src\"",
    "{\"dim\":\"label\",\"role\":\"dst\""};
static const char *const agg_texts[] = {
    "{\"agg\":\"count\"",
    "{\"agg\":\"count_distinct\",\"of\":\"src\"",
    "{\"agg\":\"count_distinct\",\"of\":\"dst\"",
    "{\"agg\":\"min\",\"of\":\"vt_s\"",
    "{\"agg\":\"max\",\"of\":\"vt_s\"",
    "{\"agg\":\"mean\",\"of\":\"vt_s\"",
    "{\"agg\":\"min\",\"of\":\"duration\"",
    "{\"agg\":\"max\",\"of\":\"duration\"",
    "{\"agg\":\"mean\",\"of\":\"duration\"",
    "{\"agg\":\"min\",\"of\":\"prop\"",
    "{\"agg\":\"max\",\"of\":\"prop\"",
    "{\"agg\":\"mean\",\"of\":\"prop\"",
    "{\"agg\":\"max_gap\"",
    "{\"agg\":\"max_in_window\"",
    "{\"agg\":\"max_session_span\""};
enum {
    DIM_COUNT = sizeof dim_texts / sizeof *dim_texts,
    AGG_COUNT = sizeof agg_texts / sizeof *agg_texts
};

/* Mistakes are made on purpose, but seldom. */
static bool slip(const oracle_world *world) { return genops_below(world->gen, 200) == 0; }

static void gen_dim(const oracle_world *world, const char *dim, mk_buf *out)
{
    const bool calendar = strstr(dim, "calendar") != NULL;
    mk_buf_z(out, dim);
    if ((calendar && genops_chance(world->gen, 60)) || slip(world))
        mk_buf_printf(out, ",\"tz_offset_minutes\":%d", (int)genops_below(world->gen, 2881) - 1440);
    else if (genops_chance(world->gen, 10))
        mk_buf_z(out, ",\"tz_offset_minutes\":null");
    if (!calendar && slip(world))
        mk_buf_z(out, ",\"unit\":\"hour_of_day\"");
    if (strstr(dim, "role") == NULL && slip(world))
        mk_buf_z(out, ",\"role\":\"src\"");
    mk_buf_c(out, '}');
}

static void gen_agg(const oracle_world *world, const char *agg, mk_buf *out)
{
    mk_buf_z(out, agg);
    if (strstr(agg, "\"of\"") == NULL && slip(world))
        mk_buf_z(out, ",\"of\":\"vt_s\"");
    if ((strstr(agg, "prop") != NULL) != slip(world))
        mk_buf_printf(out, ",\"prop\":\"%s\"", PICK(world, props));
    if ((strstr(agg, "in_window") != NULL) != slip(world))
        mk_buf_printf(out, ",\"span\":%llu", (unsigned long long)(1 + genops_below(world->gen, 30)));
    if ((strstr(agg, "session") != NULL) != slip(world))
        mk_buf_z(out, genops_chance(world->gen, 5) ? ",\"gap\":99999999999999999999" : ",\"gap\":3");
    mk_buf_c(out, '}');
}

static void gen_filters(const oracle_world *world, mk_buf *out)
{
    static const char *const cmps[] = {"eq", "ne", "lt", "le", "gt", "ge"};
    static const char *const literals[] = {"1", "1.0", "0", "-0.0", "1.5", "0.1", "\"Ann\"", "\"\"", "true",
                                           "false", "null", "[]", "9007199254740993", "9007199254740992.0",
                                           "123456789012345678901234567890", "\"\\u0001\\n\\\\\""};
    static const char *const roles[] = {"src", "dst", "either"};
    if (genops_chance(world->gen, 35)) {
        mk_buf_printf(out, ",\"prop_filter\":{\"prop\":\"%s\",\"cmp\":\"%s\",\"value\":",
                      PICK(world, props), PICK(world, cmps));
        mk_buf_printf(out, "%s}", PICK(world, literals));
    }
    if (genops_chance(world->gen, 30)) {
        mk_buf_printf(out, ",\"endpoint_filter\":{\"role\":\"%s\",\"uids\":", PICK(world, roles));
        if (genops_chance(world->gen, 10))
            mk_buf_z(out, "[]");
        else
            oracle_gen_uids(world, 3, out);
        mk_buf_c(out, '}');
    }
    if (genops_chance(world->gen, 30)) {
        mk_buf_z(out, ",\"rel_types\":");
        oracle_gen_rel_types(world, out);
    }
}

static void args(const oracle_world *world, mk_buf *out)
{
    const bool pairs = genops_chance(world->gen, 20);
    const uint64_t dim_count = pairs ? 2 : genops_below(world->gen, 3);
    const uint64_t agg_count = 1 + genops_below(world->gen, AGGS);
    const uint64_t first = genops_below(world->gen, AGG_COUNT);
    uint64_t dim = pairs ? 5 : genops_below(world->gen, DIM_COUNT);
    bool buckets = false;
    mk_buf_z(out, "{\"group_by\":[");
    for (uint64_t d = 0; d < dim_count; d++) {
        mk_buf_z(out, d > 0 ? "," : "");
        gen_dim(world, dim_texts[dim], out);
        buckets |= dim == 0;
        if (!slip(world))
            dim = pairs ? 6 : (dim + 1 + genops_below(world->gen, DIM_COUNT - 1)) % DIM_COUNT;
    }
    mk_buf_z(out, "],\"aggregates\":[");
    for (uint64_t a = 0; a < agg_count; a++) { /* 7 has no factor in common with 15 */
        mk_buf_z(out, a > 0 ? "," : "");
        gen_agg(world, agg_texts[slip(world) ? first : (first + 7 * a) % AGG_COUNT], out);
    }
    mk_buf_z(out, "],\"window\":");
    oracle_gen_window(world, out);
    if (buckets != slip(world))
        mk_buf_printf(out, ",\"stride\":%llu", (unsigned long long)(1 + genops_below(world->gen, 20)));
    if (pairs || slip(world))
        mk_buf_z(out, genops_chance(world->gen, 50) ? ",\"pair_mode\":\"undirected\""
                                                    : ",\"pair_mode\":\"reciprocal\"");
    gen_filters(world, out);
    oracle_gen_as_of(world, out);
    oracle_gen_page(world, true, out);
    mk_buf_c(out, '}');
}

/* ---- rules (7.13.2) ---- */

static mk_str member(const mk_json *object, const char *name) { return oracle_text(object, name); }

static bool dim_is_wrong(const mk_json *dims, size_t i)
{
    const mk_json *d = &dims->items[i];
    const mk_str dim = member(d, "dim");
    const bool calendar = is(dim, "calendar_unit");
    const bool ended = is(dim, "endpoint") || is(dim, "label");
    if (!calendar && (!oracle_is_null(d, "unit") || !oracle_is_null(d, "tz_offset_minutes")))
        return true;
    if ((calendar && oracle_is_null(d, "unit")) || ended == oracle_is_null(d, "role"))
        return true;
    for (size_t k = 0; k < i; k++) {
        const mk_json *e = &dims->items[k];
        if (mk_str_eq(member(e, "dim"), dim) && mk_str_eq(member(e, "role"), member(d, "role")) &&
            mk_str_eq(member(e, "unit"), member(d, "unit")))
            return true;
    }
    return false;
}

static void field_name(const mk_json *agg, mk_buf *out)
{
    const mk_str name = member(agg, "agg");
    if (is(name, "count_distinct"))
        mk_buf_z(out, "distinct");
    else
        mk_buf_str(out, name);
    if (oracle_is_null(agg, "of"))
        return;
    mk_buf_c(out, '_');
    mk_buf_str(out, member(agg, "of"));
    if (!oracle_is_null(agg, "prop")) {
        mk_buf_c(out, '_');
        mk_buf_str(out, member(agg, "prop"));
    }
}

static bool agg_is_wrong(const mk_json *agg)
{
    const mk_str name = member(agg, "agg"), of = member(agg, "of");
    const bool column = is(name, "min") || is(name, "max") || is(name, "mean");
    if (is(of, "prop") == oracle_is_null(agg, "prop"))
        return true;
    if (is(name, "max_in_window") == oracle_is_null(agg, "span") ||
        is(name, "max_session_span") == oracle_is_null(agg, "gap"))
        return true;
    if (is(name, "count_distinct"))
        return !is(of, "src") && !is(of, "dst");
    if (column)
        return !is(of, "vt_s") && !is(of, "duration") && !is(of, "prop");
    return !oracle_is_null(agg, "of");
}

static bool names_repeat(const mk_json *aggs)
{
    mk_buf x, y;
    bool repeat = false;
    mk_buf_init(&x, &mk_alloc_default);
    mk_buf_init(&y, &mk_alloc_default);
    for (size_t i = 0; i < aggs->n; i++)
        for (size_t k = 0; k < i; k++) {
            mk_buf_clear(&x);
            mk_buf_clear(&y);
            field_name(&aggs->items[i], &x);
            field_name(&aggs->items[k], &y);
            repeat |= mk_str_eq(mk_buf_view(&x), mk_buf_view(&y));
        }
    mk_buf_free(&x);
    mk_buf_free(&y);
    return repeat;
}

static mk_code fault(const mk_json *given)
{
    const mk_json *window = mk_json_get(given, "window");
    const mk_json *dims = mk_json_get(given, "group_by"), *aggs = mk_json_get(given, "aggregates");
    const int64_t t_a = oracle_int(window, "t_a", 0), t_b = oracle_int(window, "t_b", 0);
    const int64_t stride = oracle_int(given, "stride", 0);
    bool buckets = false, wrong = t_a >= t_b || names_repeat(aggs);
    for (size_t d = 0; d < dims->n; d++) {
        wrong |= dim_is_wrong(dims, d);
        buckets |= is(member(&dims->items[d], "dim"), "time_bucket");
    }
    for (size_t a = 0; a < aggs->n; a++)
        wrong |= agg_is_wrong(&aggs->items[a]);
    const bool both = dims->n == 2 && is(member(&dims->items[0], "dim"), "endpoint") &&
                      is(member(&dims->items[0], "role"), "src") &&
                      is(member(&dims->items[1], "dim"), "endpoint") &&
                      is(member(&dims->items[1], "role"), "dst");
    wrong |= !oracle_is_null(given, "pair_mode") && !both;
    if (wrong || (buckets && stride == 0) || (!buckets && stride != 0))
        return MK_E_INVALID_ARG;
    return buckets && ((t_b - t_a) - 1) / stride + 1 > 2000 ? MK_E_LIMIT : MK_OK;
}

/* ---- population (7.13.3) ---- */

typedef struct event {
    const model_row *row;
    mk_str src, dst; /* folded under a pair mode */
    const mk_json *props;
} event;

static bool listed(const mk_json *uids, mk_str uid)
{
    for (size_t i = 0; i < uids->n; i++)
        if (mk_str_eq(uids->items[i].text, uid))
            return true;
    return false;
}

static bool in_cohort(const mk_json *filter, const model_row *row)
{
    if (filter == NULL || filter->kind == MK_JSON_NULL)
        return true;
    const mk_json *uids = mk_json_get(filter, "uids");
    const mk_str role = member(filter, "role");
    const bool src = listed(uids, row->src), dst = listed(uids, row->dst);
    return is(role, "src") ? src : is(role, "dst") ? dst : src || dst;
}

static bool is_number(const mk_json *v)
{
    return v != NULL && (v->kind == MK_JSON_INT || v->kind == MK_JSON_FLOAT);
}

/* A long double of the x86 kind holds every int64 and every double, so comparing those is exact. Larger
 * integers occur in one size only, far from all else. */
static long double real(const mk_json *v)
{
    if (v->kind == MK_JSON_FLOAT)
        return v->d;
    return v->b ? mk_double_parse(v->text) : (long double)v->i;
}

static bool holds(mk_str cmp, int order)
{
    return is(cmp, "eq")   ? order == 0
           : is(cmp, "ne") ? order != 0
           : is(cmp, "lt") ? order < 0
           : is(cmp, "le") ? order <= 0
           : is(cmp, "gt") ? order > 0
                           : order >= 0;
}

/* True when the comparison is defined; *keep says whether it holds. */
static bool compares(const mk_json *filter, const mk_json *v, bool *keep)
{
    const mk_json *literal = mk_json_get(filter, "value");
    int order;
    if (v == NULL)
        return false;
    if (is_number(v) && is_number(literal)) {
        const long double a = real(v), b = real(literal);
        order = (a > b) - (a < b);
    } else if (v->kind == MK_JSON_STRING && literal->kind == MK_JSON_STRING) {
        order = mk_str_cmp(v->text, literal->text);
    } else if (v->kind == MK_JSON_BOOL && literal->kind == MK_JSON_BOOL) {
        order = (int)v->b - (int)literal->b;
    } else {
        return false;
    }
    *keep = holds(member(filter, "cmp"), order);
    return true;
}

static size_t dense_id(const model *m, mk_str uid)
{
    size_t id = 0;
    while (!mk_str_eq(model_entity(m, id), uid))
        id++;
    return id;
}

static void fold(const model *m, event *e)
{
    if (dense_id(m, e->src) > dense_id(m, e->dst)) {
        const mk_str swap = e->src;
        e->src = e->dst;
        e->dst = swap;
    }
}

static bool is_answered(const event *events, size_t n, const event *e)
{
    for (size_t i = 0; i < n; i++)
        if (mk_str_eq(events[i].row->src, e->row->dst) && mk_str_eq(events[i].row->dst, e->row->src))
            return true;
    return false;
}

typedef struct population {
    event *events;
    size_t n;
    size_t skipped;
} population;

static population populate(const oracle_world *world, const mk_json *given, mk_arena *arena)
{
    const mk_json *window = mk_json_get(given, "window"), *filter = mk_json_get(given, "prop_filter");
    const model_list list = oracle_edges(world, given, arena);
    const mk_str mode = member(given, "pair_mode");
    population p = {.events = mk_arena_get(arena, (list.n + 1) * sizeof *p.events)};
    for (size_t i = 0; i < list.n; i++) {
        const model_row *row = list.rows[i];
        mk_json *tree = NULL;
        if (row->vt_s < oracle_int(window, "t_a", 0) || row->vt_s >= oracle_int(window, "t_b", 0) ||
            !in_cohort(mk_json_get(given, "endpoint_filter"), row) ||
            mk_json_parse(arena, row->props, NULL, &tree, NULL) != MK_OK)
            continue;
        if (!oracle_is_null(given, "prop_filter")) {
            bool keep = false;
            p.skipped += !compares(filter, mk_json_get_n(tree, member(filter, "prop")), &keep);
            if (!keep)
                continue;
        }
        p.events[p.n++] = (event){.row = row, .src = row->src, .dst = row->dst, .props = tree};
    }
    size_t kept = 0;
    event *all = mk_arena_get(arena, (p.n + 1) * sizeof *all);
    memcpy(all, p.events, p.n * sizeof *all);
    for (size_t i = 0; i < p.n; i++) {
        if (is(mode, "reciprocal") && !is_answered(all, p.n, &all[i]))
            continue;
        p.events[kept] = all[i];
        if (mode.n != 0)
            fold(world->m, &p.events[kept]);
        kept++;
    }
    p.n = kept;
    return p;
}

/* ---- dimensions (7.13.4) ---- */

typedef struct key {
    int64_t number; /* position among the values of a dimension of numbers */
    mk_str text;    /* p NULL: null, or the dimension is one of numbers */
    bool is_text;
} key;

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

/* By walking from 1970, a year and a month at a time. */
static int64_t month_of(int64_t day)
{
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int64_t year = 1970 + floor_div(day, 146097) * 400;
    day -= floor_div(day, 146097) * 146097;
    for (;; year++) {
        const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
        for (int m = 0; m < 12; m++) {
            const int length = lengths[m] + (m == 1 && leap);
            if (day < length)
                return m;
            day -= length;
        }
    }
}

static mk_str label_of(const oracle_world *world, const mk_json *given, mk_arena *arena, mk_str uid,
                       int64_t t)
{
    const model_list list = model_believed(world->m, arena, MODEL_NODE, &uid,
                                           oracle_int(given, "as_of_tt", MK_OPEN_END));
    mk_str label = {NULL, 0};
    for (size_t i = 0; i < list.n; i++)
        if (list.rows[i]->vt_s <= t && t < list.rows[i]->vt_e)
            label = list.rows[i]->label.n != 0 ? list.rows[i]->label : MK_STR("");
    return label;
}

static key key_of(const oracle_world *world, const mk_json *given, mk_arena *arena, const mk_json *dim,
                  const event *e)
{
    const mk_str name = member(dim, "dim"), unit = member(dim, "unit");
    const int64_t t = e->row->vt_s, t_a = oracle_int(mk_json_get(given, "window"), "t_a", 0);
    const int64_t local = t + oracle_int(dim, "tz_offset_minutes", 0) * 60000000;
    const int64_t day = floor_div(local, INT64_C(86400000000));
    const mk_str end = is(member(dim, "role"), "src") ? e->src : e->dst;
    if (is(name, "time_bucket"))
        return (key){.number = (t - t_a) / oracle_int(given, "stride", 1)};
    if (is(unit, "hour_of_day"))
        return (key){.number = floor_div(local, INT64_C(3600000000)) - 24 * day};
    if (is(unit, "day_of_week"))
        return (key){.number = ((day + 3) % 7 + 7) % 7};
    if (is(unit, "month_of_year"))
        return (key){.number = month_of(day)};
    if (is(name, "rel_type"))
        return (key){.is_text = true, .text = e->row->rel_type};
    if (is(name, "endpoint"))
        return (key){.is_text = true, .text = end};
    return (key){.is_text = true, .text = label_of(world, given, arena, end, t)};
}

static int compare_keys(const key *x, const key *y)
{
    if (!x->is_text)
        return (x->number > y->number) - (x->number < y->number);
    if (x->text.p == NULL || y->text.p == NULL)
        return (x->text.p != NULL) - (y->text.p != NULL);
    return mk_str_cmp(x->text, y->text);
}

typedef struct group {
    key keys[DIMS];
    const event **events; /* in scan order */
    size_t n;
} group;

static int by_keys(const void *x, const void *y)
{
    const group *a = x, *b = y;
    const int c = compare_keys(&a->keys[0], &b->keys[0]);
    return c != 0 ? c : compare_keys(&a->keys[1], &b->keys[1]);
}

static size_t make_groups(const oracle_world *world, const mk_json *given, mk_arena *arena,
                          const population *p, group *groups)
{
    const mk_json *dims = mk_json_get(given, "group_by");
    size_t n = 0;
    if (dims->n == 0)
        groups[n++] = (group){.events = mk_arena_get(arena, (p->n + 1) * sizeof *groups->events)};
    for (size_t i = 0; i < p->n; i++) {
        group g = {.n = 0};
        for (size_t d = 0; d < dims->n; d++)
            g.keys[d] = key_of(world, given, arena, &dims->items[d], &p->events[i]);
        size_t at = 0;
        while (at < n && by_keys(&groups[at], &g) != 0)
            at++;
        if (at == n) {
            groups[n] = g;
            groups[n++].events = mk_arena_get(arena, (p->n + 1) * sizeof *groups->events);
        }
        groups[at].events[groups[at].n++] = &p->events[i];
    }
    qsort(groups, n, sizeof *groups, by_keys);
    return n;
}

/* ---- aggregates (7.13.7) ---- */

static void put_mean_of_props(const mk_json *const *values, size_t n, mk_buf *out)
{
    int8_t sum[PAPER_DIGITS] = {0};
    paper_expansion e = {.n = 0};
    bool floats = false;
    for (size_t i = 0; i < n; i++) {
        char text[32];
        const mk_json *v = values[i];
        floats |= v->kind == MK_JSON_FLOAT;
        paper_expand(&e, (double)real(v));
        if (v->kind == MK_JSON_INT)
            paper_add(sum, v->b ? v->text : (mk_str){text, mk_i64_text(text, v->i)});
    }
    if (floats) {
        oracle_put_float(out, paper_round(&e) / (double)n);
        return;
    }
    char quotient[PAPER_DIGITS + 2];
    const int64_t rest = paper_divide(sum, (int64_t)n, quotient);
    if (rest == 0)
        mk_buf_z(out, quotient);
    else
        oracle_put_float(out, mk_double_parse(mk_str_of(quotient)) + (double)rest / (double)n);
}

static void put_prop(const mk_json *agg, const group *g, mk_arena *arena, mk_buf *out)
{
    const mk_str name = member(agg, "agg");
    const mk_json **values = mk_arena_get(arena, (g->n + 1) * sizeof *values);
    size_t n = 0;
    for (size_t i = 0; i < g->n; i++) {
        const mk_json *v = mk_json_get_n(g->events[i]->props, member(agg, "prop"));
        if (is_number(v))
            values[n++] = v;
    }
    if (n == 0) {
        mk_buf_z(out, "null");
        return;
    }
    if (is(name, "mean")) {
        put_mean_of_props(values, n, out);
        return;
    }
    const mk_json *best = values[0];
    for (size_t i = 1; i < n; i++)
        if (is(name, "min") ? real(values[i]) < real(best) : real(values[i]) > real(best))
            best = values[i];
    mk_json copy = *best;
    oracle_put_json(out, arena, &copy);
}

static void put_column(const mk_json *agg, const group *g, mk_buf *out)
{
    const mk_str name = member(agg, "agg");
    const bool start = is(member(agg, "of"), "vt_s");
    int64_t best = 0;
    __int128 sum = 0;
    size_t n = 0;
    for (size_t i = 0; i < g->n; i++) {
        const model_row *row = g->events[i]->row;
        if (!start && row->vt_e >= MK_OPEN_END)
            continue;
        const int64_t v = start ? row->vt_s : row->vt_e - row->vt_s;
        if (n++ == 0 || (is(name, "min") ? v < best : v > best))
            best = v;
        sum += v;
    }
    if (n == 0) {
        mk_buf_z(out, "null");
    } else if (is(name, "mean")) {
        const int64_t q = floor_div((int64_t)sum, (int64_t)n);
        oracle_put_float(out, (double)q + (double)((int64_t)sum - q * (int64_t)n) / (double)n);
    } else {
        mk_buf_i64(out, best);
    }
}

/* Saturated: the schema lets any size through. */
static int64_t width_of(const mk_json *agg, const char *name)
{
    const mk_json *v = mk_json_get(agg, name);
    return v->b ? INT64_MAX : v->i;
}

static void put_sequence(const mk_json *agg, const group *g, mk_buf *out)
{
    const mk_str name = member(agg, "agg");
    int64_t most = 0, start = g->n > 0 ? g->events[0]->row->vt_s : 0;
    if (is(name, "max_in_window")) {
        for (size_t i = 0; i < g->n; i++) {
            int64_t inside = 0;
            for (size_t k = 0; k < g->n; k++) {
                const int64_t after = g->events[k]->row->vt_s - g->events[i]->row->vt_s;
                inside += after >= 0 && after < width_of(agg, "span");
            }
            most = inside > most ? inside : most;
        }
        mk_buf_i64(out, most);
        return;
    }
    const bool gap = is(name, "max_gap");
    if (g->n < (gap ? 2u : 1u)) {
        mk_buf_z(out, "null");
        return;
    }
    for (size_t i = 1; i < g->n; i++) {
        const int64_t t = g->events[i]->row->vt_s, step = t - g->events[i - 1]->row->vt_s;
        if (!gap && step > width_of(agg, "gap"))
            start = t;
        const int64_t v = gap ? step : t - start;
        most = v > most ? v : most;
    }
    mk_buf_i64(out, most);
}

static void put_distinct(bool src, const group *g, mk_buf *out)
{
    int64_t n = 0;
    for (size_t i = 0; i < g->n; i++) {
        bool before = false;
        for (size_t k = 0; k < i; k++)
            before |= src ? mk_str_eq(g->events[i]->src, g->events[k]->src)
                          : mk_str_eq(g->events[i]->dst, g->events[k]->dst);
        n += !before;
    }
    mk_buf_i64(out, n);
}

static void put_aggregate(const mk_json *agg, const group *g, mk_arena *arena, mk_buf *out)
{
    const mk_str name = member(agg, "agg"), of = member(agg, "of");
    if (is(name, "count"))
        mk_buf_i64(out, (int64_t)g->n);
    else if (is(name, "count_distinct"))
        put_distinct(is(of, "src"), g, out);
    else if (is(of, "prop"))
        put_prop(agg, g, arena, out);
    else if (is(of, "vt_s") || is(of, "duration"))
        put_column(agg, g, out);
    else
        put_sequence(agg, g, out);
}

/* ---- output (7.13.8) ---- */

/* A row is written as members, which are then sorted by the canonical writer. */
static void put_dim(const mk_json *given, const mk_json *dim, const key *k, mk_buf *out)
{
    static const char *const days[] = {"Monday", "Tuesday", "Wednesday", "Thursday",
                                       "Friday", "Saturday", "Sunday"};
    static const char *const months[] = {"January", "February", "March", "April", "May", "June", "July",
                                         "August", "September", "October", "November", "December"};
    const mk_json *window = mk_json_get(given, "window");
    const mk_str name = member(dim, "dim"), unit = member(dim, "unit");
    const int64_t t_a = oracle_int(window, "t_a", 0), t_b = oracle_int(window, "t_b", 0);
    if (is(name, "time_bucket")) {
        const int64_t stride = oracle_int(given, "stride", 1), from = t_a + k->number * stride;
        mk_buf_printf(out, "\"t_a\":%lld,\"t_b\":%lld", (long long)from,
                      (long long)(t_b - from < stride ? t_b : from + stride));
        return;
    }
    if (is(name, "calendar_unit")) {
        mk_canon_string(out, unit);
        if (is(unit, "hour_of_day"))
            mk_buf_printf(out, ":%lld", (long long)k->number);
        else
            mk_buf_printf(out, ":\"%s\"", is(unit, "day_of_week") ? days[k->number] : months[k->number]);
        return;
    }
    mk_buf_c(out, '"');
    mk_buf_str(out, is(name, "rel_type") ? name : member(dim, "role"));
    mk_buf_z(out, is(name, "label") ? "_label\":" : "\":");
    if (k->text.p == NULL)
        mk_buf_z(out, "null");
    else
        mk_canon_string(out, k->text);
}

static void put_row(const mk_json *given, const group *g, mk_arena *arena, mk_buf *out)
{
    const mk_json *dims = mk_json_get(given, "group_by"), *aggs = mk_json_get(given, "aggregates");
    mk_buf row, name;
    mk_buf_init(&row, &mk_alloc_default);
    mk_buf_init(&name, &mk_alloc_default);
    mk_buf_c(&row, '{');
    for (size_t d = 0; d < dims->n; d++) {
        put_dim(given, &dims->items[d], &g->keys[d], &row);
        mk_buf_c(&row, ',');
    }
    for (size_t a = 0; a < aggs->n; a++) {
        mk_buf_clear(&name);
        field_name(&aggs->items[a], &name);
        mk_buf_z(&row, a > 0 ? "," : "");
        mk_canon_string(&row, mk_buf_view(&name));
        mk_buf_c(&row, ':');
        put_aggregate(&aggs->items[a], g, arena, &row);
    }
    mk_buf_c(&row, '}');
    if (mk_canon_text(out, arena, mk_buf_view(&row), NULL, NULL) != MK_OK)
        abort();
    mk_buf_free(&name);
    mk_buf_free(&row);
}

/* Events of the population whose property is no number, for one aggregate. */
static size_t unread(const population *p, mk_str prop)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++)
        n += !is_number(mk_json_get_n(p->events[i].props, prop));
    return n;
}

static void put_coercion(const mk_json *given, const population *p, mk_arena *arena, mk_buf *out)
{
    const mk_json *aggs = mk_json_get(given, "aggregates");
    const bool filters = !oracle_is_null(given, "prop_filter");
    const mk_str filtered = filters ? member(mk_json_get(given, "prop_filter"), "prop") : MK_STR("");
    mk_str names[AGGS + 1];
    size_t counts[AGGS + 1], n = 0;
    if (filters) {
        names[n] = filtered;
        counts[n++] = p->skipped;
    }
    for (size_t a = 0; a < aggs->n; a++) {
        const mk_str prop = member(&aggs->items[a], "prop");
        size_t at = 0;
        if (oracle_is_null(&aggs->items[a], "prop"))
            continue;
        while (at < n && !mk_str_eq(names[at], prop))
            at++;
        if (at == n) {
            names[n] = prop;
            counts[n++] = 0;
        }
        counts[at] += unread(p, prop);
    }
    if (n == 0)
        return;
    mk_buf raw;
    mk_buf_init(&raw, &mk_alloc_default);
    for (size_t i = 0; i < n; i++) {
        mk_buf_c(&raw, i > 0 ? ',' : '{');
        mk_canon_string(&raw, names[i]);
        mk_buf_printf(&raw, ":%zu", counts[i]);
    }
    mk_buf_c(&raw, '}');
    mk_buf_z(out, ",\"prop_coercion\":");
    if (mk_canon_text(out, arena, mk_buf_view(&raw), NULL, NULL) != MK_OK)
        abort();
    mk_buf_free(&raw);
}

static void answer(const oracle_world *world, const mk_json *given, mk_arena *arena, oracle_answer *out)
{
    const mk_code wrong = fault(given);
    if (wrong != MK_OK) {
        oracle_fail(out, wrong);
        return;
    }
    const population p = populate(world, given, arena);
    group *groups = mk_arena_get0(arena, (p.n + 1) * sizeof *groups);
    const size_t n = make_groups(world, given, arena, &p, groups);
    oracle_page page;
    if (!oracle_page_of(given, n, 100, &page, out))
        return;
    oracle_put_cursor(&out->payload, &page);
    put_coercion(given, &p, arena, &out->payload);
    mk_buf_z(&out->payload, ",\"rows\":[");
    for (size_t i = page.from; i < page.to; i++) {
        if (i > page.from)
            mk_buf_c(&out->payload, ',');
        put_row(given, &groups[i], arena, &out->payload);
    }
    mk_buf_printf(&out->payload, "],\"rows_total\":%zu,\"truncated\":%s}", n,
                  page.truncated ? "true" : "false");
}

const oracle oracle_aggregate_events = {.op = "aggregate_events", .args = args, .answer = answer};

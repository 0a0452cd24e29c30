/* interval.c — intervals, instants and how they lie to each other. Layer: claim.
 *
 * Intervals are half-open. An instant is a point and is compared as one: two points a microsecond apart
 * are before and after each other and do not "meet". Source: Allen 1983; agent spec, 12.5, O-10. */
#include "claim/claim_internal.h"

static bool read_pair(const mk_json *value, const char *start, const char *end, mk_when *out)
{
    int64_t s, e;
    if (!mk_claim__i64(mk_json_get(value, start), &s) || !mk_claim__i64(mk_json_get(value, end), &e) ||
        s >= e)
        return false;
    *out = (mk_when){.start = s, .end = e};
    return true;
}

bool mk_claim__when(const mk_json *value, mk_when *out)
{
    int64_t t;
    if (value == NULL || value->kind != MK_JSON_OBJECT)
        return false;
    if (value->n == 1 && mk_claim__i64(mk_json_get(value, "t"), &t) && t < INT64_MAX) {
        *out = (mk_when){.start = t, .end = t + 1, .instant = true};
        return true;
    }
    return value->n == 2 &&
           (read_pair(value, "start", "end", out) || read_pair(value, "t_a", "t_b", out));
}

bool mk_claim__row_interval(const mk_json *row, mk_when *out)
{
    return row->kind == MK_JSON_OBJECT &&
           (read_pair(row, "t_a", "t_b", out) || read_pair(row, "start", "end", out) ||
            read_pair(row, "vt_s", "vt_e", out));
}

static const char *const allen_names[] = {
    "before", "meets",  "overlaps",      "starts",     "during",   "finishes",    "equals",
    "after",  "met_by", "overlapped_by", "started_by", "contains", "finished_by",
};

bool mk_claim__is_allen(mk_str name)
{
    for (size_t i = 0; i < sizeof allen_names / sizeof *allen_names; i++)
        if (mk_str_eq(name, mk_str_of(allen_names[i])))
            return true;
    return false;
}

/* A point and an interval: the end is outside, so nothing finishes there. */
static const char *point_in(int64_t t, mk_when b, bool inverse)
{
    if (t < b.start)
        return inverse ? "after" : "before";
    if (t >= b.end)
        return inverse ? "before" : "after";
    if (t == b.start)
        return inverse ? "started_by" : "starts";
    return inverse ? "contains" : "during";
}

const char *mk_claim__allen(mk_when a, mk_when b)
{
    if (a.instant && b.instant)
        return a.start == b.start ? "equals" : a.start < b.start ? "before" : "after";
    if (a.instant)
        return point_in(a.start, b, false);
    if (b.instant)
        return point_in(b.start, a, true);
    if (a.end <= b.start)
        return a.end == b.start ? "meets" : "before";
    if (b.end <= a.start)
        return b.end == a.start ? "met_by" : "after";
    if (a.start == b.start)
        return a.end == b.end ? "equals" : a.end < b.end ? "starts" : "started_by";
    if (a.end == b.end)
        return a.start > b.start ? "finishes" : "finished_by";
    if (a.start > b.start)
        return a.end < b.end ? "during" : "overlapped_by";
    return b.end < a.end ? "contains" : "overlaps";
}

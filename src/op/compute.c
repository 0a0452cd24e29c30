/* compute.c — deterministic post-processing of values from earlier steps. Layer: op.
 *
 * Never reads the store. Rows stay in the tree they were read into and are passed on by reference; only
 * rows that the page shows are made. Source: operators spec, 8; O-17 to O-20, O-30, O-32, O-33. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/hash.h"
#include "op/compute_internal.h"
#include "op/operators.h"

/* ---- errors and arguments ---- */

mk_code mk_compute__blame(const char *arg, mk_code rc, mk_err *err)
{
    char extra[80];
    if (rc != MK_E_INVALID_ARG)
        return rc;
    const int n = snprintf(extra, sizeof extra, "\"path\":[\"%s\"]", arg);
    mk_err_extra(err, extra, (size_t)n);
    return rc;
}

mk_code mk_compute__refuse(const char *arg, mk_err *err, const char *fmt, ...)
{
    char text[400];
    va_list list;
    va_start(list, fmt);
    vsnprintf(text, sizeof text, fmt, list);
    va_end(list);
    mk_fail(err, MK_E_INVALID_ARG, "%s: %s", arg, text);
    return mk_compute__blame(arg, MK_E_INVALID_ARG, err);
}

mk_str mk_compute__name(const mk_run *run, const char *arg)
{
    return mk_arg_str(run->args, arg);
}

mk_str mk_compute__name_or(const mk_run *run, const char *arg, mk_str otherwise)
{
    const mk_str name = mk_arg_str(run->args, arg);
    return name.n > 0 ? name : otherwise;
}

mk_code mk_compute__rows(const mk_run *run, const char *arg, mk_values *out, mk_err *err)
{
    const mk_json *list = mk_json_get(run->args, arg);
    if (list == NULL || list->kind == MK_JSON_NULL)
        return mk_compute__refuse(arg, err, "needed by %.*s: a list of values or rows",
                                  MK_STR_ARG(mk_arg_str(run->args, "fn")));
    *out = (mk_values){.n = list->n};
    out->list = mk_arena_get(run->arena, list->n * sizeof *out->list); /* at most 50,000 */
    if (out->list == NULL)
        return mk_fail_nomem(err);
    for (size_t i = 0; i < list->n; i++)
        out->list[i] = &list->items[i];
    return MK_OK;
}

mk_code mk_compute__column(const mk_run *run, const mk_values *rows, mk_str field, const char *arg,
                           mk_values *out, mk_err *err)
{
    if (field.p == NULL) {
        *out = *rows;
        return MK_OK;
    }
    *out = (mk_values){.n = rows->n};
    out->list = mk_arena_get(run->arena, rows->n * sizeof *out->list);
    if (out->list == NULL)
        return mk_fail_nomem(err);
    for (size_t i = 0; i < rows->n; i++) {
        out->list[i] = mk_json_get_n(rows->list[i], field);
        if (out->list[i] == NULL)
            return mk_compute__refuse(arg, err, "element %zu is no object with a member '%.*s'", i,
                                      MK_STR_ARG(field));
    }
    return MK_OK;
}

/* ---- keys ---- */

mk_code mk_key_set_init(mk_key_set *set, mk_arena *arena, mk_err *err)
{
    *set = (mk_key_set){.arena = arena, .seed = mk_entropy64(), .mask = 63};
    set->slots = mk_arena_get0(arena, (set->mask + 1) * sizeof *set->slots);
    return set->slots != NULL ? MK_OK : mk_fail_nomem(err);
}

/* Where an equal key is, or would be. */
static mk_key_slot *key_slot(const mk_key_set *set, const mk_json *key, uint32_t tag)
{
    size_t at = tag & set->mask;
    for (;; at = (at + 1) & set->mask) {
        mk_key_slot *slot = &set->slots[at];
        if (slot->place == 0 ||
            (slot->tag == tag && mk_value_equal(set->keys[slot->place - 1], key)))
            return slot;
    }
}

static uint32_t key_tag(const mk_key_set *set, const mk_json *key)
{
    return (uint32_t)mk_scalar_hash(key, set->seed);
}

static mk_code key_room(mk_key_set *set, mk_err *err)
{
    if ((set->count + 1) * 4 <= (set->mask + 1) * 3)
        return MK_OK;
    const size_t old_count = set->mask + 1;
    const mk_key_slot *old = set->slots;
    mk_key_slot *slots = mk_arena_get0(set->arena, 2 * old_count * sizeof *slots);
    if (slots == NULL)
        return mk_fail_nomem(err);
    set->slots = slots;
    set->mask = 2 * old_count - 1;
    for (size_t i = 0; i < old_count; i++) {
        size_t at = old[i].tag & set->mask;
        if (old[i].place == 0)
            continue;
        while (slots[at].place != 0)
            at = (at + 1) & set->mask;
        slots[at] = old[i];
    }
    return MK_OK;
}

mk_code mk_key_set_add(mk_key_set *set, const mk_json *key, size_t *place, bool *added, mk_err *err)
{
    mk_code rc;
    MK_TRY(rc, key_room(set, err));
    const uint32_t tag = key_tag(set, key);
    mk_key_slot *slot = key_slot(set, key, tag);
    *added = slot->place == 0;
    if (*added) {
        MK_TRY(rc, mk_op_grow(set->arena, (void **)&set->keys, &set->cap, set->count + 1,
                              sizeof *set->keys, err));
        set->keys[set->count] = key;
        *slot = (mk_key_slot){(uint32_t)++set->count, tag};
    }
    *place = slot->place - 1;
out:
    return rc;
}

size_t mk_key_set_find(const mk_key_set *set, const mk_json *key)
{
    const mk_key_slot *slot = key_slot(set, key, key_tag(set, key));
    return slot->place != 0 ? slot->place - 1 : SIZE_MAX;
}

/* Bottom-up merge sort of places, stable. */
mk_code mk_key_set_order(const mk_key_set *set, uint32_t **order, mk_err *err)
{
    const size_t n = set->count;
    uint32_t *from = mk_arena_get(set->arena, n * sizeof *from);
    uint32_t *to = mk_arena_get(set->arena, n * sizeof *to);
    if (from == NULL || to == NULL)
        return mk_fail_nomem(err);
    for (size_t i = 0; i < n; i++)
        from[i] = (uint32_t)i;
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t lo = 0; lo < n; lo += 2 * width) {
            const size_t mid = lo + width < n ? lo + width : n;
            const size_t hi = lo + 2 * width < n ? lo + 2 * width : n;
            size_t a = lo, b = mid;
            for (size_t i = lo; i < hi; i++) {
                const bool left = a < mid && (b >= hi || mk_key_compare(set->keys[from[b]],
                                                                        set->keys[from[a]]) >= 0);
                to[i] = left ? from[a++] : from[b++];
            }
        }
        uint32_t *swap = from;
        from = to;
        to = swap;
    }
    *order = from;
    return MK_OK;
}

static mk_code check_key(const mk_json *row, mk_str by, size_t i, const mk_json **key, mk_err *err)
{
    *key = mk_json_get_n(row, by);
    if (*key == NULL)
        return mk_compute__refuse("group_by", err, "element %zu is no object with a member '%.*s'", i,
                                  MK_STR_ARG(by));
    if (!mk_is_scalar(*key))
        return mk_compute__refuse("group_by", err, "element %zu: '%.*s' is a list or an object, no key",
                                  i, MK_STR_ARG(by));
    return MK_OK;
}

/* Counts, then places: each group's rows are one stretch of a common array. */
mk_code mk_compute__group(const mk_run *run, const mk_values *rows, mk_str by, mk_groups *out,
                          mk_err *err)
{
    mk_key_set set;
    uint32_t *order;
    mk_code rc;
    uint32_t *place = mk_arena_get(run->arena, rows->n * sizeof *place);
    size_t *start = mk_arena_get0(run->arena, (rows->n + 1) * sizeof *start);
    const mk_json **all = mk_arena_get(run->arena, rows->n * sizeof *all);
    if (place == NULL || start == NULL || all == NULL)
        return mk_fail_nomem(err);
    MK_TRY(rc, mk_key_set_init(&set, run->arena, err));
    for (size_t i = 0; i < rows->n; i++) {
        const mk_json *key;
        size_t at;
        bool added;
        MK_TRY(rc, check_key(rows->list[i], by, i, &key, err));
        MK_TRY(rc, mk_key_set_add(&set, key, &at, &added, err));
        place[i] = (uint32_t)at;
        start[at + 1]++;
    }
    for (size_t g = 1; g <= set.count; g++)
        start[g] += start[g - 1];
    mk_values *groups = mk_arena_get(run->arena, set.count * sizeof *groups);
    out->keys = mk_arena_get(run->arena, set.count * sizeof *out->keys);
    out->rows = mk_arena_get(run->arena, set.count * sizeof *out->rows);
    out->count = set.count;
    if (groups == NULL || out->keys == NULL || out->rows == NULL)
        return mk_fail_nomem(err);
    for (size_t g = 0; g < set.count; g++)
        groups[g] = (mk_values){all + start[g], 0};
    for (size_t i = 0; i < rows->n; i++)
        groups[place[i]].list[groups[place[i]].n++] = rows->list[i];
    MK_TRY(rc, mk_key_set_order(&set, &order, err));
    for (size_t g = 0; g < set.count; g++) {
        out->keys[g] = set.keys[order[g]];
        out->rows[g] = groups[order[g]];
    }
out:
    return rc;
}

/* ---- results ---- */

mk_code mk_compute__value(mk_run *run, mk_json *value, mk_err *err)
{
    mk_payload_bool(run->out, "truncated", false);
    mk_payload_member_start(run->out, "value");
    return mk_payload_tree(run->out, value, err);
}

mk_code mk_compute__page(mk_run *run, size_t n, mk_row_fn *row, void *ctx, mk_err *err)
{
    mk_span span;
    mk_code rc;
    MK_TRY(rc, mk_page_span(&run->page, n, &span, err));
    mk_payload_cursor(run->out, &span);
    mk_payload_list(run->out, "rows");
    for (size_t i = span.start; i < span.end; i++) {
        const mk_arena_mark mark = mk_arena_save(run->arena);
        mk_json *made = row(ctx, i);
        if (made == NULL)
            return mk_fail_nomem(err);
        mk_payload_item(run->out);
        rc = mk_payload_tree(run->out, made, err);
        mk_arena_rewind(run->arena, mark);
        MK_TRY(rc, rc);
        if (!mk_guard_ok(run->guard))
            return mk_guard_result(run->guard, err);
    }
    mk_payload_list_end(run->out);
    mk_payload_int(run->out, "rows_total", (int64_t)span.total);
    mk_payload_bool(run->out, "truncated", span.truncated);
    mk_payload_page_gaps(run->out, "rows", &span);
out:
    return rc;
}

/* Rounding in place is fine: every text that is made of a row has been made by now. */
static mk_json *same_row(void *ctx, size_t i)
{
    const mk_values *rows = ctx;
    return (mk_json *)rows->list[i];
}

mk_code mk_compute__page_of(mk_run *run, const mk_values *rows, mk_err *err)
{
    return mk_compute__page(run, rows->n, same_row, (void *)rows, err);
}

/* ---- two numbers ---- */

static mk_code read_operand(const mk_run *run, const char *name, const mk_json **out, mk_err *err)
{
    *out = mk_json_get(run->args, name);
    if (*out == NULL || (*out)->kind == MK_JSON_NULL)
        return mk_compute__refuse(name, err, "ratio, diff, percent and compare need x and y");
    if ((*out)->kind == MK_JSON_FLOAT && !isfinite((*out)->d))
        return mk_compute__refuse(name, err, "the number is not finite");
    return MK_OK;
}

static mk_code run_pair(mk_run *run, mk_str fn, mk_err *err)
{
    static const mk_json hundred = {.kind = MK_JSON_INT, .i = 100};
    const mk_json *x, *y;
    mk_json scaled, value;
    mk_code rc;
    MK_TRY(rc, read_operand(run, "x", &x, err));
    MK_TRY(rc, read_operand(run, "y", &y, err));
    if (mk_str_eq(fn, MK_STR("percent"))) {
        MK_TRY(rc, mk_arith_mul(&hundred, x, run->arena, &scaled, err));
        x = &scaled;
    }
    if (mk_str_eq(fn, MK_STR("diff")))
        rc = mk_arith_sub(x, y, run->arena, &value, err);
    else
        rc = mk_arith_div(x, y, run->arena, &value, err);
    MK_TRY(rc, mk_compute__blame("y", rc, err));
    rc = mk_compute__value(run, &value, err);
out:
    return rc;
}

/* -1, 0 or 1. Unequal doubles have a difference that is not zero (IEEE 754, gradual underflow). */
static int sign_of(const mk_json *value)
{
    if (value->kind == MK_JSON_FLOAT)
        return value->d < 0 ? -1 : value->d > 0;
    if (value->b)
        return value->text.p[0] == '-' ? -1 : 1;
    return value->i < 0 ? -1 : value->i > 0;
}

static mk_code run_compare(mk_run *run, mk_err *err)
{
    const mk_str cmp = mk_arg_str(run->args, "cmp");
    const mk_json *x, *y;
    mk_json difference;
    mk_code rc;
    MK_TRY(rc, read_operand(run, "x", &x, err));
    MK_TRY(rc, read_operand(run, "y", &y, err));
    if (cmp.n != 2) /* absent, contains, is_null, not_null */
        return mk_compute__refuse("cmp", err, "compare takes eq, ne, lt, le, gt or ge");
    MK_TRY(rc, mk_arith_sub(x, y, run->arena, &difference, err));
    const int sign = sign_of(&difference);
    const bool equal = cmp.p[1] == 'e' || mk_str_eq(cmp, MK_STR("eq")); /* ne, le, ge end in e */
    bool holds = cmp.p[0] == 'l' ? sign < 0 : cmp.p[0] == 'g' ? sign > 0 : false;
    if (cmp.p[0] == 'n')
        holds = sign != 0;
    else if (equal && sign == 0)
        holds = true;
    mk_json value = {.kind = MK_JSON_BOOL, .b = holds};
    rc = mk_compute__value(run, &value, err);
out:
    return rc;
}

/* ---- two intervals (Allen 1983) ---- */

typedef struct bounds {
    int64_t s, e;
} bounds;

static const char *allen(bounds a, bounds b)
{
    if (a.e < b.s)
        return "before";
    if (a.e == b.s)
        return "meets";
    if (b.e < a.s)
        return "after";
    if (b.e == a.s)
        return "met_by";
    if (a.s == b.s)
        return a.e == b.e ? "equals" : a.e < b.e ? "starts" : "started_by";
    if (a.e == b.e)
        return a.s > b.s ? "finishes" : "finished_by";
    if (b.s < a.s)
        return a.e < b.e ? "during" : "overlapped_by";
    return b.e < a.e ? "contains" : "overlaps";
}

static mk_code read_bounds(const mk_run *run, const char *name, bounds *out, mk_err *err)
{
    const mk_json *interval = mk_json_get(run->args, name);
    if (interval == NULL || interval->kind == MK_JSON_NULL)
        return mk_compute__refuse(name, err, "interval_relation needs a and b: {\"start\",\"end\"}");
    *out = (bounds){mk_arg_i64(interval, "start"), mk_arg_i64(interval, "end")};
    if (out->s >= out->e)
        return mk_compute__refuse(name, err, "start %lld is not before end %lld", (long long)out->s,
                                  (long long)out->e);
    return MK_OK;
}

static mk_code run_interval_relation(mk_run *run, mk_err *err)
{
    bounds a = {0, 0}, b = {0, 0};
    mk_code rc;
    MK_TRY(rc, read_bounds(run, "a", &a, err));
    MK_TRY(rc, read_bounds(run, "b", &b, err));
    mk_json value = {.kind = MK_JSON_STRING, .text = mk_str_of(allen(a, b))};
    rc = mk_compute__value(run, &value, err);
out:
    return rc;
}

/* ---- dispatch (8.2) ---- */

static bool is_one_of(mk_str fn, const char *const *names)
{
    for (; *names != NULL; names++)
        if (mk_str_eq(fn, mk_str_of(*names)))
            return true;
    return false;
}

static const char *const groupable[] = {"count", "sum", "min", "max", "mean", "median", "topk", NULL};
static const char *const sets[] = {"intersect", "difference", "union", NULL};
static const char *const pairs[] = {"ratio", "diff", "percent", NULL};

static mk_code run_compute(mk_run *run, mk_err *err)
{
    const mk_str fn = mk_arg_str(run->args, "fn");
    if (!mk_arg_is_null(run->args, "group_by") && !is_one_of(fn, groupable))
        return mk_compute__refuse("group_by", err, "%.*s does not group; count, sum, min, max, mean, "
                                  "median and topk do", MK_STR_ARG(fn));
    if (mk_str_eq(fn, MK_STR("interval_relation")))
        return run_interval_relation(run, err);
    if (mk_str_eq(fn, MK_STR("derive")))
        return mk_compute__derive(run, err);
    if (mk_str_eq(fn, MK_STR("join")))
        return mk_compute__join(run, err);
    if (is_one_of(fn, sets))
        return mk_compute__set(run, fn, err);
    if (is_one_of(fn, pairs))
        return run_pair(run, fn, err);
    if (mk_str_eq(fn, MK_STR("compare")))
        return run_compare(run, err);
    if (mk_str_eq(fn, MK_STR("topk")))
        return mk_compute__topk(run, err);
    if (mk_str_eq(fn, MK_STR("filter")))
        return mk_compute__filter(run, err);
    return mk_compute__reduce(run, fn, err);
}

/* ---- the declaration ---- */

static const char *const fns[] = {"count",   "sum",        "min",   "max",    "mean", "median",
                                  "topk",    "filter",     "ratio", "diff",   "percent",
                                  "intersect", "difference", "union", "derive", "join",
                                  "interval_relation", "compare", NULL};
static const char *const side_names[] = {"top", "bottom", NULL};
static const char *const cmps[] = {"eq", "ne",       "lt",      "le",       "gt",
                                   "ge", "contains", "is_null", "not_null", NULL};
static const char *const ops[] = {"add", "sub", "mul", "div", "floordiv", "concat", NULL};
static const char *const hows[] = {"inner", "left", NULL};

static const mk_arg interval_members[] = {
    {.name = "start",
     .type = MK_ARG_INTEGER,
     .required = true,
     .min = INT64_MIN,
     .max = INT64_MAX,
     .doc = "First instant inside."},
    {.name = "end",
     .type = MK_ARG_INTEGER,
     .required = true,
     .min = INT64_MIN,
     .max = INT64_MAX,
     .doc = "First instant behind."},
    {0},
};

#define LIST_ARG(name_, doc_)                                                                      \
    {                                                                                              \
        .name = (name_), .type = MK_ARG_LIST, .nullable = true, .max = 50000,                      \
        .default_json = "null", .doc = (doc_)                                                      \
    }
#define NAME_ARG(name_, doc_)                                                                      \
    {                                                                                              \
        .name = (name_), .type = MK_ARG_STRING, .nullable = true, .default_json = "null",          \
        .doc = (doc_)                                                                              \
    }
#define CHOICE_ARG(name_, choices_, nullable_, default_, doc_)                                     \
    {                                                                                              \
        .name = (name_), .type = MK_ARG_ENUM, .nullable = (nullable_), .choices = (choices_),      \
        .default_json = (default_), .doc = (doc_)                                                  \
    }
#define NUMBER_ARG(name_, doc_)                                                                    \
    {                                                                                              \
        .name = (name_), .type = MK_ARG_NUMBER, .nullable = true, .default_json = "null",          \
        .doc = (doc_)                                                                              \
    }
#define INTERVAL_ARG(name_)                                                                        \
    {                                                                                              \
        .name = (name_), .type = MK_ARG_OBJECT, .nullable = true, .members = interval_members,     \
        .default_json = "null", .doc = "An interval, of interval_relation."                        \
    }

static const mk_arg args_compute[] = {
    {.name = "fn", .type = MK_ARG_ENUM, .required = true, .choices = fns, .doc = "What to compute."},
    LIST_ARG("input", "Values, or rows when field or the like name members of them."),
    NAME_ARG("field", "Member of each row to compute with; null is the element itself."),
    {.name = "k",
     .type = MK_ARG_INTEGER,
     .nullable = true,
     .min = 1,
     .max = 1000,
     .default_json = "null",
     .doc = "How many rows topk keeps."},
    {.name = "pct",
     .type = MK_ARG_NUMBER,
     .nullable = true,
     .bounded = true,
     .above = 0.0,
     .upto = 100.0,
     .default_json = "null",
     .doc = "Or which percentage of the rows, rounded up."},
    CHOICE_ARG("side", side_names, false, "\"top\"", "Which end of the ranking topk keeps."),
    CHOICE_ARG("cmp", cmps, true, "null", "How filter and compare compare."),
    {.name = "value",
     .type = MK_ARG_ANY,
     .nullable = true,
     .default_json = "null",
     .doc = "What filter compares with, or derive computes with."},
    NAME_ARG("field2", "A second member of each row, in place of value."),
    CHOICE_ARG("op", ops, true, "null", "How derive computes."),
    {.name = "into",
     .type = MK_ARG_STRING,
     .nullable = true,
     .min = 1,
     .default_json = "null",
     .doc = "The member that derive adds."},
    NAME_ARG("on", "Key of join; of both sides unless other_on is given."),
    NAME_ARG("other_on", "Key of the other side."),
    CHOICE_ARG("how", hows, false, "\"inner\"", "Whether join keeps rows without a partner."),
    {.name = "fill",
     .type = MK_ARG_ANY,
     .nullable = true,
     .default_json = "null",
     .doc = "What rows without a partner get in the other side's members."},
    {.name = "other_prefix",
     .type = MK_ARG_STRING,
     .min = 1,
     .default_json = "\"r_\"",
     .doc = "Put before the names of the other side's members."},
    LIST_ARG("other", "The other side of join, intersect, difference and union."),
    NAME_ARG("other_field", "Member of the other side's rows; field when null or empty."),
    NUMBER_ARG("x", "First number of ratio, diff, percent and compare."),
    NUMBER_ARG("y", "Second number of ratio, diff, percent and compare."),
    INTERVAL_ARG("a"),
    INTERVAL_ARG("b"),
    NAME_ARG("group_by", "Member whose values make groups, of count to topk."),
    MK_ARG_LIMIT,
    {0},
};

static const mk_field any_row = {.name = "row", .type = MK_FIELD_ANY};
static const mk_field made_row = {.name = "row", .type = MK_FIELD_OBJECT};
static const mk_field scalar_row = {.name = "member", .type = MK_FIELD_ANY};

#define FALSE_TRUNCATED MK_FIELD_TRUNCATED("Always false.")
#define PAGE_FIELDS(row_, doc_)                                                                    \
    MK_FIELD_ROWS(row_, doc_), MK_FIELD_ROWS_TOTAL,                                                \
        MK_FIELD_TRUNCATED("Whether rows follow; there is no way to page on, so raise limit."),    \
    {                                                                                              \
        .name = "cursor", .type = MK_FIELD_STRING, .nullable = true,                               \
        .doc = "Where the page ended; compute takes no cursor."                                    \
    }

static const mk_field fields_count[] = {
    {.name = "value", .type = MK_FIELD_INTEGER, .doc = "Number of elements."},
    FALSE_TRUNCATED,
    {0},
};
static const mk_field fields_number[] = {
    {.name = "value", .type = MK_FIELD_NUMBER, .doc = "An integer when exact, else a float."},
    FALSE_TRUNCATED,
    {0},
};
static const mk_field fields_compare[] = {
    {.name = "value", .type = MK_FIELD_BOOLEAN, .doc = "Whether x is so to y."},
    FALSE_TRUNCATED,
    {0},
};
static const mk_field fields_relation[] = {
    {.name = "value", .type = MK_FIELD_STRING, .doc = "The Allen relation of a to b."},
    FALSE_TRUNCATED,
    {0},
};
static const mk_field fields_rows[] = {PAGE_FIELDS(&any_row, "Rows of the input."), {0}};
static const mk_field fields_made[] = {PAGE_FIELDS(&made_row, "Rows with the members added."), {0}};
/* Rows of a grouped reducer: its value under its own name, and the key under the name in group_by. */
#define GROUPED(fn_, type_)                                                                        \
    static const mk_field members_##fn_[] = {                                                      \
        {.name = #fn_, .type = (type_), .doc = "Of the group's rows."}, {0}};                      \
    static const mk_field row_##fn_ = {                                                            \
        .name = "group", .type = MK_FIELD_OBJECT, .open = true, .members = members_##fn_};         \
    static const mk_field fields_by_##fn_[] = {                                                    \
        PAGE_FIELDS(&row_##fn_, "One row a group, in key order; the key's member is named by "     \
                                "group_by."),                                                      \
        {0}}
GROUPED(count, MK_FIELD_INTEGER);
GROUPED(sum, MK_FIELD_NUMBER);
GROUPED(min, MK_FIELD_NUMBER);
GROUPED(max, MK_FIELD_NUMBER);
GROUPED(mean, MK_FIELD_NUMBER);
GROUPED(median, MK_FIELD_NUMBER);

static const mk_field fields_members[] = {PAGE_FIELDS(&scalar_row, "Members in key order."), {0}};

static const mk_field fields_compute[] = {
    {.name = "value", .type = MK_FIELD_ANY, .optional = true, .doc = "Of functions that give one value."},
    {.name = "rows", .type = MK_FIELD_LIST, .item = &any_row, .optional = true,
     .doc = "Of functions that give a list."},
    {.name = "rows_total", .type = MK_FIELD_INTEGER, .optional = true, .doc = "Length of the whole list."},
    MK_FIELD_TRUNCATED("Whether rows follow; there is no way to page on, so raise limit."),
    {.name = "cursor", .type = MK_FIELD_STRING, .nullable = true, .optional = true,
     .doc = "Where the page ended; compute takes no cursor."},
    {0},
};

static const mk_variant variants_compute[] = {
    {"count", false, fields_count},        {"sum", false, fields_number},
    {"min", false, fields_number},         {"max", false, fields_number},
    {"mean", false, fields_number},        {"median", false, fields_number},
    {"count", true, fields_by_count},      {"sum", true, fields_by_sum},
    {"min", true, fields_by_min},          {"max", true, fields_by_max},
    {"mean", true, fields_by_mean},        {"median", true, fields_by_median},
    {"topk", false, fields_rows},          {"topk", true, fields_rows},
    {"filter", false, fields_rows},        {"ratio", false, fields_number},
    {"diff", false, fields_number},        {"percent", false, fields_number},
    {"intersect", false, fields_members},  {"difference", false, fields_members},
    {"union", false, fields_members},      {"derive", false, fields_made},
    {"join", false, fields_made},          {"interval_relation", false, fields_relation},
    {"compare", false, fields_compare},
    {NULL, false, NULL},
};

const mk_operator mk_operator_compute = {
    .name = "compute",
    .group = "compute",
    .summary = "arithmetic, filters, sets, groups and joins over values of earlier results",
    .help = "Reducers: count sum min max mean median, over input or over field of its rows, with group_by "
            "once a group. topk ranks rows by field, descending, ties by the rows' text; filter keeps rows; "
            "intersect difference union are sets of field and other_field; derive adds a member; join "
            "puts two lists with unique keys side by side; ratio diff percent take x and y; compare says whether x cmp y; "
            "interval_relation takes a and b. Integers are exact at any size.",
    .example = "{\"field\":\"w\",\"fn\":\"mean\",\"input\":[{\"w\":1},{\"w\":2}]}",
    .args = args_compute,
    .fields = fields_compute,
    .variant_arg = "fn",
    .variants = variants_compute,
    .run = run_compute,
};

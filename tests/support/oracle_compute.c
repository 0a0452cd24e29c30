/* oracle_compute.c — compute on a sheet of paper. Source: operators spec, 4 and 8.
 *
 * Rows are {"g":key,"u":text,"v":value} in that order. Numbers are small integers and multiples of a quarter,
 * so that doubles hold every sum exactly and the rules of rounding are left to the last division; integers of
 * any size and compensated sums have the golden answers and unit tests of their own. */
#include <math.h>
#include <stdlib.h>

#include "oracle.h"

enum { ROWS_MAX = 12 };

/* ---- random arguments ---- */

static const char *const keys[] = {"null", "true", "false", "0", "1", "1.0", "2", "2.5", "-0.0", "\"a\"",
                                   "\"b\"", "\"it's\"", "\"1\""};
static const char *const numbers[] = {"0", "1", "2", "3", "-4", "7", "1.0", "0.25", "-1.5", "2.0", "12.75"};
static const char *const others[] = {"null", "true", "\"x\"", "\"yy\""};

#define PICK(world, list) (list)[genops_below((world)->gen, sizeof(list) / sizeof *(list))]

static const char *some_number(const oracle_world *w) { return PICK(w, numbers); }
static const char *some_value(const oracle_world *w)
{
    return genops_chance(w->gen, 90) ? some_number(w) : PICK(w, others);
}

static void gen_rows(const oracle_world *w, const char *name, bool unique, mk_buf *out)
{
    const int n = (int)genops_below(w->gen, ROWS_MAX);
    const bool numeric = genops_chance(w->gen, 75);
    mk_buf_printf(out, ",\"%s\":[", name);
    for (int i = 0; i < n; i++) {
        mk_buf_z(out, i ? ",{" : "{");
        if (unique && genops_chance(w->gen, 97))
            mk_buf_printf(out, "\"g\":%d", i * 2 + (int)genops_below(w->gen, 2));
        else
            mk_buf_printf(out, "\"g\":%s", PICK(w, keys));
        mk_buf_printf(out, ",\"u\":\"%c\",\"v\":%s}", 'a' + (int)genops_below(w->gen, 3),
                      numeric ? some_number(w) : some_value(w));
    }
    mk_buf_c(out, ']');
}

static void gen_topk(const oracle_world *w, mk_buf *out)
{
    gen_rows(w, "input", false, out);
    mk_buf_z(out, ",\"field\":\"v\"");
    if (genops_chance(w->gen, 60))
        mk_buf_printf(out, ",\"k\":%d", 1 + (int)genops_below(w->gen, 8));
    else if (genops_chance(w->gen, 95))
        mk_buf_printf(out, ",\"pct\":%d", 1 + (int)genops_below(w->gen, 100));
    if (genops_chance(w->gen, 40))
        mk_buf_z(out, ",\"side\":\"bottom\"");
    if (genops_chance(w->gen, 30))
        mk_buf_z(out, ",\"group_by\":\"g\"");
}

static void gen_filter(const oracle_world *w, mk_buf *out)
{
    static const char *const cmps[] = {"eq", "ne", "lt", "le", "gt", "ge", "contains", "is_null", "not_null"};
    gen_rows(w, "input", false, out);
    mk_buf_printf(out, ",\"cmp\":\"%s\",\"field\":\"%s\"", PICK(w, cmps),
                  genops_chance(w->gen, 80) ? "v" : "u");
    if (genops_chance(w->gen, 20))
        mk_buf_z(out, ",\"field2\":\"g\"");
    else
        mk_buf_printf(out, ",\"value\":%s", some_value(w));
}

static void gen_derive(const oracle_world *w, mk_buf *out)
{
    static const char *const derive_ops[] = {"add", "sub", "mul", "div", "floordiv", "concat"};
    gen_rows(w, "input", false, out);
    mk_buf_printf(out, ",\"field\":\"v\",\"into\":\"%s\",\"op\":\"%s\"",
                  genops_chance(w->gen, 95) ? "z" : "u", PICK(w, derive_ops));
    if (genops_chance(w->gen, 30))
        mk_buf_z(out, ",\"field2\":\"g\"");
    else
        mk_buf_printf(out, ",\"value\":%s", some_number(w));
}

static void gen_join(const oracle_world *w, mk_buf *out)
{
    gen_rows(w, "input", true, out);
    gen_rows(w, "other", true, out);
    mk_buf_z(out, ",\"on\":\"g\"");
    if (genops_chance(w->gen, 50))
        mk_buf_printf(out, ",\"how\":\"left\",\"fill\":%s", some_value(w));
}

static void gen_rest(const oracle_world *w, const char *fn, mk_buf *out)
{
    if (strcmp(fn, "interval_relation") == 0) {
        for (int i = 0; i < 2; i++) {
            const int s = (int)genops_below(w->gen, 5);
            mk_buf_printf(out, ",\"%c\":{\"start\":%d,\"end\":%d}", 'a' + i, s,
                          s + (int)genops_below(w->gen, 4));
        }
    } else if (strcmp(fn, "ratio") == 0 || strcmp(fn, "diff") == 0 || strcmp(fn, "percent") == 0) {
        mk_buf_printf(out, ",\"x\":%s,\"y\":%s", some_number(w), some_number(w));
    } else if (fn[0] == 'i' || fn[0] == 'u' || strcmp(fn, "difference") == 0) {
        gen_rows(w, "input", false, out);
        gen_rows(w, "other", false, out);
        mk_buf_z(out, ",\"field\":\"g\"");
    } else {
        gen_rows(w, "input", false, out);
        mk_buf_z(out, ",\"field\":\"v\"");
        if (genops_chance(w->gen, 40))
            mk_buf_z(out, ",\"group_by\":\"g\"");
    }
}

static void args(const oracle_world *w, mk_buf *out)
{
    static const char *const fns[] = {
        "count", "sum",     "min",       "max",        "mean",  "median", "topk", "filter",           "ratio",
        "diff",  "percent", "intersect", "difference", "union", "derive", "join", "interval_relation"};
    const char *fn = PICK(w, fns);
    mk_buf_printf(out, "{\"fn\":\"%s\"", fn);
    if (strcmp(fn, "topk") == 0)
        gen_topk(w, out);
    else if (strcmp(fn, "filter") == 0)
        gen_filter(w, out);
    else if (strcmp(fn, "derive") == 0)
        gen_derive(w, out);
    else if (strcmp(fn, "join") == 0)
        gen_join(w, out);
    else
        gen_rest(w, fn, out);
    oracle_gen_page(w, false, out);
    mk_buf_c(out, '}');
}

/* ---- values ---- */

typedef struct sheet {
    const mk_json *args;
    mk_arena *arena;
    oracle_answer *out;
} sheet;

static bool numeric(const mk_json *v)
{
    return v->kind == MK_JSON_INT || v->kind == MK_JSON_FLOAT || v->kind == MK_JSON_BOOL;
}
static bool number(const mk_json *v) { return numeric(v) && v->kind != MK_JSON_BOOL; }
static double value_of(const mk_json *v)
{
    return v->kind == MK_JSON_FLOAT ? v->d : v->kind == MK_JSON_BOOL ? v->b : (double)v->i;
}
static bool same(const mk_json *a, const mk_json *b)
{
    if (numeric(a) && numeric(b))
        return value_of(a) == value_of(b);
    if (a->kind != b->kind)
        return false;
    return a->kind == MK_JSON_NULL || mk_str_eq(a->text, b->text);
}
static int kind_rank(const mk_json *v)
{
    static const int ranks[] = {
        [MK_JSON_NULL] = 0, [MK_JSON_BOOL] = 1, [MK_JSON_FLOAT] = 2, [MK_JSON_INT] = 3, [MK_JSON_STRING] = 4};
    return ranks[v->kind];
}
static int key_order(const mk_json *a, const mk_json *b)
{
    if (kind_rank(a) != kind_rank(b))
        return kind_rank(a) - kind_rank(b);
    if (a->kind == MK_JSON_STRING)
        return mk_str_cmp(a->text, b->text);
    if (a->kind == MK_JSON_NULL)
        return 0;
    return (value_of(a) > value_of(b)) - (value_of(a) < value_of(b));
}

static mk_json make_number(double d, bool is_int)
{
    return is_int ? (mk_json){.kind = MK_JSON_INT, .i = (int64_t)d}
                  : (mk_json){.kind = MK_JSON_FLOAT, .d = d};
}
static mk_json quotient(double num, double den, bool ints)
{
    const double q = floor(num / den);
    if (!ints)
        return make_number(num / den, false);
    if (q * den == num)
        return make_number(q, true);
    return make_number(q + (num - q * den) / den, false);
}

/* The reference's text of these few kinds of values. */
static void text_of(const mk_json *v, bool quoted, mk_buf *out)
{
    switch (v->kind) {
    case MK_JSON_NULL: mk_buf_z(out, "None"); break;
    case MK_JSON_BOOL: mk_buf_z(out, v->b ? "True" : "False"); break;
    case MK_JSON_STRING:
        if (!quoted)
            mk_buf_str(out, v->text);
        else if (memchr(v->text.p, '\'', v->text.n) != NULL)
            mk_buf_printf(out, "\"%.*s\"", (int)v->text.n, v->text.p);
        else
            mk_buf_printf(out, "'%.*s'", (int)v->text.n, v->text.p);
        break;
    default: mk_canon_tree(out, NULL, v, NULL) == MK_OK ? (void)0 : abort(); break;
    }
}
static void row_text(const mk_json *row, mk_buf *out)
{
    mk_buf_c(out, '{');
    for (size_t i = 0; i < row->n; i++) {
        mk_buf_printf(out, "%s'%.*s': ", i ? ", " : "", (int)row->members[i].key.n, row->members[i].key.p);
        text_of(&row->members[i].value, true, out);
    }
    mk_buf_c(out, '}');
}

/* ---- results ---- */

static void put_value(sheet *s, mk_json v)
{
    mk_buf_z(&s->out->payload, "{\"truncated\":false,\"value\":");
    oracle_put_json(&s->out->payload, s->arena, &v);
    mk_buf_c(&s->out->payload, '}');
}

static void put_rows(sheet *s, const mk_json *rows, size_t n)
{
    mk_buf *out = &s->out->payload;
    const size_t limit = (size_t)oracle_int(s->args, "limit", 100), shown = n < limit ? n : limit;
    if (n > limit)
        mk_buf_printf(out, "{\"cursor\":\"%zu\"", shown);
    else
        mk_buf_z(out, "{\"cursor\":null");
    mk_buf_z(out, ",\"rows\":[");
    for (size_t i = 0; i < shown; i++) {
        mk_json copy = rows[i];
        if (i > 0)
            mk_buf_c(out, ',');
        oracle_put_json(out, s->arena, &copy);
    }
    mk_buf_printf(out, "],\"rows_total\":%zu,\"truncated\":%s}", n, n > limit ? "true" : "false");
}

static void bad(sheet *s) { oracle_fail(s->out, MK_E_INVALID_ARG); }

static mk_json object_of(sheet *s, size_t n)
{
    mk_json o = {.kind = MK_JSON_OBJECT, .n = n};
    o.members = mk_arena_get(s->arena, (n + 1) * sizeof *o.members);
    if (o.members == NULL)
        abort();
    return o;
}

/* ---- reducers ---- */

/* False when refused. */
static bool reduce(mk_str fn, const mk_json *const *v, size_t n, mk_json *out)
{
    bool ints = true;
    double sum = 0.0;
    const mk_json *least = n ? v[0] : NULL, *most = least, *sorted[ROWS_MAX];
    if (mk_str_eq(fn, MK_STR("count"))) {
        *out = make_number((double)n, true);
        return true;
    }
    for (size_t i = 0; i < n; i++) {
        if (!number(v[i]))
            return false;
        ints &= v[i]->kind == MK_JSON_INT;
        sum += value_of(v[i]);
        least = value_of(v[i]) < value_of(least) ? v[i] : least;
        most = value_of(v[i]) > value_of(most) ? v[i] : most;
        size_t at = i; /* stable insertion */
        for (; at > 0 && value_of(sorted[at - 1]) > value_of(v[i]); at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = v[i];
    }
    if (mk_str_eq(fn, MK_STR("sum"))) {
        *out = make_number(sum, ints);
        return true;
    }
    if (n == 0)
        return false;
    if (mk_str_eq(fn, MK_STR("mean")))
        *out = quotient(sum, (double)n, ints);
    else if (mk_str_eq(fn, MK_STR("min")))
        *out = *least;
    else if (mk_str_eq(fn, MK_STR("max")))
        *out = *most;
    else if (n % 2)
        *out = *sorted[n / 2];
    else
        *out = quotient(value_of(sorted[n / 2 - 1]) + value_of(sorted[n / 2]), 2.0,
                        sorted[n / 2 - 1]->kind == MK_JSON_INT && sorted[n / 2]->kind == MK_JSON_INT);
    return true;
}

/* First occurrences of each key of `rows`, in key order. */
static size_t distinct_keys(const mk_json *rows, const mk_json **out)
{
    size_t n = 0;
    for (size_t i = 0; i < rows->n; i++) {
        const mk_json *key = mk_json_get(&rows->items[i], "g");
        size_t k = 0;
        while (k < n && !same(out[k], key))
            k++;
        if (k == n)
            out[n++] = key;
    }
    for (size_t i = 1; i < n; i++)
        for (size_t k = i; k > 0 && key_order(out[k - 1], out[k]) > 0; k--) {
            const mk_json *swap = out[k];
            out[k] = out[k - 1];
            out[k - 1] = swap;
        }
    return n;
}

static size_t rows_of(const mk_json *rows, const mk_json *key, const mk_json **out)
{
    size_t n = 0;
    for (size_t i = 0; i < rows->n; i++)
        if (key == NULL || same(mk_json_get(&rows->items[i], "g"), key))
            out[n++] = &rows->items[i];
    return n;
}

static void run_reduce(sheet *s, mk_str fn)
{
    const mk_json *rows = mk_json_get(s->args, "input"), *group_keys[ROWS_MAX], *of[ROWS_MAX];
    mk_json result[ROWS_MAX], value;
    const bool grouped = !oracle_is_null(s->args, "group_by");
    const size_t n = grouped ? distinct_keys(rows, group_keys) : 1;
    for (size_t g = 0; g < n; g++) {
        const size_t count = rows_of(rows, grouped ? group_keys[g] : NULL, of);
        for (size_t i = 0; i < count; i++)
            of[i] = mk_json_get(of[i], "v");
        if (!reduce(fn, of, count, &value)) {
            bad(s);
            return;
        }
        if (!grouped) {
            put_value(s, value);
            return;
        }
        result[g] = object_of(s, 2);
        result[g].members[0] = (mk_member){MK_STR("g"), *group_keys[g]};
        result[g].members[1] = (mk_member){fn, value};
    }
    put_rows(s, result, n);
}

/* ---- topk ---- */

static bool ranks_before(const mk_json *a, const mk_json *b)
{
    mk_buf x, y;
    const mk_json *v = mk_json_get(a, "v"), *w = mk_json_get(b, "v");
    const double p = numeric(v) ? value_of(v) : 0, q = numeric(w) ? value_of(w) : 0;
    if (p != q)
        return p > q;
    mk_buf_init(&x, &mk_alloc_default);
    mk_buf_init(&y, &mk_alloc_default);
    row_text(a, &x);
    row_text(b, &y);
    const bool before = mk_str_cmp(mk_buf_view(&x), mk_buf_view(&y)) < 0;
    mk_buf_free(&x);
    mk_buf_free(&y);
    return before;
}

static size_t rank(sheet *s, const mk_json **of, size_t n, mk_json *out)
{
    const bool top = !mk_str_eq(oracle_text(s->args, "side"), MK_STR("bottom"));
    const int64_t k = oracle_int(s->args, "k", -1), pct = oracle_int(s->args, "pct", -1);
    for (size_t i = 1; i < n; i++)
        for (size_t j = i; j > 0 && ranks_before(of[j], of[j - 1]); j--) {
            const mk_json *swap = of[j];
            of[j] = of[j - 1];
            of[j - 1] = swap;
        }
    const int64_t rows = (int64_t)n, share = top ? pct : 100 - pct;
    int64_t cut = k >= 0 ? (top ? k : rows - k) : (rows * share + 99) / 100;
    cut = cut < 0 ? 0 : cut > rows ? rows : cut;
    size_t count = 0;
    for (int64_t i = top ? 0 : cut; i < (top ? cut : rows); i++)
        out[count++] = *of[i];
    return count;
}

static void run_topk(sheet *s)
{
    const mk_json *rows = mk_json_get(s->args, "input"), *group_keys[ROWS_MAX], *of[ROWS_MAX];
    mk_json result[ROWS_MAX];
    size_t n = 0;
    if (oracle_is_null(s->args, "k") == oracle_is_null(s->args, "pct")) {
        bad(s);
        return;
    }
    const bool grouped = !oracle_is_null(s->args, "group_by");
    const size_t groups = grouped ? distinct_keys(rows, group_keys) : 1;
    for (size_t g = 0; g < groups; g++)
        n += rank(s, of, rows_of(rows, grouped ? group_keys[g] : NULL, of), result + n);
    put_rows(s, result, n);
}

/* ---- filter, sets, derive, join ---- */

/* -1: refused. */
static int keeps(mk_str cmp, const mk_json *x, const mk_json *v)
{
    const bool is_null = mk_str_eq(cmp, MK_STR("is_null"));
    if (is_null || mk_str_eq(cmp, MK_STR("not_null")))
        return (x->kind == MK_JSON_NULL) == is_null;
    if (mk_str_eq(cmp, MK_STR("contains"))) {
        if (x->kind != MK_JSON_STRING)
            return 0;
        if (v->kind != MK_JSON_STRING)
            return -1;
        return memmem(x->text.p, x->text.n, v->text.p, v->text.n) != NULL;
    }
    if (x->kind == MK_JSON_NULL || v->kind == MK_JSON_NULL || numeric(x) != numeric(v))
        return -1;
    const int order = numeric(x) ? (value_of(x) > value_of(v)) - (value_of(x) < value_of(v))
                                 : mk_str_cmp(x->text, v->text);
    static const struct {
        const char *name;
        bool less, equal, more;
    } table[] = {{"eq", 0, 1, 0}, {"ne", 1, 0, 1}, {"lt", 1, 0, 0},
                 {"le", 1, 1, 0}, {"gt", 0, 0, 1}, {"ge", 0, 1, 1}};
    for (size_t i = 0; i < 6; i++)
        if (mk_str_eq(cmp, mk_str_of(table[i].name)))
            return order < 0 ? table[i].less : order > 0 ? table[i].more : table[i].equal;
    abort();
}

static void run_filter(sheet *s)
{
    const mk_json *rows = mk_json_get(s->args, "input"), *value = mk_json_get(s->args, "value");
    static const mk_json null = {.kind = MK_JSON_NULL};
    const mk_str cmp = oracle_text(s->args, "cmp"), field = oracle_text(s->args, "field");
    const bool two = !oracle_is_null(s->args, "field2");
    mk_json result[ROWS_MAX];
    size_t n = 0;
    if (two && (mk_str_eq(cmp, MK_STR("is_null")) || mk_str_eq(cmp, MK_STR("not_null")))) {
        bad(s);
        return;
    }
    for (size_t i = 0; i < rows->n; i++) {
        const mk_json *row = &rows->items[i];
        const mk_json *v = two ? mk_json_get(row, "g") : value != NULL ? value : &null;
        const int keep = keeps(cmp, mk_json_get_n(row, field), v);
        if (keep < 0) {
            bad(s);
            return;
        }
        if (keep)
            result[n++] = *row;
    }
    put_rows(s, result, n);
}

static const mk_json *in_set(const mk_json **set, size_t n, const mk_json *key)
{
    for (size_t i = 0; i < n; i++)
        if (same(set[i], key))
            return set[i];
    return NULL;
}

static void run_set(sheet *s, mk_str fn)
{
    const mk_json *a[ROWS_MAX], *b[ROWS_MAX], *kept[2 * ROWS_MAX];
    mk_json result[2 * ROWS_MAX];
    const size_t n = distinct_keys(mk_json_get(s->args, "input"), a);
    const size_t m = distinct_keys(mk_json_get(s->args, "other"), b);
    size_t count = 0;
    if (mk_str_eq(fn, MK_STR("intersect"))) {
        const bool from_b = m <= n;
        for (size_t i = 0; i < (from_b ? m : n); i++)
            if (from_b ? in_set(a, n, b[i]) != NULL : in_set(b, m, a[i]) != NULL)
                kept[count++] = from_b ? b[i] : a[i];
    } else {
        const bool all = mk_str_eq(fn, MK_STR("union"));
        for (size_t i = 0; i < n; i++)
            if (all || in_set(b, m, a[i]) == NULL)
                kept[count++] = a[i];
        for (size_t i = 0; all && i < m; i++)
            if (in_set(a, n, b[i]) == NULL)
                kept[count++] = b[i];
    }
    for (size_t i = 1; i < count; i++)
        for (size_t k = i; k > 0 && key_order(kept[k - 1], kept[k]) > 0; k--) {
            const mk_json *swap = kept[k];
            kept[k] = kept[k - 1];
            kept[k - 1] = swap;
        }
    for (size_t i = 0; i < count; i++)
        result[i] = *kept[i];
    put_rows(s, result, count);
}

/* False when refused. */
static bool derive(sheet *s, mk_str op, const mk_json *l, const mk_json *r, mk_json *out)
{
    if (mk_str_eq(op, MK_STR("concat"))) {
        mk_buf text;
        mk_buf_init(&text, &mk_alloc_default);
        text_of(l, false, &text);
        mk_buf_c(&text, '|');
        text_of(r, false, &text);
        *out = (mk_json){.kind = MK_JSON_STRING, .text = mk_arena_copy(s->arena, mk_buf_view(&text))};
        mk_buf_free(&text);
        return true;
    }
    if (!number(l) || !number(r))
        return false;
    const double x = value_of(l), y = value_of(r);
    const bool ints = l->kind == MK_JSON_INT && r->kind == MK_JSON_INT;
    if (mk_str_eq(op, MK_STR("add")))
        *out = make_number(x + y, ints);
    else if (mk_str_eq(op, MK_STR("sub")))
        *out = make_number(x - y, ints);
    else if (mk_str_eq(op, MK_STR("mul")))
        *out = make_number(x * y, ints);
    else if (y == 0)
        return false;
    else if (mk_str_eq(op, MK_STR("div")))
        *out = quotient(x, y, ints);
    else if (floor(x / y) == 0 && !ints)
        *out = make_number(copysign(0.0, x / y), false);
    else
        *out = make_number(floor(x / y), ints);
    return true;
}

static void run_derive(sheet *s)
{
    const mk_json *rows = mk_json_get(s->args, "input");
    const mk_str into = oracle_text(s->args, "into"), op = oracle_text(s->args, "op");
    mk_json result[ROWS_MAX];
    for (size_t i = 0; i < rows->n; i++) {
        const mk_json *row = &rows->items[i];
        const mk_json *r =
            oracle_is_null(s->args, "field2") ? mk_json_get(s->args, "value") : mk_json_get(row, "g");
        mk_json value;
        if (mk_json_get_n(row, into) != NULL || !derive(s, op, mk_json_get(row, "v"), r, &value)) {
            bad(s);
            return;
        }
        result[i] = object_of(s, 4);
        memcpy(result[i].members, row->members, 3 * sizeof *row->members);
        result[i].members[3] = (mk_member){into, value};
    }
    put_rows(s, result, rows->n);
}

static void run_join(sheet *s)
{
    static const mk_json null = {.kind = MK_JSON_NULL};
    const mk_json *left = mk_json_get(s->args, "input"), *right = mk_json_get(s->args, "other");
    const mk_json *a[ROWS_MAX], *b[ROWS_MAX], *fill = mk_json_get(s->args, "fill");
    static const char *const names[] = {"r_g", "r_u", "r_v"};
    mk_json result[ROWS_MAX];
    size_t n = 0;
    const size_t keys_left = distinct_keys(left, a);
    if (distinct_keys(right, b) != right->n || keys_left != left->n) {
        bad(s);
        return;
    }
    for (size_t i = 0; i < keys_left; i++) {
        const mk_json *l[ROWS_MAX], *r[ROWS_MAX];
        rows_of(left, a[i], l);
        const bool match = rows_of(right, a[i], r) > 0;
        if (!match && !mk_str_eq(oracle_text(s->args, "how"), MK_STR("left")))
            continue;
        /* A right side without rows has no columns but its key. */
        const size_t more = match || right->n > 0 ? 3 : 1;
        result[n] = object_of(s, 3 + more);
        memcpy(result[n].members, l[0]->members, 3 * sizeof *l[0]->members);
        for (size_t k = 0; k < more; k++)
            result[n].members[3 + k] = (mk_member){
                mk_str_of(names[k]), match ? r[0]->members[k].value : fill != NULL ? *fill : null};
        n++;
    }
    put_rows(s, result, n);
}

/* ---- two numbers, two intervals ---- */

static void run_pair(sheet *s, mk_str fn)
{
    const mk_json *x = mk_json_get(s->args, "x"), *y = mk_json_get(s->args, "y");
    const bool ints = x->kind == MK_JSON_INT && y->kind == MK_JSON_INT;
    if (mk_str_eq(fn, MK_STR("diff")))
        put_value(s, make_number(value_of(x) - value_of(y), ints));
    else if (value_of(y) == 0)
        bad(s);
    else
        put_value(s, quotient(value_of(x) * (mk_str_eq(fn, MK_STR("percent")) ? 100 : 1), value_of(y), ints));
}

static void run_relation(sheet *s)
{
    const mk_json *a = mk_json_get(s->args, "a"), *b = mk_json_get(s->args, "b");
    const int64_t p = oracle_int(a, "start", 0), q = oracle_int(a, "end", 0);
    const int64_t u = oracle_int(b, "start", 0), v = oracle_int(b, "end", 0);
    if (p >= q || u >= v) {
        bad(s);
        return;
    }
    /* All thirteen, each by its whole definition. */
    const struct {
        bool holds;
        const char *name;
    } all[] = {{q < u, "before"}, {q == u, "meets"}, {v < p, "after"}, {v == p, "met_by"},
               {p == u && q == v, "equals"}, {p == u && q < v, "starts"}, {p == u && q > v, "started_by"},
               {q == v && p > u, "finishes"}, {q == v && p < u, "finished_by"}, {u < p && q < v, "during"},
               {p < u && v < q, "contains"}, {p < u && u < q && q < v, "overlaps"},
               {u < p && p < v && v < q, "overlapped_by"}};
    for (size_t i = 0; i < 13; i++)
        if (all[i].holds)
            put_value(s, (mk_json){.kind = MK_JSON_STRING, .text = mk_str_of(all[i].name)});
}

static bool is_one_of(mk_str fn, const char *names)
{
    char word[32];
    if (fn.n + 2 >= sizeof word)
        return false;
    word[0] = ' ';
    memcpy(word + 1, fn.p, fn.n);
    word[fn.n + 1] = ' ';
    word[fn.n + 2] = '\0';
    return strstr(names, word) != NULL;
}

static void answer(const oracle_world *world, const mk_json *args_, mk_arena *arena, oracle_answer *out)
{
    sheet s = {args_, arena, out};
    const mk_str fn = oracle_text(args_, "fn");
    (void)world;
    if (is_one_of(fn, " count sum min max mean median "))
        run_reduce(&s, fn);
    else if (is_one_of(fn, " intersect difference union "))
        run_set(&s, fn);
    else if (is_one_of(fn, " ratio diff percent "))
        run_pair(&s, fn);
    else if (is_one_of(fn, " interval_relation "))
        run_relation(&s);
    else if (is_one_of(fn, " topk "))
        run_topk(&s);
    else if (is_one_of(fn, " filter "))
        run_filter(&s);
    else if (is_one_of(fn, " derive "))
        run_derive(&s);
    else
        run_join(&s);
}

const oracle oracle_compute = {.op = "compute", .args = args, .answer = answer, .no_belief = true};

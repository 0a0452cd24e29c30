/* compute_rows.c — filters, sets, derived members and joins. Layer: op.
 *
 * Source: operators spec, 8.6 to 8.8; O-18, O-32, O-33. */
#include "op/compute_internal.h"

/* ---- comparisons ---- */

/* Negative, 0 or positive when the two can be ordered; *fits false when they cannot. Depth is that of the
 * values, which the reader bounds. */
static int order_of(const mk_json *a, const mk_json *b, bool *fits)
{
    *fits = true;
    if (mk_is_numeric(a) && mk_is_numeric(b))
        return mk_number_compare(a, b, NULL);
    if (a->kind == MK_JSON_STRING && b->kind == MK_JSON_STRING)
        return mk_str_cmp(a->text, b->text);
    if (a->kind == MK_JSON_ARRAY && b->kind == MK_JSON_ARRAY) {
        for (size_t i = 0; i < a->n && i < b->n; i++)
            if (!mk_value_equal(&a->items[i], &b->items[i]))
                return order_of(&a->items[i], &b->items[i], fits);
        return a->n < b->n ? -1 : a->n > b->n;
    }
    *fits = false;
    return 0;
}

static bool text_contains(mk_str text, mk_str part)
{
    return part.n == 0 || (text.n >= part.n && memmem(text.p, text.n, part.p, part.n) != NULL);
}

static mk_code contains(const mk_json *x, const mk_json *v, bool *keep, mk_err *err)
{
    *keep = false;
    if (x->kind == MK_JSON_STRING) {
        if (v->kind != MK_JSON_STRING)
            return mk_compute__refuse("value", err, "a text contains texts only");
        *keep = text_contains(x->text, v->text);
    }
    for (size_t i = 0; x->kind == MK_JSON_ARRAY && i < x->n && !*keep; i++)
        *keep = mk_value_equal(&x->items[i], v);
    return MK_OK;
}

static bool holds(mk_str cmp, int order, bool equal)
{
    if (mk_str_eq(cmp, MK_STR("eq")))
        return equal;
    if (mk_str_eq(cmp, MK_STR("ne")))
        return !equal;
    if (mk_str_eq(cmp, MK_STR("lt")))
        return order < 0;
    if (mk_str_eq(cmp, MK_STR("le")))
        return order < 0 || equal;
    return mk_str_eq(cmp, MK_STR("gt")) ? order > 0 : order > 0 || equal;
}

static mk_code compare(mk_str cmp, const mk_json *x, const mk_json *v, bool *keep, mk_err *err)
{
    bool fits;
    if (mk_str_eq(cmp, MK_STR("is_null")) || mk_str_eq(cmp, MK_STR("not_null"))) {
        *keep = (x->kind == MK_JSON_NULL) == mk_str_eq(cmp, MK_STR("is_null"));
        return MK_OK;
    }
    if (mk_str_eq(cmp, MK_STR("contains")))
        return contains(x, v, keep, err);
    if (x->kind == MK_JSON_NULL || v->kind == MK_JSON_NULL)
        return mk_compute__refuse("cmp", err, "null has no order; use is_null or not_null");
    const int order = order_of(x, v, &fits);
    if (!fits)
        return mk_compute__refuse("value", err, "values of kinds that cannot be compared");
    *keep = holds(cmp, order, mk_value_equal(x, v));
    return MK_OK;
}

/* ---- filter ---- */

static bool needs_no_value(mk_str cmp)
{
    return mk_str_eq(cmp, MK_STR("is_null")) || mk_str_eq(cmp, MK_STR("not_null"));
}

static mk_code check_filter(const mk_run *run, mk_str cmp, mk_str field2, mk_err *err)
{
    if (cmp.p == NULL)
        return mk_compute__refuse("cmp", err, "filter needs to know how to compare");
    if (field2.p != NULL && !mk_arg_is_null(run->args, "value"))
        return mk_compute__refuse("field2", err, "either field2 or value, not both");
    if (field2.p != NULL && needs_no_value(cmp))
        return mk_compute__refuse("field2", err, "%.*s compares with nothing", MK_STR_ARG(cmp));
    return MK_OK;
}

mk_code mk_compute__filter(mk_run *run, mk_err *err)
{
    static const mk_json null = {.kind = MK_JSON_NULL};
    const mk_str cmp = mk_compute__name(run, "cmp"), field2 = mk_compute__name(run, "field2");
    const mk_json *value = mk_json_get(run->args, "value");
    mk_values rows, left, right = {NULL, 0}, kept;
    mk_code rc;
    MK_TRY(rc, mk_compute__rows(run, "input", &rows, err));
    MK_TRY(rc, check_filter(run, cmp, field2, err));
    MK_TRY(rc, mk_compute__column(run, &rows, mk_compute__name(run, "field"), "field", &left, err));
    if (field2.p != NULL)
        MK_TRY(rc, mk_compute__column(run, &rows, field2, "field2", &right, err));
    kept = (mk_values){mk_arena_get(run->arena, rows.n * sizeof *kept.list), 0};
    if (kept.list == NULL)
        return mk_fail_nomem(err);
    for (size_t i = 0; i < rows.n; i++) {
        const mk_json *v = field2.p != NULL ? right.list[i] : value != NULL ? value : &null;
        bool keep = false;
        MK_TRY(rc, compare(cmp, left.list[i], v, &keep, err));
        if (keep)
            kept.list[kept.n++] = rows.list[i];
    }
    rc = mk_compute__page_of(run, &kept, err);
out:
    return rc;
}

/* ---- sets ---- */

static mk_code read_set(mk_run *run, const char *arg, mk_str field, const char *field_arg,
                        mk_key_set *set, mk_err *err)
{
    mk_values rows, members;
    mk_code rc;
    MK_TRY(rc, mk_compute__rows(run, arg, &rows, err));
    MK_TRY(rc, mk_compute__column(run, &rows, field, field_arg, &members, err));
    MK_TRY(rc, mk_key_set_init(set, run->arena, err));
    for (size_t i = 0; i < members.n; i++) {
        size_t place;
        bool added;
        if (!mk_is_scalar(members.list[i])) {
            rc = mk_compute__refuse(arg, err, "member %zu is a list or an object", i);
            goto out;
        }
        MK_TRY(rc, mk_key_set_add(set, members.list[i], &place, &added, err));
    }
out:
    return rc;
}

/* Equal members of different kinds: an intersection shows those of the smaller set, of `other` when both
 * are of one size; the others show those of `input`. */
static mk_code combine(mk_str fn, const mk_key_set *a, const mk_key_set *b, mk_key_set *out, mk_err *err)
{
    const bool both = mk_str_eq(fn, MK_STR("intersect")), all = mk_str_eq(fn, MK_STR("union"));
    const mk_key_set *from = both && b->count <= a->count ? b : a;
    const mk_key_set *other = from == a ? b : a;
    size_t place;
    bool added;
    mk_code rc = mk_key_set_init(out, a->arena, err);
    for (size_t i = 0; rc == MK_OK && i < from->count; i++)
        if (all || (mk_key_set_find(other, from->keys[i]) != SIZE_MAX) == both)
            rc = mk_key_set_add(out, from->keys[i], &place, &added, err);
    for (size_t i = 0; rc == MK_OK && all && i < other->count; i++)
        rc = mk_key_set_add(out, other->keys[i], &place, &added, err);
    return rc;
}

mk_code mk_compute__set(mk_run *run, mk_str fn, mk_err *err)
{
    const mk_str field = mk_compute__name(run, "field");
    mk_key_set a, b, result;
    uint32_t *order;
    mk_values members;
    mk_code rc;
    MK_TRY(rc, read_set(run, "input", field, "field", &a, err));
    MK_TRY(rc, read_set(run, "other", mk_compute__name_or(run, "other_field", field), "other_field",
                        &b, err));
    MK_TRY(rc, combine(fn, &a, &b, &result, err));
    MK_TRY(rc, mk_key_set_order(&result, &order, err));
    members = (mk_values){mk_arena_get(run->arena, result.count * sizeof *members.list), result.count};
    if (members.list == NULL)
        return mk_fail_nomem(err);
    for (size_t i = 0; i < result.count; i++)
        members.list[i] = result.keys[order[i]];
    rc = mk_compute__page_of(run, &members, err);
out:
    return rc;
}

/* ---- derive ---- */

typedef mk_code arith_fn(const mk_json *l, const mk_json *r, mk_arena *arena, mk_json *out, mk_err *err);

typedef struct deriving {
    mk_run *run;
    mk_values rows;
    mk_str field, field2, into, op;
    const mk_json *value; /* the right side of every row, when field2.p is NULL */
    const char *right;    /* the argument that the right side comes from */
    arith_fn *arith;      /* NULL: concat */
    mk_buf scratch;
    mk_json *values;
} deriving;

/* The row with one member more. */
static mk_json *derived_row(void *ctx, size_t i)
{
    const deriving *d = ctx;
    const mk_json *from = d->rows.list[i];
    mk_json *row = mk_arena_get(d->run->arena, sizeof *row);
    mk_member *members = mk_arena_get(d->run->arena, (from->n + 1) * sizeof *members);
    if (row == NULL || members == NULL)
        return NULL;
    if (from->n > 0)
        memcpy(members, from->members, from->n * sizeof *members);
    members[from->n] = (mk_member){d->into, d->values[i]};
    *row = (mk_json){.kind = MK_JSON_OBJECT, .n = from->n + 1, .members = members};
    return row;
}

static mk_code concat(deriving *d, const mk_json *l, const mk_json *r, mk_json *out, mk_err *err)
{
    mk_buf *text = &d->scratch;
    mk_buf_clear(text);
    mk_value_text(text, l);
    mk_buf_c(text, '|');
    mk_value_text(text, r);
    const mk_str copy =
        text->failed ? (mk_str){NULL, 0} : mk_arena_copy(d->run->arena, mk_buf_view(text));
    *out = (mk_json){.kind = MK_JSON_STRING, .text = copy};
    return copy.p != NULL ? MK_OK : mk_fail_nomem(err);
}

static mk_code apply(deriving *d, const mk_json *l, const mk_json *r, mk_json *out, mk_err *err)
{
    if (d->arith == NULL)
        return concat(d, l, r, out, err);
    if (!mk_is_number(l) || !mk_is_number(r))
        return mk_compute__refuse(mk_is_number(l) ? d->right : "field", err,
                                  "%.*s needs numbers on both sides", MK_STR_ARG(d->op));
    return mk_compute__blame(d->right, d->arith(l, r, d->run->arena, out, err), err);
}

static mk_code check_derive(const mk_run *run, mk_err *err)
{
    static const char *const needed[] = {"field", "op", "into"};
    for (size_t i = 0; i < 3; i++)
        if (mk_arg_is_null(run->args, needed[i]))
            return mk_compute__refuse(needed[i], err, "derive needs field, op and into");
    if (mk_arg_is_null(run->args, "field2") == mk_arg_is_null(run->args, "value"))
        return mk_compute__refuse("field2", err, "derive needs exactly one of field2 and value");
    return MK_OK;
}

static void read_derive(deriving *d)
{
    static const struct {
        const char *name;
        arith_fn *fn;
    } ops[] = {{"add", mk_arith_add}, {"sub", mk_arith_sub}, {"mul", mk_arith_mul},
               {"div", mk_arith_div}, {"floordiv", mk_arith_floordiv}};
    d->field = mk_compute__name(d->run, "field");
    d->field2 = mk_compute__name(d->run, "field2");
    d->into = mk_compute__name(d->run, "into");
    d->op = mk_compute__name(d->run, "op");
    d->value = mk_json_get(d->run->args, "value");
    d->right = d->field2.p != NULL ? "field2" : "value";
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        if (mk_str_eq(d->op, mk_str_of(ops[i].name)))
            d->arith = ops[i].fn;
}

static mk_code derive_one(deriving *d, size_t i, mk_err *err)
{
    const mk_json *row = d->rows.list[i];
    if (row->kind != MK_JSON_OBJECT)
        return mk_compute__refuse("input", err, "element %zu is no object", i);
    if (mk_json_get_n(row, d->into) != NULL)
        return mk_compute__refuse("into", err, "element %zu has a member '%.*s' already", i,
                                  MK_STR_ARG(d->into));
    const mk_json *l = mk_json_get_n(row, d->field);
    const mk_json *r = d->field2.p != NULL ? mk_json_get_n(row, d->field2) : d->value;
    if (l == NULL || r == NULL)
        return mk_compute__refuse(l == NULL ? "field" : "field2", err,
                                  "element %zu has no member '%.*s'", i,
                                  MK_STR_ARG(l == NULL ? d->field : d->field2));
    return apply(d, l, r, &d->values[i], err);
}

/* The values of all rows come first, because any of them may be refused. */
mk_code mk_compute__derive(mk_run *run, mk_err *err)
{
    deriving d = {.run = run};
    mk_code rc;
    mk_buf_init(&d.scratch, run->arena->alloc);
    MK_TRY(rc, mk_compute__rows(run, "input", &d.rows, err));
    MK_TRY(rc, check_derive(run, err));
    read_derive(&d);
    d.values = mk_arena_get(run->arena, d.rows.n * sizeof *d.values);
    if (d.values == NULL) {
        rc = mk_fail_nomem(err);
        goto out;
    }
    for (size_t i = 0; i < d.rows.n; i++) {
        MK_TRY(rc, derive_one(&d, i, err));
        if (!mk_guard_ok(run->guard)) {
            rc = mk_guard_result(run->guard, err);
            goto out;
        }
    }
    rc = mk_compute__page(run, d.rows.n, derived_row, &d, err);
out:
    mk_buf_free(&d.scratch);
    return rc;
}

/* ---- join ---- */

typedef struct side {
    mk_values rows;
    mk_key_set keys; /* the i-th key is that of the i-th row */
    mk_str on;
} side;

typedef struct joining {
    mk_run *run;
    side left, right;
    mk_str prefix;
    const mk_json *fill;
    mk_key_set columns; /* names in any right row, the key included; filled for how = left only */
    uint32_t *column_order; /* ascending */
    struct pairing {
        uint32_t left, right; /* UINT32_MAX: no partner */
    } *pairs;
    size_t pair_count;
} joining;

static mk_code read_side(mk_run *run, const char *arg, const char *on_arg, side *s, mk_err *err)
{
    mk_code rc;
    MK_TRY(rc, mk_key_set_init(&s->keys, run->arena, err));
    for (size_t i = 0; i < s->rows.n; i++) {
        const mk_json *key = mk_json_get_n(s->rows.list[i], s->on);
        size_t place;
        bool added;
        if (key == NULL) {
            rc = mk_compute__refuse(on_arg, err, "element %zu of %s is no object with a member '%.*s'", i,
                                    arg, MK_STR_ARG(s->on));
            goto out;
        }
        if (!mk_is_scalar(key)) {
            rc = mk_compute__refuse(on_arg, err, "element %zu of %s: the key is a list or an object", i, arg);
            goto out;
        }
        MK_TRY(rc, mk_key_set_add(&s->keys, key, &place, &added, err));
        if (!added) {
            rc = mk_compute__refuse(on_arg, err, "elements %zu and %zu of %s have one key; group them first",
                                    place, i, arg);
            goto out;
        }
    }
out:
    return rc;
}

static mk_code add_column(joining *j, mk_str name, mk_err *err)
{
    const mk_json key = {.kind = MK_JSON_STRING, .text = name};
    size_t place;
    bool added;
    if (mk_key_set_find(&j->columns, &key) != SIZE_MAX)
        return MK_OK;
    mk_json *kept = mk_arena_get(j->run->arena, sizeof *kept);
    if (kept == NULL)
        return mk_fail_nomem(err);
    *kept = key;
    return mk_key_set_add(&j->columns, kept, &place, &added, err);
}

/* The columns that rows without a partner are filled in: those of any right row, and the key. */
static mk_code gather_columns(joining *j, mk_err *err)
{
    mk_code rc;
    MK_TRY(rc, mk_key_set_init(&j->columns, j->run->arena, err));
    MK_TRY(rc, add_column(j, j->right.on, err));
    for (size_t i = 0; i < j->right.rows.n; i++)
        for (size_t k = 0; k < j->right.rows.list[i]->n; k++)
            MK_TRY(rc, add_column(j, j->right.rows.list[i]->members[k].key, err));
    rc = mk_key_set_order(&j->columns, &j->column_order, err);
out:
    return rc;
}

static bool prefixed(const joining *j, mk_str column, mk_str *out)
{
    char *text = mk_arena_get(j->run->arena, j->prefix.n + column.n + 1);
    if (text == NULL)
        return false;
    memcpy(text, j->prefix.p, j->prefix.n);
    if (column.n > 0)
        memcpy(text + j->prefix.n, column.p, column.n);
    *out = (mk_str){text, j->prefix.n + column.n};
    return true;
}

/* Left members, then those of the partner, or fillers. NULL is out of memory. */
static mk_json *joined_row(void *ctx, size_t i)
{
    const joining *j = ctx;
    const mk_json *l = j->left.rows.list[j->pairs[i].left];
    const mk_json *r = j->pairs[i].right == UINT32_MAX ? NULL : j->right.rows.list[j->pairs[i].right];
    const size_t more = r != NULL ? r->n : j->columns.count;
    mk_json *row = mk_arena_get(j->run->arena, sizeof *row);
    mk_member *members = mk_arena_get(j->run->arena, (l->n + more) * sizeof *members);
    if (row == NULL || members == NULL)
        return NULL;
    if (l->n > 0)
        memcpy(members, l->members, l->n * sizeof *members);
    for (size_t k = 0; k < more; k++) {
        mk_member *m = &members[l->n + k];
        const mk_str name =
            r != NULL ? r->members[k].key : j->columns.keys[j->column_order[k]]->text;
        if (!prefixed(j, name, &m->key))
            return NULL;
        m->value = r != NULL ? r->members[k].value : *j->fill;
    }
    *row = (mk_json){.kind = MK_JSON_OBJECT, .n = l->n + more, .members = members};
    return row;
}

/* Refused when a member of the left row is called as a prefixed one of the partner, or of the fillers. */
static mk_code check_names(const joining *j, const mk_json *l, const mk_json *r, mk_err *err)
{
    for (size_t k = 0; k < l->n; k++) {
        const mk_str name = l->members[k].key;
        if (!mk_str_starts(name, j->prefix))
            continue;
        const mk_json column = {.kind = MK_JSON_STRING,
                                .text = {name.p + j->prefix.n, name.n - j->prefix.n}};
        if (r != NULL ? mk_json_get_n(r, column.text) != NULL
                      : mk_key_set_find(&j->columns, &column) != SIZE_MAX)
            return mk_compute__refuse("other_prefix", err, "'%.*s' is a member of the left side already",
                                      MK_STR_ARG(name));
        if (!mk_guard_done(j->run->guard, r != NULL ? (uint32_t)r->n : 1))
            return mk_guard_result(j->run->guard, err);
    }
    return MK_OK;
}

static mk_code pair_up(joining *j, bool keep_all, mk_err *err)
{
    uint32_t *order;
    mk_code rc;
    MK_TRY(rc, mk_key_set_order(&j->left.keys, &order, err));
    j->pairs = mk_arena_get(j->run->arena, j->left.rows.n * sizeof *j->pairs);
    if (j->pairs == NULL)
        return mk_fail_nomem(err);
    for (size_t i = 0; i < j->left.rows.n; i++) {
        const size_t partner = mk_key_set_find(&j->right.keys, j->left.keys.keys[order[i]]);
        if (partner == SIZE_MAX && !keep_all)
            continue;
        const mk_json *r = partner != SIZE_MAX ? j->right.rows.list[partner] : NULL;
        MK_TRY(rc, check_names(j, j->left.rows.list[order[i]], r, err));
        j->pairs[j->pair_count].left = order[i];
        j->pairs[j->pair_count++].right = partner != SIZE_MAX ? (uint32_t)partner : UINT32_MAX;
    }
out:
    return rc;
}

mk_code mk_compute__join(mk_run *run, mk_err *err)
{
    static const mk_json null = {.kind = MK_JSON_NULL};
    joining j = {.run = run, .prefix = mk_compute__name(run, "other_prefix"),
                 .fill = mk_json_get(run->args, "fill")};
    mk_code rc;
    if (j.fill == NULL)
        j.fill = &null;
    MK_TRY(rc, mk_compute__rows(run, "input", &j.left.rows, err));
    MK_TRY(rc, mk_compute__rows(run, "other", &j.right.rows, err));
    j.left.on = mk_compute__name(run, "on");
    if (j.left.on.p == NULL) {
        rc = mk_compute__refuse("on", err, "join needs the member that holds the key");
        goto out;
    }
    j.right.on = mk_compute__name_or(run, "other_on", j.left.on);
    MK_TRY(rc, read_side(run, "other", "other_on", &j.right, err)); /* the reference looks at it first */
    MK_TRY(rc, read_side(run, "input", "on", &j.left, err));
    const bool keep_all = mk_str_eq(mk_compute__name(run, "how"), MK_STR("left"));
    if (keep_all)
        MK_TRY(rc, gather_columns(&j, err));
    MK_TRY(rc, pair_up(&j, keep_all, err));
    rc = mk_compute__page(run, j.pair_count, joined_row, &j, err);
out:
    return rc;
}

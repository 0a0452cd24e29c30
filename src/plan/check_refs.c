/* check_refs.c — what references lead to. See plan_internal.h. Layer: plan.
 *
 * Every step has a type: the registry's table of its result, and for compute what follows from the types of
 * its inputs, so that `filter` over rows still has those rows' members. A reference is walked along its
 * producer's type, and what it gives is compared with what its place takes. Text carries where it came from:
 * what an operator returned may stand where an identifier belongs, what the plan wrote itself may not,
 * whatever it was passed through. Source: agent spec, 5, 6.2, 6.4, 18.2, 17 (O-2, O-3). */
#include "plan/plan_internal.h"

#include <stdio.h>

#include "op/schema.h"

#define ROW_MEMBERS_MAX 24
#define LITERAL_ITEMS_MAX 2000 /* of a literal list are looked at for their type */

typedef enum type_kind { T_ANY, T_NULL, T_BOOL, T_INT, T_NUMBER, T_TEXT, T_TIME, T_LIST, T_OBJECT } type_kind;
static const char *const kind_words[] = {"anything", "null", "true or false", "an integer", "a number",
                                         "text",     "a time", "a list",      "an object"};

typedef struct type_member {
    mk_str name;
    const mk_type *type;
} type_member;

struct mk_type {
    type_kind kind;
    bool own; /* some text in it may be the plan's own, and no operator's */
    bool open; /* OBJECT: members are not known */
    const mk_type *item;
    type_member *members;
    size_t n;
};

static const mk_type any_type = {.kind = T_ANY}, own_any_type = {.kind = T_ANY, .own = true};
static const mk_type int_type = {.kind = T_INT}, number_type = {.kind = T_NUMBER},
                     text_type = {.kind = T_TEXT};
static const mk_type own_text_type = {.kind = T_TEXT, .own = true}, null_type = {.kind = T_NULL};
static const mk_type bool_type = {.kind = T_BOOL}, time_type = {.kind = T_TIME};
static const mk_type any_list_type = {.kind = T_LIST, .item = &any_type};

/* ---- making types ---- */

static mk_type *new_type(mk_checker *c, type_kind kind, size_t members)
{
    mk_type *t = mk_arena_get0(c->arena, sizeof *t);
    type_member *list = mk_arena_get0(c->arena, (members + 1) * sizeof *list);
    if (t == NULL || list == NULL) {
        c->nomem = true;
        return NULL;
    }
    t->kind = kind;
    t->members = list;
    return t;
}

static const mk_type *list_of(mk_checker *c, const mk_type *item)
{
    mk_type *t = new_type(c, T_LIST, 0);
    if (t == NULL)
        return &any_list_type;
    t->item = item;
    t->own = item->own;
    return t;
}

static void add_member(mk_type *t, mk_str name, const mk_type *type)
{
    for (size_t i = 0; i < t->n; i++)
        if (mk_str_eq(t->members[i].name, name)) {
            t->members[i].type = type;
            return;
        }
    t->members[t->n++] = (type_member){name, type};
    t->own |= type->own;
}

static const mk_type *member_type(const mk_type *t, mk_str name)
{
    for (size_t i = 0; i < t->n; i++)
        if (mk_str_eq(t->members[i].name, name))
            return t->members[i].type;
    return NULL;
}

/* Whether an optional field is there for these arguments: "include_edges", "kind=node". */
static bool is_present(const mk_operator *op, const mk_json *args, const mk_field *field)
{
    if (field->when == NULL || args == NULL)
        return true;
    const char *equals = strchr(field->when, '=');
    const mk_str name = {field->when, equals != NULL ? (size_t)(equals - field->when) : strlen(field->when)};
    const mk_json *given = mk_json_get_n(args, name);
    if (given == NULL) {
        for (const mk_arg *a = op->args; a->name != NULL; a++)
            if (mk_str_eq(mk_str_of(a->name), name))
                return a->default_json != NULL && strcmp(a->default_json, "true") == 0;
        return true;
    }
    if (given->kind == MK_JSON_BOOL)
        return given->b;
    return given->kind != MK_JSON_STRING || equals == NULL || mk_str_eq(given->text, mk_str_of(equals + 1));
}

static const mk_type *of_field(mk_checker *c, const mk_operator *op, const mk_json *args,
                               const mk_field *field);

static const mk_type *of_fields(mk_checker *c, const mk_operator *op, const mk_json *args,
                                const mk_field *fields)
{
    size_t count = 0;
    while (fields[count].name != NULL)
        count++;
    mk_type *t = new_type(c, T_OBJECT, count);
    if (t == NULL)
        return &any_type;
    for (size_t i = 0; i < count; i++)
        if (is_present(op, args, &fields[i]))
            add_member(t, mk_str_of(fields[i].name), of_field(c, op, args, &fields[i]));
    return t;
}

static const mk_type *of_field(mk_checker *c, const mk_operator *op, const mk_json *args,
                               const mk_field *field)
{
    switch (field->type) {
    case MK_FIELD_INTEGER: return &int_type;
    case MK_FIELD_FLOAT:
    case MK_FIELD_NUMBER: return &number_type;
    case MK_FIELD_BOOLEAN: return &bool_type;
    case MK_FIELD_STRING: return &text_type;
    case MK_FIELD_TIME: return &time_type;
    case MK_FIELD_LIST:
        return field->item != NULL ? list_of(c, of_field(c, op, args, field->item)) : &any_list_type;
    case MK_FIELD_OBJECT:
        if (field->members != NULL && !field->open)
            return of_fields(c, op, args, field->members);
        break;
    case MK_FIELD_ANY: return &any_type;
    }
    mk_type *t = new_type(c, T_OBJECT, 0);
    if (t == NULL)
        return &any_type;
    t->open = true;
    return t;
}

/* ---- types of what a plan wrote itself ---- */

static bool is_allowed(const mk_plan_check_options *o, mk_str text)
{
    if (!o->ground)
        return true;
    for (size_t i = 0; i < o->allowed_count; i++)
        if (mk_str_eq(o->allowed[i], text))
            return true;
    return false;
}

/* What may be either of two. */
static const mk_type *either(mk_checker *c, const mk_type *a, const mk_type *b)
{
    const bool own = a->own || b->own;
    if (a == b || b->kind == T_NULL)
        return a;
    if (a->kind == T_NULL)
        return b;
    if (a->kind == T_LIST && b->kind == T_LIST)
        return list_of(c, either(c, a->item, b->item));
    if (a->kind == T_OBJECT && b->kind == T_OBJECT && !a->open && !b->open) {
        mk_type *t = new_type(c, T_OBJECT, a->n + b->n);
        if (t == NULL)
            return &own_any_type;
        for (size_t i = 0; i < a->n; i++)
            add_member(t, a->members[i].name, a->members[i].type);
        for (size_t i = 0; i < b->n; i++) {
            const mk_type *there = member_type(t, b->members[i].name);
            add_member(t, b->members[i].name,
                       there != NULL ? either(c, there, b->members[i].type) : b->members[i].type);
        }
        t->own = own;
        return t;
    }
    if (a->kind == b->kind && a->kind != T_OBJECT)
        return a->own ? a : b;
    if ((a->kind == T_INT || a->kind == T_NUMBER) && (b->kind == T_INT || b->kind == T_NUMBER))
        return &number_type;
    return own ? &own_any_type : &any_type;
}

static const mk_type *of_ref(mk_checker *c, size_t step, mk_str path, const char *where, bool say);

static const mk_type *of_literal(mk_checker *c, size_t step, const mk_json *value)
{
    mk_str path;
    switch (value->kind) {
    case MK_JSON_NULL: return &null_type;
    case MK_JSON_BOOL: return &bool_type;
    case MK_JSON_INT: return &int_type;
    case MK_JSON_FLOAT: return &number_type;
    case MK_JSON_STRING: return is_allowed(c->options, value->text) ? &text_type : &own_text_type;
    case MK_JSON_ARRAY: {
        const mk_type *item = &null_type;
        for (size_t i = 0; i < value->n && !c->nomem; i++) {
            if (i < LITERAL_ITEMS_MAX)
                item = either(c, item, of_literal(c, step, &value->items[i]));
            else
                item = &own_any_type;
        }
        return list_of(c, item->kind == T_NULL ? &any_type : item);
    }
    case MK_JSON_OBJECT: break;
    }
    if (mk_ref_of(value, &path))
        return of_ref(c, step, path, "", false);
    mk_type *t = new_type(c, T_OBJECT, value->n);
    for (size_t i = 0; t != NULL && i < value->n; i++)
        add_member(t, value->members[i].key, of_literal(c, step, &value->members[i].value));
    return t != NULL ? t : &own_any_type;
}

/* ---- compute ---- */

static const mk_type *arg_type(mk_checker *c, size_t step, const char *name)
{
    const mk_json *value = mk_json_get(c->out->plan.steps[step].args, name);
    return value != NULL ? of_literal(c, step, value) : &null_type;
}

static mk_str text_arg(const mk_json *args, const char *name)
{
    const mk_json *value = mk_json_get(args, name);
    return value != NULL && value->kind == MK_JSON_STRING ? value->text : (mk_str){NULL, 0};
}

static void known_members(const mk_type *t, char *text, size_t size)
{
    size_t n = 0;
    text[0] = '\0';
    for (size_t i = 0; i < t->n && n < size; i++)
        n += (size_t)snprintf(text + n, size - n, "%s%.*s", i ? ", " : "",
                              MK_PLAN_CUT(t->members[i].name, 60));
}

/* The member of each row that an argument names; the row itself without one. Says so when there is none. */
static const mk_type *named_member(mk_checker *c, size_t step, const mk_type *row, const char *arg,
                                   mk_str name)
{
    char path[80], known[500];
    if (name.n == 0)
        return row;
    if (row->kind == T_ANY || (row->kind == T_OBJECT && row->open))
        return row->own ? &own_any_type : &any_type;
    const mk_type *member = row->kind == T_OBJECT ? member_type(row, name) : NULL;
    if (member != NULL)
        return member;
    snprintf(path, sizeof path, "steps[%zu].args.%s", step, arg);
    mk_violation *v = mk_plan__add(c, MK_E_SCHEMA, step, path);
    known_members(row, known, sizeof known);
    if (v != NULL && row->kind == T_OBJECT)
        v->message =
            mk_plan__text(c, "the rows have no member '%.*s'; they have: %s", MK_PLAN_CUT(name, 60), known);
    else if (v != NULL)
        v->message = mk_plan__text(c, "%s names a member, but each element is %s; leave it out", arg,
                                   kind_words[row->kind]);
    return &any_type;
}

static const mk_type *item_of(const mk_type *t)
{
    return t->kind == T_LIST ? t->item : t->own ? &own_any_type : &any_type;
}

static const mk_type *with_member(mk_checker *c, const mk_type *row, mk_str name, const mk_type *type)
{
    if (row->kind != T_OBJECT || row->open)
        return row;
    mk_type *t = new_type(c, T_OBJECT, row->n + 1);
    if (t == NULL)
        return row;
    for (size_t i = 0; i < row->n; i++)
        add_member(t, row->members[i].name, row->members[i].type);
    add_member(t, name, type);
    return t;
}

static const mk_type *joined_row(mk_checker *c, size_t step, const mk_type *left, const mk_type *right)
{
    const mk_json *args = c->out->plan.steps[step].args;
    const mk_str prefix =
        mk_json_get(args, "other_prefix") != NULL ? text_arg(args, "other_prefix") : MK_STR("r_");
    const bool fills = mk_json_get(args, "how") != NULL && mk_str_eq(text_arg(args, "how"), MK_STR("left"));
    const mk_type *fill = fills ? arg_type(c, step, "fill") : &null_type;
    if (left->kind != T_OBJECT || left->open || right->kind != T_OBJECT || right->open)
        return left->own || right->own || fill->own ? &own_any_type : &any_type;
    mk_type *t = new_type(c, T_OBJECT, left->n + right->n);
    if (t == NULL)
        return &any_type;
    for (size_t i = 0; i < left->n; i++)
        add_member(t, left->members[i].name, left->members[i].type);
    for (size_t i = 0; i < right->n; i++) {
        const mk_str part = right->members[i].name;
        char *name = mk_arena_get(c->arena, prefix.n + part.n + 1);
        if (name == NULL) {
            c->nomem = true;
            return &any_type;
        }
        if (prefix.n != 0)
            memcpy(name, prefix.p, prefix.n);
        memcpy(name + prefix.n, part.p, part.n);
        add_member(t, (mk_str){name, prefix.n + part.n}, either(c, right->members[i].type, fill));
    }
    return t;
}

static bool is_fn(mk_str fn, const char *const *names)
{
    for (; *names != NULL; names++)
        if (mk_str_eq(fn, mk_str_of(*names)))
            return true;
    return false;
}

/* Rows of compute, and by the way what its arguments that name members refer to. NULL: it gives no rows. */
static const mk_type *computed_rows(mk_checker *c, size_t step)
{
    static const char *const reducers[] = {"count", "sum", "min", "max", "mean", "median", NULL};
    static const char *const keeps[] = {"filter", "topk", NULL};
    static const char *const sets[] = {"intersect", "difference", "union", NULL};
    const mk_json *args = c->out->plan.steps[step].args;
    const mk_str fn = text_arg(args, "fn"), group = text_arg(args, "group_by"),
                 field = text_arg(args, "field");
    const mk_type *row = item_of(arg_type(c, step, "input")), *other = item_of(arg_type(c, step, "other"));
    if (is_fn(fn, reducers)) {
        (void)named_member(c, step, row, "field", field);
        if (group.n == 0)
            return NULL;
        mk_type *t = new_type(c, T_OBJECT, 2);
        if (t == NULL)
            return &any_type;
        add_member(t, group, named_member(c, step, row, "group_by", group));
        add_member(t, fn, mk_str_eq(fn, MK_STR("count")) ? &int_type : &number_type);
        return t;
    }
    if (is_fn(fn, keeps)) {
        (void)named_member(c, step, row, "field", field);
        (void)named_member(c, step, row, "field2", text_arg(args, "field2"));
        (void)named_member(c, step, row, "group_by", group);
        return row;
    }
    if (is_fn(fn, sets)) {
        const mk_str of_other = text_arg(args, "other_field");
        const mk_type *a = named_member(c, step, row, "field", field);
        const mk_type *b =
            named_member(c, step, other, of_other.n ? "other_field" : "field", of_other.n ? of_other : field);
        return mk_str_eq(fn, MK_STR("union")) ? either(c, a, b) : a;
    }
    if (mk_str_eq(fn, MK_STR("derive"))) {
        const bool concat = mk_str_eq(text_arg(args, "op"), MK_STR("concat"));
        (void)named_member(c, step, row, "field", field);
        (void)named_member(c, step, row, "field2", text_arg(args, "field2"));
        /* Text that was put together is nobody's identifier. */
        return with_member(c, row, text_arg(args, "into"), concat ? &own_text_type : &number_type);
    }
    if (mk_str_eq(fn, MK_STR("join"))) {
        const mk_str on = text_arg(args, "on"), other_on = text_arg(args, "other_on");
        (void)named_member(c, step, row, "on", on);
        (void)named_member(c, step, other, other_on.n ? "other_on" : "on", other_on.n ? other_on : on);
        return joined_row(c, step, row, other);
    }
    return NULL;
}

static const mk_type *computed(mk_checker *c, size_t step)
{
    const mk_plan_step *s = &c->out->plan.steps[step];
    const mk_json *fn = mk_json_get(s->args, "fn");
    const mk_type *rows = computed_rows(c, step);
    const mk_field *fields = mk_operator_fields(s->op, s->args);
    if (fn == NULL || fn->kind != MK_JSON_STRING)
        return of_fields(c, s->op, NULL, fields);
    const mk_type *table = of_fields(c, s->op, s->args, fields);
    if (table->kind != T_OBJECT || rows == NULL)
        return table;
    mk_type *t = new_type(c, T_OBJECT, table->n + 1);
    if (t == NULL)
        return table;
    for (size_t i = 0; i < table->n; i++)
        add_member(t, table->members[i].name, table->members[i].type);
    if (member_type(t, MK_STR("rows")) != NULL)
        add_member(t, MK_STR("rows"), list_of(c, rows));
    return t;
}

/* ---- other operators ---- */

static const mk_type *of_step(mk_checker *c, size_t step)
{
    const mk_plan_step *s = &c->out->plan.steps[step];
    if (s->op->variant_arg != NULL)
        return computed(c, step);
    const mk_type *table = of_fields(c, s->op, s->args, mk_operator_fields(s->op, s->args));
    mk_field members[ROW_MEMBERS_MAX];
    if (s->op->row_members == NULL || table->kind != T_OBJECT || c->out->violation_count != 0)
        return table; /* arguments that are wrong say nothing of their rows */
    for (const mk_arg *a = s->op->args; a->name != NULL; a++)
        if (a->type == MK_ARG_LIST && a->required && mk_plan__has_ref(mk_json_get(s->args, a->name)))
            return table;
    if (!s->op->row_members(s->args, c->arena, members, ROW_MEMBERS_MAX))
        return table;
    mk_type *t = new_type(c, T_OBJECT, table->n);
    if (t == NULL)
        return table;
    for (size_t i = 0; i < table->n; i++)
        add_member(t, table->members[i].name, table->members[i].type);
    add_member(t, MK_STR("rows"), list_of(c, of_fields(c, s->op, NULL, members)));
    return t;
}

/* ---- following a reference ---- */

/* Edit distance would be too much: the real name that shares most of its beginning or contains it. */
static mk_str near_member(const mk_type *t, mk_str name)
{
    mk_str best = {NULL, 0};
    size_t most = 2;
    for (size_t i = 0; i < t->n; i++) {
        const mk_str at = t->members[i].name;
        size_t n = 0;
        while (n < at.n && n < name.n && at.p[n] == name.p[n])
            n++;
        if (n > most) {
            most = n;
            best = at;
        }
    }
    return best;
}

static void no_member(mk_checker *c, size_t step, const char *where, mk_str path, const mk_operator *op,
                      const mk_type *t, mk_str name)
{
    char known[500];
    mk_violation *v = mk_plan__add(c, MK_E_SCHEMA, step, where);
    if (v == NULL)
        return;
    known_members(t, known, sizeof known);
    const mk_str near = near_member(t, name);
    if (t->kind == T_OBJECT && t->n > 0)
        v->message = mk_plan__text(c, "%.*s: %s has no output field '%.*s' there%s%.*s%s; fields: %s",
                                   MK_PLAN_CUT(path, 120), op->name, MK_PLAN_CUT(name, 60),
                                   near.n ? " (did you mean '" : "", MK_PLAN_CUT(near, 60),
                                   near.n ? "'?)" : "", known);
    else
        v->message = mk_plan__text(c, "%.*s: '%.*s' is asked of %s, which has no fields",
                                   MK_PLAN_CUT(path, 120), MK_PLAN_CUT(name, 60), kind_words[t->kind]);
}

static void no_list(mk_checker *c, size_t step, const char *where, mk_str path, mk_str name, const mk_type *t)
{
    mk_violation *v = mk_plan__add(c, MK_E_SCHEMA, step, where);
    if (v != NULL)
        v->message = mk_plan__text(c, "%.*s: '%.*s' is %s and no list, so it takes no index",
                                   MK_PLAN_CUT(path, 120), MK_PLAN_CUT(name, 60), kind_words[t->kind]);
}

/* The type at the end of a path; NULL when there is none, which is said when `say`. */
static const mk_type *follow(mk_checker *c, size_t step, const mk_ref *ref, size_t on, const char *where,
                             bool say)
{
    const mk_type *t = c->types[on];
    bool starred = false;
    for (size_t i = 0; i < ref->count; i++) {
        const mk_ref_segment *s = &ref->segments[i];
        if (t->kind == T_ANY || (t->kind == T_OBJECT && t->open)) {
            t = t->own ? &own_any_type : &any_type;
            starred |= s->index == MK_REF_ALL;
            continue;
        }
        const mk_type *member = t->kind == T_OBJECT ? member_type(t, s->name) : NULL;
        if (member == NULL) {
            if (say)
                no_member(c, step, where, ref->text, c->out->plan.steps[on].op, t, s->name);
            return NULL;
        }
        t = member;
        if (s->index == MK_REF_NO_INDEX)
            continue;
        if (t->kind != T_LIST && t->kind != T_ANY) {
            if (say)
                no_list(c, step, where, ref->text, s->name, t);
            return NULL;
        }
        t = item_of(t);
        starred |= s->index == MK_REF_ALL;
    }
    return starred ? list_of(c, t) : t;
}

static size_t find_dependency(const mk_checker *c, size_t step, mk_str id)
{
    const mk_plan *plan = &c->out->plan;
    for (size_t i = 0; i < plan->steps[step].depend_count; i++)
        if (mk_str_eq(plan->steps[plan->steps[step].depends[i]].id, id))
            return plan->steps[step].depends[i];
    return plan->step_count;
}

/* Checks 7 to 9. The type is that of anything when the reference leads nowhere. */
static const mk_type *of_ref(mk_checker *c, size_t step, mk_str path, const char *where, bool say)
{
    mk_ref ref;
    mk_err err;
    mk_violation *v;
    if (path.p == NULL || mk_ref_parse(path, false, &ref, &err) != MK_OK) {
        v = say ? mk_plan__add(c, MK_E_SCHEMA, step, where) : NULL;
        if (v != NULL && path.p == NULL)
            v->message = MK_STR("the value of $ref must be text, such as s1.rows[0].uid");
        else if (v != NULL)
            v->message = mk_plan__text(c, "%s; %s", err.message, err.hint);
        return &any_type;
    }
    const size_t on = find_dependency(c, step, ref.step);
    if (on == c->out->plan.step_count) {
        v = say ? mk_plan__add(c, MK_E_SCHEMA, step, where) : NULL;
        if (v != NULL)
            v->message = mk_plan__text(c, "%.*s reads step %.*s, which is not in this step's depends_on",
                                       MK_PLAN_CUT(ref.text, 120), MK_PLAN_CUT(ref.step, 32));
        return &any_type;
    }
    if (c->types[on] == NULL || c->options->no_contracts)
        return &any_type;
    const mk_type *t = follow(c, step, &ref, on, where, say);
    return t != NULL ? t : &any_type;
}

/* ---- whether it may stand where it stands ---- */

static bool fits(const mk_type *t, const mk_arg *arg)
{
    if (t->kind == T_ANY || (t->kind == T_NULL && arg->nullable))
        return true;
    switch (arg->type) {
    case MK_ARG_TIMESTAMP:
    case MK_ARG_INTEGER: return t->kind == T_INT || t->kind == T_TIME || t->kind == T_NUMBER;
    case MK_ARG_NUMBER: return t->kind == T_INT || t->kind == T_TIME || t->kind == T_NUMBER;
    case MK_ARG_BOOLEAN: return t->kind == T_BOOL;
    case MK_ARG_STRING:
    case MK_ARG_ENUM: return t->kind == T_TEXT;
    case MK_ARG_LIST: return t->kind == T_LIST && (arg->item == NULL || fits(t->item, arg->item));
    case MK_ARG_OBJECT:
        if (t->kind != T_OBJECT)
            return false;
        for (const mk_arg *m = arg->members; m->name != NULL && !t->open; m++) {
            const mk_type *member = member_type(t, mk_str_of(m->name));
            if ((member == NULL && m->required) || (member != NULL && !fits(member, m)))
                return false;
        }
        for (size_t i = 0; i < t->n; i++) {
            const mk_arg *m = arg->members;
            while (m->name != NULL && !mk_str_eq(mk_str_of(m->name), t->members[i].name))
                m++;
            if (m->name == NULL)
                return false;
        }
        return true;
    case MK_ARG_ANY: break;
    }
    return true;
}

/* Where an identifier belongs. */
static bool is_uid(const mk_arg *arg)
{
    return arg == &mk_arg_uid ||
           (arg->type == MK_ARG_STRING && (strcmp(arg->name, "uid") == 0 || strcmp(arg->name, "src") == 0 ||
                                           strcmp(arg->name, "dst") == 0));
}

/* What the items of a list are. Some operators take unknown uids and therefore any text, but uids they
 * are. */
static const mk_arg *item_arg(const mk_arg *arg)
{
    if (arg == NULL || arg->type != MK_ARG_LIST)
        return NULL;
    return strcmp(arg->name, "uids") == 0 ? &mk_arg_uid : arg->item;
}

static bool takes_uids(const mk_arg *arg)
{
    const mk_arg *item = item_arg(arg);
    return is_uid(arg) || (item != NULL && is_uid(item));
}

static void ungrounded(mk_checker *c, size_t step, const char *where, const char *what, mk_str text)
{
    mk_violation *v = mk_plan__add(c, MK_E_SCHEMA, step, where);
    if (v == NULL)
        return;
    v->grounding = true;
    v->message = mk_plan__text(
        c, "%s '%.*s' was not supplied with the task; get it from resolve_entities through a $ref", what,
        MK_PLAN_CUT(text, 80));
}

static void place_ref(mk_checker *c, size_t step, const mk_arg *arg, mk_str path, const char *where)
{
    char expects[300];
    const mk_type *t = of_ref(c, step, path, where, true);
    if (arg == NULL || path.p == NULL)
        return;
    if (!fits(t, arg)) {
        mk_violation *v = mk_plan__add(c, MK_E_SCHEMA, step, where);
        mk_op__expects(expects, sizeof expects, arg);
        const bool rows = t->kind == T_LIST && arg->type == MK_ARG_LIST;
        if (v != NULL)
            v->message =
                mk_plan__text(c, "%.*s is %s%s%s, but '%s' takes %s%s", MK_PLAN_CUT(path, 120),
                              kind_words[t->kind], rows ? " of " : "", rows ? kind_words[t->item->kind] : "",
                              arg->name, expects, rows ? "; name a member of each, such as rows[*].uid" : "");
    } else if (takes_uids(arg) && t->own && c->options->ground) {
        ungrounded(c, step, where, "text that this plan wrote itself reaches an identifier through", path);
    }
}

static const mk_arg *member_arg(const mk_arg *members, mk_str name)
{
    for (const mk_arg *a = members; a != NULL && a->name != NULL; a++)
        if (mk_str_eq(mk_str_of(a->name), name))
            return a;
    return NULL;
}

/* `arg` is NULL where anything may stand. Depth is that of the plan's text, which is limited. */
static void walk(mk_checker *c, size_t step, const mk_arg *arg, const mk_json *value, const char *where)
{
    char path[400];
    mk_str ref;
    if (value->kind == MK_JSON_OBJECT && mk_ref_of(value, &ref)) {
        place_ref(c, step, arg, ref, where);
    } else if (value->kind == MK_JSON_ARRAY) {
        for (size_t i = 0; i < value->n && !c->nomem; i++) {
            snprintf(path, sizeof path, "%.360s[%zu]", where, i);
            walk(c, step, item_arg(arg), &value->items[i], path);
        }
    } else if (value->kind == MK_JSON_OBJECT) {
        const mk_arg *members = arg != NULL && arg->type == MK_ARG_OBJECT ? arg->members : NULL;
        for (size_t i = 0; i < value->n && !c->nomem; i++) {
            snprintf(path, sizeof path, "%.300s.%.*s", where, MK_PLAN_CUT(value->members[i].key, 60));
            walk(c, step, member_arg(members, value->members[i].key), &value->members[i].value, path);
        }
    } else if (value->kind == MK_JSON_STRING && arg != NULL && is_uid(arg) &&
               !is_allowed(c->options, value->text)) {
        ungrounded(c, step, where, "identifier", value->text);
    }
}

void mk_plan__check_refs(mk_checker *c, size_t step)
{
    const mk_plan_step *s = &c->out->plan.steps[step];
    char path[160];
    for (size_t i = 0; i < s->args->n && !c->nomem; i++) {
        snprintf(path, sizeof path, "steps[%zu].args.%.*s", step, MK_PLAN_CUT(s->args->members[i].key, 60));
        walk(c, step, member_arg(s->op->args, s->args->members[i].key), &s->args->members[i].value, path);
    }
    c->types[step] = of_step(c, step);
}

/* ---- the answer ---- */

/* Names of members that hold identifiers. */
static bool has_uids(const mk_type *t, int depth)
{
    static const char *const names[] = {"uid", "src", "dst"};
    if (t->kind == T_ANY || t->kind == T_TEXT)
        return true;
    if (depth == 4)
        return false;
    if (t->kind == T_LIST)
        return has_uids(t->item, depth + 1);
    for (size_t i = 0; t->kind == T_OBJECT && i < t->n; i++)
        for (size_t k = 0; k < 3; k++)
            if (mk_str_eq(t->members[i].name, mk_str_of(names[k])) ||
                ((t->members[i].type->kind == T_LIST || t->members[i].type->kind == T_OBJECT) &&
                 has_uids(t->members[i].type, depth + 1)))
                return true;
    return t->kind == T_OBJECT && t->open;
}

static bool has_pair(const mk_type *t, const char *a, const char *b)
{
    return member_type(t, mk_str_of(a)) != NULL && member_type(t, mk_str_of(b)) != NULL;
}

static const char *misfit(mk_answer_kind kind, const mk_type *t, bool whole)
{
    const bool any = t->kind == T_ANY || (t->kind == T_OBJECT && t->open);
    switch (kind) {
    case MK_ANSWER_COUNT:
        return !whole && (any || t->kind == T_INT || t->kind == T_NUMBER)
                   ? NULL
                   : "a count is a number, such as s1.rows_total or s2.value";
    case MK_ANSWER_VALUE:
        return !whole && (any || (t->kind != T_LIST && t->kind != T_OBJECT))
                   ? NULL
                   : "a value is one number, text or truth";
    case MK_ANSWER_ENTITY_SET:
        return has_uids(t, 0) && t->kind != T_TEXT
                   ? NULL
                   : "an entity_set is a list of uids, or of rows with uid, src or dst";
    case MK_ANSWER_INTERVAL:
        return any || has_pair(t, "t_a", "t_b") || has_pair(t, "vt_s", "vt_e") || has_pair(t, "start", "end")
                   ? NULL : "an interval is one row with t_a and t_b, such as s1.rows[0]";
    case MK_ANSWER_SERIES:
    case MK_ANSWER_PATHS:
        return any || whole || t->kind == T_LIST ? NULL : "this kind is a list, such as s1.rows";
    case MK_ANSWER_TEXT: break;
    }
    return NULL;
}

void mk_plan__check_answer(mk_checker *c)
{
    const mk_plan *plan = &c->out->plan;
    const char *const where = "answer_spec.from";
    mk_violation *v;
    mk_ref ref;
    mk_err err;
    if (mk_ref_parse(plan->from, true, &ref, &err) != MK_OK) {
        v = mk_plan__add(c, MK_E_SCHEMA, MK_PLAN_NO_STEP, where);
        if (v != NULL)
            v->message = mk_plan__text(c, "%s; %s", err.message, err.hint);
        return;
    }
    size_t on = 0;
    while (on < plan->step_count && !mk_str_eq(plan->steps[on].id, ref.step))
        on++;
    if (on == plan->step_count) {
        v = mk_plan__add(c, MK_E_SCHEMA, MK_PLAN_NO_STEP, where);
        if (v != NULL)
            v->message = mk_plan__text(c, "there is no step '%.*s'", MK_PLAN_CUT(ref.step, 32));
        return;
    }
    if (c->types[on] == NULL || c->options->no_contracts)
        return;
    const mk_type *t = follow(c, MK_PLAN_NO_STEP, &ref, on, where, true);
    const char *why = t != NULL ? misfit(plan->kind, t, ref.count == 0) : NULL;
    if (why == NULL)
        return;
    v = mk_plan__add(c, MK_E_SCHEMA, MK_PLAN_NO_STEP, where);
    if (v != NULL)
        v->message =
            mk_plan__text(c, "%.*s is %s, and the answer is to be %s: %s", MK_PLAN_CUT(plan->from, 120),
                          kind_words[t->kind], mk_answer_kind_name(plan->kind), why);
}

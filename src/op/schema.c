/* schema.c — checking arguments against the registry. Layer: op.
 *
 * The walk visits every violation and keeps the one with the shortest path, the first of equals:
 * members nobody knows before members that are missing, before members that are wrong, in the order
 * of the table. Source: operators spec, 5.2. */
#include "op/schema.h"

#include <math.h>
#include <stdio.h>

#define PATH_MAX_DEPTH 8 /* tables nest four deep at most */

typedef struct segment {
    const char *key; /* NULL: an index */
    size_t index;
} segment;

typedef struct checker {
    const mk_operator *op;
    mk_arena *arena;
    mk_err *err;
    segment path[PATH_MAX_DEPTH];
    size_t depth;
    size_t best; /* length of the reported path; SIZE_MAX: nothing wrong so far */
    bool nomem;
} checker;

/* ---- what an argument accepts ---- */

static void expects_integer(char *p, size_t size, const mk_arg *arg)
{
    if (arg->min != INT64_MIN && arg->max != INT64_MAX)
        snprintf(p, size, "an integer from %lld to %lld", (long long)arg->min, (long long)arg->max);
    else if (arg->min != INT64_MIN)
        snprintf(p, size, "an integer of at least %lld", (long long)arg->min);
    else
        snprintf(p, size, "an integer");
}

static void expects_choice(char *p, size_t size, const mk_arg *arg)
{
    size_t n = (size_t)snprintf(p, size, "one of ");
    for (size_t i = 0; arg->choices[i] != NULL && n < size; i++)
        n += (size_t)snprintf(p + n, size - n, "%s%s", i ? ", " : "", arg->choices[i]);
}

static void expects_list(char *p, size_t size, const mk_arg *arg)
{
    char item[96] = "any values";
    if (arg->item != NULL && arg->item->type == MK_ARG_STRING)
        snprintf(item, sizeof item, arg->item->min > 0 ? "non-empty strings" : "strings");
    else if (arg->item != NULL && arg->item->type == MK_ARG_OBJECT)
        snprintf(item, sizeof item, "objects");
    if (arg->max == INT64_MAX)
        snprintf(p, size, "a list of %s", item);
    else
        snprintf(p, size, "a list of %lld to %lld %s", (long long)arg->min, (long long)arg->max,
                 item);
}

static void expects_object(char *p, size_t size, const mk_arg *arg)
{
    size_t n = (size_t)snprintf(p, size, "an object with ");
    for (size_t i = 0; arg->members[i].name != NULL && n < size; i++)
        n += (size_t)snprintf(p + n, size - n, "%s%s%s", i ? ", " : "", arg->members[i].name,
                              arg->members[i].required ? "" : " (optional)");
}

void mk_op__expects(char *p, size_t size, const mk_arg *arg)
{
    switch (arg->type) {
    case MK_ARG_TIMESTAMP:
        snprintf(p, size, "a time: microseconds from 0 to 2^62, or text like 2024-05-01T12:00:00Z");
        break;
    case MK_ARG_INTEGER:
        expects_integer(p, size, arg);
        break;
    case MK_ARG_NUMBER:
        if (arg->bounded)
            snprintf(p, size, "a number above %g, at most %g", arg->above, arg->upto);
        else
            snprintf(p, size, "a number");
        break;
    case MK_ARG_BOOLEAN:
        snprintf(p, size, "true or false");
        break;
    case MK_ARG_STRING:
        snprintf(p, size, arg->min > 0 ? "a string that is not empty" : "a string");
        break;
    case MK_ARG_ENUM:
        expects_choice(p, size, arg);
        break;
    case MK_ARG_LIST:
        expects_list(p, size, arg);
        break;
    case MK_ARG_OBJECT:
        expects_object(p, size, arg);
        break;
    case MK_ARG_ANY:
        snprintf(p, size, "any value");
        break;
    }
}

/* ---- violations ---- */

/* "window.t_a", "seeds[3]"; the operator's name for the arguments as a whole. */
static void path_text(const checker *c, char *p, size_t size)
{
    size_t n = 0;
    if (c->depth == 0)
        n = (size_t)snprintf(p, size, "%s", c->op->name);
    for (size_t i = 0; i < c->depth && n < size; i++) {
        const segment *s = &c->path[i];
        if (s->key != NULL)
            n += (size_t)snprintf(p + n, size - n, "%s%s", i ? "." : "", s->key);
        else
            n += (size_t)snprintf(p + n, size - n, "[%zu]", s->index);
    }
}

static void path_json(const checker *c, char *p, size_t size)
{
    size_t n = (size_t)snprintf(p, size, "\"path\":[");
    for (size_t i = 0; i < c->depth && n < size; i++) {
        const segment *s = &c->path[i];
        if (s->key != NULL)
            n += (size_t)snprintf(p + n, size - n, "%s\"%s\"", i ? "," : "", s->key);
        else
            n += (size_t)snprintf(p + n, size - n, "%s%zu", i ? "," : "", s->index);
    }
    if (n < size)
        snprintf(p + n, size - n, "]");
}

/* Starts the error for the value at the current path, unless a shorter path is reported already. */
static bool report(checker *c, const char *what)
{
    char where[256], json[400];
    if (c->depth >= c->best)
        return false;
    c->best = c->depth;
    path_text(c, where, sizeof where);
    path_json(c, json, sizeof json);
    mk_fail(c->err, MK_E_SCHEMA, "%s: %s", where, what);
    mk_err_extra(c->err, json, strlen(json));
    return true;
}

/* A short picture of a value that was refused. */
static void picture(const mk_json *value, char *p, size_t size)
{
    switch (value->kind) {
    case MK_JSON_NULL:
        snprintf(p, size, "null");
        break;
    case MK_JSON_BOOL:
        snprintf(p, size, value->b ? "true" : "false");
        break;
    case MK_JSON_INT:
        if (value->b)
            snprintf(p, size, "%.*s", (int)(value->text.n > 60 ? 60 : value->text.n), value->text.p);
        else
            snprintf(p, size, "%lld", (long long)value->i);
        break;
    case MK_JSON_FLOAT:
        snprintf(p, size, "%.17g", value->d);
        break;
    case MK_JSON_STRING:
        snprintf(p, size, "\"%.*s\"", (int)(value->text.n > 60 ? 60 : value->text.n),
                 value->text.n ? value->text.p : "");
        break;
    case MK_JSON_ARRAY:
        snprintf(p, size, "a list of %zu", value->n);
        break;
    case MK_JSON_OBJECT:
        snprintf(p, size, "an object");
        break;
    }
}

static void refuse(checker *c, const mk_arg *arg, const mk_json *value)
{
    char shown[96], what[160], expects[300];
    picture(value, shown, sizeof shown);
    snprintf(what, sizeof what, "%s is not accepted", shown);
    if (!report(c, what))
        return;
    mk_op__expects(expects, sizeof expects, arg);
    mk_err_hint(c->err, "pass %s%s", expects, arg->nullable ? ", or null" : "");
}

/* ---- numbers and times ---- */

/* An integral float becomes the integer it stands for; false when it has a fraction, is not finite, or
 * is beyond int64 where only `any_size` would take it. */
static bool float_to_int(checker *c, const mk_arg *arg, mk_json *value)
{
    const double d = value->d;
    if (!isfinite(d) || d != floor(d))
        return false;
    if (d >= -0x1p63 && d < 0x1p63) {
        *value = (mk_json){.kind = MK_JSON_INT, .i = (int64_t)d};
        return true;
    }
    if (!arg->any_size)
        return false;
    char digits[400];
    const int n = snprintf(digits, sizeof digits, "%.0f", d);
    const mk_str text = mk_arena_copy(c->arena, (mk_str){digits, (size_t)n});
    c->nomem |= text.p == NULL;
    *value = (mk_json){.kind = MK_JSON_INT, .b = true, .text = text};
    return text.p != NULL;
}

static void check_integer(checker *c, const mk_arg *arg, mk_json *value)
{
    const bool is_int = value->kind == MK_JSON_INT ||
                        (value->kind == MK_JSON_FLOAT && float_to_int(c, arg, value));
    bool ok = is_int;
    if (is_int && value->b)
        ok = arg->any_size && value->text.p[0] != '-';
    else if (is_int)
        ok = value->i >= arg->min && value->i <= arg->max;
    if (!ok)
        refuse(c, arg, value);
}

static void check_time(checker *c, const mk_arg *arg, mk_json *value)
{
    if (value->kind == MK_JSON_STRING) {
        int64_t us;
        if (mk_time_parse(value->text, &us, NULL) != MK_OK) {
            refuse(c, arg, value);
            return;
        }
        *value = (mk_json){.kind = MK_JSON_INT, .i = us};
    }
    check_integer(c, arg, value);
}

static void check_number(checker *c, const mk_arg *arg, const mk_json *value)
{
    double d = NAN;
    if (value->kind == MK_JSON_FLOAT)
        d = value->d;
    else if (value->kind == MK_JSON_INT)
        d = !value->b ? (double)value->i : value->text.p[0] == '-' ? -0x1p63 : 0x1p63;
    if (!isfinite(d) || (arg->bounded && !(d > arg->above && d <= arg->upto)))
        refuse(c, arg, value);
}

/* ---- the walk ---- */

static void check_value(checker *c, const mk_arg *arg, mk_json *value);

static void push(checker *c, const char *key, size_t index)
{
    MK_ASSERT(c->depth < PATH_MAX_DEPTH);
    c->path[c->depth++] = (segment){key, index};
}

static bool is_choice(const mk_arg *arg, const mk_json *value)
{
    if (value->kind != MK_JSON_STRING)
        return false;
    for (size_t i = 0; arg->choices[i] != NULL; i++) {
        if (mk_str_eq(value->text, mk_str_of(arg->choices[i])))
            return true;
    }
    return false;
}

static void check_list(checker *c, const mk_arg *arg, mk_json *value)
{
    if (value->kind != MK_JSON_ARRAY || value->n < (uint64_t)arg->min ||
        value->n > (uint64_t)arg->max) {
        refuse(c, arg, value);
        return;
    }
    /* A list that is long and wrong throughout is wrong at its first item. */
    for (size_t i = 0; arg->item != NULL && i < value->n && c->depth + 1 < c->best; i++) {
        push(c, NULL, i);
        check_value(c, arg->item, &value->items[i]);
        c->depth--;
    }
}

static const mk_arg *find_member(const mk_arg *members, mk_str key)
{
    for (; members->name != NULL; members++) {
        if (mk_str_eq(key, mk_str_of(members->name)))
            return members;
    }
    return NULL;
}

static void refuse_unknown(checker *c, const mk_arg *members, mk_str key)
{
    char what[160], known[300];
    size_t n = 0;
    snprintf(what, sizeof what, "unknown argument '%.*s'", (int)(key.n > 60 ? 60 : key.n),
             key.n ? key.p : "");
    if (!report(c, what))
        return;
    for (size_t i = 0; members[i].name != NULL && n < sizeof known; i++)
        n += (size_t)snprintf(known + n, sizeof known - n, "%s%s", i ? ", " : "", members[i].name);
    mk_err_hint(c->err, "known here: %s", n ? known : "none");
}

static void refuse_missing(checker *c, const mk_arg *member)
{
    char what[160], expects[300];
    snprintf(what, sizeof what, "'%s' is missing", member->name);
    if (!report(c, what))
        return;
    mk_op__expects(expects, sizeof expects, member);
    mk_err_hint(c->err, "give %s: %s", member->name, expects);
}

static void check_object(checker *c, const mk_arg *members, mk_json *value)
{
    for (size_t i = 0; i < value->n; i++) {
        if (find_member(members, value->members[i].key) == NULL)
            refuse_unknown(c, members, value->members[i].key);
    }
    for (const mk_arg *m = members; m->name != NULL; m++) {
        mk_json *given = (mk_json *)mk_json_get(value, m->name);
        if (given == NULL) {
            if (m->required)
                refuse_missing(c, m);
            continue;
        }
        push(c, m->name, 0);
        check_value(c, m, given);
        c->depth--;
    }
}

static void check_value(checker *c, const mk_arg *arg, mk_json *value)
{
    if (value->kind == MK_JSON_NULL && arg->nullable)
        return;
    switch (arg->type) {
    case MK_ARG_TIMESTAMP:
        check_time(c, arg, value);
        break;
    case MK_ARG_INTEGER:
        check_integer(c, arg, value);
        break;
    case MK_ARG_NUMBER:
        check_number(c, arg, value);
        break;
    case MK_ARG_BOOLEAN:
        if (value->kind != MK_JSON_BOOL)
            refuse(c, arg, value);
        break;
    case MK_ARG_STRING:
        if (value->kind != MK_JSON_STRING || value->text.n < (uint64_t)arg->min)
            refuse(c, arg, value);
        break;
    case MK_ARG_ENUM:
        if (!is_choice(arg, value))
            refuse(c, arg, value);
        break;
    case MK_ARG_LIST:
        check_list(c, arg, value);
        break;
    case MK_ARG_OBJECT:
        if (value->kind == MK_JSON_OBJECT)
            check_object(c, arg->members, value);
        else
            refuse(c, arg, value);
        break;
    case MK_ARG_ANY:
        break;
    }
}

/* ---- defaults ---- */

/* The common defaults without a run of the parser, which is most of a small call's check. */
static bool simple_default(const char *text, mk_json *out)
{
    int64_t i;
    if (strcmp(text, "null") == 0)
        *out = (mk_json){.kind = MK_JSON_NULL};
    else if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
        *out = (mk_json){.kind = MK_JSON_BOOL, .b = text[0] == 't'};
    else if (mk_str_to_i64(mk_str_of(text), &i))
        *out = (mk_json){.kind = MK_JSON_INT, .i = i};
    else
        return false;
    return true;
}

static mk_code default_value(mk_arena *arena, const char *text, mk_json *out, mk_err *err)
{
    mk_json *tree;
    if (simple_default(text, out))
        return MK_OK;
    const mk_code rc = mk_json_parse(arena, mk_str_of(text), NULL, &tree, err);
    if (rc == MK_OK)
        *out = *tree;
    return rc;
}

static mk_code fill_defaults(const mk_operator *op, mk_arena *arena, mk_json *args, mk_err *err)
{
    size_t count = 0;
    while (op->args[count].name != NULL)
        count++;
    mk_member *members = mk_arena_get(arena, (args->n + count) * sizeof *members);
    if (members == NULL)
        return mk_fail_nomem(err);
    if (args->n != 0)
        memcpy(members, args->members, args->n * sizeof *members);
    size_t n = args->n;
    for (const mk_arg *m = op->args; m->name != NULL; m++) {
        if (m->default_json == NULL || mk_json_get(args, m->name) != NULL)
            continue;
        members[n].key = mk_str_of(m->name);
        const mk_code rc = default_value(arena, m->default_json, &members[n].value, err);
        if (rc != MK_OK)
            return rc;
        n++;
    }
    args->members = members;
    args->n = n;
    return MK_OK;
}

mk_code mk_args_check(const mk_operator *op, mk_arena *arena, mk_json *args, mk_err *err)
{
    checker c = {.op = op, .arena = arena, .err = err, .best = SIZE_MAX};
    if (args->kind != MK_JSON_OBJECT) {
        (void)report(&c, "the arguments are not an object");
        mk_err_hint(err, "pass one JSON object, for example %s", op->example);
        return MK_E_SCHEMA;
    }
    check_object(&c, op->args, args);
    if (c.nomem)
        return mk_fail_nomem(err);
    return c.best != SIZE_MAX ? MK_E_SCHEMA : fill_defaults(op, arena, args, err);
}

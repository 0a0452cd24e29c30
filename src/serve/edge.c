/* edge.c — repairing arguments by their declared kinds. See edge.h. Layer: serve. */
#include "serve/edge.h"

#include <stdio.h>

#define JS_INT_MAX ((INT64_C(1) << 53) - 1)
/* 2^62 as JavaScript prints it. Doubles near it are 1,024 apart. */
#define OPEN_SLACK INT64_C(1024)

static const mk_json_limits text_limits = {.depth = 16, .string_size = 1 << 20, .number_size = 64,
                                           .members = 100000};

typedef struct edge {
    mk_arena *arena;
    mk_err *err;
    char path[160];
    size_t path_n;
} edge;

static mk_code repair(edge *e, const mk_arg *arg, const mk_json *value, mk_json *out, bool *absent);

/* ---- where we are ---- */

static size_t path_push(edge *e, const char *name, int64_t index)
{
    const size_t before = e->path_n;
    const size_t room = sizeof e->path - before;
    const int n = name != NULL ? snprintf(e->path + before, room, "%s%s", before ? "." : "", name)
                               : snprintf(e->path + before, room, "[%lld]", (long long)index);
    if (n > 0 && (size_t)n < room)
        e->path_n += (size_t)n;
    else
        e->path[before] = '\0';
    return before;
}

static void path_pop(edge *e, size_t before)
{
    e->path_n = before;
    e->path[before] = '\0';
}

static mk_code refuse(edge *e, const char *message, const char *hint)
{
    mk_fail(e->err, MK_E_SCHEMA, "%s: %s", e->path_n ? e->path : "arguments", message);
    mk_err_path(e->err, "%s", e->path);
    mk_err_hint(e->err, "%s", hint);
    return MK_E_SCHEMA;
}

/* ---- one kind each ---- */

static mk_json of_int(int64_t i) { return (mk_json){.kind = MK_JSON_INT, .i = i}; }

/* A float without a fraction within int64. */
static bool integral(const mk_json *value, int64_t *out)
{
    if (value->kind != MK_JSON_FLOAT ||
        !(value->d >= -9.2233720368547758e18 && value->d < 9.2233720368547758e18))
        return false;
    *out = (int64_t)value->d;
    return (double)*out == value->d;
}

static mk_json repair_integer(const mk_json *value)
{
    int64_t i;
    if (integral(value, &i) || (value->kind == MK_JSON_STRING && mk_str_to_i64(value->text, &i)))
        return of_int(i);
    return *value;
}

static mk_json repair_time(const mk_json *value)
{
    mk_json out = repair_integer(value);
    int64_t us;
    if (value->kind == MK_JSON_STRING && out.kind == MK_JSON_STRING &&
        mk_time_parse(value->text, &us, NULL) == MK_OK)
        out = of_int(us);
    if (out.kind == MK_JSON_INT && !out.b && out.i > MK_OPEN_END && out.i - MK_OPEN_END <= OPEN_SLACK)
        out.i = MK_OPEN_END;
    return out;
}

static mk_code repair_text(edge *e, const mk_json *value, mk_json *out)
{
    char digits[24];
    int64_t i;
    *out = *value;
    if (value->kind == MK_JSON_INT && value->b)
        return refuse(e, "a number of that size cannot stand for text", "write it in quotes");
    if (value->kind == MK_JSON_INT)
        i = value->i;
    else if (!integral(value, &i))
        return MK_OK;
    if (i > JS_INT_MAX || i < -JS_INT_MAX)
        return refuse(e, "a number beyond 2^53 may have lost digits on its way here", "write it in quotes");
    *out = (mk_json){.kind = MK_JSON_STRING,
                     .text = mk_arena_copy(e->arena, (mk_str){digits, mk_i64_text(digits, i)})};
    return out->text.p != NULL ? MK_OK : mk_fail_nomem(e->err);
}

/* Text that reads as one JSON value of a wanted kind. False: it does not, and stays text. */
static mk_code read_inside(edge *e, mk_str text, mk_json *out, bool *read)
{
    const mk_arena_mark mark = mk_arena_save(e->arena);
    mk_json *tree;
    mk_err why;
    const mk_code rc = mk_json_parse(e->arena, text, &text_limits, &tree, &why);
    *read = rc == MK_OK;
    if (*read) {
        *out = *tree;
        return MK_OK;
    }
    mk_arena_rewind(e->arena, mark);
    if (rc != MK_E_NOMEM)
        return MK_OK;
    return mk_fail_nomem(e->err);
}

static bool starts_with(mk_str text, char c)
{
    size_t i = 0;
    while (i < text.n && (text.p[i] == ' ' || text.p[i] == '\t' || text.p[i] == '\n' || text.p[i] == '\r'))
        i++;
    return i < text.n && text.p[i] == c;
}

/* Any JSON: text is a literal, `12` a number and `ab` itself. Non-finite numbers are words here. */
static mk_code repair_any(edge *e, const mk_json *value, mk_json *out)
{
    mk_json inner;
    bool read = false;
    mk_code rc = MK_OK;
    *out = *value;
    if (value->kind != MK_JSON_STRING || value->text.n == 0)
        return MK_OK;
    const char c = value->text.p[0];
    if (c == 'N' || c == 'I' || (c == '-' && value->text.n > 1 && value->text.p[1] == 'I'))
        return MK_OK;
    MK_TRY(rc, read_inside(e, value->text, &inner, &read));
    if (read)
        *out = inner;
out:
    return rc;
}

/* Rows of compute: objects and lists may come as text, other text is itself. */
static mk_code repair_row(edge *e, const mk_json *value, mk_json *out)
{
    const bool may = value->kind == MK_JSON_STRING &&
                     (starts_with(value->text, '{') || starts_with(value->text, '['));
    *out = *value;
    return may ? repair_any(e, value, out) : MK_OK;
}

static mk_code repair_list(edge *e, const mk_arg *arg, const mk_json *value, mk_json *out)
{
    mk_json list = *value, inner;
    bool read = false;
    mk_code rc = MK_OK;
    if (value->kind == MK_JSON_STRING && starts_with(value->text, '[')) {
        MK_TRY(rc, read_inside(e, value->text, &inner, &read));
        if (read && inner.kind == MK_JSON_ARRAY)
            list = inner;
    }
    const bool single = list.kind != MK_JSON_ARRAY && list.kind != MK_JSON_NULL;
    if (list.kind == MK_JSON_NULL) {
        *out = list;
        goto out;
    }
    const size_t n = single ? 1 : list.n;
    const mk_json *items = single ? value : list.items;
    mk_json *made = mk_arena_get(e->arena, (n + 1) * sizeof *made);
    if (made == NULL) {
        rc = mk_fail_nomem(e->err);
        goto out;
    }
    for (size_t i = 0; i < n; i++) {
        const size_t before = path_push(e, NULL, (int64_t)i);
        bool absent;
        rc = arg->item == NULL ? repair_row(e, &items[i], &made[i])
                               : repair(e, arg->item, &items[i], &made[i], &absent);
        path_pop(e, before);
        MK_TRY(rc, rc);
    }
    *out = (mk_json){.kind = MK_JSON_ARRAY, .n = n, .items = made};
out:
    return rc;
}

static const mk_arg *member_of(const mk_arg *members, mk_str name)
{
    for (const mk_arg *a = members; a != NULL && a->name != NULL; a++)
        if (mk_str_eq(mk_str_of(a->name), name))
            return a;
    return NULL;
}

/* Members that are not declared stay, so that the check can name them. */
static mk_code repair_members(edge *e, const mk_arg *members, const mk_json *value, mk_json *out)
{
    mk_member *made = mk_arena_get(e->arena, (value->n + 1) * sizeof *made);
    size_t n = 0;
    mk_code rc = MK_OK;
    if (made == NULL)
        return mk_fail_nomem(e->err);
    for (size_t i = 0; i < value->n; i++) {
        const mk_member *m = &value->members[i];
        const mk_arg *arg = member_of(members, m->key);
        bool absent = false;
        made[n] = *m;
        if (arg != NULL) {
            const size_t before = path_push(e, arg->name, 0);
            rc = repair(e, arg, &m->value, &made[n].value, &absent);
            path_pop(e, before);
            MK_TRY(rc, rc);
        }
        n += !absent;
    }
    *out = (mk_json){.kind = MK_JSON_OBJECT, .n = n, .members = made};
out:
    return rc;
}

static mk_code repair_object(edge *e, const mk_arg *arg, const mk_json *value, mk_json *out)
{
    mk_json object = *value, inner;
    bool read = false;
    mk_code rc = MK_OK;
    if (value->kind == MK_JSON_STRING && starts_with(value->text, '{')) {
        MK_TRY(rc, read_inside(e, value->text, &inner, &read));
        if (read && inner.kind == MK_JSON_OBJECT)
            object = inner;
    }
    if (object.kind == MK_JSON_OBJECT)
        rc = repair_members(e, arg->members, &object, out);
    else
        *out = object;
out:
    return rc;
}

/* ---- all of them ---- */

/* null, and "" where text or a time is meant: not given, if it need not be. */
static bool means_absent(const mk_arg *arg, const mk_json *value)
{
    const bool textual = arg->type == MK_ARG_STRING || arg->type == MK_ARG_TIMESTAMP ||
                         arg->type == MK_ARG_ENUM;
    if (arg->required)
        return false;
    return value->kind == MK_JSON_NULL ||
           (textual && value->kind == MK_JSON_STRING && value->text.n == 0);
}

static mk_code repair(edge *e, const mk_arg *arg, const mk_json *value, mk_json *out, bool *absent)
{
    *out = *value;
    *absent = means_absent(arg, value);
    if (*absent)
        return MK_OK;
    switch (arg->type) {
    case MK_ARG_TIMESTAMP:
        *out = value->kind == MK_JSON_NULL ? of_int(MK_OPEN_END) : repair_time(value);
        return MK_OK;
    case MK_ARG_INTEGER: *out = repair_integer(value); return MK_OK;
    case MK_ARG_NUMBER:
        if (value->kind == MK_JSON_STRING)
            *out = repair_integer(value);
        return MK_OK;
    case MK_ARG_STRING: return repair_text(e, value, out);
    case MK_ARG_LIST: return repair_list(e, arg, value, out);
    case MK_ARG_OBJECT: return repair_object(e, arg, value, out);
    case MK_ARG_ANY: return repair_any(e, value, out);
    default: return MK_OK;
    }
}

mk_code mk_edge_repair_value(const mk_arg *arg, const mk_json *value, mk_arena *arena, mk_json *out,
                             bool *absent, mk_err *err)
{
    edge e = {.arena = arena, .err = err};
    return repair(&e, arg, value, out, absent);
}

mk_code mk_edge_repair(const mk_operator *op, const mk_json *arguments, mk_arena *arena, mk_json **out,
                       mk_err *err)
{
    const mk_arg whole = {.name = "arguments", .type = MK_ARG_OBJECT, .required = true, .members = op->args};
    static const mk_json none = {.kind = MK_JSON_OBJECT};
    edge e = {.arena = arena, .err = err};
    bool absent;
    if (arguments == NULL || arguments->kind == MK_JSON_NULL)
        arguments = &none;
    *out = mk_arena_get0(arena, sizeof **out);
    if (*out == NULL)
        return mk_fail_nomem(err);
    const mk_code rc = repair(&e, &whole, arguments, *out, &absent);
    if (rc == MK_OK && (*out)->kind != MK_JSON_OBJECT)
        return refuse(&e, "an object of arguments is needed", "write {\"uid\":\"ada\"}");
    return rc;
}

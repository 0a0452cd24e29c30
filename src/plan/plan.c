/* plan.c — reading plans. See plan.h. Layer: plan.
 *
 * Strict where a model's text could mean two things: members nobody knows, keys given twice, numbers that
 * JSON cannot hold are refused. 5.0 stays a float here; the operators' own check makes it 5. Source: agent
 * spec, 4. */
#include "plan/plan_internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#define STEPS_LOOKED_AT 64 /* of a plan that has too many */

static const mk_json_limits plan_limits = {
    .depth = 64, .string_size = 1 << 20, .number_size = 64, .members = 60000};

static const char *const kind_names[] = {
    [MK_ANSWER_COUNT] = "count",       [MK_ANSWER_VALUE] = "value",   [MK_ANSWER_ENTITY_SET] = "entity_set",
    [MK_ANSWER_INTERVAL] = "interval", [MK_ANSWER_SERIES] = "series", [MK_ANSWER_PATHS] = "paths",
    [MK_ANSWER_TEXT] = "text"};
#define KIND_COUNT (sizeof kind_names / sizeof *kind_names)

const char *mk_answer_kind_name(mk_answer_kind kind) { return kind_names[kind]; }

/* ---- violations ---- */

static mk_str clean(mk_checker *c, const char *text)
{
    mk_str copy = mk_arena_copy(c->arena, mk_str_of(text));
    if (copy.p == NULL) {
        c->nomem = true;
        return MK_STR("");
    }
    while (copy.n > 0 && mk_utf8_check(copy) != copy.n) /* a character that the cut went through */
        copy.n--;
    for (size_t i = 0; i < copy.n; i++)
        if ((unsigned char)copy.p[i] < 0x20 || copy.p[i] == 0x7f)
            ((char *)copy.p)[i] = '?';
    return copy;
}

mk_str mk_plan__text(mk_checker *c, const char *fmt, ...)
{
    char text[1200];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return clean(c, text);
}

mk_violation *mk_plan__add(mk_checker *c, mk_code code, size_t step, const char *path)
{
    mk_plan_report *out = c->out;
    if (out->violation_count == MK_PLAN_VIOLATIONS_MAX)
        return NULL;
    if (out->violation_count == c->cap) {
        const size_t cap = c->cap ? c->cap * 2 : 8;
        mk_violation *list = mk_arena_get(c->arena, cap * sizeof *list);
        if (list == NULL) {
            c->nomem = true;
            return NULL;
        }
        if (out->violation_count != 0)
            memcpy(list, out->violations, out->violation_count * sizeof *list);
        out->violations = list;
        c->cap = cap;
    }
    mk_violation *v = &out->violations[out->violation_count++];
    *v = (mk_violation){.code = code, .path = clean(c, path)};
    if (step != MK_PLAN_NO_STEP)
        v->step_id = out->plan.steps[step].id;
    return v;
}

static void refuse(mk_checker *c, const char *path, const char *what)
{
    mk_violation *v = mk_plan__add(c, MK_E_SCHEMA, MK_PLAN_NO_STEP, path);
    if (v != NULL)
        v->message = clean(c, what);
}

/* ---- texts that are no JSON object, or hold what JSON cannot ---- */

/* Keys given twice: each object's keys are compared as they come; a plan's objects are small, and the rows in
 * one are limited by the reader. */
static bool has_double_keys(mk_checker *c, mk_str text, mk_str *which)
{
    struct {
        size_t first; /* in `keys` */
    } stack[66];
    mk_json_reader reader;
    mk_str *keys = NULL;
    size_t count = 0, cap = 0, depth = 0;
    bool found = false;
    mk_json_open(&reader, c->arena->alloc, text, &plan_limits);
    while (!found && mk_json_next(&reader, NULL) == MK_OK && reader.token != MK_TOK_END) {
        if (reader.token == MK_TOK_OBJECT || reader.token == MK_TOK_ARRAY) {
            stack[depth++].first = count;
        } else if (reader.token == MK_TOK_OBJECT_END || reader.token == MK_TOK_ARRAY_END) {
            count = stack[--depth].first;
        } else if (reader.token == MK_TOK_KEY) {
            for (size_t i = stack[depth - 1].first; i < count && !found; i++)
                found = mk_str_eq(keys[i], reader.text);
            if (count == cap) {
                mk_str *more = mk_arena_get(c->arena, (cap ? cap * 2 : 64) * sizeof *more);
                if (more == NULL)
                    break;
                if (count != 0)
                    memcpy(more, keys, count * sizeof *keys);
                keys = more;
                cap = cap ? cap * 2 : 64;
            }
            keys[count] = mk_arena_copy(c->arena, reader.text);
            c->nomem |= keys[count].p == NULL;
            *which = keys[count++];
        }
    }
    mk_json_close(&reader);
    return found;
}

/* Depth is limited by the reader. */
static bool has_bad_number(const mk_json *value)
{
    if (value->kind == MK_JSON_FLOAT)
        return !isfinite(value->d);
    if (value->kind == MK_JSON_INT)
        return value->b;
    for (size_t i = 0; i < value->n && value->kind == MK_JSON_ARRAY; i++)
        if (has_bad_number(&value->items[i]))
            return true;
    for (size_t i = 0; i < value->n && value->kind == MK_JSON_OBJECT; i++)
        if (has_bad_number(&value->members[i].value))
            return true;
    return false;
}

/* ---- members ---- */

static void check_members(mk_checker *c, const mk_json *object, const char *const *known, const char *where)
{
    for (size_t i = 0; i < object->n; i++) {
        const mk_str key = object->members[i].key;
        bool is_known = false;
        for (size_t k = 0; known[k] != NULL; k++)
            is_known |= mk_str_eq(key, mk_str_of(known[k]));
        if (is_known)
            continue;
        char path[200], what[400];
        size_t n =
            (size_t)snprintf(what, sizeof what, "unknown member '%.*s'; known here:", MK_PLAN_CUT(key, 60));
        for (size_t k = 0; known[k] != NULL && n < sizeof what; k++)
            n += (size_t)snprintf(what + n, sizeof what - n, "%s %s", k ? "," : "", known[k]);
        snprintf(path, sizeof path, "%s%s%.*s", where, where[0] ? "." : "", MK_PLAN_CUT(key, 60));
        refuse(c, path, what);
    }
}

/* A member that must be text. */
static bool read_text(mk_checker *c, const mk_json *object, const char *name, const char *where,
                      bool required, mk_str *out)
{
    const mk_json *value = mk_json_get(object, name);
    char path[200], what[120];
    *out = (mk_str){NULL, 0};
    if (value == NULL && !required)
        return true;
    if (value != NULL && value->kind == MK_JSON_STRING && (value->text.n > 0 || !required)) {
        *out = value->text;
        return true;
    }
    snprintf(path, sizeof path, "%s%s%s", where, where[0] ? "." : "", name);
    snprintf(what, sizeof what, value == NULL ? "'%s' is missing" : "'%s' must be text that is not empty",
             name);
    refuse(c, path, what);
    return false;
}

static bool is_step_id(mk_str id)
{
    for (size_t i = 1; i < id.n; i++)
        if (id.p[i] < '0' || id.p[i] > '9')
            return false;
    return id.n >= 2 && id.n <= 32 && id.p[0] == 's';
}

/* ---- steps ---- */

static bool read_step(mk_checker *c, const mk_json *json, size_t index, mk_plan_step *out)
{
    static const char *const known[] = {"id", "op", "args", "depends_on", NULL};
    char where[40], path[60];
    snprintf(where, sizeof where, "steps[%zu]", index);
    if (json->kind != MK_JSON_OBJECT) {
        refuse(c, where, "a step is an object with id, op, args and depends_on");
        return false;
    }
    check_members(c, json, known, where);
    bool ok = read_text(c, json, "id", where, true, &out->id);
    if (ok && !is_step_id(out->id)) {
        snprintf(path, sizeof path, "%s.id", where);
        refuse(c, path, "a step's id is the letter s and digits, such as s1");
        ok = false;
    }
    ok &= read_text(c, json, "op", where, true, &out->op_name);
    out->args = mk_json_get(json, "args");
    if (out->args == NULL || out->args->kind != MK_JSON_OBJECT) {
        snprintf(path, sizeof path, "%s.args", where);
        refuse(c, path,
               out->args == NULL ? "'args' is missing; write {} for none" : "'args' must be an object");
        ok = false;
    }
    out->op = ok ? mk_operator_find(out->op_name) : NULL;
    return ok;
}

static bool read_steps(mk_checker *c, const mk_json *steps)
{
    mk_plan *plan = &c->out->plan;
    bool ok = true;
    if (steps == NULL || steps->kind != MK_JSON_ARRAY || steps->n == 0) {
        refuse(c, "steps", "'steps' must be a list of 1 to 12 steps");
        return false;
    }
    if (steps->n > MK_PLAN_STEPS_MAX) {
        char what[120];
        snprintf(what, sizeof what, "%zu steps; at most %d are possible: let one operator do more", steps->n,
                 MK_PLAN_STEPS_MAX);
        refuse(c, "steps", what);
        return false;
    }
    for (size_t i = 0; i < steps->n; i++)
        ok &= read_step(c, &steps->items[i], i, &plan->steps[i]);
    plan->step_count = steps->n;
    for (size_t i = 0; ok && i < steps->n; i++)
        for (size_t k = 0; k < i; k++)
            if (mk_str_eq(plan->steps[i].id, plan->steps[k].id)) {
                char path[40], what[100];
                snprintf(path, sizeof path, "steps[%zu].id", i);
                snprintf(what, sizeof what, "two steps are called %.*s", MK_PLAN_CUT(plan->steps[i].id, 40));
                refuse(c, path, what);
                return false;
            }
    return ok;
}

/* ---- dependencies ---- */

static size_t find_step(const mk_plan *plan, mk_str id)
{
    size_t i = 0;
    while (i < plan->step_count && !mk_str_eq(plan->steps[i].id, id))
        i++;
    return i;
}

static bool depends_already(const mk_plan_step *step, size_t on)
{
    for (size_t i = 0; i < step->depend_count; i++)
        if (step->depends[i] == on)
            return true;
    return false;
}

static bool read_depends(mk_checker *c, const mk_json *list, size_t index)
{
    mk_plan *plan = &c->out->plan;
    mk_plan_step *step = &plan->steps[index];
    char path[60];
    if (list == NULL)
        return true;
    if (list->kind != MK_JSON_ARRAY) {
        snprintf(path, sizeof path, "steps[%zu].depends_on", index);
        refuse(c, path, "'depends_on' must be a list of step ids");
        return false;
    }
    for (size_t i = 0; i < list->n && i < STEPS_LOOKED_AT; i++) {
        const mk_json *item = &list->items[i];
        snprintf(path, sizeof path, "steps[%zu].depends_on[%zu]", index, i);
        if (item->kind != MK_JSON_STRING) {
            refuse(c, path, "'depends_on' must be a list of step ids");
            return false;
        }
        const size_t on = find_step(plan, item->text);
        if (on < plan->step_count) {
            if (!depends_already(step, on))
                step->depends[step->depend_count++] = on;
            continue;
        }
        mk_violation *v = mk_plan__add(c, MK_E_SCHEMA, index, path);
        if (v != NULL)
            v->message =
                mk_plan__text(c, "there is no step '%.*s' to depend on", MK_PLAN_CUT(item->text, 40));
    }
    return true;
}

/* Generations, plan order inside each. What is left over is on a cycle, or behind one. */
static void order_steps(mk_checker *c)
{
    mk_plan *plan = &c->out->plan;
    bool done[MK_PLAN_STEPS_MAX] = {false};
    size_t count = 0;
    for (bool more = true; more;) {
        bool ready[MK_PLAN_STEPS_MAX];
        more = false;
        for (size_t i = 0; i < plan->step_count; i++) {
            ready[i] = !done[i];
            for (size_t k = 0; k < plan->steps[i].depend_count; k++)
                ready[i] &= done[plan->steps[i].depends[k]];
        }
        for (size_t i = 0; i < plan->step_count; i++)
            if (ready[i]) {
                plan->order[count++] = i;
                done[i] = more = true;
            }
    }
    if (count == plan->step_count)
        return;
    char what[300];
    size_t n = (size_t)snprintf(what, sizeof what, "steps wait for each other:");
    for (size_t i = 0; i < plan->step_count && n < sizeof what; i++)
        if (!done[i]) {
            n += (size_t)snprintf(what + n, sizeof what - n, " %.*s", MK_PLAN_CUT(plan->steps[i].id, 32));
            plan->order[count++] = i;
        }
    refuse(c, "steps", what);
    plan->cyclic = true;
}

/* ---- the whole ---- */

static bool read_answer_spec(mk_checker *c, const mk_json *spec)
{
    static const char *const known[] = {"kind", "from", NULL};
    mk_plan *plan = &c->out->plan;
    mk_str kind;
    if (spec == NULL || spec->kind != MK_JSON_OBJECT) {
        refuse(c, "answer_spec", "'answer_spec' must be an object with kind and from");
        return false;
    }
    check_members(c, spec, known, "answer_spec");
    const bool has_kind = read_text(c, spec, "kind", "answer_spec", true, &kind);
    const bool has_from = read_text(c, spec, "from", "answer_spec", true, &plan->from);
    for (size_t i = 0; has_kind && i < KIND_COUNT; i++)
        if (mk_str_eq(kind, mk_str_of(kind_names[i]))) {
            plan->kind = (mk_answer_kind)i;
            return has_from;
        }
    if (has_kind)
        refuse(c, "answer_spec.kind",
               "a kind is one of count, value, entity_set, interval, series, paths, text");
    return false;
}

static bool read_object(mk_checker *c, const mk_json *json)
{
    static const char *const known[] = {"plan_id", "question", "steps", "answer_spec", NULL};
    mk_plan *plan = &c->out->plan;
    if (json->kind != MK_JSON_OBJECT) {
        refuse(c, "", "a plan is one JSON object with plan_id, steps and answer_spec");
        return false;
    }
    plan->json = json;
    check_members(c, json, known, "");
    bool ok = read_text(c, json, "plan_id", "", true, &plan->plan_id);
    ok &= read_text(c, json, "question", "", false, &plan->question);
    ok &= read_steps(c, mk_json_get(json, "steps"));
    ok &= read_answer_spec(c, mk_json_get(json, "answer_spec"));
    if (!ok || c->out->violation_count != 0)
        return false;
    const mk_json *steps = mk_json_get(json, "steps");
    for (size_t i = 0; i < steps->n; i++)
        ok &= read_depends(c, mk_json_get(&steps->items[i], "depends_on"), i);
    if (!ok)
        return false;
    order_steps(c);
    c->out->has_plan = true;
    return true;
}

bool mk_plan__read(mk_checker *c, mk_str text)
{
    mk_json *tree;
    mk_err err;
    mk_str key = {NULL, 0};
    if (text.n > MK_PLAN_TEXT_MAX) {
        refuse(c, "", "a plan has at most 4 MiB");
        return false;
    }
    const mk_code rc = mk_json_parse(c->arena, text, &plan_limits, &tree, &err);
    if (rc == MK_E_NOMEM) {
        c->nomem = true;
        return false;
    }
    if (rc != MK_OK) {
        mk_violation *v = mk_plan__add(c, MK_E_SCHEMA, MK_PLAN_NO_STEP, "");
        if (v != NULL)
            v->message = mk_plan__text(c, "not readable as JSON: %s (at offset %lld)", err.message,
                                       (long long)err.offset);
        return false;
    }
    if (has_double_keys(c, text, &key)) {
        mk_violation *v = mk_plan__add(c, MK_E_SCHEMA, MK_PLAN_NO_STEP, "");
        if (v != NULL)
            v->message =
                mk_plan__text(c, "the member '%.*s' is given twice in one object", MK_PLAN_CUT(key, 60));
        return false;
    }
    if (has_bad_number(tree)) {
        refuse(c, "", "a number in the plan is not finite, or beyond 64 bits");
        return false;
    }
    return !c->nomem && read_object(c, tree);
}

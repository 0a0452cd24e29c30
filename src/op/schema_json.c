/* schema_json.c — the registry's tables as JSON Schema. Layer: op.
 *
 * Written in the order of the tables, then brought into canonical form as a whole. Draft 2020-12;
 * only keywords that every validator has. */
#include "op/schema.h"

#include "base/num.h"

/* "type":"integer", or "type":["integer","null"]. */
static void put_type(mk_buf *out, const char *type, const char *other, bool nullable)
{
    const bool list = other != NULL || nullable;
    mk_buf_z(out, list ? "\"type\":[\"" : "\"type\":\"");
    mk_buf_z(out, type);
    if (other != NULL) {
        mk_buf_z(out, "\",\"");
        mk_buf_z(out, other);
    }
    mk_buf_z(out, nullable ? "\",\"null\"" : "\"");
    if (list)
        mk_buf_c(out, ']');
}

static void put_i64(mk_buf *out, const char *keyword, int64_t value)
{
    mk_buf_z(out, ",\"");
    mk_buf_z(out, keyword);
    mk_buf_z(out, "\":");
    mk_buf_i64(out, value);
}

static void put_double(mk_buf *out, const char *keyword, double value)
{
    char text[MK_DOUBLE_TEXT_MAX];
    mk_buf_z(out, ",\"");
    mk_buf_z(out, keyword);
    mk_buf_z(out, "\":");
    mk_buf_put(out, text, mk_double_text(text, value));
}

static void put_doc(mk_buf *out, const char *doc)
{
    if (doc == NULL)
        return;
    mk_buf_z(out, ",\"description\":");
    mk_canon_string(out, mk_str_of(doc));
}

/* ---- arguments ---- */

/* Tables nest a fixed, small number of levels, so the two functions may call each other. */
static void put_arg(mk_buf *out, const mk_arg *arg);

static void put_args(mk_buf *out, const mk_arg *members)
{
    mk_buf_z(out, "\"additionalProperties\":false,\"properties\":{");
    for (const mk_arg *m = members; m->name != NULL; m++) {
        if (m != members)
            mk_buf_c(out, ',');
        mk_canon_string(out, mk_str_of(m->name));
        mk_buf_c(out, ':');
        put_arg(out, m);
    }
    mk_buf_z(out, "},\"required\":[");
    bool first = true;
    for (const mk_arg *m = members; m->name != NULL; m++) {
        if (!m->required)
            continue;
        if (!first)
            mk_buf_c(out, ',');
        mk_canon_string(out, mk_str_of(m->name));
        first = false;
    }
    mk_buf_c(out, ']');
}

static void put_integer(mk_buf *out, const mk_arg *arg)
{
    put_type(out, "integer", NULL, arg->nullable);
    if (arg->min != INT64_MIN)
        put_i64(out, "minimum", arg->min);
    if (arg->max != INT64_MAX && !arg->any_size)
        put_i64(out, "maximum", arg->max);
}

static void put_number(mk_buf *out, const mk_arg *arg)
{
    put_type(out, "number", NULL, arg->nullable);
    if (arg->bounded) {
        put_double(out, "exclusiveMinimum", arg->above);
        put_double(out, "maximum", arg->upto);
    }
}

static void put_enum(mk_buf *out, const mk_arg *arg)
{
    mk_buf_z(out, "\"enum\":[");
    for (size_t i = 0; arg->choices[i] != NULL; i++) {
        if (i != 0)
            mk_buf_c(out, ',');
        mk_canon_string(out, mk_str_of(arg->choices[i]));
    }
    mk_buf_z(out, arg->nullable ? ",null]" : "]");
}

static void put_list(mk_buf *out, const mk_arg *arg)
{
    put_type(out, "array", NULL, arg->nullable);
    if (arg->min > 0)
        put_i64(out, "minItems", arg->min);
    if (arg->max != INT64_MAX)
        put_i64(out, "maxItems", arg->max);
    if (arg->item != NULL) {
        mk_buf_z(out, ",\"items\":");
        put_arg(out, arg->item);
    }
}

static void put_arg(mk_buf *out, const mk_arg *arg)
{
    mk_buf_c(out, '{');
    switch (arg->type) {
    case MK_ARG_TIMESTAMP:
        put_type(out, "integer", "string", arg->nullable);
        put_i64(out, "minimum", arg->min);
        put_i64(out, "maximum", arg->max);
        break;
    case MK_ARG_INTEGER:
        put_integer(out, arg);
        break;
    case MK_ARG_NUMBER:
        put_number(out, arg);
        break;
    case MK_ARG_BOOLEAN:
        put_type(out, "boolean", NULL, arg->nullable);
        break;
    case MK_ARG_STRING:
        put_type(out, "string", NULL, arg->nullable);
        if (arg->min > 0)
            put_i64(out, "minLength", arg->min);
        break;
    case MK_ARG_ENUM:
        put_enum(out, arg);
        break;
    case MK_ARG_LIST:
        put_list(out, arg);
        break;
    case MK_ARG_OBJECT:
        put_type(out, "object", NULL, arg->nullable);
        mk_buf_c(out, ',');
        put_args(out, arg->members);
        break;
    case MK_ARG_ANY:
        mk_buf_z(out, "\"$comment\":\"any value\"");
        break;
    }
    if (arg->default_json != NULL) {
        mk_buf_z(out, ",\"default\":");
        mk_buf_z(out, arg->default_json);
    }
    put_doc(out, arg->doc);
    mk_buf_c(out, '}');
}

/* ---- results ---- */

static void put_field(mk_buf *out, const mk_field *field);

static void put_fields(mk_buf *out, const mk_field *members, bool open)
{
    mk_buf_z(out, open ? "\"properties\":{" : "\"additionalProperties\":false,\"properties\":{");
    for (const mk_field *m = members; m->name != NULL; m++) {
        if (m != members)
            mk_buf_c(out, ',');
        mk_canon_string(out, mk_str_of(m->name));
        mk_buf_c(out, ':');
        put_field(out, m);
    }
    mk_buf_z(out, "},\"required\":[");
    bool first = true;
    for (const mk_field *m = members; m->name != NULL; m++) {
        if (m->optional)
            continue;
        if (!first)
            mk_buf_c(out, ',');
        mk_canon_string(out, mk_str_of(m->name));
        first = false;
    }
    mk_buf_c(out, ']');
}

static void put_field_type(mk_buf *out, const mk_field *field)
{
    static const char *const names[] = {
        [MK_FIELD_INTEGER] = "integer", [MK_FIELD_FLOAT] = "number",
        [MK_FIELD_NUMBER] = "number",   [MK_FIELD_BOOLEAN] = "boolean",
        [MK_FIELD_STRING] = "string",   [MK_FIELD_TIME] = "integer",
        [MK_FIELD_LIST] = "array",      [MK_FIELD_OBJECT] = "object",
    };
    if (field->type == MK_FIELD_ANY)
        mk_buf_z(out, "\"$comment\":\"any value\"");
    else
        put_type(out, names[field->type], NULL, field->nullable);
}

static void put_field(mk_buf *out, const mk_field *field)
{
    mk_buf_c(out, '{');
    put_field_type(out, field);
    if (field->type == MK_FIELD_LIST && field->item != NULL) {
        mk_buf_z(out, ",\"items\":");
        put_field(out, field->item);
    }
    if (field->type == MK_FIELD_OBJECT && field->members != NULL) {
        mk_buf_c(out, ',');
        put_fields(out, field->members, field->open);
    }
    put_doc(out, field->doc);
    mk_buf_c(out, '}');
}

/* ---- as wholes ---- */

enum { ARGUMENTS = 1, RESULT = 2 };

/* Names the choices that lead to one and the same payload: "fn: count, sum with group_by". */
static void put_choices(mk_buf *out, const mk_operator *op, const mk_field *fields)
{
    mk_buf_z(out, "\"title\":\"");
    mk_buf_z(out, op->variant_arg);
    const char *before = ": ";
    for (const mk_variant *v = op->variants; v->choice != NULL; v++) {
        if (v->fields != fields)
            continue;
        mk_buf_z(out, before);
        mk_buf_z(out, v->choice);
        mk_buf_z(out, v->grouped ? " with group_by" : "");
        before = ", ";
    }
    mk_buf_c(out, '"');
}

/* The first of the variants with its payload stands for all of them. */
static bool is_first(const mk_operator *op, const mk_variant *variant)
{
    const mk_variant *v = op->variants;
    while (v->fields != variant->fields)
        v++;
    return v == variant;
}

static void put_variants(mk_buf *out, const mk_operator *op)
{
    mk_buf_z(out, ",\"anyOf\":[");
    for (const mk_variant *v = op->variants; v->choice != NULL; v++) {
        if (!is_first(op, v))
            continue;
        mk_buf_z(out, v == op->variants ? "{" : ",{");
        put_choices(out, op, v->fields);
        mk_buf_c(out, ',');
        put_fields(out, v->fields, false);
        mk_buf_c(out, '}');
    }
    mk_buf_c(out, ']');
}

static void put_whole(mk_buf *out, const mk_operator *op, int part)
{
    mk_buf_z(out, "{\"type\":\"object\",");
    if (part == ARGUMENTS)
        put_args(out, op->args);
    else
        put_fields(out, op->fields, false);
    if (part == RESULT && op->variants != NULL)
        put_variants(out, op);
    mk_buf_c(out, '}');
}

static mk_code put_canonical(mk_buf *out, mk_arena *arena, const mk_operator *op, int parts,
                             mk_err *err)
{
    mk_buf raw;
    mk_code rc;
    mk_buf_init(&raw, arena->alloc);
    if (parts == (ARGUMENTS | RESULT)) {
        mk_buf_z(&raw, "{\"arguments\":");
        put_whole(&raw, op, ARGUMENTS);
        mk_buf_z(&raw, ",\"result\":");
        put_whole(&raw, op, RESULT);
        mk_buf_c(&raw, '}');
    } else {
        put_whole(&raw, op, parts);
    }
    MK_TRY(rc, mk_buf_done(&raw, err));
    MK_TRY(rc, mk_canon_text(out, arena, mk_buf_view(&raw), NULL, err));

out:
    mk_buf_free(&raw);
    return rc;
}

mk_code mk_op_schema_json(mk_buf *out, mk_arena *arena, const mk_operator *op, mk_err *err)
{
    return put_canonical(out, arena, op, ARGUMENTS | RESULT, err);
}

mk_code mk_op_args_schema(mk_buf *out, mk_arena *arena, const mk_operator *op, mk_err *err)
{
    return put_canonical(out, arena, op, ARGUMENTS, err);
}

mk_code mk_op_result_schema(mk_buf *out, mk_arena *arena, const mk_operator *op, mk_err *err)
{
    return put_canonical(out, arena, op, RESULT, err);
}

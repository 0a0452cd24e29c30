/* plan_schema.c — the JSON Schema of plans. See schema_gbnf.h. Layer: agent. */
#include "agent/schema_gbnf.h"
#include "base/canon.h"
#include "base/num.h"
#include "plan/plan.h"

#define REF_OR "\"anyOf\":[{\"$ref\":\"#/$defs/ref\"},"

static void put_bounds(mk_buf *out, const char *low, int64_t min, const char *high, int64_t max)
{
    if (min != INT64_MIN)
        mk_buf_printf(out, ",\"%s\":%lld", low, (long long)min);
    if (max != INT64_MAX)
        mk_buf_printf(out, ",\"%s\":%lld", high, (long long)max);
}

/* Tables nest a fixed, small number of levels, so the functions may call each other. */
static void put_arg(mk_buf *out, const mk_arg *arg);

static void put_members(mk_buf *out, const mk_arg *members)
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
    mk_buf_z(out, "],\"type\":\"object\"");
}

static void put_choices(mk_buf *out, const mk_arg *arg)
{
    mk_buf_z(out, "\"enum\":[");
    for (size_t i = 0; arg->choices[i] != NULL; i++) {
        if (i != 0)
            mk_buf_c(out, ',');
        mk_canon_string(out, mk_str_of(arg->choices[i]));
    }
    mk_buf_c(out, ']');
}

static void put_number(mk_buf *out, const mk_arg *arg)
{
    char text[MK_DOUBLE_TEXT_MAX];
    mk_buf_z(out, "\"type\":\"number\"");
    if (!arg->bounded)
        return;
    mk_buf_z(out, ",\"exclusiveMinimum\":");
    mk_buf_put(out, text, mk_double_text(text, arg->above));
    mk_buf_z(out, ",\"maximum\":");
    mk_buf_put(out, text, mk_double_text(text, arg->upto));
}

/* The members of a schema for a literal value, without braces. */
static void put_literal(mk_buf *out, const mk_arg *arg)
{
    switch (arg->type) {
    case MK_ARG_TIMESTAMP:
    case MK_ARG_INTEGER:
        mk_buf_z(out, "\"type\":\"integer\"");
        put_bounds(out, "minimum", arg->min, "maximum", arg->any_size ? INT64_MAX : arg->max);
        break;
    case MK_ARG_NUMBER:
        put_number(out, arg);
        break;
    case MK_ARG_BOOLEAN:
        mk_buf_z(out, "\"type\":\"boolean\"");
        break;
    case MK_ARG_STRING:
        mk_buf_z(out, "\"type\":\"string\"");
        if (arg->min > 0)
            put_bounds(out, "minLength", arg->min, "", INT64_MAX);
        break;
    case MK_ARG_ENUM:
        put_choices(out, arg);
        break;
    case MK_ARG_LIST:
        mk_buf_z(out, "\"type\":\"array\"");
        put_bounds(out, "minItems", arg->min, "maxItems", arg->max);
        if (arg->item != NULL) {
            mk_buf_z(out, ",\"items\":");
            put_arg(out, arg->item);
        }
        break;
    case MK_ARG_OBJECT:
        put_members(out, arg->members);
        break;
    case MK_ARG_ANY:
        mk_buf_z(out, "\"$comment\":\"any value\"");
        break;
    }
}

/* Any value of a plan may be a reference instead. */
static void put_arg(mk_buf *out, const mk_arg *arg)
{
    mk_buf_z(out, "{" REF_OR);
    if (arg->nullable)
        mk_buf_z(out, "{\"type\":\"null\"},");
    mk_buf_c(out, '{');
    put_literal(out, arg);
    mk_buf_z(out, "}]}");
}

static void put_step(mk_buf *out, const mk_operator *op)
{
    mk_buf_z(out, "{\"additionalProperties\":false,\"properties\":{\"args\":{");
    put_members(out, op->args);
    mk_buf_z(out, "},\"depends_on\":{\"items\":{\"$ref\":\"#/$defs/id\"},\"type\":\"array\"},\"id\":"
                  "{\"$ref\":\"#/$defs/id\"},\"op\":{\"enum\":[");
    mk_canon_string(out, mk_str_of(op->name));
    mk_buf_z(out, "]}},\"required\":[\"id\",\"op\",\"args\",\"depends_on\"],\"type\":\"object\"}");
}

static void put_plan(mk_buf *out)
{
    size_t count;
    const mk_operator *const *ops = mk_operators(&count);
    mk_buf_z(out, "{\"$defs\":{\"id\":{\"pattern\":\"^s[0-9]{1,3}$\",\"type\":\"string\"},\"ref\":"
                  "{\"additionalProperties\":false,\"properties\":{\"$ref\":{\"pattern\":"
                  "\"^s[0-9]{1,3}([.][A-Za-z_][A-Za-z0-9_]*([[]([0-9]+|[*])[]])?)+$\",\"type\":\"string\"}},"
                  "\"required\":[\"$ref\"],\"type\":\"object\"}},\"additionalProperties\":false,"
                  "\"properties\":{"
                  "\"answer_spec\":{\"additionalProperties\":false,\"properties\":{\"from\":{\"pattern\":"
                  "\"^s[0-9]{1,3}([.][A-Za-z_][A-Za-z0-9_]*([[]([0-9]+|[*])[]])?)*$\",\"type\":\"string\"},"
                  "\"kind\":{\"enum\":[");
    for (int kind = MK_ANSWER_COUNT; kind <= MK_ANSWER_TEXT; kind++) {
        if (kind != MK_ANSWER_COUNT)
            mk_buf_c(out, ',');
        mk_canon_string(out, mk_str_of(mk_answer_kind_name((mk_answer_kind)kind)));
    }
    mk_buf_z(out, "]}},\"required\":[\"kind\",\"from\"],\"type\":\"object\"},\"plan_id\":"
                  "{\"pattern\":\"^[A-Za-z0-9_.:-]{1,64}$\",\"type\":"
                  "\"string\"},\"question\":{\"type\":\"string\"},\"steps\":{\"items\":{\"anyOf\":[");
    for (size_t i = 0; i < count; i++) {
        if (i != 0)
            mk_buf_c(out, ',');
        put_step(out, ops[i]);
    }
    mk_buf_printf(out, "]},\"maxItems\":%d,\"minItems\":1,\"type\":\"array\"}},\"required\":"
                       "[\"plan_id\",\"steps\","
                       "\"answer_spec\"],\"type\":\"object\"}",
                  MK_PLAN_STEPS_MAX);
}

mk_code mk_plan_schema(mk_buf *out, mk_arena *arena, mk_err *err)
{
    mk_buf raw;
    mk_code rc;
    mk_buf_init(&raw, arena->alloc);
    put_plan(&raw);
    MK_TRY(rc, mk_buf_done(&raw, err));
    rc = mk_canon_text(out, arena, mk_buf_view(&raw), NULL, err);
out:
    mk_buf_free(&raw);
    return rc;
}

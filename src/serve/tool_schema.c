/* tool_schema.c — operators as tools: schemas and descriptions. See tool.h. Layer: serve.
 *
 * One `type` a node, no unions, no references, every bound repeated in words, because clients drop keywords
 * they do not know. Times are text: models write dates better than microseconds, and integers stay welcome at
 * the edge. */
#include "serve/tool.h"

#include <stdio.h>

#define DESCRIPTION_MAX 500u

bool mk_tool_takes_refs(const mk_operator *op)
{
    for (const mk_arg *a = op->args; a->name != NULL; a++)
        if (strcmp(a->name, "input") == 0)
            return true;
    return false;
}

/* An object may have 25 properties; the page of a computed list is the one that can be done without. */
bool mk_tool_takes(const mk_operator *op, const char *name)
{
    return !(mk_tool_takes_refs(op) && strcmp(name, "limit") == 0);
}

/* ---- descriptions ---- */

static size_t first_sentence(const char *doc)
{
    const char *dot = strstr(doc, ". ");
    return dot != NULL ? (size_t)(dot - doc) : strlen(doc) - (doc[0] != '\0' && doc[strlen(doc) - 1] == '.');
}

/* Every bound in words, but for what the doc says already: the list of tools has a budget of bytes. */
static void put_bounds(mk_buf *text, const mk_arg *arg)
{
    switch (arg->type) {
    case MK_ARG_TIMESTAMP:
        if (arg->doc == NULL || strstr(arg->doc, "ISO 8601") == NULL)
            mk_buf_z(text, "; ISO 8601 or microseconds");
        break;
    case MK_ARG_ANY:
        mk_buf_z(text, "; text that is a JSON literal (12, true, null, \"12\") is that value");
        break;
    case MK_ARG_INTEGER:
        if (arg->max != INT64_MAX && !arg->any_size)
            mk_buf_printf(text, "; %lld to %lld", (long long)arg->min, (long long)arg->max);
        else if (arg->min != INT64_MIN)
            mk_buf_printf(text, "; at least %lld", (long long)arg->min);
        break;
    case MK_ARG_NUMBER:
        if (arg->bounded)
            mk_buf_printf(text, "; above %.15g, at most %.15g", arg->above, arg->upto);
        break;
    case MK_ARG_LIST:
        if (arg->max != INT64_MAX && arg->min == 0)
            mk_buf_printf(text, "; at most %lld items", (long long)arg->max);
        else if (arg->max != INT64_MAX)
            mk_buf_printf(text, "; %lld to %lld items", (long long)arg->min, (long long)arg->max);
        break;
    default: break;
    }
}

static bool has_default(const mk_arg *arg)
{
    return arg->default_json != NULL && strcmp(arg->default_json, "null") != 0 &&
           arg->type != MK_ARG_TIMESTAMP && arg->type != MK_ARG_LIST && arg->type != MK_ARG_OBJECT &&
           arg->type != MK_ARG_ANY;
}

static void put_description(mk_buf *out, const mk_arg *arg)
{
    mk_buf text;
    mk_buf_init(&text, out->alloc);
    const char *doc = arg->doc != NULL ? arg->doc : arg->name;
    mk_buf_put(&text, doc, first_sentence(doc));
    put_bounds(&text, arg);
    if (has_default(arg)) {
        mk_buf_z(&text, "; default ");
        mk_buf_z(&text, arg->default_json);
    }
    mk_buf_z(out, ",\"description\":");
    mk_canon_string(out, text.failed ? MK_STR("") : mk_buf_view(&text));
    out->failed |= text.failed;
    mk_buf_free(&text);
}

/* ---- schemas ---- */

static void put_schema(mk_buf *out, const mk_arg *arg);

static void put_limits(mk_buf *out, const mk_arg *arg)
{
    const char *const low = arg->type == MK_ARG_LIST ? "minItems" : "minimum";
    const char *const high = arg->type == MK_ARG_LIST ? "maxItems" : "maximum";
    if (arg->min != INT64_MIN && !(arg->type == MK_ARG_LIST && arg->min == 0))
        mk_buf_printf(out, ",\"%s\":%lld", low, (long long)arg->min);
    if (arg->max != INT64_MAX && !arg->any_size)
        mk_buf_printf(out, ",\"%s\":%lld", high, (long long)arg->max);
}

static void put_members(mk_buf *out, const mk_arg *members)
{
    const char *comma = "";
    mk_buf_z(out, "\"type\":\"object\",\"additionalProperties\":false");
    for (const mk_arg *m = members; m->name != NULL; m++)
        if (m->required) {
            mk_buf_printf(out, "%s\"%s\"", comma[0] ? comma : ",\"required\":[", m->name);
            comma = ",";
        }
    mk_buf_z(out, comma[0] ? "],\"properties\":{" : ",\"properties\":{");
    for (const mk_arg *m = members; m->name != NULL; m++) {
        mk_buf_printf(out, "%s\"%s\":", m == members ? "" : ",", m->name);
        put_schema(out, m);
    }
    mk_buf_c(out, '}');
}

static void put_list(mk_buf *out, const mk_arg *arg)
{
    mk_buf_z(out, "\"type\":\"array\",\"items\":");
    if (arg->item != NULL)
        put_schema(out, arg->item);
    else
        mk_buf_z(out, "{\"type\":\"string\"}"); /* rows are accepted as they are too */
    put_limits(out, arg);
}

static void put_enum(mk_buf *out, const mk_arg *arg)
{
    mk_buf_z(out, "\"type\":\"string\",\"enum\":[");
    for (size_t i = 0; arg->choices[i] != NULL; i++)
        mk_buf_printf(out, "%s\"%s\"", i ? "," : "", arg->choices[i]);
    mk_buf_c(out, ']');
}

static void put_schema(mk_buf *out, const mk_arg *arg)
{
    mk_buf_c(out, '{');
    switch (arg->type) {
    case MK_ARG_INTEGER:
        mk_buf_z(out, "\"type\":\"integer\"");
        put_limits(out, arg);
        break;
    case MK_ARG_NUMBER: mk_buf_z(out, "\"type\":\"number\""); break;
    case MK_ARG_BOOLEAN: mk_buf_z(out, "\"type\":\"boolean\""); break;
    case MK_ARG_ENUM: put_enum(out, arg); break;
    case MK_ARG_LIST: put_list(out, arg); break;
    case MK_ARG_OBJECT: put_members(out, arg->members); break;
    default: mk_buf_z(out, "\"type\":\"string\""); break;
    }
    if (arg->doc != NULL)
        put_description(out, arg);
    mk_buf_c(out, '}');
}

static void put_wire_only(mk_buf *out, const mk_operator *op, bool first)
{
    const char *comma = first ? "" : ",";
    if (mk_tool_takes_refs(op))
        mk_buf_printf(out, "%s\"input_ref\":{\"type\":\"string\",\"description\":\"instead of input: "
                      "<result_digest>.rows of an earlier result; read whole, not as the page shown\"},"
                      "\"other_ref\":{\"type\":\"string\",\"description\":\"the same for other\"}", comma);
    else
        mk_buf_printf(out, "%s\"time_format\":{\"type\":\"string\",\"enum\":[\"us\",\"iso\"],"
                      "\"description\":\"times in the reply; default us\"}", comma);
}

void mk_tool_input_schema(mk_buf *out, const mk_operator *op)
{
    const char *comma = "";
    mk_buf_z(out, "{\"type\":\"object\",\"additionalProperties\":false");
    for (const mk_arg *a = op->args; a->name != NULL; a++)
        if (a->required) {
            mk_buf_printf(out, "%s\"%s\"", comma[0] ? comma : ",\"required\":[", a->name);
            comma = ",";
        }
    mk_buf_z(out, comma[0] ? "],\"properties\":{" : ",\"properties\":{");
    bool first = true;
    for (const mk_arg *a = op->args; a->name != NULL; a++) {
        if (!mk_tool_takes(op, a->name))
            continue;
        mk_buf_printf(out, "%s\"%s\":", first ? "" : ",", a->name);
        put_schema(out, a);
        first = false;
    }
    put_wire_only(out, op, first);
    mk_buf_z(out, "}}");
}

/* ---- entries ---- */

static void put_title(mk_buf *out, const char *name)
{
    char title[64];
    snprintf(title, sizeof title, "%s", name);
    for (char *c = title; *c != '\0'; c++)
        if (*c == '_')
            *c = ' ';
    if (title[0] >= 'a' && title[0] <= 'z')
        title[0] = (char)(title[0] - 'a' + 'A');
    mk_canon_string(out, mk_str_of(title));
}

/* The summary, then as many whole sentences of the help as there is room for. */
static void put_tool_description(mk_buf *out, const mk_operator *op)
{
    char text[DESCRIPTION_MAX + 1];
    size_t n = (size_t)snprintf(text, sizeof text, "%s.", op->summary);
    const char *at = op->help != NULL ? op->help : "";
    while (*at != '\0') {
        const size_t length = first_sentence(at);
        if (n + length + 2 > DESCRIPTION_MAX)
            break;
        text[n++] = ' ';
        for (size_t i = 0; i < length; i++)
            text[n++] = at[i] == '\n' ? ' ' : at[i];
        text[n++] = '.';
        at += length;
        while (*at == '.' || *at == ' ' || *at == '\n')
            at++;
    }
    mk_canon_string(out, (mk_str){text, n});
}

void mk_tool_op_entry(mk_buf *out, const mk_operator *op, bool raised, size_t result_bytes)
{
    mk_buf_printf(out, "{\"name\":\"%s\",\"title\":", op->name);
    put_title(out, op->name);
    mk_buf_z(out, ",\"description\":");
    put_tool_description(out, op);
    mk_buf_z(out, ",\"inputSchema\":");
    mk_tool_input_schema(out, op);
    mk_buf_z(out,
             ",\"outputSchema\":{\"type\":\"object\",\"required\":[\"op\",\"truncated\",\"result_digest\"],"
             "\"properties\":{\"op\":{\"type\":\"string\"},\"truncated\":{\"type\":\"boolean\"},"
             "\"result_digest\":{\"type\":\"string\"}}},\"annotations\":{\"title\":");
    put_title(out, op->name);
    mk_buf_z(
        out,
        ",\"readOnlyHint\":true,\"destructiveHint\":false,\"idempotentHint\":true,\"openWorldHint\":false}");
    if (raised)
        mk_buf_printf(out, ",\"_meta\":{\"anthropic/maxResultSizeChars\":%zu}",
                      result_bytes > 500000 ? (size_t)500000 : result_bytes);
    mk_buf_c(out, '}');
}

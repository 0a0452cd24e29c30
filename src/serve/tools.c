/* tools.c — the set of tools. See tool.h. Layer: serve. */
#include "serve/tool.h"

#include <stdlib.h>

typedef struct tool_data {
    mk_service *service;
    const mk_operator *op;
} tool_data;

/* ---- operators ---- */

static void op_entry(const mk_tool *tool, mk_buf *out)
{
    const tool_data *data = tool->data;
    const size_t bytes = data->service->options.result_bytes;
    mk_tool_op_entry(out, data->op, bytes > MK_RESULT_BYTES, bytes);
}

static mk_code op_run(const mk_tool *tool, mk_mcp_call *call, const mk_json *arguments, mk_buf *out, mk_err *err)
{
    const tool_data *data = tool->data;
    return mk_tool_run_op(data->service, data->op, call, arguments, out, err);
}

/* ---- the card ---- */

static void card_entry(const mk_tool *tool, mk_buf *out)
{
    (void)tool;
    mk_buf_z(out, "{\"name\":\"describe_dataset\",\"title\":\"Describe dataset\",\"description\":\"Start here: what the store "
                  "holds. Labels, relation types, property names with their kinds, counts, and the extent of both "
                  "clocks. Times are microseconds since 1970, UTC.\",\"inputSchema\":{\"type\":\"object\","
                  "\"additionalProperties\":false,\"properties\":{}},\"outputSchema\":{\"type\":\"object\","
                  "\"required\":[\"entities\"],\"properties\":{\"entities\":{\"type\":\"integer\"}}},\"annotations\":"
                  "{\"title\":\"Describe dataset\",\"readOnlyHint\":true,\"destructiveHint\":false,"
                  "\"idempotentHint\":true,\"openWorldHint\":false}}");
}

static mk_code card_run(const mk_tool *tool, mk_mcp_call *call, const mk_json *arguments, mk_buf *out, mk_err *err)
{
    const tool_data *data = tool->data;
    mk_buf text;
    mk_code rc;
    if (arguments != NULL && arguments->kind == MK_JSON_OBJECT && arguments->n != 0) {
        mk_fail(err, MK_E_SCHEMA, "describe_dataset takes no arguments");
        return MK_E_SCHEMA;
    }
    mk_buf_init(&text, data->service->alloc);
    rc = mk_service_card(data->service, mk_mcp_arena(call), &text, err);
    if (rc == MK_OK) {
        mk_tool_put_result(out, call, mk_buf_view(&text));
        rc = mk_buf_done(out, err);
    }
    mk_buf_free(&text);
    return rc;
}

/* ---- the set ---- */

static int by_name(const void *x, const void *y)
{
    const mk_tool *const *a = x, *const *b = y;
    return strcmp((*a)->name, (*b)->name);
}

/* Whether a word of the list is `name`. NULL lists everything. */
static bool is_listed(const char *only, const char *name)
{
    const size_t n = strlen(name);
    for (const char *at = only; at != NULL && *at != '\0';) {
        const size_t word = strcspn(at, ",");
        if (word == n && strncmp(at, name, n) == 0)
            return true;
        at += word + (at[word] == ',');
    }
    return only == NULL;
}

static bool is_known(const mk_operator *const *ops, size_t count, const char *word, size_t n)
{
    const mk_str name = {word, n};
    for (size_t i = 0; i < count; i++)
        if (mk_str_eq(name, mk_str_of(ops[i]->name)) || mk_str_eq(name, mk_str_of(ops[i]->group)))
            return true;
    return mk_str_eq(name, MK_STR("describe_dataset"));
}

static mk_code check_names(const mk_operator *const *ops, size_t count, const char *only, mk_err *err)
{
    for (const char *at = only; at != NULL && *at != '\0';) {
        const size_t word = strcspn(at, ",");
        if (!is_known(ops, count, at, word)) {
            const mk_operator *near = mk_operator_near((mk_str){at, word});
            mk_fail(err, MK_E_INVALID_ARG, "\"%.*s\" is neither a tool nor a group of tools", (int)word, at);
            mk_err_hint(err, "%s%s; merkhet ops lists them", near ? "did you mean " : "graph, memory and context are groups",
                        near ? near->name : "");
            return MK_E_INVALID_ARG;
        }
        at += word + (at[word] == ',');
    }
    return MK_OK;
}

mk_code mk_tools_open(const mk_alloc *alloc, mk_service *service, const char *only, mk_tools *out, mk_err *err)
{
    size_t count;
    const mk_operator *const *ops = mk_operators(&count);
    *out = (mk_tools){.alloc = alloc, .cap = count + 1};
    const mk_code rc = check_names(ops, count, only, err);
    if (rc != MK_OK)
        return rc;
    out->all = mk_new0(alloc, out->cap * sizeof *out->all);
    out->data = mk_new0(alloc, out->cap * sizeof(tool_data));
    out->list = mk_new0(alloc, out->cap * sizeof *out->list);
    if (out->all == NULL || out->data == NULL || out->list == NULL) {
        mk_tools_close(out);
        return mk_fail_nomem(err);
    }
    tool_data *data = out->data;
    for (size_t i = 0; i <= count; i++) {
        const mk_operator *op = i < count ? ops[i] : NULL;
        const char *name = op != NULL ? op->name : "describe_dataset";
        if (!is_listed(only, name) && !(op != NULL && is_listed(only, op->group)))
            continue;
        const size_t at = out->count++;
        data[at] = (tool_data){.service = service, .op = op};
        out->all[at] = (mk_tool){.name = name, .data = &data[at], .entry = op != NULL ? op_entry : card_entry,
                                 .run = op != NULL ? op_run : card_run};
        out->list[at] = &out->all[at];
    }
    qsort(out->list, out->count, sizeof *out->list, by_name);
    return MK_OK;
}

void mk_tools_close(mk_tools *tools)
{
    const mk_alloc *alloc = tools->alloc;
    if (tools->all != NULL)
        mk_free(alloc, tools->all, tools->cap * sizeof *tools->all);
    if (tools->data != NULL)
        mk_free(alloc, tools->data, tools->cap * sizeof(tool_data));
    if (tools->list != NULL)
        mk_free(alloc, tools->list, tools->cap * sizeof *tools->list);
    *tools = (mk_tools){.alloc = alloc};
}

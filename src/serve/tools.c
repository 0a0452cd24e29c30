/* tools.c — the set of tools. See tool.h. Layer: serve. */
#include "serve/tool.h"

#include <stdlib.h>

typedef struct tool_data {
    mk_service *service;
    const mk_operator *op;
    const struct other_tool *other;
} tool_data;

/* ---- operators ---- */

static void op_entry(const mk_tool *tool, mk_buf *out)
{
    const tool_data *data = tool->data;
    const size_t bytes = data->service->options.result_bytes;
    mk_tool_op_entry(out, data->op, bytes > MK_RESULT_BYTES, bytes);
}

static mk_code op_run(const mk_tool *tool, mk_mcp_call *call, const mk_json *arguments, mk_buf *out,
                      mk_err *err)
{
    const tool_data *data = tool->data;
    return mk_tool_run_op(data->service, data->op, call, arguments, out, err);
}

/* ---- the others ---- */

static mk_code run_card(mk_service *service, mk_mcp_call *call, const mk_json *arguments, mk_buf *out,
                        mk_err *err)
{
    mk_buf text;
    mk_code rc;
    if (arguments != NULL && arguments->kind == MK_JSON_OBJECT && arguments->n != 0) {
        mk_fail(err, MK_E_SCHEMA, "describe_dataset takes no arguments");
        return MK_E_SCHEMA;
    }
    mk_buf_init(&text, service->alloc);
    rc = mk_service_card(service, mk_mcp_is_user_only(call), mk_mcp_arena(call), &text, err);
    if (rc == MK_OK) {
        mk_tool_put_result(out, call, mk_buf_view(&text));
        rc = mk_buf_done(out, err);
    }
    mk_buf_free(&text);
    return rc;
}

typedef struct other_tool {
    const char *name, *title, *about;
    const char *properties; /* of the input schema */
    const char *required;   /* its list; NULL: none */
    const char *always;     /* a member that every result has, and its type */
    mk_code (*run)(mk_service *service, mk_mcp_call *call, const mk_json *arguments, mk_buf *out,
                   mk_err *err);
    bool writes; /* only with --write */
} other_tool;

#define AS_OF                                                                                                \
    "\"as_of_tt\":{\"type\":\"string\",\"description\":\"belief time, ISO 8601 or microseconds; leave out "  \
    "for the latest belief\"}"
#define PLAN                                                                                                 \
    "\"plan\":{\"type\":\"string\",\"description\":\"a plan as JSON: plan_id, steps of {id, op, args, "      \
    "depends_on}, answer_spec of {kind, "                                                                    \
    "from}; an argument may be {\\\"$ref\\\":\\\"s1.rows[0].uid\\\"}\"}"

#define SUBJECT                                                                                              \
    "\"uid\":{\"type\":\"string\",\"description\":\"the node; leave out for an "                             \
    "edge\"},\"src\":{\"type\":\"string\",\"description\":\"uid "                                            \
    "where the edge "                                                                                        \
    "starts\"},\"rel_type\":{\"type\":\"string\"},\"dst\":{\"type\":\"string\",\"description\":\"uid where " \
    "it ends\"},"                                                                                            \
    "\"disc\":{\"type\":\"string\",\"description\":\"tells edges with the same ends and type apart\"}"
#define SPAN                                                                                                 \
    ",\"props\":{\"type\":\"string\",\"description\":\"properties as a JSON "                                \
    "object\"},\"vt_s\":{\"type\":\"string\",\"description\":\"true "                                        \
    "from, ISO 8601 or microseconds\"},\"vt_e\":{\"type\":\"string\",\"description\":\"true until, "         \
    "exclusive; leave out for open\"}"
#define FACTS(members, needed)                                                                               \
    "\"facts\":{\"type\":\"array\",\"description\":\"one batch: all of it or "                               \
    "nothing\",\"items\":{\"type\":\"object\","                                                              \
    "\"additionalProperties\":false,\"required\":[" needed "],\"properties\":{" members                      \
    "}}},\"request_id\":{\"type\":\"string\","                                                               \
    "\"description\":\"a repeat with the same id writes nothing and gives the first time\"}"

static mk_code run_assert(mk_service *service, mk_mcp_call *call, const mk_json *arguments, mk_buf *out,
                          mk_err *err)
{
    return mk_tool_write(service, call, MK_WRITE_ASSERT, arguments, out, err);
}

static mk_code run_retract(mk_service *service, mk_mcp_call *call, const mk_json *arguments, mk_buf *out,
                           mk_err *err)
{
    return mk_tool_write(service, call, MK_WRITE_RETRACT, arguments, out, err);
}

static mk_code run_correct(mk_service *service, mk_mcp_call *call, const mk_json *arguments, mk_buf *out,
                           mk_err *err)
{
    return mk_tool_write(service, call, MK_WRITE_CORRECT, arguments, out, err);
}

static const other_tool others[] = {
    {"ask", "Ask",
     "Asks a question in words and gets a checked answer: value, text, claims with their verdicts, and what "
     "was incomplete. "
     "Says what is missing instead of guessing. Name entities by uid where you know it; write dates as ISO "
     "8601.",
     "\"question\":{\"type\":\"string\",\"description\":\"the question, one sentence\"}," AS_OF
     ",\"uids\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"maxItems\":64,\"description\":"
     "\"identifiers the question is about, at most 64\"}",
     "\"question\"", "\"abstained\":{\"type\":\"boolean\"}", mk_tool_ask, false},
    {"describe_dataset", "Describe dataset",
     "Start here: what the store holds. Labels, relation types, property names with their kinds, counts, and "
     "the "
     "extent of both clocks. Times are microseconds since 1970, UTC.",
     "", NULL, "\"entities\":{\"type\":\"integer\"}", run_card, false},
    {"graph_assert", "Assert facts",
     "Writes that nodes or edges hold from vt_s on. Give uid and label for a node, src, rel_type and dst for "
     "an edge. What was "
     "believed before stays readable at its own belief time.",
     FACTS(SUBJECT ",\"label\":{\"type\":\"string\",\"description\":\"kind of node\"}" SPAN, "\"vt_s\""),
     "\"facts\"", "\"tt\":{\"type\":\"integer\"}", run_assert, true},
    {"graph_correct", "Correct facts",
     "Writes that something was different from vt_s to vt_e than believed so far. The old version stays "
     "readable at earlier "
     "belief times. Use graph_retract when it was not there at all any more.",
     FACTS(SUBJECT SPAN, "\"vt_s\""), "\"facts\"", "\"tt\":{\"type\":\"integer\"}", run_correct, true},
    {"graph_retract", "Retract facts",
     "Writes that a node or an edge no longer holds from t on. Nothing is erased: earlier beliefs keep it.",
     FACTS(SUBJECT ",\"t\":{\"type\":\"string\",\"description\":\"from then on it does not hold, ISO 8601 or "
                   "microseconds\"}",
           "\"t\""),
     "\"facts\"", "\"tt\":{\"type\":\"integer\"}", run_retract, true},
    {"plan_check", "Check a plan",
     "Says everything that is wrong with a plan before it runs: steps, arguments, references, identifiers, "
     "times, cost. Each "
     "violation names its place and what would be accepted.",
     PLAN, "\"plan\"", "\"valid\":{\"type\":\"boolean\"}", mk_tool_plan_check, false},
    {"plan_run", "Run a plan",
     "Checks a plan and runs it at one belief. Steps without limit are computed whole. The trace has every "
     "step's result digest, "
     "which verify_answer can cite; answer_gaps says what the answer leaves out.",
     PLAN "," AS_OF, "\"plan\"", "\"valid\":{\"type\":\"boolean\"}", mk_tool_plan_run, false},
    {"verify_answer", "Verify an answer",
     "Checks an answer you wrote over results of this session. Each claim has id, type (count, value, "
     "entity, set_equal, "
     "ordering, interval, ...), value or uids, evidence (result digests) and from, a path such as "
     "<digest>.rows_total. "
     "Returns verdicts and the text that may be shown. Or pass a saved bundle.",
     "\"text\":{\"type\":\"string\",\"description\":\"the answer as "
     "prose\"},\"claims\":{\"type\":\"array\",\"description\":\"what the text states; "
     "members of other claim types are accepted "
     "too\",\"items\":{\"type\":\"object\",\"additionalProperties\":false,\"required\":[\"id\",\"type\","
     "\"evidence\"],\"properties\":{\"id\":{\"type\":\"string\"},\"type\":{\"type\":\"string\"},\"from\":{"
     "\"type\":\"string\"},\"value\":{"
     "\"type\":\"string\"},\"uids\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},\"evidence\":{"
     "\"type\":\"array\",\"items\":{\"type\":"
     "\"string\"}}}}},\"bundle\":{\"type\":\"string\",\"description\":\"a bundle as JSON, instead of text "
     "and claims\"}",
     NULL, NULL, mk_tool_verify_answer, false},
};
#define OTHER_COUNT (sizeof others / sizeof *others)

static void other_entry(const mk_tool *tool, mk_buf *out)
{
    const other_tool *o = ((const tool_data *)tool->data)->other;
    mk_buf_printf(out, "{\"name\":\"%s\",\"title\":\"%s\",\"description\":", o->name, o->title);
    mk_canon_string(out, mk_str_of(o->about));
    mk_buf_z(out, ",\"inputSchema\":{\"type\":\"object\",\"additionalProperties\":false");
    if (o->required != NULL)
        mk_buf_printf(out, ",\"required\":[%s]", o->required);
    mk_buf_z(out, ",\"properties\":{");
    mk_buf_z(out, o->properties);
    mk_buf_z(out, "}},\"outputSchema\":{\"type\":\"object\",\"properties\":{");
    mk_buf_z(out, o->always != NULL ? o->always : "");
    /* history is kept, so nothing that is written destroys; a repeat is the same only with a request id */
    const bool model =
        strcmp(o->name, "ask") == 0 && ((const tool_data *)tool->data)->service->options.model != NULL;
    mk_buf_printf(out,
                  "}},\"annotations\":{\"title\":\"%s\",\"readOnlyHint\":%s,\"destructiveHint\":false,"
                  "\"idempotentHint\":%s,"
                  "\"openWorldHint\":%s}}",
                  o->title, o->writes ? "false" : "true", o->writes ? "false" : "true",
                  model ? "true" : "false");
}

static mk_code other_run(const mk_tool *tool, mk_mcp_call *call, const mk_json *arguments, mk_buf *out,
                         mk_err *err)
{
    const tool_data *data = tool->data;
    return data->other->run(data->service, call, arguments, out, err);
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
    for (size_t i = 0; i < OTHER_COUNT; i++)
        if (mk_str_eq(name, mk_str_of(others[i].name)))
            return true;
    return false;
}

static mk_code check_names(const mk_operator *const *ops, size_t count, const char *only, mk_err *err)
{
    for (const char *at = only; at != NULL && *at != '\0';) {
        const size_t word = strcspn(at, ",");
        if (!is_known(ops, count, at, word)) {
            const mk_operator *near = mk_operator_near((mk_str){at, word});
            mk_fail(err, MK_E_INVALID_ARG, "\"%.*s\" is neither a tool nor a group of tools", (int)word, at);
            mk_err_hint(err, "%s%s; merkhet ops lists them",
                        near ? "did you mean " : "graph, memory and context are groups",
                        near ? near->name : "");
            return MK_E_INVALID_ARG;
        }
        at += word + (at[word] == ',');
    }
    return MK_OK;
}

mk_code mk_tools_open(const mk_alloc *alloc, mk_service *service, const char *only, mk_tools *out,
                      mk_err *err)
{
    size_t count;
    const mk_operator *const *ops = mk_operators(&count);
    *out = (mk_tools){.alloc = alloc, .cap = count + OTHER_COUNT};
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
    for (size_t i = 0; i < count + OTHER_COUNT; i++) {
        const mk_operator *op = i < count ? ops[i] : NULL;
        const other_tool *o = op == NULL ? &others[i - count] : NULL;
        const char *name = op != NULL ? op->name : o->name;
        if ((!is_listed(only, name) && !(op != NULL && is_listed(only, op->group))) ||
            (o != NULL && o->writes && !service->options.write))
            continue;
        const size_t at = out->count++;
        data[at] = (tool_data){.service = service, .op = op, .other = o};
        out->all[at] = (mk_tool){.name = name,
                                 .data = &data[at],
                                 .writes = o != NULL && o->writes,
                                 .entry = op != NULL ? op_entry : other_entry,
                                 .run = op != NULL ? op_run : other_run};
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

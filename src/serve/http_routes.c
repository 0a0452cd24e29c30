/* http_routes.c — every path that is served, and the document that describes them. See http_internal.h.
 * Layer: serve.
 *
 * Source: serving spec, 8, 13; agent spec, 15.4. */
#include "serve/http_internal.h"

#include "op/schema.h"

const mk_http_route mk_http_routes[] = {
    {MK_POST | MK_GET | MK_DELETE, "/mcp", mk_http__mcp, .about = NULL},
    {MK_GET, "/healthz", mk_http__health, .open = true, .about = "Says ok while the process answers.",
     .answer = "text"},
    {MK_GET, "/readyz", mk_http__ready, .open = true, .about = "Says ok once the store is open.",
     .answer = "text"},
    {MK_GET, "/metrics", mk_http__metrics, .about = "Counters as Prometheus text.", .answer = "text"},
    {MK_GET, "/openapi.json", mk_http__openapi, .open = true, .about = "This document.", .answer = "object"},
    {MK_GET, "/api/ops", mk_http__ops,
     .about = "The registry of operators, with the schemas of their arguments and results.",
     .answer = "object"},
    {MK_POST, "/api/op", mk_http__op, .needs_store = true,
     .about = "Runs one operator; an operator's error is an answer with status 200.", .body = "call",
     .answer = "envelope"},
    {MK_POST, "/api/ops/{name}", mk_http__op_named, .needs_store = true,
     .about = "Runs one operator; the body is its arguments.", .body = "object", .answer = "envelope"},
    {MK_GET, "/api/results/{digest}", mk_http__result, .needs_store = true,
     .about = "The canonical bytes of a result that was served.", .answer = "object"},
    {MK_GET, "/api/info", mk_http__info, .needs_store = true, .slow = true,
     .about = "What a newcomer is shown: the card, example questions, the planner.", .answer = "object"},
    {MK_POST, "/api/ask", mk_http__ask, .needs_store = true, .slow = true,
     .about = "Asks a question; with Accept: text/event-stream progress comes before the result.",
     .body = "question", .answer = "answer"},
    {MK_POST, "/api/explain_diff", mk_http__explain, .needs_store = true, .slow = true,
     .about = "Which claims change between two beliefs, and why.", .body = "object", .answer = "object"},
    {MK_POST, "/api/plan/check", mk_http__plan_check, .needs_store = true, .slow = true,
     .about = "Everything that is wrong with a plan.", .body = "object", .answer = "object"},
    {MK_POST, "/api/plan/run", mk_http__plan_run, .needs_store = true, .slow = true,
     .about = "Checks a plan and runs it at one belief.", .body = "object", .answer = "object"},
    {MK_POST, "/api/verify", mk_http__verify, .needs_store = true, .slow = true,
     .about = "Checks a bundle, or claims over results that were served.", .body = "object",
     .answer = "object"},
    {MK_POST, "/api/write", mk_http__write, .needs_store = true, .slow = true,
     .about = "Writes one batch of operations, all or nothing; Idempotency-Key makes a repeat harmless. Only "
              "with --write.",
     .body = "object", .answer = "object"},
    {MK_GET, "/api/traces", mk_http__traces, .needs_store = true,
     .about = "The answers that are kept, the newest first.", .answer = "object"},
    {MK_GET, "/api/traces/{id}", mk_http__trace, .needs_store = true,
     .about = "One answer with all it rests on; ?download saves it as a file.", .answer = "object"},
    {MK_GET, "/api/answers/{id}", mk_http__trace, .needs_store = true, .about = "The same.",
     .answer = "object"},
    {MK_GET, "/api/events", mk_http__events, .needs_store = true, .about = "Commits as server-sent events.",
     .answer = "events"},
    {MK_GET, "/", mk_http__page, .needs_store = true, .open = true},
    {MK_GET, "/{file}", mk_http__page, .needs_store = true, .open = true},
};
const size_t mk_http_route_count = sizeof mk_http_routes / sizeof *mk_http_routes;

/* ---- the document ---- */

static void put_content(mk_buf *out, const char *schema)
{
    if (strcmp(schema, "text") == 0)
        mk_buf_z(out, "{\"text/plain\":{\"schema\":{\"type\":\"string\"}}}");
    else if (strcmp(schema, "events") == 0)
        mk_buf_z(out, "{\"text/event-stream\":{\"schema\":{\"type\":\"string\"}}}");
    else if (strcmp(schema, "object") == 0)
        mk_buf_z(out, "{\"application/json\":{\"schema\":{\"type\":\"object\"}}}");
    else
        mk_buf_printf(out, "{\"application/json\":{\"schema\":{\"$ref\":\"#/components/schemas/%s\"}}}",
                      schema);
}

static void put_errors(mk_buf *out, const mk_http_route *r)
{
    static const struct {
        const char *status, *why;
    } errors[] = {{"400", "The body is no JSON, or the request is not well formed"},
                  {"401", "A bearer token is needed"},
                  {"403", "The host or the origin is not served"},
                  {"404", "Not there, or not yours"},
                  {"409", "Not in this state; retry as said"},
                  {"413", "The body is too large"},
                  {"415", "The body must be JSON"},
                  {"422", "Arguments, cost or limit"},
                  {"500", "Our fault"},
                  {"503", "Not ready, or too busy"}};
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        const bool body = r->methods & MK_POST;
        if (!body && (errors[i].status[1] == '1' || errors[i].status[2] == '9' ||
                      strcmp(errors[i].status, "422") == 0))
            continue;
        mk_buf_printf(
            out,
            ",\"%s\":{\"description\":\"%s\",\"content\":{\"application/problem+json\":{\"schema\":{\"$ref\":"
            "\"#/components/schemas/problem\"}}}}",
            errors[i].status, errors[i].why);
    }
}

static void put_operation(mk_buf *out, const mk_http_route *r, const char *method)
{
    const char *brace = strchr(r->path, '{');
    mk_buf_printf(out, "\"%s\":{\"summary\":", method);
    mk_canon_string(out, mk_str_of(r->about));
    mk_buf_z(out, ",\"parameters\":[");
    if (brace != NULL)
        mk_buf_printf(
            out, "{\"name\":\"%.*s\",\"in\":\"path\",\"required\":true,\"schema\":{\"type\":\"string\"}}",
            (int)strlen(brace) - 2, brace + 1);
    if (r->answer != NULL && strcmp(r->answer, "envelope") == 0)
        mk_buf_printf(out,
                      "%s{\"name\":\"form\",\"in\":\"query\",\"schema\":{\"type\":\"string\",\"enum\":["
                      "\"canonical\",\"wire\"]}}",
                      brace ? "," : "");
    mk_buf_c(out, ']');
    if (r->body != NULL) {
        mk_buf_z(out, ",\"requestBody\":{\"required\":true,\"content\":");
        put_content(out, r->body);
        mk_buf_c(out, '}');
    }
    mk_buf_z(out, ",\"responses\":{\"200\":{\"description\":\"Done\",\"content\":");
    put_content(out, r->answer);
    mk_buf_c(out, '}');
    put_errors(out, r);
    mk_buf_z(out, "}}");
}

/* A path of its own for every operator, with its example. */
static void put_operator(mk_buf *out, mk_arena *arena, const mk_operator *op)
{
    mk_buf_printf(out, ",\"/api/ops/%s\":{\"post\":{\"operationId\":\"%s\",\"summary\":", op->name, op->name);
    mk_canon_string(out, mk_str_of(op->summary));
    mk_buf_z(out, ",\"requestBody\":{\"required\":true,\"content\":{\"application/json\":{\"schema\":");
    if (mk_op_args_schema(out, arena, op, NULL) != MK_OK)
        out->failed = true;
    if (op->example != NULL)
        mk_buf_printf(out, ",\"example\":%s", op->example);
    mk_buf_z(out, "}}},\"responses\":{\"200\":{\"description\":\"The result\",\"content\":");
    put_content(out, "envelope");
    mk_buf_c(out, '}');
    put_errors(out, &(mk_http_route){.methods = MK_POST});
    mk_buf_z(out, "}}}");
}

void mk_http__put_openapi(mk_http *http, mk_arena *arena, mk_buf *out)
{
    size_t count;
    const mk_operator *const *ops = mk_operators(&count);
    const char *comma = "";
    mk_buf_printf(out,
                  "{\"openapi\":\"3.1.0\",\"info\":{\"title\":\"Merkhet\",\"version\":\"%s\",\"description\":"
                  "\"Times are microseconds since "
                  "1970 UTC, windows are half open. as_of_tt is a transaction time: what was believed "
                  "then.\"},\"paths\":{",
                  http->options.version);
    for (size_t i = 0; i < mk_http_route_count; i++) {
        const mk_http_route *r = &mk_http_routes[i];
        if (r->about == NULL)
            continue;
        mk_buf_printf(out, "%s\"%s\":{", comma, r->path);
        if (r->methods & MK_GET)
            put_operation(out, r, "get");
        if (r->methods & MK_POST)
            put_operation(out, r, "post");
        mk_buf_c(out, '}');
        comma = ",";
    }
    for (size_t i = 0; i < count; i++)
        put_operator(out, arena, ops[i]);
    mk_buf_z(out,
             "},\"components\":{\"schemas\":{\"call\":{\"type\":\"object\",\"required\":[\"op\"],"
             "\"properties\":{\"op\":{\"type\":\"string\"},"
             "\"args\":{\"type\":\"object\"}}},\"question\":{\"type\":\"object\",\"required\":[\"question\"],"
             "\"properties\":{\"question\":"
             "{\"type\":\"string\"},\"as_of_tt\":{},\"planner\":{\"type\":\"string\",\"enum\":[\"auto\","
             "\"model\",\"offline\"]},\"uids\":{\"type\":\"array\"}}},"
             "\"answer\":{\"type\":\"object\",\"required\":[\"question\",\"answer\",\"claims\",\"abstained\","
             "\"as_of_tt\",\"complete\",\"trace\"]},"
             "\"envelope\":{\"type\":\"object\",\"properties\":{\"op\":{\"type\":\"string\"},\"args_echo\":"
             "{\"type\":\"object\"},\"rows\":{\"type\":\"array\"},\"rows_total\":{\"type\":\"integer\"},"
             "\"truncated\":{\"type\":\"boolean\"},"
             "\"result_digest\":{\"type\":\"string\"},\"completeness\":{\"type\":\"object\"}}},\"error\":{"
             "\"type\":\"object\",\"required\":"
             "[\"error\",\"message\",\"details\"],\"properties\":{\"error\":{\"type\":\"string\"},"
             "\"message\":{\"type\":\"string\"},\"details\":"
             "{\"type\":\"object\"}}},\"problem\":{\"type\":\"object\",\"required\":[\"type\",\"title\","
             "\"status\",\"detail\",\"error\",\"message\","
             "\"details\"],\"properties\":{\"type\":{\"type\":\"string\"},\"title\":{\"type\":\"string\"},"
             "\"status\":{\"type\":\"integer\"},"
             "\"detail\":{\"type\":\"string\"},\"instance\":{\"type\":\"string\"},\"error\":{\"type\":"
             "\"string\"},\"message\":{\"type\":\"string\"},"
             "\"details\":{\"type\":\"object\"}}}},\"securitySchemes\":{\"bearer\":{\"type\":\"http\","
             "\"scheme\":\"bearer\"}}}}");
}

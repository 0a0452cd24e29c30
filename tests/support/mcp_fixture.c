/* mcp_fixture.c — the fixture's resources, prompts and completion. See mcp_fixture.h. */
#include "mcp_fixture.h"

/* ---- lists ---- */

static void offer_list(void *ctx, mk_mcp_list list, mk_buf *out)
{
    (void)ctx;
    switch (list) {
    case MK_LIST_RESOURCES:
        mk_buf_z(
            out,
            "{\"uri\":\"test://static-binary\",\"name\":\"static binary\",\"description\":\"one red pixel\","
            "\"mimeType\":\"image/png\"},"
            "{\"uri\":\"test://static-text\",\"name\":\"static text\",\"description\":\"a text\","
            "\"mimeType\":\"text/plain\"},"
            "{\"uri\":\"test://watched-resource\",\"name\":\"watched\",\"description\":\"changes are told\","
            "\"mimeType\":\"text/plain\"}");
        break;
    case MK_LIST_TEMPLATES:
        mk_buf_z(out, "{\"uriTemplate\":\"test://template/{id}/data\",\"name\":\"template\","
                      "\"description\":\"data of one id\",\"mimeType\":\"application/json\"}");
        break;
    case MK_LIST_PROMPTS:
        mk_buf_z(
            out,
            "{\"name\":\"test_input_required_result_prompt\",\"description\":\"asks for a context first\"},"
            "{\"name\":\"test_prompt_with_arguments\",\"description\":\"takes two arguments\",\"arguments\":["
            "{\"name\":\"arg1\",\"description\":\"the first\",\"required\":true},"
            "{\"name\":\"arg2\",\"description\":\"the second\",\"required\":true}]},"
            "{\"name\":\"test_prompt_with_embedded_resource\",\"description\":\"holds a resource\","
            "\"arguments\":[{\"name\":\"resourceUri\",\"description\":\"its uri\",\"required\":true}]},"
            "{\"name\":\"test_prompt_with_image\",\"description\":\"holds an image\"},"
            "{\"name\":\"test_simple_prompt\",\"description\":\"one text\"}");
        break;
    }
}

/* ---- resources ---- */

#define TEMPLATE_HEAD "test://template/"
#define TEMPLATE_TAIL "/data"

/* The id inside a uri of the template; n 0: it is none. */
static mk_str template_id(mk_str uri)
{
    const size_t head = sizeof TEMPLATE_HEAD - 1, tail = sizeof TEMPLATE_TAIL - 1;
    const mk_str none = {NULL, 0};
    if (uri.n <= head + tail || memcmp(uri.p, TEMPLATE_HEAD, head) != 0 ||
        memcmp(uri.p + uri.n - tail, TEMPLATE_TAIL, tail) != 0)
        return none;
    const mk_str id = {uri.p + head, uri.n - head - tail};
    return memchr(id.p, '/', id.n) == NULL && memchr(id.p, '"', id.n) == NULL ? id : none;
}

static mk_code put_template(mk_mcp_call *call, mk_str uri, mk_str id, mk_buf *out, mk_err *err)
{
    mk_buf text;
    mk_buf_init(&text, mk_mcp_arena(call)->alloc);
    mk_buf_z(&text, "{\"id\":");
    mk_canon_string(&text, id);
    mk_buf_z(&text, ",\"templateTest\":true,\"data\":\"Data for ID: ");
    mk_buf_str(&text, id);
    mk_buf_z(&text, "\"}");
    mk_buf_z(out, "{\"mimeType\":\"application/json\",\"uri\":");
    mk_canon_string(out, uri);
    mk_buf_z(out, ",\"text\":");
    mk_canon_string(out, mk_buf_view(&text));
    mk_buf_c(out, '}');
    const mk_code rc = text.failed ? mk_fail_nomem(err) : mk_buf_done(out, err);
    mk_buf_free(&text);
    return rc;
}

static mk_code offer_read(void *ctx, mk_mcp_call *call, mk_str uri, mk_buf *out, mk_err *err)
{
    const mk_str id = template_id(uri);
    (void)ctx;
    if (id.n != 0)
        return put_template(call, uri, id, out, err);
    if (mk_str_eq(uri, MK_STR("test://static-text")))
        mk_buf_z(out, "{\"uri\":\"test://static-text\",\"mimeType\":\"text/plain\","
                      "\"text\":\"This is the content of the static text resource.\"}");
    else if (mk_str_eq(uri, MK_STR("test://static-binary")))
        mk_buf_z(out,
                 "{\"uri\":\"test://static-binary\",\"mimeType\":\"image/png\",\"blob\":\"" MCP_FIXTURE_PNG
                 "\"}");
    else if (mk_str_eq(uri, MK_STR("test://watched-resource")))
        mk_buf_z(out,
                 "{\"uri\":\"test://watched-resource\",\"mimeType\":\"text/plain\",\"text\":\"Watched.\"}");
    else
        return mk_fail(err, MK_E_NOT_FOUND, "no such resource");
    return mk_buf_done(out, err);
}

/* ---- prompts ---- */

static mk_code argument(const mk_json *arguments, const char *name, mk_str *out, mk_err *err)
{
    const mk_json *value =
        arguments != NULL && arguments->kind == MK_JSON_OBJECT ? mk_json_get(arguments, name) : NULL;
    if (value == NULL || value->kind != MK_JSON_STRING)
        return mk_fail(err, MK_E_INVALID_ARG, "%s: text is needed", name);
    *out = value->text;
    return MK_OK;
}

#define MESSAGE(content) "{\"role\":\"user\",\"content\":" content "}"
#define TEXT(text) "{\"type\":\"text\",\"text\":\"" text "\"}"

static mk_code prompt_with_arguments(mk_mcp_call *call, const mk_json *arguments, mk_buf *out, mk_err *err)
{
    mk_str first = MK_STR(""), second = MK_STR("");
    mk_buf text;
    mk_code rc;
    mk_buf_init(&text, mk_mcp_arena(call)->alloc);
    MK_TRY(rc, argument(arguments, "arg1", &first, err));
    MK_TRY(rc, argument(arguments, "arg2", &second, err));
    mk_buf_z(&text, "Prompt with arguments: arg1='");
    mk_buf_str(&text, first);
    mk_buf_z(&text, "', arg2='");
    mk_buf_str(&text, second);
    mk_buf_c(&text, '\'');
    MK_TRY(rc, mk_buf_done(&text, err));
    mk_buf_z(out, "\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":");
    mk_canon_string(out, mk_buf_view(&text));
    mk_buf_z(out, "}}]");
    rc = mk_buf_done(out, err);
out:
    mk_buf_free(&text);
    return rc;
}

static mk_code prompt_with_resource(const mk_json *arguments, mk_buf *out, mk_err *err)
{
    mk_str uri;
    const mk_code rc = argument(arguments, "resourceUri", &uri, err);
    if (rc != MK_OK)
        return rc;
    mk_buf_z(out,
             "\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"resource\",\"resource\":{\"uri\":");
    mk_canon_string(out, uri);
    mk_buf_z(out, ",\"mimeType\":\"text/plain\",\"text\":\"Embedded resource content for testing.\"}}},"
                  MESSAGE(TEXT("Please process the embedded resource above.")) "]");
    return mk_buf_done(out, err);
}

static mk_code offer_prompt(void *ctx, mk_mcp_call *call, mk_str name, const mk_json *arguments, mk_buf *out,
                            mk_err *err)
{
    (void)ctx;
    if (mk_str_eq(name, MK_STR("test_simple_prompt")))
        mk_buf_z(out, "\"messages\":[" MESSAGE(TEXT("This is a simple prompt for testing.")) "]");
    else if (mk_str_eq(name, MK_STR("test_prompt_with_image")))
        mk_buf_z(
            out,
            "\"messages\":[" MESSAGE(
                "{\"type\":\"image\",\"data\":\"" MCP_FIXTURE_PNG
                "\",\"mimeType\":\"image/png\"}") "," MESSAGE(TEXT("Please analyze the image above.")) "]");
    else if (mk_str_eq(name, MK_STR("test_prompt_with_arguments")))
        return prompt_with_arguments(call, arguments, out, err);
    else if (mk_str_eq(name, MK_STR("test_prompt_with_embedded_resource")))
        return prompt_with_resource(arguments, out, err);
    else if (mk_str_eq(name, MK_STR("test_input_required_result_prompt")))
        return mcp_fixture_ask_context(call, out, err);
    else
        return mk_fail(err, MK_E_NOT_FOUND, "no such prompt");
    return mk_buf_done(out, err);
}

/* ---- completion ---- */

static mk_code offer_complete(void *ctx, mk_mcp_call *call, const mk_json *ref, mk_str argument, mk_str value,
                              mk_buf *out, size_t *shown, size_t *total, mk_err *err)
{
    static const char *const words[] = {"paris", "park", "party"};
    const mk_json *name = mk_json_get(ref, "name");
    (void)ctx, (void)call;
    if (name == NULL || name->kind != MK_JSON_STRING ||
        !mk_str_eq(name->text, MK_STR("test_prompt_with_arguments")))
        return mk_fail(err, MK_E_NOT_FOUND, "nothing to complete");
    for (size_t i = 0; i < 3 && mk_str_eq(argument, MK_STR("arg1")); i++)
        if (mk_str_starts(mk_str_of(words[i]), value)) {
            mk_buf_printf(out, "%s\"%s\"", *shown > 0 ? "," : "", words[i]);
            ++*shown;
            ++*total;
        }
    return mk_buf_done(out, err);
}

void mcp_fixture_init(mk_mcp_offer *offer)
{
    *offer = (mk_mcp_offer){.name = "merkhet-fixture",
                            .title = "Conformance fixture",
                            .version = "1.0.0",
                            .instructions = "For tests only.",
                            .tools = mcp_fixture_tools,
                            .tool_count = mcp_fixture_tool_count,
                            .tools_change = true,
                            .resources_change = true,
                            .prompts_change = true,
                            .list = offer_list,
                            .read = offer_read,
                            .prompt = offer_prompt,
                            .complete = offer_complete};
}

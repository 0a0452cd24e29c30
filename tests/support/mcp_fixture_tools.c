/* mcp_fixture_tools.c — the tools of the fixture that ask nobody. See mcp_fixture.h. */
#include <time.h>

#include "mcp_fixture.h"

/* ---- results that are always the same ---- */

static void entry(const mk_tool *tool, mk_buf *out)
{
    const mcp_fixture_row *row = tool->data;
    mk_buf_printf(out, "{\"name\":\"%s\",\"description\":\"%s\",\"inputSchema\":", tool->name, row->about);
    mk_buf_z(out, row->schema != NULL ? row->schema : "{\"type\":\"object\",\"additionalProperties\":false}");
    mk_buf_c(out, '}');
}

static mk_code run_fixed(const mk_tool *tool, mk_mcp_call *call, const mk_json *args, mk_buf *out,
                         mk_err *err)
{
    const mcp_fixture_row *row = tool->data;
    (void)call, (void)args;
    mk_buf_z(out, row->result);
    return mk_buf_done(out, err);
}

static mk_code run_error(const mk_tool *tool, mk_mcp_call *call, const mk_json *args, mk_buf *out,
                         mk_err *err)
{
    (void)tool, (void)call, (void)args, (void)out;
    return mk_fail(err, MK_E_INVALID_ARG, "This tool intentionally returns an error for testing");
}

/* ---- what happens on the way ---- */

/* False: the call was cancelled. */
static bool pause_ms(mk_mcp_call *call, int ms)
{
    for (; ms > 0 && !atomic_load(mk_mcp_cancelled(call)); ms -= 10)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    return !atomic_load(mk_mcp_cancelled(call));
}

static mk_code run_logging(const mk_tool *tool, mk_mcp_call *call, const mk_json *args, mk_buf *out,
                           mk_err *err)
{
    (void)tool, (void)args;
    mk_mcp_log(call, "info", "fixture", "\"Tool execution started\"");
    if (!pause_ms(call, 50))
        return mk_fail(err, MK_E_CANCELLED, "cancelled");
    mk_mcp_log(call, "info", "fixture", "\"Tool processing data\"");
    if (!pause_ms(call, 50))
        return mk_fail(err, MK_E_CANCELLED, "cancelled");
    mk_mcp_log(call, "info", "fixture", "\"Tool execution completed\"");
    return mcp_fixture_put_text(out, MK_STR("Three messages were logged."), err);
}

static mk_code run_progress(const mk_tool *tool, mk_mcp_call *call, const mk_json *args, mk_buf *out,
                            mk_err *err)
{
    (void)tool, (void)args;
    for (int done = 0; done <= 100; done += 50) {
        mk_mcp_progress(call, done, 100, NULL);
        if (done < 100 && !pause_ms(call, 50))
            return mk_fail(err, MK_E_CANCELLED, "cancelled");
    }
    return mcp_fixture_put_text(out, MK_STR("Three steps were reported."), err);
}

/* Long enough to be cancelled, with progress as a sign that it runs. */
static mk_code run_slow(const mk_tool *tool, mk_mcp_call *call, const mk_json *args, mk_buf *out, mk_err *err)
{
    (void)tool, (void)args;
    for (int i = 0; i < 500; i++) {
        mk_mcp_progress(call, i + 1, 500, "waiting");
        if (!pause_ms(call, 20))
            return mk_fail(err, MK_E_CANCELLED, "cancelled");
    }
    return mcp_fixture_put_text(out, MK_STR("Nobody cancelled it."), err);
}

/* Half a second without a word. */
static mk_code run_silent(const mk_tool *tool, mk_mcp_call *call, const mk_json *args, mk_buf *out,
                          mk_err *err)
{
    (void)tool, (void)args;
    if (!pause_ms(call, 500))
        return mk_fail(err, MK_E_CANCELLED, "cancelled");
    return mcp_fixture_put_text(out, MK_STR("It took half a second."), err);
}

/* ---- changes ---- */

static mk_code run_change(const mk_tool *tool, mk_mcp_call *call, const mk_json *args, mk_buf *out,
                          mk_err *err)
{
    const bool tools = strcmp(tool->name, "test_trigger_tool_change") == 0;
    (void)args;
    mk_mcp_notify(mk_mcp_server(call), tools ? MK_TOOLS_CHANGED : MK_PROMPTS_CHANGED, NULL);
    return mcp_fixture_put_text(out, MK_STR("A change was announced."), err);
}

static mk_code run_update(const mk_tool *tool, mk_mcp_call *call, const mk_json *args, mk_buf *out,
                          mk_err *err)
{
    (void)tool, (void)args;
    mk_mcp_notify(mk_mcp_server(call), MK_RESOURCE_UPDATED, "test://watched-resource");
    return mcp_fixture_put_text(out, MK_STR("The watched resource was updated."), err);
}

/* ---- the list ---- */

#define TEXT_CONTENT(text) "\"content\":[{\"type\":\"text\",\"text\":\"" text "\"}]"
#define IMAGE "{\"type\":\"image\",\"data\":\"" MCP_FIXTURE_PNG "\",\"mimeType\":\"image/png\"}"
#define RESOURCE(uri, type, text)                                                                            \
    "{\"type\":\"resource\",\"resource\":{\"uri\":\"" uri "\",\"mimeType\":\"" type "\",\"text\":\"" text    \
    "\"}}"
#define ONE_TEXT(name)                                                                                       \
    "{\"type\":\"object\",\"properties\":{\"" name "\":{\"type\":\"string\"}},\"required\":[\"" name "\"]}"

#define SCHEMA_2020_12                                                                                       \
    "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"type\":\"object\","                     \
    "\"$defs\":{\"address\":{\"$anchor\":\"addressDef\",\"type\":\"object\",\"properties\":{"                \
    "\"street\":{\"type\":\"string\"},\"city\":{\"type\":\"string\"}}}},"                                    \
    "\"properties\":{\"name\":{\"type\":\"string\"},\"address\":{\"$ref\":\"#/$defs/address\"},"             \
    "\"contactMethod\":{\"type\":\"string\",\"enum\":[\"phone\",\"email\"]},\"phone\":{\"type\":\"string\"}" \
    ","                                                                                                      \
    "\"email\":{\"type\":\"string\"}},\"allOf\":[{\"anyOf\":[{\"required\":[\"phone\"]},"                    \
    "{\"required\":[\"email\"]}]}],\"if\":{\"properties\":{\"contactMethod\":{\"const\":\"phone\"}},"        \
    "\"required\":[\"contactMethod\"]},\"then\":{\"required\":[\"phone\"]},\"else\":{\"required\":["         \
    "\"email\"]},"                                                                                           \
    "\"additionalProperties\":false}"

/* The client has to come back for the result. */
static mk_code run_reconnection(const mk_tool *tool, mk_mcp_call *call, const mk_json *args, mk_buf *out,
                                mk_err *err)
{
    (void)tool;
    (void)args;
    mk_mcp_let_go(call);
    nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    return mcp_fixture_put_text(out, MK_STR("Reconnection test completed successfully."), err);
}

#define TOOL(id, called, does, says, takes, gives)                                                           \
    static const mcp_fixture_row id##_row = {.about = says, .schema = takes, .result = gives};               \
    static const mk_tool id = {.name = called, .data = &id##_row, .entry = entry, .run = does};

TOOL(schema_tool, "json_schema_2020_12_tool", run_fixed, "a schema with words that few servers use",
     SCHEMA_2020_12, TEXT_CONTENT("The arguments were taken."))
TOOL(audio_tool, "test_audio_content", run_fixed, "a second of nothing", NULL,
     "\"content\":[{\"type\":\"audio\",\"data\":\"" MCP_FIXTURE_WAV "\",\"mimeType\":\"audio/wav\"}]")
TOOL(elicit_tool, "test_elicitation", mcp_fixture_run_elicitation, "asks for a user's name and address",
     ONE_TEXT("message"), NULL)
TOOL(defaults_tool, "test_elicitation_sep1034_defaults", mcp_fixture_run_elicitation, "asks with defaults",
     NULL, NULL)
TOOL(enums_tool, "test_elicitation_sep1330_enums", mcp_fixture_run_elicitation,
     "asks for choices of five kinds", NULL, NULL)
TOOL(embedded_tool, "test_embedded_resource", run_fixed, "a resource inside the result", NULL,
     "\"content\":[" RESOURCE("test://embedded-resource", "text/plain",
                              "This is an embedded resource content.") "]")
TOOL(error_tool, "test_error_handling", run_error, "always fails", NULL, NULL)
TOOL(image_tool, "test_image_content", run_fixed, "one red pixel", NULL, "\"content\":[" IMAGE "]")
TOOL(round_capabilities_tool, "test_input_required_result_capabilities", mcp_fixture_run_rounds,
     "asks what the client can answer", NULL, NULL)
TOOL(round_elicit_tool, "test_input_required_result_elicitation", mcp_fixture_run_rounds, "asks for a name",
     NULL, NULL)
TOOL(round_roots_tool, "test_input_required_result_list_roots", mcp_fixture_run_rounds, "asks for the roots",
     NULL, NULL)
TOOL(round_multi_tool, "test_input_required_result_multi_round", mcp_fixture_run_rounds, "asks twice", NULL,
     NULL)
TOOL(round_many_tool, "test_input_required_result_multiple_inputs", mcp_fixture_run_rounds,
     "asks three things at once", NULL, NULL)
TOOL(round_state_tool, "test_input_required_result_request_state", mcp_fixture_run_rounds, "asks to confirm",
     NULL, NULL)
TOOL(round_sample_tool, "test_input_required_result_sampling", mcp_fixture_run_rounds,
     "asks the client's model", NULL, NULL)
TOOL(round_tampered_tool, "test_input_required_result_tampered_state", mcp_fixture_run_rounds,
     "asks to confirm", NULL, NULL)
TOOL(log_tool, "test_logging_tool", run_logging, "logs three messages", NULL, NULL)
TOOL(missing_tool, "test_missing_capability", mcp_fixture_run_rounds, "needs sampling", NULL, NULL)
TOOL(mixed_tool, "test_multiple_content_types", run_fixed, "text, image and resource", NULL,
     "\"content\":[{\"type\":\"text\",\"text\":\"Multiple content types test:\"}," IMAGE
     "," RESOURCE("test://mixed-content-resource", "application/json",
                  "{\\\"test\\\":\\\"data\\\",\\\"value\\\":123}") "]")
TOOL(reconnection_tool, "test_reconnection", run_reconnection, "lets go of its stream before the result",
     NULL, NULL)
TOOL(sampling_tool, "test_sampling", mcp_fixture_run_sampling, "asks the client's model", ONE_TEXT("prompt"),
     NULL)
TOOL(silent_tool, "test_silent", run_silent, "takes half a second and reports nothing", NULL, NULL)
TOOL(simple_tool, "test_simple_text", run_fixed, "one text", NULL,
     TEXT_CONTENT("This is a simple text response for testing."))
TOOL(slow_tool, "test_slow", run_slow, "takes ten seconds, unless it is cancelled", NULL, NULL)
TOOL(stream_tool, "test_streaming_elicitation", mcp_fixture_run_rounds, "asks for a name", NULL, NULL)
TOOL(logging_tool, "test_tool_with_logging", run_logging, "logs three messages", NULL, NULL)
TOOL(progress_tool, "test_tool_with_progress", run_progress, "reports three steps", NULL, NULL)
TOOL(prompt_change_tool, "test_trigger_prompt_change", run_change, "announces other prompts", NULL, NULL)
TOOL(update_tool, "test_trigger_resource_update", run_update,
     "announces a new state of test://watched-resource", NULL, NULL)
TOOL(tool_change_tool, "test_trigger_tool_change", run_change, "announces other tools", NULL, NULL)
TOOL(header_tool, "test_x_mcp_header", run_fixed, "one argument travels in a header too",
     "{\"type\":\"object\",\"properties\":{\"region\":{\"type\":\"string\",\"x-mcp-header\":\"Region\"}},"
     "\"required\":[\"region\"]}",
     TEXT_CONTENT("The header was right."))

const mk_tool *const mcp_fixture_tools[] = {
    &schema_tool,         &audio_tool,        &elicit_tool,
    &defaults_tool,       &enums_tool,        &embedded_tool,
    &error_tool,          &image_tool,        &round_capabilities_tool,
    &round_elicit_tool,   &round_roots_tool,  &round_multi_tool,
    &round_many_tool,     &round_state_tool,  &round_sample_tool,
    &round_tampered_tool, &log_tool,          &missing_tool,
    &mixed_tool,          &reconnection_tool, &sampling_tool,
    &silent_tool,         &simple_tool,       &slow_tool,
    &stream_tool,         &logging_tool,      &progress_tool,
    &prompt_change_tool,  &update_tool,       &tool_change_tool,
    &header_tool};
const size_t mcp_fixture_tool_count = sizeof mcp_fixture_tools / sizeof *mcp_fixture_tools;

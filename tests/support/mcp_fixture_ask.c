/* mcp_fixture_ask.c — the tools of the fixture that ask the client. See mcp_fixture.h.
 *
 * The same functions serve both eras: in a session each question is a request and its answer is waited for,
 * in the modern era the call ends with the questions and comes again with the answers. */
#include "mcp_fixture.h"

/* ---- texts ---- */

mk_code mcp_fixture_put_text(mk_buf *out, mk_str text, mk_err *err)
{
    mk_buf_z(out, "\"content\":[{\"type\":\"text\",\"text\":");
    mk_canon_string(out, text);
    mk_buf_z(out, "}]");
    return mk_buf_done(out, err);
}

static const mk_json *member(const mk_json *object, const char *name)
{
    return object != NULL && object->kind == MK_JSON_OBJECT ? mk_json_get(object, name) : NULL;
}

static mk_str text_of(const mk_json *value)
{
    return value != NULL && value->kind == MK_JSON_STRING ? value->text : MK_STR("");
}

/* What a model said: `content` is one block, or a list of them. */
static mk_str sampled(const mk_json *answer)
{
    const mk_json *content = member(answer, "content");
    if (content != NULL && content->kind == MK_JSON_ARRAY && content->n > 0)
        content = &content->items[0];
    return text_of(member(content, "text"));
}

/* ---- sampling and elicitation by their own names ---- */

mk_code mcp_fixture_run_sampling(const mk_tool *tool, mk_mcp_call *call, const mk_json *args, mk_buf *out,
                                 mk_err *err)
{
    const mk_json *answer;
    mk_buf params, text;
    mk_code rc;
    (void)tool;
    mk_buf_init(&params, mk_mcp_arena(call)->alloc);
    mk_buf_init(&text, mk_mcp_arena(call)->alloc);
    mk_buf_z(&params, "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":");
    mk_canon_string(&params, text_of(member(args, "prompt")));
    mk_buf_z(&params, "}}],\"maxTokens\":100}");
    MK_TRY(rc, mk_buf_done(&params, err));
    MK_TRY(rc, mk_mcp_ask(call, "prompt", MK_ASK_SAMPLING, mk_buf_view(&params), &answer, err));
    mk_buf_z(&text, "LLM response: ");
    mk_buf_str(&text, sampled(answer));
    MK_TRY(rc, mk_buf_done(&text, err));
    rc = mcp_fixture_put_text(out, mk_buf_view(&text), err);
out:
    mk_buf_free(&text);
    mk_buf_free(&params);
    return rc;
}

#define SCHEMA(properties, required)                                                                         \
    "{\"type\":\"object\",\"properties\":{" properties "},\"required\":[" required "]}"
#define USER_SCHEMA                                                                                          \
    SCHEMA("\"username\":{\"type\":\"string\",\"description\":\"User's response\"},"                         \
           "\"email\":{\"type\":\"string\",\"description\":\"User's email address\"}",                       \
           "\"username\",\"email\"")
#define DEFAULTS_SCHEMA                                                                                      \
    SCHEMA("\"name\":{\"type\":\"string\",\"default\":\"John "                                               \
           "Doe\"},\"age\":{\"type\":\"integer\",\"default\":30},"                                           \
           "\"score\":{\"type\":\"number\",\"default\":95.5},"                                               \
           "\"status\":{\"type\":\"string\",\"enum\":[\"active\",\"inactive\",\"pending\"],\"default\":"     \
           "\"active\"},"                                                                                    \
           "\"verified\":{\"type\":\"boolean\",\"default\":true}",                                           \
           "")
#define ENUMS_SCHEMA                                                                                         \
    SCHEMA("\"untitledSingle\":{\"type\":\"string\",\"enum\":[\"option1\",\"option2\",\"option3\"]},"        \
           "\"titledSingle\":{\"type\":\"string\",\"oneOf\":[{\"const\":\"value1\",\"title\":\"First "       \
           "Option\"},"                                                                                      \
           "{\"const\":\"value2\",\"title\":\"Second Option\"},{\"const\":\"value3\",\"title\":\"Third "     \
           "Option\"}]},"                                                                                    \
           "\"legacyEnum\":{\"type\":\"string\",\"enum\":[\"opt1\",\"opt2\",\"opt3\"],"                      \
           "\"enumNames\":[\"Option One\",\"Option Two\",\"Option Three\"]},"                                \
           "\"untitledMulti\":{\"type\":\"array\",\"items\":{\"type\":\"string\","                           \
           "\"enum\":[\"option1\",\"option2\",\"option3\"]}},"                                               \
           "\"titledMulti\":{\"type\":\"array\",\"items\":{\"anyOf\":["                                      \
           "{\"const\":\"value1\",\"title\":\"First Choice\"},{\"const\":\"value2\",\"title\":\"Second "     \
           "Choice\"},"                                                                                      \
           "{\"const\":\"value3\",\"title\":\"Third Choice\"}]}}",                                           \
           "")

mk_code mcp_fixture_run_elicitation(const mk_tool *tool, mk_mcp_call *call, const mk_json *args, mk_buf *out,
                                    mk_err *err)
{
    const bool plain = strcmp(tool->name, "test_elicitation") == 0;
    const bool defaults = strcmp(tool->name, "test_elicitation_sep1034_defaults") == 0;
    const mk_json *answer, *content;
    mk_buf params, text;
    mk_code rc;
    mk_buf_init(&params, mk_mcp_arena(call)->alloc);
    mk_buf_init(&text, mk_mcp_arena(call)->alloc);
    mk_buf_z(&params, "{\"message\":");
    mk_canon_string(&params, plain ? text_of(member(args, "message")) : MK_STR("Please look at this form"));
    mk_buf_z(&params, ",\"requestedSchema\":");
    mk_buf_z(&params, plain ? USER_SCHEMA : defaults ? DEFAULTS_SCHEMA : ENUMS_SCHEMA);
    mk_buf_c(&params, '}');
    MK_TRY(rc, mk_buf_done(&params, err));
    MK_TRY(rc, mk_mcp_ask(call, "form", MK_ASK_ELICITATION, mk_buf_view(&params), &answer, err));
    mk_buf_z(&text, plain ? "User response: action=" : "Elicitation completed: action=");
    mk_buf_str(&text, text_of(member(answer, "action")));
    mk_buf_z(&text, ", content=");
    content = member(answer, "content");
    if (content != NULL)
        MK_TRY(rc, mk_canon_tree(&text, mk_mcp_arena(call), content, err));
    else
        mk_buf_z(&text, "{}");
    MK_TRY(rc, mk_buf_done(&text, err));
    rc = mcp_fixture_put_text(out, mk_buf_view(&text), err);
out:
    mk_buf_free(&text);
    mk_buf_free(&params);
    return rc;
}

/* ---- several rounds ---- */

#define ASK_TEXT(message, name)                                                                              \
    "{\"message\":\"" message                                                                                \
    "\",\"requestedSchema\":" SCHEMA("\"" name "\":{\"type\":\"string\"}", "\"" name "\"") "}"
#define ASK_OK                                                                                               \
    "{\"message\":\"Please confirm\",\"requestedSchema\":" SCHEMA("\"ok\":{\"type\":\"boolean\"}",           \
                                                                  "\"ok\"") "}"
#define ASK_MODEL(text, tokens)                                                                              \
    "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"" text                      \
    "\"}}],\"maxTokens\":" tokens "}"

typedef struct round_question {
    const char *tool, *key;
    int round; /* questions of one round are asked together */
    mk_mcp_question what;
    bool optional; /* left out when the client cannot answer it */
    const char *params;
} round_question;

static const round_question questions[] = {
    {"test_input_required_result_elicitation", "user_name", 1, MK_ASK_ELICITATION, false,
     ASK_TEXT("What is your name?", "name")},
    {"test_streaming_elicitation", "user_name", 1, MK_ASK_ELICITATION, false,
     ASK_TEXT("What is your name?", "name")},
    {"test_input_required_result_sampling", "capital_question", 1, MK_ASK_SAMPLING, false,
     ASK_MODEL("What is the capital of France?", "100")},
    {"test_missing_capability", "needed", 1, MK_ASK_SAMPLING, false, ASK_MODEL("Say something", "10")},
    {"test_input_required_result_list_roots", "client_roots", 1, MK_ASK_ROOTS, false, "{}"},
    {"test_input_required_result_request_state", "confirm", 1, MK_ASK_ELICITATION, false, ASK_OK},
    {"test_input_required_result_tampered_state", "confirm", 1, MK_ASK_ELICITATION, false, ASK_OK},
    {"test_input_required_result_multiple_inputs", "user_name", 1, MK_ASK_ELICITATION, false,
     ASK_TEXT("What is your name?", "name")},
    {"test_input_required_result_multiple_inputs", "greeting", 1, MK_ASK_SAMPLING, false,
     ASK_MODEL("Generate a greeting", "50")},
    {"test_input_required_result_multiple_inputs", "client_roots", 1, MK_ASK_ROOTS, false, "{}"},
    {"test_input_required_result_multi_round", "step1", 1, MK_ASK_ELICITATION, false,
     ASK_TEXT("Step 1: What is your name?", "name")},
    {"test_input_required_result_multi_round", "step2", 2, MK_ASK_ELICITATION, false,
     ASK_TEXT("Step 2: What is your favorite color?", "color")},
    {"test_input_required_result_capabilities", "user_name", 1, MK_ASK_ELICITATION, true,
     ASK_TEXT("What is your name?", "name")},
    {"test_input_required_result_capabilities", "greeting", 1, MK_ASK_SAMPLING, true,
     ASK_MODEL("Generate a greeting", "50")},
    {"test_input_required_result_capabilities", "client_roots", 1, MK_ASK_ROOTS, true, "{}"},
};

/* An answer in words: a name or a color out of a form, a model's text, the roots' uris. */
static void put_answer(mk_buf *text, const mk_json *answer)
{
    const mk_json *content = member(answer, "content"), *roots = member(answer, "roots");
    for (size_t i = 0; roots != NULL && roots->kind == MK_JSON_ARRAY && i < roots->n; i++) {
        mk_buf_c(text, ' ');
        mk_buf_str(text, text_of(member(&roots->items[i], "uri")));
    }
    if (member(answer, "role") != NULL) {
        mk_buf_c(text, ' ');
        mk_buf_str(text, sampled(answer));
        return;
    }
    for (size_t i = 0; content != NULL && content->kind == MK_JSON_OBJECT && i < content->n; i++)
        if (content->members[i].value.kind == MK_JSON_STRING) {
            mk_buf_c(text, ' ');
            mk_buf_str(text, content->members[i].value.text);
        }
}

/* Asks every question of a round; the first that is not answered yet is the result, but all are said. */
static mk_code ask_round(mk_mcp_call *call, const char *tool, int round, size_t *asked, mk_buf *text,
                         mk_err *err)
{
    mk_code rc = MK_OK;
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
        const round_question *q = &questions[i];
        const mk_json *answer;
        if (strcmp(q->tool, tool) != 0 || q->round != round ||
            (q->optional && !mk_mcp_can_ask(call, q->what)))
            continue;
        ++*asked;
        const mk_code one = mk_mcp_ask(call, q->key, q->what, mk_str_of(q->params), &answer, err);
        if (one == MK_OK)
            put_answer(text, answer);
        else
            rc = one;
    }
    return rc;
}

mk_code mcp_fixture_run_rounds(const mk_tool *tool, mk_mcp_call *call, const mk_json *args, mk_buf *out,
                               mk_err *err)
{
    mk_buf text;
    mk_code rc = MK_OK;
    size_t asked = 1;
    (void)args;
    mk_mcp_log(call, "info", "fixture", "\"asking\"");
    mk_buf_init(&text, mk_mcp_arena(call)->alloc);
    mk_buf_z(&text,
             strcmp(tool->name, "test_input_required_result_request_state") == 0 ? "state-ok:" : "Hello,");
    for (int round = 1; asked > 0; round++) {
        asked = 0;
        MK_TRY(rc, ask_round(call, tool->name, round, &asked, &text, err));
    }
    mk_buf_c(&text, '!');
    MK_TRY(rc, mk_buf_done(&text, err));
    rc = mcp_fixture_put_text(out, mk_buf_view(&text), err);
out:
    mk_buf_free(&text);
    return rc;
}

mk_code mcp_fixture_ask_context(mk_mcp_call *call, mk_buf *out, mk_err *err)
{
    const mk_json *answer;
    mk_buf text;
    mk_buf_init(&text, mk_mcp_arena(call)->alloc);
    mk_code rc = mk_mcp_ask(call, "user_context", MK_ASK_ELICITATION,
                            MK_STR(ASK_TEXT("What context should the prompt use?", "context")), &answer, err);
    if (rc == MK_OK) {
        mk_buf_z(&text, "Use this context:");
        put_answer(&text, answer);
        mk_buf_z(out, "\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":");
        mk_canon_string(out, mk_buf_view(&text));
        mk_buf_z(out, "}}]");
        rc = mk_buf_done(out, err);
    }
    mk_buf_free(&text);
    return rc;
}

/* cmd_mcp.c — mcp: the Model Context Protocol over standard input and output. Layer: cli. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/mcp_config.h"
#include "model/model.h"
#include "serve/offer.h"
#include "serve/stdio.h"

#define NOTIFY_EVERY_US INT64_C(1000000)
#define LOOK_EVERY_US INT64_C(100000)

typedef struct mcp_serving {
    mk_cli *cli;
    mk_model *model; /* that the environment names */
    mk_service *service;
    mk_tools tools;
    mk_mcp_offer offer;
    mk_mcp *server;
    pid_t parent;
    int64_t notified_us, looked_us;
    bool had_store; /* otherwise the card can be read only later, and clients are told so */
} mcp_serving;

/* ---- opening ---- */

static mk_code read_options(mcp_serving *m, mk_service_options *o, mk_err *err)
{
    const mk_options *given = &m->cli->options;
    const char *format = mk_options_value(given, "time-format");
    uint64_t bytes = MK_RESULT_BYTES;
    mk_code rc;
    *o = (mk_service_options){.write = mk_options_has(given, "write"), .dir = mk_cli__store_dir(m->cli)};
    MK_TRY(rc, mk_cli__mask(m->cli, &o->mask, err));
    MK_TRY(rc,
           mk_options_u64(given, "max-result-bytes", MK_RESULT_BYTES_MIN, MK_RESULT_BYTES_MAX, &bytes, err));
    o->result_bytes = (size_t)bytes;
    if (format != NULL && strcmp(format, "us") != 0 && strcmp(format, "iso") != 0) {
        rc = mk_fail_usage(err, "--time-format is us or iso, not \"%s\"", format);
        goto out;
    }
    o->times = format != NULL && format[0] == 'i' ? MK_WIRE_ISO : MK_WIRE_US;
out:
    return rc;
}

static void mcp_close(mcp_serving *m)
{
    mk_mcp_close(m->server);
    if (m->tools.alloc != NULL)
        mk_tools_close(&m->tools);
    mk_service_close(m->service);
    mk_model_close(m->model);
}

static mk_code mcp_open(mcp_serving *m, mk_err *err)
{
    mk_service_options options;
    mk_code rc;
    MK_TRY(rc, read_options(m, &options, err));
    MK_TRY(rc, mk_cli__model_open(m->cli, &m->model, err));
    options.model = m->model;
    MK_TRY(rc, mk_service_open(m->cli->alloc, &options, &m->service, err));
    MK_TRY(rc, mk_tools_open(m->cli->alloc, m->service, mk_options_value(&m->cli->options, "tools"),
                             &m->tools, err));
    mk_offer_init(&m->offer, m->service, &m->tools, MK_PROGRAM_VERSION);
    rc = mk_mcp_open(m->cli->alloc, &m->offer, NULL, &m->server, err);
out:
    return rc;
}

/* ---- serving ---- */

/* Tells who subscribed that the card has changed, at most once a second; ends when nobody is left to
 * serve. */
static void on_tick(void *ctx)
{
    mcp_serving *m = ctx;
    const int64_t now = mk_clock_system.now_us(mk_clock_system.ctx);
    if (getppid() != m->parent)
        (void)raise(SIGTERM);
    if (now - m->looked_us < LOOK_EVERY_US || now - m->notified_us < NOTIFY_EVERY_US)
        return;
    m->looked_us = now;
    if (!mk_service_changed(m->service))
        return;
    m->notified_us = now;
    mk_mcp_notify(m->server, MK_RESOURCE_UPDATED, MK_CARD_URI);
    if (!m->had_store)
        mk_mcp_notify(m->server, MK_RESOURCES_CHANGED, NULL);
    m->had_store = true;
}

/* Nothing but protocol may reach standard output: what else is printed goes to standard error from here
 * on. */
static mk_code take_stdout(int *out, mk_err *err)
{
    *out = dup(STDOUT_FILENO);
    if (*out >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0)
        return MK_OK;
    mk_fail(err, MK_E_STATE, "standard output cannot be used");
    return MK_E_STATE;
}

static int catch_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    if (pthread_sigmask(SIG_BLOCK, &set, NULL) != 0)
        return -1;
    return signalfd(-1, &set, SFD_CLOEXEC);
}

static mk_code run_stdio(mcp_serving *m, mk_err *err)
{
    const char *principal = mk_options_value(&m->cli->options, "principal");
    mk_stdio_options options = {.in = STDIN_FILENO,
                                .principal = mk_str_of(principal != NULL ? principal : "public"),
                                .tick = on_tick,
                                .tick_ctx = m};
    mk_store *store;
    mk_code rc;
    m->parent = getppid();
    options.stop = catch_signals(); /* before any thread, so that all of them leave the signals alone */
    MK_TRY(rc, take_stdout(&options.out, err));
    MK_TRY(rc, mcp_open(m, err));
    m->had_store = mk_service_store(m->service, &store, NULL) == MK_OK;
    (void)mk_service_changed(m->service); /* what is there now is no change */
    rc = mk_mcp_stdio(m->server, m->cli->alloc, &options, err);
out:
    if (options.stop >= 0)
        close(options.stop);
    return rc;
}

/* ---- --check ---- */

static void drop_message(mk_stream *self, mk_str message)
{
    (void)self;
    (void)message;
}

typedef struct checking {
    mcp_serving *m;
    mk_mcp_session *session;
    mk_stream stream;
    mk_arena arena;
    mk_buf answer;
} checking;

/* One request, answered without an error. *answer lives until the next. */
static mk_code check_ask(checking *c, const char *request, const mk_json **answer, mk_err *err)
{
    mk_mcp_message message;
    mk_json *tree;
    int status;
    mk_code rc;
    mk_arena_reset(&c->arena);
    mk_buf_clear(&c->answer);
    mk_mcp_read(mk_str_of(request), &c->arena, &message);
    if (message.kind == MK_MESSAGE_REQUEST)
        (void)mk_mcp_begin(c->session, &message);
    MK_TRY(rc, mk_mcp_handle(c->m->server, c->session, &message, &c->stream, &c->arena, &c->answer, &status,
                             err));
    MK_TRY(rc, mk_json_parse(&c->arena, mk_buf_view(&c->answer), NULL, &tree, err));
    const mk_json *result = mk_json_get(tree, "result");
    const mk_json *failed = result != NULL ? mk_json_get(result, "isError") : NULL;
    if (result == NULL || (failed != NULL && failed->b))
        rc = mk_fail(err, MK_E_STATE, "the answer is an error: %.*s", MK_STR_ARG(mk_buf_view(&c->answer)));
    *answer = result;
out:
    return rc;
}

static mk_code check_all(checking *c, mk_err *err)
{
    const mk_json *result;
    char line[300];
    mk_code rc;
    MK_TRY(rc,
           check_ask(
               c,
               "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
               "\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"check\",\"version\":\"1\"}}}",
               &result, err));
    MK_TRY(rc, mk_cli__put(c->m->cli, MK_STR("initialize        ok, revision 2025-11-25\n"), err));
    MK_TRY(rc,
           check_ask(c,
                     "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"server/discover\",\"params\":{\"_meta\":{"
                     "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                     "\"io.modelcontextprotocol/clientCapabilities\":{}}}}",
                     &result, err));
    MK_TRY(rc, mk_cli__put(c->m->cli, MK_STR("server/discover   ok, revision 2026-07-28\n"), err));
    MK_TRY(rc, check_ask(c, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/list\"}", &result, err));
    snprintf(line, sizeof line, "tools/list        ok, %zu tools in %zu bytes\n",
             mk_json_get(result, "tools")->n, c->answer.n);
    MK_TRY(rc, mk_cli__put(c->m->cli, mk_str_of(line), err));
    MK_TRY(rc, check_ask(c,
                         "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"tools/"
                         "call\",\"params\":{\"name\":\"describe_dataset\"}}",
                         &result, err));
    const mk_json *card = mk_json_get(result, "structuredContent");
    const mk_json *entities = card != NULL ? mk_json_get(card, "entities") : NULL;
    snprintf(line, sizeof line, "describe_dataset  ok, %lld entities\n",
             entities != NULL ? (long long)entities->i : -1LL);
    rc = mk_cli__put(c->m->cli, mk_str_of(line), err);
out:
    return rc;
}

static mk_code run_check(mcp_serving *m, mk_err *err)
{
    checking c = {.m = m, .stream = {.send = drop_message}};
    mk_code rc;
    mk_arena_init(&c.arena, m->cli->alloc);
    mk_buf_init(&c.answer, m->cli->alloc);
    MK_TRY(rc, mcp_open(m, err));
    MK_TRY(rc, mk_mcp_session_open(m->server, &c.stream, true, MK_STR("public"), &c.session, err));
    rc = check_all(&c, err);
out:
    mk_mcp_session_close(c.session);
    mk_buf_free(&c.answer);
    mk_arena_free(&c.arena);
    return rc;
}

/* ---- the command ---- */

static mk_code run_mcp(mk_cli *cli, mk_err *err)
{
    mcp_serving m = {.cli = cli};
    const char *client = mk_options_value(&cli->options, "print-config");
    if (client != NULL)
        return mk_mcp_config(cli, client, mk_options_value(&cli->options, "http"), err);
    if (mk_options_has(&cli->options, "http"))
        return mk_fail_usage(err, "--http goes with --print-config");
    const mk_code rc = mk_options_has(&cli->options, "check") ? run_check(&m, err) : run_stdio(&m, err);
    mcp_close(&m);
    return rc;
}

static const mk_option mcp_options[] = {
    {.name = "print-config", .value = "CLIENT", .doc = "the entry for a client's configuration, and end"},
    {.name = "http",
     .value = "URL",
     .doc = "with --print-config: of a server that runs, merkhet serve, instead of a command"},
    {.name = "check", .doc = "ask the server a few questions, say what it answers, and end"},
    {.name = "tools", .value = "LIST", .doc = "only these tools or groups of tools, by commas"},
    {.name = "time-format", .value = "us|iso", .doc = "times in results, unless a call says; default us"},
    {.name = "max-result-bytes", .value = "N", .doc = "most text of one result; default 32000"},
    {.name = "principal", .value = "NAME", .doc = "who asks: user:... or group:...; default public"},
    {.name = "write", .doc = "let clients write: graph_assert, graph_retract, graph_correct"},
    {.name = "show", .value = "LIST", .doc = "also reserved entities: resolution, knowledge, notes"},
    {0},
};

const mk_command mk_commands_mcp[] = {
    {.name = "mcp",
     .words = "",
     .summary = "serves the store to an agent over the Model Context Protocol, on standard input and output",
     .help = "Every operator is a tool; the store is only read, unless --write. The store may be made later: "
             "until\n"
             "then tools answer with the command that makes it. CLIENT is one of claude-desktop,\n"
             "claude-code, cursor, windsurf, gemini-cli, lm-studio, copilot-cli, vscode, codex, zed.",
     .example = "merkhet init --store graph\nmerkhet mcp --store graph --check\n"
                "merkhet mcp --store graph --print-config claude-desktop\n"
                "merkhet mcp --print-config vscode --http http://127.0.0.1:8765/mcp",
     .options = mcp_options,
     .run = run_mcp},
    {0},
};

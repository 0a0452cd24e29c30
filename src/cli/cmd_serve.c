/* cmd_serve.c — serve: the protocol, the API and the page over HTTP. Layer: cli. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/cli.h"
#include "model/model.h"
#include "serve/http.h"
#include "serve/offer.h"

#define TICK_MS 50
#define HOSTS_MAX 32

typedef struct serving {
    mk_cli *cli;
    mk_model *model; /* that the environment names */
    mk_service *service;
    mk_tools tools;
    mk_mcp_offer offer;
    mk_mcp *mcp;
    mk_tokens tokens;
    bool has_tokens;
    mk_http *http;
    const char *hosts[HOSTS_MAX];
    mk_http_options options;
} serving;

static bool is_loopback(const char *bind)
{
    return strncmp(bind, "127.", 4) == 0 || strcmp(bind, "::1") == 0;
}

/* ---- options ---- */

static mk_code read_service(serving *s, mk_service_options *o, mk_err *err)
{
    const mk_options *given = &s->cli->options;
    uint64_t bytes = MK_RESULT_BYTES;
    mk_code rc;
    *o = (mk_service_options){.write = mk_options_has(given, "write"), .dir = mk_cli__store_dir(s->cli)};
    MK_TRY(rc, mk_cli__mask(s->cli, &o->mask, err));
    MK_TRY(rc,
           mk_options_u64(given, "max-result-bytes", MK_RESULT_BYTES_MIN, MK_RESULT_BYTES_MAX, &bytes, err));
    o->result_bytes = (size_t)bytes;
out:
    return rc;
}

/* Names with commas between them, cut in place: the command line is ours. */
static mk_code read_hosts(serving *s, mk_err *err)
{
    char *text = (char *)(uintptr_t)mk_options_value(&s->cli->options, "host");
    while (text != NULL && *text != '\0') {
        char *comma = strchr(text, ',');
        if (s->options.host_count == HOSTS_MAX)
            return mk_fail_usage(err, "--host takes at most %d names", HOSTS_MAX);
        if (comma != NULL)
            *comma = '\0';
        s->hosts[s->options.host_count++] = text;
        text = comma != NULL ? comma + 1 : NULL;
    }
    s->options.hosts = s->hosts;
    return MK_OK;
}

static void log_line(void *ctx, mk_str line)
{
    (void)ctx;
    fprintf(stderr, "%.*s\n", MK_STR_ARG(line));
}

static mk_code read_options(serving *s, mk_err *err)
{
    const mk_options *given = &s->cli->options;
    const char *tokens = mk_options_value(given, "token-file");
    uint64_t port = 8765;
    mk_code rc;
    MK_TRY(rc, mk_options_u64(given, "port", 0, 65535, &port, err));
    s->options = (mk_http_options){.mcp = NULL,
                                   .bind = mk_options_value(given, "bind"),
                                   .port = (uint16_t)port,
                                   .version = MK_PROGRAM_VERSION,
                                   .stateless = mk_options_has(given, "stateless"),
                                   .log = mk_options_has(given, "log") ? log_line : NULL};
    MK_TRY(rc, read_hosts(s, err));
    if (tokens != NULL) {
        MK_TRY(rc, mk_tokens_open(s->cli->alloc, tokens, &s->tokens, err));
        s->has_tokens = true;
        s->options.tokens = &s->tokens;
    }
    if (s->options.bind != NULL && !is_loopback(s->options.bind) && tokens == NULL &&
        !mk_options_has(given, "insecure")) {
        mk_fail(err, MK_E_INVALID_ARG,
                "--bind %s lets other machines in, and nobody would be asked who they are", s->options.bind);
        mk_err_hint(err, "give --token-file FILE, or --insecure when something else guards the address");
        rc = MK_E_INVALID_ARG;
    }
out:
    return rc;
}

/* ---- serving ---- */

static mk_code open_all(serving *s, mk_err *err)
{
    mk_service_options service;
    mk_mcp_options mcp = {.authenticated = s->has_tokens};
    mk_code rc;
    MK_TRY(rc, read_service(s, &service, err));
    MK_TRY(rc, mk_cli__model_open(s->cli, &s->model, err));
    service.model = s->model;
    MK_TRY(rc, mk_service_open(s->cli->alloc, &service, &s->service, err));
    MK_TRY(rc, mk_tools_open(s->cli->alloc, s->service, mk_options_value(&s->cli->options, "tools"),
                             &s->tools, err));
    mk_offer_init(&s->offer, s->service, &s->tools, MK_PROGRAM_VERSION);
    MK_TRY(rc, mk_mcp_open(s->cli->alloc, &s->offer, &mcp, &s->mcp, err));
    s->options.mcp = s->mcp;
    s->options.service = s->service;
    s->options.alloc = s->cli->alloc;
    rc = mk_http_open(&s->options, &s->http, err);
out:
    return rc;
}

static void close_all(serving *s)
{
    mk_http_close(s->http);
    mk_mcp_close(s->mcp);
    if (s->tools.alloc != NULL)
        mk_tools_close(&s->tools);
    mk_service_close(s->service);
    mk_model_close(s->model);
    if (s->has_tokens)
        mk_tokens_close(&s->tokens);
}

/* For scripts: written whole or not at all, so that who waits for it never reads half. */
static mk_code write_port(const char *path, uint16_t port, mk_err *err)
{
    char text[16], temporary[4096];
    const int n = snprintf(text, sizeof text, "%u\n", port);
    if ((size_t)snprintf(temporary, sizeof temporary, "%s.tmp", path) >= sizeof temporary)
        return mk_fail(err, MK_E_INVALID_ARG, "--port-file: the path is too long");
    FILE *f = fopen(temporary, "we");
    const bool wrote = f != NULL && fwrite(text, 1, (size_t)n, f) == (size_t)n;
    const bool closed = f != NULL && fclose(f) == 0;
    if (wrote && closed && rename(temporary, path) == 0)
        return MK_OK;
    mk_fail(err, MK_E_STATE, "cannot write the port to %s: %s", path, strerror(errno));
    return MK_E_STATE;
}

static mk_code say_hello(serving *s, mk_err *err)
{
    const char *bind = s->options.bind != NULL ? s->options.bind : "127.0.0.1",
               *file = mk_options_value(&s->cli->options, "port-file");
    const bool six = strchr(bind, ':') != NULL;
    char line[300];
    mk_code rc = MK_OK;
    if (file != NULL)
        MK_TRY(rc, write_port(file, mk_http_port(s->http), err));
    snprintf(line, sizeof line,
             "serving %s at http://%s%s%s:%u/ (protocol at /mcp, API below /api); Ctrl-C ends it\n",
             mk_cli__store_dir(s->cli), six ? "[" : "", bind, six ? "]" : "", mk_http_port(s->http));
    fputs(line, stderr);
out:
    return rc;
}

/* Until a signal says so. Who sent it is said, for whoever finds a server gone. */
static mk_code wait_for_end(serving *s, int stop, mk_err *err)
{
    struct signalfd_siginfo why;
    for (;;) {
        struct pollfd fd = {.fd = stop, .events = POLLIN};
        if (poll(&fd, 1, TICK_MS) > 0)
            break;
        mk_http_tick(s->http);
    }
    if (read(stop, &why, sizeof why) != (ssize_t)sizeof why) {
        mk_fail(err, MK_E_STATE, "the server cannot wait for signals any more: %s", strerror(errno));
        return MK_E_STATE;
    }
    fprintf(stderr, "ending: signal %u of process %u\n", why.ssi_signo, why.ssi_pid);
    return MK_OK;
}

static mk_code run_serve(mk_cli *cli, mk_err *err)
{
    serving s = {.cli = cli};
    sigset_t set;
    mk_code rc;
    int stop = -1;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    if (pthread_sigmask(SIG_BLOCK, &set, NULL) ==
        0) /* before any thread, so that all of them leave the signals alone */
        stop = signalfd(-1, &set, SFD_CLOEXEC);
    signal(SIGPIPE, SIG_IGN);
    MK_TRY(rc, read_options(&s, err));
    MK_TRY(rc, open_all(&s, err));
    MK_TRY(rc, say_hello(&s, err));
    rc = wait_for_end(&s, stop, err);
out:
    close_all(&s);
    if (stop >= 0)
        close(stop);
    return rc;
}

static const mk_option serve_options[] = {
    {.name = "port", .value = "N", .doc = "default 8765; 0 takes a free one"},
    {.name = "port-file", .value = "FILE", .doc = "write the port there once it is open"},
    {.name = "bind", .value = "ADDRESS", .doc = "default 127.0.0.1; others need --token-file or --insecure"},
    {.name = "host",
     .value = "NAMES",
     .doc = "more host names to answer to, by commas, with or without a port"},
    {.name = "token-file",
     .value = "FILE",
     .doc = "lines TOKEN SCOPES PRINCIPAL; then every request needs one"},
    {.name = "insecure", .doc = "let an address other than loopback be open to all"},
    {.name = "stateless", .doc = "no sessions of the protocol"},
    {.name = "tools", .value = "LIST", .doc = "only these tools or groups of tools, by commas"},
    {.name = "max-result-bytes",
     .value = "N",
     .doc = "most text of one result of the protocol; default 32000"},
    {.name = "write", .doc = "let clients write: graph_assert, graph_retract, graph_correct"},
    {.name = "show", .value = "LIST", .doc = "also reserved entities: resolution, knowledge, notes"},
    {.name = "log", .doc = "a line on standard error for each request"},
    {0},
};

const mk_command mk_commands_serve[] = {
    {.name = "serve",
     .words = "",
     .summary = "serves the store over HTTP: a page, a JSON API, and the Model Context Protocol",
     .help = "The store is only read, unless --write, and followed: what another process commits shows "
             "within 100 ms. Only this\n"
             "machine is served unless --bind says otherwise. SIGTERM ends it, after what runs has finished.",
     .example = "merkhet init --store graph\n"
                "timeout 1 merkhet serve --store graph --port 0 --port-file port || true",
     .options = serve_options,
     .run = run_serve},
    {0},
};

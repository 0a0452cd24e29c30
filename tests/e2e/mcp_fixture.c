/* mcp_fixture.c — serves the conformance fixture over the program's own transports.
 *
 *   mcp_fixture stdio
 *   mcp_fixture http PORTFILE
 *
 * Ends at the end of input, or at SIGTERM. See tests/support/mcp_fixture.h. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <poll.h>

#include "serve/http.h"
#include "serve/stdio.h"
#include "../support/mcp_fixture.h"

static int stop_descriptor(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    return signalfd(-1, &set, SFD_CLOEXEC);
}

static mk_code serve_stdio(mk_mcp *server, int stop, mk_err *err)
{
    const mk_stdio_options options = {.in = STDIN_FILENO, .out = STDOUT_FILENO, .stop = stop,
                                      .principal = MK_STR("public")};
    return mk_mcp_stdio(server, &mk_alloc_default, &options, err);
}

static mk_code serve_http(mk_mcp *server, int stop, const char *file, mk_err *err)
{
    const mk_http_options options = {.mcp = server};
    mk_http *http;
    mk_code rc = mk_http_open(&options, &http, err);
    if (rc != MK_OK)
        return rc;
    FILE *f = fopen(file, "w");
    if (f == NULL || fprintf(f, "%u\n", mk_http_port(http)) < 0)
        rc = mk_fail(err, MK_E_STATE, "cannot write %s", file);
    if (f != NULL)
        fclose(f);
    for (struct pollfd fd = {.fd = stop, .events = POLLIN}; rc == MK_OK && poll(&fd, 1, 50) == 0;)
        mk_http_tick(http);
    mk_http_close(http);
    return rc;
}

int main(int argc, char **argv)
{
    mk_mcp_offer offer;
    mk_mcp *server;
    mk_err err;
    mk_code rc;
    const bool http = argc == 3 && strcmp(argv[1], "http") == 0;
    if (!http && (argc != 2 || strcmp(argv[1], "stdio") != 0)) {
        fputs("usage: mcp_fixture stdio | http PORTFILE\n", stderr);
        return 2;
    }
    const int stop = stop_descriptor();
    mcp_fixture_init(&offer);
    MK_TRY(rc, mk_mcp_open(&mk_alloc_default, &offer, NULL, &server, &err));
    rc = http ? serve_http(server, stop, argv[2], &err) : serve_stdio(server, stop, &err);
    mk_mcp_close(server);
out:
    if (rc != MK_OK)
        fprintf(stderr, "mcp_fixture: %s\n", err.message);
    close(stop);
    return rc != MK_OK;
}

/* mcp_fixture.c — serves the conformance fixture over the program's own transports.
 *
 *   mcp_fixture stdio
 *
 * Ends at the end of input, or at SIGTERM. See tests/support/mcp_fixture.h. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

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

int main(int argc, char **argv)
{
    mk_mcp_offer offer;
    mk_mcp *server;
    mk_err err;
    mk_code rc;
    if (argc != 2 || strcmp(argv[1], "stdio") != 0) {
        fputs("usage: mcp_fixture stdio\n", stderr);
        return 2;
    }
    const int stop = stop_descriptor();
    mcp_fixture_init(&offer);
    MK_TRY(rc, mk_mcp_open(&mk_alloc_default, &offer, NULL, &server, &err));
    rc = serve_stdio(server, stop, &err);
    mk_mcp_close(server);
out:
    if (rc != MK_OK)
        fprintf(stderr, "mcp_fixture: %s\n", err.message);
    close(stop);
    return rc != MK_OK;
}

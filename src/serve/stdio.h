/* stdio.h — the protocol over two file descriptors, one message a line. Layer: serve.
 *
 * Reading never waits for a call: up to 8 calls run at once, 256 wait, more are refused. Answers come in the
 * order of completion. Source: serving spec, 7. */
#ifndef MK_SERVE_STDIO_H
#define MK_SERVE_STDIO_H

#include "serve/mcp.h"

#define MK_STDIO_LINE_MAX ((size_t)10 << 20)

typedef struct mk_stdio_options {
    int in, out;
    int stop; /* readable: end now; -1: none */
    mk_str principal;
    void (*tick)(void *ctx); /* about ten times a second, on the reading thread; NULL: none */
    void *tick_ctx;
} mk_stdio_options;

/* Serves until the input ends, `stop` is readable or the output is broken. Calls that run when the input ends
 * have 1.5 s to finish; otherwise they are cancelled. Errors: MK_E_NOMEM, MK_E_STATE when threads cannot
 * start. */
MK_CHECK mk_code mk_mcp_stdio(mk_mcp *server, const mk_alloc *alloc, const mk_stdio_options *options,
                              mk_err *err);

#endif

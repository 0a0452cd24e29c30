/* http.h — the transport over HTTP: the protocol at /mcp, the API below /api, the page at /. Layer: serve.
 *
 * libmicrohttpd reads and writes with a fixed number of threads; what may take long is handed to a fixed
 * number of workers meanwhile, so that slow calls do not hold up quick ones. Every request passes the same
 * checks in the order of the serving spec, section 8. Source: serving spec, 8 to 10, 13, 16; decisions.md
 * 7, 8. */
#ifndef MK_SERVE_HTTP_H
#define MK_SERVE_HTTP_H

#include "serve/mcp.h"
#include "serve/service.h"
#include "serve/token.h"

typedef struct mk_http mk_http;

/* All members but `mcp` may be zero. The pointers must outlive the server. */
typedef struct mk_http_options {
    mk_mcp *mcp;              /* what /mcp serves */
    mk_service *service;      /* what /api serves; NULL: there is only /mcp, /healthz and /metrics */
    const char *version;      /* of the program, for metrics and documents */
    const char *bind;         /* an address, IPv4 or IPv6; NULL: 127.0.0.1 */
    uint16_t port;            /* 0: a free one */
    const char *const *hosts; /* more names that `Host` and `Origin` may have, with or without a port */
    size_t host_count;
    const mk_tokens *tokens;  /* NULL: nobody is asked for one */
    bool stateless;           /* no sessions: no ids, no GET, no calling back */
    size_t body_max;          /* bytes; 0: 4 MiB */
    unsigned threads;         /* that read and write; 0: half as many as processors, 1 to 4 */
    unsigned connections_max; /* 0: 1,024 */
    unsigned per_client_max;  /* connections from one address; 0: 256 */
    int64_t head_us;          /* how long a head may take, and a connection be idle; 0: 30 s */
    int64_t body_us;          /* how long a body may take; 0: 60 s */
    int64_t session_us;       /* how long a session may be idle; 0: 30 min */
    /* One line without a line break for each request, when not NULL. Any thread. */
    void (*log)(void *ctx, mk_str line);
    void *log_ctx;
    const mk_alloc *alloc;    /* NULL: mk_alloc_default */
} mk_http_options;

/* Listens. Errors: MK_E_STATE (the address is in use or not ours), MK_E_INVALID_ARG (no address),
 * MK_E_NOMEM. */
MK_CHECK mk_code mk_http_open(const mk_http_options *options, mk_http **out, mk_err *err);
uint16_t mk_http_port(const mk_http *http);
/* To be called several times a second by whoever waits: looks for commits, for clients that went away, and
 * for what took too long. */
void mk_http_tick(mk_http *http);
/* Takes no more requests, ends streams and subscriptions, waits a second and a half for what runs, cancels
 * the rest, and frees all. NULL is fine. The mk_mcp must be closed after that. */
void mk_http_close(mk_http *http);

#endif

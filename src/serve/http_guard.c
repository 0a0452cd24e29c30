/* http_guard.c — the checks that every request passes, in the order of the spec. See http_internal.h.
 * Layer: serve.
 *
 * Host and Origin are what stands between a page somewhere on the web and a server on this machine, so they
 * come first. Source: serving spec, 8, 9, 16. */
#include "serve/http_internal.h"

#include <stdio.h>

/* ---- names ---- */

/* The name without its port; false: no name at all. Brackets of an IPv6 address stay. */
static bool split_host(const char *host, mk_str *name, mk_str *port)
{
    const size_t n = strlen(host);
    const char *end = host[0] == '[' ? strchr(host, ']') : NULL;
    const char *colon = end != NULL ? (end[1] == ':' ? end + 1 : NULL) : strchr(host, ':');
    if (host[0] == '[' && (end == NULL || (end[1] != '\0' && end[1] != ':')))
        return false;
    *name = (mk_str){host, colon != NULL ? (size_t)(colon - host) : n};
    *port = colon != NULL ? (mk_str){colon + 1, n - name->n - 1} : (mk_str){NULL, 0};
    for (size_t i = 0; i < port->n; i++)
        if (port->p[i] < '0' || port->p[i] > '9')
            return false;
    return name->n != 0 && (colon == NULL || port->n != 0);
}

static bool same_name(mk_str a, mk_str b)
{
    return a.n == b.n && strncasecmp(a.p, b.p, a.n) == 0;
}

bool mk_http__host_allowed(const mk_http *http, const char *host)
{
    static const char *const loopback[] = {"localhost", "127.0.0.1", "[::1]"};
    mk_str name, port, allowed, allowed_port;
    if (!split_host(host, &name, &port))
        return false;
    for (size_t i = 0; i < sizeof loopback / sizeof *loopback; i++)
        if (same_name(name, mk_str_of(loopback[i])))
            return true;
    for (size_t i = 0; i < http->options.host_count; i++)
        if (split_host(http->options.hosts[i], &allowed, &allowed_port) && same_name(name, allowed) &&
            (allowed_port.n == 0 || mk_str_eq(port, allowed_port)))
            return true;
    return false;
}

bool mk_http__origin_allowed(const mk_http *http, const char *origin)
{
    const char *rest = strncmp(origin, "http://", 7) == 0    ? origin + 7
                       : strncmp(origin, "https://", 8) == 0 ? origin + 8
                                                             : NULL;
    return rest != NULL && strpbrk(rest, "/?#@ ") == NULL && mk_http__host_allowed(http, rest);
}

/* ---- the request line and its framing ---- */

/* What proxies and servers may read differently is not read at all. */
static bool framing_ok(mk_exchange *x)
{
    const bool both =
        mk_http__header_of(x, "Transfer-Encoding") != NULL && mk_http__header_of(x, "Content-Length") != NULL;
    const char *why = x->path[0] != '/'                       ? "the request target must be a path"
                      : mk_http__header_times(x, "Host") != 1 ? "one Host header is needed"
                      : both                                  ? "Content-Length beside Transfer-Encoding"
                      : mk_http__header_times(x, "Content-Length") > 1 ? "two Content-Length headers"
                                                                       : NULL;
    if (why == NULL)
        return true;
    mk_http__header(x, "Connection", "close");
    mk_http__refuse(x, 400, MK_E_INVALID_ARG, "%s", why);
    return false;
}

static bool host_ok(mk_exchange *x)
{
    const char *host = mk_http__header_of(x, "Host"), *origin = mk_http__header_of(x, "Origin");
    mk_err err;
    if (!mk_http__host_allowed(x->http, host)) {
        mk_fail(&err, MK_E_INVALID_ARG, "this host name is not served");
        mk_err_hint(&err, "start the server with --host NAME, for a name under which it may be reached");
        mk_http__problem(x, 403, &err);
        return false;
    }
    if (mk_http__header_times(x, "Origin") > 1 ||
        (origin != NULL && !mk_http__origin_allowed(x->http, origin))) {
        mk_http__refuse(x, 403, MK_E_INVALID_ARG, "requests from pages of this origin are not served");
        return false;
    }
    return true;
}

static void put_allow(mk_exchange *x, unsigned methods)
{
    mk_http__header(x, "Allow", "%s%s%s%s", methods & MK_GET ? "GET, HEAD" : "",
                    methods & MK_POST ? (methods & MK_GET ? ", POST" : "POST") : "",
                    methods & MK_DELETE ? ", DELETE" : "", methods & MK_OPTIONS ? ", OPTIONS" : "");
}

void mk_http__cors(mk_exchange *x)
{
    const char *origin = mk_http__header_of(x, "Origin");
    if (origin == NULL)
        return;
    mk_http__header(x, "Access-Control-Allow-Origin", "%s", origin); /* it was let in */
    mk_http__header(x, "Vary", "Origin");
    mk_http__header(x, "Access-Control-Expose-Headers",
                    "Mcp-Session-Id, MCP-Protocol-Version, WWW-Authenticate, X-Request-Id, ETag");
}

static void preflight(mk_exchange *x)
{
    mk_http__cors(x);
    put_allow(x, x->route->methods | MK_OPTIONS);
    mk_http__header(x, "Access-Control-Allow-Methods", "GET, POST, DELETE");
    mk_http__header(x, "Access-Control-Allow-Headers",
                    "Authorization, Content-Type, Accept, Last-Event-ID, X-Request-Id, Idempotency-Key, "
                    "Mcp-Session-Id, MCP-Protocol-Version, Mcp-Method, Mcp-Name");
    mk_http__header(x, "Access-Control-Max-Age", "600");
    mk_http__send(x, 204, NULL);
}

static bool method_ok(mk_exchange *x)
{
    if (x->route == NULL) {
        mk_http__refuse(x, 404, MK_E_NOT_FOUND, "there is nothing at this path");
        return false;
    }
    if (x->method == MK_OPTIONS && mk_http__header_of(x, "Origin") != NULL) {
        preflight(x);
        return false;
    }
    if ((x->method & x->route->methods) != 0)
        return true;
    put_allow(x, x->route->methods | MK_OPTIONS);
    if (x->method == MK_OPTIONS)
        mk_http__send(x, 204, NULL);
    else
        mk_http__refuse(x, 405, MK_E_INVALID_ARG, "this method is not served here");
    return false;
}

/* ---- tokens ---- */

static bool token_ok(mk_exchange *x)
{
    const mk_tokens *tokens = x->http->options.tokens;
    const char *given = mk_http__header_of(x, "Authorization");
    x->principal = MK_STR("public");
    x->scopes = MK_SCOPE_READ;
    if (tokens == NULL) {
        x->scopes |= MK_SCOPE_WRITE; /* loopback: whoever is on this machine */
        return true;
    }
    x->user_only = true;
    if (x->route->open)
        return true;
    const bool bearer = given != NULL && strncasecmp(given, "Bearer ", 7) == 0 &&
                        mk_http__header_times(x, "Authorization") == 1;
    const mk_token_entry *entry = bearer ? mk_tokens_find(tokens, mk_str_of(given + 7)) : NULL;
    if (entry != NULL) {
        x->principal = entry->principal;
        x->scopes = entry->scopes;
        x->user_only = (entry->scopes & MK_SCOPE_ADMIN) == 0;
        return true;
    }
    mk_http__header(x, "WWW-Authenticate", "Bearer realm=\"merkhet\"");
    mk_http__refuse(x, 401, MK_E_INVALID_ARG,
                    given == NULL ? "a bearer token is needed" : "this bearer token is not known");
    return false;
}

void mk_http__needs_write(mk_exchange *x)
{
    mk_http__header(x, "WWW-Authenticate",
                    "Bearer realm=\"merkhet\", error=\"insufficient_scope\", scope=\"merkhet:write\"");
    mk_http__refuse(x, 403, MK_E_INVALID_ARG, "this token may not write");
}

/* ---- types and sizes ---- */

/* Whether a list of media types admits one; wildcards count. */
static bool admits(const char *accept, const char *type, size_t major)
{
    for (const char *p = accept; p != NULL && *p != '\0';) {
        while (*p == ' ' || *p == ',' || *p == '\t')
            p++;
        const size_t n = strcspn(p, ",; \t");
        if ((n == 3 && strncmp(p, "*/*", 3) == 0) || (n == strlen(type) && strncasecmp(p, type, n) == 0) ||
            (n == major + 1 && strncasecmp(p, type, major) == 0 && p[n - 1] == '*'))
            return true;
        p += strcspn(p, ",");
    }
    return false;
}

static bool body_type_ok(mk_exchange *x)
{
    const char *type = mk_http__header_of(x, "Content-Type"),
               *length = mk_http__header_of(x, "Content-Length");
    const size_t n = type != NULL ? strcspn(type, "; \t") : 0;
    if (x->method != MK_POST)
        return true;
    if (!x->route->any_type && !(n == 16 && strncasecmp(type, "application/json", 16) == 0)) {
        mk_http__refuse(x, 415, MK_E_INVALID_ARG, "Content-Type must be application/json");
        return false;
    }
    int64_t bytes = 0;
    if (length != NULL && (!mk_str_to_i64(mk_str_of(length), &bytes) || bytes < 0)) {
        mk_http__header(x, "Connection", "close");
        mk_http__refuse(x, 400, MK_E_INVALID_ARG, "Content-Length is no number");
        return false;
    }
    if ((uint64_t)bytes > x->http->options.body_max) {
        mk_http__header(x, "Connection", "close");
        mk_http__refuse(x, 413, MK_E_LIMIT, "a body may have %zu bytes", x->http->options.body_max);
        return false;
    }
    return true;
}

static bool accept_ok(mk_exchange *x)
{
    const char *accept = mk_http__header_of(x, "Accept");
    const bool mcp = x->route->run == mk_http__mcp;
    if (!mcp || accept == NULL || admits(accept, "application/json", 12) ||
        admits(accept, "text/event-stream", 5))
        return true;
    mk_http__refuse(x, 406, MK_E_INVALID_ARG, "Accept must admit application/json or text/event-stream");
    return false;
}

bool mk_http__accepts_events(const mk_exchange *x, bool when_absent)
{
    const char *accept = mk_http__header_of(x, "Accept");
    return accept == NULL ? when_absent : admits(accept, "text/event-stream", 5);
}

bool mk_http__admit(mk_exchange *x)
{
    if (x->method == 0 && x->route != NULL && framing_ok(x) && host_ok(x)) {
        put_allow(x, x->route->methods | MK_OPTIONS);
        mk_http__refuse(x, 405, MK_E_INVALID_ARG, "this method is not served here");
        return false;
    }
    return framing_ok(x) && host_ok(x) && method_ok(x) && token_ok(x) && body_type_ok(x) && accept_ok(x);
}

/* http_answer.c — answers of the API: JSON, problems, headers. See http_internal.h. Layer: serve.
 *
 * A problem is RFC 9457 with the members of our own error shape beside it, so that both kinds of reader are
 * served. Source: serving spec, 13. */
#include "serve/http_internal.h"

#include <stdarg.h>
#include <stdio.h>

void mk_http__header(mk_exchange *x, const char *name, const char *fmt, ...)
{
    if (x->header_count == MK_HTTP_HEADERS_MAX)
        return;
    char *value = x->values[x->header_count];
    va_list args;
    va_start(args, fmt);
    vsnprintf(value, MK_HTTP_HEADER_VALUE, fmt, args);
    va_end(args);
    for (char *p = value; *p != '\0'; p++) /* nothing of a client's may begin a new line */
        if ((unsigned char)*p < 0x20 || (unsigned char)*p == 0x7F)
            *p = '?';
    snprintf(x->names[x->header_count++], sizeof x->names[0], "%s", name);
}

void mk_http__send(mk_exchange *x, unsigned status, const char *type)
{
    x->status = status;
    x->type = type;
    if (x->out.failed) {
        mk_buf_clear(&x->out);
        x->status = 500;
    }
    mk_http__answered(x);
}

void mk_http__send_constant(mk_exchange *x, unsigned status, const char *type, mk_str text)
{
    x->constant = text;
    mk_http__send(x, status, type);
}

void mk_http__send_text(mk_exchange *x, unsigned status, const char *text)
{
    mk_buf_z(&x->out, text);
    mk_http__send(x, status, "text/plain; charset=utf-8");
}

unsigned mk_http__status_of(mk_code code)
{
    switch (code) {
    case MK_OK: return 200;
    case MK_E_SCHEMA: case MK_E_INVALID_ARG: case MK_E_COST: case MK_E_LIMIT: return 422;
    case MK_E_NOT_FOUND: return 404;
    case MK_E_STATE:
    case MK_E_WRITE_CONFLICT:
    case MK_E_SERIALIZATION:
    case MK_E_SNAPSHOT_TOO_OLD:
    case MK_E_ISOLATION: return 409;
    case MK_E_MODEL: return 502;
    case MK_E_CANCELLED: return 503;
    default: return 500;
    }
}

static const char *title_of(unsigned status)
{
    switch (status) {
    case 400: return "Bad request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not found";
    case 405: return "Method not allowed";
    case 406: return "Not acceptable";
    case 408: return "Request timeout";
    case 409: return "Conflict";
    case 413: return "Content too large";
    case 414: return "URI too long";
    case 415: return "Unsupported media type";
    case 422: return "The request cannot be carried out as it is";
    case 502: return "The model endpoint failed";
    case 503: return "Service unavailable";
    default: return "Internal error";
    }
}

/* The error object's own members stand behind those of the standard. */
void mk_http__problem(mk_exchange *x, unsigned status, const mk_err *why)
{
    mk_buf *out = &x->out;
    mk_buf error;
    mk_buf_clear(out);
    mk_buf_init(&error, x->http->alloc);
    mk_err_json(&error, why);
    mk_buf_printf(out,
                  "{\"type\":\"about:blank\",\"title\":\"%s\",\"status\":%u,\"detail\":", title_of(status),
                  status);
    mk_canon_string(out, mk_str_of(why->message));
    mk_buf_printf(out, ",\"instance\":\"urn:request:%s\"", x->request_id);
    if (error.n > 2 && error.p[0] == '{') {
        mk_buf_c(out, ',');
        mk_buf_put(out, error.p + 1, error.n - 1);
    } else {
        mk_buf_c(out, '}');
    }
    if (why->retry == MK_RETRY_AS_IS && status == 409)
        mk_http__header(x, "Retry-After", "0");
    mk_buf_free(&error);
    mk_http__send(x, status, "application/problem+json");
}

void mk_http__refuse(mk_exchange *x, unsigned status, mk_code code, const char *fmt, ...)
{
    char message[400];
    va_list args;
    mk_err err;
    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    mk_fail(&err, code, "%s", message);
    mk_http__problem(x, status, &err);
}

mk_json *mk_http__body(mk_exchange *x)
{
    mk_json *tree;
    mk_err err;
    if (mk_json_parse(&x->arena, mk_buf_view(&x->body), NULL, &tree, &err) == MK_OK)
        return tree;
    mk_http__problem(x, err.code == MK_E_NOMEM ? 500 : 400, &err);
    return NULL;
}

const char *mk_http__query(const mk_exchange *x, const char *name)
{
    return MHD_lookup_connection_value(x->connection, MHD_GET_ARGUMENT_KIND, name);
}

const char *mk_http__header_of(const mk_exchange *x, const char *name)
{
    return MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, name);
}

typedef struct counting {
    const char *name;
    unsigned times;
} counting;

static enum MHD_Result find_key(void *cls, enum MHD_ValueKind kind, const char *key, const char *value)
{
    counting *c = cls;
    (void)kind;
    (void)value;
    c->times += strcmp(key, c->name) == 0;
    return MHD_YES;
}

bool mk_http__has_query(const mk_exchange *x, const char *name)
{
    counting c = {.name = name};
    (void)MHD_get_connection_values(x->connection, MHD_GET_ARGUMENT_KIND, find_key, &c);
    return c.times != 0;
}

static enum MHD_Result count_header(void *cls, enum MHD_ValueKind kind, const char *key, const char *value)
{
    counting *c = cls;
    (void)kind;
    (void)value;
    c->times += strcasecmp(key, c->name) == 0;
    return MHD_YES;
}

unsigned mk_http__header_times(const mk_exchange *x, const char *name)
{
    counting c = {.name = name};
    (void)MHD_get_connection_values(x->connection, MHD_HEADER_KIND, count_header, &c);
    return c.times;
}

/* http_internal.h — what the files of the HTTP transport share. Layer: serve, internal.
 *
 * An exchange is one request and its answer. It belongs to the connection and to whoever works on it: each
 * holds a reference, since a client may go away while a worker computes. */
#ifndef MK_SERVE_HTTP_INTERNAL_H
#define MK_SERVE_HTTP_INTERNAL_H

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>

#include "serve/http.h"
#include "serve/metrics.h"

#define MK_HTTP_WORKERS 8u
#define MK_HTTP_QUEUE_MAX 256u
#define MK_HTTP_HEADERS_MAX 8
#define MK_HTTP_HEADER_VALUE 512

typedef struct mk_exchange mk_exchange;
typedef struct mk_sse mk_sse;
typedef struct mk_connection mk_connection;
typedef struct mk_http_session mk_http_session;

/* ---- routes ---- */

enum { MK_GET = 1, MK_POST = 2, MK_DELETE = 4, MK_OPTIONS = 8 };

/* Answers an exchange, on a thread that reads connections unless `slow`. */
typedef void mk_http_handler(mk_exchange *x);

typedef struct mk_http_route {
    unsigned methods;
    const char *path;  /* "/api/ops/{name}": at most one part in braces, the last */
    mk_http_handler *run;
    bool slow;         /* always handed to a worker */
    bool open;         /* no token is needed */
    bool needs_store;  /* there is a service; 404 otherwise */
    bool any_type;     /* the body need not be JSON */
    const char *about; /* of the document; NULL: not in it */
    const char *body, *answer; /* names of schemas in the document, or NULL */
} mk_http_route;

extern const mk_http_route mk_http_routes[];
extern const size_t mk_http_route_count;

/* ---- one request ---- */

struct mk_exchange {
    mk_http *http;
    mk_exchange *next, *before; /* of all exchanges; under http->mutex */
    mk_exchange *queued;        /* of the queue of workers */
    struct MHD_Connection *connection;
    atomic_uint references;
    const mk_http_route *route; /* NULL: none fits */
    unsigned method;            /* MK_GET for HEAD too */
    bool head;
    char path[512];             /* without the query */
    mk_str tail;                /* of the path, for {name}; decoded */
    mk_buf body;
    bool refused;               /* an answer stands already; the body is read and dropped */
    mk_http_handler *job;       /* what a worker does */
    bool suspended;
    atomic_bool started;        /* the body is there; until then it is awaited */
    mk_arena arena;
    mk_str principal;
    unsigned scopes;
    bool user_only;             /* tokens are in force, and this one does not say admin */
    char request_id[65];
    int64_t begun_us;
    int client_fd;
    int64_t left_us;            /* when the client was seen to be gone; 0: it is there */
    atomic_bool cancelled;
    atomic_bool gone;           /* no answer can be sent any more */
    /* the answer */
    atomic_bool answered;
    unsigned status;
    mk_buf out;
    const char *type;
    size_t header_count;
    mk_str constant;            /* answered from static memory instead of `out` */
    _Atomic(mk_sse *) stream;   /* the answer is a stream of events; the exchange holds a reference */
    void (*on_gone)(mk_exchange *x); /* called once when the client went away; may be NULL */
    atomic_bool told_gone;
    void *ctx; /* of the handler */
    char names[MK_HTTP_HEADERS_MAX][40],
        values[MK_HTTP_HEADERS_MAX][MK_HTTP_HEADER_VALUE]; /* not zeroed: `header_count` are there */
};

/* ---- the server ---- */

struct mk_http {
    mk_http_options options;
    const mk_alloc *alloc;
    struct MHD_Daemon *daemon;
    uint16_t port;
    mk_metrics metrics;
    uint64_t id_seed;
    _Atomic uint64_t id_count; /* of requests without an id of their own */

    pthread_mutex_t mutex; /* of all below */
    pthread_cond_t queued, idle;
    mk_exchange *exchanges; /* all */
    mk_connection *connections;
    mk_exchange *first, *last;
    size_t waiting, running, listeners;
    bool stopping;
    pthread_t workers[MK_HTTP_WORKERS];
    size_t worker_count;
    mk_http_session *sessions;
    size_t session_count;
    mk_sse *streams; /* all that are open, for comments and the end */
    /* commits that were seen, the newest last, for /api/events */
    int64_t commits[64];
    size_t commit_count;
    int64_t ticked_us, commented_us;
};

int64_t mk_http__now(void); /* monotonic, us */
mk_exchange *mk_http__hold(mk_exchange *x);
void mk_http__release(mk_exchange *x);

/* Hands the exchange to a worker, which runs `job`. False: the queue is full, and the answer (503) stands. */
bool mk_http__hand_over(mk_exchange *x, mk_http_handler *job);
/* The answer stands: wakes the connection when it sleeps. Any thread; once. */
void mk_http__answered(mk_exchange *x);

/* ---- watching (http_watch.c) ---- */

/* Called once when a connection begins and once when it ends. */
void mk_http__on_connection(void *cls, struct MHD_Connection *connection, void **slot,
                            enum MHD_ConnectionNotificationCode what);
/* Whatever the client is to send must be there within so long, or the connection ends; 0: nothing is
 * awaited. */
void mk_http__connection_due(struct MHD_Connection *connection, int64_t us);
/* Calls x->on_gone, once. */
void mk_http__tell_gone(mk_exchange *x);

/* ---- answers (http_answer.c) ---- */

void mk_http__header(mk_exchange *x, const char *name, const char *fmt, ...) MK_PRINTF(3, 4);
/* What stands in x->out, or `constant`. */
void mk_http__send(mk_exchange *x, unsigned status, const char *type);
void mk_http__send_constant(mk_exchange *x, unsigned status, const char *type, mk_str text);
void mk_http__send_text(mk_exchange *x, unsigned status, const char *text);
/* application/problem+json with our members beside it. */
void mk_http__problem(mk_exchange *x, unsigned status, const mk_err *why);
void mk_http__refuse(mk_exchange *x, unsigned status, mk_code code, const char *fmt, ...) MK_PRINTF(4, 5);
unsigned mk_http__status_of(mk_code code);
/* The parsed body; NULL: the answer (400) stands. */
mk_json *mk_http__body(mk_exchange *x);
/* A parameter of the query; NULL: it is not given. */
const char *mk_http__query(const mk_exchange *x, const char *name);
/* Whether it is there, with or without a value. */
bool mk_http__has_query(const mk_exchange *x, const char *name);
/* NULL: not there. */
const char *mk_http__header_of(const mk_exchange *x, const char *name);
/* How often a header is there. */
unsigned mk_http__header_times(const mk_exchange *x, const char *name);

/* ---- who may (http_guard.c) ---- */

/* False: the answer stands. */
bool mk_http__admit(mk_exchange *x);
void mk_http__cors(mk_exchange *x);
/* 403: the token may only read. */
void mk_http__needs_write(mk_exchange *x);
/* Whether Accept admits a stream of events; `when_absent`: without that header. */
bool mk_http__accepts_events(const mk_exchange *x, bool when_absent);
/* Whether a name of a Host or Origin header, with or without a port, is in the allow list. */
bool mk_http__host_allowed(const mk_http *http, const char *host);
bool mk_http__origin_allowed(const mk_http *http, const char *origin);

/* ---- streams of events (sse.c) ---- */

/* A stream of server-sent events to one connection. Senders and the connection hold references. */
mk_sse *mk_sse_open(mk_http *http);
void mk_sse_hold(mk_sse *sse);
void mk_sse_release(mk_sse *sse);
/* One event; id and event may be NULL. Nothing when the client is gone. */
void mk_sse_event(mk_sse *sse, const char *id, const char *event, mk_str data);
void mk_sse_raw(mk_sse *sse, const char *text); /* a comment, or retry */
void mk_sse_end(mk_sse *sse);                   /* after what was sent; twice is fine */
bool mk_sse_is_gone(mk_sse *sse);
/* For the connection. */
void mk_sse__attach(mk_sse *sse, struct MHD_Connection *connection);
struct MHD_Response *mk_sse__response(mk_sse *sse);
void mk_sse__lost(mk_sse *sse);
/* The client is not there any more: the connection ends at its next turn. */
void mk_sse__abandon(mk_sse *sse);
void mk_sse__comment_all(mk_http *http);
void mk_sse__end_all(mk_http *http);

/* ---- /mcp (http_mcp.c, http_session.c) ---- */

mk_http_handler mk_http__mcp;
/* A header's value without blanks around it; one written as =?base64?...?= is decoded. False: it is
 * malformed. */
bool mk_http_header_value(const char *text, mk_arena *arena, mk_str *out);
void mk_http__sessions_tick(mk_http *http, int64_t now);
void mk_http__sessions_close(mk_http *http);

/* ---- /api ---- */

mk_http_handler mk_http__health, mk_http__ready, mk_http__metrics, mk_http__ops, mk_http__op,
    mk_http__op_named, mk_http__result, mk_http__events, mk_http__openapi, mk_http__ask, mk_http__explain,
    mk_http__plan_check, mk_http__plan_run, mk_http__verify, mk_http__info, mk_http__traces, mk_http__trace,
    mk_http__write, mk_http__page;
/* Whether a path is one of the page's files. */
bool mk_http__is_page(const char *path);
void mk_http__put_openapi(mk_http *http, mk_arena *arena, mk_buf *out);

#endif

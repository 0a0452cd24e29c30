/* http.c — connections, workers, and the life of an exchange. See http.h, http_internal.h. Layer: serve. */
#include "serve/http_internal.h"

#include "base/hash.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BODY_MAX ((size_t)4 << 20)
#define HEAD_MAX ((size_t)40 << 10) /* of one connection's memory, which the head must fit into */
#define IDLE_S 30
#define GRACE_US INT64_C(1500000)
#define HEAD_US INT64_C(30000000)
#define BODY_US INT64_C(60000000)
#define BODY_GRACE_US INT64_C(5000000) /* in which one that is too slow is told so, when it reads */
#define SESSION_US INT64_C(1800000000)

int64_t mk_http__now(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

/* ---- exchanges ---- */

mk_exchange *mk_http__hold(mk_exchange *x)
{
    atomic_fetch_add(&x->references, 1);
    return x;
}

void mk_http__release(mk_exchange *x)
{
    if (atomic_fetch_sub(&x->references, 1) != 1)
        return;
    if (x->stream != NULL)
        mk_sse_release(x->stream);
    mk_buf_free(&x->body);
    mk_buf_free(&x->out);
    mk_arena_free(&x->arena);
    mk_free(x->http->alloc, x, sizeof *x);
}

static bool is_id_char(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_' || c == '.';
}

/* The client's own id when it is harmless, else one of ours: a sequence mixed from a random start, so that
 * nobody reads in his own how many there were. */
static void name_request(mk_exchange *x)
{
    const char *given = mk_http__header_of(x, "X-Request-Id");
    size_t n = given != NULL ? strlen(given) : 0;
    for (size_t i = 0; i < n && n <= 64; i++)
        if (!is_id_char(given[i]))
            n = 65;
    if (n == 0 || n > 64)
        snprintf(
            x->request_id, sizeof x->request_id, "%016llx",
            (unsigned long long)mk_mix64(
                x->http->id_seed + atomic_fetch_add_explicit(&x->http->id_count, 1, memory_order_relaxed)));
    else
        memcpy(x->request_id, given, n + 1);
}

static unsigned method_of(const char *method, bool *head)
{
    *head = strcmp(method, "HEAD") == 0;
    return *head || strcmp(method, "GET") == 0 ? MK_GET
           : strcmp(method, "POST") == 0       ? MK_POST
           : strcmp(method, "DELETE") == 0     ? MK_DELETE
           : strcmp(method, "OPTIONS") == 0    ? MK_OPTIONS
                                               : 0;
}

static const mk_http_route *find_route(mk_exchange *x)
{
    for (size_t i = 0; i < mk_http_route_count; i++) {
        const mk_http_route *r = &mk_http_routes[i];
        const char *brace = strchr(r->path, '{');
        if (brace == NULL ? strcmp(r->path, x->path) != 0
                          : strncmp(r->path, x->path, (size_t)(brace - r->path)) != 0)
            continue;
        if (brace != NULL) {
            x->tail = mk_str_of(x->path + (brace - r->path));
            if (x->tail.n == 0 || memchr(x->tail.p, '/', x->tail.n) != NULL)
                continue;
        }
        if (r->run == mk_http__page && !mk_http__is_page(x->path))
            continue;
        return r->needs_store && x->http->options.service == NULL ? NULL : r;
    }
    return NULL;
}

static mk_exchange *open_exchange(mk_http *http, struct MHD_Connection *connection, const char *url,
                                  const char *method)
{
    mk_exchange *x = mk_new(http->alloc, sizeof *x);
    if (x == NULL)
        return NULL;
    memset(x, 0, offsetof(mk_exchange, names)); /* headers are written before they are counted */
    const union MHD_ConnectionInfo *fd =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    x->http = http;
    x->connection = connection;
    x->client_fd = fd != NULL ? fd->connect_fd : -1;
    x->begun_us = mk_http__now();
    atomic_store(&x->references, 1);
    mk_buf_init(&x->body, http->alloc);
    mk_buf_init(&x->out, http->alloc);
    mk_arena_init(&x->arena, http->alloc);
    x->method = method_of(method, &x->head);
    const size_t n = strlen(url);
    const bool fits = n < sizeof x->path; /* nothing that is served has a longer one */
    memcpy(x->path, fits ? url : "/", fits ? n + 1 : 2);
    x->route = fits ? find_route(x) : NULL;
    name_request(x);
    pthread_mutex_lock(&http->mutex);
    x->next = http->exchanges;
    if (x->next != NULL)
        x->next->before = x;
    http->exchanges = x;
    pthread_mutex_unlock(&http->mutex);
    return x;
}

static void unlink_exchange(mk_exchange *x)
{
    mk_http *http = x->http;
    pthread_mutex_lock(&http->mutex);
    if (x->before != NULL)
        x->before->next = x->next;
    else
        http->exchanges = x->next;
    if (x->next != NULL)
        x->next->before = x->before;
    pthread_cond_broadcast(&http->idle);
    pthread_mutex_unlock(&http->mutex);
}

/* ---- workers ---- */

void mk_http__answered(mk_exchange *x)
{
    mk_http *http = x->http;
    atomic_store(&x->answered, true);
    pthread_mutex_lock(&http->mutex);
    if (x->suspended && !atomic_load(&x->gone)) {
        x->suspended = false;
        MHD_resume_connection(x->connection);
    }
    pthread_mutex_unlock(&http->mutex);
}

static void *work(void *arg)
{
    mk_http *http = arg;
    pthread_mutex_lock(&http->mutex);
    for (;;) {
        while (http->first == NULL && !http->stopping)
            pthread_cond_wait(&http->queued, &http->mutex);
        mk_exchange *x = http->first;
        if (x == NULL)
            break;
        http->first = x->queued;
        if (http->first == NULL)
            http->last = NULL;
        http->waiting--;
        http->running++;
        pthread_mutex_unlock(&http->mutex);
        x->job(x);
        if (!atomic_load(&x->answered))
            mk_http__answered(x);
        mk_http__release(x);
        pthread_mutex_lock(&http->mutex);
        http->running--;
        pthread_cond_broadcast(&http->idle);
    }
    pthread_mutex_unlock(&http->mutex);
    return NULL;
}

bool mk_http__hand_over(mk_exchange *x, mk_http_handler *job)
{
    mk_http *http = x->http;
    x->job = job;
    pthread_mutex_lock(&http->mutex);
    const bool room = http->waiting < MK_HTTP_QUEUE_MAX && !http->stopping;
    if (room) {
        (void)mk_http__hold(x);
        x->queued = NULL;
        *(http->last != NULL ? &http->last->queued : &http->first) = x;
        http->last = x;
        http->waiting++;
        x->suspended = true;
        MHD_suspend_connection(x->connection);
        pthread_cond_signal(&http->queued);
    }
    pthread_mutex_unlock(&http->mutex);
    if (room)
        return true;
    mk_err err;
    mk_fail(&err, MK_E_LIMIT, http->stopping ? "the server is ending" : "too many calls are waiting");
    mk_err_retry(&err, MK_RETRY_AS_IS);
    mk_err_extra(&err, "\"limit\":\"queue\"", 15);
    mk_http__header(x, "Retry-After", "1");
    mk_http__problem(x, 503, &err);
    return false;
}

/* ---- reading ---- */

static void log_line(mk_exchange *x)
{
    mk_http *http = x->http;
    char line[800];
    static const char *const methods[] = {
        [MK_GET] = "GET", [MK_POST] = "POST", [MK_DELETE] = "DELETE", [MK_OPTIONS] = "OPTIONS"};
    if (http->options.log == NULL)
        return;
    const char *method = x->head ? "HEAD" : x->method != 0 ? methods[x->method] : "?";
    const int n = snprintf(line, sizeof line, "%s %s %s %u %lld us", x->request_id, method,
                           x->route != NULL ? x->path : "(no route)", x->status,
                           (long long)(mk_http__now() - x->begun_us));
    for (int i = 0; i < n && i < (int)sizeof line; i++) /* a path is the client's text */
        if ((unsigned char)line[i] < 0x20 || (unsigned char)line[i] >= 0x7F)
            line[i] = '?';
    http->options.log(http->options.log_ctx,
                      (mk_str){line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1});
}

static enum MHD_Result put_answer(mk_exchange *x)
{
    struct MHD_Response *response;
    if (x->stream != NULL)
        response = mk_sse__response(x->stream);
    else if (x->constant.p != NULL)
        response = MHD_create_response_from_buffer(x->constant.n, (void *)(uintptr_t)x->constant.p,
                                                   MHD_RESPMEM_PERSISTENT);
    else
        response = MHD_create_response_from_buffer(x->out.n, x->out.n != 0 ? x->out.p : (char *)"",
                                                   MHD_RESPMEM_MUST_COPY);
    if (response == NULL)
        return MHD_NO;
    if (x->type != NULL)
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, x->type);
    MHD_add_response_header(response, "X-Request-Id", x->request_id);
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    for (size_t i = 0; i < x->header_count; i++)
        MHD_add_response_header(response, x->names[i], x->values[i]);
    if (x->stream != NULL)
        mk_sse__attach(x->stream, x->connection);
    const enum MHD_Result result = MHD_queue_response(x->connection, x->status, response);
    MHD_destroy_response(response);
    mk_metrics_http(&x->http->metrics,
                    x->route != NULL ? (size_t)(x->route - mk_http_routes) : mk_http_route_count, x->status);
    log_line(x);
    return result;
}

static void dispatch(mk_exchange *x)
{
    if (x->route->slow)
        (void)mk_http__hand_over(x, x->route->run);
    else
        x->route->run(x);
}

static void take_body(mk_exchange *x, const char *data, size_t n)
{
    const mk_http *http = x->http;
    if (x->refused)
        return;
    if (mk_http__now() - x->begun_us > http->options.body_us) {
        mk_http__header(x, "Connection", "close");
        mk_http__refuse(x, 408, MK_E_LIMIT, "the body took too long");
    } else if (x->body.n + n > http->options.body_max) {
        mk_http__header(x, "Connection", "close");
        mk_http__refuse(x, 413, MK_E_LIMIT, "a body may have %zu bytes", http->options.body_max);
    } else {
        mk_buf_put(&x->body, data, n);
        if (x->body.failed)
            mk_http__refuse(x, 500, MK_E_NOMEM, "out of memory");
    }
    x->refused = atomic_load(&x->answered);
}

/* Called at the head, with each piece of the body, at its end, and after a worker answered. */
static enum MHD_Result on_request(void *cls, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *data, size_t *size,
                                  void **slot)
{
    mk_http *http = cls;
    mk_exchange *x = *slot;
    (void)version;
    if (x == NULL) {
        mk_http__connection_due(connection, http->options.body_us + BODY_GRACE_US);
        *slot = x = open_exchange(http, connection, url, method);
        if (x == NULL)
            return MHD_NO;
        x->refused = !mk_http__admit(x);
        /* What is refused by its head is answered before its body comes, and the connection is closed
         * then. */
        return x->refused ? put_answer(x) : MHD_YES;
    }
    if (*size != 0) {
        take_body(x, data, *size);
        *size = 0;
        return MHD_YES;
    }
    if (!atomic_load(&x->started) && !x->refused) {
        atomic_store(&x->started, true);
        mk_http__connection_due(connection, 0);
        dispatch(x);
    }
    if (!atomic_load(&x->answered))
        return MHD_YES; /* it sleeps */
    return put_answer(x);
}

void mk_http__tell_gone(mk_exchange *x)
{
    if (x->on_gone != NULL && !atomic_exchange(&x->told_gone, true))
        x->on_gone(x);
}

static void on_completed(void *cls, struct MHD_Connection *connection, void **slot,
                         enum MHD_RequestTerminationCode why)
{
    mk_http *http = cls;
    mk_exchange *x = *slot;
    (void)why;
    mk_http__connection_due(connection, http->options.head_us);
    if (x == NULL)
        return;
    *slot = NULL;
    unlink_exchange(x);
    atomic_store(&x->gone, true);
    atomic_store(&x->cancelled, true);
    if (x->stream != NULL)
        mk_sse__lost(x->stream);
    mk_http__tell_gone(x);
    mk_http__release(x);
}

/* ---- opening ---- */

static mk_code no_listening(const mk_http_options *o, mk_err *err)
{
    char why[128];
    mk_fail(err, MK_E_STATE, "cannot listen at %s port %u: %s", o->bind, o->port,
            strerror_r(errno, why, sizeof why));
    mk_err_hint(err, errno == EADDRINUSE
                         ? "another program listens there: take another --port, or 0 for a free one"
                         : "choose another --bind or --port");
    return MK_E_STATE;
}

static mk_code start_daemon(mk_http *http, mk_err *err)
{
    const mk_http_options *o = &http->options;
    struct addrinfo hints = {.ai_family = AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE};
    struct addrinfo *address;
    char port[8];
    snprintf(port, sizeof port, "%u", o->port);
    if (getaddrinfo(o->bind, port, &hints, &address) != 0) {
        mk_fail(err, MK_E_INVALID_ARG, "\"%s\" is no address", o->bind);
        mk_err_hint(err, "give an IPv4 or IPv6 address such as 127.0.0.1, not a name");
        return MK_E_INVALID_ARG;
    }
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME;
    if (address->ai_family == AF_INET6)
        flags |= MHD_USE_IPv6;
    errno = 0;
    http->daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, on_request, http, MHD_OPTION_SOCK_ADDR, address->ai_addr,
        MHD_OPTION_THREAD_POOL_SIZE, o->threads, MHD_OPTION_CONNECTION_LIMIT, o->connections_max,
        MHD_OPTION_PER_IP_CONNECTION_LIMIT, o->per_client_max, MHD_OPTION_CONNECTION_TIMEOUT, IDLE_S,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, HEAD_MAX, MHD_OPTION_NOTIFY_COMPLETED, on_completed, http,
        MHD_OPTION_NOTIFY_CONNECTION, mk_http__on_connection, http, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_LISTEN_BACKLOG_SIZE, 512, MHD_OPTION_END);
    freeaddrinfo(address);
    if (http->daemon == NULL)
        return no_listening(o, err);
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_BIND_PORT);
    http->port = info != NULL && info->port != 0 ? info->port : o->port;
    return MK_OK;
}

static void fill_options(mk_http_options *o)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (o->bind == NULL) o->bind = "127.0.0.1";
    if (o->body_max == 0) o->body_max = BODY_MAX;
    /* Half of the cores: quick calls run on these threads, and one that waits for a core of the clients' or
     * the workers' makes all its connections wait; with as many as cores p99 doubled and the rate stayed. */
    if (o->threads == 0) o->threads = cores < 4 ? 1 : cores > 8 ? 4 : (unsigned)cores / 2;
    if (o->connections_max == 0) o->connections_max = 1024;
    if (o->per_client_max == 0) o->per_client_max = 256;
    if (o->head_us == 0) o->head_us = HEAD_US;
    if (o->body_us == 0) o->body_us = BODY_US;
    if (o->session_us == 0) o->session_us = SESSION_US;
    if (o->version == NULL) o->version = "";
    if (o->alloc == NULL) o->alloc = &mk_alloc_default;
}

mk_code mk_http_open(const mk_http_options *options, mk_http **out, mk_err *err)
{
    mk_http_options filled = *options;
    mk_code rc;
    *out = NULL;
    fill_options(&filled);
    mk_http *http = mk_new0(filled.alloc, sizeof *http);
    if (http == NULL)
        return mk_fail_nomem(err);
    http->options = filled;
    http->alloc = filled.alloc;
    http->commented_us = mk_http__now();
    http->id_seed = mk_entropy64();
    pthread_mutex_init(&http->mutex, NULL);
    pthread_cond_init(&http->queued, NULL);
    pthread_cond_init(&http->idle, NULL);
    if (http->options.service != NULL)
        (void)mk_service_changed(http->options.service); /* what is there now is no change */
    for (; http->worker_count < MK_HTTP_WORKERS; http->worker_count++)
        if (pthread_create(&http->workers[http->worker_count], NULL, work, http) != 0) {
            rc = mk_fail(err, MK_E_STATE, "no thread could be started");
            goto out;
        }
    rc = start_daemon(http, err);
out:
    if (rc != MK_OK) {
        mk_http_close(http);
        return rc;
    }
    *out = http;
    return MK_OK;
}

uint16_t mk_http_port(const mk_http *http) { return http->port; }

/* ---- the end ---- */

static bool wait_idle(mk_http *http, int64_t us)
{
    const int64_t until = mk_http__now() + us;
    bool idle = false;
    pthread_mutex_lock(&http->mutex);
    while (!(idle = http->waiting == 0 && http->running == 0 && http->listeners == 0) &&
           mk_http__now() < until) {
        struct timespec ts;
        clock_gettime(CLOCK_REALTIME, &ts);
        ts.tv_nsec += 20000000;
        if (ts.tv_nsec >= 1000000000) {
            ts.tv_sec++;
            ts.tv_nsec -= 1000000000;
        }
        pthread_cond_timedwait(&http->idle, &http->mutex, &ts);
    }
    pthread_mutex_unlock(&http->mutex);
    return idle;
}

static void cancel_all(mk_http *http)
{
    pthread_mutex_lock(&http->mutex);
    for (mk_exchange *x = http->exchanges; x != NULL; x = x->next)
        atomic_store(&x->cancelled, true);
    pthread_mutex_unlock(&http->mutex);
}

void mk_http_close(mk_http *http)
{
    if (http == NULL)
        return;
    if (http->daemon != NULL) {
        const MHD_socket listening = MHD_quiesce_daemon(http->daemon);
        if (listening != MHD_INVALID_SOCKET)
            close(listening);
        mk_mcp_stop_listening(http->options.mcp);
        if (!wait_idle(http, GRACE_US)) {
            cancel_all(http);
            mk_http__sessions_tick(http, INT64_MAX); /* cancels what sessions run */
            (void)wait_idle(http, GRACE_US * 4);
        }
    }
    pthread_mutex_lock(&http->mutex);
    http->stopping = true;
    pthread_cond_broadcast(&http->queued);
    pthread_mutex_unlock(&http->mutex);
    for (size_t i = 0; i < http->worker_count; i++)
        pthread_join(http->workers[i], NULL);
    mk_sse__end_all(http);
    if (http->daemon != NULL) {
        nanosleep(&(struct timespec){.tv_nsec = 20000000},
                  NULL); /* for the last bytes of answers and streams */
        MHD_stop_daemon(http->daemon);
    }
    mk_http__sessions_close(http);
    pthread_mutex_destroy(&http->mutex);
    pthread_cond_destroy(&http->queued);
    pthread_cond_destroy(&http->idle);
    mk_free(http->alloc, http, sizeof *http);
}

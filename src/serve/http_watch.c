/* http_watch.c — what nobody else would notice: clients that went away or dawdle, and commits. See
 * http_internal.h. Layer: serve.
 *
 * The library's own limit is on silence, so a client that sends a byte now and then would be waited for
 * without end. Each connection has a time by which its head, or its body, must have come; an answer has
 * none. */
#include "serve/http_internal.h"

#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>

#define LEFT_GRACE_US INT64_C(1000000) /* a client that closed its side only may still read */

/* ---- connections ---- */

struct mk_connection {
    mk_connection *next, *before; /* of http->connections; under http->mutex */
    int fd;                       /* open as long as this is in the list */
    _Atomic int64_t due_us;       /* 0: nothing is awaited from the client */
};

static void begin(mk_http *http, struct MHD_Connection *connection, void **slot)
{
    const union MHD_ConnectionInfo *fd =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    mk_connection *c = fd != NULL ? mk_new0(http->alloc, sizeof *c) : NULL;
    *slot = c;
    if (c == NULL)
        return; /* without memory there is only the library's limit */
    c->fd = fd->connect_fd;
    atomic_store(&c->due_us, mk_http__now() + http->options.head_us);
    pthread_mutex_lock(&http->mutex);
    c->next = http->connections;
    if (c->next != NULL)
        c->next->before = c;
    http->connections = c;
    pthread_mutex_unlock(&http->mutex);
}

static void end(mk_http *http, void **slot)
{
    mk_connection *c = *slot;
    if (c == NULL)
        return;
    pthread_mutex_lock(&http->mutex);
    *(c->before != NULL ? &c->before->next : &http->connections) = c->next;
    if (c->next != NULL)
        c->next->before = c->before;
    pthread_mutex_unlock(&http->mutex);
    mk_free(http->alloc, c, sizeof *c);
    *slot = NULL;
}

void mk_http__on_connection(void *cls, struct MHD_Connection *connection, void **slot,
                            enum MHD_ConnectionNotificationCode what)
{
    if (what == MHD_CONNECTION_NOTIFY_STARTED)
        begin(cls, connection, slot);
    else
        end(cls, slot);
}

void mk_http__connection_due(struct MHD_Connection *connection, int64_t us)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    mk_connection *c = info != NULL ? info->socket_context : NULL;
    if (c != NULL)
        atomic_store(&c->due_us, us != 0 ? mk_http__now() + us : 0);
}

/* The socket is shut and not closed: the thread that reads it finds its end, and closes it. */
static void shut_late(mk_http *http, int64_t now)
{
    pthread_mutex_lock(&http->mutex);
    for (mk_connection *c = http->connections; c != NULL; c = c->next) {
        const int64_t due = atomic_load(&c->due_us);
        if (due != 0 && now > due)
            (void)shutdown(c->fd, SHUT_RDWR);
    }
    pthread_mutex_unlock(&http->mutex);
}

/* ---- clients ---- */

#define GONE_AT_ONCE 64

/* Whether the client closed its side, for longer than one that still reads its answer would need. */
static bool has_left(mk_exchange *x, int64_t now)
{
    struct pollfd fd = {.fd = x->client_fd, .events = POLLRDHUP};
    if (x->client_fd < 0 || poll(&fd, 1, 0) <= 0)
        return false;
    if (x->left_us == 0)
        x->left_us = now;
    return (fd.revents & (POLLHUP | POLLERR)) != 0 || now - x->left_us > LEFT_GRACE_US;
}

/* A connection that sleeps is not read, so whether its client is still there has to be looked at. One that
 * waits for the rest of a body is read, but the library waits on when no more can come. */
static void watch_clients(mk_http *http, int64_t now)
{
    mk_exchange *gone[GONE_AT_ONCE];
    size_t count = 0;
    pthread_mutex_lock(&http->mutex);
    for (mk_exchange *x = http->exchanges; x != NULL && count < GONE_AT_ONCE; x = x->next) {
        if ((x->suspended || x->stream != NULL) && has_left(x, now))
            gone[count++] = mk_http__hold(x);
        else if (!atomic_load(&x->started) && now - x->begun_us > LEFT_GRACE_US && has_left(x, now))
            (void)shutdown(x->client_fd, SHUT_RDWR);
    }
    pthread_mutex_unlock(&http->mutex);
    for (size_t i = 0; i < count; i++) { /* outside, since what is told may take other locks */
        atomic_store(&gone[i]->cancelled, true);
        mk_http__tell_gone(gone[i]);
        if (gone[i]->stream != NULL)
            mk_sse__abandon(gone[i]->stream);
        mk_http__release(gone[i]);
    }
}

/* ---- commits ---- */

static void see_commits(mk_http *http)
{
    mk_service *service = http->options.service;
    mk_store *store;
    mk_err err;
    if (service == NULL || !mk_service_changed(service) || mk_service_store(service, &store, &err) != MK_OK)
        return;
    const int64_t tt = mk_store_last_tt(store).us;
    char data[64], id[32];
    const int n = snprintf(data, sizeof data, "{\"tt\":%lld}", (long long)tt);
    snprintf(id, sizeof id, "%lld", (long long)tt);
    pthread_mutex_lock(&http->mutex);
    if (http->commit_count == sizeof http->commits / sizeof *http->commits)
        memmove(http->commits, http->commits + 1, --http->commit_count * sizeof *http->commits);
    http->commits[http->commit_count++] = tt;
    for (mk_exchange *x = http->exchanges; x != NULL; x = x->next)
        if (x->stream != NULL && x->route != NULL && x->route->run == mk_http__events)
            mk_sse_event(x->stream, id, "commit", (mk_str){data, (size_t)n});
    pthread_mutex_unlock(&http->mutex);
    mk_mcp_notify(http->options.mcp, MK_RESOURCE_UPDATED, "merkhet://dataset/card");
}

/* ---- all of it ---- */

void mk_http_tick(mk_http *http)
{
    const int64_t now = mk_http__now();
    see_commits(http);
    watch_clients(http, now);
    shut_late(http, now);
    mk_mcp_beat(http->options.mcp);
    if (now - http->commented_us > INT64_C(15000000)) {
        http->commented_us = now;
        mk_sse__comment_all(http);
    }
    if (now - http->ticked_us > INT64_C(1000000)) {
        http->ticked_us = now;
        mk_http__sessions_tick(http, now);
    }
}

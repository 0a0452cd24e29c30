/* sse.c — server-sent events to one connection. See http_internal.h. Layer: serve.
 *
 * Events are appended by any thread; the connection's thread takes them when it may write, and sleeps when
 * there are none. A client that does not read is given up when MK_SSE_MAX bytes wait for it. Source: HTML
 * standard, 9.2. */
#include "serve/http_internal.h"

#define MK_SSE_MAX ((size_t)16 << 20)

struct mk_sse {
    mk_http *http;
    mk_sse *next, *before; /* of http->streams; under http->mutex */
    atomic_uint references;
    pthread_mutex_t mutex; /* of all below */
    mk_buf waiting;
    size_t sent; /* of `waiting` */
    struct MHD_Connection *connection; /* NULL: none yet, or none any more */
    bool sleeping, ended, gone;
};

mk_sse *mk_sse_open(mk_http *http)
{
    mk_sse *sse = mk_new0(http->alloc, sizeof *sse);
    if (sse == NULL)
        return NULL;
    sse->http = http;
    atomic_store(&sse->references, 1);
    pthread_mutex_init(&sse->mutex, NULL);
    mk_buf_init(&sse->waiting, http->alloc);
    pthread_mutex_lock(&http->mutex);
    sse->next = http->streams;
    if (sse->next != NULL)
        sse->next->before = sse;
    http->streams = sse;
    pthread_mutex_unlock(&http->mutex);
    return sse;
}

void mk_sse_hold(mk_sse *sse) { atomic_fetch_add(&sse->references, 1); }

void mk_sse_release(mk_sse *sse)
{
    mk_http *http = sse->http;
    pthread_mutex_lock(&http->mutex);
    const bool last = atomic_fetch_sub(&sse->references, 1) == 1;
    if (last) {
        if (sse->before != NULL)
            sse->before->next = sse->next;
        else
            http->streams = sse->next;
        if (sse->next != NULL)
            sse->next->before = sse->before;
    }
    pthread_mutex_unlock(&http->mutex);
    if (!last)
        return;
    pthread_mutex_destroy(&sse->mutex);
    mk_buf_free(&sse->waiting);
    mk_free(http->alloc, sse, sizeof *sse);
}

/* Under the mutex. */
static void wake(mk_sse *sse)
{
    if (!sse->sleeping || sse->connection == NULL)
        return;
    sse->sleeping = false;
    MHD_resume_connection(sse->connection);
}

static void append(mk_sse *sse, const char *id, const char *event, mk_str data, bool is_event,
                   const char *raw)
{
    pthread_mutex_lock(&sse->mutex);
    if (!sse->gone && !sse->ended) {
        mk_buf *out = &sse->waiting;
        if (id != NULL)
            mk_buf_printf(out, "id: %s\n", id);
        if (event != NULL)
            mk_buf_printf(out, "event: %s\n", event);
        if (is_event) { /* our JSON has no raw line break */
            mk_buf_z(out, "data: ");
            mk_buf_str(out, data);
            mk_buf_z(out, "\n\n");
        } else {
            mk_buf_z(out, raw);
        }
        if (out->failed || out->n - sse->sent > MK_SSE_MAX)
            sse->gone = true;
        wake(sse);
    }
    pthread_mutex_unlock(&sse->mutex);
}

void mk_sse_event(mk_sse *sse, const char *id, const char *event, mk_str data)
{
    append(sse, id, event, data, true, NULL);
}
void mk_sse_raw(mk_sse *sse, const char *text) { append(sse, NULL, NULL, (mk_str){NULL, 0}, false, text); }

void mk_sse_end(mk_sse *sse)
{
    pthread_mutex_lock(&sse->mutex);
    sse->ended = true;
    wake(sse);
    pthread_mutex_unlock(&sse->mutex);
}

bool mk_sse_is_gone(mk_sse *sse)
{
    pthread_mutex_lock(&sse->mutex);
    const bool gone = sse->gone;
    pthread_mutex_unlock(&sse->mutex);
    return gone;
}

/* ---- the connection's side ---- */

static ssize_t read_events(void *cls, uint64_t position, char *to, size_t max)
{
    mk_sse *sse = cls;
    ssize_t n;
    (void)position;
    pthread_mutex_lock(&sse->mutex);
    const size_t there = sse->waiting.n - sse->sent;
    if (sse->gone) {
        n = MHD_CONTENT_READER_END_WITH_ERROR;
    } else if (there != 0) {
        n = (ssize_t)(there < max ? there : max);
        memcpy(to, sse->waiting.p + sse->sent, (size_t)n);
        sse->sent += (size_t)n;
        if (sse->sent == sse->waiting.n) {
            mk_buf_clear(&sse->waiting);
            sse->sent = 0;
        }
    } else if (sse->ended) {
        n = MHD_CONTENT_READER_END_OF_STREAM;
    } else {
        n = 0;
        if (sse->connection != NULL) {
            sse->sleeping = true;
            MHD_suspend_connection(sse->connection);
        }
    }
    pthread_mutex_unlock(&sse->mutex);
    return n;
}

static void free_events(void *cls) { mk_sse_release(cls); }

struct MHD_Response *mk_sse__response(mk_sse *sse)
{
    mk_sse_hold(sse);
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 16384, read_events, sse, free_events);
    if (response == NULL) {
        mk_sse_release(sse);
        return NULL;
    }
    MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-cache");
    MHD_add_response_header(response, "X-Accel-Buffering", "no");
    return response;
}

void mk_sse__attach(mk_sse *sse, struct MHD_Connection *connection)
{
    pthread_mutex_lock(&sse->mutex);
    sse->connection = connection;
    pthread_mutex_unlock(&sse->mutex);
}

void mk_sse__lost(mk_sse *sse)
{
    pthread_mutex_lock(&sse->mutex);
    sse->connection = NULL;
    sse->gone = true;
    pthread_mutex_unlock(&sse->mutex);
}

void mk_sse__abandon(mk_sse *sse)
{
    pthread_mutex_lock(&sse->mutex);
    sse->gone = true;
    wake(sse);
    pthread_mutex_unlock(&sse->mutex);
}

/* ---- all of them ---- */

void mk_sse__comment_all(mk_http *http)
{
    pthread_mutex_lock(&http->mutex);
    for (mk_sse *s = http->streams; s != NULL; s = s->next)
        mk_sse_raw(s, ": still here\n\n");
    pthread_mutex_unlock(&http->mutex);
}

void mk_sse__end_all(mk_http *http)
{
    pthread_mutex_lock(&http->mutex);
    for (mk_sse *s = http->streams; s != NULL; s = s->next)
        mk_sse_end(s);
    pthread_mutex_unlock(&http->mutex);
}

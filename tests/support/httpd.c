/* httpd.c — see httpd.h. */
#include "httpd.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/canon.h"

static void must(bool truth, const char *what)
{
    if (truth)
        return;
    fprintf(stderr, "httpd: %s\n", what);
    exit(1);
}

/* ---- one request ---- */

/* True when the socket has something to read, or its end; false when the server is to stop. */
static bool readable(const httpd *server, int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    while (!atomic_load(&server->stop))
        if (poll(&p, 1, 20) > 0)
            return true;
    return false;
}

static size_t content_length(const char *head)
{
    const char *at = strcasestr(head, "content-length:");
    return at != NULL ? strtoul(at + 15, NULL, 10) : 0;
}

/* Reads head and body of one request; false when the peer went away. */
static bool read_request(httpd *server, int fd)
{
    size_t n = 0, head_size = 0, want = 0;
    char *p = malloc(HTTPD_BODY_MAX);
    must(p != NULL, "out of memory");
    while (head_size == 0 || n < head_size + want) {
        ssize_t got;
        if (n + 1 >= HTTPD_BODY_MAX || !readable(server, fd) ||
            (got = read(fd, p + n, HTTPD_BODY_MAX - 1 - n)) <= 0)
            break;
        n += (size_t)got;
        p[n] = '\0';
        const char *end = head_size == 0 ? strstr(p, "\r\n\r\n") : NULL;
        if (end != NULL) {
            head_size = (size_t)(end - p) + 4;
            want = content_length(p);
        }
    }
    const bool whole = head_size != 0 && n >= head_size + want;
    if (whole) {
        free(server->head);
        free(server->body);
        server->head = strndup(p, head_size);
        server->body = strndup(p + head_size, want);
        server->body_size = want;
        must(server->head != NULL && server->body != NULL, "out of memory");
    }
    free(p);
    return whole;
}

/* ---- the answer ---- */

static bool send_piece(const char *p, size_t n, int fd)
{
    while (n > 0) {
        const ssize_t sent = send(fd, p, n, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        p += sent;
        n -= (size_t)sent;
    }
    return true;
}

static bool send_pieces(const httpd *server, int fd, const httpd_reply *reply, size_t from)
{
    const size_t piece = reply->piece != 0 ? reply->piece : reply->size + 1;
    for (size_t at = from; at < reply->size && !atomic_load(&server->stop); at += piece) {
        const size_t n = reply->size - at < piece ? reply->size - at : piece;
        if (!send_piece(reply->raw + at, n, fd))
            return false;
        if (reply->pause_us > 0)
            nanosleep(&(struct timespec){.tv_sec = reply->pause_us / 1000000,
                                         .tv_nsec = reply->pause_us % 1000000 * 1000},
                      NULL);
    }
    return !atomic_load(&server->stop);
}

static void answer(httpd *server, int fd, const httpd_reply *reply)
{
    char byte;
    bool more = send_pieces(server, fd, reply, 0);
    while (more && reply->end == HTTPD_FOREVER)
        more = send_pieces(server, fd, reply, reply->head_size);
    if (reply->end == HTTPD_SILENCE)
        while (readable(server, fd) && read(fd, &byte, 1) > 0)
            continue;
    if (reply->end == HTTPD_RESET)
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){.l_onoff = 1}, sizeof(struct linger));
}

static void *serve(void *arg)
{
    httpd *server = arg;
    while (readable(server, server->listener)) {
        const int fd = accept(server->listener, NULL, NULL);
        if (fd < 0)
            continue;
        if (read_request(server, fd)) {
            httpd_reply reply = {0};
            const size_t number = atomic_fetch_add(&server->requests, 1);
            server->script(server->ctx, number, server->body, server->body_size, &reply);
            answer(server, fd, &reply);
            free(reply.raw);
        }
        close(fd);
    }
    return NULL;
}

void httpd_start(httpd *server, httpd_script *script, void *ctx)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    *server = (httpd){.script = script, .ctx = ctx};
    server->listener = socket(AF_INET, SOCK_STREAM, 0);
    must(server->listener >= 0, "no socket");
    must(bind(server->listener, (struct sockaddr *)&address, sizeof address) == 0, "no port");
    must(listen(server->listener, 16) == 0, "cannot listen");
    must(getsockname(server->listener, (struct sockaddr *)&address, &size) == 0, "no address");
    server->port = ntohs(address.sin_port);
    must(pthread_create(&server->thread, NULL, serve, server) == 0, "no thread");
}

void httpd_stop(httpd *server)
{
    atomic_store(&server->stop, true);
    pthread_join(server->thread, NULL);
    close(server->listener);
    free(server->head);
    free(server->body);
}

/* ---- replies ---- */

static void take(httpd_reply *reply, const char *head, const char *body, size_t size)
{
    reply->head_size = strlen(head);
    reply->size = reply->head_size + size;
    reply->raw = malloc(reply->size + 1);
    must(reply->raw != NULL, "out of memory");
    memcpy(reply->raw, head, reply->head_size);
    if (size != 0)
        memcpy(reply->raw + reply->head_size, body, size);
}

void httpd_respond(httpd_reply *reply, int status, const char *type, const char *body, size_t size)
{
    char head[256];
    snprintf(head, sizeof head,
             "HTTP/1.1 %d Said\r\nContent-Type: %s\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n",
             status, type, size);
    take(reply, head, body, size);
}

void httpd_chat(httpd_reply *reply, const char *text, const char *usage)
{
    mk_buf out;
    mk_buf_init(&out, &mk_alloc_default);
    mk_buf_z(&out, "{\"choices\":[{\"finish_reason\":\"stop\",\"message\":{\"content\":");
    mk_canon_string(&out, mk_str_of(text));
    mk_buf_z(&out, ",\"role\":\"assistant\"}}]");
    if (usage != NULL)
        mk_buf_printf(&out, ",\"usage\":%s", usage);
    mk_buf_z(&out, "}");
    httpd_respond(reply, 200, "application/json", out.p, out.n);
    mk_buf_free(&out);
}

void httpd_chat_events(httpd_reply *reply, const char *text, const char *usage, bool with_end)
{
    mk_buf out;
    mk_buf_init(&out, &mk_alloc_default);
    mk_buf_z(&out, ": hello\n\ndata: {\"choices\":[{\"delta\":{\"role\":\"assistant\"}}]}\r\n\r\n");
    for (size_t at = 0; text[at] != '\0'; ) {
        size_t n = 3;
        n = strlen(text + at) < n ? strlen(text + at) : n;
        while (((unsigned char)text[at + n] & 0xC0) == 0x80)
            n++; /* not inside a character */
        mk_buf_z(&out, "data: {\"choices\":[{\"delta\":{\"content\":");
        mk_canon_string(&out, (mk_str){text + at, n});
        mk_buf_z(&out, "},\"finish_reason\":null}]}\n\n");
        at += n;
    }
    if (with_end) {
        mk_buf_z(&out, "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n");
        if (usage != NULL)
            mk_buf_printf(&out, "data: {\"choices\":[],\"usage\":%s}\n\n", usage);
        mk_buf_z(&out, "data: [DONE]\n\n");
    }
    take(reply, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n", out.p,
         out.n);
    mk_buf_free(&out);
}

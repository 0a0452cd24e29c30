/* test_http_threads.c — the HTTP server with real connections: many at once, late ones, and ones that go
 * away.
 *
 * A server over a small store, or over the conformance fixture, with a thread that ticks; the clients are
 * blocking sockets of ours. With "threads" in its name it also runs under ThreadSanitizer. Source: serving
 * spec, 8, 13, 16. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "../support/mcp_fixture.h"
#include "../support/tmpdir.h"
#include "serve/http_internal.h"
#include "serve/offer.h"

#define WAIT_MS 20000
#define JSON_HEAD "Content-Type: application/json\r\n"

/* ---- a server ---- */

typedef struct rig {
    tmpdir dir;
    char path[TMPDIR_PATH_MAX];
    mk_store *writer; /* NULL: over the fixture */
    mk_service *service;
    mk_tools tools;
    mk_mcp_offer offer;
    mk_mcp *mcp;
    mk_http *http;
    uint16_t port;
    pthread_t ticker;
    atomic_bool stop;
} rig;

static void must(mk_code rc, const mk_err *err)
{
    if (rc != MK_OK)
        fail_msg("%s: %s", mk_code_name(rc), err->message);
}

static void *tick(void *arg)
{
    rig *r = arg;
    while (!atomic_load(&r->stop)) {
        mk_http_tick(r->http);
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    return NULL;
}

static void rig_serve(rig *r, mk_http_options options)
{
    mk_err err;
    must(mk_mcp_open(&mk_alloc_default, &r->offer, NULL, &r->mcp, &err), &err);
    options.mcp = r->mcp;
    options.service = r->service;
    must(mk_http_open(&options, &r->http, &err), &err);
    r->port = mk_http_port(r->http);
    assert_int_equal(pthread_create(&r->ticker, NULL, tick, r), 0);
}

static void rig_open_fixture(rig *r, mk_http_options options)
{
    *r = (rig){.port = 0};
    mcp_fixture_init(&r->offer);
    rig_serve(r, options);
}

/* One node of `uid`, whose name is a number. */
static int64_t commit(rig *r, const char *uid, int number)
{
    char props[32];
    mk_tt tt;
    mk_err err;
    snprintf(props, sizeof props, "{\"n\":%d}", number);
    const mk_op op = {.kind = MK_OP_ASSERT_NODE,
                      .uid = mk_str_of(uid),
                      .label = MK_STR("Person"),
                      .props = mk_str_of(props),
                      .vt_s = 1000 + number,
                      .vt_e = 1001 + number,
                      .source = MK_STR("test"),
                      .provenance_null = true};
    const mk_write_options options = {.allow_reserved = false};
    must(mk_store_write(r->writer, &op, 1, &options, &tt, &err), &err);
    return tt.us;
}

static void rig_open(rig *r, mk_http_options options)
{
    const mk_store_options store = {.mode = MK_OPEN_CREATE_WRITER, .manual = true};
    mk_err err;
    *r = (rig){.port = 0};
    tmpdir_make(&r->dir);
    tmpdir_join(&r->dir, "store", r->path);
    must(mk_store_open(r->path, &store, &r->writer, &err), &err);
    (void)commit(r, "ada", 0);
    must(mk_service_open(&mk_alloc_default, &(mk_service_options){.dir = r->path}, &r->service, &err), &err);
    must(mk_tools_open(&mk_alloc_default, r->service, NULL, &r->tools, &err), &err);
    mk_offer_init(&r->offer, r->service, &r->tools, "0");
    rig_serve(r, options);
}

static void rig_stop(rig *r)
{
    atomic_store(&r->stop, true);
    pthread_join(r->ticker, NULL);
    mk_http_close(r->http);
    r->http = NULL;
}

static void rig_close(rig *r)
{
    if (r->http != NULL)
        rig_stop(r);
    mk_mcp_close(r->mcp);
    if (r->writer == NULL)
        return;
    mk_tools_close(&r->tools);
    mk_service_close(r->service);
    assert_int_equal(mk_store_close(r->writer, NULL), MK_OK);
    tmpdir_remove(&r->dir);
}

/* ---- a client ---- */

typedef struct client {
    int fd;
    mk_buf in;    /* read, and not yet looked at */
    mk_buf head, body; /* of the last answer; NUL behind each */
    int status;
} client;

static void client_open(client *c, uint16_t port)
{
    const struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    *c = (client){.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    mk_buf_init(&c->in, &mk_alloc_default);
    mk_buf_init(&c->head, &mk_alloc_default);
    mk_buf_init(&c->body, &mk_alloc_default);
    assert_true(c->fd >= 0);
    assert_int_equal(connect(c->fd, (const struct sockaddr *)&to, sizeof to), 0);
}

static void client_close(client *c)
{
    close(c->fd);
    mk_buf_free(&c->in);
    mk_buf_free(&c->head);
    mk_buf_free(&c->body);
}

/* False: the server closed the connection. */
static bool put(client *c, const char *text, size_t n)
{
    while (n > 0) {
        const ssize_t sent = send(c->fd, text, n, MSG_NOSIGNAL);
        if (sent < 0 && (errno == EPIPE || errno == ECONNRESET))
            return false;
        assert_true(sent > 0);
        text += sent;
        n -= (size_t)sent;
    }
    return true;
}

static bool put_z(client *c, const char *text) { return put(c, text, strlen(text)); }

/* More bytes behind c->in; false at the end. */
static bool more(client *c)
{
    struct pollfd fd = {.fd = c->fd, .events = POLLIN};
    assert_int_equal(poll(&fd, 1, WAIT_MS), 1);
    char *to = mk_buf_room(&c->in, 4096);
    assert_non_null(to);
    const ssize_t got = read(c->fd, to, 4096);
    if (got <= 0)
        return false;
    c->in.n += (size_t)got;
    return true;
}

static void take(client *c, mk_buf *to, size_t n)
{
    mk_buf_put(to, c->in.p, n);
    memmove(c->in.p, c->in.p + n, c->in.n - n);
    c->in.n -= n;
}

static bool need(client *c, size_t n)
{
    while (c->in.n < n)
        if (!more(c))
            return false;
    return true;
}

/* Up to and with `mark`; false when the connection ends before. */
static bool take_to(client *c, mk_buf *to, const char *mark)
{
    for (;;) {
        const char *at = c->in.n > 0 ? memmem(c->in.p, c->in.n, mark, strlen(mark)) : NULL;
        if (at != NULL) {
            take(c, to, (size_t)(at - c->in.p) + strlen(mark));
            return true;
        }
        if (!more(c))
            return false;
    }
}

static bool read_head(client *c)
{
    mk_buf_clear(&c->head);
    mk_buf_clear(&c->body);
    if (!take_to(c, &c->head, "\r\n\r\n"))
        return false;
    mk_buf_c(&c->head, '\0');
    assert_int_equal(strncmp(c->head.p, "HTTP/1.1 ", 9), 0);
    c->status = atoi(c->head.p + 9);
    return true;
}

/* One chunk into the body; false: it was the last. */
static bool read_chunk(client *c)
{
    mk_buf size;
    mk_buf_init(&size, &mk_alloc_default);
    assert_true(take_to(c, &size, "\r\n"));
    mk_buf_c(&size, '\0');
    const size_t n = strtoul(size.p, NULL, 16);
    mk_buf_free(&size);
    assert_true(need(c, n + 2));
    take(c, &c->body, n);
    assert_memory_equal(c->in.p, "\r\n", 2);
    memmove(c->in.p, c->in.p + 2, c->in.n - 2);
    c->in.n -= 2;
    return n != 0;
}

/* False: the connection ended instead. */
static bool read_answer(client *c)
{
    if (!read_head(c))
        return false;
    const char *length = strcasestr(c->head.p, "\r\nContent-Length:");
    if (length != NULL) {
        const size_t n = strtoul(length + 17, NULL, 10);
        if (!need(c, n))
            return false;
        take(c, &c->body, n);
    } else if (strcasestr(c->head.p, "\r\nTransfer-Encoding: chunked") != NULL) {
        while (read_chunk(c))
            ;
    }
    mk_buf_c(&c->body, '\0');
    return true;
}

static void request(client *c, const char *method, const char *path, const char *headers, const char *body)
{
    char text[2048];
    const int n =
        snprintf(text, sizeof text, "%s %s HTTP/1.1\r\nHost: localhost\r\n%sContent-Length: %zu\r\n\r\n%s",
                 method, path, headers, strlen(body), body);
    assert_in_range(n, 1, sizeof text - 1);
    (void)put(c, text, (size_t)n);
}

static int ask(client *c, const char *method, const char *path, const char *headers, const char *body)
{
    request(c, method, path, headers, body);
    assert_true(read_answer(c));
    return c->status;
}

/* ---- many at once ---- */

#define READERS 8
#define CALLS 40
#define COMMITS 20

typedef struct reading {
    rig *r;
    const char *pinned, *wanted; /* a call at a past belief, and its answer */
    int failed;                  /* cmocka's checks are for one thread only */
    pthread_t thread;
} reading;

static void *read_much(void *arg)
{
    reading *it = arg;
    client c;
    client_open(&c, it->r->port);
    for (int i = 0; i < CALLS; i++) {
        request(&c, "POST", "/api/op", JSON_HEAD, it->pinned);
        it->failed += !read_answer(&c) || c.status != 200 || strcmp(c.body.p, it->wanted) != 0;
        request(&c, "POST", "/api/ops/entity_history", JSON_HEAD, "{\"uid\":\"ada\"}");
        it->failed += !read_answer(&c) || c.status != 200 || strstr(c.body.p, "\"truncated\":false") == NULL;
        request(&c, "POST", "/mcp",
                JSON_HEAD
                "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: entity_history\r\n",
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
                "call\",\"params\":{\"name\":\"entity_history\",\"arguments\":{\"uid\":\"ada\"},\"_meta\":{"
                "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/"
                "clientInfo\":{\"name\":\"t\",\"version\":\"1\"},"
                "\"io.modelcontextprotocol/clientCapabilities\":{}}}}");
        it->failed +=
            !read_answer(&c) || c.status != 200 || strstr(c.body.p, "\"structuredContent\"") == NULL;
        if (i % 10 == 0) {
            request(&c, "GET", "/api/info", "", "");
            it->failed += !read_answer(&c) || c.status != 200;
        }
    }
    client_close(&c);
    return NULL;
}

/* Readers see a writer's commits and none of its halves, and what they pinned stays as it was. */
static void test_http_threads__many_read_while_one_writes(void **state)
{
    reading readers[READERS];
    char pinned[160];
    client c;
    rig r;
    (void)state;
    rig_open(&r, (mk_http_options){.threads = 3});
    client_open(&c, r.port);
    snprintf(pinned, sizeof pinned,
             "{\"op\":\"entity_history\",\"args\":{\"uid\":\"ada\",\"as_of_tt\":%lld}}",
             (long long)mk_store_last_tt(r.writer).us);
    assert_int_equal(ask(&c, "POST", "/api/op", JSON_HEAD, pinned), 200);
    char *wanted = strdup(c.body.p);
    for (size_t i = 0; i < READERS; i++) {
        readers[i] = (reading){.r = &r, .pinned = pinned, .wanted = wanted};
        assert_int_equal(pthread_create(&readers[i].thread, NULL, read_much, &readers[i]), 0);
    }
    for (int i = 1; i <= COMMITS; i++)
        (void)commit(&r, "ada", i);
    for (size_t i = 0; i < READERS; i++) {
        pthread_join(readers[i].thread, NULL);
        assert_int_equal(readers[i].failed, 0);
    }
    for (int i = 0; i < 200; i++) { /* the log is looked at every few milliseconds */
        assert_int_equal(ask(&c, "POST", "/api/ops/entity_history", JSON_HEAD, "{\"uid\":\"ada\"}"), 200);
        if (strstr(c.body.p, "\"rows_total\":21,") != NULL)
            break;
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    assert_non_null(strstr(c.body.p, "\"rows_total\":21,"));
    char line[160];
    snprintf(line, sizeof line,
             "merkhet_mcp_requests_total{method=\"tools/call\",era=\"modern\",outcome=\"ok\"} %d\n",
             READERS * CALLS);
    assert_int_equal(ask(&c, "GET", "/metrics", "", ""), 200);
    assert_non_null(strstr(c.body.p, line));
    snprintf(line, sizeof line, "merkhet_http_requests_total{route=\"/api/op\",code=\"2xx\"} %d\n",
             READERS * CALLS + 1);
    assert_non_null(strstr(c.body.p, line));
    free(wanted);
    client_close(&c);
    rig_close(&r);
}

/* ---- commits as events ---- */

/* What came, without the comments at the beginning and between. */
static void await_event(client *c, mk_buf *event)
{
    for (;;) {
        char *end = c->body.n > 0 ? memmem(c->body.p, c->body.n, "\n\n", 2) : NULL;
        if (end == NULL) {
            assert_true(read_chunk(c));
            continue;
        }
        const size_t n = (size_t)(end - c->body.p) + 2;
        mk_buf_clear(event);
        mk_buf_put(event, c->body.p, n);
        mk_buf_c(event, '\0');
        memmove(c->body.p, c->body.p + n, c->body.n - n);
        c->body.n -= n;
        if (event->p[0] != ':')
            return;
    }
}

static void assert_commit(client *c, int64_t tt)
{
    char wanted[120];
    mk_buf event;
    mk_buf_init(&event, &mk_alloc_default);
    await_event(c, &event);
    snprintf(wanted, sizeof wanted, "id: %lld\nevent: commit\ndata: {\"tt\":%lld}\n\n", (long long)tt,
             (long long)tt);
    assert_string_equal(event.p, wanted);
    mk_buf_free(&event);
}

static void test_http_threads__each_commit_is_one_event(void **state)
{
    char since[64];
    int64_t tt[4];
    client c;
    rig r;
    (void)state;
    rig_open(&r, (mk_http_options){.threads = 2});
    client_open(&c, r.port);
    request(&c, "GET", "/api/events", "", "");
    assert_true(read_head(&c));
    assert_int_equal(c.status, 200);
    assert_non_null(strcasestr(c.head.p, "\r\nContent-Type: text/event-stream"));
    assert_non_null(strcasestr(c.head.p, "\r\nCache-Control: no-cache"));
    for (int i = 0; i < 4; i++) {
        tt[i] = commit(&r, "ada", i + 1);
        assert_commit(&c, tt[i]);
    }
    client_close(&c);
    client_open(&c, r.port); /* who comes back is told what is later than what he saw, once */
    snprintf(since, sizeof since, "Last-Event-ID: %lld\r\n", (long long)tt[1]);
    request(&c, "GET", "/api/events", since, "");
    assert_true(read_head(&c));
    assert_commit(&c, tt[2]);
    assert_commit(&c, tt[3]);
    assert_commit(&c, commit(&r, "ada", 9));
    rig_stop(&r); /* the stream ends well, with nothing more in it */
    mk_buf_clear(&c.body);
    while (read_chunk(&c))
        ;
    assert_int_equal(c.body.n, 0);
    client_close(&c);
    rig_close(&r);
}

/* ---- ones that go away ---- */

static bool is_empty(mk_http *http)
{
    pthread_mutex_lock(&http->mutex);
    const bool empty = http->exchanges == NULL && http->connections == NULL && http->streams == NULL &&
                       http->running == 0 && http->waiting == 0;
    pthread_mutex_unlock(&http->mutex);
    return empty;
}

static void leave_at_once(client *c, bool reset)
{
    const struct linger at_once = {.l_onoff = 1, .l_linger = 0};
    if (reset)
        assert_int_equal(setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once), 0);
    client_close(c);
}

/* Half a head, half a body, an answer nobody reads, a stream nobody reads: all of it is let go. */
static void test_http_threads__nothing_stays_of_clients_that_vanish(void **state)
{
    client c;
    rig r;
    (void)state;
    rig_open(&r, (mk_http_options){.threads = 2});
    for (int i = 0; i < 60; i++) {
        client_open(&c, r.port);
        switch (i % 6) {
        case 0: (void)put_z(&c, "GET /hea"); break;
        case 1:
            (void)put_z(&c, "POST /api/op HTTP/1.1\r\nHost: localhost\r\n" JSON_HEAD
                            "Content-Length: 99\r\n\r\n{\"op\"");
            break;
        case 2: request(&c, "GET", "/api/info", "", ""); break;
        case 3: request(&c, "GET", "/api/events", "", ""); break;
        case 4:
            request(&c, "POST", "/api/ask", JSON_HEAD "Accept: text/event-stream\r\n",
                    "{\"question\":\"How many versions does ada have?\"}");
            break;
        default: break;
        }
        leave_at_once(&c, i % 2 == 0);
    }
    for (int i = 0; i < WAIT_MS / 10 && !is_empty(r.http); i++)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    assert_true(is_empty(r.http));
    client_open(&c, r.port);
    assert_int_equal(ask(&c, "GET", "/healthz", "", ""), 200);
    client_close(&c);
    rig_close(&r);
}

/* ---- late ones ---- */

/* A byte now and then is no silence; the connection ends all the same. */
static bool ends_though_fed(client *c)
{
    for (int i = 0; i < WAIT_MS / 10; i++) {
        struct pollfd fd = {.fd = c->fd, .events = POLLIN};
        char byte;
        if (!put(c, "x", 1) || (poll(&fd, 1, 10) > 0 && read(c->fd, &byte, 1) <= 0))
            return true;
    }
    return false;
}

static void test_http_threads__a_late_head_ends_the_connection(void **state)
{
    client idle, late;
    rig r;
    (void)state;
    rig_open_fixture(&r, (mk_http_options){.threads = 2, .head_us = 150000});
    client_open(&idle, r.port);
    assert_int_equal(ask(&idle, "GET", "/healthz", "", ""), 200);
    client_open(&late, r.port);
    assert_true(put_z(&late, "GET /healthz HTTP/1.1\r\nX: "));
    assert_true(ends_though_fed(&late));
    assert_false(more(&idle)); /* kept alive, but not without end */
    client_close(&late);
    client_close(&idle);
    rig_close(&r);
}

static void test_http_threads__a_late_body_is_refused(void **state)
{
    client c;
    rig r;
    (void)state;
    rig_open_fixture(&r, (mk_http_options){.threads = 2, .body_us = 50000});
    client_open(&c, r.port);
    assert_true(
        put_z(&c, "POST /mcp HTTP/1.1\r\nHost: localhost\r\n" JSON_HEAD "Content-Length: 4\r\n\r\n{"));
    nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    assert_true(put_z(&c, "  }"));
    assert_true(read_answer(&c));
    assert_int_equal(c.status, 408);
    assert_non_null(strcasestr(c.head.p, "\r\nConnection: close"));
    client_close(&c);
    rig_close(&r);
}

static void test_http_threads__one_address_has_so_many_connections(void **state)
{
    client few[4], c;
    rig r;
    bool served = false;
    (void)state;
    rig_open_fixture(&r, (mk_http_options){.threads = 2, .per_client_max = 4});
    for (size_t i = 0; i < 4; i++) {
        client_open(&few[i], r.port);
        assert_int_equal(ask(&few[i], "GET", "/healthz", "", ""), 200);
    }
    client_open(&c, r.port);
    request(&c, "GET", "/healthz", "", "");
    assert_false(read_answer(&c));
    client_close(&c);
    for (size_t i = 0; i < 4; i++)
        client_close(&few[i]);
    for (int i = 0; i < WAIT_MS / 10 && !served; i++) {
        client_open(&c, r.port);
        request(&c, "GET", "/healthz", "", "");
        served = read_answer(&c);
        client_close(&c);
    }
    assert_true(served);
    rig_close(&r);
}

/* ---- the end ---- */

static void *call_slowly(void *arg)
{
    reading *it = arg;
    client c;
    client_open(&c, it->r->port);
    request(
        &c, "POST", "/mcp",
        JSON_HEAD
        "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: test_tool_with_progress\r\n",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
        "call\",\"params\":{\"name\":\"test_tool_with_progress\",\"arguments\":{},\"_meta\":{"
        "\"progressToken\":1,\"io.modelcontextprotocol/"
        "protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientInfo\":{\"name\":\"t\","
        "\"version\":\"1\"},\"io.modelcontextprotocol/clientCapabilities\":{}}}}");
    it->failed += !read_head(&c) || c.status != 200; /* the first progress was said: it runs */
    __atomic_store_n(&it->wanted, "runs", __ATOMIC_SEQ_CST);
    while (it->failed == 0 && read_chunk(&c))
        ;
    mk_buf_c(&c.body, '\0');
    it->failed += it->failed != 0 || strstr(c.body.p, "\"result\":") == NULL;
    client_close(&c);
    return NULL;
}

/* Calls that run when the end comes are answered. */
static void test_http_threads__the_end_waits_for_what_runs(void **state)
{
    reading calls[4];
    rig r;
    (void)state;
    rig_open_fixture(&r, (mk_http_options){.threads = 2});
    for (size_t i = 0; i < 4; i++) {
        calls[i] = (reading){.r = &r};
        assert_int_equal(pthread_create(&calls[i].thread, NULL, call_slowly, &calls[i]), 0);
    }
    for (size_t i = 0; i < 4; i++)
        for (int k = 0; k < WAIT_MS && __atomic_load_n(&calls[i].wanted, __ATOMIC_SEQ_CST) == NULL; k++)
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    rig_stop(&r);
    for (size_t i = 0; i < 4; i++) {
        pthread_join(calls[i].thread, NULL);
        assert_int_equal(calls[i].failed, 0);
    }
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_http_threads__many_read_while_one_writes),
        cmocka_unit_test(test_http_threads__each_commit_is_one_event),
        cmocka_unit_test(test_http_threads__nothing_stays_of_clients_that_vanish),
        cmocka_unit_test(test_http_threads__a_late_head_ends_the_connection),
        cmocka_unit_test(test_http_threads__a_late_body_is_refused),
        cmocka_unit_test(test_http_threads__one_address_has_so_many_connections),
        cmocka_unit_test(test_http_threads__the_end_waits_for_what_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

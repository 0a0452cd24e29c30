/* httpd.h — a small HTTP server on a loopback port, as well or as badly behaved as a test wants.
 *
 * Each connection is read to the end of one request, answered as the script says, and closed. */
#ifndef MK_TESTS_HTTPD_H
#define MK_TESTS_HTTPD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTPD_BODY_MAX ((size_t)4 << 20)

typedef enum httpd_end {
    HTTPD_CLOSE,   /* in order, after everything was sent */
    HTTPD_RESET,   /* the connection breaks */
    HTTPD_FOREVER, /* `raw` again and again, after the first time without its head */
    HTTPD_SILENCE  /* nothing more comes, and the connection stays */
} httpd_end;

/* What one request is answered with: these very bytes, status line and header included. */
typedef struct httpd_reply {
    char *raw; /* allocated by the script with malloc; freed by the server */
    size_t size, head_size;
    size_t piece; /* bytes sent at a time; 0: all */
    int64_t pause_us; /* between pieces */
    httpd_end end;
} httpd_reply;

/* Fills `reply` for request `number` (from 0) with this body. Runs on the server's thread. */
typedef void httpd_script(void *ctx, size_t number, const char *body, size_t size, httpd_reply *reply);

typedef struct httpd {
    int listener;
    uint16_t port;
    pthread_t thread;
    atomic_bool stop;
    atomic_size_t requests;
    httpd_script *script;
    void *ctx;
    char *head; /* of the last request */
    char *body;
    size_t body_size;
} httpd;

/* Both end the test program with a message when the machine does not play along. */
void httpd_start(httpd *server, httpd_script *script, void *ctx);
void httpd_stop(httpd *server);

/* ---- replies ---- */

/* A whole response with this status and body. */
void httpd_respond(httpd_reply *reply, int status, const char *type, const char *body, size_t size);
/* A chat completion as one JSON text, or as events of some characters each. `usage` may be NULL. */
void httpd_chat(httpd_reply *reply, const char *text, const char *usage);
void httpd_chat_events(httpd_reply *reply, const char *text, const char *usage, bool with_end);

#endif

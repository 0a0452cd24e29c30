/* http_session.h — sessions of the protocol over HTTP, and the streams that outlive their connections.
 * Layer: serve, internal.
 *
 * A channel numbers what is sent on one stream and keeps the last of it, so that a client whose connection
 * broke comes back with the number it saw last. Source: serving spec, 8. */
#ifndef MK_SERVE_HTTP_SESSION_H
#define MK_SERVE_HTTP_SESSION_H

#include "serve/http_internal.h"

#define MK_SESSIONS_MAX 1000u
#define MK_CHANNEL_KEPT 256u
#define MK_CHANNEL_US INT64_C(300000000) /* an ended channel is kept for so long */

typedef struct mk_channel mk_channel;

/* ---- channels ---- */

/* `session` NULL: nothing is numbered or kept. */
MK_CHECK mk_code mk_channel_open(mk_http *http, mk_http_session *session, mk_channel **out, mk_err *err);
void mk_channel_hold(mk_channel *channel);
void mk_channel_release(mk_channel *channel);
/* Goes on over this connection, beginning with what came after number `since`. The channel holds a
 * reference. */
void mk_channel_attach(mk_channel *channel, mk_sse *sse, uint64_t since);
void mk_channel_send(mk_channel *channel, mk_str message);
void mk_channel_let_go(mk_channel *channel); /* closes the connection and says when to come back */
void mk_channel_end(mk_channel *channel);
bool mk_channel_is_open(mk_channel *channel); /* somebody reads it */

/* ---- sessions ---- */

struct mk_http_session {
    mk_stream general; /* first */
    mk_http *http;
    mk_http_session *next; /* under http->mutex, like the next three */
    size_t users;          /* calls and connections that hold it */
    bool ended;
    int64_t used_us;
    char id[33];
    mk_mcp_session *mcp;
    pthread_mutex_t mutex; /* of what follows */
    mk_channel *channels;
    uint64_t last_number;
    mk_buf pending; /* messages that no stream took yet, each behind its size */
    size_t pending_count;
};

/* A new one, held. `user_only`: as of an exchange. Errors: MK_E_NOMEM. The oldest idle one leaves when there
 * are too many. */
MK_CHECK mk_code mk_http__session_open(mk_http *http, mk_str principal, bool user_only, mk_http_session **out,
                                       mk_err *err);
/* Held; NULL: there is none of that id, or it is another's, or was begun by who may see more or less. */
mk_http_session *mk_http__session_find(mk_http *http, const char *id, mk_str principal, bool user_only);
void mk_http__session_release(mk_http_session *session);
/* Nobody finds it any more; what runs is cancelled. */
void mk_http__session_end(mk_http_session *session);
/* The channel of that number, held; NULL: none. */
mk_channel *mk_http__session_channel(mk_http_session *session, uint64_t number);
/* What was meant for whoever listens, now goes to this channel. */
void mk_http__session_flush(mk_http_session *session, mk_channel *channel);

#endif

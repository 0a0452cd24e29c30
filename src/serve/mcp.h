/* mcp.h — the Model Context Protocol, whatever carries it. Layer: serve.
 *
 * One server answers both eras of the protocol: sessions that begin with `initialize` (2024-11-05 to
 * 2025-11-25) and requests that describe themselves (2026-07-28). A transport reads messages, hands each to
 * mk_mcp_handle on a thread of its choice, and sends what comes back; what a call says on its way (progress,
 * logs, questions to the client) goes to the stream that the transport gave it.
 *
 * What is offered is data: tools, and functions for resources, prompts and completion. The product's are in
 * offer.h; a test program offers what the conformance suites ask for. Source: serving spec, 1, 4, 5, 7, 8. */
#ifndef MK_SERVE_MCP_H
#define MK_SERVE_MCP_H

#include <stdatomic.h>

#include "base/canon.h"
#include "base/timetext.h"

typedef struct mk_mcp mk_mcp;
typedef struct mk_mcp_session mk_mcp_session;
typedef struct mk_mcp_call mk_mcp_call;

/* ---- streams ---- */

/* Where messages go that are no answers. `send` may be called by any thread; it takes one whole message and
 * does nothing when the client is gone. */
typedef struct mk_stream mk_stream;
struct mk_stream {
    void (*send)(mk_stream *self, mk_str message);
    /* Closes the connection under the stream, which goes on: the client comes back for what is sent
     * meanwhile. NULL where a stream is its connection. */
    void (*let_go)(mk_stream *self);
    bool mute; /* the client reads nothing but the answer, so that it cannot be asked */
};

/* ---- what is offered ---- */

typedef struct mk_tool mk_tool;
struct mk_tool {
    const char *name;
    const void *data; /* the tool's own */
    bool writes;      /* a transport that knows who may write refuses it to others */
    /* The entry of tools/list, one JSON object. */
    void (*entry)(const mk_tool *tool, mk_buf *out);
    /* Appends the members of the result, "content" first, without braces. An error becomes a tool error. */
    mk_code (*run)(const mk_tool *tool, mk_mcp_call *call, const mk_json *arguments, mk_buf *out,
                   mk_err *err);
};

typedef enum mk_mcp_list { MK_LIST_RESOURCES, MK_LIST_TEMPLATES, MK_LIST_PROMPTS } mk_mcp_list;

/* Functions may be NULL where nothing of the kind is offered. All of them may be called by several
 * threads. */
typedef struct mk_mcp_offer {
    void *ctx;
    const char *name, *title, *version;
    const char *instructions; /* at most 1,500 characters */
    const mk_tool *const *tools; /* sorted by name */
    size_t tool_count;
    bool tools_change, resources_change,
        prompts_change; /* mk_mcp_notify may say that a list did; declared to clients */
    /* The entries of a list, comma between them. */
    void (*list)(void *ctx, mk_mcp_list list, mk_buf *out);
    /* Appends the items of `contents`. MK_E_NOT_FOUND for a uri that is not there. */
    mk_code (*read)(void *ctx, mk_mcp_call *call, mk_str uri, mk_buf *out, mk_err *err);
    /* Appends the members of the result. MK_E_NOT_FOUND: no such prompt; MK_E_INVALID_ARG: an argument. */
    mk_code (*prompt)(void *ctx, mk_mcp_call *call, mk_str name, const mk_json *arguments, mk_buf *out,
                      mk_err *err);
    /* Appends at most 100 JSON strings, and says how many there are in all. `ref` is the params' own.
     * MK_E_NOT_FOUND: an unknown reference. */
    mk_code (*complete)(void *ctx, mk_mcp_call *call, const mk_json *ref, mk_str argument, mk_str value,
                        mk_buf *out, size_t *shown, size_t *total, mk_err *err);
    /* How long answers may be cached, in ms: of a resource (NULL uri: of lists). */
    int64_t (*ttl_ms)(void *ctx, mk_str uri);
} mk_mcp_offer;

typedef struct mk_mcp_options {
    int64_t deadline_us;  /* of one call; 0: 50 s */
    int64_t reply_us;     /* how long a client may take to answer a question; 0: 60 s */
    int64_t beat_us;      /* how long a call that runs may say nothing to who wants progress; 0: 4 s */
    bool authenticated;   /* answers of lists are private then */
    const mk_clock *clock;
} mk_mcp_options;

/* `offer` must outlive the server. */
MK_CHECK mk_code mk_mcp_open(const mk_alloc *alloc, const mk_mcp_offer *offer, const mk_mcp_options *options,
                             mk_mcp **out, mk_err *err);
const mk_mcp_offer *mk_mcp_offer_of(const mk_mcp *server);
/* Whether a text names a revision that sessions may have. */
bool mk_mcp_is_revision(const char *text);
/* The transport stops: subscriptions end with their final result, and none begins any more. Other calls go
 * on. */
void mk_mcp_stop_listening(mk_mcp *server);
/* No call may run any more, and all sessions must be closed. NULL is fine. */
void mk_mcp_close(mk_mcp *server);

/* ---- sessions ---- */

/* `general` gets what belongs to no request (NULL: nothing can be sent), and must outlive the session.
 * `assumed`: requests before any handshake are served as 2025-11-25, as on a pipe. */
MK_CHECK mk_code mk_mcp_session_open(mk_mcp *server, mk_stream *general, bool assumed, mk_str principal,
                                     mk_mcp_session **out, mk_err *err);
/* Cancels what runs; waits for nothing. */
void mk_mcp_session_cancel(mk_mcp_session *session);
void mk_mcp_session_close(mk_mcp_session *session); /* NULL is fine; no call of it may run any more */
/* The negotiated revision as text, "" before the handshake. */
const char *mk_mcp_session_version(const mk_mcp_session *session);
mk_str mk_mcp_session_principal(const mk_mcp_session *session);
/* Before its first message: its calls see entities of users only, whatever the server shows to others. */
void mk_mcp_session_set_user_only(mk_mcp_session *session);
bool mk_mcp_session_is_user_only(const mk_mcp_session *session);
void mk_mcp_session_set_general(mk_mcp_session *session, mk_stream *general);

/* ---- messages ---- */

typedef enum mk_mcp_message_kind {
    MK_MESSAGE_BAD,          /* answered at once with an error */
    MK_MESSAGE_BATCH,
    MK_MESSAGE_REQUEST,
    MK_MESSAGE_NOTIFICATION,
    MK_MESSAGE_RESPONSE
} mk_mcp_message_kind;

/* One message, read. Lives in the arena it was read into. */
typedef struct mk_mcp_message {
    mk_mcp_message_kind kind;
    bool claims;      /* describes itself: the modern era */
    mk_str claim;     /* the revision it claims */
    mk_str id;        /* as JSON text; n 0: none */
    mk_str method;
    const mk_json *tree, *params, *meta; /* NULL when absent */
    int error;        /* BAD: the code */
    const char *why;
} mk_mcp_message;

/* Never fails: what cannot be read is MK_MESSAGE_BAD. */
void mk_mcp_read(mk_str text, mk_arena *arena, mk_mcp_message *out);
/* Whether handling it may take long, so that it should not hold up reading. */
bool mk_mcp_is_slow(const mk_mcp_message *message);
/* Whether handling it takes until the client or the transport ends it (subscriptions/listen): it needs a
 * thread of its own, for it would keep one of a pool from all other calls. */
bool mk_mcp_is_listening(const mk_mcp_message *message);

/* Registers a request before it is handed to another thread, so that it can be cancelled meanwhile. Returns
 * false when a request of that id runs already. */
bool mk_mcp_begin(mk_mcp_session *session, const mk_mcp_message *message);
/* Undoes that for a request that the transport refuses itself. */
void mk_mcp_forget(mk_mcp_session *session, const mk_mcp_message *message);

/* Handles one message of any kind and appends the answer, when there is one. *status is what HTTP should say
 * (200, 202 without an answer, 400, 404). `stream` takes what the call sends on its way. A request must have
 * been begun. `session` may be NULL for the modern era. Errors are answers; MK_E_NOMEM when there is no room
 * for one. */
MK_CHECK mk_code mk_mcp_handle(mk_mcp *server, mk_mcp_session *session, const mk_mcp_message *message,
                               mk_stream *stream, mk_arena *arena, mk_buf *out, int *status, mk_err *err);

/* Reports progress of calls that said nothing for a while, so that a client sees that they run; transports
 * call it a few times a second. Only of calls that were begun in a session. Source: serving spec, 10. */
void mk_mcp_beat(mk_mcp *server);

/* An error message for `id` (n 0: null). */
void mk_mcp_error(mk_buf *out, mk_str id, int code, const char *message, const char *data /* JSON or NULL */);

/* ---- what a call may do ---- */

mk_arena *mk_mcp_arena(mk_mcp_call *call);
mk_mcp *mk_mcp_server(const mk_mcp_call *call); /* for mk_mcp_notify */
mk_str mk_mcp_principal(const mk_mcp_call *call);
bool mk_mcp_is_user_only(const mk_mcp_call *call);
mk_str mk_mcp_request_id(const mk_mcp_call *call); /* JSON text */
const atomic_bool *mk_mcp_cancelled(const mk_mcp_call *call);
int64_t mk_mcp_deadline(const mk_mcp_call *call); /* in the clock's time */
/* Whether the results' `structuredContent` is known to the client. */
bool mk_mcp_is_structured(const mk_mcp_call *call);
/* Only when the client asked for it; progress that does not grow is left out. total 0: not known. */
void mk_mcp_progress(mk_mcp_call *call, double progress, double total, const char *message);
double mk_mcp_progressed(mk_mcp_call *call); /* the last progress that was reported, 0 at first */
/* `level` is one of RFC 5424's words; `data` is JSON. Only at or above the level that the client set. */
void mk_mcp_log(mk_mcp_call *call, const char *level, const char *logger, const char *data);

/* Lets go of the connection that the call came by, where the transport lets the client come back for the
 * rest. */
void mk_mcp_let_go(mk_mcp_call *call);

typedef enum mk_mcp_question { MK_ASK_SAMPLING, MK_ASK_ELICITATION, MK_ASK_ROOTS } mk_mcp_question;
/* Whether the client said that it can answer. */
bool mk_mcp_can_ask(const mk_mcp_call *call, mk_mcp_question what);
/* Asks the client; `key` names the question within the call, `params` is a JSON object. The result lives in
 * the call's arena. In the modern era the answer comes with a later request: the function then returns
 * MK_E_STATE with reason "input_required", and the tool must return it; it is called again, with all answers
 * so far. Errors: MK_E_STATE reason "client_cannot", or "refused" for an error or a malformed answer;
 * MK_E_LIMIT after the time to reply; MK_E_CANCELLED. */
MK_CHECK mk_code mk_mcp_ask(mk_mcp_call *call, const char *key, mk_mcp_question what, mk_str params,
                            const mk_json **result, mk_err *err);

/* ---- notifications to whoever listens ---- */

typedef enum mk_mcp_change {
    MK_TOOLS_CHANGED,
    MK_PROMPTS_CHANGED,
    MK_RESOURCES_CHANGED,
    MK_RESOURCE_UPDATED
} mk_mcp_change;
/* `uri` of MK_RESOURCE_UPDATED. To sessions that subscribed and to modern listeners. Any thread. */
void mk_mcp_notify(mk_mcp *server, mk_mcp_change change, const char *uri);

#endif

/* mcp_internal.h — what the files of the protocol share. Layer: serve, internal. */
#ifndef MK_SERVE_MCP_INTERNAL_H
#define MK_SERVE_MCP_INTERNAL_H

#include <pthread.h>

#include "serve/mcp.h"

enum {
    MK_RPC_PARSE = -32700,
    MK_RPC_INVALID = -32600,
    MK_RPC_NO_METHOD = -32601,
    MK_RPC_PARAMS = -32602,
    MK_RPC_INTERNAL = -32603,
    MK_RPC_NO_RESOURCE = -32002,  /* sessions only */
    MK_RPC_CAPABILITY = -32021,   /* modern only */
    MK_RPC_VERSION = -32022       /* modern only */
};

typedef enum mk_revision {
    MK_REV_NONE,
    MK_REV_2024_11_05,
    MK_REV_2025_03_26,
    MK_REV_2025_06_18,
    MK_REV_2025_11_25,
    MK_REV_2026_07_28
} mk_revision;
const char *mk_mcp__revision_name(mk_revision revision);

#define MK_MODERN "2026-07-28"
#define MK_META(name) "io.modelcontextprotocol/" name

/* A request that runs. */
typedef struct mk_flight mk_flight;
struct mk_flight {
    mk_flight *next;
    char *id; /* JSON text */
    size_t id_n;
    atomic_bool cancelled;
    bool silent; /* cancelled by the client: nothing more is sent */
    mk_mcp_call *call; /* NULL: it waits, or its answer is written. Under the session's mutex */
};

/* A question that was sent to the client. */
typedef struct mk_question mk_question;
struct mk_question {
    mk_question *next;
    uint64_t number;
    bool answered, failed;
    mk_buf answer; /* the result's text */
};

struct mk_mcp_session {
    mk_mcp *server;
    mk_mcp_session *next; /* of the server */
    mk_stream *general;
    char principal[128];
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    _Atomic mk_revision revision;
    bool assumed;
    bool user_only;
    bool can_sample, can_elicit, can_roots;
    bool subscribed; /* to the uris below */
    char uris[8][256];
    size_t uri_count;
    int level; /* of logs */
    mk_flight *flights;
    mk_question *questions;
    bool ended;
};

/* A modern subscription that is listening. */
typedef struct mk_listener mk_listener;
struct mk_listener {
    mk_listener *next;
    mk_stream *stream;
    const mk_mcp_session *session; /* NULL: none */
    char id[160]; /* of the request, JSON text */
    bool tools, prompts, resources;
    char uris[8][256];
    size_t uri_count;
};

struct mk_mcp {
    const mk_alloc *alloc;
    const mk_mcp_offer *offer;
    mk_mcp_options options;
    uint8_t key[32]; /* of request states */
    pthread_mutex_t mutex; /* of the lists below */
    mk_mcp_session *sessions;
    mk_listener *listeners;
    size_t listener_count;
    _Atomic uint64_t next_question;
    atomic_bool ended;
    atomic_bool stopping; /* subscriptions end */
};

struct mk_mcp_call {
    mk_mcp *server;
    mk_mcp_session *session; /* NULL: modern without one */
    mk_flight *flight;       /* NULL: not registered */
    const mk_mcp_message *message;
    mk_stream *stream;
    mk_arena *arena;
    bool modern;
    mk_revision revision;
    bool can_sample, can_elicit, can_roots;
    int level; /* of logs; above all words: none */
    mk_str progress_token; /* JSON text; n 0: none */
    pthread_mutex_t said; /* of the two below, held while they are sent so that progress arrives in order */
    double progress_last;
    int64_t said_us, begun_us;
    int64_t deadline_us;
    /* Modern, several rounds. */
    const mk_json *responses; /* inputResponses of this request */
    const mk_json *earlier;   /* answers that the state carries: {key: result} */
    mk_buf wanted;            /* members of inputRequests */
    mk_mcp_question wanted_ask;        /* the kind of a question that the client cannot answer */
    bool lacks;               /* that happened */
};

/* ---- rpc.c ---- */
void mk_mcp__read_tree(const mk_json *tree, mk_arena *arena, mk_mcp_message *out);
/* What a bad message is answered with: an unknown id is null in a session and left out in the modern era. */
void mk_mcp__error_of(mk_buf *out, const mk_mcp_message *message);

/* ---- mcp_call.c ---- */
int mk_mcp__level(mk_str word); /* -1: no such level */
/* Says that the call runs, when it was silent for too long and somebody wants to know. */
void mk_mcp__beat(mk_mcp_call *call);
/* Capabilities out of a `capabilities` or `clientCapabilities` object. */
void mk_mcp__capabilities(const mk_json *object, bool *sample, bool *elicit, bool *roots);
/* A response of the client to one of our questions; others are ignored. */
void mk_mcp__response(mk_mcp_session *session, const mk_mcp_message *message);
/* Whether every wanted question could be asked; the answer of several rounds, or an error. */
mk_code mk_mcp__input_required(mk_mcp_call *call, mk_buf *out, mk_err *err);
/* Reads requestState and inputResponses. False: the state is not ours, too old, or of another request. */
bool mk_mcp__read_rounds(mk_mcp_call *call);

/* ---- mcp_methods.c ---- */
/* Appends a whole answer. *status as in mk_mcp_handle. */
mk_code mk_mcp__request(mk_mcp_call *call, mk_buf *out, int *status, mk_err *err);

/* The object that says who answers. */
void mk_mcp__server_info(const mk_mcp_call *call, mk_buf *out);

/* ---- mcp_listen.c ---- */
/* subscriptions/listen: acknowledges, sends until the request is cancelled, then appends the result. */
mk_code mk_mcp__listen(mk_mcp_call *call, mk_buf *out, int *status, mk_err *err);
bool mk_mcp__subscribe(mk_mcp_session *session, mk_str uri, bool on);

#endif

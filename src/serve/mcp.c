/* mcp.c — server, sessions, and which era a message belongs to. See mcp.h. Layer: serve. */
#include "serve/mcp_internal.h"

#include <stdio.h>

#include "base/hash.h"
#include "base/fs.h"

#define DEADLINE_US INT64_C(50000000)
#define REPLY_US INT64_C(60000000)
#define BEAT_US INT64_C(4000000) /* the serving spec allows 5 s */

const char *mk_mcp__revision_name(mk_revision revision)
{
    static const char *const names[] = {"",           "2024-11-05", "2025-03-26",
                                        "2025-06-18", "2025-11-25", MK_MODERN};
    return names[revision];
}

/* ---- opening and closing ---- */

mk_code mk_mcp_open(const mk_alloc *alloc, const mk_mcp_offer *offer, const mk_mcp_options *options,
                    mk_mcp **out, mk_err *err)
{
    mk_mcp *server = mk_new0(alloc, sizeof *server);
    *out = NULL;
    if (server == NULL)
        return mk_fail_nomem(err);
    server->alloc = alloc;
    server->offer = offer;
    if (options != NULL)
        server->options = *options;
    if (server->options.deadline_us == 0)
        server->options.deadline_us = DEADLINE_US;
    if (server->options.reply_us == 0)
        server->options.reply_us = REPLY_US;
    if (server->options.beat_us == 0)
        server->options.beat_us = BEAT_US;
    if (server->options.clock == NULL)
        server->options.clock = &mk_clock_system;
    for (size_t i = 0; i < sizeof server->key; i += 8) {
        const uint64_t word = mk_entropy64();
        memcpy(server->key + i, &word, 8);
    }
    pthread_mutex_init(&server->mutex, NULL);
    atomic_store(&server->next_question, 1);
    *out = server;
    return MK_OK;
}

void mk_mcp_close(mk_mcp *server)
{
    if (server == NULL)
        return;
    pthread_mutex_destroy(&server->mutex);
    mk_free(server->alloc, server, sizeof *server);
}

mk_code mk_mcp_session_open(mk_mcp *server, mk_stream *general, bool assumed, mk_str principal,
                            mk_mcp_session **out, mk_err *err)
{
    mk_mcp_session *session = mk_new0(server->alloc, sizeof *session);
    *out = NULL;
    if (session == NULL)
        return mk_fail_nomem(err);
    session->server = server;
    session->general = general;
    session->assumed = assumed;
    session->level = mk_mcp__level(MK_STR("warning"));
    snprintf(session->principal, sizeof session->principal, "%.*s", (int)principal.n, principal.p);
    pthread_mutex_init(&session->mutex, NULL);
    pthread_cond_init(&session->changed, NULL);
    pthread_mutex_lock(&server->mutex);
    session->next = server->sessions;
    server->sessions = session;
    pthread_mutex_unlock(&server->mutex);
    *out = session;
    return MK_OK;
}

void mk_mcp_session_cancel(mk_mcp_session *session)
{
    pthread_mutex_lock(&session->mutex);
    session->ended = true;
    for (mk_flight *f = session->flights; f != NULL; f = f->next) {
        f->silent = true;
        atomic_store(&f->cancelled, true);
    }
    pthread_cond_broadcast(&session->changed);
    pthread_mutex_unlock(&session->mutex);
}

static void free_flight(mk_mcp *server, mk_flight *flight)
{
    mk_free(server->alloc, flight->id, flight->id_n);
    mk_free(server->alloc, flight, sizeof *flight);
}

void mk_mcp_session_close(mk_mcp_session *session)
{
    if (session == NULL)
        return;
    mk_mcp *server = session->server;
    pthread_mutex_lock(&server->mutex);
    for (mk_mcp_session **at = &server->sessions; *at != NULL; at = &(*at)->next)
        if (*at == session) {
            *at = session->next;
            break;
        }
    pthread_mutex_unlock(&server->mutex);
    while (session->flights != NULL) { /* begun, and never handled */
        mk_flight *next = session->flights->next;
        free_flight(server, session->flights);
        session->flights = next;
    }
    pthread_cond_destroy(&session->changed);
    pthread_mutex_destroy(&session->mutex);
    mk_free(server->alloc, session, sizeof *session);
}

const mk_mcp_offer *mk_mcp_offer_of(const mk_mcp *server) { return server->offer; }

bool mk_mcp_is_revision(const char *text)
{
    for (int r = MK_REV_2024_11_05; r <= MK_REV_2025_11_25; r++)
        if (strcmp(mk_mcp__revision_name((mk_revision)r), text) == 0)
            return true;
    return false;
}

mk_str mk_mcp_session_principal(const mk_mcp_session *session) { return mk_str_of(session->principal); }
void mk_mcp_session_set_user_only(mk_mcp_session *session) { session->user_only = true; }
bool mk_mcp_session_is_user_only(const mk_mcp_session *session) { return session->user_only; }

const char *mk_mcp_session_version(const mk_mcp_session *session)
{
    return mk_mcp__revision_name(session->revision);
}

void mk_mcp_session_set_general(mk_mcp_session *session, mk_stream *general)
{
    pthread_mutex_lock(&session->mutex);
    session->general = general;
    pthread_mutex_unlock(&session->mutex);
}

/* ---- requests in flight ---- */

static mk_flight *find_flight(mk_mcp_session *session, mk_str id)
{
    for (mk_flight *f = session->flights; f != NULL; f = f->next)
        if (mk_str_eq((mk_str){f->id, f->id_n}, id))
            return f;
    return NULL;
}

bool mk_mcp_begin(mk_mcp_session *session, const mk_mcp_message *message)
{
    const mk_alloc *alloc = session->server->alloc;
    if (message->kind != MK_MESSAGE_REQUEST)
        return true;
    mk_flight *flight = mk_new0(alloc, sizeof *flight);
    char *id = flight != NULL ? mk_new(alloc, message->id.n) : NULL;
    if (id == NULL) { /* it runs all the same, and cannot be cancelled */
        mk_free(alloc, flight, sizeof *flight);
        return true;
    }
    memcpy(id, message->id.p, message->id.n);
    flight->id = id;
    flight->id_n = message->id.n;
    pthread_mutex_lock(&session->mutex);
    const bool fresh = find_flight(session, message->id) == NULL;
    if (fresh) {
        flight->next = session->flights;
        session->flights = flight;
        if (session->ended)
            atomic_store(&flight->cancelled, true);
    }
    pthread_mutex_unlock(&session->mutex);
    if (!fresh)
        free_flight(session->server, flight);
    return fresh;
}

/* Whether its answer may be sent. */
static bool end_flight(mk_mcp_session *session, mk_flight *flight)
{
    pthread_mutex_lock(&session->mutex);
    for (mk_flight **at = &session->flights; *at != NULL; at = &(*at)->next)
        if (*at == flight) {
            *at = flight->next;
            break;
        }
    const bool silent = flight->silent;
    pthread_mutex_unlock(&session->mutex);
    free_flight(session->server, flight);
    return !silent;
}

void mk_mcp_forget(mk_mcp_session *session, const mk_mcp_message *message)
{
    pthread_mutex_lock(&session->mutex);
    mk_flight *flight = find_flight(session, message->id);
    pthread_mutex_unlock(&session->mutex);
    if (flight != NULL)
        (void)end_flight(session, flight);
}

static void cancel_flight(mk_mcp_session *session, const mk_mcp_message *message)
{
    const mk_json *id = message->params != NULL ? mk_json_get(message->params, "requestId") : NULL;
    mk_buf text;
    if (id == NULL || (id->kind != MK_JSON_STRING && id->kind != MK_JSON_INT))
        return;
    mk_buf_init(&text, session->server->alloc);
    if (id->kind == MK_JSON_STRING)
        mk_canon_string(&text, id->text);
    else
        mk_buf_i64(&text, id->i);
    pthread_mutex_lock(&session->mutex);
    mk_flight *flight = find_flight(session, mk_buf_view(&text));
    if (flight != NULL) {
        flight->silent = true;
        atomic_store(&flight->cancelled, true);
        pthread_cond_broadcast(&session->changed);
    }
    pthread_mutex_unlock(&session->mutex);
    mk_buf_free(&text);
}

/* ---- calls ---- */

static mk_str token_text(const mk_json *meta, mk_arena *arena)
{
    const mk_json *token = meta != NULL ? mk_json_get(meta, "progressToken") : NULL;
    mk_str text = {NULL, 0};
    mk_buf buf;
    if (token == NULL || (token->kind != MK_JSON_STRING && token->kind != MK_JSON_INT))
        return text;
    mk_buf_init(&buf, arena->alloc);
    if (token->kind == MK_JSON_STRING)
        mk_canon_string(&buf, token->text);
    else if (token->b)
        mk_buf_str(&buf, token->text);
    else
        mk_buf_i64(&buf, token->i);
    if (!buf.failed)
        text = mk_arena_copy(arena, mk_buf_view(&buf));
    mk_buf_free(&buf);
    return text.p != NULL ? text : (mk_str){NULL, 0};
}

static void begin_call(mk_mcp_call *call, mk_mcp *server, mk_mcp_session *session,
                       const mk_mcp_message *message, mk_stream *stream, mk_arena *arena)
{
    const mk_clock *clock = server->options.clock;
    const int64_t now = clock->now_us(clock->ctx);
    *call = (mk_mcp_call){.server = server, .session = session, .message = message, .stream = stream,
                          .arena = arena, .modern = message->claims, .progress_last = -1e300,
                          .said_us = now, .begun_us = now, .deadline_us = now + server->options.deadline_us};
    pthread_mutex_init(&call->said, NULL);
    call->progress_token = token_text(message->meta, arena);
    mk_buf_init(&call->wanted, arena->alloc);
    call->revision = MK_REV_2026_07_28;
    call->level = INT32_MAX;
    if (session == NULL)
        return;
    pthread_mutex_lock(&session->mutex);
    call->flight = message->kind == MK_MESSAGE_REQUEST ? find_flight(session, message->id) : NULL;
    if (call->flight != NULL && !mk_mcp_is_listening(message))
        call->flight->call = call;
    if (!message->claims) {
        call->revision = session->revision != MK_REV_NONE ? session->revision : MK_REV_2025_11_25;
        call->level = session->level;
        call->can_sample = session->can_sample;
        call->can_elicit = session->can_elicit;
        call->can_roots = session->can_roots;
    }
    pthread_mutex_unlock(&session->mutex);
}

static mk_code handle_request(mk_mcp *server, mk_mcp_session *session, const mk_mcp_message *message,
                              mk_stream *stream, mk_arena *arena, mk_buf *out, int *status, mk_err *err)
{
    mk_mcp_call call;
    const size_t before = out->n;
    begin_call(&call, server, session, message, stream, arena);
    mk_code rc = mk_mcp__request(&call, out, status, err);
    mk_buf_free(&call.wanted);
    if (call.flight != NULL && !end_flight(session, call.flight))
        out->n = before;
    pthread_mutex_destroy(&call.said);
    return rc;
}

void mk_mcp_beat(mk_mcp *server)
{
    pthread_mutex_lock(&server->mutex);
    for (mk_mcp_session *s = server->sessions; s != NULL; s = s->next) {
        pthread_mutex_lock(&s->mutex);
        for (mk_flight *f = s->flights; f != NULL; f = f->next)
            if (f->call != NULL)
                mk_mcp__beat(f->call);
        pthread_mutex_unlock(&s->mutex);
    }
    pthread_mutex_unlock(&server->mutex);
}

/* ---- batches, of 2025-03-26 only ---- */

static bool may_batch(const mk_mcp_session *session, const mk_mcp_message *message, mk_arena *arena)
{
    if (session == NULL || session->revision != MK_REV_2025_03_26 || message->tree->n > 100)
        return false;
    for (size_t i = 0; i < message->tree->n; i++) {
        mk_mcp_message entry;
        mk_mcp__read_tree(&message->tree->items[i], arena, &entry);
        if (entry.claims || mk_str_eq(entry.method, MK_STR("initialize")))
            return false;
    }
    return true;
}

static mk_code handle_batch(mk_mcp *server, mk_mcp_session *session, const mk_mcp_message *message,
                            mk_stream *stream, mk_arena *arena, mk_buf *out, int *status, mk_err *err)
{
    mk_code rc = MK_OK;
    const size_t start = out->n;
    if (!may_batch(session, message, arena)) {
        *status = 400;
        mk_mcp_error(out, (mk_str){NULL, 0}, MK_RPC_INVALID, "batches belong to revision 2025-03-26", NULL);
        return mk_buf_done(out, err);
    }
    for (size_t i = 0; i < message->tree->n; i++) {
        mk_mcp_message entry;
        int inner = 200;
        mk_buf_c(out, out->n == start ? '[' : ',');
        const size_t before = out->n;
        mk_mcp__read_tree(&message->tree->items[i], arena, &entry);
        if (entry.kind == MK_MESSAGE_REQUEST && !mk_mcp_begin(session, &entry))
            mk_mcp_error(out, entry.id, MK_RPC_INVALID, "a request of this id runs already", NULL);
        else
            MK_TRY(rc, mk_mcp_handle(server, session, &entry, stream, arena, out, &inner, err));
        if (out->n == before)
            out->n = before - 1; /* no answer: no comma */
    }
    *status = out->n == start ? 202 : 200;
    if (out->n != start)
        mk_buf_c(out, ']');
    rc = mk_buf_done(out, err);
out:
    return rc;
}

/* ---- every message ---- */

static void handle_notification(mk_mcp_session *session, const mk_mcp_message *message)
{
    if (session != NULL && mk_str_eq(message->method, MK_STR("notifications/cancelled")))
        cancel_flight(session, message);
}

mk_code mk_mcp_handle(mk_mcp *server, mk_mcp_session *session, const mk_mcp_message *message,
                      mk_stream *stream, mk_arena *arena, mk_buf *out, int *status, mk_err *err)
{
    *status = 200;
    switch (message->kind) {
    case MK_MESSAGE_BAD:
        *status = 400;
        mk_mcp__error_of(out, message);
        return mk_buf_done(out, err);
    case MK_MESSAGE_BATCH:
        return handle_batch(server, session, message, stream, arena, out, status, err);
    case MK_MESSAGE_REQUEST:
        return handle_request(server, session, message, stream, arena, out, status, err);
    case MK_MESSAGE_NOTIFICATION: handle_notification(session, message); break;
    case MK_MESSAGE_RESPONSE:
        if (session != NULL)
            mk_mcp__response(session, message);
        break;
    }
    *status = 202;
    return MK_OK;
}

/* mcp_listen.c — who is told what changed. See mcp.h. Layer: serve. */
#include "serve/mcp_internal.h"

#include <stdio.h>
#include <time.h>

#define LISTENERS_MAX 1024u
#define LISTENERS_OF_ONE 16u /* serving spec, 5 */

/* ---- subscriptions of sessions ---- */

bool mk_mcp__subscribe(mk_mcp_session *session, mk_str uri, bool on)
{
    bool kept = true;
    pthread_mutex_lock(&session->mutex);
    size_t at = 0;
    while (at < session->uri_count && !mk_str_eq(mk_str_of(session->uris[at]), uri))
        at++;
    if (!on && at < session->uri_count) {
        memcpy(session->uris[at], session->uris[session->uri_count - 1], sizeof session->uris[at]);
        session->uri_count--;
    } else if (on && at == session->uri_count) {
        kept = session->uri_count < 8 && uri.n < sizeof session->uris[0];
        if (kept)
            snprintf(session->uris[session->uri_count++], sizeof session->uris[0], "%.*s", (int)uri.n, uri.p);
    }
    pthread_mutex_unlock(&session->mutex);
    return kept;
}

/* ---- notifications ---- */

static const char *method_of(mk_mcp_change change)
{
    switch (change) {
    case MK_TOOLS_CHANGED: return "notifications/tools/list_changed";
    case MK_PROMPTS_CHANGED: return "notifications/prompts/list_changed";
    case MK_RESOURCES_CHANGED: return "notifications/resources/list_changed";
    default: return "notifications/resources/updated";
    }
}

static void put_notification(mk_buf *text, mk_mcp_change change, const char *uri, const char *subscription)
{
    mk_buf_clear(text);
    mk_buf_printf(text, "{\"jsonrpc\":\"2.0\",\"method\":\"%s\"", method_of(change));
    if (uri != NULL || subscription != NULL)
        mk_buf_z(text, ",\"params\":{");
    if (uri != NULL) {
        mk_buf_z(text, "\"uri\":");
        mk_canon_string(text, mk_str_of(uri));
    }
    if (subscription != NULL)
        mk_buf_printf(text, "%s\"_meta\":{\"" MK_META("subscriptionId") "\":%s}", uri != NULL ? "," : "",
                      subscription);
    mk_buf_z(text, uri != NULL || subscription != NULL ? "}}" : "}");
}

static bool has_uri(const char uris[8][256], size_t count, const char *uri)
{
    for (size_t i = 0; i < count; i++)
        if (uri != NULL && strcmp(uris[i], uri) == 0)
            return true;
    return false;
}

static bool session_wants(const mk_mcp_session *session, mk_mcp_change change, const char *uri)
{
    if (session->revision == MK_REV_NONE)
        return false;
    return change != MK_RESOURCE_UPDATED || has_uri(session->uris, session->uri_count, uri);
}

static bool listener_wants(const mk_listener *l, mk_mcp_change change, const char *uri)
{
    switch (change) {
    case MK_TOOLS_CHANGED: return l->tools;
    case MK_PROMPTS_CHANGED: return l->prompts;
    case MK_RESOURCES_CHANGED: return l->resources;
    default: return has_uri(l->uris, l->uri_count, uri);
    }
}

void mk_mcp_notify(mk_mcp *server, mk_mcp_change change, const char *uri)
{
    mk_buf text;
    mk_buf_init(&text, server->alloc);
    pthread_mutex_lock(&server->mutex);
    for (mk_mcp_session *s = server->sessions; s != NULL; s = s->next) {
        pthread_mutex_lock(&s->mutex);
        mk_stream *to = session_wants(s, change, uri) ? s->general : NULL;
        pthread_mutex_unlock(&s->mutex);
        if (to == NULL)
            continue;
        put_notification(&text, change, uri, NULL);
        if (!text.failed)
            to->send(to, mk_buf_view(&text));
    }
    for (mk_listener *l = server->listeners; l != NULL; l = l->next) {
        if (!listener_wants(l, change, uri))
            continue;
        put_notification(&text, change, uri, l->id);
        if (!text.failed)
            l->stream->send(l->stream, mk_buf_view(&text));
    }
    pthread_mutex_unlock(&server->mutex);
    mk_buf_free(&text);
}

/* ---- subscriptions/listen ---- */

static bool is_true(const mk_json *object, const char *key)
{
    const mk_json *value = object != NULL ? mk_json_get(object, key) : NULL;
    return value != NULL && value->kind == MK_JSON_BOOL && value->b;
}

static void read_filter(const mk_mcp_call *call, mk_listener *l)
{
    const mk_json *filter =
        call->message->params != NULL ? mk_json_get(call->message->params, "notifications") : NULL;
    const mk_json *uris = filter != NULL ? mk_json_get(filter, "resourceSubscriptions") : NULL;
    const mk_mcp_offer *offer = call->server->offer;
    l->tools = is_true(filter, "toolsListChanged") && offer->tools_change;
    l->prompts = is_true(filter, "promptsListChanged") && offer->prompts_change;
    l->resources = is_true(filter, "resourcesListChanged") && offer->resources_change;
    for (size_t i = 0; uris != NULL && uris->kind == MK_JSON_ARRAY && i < uris->n && l->uri_count < 8; i++)
        if (uris->items[i].kind == MK_JSON_STRING && uris->items[i].text.n < sizeof l->uris[0])
            snprintf(l->uris[l->uri_count++], sizeof l->uris[0], "%.*s", (int)uris->items[i].text.n,
                     uris->items[i].text.p);
}

static void acknowledge(mk_mcp_call *call, const mk_listener *l)
{
    mk_buf text;
    const char *comma = "";
    mk_buf_init(&text, call->server->alloc);
    mk_buf_z(&text, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\","
                    "\"params\":{\"notifications\":{");
    const struct {
        const char *name;
        bool on;
    } kinds[] = {{"toolsListChanged", l->tools}, {"promptsListChanged", l->prompts},
                 {"resourcesListChanged", l->resources}};
    for (size_t i = 0; i < 3; i++)
        if (kinds[i].on) {
            mk_buf_printf(&text, "%s\"%s\":true", comma, kinds[i].name);
            comma = ",";
        }
    if (l->uri_count > 0) {
        mk_buf_printf(&text, "%s\"resourceSubscriptions\":[", comma);
        for (size_t i = 0; i < l->uri_count; i++) {
            if (i > 0)
                mk_buf_c(&text, ',');
            mk_canon_string(&text, mk_str_of(l->uris[i]));
        }
        mk_buf_c(&text, ']');
    }
    mk_buf_printf(&text, "},\"_meta\":{\"" MK_META("subscriptionId") "\":%s}}}", l->id);
    if (!text.failed && call->stream != NULL)
        call->stream->send(call->stream, mk_buf_view(&text));
    mk_buf_free(&text);
}

/* The acknowledgement is the first message of its stream, so nothing may be sent before. */
static bool add_listener(mk_mcp_call *call, mk_listener *l)
{
    mk_mcp *server = call->server;
    size_t own = 0;
    pthread_mutex_lock(&server->mutex);
    for (const mk_listener *other = server->listeners; other != NULL; other = other->next)
        own += other->session != NULL && other->session == l->session;
    const bool room = server->listener_count < LISTENERS_MAX && own < LISTENERS_OF_ONE;
    if (room) {
        l->next = server->listeners;
        server->listeners = l;
        server->listener_count++;
        acknowledge(call, l);
    }
    pthread_mutex_unlock(&server->mutex);
    return room;
}

static void remove_listener(mk_mcp *server, mk_listener *l)
{
    pthread_mutex_lock(&server->mutex);
    for (mk_listener **at = &server->listeners; *at != NULL; at = &(*at)->next)
        if (*at == l) {
            *at = l->next;
            server->listener_count--;
            break;
        }
    pthread_mutex_unlock(&server->mutex);
}

static bool is_over(const mk_mcp_call *call)
{
    return atomic_load(mk_mcp_cancelled(call)) || atomic_load(&call->server->stopping);
}

/* Until it is over. Who ends it wakes the session; without one there is nothing to be woken by. */
static void rest(mk_mcp_call *call)
{
    mk_mcp_session *session = call->session;
    struct timespec until;
    if (session == NULL) {
        while (!is_over(call))
            nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        return;
    }
    pthread_mutex_lock(&session->mutex);
    while (!is_over(call)) {
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec++;
        pthread_cond_timedwait(&session->changed, &session->mutex, &until);
    }
    pthread_mutex_unlock(&session->mutex);
}

void mk_mcp_stop_listening(mk_mcp *server)
{
    atomic_store(&server->stopping, true);
    pthread_mutex_lock(&server->mutex);
    for (mk_mcp_session *s = server->sessions; s != NULL; s = s->next) {
        pthread_mutex_lock(&s->mutex);
        pthread_cond_broadcast(&s->changed);
        pthread_mutex_unlock(&s->mutex);
    }
    pthread_mutex_unlock(&server->mutex);
}

/* On a pipe a client may also look for the notification that ends a request of its own. */
static void say_ended(mk_mcp_call *call, mk_buf *out)
{
    mk_buf text;
    if (call->session == NULL || !call->session->assumed || !atomic_load(&call->server->stopping))
        return;
    call->stream->send(call->stream, mk_buf_view(out));
    mk_buf_clear(out);
    mk_buf_init(&text, call->server->alloc);
    mk_buf_printf(
        &text,
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":%.*s,"
        "\"reason\":\"the server stops\"}}",
        MK_STR_ARG(call->message->id));
    if (!text.failed)
        call->stream->send(call->stream, mk_buf_view(&text));
    mk_buf_free(&text);
}

mk_code mk_mcp__listen(mk_mcp_call *call, mk_buf *out, int *status, mk_err *err)
{
    mk_listener l = {.stream = call->stream, .session = call->session};
    const mk_str id = call->message->id;
    (void)status;
    if (id.n >= sizeof l.id || call->stream == NULL) {
        mk_mcp_error(out, id, MK_RPC_PARAMS, "this subscription cannot be kept", NULL);
        return mk_buf_done(out, err);
    }
    memcpy(l.id, id.p, id.n);
    read_filter(call, &l);
    if (!add_listener(call, &l)) {
        mk_mcp_error(out, id, MK_RPC_INTERNAL, "too many subscriptions", NULL);
        return mk_buf_done(out, err);
    }
    rest(call);
    remove_listener(call->server, &l);
    mk_buf_printf(
        out,
        "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"resultType\":\"complete\",\"_meta\":{\"" MK_META(
            "subscriptionId") "\":%.*s,\"" MK_META("serverInfo") "\":",
        MK_STR_ARG(id), MK_STR_ARG(id));
    mk_mcp__server_info(call, out);
    mk_buf_z(out, "}}}");
    const mk_code rc = mk_buf_done(out, err);
    if (rc == MK_OK && !atomic_load(mk_mcp_cancelled(call)))
        say_ended(call, out);
    return rc;
}

/* http_session.c — see http_session.h. Layer: serve. */
#include "serve/http_session.h"

#include "base/hash.h"

#include <stdio.h>

#define PENDING_MAX 64u
#define RETRY_MS 500

/* ---- channels ---- */

typedef struct kept_event {
    uint64_t number;
    char *text;
    size_t n;
} kept_event;

struct mk_channel {
    mk_channel *next; /* of the session; under its mutex */
    mk_http *http;
    bool kept;        /* belongs to a session */
    bool listens;     /* of a GET: takes what belongs to no request */
    uint64_t number;
    atomic_uint references;
    pthread_mutex_t mutex; /* of all below */
    uint64_t last;
    kept_event events[MK_CHANNEL_KEPT];
    size_t first, count;
    mk_sse *out;
    bool ended;
    int64_t ended_us;
};

mk_code mk_channel_open(mk_http *http, mk_http_session *session, mk_channel **out, mk_err *err)
{
    mk_channel *c = mk_new0(http->alloc, sizeof *c);
    *out = c;
    if (c == NULL)
        return mk_fail_nomem(err);
    c->http = http;
    atomic_store(&c->references, 1);
    pthread_mutex_init(&c->mutex, NULL);
    if (session == NULL)
        return MK_OK;
    c->kept = true;
    pthread_mutex_lock(&session->mutex);
    c->number = ++session->last_number;
    c->next = session->channels;
    session->channels = c;
    mk_channel_hold(c); /* the session's */
    pthread_mutex_unlock(&session->mutex);
    return MK_OK;
}

void mk_channel_hold(mk_channel *channel) { atomic_fetch_add(&channel->references, 1); }

static void drop_event(mk_channel *c)
{
    kept_event *e = &c->events[c->first];
    mk_free(c->http->alloc, e->text, e->n);
    c->first = (c->first + 1) % MK_CHANNEL_KEPT;
    c->count--;
}

void mk_channel_release(mk_channel *channel)
{
    if (atomic_fetch_sub(&channel->references, 1) != 1)
        return;
    while (channel->count > 0)
        drop_event(channel);
    if (channel->out != NULL)
        mk_sse_release(channel->out);
    pthread_mutex_destroy(&channel->mutex);
    mk_free(channel->http->alloc, channel, sizeof *channel);
}

static void put_event(mk_channel *c, uint64_t number, mk_str text)
{
    char id[48];
    snprintf(id, sizeof id, "%llu-%llu", (unsigned long long)c->number, (unsigned long long)number);
    mk_sse_event(c->out, c->kept ? id : NULL, NULL, text);
}

/* Under the mutex. */
static void detach(mk_channel *c)
{
    if (c->out == NULL)
        return;
    mk_sse_end(c->out);
    mk_sse_release(c->out);
    c->out = NULL;
}

void mk_channel_attach(mk_channel *channel, mk_sse *sse, uint64_t since)
{
    pthread_mutex_lock(&channel->mutex);
    detach(channel);
    mk_sse_hold(sse);
    channel->out = sse;
    if (channel->kept && since == 0)
        put_event(channel, 0, (mk_str){"", 0}); /* so that the client has a number from the start */
    for (size_t i = 0; i < channel->count; i++) {
        const kept_event *e = &channel->events[(channel->first + i) % MK_CHANNEL_KEPT];
        if (e->number > since)
            put_event(channel, e->number, (mk_str){e->text, e->n});
    }
    if (channel->ended)
        detach(channel);
    pthread_mutex_unlock(&channel->mutex);
}

static void keep_event(mk_channel *c, mk_str text)
{
    if (!c->kept)
        return;
    if (c->count == MK_CHANNEL_KEPT)
        drop_event(c);
    kept_event *e = &c->events[(c->first + c->count) % MK_CHANNEL_KEPT];
    *e = (kept_event){.number = c->last, .text = mk_new(c->http->alloc, text.n), .n = text.n};
    if (e->text == NULL)
        return; /* who comes back for it misses it: there is no memory to do better */
    memcpy(e->text, text.p, text.n);
    c->count++;
}

void mk_channel_send(mk_channel *channel, mk_str message)
{
    pthread_mutex_lock(&channel->mutex);
    if (!channel->ended) {
        channel->last++;
        keep_event(channel, message);
        if (channel->out != NULL)
            put_event(channel, channel->last, message);
    }
    pthread_mutex_unlock(&channel->mutex);
}

void mk_channel_let_go(mk_channel *channel)
{
    char retry[40];
    snprintf(retry, sizeof retry, "retry: %d\n\n", RETRY_MS);
    pthread_mutex_lock(&channel->mutex);
    if (channel->out != NULL && channel->kept) {
        mk_sse_raw(channel->out, retry);
        detach(channel);
    }
    pthread_mutex_unlock(&channel->mutex);
}

void mk_channel_end(mk_channel *channel)
{
    pthread_mutex_lock(&channel->mutex);
    channel->ended = true;
    channel->ended_us = mk_http__now();
    detach(channel);
    pthread_mutex_unlock(&channel->mutex);
}

bool mk_channel_is_open(mk_channel *channel)
{
    pthread_mutex_lock(&channel->mutex);
    const bool open = channel->out != NULL && !mk_sse_is_gone(channel->out);
    pthread_mutex_unlock(&channel->mutex);
    return open;
}

/* ---- messages that belong to no request ---- */

/* Goes to exactly one of the streams that listen, or waits for the next. */
static void send_general(mk_stream *self, mk_str message)
{
    mk_http_session *s = (mk_http_session *)self;
    mk_channel *to = NULL;
    pthread_mutex_lock(&s->mutex);
    for (mk_channel *c = s->channels; c != NULL && to == NULL; c = c->next)
        if (c->listens && mk_channel_is_open(c))
            to = c;
    if (to != NULL)
        mk_channel_hold(to);
    else if (s->pending_count < PENDING_MAX) {
        const uint32_t n = (uint32_t)message.n;
        mk_buf_put(&s->pending, &n, sizeof n);
        mk_buf_str(&s->pending, message);
        s->pending_count++;
        if (s->pending.failed) {
            mk_buf_clear(&s->pending);
            s->pending_count = 0;
        }
    }
    pthread_mutex_unlock(&s->mutex);
    if (to == NULL)
        return;
    mk_channel_send(to, message);
    mk_channel_release(to);
}

void mk_http__session_flush(mk_http_session *session, mk_channel *channel)
{
    pthread_mutex_lock(&session->mutex);
    channel->listens = true;
    for (size_t at = 0; at < session->pending.n;) {
        uint32_t n;
        memcpy(&n, session->pending.p + at, sizeof n);
        mk_channel_send(channel, (mk_str){session->pending.p + at + sizeof n, n});
        at += sizeof n + n;
    }
    mk_buf_clear(&session->pending);
    session->pending_count = 0;
    pthread_mutex_unlock(&session->mutex);
}

mk_channel *mk_http__session_channel(mk_http_session *session, uint64_t number)
{
    mk_channel *found = NULL;
    pthread_mutex_lock(&session->mutex);
    for (mk_channel *c = session->channels; c != NULL && found == NULL; c = c->next)
        if (c->number == number)
            found = c;
    if (found != NULL)
        mk_channel_hold(found);
    pthread_mutex_unlock(&session->mutex);
    return found;
}

/* ---- sessions ---- */

static void free_session(mk_http_session *s)
{
    mk_mcp_session_close(s->mcp);
    while (s->channels != NULL) {
        mk_channel *next = s->channels->next;
        mk_channel_release(s->channels);
        s->channels = next;
    }
    mk_buf_free(&s->pending);
    pthread_mutex_destroy(&s->mutex);
    mk_free(s->http->alloc, s, sizeof *s);
}

/* Under http->mutex: out of the list. */
static void unlink_session(mk_http_session *s)
{
    for (mk_http_session **at = &s->http->sessions; *at != NULL; at = &(*at)->next)
        if (*at == s) {
            *at = s->next;
            s->http->session_count--;
            atomic_fetch_sub(&s->http->metrics.sessions, 1);
            return;
        }
}

void mk_http__session_end(mk_http_session *session)
{
    pthread_mutex_lock(&session->http->mutex);
    session->ended = true;
    unlink_session(session);
    pthread_mutex_unlock(&session->http->mutex);
    mk_mcp_session_cancel(session->mcp);
    pthread_mutex_lock(&session->mutex);
    for (mk_channel *c = session->channels; c != NULL; c = c->next)
        if (c->listens)
            mk_channel_end(c);
    pthread_mutex_unlock(&session->mutex);
}

static void let_go(mk_http_session *session, bool was_used)
{
    mk_http *http = session->http;
    pthread_mutex_lock(&http->mutex);
    if (was_used)
        session->used_us = mk_http__now();
    const bool last = --session->users == 0 && session->ended;
    pthread_mutex_unlock(&http->mutex);
    if (last)
        free_session(session);
}

void mk_http__session_release(mk_http_session *session) { let_go(session, true); }

/* The one that was idle for longest, held; NULL: all are busy. */
static mk_http_session *oldest_idle(mk_http *http, int64_t before)
{
    mk_http_session *oldest = NULL;
    pthread_mutex_lock(&http->mutex);
    for (mk_http_session *s = http->sessions; s != NULL; s = s->next)
        if (s->users == 0 && s->used_us <= before && (oldest == NULL || s->used_us < oldest->used_us))
            oldest = s;
    if (oldest != NULL)
        oldest->users++;
    pthread_mutex_unlock(&http->mutex);
    return oldest;
}

static bool end_oldest(mk_http *http, int64_t before)
{
    mk_http_session *s = oldest_idle(http, before);
    if (s == NULL)
        return false;
    mk_http__session_end(s);
    mk_http__session_release(s);
    return true;
}

mk_code mk_http__session_open(mk_http *http, mk_str principal, bool user_only, mk_http_session **out,
                              mk_err *err)
{
    mk_http_session *s;
    mk_code rc;
    *out = NULL;
    pthread_mutex_lock(&http->mutex);
    const bool full = http->session_count >= MK_SESSIONS_MAX;
    pthread_mutex_unlock(&http->mutex);
    if (full && !end_oldest(http, INT64_MAX)) {
        mk_fail(err, MK_E_LIMIT, "there are %u sessions, and all are busy", MK_SESSIONS_MAX);
        mk_err_retry(err, MK_RETRY_AS_IS);
        return MK_E_LIMIT;
    }
    s = mk_new0(http->alloc, sizeof *s);
    if (s == NULL)
        return mk_fail_nomem(err);
    s->http = http;
    s->general.send = send_general;
    s->users = 1;
    pthread_mutex_init(&s->mutex, NULL);
    mk_buf_init(&s->pending, http->alloc);
    snprintf(s->id, sizeof s->id, "%016llx%016llx", (unsigned long long)mk_entropy64(),
             (unsigned long long)mk_entropy64());
    rc = mk_mcp_session_open(http->options.mcp, &s->general, false, principal, &s->mcp, err);
    if (rc != MK_OK) {
        s->mcp = NULL;
        free_session(s);
        return rc;
    }
    if (user_only)
        mk_mcp_session_set_user_only(s->mcp);
    pthread_mutex_lock(&http->mutex);
    s->next = http->sessions;
    http->sessions = s;
    http->session_count++;
    pthread_mutex_unlock(&http->mutex);
    atomic_fetch_add(&http->metrics.sessions, 1);
    *out = s;
    return MK_OK;
}

mk_http_session *mk_http__session_find(mk_http *http, const char *id, mk_str principal, bool user_only)
{
    mk_http_session *found = NULL;
    pthread_mutex_lock(&http->mutex);
    for (mk_http_session *s = http->sessions; s != NULL && found == NULL; s = s->next)
        if (strcmp(s->id, id) == 0 && mk_str_eq(mk_mcp_session_principal(s->mcp), principal) &&
            mk_mcp_session_is_user_only(s->mcp) == user_only)
            found = s;
    if (found != NULL)
        found->users++;
    pthread_mutex_unlock(&http->mutex);
    return found;
}

/* ---- time ---- */

static void drop_old_channels(mk_http_session *s, int64_t now)
{
    mk_channel *old = NULL;
    pthread_mutex_lock(&s->mutex);
    for (mk_channel **at = &s->channels; *at != NULL;) {
        mk_channel *c = *at;
        pthread_mutex_lock(&c->mutex);
        const bool over = c->ended && now - c->ended_us > MK_CHANNEL_US;
        pthread_mutex_unlock(&c->mutex);
        if (!over) {
            at = &c->next;
            continue;
        }
        *at = c->next;
        c->next = old;
        old = c;
    }
    pthread_mutex_unlock(&s->mutex);
    while (old != NULL) {
        mk_channel *next = old->next;
        mk_channel_release(old);
        old = next;
    }
}

void mk_http__sessions_tick(mk_http *http, int64_t now)
{
    const bool end = now == INT64_MAX;
    mk_http_session *held[64];
    size_t count = 0;
    while (!end && end_oldest(http, now - http->options.session_us)) {
    }
    pthread_mutex_lock(&http->mutex);
    for (mk_http_session *s = http->sessions; s != NULL && count < sizeof held / sizeof *held; s = s->next)
        if (end ? s->users != 0 : s->channels != NULL) {
            s->users++;
            held[count++] = s;
        }
    pthread_mutex_unlock(&http->mutex);
    for (size_t i = 0; i < count; i++) {
        if (end)
            mk_mcp_session_cancel(held[i]->mcp);
        else
            drop_old_channels(held[i], now);
        let_go(held[i], false);
    }
}

void mk_http__sessions_close(mk_http *http)
{
    for (mk_http_session *s = http->sessions, *next; s != NULL; s = next) {
        next = s->next;
        free_session(s);
    }
    http->sessions = NULL;
}

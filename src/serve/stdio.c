/* stdio.c — the transport over standard input and output. See stdio.h. Layer: serve. */
#include "serve/stdio.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#define WORKERS 8u
#define WAITING_MAX 256u
#define LISTENING_MAX 16u
#define READ_SIZE ((size_t)64 << 10)
#define TICK_MS 100
#define DRAIN_MS 1500
#define STUCK_MS 700
#define WRITE_POLL_MS 20

/* A message that waits for a worker, with the memory it was read into. */
typedef struct job {
    struct job *next;
    mk_arena arena;
    mk_mcp_message message;
} job;

typedef struct transport transport;

/* A subscription, with a thread of its own: it ends only when the client or the input does. */
typedef struct listening {
    transport *owner;
    job *job; /* NULL: free */
    pthread_t thread;
    _Atomic bool over; /* the thread can be joined */
} listening;

struct transport {
    mk_stream stream; /* first: a stream is a transport */
    const mk_stdio_options *options;
    const mk_alloc *alloc;
    mk_mcp *server;
    mk_mcp_session *session;
    pthread_mutex_t out_mutex;
    _Atomic bool broken; /* nobody reads us any more */

    pthread_mutex_t mutex; /* of everything below */
    pthread_cond_t queued; /* a job is there, or the end */
    pthread_cond_t done;   /* a job is finished: for the end, which waits for all */
    job *first, *last;
    size_t waiting, running;
    bool ended;
    pthread_t threads[WORKERS];
    size_t thread_count;

    mk_buf input;
    bool skipping; /* inside a line that is too long */
    listening listening[LISTENING_MAX]; /* of the reading thread */
};

/* ---- writing ---- */

/* Waits until the output takes something. A client that does not read holds us up for as long as it likes,
 * but not beyond the end: once we are told to stop, or the input is closed, it has STUCK_MS more. */
static bool wait_writable(const transport *t)
{
    const mk_stdio_options *o = t->options;
    for (int waited = 0; waited < STUCK_MS && !atomic_load(&t->broken);) {
        struct pollfd fds[] = {
            {.fd = o->out, .events = POLLOUT}, {.fd = o->in}, {.fd = o->stop, .events = POLLIN}};
        if (poll(fds, o->stop >= 0 ? 3 : 2, WRITE_POLL_MS) < 0)
            continue;
        if (fds[0].revents != 0)
            return true;
        if ((fds[1].revents & POLLHUP) != 0 || fds[2].revents != 0) {
            nanosleep(&(struct timespec){.tv_nsec = WRITE_POLL_MS * 1000000L}, NULL);
            waited += WRITE_POLL_MS;
        }
    }
    return false;
}

/* In pieces that a pipe takes at once when it takes anything, so that no write blocks. */
static bool write_all(const transport *t, const char *p, size_t n)
{
    while (n > 0) {
        if (!wait_writable(t))
            return false;
        const ssize_t wrote = write(t->options->out, p, n < PIPE_BUF ? n : PIPE_BUF);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return false;
        p += wrote;
        n -= (size_t)wrote;
    }
    return true;
}

/* JSON as we write it has no raw line break, so a message is a line. */
static void send_line(transport *t, mk_str text)
{
    if (text.n == 0 || atomic_load(&t->broken))
        return;
    /* The line's end goes with the last piece, which is all of a short message. */
    char piece[PIPE_BUF];
    const size_t tail = text.n % (PIPE_BUF - 1);
    memcpy(piece, text.p + text.n - tail, tail);
    piece[tail] = '\n';
    pthread_mutex_lock(&t->out_mutex);
    if (!write_all(t, text.p, text.n - tail) || !write_all(t, piece, tail + 1))
        atomic_store(&t->broken, true);
    pthread_mutex_unlock(&t->out_mutex);
}

static void stream_send(mk_stream *self, mk_str message) { send_line((transport *)self, message); }

/* ---- calls ---- */

static void answer(transport *t, const mk_mcp_message *message, mk_arena *arena)
{
    mk_buf out;
    mk_err err;
    int status;
    mk_buf_init(&out, t->alloc);
    if (mk_mcp_handle(t->server, t->session, message, &t->stream, arena, &out, &status, &err) != MK_OK) {
        mk_buf_clear(&out);
        mk_mcp_error(&out, message->id, -32603, "out of memory", NULL);
    }
    mk_buf_c(&out, '\n');
    if (out.n > 1 && !out.failed)
        send_line(t, (mk_str){out.p, out.n - 1});
    mk_buf_free(&out);
}

static void free_job(transport *t, job *j)
{
    mk_arena_free(&j->arena);
    mk_free(t->alloc, j, sizeof *j);
}

static void *work(void *arg)
{
    transport *t = arg;
    pthread_mutex_lock(&t->mutex);
    for (;;) {
        while (t->first == NULL && !t->ended)
            pthread_cond_wait(&t->queued, &t->mutex);
        if (t->first == NULL)
            break;
        job *j = t->first;
        t->first = j->next;
        if (t->first == NULL)
            t->last = NULL;
        t->waiting--;
        t->running++;
        pthread_mutex_unlock(&t->mutex);
        answer(t, &j->message, &j->arena);
        free_job(t, j);
        pthread_mutex_lock(&t->mutex);
        t->running--;
        pthread_cond_signal(&t->done);
    }
    pthread_mutex_unlock(&t->mutex);
    return NULL;
}

/* A tool call that finds the queue full is a tool error, which a model understands; the rest are errors. */
static void refuse(transport *t, const mk_mcp_message *message)
{
    static const char busy[] =
        "{\\\"error\\\":\\\"E_LIMIT\\\",\\\"message\\\":\\\"too many calls are waiting\\\","
        "\\\"details\\\":{\\\"limit\\\":\\\"queue\\\",\\\"retry\\\":\\\"as_is\\\"}}";
    mk_buf out;
    mk_buf_init(&out, t->alloc);
    if (mk_str_eq(message->method, MK_STR("tools/call")) && !message->claims)
        mk_buf_printf(
            &out,
            "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"%s\"}],"
            "\"isError\":true}}",
            MK_STR_ARG(message->id), busy);
    else
        mk_mcp_error(&out, message->id, -32603, "too many calls are waiting",
                     "{\"error\":\"E_LIMIT\",\"retry\":\"as_is\"}");
    if (!out.failed)
        send_line(t, mk_buf_view(&out));
    mk_buf_free(&out);
}

static bool enqueue(transport *t, job *j)
{
    pthread_mutex_lock(&t->mutex);
    const bool room = t->waiting < WAITING_MAX;
    if (room) {
        *(t->last != NULL ? &t->last->next : &t->first) = j;
        t->last = j;
        t->waiting++;
        pthread_cond_signal(&t->queued);
    }
    pthread_mutex_unlock(&t->mutex);
    return room;
}

/* ---- subscriptions ---- */

static void *listen_on(void *arg)
{
    listening *l = arg;
    answer(l->owner, &l->job->message, &l->job->arena);
    atomic_store(&l->over, true);
    return NULL;
}

static void end_listening(transport *t, listening *l)
{
    if (l->job == NULL)
        return;
    pthread_join(l->thread, NULL);
    free_job(t, l->job);
    l->job = NULL;
}

/* False: there is no room. Whether one subscription more is too many is the protocol's to say. */
static bool start_listening(transport *t, job *j)
{
    for (size_t i = 0; i < LISTENING_MAX; i++) {
        listening *l = &t->listening[i];
        if (l->job != NULL && atomic_load(&l->over))
            end_listening(t, l);
        if (l->job != NULL)
            continue;
        l->owner = t;
        l->job = j;
        atomic_store(&l->over, false);
        if (pthread_create(&l->thread, NULL, listen_on, l) == 0)
            return true;
        l->job = NULL;
        return false;
    }
    return false;
}

/* ---- reading ---- */

static mk_code take_message(transport *t, mk_str line, mk_err *err)
{
    job *j = mk_new0(t->alloc, sizeof *j);
    if (j == NULL)
        return mk_fail_nomem(err);
    mk_arena_init(&j->arena, t->alloc);
    mk_mcp_read(line, &j->arena, &j->message);
    if (!mk_mcp_begin(t->session, &j->message)) {
        j->message.kind = MK_MESSAGE_BAD;
        j->message.error = -32600;
        j->message.why = "a request of this id runs already";
    }
    if (mk_mcp_is_slow(&j->message)) {
        if (mk_mcp_is_listening(&j->message) ? start_listening(t, j) : enqueue(t, j))
            return MK_OK;
        mk_mcp_forget(t->session, &j->message);
        refuse(t, &j->message);
    } else {
        answer(t, &j->message, &j->arena);
    }
    free_job(t, j);
    return MK_OK;
}

static bool is_blank(mk_str line)
{
    for (size_t i = 0; i < line.n; i++)
        if (line.p[i] != ' ' && line.p[i] != '\t')
            return false;
    return true;
}

static mk_code take_line(transport *t, mk_str line, mk_err *err)
{
    if (line.n > 0 && line.p[line.n - 1] == '\r')
        line.n--;
    if (line.n >= 3 && memcmp(line.p, "\xEF\xBB\xBF", 3) == 0)
        line = (mk_str){line.p + 3, line.n - 3};
    return is_blank(line) ? MK_OK : take_message(t, line, err);
}

static void too_long(transport *t)
{
    mk_buf out;
    mk_buf_init(&out, t->alloc);
    mk_mcp_error(&out, (mk_str){NULL, 0}, -32600, "a message may have 10 MiB", NULL);
    if (!out.failed)
        send_line(t, mk_buf_view(&out));
    mk_buf_free(&out);
}

/* Whole lines in what was read so far; the rest stays for the next time. */
static mk_code take_lines(transport *t, mk_err *err)
{
    size_t from = 0;
    mk_code rc = MK_OK;
    for (const char *end; rc == MK_OK && from < t->input.n &&
                          (end = memchr(t->input.p + from, '\n', t->input.n - from)) != NULL;) {
        const mk_str line = {t->input.p + from, (size_t)(end - t->input.p) - from};
        from += line.n + 1;
        if (t->skipping)
            t->skipping = false;
        else if (line.n > MK_STDIO_LINE_MAX)
            too_long(t);
        else
            rc = take_line(t, line, err);
    }
    memmove(t->input.p, t->input.p + from, t->input.n - from);
    t->input.n -= from;
    if (t->input.n > MK_STDIO_LINE_MAX || t->skipping) {
        if (!t->skipping)
            too_long(t);
        t->skipping = true;
        t->input.n = 0;
    }
    return rc;
}

/* *more becomes false at the end of input. */
static mk_code read_some(transport *t, bool *more, mk_err *err)
{
    char *to = mk_buf_room(&t->input, READ_SIZE);
    if (to == NULL)
        return mk_fail_nomem(err);
    const ssize_t got = read(t->options->in, to, READ_SIZE);
    if (got < 0)
        *more = errno == EINTR || errno == EAGAIN;
    else
        *more = got > 0;
    if (got > 0)
        t->input.n += (size_t)got;
    if (got > 0)
        return take_lines(t, err);
    return MK_OK;
}

static mk_code serve(transport *t, bool *stopped, mk_err *err)
{
    bool more = true;
    mk_code rc = MK_OK;
    while (rc == MK_OK && more && !atomic_load(&t->broken)) {
        struct pollfd fds[] = {{.fd = t->options->in, .events = POLLIN},
                               {.fd = t->options->stop, .events = POLLIN}};
        const int n = poll(fds, t->options->stop >= 0 ? 2 : 1, TICK_MS);
        if (n > 0 && t->options->stop >= 0 && fds[1].revents != 0) {
            *stopped = true;
            return MK_OK;
        }
        if (n > 0 && fds[0].revents != 0)
            rc = read_some(t, &more, err);
        mk_mcp_beat(t->server);
        if (t->options->tick != NULL)
            t->options->tick(t->options->tick_ctx);
    }
    /* The last line may lack its end. */
    if (rc == MK_OK && !more && !t->skipping && t->input.n > 0)
        rc = take_line(t, mk_buf_view(&t->input), err);
    return rc;
}

/* ---- the end ---- */

static void drain(transport *t)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += DRAIN_MS / 1000;
    until.tv_nsec += DRAIN_MS % 1000 * 1000000L;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    pthread_mutex_lock(&t->mutex);
    while ((t->first != NULL || t->running > 0) && !atomic_load(&t->broken))
        if (pthread_cond_timedwait(&t->done, &t->mutex, &until) != 0)
            break;
    pthread_mutex_unlock(&t->mutex);
}

static void stop_workers(transport *t)
{
    pthread_mutex_lock(&t->mutex);
    t->ended = true;
    while (t->first != NULL) {
        job *next = t->first->next;
        free_job(t, t->first);
        t->first = next;
    }
    t->last = NULL;
    pthread_cond_broadcast(&t->queued);
    pthread_mutex_unlock(&t->mutex);
    for (size_t i = 0; i < t->thread_count; i++)
        pthread_join(t->threads[i], NULL);
}

static mk_code start_workers(transport *t, mk_err *err)
{
    for (; t->thread_count < WORKERS; t->thread_count++)
        if (pthread_create(&t->threads[t->thread_count], NULL, work, t) != 0) {
            mk_fail(err, MK_E_STATE, "no thread could be started");
            return MK_E_STATE;
        }
    return MK_OK;
}

mk_code mk_mcp_stdio(mk_mcp *server, const mk_alloc *alloc, const mk_stdio_options *options, mk_err *err)
{
    transport t = {.stream = {.send = stream_send}, .options = options, .alloc = alloc, .server = server};
    bool stopped = false;
    mk_code rc;
    pthread_mutex_init(&t.out_mutex, NULL);
    pthread_mutex_init(&t.mutex, NULL);
    pthread_cond_init(&t.queued, NULL);
    pthread_cond_init(&t.done, NULL);
    mk_buf_init(&t.input, alloc);
    MK_TRY(rc, mk_mcp_session_open(server, &t.stream, true, options->principal, &t.session, err));
    MK_TRY(rc, start_workers(&t, err));
    rc = serve(&t, &stopped, err);
    mk_mcp_stop_listening(server);
    for (size_t i = 0; i < LISTENING_MAX; i++)
        end_listening(&t, &t.listening[i]);
    if (!stopped && rc == MK_OK)
        drain(&t);
out:
    if (t.session != NULL)
        mk_mcp_session_cancel(t.session);
    stop_workers(&t);
    for (size_t i = 0; i < LISTENING_MAX; i++)
        end_listening(&t, &t.listening[i]);
    mk_mcp_session_close(t.session);
    mk_buf_free(&t.input);
    pthread_cond_destroy(&t.queued);
    pthread_cond_destroy(&t.done);
    pthread_mutex_destroy(&t.mutex);
    pthread_mutex_destroy(&t.out_mutex);
    return rc;
}

/* http.c — the model client over HTTP. Layer: model.
 *
 * A call is a row of requests: the next one follows when the last failed in a way that may pass (no
 * connection, 408, 429, 5xx, a stream that broke off), or when the server did not understand how the
 * reply was to be guided. Time, bytes and tries are bounded over the whole row. Every request has a
 * handle of its own, so that threads share nothing but the counters. Redirects are not followed: they
 * would carry the key and the prompt to where nobody sent them.
 * Source: agent spec, 10.2; RFC 9110, 15 for what a status means. */
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "model/curl_api.h"
#include "model/reply.h"
#include "model/request.h"

#define RETRY_AFTER_MAX_US INT64_C(30000000)
#define REFUSAL_MAX 2048              /* bytes kept of what a server says beside a status */
#define SCRATCH_MAX ((size_t)64 << 20) /* for reading one event */
#define PROMPT_SLACK 256              /* tokens that a server's own template may add to each message */

typedef struct http_model {
    mk_model base;
    const mk_alloc *alloc;
    mk_curl_api curl;
    mk_model_options options; /* with defaults filled in */
    char url[MK_MODEL_TEXT_MAX + 32];
    pthread_mutex_t mutex; /* guards what follows */
    mk_guide taken;        /* what the server understood; AUTO: nothing was asked yet */
    mk_model_totals totals;
} http_model;

/* One request on its way. */
typedef struct exchange {
    http_model *model;
    CURL *curl;
    mk_reply_reader reader;
    mk_buf refusal;
    int64_t until_us; /* monotonic; the call ends then */
    mk_code rc;       /* what reading the response gave */
    mk_err *err;
} exchange;

/* What to do after a request. */
typedef enum outcome { DONE, FAILED, AGAIN, OTHER_GUIDE } outcome;

static int64_t monotonic_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static bool is_cancelled(const http_model *model)
{
    return model->options.cancelled != NULL && atomic_load(model->options.cancelled);
}

/* ---- callbacks ---- */

static size_t on_bytes(char *p, size_t size, size_t count, void *ctx)
{
    exchange *e = ctx;
    long status = 0;
    const size_t n = size * count;
    e->model->curl.easy_getinfo(e->curl, CURLINFO_RESPONSE_CODE, &status);
    if (status != 200) {
        const size_t room = REFUSAL_MAX - e->refusal.n;
        mk_buf_put(&e->refusal, p, n < room ? n : room);
        return e->refusal.n < REFUSAL_MAX ? n : 0;
    }
    e->rc = mk_reply_feed(&e->reader, p, n, e->err);
    return e->rc == MK_OK && !e->reader.ended ? n : 0;
}

static int on_progress(void *ctx, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    const exchange *e = ctx;
    (void)a, (void)b, (void)c, (void)d;
    return is_cancelled(e->model) || monotonic_us() >= e->until_us;
}

/* ---- what became of a request ---- */

static mk_code fail_status(exchange *e, long status)
{
    char extra[40];
    mk_str said = mk_buf_view(&e->refusal);
    said.n = said.n > 200 ? 200 : said.n;
    mk_model__fail(e->err, "refused", "status %ld: %.*s", status, (int)said.n, said.n ? said.p : "");
    mk_err_extra(e->err, extra, (size_t)snprintf(extra, sizeof extra, "\"status\":%ld", status));
    if (status == 401 || status == 403)
        mk_err_hint(e->err, "look at MERKHET_LLM_KEY");
    else if (status == 404)
        mk_err_hint(e->err, "look at MERKHET_LLM_URL and MERKHET_LLM_MODEL");
    return MK_E_MODEL;
}

static outcome judge_status(exchange *e, long status, mk_guide guide)
{
    e->rc = fail_status(e, status);
    if ((status == 400 || status == 422 || status == 501) && guide != MK_GUIDE_NONE)
        return OTHER_GUIDE;
    return status == 408 || status == 429 || (status >= 500 && status != 501) ? AGAIN : FAILED;
}

static outcome judge_transport(exchange *e, CURLcode code)
{
    if (is_cancelled(e->model)) {
        e->rc = mk_fail(e->err, MK_E_CANCELLED, "the question was cancelled");
        return FAILED;
    }
    switch (code) {
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_ABORTED_BY_CALLBACK:
        e->rc = mk_model__fail(e->err, "timeout", "no whole reply came in time");
        mk_err_hint(e->err, "raise MERKHET_LLM_TIMEOUT, or ask a faster model");
        return AGAIN;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
        e->rc = mk_model__fail(e->err, "unreachable", "%s", e->model->curl.easy_strerror(code));
        mk_err_hint(e->err, "is the server of MERKHET_LLM_URL running?");
        return AGAIN;
    case CURLE_OUT_OF_MEMORY:
        e->rc = mk_fail_nomem(e->err);
        return FAILED;
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
        e->rc = mk_model__fail(e->err, "cut_off", "%s", e->model->curl.easy_strerror(code));
        return AGAIN;
    default:
        e->rc = mk_model__fail(e->err, "unreachable", "%s", e->model->curl.easy_strerror(code));
        return FAILED;
    }
}

static outcome judge(exchange *e, CURLcode code, mk_guide guide)
{
    long status = 0;
    e->model->curl.easy_getinfo(e->curl, CURLINFO_RESPONSE_CODE, &status);
    if (e->rc != MK_OK)
        return FAILED; /* the reader refused what came */
    if (e->refusal.failed) {
        e->rc = mk_fail_nomem(e->err);
        return FAILED;
    }
    if (status != 0 && status != 200 && (code == CURLE_OK || code == CURLE_WRITE_ERROR))
        return judge_status(e, status, guide);
    /* A reply that has its end is whole, however the connection went down afterwards. */
    if (code != CURLE_OK && !e->reader.done)
        return judge_transport(e, code);
    e->rc = mk_reply_end(&e->reader, e->err);
    if (e->rc == MK_OK)
        return DONE;
    return strcmp(e->err->reason, "cut_off") == 0 ? AGAIN : FAILED;
}

/* ---- one request ---- */

static long milliseconds(int64_t us)
{
    return us < 1000 ? 1 : us / 1000 > INT32_MAX ? INT32_MAX : (long)(us / 1000);
}

static void set_up(exchange *e, const mk_buf *body, struct curl_slist *headers)
{
    const mk_model_options *o = &e->model->options;
    CURL *c = e->curl;
    CURLcode (*const set)(CURL *, CURLoption, ...) = e->model->curl.easy_setopt;
    set(c, CURLOPT_URL, e->model->url);
    set(c, CURLOPT_PROTOCOLS_STR, "http,https");
    set(c, CURLOPT_FOLLOWLOCATION, 0L);
    set(c, CURLOPT_NOSIGNAL, 1L);
    set(c, CURLOPT_POST, 1L);
    set(c, CURLOPT_POSTFIELDS, body->p);
    set(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body->n);
    set(c, CURLOPT_HTTPHEADER, headers);
    set(c, CURLOPT_USERAGENT, "merkhet");
    set(c, CURLOPT_CONNECTTIMEOUT_MS, milliseconds(o->connect_us));
    set(c, CURLOPT_TIMEOUT_MS, milliseconds(e->until_us - monotonic_us()));
    set(c, CURLOPT_LOW_SPEED_LIMIT, 1L);
    set(c, CURLOPT_LOW_SPEED_TIME, (long)(o->idle_us < 1000000 ? 1 : o->idle_us / 1000000));
    set(c, CURLOPT_WRITEFUNCTION, on_bytes);
    set(c, CURLOPT_WRITEDATA, e);
    set(c, CURLOPT_XFERINFOFUNCTION, on_progress);
    set(c, CURLOPT_XFERINFODATA, e);
    set(c, CURLOPT_NOPROGRESS, 0L);
}

static mk_code make_headers(const http_model *model, struct curl_slist **out, mk_err *err)
{
    char authorization[MK_MODEL_TEXT_MAX + 32];
    const char *lines[] = {"Content-Type: application/json", "Accept: text/event-stream, application/json",
                           "Expect:", NULL};
    struct curl_slist *more;
    snprintf(authorization, sizeof authorization, "Authorization: Bearer %s", model->options.key);
    lines[3] = model->options.key[0] != '\0' ? authorization : NULL;
    *out = NULL;
    for (size_t i = 0; i < 4 && lines[i] != NULL; i++) {
        more = model->curl.slist_append(*out, lines[i]);
        if (more == NULL)
            return mk_fail_nomem(err);
        *out = more;
    }
    return MK_OK;
}

/* Sends once. What came is in e->reader, what failed in *e->err and e->rc. */
static outcome send_once(exchange *e, const mk_model_request *request, mk_guide guide)
{
    struct curl_slist *headers = NULL;
    mk_buf body;
    outcome result = FAILED;
    mk_buf_init(&body, e->model->alloc);
    e->curl = e->model->curl.easy_init();
    e->rc = e->curl != NULL ? mk_request_body(&e->model->options, request, guide, &body, e->err)
                            : mk_fail_nomem(e->err);
    if (e->rc == MK_OK)
        e->rc = make_headers(e->model, &headers, e->err);
    if (e->rc == MK_OK) {
        set_up(e, &body, headers);
        result = judge(e, e->model->curl.easy_perform(e->curl), guide);
    }
    e->model->curl.slist_free_all(headers);
    mk_buf_free(&body);
    return result;
}

/* ---- the row of requests ---- */

/* The next way to guide a reply that this request has something for. */
static mk_guide next_guide(const mk_model_request *request, mk_guide guide)
{
    for (guide++; guide < MK_GUIDE_NONE; guide++)
        if (guide == MK_GUIDE_GRAMMAR ? request->grammar.n != 0 : request->schema.n != 0)
            return guide;
    return MK_GUIDE_NONE;
}

static bool has_guide(const mk_model_request *request, mk_guide guide)
{
    return guide == MK_GUIDE_NONE || guide == MK_GUIDE_AUTO ||
           (guide == MK_GUIDE_GRAMMAR ? request->grammar.n != 0 : request->schema.n != 0);
}

static mk_guide first_guide(http_model *model, const mk_model_request *request)
{
    pthread_mutex_lock(&model->mutex);
    mk_guide guide = model->options.guide != MK_GUIDE_AUTO ? model->options.guide : model->taken;
    pthread_mutex_unlock(&model->mutex);
    if (!has_guide(request, guide))
        return MK_GUIDE_NONE;
    return guide != MK_GUIDE_AUTO ? guide : next_guide(request, MK_GUIDE_AUTO);
}

/* Sleeps in short pieces, so that a cancelled question ends soon. False when there is no time left for it. */
static bool wait_for_retry(const exchange *e, unsigned tries)
{
    const http_model *model = e->model;
    curl_off_t after_s = 0;
    int64_t wait_us = model->options.backoff_us << (tries - 1 < 10 ? tries - 1 : 10);
    if (model->curl.easy_getinfo(e->curl, CURLINFO_RETRY_AFTER, &after_s) == CURLE_OK && after_s > 0)
        wait_us = after_s < RETRY_AFTER_MAX_US / 1000000 ? (int64_t)after_s * 1000000 : RETRY_AFTER_MAX_US;
    const int64_t wake_us = monotonic_us() + wait_us;
    if (wake_us >= e->until_us)
        return false;
    while (!is_cancelled(model) && monotonic_us() < wake_us) {
        const int64_t left_us = wake_us - monotonic_us();
        const long piece_ns = (long)(left_us < 20000 ? (left_us > 0 ? left_us : 0) : 20000) * 1000;
        nanosleep(&(struct timespec){.tv_nsec = piece_ns}, NULL);
    }
    return true;
}

/* The tokens that a server reports, as far as they can be true: a token of the prompt has a byte at
 * least, and a reply has no more than were asked for. */
static void take_tokens(const mk_reply_reader *reader, const mk_model_request *request, mk_model_reply *out,
                        bool *doubtful)
{
    const uint32_t most = request->tokens_max != 0 ? request->tokens_max : MK_REQUEST_TOKENS;
    uint64_t prompt = 0;
    for (size_t i = 0; i < request->message_count; i++)
        prompt += request->messages[i].content.n + PROMPT_SLACK;
    out->prompt_tokens = reader->prompt_tokens;
    out->reply_tokens = reader->reply_tokens;
    *doubtful = reader->doubtful;
    if (out->prompt_tokens == 0 || (out->prompt_tokens > 0 && (uint64_t)out->prompt_tokens > prompt)) {
        out->prompt_tokens = -1;
        *doubtful = true;
    }
    if (out->reply_tokens == 0 || out->reply_tokens > (int64_t)most) {
        out->reply_tokens = -1;
        *doubtful = true;
    }
}

static mk_code take_reply(http_model *model, const exchange *e, const mk_model_request *request,
                          mk_guide guide, mk_arena *arena, mk_model_reply *out, mk_err *err)
{
    bool doubtful;
    out->text = mk_arena_copy(arena, mk_buf_view(&e->reader.text));
    out->cut = e->reader.cut;
    out->guide = guide;
    take_tokens(&e->reader, request, out, &doubtful);
    pthread_mutex_lock(&model->mutex);
    model->totals.doubtful += doubtful;
    model->totals.prompt_tokens += out->prompt_tokens > 0 ? (uint64_t)out->prompt_tokens : 0;
    model->totals.reply_tokens += out->reply_tokens > 0 ? (uint64_t)out->reply_tokens : 0;
    if (guide != MK_GUIDE_NONE || request->schema.n != 0)
        model->taken = guide;
    pthread_mutex_unlock(&model->mutex);
    return out->text.p != NULL ? MK_OK : mk_fail_nomem(err);
}

static mk_code ask_server(http_model *model, const mk_model_request *request, mk_arena *arena,
                          mk_model_reply *out, mk_err *err)
{
    const mk_model_options *o = &model->options;
    const int64_t start_us = monotonic_us();
    mk_guide guide = first_guide(model, request);
    mk_arena scratch;
    mk_err own; /* what to do next is read off the error, so there always is one */
    unsigned retries = 0;
    mk_code rc = MK_OK;
    err = err != NULL ? err : &own;
    mk_arena_init(&scratch, model->alloc);
    scratch.limit = SCRATCH_MAX;
    for (bool more = true; more;) {
        exchange e = {.model = model, .until_us = start_us + o->wait_us, .err = err};
        mk_reply_open(&e.reader, model->alloc, &scratch, o->body_max, o->text_max);
        mk_buf_init(&e.refusal, model->alloc);
        out->tries++;
        const outcome result = send_once(&e, request, guide);
        rc = e.rc;
        more = false;
        if (result == DONE) {
            rc = take_reply(model, &e, request, guide, arena, out, err);
        } else if (result == OTHER_GUIDE && o->guide == MK_GUIDE_AUTO) {
            guide = next_guide(request, guide);
            more = true;
        } else if (result == AGAIN && retries < o->retries) {
            more = wait_for_retry(&e, ++retries);
        }
        model->curl.easy_cleanup(e.curl);
        mk_buf_free(&e.refusal);
        mk_reply_close(&e.reader);
    }
    out->wait_us = monotonic_us() - start_us;
    mk_arena_free(&scratch);
    return rc;
}

/* ---- the client ---- */

static void count_call(http_model *model, const mk_model_reply *reply, mk_code rc)
{
    pthread_mutex_lock(&model->mutex);
    model->totals.calls++;
    model->totals.cached += rc == MK_OK && reply->cached;
    model->totals.requests += reply->tries;
    model->totals.failures += rc != MK_OK;
    pthread_mutex_unlock(&model->mutex);
}

static mk_code ask(mk_model *self, const mk_model_request *request, mk_arena *arena, mk_model_reply *out,
                   mk_err *err)
{
    http_model *model = (http_model *)self;
    char key[65];
    bool found;
    mk_code rc;
    *out = (mk_model_reply){.guide = MK_GUIDE_NONE, .prompt_tokens = -1, .reply_tokens = -1};
    MK_TRY(rc, mk_request_prompt_digest(model->alloc, request, out->prompt_digest, err));
    MK_TRY(rc, mk_request_key(model->alloc, &model->options, request, key, err));
    MK_TRY(rc, mk_cache_get(&model->options, model->alloc, key, arena, out, &found, err));
    if (!found) {
        MK_TRY(rc, ask_server(model, request, arena, out, err));
        /* A reply that cannot be kept is a reply all the same. */
        if (mk_cache_put(&model->options, model->alloc, key, out, NULL) == MK_E_NOMEM)
            rc = mk_fail_nomem(err);
    }
out:
    count_call(model, out, rc);
    return rc;
}

static void close_http(mk_model *self)
{
    http_model *model = (http_model *)self;
    const mk_alloc *alloc = model->alloc;
    pthread_mutex_destroy(&model->mutex);
    memset(model->options.key, 0, sizeof model->options.key);
    mk_curl_unload(&model->curl);
    mk_free(alloc, model, sizeof *model);
}

static void fill_defaults(mk_model_options *o)
{
    o->connect_us = o->connect_us > 0 ? o->connect_us : INT64_C(10000000);
    o->wait_us = o->wait_us > 0 ? o->wait_us : INT64_C(300000000);
    o->idle_us = o->idle_us > 0 ? o->idle_us : o->wait_us;
    o->backoff_us = o->backoff_us > 0 ? o->backoff_us : 250000;
    o->retries = o->no_retries ? 0 : o->retries != 0 ? o->retries : 4;
    o->body_max = o->body_max != 0 ? o->body_max : (size_t)8 << 20;
    o->text_max = o->text_max != 0 ? o->text_max : (size_t)1 << 20;
}

mk_code mk_model_http_open(const mk_alloc *alloc, const mk_model_options *options, mk_model **out,
                           mk_err *err)
{
    mk_code rc;
    *out = NULL;
    http_model *model = mk_new0(alloc, sizeof *model);
    if (model == NULL)
        return mk_fail_nomem(err);
    MK_TRY(rc, mk_curl_load(&model->curl, err));
    if (pthread_mutex_init(&model->mutex, NULL) != 0) {
        rc = mk_fail_nomem(err);
        goto out;
    }
    model->base = (mk_model){.ask = ask, .close = close_http};
    model->alloc = alloc;
    model->options = *options;
    fill_defaults(&model->options);
    mk_request_url(options, model->url);
    *out = &model->base;
out:
    if (rc != MK_OK) {
        mk_curl_unload(&model->curl);
        mk_free(alloc, model, sizeof *model);
    }
    return rc;
}

void mk_model_http_totals(mk_model *self, mk_model_totals *out)
{
    http_model *model = (http_model *)self;
    MK_ASSERT(self->ask == ask);
    pthread_mutex_lock(&model->mutex);
    *out = model->totals;
    pthread_mutex_unlock(&model->mutex);
}

mk_code mk_model_ask(mk_model *model, const mk_model_request *request, mk_arena *arena,
                     mk_model_reply *out, mk_err *err)
{
    return model->ask(model, request, arena, out, err);
}

void mk_model_close(mk_model *model)
{
    if (model != NULL && model->close != NULL)
        model->close(model);
}

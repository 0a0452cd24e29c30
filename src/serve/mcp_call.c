/* mcp_call.c — what a call says and asks while it runs. See mcp.h. Layer: serve.
 *
 * In a session a question is a request of ours, and the call waits for the response. In the modern era
 * nothing waits: the call ends with `input_required`, and comes again with the answers. What was answered
 * before travels in `requestState`, which is signed, bound to the caller and to what was asked, and expires,
 * so that no state is kept here for a client that may never come back. Source: serving spec, 4, 5. */
#include "serve/mcp_internal.h"

#include <stdio.h>
#include <time.h>

#include "base/sha256.h"

#define STATE_TTL_US INT64_C(600000000)
#define STATE_MAX ((size_t)64 << 10)

static const char *const levels[] = {"debug",    "info",  "notice",   "warning",
                                     "error", "critical", "alert", "emergency"};

int mk_mcp__level(mk_str word)
{
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        if (mk_str_eq(word, mk_str_of(levels[i])))
            return (int)i;
    return -1;
}

void mk_mcp__capabilities(const mk_json *object, bool *sample, bool *elicit, bool *roots)
{
    *sample = mk_json_get(object, "sampling") != NULL;
    *elicit = mk_json_get(object, "elicitation") != NULL;
    *roots = mk_json_get(object, "roots") != NULL;
}

/* ---- small things ---- */

mk_arena *mk_mcp_arena(mk_mcp_call *call) { return call->arena; }

mk_mcp *mk_mcp_server(const mk_mcp_call *call) { return call->server; }

mk_str mk_mcp_principal(const mk_mcp_call *call)
{
    return call->session != NULL ? mk_str_of(call->session->principal) : MK_STR("public");
}

bool mk_mcp_is_user_only(const mk_mcp_call *call)
{
    return call->session == NULL || call->session->user_only;
}

mk_str mk_mcp_request_id(const mk_mcp_call *call) { return call->message->id; }

const atomic_bool *mk_mcp_cancelled(const mk_mcp_call *call)
{
    return call->flight != NULL ? &call->flight->cancelled : &call->server->ended;
}

int64_t mk_mcp_deadline(const mk_mcp_call *call) { return call->deadline_us; }

bool mk_mcp_is_structured(const mk_mcp_call *call) { return call->revision >= MK_REV_2025_06_18; }

static void send_text(mk_stream *stream, mk_buf *text)
{
    if (!text->failed && stream != NULL)
        stream->send(stream, mk_buf_view(text));
}

static int64_t now_us(const mk_mcp_call *call)
{
    const mk_clock *clock = call->server->options.clock;
    return clock->now_us(clock->ctx);
}

/* Under the call's `said`. */
static void send_progress(mk_mcp_call *call, double progress, double total, const char *message)
{
    mk_buf text;
    call->progress_last = progress;
    call->said_us = now_us(call);
    mk_buf_init(&text, call->server->alloc);
    mk_buf_z(&text,
             "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":");
    mk_buf_str(&text, call->progress_token);
    mk_buf_printf(&text, ",\"progress\":%.15g", progress);
    if (total > 0)
        mk_buf_printf(&text, ",\"total\":%.15g", total);
    if (message != NULL && call->revision >= MK_REV_2025_03_26) {
        mk_buf_z(&text, ",\"message\":");
        mk_canon_string(&text, mk_str_of(message));
    }
    mk_buf_z(&text, "}}");
    send_text(call->stream, &text);
    mk_buf_free(&text);
}

void mk_mcp_progress(mk_mcp_call *call, double progress, double total, const char *message)
{
    if (call->progress_token.n == 0 || atomic_load(mk_mcp_cancelled(call)))
        return;
    pthread_mutex_lock(&call->said);
    if (progress > call->progress_last)
        send_progress(call, progress, total, message);
    pthread_mutex_unlock(&call->said);
}

/* A call that reports nothing itself counts seconds; one that does stays where it is, and a little beyond,
 * since progress has to grow. */
void mk_mcp__beat(mk_mcp_call *call)
{
    if (call->progress_token.n == 0 || atomic_load(mk_mcp_cancelled(call)))
        return;
    pthread_mutex_lock(&call->said);
    const int64_t now = now_us(call);
    if (now - call->said_us >= call->server->options.beat_us)
        send_progress(call,
                      call->progress_last >= 0 ? call->progress_last + 1e-3
                                               : (double)(now - call->begun_us) / 1e6,
                      0, "still running");
    pthread_mutex_unlock(&call->said);
}

double mk_mcp_progressed(mk_mcp_call *call)
{
    pthread_mutex_lock(&call->said);
    const double last = call->progress_last > 0 ? call->progress_last : 0;
    pthread_mutex_unlock(&call->said);
    return last;
}

void mk_mcp_log(mk_mcp_call *call, const char *level, const char *logger, const char *data)
{
    mk_buf text;
    if (mk_mcp__level(mk_str_of(level)) < call->level || atomic_load(mk_mcp_cancelled(call)))
        return;
    mk_buf_init(&text, call->server->alloc);
    mk_buf_printf(&text,
                  "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"%s\","
                  "\"logger\":\"%s\",\"data\":%s}}",
                  level, logger, data);
    send_text(call->stream, &text);
    mk_buf_free(&text);
}

/* ---- asking in a session ---- */

static const char *method_of(mk_mcp_question what)
{
    return what == MK_ASK_SAMPLING ? "sampling/createMessage"
           : what == MK_ASK_ELICITATION ? "elicitation/create" : "roots/list";
}

bool mk_mcp_can_ask(const mk_mcp_call *call, mk_mcp_question what)
{
    if (!call->modern && call->session != NULL && (call->stream == NULL || call->stream->mute))
        return false;
    return what == MK_ASK_SAMPLING ? call->can_sample
           : what == MK_ASK_ELICITATION ? call->can_elicit : call->can_roots;
}

void mk_mcp__response(mk_mcp_session *session, const mk_mcp_message *message)
{
    int64_t number;
    mk_arena arena;
    const mk_json *result = mk_json_get(message->tree, "result");
    if (message->id.n < 2 || !mk_str_to_i64((mk_str){message->id.p + 1, message->id.n - 2}, &number) ||
        message->id.p[0] != '"')
        return; /* our ids are quoted numbers */
    mk_arena_init(&arena, session->server->alloc);
    pthread_mutex_lock(&session->mutex);
    for (mk_question *q = session->questions; q != NULL; q = q->next) {
        if (q->number != (uint64_t)number || q->answered)
            continue;
        q->answered = true;
        q->failed = result == NULL || mk_canon_tree(&q->answer, &arena, result, NULL) != MK_OK;
        pthread_cond_broadcast(&session->changed);
    }
    pthread_mutex_unlock(&session->mutex);
    mk_arena_free(&arena);
}

static mk_code cannot(mk_mcp_question what, mk_err *err)
{
    mk_fail(err, MK_E_STATE, "the client does not answer %s", method_of(what));
    mk_err_reason(err, "client_cannot");
    return MK_E_STATE;
}

static mk_code refused(mk_mcp_question what, mk_err *err)
{
    mk_fail(err, MK_E_STATE, "the client refused %s", method_of(what));
    mk_err_reason(err, "refused");
    return MK_E_STATE;
}

static void send_question(mk_mcp_call *call, const mk_question *q, mk_mcp_question what, mk_str params)
{
    mk_buf text;
    mk_buf_init(&text, call->server->alloc);
    mk_buf_printf(&text, "{\"jsonrpc\":\"2.0\",\"id\":\"%llu\",\"method\":\"%s\",\"params\":",
                  (unsigned long long)q->number, method_of(what));
    mk_buf_str(&text, params);
    mk_buf_c(&text, '}');
    send_text(call->stream, &text);
    mk_buf_free(&text);
}

/* Waits under the session's mutex. */
static mk_code wait_for(mk_mcp_call *call, const mk_question *q, mk_mcp_question what, mk_err *err)
{
    mk_mcp_session *session = call->session;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)(call->server->options.reply_us / 1000000);
    until.tv_nsec += (long)(call->server->options.reply_us % 1000000) * 1000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    while (!q->answered && !session->ended && !atomic_load(mk_mcp_cancelled(call))) {
        if (pthread_cond_timedwait(&session->changed, &session->mutex, &until) != 0 && !q->answered) {
            mk_fail(err, MK_E_LIMIT, "the client did not answer %s in time", method_of(what));
            mk_err_extra(err, "\"limit\":\"reply\"", 15);
            return MK_E_LIMIT;
        }
    }
    if (!q->answered)
        return mk_fail(err, MK_E_CANCELLED, "cancelled");
    return q->failed ? refused(what, err) : MK_OK;
}

static mk_code ask_in_session(mk_mcp_call *call, mk_mcp_question what, mk_str params, const mk_json **result,
                              mk_err *err)
{
    mk_mcp_session *session = call->session;
    mk_question q = {.number = atomic_fetch_add(&call->server->next_question, 1)};
    mk_json *tree = NULL;
    mk_code rc;
    mk_buf_init(&q.answer, call->server->alloc);
    pthread_mutex_lock(&session->mutex);
    q.next = session->questions;
    session->questions = &q;
    pthread_mutex_unlock(&session->mutex);
    send_question(call, &q, what, params);
    pthread_mutex_lock(&session->mutex);
    rc = wait_for(call, &q, what, err);
    for (mk_question **at = &session->questions; *at != NULL; at = &(*at)->next)
        if (*at == &q) {
            *at = q.next;
            break;
        }
    pthread_mutex_unlock(&session->mutex);
    if (rc == MK_OK)
        rc = mk_json_parse(call->arena, mk_buf_view(&q.answer), NULL, &tree, err);
    if (rc == MK_OK && tree->kind != MK_JSON_OBJECT)
        rc = refused(what, err);
    *result = tree;
    mk_buf_free(&q.answer);
    return rc;
}

/* ---- several rounds ---- */

static void hmac(const uint8_t key[32], mk_str text, char hex[65])
{
    uint8_t pad[64], inner[32], outer[32];
    mk_sha256 sha;
    for (int i = 0; i < 64; i++)
        pad[i] = (uint8_t)((i < 32 ? key[i] : 0) ^ 0x36);
    mk_sha256_init(&sha);
    mk_sha256_add(&sha, pad, sizeof pad);
    mk_sha256_add(&sha, text.p, text.n);
    mk_sha256_end(&sha, inner);
    for (int i = 0; i < 64; i++)
        pad[i] ^= 0x36 ^ 0x5c;
    mk_sha256_init(&sha);
    mk_sha256_add(&sha, pad, sizeof pad);
    mk_sha256_add(&sha, inner, sizeof inner);
    mk_sha256_end(&sha, outer);
    mk_hex(hex, outer, sizeof outer);
    hex[64] = '\0';
}

/* What a state is bound to: caller, method, name and arguments. */
static mk_code binding(mk_mcp_call *call, char hex[65], mk_err *err)
{
    static const char *const parts[] = {"name", "uri", "arguments"};
    mk_buf text;
    uint8_t sha[32];
    mk_sha256 hash;
    mk_code rc = MK_OK;
    mk_buf_init(&text, call->arena->alloc);
    mk_canon_string(&text, mk_mcp_principal(call));
    mk_canon_string(&text, call->message->method);
    for (size_t i = 0; i < 3; i++) {
        const mk_json *part =
            call->message->params != NULL ? mk_json_get(call->message->params, parts[i]) : NULL;
        mk_buf_c(&text, '|');
        if (part != NULL)
            MK_TRY(rc, mk_canon_tree(&text, call->arena, part, err));
    }
    MK_TRY(rc, mk_buf_done(&text, err));
    mk_sha256_init(&hash);
    mk_sha256_add(&hash, text.p, text.n);
    mk_sha256_end(&hash, sha);
    mk_hex(hex, sha, 32);
    hex[64] = '\0';
out:
    mk_buf_free(&text);
    return rc;
}

static const mk_json *own_member(const mk_json *object, const char *key)
{
    return object != NULL && object->kind == MK_JSON_OBJECT ? mk_json_get(object, key) : NULL;
}

/* state: hex HMAC, a dot, {"answers":{...},"bound":"...","until":N}. Text, since it is signed and holds
 * nothing but what the client said itself. */
static mk_code put_state(mk_mcp_call *call, mk_buf *out, mk_err *err)
{
    char bound[65], sign[65];
    const char *comma = "";
    mk_buf text, whole;
    mk_code rc;
    mk_buf_init(&text, call->arena->alloc);
    mk_buf_init(&whole, call->arena->alloc);
    MK_TRY(rc, binding(call, bound, err));
    mk_buf_z(&text, "{\"answers\":{");
    const mk_json *given[] = {call->earlier, call->responses};
    for (size_t g = 0; g < 2; g++)
        for (size_t i = 0; given[g] != NULL && i < given[g]->n; i++) {
            if (g == 0 && call->responses != NULL &&
                mk_json_get_n(call->responses, given[0]->members[i].key) != NULL)
                continue; /* answered anew */
            mk_buf_z(&text, comma);
            mk_canon_string(&text, given[g]->members[i].key);
            mk_buf_c(&text, ':');
            MK_TRY(rc, mk_canon_tree(&text, call->arena, &given[g]->members[i].value, err));
            comma = ",";
        }
    mk_buf_printf(&text, "},\"bound\":\"%s\",\"until\":%lld}", bound,
                  (long long)(now_us(call) + STATE_TTL_US));
    MK_TRY(rc, mk_buf_done(&text, err));
    hmac(call->server->key, mk_buf_view(&text), sign);
    mk_buf_printf(&whole, "%s.", sign);
    mk_buf_str(&whole, mk_buf_view(&text));
    MK_TRY(rc, mk_buf_done(&whole, err));
    mk_canon_string(out, mk_buf_view(&whole));
out:
    mk_buf_free(&whole);
    mk_buf_free(&text);
    return rc;
}

static bool same_time(const char *a, const char *b, size_t n)
{
    unsigned differ = 0;
    for (size_t i = 0; i < n; i++)
        differ |= (unsigned char)a[i] ^ (unsigned char)b[i];
    return differ == 0;
}

static bool read_state(mk_mcp_call *call, mk_str state)
{
    char sign[65], bound[65];
    mk_json *tree;
    if (state.n < 66 || state.n > STATE_MAX || state.p[64] != '.')
        return false;
    const mk_str text = {state.p + 65, state.n - 65};
    hmac(call->server->key, text, sign);
    if (!same_time(sign, state.p, 64) || mk_json_parse(call->arena, text, NULL, &tree, NULL) != MK_OK)
        return false;
    const mk_json *until = own_member(tree, "until"), *to = own_member(tree, "bound");
    if (until == NULL || until->kind != MK_JSON_INT || until->i < now_us(call) ||
        binding(call, bound, NULL) != MK_OK || to == NULL || !mk_str_eq(to->text, mk_str_of(bound)))
        return false;
    call->earlier = own_member(tree, "answers");
    return true;
}

bool mk_mcp__read_rounds(mk_mcp_call *call)
{
    const mk_json *state = own_member(call->message->params, "requestState");
    call->responses = own_member(call->message->params, "inputResponses");
    if (call->responses != NULL && call->responses->kind != MK_JSON_OBJECT)
        call->responses = NULL;
    if (state == NULL || state->kind == MK_JSON_NULL)
        return true;
    return state->kind == MK_JSON_STRING && read_state(call, state->text);
}

/* A client may wrap its answer as {"method","result"} or give the result itself. */
static const mk_json *answer_of(const mk_json *given)
{
    const mk_json *result = own_member(given, "result");
    return result != NULL && result->kind == MK_JSON_OBJECT ? result : given;
}

static mk_code ask_modern(mk_mcp_call *call, const char *key, mk_mcp_question what, mk_str params,
                          const mk_json **result, mk_err *err)
{
    const mk_json *given = own_member(call->responses, key);
    if (given == NULL)
        given = own_member(call->earlier, key);
    if (given != NULL && given->kind == MK_JSON_OBJECT) {
        *result = answer_of(given);
        return MK_OK;
    }
    if (!mk_mcp_can_ask(call, what)) {
        call->lacks = true;
        call->wanted_ask = what;
    }
    if (call->wanted.n != 0)
        mk_buf_c(&call->wanted, ',');
    mk_canon_string(&call->wanted, mk_str_of(key));
    mk_buf_printf(&call->wanted, ":{\"method\":\"%s\",\"params\":", method_of(what));
    mk_buf_str(&call->wanted, params);
    mk_buf_c(&call->wanted, '}');
    mk_fail(err, MK_E_STATE, "the client has to answer first");
    mk_err_reason(err, "input_required");
    return MK_E_STATE;
}

mk_code mk_mcp_ask(mk_mcp_call *call, const char *key, mk_mcp_question what, mk_str params,
                   const mk_json **result, mk_err *err)
{
    *result = NULL;
    if (call->modern)
        return ask_modern(call, key, what, params, result, err);
    if (call->session == NULL || !mk_mcp_can_ask(call, what))
        return cannot(what, err);
    return ask_in_session(call, what, params, result, err);
}

mk_code mk_mcp__input_required(mk_mcp_call *call, mk_buf *out, mk_err *err)
{
    mk_buf_z(out, "\"resultType\":\"input_required\",\"inputRequests\":{");
    mk_buf_str(out, mk_buf_view(&call->wanted));
    mk_buf_z(out, "},\"requestState\":");
    return put_state(call, out, err);
}

void mk_mcp_let_go(mk_mcp_call *call)
{
    if (call->stream != NULL && call->stream->let_go != NULL)
        call->stream->let_go(call->stream);
}

/* model.h — asking a language model. Layer: model.
 *
 * mk_model is a table of functions, so that planner and reporter run on the HTTP client, on a client's own
 * model or on a test's script alike. The HTTP client speaks the chat completions of any OpenAI-compatible
 * endpoint. Source: agent spec, 10.2, 10.3, 17 (O-19), 18.6. */
#ifndef MK_MODEL_MODEL_H
#define MK_MODEL_MODEL_H

#include <stdatomic.h>

#include "base/arena.h"
#include "base/fs.h"
#include "base/timetext.h"

/* How a server may be told what a reply looks like. AUTO tries them in this order, goes on when a server
 * answers that the request is wrong, and remembers what was taken. */
typedef enum mk_guide {
    MK_GUIDE_AUTO,
    MK_GUIDE_JSON_SCHEMA, /* response_format: OpenAI, llama.cpp, vLLM, Ollama */
    MK_GUIDE_GRAMMAR,     /* grammar, as GBNF: llama.cpp */
    MK_GUIDE_GUIDED_JSON, /* guided_json: vLLM */
    MK_GUIDE_NONE
} mk_guide;
const char *mk_guide_name(mk_guide guide); /* "json_schema", ... */

typedef struct mk_message {
    const char *role; /* "system", "user" or "assistant" */
    mk_str content;   /* UTF-8 */
} mk_message;

/* Borrowed for the call. */
typedef struct mk_model_request {
    const mk_message *messages;
    size_t message_count;
    double temperature;
    int64_t seed;
    uint32_t tokens_max; /* of the reply; 0: 4096 */
    mk_str schema;       /* JSON Schema of the reply; n 0: none */
    mk_str grammar;      /* GBNF of the reply; n 0: none */
    mk_str nonce;        /* random text inside the messages; the cache's key is made without it */
} mk_model_request;

typedef struct mk_model_reply {
    mk_str text; /* UTF-8, in the arena; whatever the model wrote */
    bool cached;
    bool cut;    /* the model stopped at its token limit */
    mk_guide guide;      /* what was sent: NONE when nothing could be */
    unsigned tries;      /* requests made, 0 when cached */
    int64_t wait_us;     /* from the first request to the last byte */
    int64_t prompt_tokens, reply_tokens; /* as the server says; -1: it did not, or it cannot be true */
    char prompt_digest[65];              /* SHA-256 of the messages, the nonce left out */
} mk_model_reply;

typedef struct mk_model mk_model;
struct mk_model {
    mk_code (*ask)(mk_model *self, const mk_model_request *request, mk_arena *arena,
                   mk_model_reply *out, mk_err *err);
    void (*close)(mk_model *self); /* may be NULL */
};

/* Asks once; the reply's text lives in `arena`. Safe to call from several threads for the HTTP client.
 * Errors: MK_E_MODEL, retry as_is, with a reason: "unreachable", "timeout", "refused" (the server said no;
 * details.status), "malformed", "too_large", "cut_off", "empty"; MK_E_CANCELLED; MK_E_NOMEM. */
MK_CHECK mk_code mk_model_ask(mk_model *model, const mk_model_request *request, mk_arena *arena,
                              mk_model_reply *out, mk_err *err);
void mk_model_close(mk_model *model); /* NULL is fine */

/* ---- the HTTP client ---- */

#define MK_MODEL_TEXT_MAX 1024 /* of url, model name and key */

/* All members but url and model may be zero: then the defaults in the comments hold. */
typedef struct mk_model_options {
    char url[MK_MODEL_TEXT_MAX];   /* "http://127.0.0.1:8080/v1", or the whole path to chat/completions */
    char model[MK_MODEL_TEXT_MAX]; /* as the server calls it */
    char key[MK_MODEL_TEXT_MAX];   /* sent as a bearer token; never in a message, a log or the cache */
    mk_guide guide;
    bool no_stream;        /* ask for one JSON text instead of events */
    int64_t connect_us;    /* 10 s */
    int64_t idle_us;       /* without a byte, in whole seconds; as wait_us: a server that does not
                              stream is silent until it has written all */
    int64_t wait_us;       /* for the whole call, retries included: 300 s */
    unsigned retries;      /* after failures that may pass; 4 */
    bool no_retries;
    int64_t backoff_us;    /* before the first retry, doubled for each: 250 ms */
    size_t body_max;       /* bytes of a response: 8 MiB */
    size_t text_max;       /* bytes of a reply's text: 1 MiB */
    char cache_dir[MK_MODEL_TEXT_MAX]; /* made when missing; empty: no cache */
    const mk_fs *fs;       /* of the cache; mk_fs_posix */
    const atomic_bool *cancelled;
} mk_model_options;

/* Tokens over the lifetime of a client, as servers reported them. */
typedef struct mk_model_totals {
    uint64_t calls, cached, requests, failures;
    uint64_t prompt_tokens, reply_tokens;
    uint64_t doubtful; /* reports that cannot be true, not counted above */
} mk_model_totals;

MK_CHECK mk_code mk_model_http_open(const mk_alloc *alloc, const mk_model_options *options,
                                    mk_model **out, mk_err *err);
void mk_model_http_totals(mk_model *model, mk_model_totals *out);

/* Settings by name, as from the environment: MERKHET_LLM_URL, _MODEL, _KEY, _GUIDE (auto, json_schema,
 * grammar, guided_json, none), _TIMEOUT and _CONNECT_TIMEOUT (seconds), _RETRIES, _STREAM (0 or 1),
 * _CACHE (a folder). *found is false, and nothing is wrong, without a URL. The library reads no
 * environment of its own.
 * Errors: MK_E_INVALID_ARG naming the setting and what would pass. */
typedef const char *mk_setting_fn(void *ctx, const char *name);
MK_CHECK mk_code mk_model_settings(mk_setting_fn *get, void *ctx, mk_model_options *out, bool *found,
                                   mk_err *err);

#endif

/* request.c — see request.h. Layer: model. */
#include "model/request.h"

#include "base/canon.h"
#include "base/sha256.h"

const char *mk_guide_name(mk_guide guide)
{
    static const char *const names[] = {[MK_GUIDE_AUTO] = "auto",
                                        [MK_GUIDE_JSON_SCHEMA] = "json_schema",
                                        [MK_GUIDE_GRAMMAR] = "grammar",
                                        [MK_GUIDE_GUIDED_JSON] = "guided_json",
                                        [MK_GUIDE_NONE] = "none"};
    return names[guide];
}

void mk_request_url(const mk_model_options *options, char *out)
{
    static const char tail[] = "/chat/completions";
    size_t n = strlen(options->url);
    memcpy(out, options->url, n + 1);
    while (n > 0 && out[n - 1] == '/')
        out[--n] = '\0';
    if (n < sizeof tail || strcmp(out + n - (sizeof tail - 1), tail) != 0)
        memcpy(out + n, tail, sizeof tail);
}

/* ---- the body ---- */

/* Appends `text` with every `nonce` in it replaced; a nonce of no bytes is nowhere. */
static void put_without(mk_buf *out, mk_str text, mk_str nonce)
{
    while (nonce.n != 0 && text.n >= nonce.n) {
        const char *hit = memmem(text.p, text.n, nonce.p, nonce.n);
        if (hit == NULL)
            break;
        const size_t before = (size_t)(hit - text.p);
        mk_buf_put(out, text.p, before);
        mk_buf_z(out, "NONCE");
        text.p += before + nonce.n;
        text.n -= before + nonce.n;
    }
    mk_buf_str(out, text);
}

static void put_messages(mk_buf *out, const mk_model_request *request)
{
    mk_buf_c(out, '[');
    for (size_t i = 0; i < request->message_count; i++) {
        mk_buf_z(out, i ? ",{\"content\":" : "{\"content\":");
        mk_canon_string(out, request->messages[i].content);
        mk_buf_z(out, ",\"role\":");
        mk_canon_string(out, mk_str_of(request->messages[i].role));
        mk_buf_c(out, '}');
    }
    mk_buf_c(out, ']');
}

static void put_guide(mk_buf *out, const mk_model_request *request, mk_guide guide)
{
    if (guide == MK_GUIDE_JSON_SCHEMA) {
        mk_buf_z(out, ",\"response_format\":{\"json_schema\":{\"name\":\"reply\",\"schema\":");
        mk_buf_str(out, request->schema);
        mk_buf_z(out, "},\"type\":\"json_schema\"}");
    } else if (guide == MK_GUIDE_GUIDED_JSON) {
        mk_buf_z(out, ",\"guided_json\":");
        mk_buf_str(out, request->schema);
    } else if (guide == MK_GUIDE_GRAMMAR) {
        mk_buf_z(out, ",\"grammar\":");
        mk_canon_string(out, request->grammar);
    }
}

static uint32_t tokens_max(const mk_model_request *request)
{
    return request->tokens_max != 0 ? request->tokens_max : MK_REQUEST_TOKENS;
}

mk_code mk_request_body(const mk_model_options *options, const mk_model_request *request,
                        mk_guide guide, mk_buf *out, mk_err *err)
{
    mk_buf_printf(out, "{\"max_tokens\":%u,\"messages\":", (unsigned)tokens_max(request));
    put_messages(out, request);
    mk_buf_z(out, ",\"model\":");
    mk_canon_string(out, mk_str_of(options->model));
    mk_buf_z(out, ",\"seed\":");
    mk_buf_i64(out, request->seed);
    if (!options->no_stream)
        mk_buf_z(out, ",\"stream\":true,\"stream_options\":{\"include_usage\":true}");
    mk_buf_z(out, ",\"temperature\":");
    mk_canon_double(out, request->temperature);
    put_guide(out, request, guide);
    mk_buf_c(out, '}');
    return mk_buf_done(out, err);
}

/* ---- digests ---- */

static void digest_of(mk_str text, char digest[65])
{
    uint8_t sha[32];
    mk_sha256_of(text.p, text.n, sha);
    mk_hex(digest, sha, sizeof sha);
    digest[64] = '\0';
}

mk_code mk_request_prompt_digest(const mk_alloc *alloc, const mk_model_request *request,
                                 char digest[65], mk_err *err)
{
    mk_buf raw, text;
    mk_code rc;
    mk_buf_init(&raw, alloc);
    mk_buf_init(&text, alloc);
    put_messages(&raw, request);
    put_without(&text, mk_buf_view(&raw), request->nonce);
    MK_TRY(rc, mk_buf_done(&raw, err));
    MK_TRY(rc, mk_buf_done(&text, err));
    digest_of(mk_buf_view(&text), digest);
out:
    mk_buf_free(&text);
    mk_buf_free(&raw);
    return rc;
}

mk_code mk_request_key(const mk_alloc *alloc, const mk_model_options *options,
                       const mk_model_request *request, char key[65], mk_err *err)
{
    char prompt[65], schema[65], grammar[65], url[MK_MODEL_TEXT_MAX + 32];
    mk_buf text;
    mk_code rc;
    mk_buf_init(&text, alloc);
    MK_TRY(rc, mk_request_prompt_digest(alloc, request, prompt, err));
    digest_of(request->schema, schema);
    digest_of(request->grammar, grammar);
    mk_request_url(options, url);
    mk_buf_z(&text, "{\"endpoint\":");
    mk_canon_string(&text, mk_str_of(url));
    mk_buf_printf(&text, ",\"grammar\":\"%s\",\"guide\":\"%s\",\"max_tokens\":%u,\"model\":", grammar,
                  mk_guide_name(options->guide), (unsigned)tokens_max(request));
    mk_canon_string(&text, mk_str_of(options->model));
    mk_buf_printf(&text, ",\"prompt\":\"%s\",\"schema\":\"%s\",\"seed\":", prompt, schema);
    mk_buf_i64(&text, request->seed);
    mk_buf_z(&text, ",\"temperature\":");
    mk_canon_double(&text, request->temperature);
    mk_buf_c(&text, '}');
    MK_TRY(rc, mk_buf_done(&text, err));
    digest_of(mk_buf_view(&text), key);
out:
    mk_buf_free(&text);
    return rc;
}

/* settings.c — a model client's settings, by name. Layer: model. */
#include "model/model.h"

#include <stdio.h>

typedef struct reading {
    mk_setting_fn *get;
    void *ctx;
    mk_err *err;
} reading;

static const char *setting(const reading *r, const char *name)
{
    const char *text = r->get(r->ctx, name);
    return text != NULL && text[0] != '\0' ? text : NULL;
}

static mk_code refuse(const reading *r, const char *name, const char *text, const char *would_pass)
{
    mk_fail(r->err, MK_E_INVALID_ARG, "%s: \"%.80s\" is not accepted", name, text);
    mk_err_path(r->err, "%s", name);
    mk_err_hint(r->err, "set it to %s", would_pass);
    return MK_E_INVALID_ARG;
}

static mk_code read_text(const reading *r, const char *name, char out[MK_MODEL_TEXT_MAX])
{
    const char *text = setting(r, name);
    if (text == NULL)
        return MK_OK;
    if (strlen(text) >= MK_MODEL_TEXT_MAX || mk_utf8_check(mk_str_of(text)) != strlen(text) ||
        strpbrk(text, "\r\n") != NULL)
        return refuse(r, name, "...", "one line of at most 1023 bytes");
    memcpy(out, text, strlen(text) + 1);
    return MK_OK;
}

static mk_code read_number(const reading *r, const char *name, int64_t min, int64_t max, int64_t unit,
                           int64_t *out)
{
    char range[80];
    int64_t value;
    const char *text = setting(r, name);
    if (text == NULL)
        return MK_OK;
    snprintf(range, sizeof range, "a whole number from %lld to %lld", (long long)min, (long long)max);
    if (!mk_str_to_i64(mk_str_of(text), &value) || value < min || value > max)
        return refuse(r, name, text, range);
    *out = value * unit;
    return MK_OK;
}

static mk_code read_guide(const reading *r, mk_guide *out)
{
    const char *text = setting(r, "MERKHET_LLM_GUIDE");
    if (text == NULL)
        return MK_OK;
    for (mk_guide g = MK_GUIDE_AUTO; g <= MK_GUIDE_NONE; g++) {
        if (strcmp(text, mk_guide_name(g)) == 0) {
            *out = g;
            return MK_OK;
        }
    }
    return refuse(r, "MERKHET_LLM_GUIDE", text, "auto, json_schema, grammar, guided_json or none");
}

static bool is_url(const char *text)
{
    return strncmp(text, "http://", 7) == 0 || strncmp(text, "https://", 8) == 0;
}

mk_code mk_model_settings(mk_setting_fn *get, void *ctx, mk_model_options *out, bool *found, mk_err *err)
{
    const reading r = {get, ctx, err};
    int64_t retries = -1, stream = 1;
    mk_code rc;
    *out = (mk_model_options){0};
    *found = setting(&r, "MERKHET_LLM_URL") != NULL;
    if (!*found)
        return MK_OK;
    MK_TRY(rc, read_text(&r, "MERKHET_LLM_URL", out->url));
    if (!is_url(out->url)) {
        rc = refuse(&r, "MERKHET_LLM_URL", out->url, "an address like http://127.0.0.1:8080/v1");
        goto out;
    }
    memcpy(out->model, "default", sizeof "default");
    MK_TRY(rc, read_text(&r, "MERKHET_LLM_MODEL", out->model));
    MK_TRY(rc, read_text(&r, "MERKHET_LLM_KEY", out->key));
    MK_TRY(rc, read_text(&r, "MERKHET_LLM_CACHE", out->cache_dir));
    MK_TRY(rc, read_guide(&r, &out->guide));
    MK_TRY(rc, read_number(&r, "MERKHET_LLM_TIMEOUT", 1, 86400, 1000000, &out->wait_us));
    MK_TRY(rc, read_number(&r, "MERKHET_LLM_CONNECT_TIMEOUT", 1, 3600, 1000000, &out->connect_us));
    MK_TRY(rc, read_number(&r, "MERKHET_LLM_RETRIES", 0, 16, 1, &retries));
    MK_TRY(rc, read_number(&r, "MERKHET_LLM_STREAM", 0, 1, 1, &stream));
    out->no_retries = retries == 0;
    out->retries = retries > 0 ? (unsigned)retries : 0;
    out->no_stream = stream == 0;
out:
    return rc;
}

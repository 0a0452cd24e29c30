/* sampling.c — see sampling.h. Layer: serve. */
#include "serve/sampling.h"

#include <stdio.h>

#include "model/request.h"

/* Messages of the system have a member of their own; there is one at most. */
static void put_request(const mk_model_request *request, mk_buf *out)
{
    const char *comma = "";
    mk_buf_z(out, "{\"messages\":[");
    for (size_t i = 0; i < request->message_count; i++) {
        const mk_message *m = &request->messages[i];
        if (strcmp(m->role, "system") == 0)
            continue;
        mk_buf_printf(out, "%s{\"role\":\"%s\",\"content\":{\"type\":\"text\",\"text\":", comma, m->role);
        mk_canon_string(out, m->content);
        mk_buf_z(out, "}}");
        comma = ",";
    }
    mk_buf_c(out, ']');
    for (size_t i = 0; i < request->message_count; i++)
        if (strcmp(request->messages[i].role, "system") == 0) {
            mk_buf_z(out, ",\"systemPrompt\":");
            mk_canon_string(out, request->messages[i].content);
            break;
        }
    mk_buf_printf(out, ",\"maxTokens\":%u,\"temperature\":",
                  request->tokens_max != 0 ? request->tokens_max : MK_REQUEST_TOKENS);
    mk_canon_double(out, request->temperature);
    mk_buf_z(out, ",\"includeContext\":\"none\"}");
}

/* The text of a reply: of one block, or of several behind each other. n 0: it has none. */
static mk_code text_of(const mk_json *result, mk_arena *arena, mk_str *out, mk_err *err)
{
    const mk_json *content = mk_json_get(result, "content");
    mk_code rc = MK_OK;
    mk_buf all;
    *out = (mk_str){NULL, 0};
    if (content == NULL || (content->kind != MK_JSON_OBJECT && content->kind != MK_JSON_ARRAY))
        return MK_OK;
    const bool several = content->kind == MK_JSON_ARRAY;
    const mk_json *blocks = several ? content->items : content;
    mk_buf_init(&all, arena->alloc);
    for (size_t i = 0; i < (several ? content->n : 1); i++) {
        const mk_json *text = blocks[i].kind == MK_JSON_OBJECT ? mk_json_get(&blocks[i], "text") : NULL;
        if (text != NULL && text->kind == MK_JSON_STRING)
            mk_buf_str(&all, text->text);
    }
    MK_TRY(rc, mk_buf_done(&all, err));
    if (all.n != 0) {
        *out = mk_arena_copy(arena, mk_buf_view(&all));
        rc = out->p != NULL ? MK_OK : mk_fail_nomem(err);
    }
out:
    mk_buf_free(&all);
    return rc;
}

static mk_code model_failed(mk_err *err, const char *reason, const char *why)
{
    mk_fail(err, MK_E_MODEL, "the client's model: %s", why);
    mk_err_reason(err, reason);
    mk_err_retry(err, MK_RETRY_AS_IS);
    return MK_E_MODEL;
}

/* What the client's failure is to a planner: only our own troubles and the end of a round stay what they
 * are. */
static mk_code failure_of(mk_code rc, const mk_err *why, mk_err *err)
{
    const bool stays = rc == MK_E_NOMEM || rc == MK_E_CANCELLED ||
                       (rc == MK_E_STATE && strcmp(why->reason, "input_required") == 0);
    if (!stays)
        return model_failed(err, rc == MK_E_LIMIT ? "timeout" : "refused", why->message);
    if (err != NULL)
        *err = *why;
    return rc;
}

static mk_code ask(mk_model *self, const mk_model_request *request, mk_arena *arena, mk_model_reply *out,
                   mk_err *err)
{
    mk_sampling *s = (mk_sampling *)self;
    const mk_json *result;
    char key[24];
    mk_buf params;
    mk_code rc;
    mk_err why;
    *out = (mk_model_reply){.guide = MK_GUIDE_NONE, .tries = 1, .prompt_tokens = -1, .reply_tokens = -1};
    snprintf(key, sizeof key, "model-%u", ++s->asked);
    mk_buf_init(&params, arena->alloc);
    MK_TRY(rc, mk_request_prompt_digest(arena->alloc, request, out->prompt_digest, err));
    put_request(request, &params);
    MK_TRY(rc, mk_buf_done(&params, err));
    rc = mk_mcp_ask(s->call, key, MK_ASK_SAMPLING, mk_buf_view(&params), &result, &why);
    if (rc != MK_OK) {
        rc = failure_of(rc, &why, err);
        goto out;
    }
    const mk_json *stop = mk_json_get(result, "stopReason");
    out->cut = stop != NULL && stop->kind == MK_JSON_STRING && mk_str_eq(stop->text, MK_STR("maxTokens"));
    MK_TRY(rc, text_of(result, arena, &out->text, err));
    if (out->text.n == 0)
        rc = model_failed(err, "empty", "it was not asked, or wrote nothing");
out:
    mk_buf_free(&params);
    return rc;
}

mk_model *mk_sampling_init(mk_sampling *sampling, mk_mcp_call *call)
{
    *sampling = (mk_sampling){.model = {.ask = ask}, .call = call};
    return mk_mcp_can_ask(call, MK_ASK_SAMPLING) ? &sampling->model : NULL;
}

/* reply.c — see reply.h. Layer: model. */
#include "model/reply.h"

#include <stdarg.h>
#include <stdio.h>

/* Replies nest four deep; what is deeper is not one. */
static const mk_json_limits limits = {
    .depth = 32, .string_size = (size_t)16 << 20, .number_size = 64, .members = 4096};

mk_code mk_model__fail(mk_err *err, const char *reason, const char *fmt, ...)
{
    char text[400];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    mk_fail(err, MK_E_MODEL, "the model endpoint: %s", text);
    mk_err_reason(err, reason);
    mk_err_retry(err, MK_RETRY_AS_IS);
    return MK_E_MODEL;
}

void mk_reply_open(mk_reply_reader *reader, const mk_alloc *alloc, mk_arena *scratch, size_t body_max,
                   size_t text_max)
{
    *reader = (mk_reply_reader){.scratch = scratch,
                                .body_max = body_max,
                                .text_max = text_max,
                                .prompt_tokens = -1,
                                .reply_tokens = -1};
    mk_buf_init(&reader->line, alloc);
    mk_buf_init(&reader->text, alloc);
}

void mk_reply_close(mk_reply_reader *reader)
{
    mk_buf_free(&reader->line);
    mk_buf_free(&reader->text);
}

/* ---- one JSON text ---- */

static const mk_json *item(const mk_json *list, size_t i)
{
    return list != NULL && list->kind == MK_JSON_ARRAY && i < list->n ? &list->items[i] : NULL;
}

static const mk_json *member(const mk_json *object, const char *name)
{
    return object != NULL ? mk_json_get(object, name) : NULL;
}

/* A number of tokens, or -1; what is there and cannot be a number of tokens is doubtful. */
static int64_t tokens(mk_reply_reader *reader, const mk_json *usage, const char *name)
{
    const mk_json *value = member(usage, name);
    if (value == NULL || value->kind == MK_JSON_NULL)
        return -1;
    if (value->kind == MK_JSON_INT && !value->b && value->i >= 0 && value->i <= INT32_MAX)
        return value->i;
    reader->doubtful = true;
    return -1;
}

static void take_usage(mk_reply_reader *reader, const mk_json *usage)
{
    if (usage == NULL || usage->kind != MK_JSON_OBJECT)
        return;
    reader->prompt_tokens = tokens(reader, usage, "prompt_tokens");
    reader->reply_tokens = tokens(reader, usage, "completion_tokens");
}

static mk_code take_text(mk_reply_reader *reader, const mk_json *content, mk_err *err)
{
    if (content == NULL || content->kind == MK_JSON_NULL)
        return MK_OK;
    if (content->kind != MK_JSON_STRING)
        return mk_model__fail(err, "malformed", "the reply's content is no text");
    if (content->text.n > reader->text_max - reader->text.n)
        return mk_model__fail(err, "too_large", "the reply is longer than %zu bytes", reader->text_max);
    mk_buf_str(&reader->text, content->text);
    return mk_buf_done(&reader->text, err);
}

/* The message of an error that the peer reports, short enough to be shown. */
static mk_code fail_reported(const mk_json *error, mk_err *err)
{
    const mk_json *message = error->kind == MK_JSON_OBJECT ? mk_json_get(error, "message") : error;
    const mk_str said = message != NULL && message->kind == MK_JSON_STRING ? message->text
                        : MK_STR("an error");
    return mk_model__fail(err, "refused", "it reports: %.*s", (int)(said.n > 200 ? 200 : said.n),
                          said.n ? said.p : "");
}

/* `part`: the member of a choice that has the text, "message" or "delta". */
static mk_code take_json(mk_reply_reader *reader, mk_str text, const char *part, mk_err *err)
{
    mk_json *tree;
    mk_code rc;
    rc = mk_json_parse(reader->scratch, text, &limits, &tree, err);
    if (rc == MK_E_NOMEM)
        return rc;
    if (rc != MK_OK || tree->kind != MK_JSON_OBJECT)
        return mk_model__fail(err, "malformed", "what it sent is no JSON object");
    const mk_json *error = mk_json_get(tree, "error");
    if (error != NULL && error->kind != MK_JSON_NULL)
        return fail_reported(error, err);
    take_usage(reader, mk_json_get(tree, "usage"));
    const mk_json *choice = item(mk_json_get(tree, "choices"), 0);
    MK_TRY(rc, take_text(reader, member(member(choice, part), "content"), err));
    const mk_json *finish = member(choice, "finish_reason");
    if (finish != NULL && finish->kind == MK_JSON_STRING) {
        reader->done = true;
        reader->cut |= mk_str_eq(finish->text, MK_STR("length"));
    }
out:
    return rc;
}

/* ---- events ---- */

/* Only `data` lines matter; comments, event names and ids do not. */
static mk_code take_line(mk_reply_reader *reader, mk_err *err)
{
    mk_str line = mk_buf_view(&reader->line);
    if (!mk_str_starts(line, MK_STR("data:")))
        return MK_OK;
    line.p += 5;
    line.n -= 5;
    if (line.n > 0 && line.p[0] == ' ') {
        line.p++;
        line.n--;
    }
    if (line.n == 0)
        return MK_OK;
    if (mk_str_eq(line, MK_STR("[DONE]"))) {
        reader->done = reader->ended = true;
        return MK_OK;
    }
    const mk_arena_mark mark = mk_arena_save(reader->scratch);
    const mk_code rc = take_json(reader, line, "delta", err);
    mk_arena_rewind(reader->scratch, mark);
    return rc;
}

static mk_code feed_events(mk_reply_reader *reader, const char *p, size_t n, mk_err *err)
{
    mk_code rc = MK_OK;
    while (n > 0 && !reader->ended) {
        if (reader->skip_lf && *p == '\n') {
            p++;
            n--;
            reader->skip_lf = false;
            continue;
        }
        reader->skip_lf = false;
        size_t size = 0;
        while (size < n && p[size] != '\n' && p[size] != '\r')
            size++;
        mk_buf_put(&reader->line, p, size);
        MK_TRY(rc, mk_buf_done(&reader->line, err));
        if (size == n)
            break;
        reader->skip_lf = p[size] == '\r';
        MK_TRY(rc, take_line(reader, err));
        mk_buf_clear(&reader->line);
        p += size + 1;
        n -= size + 1;
    }
out:
    return rc;
}

/* ---- as they come ---- */

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

mk_code mk_reply_feed(mk_reply_reader *reader, const char *p, size_t n, mk_err *err)
{
    if (n > reader->body_max - reader->body_size)
        return mk_model__fail(err, "too_large", "its response is longer than %zu bytes", reader->body_max);
    reader->body_size += n;
    while (reader->form == MK_REPLY_START && n > 0 && is_space(*p)) {
        p++;
        n--;
    }
    if (n == 0)
        return MK_OK;
    if (reader->form == MK_REPLY_START)
        reader->form = *p == '{' || *p == '[' ? MK_REPLY_WHOLE : MK_REPLY_EVENTS;
    if (reader->form == MK_REPLY_EVENTS)
        return feed_events(reader, p, n, err);
    mk_buf_put(&reader->line, p, n);
    return mk_buf_done(&reader->line, err);
}

mk_code mk_reply_end(mk_reply_reader *reader, mk_err *err)
{
    const mk_arena_mark mark = mk_arena_save(reader->scratch);
    mk_code rc = MK_OK;
    if (reader->form == MK_REPLY_WHOLE) {
        MK_TRY(rc, take_json(reader, mk_buf_view(&reader->line), "message", err));
        reader->done = true; /* a JSON text that is whole has its end */
    } else if (reader->form == MK_REPLY_EVENTS && !reader->ended) {
        MK_TRY(rc, take_line(reader, err));
    }
    if (reader->form != MK_REPLY_START && !reader->done)
        rc = mk_model__fail(err, "cut_off", "its stream ended before the reply did");
    else if (reader->text.n == 0)
        rc = mk_model__fail(err, "empty", "its reply has no text");
out:
    mk_arena_rewind(reader->scratch, mark);
    return rc;
}

/* output.c — see output.h. Layer: agent. */
#include "agent/output.h"

#include "base/canon.h"
#include "base/sha256.h"

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static mk_str trim(mk_str s)
{
    while (s.n > 0 && is_space(s.p[0])) {
        s.p++;
        s.n--;
    }
    while (s.n > 0 && is_space(s.p[s.n - 1]))
        s.n--;
    return s;
}

/* Where `part` begins in s from `at` on; s.n when nowhere. */
static size_t find(mk_str s, size_t at, mk_str part)
{
    const char *hit = at < s.n ? memmem(s.p + at, s.n - at, part.p, part.n) : NULL;
    return hit != NULL ? (size_t)(hit - s.p) : s.n;
}

/* Each block ends at the first closing tag behind it; one without an end is no block. */
static mk_str drop_thoughts(mk_str text, mk_arena *arena)
{
    const mk_str open = MK_STR("<think>"), close = MK_STR("</think>");
    if (find(text, 0, open) == text.n)
        return text;
    char *p = mk_arena_get(arena, text.n);
    size_t n = 0;
    for (size_t at = 0; p != NULL && at < text.n;) {
        const size_t start = find(text, at, open), end = find(text, start, close);
        const size_t stop = end < text.n ? start : text.n;
        memcpy(p + n, text.p + at, stop - at);
        n += stop - at;
        at = end < text.n ? end + close.n : text.n;
    }
    return (mk_str){p, p != NULL ? n : 0};
}

/* The inside of the fence at `at`, without its language; *end is behind the fence. False when it does
 * not close. */
static bool inside_fence(mk_str text, size_t at, mk_str *inside, size_t *end)
{
    const mk_str ticks = MK_STR("```");
    size_t start = at + ticks.n;
    if (mk_str_starts((mk_str){text.p + start, text.n - start}, MK_STR("json")))
        start += 4;
    const size_t stop = find(text, start, ticks);
    if (stop == text.n)
        return false;
    *inside = trim((mk_str){text.p + start, stop - start});
    *end = stop + ticks.n;
    return true;
}

mk_str mk_output_clean(mk_str text, mk_arena *arena)
{
    const mk_str ticks = MK_STR("```");
    mk_str inside;
    size_t end;
    text = drop_thoughts(text, arena);
    if (text.p == NULL)
        return text;
    text = trim(text);
    for (size_t at = find(text, 0, ticks); at < text.n; at = find(text, end, ticks)) {
        if (!inside_fence(text, at, &inside, &end))
            break;
        const bool whole = at == 0 && end == text.n;
        if (whole || (inside.n > 0 && inside.p[0] == '{'))
            return inside;
    }
    return text;
}

void mk_output_record(const mk_prompt *prompt, const mk_model_reply *reply, mk_buf *out)
{
    uint8_t sha[32];
    char system[64];
    mk_sha256_of(prompt->system.p, prompt->system.n, sha);
    mk_hex(system, sha, sizeof sha);
    mk_buf_printf(out, "{\"cached\":%s,\"guide\":\"%s\",\"prompt\":", reply->cached ? "true" : "false",
                  mk_guide_name(reply->guide));
    mk_canon_string(out, mk_buf_view(&prompt->user));
    mk_buf_printf(out, ",\"prompt_digest\":\"%s\",\"prompt_tokens\":%lld,\"reply\":", reply->prompt_digest,
                  (long long)reply->prompt_tokens);
    mk_canon_string(out, reply->text);
    mk_buf_printf(out, ",\"reply_tokens\":%lld,\"system_sha256\":\"%.64s\",\"tries\":%u,\"wait_us\":%lld}",
                  (long long)reply->reply_tokens, system, reply->tries, (long long)reply->wait_us);
}

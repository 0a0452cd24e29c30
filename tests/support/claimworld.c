/* claimworld.c — see claimworld.h. */
#include "claimworld.h"

#include "base/sha256.h"

void world_start(world *w)
{
    *w = (world){.object_count = 0};
    mk_arena_init(&w->arena, &mk_alloc_default);
    mk_buf_init(&w->steps, &mk_alloc_default);
}

void world_end(world *w)
{
    mk_buf_free(&w->steps);
    mk_arena_free(&w->arena);
}

mk_str world_put(world *w, const char *json)
{
    mk_buf buf;
    uint8_t hash[32];
    char hex[64];
    mk_buf_init(&buf, &mk_alloc_default);
    assert_int_equal(mk_canon_text(&buf, &w->arena, mk_str_of(json), NULL, NULL), MK_OK);
    assert_true(w->object_count < WORLD_OBJECTS_MAX);
    mk_sha256_of(buf.p, buf.n, hash);
    mk_hex(hex, hash, sizeof hash);
    const size_t i = w->object_count++;
    w->texts[i] = mk_arena_copy(&w->arena, mk_buf_view(&buf));
    w->names[i] = mk_arena_copy(&w->arena, (mk_str){hex, sizeof hex});
    mk_buf_free(&buf);
    return w->names[i];
}

mk_str world_step(world *w, const char *id, const char *op, const char *args, const char *gaps,
                  const char *deps, const char *payload)
{
    const mk_str result = world_put(w, payload);
    mk_buf call;
    mk_buf_init(&call, &mk_alloc_default);
    mk_buf_printf(&call,
                  "{\"args\":%s,\"as_of_tt\":%d,\"completeness\":%s,\"deps\":%s,\"op\":\"%s\","
                  "\"payload_digest\":\"%.*s\"}",
                  args, WORLD_TT, gaps, deps, op, MK_STR_ARG(result));
    mk_buf_c(&call, '\0');
    const mk_str digest = world_put(w, call.p);
    mk_buf_free(&call);
    mk_buf_printf(&w->steps,
                  "%s{\"call_digest\":\"%.*s\",\"completeness\":%s,\"op\":\"%s\",\"result_digest\":\"%.*s\","
                             "\"status\":\"ok\",\"step_id\":\"%s\"}",
                  w->steps.n > 0 ? "," : "", MK_STR_ARG(digest), gaps, op, MK_STR_ARG(result), id);
    return digest;
}

void world_failed_step(world *w, const char *id, const char *op)
{
    mk_buf_printf(&w->steps, "%s{\"error\":{},\"op\":\"%s\",\"status\":\"failed\",\"step_id\":\"%s\"}",
                  w->steps.n > 0 ? "," : "", op, id);
}

mk_code world_get(void *ctx, const char *digest, mk_arena *arena, mk_str *text, mk_err *err)
{
    const world *w = ctx;
    (void)arena;
    for (size_t i = 0; i < w->object_count; i++)
        if (mk_str_eq(w->names[i], mk_str_of(digest))) {
            *text = w->texts[i];
            return MK_OK;
        }
    return mk_fail(err, MK_E_NOT_FOUND, "no such object");
}

mk_str world_trace(world *w)
{
    mk_buf buf;
    mk_buf_init(&buf, &mk_alloc_default);
    mk_buf_printf(&buf,
                  "{\"answer\":null,\"answer_error\":null,\"answer_gaps\":[],\"as_of_tt\":%d,\"ok\":true,"
                        "\"plan\":{},\"plan_id\":\"p\",\"steps\":[%.*s],\"wall_ms\":1.5}",
                  WORLD_TT, (int)w->steps.n, w->steps.n > 0 ? w->steps.p : "");
    const mk_str text = mk_arena_copy(&w->arena, mk_buf_view(&buf));
    mk_buf_free(&buf);
    return text;
}

mk_answer_report world_verify(world *w, const char *answer)
{
    mk_evidence *evidence;
    mk_answer_report report;
    mk_err err = {0};
    const mk_verify_options options = {.strict = w->strict, .no_completeness = w->no_completeness};
    assert_int_equal(mk_evidence_open(world_trace(w), world_get, w, w->reexec, w->reexec_ctx, &w->arena,
                                      &evidence, &err),
                     MK_OK);
    assert_int_equal(mk_answer_verify(mk_str_of(answer), evidence, &options, &w->arena, &report, &err),
                     MK_OK);
    return report;
}

mk_claim_result world_claim(world *w, const char *claim)
{
    mk_buf buf;
    mk_buf_init(&buf, &mk_alloc_default);
    mk_buf_printf(&buf, "{\"claims\":[{\"id\":\"c1\",%s],\"text\":\"\"}", claim + 1 /* behind its brace */);
    mk_buf_c(&buf, '\0');
    const mk_answer_report report = world_verify(w, buf.p);
    mk_buf_free(&buf);
    if (!report.schema_valid)
        fail_msg("%.*s: %s", MK_STR_ARG(report.schema_error), claim);
    return report.claims[0];
}

bool has_reason(const mk_claim_result *result, const char *word)
{
    for (size_t i = 0; i < result->reason_count; i++)
        if (strcmp(result->reasons[i], word) == 0)
            return true;
    return false;
}

bool holds_text(mk_str text, const char *part)
{
    return memmem(text.p, text.n, part, strlen(part)) != NULL;
}

void expect(world *w, const char *claim, mk_verdict verdict, const char *part)
{
    const mk_claim_result result = world_claim(w, claim);
    if (result.verdict != verdict)
        fail_msg("%s\n  is %s, not %s: %.*s", claim, mk_verdict_name(result.verdict),
                 mk_verdict_name(verdict), MK_STR_ARG(result.reason));
    if (part != NULL && !has_reason(&result, part) && !holds_text(result.reason, part))
        fail_msg("%s\n  is %s, but does not say \"%s\": %.*s", claim, mk_verdict_name(result.verdict), part,
                 MK_STR_ARG(result.reason));
}

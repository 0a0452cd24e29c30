/* ask_json.c — an answer for programs: the shape of decisions.md 5, and the bundle. Layer: agent. */
#include "agent/ask_internal.h"

#include "base/sha256.h"
#include "op/schema.h"

#define RUNTIME_VERSION "0.1.0"

/* ---- claims ---- */

static mk_json text_node(mk_str text)
{
    return (mk_json){.kind = MK_JSON_STRING, .text = text};
}

/* The claim's own members, and what became of it. */
static mk_code claim_node(const mk_claim_result *claim, mk_arena *arena, mk_json *out, mk_err *err)
{
    const mk_json *own = claim->claim;
    const size_t n = own != NULL && own->kind == MK_JSON_OBJECT ? own->n : 0;
    mk_member *members = mk_arena_get(arena, (n + 2) * sizeof *members);
    mk_json *reasons = mk_arena_get(arena, (claim->reason_count + 1) * sizeof *reasons);
    size_t count = 0;
    if (members == NULL || reasons == NULL)
        return mk_fail_nomem(err);
    for (size_t i = 0; i < n; i++)
        if (!mk_str_eq(own->members[i].key, MK_STR("verdict")) &&
            !mk_str_eq(own->members[i].key, MK_STR("reasons")))
            members[count++] = own->members[i];
    for (size_t i = 0; i < claim->reason_count; i++)
        reasons[i] = text_node(mk_str_of(claim->reasons[i]));
    members[count++] = (mk_member){MK_STR("verdict"), text_node(mk_str_of(mk_verdict_name(claim->verdict)))};
    members[count++] = (mk_member){
        MK_STR("reasons"), {.kind = MK_JSON_ARRAY, .n = claim->reason_count, .items = reasons}};
    *out = (mk_json){.kind = MK_JSON_OBJECT, .n = count, .members = members};
    return MK_OK;
}

static mk_code put_claims(const mk_ask_result *result, mk_arena *arena, mk_buf *out, mk_err *err)
{
    mk_code rc = MK_OK;
    mk_buf_c(out, '[');
    /* Claims of an answer that does not leave have not left either. */
    for (size_t i = 0; !result->abstained && result->ran && i < result->report.claim_count; i++) {
        mk_json node;
        if (i != 0)
            mk_buf_c(out, ',');
        MK_TRY(rc, claim_node(&result->report.claims[i], arena, &node, err));
        MK_TRY(rc, mk_canon_tree(out, arena, &node, err));
    }
    mk_buf_c(out, ']');
out:
    return rc;
}

/* ---- the whole ---- */

static void put_texts(mk_buf *out, const char *name, const mk_str *texts, size_t count)
{
    mk_buf_printf(out, ",\"%s\":[", name);
    for (size_t i = 0; i < count; i++) {
        if (i != 0)
            mk_buf_c(out, ',');
        mk_canon_string(out, texts[i]);
    }
    mk_buf_c(out, ']');
}

static mk_code put_answer(const mk_ask_result *result, mk_arena *arena, mk_buf *out, mk_err *err)
{
    mk_code rc = MK_OK;
    if (result->abstained || result->value == NULL) {
        mk_buf_z(out, "null");
        goto out;
    }
    mk_buf_z(out, "{\"kind\":");
    mk_canon_string(out, result->answer_kind);
    mk_buf_z(out, ",\"text\":");
    mk_canon_string(out, result->report.text);
    mk_buf_z(out, ",\"value\":");
    MK_TRY(rc, mk_canon_tree(out, arena, result->value, err));
    mk_buf_c(out, '}');
out:
    return rc;
}

mk_code mk_ask_json(const mk_ask_result *result, mk_arena *arena, mk_buf *out, mk_err *err)
{
    mk_code rc;
    mk_buf_printf(out, "{\"abstained\":%s,\"answer\":", result->abstained ? "true" : "false");
    MK_TRY(rc, put_answer(result, arena, out, err));
    mk_buf_printf(out, ",\"as_of_tt\":%lld", (long long)result->as_of_tt);
    if (result->abstained)
        put_texts(out, "candidates", result->candidates, result->candidate_count);
    mk_buf_z(out, ",\"claims\":");
    MK_TRY(rc, put_claims(result, arena, out, err));
    mk_buf_printf(out, ",\"complete\":%s,\"dropped\":", result->complete ? "true" : "false");
    mk_buf_str(out, result->ran && result->gated.dropped.n != 0 ? result->gated.dropped : MK_STR("[]"));
    if (result->abstained)
        put_texts(out, "examples", result->examples, result->example_count);
    put_texts(out, "missing", result->missing, result->missing_count);
    mk_buf_printf(out, ",\"planner\":\"%s\",\"question\":", result->planner);
    mk_canon_string(out, result->question);
    if (result->ran)
        mk_buf_printf(out, ",\"trace\":\"%s\",\"understood\":", result->trace.digest);
    else
        mk_buf_z(out, ",\"trace\":null,\"understood\":");
    mk_canon_string(out, result->understood);
    mk_buf_c(out, '}');
    rc = mk_buf_done(out, err);
out:
    return rc;
}

/* ---- bundles ---- */

/* What decides whether running the plan again can give the same: program and operators. */
static mk_code put_versions(mk_buf *out, mk_arena *arena, mk_err *err)
{
    size_t count;
    const mk_operator *const *ops = mk_operators(&count);
    mk_buf schemas;
    uint8_t sum[32];
    char hex[65] = "";
    mk_code rc = MK_OK;
    mk_buf_init(&schemas, arena->alloc);
    for (size_t i = 0; i < count; i++)
        MK_TRY(rc, mk_op_schema_json(&schemas, arena, ops[i], err));
    MK_TRY(rc, mk_buf_done(&schemas, err));
    mk_sha256_of(schemas.p, schemas.n, sum);
    mk_hex(hex, sum, 32);
    mk_buf_printf(out, "{\"merkhet\":\"" RUNTIME_VERSION "\",\"operators\":%zu,\"registry\":\"%s\"}", count,
                  hex);
    rc = mk_buf_done(out, err);
out:
    mk_buf_free(&schemas);
    return rc;
}

mk_code mk_ask_bundle(const mk_ask_result *result, mk_objects *objects, mk_arena *arena, mk_buf *out,
                      mk_err *err)
{
    mk_buf versions, report;
    mk_code rc;
    mk_buf_init(&versions, arena->alloc);
    mk_buf_init(&report, arena->alloc);
    if (!result->ran) {
        mk_fail(err, MK_E_STATE, "nothing was run, so there is no evidence to put into a bundle");
        mk_err_reason(err, "abstained");
        mk_err_hint(err, "ask a question that the store can answer; `merkhet ask` lists some");
        rc = MK_E_STATE;
        goto out;
    }
    MK_TRY(rc, put_versions(&versions, arena, err));
    mk_answer_report_json(&result->report, &report);
    MK_TRY(rc, mk_buf_done(&report, err));
    const mk_bundle_parts parts = {
        .question = result->question,
        .plan = result->plan,
        .trace = result->trace.json,
        .answer = result->gated.emitted ? result->gated.answer : MK_STR("{\"claims\":[],\"text\":\"\"}"),
        .report = mk_buf_view(&report),
        .prompts = result->prompts,
        .versions = mk_buf_view(&versions)};
    rc = mk_bundle_write(&parts, mk_ask__get, objects, arena, out, err);
out:
    mk_buf_free(&report);
    mk_buf_free(&versions);
    return rc;
}

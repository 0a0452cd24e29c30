/* agent_verify.c — answers that a client's own model wrote, rated as ours are. See agent_api.h.
 * Layer: serve.
 *
 * Claims name results of the session by their digests. Source: decisions.md 4, 5, 7. */
#include "serve/agent_api.h"

#include <stdio.h>

#include "base/canon.h"
#include "base/sha256.h"
#include "claim/answer.h"
#include "claim/bundle.h"

#define CITED_MAX 64

typedef struct citing {
    mk_service *service;
    const mk_caller *caller;
    mk_arena *arena;
    char digests[CITED_MAX][65];
    mk_kept kept[CITED_MAX];
    char records[CITED_MAX][65]; /* names of the call records */
    mk_str record_text[CITED_MAX];
    size_t count;
    mk_err *err;
} citing;

/* The step that stands for a digest, "s3"; it must be a result of this session. */
static mk_code step_of(citing *c, mk_str digest, char step[8])
{
    size_t i = 0;
    while (i < c->count && !mk_str_eq(mk_str_of(c->digests[i]), digest))
        i++;
    if (i == c->count) {
        if (digest.n != 64 || i == CITED_MAX) {
            mk_fail(c->err, MK_E_INVALID_ARG,
                    "evidence and from name results by their digests, at most %d of them", CITED_MAX);
            mk_err_hint(c->err,
                        "write \"<result_digest>\" in evidence and \"<result_digest>.rows_total\" in from");
            return MK_E_INVALID_ARG;
        }
        const mk_code rc = mk_keep_get(c->service->keep, MK_STR("result"), digest, c->caller->principal,
                                       c->arena, &c->kept[i], c->err);
        if (rc == MK_E_NOT_FOUND)
            mk_err_hint(
                c->err,
                "only results that this session was given can be cited: repeat the call that gave it");
        if (rc != MK_OK)
            return rc;
        snprintf(c->digests[i], sizeof c->digests[i], "%.*s", MK_STR_ARG(digest));
        c->count++;
    }
    snprintf(step, 8, "s%zu", i + 1);
    return MK_OK;
}

static mk_code put_steps(citing *c, const mk_json *list, mk_buf *out)
{
    char step[8];
    const mk_json *items = list->kind == MK_JSON_ARRAY ? list->items : list;
    const size_t n = list->kind == MK_JSON_ARRAY ? list->n : 1;
    mk_buf_c(out, '[');
    for (size_t i = 0; i < n; i++) {
        const mk_code rc = items[i].kind == MK_JSON_STRING
                               ? step_of(c, items[i].text, step)
                               : mk_fail(c->err, MK_E_SCHEMA, "evidence is a list of digests");
        if (rc != MK_OK)
            return rc;
        mk_buf_printf(out, "%s\"%s\"", i ? "," : "", step);
    }
    mk_buf_c(out, ']');
    return MK_OK;
}

static bool is_path(mk_str key)
{
    return mk_str_eq(key, MK_STR("from")) || mk_str_eq(key, MK_STR("num")) || mk_str_eq(key, MK_STR("den")) ||
           mk_str_eq(key, MK_STR("left")) || mk_str_eq(key, MK_STR("right"));
}

/* A claim with steps in the place of digests. */
static mk_code put_claim(citing *c, const mk_json *claim, mk_buf *out)
{
    char step[8];
    mk_code rc = MK_OK;
    if (claim->kind != MK_JSON_OBJECT)
        return mk_fail(c->err, MK_E_SCHEMA, "a claim is an object with id, type, from and evidence");
    mk_buf_c(out, '{');
    for (size_t i = 0; i < claim->n; i++) {
        const mk_member *m = &claim->members[i];
        if (i > 0)
            mk_buf_c(out, ',');
        mk_canon_string(out, m->key);
        mk_buf_c(out, ':');
        if (mk_str_eq(m->key, MK_STR("evidence"))) {
            MK_TRY(rc, put_steps(c, &m->value, out));
        } else if (is_path(m->key) && m->value.kind == MK_JSON_STRING && m->value.text.n > 64) {
            MK_TRY(rc, step_of(c, (mk_str){m->value.text.p, 64}, step));
            mk_buf_printf(out, "\"%s%.*s\"", step,
                          (int)(m->value.text.n - 64 > 300 ? 300 : m->value.text.n - 64),
                          m->value.text.p + 64);
        } else if (mk_str_eq(m->key, MK_STR("claim"))) {
            MK_TRY(rc, put_claim(c, &m->value, out));
        } else {
            MK_TRY(rc, mk_canon_tree(out, c->arena, &m->value, c->err));
        }
    }
    mk_buf_c(out, '}');
out:
    return rc;
}

static mk_code put_answer(citing *c, const mk_json *arguments, mk_buf *out)
{
    const mk_json *claims = mk_json_get(arguments, "claims");
    mk_str text, list_text;
    mk_json *list;
    mk_code rc;
    MK_TRY(rc, mk_agent__text(arguments, "text", &text, c->err));
    MK_TRY(rc, mk_agent__json(arguments, "claims", c->arena, &list_text, c->err));
    MK_TRY(rc, mk_json_parse(c->arena, list_text, NULL, &list, c->err));
    (void)claims;
    if (list->kind != MK_JSON_ARRAY) {
        rc = mk_fail(c->err, MK_E_SCHEMA, "claims: a list of claims is needed");
        goto out;
    }
    mk_buf_z(out, "{\"claims\":[");
    for (size_t i = 0; i < list->n; i++) {
        if (i > 0)
            mk_buf_c(out, ',');
        MK_TRY(rc, put_claim(c, &list->items[i], out));
    }
    mk_buf_z(out, "],\"text\":");
    mk_canon_string(out, text);
    mk_buf_c(out, '}');
    rc = mk_buf_done(out, c->err);
out:
    return rc;
}

/* The calls that were cited, as a trace and records of the usual shape. */
static mk_code put_trace(citing *c, mk_buf *out)
{
    bool one_tt = true;
    mk_buf record;
    mk_code rc = MK_OK;
    mk_buf_init(&record, c->arena->alloc);
    for (size_t i = 1; i < c->count; i++)
        one_tt &= c->kept[i].tt == c->kept[0].tt;
    mk_buf_z(out, "{\"answer\":null,\"answer_error\":null,\"answer_gaps\":[],\"as_of_tt\":");
    if (one_tt && c->count > 0)
        mk_buf_i64(out, c->kept[0].tt);
    else
        mk_buf_z(out, "null");
    mk_buf_z(out, ",\"ok\":true,\"plan_id\":\"session\",\"steps\":[");
    for (size_t i = 0; i < c->count; i++) {
        const mk_kept *k = &c->kept[i];
        uint8_t sha[32];
        mk_buf_clear(&record);
        mk_buf_printf(&record,
                      "{\"args\":%.*s,\"as_of_tt\":%lld,\"completeness\":%.*s,\"deps\":[],\"op\":\"%.*s\","
                      "\"payload_digest\":\"%s\"}",
                      (int)k->args.n, k->args.p, (long long)k->tt, (int)k->gaps.n, k->gaps.p,
                      MK_STR_ARG(k->op), c->digests[i]);
        MK_TRY(rc, mk_buf_done(&record, c->err));
        mk_sha256_of(record.p, record.n, sha);
        mk_hex(c->records[i], sha, sizeof sha);
        c->records[i][64] = '\0';
        c->record_text[i] = mk_arena_copy(c->arena, mk_buf_view(&record));
        if (c->record_text[i].p == NULL) {
            rc = mk_fail_nomem(c->err);
            goto out;
        }
        mk_buf_printf(out,
                      "%s{\"call_digest\":\"%s\",\"completeness\":%.*s,\"op\":\"%.*s\",\"result_digest\":\"%"
                      "s\",\"status\":\"ok\",\"step_id\":\"s%zu\"}",
                      i ? "," : "", c->records[i], (int)k->gaps.n, k->gaps.p, MK_STR_ARG(k->op),
                      c->digests[i], i + 1);
    }
    mk_buf_z(out, "]}");
    rc = mk_buf_done(out, c->err);
out:
    mk_buf_free(&record);
    return rc;
}

static mk_code get_object(void *ctx, const char *digest, mk_arena *arena, mk_str *text, mk_err *err)
{
    const citing *c = ctx;
    for (size_t i = 0; i < c->count; i++) {
        const mk_str *found = strcmp(c->digests[i], digest) == 0   ? &c->kept[i].text
                              : strcmp(c->records[i], digest) == 0 ? &c->record_text[i]
                                                                   : NULL;
        if (found == NULL)
            continue;
        *text = mk_arena_copy(arena, *found);
        return text->p != NULL ? MK_OK : mk_fail_nomem(err);
    }
    return mk_fail(err, MK_E_NOT_FOUND, "no such object");
}

static mk_code put_verdict(const mk_answer_report *report, const mk_gated *gated, mk_buf *out, mk_err *err)
{
    mk_buf_z(out, "{\"report\":");
    mk_answer_report_json(report, out);
    mk_buf_printf(out, ",\"emitted\":%s,\"answer\":", gated->emitted ? "true" : "false");
    mk_buf_str(out, gated->emitted ? gated->answer : MK_STR("null"));
    mk_buf_z(out, ",\"dropped\":");
    mk_buf_str(out, gated->dropped.n != 0 ? gated->dropped : MK_STR("[]"));
    mk_buf_c(out, '}');
    return mk_buf_done(out, err);
}

static mk_code verify_session(mk_service *service, const mk_caller *caller, const mk_json *arguments,
                              mk_buf *text, mk_err *err)
{
    static const mk_verify_options options = {.strict = false};
    mk_arena *arena = caller->arena;
    citing *c = mk_arena_get0(arena, sizeof *c);
    mk_answer_report report;
    mk_evidence *evidence;
    mk_gated gated;
    mk_buf answer, trace;
    mk_code rc;
    if (c == NULL)
        return mk_fail_nomem(err);
    *c = (citing){.service = service, .caller = caller, .arena = arena, .err = err};
    mk_buf_init(&answer, service->alloc);
    mk_buf_init(&trace, service->alloc);
    MK_TRY(rc, put_answer(c, arguments, &answer));
    MK_TRY(rc, put_trace(c, &trace));
    MK_TRY(rc, mk_evidence_open(mk_buf_view(&trace), get_object, c, NULL, NULL, arena, &evidence, err));
    MK_TRY(rc, mk_answer_verify(mk_buf_view(&answer), evidence, &options, arena, &report, err));
    MK_TRY(rc, mk_answer_gate(&report, &options, arena, &gated, err));
    rc = put_verdict(&report, &gated, text, err);
out:
    mk_buf_free(&answer);
    mk_buf_free(&trace);
    return rc;
}

static mk_code verify_bundle(const mk_caller *caller, const mk_json *arguments, mk_buf *text, mk_err *err)
{
    static const mk_verify_options options = {.strict = false};
    mk_bundle_check check;
    mk_str bundle;
    mk_code rc;
    MK_TRY(rc, mk_agent__json(arguments, "bundle", caller->arena, &bundle, err));
    MK_TRY(rc, mk_bundle_verify(bundle, &options, caller->arena, &check, err));
    mk_bundle_check_json(&check, text);
    rc = mk_buf_done(text, err);
out:
    return rc;
}

mk_code mk_agent_verify(mk_service *service, const mk_caller *caller, const mk_json *arguments, mk_buf *out,
                        mk_err *err)
{
    if (arguments == NULL || arguments->kind != MK_JSON_OBJECT) {
        mk_fail(err, MK_E_SCHEMA, "text and claims are needed, or a bundle");
        return MK_E_SCHEMA;
    }
    const mk_json *bundle = mk_json_get(arguments, "bundle");
    const bool given = bundle != NULL && bundle->kind != MK_JSON_NULL &&
                       !(bundle->kind == MK_JSON_STRING && bundle->text.n == 0);
    return given ? verify_bundle(caller, arguments, out, err)
                 : verify_session(service, caller, arguments, out, err);
}

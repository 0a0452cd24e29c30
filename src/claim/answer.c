/* answer.c — an answer against its evidence, and the report about it. Layer: claim.
 *
 * Every claim gets a verdict; then the text is looked through for numbers and identifiers that no claim
 * covers. Nothing an answer holds is an error of this function. Source: agent spec, 12.1, 12.2, 12.8. */
#include "claim/claim_internal.h"

const char *mk_verdict_name(mk_verdict verdict)
{
    static const char *const names[] = {
        [MK_SUPPORTED] = "supported",
        [MK_WEAKLY_SUPPORTED] = "weakly_supported",
        [MK_UNSUPPORTED] = "unsupported",
        [MK_UNVERIFIABLE] = "unverifiable",
    };
    return names[verdict];
}

mk_code mk_claim__keep(mk_buf *buf, mk_arena *arena, mk_str *out, mk_err *err)
{
    mk_code rc = mk_buf_done(buf, err);
    if (rc == MK_OK) {
        *out = mk_arena_copy(arena, mk_buf_view(buf));
        rc = out->p != NULL ? MK_OK : mk_fail_nomem(err);
    }
    mk_buf_free(buf);
    return rc;
}

/* ---- the claims ---- */

static mk_code check_claim(const mk_json *claim, mk_evidence *evidence, const mk_verify_options *options,
                           mk_arena *arena, mk_claim_result *result, mk_err *err)
{
    mk_checking c = {.evidence = evidence,
                     .options = options,
                     .arena = arena,
                     .claim = claim,
                     .cites = mk_json_get(claim, "evidence"),
                     .result = result};
    result->id = mk_json_get(claim, "id")->text;
    result->type = mk_json_get(claim, "type")->text;
    result->claim = claim;
    const mk_code rc = mk_claim__run(&c, err);
    if (rc == MK_OK && result->reason.p == NULL)
        return mk_fail_nomem(err);
    return rc;
}

static mk_code check_claims(const mk_json *claims, mk_evidence *evidence, const mk_verify_options *options,
                            mk_arena *arena, mk_answer_report *out, mk_err *err)
{
    out->claims = mk_arena_get0(arena, claims->n * sizeof *out->claims);
    if (out->claims == NULL)
        return mk_fail_nomem(err);
    out->claim_count = claims->n;
    for (size_t i = 0; i < claims->n; i++) {
        const mk_code rc = check_claim(&claims->items[i], evidence, options, arena, &out->claims[i], err);
        if (rc != MK_OK)
            return rc;
    }
    return MK_OK;
}

static double share_unsupported(const mk_answer_report *report)
{
    size_t count = 0;
    for (size_t i = 0; i < report->claim_count; i++)
        count += report->claims[i].verdict == MK_UNSUPPORTED;
    return report->claim_count > 0 ? (double)count / (double)report->claim_count : 0;
}

/* ---- the text ---- */

/* All identifiers that a text about this evidence could name: those of the results and those that claims
 * name, true or not. */
static mk_code collect_ids(mk_evidence *evidence, mk_answer_report *report, const mk_cover *claimed,
                           mk_arena *arena, mk_err *err)
{
    size_t most = claimed->string_count;
    mk_lexicon *lexicon;
    for (size_t i = 0; i < evidence->step_count; i++) {
        if (evidence->steps[i].payload == NULL || mk_claim__is_compute(&evidence->steps[i]))
            continue;
        const mk_code rc = mk_evidence__lexicon(evidence, &evidence->steps[i], &lexicon, err);
        if (rc != MK_OK)
            return rc;
        most += lexicon->id_count;
    }
    mk_str *ids = mk_arena_get(arena, most * sizeof *ids);
    if (ids == NULL)
        return mk_fail_nomem(err);
    size_t count = claimed->string_count;
    if (count > 0)
        memcpy(ids, claimed->strings, count * sizeof *ids);
    for (size_t i = 0; i < evidence->step_count; i++) {
        lexicon = &evidence->steps[i].lexicon;
        if (evidence->steps[i].payload == NULL || mk_claim__is_compute(&evidence->steps[i]) ||
            lexicon->id_count == 0)
            continue;
        memcpy(ids + count, lexicon->ids, lexicon->id_count * sizeof *ids);
        count += lexicon->id_count;
    }
    report->ids = ids;
    report->id_count = mk_lexicon_sort(ids, count);
    return MK_OK;
}

static mk_code measure(mk_evidence *evidence, mk_arena *arena, mk_answer_report *report, mk_err *err)
{
    const mk_json **claims = mk_arena_get(arena, report->claim_count * sizeof(const mk_json *));
    mk_cover cover;
    mk_mentions mentions;
    mk_code rc;
    if (claims == NULL)
        return mk_fail_nomem(err);
    for (size_t i = 0; i < report->claim_count; i++)
        claims[i] = report->claims[i].claim;
    MK_TRY(rc, mk_prose__cover(claims, report->claim_count, arena, &cover, err));
    MK_TRY(rc, collect_ids(evidence, report, &cover, arena, err));
    MK_TRY(rc, mk_prose__mentions(report->text, report->ids, report->id_count, arena, &mentions, err));
    report->uncovered = mk_arena_get(arena, mentions.count * sizeof *report->uncovered);
    if (report->uncovered == NULL)
        return mk_fail_nomem(err);
    for (size_t i = 0; i < mentions.count; i++) {
        const mk_mention *m = &mentions.items[i];
        if (!mk_prose__covers(&cover, report->text, m))
            report->uncovered[report->uncovered_count++] = (mk_str){report->text.p + m->start,
                                                                    m->end - m->start};
    }
    report->coverage =
        mentions.count > 0 ? 1 - (double)report->uncovered_count / (double)mentions.count : 1;
out:
    return rc;
}

mk_code mk_answer_verify(mk_str answer, mk_evidence *evidence, const mk_verify_options *options,
                         mk_arena *arena, mk_answer_report *out, mk_err *err)
{
    static const mk_verify_options usual = {.strict = false};
    const mk_json *tree;
    mk_code rc;
    *out = (mk_answer_report){.ucr = 1};
    evidence->work = MK_CLAIM_WORK_MAX;
    MK_TRY(rc, mk_answer__read(answer, arena, &tree, &out->schema_error, err));
    if (tree == NULL)
        goto out;
    out->schema_valid = true;
    out->text = mk_json_get(tree, "text")->text;
    MK_TRY(rc, check_claims(mk_json_get(tree, "claims"), evidence, options != NULL ? options : &usual, arena,
                            out, err));
    out->ucr = share_unsupported(out);
    rc = measure(evidence, arena, out, err);
out:
    return rc;
}

/* ---- the report as JSON ---- */

static void put_claim(mk_buf *out, const mk_claim_result *result)
{
    mk_buf_z(out, "{\"id\":");
    mk_canon_string(out, result->id);
    mk_buf_z(out, ",\"reason\":");
    mk_canon_string(out, result->reason);
    mk_buf_z(out, ",\"reasons\":[");
    for (size_t i = 0; i < result->reason_count; i++) {
        mk_buf_z(out, i > 0 ? "," : "");
        mk_canon_string(out, mk_str_of(result->reasons[i]));
    }
    mk_buf_z(out, "],\"type\":");
    mk_canon_string(out, result->type);
    mk_buf_printf(out, ",\"verdict\":\"%s\"}", mk_verdict_name(result->verdict));
}

static void put_metrics(mk_buf *out, const mk_answer_report *report)
{
    mk_buf_z(out, "{\"coverage\":");
    mk_canon_double(out, mk_round9(report->coverage));
    mk_buf_z(out, ",\"n_claims\":");
    mk_buf_u64(out, report->claim_count);
    mk_buf_z(out, ",\"ucr\":");
    mk_canon_double(out, mk_round9(report->ucr));
    mk_buf_z(out, ",\"uncovered\":[");
    for (size_t i = 0; i < report->uncovered_count; i++) {
        mk_buf_z(out, i > 0 ? "," : "");
        mk_canon_string(out, report->uncovered[i]);
    }
    mk_buf_z(out, "]}");
}

void mk_answer_report_json(const mk_answer_report *report, mk_buf *out)
{
    mk_buf_z(out, "{\"claims\":[");
    for (size_t i = 0; i < report->claim_count; i++) {
        mk_buf_z(out, i > 0 ? "," : "");
        put_claim(out, &report->claims[i]);
    }
    mk_buf_c(out, ']');
    if (!report->schema_valid) {
        mk_buf_z(out, ",\"error\":");
        mk_canon_string(out, report->schema_error);
    }
    mk_buf_z(out, ",\"metrics\":");
    put_metrics(out, report);
    mk_buf_printf(out, ",\"schema_valid\":%s}", report->schema_valid ? "true" : "false");
}

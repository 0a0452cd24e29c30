/* gate.c — what of an answer may leave. Layer: claim.
 *
 * One policy for every surface: supported claims stay, weak ones stay and are qualified in words, what
 * is unsupported is dropped, what could not be verified is kept out of the text. A sentence stays when
 * every number, time and identifier in it is covered by a surviving claim; once a claim has fallen, a
 * sentence that mentions nothing may rest on it and goes too. When no sentence is left, the surviving
 * claims are put into words. Source: agent spec, 12.7, 18.5, O-4. */
#include "claim/claim_internal.h"

typedef struct gating {
    const mk_answer_report *report;
    mk_arena *arena;
    const mk_json **kept;
    const mk_claim_result **weak;
    size_t kept_count, supported_count, weak_count;
    bool any_fell;
    mk_cover supported, all;
    mk_mentions mentions;
    mk_buf text;
    bool qualified;
} gating;

/* Supported claims first, so that both covers are a part of one list. */
static mk_code sort_claims(gating *g, mk_err *err)
{
    const size_t n = g->report->claim_count;
    g->kept = mk_arena_get(g->arena, n * sizeof(const mk_json *));
    g->weak = mk_arena_get(g->arena, n * sizeof(const mk_claim_result *));
    if (g->kept == NULL || g->weak == NULL)
        return mk_fail_nomem(err);
    for (size_t i = 0; i < n; i++)
        if (g->report->claims[i].verdict == MK_SUPPORTED)
            g->kept[g->kept_count++] = g->report->claims[i].claim;
    g->supported_count = g->kept_count;
    for (size_t i = 0; i < n; i++) {
        const mk_claim_result *claim = &g->report->claims[i];
        g->any_fell |= claim->verdict == MK_UNSUPPORTED || claim->verdict == MK_UNVERIFIABLE;
        if (claim->verdict != MK_WEAKLY_SUPPORTED)
            continue;
        g->kept[g->kept_count++] = claim->claim;
        g->weak[g->weak_count++] = claim;
    }
    return MK_OK;
}

/* ---- sentences ---- */

typedef enum standing { FALLS, STANDS, STANDS_WEAKLY } standing;

/* `next` is the first mention of the sentence, and afterwards that of the next one. */
static standing judge(const gating *g, size_t end, size_t *next)
{
    bool stands = true, weak = false;
    const size_t first = *next;
    for (; *next < g->mentions.count && g->mentions.items[*next].start < end; (*next)++) {
        const mk_mention *m = &g->mentions.items[*next];
        if (mk_prose__covers(&g->supported, g->report->text, m))
            continue;
        weak = true;
        stands &= mk_prose__covers(&g->all, g->report->text, m);
    }
    if (!stands || (*next == first && g->any_fell))
        return FALLS;
    return weak ? STANDS_WEAKLY : STANDS;
}

/* "(Incomplete: only part of the rows was read.)", every reason of the weak claims once. */
static void put_qualifier(gating *g)
{
    mk_claim_result joined = {.reason_count = 0};
    for (size_t i = 0; i < g->weak_count; i++)
        for (size_t r = 0; r < g->weak[i]->reason_count; r++) {
            bool known = false;
            for (size_t k = 0; k < joined.reason_count; k++)
                known |= strcmp(joined.reasons[k], g->weak[i]->reasons[r]) == 0;
            if (!known && joined.reason_count < sizeof joined.reasons / sizeof *joined.reasons)
                joined.reasons[joined.reason_count++] = g->weak[i]->reasons[r];
        }
    mk_buf_z(&g->text, "(Incomplete: ");
    mk_claim__qualifier(&g->text, &joined);
    mk_buf_z(&g->text, ".)");
    g->qualified = true;
}

static mk_str trimmed(mk_str text)
{
    while (text.n > 0 && (text.p[text.n - 1] == ' ' || text.p[text.n - 1] == '\n' ||
                          text.p[text.n - 1] == '\t' ||
                          text.p[text.n - 1] == '\r'))
        text.n--;
    return text;
}

/* The sentences that stand. A qualifier follows the last of those that need one. */
static bool keep_sentences(gating *g)
{
    const mk_str text = g->report->text;
    size_t at = 0, next = 0;
    bool any = false, owed = false;
    while (at < text.n) {
        const size_t end = mk_prose__sentence_end(text, at, &g->mentions);
        const standing s = judge(g, end, &next);
        if (s == STANDS && owed) {
            mk_buf_c(&g->text, ' ');
            put_qualifier(g);
            owed = false;
        }
        if (s != FALLS) {
            mk_buf_z(&g->text, any ? " " : "");
            mk_buf_str(&g->text, trimmed((mk_str){text.p + at, end - at}));
            any = true;
            owed |= s == STANDS_WEAKLY;
        }
        at = end;
    }
    if (any && (owed || (g->weak_count > 0 && !g->qualified))) {
        mk_buf_c(&g->text, ' ');
        put_qualifier(g);
    }
    return any && trimmed(mk_buf_view(&g->text)).n > 0;
}

static void put_claims_in_words(gating *g)
{
    mk_buf_clear(&g->text);
    g->qualified = false;
    for (size_t i = 0; i < g->kept_count; i++) {
        mk_buf_z(&g->text, i > 0 ? " " : "");
        mk_claim__words(&g->text, g->kept[i]);
        mk_buf_c(&g->text, '.');
        if (i < g->supported_count)
            continue;
        mk_buf_z(&g->text, " (Incomplete: ");
        mk_claim__qualifier(&g->text, g->weak[i - g->supported_count]);
        mk_buf_z(&g->text, ".)");
        g->qualified = true;
    }
}

static mk_code write_text(gating *g, mk_err *err)
{
    const mk_answer_report *report = g->report;
    mk_code rc;
    MK_TRY(rc, mk_prose__cover(g->kept, g->supported_count, g->arena, &g->supported, err));
    MK_TRY(rc, mk_prose__cover(g->kept, g->kept_count, g->arena, &g->all, err));
    MK_TRY(rc, mk_prose__mentions(report->text, report->ids, report->id_count, g->arena, &g->mentions, err));
    if (!keep_sentences(g))
        put_claims_in_words(g);
    rc = mk_buf_done(&g->text, err);
out:
    return rc;
}

/* ---- what leaves ---- */

static bool survives(const mk_claim_result *claim)
{
    return claim->verdict == MK_SUPPORTED || claim->verdict == MK_WEAKLY_SUPPORTED;
}

static mk_code put_answer(gating *g, mk_str text, mk_arena *arena, mk_str *out, mk_err *err)
{
    mk_buf buf;
    mk_code rc = MK_OK;
    bool first = true;
    mk_buf_init(&buf, arena->alloc);
    mk_buf_z(&buf, "{\"claims\":[");
    for (size_t i = 0; i < g->report->claim_count && rc == MK_OK; i++) {
        if (!survives(&g->report->claims[i]))
            continue;
        mk_buf_z(&buf, first ? "" : ",");
        first = false;
        rc = mk_canon_tree(&buf, arena, g->report->claims[i].claim, err);
    }
    mk_buf_z(&buf, "],\"text\":");
    mk_canon_string(&buf, text);
    mk_buf_c(&buf, '}');
    const mk_code kept = mk_claim__keep(&buf, arena, out, rc == MK_OK ? err : NULL);
    return rc != MK_OK ? rc : kept;
}

/* Those that fell: `strict` drops the unverifiable with the unsupported, otherwise they are listed as
 * unverified. */
static mk_code put_fallen(const mk_answer_report *report, bool unsupported, bool unverifiable,
                          mk_arena *arena, mk_str *out, mk_err *err)
{
    mk_buf buf;
    bool first = true;
    mk_buf_init(&buf, arena->alloc);
    mk_buf_c(&buf, '[');
    for (size_t i = 0; i < report->claim_count; i++) {
        const mk_claim_result *claim = &report->claims[i];
        if (!(unsupported && claim->verdict == MK_UNSUPPORTED) &&
            !(unverifiable && claim->verdict == MK_UNVERIFIABLE))
            continue;
        mk_buf_z(&buf, first ? "{\"id\":" : ",{\"id\":");
        first = false;
        mk_canon_string(&buf, claim->id);
        mk_buf_z(&buf, ",\"reason\":");
        mk_canon_string(&buf, claim->reason);
        mk_buf_printf(&buf, ",\"verdict\":\"%s\"}", mk_verdict_name(claim->verdict));
    }
    mk_buf_c(&buf, ']');
    return mk_claim__keep(&buf, arena, out, err);
}

mk_code mk_answer_gate(const mk_answer_report *report, const mk_verify_options *options, mk_arena *arena,
                       mk_gated *out, mk_err *err)
{
    gating g = {.report = report, .arena = arena};
    const bool strict = options != NULL && options->strict;
    mk_code rc;
    *out = (mk_gated){.emitted = false};
    mk_buf_init(&g.text, arena->alloc);
    MK_TRY(rc, sort_claims(&g, err));
    if (g.kept_count > 0)
        MK_TRY(rc, write_text(&g, err));
    else
        mk_buf_z(&g.text, "No answer is given: nothing that was claimed holds in the results.");
    MK_TRY(rc, put_answer(&g, mk_buf_view(&g.text), arena, &out->answer, err));
    MK_TRY(rc, put_fallen(report, true, strict, arena, &out->dropped, err));
    MK_TRY(rc, put_fallen(report, false, !strict, arena, &out->unverified, err));
    out->emitted = g.kept_count > 0;
    out->qualified = g.qualified;
out:
    mk_buf_free(&g.text);
    return rc;
}

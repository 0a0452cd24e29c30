/* page.c — the page from top to bottom. Layer: agent. */
#include "agent/page_internal.h"

#include "base/sha256.h"

enum { CLAIM_MAX = 500, LIST_MAX = 40 };

/* ---- what claims cite ---- */

static void cite(mk_html *page, const mk_json *value)
{
    if (value != NULL && value->kind == MK_JSON_STRING && page->cited_count < PAGE_CITED_MAX &&
        mk_ref_parse(value->text, true, &page->cited[page->cited_count], NULL) == MK_OK)
        page->cited_count++;
}

static const char *const path_members[] = {"from", "left", "right", "num", "den"};
enum { PATH_MEMBERS = sizeof path_members / sizeof *path_members };

static void collect_cited(mk_html *page)
{
    const mk_json *claims = mk_html__list(page->ask, "claims");
    for (size_t i = 0; claims != NULL && i < claims->n; i++)
        for (size_t m = 0; m < PATH_MEMBERS; m++)
            cite(page, mk_json_get(&claims->items[i], path_members[m]));
}

/* ---- head ---- */

static void put_hash(mk_buf *out, mk_str text)
{
    uint8_t sum[32];
    mk_sha256_of(text.p, text.n, sum);
    mk_buf_z(out, "'sha256-");
    mk_html__base64(out, sum, sizeof sum);
    mk_buf_c(out, '\'');
}

/* The policy names the only script and style by their hashes: whatever data might smuggle in does not run,
 * and nothing is fetched. */
static void put_head(mk_html *page)
{
    mk_buf *out = page->out;
    mk_buf_z(out, "<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8>\n"
                  "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; script-src ");
    put_hash(out, mk_html__script());
    mk_buf_z(out, "; style-src ");
    put_hash(out, mk_html__style());
    mk_buf_z(out, "; base-uri 'none'; form-action 'none'\">\n"
                  "<meta name=viewport content=\"width=device-width, initial-scale=1\">\n"
                  "<meta name=color-scheme content=\"light dark\">\n<title>");
    mk_html__clipped(out, mk_html__member(page->ask, "question"), 120);
    mk_buf_z(out, "</title>\n<style>");
    mk_buf_str(out, mk_html__style());
    mk_buf_z(out, "</style></head>\n<body><a class=skip href=\"#main\">to the answer</a>\n<main id=main>\n");
}

/* ---- question and answer ---- */

static void put_list(mk_html *page, const char *title, const char *key)
{
    const mk_json *list = mk_html__list(page->ask, key);
    if (list == NULL || list->n == 0)
        return;
    mk_buf_printf(page->out, "<h3>%s</h3><ul>", title);
    for (size_t i = 0; i < list->n && i < LIST_MAX; i++) {
        mk_buf_z(page->out, "<li>");
        if (list->items[i].kind == MK_JSON_STRING)
            mk_html__clipped(page->out, list->items[i].text, CLAIM_MAX);
        else
            mk_html__json(page, &list->items[i], false, CLAIM_MAX);
        mk_buf_z(page->out, "</li>");
    }
    mk_buf_z(page->out, "</ul>\n");
}

static void put_facts(mk_html *page)
{
    mk_buf *out = page->out;
    const mk_json *complete = mk_json_get(page->ask, "complete");
    const mk_str understood = mk_html__member(page->ask, "understood"), trace = mk_html__member(page->ask,
                                                                                                "trace");
    int64_t as_of;
    mk_buf_z(out, "<dl>");
    if (understood.n != 0) {
        mk_buf_z(out, "<dt>understood as</dt><dd>");
        mk_html__clipped(out, understood, CLAIM_MAX);
        mk_buf_z(out, "</dd>");
    }
    if (mk_html__integer(page->ask, "as_of_tt", &as_of)) {
        mk_buf_z(out, "<dt>as believed at</dt><dd>");
        mk_html__time(out, as_of);
        mk_buf_z(out, "</dd>");
    }
    if (complete != NULL && complete->kind == MK_JSON_BOOL)
        mk_buf_printf(out, "<dt>complete</dt><dd>%s</dd>", complete->b ? "yes" : "no");
    mk_buf_z(out, "<dt>planner</dt><dd>");
    mk_html__text(out, mk_html__member(page->ask, "planner"));
    mk_buf_z(out, "</dd>");
    if (trace.n != 0) {
        mk_buf_z(out, "<dt>trace</dt><dd><code>");
        mk_html__text(out, trace);
        mk_buf_z(out, "</code></dd>");
    }
    mk_buf_z(out, "</dl>\n");
}

static void put_answer(mk_html *page)
{
    mk_buf *out = page->out;
    const mk_json *answer = mk_json_get(page->ask, "answer"), *gaps = mk_html__list(page->trace,
                                                                                    "answer_gaps");
    mk_buf_z(out, "<header><p class=eyebrow>Question</p><h1>");
    mk_html__text(out, mk_html__member(page->ask, "question"));
    mk_buf_z(out,
             "</h1></header>\n<section class=answer aria-labelledby=h-answer><h2 id=h-answer>Answer</h2>");
    if (answer != NULL && answer->kind == MK_JSON_OBJECT) {
        mk_buf_z(out, "<p class=text>");
        mk_html__clipped(out, mk_html__member(answer, "text"), 8 * CLAIM_MAX);
        mk_buf_z(out, "</p>");
    } else {
        mk_buf_z(out, "<p class=text>No answer is given.</p>");
    }
    put_facts(page);
    if (gaps != NULL && gaps->n != 0) {
        mk_buf_z(out, "<p class=error>The result is not complete: ");
        mk_html__json(page, gaps, false, CLAIM_MAX);
        mk_buf_z(out, "</p>");
    }
    put_list(page, "What is missing", "missing");
    put_list(page, "It could mean", "candidates");
    put_list(page, "Questions this store can answer", "examples");
    mk_buf_z(out, "</section>\n");
}

/* ---- claims ---- */

static void put_link(mk_html *page, mk_str path)
{
    mk_ref ref;
    if (mk_ref_parse(path, true, &ref, NULL) != MK_OK) {
        mk_html__clipped(page->out, path, CLAIM_MAX);
        return;
    }
    mk_buf_z(page->out, "<a href=\"#");
    mk_html__anchor(page->out, &ref);
    mk_buf_z(page->out, "\"><code>");
    mk_html__text(page->out, path);
    mk_buf_z(page->out, "</code></a> ");
}

/* The paths that a claim names; the steps it cites when it names none. */
static void put_evidence(mk_html *page, const mk_json *claim)
{
    const mk_json *steps = mk_html__list(claim, "evidence");
    bool any = false;
    mk_buf_z(page->out, "<p class=meta>rests on ");
    for (size_t m = 0; m < PATH_MEMBERS; m++) {
        const mk_str path = mk_html__member(claim, path_members[m]);
        if (path.n != 0) {
            put_link(page, path);
            any = true;
        }
    }
    for (size_t i = 0; !any && steps != NULL && i < steps->n; i++)
        if (steps->items[i].kind == MK_JSON_STRING)
            put_link(page, steps->items[i].text);
    mk_buf_z(page->out, "</p>");
}

static bool is_frame(mk_str key)
{
    static const char *const names[] = {"id", "type", "verdict", "reasons", "evidence", "from"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (mk_str_eq(key, mk_str_of(names[i])))
            return true;
    return false;
}

/* What is claimed: the members that are the claim's own. */
static void put_body(mk_html *page, const mk_json *claim)
{
    mk_buf_z(page->out, "<p class=claimed>");
    for (size_t i = 0; claim->kind == MK_JSON_OBJECT && i < claim->n; i++) {
        if (is_frame(claim->members[i].key))
            continue;
        mk_buf_z(page->out, "<span class=name>");
        mk_html__text(page->out, claim->members[i].key);
        mk_buf_z(page->out, "</span> ");
        mk_html__json(page, &claim->members[i].value, false, CLAIM_MAX);
        mk_buf_c(page->out, ' ');
    }
    mk_buf_z(page->out, "</p>");
}

/* The verifier's own sentence, from the report in the bundle. */
static mk_str reason_of(const mk_html *page, mk_str id)
{
    const mk_json *claims = mk_html__list(mk_json_get(page->bundle, "report"), "claims");
    for (size_t i = 0; claims != NULL && i < claims->n; i++)
        if (mk_str_eq(mk_html__member(&claims->items[i], "id"), id))
            return mk_html__member(&claims->items[i], "reason");
    return MK_STR("");
}

static void put_claim(mk_html *page, const mk_json *claim)
{
    mk_buf *out = page->out;
    const mk_str id = mk_html__member(claim, "id"), verdict = mk_html__member(claim, "verdict");
    mk_buf_z(out, "<li class=claim data-claim=\"");
    mk_html__text(out, id);
    mk_buf_z(out, "\"><p><span class=\"badge ");
    mk_html__text(out, verdict);
    mk_buf_z(out, "\">");
    mk_html__text(out, verdict);
    mk_buf_z(out, "</span> <strong>");
    mk_html__text(out, id);
    mk_buf_z(out, "</strong> ");
    mk_html__text(out, mk_html__member(claim, "type"));
    mk_buf_z(out, "</p>");
    put_body(page, claim);
    put_evidence(page, claim);
    mk_buf_z(out, "<p class=reason>");
    mk_html__clipped(out, reason_of(page, id), CLAIM_MAX);
    mk_buf_z(out, "</p></li>\n");
}

static void put_claims(mk_html *page)
{
    const mk_json *claims = mk_html__list(page->ask, "claims"), *dropped = mk_html__list(page->ask,
                                                                                         "dropped");
    mk_buf_z(page->out, "<section aria-labelledby=h-claims><h2 id=h-claims>Claims</h2>");
    if (claims == NULL || claims->n == 0)
        mk_buf_z(page->out, "<p>No claim stands.</p>");
    mk_buf_z(page->out, "<ul class=claims>\n");
    for (size_t i = 0; claims != NULL && i < claims->n; i++)
        put_claim(page, &claims->items[i]);
    mk_buf_z(page->out, "</ul>");
    if (dropped != NULL && dropped->n != 0)
        put_list(page, "Claims that were dropped", "dropped");
    mk_buf_z(page->out, "</section>\n");
}

/* ---- the check in the page ---- */

static void put_check(mk_html *page, mk_str bundle)
{
    mk_buf *out = page->out;
    if (bundle.n > MK_HTML_EMBED_MAX) {
        mk_buf_printf(out,
                      "<section><h2>Check it</h2><p>The evidence has %zu bytes, too many to carry along: "
                      "<code>--save-bundle FILE</code> keeps it, <code>merkhet verify FILE</code> "
                      "checks it.</p>"
                      "</section>\n",
                      bundle.n);
        return;
    }
    mk_buf_z(out,
             "<section id=check hidden aria-labelledby=h-check><h2 id=h-check>Check it here</h2>"
             "<p>This page carries the results it rests on. The small verifier below runs in this page, "
             "hashes them "
             "and looks every claim up again. Change something and see whether it notices. "
             "<code>merkhet verify</code> does the same, and more, for the whole bundle.</p>"
             "<p class=buttons><button type=button id=verify>Verify again</button> "
             "<button type=button id=tamper-answer>Tamper with the answer</button> "
             "<button type=button id=tamper-evidence>Tamper with the evidence</button> "
             "<button type=button id=restore>Undo</button> "
             "<button type=button id=save>Save the bundle</button></p>"
             "<div id=verdicts role=status aria-live=polite></div></section>\n"
             "<noscript><p>Script is off, so this page cannot check itself; everything else is here.</p>"
             "</noscript>\n"
             "<script type=\"application/octet-stream\" id=bundle>");
    mk_html__base64(out, bundle.p, bundle.n);
    mk_buf_z(out, "</script>\n<script>");
    mk_buf_str(out, mk_html__script());
    mk_buf_z(out, "</script>\n");
}

/* ---- the whole ---- */

static mk_code read_object(mk_arena *arena, mk_str text, const char *what, const mk_json **out, mk_err *err)
{
    mk_json *tree = NULL;
    const mk_code rc = mk_json_parse(arena, text, NULL, &tree, err);
    *out = tree;
    if (rc == MK_OK && tree->kind != MK_JSON_OBJECT)
        return mk_fail(err, MK_E_SCHEMA, "the %s is no JSON object", what);
    return rc;
}

mk_code mk_html_write(mk_str ask, mk_str bundle, mk_arena *arena, mk_buf *out, mk_err *err)
{
    mk_html *page = mk_arena_get0(arena, sizeof *page);
    mk_code rc;
    if (page == NULL) {
        rc = mk_fail_nomem(err);
        goto out;
    }
    page->out = out;
    page->arena = arena;
    MK_TRY(rc, read_object(arena, ask, "answer", &page->ask, err));
    if (bundle.n != 0)
        MK_TRY(rc, read_object(arena, bundle, "bundle", &page->bundle, err));
    page->plan = mk_json_get(page->bundle, "plan");
    page->trace = mk_json_get(page->bundle, "trace");
    page->calls = mk_json_get(page->bundle, "calls");
    page->payloads = mk_json_get(page->bundle, "payloads");
    collect_cited(page);
    put_head(page);
    put_answer(page);
    if (page->bundle != NULL) {
        put_claims(page);
        put_check(page, bundle);
        mk_html__plan(page);
        mk_html__time_axes(page);
        mk_html__steps(page);
    }
    mk_buf_z(out, "</main></body></html>\n");
    rc = mk_buf_done(out, err);
out:
    return rc;
}

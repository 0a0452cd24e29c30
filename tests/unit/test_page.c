/* test_page.c — the page of an answer: what it shows, what it links, and that data stays data. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/page.h"
#include "../support/testalloc.h"

#define HOSTILE "</script><script>alert(1)</script><img src=x onerror=alert(2)> \\\"' & \xe2\x80\xae"

#define CLAIM_1                                                                                    \
    "{\"evidence\":[\"s1\"],\"from\":\"s1.rows_total\",\"id\":\"c1\",\"reasons\":[],"              \
    "\"type\":\"count\",\"value\":2,\"verdict\":\"supported\"}"
#define CLAIM_2                                                                                    \
    "{\"evidence\":[\"s1\"],\"from\":\"s1.rows[30].uid\",\"id\":\"c2\",\"reasons\":[],"            \
    "\"type\":\"value\",\"value\":\"n30\",\"verdict\":\"supported\"}"
#define ASK                                                                                        \
    "{\"abstained\":false,\"answer\":{\"kind\":\"count\",\"text\":\"There are 2. " HOSTILE         \
    "\",\"value\":2},\"as_of_tt\":1700000000000000,\"claims\":[" CLAIM_1 "," CLAIM_2 "],"          \
    "\"complete\":true,\"dropped\":[],\"missing\":[],\"planner\":\"offline\","                     \
    "\"question\":\"How many " HOSTILE "?\",\"trace\":\"ab\",\"understood\":\"" HOSTILE "\"}"

#define STEP_1                                                                                     \
    "{\"call_digest\":\"cc\",\"completeness\":{\"rows\":[{\"reason\":\"" HOSTILE "\"}]},"          \
    "\"op\":\"entity_history\",\"result_digest\":\"dd\",\"status\":\"ok\",\"step_id\":\"s1\"}"
#define STEP_2                                                                                     \
    "{\"error\":{\"error\":\"E_COST\",\"message\":\"" HOSTILE "\"},\"op\":\"" HOSTILE              \
    "\",\"status\":\"failed\",\"step_id\":\"s2\"}"
#define PLAN                                                                                       \
    "{\"steps\":[{\"args\":{\"" HOSTILE "\":\"" HOSTILE "\"},\"depends_on\":[],\"id\":\"s1\","     \
    "\"op\":\"entity_history\"},{\"args\":{},\"depends_on\":[\"s1\"],\"id\":\"s2\","               \
    "\"op\":\"" HOSTILE "\"}]}"

/* A bundle with one step of `rows` rows, hostile in every string. */
static void make_bundle(mk_buf *out, size_t rows)
{
    mk_buf_z(out, "{\"answer\":{\"claims\":[],\"text\":\"" HOSTILE "\"},\"as_of_tt\":1700000000000000,"
                  "\"bundle\":1,\"calls\":{\"cc\":{\"args\":{\"as_of_tt\":1700000000000000,\"uid\":\"" HOSTILE
                  "\"},\"op\":\"entity_history\"}},\"digests\":{},"
                  "\"payloads\":{\"dd\":{\"" HOSTILE "\":1,\"rows\":[");
    for (size_t i = 0; i < rows; i++)
        mk_buf_printf(out,
                      "%s{\"" HOSTILE "\":\"" HOSTILE "\",\"tt_s\":1600000000000000,"
                      "\"tt_e\":4611686018427387904,\"uid\":\"n%zu\","
                      "\"vt_e\":4611686018427387904,\"vt_s\":%lld}",
                      i ? "," : "", i, 1500000000000000LL + (long long)i * 1000000);
    mk_buf_z(out, "],\"rows_total\":2}},\"plan\":" PLAN ",\"prompts\":[],\"question\":\"" HOSTILE "\","
                  "\"report\":{\"claims\":[{\"id\":\"c1\",\"reason\":\"" HOSTILE "\"}]},"
                  "\"trace\":{\"answer_gaps\":[],\"as_of_tt\":1700000000000000,"
                  "\"steps\":[" STEP_1 "," STEP_2 "]},\"versions\":{}}");
}

typedef struct page {
    mk_arena arena;
    mk_buf bundle, html;
} page;

static void open_page(page *p, const mk_alloc *alloc)
{
    mk_arena_init(&p->arena, alloc);
    mk_buf_init(&p->bundle, alloc);
    mk_buf_init(&p->html, alloc);
}

static void close_page(page *p)
{
    mk_buf_free(&p->html);
    mk_buf_free(&p->bundle);
    mk_arena_free(&p->arena);
}

static void make_page(page *p, size_t rows)
{
    mk_err err;
    open_page(p, &mk_alloc_default);
    make_bundle(&p->bundle, rows);
    if (mk_html_write(MK_STR(ASK), mk_buf_view(&p->bundle), &p->arena, &p->html, &err) != MK_OK)
        fail_msg("%s", err.message);
    mk_buf_c(&p->html, '\0');
}

static size_t count_of(const char *text, const char *part)
{
    size_t n = 0;
    for (const char *at = strstr(text, part); at != NULL; at = strstr(at + 1, part))
        n++;
    return n;
}

/* Method: every string of the fixture carries markup. The page has exactly the elements it has with none. */
static void test_page__data_stays_data(void **state)
{
    (void)state;
    page p;
    make_page(&p, 3);
    assert_int_equal(count_of(p.html.p, "<script"), 2); /* the bundle and the verifier */
    assert_int_equal(count_of(p.html.p, "<img"), 0);
    assert_int_equal(count_of(p.html.p, "alert(1)</script>"), 0);
    assert_int_equal(count_of(p.html.p, "\xe2\x80\xae"), 0);
    assert_true(count_of(p.html.p, "&lt;script&gt;alert(1)") > 8);
    assert_true(count_of(p.html.p, "\\u{202e}") > 8);
    close_page(&p);
}

static void test_page__nothing_is_fetched(void **state)
{
    (void)state;
    page p;
    make_page(&p, 3);
    static const char *const outside[] = {"http:", "https:", " src=", "<link", "@import", "url(http",
                                          "<base", "<iframe"};
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++)
        if (count_of(p.html.p, outside[i]) != count_of(p.html.p, "src=x onerror") * (i == 2))
            fail_msg("the page has \"%s\"", outside[i]);
    assert_int_equal(count_of(p.html.p, "default-src 'none'"), 1);
    close_page(&p);
}

static void test_page__claims_lead_to_what_they_cite(void **state)
{
    (void)state;
    page p;
    make_page(&p, 40);
    assert_int_equal(count_of(p.html.p, "href=\"#s1.rows_total\""), 1);
    assert_int_equal(count_of(p.html.p, "id=\"s1.rows_total\""), 1);
    assert_int_equal(count_of(p.html.p, "href=\"#s1.rows-30\""), 1);
    assert_int_equal(count_of(p.html.p, "<tr class=cited id=\"s1.rows-30\">"), 1);
    assert_int_equal(count_of(p.html.p, "id=\"s1.rows-31\""), 0); /* beyond MK_HTML_ROWS and not cited */
    assert_non_null(strstr(p.html.p, "14 more rows"));
    assert_int_equal(count_of(p.html.p, "href=\"#s2\""), 1); /* the box of the graph */
    assert_int_equal(count_of(p.html.p, "<rect class=version"), 40);
    close_page(&p);
}

static void test_page__times_stand_in_both_forms(void **state)
{
    (void)state;
    page p;
    make_page(&p, 1);
    assert_non_null(strstr(p.html.p, "2023-11-14T22:13:20Z <span class=us>1700000000000000</span>"));
    assert_non_null(strstr(p.html.p, "<span class=time>open</span>"));
    close_page(&p);
}

static void test_page__an_abstention_needs_no_bundle(void **state)
{
    (void)state;
    page p;
    mk_err err;
    open_page(&p, &mk_alloc_default);
    const mk_str ask = MK_STR("{\"abstained\":true,\"answer\":null,\"candidates\":[\"ada\"],\""
                              "examples\":[\"Who?\"],"
                              "\"missing\":[\"the <weather>\"],\"planner\":\"offline\",\"question\":\""
                              "Rain?\"}");
    assert_int_equal(mk_html_write(ask, (mk_str){0}, &p.arena, &p.html, &err), MK_OK);
    mk_buf_c(&p.html, '\0');
    assert_non_null(strstr(p.html.p, "No answer is given."));
    assert_non_null(strstr(p.html.p, "the &lt;weather&gt;"));
    assert_non_null(strstr(p.html.p, "Who?"));
    assert_int_equal(count_of(p.html.p, "<script"), 0);
    close_page(&p);
}

/* Members of every wrong kind: the page shows less, and is a page. */
static void test_page__any_shape_gives_a_page_or_an_error(void **state)
{
    (void)state;
    static const char *const values[] = {"null", "1", "\"x\"", "[]", "[1,[2]]", "{}",
                                         "{\"steps\":[{\"id\":1,\"depends_on\":[\"s9\",2]}]}",
                                         "{\"steps\":3}", "{\"claims\":[null,{\"id\":[],\"from\":\""
                                                          "s1..x\"}]}", "1e999", "-1"};
    static const char *const keys[] = {"answer", "as_of_tt", "calls", "payloads", "plan", "report", "trace",
                                       "claims", "dropped", "missing"};
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
        for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
            page p;
            mk_err err;
            mk_buf text;
            open_page(&p, &mk_alloc_default);
            mk_buf_init(&text, &mk_alloc_default);
            mk_buf_printf(&text, "{\"%s\":%s}", keys[k], values[v]);
            (void)!mk_html_write(mk_buf_view(&text), mk_buf_view(&text), &p.arena, &p.html, &err);
            mk_buf_free(&text);
            close_page(&p);
        }
    page p;
    mk_err err;
    open_page(&p, &mk_alloc_default);
    assert_int_equal(mk_html_write(MK_STR("[]"), (mk_str){0}, &p.arena, &p.html, &err), MK_E_SCHEMA);
    close_page(&p);
}

static void test_page__running_out_of_memory_is_an_error(void **state)
{
    (void)state;
    testalloc ta;
    testalloc_init(&ta);
    mk_code rc = MK_E_NOMEM;
    for (uint64_t n = 1; rc != MK_OK && n < 2000; n++) {
        page p;
        open_page(&p, &ta.hook);
        mk_buf bundle;
        mk_buf_init(&bundle, &mk_alloc_default);
        make_bundle(&bundle, 2);
        testalloc_fail(&ta, n, true);
        rc = mk_html_write(MK_STR(ASK), mk_buf_view(&bundle), &p.arena, &p.html, NULL);
        testalloc_fail(&ta, 0, false);
        assert_true(rc == MK_OK || rc == MK_E_NOMEM);
        mk_buf_free(&bundle);
        close_page(&p);
        assert_true(testalloc_is_clean(&ta));
    }
    assert_int_equal(rc, MK_OK);
    testalloc_free(&ta);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_page__data_stays_data),
        cmocka_unit_test(test_page__nothing_is_fetched),
        cmocka_unit_test(test_page__claims_lead_to_what_they_cite),
        cmocka_unit_test(test_page__times_stand_in_both_forms),
        cmocka_unit_test(test_page__an_abstention_needs_no_bundle),
        cmocka_unit_test(test_page__any_shape_gives_a_page_or_an_error),
        cmocka_unit_test(test_page__running_out_of_memory_is_an_error),
    };
    return cmocka_run_group_tests_name("page", tests, NULL, NULL);
}

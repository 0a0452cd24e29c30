/* test_http_head.c — what the head of a request may say: host names, origins, values in base64,
 * counters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "serve/http_internal.h"

static mk_http server_with(const char *const *hosts, size_t count)
{
    return (mk_http){.options = {.hosts = hosts, .host_count = count}};
}

static void test_http_head__hosts(void **state)
{
    static const char *const more[] = {"graph.example", "other.example:8080", "[fd00::1]"};
    static const char *const good[] = {
        "localhost", "LOCALHOST:1",   "127.0.0.1",        "127.0.0.1:65535",    "[::1]",
        "[::1]:80",  "graph.example", "Graph.Example:99", "other.example:8080", "[fd00::1]:3"};
    static const char *const bad[] = {"",
                                      ":80",
                                      "evil.example",
                                      "localhost.evil.example",
                                      "127.0.0.1.evil.example",
                                      "localhost:",
                                      "localhost:x",
                                      "other.example",
                                      "other.example:81",
                                      "[::1",
                                      "[::1]x",
                                      "localhost:80:80",
                                      "127.0.0.2",
                                      " localhost",
                                      "localhost@evil.example",
                                      "xn--localhost",
                                      "127.1",
                                      "0.0.0.0"};
    const mk_http http = server_with(more, 3);
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (!mk_http__host_allowed(&http, good[i]))
            fail_msg("%s was refused", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (mk_http__host_allowed(&http, bad[i]))
            fail_msg("%s was let in", bad[i]);
}

static void test_http_head__origins(void **state)
{
    static const char *const good[] = {"http://localhost", "http://localhost:8765", "https://127.0.0.1",
                                       "http://[::1]:80"};
    static const char *const bad[] = {"null",
                                      "",
                                      "http://",
                                      "file://localhost",
                                      "http://evil.example",
                                      "http://localhost/x",
                                      "http://localhost:80/",
                                      "http://user@localhost",
                                      "http://localhost evil",
                                      "localhost",
                                      "HTTP://localhost#",
                                      "http://localhost.evil.example"};
    const mk_http http = server_with(NULL, 0);
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (!mk_http__origin_allowed(&http, good[i]))
            fail_msg("%s was refused", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (mk_http__origin_allowed(&http, bad[i]))
            fail_msg("%s was let in", bad[i]);
}

static void test_http_head__values(void **state)
{
    static const struct {
        const char *text, *value; /* NULL: malformed */
    } table[] = {
        {"", ""},
        {"  plain\t", "plain"},
        {"a b", "a b"},
        {"=?base64?YWJj?=", "abc"},
        {" =?base64?YWI=?= ", "ab"},
        {"=?base64?YQ==?=", "a"},
        {"=?base64?"
         "?=",
         ""},
        {"=?base64?w6k=?=", "\xC3\xA9"},
        {"=?BASE64?YWJj?=", "=?BASE64?YWJj?="},
        {"=?base64?YWJj", "=?base64?YWJj"},
        {"=?base64?YWJ?=", NULL},
        {"=?base64?YW=j?=", NULL},
        {"=?base64?YWI==?=", NULL},
        {"=?base64?YR==?=", NULL} /* bits to spare */,
        {"=?base64?YWJ=?=", NULL},
        {"=?base64?Y W=?=", NULL},
        {"=?base64?/w==?=", NULL} /* no UTF-8 */,
        {"=?base64?====?=", NULL},
    };
    mk_arena arena;
    mk_str value;
    (void)state;
    mk_arena_init(&arena, &mk_alloc_default);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const bool ok = mk_http_header_value(table[i].text, &arena, &value);
        if (ok != (table[i].value != NULL) || (ok && !mk_str_eq(value, mk_str_of(table[i].value))))
            fail_msg("%s: %s", table[i].text, ok ? "was taken otherwise" : "was refused");
    }
    mk_arena_free(&arena);
}

/* Every line is a comment, or a name, labels and a number; counters are what was counted. */
static void test_http_head__metrics(void **state)
{
    static const char *const routes[] = {"/a", "/b"};
    const mk_metrics_facts facts = {.version = "9",
                                    .routes = routes,
                                    .route_count = 2,
                                    .has_store = true,
                                    .last_tt = 7,
                                    .versions = 8,
                                    .log_bytes = 9};
    mk_metrics *m = mk_new0(&mk_alloc_default, sizeof *m);
    const mk_operator *op = mk_operator_find(MK_STR("entity_history"));
    mk_buf out;
    (void)state;
    mk_buf_init(&out, &mk_alloc_default);
    for (int i = 0; i < 3; i++)
        mk_metrics_op(m, op, 7, true);
    mk_metrics_op(m, op, INT64_C(99000000), false);
    mk_metrics_http(m, 1, 404);
    mk_metrics_http(m, 99, 200);
    mk_metrics_mcp(m, MK_STR("tools/call"), true, true);
    mk_metrics_mcp(m, MK_STR("evil\"} 1\nfake 2"), false, false);
    mk_metrics_text(m, &facts, &out);
    mk_buf_c(&out, '\0');
    assert_non_null(strstr(out.p, "merkhet_build_info{version=\"9\"} 1\n"));
    assert_non_null(strstr(
        out.p, "merkhet_op_duration_seconds_bucket{op=\"entity_history\",outcome=\"ok\",le=\"1e-05\"} 3\n"));
    assert_non_null(strstr(
        out.p, "merkhet_op_duration_seconds_bucket{op=\"entity_history\",outcome=\"error\",le=\"10\"} 0\n"));
    assert_non_null(strstr(
        out.p,
        "merkhet_op_duration_seconds_bucket{op=\"entity_history\",outcome=\"error\",le=\"+Inf\"} 1\n"));
    assert_non_null(strstr(out.p, "merkhet_http_requests_total{route=\"/b\",code=\"4xx\"} 1\n"));
    assert_non_null(strstr(out.p, "merkhet_http_requests_total{route=\"none\",code=\"2xx\"} 1\n"));
    assert_non_null(
        strstr(out.p, "merkhet_mcp_requests_total{method=\"tools/call\",era=\"modern\",outcome=\"ok\"} 1\n"));
    assert_non_null(
        strstr(out.p, "merkhet_mcp_requests_total{method=\"other\",era=\"legacy\",outcome=\"error\"} 1\n"));
    assert_null(strstr(out.p, "fake"));
    for (char *line = out.p; *line != '\0'; line = strchr(line, '\n') + 1) {
        const char *end = strchr(line, '\n'), *space;
        char *stop;
        assert_non_null(end);
        if (line[0] == '#')
            continue;
        for (space = end; *space != ' '; space--)
            assert_true(space > line);
        (void)strtod(space + 1, &stop);
        assert_ptr_equal(stop, end);
    }
    mk_buf_free(&out);
    mk_free(&mk_alloc_default, m, sizeof *m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_http_head__hosts),
        cmocka_unit_test(test_http_head__origins),
        cmocka_unit_test(test_http_head__values),
        cmocka_unit_test(test_http_head__metrics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

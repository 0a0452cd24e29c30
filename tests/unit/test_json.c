/* test_json.c — the pull reader and the tree: what is read, what is refused, where, and at what
 * cost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/json.h"

/* The text in a block of its own size, so that a sanitizer sees every byte read beyond it. */
typedef struct exact {
    char *p;
    mk_str text;
} exact;

static exact exact_of(mk_str text)
{
    exact e = {.p = malloc(text.n ? text.n : 1)};
    assert_non_null(e.p);
    memcpy(e.p, text.p, text.n);
    e.text = (mk_str){e.p, text.n};
    return e;
}

/* Reads to the end of the text or to the first error. */
static mk_code read_all(mk_str text, const mk_json_limits *limits, mk_err *err)
{
    const exact e = exact_of(text);
    mk_json_reader reader;
    mk_code rc;
    mk_json_open(&reader, &mk_alloc_default, e.text, limits);
    do {
        rc = mk_json_next(&reader, err);
    } while (rc == MK_OK && reader.token != MK_TOK_END);
    mk_json_close(&reader);
    free(e.p);
    return rc;
}

/* Token letters of a text, for comparing whole sequences. */
static const char *tokens_of(const char *text)
{
    static const char letters[] = ".0ftidsk{}[]";
    static char out[64];
    mk_json_reader reader;
    mk_err err;
    size_t n = 0;
    mk_json_open(&reader, &mk_alloc_default, mk_str_of(text), NULL);
    do {
        assert_int_equal(mk_json_next(&reader, &err), MK_OK);
        out[n++] = letters[reader.token];
    } while (reader.token != MK_TOK_END);
    out[n] = '\0';
    mk_json_close(&reader);
    return out;
}

static void test_json__tokens_come_in_the_order_of_the_text(void **state)
{
    (void)state;
    assert_string_equal(tokens_of("{\"a\":[1,2.0,\"x\",null,true,false],\"b\":{}}"),
                        "{k[ids0tf]k{}}.");
    assert_string_equal(tokens_of(" \t\r\n[ [ ] , { } ,\n{ \"a\" : 1 , \"b\" : [ ] } ] \n"),
                        "[[]{}{kik[]}].");
    assert_string_equal(tokens_of("7"), "i.");
    assert_string_equal(tokens_of("[NaN,Infinity,-Infinity,1e5,-0.0]"), "[ddddd].");
}

static mk_json *tree_of(mk_arena *arena, mk_str text)
{
    const exact e = exact_of(text);
    mk_json *out = NULL;
    mk_err err;
    if (mk_json_parse(arena, e.text, NULL, &out, &err) != MK_OK) {
        print_error("%s\n", err.message);
        fail();
    }
    free(e.p); /* the tree keeps nothing of the input */
    return out;
}

static void assert_str(mk_str got, const char *want)
{
    if (got.n != strlen(want) || memcmp(got.p, want, got.n) != 0) {
        print_error("got \"%.*s\", want \"%s\"\n", MK_STR_ARG(got), want);
        fail();
    }
}

static void check_string(const char *text, mk_str want)
{
    mk_arena arena;
    mk_arena_init(&arena, &mk_alloc_default);
    const mk_json *value = tree_of(&arena, mk_str_of(text));
    assert_int_equal(value->kind, MK_JSON_STRING);
    assert_true(mk_str_eq(value->text, want));
    mk_arena_free(&arena);
}

static void test_json__strings_are_decoded(void **state)
{
    (void)state;
    check_string("\"\"", MK_STR(""));
    check_string("\"plain text longer than a word\"", MK_STR("plain text longer than a word"));
    check_string("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", MK_STR("\"\\/\b\f\n\r\t"));
    check_string("\"a\\u0041\\u00e9\\u20ac\\uD83D\\uDE00z\"", MK_STR("aA\u00e9\u20ac\U0001F600z"));
    check_string("\"\\u0000\"", MK_STR("\0"));
    check_string("\"\u00dcn\u00ef \u674e\u96f7 \U0001F600 and ASCII behind it\"",
                 MK_STR("\u00dcn\u00ef \u674e\u96f7 \U0001F600 and ASCII behind it"));
    check_string("\"\x7F\u2028/\"", MK_STR("\x7F\u2028/"));
    check_string("\"\\u674E mixed \u96f7 \\n\"", MK_STR("\u674e mixed \u96f7 \n"));
}

/* Every length and position, since the scan works on words of 8 and 16 bytes. */
static void test_json__string_ends_are_found_at_every_length(void **state)
{
    (void)state;
    char text[80];
    mk_err err;
    for (size_t n = 0; n < 64; n++) {
        text[0] = '"';
        memset(text + 1, 'x', n);
        text[n + 1] = '"';
        assert_int_equal(read_all((mk_str){text, n + 2}, NULL, &err), MK_OK);
        assert_int_equal(read_all((mk_str){text, n + 1}, NULL, &err), MK_E_SCHEMA);
        assert_int_equal(err.offset, n + 1);
        for (size_t i = 1; i <= n; i++) {
            text[i] = '\x1f';
            assert_int_equal(read_all((mk_str){text, n + 2}, NULL, &err), MK_E_SCHEMA);
            assert_int_equal(err.offset, i);
            text[i] = '\xff';
            assert_int_equal(read_all((mk_str){text, n + 2}, NULL, &err), MK_E_SCHEMA);
            assert_int_equal(err.offset, i);
            text[i] = 'x';
        }
    }
}

static void test_json__text_without_escapes_is_borrowed(void **state)
{
    (void)state;
    const mk_str input = MK_STR("[\"plain\",\"Z\u00fcrich\",\"\\n\"]");
    mk_json_reader reader;
    mk_err err;
    mk_json_open(&reader, &mk_alloc_default, input, NULL);
    for (int i = 0; i < 3; i++)
        assert_int_equal(mk_json_next(&reader, &err), MK_OK);
    assert_true(reader.borrowed);
    assert_ptr_equal(reader.text.p, input.p + 10);
    assert_null(reader.scratch.p);
    assert_int_equal(mk_json_next(&reader, &err), MK_OK);
    assert_false(reader.borrowed);
    mk_json_close(&reader);
}

static void check_int(const char *text, int64_t want, bool big)
{
    const exact e = exact_of(mk_str_of(text));
    mk_json_reader reader;
    mk_err err;
    mk_json_open(&reader, &mk_alloc_default, e.text, NULL);
    assert_int_equal(mk_json_next(&reader, &err), MK_OK);
    assert_int_equal(reader.token, MK_TOK_INT);
    assert_int_equal(reader.big, big);
    assert_true(big || reader.i == want);
    assert_str(reader.text, text);
    mk_json_close(&reader);
    free(e.p);
}

static void test_json__integers_keep_every_digit(void **state)
{
    (void)state;
    check_int("0", 0, false);
    check_int("-0", 0, false);
    check_int("7", 7, false);
    check_int("12345678", 12345678, false);
    check_int("123456789", 123456789, false);
    check_int("1783612865737377", 1783612865737377, false);
    check_int("4611686018427387904", INT64_C(4611686018427387904), false);
    check_int("9223372036854775807", INT64_MAX, false);
    check_int("-9223372036854775808", INT64_MIN, false);
    check_int("9223372036854775808", 0, true);
    check_int("-9223372036854775809", 0, true);
    check_int("9999999999999999999", 0, true);
    check_int("18446744073709551616", 0, true);
    check_int("100000000000000000000000000000000", 0, true);
}

static void test_json__floats_are_told_from_integers(void **state)
{
    (void)state;
    mk_arena arena;
    mk_arena_init(&arena, &mk_alloc_default);
    const mk_json *list =
        tree_of(&arena, MK_STR("[1,1.0,1e2,1E+2,-0.0,1e999,NaN,Infinity,-Infinity,5e-1]"));
    const double want[] = {0, 1, 100, 100, -0.0, INFINITY, NAN, INFINITY, -INFINITY, 0.5};
    assert_int_equal(list->n, 10);
    assert_int_equal(list->items[0].kind, MK_JSON_INT);
    for (size_t i = 1; i < list->n; i++) {
        assert_int_equal(list->items[i].kind, MK_JSON_FLOAT);
        const double d = list->items[i].d;
        assert_true(isnan(want[i]) ? isnan(d) : d == want[i]);
        assert_int_equal(signbit(d) != 0, signbit(want[i]) != 0);
    }
    mk_arena_free(&arena);
}

typedef struct bad_case {
    const char *text;
    int64_t offset;
    const char *expected; /* part of the message */
} bad_case;

static void test_json__errors_say_where_and_what(void **state)
{
    (void)state;
    static const bad_case cases[] = {
        {"", 0, "expected a value, found the end of the text"},
        {"  ", 2, "expected a value, found the end of the text"},
        {"\xEF\xBB\xBF{}", 0, "expected a value, found byte 0xEF"},
        {"{\"a\":1,}", 7, "expected '\"' and a member's name, found '}'"},
        {"{,}", 1, "expected '\"' and a member's name, or '}', found ','"},
        {"{a:1}", 1, "found 'a'"},
        {"{\"a\" 1}", 5, "expected ':' behind a member's name, found '1'"},
        {"{\"a\"", 4, "expected ':' behind a member's name, found the end"},
        {"{\"a\":}", 5, "expected a value, found '}'"},
        {"{\"a\":1]", 6, "expected ',' or '}', found ']'"},
        {"{\"a\":1 \"b\":2}", 7, "expected ',' or '}', found '\"'"},
        {"[1 2]", 3, "expected ',' or ']', found '2'"},
        {"[1,]", 3, "expected a value, found ']'"},
        {"[1", 2, "expected ',' or ']', found the end of the text"},
        {"[", 1, "expected a value, found the end of the text"},
        {"]", 0, "expected a value, found ']'"},
        {"1 2", 2, "expected the end of the text, found '2'"},
        {"{}x", 2, "expected the end of the text, found 'x'"},
        {"nul", 0, "expected a value, found 'n'"},
        {"nan", 0, "expected a value"},
        {"True", 0, "expected a value"},
        {"-", 1, "expected a digit, found the end"},
        {"-x", 1, "expected a digit, found 'x'"},
        {"-Inf", 0, "expected a value, found '-'"},
        {"+1", 0, "expected a value, found '+'"},
        {"01", 1, "expected no digit behind a leading 0, found '1'"},
        {"-012345678901", 2, "expected no digit behind a leading 0, found '1'"},
        {"1.", 2, "expected a digit, found the end"},
        {"1.e5", 2, "expected a digit, found 'e'"},
        {".5", 0, "expected a value, found '.'"},
        {"1e", 2, "expected a digit"},
        {"1e+", 3, "expected a digit"},
        {"0x10", 1, "expected the end of the text, found 'x'"},
        {"\"abc", 4, "expected a closing '\"', found the end"},
        {"\"abc\\", 5, "expected a closing '\"', found the end"},
        {"\"a\\\"", 4, "expected a closing '\"', found the end"},
        {"\"a\nb\"", 2, "expected no bare control character in a string, found byte 0x0A"},
        {"\"a\\x\"", 3, "behind a backslash, found 'x'"},
        {"\"\\u12\"", 1, "expected \\u and four hexadecimal digits"},
        {"\"\\u12g4\"", 1, "expected \\u and four hexadecimal digits"},
        {"\"ab\\ud800\"", 3, "expected a pair of surrogates, found \\ud800 alone"},
        {"\"\\ud800\\u0041\"", 1, "found \\ud800 alone"},
        {"\"\\udc00\\ud800\"", 1, "found \\udc00 alone"},
        {"\"\\ud83d\\ud83d\\ude00\"", 1, "found \\ud83d alone"},
        {"{\"\\udfff\":1}", 2, "found \\udfff alone"},
        {"\"a\xC0\xAF\"", 2, "expected UTF-8 text, found byte 0xC0"},
        {"\"\xED\xA0\x80\"", 1, "expected UTF-8 text, found byte 0xED"},
        {"\"ab\xF4\x90\x80\x80\"", 3, "expected UTF-8 text, found byte 0xF4"},
        {"\"\\n\xE2\x82\"", 3, "expected UTF-8 text, found byte 0xE2"},
        {"[\x01]", 1, "expected a value, found byte 0x01"},
        {"'a'", 0, "expected a value, found '''"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        mk_err err;
        const mk_code rc = read_all(mk_str_of(cases[i].text), NULL, &err);
        if (rc != MK_E_SCHEMA || err.offset != cases[i].offset ||
            strstr(err.message, cases[i].expected) == NULL) {
            print_error("%s: code %d at %d: %s\n", cases[i].text, (int)rc, (int)err.offset,
                        rc == MK_OK ? "accepted" : err.message);
            fail();
        }
        assert_int_equal(err.code, MK_E_SCHEMA);
        assert_int_equal(read_all(mk_str_of(cases[i].text), NULL, NULL), MK_E_SCHEMA);
    }
}

static void test_json__a_failed_call_fails_the_same_way_again(void **state)
{
    (void)state;
    mk_json_reader reader;
    mk_err first, second;
    mk_json_open(&reader, &mk_alloc_default, MK_STR("{\"a\" 1}"), NULL);
    assert_int_equal(mk_json_next(&reader, &first), MK_OK);
    assert_int_equal(mk_json_next(&reader, &first), MK_E_SCHEMA);
    assert_int_equal(mk_json_next(&reader, &second), MK_E_SCHEMA);
    assert_string_equal(first.message, second.message);
    mk_json_close(&reader);
}

static void test_json__every_prefix_of_a_text_is_refused(void **state)
{
    (void)state;
    const mk_str text = MK_STR("{\"a\":[1.5e3,-20,\"x\\u00e9\\ud83d\\ude00\u00fc\",null,true,false],"
                               "\"b\":{\"c\":Infinity}}");
    mk_err err;
    assert_int_equal(read_all(text, NULL, &err), MK_OK);
    for (size_t n = 0; n < text.n; n++) {
        assert_int_equal(read_all((mk_str){text.p, n}, NULL, &err), MK_E_SCHEMA);
        assert_true(err.offset >= 0 && err.offset <= (int64_t)n);
    }
}

static void test_json__a_million_brackets_hit_the_depth_limit(void **state)
{
    (void)state;
    const size_t n = 1000000;
    char *text = malloc(n);
    assert_non_null(text);
    memset(text, '[', n);
    mk_err err;
    assert_int_equal(read_all((mk_str){text, n}, NULL, &err), MK_E_LIMIT);
    assert_int_equal(err.offset, 128);
    assert_string_equal(err.reason, "json_depth");

    mk_json_limits limits = mk_json_limits_default;
    limits.depth = 1000; /* more than the reader's bits: taken for 256 */
    assert_int_equal(read_all((mk_str){text, n}, &limits, &err), MK_E_LIMIT);
    assert_int_equal(err.offset, 256);
    free(text);
}

/* Alternating kinds up to the deepest level: each bracket must find its own kind again. */
static void test_json__nesting_up_to_the_limit_is_read(void **state)
{
    (void)state;
    char text[256 * 6];
    size_t n = 0;
    mk_json_limits limits = mk_json_limits_default;
    mk_arena arena;
    mk_json *out;
    mk_err err;
    limits.depth = 256;
    for (int i = 0; i < 128; i++) {
        memcpy(text + n, "[{\"a\":", 6);
        n += 6;
    }
    text[n++] = '1';
    for (int i = 0; i < 128; i++) {
        memcpy(text + n, "}]", 2);
        n += 2;
    }
    mk_arena_init(&arena, &mk_alloc_default);
    assert_int_equal(mk_json_parse(&arena, (mk_str){text, n}, &limits, &out, &err), MK_OK);
    const mk_json *at = out;
    for (int i = 0; i < 128; i++)
        at = mk_json_get(&at->items[0], "a");
    assert_int_equal(at->i, 1);
    text[n - 1] = '}';
    assert_int_equal(mk_json_parse(&arena, (mk_str){text, n}, &limits, &out, &err), MK_E_SCHEMA);
    mk_arena_free(&arena);
}

static void check_limit(const mk_json_limits *limits, const char *text, const char *reason)
{
    mk_arena arena;
    mk_json *out;
    mk_err err;
    mk_arena_init(&arena, &mk_alloc_default);
    const mk_code rc = mk_json_parse(&arena, mk_str_of(text), limits, &out, &err);
    mk_arena_free(&arena);
    if (reason == NULL) {
        assert_int_equal(rc, MK_OK);
        return;
    }
    assert_int_equal(rc, MK_E_LIMIT);
    assert_string_equal(err.reason, reason);
    assert_true(err.offset >= 0);
}

static void test_json__limits_are_exact(void **state)
{
    (void)state;
    const mk_json_limits limits = {.depth = 2, .string_size = 4, .number_size = 5, .members = 3};
    check_limit(&limits, "[[1]]", NULL);
    check_limit(&limits, "[[[]]]", "json_depth");
    check_limit(&limits, "\"abcd\"", NULL);
    check_limit(&limits, "\"abcde\"", "json_string_size");
    check_limit(&limits, "\"\\u0041\\u0041\\u0041\\u0041\"", NULL);
    check_limit(&limits, "\"\\u0041\\u0041\\u0041\\u0041x\"", "json_string_size");
    check_limit(&limits, "\"\u00e9\u00e9x\"", "json_string_size");
    check_limit(&limits, "{\"abcde\":1}", "json_string_size");
    check_limit(&limits, "12345", NULL);
    check_limit(&limits, "123456", "json_number_size");
    check_limit(&limits, "-12345", "json_number_size");
    check_limit(&limits, "1.234", NULL);
    check_limit(&limits, "1.2345", "json_number_size");
    check_limit(&limits, "[1,2,3]", NULL);
    check_limit(&limits, "[1,2,3,4]", "json_members");
    check_limit(&limits, "{\"a\":1,\"b\":[1,2,3],\"c\":3}", NULL);
    check_limit(&limits, "{\"a\":1,\"b\":2,\"c\":3,\"d\":4}", "json_members");
}

static void test_json__skip_gives_the_bytes_of_the_value(void **state)
{
    (void)state;
    const mk_str text = MK_STR(" {\"a\": {\"x\":[1,{\"y\":\"}\"}]} ,\"b\":\"s\\n\",\"c\":[]}");
    mk_json_reader reader;
    mk_err err;
    mk_str raw;
    mk_json_open(&reader, &mk_alloc_default, text, NULL);
    assert_int_equal(mk_json_next(&reader, &err), MK_OK);
    assert_int_equal(mk_json_next(&reader, &err), MK_OK);
    assert_int_equal(mk_json_next(&reader, &err), MK_OK);
    assert_int_equal(mk_json_skip(&reader, &raw, &err), MK_OK);
    assert_str(raw, "{\"x\":[1,{\"y\":\"}\"}]}");
    assert_int_equal(mk_json_next(&reader, &err), MK_OK);
    assert_int_equal(reader.token, MK_TOK_KEY);
    assert_str(reader.text, "b");
    assert_int_equal(mk_json_skip(&reader, &raw, &err), MK_OK); /* from the name, over the value */
    assert_str(raw, "\"s\\n\"");
    assert_int_equal(mk_json_next(&reader, &err), MK_OK);
    assert_int_equal(mk_json_skip(&reader, &raw, &err), MK_OK);
    assert_str(raw, "[]");
    assert_int_equal(mk_json_next(&reader, &err), MK_OK);
    assert_int_equal(reader.token, MK_TOK_OBJECT_END);
    assert_int_equal(mk_json_next(&reader, &err), MK_OK);
    assert_int_equal(reader.token, MK_TOK_END);
    mk_json_close(&reader);
}

static void test_json__skip_checks_what_it_skips(void **state)
{
    (void)state;
    static const bad_case cases[] = {
        {"[[1,\"\\ud800\"]]", 5, ""}, {"[[1,01]]", 5, ""},       {"[{\"a\":\xFF}]", 6, ""},
        {"[[1}]", 3, ""},             {"[\"a\",\"\xFF\"]", 6, ""}, {"[[1,2", 5, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        mk_json_reader reader;
        mk_err err;
        mk_str raw;
        mk_json_open(&reader, &mk_alloc_default, mk_str_of(cases[i].text), NULL);
        assert_int_equal(mk_json_next(&reader, &err), MK_OK);
        assert_int_equal(mk_json_skip(&reader, &raw, &err), MK_E_SCHEMA);
        assert_int_equal(err.offset, cases[i].offset);
        mk_json_close(&reader);
    }
}

static void test_json__the_last_duplicate_wins_at_the_place_of_the_first(void **state)
{
    (void)state;
    mk_arena arena;
    mk_arena_init(&arena, &mk_alloc_default);
    const mk_json *o = tree_of(&arena, MK_STR("{\"b\":1,\"a\":2,\"\\u0062\":[3],\"a\":4,\"c\":5}"));
    assert_int_equal(o->n, 3);
    assert_str(o->members[0].key, "b");
    assert_int_equal(o->members[0].value.items[0].i, 3);
    assert_str(o->members[1].key, "a");
    assert_int_equal(o->members[1].value.i, 4);
    assert_str(o->members[2].key, "c");
    assert_null(mk_json_get(o, "d"));
    assert_null(mk_json_get(&o->members[2].value, "a"));
    assert_int_equal(mk_json_get(o, "c")->i, 5);
    mk_arena_free(&arena);
}

/* Names in falling order, every third one a duplicate: 200,000 of them in well under the minutes
 * that comparing all pairs would take. */
static void test_json__many_members_are_merged_in_linear_time(void **state)
{
    (void)state;
    const size_t count = 200000;
    mk_arena arena;
    mk_buf text;
    mk_arena_init(&arena, &mk_alloc_default);
    mk_buf_init(&text, &mk_alloc_default);
    for (size_t i = 0; i < count; i++) {
        const size_t name = i % 3 == 2 ? count - (i - 2) : count - i;
        mk_buf_printf(&text, "%c\"key %zu\":%zu", i == 0 ? '{' : ',', name, i);
    }
    mk_buf_c(&text, '}');
    const clock_t before = clock();
    const mk_json *o = tree_of(&arena, mk_buf_view(&text));
    assert_true((double)(clock() - before) / CLOCKS_PER_SEC < 10);
    assert_int_equal(o->n, count - count / 3);
    assert_str(o->members[0].key, "key 200000");
    assert_int_equal(o->members[0].value.i, 2);
    assert_str(o->members[1].key, "key 199999");
    assert_int_equal(o->members[1].value.i, 1);
    assert_str(o->members[2].key, "key 199997");
    assert_int_equal(o->members[2].value.i, 5);
    mk_buf_free(&text);
    mk_arena_free(&arena);
}

/* ---- out of memory ---- */

typedef struct failing {
    int left; /* allocations that still succeed */
} failing;

static void *failing_resize(void *ctx, void *p, size_t old_size, size_t new_size)
{
    failing *f = ctx;
    (void)old_size;
    if (new_size == 0) {
        free(p);
        return NULL;
    }
    return f->left-- > 0 ? realloc(p, new_size) : NULL;
}

static void test_json__every_failed_allocation_is_reported(void **state)
{
    (void)state;
    mk_buf text;
    mk_buf_init(&text, &mk_alloc_default);
    mk_buf_z(&text, "[\"\\n\",123456789012345678901234567890");
    for (int i = 0; i < 3000; i++)
        mk_buf_printf(&text, ",{\"b\":\"%d text \\t\",\"a\":[%d]}", i, i);
    mk_buf_c(&text, ']');
    int refused = 0;
    for (int left = 0;; left++) {
        failing f = {left};
        const mk_alloc alloc = {failing_resize, &f};
        mk_arena arena;
        mk_json *out = NULL;
        mk_err err;
        mk_arena_init(&arena, &alloc);
        const mk_code rc = mk_json_parse(&arena, mk_buf_view(&text), NULL, &out, &err);
        mk_arena_free(&arena);
        if (rc == MK_OK)
            break;
        assert_int_equal(rc, MK_E_NOMEM);
        assert_null(out);
        refused++;
    }
    assert_true(refused > 5);
    mk_buf_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json__tokens_come_in_the_order_of_the_text),
        cmocka_unit_test(test_json__strings_are_decoded),
        cmocka_unit_test(test_json__string_ends_are_found_at_every_length),
        cmocka_unit_test(test_json__text_without_escapes_is_borrowed),
        cmocka_unit_test(test_json__integers_keep_every_digit),
        cmocka_unit_test(test_json__floats_are_told_from_integers),
        cmocka_unit_test(test_json__errors_say_where_and_what),
        cmocka_unit_test(test_json__a_failed_call_fails_the_same_way_again),
        cmocka_unit_test(test_json__every_prefix_of_a_text_is_refused),
        cmocka_unit_test(test_json__a_million_brackets_hit_the_depth_limit),
        cmocka_unit_test(test_json__nesting_up_to_the_limit_is_read),
        cmocka_unit_test(test_json__limits_are_exact),
        cmocka_unit_test(test_json__skip_gives_the_bytes_of_the_value),
        cmocka_unit_test(test_json__skip_checks_what_it_skips),
        cmocka_unit_test(test_json__the_last_duplicate_wins_at_the_place_of_the_first),
        cmocka_unit_test(test_json__many_members_are_merged_in_linear_time),
        cmocka_unit_test(test_json__every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}

/* test_token.c — bearer tokens: what a file of them may say, and who is found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "../support/testalloc.h"
#include "serve/token.h"

static void test_token__lines_give_scopes_and_principals(void **state)
{
    static const char text[] =
        "# comment\n\n0123456789abcdef read user:ada\n"
        "  fedcba9876543210\tmerkhet:write\tgroup:ops  \r\nadmin-token-00001 read,admin user:root";
    mk_tokens tokens;
    mk_err err;
    (void)state;
    assert_int_equal(mk_tokens_read(&mk_alloc_default, mk_str_of(text), &tokens, &err), MK_OK);
    assert_int_equal(tokens.count, 3);
    const mk_token_entry *ada = mk_tokens_find(&tokens, MK_STR("0123456789abcdef")),
                         *ops = mk_tokens_find(&tokens, MK_STR("fedcba9876543210")),
                         *root = mk_tokens_find(&tokens, MK_STR("admin-token-00001"));
    assert_true(mk_str_eq(ada->principal, MK_STR("user:ada")) && ada->scopes == MK_SCOPE_READ);
    assert_true(mk_str_eq(ops->principal, MK_STR("group:ops")) &&
                ops->scopes == (MK_SCOPE_READ | MK_SCOPE_WRITE));
    assert_int_equal(root->scopes, MK_SCOPE_READ | MK_SCOPE_WRITE | MK_SCOPE_ADMIN);
    assert_null(mk_tokens_find(&tokens, MK_STR("")));
    assert_null(mk_tokens_find(&tokens, MK_STR("0123456789abcde")));
    assert_null(mk_tokens_find(&tokens, MK_STR("0123456789abcdef ")));
    assert_null(mk_tokens_find(&tokens, MK_STR("0123456789ABCDEF")));
    mk_tokens_close(&tokens);
}

static void test_token__bad_lines_name_their_place(void **state)
{
    static const struct {
        const char *text, *message;
    } table[] = {
        {"", "names no token"},
        {"# nothing\n", "names no token"},
        {"short read user:a\n", "line 1"},
        {"0123456789abcdef read user:a\n\n0123456789abcdee none user:a\n", "line 3"},
        {"0123456789abcdef\n", "scopes"},
        {"0123456789abcdef read\n", "principal"},
        {"0123456789abcdef read, user:a\n", "x"},
        {"0123456789abcdef read user:a user:b\n", "principal"},
    };
    mk_tokens tokens;
    mk_err err;
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const mk_code rc = mk_tokens_read(&mk_alloc_default, mk_str_of(table[i].text), &tokens, &err);
        if (table[i].message[0] == 'x') { /* a comma at the end says nothing more */
            assert_int_equal(rc, MK_OK);
            mk_tokens_close(&tokens);
            continue;
        }
        assert_int_equal(rc, MK_E_INVALID_ARG);
        if (strstr(err.message, table[i].message) == NULL)
            fail_msg("%s: %s", table[i].text, err.message);
        assert_null(strstr(err.message, "0123456789abcde")); /* no token in a message */
    }
}

static void test_token__memory_may_end_at_any_time(void **state)
{
    static const char text[] = "0123456789abcdef read user:ada\n0123456789abcdee write user:bob\n";
    testalloc ta;
    bool through = false;
    (void)state;
    testalloc_init(&ta);
    for (uint64_t n = 1; !through && n < 100; n++) {
        mk_tokens tokens;
        mk_err err;
        const uint64_t before = ta.failures;
        testalloc_fail(&ta, n, false);
        const mk_code rc = mk_tokens_read(&ta.hook, mk_str_of(text), &tokens, &err);
        testalloc_fail(&ta, 0, false);
        through = ta.failures == before;
        assert_int_equal(rc, through ? MK_OK : MK_E_NOMEM);
        if (rc == MK_OK)
            mk_tokens_close(&tokens);
        assert_true(testalloc_is_clean(&ta));
    }
    assert_true(through);
    testalloc_free(&ta);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_token__lines_give_scopes_and_principals),
        cmocka_unit_test(test_token__bad_lines_name_their_place),
        cmocka_unit_test(test_token__memory_may_end_at_any_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_assets.c — the page's files inside the program are those of the folder web/, and there are no
 * others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fs.h"
#include "serve/assets.h"

static const char *web_folder(void)
{
    static char path[4096];
    const char *data = getenv("MK_TEST_DATA");
    snprintf(path, sizeof path, "%s/../../web", data != NULL ? data : "tests/data");
    return path;
}

static void test_assets__are_the_files_of_the_folder(void **state)
{
    size_t count, found = 0;
    (void)mk_assets(&count);
    DIR *folder = opendir(web_folder());
    (void)state;
    assert_non_null(folder);
    for (struct dirent *e; (e = readdir(folder)) != NULL;) {
        char path[4200], name[300];
        mk_buf text;
        mk_err err;
        if (e->d_name[0] == '.' || strcmp(e->d_name, "README.md") == 0)
            continue;
        snprintf(name, sizeof name, strcmp(e->d_name, "index.html") == 0 ? "/" : "/%s", e->d_name);
        snprintf(path, sizeof path, "%s/%s", web_folder(), e->d_name);
        const mk_asset *asset = mk_asset_find(mk_str_of(name));
        if (asset == NULL)
            fail_msg("%s is not in the program", e->d_name);
        mk_buf_init(&text, &mk_alloc_default);
        assert_int_equal(mk_fs_read_all(&mk_fs_posix, path, (size_t)1 << 20, &text, &err), MK_OK);
        assert_int_equal(text.n, asset->end - asset->begin);
        assert_memory_equal(text.p, asset->begin, text.n);
        mk_buf_free(&text);
        found++;
    }
    closedir(folder);
    assert_int_equal(found, count);
}

static void test_assets__nothing_else_is_found(void **state)
{
    static const char *const paths[] = {"",        "/index.html", "/..",       "/../README.md", "/app.js/",
                                        "/App.js", "//app.js",    "/%61pp.js", "app.js"};
    (void)state;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        assert_null(mk_asset_find(mk_str_of(paths[i])));
}

/* No inline scripts or styles, and no way to make markup of text. */
static void test_assets__keep_to_the_policy(void **state)
{
    static const char *const banned[] = {
        "innerHTML",    "outerHTML", "insertAdjacentHTML", "document.write", "eval(",
        "new Function", " style=",   "javascript:",        "http://",        "https://"};
    size_t count;
    const mk_asset *assets = mk_assets(&count);
    (void)state;
    for (size_t i = 0; i < count; i++)
        for (size_t b = 0; b < sizeof banned / sizeof *banned; b++) {
            const void *at = memmem(assets[i].begin, (size_t)(assets[i].end - assets[i].begin), banned[b],
                                    strlen(banned[b]));
            if (at != NULL && memcmp(at, "http://www.w3.org/2000/svg", 26) != 0)
                fail_msg("%s has %s", assets[i].path, banned[b]);
        }
    assert_null(strstr(MK_ASSET_POLICY, "unsafe"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_assets__are_the_files_of_the_folder),
        cmocka_unit_test(test_assets__nothing_else_is_found),
        cmocka_unit_test(test_assets__keep_to_the_policy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

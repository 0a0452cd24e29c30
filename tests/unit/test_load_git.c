/* Git history: a small repository with renames, deletions, merges and hostile names. */
#include "test_load_support.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../support/tmpdir.h"

static tmpdir dir;

/* Runs a script in the folder; commits get fixed people and dates. */
static void script(const char *text)
{
    char command[8192];

    snprintf(command, sizeof command,
             "cd '%s' || exit 1\n"
             "unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE\n"
             "export HOME='%s' GIT_CONFIG_NOSYSTEM=1 GIT_COMMITTER_NAME=Carl GIT_COMMITTER_EMAIL=carl@x\n"
             "at() { export GIT_AUTHOR_NAME=\"$2\" GIT_AUTHOR_EMAIL=\"$3\" GIT_AUTHOR_DATE=\"@$1 +0000\" "
             "GIT_COMMITTER_DATE=\"@$1 +0000\"; }\n"
             "set -e\n%s",
             dir.path, dir.path, text);
    assert_int_equal(system(command), 0);
}

static mk_code load(rig *r, const char *name)
{
    static char path[TMPDIR_PATH_MAX];

    rig_init(r);
    r->options.path = tmpdir_join(&dir, name, path);
    mk_load__init(&r->load, &r->options, &r->report);
    r->load.sink = &r->sink;
    return mk_load__git(&r->load, &r->err);
}

static void has(rig *r, const char *words)
{
    if (strstr(rig_text(r), words) == NULL)
        fail_msg("no '%s' in\n%s", words, rig_text(r));
}

static void has_not(rig *r, const char *words)
{
    if (strstr(rig_text(r), words) != NULL)
        fail_msg("'%s' in\n%s", words, rig_text(r));
}

static int setup(void **state)
{
    (void)state;
    tmpdir_make(&dir);
    script("git init -q -b main r; cd r\n"
           "at 1000 Ann Ann@X; printf 'one\\ntwo\\nthree\\n' > a.txt; printf '\\000\\001' > bin; git add .; "
           "git commit -qm 'first commit'\n"
           "at 2000 Bob bob@x; git mv a.txt b.txt; git commit -qm 'rename'\n"
           "at 3000 Ann ann@x; echo four >> b.txt; git rm -q bin; git commit -qam 'change and delete'\n"
           "at 4000 Ann ann@x; echo again > bin; git add bin; git commit -qm 'it is back'\n"
           "git checkout -q -b side\n"
           "at 5000 Bob bob@x; echo s > side.txt; git add .; git commit -qm 'on the side'\n"
           "git checkout -q main\n"
           "at 6000 Ann ann@x; echo five >> b.txt; git commit -qam 'on main'\n"
           "at 7000 Ann ann@x; git merge -q --no-ff -m 'merge' side\n");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tmpdir_remove(&dir);
    return 0;
}

static void test_load_git__people_files_and_commits_are_nodes(void **state)
{
    (void)state;
    rig r;

    assert_int_equal(load(&r, "r"), MK_OK);
    assert_int_equal(r.report.rows, 7);
    has(&r, "node person:ann@x Person [1000000000,open) {\"email\":\"ann@x\",\"name\":\"Ann\"}");
    has(&r, "node person:bob@x Person [2000000000,open) {\"email\":\"bob@x\",\"name\":\"Bob\"}");
    has(&r, "node person:carl@x Person [1000000000,open) ");
    has(&r, "\"subject\":\"first commit\"} @1\n");
    has(&r, "\"merge\":true,\"subject\":\"merge\"} @7\n");
    rig_free(&r);
}

static void test_load_git__a_path_lives_until_it_is_deleted_or_renamed(void **state)
{
    (void)state;
    rig r;

    assert_int_equal(load(&r, "r"), MK_OK);
    has(&r, "node file:a.txt File [1000000000,2000000000) {\"path\":\"a.txt\"}");
    has(&r, "node file:b.txt File [2000000000,open) {\"path\":\"b.txt\"}");
    has(&r, "node file:bin File [1000000000,3000000000) {\"path\":\"bin\"}");
    has(&r, "node file:bin File [4000000000,open) {\"path\":\"bin\"}");
    has(&r, "node file:side.txt File [5000000000,open) ");
    has(&r, "file:a.txt>file:b.txt RENAMED_TO ");
    rig_free(&r);
}

static void test_load_git__edges_say_who_did_what_when(void **state)
{
    (void)state;
    rig r;

    assert_int_equal(load(&r, "r"), MK_OK);
    has(&r, "person:ann@x>commit:");
    has(&r, " AUTHORED  [1000000000,-)  @1\n");
    has(&r, " COMMITTED  [1000000000,-)  @1\n");
    has(&r, ">file:a.txt ADDED  [1000000000,-) {\"additions\":3,\"deletions\":0} @1\n");
    has(&r, ">file:bin ADDED  [1000000000,-) {\"binary\":true} @1\n");
    has(&r, ">file:b.txt RENAMED  [2000000000,-) "
            "{\"additions\":0,\"deletions\":0,\"from\":\"a.txt\",\"similarity\":100} @2\n");
    has(&r, ">file:b.txt MODIFIED  [3000000000,-) {\"additions\":1,\"deletions\":0} @3\n");
    has(&r, ">file:bin DELETED  [3000000000,-) {\"binary\":true} @3\n");
    has(&r, "person:bob@x>file:side.txt CHANGED ");
    has(&r, " PARENT  [7000000000,4611686018427387904)  @7\n");
    rig_free(&r);
}

static void test_load_git__hostile_names_stay_names(void **state)
{
    (void)state;
    rig r;

    script(
        "git init -q -b main -- '-r; touch pwned'; cd -- './-r; touch pwned'\n"
        "git config diff.external 'touch ../pwned'; git config core.pager 'touch ../pwned'\n"
        "git config color.ui always; git config diff.renames false; git config log.showSignature true\n"
        "git config log.showRoot false; git config diff.noprefix true\n"
        "at 1000 'Eve \"x\" {' ''; printf x > ':100644 100644 a b A'; printf y > \"$(printf '1\\t2\\tz')\"\n"
        "printf z > \"$(printf 'new\\nline')\"; printf w > \"$(printf 'caf\\351')\"; ln -s target link\n"
        "git add .; git commit -q -m \"$(printf 'sub\\001ject')\"\n");
    assert_int_equal(load(&r, "-r; touch pwned"), MK_OK);
    has(&r, "node file::100644 100644 a b A File ");
    has(&r, "node file:1\t2\tz File ");
    has(&r, "node file:new\nline File [1000000000,open) {\"path\":\"new\\nline\"}");
    has(&r, "node file:caf\\xe9 File [1000000000,open) {\"path\":\"caf\\\\xe9\"}");
    has(&r, "{\"kind\":\"symlink\",\"path\":\"link\"}");
    has(&r, "node person:Eve \"x\" { Person [1000000000,open) {\"name\":\"Eve \\\"x\\\" {\"}");
    has(&r, "\"subject\":\"sub\\u0001ject\"}");
    rig_free(&r);
    char path[TMPDIR_PATH_MAX];
    assert_int_equal(access(tmpdir_join(&dir, "pwned", path), F_OK), -1);
}

static void test_load_git__another_repository_in_the_environment_is_ignored(void **state)
{
    (void)state;
    rig r;

    setenv("GIT_DIR", "/nowhere", 1);
    setenv("GIT_EXTERNAL_DIFF", "false", 1);
    const mk_code rc = load(&r, "r");
    unsetenv("GIT_DIR");
    unsetenv("GIT_EXTERNAL_DIFF");
    assert_int_equal(rc, MK_OK);
    has(&r, "node file:a.txt ");
    rig_free(&r);
}

static void test_load_git__dates_that_go_back_make_no_empty_life(void **state)
{
    (void)state;
    rig r;

    script("git init -q -b main back; cd back\n"
           "at 5000 Ann ann@x; echo a > f; git add .; git commit -qm one\n"
           "at 4000 Ann ann@x; echo b > f; git commit -qam two\n"
           "at 3000 Ann ann@x; git rm -q f; git commit -qm three\n");
    assert_int_equal(load(&r, "back"), MK_OK);
    has(&r, "node file:f File [4000000000,4000000001) ");
    has_not(&r, "node file:f File [5");
    rig_free(&r);
}

static void test_load_git__what_git_says_is_passed_on(void **state)
{
    (void)state;
    rig r;

    script("git init -q -b main empty; mkdir plain");
    assert_int_equal(load(&r, "empty"), MK_E_STATE);
    assert_string_equal(r.err.reason, "git_failed");
    rig_free(&r);
    assert_int_equal(load(&r, "missing"), MK_E_STATE);
    if (strstr(r.err.message, "missing") == NULL)
        fail_msg("message is: %s", r.err.message);
    rig_free(&r);
    rig_init(&r);
    char path[TMPDIR_PATH_MAX];
    r.options.path = tmpdir_join(&dir, "r", path);
    r.options.revision = "--output=pwned";
    mk_load__init(&r.load, &r.options, &r.report);
    r.load.sink = &r.sink;
    assert_int_equal(mk_load__git(&r.load, &r.err), MK_E_STATE);
    rig_free(&r);
}

static mk_code knows(void *ctx, mk_str uid, bool *has_it, mk_err *err)
{
    (void)ctx;
    (void)uid;
    (void)err;
    *has_it = true;
    return MK_OK;
}

static void test_load_git__a_second_run_is_refused(void **state)
{
    (void)state;
    rig r;
    mk_load_target target = {.has_node = knows};
    char path[TMPDIR_PATH_MAX];

    rig_init(&r);
    r.options.path = tmpdir_join(&dir, "r", path);
    mk_load__init(&r.load, &r.options, &r.report);
    r.load.sink = &r.sink;
    r.load.target = &target;
    assert_int_equal(mk_load__git(&r.load, &r.err), MK_E_STATE);
    assert_string_equal(r.err.reason, "already_loaded");
    assert_int_equal(r.out.n, 0);
    rig_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_load_git__people_files_and_commits_are_nodes),
        cmocka_unit_test(test_load_git__a_path_lives_until_it_is_deleted_or_renamed),
        cmocka_unit_test(test_load_git__edges_say_who_did_what_when),
        cmocka_unit_test(test_load_git__hostile_names_stay_names),
        cmocka_unit_test(test_load_git__another_repository_in_the_environment_is_ignored),
        cmocka_unit_test(test_load_git__dates_that_go_back_make_no_empty_life),
        cmocka_unit_test(test_load_git__what_git_says_is_passed_on),
        cmocka_unit_test(test_load_git__a_second_run_is_refused),
    };

    return cmocka_run_group_tests_name("load_git", tests, setup, teardown);
}

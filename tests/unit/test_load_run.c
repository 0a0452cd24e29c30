/* Whole loads into a real store: counts, repeated loads, refusals, compressed input, event logs. */
#include "test_load_support.h"

#include <stdlib.h>

#include "../support/tmpdir.h"
#include "store/view.h"

typedef struct fixture {
    tmpdir dir;
    mk_store *store;
} fixture;

static int setup(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    char path[TMPDIR_PATH_MAX];
    mk_err err;
    const mk_store_options options = {.mode = MK_OPEN_CREATE_WRITER, .manual = true};

    tmpdir_make(&f->dir);
    if (mk_store_open(tmpdir_join(&f->dir, "store", path), &options, &f->store, &err) != MK_OK) {
        printf("%s\n", err.message);
        return -1;
    }
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;

    mk_code rc = mk_store_close(f->store, NULL);
    tmpdir_remove(&f->dir);
    free(f);
    return rc == MK_OK ? 0 : -1;
}

static mk_view_stats stats(fixture *f)
{
    mk_view_stats out;
    mk_view *view;

    assert_int_equal(mk_view_at(f->store, (mk_tt){MK_OPEN_END}, 0, &view, NULL), MK_OK);
    mk_view_get_stats(view, &out);
    mk_view_close(view);
    return out;
}

static mk_code load_text(fixture *f, const char *name, const char *text, mk_load_options options,
                         mk_load_report *report, mk_err *err)
{
    static char path[TMPDIR_PATH_MAX];

    tmpdir_put(&f->dir, name, text, strlen(text));
    options.path = tmpdir_join(&f->dir, name, path);
    return mk_load_run(f->store, &options, report, err);
}

static void test_load_run__the_same_file_twice_makes_new_edges(void **state)
{
    fixture *f = *state;
    mk_load_report report;
    mk_err err;

    for (int i = 1; i <= 2; i++) {
        const mk_code rc =
            load_text(f, "e.txt", "1 2 1082040961\n2 3 1082040962\n", (mk_load_options){0}, &report, &err);
        if (rc != MK_OK)
            fail_msg("%s: %s", err.path, err.message);
        assert_int_equal(report.format, MK_LOAD_EDGES);
        assert_int_equal(report.unit, MK_LOAD_UNIT_S);
        assert_int_equal(report.events, 2);
        assert_int_equal(report.done_line, 2);
        assert_int_equal(stats(f).edge_versions, 2 * i);
        assert_int_equal(stats(f).node_versions, 3);
    }
    assert_int_equal(mk_store_next_disc(f->store), 4);
}

static void test_load_run__reserved_uids_are_told_by_file_and_line(void **state)
{
    fixture *f = *state;
    mk_load_report report;
    mk_err err;
    const mk_load_options options = {.format = MK_LOAD_EDGES, .prefix = ""};

    assert_int_equal(load_text(f, "e.txt", "a b 1\n# c\nmn:x b 2\n", options, &report, &err),
                     MK_E_INVALID_ARG);
    assert_non_null(strstr(err.path, "e.txt:3"));
    assert_int_equal(report.batches, 0);
    assert_int_equal(stats(f).edge_versions, 0);
}

static void test_load_run__endpoints_are_made_where_they_are_missing(void **state)
{
    fixture *f = *state;
    mk_load_report report;
    mk_err err;
    const char *text = "{\"op\":\"assert_node\",\"uid\":\"a\",\"label\":\"N\",\"vt_s\":0}\n"
                       "{\"op\":\"assert_edge\",\"src\":\"a\",\"dst\":\"b\",\"rel_type\":\"R\",\"vt_s\":5}\n";
    const mk_load_options options = {.create_endpoints = true};

    for (int i = 0; i < 2; i++) {
        const mk_code rc = load_text(f, "o.jsonl", text, options, &report, &err);
        if (rc != MK_OK)
            fail_msg("%s: %s", err.path, err.message);
        assert_int_equal(report.ops, i == 0 ? 3 : 2);
    }
}

static void test_load_run__an_unknown_format_asks_for_one(void **state)
{
    fixture *f = *state;
    mk_load_report report;
    mk_err err;

    assert_int_equal(load_text(f, "x.txt", "Dear all,\nhello\n", (mk_load_options){0}, &report, &err),
                     MK_E_INVALID_ARG);
    assert_non_null(strstr(err.hint, "--format"));
    assert_int_equal(load_text(f, "y.txt", "", (mk_load_options){0}, &report, &err), MK_OK);
    assert_int_equal(report.rows, 0);
    const mk_load_options missing = {.path = "/nowhere/at/all"};
    assert_int_equal(mk_load_run(f->store, &missing, &report, &err), MK_E_NOT_FOUND);
}

static bool shared(const char *name, char path[TMPDIR_PATH_MAX])
{
    const char *dir = getenv("MK_SHARED_DATA");

    if (dir == NULL) {
        printf("skipped: MK_SHARED_DATA is not set\n");
        return false;
    }
    snprintf(path, TMPDIR_PATH_MAX, "%s/%s", dir, name);
    return true;
}

static void test_load_run__collegemsg_has_its_published_size(void **state)
{
    fixture *f = *state;
    char path[TMPDIR_PATH_MAX];
    mk_load_report report;
    mk_err err;

    if (!shared("graphs/CollegeMsg.txt.gz", path))
        skip();
    const mk_load_options options = {.path = path};
    const mk_code rc = mk_load_run(f->store, &options, &report, &err);
    if (rc != MK_OK)
        fail_msg("%s: %s", err.path, err.message);
    assert_int_equal(report.events, 59835);
    assert_int_equal(report.batches, 2);
    assert_int_equal(stats(f).entities, 1899);
    assert_int_equal(stats(f).edge_versions, 59835);
}

static void test_load_run__an_event_log_needs_an_empty_store(void **state)
{
    fixture *f = *state;
    char path[TMPDIR_PATH_MAX];
    mk_load_report report;
    mk_err err;

    if (!shared("golden/small-00.eventlog.jsonl", path))
        skip();
    const mk_load_options options = {.path = path};
    const mk_code rc = mk_load_run(f->store, &options, &report, &err);
    if (rc != MK_OK)
        fail_msg("%s: %s", err.path, err.message);
    assert_int_equal(report.format, MK_LOAD_EVENTLOG);
    assert_int_equal(report.batches + report.failed_batches, report.rows);
    assert_int_equal(mk_load_run(f->store, &options, &report, &err), MK_E_STATE);
    assert_string_equal(err.reason, "not_empty");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_load_run__the_same_file_twice_makes_new_edges, setup, teardown),
        cmocka_unit_test_setup_teardown(test_load_run__reserved_uids_are_told_by_file_and_line, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_load_run__endpoints_are_made_where_they_are_missing, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_load_run__an_unknown_format_asks_for_one, setup, teardown),
        cmocka_unit_test_setup_teardown(test_load_run__collegemsg_has_its_published_size, setup, teardown),
        cmocka_unit_test_setup_teardown(test_load_run__an_event_log_needs_an_empty_store, setup, teardown),
    };

    return cmocka_run_group_tests_name("load_run", tests, NULL, NULL);
}

/* Edge lists: the presets of the store spec 21, separators, units, properties and bad rows. */
#include "test_load_support.h"

#include <stdlib.h>
#include <time.h>

#include "base/instream.h"

static mk_code run(rig *r, const char *text)
{
    rig_open(r, mk_str_of(text), 0);
    return mk_load__edges(&r->load, &r->err);
}

/* Loads `text` with options from `set`, and wants these lines. */
static void expect(const mk_load_options *options, const char *text, const char *lines)
{
    const size_t steps[] = {0, 1, 3, 7};

    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        rig r;
        rig_init(&r);
        r.options = *options;
        if (r.options.path == NULL)
            r.options.path = "in.txt";
        rig_open(&r, mk_str_of(text), steps[i]);
        const mk_code rc = mk_load__edges(&r.load, &r.err);
        if (rc != MK_OK)
            fail_msg("%s: %s", r.err.path, r.err.message);
        assert_string_equal(rig_text(&r), lines);
        rig_free(&r);
    }
}

/* Wants a refusal at this path whose message holds this text, and no event. */
static void refuse(const mk_load_options *options, const char *text, const char *path,
                   const char *words)
{
    rig r;

    rig_init(&r);
    r.options = *options;
    r.options.path = "in.txt";
    assert_int_equal(run(&r, text), MK_E_INVALID_ARG);
    assert_string_equal(r.err.path, path);
    if (strstr(r.err.message, words) == NULL)
        fail_msg("message is: %s", r.err.message);
    rig_free(&r);
}

static void test_load_edges__collegemsg_is_read_as_the_spec_says(void **state)
{
    (void)state;
    const mk_load_options options = {.preset = MK_LOAD_PRESET_COLLEGEMSG};
    expect(&options, "# SRC DST UNIXTS\n\n% more\n1 2 1082040961\n007\t3  1082155839 99\r\n4 5 12",
           "n1>n2 MSG * [1082040961000000,-)  @4\n"
           "n007>n3 MSG * [1082155839000000,-)  @5\n"
           "n4>n5 MSG * [12000000,-)  @6\n");
    refuse(&options, "1 2 1082040961.5\n", "in.txt:1:5", "no time");
    refuse(&options, "1 2 1082040961\n1 2\n", "in.txt:2", "2 columns where 3 are needed");
    refuse(&options, "1,2,1082040961\n", "in.txt:1", "columns");
}

static void test_load_edges__bitcoinotc_is_read_as_the_spec_says(void **state)
{
    (void)state;
    const mk_load_options options = {.preset = MK_LOAD_PRESET_BITCOINOTC};
    expect(&options, "6,2,4,1289241911.72836\r\n6,5,-10,1289241942\r\n1,15,+1,1.5e3\n",
           "n6>n2 TRUST * [1289241911728360,-) {\"rating\":4} @1\n"
           "n6>n5 TRUST * [1289241942000000,-) {\"rating\":-10} @2\n"
           "n1>n15 TRUST * [1500000000,-) {\"rating\":1} @3\n");
    refuse(&options, "6,2,4.0,1289241911\n", "in.txt:1:5", "no integer");
    refuse(&options, "6,2,4,12,13\n", "in.txt:1", "more than 4 columns");
    refuse(&options, ",2,4,12\n", "in.txt:1:1", "empty name");
    refuse(&options, "1,2,4,inf\n", "in.txt:1:7", "no time");
    refuse(&options, "1,2,4,1e300\n", "in.txt:1:7", "out of range");
}

static void test_load_edges__the_unit_is_told_by_the_largest_of_the_first_rows(void **state)
{
    (void)state;
    const mk_load_options options = {0};
    expect(&options, "a b 1082040961\n", "na>nb EDGE * [1082040961000000,-)  @1\n");
    expect(&options, "a b 5\na b 1082040961123\n",
           "na>nb EDGE * [5000,-)  @1\nna>nb EDGE * [1082040961123000,-)  @2\n");
    expect(&options, "a b 1082040961123456\n", "na>nb EDGE * [1082040961123456,-)  @1\n");
    expect(&options, "a b 1\na b 2\n", "na>nb EDGE * [1000000,-)  @1\nna>nb EDGE * [2000000,-)  @2\n");
    expect(&options, "a b -3\na b 0.25\n", "na>nb EDGE * [-3000000,-)  @1\nna>nb EDGE * [250000,-)  @2\n");
    /* Within the first rows both classes are seen, the smaller one is then the bad row. */
    refuse(&options, "a b 1082040961123\na b 1082040961\n", "in.txt:2:5", "looks like s");
    const mk_load_options given = {.unit = MK_LOAD_UNIT_MS};
    expect(&given, "a b 1082040961\n", "na>nb EDGE * [1082040961000,-)  @1\n");
}

static void test_load_edges__a_later_time_of_another_class_is_refused(void **state)
{
    (void)state;
    rig r;
    mk_buf text;

    mk_buf_init(&text, &mk_alloc_default);
    for (int i = 0; i < 1500; i++)
        mk_buf_z(&text, "a b 1082040961\n");
    mk_buf_z(&text, "a b 1082040961000\n");
    rig_init(&r);
    rig_open(&r, mk_buf_view(&text), 0);
    assert_int_equal(mk_load__edges(&r.load, &r.err), MK_E_INVALID_ARG);
    assert_string_equal(r.err.path, "in.txt:1501:5");
    assert_non_null(strstr(r.err.hint, "--unit"));
    assert_int_equal(r.events, 1500);
    rig_free(&r);
    mk_buf_free(&text);
}

static void test_load_edges__further_columns_are_weights_typed_by_their_spelling(void **state)
{
    (void)state;
    const mk_load_options options = {0};
    expect(&options, "a,b,1082040961,3,2.50,x\nc,d,1082040962\n",
           "na>nb EDGE * [1082040961000000,-) {\"weight\":3,\"weight2\":2.5,\"weight3\":\"x\"} @1\n"
           "nc>nd EDGE * [1082040962000000,-)  @2\n");
    expect(&options, "a b 1082040961 007 -0 1e3 +4\n",
           "na>nb EDGE * [1082040961000000,-) "
           "{\"weight\":\"007\",\"weight2\":0,\"weight3\":1000.0,\"weight4\":4} @1\n");
}

static void test_load_edges__columns_may_be_named(void **state)
{
    (void)state;
    const mk_load_options options = {.columns = "src,rel_type,dst,time", .separator = MK_LOAD_SEP_TAB,
                                     .prefix = ""};
    expect(&options, "China\tMeet with\tSouth Korea\t2014-01-01\n",
           "China>South Korea Meet with * [1388534400000000,-)  @1\n");
    const mk_load_options long_prefix = {.columns = "time,dst,src,-,note:string,end,disc",
                                         .prefix = "user:", .rel_type = "R"};
    expect(&long_prefix, "10,b,a,skipped,7,,\n10,b,a,skipped,,12,k\n",
           "user:a>user:b R  [10000000,4611686018427387904) {\"note\":\"7\"} @1\n"
           "user:a>user:b R k [10000000,12000000)  @2\n");
    refuse(&long_prefix, "10,b,a,s,7,9,\n", "in.txt:1:12", "not after the start");
    const mk_load_options wrong[] = {{.columns = "src,dst"},
                                     {.columns = "src,dst,time,src"},
                                     {.columns = "src,dst,time,x:number"},
                                     {.columns = "src,dst,time,x,x"},
                                     {.columns = "src,dst,,time"}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        rig r;
        rig_init(&r);
        r.options.columns = wrong[i].columns;
        assert_int_equal(run(&r, "a b 1\n"), MK_E_INVALID_ARG);
        rig_free(&r);
    }
}

static void test_load_edges__a_rating_before_the_time_is_not_taken_for_a_time(void **state)
{
    (void)state;
    const mk_load_options options = {0};
    refuse(&options, "6,2,4,1289241912\n", "columns", "looks like the time");
}

static void test_load_edges__bad_rows_may_be_passed_over(void **state)
{
    (void)state;
    rig r;

    rig_init(&r);
    r.options.skip_bad = 2;
    r.options.prefix = "";
    assert_int_equal(run(&r, "a b 1\nx\nc d soon\ne f 2\n"), MK_OK);
    assert_string_equal(rig_text(&r), "a>b EDGE * [1000000,-)  @1\ne>f EDGE * [2000000,-)  @4\n");
    assert_int_equal(r.report.rows, 4);
    assert_int_equal(r.report.skipped, 2);
    assert_int_equal(r.report.bad_count, 2);
    assert_string_equal(r.report.bad[1].path, "in.txt:3:5");
    rig_free(&r);
    rig_init(&r);
    r.options.skip_bad = 1;
    assert_int_equal(run(&r, "a b 1\nx\nc d soon\ne f 2\n"), MK_E_INVALID_ARG);
    assert_string_equal(r.err.path, "in.txt:3:5");
    rig_free(&r);
}

static void test_load_edges__text_that_is_not_utf8_is_a_bad_row(void **state)
{
    (void)state;
    const mk_load_options options = {0};
    refuse(&options, "a b 1\nZo\xeb b 2\n", "in.txt:2:3", "0xeb is not UTF-8");
    expect(&options, "\xEF\xBB\xBFZo\xc3\xab b 2\n", "nZo\xc3\xab>nb EDGE * [2000000,-)  @1\n");
}

static void test_load_edges__an_empty_input_has_no_rows(void **state)
{
    (void)state;
    const mk_load_options options = {0};
    expect(&options, "", "");
    expect(&options, "# only a comment\n\n", "");
}

static bool stop_at_once(void *ctx, const mk_load_progress *progress)
{
    (void)ctx;
    return progress->rows < 8192;
}

static void test_load_edges__the_caller_may_stop(void **state)
{
    (void)state;
    rig r;
    mk_buf text;

    mk_buf_init(&text, &mk_alloc_default);
    for (int i = 0; i < 10000; i++)
        mk_buf_z(&text, "a b 1\n");
    rig_init(&r);
    r.options.progress = stop_at_once;
    r.quiet = true;
    rig_open(&r, mk_buf_view(&text), 0);
    assert_int_equal(mk_load__edges(&r.load, &r.err), MK_E_CANCELLED);
    assert_int_equal(r.events, 8191);
    rig_free(&r);
    mk_buf_free(&text);
}

/* ---- real files ---- */

static mk_code stream_read(void *ctx, void *p, size_t n, size_t *got, mk_err *err)
{
    return mk_instream_read(ctx, p, n, got, err);
}

static bool shared_file(const char *name, mk_buf *text)
{
    const char *dir = getenv("MK_SHARED_DATA");
    char path[1024];
    mk_instream *in;
    mk_err err;
    size_t got;

    if (dir == NULL) {
        printf("skipped: MK_SHARED_DATA is not set\n");
        return false;
    }
    snprintf(path, sizeof path, "%s/graphs/%s", dir, name);
    assert_int_equal(mk_instream_open(&mk_alloc_default, path, &in, &err), MK_OK);
    do {
        char *p = mk_buf_room(text, 1 << 16);
        assert_int_equal(stream_read(in, p, 1 << 16, &got, &err), MK_OK);
        text->n += got;
    } while (got > 0);
    mk_instream_close(in);
    return true;
}

static void test_load_edges__the_published_files_have_their_published_sizes(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        mk_load_preset preset;
        uint64_t events;
    } files[] = {{"CollegeMsg.txt.gz", MK_LOAD_PRESET_COLLEGEMSG, 59835},
                 {"soc-sign-bitcoinotc.csv.gz", MK_LOAD_PRESET_BITCOINOTC, 35592}};

    for (size_t i = 0; i < 2; i++) {
        rig r;
        mk_buf text;
        mk_buf_init(&text, &mk_alloc_default);
        if (!shared_file(files[i].name, &text)) {
            mk_buf_free(&text);
            skip();
        }
        rig_init(&r);
        r.options.preset = files[i].preset;
        r.quiet = true;
        rig_open(&r, mk_buf_view(&text), 0);
        assert_int_equal(mk_load__edges(&r.load, &r.err), MK_OK);
        assert_int_equal(r.events, files[i].events);
        assert_int_equal(r.report.rows, files[i].events);
        rig_free(&r);
        mk_buf_free(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_load_edges__collegemsg_is_read_as_the_spec_says),
        cmocka_unit_test(test_load_edges__bitcoinotc_is_read_as_the_spec_says),
        cmocka_unit_test(test_load_edges__the_unit_is_told_by_the_largest_of_the_first_rows),
        cmocka_unit_test(test_load_edges__a_later_time_of_another_class_is_refused),
        cmocka_unit_test(test_load_edges__further_columns_are_weights_typed_by_their_spelling),
        cmocka_unit_test(test_load_edges__columns_may_be_named),
        cmocka_unit_test(test_load_edges__a_rating_before_the_time_is_not_taken_for_a_time),
        cmocka_unit_test(test_load_edges__bad_rows_may_be_passed_over),
        cmocka_unit_test(test_load_edges__text_that_is_not_utf8_is_a_bad_row),
        cmocka_unit_test(test_load_edges__an_empty_input_has_no_rows),
        cmocka_unit_test(test_load_edges__the_caller_may_stop),
        cmocka_unit_test(test_load_edges__the_published_files_have_their_published_sizes),
    };

    return cmocka_run_group_tests_name("load_edges", tests, NULL, NULL);
}

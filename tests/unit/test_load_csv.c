/* Tables: quoting, mappings, types, intervals, nodes and bad rows. */
#include "test_load_support.h"

#include <stdlib.h>

#include "base/instream.h"

static void expect(const mk_load_options *options, char separator, const char *text,
                   const char *lines)
{
    const size_t steps[] = {0, 1, 5};

    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        rig r;
        rig_init(&r);
        r.options = *options;
        r.options.path = "in.csv";
        rig_open(&r, mk_str_of(text), steps[i]);
        const mk_code rc = mk_load__csv(&r.load, separator, &r.err);
        if (rc != MK_OK)
            fail_msg("%s: %s (%s)", r.err.path, r.err.message, r.err.hint);
        assert_string_equal(rig_text(&r), lines);
        rig_free(&r);
    }
}

static void refuse(const mk_load_options *options, const char *text, const char *path,
                   const char *words)
{
    rig r;

    rig_init(&r);
    r.options = *options;
    r.options.path = "in.csv";
    rig_open(&r, mk_str_of(text), 0);
    assert_int_equal(mk_load__csv(&r.load, ',', &r.err), MK_E_INVALID_ARG);
    assert_string_equal(r.err.path, path);
    if (strstr(r.err.message, words) == NULL)
        fail_msg("message is: %s", r.err.message);
    rig_free(&r);
}

static void test_load_csv__quoted_fields_hold_separators_quotes_and_line_ends(void **state)
{
    (void)state;
    const mk_load_options options = {.mapping = "src=a,dst=b,vt_s=t,props=note:string"};
    expect(&options, ',',
           "a,b,t,note\r\n\"x, y\",z,10,\"say "
           "\"\"hi\"\"\nthere\"\r\n\r\n\"q\",r,\"11\",5\"6\"\"\nu,v,12,\"\"\"\"",
           "x, y>z EDGE * [10000000,-) {\"note\":\"say \\\"hi\\\"\\nthere\"} @2\n"
           "q>r EDGE * [11000000,-) {\"note\":\"5\\\"6\\\"\\\"\"} @5\n"
           "u>v EDGE * [12000000,-) {\"note\":\"\\\"\"} @6\n");
}

static void test_load_csv__typed_values_are_canonical(void **state)
{
    (void)state;
    const mk_load_options options = {
        .mapping = "src=a,dst=b,vt_s=t,rel_type='PAID',props=i:int,f:float,o:bool,s:string,j:json,w:time,x",
        .unit = MK_LOAD_UNIT_US};
    expect(&options, ',',
           "a,b,t,i,f,o,s,j,w,x\n"
           "p,q,1,+007,1,YES,12,\"{\"\"b\"\":1,\"\"a\"\":[1.0]}\",1970-01-02,1.50\n"
           "p,q,2,123456789012345678901234567890,-.5,0,,null,3,abc\n",
           "p>q PAID * [1,-) "
           "{\"f\":1.0,\"i\":7,\"j\":{\"a\":[1.0],\"b\":1},\"o\":true,\"s\":\"12\",\"w\":86400000000,\"x\":1."
           "5} @2\n"
           "p>q PAID * [2,-) "
           "{\"f\":-0.5,\"i\":123456789012345678901234567890,\"j\":null,\"o\":false,\"w\":3,\"x\":\"abc\"} "
           "@3\n");
    refuse(&options, "a,b,t,i,f,o,s,j,w,x\np,q,1,1.5,,,,,,\n", "in.csv:2:7",
           "'1.5' in column i is no integer");
    refuse(&options, "a,b,t,i,f,o,s,j,w,x\np,q,1,,x,,,,,\n", "in.csv:2:8", "no number");
    refuse(&options, "a,b,t,i,f,o,s,j,w,x\np,q,1,,1e999,,,,,\n", "in.csv:2:8", "double");
    refuse(&options, "a,b,t,i,f,o,s,j,w,x\np,q,1,,,maybe,,,,\n", "in.csv:2:9", "truth");
    refuse(&options, "a,b,t,i,f,o,s,j,w,x\np,q,1,,,,,{,,\n", "in.csv:2:11", "no JSON");
    refuse(&options, "a,b,t,i,f,o,s,j,w,x\np,q,1,,,,,,soon,\n", "in.csv:2:12", "no time");
}

static void test_load_csv__an_interval_has_an_end_or_still_holds(void **state)
{
    (void)state;
    const mk_load_options options = {.mapping =
                                         "src=who,dst=\"where, at\",vt_s=since,vt_e=until,rel_type=what"};
    const char *text = "who,what,\"where, at\",since,until\n"
                       "ann,WORKS_AT,acme,2020-01-01,2021-01-01\nann,WORKS_AT,beta,2021-01-01,\n";
    expect(&options, ',', text,
           "ann>acme WORKS_AT * [1577836800000000,1609459200000000)  @2\n"
           "ann>beta WORKS_AT * [1609459200000000,4611686018427387904)  @3\n");
    refuse(&options, "who,what,\"where, at\",since,until\nann,W,acme,2021-01-01,2020-01-01\n",
           "in.csv:2:23", "not after vt_s");
    refuse(&options, "who,what,\"where, at\",since,until\nann,,acme,2021-01-01,\n", "in.csv:2:5",
           "rel_type is empty");
}

static void test_load_csv__rows_may_be_nodes(void **state)
{
    (void)state;
    const mk_load_options options = {.mapping = "uid=id,label=kind,vt_s=since,props=*", .prefix = "p:"};
    expect(&options, ',', "id,kind,since,name,age\n1,Person,2020-01-01,Ann,30\n2,,,Bob,\n",
           "node p:1 Person [1577836800000000,open) {\"age\":30,\"name\":\"Ann\"} @2\n"
           "node p:2 Node [0,open) {\"name\":\"Bob\"} @3\n");
    const mk_load_options constant = {.mapping = "uid=id,label='Thing'"};
    expect(&constant, '\t', "id\tx\n1\t2\n", "node 1 Thing [0,open) {} @2\n");
}

static void test_load_csv__the_usual_names_need_no_mapping(void **state)
{
    (void)state;
    const mk_load_options options = {0};
    expect(&options, ',', "Source,Target,Timestamp,amount\na,b,1082040961,5\n",
           "a>b EDGE * [1082040961000000,-) {\"amount\":5} @2\n");
    expect(&options, ',', "id,name\nx,Ann\n", "node x Node [0,open) {\"name\":\"Ann\"} @2\n");
    refuse(&options, "foo,bar\n1,2\n", "mapping", "needs src and dst");
}

static void test_load_csv__mistakes_in_the_mapping_name_what_there_is(void **state)
{
    (void)state;
    static const struct {
        const char *mapping, *words;
    } wrong[] = {
        {"src=x,dst=b,vt_s=t", "no column 'x'"},    {"src=a,dst=b", "needs vt_s"},
        {"src=a,dst=b,vt_s=t,when=t", "'when'"},    {"src=a,src=b", "mapped twice"},
        {"src='k',dst=b,vt_s=t", "constant"},       {"a,b", "no ROLE=COLUMN"},
        {"uid=a,src=b,dst=t", "not both"},          {"src=a,dst=b,vt_s=t,props=t:number", "no type"},
        {"src=a,dst=b,vt_s=t,props=t,t", "two columns"}, {"src=a,dst=b,vt_s=t,label='x'", "no label"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        rig r;
        rig_init(&r);
        r.options.mapping = wrong[i].mapping;
        rig_open(&r, MK_STR("a,b,t\n1,2,3\n"), 0);
        assert_int_equal(mk_load__csv(&r.load, ',', &r.err), MK_E_INVALID_ARG);
        if (strstr(r.err.message, wrong[i].words) == NULL)
            fail_msg("%s: %s", wrong[i].mapping, r.err.message);
        rig_free(&r);
    }
}

static void test_load_csv__damaged_rows_are_told_by_line(void **state)
{
    (void)state;
    const mk_load_options options = {.mapping = "src=a,dst=b,vt_s=t"};
    refuse(&options, "a,b,t\n1,2,3\n1,2\n", "in.csv:3", "2 columns where the table has 3");
    refuse(&options, "a,b,t\n\"1\"x,2,3\n", "in.csv:2:1", "not followed");
    refuse(&options, "a,b,t\n\"1\n2\",2,3\n\"1,2,3\nrest\n", "in.csv:4", "never closed");
    refuse(&options, "a,b,t\n1,,3\n", "in.csv:2:3", "dst is empty");
    rig r;
    rig_init(&r);
    r.options = options;
    r.options.path = "in.csv";
    r.options.skip_bad = 3;
    rig_open(&r, MK_STR("a,b,t\n1,2\n\"1\"x,2,3\n4,5,6\n\"open"), 0);
    assert_int_equal(mk_load__csv(&r.load, ',', &r.err), MK_OK);
    assert_string_equal(rig_text(&r), "4>5 EDGE * [6000000,-)  @4\n");
    assert_int_equal(r.report.skipped, 3);
    rig_free(&r);
}

static void test_load_csv__icews14_loads_without_a_header(void **state)
{
    (void)state;
    const char *dir = getenv("MK_SHARED_DATA");
    char path[1024];
    mk_instream *in;
    mk_buf text;
    rig r;
    size_t got;

    if (dir == NULL) {
        printf("skipped: MK_SHARED_DATA is not set\n");
        skip();
    }
    snprintf(path, sizeof path, "%s/graphs/icews14.tsv.gz", dir);
    rig_init(&r);
    assert_int_equal(mk_instream_open(&mk_alloc_default, path, &in, &r.err), MK_OK);
    mk_buf_init(&text, &mk_alloc_default);
    do {
        char *p = mk_buf_room(&text, 1 << 16);
        assert_int_equal(mk_instream_read(in, p, 1 << 16, &got, &r.err), MK_OK);
        text.n += got;
    } while (got > 0);
    mk_instream_close(in);
    r.options.no_header = true;
    r.options.mapping = "src=1,rel_type=2,dst=3,vt_s=4";
    rig_open(&r, mk_buf_view(&text), 0);
    const mk_code rc = mk_load__csv(&r.load, '\t', &r.err);
    if (rc != MK_OK)
        fail_msg("%s: %s", r.err.path, r.err.message);
    assert_int_equal(r.events, 90730);
    assert_int_equal(r.report.unit, MK_LOAD_UNIT_AUTO); /* dates tell no unit */
    const char *first =
        "China>South_Korea Engage_in_diplomatic_cooperation * [1388534400000000,-)  @1\n";
    assert_memory_equal(rig_text(&r), first, strlen(first));
    rig_free(&r);
    mk_buf_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_load_csv__quoted_fields_hold_separators_quotes_and_line_ends),
        cmocka_unit_test(test_load_csv__typed_values_are_canonical),
        cmocka_unit_test(test_load_csv__an_interval_has_an_end_or_still_holds),
        cmocka_unit_test(test_load_csv__rows_may_be_nodes),
        cmocka_unit_test(test_load_csv__the_usual_names_need_no_mapping),
        cmocka_unit_test(test_load_csv__mistakes_in_the_mapping_name_what_there_is),
        cmocka_unit_test(test_load_csv__damaged_rows_are_told_by_line),
        cmocka_unit_test(test_load_csv__icews14_loads_without_a_header),
    };

    return cmocka_run_group_tests_name("load_csv", tests, NULL, NULL);
}

/* Formats by name and content. */
#include "test_load_support.h"

static void test_load_detect__content_decides_before_the_name(void **state)
{
    (void)state;
    static const struct {
        const char *path, *head;
        mk_load_format format;
        mk_load_preset preset;
    } cases[] = {
        {"x.csv", "a,b,t\n1,2,3\n", MK_LOAD_CSV, MK_LOAD_PRESET_NONE},
        {"x.csv.gz", "\xEF\xBB\xBF\"a\",b\n", MK_LOAD_CSV, MK_LOAD_PRESET_NONE},
        {"x.tsv.zst", "China\tR\tJapan\t2014-01-01\n", MK_LOAD_TSV, MK_LOAD_PRESET_NONE},
        {"x.csv", "6,2,4,1289241912\r\n", MK_LOAD_EDGES, MK_LOAD_PRESET_NONE},
        {"a/soc-sign-bitcoinotc.csv.gz", "6,2,4,1289241912\r\n", MK_LOAD_EDGES,
         MK_LOAD_PRESET_BITCOINOTC},
        {"CollegeMsg.txt", "1 2 1082040961\n", MK_LOAD_EDGES, MK_LOAD_PRESET_COLLEGEMSG},
        {"email-Eu-core-temporal.txt.gz", "# c\n582 364 0\n", MK_LOAD_EDGES, MK_LOAD_PRESET_EMAIL_EU},
        {"-", "# SRC DST\nalice bob 1082040961\n", MK_LOAD_EDGES, MK_LOAD_PRESET_NONE},
        {"-", "{\"format\":\"tgms-eventlog\",\"version\":1}\n", MK_LOAD_EVENTLOG, MK_LOAD_PRESET_NONE},
        {"x.csv", "\n {\"src\":\"a\"}\n", MK_LOAD_JSONL, MK_LOAD_PRESET_NONE},
        {"notes.txt", "Dear reader, hello\n", MK_LOAD_AUTO, MK_LOAD_PRESET_NONE},
        {"empty", "", MK_LOAD_AUTO, MK_LOAD_PRESET_NONE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        mk_load_preset preset = MK_LOAD_PRESET_EMAIL_EU;
        const mk_load_format format =
            mk_load_detect(cases[i].path, mk_str_of(cases[i].head), &preset);
        if (format != cases[i].format || preset != cases[i].preset)
            fail_msg("%s: %s, preset %d", cases[i].path, mk_load_format_name(format), (int)preset);
    }
}

static void test_load_detect__names_are_known_both_ways(void **state)
{
    (void)state;
    mk_load_format format;
    mk_load_preset preset;
    mk_load_unit unit;

    for (mk_load_format f = MK_LOAD_AUTO; f <= MK_LOAD_GIT; f++) {
        assert_true(mk_load_format_named(mk_load_format_name(f), &format));
        assert_int_equal(format, f);
    }
    assert_false(mk_load_format_named("xml", &format));
    assert_true(mk_load_preset_named("email-eu", &preset));
    assert_int_equal(preset, MK_LOAD_PRESET_EMAIL_EU);
    assert_true(mk_load_unit_named("ms", &unit));
    assert_int_equal(unit, MK_LOAD_UNIT_MS);
    assert_false(mk_load_unit_named("years", &unit));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_load_detect__content_decides_before_the_name),
        cmocka_unit_test(test_load_detect__names_are_known_both_ways),
    };

    return cmocka_run_group_tests_name("load_detect", tests, NULL, NULL);
}

/* The door of a store: what is refused leaves it untouched, discriminators go on where they stopped, and
 * transaction times rise whatever the clock says.
 *
 * Every malformed op is tried alone and behind good ops of the same batch, and afterwards the log, the
 * digest, the newest time and the next discriminator are compared with those before. Sources: store
 * spec, 6, 7, 24; decisions.md 3; STORAGE.md, "Limits". */
#include "base/json.h"
#include "store/record.h"
#include "store_fixture.h"

/* ---- untouched ---- */

typedef struct imprint {
    uint8_t log[32], view[32];
    char digest[72]; /* 65, and no padding: imprints are compared as bytes */
    uint64_t frames;
    int64_t tt, next_disc;
} imprint;

static imprint take(fixture *f)
{
    imprint i = {{0}, {0}, {0}, 0, 0, 0};
    mk_view *view;
    log_hash(f->path, i.log);
    digest_of(f->store, i.digest);
    i.frames = mk_store_log_frames(f->store);
    i.tt = mk_store_last_tt(f->store).us;
    i.next_disc = mk_store_next_disc(f->store);
    assert_int_equal(mk_view_at(f->store, now, 0, &view, NULL), MK_OK);
    view_hash(view, i.view);
    mk_view_close(view);
    return i;
}

static void untouched(fixture *f, const imprint *before, const char *what)
{
    const imprint after = take(f);
    if (memcmp(&after, before, sizeof after) != 0)
        fail_msg("%s changed the store", what);
}

/* Alone, and behind ops that are good and would register names. */
static void refused(fixture *f, mk_op op, mk_code code, const char *member)
{
    mk_err err;
    mk_tt tt = {-7};
    mk_event event = event_of("fresh", "fresher", 1);
    event.disc_kind = MK_DISC_GIVEN;
    event.disc = MK_STR("#900");
    const mk_op ops[3] = {node_op("fresh", "{}", 0, 1), events_op(&event, 1, 0), op};
    const imprint before = take(f);
    for (int alone = 0; alone < 2; alone++) {
        char path[64];
        const mk_code rc = alone ? mk_store_write(f->store, &op, 1, NULL, &tt, &err)
                                 : mk_store_write(f->store, ops, 3, NULL, &tt, &err);
        snprintf(path, sizeof path, "ops[%d]%s%s", alone ? 0 : 2, member[0] ? "." : "", member);
        if (rc != code || err.code != code)
            fail_msg("%s: %s instead of %s", path, mk_code_name(rc), mk_code_name(code));
        assert_string_equal(err.path, path);
        assert_true(err.message[0] != 0 && err.hint[0] != 0);
        assert_int_equal(err.retry, MK_RETRY_AFTER_FIX);
        assert_int_equal(tt.us, -7);
        untouched(f, &before, err.message);
    }
}

static void fill(fixture *f)
{
    mk_event events[3] = {event_of("a", "b", 1), event_of("b", "a", 2), event_of("a", "c", 3)};
    const mk_op ops[3] = {node_op("n", "{\"m\":1}", 0, 10), edge_op("n", "m", "", "{}", 0, 10),
                          events_op(events, 3, 0)};
    write_ops(f->store, ops, 3);
}

static void test_store_door__malformed_values_leave_no_trace(void **state)
{
    fixture *f = *state;
    static const mk_code bad = MK_E_INVALID_ARG;
    mk_op op;
    fill(f);
    refused(f, node_op("", "{}", 0, 1), bad, "uid");
    refused(f, node_op("\xc3(", "{}", 0, 1), bad, "uid");
    refused(f, node_op("\xed\xa0\x80", "{}", 0, 1), bad, "uid"); /* a lone surrogate */
    refused(f, node_op("n", "{}", 5, 5), bad, "vt_e");
    refused(f, node_op("n", "{}", 5, 4), bad, "vt_e");
    refused(f, node_op("n", "{}", MK_TIME_MIN - 1, 4), bad, "vt_s");
    refused(f, node_op("n", "{}", 0, MK_OPEN_END + 1), bad, "vt_e");
    refused(f, node_op("n", "{}", INT64_MIN, INT64_MAX), bad, "vt_s");
    refused(f, edge_op("", "b", "", "{}", 0, 1), bad, "src");
    refused(f, edge_op("a", "", "", "{}", 0, 1), bad, "dst");
    refused(f, edge_op("a", "b", "\xff", "{}", 0, 1), bad, "disc");
    refused(f, edge_op("a", "b", "", "{}", 1, 0), bad, "vt_e");
    refused(f, retract_node_op("", 1), bad, "ref.uid");
    refused(f, retract_node_op("n", INT64_MAX), bad, "t");
    refused(f, retract_node_op("n", INT64_MIN), bad, "t");
    refused(f, correct_node_op("n", "{}", 3, 3), bad, "vt_e");
    op = node_op("n", "{}", 0, 1);
    op.source = MK_STR("");
    refused(f, op, bad, "source");
    op.source = MK_STR("\x80");
    refused(f, op, bad, "source");
    op = node_op("n", "{}", 0, 1);
    op.provenance_null = false;
    op.provenance_ref = MK_STR("\xff");
    refused(f, op, bad, "provenance_ref");
    op = node_op("n", "{}", 0, 1);
    op.label = MK_STR("\xff");
    refused(f, op, bad, "label");
    op = edge_op("a", "b", "", "{}", 0, 1);
    op.rel_type = MK_STR("");
    refused(f, op, bad, "rel_type");
    op = edge_op("a", "b", "", "{}", 0, 1);
    op.disc_null = true;
    refused(f, op, bad, "disc");
    op = (mk_op){.kind = MK_OP_UNKNOWN, .raw_kind = MK_STR("explode"), .source = MK_STR("x")};
    refused(f, op, bad, "op");
}

static void test_store_door__props_must_be_canonical(void **state)
{
    fixture *f = *state;
    static const char *const props[] = {
        "{",
        "{}{}",
        "{ }",
        "{\"b\":1,\"a\":2}",
        "{\"a\":1,\"a\":2}",
        "nul",
        "{\"a\":1.50}",
        "{\"a\":01}",
        "{\"a\":\"\\u0041\"}",
        "{\"a\":\"\\ud800\"}",
        "{\"a\":\"\xff\"}",
        "[1,]",
        "{\"a\":1}\n",
        "{\"a\":1e400}",
    };
    fill(f);
    for (size_t i = 0; i < sizeof props / sizeof *props; i++) {
        mk_event event = event_of("a", "b", 1);
        event.props = mk_str_of(props[i]);
        refused(f, node_op("n", props[i], 0, 1), MK_E_INVALID_ARG, "props");
        refused(f, correct_node_op("n", props[i], 0, 1), MK_E_INVALID_ARG, "props");
        refused(f, events_op(&event, 1, 50), MK_E_INVALID_ARG, "events[0].props");
    }
}

static void test_store_door__one_bad_event_refuses_its_batch(void **state)
{
    fixture *f = *state;
    static const mk_code bad = MK_E_INVALID_ARG;
    fill(f);
    const mk_event good = event_of("a", "b", 7);
    mk_event events[3] = {good, good, good};
    events[2].src = MK_STR("");
    refused(f, events_op(events, 3, 10), bad, "events[2].src");
    events[2] = good;
    events[2].rel_type = MK_STR("");
    refused(f, events_op(events, 3, 10), bad, "events[2].rel_type");
    events[2] = good;
    events[2].disc_kind = MK_DISC_NULL;
    refused(f, events_op(events, 3, 10), bad, "events[2].disc");
    events[2] = good;
    events[2].has_vt_e = true;
    for (int64_t vt_e = 5; vt_e < 8; vt_e++) {
        events[2].vt_e = vt_e;
        refused(f, events_op(events, 3, 10), bad, "events[2].vt_e");
    }
    events[2].vt_s = -5;
    events[2].vt_e = 0; /* the reference would read "none" */
    refused(f, events_op(events, 3, 10), bad, "events[2].vt_e");
    events[2] = good;
    events[2].vt_s = MK_OPEN_END;
    refused(f, events_op(events, 3, 10), bad, "events[2].vt_s");
    refused(f, events_op(events, 2, -1), bad, "offset");
    refused(f, events_op(events, 2, INT64_MAX), bad, "offset");
}

static void test_store_door__two_events_with_one_vid_are_refused(void **state)
{
    fixture *f = *state;
    fill(f);
    mk_event events[3] = {event_of("a", "b", 7), event_of("a", "b", 7), event_of("a", "b", 7)};
    for (int i = 0; i < 2; i++) {
        events[i].disc_kind = MK_DISC_GIVEN;
        events[i].disc = MK_STR("same");
    }
    refused(f, events_op(events, 3, 10), MK_E_INVALID_ARG, "events[1].disc");
    events[0].disc = MK_STR("#12"); /* what the third one will be */
    refused(f, events_op(events, 3, 10), MK_E_INVALID_ARG, "events[0].disc");
    events[0].disc = MK_STR("#012"); /* another text */
    mk_op op = events_op(events, 3, 10);
    write_ops(f->store, &op, 1);
}

static void test_store_door__what_fails_when_applied_is_not_logged(void **state)
{
    fixture *f = *state;
    fill(f);
    refused(f, retract_node_op("n", 10), MK_E_NOT_FOUND, "");
    refused(f, retract_node_op("nobody", 1), MK_E_NOT_FOUND, "");
    refused(f, correct_node_op("n", "{}", 10, 20), MK_E_NOT_FOUND, "");
}

/* ---- JSON ---- */

static void test_store_door__malformed_json_is_refused_before_it_is_an_op(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        mk_code code;
    } cases[] = {
        {"[]", MK_E_SCHEMA},
        {"{}", MK_E_SCHEMA},
        {"{\"op\":\"explode\"}", MK_E_INVALID_ARG},
        {"{\"op\":\"assert_node\",\"uid\":\"n\"}", MK_E_SCHEMA},
        {"{\"op\":\"assert_node\",\"uid\":7,\"label\":\"L\"}", MK_E_SCHEMA},
        {"{\"op\":\"assert_node\",\"uid\":\"\",\"label\":\"L\"}", MK_E_INVALID_ARG},
        {"{\"op\":\"assert_node\",\"uid\":\"n\",\"label\":\"L\",\"extra\":1}", MK_E_SCHEMA},
        {"{\"op\":\"assert_node\",\"uid\":\"n\",\"label\":\"L\",\"vt_s\":[]}", MK_E_SCHEMA},
        {"{\"op\":\"assert_node\",\"uid\":\"n\",\"label\":\"L\",\"vt_s\":9223372036854775808}", MK_E_SCHEMA},
        {"{\"op\":\"assert_node\",\"uid\":\"n\",\"label\":\"L\",\"vt_s\":4611686018427387905}",
         MK_E_INVALID_ARG},
        {"{\"op\":\"retract\",\"ref\":{\"kind\":\"node\"},\"t\":1}", MK_E_SCHEMA},
        {"{\"op\":\"retract\",\"ref\":{\"kind\":\"moon\",\"uid\":\"n\"},\"t\":1}", MK_E_INVALID_ARG},
        {"{\"op\":\"retract\",\"ref\":\"n\",\"t\":1}", MK_E_SCHEMA},
        {"{\"op\":\"ingest_events\",\"events\":[{\"src\":\"a\",\"dst\":\"b\",\"vt_s\":1}]}", MK_E_SCHEMA},
        {"{\"op\":\"ingest_events\",\"events\":[7]}", MK_E_SCHEMA},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mk_arena arena;
        mk_json *json;
        mk_op op;
        mk_err err;
        mk_arena_init(&arena, &mk_alloc_default);
        assert_int_equal(mk_json_parse(&arena, mk_str_of(cases[i].text), NULL, &json, &err), MK_OK);
        const mk_code rc = mk_op_from_json(json, &arena, "ops[3]", &op, &err);
        if (rc != cases[i].code)
            fail_msg("%s: %s", cases[i].text, mk_code_name(rc));
        assert_true(strncmp(err.path, "ops[3]", 6) == 0);
        mk_arena_free(&arena);
    }
}

/* ---- limits ---- */

static char *letters(size_t n)
{
    char *text = malloc(n + 1);
    MUST(text != NULL);
    memset(text, 'x', n);
    text[n] = 0;
    return text;
}

static void test_store_door__sizes_over_a_limit_are_refused(void **state)
{
    fixture *f = *state;
    mk_op op;
    fill(f);
    char *text = letters(MK_STRING_MAX + 1);
    refused(f, node_op(text, "{}", 0, 1), MK_E_LIMIT, "uid");
    op = node_op("n", "{}", 0, 1);
    op.source = mk_str_of(text);
    refused(f, op, MK_E_LIMIT, "source");
    text[0] = '"';
    text[MK_PROPS_MAX] = '"';
    text[MK_PROPS_MAX + 1] = 0;
    refused(f, node_op("n", text, 0, 1), MK_E_LIMIT, "props");
    text[MK_PROPS_MAX - 1] = '"'; /* just allowed */
    text[MK_PROPS_MAX] = 0;
    op = node_op("n", text, 0, 1);
    write_ops(f->store, &op, 1);
    free(text);
}

static void test_store_door__deep_and_long_json_is_refused(void **state)
{
    fixture *f = *state;
    char *text = letters(5000);
    fill(f);
    memset(text, '[', 200);
    memset(text + 200, ']', 200);
    text[400] = 0;
    refused(f, node_op("n", text, 0, 1), MK_E_LIMIT, "props");
    memset(text, '7', 4999);
    text[4999] = 0;
    refused(f, node_op("n", text, 0, 1), MK_E_LIMIT, "props");
    free(text);
}

static void test_store_door__too_many_ops_or_events_are_refused(void **state)
{
    fixture *f = *state;
    mk_err err;
    fill(f);
    const imprint before = take(f);
    /* Only counted, so that one op may stand for all of them. */
    const mk_op op = node_op("n", "{}", 0, 1);
    assert_int_equal(mk_store_write(f->store, &op, MK_BATCH_OPS_MAX + 1, NULL, NULL, &err), MK_E_LIMIT);
    assert_true(err.hint[0] != 0);
    mk_event event = event_of("a", "b", 1);
    refused(f, events_op(&event, MK_BATCH_OPS_MAX + 1, 10), MK_E_LIMIT, "events");
    untouched(f, &before, "a batch that is too long");
}

/* Found only when the record is written, after everything was staged. */
static void test_store_door__a_record_over_the_limit_is_taken_back(void **state)
{
    fixture *f = *state;
    enum { COUNT = 260 };
    mk_op ops[COUNT];
    mk_err err;
    char *props = letters(MK_PROPS_MAX);
    fill(f);
    const imprint before = take(f);
    props[0] = props[MK_PROPS_MAX - 1] = '"';
    for (int i = 0; i < COUNT; i++)
        ops[i] = node_op(i % 2 ? "fresh" : "n", props, i, i + 1);
    assert_int_equal(mk_store_write(f->store, ops, COUNT, NULL, NULL, &err), MK_E_LIMIT);
    untouched(f, &before, "a record that is too large");
    free(props);
    fill(f); /* and writing goes on */
}

/* ---- discriminators ---- */

static void expect_disc(fixture *f, int64_t next)
{
    char copy[TMPDIR_PATH_MAX], name[32], digest[65];
    static int copies;
    mk_err err;
    assert_int_equal(mk_store_next_disc(f->store), next);
    reopen(f, false); /* from the log */
    assert_int_equal(mk_store_next_disc(f->store), next);
    assert_int_equal(mk_store_checkpoint(f->store, &err), MK_OK);
    reopen(f, false); /* from a checkpoint */
    assert_int_equal(mk_store_next_disc(f->store), next);
    reopen(f, true);
    assert_int_equal(mk_store_next_disc(f->store), next);
    snprintf(name, sizeof name, "copy%d", copies++);
    replay_digest(f->path, tmpdir_join(&f->dir, name, copy), digest);
    mk_store *replayed = open_store(copy, (mk_store_options){.mode = MK_OPEN_WRITER, .manual = true});
    assert_int_equal(mk_store_next_disc(replayed), next);
    close_store(replayed);
}

static void test_store_door__discriminators_go_on(void **state)
{
    fixture *f = *state;
    mk_event events[3] = {event_of("a", "b", 1), event_of("a", "b", 1), event_of("a", "b", 1)};
    mk_op op = events_op(events, 3, 0);
    mk_err err;
    expect_disc(f, 0);
    write_ops(f->store, &op, 1);
    expect_disc(f, 3);
    op.offset = mk_store_next_disc(f->store);
    write_ops(f->store, &op, 1);
    expect_disc(f, 6);
    op.offset = 1000;
    write_ops(f->store, &op, 1);
    expect_disc(f, 1003);
    op.offset = 2; /* behind: the largest counts */
    write_ops(f->store, &op, 1);
    expect_disc(f, 1003);
    const mk_op given = edge_op("a", "b", "#2000", "{}", 0, 1),
                other = edge_op("a", "b", "#03000", "{}", 0, 1);
    write_ops(f->store, &given, 1);
    write_ops(f->store, &other, 1); /* no number that we would write */
    expect_disc(f, 2001);
    /* A batch that fails after its events were staged gives the numbers back. */
    op.offset = 5000;
    const mk_op failing[2] = {op, retract_node_op("nobody", 1)};
    assert_int_equal(mk_store_write(f->store, failing, 2, NULL, NULL, &err), MK_E_NOT_FOUND);
    expect_disc(f, 2001);
}

/* ---- the clock ---- */

typedef struct script {
    const int64_t *times;
    size_t count, at;
} script;

static int64_t next_time(void *ctx)
{
    script *s = ctx;
    return s->times[s->at < s->count - 1 ? s->at++ : s->at];
}

static mk_store *open_with(fixture *f, const mk_clock *clock)
{
    return open_store(f->path, (mk_store_options){
                                   .mode = MK_OPEN_CREATE_WRITER, .clock = clock, .manual = true});
}

static void test_store_door__times_rise_when_the_clock_does_not(void **state)
{
    fixture *f = *state;
    static const int64_t times[] = {1000, 1000, 500, -5, 2000, INT64_MIN, 2000, 1999, 2002, 2010, 0};
    static const int64_t expected[] = {1000, 1001, 1002, 1003, 2000, 2001, 2002, 2003, 2004, 2010, 2011};
    static const int64_t earlier[] = {7};
    script s = {times, sizeof times / sizeof *times, 0};
    mk_clock clock = {next_time, &s};
    const mk_op op = node_op("n", "{}", 0, 1);
    char before[65], after[65], copy[TMPDIR_PATH_MAX];
    close_store(f->store);
    f->store = open_with(f, &clock);
    for (size_t i = 0; i < s.count; i++)
        assert_int_equal(write_ops(f->store, &op, 1).us, expected[i]);
    /* Also against what an earlier process wrote, with and without a checkpoint. */
    for (int i = 0; i < 3; i++) {
        close_store(f->store);
        s = (script){earlier, 1, 0};
        f->store = open_with(f, &clock);
        assert_int_equal(write_ops(f->store, &op, 1).us, 2012 + i);
        if (i == 1)
            assert_int_equal(mk_store_checkpoint(f->store, NULL), MK_OK);
    }
    digest_of(f->store, before);
    replay_digest(f->path, tmpdir_join(&f->dir, "copy", copy), after);
    assert_string_equal(before, after);
}

/* A foreign log may have used up the times, and a clock may be out of its mind: a batch at such a time would
 * be believed by no view. */
static void test_store_door__no_batch_is_written_at_the_end_of_time(void **state)
{
    fixture *f = *state;
    static const int64_t mad[] = {MK_OPEN_END};
    script s = {mad, 1, 0};
    mk_clock clock = {next_time, &s};
    const mk_op op = node_op("n", "{}", 0, 1);
    mk_buf line;
    mk_err err, why;
    bool applied;
    fill(f);
    close_store(f->store);
    f->store = open_with(f, &clock);
    imprint before = take(f);
    assert_int_equal(mk_store_write(f->store, &op, 1, NULL, NULL, &err), MK_E_STATE);
    assert_string_equal(err.reason, "clock");
    untouched(f, &before, "a clock at the end of time");
    reopen(f, false);
    write_ops(f->store, &op, 1); /* with a better clock it goes on */
    mk_buf_init(&line, &mk_alloc_default);
    MUST_OK(mk_record_write(&line, &op, 1, (mk_tt){INT64_MAX}, &err), err);
    MUST_OK(mk_store_replay_line(f->store, mk_buf_view(&line), true, &applied, &why, &err), err);
    MUST_OK(mk_store_replay_flush(f->store, &err), err);
    mk_buf_free(&line);
    before = take(f);
    assert_int_equal(mk_store_write(f->store, &op, 1, NULL, NULL, &err), MK_E_STATE);
    assert_string_equal(err.reason, "clock");
    untouched(f, &before, "a log at the end of time");
}

/* ---- views ---- */

static void test_store_door__views_are_limited_and_writing_goes_on(void **state)
{
    fixture *f = *state;
    enum { VIEWS = 1024 };
    static mk_view *views[VIEWS];
    mk_view *more = NULL;
    mk_err err;
    fill(f);
    for (int i = 0; i < VIEWS; i++)
        assert_int_equal(mk_view_at(f->store, now, 0, &views[i], &err), MK_OK);
    assert_int_equal(mk_view_at(f->store, now, 0, &more, &err), MK_E_LIMIT);
    assert_int_equal(err.retry, MK_RETRY_AS_IS);
    fill(f);
    mk_view_close(views[0]);
    assert_int_equal(mk_view_at(f->store, now, 0, &views[0], &err), MK_OK);
    assert_true(mk_view_effective_tt(views[0]).us > mk_view_effective_tt(views[1]).us);
    for (int i = 0; i < VIEWS; i++)
        mk_view_close(views[i]);
    assert_int_equal(mk_store_checkpoint(f->store, &err), MK_OK);
}

/* The time of a batch that is refused is given to the next one: nothing of it is in the log. */
static void test_store_door__a_refused_batch_uses_no_time_up(void **state)
{
    fixture *f = *state;
    static const int64_t times[] = {100};
    script s = {times, 1, 0};
    mk_clock clock = {next_time, &s};
    const mk_op op = node_op("n", "{}", 0, 1), bad = retract_node_op("n", 5);
    mk_err err;
    close_store(f->store);
    f->store = open_with(f, &clock);
    assert_int_equal(write_ops(f->store, &op, 1).us, 100);
    assert_int_equal(mk_store_write(f->store, &bad, 1, NULL, NULL, &err), MK_E_NOT_FOUND);
    assert_int_equal(write_ops(f->store, &op, 1).us, 101);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_store_door__##name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(malformed_values_leave_no_trace),
        TEST(props_must_be_canonical),
        TEST(one_bad_event_refuses_its_batch),
        TEST(two_events_with_one_vid_are_refused),
        TEST(what_fails_when_applied_is_not_logged),
        TEST(malformed_json_is_refused_before_it_is_an_op),
        TEST(sizes_over_a_limit_are_refused),
        TEST(deep_and_long_json_is_refused),
        TEST(too_many_ops_or_events_are_refused),
        TEST(a_record_over_the_limit_is_taken_back),
        TEST(discriminators_go_on),
        TEST(times_rise_when_the_clock_does_not),
        TEST(no_batch_is_written_at_the_end_of_time),
        TEST(views_are_limited_and_writing_goes_on),
        TEST(a_refused_batch_uses_no_time_up),
    };
    return cmocka_run_group_tests_name("store_door", tests, NULL, NULL);
}

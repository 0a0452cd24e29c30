/* test_record_door.c — ops at the door: the strict reader and the check for C callers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "store/record.h"

/* ---- fixture and helpers ---- */

static int arena_setup(void **state)
{
    static mk_arena arena;

    mk_arena_init(&arena, &mk_alloc_default);
    *state = &arena;
    return 0;
}

static int arena_teardown(void **state)
{
    mk_arena_free(*state);
    return 0;
}

static mk_json *tree(mk_arena *arena, const char *text)
{
    mk_json *out = NULL;
    mk_err err;

    if (mk_json_parse(arena, mk_str_of(text), NULL, &out, &err) != MK_OK)
        fail_msg("%s: %s", text, err.message);
    return out;
}

/* What the door lets in is written, read back and written to the same bytes. */
static void write_and_read(mk_arena *arena, const mk_op *op)
{
    mk_buf first, second;
    mk_record record;
    bool canonical = false;
    mk_err err;

    mk_buf_init(&first, &mk_alloc_default);
    mk_buf_init(&second, &mk_alloc_default);
    assert_int_equal(mk_record_write(&first, op, 1, (mk_tt){77}, &err), MK_OK);
    assert_int_equal(mk_record_read(arena, mk_buf_view(&first), true, &record, &canonical, &err), MK_OK);
    assert_true(canonical);
    assert_false(record.malformed);
    assert_int_equal(mk_record_write(&second, record.ops, record.op_count, record.tt, &err), MK_OK);
    assert_true(mk_str_eq(mk_buf_view(&first), mk_buf_view(&second)));
    mk_buf_free(&first);
    mk_buf_free(&second);
}

/* ---- JSON at the door ---- */

static void test_record_door__the_door_refuses_by_code_and_path(void **state)
{
    static const struct {
        const char *op;
        mk_code code;
        const char *path, *in_message;
    } table[] = {
        {"[]", MK_E_SCHEMA, "ops[3]", "array"},
        {"{}", MK_E_SCHEMA, "ops[3].op", "op"},
        {"{\"op\":null}", MK_E_SCHEMA, "ops[3].op", "null"},
        {"{\"op\":\"upsert\"}", MK_E_INVALID_ARG, "ops[3].op", "unknown op kind: upsert"},
        {"{\"op\":\"assert_node\",\"label\":\"N\"}", MK_E_SCHEMA, "ops[3].uid", "uid"},
        {"{\"op\":\"assert_node\",\"uid\":\"a\",\"label\":\"N\",\"vt_from\":3}", MK_E_SCHEMA,
         "ops[3].vt_from", "vt_from"},
        {"{\"op\":\"assert_node\",\"uid\":\"a\",\"label\":\"N\",\"src\":\"x\"}", MK_E_SCHEMA, "ops[3].src",
         "src"},
        {"{\"op\":\"assert_node\",\"uid\":3,\"label\":\"N\"}", MK_E_SCHEMA, "ops[3].uid", "an integer"},
        {"{\"op\":\"assert_node\",\"uid\":\"\",\"label\":\"N\"}", MK_E_INVALID_ARG, "ops[3].uid", "empty"},
        {"{\"op\":\"assert_node\",\"uid\":\"a\",\"label\":\"N\",\"source\":\"\"}", MK_E_INVALID_ARG,
         "ops[3].source", "empty"},
        {"{\"op\":\"assert_node\",\"uid\":\"a\",\"label\":\"N\",\"source\":null}", MK_E_SCHEMA,
         "ops[3].source", "null"},
        {"{\"op\":\"assert_node\",\"uid\":\"a\",\"label\":\"N\",\"provenance_ref\":1}", MK_E_SCHEMA,
         "ops[3].provenance_ref", "integer"},
        {"{\"op\":\"assert_node\",\"uid\":\"a\",\"label\":\"N\",\"vt_s\":\"2024-06-01\",\"vt_e\":\"2024-05-"
         "01\"}",
         MK_E_INVALID_ARG, "ops[3].vt_e", "vt_e 2024-05-01T00:00:00Z is not after vt_s 2024-06-01T00:00:00Z"},
        {"{\"op\":\"assert_node\",\"uid\":\"a\",\"label\":\"N\",\"vt_s\":5,\"vt_e\":5}", MK_E_INVALID_ARG,
         "ops[3].vt_e", "vt_e 5 is not after vt_s 5"},
        {"{\"op\":\"assert_node\",\"uid\":\"a\",\"label\":\"N\",\"vt_s\":\"soon\"}", MK_E_INVALID_ARG,
         "ops[3].vt_s", "soon"},
        {"{\"op\":\"assert_node\",\"uid\":\"a\",\"label\":\"N\",\"vt_s\":1.5}", MK_E_SCHEMA, "ops[3].vt_s",
         "float"},
        {"{\"op\":\"assert_node\",\"uid\":\"a\",\"label\":\"N\",\"vt_e\":null}", MK_E_SCHEMA, "ops[3].vt_e",
         "null"},
        {"{\"op\":\"assert_node\",\"uid\":\"a\",\"label\":\"N\",\"vt_e\":4611686018427387905}",
         MK_E_INVALID_ARG, "ops[3].vt_e", "4611686018427387905"},
        {"{\"op\":\"assert_node\",\"uid\":\"a\",\"label\":\"N\",\"vt_s\":-4611686018427387905}",
         MK_E_INVALID_ARG, "ops[3].vt_s", "out of range"},
        {"{\"op\":\"assert_node\",\"uid\":\"a\",\"label\":\"N\",\"vt_s\":9223372036854775808}", MK_E_SCHEMA,
         "ops[3].vt_s", "beyond 64 bits"},
        {"{\"op\":\"assert_edge\",\"src\":\"a\",\"dst\":\"\",\"rel_type\":\"R\"}", MK_E_INVALID_ARG,
         "ops[3].dst", "empty"},
        {"{\"op\":\"assert_edge\",\"src\":\"a\",\"dst\":\"b\",\"rel_type\":\"R\",\"disc\":null}", MK_E_SCHEMA,
         "ops[3].disc", "null"},
        {"{\"op\":\"assert_edge\",\"src\":\"a\",\"dst\":\"b\"}", MK_E_SCHEMA, "ops[3].rel_type", "rel_type"},
        {"{\"op\":\"retract\",\"ref\":{\"kind\":\"node\",\"uid\":\"a\"}}", MK_E_SCHEMA, "ops[3].t", "t"},
        {"{\"op\":\"retract\",\"ref\":\"a\",\"t\":1}", MK_E_SCHEMA, "ops[3].ref", "a string"},
        {"{\"op\":\"retract\",\"ref\":{\"uid\":\"a\"},\"t\":1}", MK_E_SCHEMA, "ops[3].ref.kind", "kind"},
        {"{\"op\":\"retract\",\"ref\":{\"kind\":\"hyper\",\"uid\":\"a\"},\"t\":1}", MK_E_INVALID_ARG,
         "ops[3].ref.kind", "hyper"},
        {"{\"op\":\"retract\",\"ref\":{\"kind\":\"node\",\"uid\":\"\"},\"t\":1}", MK_E_INVALID_ARG,
         "ops[3].ref.uid", "empty"},
        {"{\"op\":\"retract\",\"ref\":{\"kind\":\"node\",\"uid\":\"a\",\"disc\":\"\"},\"t\":1}", MK_E_SCHEMA,
         "ops[3].ref.disc", "disc"},
        {"{\"op\":\"retract\",\"ref\":{\"kind\":\"edge\",\"src\":\"a\",\"dst\":\"b\"},\"t\":1}", MK_E_SCHEMA,
         "ops[3].ref.rel_type", "rel_type"},
        {"{\"op\":\"retract\",\"ref\":{\"kind\":\"edge\",\"src\":\"\",\"dst\":\"b\",\"rel_type\":\"R\"},"
         "\"t\":1}",
         MK_E_INVALID_ARG, "ops[3].ref.src", "empty"},
        {"{\"op\":\"correct\",\"ref\":{\"kind\":\"node\",\"uid\":\"a\"}}", MK_E_SCHEMA, "ops[3].props",
         "props"},
        {"{\"op\":\"ingest_events\"}", MK_E_SCHEMA, "ops[3].events", "events"},
        {"{\"op\":\"ingest_events\",\"events\":{}}", MK_E_SCHEMA, "ops[3].events", "an object"},
        {"{\"op\":\"ingest_events\",\"events\":[],\"offset\":-1}", MK_E_INVALID_ARG, "ops[3].offset", "-1"},
        {"{\"op\":\"ingest_events\",\"events\":[7]}", MK_E_SCHEMA, "ops[3].events[0]", "an integer"},
        {"{\"op\":\"ingest_events\",\"events\":[{\"src\":\"a\",\"dst\":\"b\",\"vt_s\":1}]}", MK_E_SCHEMA,
         "ops[3].events[0].rel_type", "rel_type"},
        {"{\"op\":\"ingest_events\",\"events\":[{\"src\":\"a\",\"dst\":\"b\",\"rel_type\":\"R\"}]}",
         MK_E_SCHEMA, "ops[3].events[0].vt_s", "vt_s"},
        {"{\"op\":\"ingest_events\",\"events\":[{\"src\":\"a\",\"dst\":\"b\",\"rel_type\":\"R\",\"vt_s\":1,"
         "\"vt_e\":0}]}",
         MK_E_INVALID_ARG, "ops[3].events[0].vt_e", "vt_e 0"},
        {"{\"op\":\"ingest_events\",\"events\":[{\"src\":\"a\",\"dst\":\"b\",\"rel_type\":\"R\",\"vt_s\":10,"
         "\"vt_e\":3}]}",
         MK_E_INVALID_ARG, "ops[3].events[0].vt_e", "vt_e 3 is not after vt_s 10"},
        {"{\"op\":\"ingest_events\",\"events\":[{\"src\":\"a\",\"dst\":\"b\",\"rel_type\":\"R\",\"vt_s\":"
         "\"open\"}]}",
         MK_E_INVALID_ARG, "ops[3].events[0].vt_s", "end of time"},
        {"{\"op\":\"ingest_events\",\"events\":[{\"src\":\"a\",\"dst\":\"b\",\"rel_type\":\"R\",\"vt_s\":1,"
         "\"weight\":2}]}",
         MK_E_SCHEMA, "ops[3].events[0].weight", "weight"},
    };
    mk_arena *arena = *state;
    mk_op op;
    mk_err err;

    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const mk_json *json = tree(arena, table[i].op);
        const mk_code rc = mk_op_from_json(json, arena, "ops[3]", &op, &err);
        if (rc != table[i].code || rc != err.code || strcmp(err.path, table[i].path) != 0 ||
            strstr(err.message, table[i].in_message) == NULL)
            fail_msg("%s: %s at %s: %s", table[i].op, mk_code_name(rc), rc == MK_OK ? "" : err.path,
                     rc == MK_OK ? "" : err.message);
        if (err.hint[0] == '\0' && json->kind == MK_JSON_OBJECT && strstr(table[i].op, "[7]") == NULL)
            fail_msg("%s: no hint", table[i].op);
        assert_int_equal(mk_op_from_json(json, arena, NULL, &op, NULL), table[i].code);
    }
}

static void test_record_door__a_path_is_optional(void **state)
{
    mk_op op;
    mk_err err;

    assert_int_equal(
        mk_op_from_json(tree(*state, "{\"op\":\"retract\",\"ref\":{\"kind\":\"node\",\"uid\":\"\"},\"t\":1}"),
                        *state, NULL, &op, &err),
        MK_E_INVALID_ARG);
    assert_string_equal(err.path, "ref.uid");
}

static mk_op node_op(void)
{
    return (mk_op){.kind = MK_OP_ASSERT_NODE,
                   .uid = MK_STR("a"),
                   .label = MK_STR("N"),
                   .props = MK_STR("{}"),
                   .vt_s = 0,
                   .vt_e = 1,
                   .source = MK_STR("ingest"),
                   .provenance_null = true};
}

static void check_refused(mk_arena *arena, const mk_op *op, mk_code code, const char *path)
{
    mk_err err;
    const mk_code rc = mk_op_check(op, 12, false, arena, &err);

    if (rc != code || strcmp(err.path, path) != 0)
        fail_msg("%s at %s, not %s at %s", mk_code_name(rc), rc == MK_OK ? "" : err.path, mk_code_name(code),
                 path);
}

static void test_record_door__ops_of_c_callers_keep_the_rules(void **state)
{
    mk_arena *arena = *state;
    mk_op op = node_op();

    assert_int_equal(mk_op_check(&op, 0, false, arena, NULL), MK_OK);
    op.uid = MK_STR("\xff");
    check_refused(arena, &op, MK_E_INVALID_ARG, "ops[12].uid");
    op.uid = MK_STR("\xed\xa0\x80"); /* a lone surrogate as CESU writes it */
    check_refused(arena, &op, MK_E_INVALID_ARG, "ops[12].uid");
    op = node_op();
    op.label = MK_STR("\xc0\x80");
    check_refused(arena, &op, MK_E_INVALID_ARG, "ops[12].label");
    op = node_op();
    op.props = MK_STR("{\"a\":1");
    check_refused(arena, &op, MK_E_INVALID_ARG, "ops[12].props");
    op.props = MK_STR("{\"a\": 1}");
    check_refused(arena, &op, MK_E_INVALID_ARG, "ops[12].props");
    op.props = MK_STR("{}{}");
    check_refused(arena, &op, MK_E_INVALID_ARG, "ops[12].props");
    op = node_op();
    op.provenance_null = false;
    op.provenance_ref = MK_STR("\x80");
    check_refused(arena, &op, MK_E_INVALID_ARG, "ops[12].provenance_ref");
    op = node_op();
    op.kind = MK_OP_UNKNOWN;
    op.raw_kind = MK_STR("zap");
    check_refused(arena, &op, MK_E_INVALID_ARG, "ops[12].op");
    op.kind = MK_OP_ASSERT_EDGE;
    op.src = op.dst = op.rel_type = MK_STR("x");
    op.disc_null = true;
    check_refused(arena, &op, MK_E_INVALID_ARG, "ops[12].disc");
}

static void test_record_door__sizes_are_limited_at_the_door_and_not_on_replay(void **state)
{
    mk_arena *arena = *state;
    const size_t size = MK_STRING_MAX + 1;
    char *big = mk_arena_get(arena, size);
    mk_op op = node_op();
    mk_event one = {
        .src = MK_STR("a"), .dst = MK_STR("b"), .rel_type = MK_STR("R"), .disc_kind = MK_DISC_DEFAULT};

    memset(big, 'x', size);
    op.uid = (mk_str){big, size};
    check_refused(arena, &op, MK_E_LIMIT, "ops[12].uid");
    write_and_read(arena, &op);
    op.uid = (mk_str){big, size - 1};
    assert_int_equal(mk_op_check(&op, 0, false, arena, NULL), MK_OK);
    op = node_op();
    big[0] = '"';
    big[MK_PROPS_MAX] = '"';
    op.props = (mk_str){big, MK_PROPS_MAX + 1};
    check_refused(arena, &op, MK_E_LIMIT, "ops[12].props");
    big[MK_PROPS_MAX - 1] = '"';
    op.props.n--;
    assert_int_equal(mk_op_check(&op, 0, false, arena, NULL), MK_OK);
    op = node_op();
    op.kind = MK_OP_INGEST_EVENTS;
    op.node_label = MK_STR("Node");
    op.events = &one; /* the count is refused before any of them is looked at */
    op.event_count = MK_BATCH_OPS_MAX + 1;
    check_refused(arena, &op, MK_E_LIMIT, "ops[12].events");
}

/* Props as deep as the door lets in must come back out of the log. */
static void test_record_door__the_deepest_props_of_the_door_can_be_read_back(void **state)
{
    mk_arena *arena = *state;
    char props[2 * 129 + 1];
    mk_event event = {.src = MK_STR("a"),
                      .dst = MK_STR("b"),
                      .rel_type = MK_STR("R"),
                      .disc_kind = MK_DISC_DEFAULT,
                      .vt_s = 1};
    mk_op op = node_op();

    memset(props, '[', 129);
    memset(props + 129, ']', 129);
    op.kind = MK_OP_INGEST_EVENTS;
    op.node_label = MK_STR("Node");
    op.events = &event;
    op.event_count = 1;
    event.props = (mk_str){props, 2 * 129};
    check_refused(arena, &op, MK_E_LIMIT, "ops[12].events[0].props");
    event.props = (mk_str){props + 1, 2 * 128};
    assert_int_equal(mk_op_check(&op, 0, false, arena, NULL), MK_OK);
    write_and_read(arena, &op);
}

static void test_record_door__reserved_prefixes_need_leave(void **state)
{
    static const mk_str names[] = {{"tk:j:1", 6}, {"okf:", 4}, {"mn:x", 4}};
    mk_arena *arena = *state;

    for (size_t i = 0; i < 3; i++) {
        mk_op op = node_op();
        op.uid = names[i];
        check_refused(arena, &op, MK_E_INVALID_ARG, "ops[12].uid");
        assert_int_equal(mk_op_check(&op, 0, true, arena, NULL), MK_OK);
        op.kind = MK_OP_RETRACT;
        op.on_node = true;
        check_refused(arena, &op, MK_E_INVALID_ARG, "ops[12].ref.uid");
        op.kind = MK_OP_ASSERT_EDGE;
        op.src = op.rel_type = MK_STR("tk");
        op.dst = names[i];
        check_refused(arena, &op, MK_E_INVALID_ARG, "ops[12].dst");
        mk_event event = {
            .src = names[i], .dst = MK_STR("b"), .rel_type = MK_STR("tk:"), .disc_kind = MK_DISC_DEFAULT};
        op.kind = MK_OP_INGEST_EVENTS;
        op.node_label = MK_STR("mn:");
        op.events = &event;
        op.event_count = 1;
        check_refused(arena, &op, MK_E_INVALID_ARG, "ops[12].events[0].src");
        event.src = MK_STR("MN:");
        assert_int_equal(mk_op_check(&op, 0, false, arena, NULL), MK_OK);
    }
}

/* ---- one vid twice ---- */

static mk_event disc_event(const char *src, const char *disc, int64_t vt_s)
{
    return (mk_event){.src = mk_str_of(src), .dst = MK_STR("b"), .rel_type = MK_STR("R"),
                      .disc = disc != NULL ? mk_str_of(disc) : MK_STR(""),
                      .disc_kind = disc != NULL ? MK_DISC_GIVEN : MK_DISC_DEFAULT, .vt_s = vt_s};
}

static void check_pair(mk_arena *arena, mk_event a, mk_event b, bool refused)
{
    mk_event events[4] = {disc_event("z", NULL, 1), a, disc_event("z", "d", 1), b};
    mk_op op = {.kind = MK_OP_INGEST_EVENTS,
                .events = events,
                .event_count = 4,
                .offset = 100,
                .node_label = MK_STR("Node"),
                .source = MK_STR("ingest"),
                .provenance_null = true};
    mk_err err;
    const mk_code rc = mk_op_check(&op, 0, false, arena, &err);

    assert_int_equal(rc, refused ? MK_E_INVALID_ARG : MK_OK);
    if (!refused)
        return;
    assert_non_null(strstr(err.message, "events[1] and events[3]"));
    assert_string_equal(err.path,
                        b.disc_kind == MK_DISC_GIVEN ? "ops[0].events[3].disc" : "ops[0].events[1].disc");
}

static void test_record_door__two_events_may_not_get_one_vid(void **state)
{
    mk_arena *arena = *state;

    check_pair(arena, disc_event("a", "d", 1), disc_event("a", "d", 1), true);
    check_pair(arena, disc_event("a", "", 1), disc_event("a", "", 1), true);
    check_pair(arena, disc_event("a", "d", 1), disc_event("a", "d", 2), false);
    check_pair(arena, disc_event("a", "d", 1), disc_event("a", "e", 1), false);
    check_pair(arena, disc_event("a", "d", 1), disc_event("c", "d", 1), false);
    check_pair(arena, disc_event("a", "", 1), disc_event("a", NULL, 1), false);
    check_pair(arena, disc_event("a", NULL, 1), disc_event("a", NULL, 1), false);
    /* The discs we number: event 1 is #101, event 3 is #103. */
    check_pair(arena, disc_event("a", "#103", 1), disc_event("a", NULL, 1), true);
    check_pair(arena, disc_event("a", NULL, 1), disc_event("a", "#101", 1), true);
    check_pair(arena, disc_event("a", NULL, 1), disc_event("a", "#101", 2), false);
    check_pair(arena, disc_event("a", NULL, 1), disc_event("a", "#0101", 1), false);
    check_pair(arena, disc_event("a", NULL, 1), disc_event("a", "#1", 1), false);
    check_pair(arena, disc_event("a", NULL, 1), disc_event("a", "#99999999999999999999", 1), false);
    check_pair(arena, disc_event("a", NULL, 1), disc_event("a", "#", 1), false);
}

#define TEST(name) \
    cmocka_unit_test_setup_teardown(test_record_door__##name, arena_setup, arena_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_door_refuses_by_code_and_path),
        TEST(a_path_is_optional),
        TEST(ops_of_c_callers_keep_the_rules),
        TEST(sizes_are_limited_at_the_door_and_not_on_replay),
        TEST(the_deepest_props_of_the_door_can_be_read_back),
        TEST(reserved_prefixes_need_leave),
        TEST(two_events_may_not_get_one_vid),
    };

    return cmocka_run_group_tests_name("record_door", tests, NULL, NULL);
}

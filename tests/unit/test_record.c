/* test_record.c — records as JSON: the lenient reader and the writer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/sha256.h"
#include "store/record.h"
#include "../support/golden.h"

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

static void check_same(mk_str got, mk_str want)
{
    if (!mk_str_eq(got, want))
        fail_msg("got  %.*s\nwant %.*s", MK_STR_ARG(got), MK_STR_ARG(want));
}

static mk_record read_line(mk_arena *arena, mk_str line, bool *canonical)
{
    mk_record record;
    mk_err err;

    if (mk_record_read(arena, line, true, &record, canonical, &err) != MK_OK)
        fail_msg("%.*s: %s", MK_STR_ARG(line), err.message);
    return record;
}

/* Reads a line in both modes and writes it back: the same bytes each time. */
static void check_round_trip(mk_arena *arena, mk_str line)
{
    mk_buf out;
    mk_err err;
    mk_record record;
    bool canonical = false;

    mk_buf_init(&out, &mk_alloc_default);
    for (int checked = 0; checked < 2; checked++) {
        assert_int_equal(mk_record_read(arena, line, checked, &record, checked ? &canonical : NULL, &err),
                         MK_OK);
        assert_false(record.malformed);
        mk_buf_clear(&out);
        assert_int_equal(mk_record_write(&out, record.ops, record.op_count, record.tt, &err), MK_OK);
        assert_true(out.n > 0 && out.p[out.n - 1] == '\n');
        check_same((mk_str){out.p, out.n - 1}, line);
    }
    assert_true(canonical);
    mk_buf_free(&out);
}

/* A record around ops in any form, with the id that its canonical form has. */
static mk_str record_around(mk_arena *arena, const char *ops)
{
    mk_buf content, line;
    mk_err err;

    mk_buf_init(&content, &mk_alloc_default);
    mk_buf_init(&line, &mk_alloc_default);
    mk_buf_printf(&line, "{\"ops\":%s,\"tt\":5}", ops);
    if (mk_canon_text(&content, arena, mk_buf_view(&line), NULL, &err) != MK_OK)
        fail_msg("%s: %s", ops, err.message);
    uint8_t digest[32];
    char id[17] = "";
    mk_sha256_of(content.p, content.n, digest);
    mk_hex(id, digest, 8);
    mk_buf_clear(&line);
    mk_buf_printf(&line, "{\"batch_id\":\"%s\",\"ops\":%s,\"tt\":5}", id, ops);
    const mk_str out = mk_arena_copy(arena, mk_buf_view(&line));
    mk_buf_free(&content);
    mk_buf_free(&line);
    return out;
}

/* ---- the spec's examples ---- */

static const char *const spec_lines[] = {
    "{\"batch_id\":\"229481c6c1d2bc9e\",\"ops\":[{\"label\":\"N\",\"op\":\"assert_node\",\"props\":{\"p\":1},"
    "\"provenance_ref\":null,\"source\":\"ingest\",\"uid\":\"a\",\"vt_e\":100,\"vt_s\":0}],\"tt\":100}",
    "{\"batch_id\":\"2d2c4b7b58a371f8\",\"ops\":[{\"op\":\"correct\",\"props\":{\"p\":2},\"provenance_ref\":"
    "null,"
    "\"ref\":{\"kind\":\"node\",\"uid\":\"a\"},\"source\":\"ingest\",\"vt_e\":60,\"vt_s\":40}],\"tt\":200}",
    "{\"batch_id\":\"90ee947761b1e904\",\"ops\":[{\"op\":\"retract\",\"provenance_ref\":null,"
    "\"ref\":{\"kind\":\"node\",\"uid\":\"a\"},\"source\":\"ingest\",\"t\":50}],\"tt\":300}",
    "{\"batch_id\":\"d6241a6c4368a6f2\",\"ops\":[{\"label\":\"M\",\"op\":\"assert_node\",\"props\":{},"
    "\"provenance_ref\":null,\"source\":\"ingest\",\"uid\":\"a\",\"vt_e\":45,\"vt_s\":30}],\"tt\":400}",
    "{\"batch_id\":\"74ea0eb7c9beed5b\",\"ops\":[{\"op\":\"retract\",\"provenance_ref\":null,"
    "\"ref\":{\"kind\":\"node\",\"uid\":\"zz\"},\"source\":\"ingest\",\"t\":5}],\"tt\":500}",
    "{\"batch_id\":\"578e6e167c7b7e06\",\"ops\":[{\"disc\":\"\",\"dst\":\"b\",\"op\":\"assert_edge\","
    "\"props\":{\"w\":1},\"provenance_ref\":null,\"rel_type\":\"R\",\"source\":\"ingest\",\"src\":\"a\",\"vt_"
    "e\":20,"
    "\"vt_s\":10},{\"disc\":\"\",\"dst\":\"b\",\"op\":\"assert_edge\",\"props\":{\"w\":2},\"provenance_ref\":"
    "null,"
    "\"rel_type\":\"R\",\"source\":\"ingest\",\"src\":\"a\",\"vt_e\":25,\"vt_s\":15}],\"tt\":600}",
    "{\"batch_id\":\"941aa230d5f410a8\",\"ops\":[{\"events\":[{\"dst\":\"y\",\"rel_type\":\"MSG\",\"src\":"
    "\"x\","
    "\"vt_s\":7},{\"dst\":\"x\",\"props\":{\"k\":1.5},\"rel_type\":\"MSG\",\"src\":\"y\",\"vt_s\":5}],"
    "\"node_label\":\"Node\",\"offset\":0,\"op\":\"ingest_events\",\"provenance_ref\":null,\"source\":"
    "\"ingest\"}],"
    "\"tt\":700}",
};
/* Offsets behind each record of the spec's log, its header of 39 bytes included. */
static const size_t spec_ends[] = {207, 381, 526, 689, 834, 1167, 1435};

static void test_record__spec_lines_are_written_to_the_byte(void **state)
{
    mk_arena *arena = *state;
    size_t end = 39;

    for (size_t i = 0; i < sizeof spec_lines / sizeof spec_lines[0]; i++) {
        check_round_trip(arena, mk_str_of(spec_lines[i]));
        end += strlen(spec_lines[i]) + 1;
        assert_int_equal(end, spec_ends[i]);
    }
}

/* The same records from what a caller would write at the door, so that the defaults count too. */
static void test_record__ops_at_the_door_give_the_spec_lines(void **state)
{
    static const char *const doors[][2] = {
        {"{\"op\":\"assert_node\",\"uid\":\"a\",\"label\":\"N\",\"props\":{\"p\":1},\"vt_e\":100}", NULL},
        {"{\"op\":\"correct\",\"ref\":{\"kind\":\"node\",\"uid\":\"a\"},\"props\":{\"p\":2},\"vt_s\":40,\"vt_"
         "e\":60.0}",
         NULL},
        {"{\"op\":\"retract\",\"ref\":{\"kind\":\"node\",\"uid\":\"a\"},\"t\":\"1970-01-01T00:00:00."
         "00005Z\"}",
         NULL},
        {"{\"op\":\"assert_node\",\"uid\":\"a\",\"label\":\"M\",\"vt_s\":30,\"vt_e\":45}", NULL},
        {"{\"op\":\"retract\",\"ref\":{\"uid\":\"zz\",\"kind\":\"node\"},\"t\":5}", NULL},
        {"{\"op\":\"assert_edge\",\"src\":\"a\",\"dst\":\"b\",\"rel_type\":\"R\",\"props\":{\"w\":1},\"vt_"
         "s\":10,\"vt_e\":20}",
         "{\"op\":\"assert_edge\",\"src\":\"a\",\"dst\":\"b\",\"rel_type\":\"R\",\"props\":{\"w\":2},\"vt_"
         "s\":15,\"vt_e\":25}"},
        {"{\"op\":\"ingest_events\",\"events\":[{\"src\":\"x\",\"dst\":\"y\",\"rel_type\":\"MSG\",\"vt_s\":7}"
         ","
         "{\"src\":\"y\",\"dst\":\"x\",\"rel_type\":\"MSG\",\"vt_s\":5,\"props\":{ \"k\":15e-1 }}]}",
         NULL},
    };
    mk_arena *arena = *state;
    mk_buf out;
    mk_err err;

    mk_buf_init(&out, &mk_alloc_default);
    for (size_t i = 0; i < sizeof doors / sizeof doors[0]; i++) {
        mk_op ops[2];
        size_t count = 0;
        for (; count < 2 && doors[i][count] != NULL; count++) {
            if (mk_op_from_json(tree(arena, doors[i][count]), arena, "ops[0]", &ops[count], &err) != MK_OK)
                fail_msg("%s: %s", doors[i][count], err.message);
            assert_int_equal(mk_op_check(&ops[count], count, false, arena, &err), MK_OK);
        }
        mk_buf_clear(&out);
        assert_int_equal(mk_record_write(&out, ops, count, (mk_tt){(int64_t)(i + 1) * 100}, &err), MK_OK);
        check_same((mk_str){out.p, out.n - 1}, mk_str_of(spec_lines[i]));
    }
    mk_buf_free(&out);
}

/* ---- whole logs ---- */

static size_t round_trip_file(mk_arena *arena, const char *path)
{
    golden *log = golden_open(path);
    size_t count = 0;
    mk_str line;

    assert_true(golden_line(log, &line)); /* the header */
    for (; golden_line(log, &line); count++) {
        check_round_trip(arena, line);
        mk_arena_reset(arena);
    }
    golden_close(log);
    return count;
}

static void test_record__golden_logs_come_back_to_the_byte(void **state)
{
    char path[GOLDEN_PATH_MAX], name[64];
    size_t records = 0;

    for (int i = 0; i < 6; i++) {
        snprintf(name, sizeof name, "small-%02d.eventlog.jsonl", i);
        if (!golden_test_path(path, name)) {
            print_message("skipped: no golden logs below MK_TEST_DATA\n");
            skip();
        }
        records += round_trip_file(*state, path);
    }
    assert_true(records > 300);
}

static void test_record__the_reference_log_of_collegemsg_comes_back_to_the_byte(void **state)
{
    char path[GOLDEN_PATH_MAX];

    if (!golden_shared_path(path, "frozen/collegemsg.eventlog.jsonl.gz")) {
        print_message("skipped: MK_SHARED_DATA has no frozen/collegemsg.eventlog.jsonl.gz\n");
        skip();
    }
    assert_true(round_trip_file(*state, path) >= 2);
}

/* ---- round trips ---- */

static const char *const odd_texts[] = {"",
                                        "a",
                                        "q\"s",
                                        "b\\d",
                                        "REL\nT",
                                        "d\tt",
                                        "\x01\x1f\x7f",
                                        "caf\xc3\xa9",
                                        "\xe4\xb8\xad\xe6\x96\x87",
                                        "E\xf0\x9f\x8e\xaf",
                                        "eight888",
                                        "seventeen bytes..",
                                        "sixteen bytes..\"",
                                        "{\"dst\":\"x\"}"};
#define ODD_COUNT (sizeof odd_texts / sizeof odd_texts[0])

static void write_and_read(mk_arena *arena, const mk_op *ops, size_t count)
{
    mk_buf out;
    mk_err err;

    mk_buf_init(&out, &mk_alloc_default);
    assert_int_equal(mk_record_write(&out, ops, count, (mk_tt){77}, &err), MK_OK);
    check_round_trip(arena, (mk_str){out.p, out.n - 1});
    mk_buf_free(&out);
}

/* Every text in every place, with every choice of what may be absent. */
static void test_record__all_combinations_of_members_come_back(void **state)
{
    mk_arena *arena = *state;

    for (unsigned i = 0; i < ODD_COUNT * 64; i++) {
        const mk_str s = mk_str_of(odd_texts[i % ODD_COUNT]);
        const mk_str filled = s.n != 0 ? s : MK_STR("x");
        const unsigned bits = i / ODD_COUNT;
        mk_op op = {.kind = (mk_op_kind)(i % 4),
                    .on_node = bits & 1,
                    .uid = filled,
                    .src = filled,
                    .dst = MK_STR("b"),
                    .rel_type = filled,
                    .disc = s,
                    .disc_null = (bits & 2) != 0,
                    .label = s,
                    .props = bits & 4 ? MK_STR("{\"a\":[1,2.5,\"x\\n\"],\"z\":{}}") : MK_STR("null"),
                    .vt_s = bits & 8 ? INT64_MIN : -5,
                    .vt_e = bits & 8 ? INT64_MAX : 0,
                    .t = 1,
                    .source = s,
                    .provenance_ref = s,
                    .provenance_null = (bits & 16) != 0};
        if (op.disc_null)
            op.disc = MK_STR("");
        write_and_read(arena, &op, 1);
        const mk_op two[2] = {op, op};
        write_and_read(arena, two, bits & 32 ? 2 : 0);
        mk_arena_reset(arena);
    }
}

/* Enough events of mixed forms to go through both ways of reading them and all growth. */
static void test_record__events_of_all_forms_come_back(void **state)
{
    enum { EVENTS = 700 };
    mk_arena *arena = *state;
    mk_event *events = mk_arena_get0(arena, EVENTS * sizeof *events);

    for (unsigned i = 0; i < EVENTS; i++) {
        mk_event *event = &events[i];
        const bool plain = i > 300 && i < 600;
        event->src = plain ? MK_STR("n17") : mk_str_of(odd_texts[i % ODD_COUNT]);
        event->dst = plain ? MK_STR("n4") : mk_str_of(odd_texts[i / 3 % ODD_COUNT]);
        event->rel_type = i % 5 == 0 ? mk_str_of(odd_texts[i / 5 % ODD_COUNT]) : MK_STR("MSG");
        event->disc_kind = plain ? MK_DISC_DEFAULT : (mk_disc_kind)(i % 3);
        event->disc =
            event->disc_kind == MK_DISC_GIVEN ? mk_str_of(odd_texts[i / 2 % ODD_COUNT]) : MK_STR("");
        event->props = i % 7 == 0   ? MK_STR("{\"k\":[-1,1e-07,\"\\u0001\"]}")
                       : i % 7 == 1 ? MK_STR("{}")
                                    : MK_STR("");
        event->vt_s = i % 11 == 0 ? -(INT64_C(1) << 62) : i % 11 == 1 ? INT64_MIN : 1082040961000000 + i;
        event->has_vt_e = i % 4 == 0;
        event->vt_e = event->has_vt_e ? (i % 8 == 0 ? INT64_MAX : -7) : 0;
    }
    const mk_op op = {.kind = MK_OP_INGEST_EVENTS, .events = events, .event_count = EVENTS, .offset = 50000,
                      .node_label = MK_STR("Node"), .source = MK_STR("ingest"), .provenance_null = true};
    write_and_read(arena, &op, 1);
    const mk_op three[3] = {
        op, {.kind = MK_OP_INGEST_EVENTS, .source = MK_STR(""), .provenance_null = true}, op};
    write_and_read(arena, three, 3);
}

static void test_record__read_gives_what_was_written(void **state)
{
    const mk_record record = read_line(*state, mk_str_of(spec_lines[6]), NULL);

    assert_int_equal(record.tt.us, 700);
    assert_string_equal(record.batch_id, "941aa230d5f410a8");
    assert_int_equal(record.op_count, 1);
    const mk_op *op = &record.ops[0];
    assert_int_equal(op->kind, MK_OP_INGEST_EVENTS);
    assert_int_equal(op->event_count, 2);
    assert_true(op->provenance_null);
    check_same(op->node_label, MK_STR("Node"));
    check_same(op->events[0].src, MK_STR("x"));
    check_same(op->events[0].dst, MK_STR("y"));
    check_same(op->events[0].rel_type, MK_STR("MSG"));
    assert_int_equal(op->events[0].vt_s, 7);
    assert_int_equal(op->events[0].disc_kind, MK_DISC_DEFAULT);
    assert_false(op->events[0].has_vt_e);
    assert_int_equal(op->events[0].props.n, 0);
    check_same(op->events[1].props, MK_STR("{\"k\":1.5}"));
    /* Plain strings are slices of the line. */
    assert_true(op->events[0].src.p > spec_lines[6] &&
                op->events[0].src.p < spec_lines[6] + strlen(spec_lines[6]));
}

/* ---- the lenient reader ---- */

static void test_record__defaults_are_filled_in(void **state)
{
    const mk_record record = read_line(
        *state,
        record_around(*state,
                      "[{\"label\":\"N\",\"op\":\"assert_node\",\"uid\":\"a\",\"vt_s\":1},"
                      "{\"dst\":\"b\",\"op\":\"assert_edge\",\"rel_type\":\"R\",\"src\":\"\",\"vt_s\":1},"
                      "{\"events\":[],\"op\":\"ingest_events\"},"
                      "{\"op\":\"retract\",\"ref\":{\"dst\":\"b\",\"kind\":\"edge\",\"rel_type\":\"R\","
                      "\"src\":\"a\"},\"source\":5,\"t\":3}]"),
        NULL);

    assert_false(record.malformed);
    assert_int_equal(record.op_count, 4);
    check_same(record.ops[0].props, MK_STR("{}"));
    assert_true(record.ops[0].vt_e == MK_OPEN_END);
    check_same(record.ops[0].source, MK_STR("ingest"));
    assert_true(record.ops[0].provenance_null);
    check_same(record.ops[1].disc, MK_STR(""));
    assert_false(record.ops[1].disc_null);
    check_same(record.ops[2].node_label, MK_STR("Node"));
    assert_int_equal(record.ops[2].offset, 0);
    check_same(record.ops[3].disc, MK_STR(""));
    assert_false(record.ops[3].on_node);
    check_same(record.ops[3].source, MK_STR("ingest")); /* not looked at by the reference */
}

static void test_record__odd_values_that_the_reference_applies_are_read(void **state)
{
    const mk_record record = read_line(
        *state,
        record_around(
            *state,
            "[{\"events\":[{\"disc\":null,\"dst\":\"\",\"extra\":[1],\"rel_type\":\"R\",\"src\":\"a\",\"vt_"
            "e\":0,"
            "\"vt_s\":-9},{\"disc\":\"\",\"dst\":\"b\",\"props\":null,\"rel_type\":\"R\",\"src\":\"a\","
            "\"vt_e\":null,\"vt_s\":10},{\"dst\":\"b\",\"rel_type\":\"R\",\"src\":\"a\",\"vt_e\":3,\"vt_s\":"
            "10}],"
            "\"op\":\"ingest_events\",\"source\":\"\"},"
            "{\"disc\":null,\"dst\":\"b\",\"dst_label\":\"L\",\"op\":\"assert_edge\",\"props\":[],"
            "\"rel_type\":\"R\",\"src\":\"a\",\"vt_e\":1,\"vt_s\":5},"
            "{\"op\":\"frobnicate\",\"ref\":3}]"),
        NULL);

    assert_false(record.malformed);
    assert_int_equal(record.op_count, 3);
    const mk_event *events = record.ops[0].events;
    assert_int_equal(events[0].disc_kind, MK_DISC_NULL);
    assert_false(events[0].has_vt_e);
    assert_int_equal(events[1].disc_kind, MK_DISC_GIVEN);
    assert_false(events[1].has_vt_e);
    check_same(events[1].props, MK_STR("null"));
    assert_true(events[2].has_vt_e);
    assert_int_equal(events[2].vt_e, 3);
    check_same(record.ops[0].source, MK_STR(""));
    assert_true(record.ops[1].disc_null);
    check_same(record.ops[1].props, MK_STR("[]"));
    assert_int_equal(record.ops[2].kind, MK_OP_UNKNOWN);
    check_same(record.ops[2].raw_kind, MK_STR("frobnicate"));
}

static void test_record__what_the_reference_would_crash_on_marks_the_record(void **state)
{
    static const struct {
        const char *op, *path;
    } table[] = {
        {"5", "ops[1]"},
        {"{}", "ops[1].op"},
        {"{\"op\":7}", "ops[1].op"},
        {"{\"op\":\"assert_node\",\"label\":\"N\",\"vt_s\":0}", "ops[1].uid"},
        {"{\"op\":\"assert_node\",\"uid\":null,\"label\":\"N\",\"vt_s\":0}", "ops[1].uid"},
        {"{\"op\":\"assert_node\",\"uid\":\"a\",\"vt_s\":0}", "ops[1].label"},
        {"{\"op\":\"assert_node\",\"uid\":\"a\",\"label\":\"N\"}", "ops[1].vt_s"},
        {"{\"op\":\"assert_node\",\"uid\":\"a\",\"label\":\"N\",\"vt_s\":\"0\"}", "ops[1].vt_s"},
        {"{\"op\":\"assert_node\",\"uid\":\"a\",\"label\":\"N\",\"vt_s\":1.0}", "ops[1].vt_s"},
        {"{\"op\":\"assert_node\",\"uid\":\"a\",\"label\":\"N\",\"vt_s\":9223372036854775808}",
         "ops[1].vt_s"},
        {"{\"op\":\"assert_node\",\"uid\":\"a\",\"label\":\"N\",\"vt_s\":0,\"vt_e\":null}", "ops[1].vt_e"},
        {"{\"op\":\"assert_node\",\"uid\":\"a\",\"label\":\"N\",\"vt_s\":0,\"source\":null}",
         "ops[1].source"},
        {"{\"op\":\"assert_node\",\"uid\":\"a\",\"label\":\"N\",\"vt_s\":0,\"provenance_ref\":{}}",
         "ops[1].provenance_ref"},
        {"{\"op\":\"assert_edge\",\"src\":\"a\",\"dst\":\"b\",\"vt_s\":0}", "ops[1].rel_type"},
        {"{\"op\":\"assert_edge\",\"src\":\"a\",\"dst\":\"b\",\"rel_type\":\"R\",\"disc\":4,\"vt_s\":0}",
         "ops[1].disc"},
        {"{\"op\":\"retract\",\"t\":0}", "ops[1].ref"},
        {"{\"op\":\"retract\",\"ref\":[],\"t\":0}", "ops[1].ref"},
        {"{\"op\":\"retract\",\"ref\":{\"uid\":\"a\"},\"t\":0}", "ops[1].ref.kind"},
        {"{\"op\":\"retract\",\"ref\":{\"kind\":\"node\",\"uid\":\"\"},\"t\":0}", "ops[1].ref.uid"},
        {"{\"op\":\"retract\",\"ref\":{\"kind\":\"hyperedge\",\"uid\":\"a\"},\"t\":0}", "ops[1].ref.kind"},
        {"{\"op\":\"retract\",\"ref\":{\"kind\":\"edge\",\"src\":\"a\",\"dst\":\"\",\"rel_type\":\"R\"},"
         "\"t\":0}",
         "ops[1].ref.dst"},
        {"{\"op\":\"retract\",\"ref\":{\"kind\":\"node\",\"uid\":\"a\"}}", "ops[1].t"},
        {"{\"op\":\"correct\",\"ref\":{\"kind\":\"node\",\"uid\":\"a\"},\"vt_s\":0}", "ops[1].props"},
        {"{\"op\":\"ingest_events\"}", "ops[1].events"},
        {"{\"op\":\"ingest_events\",\"events\":{}}", "ops[1].events"},
        {"{\"op\":\"ingest_events\",\"events\":[],\"offset\":\"0\"}", "ops[1].offset"},
        {"{\"op\":\"ingest_events\",\"events\":[],\"node_label\":null}", "ops[1].node_label"},
        {"{\"op\":\"ingest_events\",\"events\":[{\"dst\":\"y\",\"rel_type\":\"R\",\"src\":\"x\",\"vt_s\":1},"
         "{\"dst\":\"y\",\"src\":\"x\",\"vt_s\":7},3]}",
         "ops[1].events[1]"},
        {"{\"op\":\"ingest_events\",\"events\":[{\"dst\":\"y\",\"rel_type\":\"R\",\"src\":\"x\",\"vt_s\":"
         "true}]}",
         "ops[1].events[0]"},
        {"{\"op\":\"ingest_events\",\"events\":[{\"dst\":\"y\",\"rel_type\":\"R\",\"src\":\"x\",\"vt_s\":"
         "9223372036854775807}]}",
         "ops[1].events[0]"},
        {"{\"op\":\"ingest_events\",\"events\":[{\"dst\":\"y\",\"rel_type\":\"R\",\"src\":\"x\",\"vt_e\":"
         "\"z\",\"vt_s\":1}]}",
         "ops[1].events[0]"},
        {"{\"op\":\"ingest_events\",\"events\":[{\"disc\":1,\"dst\":\"y\",\"rel_type\":\"R\",\"src\":\"x\","
         "\"vt_s\":1}]}",
         "ops[1].events[0]"},
        {"{\"op\":\"ingest_events\",\"events\":[[]]}", "ops[1].events[0]"},
    };
    mk_arena *arena = *state;
    char ops[512];

    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        snprintf(ops, sizeof ops, "[{\"op\":\"new_fangled\"},%s,{}]", table[i].op);
        const mk_record record = read_line(arena, record_around(arena, ops), NULL);
        if (!record.malformed || strcmp(record.why.path, table[i].path) != 0)
            fail_msg("%s: %s at %s", table[i].op, record.malformed ? record.why.message : "taken",
                     record.why.path);
        assert_int_equal(record.op_count, 1);
        mk_arena_reset(arena);
    }
}

/* Of two members of one name the last counts, also when only one of the two is of the wrong type. */
static void test_record__the_last_of_duplicate_members_counts(void **state)
{
    const mk_record record = read_line(
        *state,
        record_around(
            *state,
            "[{\"op\":\"assert_node\",\"uid\":3,\"label\":\"N\",\"uid\":\"b\",\"vt_s\":null,\"vt_s\":4},"
            "{\"events\":[{\"src\":5,\"src\":\"s\",\"dst\":\"d\",\"rel_type\":\"R\",\"vt_s\":\"\",\"vt_s\":1}"
            "],"
            "\"op\":\"ingest_events\"}]"),
        NULL);

    assert_false(record.malformed);
    check_same(record.ops[0].uid, MK_STR("b"));
    assert_int_equal(record.ops[0].vt_s, 4);
    check_same(record.ops[1].events[0].src, MK_STR("s"));
}

/* White space, other orders, needless escapes and long floats: accepted for what they mean, and props are
 * made canonical. */
static void test_record__a_line_in_another_form_is_made_canonical(void **state)
{
    mk_arena *arena = *state;
    bool canonical = true;
    const mk_record record = read_line(
        arena,
        record_around(arena, "[ {\"uid\":\"\\u0061\",\"op\":\"assert_node\",\"label\":\"N\",\"vt_s\":-0,"
                             "\"props\":{\"b\":1.50,\"a\":\"\\u00e9\\/\"}}]"),
        &canonical);

    assert_false(canonical);
    assert_int_equal(record.op_count, 1);
    check_same(record.ops[0].uid, MK_STR("a"));
    check_same(record.ops[0].props, MK_STR("{\"a\":\"\xc3\xa9/\",\"b\":1.5}"));
}

/* One deviation at a time, each of which the walk over the bytes must see. */
static void test_record__every_deviation_from_canonical_form_is_seen(void **state)
{
    static const char *const forms[] = {
        "{\"b\":1,\"a\":2}",
        "{\"a\":1,\"a\":1}",
        "{ \"a\":1}",
        "{\"a\" :1}",
        "{\"a\":1 }",
        "[1, 2]",
        "-0",
        "1.50",
        "1e5",
        "1E+16",
        "0.00001",
        "1e-5",
        "100.00",
        "1e400",
        "\"\\/\"",
        "\"\\u0009\"",
        "\"\\u000A\"",
        "\"\\u001F\"",
        "\"\\u0061\"",
        "\"\\u00e9\"",
        "{\"a\\n\":1,\"a\\b\":2}",
        "{\"a\":1,\"\\n\":2}",
        "{\"aa\":1,\"a\":2}",
        "{\"\xf0\x9f\x98\x80\":1,\"\xef\xbf\xbf\":2}",
        "{\"b\":{\"b\":1,\"a\":2}}",
        "[-0,1]",
        "\t1",
    };
    static const char *const canonical_forms[] = {
        "{}",
        "[]",
        "null",
        "true",
        "false",
        "\"\"",
        "0",
        "-1",
        "1.0",
        "-0.0",
        "1e+16",
        "1e-05",
        "0.0001",
        "NaN",
        "[Infinity,-Infinity]",
        "\"\\u001f\\b\\f\\n\\r\\t\\\"\\\\/\x7f\"",
        "{\"\":1,\"\\n\":2,\" \":3,\"a\":4,\"a\\\"\":5,\"aa\":6}",
        "{\"\xef\xbf\xbf\":1,\"\xf0\x9f\x98\x80\":2}",
        "{\"a\":[{\"b\":1},{\"a\":1}],\"b\":{}}",
        "[123456789012345678901234567890,-9223372036854775809]",
    };
    mk_arena *arena = *state;
    char ops[256];

    for (size_t i = 0;
         i < sizeof forms / sizeof forms[0] + sizeof canonical_forms / sizeof canonical_forms[0]; i++) {
        const bool want = i >= sizeof forms / sizeof forms[0];
        const char *props = want ? canonical_forms[i - sizeof forms / sizeof forms[0]] : forms[i];
        bool canonical = !want;
        snprintf(
            ops, sizeof ops,
            "[{\"label\":\"N\",\"op\":\"assert_node\",\"props\":%s,\"provenance_ref\":null,\"source\":\"s\","
            "\"uid\":\"a\",\"vt_e\":2,\"vt_s\":1}]",
            props);
        const mk_record record = read_line(arena, record_around(arena, ops), &canonical);
        if (canonical != want)
            fail_msg("%s is taken for %s", props, canonical ? "canonical" : "not canonical");
        mk_err err;
        if (mk_op_check(&record.ops[0], 0, false, arena, &err) != MK_OK) /* remade, hence canonical now */
            fail_msg("%s: %s", props, err.message);
        mk_op op = record.ops[0];
        op.props = mk_str_of(props);
        assert_int_equal(mk_op_check(&op, 0, false, arena, &err), want ? MK_OK : MK_E_INVALID_ARG);
        if (!want)
            assert_string_equal(err.path, "ops[0].props");
        mk_arena_reset(arena);
    }
}

static void test_record__members_that_no_record_has_are_not_canonical_but_read(void **state)
{
    bool canonical = true;
    char line[600];

    snprintf(line, sizeof line, "{\"a\":0,%s", spec_lines[2] + 1);
    const mk_record record = read_line(*state, mk_str_of(line), &canonical);
    assert_false(canonical);
    assert_int_equal(record.op_count, 1);
    assert_int_equal(record.tt.us, 300);
}

static void test_record__a_changed_byte_is_a_wrong_id(void **state)
{
    mk_arena *arena = *state;
    char line[512];
    mk_record record;
    mk_err err;

    snprintf(line, sizeof line, "%s", spec_lines[0]);
    *strstr(line, "\"p\":1") = '"';
    strstr(line, "\"p\":1")[4] = '2';
    assert_int_equal(mk_record_read(arena, mk_str_of(line), true, &record, NULL, &err), MK_E_STATE);
    assert_string_equal(err.reason, "damaged");
    assert_string_equal(err.path, "batch_id");
    assert_non_null(strstr(err.message, "229481c6c1d2bc9e"));
    assert_int_equal(mk_record_read(arena, mk_str_of(line), false, &record, NULL, &err), MK_OK);

    /* Also when the line is in another form, where the id is that of the canonical one. */
    snprintf(line, sizeof line, " %s", spec_lines[0]);
    strstr(line, "\"p\":1")[4] = '2';
    assert_int_equal(mk_record_read(arena, mk_str_of(line), true, &record, NULL, &err), MK_E_STATE);
    assert_string_equal(err.reason, "damaged");
}

/* Someone hashed his own text and not the canonical one: the reference, which hashes what it parsed,
 * would find the id wrong, and so do we. */
static void test_record__an_id_over_text_in_another_form_is_wrong(void **state)
{
    const char *content = "{\"ops\":[{\"op\":\"x\",\"a\":1}],\"tt\":5}";
    uint8_t digest[32];
    char id[17] = "", line[256];
    mk_record record;
    mk_err err;

    mk_sha256_of(content, strlen(content), digest);
    mk_hex(id, digest, 8);
    snprintf(line, sizeof line, "{\"batch_id\":\"%s\",%s", id, content + 1);
    assert_int_equal(mk_record_read(*state, mk_str_of(line), true, &record, NULL, &err), MK_E_STATE);
    assert_string_equal(err.path, "batch_id");
}

static void test_record__what_is_no_record_is_damage(void **state)
{
    static const struct {
        const char *line;
        int64_t offset;
    } table[] = {
        {"", 0},
        {"{", 1},
        {"[]", 0},
        {"{\"batch_id\":\"0123456789abcdef\",\"ops\":[],\"tt\":0}", 45},
        {"{\"batch_id\":\"0123456789abcdef\",\"ops\":[],\"tt\":-4}", 45},
        {"{\"batch_id\":\"0123456789abcdef\",\"ops\":[],\"tt\":1.0}", 45},
        {"{\"batch_id\":\"0123456789abcdef\",\"ops\":[],\"tt\":9223372036854775808}", 45},
        {"{\"batch_id\":\"0123456789abcdef\",\"ops\":{},\"tt\":1}", 37},
        {"{\"batch_id\":\"0123456789abcde\",\"ops\":[],\"tt\":1}", 12},
        {"{\"batch_id\":\"0123456789abcde\xff\",\"ops\":[],\"tt\":1}", 28},
        {"{\"batch_id\":12,\"ops\":[],\"tt\":1}", 12},
        {"{\"ops\":[],\"tt\":1}", 0},
        {"{\"batch_id\":\"0123456789abcdef\",\"ops\":[]}", 0},
        {"{\"batch_id\":\"0123456789abcdef\",\"tt\":1}", 0},
        {"{\"batch_id\":\"0123456789abcdef\",\"ops\":[],\"tt\":1}x", 47},
        {"{\"batch_id\":\"0123456789abcdef\",\"ops\":[{\"op\":\"\\ud800\"}],\"tt\":1}", 45},
        {"{\"batch_id\":\"0123456789abcdef\",\"ops\":[{\"op\":\"\x80\"}],\"tt\":1}", 45},
        {"{\"batch_id\":\"0123456789abcdef\",\"ops\":[{\"events\":[{\"dst\":\"y\",\"rel_type\":\"M\",\"src\":"
         "\"x\",\"vt_s\":1},"
         "{\"dst\":\"y\xc3\",\"rel_type\":\"M\",\"src\":\"x\",\"vt_s\":1}]}],\"tt\":1}",
         104},
        {"{\"batch_id\":\"0123456789abcdef\",\"ops\":[{\"events\":[{\"dst\":\"y\",\"rel_type\":\"M\",\"src\":"
         "\"x\",\"vt_s\":1},"
         "{\"dst\":\"y\",\"rel_type\":\"M\",\"src\":\"x\",\"vt_s\":01}]}],\"tt\":1}",
         -2},
        {"{\"batch_id\":\"0123456789abcdef\",\"ops\":[{\"events\":[{\"dst\":\"y\",\"rel_type\":\"M\",\"src\":"
         "\"x\",\"vt_s\":1},]}],\"tt\":1}",
         -2},
    };
    mk_record record;
    mk_err err;

    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        assert_int_equal(mk_record_read(*state, mk_str_of(table[i].line), false, &record, NULL, &err),
                         MK_E_STATE);
        if (strcmp(err.reason, "damaged") != 0 || (table[i].offset != -2 && err.offset != table[i].offset))
            fail_msg("%s: %s, offset %lld", table[i].line, err.message, (long long)err.offset);
        assert_int_equal(mk_record_read(*state, mk_str_of(table[i].line), true, &record, NULL, NULL),
                         MK_E_STATE);
    }
}

/* ---- memory ---- */

typedef struct failing {
    size_t calls, fail_at;
} failing;

static void *failing_resize(void *ctx, void *p, size_t old_size, size_t new_size)
{
    failing *f = ctx;

    if (new_size != 0 && f->calls++ == f->fail_at)
        return NULL;
    return mk_alloc_default.resize(mk_alloc_default.ctx, p, old_size, new_size);
}

/* Every allocation of reading (a line that must be made canonical) and of writing fails once. */
static void test_record__running_out_of_memory_is_an_error(void **state)
{
    const mk_str line = record_around(
        *state,
        "[{\"events\":[ "
        "{\"dst\":\"y\\u0041\",\"rel_type\":\"M\",\"src\":\"x\",\"vt_s\":1}],\"op\":\"ingest_events\"},"
        "{\"op\":\"1\"},{\"op\":\"2\"},{\"op\":\"3\"},{\"op\":\"4\"},{\"op\":\"5\"}]");
    mk_code rc = MK_E_NOMEM;

    for (size_t at = 0; rc != MK_OK; at++) {
        failing f = {0, at};
        const mk_alloc alloc = {failing_resize, &f};
        mk_arena arena;
        mk_record record;
        mk_err err;
        mk_buf out;
        mk_arena_init(&arena, &alloc);
        mk_buf_init(&out, &alloc);
        rc = mk_record_read(&arena, line, true, &record, NULL, &err);
        if (rc == MK_OK)
            rc = mk_record_write(&out, record.ops, record.op_count, record.tt, &err);
        assert_true(rc == MK_OK || (rc == MK_E_NOMEM && err.code == MK_E_NOMEM && at < 100));
        mk_buf_free(&out);
        mk_arena_free(&arena);
    }
}

static void test_record__a_failed_write_leaves_what_stood_before(void **state)
{
    failing f = {0, 1};
    const mk_alloc alloc = {failing_resize, &f};
    const char filler[60] = "";
    const mk_op op = {.kind = MK_OP_ASSERT_NODE, .uid = MK_STR("a"), .source = MK_STR("ingest"),
                      .provenance_null = true, .vt_e = 1};
    mk_buf out;

    (void)state;
    mk_buf_init(&out, &alloc);
    mk_buf_put(&out, filler, sizeof filler);
    assert_int_equal(mk_record_write(&out, &op, 1, (mk_tt){1}, NULL), MK_E_NOMEM);
    assert_int_equal(out.n, sizeof filler);
    mk_buf_free(&out);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_record__##name, arena_setup, arena_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(spec_lines_are_written_to_the_byte),
        TEST(ops_at_the_door_give_the_spec_lines),
        TEST(golden_logs_come_back_to_the_byte),
        TEST(the_reference_log_of_collegemsg_comes_back_to_the_byte),
        TEST(all_combinations_of_members_come_back),
        TEST(events_of_all_forms_come_back),
        TEST(read_gives_what_was_written),
        TEST(defaults_are_filled_in),
        TEST(odd_values_that_the_reference_applies_are_read),
        TEST(what_the_reference_would_crash_on_marks_the_record),
        TEST(the_last_of_duplicate_members_counts),
        TEST(a_line_in_another_form_is_made_canonical),
        TEST(every_deviation_from_canonical_form_is_seen),
        TEST(members_that_no_record_has_are_not_canonical_but_read),
        TEST(a_changed_byte_is_a_wrong_id),
        TEST(an_id_over_text_in_another_form_is_wrong),
        TEST(what_is_no_record_is_damage),
        TEST(running_out_of_memory_is_an_error),
        TEST(a_failed_write_leaves_what_stood_before),
    };

    return cmocka_run_group_tests_name("record", tests, NULL, NULL);
}

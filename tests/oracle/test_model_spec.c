/* test_model_spec.c — the slow model against the worked examples of the specifications.
 *
 * Every digest and id here stands in the text of the store spec (11, 12) or of the operators spec
 * (10.1, 10.2, 10.4). The rest pins what the golden files do not reach: malformed ops, lower case,
 * cursors, ceilings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../support/model.h"

/* ---- helpers ---- */

static void assert_str(mk_str got, const char *expected)
{
    if (!mk_str_eq(got, mk_str_of(expected)))
        fail_msg("got      %.*s\nexpected %s", MK_STR_ARG(got), expected);
}

static void apply(model *m, int64_t tt, const char *ops)
{
    mk_err err;
    if (!model_apply_text(m, tt, mk_str_of(ops), &err))
        fail_msg("at %lld: %s", (long long)tt, err.message);
}

static void refuse(model *m, int64_t tt, const char *ops, mk_code code)
{
    mk_err err;
    if (model_apply_text(m, tt, mk_str_of(ops), &err))
        fail_msg("should have failed: %s", ops);
    assert_string_equal(mk_code_name(err.code), mk_code_name(code));
}

static void assert_digest(const model *m, const char *expected)
{
    char digest[65];
    model_digest(m, digest);
    assert_string_equal(digest, expected);
}

static int by_belief(const void *a, const void *b)
{
    const model_row *x = a, *y = b;
    return x->tt_s != y->tt_s ? (x->tt_s < y->tt_s ? -1 : 1) : model_scan_order(x, y);
}

static void put_end(mk_buf *out, int64_t s, int64_t e)
{
    if (e == MK_OPEN_END)
        mk_buf_printf(out, " [%lld,open)", (long long)s);
    else
        mk_buf_printf(out, " [%lld,%lld)", (long long)s, (long long)e);
}

/* Every version of an identity, one a line: vid, label if any, valid time, belief, props. */
static void assert_rows(const model *m, model_kind kind, const char *identity, const char *expected)
{
    size_t n;
    mk_buf out;
    const model_row *all = model_rows(m, kind, &n);
    model_row *copy = malloc((n + 1) * sizeof *copy);
    assert_non_null(copy);
    if (n > 0)
        memcpy(copy, all, n * sizeof *copy);
    qsort(copy, n, sizeof *copy, by_belief);
    mk_buf_init(&out, &mk_alloc_default);
    for (size_t i = 0; i < n; i++) {
        if (!mk_str_eq(copy[i].identity, mk_str_of(identity)))
            continue;
        mk_buf_str(&out, copy[i].vid);
        if (kind == MODEL_NODE)
            mk_buf_printf(&out, " %.*s", MK_STR_ARG(copy[i].label));
        put_end(&out, copy[i].vt_s, copy[i].vt_e);
        put_end(&out, copy[i].tt_s, copy[i].tt_e);
        mk_buf_printf(&out, " %.*s\n", MK_STR_ARG(copy[i].props));
    }
    assert_str(mk_buf_view(&out), expected);
    mk_buf_free(&out);
    free(copy);
}

/* What is believed now of a node: label, valid time, props, parts set apart by "; ". */
static void assert_believed(const model *m, const char *uid, const char *expected)
{
    mk_arena arena;
    mk_buf out;
    const mk_str identity = mk_str_of(uid);
    mk_arena_init(&arena, &mk_alloc_default);
    mk_buf_init(&out, &mk_alloc_default);
    const model_list list = model_believed(m, &arena, MODEL_NODE, &identity, MK_OPEN_END);
    for (size_t i = 0; i < list.n; i++) {
        mk_buf_printf(&out, "%s%.*s", i > 0 ? "; " : "", MK_STR_ARG(list.rows[i]->label));
        put_end(&out, list.rows[i]->vt_s, list.rows[i]->vt_e);
        mk_buf_printf(&out, " %.*s", MK_STR_ARG(list.rows[i]->props));
    }
    assert_str(mk_buf_view(&out), expected);
    mk_buf_free(&out);
    mk_arena_free(&arena);
}

static void call(const model *m, const char *op, const char *args, const model_ceilings *ceilings,
                 model_answer *answer)
{
    mk_arena arena;
    mk_json *tree = NULL;
    mk_arena_init(&arena, &mk_alloc_default);
    assert_int_equal(mk_json_parse(&arena, mk_str_of(args), NULL, &tree, NULL), MK_OK);
    model_call(m, op, tree, ceilings, answer);
    mk_arena_free(&arena);
}

static void assert_answer(const model *m, const char *op, const char *args, const char *payload,
                          const char *digest)
{
    model_answer answer;
    model_answer_init(&answer);
    call(m, op, args, NULL, &answer);
    if (!answer.ok)
        fail_msg("%s %s: %s", op, args, answer.error.message);
    assert_str(mk_buf_view(&answer.payload), payload);
    if (digest != NULL)
        assert_string_equal(answer.digest, digest);
    model_answer_free(&answer);
}

static void assert_refused(const model *m, const char *op, const char *args, mk_code code,
                           const char *path)
{
    model_answer answer;
    model_answer_init(&answer);
    call(m, op, args, NULL, &answer);
    if (answer.ok)
        fail_msg("%s %s: answered %.*s", op, args, MK_STR_ARG(mk_buf_view(&answer.payload)));
    if (answer.error.code != code)
        fail_msg("%s %s: got %s", op, args, mk_code_name(answer.error.code));
    assert_str(mk_buf_view(&answer.path), path);
    assert_int_equal(answer.payload.n, 0);
    model_answer_free(&answer);
}

/* ---- the store ---- */

static void test_model__an_empty_store_has_the_published_digest(void **state)
{
    (void)state;
    model *m = model_new();
    mk_buf stats;
    assert_digest(m, "57501e5c6808b3e14852a4ea21dc7873abf9409032a06f9b740c973e83f62cf7");
    mk_buf_init(&stats, &mk_alloc_default);
    model_stats_json(m, &stats);
    assert_str(mk_buf_view(&stats),
               "{\"max_out_degree\":0,\"n_edge_versions\":0,\"n_entities\":0,\"n_node_versions\":0,"
               "\"rel_type_counts\":{},\"vt_max\":null,\"vt_min\":null}");
    mk_buf_free(&stats);
    model_free(m);
}

static void test_model__two_rows_have_the_published_digest(void **state)
{
    (void)state;
    model *m = model_new();
    apply(m, 100, "[{\"op\":\"assert_node\",\"uid\":\"a\",\"label\":\"N\",\"props\":{\"p\":1},"
                  "\"vt_s\":0,\"vt_e\":100}]");
    apply(m, 200, "[{\"op\":\"assert_edge\",\"src\":\"a\",\"dst\":\"b\",\"rel_type\":\"R\","
                  "\"vt_s\":10,\"vt_e\":20}]");
    assert_digest(m, "d62dfa2b22497212b807f94249baedd8225cd8d6f14d0368d91d969b0c676473");
    model_free(m);
}

static void assert_eid(const char *src, const char *dst, const char *rel, const char *disc,
                       const char *expected)
{
    char eid[25];
    model_eid(mk_str_of(src), mk_str_of(dst), mk_str_of(rel), mk_str_of(disc), false, eid);
    assert_string_equal(eid, expected);
}

static void test_model__ids_are_those_of_section_4(void **state)
{
    (void)state;
    assert_eid("n1", "n2", "MSG", "#0", "3e7e15dd46642a287c3e3b1a");
    assert_eid("a", "b", "R", "", "f39a58802118efa2055a9e26");
    assert_eid("q\"s", "b\\d", "REL\nT", "d\tt", "4fb7944b8fc44ce098a7e164");
    assert_eid("caf\u00e9", "\u4e2d\u6587", "E\U0001F3AF", "", "1e6b4748f4ce29e09b2b1f57");
    model *m = model_new();
    apply(m, 100, "[{\"op\":\"assert_node\",\"uid\":\"a\",\"label\":\"N\",\"vt_s\":-5}]");
    assert_rows(m, MODEL_NODE, "a", "0548c19d9345f28e5ee7206e N [-5,open) [100,open) {}\n");
    model_free(m);
}

/* Section 12.1: one log, seven batches, one of which fails. */
static void test_model__seven_batches_of_section_12_1(void **state)
{
    (void)state;
    model *m = model_new();
    apply(m, 100, "[{\"label\":\"N\",\"op\":\"assert_node\",\"props\":{\"p\":1},\"uid\":\"a\","
                  "\"vt_e\":100,\"vt_s\":0}]");
    assert_digest(m, "c9709aea215367bbe4383aa4e1bf8a7cbd809a183f9d04f10ab1aa8f0a86b109");
    apply(m, 200, "[{\"op\":\"correct\",\"props\":{\"p\":2},\"ref\":{\"kind\":\"node\","
                  "\"uid\":\"a\"},\"vt_e\":60,\"vt_s\":40}]");
    assert_digest(m, "cf64f07df5198a8cded0011b08af660527f7fc5b6db2137494f8574e98293253");
    apply(m, 300, "[{\"op\":\"retract\",\"ref\":{\"kind\":\"node\",\"uid\":\"a\"},\"t\":50}]");
    assert_digest(m, "7e9e0d5f55f7de3527c046ddc70f577971e469b280ea85f17080b16c9d38b65e");
    apply(m, 400, "[{\"label\":\"M\",\"op\":\"assert_node\",\"props\":{},\"uid\":\"a\",\"vt_e\":45,"
                  "\"vt_s\":30}]");
    assert_digest(m, "2e943bd7d35b3e61fc0a76586bf0e4831b104a7bc99940229f9c46e2c2213c9f");
    assert_rows(m, MODEL_NODE, "a",
                "b0872c8aae2f6ce7769e0ea9 N [0,100) [100,200) {\"p\":1}\n"
                "f71b25f85b3ffc5aa17cea8a N [0,40) [200,400) {\"p\":1}\n"
                "61f62afab17b0cd268569a01 N [40,60) [200,300) {\"p\":2}\n"
                "c4988e5320ce19b2e949e220 N [60,100) [200,open) {\"p\":1}\n"
                "98dd9504cb327399c75b6439 N [40,50) [300,400) {\"p\":2}\n"
                "585b951e940c61cc0c724b51 N [0,30) [400,open) {\"p\":1}\n"
                "814f1d978be8c8d360d1ba85 M [30,45) [400,open) {}\n"
                "0a5edd07b687c876fb3d118a N [45,50) [400,open) {\"p\":2}\n");
    refuse(m, 500, "[{\"op\":\"retract\",\"ref\":{\"kind\":\"node\",\"uid\":\"zz\"},\"t\":5}]",
           MK_E_NOT_FOUND);
    assert_digest(m, "2e943bd7d35b3e61fc0a76586bf0e4831b104a7bc99940229f9c46e2c2213c9f");
    apply(m, 600, "[{\"op\":\"assert_edge\",\"src\":\"a\",\"dst\":\"b\",\"rel_type\":\"R\","
                  "\"props\":{\"w\":1},\"vt_s\":10,\"vt_e\":20},"
                  "{\"op\":\"assert_edge\",\"src\":\"a\",\"dst\":\"b\",\"rel_type\":\"R\","
                  "\"props\":{\"w\":2},\"vt_s\":15,\"vt_e\":25}]");
    assert_digest(m, "8da2bc9d98eb4a7bd3a3f9c8dea72f6f552870a78cf1086291305163aee1b401");
    assert_rows(m, MODEL_EDGE, "f39a58802118efa2055a9e26",
                "035829b6a18f6889b359f574 [10,15) [600,open) {\"w\":1}\n"
                "7a72de14aa934abe57e73af3 [15,25) [600,open) {\"w\":2}\n");
    apply(m, 700, "[{\"op\":\"ingest_events\",\"events\":[{\"src\":\"x\",\"dst\":\"y\","
                  "\"rel_type\":\"MSG\",\"vt_s\":7},{\"src\":\"y\",\"dst\":\"x\","
                  "\"rel_type\":\"MSG\",\"vt_s\":5,\"props\":{\"k\":1.5}}]}]");
    assert_digest(m, "f4d0e79f399ebb5c5b6f21321eaab88900d78e28e0f2a55fa74a5147e6113612");
    assert_rows(m, MODEL_NODE, "y", "d421812dc15903833708712e Node [5,open) [700,open) {}\n");
    model_free(m);
}

#define N1(label, v, s, e)                                                                         \
    "{\"op\":\"assert_node\",\"uid\":\"n1\",\"label\":\"" label "\",\"props\":{\"v\":" #v "},"      \
    "\"vt_s\":" #s ",\"vt_e\":" #e "}"

static void test_model__supersession_inside_a_batch_of_section_12_2(void **state)
{
    (void)state;
    model *m = model_new();
    apply(m, 1, "[" N1("N", 1, 0, 100) "]");
    apply(m, 2, "[" N1("N", 2, 0, 100) "," N1("N", 3, 40, 60) "]");
    apply(m, 3, "[{\"op\":\"correct\",\"ref\":{\"kind\":\"node\",\"uid\":\"n1\"},"
                "\"props\":{\"v\":4},\"vt_s\":0,\"vt_e\":20},"
                "{\"op\":\"retract\",\"ref\":{\"kind\":\"node\",\"uid\":\"n1\"},\"t\":50}]");
    assert_rows(m, MODEL_NODE, "n1",
                "625af68050ce516e47d20b33 N [0,100) [1,2) {\"v\":1}\n"
                "5578548e9d27cb96ba834c07 N [0,40) [2,3) {\"v\":2}\n"
                "379260023e6e251e461cacac N [40,60) [2,3) {\"v\":3}\n"
                "a490cdb906aba9efa5a41975 N [60,100) [2,open) {\"v\":2}\n"
                "22404faac6142ed9647cb937 N [0,20) [3,open) {\"v\":4}\n"
                "991967f43aeb832d2863709a N [20,40) [3,open) {\"v\":2}\n"
                "f66a450590086caeb78c91c0 N [40,50) [3,open) {\"v\":3}\n");
    assert_digest(m, "76c4aeb8897deb0dae2b8a5c012e4c02d14c62c80e3f099abb437d9c934141c8");
    model_free(m);
}

#define NODE(uid, label, props, s, e)                                                              \
    "{\"op\":\"assert_node\",\"uid\":\"" uid "\",\"label\":\"" label "\",\"props\":" props          \
    ",\"vt_s\":" #s ",\"vt_e\":" #e "}"
#define RETRACT(uid, t) "{\"op\":\"retract\",\"ref\":{\"kind\":\"node\",\"uid\":\"" uid "\"},\"t\":" #t "}"
#define CORRECT(uid, props, s, e)                                                                  \
    "{\"op\":\"correct\",\"ref\":{\"kind\":\"node\",\"uid\":\"" uid "\"},\"props\":" props          \
    ",\"vt_s\":" #s ",\"vt_e\":" #e "}"

static void test_model__small_cases_of_section_12_3(void **state)
{
    (void)state;
    static const struct {
        const char *before, *op, *after;
    } cases[] = {
        {"[" NODE("a", "N", "{}", 0, 5) "]", "[" RETRACT("a", 0) "]", ""},
        {"[" NODE("a", "N", "{}", 0, 5) "," NODE("a", "N", "{}", 5, 50) "]",
         "[" RETRACT("a", 3) "]", "N [0,3) {}; N [5,50) {}"},
        {"[" NODE("a", "P", "{\"k\":1}", 10, 20) "," NODE("a", "Q", "{\"k\":2}", 30, 40) "]",
         "[" CORRECT("a", "{\"k\":9}", 15, 100) "]", "P [10,15) {\"k\":1}; P [15,100) {\"k\":9}"},
        {"[" NODE("a", "N", "{\"k\":1}", 0, 4611686018427387904) "]",
         "[" CORRECT("a", "{\"k\":2}", 10, 4611686018427387904) "]",
         "N [0,10) {\"k\":1}; N [10,open) {\"k\":2}"},
        {"[" NODE("a", "P", "{}", 0, 5) "]",
         "[{\"op\":\"ingest_events\",\"events\":[{\"src\":\"a\",\"dst\":\"b\",\"rel_type\":\"R\","
         "\"vt_s\":10}]}]",
         "P [0,5) {}"},
        {"[]", "[" NODE("a", "N", "{}", 0, 5) "," RETRACT("a", 0) "]", ""},
        {"[" NODE("a", "P", "{}", 0, 5) "]", "[" NODE("a", "P", "{}", 0, 5) "]", "P [0,5) {}"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        model *m = model_new();
        apply(m, 1, cases[i].before);
        apply(m, 2, cases[i].op);
        assert_believed(m, "a", cases[i].after);
        assert_true(model_knows(m, MK_STR("a")));
        assert_true(model_times_are_real(m));
        model_free(m);
    }
}

static void test_model__asserting_and_retracting_in_one_batch_leaves_no_row(void **state)
{
    (void)state;
    model *m = model_new();
    apply(m, 2, "[" NODE("a", "N", "{}", 0, 5) "," RETRACT("a", 0) "]");
    assert_rows(m, MODEL_NODE, "a", "");
    assert_int_equal(model_entity_count(m), 1);
    model_free(m);
}

static void test_model__events_are_taken_as_they_come(void **state)
{
    (void)state;
    model *m = model_new();
    const char *ops = "[{\"op\":\"ingest_events\",\"offset\":7,\"node_label\":\"U\",\"source\":\"\","
                      "\"events\":[{\"src\":\"a\",\"dst\":\"b\",\"rel_type\":\"R\",\"vt_s\":10,"
                      "\"vt_e\":3},{\"src\":\"a\",\"dst\":\"b\",\"rel_type\":\"R\",\"vt_s\":10,"
                      "\"vt_e\":0},{\"src\":\"a\",\"dst\":\"b\",\"rel_type\":\"R\",\"vt_s\":9,"
                      "\"vt_e\":null,\"disc\":null}]}]";
    char eid[25];
    size_t n;
    mk_str offender;
    apply(m, 1, ops);
    apply(m, 2, ops);
    const model_row *edges = model_rows(m, MODEL_EDGE, &n);
    assert_int_equal(n, 6);
    assert_str(edges[0].disc, "#7");
    assert_int_equal(edges[0].vt_e, 3);
    assert_str(edges[1].disc, "#8");
    assert_int_equal(edges[1].vt_e, 11);
    assert_true(edges[2].disc_null);
    assert_int_equal(edges[2].vt_e, 10);
    assert_str(edges[2].source, "ingest");
    model_eid(MK_STR("a"), MK_STR("b"), MK_STR("R"), MK_STR(""), true, eid);
    assert_str(edges[2].identity, eid);
    assert_believed(m, "a", "U [9,open) {}");
    assert_false(model_is_disjoint(m, &offender)); /* ingested twice (oddity 1) */
    model_free(m);
}

static void test_model__a_failed_batch_leaves_no_trace(void **state)
{
    (void)state;
    model *m = model_new();
    char before[65];
    apply(m, 1, "[" NODE("a", "N", "{}", 0, 5) "]");
    model_digest(m, before);
    refuse(m, 2, "[" NODE("b", "N", "{}", 0, 5) "," NODE("a", "M", "{}", 2, 9) "," RETRACT("a", 9) "]",
           MK_E_NOT_FOUND);
    assert_digest(m, before);
    assert_int_equal(model_entity_count(m), 1);
    refuse(m, 2, "[]", MK_E_STATE); /* its time is used up */
    apply(m, 3, "[]");
    model_free(m);
}

static void test_model__malformed_ops_fail_their_batch(void **state)
{
    (void)state;
    static const char *const ops[] = {
        "{}",
        "[7]",
        "[{\"op\":\"merge\"}]",
        "[" NODE("a", "N", "{}", 5, 5) "]",
        "[{\"op\":\"assert_node\",\"uid\":\"a\",\"label\":\"N\"}]",
        "[{\"op\":\"assert_node\",\"uid\":\"a\",\"label\":\"N\",\"vt_s\":1.0}]",
        "[{\"op\":\"assert_node\",\"uid\":\"a\",\"label\":\"N\",\"vt_s\":9223372036854775808}]",
        "[{\"op\":\"assert_node\",\"uid\":\"a\",\"label\":\"N\",\"vt_s\":true}]",
        "[{\"op\":\"assert_node\",\"uid\":\"a\",\"label\":\"N\",\"vt_s\":0,\"source\":null}]",
        "[{\"op\":\"assert_node\",\"uid\":\"a\",\"label\":\"N\",\"vt_s\":0,\"provenance_ref\":1}]",
        "[{\"op\":\"retract\",\"ref\":{\"kind\":\"node\",\"uid\":\"\"},\"t\":1}]",
        "[{\"op\":\"retract\",\"ref\":{\"kind\":\"graph\"},\"t\":1}]",
        "[{\"op\":\"ingest_events\",\"events\":[{\"src\":\"a\",\"dst\":\"b\",\"vt_s\":1}]}]",
        "[{\"op\":\"ingest_events\",\"events\":[{\"src\":\"a\",\"dst\":7,\"vt_s\":1}]}]"};
    model *m = model_new();
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        refuse(m, (int64_t)i, ops[i], MK_E_INVALID_ARG);
    assert_digest(m, "57501e5c6808b3e14852a4ea21dc7873abf9409032a06f9b740c973e83f62cf7");
    assert_int_equal(model_entity_count(m), 0);
    model_free(m);
}

/* Operators spec, 10.4: the order of registration. */
static void test_model__entities_stand_in_order_of_registration(void **state)
{
    (void)state;
    static const char *const expected[] = {"z", "y", "x", "a"};
    model *m = model_new();
    apply(m, 1, "[{\"op\":\"ingest_events\",\"events\":["
                "{\"src\":\"z\",\"dst\":\"y\",\"rel_type\":\"R\",\"vt_s\":1},"
                "{\"src\":\"y\",\"dst\":\"z\",\"rel_type\":\"R\",\"vt_s\":2},"
                "{\"src\":\"y\",\"dst\":\"x\",\"rel_type\":\"R\",\"vt_s\":5},"
                "{\"src\":\"a\",\"dst\":\"z\",\"rel_type\":\"R\",\"vt_s\":9}]}]");
    assert_int_equal(model_entity_count(m), 4);
    for (size_t i = 0; i < 4; i++)
        assert_str(model_entity(m, i), expected[i]);
    model_free(m);
}

/* ---- operators, over fixture F (operators spec, 10.1) ---- */

#define EDGE(src, dst, rel, props, s, e)                                                    \
    "[{\"op\":\"assert_edge\",\"src\":\"" src "\",\"dst\":\"" dst "\",\"rel_type\":\"" rel          \
    "\",\"props\":" props ",\"vt_s\":" #s ",\"vt_e\":" #e "}]"

static model *fixture_f(void)
{
    model *m = model_new();
    apply(m, 1, "[" NODE("a", "N", "{\"name\":\"Ann\"}", 0, 4611686018427387904) ","
                    NODE("b", "N", "{}", 0, 4611686018427387904) ","
                    NODE("c", "M", "{}", 0, 4611686018427387904) "]");
    apply(m, 2, EDGE("a", "b", "R", "{\"w\":1}", 10, 20));
    apply(m, 3, EDGE("b", "c", "R", "{\"w\":2.5}", 15, 30));
    apply(m, 4, EDGE("c", "a", "S", "{\"w\":4}", 25, 26));
    apply(m, 5, EDGE("a", "a", "S", "{}", 18, 4611686018427387904));
    apply(m, 6, "[{\"op\":\"correct\",\"ref\":{\"kind\":\"edge\",\"src\":\"a\",\"dst\":\"b\","
                "\"rel_type\":\"R\"},\"props\":{\"w\":7},\"vt_s\":12,\"vt_e\":15}]");
    return m;
}

static void test_model__fixture_f_has_the_rows_of_the_spec(void **state)
{
    (void)state;
    model *m = fixture_f();
    assert_rows(m, MODEL_EDGE, "f39a58802118efa2055a9e26",
                "02d6d38de67f15c1e78b0c18 [10,20) [2,6) {\"w\":1}\n"
                "f8f502be35dfabcbe33f0a4d [10,12) [6,open) {\"w\":1}\n"
                "00bccfef1dad2b775214686b [12,15) [6,open) {\"w\":7}\n"
                "88022056cd4bb65233d7b2db [15,20) [6,open) {\"w\":1}\n");
    assert_rows(m, MODEL_EDGE, "051392a13b6e5fc17c76b11b",
                "d84b92f5892a904b41ff9d4e [18,open) [5,open) {}\n");
    model_free(m);
}

static void test_model__operators_answer_fixture_f_as_published(void **state)
{
    (void)state;
    model *m = fixture_f();
    assert_answer(
        m, "entity_history", "{\"uid\":\"a\"}",
        "{\"cursor\":null,\"rows\":[{\"label\":\"N\",\"props\":{\"name\":\"Ann\"},"
        "\"provenance_ref\":null,\"source\":\"ingest\",\"tt_e\":4611686018427387904,\"tt_s\":1,"
        "\"uid\":\"a\",\"vid\":\"6a8bfaa2db98618ce6c976c4\",\"vt_e\":4611686018427387904,"
        "\"vt_s\":0}],\"rows_total\":1,\"truncated\":false}",
        "c65ed4a2c5b329a18b3e546782287728687b90a3290d245877f21068952535d1");
    assert_answer(
        m, "entity_history", "{\"uid\":\"b\",\"include_edges\":true,\"as_of_tt\":5}",
        "{\"cursor\":null,\"edges\":[{\"dst\":\"b\",\"eid\":\"f39a58802118efa2055a9e26\","
        "\"rel_type\":\"R\",\"src\":\"a\",\"vid\":\"02d6d38de67f15c1e78b0c18\",\"vt_e\":20,"
        "\"vt_s\":10},{\"dst\":\"c\",\"eid\":\"2ada81c9322a57a350e2a707\",\"rel_type\":\"R\","
        "\"src\":\"b\",\"vid\":\"5f718d1793bfd9ab4c8b891d\",\"vt_e\":30,\"vt_s\":15}],"
        "\"edges_truncated\":false,\"rows\":[{\"label\":\"N\",\"props\":{},\"provenance_ref\":null,"
        "\"source\":\"ingest\",\"tt_e\":4611686018427387904,\"tt_s\":1,\"uid\":\"b\","
        "\"vid\":\"637756cfdaa87f613ff71354\",\"vt_e\":4611686018427387904,\"vt_s\":0}],"
        "\"rows_total\":1,\"truncated\":false}",
        "1d37966abb0e5204415706aecbfd339595ca356724693f9eeaf8f526a79ef9da");
    assert_answer(
        m, "snapshot_subgraph", "{\"seeds\":[\"a\"],\"hops\":1,\"t_valid\":16,\"as_of_tt\":5}",
        "{\"cursor\":null,\"nodes\":[{\"hop\":0,\"label\":\"N\",\"uid\":\"a\"},{\"hop\":1,"
        "\"label\":\"N\",\"uid\":\"b\"}],\"nodes_total\":2,\"nodes_truncated\":false,\"rows\":[{"
        "\"dst\":\"b\",\"eid\":\"f39a58802118efa2055a9e26\",\"rel_type\":\"R\",\"src\":\"a\","
        "\"vid\":\"02d6d38de67f15c1e78b0c18\",\"vt_e\":20,\"vt_s\":10}],\"rows_total\":1,"
        "\"truncated\":false}",
        "c60d0839fb33e6c0355f5fdd31c66d61d82553846dd9dda2e0112e2aa6c6fb5b");
    assert_answer(m, "resolve_entities", "{\"query\":\"A\"}",
                  "{\"cursor\":null,\"rows\":[{\"label\":\"N\",\"match\":1,\"name\":\"Ann\","
                  "\"uid\":\"a\"}],\"rows_total\":1,\"truncated\":false}",
                  "de78425e04d19346c8c2554c9c01e8e40a0f95791e31f03f3f5bfb7d42b01256");
    model_free(m);
}

static void test_model__pages_and_node_lists_are_cut_apart(void **state)
{
    (void)state;
    model *m = fixture_f();
    const char *first = "{\"cursor\":null,\"nodes\":[{\"hop\":0,\"label\":\"N\",\"uid\":\"a\"}],"
                        "\"nodes_total\":2,\"nodes_truncated\":true,\"rows\":[],\"rows_total\":1,"
                        "\"truncated\":true}";
    const char *none = "{\"cursor\":null,\"nodes\":[],\"nodes_total\":0,\"nodes_truncated\":false,"
                       "\"rows\":[],\"rows_total\":0,\"truncated\":false}";
    assert_answer(m, "snapshot_subgraph",
                  "{\"seeds\":[\"a\"],\"t_valid\":16.0,\"limit\":1,\"cursor\":\" +1_0 \"}", first,
                  NULL);
    assert_answer(m, "snapshot_subgraph", "{\"seeds\":[\"a\"],\"t_valid\":16,\"as_of_tt\":0}", none,
                  NULL);
    model_free(m);
}

/* Oddity O-9: the second call never ends. */
static void test_model__negative_cursors_follow_the_slice_rules(void **state)
{
    (void)state;
    model *m = fixture_f();
    assert_answer(m, "resolve_entities", "{\"query\":\"b\",\"cursor\":\"-1\"}",
                  "{\"cursor\":\"0\",\"rows\":[{\"label\":\"N\",\"match\":0,\"name\":null,"
                  "\"uid\":\"b\"}],\"rows_total\":1,\"truncated\":true}",
                  NULL);
    assert_answer(m, "resolve_entities", "{\"query\":\"b\",\"cursor\":\"-1\",\"limit\":1}",
                  "{\"cursor\":\"-1\",\"rows\":[],\"rows_total\":1,\"truncated\":true}", NULL);
    assert_answer(m, "resolve_entities", "{\"query\":\"b\",\"cursor\":\"-9\",\"limit\":10}",
                  "{\"cursor\":\"-8\",\"rows\":[{\"label\":\"N\",\"match\":0,\"name\":null,"
                  "\"uid\":\"b\"}],\"rows_total\":1,\"truncated\":true}",
                  NULL);
    model_free(m);
}

static void test_model__bad_arguments_are_refused_with_code_and_path(void **state)
{
    (void)state;
    model *m = fixture_f();
    static const struct {
        const char *op, *args;
        mk_code code;
        const char *path;
    } cases[] = {
        {"entity_histories", "{}", MK_E_INVALID_ARG, ""},
        {"entity_history", "[]", MK_E_SCHEMA, "[]"},
        {"entity_history", "{}", MK_E_SCHEMA, "[]"},
        {"entity_history", "{\"uid\":7,\"window\":1}", MK_E_SCHEMA, "[]"},
        {"entity_history", "{\"uid\":\"\"}", MK_E_SCHEMA, "[\"uid\"]"},
        {"entity_history", "{\"uid\":\"zz\"}", MK_E_NOT_FOUND, ""},
        {"entity_history", "{\"uid\":\"zz\",\"cursor\":\"x\"}", MK_E_NOT_FOUND, ""},
        {"entity_history", "{\"uid\":\"a\",\"cursor\":\"x\"}", MK_E_INVALID_ARG, ""},
        {"entity_history", "{\"uid\":\"a\",\"cursor\":\"-1234567890123456789\"}",
         MK_E_INVALID_ARG, ""},
        {"entity_history", "{\"uid\":\"a\",\"cursor\":0}", MK_E_SCHEMA, "[\"cursor\"]"},
        {"entity_history", "{\"uid\":\"a\",\"limit\":0}", MK_E_SCHEMA, "[\"limit\"]"},
        {"entity_history", "{\"uid\":\"a\",\"limit\":10001}", MK_E_SCHEMA, "[\"limit\"]"},
        {"entity_history", "{\"uid\":\"a\",\"limit\":true}", MK_E_SCHEMA, "[\"limit\"]"},
        {"entity_history", "{\"uid\":\"a\",\"limit\":1.5}", MK_E_SCHEMA, "[\"limit\"]"},
        {"entity_history", "{\"uid\":\"a\",\"as_of_tt\":4611686018427387905}", MK_E_SCHEMA,
         "[\"as_of_tt\"]"},
        {"entity_history", "{\"uid\":\"a\",\"as_of_tt\":99999999999999999999}", MK_E_SCHEMA,
         "[\"as_of_tt\"]"},
        {"snapshot_subgraph", "{\"seeds\":[\"a\",\"\"],\"t_valid\":1}", MK_E_SCHEMA,
         "[\"seeds\",1]"},
        {"snapshot_subgraph", "{\"seeds\":[\"a\"],\"t_valid\":1,\"hops\":4}", MK_E_SCHEMA,
         "[\"hops\"]"},
        {"snapshot_subgraph", "{\"seeds\":[\"a\"],\"t_valid\":1,\"rel_types\":[null]}", MK_E_SCHEMA,
         "[\"rel_types\",0]"},
        {"snapshot_subgraph", "{\"seeds\":[\"a\",\"zz\"],\"t_valid\":1}", MK_E_NOT_FOUND, ""},
        {"resolve_entities", "{\"query\":\"\"}", MK_E_SCHEMA, "[\"query\"]"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_refused(m, cases[i].op, cases[i].args, cases[i].code, cases[i].path);
    model_free(m);
}

static void test_model__a_ceiling_below_the_estimate_refuses_before_the_uid_is_looked_at(void **state)
{
    (void)state;
    model *m = fixture_f();
    model_answer answer;
    const model_ceilings low = {.rows_scanned_est = 9}, enough = {.rows_scanned_est = 10};
    model_answer_init(&answer);
    call(m, "resolve_entities", "{\"query\":\"a\"}", &low, &answer); /* 7 edges and 3 nodes */
    assert_int_equal(answer.error.code, MK_E_COST);
    call(m, "resolve_entities", "{\"query\":\"a\"}", &enough, &answer);
    assert_true(answer.ok);
    call(m, "snapshot_subgraph", "{\"seeds\":[\"zz\"],\"t_valid\":1}", &low, &answer);
    assert_int_equal(answer.error.code, MK_E_COST);
    call(m, "entity_history", "{\"uid\":\"a\"}", &low, &answer);
    assert_true(answer.ok);
    model_answer_free(&answer);
    model_free(m);
}

static void test_model__floats_of_the_payload_are_rounded_and_must_be_finite(void **state)
{
    (void)state;
    model *m = model_new();
    apply(m, 1, "[" NODE("a", "N", "{\"name\":0.12345678949}", 0, 5) ","
                    NODE("b", "N", "{\"w\":1e999}", 0, 5) "]");
    assert_answer(m, "resolve_entities", "{\"query\":\"a\"}",
                  "{\"cursor\":null,\"rows\":[{\"label\":\"N\",\"match\":0,\"name\":0.123456789,"
                  "\"uid\":\"a\"}],\"rows_total\":1,\"truncated\":false}",
                  NULL);
    assert_refused(m, "entity_history", "{\"uid\":\"b\"}", MK_E_INVALID_ARG, "");
    model_free(m);
}

/* ---- Unicode ---- */

static void assert_lower(const char *text, const char *expected)
{
    mk_buf out;
    mk_buf_init(&out, &mk_alloc_default);
    model_lower(&out, mk_str_of(text));
    assert_str(mk_buf_view(&out), expected);
    mk_buf_free(&out);
}

static void test_model__lower_case_is_the_full_unicode_mapping(void **state)
{
    (void)state;
    assert_lower("", "");
    assert_lower("ABC xyz", "abc xyz");
    assert_lower("\u00c4\u1e9e", "\u00e4\u00df");
    assert_lower("\u0130I", "i\u0307i");
    assert_lower("\u0391\u03a3", "\u03b1\u03c2");               /* at the end of a word */
    assert_lower("\u0391\u03a3\u0391", "\u03b1\u03c3\u03b1");   /* inside one */
    assert_lower("\u03a3", "\u03c3");                           /* with nothing before */
    assert_lower("\u0391\u03a3'", "\u03b1\u03c2'");             /* the quote is skipped */
    assert_lower("\u0391\u03a3'\u0391", "\u03b1\u03c3'\u03b1");
    assert_lower("\u0391\u0301\u03a3 B", "\u03b1\u0301\u03c2 b");
    assert_lower("1\u03a3", "1\u03c3");                         /* a digit has no case */
    assert_lower("\U00010400\u4e2d", "\U00010428\u4e2d");
}

static void test_model__cursors_are_read_as_the_reference_reads_integers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool ok;
        int64_t offset;
    } cases[] = {{"", true, 0},          {"0", true, 0},        {"007", true, 7},
                 {"+3", true, 3},        {" \t12\n", true, 12}, {"1_000", true, 1000},
                 {"-0", true, 0},        {"\u0661\u0662", true, 12}, {"\U0001D7DE", true, 6},
                 {"\u00a05\u2003", true, 5},
                 {"-1", true, -1},       {"1.0", false, 0},     {"1e3", false, 0},
                 {"x", false, 0},        {" ", false, 0},       {"+", false, 0},
                 {"_1", false, 0},       {"1_", false, 0},      {"1__0", false, 0},
                 {"+ 1", false, 0},      {"1 2", false, 0},     {"++1", false, 0},
                 {"0x10", false, 0},     {"\u00b2", false, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t offset = 0;
        const bool ok = model_read_cursor(mk_str_of(cases[i].text), &offset);
        if (ok != cases[i].ok || (ok && offset != cases[i].offset))
            fail_msg("cursor '%s'", cases[i].text);
    }
    int64_t far = 0;
    assert_true(model_read_cursor(MK_STR("99999999999999999999999999"), &far));
    assert_true(far > INT64_C(10000000000000000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_model__an_empty_store_has_the_published_digest),
        cmocka_unit_test(test_model__two_rows_have_the_published_digest),
        cmocka_unit_test(test_model__ids_are_those_of_section_4),
        cmocka_unit_test(test_model__seven_batches_of_section_12_1),
        cmocka_unit_test(test_model__supersession_inside_a_batch_of_section_12_2),
        cmocka_unit_test(test_model__small_cases_of_section_12_3),
        cmocka_unit_test(test_model__asserting_and_retracting_in_one_batch_leaves_no_row),
        cmocka_unit_test(test_model__events_are_taken_as_they_come),
        cmocka_unit_test(test_model__a_failed_batch_leaves_no_trace),
        cmocka_unit_test(test_model__malformed_ops_fail_their_batch),
        cmocka_unit_test(test_model__entities_stand_in_order_of_registration),
        cmocka_unit_test(test_model__fixture_f_has_the_rows_of_the_spec),
        cmocka_unit_test(test_model__operators_answer_fixture_f_as_published),
        cmocka_unit_test(test_model__pages_and_node_lists_are_cut_apart),
        cmocka_unit_test(test_model__negative_cursors_follow_the_slice_rules),
        cmocka_unit_test(test_model__bad_arguments_are_refused_with_code_and_path),
        cmocka_unit_test(
            test_model__a_ceiling_below_the_estimate_refuses_before_the_uid_is_looked_at),
        cmocka_unit_test(test_model__floats_of_the_payload_are_rounded_and_must_be_finite),
        cmocka_unit_test(test_model__lower_case_is_the_full_unicode_mapping),
        cmocka_unit_test(test_model__cursors_are_read_as_the_reference_reads_integers),
    };
    return cmocka_run_group_tests_name("model_spec", tests, NULL, NULL);
}

/* test_operators.c — the operators give the reference's bytes.
 *
 * Goal: for the same log and arguments, payload, digest, extent and error codes equal those of the
 * reference. Method: replay every golden log into a fresh store on disk, compare digest and failed
 * batches with the manifest, then make every golden call of the operators that exist.
 * Source: tests/data/golden/README.md; operators spec, section 10. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../support/golden.h"
#include "../support/testalloc.h"
#include "../support/tmpdir.h"
#include "base/canon.h"
#include "base/sha256.h"
#include "op/call.h"

enum { STORES = 6 };

static void require_file(bool there, const char *name, const char *variable)
{
    if (there)
        return;
    print_message("skipped: %s is not there; set %s\n", name, variable);
    skip();
}

static void must(mk_code rc, const mk_err *err)
{
    if (rc != MK_OK)
        fail_msg("%s: %s (%s %s)", mk_code_name(rc), err->message, err->reason, err->extra);
}

static void assert_str(mk_str got, mk_str expected, const char *where, int line)
{
    if (!mk_str_eq(got, expected))
        fail_msg("%s:%d:\ngot      %.*s\nexpected %.*s", where, line, MK_STR_ARG(got),
                 MK_STR_ARG(expected));
}

/* ---- one store and what calls need ---- */

typedef struct bench {
    tmpdir dir;
    mk_store *store;
    mk_arena arena;
    mk_call_result result;
    mk_buf text; /* arguments, and whatever is compared */
    mk_buf other;
} bench;

static void bench_open(bench *b)
{
    mk_err err;
    const mk_store_options options = {.mode = MK_OPEN_CREATE_WRITER, .manual = true};
    char path[TMPDIR_PATH_MAX];
    tmpdir_make(&b->dir);
    must(mk_store_open(tmpdir_join(&b->dir, "store", path), &options, &b->store, &err), &err);
    mk_arena_init(&b->arena, &mk_alloc_default);
    mk_call_result_init(&b->result, &mk_alloc_default);
    mk_buf_init(&b->text, &mk_alloc_default);
    mk_buf_init(&b->other, &mk_alloc_default);
}

static void bench_close(bench *b)
{
    mk_err err;
    mk_buf_free(&b->text);
    mk_buf_free(&b->other);
    mk_call_result_free(&b->result);
    mk_arena_free(&b->arena);
    must(mk_store_close(b->store, &err), &err);
    tmpdir_remove(&b->dir);
}

static mk_str canonical(mk_buf *out, const mk_json *value)
{
    mk_arena arena;
    mk_arena_init(&arena, &mk_alloc_default);
    mk_buf_clear(out);
    assert_int_equal(mk_canon_tree(out, &arena, value, NULL), MK_OK);
    mk_arena_free(&arena);
    return mk_buf_view(out);
}

/* ---- replay ---- */

/* `failed` is the manifest's list of failed batches, NULL when none may fail. */
static void replay(bench *b, const char *path, const mk_json *failed)
{
    golden *log = golden_log_open(path);
    golden_batch batch;
    size_t failures = 0;
    mk_err err;
    for (int index = 0; golden_log_next(log, &batch); index++) {
        bool applied;
        mk_err why;
        must(mk_store_replay_line(b->store, batch.line, true, &applied, &why, &err), &err);
        if (applied)
            continue;
        if (failed == NULL || failures >= failed->n)
            fail_msg("%s: batch %d failed: %s", path, index, why.message);
        const mk_json *item = &failed->items[failures++];
        const mk_json *error = mk_json_get(item, "error");
        assert_int_equal(index, mk_json_get(item, "batch")->i);
        assert_str(mk_str_of(mk_code_name(why.code)), mk_json_get(error, "error")->text, path,
                   index);
    }
    assert_int_equal(failures, failed != NULL ? failed->n : 0);
    must(mk_store_replay_flush(b->store, &err), &err);
    golden_close(log);
}

static void assert_store_digest(bench *b, mk_str expected)
{
    mk_err err;
    char digest[65];
    must(mk_store_digest(b->store, digest, NULL, NULL, &err), &err);
    assert_str(mk_str_of(digest), expected, "store digest", 0);
}

/* ---- calls ---- */

static bool exists(mk_str op) { return mk_operator_find(op) != NULL; }

/* The envelope is canonical and says the same as its parts. */
static void check_envelope(bench *b, const golden_call *call, const char *path)
{
    mk_err err;
    mk_json *tree;
    const mk_arena_mark mark = mk_arena_save(&b->arena);
    mk_buf_clear(&b->text);
    must(mk_call_envelope(&b->result, false, &b->text, &err), &err);
    must(mk_json_parse(&b->arena, mk_buf_view(&b->text), NULL, &tree, &err), &err);
    assert_str(mk_buf_view(&b->text), canonical(&b->other, tree), path, call->line);
    assert_str(mk_json_get(tree, "op")->text, call->op, path, call->line);
    assert_str(mk_json_get(tree, "result_digest")->text, mk_str_of(b->result.digest), path,
               call->line);
    assert_non_null(mk_json_get(tree, "truncated"));
    const mk_json *echo = mk_json_get(tree, "args_echo");
    for (size_t i = 0; i < call->args->n; i++)
        assert_non_null(mk_json_get_n(echo, call->args->members[i].key));
    mk_buf_clear(&b->text);
    mk_buf_str(&b->text, canonical(&b->other, mk_json_get(tree, "dataset_extent")));
    assert_str(mk_buf_view(&b->text), canonical(&b->other, call->extent), path, call->line);
    mk_arena_rewind(&b->arena, mark);
}

static void check_error(bench *b, const golden_call *call, const mk_err *err, const char *path)
{
    assert_str(mk_str_of(mk_code_name(err->code)), call->code, path, call->line);
    if (err->code != MK_E_SCHEMA)
        return;
    const mk_arena_mark mark = mk_arena_save(&b->arena);
    mk_json *tree;
    mk_buf_clear(&b->text);
    mk_err_json(&b->text, err);
    assert_int_equal(mk_json_parse(&b->arena, mk_buf_view(&b->text), NULL, &tree, NULL), MK_OK);
    const mk_json *got = mk_json_get(mk_json_get(tree, "details"), "path");
    assert_non_null(got);
    mk_buf_clear(&b->text);
    mk_buf_str(&b->text, canonical(&b->other, got));
    assert_str(mk_buf_view(&b->text), canonical(&b->other, mk_json_get(call->details, "path")), path,
               call->line);
    mk_arena_rewind(&b->arena, mark);
}

static void check_call(bench *b, const golden_call *call, const char *path)
{
    mk_err err;
    mk_str args;
    mk_buf_clear(&b->text);
    args = canonical(&b->text, call->args);
    const mk_code rc =
        mk_call_run(b->store, NULL, call->op, args, NULL, &b->arena, &b->result, &err);
    if (!call->ok) {
        if (rc == MK_OK)
            fail_msg("%s:%d: expected %.*s", path, call->line, MK_STR_ARG(call->code));
        check_error(b, call, &err, path);
        return;
    }
    if (rc != MK_OK)
        fail_msg("%s:%d: %s: %s", path, call->line, mk_code_name(rc), err.message);
    if (call->payload != NULL)
        assert_str(mk_buf_view(&b->result.payload.text), canonical(&b->other, call->payload), path,
                   call->line);
    assert_str(mk_str_of(b->result.digest), call->digest, path, call->line);
    check_envelope(b, call, path);
}

/* Returns how many calls there were of operators that exist. */
static int check_calls(bench *b, const char *path)
{
    golden *calls = golden_open(path);
    golden_call call;
    int checked = 0;
    while (golden_call_next(calls, &call)) {
        if (!exists(call.op))
            continue;
        check_call(b, &call, path);
        checked++;
    }
    golden_close(calls);
    return checked;
}

/* ---- the small stores ---- */

static void check_small(int store, const mk_json *manifest)
{
    bench b;
    char name[64], path[GOLDEN_PATH_MAX];
    bench_open(&b);
    snprintf(name, sizeof name, "small-%02d.eventlog.jsonl", store);
    require_file(golden_test_path(path, name), name, "MK_TEST_DATA");
    replay(&b, path, mk_json_get(manifest, "failed_batches"));
    assert_store_digest(&b, mk_json_get(manifest, "store_digest")->text);

    int checked = 0;
    static const char *const kinds[] = {"calls", "edge"};
    for (int i = 0; i < 2; i++) {
        snprintf(name, sizeof name, "small-%02d.%s.jsonl.gz", store, kinds[i]);
        require_file(golden_test_path(path, name), name, "MK_TEST_DATA");
        checked += check_calls(&b, path);
    }
    assert_true(checked >= 180); /* 60 of each operator in every store */
    bench_close(&b);
}

static void test_operators__small_stores_give_the_golden_answers(void **state)
{
    (void)state;
    char path[GOLDEN_PATH_MAX];
    const char *name = "manifest-00-05.json";
    require_file(golden_test_path(path, name), name, "MK_TEST_DATA");
    golden *file = golden_open(path);
    const mk_json *manifest = golden_all(file);
    assert_int_equal(manifest->n, STORES);
    for (int store = 0; store < STORES; store++)
        check_small(store, &manifest->items[store]);
    golden_close(file);
}

static void test_operators__collegemsg_gives_the_golden_answers(void **state)
{
    (void)state;
    bench b;
    char path[GOLDEN_PATH_MAX];
    const char *log = "frozen/collegemsg.eventlog.jsonl.gz";
    const char *calls = "golden/collegemsg.calls.jsonl.gz";
    require_file(golden_shared_path(path, log), log, "MK_SHARED_DATA");
    bench_open(&b);
    replay(&b, path, NULL);
    assert_store_digest(&b,
                        MK_STR("7efd7f4f0ec02cb8d8c9c30e015666bdaf3f498acaf0217d8c9f64a6e51dde58"));
    require_file(golden_shared_path(path, calls), calls, "MK_SHARED_DATA");
    assert_true(check_calls(&b, path) >= 60);
    bench_close(&b);
}

/* ---- fixture F (operators spec, 10.1) ---- */

static const char *const fixture_f[] = {
    "{\"ops\":[{\"label\":\"N\",\"op\":\"assert_node\",\"props\":{\"name\":\"Ann\"},"
    "\"provenance_ref\":null,\"source\":\"ingest\",\"uid\":\"a\",\"vt_e\":4611686018427387904,"
    "\"vt_s\":0},{\"label\":\"N\",\"op\":\"assert_node\",\"props\":{},\"provenance_ref\":null,"
    "\"source\":\"ingest\",\"uid\":\"b\",\"vt_e\":4611686018427387904,\"vt_s\":0},"
    "{\"label\":\"M\",\"op\":\"assert_node\",\"props\":{},\"provenance_ref\":null,"
    "\"source\":\"ingest\",\"uid\":\"c\",\"vt_e\":4611686018427387904,\"vt_s\":0}],\"tt\":1}",
    "{\"ops\":[{\"disc\":\"\",\"dst\":\"b\",\"op\":\"assert_edge\",\"props\":{\"w\":1},"
    "\"provenance_ref\":null,\"rel_type\":\"R\",\"source\":\"ingest\",\"src\":\"a\",\"vt_e\":20,"
    "\"vt_s\":10}],\"tt\":2}",
    "{\"ops\":[{\"disc\":\"\",\"dst\":\"c\",\"op\":\"assert_edge\",\"props\":{\"w\":2.5},"
    "\"provenance_ref\":null,\"rel_type\":\"R\",\"source\":\"ingest\",\"src\":\"b\",\"vt_e\":30,"
    "\"vt_s\":15}],\"tt\":3}",
    "{\"ops\":[{\"disc\":\"\",\"dst\":\"a\",\"op\":\"assert_edge\",\"props\":{\"w\":4},"
    "\"provenance_ref\":null,\"rel_type\":\"S\",\"source\":\"ingest\",\"src\":\"c\",\"vt_e\":26,"
    "\"vt_s\":25}],\"tt\":4}",
    "{\"ops\":[{\"disc\":\"\",\"dst\":\"a\",\"op\":\"assert_edge\",\"props\":{},"
    "\"provenance_ref\":null,\"rel_type\":\"S\",\"source\":\"ingest\",\"src\":\"a\","
    "\"vt_e\":4611686018427387904,\"vt_s\":18}],\"tt\":5}",
    "{\"ops\":[{\"op\":\"correct\",\"props\":{\"w\":7},\"provenance_ref\":null,\"ref\":{"
    "\"disc\":\"\",\"dst\":\"b\",\"kind\":\"edge\",\"rel_type\":\"R\",\"src\":\"a\"},"
    "\"source\":\"ingest\",\"vt_e\":15,\"vt_s\":12}],\"tt\":6}",
};

/* Records as the log holds them: canonical, and named by the hash of what they say. */
static void apply_lines(bench *b, const char *const *records, size_t count)
{
    mk_err err;
    for (size_t i = 0; i < count; i++) {
        bool applied;
        mk_err why;
        uint8_t hash[32];
        char id[16];
        mk_buf_clear(&b->other);
        must(mk_canon_text(&b->other, &b->arena, mk_str_of(records[i]), NULL, &err), &err);
        mk_sha256_of(b->other.p, b->other.n, hash);
        mk_hex(id, hash, sizeof id / 2);
        mk_buf_clear(&b->text);
        mk_buf_z(&b->text, "{\"batch_id\":\"");
        mk_buf_put(&b->text, id, sizeof id);
        mk_buf_z(&b->text, "\",");
        mk_buf_put(&b->text, b->other.p + 1, b->other.n - 1);
        must(mk_store_replay_line(b->store, mk_buf_view(&b->text), true, &applied, &why, &err),
             &err);
        if (!applied)
            fail_msg("record %zu failed: %s", i, why.message);
    }
    must(mk_store_replay_flush(b->store, &err), &err);
}

static int setup_f(void **state)
{
    bench *b = malloc(sizeof *b);
    assert_non_null(b);
    bench_open(b);
    apply_lines(b, fixture_f, sizeof fixture_f / sizeof *fixture_f);
    *state = b;
    return 0;
}

static int teardown_f(void **state)
{
    bench_close(*state);
    free(*state);
    return 0;
}

static void run_ok(bench *b, const char *op, const char *args, const mk_call_options *options)
{
    mk_err err;
    must(mk_call_run(b->store, NULL, mk_str_of(op), mk_str_of(args), options, &b->arena, &b->result,
                     &err),
         &err);
}

static mk_err run_bad(bench *b, const char *op, const char *args, const mk_call_options *options,
                      mk_code expected)
{
    mk_err err;
    const mk_code rc = mk_call_run(b->store, NULL, mk_str_of(op), mk_str_of(args), options,
                                   &b->arena, &b->result, &err);
    if (rc != expected)
        fail_msg("%s %s: got %s, expected %s", op, args, mk_code_name(rc), mk_code_name(expected));
    assert_int_equal(err.code, expected);
    return err;
}

static void assert_payload(bench *b, const char *payload, const char *digest)
{
    assert_str(mk_buf_view(&b->result.payload.text), mk_str_of(payload), "payload", 0);
    if (digest != NULL)
        assert_string_equal(b->result.digest, digest);
}

static void test_operators__fixture_f_gives_the_printed_vectors(void **state)
{
    static const struct {
        const char *op, *args, *payload, *digest;
    } vectors[] = {
        {"entity_history", "{\"uid\":\"a\"}",
         "{\"cursor\":null,\"rows\":[{\"label\":\"N\",\"props\":{\"name\":\"Ann\"},"
         "\"provenance_ref\":null,\"source\":\"ingest\",\"tt_e\":4611686018427387904,\"tt_s\":1,"
         "\"uid\":\"a\",\"vid\":\"6a8bfaa2db98618ce6c976c4\",\"vt_e\":4611686018427387904,"
         "\"vt_s\":0}],\"rows_total\":1,\"truncated\":false}",
         "c65ed4a2c5b329a18b3e546782287728687b90a3290d245877f21068952535d1"},
        {"entity_history", "{\"as_of_tt\":5,\"include_edges\":true,\"uid\":\"b\"}",
         "{\"cursor\":null,\"edges\":[{\"dst\":\"b\",\"eid\":\"f39a58802118efa2055a9e26\","
         "\"rel_type\":\"R\",\"src\":\"a\",\"vid\":\"02d6d38de67f15c1e78b0c18\",\"vt_e\":20,"
         "\"vt_s\":10},{\"dst\":\"c\",\"eid\":\"2ada81c9322a57a350e2a707\",\"rel_type\":\"R\","
         "\"src\":\"b\",\"vid\":\"5f718d1793bfd9ab4c8b891d\",\"vt_e\":30,\"vt_s\":15}],"
         "\"edges_truncated\":false,\"rows\":[{\"label\":\"N\",\"props\":{},"
         "\"provenance_ref\":null,\"source\":\"ingest\",\"tt_e\":4611686018427387904,\"tt_s\":1,"
         "\"uid\":\"b\",\"vid\":\"637756cfdaa87f613ff71354\",\"vt_e\":4611686018427387904,"
         "\"vt_s\":0}],\"rows_total\":1,\"truncated\":false}",
         "1d37966abb0e5204415706aecbfd339595ca356724693f9eeaf8f526a79ef9da"},
        {"snapshot_subgraph", "{\"as_of_tt\":5,\"hops\":1,\"seeds\":[\"a\"],\"t_valid\":16}",
         "{\"cursor\":null,\"nodes\":[{\"hop\":0,\"label\":\"N\",\"uid\":\"a\"},{\"hop\":1,"
         "\"label\":\"N\",\"uid\":\"b\"}],\"nodes_total\":2,\"nodes_truncated\":false,\"rows\":[{"
         "\"dst\":\"b\",\"eid\":\"f39a58802118efa2055a9e26\",\"rel_type\":\"R\",\"src\":\"a\","
         "\"vid\":\"02d6d38de67f15c1e78b0c18\",\"vt_e\":20,\"vt_s\":10}],\"rows_total\":1,"
         "\"truncated\":false}",
         "c60d0839fb33e6c0355f5fdd31c66d61d82553846dd9dda2e0112e2aa6c6fb5b"},
        {"resolve_entities", "{\"query\":\"A\"}",
         "{\"cursor\":null,\"rows\":[{\"label\":\"N\",\"match\":1,\"name\":\"Ann\",\"uid\":\"a\"}],"
         "\"rows_total\":1,\"truncated\":false}",
         "de78425e04d19346c8c2554c9c01e8e40a0f95791e31f03f3f5bfb7d42b01256"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        run_ok(*state, vectors[i].op, vectors[i].args, NULL);
        assert_payload(*state, vectors[i].payload, vectors[i].digest);
    }
}

static void test_operators__examples_in_the_manual_run(void **state)
{
    size_t count;
    const mk_operator *const *ops = mk_operators(&count);
    for (size_t i = 0; i < count; i++) {
        mk_err err;
        bench *b = *state;
        mk_buf_clear(&b->text);
        must(mk_call(b->store, ops[i]->name, mk_str_of(ops[i]->example), NULL, &b->arena, &b->text,
                     &err),
             &err);
        assert_true(b->text.n > 0);
    }
}

/* Every member of a payload is declared, and every declared member that is not optional is there. */
static void test_operators__payloads_have_the_declared_fields(void **state)
{
    bench *b = *state;
    size_t count;
    const mk_operator *const *ops = mk_operators(&count);
    for (size_t i = 0; i < count; i++) {
        run_ok(b, ops[i]->name, ops[i]->example, NULL);
        const mk_payload *payload = &b->result.payload;
        size_t required = 0, found = 0;
        for (const mk_field *f = ops[i]->fields; f->name != NULL; f++) {
            bool there = false;
            for (size_t j = 0; j < payload->member_count; j++)
                there |= strcmp(payload->members[j].name, f->name) == 0;
            required += !f->optional;
            found += there;
            if (!there && !f->optional)
                fail_msg("%s: %s is declared and not there", ops[i]->name, f->name);
        }
        assert_int_equal(found, payload->member_count);
        assert_true(required > 0);
    }
}

static void test_operators__times_may_be_iso_text_and_integers_floats(void **state)
{
    bench *b = *state;
    run_ok(b, "entity_history",
           "{\"as_of_tt\":\"1970-01-01T00:00:00.000005Z\",\"limit\":5.0,\"uid\":\"b\"}", NULL);
    assert_str(mk_buf_view(&b->result.args_echo),
               MK_STR("{\"as_of_tt\":5,\"cursor\":null,\"include_edges\":false,\"limit\":5,"
                      "\"uid\":\"b\"}"),
               "args_echo", 0);
    run_ok(b, "snapshot_subgraph", "{\"seeds\":[\"a\"],\"t_valid\":\"1970-01-01\",\"hops\":0.0}",
           NULL);
    assert_non_null(strstr((mk_buf_c(&b->result.args_echo, '\0'), b->result.args_echo.p),
                           "\"hops\":0,"));
}

static void test_operators__a_whole_result_has_no_page(void **state)
{
    bench *b = *state;
    const mk_call_options whole = {.row_budget = 6};
    const char *args = "{\"include_edges\":true,\"uid\":\"a\"}";
    run_ok(b, "entity_history", args, &whole);
    assert_str(mk_buf_view(&b->result.args_echo),
               MK_STR("{\"as_of_tt\":4611686018427387904,\"cursor\":null,\"include_edges\":true,"
                      "\"limit\":null,\"uid\":\"a\"}"),
               "args_echo", 0);
    assert_str(mk_buf_view(&b->result.completeness), MK_STR("{}"), "completeness", 0);

    /* a has five edge versions; a budget of four is refused and never a partial list. */
    const mk_call_options small = {.row_budget = 4};
    const mk_err err = run_bad(b, "entity_history", args, &small, MK_E_LIMIT);
    assert_non_null(strstr(err.extra, "\"rows_total\":5"));
    /* A limit that was asked for is part of the question. */
    run_ok(b, "entity_history", "{\"include_edges\":true,\"limit\":3,\"uid\":\"a\"}", &small);
    assert_str(mk_buf_view(&b->result.completeness),
               MK_STR("{\"edges\":[{\"reason\":\"sublist\",\"shown\":3,\"total\":5}]}"),
               "completeness", 0);
}

static void test_operators__pages_join_to_the_whole_and_say_what_is_missing(void **state)
{
    bench *b = *state;
    run_ok(b, "snapshot_subgraph", "{\"limit\":1,\"seeds\":[\"a\"],\"t_valid\":19}", NULL);
    assert_str(mk_buf_view(&b->result.completeness),
               MK_STR("{\"nodes\":[{\"reason\":\"sublist\",\"shown\":1,\"total\":2}],"
                      "\"rows\":[{\"reason\":\"page\",\"shown\":1,\"total\":2}]}"),
               "completeness", 0);
    run_ok(b, "snapshot_subgraph",
           "{\"cursor\":\" +1\",\"limit\":1,\"seeds\":[\"a\"],\"t_valid\":19}", NULL);
    assert_payload(b,
                   "{\"cursor\":null,\"nodes\":[{\"hop\":0,\"label\":\"N\",\"uid\":\"a\"}],"
                   "\"nodes_total\":2,\"nodes_truncated\":true,\"rows\":[{\"dst\":\"a\",\"eid\":"
                   "\"051392a13b6e5fc17c76b11b\",\"rel_type\":\"S\",\"src\":\"a\",\"vid\":"
                   "\"d84b92f5892a904b41ff9d4e\",\"vt_e\":4611686018427387904,\"vt_s\":18}],"
                   "\"rows_total\":2,\"truncated\":true}",
                   NULL);
    assert_str(mk_buf_view(&b->result.completeness),
               MK_STR("{\"nodes\":[{\"reason\":\"sublist\",\"shown\":1,\"total\":2}],"
                      "\"rows\":[{\"reason\":\"offset\",\"shown\":1,\"total\":2}]}"),
               "completeness", 0);
}

static void test_operators__an_endless_cursor_is_refused(void **state)
{
    /* A slice from the end is the reference's answer; one that gives nothing and points at itself
     * would page forever. */
    run_bad(*state, "resolve_entities", "{\"cursor\":\"-1\",\"limit\":1,\"query\":\"a\"}", NULL,
            MK_E_INVALID_ARG);
    run_ok(*state, "resolve_entities", "{\"cursor\":\"-1\",\"limit\":2,\"query\":\"a\"}", NULL);
    run_bad(*state, "resolve_entities", "{\"cursor\":\"1.0\",\"query\":\"a\"}", NULL,
            MK_E_INVALID_ARG);
    run_ok(*state, "resolve_entities", "{\"cursor\":\"99999999999999999999\",\"query\":\"a\"}",
           NULL);
}

static void test_operators__costs_are_estimated_before_running(void **state)
{
    bench *b = *state;
    mk_err err;
    const mk_call_options tight = {.ceilings = {.rows_scanned_est = 1}};
    err = run_bad(b, "resolve_entities", "{\"query\":\"a\"}", &tight, MK_E_COST);
    assert_non_null(strstr(err.extra,
                           "\"ceilings\":{\"rows_scanned_est\":1},\"counter_offers\":[],\"estimate\":{"
                           "\"expansions_est\":0,\"rows_scanned_est\":10,"));
    /* The cost check stands before the kernel, so the unknown seed is not seen. */
    run_bad(b, "snapshot_subgraph", "{\"seeds\":[\"nobody\"],\"t_valid\":1}", &tight, MK_E_COST);

    const mk_call_options explain = {.explain_only = true};
    mk_buf_clear(&b->text);
    must(mk_call(b->store, "resolve_entities", MK_STR("{\"query\":\"a\"}"), &explain, &b->arena,
                 &b->text, &err),
         &err);
    assert_str(mk_buf_view(&b->text),
               MK_STR("{\"args_echo\":{\"as_of_tt\":4611686018427387904,\"cursor\":null,"
                      "\"label\":null,\"limit\":100,\"query\":\"a\"},\"ceilings\":{"
                      "\"expansions_est\":1280000000,\"rows_scanned_est\":5120000000,"
                      "\"time_est_ms\":10000},\"dataset_extent\":{\"vt_max\":30,\"vt_min\":10},"
                      "\"estimate\":{\"expansions_est\":0,\"rows_scanned_est\":10,"
                      "\"time_est_ms\":0},\"op\":\"resolve_entities\"}"),
               "explain", 0);
}

static void test_operators__completeness_stands_beside_the_payload(void **state)
{
    bench *b = *state;
    mk_err err;
    const mk_call_options options = {.completeness = true};
    mk_buf_clear(&b->text);
    must(mk_call(b->store, "resolve_entities", MK_STR("{\"query\":\"A\"}"), &options, &b->arena,
                 &b->text, &err),
         &err);
    assert_str(mk_buf_view(&b->text),
               MK_STR("{\"args_echo\":{\"as_of_tt\":4611686018427387904,\"cursor\":null,"
                      "\"label\":null,\"limit\":100,\"query\":\"A\"},\"completeness\":{},"
                      "\"cursor\":null,\"dataset_extent\":{\"vt_max\":30,\"vt_min\":10},"
                      "\"op\":\"resolve_entities\",\"result_digest\":"
                      "\"de78425e04d19346c8c2554c9c01e8e40a0f95791e31f03f3f5bfb7d42b01256\","
                      "\"rows\":[{\"label\":\"N\",\"match\":1,\"name\":\"Ann\",\"uid\":\"a\"}],"
                      "\"rows_total\":1,\"truncated\":false}"),
               "envelope", 0);
}

static void test_operators__an_open_view_answers_for_current_belief(void **state)
{
    bench *b = *state;
    mk_err err;
    mk_view *view;
    const mk_str op = MK_STR("entity_history");
    must(mk_view_at(b->store, (mk_tt){5}, 0, &view, &err), &err);
    mk_buf_clear(&b->text);
    must(mk_call_on_view(b->store, view, op, MK_STR("{\"include_edges\":true,\"uid\":\"b\"}"), NULL,
                         &b->arena, &b->text, &err),
         &err);
    mk_buf_c(&b->text, '\0');
    assert_non_null(strstr(b->text.p, "02d6d38de67f15c1e78b0c18"));
    /* A call that names its own belief is answered from that. */
    mk_buf_clear(&b->text);
    must(mk_call_on_view(b->store, view, op,
                         MK_STR("{\"as_of_tt\":6,\"include_edges\":true,\"uid\":\"b\"}"), NULL,
                         &b->arena, &b->text, &err),
         &err);
    mk_buf_c(&b->text, '\0');
    assert_null(strstr(b->text.p, "02d6d38de67f15c1e78b0c18"));
    mk_view_close(view);
}

/* ---- refusals and ends ---- */

static void test_operators__errors_name_what_is_wrong(void **state)
{
    bench *b = *state;
    mk_err err = run_bad(b, "entity_histroy", "{}", NULL, MK_E_INVALID_ARG);
    assert_non_null(strstr(err.hint, "entity_history"));
    assert_non_null(strstr(err.extra, "\"known\":[\"aggregate_events\",\"burst_detection\","));
    err = run_bad(b, "entity_history", "{\"uid\":\"nobody\"}", NULL, MK_E_NOT_FOUND);
    assert_string_equal(err.extra, "\"path\":[\"uid\"],\"uid\":\"nobody\"");
    err = run_bad(b, "snapshot_subgraph", "{\"seeds\":[\"a\",\"no\"],\"t_valid\":1}", NULL,
                  MK_E_NOT_FOUND);
    assert_string_equal(err.extra, "\"path\":[\"seeds\",1],\"uid\":\"no\"");
    err = run_bad(b, "entity_history", "{\"uid\":7}", NULL, MK_E_SCHEMA);
    assert_string_equal(err.extra, "\"path\":[\"uid\"]");
    /* The unknown uid is reported before the bad cursor, as in the reference. */
    run_bad(b, "entity_history", "{\"cursor\":\"x\",\"uid\":\"no\"}", NULL, MK_E_NOT_FOUND);
    run_bad(b, "entity_history", "{\"uid\":\"a\"", NULL, MK_E_SCHEMA);
    run_bad(b, "entity_history", "[]", NULL, MK_E_SCHEMA);
    run_bad(b, "entity_history", "", NULL, MK_E_SCHEMA);
}

static void test_operators__an_error_leaves_the_output_as_it_was(void **state)
{
    bench *b = *state;
    mk_err err;
    mk_buf_clear(&b->text);
    mk_buf_z(&b->text, "before");
    assert_int_equal(mk_call(b->store, "entity_history", MK_STR("{\"uid\":\"no\"}"), NULL, &b->arena,
                             &b->text, &err),
                     MK_E_NOT_FOUND);
    assert_str(mk_buf_view(&b->text), MK_STR("before"), "output", 0);
}

static int64_t at_fifty(void *ctx)
{
    (void)ctx;
    return 50;
}

static void test_operators__deadline_cancel_flag_and_memory_end_a_call(void **state)
{
    bench *b = *state;
    const mk_clock clock = {.now_us = at_fifty};
    const mk_call_options late = {.clock = &clock, .deadline_us = 50};
    const mk_call_options in_time = {.clock = &clock, .deadline_us = 51};
    const char *args = "{\"query\":\"a\"}";
    mk_err err = run_bad(b, "resolve_entities", args, &late, MK_E_LIMIT);
    assert_string_equal(err.extra, "\"limit\":\"deadline\"");
    run_ok(b, "resolve_entities", args, &in_time);

    atomic_bool cancelled = true;
    const mk_call_options stopped = {.cancelled = &cancelled};
    run_bad(b, "resolve_entities", args, &stopped, MK_E_CANCELLED);
    atomic_store(&cancelled, false);
    run_ok(b, "resolve_entities", args, &stopped);

    mk_arena_free(&b->arena);
    b->arena.limit = 200; /* less than one block of the arena */
    err = run_bad(b, "snapshot_subgraph", "{\"seeds\":[\"a\"],\"t_valid\":1}", NULL, MK_E_LIMIT);
    assert_string_equal(err.extra, "\"limit\":\"memory\"");
    b->arena.limit = 0;
    run_ok(b, "snapshot_subgraph", "{\"seeds\":[\"a\"],\"t_valid\":1}", NULL);
}

/* Method: the n-th allocation of a call fails, for every n until the call gets through; every failure
 * is reported as such, and nothing is left behind. */
static void exhaust(bench *b, const char *op, const char *args)
{
    testalloc ta;
    testalloc_init(&ta);
    bool through = false;
    for (uint64_t n = 1; !through && n < 1000; n++) {
        mk_arena arena;
        mk_buf out;
        mk_err err;
        mk_arena_init(&arena, &ta.hook);
        mk_buf_init(&out, &ta.hook);
        const uint64_t before = ta.failures;
        testalloc_fail(&ta, n, false);
        const mk_code rc =
            mk_call(b->store, op, mk_str_of(args), NULL, &arena, &out, &err);
        testalloc_fail(&ta, 0, false);
        through = ta.failures == before;
        if (rc != (through ? MK_OK : MK_E_NOMEM))
            fail_msg("%s: allocation %d: %s", op, (int)n, mk_code_name(rc));
        mk_buf_free(&out);
        mk_arena_free(&arena);
    }
    assert_true(through);
    assert_true(testalloc_is_clean(&ta));
    testalloc_free(&ta);
}

static void test_operators__memory_that_runs_out_anywhere_is_an_error(void **state)
{
    exhaust(*state, "entity_history", "{\"include_edges\":true,\"uid\":\"a\"}");
    exhaust(*state, "snapshot_subgraph",
            "{\"hops\":3,\"rel_types\":[\"R\",\"S\"],\"seeds\":[\"a\"],\"t_valid\":19}");
    exhaust(*state, "resolve_entities", "{\"query\":\"\u00c4nn\"}");
    exhaust(*state, "resolve_entities", "{\"query\":\"ann\"}");
}

/* ---- what stored values look like in results ---- */

static const char *const awkward[] = {
    "{\"ops\":[{\"label\":\"N\",\"op\":\"assert_node\",\"props\":{\"a\":0.12345678949,"
    "\"b\":[1e-12,-1e-12,{\"x.y\":1.0}],\"c\":\"1.5e3\",\"d\":123456789012345678901234567890,"
    "\"name\":[\"e\",2.5]},\"provenance_ref\":\"r\",\"source\":\"me\",\"uid\":\"x\","
    "\"vt_e\":10,\"vt_s\":0},{\"label\":\"N\",\"op\":\"assert_node\",\"props\":{\"name\":"
    "\"\\u039f\\u03b4\\u03cc\\u03a3 \\\"\\u0001\\\"\\n\"},\"provenance_ref\":null,"
    "\"source\":\"\",\"uid\":\"y\",\"vt_e\":20,\"vt_s\":10},{\"label\":\"\",\"op\":"
    "\"assert_node\",\"props\":{},\"provenance_ref\":null,\"source\":\"me\",\"uid\":\"y\","
    "\"vt_e\":30,\"vt_s\":20}],\"tt\":7}",
};

static void test_operators__stored_floats_are_rounded_and_nothing_else(void **state)
{
    bench *b = *state;
    apply_lines(b, awkward, 1);
    run_ok(b, "entity_history", "{\"uid\":\"x\"}", NULL);
    mk_buf_c(&b->result.payload.text, '\0');
    assert_non_null(strstr(b->result.payload.text.p,
                           "\"props\":{\"a\":0.123456789,\"b\":[0.0,-0.0,{\"x.y\":1.0}],"
                           "\"c\":\"1.5e3\",\"d\":123456789012345678901234567890,"
                           "\"name\":[\"e\",2.5]}"));
    run_ok(b, "resolve_entities", "{\"query\":\"X\"}", NULL);
    assert_payload(b,
                   "{\"cursor\":null,\"rows\":[{\"label\":\"N\",\"match\":1,"
                   "\"name\":[\"e\",2.5],\"uid\":\"x\"}],\"rows_total\":1,\"truncated\":false}",
                   NULL);
}

static void test_operators__an_old_name_finds_its_entity_as_it_is_now(void **state)
{
    bench *b = *state;
    apply_lines(b, awkward, 1);
    static const char *const queries[] = {
        "{\"query\":\"\\u039f\\u0394\\u038c\\u03a3\"}", /* all capitals: a final sigma at the end */
        "{\"label\":\"\",\"query\":\"\\\"\\u0001\\\"\\n\"}",
    };
    for (size_t i = 0; i < 2; i++) {
        run_ok(b, "resolve_entities", queries[i], NULL);
        assert_payload(b,
                       "{\"cursor\":null,\"rows\":[{\"label\":\"\",\"match\":2,\"name\":null,"
                       "\"uid\":\"y\"}],\"rows_total\":1,\"truncated\":false}",
                       NULL);
    }
    run_ok(b, "resolve_entities", "{\"label\":\"N\",\"query\":\"\\u039f\\u0394\\u038c\\u03a3\"}",
           NULL);
    assert_payload(b, "{\"cursor\":null,\"rows\":[],\"rows_total\":0,\"truncated\":false}", NULL);
}

static void test_operators__a_pinned_result_does_not_change(void **state)
{
    bench *b = *state;
    char before[65];
    run_ok(b, "entity_history", "{\"as_of_tt\":6,\"include_edges\":true,\"uid\":\"a\"}", NULL);
    snprintf(before, sizeof before, "%s", b->result.digest);
    static const char *const later[] = {
        "{\"ops\":[{\"op\":\"correct\",\"props\":{\"name\":\"Anna\"},\"provenance_ref\":null,"
        "\"ref\":{\"kind\":\"node\",\"uid\":\"a\"},\"source\":\"ingest\",\"vt_e\":50,\"vt_s\":5}],"
        "\"tt\":8}",
    };
    apply_lines(b, later, 1);
    run_ok(b, "entity_history", "{\"as_of_tt\":6,\"include_edges\":true,\"uid\":\"a\"}", NULL);
    assert_string_equal(b->result.digest, before);
    run_ok(b, "entity_history", "{\"include_edges\":true,\"uid\":\"a\"}", NULL);
    assert_string_not_equal(b->result.digest, before);
}

#define F(test) cmocka_unit_test_setup_teardown(test, setup_f, teardown_f)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operators__small_stores_give_the_golden_answers),
        cmocka_unit_test(test_operators__collegemsg_gives_the_golden_answers),
        F(test_operators__fixture_f_gives_the_printed_vectors),
        F(test_operators__examples_in_the_manual_run),
        F(test_operators__payloads_have_the_declared_fields),
        F(test_operators__times_may_be_iso_text_and_integers_floats),
        F(test_operators__a_whole_result_has_no_page),
        F(test_operators__pages_join_to_the_whole_and_say_what_is_missing),
        F(test_operators__an_endless_cursor_is_refused),
        F(test_operators__costs_are_estimated_before_running),
        F(test_operators__completeness_stands_beside_the_payload),
        F(test_operators__an_open_view_answers_for_current_belief),
        F(test_operators__errors_name_what_is_wrong),
        F(test_operators__an_error_leaves_the_output_as_it_was),
        F(test_operators__deadline_cancel_flag_and_memory_end_a_call),
        F(test_operators__memory_that_runs_out_anywhere_is_an_error),
        F(test_operators__stored_floats_are_rounded_and_nothing_else),
        F(test_operators__an_old_name_finds_its_entity_as_it_is_now),
        F(test_operators__a_pinned_result_does_not_change),
    };
    return cmocka_run_group_tests_name("operators", tests, NULL, NULL);
}

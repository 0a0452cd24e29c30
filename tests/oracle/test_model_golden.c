/* test_model_golden.c — the slow model gives the reference's answers.
 *
 * Only a model that agrees with the reference may judge the real store. It replays the golden logs
 * and the frozen CollegeMsg log, and answers every golden call of the three operators it knows.
 * Source: tests/data/golden/README.md; store spec, sections 22.2 and 23. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../support/golden.h"
#include "../support/model.h"
#include "base/sha256.h"

enum { STORES = 6, FAILED_MAX = 64 };

static void require_file(bool there, const char *name, const char *variable)
{
    if (there)
        return;
    print_message("skipped: %s is not there; set %s\n", name, variable);
    skip();
}

static void assert_str(mk_str got, mk_str expected)
{
    if (!mk_str_eq(got, expected))
        fail_msg("got      %.*s\nexpected %.*s", MK_STR_ARG(got), MK_STR_ARG(expected));
}

static void put_canonical(mk_buf *out, const mk_json *value)
{
    mk_arena arena;
    mk_arena_init(&arena, &mk_alloc_default);
    assert_int_equal(mk_canon_tree(out, &arena, value, NULL), MK_OK);
    mk_arena_free(&arena);
}

static void assert_canonical(mk_str got, const mk_json *expected)
{
    mk_buf text;
    mk_buf_init(&text, &mk_alloc_default);
    put_canonical(&text, expected);
    assert_str(got, mk_buf_view(&text));
    mk_buf_free(&text);
}

static void assert_digest(const model *m, mk_str expected)
{
    char digest[65];
    model_digest(m, digest);
    assert_str(mk_str_of(digest), expected);
}

/* ---- replay ---- */

typedef struct failed_batch {
    int index;
    int64_t tt;
    mk_code code;
} failed_batch;

typedef struct replayed {
    model *m;
    int batches;
    failed_batch failed[FAILED_MAX];
    size_t failed_count;
} replayed;

static replayed replay(const char *path)
{
    replayed r = {.m = model_new()};
    golden *log = golden_log_open(path);
    golden_batch batch;
    for (; golden_log_next(log, &batch); r.batches++) {
        mk_err err;
        if (model_apply(r.m, batch.tt, batch.ops, &err))
            continue;
        assert_true(r.failed_count < FAILED_MAX);
        r.failed[r.failed_count++] =
            (failed_batch){.index = r.batches, .tt = batch.tt, .code = err.code};
    }
    golden_close(log);
    return r;
}

static replayed replay_small(int store)
{
    char name[64], path[GOLDEN_PATH_MAX];
    snprintf(name, sizeof name, "small-%02d.eventlog.jsonl", store);
    require_file(golden_test_path(path, name), name, "MK_TEST_DATA");
    return replay(path);
}

static void check_failed(const replayed *r, const mk_json *expected)
{
    assert_int_equal(r->failed_count, expected->n);
    for (size_t i = 0; i < expected->n; i++) {
        const mk_json *item = &expected->items[i];
        const mk_json *error = mk_json_get(item, "error");
        assert_int_equal(r->failed[i].index, mk_json_get(item, "batch")->i);
        assert_int_equal(r->failed[i].tt, mk_json_get(item, "tt")->i);
        assert_str(mk_str_of(mk_code_name(r->failed[i].code)), mk_json_get(error, "error")->text);
    }
}

static void check_store(int store, const mk_json *expected)
{
    mk_buf stats;
    replayed r = replay_small(store);
    assert_int_equal(r.batches, mk_json_get(expected, "batches")->i);
    check_failed(&r, mk_json_get(expected, "failed_batches"));
    assert_digest(r.m, mk_json_get(expected, "store_digest")->text);
    mk_buf_init(&stats, &mk_alloc_default);
    model_stats_json(r.m, &stats);
    assert_canonical(mk_buf_view(&stats), mk_json_get(expected, "stats"));
    mk_buf_free(&stats);
    assert_true(model_times_are_real(r.m));
    model_free(r.m);
}

static void test_model__golden_logs_give_digest_statistics_and_failures(void **state)
{
    (void)state;
    char path[GOLDEN_PATH_MAX];
    const char *name = "manifest-00-05.json";
    require_file(golden_test_path(path, name), name, "MK_TEST_DATA");
    golden *file = golden_open(path);
    const mk_json *manifest = golden_all(file);
    assert_int_equal(manifest->n, STORES);
    for (int store = 0; store < STORES; store++)
        check_store(store, &manifest->items[store]);
    golden_close(file);
}

/* Not about the model, but about what it stands on: reading a record and printing it again gives the
 * same bytes, and the batch id is the hash of the record without it. */
static void check_record(const golden_batch *batch)
{
    mk_buf text;
    uint8_t hash[32];
    char id[17];
    mk_buf_init(&text, &mk_alloc_default);
    mk_buf_z(&text, "{\"ops\":");
    put_canonical(&text, batch->ops);
    mk_buf_printf(&text, ",\"tt\":%lld}", (long long)batch->tt);
    mk_sha256_of(text.p, text.n, hash);
    mk_hex(id, hash, 8);
    id[16] = '\0';
    assert_str(mk_str_of(id), batch->batch_id);

    mk_buf_clear(&text);
    mk_buf_printf(&text, "{\"batch_id\":\"%s\",\"ops\":", id);
    put_canonical(&text, batch->ops);
    mk_buf_printf(&text, ",\"tt\":%lld}", (long long)batch->tt);
    assert_str(mk_buf_view(&text), batch->line);
    mk_buf_free(&text);
}

static void test_model__golden_records_are_canonical_and_name_themselves(void **state)
{
    (void)state;
    for (int store = 0; store < STORES; store++) {
        char name[64], path[GOLDEN_PATH_MAX];
        snprintf(name, sizeof name, "small-%02d.eventlog.jsonl", store);
        require_file(golden_test_path(path, name), name, "MK_TEST_DATA");
        golden *log = golden_log_open(path);
        golden_batch batch;
        int records = 0;
        for (; golden_log_next(log, &batch); records++)
            check_record(&batch);
        assert_int_equal(records, 61);
        golden_close(log);
    }
}

/* ---- calls ---- */

static bool is_modelled(mk_str op)
{
    return mk_str_eq(op, MK_STR("entity_history")) || mk_str_eq(op, MK_STR("snapshot_subgraph")) ||
           mk_str_eq(op, MK_STR("resolve_entities"));
}

static void check_answer(const char *path, const golden_call *call, const model_answer *got)
{
    const char *code = got->ok ? "ok" : mk_code_name(got->error.code);
    const mk_str expected = call->ok ? MK_STR("ok") : call->code;
    if (!mk_str_eq(mk_str_of(code), expected))
        fail_msg("%s:%d: %.*s: got %s, expected %.*s", path, call->line, MK_STR_ARG(call->op), code,
                 MK_STR_ARG(expected));
    if (call->ok) {
        if (call->payload != NULL)
            assert_canonical(mk_buf_view(&got->payload), call->payload);
        assert_canonical(mk_buf_view(&got->extent), call->extent);
        if (!mk_str_eq(mk_str_of(got->digest), call->digest))
            fail_msg("%s:%d: %.*s: another digest", path, call->line, MK_STR_ARG(call->op));
    } else if (got->error.code == MK_E_SCHEMA) {
        assert_canonical(mk_buf_view(&got->path), mk_json_get(call->details, "path"));
    }
}

/* Returns the number of calls checked. */
static int check_calls(const model *m, int store, const char *kind)
{
    char name[64], path[GOLDEN_PATH_MAX], op[64];
    snprintf(name, sizeof name, "small-%02d.%s.jsonl.gz", store, kind);
    require_file(golden_test_path(path, name), name, "MK_TEST_DATA");
    golden *calls = golden_open(path);
    golden_call call;
    model_answer answer;
    int checked = 0;
    model_answer_init(&answer);
    while (golden_call_next(calls, &call)) {
        if (!is_modelled(call.op))
            continue;
        snprintf(op, sizeof op, "%.*s", MK_STR_ARG(call.op));
        model_call(m, op, call.args, NULL, &answer);
        check_answer(path, &call, &answer);
        checked++;
    }
    model_answer_free(&answer);
    golden_close(calls);
    return checked;
}

static void test_model__golden_calls_of_three_operators_are_answered_alike(void **state)
{
    (void)state;
    int checked = 0;
    for (int store = 0; store < STORES; store++) {
        replayed r = replay_small(store);
        checked += check_calls(r.m, store, "calls");
        checked += check_calls(r.m, store, "edge");
        model_free(r.m);
    }
    assert_int_equal(checked, 1113); /* 1,041 answers and 72 errors */
}

/* ---- CollegeMsg (store spec, section 23) ---- */

static const struct {
    int64_t tt;
    const char *batch_id;
    uint64_t end;
    const char *chain;
    size_t nodes, edges;
    const char *digest;
} collegemsg[] = {
    {1783612865737377, "bd50f8362eeccf26", 3456877, "1ff9be2b25313333", 1722, 50000,
     "29c982499806ca7b10d998b3e8231c0eff478bdbf92a8996d510adc55077e3db"},
    {1783612869254066, "63a7536bfbc812bf", 4142566, "c7083e85e85fb047", 1899, 59835,
     "08506f6c28fffbcc8dc3c677527e0495312c890816b2879565766eacd3654a0c"},
    {1783612870858704, "a7ac5bd7b7e52639", 4142819, "78d09f1190807e92", 1902, 59835,
     "738b69090e2d4bc62e9986a49840c568dac32f9e4f2eb586a25746713d918e94"},
    {1783612870871858, "4c5a9d1333601108", 4143072, "23bb8ffb272fe3b9", 1905, 59835,
     "0513aa6380d3edd77d8280564063002641e639a3e3d61ffc9f003b5a61ca2683"},
    {1783612870881315, "13929a29ba1ab061", 4143325, "0aa90e77a154937e", 1908, 59835,
     "33d5a4ef5b5dc12d4ef30e9e3233bb4aa0c674426553882940c2741e175ea785"},
    {1783612870890759, "9a16864406498e34", 4143579, "a73c22ffa5d081a8", 1911, 59835,
     "ce816397014991f755739a6b1201868e5736e2b558dd3adfa86add7b84fb96d8"},
    {1783612870900683, "a43d56bafc7147fb", 4143832, "868b74ecf10cae5c", 1914, 59835,
     "5e3f42752adc9386cc0e44a8f7f0b6a42d885497869416558e15e3cf27a19f88"},
    {1783612870909432, "8252838afed8f7ee", 4144085, "72e7e89bfb8b3712", 1917, 59835,
     "566a0f5defa0b9750b4865085f3645c7b819a0e305434acbd46385766cef6aa3"},
    {1783612870917653, "1b755dee0f77ae41", 4144337, "e71228b10188f9a0", 1920, 59835,
     "8edbb7e1810e213d51ffc20ac88f8925d6f0cbeb98d42cc384055ba876abd184"},
    {1783612870927528, "b861650d087f2d06", 4144590, "38140e3999b2219f", 1923, 59835,
     "7efd7f4f0ec02cb8d8c9c30e015666bdaf3f498acaf0217d8c9f64a6e51dde58"}};

static void check_collegemsg_end(const model *m)
{
    mk_buf stats;
    mk_buf_init(&stats, &mk_alloc_default);
    model_stats_json(m, &stats);
    assert_str(mk_buf_view(&stats),
               MK_STR("{\"max_out_degree\":1091,\"n_edge_versions\":59835,\"n_entities\":1899,"
                      "\"n_node_versions\":1923,\"rel_type_counts\":{\"MSG\":59835},"
                      "\"vt_max\":1098777142000001,\"vt_min\":1082040961000000}"));
    mk_buf_free(&stats);
    for (size_t i = 0; i < 5; i++) {
        const char uid[] = {'n', (char)('1' + i), '\0'};
        assert_str(model_entity(m, i), mk_str_of(uid));
    }
}

static void test_model__collegemsg_gives_the_published_digest_after_every_batch(void **state)
{
    (void)state;
    char path[GOLDEN_PATH_MAX];
    const char *name = "frozen/collegemsg.eventlog.jsonl.gz";
    require_file(golden_shared_path(path, name), name, "MK_SHARED_DATA");
    golden *log = golden_log_open(path);
    model *m = model_new();
    golden_batch batch;
    for (size_t i = 0; i < sizeof collegemsg / sizeof *collegemsg; i++) {
        assert_true(golden_log_next(log, &batch));
        assert_int_equal(batch.tt, collegemsg[i].tt);
        assert_str(batch.batch_id, mk_str_of(collegemsg[i].batch_id));
        assert_int_equal(batch.end, collegemsg[i].end);
        assert_string_equal(batch.chain, collegemsg[i].chain);
        assert_true(model_apply(m, batch.tt, batch.ops, NULL));
        size_t nodes, edges;
        model_rows(m, MODEL_NODE, &nodes);
        model_rows(m, MODEL_EDGE, &edges);
        assert_int_equal(nodes, collegemsg[i].nodes);
        assert_int_equal(edges, collegemsg[i].edges);
        assert_digest(m, mk_str_of(collegemsg[i].digest));
    }
    assert_false(golden_log_next(log, &batch));
    golden_close(log);
    check_collegemsg_end(m);
    model_free(m);
}

/* ---- the evaluation generator (store spec, 22.2) ---- */

enum { SCALE = 2000, NODES = 200, LIFE = 100 }; /* max(200, 2000/100), max(40, 2000/20) */

static uint64_t mix(uint64_t x)
{
    x *= UINT64_C(0x9E3779B97F4A7C15);
    x ^= x >> 30;
    x *= UINT64_C(0xBF58476D1CE4E5B9);
    x ^= x >> 27;
    x *= UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

typedef struct event {
    uint64_t src, dst;
    char rel;
    int64_t vt_s, vt_e;
} event;

static event event_at(uint64_t i)
{
    const uint64_t r = mix(2 * i + 1), burst = SCALE / 2;
    event e = {.src = mix(2 * i) % NODES, .rel = i % 3 == 0 ? 'S' : 'R'};
    const uint64_t base = e.src / 50 * 50;
    const uint64_t near = NODES - base < 50 ? NODES - base : 50;
    e.dst = r % 100 < 70 ? base + (r >> 8) % near : (r >> 8) % NODES;
    e.vt_s = (int64_t)(i >= burst && i < burst + SCALE / 20 ? burst + (i - burst) / 10 : i);
    e.vt_e = e.vt_s + LIFE;
    return e;
}

typedef struct writer {
    model *m;
    int64_t tt;
    mk_buf ops;
} writer;

static void write_batch(writer *w)
{
    mk_err err;
    mk_buf_c(&w->ops, ']');
    if (!model_apply_text(w->m, w->tt, mk_buf_view(&w->ops), &err))
        fail_msg("batch at %lld: %s", (long long)w->tt, err.message);
    w->tt++;
    mk_buf_clear(&w->ops);
    mk_buf_c(&w->ops, '[');
}

static void put_event_ref(mk_buf *out, uint64_t i)
{
    const event e = event_at(i);
    mk_buf_printf(out,
                  "\"ref\":{\"kind\":\"edge\",\"src\":\"n%llu\",\"dst\":\"n%llu\","
                  "\"rel_type\":\"%c\",\"disc\":\"#%llu\"}",
                  (unsigned long long)e.src, (unsigned long long)e.dst, e.rel,
                  (unsigned long long)i);
}

static void correct_event(writer *w, uint64_t i, int weight, int64_t vt_s)
{
    mk_buf_printf(&w->ops, "{\"op\":\"correct\",\"props\":{\"weight\":%d},", weight);
    put_event_ref(&w->ops, i);
    mk_buf_printf(&w->ops, ",\"vt_s\":%lld,\"vt_e\":%lld}", (long long)vt_s,
                  (long long)event_at(i).vt_e);
    write_batch(w);
}

static void ingest_all(writer *w)
{
    mk_buf_z(&w->ops, "{\"op\":\"ingest_events\",\"events\":[");
    for (uint64_t i = 0; i < SCALE; i++) {
        const event e = event_at(i);
        mk_buf_printf(&w->ops,
                      "%s{\"src\":\"n%llu\",\"dst\":\"n%llu\",\"rel_type\":\"%c\",\"vt_s\":%lld,"
                      "\"vt_e\":%lld}",
                      i > 0 ? "," : "", (unsigned long long)e.src, (unsigned long long)e.dst, e.rel,
                      (long long)e.vt_s, (long long)e.vt_e);
    }
    mk_buf_z(&w->ops, "]}");
    write_batch(w);
}

static void write_all(writer *w)
{
    const uint64_t step = SCALE / 200, mid = SCALE / 2;
    mk_buf_c(&w->ops, '[');
    ingest_all(w);
    mk_buf_z(&w->ops, "{\"op\":\"assert_node\",\"uid\":\"n1\",\"label\":\"Node\","
                      "\"props\":{\"name\":\"alpha\"},\"vt_s\":0,\"vt_e\":2000}");
    write_batch(w);
    for (uint64_t i = 0; i < SCALE; i += step)
        correct_event(w, i, 2, event_at(i).vt_s);
    mk_buf_z(&w->ops, "{\"op\":\"correct\",\"ref\":{\"kind\":\"node\",\"uid\":\"n1\"},"
                      "\"props\":{\"name\":\"alpha-corrected\"},\"vt_s\":0,\"vt_e\":2000}");
    write_batch(w);
    for (uint64_t i = mid - LIFE / 2; i < mid; i += LIFE / 20)
        correct_event(w, i, 3, event_at(i).vt_s + LIFE / 2);
    for (uint64_t i = 0; i < SCALE; i += 4 * step) {
        mk_buf_z(&w->ops, "{\"op\":\"retract\",");
        put_event_ref(&w->ops, i);
        mk_buf_printf(&w->ops, ",\"t\":%lld}", (long long)(event_at(i).vt_s + LIFE / 2));
        write_batch(w);
    }
}

static void test_model__evaluation_generator_gives_the_published_digest(void **state)
{
    (void)state;
    writer w = {.m = model_new(), .tt = 1000};
    size_t nodes, edges, superseded = 0;
    assert_true(mix(1) == UINT64_C(16294208416658607535));
    mk_buf_init(&w.ops, &mk_alloc_default);
    write_all(&w);
    assert_int_equal(w.tt - 1000, 263);
    model_rows(w.m, MODEL_NODE, &nodes);
    const model_row *rows = model_rows(w.m, MODEL_EDGE, &edges);
    for (size_t i = 0; i < edges; i++)
        superseded += rows[i].tt_e != MK_OPEN_END;
    assert_int_equal(nodes, 203);
    assert_int_equal(edges, 2269);
    assert_int_equal(superseded, 260);
    assert_digest(w.m, MK_STR("8f357bd376fab39fb276f5d4cfd3d142f4b7972c8bf950c40be166272bff7eb5"));
    mk_buf_free(&w.ops);
    model_free(w.m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_model__golden_records_are_canonical_and_name_themselves),
        cmocka_unit_test(test_model__golden_logs_give_digest_statistics_and_failures),
        cmocka_unit_test(test_model__golden_calls_of_three_operators_are_answered_alike),
        cmocka_unit_test(test_model__evaluation_generator_gives_the_published_digest),
        cmocka_unit_test(test_model__collegemsg_gives_the_published_digest_after_every_batch),
    };
    return cmocka_run_group_tests_name("model_golden", tests, NULL, NULL);
}

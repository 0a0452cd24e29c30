/* test_serve_write.c — writes that come by a wire: one batch or nothing, as whoever sent it, and only when
 * allowed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "../support/tmpdir.h"
#include "serve/tool.h"
#include "serve/writing.h"

typedef struct world {
    tmpdir dir;
    char path[TMPDIR_PATH_MAX];
    mk_service *service;
    mk_tools tools;
    mk_arena arena;
    mk_buf out;
    mk_err err;
} world;

static void open_service(world *w, bool write)
{
    const mk_service_options options = {.dir = w->path, .write = write};
    assert_int_equal(mk_service_open(&mk_alloc_default, &options, &w->service, &w->err), MK_OK);
    assert_int_equal(mk_tools_open(&mk_alloc_default, w->service, NULL, &w->tools, &w->err), MK_OK);
}

static void close_service(world *w)
{
    mk_tools_close(&w->tools);
    mk_service_close(w->service);
    w->service = NULL;
}

static int setup(void **state)
{
    const mk_store_options options = {.mode = MK_OPEN_CREATE_WRITER, .manual = true};
    world *w = mk_new0(&mk_alloc_default, sizeof *w);
    mk_store *store;
    tmpdir_make(&w->dir);
    tmpdir_join(&w->dir, "store", w->path);
    mk_arena_init(&w->arena, &mk_alloc_default);
    mk_buf_init(&w->out, &mk_alloc_default);
    if (mk_store_open(w->path, &options, &store, &w->err) != MK_OK || mk_store_close(store, &w->err) != MK_OK)
        fail_msg("%s", w->err.message);
    open_service(w, true);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    world *w = *state;
    close_service(w);
    mk_buf_free(&w->out);
    mk_arena_free(&w->arena);
    tmpdir_remove(&w->dir);
    mk_free(&mk_alloc_default, w, sizeof *w);
    return 0;
}

static mk_json *parsed(world *w, const char *text)
{
    mk_json *tree;
    if (mk_json_parse(&w->arena, mk_str_of(text), NULL, &tree, &w->err) != MK_OK)
        fail_msg("%s: %s", text, w->err.message);
    return tree;
}

static const char *out_text(world *w)
{
    mk_buf_c(&w->out, '\0');
    return w->out.p;
}

static mk_code facts_as(world *w, const char *principal, mk_write_verb verb, const char *arguments)
{
    const mk_caller caller = {.arena = &w->arena, .principal = mk_str_of(principal)};
    mk_buf_clear(&w->out);
    return mk_serve_facts(w->service, &caller, verb, parsed(w, arguments), MK_STR("7"), &w->out, &w->err);
}

static mk_code ops_as(world *w, const char *principal, const char *ops, const char *request_id)
{
    const mk_caller caller = {.arena = &w->arena, .principal = mk_str_of(principal)};
    const mk_writing how = {.request_id = request_id != NULL ? mk_str_of(request_id) : (mk_str){NULL, 0},
                            .reference = MK_STR("r-1")};
    mk_buf_clear(&w->out);
    return mk_serve_write(w->service, &caller, parsed(w, ops), &how, &w->out, &w->err);
}

/* What the operator says of an entity, as JSON text; its error's code when it fails. */
static const char *read_op(world *w, const char *op, const char *arguments)
{
    const mk_caller caller = {.arena = &w->arena, .principal = MK_STR("public"), .result_bytes = SIZE_MAX};
    char whole[MK_RESULT_URI_MAX];
    mk_buf_clear(&w->out);
    const mk_code rc = mk_serve_op(w->service, mk_operator_find(mk_str_of(op)), &caller, parsed(w, arguments),
                                   &w->out, whole, &w->err);
    return rc == MK_OK ? out_text(w) : mk_code_name(rc);
}

static void assert_has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("no %s in: %s", part, text);
}

static int64_t batches(world *w)
{
    mk_store *store;
    assert_int_equal(mk_service_store(w->service, &store, &w->err), MK_OK);
    return mk_store_batches(store);
}

/* ---- what is written ---- */

static void test_serve_write__facts_become_operations(void **state)
{
    world *w = *state;
    assert_int_equal(
        facts_as(
            w, "public", MK_WRITE_ASSERT,
            "{\"facts\":[{\"uid\":\"ada\",\"label\":\"Person\",\"props\":\"{\\\"role\\\":\\\"clerk\\\"}\","
            "\"vt_s\":\"1970-01-01T00:00:01Z\"},"
            "{\"uid\":\"bob\",\"vt_s\":1000000},"
            "{\"src\":\"ada\",\"rel_type\":\"KNOWS\",\"dst\":\"bob\",\"vt_s\":\"2000000\",\"vt_e\":\"\"}]}"),
        MK_OK);
    assert_has(out_text(w), "{\"ops\":3,\"tt\":");
    assert_has(read_op(w, "entity_history", "{\"uid\":\"ada\"}"), "\"role\":\"clerk\"");
    assert_int_equal(facts_as(w, "public", MK_WRITE_CORRECT,
                              "{\"facts\":{\"uid\":\"ada\",\"props\":{\"role\":\"lead\"},\"vt_s\":5000000}}"),
                     MK_OK);
    assert_has(read_op(w, "entity_history", "{\"uid\":\"ada\"}"), "\"role\":\"lead\"");
    assert_int_equal(facts_as(w, "public", MK_WRITE_RETRACT,
                              "{\"facts\":[{\"uid\":\"bob\",\"t\":\"1970-01-01T00:00:09Z\"}]}"),
                     MK_OK);
    assert_has(read_op(w, "entity_history", "{\"uid\":\"bob\"}"), "\"vt_e\":9000000");
    assert_int_equal(batches(w), 3);
}

/* Whatever the batch says of itself, it is the sender's. */
static void test_serve_write__the_source_is_the_principal_and_the_reference_the_request(void **state)
{
    world *w = *state;
    assert_int_equal(ops_as(w, "user:ada",
                            "[{\"op\":\"assert_node\",\"uid\":\"x\",\"label\":\"P\",\"vt_s\":1,\"source\":"
                            "\"user:boss\",\"provenance_ref\":\"forged\"}]",
                            NULL),
                     MK_OK);
    const char *text = read_op(w, "entity_history", "{\"uid\":\"x\"}");
    assert_has(text, "\"source\":\"user:ada\"");
    assert_has(text, "\"provenance_ref\":\"r-1\"");
    assert_null(strstr(text, "boss"));
    assert_int_equal(facts_as(w, "user:ada", MK_WRITE_ASSERT, "{\"facts\":[{\"uid\":\"y\",\"vt_s\":1}]}"),
                     MK_OK);
    assert_has(read_op(w, "entity_history", "{\"uid\":\"y\"}"), "\"provenance_ref\":\"7\"");
    assert_int_equal(facts_as(w, "user:ada", MK_WRITE_ASSERT,
                              "{\"facts\":[{\"uid\":\"z\",\"vt_s\":1}],\"request_id\":\"import 3\"}"),
                     MK_OK);
    assert_has(read_op(w, "entity_history", "{\"uid\":\"z\"}"), "\"provenance_ref\":\"import 3\"");
}

static void test_serve_write__a_batch_is_written_whole_or_not_at_all(void **state)
{
    world *w = *state;
    assert_int_equal(ops_as(w, "public",
                            "[{\"op\":\"assert_node\",\"uid\":\"one\",\"label\":\"P\",\"vt_s\":1},"
                            "{\"op\":\"retract\",\"ref\":{\"kind\":\"node\",\"uid\":\"nobody\"},\"t\":1}]",
                            NULL),
                     MK_E_NOT_FOUND);
    assert_has(w->err.path, "ops[1]");
    assert_string_equal(read_op(w, "entity_history", "{\"uid\":\"one\"}"), "E_NOT_FOUND");
    assert_int_equal(batches(w), 0);
}

/* ---- a repeat ---- */

static void test_serve_write__a_repeat_gives_the_first_time_and_writes_nothing(void **state)
{
    static const char ops[] = "[{\"op\":\"assert_node\",\"uid\":\"x\",\"label\":\"P\",\"vt_s\":1}]";
    world *w = *state;
    char first[80];
    assert_int_equal(ops_as(w, "user:ada", ops, "once"), MK_OK);
    snprintf(first, sizeof first, "%s", out_text(w));
    assert_int_equal(ops_as(w, "user:ada", ops, "once"), MK_OK);
    assert_string_equal(out_text(w), first);
    assert_int_equal(batches(w), 1);
}

/* Otherwise the second would believe that its batch was written, and learn when another wrote. */
static void test_serve_write__two_principals_may_choose_the_same_request_id(void **state)
{
    world *w = *state;
    assert_int_equal(ops_as(w, "user:ada",
                            "[{\"op\":\"assert_node\",\"uid\":\"of_ada\",\"label\":\"P\",\"vt_s\":1}]",
                            "once"),
                     MK_OK);
    assert_int_equal(ops_as(w, "user:bob",
                            "[{\"op\":\"assert_node\",\"uid\":\"of_bob\",\"label\":\"P\",\"vt_s\":1}]",
                            "once"),
                     MK_OK);
    assert_has(read_op(w, "entity_history", "{\"uid\":\"of_bob\"}"), "\"rows_total\":1");
    assert_int_equal(ops_as(w, "public",
                            "[{\"op\":\"assert_node\",\"uid\":\"of_all\",\"label\":\"P\",\"vt_s\":1}]",
                            "user:bob\nonce"),
                     MK_E_INVALID_ARG);
    assert_string_equal(w->err.path, "request_id");
    assert_int_equal(batches(w), 2);
}

/* ---- what is refused ---- */

static void test_serve_write__what_is_refused_names_its_place(void **state)
{
    static const struct {
        mk_write_verb verb;
        const char *arguments, *path;
        mk_code rc;
    } table[] = {
        {MK_WRITE_ASSERT, "{}", "facts", MK_E_SCHEMA},
        {MK_WRITE_ASSERT, "{\"facts\":[]}", "ops", MK_E_SCHEMA},
        {MK_WRITE_ASSERT, "{\"facts\":[3]}", "facts[0]", MK_E_SCHEMA},
        {MK_WRITE_ASSERT, "{\"facts\":[{\"uid\":\"a\",\"vt_s\":1},{\"uid\":\"b\"}]}", "facts[1].vt_s",
         MK_E_SCHEMA},
        {MK_WRITE_ASSERT, "{\"facts\":[{\"uid\":\"a\",\"vt_s\":\"soon\"}]}", "facts[0].vt_s", MK_E_SCHEMA},
        {MK_WRITE_ASSERT, "{\"facts\":[{\"uid\":\"a\",\"vt_s\":true}]}", "facts[0].vt_s", MK_E_SCHEMA},
        {MK_WRITE_ASSERT, "{\"facts\":[{\"uid\":\"a\",\"vt_s\":1,\"props\":\"[1]\"}]}", "facts[0].props",
         MK_E_SCHEMA},
        {MK_WRITE_ASSERT, "{\"facts\":[{\"uid\":\"a\",\"vt_s\":1,\"color\":1}]}", "facts[0]", MK_E_SCHEMA},
        {MK_WRITE_ASSERT, "{\"facts\":[{\"src\":\"a\",\"dst\":\"b\",\"vt_s\":1}]}", "facts[0].rel_type",
         MK_E_SCHEMA},
        {MK_WRITE_ASSERT, "{\"facts\":[{\"uid\":\"a\",\"vt_s\":5,\"vt_e\":5}]}", "ops[0].vt_e",
         MK_E_INVALID_ARG},
        {MK_WRITE_ASSERT, "{\"facts\":[{\"uid\":\"tk:j:1\",\"vt_s\":1}]}", "ops[0].uid", MK_E_INVALID_ARG},
        {MK_WRITE_ASSERT,
         "{\"facts\":[{\"uid\":\"a\",\"vt_s\":1},{\"src\":\"a\",\"rel_type\":\"R\",\"dst\":\"okf:c:1\",\"vt_"
         "s\":1}]}",
         "ops[1].dst", MK_E_INVALID_ARG},
        {MK_WRITE_RETRACT, "{\"facts\":[{\"uid\":\"mn:1\",\"t\":1}]}", "ops[0].ref.uid", MK_E_INVALID_ARG},
        {MK_WRITE_RETRACT, "{\"facts\":[{\"uid\":\"a\"}]}", "facts[0].t", MK_E_SCHEMA},
        {MK_WRITE_RETRACT, "{\"facts\":[{\"uid\":\"nobody\",\"t\":1}]}", "", MK_E_NOT_FOUND},
        {MK_WRITE_ASSERT, "{\"facts\":[{\"uid\":\"a\",\"vt_s\":1}],\"request_id\":7}", "request_id",
         MK_E_SCHEMA},
    };
    world *w = *state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const mk_code rc = facts_as(w, "public", table[i].verb, table[i].arguments);
        if (rc != table[i].rc || (table[i].path[0] != '\0' && strcmp(w->err.path, table[i].path) != 0))
            fail_msg("%s: %s at \"%s\", %s", table[i].arguments, mk_code_name(rc),
                     rc != MK_OK ? w->err.path : "", rc != MK_OK ? w->err.message : "");
    }
    assert_int_equal(batches(w), 0);
}

static size_t writing_tools(const world *w)
{
    size_t count = 0;
    for (size_t i = 0; i < w->tools.count; i++)
        count += w->tools.list[i]->writes;
    return count;
}

static void test_serve_write__a_server_that_only_reads_has_no_tools_to_write(void **state)
{
    world *w = *state;
    assert_int_equal(writing_tools(w), 3);
    close_service(w);
    open_service(w, false);
    assert_int_equal(writing_tools(w), 0);
    assert_int_equal(facts_as(w, "public", MK_WRITE_ASSERT, "{\"facts\":[{\"uid\":\"a\",\"vt_s\":1}]}"),
                     MK_E_STATE);
    assert_string_equal(w->err.reason, "read_only");
}

/* The lock is taken before the server starts: it reads, says why it cannot write, and can once the other has
 * gone. */
static void test_serve_write__while_another_writes_it_reads_and_then_it_writes(void **state)
{
    const mk_store_options options = {.mode = MK_OPEN_WRITER, .manual = true};
    static const char fact[] = "{\"facts\":[{\"uid\":\"a\",\"vt_s\":1}]}";
    world *w = *state;
    mk_store *other;
    close_service(w);
    assert_int_equal(mk_store_open(w->path, &options, &other, &w->err), MK_OK);
    open_service(w, true);
    assert_int_equal(facts_as(w, "public", MK_WRITE_ASSERT, fact), MK_E_STATE);
    assert_string_equal(w->err.reason, "locked");
    assert_int_equal(w->err.retry, MK_RETRY_AS_IS);
    assert_has(read_op(w, "resolve_entities", "{\"query\":\"a\"}"), "\"rows_total\":0");
    assert_int_equal(mk_store_close(other, &w->err), MK_OK);
    assert_int_equal(facts_as(w, "public", MK_WRITE_ASSERT, fact), MK_OK);
    assert_has(read_op(w, "entity_history", "{\"uid\":\"a\"}"), "\"rows_total\":1");
    assert_true(mk_service_changed(w->service));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_serve_write__facts_become_operations, setup, teardown),
        cmocka_unit_test_setup_teardown(
            test_serve_write__the_source_is_the_principal_and_the_reference_the_request, setup, teardown),
        cmocka_unit_test_setup_teardown(test_serve_write__a_batch_is_written_whole_or_not_at_all, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_serve_write__a_repeat_gives_the_first_time_and_writes_nothing,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(test_serve_write__two_principals_may_choose_the_same_request_id,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(test_serve_write__what_is_refused_names_its_place, setup, teardown),
        cmocka_unit_test_setup_teardown(test_serve_write__a_server_that_only_reads_has_no_tools_to_write,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(test_serve_write__while_another_writes_it_reads_and_then_it_writes,
                                        setup, teardown),
    };
    return cmocka_run_group_tests_name("serve_write", tests, NULL, NULL);
}

/* Operator calls: any bytes as an operator's name, a line end and its arguments, over one small store.
 *
 * Whatever is asked, the call ends in bounded time and memory with a payload that is canonical JSON and
 * hashes to its digest, or with a typed error. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/sha256.h"
#include "op/call.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MEMORY_MAX ((size_t)64 << 20)

static char folder[] = "/tmp/merkhet-fuzz-XXXXXX";
static mk_store *store;

static void need(bool truth)
{
    if (!truth)
        abort();
}

static void remove_folder(void)
{
    char command[64];
    need(mk_store_close(store, NULL) == MK_OK);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    need(system(command) == 0);
}

static void write_op(mk_op op)
{
    op.source = MK_STR("ingest");
    op.provenance_null = true;
    if (op.props.n == 0)
        op.props = MK_STR("{}");
    need(mk_store_write(store, &op, 1, NULL, NULL, NULL) == MK_OK);
}

/* The operators spec's fixture F, some parallel events and texts that are awkward to print. */
static void make_store(void)
{
    static const char *const nodes[] = {"a", "b", "c", "\xc3\xa9\xe2\x80\xa8", "it's \"x\""};
    const mk_store_options options = {.mode = MK_OPEN_CREATE_WRITER, .manual = true};
    need(mkdtemp(folder) != NULL);
    need(mk_store_open(folder, &options, &store, NULL) == MK_OK);
    atexit(remove_folder);
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
        write_op((mk_op){.kind = MK_OP_ASSERT_NODE, .uid = mk_str_of(nodes[i]), .label = MK_STR("N"),
                         .props = MK_STR("{\"name\":\"Ann\",\"w\":0.1}"), .vt_e = MK_OPEN_END});
    for (int64_t i = 0; i < 24; i++)
        write_op((mk_op){.kind = MK_OP_ASSERT_EDGE, .src = mk_str_of(nodes[i % 5]),
                         .dst = mk_str_of(nodes[(i * 3 + 1) % 5]),
                         .rel_type = i % 3 ? MK_STR("R") : MK_STR("S"), .disc = MK_STR(""),
                         .props = i % 2 ? MK_STR("{\"w\":1}") : MK_STR("{\"w\":2.5}"),
                         .vt_s = i * 2, .vt_e = i % 4 ? i * 2 + 7 : MK_OPEN_END});
}

static void check_payload(const mk_call_result *result)
{
    char digest[65];
    uint8_t sha[32];
    mk_arena arena;
    mk_json *tree;
    mk_buf again;
    const mk_str text = mk_buf_view(&result->payload.text);
    mk_arena_init(&arena, &mk_alloc_default);
    mk_buf_init(&again, &mk_alloc_default);
    need(mk_json_parse(&arena, text, NULL, &tree, NULL) == MK_OK);
    need(mk_canon_tree(&again, &arena, tree, NULL) == MK_OK);
    need(mk_str_eq(mk_buf_view(&again), text));
    mk_sha256 hash;
    mk_sha256_init(&hash);
    mk_sha256_add(&hash, text.p, text.n);
    mk_sha256_end(&hash, sha);
    mk_hex(digest, sha, sizeof sha);
    need(memcmp(digest, result->digest, 64) == 0);
    mk_buf_free(&again);
    mk_arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static mk_call_result result;
    static mk_arena arena;
    if (store == NULL) {
        make_store();
        mk_call_result_init(&result, &mk_alloc_default);
        mk_arena_init(&arena, &mk_alloc_default);
        arena.limit = MEMORY_MAX;
    }
    const char *text = (const char *)data;
    const char *end = size ? memchr(text, '\n', size) : NULL;
    if (end == NULL)
        return 0;
    const mk_str op = {text, (size_t)(end - text)};
    const mk_str args = {end + 1, size - op.n - 1};
    mk_err err;
    const mk_call_options options = {.row_budget = size % 3 == 0 ? 1000 : 0};
    const mk_code rc = mk_call_run(store, NULL, op, args, &options, &arena, &result, &err);
    if (rc == MK_OK)
        check_payload(&result);
    else
        need(err.code == rc && err.message[0] != '\0' && rc != MK_E_INTERNAL);
    return 0;
}

/* Bundles and proofs: any bytes. The check ends with a typed error or with what it found; a bundle that was
 * mutated out of a sound one is not sound unless it is that very bundle; a proof made from what could be
 * read is a proof for the root that was found. */
#include <stdlib.h>

#include "claim/bundle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MEMORY_MAX ((size_t)256 << 20)

static void need(bool truth)
{
    if (!truth)
        abort();
}

static void check(mk_str text, mk_arena *arena)
{
    mk_bundle_check found;
    mk_buf out;
    mk_json *tree;
    mk_err err = {0};
    const mk_code rc = mk_bundle_verify(text, NULL, arena, &found, &err);
    need(rc == MK_OK || err.message[0] != '\0');
    if (rc != MK_OK)
        return;
    need(found.sound == (found.fault_count == 0));
    mk_buf_init(&out, arena->alloc);
    mk_bundle_check_json(&found, &out);
    const mk_code json = mk_json_parse(arena, mk_buf_view(&out), NULL, &tree, NULL);
    need(json == MK_OK || json == MK_E_NOMEM);
    mk_buf_clear(&out);
    mk_bundle_check_text(&found, &out);
    mk_buf_free(&out);
}

static void prove(mk_str text, mk_arena *arena)
{
    static const char root[65] = "5e2a1c4b7d905f31a2c8e6d40b97f1853c6ad20e94b75f18d3c0a6e2497b15f0";
    mk_buf proof;
    mk_str why;
    bool holds;
    mk_buf_init(&proof, arena->alloc);
    (void)!mk_bundle_prove(text, MK_STR("c1"), arena, &proof, NULL);
    mk_buf_free(&proof);
    /* Nobody makes bytes that lead to a root drawn at random. */
    if (mk_proof_verify(text, root, arena, &holds, &why, NULL) == MK_OK)
        need(!holds);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const mk_str text = {(const char *)data, size};
    mk_arena arena;
    mk_arena_init(&arena, &mk_alloc_default);
    arena.limit = MEMORY_MAX;
    check(text, &arena);
    mk_arena_reset(&arena);
    prove(text, &arena);
    mk_arena_free(&arena);
    return 0;
}

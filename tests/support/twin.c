/* twin.c — a store and the slow model, fed the same batches. See twin.h. */
#include "twin.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/sha256.h"

void twin_open_store(twin *t)
{
    mk_err err;
    const mk_store_options options = {
        .mode = MK_OPEN_CREATE_WRITER, .tail_rows = t->tail_rows, .manual = true};
    if (mk_store_open(t->path, &options, &t->store, &err) != MK_OK)
        fail_msg("MK_SEED=%llu: open: %s", (unsigned long long)t->seed, err.message);
}

void twin_close_store(twin *t)
{
    mk_err err;
    assert_int_equal(mk_store_close(t->store, &err), MK_OK);
    t->store = NULL;
}

void twin_open(twin *t, uint64_t seed, const genops_options *options, uint32_t tail_rows)
{
    *t = (twin){.seed = seed, .tail_rows = tail_rows, .model = model_new()};
    genops_options own = *options;
    own.seed = seed;
    genops_init(&t->gen, &own);
    tmpdir_make(&t->dir);
    snprintf(t->path, sizeof t->path, "%s/store", t->dir.path);
    twin_open_store(t);
}

void twin_close(twin *t)
{
    twin_close_store(t);
    model_free(t->model);
    tmpdir_remove(&t->dir);
}

/* The record line of a batch, as the reference would write it. */
static void make_line(mk_buf *line, mk_str ops, int64_t tt)
{
    mk_buf content;
    uint8_t sha[32];
    char id[16];
    mk_buf_init(&content, &mk_alloc_default);
    mk_buf_z(&content, "\"ops\":");
    mk_buf_str(&content, ops);
    mk_buf_z(&content, ",\"tt\":");
    mk_buf_i64(&content, tt);
    mk_buf_c(&content, '}');
    mk_sha256 hash;
    mk_sha256_init(&hash);
    mk_sha256_add(&hash, "{", 1);
    mk_sha256_add(&hash, content.p, content.n);
    mk_sha256_end(&hash, sha);
    mk_hex(id, sha, 8);
    mk_buf_clear(line);
    mk_buf_z(line, "{\"batch_id\":\"");
    mk_buf_put(line, id, sizeof id);
    mk_buf_z(line, "\",");
    mk_buf_put(line, content.p, content.n);
    mk_buf_c(line, '\n');
    mk_buf_free(&content);
}

void twin_step(twin *t)
{
    mk_buf ops, line;
    mk_err why, model_why, err;
    bool applied;
    mk_buf_init(&ops, &mk_alloc_default);
    mk_buf_init(&line, &mk_alloc_default);
    genops_next_text(&t->gen, &ops);
    t->tt += 1 + (int64_t)genops_below(&t->gen, 3);
    make_line(&line, mk_buf_view(&ops), t->tt);
    if (mk_store_replay_line(t->store, mk_buf_view(&line), true, &applied, &why, &err) != MK_OK)
        fail_msg("MK_SEED=%llu: %s in %.*s", (unsigned long long)t->seed, err.message, (int)line.n, line.p);
    const bool expected = model_apply_text(t->model, t->tt, mk_buf_view(&ops), &model_why);
    if (applied != expected)
        fail_msg("MK_SEED=%llu: %s, but the model %s: %.*s", (unsigned long long)t->seed,
                 applied ? "applied" : why.message, expected ? "applied" : model_why.message,
                 (int)line.n, line.p);
    /* The model meets faults op by op, the store refuses a malformed batch whole. */
    if (!applied && t->gen.options.malformed_percent == 0)
        assert_int_equal(why.code, model_why.code);
    mk_buf_free(&ops);
    mk_buf_free(&line);
}

void twin_upset(twin *t)
{
    mk_err err;
    switch (genops_below(&t->gen, 6)) {
    case 0: assert_int_equal(mk_store_compact(t->store, &err), MK_OK); break;
    case 1: assert_int_equal(mk_store_checkpoint(t->store, &err), MK_OK); break;
    case 2:
        assert_int_equal(mk_store_replay_flush(t->store, &err), MK_OK);
        twin_close_store(t);
        twin_open_store(t);
        break;
    default: break;
    }
}

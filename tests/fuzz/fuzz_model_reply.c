/* fuzz_model_reply.c — bytes from a model endpoint, cut into pieces as the first byte says.
 *
 * Whatever comes and however it is cut, the outcome is the same: a text of valid UTF-8 within its bound, or a
 * typed error; what the text then becomes behind a fence has no tag in it. */
#include <stdlib.h>

#include "agent/fence.h"
#include "model/reply.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BODY_MAX 4096
#define TEXT_MAX 256

static void need(bool truth)
{
    if (!truth)
        abort();
}

/* Reads `data` in pieces of `piece` bytes; the text goes to `out`. */
static mk_code read_pieces(const char *data, size_t size, size_t piece, mk_buf *out)
{
    mk_reply_reader reader;
    mk_arena scratch;
    mk_err err = {0};
    mk_code rc = MK_OK;
    mk_arena_init(&scratch, &mk_alloc_default);
    mk_reply_open(&reader, &mk_alloc_default, &scratch, BODY_MAX, TEXT_MAX);
    for (size_t at = 0; at < size && rc == MK_OK; at += piece)
        rc = mk_reply_feed(&reader, data + at, size - at < piece ? size - at : piece, &err);
    if (rc == MK_OK)
        rc = mk_reply_end(&reader, &err);
    if (rc == MK_OK)
        mk_buf_str(out, mk_buf_view(&reader.text));
    else
        need(rc == MK_E_MODEL && err.reason[0] != '\0' && err.message[0] != '\0');
    mk_reply_close(&reader);
    mk_arena_free(&scratch);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    const char *text = (const char *)data + 1;
    mk_buf whole, pieces, clean;
    mk_buf_init(&whole, &mk_alloc_default);
    mk_buf_init(&pieces, &mk_alloc_default);
    mk_buf_init(&clean, &mk_alloc_default);
    const mk_code rc = read_pieces(text, size - 1, size, &whole);
    const mk_code cut = read_pieces(text, size - 1, data[0] % 16 + 1u, &pieces);
    need(rc == cut || size > BODY_MAX); /* what is too large is seen earlier in pieces */
    if (rc == MK_OK) {
        need(mk_str_eq(mk_buf_view(&whole), mk_buf_view(&pieces)));
        need(whole.n <= TEXT_MAX && mk_utf8_check(mk_buf_view(&whole)) == whole.n);
    }
    mk_fence_clean(&clean, (mk_str){text, size - 1}, 100);
    need(clean.n == 0 || memchr(clean.p, '<', clean.n) == NULL);
    need(mk_utf8_check(mk_buf_view(&clean)) == clean.n);
    mk_buf_free(&clean);
    mk_buf_free(&pieces);
    mk_buf_free(&whole);
    return 0;
}

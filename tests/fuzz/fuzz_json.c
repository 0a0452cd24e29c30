/* fuzz_json.c — any bytes as JSON text.
 *
 * Laws: canonical text is a fixed point; the pull reader, the skipping one and the tree accept the
 * same texts; an error has an offset inside the text. */
#include <stdlib.h>

#include "base/canon.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool law)
{
    if (!law)
        abort();
}

static mk_code skip_all(mk_str text, mk_err *err)
{
    mk_json_reader reader;
    mk_str raw;
    mk_code rc;
    mk_json_open(&reader, &mk_alloc_default, text, NULL);
    MK_TRY(rc, mk_json_next(&reader, err));
    MK_TRY(rc, mk_json_skip(&reader, &raw, err));
    require(raw.p >= text.p && raw.p + raw.n <= text.p + text.n && raw.n > 0);
    MK_TRY(rc, mk_json_next(&reader, err));
    require(reader.token == MK_TOK_END);

out:
    mk_json_close(&reader);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const mk_str text = {(const char *)data, size};
    mk_arena arena;
    mk_buf once, twice;
    mk_err err;

    mk_arena_init(&arena, &mk_alloc_default);
    mk_buf_init(&once, &mk_alloc_default);
    mk_buf_init(&twice, &mk_alloc_default);
    const mk_code rc = mk_canon_text(&once, &arena, text, NULL, &err);
    if (rc != MK_OK)
        require(err.code == rc && err.offset >= 0 && (size_t)err.offset <= size);
    require(skip_all(text, &err) == rc);
    if (rc == MK_OK) {
        require(mk_utf8_check(mk_buf_view(&once)) == once.n);
        require(mk_canon_text(&twice, &arena, mk_buf_view(&once), NULL, &err) == MK_OK);
        require(mk_str_eq(mk_buf_view(&once), mk_buf_view(&twice)));
    }
    mk_buf_free(&once);
    mk_buf_free(&twice);
    mk_arena_free(&arena);
    return 0;
}

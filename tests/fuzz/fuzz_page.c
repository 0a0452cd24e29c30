/* fuzz_page.c — any bytes as the answer and the bundle that a page is made of.
 *
 * Laws: a page or a typed error; whatever the data is, the page has the two scripts it always has. */
#include <stdlib.h>

#include "agent/page.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const mk_str text = {(const char *)data, size};
    mk_arena arena;
    mk_buf html;
    mk_arena_init(&arena, &mk_alloc_default);
    mk_buf_init(&html, &mk_alloc_default);
    if (mk_html_write(text, text, &arena, &html, NULL) == MK_OK) {
        size_t scripts = 0;
        for (const char *at = html.p; (at = memmem(at, (size_t)(html.p + html.n - at), "<script",
                                                   7)) != NULL; at++)
            scripts++;
        if (scripts != 2)
            abort();
    }
    mk_buf_free(&html);
    mk_arena_free(&arena);
    return 0;
}

/* fuzz_http_head.c — text of a request's head: values in base64, host names and origins, lines of a token
 * file.
 *
 * What is decoded is UTF-8 and no longer than what came; a name that is let in has a letter of loopback in
 * it; a token file gives entries or an error with a line. */
#include <stdlib.h>

#include "serve/http_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool law)
{
    if (!law)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const mk_http http;
    mk_arena arena;
    mk_tokens tokens;
    mk_str value;
    mk_err err;
    if (size > 4096)
        return 0;
    char *text = malloc(size + 1);
    require(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    mk_arena_init(&arena, &mk_alloc_default);
    if (mk_http_header_value(text, &arena, &value)) {
        require(value.n <= strlen(text));
        if (strncmp(text, "=?base64?", 9) == 0 && strlen(text) > 11 &&
            strcmp(text + strlen(text) - 2, "?=") == 0)
            require(mk_utf8_check(value) == value.n);
    }
    if (mk_http__host_allowed(&http, text))
        require(strncasecmp(text, "localhost", 9) == 0 || strncmp(text, "127.0.0.1", 9) == 0 ||
                strncmp(text, "[::1]", 5) == 0);
    if (mk_http__origin_allowed(&http, text))
        require(strncmp(text, "http", 4) == 0 && strpbrk(text + 8, "/@ ") == NULL);
    if (mk_tokens_read(&mk_alloc_default, (mk_str){text, size}, &tokens, &err) == MK_OK) {
        require(tokens.count > 0);
        for (size_t i = 0; i < tokens.count; i++)
            require(tokens.entries[i].scopes != 0 && tokens.entries[i].principal.n != 0);
        mk_tokens_close(&tokens);
    } else {
        require(err.message[0] != '\0');
    }
    mk_arena_free(&arena);
    free(text);
    return 0;
}

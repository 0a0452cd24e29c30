/* token.h — who a bearer token is. Layer: serve.
 *
 * A token file has a line for each token: TOKEN SCOPES PRINCIPAL, between blanks; # begins a comment. Scopes
 * are read, write and admin, with commas, with or without "merkhet:" before them. Only hashes of tokens are
 * kept, and all of them are compared with every token that comes, in constant time. Source: serving spec, 9;
 * decisions.md 8. */
#ifndef MK_SERVE_TOKEN_H
#define MK_SERVE_TOKEN_H

#include "base/arena.h"

enum { MK_SCOPE_READ = 1, MK_SCOPE_WRITE = 2, MK_SCOPE_ADMIN = 4 };

typedef struct mk_token_entry {
    uint8_t hash[32]; /* SHA-256 of the token */
    unsigned scopes;
    mk_str principal;
} mk_token_entry;

typedef struct mk_tokens {
    mk_arena arena;
    mk_token_entry *entries;
    size_t count;
} mk_tokens;

/* Errors: MK_E_INVALID_ARG with the line (a token shorter than 16 bytes, an unknown scope, no principal, no
 * token at all); MK_E_NOMEM. */
MK_CHECK mk_code mk_tokens_read(const mk_alloc *alloc, mk_str text, mk_tokens *out, mk_err *err);
/* Reads a file. Errors: as above; MK_E_NOT_FOUND; MK_E_STATE when others may read it. */
MK_CHECK mk_code mk_tokens_open(const mk_alloc *alloc, const char *path, mk_tokens *out, mk_err *err);
void mk_tokens_close(mk_tokens *tokens);

/* NULL: nobody's. */
const mk_token_entry *mk_tokens_find(const mk_tokens *tokens, mk_str token);

#endif

/* sha256.h — SHA-256 through libcrypto. Layer: base. No allocation, no failure.
 *
 * The low-level interface is used on purpose: eids and vids are hashes of some fifty bytes, where
 * the fetching and context handling of EVP costs several times the hash itself (bench/hash). */
#ifndef MK_BASE_SHA256_H
#define MK_BASE_SHA256_H

#include "base/str.h"

typedef struct mk_sha256 {
    uint64_t opaque[16]; /* holds a SHA256_CTX; checked at compile time */
} mk_sha256;

void mk_sha256_init(mk_sha256 *sha);
void mk_sha256_add(mk_sha256 *sha, const void *p, size_t n);
void mk_sha256_end(mk_sha256 *sha, uint8_t out[32]);
/* All at once. */
void mk_sha256_of(const void *p, size_t n, uint8_t out[32]);

/* Lower-case hex of n bytes, 2n characters, no NUL. */
void mk_hex(char *out, const uint8_t *bytes, size_t n);
/* False unless text is 2n lower-case hex digits. */
bool mk_unhex(mk_str text, uint8_t *out, size_t n);

#endif

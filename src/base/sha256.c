/* sha256.c — SHA-256 through libcrypto's low-level interface. Layer: base. */
#define OPENSSL_API_COMPAT 0x10100000L
#define OPENSSL_SUPPRESS_DEPRECATED
#include "base/sha256.h"

#include <openssl/sha.h>

static_assert(sizeof(mk_sha256) >= sizeof(SHA256_CTX), "mk_sha256 holds a SHA256_CTX");
static_assert(_Alignof(mk_sha256) >= _Alignof(SHA256_CTX), "and is aligned for it");

/* These three cannot fail for SHA-256: their return value is a constant 1. */
void mk_sha256_init(mk_sha256 *sha) { SHA256_Init((SHA256_CTX *)sha); }

void mk_sha256_add(mk_sha256 *sha, const void *p, size_t n)
{
    if (n != 0)
        SHA256_Update((SHA256_CTX *)sha, p, n);
}

void mk_sha256_end(mk_sha256 *sha, uint8_t out[32]) { SHA256_Final(out, (SHA256_CTX *)sha); }

void mk_sha256_of(const void *p, size_t n, uint8_t out[32])
{
    mk_sha256 sha;
    mk_sha256_init(&sha);
    mk_sha256_add(&sha, p, n);
    mk_sha256_end(&sha, out);
}

void mk_hex(char *out, const uint8_t *bytes, size_t n)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return -1;
}

bool mk_unhex(mk_str text, uint8_t *out, size_t n)
{
    if (text.n != 2 * n)
        return false;
    for (size_t i = 0; i < n; i++) {
        const int high = hex_value(text.p[2 * i]), low = hex_value(text.p[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        out[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

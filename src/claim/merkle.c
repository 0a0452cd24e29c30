/* merkle.c — see merkle.h. Layer: claim.
 *
 * The root is folded from left to right over a stack of complete subtrees, one for each bit of the number
 * of leaves read, so no memory beyond 64 hashes is needed. Source: RFC 6962, 2.1; RFC 9162, 2.1.3.2 for
 * climbing. */
#include "claim/merkle.h"

mk_hash32 mk_merkle_leaf(mk_str text)
{
    static const uint8_t zero = 0;
    mk_sha256 sha;
    mk_hash32 out;
    mk_sha256_init(&sha);
    mk_sha256_add(&sha, &zero, 1);
    mk_sha256_add(&sha, text.p, text.n);
    mk_sha256_end(&sha, out.bytes);
    return out;
}

static mk_hash32 join(const mk_hash32 *left, const mk_hash32 *right)
{
    static const uint8_t one = 1;
    mk_sha256 sha;
    mk_hash32 out;
    mk_sha256_init(&sha);
    mk_sha256_add(&sha, &one, 1);
    mk_sha256_add(&sha, left->bytes, sizeof left->bytes);
    mk_sha256_add(&sha, right->bytes, sizeof right->bytes);
    mk_sha256_end(&sha, out.bytes);
    return out;
}

mk_hash32 mk_merkle_root(const mk_hash32 *leaves, size_t count)
{
    mk_hash32 stack[64], root;
    size_t height = 0;
    if (count == 0) {
        mk_sha256_of("", 0, root.bytes);
        return root;
    }
    for (size_t i = 0; i < count; i++) {
        stack[height++] = leaves[i];
        /* Two subtrees of one size become one: as often as the count of leaves so far has zeros at its end. */
        for (size_t n = i + 1; n % 2 == 0; n /= 2) {
            height--;
            stack[height - 1] = join(&stack[height - 1], &stack[height]);
        }
    }
    root = stack[height - 1];
    while (--height > 0)
        root = join(&stack[height - 1], &root);
    return root;
}

/* The largest power of two below n. */
static size_t split_of(size_t n)
{
    size_t k = 1;
    while (k * 2 < n)
        k *= 2;
    return k;
}

size_t mk_merkle_path(const mk_hash32 *leaves, size_t count, size_t index, mk_hash32 path[MK_MERKLE_PATH_MAX])
{
    size_t n = 0;
    mk_hash32 from_top[MK_MERKLE_PATH_MAX];
    while (count > 1 && n < MK_MERKLE_PATH_MAX) {
        const size_t k = split_of(count);
        if (index < k) {
            from_top[n++] = mk_merkle_root(leaves + k, count - k);
            count = k;
        } else {
            from_top[n++] = mk_merkle_root(leaves, k);
            leaves += k;
            index -= k;
            count -= k;
        }
    }
    for (size_t i = 0; i < n; i++)
        path[i] = from_top[n - 1 - i];
    return n;
}

bool mk_merkle_climb(mk_hash32 leaf, size_t index, size_t count, const mk_hash32 *path, size_t path_count,
                     mk_hash32 *root)
{
    size_t at = index, last = count - 1, i = 0;
    mk_hash32 hash = leaf;
    if (count == 0 || index >= count)
        return false;
    for (; i < path_count && last > 0; i++) {
        if (at % 2 == 1 || at == last) {
            hash = join(&path[i], &hash);
            while (at % 2 == 0 && at > 0) {
                at /= 2;
                last /= 2;
            }
        } else {
            hash = join(&hash, &path[i]);
        }
        at /= 2;
        last /= 2;
    }
    *root = hash;
    return i == path_count && last == 0;
}

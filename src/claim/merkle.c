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
        /* Two subtrees of one size become one: as often as the count so far has zeros at its end. */
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

/* Pairs from the left, level by level, split a list where RFC 6962 does: at powers of two. */
void mk_merkle_build(const mk_hash32 *leaves, size_t count, mk_hash32 *room, mk_merkle_tree *out)
{
    *out = (mk_merkle_tree){.levels = {leaves}, .sizes = {count}};
    while (out->sizes[out->height] > 1) {
        const mk_hash32 *below = out->levels[out->height];
        const size_t n = out->sizes[out->height], above = (n + 1) / 2;
        for (size_t i = 0; i < above; i++)
            room[i] = 2 * i + 1 < n ? join(&below[2 * i], &below[2 * i + 1]) : below[2 * i];
        out->height++;
        out->levels[out->height] = room;
        out->sizes[out->height] = above;
        room += above;
    }
}

size_t mk_merkle_path(const mk_merkle_tree *tree, size_t index, mk_hash32 path[MK_MERKLE_PATH_MAX])
{
    size_t n = 0;
    for (size_t level = 0; level < tree->height; level++, index /= 2)
        if ((index ^ 1) < tree->sizes[level])
            path[n++] = tree->levels[level][index ^ 1];
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

/* merkle.h — one hash over a list of texts, and short proofs that a text is in it. Layer: claim.
 *
 * The tree of RFC 6962, section 2.1: a leaf is hashed behind a zero byte, a node behind a one byte, and a
 * list of n leaves is split at the largest power of two below n. Hashes are SHA-256. No failure.
 * Source: Merkle 1987; RFC 6962. */
#ifndef MK_CLAIM_MERKLE_H
#define MK_CLAIM_MERKLE_H

#include "base/sha256.h"

#define MK_MERKLE_PATH_MAX 64

typedef struct mk_hash32 {
    uint8_t bytes[32];
} mk_hash32;

mk_hash32 mk_merkle_leaf(mk_str text);
/* The root over leaf hashes; of no leaves, the hash of nothing. */
mk_hash32 mk_merkle_root(const mk_hash32 *leaves, size_t count);
/* All nodes, level by level from the leaves up; a node without a sibling is also the one above it. */
typedef struct mk_merkle_tree {
    const mk_hash32 *levels[MK_MERKLE_PATH_MAX + 1];
    size_t sizes[MK_MERKLE_PATH_MAX + 1];
    size_t height; /* levels above the leaves */
} mk_merkle_tree;
/* `room` is for the nodes above the leaves: `count` + MK_MERKLE_PATH_MAX are enough. Both are borrowed. */
void mk_merkle_build(const mk_hash32 *leaves, size_t count, mk_hash32 *room, mk_merkle_tree *out);
/* The hashes beside the way from leaf `index` to the root, lowest first. Returns how many. */
size_t mk_merkle_path(const mk_merkle_tree *tree, size_t index, mk_hash32 path[MK_MERKLE_PATH_MAX]);
/* The root that a leaf and its path lead to. False when no list of `count` has such a path. */
bool mk_merkle_climb(mk_hash32 leaf, size_t index, size_t count, const mk_hash32 *path, size_t path_count,
                     mk_hash32 *root);

#endif

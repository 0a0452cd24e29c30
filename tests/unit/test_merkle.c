/* test_merkle.c — the tree's shape, and that proofs hold for their leaf and for nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "claim/merkle.h"

#define LEAVES_MAX 70

static void fill(mk_hash32 *leaves, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char text[] = {(char)i, 'x'};
        leaves[i] = mk_merkle_leaf((mk_str){text, sizeof text});
    }
}

/* Source: RFC 6962, 2.1: the hash of nothing, and of one empty leaf; three leaves split two and one. */
static void test_merkle__known_roots(void **state)
{
    (void)state;
    char hex[64];
    mk_hash32 root = mk_merkle_root(NULL, 0);
    mk_hex(hex, root.bytes, 32);
    assert_memory_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", 64);
    root = mk_merkle_leaf(MK_STR(""));
    mk_hex(hex, root.bytes, 32);
    assert_memory_equal(hex, "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d", 64);
    mk_hash32 leaves[3], two;
    uint8_t node[65] = {1};
    fill(leaves, 3);
    memcpy(node + 1, leaves[0].bytes, 32);
    memcpy(node + 33, leaves[1].bytes, 32);
    mk_sha256_of(node, sizeof node, two.bytes);
    memcpy(node + 1, two.bytes, 32);
    memcpy(node + 33, leaves[2].bytes, 32);
    mk_sha256_of(node, sizeof node, two.bytes);
    root = mk_merkle_root(leaves, 3);
    assert_memory_equal(root.bytes, two.bytes, 32);
}

static void test_merkle__every_leaf_of_every_size_has_its_proof(void **state)
{
    (void)state;
    mk_hash32 leaves[LEAVES_MAX], room[LEAVES_MAX + MK_MERKLE_PATH_MAX], path[MK_MERKLE_PATH_MAX], got;
    mk_merkle_tree tree;
    fill(leaves, LEAVES_MAX);
    for (size_t n = 1; n <= LEAVES_MAX; n++) {
        const mk_hash32 root = mk_merkle_root(leaves, n);
        mk_merkle_build(leaves, n, room, &tree);
        assert_memory_equal(tree.levels[tree.height][0].bytes, root.bytes, 32);
        size_t most = 0;
        while (((size_t)1 << most) < n)
            most++;
        for (size_t i = 0; i < n; i++) {
            const size_t size = mk_merkle_path(&tree, i, path);
            assert_true(size <= most);
            assert_true(mk_merkle_climb(leaves[i], i, n, path, size, &got));
            assert_memory_equal(got.bytes, root.bytes, 32);
            /* Not at another place, not another leaf, not with a path too long or too short. */
            if (n > 1) {
                const size_t other = (i + 1) % n;
                assert_false(mk_merkle_climb(leaves[i], other, n, path, size, &got) &&
                             memcmp(got.bytes, root.bytes, 32) == 0);
                assert_false(mk_merkle_climb(leaves[other], i, n, path, size, &got) &&
                             memcmp(got.bytes, root.bytes, 32) == 0);
                assert_false(mk_merkle_climb(leaves[i], i, n, path, size - 1, &got));
            }
            path[size] = root;
            assert_false(mk_merkle_climb(leaves[i], i, n, path, size + 1, &got));
        }
        assert_false(mk_merkle_climb(leaves[0], n, n, path, 0, &got));
    }
    assert_false(mk_merkle_climb(leaves[0], 0, 0, path, 0, &got));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_merkle__known_roots),
        cmocka_unit_test(test_merkle__every_leaf_of_every_size_has_its_proof),
    };
    return cmocka_run_group_tests_name("merkle", tests, NULL, NULL);
}

/* Columns: every int64 comes back, in memory and from the packed form, at every width and shape. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "store/column.h"
#include "../support/testalloc.h"

static const mk_alloc *const alloc = &mk_alloc_default;

static uint64_t next_random(uint64_t *seed) /* splitmix64 */
{
    uint64_t z = *seed += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

/* Every third row, the last ones first, as 64-bit values and as their lower halves. */
static void check_picks(const mk_col *col, const int64_t *values, uint32_t rows, int64_t *read)
{
    const uint32_t count = (rows + 2) / 3;
    uint32_t *picks = malloc((size_t)(count + 1) * sizeof *picks);
    uint32_t *halves = malloc((size_t)(count + 1) * sizeof *halves);
    assert_non_null(picks);
    assert_non_null(halves);
    for (uint32_t i = 0; i < count; i++)
        picks[i] = (count - 1 - i) * 3;
    mk_col_pick(col, picks, count, read);
    mk_col_pick_u32(col, picks, count, halves);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(read[i], values[picks[i]]);
        assert_int_equal(halves[i], (uint32_t)values[picks[i]]);
    }
    free(picks);
    free(halves);
}

static void check_values(const mk_col *col, const int64_t *values, uint32_t rows)
{
    int64_t *read = malloc((rows + 1) * sizeof *read);
    assert_non_null(read);
    assert_int_equal(col->rows, rows);
    for (uint32_t i = 0; i < rows; i++)
        if (mk_col_get(col, i) != values[i])
            fail_msg("row %u of %u: %lld, not %lld", (unsigned)i, (unsigned)rows,
                     (long long)mk_col_get(col, i), (long long)values[i]);
    mk_col_read(col, 0, rows, read);
    assert_memory_equal(read, values, rows * sizeof *read);
    if (rows > 2) {
        mk_col_read(col, 1, rows - 2, read);
        assert_memory_equal(read, values + 1, (rows - 2) * sizeof *read);
    }
    check_picks(col, values, rows, read);
    free(read);
}

/* Builds, packs, unpacks; returns the width in memory and the size on disk. */
static uint8_t round_trip_sized(const int64_t *values, uint32_t rows, size_t *packed)
{
    mk_col col, back;
    mk_buf buf;
    mk_buf_init(&buf, alloc);
    assert_int_equal(mk_col_build(alloc, values, rows, &col, NULL), MK_OK);
    check_values(&col, values, rows);
    assert_int_equal(mk_col_memory(&col), (size_t)rows * col.width);
    mk_col_encode(&col, &buf);
    assert_int_equal(mk_buf_done(&buf, NULL), MK_OK);
    assert_int_equal(mk_col_decode(alloc, mk_buf_view(&buf), rows, &back, NULL), MK_OK);
    check_values(&back, values, rows);
    const uint8_t width = col.width;
    *packed = buf.n;
    mk_col_free(&col);
    mk_col_free(&back);
    mk_buf_free(&buf);
    return width;
}

static uint8_t round_trip(const int64_t *values, uint32_t rows)
{
    size_t packed;
    return round_trip_sized(values, rows, &packed);
}

/* ---- shapes ---- */

static void test_column__nothing_and_one_value(void **state)
{
    (void)state;
    static const int64_t one[] = {0, 1, -1, INT64_MIN, INT64_MAX};
    assert_int_equal(round_trip(one, 0), 0);
    for (size_t i = 0; i < sizeof one / sizeof *one; i++)
        assert_int_equal(round_trip(one + i, 1), 0);
}

static void test_column__equal_values_and_even_steps_take_no_memory(void **state)
{
    (void)state;
    static const int64_t steps[] = {0, 1, -1, 1000000, INT64_MAX, INT64_MIN, -7};
    int64_t values[10000];
    for (size_t s = 0; s < sizeof steps / sizeof *steps; s++) {
        for (size_t i = 0; i < 10000; i++)
            values[i] = (int64_t)(5 + (uint64_t)steps[s] * i); /* wraps, and must come back so */
        size_t packed;
        assert_int_equal(round_trip_sized(values, 10000, &packed), 0);
        assert_true(packed < 64);
    }
}

static void test_column__the_width_is_the_least_that_fits(void **state)
{
    (void)state;
    static const struct {
        uint64_t span;
        uint8_t width;
    } cases[] = {{1, 1},          {255, 1},        {257, 2},           {65535, 2}, {65537, 4},
                 {UINT32_MAX, 4}, {UINT64_C(1) << 32 | 1, 8}, {UINT64_MAX, 8}};
    static const int64_t bases[] = {0, -1, 1, INT64_MIN, -1000000007};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (size_t b = 0; b < sizeof bases / sizeof *bases; b++) {
            /* A third value, one off, keeps the differences from sharing a factor. */
            const int64_t values[] = {bases[b], (int64_t)((uint64_t)bases[b] + cases[c].span),
                                      (int64_t)((uint64_t)bases[b] + 1), bases[b]};
            const uint8_t width = round_trip(values, 4);
            if (values[1] > values[0]) /* otherwise the sum has wrapped and spans something else */
                assert_int_equal(width, cases[c].width);
        }
}

static void test_column__extremes_side_by_side(void **state)
{
    (void)state;
    const int64_t values[] = {INT64_MIN, INT64_MAX, 0, -1, 1, INT64_MIN + 1, INT64_MAX - 1, INT64_MIN};
    assert_int_equal(round_trip(values, 8), 8);
    const int64_t two[] = {INT64_MAX, INT64_MIN};
    assert_int_equal(round_trip(two, 2), 0); /* a step that wraps */
}

static void test_column__a_common_factor_narrows(void **state)
{
    (void)state;
    static const int64_t factors[] = {2, 3, 1000, 1000000, 86400000000, INT64_C(1) << 40};
    int64_t values[300];
    uint64_t seed = 1;
    for (size_t f = 0; f < sizeof factors / sizeof *factors; f++) {
        for (size_t i = 0; i < 300; i++)
            values[i] = -12345 + factors[f] * (int64_t)(next_random(&seed) % 200);
        assert_int_equal(round_trip(values, 300), 1);
        values[299]++; /* one that does not share it */
        assert_true(round_trip(values, 300) > 1 || factors[f] * 200 < 256);
    }
    /* A factor that only the values after the first few break. */
    for (size_t i = 0; i < 300; i++)
        values[i] = (int64_t)(i * i) * 6000;
    values[250] += 3000;
    round_trip(values, 300);
}

static void test_column__block_borders(void **state)
{
    (void)state;
    static const uint32_t rows[] = {MK_COL_BLOCK - 1, MK_COL_BLOCK, MK_COL_BLOCK + 1, 2 * MK_COL_BLOCK,
                                    2 * MK_COL_BLOCK + 1, 3 * MK_COL_BLOCK - 1};
    int64_t *values = malloc(3 * MK_COL_BLOCK * sizeof *values);
    uint64_t seed = 7;
    assert_non_null(values);
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (unsigned bits = 1; bits <= 64; bits += bits < 8 ? 1 : 7) {
            for (uint32_t i = 0; i < rows[r]; i++)
                values[i] = (int64_t)(next_random(&seed) >> (64 - bits));
            round_trip(values, rows[r]);
            /* One block even, the next not; one block equal, the next wide. */
            for (uint32_t i = 0; i < MK_COL_BLOCK && i < rows[r]; i++)
                values[i] = bits % 2 ? (int64_t)i * 3 : 99;
            round_trip(values, rows[r]);
        }
    free(values);
}

static void test_column__any_mixture_comes_back(void **state)
{
    (void)state;
    int64_t values[600];
    for (uint64_t seed = 1; seed <= 400; seed++) {
        uint64_t s = seed;
        const uint32_t rows = 1 + (uint32_t)(next_random(&s) % 600);
        const unsigned bits = 1 + (unsigned)(next_random(&s) % 64);
        const uint64_t factor = 1 + next_random(&s) % 5000, base = next_random(&s);
        for (uint32_t i = 0; i < rows; i++)
            values[i] = (int64_t)(base + factor * (next_random(&s) >> (64 - bits)));
        round_trip(values, rows);
    }
}

static void test_column__packing_follows_the_bits(void **state)
{
    (void)state;
    static int64_t values[MK_COL_BLOCK];
    uint64_t seed = 3;
    size_t packed;
    for (uint32_t i = 0; i < MK_COL_BLOCK; i++)
        values[i] = (int64_t)(next_random(&seed) % 1024);
    round_trip_sized(values, MK_COL_BLOCK, &packed);
    assert_true(packed <= MK_COL_BLOCK * 10 / 8 + 64); /* ten bits each */
}

static void test_column__lower_finds_the_first_not_below(void **state)
{
    (void)state;
    const int64_t values[] = {INT64_MIN, -5, -5, 0, 3, 3, 3, 900, INT64_MAX};
    static const struct {
        int64_t v;
        uint32_t at;
    } cases[] = {{INT64_MIN, 0}, {INT64_MIN + 1, 1}, {-5, 1},  {-4, 3},
                 {3, 4},         {4, 7},             {901, 8}, {INT64_MAX, 8}};
    mk_col col;
    assert_int_equal(mk_col_build(alloc, values, 9, &col, NULL), MK_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(mk_col_lower(&col, cases[i].v), cases[i].at);
    mk_col_free(&col);
    assert_int_equal(mk_col_build(alloc, values, 7, &col, NULL), MK_OK);
    assert_int_equal(mk_col_lower(&col, 4), 7);
    mk_col_free(&col);
}

/* ---- bad input ---- */

static void test_column__every_truncation_is_refused(void **state)
{
    (void)state;
    static int64_t values[MK_COL_BLOCK + 9];
    mk_col col, back;
    mk_buf buf;
    mk_err err;
    uint64_t seed = 5;
    for (uint32_t i = 0; i < MK_COL_BLOCK + 9; i++)
        values[i] = (int64_t)(next_random(&seed) % 3000);
    mk_buf_init(&buf, alloc);
    assert_int_equal(mk_col_build(alloc, values, MK_COL_BLOCK + 9, &col, NULL), MK_OK);
    mk_col_encode(&col, &buf);
    for (size_t n = 0; n < buf.n; n += n < 100 || n + 60 > buf.n ? 1 : 13) {
        char *exact = malloc(n + 1); /* so that reading behind it is seen */
        assert_non_null(exact);
        memcpy(exact, buf.p, n);
        exact = realloc(exact, n ? n : 1);
        assert_int_equal(mk_col_decode(alloc, (mk_str){exact, n}, MK_COL_BLOCK + 9, &back, &err), MK_E_STATE);
        assert_string_equal(err.reason, "damaged");
        free(exact);
    }
    assert_int_equal(mk_col_decode(alloc, mk_buf_view(&buf), MK_COL_BLOCK + 8, &back, &err), MK_E_STATE);
    mk_col_free(&col);
    mk_buf_free(&buf);
}

static void test_column__hostile_heads_are_refused_cheaply(void **state)
{
    (void)state;
    testalloc ta;
    mk_col back;
    mk_err err;
    uint8_t bytes[64] = {0};
    testalloc_init(&ta);
    /* 4,000 million rows of eight bytes each in a few bytes. */
    mk_put_u32(bytes, UINT32_MAX);
    bytes[4] = 8;
    assert_int_equal(mk_col_decode(&ta.hook, (mk_str){(char *)bytes, 64}, UINT32_MAX, &back, &err),
                     MK_E_STATE);
    assert_int_equal(ta.peak_bytes, 0);
    static const uint8_t widths[] = {3, 5, 6, 7, 9, 16, 64, 255};
    for (size_t i = 0; i < sizeof widths; i++) {
        mk_put_u32(bytes, 4);
        bytes[4] = widths[i];
        assert_int_equal(mk_col_decode(&ta.hook, (mk_str){(char *)bytes, 64}, 4, &back, &err), MK_E_STATE);
    }
    /* A factor of zero, by which reads would divide. */
    bytes[4] = 1;
    assert_int_equal(mk_col_decode(&ta.hook, (mk_str){(char *)bytes, 64}, 4, &back, &err), MK_E_STATE);
    /* More bits than a unit can have. */
    bytes[21] = 1;
    bytes[29] = 65;
    assert_int_equal(mk_col_decode(&ta.hook, (mk_str){(char *)bytes, 64}, 4, &back, &err), MK_E_STATE);
    assert_true(testalloc_is_clean(&ta));
    testalloc_free(&ta);
}

static void test_column__no_memory_is_reported(void **state)
{
    (void)state;
    testalloc ta;
    mk_col col;
    const int64_t values[] = {1, 5, 2};
    testalloc_init(&ta);
    testalloc_fail(&ta, 1, true);
    assert_int_equal(mk_col_build(&ta.hook, values, 3, &col, NULL), MK_E_NOMEM);
    mk_col_free(&col);
    assert_true(testalloc_is_clean(&ta));
    testalloc_free(&ta);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_column__nothing_and_one_value),
        cmocka_unit_test(test_column__equal_values_and_even_steps_take_no_memory),
        cmocka_unit_test(test_column__the_width_is_the_least_that_fits),
        cmocka_unit_test(test_column__extremes_side_by_side),
        cmocka_unit_test(test_column__a_common_factor_narrows),
        cmocka_unit_test(test_column__block_borders),
        cmocka_unit_test(test_column__any_mixture_comes_back),
        cmocka_unit_test(test_column__packing_follows_the_bits),
        cmocka_unit_test(test_column__lower_finds_the_first_not_below),
        cmocka_unit_test(test_column__every_truncation_is_refused),
        cmocka_unit_test(test_column__hostile_heads_are_refused_cheaply),
        cmocka_unit_test(test_column__no_memory_is_reported),
    };
    return cmocka_run_group_tests_name("column", tests, NULL, NULL);
}

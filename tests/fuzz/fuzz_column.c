/* fuzz_column.c — any bytes as a packed column, and any numbers through one and back.
 *
 * Bit 0 of the first byte chooses: the rest is a packed column with whatever number of rows it claims,
 * or the rest is values, eight bytes each. What decodes must pack and decode again to the same values. */
#include <stdlib.h>

#include "store/column.h"

#define ROWS_READ 65536u /* a column without units may claim any number of rows */

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void same_after_packing(const mk_col *col)
{
    mk_col back;
    mk_buf buf;
    mk_buf_init(&buf, &mk_alloc_default);
    mk_col_encode(col, &buf);
    must(mk_col_decode(&mk_alloc_default, mk_buf_view(&buf), col->rows, &back, NULL) == MK_OK);
    const uint32_t rows = col->rows < ROWS_READ ? col->rows : ROWS_READ;
    int64_t values[64];
    for (uint32_t from = 0; from < rows; from += 64) {
        const uint32_t n = rows - from < 64 ? rows - from : 64;
        mk_col_read(&back, from, n, values);
        for (uint32_t i = 0; i < n; i++)
            must(values[i] == mk_col_get(col, from + i));
    }
    must(mk_col_lower(col, INT64_MIN) == 0 || col->rows != 0);
    mk_col_free(&back);
    mk_buf_free(&buf);
}

static void from_bytes(const uint8_t *p, size_t n)
{
    mk_col col;
    char *exact = malloc(n ? n : 1); /* so that reading past the end is seen */
    if (exact == NULL)
        return;
    memcpy(exact, p, n);
    const uint32_t rows = n < 4 ? 0 : mk_get_u32(p);
    if (mk_col_decode(&mk_alloc_default, (mk_str){exact, n}, rows, &col, NULL) == MK_OK) {
        same_after_packing(&col);
        mk_col_free(&col);
    }
    free(exact);
}

static void from_values(const uint8_t *p, size_t n)
{
    mk_col col;
    const uint32_t rows = (uint32_t)(n / 8);
    int64_t *values = calloc(rows + 1, sizeof *values);
    if (values == NULL)
        return;
    for (uint32_t i = 0; i < rows; i++)
        values[i] = (int64_t)mk_get_u64(p + 8 * (size_t)i);
    if (mk_col_build(&mk_alloc_default, values, rows, &col, NULL) == MK_OK) {
        for (uint32_t i = 0; i < rows; i++)
            must(mk_col_get(&col, i) == values[i]);
        same_after_packing(&col);
        mk_col_free(&col);
    }
    free(values);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    if (data[0] & 1)
        from_bytes(data + 1, size - 1);
    else
        from_values(data + 1, size - 1);
    return 0;
}

/* column.h — one immutable column of integers, narrow in memory and packed on disk. Layer: store.
 *
 * In memory value(i) = base + step*i + factor*data[i], where data is an array of 0, 1, 2, 4 or 8 byte
 * units: any row is one load away. `factor` is what all differences have in common, so microsecond
 * times of second data take a millionth of the range; `step` serves runs that count up evenly, as
 * discriminators in file order do, and is used only when width is 0. All arithmetic wraps, so every
 * int64 is kept exactly. On disk the units are packed in blocks of 4,096 at a bit width each.
 * Source: STORAGE.md, "Segment"; the frame-of-reference scheme of Goldstein et al. 1998. */
#ifndef MK_STORE_COLUMN_H
#define MK_STORE_COLUMN_H

#include "base/str.h"

#define MK_COL_BLOCK 4096u

typedef struct mk_col {
    uint32_t rows;
    uint8_t width; /* bytes a unit: 0, 1, 2, 4, 8 */
    uint64_t base, step, factor;
    void *data;
    size_t data_size;
    const mk_alloc *alloc;
} mk_col;

static inline int64_t mk_col_get(const mk_col *col, uint32_t row)
{
    uint64_t unit;
    switch (col->width) {
    case 0: return (int64_t)(col->base + col->step * row);
    case 1: unit = ((const uint8_t *)col->data)[row]; break;
    case 2: unit = ((const uint16_t *)col->data)[row]; break;
    case 4: unit = ((const uint32_t *)col->data)[row]; break;
    default: unit = ((const uint64_t *)col->data)[row]; break;
    }
    return (int64_t)(col->base + col->factor * unit);
}
static inline uint32_t mk_col_u32(const mk_col *col, uint32_t row)
{
    return (uint32_t)mk_col_get(col, row);
}

/* Asks for the row's unit, for loops that know where they go next. */
static inline void mk_col_prefetch(const mk_col *col, uint32_t row)
{
    if (col->width != 0)
        __builtin_prefetch((const char *)col->data + (size_t)row * col->width);
}

/* Packs values[0..rows). Frees nothing on failure but what it made itself. */
MK_CHECK mk_code mk_col_build(const mk_alloc *alloc, const int64_t *values, uint32_t rows,
                              mk_col *out, mk_err *err);
/* Packs small unsigned values, none above `most`, without looking for a base or a factor. */
MK_CHECK mk_code mk_col_from_u32(const mk_alloc *alloc, const uint32_t *values, uint32_t rows,
                                 uint32_t most, mk_col *out, mk_err *err);
void mk_col_free(mk_col *col);
/* values[0..count) of rows [from, from + count). */
void mk_col_read(const mk_col *col, uint32_t from, uint32_t count, int64_t *values);
/* The same for columns of values in [0, 2^32). */
void mk_col_read_u32(const mk_col *col, uint32_t from, uint32_t count, uint32_t *values);
/* values[i] of row rows[i]. */
void mk_col_pick(const mk_col *col, const uint32_t *rows, uint32_t count, int64_t *values);
/* The same for columns of values in [0, 2^32). */
void mk_col_pick_u32(const mk_col *col, const uint32_t *rows, uint32_t count, uint32_t *values);
/* flags[i] |= (value of row from + i is above v), or not above it when `upto`. For columns of values in
 * [0, 2^32), such as batch numbers; compares stored units, several at a time, and decodes nothing. */
void mk_col_flag_above(const mk_col *col, uint32_t from, uint32_t count, uint32_t v, bool upto,
                       uint8_t *flags);
size_t mk_col_memory(const mk_col *col);

/* Appends the packed form to `out`. */
void mk_col_encode(const mk_col *col, mk_buf *out);
/* Unpacks one; `rows` is what the caller expects. Errors: MK_E_STATE (reason "damaged"), MK_E_NOMEM.
 * Safe on hostile bytes. */
MK_CHECK mk_code mk_col_decode(const mk_alloc *alloc, mk_str bytes, uint32_t rows, mk_col *out,
                               mk_err *err);

/* First row in [0, rows) whose value is >= v, for a column in ascending order. */
uint32_t mk_col_lower(const mk_col *col, int64_t v);

/* Little-endian scalars, for everything the store writes. */
static inline void mk_put_u16(uint8_t *p, uint16_t v) { p[0] = (uint8_t)v; p[1] = (uint8_t)(v >> 8); }
static inline void mk_put_u32(uint8_t *p, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(v >> (8 * i));
}
static inline void mk_put_u64(uint8_t *p, uint64_t v)
{
    for (int i = 0; i < 8; i++)
        p[i] = (uint8_t)(v >> (8 * i));
}
static inline uint32_t mk_get_u32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}
static inline uint64_t mk_get_u64(const uint8_t *p)
{
    return (uint64_t)mk_get_u32(p) | (uint64_t)mk_get_u32(p + 4) << 32;
}

#endif

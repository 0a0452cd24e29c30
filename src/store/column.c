/* column.c — building, packing and reading integer columns. Layer: store.
 *
 * Packed form: u32 rows, u8 width, u64 base, u64 step, u64 factor, then for each block of 4,096 units
 * u8 bits, u64 smallest unit, u64 step inside the block, and the units packed least significant bit
 * first, padded to a byte. Nothing follows the head of a column of width 0. */
#include "store/column.h"

#include <string.h>

#define HEAD_SIZE 29u
#define BLOCK_HEAD 17u

/* ---- exact division by what all differences share ---- */

/* Division of multiples by `d`, without a division: d = odd << shift, and for an exact multiple the
 * quotient is (x >> shift) * odd^-1 modulo 2^64. For anything else the product exceeds `most`. */
typedef struct divider {
    uint64_t d, inverse, most;
    unsigned shift;
} divider;

static divider divider_of(uint64_t d)
{
    const unsigned shift = (unsigned)__builtin_ctzll(d);
    const uint64_t odd = d >> shift;
    uint64_t inverse = odd;
    for (int i = 0; i < 5; i++)
        inverse *= 2 - odd * inverse; /* Newton; doubles the right bits each time */
    return (divider){d, inverse, UINT64_MAX / odd, shift};
}

static bool divides(const divider *by, uint64_t x)
{
    const uint64_t low = by->shift ? x & ((UINT64_C(1) << by->shift) - 1) : 0;
    return low == 0 && (x >> by->shift) * by->inverse <= by->most >> by->shift;
}

static uint64_t quotient(const divider *by, uint64_t x) { return (x >> by->shift) * by->inverse; }

static uint64_t gcd(uint64_t a, uint64_t b)
{
    while (b != 0) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Greatest common divisor of all values[i] - base; 1 when they are all equal. */
static uint64_t common_factor(const int64_t *values, uint32_t rows, uint64_t base)
{
    uint64_t g = 0;
    for (uint32_t i = 0; i < rows; i++) {
        g = gcd(g, (uint64_t)values[i] - base);
        if (g == 1)
            return 1;
        if (i == 31)
            break;
    }
    if (g == 0)
        for (uint32_t i = 32; i < rows && g == 0; i++)
            g = (uint64_t)values[i] - base;
    if (g <= 1)
        return 1;
    divider by = divider_of(g);
    for (uint32_t i = 0; i < rows; i++) {
        const uint64_t x = (uint64_t)values[i] - base;
        if (divides(&by, x))
            continue;
        g = gcd(g, x);
        if (g == 1)
            return 1;
        by = divider_of(g);
    }
    return g;
}

/* ---- building ---- */

static bool even_steps(const int64_t *values, uint32_t rows, uint64_t *step)
{
    *step = rows > 1 ? (uint64_t)values[1] - (uint64_t)values[0] : 0;
    for (uint32_t i = 2; i < rows; i++)
        if ((uint64_t)values[i] - (uint64_t)values[i - 1] != *step)
            return false;
    return true;
}

static uint8_t width_for(uint64_t most)
{
    return most == 0 ? 0 : most <= UINT8_MAX ? 1 : most <= UINT16_MAX ? 2 : most <= UINT32_MAX ? 4 : 8;
}

static void store_units(mk_col *col, const int64_t *values)
{
    const divider by = divider_of(col->factor);
    const uint64_t base = col->base;
#define STORE(type)                                                                                \
    for (uint32_t i = 0; i < col->rows; i++)                                                       \
    ((type *)col->data)[i] = (type)quotient(&by, (uint64_t)values[i] - base)
    switch (col->width) {
    case 1: STORE(uint8_t); break;
    case 2: STORE(uint16_t); break;
    case 4: STORE(uint32_t); break;
    default: STORE(uint64_t); break;
    }
#undef STORE
}

static mk_code reserve_data(mk_col *col, mk_err *err)
{
    col->data_size = (size_t)col->rows * col->width;
    if (col->data_size == 0)
        return MK_OK;
    col->data = mk_new(col->alloc, col->data_size);
    return col->data ? MK_OK : mk_fail_nomem(err);
}

mk_code mk_col_build(const mk_alloc *alloc, const int64_t *values, uint32_t rows, mk_col *out,
                     mk_err *err)
{
    *out = (mk_col){.rows = rows, .factor = 1, .alloc = alloc};
    if (rows == 0)
        return MK_OK;
    out->base = (uint64_t)values[0];
    if (even_steps(values, rows, &out->step))
        return MK_OK;
    out->step = 0;
    int64_t low = values[0], high = values[0];
    for (uint32_t i = 1; i < rows; i++) {
        low = values[i] < low ? values[i] : low;
        high = values[i] > high ? values[i] : high;
    }
    out->base = (uint64_t)low;
    const uint64_t span = (uint64_t)high - (uint64_t)low;
    /* A factor is looked for only where it can make the units narrower. */
    if (span > UINT8_MAX)
        out->factor = common_factor(values, rows, out->base);
    out->width = width_for(span / out->factor);
    const mk_code rc = reserve_data(out, err);
    if (rc == MK_OK)
        store_units(out, values);
    return rc;
}

mk_code mk_col_from_u32(const mk_alloc *alloc, const uint32_t *values, uint32_t rows, uint32_t most,
                        mk_col *out, mk_err *err)
{
    *out = (mk_col){.rows = rows, .factor = 1, .alloc = alloc, .width = width_for(most)};
    const mk_code rc = reserve_data(out, err);
    if (rc != MK_OK || out->width == 0)
        return rc;
    if (out->width == 4)
        memcpy(out->data, values, out->data_size);
    else if (out->width == 2)
        for (uint32_t i = 0; i < rows; i++)
            ((uint16_t *)out->data)[i] = (uint16_t)values[i];
    else
        for (uint32_t i = 0; i < rows; i++)
            ((uint8_t *)out->data)[i] = (uint8_t)values[i];
    return MK_OK;
}

void mk_col_free(mk_col *col)
{
    mk_free(col->alloc, col->data, col->data_size);
    col->data = NULL;
    col->data_size = 0;
}

/* Most columns have no factor, and without one their loops are as fast as memory: not every processor that this
 * is built for can multiply several values at once. */
#define LOAD(type, value)                                                                          \
    do {                                                                                           \
        const type *units = (const type *)col->data + from;                                        \
        if (factor == 1)                                                                           \
            for (uint32_t i = 0; i < count; i++)                                                   \
                values[i] = (value)(base + units[i]);                                              \
        else                                                                                       \
            for (uint32_t i = 0; i < count; i++)                                                   \
                values[i] = (value)(base + factor * units[i]);                                     \
    } while (0)

void mk_col_read(const mk_col *col, uint32_t from, uint32_t count, int64_t *restrict values)
{
    const uint64_t base = col->base, factor = col->factor;
    switch (col->width) {
    case 0:
        for (uint32_t i = 0; i < count; i++)
            values[i] = (int64_t)(base + col->step * (uint64_t)(from + i));
        break;
    case 1: LOAD(uint8_t, int64_t); break;
    case 2: LOAD(uint16_t, int64_t); break;
    case 4: LOAD(uint32_t, int64_t); break;
    default: LOAD(uint64_t, int64_t); break;
    }
}

void mk_col_read_u32(const mk_col *col, uint32_t from, uint32_t count, uint32_t *restrict values)
{
    const uint32_t base = (uint32_t)col->base, factor = (uint32_t)col->factor;
    switch (col->width) {
    case 0:
        for (uint32_t i = 0; i < count; i++)
            values[i] = base + (uint32_t)col->step * (from + i);
        break;
    case 1: LOAD(uint8_t, uint32_t); break;
    case 2: LOAD(uint16_t, uint32_t); break;
    case 4: LOAD(uint32_t, uint32_t); break;
    default: LOAD(uint64_t, uint32_t); break;
    }
}
#undef LOAD

#define PICK(type, value)                                                                          \
    for (uint32_t i = 0; i < count; i++)                                                           \
    values[i] = (value)(base + factor * ((const type *)col->data)[rows[i]])

void mk_col_pick(const mk_col *col, const uint32_t *rows, uint32_t count, int64_t *values)
{
    const uint64_t base = col->base, factor = col->factor;
    switch (col->width) {
    case 0:
        for (uint32_t i = 0; i < count; i++)
            values[i] = (int64_t)(base + col->step * rows[i]);
        break;
    case 1: PICK(uint8_t, int64_t); break;
    case 2: PICK(uint16_t, int64_t); break;
    case 4: PICK(uint32_t, int64_t); break;
    default: PICK(uint64_t, int64_t); break;
    }
}

void mk_col_pick_u32(const mk_col *col, const uint32_t *rows, uint32_t count, uint32_t *values)
{
    const uint64_t base = col->base, factor = col->factor;
    switch (col->width) {
    case 0:
        for (uint32_t i = 0; i < count; i++)
            values[i] = (uint32_t)(base + col->step * rows[i]);
        break;
    case 1: PICK(uint8_t, uint32_t); break;
    case 2: PICK(uint16_t, uint32_t); break;
    case 4: PICK(uint32_t, uint32_t); break;
    default: PICK(uint64_t, uint32_t); break;
    }
}
#undef PICK

void mk_col_flag_above(const mk_col *col, uint32_t from, uint32_t count, uint32_t v, bool upto,
                       uint8_t *flags)
{
    const uint8_t flip = upto;
    if (col->width == 0) {
        for (uint32_t i = 0; i < count; i++)
            flags[i] |= (uint8_t)(mk_col_u32(col, from + i) > v) ^ flip;
        return;
    }
    if (v < col->base) { /* every value is above */
        for (uint32_t i = 0; i < count; i++)
            flags[i] |= 1 ^ flip;
        return;
    }
    const uint64_t most = (v - col->base) / col->factor;
#define FLAG(type, limit)                                                                          \
    do {                                                                                           \
        const type *units = (const type *)col->data + from;                                        \
        const type t = (type)(most < (limit) ? most : (limit));                                    \
        for (uint32_t i = 0; i < count; i++)                                                       \
            flags[i] |= (uint8_t)(units[i] > t) ^ flip;                                            \
    } while (0)
    switch (col->width) {
    case 1: FLAG(uint8_t, UINT8_MAX); break;
    case 2: FLAG(uint16_t, UINT16_MAX); break;
    case 4: FLAG(uint32_t, UINT32_MAX); break;
    default: FLAG(uint64_t, UINT64_MAX); break;
    }
#undef FLAG
}

size_t mk_col_memory(const mk_col *col) { return col->data_size; }

uint32_t mk_col_lower(const mk_col *col, int64_t v)
{
    uint32_t low = 0, high = col->rows;
    while (low < high) {
        const uint32_t mid = low + (high - low) / 2;
        if (mk_col_get(col, mid) < v)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* ---- packing ---- */

static void load_units(const mk_col *col, uint32_t from, uint32_t count, uint64_t *units)
{
#define LOAD(type)                                                                                 \
    for (uint32_t i = 0; i < count; i++)                                                           \
    units[i] = ((const type *)col->data)[from + i]
    switch (col->width) {
    case 1: LOAD(uint8_t); break;
    case 2: LOAD(uint16_t); break;
    case 4: LOAD(uint32_t); break;
    default: LOAD(uint64_t); break;
    }
#undef LOAD
}

static unsigned bits_for(uint64_t most) { return most ? 64u - (unsigned)__builtin_clzll(most) : 0; }

/* Least significant bit first; whole bytes are stored eight at a time where there is room. */
static void pack(uint8_t *p, const uint64_t *units, uint32_t count, uint64_t low, unsigned bits)
{
    uint64_t window = 0;
    unsigned held = 0;
    for (uint32_t i = 0; i < count && bits != 0; i++) {
        const uint64_t unit = units[i] - low;
        window |= unit << held;
        if (held + bits < 64) {
            held += bits;
            continue;
        }
        mk_put_u64(p, window);
        p += 8;
        const unsigned used = 64 - held; /* bits of the unit that are out; 1 to 64 */
        window = used < 64 ? unit >> used : 0;
        held = held + bits - 64;
    }
    for (; held > 0; held -= held < 8 ? held : 8, window >>= 8)
        *p++ = (uint8_t)window;
}

static void encode_block(const mk_col *col, uint32_t from, uint32_t count, mk_buf *out)
{
    uint64_t units[MK_COL_BLOCK];
    uint64_t low = UINT64_MAX, high = 0;
    load_units(col, from, count, units);
    for (uint32_t i = 0; i < count; i++) {
        low = units[i] < low ? units[i] : low;
        high = units[i] > high ? units[i] : high;
    }
    uint64_t step = count > 1 ? units[1] - units[0] : 0;
    for (uint32_t i = 2; i < count && step != 0; i++)
        if (units[i] - units[i - 1] != step)
            step = 0;
    const unsigned bits = step ? 0 : bits_for(high - low);
    const size_t packed = ((size_t)count * bits + 7) / 8;
    uint8_t *p = (uint8_t *)mk_buf_room(out, BLOCK_HEAD + packed);
    if (p == NULL)
        return;
    p[0] = (uint8_t)bits;
    mk_put_u64(p + 1, step ? units[0] : low);
    mk_put_u64(p + 9, step);
    p += BLOCK_HEAD;
    pack(p, units, count, low, bits);
    out->n += BLOCK_HEAD + packed;
}

void mk_col_encode(const mk_col *col, mk_buf *out)
{
    uint8_t *p = (uint8_t *)mk_buf_room(out, HEAD_SIZE);
    if (p == NULL)
        return;
    mk_put_u32(p, col->rows);
    p[4] = col->width;
    mk_put_u64(p + 5, col->base);
    mk_put_u64(p + 13, col->step);
    mk_put_u64(p + 21, col->factor);
    out->n += HEAD_SIZE;
    if (col->width == 0)
        return;
    for (uint64_t from = 0; from < col->rows; from += MK_COL_BLOCK) {
        const uint32_t left = col->rows - (uint32_t)from;
        encode_block(col, (uint32_t)from, left < MK_COL_BLOCK ? left : MK_COL_BLOCK, out);
    }
}

/* Up to 64 bits at bit position `bit` of p, which has `size` bytes. */
static uint64_t bits_at(const uint8_t *p, size_t size, size_t bit, unsigned bits)
{
    const size_t byte = bit >> 3;
    const unsigned shift = bit & 7;
    unsigned __int128 window = 0;
    if (size - byte >= 16)
        memcpy(&window, p + byte, 16);
    else
        for (size_t i = size - byte; i-- > 0;)
            window = window << 8 | p[byte + i];
    const uint64_t mask = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
    return (uint64_t)(window >> shift) & mask;
}

/* One packed block: `count` units of `bits` bits, or a run that starts at `low` and goes on by `step`. */
typedef struct packed_block {
    const uint8_t *p;
    size_t size;
    uint32_t count;
    unsigned bits;
    uint64_t low, step;
} packed_block;

/* One loop per width of unit in memory. Units of up to 32 bits come out of one eight-byte load as long as
 * there are eight bytes to load. */
#define DEFINE_UNPACK(type)                                                                        \
    static void unpack_##type(type *units, const packed_block *block)                              \
    {                                                                                              \
        const uint64_t low = block->low, step = block->step;                                       \
        const unsigned bits = block->bits;                                                         \
        uint32_t i = 0;                                                                            \
        if (bits == 0) {                                                                           \
            for (; i < block->count; i++)                                                          \
                units[i] = (type)(low + step * i);                                                 \
            return;                                                                                \
        }                                                                                          \
        if (bits <= 32) {                                                                          \
            const uint64_t mask = (UINT64_C(1) << bits) - 1;                                       \
            const size_t whole = block->size >= 8 ? (block->size - 8) * 8 / bits : 0;              \
            const uint32_t fast = whole < block->count ? (uint32_t)whole : block->count;           \
            size_t bit = 0;                                                                        \
            for (; i < fast; i++, bit += bits) {                                                   \
                uint64_t window;                                                                   \
                memcpy(&window, block->p + (bit >> 3), sizeof window);                             \
                units[i] = (type)(low + (window >> (bit & 7) & mask));                             \
            }                                                                                      \
        }                                                                                          \
        for (; i < block->count; i++)                                                              \
            units[i] = (type)(low + bits_at(block->p, block->size, (size_t)i * bits, bits));       \
    }
DEFINE_UNPACK(uint8_t)
DEFINE_UNPACK(uint16_t)
DEFINE_UNPACK(uint32_t)
DEFINE_UNPACK(uint64_t)
#undef DEFINE_UNPACK

static bool decode_block(mk_col *col, uint32_t from, uint32_t count, mk_str *rest)
{
    const uint8_t *p = (const uint8_t *)rest->p;
    if (rest->n < BLOCK_HEAD || p[0] > 64)
        return false;
    packed_block block = {p + BLOCK_HEAD, 0, count, p[0], mk_get_u64(p + 1), mk_get_u64(p + 9)};
    block.size = ((size_t)count * block.bits + 7) / 8;
    if (rest->n - BLOCK_HEAD < block.size)
        return false;
    switch (col->width) {
    case 1: unpack_uint8_t((uint8_t *)col->data + from, &block); break;
    case 2: unpack_uint16_t((uint16_t *)col->data + from, &block); break;
    case 4: unpack_uint32_t((uint32_t *)col->data + from, &block); break;
    default: unpack_uint64_t((uint64_t *)col->data + from, &block); break;
    }
    rest->p += BLOCK_HEAD + block.size;
    rest->n -= BLOCK_HEAD + block.size;
    return true;
}

static mk_code damaged(mk_err *err)
{
    mk_fail(err, MK_E_STATE, "a packed column is damaged");
    mk_err_reason(err, "damaged");
    mk_err_hint(err, "run `merkhet rebuild`: the log has everything");
    return MK_E_STATE;
}

mk_code mk_col_decode(const mk_alloc *alloc, mk_str bytes, uint32_t rows, mk_col *out, mk_err *err)
{
    const uint8_t *p = (const uint8_t *)bytes.p;
    *out = (mk_col){.alloc = alloc};
    if (bytes.n < HEAD_SIZE || mk_get_u32(p) != rows)
        return damaged(err);
    const uint8_t width = p[4];
    if (width != 0 && width != 1 && width != 2 && width != 4 && width != 8)
        return damaged(err);
    *out = (mk_col){.rows = rows,
                    .width = width,
                    .base = mk_get_u64(p + 5),
                    .step = mk_get_u64(p + 13),
                    .factor = mk_get_u64(p + 21),
                    .alloc = alloc};
    if (out->factor == 0) /* it divides */
        return damaged(err);
    mk_str rest = {bytes.p + HEAD_SIZE, bytes.n - HEAD_SIZE};
    /* Every block takes at least its head, which bounds what hostile bytes can make us allocate. */
    if (width != 0 && rest.n / BLOCK_HEAD < ((uint64_t)rows + MK_COL_BLOCK - 1) / MK_COL_BLOCK)
        return damaged(err);
    mk_code rc = reserve_data(out, err);
    if (rc != MK_OK)
        return rc;
    for (uint64_t from = 0; width != 0 && from < rows; from += MK_COL_BLOCK) {
        const uint32_t count = rows - from < MK_COL_BLOCK ? rows - (uint32_t)from : MK_COL_BLOCK;
        if (!decode_block(out, (uint32_t)from, count, &rest)) {
            mk_col_free(out);
            return damaged(err);
        }
    }
    return MK_OK;
}

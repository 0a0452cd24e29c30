/* segment.c — building segments, their lists, ends and identity tables. Layer: store. */
#include "store/segment.h"

#include <string.h>

#include "base/hash.h"

/* ---- sorting ---- */

/* Stable radix sort of (key, payload) pairs by the bits of key in which they differ. */
typedef struct pair {
    uint64_t key;
    uint32_t value;
} pair;

#define RADIX_BITS 11u
#define RADIX_SIZE (1u << RADIX_BITS)

static void radix_pass(const pair *from, pair *to, uint32_t count, unsigned shift)
{
    uint32_t at[RADIX_SIZE] = {0};
    for (uint32_t i = 0; i < count; i++)
        at[from[i].key >> shift & (RADIX_SIZE - 1)]++;
    uint32_t sum = 0;
    for (uint32_t d = 0; d < RADIX_SIZE; d++) {
        const uint32_t n = at[d];
        at[d] = sum;
        sum += n;
    }
    for (uint32_t i = 0; i < count; i++)
        to[at[from[i].key >> shift & (RADIX_SIZE - 1)]++] = from[i];
}

/* Sorts pairs; the result is in the returned one of the two arrays. */
static pair *radix_sort(pair *pairs, pair *other, uint32_t count)
{
    uint64_t differ = 0;
    for (uint32_t i = 1; i < count; i++)
        differ |= pairs[i].key ^ pairs[0].key;
    for (unsigned shift = 0; shift < 64 && differ >> shift != 0; shift += RADIX_BITS) {
        if ((differ >> shift & (RADIX_SIZE - 1)) == 0)
            continue;
        radix_pass(pairs, other, count, shift);
        pair *swap = pairs;
        pairs = other;
        other = swap;
    }
    return pairs;
}

/* Signed order as unsigned order. */
static uint64_t biased(int64_t v) { return (uint64_t)v ^ UINT64_C(1) << 63; }

static mk_code sort_ties(const mk_rows *rows, uint32_t *order, mk_tie_fn *tie, void *ctx,
                         mk_err *err)
{
    const int64_t *vt_s = rows->col[MK_C_VT_S];
    for (uint32_t from = 0; from < rows->count;) {
        uint32_t to = from + 1;
        while (to < rows->count && vt_s[order[to]] == vt_s[order[from]])
            to++;
        if (to - from > 1) {
            const mk_code rc = tie(ctx, rows, order + from, to - from, err);
            if (rc != MK_OK)
                return rc;
        }
        from = to;
    }
    return MK_OK;
}

/* order[] becomes the rows in scan order; *identity tells that they are in it already. */
static mk_code scan_order(const mk_alloc *alloc, const mk_rows *rows, uint32_t *order,
                          bool *identity, mk_tie_fn *tie, void *ctx, mk_err *err)
{
    const uint32_t n = rows->count;
    const int64_t *vt_s = rows->col[MK_C_VT_S];
    bool ascending = true;
    for (uint32_t i = 0; i < n; i++) {
        order[i] = i;
        ascending &= i == 0 || vt_s[i - 1] <= vt_s[i];
    }
    if (!ascending) {
        const size_t size = (size_t)n * 2 * sizeof(pair);
        pair *pairs = mk_new(alloc, size);
        if (pairs == NULL)
            return mk_fail_nomem(err);
        for (uint32_t i = 0; i < n; i++)
            pairs[i] = (pair){biased(vt_s[i]), i};
        const pair *sorted = radix_sort(pairs, pairs + n, n);
        for (uint32_t i = 0; i < n; i++)
            order[i] = sorted[i].value;
        mk_free(alloc, pairs, size);
    }
    const mk_code rc = tie ? sort_ties(rows, order, tie, ctx, err) : MK_OK;
    *identity = rc == MK_OK;
    for (uint32_t i = 0; i < n && *identity; i++)
        *identity = order[i] == i;
    return rc;
}

/* ---- columns ---- */

static mk_code set_col(mk_segment *segment, mk_col_id id, const int64_t *values, uint32_t count,
                       mk_err *err)
{
    mk_loaded_col *loaded = mk_new(segment->alloc, sizeof *loaded);
    if (loaded == NULL)
        return mk_fail_nomem(err);
    const mk_code rc = mk_col_build(segment->alloc, values, count, &loaded->col, err);
    if (rc != MK_OK) {
        mk_free(segment->alloc, loaded, sizeof *loaded);
        return rc;
    }
    atomic_store_explicit(&segment->cols[id], loaded, memory_order_release);
    return MK_OK;
}

static mk_zone zone_of(const mk_rows *rows)
{
    mk_zone zone = {INT64_MAX, INT64_MIN, INT64_MIN, UINT32_MAX, 0, 0};
    for (uint32_t i = 0; i < rows->count; i++) {
        const int64_t vt_s = rows->col[MK_C_VT_S][i], vt_e = rows->col[MK_C_VT_E][i];
        const uint32_t seq_s = (uint32_t)rows->col[MK_C_SEQ_S][i];
        const uint32_t seq_e = (uint32_t)rows->col[MK_C_SEQ_E][i];
        zone.vt_s_min = vt_s < zone.vt_s_min ? vt_s : zone.vt_s_min;
        zone.vt_s_max = vt_s > zone.vt_s_max ? vt_s : zone.vt_s_max;
        zone.vt_e_max = vt_e > zone.vt_e_max ? vt_e : zone.vt_e_max;
        zone.seq_s_min = seq_s < zone.seq_s_min ? seq_s : zone.seq_s_min;
        zone.seq_s_max = seq_s > zone.seq_s_max ? seq_s : zone.seq_s_max;
        zone.seq_e_max = seq_e > zone.seq_e_max ? seq_e : zone.seq_e_max;
    }
    return zone;
}

/* Ends as durations when these span less than the ends themselves. */
static bool shorter_as_duration(const mk_rows *rows)
{
    uint64_t low_d = UINT64_MAX, high_d = 0, low_e = UINT64_MAX, high_e = 0;
    for (uint32_t i = 0; i < rows->count; i++) {
        const uint64_t e = biased(rows->col[MK_C_VT_E][i]);
        const uint64_t d = biased((int64_t)((uint64_t)rows->col[MK_C_VT_E][i] -
                                            (uint64_t)rows->col[MK_C_VT_S][i]));
        low_e = e < low_e ? e : low_e;
        high_e = e > high_e ? e : high_e;
        low_d = d < low_d ? d : low_d;
        high_d = d > high_d ? d : high_d;
    }
    return high_d - low_d < high_e - low_e;
}

static mk_code build_columns(mk_segment *segment, const mk_rows *rows, const uint32_t *order,
                             int64_t *values, mk_err *err)
{
    segment->end_is_duration = shorter_as_duration(rows);
    for (mk_col_id id = 0; id < MK_C_ROW_COLUMNS; id++) {
        const int64_t *from = rows->col[id];
        if (order != NULL) {
            for (uint32_t i = 0; i < rows->count; i++)
                values[i] = from[order[i]];
            from = values;
        }
        if (id == MK_C_VT_E && segment->end_is_duration) {
            const int64_t *vt_s = rows->col[MK_C_VT_S];
            for (uint32_t i = 0; i < rows->count; i++)
                values[i] = (int64_t)((uint64_t)from[i] - (uint64_t)vt_s[order ? order[i] : i]);
            from = values;
        }
        const mk_code rc = set_col(segment, id, from, rows->count, err);
        if (rc != MK_OK)
            return rc;
    }
    return MK_OK;
}

static mk_code build_heap(mk_segment *segment, const mk_rows *rows, mk_err *err)
{
    uint64_t size = 0;
    for (uint32_t i = 0; i < rows->text_count; i++)
        size += rows->texts[i].n;
    int64_t *ends = mk_new(segment->alloc, (size_t)rows->text_count * sizeof *ends);
    char *heap = mk_new(segment->alloc, size);
    mk_code rc = MK_OK;
    if (ends == NULL || heap == NULL) {
        rc = mk_fail_nomem(err);
        goto out;
    }
    uint64_t at = 0;
    for (uint32_t i = 0; i < rows->text_count; i++) {
        memcpy(heap + at, rows->texts[i].p, rows->texts[i].n);
        at += rows->texts[i].n;
        ends[i] = (int64_t)at;
    }
    MK_TRY(rc, set_col(segment, MK_C_PROPS_ENDS, ends, rows->text_count, err));
    segment->heap_size = size;
    atomic_store_explicit(&segment->heap, heap, memory_order_release);
    heap = NULL;
out:
    mk_free(segment->alloc, heap, size);
    mk_free(segment->alloc, ends, (size_t)rows->text_count * sizeof *ends);
    return rc;
}

/* ---- lists ---- */

/* Scratch for one list: everything of the size of the rows or of the key range. */
typedef struct list_scratch {
    uint32_t *key_of, *rows;
    int64_t *keys, *starts;
} list_scratch;

/* Few keys over a narrow range: count, and let the starts be indexed by key when at least a quarter
 * of the range is used. Returns the number of keys written. */
static uint32_t count_into(uint32_t rows, uint32_t low, uint32_t range, uint32_t *count,
                           list_scratch *s)
{
    memset(count, 0, ((size_t)range + 1) * sizeof *count);
    for (uint32_t i = 0; i < rows; i++)
        count[s->key_of[i] - low]++;
    uint32_t distinct = 0, sum = 0;
    for (uint32_t k = 0; k < range; k++) {
        const uint32_t n = count[k];
        distinct += n != 0;
        count[k] = sum;
        sum += n;
    }
    const bool dense = range <= 4 * (uint64_t)distinct;
    uint32_t keys = 0;
    for (uint32_t k = 0; k < range; k++) {
        const uint32_t next = k + 1 < range ? count[k + 1] : sum;
        if (!dense && next == count[k])
            continue;
        s->keys[keys] = (int64_t)low + k;
        s->starts[keys++] = count[k];
    }
    for (uint32_t i = 0; i < rows; i++)
        s->rows[count[s->key_of[i] - low]++] = i;
    return keys;
}

static uint32_t sort_into(uint32_t rows, pair *pairs, list_scratch *s)
{
    for (uint32_t i = 0; i < rows; i++)
        pairs[i] = (pair){s->key_of[i], i};
    const pair *sorted = radix_sort(pairs, pairs + rows, rows);
    uint32_t keys = 0;
    for (uint32_t i = 0; i < rows; i++) {
        s->rows[i] = sorted[i].value;
        if (i == 0 || sorted[i].key != sorted[i - 1].key) {
            s->keys[keys] = (int64_t)sorted[i].key;
            s->starts[keys++] = i;
        }
    }
    return keys;
}

/* Row numbers as a column: known to run from 0 to rows - 1, so nothing is looked for. */
static mk_code set_row_list(mk_segment *segment, mk_col_id id, const uint32_t *rows, uint32_t count,
                            mk_err *err)
{
    mk_loaded_col *loaded = mk_new(segment->alloc, sizeof *loaded);
    if (loaded == NULL)
        return mk_fail_nomem(err);
    const mk_code rc = mk_col_from_u32(segment->alloc, rows, count, count - 1, &loaded->col, err);
    if (rc != MK_OK) {
        mk_free(segment->alloc, loaded, sizeof *loaded);
        return rc;
    }
    atomic_store_explicit(&segment->cols[id], loaded, memory_order_release);
    return MK_OK;
}

static mk_code build_list(mk_segment *segment, const mk_rows *rows, const uint32_t *order,
                          mk_col_id by, mk_col_id keys_id, mk_err *err)
{
    const mk_alloc *alloc = segment->alloc;
    const uint32_t n = rows->count;
    const size_t row_room = (size_t)n * 2 * sizeof(uint32_t);
    uint32_t low = UINT32_MAX, high = 0;
    list_scratch s = {0};
    size_t key_room = 0, work_room = 0;
    void *work = NULL;
    mk_code rc = MK_OK;
    s.key_of = mk_new(alloc, row_room);
    if (s.key_of == NULL) {
        rc = mk_fail_nomem(err);
        goto out;
    }
    s.rows = s.key_of + n;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t key = (uint32_t)rows->col[by][order ? order[i] : i];
        s.key_of[i] = key;
        low = key < low ? key : low;
        high = key > high ? key : high;
    }
    const uint64_t range = (uint64_t)high - low + 1;
    const bool narrow = range <= 4 * (uint64_t)n + 1024;
    key_room = (narrow ? (size_t)range : n) * 2 * sizeof(int64_t);
    work_room = narrow ? ((size_t)range + 1) * sizeof(uint32_t) : (size_t)n * 2 * sizeof(pair);
    s.keys = mk_new(alloc, key_room);
    work = mk_new(alloc, work_room);
    if (s.keys == NULL || work == NULL) {
        rc = mk_fail_nomem(err);
        goto out;
    }
    s.starts = s.keys + (narrow ? (size_t)range : n);
    const uint32_t keys =
        narrow ? count_into(n, low, (uint32_t)range, work, &s) : sort_into(n, work, &s);
    MK_TRY(rc, set_col(segment, keys_id, s.keys, keys, err));
    MK_TRY(rc, set_col(segment, keys_id + 1, s.starts, keys, err));
    MK_TRY(rc, set_row_list(segment, keys_id + 2, s.rows, n, err));
out:
    mk_free(alloc, work, work_room);
    mk_free(alloc, s.keys, key_room);
    mk_free(alloc, s.key_of, row_room);
    return rc;
}

mk_code mk_segment_group(mk_segment *segment, int side, uint32_t key, const mk_col **list,
                         uint32_t *from, uint32_t *to, mk_err *err)
{
    const mk_col_id first = side ? MK_C_B_KEYS : MK_C_A_KEYS;
    const mk_col *keys, *starts;
    mk_code rc;
    *from = *to = 0;
    MK_TRY(rc, mk_segment_col(segment, first, &keys, err));
    uint32_t at;
    if (keys->width == 0 && (keys->step == 1 || keys->rows <= 1)) {
        const int64_t distance = (int64_t)key - (int64_t)keys->base;
        if (distance < 0 || distance >= (int64_t)keys->rows)
            goto out;
        at = (uint32_t)distance;
    } else {
        at = mk_col_lower(keys, key);
        if (at == keys->rows || mk_col_u32(keys, at) != key)
            goto out;
    }
    MK_TRY(rc, mk_segment_col(segment, first + 1, &starts, err));
    MK_TRY(rc, mk_segment_col(segment, first + 2, list, err));
    const bool matched = starts->rows == keys->rows;
    *from = matched ? mk_col_u32(starts, at) : 1;
    *to = !matched ? 0 : at + 1 < starts->rows ? mk_col_u32(starts, at + 1) : segment->rows;
    if (*from > *to) { /* only a file can say so; rows and starts are in range, loading saw to it */
        *from = *to = 0;
        rc = mk_fail(err, MK_E_STATE, "%s: a list of rows is damaged",
                     segment->path ? segment->path : "segment");
        mk_err_reason(err, "damaged");
        mk_err_hint(err, "run `merkhet rebuild`: the log has everything");
    }
out:
    return rc;
}

/* ---- life ---- */

mk_code mk_segment_build(const mk_alloc *alloc, mk_lane lane, bool past, uint64_t id,
                         const mk_rows *rows, bool presorted, mk_tie_fn *tie, void *ctx,
                         mk_segment **out, mk_err *err)
{
    mk_code rc = MK_OK;
    const size_t order_size = (size_t)rows->count * sizeof(uint32_t);
    const size_t values_size = (size_t)rows->count * sizeof(int64_t);
    uint32_t *order = NULL;
    int64_t *values = mk_new(alloc, values_size);
    mk_segment *segment = mk_new0(alloc, sizeof *segment);
    if (segment != NULL)
        segment->alloc = alloc;
    if (segment == NULL || values == NULL) {
        rc = mk_fail_nomem(err);
        goto out;
    }
    segment->id = id;
    segment->lane = lane;
    segment->past = past;
    segment->rows = rows->count;
    segment->zone = zone_of(rows);
    if (!presorted) {
        order = mk_new(alloc, order_size);
        if (order == NULL) {
            rc = mk_fail_nomem(err);
            goto out;
        }
        bool identity = false;
        MK_TRY(rc, scan_order(alloc, rows, order, &identity,
                              mk_lane_is_ordered(lane, past) ? tie : NULL, ctx, err));
        if (identity) {
            mk_free(alloc, order, order_size);
            order = NULL;
        }
    }
    MK_TRY(rc, build_columns(segment, rows, order, values, err));
    MK_TRY(rc, build_heap(segment, rows, err));
    MK_TRY(rc, build_list(segment, rows, order, MK_C_A, MK_C_A_KEYS, err));
    if (!mk_lane_is_node(lane))
        MK_TRY(rc, build_list(segment, rows, order, MK_C_B, MK_C_B_KEYS, err));
    *out = segment;
    segment = NULL;
out:
    mk_free(alloc, order, order_size);
    mk_free(alloc, values, values_size);
    mk_segment_free(segment);
    return rc;
}

void mk_segment_free(mk_segment *segment)
{
    if (segment == NULL)
        return;
    const mk_alloc *alloc = segment->alloc;
    for (int id = 0; id < MK_C_COUNT; id++) {
        mk_loaded_col *loaded = atomic_load(&segment->cols[id]);
        if (loaded != NULL)
            mk_col_free(&loaded->col);
        mk_free(alloc, loaded, sizeof *loaded);
    }
    mk_free(alloc, atomic_load(&segment->heap), segment->heap_size);
    mk_ends *ends = atomic_load(&segment->ends);
    if (ends != NULL)
        mk_free(alloc, ends, ends->size);
    mk_span_ends *span_ends = atomic_load(&segment->span_ends);
    if (span_ends != NULL)
        mk_free(alloc, span_ends, span_ends->size);
    mk_free(alloc, segment->ident, segment->ident_slots * sizeof *segment->ident);
    mk_free(alloc, segment->late_ends, segment->late_cap * sizeof *segment->late_ends);
    if (segment->file != NULL)
        segment->fs->close(segment->fs->ctx, segment->file);
    if (segment->path != NULL)
        mk_free(alloc, segment->path, strlen(segment->path) + 1);
    mk_free(alloc, segment, sizeof *segment);
}

size_t mk_segment_memory(const mk_segment *segment)
{
    size_t total = sizeof *segment + segment->ident_slots * sizeof *segment->ident;
    for (int id = 0; id < MK_C_COUNT; id++) {
        const mk_loaded_col *loaded = atomic_load(&segment->cols[id]);
        if (loaded != NULL)
            total += sizeof *loaded + mk_col_memory(&loaded->col);
    }
    if (atomic_load(&segment->heap) != NULL)
        total += segment->heap_size;
    const mk_span_ends *span_ends = atomic_load(&segment->span_ends);
    total += span_ends ? span_ends->size : 0;
    const mk_ends *ends = atomic_load(&segment->ends);
    return total + (ends ? ends->size : 0);
}

static mk_span_ends *make_span_ends(const mk_segment *segment, const mk_col *vt_s, const mk_col *vt_e)
{
    int64_t starts[MK_SPAN_ROWS], ends[MK_SPAN_ROWS];
    const uint32_t count = MK_SPANS(segment->rows);
    mk_span_ends *made;
    const size_t size = sizeof *made + count * sizeof made->of[0];
    made = mk_new(segment->alloc, size);
    if (made == NULL)
        return NULL;
    made->size = size;
    for (uint32_t span = 0; span < count; span++) {
        const uint32_t from = span * MK_SPAN_ROWS;
        const uint32_t n = segment->rows - from < MK_SPAN_ROWS ? segment->rows - from : MK_SPAN_ROWS;
        int64_t least = INT64_MAX, most = INT64_MIN;
        mk_col_read(vt_s, from, n, starts);
        mk_col_read(vt_e, from, n, ends);
        for (uint32_t i = 0; i < n; i++) {
            const int64_t end = mk_end_of(segment, starts[i], ends[i]);
            least = end < least ? end : least;
            most = end > most ? end : most;
        }
        made->of[span].min = least;
        made->of[span].max = most;
    }
    return made;
}

mk_code mk_segment_span_ends(mk_segment *segment, const mk_span_ends **out, mk_err *err)
{
    const mk_col *vt_s, *vt_e;
    mk_code rc;
    mk_span_ends *there = atomic_load_explicit(&segment->span_ends, memory_order_acquire);
    if (there != NULL) {
        *out = there;
        return MK_OK;
    }
    MK_TRY(rc, mk_segment_col(segment, MK_C_VT_S, &vt_s, err));
    MK_TRY(rc, mk_segment_col(segment, MK_C_VT_E, &vt_e, err));
    mk_span_ends *made = make_span_ends(segment, vt_s, vt_e);
    if (made == NULL)
        return mk_fail_nomem(err);
    if (!atomic_compare_exchange_strong(&segment->span_ends, &there, made)) {
        mk_free(segment->alloc, made, made->size); /* another reader was faster */
        made = there;
    }
    *out = made;
out:
    return rc;
}

/* ---- ends ---- */

mk_code mk_segment_end(mk_segment *segment, uint32_t row, uint32_t seq, mk_err *err)
{
    mk_ends *ends = atomic_load_explicit(&segment->ends, memory_order_relaxed);
    if (segment->merging) {
        const mk_code rc =
            mk_grow(segment->alloc, (void **)&segment->late_ends, &segment->late_cap,
                    segment->late_count + 1, sizeof *segment->late_ends, err);
        if (rc != MK_OK)
            return rc;
    }
    if (ends == NULL) {
        const size_t spans = MK_SPANS(segment->rows) * sizeof(uint32_t);
        const size_t size = sizeof *ends + (size_t)segment->rows * sizeof(uint32_t) + spans;
        ends = mk_new(segment->alloc, size);
        if (ends == NULL)
            return mk_fail_nomem(err);
        ends->size = size;
        memset((void *)ends->seq, 0xFF, (size_t)segment->rows * sizeof(uint32_t));
        memset((void *)(ends->seq + segment->rows), 0, spans);
        atomic_store_explicit(&segment->ends, ends, memory_order_release);
    }
    if (segment->merging)
        segment->late_ends[segment->late_count++] = row;
    atomic_store_explicit(&ends->seq[row], seq, memory_order_relaxed);
    atomic_fetch_or_explicit(&ends->seq[segment->rows + row / MK_SPAN_ROWS],
                             UINT32_C(1) << row % MK_SPAN_ROWS / MK_SPAN_GROUP, memory_order_relaxed);
    segment->ended++;
    return MK_OK;
}

/* ---- identities ----
 *
 * Open addressing over the rows still believed. A slot holds row + 1 in its low bits and as many bits of
 * the hash as are left above it, so that most misses cost one load. A row found ended is buried under
 * a tombstone, which keeps a lookup flat however long the history of an identity grows. */

#define TOMBSTONE UINT32_MAX

uint64_t mk_ident_hash(const mk_ident *ident)
{
    if (ident->node)
        return mk_mix64(ident->a + UINT64_C(0x9E3779B97F4A7C15));
    const uint64_t ends = (uint64_t)ident->a << 32 | ident->b;
    return mk_mix64(mk_mix64(ends) ^ ((uint64_t)ident->disc * UINT64_C(0x9E3779B97F4A7C15) + ident->rel));
}

typedef struct ident_cols {
    const mk_col *a, *b, *rel, *disc;
    bool node;
} ident_cols;

static mk_code load_ident_cols(mk_segment *segment, ident_cols *cols, mk_err *err)
{
    mk_code rc;
    cols->node = mk_lane_is_node(segment->lane);
    MK_TRY(rc, mk_segment_col(segment, MK_C_A, &cols->a, err));
    MK_TRY(rc, mk_segment_col(segment, MK_C_B, &cols->b, err));
    MK_TRY(rc, mk_segment_col(segment, MK_C_REL, &cols->rel, err));
    MK_TRY(rc, mk_segment_col(segment, MK_C_DISC, &cols->disc, err));
out:
    return rc;
}

static mk_ident ident_at(const ident_cols *cols, uint32_t row)
{
    mk_ident ident = {.node = cols->node, .a = mk_col_u32(cols->a, row)};
    if (!cols->node) {
        ident.b = mk_col_u32(cols->b, row);
        ident.rel = mk_col_u32(cols->rel, row);
        ident.disc = mk_col_get(cols->disc, row);
    }
    return ident;
}

static bool ident_equal(const mk_ident *x, const mk_ident *y)
{
    return x->a == y->a && (x->node || (x->b == y->b && x->rel == y->rel && x->disc == y->disc));
}

/* Bits that hold row + 1; at least one bit is left for tombstones to be told apart. */
static unsigned row_bits(const mk_segment *segment)
{
    return 32u - (unsigned)__builtin_clz(segment->rows | 1);
}

static uint32_t tagged(const mk_segment *segment, uint64_t hash, uint32_t row)
{
    const unsigned bits = row_bits(segment);
    const uint32_t tag = bits < 32 ? (uint32_t)(hash >> 40) << bits : 0;
    const uint32_t slot = tag | (row + 1);
    return slot == TOMBSTONE ? slot ^ (UINT32_C(1) << 31) : slot;
}

static uint32_t slot_row(const mk_segment *segment, uint32_t slot)
{
    const unsigned bits = row_bits(segment);
    return (bits < 32 ? slot & ((UINT32_C(1) << bits) - 1) : slot) - 1;
}

static void ident_put(mk_segment *segment, uint64_t hash, uint32_t row)
{
    const size_t mask = segment->ident_slots - 1;
    size_t at = hash & mask;
    while (segment->ident[at] != 0 && segment->ident[at] != TOMBSTONE)
        at = (at + 1) & mask;
    segment->ident[at] = tagged(segment, hash, row);
}

static mk_code build_ident(mk_segment *segment, mk_err *err)
{
    ident_cols cols;
    mk_code rc;
    MK_TRY(rc, load_ident_cols(segment, &cols, err));
    size_t slots = 64;
    while (slots * 3 < (size_t)segment->rows * 4)
        slots *= 2;
    segment->ident = mk_new0(segment->alloc, slots * sizeof *segment->ident);
    if (segment->ident == NULL) {
        rc = mk_fail_nomem(err);
        goto out;
    }
    segment->ident_slots = slots;
    for (uint32_t row = 0; row < segment->rows; row++) {
        if (mk_segment_end_seq(segment, row) != MK_SEQ_OPEN)
            continue;
        const mk_ident ident = ident_at(&cols, row);
        ident_put(segment, mk_ident_hash(&ident), row);
    }
out:
    return rc;
}

/* The first lookups, as after opening a store, go through the list of the node or source instead: making
 * a table costs about as much as this share of its rows in walks. Longer lists are not walked. */
#define ROWS_PER_WALK 64u
#define WALK_MAX 128u

/* *walked false: the list is too long. */
static mk_code find_by_list(mk_segment *segment, const mk_ident *ident,
                            mk_code (*each)(void *ctx, mk_segment *segment, uint32_t row, mk_err *err),
                            void *ctx, bool *walked, mk_err *err)
{
    ident_cols cols;
    const mk_col *list;
    uint32_t from, to;
    mk_code rc;
    MK_TRY(rc, mk_segment_group(segment, 0, ident->a, &list, &from, &to, err));
    *walked = to - from <= WALK_MAX;
    if (!*walked || from == to)
        goto out;
    MK_TRY(rc, load_ident_cols(segment, &cols, err));
    for (uint32_t i = from; i < to; i++) {
        const uint32_t row = mk_col_u32(list, i);
        const mk_ident other = ident_at(&cols, row);
        if (ident_equal(&other, ident) && mk_segment_end_seq(segment, row) == MK_SEQ_OPEN)
            MK_TRY(rc, each(ctx, segment, row, err));
    }
out:
    return rc;
}

mk_code mk_segment_find(mk_segment *segment, const mk_ident *ident,
                        mk_code (*each)(void *ctx, mk_segment *segment, uint32_t row, mk_err *err),
                        void *ctx, mk_err *err)
{
    ident_cols cols;
    mk_code rc;
    if (segment->ident == NULL && segment->lookups++ < segment->rows / ROWS_PER_WALK) {
        bool walked;
        rc = find_by_list(segment, ident, each, ctx, &walked, err);
        if (rc != MK_OK || walked)
            return rc;
    }
    if (segment->ident == NULL)
        MK_TRY(rc, build_ident(segment, err));
    MK_TRY(rc, load_ident_cols(segment, &cols, err));
    const uint64_t hash = mk_ident_hash(ident);
    const size_t mask = segment->ident_slots - 1;
    const unsigned bits = row_bits(segment);
    const uint32_t tag = bits < 32 ? (uint32_t)(hash >> 40) << bits : 0;
    const uint32_t tag_mask = bits < 31 ? ~((UINT32_C(1) << bits) - 1) & 0x7FFFFFFFu : 0;
    for (size_t at = hash & mask; segment->ident[at] != 0; at = (at + 1) & mask) {
        const uint32_t slot = segment->ident[at];
        if (slot == TOMBSTONE || ((slot ^ tag) & tag_mask) != 0)
            continue;
        const uint32_t row = slot_row(segment, slot);
        if (mk_segment_end_seq(segment, row) != MK_SEQ_OPEN) {
            segment->ident[at] = TOMBSTONE;
            continue;
        }
        const mk_ident other = ident_at(&cols, row);
        if (ident_equal(&other, ident))
            MK_TRY(rc, each(ctx, segment, row, err));
    }
out:
    return rc;
}

/* A row believed again goes back into the table unless its slot was never buried. The columns are
 * loaded, since a lookup found the row before it was ended. */
static void ident_restore(mk_segment *segment, uint32_t row)
{
    ident_cols cols;
    if (segment->ident == NULL || load_ident_cols(segment, &cols, NULL) != MK_OK)
        return;
    const mk_ident ident = ident_at(&cols, row);
    const uint64_t hash = mk_ident_hash(&ident);
    const size_t mask = segment->ident_slots - 1;
    for (size_t at = hash & mask; segment->ident[at] != 0; at = (at + 1) & mask)
        if (segment->ident[at] != TOMBSTONE && slot_row(segment, segment->ident[at]) == row)
            return;
    ident_put(segment, hash, row);
}

void mk_segment_unend(mk_segment *segment, uint32_t row)
{
    mk_ends *ends = atomic_load_explicit(&segment->ends, memory_order_relaxed);
    atomic_store_explicit(&ends->seq[row], MK_SEQ_OPEN, memory_order_relaxed);
    segment->ended--;
    segment->merge_spoiled |= segment->merging;
    ident_restore(segment, row);
}

/* Segments: order, lists, ends, lookups by identity, and the file that holds all of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "store/segment.h"
#include "../support/simfs.h"
#include "../support/testalloc.h"

static const mk_alloc *const alloc = &mk_alloc_default;

static uint64_t next_random(uint64_t *seed) /* splitmix64 */
{
    uint64_t z = *seed += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

/* ---- rows ---- */

#define ROWS_MAX 6000

static int64_t room[MK_C_ROW_COLUMNS][ROWS_MAX];
static const mk_str texts[] = {{"{}", 2}, {"{\"n\":1}", 7}, {"{\"name\":\"x\"}", 12}};

static mk_rows no_rows(void)
{
    mk_rows rows = {.texts = texts, .text_count = 3};
    for (int id = 0; id < MK_C_ROW_COLUMNS; id++)
        rows.col[id] = room[id];
    return rows;
}

static void add_row(mk_rows *rows, int64_t vt_s, int64_t vt_e, uint32_t a, uint32_t b, int64_t disc)
{
    const uint32_t i = rows->count++;
    const int64_t v[MK_C_ROW_COLUMNS] = {vt_s, vt_e, a, b, i % 4, disc, i % 2, i % 3, 1 + i / 2, MK_SEQ_OPEN};
    assert_true(i < ROWS_MAX);
    for (int id = 0; id < MK_C_ROW_COLUMNS; id++)
        room[id][i] = v[id];
}

/* Edges over `nodes` ids that are `apart`; a third of the starts are shared. */
static mk_rows random_edges(uint64_t seed, uint32_t count, uint32_t nodes, uint32_t apart)
{
    mk_rows rows = no_rows();
    for (uint32_t i = 0; i < count; i++) {
        const int64_t vt_s = (int64_t)(next_random(&seed) % (count * 3)) * 1000000;
        const uint32_t a = (uint32_t)(next_random(&seed) % nodes) * apart;
        const uint32_t b = (uint32_t)(next_random(&seed) % nodes) * apart + 1;
        add_row(&rows, vt_s, vt_s + 1 + (int64_t)(next_random(&seed) % 100), a, b, (int64_t)(i % 5) * 2);
    }
    return rows;
}

/* Ties in order of falling props code, then log order: nothing that sorting by accident would give. */
static mk_code by_props_falling(void *ctx, const mk_rows *rows, uint32_t *group, uint32_t count, mk_err *err)
{
    unsigned *calls = ctx;
    (void)err;
    if (calls != NULL)
        ++*calls;
    for (uint32_t i = 1; i < count; i++) {
        const uint32_t moved = group[i];
        uint32_t at = i;
        for (; at > 0 && rows->col[MK_C_PROPS][group[at - 1]] < rows->col[MK_C_PROPS][moved]; at--)
            group[at] = group[at - 1];
        group[at] = moved;
    }
    return MK_OK;
}

static mk_segment *build(mk_lane lane, bool past, const mk_rows *rows)
{
    mk_segment *segment = NULL;
    assert_int_equal(mk_segment_build(alloc, lane, past, 7, rows, false, by_props_falling, NULL, &segment,
                                      NULL), MK_OK);
    return segment;
}

static int64_t value(mk_segment *segment, mk_col_id id, uint32_t row)
{
    const mk_col *col;
    assert_int_equal(mk_segment_col(segment, id, &col, NULL), MK_OK);
    const int64_t v = mk_col_get(col, row);
    return id == MK_C_VT_E ? mk_end_of(segment, value(segment, MK_C_VT_S, row), v) : v;
}

/* ---- building ---- */

static void test_segment__rows_come_in_scan_order(void **state)
{
    (void)state;
    mk_rows rows = no_rows();
    static const int64_t starts[] = {50, -3, 50, INT64_MIN, 50, 7, INT64_MAX - 1, -3};
    for (size_t i = 0; i < 8; i++)
        add_row(&rows, starts[i], starts[i] + 1, (uint32_t)i, 9, 0);
    mk_segment *segment = build(MK_LANE_INSTANT, false, &rows);
    /* Props codes are i % 3, so the three at 50 come as 2, 4, 0 and the two at -3 in log order. */
    static const uint32_t expected[] = {3, 1, 7, 5, 2, 4, 0, 6};
    assert_int_equal(segment->rows, 8);
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(value(segment, MK_C_A, i), expected[i]);
        assert_int_equal(value(segment, MK_C_VT_S, i), starts[expected[i]]);
        assert_int_equal(value(segment, MK_C_VT_E, i), starts[expected[i]] + 1);
        assert_int_equal(value(segment, MK_C_SEQ_S, i), 1 + expected[i] / 2);
    }
    mk_segment_free(segment);
}

static void test_segment__a_sorted_load_asks_only_about_ties(void **state)
{
    (void)state;
    unsigned calls = 0;
    mk_segment *segment;
    mk_rows rows = no_rows();
    for (uint32_t i = 0; i < 100; i++)
        add_row(&rows, i < 50 ? i : 50 + (i - 50) / 2, 1000, i, 1, 0);
    assert_int_equal(mk_segment_build(alloc, MK_LANE_INTERVAL, false, 1, &rows, false, by_props_falling,
                                      &calls, &segment, NULL), MK_OK);
    assert_int_equal(calls, 25);
    mk_segment_free(segment);
    calls = 0;
    assert_int_equal(mk_segment_build(alloc, MK_LANE_INTERVAL, false, 1, &rows, true, by_props_falling,
                                      &calls, &segment, NULL), MK_OK);
    assert_int_equal(calls, 0);
    for (uint32_t i = 0; i < 100; i++)
        assert_int_equal(value(segment, MK_C_A, i), i);
    mk_segment_free(segment);
}

static void test_segment__the_zone_spans_all_rows(void **state)
{
    (void)state;
    mk_rows rows = no_rows();
    add_row(&rows, 10, 500, 1, 2, 0);
    add_row(&rows, -20, 30, 1, 2, 0);
    add_row(&rows, 15, 16, 1, 2, 0);
    mk_segment *segment = build(MK_LANE_INTERVAL, false, &rows);
    assert_int_equal(segment->zone.vt_s_min, -20);
    assert_int_equal(segment->zone.vt_s_max, 15);
    assert_int_equal(segment->zone.vt_e_max, 500);
    assert_int_equal(segment->zone.seq_s_min, 1);
    assert_int_equal(segment->zone.seq_s_max, 2);
    mk_segment_free(segment);
}

static void test_segment__ends_come_back_whatever_their_distance(void **state)
{
    (void)state;
    mk_rows rows = no_rows();
    static const int64_t ends[] = {INT64_MAX, INT64_MIN + 2, 0, 5, INT64_MAX - 7};
    static const int64_t starts[] = {INT64_MIN, INT64_MIN + 1, -1, 4, 0};
    for (size_t i = 0; i < 5; i++)
        add_row(&rows, starts[i], ends[i], (uint32_t)i, 1, 0);
    mk_segment *segment = build(MK_LANE_INTERVAL, false, &rows);
    for (uint32_t row = 0; row < 5; row++)
        assert_int_equal(value(segment, MK_C_VT_E, row), ends[value(segment, MK_C_A, row)]);
    mk_segment_free(segment);
    rows = no_rows();
    for (uint32_t i = 0; i < 2000; i++)
        add_row(&rows, (int64_t)i * i, (int64_t)i * i + 1, i, 1, 0);
    segment = build(MK_LANE_INSTANT, false, &rows);
    assert_true(segment->end_is_duration);
    const mk_col *col;
    assert_int_equal(mk_segment_col(segment, MK_C_VT_E, &col, NULL), MK_OK);
    assert_int_equal(mk_col_memory(col), 0); /* a constant duration takes nothing */
    mk_segment_free(segment);
}

/* ---- lists ---- */

/* What the list of a key holds is what a scan of the column finds, in the same order. */
static void check_group(mk_segment *segment, int side, uint32_t key)
{
    const mk_col *list = NULL;
    uint32_t from, to, at;
    assert_int_equal(mk_segment_group(segment, side, key, &list, &from, &to, NULL), MK_OK);
    at = from;
    for (uint32_t row = 0; row < segment->rows; row++)
        if ((uint32_t)value(segment, side ? MK_C_B : MK_C_A, row) == key) {
            assert_true(at < to);
            assert_int_equal(mk_col_u32(list, at++), row);
        }
    assert_int_equal(at, to);
}

static void check_groups(mk_segment *segment, uint32_t nodes, uint32_t apart)
{
    for (uint32_t i = 0; i < nodes; i++) {
        check_group(segment, 0, i * apart);
        check_group(segment, 1, i * apart + 1);
        check_group(segment, 0, i * apart + 2);
    }
    check_group(segment, 0, UINT32_MAX - 1);
    check_group(segment, 1, 0);
}

static void test_segment__lists_of_dense_and_sparse_keys(void **state)
{
    (void)state;
    static const struct {
        uint32_t rows, nodes, apart;
    } shapes[] = {{600, 20, 1},   {600, 300, 1}, {600, 20, 3},       {600, 20, 100000},
                  {300, 4000, 7}, {1, 1, 1},     {2, 1000, 1000000}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const mk_rows rows = random_edges(i, shapes[i].rows, shapes[i].nodes, shapes[i].apart);
        mk_segment *segment = build(MK_LANE_INTERVAL, false, &rows);
        check_groups(segment, shapes[i].nodes < 40 ? shapes[i].nodes : 40, shapes[i].apart);
        mk_segment_free(segment);
    }
}

static void test_segment__nodes_are_listed_by_uid(void **state)
{
    (void)state;
    mk_rows rows = no_rows();
    for (uint32_t i = 0; i < 100; i++)
        add_row(&rows, 100 - i, 200, i % 9, MK_NONE, 0);
    mk_segment *segment = build(MK_LANE_NODE, false, &rows);
    for (uint32_t key = 0; key < 10; key++)
        check_group(segment, 0, key);
    mk_segment_free(segment);
}

/* ---- props ---- */

static void test_segment__props_by_row(void **state)
{
    (void)state;
    const mk_rows rows = random_edges(3, 50, 5, 1);
    mk_segment *segment = build(MK_LANE_INTERVAL, false, &rows);
    for (uint32_t row = 0; row < 50; row++) {
        mk_str text;
        assert_int_equal(mk_segment_props(segment, row, &text, NULL), MK_OK);
        assert_true(mk_str_eq(text, texts[value(segment, MK_C_PROPS, row)]));
    }
    mk_segment_free(segment);
}

/* ---- ends and identities ---- */

typedef struct found {
    uint32_t rows[ROWS_MAX];
    uint32_t count;
} found;

static mk_code add_found(void *ctx, mk_segment *segment, uint32_t row, mk_err *err)
{
    found *f = ctx;
    (void)segment, (void)err;
    f->rows[f->count++] = row;
    return MK_OK;
}

static int by_number(const void *x, const void *y)
{
    const uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    return a < b ? -1 : a > b;
}

static mk_ident ident_of(mk_segment *segment, uint32_t row)
{
    if (mk_lane_is_node(segment->lane))
        return (mk_ident){.node = true, .a = (uint32_t)value(segment, MK_C_A, row)};
    return (mk_ident){false, (uint32_t)value(segment, MK_C_A, row), (uint32_t)value(segment, MK_C_B, row),
                      (uint32_t)value(segment, MK_C_REL, row), value(segment, MK_C_DISC, row)};
}

static bool same_ident(const mk_ident *x, const mk_ident *y)
{
    return x->a == y->a && (x->node || (x->b == y->b && x->rel == y->rel && x->disc == y->disc));
}

/* The lookup finds what a scan finds. */
static void check_find(mk_segment *segment, mk_ident ident)
{
    static found f;
    f.count = 0;
    assert_int_equal(mk_segment_find(segment, &ident, add_found, &f, NULL), MK_OK);
    if (f.count != 0)
        qsort(f.rows, f.count, sizeof *f.rows, by_number);
    uint32_t at = 0;
    for (uint32_t row = 0; row < segment->rows; row++) {
        const mk_ident other = ident_of(segment, row);
        if (same_ident(&ident, &other) && mk_segment_end_seq(segment, row) == MK_SEQ_OPEN) {
            assert_true(at < f.count);
            assert_int_equal(f.rows[at++], row);
        }
    }
    assert_int_equal(at, f.count);
}

static void test_segment__ends_are_noted_and_taken_back(void **state)
{
    (void)state;
    const mk_rows rows = random_edges(4, 20, 3, 1);
    mk_segment *segment = build(MK_LANE_INTERVAL, false, &rows);
    assert_int_equal(mk_segment_end_seq(segment, 3), MK_SEQ_OPEN);
    assert_int_equal(mk_segment_end(segment, 3, 99, NULL), MK_OK);
    assert_int_equal(mk_segment_end(segment, 0, 100, NULL), MK_OK);
    assert_int_equal(mk_segment_end_seq(segment, 3), 99);
    assert_int_equal(mk_segment_end_seq(segment, 4), MK_SEQ_OPEN);
    assert_int_equal(segment->ended, 2);
    mk_segment_unend(segment, 0);
    mk_segment_unend(segment, 3);
    assert_int_equal(segment->ended, 0);
    assert_int_equal(mk_segment_end_seq(segment, 3), MK_SEQ_OPEN);
    mk_segment_free(segment);
}

static void find_under_change(mk_lane lane, uint64_t seed, uint32_t count)
{
    mk_rows rows = random_edges(seed, count, 6, 1);
    for (uint32_t i = 0; mk_lane_is_node(lane) && i < count; i++)
        room[MK_C_B][i] = MK_NONE;
    mk_segment *segment = build(lane, false, &rows);
    uint32_t ended[40], n = 0;
    for (int round = 0; round < 300; round++) {
        const uint32_t row = (uint32_t)(next_random(&seed) % count);
        check_find(segment, ident_of(segment, row));
        if (mk_segment_end_seq(segment, row) == MK_SEQ_OPEN && n < 40) {
            assert_int_equal(mk_segment_end(segment, row, 50, NULL), MK_OK);
            ended[n++] = row;
            if (next_random(&seed) % 2)
                check_find(segment, ident_of(segment, row)); /* buries it */
        } else if (n > 0) {
            mk_segment_unend(segment, ended[--n]);
        }
        check_find(segment, ident_of(segment, (uint32_t)(next_random(&seed) % count)));
    }
    check_find(segment, (mk_ident){mk_lane_is_node(lane), 77, 78, 1, 4});
    mk_segment_free(segment);
}

static void test_segment__lookups_find_what_a_scan_finds(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 6; seed++) {
        find_under_change(MK_LANE_INTERVAL, seed, 200);
        find_under_change(MK_LANE_NODE, seed, 64);
        find_under_change(MK_LANE_RESERVED_EDGE, seed, 1 + (uint32_t)seed);
    }
}

/* Thousands of ended versions of one identity do not stand between a lookup and the one believed. */
static void test_segment__a_long_history_is_buried(void **state)
{
    (void)state;
    mk_rows rows = no_rows();
    for (uint32_t i = 0; i < 5000; i++)
        add_row(&rows, i, i + 1, 1, MK_NONE, 0);
    mk_segment *segment = build(MK_LANE_NODE, false, &rows);
    check_find(segment, (mk_ident){.node = true, .a = 1});
    for (uint32_t row = 0; row < 4999; row++)
        assert_int_equal(mk_segment_end(segment, row, 3, NULL), MK_OK);
    check_find(segment, (mk_ident){.node = true, .a = 1});
    check_find(segment, (mk_ident){.node = true, .a = 1});
    for (uint32_t row = 4999; row-- > 0;)
        mk_segment_unend(segment, row);
    check_find(segment, (mk_ident){.node = true, .a = 1});
    mk_segment_free(segment);
}

/* ---- files ---- */

static void compare(mk_segment *ours, mk_segment *theirs)
{
    assert_int_equal(ours->id, theirs->id);
    assert_int_equal(ours->lane, theirs->lane);
    assert_int_equal(ours->past, theirs->past);
    assert_int_equal(ours->rows, theirs->rows);
    assert_memory_equal(&ours->zone, &theirs->zone, sizeof ours->zone);
    for (uint32_t row = 0; row < ours->rows; row++) {
        mk_str x, y;
        for (int id = 0; id < MK_C_ROW_COLUMNS; id++)
            assert_int_equal(value(ours, (mk_col_id)id, row), value(theirs, (mk_col_id)id, row));
        assert_int_equal(mk_segment_props(ours, row, &x, NULL), MK_OK);
        assert_int_equal(mk_segment_props(theirs, row, &y, NULL), MK_OK);
        assert_true(mk_str_eq(x, y));
    }
}

static void test_segment__a_file_holds_all_of_it(void **state)
{
    (void)state;
    simfs *sim = simfs_new();
    const mk_fs *fs = simfs_fs(sim);
    for (int lane = 0; lane < MK_LANE_COUNT; lane++)
        for (int past = 0; past < 2; past++) {
            mk_rows rows = random_edges((uint64_t)lane, 5000, 50, lane == 2 ? 1000 : 1);
            for (uint32_t i = 0; i < rows.count; i++) {
                room[MK_C_SEQ_E][i] = past ? 1 + i : MK_SEQ_OPEN;
                if (mk_lane_is_node((mk_lane)lane))
                    room[MK_C_B][i] = MK_NONE;
            }
            mk_segment *segment = build((mk_lane)lane, past, &rows), *back;
            char path[32];
            snprintf(path, sizeof path, "%d-%d.seg", lane, past);
            assert_int_equal(mk_segment_write(segment, fs, path, NULL), MK_OK);
            assert_int_equal(mk_segment_open(alloc, fs, path, &back, NULL), MK_OK);
            compare(segment, back);
            if (!mk_lane_is_node((mk_lane)lane))
                check_groups(back, 10, lane == 2 ? 1000 : 1);
            check_find(back, ident_of(segment, 17));
            mk_segment_free(back);
            mk_segment_free(segment);
        }
    simfs_free(sim);
}

static void test_segment__the_list_of_ends_comes_back(void **state)
{
    (void)state;
    simfs *sim = simfs_new();
    const mk_fs *fs = simfs_fs(sim);
    mk_rows rows = random_edges(8, 30, 4, 1);
    mk_segment *segment = build(MK_LANE_INTERVAL, false, &rows), *back;
    const uint32_t good[] = {2, 9, 29, 10}, twice[] = {2, 9, 2, 10}, outside[] = {30, 5},
                   open[] = {3, MK_SEQ_OPEN}, late[] = {3, 101};
    assert_int_equal(mk_segment_write(segment, fs, "s", NULL), MK_OK);
    assert_int_equal(mk_segment_open(alloc, fs, "s", &back, NULL), MK_OK);
    back->limits.seq = 100;
    assert_int_equal(mk_segment_write_ends(segment, fs, "e", good, 2, NULL), MK_OK);
    assert_int_equal(mk_segment_read_ends(back, fs, "e", NULL), MK_OK);
    assert_int_equal(back->ended, 2);
    assert_int_equal(mk_segment_end_seq(back, 2), 9);
    assert_int_equal(mk_segment_end_seq(back, 29), 10);
    static const char *const names[] = {"twice", "outside", "open", "late"};
    const uint32_t *const bad[] = {twice, outside, open, late};
    for (int i = 0; i < 4; i++) {
        mk_segment *fresh;
        mk_err err;
        assert_int_equal(mk_segment_write_ends(segment, fs, names[i], bad[i], i == 0 ? 2 : 1, NULL), MK_OK);
        assert_int_equal(mk_segment_open(alloc, fs, "s", &fresh, NULL), MK_OK);
        fresh->limits.seq = 100;
        assert_int_equal(mk_segment_read_ends(fresh, fs, names[i], &err), MK_E_STATE);
        assert_string_equal(err.reason, "damaged");
        mk_segment_free(fresh);
    }
    mk_segment_free(back);
    mk_segment_free(segment);
    simfs_free(sim);
}

/* Every byte flipped in turn: opening or loading says "damaged", or nobody reads that byte. */
static void test_segment__a_flipped_byte_never_changes_a_value(void **state)
{
    (void)state;
    simfs *sim = simfs_new();
    const mk_fs *fs = simfs_fs(sim);
    const mk_rows rows = random_edges(11, 40, 4, 1);
    mk_segment *segment = build(MK_LANE_INTERVAL, false, &rows);
    mk_file *file;
    unsigned refused = 0;
    assert_int_equal(mk_segment_write(segment, fs, "s", NULL), MK_OK);
    assert_int_equal(fs->open(fs->ctx, "s", MK_OPEN_WRITE, &file, NULL), MK_OK);
    for (uint64_t at = 0; at < segment->file_size; at++) {
        mk_segment *back = NULL;
        mk_err err;
        uint8_t byte;
        size_t got;
        bool damaged = false;
        assert_int_equal(fs->read_at(fs->ctx, file, &byte, 1, at, &got, NULL), MK_OK);
        byte ^= 4;
        assert_int_equal(fs->write_at(fs->ctx, file, &byte, 1, at, NULL), MK_OK);
        mk_code rc = mk_segment_open(alloc, fs, "s", &back, &err);
        for (int id = 0; id < MK_C_COUNT && rc == MK_OK; id++) {
            const mk_col *col;
            rc = mk_segment_col(back, (mk_col_id)id, &col, &err);
        }
        mk_str text;
        if (rc == MK_OK)
            rc = mk_segment_props(back, 0, &text, &err);
        damaged = rc != MK_OK;
        if (damaged) {
            assert_int_equal(rc, MK_E_STATE);
            assert_string_equal(err.reason, "damaged");
        } else {
            compare(segment, back);
        }
        refused += damaged;
        mk_segment_free(back);
        byte ^= 4;
        assert_int_equal(fs->write_at(fs->ctx, file, &byte, 1, at, NULL), MK_OK);
    }
    assert_int_equal(refused, segment->file_size);
    fs->close(fs->ctx, file);
    mk_segment_free(segment);
    simfs_free(sim);
}

/* A sound file of another store: its codes lead outside these dictionaries. */
static void test_segment__codes_beyond_the_dictionaries_are_refused(void **state)
{
    (void)state;
    simfs *sim = simfs_new();
    const mk_fs *fs = simfs_fs(sim);
    const mk_rows rows = random_edges(12, 40, 10, 1);
    mk_segment *segment = build(MK_LANE_INTERVAL, false, &rows);
    static const struct {
        mk_code_limits limits;
        mk_col_id bad; /* MK_C_COUNT: none */
    } cases[] = {{{11, 4, 2, 20}, MK_C_COUNT}, {{10, 4, 2, 20}, MK_C_B},      {{9, 4, 2, 20}, MK_C_A},
                 {{11, 3, 2, 20}, MK_C_REL},   {{11, 4, 1, 20}, MK_C_ORIGIN}, {{11, 4, 2, 19}, MK_C_SEQ_S}};
    assert_int_equal(mk_segment_write(segment, fs, "s", NULL), MK_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mk_segment *back;
        const mk_col *col;
        mk_err err;
        assert_int_equal(mk_segment_open(alloc, fs, "s", &back, NULL), MK_OK);
        back->limits = cases[i].limits;
        for (int id = 0; id < MK_C_COUNT; id++) {
            const mk_code rc = mk_segment_col(back, (mk_col_id)id, &col, &err);
            if ((mk_col_id)id == cases[i].bad)
                assert_int_equal(rc, MK_E_STATE);
            else if (cases[i].bad == MK_C_COUNT)
                assert_int_equal(rc, MK_OK);
        }
        mk_segment_free(back);
    }
    mk_segment_free(segment);
    simfs_free(sim);
}

static void test_segment__no_memory_leaves_nothing(void **state)
{
    (void)state;
    testalloc ta;
    const mk_rows rows = random_edges(13, 100, 10, 1);
    testalloc_init(&ta);
    for (uint64_t n = 1;; n++) {
        mk_segment *segment = NULL;
        testalloc_fail(&ta, n, false);
        const mk_code rc =
            mk_segment_build(&ta.hook, MK_LANE_INTERVAL, false, 1, &rows, false, by_props_falling, NULL,
                             &segment, NULL);
        testalloc_fail(&ta, 0, false);
        if (rc == MK_OK) {
            assert_true(n > 10);
            mk_segment_free(segment);
            break;
        }
        assert_int_equal(rc, MK_E_NOMEM);
        assert_true(testalloc_is_clean(&ta));
    }
    assert_true(testalloc_is_clean(&ta));
    testalloc_free(&ta);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_segment__rows_come_in_scan_order),
        cmocka_unit_test(test_segment__a_sorted_load_asks_only_about_ties),
        cmocka_unit_test(test_segment__the_zone_spans_all_rows),
        cmocka_unit_test(test_segment__ends_come_back_whatever_their_distance),
        cmocka_unit_test(test_segment__lists_of_dense_and_sparse_keys),
        cmocka_unit_test(test_segment__nodes_are_listed_by_uid),
        cmocka_unit_test(test_segment__props_by_row),
        cmocka_unit_test(test_segment__ends_are_noted_and_taken_back),
        cmocka_unit_test(test_segment__lookups_find_what_a_scan_finds),
        cmocka_unit_test(test_segment__a_long_history_is_buried),
        cmocka_unit_test(test_segment__a_file_holds_all_of_it),
        cmocka_unit_test(test_segment__the_list_of_ends_comes_back),
        cmocka_unit_test(test_segment__a_flipped_byte_never_changes_a_value),
        cmocka_unit_test(test_segment__codes_beyond_the_dictionaries_are_refused),
        cmocka_unit_test(test_segment__no_memory_leaves_nothing),
    };
    return cmocka_run_group_tests_name("segment", tests, NULL, NULL);
}

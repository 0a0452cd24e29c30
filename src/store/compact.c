/* compact.c — merging segments and moving ended rows out of the way. Layer: store, internal.
 *
 * Segments of one lane are kept in size classes a factor of eight apart; eight of a class are merged, so
 * that a row is rewritten once or twice before it rests.
 * A segment with more than a twentieth of its rows ended is rewritten alone. Ended rows go to past
 * segments, so that a scan of what is believed now does not meet them. No row is dropped. */
#include <stdlib.h>

#include "store/internal.h"
#include "store/texts.h"

/* Above this a merge gains nothing: about the size of a file (STORAGE.md). */
#define FULL_ROWS (UINT32_C(1) << 20)
#define CLASS_WIDTH 8u

static unsigned size_class(uint32_t rows)
{
    unsigned class = 0;
    for (; rows >= MK_BULK_ROWS / CLASS_WIDTH; rows /= CLASS_WIDTH)
        class++;
    return class;
}

/* ---- gathering ---- */

typedef struct gathering {
    mk_store *store;
    mk_rows current, past;
    mk_texts current_texts, past_texts;
    int64_t *room[2];
    size_t size[2];
    uint32_t *origin_segment[2]; /* which input a gathered row came from, for ties */
    size_t origin_size[2];
} gathering;

static mk_code make_room(gathering *g, int which, mk_rows *rows, uint32_t count, mk_err *err)
{
    g->size[which] = (size_t)count * MK_C_ROW_COLUMNS * sizeof(int64_t);
    g->room[which] = mk_new(g->store->alloc, g->size[which]);
    g->origin_size[which] = (size_t)count * sizeof(uint32_t);
    g->origin_segment[which] = mk_new(g->store->alloc, g->origin_size[which]);
    if (g->room[which] == NULL || g->origin_segment[which] == NULL)
        return mk_fail_nomem(err);
    for (int id = 0; id < MK_C_ROW_COLUMNS; id++)
        rows->col[id] = g->room[which] + (size_t)id * count;
    return MK_OK;
}

/* New codes of a segment's props texts, filled as they are met. */
typedef struct text_map {
    mk_segment *segment;
    mk_texts *texts;
    const mk_alloc *alloc;
    uint32_t *codes; /* MK_NONE: not met yet */
    uint32_t count;
} text_map;

static mk_code open_map(text_map *map, mk_err *err)
{
    const mk_col *ends;
    mk_code rc;
    MK_TRY(rc, mk_segment_col(map->segment, MK_C_PROPS_ENDS, &ends, err));
    map->count = ends->rows;
    map->codes = mk_new(map->alloc, (size_t)map->count * sizeof *map->codes);
    if (map->codes == NULL)
        rc = mk_fail_nomem(err);
    else
        memset(map->codes, 0xFF, (size_t)map->count * sizeof *map->codes);
out:
    return rc;
}

static mk_code map_text(text_map *map, uint32_t row, uint32_t old, uint32_t *code, mk_err *err)
{
    mk_str text;
    mk_code rc = MK_OK;
    if (old < map->count && map->codes[old] != MK_NONE) {
        *code = map->codes[old];
        goto out;
    }
    MK_TRY(rc, mk_segment_props(map->segment, row, &text, err)); /* checks `old` */
    MK_TRY(rc, mk_texts_code(map->texts, text, code, err));
    map->codes[old] = *code;
out:
    return rc;
}

/* Every row of a segment without ends, a column at a time. */
static void copy_columns(mk_rows *to, mk_segment *segment, const mk_col **cols)
{
    const uint32_t at = to->count;
    for (int id = 0; id < MK_C_ROW_COLUMNS; id++)
        mk_col_read(cols[id], 0, segment->rows, to->col[id] + at);
    to->count += segment->rows;
}

/* The rows that `want_ended` selects, one by one. */
static void pick_rows(mk_rows *to, mk_segment *segment, const mk_col **cols, bool want_ended)
{
    for (uint32_t row = 0; row < segment->rows; row++) {
        const uint32_t seq_e = mk_segment_end_seq(segment, row);
        if ((seq_e != MK_SEQ_OPEN) != want_ended)
            continue;
        const uint32_t i = to->count++;
        for (int id = 0; id < MK_C_ROW_COLUMNS; id++)
            to->col[id][i] = mk_col_get(cols[id], row);
        to->col[MK_C_SEQ_E][i] = seq_e;
        /* The text is looked up by row; keep it until the map has run. */
        to->col[MK_C_PROPS][i] = (int64_t)row << 32 | to->col[MK_C_PROPS][i];
    }
}

/* Appends the rows of a segment that `want_ended` selects. */
static mk_code gather(gathering *g, mk_segment *segment, uint32_t number, bool want_ended, mk_err *err)
{
    mk_rows *to = want_ended ? &g->past : &g->current;
    text_map map = {segment, want_ended ? &g->past_texts : &g->current_texts, g->store->alloc, NULL, 0};
    const mk_col *cols[MK_C_ROW_COLUMNS];
    const uint32_t from = to->count;
    const bool whole = segment->past || segment->ended == 0;
    mk_code rc = MK_OK;
    for (int id = 0; id < MK_C_ROW_COLUMNS; id++)
        MK_TRY(rc, mk_segment_col(segment, (mk_col_id)id, &cols[id], err));
    MK_TRY(rc, open_map(&map, err));
    if (whole)
        copy_columns(to, segment, cols);
    else
        pick_rows(to, segment, cols, want_ended);
    for (uint32_t i = from; i < to->count; i++) {
        const int64_t packed = to->col[MK_C_PROPS][i];
        uint32_t code = 0;
        MK_TRY(rc, map_text(&map, whole ? i - from : (uint32_t)(packed >> 32), (uint32_t)packed, &code,
                            err));
        to->col[MK_C_PROPS][i] = code;
        to->col[MK_C_VT_E][i] = mk_end_of(segment, to->col[MK_C_VT_S][i], to->col[MK_C_VT_E][i]);
        g->origin_segment[want_ended][i] = number;
    }
out:
    mk_free(map.alloc, map.codes, (size_t)map.count * sizeof *map.codes);
    return rc;
}

typedef struct tie_context {
    mk_store *store;
    const uint32_t *origin_segment;
} tie_context;

/* Rows of one input are in order among themselves; only ties across inputs need their ids. */
static mk_code merge_tie(void *ctx, const mk_rows *rows, uint32_t *group, uint32_t count, mk_err *err)
{
    const tie_context *ties = ctx;
    for (uint32_t i = 1; i < count; i++)
        if (ties->origin_segment[group[i]] != ties->origin_segment[group[0]])
            return mk_ids__tie(ties->store, rows, group, count, err);
    return MK_OK;
}

static void free_gathering(gathering *g)
{
    const mk_alloc *alloc = g->store->alloc;
    for (int i = 0; i < 2; i++) {
        mk_free(alloc, g->room[i], g->size[i]);
        mk_free(alloc, g->origin_segment[i], g->origin_size[i]);
    }
    mk_texts_free(&g->current_texts);
    mk_texts_free(&g->past_texts);
}

/* ---- one merge ---- */

/* Builds what replaces the inputs: made[0] of rows still believed, made[1] of ended ones. */
static mk_code build_merged(mk_store *store, mk_segment **inputs, size_t count, mk_segment *made[2],
                            mk_err *err)
{
    gathering g = {.store = store};
    uint32_t rows = 0, ended = 0;
    mk_code rc = MK_OK;
    g.current_texts = (mk_texts){.alloc = store->alloc, .seed = store->entities.seed};
    g.past_texts = g.current_texts;
    for (size_t i = 0; i < count; i++) {
        rows += inputs[i]->rows;
        ended += inputs[i]->past ? inputs[i]->rows : inputs[i]->ended;
    }
    MK_TRY(rc, make_room(&g, 0, &g.current, rows - ended, err));
    MK_TRY(rc, make_room(&g, 1, &g.past, ended, err));
    for (size_t i = 0; i < count; i++) {
        if (!inputs[i]->past)
            MK_TRY(rc, gather(&g, inputs[i], (uint32_t)i, false, err));
        if (inputs[i]->past || inputs[i]->ended != 0)
            MK_TRY(rc, gather(&g, inputs[i], (uint32_t)i, true, err));
    }
    g.current.texts = g.current_texts.items;
    g.current.text_count = (uint32_t)g.current_texts.count;
    g.past.texts = g.past_texts.items;
    g.past.text_count = (uint32_t)g.past_texts.count;
    for (int i = 0; i < 2; i++) {
        tie_context ties = {store, g.origin_segment[i]};
        const mk_rows *from = i ? &g.past : &g.current;
        if (from->count != 0)
            MK_TRY(rc, mk_segment_build(store->alloc, inputs[0]->lane, i == 1,
                                        store->next_segment_id++, from, false, merge_tie, &ties,
                                        &made[i], err));
    }
out:
    free_gathering(&g);
    return rc;
}

static void release_segment(mk_retired *self, void *ctx)
{
    (void)ctx;
    mk_segment_free((mk_segment *)self);
}

static int by_start(const void *x, const void *y)
{
    const mk_segment *a = *(mk_segment *const *)x, *b = *(mk_segment *const *)y;
    if (a->zone.vt_s_min != b->zone.vt_s_min)
        return a->zone.vt_s_min < b->zone.vt_s_min ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

static mk_code merge(mk_store *store, mk_lane lane, mk_segment **inputs, size_t count, mk_err *err)
{
    mk_segment *made[2] = {NULL, NULL};
    mk_state *state = NULL;
    mk_segment_list *list = &store->lanes[lane];
    mk_code rc;
    qsort(inputs, count, sizeof *inputs, by_start);
    MK_TRY(rc, build_merged(store, inputs, count, made, err));
    MK_TRY(rc, mk_publish__reserve(store, 2, &state, err));
    MK_TRY(rc, mk_grow(store->alloc, (void **)&list->items, &list->cap, list->count + 2,
                       sizeof *list->items, err));
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        bool input = false;
        for (size_t j = 0; j < count; j++)
            input |= list->items[i] == inputs[j];
        if (!input)
            list->items[kept++] = list->items[i];
    }
    for (int i = 0; i < 2; i++)
        if (made[i] != NULL)
            list->items[kept++] = made[i];
    made[0] = made[1] = NULL;
    list->count = kept;
    mk_publish__fill(store, state);
    state = NULL;
    for (size_t i = 0; i < count; i++)
        mk_epoch_retire(&store->epoch, &inputs[i]->retired, release_segment, NULL);
out:
    for (int i = 0; i < 2; i++)
        mk_segment_free(made[i]);
    if (state != NULL)
        mk_free(store->alloc, state, state->size);
    return rc;
}

/* ---- what to merge ---- */

/* Fills inputs with the next merge of a lane; 0 when it is in shape. */
static size_t choose(const mk_segment_list *list, bool past, bool all, mk_segment **inputs)
{
    if (!past)
        for (size_t i = 0; i < list->count; i++) {
            mk_segment *segment = list->items[i];
            if (!segment->past && (uint64_t)segment->ended * 20 > (all ? 0 : segment->rows)) {
                inputs[0] = segment;
                return 1;
            }
        }
    /* On demand everything below the full size is brought together; else eight of a class. */
    for (unsigned class = 0; class < 16; class++) {
        size_t count = 0;
        uint64_t rows = 0;
        for (size_t i = 0; i < list->count; i++) {
            mk_segment *segment = list->items[i];
            if (segment->past != past || segment->rows >= FULL_ROWS / 2 ||
                (!all && size_class(segment->rows) != class) || rows + segment->rows > 2 * FULL_ROWS)
                continue;
            rows += segment->rows;
            inputs[count++] = segment;
        }
        if (count >= (all ? 2u : CLASS_WIDTH))
            return count;
    }
    return 0;
}

mk_code mk_compact__lanes(mk_store *store, bool all, mk_err *err)
{
    mk_code rc = MK_OK;
    for (int lane = 0; lane < MK_LANE_COUNT; lane++)
        for (int past = 0; past < 2; past++)
            for (;;) {
                mk_segment_list *list = &store->lanes[lane];
                const size_t size = (list->count + 1) * sizeof(mk_segment *);
                mk_segment **inputs = mk_new(store->alloc, size);
                if (inputs == NULL)
                    return mk_fail_nomem(err);
                const size_t count = choose(list, past, all, inputs);
                if (count != 0)
                    rc = merge(store, (mk_lane)lane, inputs, count, err);
                mk_free(store->alloc, inputs, size);
                if (rc != MK_OK || count == 0)
                    break;
            }
    return rc;
}

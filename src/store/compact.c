/* compact.c — merging segments and moving ended rows out of the way. Layer: store, internal.
 *
 * Segments of one lane are kept in size classes a factor of eight apart; eight of a class are merged, so
 * that a row is rewritten once or twice before it rests.
 * A segment with more than an eighth of its rows ended is rewritten alone. Ended rows go to past
 * segments, so that a scan of what is believed now does not meet them. No row is dropped. */
#include <stdlib.h>

#include "store/internal.h"
#include "store/texts.h"

/* Above this a merge gains nothing: about the size of a file (STORAGE.md). */
#define FULL_ROWS (UINT32_C(1) << 20)
#define CLASS_WIDTH 8u
/* A segment is rewritten when more than this share of its rows has ended. Scans pass over ended rows at
 * some two nanoseconds each, so there is no hurry, and every rewritten row costs a hundred. */
#define ENDED_SHARE 8u

static unsigned size_class(uint32_t rows)
{
    unsigned class = 0;
    for (; rows >= MK_BULK_ROWS / CLASS_WIDTH; rows /= CLASS_WIDTH)
        class++;
    return class;
}

/* ---- gathering ---- */

/* A segment to merge and which of its rows had ended when the merge began. */
typedef struct input {
    mk_segment *segment;
    uint32_t *ends; /* by row; NULL: none had, or it is a past segment */
    uint32_t ended;
} input;

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
static void pick_rows(mk_rows *to, const input *from, const mk_col **cols, bool want_ended)
{
    for (uint32_t row = 0; row < from->segment->rows; row++) {
        const uint32_t seq_e = from->ends[row];
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
static mk_code gather(gathering *g, const input *from_input, uint32_t number, bool want_ended,
                      mk_err *err)
{
    mk_segment *segment = from_input->segment;
    mk_rows *to = want_ended ? &g->past : &g->current;
    text_map map = {segment, want_ended ? &g->past_texts : &g->current_texts, g->store->alloc, NULL, 0};
    const mk_col *cols[MK_C_ROW_COLUMNS];
    const uint32_t from = to->count;
    const bool whole = from_input->ends == NULL;
    mk_code rc = MK_OK;
    for (int id = 0; id < MK_C_ROW_COLUMNS; id++)
        MK_TRY(rc, mk_segment_col(segment, (mk_col_id)id, &cols[id], err));
    MK_TRY(rc, open_map(&map, err));
    if (whole)
        copy_columns(to, segment, cols);
    else
        pick_rows(to, from_input, cols, want_ended);
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

/* ---- one merge ----
 *
 * plan (under the mutex) -> build (no lock: the inputs are immutable and their ends were copied) -> install
 * (under the mutex, nothing staged). What ended while building is noted by the inputs in `late_ends`
 * and carried over; when a batch took such an end back the merge is given up and planned again. */

typedef struct plan {
    mk_store *store;
    mk_lane lane;
    input *inputs;
    size_t count, size;
    uint64_t ids[2];
    mk_segment *made[2]; /* rows still believed; ended rows */
} plan;

static void drop_plan(plan *p)
{
    const mk_alloc *alloc = p->store->alloc;
    for (size_t i = 0; i < p->count; i++)
        mk_free(alloc, p->inputs[i].ends, (size_t)p->inputs[i].segment->rows * sizeof(uint32_t));
    mk_free(alloc, p->inputs, p->size);
    for (int i = 0; i < 2; i++)
        mk_segment_free(p->made[i]);
}

static mk_code copy_ends(plan *p, input *in, mk_err *err)
{
    mk_ends *ends = atomic_load_explicit(&in->segment->ends, memory_order_relaxed);
    if (in->segment->past || in->segment->ended == 0)
        return MK_OK;
    in->ends = mk_new(p->store->alloc, (size_t)in->segment->rows * sizeof(uint32_t));
    if (in->ends == NULL)
        return mk_fail_nomem(err);
    for (uint32_t row = 0; row < in->segment->rows; row++) {
        in->ends[row] = atomic_load_explicit(&ends->seq[row], memory_order_relaxed);
        in->ended += in->ends[row] != MK_SEQ_OPEN;
    }
    return MK_OK;
}

static mk_code build_side(plan *p, gathering *g, int side, mk_err *err)
{
    mk_rows *rows = side ? &g->past : &g->current;
    const mk_texts *texts = side ? &g->past_texts : &g->current_texts;
    tie_context ties = {p->store, g->origin_segment[side]};
    rows->texts = texts->items;
    rows->text_count = (uint32_t)texts->count;
    if (rows->count == 0)
        return MK_OK;
    return mk_segment_build(p->store->alloc, p->lane, side == 1, p->ids[side], rows, false, merge_tie,
                            &ties, &p->made[side], err);
}

static mk_code build(plan *p, mk_err *err)
{
    gathering g = {.store = p->store};
    uint32_t current = 0, past = 0;
    mk_code rc = MK_OK;
    g.current_texts = (mk_texts){.alloc = p->store->alloc, .seed = p->store->entities.seed};
    g.past_texts = g.current_texts;
    for (size_t i = 0; i < p->count; i++) {
        const input *in = &p->inputs[i];
        const uint32_t ended = in->segment->past ? in->segment->rows : in->ended;
        current += in->segment->rows - ended;
        past += ended;
    }
    MK_TRY(rc, make_room(&g, 0, &g.current, current, err));
    MK_TRY(rc, make_room(&g, 1, &g.past, past, err));
    for (size_t i = 0; i < p->count; i++) {
        const input *in = &p->inputs[i];
        if (!in->segment->past)
            MK_TRY(rc, gather(&g, in, (uint32_t)i, false, err));
        if (in->segment->past || in->ended != 0)
            MK_TRY(rc, gather(&g, in, (uint32_t)i, true, err));
    }
    for (int side = 0; side < 2; side++)
        MK_TRY(rc, build_side(p, &g, side, err));
out:
    free_gathering(&g);
    return rc;
}

/* ---- carrying over what ended meanwhile ---- */

typedef struct carried {
    mk_segment *from;
    uint32_t row, seq_e;
    bool done;
} carried;

static mk_code same_row(mk_segment *x, uint32_t i, mk_segment *y, uint32_t j, bool *same, mk_err *err)
{
    static const mk_col_id ids[] = {MK_C_VT_S, MK_C_SEQ_S, MK_C_ORIGIN};
    const mk_col *a, *b;
    mk_str p, q;
    mk_code rc = MK_OK;
    *same = true;
    for (size_t c = 0; c < sizeof ids / sizeof *ids && *same; c++) {
        MK_TRY(rc, mk_segment_col(x, ids[c], &a, err));
        MK_TRY(rc, mk_segment_col(y, ids[c], &b, err));
        *same = mk_col_get(a, i) == mk_col_get(b, j);
    }
    if (!*same)
        goto out;
    MK_TRY(rc, mk_segment_props(x, i, &p, err));
    MK_TRY(rc, mk_segment_props(y, j, &q, err));
    *same = mk_str_eq(p, q);
out:
    return rc;
}

static mk_code carry_to(void *ctx, mk_segment *segment, uint32_t row, mk_err *err)
{
    carried *c = ctx;
    bool same;
    mk_code rc = MK_OK;
    if (c->done)
        return MK_OK;
    MK_TRY(rc, same_row(c->from, c->row, segment, row, &same, err));
    if (!same)
        goto out;
    MK_TRY(rc, mk_segment_end(segment, row, c->seq_e, err));
    c->done = true;
out:
    return rc;
}

static mk_code carry(plan *p, mk_segment *from, uint32_t row, mk_err *err)
{
    const mk_col *cols[4];
    static const mk_col_id ids[4] = {MK_C_A, MK_C_B, MK_C_REL, MK_C_DISC};
    carried c = {from, row, mk_segment_end_seq(from, row), false};
    mk_ident ident = {.node = mk_lane_is_node(p->lane)};
    mk_code rc = MK_OK;
    for (int i = 0; i < 4; i++)
        MK_TRY(rc, mk_segment_col(from, ids[i], &cols[i], err));
    ident.a = mk_col_u32(cols[0], row);
    if (!ident.node) {
        ident.b = mk_col_u32(cols[1], row);
        ident.rel = mk_col_u32(cols[2], row);
        ident.disc = mk_col_get(cols[3], row);
    }
    MK_TRY(rc, mk_segment_find(p->made[0], &ident, carry_to, &c, err));
    if (!c.done)
        rc = mk_fail(err, MK_E_INTERNAL, "a row that ended during a merge is not in its result");
out:
    return rc;
}

static void release_segment(mk_retired *self, void *ctx)
{
    (void)ctx;
    mk_segment_free((mk_segment *)self);
}

/* Puts the made segments in the place of the inputs. *given_up: a batch was taken back meanwhile. */
static mk_code install(plan *p, bool *given_up, mk_err *err)
{
    mk_store *store = p->store;
    mk_segment_list *list = &store->lanes[p->lane];
    mk_state *state = NULL;
    mk_code rc = MK_OK;
    *given_up = false;
    for (size_t i = 0; i < p->count; i++)
        *given_up |= p->inputs[i].segment->merge_spoiled;
    if (*given_up)
        return MK_OK;
    for (size_t i = 0; i < p->count; i++)
        for (size_t j = 0; j < p->inputs[i].segment->late_count; j++)
            MK_TRY(rc, carry(p, p->inputs[i].segment, p->inputs[i].segment->late_ends[j], err));
    MK_TRY(rc, mk_publish__reserve(store, 2, &state, err));
    MK_TRY(rc, mk_grow(store->alloc, (void **)&list->items, &list->cap, list->count + 2,
                       sizeof *list->items, err));
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        bool merged = false;
        for (size_t j = 0; j < p->count; j++)
            merged |= list->items[i] == p->inputs[j].segment;
        if (!merged)
            list->items[kept++] = list->items[i];
    }
    for (int i = 0; i < 2; i++) {
        if (p->made[i] != NULL)
            list->items[kept++] = p->made[i];
        p->made[i] = NULL;
    }
    list->count = kept;
    mk_publish__fill(store, state);
    state = NULL;
    for (size_t i = 0; i < p->count; i++) {
        mk_free(store->alloc, p->inputs[i].ends,
                (size_t)p->inputs[i].segment->rows * sizeof(uint32_t));
        mk_epoch_retire(&store->epoch, &p->inputs[i].segment->retired, release_segment, NULL);
    }
    p->count = 0;
out:
    if (state != NULL)
        mk_free(store->alloc, state, state->size);
    return rc;
}

static void unmark(plan *p)
{
    for (size_t i = 0; i < p->count; i++) {
        p->inputs[i].segment->merging = p->inputs[i].segment->merge_spoiled = false;
        p->inputs[i].segment->late_count = 0;
    }
}

/* ---- what to merge ---- */

static int by_start(const void *x, const void *y)
{
    const mk_segment *a = ((const input *)x)->segment, *b = ((const input *)y)->segment;
    if (a->zone.vt_s_min != b->zone.vt_s_min)
        return a->zone.vt_s_min < b->zone.vt_s_min ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

/* Fills inputs with the next merge of a lane; 0 when it is in shape. */
static size_t choose(const mk_segment_list *list, bool past, bool all, input *inputs)
{
    if (!past)
        for (size_t i = 0; i < list->count; i++) {
            mk_segment *segment = list->items[i];
            if (!segment->past && (uint64_t)segment->ended * ENDED_SHARE > (all ? 0 : segment->rows)) {
                inputs[0] = (input){.segment = segment};
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
            inputs[count++] = (input){.segment = segment};
        }
        if (count >= (all ? 2u : CLASS_WIDTH))
            return count;
    }
    return 0;
}

/* Under the mutex. p->count is 0 when every lane is in shape. */
static mk_code make_plan(mk_store *store, bool all, plan *p, mk_err *err)
{
    mk_code rc = MK_OK;
    *p = (plan){.store = store};
    size_t most = 1;
    for (int lane = 0; lane < MK_LANE_COUNT; lane++)
        most = store->lanes[lane].count > most ? store->lanes[lane].count : most;
    p->size = most * sizeof *p->inputs;
    p->inputs = mk_new(store->alloc, p->size);
    if (p->inputs == NULL) {
        rc = mk_fail_nomem(err);
        goto out;
    }
    for (int lane = 0; lane < MK_LANE_COUNT && p->count == 0; lane++)
        for (int past = 0; past < 2 && p->count == 0; past++) {
            p->lane = (mk_lane)lane;
            p->count = choose(&store->lanes[lane], past, all, p->inputs);
        }
    if (p->count == 0)
        goto out;
    qsort(p->inputs, p->count, sizeof *p->inputs, by_start);
    for (size_t i = 0; i < p->count; i++)
        MK_TRY(rc, copy_ends(p, &p->inputs[i], err));
    for (size_t i = 0; i < p->count; i++)
        p->inputs[i].segment->merging = true;
    for (int i = 0; i < 2; i++)
        p->ids[i] = store->next_segment_id++;
out:
    return rc;
}

mk_code mk_compact__lanes(mk_store *store, bool all, mk_err *err)
{
    for (;;) {
        plan p;
        bool given_up;
        mk_code rc = make_plan(store, all, &p, err);
        const bool idle = p.count == 0;
        if (rc == MK_OK && !idle)
            rc = build(&p, err);
        if (rc == MK_OK && !idle)
            rc = install(&p, &given_up, err);
        unmark(&p);
        drop_plan(&p);
        if (rc != MK_OK || idle)
            return rc;
    }
}

mk_code mk_compact__step(mk_store *store, bool *worked, mk_err *err)
{
    plan p;
    bool given_up = false;
    pthread_mutex_lock(&store->mutex);
    mk_code rc = make_plan(store, false, &p, err);
    *worked = p.count != 0;
    pthread_mutex_unlock(&store->mutex);
    if (rc == MK_OK && *worked)
        rc = build(&p, err);
    pthread_mutex_lock(&store->mutex);
    if (rc == MK_OK && *worked) {
        rc = mk_commit__raise(store, err);
        if (rc == MK_OK) {
            rc = install(&p, &given_up, err);
            mk_commit__lower(store);
        }
    }
    unmark(&p);
    pthread_mutex_unlock(&store->mutex);
    drop_plan(&p);
    return rc;
}

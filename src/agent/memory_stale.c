/* memory_stale.c — which notes no longer stand. Layer: agent.
 *
 * What was believed about a window at time T0 and is at T1 differ by two sets of versions: those whose belief
 * ended in between, and those whose belief began in between and has not ended. Versions that both sides share
 * need not be looked at. A write elsewhere on the time line rewrites a long version in parts (store
 * spec, 7.2); seen through the window the parts are as the whole was. So both sets are clipped to the
 * window and compared as multisets of hashes, and a note stands when they are equal.
 *
 * A first appearance depends on what lies before the window, so of nodes it also counts whether an entity had
 * a version before. Source: agent spec, 14. */
#include "agent/memory_internal.h"

#include <stdlib.h>

#include "base/hash.h"
#include "store/versions.h"

#define TOUCHED_MAX 65536 /* versions kept for comparing; beyond it the notes they may concern are stale */

/* A version whose belief began or ended after the oldest note. */
typedef struct touched {
    bool node;
    uint32_t part, row, a, b, name, begun, ended;
    int64_t vt_s, vt_e;
    uint64_t content; /* hash of identity, label and properties */
} touched;

typedef struct judging {
    mk_view *data;
    mk_arena *arena;
    uint64_t seed;
    uint32_t since; /* batches that the oldest note knows */
    bool node;
    touched *list;
    size_t count, cap;
    bool overflow, nomem;
} judging;

/* ---- what was touched ---- */

/* Number of batches at or before tt. */
static uint32_t batches_until(const mk_view *view, int64_t tt)
{
    uint32_t lo = 0, hi = mk_view_batch_count(view);
    while (lo < hi) {
        const uint32_t middle = lo + (hi - lo + 1) / 2;
        if (mk_view_batch_tt(view, middle).us <= tt)
            lo = middle;
        else
            hi = middle - 1;
    }
    return lo;
}

static bool is_touched(const mk_version_block *block, uint32_t i, uint32_t since)
{
    return block->begun[i] > since || (block->ended[i] != MK_STILL_BELIEVED && block->ended[i] > since);
}

static bool keep_row(judging *j, const mk_version_block *block, uint32_t i)
{
    if (j->count == TOUCHED_MAX) {
        j->overflow = true;
        return false;
    }
    if (mk_grow(j->arena->alloc, (void **)&j->list, &j->cap, j->count + 1, sizeof *j->list, NULL) != MK_OK) {
        j->nomem = true;
        return false;
    }
    j->list[j->count++] = (touched){.node = j->node, .part = block->part, .row = block->row[i],
                                    .a = block->a[i], .b = block->b[i], .name = block->name[i],
                                    .begun = block->begun[i], .ended = block->ended[i],
                                    .vt_s = block->vt_s[i], .vt_e = block->vt_e[i]};
    return true;
}

static bool keep_block(void *ctx, const mk_version_block *block)
{
    judging *j = ctx;
    for (uint32_t i = 0; i < block->count; i++)
        if (is_touched(block, i, j->since) && !keep_row(j, block, i))
            return false;
    return true;
}

static mk_code collect(judging *j, bool node, int64_t lo, int64_t hi, mk_err *err)
{
    const mk_version_filter filter = {
        .nodes = node, .which = MK_VERSIONS_CURRENT | MK_VERSIONS_SUPERSEDED, .vt_lo = lo, .vt_hi = hi};
    j->node = node;
    const mk_code rc = mk_view_versions(j->data, &filter, keep_block, j, err);
    if (j->nomem)
        return mk_fail_nomem(err);
    return rc == MK_E_CANCELLED && j->overflow ? MK_OK : rc;
}

/* ---- what a version says ---- */

static mk_code hash_content(judging *j, touched *t, mk_err *err)
{
    mk_str props;
    int64_t disc = 0;
    mk_code rc;
    if (t->node) {
        const mk_node_ref ref = {t->vt_s, t->vt_e, t->a, t->name, t->part, t->row};
        MK_TRY(rc, mk_view_node_props(j->data, &ref, &props, err));
    } else {
        const mk_edge_ref ref = {t->vt_s, t->vt_e, t->a, t->b, t->name, t->part, t->row};
        MK_TRY(rc, mk_view_edge_props(j->data, &ref, &props, err));
        MK_TRY(rc, mk_view_edge_disc(j->data, &ref, &disc, err));
    }
    const uint64_t parts[] = {t->node, t->a, t->node ? 0 : t->b, t->name, (uint64_t)disc,
                              mk_hash64(props.p, props.n, j->seed)};
    t->content = mk_hash64(parts, sizeof parts, j->seed);
out:
    return rc;
}

/* ---- one window ---- */

/* The hashes of one side. */
typedef struct side {
    uint64_t *items;
    size_t count;
} side;

static uint64_t clipped_hash(const judging *j, const touched *t, const mk_note *note)
{
    const bool starts = t->vt_s >= note->t_a, ends = t->vt_e <= note->t_b;
    const uint64_t parts[] = {t->content, starts, ends, starts ? (uint64_t)t->vt_s : 0,
                              ends ? (uint64_t)t->vt_e : 0};
    return mk_hash64(parts, sizeof parts, j->seed);
}

static int by_value(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Adds what the window sees of a version. `before` takes what was there before the window. */
static void add_version(const judging *j, const touched *t, const mk_note *note, side *inside, side *before)
{
    if (t->node && t->vt_s < note->t_a) {
        const uint64_t entity = t->a;
        before->items[before->count++] = mk_hash64(&entity, sizeof entity, j->seed);
    }
    if (t->vt_s < note->t_b && t->vt_e > note->t_a)
        inside->items[inside->count++] = clipped_hash(j, t, note);
}

static void sort_unique(side *s)
{
    size_t n = 0;
    qsort(s->items, s->count, sizeof *s->items, by_value);
    for (size_t i = 0; i < s->count; i++)
        if (n == 0 || s->items[n - 1] != s->items[i])
            s->items[n++] = s->items[i];
    s->count = n;
}

static bool equal_sides(const side *a, const side *b)
{
    return a->count == b->count &&
           (a->count == 0 || memcmp(a->items, b->items, a->count * sizeof *a->items) == 0);
}

/* What a note made at `since` batches believed about its window against what is believed now. */
static mk_code judge_note(judging *j, mk_note *note, uint32_t since, mk_err *err)
{
    const mk_arena_mark mark = mk_arena_save(j->arena);
    side inside[2] = {0}, before[2] = {0}; /* then, now */
    for (int k = 0; k < 2; k++) {
        inside[k].items = mk_arena_get(j->arena, (j->count + 1) * sizeof(uint64_t));
        before[k].items = mk_arena_get(j->arena, (j->count + 1) * sizeof(uint64_t));
        if (inside[k].items == NULL || before[k].items == NULL)
            return mk_fail_nomem(err);
    }
    for (size_t i = 0; i < j->count; i++) {
        const touched *t = &j->list[i];
        const bool then = t->begun <= since && t->ended > since; /* MK_STILL_BELIEVED is the largest */
        const bool now = t->ended == MK_STILL_BELIEVED;
        if (then != now)
            add_version(j, t, note, &inside[now], &before[now]);
    }
    for (int k = 0; k < 2; k++) {
        qsort(inside[k].items, inside[k].count, sizeof(uint64_t), by_value);
        sort_unique(&before[k]);
    }
    note->stale = !equal_sides(&inside[0], &inside[1]) || !equal_sides(&before[0], &before[1]);
    mk_arena_rewind(j->arena, mark);
    return MK_OK;
}

mk_code mk_memory__judge(mk_view *data, mk_note *notes, size_t count, mk_arena *arena, mk_err *err)
{
    judging j = {.data = data, .arena = arena, .seed = mk_entropy64(), .since = UINT32_MAX};
    mk_code rc = MK_OK;
    for (size_t i = 0; i < count; i++) {
        const uint32_t since = batches_until(data, notes[i].as_of_tt);
        j.since = since < j.since ? since : j.since;
    }
    if (count == 0 || j.since >= mk_view_batch_count(data))
        return MK_OK;
    const int64_t lo = notes[0].t_a, hi = notes[count - 1].t_b;
    MK_TRY(rc, collect(&j, true, INT64_MIN, hi, err));
    if (!j.overflow)
        MK_TRY(rc, collect(&j, false, lo, hi, err));
    for (size_t i = 0; i < j.count && !j.overflow; i++)
        MK_TRY(rc, hash_content(&j, &j.list[i], err));
    for (size_t i = 0; i < count; i++) {
        const uint32_t since = batches_until(data, notes[i].as_of_tt);
        if (j.overflow)
            notes[i].stale = since < mk_view_batch_count(data);
        else
            MK_TRY(rc, judge_note(&j, &notes[i], since, err));
    }
out:
    mk_free(arena->alloc, j.list, j.cap * sizeof *j.list);
    return rc;
}

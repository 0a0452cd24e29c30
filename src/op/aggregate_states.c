/* aggregate_states.c — what is kept of each group, and the numbers made of it. Layer: op.
 *
 * One array an aggregate, indexed by group, so that a block of events goes through one short loop an
 * aggregate. Everything kept is exact; where order matters it is part of what is kept. */
#include <math.h>

#include "op/aggregate_internal.h"

#define BITMAP_FROM 32u                      /* slots a table would have */
#define LARGE_BITMAPS_MAX ((size_t)16 << 20) /* bytes, of a part */

bool mk_agg__needs_time(const mk_agg_fn *fn)
{
    return fn->kind == MK_AGG_MAX_GAP || fn->kind == MK_AGG_MAX_IN_WINDOW ||
           fn->kind == MK_AGG_MAX_SESSION_SPAN;
}

bool mk_agg__merges(const mk_agg_fn *fn)
{
    const bool extreme = fn->kind == MK_AGG_MIN || fn->kind == MK_AGG_MAX;
    return fn->kind != MK_AGG_MAX_IN_WINDOW && !(extreme && fn->of == MK_OF_PROP);
}

/* The endpoint is a dimension, so all events of a group have the same. */
static bool is_single(const mk_agg_args *args, const mk_agg_fn *fn)
{
    const mk_agg_dim_kind dim = fn->of == MK_OF_SRC ? MK_DIM_SRC : MK_DIM_DST;
    for (size_t d = 0; d < args->dim_count; d++)
        if (args->dims[d].kind == dim)
            return true;
    return false;
}

static size_t state_size(const mk_agg_args *args, const mk_agg_fn *fn)
{
    switch (fn->kind) {
    case MK_AGG_COUNT: return 0;
    case MK_AGG_DISTINCT: return is_single(args, fn) ? 0 : sizeof(mk_agg_set);
    case MK_AGG_MIN:
    case MK_AGG_MAX: return fn->of == MK_OF_PROP ? sizeof(mk_agg_best) : sizeof(mk_agg_extreme);
    case MK_AGG_MEAN: return fn->of == MK_OF_PROP ? sizeof(mk_mean) : sizeof(mk_agg_sum);
    case MK_AGG_MAX_GAP: return sizeof(mk_agg_gap);
    case MK_AGG_MAX_IN_WINDOW: return sizeof(mk_agg_ring);
    case MK_AGG_MAX_SESSION_SPAN: return sizeof(mk_agg_session);
    }
    return 0;
}

/* ---- room ---- */

static mk_code grow_array(mk_agg_part *part, void **array, size_t cap, size_t elem, mk_err *err)
{
    size_t size;
    char *grown = mk_size_mul(cap, elem, &size) ? mk_arena_get(part->arena, size) : NULL;
    if (grown == NULL)
        return mk_fail_nomem(err);
    const size_t old = part->cap * elem;
    if (old != 0)
        memcpy(grown, *array, old);
    memset(grown + old, 0, size - old); /* zeros are an empty state */
    *array = grown;
    return MK_OK;
}

static mk_code grow(mk_agg_part *part, mk_err *err)
{
    const mk_agg_args *args = part->job->args;
    const size_t cap = part->cap == 0 ? 64 : part->cap * 2;
    mk_code rc;
    MK_TRY(rc, grow_array(part, (void **)&part->keys, cap, sizeof *part->keys, err));
    MK_TRY(rc, grow_array(part, (void **)&part->counts, cap, sizeof *part->counts, err));
    if (args->pair_mode == MK_PAIR_RECIPROCAL)
        MK_TRY(rc, grow_array(part, (void **)&part->ways, cap, sizeof *part->ways, err));
    for (size_t a = 0; a < args->fn_count; a++) {
        const size_t elem = state_size(args, &args->fns[a]);
        if (elem != 0)
            MK_TRY(rc, grow_array(part, &part->states[a].any, cap, elem, err));
    }
    part->cap = cap;
out:
    return rc;
}

mk_code mk_agg__too_many(mk_err *err)
{
    mk_fail(err, MK_E_LIMIT, "more than %d groups", MK_AGG_GROUPS_MAX);
    mk_err_hint(err, "group by fewer or coarser dimensions, or narrow the window or the filters");
    mk_err_extra(err, "\"limit\":\"groups\"", 16);
    return MK_E_LIMIT;
}

mk_code mk_agg__states_add(mk_agg_part *part, mk_err *err)
{
    if (part->cap_max != 0 && part->count >= part->cap_max)
        return mk_agg__too_many(err);
    if (part->count == part->cap) {
        const mk_code rc = grow(part, err);
        if (rc != MK_OK)
            return rc;
    }
    part->count++;
    return MK_OK;
}

/* ---- sets ---- */

/* Words of a bitmap of all entities. */
static uint32_t words_of(uint32_t entity_count) { return entity_count / 64 + 1; }

static uint32_t set_place(const mk_agg_set *set, uint32_t id)
{
    uint32_t at = (uint32_t)((id * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & (set->cap - 1);
    while (set->slots[at] != MK_NO_ID && set->slots[at] != id)
        at = (at + 1) & (set->cap - 1);
    return at;
}

static inline void set_bit(mk_agg_set *set, uint32_t id)
{
    set->bits[id / 64] |= UINT64_C(1) << (id % 64);
}

/* A bitmap costs a fifth of a table's time a member, so some memory may go into bitmaps that are larger than
 * the tables would be. */
static bool is_bitmap_time(mk_agg_part *part, uint64_t cap)
{
    const uint64_t bytes = words_of(part->job->entity_count) * sizeof(uint64_t);
    if (cap * sizeof(uint32_t) >= bytes)
        return true;
    if (cap < BITMAP_FROM || part->large_bitmaps + bytes > LARGE_BITMAPS_MAX)
        return false;
    part->large_bitmaps += bytes;
    return true;
}

/* Makes room for one more: a table of twice the size, or a bitmap. */
static mk_code set_grow(mk_agg_set *set, mk_agg_part *part, mk_err *err)
{
    const mk_agg_set old = *set;
    const uint64_t cap = old.cap == 0 ? 8 : (uint64_t)old.cap * 2;
    set->count = 0;
    if (is_bitmap_time(part, cap)) {
        set->bits = mk_arena_get0(part->arena, words_of(part->job->entity_count) * sizeof *set->bits);
        if (set->bits == NULL)
            return mk_fail_nomem(err);
    } else {
        set->slots = mk_arena_get(part->arena, cap * sizeof *set->slots);
        if (set->slots == NULL)
            return mk_fail_nomem(err);
        memset(set->slots, 0xFF, cap * sizeof *set->slots);
        set->cap = (uint32_t)cap;
    }
    for (uint32_t i = 0; i < old.cap; i++) {
        if (old.slots[i] == MK_NO_ID)
            continue;
        if (set->bits != NULL) {
            set_bit(set, old.slots[i]);
        } else {
            set->slots[set_place(set, old.slots[i])] = old.slots[i];
            set->count++;
        }
    }
    return MK_OK;
}

static mk_code set_add(mk_agg_set *set, mk_agg_part *part, uint32_t id, mk_err *err)
{
    if (set->bits == NULL && (set->count + 1) * UINT64_C(4) > set->cap * UINT64_C(3)) {
        const mk_code rc = set_grow(set, part, err);
        if (rc != MK_OK)
            return rc;
    }
    if (set->bits != NULL) {
        set_bit(set, id);
        return MK_OK;
    }
    const uint32_t at = set_place(set, id);
    set->count += set->slots[at] == MK_NO_ID;
    set->slots[at] = id;
    return MK_OK;
}

static uint64_t set_count(const mk_agg_set *set, uint32_t entity_count)
{
    uint64_t n = set->bits == NULL ? set->count : 0;
    for (uint32_t w = 0; set->bits != NULL && w < words_of(entity_count); w++)
        n += (uint64_t)__builtin_popcountll(set->bits[w]);
    return n;
}

/* Sets that `part` owns, or will. */
static mk_code set_merge(mk_agg_set *into, mk_agg_set *from, mk_agg_part *part, mk_err *err)
{
    const uint32_t entity_count = part->job->entity_count;
    mk_code rc = MK_OK;
    if (into->bits == NULL && (from->bits != NULL || from->count > into->count)) {
        const mk_agg_set swap = *into;
        *into = *from;
        *from = swap;
    }
    for (uint32_t w = 0; from->bits != NULL && w < words_of(entity_count); w++)
        into->bits[w] |= from->bits[w];
    for (uint32_t i = 0; from->bits == NULL && i < from->cap; i++)
        if (from->slots[i] != MK_NO_ID)
            MK_TRY(rc, set_add(into, part, from->slots[i], err));
out:
    return rc;
}

static mk_code take_distinct(mk_agg_part *part, mk_agg_set *sets, const uint32_t *ids,
                             const uint32_t *group, uint32_t count, mk_err *err)
{
    mk_code rc = MK_OK;
    for (uint32_t i = 0; i < count; i++) {
        mk_agg_set *set = &sets[group[i]];
        if (set->bits != NULL)
            set_bit(set, ids[i]);
        else
            MK_TRY(rc, set_add(set, part, ids[i], err));
    }
out:
    return rc;
}

/* ---- times and durations ---- */

/* An end may be any int64 in an old log, so the difference wraps. */
static int64_t duration(const mk_edge_block *rows, uint32_t i)
{
    return (int64_t)((uint64_t)rows->vt_e[i] - (uint64_t)rows->vt_s[i]);
}

static void take_extreme(mk_agg_extreme *of, const mk_agg_fn *fn, const mk_edge_block *rows,
                         const uint32_t *group)
{
    const bool smallest = fn->kind == MK_AGG_MIN, start = fn->of == MK_OF_VT_S;
    for (uint32_t i = 0; i < rows->count; i++) {
        if (!start && rows->vt_e[i] >= MK_OPEN_END)
            continue;
        const int64_t v = start ? rows->vt_s[i] : duration(rows, i);
        mk_agg_extreme *e = &of[group[i]];
        if (e->n++ == 0 || (smallest ? v < e->best : v > e->best))
            e->best = v;
    }
}

static void take_sum(mk_agg_sum *of, const mk_agg_fn *fn, const mk_edge_block *rows,
                     const uint32_t *group)
{
    const bool start = fn->of == MK_OF_VT_S;
    for (uint32_t i = 0; i < rows->count; i++) {
        if (!start && rows->vt_e[i] >= MK_OPEN_END)
            continue;
        mk_agg_sum *s = &of[group[i]];
        s->sum += start ? rows->vt_s[i] : duration(rows, i);
        s->n++;
    }
}

/* ---- sequences ---- */

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

static void take_gap(mk_agg_gap *gaps, const mk_edge_block *rows, const uint32_t *group)
{
    for (uint32_t i = 0; i < rows->count; i++) {
        mk_agg_gap *g = &gaps[group[i]];
        const int64_t t = rows->vt_s[i];
        if (!g->any)
            *g = (mk_agg_gap){.first = t, .last = t, .any = true};
        g->most = larger(g->most, t - g->last);
        g->last = t;
    }
}

static void take_session(mk_agg_session *sessions, int64_t width, const mk_edge_block *rows,
                         const uint32_t *group)
{
    for (uint32_t i = 0; i < rows->count; i++) {
        mk_agg_session *s = &sessions[group[i]];
        const int64_t t = rows->vt_s[i];
        if (!s->any)
            *s = (mk_agg_session){.first = t, .first_end = t, .last_start = t, .last = t, .any = true};
        if (t - s->last > width) {
            s->broken = true;
            s->last_start = t;
        }
        s->last = t;
        if (!s->broken)
            s->first_end = t;
        s->most = larger(s->most, t - s->last_start);
    }
}

static void merge_sessions(mk_agg_session *into, const mk_agg_session *from, int64_t width)
{
    if (!from->any)
        return;
    if (!into->any) {
        *into = *from;
        return;
    }
    const bool apart = from->first - into->last > width;
    into->most = larger(into->most, from->most);
    if (!apart) {
        into->most = larger(into->most, from->first_end - into->last_start);
        if (!into->broken)
            into->first_end = from->first_end;
    }
    if (apart || from->broken) {
        into->last_start = from->last_start;
        into->broken = true;
    }
    into->last = from->last;
}

static mk_code ring_grow(mk_agg_ring *ring, mk_arena *arena, mk_err *err)
{
    const uint32_t cap = ring->cap == 0 ? 4 : ring->cap * 2;
    int64_t *times = ring->cap > UINT32_MAX / 2 ? NULL
                                                : mk_arena_get(arena, (size_t)cap * sizeof *times);
    if (times == NULL)
        return mk_fail_nomem(err);
    for (uint32_t i = 0; i < ring->count; i++)
        times[i] = ring->times[(ring->head + i) & (ring->cap - 1)];
    *ring = (mk_agg_ring){.times = times, .cap = cap, .count = ring->count, .most = ring->most};
    return MK_OK;
}

/* The window that holds most events may be taken to end at an event: sliding it back to the last one in
 * it loses none. */
static mk_code take_window(mk_agg_part *part, mk_agg_ring *rings, int64_t width,
                           const mk_edge_block *rows, const uint32_t *group, mk_err *err)
{
    for (uint32_t i = 0; i < rows->count; i++) {
        mk_agg_ring *r = &rings[group[i]];
        const int64_t t = rows->vt_s[i];
        while (r->count > 0 && r->times[r->head] <= t - width) {
            r->head = (r->head + 1) & (r->cap - 1);
            r->count--;
        }
        if (r->count == r->cap) {
            const mk_code rc = ring_grow(r, part->arena, err);
            if (rc != MK_OK)
                return rc;
        }
        r->times[(r->head + r->count++) & (r->cap - 1)] = t;
        if (r->count > r->most)
            r->most = r->count;
    }
    return MK_OK;
}

/* ---- properties ---- */

/* Whether x comes before y in scan order. Starts decide; when they are equal only `careful` calls ask
 * for the ids, and others are told by `unsure` that it would have mattered. */
static mk_code comes_before(mk_agg_part *part, const mk_edge_ref *x, const mk_edge_ref *y, bool matters,
                            bool *before, mk_err *err)
{
    *before = x->vt_s < y->vt_s;
    if (x->vt_s != y->vt_s)
        return MK_OK;
    if (!part->job->careful) {
        part->unsure |= matters;
        return MK_OK;
    }
    mk_edge_ref pair[2] = {*x, *y};
    const mk_code rc = mk_view_sort_edges(part->job->view, pair, 2, err);
    *before = pair[0].part == x->part && pair[0].row == x->row;
    return rc;
}

static bool looks_the_same(const mk_agg_value *a, const mk_agg_value *b)
{
    return a->kind == b->kind && (a->kind != MK_AGG_FLOAT || signbit(a->d) == signbit(b->d));
}

static mk_code take_best(mk_agg_part *part, mk_agg_best *b, bool smallest, const mk_agg_value *v,
                         const mk_edge_ref *at, mk_err *err)
{
    const bool is_nan = v->kind == MK_AGG_FLOAT && isnan(v->d);
    mk_code rc = MK_OK;
    bool before;
    if (b->n++ == 0) {
        b->first = *at;
        b->first_nan = is_nan;
    } else {
        MK_TRY(rc, comes_before(part, at, &b->first, is_nan != b->first_nan, &before, err));
        if (before) {
            b->first = *at;
            b->first_nan = is_nan;
        }
    }
    if (is_nan)
        goto out;
    if (b->value.kind != MK_AGG_NULL) {
        const int order = mk_agg__compare(v, &b->value);
        if (order == (smallest ? 1 : -1))
            goto out;
        if (order == 0) {
            MK_TRY(rc, comes_before(part, at, &b->at, !looks_the_same(v, &b->value), &before, err));
            if (!before)
                goto out;
        }
    }
    b->value = *v;
    b->at = *at;
out:
    return rc;
}

static mk_code take_mean(mk_agg_part *part, mk_mean *mean, const mk_agg_value *v, mk_err *err)
{
    if (v->kind == MK_AGG_INT)
        return mk_mean_int(mean, part->arena, v->i, err);
    if (v->kind == MK_AGG_BIG)
        return mk_mean_digits(mean, part->arena, v->digits, err);
    return mk_mean_float(mean, part->arena, v->d, err);
}

static mk_code take_props(mk_agg_part *part, const mk_edge_block *rows, const uint32_t *group,
                          mk_err *err)
{
    const mk_agg_args *args = part->job->args;
    mk_code rc = MK_OK;
    for (uint32_t i = 0; i < rows->count; i++) {
        const mk_edge_ref at = mk_edge_block_ref(rows, i);
        const mk_agg_props *props;
        MK_TRY(rc, mk_agg__read(&part->reader, part->arena, &at, &props, err));
        for (size_t a = 0; a < args->fn_count; a++) {
            const mk_agg_fn *fn = &args->fns[a];
            const mk_agg_value *v = &props->value[a];
            if (fn->of != MK_OF_PROP || v->kind == MK_AGG_NULL)
                continue;
            if (fn->kind == MK_AGG_MEAN)
                MK_TRY(rc, take_mean(part, &part->states[a].means[group[i]], v, err));
            else
                MK_TRY(rc, take_best(part, &part->states[a].bests[group[i]],
                                     fn->kind == MK_AGG_MIN, v, &at, err));
        }
    }
out:
    return rc;
}

/* ---- a block of events ---- */

static mk_code take_one(mk_agg_part *part, size_t a, const mk_edge_block *rows, const uint32_t *group,
                        mk_err *err)
{
    const mk_agg_fn *fn = &part->job->args->fns[a];
    mk_agg_state *state = &part->states[a];
    switch (fn->kind) {
    case MK_AGG_COUNT:
        break;
    case MK_AGG_DISTINCT:
        if (state->any != NULL)
            return take_distinct(part, state->sets, fn->of == MK_OF_SRC ? rows->src : rows->dst, group,
                                 rows->count, err);
        break;
    case MK_AGG_MIN:
    case MK_AGG_MAX:
        take_extreme(state->extremes, fn, rows, group);
        break;
    case MK_AGG_MEAN:
        take_sum(state->sums, fn, rows, group);
        break;
    case MK_AGG_MAX_GAP:
        take_gap(state->gaps, rows, group);
        break;
    case MK_AGG_MAX_IN_WINDOW:
        return take_window(part, state->rings, fn->width, rows, group, err);
    case MK_AGG_MAX_SESSION_SPAN:
        take_session(state->sessions, fn->width, rows, group);
        break;
    }
    return MK_OK;
}

mk_code mk_agg__states_take(mk_agg_part *part, const mk_edge_block *rows, const uint32_t *group,
                            mk_err *err)
{
    const mk_agg_args *args = part->job->args;
    bool props = false;
    mk_code rc = MK_OK;
    for (uint32_t i = 0; i < rows->count; i++)
        part->counts[group[i]]++;
    for (size_t a = 0; a < args->fn_count; a++) {
        if (args->fns[a].of == MK_OF_PROP)
            props = true;
        else
            MK_TRY(rc, take_one(part, a, rows, group, err));
    }
    if (props)
        rc = take_props(part, rows, group, err);
out:
    return rc;
}

/* ---- parts put together ---- */

static void merge_extremes(mk_agg_extreme *into, const mk_agg_extreme *from, bool smallest)
{
    if (from->n != 0 &&
        (into->n == 0 || (smallest ? from->best < into->best : from->best > into->best)))
        into->best = from->best;
    into->n += from->n;
}

static void merge_gaps(mk_agg_gap *into, const mk_agg_gap *from)
{
    if (!from->any)
        return;
    if (!into->any) {
        *into = *from;
        return;
    }
    into->most = larger(larger(into->most, from->most), from->first - into->last);
    into->last = from->last;
}

static mk_code merge_one(mk_agg_part *into, uint32_t group, mk_agg_part *from, uint32_t from_group,
                         size_t a, mk_err *err)
{
    const mk_agg_fn *fn = &into->job->args->fns[a];
    mk_agg_state *x = &into->states[a], *y = &from->states[a];
    MK_ASSERT(mk_agg__merges(fn));
    switch (fn->kind) {
    case MK_AGG_DISTINCT:
        if (x->any != NULL)
            return set_merge(&x->sets[group], &y->sets[from_group], into, err);
        break;
    case MK_AGG_MIN:
    case MK_AGG_MAX:
        merge_extremes(&x->extremes[group], &y->extremes[from_group], fn->kind == MK_AGG_MIN);
        break;
    case MK_AGG_MEAN:
        if (fn->of == MK_OF_PROP)
            return mk_mean_merge(&x->means[group], into->arena, &y->means[from_group], err);
        x->sums[group].sum += y->sums[from_group].sum;
        x->sums[group].n += y->sums[from_group].n;
        break;
    case MK_AGG_MAX_GAP:
        merge_gaps(&x->gaps[group], &y->gaps[from_group]);
        break;
    case MK_AGG_MAX_SESSION_SPAN:
        merge_sessions(&x->sessions[group], &y->sessions[from_group], fn->width);
        break;
    default:
        break;
    }
    return MK_OK;
}

mk_code mk_agg__states_merge(mk_agg_part *into, uint32_t group, mk_agg_part *from, uint32_t from_group,
                             mk_err *err)
{
    mk_code rc = MK_OK;
    into->counts[group] += from->counts[from_group];
    if (into->ways != NULL)
        into->ways[group] |= from->ways[from_group];
    for (size_t a = 0; a < into->job->args->fn_count; a++)
        MK_TRY(rc, merge_one(into, group, from, from_group, a, err));
out:
    return rc;
}

/* ---- numbers ---- */

static mk_agg_value as_int(int64_t i) { return (mk_agg_value){.kind = MK_AGG_INT, .i = i}; }

static mk_agg_value or_null(bool known, int64_t i)
{
    return known ? as_int(i) : (mk_agg_value){.kind = MK_AGG_NULL};
}

/* Typed-column mean (operators spec, 4.2): always a float. */
static mk_agg_value mean_of_sum(const mk_agg_sum *s)
{
    if (s->n == 0)
        return (mk_agg_value){.kind = MK_AGG_NULL};
    const __int128 n = (__int128)s->n;
    __int128 q = s->sum / n, rest = s->sum % n;
    if (rest < 0) {
        rest += n;
        q--;
    }
    return (mk_agg_value){.kind = MK_AGG_FLOAT,
                          .d = (double)(int64_t)q + (double)(int64_t)rest / (double)s->n};
}

static mk_code mean_of_props(const mk_agg_part *part, const mk_mean *mean, mk_agg_value *out, mk_err *err)
{
    mk_mean_result result;
    const mk_code rc = mk_mean_result_of(mean, part->arena, &result, err);
    if (rc != MK_OK)
        return rc;
    switch (result.kind) {
    case MK_MEAN_NONE: *out = (mk_agg_value){.kind = MK_AGG_NULL}; break;
    case MK_MEAN_INT: *out = as_int(result.i); break;
    case MK_MEAN_DIGITS: *out = (mk_agg_value){.kind = MK_AGG_BIG, .digits = result.digits}; break;
    case MK_MEAN_FLOAT: *out = (mk_agg_value){.kind = MK_AGG_FLOAT, .d = result.d}; break;
    }
    return MK_OK;
}

static mk_agg_value extreme_value(const mk_agg_state *state, bool prop, uint32_t group)
{
    if (!prop)
        return or_null(state->extremes[group].n != 0, state->extremes[group].best);
    const mk_agg_best *best = &state->bests[group];
    if (best->n != 0 && best->first_nan)
        return (mk_agg_value){.kind = MK_AGG_FLOAT, .d = NAN};
    return best->value;
}

mk_code mk_agg__state_value(const mk_agg_part *part, size_t a, uint32_t group, mk_agg_value *out,
                            mk_err *err)
{
    const mk_agg_fn *fn = &part->job->args->fns[a];
    const mk_agg_state *state = &part->states[a];
    const uint64_t count = part->counts[group];
    switch (fn->kind) {
    case MK_AGG_COUNT:
        *out = as_int((int64_t)count);
        break;
    case MK_AGG_DISTINCT:
        *out = as_int(1);
        if (state->any != NULL)
            *out = as_int((int64_t)set_count(&state->sets[group], part->job->entity_count));
        break;
    case MK_AGG_MIN:
    case MK_AGG_MAX:
        *out = extreme_value(state, fn->of == MK_OF_PROP, group);
        break;
    case MK_AGG_MEAN:
        if (fn->of == MK_OF_PROP)
            return mean_of_props(part, &state->means[group], out, err);
        *out = mean_of_sum(&state->sums[group]);
        break;
    case MK_AGG_MAX_GAP:
        *out = or_null(count >= 2, state->gaps[group].most);
        break;
    case MK_AGG_MAX_IN_WINDOW:
        *out = as_int(state->rings[group].most);
        break;
    case MK_AGG_MAX_SESSION_SPAN:
        *out = or_null(count != 0, state->sessions[group].most);
        break;
    }
    return MK_OK;
}

uint64_t mk_agg__state_reads(const mk_agg_part *part, size_t a, uint32_t group)
{
    const mk_agg_fn *fn = &part->job->args->fns[a];
    const mk_agg_state *state = &part->states[a];
    if (fn->of != MK_OF_PROP && fn->of != MK_OF_DURATION)
        return part->counts[group];
    if (fn->kind == MK_AGG_MEAN)
        return fn->of == MK_OF_PROP ? state->means[group].n : state->sums[group].n;
    return fn->of == MK_OF_PROP ? state->bests[group].n : state->extremes[group].n;
}

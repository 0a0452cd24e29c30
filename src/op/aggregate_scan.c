/* aggregate_scan.c — the kernel of aggregate_events: reading, filtering, sharing out. Layer: op.
 *
 * A part reads its stretch of the window as blocks of columns. Blocks pass through filters, become groups
 * and go into the states. When there is much to read, the window is cut into parts for several threads, at
 * bounds of buckets if these are many, so that few groups lie in two parts; the parts are then put together in
 * the order of time. */
#include "op/aggregate_internal.h"

#define PARTS_PER_THREAD 4u /* a thread that is late has little left to do */
#define SLICES 256u         /* candidates for cuts when buckets do not give them */

/* ---- one block ---- */

/* Events that passed the filters, their pairs folded. */
typedef struct kept_rows {
    int64_t vt_s[MK_EDGE_BLOCK], vt_e[MK_EDGE_BLOCK];
    uint32_t src[MK_EDGE_BLOCK], dst[MK_EDGE_BLOCK], rel_type[MK_EDGE_BLOCK], row[MK_EDGE_BLOCK];
    uint8_t way[MK_EDGE_BLOCK]; /* 1: up in dense id, 2: down, 3: a pair of one */
    uint32_t count;
} kept_rows;

static bool has_bit(const uint64_t *bits, uint32_t id) { return bits[id / 64] >> (id % 64) & 1; }

static bool in_cohort(const mk_agg_args *args, uint32_t src, uint32_t dst)
{
    return ((args->cohort_sides & MK_SIDE_OUT) && has_bit(args->cohort, src)) ||
           ((args->cohort_sides & MK_SIDE_IN) && has_bit(args->cohort, dst));
}

/* Whether the property filter keeps row i; counts what it cannot compare. */
static mk_code judge(mk_agg_part *part, const mk_edge_block *block, uint32_t i, bool *keep, mk_err *err)
{
    const mk_edge_ref ref = mk_edge_block_ref(block, i);
    const mk_agg_props *props;
    const mk_code rc = mk_agg__read(&part->reader, part->arena, &ref, &props, err);
    if (rc != MK_OK)
        return rc;
    part->skipped += props->verdict == MK_VERDICT_SKIP;
    *keep = props->verdict == MK_VERDICT_TRUE;
    return MK_OK;
}

/* Pairs are shown by ascending dense id, which is the order of registration (oddity O-3). */
static void keep_row(kept_rows *kept, const mk_edge_block *block, uint32_t i, bool fold)
{
    const uint32_t at = kept->count++, src = block->src[i], dst = block->dst[i];
    const bool down = fold && src > dst;
    kept->vt_s[at] = block->vt_s[i];
    kept->vt_e[at] = block->vt_e[i];
    kept->src[at] = down ? dst : src;
    kept->dst[at] = down ? src : dst;
    kept->rel_type[at] = block->rel_type[i];
    kept->row[at] = block->row[i];
    kept->way[at] = src == dst ? 3 : down ? 2 : 1;
}

static mk_code filter_block(mk_agg_part *part, const mk_edge_block *block, kept_rows *kept, mk_err *err)
{
    const mk_agg_args *args = part->job->args;
    kept->count = 0;
    for (uint32_t i = 0; i < block->count; i++) {
        bool keep = args->cohort == NULL || in_cohort(args, block->src[i], block->dst[i]);
        if (keep && args->value != NULL) {
            const mk_code rc = judge(part, block, i, &keep, err);
            if (rc != MK_OK)
                return rc;
        }
        if (keep)
            keep_row(kept, block, i, args->pair_mode != MK_PAIR_NONE);
    }
    return MK_OK;
}

static mk_code take_rows(mk_agg_part *part, const mk_edge_block *rows, const uint8_t *way, mk_err *err)
{
    uint32_t group[MK_EDGE_BLOCK];
    mk_code rc;
    MK_TRY(rc, mk_agg__groups(part, rows, group, err));
    MK_TRY(rc, mk_agg__states_take(part, rows, group, err));
    if (part->ways != NULL)
        for (uint32_t i = 0; i < rows->count; i++)
            part->ways[group[i]] |= way[i];
out:
    return rc;
}

static mk_code take_block(mk_agg_part *part, const mk_edge_block *block, mk_err *err)
{
    const mk_agg_args *args = part->job->args;
    if (args->cohort == NULL && args->value == NULL && args->pair_mode == MK_PAIR_NONE)
        return take_rows(part, block, NULL, err);
    kept_rows kept;
    const mk_code rc = filter_block(part, block, &kept, err);
    if (rc != MK_OK || kept.count == 0)
        return rc;
    const mk_edge_block rows = {.count = kept.count, .part = block->part, .vt_s = kept.vt_s,
                                .vt_e = kept.vt_e, .src = kept.src, .dst = kept.dst,
                                .rel_type = kept.rel_type, .row = kept.row};
    return take_rows(part, &rows, kept.way, err);
}

/* ---- one part ---- */

/* Counting reads no more than the keys; everything else, and every filter of our own, may read it all. */
static unsigned unread_columns(const mk_agg_args *args)
{
    bool src = false, dst = false;
    if (args->cohort != NULL || args->value != NULL || args->pair_mode != MK_PAIR_NONE)
        return 0;
    for (size_t i = 0; i < args->fn_count; i++) {
        if (args->fns[i].kind != MK_AGG_COUNT && args->fns[i].kind != MK_AGG_DISTINCT)
            return 0;
        src |= args->fns[i].of == MK_OF_SRC;
        dst |= args->fns[i].of == MK_OF_DST;
    }
    for (size_t i = 0; i < args->dim_count; i++) {
        src |= args->dims[i].kind == MK_DIM_SRC || args->dims[i].kind == MK_DIM_SRC_LABEL;
        dst |= args->dims[i].kind == MK_DIM_DST || args->dims[i].kind == MK_DIM_DST_LABEL;
    }
    return MK_WITHOUT_ENDS | MK_WITHOUT_ROWS | (src ? 0 : MK_WITHOUT_SRC) | (dst ? 0 : MK_WITHOUT_DST);
}

static mk_code read_part(mk_agg_part *part, mk_err *err)
{
    const mk_agg_args *args = part->job->args;
    mk_edge_filter filter = args->filter;
    mk_edge_stream *stream;
    const mk_edge_block *block;
    bool in_time = false;
    mk_code rc;
    filter.vt_lo = part->vt_lo;
    filter.vt_hi = part->vt_hi;
    filter.match = MK_MATCH_STARTS;
    filter.without = unread_columns(args);
    for (size_t a = 0; a < args->fn_count; a++)
        in_time |= mk_agg__needs_time(&args->fns[a]);
    MK_TRY(rc, mk_view_stream(part->job->view, part->arena, &filter, in_time, &stream, err));
    for (;;) {
        if (!mk_guard__look(&part->guard)) {
            rc = mk_guard_result(&part->guard, err);
            goto out;
        }
        MK_TRY(rc, mk_edge_stream_next(stream, &block, err));
        if (block == NULL)
            break;
        MK_TRY(rc, take_block(part, block, err));
    }
out:
    return rc;
}

/* ---- cutting the window ---- */

typedef struct cuts {
    int64_t *at; /* ascending; `count` + 1 of them, from t_a to t_b */
    size_t count; /* of parts */
} cuts;

/* Times at which the window may be cut, between its ends: starts of buckets, or even slices of what the store
 * covers of it. */
static size_t candidates(const mk_agg_args *args, const mk_view_stats *stats, size_t parts, int64_t *at)
{
    size_t n = 0;
    if (args->stride != 0 && (args->t_b - 1 - args->t_a) / args->stride >= (int64_t)parts) {
        for (int64_t t = args->t_a; t < args->t_b - args->stride;) {
            t += args->stride;
            at[n++] = t;
        }
        return n;
    }
    const int64_t lo = stats->vt_min > args->t_a ? stats->vt_min : args->t_a;
    const int64_t hi = stats->vt_max < args->t_b ? stats->vt_max : args->t_b;
    if (hi - lo < 2 * (int64_t)SLICES)
        return 0;
    for (size_t i = 1; i < SLICES; i++)
        at[n++] = lo + (hi - lo) / (int64_t)SLICES * (int64_t)i;
    return n;
}

static bool is_shared_out(const mk_agg_job *job, const mk_view_stats *stats)
{
    const mk_agg_args *args = job->args;
    bool merges = true;
    for (size_t a = 0; a < args->fn_count; a++)
        merges &= mk_agg__merges(&args->fns[a]);
    return merges && mk_pool_threads(args->pool) > 1 && stats->has_extent &&
           stats->edge_versions >= args->share_from;
}

/* Cuts the window into parts of about the same number of events. */
static mk_code cut_window(const mk_agg_job *job, mk_arena *arena, cuts *out, mk_err *err)
{
    const mk_agg_args *args = job->args;
    const size_t parts = (size_t)mk_pool_threads(args->pool) * PARTS_PER_THREAD;
    const size_t cap = MK_AGG_BUCKETS_MAX + 2;
    mk_view_stats stats;
    mk_code rc = MK_OK;
    int64_t *at = mk_arena_get(arena, cap * sizeof *at);
    uint64_t *before = mk_arena_get(arena, cap * sizeof *before);
    if (at == NULL || before == NULL)
        return mk_fail_nomem(err);
    mk_view_get_stats(job->view, &stats);
    size_t n = 0;
    at[n++] = args->t_a;
    if (is_shared_out(job, &stats))
        n += candidates(args, &stats, parts, at + 1);
    at[n++] = args->t_b;
    *out = (cuts){.at = at, .count = 1};
    if (n == 2)
        goto out;
    MK_TRY(rc, mk_view_count_before(job->view, false, at, n, before, err));
    const uint64_t events = before[n - 1] - before[0];
    size_t count = 0; /* at[0..count] are cuts already chosen */
    for (size_t i = 1; i + 1 < n && events >= args->share_from; i++)
        if (before[i] - before[0] >= events / parts * (count + 1))
            at[++count] = at[i];
    at[++count] = args->t_b;
    out->count = count;
out:
    return rc;
}

/* ---- all parts ---- */

typedef struct crew {
    mk_agg_job job;
    mk_agg_part *parts;
    mk_arena *arenas; /* of the parts, when there are several */
    cuts cuts;
} crew;

static mk_code read_shared_part(void *arg, size_t index, mk_err *err)
{
    crew *c = arg;
    return read_part(&c->parts[index], err);
}

static mk_code open_parts(crew *c, mk_arena *arena, const mk_guard *guard, mk_err *err)
{
    const size_t n = c->cuts.count;
    mk_code rc = MK_OK;
    c->parts = mk_arena_get(arena, n * sizeof *c->parts);
    c->arenas = n > 1 ? mk_arena_get(arena, n * sizeof *c->arenas) : NULL;
    if (c->parts == NULL || (n > 1 && c->arenas == NULL)) {
        c->arenas = NULL;
        return mk_fail_nomem(err);
    }
    for (size_t i = 0; n > 1 && i < n; i++) {
        mk_arena_init(&c->arenas[i], arena->alloc);
        if (arena->limit != 0) /* the call's budget, in equal shares */
            c->arenas[i].limit = (arena->limit - arena->total) / n + 1;
    }
    for (size_t i = 0; i < n; i++)
        MK_TRY(rc, mk_agg__part_open(&c->parts[i], &c->job, n > 1 ? &c->arenas[i] : arena, guard,
                                     c->cuts.at[i], c->cuts.at[i + 1], err));
out:
    return rc;
}

static mk_code merge_part(mk_agg_part *into, mk_agg_part *from, mk_err *err)
{
    mk_code rc = MK_OK;
    into->skipped += from->skipped;
    for (uint32_t g = 0; g < from->count; g++) {
        uint32_t group;
        MK_TRY(rc, mk_agg__group_of(into, from->keys[g], &group, err));
        MK_TRY(rc, mk_agg__states_merge(into, group, from, g, err));
    }
out:
    return rc;
}

/* Reads everything; parts[0] then holds it. What is added from here on comes from the call's arena. */
static mk_code read_window(crew *c, mk_arena *arena, const mk_guard *guard, mk_err *err)
{
    mk_code rc;
    MK_TRY(rc, open_parts(c, arena, guard, err));
    MK_TRY(rc, mk_pool_run(c->cuts.count > 1 ? c->job.args->pool : NULL, c->cuts.count, read_shared_part,
                           c, err));
    mk_agg_part *all = &c->parts[0];
    all->arena = arena;
    all->map.arena = arena;
    for (size_t i = 1; i < c->cuts.count; i++)
        MK_TRY(rc, merge_part(all, &c->parts[i], err));
    if (c->job.args->dim_count == 0 && all->count == 0) {
        uint32_t group;
        rc = mk_agg__group_of(all, 0, &group, err); /* the one group of everything, even of nothing */
    }
out:
    return rc;
}

/* ---- the answer ---- */

/* The groups that count: under RECIPROCAL those whose pair occurred both ways. */
static mk_code list_groups(const mk_agg_part *all, mk_arena *arena, uint32_t **listed, size_t *count,
                           mk_agg_result *out, mk_err *err)
{
    const mk_agg_args *args = all->job->args;
    *count = 0;
    *listed = mk_arena_get(arena, all->count * sizeof **listed);
    if (*listed == NULL)
        return mk_fail_nomem(err);
    for (uint32_t g = 0; g < all->count; g++) {
        if (args->pair_mode == MK_PAIR_RECIPROCAL && all->ways[g] != 3)
            continue;
        (*listed)[(*count)++] = g;
        out->events += all->counts[g];
        for (size_t a = 0; a < args->fn_count; a++)
            out->unread[a] += all->counts[g] - mk_agg__state_reads(all, a, g);
    }
    return *count > MK_AGG_GROUPS_MAX ? mk_agg__too_many(err) : MK_OK;
}

static mk_code make_row(const mk_agg_part *all, uint32_t group, mk_agg_row *row, mk_err *err)
{
    mk_code rc = MK_OK;
    *row = (mk_agg_row){.code = {(uint32_t)(all->keys[group] >> 32), (uint32_t)all->keys[group]}};
    for (size_t a = 0; a < all->job->args->fn_count && rc == MK_OK; a++)
        rc = mk_agg__state_value(all, a, group, &row->value[a], err);
    return rc;
}

static mk_code make_rows(const mk_agg_part *all, mk_arena *arena, mk_agg_result *out, mk_err *err)
{
    uint32_t *listed;
    size_t count;
    mk_code rc;
    *out = (mk_agg_result){.skipped = all->skipped};
    MK_TRY(rc, list_groups(all, arena, &listed, &count, out, err));
    MK_TRY(rc, mk_page_span(&all->job->args->page, count, &out->span, err));
    MK_TRY(rc, mk_agg__order(all, arena, listed, count, out->span.end, err));
    const size_t shown = out->span.end - out->span.start;
    out->rows = mk_arena_get(arena, shown * sizeof *out->rows);
    if (out->rows == NULL) {
        rc = mk_fail_nomem(err);
        goto out;
    }
    for (size_t i = 0; i < shown; i++)
        MK_TRY(rc, make_row(all, listed[out->span.start + i], &out->rows[i], err));
out:
    return rc;
}

static void close_parts(crew *c)
{
    for (size_t i = 0; c->arenas != NULL && i < c->cuts.count; i++)
        mk_arena_free(&c->arenas[i]);
}

static mk_code aggregate_once(crew *c, mk_arena *arena, const mk_guard *guard, mk_agg_result *out,
                              bool *unsure, mk_err *err)
{
    mk_code rc;
    MK_TRY(rc, cut_window(&c->job, arena, &c->cuts, err));
    MK_TRY(rc, read_window(c, arena, guard, err));
    *unsure = c->parts[0].unsure;
    if (!*unsure)
        rc = make_rows(&c->parts[0], arena, out, err);
out:
    close_parts(c);
    return rc;
}

mk_code mk_aggregate(mk_view *view, mk_arena *arena, const mk_agg_args *args, mk_guard *guard,
                     mk_agg_result *out, mk_err *err)
{
    const mk_arena_mark mark = mk_arena_save(arena);
    crew c = {.job = {.view = view, .args = args, .entity_count = mk_view_entity_count(view)}};
    bool unsure = false;
    mk_code rc = aggregate_once(&c, arena, guard, out, &unsure, err);
    if (rc == MK_OK && unsure) {
        mk_arena_rewind(arena, mark);
        c = (crew){.job = c.job};
        c.job.careful = true;
        rc = aggregate_once(&c, arena, guard, out, &unsure, err);
    }
    return rc;
}

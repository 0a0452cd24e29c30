/* aggregate_keys.c — from events to the numbers of their groups. Layer: op.
 *
 * Each dimension turns a block of events into codes of 32 bits; two codes make a key. Keys with small
 * codes (buckets, calendar units, the first relation types and labels of a store, the entities of a
 * small one) index a plain array, the rest goes through a hash table. Events come in the order of time, so
 * codes of time are computed once for a stretch of it. */
#include "base/hash.h"
#include "base/timetext.h"
#include "op/aggregate_internal.h"

#define HOUR_US INT64_C(3600000000)
#define DAY_US INT64_C(86400000000)
#define NAMES_DENSE 64u              /* name codes below this go by the array */
#define TABLE_MAX (UINT32_C(1) << 18) /* entries: 1 MiB, of which a stretch of time touches little */

/* ---- codes to numbers ---- */

static mk_code map_grow(mk_agg_map *map, mk_err *err)
{
    const size_t slot_count = map->slot_count == 0 ? 256 : map->slot_count * 2;
    size_t size;
    mk_agg_slot *slots =
        mk_size_mul(slot_count, sizeof *slots, &size) ? mk_arena_get(map->arena, size) : NULL;
    if (slots == NULL)
        return mk_fail_nomem(err);
    memset(slots, 0xFF, size);
    for (size_t i = 0; i < map->slot_count; i++) {
        if (map->slots[i].number == MK_NO_ID)
            continue;
        size_t at = mk_mix64(map->slots[i].key ^ map->seed) & (slot_count - 1);
        while (slots[at].number != MK_NO_ID)
            at = (at + 1) & (slot_count - 1);
        slots[at] = map->slots[i];
    }
    map->slots = slots;
    map->slot_count = slot_count;
    return MK_OK;
}

mk_code mk_agg__map_at(mk_agg_map *map, uint64_t key, mk_agg_slot **slot, mk_err *err)
{
    if ((map->used + 1) * 4 > map->slot_count * 3) {
        const mk_code rc = map_grow(map, err);
        if (rc != MK_OK)
            return rc;
    }
    size_t at = mk_mix64(key ^ map->seed) & (map->slot_count - 1);
    while (map->slots[at].number != MK_NO_ID && map->slots[at].key != key)
        at = (at + 1) & (map->slot_count - 1);
    *slot = &map->slots[at];
    if ((*slot)->number == MK_NO_ID) {
        (*slot)->key = key;
        map->used++;
    }
    return MK_OK;
}

/* ---- codes of time ---- */

/* Codes of a block in one dimension. */
typedef struct code_column {
    const uint32_t *each; /* by row; NULL: all rows have `same` */
    uint32_t same;
} code_column;

static uint32_t code_at(const code_column *codes, uint32_t i)
{
    return codes->each != NULL ? codes->each[i] : codes->same;
}

static int64_t floor_div(int64_t a, int64_t b)
{
    const int64_t q = a / b;
    return a % b < 0 ? q - 1 : q;
}

/* 0 for January. `day` counts from 1970-01-01. Years begin in March here, so that the leap day is their
 * last: months are then a linear function of the day of the year (Richards 2013, "Calendars", in
 * Explanatory Supplement to the Astronomical Almanac, 3rd edition, 15.11). */
static uint32_t month_of_day(int64_t day)
{
    const int64_t shifted = day + 719468; /* from 0000-03-01 */
    const int64_t era_day = shifted - floor_div(shifted, 146097) * 146097;
    const int64_t era_year = (era_day - era_day / 1460 + era_day / 36524 - era_day / 146096) / 365;
    const int64_t year_day = era_day - (365 * era_year + era_year / 4 - era_year / 100);
    const int64_t from_march = (5 * year_day + 2) / 153;
    return (uint32_t)((from_march + 2) % 12);
}

/* Local time is cut into pieces of `unit`; the piece that holds t, in UTC. */
static mk_agg_stretch piece_of(int64_t t, int64_t offset, int64_t unit, int64_t *number)
{
    *number = floor_div(t + offset, unit);
    const int64_t from = *number * unit - offset;
    return (mk_agg_stretch){.from = from, .to = from + unit};
}

int64_t mk_agg_period(const mk_agg_dim *dim, int64_t t)
{
    const int64_t day = floor_div(t + dim->offset_us, DAY_US);
    int64_t year;
    unsigned month, day_of_month;
    if (dim->months == 0) /* weeks begin on a Monday, and day 0 was a Thursday */
        return floor_div(day + (dim->days == 7 ? 3 : 0), dim->days);
    mk_civil_of_days(day, &year, &month, &day_of_month);
    return floor_div(year * 12 + month - 1, dim->months);
}

int64_t mk_agg_period_start(const mk_agg_dim *dim, int64_t number)
{
    if (dim->months == 0)
        return (number * dim->days - (dim->days == 7 ? 3 : 0)) * DAY_US - dim->offset_us;
    const int64_t month = number * dim->months, year = floor_div(month, 12);
    return mk_days_of_civil(year, (unsigned)(month - year * 12) + 1, 1) * DAY_US - dim->offset_us;
}

static mk_agg_stretch stretch_of(const mk_agg_args *args, const mk_agg_dim *dim, int64_t t)
{
    mk_agg_stretch s;
    int64_t number;
    switch (dim->kind) {
    case MK_DIM_PERIOD:
        number = mk_agg_period(dim, t);
        return (mk_agg_stretch){.from = mk_agg_period_start(dim, number), .to = mk_agg_period_start(dim, number + 1),
                                .code = (uint32_t)(number - mk_agg_period(dim, args->t_a))};
    case MK_DIM_HOUR_OF_DAY:
        s = piece_of(t, dim->offset_us, HOUR_US, &number);
        s.code = (uint32_t)(number - floor_div(number, 24) * 24);
        return s;
    case MK_DIM_DAY_OF_WEEK:
        s = piece_of(t, dim->offset_us, DAY_US, &number);
        number += 3; /* day 0 was a Thursday */
        s.code = (uint32_t)(number - floor_div(number, 7) * 7);
        return s;
    case MK_DIM_MONTH_OF_YEAR:
        s = piece_of(t, dim->offset_us, DAY_US, &number);
        s.code = month_of_day(number);
        return s;
    default:
        number = (t - args->t_a) / args->stride;
        s = (mk_agg_stretch){.from = args->t_a + number * args->stride, .code = (uint32_t)number};
        if (__builtin_add_overflow(s.from, args->stride, &s.to))
            s.to = INT64_MAX;
        return s;
    }
}

static code_column time_codes(mk_agg_part *part, size_t d, const mk_edge_block *rows, uint32_t *own)
{
    const mk_agg_dim *dim = &part->job->args->dims[d];
    const int64_t *t = rows->vt_s; /* ascends */
    mk_agg_stretch s = part->stretch[d];
    if (t[0] < s.from || t[0] >= s.to)
        s = stretch_of(part->job->args, dim, t[0]);
    const bool same = t[rows->count - 1] < s.to;
    for (uint32_t i = 0; !same && i < rows->count; i++) {
        if (t[i] >= s.to)
            s = stretch_of(part->job->args, dim, t[i]);
        own[i] = s.code;
    }
    part->stretch[d] = s;
    return (code_column){.each = same ? NULL : own, .same = s.code};
}

/* ---- labels ---- */

#define LABEL_PAGE 4096u /* entities */

/* Where the place of an entity's versions is noted; 0: they were not asked for yet. */
static mk_code label_place(mk_agg_part *part, uint32_t id, uint32_t **place, mk_err *err)
{
    if (part->label_pages == NULL) {
        const size_t pages = part->job->entity_count / LABEL_PAGE + 1;
        part->label_pages = mk_arena_get0(part->arena, pages * sizeof *part->label_pages);
        if (part->label_pages == NULL)
            return mk_fail_nomem(err);
    }
    uint32_t **page = &part->label_pages[id / LABEL_PAGE];
    if (*page == NULL) {
        *page = mk_arena_get0(part->arena, LABEL_PAGE * sizeof **page);
        if (*page == NULL)
            return mk_fail_nomem(err);
    }
    *place = &(*page)[id % LABEL_PAGE];
    return MK_OK;
}

/* Appends the believed versions of an entity that is met for the first time. */
static mk_code load_labels(mk_agg_part *part, uint32_t id, uint32_t *place, mk_err *err)
{
    mk_node_ref *refs;
    size_t count;
    mk_code rc;
    MK_TRY(rc, mk_view_node_refs(part->job->view, part->arena, id, &refs, &count, err));
    MK_TRY(rc, mk_op_grow(part->arena, (void **)&part->labels, &part->label_cap,
                          part->label_count + count, sizeof *part->labels, err));
    MK_TRY(rc, mk_op_grow(part->arena, (void **)&part->label_from, &part->label_from_cap,
                          part->label_entities + 2, sizeof *part->label_from, err));
    int64_t reach = INT64_MIN;
    for (size_t i = 0; i < count; i++) {
        reach = refs[i].vt_e > reach ? refs[i].vt_e : reach;
        part->labels[part->label_count++] = (mk_agg_label){
            .vt_s = refs[i].vt_s, .vt_e = refs[i].vt_e, .reach = reach, .label = refs[i].label};
    }
    part->label_from[0] = 0;
    part->label_from[++part->label_entities] = (uint32_t)part->label_count;
    *place = (uint32_t)part->label_entities;
out:
    return rc;
}

/* The place behind the last of the versions [from, to) that starts at or before t. */
static uint32_t upper(const mk_agg_label *versions, uint32_t from, uint32_t to, int64_t t)
{
    while (from < to) {
        const uint32_t mid = from + (to - from) / 2;
        if (versions[mid].vt_s <= t)
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

/* Label of the version that is valid at t: the last one in scan order, if several are. MK_NO_ID: none. */
static mk_code label_at(mk_agg_part *part, uint32_t id, int64_t t, uint32_t *label, mk_err *err)
{
    uint32_t *place = NULL;
    mk_code rc;
    *label = MK_NO_ID;
    MK_TRY(rc, label_place(part, id, &place, err));
    if (*place == 0)
        MK_TRY(rc, load_labels(part, id, place, err));
    const uint32_t from = part->label_from[*place - 1], to = part->label_from[*place];
    for (uint32_t i = upper(part->labels, from, to, t); i > from; i--) {
        const mk_agg_label *version = &part->labels[i - 1];
        if (version->reach <= t)
            break;
        if (t < version->vt_e) {
            *label = version->label;
            break;
        }
    }
out:
    return rc;
}

static mk_code label_codes(mk_agg_part *part, const mk_edge_block *rows, const uint32_t *ids,
                           uint32_t *codes, mk_err *err)
{
    mk_code rc = MK_OK;
    for (uint32_t i = 0; i < rows->count; i++)
        MK_TRY(rc, label_at(part, ids[i], rows->vt_s[i], &codes[i], err));
out:
    return rc;
}

/* ---- groups ---- */

/* `own` is room for codes that the block does not have as a column. */
static mk_code codes_of(mk_agg_part *part, size_t d, const mk_edge_block *rows, uint32_t *own,
                        code_column *codes, mk_err *err)
{
    *codes = (code_column){.each = own};
    switch (part->job->args->dims[d].kind) {
    case MK_DIM_REL_TYPE: codes->each = rows->rel_type; break;
    case MK_DIM_SRC: codes->each = rows->src; break;
    case MK_DIM_DST: codes->each = rows->dst; break;
    case MK_DIM_SRC_LABEL: return label_codes(part, rows, rows->src, own, err);
    case MK_DIM_DST_LABEL: return label_codes(part, rows, rows->dst, own, err);
    default: *codes = time_codes(part, d, rows, own); break;
    }
    return MK_OK;
}

static mk_code new_group(mk_agg_part *part, uint64_t key, uint32_t *group, mk_err *err)
{
    const mk_code rc = mk_agg__states_add(part, err);
    if (rc != MK_OK)
        return rc;
    *group = (uint32_t)part->count - 1;
    part->keys[*group] = key;
    return MK_OK;
}

/* Place in the array; the first, which stays 0, is for codes that it does not take. */
static inline size_t dense_place(const mk_agg_part *part, uint32_t first, uint32_t second)
{
    const size_t place = (size_t)first * part->dense[1] + second + 1;
    const bool fits = (first < part->dense[0]) & (second < part->dense[1]);
    return fits ? place : 0;
}

/* The group of two codes that is not in the array yet, or never will be. */
static mk_code find_group(mk_agg_part *part, uint32_t first, uint32_t second, uint32_t *group,
                          mk_err *err)
{
    const uint64_t key = (uint64_t)first << 32 | second;
    const size_t place = dense_place(part, first, second);
    mk_agg_slot *slot;
    mk_code rc = MK_OK;
    if (place != 0) {
        if (part->table[place] == 0) {
            MK_TRY(rc, new_group(part, key, group, err));
            part->table[place] = *group + 1;
        }
        *group = part->table[place] - 1;
        goto out;
    }
    MK_TRY(rc, mk_agg__map_at(&part->map, key, &slot, err));
    if (slot->number == MK_NO_ID)
        MK_TRY(rc, new_group(part, key, &slot->number, err));
    *group = slot->number;
out:
    return rc;
}

mk_code mk_agg__group_of(mk_agg_part *part, uint64_t key, uint32_t *group, mk_err *err)
{
    return find_group(part, (uint32_t)(key >> 32), (uint32_t)key, group, err);
}

/* Groups by the array where only dimension d differs among the rows. True when some are not in it. */
static bool look_up_one(const mk_agg_part *part, const code_column codes[MK_AGG_DIMS_MAX], size_t d,
                        uint32_t count, uint32_t *group)
{
    const uint32_t *const table = part->table, *const each = codes[d].each;
    const uint32_t same = codes[1 - d].same;
    const uint32_t bound = same < part->dense[1 - d] ? part->dense[d] : 0;
    const size_t step = d == 0 ? part->dense[1] : 1;
    const size_t base = (d == 0 ? same : (size_t)same * part->dense[1]) + 1;
    bool missing = false;
    for (uint32_t i = 0; i < count; i++) {
        const size_t place = each[i] < bound ? base + each[i] * step : 0;
        group[i] = table[place] - 1;
        missing |= group[i] == MK_NO_ID;
    }
    return missing;
}

static bool look_up_two(const mk_agg_part *part, const code_column codes[MK_AGG_DIMS_MAX], uint32_t count,
                        uint32_t *group)
{
    bool missing = false;
    for (uint32_t i = 0; i < count; i++) {
        group[i] = part->table[dense_place(part, codes[0].each[i], codes[1].each[i])] - 1;
        missing |= group[i] == MK_NO_ID;
    }
    return missing;
}

mk_code mk_agg__groups(mk_agg_part *part, const mk_edge_block *rows, uint32_t *group, mk_err *err)
{
    uint32_t own[MK_AGG_DIMS_MAX][MK_EDGE_BLOCK];
    code_column codes[MK_AGG_DIMS_MAX] = {{.each = NULL}, {.each = NULL}};
    mk_code rc = MK_OK;
    for (size_t d = 0; d < part->job->args->dim_count; d++)
        MK_TRY(rc, codes_of(part, d, rows, own[d], &codes[d], err));
    const bool differs[] = {codes[0].each != NULL, codes[1].each != NULL};
    if (!differs[0] && !differs[1]) {
        MK_TRY(rc, find_group(part, codes[0].same, codes[1].same, &group[0], err));
        for (uint32_t i = 1; i < rows->count; i++)
            group[i] = group[0];
        goto out;
    }
    const bool missing = differs[0] && differs[1]
                             ? look_up_two(part, codes, rows->count, group)
                             : look_up_one(part, codes, differs[1], rows->count, group);
    for (uint32_t i = 0; missing && i < rows->count; i++)
        if (group[i] == MK_NO_ID)
            MK_TRY(rc, find_group(part, code_at(&codes[0], i), code_at(&codes[1], i), &group[i], err));
out:
    return rc;
}

/* ---- opening ---- */

/* Codes of a dimension that the array may take. */
static uint32_t dense_size(const mk_agg_job *job, size_t d)
{
    const mk_agg_args *args = job->args;
    if (d >= args->dim_count)
        return 1;
    switch (args->dims[d].kind) {
    case MK_DIM_TIME_BUCKET: return (uint32_t)((args->t_b - 1 - args->t_a) / args->stride) + 1;
    case MK_DIM_HOUR_OF_DAY: return 24;
    case MK_DIM_DAY_OF_WEEK: return 7;
    case MK_DIM_MONTH_OF_YEAR: return 12;
    case MK_DIM_PERIOD: return MK_AGG_BUCKETS_MAX;
    case MK_DIM_SRC:
    case MK_DIM_DST: return job->entity_count;
    default: return NAMES_DENSE;
    }
}

mk_code mk_agg__part_open(mk_agg_part *part, mk_agg_job *job, mk_arena *arena, const mk_guard *guard,
                          int64_t vt_lo, int64_t vt_hi, mk_err *err)
{
    *part = (mk_agg_part){.job = job,
                          .arena = arena,
                          .vt_lo = vt_lo,
                          .vt_hi = vt_hi,
                          .guard = *guard,
                          .map = {.arena = arena, .seed = mk_entropy64()}};
    for (size_t d = 0; d < MK_AGG_DIMS_MAX; d++)
        part->stretch[d] = (mk_agg_stretch){.from = 1, .to = 0};
    /* Pairs are dropped later when only one way occurs, so there may be more of them here. */
    part->cap_max = job->args->pair_mode == MK_PAIR_RECIPROCAL ? 0 : MK_AGG_GROUPS_MAX;
    const uint32_t first = dense_size(job, 0), second = dense_size(job, 1);
    if ((uint64_t)first * second <= TABLE_MAX) {
        part->dense[0] = first;
        part->dense[1] = second;
    }
    part->table = mk_arena_get0(arena, ((size_t)part->dense[0] * part->dense[1] + 1) * sizeof *part->table);
    if (part->table == NULL)
        return mk_fail_nomem(err);
    return mk_agg__reader_open(&part->reader, job->view, arena, job->args, err);
}

/* lexicon.c — which identifiers and times a result holds. Layer: claim.
 *
 * A string is an identifier and an integer a time only because of the field it stands in: `name` may hold
 * a uid's text and `rows_total` a timestamp's digits without being one. Stored properties are never
 * entered. compute's columns have names of the plan's choosing, so there every value is noted and the
 * results that it was computed from decide (evidence.c). Source: agent spec, O-8. */
#include <stdlib.h>

#include "claim/claim_internal.h"

/* A test holds these lists against the operators' declared results. */
static const char *const id_fields[] = {
    "uid", "src", "dst", "eid", "vid", "id",
    "neighbors_gained", "neighbors_lost", "nodes_added", "nodes_removed",
};
static const char *const time_fields[] = {
    "t", "t_a", "t_b", "vt_s", "vt_e", "tt_s", "tt_e", "arrival", "earliest_arrival",
    "latest_departure", "min_vt_s", "max_vt_s",
};
static const char *const containers[] = {
    "rows", "edges", "nodes", "a", "b", "edges_added", "edges_removed", "props_changed",
    "degree_series",
};
/* Values that people stored, whatever operator returns them. */
static const char *const stored[] = {"props", "name", "from", "to", "prop_coercion"};

static bool among(mk_str key, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (mk_str_eq(key, mk_str_of(names[i])))
            return true;
    return false;
}
#define AMONG(key, names) among((key), (names), sizeof(names) / sizeof *(names))

mk_role mk_claim__role(mk_str key)
{
    if (AMONG(key, id_fields))
        return MK_ROLE_ID;
    return AMONG(key, time_fields) ? MK_ROLE_TIME : MK_ROLE_NONE;
}

bool mk_claim__enters(mk_str key) { return AMONG(key, containers) || AMONG(key, id_fields); }

/* ---- collecting ---- */

/* Two passes: the first counts, the second fills. */
typedef struct collecting {
    bool untyped;
    mk_lexicon *out;
} collecting;

static void note(collecting *w, const mk_json *value, mk_str key)
{
    mk_lexicon *out = w->out;
    const mk_role role = mk_claim__role(key);
    if (value->kind == MK_JSON_STRING && (w->untyped || role == MK_ROLE_ID)) {
        if (out->ids != NULL)
            out->ids[out->id_count] = value->text;
        out->id_count++;
    } else if (value->kind == MK_JSON_INT && !value->b && (w->untyped || role == MK_ROLE_TIME)) {
        if (out->times != NULL)
            out->times[out->time_count] = value->i;
        out->time_count++;
    }
}

static bool enters(const collecting *w, mk_str key)
{
    return w->untyped ? !AMONG(key, stored) : mk_claim__enters(key);
}

static void collect(collecting *w, const mk_json *value, mk_str key, int depth)
{
    if (depth == 0)
        return;
    if (value->kind == MK_JSON_ARRAY) {
        for (size_t i = 0; i < value->n; i++)
            collect(w, &value->items[i], key, depth - 1);
    } else if (value->kind == MK_JSON_OBJECT) {
        for (size_t i = 0; i < value->n; i++) {
            const mk_member *m = &value->members[i];
            const bool nested = m->value.kind == MK_JSON_ARRAY || m->value.kind == MK_JSON_OBJECT;
            if (nested && !enters(w, m->key))
                continue;
            if (!nested && w->untyped && AMONG(m->key, stored))
                continue;
            collect(w, &m->value, m->key, depth - 1);
        }
    } else {
        note(w, value, key);
    }
}

static int by_text(const void *a, const void *b)
{
    return mk_str_cmp(*(const mk_str *)a, *(const mk_str *)b);
}

static int by_number(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

size_t mk_lexicon_sort(mk_str *ids, size_t count)
{
    size_t kept = 0;
    if (count > 0)
        qsort(ids, count, sizeof *ids, by_text);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || !mk_str_eq(ids[kept - 1], ids[i]))
            ids[kept++] = ids[i];
    return kept;
}

mk_code mk_lexicon_build(const mk_json *value, mk_str key, bool untyped, mk_arena *arena,
                         mk_lexicon *out, mk_err *err)
{
    *out = (mk_lexicon){.built = true};
    collecting w = {.untyped = untyped, .out = out};
    collect(&w, value, key, MK_CLAIM_DEPTH_MAX);
    mk_str *ids = mk_arena_get(arena, out->id_count * sizeof *ids);
    int64_t *times = mk_arena_get(arena, out->time_count * sizeof *times);
    if (ids == NULL || times == NULL)
        return mk_fail_nomem(err);
    *out = (mk_lexicon){.built = true, .ids = ids, .times = times};
    collect(&w, value, key, MK_CLAIM_DEPTH_MAX);
    if (out->time_count > 0)
        qsort(times, out->time_count, sizeof *times, by_number);
    out->id_count = mk_lexicon_sort(ids, out->id_count);
    return MK_OK;
}

bool mk_lexicon_has_id(const mk_lexicon *lexicon, mk_str id)
{
    return lexicon->id_count > 0 &&
           bsearch(&id, lexicon->ids, lexicon->id_count, sizeof id, by_text) != NULL;
}

bool mk_lexicon_has_time(const mk_lexicon *lexicon, int64_t time)
{
    return lexicon->time_count > 0 &&
           bsearch(&time, lexicon->times, lexicon->time_count, sizeof time, by_number) != NULL;
}

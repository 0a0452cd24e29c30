/* fault_mutate.c — how right answers are made wrong. Layer: eval.
 *
 * Every mutator works on a copy, draws in the spec's order, and gives up when what it drew would leave the
 * answer true: then the verifier would be right to accept it. Source: evaluation spec, 17 and 18. */
#include <math.h>
#include <stdio.h>

#include "base/canon.h"
#include "eval/faults.h"
#include "load/synth_random.h"

#define INVENTED_BELOW 10000 /* made-up identifiers end in a number below */
#define DEPTH_MAX 128

const char *mk_fault_name(mk_fault fault)
{
    static const char *const names[MK_FAULT_CLASSES] = {
        [MK_FAULT_COUNT_PM1] = "count_pm1",
        [MK_FAULT_UID_SWAP] = "uid_swap",
        [MK_FAULT_INTERVAL_SHIFT] = "interval_shift",
        [MK_FAULT_ORDERING_INVERT] = "ordering_invert",
        [MK_FAULT_ENTITY_DROP] = "entity_drop",
        [MK_FAULT_ENTITY_ADD] = "entity_add",
        [MK_FAULT_ORDERING_SWAP] = "ordering_swap",
        [MK_FAULT_INTERVAL_UNITS] = "interval_units",
        [MK_FAULT_WRONG_STEP_CITATION] = "wrong_step_citation",
        [MK_FAULT_TRUNCATED_COUNT] = "truncated_count",
        [MK_FAULT_WRONG_BELIEF_STATE] = "wrong_belief_state",
    };
    return names[fault];
}

/* ---- looking at claims ---- */

static mk_json *member(mk_json *object, const char *name)
{
    return (mk_json *)mk_json_get(object, name); /* the tree is the mutation's own copy */
}

static bool is_type(const mk_json *claim, const char *type)
{
    return mk_str_eq(mk_json_get(claim, "type")->text, mk_str_of(type));
}

static bool is_numeric(const mk_json *claim)
{
    const mk_json *value = mk_json_get(claim, "value");
    return (is_type(claim, "count") || is_type(claim, "value")) && value != NULL &&
           ((value->kind == MK_JSON_INT && !value->b) || value->kind == MK_JSON_FLOAT);
}

static bool has_uids(const mk_json *claim)
{
    const mk_json *uids = mk_json_get(claim, "uids");
    return (is_type(claim, "entity") || is_type(claim, "set_equal")) && uids != NULL && uids->n > 0;
}

static bool is_set_of_two(const mk_json *claim)
{
    return is_type(claim, "set_equal") && mk_json_get(claim, "uids")->n >= 2;
}

static bool is_ordering(const mk_json *claim)
{
    return is_type(claim, "ordering") && mk_json_get(claim, "relation")->kind == MK_JSON_STRING;
}

static bool is_swappable(const mk_json *claim)
{
    return is_ordering(claim) && !mk_str_eq(mk_json_get(claim, "relation")->text, MK_STR("equals"));
}

static bool has_time(const mk_json *claim)
{
    return is_type(claim, "ordering") || is_type(claim, "pattern") || is_type(claim, "interval");
}

static bool any_claim(const mk_json *claim)
{
    (void)claim;
    return true;
}

/* Draws one of the claims that fit; NULL when none does. */
static mk_json *choose_claim(mk_mutation *m, bool (*fits)(const mk_json *claim))
{
    mk_json *claims = member(m->tree, "claims");
    size_t count = 0;
    for (size_t i = 0; i < claims->n; i++)
        count += fits(&claims->items[i]);
    if (count == 0)
        return NULL;
    size_t left = (size_t)mk_random_below(m->random, count);
    for (size_t i = 0;; i++)
        if (fits(&claims->items[i]) && left-- == 0) {
            m->claim = i;
            return &claims->items[i];
        }
}

/* ---- looking at evidence ---- */

static bool is_cited(const mk_json *claim, mk_str step)
{
    const mk_json *evidence = mk_json_get(claim, "evidence");
    for (size_t i = 0; i < evidence->n; i++)
        if (mk_str_eq(evidence->items[i].text, step))
            return true;
    return false;
}

static bool mentions(const mk_json *value, mk_str text, int depth)
{
    if (value->kind == MK_JSON_STRING)
        return mk_str_eq(value->text, text);
    for (size_t i = 0; depth > 0 && value->kind == MK_JSON_ARRAY && i < value->n; i++)
        if (mentions(&value->items[i], text, depth - 1))
            return true;
    for (size_t i = 0; depth > 0 && value->kind == MK_JSON_OBJECT && i < value->n; i++)
        if (mentions(&value->members[i].value, text, depth - 1))
            return true;
    return false;
}

/* Whether any cited result has the identifier anywhere. */
static bool is_shown(const mk_mutation *m, const mk_json *claim, mk_str uid)
{
    for (size_t i = 0; i < m->answer->step_count; i++)
        if (is_cited(claim, m->answer->steps[i].id) && mentions(m->answer->steps[i].payload, uid, DEPTH_MAX))
            return true;
    return false;
}

/* Whether any cited result has the time in a row. */
static bool has_cited_time(const mk_mutation *m, const mk_json *claim, int64_t time, bool *nomem)
{
    for (size_t i = 0; i < m->answer->step_count; i++) {
        int64_t *times;
        size_t count;
        if (!is_cited(claim, m->answer->steps[i].id))
            continue;
        if (mk_fault_times(m->answer->steps[i].payload, m->arena, &times, &count, NULL) != MK_OK) {
            *nomem = true;
            return true;
        }
        for (size_t k = 0; k < count; k++)
            if (times[k] == time)
                return true;
    }
    return false;
}

/* ---- numbers ---- */

/* The first occurrence of the old number in the text becomes the new one. */
static bool replace_in_text(mk_mutation *m, const mk_json *old, const mk_json *new)
{
    mk_json *text = member(m->tree, "text");
    mk_buf before, after, out;
    bool ok = false;
    mk_buf_init(&before, m->arena->alloc);
    mk_buf_init(&after, m->arena->alloc);
    mk_buf_init(&out, m->arena->alloc);
    if (mk_canon_tree(&before, NULL, old, NULL) != MK_OK || mk_canon_tree(&after, NULL, new, NULL) != MK_OK)
        goto out;
    const char *at = memmem(text->text.p, text->text.n, before.p, before.n);
    if (at == NULL) {
        ok = true;
        goto out;
    }
    mk_buf_put(&out, text->text.p, (size_t)(at - text->text.p));
    mk_buf_str(&out, mk_buf_view(&after));
    mk_buf_put(&out, at + before.n, (size_t)(text->text.p + text->text.n - at) - before.n);
    if (mk_buf_done(&out, NULL) == MK_OK)
        text->text = mk_arena_copy(m->arena, mk_buf_view(&out));
    ok = !out.failed && text->text.p != NULL;
out:
    mk_buf_free(&out);
    mk_buf_free(&after);
    mk_buf_free(&before);
    return ok;
}

static bool count_pm1(mk_mutation *m, bool *nomem)
{
    mk_json *claim = choose_claim(m, is_numeric);
    if (claim == NULL)
        return false;
    mk_json *value = member(claim, "value");
    const mk_json old = *value;
    const int step = mk_random_below(m->random, 2) == 0 ? -1 : 1;
    if (value->kind == MK_JSON_INT)
        value->i += step;
    else
        value->d += step;
    *nomem |= !replace_in_text(m, &old, value);
    return value->kind == MK_JSON_INT || fabs(value->d - old.d) > 0.5;
}

/* ---- sets ---- */

static bool uid_swap(mk_mutation *m, bool *nomem)
{
    mk_json *claim = choose_claim(m, has_uids);
    char name[32];
    if (claim == NULL)
        return false;
    mk_json *uids = member(claim, "uids");
    const size_t at = (size_t)mk_random_below(m->random, uids->n);
    const int n = snprintf(name, sizeof name, "invented_%llu",
                           (unsigned long long)mk_random_below(m->random, INVENTED_BELOW));
    const mk_str uid = mk_arena_copy(m->arena, (mk_str){name, (size_t)n});
    *nomem |= uid.p == NULL;
    if (*nomem || is_shown(m, claim, uid))
        return false;
    uids->items[at].text = uid;
    return true;
}

static bool entity_drop(mk_mutation *m, bool *nomem)
{
    mk_json *claim = choose_claim(m, is_set_of_two);
    (void)nomem;
    if (claim == NULL)
        return false;
    mk_json *uids = member(claim, "uids");
    const size_t at = (size_t)mk_random_below(m->random, uids->n);
    memmove(&uids->items[at], &uids->items[at + 1], (uids->n - at - 1) * sizeof *uids->items);
    uids->n--;
    return true;
}

static bool entity_add(mk_mutation *m, bool *nomem)
{
    mk_json *claim = choose_claim(m, has_uids);
    if (claim == NULL || m->pool->uid_count == 0)
        return false;
    mk_json *uids = member(claim, "uids");
    const mk_str uid = m->pool->uids[mk_random_below(m->random, m->pool->uid_count)];
    if (is_shown(m, claim, uid) || mentions(uids, uid, 1))
        return false;
    mk_json *items = mk_arena_get(m->arena, (uids->n + 1) * sizeof *items);
    *nomem |= items == NULL;
    if (*nomem)
        return false;
    memcpy(items, uids->items, uids->n * sizeof *items);
    items[uids->n++] = (mk_json){.kind = MK_JSON_STRING, .text = uid};
    uids->items = items;
    return true;
}

/* ---- times ---- */

static int64_t *time_member(mk_json *when, const char *name)
{
    mk_json *value = member(when, name);
    return value != NULL && value->kind == MK_JSON_INT && !value->b ? &value->i : NULL;
}

/* The points of {"t"}, {"start","end"} or {"t_a","t_b"}; how many there are. */
static size_t points_of(mk_json *when, int64_t *out[2])
{
    static const char *const names[] = {"t", "start", "end", "t_a", "t_b"};
    size_t n = 0;
    for (size_t i = 0; when != NULL && n < 2 && i < sizeof names / sizeof *names; i++) {
        int64_t *at = time_member(when, names[i]);
        if (at != NULL)
            out[n++] = at;
    }
    return n;
}

/* An ordering stays true when its moved side lands on another time of the evidence; everything else is pinned
 * to one place by `from`. */
static bool is_false_now(const mk_mutation *m, const mk_json *claim, int64_t start, bool *nomem)
{
    return !is_type(claim, "ordering") || !has_cited_time(m, claim, start, nomem);
}

static bool interval_shift(mk_mutation *m, bool *nomem)
{
    mk_json *claim = choose_claim(m, has_time);
    int64_t *points[2], by;
    if (claim == NULL)
        return false;
    mk_json *interval = member(claim, "interval");
    const size_t count = points_of(interval != NULL ? interval : member(claim, "a"), points);
    if (count == 0)
        return false;
    const int64_t extent = count == 2 ? *points[1] - *points[0] : 1;
    if (extent < 0 || extent > INT64_MAX / 8)
        return false;
    by = 3 * (extent < 1 ? 1 : extent) * (mk_random_below(m->random, 2) == 0 ? -1 : 1);
    for (size_t i = 0; i < count; i++)
        if (__builtin_add_overflow(*points[i], by, points[i]))
            return false;
    return is_false_now(m, claim, *points[0], nomem);
}

static bool interval_units(mk_mutation *m, bool *nomem)
{
    mk_json *claim = choose_claim(m, has_time);
    int64_t *points[2];
    if (claim == NULL)
        return false;
    mk_json *when = member(claim, "interval");
    if (when == NULL)
        when = member(claim, mk_random_below(m->random, 2) == 0 ? "a" : "b");
    const size_t count = points_of(when, points);
    if (count == 0 || *points[0] / 1000 == *points[0])
        return false;
    for (size_t i = 0; i < count; i++)
        *points[i] /= 1000;
    return is_false_now(m, claim, *points[0], nomem);
}

/* ---- orderings ---- */

static const char *converse(mk_str relation)
{
    static const char *const pairs[][2] = {
        {"before", "after"},       {"meets", "met_by"},    {"overlaps", "overlapped_by"},
        {"starts", "started_by"},  {"during", "contains"}, {"finishes", "finished_by"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        for (size_t k = 0; k < 2; k++)
            if (mk_str_eq(relation, mk_str_of(pairs[i][k])))
                return pairs[i][1 - k];
    return "before"; /* of equals */
}

static bool ordering_invert(mk_mutation *m, bool *nomem)
{
    mk_json *claim = choose_claim(m, is_ordering);
    (void)nomem;
    if (claim == NULL)
        return false;
    mk_json *relation = member(claim, "relation");
    relation->text = mk_str_of(converse(relation->text));
    return true;
}

static bool ordering_swap(mk_mutation *m, bool *nomem)
{
    mk_json *claim = choose_claim(m, is_swappable);
    (void)nomem;
    if (claim == NULL)
        return false;
    mk_json *a = member(claim, "a"), *b = member(claim, "b");
    const mk_json kept = *a;
    *a = *b;
    *b = kept;
    return true;
}

/* ---- citations, cuts, beliefs ---- */

static bool wrong_step_citation(mk_mutation *m, bool *nomem)
{
    mk_json *claim = choose_claim(m, any_claim);
    size_t others = 0;
    (void)nomem;
    for (size_t i = 0; claim != NULL && i < m->answer->step_count; i++)
        others += !is_cited(claim, m->answer->steps[i].id);
    if (others == 0)
        return false;
    size_t left = (size_t)mk_random_below(m->random, others), at = 0;
    while (is_cited(claim, m->answer->steps[at].id) || left-- > 0)
        at++;
    mk_json *evidence = member(claim, "evidence");
    evidence->n = 1;
    evidence->items[0].text = m->answer->steps[at].id;
    return true;
}

/* The claims become this one. */
static bool set_claim(mk_mutation *m, mk_str text, bool *nomem)
{
    mk_json *claims = member(m->tree, "claims"), *claim;
    if (mk_json_parse(m->arena, text, NULL, &claim, NULL) != MK_OK) {
        *nomem = true;
        return false;
    }
    claims->items = claim;
    claims->n = 1;
    m->claim = 0;
    return true;
}

static const mk_json *rows_of(const mk_mutation *m)
{
    const mk_str step = {m->answer->cut.p, m->answer->cut.n - strlen(".rows")};
    for (size_t i = 0; i < m->answer->step_count; i++)
        if (mk_str_eq(m->answer->steps[i].id, step))
            return mk_json_get(m->answer->steps[i].payload, "rows");
    return NULL;
}

static void put_uids(mk_buf *out, const mk_json *rows)
{
    mk_buf_z(out, ",\"type\":\"set_equal\",\"uids\":[");
    for (size_t i = 0; i < rows->n; i++) {
        mk_buf_z(out, i > 0 ? "," : "");
        mk_canon_string(out, mk_json_get(&rows->items[i], "uid")->text);
    }
    mk_buf_z(out, "]}");
}

/* Three rows are taken for all: as a number, or as the whole set where rows are identifiers. */
static bool truncated_count(mk_mutation *m, bool *nomem)
{
    static const char *const numbers[] = {"count", "value"};
    const mk_json *rows = m->answer->cut.n > 0 ? rows_of(m) : NULL;
    mk_buf text;
    if (rows == NULL || rows->n != MK_FAULT_CUT)
        return false;
    const mk_json *uid = mk_json_get(&rows->items[0], "uid"), *vid = mk_json_get(&rows->items[0], "vid");
    const bool as_set = uid != NULL && uid->kind == MK_JSON_STRING && vid == NULL;
    const size_t form = (size_t)mk_random_below(m->random, as_set ? 3 : 2);
    mk_buf_init(&text, m->arena->alloc);
    mk_buf_printf(&text, "{\"evidence\":[\"%.*s\"],\"from\":\"%.*s\",\"id\":\"c1\"",
                  (int)(m->answer->cut.n - strlen(".rows")), m->answer->cut.p, MK_STR_ARG(m->answer->cut));
    if (form == 2)
        put_uids(&text, rows);
    else
        mk_buf_printf(&text, ",\"type\":\"%s\",\"value\":%d}", numbers[form], MK_FAULT_CUT);
    *nomem |= text.failed;
    const bool done = !*nomem && set_claim(m, mk_buf_view(&text), nomem);
    mk_buf_free(&text);
    return done;
}

/* What `now` says takes the place of what the claim says. */
static bool say_instead(mk_json *claim, const mk_json *now)
{
    static const char *const said[] = {"value", "uids", "interval"};
    bool changed = false;
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        mk_json *then = member(claim, said[i]);
        const mk_json *other = mk_json_get(now, said[i]);
        if (then == NULL || other == NULL)
            continue;
        *then = *other;
        changed = true;
    }
    return changed;
}

static bool is_belief(const mk_json *claim) { return is_type(claim, "belief"); }

/* What is believed now is said of an earlier belief: plainly, or as a claim about that belief. */
static bool wrong_belief_state(mk_mutation *m, bool *nomem)
{
    (void)nomem;
    if (m->answer->other == NULL)
        return false;
    m->claim = 0;
    if (mk_random_below(m->random, 2) == 0)
        return say_instead(&member(m->tree, "claims")->items[0], m->answer->other);
    mk_json *belief = choose_claim(m, is_belief);
    return belief != NULL && say_instead(member(belief, "claim"), m->answer->other);
}

bool mk_fault_mutate(mk_fault fault, mk_mutation *m, bool *nomem)
{
    static bool (*const mutators[MK_FAULT_CLASSES])(mk_mutation *, bool *) = {
        [MK_FAULT_COUNT_PM1] = count_pm1,
        [MK_FAULT_UID_SWAP] = uid_swap,
        [MK_FAULT_INTERVAL_SHIFT] = interval_shift,
        [MK_FAULT_ORDERING_INVERT] = ordering_invert,
        [MK_FAULT_ENTITY_DROP] = entity_drop,
        [MK_FAULT_ENTITY_ADD] = entity_add,
        [MK_FAULT_ORDERING_SWAP] = ordering_swap,
        [MK_FAULT_INTERVAL_UNITS] = interval_units,
        [MK_FAULT_WRONG_STEP_CITATION] = wrong_step_citation,
        [MK_FAULT_TRUNCATED_COUNT] = truncated_count,
        [MK_FAULT_WRONG_BELIEF_STATE] = wrong_belief_state,
    };
    return mutators[fault](m, nomem) && !*nomem;
}

/* claim_time.c — claims about when, in which order, and along which way. Layer: claim.
 *
 * Times count as read only when a result has them in a field for times; then their relation is computed
 * anew. Source: agent spec, 12.5, 18.3, O-8, O-10; Allen 1983; operators spec, 7.4 for paths. */
#include "claim/claim_internal.h"

/* ---- ordering ---- */

typedef struct ordering {
    mk_found found;
    bool has_from;
    mk_lexicon at_from;
    bool used[MK_CLAIM_STEPS_MAX];
} ordering;

static mk_code step_has_time(mk_checking *c, mk_claim_step *step, int64_t time, bool *has, mk_err *err)
{
    mk_lexicon *lexicon;
    const mk_code rc = mk_evidence__lexicon(c->evidence, step, &lexicon, err);
    *has = false;
    if (rc != MK_OK || !mk_lexicon_has_time(lexicon, time))
        return rc;
    *has = true;
    return mk_claim__is_compute(step) ? mk_evidence__knows_time(c->evidence, step, time, has, err) : MK_OK;
}

/* A time must stand at `from` or, when `from` is in another step, in a cited step beside it. */
static mk_code is_read(mk_checking *c, ordering *o, int64_t time, bool *has, mk_err *err)
{
    mk_code rc = MK_OK;
    *has = o->has_from && mk_lexicon_has_time(&o->at_from, time);
    if (*has && mk_claim__is_compute(o->found.step))
        rc = mk_evidence__knows_time(c->evidence, o->found.step, time, has, err);
    for (size_t i = 0; rc == MK_OK && !*has && i < c->cited_count; i++) {
        if (o->has_from && c->cited[i] == o->found.step)
            continue;
        rc = step_has_time(c, c->cited[i], time, has, err);
        o->used[i] |= *has;
    }
    return rc;
}

/* An end is read as a start is, unless it only closes an instant or stays open. */
static mk_code side_is_read(mk_checking *c, ordering *o, const mk_when *side, bool *ok, mk_err *err)
{
    const mk_code rc = is_read(c, o, side->start, ok, err);
    int64_t lost = side->start;
    if (rc != MK_OK)
        return rc;
    if (*ok && side->end != side->start + 1 && side->end != MK_CLAIM_OPEN_END) {
        const mk_code end = is_read(c, o, side->end, ok, err);
        lost = side->end;
        if (end != MK_OK)
            return end;
    }
    if (!*ok)
        mk_claim__settle(c, MK_UNVERIFIABLE, "ungrounded", "%lld is no time in the evidence",
                         (long long)lost);
    return MK_OK;
}

static bool is_within(int64_t a, int64_t b, const mk_json *most)
{
    const uint64_t apart = a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
    const mk_json distance = apart <= INT64_MAX ? (mk_json){.kind = MK_JSON_INT, .i = (int64_t)apart}
                                                : (mk_json){.kind = MK_JSON_FLOAT, .d = (double)apart};
    return mk_claim__compare(&distance, most) <= 0;
}

static void settle_relation(mk_checking *c, mk_when a, mk_when b, const mk_json *relation)
{
    if (relation->kind == MK_JSON_OBJECT) {
        if (is_within(a.start, b.start, mk_json_get(relation, "within")))
            mk_claim__settle(c, MK_SUPPORTED, NULL, "the two starts are no further apart");
        else
            mk_claim__settle(c, MK_UNSUPPORTED, "mismatch", "the two starts are further apart");
        return;
    }
    if (!mk_claim__is_allen(relation->text)) {
        mk_claim__settle(c, MK_UNVERIFIABLE, "malformed", "%.*s is no relation of intervals",
                         MK_STR_ARG(relation->text));
        return;
    }
    const char *is = mk_claim__allen(a, b);
    if (mk_str_eq(relation->text, mk_str_of(is)))
        mk_claim__settle(c, MK_SUPPORTED, NULL, "the relation is %s", is);
    else
        mk_claim__settle(c, MK_UNSUPPORTED, "mismatch", "the relation is %s and not %.*s", is,
                         MK_STR_ARG(relation->text));
}

static mk_code open_from(mk_checking *c, ordering *o, bool *ok, mk_err *err)
{
    mk_code rc = mk_claim__from(c, &o->found, &o->has_from, err);
    *ok = o->has_from || !mk_claim__has_from(c);
    if (rc != MK_OK || !o->has_from)
        return rc;
    if (!o->found.typed) {
        mk_claim__settle(c, MK_UNVERIFIABLE, "ungrounded",
                         "what stands there are stored values and no times");
        *ok = false;
        return MK_OK;
    }
    return mk_lexicon_build(o->found.value, o->found.last, mk_claim__is_compute(o->found.step), c->arena,
                            &o->at_from, err);
}

mk_code mk_claim__ordering(mk_checking *c, mk_err *err)
{
    const mk_json *relation = mk_claim__member(c, "relation");
    ordering o = {.has_from = false};
    mk_when a, b;
    bool ok;
    mk_code rc;
    if (relation == NULL || !mk_claim__when(mk_claim__member(c, "a"), &a) ||
        !mk_claim__when(mk_claim__member(c, "b"), &b)) {
        mk_claim__settle(c, MK_UNVERIFIABLE, "malformed",
                         "an ordering needs a, b (start before end) and relation");
        return MK_OK;
    }
    MK_TRY(rc, open_from(c, &o, &ok, err));
    if (!ok)
        goto out;
    MK_TRY(rc, side_is_read(c, &o, &a, &ok, err));
    if (!ok)
        goto out;
    MK_TRY(rc, side_is_read(c, &o, &b, &ok, err));
    if (!ok)
        goto out;
    settle_relation(c, a, b, relation);
    if (o.has_from)
        mk_claim__weaken(c, o.found.step, o.found.field, MK_NEED_MEMBER);
    for (size_t i = 0; i < c->cited_count; i++)
        if (o.used[i])
            mk_claim__weaken_all(c, c->cited[i]);
out:
    return rc;
}

/* ---- interval ---- */

static bool is_interval(const mk_json *value, mk_when wanted)
{
    static const char *const pairs[][2] = {{"t_a", "t_b"}, {"start", "end"}, {"vt_s", "vt_e"}};
    int64_t s, e;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (mk_claim__i64(mk_json_get(value, pairs[i][0]), &s) &&
            mk_claim__i64(mk_json_get(value, pairs[i][1]), &e) && s == wanted.start && e == wanted.end)
            return true;
    return value->kind == MK_JSON_INT && wanted.instant && mk_claim__i64(value, &s) && s == wanted.start;
}

static bool has_interval(const mk_json *value)
{
    mk_when when;
    int64_t t;
    return mk_claim__row_interval(value, &when) || mk_claim__i64(value, &t);
}

mk_code mk_claim__interval(mk_checking *c, mk_err *err)
{
    mk_when wanted;
    mk_found found;
    bool ok;
    if (!mk_claim__when(mk_claim__member(c, "interval"), &wanted)) {
        mk_claim__settle(c, MK_UNVERIFIABLE, "malformed", "an interval needs a start before its end");
        return MK_OK;
    }
    if (!mk_claim__has_from(c)) {
        mk_claim__settle(c, MK_UNVERIFIABLE, "no_from", "the claim does not say where it was read");
        return MK_OK;
    }
    const mk_code rc = mk_claim__from(c, &found, &ok, err);
    if (rc != MK_OK || !ok)
        return rc;
    if (!found.typed || !has_interval(found.value))
        mk_claim__settle(c, MK_UNVERIFIABLE, "malformed", "what stands there is no interval");
    else if (!is_interval(found.value, wanted))
        mk_claim__settle(c, MK_UNSUPPORTED, "mismatch", "another interval stands there");
    else
        mk_claim__settle(c, MK_SUPPORTED, NULL, "%.*s has exactly this interval", MK_STR_ARG(found.step->id));
    mk_claim__weaken(c, found.step, found.field, found.need);
    return MK_OK;
}

/* ---- path ---- */

typedef struct hop {
    mk_str src, dst;
    bool has_t;
    int64_t t;
} hop;

static bool read_hop(const mk_json *value, hop *out)
{
    const mk_json *src = mk_json_get(value, "src"), *dst = mk_json_get(value, "dst");
    const mk_json *t = mk_json_get(value, "t");
    if (src == NULL || src->kind != MK_JSON_STRING || dst == NULL || dst->kind != MK_JSON_STRING)
        return false;
    if (t == NULL)
        t = mk_json_get(value, "vt_s");
    *out = (hop){.src = src->text, .dst = dst->text};
    out->has_t = mk_claim__i64(t, &out->t);
    return true;
}

/* The claim's hops, connected; says what is wrong otherwise. */
static bool read_hops(mk_checking *c, hop hops[MK_CLAIM_HOPS_MAX], size_t *count)
{
    const mk_json *list = mk_claim__member(c, "hops");
    if (list == NULL || list->kind != MK_JSON_ARRAY || list->n == 0 || list->n > MK_CLAIM_HOPS_MAX) {
        mk_claim__settle(c, MK_UNVERIFIABLE, "malformed", "a path needs 1 to %d hops", MK_CLAIM_HOPS_MAX);
        return false;
    }
    for (size_t i = 0; i < list->n; i++) {
        if (!read_hop(&list->items[i], &hops[i]) || !hops[i].has_t) {
            mk_claim__settle(c, MK_UNVERIFIABLE, "malformed", "hop %zu needs src, dst and t", i);
            return false;
        }
        if (i > 0 && !mk_str_eq(hops[i - 1].dst, hops[i].src)) {
            mk_claim__settle(c, MK_UNSUPPORTED, "mismatch", "hop %zu does not start where the last one ended",
                             i);
            return false;
        }
    }
    *count = list->n;
    return true;
}

static bool same_hop(const hop *a, const mk_json *edge)
{
    hop b;
    return read_hop(edge, &b) && b.has_t && a->t == b.t && mk_str_eq(a->src, b.src) &&
        mk_str_eq(a->dst, b.dst);
}

/* A path as temporal_paths lists it: these edges in this order and no other. The operator has seen to it
 * that they can be taken one after the other. */
static bool is_this_path(const mk_json *edges, const hop *hops, size_t count)
{
    if (edges == NULL || edges->kind != MK_JSON_ARRAY || edges->n != count)
        return false;
    for (size_t i = 0; i < count; i++)
        if (!same_hop(&hops[i], &edges->items[i]))
            return false;
    return true;
}

/* Edges on their own: each hop is one of them and can be taken when the one before has arrived. An edge
 * that is valid for a while may be taken later than it starts. */
static bool is_way_through(const mk_json *edges, const hop *hops, size_t count)
{
    int64_t arrival = INT64_MIN;
    for (size_t i = 0; i < count; i++) {
        int64_t best = INT64_MAX;
        for (size_t k = 0; k < edges->n; k++) {
            const mk_json *edge = &edges->items[k];
            int64_t until;
            const int64_t at = hops[i].t > arrival ? hops[i].t : arrival;
            if (!same_hop(&hops[i], edge))
                continue;
            if (mk_claim__i64(mk_json_get(edge, "vt_e"), &until) ? at < until : at == hops[i].t)
                best = at < best ? at : best;
        }
        if (best == INT64_MAX)
            return false;
        arrival = best;
    }
    return true;
}

static bool has_path(const mk_json *value, const hop *hops, size_t count)
{
    if (value->kind == MK_JSON_OBJECT)
        return is_this_path(mk_json_get(value, "edges"), hops, count);
    if (is_this_path(value, hops, count) && mk_json_get(&value->items[0], "vt_s") == NULL)
        return true;
    for (size_t i = 0; i < value->n; i++)
        if (is_this_path(mk_json_get(&value->items[i], "edges"), hops, count))
            return true;
    return is_way_through(value, hops, count);
}

/* What was computed must have come from results that know these identifiers and times. */
static mk_code hops_are_known(mk_checking *c, mk_claim_step *step, const hop *hops, size_t count, bool *known,
                              mk_err *err)
{
    mk_code rc = MK_OK;
    *known = true;
    if (!mk_claim__is_compute(step))
        return MK_OK;
    for (size_t i = 0; i < count && *known; i++) {
        bool src, dst, t;
        MK_TRY(rc, mk_evidence__knows_id(c->evidence, step, hops[i].src, &src, err));
        MK_TRY(rc, mk_evidence__knows_id(c->evidence, step, hops[i].dst, &dst, err));
        MK_TRY(rc, mk_evidence__knows_time(c->evidence, step, hops[i].t, &t, err));
        *known = src && dst && t;
    }
out:
    return rc;
}

mk_code mk_claim__path(mk_checking *c, mk_err *err)
{
    hop hops[MK_CLAIM_HOPS_MAX];
    size_t count;
    mk_found found;
    bool ok;
    if (!read_hops(c, hops, &count))
        return MK_OK;
    if (!mk_claim__has_from(c)) {
        mk_claim__settle(c, MK_UNVERIFIABLE, "no_from", "the claim does not say where it was read");
        return MK_OK;
    }
    mk_code rc = mk_claim__from(c, &found, &ok, err);
    if (rc != MK_OK || !ok)
        return rc;
    if (!found.typed || (found.value->kind != MK_JSON_OBJECT && found.value->kind != MK_JSON_ARRAY)) {
        mk_claim__settle(c, MK_UNVERIFIABLE, "malformed", "what stands there are no edges of the graph");
        return MK_OK;
    }
    if (!mk_claim__spend(c, count * (1 + found.value->n)))
        return MK_OK;
    rc = hops_are_known(c, found.step, hops, count, &ok, err);
    if (rc != MK_OK)
        return rc;
    if (ok && has_path(found.value, hops, count))
        mk_claim__settle(c, MK_SUPPORTED, NULL, "every hop is there and can be taken in this order");
    else
        mk_claim__settle(c, MK_UNSUPPORTED, "mismatch", "there is no such path in the evidence");
    mk_claim__weaken(c, found.step, found.field, MK_NEED_MEMBER);
    return MK_OK;
}

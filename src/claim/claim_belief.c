/* claim_belief.c — claims about what the store believed, and when that changed. Layer: claim.
 *
 * belief: a claim about steps that were asked as of that very transaction time. belief_change: the same
 * question at two times has two answers, and one transaction between them made the difference. That it
 * did is proved by asking right before and right at it, in cited steps or from the store; a belief time that
 * only occurs in the results makes the claim weak. Source: agent spec, 18.3, 18.12; decisions.md 5. */
#include "claim/claim_internal.h"

/* ---- belief ---- */

mk_code mk_claim__belief(mk_checking *c, mk_err *err)
{
    const mk_json *inner = mk_claim__member(c, "claim");
    const mk_json *cites = inner != NULL ? mk_json_get(inner, "evidence") : NULL;
    int64_t as_of, belief;
    if (inner == NULL || !mk_claim__i64(mk_claim__member(c, "as_of_tt"), &as_of)) {
        mk_claim__settle(c, MK_UNVERIFIABLE, "malformed", "a belief needs as_of_tt and claim");
        return MK_OK;
    }
    mk_checking inside = *c;
    inside.claim = inner;
    inside.outer = c->claim;
    inside.cites = cites != NULL ? cites : c->cites;
    const mk_code rc = mk_claim__run(&inside, err);
    if (rc != MK_OK || (c->result->verdict != MK_SUPPORTED && c->result->verdict != MK_WEAKLY_SUPPORTED))
        return rc;
    for (size_t i = 0; i < inside.cited_count; i++) {
        if (mk_evidence__belief(c->evidence, inside.cited[i], &belief) && belief == as_of)
            continue;
        mk_claim__settle(c, MK_UNSUPPORTED, "other_belief", "%.*s was not asked as of %lld",
                         MK_STR_ARG(inside.cited[i]->id), (long long)as_of);
        break;
    }
    return MK_OK;
}

/* ---- belief_change ---- */

typedef struct change {
    int64_t tt_before, tt_after;
    bool has_cause;
    int64_t cause;
    const mk_json *before, *after;
    mk_str path; /* of `from` */
    mk_found at_before, at_after;
} change;

static bool read_change(mk_checking *c, change *x)
{
    const mk_json *cause = mk_claim__member(c, "cause_tt");
    x->before = mk_json_get(c->claim, "before");
    x->after = mk_json_get(c->claim, "after");
    x->has_cause = mk_claim__i64(cause, &x->cause);
    if (x->before == NULL || x->after == NULL ||
        !mk_claim__i64(mk_claim__member(c, "tt_before"), &x->tt_before) ||
        !mk_claim__i64(mk_claim__member(c, "tt_after"), &x->tt_after) || x->tt_before >= x->tt_after) {
        mk_claim__settle(c, MK_UNVERIFIABLE, "malformed",
                         "a change of belief needs tt_before, a later tt_after, before and after");
        return false;
    }
    if (mk_claim__same(x->before, x->after)) {
        mk_claim__settle(c, MK_UNSUPPORTED, "mismatch", "before and after are the same");
        return false;
    }
    if (x->has_cause && (x->cause <= x->tt_before || x->cause > x->tt_after)) {
        mk_claim__settle(c, MK_UNSUPPORTED, "mismatch", "the cause does not lie between the two beliefs");
        return false;
    }
    return true;
}

/* What the claim says against what stands there: lists count where numbers are meant. */
static bool says(const mk_json *claimed, const mk_json *read)
{
    const mk_json number = mk_claim__as_number(read);
    if (mk_claim__is_number(claimed) && mk_claim__is_number(&number))
        return mk_claim__same_number(claimed, &number);
    return mk_claim__same(claimed, read);
}

/* The same question at another belief: the same operator, and the same arguments but for the belief. */
static bool same_question(const mk_claim_step *a, const mk_claim_step *b)
{
    size_t shared = 0;
    if (!mk_str_eq(a->op, b->op) || a->args->n != b->args->n || a->args->n > 64)
        return false;
    for (size_t i = 0; i < a->args->n; i++) {
        const mk_member *m = &a->args->members[i];
        const mk_json *other = mk_json_get_n(b->args, m->key);
        shared += other != NULL && (mk_str_eq(m->key, MK_STR("as_of_tt")) ||
                                    mk_claim__same(&m->value, other));
    }
    return shared == a->args->n;
}

/* A cited step that asks what `like` asks, as of `tt`. */
static mk_claim_step *asked_at(mk_checking *c, const mk_claim_step *like, int64_t tt)
{
    for (size_t i = 0; i < c->cited_count; i++) {
        mk_claim_step *step = c->cited[i];
        if (step->has_belief && step->belief == tt && same_question(step, like))
            return step;
    }
    return NULL;
}

/* The path of `from` in another result. *value NULL: it leads nowhere there. */
static mk_code same_place(mk_checking *c, mk_str path, const mk_json *payload, const mk_json **value,
                          mk_err *err)
{
    mk_ref ref;
    *value = NULL;
    if (mk_ref_parse(path, false, &ref, NULL) != MK_OK)
        return MK_OK;
    if (mk_ref_resolve(&ref, payload, c->arena, value, NULL) == MK_E_NOMEM)
        return mk_fail_nomem(err);
    return MK_OK;
}

/* The value before: at from_before when the claim has one, else where the same question was asked then. */
static mk_code find_before(mk_checking *c, change *x, bool *ok, mk_err *err)
{
    const mk_str path = mk_claim__string(c, "from_before");
    if (path.n > 0)
        return mk_claim__follow(c, path, &x->at_before, ok, err);
    *ok = false;
    mk_claim_step *step = asked_at(c, x->at_after.step, x->tt_before);
    if (step == NULL) {
        mk_claim__settle(c, MK_UNVERIFIABLE, "missing", "no cited step asks the same as of tt_before");
        return MK_OK;
    }
    x->at_before = x->at_after;
    x->at_before.step = step;
    const mk_code rc = same_place(c, x->path, step->payload, &x->at_before.value, err);
    *ok = rc == MK_OK && x->at_before.value != NULL;
    if (rc == MK_OK && !*ok)
        mk_claim__settle(c, MK_UNVERIFIABLE, "not_a_path",
                         "from leads nowhere in the result before the change");
    return rc;
}

static bool check_side(mk_checking *c, const mk_found *found, int64_t tt, const mk_json *claimed)
{
    int64_t belief;
    if (!mk_evidence__belief(c->evidence, found->step, &belief) || belief != tt) {
        mk_claim__settle(c, MK_UNSUPPORTED, "other_belief", "%.*s was not asked as of %lld",
                         MK_STR_ARG(found->step->id), (long long)tt);
        return false;
    }
    if (!says(claimed, found->value)) {
        mk_claim__settle(c, MK_UNSUPPORTED, "mismatch", "%.*s says otherwise", MK_STR_ARG(found->step->id));
        return false;
    }
    return true;
}

/* ---- the cause ---- */

/* What the question gives as of `tt`: a cited step, else the store. *value NULL: nobody knows. */
static mk_code value_at(mk_checking *c, const change *x, int64_t tt, const mk_json **value, mk_err *err)
{
    const mk_claim_step *like = x->at_after.step, *step = asked_at(c, like, tt);
    *value = NULL;
    if (step != NULL)
        return same_place(c, x->path, step->payload, value, err);
    if (c->evidence->reexec == NULL || !like->has_belief)
        return MK_OK;
    const mk_json *payload;
    const mk_code rc = mk_claim__reexec(c, like->op, like->args, tt, &payload, NULL, err);
    if (rc != MK_OK || payload == NULL)
        return rc;
    return same_place(c, x->path, payload, value, err);
}

static mk_code occurs(mk_checking *c, int64_t tt, bool *known, mk_err *err)
{
    *known = false;
    for (size_t i = 0; i < c->cited_count && !*known; i++) {
        const mk_code rc = mk_evidence__knows_time(c->evidence, c->cited[i], tt, known, err);
        if (rc != MK_OK)
            return rc;
    }
    return MK_OK;
}

static mk_code check_cause(mk_checking *c, const change *x, mk_err *err)
{
    const mk_json *just_before, *at;
    bool known;
    mk_code rc;
    MK_TRY(rc, value_at(c, x, x->cause - 1, &just_before, err));
    MK_TRY(rc, value_at(c, x, x->cause, &at, err));
    if ((just_before != NULL && !says(x->before, just_before)) || (at != NULL && !says(x->after, at))) {
        mk_claim__settle(c, MK_UNSUPPORTED, "mismatch", "the difference was not made at %lld",
                         (long long)x->cause);
        goto out;
    }
    if (just_before != NULL && at != NULL)
        goto out;
    MK_TRY(rc, occurs(c, x->cause, &known, err));
    if (known)
        mk_claim__settle(c, MK_WEAKLY_SUPPORTED, "cause_unproved",
                         "both values are there, but not that this transaction made the difference");
    else
        mk_claim__settle(c, MK_UNVERIFIABLE, "ungrounded", "%lld is no belief time in the evidence",
                         (long long)x->cause);
out:
    return rc;
}

mk_code mk_claim__belief_change(mk_checking *c, mk_err *err)
{
    change x = {.has_cause = false};
    bool ok;
    mk_code rc;
    if (!read_change(c, &x))
        return MK_OK;
    if (!mk_claim__has_from(c)) {
        mk_claim__settle(c, MK_UNVERIFIABLE, "no_from", "the claim does not say where it was read");
        return MK_OK;
    }
    MK_TRY(rc, mk_claim__from(c, &x.at_after, &ok, err));
    if (!ok)
        goto out;
    x.path = mk_claim__string(c, "from");
    MK_TRY(rc, find_before(c, &x, &ok, err));
    if (!ok || !check_side(c, &x.at_after, x.tt_after, x.after) ||
        !check_side(c, &x.at_before, x.tt_before, x.before))
        goto out;
    mk_claim__settle(c, MK_SUPPORTED, NULL, "the two beliefs differ as claimed");
    if (x.has_cause)
        MK_TRY(rc, check_cause(c, &x, err));
    mk_claim__weaken(c, x.at_after.step, x.at_after.field, x.at_after.need);
    mk_claim__weaken(c, x.at_before.step, x.at_before.field, x.at_before.need);
out:
    return rc;
}

/* offline_sets.c — who is described by what they did: one clause or several. See offline_internal.h.
 * Layer: agent.
 *
 * "accounts that sent a message to at least 5 others but never received one": each clause is a set of
 * entities, an aggregation by one end of events, and the clauses are joined: with "and" both must hold, with
 * "but never" the second must not. Every word of the sentence is looked at in its place; one that has no part
 * in a clause means that this is not the question, and then nothing is answered. Source: agent spec, 18.9;
 * questions spec, 2. */
#include "agent/offline_sets.h"

#include <stdio.h>

/* ---- words in their places ---- */

static const mk_token *token(const mk_off *q, size_t i)
{
    static const mk_token none;
    return i < q->count ? &q->tokens[i] : &none;
}

static bool is_name(const mk_off *q, size_t i)
{
    for (size_t k = 0; k < q->name_count; k++)
        if (i >= q->names[k].first && i <= q->names[k].last)
            return true;
    return false;
}

/* The relation type whose first word is token i; -1: none. */
static int rel_at(const mk_off *q, size_t i)
{
    for (size_t k = 0; k < q->rel_count; k++)
        if (q->rel_first[k] == i)
            return (int)k;
    return -1;
}

static bool is_in_rel(const mk_off *q, size_t i)
{
    for (size_t k = 0; k < q->rel_count; k++)
        if (i >= q->rel_first[k] && i <= q->rel_last[k])
            return true;
    return false;
}

static bool is_time(const mk_off *q, size_t i)
{
    for (size_t k = 0; k < q->length_count; k++)
        if (q->lengths[k].token == i || q->lengths[k].token + 1 == i)
            return false;
    return token(q, i)->used && !is_name(q, i) && !is_in_rel(q, i);
}

static bool is_verb(const mk_off *q, size_t i)
{
    const mk_token *t = token(q, i);
    if (rel_at(q, i) >= 0)
        return true;
    return !t->used && (t->concept == C_SEND || t->concept == C_RECEIVE || mk_off__is_event_verb(t));
}


bool mk_off__is_end_noun(const mk_token *t)
{
    return mk_off__is_any(t, "sender senders giver givers source sources receiver receivers recipient "
                             "recipients target targets rater raters");
}

static bool is_auxiliary(const mk_token *t) { return mk_off__is_any(t, "was were is are be been being"); }

/* ---- the head: what is asked about whom ---- */

static bool may_precede_noun(const mk_off *q, size_t i)
{
    const mk_token *t = token(q, i);
    if (t->used)
        return is_time(q, i);
    switch (t->concept) {
    case C_STOP:
    case C_COUNT:
    case C_WHICH:
    case C_WHO:
    case C_DID:
    case C_DISTINCT:
    case C_EVER: return true;
    case C_EXIST: return mk_off__is(t, "there");
    default: return false;
    }
}

static bool read_head(mk_sets *s)
{
    const mk_off *q = s->q;
    bool counts = false, lists = false, yes = q->count > 0 && q->tokens[0].concept == C_DID;
    size_t i = 0;
    for (; i < q->count && (token(q, i)->used || token(q, i)->concept != C_NODE); i++) {
        if (!may_precede_noun(q, i))
            break;
        counts |= !token(q, i)->used && token(q, i)->concept == C_COUNT;
        lists |= !token(q, i)->used && (token(q, i)->concept == C_WHICH || token(q, i)->concept == C_WHO);
        if (!token(q, i)->used && token(q, i)->concept == C_WHO) {
            s->asks = MK_SETS_LIST;
            s->noun = i;
            return !counts && !yes;
        }
    }
    if (i == q->count || token(q, i)->used || token(q, i)->concept != C_NODE)
        return false;
    s->noun = i;
    s->asks = yes ? MK_SETS_EXIST : counts ? MK_SETS_COUNT : MK_SETS_LIST;
    return yes || counts || lists;
}

/* ---- clauses ---- */

/* Where the verb of a clause that begins at i would be, small words before it aside; q->count: there is
 * none. */
static size_t verb_from(const mk_off *q, size_t i)
{
    for (; i < q->count; i++) {
        const mk_token *t = token(q, i);
        if (is_verb(q, i))
            return i;
        const bool small =
            !t->used && (t->concept == C_STOP || t->concept == C_NOT || t->concept == C_ONLY ||
                         t->concept == C_EVER || t->concept == C_BOTH || t->concept == C_DID ||
                         t->concept == C_CORRECTION || t->concept == C_WHO || mk_off__is(t, "which"));
        if (!small)
            return q->count;
    }
    return q->count;
}

static bool add_clause(mk_sets *s, size_t first, size_t last)
{
    if (s->count == MK_SETS_CLAUSES_MAX || first >= last)
        return false;
    s->clauses[s->count++] = (mk_clause){.first = first, .last = last};
    return true;
}

static bool split(mk_sets *s)
{
    const mk_off *q = s->q;
    size_t first = s->noun + 1;
    for (size_t i = first; i < q->count; i++) {
        const mk_token *t = token(q, i);
        const bool without = !t->used && mk_off__is(t, "without");
        const bool joint = !t->used && (t->concept == C_BUT || mk_off__is(t, "and") || without);
        if (!joint || verb_from(q, i + 1) == q->count || verb_from(q, first) >= i) {
            if (!t->used && t->concept == C_BUT)
                return false;
            continue;
        }
        if (!add_clause(s, first, i))
            return false;
        first = without ? i : mk_off__is(token(q, i + 1), "and") ? i + 2 : i + 1;
        i++;
    }
    return add_clause(s, first, q->count);
}

/* How a number is meant, by the words around it: "at least 5", "more than 5", "5 or more". NULL: not said. */
const char *mk_off__comparison(const mk_off *q, size_t i)
{
    const mk_token *a = i > 0 ? token(q, i - 1) : token(q, q->count),
                   *b = i > 1 ? token(q, i - 2) : token(q, q->count);
    const mk_token *after = token(q, i + 2);
    if (mk_off__is(token(q, i + 1), "or"))
        return mk_off__is_any(after, "more above")         ? "ge"
               : mk_off__is_any(after, "fewer less below") ? "le"
                                                           : NULL;
    if (mk_off__is(a, "least"))
        return "ge";
    if (mk_off__is(a, "most") && mk_off__is(b, "at"))
        return "le";
    if (mk_off__is(a, "than") && i > 2 && mk_off__is_any(token(q, i - 3), "no not")) /* "no more than 5" */
        return mk_off__is_any(b, "more greater") ? "le" : mk_off__is_any(b, "fewer less") ? "ge" : NULL;
    if (mk_off__is(a, "than"))
        return mk_off__is_any(b, "more greater over higher") ? "gt"
               : mk_off__is_any(b, "fewer less lower")       ? "lt"
                                                             : NULL;
    if (mk_off__is_any(a, "over above exceeding"))
        return "gt";
    if (mk_off__is_any(a, "under below"))
        return "lt";
    return mk_off__is_any(a, "exactly only just precisely") ? "eq" : NULL;
}

/* The words of a comparison behind the number are read with it. */
static size_t comparison_end(const mk_off *q, size_t i)
{
    return mk_off__is(token(q, i + 1), "or") && mk_off__comparison(q, i) != NULL ? i + 2 : i;
}

static bool is_value_number(const mk_off *q, size_t i)
{
    size_t k = i;
    while (k > 0 && mk_off__is_any(token(q, k - 1), "exactly at least most more less greater than only"))
        k--;
    return q->prop.n != 0 && k > 1 &&
           (mk_off__is(token(q, k - 1), "of") || mk_off__is(token(q, k - 1), "value"));
}

/* What of a clause is still open while its words are read. */
typedef struct reading {
    bool verb, passive, or_other, counting, single, sign;
} reading;

static bool set_number(mk_sets *s, mk_clause *c, reading *r, size_t i, int64_t n)
{
    const char *how = mk_off__comparison(s->q, i);
    if (is_value_number(s->q, i)) {
        if (c->cmp != NULL)
            return false;
        c->cmp = how != NULL ? how : "eq";
        c->value = n;
        return true;
    }
    if (r->sign && n == 0) /* "positive (greater than 0)" */
        return true;
    if (how == NULL || c->than != NULL || n < 1)
        return false;
    c->than = how;
    c->than_n = n;
    r->counting = true;
    return true;
}

static bool read_name(mk_sets *s, mk_clause *c, const reading *r, size_t i)
{
    const mk_off *q = s->q;
    size_t k = 0;
    while (q->names[k].first != i)
        k++;
    size_t at = q->names[k].first;
    while (at > 0 && mk_off__is_any(token(q, at - 1), "the node account user entity person file both"))
        at--;
    const mk_token *before = at > c->first ? token(q, at - 1) : token(q, q->count);
    const bool from = mk_off__is_any(before, "from by"),
               to = mk_off__is_any(before, "to towards toward against");
    if (!r->verb || (c->sends && c->receives))
        return false;
    if (c->other.n != 0) { /* "from both A and B" */
        if (!c->both || c->second.n != 0 || !mk_off__is(before, "and"))
            return false;
        c->second = q->names[k].uid;
        return true;
    }
    if (c->sends && from)
        return false;
    if (c->receives && !from)
        return false;
    /* "rated n5" has no preposition, "sent messages to n5" must have one */
    if (c->sends && !to && at > 0 && !is_verb(q, at - 1) && !is_in_rel(q, at - 1))
        return false;
    c->other = q->names[k].uid;
    return true;
}

static bool read_verb(mk_sets *s, mk_clause *c, reading *r, size_t i)
{
    const mk_off *q = s->q;
    const mk_token *t = token(q, i);
    const int rel = rel_at(q, i);
    const bool receives = rel < 0 && t->concept == C_RECEIVE;
    if (r->verb && (rel >= 0 || receives == c->receives || !r->or_other))
        return false;
    bool passive = false;
    for (size_t k = i; k > c->first && k + 3 > i; k--)
        passive |= is_auxiliary(token(q, k - 1));
    if (rel >= 0) {
        if (mk_off__is(token(q, q->rel_last[rel]), "to") || c->rel.n != 0)
            return false;
        c->rel = q->rels[rel];
    }
    if (receives && passive)
        return false;
    if (receives || passive)
        c->receives = true;
    else
        c->sends = true;
    r->verb = true;
    r->or_other = false;
    return true;
}

static bool read_word(mk_sets *s, mk_clause *c, reading *r, size_t *at)
{
    const mk_off *q = s->q;
    const size_t i = *at;
    const mk_token *t = token(q, i);
    switch (t->concept) {
    case C_STOP:
        if (mk_off__is(t, "one")) {
            const char *how = mk_off__comparison(q, i);
            if (how != NULL && strcmp(how, "ge") != 0) {
                c->than = how;
                c->than_n = 1;
                r->counting = true;
            }
        } else if (mk_off__is(t, "or") && is_verb(q, i + 1)) {
            r->or_other = true;
        }
        return true;
    case C_NOT:
        if (token(q, i + 1)->concept != C_ABOVE && token(q, i + 1)->concept != C_BELOW)
            c->negated = true;
        return true;
    case C_ONLY: {
        const mk_token *next = token(q, i + 1);
        if (next->concept == C_NUMBER || next->concept == C_ONCE || mk_off__is(next, "one"))
            return true; /* a comparison */
        if (mk_off__is(t, "just"))
            return false;
        c->only = true;
        return true;
    }
    case C_ONCE: {
        const char *how = mk_off__comparison(q, i);
        if (mk_off__is(t, "single")) {
            r->single = true;
            return c->negated || q->length_count == 1;
        }
        if (how == NULL || c->than != NULL)
            return false;
        c->than = how;
        c->than_n = mk_off__is(t, "twice") ? 2 : 1;
        return true;
    }
    case C_NUMBER:
        for (size_t k = 0; k < q->number_count; k++)
            if (q->number_tokens[k] == i) {
                *at = comparison_end(q, i);
                return set_number(s, c, r, i, q->numbers[k]);
            }
        return false;
    case C_ABOVE:
    case C_BELOW: return mk_off__is(token(q, i + 1), "than") || token(q, i + 1)->concept == C_NUMBER;
    case C_POSITIVE: case C_NEGATIVE:
        if (c->cmp != NULL || q->prop.n == 0)
            return false;
        c->cmp = t->concept == C_POSITIVE ? "gt" : "lt";
        r->sign = true;
        return true;
    case C_DISTINCT: c->distinct |= r->counting; return true;
    case C_EVENT: r->counting = false; return true;
    case C_NODE:
        c->distinct |= r->counting;
        r->counting = false;
        return r->verb;
    case C_FIRST: c->earliest = true; return true;
    case C_BOTH: c->both = true; return true;
    case C_SAME:
        s->same_day = mk_off__is_any(token(q, i + 1), "day date");
        *at = i + 1;
        return s->same_day && s->clauses + s->count - 1 == c;
    case C_WHICH: case C_WHO: return !r->verb && mk_off__is_any(t, "which who"); /* "accounts which ..." */
    case C_BUCKET:
    case C_THRESHOLD: return q->length_count == 1 && mk_off__is_any(t, "period interval window");
    case C_TIME: return mk_off__is_any(t, "times time");
    case C_COUNT: return mk_off__is(t, "total");
    case C_OTHER: case C_EVER: case C_DID: return true;
    case C_EXIST: return mk_off__is(t, "made");
    case C_CORRECTION: return false; /* "later": an order in time that this does not read */
    case C_BELIEF: case C_NOW: return q->has_belief;
    default: return false;
    }
}

static bool read_clause(mk_sets *s, mk_clause *c)
{
    const mk_off *q = s->q;
    reading r = {.verb = false};
    for (size_t i = c->first; i < c->last; i++) {
        bool ok = true;
        if (is_name(q, i)) {
            ok = i == 0 || !is_name(q, i - 1) || !token(q, i - 1)->used ? read_name(s, c, &r, i) : true;
        } else if (rel_at(q, i) >= 0) {
            ok = read_verb(s, c, &r, i);
        } else if (is_time(q, i)) {
            c->timed = true;
        } else if (token(q, i)->used) {
            ok = true; /* a length, or the words of a relation type */
        } else if (mk_off__is_end_noun(token(q, i))) {
            c->distinct |= r.counting;
            ok = r.verb;
        } else if (is_verb(q, i) && !(r.verb && token(q, i)->concept == C_EVENT)) {
            ok = read_verb(s, c, &r, i);
        } else {
            ok = read_word(s, c, &r, &i);
        }
        if (!ok)
            return false;
    }
    return r.verb && !r.or_other;
}

/* "from n1", found twice, is one name; a length that no clause used is left over. */
static bool is_consistent(mk_sets *s)
{
    const mk_off *q = s->q;
    bool early = false, plain = false;
    for (size_t k = 0; k < s->count; k++) {
        mk_clause *c = &s->clauses[k];
        const bool either = c->sends && c->receives;
        if (q->length_count == 1 && c->than != NULL && !c->distinct)
            c->span = q->lengths[0].us;
        if (either && (c->than != NULL || c->earliest || c->only || c->other.n != 0))
            return false;
        if (c->only &&
            (c->than != NULL || c->earliest || c->second.n != 0 || (c->cmp != NULL && c->cmp[1] == 'q')))
            return false;
        if (c->earliest && (c->than != NULL || c->negated || c->cmp != NULL))
            return false;
        if (c->both != (c->second.n != 0) && s->count == 1)
            return false;
        if (c->distinct && c->than == NULL)
            c->distinct = false;
        early |= c->earliest;
        plain |= !c->earliest;
        /* a time in the middle of a sentence may belong to its clause alone */
        if (c->timed && k + 1 < s->count)
            return false;
    }
    if (early && plain)
        return false;
    s->from_all = s->clauses[0].negated;
    if (s->from_all && (q->has_belief || s->same_day))
        return false;
    if (s->same_day
            ? !(early && s->count == 2 && !q->has_window && s->clauses[0].sends != s->clauses[1].sends)
            : early && !q->has_window)
        return false;
    if (q->length_count != 0 && (q->length_count != 1 || s->count != 1 || s->clauses[0].span == 0))
        return false;
    /* What one clause with nothing special says, offline_events.c reads, and ranks and averages besides. */
    const mk_clause *c = &s->clauses[0];
    return s->count > 1 || s->from_all || c->second.n != 0 || c->than != NULL || c->earliest || c->only ||
           (c->sends && c->receives) || s->asks == MK_SETS_EXIST;
}

static bool read_question(mk_sets *s)
{
    const mk_off *q = s->q;
    if (q->instant_count != 0 || !read_head(s) || !split(s))
        return false;
    for (size_t k = 0; k < s->count; k++)
        if (!read_clause(s, &s->clauses[k]))
            return false;
    /* "files": everything that is found must be one, so the store is asked; two words for kinds say more than
     * that */
    for (size_t k = 0; k < q->label_count; k++)
        if (q->label_tokens[k] < s->noun)
            return false;
    return is_consistent(s);
}

mk_code mk_off__sets(mk_off *q, bool *planned)
{
    mk_sets s = {.q = q};
    bool agree = true;
    mk_code rc = MK_OK;
    *planned = false;
    if (!read_question(&s))
        return MK_OK;
    MK_TRY(rc, mk_sets__labels_agree(&s, &agree));
    if (!agree)
        return MK_OK;
    MK_TRY(rc, mk_sets__write(&s));
    *planned = true;
out:
    return rc;
}

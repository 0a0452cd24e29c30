/* offline_events.c — who did what to whom, how often, when first. See offline_internal.h. Layer: agent.
 *
 * The sentence has a verb: a relation type of the store, or one of giving and getting. What stands before it
 * is its subject, what behind it its object, prepositions overrule both, and getting turns source and target
 * round. From that follow the filters of one aggregation and what is asked of it. A ranking with a tie at its
 * cut has no unique answer and is not given. Source: agent spec, 18.9, 18.16. */
#include "agent/offline_internal.h"

#include <stdio.h>

#include "op/call.h"

typedef enum role { R_NONE, R_SRC, R_DST } role;
typedef enum asked {
    A_NONE,
    A_COUNT,
    A_ENTITIES,
    A_COUNT_ENTITIES,
    A_TOP,
    A_MEAN,
    A_VALUE,
    A_DID,
    A_BOTH_WAYS,
    A_PARTNERS,
    A_COUNT_PARTNERS,
    A_COMMON,
    A_WHEN,
    A_ONCE,
    A_BUCKET,
    A_TYPE
} asked;

typedef struct events {
    mk_off *q;
    size_t verb;        /* token; q->count: none */
    bool passive;       /* "was rated by" */
    bool receives;
    role subject, object;
    role who;           /* of what is asked */
    size_t noun;        /* the word for it */
    asked what;
    mk_str src, dst;    /* n 0: any */
    mk_str common;      /* a second one in the same role: "both A and B" */
    bool with;          /* "together with A" */
    bool between;       /* "between A and B" */
    int64_t top;
    bool by_distinct;   /* rank by how many different others */
    bool last;          /* WHEN: the last time */
    const char *period; /* BUCKET */
    bool either;        /* `src` may stand at any end */
    const char *cmp;    /* of the property; NULL: no filter */
    int64_t value;
    mk_buf args, steps, said;
    const char *kind;
    char from[120];
} events;

/* ---- the verb ---- */

static bool is_verb_concept(mk_concept c) { return c == C_SEND || c == C_RECEIVE; }

/* A word like "rated" or "messaged", which name_events took for an event, standing where a verb stands. */
bool mk_off__is_event_verb(const mk_token *t)
{
    const size_t n = strlen(t->low);
    return t->concept == C_EVENT && n > 3 && strcmp(t->low + n - 2, "ed") == 0;
}

static void find_verb(events *e)
{
    const mk_off *q = e->q;
    e->verb = q->count;
    for (size_t i = 0; i < q->count && e->verb == q->count; i++)
        if (!q->tokens[i].used &&
            (is_verb_concept(q->tokens[i].concept) || mk_off__is_event_verb(&q->tokens[i])))
            e->verb = i;
    /* "MESSAGE events" is a noun; with no other verb a relation type is what was done. */
    const bool noun = q->rel_count != 0 && q->rel_last[0] + 1 < q->count &&
                      !q->tokens[q->rel_last[0] + 1].used && q->tokens[q->rel_last[0] + 1].concept == C_EVENT;
    if (q->rel_count != 0 && !noun && (e->verb == q->count || !is_verb_concept(q->tokens[e->verb].concept)))
        e->verb = q->rel_first[0];
    if (e->verb == q->count)
        return;
    e->receives = !q->tokens[e->verb].used && q->tokens[e->verb].concept == C_RECEIVE;
    for (size_t i = e->verb + 1; i < q->count && i < e->verb + 3; i++)
        e->passive |= mk_off__is(&q->tokens[i], "by");
    bool auxiliary = false, close = false;
    for (size_t i = e->verb; i > 0 && i + 4 > e->verb; i--)
        auxiliary |= mk_off__is_any(&q->tokens[i - 1], "was were been being be is are");
    if (e->verb > 0)
        close = mk_off__is_any(&q->tokens[e->verb - 1], "was were been being be is are");
    /* "was renamed to" names a relation from what was renamed: its own preposition keeps the direction. */
    const bool towards =
        q->rel_count != 0 && e->verb == q->rel_first[0] && mk_off__is(&q->tokens[q->rel_last[0]], "to");
    /* "When was X added": the auxiliary stands before the name. */
    const bool split = e->verb > 0 && q->tokens[e->verb - 1].used && auxiliary && q->rel_count != 0;
    e->passive = !towards && ((e->passive && auxiliary) || ((close || split) && q->rel_count != 0));
    const bool turned = e->passive != e->receives;
    e->subject = turned ? R_DST : R_SRC;
    e->object = turned ? R_SRC : R_DST;
}

/* A second verb makes a second statement, which one aggregation does not compute. */
static bool has_second_verb(const events *e)
{
    const mk_off *q = e->q;
    for (size_t i = 0; i < q->count; i++) {
        const mk_token *t = &q->tokens[i];
        const bool verb =
            !t->used && (is_verb_concept(t->concept) || mk_off__is_event_verb(t)) && !mk_off__is_end_noun(t);
        if (verb && i != e->verb && !(e->verb < q->count && q->tokens[e->verb].used))
            return true;
    }
    return false;
}

/* ---- the names ---- */

static size_t before_name(const mk_off *q, size_t first)
{
    while (first > 0 &&
           mk_off__is_any(&q->tokens[first - 1], "the node account user entity person file accounts country"))
        first--;
    return first;
}

static role role_of_name(const events *e, const mk_name *n)
{
    const mk_off *q = e->q;
    const size_t at = before_name(q, n->first);
    const mk_token *prep = at > 0 ? &q->tokens[at - 1] : NULL;
    if (prep != NULL &&
        (mk_off__is(prep, "from") || (mk_off__is(prep, "by") && (e->passive || e->verb == q->count))))
        return R_SRC;
    if (prep != NULL && mk_off__is_any(prep, "to towards toward at against") && !mk_off__is(prep, "at"))
        return R_DST;
    if (e->verb == q->count)
        return R_NONE;
    if (prep != NULL &&
        mk_off__is_any(prep,
                       "did does do has had have")) /* "how many did ada send": whoever stands here, did it */
        return e->subject;
    return n->first < e->verb ? e->subject : e->object;
}

/* "between A and B", where a role would be a guess. */
static bool is_between(const mk_off *q)
{
    if (q->name_count != 2)
        return false;
    const size_t first = before_name(q, q->names[0].first), and = q->names[0].last + 1;
    return first > 0 && mk_off__is(&q->tokens[first - 1], "between") && mk_off__is(&q->tokens[and], "and") &&
           q->names[1].first == and+1;
}

static bool place_names(events *e)
{
    mk_off *q = e->q;
    if (is_between(q)) {
        e->between = true;
        e->src = q->names[0].uid;
        e->dst = q->names[1].uid;
        return true;
    }
    for (size_t i = 0; i < q->name_count; i++) {
        const size_t at = before_name(q, q->names[i].first);
        /* "together with A", "with how many did A have events" */
        const size_t behind = q->names[i].last + 1;
        const bool fronted = mk_off__is(&q->tokens[0], "with") && behind < q->count &&
                             mk_off__is_any(&q->tokens[behind], "have had has share shared");
        if (q->name_count == 1 && e->verb == q->count && at > 0 &&
            (mk_off__is(&q->tokens[at - 1], "with") || fronted)) {
            e->with = true;
            e->src = q->names[i].uid;
            return true;
        }
        if (q->name_count == 1 && e->verb == q->count && (mk_off__concepts(q) & MK_C(C_INVOLVED)) != 0) {
            e->either = true;
            e->src = q->names[i].uid;
            return true;
        }
        role r = role_of_name(e, &q->names[i]);
        /* "from both n1 and n13": the second has the preposition of the first */
        const bool both = i == 1 && q->names[1].first == q->names[0].last + 2 &&
                          mk_off__is(&q->tokens[q->names[0].last + 1], "and");
        if (both) {
            const size_t before = before_name(q, q->names[0].first);
            if (before == 0 || !mk_off__is(&q->tokens[before - 1], "both"))
                return false;
            e->common = q->names[1].uid;
            return true;
        }
        if (q->name_count == 2 && i == 0 && at > 1 && mk_off__is(&q->tokens[at - 1], "both"))
            r = mk_off__is_any(&q->tokens[at - 2], "from by") ? R_SRC
                : mk_off__is(&q->tokens[at - 2], "to")        ? R_DST
                                                              : r;
        mk_str *to = r == R_SRC ? &e->src : r == R_DST ? &e->dst : NULL;
        if (to == NULL || (to->n != 0 && !mk_str_eq(*to, q->names[i].uid)))
            return false;
        *to = q->names[i].uid;
    }
    return true;
}

/* ---- what is asked ---- */

/* The first word behind token i that is no adjective. */
static size_t noun_after(const mk_off *q, size_t i)
{
    for (i++; i < q->count; i++) {
        const mk_concept c = q->tokens[i].concept;
        if (q->tokens[i].used || (c != C_DISTINCT && c != C_OTHER && c != C_STOP && c != C_POSITIVE &&
                                  c != C_NEGATIVE && c != C_COUNT && c != C_NUMBER))
            return i;
    }
    return q->count;
}

static role other(role r) { return r == R_SRC ? R_DST : r == R_DST ? R_SRC : R_NONE; }

/* The role of those who are asked for: the one the names leave, or the subject. */
static role asked_role(const events *e, size_t noun)
{
    if (e->src.n != 0 && e->dst.n == 0)
        return R_DST;
    if (e->dst.n != 0 && e->src.n == 0)
        return R_SRC;
    if (e->src.n != 0 || e->verb == e->q->count)
        return R_NONE;
    return noun < e->verb ? e->subject : e->object;
}

/* A stretch of the calendar as a dimension of aggregate_events; NULL: the word is none. */
static const char *period_of(const mk_token *t)
{
    static const struct {
        const char *words, *unit;
    } periods[] = {{"day days date", "day"},
                   {"week weeks", "week"},
                   {"month months", "month"},
                   {"quarter quarters", "quarter"},
                   {"year years", "year"}};
    for (size_t i = 0; i < sizeof periods / sizeof *periods; i++)
        if (mk_off__is_any(t, periods[i].words))
            return periods[i].unit;
    return NULL;
}

/* A number that says how many of a ranking, and not a value. */
static int64_t top_number(events *e, size_t *used)
{
    const mk_off *q = e->q;
    *used = SIZE_MAX;
    for (size_t i = 0; i < q->number_count; i++) {
        const size_t t = q->number_tokens[i];
        const bool after_top = t > 0 && mk_off__is_any(&q->tokens[t - 1], "top the which");
        if (after_top && q->numbers[i] >= 1 && q->numbers[i] <= 1000 && t + 1 < q->count &&
            (q->tokens[t + 1].concept == C_NODE || q->tokens[t + 1].concept == C_MOST ||
             q->tokens[t + 1].used)) {
            *used = i;
            return q->numbers[i];
        }
    }
    return 1;
}

static bool find_asked(events *e, uint64_t bits)
{
    const mk_off *q = e->q;
    const size_t count = mk_off__find(q, C_COUNT), which = mk_off__find(q, C_WHICH),
                 who = mk_off__find(q, C_WHO);
    const size_t noun = noun_after(q, count < q->count ? count : which < q->count ? which : who);
    size_t used;
    e->top = top_number(e, &used);
    e->noun = who < q->count && which == q->count && count == q->count ? who : noun;
    if (q->count > 0 && q->tokens[0].concept == C_DID) {
        const uint64_t other_questions = MK_C(C_WHICH) | MK_C(C_WHO) | MK_C(C_WHEN) | MK_C(C_COUNT) |
                                         MK_C(C_MOST) | MK_C(C_AVERAGE) | MK_C(C_NODE) | MK_C(C_OTHER) |
                                         MK_C(C_FIRST) | MK_C(C_LAST) | MK_C(C_DISTINCT);
        e->what = A_DID;
        return (bits & other_questions) == 0 && e->verb < q->count;
    }
    if ((bits & MK_C(C_WHEN)) != 0) {
        e->what = (bits & (MK_C(C_FIRST) | MK_C(C_LAST))) != 0 ? A_WHEN : A_ONCE;
        e->last = (bits & MK_C(C_LAST)) != 0;
        return true;
    }
    if ((bits & (MK_C(C_FIRST) | MK_C(C_LAST) | MK_C(C_LEAST))) != 0)
        return false;
    if (e->with) {
        const bool asks = who < q->count || (noun < q->count && q->tokens[noun].concept == C_NODE);
        e->what = count < q->count ? A_COUNT_PARTNERS : A_PARTNERS;
        return asks && e->verb == q->count && (bits & MK_C(C_MOST)) == 0;
    }
    if (e->between) {
        e->what = A_BOTH_WAYS;
        return count < q->count && noun < q->count &&
               (q->tokens[noun].concept == C_EVENT || q->tokens[noun].concept == C_TIME) && q->rel_count == 0;
    }
    if (e->common.n != 0) {
        e->who = e->src.n != 0 ? R_DST : R_SRC;
        e->what = A_COMMON;
        return (who < q->count || (noun < q->count && q->tokens[noun].concept == C_NODE)) &&
               (bits & MK_C(C_MOST)) == 0;
    }
    if ((bits & MK_C(C_AVERAGE)) != 0) {
        e->what = q->prop.n != 0 ? A_MEAN : A_NONE;
        return e->what != A_NONE;
    }
    const bool ranks = (bits & MK_C(C_MOST)) != 0;
    if (ranks && which < q->count && noun < q->count && period_of(&q->tokens[noun]) != NULL) {
        e->what = A_BUCKET;
        e->period = period_of(&q->tokens[noun]);
        return true;
    }
    if (ranks && (bits & MK_C(C_TYPE)) != 0) {
        e->what = A_TYPE;
        return true;
    }
    /* "what rating did A give B": one event, and its property */
    if (which < q->count && count == q->count && q->prop.n != 0 && noun == q->prop_token && e->src.n != 0 &&
        e->dst.n != 0 && (bits & MK_C(C_MOST)) == 0) {
        e->what = A_VALUE;
        return true;
    }
    if (which < q->count && mk_off__is(&q->tokens[which], "what") && q->rel_count != 0 && count == q->count &&
        (bits & (MK_C(C_MOST) | MK_C(C_TYPE))) == 0 && (e->src.n == 0) != (e->dst.n == 0)) {
        e->what = A_ENTITIES;
        e->who = asked_role(e, which);
        return true;
    }
    const bool people = who < q->count || (noun < q->count && q->tokens[noun].concept == C_NODE);
    if (ranks && people) {
        e->what = A_TOP;
        e->by_distinct = (bits & MK_C(C_DISTINCT)) != 0;
        e->who = asked_role(e, who < q->count ? who : noun);
        return e->who != R_NONE;
    }
    if (ranks)
        return false;
    if (count < q->count && noun < q->count && q->tokens[noun].concept == C_NODE) {
        e->what = A_COUNT_ENTITIES;
        e->who = asked_role(e, noun);
        return e->who != R_NONE;
    }
    if (count < q->count) {
        const bool things = noun < q->count && !q->tokens[noun].used &&
                            (q->tokens[noun].concept == C_EVENT || q->tokens[noun].concept == C_TIME);
        const bool by_rel = noun < q->count && q->rel_count != 0 && noun == q->rel_first[0];
        e->what = A_COUNT;
        return things || by_rel;
    }
    if (who < q->count || people) {
        e->what = A_ENTITIES;
        e->who = asked_role(e, who < q->count ? who : noun);
        return e->who != R_NONE;
    }
    return false;
}

/* ---- values ---- */

static bool find_value_filter(events *e, uint64_t bits)
{
    const mk_off *q = e->q;
    size_t used;
    (void)top_number(e, &used);
    const bool sign = (bits & (MK_C(C_POSITIVE) | MK_C(C_NEGATIVE))) != 0;
    if ((bits & MK_C(C_POSITIVE)) != 0 && (bits & MK_C(C_NEGATIVE)) != 0)
        return false;
    for (size_t i = 0; i < q->number_count; i++) {
        if (i == used && (e->what == A_TOP || e->what == A_TYPE))
            continue;
        const size_t t = q->number_tokens[i];
        bool exactly = false;
        for (size_t k = t; k > 0 && k + 3 > t; k--)
            exactly |= mk_off__is_any(&q->tokens[k - 1], "exactly of value equal to rating");
        if (e->cmp != NULL || sign || !exactly || q->prop.n == 0)
            return false;
        e->cmp = "eq";
        e->value = q->numbers[i];
    }
    if (!sign)
        return true;
    e->cmp = (bits & MK_C(C_POSITIVE)) != 0 ? "gt" : "lt";
    return q->prop.n != 0;
}

/* ---- writing the aggregation ---- */

static void put_filters(events *e, mk_buf *out)
{
    const mk_off *q = e->q;
    const role r = e->src.n != 0 ? R_SRC : e->dst.n != 0 ? R_DST : R_NONE;
    if (r != R_NONE) {
        mk_buf_printf(out, ",\"endpoint_filter\":{\"role\":\"%s\",\"uids\":[",
                      e->either    ? "either"
                      : r == R_SRC ? "src"
                                   : "dst");
        mk_canon_string(out, r == R_SRC ? e->src : e->dst);
        mk_buf_z(out, "]}");
    }
    if (q->rel_count != 0) {
        mk_buf_z(out, ",\"rel_types\":[");
        for (size_t i = 0; i < q->rel_count; i++) {
            if (i > 0)
                mk_buf_c(out, ',');
            mk_canon_string(out, q->rels[i]);
        }
        mk_buf_c(out, ']');
    }
    if (e->cmp != NULL) {
        mk_buf_z(out, ",\"prop_filter\":{\"prop\":");
        mk_canon_string(out, q->prop);
        mk_buf_printf(out, ",\"cmp\":\"%s\",\"value\":%lld}", e->cmp, (long long)e->value);
    }
    mk_off__put_window(q, out);
}

static void say_filters(events *e)
{
    const mk_off *q = e->q;
    mk_buf *said = &e->said;
    if (q->rel_count != 0)
        for (size_t i = 0; i < q->rel_count; i++)
            mk_buf_printf(said, "%s%.*s", i ? " or " : " of type ", MK_STR_ARG(q->rels[i]));
    if (e->cmp != NULL)
        mk_buf_printf(said, " whose %.*s is %s %lld", MK_STR_ARG(q->prop),
                      e->cmp[0] == 'e'   ? "exactly"
                      : e->cmp[0] == 'g' ? "above"
                                         : "below",
                      (long long)e->value);
    if (e->src.n != 0)
        mk_buf_printf(said, e->either ? " that %.*s is source or target of" : " from %.*s",
                      MK_STR_ARG(e->src));
    if (e->dst.n != 0)
        mk_buf_printf(said, " to %.*s", MK_STR_ARG(e->dst));
    mk_off__say_times(q, said);
}

static const char *word(role r) { return r == R_SRC ? "src" : "dst"; }

static void put_groups(events *e, const char *groups, const char *aggregates)
{
    mk_buf_printf(&e->args, "{\"group_by\":[%s],\"aggregates\":[%s]", groups, aggregates);
    put_filters(e, &e->args);
}

static void close_first(events *e)
{
    mk_buf_c(&e->args, '}');
    mk_buf_z(&e->steps, "{\"id\":\"s1\",\"op\":\"aggregate_events\",\"args\":");
    mk_buf_str(&e->steps, mk_buf_view(&e->args));
    mk_buf_c(&e->steps, '}');
}

static void put_second(events *e, const char *fmt_args)
{
    mk_buf_printf(&e->steps,
                  ",{\"id\":\"s2\",\"op\":\"compute\",\"depends_on\":[\"s1\"],\"args\":{\"input\":{\"$ref\":"
                  "\"s1.rows\"},%s}}",
                  fmt_args);
}

/* With both ends named the aggregation filters one and groups by the other, and the wanted group is
 * picked. */
static void pick_target(events *e)
{
    mk_buf_z(&e->steps, ",{\"id\":\"s2\",\"op\":\"compute\",\"depends_on\":[\"s1\"],\"args\":{\"fn\":"
                        "\"filter\",\"input\":{\"$ref\":\"s1.rows\"},"
                        "\"field\":\"dst\",\"cmp\":\"eq\",\"value\":");
    mk_canon_string(&e->steps, e->dst);
    mk_buf_z(&e->steps, "}}");
}

static void write_number(events *e, const char *aggregate, const char *column, const char *kind)
{
    const bool both = e->src.n != 0 && e->dst.n != 0;
    e->kind = kind;
    put_groups(e, both ? "{\"dim\":\"endpoint\",\"role\":\"dst\"}" : "", aggregate);
    close_first(e);
    snprintf(e->from, sizeof e->from, "s1.rows[0].%.80s", column);
    if (!both)
        return;
    pick_target(e);
    snprintf(e->from, sizeof e->from, "s2.rows[0].%.80s", column);
    if (e->what == A_COUNT || e->what == A_DID) { /* no group is a count of none */
        mk_buf_z(&e->steps, ",{\"id\":\"s3\",\"op\":\"compute\",\"depends_on\":[\"s2\"],\"args\":{\"fn\":"
                            "\"sum\",\"input\":{\"$ref\":\"s2.rows\"},"
                            "\"field\":\"count\"}}");
        snprintf(e->from, sizeof e->from, "s3.value");
    }
}

static void write_ranking(events *e, const char *groups, const char *aggregate, const char *field,
                          const char *column)
{
    char args[160];
    put_groups(e, groups, aggregate);
    close_first(e);
    snprintf(args, sizeof args, "\"fn\":\"topk\",\"field\":\"%s\",\"k\":%lld", field,
             (long long)(e->what == A_TOP ? e->top : 1));
    put_second(e, args);
    snprintf(e->from, sizeof e->from, "s2.rows%s", column);
}

/* One aggregation by one end, as a step of its own. */
static void put_side(events *e, const char *step, mk_str src, mk_str dst)
{
    const mk_str kept_src = e->src, kept_dst = e->dst;
    e->src = src;
    e->dst = dst;
    mk_buf_printf(&e->steps,
                  "%s{\"id\":\"%s\",\"op\":\"aggregate_events\",\"args\":{\"group_by\":[{\"dim\":"
                  "\"endpoint\",\"role\":\"%s\"}],"
                  "\"aggregates\":[{\"agg\":\"count\"}]",
                  e->steps.n ? "," : "", step, src.n != 0 ? "dst" : "src");
    put_filters(e, &e->steps);
    mk_buf_z(&e->steps, "}}");
    e->src = kept_src;
    e->dst = kept_dst;
}

static void put_compute(events *e, const char *step, const char *depends, const char *args)
{
    mk_buf_printf(&e->steps, ",{\"id\":\"%s\",\"op\":\"compute\",\"depends_on\":[%s],\"args\":{%s}}", step,
                  depends, args);
}

/* Whoever is at the other end of an event of one node, in either direction, itself aside. */
static void write_partners(events *e)
{
    const mk_str none = {NULL, 0};
    put_side(e, "s1", e->src, none);
    put_side(e, "s2", none, e->src);
    put_compute(e, "s3", "\"s1\",\"s2\"",
                "\"fn\":\"union\",\"input\":{\"$ref\":\"s1.rows\"},\"field\":\"dst\",\"other\":{\"$ref\":"
                "\"s2.rows\"},"
                "\"other_field\":\"src\"");
    mk_buf_z(&e->steps, ",{\"id\":\"s4\",\"op\":\"compute\",\"depends_on\":[\"s3\"],\"args\":{\"fn\":"
                        "\"difference\",\"input\":{\"$ref\":\"s3.rows\"},"
                        "\"other\":[");
    mk_canon_string(&e->steps, e->src);
    mk_buf_z(&e->steps, "]}}");
    e->kind = e->what == A_PARTNERS ? "entity_set" : "count";
    snprintf(e->from, sizeof e->from, e->what == A_PARTNERS ? "s4.rows" : "s4.rows_total");
    mk_buf_printf(&e->said, "%s in an event with %.*s, in either direction",
                  e->what == A_PARTNERS ? "Which other nodes are" : "How many other nodes are",
                  MK_STR_ARG(e->src));
    mk_off__say_times(e->q, &e->said);
}

/* Events between two, in both directions. */
static void write_both_ways(events *e)
{
    const mk_str none = {NULL, 0}, ends[2] = {e->src, e->dst};
    for (int i = 0; i < 2; i++) {
        char step[8], depends[16];
        snprintf(step, sizeof step, "s%d", i * 3 + 1);
        put_side(e, step, ends[i], none);
        mk_buf_printf(&e->steps,
                      ",{\"id\":\"s%d\",\"op\":\"compute\",\"depends_on\":[\"%s\"],\"args\":{\"fn\":"
                      "\"filter\",\"input\":{\"$ref\":\"%s.rows\"},"
                      "\"field\":\"dst\",\"cmp\":\"eq\",\"value\":",
                      i * 3 + 2, step, step);
        mk_canon_string(&e->steps, ends[1 - i]);
        mk_buf_z(&e->steps, "}}");
        snprintf(depends, sizeof depends, "\"s%d\"", i * 3 + 2);
        snprintf(step, sizeof step, "s%d", i * 3 + 3);
        put_compute(e, step, depends,
                    i == 0 ? "\"fn\":\"sum\",\"field\":\"count\",\"input\":{\"$ref\":\"s2.rows\"}"
                           : "\"fn\":\"sum\",\"field\":\"count\",\"input\":{\"$ref\":\"s5.rows\"}");
    }
    put_compute(e, "s7", "\"s3\",\"s6\"",
                "\"fn\":\"sum\",\"input\":[{\"$ref\":\"s3.value\"},{\"$ref\":\"s6.value\"}]");
    e->kind = "count";
    snprintf(e->from, sizeof e->from, "s7.value");
    mk_buf_printf(&e->said, "How many events there are between %.*s and %.*s, in both directions",
                  MK_STR_ARG(e->src), MK_STR_ARG(e->dst));
    mk_off__say_times(e->q, &e->said);
}

/* Who has the same to do with each of two. */
static void write_common(events *e)
{
    const mk_str none = {NULL, 0}, one = e->src.n != 0 ? e->src : e->dst;
    const bool from = e->src.n != 0;
    char args[200];
    put_side(e, "s1", from ? one : none, from ? none : one);
    put_side(e, "s2", from ? e->common : none, from ? none : e->common);
    snprintf(args, sizeof args,
             "\"fn\":\"intersect\",\"input\":{\"$ref\":\"s1.rows\"},\"field\":\"%s\",\"other\":{\"$ref\":"
             "\"s2.rows\"}",
             from ? "dst" : "src");
    put_compute(e, "s3", "\"s1\",\"s2\"", args);
    e->kind = "entity_set";
    snprintf(e->from, sizeof e->from, "s3.rows");
    mk_buf_printf(&e->said, "Which nodes are %s of events both %s %.*s and %.*s",
                  from ? "targets" : "sources", from ? "from" : "to", MK_STR_ARG(one), MK_STR_ARG(e->common));
    if (e->cmp != NULL)
        mk_buf_printf(&e->said, ", %.*s %s %lld", MK_STR_ARG(e->q->prop), e->cmp, (long long)e->value);
    mk_off__say_times(e->q, &e->said);
}

static void write_what(events *e)
{
    const mk_off *q = e->q;
    char groups[80], aggregate[200], column[100];
    snprintf(groups, sizeof groups, "{\"dim\":\"endpoint\",\"role\":\"%s\"}", word(e->who));
    switch (e->what) {
    case A_PARTNERS:
    case A_COUNT_PARTNERS: write_partners(e); return;
    case A_BOTH_WAYS: write_both_ways(e); return;
    case A_COMMON: write_common(e); return;
    case A_COUNT:
        mk_buf_z(&e->said, "How many events");
        write_number(e, "{\"agg\":\"count\"}", "count", "count");
        break;
    case A_DID:
        mk_buf_z(&e->said, "Whether there was an event");
        write_number(e, "{\"agg\":\"count\"}", "count", "value");
        mk_buf_printf(&e->steps,
                      ",{\"id\":\"s4\",\"op\":\"compute\",\"depends_on\":[\"%.2s\"],\"args\":{\"fn\":"
                      "\"compare\",\"cmp\":\"gt\","
                      "\"x\":{\"$ref\":\"%s\"},\"y\":0}}",
                      e->from, e->from);
        snprintf(e->from, sizeof e->from, "s4.value");
        break;
    case A_MEAN:
        mk_buf_printf(&e->said, "The mean %.*s of events", MK_STR_ARG(q->prop));
        snprintf(aggregate, sizeof aggregate, "{\"agg\":\"mean\",\"of\":\"prop\",\"prop\":\"%.*s\"}",
                 (int)(q->prop.n > 60 ? 60 : q->prop.n), q->prop.p);
        snprintf(column, sizeof column, "mean_prop_%.*s", MK_STR_ARG(q->prop));
        write_number(e, aggregate, column, "value");
        break;
    case A_VALUE:
        mk_buf_printf(&e->said, "The %.*s of the event", MK_STR_ARG(q->prop));
        snprintf(aggregate, sizeof aggregate, "{\"agg\":\"max\",\"of\":\"prop\",\"prop\":\"%.*s\"}",
                 (int)(q->prop.n > 60 ? 60 : q->prop.n), q->prop.p);
        snprintf(column, sizeof column, "max_prop_%.*s", MK_STR_ARG(q->prop));
        write_number(e, aggregate, column, "value");
        break;
    case A_ONCE:
    case A_WHEN:
        mk_buf_printf(&e->said, "When the %s event was",
                      e->what == A_ONCE ? "only"
                      : e->last         ? "last"
                                        : "first");
        snprintf(aggregate, sizeof aggregate, "{\"agg\":\"%s\",\"of\":\"vt_s\"}", e->last ? "max" : "min");
        write_number(e, aggregate, e->last ? "max_vt_s" : "min_vt_s", "value");
        break;
    case A_COUNT_ENTITIES:
        mk_buf_printf(&e->said, "How many different nodes are %s of events",
                      e->who == R_SRC ? "sources" : "targets");
        put_groups(e, groups, "{\"agg\":\"count\"}");
        close_first(e);
        e->kind = "count";
        snprintf(e->from, sizeof e->from, "s1.rows_total");
        break;
    case A_ENTITIES:
        mk_buf_printf(&e->said, "Which nodes are %s of events", e->who == R_SRC ? "sources" : "targets");
        put_groups(e, groups, "{\"agg\":\"count\"}");
        close_first(e);
        e->kind = "entity_set";
        snprintf(e->from, sizeof e->from, "s1.rows[*].%s", word(e->who));
        break;
    case A_TOP:
        if (e->top == 1)
            mk_buf_printf(&e->said, "Which node is the %s of ", e->who == R_SRC ? "source" : "target");
        else
            mk_buf_printf(&e->said, "Which %lld nodes are the %s of ", (long long)e->top,
                          e->who == R_SRC ? "sources" : "targets");
        mk_buf_z(&e->said, !e->by_distinct   ? "the most events"
                           : e->who == R_SRC ? "events to the most different targets"
                                             : "events from the most different sources");
        snprintf(aggregate, sizeof aggregate,
                 e->by_distinct ? "{\"agg\":\"count_distinct\",\"of\":\"%s\"}" : "{\"agg\":\"count\"}",
                 word(other(e->who)));
        snprintf(column, sizeof column, e->by_distinct ? "distinct_%s" : "count", word(other(e->who)));
        write_ranking(e, groups, aggregate, column, e->who == R_SRC ? "[*].src" : "[*].dst");
        e->kind = "entity_set";
        break;
    case A_BUCKET:
        mk_buf_printf(&e->said, "Which %s of the calendar (UTC) has the most events", e->period);
        snprintf(groups, sizeof groups, "{\"dim\":\"calendar_period\",\"unit\":\"%s\"}", e->period);
        write_ranking(e, groups, "{\"agg\":\"count\"}", "count", "[0]");
        e->kind = "interval";
        break;
    case A_TYPE:
        mk_buf_z(&e->said, "Which type of event is the most frequent");
        write_ranking(e, "{\"dim\":\"rel_type\"}", "{\"agg\":\"count\"}", "count", "[0].rel_type");
        e->kind = "value";
        break;
    case A_NONE: break;
    }
    say_filters(e);
}

/* ---- what has to be so for the answer to be the answer ---- */

static mk_code aggregate_now(events *e, const char *groups, mk_arena *scratch, const mk_json **rows)
{
    mk_buf args;
    mk_code rc;
    mk_buf_init(&args, e->q->arena->alloc);
    mk_buf_printf(&args, "{\"group_by\":[%s],\"aggregates\":[{\"agg\":\"count\"}]", groups);
    put_filters(e, &args);
    mk_buf_c(&args, '}');
    MK_TRY(rc, mk_buf_done(&args, e->q->err));
    rc = mk_off__aggregate(e->q, mk_buf_view(&args), scratch, rows);
out:
    mk_buf_free(&args);
    return rc;
}

/* Whether the ranking is cut between equals; then nobody can say which of them is meant. */
static mk_code is_tied(events *e, bool *tied)
{
    mk_off *q = e->q;
    const mk_json *rows;
    mk_arena scratch;
    mk_code rc;
    *tied = false;
    mk_arena_init(&scratch, q->arena->alloc);
    MK_TRY(rc,
           mk_off__aggregate(q, mk_buf_view(&e->args), &scratch, &rows)); /* NULL: the plan will say why */
    const int64_t k = e->what == A_TOP ? e->top : 1;
    int64_t above = 0, equal = 0, cut = INT64_MIN;
    for (int64_t i = 0; i < k; i++) { /* the k-th largest number, by k passes: k is small */
        int64_t best = INT64_MIN, at_best = 0;
        for (size_t r = 0; rows != NULL && r < rows->n; r++)
            for (size_t m = 0; m < rows->items[r].n; m++) {
                const mk_member *member = &rows->items[r].members[m];
                const bool number = mk_str_eq(member->key, MK_STR("count")) ||
                                    mk_str_starts(member->key, MK_STR("distinct_"));
                if (!number || member->value.kind != MK_JSON_INT || (i > 0 && member->value.i >= cut))
                    continue;
                at_best = member->value.i == best ? at_best + 1 : member->value.i > best ? 1 : at_best;
                best = member->value.i > best ? member->value.i : best;
            }
        if (best == INT64_MIN)
            break;
        above += equal;
        equal = at_best;
        cut = best;
        if (above + equal >= k)
            break;
    }
    *tied = above + equal > k;
out:
    mk_arena_free(&scratch);
    return rc;
}

/* "files" are asked for: then everything that is found must be a File. A label said of the other end must
 * hold there. */
static mk_code labels_agree(events *e, bool *agree)
{
    const mk_off *q = e->q;
    const mk_json *rows;
    mk_arena scratch;
    char groups[80];
    mk_code rc = MK_OK;
    *agree = true;
    if (e->what != A_ENTITIES && e->what != A_COUNT_ENTITIES && e->what != A_TOP)
        return MK_OK;
    mk_arena_init(&scratch, q->arena->alloc);
    for (size_t k = 0; k < q->label_count; k++) {
        const role r = q->label_tokens[k] == e->noun ? e->who : other(e->who);
        snprintf(groups, sizeof groups, "{\"dim\":\"label\",\"role\":\"%s\"}", word(r));
        MK_TRY(rc, aggregate_now(e, groups, &scratch, &rows));
        *agree &= rows != NULL;
        for (size_t i = 0; rows != NULL && i < rows->n; i++) {
            const mk_json *label = mk_json_get(&rows->items[i], r == R_SRC ? "src_label" : "dst_label");
            /* null: what was deleted with the event has no label any more */
            *agree &= label != NULL && (label->kind == MK_JSON_NULL || mk_str_eq(label->text, q->labels[k]));
        }
    }
out:
    mk_arena_free(&scratch);
    return rc;
}

/* "When was X added" and "what rating did A give B" suppose one event. */
static mk_code happened_once(events *e, bool *once)
{
    const mk_json *rows;
    mk_arena scratch;
    int64_t count = 0;
    mk_code rc;
    *once = true;
    if (e->what != A_ONCE && e->what != A_VALUE)
        return MK_OK;
    const bool both = e->src.n != 0 && e->dst.n != 0;
    mk_arena_init(&scratch, e->q->arena->alloc);
    MK_TRY(rc, aggregate_now(e, both ? "{\"dim\":\"endpoint\",\"role\":\"dst\"}" : "", &scratch, &rows));
    for (size_t i = 0; rows != NULL && i < rows->n; i++) {
        const mk_json *dst = mk_json_get(&rows->items[i], "dst"), *n = mk_json_get(&rows->items[i], "count");
        if (n != NULL && (!both || (dst != NULL && mk_str_eq(dst->text, e->dst))))
            count += n->i;
    }
    *once = count == 1;
out:
    mk_arena_free(&scratch);
    return rc;
}

/* ---- reading ---- */

static bool read_question(events *e)
{
    const mk_off *q = e->q;
    const uint64_t bits = mk_off__concepts(q);
    const uint64_t known = MK_C(C_STOP) | MK_C(C_COUNT) | MK_C(C_WHICH) | MK_C(C_WHO) | MK_C(C_WHEN) |
                           MK_C(C_DID) | MK_C(C_NODE) | MK_C(C_EVENT) | MK_C(C_SEND) | MK_C(C_RECEIVE) |
                           MK_C(C_MOST) | MK_C(C_DISTINCT) | MK_C(C_AVERAGE) | MK_C(C_POSITIVE) |
                           MK_C(C_NEGATIVE) | MK_C(C_VALUE) | MK_C(C_NUMBER) | MK_C(C_FIRST) | MK_C(C_LAST) |
                           MK_C(C_EVER) | MK_C(C_INVOLVED) | MK_C(C_OTHER) | MK_C(C_TYPE) | MK_C(C_PERIOD) |
                           MK_C(C_TIME) | MK_C(C_NOW) | MK_C(C_EXIST) | MK_C(C_TOTAL) | MK_C(C_BELIEF) |
                           MK_C(C_NEIGHBOUR) | MK_C(C_NEW);
    if ((bits & ~known) != 0 || q->instant_count != 0 || q->length_count != 0 || q->name_count > 2 ||
        q->rel_count > 1)
        return false;
    if (q->name_count == 2 && mk_str_eq(q->names[0].uid, q->names[1].uid))
        return false; /* two statements about one, and one plan says one thing */
    if ((bits & (MK_C(C_EVENT) | MK_C(C_SEND) | MK_C(C_RECEIVE))) == 0 && q->rel_count == 0)
        return false;
    if ((bits & MK_C(C_PERIOD)) != 0 && (bits & MK_C(C_MOST)) == 0)
        return false;
    find_verb(e);
    if ((bits & MK_C(C_BELIEF)) != 0 && (bits & MK_C(C_NOW)) == 0 && !q->has_belief)
        return false;
    if ((bits & (MK_C(C_NEIGHBOUR) | MK_C(C_NEW))) != 0 && e->verb < q->count)
        return false; /* "appear together with" is the whole statement */
    if (has_second_verb(e) || !place_names(e) || !find_asked(e, bits) || !find_value_filter(e, bits))
        return false;
    /* Counting events between two named ends needs to know which is which; so does every list. */
    if ((bits & (MK_C(C_NEIGHBOUR) | MK_C(C_NEW))) != 0 && !e->with)
        return false;
    if (q->either_role && !e->either && !e->with && !e->between)
        return false;
    if (e->either && e->what != A_COUNT && e->what != A_BUCKET && e->what != A_TYPE)
        return false;
    return !(e->what == A_BUCKET && e->src.n != 0 && e->dst.n != 0);
}

mk_code mk_off__events(mk_off *q, bool *planned)
{
    events e = {.q = q, .kind = "text"};
    bool tied = false, agree = true, once = true;
    mk_code rc = MK_OK;
    *planned = false;
    mk_buf_init(&e.args, q->arena->alloc);
    mk_buf_init(&e.steps, q->arena->alloc);
    mk_buf_init(&e.said, q->arena->alloc);
    if (!read_question(&e))
        goto out;
    MK_TRY(rc, labels_agree(&e, &agree));
    MK_TRY(rc, happened_once(&e, &once));
    if (!agree || !once) {
        MK_TRY(
            rc,
            mk_off__missing(
                q, agree ? "one event: there is none, or there are several; ask for the first, or name a time"
                         : "what is asked for: these events have other kinds of node at that end"));
        goto out;
    }
    write_what(&e);
    if (e.what == A_TOP || e.what == A_BUCKET || e.what == A_TYPE)
        MK_TRY(rc, is_tied(&e, &tied));
    if (tied) {
        MK_TRY(rc, mk_off__missing(q, "a unique answer: several are equal at the cut of the ranking"));
        goto out;
    }
    MK_TRY(rc, mk_off__plan(q, &e.steps, e.kind, e.from, &e.said));
    *planned = true;
out:
    mk_buf_free(&e.args);
    mk_buf_free(&e.steps);
    mk_buf_free(&e.said);
    return rc;
}

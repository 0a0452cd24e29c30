/* offline_frames.c — the questions that one operator, or a short chain, answers. See offline_internal.h.
 * Layer: agent.
 *
 * A frame lists what must be said, what of some things, and what may be said besides; a question whose
 * meaning words go beyond that is not this question. Frames are tried from the most to the least particular,
 * and who did what to whom comes last. Source: agent spec, 18.9, 16 (families of tasks). */
#include "agent/offline_internal.h"

#include <stdio.h>

#define MUTE (MK_C(C_STOP) | MK_C(C_EVER) | MK_C(C_WHICH) | MK_C(C_TIME))
#define VALUE_FN(name)                                                                                       \
    static mk_code name(mk_off *q, mk_buf *steps, mk_buf *said, const char **kind, const char **from)

/* ---- names ---- */

/* Names with one uid are one name. */
static size_t distinct_names(const mk_off *q, size_t list[MK_OFF_NAMES_MAX])
{
    size_t n = 0;
    for (size_t i = 0; i < q->name_count; i++) {
        bool seen = false;
        for (size_t k = 0; k < n; k++)
            seen |= mk_str_eq(q->names[list[k]].uid, q->names[i].uid);
        if (!seen)
            list[n++] = i;
    }
    return n;
}

static void put_uid(mk_buf *out, mk_str uid) { mk_canon_string(out, uid); }

/* ---- versions and beliefs ---- */

static void put_history(const mk_off *q, mk_buf *out, const char *step, const char *uid_json)
{
    mk_buf_printf(out, "{\"id\":\"%s\",\"op\":\"entity_history\",\"args\":{\"uid\":%s", step, uid_json);
    if (q->has_belief)
        mk_buf_printf(out, ",\"as_of_tt\":%lld", (long long)q->belief);
    mk_buf_c(out, '}');
}

static void say_belief(const mk_off *q, mk_buf *said)
{
    if (!q->has_belief) {
        mk_buf_z(said, ", as believed now");
        return;
    }
    mk_buf_z(said, ", as believed at ");
    mk_off__put_time(said, q->belief);
    mk_buf_printf(said, " (%lld)", (long long)q->belief);
}

VALUE_FN(versions)
{
    mk_buf uid;
    mk_buf_init(&uid, q->arena->alloc);
    put_uid(&uid, q->names[0].uid);
    mk_buf_c(&uid, '\0');
    if (!uid.failed)
        put_history(q, steps, "s1", uid.p);
    mk_buf_c(steps, '}');
    mk_buf_printf(said, "How many versions %.*s has", MK_STR_ARG(q->names[0].uid));
    say_belief(q, said);
    *kind = "count";
    *from = "s1.rows_total";
    steps->failed |= uid.failed;
    mk_buf_free(&uid);
    return MK_OK;
}

/* ---- reaching ---- */

static void put_reach(const mk_off *q, mk_buf *out, mk_str src)
{
    mk_buf_z(out, "{\"id\":\"s1\",\"op\":\"temporal_reachability\",\"args\":{\"src\":");
    put_uid(out, src);
    mk_off__put_window(q, out);
    mk_buf_z(out, "}}");
}

VALUE_FN(reach_count)
{
    put_reach(q, steps, q->names[0].uid);
    mk_buf_printf(said, "How many other nodes can be reached from %.*s in the order of time",
                  MK_STR_ARG(q->names[0].uid));
    mk_off__say_times(q, said);
    *kind = "count";
    *from = "s1.rows_total";
    return MK_OK;
}

/* "Who could have reached X": the same against the direction of time. */
VALUE_FN(reach_back)
{
    mk_buf_z(steps, "{\"id\":\"s1\",\"op\":\"temporal_reachability_to\",\"args\":{\"dst\":");
    put_uid(steps, q->names[0].uid);
    mk_off__put_window(q, steps);
    mk_buf_z(steps, "}}");
    const bool counts = (mk_off__concepts(q) & MK_C(C_COUNT)) != 0;
    mk_buf_printf(said, "%s could have reached %.*s in the order of time",
                  counts ? "How many other nodes" : "Which other nodes", MK_STR_ARG(q->names[0].uid));
    mk_off__say_times(q, said);
    *kind = counts ? "count" : "entity_set";
    *from = counts ? "s1.rows_total" : "s1.rows[*].uid";
    return MK_OK;
}

VALUE_FN(reach_list)
{
    put_reach(q, steps, q->names[0].uid);
    mk_buf_printf(said, "Which other nodes can be reached from %.*s in the order of time",
                  MK_STR_ARG(q->names[0].uid));
    mk_off__say_times(q, said);
    *kind = "entity_set";
    *from = "s1.rows[*].uid";
    return MK_OK;
}

VALUE_FN(first_reached)
{
    put_reach(q, steps, q->names[0].uid);
    mk_buf_printf(said, "Which other node is reached first from %.*s in the order of time",
                  MK_STR_ARG(q->names[0].uid));
    mk_off__say_times(q, said);
    *kind = "value";
    *from = "s1.rows[0].uid";
    return MK_OK;
}

VALUE_FN(first_reached_versions)
{
    put_reach(q, steps, q->names[0].uid);
    mk_buf_c(steps, ',');
    put_history(q, steps, "s2", "{\"$ref\":\"s1.rows[0].uid\"}");
    mk_buf_z(steps, ",\"depends_on\":[\"s1\"]}");
    mk_buf_printf(said, "How many versions the node has that is reached first from %.*s in the order of time",
                  MK_STR_ARG(q->names[0].uid));
    mk_off__say_times(q, said);
    *kind = "count";
    *from = "s2.rows_total";
    return MK_OK;
}

/* The one to start from has "from" before it; with "X reach Y" it is X. SIZE_MAX: not said. */
static size_t start_name(const mk_off *q, const size_t *list)
{
    size_t found = SIZE_MAX;
    for (size_t i = 0; i < 2; i++) {
        size_t first = q->names[list[i]].first;
        while (first > 0 && mk_off__is_any(&q->tokens[first - 1], "the node account user entity at"))
            first--;
        if (first > 0 && mk_off__is(&q->tokens[first - 1], "from"))
            found = found == SIZE_MAX ? i : SIZE_MAX - 1;
    }
    if (found < 2)
        return list[found];
    for (size_t i = 0; i < q->count && found == SIZE_MAX; i++)
        if (mk_off__is_any(&q->tokens[i], "reach reaches") &&
            (i == 0 || !mk_off__is_any(&q->tokens[i - 1], "be been")))
            return q->names[list[0]].first < i && q->names[list[1]].first > i ? list[0] : SIZE_MAX;
    return SIZE_MAX;
}

VALUE_FN(arrival)
{
    size_t list[MK_OFF_NAMES_MAX];
    (void)distinct_names(q, list);
    const size_t start = start_name(q, list);
    if (start == SIZE_MAX)
        return mk_off__missing(q, "which of the two to start from: say \"from %.*s\" or \"from %.*s\"",
                               MK_STR_ARG(q->names[list[0]].uid), MK_STR_ARG(q->names[list[1]].uid));
    const mk_str a = q->names[start].uid, b = q->names[start == list[0] ? list[1] : list[0]].uid;
    put_reach(q, steps, a);
    mk_buf_z(steps, ",{\"id\":\"s2\",\"op\":\"compute\",\"depends_on\":[\"s1\"],\"args\":{\"fn\":\"filter\","
                    "\"input\":{\"$ref\":\"s1.rows\"},"
                    "\"field\":\"uid\",\"cmp\":\"eq\",\"value\":");
    put_uid(steps, b);
    mk_buf_z(steps, "}}");
    mk_buf_printf(said, "When %.*s is first reached from %.*s in the order of time", MK_STR_ARG(b),
                  MK_STR_ARG(a));
    mk_off__say_times(q, said);
    *kind = "value";
    *from = "s2.rows[0].earliest_arrival";
    return MK_OK;
}

/* ---- lengths that were rounded ---- */

/* "5.2-day buckets" over a window are so many equal parts of it when exactly one number of parts rounds
 * to 5.2 days. */
static int64_t part_of(const mk_length *l, int64_t whole, int64_t *parts)
{
    *parts = 0;
    if (!l->rounded || whole <= 0)
        return l->us;
    char shown[32], made[32];
    snprintf(shown, sizeof shown, "%.1f", (double)l->us / (double)l->unit_us);
    for (int64_t n = whole / l->us > 3 ? whole / l->us - 2 : 1; n <= whole / l->us + 2; n++) {
        snprintf(made, sizeof made, "%.1f", (double)(whole / n) / (double)l->unit_us);
        if (strcmp(shown, made) != 0)
            continue;
        if (*parts != 0) { /* two numbers of parts fit: then the length means what it says */
            *parts = 0;
            return l->us;
        }
        *parts = n;
    }
    return *parts != 0 ? whole / *parts : l->us;
}

static int64_t stride_of(const mk_off *q, mk_buf *said)
{
    int64_t parts;
    const int64_t whole = q->has_window ? q->t_b - q->t_a : 0;
    const int64_t stride = part_of(&q->lengths[0], whole, &parts);
    if (parts != 0)
        mk_buf_printf(said, "%lld equal parts of %lld us", (long long)parts, (long long)stride);
    else
        mk_buf_printf(said, "parts of %lld us", (long long)stride);
    return stride;
}

/* ---- bursts and series ---- */

/* "threshold 3, window 10": the numbers that are given, defaults otherwise. */
static bool burst_params(const mk_off *q, int64_t *w, int64_t *z)
{
    *w = 10;
    *z = 3;
    for (size_t i = 0; i < q->number_count; i++) {
        bool known = false;
        for (size_t k = q->number_tokens[i]; k > 0 && k + 4 > q->number_tokens[i] && !known; k--) {
            const mk_token *t = &q->tokens[k - 1];
            known = mk_off__is_any(t, "threshold score z zscore trailing window prior previous");
            if (known && mk_off__is_any(t, "trailing window prior previous"))
                *w = q->numbers[i];
            else if (known)
                *z = q->numbers[i];
        }
        if (!known)
            return false;
    }
    return *w >= 2 && *w <= 500 && *z > 0;
}

static mk_code put_bursts(mk_off *q, mk_buf *steps, mk_buf *said)
{
    int64_t w, z;
    if (!burst_params(q, &w, &z))
        return mk_off__missing(q, "what the number %lld stands for", (long long)q->numbers[0]);
    mk_buf_z(steps, "{\"id\":\"s1\",\"op\":\"burst_detection\",\"args\":{\"target\":");
    if (q->name_count != 0) {
        mk_buf_z(steps, "{\"kind\":\"node_activity\",\"uid\":");
        put_uid(steps, q->names[0].uid);
        mk_buf_c(steps, '}');
    } else {
        mk_buf_z(steps, "{\"kind\":\"edge_event_rate\"}");
    }
    mk_off__put_window(q, steps);
    mk_buf_printf(steps, ",\"params\":{\"w\":%lld,\"z\":%lld},\"stride\":%lld}}", (long long)w, (long long)z,
                  (long long)stride_of(q, said));
    mk_buf_printf(said, "; a burst is a part with a z-score of at least %lld against the %lld before it",
                  (long long)z, (long long)w);
    if (q->name_count != 0)
        mk_buf_printf(said, ", counting events of %.*s", MK_STR_ARG(q->names[0].uid));
    mk_off__say_times(q, said);
    return MK_OK;
}

VALUE_FN(burst_count)
{
    mk_buf_z(said, "How many bursts there are among ");
    *kind = "count";
    *from = "s1.rows_total";
    return put_bursts(q, steps, said);
}

VALUE_FN(first_burst)
{
    mk_buf_z(said, "The first burst among ");
    *kind = "interval";
    *from = "s1.rows[0]";
    return put_bursts(q, steps, said);
}

static void put_series(const mk_off *q, mk_buf *steps, const char *metric, int64_t stride)
{
    mk_buf_printf(
        steps,
        "{\"id\":\"s1\",\"op\":\"graph_metric_timeseries\",\"args\":{\"metric\":\"%s\",\"stride\":%lld",
        metric, (long long)stride);
    mk_off__put_window(q, steps);
    mk_buf_z(steps, "}}");
}

VALUE_FN(peak)
{
    mk_buf_z(said, "Which of ");
    const int64_t stride = stride_of(q, said);
    mk_buf_z(said, " has the most events,");
    mk_off__say_times(q, said);
    put_series(q, steps, "edge_event_count", stride);
    mk_buf_z(steps, ",{\"id\":\"s2\",\"op\":\"compute\",\"depends_on\":[\"s1\"],\"args\":{\"fn\":\"topk\","
                    "\"input\":{\"$ref\":\"s1.rows\"},"
                    "\"field\":\"value\",\"k\":1}}");
    *kind = "interval";
    *from = "s2.rows[0]";
    return MK_OK;
}

static int64_t whole_window(const mk_off *q)
{
    const int64_t lo = q->has_window ? q->t_a : q->vt_min, hi = q->has_window ? q->t_b : q->vt_max;
    return hi > lo ? hi - lo : 1;
}

VALUE_FN(newcomers)
{
    put_series(q, steps, "new_node_rate", whole_window(q));
    mk_buf_z(said, "How many nodes appear for the first time");
    mk_off__say_times(q, said);
    *kind = "value";
    *from = "s1.rows[0].value";
    return MK_OK;
}

VALUE_FN(reciprocity)
{
    put_series(q, steps, "reciprocity", whole_window(q));
    mk_buf_z(said, "Which share of the ordered pairs with an event also has one in the opposite direction");
    mk_off__say_times(q, said);
    *kind = "value";
    *from = "s1.rows[0].value";
    return MK_OK;
}

VALUE_FN(degree)
{
    const int64_t t = q->instants[0].lo;
    mk_buf_z(steps, "{\"id\":\"s1\",\"op\":\"neighborhood_evolution\",\"args\":{\"uid\":");
    put_uid(steps, q->names[0].uid);
    mk_buf_printf(steps, ",\"t1\":%lld,\"t2\":%lld,\"stride\":2}}", (long long)t, (long long)t + 2);
    mk_buf_printf(said, "The degree of %.*s, its edges that are valid at ", MK_STR_ARG(q->names[0].uid));
    mk_off__put_time(said, t);
    *kind = "value";
    *from = "s1.degree_series[0].degree";
    return MK_OK;
}

/* ---- two snapshots ---- */

VALUE_FN(added)
{
    int64_t a = q->instants[0].lo, b = q->instants[1].lo;
    const uint64_t said_bits = mk_off__concepts(q);
    bool removed = (said_bits & MK_C(C_REMOVED)) != 0;
    if ((said_bits & MK_C(C_NOT)) != 0) { /* there at one, not at the other */
        const size_t no = mk_off__find(q, C_NOT);
        const bool first_is_absent = no < q->instants[0].first;
        const int64_t there = first_is_absent ? b : a, absent = first_is_absent ? a : b;
        removed = absent > there;
    }
    if (a > b) {
        const int64_t swap = a;
        a = b;
        b = swap;
    }
    mk_buf_printf(steps, "{\"id\":\"s1\",\"op\":\"diff_snapshots\",\"args\":{\"t1\":%lld,\"t2\":%lld}}",
                  (long long)a, (long long)b);
    mk_buf_printf(said, removed ? "How many nodes are valid at the first time and no longer at the second, "
                                : "How many nodes are valid at the second time and were not at the first, ");
    mk_off__put_time(said, a);
    mk_buf_z(said, " and ");
    mk_off__put_time(said, b);
    *kind = "value";
    *from = removed ? "s1.nodes_removed_total" : "s1.nodes_added_total";
    return MK_OK;
}

/* ---- intervals of one node's edges ---- */

VALUE_FN(pairs_before)
{
    int64_t parts;
    const int64_t gap = part_of(&q->lengths[0], q->has_extent ? q->vt_max - q->vt_min : 0, &parts);
    mk_buf_z(steps, "{\"id\":\"s1\",\"op\":\"co_active\",\"args\":{\"a_spec\":{\"src\":");
    put_uid(steps, q->names[0].uid);
    mk_buf_z(steps, "},\"b_spec\":{\"src\":");
    put_uid(steps, q->names[0].uid);
    mk_buf_printf(steps, "},\"allen_relation\":{\"relation\":\"before\",\"gap\":%lld}}}", (long long)gap);
    mk_buf_printf(said,
                  "How many ordered pairs of edges leaving %.*s there are of which the first ends before the "
                  "second starts, at most "
                  "%lld us apart",
                  MK_STR_ARG(q->names[0].uid), (long long)gap);
    if (parts != 0)
        mk_buf_printf(said, " (a %lldth of the data's extent)", (long long)parts);
    *kind = "count";
    *from = "s1.rows_total";
    return MK_OK;
}

/* ---- who occurs in somebody's edges ---- */

VALUE_FN(partners)
{
    mk_buf_z(steps, "{\"id\":\"s1\",\"op\":\"entity_history\",\"args\":{\"include_edges\":true,\"uid\":");
    put_uid(steps, q->names[0].uid);
    if (q->has_belief)
        mk_buf_printf(steps, ",\"as_of_tt\":%lld", (long long)q->belief);
    mk_buf_printf(steps,
                  "}},{\"id\":\"s2\",\"op\":\"compute\",\"depends_on\":[\"s1\"],\"args\":{\"fn\":\"filter\","
                  "\"input\":{\"$ref\":\"s1.edges\"},"
                  "\"field\":\"vt_s\",\"cmp\":\"ge\",\"value\":%lld}},{\"id\":\"s3\",\"op\":\"compute\","
                  "\"depends_on\":[\"s2\"],\"args\":{"
                  "\"fn\":\"filter\",\"input\":{\"$ref\":\"s2.rows\"},\"field\":\"vt_s\",\"cmp\":\"lt\","
                  "\"value\":%lld}}",
                  (long long)q->t_a, (long long)q->t_b);
    mk_buf_printf(said, "Which nodes, %.*s among them, occur in events of %.*s", MK_STR_ARG(q->names[0].uid),
                  MK_STR_ARG(q->names[0].uid));
    mk_off__say_times(q, said);
    *kind = "entity_set";
    *from = "s3.rows";
    return MK_OK;
}

/* ---- the table ---- */

enum { NO_WINDOW = 0, MAY_WINDOW = 1, NEEDS_WINDOW = 2 };

typedef struct frame {
    const char *name;
    uint64_t need, any, may;
    unsigned char names, instants, lengths; /* exactly; names: distinct ones, 9: none or one */
    unsigned char window;
    bool twice;   /* the name stands there twice */
    bool numbers; /* may hold numbers */
    mk_code (*write)(mk_off *q, mk_buf *steps, mk_buf *said, const char **kind, const char **from);
} frame;

#define B(c) MK_C(C_##c)

static const frame frames[] = {
    {"versions of the node reached first", B(REACH) | B(FIRST) | B(VERSION), 0,
     B(COUNT) | B(NODE) | B(BELIEF) | B(INVOLVED) | B(OTHER) | B(NOW) | B(PATH) | B(EXIST), 1, 0, 0,
     MAY_WINDOW, false, false, first_reached_versions},
    {"number of versions", B(VERSION) | B(COUNT), 0,
     B(BELIEF) | B(NOW) | B(EXIST) | B(BEFORE) | B(CORRECTION) | B(NODE) | B(DISTINCT) | B(RECEIVE), 1, 0, 0,
     NO_WINDOW, false, false, versions},
    {"arrival", B(REACH), B(FIRST) | B(WHEN),
     B(NODE) | B(PATH) | B(START) | B(EVENT) | B(INVOLVED) | B(OTHER), 2, 0, 0, MAY_WINDOW, false, false,
     arrival},
    {"number reached", B(REACH) | B(COUNT), 0,
     B(NODE) | B(PATH) | B(START) | B(EVENT) | B(OTHER) | B(DISTINCT) | B(INVOLVED) | B(SEND), 1, 0, 0,
     MAY_WINDOW, false, false, reach_count},
    {"first reached", B(REACH) | B(FIRST), 0,
     B(NODE) | B(PATH) | B(START) | B(EVENT) | B(OTHER) | B(WHO) | B(INVOLVED) | B(NEW), 1, 0, 0, MAY_WINDOW,
     false, false, first_reached},
    {"all reached", B(REACH), B(NODE) | B(WHO), B(PATH) | B(START) | B(EVENT) | B(OTHER) | B(INVOLVED), 1, 0,
     0, MAY_WINDOW, false, false, reach_list},
    {"number of bursts", B(BURST) | B(COUNT), 0,
     B(BUCKET) | B(EVENT) | B(THRESHOLD) | B(NUMBER) | B(PERIOD) | B(INVOLVED) | B(EXIST) | B(LENGTH), 9, 0,
     1, MAY_WINDOW, false, true, burst_count},
    {"first burst", B(BURST) | B(FIRST), 0,
     B(BUCKET) | B(EVENT) | B(THRESHOLD) | B(NUMBER) | B(PERIOD) | B(INVOLVED) | B(WHEN) | B(SHARE) |
         B(START) | B(DID) | B(LENGTH),
     9, 0, 1, MAY_WINDOW, false, true, first_burst},
    {"busiest part", B(MOST), B(BUCKET) | B(EVENT) | B(PERIOD),
     B(COUNT) | B(LENGTH) | B(INVOLVED) | B(WHEN) | B(TOTAL) | B(EXIST), 0, 0, 1, MAY_WINDOW, false, false,
     peak},
    {"newcomers", B(COUNT), B(NEW) | B(FIRST),
     B(NODE) | B(WHO) | B(EVENT) | B(INVOLVED) | B(EXIST) | B(EVER) | B(DISTINCT), 0, 0, 0, MAY_WINDOW, false,
     false, newcomers},
    {"reciprocity", B(RECIPROCAL), B(EVENT) | B(PAIR) | B(SHARE),
     B(SHARE) | B(SEND) | B(RECEIVE) | B(INVOLVED) | B(PATH) | B(DISTINCT) | B(NODE), 0, 0, 0, MAY_WINDOW,
     false, false, reciprocity},
    {"degree", 0, B(DEGREE) | B(TOUCH), B(COUNT) | B(EVENT) | B(INVOLVED) | B(NODE) | B(EXIST) | B(TOTAL), 1,
     1, 0, NO_WINDOW, false, false, degree},
    {"nodes added or removed", B(NODE), B(ADDED) | B(REMOVED) | B(NOT),
     B(COUNT) | B(EXIST) | B(NEW) | B(INVOLVED) | B(BELIEF) | B(BUT), 0, 2, 0, NO_WINDOW, false, false,
     added},
    {"intervals apart", B(ORDER) | B(EVENT), B(GAP) | B(BEFORE),
     B(COUNT) | B(PAIR) | B(BUCKET) | B(FIRST) | B(START) | B(END) | B(OTHER) | B(PATH) | B(GAP) | B(BEFORE) |
         B(MOST) | B(NODE),
     1, 0, 1, NO_WINDOW, false, false, pairs_before},
    {"all who occur", B(NODE) | B(EVENT), B(WHICH), B(INVOLVED) | B(NEW) | B(NEIGHBOUR) | B(TOUCH) | B(SELF),
     1, 0, 0, NEEDS_WINDOW, true, false, partners},
};

/* "at most" is no superlative, "the whole period" no bucket; "did" inside a sentence is grammar, and at its
 * beginning it asks for yes or no, as "was" and "had" do. */
static void quiet_words(mk_off *q)
{
    for (size_t i = 0; i < q->count; i++) {
        mk_token *t = &q->tokens[i];
        const mk_token *before = i > 0 ? &q->tokens[i - 1] : NULL;
        if (t->used)
            continue;
        if (before != NULL && mk_off__is_any(t, "most least") && mk_off__is(before, "at"))
            t->concept = C_STOP;
            else if (before != NULL && mk_off__is_any(before, "whole entire full complete") &&
                     (t->concept == C_BUCKET || t->concept == C_PERIOD || t->concept == C_TIME ||
                      t->concept == C_VERSION)) t->concept = C_STOP;
            else if (before != NULL && t->concept == C_DID) t->concept = C_STOP;
            else if (before == NULL && mk_off__is(t, "give")) t->concept = C_WHICH;
            else if (before == NULL &&
                     mk_off__is_any(t, "did do does was were is are has have had can could")) t->concept =
                C_DID;
    }
}

static bool fits(const mk_off *q, const frame *f, uint64_t bits, size_t names)
{
    const uint64_t beyond = bits & ~(f->need | f->any | f->may | MUTE);
    if ((bits & f->need) != f->need || (f->any != 0 && (bits & f->any) == 0) || beyond != 0 ||
        q->rel_count != 0)
        return false;
    if (f->names == 9 ? names > 1 : names != f->names)
        return false;
    if (f->twice && q->name_count < 2)
        return false;
    if (q->instant_count != f->instants || q->length_count != f->lengths ||
        (q->number_count != 0 && !f->numbers))
        return false;
    return f->window == MAY_WINDOW || (f->window == NEEDS_WINDOW) == q->has_window;
}

/* What is left when no frame takes the question. */
static mk_code explain(mk_off *q)
{
    mk_code rc = MK_OK;
    mk_buf said;
    mk_buf_init(&said, q->arena->alloc);
    const size_t before = q->out->missing_count;
    for (size_t i = 0; i < q->count && q->out->missing_count < before + 6; i++)
        if (!q->tokens[i].used && q->tokens[i].concept == C_UNKNOWN)
            MK_TRY(rc, mk_off__missing(q, "what \"%.*s\" means here",
                                       (int)(q->tokens[i].text.n > 60 ? 60 : q->tokens[i].text.n),
                                       q->tokens[i].text.p));
    if (q->out->missing_count == before)
        MK_TRY(rc, mk_off__missing(q, "a question of a kind that is known: try one of the examples"));
    for (size_t i = 0; i < q->name_count; i++)
        mk_buf_printf(&said, "%s%.*s", said.n ? ", " : "about ", MK_STR_ARG(q->names[i].uid));
    for (size_t i = 0; i < q->rel_count; i++)
        mk_buf_printf(&said, "%s%.*s", said.n ? ", " : "about ", MK_STR_ARG(q->rels[i]));
    if (q->has_window)
        mk_off__say_times(q, &said);
    MK_TRY(rc, mk_buf_done(&said, q->err));
    q->out->understood = mk_arena_copy(q->arena, mk_buf_view(&said));
    if (q->out->understood.p == NULL)
        rc = mk_fail_nomem(q->err);
out:
    mk_buf_free(&said);
    return rc;
}

static mk_code write_frame(mk_off *q, const frame *f)
{
    const char *kind = "text", *from = "s1";
    const size_t missing = q->out->missing_count;
    mk_buf steps, said;
    mk_code rc;
    mk_buf_init(&steps, q->arena->alloc);
    mk_buf_init(&said, q->arena->alloc);
    MK_TRY(rc, f->write(q, &steps, &said, &kind, &from));
    if (q->out->missing_count == missing)
        rc = mk_off__plan(q, &steps, kind, from, &said);
out:
    mk_buf_free(&steps);
    mk_buf_free(&said);
    return rc;
}

/* A time of which the data know nothing: zero would be no answer. */
static mk_code outside(mk_off *q)
{
    char from[MK_TIME_TEXT_MAX + 1], to[MK_TIME_TEXT_MAX + 1];
    from[mk_time_text(from, q->vt_min)] = '\0';
    to[mk_time_text(to, q->vt_max)] = '\0';
    return mk_off__missing(q, "data of that time: they extend from %s to %s", from, to);
}

/* "Who could have reached X" turns the question round; "who could X have reached" does not. */
static bool is_reach_back(const mk_off *q)
{
    size_t verb = q->count;
    for (size_t i = 0; i < q->count; i++)
        if (!q->tokens[i].used && q->tokens[i].concept == C_REACH)
            verb = i;
    if (verb == q->count || q->name_count != 1 ||
        q->names[0].first != verb + 1 + (verb + 1 < q->count && mk_off__is(&q->tokens[verb + 1], "the")))
        return false;
    for (size_t i = 0; i < verb; i++)
        if (mk_off__is_any(&q->tokens[i], "be been from"))
            return false;
    return mk_off__is_any(&q->tokens[verb], "reach reached reaches infect infected inform informed");
}

mk_code mk_off__frames(mk_off *q)
{
    size_t list[MK_OFF_NAMES_MAX];
    bool planned = false;
    mk_code rc = MK_OK;
    mk_off__remarks(q);
    quiet_words(q);
    const size_t names = distinct_names(q, list);
    const uint64_t bits = mk_off__concepts(q);
    if (q->has_window && q->has_extent && (q->t_b <= q->vt_min || q->t_a >= q->vt_max))
        return outside(q);
    if (q->ambiguous || q->backwards || (bits & MK_C(C_UNKNOWN)) != 0 || (q->has_window && q->t_a >= q->t_b))
        return explain(q);
    static const frame back = {"who reaches",
                               B(REACH),
                               B(NODE) | B(WHO) | B(COUNT),
                               B(PATH) | B(START) | B(EVENT) | B(OTHER) | B(DISTINCT) | B(NODE),
                               1,
                               0,
                               0,
                               MAY_WINDOW,
                               false,
                               false,
                               reach_back};
    if (fits(q, &back, bits, names) && is_reach_back(q))
        return write_frame(q, &back);
    MK_TRY(rc, mk_off__life(q, &planned));
    if (!planned && q->out->missing_count == 0)
        MK_TRY(rc, mk_off__groups(q, &planned));
    if (planned || q->out->missing_count != 0)
        return planned ? rc : explain(q);
    for (size_t i = 0; i < sizeof frames / sizeof *frames; i++)
        if (fits(q, &frames[i], bits, names))
            return write_frame(q, &frames[i]);
    MK_TRY(rc, mk_off__sets(q, &planned));
    if (!planned)
        MK_TRY(rc, mk_off__events(q, &planned));
    if (!planned)
        rc = explain(q);
out:
    return rc;
}

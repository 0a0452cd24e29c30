/* offline_life.c — when things existed, and what was corrected. See offline_internal.h. Layer: agent.
 *
 * A node exists while one of its versions is valid; a life is a run of versions without a gap. A correction is a version
 * that is believed no longer. Source: agent spec, 18.9; store spec (versions). */
#include "agent/offline_internal.h"

#include <stdio.h>

#define B(c) MK_C(C_##c)

typedef struct life {
    mk_off *q;
    mk_buf steps, said;
    const char *kind;
    char from[60];
} life;

/* ---- the versions that there are, to see whether a question has one answer ---- */

typedef struct lives {
    size_t versions, runs;
    int64_t end; /* of the last one */
} lives;

static mk_code lives_of(mk_off *q, mk_str uid, lives *out)
{
    const uint32_t id = mk_view_entity(q->view, uid);
    mk_node_ref *refs;
    int64_t reach = INT64_MIN;
    size_t count;
    mk_code rc;
    *out = (lives){.versions = 0};
    if (id == MK_NO_ID)
        return MK_OK;
    MK_TRY(rc, mk_view_node_refs(q->view, q->arena, id, &refs, &count, q->err));
    for (size_t i = 0; i < count; i++) { /* in the order of vt_s */
        out->runs += i == 0 || refs[i].vt_s > reach;
        reach = refs[i].vt_e > reach ? refs[i].vt_e : reach;
    }
    out->versions = count;
    out->end = reach;
out:
    return rc;
}

/* ---- steps ---- */

static void put_history(life *l, int step, mk_str uid)
{
    mk_buf_printf(&l->steps, "%s{\"id\":\"s%d\",\"op\":\"entity_history\",\"args\":{\"uid\":", step > 1 ? "," : "", step);
    mk_canon_string(&l->steps, uid);
    if (l->q->has_belief)
        mk_buf_printf(&l->steps, ",\"as_of_tt\":%lld", (long long)l->q->belief);
    mk_buf_z(&l->steps, "}}");
}

static void put_compute(life *l, int step, int on, int also, const char *args)
{
    mk_buf_printf(&l->steps, ",{\"id\":\"s%d\",\"op\":\"compute\",\"depends_on\":[\"s%d\"", step, on);
    if (also != 0)
        mk_buf_printf(&l->steps, ",\"s%d\"", also);
    mk_buf_printf(&l->steps, "],\"args\":{%s}}", args);
}

static void say_belief(life *l)
{
    if (!l->q->has_belief) {
        mk_buf_z(&l->said, ", as believed now");
        return;
    }
    mk_buf_z(&l->said, ", as believed at ");
    mk_off__put_time(&l->said, l->q->belief);
}

static mk_code finish(life *l) { return mk_off__plan(l->q, &l->steps, l->kind, l->from, &l->said); }

/* ---- nodes that exist at an instant, of the kind that is named ---- */

static void put_nodes_at(life *l, int step, int64_t t)
{
    const mk_off *q = l->q;
    mk_buf_printf(&l->steps, "%s{\"id\":\"s%d\",\"op\":\"version_history\",\"args\":{\"kind\":\"node\",\"window\":{\"t_a\":%lld,\"t_b\":%lld}",
                  step > 1 ? "," : "", step, (long long)t, (long long)t + 1);
    if (q->has_belief)
        mk_buf_printf(&l->steps, ",\"as_of_tt\":%lld", (long long)q->belief);
    mk_buf_z(&l->steps, "}}");
    if (q->label_count == 0)
        return;
    mk_buf_printf(&l->steps, ",{\"id\":\"s%d\",\"op\":\"compute\",\"depends_on\":[\"s%d\"],\"args\":{\"fn\":\"filter\",\"input\":{\"$ref\":\"s%d.rows\"},"
                  "\"field\":\"label\",\"cmp\":\"eq\",\"value\":", step + 1, step, step);
    mk_canon_string(&l->steps, q->labels[0]);
    mk_buf_z(&l->steps, "}}");
}

static mk_code nodes_at(life *l, bool counts)
{
    const mk_off *q = l->q;
    put_nodes_at(l, 1, q->instants[0].lo);
    const int last = q->label_count != 0 ? 2 : 1;
    mk_buf_printf(&l->said, "%s of kind %.*s exist%s ", counts ? "How many nodes" : "Which nodes", MK_STR_ARG(q->label_count ? q->labels[0] : MK_STR("any")),
                  " at");
    mk_off__put_time(&l->said, q->instants[0].lo);
    say_belief(l);
    l->kind = counts ? "count" : "entity_set";
    snprintf(l->from, sizeof l->from, counts ? "s%d.rows_total" : "s%d.rows[*].uid", last);
    return finish(l);
}

/* Those that are there at one of two instants, and not at the other. */
static mk_code nodes_between(life *l, bool counts, bool removed)
{
    const mk_off *q = l->q;
    int64_t a = q->instants[0].lo, b = q->instants[1].lo;
    char args[160];
    if (a > b) {
        const int64_t swap = a;
        a = b;
        b = swap;
    }
    const int wide = q->label_count != 0 ? 2 : 1, first = wide, second = 2 * wide;
    put_nodes_at(l, 1, a);
    put_nodes_at(l, wide + 1, b);
    snprintf(args, sizeof args, "\"fn\":\"difference\",\"field\":\"uid\",\"input\":{\"$ref\":\"s%d.rows\"},\"other\":{\"$ref\":\"s%d.rows\"}",
             removed ? first : second, removed ? second : first);
    put_compute(l, second + 1, first, second, args);
    mk_buf_printf(&l->said, "%s of kind %.*s exist at the %s and not at the %s of ", counts ? "How many nodes" : "Which nodes",
                  MK_STR_ARG(q->label_count ? q->labels[0] : MK_STR("any")), removed ? "first" : "second", removed ? "second" : "first");
    mk_off__put_time(&l->said, a);
    mk_buf_z(&l->said, " and ");
    mk_off__put_time(&l->said, b);
    say_belief(l);
    l->kind = counts ? "count" : "entity_set";
    snprintf(l->from, sizeof l->from, counts ? "s%d.rows_total" : "s%d.rows", second + 1);
    return finish(l);
}

/* ---- one node's life ---- */

static mk_code one_life(life *l, bool *planned)
{
    mk_off *q = l->q;
    lives found;
    mk_code rc;
    MK_TRY(rc, lives_of(q, q->names[0].uid, &found));
    if (found.versions != 1)
        return mk_off__missing(q, "one stretch of time: %.*s has %zu versions; ask for its history", MK_STR_ARG(q->names[0].uid), found.versions);
    put_history(l, 1, q->names[0].uid);
    put_compute(l, 2, 1, 0, "\"fn\":\"derive\",\"input\":{\"$ref\":\"s1.rows\"},\"field\":\"vt_s\",\"op\":\"add\",\"value\":0,\"into\":\"t_a\"");
    put_compute(l, 3, 2, 0, "\"fn\":\"derive\",\"input\":{\"$ref\":\"s2.rows\"},\"field\":\"vt_e\",\"op\":\"add\",\"value\":0,\"into\":\"t_b\"");
    mk_buf_printf(&l->said, "From when until when %.*s exists", MK_STR_ARG(q->names[0].uid));
    say_belief(l);
    l->kind = "interval";
    snprintf(l->from, sizeof l->from, "s3.rows[0]");
    *planned = true;
    rc = finish(l);
out:
    return rc;
}

static mk_code number_of_lives(life *l, bool *planned)
{
    mk_off *q = l->q;
    lives found;
    mk_code rc;
    MK_TRY(rc, lives_of(q, q->names[0].uid, &found));
    if (found.runs != found.versions || found.versions == 0)
        return mk_off__missing(q, "lives that are one version each: %.*s has %zu versions in %zu lives", MK_STR_ARG(q->names[0].uid), found.versions, found.runs);
    put_history(l, 1, q->names[0].uid);
    mk_buf_printf(&l->said, "How many separate stretches of time %.*s exists", MK_STR_ARG(q->names[0].uid));
    say_belief(l);
    l->kind = "count";
    snprintf(l->from, sizeof l->from, "s1.rows_total");
    *planned = true;
    rc = finish(l);
out:
    return rc;
}

/* "Was X there when Y was removed": the versions of X at the end, or the start, of Y's only one. */
static mk_code there_when(life *l, bool removed, bool *planned)
{
    mk_off *q = l->q;
    lives found;
    char args[160];
    mk_code rc;
    MK_TRY(rc, lives_of(q, q->names[1].uid, &found));
    if (found.versions != 1 || (removed && found.end >= MK_OPEN_END))
        return mk_off__missing(q, "one moment: %.*s has %zu versions%s", MK_STR_ARG(q->names[1].uid), found.versions, removed ? ", or was never removed" : "");
    put_history(l, 1, q->names[1].uid);
    put_history(l, 2, q->names[0].uid);
    for (int i = 0; i < 2; i++) {
        snprintf(args, sizeof args, "\"fn\":\"filter\",\"input\":{\"$ref\":\"s%d.rows\"},\"field\":\"%s\",\"cmp\":\"%s\",\"value\":{\"$ref\":\"s1.rows[0].%s\"}",
                 i + 2, i ? "vt_e" : "vt_s", i ? "gt" : "le", removed ? "vt_e" : "vt_s");
        put_compute(l, i + 3, i + 2, 1, args);
    }
    put_compute(l, 5, 4, 0, "\"fn\":\"compare\",\"cmp\":\"gt\",\"x\":{\"$ref\":\"s4.rows_total\"},\"y\":0");
    mk_buf_printf(&l->said, "Whether %.*s exists at the moment when %.*s %s", MK_STR_ARG(q->names[0].uid), MK_STR_ARG(q->names[1].uid), removed ? "ends" : "begins");
    say_belief(l);
    l->kind = "value";
    snprintf(l->from, sizeof l->from, "s5.value");
    *planned = true;
    rc = finish(l);
out:
    return rc;
}

/* ---- corrections ---- */

/* The verb between two names says who is source; -1: it does not. */
static int source_name(const mk_off *q)
{
    int found = -1;
    for (size_t i = q->names[0].last + 1; i < q->names[1].first; i++) {
        const mk_token *t = &q->tokens[i];
        if (t->used || found >= 0)
            return t->used ? -1 : found;
        if (t->concept == C_SEND || mk_off__is_event_verb(t))
            found = 0;
        else if (t->concept == C_RECEIVE)
            found = 1;
    }
    return found;
}

static void put_superseded(life *l, int step, const char *kind)
{
    const mk_off *q = l->q;
    mk_buf_printf(&l->steps, "%s{\"id\":\"s%d\",\"op\":\"version_history\",\"args\":{\"belief\":\"superseded\",\"kind\":\"%s\"", step > 1 ? "," : "", step, kind);
    mk_off__put_window(q, &l->steps);
    mk_buf_z(&l->steps, "}}");
}

static mk_code corrections(life *l, bool counts, bool *planned)
{
    mk_off *q = l->q;
    const int source = q->name_count == 2 ? source_name(q) : 0;
    if (source < 0)
        return MK_OK;
    put_superseded(l, 1, "edge");
    int last = 1;
    for (int i = 0; i < 2 && q->name_count == 2; i++) {
        mk_buf_printf(&l->steps, ",{\"id\":\"s%d\",\"op\":\"compute\",\"depends_on\":[\"s%d\"],\"args\":{\"fn\":\"filter\",\"input\":{\"$ref\":\"s%d.rows\"},"
                      "\"field\":\"%s\",\"cmp\":\"eq\",\"value\":", last + 1, last, last, i ? "dst" : "src");
        mk_canon_string(&l->steps, q->names[i == 0 ? source : 1 - source].uid);
        mk_buf_z(&l->steps, "}}");
        last++;
    }
    mk_buf_printf(&l->said, "%s of events", counts ? "How many versions" : "Whether there are versions");
    if (q->name_count == 2)
        mk_buf_printf(&l->said, " from %.*s to %.*s", MK_STR_ARG(q->names[source].uid), MK_STR_ARG(q->names[1 - source].uid));
    mk_buf_z(&l->said, " that were believed once and are not any more");
    mk_off__say_times(q, &l->said);
    l->kind = counts ? "count" : "value";
    snprintf(l->from, sizeof l->from, "s%d.rows_total", last);
    if (!counts) {
        char args[100];
        snprintf(args, sizeof args, "\"fn\":\"compare\",\"cmp\":\"gt\",\"x\":{\"$ref\":\"s%d.rows_total\"},\"y\":0", last);
        put_compute(l, last + 1, last, 0, args);
        snprintf(l->from, sizeof l->from, "s%d.value", last + 1);
    }
    *planned = true;
    return finish(l);
}

/* ---- reading ---- */

static bool says(const mk_off *q, const char *words)
{
    for (size_t i = 0; i < q->count; i++)
        if (!q->tokens[i].used && mk_off__is_any(&q->tokens[i], words))
            return true;
    return false;
}

static mk_code read_question(life *l, bool *planned)
{
    mk_off *q = l->q;
    const uint64_t bits = mk_off__concepts(q), quiet = B(STOP) | B(EVER) | B(WHICH) | B(TIME) | (q->has_belief ? B(BELIEF) | B(NOW) : 0);
    const uint64_t rest = bits & ~quiet;
    const bool counts = (bits & B(COUNT)) != 0, asks = counts || (bits & B(WHICH)) != 0, there = (bits & B(EXIST)) != 0 || says(q, "there");
    const bool yes = q->tokens[0].concept == C_DID;
    const bool no_more = q->length_count == 0 && q->number_count == 0;
    if (!no_more)
        return MK_OK;
    if ((bits & B(CORRECTED)) != 0 && q->instant_count == 0 && q->rel_count == 0 && (q->name_count == 0 || q->name_count == 2) && (counts || yes) &&
        (rest & ~(B(CORRECTED) | B(COUNT) | B(DID) | B(EVENT) | B(SEND) | B(RECEIVE) | B(BELIEF) | B(VALUE) | B(EXIST))) == 0 && (bits & B(EVENT)) != 0)
        return corrections(l, counts, planned);
    if (q->has_window)
        return MK_OK;
    if (q->label_count == 1 && q->name_count == 0 && q->rel_count == 0 && asks && there && q->instant_count == 1 &&
        (rest & ~(B(COUNT) | B(NODE) | B(EXIST) | B(DISTINCT))) == 0) {
        *planned = true;
        return nodes_at(l, counts);
    }
    if (q->label_count == 1 && q->name_count == 0 && q->rel_count == 0 && asks && there && q->instant_count == 2 && (bits & B(NOT)) != 0 &&
        (rest & ~(B(COUNT) | B(NODE) | B(EXIST) | B(DISTINCT) | B(NOT) | B(BUT) | B(LENGTH))) == 0) {
        const bool first_is_absent = mk_off__find(q, C_NOT) < q->instants[0].first;
        const int64_t t_there = first_is_absent ? q->instants[1].lo : q->instants[0].lo, absent = first_is_absent ? q->instants[0].lo : q->instants[1].lo;
        *planned = true;
        return nodes_between(l, counts, absent > t_there);
    }
    if (q->instant_count != 0 || q->rel_count > 1)
        return MK_OK;
    if (q->name_count == 1 && q->rel_count == 0 && there && says(q, "when") && says(q, "from since") && says(q, "to until till") &&
        (rest & ~(B(EXIST) | B(WHEN) | B(DID))) == 0)
        return one_life(l, planned);
    if (q->name_count == 1 && q->rel_count == 0 && counts && says(q, "lives existences lifetimes") &&
        (rest & ~(B(COUNT) | B(GAP) | B(EXIST) | B(DISTINCT) | B(EACH))) == 0)
        return number_of_lives(l, planned);
    const bool removed = (bits & B(REMOVED)) != 0;
    if (q->name_count == 2 && q->rel_count == 0 && yes && there && (bits & B(WHEN)) != 0 && removed != ((bits & B(ADDED)) != 0) &&
        mk_off__find(q, C_WHEN) > q->names[0].last && mk_off__find(q, C_WHEN) < q->names[1].first &&
        (rest & ~(B(DID) | B(EXIST) | B(WHEN) | B(REMOVED) | B(ADDED))) == 0)
        return there_when(l, removed, planned);
    return MK_OK;
}

mk_code mk_off__life(mk_off *q, bool *planned)
{
    life l = {.q = q, .kind = "text"};
    *planned = false;
    mk_buf_init(&l.steps, q->arena->alloc);
    mk_buf_init(&l.said, q->arena->alloc);
    const mk_code rc = q->count != 0 ? read_question(&l, planned) : MK_OK;
    mk_buf_free(&l.steps);
    mk_buf_free(&l.said);
    return rc;
}

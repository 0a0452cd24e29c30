/* offline_life.c — when things existed, and what was corrected. See offline_internal.h. Layer: agent.
 *
 * A node exists while one of its versions is valid; a life is a run of versions without a gap. A correction
 * is a version that is believed no longer. Source: agent spec, 18.9; store spec (versions). */
#include "agent/offline_steps.h"

#define B(c) MK_C(C_##c)

typedef struct life {
    mk_off *q;
    mk_steps steps;
    mk_buf said;
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

static void put_belief(life *l)
{
    if (l->q->has_belief)
        mk_buf_printf(&l->steps.text, ",\"as_of_tt\":%lld", (long long)l->q->belief);
}

static int put_history(life *l, mk_str uid)
{
    const int step = mk_steps_open(&l->steps, "entity_history");
    mk_buf_z(&l->steps.text, "\"uid\":");
    mk_canon_string(&l->steps.text, uid);
    put_belief(l);
    mk_steps_close(&l->steps, 0, 0);
    return step;
}

/* The rows of a step where a member is this text. */
static int put_equal(life *l, int step, const char *field, mk_str value)
{
    const int next = mk_steps_open(&l->steps, "compute");
    mk_buf_printf(
        &l->steps.text,
        "\"fn\":\"filter\",\"input\":{\"$ref\":\"s%d.rows\"},\"field\":\"%s\",\"cmp\":\"eq\",\"value\":",
        step, field);
    mk_canon_string(&l->steps.text, value);
    mk_steps_close(&l->steps, step, 0);
    return next;
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

/* ---- nodes that exist at an instant, of the kind that is named ---- */

static int put_nodes_at(life *l, int64_t t)
{
    const mk_off *q = l->q;
    const int step = mk_steps_open(&l->steps, "version_history");
    mk_buf_printf(&l->steps.text, "\"kind\":\"node\",\"window\":{\"t_a\":%lld,\"t_b\":%lld}", (long long)t,
                  (long long)t + 1);
    put_belief(l);
    mk_steps_close(&l->steps, 0, 0);
    return put_equal(l, step, "label", q->labels[0]);
}

static mk_code nodes_at(life *l, bool counts)
{
    const mk_off *q = l->q;
    const int step = put_nodes_at(l, q->instants[0].lo);
    mk_buf_printf(&l->said, "%s of kind %.*s exist at ", counts ? "How many nodes" : "Which nodes",
                  MK_STR_ARG(q->labels[0]));
    mk_off__put_time(&l->said, q->instants[0].lo);
    say_belief(l);
    return mk_steps_plan(l->q, &l->steps, counts ? "count" : "entity_set", step,
                         counts ? "rows_total" : "rows[*].uid", &l->said);
}

/* Those that are there at one of two instants, and not at the other. */
static mk_code nodes_between(life *l, bool counts, int64_t there, int64_t absent)
{
    const mk_off *q = l->q;
    const int a = put_nodes_at(l, there), b = put_nodes_at(l, absent);
    const int step = mk_steps_compute(&l->steps, a, b,
                                      "\"fn\":\"difference\",\"field\":\"uid\",\"input\":{\"$ref\":\"s%d."
                                      "rows\"},\"other\":{\"$ref\":\"s%d.rows\"}",
                                      a, b);
    mk_buf_printf(&l->said, "%s of kind %.*s exist at ", counts ? "How many nodes" : "Which nodes",
                  MK_STR_ARG(q->labels[0]));
    mk_off__put_time(&l->said, there);
    mk_buf_z(&l->said, " and not at ");
    mk_off__put_time(&l->said, absent);
    say_belief(l);
    return mk_steps_plan(l->q, &l->steps, counts ? "count" : "entity_set", step,
                         counts ? "rows_total" : "rows", &l->said);
}

/* ---- one node's life ---- */

static mk_code one_life(life *l, bool *planned)
{
    mk_off *q = l->q;
    lives found;
    mk_code rc;
    MK_TRY(rc, lives_of(q, q->names[0].uid, &found));
    if (found.versions != 1)
        return mk_off__missing(q, "one stretch of time: %.*s has %zu versions; ask for its history",
                               MK_STR_ARG(q->names[0].uid), found.versions);
    int step = put_history(l, q->names[0].uid);
    for (int i = 0; i < 2; i++)
        step = mk_steps_compute(&l->steps, step, 0,
                                "\"fn\":\"derive\",\"input\":{\"$ref\":\"s%d.rows\"},\"field\":\"%s\",\"op\":"
                                "\"add\",\"value\":0,\"into\":\"%s\"",
                                step, i ? "vt_e" : "vt_s", i ? "t_b" : "t_a");
    mk_buf_printf(&l->said, "From when until when %.*s exists", MK_STR_ARG(q->names[0].uid));
    say_belief(l);
    *planned = true;
    rc = mk_steps_plan(q, &l->steps, "interval", step, "rows[0]", &l->said);
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
        return mk_off__missing(q, "lives that are one version each: %.*s has %zu versions in %zu lives",
                               MK_STR_ARG(q->names[0].uid), found.versions, found.runs);
    const int step = put_history(l, q->names[0].uid);
    mk_buf_printf(&l->said, "How many separate stretches of time %.*s exists", MK_STR_ARG(q->names[0].uid));
    say_belief(l);
    *planned = true;
    rc = mk_steps_plan(q, &l->steps, "count", step, "rows_total", &l->said);
out:
    return rc;
}

/* "Was X there when Y was removed": the versions of X at the end, or the start, of Y's only one. */
static mk_code there_when(life *l, bool removed, bool *planned)
{
    mk_off *q = l->q;
    lives found;
    mk_code rc;
    MK_TRY(rc, lives_of(q, q->names[1].uid, &found));
    if (found.versions != 1 || (removed && found.end >= MK_OPEN_END))
        return mk_off__missing(q, "one moment: %.*s has %zu versions%s", MK_STR_ARG(q->names[1].uid),
                               found.versions, removed ? ", or was never removed" : "");
    const int moment = put_history(l, q->names[1].uid);
    int step = put_history(l, q->names[0].uid);
    for (int i = 0; i < 2; i++)
        step =
            mk_steps_compute(&l->steps, step, moment,
                             "\"fn\":\"filter\",\"input\":{\"$ref\":\"s%d.rows\"},\"field\":\"%s\",\"cmp\":"
                             "\"%s\",\"value\":{\"$ref\":\"s%d.rows[0].%s\"}",
                             step, i ? "vt_e" : "vt_s", i ? "gt" : "le", moment, removed ? "vt_e" : "vt_s");
    step = mk_steps_compute(&l->steps, step, 0,
                            "\"fn\":\"compare\",\"cmp\":\"gt\",\"x\":{\"$ref\":\"s%d.rows_total\"},\"y\":0",
                            step);
    mk_buf_printf(&l->said, "Whether %.*s exists at the moment when %.*s %s", MK_STR_ARG(q->names[0].uid),
                  MK_STR_ARG(q->names[1].uid), removed ? "ends" : "begins");
    say_belief(l);
    *planned = true;
    rc = mk_steps_plan(q, &l->steps, "value", step, "value", &l->said);
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

static mk_code corrections(life *l, bool counts, bool *planned)
{
    mk_off *q = l->q;
    const int source = q->name_count == 2 ? source_name(q) : 0;
    if (source < 0)
        return MK_OK;
    int step = mk_steps_open(&l->steps, "version_history");
    mk_buf_z(&l->steps.text, "\"belief\":\"superseded\",\"kind\":\"edge\"");
    mk_steps_window(&l->steps, q, false);
    mk_steps_close(&l->steps, 0, 0);
    if (q->name_count == 2)
        step = put_equal(l, put_equal(l, step, "src", q->names[source].uid), "dst", q->names[1 - source].uid);
    mk_buf_printf(&l->said, "%s of events", counts ? "How many versions" : "Whether there are versions");
    if (q->name_count == 2)
        mk_buf_printf(&l->said, " from %.*s to %.*s", MK_STR_ARG(q->names[source].uid),
                      MK_STR_ARG(q->names[1 - source].uid));
    mk_buf_z(&l->said, " that were believed once and are not any more");
    mk_off__say_times(q, &l->said);
    *planned = true;
    if (counts)
        return mk_steps_plan(q, &l->steps, "count", step, "rows_total", &l->said);
    step = mk_steps_compute(&l->steps, step, 0,
                            "\"fn\":\"compare\",\"cmp\":\"gt\",\"x\":{\"$ref\":\"s%d.rows_total\"},\"y\":0",
                            step);
    return mk_steps_plan(q, &l->steps, "value", step, "value", &l->said);
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
    const uint64_t bits = mk_off__concepts(q),
                   quiet = B(STOP) | B(EVER) | B(WHICH) | B(TIME) | (q->has_belief ? B(BELIEF) | B(NOW) : 0);
    const uint64_t rest = bits & ~quiet;
    const bool counts = (bits & B(COUNT)) != 0, asks = counts || (bits & B(WHICH)) != 0,
               there = (bits & B(EXIST)) != 0 || says(q, "there");
    const bool yes = q->tokens[0].concept == C_DID;
    const bool no_more = q->length_count == 0 && q->number_count == 0;
    if (!no_more)
        return MK_OK;
    if ((bits & B(CORRECTED)) != 0 && q->instant_count == 0 && q->rel_count == 0 &&
        (q->name_count == 0 || q->name_count == 2) && (counts || yes) &&
        (rest & ~(B(CORRECTED) | B(COUNT) | B(DID) | B(EVENT) | B(SEND) | B(RECEIVE) | B(BELIEF) | B(VALUE) |
                  B(EXIST))) == 0 &&
        (bits & B(EVENT)) != 0)
        return corrections(l, counts, planned);
    if (q->has_window)
        return MK_OK;
    if (q->label_count == 1 && q->name_count == 0 && q->rel_count == 0 && asks && there &&
        q->instant_count == 1 && (rest & ~(B(COUNT) | B(NODE) | B(EXIST) | B(DISTINCT))) == 0) {
        *planned = true;
        return nodes_at(l, counts);
    }
    if (q->label_count == 1 && q->name_count == 0 && q->rel_count == 0 && asks && there &&
        q->instant_count == 2 && (bits & B(NOT)) != 0 &&
        (rest & ~(B(COUNT) | B(NODE) | B(EXIST) | B(DISTINCT) | B(NOT) | B(BUT) | B(LENGTH))) == 0) {
        const bool first_is_absent = mk_off__find(q, C_NOT) < q->instants[0].first;
        const int64_t t_there = first_is_absent ? q->instants[1].lo : q->instants[0].lo,
                      absent = first_is_absent ? q->instants[0].lo : q->instants[1].lo;
        *planned = true;
        return nodes_between(l, counts, t_there, absent);
    }
    if (q->instant_count != 0 || q->rel_count > 1)
        return MK_OK;
    if (q->name_count == 1 && q->rel_count == 0 && there && says(q, "when") && says(q, "from since") &&
        says(q, "to until till") && (rest & ~(B(EXIST) | B(WHEN) | B(DID))) == 0)
        return one_life(l, planned);
    if (q->name_count == 1 && q->rel_count == 0 && counts && says(q, "lives existences lifetimes") &&
        (rest & ~(B(COUNT) | B(GAP) | B(EXIST) | B(DISTINCT) | B(EACH))) == 0)
        return number_of_lives(l, planned);
    const bool removed = (bits & B(REMOVED)) != 0;
    if (q->name_count == 2 && q->rel_count == 0 && yes && there && (bits & B(WHEN)) != 0 &&
        removed != ((bits & B(ADDED)) != 0) && mk_off__find(q, C_WHEN) > q->names[0].last &&
        mk_off__find(q, C_WHEN) < q->names[1].first &&
        (rest & ~(B(DID) | B(EXIST) | B(WHEN) | B(REMOVED) | B(ADDED))) == 0)
        return there_when(l, removed, planned);
    return MK_OK;
}

mk_code mk_off__life(mk_off *q, bool *planned)
{
    life l = {.q = q};
    *planned = false;
    mk_steps_init(&l.steps, q->arena->alloc);
    mk_buf_init(&l.said, q->arena->alloc);
    const mk_code rc = q->count != 0 ? read_question(&l, planned) : MK_OK;
    mk_steps_free(&l.steps);
    mk_buf_free(&l.said);
    return rc;
}

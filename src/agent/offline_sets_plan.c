/* offline_sets_plan.c — clauses as steps of a plan. See offline_sets.h. Layer: agent.
 *
 * A clause is one aggregation by an end of events and, where it says how often, a filter; sets are joined as
 * they come. A plan has at most twelve steps, so at most three clauses are read. */
#include "agent/offline_sets.h"
#include "agent/offline_steps.h"

#include <stdio.h>

#define DAY_US INT64_C(86400000000)

/* A list in a step: its number and the member that holds the entity ("" when the rows are the entities). */
typedef struct set {
    int step;
    const char *field;
} set;

typedef struct writer {
    mk_sets *s;
    mk_steps steps;
    mk_buf said;
} writer;

/* ---- steps ---- */

static const char *end_word(bool src) { return src ? "src" : "dst"; }

static void put_filters(writer *w, mk_buf *out, const mk_clause *c, bool src, mk_str other, const char *cmp,
                        bool everywhen)
{
    const mk_off *q = w->s->q;
    if (other.n != 0) {
        mk_buf_printf(out, ",\"endpoint_filter\":{\"role\":\"%s\",\"uids\":[", end_word(!src));
        mk_canon_string(out, other);
        mk_buf_z(out, "]}");
    }
    if (c->rel.n != 0) {
        mk_buf_z(out, ",\"rel_types\":[");
        mk_canon_string(out, c->rel);
        mk_buf_c(out, ']');
    }
    if (cmp != NULL) {
        mk_buf_z(out, ",\"prop_filter\":{\"prop\":");
        mk_canon_string(out, q->prop);
        mk_buf_printf(out, ",\"cmp\":\"%s\",\"value\":%lld}", cmp, (long long)c->value);
    }
    mk_off all = *q;
    all.has_window = all.has_window && !everywhen;
    mk_off__put_window(&all, out);
}

static set put_groups(writer *w, const mk_clause *c, bool src, mk_str other, const char *cmp,
                      const char *aggregate)
{
    const int step = mk_steps_open(&w->steps, "aggregate_events");
    mk_buf_printf(&w->steps.text, "\"group_by\":[{\"dim\":\"endpoint\",\"role\":\"%s\"}],\"aggregates\":[%s]",
                  end_word(src), aggregate);
    put_filters(w, &w->steps.text, c, src, other, cmp, c->earliest);
    mk_steps_close(&w->steps, 0, 0);
    return (set){step, end_word(src)};
}

static set put_filter(writer *w, set in, const char *field, const char *cmp, int64_t value)
{
    const int step = mk_steps_open(&w->steps, "compute");
    mk_buf_printf(
        &w->steps.text,
        "\"fn\":\"filter\",\"input\":{\"$ref\":\"s%d.rows\"},\"field\":\"%s\",\"cmp\":\"%s\",\"value\":%lld",
        in.step, field, cmp, (long long)value);
    mk_steps_close(&w->steps, in.step, 0);
    return (set){step, in.field};
}

static set put_join(writer *w, const char *fn, set a, set b)
{
    const int step = mk_steps_open(&w->steps, "compute");
    mk_buf_printf(&w->steps.text,
                  "\"fn\":\"%s\",\"input\":{\"$ref\":\"s%d.rows\"},\"other\":{\"$ref\":\"s%d.rows\"}", fn,
                  a.step, b.step);
    if (a.field[0] != '\0')
        mk_buf_printf(&w->steps.text, ",\"field\":\"%s\"", a.field);
    if (b.field[0] != '\0')
        mk_buf_printf(&w->steps.text, ",\"other_field\":\"%s\"", b.field);
    mk_steps_close(&w->steps, a.step, b.step);
    return (set){step, ""};
}

/* ---- one clause ---- */

/* What must not occur besides, for "only": the values that are left, as a comparison. */
static const char *opposite(const char *cmp)
{
    static const char *const pairs[][2] = {{"gt", "le"}, {"lt", "ge"}, {"ge", "lt"}, {"le", "gt"}};
    for (size_t i = 0; i < 4; i++)
        if (strcmp(pairs[i][0], cmp) == 0)
            return pairs[i][1];
    return "ne";
}

static set write_only(writer *w, const mk_clause *c, bool src)
{
    static const char count[] = "{\"agg\":\"count\"}";
    const mk_str none = {NULL, 0};
    char distinct[64], column[32];
    const set these = put_groups(w, c, src, c->other, c->cmp, count);
    if (c->cmp != NULL)
        return put_join(w, "difference", these, put_groups(w, c, src, c->other, opposite(c->cmp), count));
    if (c->other.n == 0)
        return put_join(w, "difference", these, put_groups(w, c, !src, none, NULL, count));
    snprintf(distinct, sizeof distinct, "{\"agg\":\"count_distinct\",\"of\":\"%s\"}", end_word(!src));
    snprintf(column, sizeof column, "distinct_%s", end_word(!src));
    return put_join(w, "intersect", these,
                    put_filter(w, put_groups(w, c, src, none, NULL, distinct), column, "eq", 1));
}

static set write_clause(writer *w, const mk_clause *c)
{
    const mk_off *q = w->s->q;
    const bool src = c->sends;
    char aggregate[80], column[40];
    set out;
    if (c->only)
        return write_only(w, c, src);
    snprintf(aggregate, sizeof aggregate, "{\"agg\":\"count\"}");
    snprintf(column, sizeof column, "count");
    if (c->distinct) {
        snprintf(aggregate, sizeof aggregate, "{\"agg\":\"count_distinct\",\"of\":\"%s\"}", end_word(!src));
        snprintf(column, sizeof column, "distinct_%s", end_word(!src));
    } else if (c->span != 0) {
        snprintf(aggregate, sizeof aggregate, "{\"agg\":\"max_in_window\",\"span\":%lld}",
                 (long long)c->span);
        snprintf(column, sizeof column, "max_in_window");
    } else if (c->earliest) {
        snprintf(aggregate, sizeof aggregate, "{\"agg\":\"min\",\"of\":\"vt_s\"}");
        snprintf(column, sizeof column, "min_vt_s");
    }
    out = put_groups(w, c, src, c->other, c->cmp, aggregate);
    if (c->sends && c->receives)
        return put_join(w, "union", out, put_groups(w, c, false, c->other, c->cmp, aggregate));
    if (c->than != NULL)
        out = put_filter(w, out, column, c->than, c->than_n);
    if (c->earliest && !w->s->same_day)
        out = put_filter(w, put_filter(w, out, column, "ge", q->t_a), column, "lt", q->t_b);
    if (c->second.n != 0) {
        mk_clause second = *c;
        second.other = c->second;
        second.second = (mk_str){NULL, 0};
        out = put_join(w, "intersect", out, write_clause(w, &second));
    }
    return out;
}

/* The first event of either kind, side by side, and the days they fall on. */
static set write_same_day(writer *w)
{
    const mk_clause *c = w->s->clauses;
    const set a = write_clause(w, &c[0]), b = write_clause(w, &c[1]);
    int step = mk_steps_open(&w->steps, "compute");
    mk_buf_printf(&w->steps.text,
                  "\"fn\":\"join\",\"input\":{\"$ref\":\"s%d.rows\"},\"on\":\"%s\",\"other\":{\"$ref\":\"s%d."
                  "rows\"},\"other_on\":\"%s\"",
                  a.step, a.field, b.step, b.field);
    mk_steps_close(&w->steps, a.step, b.step);
    for (int i = 0; i < 2; i++) {
        const int from = step;
        step = mk_steps_open(&w->steps, "compute");
        mk_buf_printf(&w->steps.text,
                      "\"fn\":\"derive\",\"input\":{\"$ref\":\"s%d.rows\"},\"field\":\"%smin_vt_s\",\"op\":"
                      "\"floordiv\",\"value\":%lld,\"into\":\"%s\"",
                      from, i ? "r_" : "", (long long)DAY_US, i ? "other_day" : "day");
        mk_steps_close(&w->steps, from, 0);
    }
    const int from = step;
    step = mk_steps_open(&w->steps, "compute");
    mk_buf_printf(&w->steps.text,
                  "\"fn\":\"filter\",\"input\":{\"$ref\":\"s%d.rows\"},\"field\":\"day\",\"cmp\":\"eq\","
                  "\"field2\":\"other_day\"",
                  from);
    mk_steps_close(&w->steps, from, 0);
    return (set){step, a.field};
}

/* All nodes of the store, of the kind that is asked for. */
static set write_all(writer *w)
{
    const mk_off *q = w->s->q;
    int step = mk_steps_open(&w->steps, "version_history");
    mk_buf_z(&w->steps.text, "\"kind\":\"node\"");
    mk_steps_window(&w->steps, q, true);
    mk_steps_close(&w->steps, 0, 0);
    for (size_t k = 0; k < q->label_count; k++)
        if (q->label_tokens[k] == w->s->noun) {
            const int from = step;
            step = mk_steps_open(&w->steps, "compute");
            mk_buf_printf(&w->steps.text,
                          "\"fn\":\"filter\",\"input\":{\"$ref\":\"s%d.rows\"},\"field\":\"label\",\"cmp\":"
                          "\"eq\",\"value\":",
                          from);
            mk_canon_string(&w->steps.text, q->labels[k]);
            mk_steps_close(&w->steps, from, 0);
        }
    return (set){step, "uid"};
}

/* ---- words ---- */

static const char *than_words(const char *than)
{
    static const char *const words[][2] = {
        {"ge", "at least"}, {"gt", "more than"}, {"le", "at most"}, {"lt", "fewer than"}, {"eq", "exactly"}};
    for (size_t i = 0; i < 5; i++)
        if (strcmp(words[i][0], than) == 0)
            return words[i][1];
    return "";
}

static void say_clause(writer *w, const mk_clause *c)
{
    const mk_off *q = w->s->q;
    mk_buf *said = &w->said;
    mk_buf_printf(said, "%s%s%s of %sevents", c->negated ? "not " : "",
                  c->sends && c->receives ? "sources or targets"
                  : c->sends              ? "sources"
                                          : "targets",
                  c->only && c->cmp == NULL && c->other.n == 0 ? " only" : "",
                  c->earliest ? "their first " : "");
    if (c->rel.n != 0)
        mk_buf_printf(said, " of type %.*s", MK_STR_ARG(c->rel));
    if (c->cmp != NULL)
        mk_buf_printf(said, " whose %.*s is %s%s %lld", MK_STR_ARG(q->prop), c->only ? "always " : "", c->cmp,
                      (long long)c->value);
    if (c->other.n != 0)
        mk_buf_printf(said, " %s%s %.*s", c->only ? "only " : "", c->sends ? "to" : "from",
                      MK_STR_ARG(c->other));
    if (c->second.n != 0)
        mk_buf_printf(said, " and others %s %.*s", c->sends ? "to" : "from", MK_STR_ARG(c->second));
    if (c->than != NULL)
        mk_buf_printf(said, ", %s %lld%s", than_words(c->than), (long long)c->than_n,
                      c->distinct ? (c->sends ? " different targets" : " different sources") : " of them");
    if (c->span != 0)
        mk_buf_printf(said, " within some stretch of %lld us", (long long)c->span);
}

static void say(writer *w)
{
    mk_sets *s = w->s;
    mk_buf_z(&w->said, s->asks == MK_SETS_COUNT  ? "How many nodes are "
                       : s->asks == MK_SETS_LIST ? "Which nodes are "
                                                 : "Whether there are nodes that are ");
    for (size_t k = 0; k < s->count; k++) {
        if (k > 0)
            mk_buf_z(&w->said, " and ");
        say_clause(w, &s->clauses[k]);
    }
    if (s->same_day)
        mk_buf_z(&w->said, ", both on one day (UTC)");
    mk_off__say_times(s->q, &w->said);
}

/* ---- the whole ---- */

mk_code mk_sets__write(mk_sets *s)
{
    writer w = {.s = s};
    char member[32];
    mk_code rc;
    set all;
    mk_steps_init(&w.steps, s->q->arena->alloc);
    mk_buf_init(&w.said, s->q->arena->alloc);
    if (s->same_day) {
        all = write_same_day(&w);
    } else {
        all = s->from_all ? write_all(&w) : write_clause(&w, &s->clauses[0]);
        for (size_t k = s->from_all ? 0 : 1; k < s->count; k++)
            all = put_join(&w, s->clauses[k].negated ? "difference" : "intersect", all,
                           write_clause(&w, &s->clauses[k]));
    }
    say(&w);
    if (s->asks == MK_SETS_EXIST) {
        const int step = mk_steps_compute(
            &w.steps, all.step, 0,
            "\"fn\":\"compare\",\"cmp\":\"gt\",\"x\":{\"$ref\":\"s%d.rows_total\"},\"y\":0", all.step);
        rc = mk_steps_plan(s->q, &w.steps, "value", step, "value", &w.said);
    } else if (s->asks == MK_SETS_COUNT) {
        rc = mk_steps_plan(s->q, &w.steps, "count", all.step, "rows_total", &w.said);
    } else {
        snprintf(member, sizeof member, all.field[0] != '\0' ? "rows[*].%s" : "rows", all.field);
        rc = mk_steps_plan(s->q, &w.steps, "entity_set", all.step, member, &w.said);
    }
    mk_steps_free(&w.steps);
    mk_buf_free(&w.said);
    return rc;
}

/* ---- kinds of node ---- */

mk_code mk_sets__labels_agree(const mk_sets *s, bool *agree)
{
    mk_off *q = s->q;
    const mk_json *rows;
    mk_arena scratch;
    mk_buf args;
    mk_code rc = MK_OK;
    writer w = {.s = (mk_sets *)s};
    *agree = true;
    mk_arena_init(&scratch, q->arena->alloc);
    mk_buf_init(&args, q->arena->alloc);
    for (size_t k = 0; k < q->label_count; k++) {
        for (size_t i = 0; i < s->count; i++) {
            const mk_clause *c = &s->clauses[i];
            const bool head = q->label_tokens[k] == s->noun,
                       here = q->label_tokens[k] >= c->first && q->label_tokens[k] < c->last;
            const bool src = head ? c->sends : !c->sends;
            if (!head && !here)
                continue;
            mk_buf_clear(&args);
            mk_buf_printf(
                &args,
                "{\"group_by\":[{\"dim\":\"label\",\"role\":\"%s\"}],\"aggregates\":[{\"agg\":\"count\"}]",
                end_word(src));
            put_filters(&w, &args, c, c->sends, c->other, c->cmp, c->earliest);
            mk_buf_c(&args, '}');
            MK_TRY(rc, mk_buf_done(&args, q->err));
            MK_TRY(rc, mk_off__aggregate(q, mk_buf_view(&args), &scratch, &rows));
            *agree &= rows != NULL;
            for (size_t r = 0; rows != NULL && r < rows->n; r++) {
                const mk_json *label = mk_json_get(&rows->items[r], src ? "src_label" : "dst_label");
                *agree &=
                    label != NULL && (label->kind == MK_JSON_NULL || mk_str_eq(label->text, q->labels[k]));
            }
        }
    }
out:
    mk_buf_free(&args);
    mk_arena_free(&scratch);
    return rc;
}

/* test_offline_sets.c — random sentences about random events, read by the planner and counted by hand.
 *
 * Method: a sentence is made from a structure (one or two clauses, thresholds, signs, partners, a window,
 * three ways to ask) in randomly chosen words; the same structure is evaluated by loops over the events. The
 * planner may abstain, but what it answers has to be right, and it has to answer most. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "../support/asked.h"
#include "agent/offline.h"

enum { PEOPLE = 9, EVENTS = 60, YEAR = 31536000 };

typedef struct event {
    int src, dst, rating;
    int64_t t; /* seconds */
} event;

typedef struct condition {
    bool receives, negated, distinct, earliest;
    int sign;         /* -1, 0, 1 */
    int other;        /* -1: anybody */
    const char *than; /* NULL: at least once */
    int n;
} condition;

typedef struct sentence {
    condition clauses[2];
    int count, asks; /* 0: how many, 1: which, 2: whether */
    bool window;
    char text[600];
} sentence;

static uint64_t seed;

static int below(int n)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int)((seed >> 33) % (uint64_t)n);
}

static const char *any_of(const char *const *words, int n) { return words[below(n)]; }
#define ANY(...)                                                                                             \
    any_of((const char *const[]){__VA_ARGS__},                                                               \
           (int)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)))

/* ---- the world ---- */

static event events[EVENTS];

static char *make_world(void)
{
    static char text[32768];
    size_t n = 0;
    for (int i = 0; i < PEOPLE; i++)
        n += (size_t)snprintf(
            text + n, sizeof text - n,
            "{\"op\":\"assert_node\",\"uid\":\"p%d\",\"label\":\"Account\",\"props\":{},\"vt_s\":0}\n", i);
    for (int i = 0; i < EVENTS; i++) {
        event *e = &events[i];
        e->src = below(PEOPLE - 2); /* some never send, some never receive */
        e->dst = 2 + below(PEOPLE - 2);
        e->rating = below(7) - 3;
        e->t = 1325376000 + (int64_t)below(2 * YEAR); /* 2012 and 2013 */
        n += (size_t)snprintf(text + n, sizeof text - n,
                              "{\"op\":\"assert_edge\",\"src\":\"p%d\",\"dst\":\"p%d\",\"rel_type\":"
                              "\"TRUST\",\"disc\":\"%d\",\"vt_s\":%lld,\"vt_e\":%lld,"
                              "\"props\":{\"rating\":%d}}\n",
                              e->src, e->dst, i, (long long)e->t * 1000000, (long long)e->t * 1000000 + 1,
                              e->rating);
    }
    return text;
}

/* ---- by hand ---- */

static const int64_t window_from = 1338508800, window_to = 1364774400; /* June 2012 to March 2013 */

static bool compares(int n, const char *than, int k)
{
    return strcmp(than, "ge") == 0   ? n >= k
           : strcmp(than, "gt") == 0 ? n > k
           : strcmp(than, "le") == 0 ? n <= k
           : strcmp(than, "lt") == 0 ? n < k
                                     : n == k;
}

static bool holds(const sentence *s, const condition *c, int who)
{
    int n = 0, partners = 0;
    int64_t first = INT64_MAX;
    bool seen[PEOPLE] = {false};
    for (int i = 0; i < EVENTS; i++) {
        const event *e = &events[i];
        const int here = c->receives ? e->dst : e->src, there = c->receives ? e->src : e->dst;
        if (here != who || (c->other >= 0 && there != c->other) || (c->sign > 0 && e->rating <= 0) ||
            (c->sign < 0 && e->rating >= 0))
            continue;
        if (!c->earliest && s->window && (e->t < window_from || e->t >= window_to))
            continue;
        n++;
        partners += !seen[there];
        seen[there] = true;
        first = e->t < first ? e->t : first;
    }
    bool yes = n > 0;
    if (c->earliest)
        yes = n > 0 && first >= window_from && first < window_to;
    if (c->than != NULL) /* "fewer than 3" is said of those who have any */
        yes = n > 0 && compares(c->distinct ? partners : n, c->than, c->n);
    return c->negated ? !yes : yes;
}

/* ---- in words ---- */

static size_t put(char *text, size_t n, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    n += (size_t)vsnprintf(text + n, 600 - n, fmt, args);
    va_end(args);
    return n;
}

static const char *than_words(const char *than)
{
    if (strcmp(than, "ge") == 0)
        return ANY("at least", "no fewer than");
    if (strcmp(than, "gt") == 0)
        return ANY("more than", "over");
    if (strcmp(than, "le") == 0)
        return ANY("at most", "no more than");
    if (strcmp(than, "lt") == 0)
        return ANY("fewer than", "less than");
    return ANY("exactly", "only");
}

static size_t put_object(char *text, size_t n, const condition *c)
{
    const char *sign = c->sign > 0 ? "positive " : c->sign < 0 ? "negative " : "";
    if (c->earliest)
        return put(text, n, " their %sfirst rating", ANY("", "very "));
    if (c->than != NULL && !c->distinct)
        n = put(text, n, " %s %d %sratings", than_words(c->than), c->n, sign);
    else if (c->negated)
        n = put(text, n, " %s %srating", ANY("a", "any"), sign);
    else
        n = put(text, n, " %s %s%s", sign[0] ? "a" : ANY("a", "at least one", "any"), sign, "rating");
    const char *prep = c->receives ? "from" : "to";
    if (c->than != NULL && c->distinct)
        n = put(text, n, " %s %s %d %s accounts", prep, than_words(c->than), c->n,
                ANY("different", "distinct", "other"));
    if (c->other >= 0)
        n = put(text, n, " %s %sp%d", prep, ANY("", "account "), c->other);
    return n;
}

static size_t put_clause(char *text, size_t n, const sentence *s, int k, bool bare)
{
    const condition *c = &s->clauses[k];
    if (c->negated)
        n = put(text, n, " never");
    if (bare)
        n = put(text, n, " %s", c->receives ? ANY("receive", "get") : ANY("give", "send"));
    else
        n = put(text, n, " %s", c->receives ? ANY("received", "got") : ANY("gave", "sent"));
    return put_object(text, n, c);
}

static void say(sentence *s)
{
    static const char *const windows[] = {"between 1 June 2012 and 31 March 2013",
                                          "from June 2012 through March 2013",
                                          "between 2012-06-01 and 2013-03-31"};
    const char *window = s->window ? windows[below(3)] : "";
    const bool front = s->window && below(3) == 0 && s->asks != 2;
    size_t n = 0;
    if (front)
        n = put(s->text, n, "%c%s, ", window[0] - 'a' + 'A', window + 1);
    if (s->asks == 0)
        n = put(s->text, n, "%s %saccounts",
                ANY("How many", "how many", "Count the number of", "What is the number of"),
                ANY("", "distinct "));
    else if (s->asks == 1)
        n = put(s->text, n, "%s",
                ANY("Which accounts", "List all accounts that", "Who", "Identify the accounts which",
                    "Name all accounts that"));
    else
        n = put(s->text, n, "Did any account");
    n = put_clause(s->text, n, s, 0, s->asks == 2);
    if (s->count == 2) {
        n = put(s->text, n, " %s", s->clauses[1].negated ? ANY("but", "and", "yet") : ANY("and", "and also"));
        n = put_clause(s->text, n, s, 1, false);
    }
    if (s->window && !front)
        n = put(s->text, n, " %s", window);
    put(s->text, n, s->asks == 0 && below(2) ? "" : "?");
}

static void make(sentence *s)
{
    static const char *const thans[] = {"ge", "gt", "le", "lt", "eq"};
    memset(s, 0, sizeof *s);
    s->asks = below(3);
    s->window = below(2) == 0;
    s->count = 1 + (below(2) == 0 && s->asks != 2);
    for (int k = 0; k < s->count; k++) {
        condition *c = &s->clauses[k];
        *c = (condition){.receives = below(2) == 0, .other = -1};
        c->negated = k > 0 ? below(2) == 0 : below(10) == 0 && s->asks != 2;
        if (below(4) == 0)
            c->sign = below(2) ? 1 : -1;
        if (below(4) == 0)
            c->other = below(PEOPLE);
        if (!c->negated && below(3) == 0) {
            c->than = thans[below(5)];
            c->n = 2 + below(4);
            c->distinct = c->other < 0 && below(3) == 0;
        } else if (!c->negated && c->sign == 0 && c->other < 0 && s->count == 1 && s->window &&
                   below(3) == 0) {
            c->earliest = true;
        }
    }
    say(s);
}

/* ---- both ---- */

static void expected_text(const sentence *s, mk_buf *out)
{
    int n = 0;
    mk_buf_c(out, '[');
    for (int who = 0; who < PEOPLE; who++) {
        bool in = true;
        for (int k = 0; k < s->count; k++)
            in &= holds(s, &s->clauses[k], who);
        if (in)
            mk_buf_printf(out, "%s\"p%d\"", n++ ? "," : "", who);
    }
    mk_buf_c(out, ']');
    if (s->asks != 1)
        mk_buf_clear(out);
    if (s->asks == 0)
        mk_buf_printf(out, "%d", n);
    if (s->asks == 2)
        mk_buf_z(out, n > 0 ? "true" : "false");
    mk_buf_c(out, '\0');
}

static int compare_text(const void *a, const void *b)
{
    return mk_str_cmp(((const mk_json *)a)->text, ((const mk_json *)b)->text);
}

/* Whether the planner answered. */
static bool answered_right(asked *a, const sentence *s)
{
    mk_offline_result result;
    mk_plan_report report;
    mk_trace trace;
    mk_buf expected, got;
    assert_int_equal(
        mk_offline_plan(a->store, a->view, mk_str_of(s->text), NULL, &a->arena, &result, &a->err), MK_OK);
    if (!result.planned)
        return false;
    assert_int_equal(mk_plan_check(result.plan, NULL, &a->arena, &report, &a->err), MK_OK);
    if (!report.valid)
        fail_msg("%s: %.*s", s->text, MK_STR_ARG(report.violations[0].message));
    char *plan = mk_arena_get(&a->arena, result.plan.n + 1);
    memcpy(plan, result.plan.p, result.plan.n);
    plan[result.plan.n] = '\0';
    const mk_json *t = asked_run(a, plan, NULL, NULL, &trace);
    mk_json *answer = (mk_json *)(uintptr_t)mk_json_get(t, "answer");
    if (answer->kind == MK_JSON_ARRAY)
        qsort(answer->items, answer->n, sizeof *answer->items, compare_text);
    mk_buf_init(&expected, &mk_alloc_default);
    mk_buf_init(&got, &mk_alloc_default);
    expected_text(s, &expected);
    assert_int_equal(mk_canon_tree(&got, &a->arena, answer, NULL), MK_OK);
    mk_buf_c(&got, '\0');
    if (strcmp(expected.p, got.p) != 0)
        fail_msg("%s\n  read as: %.*s\n  answered %s, and it is %s", s->text, MK_STR_ARG(result.understood),
                 got.p, expected.p);
    mk_buf_free(&expected);
    mk_buf_free(&got);
    return true;
}

static void test_offline_sets__answers_are_what_counting_by_hand_gives(void **state)
{
    int total = 0, answered = 0;
    (void)state;
    for (int world = 0; world < 12; world++) {
        asked a;
        seed = (uint64_t)world * 7919 + 17;
        asked_open(&a, make_world());
        for (int i = 0; i < 60; i++) {
            sentence s;
            make(&s);
            total++;
            if (answered_right(&a, &s))
                answered++;
            else if (getenv("MK_SHOW_UNANSWERED") != NULL)
                print_message("not answered: %s\n", s.text);
        }
        asked_close(&a);
    }
    print_message("%d of %d sentences answered\n", answered, total);
    assert_true(answered * 10 >= total * 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_offline_sets__answers_are_what_counting_by_hand_gives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

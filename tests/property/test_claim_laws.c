/* test_claim_laws.c — verdicts over cut results against the truth of the whole results.
 *
 * Method: a random list of rows is the whole result of a step; the step shows all of it, its first rows, or
 * rows from the middle, and a second step is a filter of what was shown. Random claims about them are
 * verified; each is also judged by a few obvious lines over the whole list.
 * Laws: nothing false is rated supported; "there is" and "at least", when what was shown bears them out, are
 * supported in spite of a cut. MK_SEED=N replays one run. */
#include "../support/claimworld.h"

#include <stdlib.h>

#define ROWS_MAX 7
#define RUNS 800
#define CLAIMS_PER_RUN 12

typedef struct gen {
    uint64_t state;
} gen;

static unsigned draw(gen *g, unsigned below)
{
    g->state ^= g->state << 13;
    g->state ^= g->state >> 7;
    g->state ^= g->state << 17;
    return (unsigned)((g->state >> 11) % below);
}

typedef struct row {
    unsigned uid, v, t;
} row;

typedef struct list {
    row rows[ROWS_MAX];
    size_t n;
} list;

/* s1 is `whole`, of which [from, until) is shown; s2 keeps the rows of what was shown with v >= least. */
typedef struct scene {
    list whole, kept;
    size_t from, until;
    unsigned least;
} scene;

static void put_rows(mk_buf *out, const list *l, size_t from, size_t until, size_t total, bool cursor)
{
    mk_buf_printf(out, "{\"cursor\":%s,\"rows\":[", cursor ? "\"x\"" : "null");
    for (size_t i = from; i < until; i++)
        mk_buf_printf(out, "%s{\"t\":%u,\"t_a\":%u,\"t_b\":%u,\"uid\":\"u%u\",\"v\":%u}", i > from ? "," : "",
                      l->rows[i].t, l->rows[i].t, l->rows[i].t + 10, l->rows[i].uid, l->rows[i].v);
    mk_buf_printf(out, "],\"rows_total\":%zu,\"truncated\":%s}", total, cursor ? "true" : "false");
    mk_buf_c(out, '\0');
}

static void keep(const list *from, size_t start, size_t end, unsigned least, list *out)
{
    out->n = 0;
    for (size_t i = start; i < end; i++)
        if (from->rows[i].v >= least)
            out->rows[out->n++] = from->rows[i];
}

static void make(gen *g, scene *s)
{
    *s = (scene){.least = draw(g, 4)};
    s->whole.n = draw(g, ROWS_MAX + 1);
    for (size_t i = 0; i < s->whole.n; i++)
        s->whole.rows[i] = (row){draw(g, 5), draw(g, 4), 100 + draw(g, 5)};
    s->until = s->whole.n;
    if (draw(g, 3) > 0 && s->whole.n > 0)
        s->until = draw(g, (unsigned)s->whole.n + 1);
    if (draw(g, 3) == 0)
        s->from = draw(g, (unsigned)s->until + 1);
    keep(&s->whole, 0, s->whole.n, s->least, &s->kept);
}

static void build(world *w, const scene *s)
{
    char gaps[200] = "{}", inherited[400] = "{}", deps[200], args[120];
    const size_t shown = s->until - s->from, n = s->whole.n;
    const char *reason = s->from > 0 ? "offset" : "page";
    mk_buf payload;
    list kept;
    world_start(w);
    if (shown < n) {
        snprintf(gaps, sizeof gaps, "{\"rows\":[{\"reason\":\"%s\",\"shown\":%zu,\"total\":%zu}]}", reason,
                 shown, n);
        snprintf(inherited, sizeof inherited,
                 "{\"rows\":[{\"reason\":\"%s\",\"shown\":%zu,\"total\":%zu,\"via\":\"s1.rows\"}],"
                 "\"rows_total\":[{\"reason\":\"%s\",\"shown\":%zu,\"total\":%zu,\"via\":\"s1.rows\"}]}",
                 reason, shown, n, reason, shown, n);
    }
    snprintf(args, sizeof args, "{\"as_of_tt\":500,\"cursor\":%s}", s->from > 0 ? "\"y\"" : "null");
    mk_buf_init(&payload, &mk_alloc_default);
    put_rows(&payload, &s->whole, s->from, s->until, n, s->until < n);
    const mk_str call = world_step(w, "s1", "version_history", args, gaps, "[]", payload.p);
    snprintf(deps, sizeof deps, "[{\"call_digest\":\"%.*s\",\"step_id\":\"s1\"}]", MK_STR_ARG(call));
    keep(&s->whole, s->from, s->until, s->least, &kept);
    mk_buf_clear(&payload);
    put_rows(&payload, &kept, 0, kept.n, kept.n, false);
    world_step(w, "s2", "compute", "{\"fn\":\"filter\"}", inherited, deps, payload.p);
    mk_buf_free(&payload);
}

/* One claim, what is true of the whole, and whether what was shown is enough for it to be seen. */
typedef struct drawn {
    char text[400];
    bool is_true, must_hold;
} drawn;

static bool has_uid(const list *l, size_t from, size_t until, unsigned uid)
{
    for (size_t i = from; i < until; i++)
        if (l->rows[i].uid == uid)
            return true;
    return false;
}

static bool has_v(const list *l, size_t from, size_t until, unsigned v)
{
    for (size_t i = from; i < until; i++)
        if (l->rows[i].v == v)
            return true;
    return false;
}

static size_t write_uids(char *out, size_t room, unsigned set)
{
    size_t at = 0;
    for (unsigned u = 0; u < 5; u++)
        if (set >> u & 1)
            at += (size_t)snprintf(out + at, room - at, "%s\"u%u\"", at > 0 ? "," : "", u);
    return at;
}

static unsigned uids_of(const list *l, size_t from, size_t until)
{
    unsigned set = 0;
    for (size_t i = from; i < until; i++)
        set |= 1u << l->rows[i].uid;
    return set;
}

/* `full` and the part [a, b) of it that step `id` shows. */
static void draw_claim(gen *g, const char *id, const list *full, const list *shown, size_t a, size_t b,
                       drawn *d)
{
    const unsigned n = draw(g, ROWS_MAX + 2), uid = draw(g, 5), v = draw(g, 5), index = draw(g, ROWS_MAX);
    char uids[80] = "";
    unsigned set = draw(g, 32);
    const size_t seen = b - a;
    d->must_hold = false;
#define SAY(...) snprintf(d->text, sizeof d->text, __VA_ARGS__)
    switch (draw(g, 13)) {
    case 0:
        SAY("{\"type\":\"count\",\"value\":%u,\"from\":\"%s.rows\",\"evidence\":[\"%s\"]}", n, id, id);
        d->is_true = n == full->n;
        break;
    case 1:
        SAY("{\"type\":\"count\",\"value\":%u,\"from\":\"%s.rows_total\",\"evidence\":[\"%s\"]}", n, id, id);
        d->is_true = n == full->n;
        d->must_hold = n == full->n && id[1] == '1';
        break;
    case 2:
        SAY("{\"type\":\"lower_bound\",\"value\":%u,\"from\":\"%s.rows\",\"evidence\":[\"%s\"]}", n, id, id);
        d->is_true = full->n >= n;
        d->must_hold = seen >= n;
        break;
    case 3:
        SAY("{\"type\":\"upper_bound\",\"value\":%u,\"from\":\"%s.rows\",\"evidence\":[\"%s\"]}", n, id, id);
        d->is_true = full->n <= n;
        break;
    case 4:
        SAY("{\"type\":\"entity\",\"uids\":[\"u%u\"],\"from\":\"%s.rows\",\"evidence\":[\"%s\"]}", uid, id,
            id);
        d->is_true = has_uid(full, 0, full->n, uid);
        d->must_hold = has_uid(shown, a, b, uid);
        break;
    case 5:
        if (draw(g, 2))
            set = uids_of(shown, a, b);
        write_uids(uids, sizeof uids, set);
        SAY("{\"type\":\"set_equal\",\"uids\":[%s],\"from\":\"%s.rows\",\"evidence\":[\"%s\"]}", uids, id,
            id);
        d->is_true = set == uids_of(full, 0, full->n);
        break;
    case 6:
        SAY("{\"type\":\"absence\",\"where\":{\"field\":\"v\",\"cmp\":\"eq\",\"value\":%u},"
            "\"from\":\"%s.rows\",\"evidence\":[\"%s\"]}",
            v, id, id);
        d->is_true = !has_v(full, 0, full->n, v);
        break;
    case 7:
        SAY("{\"type\":\"boolean\",\"value\":%s,\"from\":\"%s.rows\",\"evidence\":[\"%s\"]}",
            n % 2 ? "true" : "false", id, id);
        d->is_true = (full->n > 0) == (n % 2);
        d->must_hold = n % 2 && seen > 0;
        break;
    case 8: {
        static const char *const cmps[] = {"lt", "le", "gt", "ge", "eq", "ne"};
        const unsigned c = draw(g, 6);
        SAY("{\"type\":\"comparison\",\"left\":\"%s.rows\",\"cmp\":\"%s\",\"right\":%u,"
            "\"evidence\":[\"%s\"]}", id, cmps[c], n, id);
        const bool truth[] = {full->n < n, full->n <= n, full->n > n, full->n >= n, full->n == n,
                              full->n != n};
        d->is_true = truth[c];
        d->must_hold = (c == 2 && seen > n) || (c == 3 && seen >= n);
        break;
    }
    case 9:
        SAY("{\"type\":\"value\",\"value\":%u,\"from\":\"%s.rows[%u].v\",\"evidence\":[\"%s\"]}", v, id,
            index, id);
        d->is_true = index < full->n && full->rows[index].v == v;
        break;
    case 10:
        SAY("{\"type\":\"interval\",\"interval\":{\"start\":%u,\"end\":%u},\"from\":\"%s.rows[%u]\","
            "\"evidence\":[\"%s\"]}",
            100 + v, 110 + v, id, index, id);
        d->is_true = index < full->n && full->rows[index].t == 100 + v;
        break;
    case 11:
        SAY("{\"type\":\"ratio\",\"num\":\"%s.rows\",\"den\":\"s1.rows_total\",\"value\":%s,"
            "\"evidence\":[\"s1\",\"%s\"]}", id,
            n % 2 ? "1" : "0.5", id);
        d->is_true = false; /* correct_ratio knows */
        break;
    default:
        SAY("{\"type\":\"comparison\",\"left\":%u,\"cmp\":\"le\",\"right\":\"%s.rows\","
            "\"evidence\":[\"%s\"]}", n, id, id);
        d->is_true = n <= full->n;
        d->must_hold = n <= seen;
        break;
    }
#undef SAY
}

/* The ratio's truth needs both lists, so it is judged here. */
static void correct_ratio(const scene *s, const list *full, drawn *d)
{
    if (strstr(d->text, "\"type\":\"ratio\"") == NULL)
        return;
    const bool one = strstr(d->text, "\"value\":1,") != NULL;
    d->is_true = s->whole.n > 0 && (one ? full->n == s->whole.n : full->n * 2 == s->whole.n);
}

static void run(uint64_t seed, size_t *supported, size_t *weak)
{
    gen g = {.state = seed};
    scene s;
    world w;
    make(&g, &s);
    build(&w, &s);
    for (size_t i = 0; i < CLAIMS_PER_RUN; i++) {
        const bool second = draw(&g, 2);
        list shown_kept;
        drawn d;
        keep(&s.whole, s.from, s.until, s.least, &shown_kept);
        if (second)
            draw_claim(&g, "s2", &s.kept, &shown_kept, 0, shown_kept.n, &d);
        else
            draw_claim(&g, "s1", &s.whole, &s.whole, s.from, s.until, &d);
        correct_ratio(&s, second ? &s.kept : &s.whole, &d);
        const mk_claim_result r = world_claim(&w, d.text);
        *supported += r.verdict == MK_SUPPORTED;
        *weak += r.verdict == MK_WEAKLY_SUPPORTED;
        if (r.verdict == MK_SUPPORTED && !d.is_true)
            fail_msg("MK_SEED=%llu: false but supported, rows %zu to %zu of %zu: %s",
                     (unsigned long long)seed, s.from, s.until, s.whole.n, d.text);

        if (d.must_hold && r.verdict != MK_SUPPORTED)
            fail_msg("MK_SEED=%llu: true and shown, but %s (%.*s), rows %zu to %zu of %zu: %s",
                     (unsigned long long)seed,
                     mk_verdict_name(r.verdict), MK_STR_ARG(r.reason), s.from, s.until, s.whole.n, d.text);
    }
    world_end(&w);
}

static void test_claim_laws__nothing_false_is_supported(void **state)
{
    (void)state;
    size_t supported = 0, weak = 0;
    const char *one = getenv("MK_SEED");
    if (one != NULL) {
        run(strtoull(one, NULL, 10), &supported, &weak);
        return;
    }
    for (uint64_t seed = 1; seed <= RUNS; seed++)
        run(seed * UINT64_C(0x9E3779B97F4A7C15), &supported, &weak);
    /* The law is worth something only when both verdicts occur often. */
    assert_true(supported > 500 && weak > 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_claim_laws__nothing_false_is_supported)};
    return cmocka_run_group_tests_name("claim_laws", tests, NULL, NULL);
}

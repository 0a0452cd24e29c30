/* oracle_co_active.c — co_active by two nested loops. Source: operators spec, 7.11. */
#include "oracle.h"

#include <stdlib.h>

enum { CANDIDATES_MAX = 50000 };

/* ---- arguments ---- */

static const char *const relations[] = {"before", "meets", "overlaps", "starts", "during", "finishes",
                                        "equals", "after", "met_by", "overlapped_by", "started_by",
                                        "contains", "finished_by"};
enum { RELATIONS = sizeof relations / sizeof *relations };

static void gen_member(const oracle_world *world, const char *name, bool is_uid, bool *any, mk_buf *out)
{
    size_t n;
    const model_row *rows = model_rows(world->m, MODEL_EDGE, &n);
    if (!genops_chance(world->gen, is_uid ? 30 : 40))
        return;
    mk_buf_printf(out, "%s\"%s\":", *any ? "," : "", name);
    *any = true;
    if (genops_chance(world->gen, 10))
        mk_buf_z(out, genops_chance(world->gen, 50) ? "null" : "\"\"");
    else if (is_uid)
        oracle_gen_uid(world, out);
    else if (n == 0 || genops_chance(world->gen, 5))
        mk_buf_z(out, "\"NEVER_USED\"");
    else
        mk_canon_string(out, rows[genops_below(world->gen, n)].rel_type);
}

static void gen_selector(const oracle_world *world, const char *name, mk_buf *out)
{
    bool any = false;
    mk_buf_printf(out, "\"%s\":{", name);
    gen_member(world, "src", true, &any, out);
    gen_member(world, "dst", true, &any, out);
    gen_member(world, "rel_type", false, &any, out);
    mk_buf_z(out, "},");
}

static void args(const oracle_world *world, mk_buf *out)
{
    const uint64_t relation = genops_below(world->gen, RELATIONS);
    const int64_t span = world->vt_max - world->vt_min;
    mk_buf_c(out, '{');
    gen_selector(world, "a_spec", out);
    gen_selector(world, "b_spec", out);
    mk_buf_printf(out, "\"allen_relation\":{\"relation\":\"%s\"", relations[relation]);
    if (genops_chance(world->gen, relation % 7 == 0 ? 95 : 20)) {
        if (genops_chance(world->gen, 5))
            mk_buf_z(out, ",\"gap\":null");
        else if (genops_chance(world->gen, 5))
            mk_buf_z(out, ",\"gap\":9223372036854775807");
        else
            mk_buf_printf(out, ",\"gap\":%lld",
                          (long long)(1 + (int64_t)genops_below(world->gen, (uint64_t)span + 1)));
    }
    mk_buf_c(out, '}');
    oracle_gen_as_of(world, out);
    oracle_gen_page(world, true, out);
    mk_buf_c(out, '}');
}

/* ---- the answer ---- */

static bool is_named(mk_str name, const char *word) { return mk_str_eq(name, mk_str_of(word)); }

/* 0 < later - earlier <= gap, without overflow. */
static bool within(int64_t earlier, int64_t later, int64_t gap)
{
    return earlier < later && (uint64_t)later - (uint64_t)earlier <= (uint64_t)gap;
}

static bool has_relation(mk_str name, int64_t gap, const model_row *a, const model_row *b)
{
    if (is_named(name, "before"))
        return within(a->vt_e, b->vt_s, gap);
    if (is_named(name, "meets"))
        return a->vt_e == b->vt_s;
    if (is_named(name, "overlaps"))
        return a->vt_s < b->vt_s && b->vt_s < a->vt_e && a->vt_e < b->vt_e;
    if (is_named(name, "during"))
        return b->vt_s < a->vt_s && a->vt_e < b->vt_e;
    if (is_named(name, "starts"))
        return a->vt_s == b->vt_s && a->vt_e < b->vt_e;
    if (is_named(name, "finishes"))
        return b->vt_s < a->vt_s && a->vt_e == b->vt_e;
    if (is_named(name, "equals"))
        return a->vt_s == b->vt_s && a->vt_e == b->vt_e;
    if (is_named(name, "after"))
        return within(b->vt_e, a->vt_s, gap);
    if (is_named(name, "met_by"))
        return b->vt_e == a->vt_s;
    if (is_named(name, "overlapped_by"))
        return b->vt_s < a->vt_s && a->vt_s < b->vt_e && b->vt_e < a->vt_e;
    if (is_named(name, "contains"))
        return a->vt_s < b->vt_s && b->vt_e < a->vt_e;
    if (is_named(name, "started_by"))
        return a->vt_s == b->vt_s && b->vt_e < a->vt_e;
    return a->vt_s < b->vt_s && a->vt_e == b->vt_e; /* finished_by */
}

/* Whether the cap counts the pair: the condition on one start alone. */
static bool is_candidate(mk_str name, int64_t gap, const model_row *a, const model_row *b)
{
    if (is_named(name, "overlaps"))
        return a->vt_s < b->vt_s && b->vt_s < a->vt_e;
    if (is_named(name, "during") || is_named(name, "finishes"))
        return b->vt_s < a->vt_s;
    if (is_named(name, "overlapped_by"))
        return b->vt_s < a->vt_s && a->vt_s < b->vt_e;
    if (is_named(name, "contains") || is_named(name, "finished_by"))
        return a->vt_s < b->vt_s;
    if (is_named(name, "starts") || is_named(name, "started_by") || is_named(name, "equals"))
        return a->vt_s == b->vt_s;
    return has_relation(name, gap, a, b);
}

static bool admits(const mk_json *spec, const char *name, mk_str value)
{
    const mk_str wanted = oracle_text(spec, name);
    return wanted.n == 0 || mk_str_eq(wanted, value);
}

static model_list select_edges(const oracle_world *world, const mk_json *args_, const mk_json *spec,
                               mk_arena *arena)
{
    model_list list = oracle_edges(world, args_, arena);
    size_t n = 0;
    for (size_t i = 0; i < list.n; i++) {
        const model_row *v = list.rows[i];
        if (admits(spec, "src", v->src) && admits(spec, "dst", v->dst) &&
            admits(spec, "rel_type", v->rel_type))
            list.rows[n++] = v;
    }
    list.n = n;
    return list;
}

static bool knows_uids(const oracle_world *world, const mk_json *spec)
{
    const mk_str src = oracle_text(spec, "src"), dst = oracle_text(spec, "dst");
    return (src.n == 0 || model_knows(world->m, src)) && (dst.n == 0 || model_knows(world->m, dst));
}

static bool lacks_gap(const mk_json *allen)
{
    const mk_str name = oracle_text(allen, "relation");
    return (is_named(name, "before") || is_named(name, "after")) && oracle_is_null(allen, "gap");
}

/* ---- the list ---- */

typedef struct pair {
    const model_row *a, *b;
} pair;

static int by_number(int64_t x, int64_t y) { return (x > y) - (x < y); }

/* Scan order of a, then of b. Rows that share a vid (store spec, 24.2) differ in their ends, if at all. */
static int by_rows(const void *x, const void *y)
{
    const pair *p = x, *q = y;
    int order = model_scan_order(p->a, q->a);
    if (order == 0)
        order = model_scan_order(p->b, q->b);
    if (order == 0)
        order = by_number(p->a->vt_e, q->a->vt_e);
    return order != 0 ? order : by_number(p->b->vt_e, q->b->vt_e);
}

/* All pairs that fit, in order; *candidates counts what the cap is on. */
static pair *all_pairs(mk_arena *arena, model_list a, model_list b, mk_str name, int64_t gap,
                       size_t *candidates, size_t *total)
{
    pair *pairs = mk_arena_get(arena, (a.n * b.n + 1) * sizeof *pairs);
    if (pairs == NULL)
        abort();
    *candidates = *total = 0;
    for (size_t i = 0; i < a.n; i++)
        for (size_t j = 0; j < b.n; j++) {
            const model_row *x = a.rows[i], *y = b.rows[j];
            *candidates += is_candidate(name, gap, x, y);
            if (has_relation(name, gap, x, y) && !mk_str_eq(x->vid, y->vid))
                pairs[(*total)++] = (pair){x, y};
        }
    qsort(pairs, *total, sizeof *pairs, by_rows);
    return pairs;
}

static void put_pair(mk_buf *out, const pair *p)
{
    mk_buf_z(out, "{\"a\":");
    oracle_put_edge_row(out, p->a);
    mk_buf_z(out, ",\"b\":");
    oracle_put_edge_row(out, p->b);
    mk_buf_c(out, '}');
}

static void answer(const oracle_world *world, const mk_json *args_, mk_arena *arena, oracle_answer *out)
{
    const mk_json *a_spec = mk_json_get(args_, "a_spec"), *b_spec = mk_json_get(args_, "b_spec");
    const mk_json *allen = mk_json_get(args_, "allen_relation");
    size_t candidates, total;
    oracle_page page;

    if (lacks_gap(allen)) {
        oracle_fail(out, MK_E_INVALID_ARG);
        return;
    }
    if (!knows_uids(world, a_spec) || !knows_uids(world, b_spec)) {
        oracle_fail(out, MK_E_NOT_FOUND);
        return;
    }
    const pair *pairs = all_pairs(arena, select_edges(world, args_, a_spec, arena),
                                  select_edges(world, args_, b_spec, arena),
                                  oracle_text(allen, "relation"), oracle_int(allen, "gap", 0),
                                  &candidates, &total);
    if (candidates > CANDIDATES_MAX) {
        oracle_fail(out, MK_E_COST);
        return;
    }
    if (!oracle_page_of(args_, total, 100, &page, out))
        return;
    oracle_put_cursor(&out->payload, &page);
    mk_buf_z(&out->payload, ",\"rows\":[");
    for (size_t i = page.from; i < page.to; i++) {
        if (i > page.from)
            mk_buf_c(&out->payload, ',');
        put_pair(&out->payload, &pairs[i]);
    }
    mk_buf_printf(&out->payload, "],\"rows_total\":%zu,\"truncated\":%s}", total,
                  page.truncated ? "true" : "false");
}

const oracle oracle_co_active = {.op = "co_active", .args = args, .answer = answer};

/* oracle_version_history.c — version_history by sorting every version. Source: operators spec, 7.14. */
#include "oracle.h"

#include <stdlib.h>

static void args(const oracle_world *world, mk_buf *out)
{
    static const char *const beliefs[] = {"current", "superseded", "all"};
    const bool node = genops_chance(world->gen, 35);
    mk_buf_printf(out, "{\"kind\":\"%s\",\"window\":", node ? "node" : "edge");
    oracle_gen_window(world, out);
    if (genops_chance(world->gen, 75))
        mk_buf_printf(out, ",\"belief\":\"%s\"", beliefs[genops_below(world->gen, 3)]);
    if (genops_chance(world->gen, node ? 5 : 40)) {
        mk_buf_z(out, ",\"rel_types\":");
        oracle_gen_rel_types(world, out);
    }
    oracle_gen_as_of(world, out);
    oracle_gen_page(world, true, out);
    mk_buf_c(out, '}');
}

static bool passes(const model_row *row, const mk_json *rel_types)
{
    if (rel_types == NULL || rel_types->kind == MK_JSON_NULL)
        return true;
    for (size_t i = 0; i < rel_types->n; i++)
        if (mk_str_eq(rel_types->items[i].text, row->rel_type))
            return true;
    return false;
}

/* By (tt_s, vid); the order of writing decides between equals. */
static int by_belief(const void *x, const void *y)
{
    const model_row *a = *(const model_row *const *)x, *b = *(const model_row *const *)y;
    if (a->tt_s != b->tt_s)
        return a->tt_s < b->tt_s ? -1 : 1;
    const int c = mk_str_cmp(a->vid, b->vid);
    return c != 0 ? c : (a > b) - (a < b);
}

/* Old logs may hold one vid twice (store spec, oddity 2). Instants and lasting edges are stored apart, and so
 * are current and superseded rows; the order of writing between two such rows is not kept. */
static bool has_twins(const model_row **list, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (list[i - 1]->tt_s == list[i]->tt_s && mk_str_eq(list[i - 1]->vid, list[i]->vid))
            return true;
    return false;
}

static void put(mk_buf *out, const char *name, mk_str text)
{
    mk_buf_z(out, name);
    mk_canon_string(out, text);
}

static void put_row(mk_buf *out, const model_row *row, bool node, int64_t tt_e)
{
    if (node) {
        put(out, "{\"label\":", row->label);
    } else {
        if (row->disc_null)
            mk_buf_z(out, "{\"disc\":null");
        else
            put(out, "{\"disc\":", row->disc);
        put(out, ",\"dst\":", row->dst);
        put(out, ",\"eid\":", row->identity);
        put(out, ",\"rel_type\":", row->rel_type);
        put(out, ",\"src\":", row->src);
    }
    mk_buf_printf(out, ",\"tt_e\":%lld,\"tt_s\":%lld", (long long)tt_e, (long long)row->tt_s);
    if (node)
        put(out, ",\"uid\":", row->identity);
    put(out, ",\"vid\":", row->vid);
    mk_buf_printf(out, ",\"vt_e\":%lld,\"vt_s\":%lld}", (long long)row->vt_e, (long long)row->vt_s);
}

static void answer(const oracle_world *world, const mk_json *given, mk_arena *arena, oracle_answer *out)
{
    const mk_json *window = mk_json_get(given, "window");
    const int64_t t_a = oracle_int(window, "t_a", 0), t_b = oracle_int(window, "t_b", 0);
    const bool node = mk_str_eq(oracle_text(given, "kind"), MK_STR("node"));
    const mk_str belief = oracle_text(given, "belief");
    const bool superseded_only = mk_str_eq(belief, MK_STR("superseded"));
    const bool all = mk_str_eq(belief, MK_STR("all"));
    int64_t a = oracle_int(given, "as_of_tt", MK_OPEN_END);
    if (a > MK_OPEN_END - 1)
        a = MK_OPEN_END - 1;
    if (t_a >= t_b || (node && !oracle_is_null(given, "rel_types"))) {
        oracle_fail(out, MK_E_INVALID_ARG);
        return;
    }
    size_t n, kept = 0;
    const model_row *rows = model_rows(world->m, node ? MODEL_NODE : MODEL_EDGE, &n);
    const model_row **list = mk_arena_get(arena, (n + 1) * sizeof *list);
    for (size_t i = 0; i < n; i++) {
        const model_row *row = &rows[i];
        const bool superseded = row->tt_e <= a;
        if (row->tt_s <= a && row->vt_s < t_b && t_a < row->vt_e &&
            (all || superseded == superseded_only) && passes(row, mk_json_get(given, "rel_types")))
            list[kept++] = row;
    }
    qsort(list, kept, sizeof *list, by_belief);
    out->undecided = has_twins(list, kept);
    oracle_page page;
    if (!oracle_page_of(given, kept, 100, &page, out))
        return;
    oracle_put_cursor(&out->payload, &page);
    mk_buf_z(&out->payload, ",\"rows\":[");
    for (size_t i = page.from; i < page.to; i++) {
        if (i > page.from)
            mk_buf_c(&out->payload, ',');
        put_row(&out->payload, list[i], node, list[i]->tt_e <= a ? list[i]->tt_e : MK_OPEN_END);
    }
    mk_buf_printf(&out->payload, "],\"rows_total\":%zu,\"truncated\":%s}", kept,
                  page.truncated ? "true" : "false");
}

const oracle oracle_version_history = {.op = "version_history", .args = args, .answer = answer};

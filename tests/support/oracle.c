/* oracle.c — what the oracles of all operators share. See oracle.h. */
#include "oracle.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/num.h"

static void must(bool ok)
{
    if (!ok) {
        fputs("oracle: out of memory\n", stderr);
        abort();
    }
}

/* ---- arguments ---- */

int64_t oracle_int(const mk_json *args, const char *name, int64_t otherwise)
{
    const mk_json *value = mk_json_get(args, name);
    if (value == NULL || value->kind == MK_JSON_NULL)
        return otherwise;
    return value->kind == MK_JSON_FLOAT ? (int64_t)value->d : value->i;
}

bool oracle_bool(const mk_json *args, const char *name, bool otherwise)
{
    const mk_json *value = mk_json_get(args, name);
    return value != NULL ? value->b : otherwise;
}

mk_str oracle_text(const mk_json *args, const char *name)
{
    const mk_json *value = mk_json_get(args, name);
    return value != NULL && value->kind == MK_JSON_STRING ? value->text : MK_STR("");
}

bool oracle_is_null(const mk_json *args, const char *name)
{
    const mk_json *value = mk_json_get(args, name);
    return value == NULL || value->kind == MK_JSON_NULL;
}

void oracle_fail(oracle_answer *out, mk_code code)
{
    out->code = code;
    mk_buf_clear(&out->payload);
}

static bool is_listed(const mk_json *list, mk_str text)
{
    for (size_t i = 0; i < list->n; i++)
        if (mk_str_eq(list->items[i].text, text))
            return true;
    return false;
}

model_list oracle_edges(const oracle_world *world, const mk_json *args, mk_arena *arena)
{
    const int64_t as_of = oracle_int(args, "as_of_tt", MK_OPEN_END);
    model_list list = model_believed(world->m, arena, MODEL_EDGE, NULL, as_of);
    const mk_json *rel_types = mk_json_get(args, "rel_types");
    if (rel_types == NULL || rel_types->kind == MK_JSON_NULL)
        return list;
    size_t n = 0;
    for (size_t i = 0; i < list.n; i++)
        if (is_listed(rel_types, list.rows[i]->rel_type))
            list.rows[n++] = list.rows[i];
    list.n = n;
    return list;
}

/* ---- pages ---- */

/* A place in a list of n as slices have it: negative ones count from the end. */
static size_t slice_place(int64_t at, size_t n)
{
    if (at < 0)
        at += (int64_t)n;
    if (at < 0)
        return 0;
    return at < (int64_t)n ? (size_t)at : n;
}

bool oracle_page_of(const mk_json *args, size_t total, int64_t limit_default, oracle_page *page,
                    oracle_answer *out)
{
    const int64_t limit = oracle_int(args, "limit", limit_default);
    int64_t offset;
    if (!model_read_cursor(oracle_text(args, "cursor"), &offset)) {
        oracle_fail(out, MK_E_INVALID_ARG);
        return false;
    }
    page->total = total;
    page->from = slice_place(offset, total);
    page->to = slice_place(offset + limit, total);
    if (page->to < page->from)
        page->to = page->from;
    page->next = offset + (int64_t)(page->to - page->from);
    page->truncated = page->next < (int64_t)total;
    return true;
}

void oracle_put_cursor(mk_buf *out, const oracle_page *page)
{
    if (page->truncated)
        mk_buf_printf(out, "{\"cursor\":\"%lld\"", (long long)page->next);
    else
        mk_buf_z(out, "{\"cursor\":null");
}

/* ---- values ---- */

void oracle_put_edge_row(mk_buf *out, const model_row *row)
{
    mk_buf_z(out, "{\"dst\":");
    mk_canon_string(out, row->dst);
    mk_buf_z(out, ",\"eid\":");
    mk_canon_string(out, row->identity);
    mk_buf_z(out, ",\"rel_type\":");
    mk_canon_string(out, row->rel_type);
    mk_buf_z(out, ",\"src\":");
    mk_canon_string(out, row->src);
    mk_buf_z(out, ",\"vid\":");
    mk_canon_string(out, row->vid);
    mk_buf_printf(out, ",\"vt_e\":%lld,\"vt_s\":%lld}", (long long)row->vt_e, (long long)row->vt_s);
}

void oracle_put_float(mk_buf *out, double value)
{
    char text[64];
    mk_buf_put(out, text, mk_double_text(text, mk_round9(value)));
}

void oracle_put_json(mk_buf *out, mk_arena *arena, mk_json *tree)
{
    mk_json_round9(tree);
    must(mk_canon_tree(out, arena, tree, NULL) == MK_OK);
}

/* ---- random arguments ---- */

int64_t oracle_gen_time(const oracle_world *world)
{
    const int64_t span = world->vt_max - world->vt_min;
    if (genops_chance(world->gen, 3))
        return genops_chance(world->gen, 50) ? 0 : MK_OPEN_END;
    const int64_t t = world->vt_min - 2 + (int64_t)genops_below(world->gen, (uint64_t)span + 6);
    return t < 0 ? 0 : t;
}

void oracle_gen_window(const oracle_world *world, mk_buf *out)
{
    int64_t a = oracle_gen_time(world), b = oracle_gen_time(world);
    if (genops_chance(world->gen, 30)) {
        a = world->vt_min;
        b = world->vt_max + 5;
    }
    if (a > b && !genops_chance(world->gen, 3)) {
        const int64_t swap = a;
        a = b;
        b = swap;
    }
    if (a == b && a < MK_OPEN_END && !genops_chance(world->gen, 10))
        b = a + 1;
    mk_buf_printf(out, "{\"t_a\":%lld,\"t_b\":%lld}", (long long)a, (long long)b);
}

void oracle_gen_uid(const oracle_world *world, mk_buf *out)
{
    if (genops_chance(world->gen, 2)) {
        mk_buf_z(out, "\"nobody\"");
        return;
    }
    const size_t count = model_entity_count(world->m);
    if (count == 0)
        mk_canon_string(out, genops_uid(world->gen, 0));
    else
        mk_canon_string(out, model_entity(world->m, genops_below(world->gen, count)));
}

void oracle_gen_uids(const oracle_world *world, size_t max, mk_buf *out)
{
    const size_t count = 1 + genops_below(world->gen, max);
    mk_buf_c(out, '[');
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            mk_buf_c(out, ',');
        oracle_gen_uid(world, out);
    }
    mk_buf_c(out, ']');
}

void oracle_gen_rel_types(const oracle_world *world, mk_buf *out)
{
    size_t n;
    const model_row *rows = model_rows(world->m, MODEL_EDGE, &n);
    if (n == 0 || genops_chance(world->gen, 50)) {
        mk_buf_z(out, "null");
        return;
    }
    const size_t count = genops_below(world->gen, 3);
    mk_buf_c(out, '[');
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            mk_buf_c(out, ',');
        if (genops_chance(world->gen, 5))
            mk_buf_z(out, "\"NEVER_USED\"");
        else
            mk_canon_string(out, rows[genops_below(world->gen, n)].rel_type);
    }
    mk_buf_c(out, ']');
}

void oracle_gen_as_of(const oracle_world *world, mk_buf *out)
{
    if (world->as_of != MK_OPEN_END)
        mk_buf_printf(out, ",\"as_of_tt\":%lld", (long long)world->as_of);
    else if (genops_chance(world->gen, 20))
        mk_buf_printf(out, ",\"as_of_tt\":%lld",
                      (long long)(MK_OPEN_END - (int64_t)genops_below(world->gen, 2)));
}

void oracle_gen_page(const oracle_world *world, bool with_cursor, mk_buf *out)
{
    if (genops_chance(world->gen, 40))
        mk_buf_printf(out, ",\"limit\":%d", 1 + (int)genops_below(world->gen, 6));
    if (!with_cursor || genops_chance(world->gen, 70))
        return;
    if (genops_chance(world->gen, 5))
        mk_buf_z(out, ",\"cursor\":\"x\"");
    else if (genops_chance(world->gen, 10))
        mk_buf_z(out, ",\"cursor\":null");
    else
        mk_buf_printf(out, ",\"cursor\":\"%d\"", (int)genops_below(world->gen, 12));
}

/* result_text.c — the envelope of a call as tables for people. Layer: cli.
 *
 * Lists of objects become tables, everything else "name  value" lines. The operator's table of fields says
 * which integers are times, and in which order members come. */
#include "cli/result_text.h"

#include <stdio.h>

#define COLUMNS_MAX 24

/* One value on one line: times in both forms, text as it is, everything nested as canonical JSON. */
static mk_code value_text(mk_arena *arena, const mk_json *value, const mk_field *field, mk_buf *out,
                          mk_err *err)
{
    if (value == NULL)
        return MK_OK;
    if (value->kind == MK_JSON_STRING) {
        mk_buf_str(out, value->text);
        return MK_OK;
    }
    if (value->kind == MK_JSON_INT && !value->b && field != NULL && field->type == MK_FIELD_TIME) {
        mk_text_time(out, value->i);
        return MK_OK;
    }
    if (value->kind == MK_JSON_NULL) {
        mk_buf_c(out, '-');
        return MK_OK;
    }
    return mk_canon_tree(out, arena, value, err);
}

static mk_code put_line(mk_cli *cli, mk_arena *arena, const char *name, const mk_json *value,
                        const mk_field *field, mk_err *err)
{
    mk_buf text, line;
    mk_code rc;
    mk_buf_init(&text, cli->alloc);
    mk_buf_init(&line, cli->alloc);
    MK_TRY(rc, value_text(arena, value, field, &text, err));
    MK_TRY(rc, mk_buf_done(&text, err));
    mk_buf_printf(&line, "%-18s ", name);
    mk_text_safe(&line, mk_buf_view(&text));
    mk_buf_c(&line, '\n');
    rc = mk_cli__put_buf(cli, &line, err);
out:
    mk_buf_free(&line);
    mk_buf_free(&text);
    return rc;
}

/* ---- lists of objects ---- */

static size_t table_columns(const mk_field *members, const mk_json *rows, const mk_field **columns)
{
    size_t n = 0;
    for (const mk_field *f = members; f->name != NULL && n < COLUMNS_MAX; f++) {
        bool used = !f->optional;
        for (size_t i = 0; !used && i < rows->n; i++)
            used = mk_json_get(&rows->items[i], f->name) != NULL;
        if (used)
            columns[n++] = f;
    }
    return n;
}

static bool right_aligned(const mk_field *field)
{
    return field->type == MK_FIELD_INTEGER || field->type == MK_FIELD_FLOAT ||
           field->type == MK_FIELD_NUMBER;
}

/* The rows as texts, column by column within each row, and which columns say the same in all of them. */
typedef struct grid {
    const mk_field *columns[COLUMNS_MAX];
    bool same[COLUMNS_MAX];
    size_t column_count, row_count;
    mk_str *cells;
} grid;

static mk_code fill_grid(grid *g, mk_cli *cli, mk_arena *arena, const mk_json *rows, mk_err *err)
{
    mk_buf text;
    size_t size;
    mk_code rc = MK_OK;
    mk_buf_init(&text, cli->alloc);
    if (!mk_size_mul(g->column_count * sizeof(mk_str), rows->n, &size) ||
        (g->cells = mk_arena_get(arena, size)) == NULL) {
        rc = mk_fail_nomem(err);
        goto out;
    }
    g->row_count = rows->n;
    for (size_t i = 0; i < rows->n * g->column_count; i++) {
        const size_t c = i % g->column_count;
        const mk_json *row = &rows->items[i / g->column_count];
        mk_buf_clear(&text);
        MK_TRY(rc, value_text(arena, mk_json_get(row, g->columns[c]->name), g->columns[c], &text, err));
        MK_TRY(rc, mk_buf_done(&text, err));
        g->cells[i] = mk_arena_copy(arena, mk_buf_view(&text));
        if (g->cells[i].p == NULL && text.n != 0) {
            rc = mk_fail_nomem(err);
            goto out;
        }
        g->same[c] = i < g->column_count || (g->same[c] && mk_str_eq(g->cells[i], g->cells[c]));
    }
out:
    mk_buf_free(&text);
    return rc;
}

/* What is the same in every row is said once, so that the table stays narrow. */
static mk_code put_same(const grid *g, mk_cli *cli, mk_err *err)
{
    mk_buf out;
    mk_code rc;
    mk_buf_init(&out, cli->alloc);
    for (size_t c = 0; c < g->column_count; c++)
        if (g->same[c]) {
            mk_buf_printf(&out, g->row_count == 1 ? "  %-16s " : "  all %-12s ", g->columns[c]->name);
            mk_text_safe(&out, g->cells[c]);
            mk_buf_c(&out, '\n');
        }
    rc = mk_cli__put_buf(cli, &out, err);
    mk_buf_free(&out);
    return rc;
}

static mk_code put_rows(mk_cli *cli, mk_arena *arena, const mk_field *members, const mk_json *rows,
                        mk_err *err)
{
    grid g = {0};
    const char *names[COLUMNS_MAX];
    bool numeric[COLUMNS_MAX];
    size_t shown = 0;
    mk_table table;
    mk_code rc;
    g.column_count = table_columns(members, rows, g.columns);
    MK_TRY(rc, fill_grid(&g, cli, arena, rows, err));
    MK_TRY(rc, put_same(&g, cli, err));
    for (size_t c = 0; c < g.column_count; c++)
        if (!g.same[c]) {
            numeric[shown] = right_aligned(g.columns[c]);
            names[shown++] = g.columns[c]->name;
        }
    if (shown == 0)
        goto out;
    MK_TRY(rc, mk_table_begin(&table, arena, names, shown, err));
    memcpy(table.numeric, numeric, shown * sizeof *numeric);
    for (size_t i = 0; i < g.row_count * g.column_count; i++)
        if (!g.same[i % g.column_count])
            MK_TRY(rc, mk_table_cell(&table, g.cells[i], err));
    rc = mk_table_put(cli, &table, err);
out:
    return rc;
}

static mk_code put_list(mk_cli *cli, mk_arena *arena, const mk_field *field, const mk_json *list,
                        mk_err *err)
{
    char head[120];
    mk_code rc;
    const mk_field *members =
        field->item != NULL && field->item->type == MK_FIELD_OBJECT ? field->item->members : NULL;
    if (list->n == 0 || members == NULL || list->items[0].kind != MK_JSON_OBJECT)
        return list->n == 0 ? put_line(cli, arena, field->name, &(mk_json){.kind = MK_JSON_NULL}, NULL, err)
                            : put_line(cli, arena, field->name, list, field, err);
    snprintf(head, sizeof head, "\n%s (%zu)\n", field->name, list->n);
    MK_TRY(rc, mk_cli__put(cli, mk_str_of(head), err));
    MK_TRY(rc, put_rows(cli, arena, members, list, err));
    rc = mk_cli__put(cli, MK_STR("\n"), err);
out:
    return rc;
}

/* ---- the whole ---- */

static const mk_field time_field = {.name = "time", .type = MK_FIELD_TIME};

/* Members that the envelope has beside the payload. */
static mk_code put_own(mk_cli *cli, mk_arena *arena, const mk_json *tree, mk_err *err)
{
    static const char *const names[] = {"estimate", "ceilings", "completeness", "result_digest"};
    mk_code rc = MK_OK;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && rc == MK_OK; i++) {
        const mk_json *value = mk_json_get(tree, names[i]);
        if (value != NULL)
            rc = put_line(cli, arena, names[i], value, NULL, err);
    }
    return rc;
}

mk_code mk_result_put(mk_cli *cli, mk_arena *arena, const mk_operator *op, mk_str envelope, mk_err *err)
{
    mk_json *tree;
    mk_code rc;
    MK_TRY(rc, mk_json_parse(arena, envelope, NULL, &tree, err));
    const mk_json *as_of = mk_json_get(mk_json_get(tree, "args_echo"), "as_of_tt");
    MK_TRY(rc, put_line(cli, arena, "operator", mk_json_get(tree, "op"), NULL, err));
    if (as_of != NULL && as_of->kind == MK_JSON_INT && as_of->i < MK_OPEN_END)
        MK_TRY(rc, put_line(cli, arena, "as believed at", as_of, &time_field, err));
    for (const mk_field *f = op->fields; f->name != NULL; f++) {
        const mk_json *value = mk_json_get(tree, f->name);
        if (value == NULL)
            continue;
        if (value->kind == MK_JSON_ARRAY)
            MK_TRY(rc, put_list(cli, arena, f, value, err));
        else
            MK_TRY(rc, put_line(cli, arena, f->name, value, f, err));
    }
    rc = put_own(cli, arena, tree, err);
out:
    return rc;
}

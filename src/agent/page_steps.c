/* page_steps.c — one card for each step: what was asked, what came back, what is not complete. Layer:
 * agent.
 *
 * Every value that a claim can cite has an element with the name that claims link to (mk_html__anchor). Of a
 * long list the first rows are shown, and every row that a claim cites. */
#include "agent/page_internal.h"

#include <stdio.h>

enum { COLUMNS_MAX = 14, CELL_MAX = 160, ARGS_MAX = 4000, DIGEST_SHOWN = 16 };

const mk_json *mk_html__call(const mk_html *page, const mk_json *step)
{
    return mk_json_get_n(page->calls, mk_html__member(step, "call_digest"));
}

const mk_json *mk_html__payload(const mk_html *page, const mk_json *step)
{
    return mk_json_get_n(page->payloads, mk_html__member(step, "result_digest"));
}

/* ---- values ---- */

static const mk_field *find_field(const mk_field *fields, mk_str name)
{
    for (const mk_field *f = fields; f != NULL && f->name != NULL; f++)
        if (mk_str_eq(mk_str_of(f->name), name))
            return f;
    return NULL;
}

static void put_value(mk_html *page, const mk_json *value, const mk_field *field)
{
    if (value == NULL)
        return;
    if (value->kind == MK_JSON_INT && !value->b && field != NULL && field->type == MK_FIELD_TIME)
        mk_html__time(page->out, value->i);
    else if (value->kind == MK_JSON_STRING)
        mk_html__clipped(page->out, value->text, CELL_MAX);
    else
        mk_html__json(page, value, false, CELL_MAX);
}

/* Every reason why a field is not complete, as words for people. */
static void put_reasons(mk_html *page, const mk_json *reasons)
{
    for (size_t i = 0; reasons != NULL && reasons->kind == MK_JSON_ARRAY && i < reasons->n; i++) {
        mk_buf_z(page->out, "<span class=gap title=\"");
        mk_html__json(page, &reasons->items[i], false, CELL_MAX);
        mk_buf_z(page->out, "\">");
        mk_html__text(page->out, mk_html__member(&reasons->items[i], "reason"));
        mk_buf_z(page->out, "</span> ");
    }
}

/* ---- lists ---- */

typedef struct columns {
    mk_str names[COLUMNS_MAX];
    const mk_field *fields[COLUMNS_MAX];
    size_t count;
} columns;

static void add_column(columns *c, mk_str name, const mk_field *field)
{
    for (size_t i = 0; i < c->count; i++)
        if (mk_str_eq(c->names[i], name))
            return;
    if (c->count == COLUMNS_MAX)
        return;
    c->names[c->count] = name;
    c->fields[c->count++] = field;
}

/* In the order of the operator's table, then what the rows have beside it. */
static void find_columns(const mk_json *list, const mk_field *field, columns *c)
{
    const mk_field *item = field != NULL ? field->item : NULL;
    const mk_field *members = item != NULL && item->type == MK_FIELD_OBJECT ? item->members : NULL;
    for (const mk_field *f = members; f != NULL && f->name != NULL; f++)
        for (size_t i = 0; i < list->n && i < MK_HTML_ROWS; i++)
            if (mk_json_get(&list->items[i], f->name) != NULL)
                add_column(c, mk_str_of(f->name), f);
    for (size_t i = 0; i < list->n && i < MK_HTML_ROWS; i++)
        for (size_t m = 0; list->items[i].kind == MK_JSON_OBJECT && m < list->items[i].n; m++)
            add_column(c, list->items[i].members[m].key,
                       find_field(members, list->items[i].members[m].key));
}

static bool is_cited(const mk_html *page, mk_str step, mk_str name, size_t row)
{
    for (size_t i = 0; i < page->cited_count; i++) {
        const mk_ref *ref = &page->cited[i];
        if (ref->count != 0 && mk_str_eq(ref->step, step) && mk_str_eq(ref->segments[0].name, name) &&
            ref->segments[0].index == MK_REF_AT && ref->segments[0].at == row)
            return true;
    }
    return false;
}

static void put_row(mk_html *page, const columns *c, const mk_json *row, mk_str step, mk_str name,
                    size_t index)
{
    mk_buf *out = page->out;
    mk_buf_z(out, is_cited(page, step, name, index) ? "<tr class=cited id=\"" : "<tr id=\"");
    mk_html__text(out, step);
    mk_buf_c(out, '.');
    mk_html__text(out, name);
    mk_buf_printf(out, "-%zu\"><th scope=row>%zu</th>", index, index);
    if (row->kind != MK_JSON_OBJECT) {
        mk_buf_z(out, "<td>");
        put_value(page, row, NULL);
        mk_buf_z(out, "</td>");
    }
    for (size_t i = 0; row->kind == MK_JSON_OBJECT && i < c->count; i++) {
        mk_buf_z(out, "<td>");
        put_value(page, mk_json_get_n(row, c->names[i]), c->fields[i]);
        mk_buf_z(out, "</td>");
    }
    mk_buf_z(out, "</tr>");
}

static void put_list(mk_html *page, mk_str step, mk_str name, const mk_json *list, const mk_field *field)
{
    mk_buf *out = page->out;
    columns c = {.count = 0};
    size_t shown = 0;
    find_columns(list, field, &c);
    mk_buf_z(out, "<div class=scroll tabindex=0><table><caption>");
    mk_html__text(out, name);
    mk_buf_printf(out, ": %zu %s</caption><thead><tr><th scope=col>#</th>", list->n,
                  list->n == 1 ? "row" : "rows");
    for (size_t i = 0; i < c.count; i++) {
        mk_buf_z(out, "<th scope=col>");
        mk_html__text(out, c.names[i]);
        mk_buf_z(out, "</th>");
    }
    mk_buf_z(out, c.count == 0 ? "<th scope=col>value</th></tr></thead><tbody>" : "</tr></thead><tbody>");
    for (size_t i = 0; i < list->n; i++)
        if (i < MK_HTML_ROWS || is_cited(page, step, name, i)) {
            put_row(page, &c, &list->items[i], step, name, i);
            shown++;
        }
    mk_buf_z(out, "</tbody></table></div>");
    if (shown < list->n)
        mk_buf_printf(out, "<p class=more>%zu more rows are in the bundle.</p>", list->n - shown);
}

/* ---- a card ---- */

static void put_payload(mk_html *page, mk_str step, const mk_field *fields, const mk_json *payload,
                        const mk_json *completeness)
{
    mk_buf *out = page->out;
    if (payload == NULL || payload->kind != MK_JSON_OBJECT) {
        mk_buf_z(out, "<p class=more>The result is not part of this page.</p>");
        return;
    }
    for (size_t i = 0; i < payload->n; i++) {
        const mk_str name = payload->members[i].key;
        const mk_json *value = &payload->members[i].value;
        mk_buf_z(out, "<div class=field id=\"");
        mk_html__text(out, step);
        mk_buf_c(out, '.');
        mk_html__text(out, name);
        mk_buf_z(out, "\">");
        put_reasons(page, mk_json_get_n(completeness, name));
        if (value->kind == MK_JSON_ARRAY) {
            put_list(page, step, name, value, find_field(fields, name));
        } else {
            mk_buf_z(out, "<span class=name>");
            mk_html__text(out, name);
            mk_buf_z(out, "</span> ");
            put_value(page, value, find_field(fields, name));
        }
        mk_buf_z(out, "</div>");
    }
}

static void put_head(mk_html *page, const mk_json *step)
{
    mk_buf *out = page->out;
    const mk_json *wall = mk_json_get(step, "wall_ms");
    const mk_str digest = mk_html__member(step, "result_digest"), status = mk_html__member(step, "status");
    int64_t rows;
    mk_buf_z(out, "<h3>");
    mk_html__text(out, mk_html__member(step, "step_id"));
    mk_buf_z(out, " <code>");
    mk_html__text(out, mk_html__member(step, "op"));
    mk_buf_z(out, "</code> <span class=\"status ");
    mk_html__text(out, status);
    mk_buf_z(out, "\">");
    mk_html__text(out, status);
    mk_buf_z(out, "</span></h3><p class=meta>");
    if (mk_html__integer(step, "rows_returned", &rows))
        mk_buf_printf(out, "%lld rows", (long long)rows);
    if (mk_html__integer(step, "rows_total", &rows))
        mk_buf_printf(out, " of %lld", (long long)rows);
    if (wall != NULL && wall->kind != MK_JSON_NULL) {
        mk_buf_z(out, " · ");
        mk_html__json(page, wall, false, 24);
        mk_buf_z(out, " ms");
    }
    if (digest.n != 0) {
        mk_buf_z(out, " · result <code>");
        mk_html__text(out, (mk_str){digest.p, digest.n < DIGEST_SHOWN ? digest.n : DIGEST_SHOWN});
        mk_buf_z(out, "…</code>");
    }
    mk_buf_z(out, "</p>");
}

static const mk_json *planned_args(const mk_html *page, mk_str id)
{
    const mk_json *steps = mk_html__list(page->plan, "steps");
    for (size_t i = 0; steps != NULL && i < steps->n; i++)
        if (mk_str_eq(mk_html__member(&steps->items[i], "id"), id))
            return mk_json_get(&steps->items[i], "args");
    return NULL;
}

static void put_args(mk_html *page, const char *title, const mk_json *args)
{
    if (args == NULL)
        return;
    mk_buf_printf(page->out, "<details><summary>%s</summary><pre tabindex=0>", title);
    mk_html__json(page, args, true, ARGS_MAX);
    mk_buf_z(page->out, "</pre></details>");
}

static void put_card(mk_html *page, const mk_json *step)
{
    mk_buf *out = page->out;
    const mk_str id = mk_html__member(step, "step_id");
    const mk_json *call = mk_html__call(page, step), *error = mk_json_get(step, "error");
    const mk_json *args = mk_json_get(call, "args");
    const mk_operator *op = mk_operator_find(mk_html__member(step, "op"));
    mk_buf_z(out, "<article class=step tabindex=-1 id=\"");
    mk_html__text(out, id);
    mk_buf_z(out, "\">");
    put_head(page, step);
    put_args(page, "arguments as planned", planned_args(page, id));
    put_args(page, "arguments as run, with every default", args);
    if (error != NULL && error->kind == MK_JSON_OBJECT) {
        mk_buf_z(out, "<p class=error>");
        mk_html__text(out, mk_html__member(error, "error"));
        mk_buf_z(out, ": ");
        mk_html__clipped(out, mk_html__member(error, "message"), ARGS_MAX);
        mk_buf_z(out, "</p>");
    } else {
        put_payload(page, id, op != NULL && args != NULL ? mk_operator_fields(op, args) : NULL,
                    mk_html__payload(page, step), mk_json_get(step, "completeness"));
    }
    mk_buf_z(out, "</article>\n");
}

void mk_html__steps(mk_html *page)
{
    const mk_json *steps = mk_html__list(page->trace, "steps");
    mk_buf_z(page->out, "<section aria-labelledby=h-steps><h2 id=h-steps>Steps</h2>\n");
    for (size_t i = 0; steps != NULL && i < steps->n; i++)
        put_card(page, &steps->items[i]);
    mk_buf_z(page->out, "</section>\n");
}

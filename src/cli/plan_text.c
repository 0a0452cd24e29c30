/* plan_text.c — traces for people. See plan_text.h. Layer: cli. */
#include "cli/plan_text.h"

#include "base/canon.h"

#define ANSWER_SHOWN 2000 /* bytes */

static mk_str text_of(const mk_json *object, const char *name)
{
    const mk_json *value = mk_json_get(object, name);
    return value != NULL && value->kind == MK_JSON_STRING ? value->text : MK_STR("");
}

static int64_t number_of(const mk_json *object, const char *name)
{
    const mk_json *value = mk_json_get(object, name);
    return value != NULL && value->kind == MK_JSON_INT && !value->b ? value->i : 0;
}

static mk_code put_value(mk_buf *out, mk_arena *arena, const mk_json *value, mk_err *err)
{
    mk_buf text;
    mk_code rc;
    mk_buf_init(&text, arena->alloc);
    MK_TRY(rc, mk_canon_tree(&text, arena, value, err));
    size_t cut = text.n > ANSWER_SHOWN ? ANSWER_SHOWN : text.n;
    while (cut > 0 && cut < text.n && ((unsigned char)text.p[cut] & 0xC0) == 0x80)
        cut--;
    mk_text_safe(out, (mk_str){text.p, cut});
    if (cut < text.n)
        mk_buf_printf(out, "... (%zu bytes in all; --json shows them)", text.n);
out:
    mk_buf_free(&text);
    return rc;
}

/* "rows: page, 100 of 343" and the like, for whatever is not complete. */
static void put_gap(mk_buf *out, const mk_json *gap)
{
    mk_text_safe(out, text_of(gap, "reason"));
    const int64_t shown = number_of(gap, "shown"), total = number_of(gap, "total");
    if (total != 0 && shown != 0)
        mk_buf_printf(out, " (%lld of %lld)", (long long)shown, (long long)total);
    else if (total != 0)
        mk_buf_printf(out, " (%lld)", (long long)total);
    if (text_of(gap, "via").n != 0) {
        mk_buf_z(out, " via ");
        mk_text_safe(out, text_of(gap, "via"));
    }
}

static mk_code put_steps(mk_cli *cli, mk_arena *arena, const mk_json *steps, mk_err *err)
{
    static const char *const heads[] = {"step", "operator", "status", "rows", "of", "ms", "call"};
    mk_table table;
    mk_buf cell;
    mk_code rc;
    mk_buf_init(&cell, arena->alloc);
    MK_TRY(rc, mk_table_begin(&table, arena, heads, 7, err));
    table.numeric[3] = table.numeric[4] = table.numeric[5] = true;
    for (size_t i = 0; i < steps->n; i++) {
        const mk_json *s = &steps->items[i], *error = mk_json_get(s, "error"),
                      *ms = mk_json_get(s, "wall_ms");
        MK_TRY(rc, mk_table_cell(&table, text_of(s, "step_id"), err));
        MK_TRY(rc, mk_table_cell(&table, text_of(s, "op"), err));
        MK_TRY(rc, mk_table_cell(&table, text_of(s, "status"), err));
        const char *const counts[] = {"rows_returned", "rows_total"};
        for (size_t k = 0; k < 2; k++) {
            mk_buf_clear(&cell);
            if (error == NULL)
                mk_text_count(&cell, (uint64_t)number_of(s, counts[k]));
            MK_TRY(rc, mk_table_cell(&table, mk_buf_view(&cell), err));
        }
        mk_buf_clear(&cell);
        if (ms != NULL && ms->kind == MK_JSON_FLOAT)
            mk_buf_printf(&cell, "%.1f", ms->d);
        MK_TRY(rc, mk_table_cell(&table, mk_buf_view(&cell), err));
        mk_str call = error != NULL ? text_of(error, "error") : text_of(s, "call_digest");
        if (error == NULL && call.n > 16)
            call.n = 16;
        MK_TRY(rc, mk_table_cell(&table, call, err));
    }
    rc = mk_table_put(cli, &table, err);
out:
    mk_buf_free(&cell);
    return rc;
}

static void put_errors(mk_buf *out, const mk_json *steps)
{
    for (size_t i = 0; i < steps->n; i++) {
        const mk_json *error = mk_json_get(&steps->items[i], "error");
        if (error == NULL)
            continue;
        mk_text_safe(out, text_of(&steps->items[i], "step_id"));
        mk_buf_z(out, ": ");
        mk_text_safe(out, text_of(error, "message"));
        mk_buf_c(out, '\n');
    }
}

static mk_code put_answer(mk_buf *out, mk_arena *arena, const mk_json *tree, uint32_t number, mk_err *err)
{
    const mk_json *gaps = mk_json_get(tree, "answer_gaps"), *error = mk_json_get(tree, "answer_error");
    mk_code rc = MK_OK;
    mk_buf_z(out, "answer       ");
    if (error != NULL && error->kind == MK_JSON_STRING) {
        mk_buf_z(out, "none: ");
        mk_text_safe(out, error->text);
    } else {
        MK_TRY(rc, put_value(out, arena, mk_json_get(tree, "answer"), err));
    }
    mk_buf_z(out, "\ncomplete     ");
    for (size_t i = 0; gaps != NULL && i < gaps->n; i++) {
        mk_buf_z(out, i ? ", " : "no: ");
        put_gap(out, &gaps->items[i]);
    }
    mk_buf_z(out, gaps == NULL || gaps->n == 0 ? "yes\nbelieved at  " : "\nbelieved at  ");
    mk_text_time(out, number_of(tree, "as_of_tt"));
    if (number != 0)
        mk_buf_printf(out, "\ntrace        %u", number);
    mk_buf_z(out, "\n\n");
out:
    return rc;
}

mk_code mk_plan_put_trace(mk_cli *cli, mk_arena *arena, mk_str trace, uint32_t number, mk_err *err)
{
    mk_json *tree;
    mk_buf out;
    mk_code rc;
    mk_buf_init(&out, arena->alloc);
    MK_TRY(rc, mk_json_parse(arena, trace, NULL, &tree, err));
    const mk_json *steps = mk_json_get(tree, "steps");
    if (steps == NULL || steps->kind != MK_JSON_ARRAY) {
        rc = mk_fail(err, MK_E_STATE, "the trace is damaged: it has no steps");
        mk_err_reason(err, "damaged");
        goto out;
    }
    MK_TRY(rc, put_answer(&out, arena, tree, number, err));
    MK_TRY(rc, mk_cli__put_buf(cli, &out, err));
    MK_TRY(rc, put_steps(cli, arena, steps, err));
    mk_buf_clear(&out);
    put_errors(&out, steps);
    rc = mk_cli__put_buf(cli, &out, err);
out:
    mk_buf_free(&out);
    return rc;
}

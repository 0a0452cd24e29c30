/* aggregate_props.c — numbers and verdicts from the properties of events. Layer: op.
 *
 * A segment stores equal props texts once, so a text is known by its address. The last few hundred texts
 * are remembered with everything the call wants to know of them; a row whose text is among them costs one
 * look at a table, any other one pass over its text. Source: operators spec, 7.13.5, 4.1. */
#include <math.h>

#include "base/canon.h"
#include "base/hash.h"
#include "base/num.h"
#include "op/aggregate_internal.h"
#include "op/value.h"

/* ---- opening ---- */

bool mk_agg__reads_props(const mk_agg_args *args)
{
    bool reads = args->value != NULL;
    for (size_t i = 0; i < args->fn_count; i++)
        reads |= args->fns[i].of == MK_OF_PROP;
    return reads;
}

/* A key as it stands between the quotes of canonical text, which holds no NUL. */
static mk_code canonical_key(mk_arena *arena, mk_str key, const char **out, mk_err *err)
{
    mk_buf buf;
    mk_code rc;
    mk_buf_init(&buf, arena->alloc);
    mk_canon_string(&buf, key);
    MK_TRY(rc, mk_buf_done(&buf, err));
    char *text = mk_arena_get(arena, buf.n - 1);
    if (text == NULL) {
        rc = mk_fail_nomem(err);
        goto out;
    }
    memcpy(text, buf.p + 1, buf.n - 2);
    text[buf.n - 2] = '\0';
    *out = text;
out:
    mk_buf_free(&buf);
    return rc;
}

mk_code mk_agg__reader_open(mk_agg_reader *reader, mk_view *view, mk_arena *arena,
                            const mk_agg_args *args, mk_err *err)
{
    mk_code rc = MK_OK;
    *reader = (mk_agg_reader){.view = view, .args = args};
    if (!mk_agg__reads_props(args))
        return MK_OK;
    if (args->value != NULL)
        MK_TRY(rc, canonical_key(arena, args->prop, &reader->filter_name, err));
    for (size_t i = 0; i < args->fn_count; i++)
        if (args->fns[i].of == MK_OF_PROP)
            MK_TRY(rc, canonical_key(arena, args->fns[i].prop, &reader->fn_name[i], err));
    reader->slots = mk_arena_get0(arena, MK_AGG_PROPS_SLOTS * sizeof *reader->slots);
    if (reader->slots == NULL)
        rc = mk_fail_nomem(err);
out:
    return rc;
}

/* ---- comparison ---- */

static int sign_of(int difference) { return (difference > 0) - (difference < 0); }

static mk_json as_json(const mk_agg_value *value)
{
    switch (value->kind) {
    case MK_AGG_INT: return (mk_json){.kind = MK_JSON_INT, .i = value->i};
    case MK_AGG_BIG: return (mk_json){.kind = MK_JSON_INT, .b = true, .text = value->digits};
    default: return (mk_json){.kind = MK_JSON_FLOAT, .d = value->d};
    }
}

int mk_agg__compare(const mk_agg_value *a, const mk_agg_value *b)
{
    const mk_json x = as_json(a), y = as_json(b);
    bool unordered;
    const int order = mk_number_compare(&x, &y, &unordered);
    return unordered ? 2 : sign_of(order);
}

/* ---- values ---- */

/* The number that canonical text is; NULL for any other value. */
static mk_agg_value number_of(mk_str raw)
{
    const char c = raw.n != 0 ? raw.p[0] : '\0';
    int64_t i;
    if (c != '-' && c != 'N' && c != 'I' && (c < '0' || c > '9'))
        return (mk_agg_value){.kind = MK_AGG_NULL};
    if (mk_str_to_i64(raw, &i))
        return (mk_agg_value){.kind = MK_AGG_INT, .i = i};
    if (c == 'N')
        return (mk_agg_value){.kind = MK_AGG_FLOAT, .d = NAN};
    if (c == 'I' || (raw.n > 1 && raw.p[1] == 'I'))
        return (mk_agg_value){.kind = MK_AGG_FLOAT, .d = c == '-' ? -INFINITY : INFINITY};
    for (size_t at = 1; at < raw.n; at++)
        if (raw.p[at] == '.' || raw.p[at] == 'e')
            return (mk_agg_value){.kind = MK_AGG_FLOAT, .d = mk_double_parse(raw)};
    return (mk_agg_value){.kind = MK_AGG_BIG, .digits = raw};
}

static mk_agg_verdict verdict_of(mk_agg_cmp cmp, int order)
{
    bool holds = false;
    switch (cmp) {
    case MK_CMP_EQ: holds = order == 0; break;
    case MK_CMP_NE: holds = order != 0; break;
    case MK_CMP_LT: holds = order == -1; break;
    case MK_CMP_LE: holds = order == -1 || order == 0; break;
    case MK_CMP_GT: holds = order == 1; break;
    case MK_CMP_GE: holds = order == 1 || order == 0; break;
    }
    return holds ? MK_VERDICT_TRUE : MK_VERDICT_FALSE;
}

/* Strings are compared as they read, not as they are written. */
static mk_code judge_string(const mk_agg_args *args, mk_arena *arena, mk_str raw,
                            mk_agg_verdict *verdict, mk_err *err)
{
    const mk_arena_mark mark = mk_arena_save(arena);
    mk_json *tree;
    mk_code rc;
    MK_TRY(rc, mk_json_parse(arena, raw, NULL, &tree, err));
    *verdict = verdict_of(args->cmp, sign_of(mk_str_cmp(tree->text, args->value->text)));
out:
    mk_arena_rewind(arena, mark);
    return rc;
}

static mk_code judge(const mk_agg_args *args, mk_arena *arena, mk_str raw, mk_agg_verdict *verdict,
                     mk_err *err)
{
    const mk_json *literal = args->value;
    const char c = raw.n != 0 ? raw.p[0] : '\0';
    *verdict = MK_VERDICT_SKIP;
    if (mk_is_number(literal)) {
        const mk_agg_value number = number_of(raw);
        const mk_json value = as_json(&number);
        bool unordered = false;
        const int order = mk_number_compare(&value, literal, &unordered);
        if (number.kind != MK_AGG_NULL)
            *verdict = verdict_of(args->cmp, unordered ? 2 : sign_of(order));
    } else if (literal->kind == MK_JSON_BOOL && (c == 't' || c == 'f')) {
        *verdict = verdict_of(args->cmp, (c == 't') - (int)literal->b);
    } else if (literal->kind == MK_JSON_STRING && c == '"') {
        return judge_string(args, arena, raw, verdict, err);
    }
    return MK_OK;
}

/* ---- reading ---- */

static mk_code read_text(const mk_agg_reader *reader, mk_arena *arena, mk_str text,
                         mk_agg_props *props, mk_err *err)
{
    const bool object = text.n != 0 && text.p[0] == '{'; /* a log may carry any value as props */
    mk_str raw;
    mk_code rc = MK_OK;
    *props = (mk_agg_props){.verdict = MK_VERDICT_SKIP};
    if (reader->filter_name != NULL && object && mk_canon_member(text, reader->filter_name, &raw))
        MK_TRY(rc, judge(reader->args, arena, raw, &props->verdict, err));
    for (size_t i = 0; i < reader->args->fn_count; i++)
        if (reader->fn_name[i] != NULL && object && mk_canon_member(text, reader->fn_name[i], &raw))
            props->value[i] = number_of(raw);
    props->text = text;
out:
    return rc;
}

mk_code mk_agg__read(mk_agg_reader *reader, mk_arena *arena, const mk_edge_ref *ref,
                     const mk_agg_props **props, mk_err *err)
{
    /* Props are read by part and row alone, whatever kind of version stands there. */
    const mk_node_ref row = {.part = ref->part, .row = ref->row};
    mk_str text;
    const mk_code rc = mk_view_node_props(reader->view, &row, &text, err);
    if (rc != MK_OK)
        return rc;
    mk_agg_props *slot =
        &reader->slots[mk_mix64((uint64_t)(uintptr_t)text.p) & (MK_AGG_PROPS_SLOTS - 1)];
    *props = slot;
    if (slot->text.p != NULL && slot->text.p == text.p && slot->text.n == text.n)
        return MK_OK;
    return read_text(reader, arena, text, slot, err);
}

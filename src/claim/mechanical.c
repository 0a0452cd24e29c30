/* mechanical.c — the answer that follows from a plan and its trace, no model involved. Layer: claim.
 *
 * Kind and value decide the claim: a number is a count or a value, a set is exactly that set, an interval
 * is that interval, each with the path it was taken from, so that it verifies. When the two do not fit
 * there is no claim, and the text says why. The reference's own claims can be had for comparison.
 * Source: agent spec, 11.4, O-11; evaluation spec, 6; decisions.md 5. */
#include "claim/claim_internal.h"

#include <stdio.h>

#define SERIES_MAX 50      /* rows of a series or paths that become claims */
#define ROW_MEMBERS_MAX 8  /* members of one such row: rows of operators have a handful */
#define MEMBER_NAME_MAX 60 /* longer names are no operator's */
#define EXCERPT_MAX 400    /* characters of JSON (evaluation spec, 6) */

typedef struct making {
    mk_arena *arena;
    mk_answers style;
    mk_str kind, from, step;
    bool is_path; /* `from` has a field */
    const mk_json *answer;
    mk_buf claims, text;
    size_t count;
} making;

/* ---- claims ---- */

/* {"evidence":["s2"],"from":"s2.rows", and the type's members in between follow the caller. */
static void open_claim(making *m, mk_str from)
{
    mk_buf_z(&m->claims, m->count++ > 0 ? ",{\"evidence\":[" : "{\"evidence\":[");
    mk_canon_string(&m->claims, m->step);
    mk_buf_c(&m->claims, ']');
    if (from.n == 0)
        return;
    mk_buf_z(&m->claims, ",\"from\":");
    mk_canon_string(&m->claims, from);
}

static void put_id(making *m) { mk_buf_printf(&m->claims, ",\"id\":\"c%zu\"", m->count); }

static mk_code put_value_claim(making *m, const char *type, mk_str from, const mk_json *value, mk_err *err)
{
    open_claim(m, from);
    put_id(m);
    mk_buf_printf(&m->claims, ",\"type\":\"%s\",\"value\":", type);
    const mk_code rc = mk_canon_tree(&m->claims, m->arena, value, err);
    mk_buf_c(&m->claims, '}');
    return rc;
}

static void put_interval_claim(making *m, mk_str from, mk_when when)
{
    open_claim(m, from);
    put_id(m);
    mk_buf_printf(&m->claims, ",\"interval\":{\"end\":%lld,\"start\":%lld},\"type\":\"interval\"}",
                  (long long)when.end, (long long)when.start);
}

static void put_set_claim(making *m, const char *type, mk_str from, const mk_json *uids)
{
    open_claim(m, from);
    put_id(m);
    mk_buf_printf(&m->claims, ",\"type\":\"%s\",\"uids\":[", type);
    for (size_t i = 0; i < uids->n; i++) {
        mk_buf_z(&m->claims, i > 0 ? "," : "");
        mk_canon_string(&m->claims, uids->items[i].text);
    }
    mk_buf_z(&m->claims, "]}");
}

static void say_mismatch(making *m, const char *what)
{
    mk_buf_z(&m->text, "No answer can be stated: ");
    mk_buf_z(&m->text, what);
    mk_buf_c(&m->text, '.');
}

/* ---- by kind ---- */

/* A list stands for its length where a number is asked for. */
static mk_code make_number(making *m, const char *type, mk_err *err)
{
    const mk_json number = m->answer->kind == MK_JSON_ARRAY && m->style == MK_ANSWERS_OURS &&
                                   mk_str_eq(m->kind, MK_STR("count"))
                               ? mk_claim__as_number(m->answer)
                               : *m->answer;
    if (!mk_claim__is_number(&number)) {
        say_mismatch(m, "a number was asked for, and the plan's result is none");
        return MK_OK;
    }
    mk_buf_z(&m->text, "The answer is ");
    mk_claim__number_words(&m->text, &number);
    mk_buf_c(&m->text, '.');
    return put_value_claim(m, type, m->is_path ? m->from : (mk_str){NULL, 0}, &number, err);
}

static mk_code make_value(making *m, mk_err *err)
{
    const bool ours = m->style == MK_ANSWERS_OURS && m->is_path;
    if (ours && m->answer->kind == MK_JSON_STRING) {
        mk_buf_z(&m->text, "The answer is ");
        mk_buf_str(&m->text, m->answer->text);
        mk_buf_c(&m->text, '.');
        return put_value_claim(m, "value", m->from, m->answer, err);
    }
    if (ours && m->answer->kind == MK_JSON_BOOL) {
        mk_buf_z(&m->text, m->answer->b ? "The answer is yes." : "The answer is no.");
        return put_value_claim(m, "boolean", m->from, m->answer, err);
    }
    return make_number(m, "value", err);
}

/* The identifiers of the answer in row order, the first of equals kept. */
static mk_code distinct_uids(making *m, mk_json *out, bool *all, mk_err *err)
{
    mk_str *uids, *sorted;
    size_t count;
    const mk_code rc = mk_claim__uids_of(m->answer, m->arena, &uids, &count, all, err);
    if (rc != MK_OK)
        return rc;
    *out = (mk_json){.kind = MK_JSON_ARRAY, .items = mk_arena_get(m->arena, count * sizeof(mk_json))};
    sorted = mk_arena_get(m->arena, count * sizeof *sorted);
    bool *taken = mk_arena_get0(m->arena, count * sizeof *taken);
    if (out->items == NULL || sorted == NULL || taken == NULL)
        return mk_fail_nomem(err);
    if (count > 0)
        memcpy(sorted, uids, count * sizeof *sorted);
    const size_t kinds = mk_lexicon_sort(sorted, count);
    for (size_t i = 0; i < count; i++) {
        size_t low = 0, high = kinds;
        while (low < high) {
            const size_t middle = low + (high - low) / 2;
            if (mk_str_cmp(sorted[middle], uids[i]) < 0)
                low = middle + 1;
            else
                high = middle;
        }
        if (!taken[low])
            out->items[out->n++] = (mk_json){.kind = MK_JSON_STRING, .text = uids[i]};
        taken[low] = true;
    }
    return MK_OK;
}

static mk_code make_set(making *m, mk_err *err)
{
    const bool ours = m->style == MK_ANSWERS_OURS;
    mk_json uids;
    bool all;
    if (m->answer->kind != MK_JSON_ARRAY || (ours && !m->is_path)) {
        say_mismatch(m, "a set was asked for, and the plan's result is no list");
        return MK_OK;
    }
    const mk_code rc = distinct_uids(m, &uids, &all, err);
    if (rc != MK_OK)
        return rc;
    if (!all && ours) {
        say_mismatch(m, "a set of identifiers was asked for, and not every row of the result has one");
        return MK_OK;
    }
    if (uids.n == 0) {
        mk_buf_z(&m->text, "There are none.");
    } else {
        if (ours) {
            mk_buf_u64(&m->text, uids.n);
            mk_buf_z(&m->text, uids.n == 1 ? " is found: " : " are found: ");
        }
        mk_claim__list_words(&m->text, &uids);
        mk_buf_c(&m->text, '.');
    }
    put_set_claim(m, ours ? "set_equal" : "entity", ours ? m->from : (mk_str){NULL, 0}, &uids);
    return MK_OK;
}

static mk_code make_interval(making *m, mk_err *err)
{
    mk_when when;
    if (!mk_claim__row_interval(m->answer, &when) || (m->style == MK_ANSWERS_OURS && !m->is_path)) {
        say_mismatch(m, "an interval was asked for, and the plan's result is none");
        return MK_OK;
    }
    const mk_json start = {.kind = MK_JSON_INT, .i = when.start}, end = {.kind = MK_JSON_INT, .i = when.end};
    mk_buf_z(&m->text, "The interval is from ");
    mk_claim__number_words(&m->text, &start);
    mk_buf_z(&m->text, " to ");
    mk_claim__number_words(&m->text, &end);
    mk_buf_z(&m->text, ", the end not included.");
    if (m->style == MK_ANSWERS_REFERENCE)
        return put_value_claim(m, "value", m->is_path ? (mk_str){NULL, 0} : m->from, &start, err);
    put_interval_claim(m, m->from, when);
    return MK_OK;
}

/* ---- series and paths ---- */

/* "s2.rows" and i: "s2.rows[i]"; "s2.rows[*].value" and i: "s2.rows[i].value". */
static mk_code item_path(making *m, size_t i, const char *more, mk_str *out, mk_err *err)
{
    mk_buf buf;
    const char *star = memchr(m->from.p, '*', m->from.n);
    const size_t head = star != NULL ? (size_t)(star - m->from.p) : m->from.n;
    mk_buf_init(&buf, m->arena->alloc);
    mk_buf_put(&buf, m->from.p, head);
    mk_buf_printf(&buf, star != NULL ? "%zu" : "[%zu]", i);
    if (star != NULL)
        mk_buf_put(&buf, star + 1, m->from.n - head - 1);
    mk_buf_z(&buf, more);
    return mk_claim__keep(&buf, m->arena, out, err);
}

/* One number, text or interval in row `i`, with its path, behind `lead`. Anything else says nothing. */
static mk_code make_item(making *m, size_t i, const char *field, const char *lead, const mk_json *value,
                         mk_err *err)
{
    mk_when when;
    mk_str path;
    mk_code rc = MK_OK;
    const bool text = value->kind == MK_JSON_STRING, number = mk_claim__is_number(value);
    if (!text && !number && !mk_claim__row_interval(value, &when))
        return MK_OK;
    MK_TRY(rc, item_path(m, i, field, &path, err));
    mk_buf_z(&m->text, lead);
    if (text || number) {
        if (text)
            mk_buf_str(&m->text, value->text);
        else
            mk_claim__number_words(&m->text, value);
        return put_value_claim(m, "value", path, value, err);
    }
    const mk_json start = {.kind = MK_JSON_INT, .i = when.start}, end = {.kind = MK_JSON_INT, .i = when.end};
    mk_buf_z(&m->text, "from ");
    mk_claim__number_words(&m->text, &start);
    mk_buf_z(&m->text, " to ");
    mk_claim__number_words(&m->text, &end);
    put_interval_claim(m, path, when);
out:
    return rc;
}

/* Whether a path can lead to a member of that name. */
static bool has_path(mk_str name)
{
    for (size_t i = 0; i < name.n; i++) {
        const char c = name.p[i];
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && (i == 0 || c < '0' || c > '9'))
            return false;
    }
    return name.n > 0 && name.n <= MEMBER_NAME_MAX;
}

/* A row without the member that a series is about: all its numbers and texts. */
static mk_code make_members(making *m, size_t i, const mk_json *row, mk_err *err)
{
    const size_t before = m->count;
    char field[MEMBER_NAME_MAX + 2];
    mk_code rc = MK_OK;
    for (size_t k = 0; k < row->n && k < ROW_MEMBERS_MAX; k++) {
        if (!has_path(row->members[k].key) || row->members[k].value.kind == MK_JSON_OBJECT)
            continue;
        snprintf(field, sizeof field, ".%.*s", MK_STR_ARG(row->members[k].key));
        MK_TRY(rc, make_item(m, i, field, m->count == before ? "Then " : ", ", &row->members[k].value, err));
    }
    mk_buf_z(&m->text, m->count == before ? "" : ". ");
out:
    return rc;
}

static mk_code make_series_row(making *m, size_t i, mk_err *err)
{
    const mk_json *row = &m->answer->items[i];
    const mk_json *value = row->kind == MK_JSON_OBJECT ? mk_json_get(row, "value") : row;
    const char *field = row->kind == MK_JSON_OBJECT ? ".value" : "";
    const size_t before = m->count;
    const char *lead = "Then ";
    mk_when when;
    mk_str path;
    mk_code rc = MK_OK;
    if (row->kind == MK_JSON_OBJECT && value == NULL && (value = mk_json_get(row, "degree")) != NULL)
        field = ".degree";
    if (value == NULL)
        return make_members(m, i, row, err);
    if (mk_claim__is_number(value) && mk_claim__row_interval(row, &when)) {
        MK_TRY(rc, item_path(m, i, "", &path, err));
        put_interval_claim(m, path, when);
        const mk_json start = {.kind = MK_JSON_INT, .i = when.start};
        mk_buf_z(&m->text, "From ");
        mk_claim__number_words(&m->text, &start);
        lead = ": ";
    }
    MK_TRY(rc, make_item(m, i, field, lead, value, err));
    mk_buf_z(&m->text, m->count == before ? "" : ". ");
out:
    return rc;
}

static mk_code put_hops(making *m, const mk_json *edges, mk_str path, mk_err *err)
{
    open_claim(m, path);
    mk_buf_z(&m->claims, ",\"hops\":[");
    mk_buf_z(&m->text, "The path goes ");
    for (size_t i = 0; i < edges->n; i++) {
        const mk_json *src = mk_json_get(&edges->items[i], "src");
        const mk_json *dst = mk_json_get(&edges->items[i], "dst");
        const mk_json *t = mk_json_get(&edges->items[i], "t");
        mk_buf_z(&m->claims, i > 0 ? ",{\"dst\":" : "{\"dst\":");
        mk_canon_string(&m->claims, dst->text);
        mk_buf_z(&m->claims, ",\"src\":");
        mk_canon_string(&m->claims, src->text);
        mk_buf_z(&m->claims, ",\"t\":");
        mk_buf_i64(&m->claims, t->i);
        mk_buf_c(&m->claims, '}');
        mk_buf_z(&m->text, i > 0 ? ", then " : "");
        mk_buf_str(&m->text, src->text);
        mk_buf_z(&m->text, " to ");
        mk_buf_str(&m->text, dst->text);
        mk_buf_z(&m->text, " at ");
        mk_claim__number_words(&m->text, t);
    }
    mk_buf_z(&m->text, ". ");
    mk_buf_c(&m->claims, ']');
    put_id(m);
    mk_buf_z(&m->claims, ",\"type\":\"path\"}");
    return mk_buf_done(&m->claims, err);
}

static bool are_hops(const mk_json *edges)
{
    for (size_t i = 0; edges != NULL && edges->kind == MK_JSON_ARRAY && i < edges->n; i++) {
        const mk_json *src = mk_json_get(&edges->items[i], "src");
        const mk_json *dst = mk_json_get(&edges->items[i], "dst");
        int64_t t;
        if (src == NULL || src->kind != MK_JSON_STRING || dst == NULL || dst->kind != MK_JSON_STRING ||
            !mk_claim__i64(mk_json_get(&edges->items[i], "t"), &t))
            return false;
    }
    return edges != NULL && edges->kind == MK_JSON_ARRAY && edges->n > 0 && edges->n <= MK_CLAIM_HOPS_MAX;
}

static mk_code make_path_row(making *m, size_t i, mk_err *err)
{
    const mk_json *edges = mk_json_get(&m->answer->items[i], "edges");
    mk_str path;
    if (!are_hops(edges))
        return MK_OK;
    const mk_code rc = item_path(m, i, "", &path, err);
    return rc == MK_OK ? put_hops(m, edges, path, err) : rc;
}

static mk_code make_rows(making *m, bool paths, mk_err *err)
{
    for (size_t i = 0; i < m->answer->n && i < SERIES_MAX; i++) {
        const mk_code rc = paths ? make_path_row(m, i, err) : make_series_row(m, i, err);
        if (rc != MK_OK)
            return rc;
    }
    if (m->answer->n == 0) {
        const mk_json none = {.kind = MK_JSON_INT};
        mk_buf_z(&m->text, "There are none.");
        return put_value_claim(m, "count", m->from, &none, err);
    }
    if (m->count == 0)
        say_mismatch(m, "the rows of the result are not of the kind that was asked for");
    else if (m->answer->n > SERIES_MAX)
        mk_buf_z(&m->text, "There are more.");
    return MK_OK;
}

static mk_code put_excerpt(making *m, mk_err *err)
{
    mk_buf json;
    mk_buf_init(&json, m->arena->alloc);
    const mk_code rc = mk_canon_tree(&json, m->arena, m->answer, err);
    size_t n = json.n < EXCERPT_MAX ? json.n : EXCERPT_MAX;
    while (rc == MK_OK && n > 0 && n < json.n && ((unsigned char)json.p[n] & 0xC0) == 0x80)
        n--;
    if (rc == MK_OK)
        mk_buf_put(&m->text, json.p, n);
    mk_buf_free(&json);
    return rc;
}

static mk_code make(making *m, mk_err *err)
{
    const bool ours = m->style == MK_ANSWERS_OURS;
    if (m->answer == NULL || m->answer->kind == MK_JSON_NULL) {
        say_mismatch(m, "the plan's result is empty");
        return MK_OK;
    }
    if (mk_str_eq(m->kind, MK_STR("count")))
        return make_number(m, "count", err);
    if (mk_str_eq(m->kind, MK_STR("value")) && (ours || mk_claim__is_number(m->answer)))
        return make_value(m, err);
    if (mk_str_eq(m->kind, MK_STR("entity_set")))
        return make_set(m, err);
    if (mk_str_eq(m->kind, MK_STR("interval")))
        return make_interval(m, err);
    if (ours && mk_str_eq(m->kind, MK_STR("text")) && m->answer->kind == MK_JSON_STRING)
        return make_value(m, err);
    if (ours && m->is_path && m->answer->kind == MK_JSON_ARRAY &&
        (mk_str_eq(m->kind, MK_STR("series")) || mk_str_eq(m->kind, MK_STR("paths"))))
        return make_rows(m, mk_str_eq(m->kind, MK_STR("paths")), err);
    if (ours && !mk_str_eq(m->kind, MK_STR("text"))) {
        say_mismatch(m, "the result is not of the kind that was asked for");
        return MK_OK;
    }
    return put_excerpt(m, err);
}

static mk_str string_at(const mk_json *object, const char *key)
{
    const mk_json *value = mk_json_get(object, key);
    return value != NULL && value->kind == MK_JSON_STRING ? value->text : (mk_str){NULL, 0};
}

mk_code mk_answer_mechanical(const mk_json *plan, const mk_json *trace, mk_answers style, mk_arena *arena,
                             mk_str *answer, mk_err *err)
{
    const mk_json *spec = mk_json_get(plan, "answer_spec");
    making m = {.arena = arena, .style = style, .answer = mk_json_get(trace, "answer")};
    mk_buf out;
    mk_code rc;
    m.kind = string_at(spec, "kind");
    m.from = string_at(spec, "from");
    const char *dot = m.from.n > 0 ? memchr(m.from.p, '.', m.from.n) : NULL;
    m.is_path = dot != NULL;
    m.step = (mk_str){m.from.p, dot != NULL ? (size_t)(dot - m.from.p) : m.from.n};
    mk_buf_init(&m.claims, arena->alloc);
    mk_buf_init(&m.text, arena->alloc);
    mk_buf_init(&out, arena->alloc);
    MK_TRY(rc, make(&m, err));
    MK_TRY(rc, mk_buf_done(&m.claims, err));
    MK_TRY(rc, mk_buf_done(&m.text, err));
    mk_buf_z(&out, "{\"claims\":[");
    mk_buf_str(&out, mk_buf_view(&m.claims));
    mk_buf_z(&out, "],\"text\":");
    mk_canon_string(&out, mk_buf_view(&m.text));
    mk_buf_c(&out, '}');
    rc = mk_claim__keep(&out, arena, answer, err);
out:
    mk_buf_free(&m.claims);
    mk_buf_free(&m.text);
    return rc;
}

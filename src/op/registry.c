/* registry.c — the table of operators, and reading arguments by it. Layer: op. */
#include "op/registry.h"

#include "op/operators.h"

/* ---- shared fragments ---- */

const mk_arg mk_arg_text = {.name = "text", .type = MK_ARG_STRING};
const mk_arg mk_arg_uid = {.name = "uid", .type = MK_ARG_STRING, .min = 1};
const mk_arg mk_arg_window[] = {
    MK_ARG_TIME("t_a", "First instant inside, microseconds or ISO 8601."),
    MK_ARG_TIME("t_b", "First instant behind, microseconds or ISO 8601."),
    {0},
};

static const mk_field edge_row_members[] = {
    {.name = "eid", .type = MK_FIELD_STRING, .doc = "Identity of the edge, 24 hex characters."},
    {.name = "vid", .type = MK_FIELD_STRING, .doc = "Identity of this version."},
    {.name = "src", .type = MK_FIELD_STRING, .doc = "Uid where it starts."},
    {.name = "dst", .type = MK_FIELD_STRING, .doc = "Uid where it ends."},
    {.name = "rel_type", .type = MK_FIELD_STRING, .doc = "Relation type."},
    {.name = "vt_s", .type = MK_FIELD_TIME, .doc = "Valid from."},
    {.name = "vt_e", .type = MK_FIELD_TIME, .doc = "Valid until, exclusive."},
    {0},
};
const mk_field mk_field_text = {.name = "text", .type = MK_FIELD_STRING};
const mk_field mk_field_edge_row = {
    .name = "edge", .type = MK_FIELD_OBJECT, .members = edge_row_members};

/* ---- the table ---- */

#define ENTRY(name) &mk_operator_##name,
static const mk_operator *const table[] = {MK_OPERATORS(ENTRY)};
#undef ENTRY

const mk_operator *const *mk_operators(size_t *count)
{
    *count = sizeof table / sizeof *table;
    return table;
}

const mk_operator *mk_operator_find(mk_str name)
{
    size_t lo = 0, hi = sizeof table / sizeof *table;
    while (lo < hi) {
        const size_t mid = (lo + hi) / 2;
        const int order = mk_str_cmp(mk_str_of(table[mid]->name), name);
        if (order == 0)
            return table[mid];
        if (order < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return NULL;
}

const mk_field *mk_operator_fields(const mk_operator *op, const mk_json *args)
{
    if (op->variant_arg == NULL)
        return op->fields;
    const mk_json *choice = mk_json_get(args, op->variant_arg);
    const mk_json *group = mk_json_get(args, "group_by");
    const bool grouped = group != NULL && group->kind != MK_JSON_NULL;
    if (choice == NULL || choice->kind != MK_JSON_STRING)
        return op->fields;
    const mk_field *plain = NULL;
    for (const mk_variant *v = op->variants; v->choice != NULL; v++) {
        if (!mk_str_eq(choice->text, mk_str_of(v->choice)))
            continue;
        if (v->grouped == grouped)
            return v->fields;
        plain = v->fields;
    }
    return plain != NULL ? plain : op->fields;
}

#define NAME_MAX_SIZE 64 /* longer words are not compared; no operator's name comes near it */

/* Levenshtein distance with two rows (Wagner and Fischer 1974). */
static unsigned distance(mk_str a, mk_str b)
{
    unsigned row[NAME_MAX_SIZE + 1];
    for (unsigned j = 0; j <= b.n; j++)
        row[j] = j;
    for (unsigned i = 1; i <= a.n; i++) {
        unsigned corner = row[0];
        row[0] = i;
        for (unsigned j = 1; j <= b.n; j++) {
            unsigned best = corner + (a.p[i - 1] != b.p[j - 1]);
            corner = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[b.n];
}

const mk_operator *mk_operator_near(mk_str name)
{
    const mk_operator *near = NULL;
    unsigned least = (unsigned)name.n / 2 + 1;
    if (name.n > NAME_MAX_SIZE)
        return NULL;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const unsigned d = distance(name, mk_str_of(table[i]->name));
        if (d < least) {
            least = d;
            near = table[i];
        }
    }
    return near;
}

/* ---- checks that operators share ---- */

mk_code mk_validate_window(const mk_json *args, mk_err *err)
{
    const mk_json *window = mk_json_get(args, "window");
    const int64_t t_a = mk_arg_i64(window, "t_a"), t_b = mk_arg_i64(window, "t_b");
    if (t_a < t_b)
        return MK_OK;
    mk_fail(err, MK_E_INVALID_ARG, "window: t_a %lld is not before t_b %lld", (long long)t_a,
            (long long)t_b);
    mk_err_hint(err, t_a == t_b ? "an instant is [t, t + 1)" : "swap t_a and t_b");
    mk_err_extra(err, "\"path\":[\"window\"]", 17);
    return MK_E_INVALID_ARG;
}

/* ---- reading checked arguments ---- */

int64_t mk_arg_i64(const mk_json *args, const char *name)
{
    const mk_json *value = mk_json_get(args, name);
    MK_ASSERT(value != NULL);
    MK_ASSERT(value->kind == MK_JSON_INT);
    if (value->b)
        return value->text.p[0] == '-' ? INT64_MIN : INT64_MAX;
    return value->i;
}

bool mk_arg_bool(const mk_json *args, const char *name)
{
    const mk_json *value = mk_json_get(args, name);
    MK_ASSERT(value != NULL);
    MK_ASSERT(value->kind == MK_JSON_BOOL);
    return value->b;
}

mk_str mk_arg_str(const mk_json *args, const char *name)
{
    const mk_json *value = mk_json_get(args, name);
    if (value == NULL || value->kind != MK_JSON_STRING)
        return (mk_str){NULL, 0};
    return value->text.p != NULL ? value->text : MK_STR("");
}

bool mk_arg_is_null(const mk_json *args, const char *name)
{
    const mk_json *value = mk_json_get(args, name);
    return value == NULL || value->kind == MK_JSON_NULL;
}

/* The message cuts and cleans the uid; in the details it stands whole or not at all. */
mk_code mk_fail_uid(const mk_run *run, mk_str uid, const char *arg, int64_t index, mk_err *err)
{
    mk_buf extra;
    mk_fail(err, MK_E_NOT_FOUND, "unknown uid: %.*s", MK_STR_ARG(uid));
    mk_err_hint(err, "resolve_entities finds uids by part of a name");
    mk_buf_init(&extra, run->arena->alloc);
    mk_buf_z(&extra, "\"path\":[\"");
    mk_buf_z(&extra, arg);
    mk_buf_c(&extra, '"');
    if (index >= 0) {
        mk_buf_c(&extra, ',');
        mk_buf_i64(&extra, index);
    }
    mk_buf_z(&extra, "],\"uid\":");
    mk_canon_string(&extra, uid);
    if (!extra.failed)
        mk_err_extra(err, extra.p, extra.n);
    mk_buf_free(&extra);
    return MK_E_NOT_FOUND;
}

mk_code mk_arg_rel_types(const mk_run *run, mk_edge_filter *filter, mk_err *err)
{
    const mk_json *list = mk_json_get(run->args, "rel_types");
    if (list == NULL || list->kind == MK_JSON_NULL)
        return MK_OK;
    size_t size, count = 0;
    uint32_t *codes = mk_size_mul(list->n, sizeof *codes, &size) ? mk_arena_get(run->arena, size)
                                                                 : NULL;
    if (codes == NULL)
        return mk_fail_nomem(err);
    for (size_t i = 0; i < list->n; i++) {
        const uint32_t code = mk_view_name_code(run->view, list->items[i].text);
        if (code != MK_NO_ID)
            codes[count++] = code;
    }
    filter->rel_types = codes;
    filter->rel_type_count = count;
    return MK_OK;
}

/* ref.c — references from one step into the result of another. Layer: base.
 *
 *     path    = step "." segment { "." segment }       s1.rows[*].uid
 *     segment = name [ "[" ( digits | "*" ) "]" ]      at most one "*" in a path
 *
 * ASCII only, nothing but the path. Source: agent spec, 5. */
#include "base/ref.h"

/* ---- reading ---- */

typedef struct ref_reader {
    mk_str text;
    size_t at;
    const char *fault; /* what is wrong at `at` */
} ref_reader;

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_name_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static char peek(const ref_reader *r)
{
    return r->at < r->text.n ? r->text.p[r->at] : '\0';
}

static bool fault(ref_reader *r, const char *what)
{
    r->fault = what;
    return false;
}

static bool read_step(ref_reader *r, mk_str *step)
{
    const size_t start = r->at;
    if (peek(r) != 's')
        return fault(r, "a step id (\"s\" and digits) was expected");
    r->at++;
    if (!is_digit(peek(r)))
        return fault(r, "digits were expected after \"s\"");
    while (is_digit(peek(r)))
        r->at++;
    *step = (mk_str){r->text.p + start, r->at - start};
    return true;
}

static bool read_index(ref_reader *r, mk_ref_segment *segment)
{
    r->at++; /* the bracket */
    if (peek(r) == '*') {
        segment->index = MK_REF_ALL;
        r->at++;
    } else {
        segment->index = MK_REF_AT;
        if (!is_digit(peek(r)))
            return fault(r, "an index (digits or *) was expected");
        for (; is_digit(peek(r)); r->at++) {
            if (segment->at > (UINT64_MAX - 9) / 10)
                return fault(r, "the index is too large");
            segment->at = segment->at * 10 + (uint64_t)(peek(r) - '0');
        }
    }
    if (peek(r) != ']')
        return fault(r, "\"]\" was expected");
    r->at++;
    return true;
}

static bool read_segment(ref_reader *r, mk_ref_segment *segment)
{
    const size_t start = r->at;
    *segment = (mk_ref_segment){.index = MK_REF_NO_INDEX};
    if (!is_name_start(peek(r)))
        return fault(r, "a field name was expected");
    while (is_name_start(peek(r)) || is_digit(peek(r)))
        r->at++;
    segment->name = (mk_str){r->text.p + start, r->at - start};
    return peek(r) != '[' || read_index(r, segment);
}

static bool read_path(ref_reader *r, bool bare, mk_ref *out)
{
    bool starred = false;
    if (!read_step(r, &out->step))
        return false;
    if (bare && r->at == r->text.n)
        return true;
    do {
        if (peek(r) != '.')
            return fault(r, "\".\" and a field name were expected");
        r->at++;
        if (out->count == MK_REF_SEGMENTS_MAX)
            return fault(r, "the path has too many segments");
        mk_ref_segment *segment = &out->segments[out->count++];
        if (!read_segment(r, segment))
            return false;
        if (segment->index == MK_REF_ALL && starred)
            return fault(r, "a path may have one [*]");
        starred |= segment->index == MK_REF_ALL;
    } while (r->at < r->text.n);
    return true;
}

mk_code mk_ref_parse(mk_str text, bool bare, mk_ref *out, mk_err *err)
{
    ref_reader r = {.text = text};
    *out = (mk_ref){.text = text};
    if (read_path(&r, bare, out))
        return MK_OK;
    mk_fail(err, MK_E_SCHEMA, "\"%.*s\" is no reference: %s at offset %zu",
            (int)(text.n > 120 ? 120 : text.n), text.n ? text.p : "", r.fault, r.at);
    mk_err_offset(err, (int64_t)r.at);
    mk_err_hint(err, "write %s, with at most one [*]",
                bare ? "s1 or s1.rows[0].uid" : "s1.rows[0].uid or s1.rows[*].uid");
    return MK_E_SCHEMA;
}

bool mk_ref_of(const mk_json *value, mk_str *text)
{
    if (value->kind != MK_JSON_OBJECT || value->n != 1 ||
        !mk_str_eq(value->members[0].key, MK_STR("$ref")))
        return false;
    const mk_json *path = &value->members[0].value;
    *text = (mk_str){NULL, 0};
    if (path->kind == MK_JSON_STRING)
        *text = path->text.p != NULL ? path->text : MK_STR("");
    return true;
}

/* ---- following ---- */

static mk_code fail_field(const mk_ref *ref, mk_str name, mk_err *err)
{
    mk_fail(err, MK_E_INVALID_ARG, "%.*s: there is no field '%.*s'", MK_STR_ARG(ref->text),
            MK_STR_ARG(name));
    return MK_E_INVALID_ARG;
}

static mk_code fail_index(const mk_ref *ref, const mk_ref_segment *segment, size_t length,
                          mk_err *err)
{
    mk_fail(err, MK_E_INVALID_ARG, "%.*s: index %llu is outside a list of %zu",
            MK_STR_ARG(ref->text), (unsigned long long)segment->at, length);
    if (length == 0)
        mk_err_hint(err,
                    "that step found nothing: ask it again with a wider window or another name, or use an "
                    "identifier that the task supplies");
    return MK_E_INVALID_ARG;
}

/* One segment on one value, the star aside. */
static mk_code step_into(const mk_ref *ref, const mk_ref_segment *segment, const mk_json **value,
                         mk_err *err)
{
    const mk_json *member = (*value)->kind == MK_JSON_OBJECT
                                ? mk_json_get_n(*value, segment->name)
                                : NULL;
    if (member == NULL)
        return fail_field(ref, segment->name, err);
    if (segment->index != MK_REF_NO_INDEX && member->kind != MK_JSON_ARRAY) {
        mk_fail(err, MK_E_INVALID_ARG, "%.*s: '%.*s' is no list", MK_STR_ARG(ref->text),
                MK_STR_ARG(segment->name));
        return MK_E_INVALID_ARG;
    }
    if (segment->index == MK_REF_AT && segment->at >= member->n)
        return fail_index(ref, segment, member->n, err);
    *value = segment->index == MK_REF_AT ? &member->items[segment->at] : member;
    return MK_OK;
}

/* The rest of the path on every item of `list`; it has no further star. */
static mk_code collect(const mk_ref *ref, size_t from, const mk_json *list, mk_arena *arena,
                       const mk_json **out, mk_err *err)
{
    size_t size;
    mk_json *items = mk_size_mul(list->n, sizeof *items, &size) ? mk_arena_get(arena, size) : NULL;
    mk_json *all = mk_arena_get(arena, sizeof *all);
    if (items == NULL || all == NULL)
        return mk_fail_nomem(err);
    for (size_t i = 0; i < list->n; i++) {
        const mk_json *value = &list->items[i];
        for (size_t k = from; k < ref->count; k++) {
            const mk_code rc = step_into(ref, &ref->segments[k], &value, err);
            if (rc != MK_OK)
                return rc;
        }
        items[i] = *value;
    }
    *all = (mk_json){.kind = MK_JSON_ARRAY, .n = list->n, .items = items};
    *out = all;
    return MK_OK;
}

mk_code mk_ref_resolve(const mk_ref *ref, const mk_json *payload, mk_arena *arena,
                       const mk_json **out, mk_err *err)
{
    const mk_json *value = payload;
    for (size_t i = 0; i < ref->count; i++) {
        const mk_code rc = step_into(ref, &ref->segments[i], &value, err);
        if (rc != MK_OK)
            return rc;
        if (ref->segments[i].index == MK_REF_ALL && i + 1 < ref->count)
            return collect(ref, i + 1, value, arena, out, err);
    }
    *out = value;
    return MK_OK;
}

/* wire.c — envelopes in wire form. See wire.h. Layer: serve. */
#include "serve/wire.h"

#include <stdio.h>

#include "base/sha256.h"

#define JS_INT_MAX ((INT64_C(1) << 53) - 1)

/* ---- values ---- */

static void put_int(mk_buf *out, const mk_json *value)
{
    if (value->b) {
        mk_canon_string(out, value->text);
        return;
    }
    const bool quoted = value->i > JS_INT_MAX || value->i < -JS_INT_MAX;
    if (quoted)
        mk_buf_c(out, '"');
    mk_buf_i64(out, value->i);
    if (quoted)
        mk_buf_c(out, '"');
}

void mk_wire_value(mk_buf *out, const mk_json *value)
{
    switch (value->kind) {
    case MK_JSON_NULL: mk_buf_z(out, "null"); break;
    case MK_JSON_BOOL: mk_buf_z(out, value->b ? "true" : "false"); break;
    case MK_JSON_INT: put_int(out, value); break;
    case MK_JSON_FLOAT: mk_canon_double(out, value->d); break;
    case MK_JSON_STRING: mk_canon_string(out, value->text); break;
    case MK_JSON_ARRAY:
        mk_buf_c(out, '[');
        for (size_t i = 0; i < value->n; i++) {
            if (i > 0)
                mk_buf_c(out, ',');
            mk_wire_value(out, &value->items[i]);
        }
        mk_buf_c(out, ']');
        break;
    case MK_JSON_OBJECT:
        mk_buf_c(out, '{');
        for (size_t i = 0; i < value->n; i++) {
            if (i > 0)
                mk_buf_c(out, ',');
            mk_canon_string(out, value->members[i].key);
            mk_buf_c(out, ':');
            mk_wire_value(out, &value->members[i].value);
        }
        mk_buf_c(out, '}');
        break;
    }
}

static void put_time(mk_buf *out, const mk_json *value, mk_wire_times times)
{
    char text[MK_TIME_TEXT_MAX];
    if (value->kind != MK_JSON_INT || value->b) {
        mk_wire_value(out, value);
    } else if (value->i >= MK_OPEN_END) {
        mk_buf_z(out, "null");
    } else if (times == MK_WIRE_ISO) {
        mk_buf_c(out, '"');
        mk_buf_put(out, text, mk_time_text(text, value->i));
        mk_buf_c(out, '"');
    } else {
        put_int(out, value);
    }
}

/* ---- values that the registry knows ---- */

static void put_field(mk_buf *out, const mk_field *field, const mk_json *value, mk_wire_times times);

static const mk_field *field_of(const mk_field *fields, mk_str name)
{
    for (const mk_field *f = fields; f != NULL && f->name != NULL; f++)
        if (mk_str_eq(mk_str_of(f->name), name))
            return f;
    return NULL;
}

/* Declared members in their order, then the others in theirs. */
static void put_members(mk_buf *out, const mk_field *fields, const mk_json *value, mk_wire_times times)
{
    bool first = true;
    mk_buf_c(out, '{');
    for (const mk_field *f = fields; f != NULL && f->name != NULL; f++) {
        const mk_json *member = mk_json_get(value, f->name);
        if (member == NULL)
            continue;
        mk_buf_z(out, first ? "\"" : ",\"");
        mk_buf_z(out, f->name);
        mk_buf_z(out, "\":");
        put_field(out, f, member, times);
        first = false;
    }
    for (size_t i = 0; i < value->n; i++) {
        if (field_of(fields, value->members[i].key) != NULL)
            continue;
        if (!first)
            mk_buf_c(out, ',');
        mk_canon_string(out, value->members[i].key);
        mk_buf_c(out, ':');
        mk_wire_value(out, &value->members[i].value);
        first = false;
    }
    mk_buf_c(out, '}');
}

static void put_field(mk_buf *out, const mk_field *field, const mk_json *value, mk_wire_times times)
{
    if (field->type == MK_FIELD_TIME) {
        put_time(out, value, times);
    } else if (field->type == MK_FIELD_LIST && value->kind == MK_JSON_ARRAY && field->item != NULL) {
        mk_buf_c(out, '[');
        for (size_t i = 0; i < value->n; i++) {
            if (i > 0)
                mk_buf_c(out, ',');
            put_field(out, field->item, &value->items[i], times);
        }
        mk_buf_c(out, ']');
    } else if (field->type == MK_FIELD_OBJECT && value->kind == MK_JSON_OBJECT) {
        put_members(out, field->members, value, times);
    } else {
        mk_wire_value(out, value);
    }
}

static void put_arg(mk_buf *out, const mk_arg *arg, const mk_json *value);

static void put_args(mk_buf *out, const mk_arg *args, const mk_json *value)
{
    bool first = true;
    mk_buf_c(out, '{');
    for (const mk_arg *a = args; a->name != NULL; a++) {
        const mk_json *member = mk_json_get(value, a->name);
        if (member == NULL)
            continue;
        mk_buf_z(out, first ? "\"" : ",\"");
        mk_buf_z(out, a->name);
        mk_buf_z(out, "\":");
        put_arg(out, a, member);
        first = false;
    }
    mk_buf_c(out, '}');
}

static void put_arg(mk_buf *out, const mk_arg *arg, const mk_json *value)
{
    if (arg->type == MK_ARG_TIMESTAMP)
        put_time(out, value, MK_WIRE_US);
    else if (arg->type == MK_ARG_OBJECT && value->kind == MK_JSON_OBJECT)
        put_args(out, arg->members, value);
    else
        mk_wire_value(out, value);
}

/* ---- cursors ---- */

static bool is_page_arg(mk_str name)
{
    return mk_str_eq(name, MK_STR("as_of_tt")) || mk_str_eq(name, MK_STR("limit")) ||
           mk_str_eq(name, MK_STR("cursor"));
}

mk_code mk_wire_cursor_check(const mk_json *filled, mk_arena *arena, char check[9], mk_err *err)
{
    const mk_arena_mark mark = mk_arena_save(arena);
    mk_json others = {.kind = MK_JSON_OBJECT};
    mk_sha256 hash;
    uint8_t sha[32];
    mk_buf text;
    mk_code rc;
    mk_buf_init(&text, arena->alloc);
    others.members = mk_arena_get(arena, (filled->n + 1) * sizeof *others.members);
    if (others.members == NULL) {
        rc = mk_fail_nomem(err);
        goto out;
    }
    for (size_t i = 0; i < filled->n; i++)
        if (!is_page_arg(filled->members[i].key))
            others.members[others.n++] = filled->members[i];
    MK_TRY(rc, mk_canon_tree(&text, arena, &others, err));
    mk_sha256_init(&hash);
    mk_sha256_add(&hash, text.p, text.n);
    mk_sha256_end(&hash, sha);
    mk_hex(check, sha, 4);
    check[8] = '\0';
out:
    mk_buf_free(&text);
    mk_arena_rewind(arena, mark);
    return rc;
}

bool mk_wire_cursor_parse(mk_str text, mk_wire_cursor *out)
{
    const char *at = text.n > 0 ? memchr(text.p, '@', text.n) : NULL;
    const char *dot = at != NULL ? memchr(at, '.', text.n - (size_t)(at - text.p)) : NULL;
    if (dot == NULL || text.p + text.n - dot != 9)
        return false;
    for (int i = 1; i <= 8; i++)
        if (!((dot[i] >= '0' && dot[i] <= '9') || (dot[i] >= 'a' && dot[i] <= 'f')))
            return false;
    memcpy(out->check, dot + 1, 8);
    out->check[8] = '\0';
    return mk_str_to_i64((mk_str){text.p, (size_t)(at - text.p)}, &out->offset) && out->offset >= 0 &&
           mk_str_to_i64((mk_str){at + 1, (size_t)(dot - at) - 1}, &out->tt) && out->tt >= 0;
}

static mk_code put_cursor(mk_buf *out, const mk_json *value, const mk_json *filled, int64_t tt,
                          mk_arena *arena, mk_err *err)
{
    char check[9];
    if (value->kind != MK_JSON_STRING) {
        mk_wire_value(out, value);
        return MK_OK;
    }
    const mk_code rc = mk_wire_cursor_check(filled, arena, check, err);
    if (rc == MK_OK)
        mk_buf_printf(out, "\"%.*s@%lld.%s\"", MK_STR_ARG(value->text), (long long)tt, check);
    return rc;
}

/* ---- the envelope ---- */

static void put_served(mk_buf *out, const mk_wire_options *o)
{
    const char *comma = "";
    if (o->note.n == 0 && o->limit_used == 0 && o->full_result.n == 0)
        return;
    mk_buf_z(out, ",\"served\":{");
    if (o->note.n != 0) {
        mk_buf_z(out, "\"note\":");
        mk_canon_string(out, o->note);
        comma = ",";
    }
    if (o->limit_used != 0) {
        mk_buf_printf(out, "%s\"limit_used\":%lld", comma, (long long)o->limit_used);
        comma = ",";
    }
    if (o->full_result.n != 0) {
        mk_buf_printf(out, "%s\"full_result\":", comma);
        mk_canon_string(out, o->full_result);
    }
    mk_buf_c(out, '}');
}

static bool is_left_out(const mk_wire_options *o, const char *name)
{
    return strcmp(name, "truncated") == 0 || (o->without != NULL && strcmp(o->without, name) == 0);
}

mk_code mk_wire_envelope(const mk_call_result *result, const mk_wire_options *options, mk_arena *arena,
                         mk_buf *out, mk_err *err)
{
    const mk_arena_mark mark = mk_arena_save(arena);
    mk_json *args, *payload;
    mk_code rc;
    MK_TRY(rc, mk_json_parse(arena, mk_buf_view(&result->args_echo), NULL, &args, err));
    MK_TRY(rc, mk_json_parse(arena, mk_buf_view(&result->payload.text), NULL, &payload, err));
    const mk_json *truncated = mk_json_get(payload, "truncated");
    mk_buf_printf(out, "{\"op\":\"%s\",\"args_echo\":", result->op->name);
    put_args(out, result->op->args, args);
    if (result->has_extent)
        mk_buf_printf(out, ",\"dataset_extent\":{\"vt_min\":%lld,\"vt_max\":%lld}", (long long)result->vt_min,
                      (long long)result->vt_max);
    else
        mk_buf_z(out, ",\"dataset_extent\":{\"vt_min\":null,\"vt_max\":null}");
    mk_buf_z(out, truncated != NULL && truncated->b ? ",\"truncated\":true" : ",\"truncated\":false");
    for (const mk_field *f = mk_operator_fields(result->op, args); f->name != NULL; f++) {
        const mk_json *value = mk_json_get(payload, f->name);
        if (value == NULL || is_left_out(options, f->name))
            continue;
        mk_buf_printf(out, ",\"%s\":", f->name);
        if (strcmp(f->name, "cursor") == 0)
            MK_TRY(rc, put_cursor(out, value, args, options->tt, arena, err));
        else
            put_field(out, f, value, options->times);
    }
    mk_buf_printf(out, ",\"result_digest\":\"%s\",\"completeness\":", result->digest);
    if (result->completeness.n != 0)
        mk_buf_str(out, mk_buf_view(&result->completeness));
    else
        mk_buf_z(out, "{}");
    put_served(out, options);
    mk_buf_c(out, '}');
    rc = mk_buf_done(out, err);
out:
    mk_arena_rewind(arena, mark);
    return rc;
}

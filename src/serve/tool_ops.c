/* tool_ops.c — operators run for a client. See tool.h. Layer: serve.
 *
 * A page too large for a client is computed again with the largest limit that fits, so that what is sent is a
 * result of its own, with its own digest and cursor, and never a row cut in half. Source: serving spec, 2.4
 * to 2.7, 3.3; decisions.md 4. */
#include "serve/tool.h"

#include <stdio.h>

#include "base/ref.h"
#include "serve/edge.h"

#define WHOLE_ROWS_MAX 50000u
#define TRIES_MAX 6

typedef struct served {
    mk_service *service;
    const mk_caller *caller;
    const mk_operator *op;
    mk_arena *arena;
    mk_store *store;
    mk_view *view;
    mk_json *args;        /* repaired, without what exists on the wire only */
    mk_wire_options wire;
    mk_wire_cursor cursor;
    bool walks;           /* `cursor` holds a wire cursor */
    bool pasted;          /* rows came as literals */
    mk_call_result result;
    mk_buf text;
} served;

/* ---- arguments ---- */

static mk_json *member(mk_json *object, const char *name)
{
    return (mk_json *)mk_json_get(object, name);
}

static mk_code set_member(served *s, const char *name, mk_json value, mk_err *err)
{
    mk_json *there = member(s->args, name);
    if (there != NULL) {
        *there = value;
        return MK_OK;
    }
    mk_member *members = mk_arena_get(s->arena, (s->args->n + 1) * sizeof *members);
    if (members == NULL)
        return mk_fail_nomem(err);
    if (s->args->n != 0)
        memcpy(members, s->args->members, s->args->n * sizeof *members);
    members[s->args->n++] = (mk_member){.key = mk_str_of(name), .value = value};
    s->args->members = members;
    return MK_OK;
}

/* What exists on the wire only: taken out of the arguments, and its texts given back. */
typedef struct wire_only {
    mk_str time_format, input_ref, other_ref;
} wire_only;

static mk_code take_text(const mk_json *value, const char *name, mk_str *out, mk_err *err)
{
    if (value->kind == MK_JSON_NULL)
        return MK_OK;
    if (value->kind == MK_JSON_STRING) {
        *out = value->text;
        return MK_OK;
    }
    mk_fail(err, MK_E_SCHEMA, "%s: text is needed", name);
    mk_err_path(err, "%s", name);
    return MK_E_SCHEMA;
}

static mk_code split(served *s, const mk_json *arguments, mk_json *rest, wire_only *out, mk_err *err)
{
    mk_code rc = MK_OK;
    *rest = (mk_json){.kind = MK_JSON_OBJECT};
    rest->members = mk_arena_get(s->arena, (arguments->n + 1) * sizeof *rest->members);
    if (rest->members == NULL)
        return mk_fail_nomem(err);
    for (size_t i = 0; i < arguments->n; i++) {
        const mk_member *m = &arguments->members[i];
        if (mk_str_eq(m->key, MK_STR("time_format")))
            MK_TRY(rc, take_text(&m->value, "time_format", &out->time_format, err));
        else if (mk_tool_takes_refs(s->op) && mk_str_eq(m->key, MK_STR("input_ref")))
            MK_TRY(rc, take_text(&m->value, "input_ref", &out->input_ref, err));
        else if (mk_tool_takes_refs(s->op) && mk_str_eq(m->key, MK_STR("other_ref")))
            MK_TRY(rc, take_text(&m->value, "other_ref", &out->other_ref, err));
        else
            rest->members[rest->n++] = *m;
    }
out:
    return rc;
}

static mk_code read_time_format(served *s, mk_str text, mk_err *err)
{
    if (text.n == 0)
        return MK_OK;
    if (mk_str_eq(text, MK_STR("iso")) || mk_str_eq(text, MK_STR("us"))) {
        s->wire.times = text.p[0] == 'i' ? MK_WIRE_ISO : MK_WIRE_US;
        return MK_OK;
    }
    mk_fail(err, MK_E_SCHEMA, "time_format: \"%.*s\" is not accepted", (int)(text.n > 40 ? 40 : text.n),
            text.p);
    mk_err_path(err, "time_format");
    mk_err_hint(err, "pass us or iso");
    return MK_E_SCHEMA;
}

/* ---- references to results ---- */

/* The payload of a result that was served, computed whole at its own belief time. */
static mk_code recompute(served *s, const mk_kept *kept, const mk_json **payload, mk_err *err)
{
    mk_call_options options = {.mask = mk_service_mask(s->service, s->caller->user_only),
                               .ceilings = s->service->options.ceilings,
                               .time_scale = s->service->options.time_scale,
                               .row_budget = WHOLE_ROWS_MAX,
                               .deadline_us = s->caller->deadline_us,
                               .cancelled = s->caller->cancelled};
    mk_call_result result;
    mk_json *args, *tree;
    mk_buf text;
    mk_arena scratch;
    mk_code rc;
    mk_buf_init(&text, s->service->alloc);
    mk_arena_init(&scratch, s->service->alloc);
    scratch.limit = MK_CALL_MEMORY;
    mk_call_result_init(&result, s->service->alloc);
    MK_TRY(rc, mk_json_parse(s->arena, kept->args, NULL, &args, err));
    size_t n = 0;
    for (size_t i = 0; i < args->n; i++) {
        mk_member m = args->members[i];
        if (mk_str_eq(m.key, MK_STR("limit")) || mk_str_eq(m.key, MK_STR("cursor")))
            continue;
        if (mk_str_eq(m.key, MK_STR("as_of_tt")))
            m.value = (mk_json){.kind = MK_JSON_INT, .i = kept->tt};
        args->members[n++] = m;
    }
    args->n = n;
    MK_TRY(rc, mk_canon_tree(&text, s->arena, args, err));
    MK_TRY(rc, mk_call_run(s->store, NULL, kept->op, mk_buf_view(&text), &options, &scratch, &result, err));
    MK_TRY(rc, mk_json_parse(s->arena, mk_buf_view(&result.payload.text), NULL, &tree, err));
    *payload = tree;
out:
    if (rc == MK_E_LIMIT)
        mk_err_hint(err,
                    "the list behind the reference is too long to be taken whole: read rows_total, or narrow "
                    "that call");
    mk_call_result_free(&result);
    mk_arena_free(&scratch);
    mk_buf_free(&text);
    return rc;
}

static mk_code bad_ref(const char *name, mk_str text, mk_err *err)
{
    mk_fail(err, MK_E_INVALID_ARG, "%s: \"%.*s\" names no result", name, (int)(text.n > 90 ? 90 : text.n),
            text.p);
    mk_err_path(err, "%s", name);
    mk_err_hint(err, "write <result_digest>.rows with the digest of a result of this session");
    return MK_E_INVALID_ARG;
}

/* "<digest>.rows[*].uid": the path behind the digest is that of a plan's reference. */
static mk_code follow(served *s, const char *name, const char *into, mk_str text, mk_err *err)
{
    mk_kept kept;
    mk_ref ref;
    const mk_json *payload, *value;
    mk_code rc;
    if (text.n < 66 || text.n > 400 || text.p[64] != '.')
        return bad_ref(name, text, err);
    char path[400];
    const size_t n = (size_t)snprintf(path, sizeof path, "s0%.*s", (int)(text.n - 64), text.p + 64);
    rc = mk_keep_get(s->service->keep, MK_STR("result"), (mk_str){text.p, 64}, s->caller->principal, s->arena,
                     &kept, err);
    if (rc == MK_E_NOT_FOUND)
        mk_err_hint(err, "it may have left the table of results: repeat the call that gave it");
    MK_TRY(rc, rc);
    const mk_str copy = mk_arena_copy(s->arena, (mk_str){path, n});
    if (copy.p == NULL)
        return mk_fail_nomem(err);
    MK_TRY(rc, mk_ref_parse(copy, false, &ref, err));
    MK_TRY(rc, recompute(s, &kept, &payload, err));
    MK_TRY(rc, mk_ref_resolve(&ref, payload, s->arena, &value, err));
    if (value->kind != MK_JSON_ARRAY)
        return bad_ref(name, text, err);
    rc = set_member(s, into, *value, err);
out:
    if (rc != MK_OK && rc != MK_E_NOMEM)
        mk_err_path(err, "%s", name);
    return rc;
}

/* ---- pages that are one snapshot ---- */

static mk_code read_cursor(served *s, mk_err *err)
{
    mk_json *cursor = member(s->args, "cursor");
    char offset[24];
    if (cursor == NULL || cursor->kind != MK_JSON_STRING || !mk_wire_cursor_parse(cursor->text, &s->cursor))
        return MK_OK;
    const mk_json *as_of = member(s->args, "as_of_tt");
    if (as_of != NULL && !(as_of->kind == MK_JSON_INT && !as_of->b && as_of->i == s->cursor.tt)) {
        mk_fail(err, MK_E_INVALID_ARG, "the cursor belongs to another as_of_tt");
        mk_err_path(err, "cursor");
        mk_err_hint(err, "leave as_of_tt out: the cursor carries its own");
        return MK_E_INVALID_ARG;
    }
    s->walks = true;
    cursor->text = mk_arena_copy(s->arena, (mk_str){offset, mk_i64_text(offset, s->cursor.offset)});
    if (cursor->text.p == NULL)
        return mk_fail_nomem(err);
    return set_member(s, "as_of_tt", (mk_json){.kind = MK_JSON_INT, .i = s->cursor.tt}, err);
}

static mk_code check_walk(served *s, const mk_json *filled, mk_err *err)
{
    char check[9];
    if (!s->walks)
        return MK_OK;
    const mk_code rc = mk_wire_cursor_check(filled, s->arena, check, err);
    if (rc != MK_OK || strcmp(check, s->cursor.check) == 0)
        return rc;
    mk_fail(err, MK_E_INVALID_ARG, "the cursor belongs to a call with other arguments");
    mk_err_path(err, "cursor");
    mk_err_hint(err, "repeat the arguments of the page before, or start without a cursor");
    return MK_E_INVALID_ARG;
}

/* ---- running ---- */

static mk_code run_once(served *s, mk_err *err)
{
    const mk_call_options options = {.mask = mk_service_mask(s->service, s->caller->user_only),
                                     .ceilings = s->caller->ceilings,
                                     .time_scale = s->service->options.time_scale,
                                     .deadline_us = s->caller->deadline_us,
                                     .cancelled = s->caller->cancelled};
    mk_arena scratch;
    mk_buf text;
    mk_code rc;
    mk_buf_init(&text, s->service->alloc);
    mk_arena_init(&scratch, s->service->alloc);
    scratch.limit = MK_CALL_MEMORY;
    MK_TRY(rc, mk_canon_tree(&text, s->arena, s->args, err));
    rc = mk_call_run(s->store, s->view, mk_str_of(s->op->name), mk_buf_view(&text), &options, &scratch,
                     &s->result, err);
out:
    mk_arena_free(&scratch);
    mk_buf_free(&text);
    return rc;
}

/* Rows that a client pasted were not read by us, so nothing is known of what they leave out. */
static void mark_unproven(served *s)
{
    mk_buf marked;
    const char *comma = "";
    if (!s->pasted)
        return;
    mk_buf_init(&marked, s->service->alloc);
    mk_buf_c(&marked, '{');
    for (size_t i = 0; i < s->result.payload.member_count; i++) {
        const char *name = s->result.payload.members[i].name;
        if (strcmp(name, "cursor") == 0 || strcmp(name, "truncated") == 0)
            continue;
        mk_buf_printf(&marked, "%s\"%s\":[{\"reason\":\"unproven\"}]", comma, name);
        comma = ",";
    }
    mk_buf_c(&marked, '}');
    mk_buf_free(&s->result.completeness);
    s->result.completeness = marked;
}

/* ---- what a reader should be told ---- */

static void put_time_words(mk_buf *out, const mk_json *value)
{
    char text[MK_TIME_TEXT_MAX];
    if (value != NULL && value->kind == MK_JSON_INT && !value->b && value->i < MK_OPEN_END)
        mk_buf_put(out, text, mk_time_text(text, value->i));
    else
        mk_buf_z(out, "no end");
}

static void note_empty(served *s, const mk_json *filled, mk_buf *note)
{
    const mk_json *window = mk_json_get(filled, "window"), *as_of = mk_json_get(filled, "as_of_tt");
    const char *comma = " ";
    mk_buf_z(note, "No rows.");
    if (window != NULL && window->kind == MK_JSON_OBJECT) {
        mk_buf_z(note, " Searched valid time from ");
        put_time_words(note, mk_json_get(window, "t_a"));
        mk_buf_z(note, " to ");
        put_time_words(note, mk_json_get(window, "t_b"));
        mk_buf_c(note, '.');
    }
    if (s->result.has_extent) {
        const mk_json lo = {.kind = MK_JSON_INT, .i = s->result.vt_min},
                      hi = {.kind = MK_JSON_INT, .i = s->result.vt_max};
        mk_buf_z(note, " The data extend from ");
        put_time_words(note, &lo);
        mk_buf_z(note, " to ");
        put_time_words(note, &hi);
        mk_buf_c(note, '.');
    } else {
        mk_buf_z(note, " The store holds nothing visible.");
    }
    if (as_of != NULL) {
        const bool latest = as_of->kind != MK_JSON_INT || as_of->i >= MK_OPEN_END - 1;
        mk_buf_z(note, latest ? " Belief: the latest." : " Belief as of ");
        if (!latest) {
            put_time_words(note, as_of);
            mk_buf_c(note, '.');
        }
    }
    for (const mk_arg *a = s->op->args; a->name != NULL; a++) {
        const mk_json *value = mk_json_get(filled, a->name);
        const bool shown = strcmp(a->name, "window") == 0 || strcmp(a->name, "as_of_tt") == 0 ||
                           strcmp(a->name, "limit") == 0 || strcmp(a->name, "cursor") == 0;
        if (value == NULL || value->kind == MK_JSON_NULL || shown)
            continue;
        mk_buf_printf(note, "%s%s", comma[0] == ' ' ? " In force: " : ", ", a->name);
        comma = ",";
    }
    if (comma[0] == ',')
        mk_buf_z(note, " (args_echo).");
}

static void note_empty_filters(served *s, mk_buf *note)
{
    for (const mk_arg *a = s->op->args; a->name != NULL; a++) {
        const mk_json *value = mk_json_get(s->args, a->name);
        if (value != NULL && a->type == MK_ARG_LIST && value->kind == MK_JSON_ARRAY && value->n == 0 &&
            !mk_tool_takes_refs(s->op))
            mk_buf_printf(note, "%s%s is an empty list, which admits nothing; leave it out for all.",
                          note->n ? " " : "", a->name);
    }
}

static size_t list_length(const mk_json *payload, const char *name)
{
    const mk_json *list = mk_json_get(payload, name);
    return list != NULL && list->kind == MK_JSON_ARRAY ? list->n : SIZE_MAX;
}

/* ---- fitting into the budget ---- */

static mk_code write_text(served *s, mk_err *err)
{
    mk_buf_clear(&s->text);
    return mk_wire_envelope(&s->result, &s->wire, s->arena, &s->text, err);
}

/* The member that takes most of the payload. */
static const char *largest_member(const served *s)
{
    const mk_payload *p = &s->result.payload;
    size_t best = 0;
    for (size_t i = 1; i < p->member_count; i++)
        if (p->members[i].end - p->members[i].start > p->members[best].end - p->members[best].start)
            best = i;
    return p->member_count > 0 ? p->members[best].name : NULL;
}

static mk_code leave_out(served *s, mk_err *err)
{
    char uri[100], note[200];
    s->wire.without = largest_member(s);
    snprintf(uri, sizeof uri, "merkhet://result/%s", s->result.digest);
    snprintf(note, sizeof note,
             "%s is left out here, because it alone is larger than a result may be; the whole result "
             "is the resource %s",
             s->wire.without != NULL ? s->wire.without : "nothing", "named in full_result");
    s->wire.full_result = mk_arena_copy(s->arena, mk_str_of(uri));
    s->wire.note = mk_arena_copy(s->arena, mk_str_of(note));
    return s->wire.full_result.p == NULL || s->wire.note.p == NULL ? mk_fail_nomem(err) : write_text(s, err);
}

/* Halfway by size, then by halves: rows differ in size, and a page that does not fit is worth nothing. */
static mk_code fit(served *s, size_t rows, mk_err *err)
{
    const size_t budget = s->caller->result_bytes;
    const bool pages = member(s->args, "limit") != NULL || mk_json_get(s->args, "cursor") != NULL ||
                       rows != SIZE_MAX;
    mk_code rc = MK_OK;
    bool takes_limit = false;
    for (const mk_arg *a = s->op->args; a->name != NULL; a++)
        takes_limit |= strcmp(a->name, "limit") == 0;
    for (int i = 0;
         i < TRIES_MAX && s->text.n > budget && pages && takes_limit && rows != SIZE_MAX && rows > 1; i++) {
        size_t limit = (size_t)((double)rows * (double)budget / (double)s->text.n * 0.95);
        if (limit >= rows)
            limit = rows / 2;
        rows = limit < 1 ? 1 : limit;
        MK_TRY(rc, set_member(s, "limit", (mk_json){.kind = MK_JSON_INT, .i = (int64_t)rows}, err));
        MK_TRY(rc, run_once(s, err));
        mark_unproven(s);
        s->wire.limit_used = (int64_t)rows;
        MK_TRY(rc, write_text(s, err));
    }
    if (s->text.n > budget)
        rc = leave_out(s, err);
out:
    return rc;
}

static void keep_result(served *s)
{
    const mk_kept kept = {.kind = MK_STR("result"), .id = mk_str_of(s->result.digest),
                          .principal = s->caller->principal, .text = mk_buf_view(&s->result.payload.text),
                          .op = mk_str_of(s->op->name), .args = mk_buf_view(&s->result.args_echo),
                          .gaps = mk_buf_view(&s->result.completeness), .tt = s->wire.tt};
    mk_keep_put(s->service->keep, &kept);
}

/* ---- a call ---- */

void mk_tool_put_result(mk_buf *out, const mk_mcp_call *call, mk_str text)
{
    mk_buf_z(out, "\"content\":[{\"type\":\"text\",\"text\":");
    mk_canon_string(out, text);
    mk_buf_z(out, "}]");
    if (mk_mcp_is_structured(call)) {
        mk_buf_z(out, ",\"structuredContent\":");
        mk_buf_str(out, text);
    }
}

static mk_code prepare(served *s, const mk_json *arguments, mk_err *err)
{
    static const mk_json none = {.kind = MK_JSON_OBJECT};
    wire_only only = {.input_ref = {NULL, 0}};
    mk_json rest;
    mk_code rc;
    const bool object = arguments != NULL && arguments->kind == MK_JSON_OBJECT;
    MK_TRY(rc, split(s, object ? arguments : &none, &rest, &only, err));
    MK_TRY(rc,
           mk_edge_repair(s->op, object || arguments == NULL ? &rest : arguments, s->arena, &s->args, err));
    s->wire.times = s->service->options.times;
    MK_TRY(rc, read_time_format(s, only.time_format, err));
    MK_TRY(rc, mk_service_store(s->service, &s->store, err));
    const mk_json *input = member(s->args, "input");
    s->pasted = mk_tool_takes_refs(s->op) && input != NULL && input->kind == MK_JSON_ARRAY;
    if (only.input_ref.n != 0)
        MK_TRY(rc, follow(s, "input_ref", "input", only.input_ref, err));
    if (only.other_ref.n != 0)
        MK_TRY(rc, follow(s, "other_ref", "other", only.other_ref, err));
    rc = read_cursor(s, err);
out:
    return rc;
}

/* The transaction time that the call sees, so that pages after it can see the same. */
static mk_code pin(served *s, mk_err *err)
{
    const mk_json *as_of = member(s->args, "as_of_tt");
    const bool past = as_of != NULL && as_of->kind == MK_JSON_INT && !as_of->b && as_of->i < MK_OPEN_END - 1;
    const mk_code rc = mk_view_at(s->store, (mk_tt){MK_OPEN_END},
                                  mk_service_mask(s->service, s->caller->user_only), &s->view, err);
    if (rc == MK_OK)
        s->wire.tt = past ? as_of->i : mk_view_effective_tt(s->view).us;
    return rc;
}

static mk_code serve(served *s, const mk_json *arguments, mk_err *err)
{
    mk_json *filled, *payload;
    mk_buf note;
    mk_code rc;
    mk_buf_init(&note, s->service->alloc);
    MK_TRY(rc, prepare(s, arguments, err));
    MK_TRY(rc, pin(s, err));
    MK_TRY(rc, run_once(s, err));
    MK_TRY(rc, mk_json_parse(s->arena, mk_buf_view(&s->result.args_echo), NULL, &filled, err));
    MK_TRY(rc, check_walk(s, filled, err));
    mark_unproven(s);
    MK_TRY(rc, mk_json_parse(s->arena, mk_buf_view(&s->result.payload.text), NULL, &payload, err));
    const size_t rows = list_length(payload, "rows");
    if (rows == 0)
        note_empty(s, filled, &note);
    note_empty_filters(s, &note);
    MK_TRY(rc, mk_buf_done(&note, err));
    s->wire.note = mk_buf_view(&note);
    MK_TRY(rc, write_text(s, err));
    MK_TRY(rc, fit(s, rows, err));
    keep_result(s);
out:
    mk_buf_free(&note);
    return rc;
}

mk_code mk_serve_op(mk_service *service, const mk_operator *op, const mk_caller *caller,
                    const mk_json *arguments, mk_buf *out, char full_result[MK_RESULT_URI_MAX], mk_err *err)
{
    served s = {.service = service, .op = op, .caller = caller, .arena = caller->arena};
    mk_call_result_init(&s.result, service->alloc);
    mk_buf_init(&s.text, service->alloc);
    mk_code rc = serve(&s, arguments, err);
    if (rc == MK_OK) {
        mk_buf_str(out, mk_buf_view(&s.text));
        snprintf(full_result, MK_RESULT_URI_MAX, "%.*s", MK_STR_ARG(s.wire.full_result));
        rc = mk_buf_done(out, err);
    }
    mk_view_close(s.view);
    mk_call_result_free(&s.result);
    mk_buf_free(&s.text);
    return rc;
}

/* ---- as a tool ---- */

mk_code mk_tool_run_op(mk_service *service, const mk_operator *op, mk_mcp_call *call,
                       const mk_json *arguments, mk_buf *out, mk_err *err)
{
    const mk_caller caller = {.arena = mk_mcp_arena(call),
                              .principal = mk_mcp_principal(call),
                              .user_only = mk_mcp_is_user_only(call),
                              .cancelled = mk_mcp_cancelled(call),
                              .deadline_us = mk_mcp_deadline(call),
                              .result_bytes = service->options.result_bytes,
                              .ceilings = service->options.ceilings};
    char full_result[MK_RESULT_URI_MAX];
    mk_buf text;
    mk_buf_init(&text, service->alloc);
    mk_code rc = mk_serve_op(service, op, &caller, arguments, &text, full_result, err);
    if (rc != MK_OK)
        goto out;
    if (full_result[0] == '\0') {
        mk_tool_put_result(out, call, mk_buf_view(&text));
        goto out;
    }
    mk_buf_z(out, "\"content\":[{\"type\":\"text\",\"text\":");
    mk_canon_string(out, mk_buf_view(&text));
    mk_buf_printf(out,
                  "},{\"type\":\"resource_link\",\"uri\":\"%s\",\"name\":\"%s "
                  "result\",\"mimeType\":\"application/json\"}]",
                  full_result, op->name);
    if (mk_mcp_is_structured(call)) {
        mk_buf_z(out, ",\"structuredContent\":");
        mk_buf_str(out, mk_buf_view(&text));
    }
out:
    mk_buf_free(&text);
    return rc != MK_OK ? rc : mk_buf_done(out, err);
}

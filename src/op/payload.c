/* payload.c — results as canonical JSON in one pass. Layer: op. */
#include "op/payload.h"

#include <math.h>

#include "base/num.h"

/* ---- the object ---- */

void mk_payload_init(mk_payload *payload, const mk_alloc *alloc)
{
    *payload = (mk_payload){.first = true};
    mk_buf_init(&payload->text, alloc);
}

void mk_payload_free(mk_payload *payload)
{
    mk_buf_free(&payload->text);
}

void mk_payload_begin(mk_payload *payload, mk_arena *arena)
{
    mk_buf_clear(&payload->text);
    payload->arena = arena;
    payload->member_count = 0;
    payload->gap_count = 0;
    payload->not_finite = false;
    mk_buf_c(&payload->text, '{');
}

static void close_member(mk_payload *payload)
{
    if (payload->member_count > 0)
        payload->members[payload->member_count - 1].end = payload->text.n;
}

mk_code mk_payload_end(mk_payload *payload, mk_err *err)
{
    close_member(payload);
    mk_buf_c(&payload->text, '}');
    if (payload->not_finite) {
        mk_fail(err, MK_E_INVALID_ARG, "the result holds a number that is not finite");
        mk_err_hint(err, "a stored property is NaN or Infinity; correct it, or ask around it");
        mk_err_retry(err, MK_RETRY_NEVER);
        return MK_E_INVALID_ARG;
    }
    return mk_buf_done(&payload->text, err);
}

void mk_payload_member_start(mk_payload *payload, const char *name)
{
    MK_ASSERT(payload->member_count < MK_PAYLOAD_MEMBERS_MAX);
    MK_ASSERT(payload->member_count == 0 ||
              strcmp(payload->members[payload->member_count - 1].name, name) < 0);
    close_member(payload);
    mk_buf *text = &payload->text;
    mk_buf_z(text, payload->member_count ? ",\"" : "\"");
    mk_buf_z(text, name);
    mk_buf_put(text, "\":", 2);
    payload->members[payload->member_count++] = (mk_payload_member){.name = name, .start = text->n};
}

void mk_payload_bool(mk_payload *payload, const char *name, bool value)
{
    mk_payload_member_start(payload, name);
    mk_buf_z(&payload->text, value ? "true" : "false");
}

void mk_payload_int(mk_payload *payload, const char *name, int64_t value)
{
    mk_payload_member_start(payload, name);
    mk_buf_i64(&payload->text, value);
}

void mk_payload_list(mk_payload *payload, const char *name)
{
    mk_payload_member_start(payload, name);
    mk_buf_c(&payload->text, '[');
    payload->first = true;
}

void mk_payload_item(mk_payload *payload)
{
    if (!payload->first)
        mk_buf_c(&payload->text, ',');
    payload->first = false;
}

void mk_payload_list_end(mk_payload *payload)
{
    mk_buf_c(&payload->text, ']');
}

void mk_payload_cursor(mk_payload *payload, const mk_span *span)
{
    mk_payload_member_start(payload, "cursor");
    if (!span->truncated) {
        mk_buf_put(&payload->text, "null", 4);
        return;
    }
    mk_buf_c(&payload->text, '"');
    mk_buf_i64(&payload->text, span->next);
    mk_buf_c(&payload->text, '"');
}

/* ---- values ---- */

void mk_payload_float(mk_payload *payload, double value)
{
    if (!isfinite(value)) {
        payload->not_finite = true;
        value = 0.0;
    }
    mk_canon_double(&payload->text, mk_round9(value));
}

void mk_payload_string(mk_payload *payload, mk_str text)
{
    mk_canon_string(&payload->text, text);
}

/* Offset behind the string that opens at `at`; text.n when it does not end. */
static size_t string_end(mk_str text, size_t at)
{
    for (at++; at < text.n && text.p[at] != '"'; at++) {
        if (text.p[at] == '\\')
            at++;
    }
    return at < text.n ? at + 1 : text.n;
}

/* Whether canonical text may hold a float: those have a point, an exponent behind a digit, or are
 * one of the words NaN and Infinity; `e` also occurs in true and false. */
static bool may_hold_float(mk_str text)
{
    for (size_t i = 0; i < text.n;) {
        const char c = text.p[i];
        if (c == '"') {
            i = string_end(text, i);
            continue;
        }
        if (c == '.' || c == 'N' || c == 'I')
            return true;
        if (c == 'e' && i > 0 && text.p[i - 1] >= '0' && text.p[i - 1] <= '9')
            return true;
        i++;
    }
    return false;
}

mk_code mk_payload_tree(mk_payload *payload, mk_json *tree, mk_err *err)
{
    if (!mk_json_round9(tree)) {
        payload->not_finite = true;
        mk_buf_z(&payload->text, "null"); /* the call fails at its end */
        return MK_OK;
    }
    const mk_arena_mark mark = mk_arena_save(payload->arena);
    const mk_code rc = mk_canon_tree(&payload->text, payload->arena, tree, err);
    mk_arena_rewind(payload->arena, mark);
    return rc;
}

mk_code mk_payload_json(mk_payload *payload, mk_str canonical, mk_err *err)
{
    /* The scratch arena's limit is the call's budget of memory; the text counts against it too. */
    const size_t limit = payload->arena->limit;
    if (limit != 0 && (canonical.n > limit || payload->text.n > limit - canonical.n))
        return mk_fail_nomem(err);
    if (!may_hold_float(canonical)) {
        mk_buf_str(&payload->text, canonical);
        return MK_OK;
    }
    const mk_arena_mark mark = mk_arena_save(payload->arena);
    mk_json *tree;
    mk_code rc;

    MK_TRY(rc, mk_json_parse(payload->arena, canonical, NULL, &tree, err));
    if (!mk_json_round9(tree))
        payload->not_finite = true;
    MK_TRY(rc, mk_canon_tree(&payload->text, payload->arena, tree, err));

out:
    mk_arena_rewind(payload->arena, mark);
    return rc;
}

static void put_hex24(mk_buf *text, const char *hex)
{
    mk_buf_c(text, '"');
    mk_buf_put(text, hex, 24);
    mk_buf_c(text, '"');
}

mk_code mk_payload_edge_row(mk_payload *payload, mk_view *view, const mk_edge_ref *ref, mk_err *err)
{
    char eid[24], vid[24];
    const mk_code rc = mk_view_edge_ids(view, ref, eid, vid, err);
    if (rc != MK_OK)
        return rc;
    mk_buf *text = &payload->text;
    mk_buf_z(text, "{\"dst\":");
    mk_canon_string(text, mk_view_uid(view, ref->dst));
    mk_buf_z(text, ",\"eid\":");
    put_hex24(text, eid);
    mk_buf_z(text, ",\"rel_type\":");
    mk_canon_string(text, mk_view_name(view, ref->rel_type));
    mk_buf_z(text, ",\"src\":");
    mk_canon_string(text, mk_view_uid(view, ref->src));
    mk_buf_z(text, ",\"vid\":");
    put_hex24(text, vid);
    mk_buf_z(text, ",\"vt_e\":");
    mk_buf_i64(text, ref->vt_e);
    mk_buf_z(text, ",\"vt_s\":");
    mk_buf_i64(text, ref->vt_s);
    mk_buf_c(text, '}');
    return MK_OK;
}

/* What comes behind the properties. */
static void node_version_tail(mk_buf *text, mk_str uid, const mk_node_version *version)
{
    mk_buf_z(text, ",\"provenance_ref\":");
    if (version->provenance_null)
        mk_buf_put(text, "null", 4);
    else
        mk_canon_string(text, version->provenance_ref);
    mk_buf_z(text, ",\"source\":");
    mk_canon_string(text, version->source);
    mk_buf_z(text, ",\"tt_e\":");
    mk_buf_i64(text, version->tt_e);
    mk_buf_z(text, ",\"tt_s\":");
    mk_buf_i64(text, version->tt_s);
    mk_buf_z(text, ",\"uid\":");
    mk_canon_string(text, uid);
    mk_buf_z(text, ",\"vid\":");
    put_hex24(text, version->vid);
    mk_buf_z(text, ",\"vt_e\":");
    mk_buf_i64(text, version->vt_e);
    mk_buf_z(text, ",\"vt_s\":");
    mk_buf_i64(text, version->vt_s);
    mk_buf_c(text, '}');
}

mk_code mk_payload_node_version(mk_payload *payload, mk_view *view, const mk_node_ref *ref,
                                mk_err *err)
{
    const mk_arena_mark mark = mk_arena_save(payload->arena);
    mk_buf *text = &payload->text;
    mk_node_version version;
    mk_code rc;

    MK_TRY(rc, mk_view_node_version(view, payload->arena, ref, &version, err));
    mk_buf_z(text, "{\"label\":");
    mk_canon_string(text, mk_view_name(view, version.label));
    mk_buf_z(text, ",\"props\":");
    MK_TRY(rc, mk_payload_json(payload, version.props, err));
    node_version_tail(text, mk_view_uid(view, version.uid), &version);

out:
    mk_arena_rewind(payload->arena, mark);
    return rc;
}

/* ---- what is left out ---- */

static const char *const reason_names[] = {
    [MK_GAP_PAGE] = "page",   [MK_GAP_OFFSET] = "offset", [MK_GAP_SUBLIST] = "sublist",
    [MK_GAP_TOP_K] = "top_k", [MK_GAP_BUDGET] = "budget", [MK_GAP_EXCLUDED] = "excluded",
};

void mk_payload_gap(mk_payload *payload, const char *field, mk_gap_reason reason, uint64_t shown,
                    uint64_t total)
{
    MK_ASSERT(payload->gap_count < MK_PAYLOAD_GAPS_MAX);
    /* Kept sorted by field, so that the text is canonical; fields of one name stay together. */
    size_t at = payload->gap_count++;
    for (; at > 0 && strcmp(payload->gaps[at - 1].field, field) > 0; at--)
        payload->gaps[at] = payload->gaps[at - 1];
    payload->gaps[at] =
        (mk_gap){.field = field, .reason = reason, .shown = shown, .total = total};
}

void mk_payload_page_gaps(mk_payload *payload, const char *field, const mk_span *span)
{
    const size_t shown = span->end - span->start;
    if (span->start > 0)
        mk_payload_gap(payload, field, MK_GAP_OFFSET, shown, span->total);
    if (span->end < span->total)
        mk_payload_gap(payload, field, MK_GAP_PAGE, shown, span->total);
}

void mk_payload_gaps_json(mk_buf *out, const mk_payload *payload)
{
    const char *open = NULL;
    mk_buf_c(out, '{');
    for (size_t i = 0; i < payload->gap_count; i++) {
        const mk_gap *gap = &payload->gaps[i];
        const bool same = open != NULL && strcmp(open, gap->field) == 0;
        if (!same) {
            mk_buf_z(out, open ? "],\"" : "\"");
            mk_buf_z(out, gap->field);
            mk_buf_z(out, "\":[");
        }
        open = gap->field;
        mk_buf_z(out, same ? ",{\"reason\":\"" : "{\"reason\":\"");
        mk_buf_z(out, reason_names[gap->reason]);
        mk_buf_z(out, "\",\"shown\":");
        mk_buf_u64(out, gap->shown);
        mk_buf_z(out, ",\"total\":");
        mk_buf_u64(out, gap->total);
        mk_buf_c(out, '}');
    }
    mk_buf_z(out, open ? "]}" : "}");
}

/* ---- reading stored objects ---- */

/* Offset behind the value that starts at `at`: where nesting is back to zero at a comma or the end of
 * the object around it. */
static size_t value_end(mk_str text, size_t at)
{
    size_t depth = 0;
    while (at < text.n) {
        const char c = text.p[at];
        if (c == '"') {
            at = string_end(text, at);
            continue;
        }
        if (depth == 0 && (c == ',' || c == '}' || c == ']'))
            return at;
        if (c == '{' || c == '[')
            depth++;
        else if (c == '}' || c == ']')
            depth--;
        at++;
    }
    return text.n;
}

bool mk_canon_member(mk_str object, const char *name, mk_str *raw)
{
    const size_t name_size = strlen(name);
    size_t at = 1;
    while (at < object.n && object.p[at] == '"') {
        const size_t key_end = string_end(object, at);
        const size_t value = key_end + 1; /* behind the colon */
        if (value >= object.n)
            return false;
        const size_t end = value_end(object, value);
        if (key_end - at == name_size + 2 && memcmp(object.p + at + 1, name, name_size) == 0) {
            *raw = (mk_str){object.p + value, end - value};
            return true;
        }
        at = end + 1;
    }
    return false;
}

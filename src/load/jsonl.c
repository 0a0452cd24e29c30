/* jsonl.c — JSON lines: each is an event, or an op when it has a member "op".
 *
 * An event is {src, dst, rel_type, vt_s} with optional vt_e, disc and props; an op is one of those of
 * the store spec, 7.1. Both are read strictly: an unknown member is a bad row, because a misspelt one
 * would otherwise be lost in silence. Times are integers of microseconds or ISO 8601 text.
 * Source: store spec, 7.1, 7.7 and 24 (3 and 15). */
#include "load/load_internal.h"

#include <stdio.h>

#include "store/record.h"

/* A line is read into a tree, which dies with the batch. */

static mk_code want(mk_load *load, const char *member, const char *what, mk_err *err)
{
    return mk_load__bad(load, NULL, err, "%s has to be %s", member, what);
}

static mk_code read_string(mk_load *load, const char *member, const mk_json *value, bool may_be_empty,
                           mk_str *out, mk_err *err)
{
    if (value->kind != MK_JSON_STRING)
        return want(load, member, "a string", err);
    if (value->text.n == 0 && !may_be_empty)
        return want(load, member, "a string that is not empty", err);
    *out = value->text;
    return MK_OK;
}

static mk_code read_time(mk_load *load, const char *member, const mk_json *value, int64_t *out,
                         mk_err *err)
{
    if (value->kind == MK_JSON_STRING) {
        if (mk_time_parse(value->text, out, err) == MK_OK)
            return MK_OK;
        mk_load__bad(load, NULL, err, "%s '%.*s' is no time", member, MK_LOAD_QUOTE(value->text));
        mk_err_hint(err, "write microseconds such as 1082040961000000, or 2004-04-15T14:56:01Z");
        return MK_E_INVALID_ARG;
    }
    if (value->kind != MK_JSON_INT)
        return want(load, member, "an integer of microseconds or an ISO 8601 text", err);
    if (value->b || value->i < MK_TIME_MIN || value->i > MK_OPEN_END) {
        mk_load__bad(load, NULL, err, "%s is out of range", member);
        mk_err_hint(err, "times go from -2^62 to 2^62 microseconds");
        return MK_E_INVALID_ARG;
    }
    *out = value->i;
    return MK_OK;
}

static mk_code read_props(mk_load *load, const mk_json *value, mk_str *out, mk_err *err)
{
    mk_buf *buf = &load->scratch;
    mk_code rc;

    mk_buf_clear(buf);
    MK_TRY(rc, mk_canon_tree(buf, load->sink->arena, value, err));
    MK_TRY(rc, mk_buf_done(buf, err));
    *out = mk_arena_copy(load->sink->arena, mk_buf_view(buf));
    if (out->p == NULL)
        rc = mk_fail_nomem(err);

out:
    return rc;
}

static mk_code read_member(mk_load *load, const mk_member *member, mk_event *event, unsigned *have,
                           mk_err *err)
{
    static const char *const names[] = {"src", "dst", "rel_type", "vt_s", "vt_e", "disc", "props"};
    const mk_json *value = &member->value;
    size_t which = 0;

    while (which < 7 && !mk_str_eq(member->key, mk_str_of(names[which])))
        which++;
    *have |= 1u << which;
    switch (which) {
    case 0:
        return read_string(load, "src", value, false, &event->src, err);
    case 1:
        return read_string(load, "dst", value, false, &event->dst, err);
    case 2:
        return read_string(load, "rel_type", value, false, &event->rel_type, err);
    case 3:
        return read_time(load, "vt_s", value, &event->vt_s, err);
    case 4:
        event->has_vt_e = true;
        return read_time(load, "vt_e", value, &event->vt_e, err);
    case 5:
        event->disc_kind = MK_DISC_GIVEN;
        return read_string(load, "disc", value, true, &event->disc, err);
    case 6:
        return read_props(load, value, &event->props, err);
    default:
        mk_load__bad(load, NULL, err, "an event has no member '%.*s'", MK_LOAD_QUOTE(member->key));
        mk_err_hint(err, "src, dst, rel_type, vt_s, and if wanted vt_e, disc, props; put the rest "
                         "into props, or name an op with \"op\"");
        return MK_E_INVALID_ARG;
    }
}

static mk_code read_event(mk_load *load, const mk_json *tree, mk_event *event, mk_err *err)
{
    unsigned have = 0;
    mk_code rc = MK_OK;

    *event = (mk_event){.disc_kind = MK_DISC_DEFAULT};
    for (size_t i = 0; i < tree->n; i++)
        MK_TRY(rc, read_member(load, &tree->members[i], event, &have, err));
    if ((have & 15u) != 15u) {
        const char *missing = !(have & 1u)   ? "src"
                              : !(have & 2u) ? "dst"
                              : !(have & 4u) ? "rel_type"
                                             : "vt_s";
        rc = mk_load__bad(load, NULL, err, "the event has no %s", missing);
        mk_err_hint(err, "an event needs src, dst, rel_type and vt_s; an op needs \"op\"");
        goto out;
    }
    if (event->has_vt_e && event->vt_e <= event->vt_s) {
        rc = mk_load__bad(load, NULL, err, "vt_e %lld is not after vt_s %lld",
                          (long long)event->vt_e, (long long)event->vt_s);
        mk_err_hint(err, "swap the two, or leave out vt_e for an instant");
    }

out:
    return rc;
}

/* An op as written; the load's source and reference stand in where the line has none. */
static mk_code read_op(mk_load *load, const mk_json *tree, mk_op *op, mk_err *err)
{
    const mk_load_options *options = load->options;
    char path[160];

    snprintf(path, sizeof path, "%s:%llu", load->name, (unsigned long long)load->reader->line);
    const mk_code rc = mk_op_from_json(tree, load->sink->arena, path, op, err);
    if (rc != MK_OK)
        return rc;
    if (options->source != NULL && mk_json_get(tree, "source") == NULL)
        op->source = mk_str_of(options->source);
    if (options->provenance_ref != NULL && mk_json_get(tree, "provenance_ref") == NULL) {
        op->provenance_ref = mk_str_of(options->provenance_ref);
        op->provenance_null = false;
    }
    return MK_OK;
}

static mk_code read_tree(mk_load *load, mk_str line, mk_json **tree, mk_err *err)
{
    const mk_code rc = mk_json_parse(load->sink->arena, line, NULL, tree, err);

    if (rc == MK_E_SCHEMA || rc == MK_E_LIMIT) {
        const bool at = err->offset >= 0 && (uint64_t)err->offset <= line.n;
        mk_load__path(load, load->reader->line, at ? line.p + err->offset : NULL, err);
        if (rc == MK_E_SCHEMA)
            err->code = MK_E_INVALID_ARG;
        return err->code;
    }
    if (rc == MK_OK && (*tree)->kind != MK_JSON_OBJECT) {
        mk_load__bad(load, line.p, err, "the line is no JSON object: '%.*s'", MK_LOAD_QUOTE(line));
        mk_err_hint(err, "one event or op a line, such as {\"src\":\"a\",\"dst\":\"b\","
                         "\"rel_type\":\"KNOWS\",\"vt_s\":0}");
        return MK_E_INVALID_ARG;
    }
    return rc;
}

static mk_code read_line(mk_load *load, mk_str line, mk_err *err)
{
    const uint64_t number = load->reader->line;
    mk_json *tree;
    mk_event event;
    mk_op op;
    bool is_op = false;

    mk_code rc = read_tree(load, line, &tree, err);
    if (rc == MK_OK) {
        is_op = mk_json_get(tree, "op") != NULL;
        rc = is_op ? read_op(load, tree, &op, err) : read_event(load, tree, &event, err);
    }
    if (rc != MK_OK)
        return mk_load__tolerate(load, number, rc, err);
    return is_op ? load->sink->op(load->sink, &op, number, err)
                 : load->sink->event(load->sink, &event, number, err);
}

static bool is_white(mk_str line)
{
    for (size_t i = 0; i < line.n; i++)
        if (line.p[i] != ' ' && line.p[i] != '\t' && line.p[i] != '\r')
            return false;
    return true;
}

mk_code mk_load__jsonl(mk_load *load, mk_err *err)
{
    mk_str line;
    bool more;
    mk_code rc;

    MK_TRY(rc, mk_load__skip_bom(load->reader, err));
    for (;;) {
        MK_TRY(rc, mk_load__line(load->reader, &line, &more, err));
        if (!more)
            break;
        if (is_white(line))
            continue;
        MK_TRY(rc, mk_load__count_row(load, err));
        MK_TRY(rc, read_line(load, line, err));
    }

out:
    return rc;
}

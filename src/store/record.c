/* record.c — the lenient reader: one line of a log to typed ops. Layer: store.
 *
 * Replay runs on this file, so it works from the pull reader and builds no tree. An op is read before
 * its kind is known ("op" stands behind most members): every known member is kept with what was found
 * there, the last of duplicates winning, and only then the op is put together and judged. A line that
 * is no record is an error; an op that the reference would crash on only marks the record, because a
 * log may hold it and skips its batch (store spec, 24, item 15; STORAGE.md, Commit).
 * Source: store spec, 3, 7.1, 10.2, 10.8. */
#include "store/record_decoder.h"

#define ID_DIGITS 16
#define OPS_START 4 /* ops that a record gets room for at first; most have one */

/* Replay takes strings and batches of any size that fits a record (STORAGE.md, Limits). The depth is
 * that of the door plus the five levels that a record puts around the props of an event. */
static const mk_json_limits record_limits = {
    .depth = 128 + 5,
    .string_size = MK_RECORD_MAX,
    .number_size = 4096,
    .members = MK_RECORD_MAX,
};

const mk_str mk_record__field_names[MK_FIELD_COUNT] = {
    [MK_FIELD_DISC] = {"disc", 4},
    [MK_FIELD_DST] = {"dst", 3},
    [MK_FIELD_EVENTS] = {"events", 6},
    [MK_FIELD_KIND] = {"kind", 4},
    [MK_FIELD_LABEL] = {"label", 5},
    [MK_FIELD_NODE_LABEL] = {"node_label", 10},
    [MK_FIELD_OFFSET] = {"offset", 6},
    [MK_FIELD_OP] = {"op", 2},
    [MK_FIELD_PROPS] = {"props", 5},
    [MK_FIELD_PROVENANCE_REF] = {"provenance_ref", 14},
    [MK_FIELD_REF] = {"ref", 3},
    [MK_FIELD_REL_TYPE] = {"rel_type", 8},
    [MK_FIELD_SOURCE] = {"source", 6},
    [MK_FIELD_SRC] = {"src", 3},
    [MK_FIELD_T] = {"t", 1},
    [MK_FIELD_UID] = {"uid", 3},
    [MK_FIELD_VT_E] = {"vt_e", 4},
    [MK_FIELD_VT_S] = {"vt_s", 4},
};

const mk_str mk_record__op_names[MK_RECORD_OP_NAMES] = {
    [MK_OP_ASSERT_NODE] = {"assert_node", 11},
    [MK_OP_ASSERT_EDGE] = {"assert_edge", 11},
    [MK_OP_RETRACT] = {"retract", 7},
    [MK_OP_CORRECT] = {"correct", 7},
    [MK_OP_INGEST_EVENTS] = {"ingest_events", 13},
};

static size_t name_find(const mk_str *names, size_t count, mk_str name)
{
    for (size_t i = 0; i < count; i++) {
        if (names[i].n == name.n && memcmp(names[i].p, name.p, name.n) == 0)
            return i;
    }
    return count;
}

mk_record_field mk_record__field_find(mk_str name)
{
    return (mk_record_field)name_find(mk_record__field_names, MK_FIELD_COUNT, name);
}

mk_op_kind mk_record__op_find(mk_str name)
{
    return (mk_op_kind)name_find(mk_record__op_names, MK_RECORD_OP_NAMES, name);
}

/* ---- members ---- */

/* The text of a string token for as long as the record lives. */
static mk_code keep_text(mk_record_decoder *d, mk_str *out, mk_err *err)
{
    *out = d->json.text;
    if (d->json.borrowed)
        return MK_OK;
    *out = mk_arena_copy(d->arena, d->json.text);
    return out->p == NULL ? mk_fail_nomem(err) : MK_OK;
}

mk_code mk_record__read_scalar(mk_record_decoder *d, uint8_t *got, mk_str *text, int64_t *number,
                               mk_err *err)
{
    mk_str raw;
    mk_code rc;

    MK_TRY(rc, mk_json_next(&d->json, err));
    *got = MK_FOUND_OTHER;
    switch (d->json.token) {
    case MK_TOK_STRING:
        *got = MK_FOUND_TEXT;
        rc = keep_text(d, text, err);
        break;
    case MK_TOK_NULL:
        *got = MK_FOUND_NULL;
        break;
    case MK_TOK_INT:
        if (!d->json.big) {
            *got = MK_FOUND_INT;
            *number = d->json.i;
        }
        break;
    case MK_TOK_FLOAT:
        if (d->json.d == 0)
            *got = MK_FOUND_ZERO;
        break;
    default:
        rc = mk_json_skip(&d->json, &raw, err);
        break;
    }

out:
    return rc;
}

/* ---- ops ---- */

/* The current token is the object's start. Members of a ref are scalars; the rest is ignored. */
static mk_code read_ref_members(mk_record_decoder *d, mk_err *err)
{
    mk_str raw;
    mk_code rc;

    memset(d->ref.got, MK_FOUND_NOTHING, sizeof d->ref.got);
    for (;;) {
        MK_TRY(rc, mk_json_next(&d->json, err));
        if (d->json.token == MK_TOK_OBJECT_END)
            break;
        const mk_record_field field = mk_record__field_find(d->json.text);
        if (field == MK_FIELD_COUNT)
            MK_TRY(rc, mk_json_skip(&d->json, &raw, err));
        else
            MK_TRY(rc, mk_record__read_scalar(d, &d->ref.got[field], &d->ref.text[field],
                                              &d->ref.number[field], err));
    }

out:
    return rc;
}

static mk_code read_ref(mk_record_decoder *d, uint8_t *got, mk_err *err)
{
    mk_str raw;
    mk_code rc;

    *got = MK_FOUND_OTHER;
    MK_TRY(rc, mk_json_next(&d->json, err));
    if (d->json.token != MK_TOK_OBJECT)
        return mk_json_skip(&d->json, &raw, err);
    *got = MK_FOUND_RAW;
    MK_TRY(rc, read_ref_members(d, err));

out:
    return rc;
}

static mk_code read_op_member(mk_record_decoder *d, mk_record_field field, mk_err *err)
{
    mk_record_fields *own = &d->own;
    mk_str raw;

    switch (field) {
    case MK_FIELD_COUNT:
        return mk_json_skip(&d->json, &raw, err);
    case MK_FIELD_PROPS:
        own->got[field] = MK_FOUND_RAW;
        return mk_json_skip(&d->json, &own->text[field], err);
    case MK_FIELD_REF:
        return read_ref(d, &own->got[field], err);
    case MK_FIELD_EVENTS:
        return mk_record__read_events(d, &own->got[field], err);
    default:
        return mk_record__read_scalar(d, &own->got[field], &own->text[field], &own->number[field],
                                      err);
    }
}

static mk_op *op_slot(mk_record_decoder *d)
{
    mk_record *out = d->out;
    size_t size;

    if (out->op_count < d->op_cap)
        return &out->ops[out->op_count];
    const size_t cap = d->op_cap == 0 ? OPS_START : d->op_cap * 2;
    mk_op *grown = mk_size_mul(cap, sizeof *grown, &size) ? mk_arena_get(d->arena, size) : NULL;
    if (grown == NULL)
        return NULL;
    if (out->op_count != 0)
        memcpy(grown, out->ops, out->op_count * sizeof *grown);
    out->ops = grown;
    d->op_cap = cap;
    return &out->ops[out->op_count];
}

/* The current token starts the op. */
static mk_code read_op(mk_record_decoder *d, mk_err *err)
{
    mk_str raw;
    mk_code rc;

    if (d->json.token != MK_TOK_OBJECT) {
        mk_record__malformed(d, "", "not an object");
        return mk_json_skip(&d->json, &raw, err);
    }
    memset(d->own.got, MK_FOUND_NOTHING, sizeof d->own.got);
    memset(&d->list, 0, sizeof d->list);
    for (;;) {
        MK_TRY(rc, mk_json_next(&d->json, err));
        if (d->json.token == MK_TOK_OBJECT_END)
            break;
        MK_TRY(rc, read_op_member(d, mk_record__field_find(d->json.text), err));
    }
    /* Behind a malformed op only the grammar matters any more. */
    if (!d->out->malformed) {
        mk_op *slot = op_slot(d);
        if (slot == NULL) {
            rc = mk_fail_nomem(err);
            goto out;
        }
        if (mk_record__build_op(d, slot))
            d->out->op_count++;
    }

out:
    return rc;
}

/* ---- records ---- */

static mk_code not_a_record(mk_err *err, const char *why, size_t offset)
{
    mk_code rc = mk_fail(err, MK_E_STATE, "not a record: %s", why);
    mk_err_reason(err, "damaged");
    mk_err_offset(err, (int64_t)offset);
    mk_err_hint(err, "a record is {\"batch_id\":...,\"ops\":[...],\"tt\":...}; "
                     "restore this line from a copy of the log");
    return rc;
}

static mk_code read_ops(mk_record_decoder *d, mk_err *err)
{
    mk_code rc;

    MK_TRY(rc, mk_json_next(&d->json, err));
    if (d->json.token != MK_TOK_ARRAY)
        return not_a_record(err, "ops is not an array", d->json.start);
    const size_t start = d->json.start;
    d->out->op_count = 0;
    d->out->malformed = false;
    d->has_ops = true;
    for (d->op_index = 0;; d->op_index++) {
        MK_TRY(rc, mk_json_next(&d->json, err));
        if (d->json.token == MK_TOK_ARRAY_END)
            break;
        MK_TRY(rc, read_op(d, err));
    }
    d->ops_text = (mk_str){d->json.input.p + start, d->json.at - start};

out:
    return rc;
}

static mk_code read_tt(mk_record_decoder *d, mk_err *err)
{
    mk_code rc;

    MK_TRY(rc, mk_json_next(&d->json, err));
    if (d->json.token != MK_TOK_INT || d->json.big || d->json.i <= 0)
        return not_a_record(err, "tt is not a positive integer in the range of int64",
                            d->json.start);
    d->out->tt.us = d->json.i;
    d->has_tt = true;

out:
    return rc;
}

static mk_code read_batch_id(mk_record_decoder *d, mk_err *err)
{
    mk_code rc;

    MK_TRY(rc, mk_json_next(&d->json, err));
    if (d->json.token != MK_TOK_STRING || d->json.text.n != ID_DIGITS ||
        mk_record__plain_span(d->json.text.p, ID_DIGITS, true) != ID_DIGITS)
        return not_a_record(err, "batch_id is not a string of 16 digits", d->json.start);
    memcpy(d->out->batch_id, d->json.text.p, ID_DIGITS);
    d->out->batch_id[ID_DIGITS] = '\0';
    d->has_id = true;

out:
    return rc;
}

static mk_code read_record_member(mk_record_decoder *d, mk_err *err)
{
    const mk_str name = d->json.text;
    mk_str raw;

    if (mk_str_eq(name, MK_STR("ops")))
        return read_ops(d, err);
    if (mk_str_eq(name, MK_STR("tt")))
        return read_tt(d, err);
    if (mk_str_eq(name, MK_STR("batch_id")))
        return read_batch_id(d, err);
    d->has_others = true;
    return mk_json_skip(&d->json, &raw, err);
}

static mk_code read_record(mk_record_decoder *d, mk_err *err)
{
    mk_code rc;

    MK_TRY(rc, mk_json_next(&d->json, err));
    if (d->json.token != MK_TOK_OBJECT)
        return not_a_record(err, "the line is not an object", d->json.start);
    for (;;) {
        MK_TRY(rc, mk_json_next(&d->json, err));
        if (d->json.token == MK_TOK_OBJECT_END)
            break;
        MK_TRY(rc, read_record_member(d, err));
    }
    MK_TRY(rc, mk_json_next(&d->json, err)); /* nothing may follow */
    if (!d->has_id)
        rc = not_a_record(err, "batch_id is missing", 0);
    else if (!d->has_ops)
        rc = not_a_record(err, "ops is missing", 0);
    else if (!d->has_tt)
        rc = not_a_record(err, "tt is missing", 0);

out:
    return rc;
}

/* A line that is no JSON, or JSON beyond the limits, is a damaged line to whoever reads a log. The
 * message and the offset of the innermost stay. */
static mk_code as_damage(mk_code rc, mk_err *err)
{
    if (rc != MK_E_SCHEMA && rc != MK_E_LIMIT)
        return rc;
    if (err != NULL)
        err->code = MK_E_STATE;
    mk_err_reason(err, rc == MK_E_LIMIT ? "limit" : "damaged");
    mk_err_retry(err, MK_RETRY_NEVER);
    return MK_E_STATE;
}

static mk_code decode(mk_record_decoder *d, mk_arena *arena, mk_str line, mk_record *out,
                      mk_err *err)
{
    memset(out, 0, offsetof(mk_record, why));
    out->why.code = MK_OK;
    d->arena = arena;
    d->out = out;
    d->op_cap = 0;
    d->guessed = d->has_id = d->has_ops = d->has_tt = d->has_others = false;
    mk_json_open(&d->json, arena->alloc, line, &record_limits);
    const mk_code rc = read_record(d, err);
    mk_json_close(&d->json);
    return as_damage(rc, err);
}

/* Reads the record again from its canonical form, which then carries all its strings. */
static mk_code decode_canonical(mk_record_decoder *d, mk_arena *arena, mk_arena_mark mark,
                                mk_str line, mk_record *out, mk_err *err)
{
    mk_buf text;
    mk_code rc;

    mk_buf_init(&text, arena->alloc);
    MK_TRY(rc, as_damage(mk_canon_text(&text, arena, line, &record_limits, err), err));
    mk_arena_rewind(arena, mark); /* the tree and the first reading are not needed any more */
    const mk_str kept = mk_arena_copy(arena, mk_buf_view(&text));
    if (kept.p == NULL) {
        rc = mk_fail_nomem(err);
        goto out;
    }
    MK_TRY(rc, decode(d, arena, kept, out, err));

out:
    mk_buf_free(&text);
    return rc;
}

static mk_code check_batch_id(const mk_record_decoder *d, const mk_record *record, mk_err *err)
{
    char id[ID_DIGITS + 1];

    mk_record__batch_id(id, d->ops_text, record->tt.us);
    if (memcmp(id, record->batch_id, ID_DIGITS) == 0)
        return MK_OK;
    mk_code rc = mk_fail(err, MK_E_STATE, "batch_id is %s, but the content hashes to %s",
                         record->batch_id, id);
    mk_err_reason(err, "damaged");
    mk_err_path(err, "batch_id");
    mk_err_hint(err, "the record was changed after it was written; "
                     "restore this line from a copy of the log");
    return rc;
}

mk_code mk_record_read(mk_arena *arena, mk_str line, bool check_id, mk_record *out, bool *canonical,
                       mk_err *err)
{
    mk_record_decoder d;
    mk_code rc;
    const mk_arena_mark mark = mk_arena_save(arena);

    if (line.n != 0 && line.p[line.n - 1] == '\n')
        line.n--;
    if (line.n >= MK_RECORD_MAX) {
        rc = mk_fail(err, MK_E_STATE, "the line takes %zu bytes, more than a record may (%zu)",
                     line.n, MK_RECORD_MAX);
        mk_err_reason(err, "limit");
        mk_err_retry(err, MK_RETRY_NEVER);
        return rc;
    }
    MK_TRY(rc, decode(&d, arena, line, out, err));
    if (!check_id && canonical == NULL)
        return MK_OK; /* our own log, which holds nothing but what our writer made */

    const bool is_canonical = mk_record__is_canonical(line);
    if (!is_canonical)
        MK_TRY(rc, decode_canonical(&d, arena, mark, line, out, err));
    if (canonical != NULL)
        *canonical = is_canonical && !d.has_others;
    if (check_id)
        MK_TRY(rc, check_batch_id(&d, out, err));

out:
    if (rc != MK_OK)
        mk_arena_rewind(arena, mark);
    return rc;
}

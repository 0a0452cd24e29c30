/* record_build.c — from what was found to an op, leniently. Layer: store.
 *
 * Here stands which members an op must have for the reference to apply it, what is taken for those that
 * may be absent, and which finding makes the reference crash and so the batch fail. Everything is judged
 * behind the whole op, so that the last of duplicate members wins as it does there.
 * Source: store spec, 7.1, 10.8, 24 (items 11 and 15). */
#include <stdio.h>

#include "store/record_decoder.h"

/* Marks the record, for the first malformed op only. */
void mk_record__malformed(mk_record_decoder *d, const char *where, const char *message)
{
    if (d->out->malformed)
        return;
    d->out->malformed = true;
    mk_fail(&d->out->why, MK_E_SCHEMA, "ops[%zu] is malformed: %s%s", d->op_index, where, message);
    mk_err_path(&d->out->why, "ops[%zu]%s%s", d->op_index, where[0] != '\0' ? "." : "", where);
    mk_err_retry(&d->out->why, MK_RETRY_NEVER);
}

static bool complain(mk_record_decoder *d, const mk_record_fields *from, mk_record_field field,
                     const char *expected)
{
    char where[48], message[96];
    const size_t prefix = from == &d->ref ? 4 : 0;
    const mk_str name = mk_record__field_names[field];

    memcpy(where, "ref.", prefix);
    memcpy(where + prefix, name.p, name.n);
    where[prefix + name.n] = '\0';
    const bool absent = from->got[field] == MK_FOUND_NOTHING;
    const mk_str text = absent ? MK_STR(" is missing") : mk_str_of(expected);
    memcpy(message, text.p, text.n);
    message[text.n] = '\0';
    mk_record__malformed(d, where, message);
    return false;
}

static bool want_text(mk_record_decoder *d, const mk_record_fields *from, mk_record_field field,
                      mk_str *out)
{
    if (from->got[field] != MK_FOUND_TEXT)
        return complain(d, from, field, " is not a string");
    *out = from->text[field];
    return true;
}

static bool want_text_or(mk_record_decoder *d, const mk_record_fields *from, mk_record_field field,
                         mk_str absent, mk_str *out)
{
    *out = absent;
    return from->got[field] == MK_FOUND_NOTHING || want_text(d, from, field, out);
}

static bool want_filled(mk_record_decoder *d, const mk_record_fields *from, mk_record_field field,
                        mk_str *out)
{
    if (!want_text(d, from, field, out))
        return false;
    return out->n != 0 || complain(d, from, field, " is empty");
}

static bool want_i64(mk_record_decoder *d, mk_record_field field, int64_t *out)
{
    if (d->own.got[field] != MK_FOUND_INT)
        return complain(d, &d->own, field, " is not an integer in the range of int64");
    *out = d->own.number[field];
    return true;
}

static bool want_i64_or(mk_record_decoder *d, mk_record_field field, int64_t absent, int64_t *out)
{
    *out = absent;
    return d->own.got[field] == MK_FOUND_NOTHING || want_i64(d, field, out);
}

static bool want_disc(mk_record_decoder *d, const mk_record_fields *from, mk_op *op)
{
    op->disc_null = from->got[MK_FIELD_DISC] == MK_FOUND_NULL;
    op->disc = MK_STR("");
    return op->disc_null || want_text_or(d, from, MK_FIELD_DISC, MK_STR(""), &op->disc);
}

static bool want_provenance(mk_record_decoder *d, mk_op *op)
{
    const uint8_t got = d->own.got[MK_FIELD_PROVENANCE_REF];

    op->provenance_null = got == MK_FOUND_NOTHING || got == MK_FOUND_NULL;
    if (!want_text_or(d, &d->own, MK_FIELD_SOURCE, MK_STR("ingest"), &op->source))
        return false;
    return op->provenance_null ||
           want_text(d, &d->own, MK_FIELD_PROVENANCE_REF, &op->provenance_ref);
}

static bool want_ref(mk_record_decoder *d, mk_op *op)
{
    mk_str kind = {NULL, 0};

    if (d->own.got[MK_FIELD_REF] != MK_FOUND_RAW)
        return complain(d, &d->own, MK_FIELD_REF, " is not an object");
    if (!want_text(d, &d->ref, MK_FIELD_KIND, &kind))
        return false;
    op->on_node = mk_str_eq(kind, MK_STR("node"));
    if (op->on_node)
        return want_filled(d, &d->ref, MK_FIELD_UID, &op->uid);
    if (!mk_str_eq(kind, MK_STR("edge")))
        return complain(d, &d->ref, MK_FIELD_KIND, " is neither node nor edge");
    return want_filled(d, &d->ref, MK_FIELD_SRC, &op->src) &&
           want_filled(d, &d->ref, MK_FIELD_DST, &op->dst) &&
           want_filled(d, &d->ref, MK_FIELD_REL_TYPE, &op->rel_type) && want_disc(d, &d->ref, op);
}

static bool want_interval(mk_record_decoder *d, mk_op *op)
{
    return want_i64(d, MK_FIELD_VT_S, &op->vt_s) &&
           want_i64_or(d, MK_FIELD_VT_E, MK_OPEN_END, &op->vt_e);
}

static bool want_node(mk_record_decoder *d, mk_op *op)
{
    return want_text(d, &d->own, MK_FIELD_UID, &op->uid) &&
           want_text(d, &d->own, MK_FIELD_LABEL, &op->label) &&
           want_interval(d, op) && want_provenance(d, op);
}

static bool want_edge(mk_record_decoder *d, mk_op *op)
{
    const mk_record_fields *own = &d->own;

    return want_text(d, own, MK_FIELD_SRC, &op->src) && want_text(d, own, MK_FIELD_DST, &op->dst) &&
           want_text(d, own, MK_FIELD_REL_TYPE, &op->rel_type) && want_disc(d, own, op) &&
           want_interval(d, op) &&
           want_provenance(d, op);
}

/* The reference never looks at who retracts, so whatever stands there is no reason to fail. */
static bool want_retract(mk_record_decoder *d, mk_op *op)
{
    const mk_record_fields *own = &d->own;

    op->source = MK_STR("ingest");
    if (own->got[MK_FIELD_SOURCE] == MK_FOUND_TEXT)
        op->source = own->text[MK_FIELD_SOURCE];
    op->provenance_null = own->got[MK_FIELD_PROVENANCE_REF] != MK_FOUND_TEXT;
    if (!op->provenance_null)
        op->provenance_ref = own->text[MK_FIELD_PROVENANCE_REF];
    return want_ref(d, op) && want_i64(d, MK_FIELD_T, &op->t);
}

static bool want_correct(mk_record_decoder *d, mk_op *op)
{
    if (!want_ref(d, op))
        return false;
    if (d->own.got[MK_FIELD_PROPS] == MK_FOUND_NOTHING)
        return complain(d, &d->own, MK_FIELD_PROPS, "");
    return want_interval(d, op) && want_provenance(d, op);
}

static bool want_events(mk_record_decoder *d, mk_op *op)
{
    char where[48], message[160];
    int64_t last;

    if (d->own.got[MK_FIELD_EVENTS] != MK_FOUND_RAW)
        return complain(d, &d->own, MK_FIELD_EVENTS, " is not an array");
    if (d->list.bad) {
        snprintf(where, sizeof where, "events[%zu]", d->list.bad_index);
        snprintf(message, sizeof message, " %s", d->list.bad_what);
        mk_record__malformed(d, where, message);
        return false;
    }
    if (!want_i64_or(d, MK_FIELD_OFFSET, 0, &op->offset))
        return false;
    /* The default disc of the last event must be a number we can count to. */
    if (__builtin_add_overflow(op->offset, (int64_t)d->list.count, &last))
        return complain(d, &d->own, MK_FIELD_OFFSET, " leads beyond the range of int64");
    op->events = d->list.events;
    op->event_count = d->list.count;
    return want_text_or(d, &d->own, MK_FIELD_NODE_LABEL, MK_STR("Node"), &op->node_label) &&
           want_provenance(d, op);
}

bool mk_record__build_op(mk_record_decoder *d, mk_op *op)
{
    mk_str name = {NULL, 0};

    memset(op, 0, sizeof *op);
    if (!want_text(d, &d->own, MK_FIELD_OP, &name))
        return false;
    op->kind = mk_record__op_find(name);
    op->props = MK_STR("{}");
    if (d->own.got[MK_FIELD_PROPS] == MK_FOUND_RAW)
        op->props = d->own.text[MK_FIELD_PROPS];
    switch (op->kind) {
    case MK_OP_ASSERT_NODE:
        return want_node(d, op);
    case MK_OP_ASSERT_EDGE:
        return want_edge(d, op);
    case MK_OP_RETRACT:
        return want_retract(d, op);
    case MK_OP_CORRECT:
        return want_correct(d, op);
    case MK_OP_INGEST_EVENTS:
        return want_events(d, op);
    case MK_OP_UNKNOWN:
        break;
    }
    op->raw_kind = name;
    op->provenance_null = true;
    op->source = MK_STR("ingest");
    return true;
}

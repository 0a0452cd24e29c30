/* record_door.c — the strict reader: an op as a caller wrote it. Layer: store.
 *
 * What a caller may leave out is filled in here (store spec, 7.8), and whatever it may not write is
 * refused by name: a member that no op has is more often a slip of the pen than a wish. Shape is judged
 * here and gives E_SCHEMA; values are judged by record_check.c.
 * Source: store spec, 7.1, 7.8, 24 (item 15); decisions.md 3 and 6. */
#include "store/record_internal.h"

#define BIT(field) (1u << MK_FIELD_##field)

typedef struct shape {
    unsigned allowed, required; /* one bit a member */
    const char *members;        /* for the hint */
} shape;

#define COMMON (BIT(OP) | BIT(SOURCE) | BIT(PROVENANCE_REF))
#define INTERVAL (BIT(VT_S) | BIT(VT_E))

static const shape op_shapes[MK_RECORD_OP_NAMES] = {
    [MK_OP_ASSERT_NODE] = {COMMON | INTERVAL | BIT(UID) | BIT(LABEL) | BIT(PROPS),
                           BIT(UID) | BIT(LABEL),
                           "op, uid, label, props, vt_s, vt_e, source, provenance_ref"},
    [MK_OP_ASSERT_EDGE] = {COMMON | INTERVAL | BIT(SRC) | BIT(DST) | BIT(REL_TYPE) | BIT(DISC) | BIT(PROPS),
                           BIT(SRC) | BIT(DST) | BIT(REL_TYPE),
                           "op, src, dst, rel_type, disc, props, vt_s, vt_e, source, provenance_ref"},
    [MK_OP_RETRACT] = {COMMON | BIT(REF) | BIT(T), BIT(REF) | BIT(T),
                       "op, ref, t, source, provenance_ref"},
    [MK_OP_CORRECT] = {COMMON | INTERVAL | BIT(REF) | BIT(PROPS), BIT(REF) | BIT(PROPS),
                       "op, ref, props, vt_s, vt_e, source, provenance_ref"},
    [MK_OP_INGEST_EVENTS] = {COMMON | BIT(EVENTS) | BIT(OFFSET) | BIT(NODE_LABEL), BIT(EVENTS),
                             "op, events, offset, node_label, source, provenance_ref"},
};

static const shape node_ref_shape = {BIT(KIND) | BIT(UID), BIT(KIND) | BIT(UID), "kind, uid"};
static const shape edge_ref_shape = {BIT(KIND) | BIT(SRC) | BIT(DST) | BIT(REL_TYPE) | BIT(DISC),
                                     BIT(KIND) | BIT(SRC) | BIT(DST) | BIT(REL_TYPE),
                                     "kind, src, dst, rel_type, disc"};
static const shape event_shape = {INTERVAL | BIT(SRC) | BIT(DST) | BIT(REL_TYPE) | BIT(DISC) | BIT(PROPS),
                                  BIT(SRC) | BIT(DST) | BIT(REL_TYPE) | BIT(VT_S),
                                  "src, dst, rel_type, vt_s, vt_e, disc, props"};

/* One object being read: its members by name, and where it stands. */
typedef struct object {
    const char *path; /* of the op; may be "" */
    char inner[40];   /* "", "ref" or "events[17]" */
    const mk_json *values[MK_FIELD_COUNT];
} object;

typedef struct op_door {
    mk_arena *arena;
    mk_buf text; /* props being made canonical; kept from one to the next */
    mk_err *err;
} op_door;

/* ---- refusals ---- */

static const char *kind_name(const mk_json *value)
{
    static const char *const names[] = {
        [MK_JSON_NULL] = "null",     [MK_JSON_BOOL] = "a boolean", [MK_JSON_INT] = "an integer",
        [MK_JSON_FLOAT] = "a float", [MK_JSON_STRING] = "a string", [MK_JSON_ARRAY] = "an array",
        [MK_JSON_OBJECT] = "an object",
    };

    if (value->kind == MK_JSON_INT && value->b)
        return "an integer beyond 64 bits";
    return names[value->kind];
}

/* Sets the path of the error just made; an empty `member` means the object itself. */
static mk_code at(mk_err *err, const object *in, mk_str member, mk_code rc)
{
    const char *dot = in->path[0] != '\0' && in->inner[0] != '\0' ? "." : "";
    const bool outer = in->path[0] != '\0' || in->inner[0] != '\0';
    const mk_str name = mk_record__shown(member);

    mk_err_path(err, "%s%s%s%s%.*s", in->path, dot, in->inner, outer && name.n != 0 ? "." : "",
                MK_STR_ARG(name));
    return rc;
}

static mk_code wrong_type(mk_err *err, const object *in, mk_record_field field,
                          const char *expected)
{
    const mk_str name = mk_record__field_names[field];
    const mk_json *value = in->values[field];
    const mk_code rc = mk_fail(err, MK_E_SCHEMA, "%.*s is %s, not %s", MK_STR_ARG(name),
                               kind_name(value), expected);

    if (value->kind == MK_JSON_NULL)
        mk_err_hint(err, "give %s, or leave %.*s out where it is optional", expected,
                    MK_STR_ARG(name));
    else
        mk_err_hint(err, "give %s", expected);
    return at(err, in, name, rc);
}

/* ---- members ---- */

/* Sorts the members of an object by name. Checks that it is an object with all of the members that it
 * must have and none that it cannot have. */
static mk_code open_object(const mk_json *json, const shape *form, const char *what, object *out,
                           mk_err *err)
{
    mk_code rc;

    memset(out->values, 0, sizeof out->values);
    for (size_t i = 0; i < json->n; i++) {
        const mk_member *member = &json->members[i];
        const mk_record_field field = mk_record__field_find(member->key);
        if (field == MK_FIELD_COUNT || (form->allowed & 1u << field) == 0) {
            rc = mk_fail(err, MK_E_SCHEMA, "%s has no member %.*s", what,
                         MK_STR_ARG(mk_record__shown(member->key)));
            mk_err_hint(err, "the members are %s", form->members);
            return at(err, out, member->key, rc);
        }
        out->values[field] = &member->value;
    }
    for (unsigned field = 0; field < MK_FIELD_COUNT; field++) {
        if ((form->required & 1u << field) == 0 || out->values[field] != NULL)
            continue;
        const mk_str name = mk_record__field_names[field];
        rc = mk_fail(err, MK_E_SCHEMA, "%s without %.*s", what, MK_STR_ARG(name));
        mk_err_hint(err, "add %.*s", MK_STR_ARG(name));
        return at(err, out, name, rc);
    }
    return MK_OK;
}

static mk_code not_an_object(const object *in, const char *what, const mk_json *json, mk_err *err)
{
    const mk_code rc = mk_fail(err, MK_E_SCHEMA, "%s is %s, not an object", what, kind_name(json));

    return at(err, in, MK_STR(""), rc);
}

/* *out keeps its default when the member is absent. So with those below. */
static mk_code take_text(const object *in, mk_record_field field, mk_str *out, mk_err *err)
{
    const mk_json *value = in->values[field];

    if (value == NULL)
        return MK_OK;
    if (value->kind != MK_JSON_STRING)
        return wrong_type(err, in, field, "a string");
    *out = value->text;
    return MK_OK;
}

/* An integer, also when written as 5.0 (decisions.md 6). */
static bool integer_of(const mk_json *value, int64_t *out)
{
    if (value->kind == MK_JSON_INT && !value->b) {
        *out = value->i;
        return true;
    }
    /* Between the bounds the conversion is exact or the comparison fails. */
    if (value->kind == MK_JSON_FLOAT && value->d >= -0x1p62 && value->d <= 0x1p62 &&
        (double)(int64_t)value->d == value->d) {
        *out = (int64_t)value->d;
        return true;
    }
    return false;
}

static mk_code take_time(const object *in, mk_record_field field, int64_t *out, mk_err *err)
{
    const mk_json *value = in->values[field];

    if (value == NULL || integer_of(value, out))
        return MK_OK;
    if (value->kind != MK_JSON_STRING)
        return wrong_type(err, in, field,
                          "a time: microseconds since 1970 as an integer, or text such as \"2024-05-01\"");
    const mk_code rc = mk_time_parse(value->text, out, err);
    return rc == MK_OK ? rc : at(err, in, mk_record__field_names[field], rc);
}

static mk_code take_origin(const object *in, mk_op *op, mk_err *err)
{
    const mk_json *provenance = in->values[MK_FIELD_PROVENANCE_REF];
    mk_code rc;

    op->source = MK_STR("ingest");
    MK_TRY(rc, take_text(in, MK_FIELD_SOURCE, &op->source, err));
    op->provenance_null = provenance == NULL || provenance->kind == MK_JSON_NULL;
    if (!op->provenance_null && provenance->kind != MK_JSON_STRING)
        return wrong_type(err, in, MK_FIELD_PROVENANCE_REF, "a string or null");
    if (!op->provenance_null)
        op->provenance_ref = provenance->text;

out:
    return rc;
}

static mk_code take_props(op_door *door, const object *in, mk_str *out)
{
    const mk_json *value = in->values[MK_FIELD_PROPS];
    mk_code rc;

    if (value == NULL)
        return MK_OK;
    if (value->kind == MK_JSON_OBJECT && value->n == 0) {
        *out = MK_STR("{}");
        return MK_OK;
    }
    mk_buf_clear(&door->text);
    MK_TRY(rc, mk_canon_tree(&door->text, door->arena, value, door->err));
    MK_TRY(rc, mk_buf_done(&door->text, door->err));
    *out = mk_arena_copy(door->arena, mk_buf_view(&door->text));
    if (out->p == NULL)
        rc = mk_fail_nomem(door->err);

out:
    return rc;
}

static mk_code take_edge(const object *in, mk_op *op, mk_err *err)
{
    mk_code rc;

    op->disc = MK_STR("");
    MK_TRY(rc, take_text(in, MK_FIELD_SRC, &op->src, err));
    MK_TRY(rc, take_text(in, MK_FIELD_DST, &op->dst, err));
    MK_TRY(rc, take_text(in, MK_FIELD_REL_TYPE, &op->rel_type, err));
    MK_TRY(rc, take_text(in, MK_FIELD_DISC, &op->disc, err));

out:
    return rc;
}

static mk_code take_interval(const object *in, mk_op *op, mk_err *err)
{
    mk_code rc;

    op->vt_e = MK_OPEN_END;
    MK_TRY(rc, take_time(in, MK_FIELD_VT_S, &op->vt_s, err));
    MK_TRY(rc, take_time(in, MK_FIELD_VT_E, &op->vt_e, err));

out:
    return rc;
}

/* ---- refs ---- */

static mk_code ref_kind(const object *outer, const mk_json *json, bool *on_node, mk_err *err)
{
    const mk_json *kind = mk_json_get(json, "kind");
    const mk_str name = kind != NULL && kind->kind == MK_JSON_STRING ? kind->text : MK_STR("");
    mk_code rc;

    *on_node = mk_str_eq(name, MK_STR("node"));
    if (*on_node || mk_str_eq(name, MK_STR("edge")))
        return MK_OK;
    if (kind == NULL)
        rc = mk_fail(err, MK_E_SCHEMA, "ref without kind");
    else if (kind->kind != MK_JSON_STRING)
        rc = mk_fail(err, MK_E_SCHEMA, "kind is %s, not a string", kind_name(kind));
    else
        rc = mk_fail(err, MK_E_INVALID_ARG, "unknown kind of ref: %.*s", MK_STR_ARG(mk_record__shown(name)));
    mk_err_hint(err, "write {\"kind\":\"node\",\"uid\":...} or "
                     "{\"kind\":\"edge\",\"src\":...,\"dst\":...,\"rel_type\":...}");
    return at(err, outer, MK_STR("kind"), rc);
}

static mk_code take_ref(const object *outer, mk_op *op, mk_err *err)
{
    const mk_json *json = outer->values[MK_FIELD_REF];
    object in = {.path = outer->path, .inner = "ref"};
    mk_code rc;

    if (json->kind != MK_JSON_OBJECT)
        return wrong_type(err, outer, MK_FIELD_REF, "an object");
    MK_TRY(rc, ref_kind(&in, json, &op->on_node, err));
    MK_TRY(rc, open_object(json, op->on_node ? &node_ref_shape : &edge_ref_shape,
                           op->on_node ? "a ref of kind node" : "a ref of kind edge", &in, err));
    if (op->on_node)
        MK_TRY(rc, take_text(&in, MK_FIELD_UID, &op->uid, err));
    else
        MK_TRY(rc, take_edge(&in, op, err));

out:
    return rc;
}

/* ---- events ---- */

static mk_code take_event(op_door *door, const char *path, size_t index, const mk_json *json,
                          mk_event *out)
{
    object in = {.path = path, .inner = "events["};
    mk_code rc;

    const size_t n = 7 + mk_u64_text(in.inner + 7, index);
    memcpy(in.inner + n, "]", 2);
    memset(out, 0, sizeof *out);
    if (json->kind != MK_JSON_OBJECT)
        return not_an_object(&in, "an event", json, door->err);
    MK_TRY(rc, open_object(json, &event_shape, "an event", &in, door->err));
    MK_TRY(rc, take_text(&in, MK_FIELD_SRC, &out->src, door->err));
    MK_TRY(rc, take_text(&in, MK_FIELD_DST, &out->dst, door->err));
    MK_TRY(rc, take_text(&in, MK_FIELD_REL_TYPE, &out->rel_type, door->err));
    MK_TRY(rc, take_text(&in, MK_FIELD_DISC, &out->disc, door->err));
    out->disc_kind = in.values[MK_FIELD_DISC] != NULL ? MK_DISC_GIVEN : MK_DISC_DEFAULT;
    MK_TRY(rc, take_time(&in, MK_FIELD_VT_S, &out->vt_s, door->err));
    MK_TRY(rc, take_time(&in, MK_FIELD_VT_E, &out->vt_e, door->err));
    out->has_vt_e = in.values[MK_FIELD_VT_E] != NULL;
    MK_TRY(rc, take_props(door, &in, &out->props));

out:
    return rc;
}

static mk_code take_events(op_door *door, const object *in, mk_op *op)
{
    const mk_json *json = in->values[MK_FIELD_EVENTS];
    const mk_json *offset = in->values[MK_FIELD_OFFSET];
    size_t size;
    mk_code rc;

    op->node_label = MK_STR("Node");
    MK_TRY(rc, take_text(in, MK_FIELD_NODE_LABEL, &op->node_label, door->err));
    if (offset != NULL && !integer_of(offset, &op->offset))
        return wrong_type(door->err, in, MK_FIELD_OFFSET, "an integer");
    if (json->kind != MK_JSON_ARRAY)
        return wrong_type(door->err, in, MK_FIELD_EVENTS, "an array");
    op->event_count = json->n;
    if (json->n > MK_BATCH_OPS_MAX)
        return MK_OK; /* refused by the check of values, before anything is made of them */
    if (!mk_size_mul(json->n, sizeof *op->events, &size) ||
        (op->events = mk_arena_get(door->arena, size)) == NULL)
        return mk_fail_nomem(door->err);
    for (size_t i = 0; i < json->n; i++)
        MK_TRY(rc, take_event(door, in->path, i, &json->items[i], &op->events[i]));

out:
    return rc;
}

/* ---- ops ---- */

static mk_code take_kind(const object *in, const mk_json *json, mk_op *op, mk_err *err)
{
    const mk_json *name = mk_json_get(json, "op");
    mk_code rc;

    if (name != NULL && name->kind == MK_JSON_STRING) {
        op->kind = mk_record__op_find(name->text);
        if (op->kind != MK_OP_UNKNOWN)
            return MK_OK;
        rc = mk_fail(err, MK_E_INVALID_ARG, "unknown op kind: %.*s",
                     MK_STR_ARG(mk_record__shown(name->text)));
    } else if (name != NULL) {
        rc = mk_fail(err, MK_E_SCHEMA, "op is %s, not a string", kind_name(name));
    } else {
        rc = mk_fail(err, MK_E_SCHEMA, "an op without op, its kind");
    }
    mk_err_hint(err, "use assert_node, assert_edge, retract, correct or ingest_events");
    return at(err, in, MK_STR("op"), rc);
}

static mk_code take_op(op_door *door, const object *in, mk_op *op)
{
    mk_err *err = door->err;
    mk_code rc = MK_OK;

    switch (op->kind) {
    case MK_OP_ASSERT_NODE:
        MK_TRY(rc, take_text(in, MK_FIELD_UID, &op->uid, err));
        MK_TRY(rc, take_text(in, MK_FIELD_LABEL, &op->label, err));
        MK_TRY(rc, take_interval(in, op, err));
        break;
    case MK_OP_ASSERT_EDGE:
        MK_TRY(rc, take_edge(in, op, err));
        MK_TRY(rc, take_interval(in, op, err));
        break;
    case MK_OP_RETRACT:
        MK_TRY(rc, take_ref(in, op, err));
        MK_TRY(rc, take_time(in, MK_FIELD_T, &op->t, err));
        break;
    case MK_OP_CORRECT:
        MK_TRY(rc, take_ref(in, op, err));
        MK_TRY(rc, take_interval(in, op, err));
        break;
    case MK_OP_INGEST_EVENTS:
        MK_TRY(rc, take_events(door, in, op));
        break;
    case MK_OP_UNKNOWN:
        break;
    }
    op->props = MK_STR("{}");
    MK_TRY(rc, take_props(door, in, &op->props));
    MK_TRY(rc, take_origin(in, op, err));

out:
    return rc;
}

mk_code mk_op_from_json(const mk_json *json, mk_arena *arena, const char *path, mk_op *out,
                        mk_err *err)
{
    object in = {.path = path != NULL ? path : "", .inner = ""};
    op_door door = {.arena = arena, .err = err};
    mk_code rc;

    if (json->kind != MK_JSON_OBJECT)
        return not_an_object(&in, "an op", json, err);
    mk_buf_init(&door.text, arena->alloc);
    memset(out, 0, sizeof *out);
    MK_TRY(rc, take_kind(&in, json, out, err));
    MK_TRY(rc, open_object(json, &op_shapes[out->kind], mk_record__op_names[out->kind].p, &in,
                           err));
    MK_TRY(rc, take_op(&door, &in, out));
    /* Whether reserved prefixes are allowed is known further in; mk_op_check asks. */
    MK_TRY(rc, mk_record__check_values(out, in.path, true, err));

out:
    mk_buf_free(&door.text);
    return rc;
}

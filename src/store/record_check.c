/* record_check.c — the rules for values at the door. Layer: store.
 *
 * Nothing malformed or meaningless may reach the log, because the log is for ever and the reference
 * stops at what it does not expect (store spec, 24, item 15). Both ways in, JSON and C, run the same
 * rules here; they differ only in how an op comes to be typed. Every refusal names the value, where it
 * stands, and what would pass.
 * Source: store spec, 7, 10.8, 24 (2, 3, 11, 12, 15, 27); decisions.md 2 and 3; STORAGE.md, Limits. */
#include <inttypes.h>

#include "base/hash.h"
#include "store/record_internal.h"

/* Times closer to 1970 than this are rather counters than dates, and are shown as numbers. */
#define COUNTER_TIME_MAX INT64_C(1000000000000)

/* Where in the caller's input we are; path texts are only made for a refusal. */
typedef struct place {
    const char *path; /* of the op; may be "" */
    const char *sub;  /* "ref." or "" */
    bool in_event;
    size_t event;
    bool allow_reserved;
} place;

/* ---- refusals ---- */

/* Sets the path of the error just made; passes the code on. */
static mk_code at(mk_err *err, const place *where, const char *member, mk_code rc)
{
    const char *dot = where->path[0] != '\0' ? "." : "";

    if (where->in_event)
        mk_err_path(err, "%s%sevents[%zu].%s", where->path, dot, where->event, member);
    else
        mk_err_path(err, "%s%s%s%s", where->path, dot, where->sub, member);
    return rc;
}

typedef struct time_shown {
    char text[MK_TIME_TEXT_MAX + 1];
} time_shown;

static time_shown show_time(int64_t us)
{
    time_shown out;
    const bool counter = us > -COUNTER_TIME_MAX && us < COUNTER_TIME_MAX;

    out.text[counter ? mk_i64_text(out.text, us) : mk_time_text(out.text, us)] = '\0';
    return out;
}

static mk_code too_big(mk_err *err, const place *where, const char *member, size_t size,
                       size_t most)
{
    const mk_code rc = mk_fail(err, MK_E_LIMIT, "%s takes %zu bytes, more than %zu", member, size,
                               most);

    mk_err_reason(err, "too_big");
    mk_err_hint(err, "keep large content outside and store a reference to it, at most %zu bytes",
                most);
    return at(err, where, member, rc);
}

static mk_code not_utf8(mk_err *err, const place *where, const char *member, size_t offset)
{
    const mk_code rc = mk_fail(err, MK_E_INVALID_ARG, "%s is not UTF-8 at byte %zu", member,
                               offset);

    mk_err_offset(err, (int64_t)offset);
    mk_err_hint(err, "encode the text as UTF-8, without lone surrogates");
    return at(err, where, member, rc);
}

static mk_code is_empty(mk_err *err, const place *where, const char *member)
{
    const mk_code rc = mk_fail(err, MK_E_INVALID_ARG, "%s is empty", member);

    if (strcmp(member, "source") == 0)
        mk_err_hint(err, "name who says it, or leave source out, which means ingest");
    else
        mk_err_hint(err, "give at least one character; what has no name cannot be referred to later");
    return at(err, where, member, rc);
}

static mk_code is_reserved(mk_err *err, const place *where, const char *member, mk_str text)
{
    const mk_code rc = mk_fail(err, MK_E_INVALID_ARG, "%s %.*s is reserved", member,
                               MK_STR_ARG(mk_record__shown(text)));

    mk_err_reason(err, "reserved");
    mk_err_hint(err, "tk:, okf: and mn: belong to resolution, knowledge and notes; choose another prefix");
    return at(err, where, member, rc);
}

/* ---- single values ---- */

static mk_code check_text(mk_str s, const place *where, const char *member, mk_err *err)
{
    if (s.n > MK_STRING_MAX)
        return too_big(err, where, member, s.n, MK_STRING_MAX);
    const size_t bad = mk_utf8_check(s);
    return bad == s.n ? MK_OK : not_utf8(err, where, member, bad);
}

static mk_code check_filled(mk_str s, const place *where, const char *member, mk_err *err)
{
    return s.n == 0 ? is_empty(err, where, member) : check_text(s, where, member, err);
}

static bool reserved(mk_str s)
{
    return mk_str_starts(s, MK_STR("tk:")) || mk_str_starts(s, MK_STR("okf:")) ||
           mk_str_starts(s, MK_STR("mn:"));
}

/* A uid, or the end of an edge. */
static mk_code check_entity(mk_str s, const place *where, const char *member, mk_err *err)
{
    if (!where->allow_reserved && reserved(s))
        return is_reserved(err, where, member, s);
    return check_filled(s, where, member, err);
}

static mk_code check_time(int64_t us, const place *where, const char *member, mk_err *err)
{
    if (us >= MK_TIME_MIN && us <= MK_OPEN_END)
        return MK_OK;
    const mk_code rc = mk_fail(err, MK_E_INVALID_ARG, "%s %" PRId64 " is out of range", member, us);
    mk_err_hint(err, "times are microseconds since 1970 from %" PRId64 " to %" PRId64 ", which means no end",
                MK_TIME_MIN, MK_OPEN_END);
    return at(err, where, member, rc);
}

static mk_code check_interval(int64_t vt_s, int64_t vt_e, const place *where, mk_err *err)
{
    mk_code rc;

    MK_TRY(rc, check_time(vt_s, where, "vt_s", err));
    MK_TRY(rc, check_time(vt_e, where, "vt_e", err));
    if (vt_s < vt_e)
        return MK_OK;
    const time_shown s = show_time(vt_s), e = show_time(vt_e);
    rc = mk_fail(err, MK_E_INVALID_ARG, "vt_e %s is not after vt_s %s", e.text, s.text);
    if (vt_s == vt_e)
        mk_err_hint(err, "make it later, or leave out vt_e if the fact still holds");
    else
        mk_err_hint(err, "swap the two, or leave out vt_e if the fact still holds");
    rc = at(err, where, "vt_e", rc);

out:
    return rc;
}

/* Size only; the form is checked where props come as text. */
static mk_code check_props_size(mk_str props, const place *where, mk_err *err)
{
    return props.n > MK_PROPS_MAX ? too_big(err, where, "props", props.n, MK_PROPS_MAX) : MK_OK;
}

/* ---- groups of values ---- */

static mk_code check_origin(const mk_op *op, const place *where, mk_err *err)
{
    mk_code rc;

    MK_TRY(rc, check_filled(op->source, where, "source", err));
    if (!op->provenance_null)
        MK_TRY(rc, check_text(op->provenance_ref, where, "provenance_ref", err));

out:
    return rc;
}

static mk_code null_disc(mk_err *err, const place *where)
{
    const mk_code rc = mk_fail(err, MK_E_INVALID_ARG, "disc is null");

    mk_err_hint(err, "give a string, or leave disc out");
    return at(err, where, "disc", rc);
}

static mk_code check_edge_identity(const mk_op *op, const place *where, mk_err *err)
{
    mk_code rc;

    MK_TRY(rc, check_entity(op->src, where, "src", err));
    MK_TRY(rc, check_entity(op->dst, where, "dst", err));
    MK_TRY(rc, check_filled(op->rel_type, where, "rel_type", err));
    if (op->disc_null)
        return null_disc(err, where);
    MK_TRY(rc, check_text(op->disc, where, "disc", err));

out:
    return rc;
}

static mk_code check_ref(const mk_op *op, const place *where, mk_err *err)
{
    place inner = *where;

    inner.sub = "ref.";
    return op->on_node ? check_entity(op->uid, &inner, "uid", err)
                       : check_edge_identity(op, &inner, err);
}

/* ---- events ---- */

/* The reference reads an explicit 0 as absent, so what the caller meant is not what would be stored. */
static mk_code zero_end(mk_err *err, const place *where)
{
    const mk_code rc = mk_fail(err, MK_E_INVALID_ARG, "vt_e 0 would be read as no vt_e at all");

    mk_err_hint(err, "leave out vt_e for an event of one microsecond, or end it at -1 or 1");
    return at(err, where, "vt_e", rc);
}

static mk_code check_event_times(const mk_event *event, const place *where, mk_err *err)
{
    if (event->has_vt_e && event->vt_e == 0)
        return zero_end(err, where);
    if (event->has_vt_e)
        return check_interval(event->vt_s, event->vt_e, where, err);
    if (event->vt_s != MK_OPEN_END)
        return check_time(event->vt_s, where, "vt_s", err);
    const mk_code rc = mk_fail(err, MK_E_INVALID_ARG,
                               "vt_s is the end of time, so the event would never happen");
    mk_err_hint(err, "give a vt_s before %" PRId64, MK_OPEN_END);
    return at(err, where, "vt_s", rc);
}

static mk_code check_event(const mk_event *event, const place *where, mk_err *err)
{
    mk_code rc;

    MK_TRY(rc, check_entity(event->src, where, "src", err));
    MK_TRY(rc, check_entity(event->dst, where, "dst", err));
    MK_TRY(rc, check_filled(event->rel_type, where, "rel_type", err));
    if (event->disc_kind == MK_DISC_NULL)
        return null_disc(err, where);
    if (event->disc_kind == MK_DISC_GIVEN)
        MK_TRY(rc, check_text(event->disc, where, "disc", err));
    MK_TRY(rc, check_props_size(event->props, where, err));
    MK_TRY(rc, check_event_times(event, where, err));

out:
    return rc;
}

static mk_code check_events(const mk_op *op, place *where, mk_err *err)
{
    mk_code rc;

    if (op->event_count > MK_BATCH_OPS_MAX) {
        rc = mk_fail(err, MK_E_LIMIT, "%zu events in one batch, more than %u", op->event_count,
                     MK_BATCH_OPS_MAX);
        mk_err_reason(err, "too_many");
        mk_err_hint(err, "write them in several batches of at most %u", MK_BATCH_OPS_MAX);
        return at(err, where, "events", rc);
    }
    MK_TRY(rc, check_text(op->node_label, where, "node_label", err));
    if (op->offset < 0 || op->offset > MK_OPEN_END) {
        rc = mk_fail(err, MK_E_INVALID_ARG, "offset %" PRId64 " is out of range", op->offset);
        mk_err_hint(err, "give the number of events written before this chunk, from 0 to %" PRId64,
                    MK_OPEN_END);
        return at(err, where, "offset", rc);
    }
    where->in_event = true;
    for (where->event = 0; where->event < op->event_count; where->event++)
        MK_TRY(rc, check_event(&op->events[where->event], where, err));
    where->in_event = false;

out:
    return rc;
}

/* ---- all values of an op ---- */

static mk_code unknown_kind(const mk_op *op, const place *where, mk_err *err)
{
    const mk_code rc = mk_fail(err, MK_E_INVALID_ARG, "unknown op kind: %.*s",
                               MK_STR_ARG(mk_record__shown(op->raw_kind)));

    mk_err_hint(err, "use assert_node, assert_edge, retract, correct or ingest_events");
    return at(err, where, "op", rc);
}

static mk_code check_by_kind(const mk_op *op, place *where, mk_err *err)
{
    mk_code rc = MK_OK;

    switch (op->kind) {
    case MK_OP_ASSERT_NODE:
        MK_TRY(rc, check_entity(op->uid, where, "uid", err));
        MK_TRY(rc, check_text(op->label, where, "label", err));
        MK_TRY(rc, check_interval(op->vt_s, op->vt_e, where, err));
        return check_props_size(op->props, where, err);
    case MK_OP_ASSERT_EDGE:
        MK_TRY(rc, check_edge_identity(op, where, err));
        MK_TRY(rc, check_interval(op->vt_s, op->vt_e, where, err));
        return check_props_size(op->props, where, err);
    case MK_OP_RETRACT:
        MK_TRY(rc, check_ref(op, where, err));
        return check_time(op->t, where, "t", err);
    case MK_OP_CORRECT:
        MK_TRY(rc, check_ref(op, where, err));
        MK_TRY(rc, check_interval(op->vt_s, op->vt_e, where, err));
        return check_props_size(op->props, where, err);
    case MK_OP_INGEST_EVENTS:
        return check_events(op, where, err);
    case MK_OP_UNKNOWN:
        return unknown_kind(op, where, err);
    }

out:
    return rc;
}

mk_code mk_record__check_values(const mk_op *op, const char *path, bool allow_reserved, mk_err *err)
{
    place where = {.path = path, .sub = "", .allow_reserved = allow_reserved};
    mk_code rc;

    MK_TRY(rc, check_by_kind(op, &where, err));
    MK_TRY(rc, check_origin(op, &where, err));

out:
    return rc;
}

/* ---- form of props ---- */

static mk_code props_form(mk_err *err, const place *where, const mk_err *cause)
{
    mk_code rc;

    if (cause == NULL) {
        rc = mk_fail(err, MK_E_INVALID_ARG, "props are not canonical JSON");
    } else {
        rc = mk_fail(err, cause->code == MK_E_LIMIT ? MK_E_LIMIT : MK_E_INVALID_ARG, "props: %s",
                     cause->message);
        mk_err_offset(err, cause->offset);
        mk_err_reason(err, cause->reason);
    }
    mk_err_hint(err, "write members sorted, without white space, floats at their shortest; "
                     "{} when there are none");
    return at(err, where, "props", rc);
}

/* One whole JSON value, in canonical form. */
static mk_code check_props(mk_str props, const place *where, const mk_alloc *alloc, mk_err *err)
{
    mk_json_reader json;
    mk_err inner;
    mk_str raw;
    mk_code rc;

    if (props.n == 0 || mk_str_eq(props, MK_STR("{}")))
        return MK_OK;
    mk_json_open(&json, alloc, props, NULL);
    MK_TRY(rc, mk_json_next(&json, &inner));
    MK_TRY(rc, mk_json_skip(&json, &raw, &inner));
    MK_TRY(rc, mk_json_next(&json, &inner));

out:
    mk_json_close(&json);
    if (rc == MK_E_NOMEM)
        return mk_fail_nomem(err);
    if (rc != MK_OK)
        return props_form(err, where, &inner);
    return mk_record__is_canonical(props) ? MK_OK : props_form(err, where, NULL);
}

static mk_code check_all_props(const mk_op *op, place *where, const mk_alloc *alloc, mk_err *err)
{
    mk_code rc;

    MK_TRY(rc, check_props(op->props, where, alloc, err));
    if (op->kind != MK_OP_INGEST_EVENTS)
        return MK_OK;
    where->in_event = true;
    for (where->event = 0; where->event < op->event_count; where->event++) {
        const mk_str props = op->events[where->event].props;
        if (props.n != 0)
            MK_TRY(rc, check_props(props, where, alloc, err));
    }
    where->in_event = false;

out:
    return rc;
}

/* ---- one vid twice ---- */

/* Two events of one identity and one start would get the same vid (store spec, 24, item 2). Discs that
 * we number ourselves differ, so only given ones can clash: with each other, which a hash table of
 * them finds, or with the number of an event, which is looked up at its position. */
typedef struct clash_table {
    const mk_op *op;
    uint64_t seed;
    uint32_t *slots; /* event index + 1, 0 free */
    size_t mask;
} clash_table;

static bool same_but_disc(const mk_event *a, const mk_event *b)
{
    return a->vt_s == b->vt_s && mk_str_eq(a->src, b->src) && mk_str_eq(a->dst, b->dst) &&
           mk_str_eq(a->rel_type, b->rel_type);
}

static uint64_t event_hash(const mk_event *event, uint64_t seed)
{
    uint64_t h = mk_hash64(event->disc.p, event->disc.n, seed);

    h = mk_hash64(event->src.p, event->src.n, h);
    h = mk_hash64(event->dst.p, event->dst.n, h);
    h = mk_hash64(event->rel_type.p, event->rel_type.n, h);
    return mk_mix64(h ^ (uint64_t)event->vt_s);
}

static mk_code clash(mk_err *err, const place *where, const mk_op *op, size_t first, size_t second)
{
    const mk_event *event = &op->events[second];
    const size_t given = event->disc_kind == MK_DISC_GIVEN ? second : first;
    place there = *where;

    const mk_code rc = mk_fail(
        err, MK_E_INVALID_ARG, "events[%zu] and events[%zu] are both %.*s -%.*s-> %.*s, disc %.*s, at %s",
        first, second, MK_STR_ARG(mk_record__shown(event->src)),
        MK_STR_ARG(mk_record__shown(event->rel_type)), MK_STR_ARG(mk_record__shown(event->dst)),
        MK_STR_ARG(mk_record__shown(op->events[given].disc)), show_time(event->vt_s).text);
    mk_err_hint(err, "give one of them another disc or vt_s, or leave out disc, which numbers them");
    there.in_event = true;
    there.event = given;
    return at(err, &there, "disc", rc);
}

/* The position of the event whose default disc is this one, or event_count. */
static size_t default_position(const mk_op *op, mk_str disc)
{
    int64_t number;

    if (disc.n < 2 || disc.p[0] != '#' || disc.p[1] < '0' || disc.p[1] > '9' ||
        (disc.p[1] == '0' && disc.n > 2))
        return op->event_count;
    if (!mk_str_to_i64((mk_str){disc.p + 1, disc.n - 1}, &number) || number < op->offset)
        return op->event_count;
    const uint64_t position = (uint64_t)(number - op->offset);
    return position < op->event_count ? (size_t)position : op->event_count;
}

/* Adds the event to the table, or gives the earlier one that it clashes with. */
static size_t clash_add(clash_table *table, size_t index)
{
    const mk_op *op = table->op;
    const mk_event *event = &op->events[index];
    const size_t numbered = default_position(op, event->disc);

    if (numbered < op->event_count && op->events[numbered].disc_kind == MK_DISC_DEFAULT &&
        same_but_disc(event, &op->events[numbered]))
        return numbered;
    size_t slot = (size_t)event_hash(event, table->seed) & table->mask;
    for (; table->slots[slot] != 0; slot = (slot + 1) & table->mask) {
        const size_t other = table->slots[slot] - 1;
        if (mk_str_eq(event->disc, op->events[other].disc) &&
            same_but_disc(event, &op->events[other]))
            return other;
    }
    table->slots[slot] = (uint32_t)index + 1;
    return op->event_count;
}

static size_t given_discs(const mk_op *op)
{
    size_t count = 0;

    for (size_t i = 0; i < op->event_count; i++)
        count += op->events[i].disc_kind == MK_DISC_GIVEN;
    return count;
}

static mk_code check_clashes(const mk_op *op, const place *where, mk_arena *scratch, mk_err *err)
{
    const size_t given = given_discs(op);
    const mk_arena_mark mark = mk_arena_save(scratch);
    clash_table table = {.op = op, .mask = 15};
    mk_code rc = MK_OK;

    if (given == 0)
        return MK_OK;
    while (table.mask < 2 * given)
        table.mask = table.mask * 2 + 1;
    table.seed = mk_entropy64();
    table.slots = mk_arena_get0(scratch, (table.mask + 1) * sizeof *table.slots);
    if (table.slots == NULL)
        return mk_fail_nomem(err);
    for (size_t i = 0; i < op->event_count && rc == MK_OK; i++) {
        if (op->events[i].disc_kind != MK_DISC_GIVEN)
            continue;
        const size_t other = clash_add(&table, i);
        if (other < op->event_count)
            rc = clash(err, where, op, other < i ? other : i, other < i ? i : other);
    }
    mk_arena_rewind(scratch, mark);
    return rc;
}

/* ---- the door for C callers ---- */

mk_code mk_op_check(const mk_op *op, size_t index, bool allow_reserved, mk_arena *scratch,
                    mk_err *err)
{
    char path[32] = "ops[";
    place where = {.path = path, .sub = "", .allow_reserved = allow_reserved};
    mk_code rc;

    const size_t n = 4 + mk_u64_text(path + 4, index);
    memcpy(path + n, "]", 2);
    MK_TRY(rc, mk_record__check_values(op, path, allow_reserved, err));
    MK_TRY(rc, check_all_props(op, &where, scratch->alloc, err));
    if (op->kind == MK_OP_INGEST_EVENTS)
        MK_TRY(rc, check_clashes(op, &where, scratch, err));

out:
    return rc;
}

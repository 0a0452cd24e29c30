/* record_write.c — ops and records to the reference's bytes. Layer: store.
 *
 * Members are written in sorted order by hand, one writer per op, so that no tree and no sorting stand
 * between an op and its line. Events are the mass of every log: one of them asks for room once and
 * copies its strings whole as long as none has a character to escape, which is checked while copying.
 * Source: store spec, 3, 7.1, 10.2. */
#include "base/sha256.h"
#include "store/record_internal.h"

/* Room for everything in an event but its strings: names, punctuation and two times. */
#define EVENT_FRAME_MAX 160

#define ID_DIGITS 16

/* ---- pieces ---- */

static void put_text(mk_buf *out, mk_str s)
{
    if (mk_record__plain_span(s.p, s.n, false) < s.n) {
        mk_canon_string(out, s);
        return;
    }
    char *p = mk_buf_room(out, s.n + 2);
    if (p == NULL)
        return;
    *p++ = '"';
    if (s.n != 0)
        memcpy(p, s.p, s.n);
    p[s.n] = '"';
    out->n += s.n + 2;
}

static void put_props(mk_buf *out, mk_str props)
{
    mk_buf_str(out, props.n == 0 ? MK_STR("{}") : props);
}

/* `name` is what stands before the value: `,"label":` for instance. */
static void member_text(mk_buf *out, mk_str name, mk_str s)
{
    mk_buf_str(out, name);
    put_text(out, s);
}

static void member_i64(mk_buf *out, mk_str name, int64_t v)
{
    mk_buf_str(out, name);
    mk_buf_i64(out, v);
}

static void member_disc(mk_buf *out, const mk_op *op)
{
    mk_buf_str(out, MK_STR("{\"disc\":"));
    if (op->disc_null)
        mk_buf_str(out, MK_STR("null"));
    else
        put_text(out, op->disc);
}

static void member_provenance(mk_buf *out, const mk_op *op)
{
    mk_buf_str(out, MK_STR(",\"provenance_ref\":"));
    if (op->provenance_null)
        mk_buf_str(out, MK_STR("null"));
    else
        put_text(out, op->provenance_ref);
}

static void member_ref(mk_buf *out, const mk_op *op)
{
    mk_buf_str(out, MK_STR(",\"ref\":"));
    if (op->on_node) {
        member_text(out, MK_STR("{\"kind\":\"node\",\"uid\":"), op->uid);
    } else {
        member_disc(out, op);
        member_text(out, MK_STR(",\"dst\":"), op->dst);
        member_text(out, MK_STR(",\"kind\":\"edge\",\"rel_type\":"), op->rel_type);
        member_text(out, MK_STR(",\"src\":"), op->src);
    }
    mk_buf_c(out, '}');
}

/* ---- events ---- */

static char *put_literal(char *p, mk_str s)
{
    memcpy(p, s.p, s.n);
    return p + s.n;
}

/* Copies and gives the end of the copy, or NULL when a character must be escaped. */
static char *put_plain(char *p, mk_str s)
{
    if (s.n == 0)
        return p;
    if (mk_record__plain_span(s.p, s.n, false) < s.n)
        return NULL;
    memcpy(p, s.p, s.n);
    return p + s.n;
}

/* The whole event at p, which has room for it; NULL when a string has characters to escape. */
static char *event_plain(char *p, const mk_event *event)
{
    *p++ = '{';
    if (event->disc_kind == MK_DISC_GIVEN) {
        p = put_literal(p, MK_STR("\"disc\":\""));
        if ((p = put_plain(p, event->disc)) == NULL)
            return NULL;
        p = put_literal(p, MK_STR("\","));
    } else if (event->disc_kind == MK_DISC_NULL) {
        p = put_literal(p, MK_STR("\"disc\":null,"));
    }
    p = put_literal(p, MK_STR("\"dst\":\""));
    if ((p = put_plain(p, event->dst)) == NULL)
        return NULL;
    if (event->props.n != 0) {
        p = put_literal(p, MK_STR("\",\"props\":"));
        p = put_literal(p, event->props);
        p = put_literal(p, MK_STR(",\"rel_type\":\""));
    } else {
        p = put_literal(p, MK_STR("\",\"rel_type\":\""));
    }
    if ((p = put_plain(p, event->rel_type)) == NULL)
        return NULL;
    p = put_literal(p, MK_STR("\",\"src\":\""));
    if ((p = put_plain(p, event->src)) == NULL)
        return NULL;
    if (event->has_vt_e) {
        p = put_literal(p, MK_STR("\",\"vt_e\":"));
        p += mk_i64_text(p, event->vt_e);
        p = put_literal(p, MK_STR(",\"vt_s\":"));
    } else {
        p = put_literal(p, MK_STR("\",\"vt_s\":"));
    }
    p += mk_i64_text(p, event->vt_s);
    *p++ = '}';
    return p;
}

static void event_escaped(mk_buf *out, const mk_event *event)
{
    mk_buf_c(out, '{');
    if (event->disc_kind == MK_DISC_GIVEN) {
        member_text(out, MK_STR("\"disc\":"), event->disc);
        mk_buf_c(out, ',');
    } else if (event->disc_kind == MK_DISC_NULL) {
        mk_buf_str(out, MK_STR("\"disc\":null,"));
    }
    member_text(out, MK_STR("\"dst\":"), event->dst);
    if (event->props.n != 0) {
        mk_buf_str(out, MK_STR(",\"props\":"));
        mk_buf_str(out, event->props);
    }
    member_text(out, MK_STR(",\"rel_type\":"), event->rel_type);
    member_text(out, MK_STR(",\"src\":"), event->src);
    if (event->has_vt_e)
        member_i64(out, MK_STR(",\"vt_e\":"), event->vt_e);
    member_i64(out, MK_STR(",\"vt_s\":"), event->vt_s);
    mk_buf_c(out, '}');
}

static void put_event(mk_buf *out, const mk_event *event)
{
    const size_t strings = event->src.n + event->dst.n + event->rel_type.n + event->disc.n + event->props.n;
    char *start = mk_buf_room(out, strings + EVENT_FRAME_MAX);

    if (start == NULL)
        return;
    const char *end = event_plain(start, event);
    if (end == NULL)
        event_escaped(out, event);
    else
        out->n += (size_t)(end - start);
}

static void write_events(mk_buf *out, const mk_op *op)
{
    mk_buf_str(out, MK_STR("{\"events\":["));
    for (size_t i = 0; i < op->event_count && !out->failed; i++) {
        if (i != 0)
            mk_buf_c(out, ',');
        put_event(out, &op->events[i]);
    }
    member_text(out, MK_STR("],\"node_label\":"), op->node_label);
    member_i64(out, MK_STR(",\"offset\":"), op->offset);
    mk_buf_str(out, MK_STR(",\"op\":\"ingest_events\""));
    member_provenance(out, op);
    member_text(out, MK_STR(",\"source\":"), op->source);
    mk_buf_c(out, '}');
}

/* ---- the other ops ---- */

static void write_assert_node(mk_buf *out, const mk_op *op)
{
    member_text(out, MK_STR("{\"label\":"), op->label);
    mk_buf_str(out, MK_STR(",\"op\":\"assert_node\",\"props\":"));
    put_props(out, op->props);
    member_provenance(out, op);
    member_text(out, MK_STR(",\"source\":"), op->source);
    member_text(out, MK_STR(",\"uid\":"), op->uid);
    member_i64(out, MK_STR(",\"vt_e\":"), op->vt_e);
    member_i64(out, MK_STR(",\"vt_s\":"), op->vt_s);
    mk_buf_c(out, '}');
}

static void write_assert_edge(mk_buf *out, const mk_op *op)
{
    member_disc(out, op);
    member_text(out, MK_STR(",\"dst\":"), op->dst);
    mk_buf_str(out, MK_STR(",\"op\":\"assert_edge\",\"props\":"));
    put_props(out, op->props);
    member_provenance(out, op);
    member_text(out, MK_STR(",\"rel_type\":"), op->rel_type);
    member_text(out, MK_STR(",\"source\":"), op->source);
    member_text(out, MK_STR(",\"src\":"), op->src);
    member_i64(out, MK_STR(",\"vt_e\":"), op->vt_e);
    member_i64(out, MK_STR(",\"vt_s\":"), op->vt_s);
    mk_buf_c(out, '}');
}

static void write_retract(mk_buf *out, const mk_op *op)
{
    mk_buf_str(out, MK_STR("{\"op\":\"retract\""));
    member_provenance(out, op);
    member_ref(out, op);
    member_text(out, MK_STR(",\"source\":"), op->source);
    member_i64(out, MK_STR(",\"t\":"), op->t);
    mk_buf_c(out, '}');
}

static void write_correct(mk_buf *out, const mk_op *op)
{
    mk_buf_str(out, MK_STR("{\"op\":\"correct\",\"props\":"));
    put_props(out, op->props);
    member_provenance(out, op);
    member_ref(out, op);
    member_text(out, MK_STR(",\"source\":"), op->source);
    member_i64(out, MK_STR(",\"vt_e\":"), op->vt_e);
    member_i64(out, MK_STR(",\"vt_s\":"), op->vt_s);
    mk_buf_c(out, '}');
}

void mk_op_write(mk_buf *out, const mk_op *op)
{
    switch (op->kind) {
    case MK_OP_ASSERT_NODE:
        write_assert_node(out, op);
        return;
    case MK_OP_ASSERT_EDGE:
        write_assert_edge(out, op);
        return;
    case MK_OP_RETRACT:
        write_retract(out, op);
        return;
    case MK_OP_CORRECT:
        write_correct(out, op);
        return;
    case MK_OP_INGEST_EVENTS:
        write_events(out, op);
        return;
    case MK_OP_UNKNOWN:
        break;
    }
    /* Only its name is known; enough for a message or a listing. */
    member_text(out, MK_STR("{\"op\":"), op->raw_kind);
    mk_buf_c(out, '}');
}

/* ---- records ---- */

void mk_record__batch_id(char out[17], mk_str ops, int64_t tt)
{
    char tail[32] = ",\"tt\":";
    uint8_t digest[32];
    mk_sha256 sha;

    size_t n = 6 + mk_i64_text(tail + 6, tt);
    tail[n++] = '}';
    mk_sha256_init(&sha);
    mk_sha256_add(&sha, "{\"ops\":", 7);
    mk_sha256_add(&sha, ops.p, ops.n);
    mk_sha256_add(&sha, tail, n);
    mk_sha256_end(&sha, digest);
    mk_hex(out, digest, ID_DIGITS / 2);
    out[ID_DIGITS] = '\0';
}

mk_code mk_record_write(mk_buf *out, const mk_op *ops, size_t count, mk_tt tt, mk_err *err)
{
    const mk_str head = MK_STR("{\"batch_id\":\"................\",\"ops\":");
    const size_t id_at = sizeof "{\"batch_id\":\"" - 1;
    const size_t start = out->n;
    char id[17];
    mk_code rc;

    mk_buf_str(out, head);
    mk_buf_c(out, '[');
    for (size_t i = 0; i < count && !out->failed; i++) {
        if (i != 0)
            mk_buf_c(out, ',');
        mk_op_write(out, &ops[i]);
    }
    mk_buf_c(out, ']');
    const size_t ops_end = out->n;
    mk_buf_str(out, MK_STR(",\"tt\":"));
    mk_buf_i64(out, tt.us);
    mk_buf_str(out, MK_STR("}\n"));
    MK_TRY(rc, mk_buf_done(out, err));
    if (out->n - start > MK_RECORD_MAX) {
        rc = mk_fail(err, MK_E_LIMIT, "the record takes %zu bytes, more than %zu", out->n - start,
                     MK_RECORD_MAX);
        mk_err_hint(err, "split the batch into several of at most %zu bytes each", MK_RECORD_MAX);
        goto out;
    }
    mk_record__batch_id(id, (mk_str){out->p + start + head.n, ops_end - start - head.n}, tt.us);
    memcpy(out->p + start + id_at, id, ID_DIGITS);

out:
    if (rc != MK_OK)
        out->n = start;
    return rc;
}

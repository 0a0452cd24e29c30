/* wire.h — results as clients whose integers end at 2^53 can read them. Layer: serve.
 *
 * The canonical payload is what digests cover. On the wire open ends are null, integers beyond 2^53 - 1 are
 * text, members stand in the order of the registry, and a cursor carries the transaction time its page
 * was computed at, so that a walk over pages is one snapshot. Source: serving spec, 2.1 to 2.3. */
#ifndef MK_SERVE_WIRE_H
#define MK_SERVE_WIRE_H

#include "op/call.h"

typedef enum mk_wire_times { MK_WIRE_US, MK_WIRE_ISO } mk_wire_times;

typedef struct mk_wire_options {
    mk_wire_times times;
    int64_t tt;          /* the transaction time that the call saw, for its cursor */
    mk_str note;         /* of `served`; n 0: none */
    int64_t limit_used;  /* of `served`; 0: none */
    const char *without; /* a member of the payload to leave out; NULL: none */
    mk_str full_result;  /* uri, of `served`; n 0: none */
} mk_wire_options;

/* The envelope of a call in wire form; appended to `out`. `arena` is scratch.
 * Errors: MK_E_NOMEM, MK_E_INTERNAL when the payload is no JSON. */
MK_CHECK mk_code mk_wire_envelope(const mk_call_result *result, const mk_wire_options *options,
                                  mk_arena *arena, mk_buf *out, mk_err *err);

/* Any JSON in wire form, without knowledge of what its members mean. */
void mk_wire_value(mk_buf *out, const mk_json *value);

/* ---- cursors ---- */

typedef struct mk_wire_cursor {
    int64_t offset, tt;
    char check[9]; /* of the other arguments, hexadecimal */
} mk_wire_cursor;

/* What `check` must be for these filled arguments (all but as_of_tt, limit and cursor). */
MK_CHECK mk_code mk_wire_cursor_check(const mk_json *filled, mk_arena *arena, char check[9], mk_err *err);
/* False when `text` is no wire cursor, which plain offsets are not. */
bool mk_wire_cursor_parse(mk_str text, mk_wire_cursor *out);

#endif

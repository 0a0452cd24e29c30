/* record_internal.h — what the two readers, the checks and the writer of record.h share. Layer: store. */
#ifndef MK_STORE_RECORD_INTERNAL_H
#define MK_STORE_RECORD_INTERNAL_H

#include "store/record.h"

/* Every member name that an op, a ref or an event may have, in the order of canonical JSON. */
typedef enum mk_record_field {
    MK_FIELD_DISC,
    MK_FIELD_DST,
    MK_FIELD_EVENTS,
    MK_FIELD_KIND,
    MK_FIELD_LABEL,
    MK_FIELD_NODE_LABEL,
    MK_FIELD_OFFSET,
    MK_FIELD_OP,
    MK_FIELD_PROPS,
    MK_FIELD_PROVENANCE_REF,
    MK_FIELD_REF,
    MK_FIELD_REL_TYPE,
    MK_FIELD_SOURCE,
    MK_FIELD_SRC,
    MK_FIELD_T,
    MK_FIELD_UID,
    MK_FIELD_VT_E,
    MK_FIELD_VT_S,
    MK_FIELD_COUNT
} mk_record_field;

#define MK_RECORD_OP_NAMES 5 /* the kinds below MK_OP_UNKNOWN */

extern const mk_str mk_record__field_names[MK_FIELD_COUNT];
extern const mk_str mk_record__op_names[MK_RECORD_OP_NAMES];

/* MK_FIELD_COUNT and MK_OP_UNKNOWN for a name that is none. */
mk_record_field mk_record__field_find(mk_str name);
mk_op_kind mk_record__op_find(mk_str name);

/* Whether one well-formed JSON value is in canonical form (store spec, section 3). Text that is not
 * well-formed gives either answer, but is never read beyond its end. */
bool mk_record__is_canonical(mk_str text);

/* The rules for values that both doors share: everything of mk_op_check but the form of props,
 * clashing discriminators and reserved prefixes. */
MK_CHECK mk_code mk_record__check_values(const mk_op *op, const char *path, bool allow_reserved,
                                         mk_err *err);

/* The first 16 hex digits of the hash of {"ops":ops,"tt":tt}, and a NUL. */
void mk_record__batch_id(char out[17], mk_str ops, int64_t tt);

#define MK_RECORD_SHOWN_MAX 80 /* bytes of an offending string that a message shows */

/* The start of a text that a message can show without cutting a character. */
static inline mk_str mk_record__shown(mk_str s)
{
    if (s.n <= MK_RECORD_SHOWN_MAX)
        return s;
    size_t n = MK_RECORD_SHOWN_MAX;
    while (n > 0 && ((unsigned char)s.p[n] & 0xC0) == 0x80)
        n--;
    return (mk_str){s.p, n};
}

/* How many of the first n bytes stand for themselves in a canonical string: no `"`, no `\`, no control
 * character, and with `ascii` no byte of a longer character. Eight bytes are looked at together;
 * the borrow of a subtraction can only spoil bytes above the first hit, so the lowest hit is right. */
static inline size_t mk_record__plain_span(const char *p, size_t n, bool ascii)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), high = ones << 7;
    size_t at = 0;

    while (n - at >= 8) {
        uint64_t x;
        memcpy(&x, p + at, 8);
        const uint64_t low = x - ones * 0x20;
        const uint64_t quote = (x ^ (ones * '"')) - ones;
        const uint64_t slash = (x ^ (ones * '\\')) - ones;
        uint64_t hit = (low | quote | slash) & ~x;
        if (ascii)
            hit |= x;
        hit &= high;
        if (hit != 0) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
            return at + (size_t)__builtin_ctzll(hit) / 8;
#else
            break;
#endif
        }
        at += 8;
    }
    for (; at < n; at++) {
        const unsigned char c = (unsigned char)p[at];
        if (c < 0x20 || c == '"' || c == '\\' || (ascii && c >= 0x80))
            break;
    }
    return at;
}

#endif

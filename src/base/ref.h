/* ref.h — references from one step of a plan into the result of another. Layer: base.
 *
 * In a plan, {"$ref":"s1.rows[0].uid"} stands for a value that an earlier step gave. Source: agent spec,
 * 5. */
#ifndef MK_BASE_REF_H
#define MK_BASE_REF_H

#include "base/json.h"

#define MK_REF_SEGMENTS_MAX 16
typedef enum mk_ref_index { MK_REF_NO_INDEX, MK_REF_AT, MK_REF_ALL } mk_ref_index;
typedef struct mk_ref_segment {
    mk_str name;
    mk_ref_index index;
    uint64_t at;
} mk_ref_segment;
typedef struct mk_ref {
    mk_str text, step;
    mk_ref_segment segments[MK_REF_SEGMENTS_MAX];
    size_t count;
} mk_ref;

/* "s1.rows[*].uid". Errors: MK_E_SCHEMA with the offset. `bare` also lets "s1" pass (count 0). */
MK_CHECK mk_code mk_ref_parse(mk_str text, bool bare, mk_ref *out, mk_err *err);
/* The text of {"$ref": "..."}; false for every other value. A $ref that is no string gives p NULL. */
bool mk_ref_of(const mk_json *value, mk_str *text);
/* Follows the reference inside a step's payload. Lists that `*` makes live in `arena`.
 * Errors: MK_E_INVALID_ARG naming the missing field, or index and length. */
MK_CHECK mk_code mk_ref_resolve(const mk_ref *ref, const mk_json *payload, mk_arena *arena,
                                const mk_json **out, mk_err *err);

#endif

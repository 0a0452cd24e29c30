/* bundle_internal.h — what writing, checking and proving share about bundles. Layer: claim. */
#ifndef MK_CLAIM_BUNDLE_INTERNAL_H
#define MK_CLAIM_BUNDLE_INTERNAL_H

#include "claim/bundle.h"
#include "claim/claim_internal.h"
#include "claim/merkle.h"

/* One leaf: the canonical text of [path, value], hashed. "s2" is a call record, "s2.rows_total" a member of
 * its payload, "s2.rows[]" the length of a list, "s2.rows[7]" an item; "answer.claims[0]" likewise. */
typedef struct mk_leaf {
    mk_str path;
    mk_json value;
    mk_hash32 hash;
} mk_leaf;

typedef struct mk_leaves {
    mk_leaf *items;
    size_t count, cap;
    size_t bytes; /* of all their texts */
} mk_leaves;

/* The members of a bundle that has the right ones. */
typedef struct mk_bundle_tree {
    const mk_json *whole, *answer, *calls, *digests, *payloads, *plan, *prompts, *question, *report, *trace,
        *versions, *as_of_tt;
} mk_bundle_tree;

/* All leaves in their order: steps of the trace that have a call and a payload, then plan, answer, report. */
MK_CHECK mk_code mk_bundle__leaves(const mk_bundle_tree *bundle, mk_arena *arena, mk_leaves *out,
                                   mk_err *err);
MK_CHECK mk_code mk_bundle__root(const mk_leaves *leaves, mk_arena *arena, mk_hash32 *out, mk_err *err);
/* The hash of a leaf with this path and value; adds the size of its text to *bytes. */
MK_CHECK mk_code mk_bundle__leaf_hash(mk_str path, const mk_json *value, mk_arena *arena, mk_hash32 *out,
                                      size_t *bytes, mk_err *err);
/* Errors: MK_E_SCHEMA for what is no bundle. */
MK_CHECK mk_code mk_bundle__read(mk_str text, mk_arena *arena, mk_bundle_tree *out, mk_err *err);
/* SHA-256 of a value's canonical text, as hex. */
MK_CHECK mk_code mk_bundle__digest(const mk_json *value, mk_arena *arena, char hex[65], mk_err *err);

#endif

/* bundle.h — one file that carries an answer and all it rests on. Layer: claim.
 *
 * A bundle is one canonical JSON object: question, plan, calls, payloads, trace, answer, report, prompts,
 * belief time, digests and versions (docs/trace-format.md). It is checked without a store. A Merkle tree
 * over call records and payload rows gives each claim a proof that needs only the rows it cites.
 * Source: agent spec, 18.10, 18.11; Merkle 1987; RFC 6962, section 2.1 for the tree's shape. */
#ifndef MK_CLAIM_BUNDLE_H
#define MK_CLAIM_BUNDLE_H

#include "claim/answer.h"

#define MK_BUNDLE_MAX ((size_t)256 << 20)

typedef struct mk_bundle_parts {
    mk_str question, plan, trace, answer, report; /* canonical JSON (question: plain text) */
    mk_str prompts;                               /* JSON list; empty: none */
    mk_str versions;                              /* JSON object */
} mk_bundle_parts;

/* Collects the objects that the trace names and writes the bundle. */
MK_CHECK mk_code mk_bundle_write(const mk_bundle_parts *parts, mk_object_fn *get, void *ctx,
                                 mk_arena *arena, mk_buf *out, mk_err *err);

/* What a check of a bundle found. */
typedef struct mk_bundle_check {
    bool sound;           /* every digest, the root included, is right */
    mk_str *faults;       /* what is wrong and where: "payloads.3f2a...: does not hash to its name" */
    size_t fault_count;
    mk_answer_report answer; /* verified again from the bundle alone */
    mk_gated gated;
} mk_bundle_check;
/* Errors: MK_E_SCHEMA when it is no bundle; MK_E_NOMEM. */
MK_CHECK mk_code mk_bundle_verify(mk_str bundle, const mk_verify_options *options, mk_arena *arena,
                                  mk_bundle_check *out, mk_err *err);
void mk_bundle_check_json(const mk_bundle_check *check, mk_buf *out);
/* The same for people: faults, then a line for each claim. Harmless on a
 * terminal, whatever the bundle holds. */
void mk_bundle_check_text(const mk_bundle_check *check, mk_buf *out);
/* Sound, its answer readable, and every claim at least weakly supported. */
bool mk_bundle_check_holds(const mk_bundle_check *check);

/* The proof for one claim: the claim, the rows it cites, their paths to the root. */
MK_CHECK mk_code mk_bundle_prove(mk_str bundle, mk_str claim_id, mk_arena *arena, mk_buf *out,
                                 mk_err *err);
/* Checks a proof against a root. *holds says the outcome, `why` the reason. */
MK_CHECK mk_code mk_proof_verify(mk_str proof, const char root[65], mk_arena *arena, bool *holds,
                                 mk_str *why, mk_err *err);

#endif

/* writing.h — writes that came by a wire. Layer: serve.
 *
 * A batch is all or nothing. Its source is the principal and its provenance the id of the request, whatever
 * it says of itself; a request id makes a repeat harmless. Source: decisions.md 2, 3, 6, 7; serving
 * spec, 3.1, 7. */
#ifndef MK_SERVE_WRITING_H
#define MK_SERVE_WRITING_H

#include "serve/caller.h"
#include "serve/service.h"

#define MK_WRITE_OPS_MAX 100000u

typedef struct mk_writing {
    mk_str request_id; /* of the client, for idempotency among the principal's own; n 0: none */
    mk_str reference;  /* kept as provenance_ref; n 0: none */
} mk_writing;

/* `ops`: a list of operations in the form of the log ({"op":"assert_node",...}). Appends {"ops":n,"tt":us}.
 * Errors: MK_E_STATE when the server was not started with --write, and while another process writes (retry as
 * it is, with its pid); MK_E_SCHEMA, MK_E_INVALID_ARG with a path such as ops[3].vt_e; what mk_store_write
 * reports. */
MK_CHECK mk_code mk_serve_write(mk_service *service, const mk_caller *caller, const mk_json *ops,
                                const mk_writing *how, mk_buf *out, mk_err *err);

/* The arguments of graph_assert, graph_retract and graph_correct. Each fact is about a node (uid) or an edge
 * (src, rel_type, dst). `reference` is the provenance when the arguments have no request_id. */
typedef enum mk_write_verb { MK_WRITE_ASSERT, MK_WRITE_RETRACT, MK_WRITE_CORRECT } mk_write_verb;
MK_CHECK mk_code mk_serve_facts(mk_service *service, const mk_caller *caller, mk_write_verb verb,
                                const mk_json *arguments, mk_str reference, mk_buf *out, mk_err *err);

#endif

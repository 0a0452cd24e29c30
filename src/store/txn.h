/* txn.h — transactions: read at a snapshot, write if nothing relevant happened since. Layer: store.
 *
 * A transaction pins a view when it begins and collects ops. Commit validates under the write mutex
 * against every batch staged or published since (backward validation, first committer wins): under
 * snapshot isolation what it writes must be untouched, under serializable also what it read. An
 * aborted transaction leaves nothing in the log. One transaction is one batch; group commit shares
 * frames between them, never batches. Source: toki spec, 8.1 to 8.5; Berenson et al. 1995. */
#ifndef MK_STORE_TXN_H
#define MK_STORE_TXN_H

#include "store/view.h"

typedef enum mk_isolation { MK_ISO_SNAPSHOT, MK_ISO_SERIALIZABLE } mk_isolation;

typedef struct mk_txn mk_txn;

/* `mask` as in mk_view_at. Errors: MK_E_STATE for a reader, MK_E_LIMIT, MK_E_NOMEM. */
MK_CHECK mk_code mk_txn_begin(mk_store *store, mk_isolation isolation, unsigned mask, mk_txn **out,
                              mk_err *err);
/* The snapshot. Owned by the transaction. */
mk_view *mk_txn_view(mk_txn *txn);
mk_isolation mk_txn_isolation(const mk_txn *txn);

/* Says what was read, so that serializable can validate it: every version of the identity that an op
 * like this one would name (uid, or src, dst, rel_type, disc) and that overlaps [vt_s, vt_e). */
MK_CHECK mk_code mk_txn_read(mk_txn *txn, const mk_op *identity, mk_vt vt_s, mk_vt vt_e, mk_err *err);
/* A read that names no identity (a scan): any later commit invalidates it. */
void mk_txn_read_all(mk_txn *txn);

/* Adds an op to the batch; everything in it is copied. */
MK_CHECK mk_code mk_txn_write(mk_txn *txn, const mk_op *op, mk_err *err);

/* Validates and commits. The transaction is over either way; free it with mk_txn_end. Without ops
 * there is nothing to write: a serializable transaction then read one state and is MK_OK.
 * Errors: those of mk_store_write, and MK_E_WRITE_CONFLICT, MK_E_SERIALIZATION (details tt: the batch
 * that came first), MK_E_SNAPSHOT_TOO_OLD; all three retry "as_is" with a new transaction. */
MK_CHECK mk_code mk_txn_commit(mk_txn *txn, const mk_write_options *options, mk_tt *tt, mk_err *err);
void mk_txn_end(mk_txn *txn); /* NULL is fine; not committed: nothing happened */

#endif

/* txn.c — validation of transactions against the commits since their snapshot. Layer: store. */
#include "store/txn.h"

#include <stdio.h>

#include "store/internal.h"

/* Something read or written: an identity over a stretch of valid time. The identity is kept as text,
 * since its names may be registered only after the snapshot. */
typedef struct footprint {
    mk_op op;
    int64_t vt_s, vt_e;
} footprint;

typedef struct footprints {
    footprint *items;
    size_t count, cap;
} footprints;

struct mk_txn {
    mk_store *store;
    mk_isolation isolation;
    mk_view *view;
    mk_arena arena;
    footprints reads, writes;
    mk_op *ops;
    size_t op_count, op_cap;
    uint64_t ring_at; /* commits in the ring when the snapshot was taken */
    bool read_all;
    const mk_write_options *options; /* of the caller, during commit */
};

mk_code mk_txn_begin(mk_store *store, mk_isolation isolation, unsigned mask, mk_txn **out, mk_err *err)
{
    mk_txn *txn = mk_new0(store->alloc, sizeof *txn);
    mk_code rc = MK_OK;
    if (txn == NULL)
        return mk_fail_nomem(err);
    txn->store = store;
    txn->isolation = isolation;
    mk_arena_init(&txn->arena, store->alloc);
    if (!store->writable) {
        rc = mk_fail(err, MK_E_STATE, "the store is open for reading only");
        mk_err_reason(err, "read_only_handle");
        goto out;
    }
    /* The view and the place in the ring must be of one moment. */
    pthread_mutex_lock(&store->mutex);
    rc = mk_view_at(store, (mk_tt){MK_OPEN_END}, mask, &txn->view, err);
    txn->ring_at = store->ring_next;
    pthread_mutex_unlock(&store->mutex);
    if (rc != MK_OK)
        goto out;
    *out = txn;
    txn = NULL;
out:
    mk_txn_end(txn);
    return rc;
}

mk_view *mk_txn_view(mk_txn *txn) { return txn->view; }
mk_isolation mk_txn_isolation(const mk_txn *txn) { return txn->isolation; }

/* ---- what was read and written ---- */

static bool copy_text(mk_arena *arena, mk_str *text)
{
    if (text->n == 0) {
        *text = (mk_str){"", 0};
        return true;
    }
    *text = mk_arena_copy(arena, *text);
    return text->p != NULL;
}

static bool copy_events(mk_arena *arena, mk_op *op)
{
    if (op->event_count == 0)
        return true;
    mk_event *events = mk_arena_get(arena, op->event_count * sizeof *events);
    if (events == NULL)
        return false;
    memcpy(events, op->events, op->event_count * sizeof *events);
    for (size_t i = 0; i < op->event_count; i++) {
        mk_event *e = &events[i];
        if (!copy_text(arena, &e->src) || !copy_text(arena, &e->dst) ||
            !copy_text(arena, &e->rel_type) || !copy_text(arena, &e->disc) ||
            !copy_text(arena, &e->props))
            return false;
    }
    op->events = events;
    return true;
}

static mk_code copy_op(mk_txn *txn, const mk_op *from, mk_op *to, mk_err *err)
{
    *to = *from;
    mk_str *const texts[] = {&to->uid,    &to->src,    &to->dst,   &to->rel_type,
                             &to->disc,   &to->label,  &to->props, &to->source,
                             &to->provenance_ref, &to->node_label, &to->raw_kind};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!copy_text(&txn->arena, texts[i]))
            return mk_fail_nomem(err);
    return copy_events(&txn->arena, to) ? MK_OK : mk_fail_nomem(err);
}

static mk_code add(mk_txn *txn, footprints *list, const mk_op *op, int64_t vt_s, int64_t vt_e, mk_err *err)
{
    const mk_code rc = mk_grow(txn->store->alloc, (void **)&list->items, &list->cap,
                               list->count + 1, sizeof *list->items, err);
    if (rc == MK_OK)
        list->items[list->count++] = (footprint){*op, vt_s, vt_e};
    return rc;
}

mk_code mk_txn_read(mk_txn *txn, const mk_op *identity, mk_vt vt_s, mk_vt vt_e, mk_err *err)
{
    mk_op copy;
    mk_code rc;
    MK_TRY(rc, copy_op(txn, identity, &copy, err));
    rc = add(txn, &txn->reads, &copy, vt_s.us, vt_e.us, err);
out:
    return rc;
}

void mk_txn_read_all(mk_txn *txn) { txn->read_all = true; }

mk_code mk_txn_write(mk_txn *txn, const mk_op *op, mk_err *err)
{
    mk_code rc;
    mk_op copy;
    MK_TRY(rc, copy_op(txn, op, &copy, err));
    MK_TRY(rc, mk_grow(txn->store->alloc, (void **)&txn->ops, &txn->op_cap, txn->op_count + 1,
                       sizeof *txn->ops, err));
    txn->ops[txn->op_count++] = copy;
    /* Bulk events carve nothing and so conflict with nothing. */
    if (op->kind == MK_OP_RETRACT)
        rc = add(txn, &txn->writes, &copy, op->t, op->t == INT64_MAX ? op->t : op->t + 1, err);
    else if (op->kind != MK_OP_INGEST_EVENTS)
        rc = add(txn, &txn->writes, &copy, op->vt_s, op->vt_e, err);
out:
    return rc;
}

/* ---- validation ---- */

/* Hash of the identity as commits list it; false when some name was never registered, and so no
 * commit can have touched it. */
static bool identity_hash(mk_store *store, const mk_op *op, uint64_t *hash)
{
    mk_ident ident = {.node = op->kind == MK_OP_ASSERT_NODE || op->on_node};
    if (!mk_apply__ident(store, op, ident.node, &ident))
        return false;
    *hash = mk_ident_hash(&ident);
    return true;
}

static mk_code conflict(mk_code code, mk_tt tt, mk_err *err)
{
    char extra[48];
    mk_fail(err, code,
            code == MK_E_WRITE_CONFLICT ? "the batch at tt %lld wrote first what this transaction writes"
                                        : "the batch at tt %lld changed what this transaction read",
            (long long)tt.us);
    mk_err_hint(err, "begin a new transaction, read again, and commit that");
    mk_err_retry(err, MK_RETRY_AS_IS);
    const int n = snprintf(extra, sizeof extra, "\"tt\":%lld", (long long)tt.us);
    mk_err_extra(err, extra, (size_t)n);
    return code;
}

static bool overlaps(mk_store *store, const footprints *list, const mk_touch *touches, size_t count)
{
    for (size_t i = 0; i < list->count; i++) {
        uint64_t hash;
        if (!identity_hash(store, &list->items[i].op, &hash))
            continue;
        for (size_t j = 0; j < count; j++)
            if (touches[j].identity == hash && touches[j].vt_s.us < list->items[i].vt_e &&
                list->items[i].vt_s < touches[j].vt_e.us)
                return true;
    }
    return false;
}

static mk_code check_commit(const mk_txn *txn, mk_tt tt, const mk_touch *touches, size_t count,
                            bool all, mk_err *err)
{
    const bool serializable = txn->isolation == MK_ISO_SERIALIZABLE;
    if (txn->writes.count != 0 && (all || overlaps(txn->store, &txn->writes, touches, count)))
        return conflict(MK_E_WRITE_CONFLICT, tt, err);
    if (serializable && (txn->read_all || (txn->reads.count != 0 &&
                                           (all || overlaps(txn->store, &txn->reads, touches, count)))))
        return conflict(MK_E_SERIALIZATION, tt, err);
    return MK_OK;
}

/* Under the write mutex, before anything is staged. */
static mk_code validate(void *ctx, mk_store *store, mk_err *err)
{
    const mk_txn *txn = ctx;
    mk_code rc = MK_OK;
    if (store->ring_next - txn->ring_at > MK_RING_SIZE) {
        rc = mk_fail(err, MK_E_SNAPSHOT_TOO_OLD,
                     "%llu commits since this snapshot, over the %u that are kept",
                     (unsigned long long)(store->ring_next - txn->ring_at), MK_RING_SIZE);
        mk_err_hint(err, "begin a new transaction");
        mk_err_retry(err, MK_RETRY_AS_IS);
        goto out;
    }
    for (uint64_t at = txn->ring_at; at < store->ring_next; at++) {
        const mk_ring_entry *entry = &store->ring_commits[at % MK_RING_SIZE];
        MK_TRY(rc, check_commit(txn, entry->tt, entry->touches, entry->touch_count,
                                entry->touches_all, err));
    }
    for (const mk_pending *batch = store->pending_first; batch != NULL; batch = batch->next)
        MK_TRY(rc, check_commit(txn, batch->tt, batch->touches, batch->touch_count,
                                batch->touches_all, err));
    if (txn->options != NULL && txn->options->validate != NULL)
        rc = txn->options->validate(txn->options->validate_ctx, store, err);
out:
    return rc;
}

mk_code mk_txn_commit(mk_txn *txn, const mk_write_options *options, mk_tt *tt, mk_err *err)
{
    mk_write_options mine = options ? *options : (mk_write_options){0};
    if (txn->op_count == 0) {
        if (tt != NULL)
            *tt = mk_view_effective_tt(txn->view);
        return MK_OK;
    }
    txn->options = options;
    mine.validate = validate;
    mine.validate_ctx = txn;
    return mk_store_write(txn->store, txn->ops, txn->op_count, &mine, tt, err);
}

void mk_txn_end(mk_txn *txn)
{
    if (txn == NULL)
        return;
    const mk_alloc *alloc = txn->store->alloc;
    mk_view_close(txn->view);
    mk_free(alloc, txn->ops, txn->op_cap * sizeof *txn->ops);
    mk_free(alloc, txn->reads.items, txn->reads.cap * sizeof *txn->reads.items);
    mk_free(alloc, txn->writes.items, txn->writes.cap * sizeof *txn->writes.items);
    mk_arena_free(&txn->arena);
    mk_free(alloc, txn, sizeof *txn);
}

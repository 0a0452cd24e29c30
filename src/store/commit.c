/* commit.c — the way of a batch from the caller to the disk. Layer: store.
 *
 * States of a batch: checked (no lock) -> staged (in the live structures, invisible; under the mutex)
 * -> written and synced in a frame, together with whatever was staged meanwhile (no lock, one leader)
 * -> published in order -> its caller wakes. A failed append takes every staged batch back, since later
 * ones were staged on top of it. Source: STORAGE.md, "Commit"; toki spec, 8.3. */
#include "store/internal.h"

/* ---- barrier ---- */

/* Merging has fallen far behind: let it catch up before more segments come. */
static bool lagging(const mk_store *store)
{
    if (!store->merge_wanted || !store->thread_started)
        return false;
    for (int lane = 0; lane < MK_LANE_COUNT; lane++)
        if (store->lanes[lane].count > MK_LANE_SEGMENTS_MAX)
            return true;
    return false;
}

static bool must_wait(const mk_store *store)
{
    return store->barrier || lagging(store) || (store->seal_due && store->pending_first != NULL);
}

mk_code mk_commit__raise(mk_store *store, mk_err *err)
{
    while (store->barrier)
        pthread_cond_wait(&store->changed, &store->mutex);
    store->barrier = true;
    while (store->pending_first != NULL)
        pthread_cond_wait(&store->changed, &store->mutex);
    if (!store->refuses)
        return MK_OK;
    mk_commit__lower(store);
    if (err != NULL)
        *err = store->refusal;
    return store->refusal.code;
}

void mk_commit__lower(mk_store *store)
{
    store->barrier = false;
    pthread_cond_broadcast(&store->changed);
}

void mk_commit__refuse(mk_store *store, const mk_err *err)
{
    if (store->refuses)
        return;
    store->refuses = true;
    store->refusal = *err;
    mk_store__log(store, MK_LOG_ERROR, "no more writing: %s", err->message);
}

/* Whoever opens a store or follows its log waits for an answer, not for merges: the thread of a writer does
 * them later, a reader only when there are many segments. Stores without a thread by choice merge. */
static bool may_put_off(const mk_store *store)
{
    if (store->options.manual && !store->loading)
        return false;
    for (int lane = 0; lane < MK_LANE_COUNT; lane++)
        if (store->lanes[lane].count > MK_LANE_SEGMENTS_MAX / 4)
            return false;
    return true;
}

mk_code mk_commit__tidy(mk_store *store, mk_err *err)
{
    mk_code rc = MK_OK;
    if ((!store->seal_due && !store->merge_due) || store->pending_first != NULL)
        return MK_OK;
    if (store->seal_due)
        MK_TRY(rc, mk_seal__tail(store, err));
    store->seal_due = store->merge_due = false;
    if (store->thread_started || may_put_off(store)) {
        store->merge_wanted = true;
        pthread_cond_signal(&store->upkeep);
    } else {
        MK_TRY(rc, mk_compact__lanes(store, false, err));
    }
    mk_epoch_collect(&store->epoch);
out:
    return rc;
}

/* ---- leading: one frame for all that is staged ---- */

/* The newest staged batch; there is one. */
static mk_pending *newest(mk_store *store)
{
    mk_pending *batch = store->pending_first;
    while (batch->next != NULL)
        batch = batch->next;
    return batch;
}

/* Its caller may return, and its memory go, from here on. */
static void finish(mk_pending *batch)
{
    batch->done = true;
    sem_post(&batch->wake);
}

static void take_all_back(mk_store *store, const mk_err *why)
{
    while (store->pending_first != NULL) {
        mk_pending *batch = newest(store);
        mk_apply__undo(store, batch);
        mk_pending **link = &store->pending_first;
        while (*link != batch)
            link = &(*link)->next;
        *link = NULL;
        batch->code = why->code;
        batch->err = *why;
        finish(batch);
    }
    store->pending_last = store->group_last = NULL;
    mk_buf_clear(&store->group);
    store->group_records = 0;
}

static void note_growth(mk_store *store, bool bulk)
{
    store->seal_due |= store->tail_next - store->tail_lo >= store->options.tail_rows;
    store->merge_due |= bulk;
}

static void settle(mk_store *store, mk_pending *last, size_t frame_size)
{
    mk_pending *batch = store->pending_first;
    mk_pending *const stop = last->next;
    const bool bulk = last->bulk != NULL; /* always alone: nobody stages on top of it */
    mk_publish__upto(store, last);
    while (batch != stop) {
        mk_pending *next = batch->next;
        finish(batch);
        batch = next;
    }
    store->log_bytes_since += frame_size;
    note_growth(store, bulk);
}

/* Upkeep after a commit is not the caller's business: what fails is logged and tried again. */
static void tidy_or_warn(mk_store *store)
{
    mk_err err;
    if (mk_commit__tidy(store, &err) != MK_OK)
        mk_store__log(store, MK_LOG_WARN, "sealing failed and will be tried again: %s", err.message);
}

static void upkeep(mk_store *store)
{
    tidy_or_warn(store);
    const uint64_t bytes = store->log_bytes_since - store->log_bytes_given_up;
    if (!store->options.manual && bytes >= store->options.tail_log_bytes && !store->upkeep_wanted) {
        store->upkeep_wanted = true;
        pthread_cond_signal(&store->upkeep);
    }
}

static void lead(mk_store *store)
{
    mk_err err;
    mk_log_pos frame;
    mk_buf lines = store->group;
    store->group = store->writing;
    store->writing = lines;
    mk_pending *last = store->group_last;
    const uint32_t records = store->group_records;
    const mk_tt first_tt = store->group_first_tt, last_tt = store->group_last_tt;
    store->group_last = NULL;
    store->group_records = 0;
    store->leading = true;
    pthread_mutex_unlock(&store->mutex);
    const mk_code rc = mk_log_append(store->log, MK_FRAME_BATCH, mk_buf_view(&lines), records,
                                     first_tt, last_tt, &frame, &err);
    pthread_mutex_lock(&store->mutex);
    store->commit_groups++;
    store->commit_batches += records;
    mk_buf_clear(&store->writing);
    if (rc == MK_OK) {
        store->log_last = frame;
        store->log_end = *mk_log_writer_end(store->log);
        settle(store, last, lines.n);
    } else {
        take_all_back(store, &err);
        /* Anything else (no space, no memory, a write that was cut back) left the log as it was. */
        if (strcmp(err.reason, "writer_stopped") == 0 || err.code == MK_E_INTERNAL)
            mk_commit__refuse(store, &err);
    }
    upkeep(store);
    /* Only those concerned are woken: the callers whose batches are done, and one to write what was
     * staged meanwhile. A crowd that wakes for every frame costs more than the frame. */
    store->leading = store->group_records != 0;
    if (store->leading)
        sem_post(&store->pending_first->wake);
    pthread_cond_broadcast(&store->changed);
}

/* ---- staging ---- */

/* No view believes what begins at the end of time or later, so nothing may be written there. */
static mk_code tick(mk_store *store, mk_tt *tt, mk_err *err)
{
    const int64_t now = store->options.clock->now_us(store->options.clock->ctx);
    const int64_t last = store->staged_tt.us;
    if (now < MK_OPEN_END && last < MK_OPEN_END - 1) {
        tt->us = now > last + 1 ? now : last + 1;
        return MK_OK;
    }
    mk_fail(err, MK_E_STATE, "no transaction time is left: the clock says %lld, the newest batch is at %lld",
            (long long)now, (long long)last);
    mk_err_reason(err, "clock");
    mk_err_hint(err, "set the clock, or replay a log whose tt lie before %lld", (long long)MK_OPEN_END);
    return MK_E_STATE;
}

/* Appends the record to the group; on failure the group is as before. */
static mk_code add_record(mk_store *store, const mk_op *ops, size_t count, mk_tt tt, mk_err *err)
{
    const size_t before = store->group.n;
    mk_code rc;
    MK_TRY(rc, mk_record_write(&store->group, ops, count, tt, err));
    if (store->group.n - before > MK_RECORD_MAX) {
        rc = mk_fail(err, MK_E_LIMIT, "the batch takes %zu bytes in the log, over the limit of %zu",
                     store->group.n - before, MK_RECORD_MAX);
        mk_err_hint(err, "split it into smaller batches");
    }
out:
    if (rc != MK_OK) {
        store->group.n = before;
        store->group.failed = false;
    }
    return rc;
}

static void enqueue(mk_store *store, mk_pending *pending)
{
    if (store->pending_first == NULL)
        store->pending_first = pending;
    else
        store->pending_last->next = pending;
    store->pending_last = pending;
    if (store->group_records++ == 0)
        store->group_first_tt = pending->tt;
    store->group_last_tt = pending->tt;
    store->group_last = pending;
}

/* tt of the first commit with this request id; false when there was none. The id is an entity of
 * the notes class, so it lives in the log like everything else (decisions.md 3). */
static mk_code find_request(mk_store *store, mk_str uid, bool *found, mk_tt *tt, mk_err *err)
{
    mk_view *view = NULL;
    mk_arena arena;
    mk_node_ref *refs;
    size_t count = 0;
    mk_code rc = MK_OK;
    mk_arena_init(&arena, store->alloc);
    *found = mk_dict_find(&store->entities, uid, store->entities.count) != MK_DICT_NONE;
    if (!*found)
        goto out;
    /* It may be staged only: then its caller is still waiting, and so do we. */
    while (store->pending_first != NULL)
        pthread_cond_wait(&store->changed, &store->mutex);
    const uint32_t id = mk_dict_find(&store->entities, uid, store->entities.count);
    *found = id != MK_DICT_NONE;
    if (!*found)
        goto out;
    MK_TRY(rc, mk_view_at(store, (mk_tt){MK_OPEN_END}, MK_SHOW_NOTES, &view, err));
    MK_TRY(rc, mk_view_node_refs(view, &arena, id, &refs, &count, err));
    *found = count > 0;
    if (count > 0) {
        mk_node_version version;
        MK_TRY(rc, mk_view_node_version(view, &arena, &refs[0], &version, err));
        tt->us = version.tt_s;
    }
out:
    mk_view_close(view);
    mk_arena_free(&arena);
    return rc;
}

static mk_code stage(mk_store *store, const mk_op *ops, size_t count, mk_pending *pending, mk_err *err)
{
    mk_tt tt;
    mk_code rc = tick(store, &tt, err);
    if (rc == MK_OK)
        rc = mk_apply__batch(store, ops, count, tt, true, pending, err);
    if (rc != MK_OK)
        return rc;
    if (sem_init(&pending->wake, 0, 0) != 0) {
        mk_apply__undo(store, pending);
        return mk_fail_nomem(err);
    }
    rc = add_record(store, ops, count, tt, err);
    if (rc != MK_OK) {
        sem_destroy(&pending->wake);
        mk_apply__undo(store, pending);
        return rc;
    }
    enqueue(store, pending);
    return MK_OK;
}

static mk_code check_ops(mk_store *store, const mk_op *ops, size_t count,
                         const mk_write_options *options, mk_err *err)
{
    mk_arena scratch;
    mk_code rc = MK_OK;
    mk_arena_init(&scratch, store->alloc);
    if (count > MK_BATCH_OPS_MAX) {
        rc = mk_fail(err, MK_E_LIMIT, "%zu ops in one batch, over the limit of %u", count,
                     MK_BATCH_OPS_MAX);
        mk_err_hint(err, "split it into smaller batches");
        goto out;
    }
    for (size_t i = 0; i < count; i++) {
        mk_arena_reset(&scratch);
        MK_TRY(rc, mk_op_check(&ops[i], i, options->allow_reserved, &scratch, err));
    }
out:
    mk_arena_free(&scratch);
    return rc;
}

static mk_code refuse_reader(mk_err *err)
{
    mk_fail(err, MK_E_STATE, "the store is open for reading only");
    mk_err_reason(err, "read_only_handle");
    return MK_E_STATE;
}

/* Under the mutex: everything up to having the batch staged. *found: the request was written before. */
static mk_code admit(mk_store *store, const mk_op *ops, size_t count, mk_str request_uid,
                     const mk_write_options *options, mk_pending *pending, bool *found, mk_tt *tt,
                     mk_err *err)
{
    mk_code rc = MK_OK;
    *found = false;
    while (must_wait(store))
        pthread_cond_wait(&store->changed, &store->mutex);
    if (store->refuses) {
        if (err != NULL)
            *err = store->refusal;
        return store->refusal.code;
    }
    /* Lines that replay has folded go first, in a frame of their own: were they in this batch's, a full
     * disk would take them back with it. */
    if (store->pending_first == NULL && store->group.n != 0)
        MK_TRY(rc, mk_commit__flush(store, err));
    if (request_uid.n != 0) {
        MK_TRY(rc, find_request(store, request_uid, found, tt, err));
        /* Whoever waits lets others in, perhaps with the same request: look again after it. */
        while (!*found && must_wait(store)) {
            pthread_cond_wait(&store->changed, &store->mutex);
            MK_TRY(rc, find_request(store, request_uid, found, tt, err));
        }
        if (*found)
            goto out;
    }
    if (options->validate != NULL)
        MK_TRY(rc, options->validate(options->validate_ctx, store, err));
    MK_TRY(rc, stage(store, ops, count, pending, err));
    store->barrier |= pending->bulk != NULL; /* lookups do not see an unpublished segment */
out:
    return rc;
}

/* Leads, or sleeps until the batch is done or it is this caller's turn to lead. The mutex is held on
 * entry and not on return: most callers need it no more. */
static void see_it_through(mk_store *store, mk_pending *pending)
{
    if (!store->leading)
        lead(store);
    while (!pending->done) {
        pthread_mutex_unlock(&store->mutex);
        while (sem_wait(&pending->wake) != 0)
            continue; /* interrupted */
        if (pending->done)
            return;
        pthread_mutex_lock(&store->mutex);
        lead(store);
    }
    pthread_mutex_unlock(&store->mutex);
}

static mk_code commit(mk_store *store, const mk_op *ops, size_t count, mk_str request_uid,
                      const mk_write_options *options, mk_pending *pending, mk_tt *tt, mk_err *err)
{
    bool found;
    pthread_mutex_lock(&store->mutex);
    mk_code rc = admit(store, ops, count, request_uid, options, pending, &found, tt, err);
    if (rc != MK_OK || found) {
        pthread_mutex_unlock(&store->mutex);
        return rc;
    }
    const bool bulk = pending->bulk != NULL;
    see_it_through(store, pending);
    sem_destroy(&pending->wake);
    if (bulk) {
        pthread_mutex_lock(&store->mutex);
        mk_commit__lower(store);
        pthread_mutex_unlock(&store->mutex);
    }
    *tt = pending->tt;
    if (pending->code != MK_OK && err != NULL)
        *err = pending->err;
    return pending->code;
}

mk_code mk_store_write(mk_store *store, const mk_op *ops, size_t count,
                       const mk_write_options *options, mk_tt *tt, mk_err *err)
{
    static const mk_write_options none = {0};
    mk_arena arena;
    mk_tt written = {0};
    mk_str request_uid = {NULL, 0};
    mk_code rc;
    if (!store->writable)
        return refuse_reader(err);
    if (options == NULL)
        options = &none;
    mk_arena_init(&arena, store->alloc);
    MK_TRY(rc, check_ops(store, ops, count, options, err));
    /* Shared with the leader until the commit is over, so not on this stack. */
    mk_pending *pending = mk_arena_get(&arena, sizeof *pending);
    if (pending == NULL) {
        rc = mk_fail_nomem(err);
        goto out;
    }
    if (options->request_id.n != 0) {
        char *uid = mk_arena_get(&arena, options->request_id.n + 7);
        mk_op *more = mk_arena_get(&arena, (count + 1) * sizeof *more);
        if (uid == NULL || more == NULL) {
            rc = mk_fail_nomem(err);
            goto out;
        }
        memcpy(uid, "mn:req:", 7);
        memcpy(uid + 7, options->request_id.p, options->request_id.n);
        request_uid = (mk_str){uid, options->request_id.n + 7};
        if (count != 0)
            memcpy(more, ops, count * sizeof *more);
        more[count] = (mk_op){.kind = MK_OP_ASSERT_NODE,
                              .uid = request_uid,
                              .label = MK_STR("Request"),
                              .props = MK_STR("{}"),
                              .vt_e = MK_OPEN_END,
                              .source = MK_STR("ingest"),
                              .provenance_null = true};
        MK_TRY(rc, mk_op_check(&more[count], count, true, &arena, err));
        ops = more;
        count++;
    }
    rc = commit(store, ops, count, request_uid, options, pending, &written, err);
    if (rc == MK_OK && tt != NULL)
        *tt = written;
out:
    mk_arena_free(&arena);
    return rc;
}

int64_t mk_store_next_disc(mk_store *store)
{
    pthread_mutex_lock(&store->mutex);
    const int64_t next = store->next_disc;
    pthread_mutex_unlock(&store->mutex);
    return next;
}

void mk_store_listen(mk_store *store, mk_commit_fn *fn, void *ctx)
{
    pthread_mutex_lock(&store->mutex);
    store->listener = fn;
    store->listener_ctx = ctx;
    pthread_mutex_unlock(&store->mutex);
}

/* ---- folding records that exist already ---- */

mk_code mk_commit__fold(mk_store *store, mk_str line, bool check_id, bool *applied, mk_err *why,
                        mk_err *err)
{
    mk_record record;
    mk_err reason;
    mk_code rc = MK_OK;
    *applied = false;
    mk_arena_reset(&store->scratch);
    mk_pending *pending = mk_arena_get(&store->scratch, sizeof *pending);
    if (pending == NULL) {
        rc = mk_fail_nomem(err);
        goto out;
    }
    MK_TRY(rc, mk_record_read(&store->scratch, line, check_id, &record, NULL, err));
    if (record.tt.us <= store->staged_tt.us) {
        rc = mk_fail(err, MK_E_STATE, "tt %lld does not come after tt %lld",
                     (long long)record.tt.us, (long long)store->staged_tt.us);
        mk_err_reason(err, "damaged");
        mk_err_hint(err, "the records of a log have strictly rising tt; this is not one log");
        goto out;
    }
    if (record.malformed) {
        reason = record.why;
        rc = record.why.code;
    } else {
        rc = mk_apply__batch(store, record.ops, record.op_count, record.tt, false, pending, &reason);
        if (rc != MK_OK && !mk_apply__is_semantic(rc)) {
            if (err != NULL)
                *err = reason;
            goto out;
        }
    }
    if (rc != MK_OK) { /* the batch failed, here as in the reference; its tt is used up */
        store->staged_tt = record.tt;
        if (why != NULL)
            *why = reason;
        rc = MK_OK;
        goto out;
    }
    enqueue(store, pending);
    store->group_records = 0;
    store->group_last = NULL;
    const bool bulk = pending->bulk != NULL;
    mk_publish__upto(store, pending);
    *applied = true;
    note_growth(store, bulk);
    /* The record is applied whatever becomes of this. */
    tidy_or_warn(store);
out:
    return rc;
}

mk_code mk_commit__fold_frame(mk_store *store, const mk_frame *frame, mk_err *err)
{
    mk_str rest = frame->lines;
    for (uint32_t line = 0; rest.n != 0; line++) {
        const char *lf = memchr(rest.p, '\n', rest.n);
        const size_t size = lf ? (size_t)(lf - rest.p) + 1 : rest.n;
        bool applied;
        if (line >= store->frame_lines_done) {
            const mk_code rc =
                mk_commit__fold(store, (mk_str){rest.p, size}, false, &applied, NULL, err);
            if (rc != MK_OK)
                return rc;
            store->frame_lines_done++;
        }
        rest.p += size;
        rest.n -= size;
    }
    store->frame_lines_done = 0;
    store->log_bytes_since += frame->lines.n;
    return MK_OK;
}

mk_code mk_commit__flush(mk_store *store, mk_err *err)
{
    mk_code rc;
    if (store->group.n == 0)
        return MK_OK;
    MK_TRY(rc, mk_log_append(store->log, MK_FRAME_BATCH, mk_buf_view(&store->group),
                             store->group_records, store->group_first_tt, store->group_last_tt,
                             &store->log_last, err));
    store->log_end = *mk_log_writer_end(store->log);
    mk_buf_clear(&store->group);
    store->group_records = 0;
out:
    return rc;
}

mk_code mk_store_replay_line(mk_store *store, mk_str line, bool check_id, bool *applied, mk_err *why,
                             mk_err *err)
{
    mk_code rc;
    if (!store->writable)
        return refuse_reader(err);
    pthread_mutex_lock(&store->mutex);
    const uint32_t records = store->group_records;
    const mk_tt first = store->group_first_tt;
    /* Room for the line before it is folded: what is applied must reach the log. */
    if (mk_buf_room(&store->group, line.n + 1) == NULL) {
        store->group.failed = false;
        rc = mk_fail_nomem(err);
        goto out;
    }
    MK_TRY(rc, mk_commit__fold(store, line, check_id, applied, why, err));
    store->group_records = records + 1;
    store->group_first_tt = records ? first : store->staged_tt;
    store->group_last_tt = store->staged_tt;
    mk_buf_str(&store->group, line);
    if (line.n == 0 || line.p[line.n - 1] != '\n')
        mk_buf_c(&store->group, '\n');
    MK_TRY(rc, mk_buf_done(&store->group, err));
    if (store->group.n >= MK_REPLAY_FRAME)
        rc = mk_commit__flush(store, err);
out:
    pthread_mutex_unlock(&store->mutex);
    return rc;
}

mk_code mk_store_replay_flush(mk_store *store, mk_err *err)
{
    pthread_mutex_lock(&store->mutex);
    const mk_code rc = mk_commit__flush(store, err);
    pthread_mutex_unlock(&store->mutex);
    return rc;
}

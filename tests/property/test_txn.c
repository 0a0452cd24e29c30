/* Transactions, request ids, reserved names and the commit listener, one thread at a time; the tests with
 * several threads are in test_txn_threads.c. Sources: toki spec, 8.1 to 8.5; decisions.md 2 and 3. */
#include "store/record.h"
#include "store_fixture.h"

static mk_txn *begin(fixture *f, mk_isolation isolation)
{
    mk_txn *txn = NULL;
    mk_err err;
    MUST_OK(mk_txn_begin(f->store, isolation, 0, &txn, &err), err);
    return txn;
}

static void reads(mk_txn *txn, const char *uid, int64_t vt_s, int64_t vt_e)
{
    const mk_op op = node_op(uid, "{}", 0, 1);
    assert_int_equal(mk_txn_read(txn, &op, (mk_vt){vt_s}, (mk_vt){vt_e}, NULL), MK_OK);
}

static void writes(mk_txn *txn, mk_op op) { assert_int_equal(mk_txn_write(txn, &op, NULL), MK_OK); }

/* Commits and ends; the tt is 0 on failure. A failure must have logged nothing. */
static mk_code finish(fixture *f, mk_txn *txn, mk_tt *tt, mk_err *err)
{
    const mk_tt last = mk_store_last_tt(f->store);
    const uint64_t frames = mk_store_log_frames(f->store);
    mk_tt mine = {0};
    const mk_code rc = mk_txn_commit(txn, NULL, &mine, err);
    mk_txn_end(txn);
    if (rc != MK_OK) {
        assert_int_equal(mk_store_log_frames(f->store), frames);
        assert_int_equal(mk_store_last_tt(f->store).us, last.us);
    } else {
        assert_int_equal(mk_store_last_tt(f->store).us, mine.us);
        assert_true(mine.us > last.us);
    }
    if (tt != NULL)
        *tt = mine;
    return rc;
}

static void refused(fixture *f, mk_txn *txn, mk_code code, mk_tt first)
{
    mk_err err;
    char expected[48];
    assert_int_equal(finish(f, txn, NULL, &err), code);
    assert_int_equal(err.code, code);
    assert_int_equal(err.retry, MK_RETRY_AS_IS);
    assert_true(err.hint[0] != 0);
    snprintf(expected, sizeof expected, "\"tt\":%lld", (long long)first.us);
    assert_string_equal(err.extra, expected);
}

static mk_tt accepted(fixture *f, mk_txn *txn)
{
    mk_err err;
    mk_tt tt;
    if (finish(f, txn, &tt, &err) != MK_OK)
        fail_msg("refused: %s", err.message);
    return tt;
}

static mk_tt put(fixture *f, mk_op op) { return write_ops(f->store, &op, 1); }

static const mk_isolation both[] = {MK_ISO_SNAPSHOT, MK_ISO_SERIALIZABLE};

/* ---- isolation ---- */

static void test_txn__the_first_committer_wins(void **state)
{
    fixture *f = *state;
    put(f, node_op("n", "{\"m\":0}", 0, MK_OPEN_END));
    for (int i = 0; i < 2; i++) {
        mk_txn *a = begin(f, both[i]), *b = begin(f, both[i]);
        assert_int_equal(mk_txn_isolation(a), both[i]);
        writes(a, node_op("n", "{\"m\":1}", 0, MK_OPEN_END));
        writes(b, correct_node_op("n", "{\"m\":2}", 0, MK_OPEN_END));
        const mk_tt first = accepted(f, a);
        assert_int_equal(marker_of(mk_txn_view(b), MK_STR("n"), 1), i ? 1 : 0); /* its snapshot stays */
        refused(f, b, MK_E_WRITE_CONFLICT, first);
    }
}

static void test_txn__a_plain_write_conflicts_too(void **state)
{
    fixture *f = *state;
    put(f, node_op("n", "{}", 0, 100));
    mk_txn *a = begin(f, MK_ISO_SNAPSHOT);
    writes(a, node_op("n", "{}", 50, 60));
    const mk_tt first = put(f, retract_node_op("n", 55));
    refused(f, a, MK_E_WRITE_CONFLICT, first);
}

/* Two read both, each writes the other one. */
static mk_txn *skewed(fixture *f, mk_isolation isolation, const char *target)
{
    mk_txn *txn = begin(f, isolation);
    reads(txn, "x", 0, 100);
    reads(txn, "y", 0, 100);
    writes(txn, node_op(target, "{\"m\":0}", 0, 100));
    return txn;
}

static void test_txn__write_skew_passes_under_snapshot_only(void **state)
{
    fixture *f = *state;
    put(f, node_op("x", "{\"m\":1}", 0, 100));
    put(f, node_op("y", "{\"m\":1}", 0, 100));
    for (int i = 0; i < 2; i++) {
        mk_txn *a = skewed(f, both[i], "x"), *b = skewed(f, both[i], "y");
        const mk_tt first = accepted(f, a);
        if (both[i] == MK_ISO_SNAPSHOT)
            accepted(f, b);
        else
            refused(f, b, MK_E_SERIALIZATION, first);
    }
}

static void test_txn__intervals_that_do_not_overlap_do_not_conflict(void **state)
{
    fixture *f = *state;
    put(f, node_op("n", "{}", 0, 10));
    for (int i = 0; i < 2; i++) {
        mk_txn *a = begin(f, both[i]), *b = begin(f, both[i]), *c = begin(f, both[i]);
        reads(b, "n", 20, 30);
        reads(c, "n", 19, 21);
        writes(a, node_op("n", "{}", 10, 20));
        writes(b, node_op("n", "{}", 20, 30)); /* touching is not overlapping */
        writes(c, node_op("other", "{}", 0, 1));
        const mk_tt first = accepted(f, a), second = accepted(f, b);
        assert_true(first.us < second.us);
        if (both[i] == MK_ISO_SNAPSHOT)
            accepted(f, c);
        else
            refused(f, c, MK_E_SERIALIZATION, first);
    }
}

static void test_txn__edges_conflict_by_their_whole_identity(void **state)
{
    fixture *f = *state;
    mk_txn *a = begin(f, MK_ISO_SNAPSHOT), *b = begin(f, MK_ISO_SNAPSHOT), *c = begin(f, MK_ISO_SNAPSHOT);
    writes(a, edge_op("a", "b", "1", "{}", 0, 10));
    writes(b, edge_op("a", "b", "2", "{}", 0, 10));
    writes(c, edge_op("a", "b", "1", "{}", 9, 12));
    const mk_tt first = accepted(f, a);
    accepted(f, b);
    refused(f, c, MK_E_WRITE_CONFLICT, first);
}

static void test_txn__two_cannot_create_one_identity(void **state)
{
    fixture *f = *state;
    mk_txn *a = begin(f, MK_ISO_SNAPSHOT), *b = begin(f, MK_ISO_SNAPSHOT);
    writes(a, node_op("new", "{}", 0, 10));
    writes(b, node_op("new", "{}", 5, 20));
    const mk_tt first = accepted(f, a);
    refused(f, b, MK_E_WRITE_CONFLICT, first);
}

static void test_txn__having_read_that_something_is_absent_counts(void **state)
{
    fixture *f = *state;
    mk_txn *a = begin(f, MK_ISO_SERIALIZABLE), *b = begin(f, MK_ISO_SERIALIZABLE);
    reads(a, "absent", 0, 100);
    reads(b, "never", 0, 100);
    writes(a, node_op("p", "{}", 0, 1));
    writes(b, node_op("q", "{}", 0, 1));
    const mk_tt first = put(f, node_op("absent", "{}", 50, 60));
    refused(f, a, MK_E_SERIALIZATION, first);
    accepted(f, b);
}

static void test_txn__bulk_events_count_as_changes(void **state)
{
    fixture *f = *state;
    mk_event events[2] = {event_of("u", "v", 5), event_of("v", "u", 6)};
    mk_txn *a = begin(f, MK_ISO_SERIALIZABLE), *b = begin(f, MK_ISO_SNAPSHOT);
    reads(a, "u", 0, 100); /* the load makes its node */
    writes(a, node_op("p", "{}", 0, 1));
    writes(b, node_op("v", "{}", 0, 100));
    const mk_tt first = put(f, events_op(events, 2, 0));
    refused(f, a, MK_E_SERIALIZATION, first);
    refused(f, b, MK_E_WRITE_CONFLICT, first);
}

/* More touches than a summary lists: then everything counts as touched. */
static void test_txn__a_large_commit_touches_everything(void **state)
{
    fixture *f = *state;
    static mk_op ops[1200];
    static char uids[1200][16];
    for (int i = 0; i < 1200; i++) {
        snprintf(uids[i], sizeof uids[i], "u%d", i);
        ops[i] = node_op(uids[i], "{}", 0, 1);
    }
    mk_txn *a = begin(f, MK_ISO_SNAPSHOT), *b = begin(f, MK_ISO_SNAPSHOT), *c = begin(f, MK_ISO_SERIALIZABLE);
    mk_event event = event_of("g", "h", 1);
    writes(a, node_op("u1199", "{}", 0, 1));
    writes(b, events_op(&event, 1, 0)); /* carves nothing */
    reads(c, "u1198", 0, 1);
    writes(c, events_op(&event, 1, 0));
    const mk_tt first = write_ops(f->store, ops, 1200);
    refused(f, a, MK_E_WRITE_CONFLICT, first);
    accepted(f, b);
    refused(f, c, MK_E_SERIALIZATION, first);
}

static void test_txn__a_retraction_conflicts_over_what_it_ends(void **state)
{
    fixture *f = *state;
    put(f, node_op("n", "{}", 0, 100));
    mk_txn *a = begin(f, MK_ISO_SNAPSHOT), *b = begin(f, MK_ISO_SNAPSHOT), *c = begin(f, MK_ISO_SNAPSHOT);
    writes(a, retract_node_op("n", 40));
    writes(b, correct_node_op("n", "{}", 60, 70)); /* behind t, yet of the version that ends */
    writes(c, retract_node_op("n", 50));           /* not E_NOT_FOUND: the snapshot has it */
    const mk_tt first = accepted(f, a);
    refused(f, b, MK_E_WRITE_CONFLICT, first);
    refused(f, c, MK_E_WRITE_CONFLICT, first);
}

static void test_txn__a_scan_is_invalidated_by_any_commit(void **state)
{
    fixture *f = *state;
    mk_txn *a = begin(f, MK_ISO_SERIALIZABLE), *b = begin(f, MK_ISO_SNAPSHOT);
    mk_txn_read_all(a);
    mk_txn_read_all(b);
    writes(a, node_op("a", "{}", 0, 1));
    writes(b, node_op("b", "{}", 0, 1));
    const mk_tt first = put(f, node_op("elsewhere", "{}", 0, 1));
    refused(f, a, MK_E_SERIALIZATION, first);
    accepted(f, b);
    mk_txn *c = begin(f, MK_ISO_SERIALIZABLE);
    mk_txn_read_all(c);
    writes(c, node_op("a", "{}", 0, 1));
    accepted(f, c); /* nothing came between */
}

static void test_txn__one_that_only_reads_never_fails(void **state)
{
    fixture *f = *state;
    const mk_tt before = put(f, node_op("n", "{\"m\":7}", 0, 1));
    mk_txn *a = begin(f, MK_ISO_SERIALIZABLE);
    mk_tt tt = {0};
    reads(a, "n", 0, 1);
    mk_txn_read_all(a);
    put(f, node_op("n", "{\"m\":8}", 0, 1));
    const uint64_t frames = mk_store_log_frames(f->store);
    assert_int_equal(marker_of(mk_txn_view(a), MK_STR("n"), 0), 7);
    assert_int_equal(mk_txn_commit(a, NULL, &tt, NULL), MK_OK);
    assert_int_equal(tt.us, before.us);
    mk_txn_end(a);
    assert_int_equal(mk_store_log_frames(f->store), frames);
}

static void test_txn__one_that_fails_or_is_dropped_leaves_nothing(void **state)
{
    fixture *f = *state;
    char before[65], after[65];
    mk_err err;
    put(f, node_op("n", "{}", 0, 10));
    digest_of(f->store, before);
    mk_txn *dropped = begin(f, MK_ISO_SERIALIZABLE);
    writes(dropped, node_op("gone", "{}", 0, 1));
    mk_txn_end(dropped);
    mk_txn *failing = begin(f, MK_ISO_SERIALIZABLE);
    writes(failing, node_op("gone", "{}", 0, 1));
    writes(failing, retract_node_op("n", 10));
    assert_int_equal(finish(f, failing, NULL, &err), MK_E_NOT_FOUND);
    assert_string_equal(err.path, "ops[1]");
    mk_txn *malformed = begin(f, MK_ISO_SERIALIZABLE);
    writes(malformed, node_op("gone", "{}", 5, 5));
    assert_int_equal(finish(f, malformed, NULL, &err), MK_E_INVALID_ARG);
    digest_of(f->store, after);
    assert_string_equal(before, after);
    mk_txn_end(NULL);
}

static void test_txn__the_ops_are_copied(void **state)
{
    fixture *f = *state;
    mk_txn *txn = begin(f, MK_ISO_SERIALIZABLE);
    char uid[] = "mine", props[] = "{\"m\":5}", src[] = "s";
    mk_event event = event_of(src, src, 3);
    writes(txn, node_op(uid, props, 0, 10));
    writes(txn, events_op(&event, 1, 0));
    memset(uid, 'x', 4);
    memset(props, 'x', 7);
    src[0] = 'x';
    event.vt_s = 99;
    accepted(f, txn);
    mk_view *view;
    assert_int_equal(mk_view_at(f->store, now, 0, &view, NULL), MK_OK);
    assert_int_equal(marker_of(view, MK_STR("mine"), 1), 5);
    assert_true(mk_view_entity(view, MK_STR("s")) != MK_NO_ID);
    assert_true(mk_view_entity(view, MK_STR("x")) == MK_NO_ID);
    mk_view_close(view);
}

/* ---- the ring ---- */

static void replay_empty_batches(fixture *f, int count)
{
    mk_buf line;
    mk_err err, why;
    bool applied;
    int64_t tt = mk_store_last_tt(f->store).us;
    mk_buf_init(&line, &mk_alloc_default);
    for (int i = 0; i < count; i++) {
        const mk_op op = node_op("filler", "{}", i % 64, i % 64 + 1);
        mk_buf_clear(&line);
        MUST_OK(mk_record_write(&line, &op, 1, (mk_tt){++tt}, &err), err);
        MUST_OK(mk_store_replay_line(f->store, mk_buf_view(&line), false, &applied, &why, &err), err);
        MUST(applied);
    }
    MUST_OK(mk_store_replay_flush(f->store, &err), err);
    mk_buf_free(&line);
}

static void test_txn__a_snapshot_older_than_the_ring_is_refused(void **state)
{
    fixture *f = *state;
    mk_err err;
    put(f, node_op("n", "{}", 0, 1));
    mk_txn *a = begin(f, MK_ISO_SERIALIZABLE), *b = begin(f, MK_ISO_SERIALIZABLE);
    reads(a, "n", 0, 1);
    writes(a, node_op("n", "{}", 0, 1));
    writes(b, node_op("m", "{}", 0, 1));
    replay_empty_batches(f, 65536);
    accepted(f, a); /* the ring holds just these */
    assert_int_equal(finish(f, b, NULL, &err), MK_E_SNAPSHOT_TOO_OLD);
    assert_int_equal(err.retry, MK_RETRY_AS_IS);
    mk_txn *c = begin(f, MK_ISO_SERIALIZABLE);
    writes(c, node_op("m", "{}", 0, 1));
    accepted(f, c);
}

/* ---- the validation hook ---- */

typedef struct hook {
    int calls;
    bool refuse;
    mk_tt seen;
} hook;

static mk_code judge(void *ctx, mk_store *store, mk_err *err)
{
    hook *h = ctx;
    mk_view *view;
    h->calls++;
    MUST(mk_view_at(store, now, 0, &view, NULL) == MK_OK);
    h->seen = mk_view_effective_tt(view);
    mk_view_close(view);
    return h->refuse ? mk_fail(err, MK_E_ISOLATION, "not like this") : MK_OK;
}

static void test_txn__the_hook_can_refuse_before_anything_is_staged(void **state)
{
    fixture *f = *state;
    hook h = {.refuse = true};
    const mk_write_options options = {.validate = judge, .validate_ctx = &h};
    char before[65], after[65];
    mk_err err;
    const mk_op op = node_op("n", "{}", 0, 1);
    const mk_tt last = put(f, node_op("m", "{}", 0, 1));
    digest_of(f->store, before);
    assert_int_equal(mk_store_write(f->store, &op, 1, &options, NULL, &err), MK_E_ISOLATION);
    assert_string_equal(err.message, "not like this");
    digest_of(f->store, after);
    assert_string_equal(before, after);
    assert_int_equal(h.seen.us, last.us);
    h.refuse = false;
    assert_int_equal(mk_store_write(f->store, &op, 1, &options, NULL, &err), MK_OK);
    assert_int_equal(h.calls, 2);
}

static void test_txn__the_hook_runs_after_the_conflict_check(void **state)
{
    fixture *f = *state;
    hook h = {.refuse = true};
    const mk_write_options options = {.validate = judge, .validate_ctx = &h};
    mk_err err;
    mk_txn *a = begin(f, MK_ISO_SNAPSHOT), *b = begin(f, MK_ISO_SNAPSHOT);
    writes(a, node_op("a", "{}", 0, 1));
    writes(b, node_op("b", "{}", 0, 1));
    put(f, node_op("a", "{}", 0, 1));
    assert_int_equal(mk_txn_commit(a, &options, NULL, &err), MK_E_WRITE_CONFLICT);
    assert_int_equal(h.calls, 0);
    assert_int_equal(mk_txn_commit(b, &options, NULL, &err), MK_E_ISOLATION);
    assert_int_equal(h.calls, 1);
    mk_txn_end(a);
    mk_txn_end(b);
}

/* ---- request ids ---- */

static mk_code request(fixture *f, const char *id, mk_op op, mk_tt *tt, mk_err *err)
{
    const mk_write_options options = {.request_id = mk_str_of(id)};
    return mk_store_write(f->store, &op, 1, &options, tt, err);
}

static void check_repeat(fixture *f, const char *id, mk_tt first)
{
    char before[65], after[65];
    mk_tt again = {0};
    mk_err err;
    const uint64_t frames = mk_store_log_frames(f->store);
    digest_of(f->store, before);
    MUST_OK(request(f, id, node_op("n", "{\"m\":9}", 0, 50), &again, &err), err);
    assert_int_equal(again.us, first.us);
    digest_of(f->store, after);
    assert_string_equal(before, after);
    assert_int_equal(mk_store_log_frames(f->store), frames);
}

static void test_txn__a_repeated_request_returns_the_first_time(void **state)
{
    fixture *f = *state;
    mk_tt one = {0}, two = {0};
    mk_err err;
    MUST_OK(request(f, "r1", node_op("n", "{\"m\":1}", 0, 50), &one, &err), err);
    MUST_OK(request(f, "r2", node_op("n", "{\"m\":2}", 0, 50), &two, &err), err);
    assert_true(one.us < two.us);
    for (int round = 0; round < 4; round++) {
        check_repeat(f, "r1", one);
        check_repeat(f, "r2", two);
        if (round == 0)
            assert_int_equal(mk_store_checkpoint(f->store, &err), MK_OK);
        if (round == 2)
            assert_int_equal(mk_store_compact(f->store, &err), MK_OK);
        reopen(f, round == 1); /* from the log, from the checkpoint, from the log alone */
    }
}

static void test_txn__requests_survive_replay_elsewhere(void **state)
{
    fixture *f = *state;
    mk_tt first = {0};
    mk_err err;
    char copy[TMPDIR_PATH_MAX], ours[65], theirs[65];
    MUST_OK(request(f, "r", node_op("n", "{\"m\":1}", 0, 50), &first, &err), err);
    digest_of(f->store, ours);
    replay_digest(f->path, tmpdir_join(&f->dir, "copy", copy), theirs);
    assert_string_equal(ours, theirs);
    close_store(f->store);
    f->store = open_store(copy, (mk_store_options){.mode = MK_OPEN_WRITER, .manual = true});
    check_repeat(f, "r", first);
}

static void test_txn__a_failed_request_may_be_tried_again(void **state)
{
    fixture *f = *state;
    mk_tt tt = {0}, again = {0};
    mk_err err;
    assert_int_equal(request(f, "r", retract_node_op("n", 1), &tt, &err), MK_E_NOT_FOUND);
    assert_int_equal(tt.us, 0);
    put(f, node_op("n", "{\"m\":0}", 0, 5));
    MUST_OK(request(f, "r", retract_node_op("n", 1), &tt, &err), err);
    assert_int_equal(mk_store_last_tt(f->store).us, tt.us);
    MUST_OK(request(f, "r", retract_node_op("n", 1), &again, &err), err);
    assert_int_equal(again.us, tt.us);
    assert_int_equal(request(f, "\xff", retract_node_op("n", 0), &tt, &err), MK_E_INVALID_ARG);
}

static void test_txn__a_repeated_transaction_is_not_validated_again(void **state)
{
    fixture *f = *state;
    const mk_write_options options = {.request_id = MK_STR("once")};
    mk_tt tt[2] = {{0}, {0}};
    mk_err err;
    mk_txn *txns[2] = {begin(f, MK_ISO_SERIALIZABLE), begin(f, MK_ISO_SERIALIZABLE)};
    for (int i = 0; i < 2; i++) {
        reads(txns[i], "n", 0, 1);
        writes(txns[i], node_op("n", "{}", 0, 1));
        MUST_OK(mk_txn_commit(txns[i], &options, &tt[i], &err), err);
        mk_txn_end(txns[i]);
    }
    assert_int_equal(tt[0].us, tt[1].us);
}

/* ---- the listener ---- */

typedef struct heard {
    size_t count;
    mk_tt last;
    uint32_t seq;
    size_t touches, ended;
    bool all;
} heard;

static void listen(void *ctx, const mk_commit *commit)
{
    heard *h = ctx;
    MUST(commit->tt.us > h->last.us && commit->seq == h->seq + 1);
    *h = (heard){h->count + 1, commit->tt, commit->seq, commit->touch_count, 0, commit->touches_all};
    for (size_t i = 0; i < commit->touch_count; i++) {
        MUST(commit->touches[i].vt_s.us < commit->touches[i].vt_e.us);
        h->ended += commit->touches[i].ended;
    }
}

static void test_txn__the_listener_hears_every_commit_in_order(void **state)
{
    fixture *f = *state;
    heard h = {0};
    mk_err err;
    const mk_op bad = retract_node_op("nobody", 1);
    mk_store_listen(f->store, listen, &h);
    const mk_tt first = put(f, node_op("n", "{}", 0, 100));
    assert_int_equal(h.last.us, first.us);
    assert_int_equal(h.touches, 1);
    assert_int_equal(h.ended, 0);
    put(f, correct_node_op("n", "{}", 40, 60));
    assert_int_equal(h.touches, 4); /* one ended, two left over, one new */
    assert_int_equal(h.ended, 1);
    assert_int_equal(mk_store_write(f->store, &bad, 1, NULL, NULL, &err), MK_E_NOT_FOUND);
    assert_int_equal(h.count, 2);
    mk_txn *txn = begin(f, MK_ISO_SERIALIZABLE);
    writes(txn, node_op("m", "{}", 0, 1));
    accepted(f, txn);
    assert_int_equal(h.count, 3);
    assert_false(h.all);
    mk_store_listen(f->store, NULL, NULL);
    put(f, node_op("n", "{}", 0, 1));
    assert_int_equal(h.count, 3);
}

/* ---- reserved names ---- */

static const char *const reserved[] = {"tk:a", "okf:c:b", "mn:c"};

static void refuse_op(fixture *f, mk_op op, const char *path)
{
    mk_err err;
    const uint64_t frames = mk_store_log_frames(f->store);
    assert_int_equal(mk_store_write(f->store, &op, 1, NULL, NULL, &err), MK_E_INVALID_ARG);
    assert_string_equal(err.path, path);
    assert_int_equal(mk_store_log_frames(f->store), frames);
}

static void test_txn__reserved_names_are_refused_in_every_place(void **state)
{
    fixture *f = *state;
    for (size_t i = 0; i < 3; i++) {
        const char *uid = reserved[i];
        mk_event events[2] = {event_of("a", "b", 1), event_of(uid, "b", 1)};
        mk_op edge_ref = edge_op("a", uid, "", "", 0, 0);
        edge_ref.kind = MK_OP_RETRACT;
        refuse_op(f, node_op(uid, "{}", 0, 1), "ops[0].uid");
        refuse_op(f, edge_op(uid, "b", "", "{}", 0, 1), "ops[0].src");
        refuse_op(f, edge_op("a", uid, "", "{}", 0, 1), "ops[0].dst");
        refuse_op(f, retract_node_op(uid, 0), "ops[0].ref.uid");
        refuse_op(f, correct_node_op(uid, "{}", 0, 1), "ops[0].ref.uid");
        refuse_op(f, edge_ref, "ops[0].ref.dst");
        refuse_op(f, events_op(events, 2, 0), "ops[0].events[1].src");
        events[1] = event_of("b", uid, 1);
        refuse_op(f, events_op(events, 2, 0), "ops[0].events[1].dst");
    }
    put(f, node_op("tk", "{}", 0, 1));
    put(f, node_op("TK:x", "{}", 0, 1));
    put(f, node_op("xmn:x", "{}", 0, 1));
}

/* What one mask shows of a store with one user, one entity of each class, edges from the user to all of
 * them, and a loop at each. */
typedef struct sight {
    size_t nodes, edges, of_user;
    bool found[4];
    mk_view_stats stats;
    size_t rel_count;
} sight;

static sight look(fixture *f, mk_tt as_of, unsigned mask)
{
    static const char *const uids[] = {"u", "tk:a", "okf:c:b", "mn:c"};
    mk_view *view;
    mk_arena arena;
    mk_err err;
    mk_rel_count *rels;
    size_t count;
    sight s = {0};
    mk_arena_init(&arena, &mk_alloc_default);
    MUST_OK(mk_view_at(f->store, as_of, mask, &view, &err), err);
    shown all = {.view = view, .arena = &arena};
    for (uint32_t id = 0; id < mk_view_entity_count(view); id++) {
        mk_node_ref *refs, ref;
        bool found;
        size_t kind = 0;
        while (!mk_str_eq(mk_view_uid(view, id), mk_str_of(uids[kind])))
            kind++;
        s.found[kind] = mk_view_entity(view, mk_str_of(uids[kind])) != MK_NO_ID;
        assert_int_equal(mk_view_entity_visible(view, id), s.found[kind]);
        MUST_OK(mk_view_node_refs(view, &arena, id, &refs, &count, &err), err);
        assert_int_equal(count, s.found[kind]);
        MUST_OK(mk_view_node_at(view, id, (mk_vt){1}, &ref, &found, &err), err);
        assert_int_equal(found, s.found[kind]);
        all.edge_count = 0;
        MUST_OK(mk_view_edges_of(view, id, &mk_edge_filter_all, keep_edge, &all, &err), err);
        if (kind == 0)
            s.of_user = all.edge_count;
        else if (!s.found[kind])
            assert_int_equal(all.edge_count, 0);
    }
    all.edge_count = 0;
    MUST_OK(mk_view_edges(view, &mk_edge_filter_all, keep_edge, &all, &err), err);
    MUST_OK(mk_view_nodes(view, INT64_MIN, INT64_MAX, keep_node, &all, &err), err);
    s.edges = all.edge_count;
    s.nodes = all.node_count;
    mk_view_get_stats(view, &s.stats);
    MUST_OK(mk_view_rel_counts(view, &arena, &rels, &count, &err), err);
    for (size_t i = 0; i < count; i++)
        s.rel_count += rels[i].count;
    shown_free(&all);
    mk_view_close(view);
    mk_arena_free(&arena);
    return s;
}

static void check_masks(fixture *f, mk_tt as_of)
{
    const sight user = look(f, as_of, 0), every = look(f, as_of, 15);
    assert_true(user.found[0] && !user.found[1] && !user.found[2] && !user.found[3]);
    assert_int_equal(user.nodes, 1);
    assert_int_equal(user.edges, 1);
    assert_int_equal(user.of_user, 1);
    assert_int_equal(user.stats.entities, 1);
    assert_int_equal(user.stats.node_versions, 1);
    assert_int_equal(user.stats.edge_versions, 1);
    assert_int_equal(user.stats.max_out_degree, 1);
    assert_int_equal(user.stats.vt_max, 10);
    assert_int_equal(user.rel_count, 1);
    assert_int_equal(every.nodes, 4);
    assert_int_equal(every.edges, 7);
    assert_int_equal(every.of_user, 4);
    assert_int_equal(every.stats.entities, 4);
    assert_int_equal(every.stats.edge_versions, 7);
    assert_int_equal(every.stats.max_out_degree, 4);
    assert_int_equal(every.stats.vt_max, 20);
    assert_int_equal(every.rel_count, 7);
    for (unsigned class = 1; class < 4; class++) {
        const sight part = look(f, as_of, MK_SHOW_USER | 1u << class);
        for (unsigned other = 0; other < 4; other++)
            assert_int_equal(part.found[other], other == 0 || other == class);
        assert_int_equal(part.nodes, 2);
        assert_int_equal(part.edges, 3);
        assert_int_equal(part.of_user, 2);
        assert_int_equal(part.stats.entities, 2);
        assert_int_equal(part.stats.edge_versions, 3);
        assert_int_equal(part.rel_count, 3);
    }
}

static void test_txn__reserved_names_are_seen_through_the_mask_only(void **state)
{
    fixture *f = *state;
    const mk_write_options allow = {.allow_reserved = true};
    mk_op ops[11];
    size_t n = 0;
    mk_err err;
    mk_tt tt;
    ops[n++] = node_op("u", "{}", 0, 10);
    ops[n++] = edge_op("u", "u", "", "{}", 0, 10);
    for (size_t i = 0; i < 3; i++) {
        ops[n++] = node_op(reserved[i], "{}", 0, 20);
        ops[n++] = edge_op("u", reserved[i], "", "{}", 0, 20);
        ops[n++] = edge_op(reserved[i], reserved[i], "", "{}", 0, 20);
    }
    MUST_OK(mk_store_write(f->store, ops, n, &allow, &tt, &err), err);
    check_masks(f, now); /* in the tail */
    assert_int_equal(mk_store_compact(f->store, &err), MK_OK);
    check_masks(f, now); /* in segments */
    assert_int_equal(mk_store_checkpoint(f->store, &err), MK_OK);
    reopen(f, false);
    check_masks(f, now);
    check_masks(f, tt);
    reopen(f, true);
    check_masks(f, now);
}

/* The request id is an entity of the notes class. */
static void test_txn__request_ids_do_not_show(void **state)
{
    fixture *f = *state;
    mk_tt tt;
    mk_err err;
    mk_view *view;
    MUST_OK(request(f, "r", node_op("u", "{}", 0, 10), &tt, &err), err);
    for (unsigned mask = 1; mask < 16; mask++) {
        MUST_OK(mk_view_at(f->store, now, mask, &view, &err), err);
        const bool shown_now = mk_view_entity(view, MK_STR("mn:req:r")) != MK_NO_ID;
        assert_int_equal(shown_now, (mask & MK_SHOW_NOTES) != 0);
        mk_view_close(view);
    }
}

static void test_txn__a_reader_cannot_begin_one(void **state)
{
    fixture *f = *state;
    mk_txn *txn = NULL;
    mk_err err;
    mk_store *reader = open_store(f->path, (mk_store_options){.mode = MK_OPEN_READER});
    assert_int_equal(mk_txn_begin(reader, MK_ISO_SNAPSHOT, 0, &txn, &err), MK_E_STATE);
    assert_string_equal(err.reason, "read_only_handle");
    assert_null(txn);
    close_store(reader);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_txn__##name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_first_committer_wins),
        TEST(a_plain_write_conflicts_too),
        TEST(write_skew_passes_under_snapshot_only),
        TEST(intervals_that_do_not_overlap_do_not_conflict),
        TEST(edges_conflict_by_their_whole_identity),
        TEST(two_cannot_create_one_identity),
        TEST(having_read_that_something_is_absent_counts),
        TEST(bulk_events_count_as_changes),
        TEST(a_large_commit_touches_everything),
        TEST(a_retraction_conflicts_over_what_it_ends),
        TEST(a_scan_is_invalidated_by_any_commit),
        TEST(one_that_only_reads_never_fails),
        TEST(one_that_fails_or_is_dropped_leaves_nothing),
        TEST(the_ops_are_copied),
        TEST(a_snapshot_older_than_the_ring_is_refused),
        TEST(the_hook_can_refuse_before_anything_is_staged),
        TEST(the_hook_runs_after_the_conflict_check),
        TEST(a_repeated_request_returns_the_first_time),
        TEST(requests_survive_replay_elsewhere),
        TEST(a_failed_request_may_be_tried_again),
        TEST(a_repeated_transaction_is_not_validated_again),
        TEST(the_listener_hears_every_commit_in_order),
        TEST(reserved_names_are_refused_in_every_place),
        TEST(reserved_names_are_seen_through_the_mask_only),
        TEST(request_ids_do_not_show),
        TEST(a_reader_cannot_begin_one),
    };
    return cmocka_run_group_tests_name("txn", tests, NULL, NULL);
}

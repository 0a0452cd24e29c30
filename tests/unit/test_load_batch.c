/* Batches: sizes, order, discriminators, what the store refuses, endpoints, memory that runs out. */
#include "test_load_support.h"

#include "load/batch_internal.h"

/* A store that writes down its batches and refuses what it is told to refuse. */
typedef struct fake {
    mk_buf out;
    int64_t tt, next_disc;
    const char *refused; /* uid that the door refuses */
    const char *known;   /* uid that is a node */
    int fail_at;         /* write call that fails for no row's sake; 0: none */
    int writes;
} fake;

static mk_code refuse(mk_err *err, const char *path)
{
    mk_fail(err, MK_E_INVALID_ARG, "reserved uid");
    mk_err_path(err, "%s", path);
    return MK_E_INVALID_ARG;
}

static mk_code fake_write(void *ctx, const mk_op *ops, size_t count, mk_tt *tt, mk_err *err)
{
    fake *f = ctx;
    char path[64];

    if (++f->writes == f->fail_at)
        return mk_fail(err, MK_E_STATE, "no space");
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; ops[i].kind == MK_OP_INGEST_EVENTS && k < ops[i].event_count; k++) {
            snprintf(path, sizeof path, "ops[%zu].events[%zu].src", i, k);
            if (f->refused != NULL && mk_str_eq(ops[i].events[k].src, mk_str_of(f->refused)))
                return refuse(err, path);
        }
        snprintf(path, sizeof path, "ops[%zu].uid", i);
        if (f->refused != NULL && mk_str_eq(ops[i].uid, mk_str_of(f->refused)))
            return refuse(err, path);
    }
    for (size_t i = 0; i < count; i++) {
        if (ops[i].kind == MK_OP_INGEST_EVENTS) {
            mk_buf_printf(&f->out, "events +%lld:", (long long)ops[i].offset);
            for (size_t k = 0; k < ops[i].event_count; k++)
                mk_buf_printf(&f->out, " %.*s>%.*s", MK_STR_ARG(ops[i].events[k].src),
                              MK_STR_ARG(ops[i].events[k].dst));
        } else if (ops[i].kind == MK_OP_ASSERT_NODE) {
            mk_buf_printf(&f->out, "node %.*s", MK_STR_ARG(ops[i].uid));
        } else {
            mk_buf_printf(&f->out, "edge %.*s>%.*s", MK_STR_ARG(ops[i].src), MK_STR_ARG(ops[i].dst));
        }
        mk_buf_z(&f->out, i + 1 < count ? ", " : "\n");
    }
    tt->us = ++f->tt;
    return MK_OK;
}

static int64_t fake_next_disc(void *ctx)
{
    return ((fake *)ctx)->next_disc;
}

static mk_code fake_has_node(void *ctx, mk_str uid, bool *has, mk_err *err)
{
    const fake *f = ctx;

    (void)err;
    *has = f->known != NULL && mk_str_eq(uid, mk_str_of(f->known));
    return MK_OK;
}

typedef struct bench {
    rig r;
    fake f;
    mk_load_target target;
    mk_batcher batcher;
} bench;

static void begin(bench *b)
{
    memset(b, 0, sizeof *b);
    rig_init(&b->r);
    b->r.options.prefix = "";
    mk_buf_init(&b->f.out, &mk_alloc_default);
}

static mk_code run(bench *b, const char *text)
{
    b->target = (mk_load_target){.ctx = &b->f,
                                 .write = fake_write,
                                 .next_disc = fake_next_disc,
                                 .has_node = fake_has_node};
    rig_open(&b->r, mk_str_of(text), 0);
    mk_batcher__init(&b->batcher, &b->r.load);
    b->r.load.sink = &b->batcher.sink;
    b->r.reader.sink = &b->batcher.sink;
    b->r.load.target = &b->target;
    mk_code rc = text[0] == '{' ? mk_load__jsonl(&b->r.load, &b->r.err)
                                : mk_load__edges(&b->r.load, &b->r.err);
    if (rc == MK_OK)
        rc = b->batcher.sink.flush(&b->batcher.sink, &b->r.err);
    return rc;
}

static const char *written(bench *b)
{
    mk_buf_c(&b->f.out, '\0');
    b->f.out.n--;
    return b->f.out.p;
}

static void end(bench *b)
{
    mk_batcher__free(&b->batcher);
    mk_buf_free(&b->f.out);
    rig_free(&b->r);
}

static void test_load_batch__discriminators_continue_from_batch_to_batch(void **state)
{
    (void)state;
    bench b;

    begin(&b);
    b.r.options.batch_events = 2;
    b.f.next_disc = 7;
    assert_int_equal(run(&b, "a b 1\nc d 2\ne f 3\ng h 4\ni j 5\n"), MK_OK);
    assert_string_equal(written(&b), "events +7: a>b c>d\nevents +9: e>f g>h\nevents +11: i>j\n");
    assert_int_equal(b.r.report.batches, 3);
    assert_int_equal(b.r.report.events, 5);
    assert_int_equal(b.r.report.first_tt.us, 1);
    assert_int_equal(b.r.report.last_tt.us, 3);
    assert_int_equal(b.r.report.done_line, 5);
    end(&b);
}

static void test_load_batch__a_bad_row_drops_the_batch_it_is_in(void **state)
{
    (void)state;
    bench b;

    begin(&b);
    b.r.options.batch_events = 2;
    assert_int_equal(run(&b, "a b 1\nc d 2\ne f 3\nbad\n"), MK_E_INVALID_ARG);
    assert_string_equal(written(&b), "events +0: a>b c>d\n");
    assert_int_equal(b.r.report.done_line, 2);
    assert_string_equal(b.r.err.path, "in.txt:4");
    end(&b);
}

static void test_load_batch__a_refused_row_is_told_by_its_line(void **state)
{
    (void)state;
    bench b;

    begin(&b);
    b.f.refused = "tk:x";
    assert_int_equal(run(&b, "a b 1\n# comment\ntk:x d 2\ne f 3\n"), MK_E_INVALID_ARG);
    assert_string_equal(b.r.err.path, "in.txt:3");
    assert_string_equal(b.r.err.message, "reserved uid");
    assert_int_equal(b.r.report.batches, 0);
    end(&b);
    begin(&b);
    b.f.refused = "tk:x";
    b.r.options.skip_bad = 2;
    assert_int_equal(run(&b, "a b 1\n# comment\ntk:x d 2\ne f 3\ntk:x y 4\n"), MK_OK);
    assert_string_equal(written(&b), "events +0: a>b e>f\n");
    assert_int_equal(b.r.report.skipped, 2);
    assert_int_equal(b.r.report.events, 2);
    assert_string_equal(b.r.report.bad[0].path, "in.txt:3");
    assert_string_equal(b.r.report.bad[1].path, "in.txt:5");
    end(&b);
    begin(&b);
    b.f.refused = "tk:x";
    b.r.options.skip_bad = 9;
    assert_int_equal(run(&b, "tk:x b 1\n"), MK_OK);
    assert_int_equal(b.r.report.batches, 0);
    end(&b);
}

static void test_load_batch__a_store_that_fails_is_not_blamed_on_a_row(void **state)
{
    (void)state;
    bench b;

    begin(&b);
    b.f.fail_at = 2;
    b.r.options.batch_events = 2;
    b.r.options.skip_bad = 100;
    assert_int_equal(run(&b, "a b 1\nc d 2\ne f 3\ng h 4\n"), MK_E_STATE);
    assert_int_equal(b.r.report.done_line, 2);
    assert_int_equal(b.r.report.skipped, 0);
    end(&b);
}

#define EVENT(s, d) "{\"src\":\"" s "\",\"dst\":\"" d "\",\"rel_type\":\"R\",\"vt_s\":5}\n"
#define NODE(u) "{\"op\":\"assert_node\",\"uid\":\"" u "\",\"label\":\"N\",\"vt_s\":1,\"vt_e\":9}\n"
#define EDGE(s, d)                                                                                 \
    "{\"op\":\"assert_edge\",\"src\":\"" s "\",\"dst\":\"" d "\",\"rel_type\":\"R\",\"vt_s\":1,\"vt_e\":9}\n"

static void test_load_batch__order_is_kept_between_events_and_ops(void **state)
{
    (void)state;
    bench b;

    begin(&b);
    assert_int_equal(run(&b, EVENT("a", "b") EVENT("c", "d") NODE("x") NODE("y") EVENT("e", "f")
                                 NODE("z") EVENT("g", "h")),
                     MK_OK);
    assert_string_equal(written(&b), "events +0: a>b c>d\nnode x, node y\nevents +2: e>f\nnode z\n"
                                     "events +3: g>h\n");
    assert_int_equal(b.r.report.ops, 3);
    assert_int_equal(b.r.report.batches, 5);
    end(&b);
    begin(&b);
    b.r.options.batch_ops = 2;
    assert_int_equal(run(&b, NODE("x") NODE("y") NODE("z")), MK_OK);
    assert_string_equal(written(&b), "node x, node y\nnode z\n");
    end(&b);
}

static void test_load_batch__endpoints_are_made_once_and_only_when_unknown(void **state)
{
    (void)state;
    bench b;

    begin(&b);
    b.r.options.create_endpoints = true;
    b.f.known = "old";
    assert_int_equal(run(&b, NODE("x") EDGE("x", "y") EDGE("old", "y") EDGE("z", "z")), MK_OK);
    assert_string_equal(written(&b),
                        "node x, node y, edge x>y, edge old>y, node z, edge z>z\n");
    end(&b);
}

static void test_load_batch__many_blocks_stay_readable_until_the_batch_is_written(void **state)
{
    (void)state;
    bench b;
    mk_buf text, want;

    /* 3 MB of lines in one batch: the reader must not reuse a block that events point into. */
    mk_buf_init(&text, &mk_alloc_default);
    mk_buf_init(&want, &mk_alloc_default);
    mk_buf_z(&want, "events +0:");
    for (int i = 0; i < 40000; i++) {
        mk_buf_printf(&text, "left_%035d right_%d 1082040961\n", i, i);
        mk_buf_printf(&want, " left_%035d>right_%d", i, i);
    }
    mk_buf_z(&want, "\n");
    mk_buf_c(&text, '\0');
    begin(&b);
    assert_int_equal(run(&b, text.p), MK_OK);
    assert_int_equal(b.f.out.n, want.n);
    assert_memory_equal(b.f.out.p, want.p, want.n);
    end(&b);
    mk_buf_free(&text);
    mk_buf_free(&want);
}

/* ---- memory that runs out ---- */

typedef struct counting {
    long left; /* allocations until failure */
    long live;
} counting;

static void *counting_resize(void *ctx, void *p, size_t old_size, size_t new_size)
{
    counting *c = ctx;

    if (new_size > 0 && c->left-- <= 0)
        return NULL;
    c->live += (p == NULL) - (p != NULL && new_size == 0);
    return mk_alloc_default.resize(mk_alloc_default.ctx, p, old_size, new_size);
}

static void test_load_batch__every_allocation_may_fail(void **state)
{
    (void)state;
    bool failed = true;

    for (long n = 0; failed && n < 200; n++) {
        counting c = {.left = n};
        const mk_alloc alloc = {counting_resize, &c};
        mk_load_options options = {.path = "x", .alloc = &alloc, .create_endpoints = true, .prefix = "ab"};
        mk_load_report report = {0};
        fake f = {.fail_at = 0};
        mk_load_target target = {.ctx = &f, .write = fake_write, .next_disc = fake_next_disc,
                                 .has_node = fake_has_node};
        mk_load load;
        mk_batcher batcher;
        mk_load_reader reader;
        mk_load_memory memory = {.text = mk_str_of(EVENT("a", "b") EDGE("c", "d") EVENT("e", "f"))};
        mk_err err;
        mk_buf_init(&f.out, &mk_alloc_default);
        mk_load__init(&load, &options, &report);
        mk_batcher__init(&batcher, &load);
        mk_load__reader_init(&reader, &alloc, mk_load__memory_read, &memory, &batcher.sink);
        load.reader = &reader;
        load.sink = &batcher.sink;
        load.target = &target;
        mk_code rc = mk_load__jsonl(&load, &err);
        if (rc == MK_OK)
            rc = batcher.sink.flush(&batcher.sink, &err);
        failed = rc != MK_OK;
        if (failed)
            assert_int_equal(rc, MK_E_NOMEM);
        mk_load__reader_free(&reader);
        mk_batcher__free(&batcher);
        mk_load__free(&load);
        mk_buf_free(&f.out);
        assert_int_equal(c.live, 0);
    }
    assert_false(failed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_load_batch__discriminators_continue_from_batch_to_batch),
        cmocka_unit_test(test_load_batch__a_bad_row_drops_the_batch_it_is_in),
        cmocka_unit_test(test_load_batch__a_refused_row_is_told_by_its_line),
        cmocka_unit_test(test_load_batch__a_store_that_fails_is_not_blamed_on_a_row),
        cmocka_unit_test(test_load_batch__order_is_kept_between_events_and_ops),
        cmocka_unit_test(test_load_batch__endpoints_are_made_once_and_only_when_unknown),
        cmocka_unit_test(test_load_batch__many_blocks_stay_readable_until_the_batch_is_written),
        cmocka_unit_test(test_load_batch__every_allocation_may_fail),
    };

    return cmocka_run_group_tests_name("load_batch", tests, NULL, NULL);
}

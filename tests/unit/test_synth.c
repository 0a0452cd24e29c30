/* test_synth.c — made data is the specification's, to the byte, and what the manifest says is there.
 *
 * Goal: whoever names a kind, its parameters and a seed gets the same data on any machine. Method: the
 * vectors and file hashes of the specifications; numbers that the reference's language draws; digests of
 * stores written batch by batch; for our own kind, the truth in the manifest looked up in the data. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../support/testalloc.h"
#include "../support/tmpdir.h"
#include "base/sha256.h"
#include "load/synth.h"
#include "load/synth_random.h"
#include "store/record.h"
#include "store/view.h"

/* ---- random numbers ---- */

static mk_random seeded(uint64_t seed)
{
    mk_random random;
    mk_random_seed(&random, seed);
    return random;
}

static void test_synth__random_words_are_those_of_the_twister(void **state)
{
    static const struct {
        uint64_t seed;
        uint32_t words[3];
    } vectors[] = {
        {0, {3626764237, 1654615998, 3255389356}},
        {1, {577090037, 2444712010, 3639700191}},
        {0x9E3779B9, {1505723179, 3535647496, 1696967017}},
        {UINT64_C(1) << 32, {485306839, 1508871100, 1794561286}}, /* the key has two words */
        {INT64_MAX, {1359979423, 2819855560, 2711238091}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        mk_random random = seeded(vectors[i].seed);
        for (int k = 0; k < 3; k++)
            assert_int_equal(mk_random_u32(&random), vectors[i].words[k]);
    }
    mk_random random = seeded(9);
    for (int i = 1; i < 2000; i++)
        mk_random_u32(&random);
    assert_int_equal(mk_random_u32(&random), 1592179525); /* behind several twists */
}

static void test_synth__random_draws_are_the_reference_languages(void **state)
{
    (void)state;
    mk_random random = seeded(0);
    assert_true(mk_random_unit(&random) == 0.8444218515250481);

    random = seeded(0);
    assert_int_equal(mk_random_below(&random, 10), 6);

    static const uint64_t tens[] = {2, 9, 1, 4, 1, 7, 7, 7};
    random = seeded(1);
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(mk_random_below(&random, 10), tens[i]);

    static const unsigned widths[] = {1, 31, 33, 47, 64};
    static const uint64_t bits[] = {1, 548563996, 3185950873, UINT64_C(97172755435063),
                                    UINT64_C(15523137368101252074)};
    random = seeded(5);
    for (size_t i = 0; i < 5; i++)
        assert_true(mk_random_bits(&random, widths[i]) == bits[i]);
}

static void test_synth__random_samples_are_the_reference_languages(void **state)
{
    static const struct {
        uint64_t n;
        size_t k;
        uint64_t out[5];
    } samples[] = {
        {10, 4, {3, 8, 2, 7}},
        {21, 5, {19, 15, 18, 2, 0}}, /* the longest that is copied */
        {22, 5, {15, 8, 17, 7, 6}},
        {UINT64_C(86399999999), 3,
         {UINT64_C(75034210420), UINT64_C(76607018613), UINT64_C(53585529008)}},
    };
    uint64_t out[MK_RANDOM_SAMPLE_MAX];
    (void)state;
    mk_random random = seeded(3);
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        mk_random_sample(&random, samples[i].n, samples[i].k, out);
        assert_memory_equal(out, samples[i].out, samples[i].k * sizeof *out);
    }
    assert_int_equal(mk_random_below(&random, 1), 0); /* draws until it is */
    assert_int_equal(mk_random_below(&random, UINT64_C(7776000000000)), UINT64_C(5584453582214));
}

/* ---- a run whose text is hashed or kept ---- */

typedef struct capture {
    mk_synth_options options;
    mk_synth_report report;
    mk_buf text; /* of the last batch; of all when `keep` */
    bool keep;
    uint64_t bytes;
    mk_sha256 hash;
    mk_tt last;
    bool tt_falls;
} capture;

static mk_code take_lines(void *ctx, const mk_op *ops, size_t count, mk_tt tt, mk_err *err)
{
    capture *c = ctx;
    const size_t before = c->keep ? c->text.n : 0;
    if (!c->keep)
        mk_buf_clear(&c->text);
    mk_synth_lines(c->options.kind, ops, count, &c->text);
    const mk_code rc = mk_buf_done(&c->text, err);
    if (rc != MK_OK)
        return rc;
    mk_sha256_add(&c->hash, c->text.p + before, c->text.n - before);
    c->bytes += c->text.n - before;
    c->tt_falls |= tt.us <= c->last.us;
    c->last = tt;
    return MK_OK;
}

static void capture_open(capture *c, mk_synth_options options, bool keep)
{
    *c = (capture){.options = options, .keep = keep};
    mk_synth_report_init(&c->report, &mk_alloc_default);
    mk_buf_init(&c->text, &mk_alloc_default);
    mk_sha256_init(&c->hash);
}

static void capture_close(capture *c)
{
    mk_buf_free(&c->text);
    mk_synth_report_free(&c->report);
}

/* Bytes and hash of the lines of a whole data set. */
static uint64_t hash_lines(mk_synth_options options, char hex[65])
{
    capture c;
    mk_err err;
    uint8_t sum[32];
    capture_open(&c, options, false);
    if (mk_synth_run(&options, take_lines, &c, &c.report, &err) != MK_OK)
        fail_msg("%s", err.message);
    assert_false(c.tt_falls);
    mk_sha256_end(&c.hash, sum);
    mk_hex(hex, sum, 32);
    hex[64] = '\0';
    const uint64_t bytes = c.bytes;
    capture_close(&c);
    return bytes;
}

static void run_kept(capture *c, mk_synth_options options)
{
    mk_err err;
    capture_open(c, options, true);
    if (mk_synth_run(&options, take_lines, c, &c->report, &err) != MK_OK)
        fail_msg("%s", err.message);
    mk_buf_c(&c->text, '\0');
    mk_buf_c(&c->report.manifest, '\0');
    assert_false(c->text.failed || c->report.manifest.failed);
}

/* ---- v1 ---- */

static mk_synth_options v1(uint64_t nodes, uint64_t events, uint64_t seed)
{
    mk_synth_options options = mk_synth_defaults(MK_SYNTH_V1);
    options.nodes = nodes;
    options.events = events;
    options.seed = seed;
    return options;
}

static void test_synth__v1_begins_as_specified(void **state)
{
    capture c;
    (void)state;
    run_kept(&c, v1(10, 6, 0));
    assert_string_equal(
        c.text.p,
        "{\"dst\": \"n2\", \"rel_type\": \"MSG\", \"src\": \"n8\", \"vt_s\": 1578190793659477}\n"
        "{\"dst\": \"n9\", \"rel_type\": \"MSG\", \"src\": \"n2\", \"vt_s\": 1579760550696467}\n"
        "{\"dst\": \"n9\", \"rel_type\": \"MSG\", \"src\": \"n8\", \"vt_s\": 1580987057996292}\n"
        "{\"dst\": \"n8\", \"rel_type\": \"MSG\", \"src\": \"n4\", \"vt_s\": 1581224860993485}\n"
        "{\"dst\": \"n9\", \"rel_type\": \"MSG\", \"src\": \"n7\", \"vt_s\": 1582112488367714}\n"
        "{\"dst\": \"n9\", \"rel_type\": \"MSG\", \"src\": \"n5\", \"vt_s\": 1585137315825209}\n");
    capture_close(&c);
}

static void test_synth__v1_files_have_their_hashes(void **state)
{
    char hex[65];
    (void)state;
    assert_int_equal(hash_lines(v1(5000, 100000, 1), hex), 7755154);
    assert_string_equal(hex, "967ed82c8d3d55a68475b0129efdafd060755199b72d44a356000230a3f81e8d");

    mk_synth_options planted = v1(1000, 2000, 1);
    planted.rings = planted.pingpongs = planted.bursts = 1;
    assert_int_equal(hash_lines(planted, hex), 165217);
    assert_string_equal(hex, "ec15263f5c8359e04fa8509319ec4b5afc69643368e7e058baf743b9cc0b2754");
}

/* The next line of a text that ends with an LF; false at its end. Searches stay inside a line, since a
 * search through the rest of the text costs its length under the address sanitizer. */
static bool next_line(const char **at, mk_str *line)
{
    if (**at == '\0')
        return false;
    const char *end = *at;
    while (*end != '\n')
        end++;
    *line = (mk_str){*at, (size_t)(end - *at)};
    *at = end + 1;
    return true;
}

static bool has(mk_str line, const char *part)
{
    return memmem(line.p, line.n, part, strlen(part)) != NULL;
}

/* Lines with a part in them. */
static size_t count_of(const char *text, const char *part)
{
    size_t n = 0;
    mk_str line;
    while (next_line(&text, &line))
        n += has(line, part);
    return n;
}

/* The manifest names uids and times; each must be an event of the data. */
static void assert_event_there(const capture *c, const char *src, const char *dst, int64_t time)
{
    char to[64], from[64], when[64];
    const char *at = c->text.p;
    mk_str line;
    snprintf(to, sizeof to, "\"dst\": \"%s\"", dst);
    snprintf(from, sizeof from, "\"src\": \"%s\"", src);
    snprintf(when, sizeof when, "\"vt_s\": %lld}", (long long)time);
    while (next_line(&at, &line))
        if (has(line, to) && has(line, from) && has(line, when))
            return;
    fail_msg("no event %s -> %s at %lld", src, dst, (long long)time);
}

static const mk_json *parse_manifest(const capture *c, mk_arena *arena)
{
    mk_json *tree = NULL;
    mk_err err;
    if (mk_json_parse(arena, (mk_str){c->report.manifest.p, c->report.manifest.n - 1}, NULL, &tree,
                      &err) != MK_OK)
        fail_msg("%s in %s", err.message, c->report.manifest.p);
    return tree;
}

static const char *text_of(mk_arena *arena, const mk_json *string)
{
    char *z = mk_arena_get0(arena, string->text.n + 1);
    memcpy(z, string->text.p, string->text.n);
    return z;
}

/* Edges from nodes[i] to nodes[i + 1], the list being closed or not, at times[i]; times ascend. */
static void assert_pattern_there(const capture *c, const mk_json *pattern, mk_arena *arena)
{
    const mk_json *nodes = mk_json_get(pattern, "nodes"), *times = mk_json_get(pattern, "times");
    for (size_t i = 0; i < times->n; i++) {
        assert_event_there(c, text_of(arena, &nodes->items[i % nodes->n]),
                           text_of(arena, &nodes->items[(i + 1) % nodes->n]), times->items[i].i);
        if (i > 0)
            assert_true(times->items[i].i > times->items[i - 1].i);
    }
}

static void test_synth__v1_plants_what_its_manifest_says(void **state)
{
    capture c;
    mk_arena arena;
    (void)state;
    mk_synth_options options = v1(50, 3000, 11);
    options.rings = 3;
    options.pingpongs = 2;
    options.bursts = 2;
    run_kept(&c, options);
    mk_arena_init(&arena, &mk_alloc_default);
    const mk_json *manifest = parse_manifest(&c, &arena);
    const mk_json *planted = mk_json_get(manifest, "planted");
    assert_int_equal(planted->n, 7);
    for (size_t i = 0; i < 5; i++) {
        const mk_json *times = mk_json_get(&planted->items[i], "times");
        assert_pattern_there(&c, &planted->items[i], &arena);
        assert_true(times->items[2].i - times->items[0].i <
                    mk_json_get(&planted->items[i], "delta")->i);
    }
    /* A burst has seven times the rate of the background: 3000 * 7 / 90. */
    assert_int_equal(mk_json_get(&planted->items[5], "n_events")->i, 233);
    assert_int_equal(count_of(c.text.p, "\"src\": \"burst0_"), 233);
    assert_int_equal(mk_json_get(manifest, "n_events")->i, 3000 + 15 + 2 * 233);
    assert_int_equal(c.report.events, count_of(c.text.p, ""));
    mk_arena_free(&arena);
    capture_close(&c);
}

/* ---- registry ---- */

static mk_synth_options registry(uint64_t events)
{
    mk_synth_options options = mk_synth_defaults(MK_SYNTH_REGISTRY);
    options.events = events;
    return options;
}

typedef struct found {
    uint64_t at;
    const char *src, *dst, *rel_type;
    int64_t vt_s, vt_e;
} found;

/* The events that store spec, 22.2, spells out. */
static mk_code check_events(void *ctx, const mk_op *ops, size_t count, mk_tt tt, mk_err *err)
{
    static const found vectors[] = {
        {0, "n0", "n35", "S", 0, 10000},       {1, "n1700", "n725", "R", 1, 10001},
        {2, "n444", "n432", "R", 2, 10002},    {3, "n90", "n98", "S", 3, 10003},
        {100010, "n363", "n354", "R", 100001, 110001},
    };
    uint64_t *seen = ctx;
    (void)tt;
    (void)err;
    if (ops[0].kind != MK_OP_INGEST_EVENTS) {
        assert_int_equal(count, 1);
        return MK_OK;
    }
    assert_int_equal(ops[0].event_count, 50000);
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        const uint64_t at = vectors[i].at - (uint64_t)ops[0].offset;
        if (at >= ops[0].event_count)
            continue;
        const mk_event *event = &ops[0].events[at];
        assert_true(mk_str_eq(event->src, mk_str_of(vectors[i].src)));
        assert_true(mk_str_eq(event->dst, mk_str_of(vectors[i].dst)));
        assert_true(mk_str_eq(event->rel_type, mk_str_of(vectors[i].rel_type)));
        assert_int_equal(event->vt_s, vectors[i].vt_s);
        assert_int_equal(event->vt_e, vectors[i].vt_e);
        ++*seen;
    }
    return MK_OK;
}

static void test_synth__registry_events_are_those_specified(void **state)
{
    const mk_synth_options options = registry(200000);
    mk_synth_report report;
    uint64_t seen = 0;
    mk_err err;
    (void)state;
    mk_synth_report_init(&report, &mk_alloc_default);
    assert_int_equal(mk_synth_run(&options, check_events, &seen, &report, &err), MK_OK);
    assert_int_equal(seen, 5);
    assert_int_equal(report.batches, 266);
    assert_int_equal(report.events, 200000);
    mk_synth_report_free(&report);
}

static int64_t stopped(void *ctx) { return *(const int64_t *)ctx; }

static mk_code take_write(void *ctx, const mk_op *ops, size_t count, mk_tt tt, mk_err *err)
{
    (void)tt;
    return mk_store_write(ctx, ops, count, NULL, NULL, err);
}

/* Writes a data set into a store; transaction times go up by one from what the clock shows. */
static mk_store *written(const tmpdir *dir, mk_synth_options options, const mk_clock *clock)
{
    const mk_store_options open = {.mode = MK_OPEN_CREATE_WRITER, .manual = true, .clock = clock};
    char path[TMPDIR_PATH_MAX];
    mk_synth_report report;
    mk_store *store;
    mk_err err;
    mk_synth_report_init(&report, &mk_alloc_default);
    assert_int_equal(mk_store_open(tmpdir_join(dir, "store", path), &open, &store, &err), MK_OK);
    if (mk_synth_run(&options, take_write, store, &report, &err) != MK_OK)
        fail_msg("%s (%s)", err.message, err.path);
    assert_int_equal(mk_store_batches(store), report.batches);
    mk_synth_report_free(&report);
    return store;
}

static void assert_store(mk_store *store, uint64_t nodes, uint64_t edges, const char *expected)
{
    char digest[65];
    mk_view_stats stats;
    mk_view *view;
    mk_err err;
    assert_int_equal(mk_view_at(store, (mk_tt){MK_OPEN_END}, 0, &view, &err), MK_OK);
    mk_view_get_stats(view, &stats);
    mk_view_close(view);
    assert_int_equal(stats.node_versions, nodes);
    assert_int_equal(stats.edge_versions, edges);
    assert_int_equal(mk_store_digest(store, digest, NULL, NULL, &err), MK_OK);
    assert_string_equal(digest, expected);
}

static void test_synth__registry_stores_have_their_digests(void **state)
{
    static const struct {
        uint64_t events, nodes, edges;
        int64_t first;
        const char *digest;
    } stores[] = {
        {2000, 203, 2269, 1000, "8f357bd376fab39fb276f5d4cfd3d142f4b7972c8bf950c40be166272bff7eb5"},
        {20000, 203, 20269, INT64_C(1000000000000001),
         "d275bc656c49d96ed1a549f1d9bd09f749516e917d5507a7785218555dddfc21"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof stores / sizeof *stores; i++) {
        tmpdir dir;
        mk_err err;
        int64_t first = stores[i].first;
        const mk_clock clock = {stopped, &first};
        tmpdir_make(&dir);
        mk_store *store = written(&dir, registry(stores[i].events), &clock);
        assert_int_equal(mk_store_batches(store), 263);
        assert_store(store, stores[i].nodes, stores[i].edges, stores[i].digest);
        assert_int_equal(mk_store_close(store, &err), MK_OK);
        tmpdir_remove(&dir);
    }
}

/* ---- skewed ---- */

/* Of what this generator made first; it may not change, data sets are named by kind and seed. */
#define SKEWED_SHA256 "d9f2978dc2200f3b2dad1fa5e1a8223708e667ea3d6d4ffb2f00b55bab330999"

static mk_synth_options skewed(uint64_t events, uint64_t seed)
{
    mk_synth_options options = mk_synth_defaults(MK_SYNTH_SKEWED);
    options.events = events;
    options.nodes = 1000;
    options.seed = seed;
    return options;
}

static void test_synth__skewed_is_the_same_for_the_same_seed(void **state)
{
    char a[65], b[65], c[65];
    (void)state;
    hash_lines(skewed(60000, 1), a);
    hash_lines(skewed(60000, 1), b);
    hash_lines(skewed(60000, 2), c);
    assert_string_equal(a, b);
    assert_string_not_equal(a, c);
    hash_lines(skewed(5000, 1), a);
    assert_string_equal(a, SKEWED_SHA256);
}

/* Ends at the largest hub: an n-th of all where chances are even, and far more where they are skewed. */
static size_t hub_events(unsigned skew)
{
    capture c;
    mk_synth_options options = skewed(20000, 3);
    options.skew = skew;
    options.corrections = 0;
    run_kept(&c, options);
    const size_t n = count_of(c.text.p, "\"n0\"");
    capture_close(&c);
    return n;
}

static void test_synth__skewed_degrees_have_hubs(void **state)
{
    (void)state;
    /* 2 * 20000 / 1000 = 40 ends each; with skew 3 the first rank gets (1/1000)^(1/3), a tenth of all. */
    assert_in_range(hub_events(1), 15, 80);
    assert_in_range(hub_events(3), 2800, 4600);
    assert_true(hub_events(5) > hub_events(3));
}

static void test_synth__skewed_plants_what_its_manifest_says(void **state)
{
    capture c;
    mk_arena arena;
    (void)state;
    mk_synth_options options = skewed(30000, 5);
    options.cycles = 7;
    options.paths = 4;
    options.bursts = 3;
    options.corrections = 20;
    run_kept(&c, options);
    mk_arena_init(&arena, &mk_alloc_default);
    const mk_json *planted = mk_json_get(parse_manifest(&c, &arena), "planted");
    size_t kinds[3] = {0};
    assert_int_equal(planted->n, 14);
    for (size_t i = 0; i < planted->n; i++) {
        const mk_json *kind = mk_json_get(&planted->items[i], "kind");
        const bool burst = mk_str_eq(kind->text, MK_STR("burst"));
        kinds[burst ? 2 : mk_str_eq(kind->text, MK_STR("path"))]++;
        if (!burst)
            assert_pattern_there(&c, &planted->items[i], &arena);
        else
            assert_int_equal(mk_json_get(&planted->items[i], "n_events")->i, 1071);
    }
    assert_int_equal(kinds[0], 7);
    assert_int_equal(kinds[1], 4);
    assert_int_equal(kinds[2], 3);
    assert_int_equal(count_of(c.text.p, "\"src\": \"burst2_"), 1071);
    /* Nothing planted is corrected. */
    assert_true(count_of(c.text.p, "{\"op\":\"correct\"") > 0);
    assert_int_equal(count_of(c.text.p, "\"src\":\"cycle"), 0);
    assert_int_equal(count_of(c.text.p, "\"src\":\"path"), 0);
    assert_int_equal(count_of(c.text.p, "\"src\":\"burst"), 0);
    mk_arena_free(&arena);
    capture_close(&c);
}

static void test_synth__skewed_times_ascend(void **state)
{
    capture c;
    int64_t last = 0;
    mk_str line;
    (void)state;
    mk_synth_options options = skewed(20000, 9);
    options.corrections = 0;
    run_kept(&c, options);
    for (const char *at = c.text.p; next_line(&at, &line);) {
        const char *value = memmem(line.p, line.n, "\"vt_s\": ", 8);
        const int64_t time = strtoll(value + 8, NULL, 10);
        assert_true(time >= last);
        last = time;
    }
    capture_close(&c);
}

static void test_synth__skewed_corrections_all_hold(void **state)
{
    int64_t first = 1;
    const mk_clock clock = {stopped, &first};
    capture c;
    tmpdir dir;
    mk_err err;
    mk_arena arena;
    (void)state;
    mk_synth_options options = skewed(8000, 4);
    options.corrections = 25;
    tmpdir_make(&dir);
    mk_store *store = written(&dir, options, &clock); /* a batch that failed would have ended it */
    run_kept(&c, options);
    mk_arena_init(&arena, &mk_alloc_default);
    const mk_json *fixes = mk_json_get(parse_manifest(&c, &arena), "corrections");
    assert_int_equal(mk_json_get(fixes, "ops")->i, c.report.ops);
    assert_int_equal(count_of(c.text.p, "\"op\":\"retract\""), mk_json_get(fixes, "retractions")->i);
    assert_int_equal(mk_store_batches(store), 1 + mk_json_get(fixes, "batches")->i);
    /* A quarter of the events, corrected once to four times. */
    assert_in_range(c.report.ops, 2000, 8000);
    assert_true(count_of(c.text.p, "\"revision\":4") > 0);
    mk_arena_free(&arena);
    capture_close(&c);
    assert_int_equal(mk_store_close(store, &err), MK_OK);
    tmpdir_remove(&dir);
}

/* ---- what can go wrong ---- */

static void refuses(mk_synth_options options, const char *path)
{
    mk_synth_report report;
    mk_err err;
    capture c;
    capture_open(&c, options, false);
    mk_synth_report_init(&report, &mk_alloc_default);
    assert_int_equal(mk_synth_run(&options, take_lines, &c, &report, &err), MK_E_INVALID_ARG);
    assert_string_equal(err.path, path);
    assert_int_equal(c.bytes, 0);
    assert_int_equal(mk_synth_check(&options, &err), MK_E_INVALID_ARG);
    mk_synth_report_free(&report);
    capture_close(&c);
}

static void test_synth__what_cannot_be_made_is_refused(void **state)
{
    (void)state;
    refuses(v1(1, 10, 0), "nodes");
    refuses(v1(10, UINT64_C(1) << 40, 0), "n");
    mk_synth_options o = v1(10, 10, 0);
    o.rings = 2000000;
    refuses(o, "rings");
    refuses(registry(39), "n");
    refuses(skewed(0, 0), "n");
    o = skewed(1000, 0);
    o.corrections = 51;
    refuses(o, "corrections");
    o = skewed(1000, 0);
    o.skew = 0;
    refuses(o, "skew");
    o = skewed(1000, 0);
    o.cycles = 13; /* with 3 paths and 3 bursts, more than 1000 / 64 */
    refuses(o, "cycles");
}

/* The smallest data sets that pass. */
static void test_synth__small_ones_can_be_made(void **state)
{
    char hex[65];
    (void)state;
    assert_int_equal(hash_lines(v1(2, 0, 0), hex), 0);
    assert_true(hash_lines(v1(2, 50, 0), hex) > 0);
    assert_true(hash_lines(registry(40), hex) > 0);
    mk_synth_options o = skewed(1, 0);
    o.nodes = 2;
    o.cycles = o.paths = o.bursts = 0;
    assert_true(hash_lines(o, hex) > 0);
    o = skewed(64 * 9, 0);
    o.skew = 1;
    assert_true(hash_lines(o, hex) > 0);
}

static mk_code stop_at_second(void *ctx, const mk_op *ops, size_t count, mk_tt tt, mk_err *err)
{
    int *calls = ctx;
    (void)ops;
    (void)count;
    (void)tt;
    return ++*calls < 2 ? MK_OK : mk_fail(err, MK_E_CANCELLED, "enough");
}

static void test_synth__the_callers_error_ends_the_run(void **state)
{
    mk_synth_report report;
    mk_err err;
    (void)state;
    mk_synth_report_init(&report, &mk_alloc_default);
    const mk_synth_options all[] = {v1(100, 120000, 0), registry(1000), skewed(120000, 0)};
    for (size_t i = 0; i < 3; i++) {
        int calls = 0;
        assert_int_equal(mk_synth_run(&all[i], stop_at_second, &calls, &report, &err),
                         MK_E_CANCELLED);
        assert_int_equal(calls, 2);
    }
    mk_synth_report_free(&report);
}

static mk_code count_batch(void *ctx, const mk_op *ops, size_t count, mk_tt tt, mk_err *err)
{
    (void)ops;
    (void)count;
    (void)tt;
    (void)err;
    ++*(int *)ctx;
    return MK_OK;
}

static void test_synth__memory_that_runs_out_is_an_error(void **state)
{
    (void)state;
    mk_synth_options all[] = {v1(20, 300, 0), registry(60), skewed(1000, 0)};
    all[0].rings = all[0].pingpongs = all[0].bursts = 2;
    for (size_t i = 0; i < 3; i++) {
        mk_code rc = MK_E_NOMEM;
        for (uint64_t n = 1; rc != MK_OK; n++) {
            testalloc ta;
            mk_synth_report report;
            mk_err err;
            int batches = 0;
            testalloc_init(&ta);
            mk_synth_report_init(&report, &ta.hook);
            all[i].alloc = &ta.hook;
            testalloc_fail(&ta, n, true);
            rc = mk_synth_run(&all[i], count_batch, &batches, &report, &err);
            if (rc != MK_OK)
                assert_int_equal(rc, MK_E_NOMEM);
            mk_synth_report_free(&report);
            assert_true(testalloc_is_clean(&ta));
            testalloc_free(&ta);
            assert_true(n < 1000);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_synth__random_words_are_those_of_the_twister),
        cmocka_unit_test(test_synth__random_draws_are_the_reference_languages),
        cmocka_unit_test(test_synth__random_samples_are_the_reference_languages),
        cmocka_unit_test(test_synth__v1_begins_as_specified),
        cmocka_unit_test(test_synth__v1_files_have_their_hashes),
        cmocka_unit_test(test_synth__v1_plants_what_its_manifest_says),
        cmocka_unit_test(test_synth__registry_events_are_those_specified),
        cmocka_unit_test(test_synth__registry_stores_have_their_digests),
        cmocka_unit_test(test_synth__skewed_is_the_same_for_the_same_seed),
        cmocka_unit_test(test_synth__skewed_degrees_have_hubs),
        cmocka_unit_test(test_synth__skewed_plants_what_its_manifest_says),
        cmocka_unit_test(test_synth__skewed_times_ascend),
        cmocka_unit_test(test_synth__skewed_corrections_all_hold),
        cmocka_unit_test(test_synth__what_cannot_be_made_is_refused),
        cmocka_unit_test(test_synth__small_ones_can_be_made),
        cmocka_unit_test(test_synth__the_callers_error_ends_the_run),
        cmocka_unit_test(test_synth__memory_that_runs_out_is_an_error),
    };
    return cmocka_run_group_tests_name("synth", tests, NULL, NULL);
}

/* synth_v1.c — the reference's generator synth-v1, byte for byte.
 *
 * The background draws all times, sorts them, and then draws the two ends of each event in time order; the
 * other end is with probability 0.75 one that was touched before, so whoever is well known becomes better
 * known (Barabasi and Albert 1999). That needs all times and all ends in memory. What is planted is drawn
 * from a second stream, sorted by time, and merged in behind background events of the same time.
 * Source: store spec, 22.1; evaluation spec, 5. */
#include <stdio.h>
#include <stdlib.h>

#include "base/canon.h"
#include "load/synth_internal.h"
#include "load/synth_random.h"

#define T0 INT64_C(1577836800000000) /* 2020-01-01 */
#define SPAN_DAYS 90
#define DAY INT64_C(86400000000)
#define SPAN (SPAN_DAYS * DAY)
#define PLANT_SEED UINT64_C(0x9E3779B9)
#define BURST_FACTOR 7
#define BURST_NODES 20

/* Limits that keep sizes in 32 bits and the planted list in reason. */
#define NODES_MAX UINT32_MAX
#define EVENTS_MAX UINT64_C(1000000000)
#define PLANTED_MAX UINT64_C(1000000)

/* ---- times ---- */

/* Sorts n numbers below 2^44 by radix, eleven bits at a time; `scratch` is as long. An even number of
 * passes, so the result is where it was. */
static void sort_times(uint64_t *times, uint64_t *scratch, size_t n)
{
    enum { BITS = 11, PASSES = 4, BUCKETS = 1 << BITS };
    static_assert((uint64_t)SPAN < UINT64_C(1) << (BITS * PASSES), "a time has at most 44 bits");
    for (unsigned pass = 0; pass < PASSES; pass++) {
        size_t starts[BUCKETS + 1] = {0};
        const unsigned shift = pass * BITS;
        for (size_t i = 0; i < n; i++)
            starts[(times[i] >> shift & (BUCKETS - 1)) + 1]++;
        for (size_t b = 0; b < BUCKETS; b++)
            starts[b + 1] += starts[b];
        for (size_t i = 0; i < n; i++)
            scratch[starts[times[i] >> shift & (BUCKETS - 1)]++] = times[i];
        uint64_t *swap = times;
        times = scratch;
        scratch = swap;
    }
}

/* ---- what is planted ---- */

typedef struct planted {
    uint64_t time; /* after T0 */
    uint64_t seq;  /* in the order of making, for ties */
    char src[MK_SYNTH_UID], dst[MK_SYNTH_UID];
} planted;

typedef struct garden {
    const mk_alloc *alloc;
    mk_random random;
    planted *list;
    size_t count, cap;
    mk_buf *manifest; /* items of its list */
} garden;

static mk_code plant(garden *g, uint64_t time, const char *src, const char *dst, mk_err *err)
{
    void *list = g->list;
    const mk_code rc = mk_grow(g->alloc, &list, &g->cap, g->count + 1, sizeof *g->list, err);
    g->list = list;
    if (rc != MK_OK)
        return rc;
    planted *p = &g->list[g->count];
    p->time = time;
    p->seq = g->count++;
    snprintf(p->src, sizeof p->src, "%s", src);
    snprintf(p->dst, sizeof p->dst, "%s", dst);
    return MK_OK;
}

static int by_number(const void *x, const void *y)
{
    const uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return (a > b) - (a < b);
}

/* Three times within a day of one another. */
static void ordered_times(garden *g, uint64_t times[3])
{
    const uint64_t base = mk_random_below(&g->random, (uint64_t)(SPAN - DAY));
    mk_random_sample(&g->random, (uint64_t)DAY - 1, 3, times);
    qsort(times, 3, sizeof *times, by_number);
    for (int i = 0; i < 3; i++)
        times[i] += base + 1;
}

static void item_start(garden *g)
{
    if (g->manifest->n > 0)
        mk_buf_c(g->manifest, ',');
}

/* {"delta":..,"kind":"..","nodes":[..],"times":[..]} */
static void note_pattern(garden *g, const char *kind, const char *const *uids, size_t count,
                         const uint64_t times[3])
{
    mk_buf *out = g->manifest;
    item_start(g);
    mk_buf_printf(out, "{\"delta\":%lld,\"kind\":\"%s\",\"nodes\":[", (long long)DAY, kind);
    for (size_t i = 0; i < count; i++)
        mk_buf_printf(out, "%s\"%s\"", i ? "," : "", uids[i]);
    mk_buf_z(out, "],\"times\":[");
    for (size_t i = 0; i < 3; i++)
        mk_buf_printf(out, "%s%lld", i ? "," : "", (long long)(T0 + (int64_t)times[i]));
    mk_buf_z(out, "]}");
}

static mk_code plant_ring(garden *g, uint64_t number, mk_err *err)
{
    char uids[3][MK_SYNTH_UID];
    uint64_t times[3];
    mk_code rc = MK_OK;

    mk_synth__uid(uids[0], "ring", number, "_a");
    mk_synth__uid(uids[1], "ring", number, "_b");
    mk_synth__uid(uids[2], "ring", number, "_c");
    ordered_times(g, times);
    for (int i = 0; i < 3; i++)
        MK_TRY(rc, plant(g, times[i], uids[i], uids[(i + 1) % 3], err));
    note_pattern(g, "triangle_ring", (const char *const[]){uids[0], uids[1], uids[2]}, 3, times);

out:
    return rc;
}

static mk_code plant_pingpong(garden *g, uint64_t number, mk_err *err)
{
    char uids[2][MK_SYNTH_UID];
    uint64_t times[3];
    mk_code rc = MK_OK;

    mk_synth__uid(uids[0], "pp", number, "_a");
    mk_synth__uid(uids[1], "pp", number, "_b");
    ordered_times(g, times);
    for (int i = 0; i < 3; i++)
        MK_TRY(rc, plant(g, times[i], uids[i % 2], uids[(i + 1) % 2], err));
    note_pattern(g, "pingpong", (const char *const[]){uids[0], uids[1]}, 2, times);

out:
    return rc;
}

/* Seven times the background's rate for a day, and ten events at least. */
static uint64_t burst_size(uint64_t events)
{
    const double rate = (double)events / (double)SPAN;
    const uint64_t size = (uint64_t)(rate * (double)DAY * (double)BURST_FACTOR);
    return size > 10 ? size : 10;
}

static mk_code plant_burst(garden *g, uint64_t number, uint64_t events, mk_err *err)
{
    const uint64_t start = mk_random_below(&g->random, (uint64_t)(SPAN - DAY));
    const uint64_t size = burst_size(events);
    char prefix[MK_SYNTH_UID], src[MK_SYNTH_UID], dst[MK_SYNTH_UID];
    mk_code rc = MK_OK;

    mk_synth__uid(prefix, "burst", number, "_");
    for (uint64_t i = 0; i < size; i++) {
        const uint64_t a = mk_random_below(&g->random, BURST_NODES);
        const uint64_t b = mk_random_below(&g->random, BURST_NODES);
        const uint64_t time = start + mk_random_below(&g->random, (uint64_t)DAY);
        mk_synth__uid(src, prefix, a, "");
        mk_synth__uid(dst, prefix, b, a == b ? "x" : "");
        MK_TRY(rc, plant(g, time, src, dst, err));
    }
    item_start(g);
    mk_buf_printf(g->manifest,
                  "{\"factor\":%d,\"kind\":\"burst\",\"n_events\":%llu,\"window\":[%lld,%lld]}",
                  BURST_FACTOR, (unsigned long long)size, (long long)(T0 + (int64_t)start),
                  (long long)(T0 + (int64_t)start + DAY));

out:
    return rc;
}

static int by_time(const void *x, const void *y)
{
    const planted *a = x, *b = y;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return (a->seq > b->seq) - (a->seq < b->seq);
}

static mk_code plant_all(garden *g, const mk_synth_options *options, mk_err *err)
{
    mk_code rc = MK_OK;
    for (uint64_t i = 0; i < options->rings; i++)
        MK_TRY(rc, plant_ring(g, i, err));
    for (uint64_t i = 0; i < options->pingpongs; i++)
        MK_TRY(rc, plant_pingpong(g, i, err));
    for (uint64_t i = 0; i < options->bursts; i++)
        MK_TRY(rc, plant_burst(g, i, options->events, err));
    if (g->count > 0)
        qsort(g->list, g->count, sizeof *g->list, by_time);

out:
    return rc;
}

/* ---- the stream ---- */

typedef struct stream {
    mk_synth_out *out;
    mk_random random;
    uint64_t *times, *scratch;
    uint32_t *touched; /* ends of the events so far, src before dst */
    garden garden;
    size_t planted; /* handed on so far */
} stream;

static mk_code emit(stream *s, uint64_t time, mk_err *err)
{
    mk_synth_event *event = mk_synth__next(s->out);
    event->props[0] = '\0';
    event->rel_type = "MSG";
    event->vt_s = T0 + (int64_t)time;
    event->vt_e = 0;
    return mk_synth__take(s->out, mk_synth__tick(s->out), err);
}

/* Hands on what is planted before `time`. */
static mk_code emit_planted(stream *s, uint64_t time, mk_err *err)
{
    mk_code rc = MK_OK;
    while (s->planted < s->garden.count && s->garden.list[s->planted].time < time) {
        const planted *p = &s->garden.list[s->planted++];
        mk_synth_event *event = mk_synth__next(s->out);
        memcpy(event->src, p->src, sizeof event->src);
        memcpy(event->dst, p->dst, sizeof event->dst);
        MK_TRY(rc, emit(s, p->time, err));
    }
out:
    return rc;
}

static void draw_ends(stream *s, uint64_t i, uint32_t *src, uint32_t *dst)
{
    const uint64_t nodes = s->out->options->nodes;
    *src = (uint32_t)mk_random_below(&s->random, nodes);
    if (i > 0 && mk_random_unit(&s->random) < 0.75)
        *dst = s->touched[mk_random_below(&s->random, 2 * i)];
    else
        *dst = (uint32_t)mk_random_below(&s->random, nodes);
    if (*dst == *src)
        *dst = (uint32_t)((*src + 1 + mk_random_below(&s->random, nodes - 1)) % nodes);
    s->touched[2 * i] = *src;
    s->touched[2 * i + 1] = *dst;
    (void)mk_random_below(&s->random, 1); /* the choice among one relation type */
}

static mk_code run_stream(stream *s, mk_err *err)
{
    const mk_synth_options *options = s->out->options;
    mk_code rc = MK_OK;

    for (uint64_t i = 0; i < options->events; i++)
        s->times[i] = mk_random_below(&s->random, (uint64_t)SPAN);
    sort_times(s->times, s->scratch, options->events);
    for (uint64_t i = 0; i < options->events; i++) {
        uint32_t src, dst;
        MK_TRY(rc, emit_planted(s, s->times[i], err));
        draw_ends(s, i, &src, &dst);
        mk_synth__uid(mk_synth__next(s->out)->src, "n", src, "");
        mk_synth__uid(mk_synth__next(s->out)->dst, "n", dst, "");
        MK_TRY(rc, emit(s, s->times[i], err));
    }
    MK_TRY(rc, emit_planted(s, UINT64_MAX, err));
    rc = mk_synth__flush(s->out, mk_synth__tick(s->out), err);

out:
    return rc;
}

/* ---- one run ---- */

mk_code mk_synth__v1_check(const mk_synth_options *o, mk_err *err)
{
    if (o->nodes < 2 || o->nodes > NODES_MAX)
        return mk_synth__refuse(err, "nodes", o->nodes, "2 to 4294967295");
    if (o->events > EVENTS_MAX)
        return mk_synth__refuse(err, "n", o->events, "0 to 1000000000");
    if (o->rings > PLANTED_MAX)
        return mk_synth__refuse(err, "rings", o->rings, "0 to 1000000");
    if (o->pingpongs > PLANTED_MAX)
        return mk_synth__refuse(err, "pingpong", o->pingpongs, "0 to 1000000");
    if (o->bursts > PLANTED_MAX)
        return mk_synth__refuse(err, "bursts", o->bursts, "0 to 1000000");
    return MK_OK;
}

static void write_manifest(const mk_synth_out *out, const mk_buf *planted_items)
{
    const mk_synth_options *o = out->options;
    mk_buf *m = &out->report->manifest;
    mk_buf_printf(m, "{\"generator\":\"synth-v1\",\"n_events\":%llu,\"n_nodes\":%llu,\"params\":{",
                  (unsigned long long)out->report->events, (unsigned long long)o->nodes);
    mk_buf_printf(m, "\"bursts\":%llu,\"n_events\":%llu,\"pa_bias\":0.75,\"pingpong\":%llu,",
                  (unsigned long long)o->bursts, (unsigned long long)o->events,
                  (unsigned long long)o->pingpongs);
    mk_buf_printf(m, "\"rel_types\":[\"MSG\"],\"rings\":%llu,\"span_days\":%d,\"t0\":%lld},",
                  (unsigned long long)o->rings, SPAN_DAYS, (long long)T0);
    mk_buf_z(m, "\"planted\":[");
    mk_buf_str(m, mk_buf_view(planted_items));
    mk_buf_printf(m, "],\"seed\":%llu}", (unsigned long long)o->seed);
}

mk_code mk_synth__v1(mk_synth_out *out, mk_err *err)
{
    const mk_synth_options *o = out->options;
    const size_t n = (size_t)o->events;
    mk_buf items;
    mk_code rc;

    mk_buf_init(&items, out->alloc);
    stream s = {.out = out, .garden = {.alloc = out->alloc, .manifest = &items}};
    s.times = mk_new(out->alloc, n * sizeof *s.times + 1); /* + 1: never of size 0 */
    s.scratch = mk_new(out->alloc, n * sizeof *s.scratch + 1);
    s.touched = mk_new(out->alloc, 2 * n * sizeof *s.touched + 1);
    if (s.times == NULL || s.scratch == NULL || s.touched == NULL) {
        rc = mk_fail_nomem(err);
        goto out;
    }
    mk_random_seed(&s.random, o->seed);
    mk_random_seed(&s.garden.random, o->seed ^ PLANT_SEED);
    MK_TRY(rc, plant_all(&s.garden, o, err));
    MK_TRY(rc, run_stream(&s, err));
    MK_TRY(rc, mk_buf_done(&items, err));
    write_manifest(out, &items);

out:
    mk_free(out->alloc, s.garden.list, s.garden.cap * sizeof *s.garden.list);
    mk_free(out->alloc, s.touched, 2 * n * sizeof *s.touched + 1);
    mk_free(out->alloc, s.scratch, n * sizeof *s.scratch + 1);
    mk_free(out->alloc, s.times, n * sizeof *s.times + 1);
    mk_buf_free(&items);
    return rc;
}

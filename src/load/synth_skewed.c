/* synth_skewed.c — our own data: skewed degrees, planted patterns, clustered corrections, any size.
 *
 * Event i of the stream follows from (seed, i) alone: every random number is a hash of the seed, the number
 * and a lane. So nothing is remembered but one batch, and a correction finds its edge again by its number.
 * The stream is cut into as many slots as there are patterns; the pattern of a slot takes some of its
 * numbers, the rest is background. All arithmetic is on integers, so that every machine makes the same.
 *
 * Degrees: a node is chosen as floor(nodes * u^skew), u even in [0, 1), so rank r is met in proportion to
 * r^-(1 - 1/skew), a Zipf law, and degrees have a power-law tail (Newman 2005). n0 is the largest hub. */
#include <stdio.h>

#include "load/synth_internal.h"

#define T0 INT64_C(1704067200000000) /* 2024-01-01 */
#define SECOND INT64_C(1000000)
#define STEP (60 * SECOND) /* between two events, on average */
#define BURST_RATE 10
#define BURST_NODES 20
#define BURST_MAX 2000 /* events; shorter where slots are */
#define PATTERN_STRIDE 3 /* two background events stand between two of a pattern */
#define PATTERN_MIN 3    /* edges of the shortest cycle or path; the longest has three more */
#define SLOT_MIN 64
#define PATTERNS_MAX UINT64_C(1000000) /* all of them stand in the manifest */
#define EVENTS_MAX UINT64_C(100000000000)
#define CLUSTER 20 /* neighbours in the stream that are corrected together */
#define DEPTH_MAX 4

/* What a random number is for; more than one number of a use is drawn by the index of another. */
enum lane { LANE_SRC, LANE_DST, LANE_OTHER, LANE_TIME, LANE_TYPE, LANE_PROPS, LANE_FIX, LANE_PLANT };

typedef struct world {
    mk_synth_out *out;
    const mk_synth_options *options;
    uint64_t key;
    uint64_t slot_count, slot_size, slot_step;
    int64_t tt; /* last one given */
    uint64_t fix_batches, fixes, retractions;
} world;

static uint64_t draw(const world *w, uint64_t i, enum lane lane)
{
    return mk_synth__mix(w->key ^ mk_synth__mix(i * 8 + lane + 1));
}

/* floor(n * h / 2^64) */
static uint64_t scaled(uint64_t h, uint64_t n)
{
    return (uint64_t)((unsigned __int128)h * n >> 64);
}

/* ---- patterns ---- */

typedef enum pattern_kind { CYCLE, PATH, BURST } pattern_kind;

typedef struct pattern {
    pattern_kind kind;
    uint64_t number; /* among those of its kind */
    uint64_t first;  /* number of its first event */
    uint64_t length; /* edges; events of a burst */
    unsigned stride;
} pattern;

static const char *const kind_names[] = {"cycle", "path", "burst"};

/* Which pattern a slot has: a walk over the slots with a step prime to their number meets each once, which
 * mixes the kinds over time. */
static pattern pattern_of(const world *w, uint64_t slot)
{
    const mk_synth_options *o = w->options;
    const uint64_t h = draw(w, slot, LANE_PLANT), quarter = w->slot_size / 4;
    uint64_t k = slot * w->slot_step % w->slot_count;
    pattern p = {.first = slot * w->slot_size + quarter + h % quarter,
                 .length = PATTERN_MIN + (h >> 32) % 4,
                 .stride = PATTERN_STRIDE};
    if (k < o->cycles) {
        p.kind = CYCLE;
    } else if ((k -= o->cycles) < o->paths) {
        p.kind = PATH;
    } else {
        k -= o->paths;
        p = (pattern){.kind = BURST, .first = slot * w->slot_size + quarter,
                      .length = w->slot_size / 2 < BURST_MAX ? w->slot_size / 2 : BURST_MAX,
                      .stride = 1};
    }
    p.number = k;
    return p;
}

/* Whether event i belongs to a pattern, and as which of its events. */
static bool is_planted(const world *w, uint64_t i, pattern *p, uint64_t *at)
{
    if (w->slot_count == 0 || i / w->slot_size >= w->slot_count)
        return false;
    *p = pattern_of(w, i / w->slot_size);
    if (i < p->first || (i - p->first) % p->stride != 0)
        return false;
    *at = (i - p->first) / p->stride;
    return *at < p->length;
}

static void pattern_uid(const pattern *p, uint64_t node, char out[MK_SYNTH_UID])
{
    char prefix[MK_SYNTH_UID];
    mk_synth__uid(prefix, kind_names[p->kind], p->number, "_");
    mk_synth__uid(out, prefix, node, "");
}

static void pattern_ends(const world *w, const pattern *p, uint64_t at, uint64_t i,
                         mk_synth_event *event)
{
    uint64_t src = at, dst = at + 1;
    if (p->kind == CYCLE) {
        dst %= p->length;
    } else if (p->kind == BURST) {
        src = draw(w, i, LANE_SRC) % BURST_NODES;
        dst = (src + 1 + draw(w, i, LANE_DST) % (BURST_NODES - 1)) % BURST_NODES;
    }
    pattern_uid(p, src, event->src);
    pattern_uid(p, dst, event->dst);
}

/* ---- events ---- */

/* Times ascend with the numbers: evenly, and within a burst at ten times the rate from its start on. */
static int64_t time_of(const world *w, uint64_t i)
{
    const uint64_t h = draw(w, i, LANE_TIME);
    pattern p;
    uint64_t at;
    if (!is_planted(w, i, &p, &at) || p.kind != BURST)
        return T0 + (int64_t)i * STEP + (int64_t)(h % STEP);
    const int64_t step = STEP / BURST_RATE;
    return T0 + (int64_t)p.first * STEP + (int64_t)at * step + (int64_t)(h % (uint64_t)step);
}

static void background_ends(const world *w, uint64_t i, mk_synth_event *event)
{
    const uint64_t nodes = w->options->nodes, h = draw(w, i, LANE_SRC), g = draw(w, i, LANE_DST);
    uint64_t u = h, v = g;
    for (unsigned k = 1; k < w->options->skew; k++) {
        u = scaled(u, h);
        v = scaled(v, g);
    }
    const uint64_t src = scaled(u, nodes);
    uint64_t dst = scaled(v, nodes);
    if (dst == src)
        dst = (src + 1 + draw(w, i, LANE_OTHER) % (nodes - 1)) % nodes;
    mk_synth__uid(event->src, "n", src, "");
    mk_synth__uid(event->dst, "n", dst, "");
}

/* Six of ten are instants, three last from seconds to days with a heavy tail, one lasts days to months. */
static void set_type(const world *w, uint64_t i, mk_synth_event *event)
{
    const uint64_t h = draw(w, i, LANE_TYPE);
    event->vt_e = 0;
    if (h % 10 < 6) {
        event->rel_type = "MSG";
    } else if (h % 10 < 9) {
        event->rel_type = "CALL";
        event->vt_e = event->vt_s + (int64_t)(1 + (h >> 8) % 60) * SECOND *
                                        (INT64_C(1) << __builtin_ctzll(h >> 16 | 1 << 12));
    } else {
        event->rel_type = "OWNS";
        event->vt_e = event->vt_s + (int64_t)(1 + (h >> 8) % 90) * 24 * 3600 * SECOND;
    }
}

/* Properties of an event; after a correction they say which revision they are. */
static void set_props(const world *w, uint64_t i, unsigned revision, mk_synth_event *event)
{
    static const char *const quarters[] = {".0", ".25", ".5", ".75"};
    const uint64_t h = draw(w, i + revision * EVENTS_MAX, LANE_PROPS);
    char mark[24] = "";
    if (event->rel_type[0] == 'C') {
        if (revision > 0)
            snprintf(mark, sizeof mark, ",\"revision\":%u", revision);
        snprintf(event->props, sizeof event->props, "{\"cost\":%u%s%s}", (unsigned)(h % 100),
                 quarters[h >> 32 & 3], mark);
        return;
    }
    if (revision > 0)
        snprintf(mark, sizeof mark, "\"revision\":%u,", revision);
    snprintf(event->props, sizeof event->props, "{%s\"%s\":%u}", mark,
             event->rel_type[0] == 'M' ? "words" : "share", (unsigned)(1 + h % 100));
}

static void make_event(const world *w, uint64_t i, mk_synth_event *event)
{
    pattern p;
    uint64_t at;
    event->vt_s = time_of(w, i);
    set_type(w, i, event);
    if (is_planted(w, i, &p, &at)) {
        pattern_ends(w, &p, at, i, event);
        event->rel_type = "MSG";
        event->vt_e = 0;
    } else {
        background_ends(w, i, event);
    }
    set_props(w, i, 0, event);
}

/* ---- corrections ---- */

typedef struct cluster {
    mk_op ops[CLUSTER];
    mk_synth_event events[CLUSTER];
    char discs[CLUSTER][MK_SYNTH_UID];
    size_t count;
} cluster;

/* The transaction time asked for, or the next one that is free. */
static mk_tt tick(world *w, int64_t wanted)
{
    w->tt = wanted > w->tt ? wanted : w->tt + 1;
    return (mk_tt){w->tt};
}

/* Adds what becomes of event i in a round. What is planted stays as it is: the manifest is the truth. */
static void add_fix(world *w, cluster *c, uint64_t i, unsigned revision, bool last)
{
    mk_synth_event *event = &c->events[c->count];
    const uint64_t h = draw(w, i, LANE_FIX);
    pattern p;
    uint64_t at;
    if (is_planted(w, i, &p, &at))
        return;
    make_event(w, i, event);
    set_props(w, i, revision, event);
    mk_synth__uid(c->discs[c->count], "#", i, "");
    const int64_t end = event->vt_e != 0 ? event->vt_e : event->vt_s + 1;
    const int64_t middle = event->vt_s + (end - event->vt_s) / 2;
    const bool retract = last && h % 10 == 0, half = (h >> 8) % 2 == 0;
    mk_op *op = &c->ops[c->count++];
    *op = (mk_op){.kind = retract ? MK_OP_RETRACT : MK_OP_CORRECT,
                  .src = mk_str_of(event->src),
                  .dst = mk_str_of(event->dst),
                  .rel_type = mk_str_of(event->rel_type),
                  .disc = mk_str_of(c->discs[c->count - 1]),
                  .props = retract ? MK_STR("") : mk_str_of(event->props),
                  .source = MK_STR("ingest"),
                  .provenance_null = true,
                  .t = middle,
                  .vt_s = half ? middle : event->vt_s,
                  .vt_e = end};
    w->fixes++;
    w->retractions += retract;
}

/* Corrects the events from `first` on, half of the time once, and up to four times. */
static mk_code fix_cluster(world *w, uint64_t first, cluster *c, mk_err *err)
{
    const unsigned more = (unsigned)__builtin_ctzll(draw(w, first, LANE_FIX) | 1 << (DEPTH_MAX - 1));
    mk_code rc = MK_OK;
    for (unsigned round = 0; round <= more; round++) {
        c->count = 0;
        for (uint64_t i = first; i < first + CLUSTER; i++)
            add_fix(w, c, i, round + 1, round == more);
        if (c->count == 0)
            continue;
        w->fix_batches++;
        MK_TRY(rc, mk_synth__ops(w->out, c->ops, c->count, tick(w, w->tt + 1000), err));
    }
out:
    return rc;
}

/* One cluster in each cell of the batch just written, at a place that differs from cell to cell. */
static mk_code fix_batch(world *w, uint64_t from, uint64_t to, cluster *c, mk_err *err)
{
    mk_code rc = MK_OK;
    if (w->options->corrections == 0)
        return MK_OK;
    const uint64_t cell = CLUSTER * 100 / w->options->corrections;
    for (uint64_t at = from; at + cell <= to; at += cell)
        MK_TRY(rc, fix_cluster(w, at + draw(w, at, LANE_OTHER) % (cell - CLUSTER + 1), c, err));
out:
    return rc;
}

/* ---- one run ---- */

mk_code mk_synth__skewed_check(const mk_synth_options *o, mk_err *err)
{
    const uint64_t most = o->events / SLOT_MIN;
    if (o->events < 1 || o->events > EVENTS_MAX)
        return mk_synth__refuse(err, "n", o->events, "1 to 100000000000");
    if (o->nodes < 2 || o->nodes > UINT32_MAX)
        return mk_synth__refuse(err, "nodes", o->nodes, "2 to 4294967295");
    if (o->corrections > 50)
        return mk_synth__refuse(err, "corrections", o->corrections, "0 to 50 percent");
    if (o->skew < 1 || o->skew > 5)
        return mk_synth__refuse(err, "skew", o->skew, "1 to 5");
    if (o->cycles > PATTERNS_MAX || o->paths > PATTERNS_MAX || o->bursts > PATTERNS_MAX ||
        o->cycles + o->paths + o->bursts > (most < PATTERNS_MAX ? most : PATTERNS_MAX))
        return mk_synth__refuse(err, "cycles", o->cycles,
                                "cycles, paths and bursts together: one for every 64 events, and "
                                "1000000 at most");
    return MK_OK;
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static void lay_out(world *w)
{
    const mk_synth_options *o = w->options;
    w->key = mk_synth__mix(o->seed + 1);
    w->slot_count = o->cycles + o->paths + o->bursts;
    if (w->slot_count == 0)
        return;
    w->slot_size = o->events / w->slot_count;
    w->slot_step = w->slot_count * 5 / 8 + 1;
    while (common_divisor(w->slot_step, w->slot_count) != 1)
        w->slot_step++;
}

static void write_pattern(const world *w, uint64_t slot, mk_buf *m)
{
    const pattern p = pattern_of(w, slot);
    const uint64_t last = p.first + (p.length - 1) * p.stride;
    char uid[MK_SYNTH_UID];
    mk_buf_printf(m, "%s{\"kind\":\"%s\"", slot > 0 ? "," : "", kind_names[p.kind]);
    if (p.kind == BURST) {
        mk_buf_printf(m, ",\"n_events\":%llu,\"window\":[%lld,%lld]}", (unsigned long long)p.length,
                      (long long)time_of(w, p.first), (long long)time_of(w, last) + 1);
        return;
    }
    mk_buf_z(m, ",\"nodes\":[");
    for (uint64_t i = 0; i < p.length + (p.kind == PATH); i++) {
        pattern_uid(&p, i, uid);
        mk_buf_printf(m, "%s\"%s\"", i > 0 ? "," : "", uid);
    }
    mk_buf_z(m, "],\"times\":[");
    for (uint64_t i = 0; i < p.length; i++)
        mk_buf_printf(m, "%s%lld", i > 0 ? "," : "", (long long)time_of(w, p.first + i * p.stride));
    mk_buf_z(m, "]}");
}

static void write_manifest(const world *w)
{
    const mk_synth_options *o = w->options;
    mk_buf *m = &w->out->report->manifest;
    mk_buf_printf(m, "{\"corrections\":{\"batches\":%llu,\"ops\":%llu,\"retractions\":%llu},",
                  (unsigned long long)w->fix_batches, (unsigned long long)w->fixes,
                  (unsigned long long)w->retractions);
    mk_buf_printf(m, "\"generator\":\"skewed-v1\",\"n_events\":%llu,\"n_nodes\":%llu,\"params\":{",
                  (unsigned long long)o->events, (unsigned long long)o->nodes);
    mk_buf_printf(m, "\"bursts\":%llu,\"corrections\":%u,\"cycles\":%llu,\"paths\":%llu,\"skew\":%u},",
                  (unsigned long long)o->bursts, o->corrections, (unsigned long long)o->cycles,
                  (unsigned long long)o->paths, o->skew);
    mk_buf_z(m, "\"planted\":[");
    for (uint64_t slot = 0; slot < w->slot_count; slot++)
        write_pattern(w, slot, m);
    mk_buf_printf(m, "],\"seed\":%llu}", (unsigned long long)o->seed);
}

mk_code mk_synth__skewed(mk_synth_out *out, mk_err *err)
{
    const mk_synth_options *o = out->options;
    world w = {.out = out, .options = o};
    cluster *c = mk_new(out->alloc, sizeof *c);
    mk_code rc = MK_OK;

    if (c == NULL)
        return mk_fail_nomem(err);
    lay_out(&w);
    for (uint64_t from = 0, to; from < o->events; from = to) {
        to = o->events - from < MK_SYNTH_CHUNK ? o->events : from + MK_SYNTH_CHUNK;
        /* The last event of the chunk comes last in time too. */
        const mk_tt tt = tick(&w, time_of(&w, to - 1) + 1);
        for (uint64_t i = from; i < to; i++) {
            make_event(&w, i, mk_synth__next(out));
            MK_TRY(rc, mk_synth__take(out, tt, err));
        }
        MK_TRY(rc, mk_synth__flush(out, tt, err));
        MK_TRY(rc, fix_batch(&w, from, to, c, err));
    }
    write_manifest(&w);

out:
    mk_free(out->alloc, c, sizeof *c);
    return rc;
}

/* synth_registry.c — the reference's evaluation store.
 *
 * Every event follows from its number alone, so a correction finds its edge again without any memory.
 * Source: store spec, 22.2; evaluation spec, 20.2. */
#include "load/synth_internal.h"

#define COMMUNITY 50u
#define EVENTS_MIN 40 /* below, the corrections in the middle would begin before the first event */
#define EVENTS_MAX UINT64_C(100000000000)

typedef struct world {
    mk_synth_out *out;
    uint64_t scale, nodes;
    int64_t life;
} world;

typedef struct edge {
    uint64_t src, dst;
    const char *rel_type;
    int64_t vt_s, vt_e;
} edge;

static uint64_t at_least(uint64_t least, uint64_t value) { return value > least ? value : least; }

/* One a microsecond, and ten times as many in the burst behind the middle. */
static int64_t time_of(const world *w, uint64_t i)
{
    const uint64_t b0 = w->scale / 2, b1 = b0 + at_least(1, w->scale / 20);
    return (int64_t)(b0 <= i && i < b1 ? b0 + (i - b0) / 10 : i);
}

static edge edge_of(const world *w, uint64_t i)
{
    const uint64_t src = mk_synth__mix(2 * i) % w->nodes, r = mk_synth__mix(2 * i + 1);
    const uint64_t base = src / COMMUNITY * COMMUNITY;
    const uint64_t near = w->nodes - base < COMMUNITY ? w->nodes - base : COMMUNITY;
    const int64_t vt_s = time_of(w, i);
    return (edge){.src = src,
                  .dst = r % 100 < 70 ? base + (r >> 8) % near : (r >> 8) % w->nodes,
                  .rel_type = i % 3 == 0 ? "S" : "R",
                  .vt_s = vt_s,
                  .vt_e = vt_s + w->life};
}

/* ---- writes ---- */

static mk_code write_events(world *w, mk_err *err)
{
    mk_code rc = MK_OK;
    for (uint64_t i = 0; i < w->scale; i++) {
        const edge e = edge_of(w, i);
        mk_synth_event *event = mk_synth__next(w->out);
        mk_synth__uid(event->src, "n", e.src, "");
        mk_synth__uid(event->dst, "n", e.dst, "");
        event->props[0] = '\0';
        event->rel_type = e.rel_type;
        event->vt_s = e.vt_s;
        event->vt_e = e.vt_e;
        MK_TRY(rc, mk_synth__take(w->out, mk_synth__tick(w->out), err));
    }
    rc = mk_synth__flush(w->out, mk_synth__tick(w->out), err);

out:
    return rc;
}

static mk_code write_op(world *w, mk_op *op, mk_err *err)
{
    op->source = MK_STR("ingest");
    op->provenance_null = true;
    return mk_synth__ops(w->out, op, 1, mk_synth__tick(w->out), err);
}

static mk_code write_node(world *w, mk_op_kind kind, mk_str props, mk_err *err)
{
    mk_op op = {.kind = kind, .on_node = true, .uid = MK_STR("n1"), .label = MK_STR("Node"),
                .props = props, .vt_s = 0, .vt_e = (int64_t)w->scale};
    return write_op(w, &op, err);
}

/* `op` with the identity of edge i. */
static mk_code write_edge(world *w, uint64_t i, mk_op op, mk_err *err)
{
    const edge e = edge_of(w, i);
    char src[MK_SYNTH_UID], dst[MK_SYNTH_UID], disc[MK_SYNTH_UID];
    mk_synth__uid(src, "n", e.src, "");
    mk_synth__uid(dst, "n", e.dst, "");
    mk_synth__uid(disc, "#", i, "");
    op.src = mk_str_of(src);
    op.dst = mk_str_of(dst);
    op.rel_type = mk_str_of(e.rel_type);
    op.disc = mk_str_of(disc);
    return write_op(w, &op, err);
}

static mk_code correct_whole(world *w, uint64_t i, mk_err *err)
{
    const edge e = edge_of(w, i);
    return write_edge(w, i, (mk_op){.kind = MK_OP_CORRECT, .props = MK_STR("{\"weight\":2}"),
                                    .vt_s = e.vt_s, .vt_e = e.vt_e}, err);
}

static mk_code correct_half(world *w, uint64_t i, mk_err *err)
{
    const edge e = edge_of(w, i);
    return write_edge(w, i, (mk_op){.kind = MK_OP_CORRECT, .props = MK_STR("{\"weight\":3}"),
                                    .vt_s = e.vt_s + w->life / 2, .vt_e = e.vt_e}, err);
}

static mk_code retract_half(world *w, uint64_t i, mk_err *err)
{
    return write_edge(w, i, (mk_op){.kind = MK_OP_RETRACT, .t = time_of(w, i) + w->life / 2}, err);
}

static mk_code write_history(world *w, mk_err *err)
{
    const uint64_t step = at_least(1, w->scale / 200), middle = w->scale / 2;
    const uint64_t life = (uint64_t)w->life, stride = at_least(1, life / 20);
    mk_code rc;

    MK_TRY(rc, write_node(w, MK_OP_ASSERT_NODE, MK_STR("{\"name\":\"alpha\"}"), err));
    for (uint64_t i = 0; i < w->scale; i += step)
        MK_TRY(rc, correct_whole(w, i, err));
    MK_TRY(rc, write_node(w, MK_OP_CORRECT, MK_STR("{\"name\":\"alpha-corrected\"}"), err));
    for (uint64_t i = middle - life / 2; i < middle; i += stride)
        MK_TRY(rc, correct_half(w, i, err));
    for (uint64_t i = 0; i < w->scale; i += 4 * step)
        MK_TRY(rc, retract_half(w, i, err));

out:
    return rc;
}

mk_code mk_synth__registry_check(const mk_synth_options *o, mk_err *err)
{
    if (o->events < EVENTS_MIN || o->events > EVENTS_MAX)
        return mk_synth__refuse(err, "n", o->events, "40 to 100000000000");
    return MK_OK;
}

mk_code mk_synth__registry(mk_synth_out *out, mk_err *err)
{
    const uint64_t scale = out->options->events;
    mk_code rc;

    world w = {.out = out, .scale = scale, .nodes = at_least(200, scale / 100),
               .life = (int64_t)at_least(40, scale / 20)};
    MK_TRY(rc, write_events(&w, err));
    const uint64_t loads = out->report->batches;
    MK_TRY(rc, write_history(&w, err));
    mk_buf_printf(&out->report->manifest,
                  "{\"belief_boundary\":%llu,\"generator\":\"registry\",\"n_events\":%llu,"
                  "\"n_nodes\":%llu,\"params\":{\"lifetime\":%lld,\"scale\":%llu}}",
                  (unsigned long long)loads + 1, (unsigned long long)out->report->events,
                  (unsigned long long)w.nodes, (long long)w.life, (unsigned long long)scale);

out:
    return rc;
}

/* evalgen.c — see evalgen.h. */
#include "evalgen.h"

#include <stdio.h>
#include <stdlib.h>

#include "bench.h"

#define CHUNK 50000u

static uint64_t mix(uint64_t x)
{
    x *= UINT64_C(0x9E3779B97F4A7C15);
    x ^= x >> 30;
    x *= UINT64_C(0xBF58476D1CE4E5B9);
    x ^= x >> 27;
    x *= UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

void evalgen_init(evalgen *gen, uint64_t scale)
{
    bench_must(mix(1) == UINT64_C(16294208416658607535), "mix(1) of the store spec, 22.2");
    gen->scale = scale;
    gen->nodes = scale / 100 > 200 ? scale / 100 : 200;
    gen->life = (int64_t)(scale / 20 > 40 ? scale / 20 : 40);
    gen->uids = malloc(gen->nodes * sizeof *gen->uids);
    bench_must(gen->uids != NULL, "memory");
    for (uint64_t i = 0; i < gen->nodes; i++)
        snprintf(gen->uids[i], sizeof gen->uids[i], "n%u", (unsigned)i);
}

void evalgen_free(evalgen *gen) { free(gen->uids); }

mk_str evalgen_uid(const evalgen *gen, uint64_t node) { return mk_str_of(gen->uids[node]); }

static int64_t time_of(const evalgen *gen, uint64_t i)
{
    const uint64_t b0 = gen->scale / 2;
    const uint64_t b1 = b0 + (gen->scale / 20 > 1 ? gen->scale / 20 : 1);
    return (int64_t)(b0 <= i && i < b1 ? b0 + (i - b0) / 10 : i);
}

evalgen_edge evalgen_at(const evalgen *gen, uint64_t i)
{
    const uint64_t n = gen->nodes, src = mix(2 * i) % n, r = mix(2 * i + 1);
    const uint64_t base = src / 50 * 50, near = n - base < 50 ? n - base : 50;
    const uint64_t dst = r % 100 < 70 ? base + (r >> 8) % near : (r >> 8) % n;
    const int64_t vt_s = time_of(gen, i);
    return (evalgen_edge){(uint32_t)src, (uint32_t)dst, i % 3 == 0, vt_s, vt_s + gen->life};
}

void evalgen_load(const evalgen *gen, mk_store *store, uint64_t from, uint64_t to)
{
    mk_event *events = malloc(CHUNK * sizeof *events);
    mk_err err;
    bench_must(events != NULL, "memory");
    for (uint64_t at = from; at < to; at += CHUNK) {
        const size_t count = (size_t)(to - at < CHUNK ? to - at : CHUNK);
        for (size_t i = 0; i < count; i++) {
            const evalgen_edge edge = evalgen_at(gen, at + i);
            events[i] = (mk_event){.src = evalgen_uid(gen, edge.src),
                                   .dst = evalgen_uid(gen, edge.dst),
                                   .rel_type = edge.s ? MK_STR("S") : MK_STR("R"),
                                   .disc_kind = MK_DISC_DEFAULT,
                                   .vt_s = edge.vt_s,
                                   .vt_e = edge.vt_e,
                                   .has_vt_e = true};
        }
        const mk_op op = {.kind = MK_OP_INGEST_EVENTS,
                          .source = MK_STR("ingest"),
                          .provenance_null = true,
                          .events = events,
                          .event_count = count,
                          .offset = (int64_t)at,
                          .node_label = MK_STR("Node")};
        bench_ok(mk_store_write(store, &op, 1, NULL, NULL, &err), &err, "loading events");
    }
    free(events);
}

mk_op evalgen_correct(const evalgen *gen, uint64_t i, mk_str props, char disc[EVALGEN_DISC])
{
    const evalgen_edge edge = evalgen_at(gen, i);
    snprintf(disc, EVALGEN_DISC, "#%llu", (unsigned long long)i);
    return (mk_op){.kind = MK_OP_CORRECT,
                   .src = evalgen_uid(gen, edge.src),
                   .dst = evalgen_uid(gen, edge.dst),
                   .rel_type = edge.s ? MK_STR("S") : MK_STR("R"),
                   .disc = mk_str_of(disc),
                   .props = props,
                   .vt_s = edge.vt_s,
                   .vt_e = edge.vt_e,
                   .source = MK_STR("ingest"),
                   .provenance_null = true};
}

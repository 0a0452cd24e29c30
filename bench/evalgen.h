/* evalgen.h — the evaluation generator: events of any number, the same in every run.
 *
 * scale / 20 edges live at any instant, communities of 50, a tenfold burst of a twentieth of the events.
 * Source: store spec, 22.2. */
#ifndef MK_BENCH_EVALGEN_H
#define MK_BENCH_EVALGEN_H

#include "store/store.h"

typedef struct evalgen {
    uint64_t scale, nodes;
    int64_t life;
    char (*uids)[16]; /* "n0" ... */
} evalgen;

typedef struct evalgen_edge {
    uint32_t src, dst;
    bool s; /* relation type "S", otherwise "R" */
    int64_t vt_s, vt_e;
} evalgen_edge;

void evalgen_init(evalgen *gen, uint64_t scale);
void evalgen_free(evalgen *gen);
evalgen_edge evalgen_at(const evalgen *gen, uint64_t i);
mk_str evalgen_uid(const evalgen *gen, uint64_t node);

/* Events [from, to) in batches of 50,000; the discriminator of event i is "#i". */
void evalgen_load(const evalgen *gen, mk_store *store, uint64_t from, uint64_t to);
/* An op that corrects edge i over its whole interval to the properties given, canonical JSON. The text
 * of the discriminator is kept in `disc`. */
#define EVALGEN_DISC 24
mk_op evalgen_correct(const evalgen *gen, uint64_t i, mk_str props, char disc[EVALGEN_DISC]);

#endif

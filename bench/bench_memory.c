/* bench_memory.c — what a version takes in memory when everything is ready to be asked.
 *
 * MK_BENCH_ROWS (10,000,000) events of the evaluation generator. A reader with every column of every
 * segment loaded; a writer after corrections all over the store (one row in a hundred), which has made
 * it build its tables of identities. Each in a process of its own; the columns are counted by
 * mk_segment_memory, the whole by the growth of the resident set. */
#include <stdio.h>

#include "bench.h"
#include "evalgen.h"
#include "store/internal.h"

typedef struct setting {
    const char *dir;
    evalgen gen;
} setting;

enum { SEGMENTS, RESIDENT, COUNT, IDENT, LISTS };

static void load(void *arg, double *numbers)
{
    setting *s = arg;
    mk_store *store;
    mk_err err;
    (void)numbers;
    const mk_store_options options = {.mode = MK_OPEN_CREATE_WRITER};
    bench_ok(mk_store_open(s->dir, &options, &store, &err), &err, "open");
    evalgen_load(&s->gen, store, 0, s->gen.scale);
    bench_ok(mk_store_close(store, &err), &err, "close");
}

static void load_columns(mk_store *store)
{
    mk_err err;
    const mk_state *state = atomic_load(&store->state);
    for (uint32_t i = 0; i < state->first[MK_LANE_COUNT]; i++) {
        mk_segment *segment = state->segments[i];
        for (int id = 0; id < MK_C_COUNT; id++) {
            const mk_col *col;
            if (segment->path == NULL || segment->size[id] != 0)
                bench_ok(mk_segment_col(segment, (mk_col_id)id, &col, &err), &err, "column");
        }
        mk_str props;
        if (segment->rows != 0)
            bench_ok(mk_segment_props(segment, 0, &props, &err), &err, "props");
    }
}

static void add_up(mk_store *store, size_t resident_before, double *numbers)
{
    const mk_state *state = atomic_load(&store->state);
    for (uint32_t i = 0; i < state->first[MK_LANE_COUNT]; i++) {
        const mk_segment *segment = state->segments[i];
        numbers[SEGMENTS] += (double)mk_segment_memory(segment);
        numbers[IDENT] += (double)(segment->ident_slots * sizeof *segment->ident);
        for (int id = MK_C_A_KEYS; id <= MK_C_B_ROWS; id++) {
            const mk_loaded_col *loaded = atomic_load(&segment->cols[id]);
            numbers[LISTS] += loaded ? (double)mk_col_memory(&loaded->col) : 0;
        }
    }
    numbers[RESIDENT] = (double)bench_rss() - (double)resident_before;
    numbers[COUNT] = state->first[MK_LANE_COUNT];
}

static void as_reader(void *arg, double *numbers)
{
    setting *s = arg;
    mk_store *store;
    mk_err err;
    const mk_store_options options = {.mode = MK_OPEN_READER};
    const size_t before = bench_rss();
    bench_ok(mk_store_open(s->dir, &options, &store, &err), &err, "open");
    load_columns(store);
    add_up(store, before, numbers);
    bench_ok(mk_store_close(store, &err), &err, "close");
}

static void as_writer(void *arg, double *numbers)
{
    enum { BATCH = 1000 };
    static mk_op ops[BATCH];
    static char disc[BATCH][EVALGEN_DISC];
    setting *s = arg;
    mk_store *store;
    mk_err err;
    const mk_store_options options = {.mode = MK_OPEN_WRITER};
    const size_t before = bench_rss();
    bench_ok(mk_store_open(s->dir, &options, &store, &err), &err, "open");
    size_t count = 0;
    for (uint64_t i = 0; i < s->gen.scale; i += 100) {
        ops[count] = evalgen_correct(&s->gen, i, MK_STR("{\"weight\":2}"), disc[count]);
        if (++count == BATCH || i + 100 >= s->gen.scale) {
            bench_ok(mk_store_write(store, ops, count, NULL, NULL, &err), &err, "corrections");
            count = 0;
        }
    }
    load_columns(store);
    add_up(store, before, numbers);
    bench_ok(mk_store_close(store, &err), &err, "close");
}

static void table(const char *who, const double *numbers, double versions, double bar)
{
    char label[96];
    snprintf(label, sizeof label, "%s: segments, everything loaded", who);
    bench_bar(label, numbers[SEGMENTS] / versions, "B/version", BENCH_AT_MOST, bar);
    snprintf(label, sizeof label, "%s: growth of the resident set", who);
    bench_row(label, numbers[RESIDENT] / versions, "B/version", "");
    bench_note("of the segments: lists %.1f, identities %.1f B/version; %.0f segments",
               numbers[LISTS] / versions, numbers[IDENT] / versions, numbers[COUNT]);
}

int main(void)
{
    char dir[1024];
    double numbers[BENCH_NUMBERS];
    setting s = {.dir = bench_path(dir, "store")};
    evalgen_init(&s.gen, bench_rows(10000000));
    const double versions = (double)(s.gen.scale + s.gen.nodes);
    bench_apart(load, &s, numbers);
    bench_note("%.0f versions", versions);
    bench_apart(as_reader, &s, numbers);
    table("reader", numbers, versions, 40);
    bench_apart(as_writer, &s, numbers);
    table("writer", numbers, versions * 1.01, 48);
    bench_remove(dir);
    evalgen_free(&s.gen);
    return 0;
}

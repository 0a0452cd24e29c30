/* aggregate_world.h — a store of events for tests of aggregate_events and version_history. Test support.
 *
 * Events are given as numbers, so that thousands are written in one line; everything fails the test on the
 * spot. A test includes it after cmocka.h. */
#ifndef MK_TESTS_AGGREGATE_WORLD_H
#define MK_TESTS_AGGREGATE_WORLD_H

#include <stdio.h>
#include <stdlib.h>

#include "op/aggregate_events.h"
#include "op/call.h"
#include "tmpdir.h"

enum { WORLD_UID = 24, WORLD_PROPS = 48 };

typedef struct world_event {
    char src[WORLD_UID], dst[WORLD_UID];
    const char *rel;
    char props[WORLD_PROPS];
    int64_t vt_s, vt_e;
} world_event;

typedef struct world {
    tmpdir dir;
    mk_store *store;
    mk_arena arena;
    mk_call_result result;
} world;

static inline void world_must(mk_code rc, const mk_err *err)
{
    if (rc != MK_OK)
        fail_msg("%s: %s", mk_code_name(rc), err->message);
}

static inline void world_open(world *w, uint32_t tail_rows)
{
    char path[TMPDIR_PATH_MAX];
    mk_err err;
    const mk_store_options options = {
        .mode = MK_OPEN_CREATE_WRITER, .tail_rows = tail_rows, .manual = true};
    tmpdir_make(&w->dir);
    world_must(mk_store_open(tmpdir_join(&w->dir, "store", path), &options, &w->store, &err), &err);
    mk_arena_init(&w->arena, &mk_alloc_default);
    mk_call_result_init(&w->result, &mk_alloc_default);
}

static inline void world_close(world *w)
{
    mk_err err;
    mk_call_result_free(&w->result);
    mk_arena_free(&w->arena);
    world_must(mk_store_close(w->store, &err), &err);
    tmpdir_remove(&w->dir);
}

/* One batch of events, numbered from `offset` on. */
static inline void world_ingest(world *w, const world_event *events, size_t count, int64_t offset)
{
    mk_err err;
    mk_event *list = malloc((count + 1) * sizeof *list);
    assert_non_null(list);
    for (size_t i = 0; i < count; i++)
        list[i] = (mk_event){.src = mk_str_of(events[i].src),
                             .dst = mk_str_of(events[i].dst),
                             .rel_type = mk_str_of(events[i].rel),
                             .disc_kind = MK_DISC_DEFAULT,
                             .props = mk_str_of(events[i].props),
                             .vt_s = events[i].vt_s,
                             .vt_e = events[i].vt_e,
                             .has_vt_e = true};
    const mk_op op = {.kind = MK_OP_INGEST_EVENTS, .events = list, .event_count = count, .offset = offset,
                      .node_label = MK_STR("Node"), .source = MK_STR("ingest"), .provenance_null = true};
    world_must(mk_store_write(w->store, &op, 1, NULL, NULL, &err), &err);
    free(list);
}

static inline mk_code world_try(world *w, const char *op, const char *args, size_t row_budget, mk_err *err)
{
    const mk_call_options options = {.row_budget = row_budget};
    return mk_call_run(w->store, NULL, mk_str_of(op), mk_str_of(args), &options, &w->arena, &w->result, err);
}

static inline void world_expect(world *w, const char *op, const char *args, const char *payload)
{
    mk_err err;
    world_must(world_try(w, op, args, 0, &err), &err);
    if (!mk_str_eq(mk_buf_view(&w->result.payload.text), mk_str_of(payload)))
        fail_msg("%s\ngot      %.*s\nexpected %s", args, (int)w->result.payload.text.n,
                 w->result.payload.text.p, payload);
}

static inline mk_err world_refuse(world *w, const char *op, const char *args, mk_code code)
{
    mk_err err;
    const mk_code rc = world_try(w, op, args, 0, &err);
    if (rc != code)
        fail_msg("%s: %s, expected %s", args, mk_code_name(rc), mk_code_name(code));
    return err;
}

#endif

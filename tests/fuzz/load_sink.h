/* load_sink.h — what the fuzz targets of the loaders share: a sink that checks what it is handed.
 *
 * Whatever the bytes, a front end ends with rows or a typed error, and every event it hands over is one
 * that could be logged: UTF-8 names that are not empty, times in range, props in canonical form. */
#ifndef MK_TESTS_LOAD_SINK_H
#define MK_TESTS_LOAD_SINK_H

#include <stdlib.h>

#include "load/load_internal.h"

static void need(bool truth)
{
    if (!truth)
        abort();
}

static void check_props(mk_str props)
{
    mk_arena arena;
    mk_buf canonical;
    mk_err err;

    if (props.n == 0)
        return;
    mk_arena_init(&arena, &mk_alloc_default);
    mk_buf_init(&canonical, &mk_alloc_default);
    need(mk_canon_text(&canonical, &arena, props, NULL, &err) == MK_OK);
    need(mk_str_eq(mk_buf_view(&canonical), props));
    mk_buf_free(&canonical);
    mk_arena_free(&arena);
}

static void check_text(mk_str text)
{
    need(text.n > 0 && mk_utf8_check(text) == text.n);
}

static mk_code take_event(mk_load_sink *sink, const mk_event *event, uint64_t line, mk_err *err)
{
    (void)err;
    check_text(event->src);
    check_text(event->dst);
    check_text(event->rel_type);
    need(mk_utf8_check(event->disc) == event->disc.n);
    need(event->vt_s >= MK_TIME_MIN && event->vt_s <= MK_OPEN_END && line > 0);
    need(!event->has_vt_e || (event->vt_e > event->vt_s && event->vt_e <= MK_OPEN_END));
    check_props(event->props);
    sink->done = ++sink->seen;
    mk_arena_reset(sink->arena);
    return MK_OK;
}

static mk_code take_op(mk_load_sink *sink, const mk_op *op, uint64_t line, mk_err *err)
{
    (void)err;
    need(line > 0);
    if (op->kind == MK_OP_ASSERT_NODE) {
        check_text(op->uid);
        check_props(op->props);
        need(op->vt_s < op->vt_e);
    }
    sink->done = ++sink->seen;
    mk_arena_reset(sink->arena);
    return MK_OK;
}

/* Runs one front end over the bytes behind the first, in reads of `step` bytes (0: all at once). */
static void run_front_end(const uint8_t *data, size_t size, size_t step, const mk_load_options *options,
                          mk_code (*front_end)(mk_load *load, void *ctx, mk_err *err), void *ctx)
{
    mk_arena arena;
    mk_load_report report = {0};
    mk_load_sink sink = {.event = take_event, .op = take_op, .arena = &arena};
    mk_load_memory memory = {.text = {(const char *)data + 1, size - 1}, .step = step};
    mk_load_reader reader;
    mk_load load;
    mk_err err;

    mk_arena_init(&arena, &mk_alloc_default);
    mk_load__init(&load, options, &report);
    mk_load__reader_init(&reader, &mk_alloc_default, mk_load__memory_read, &memory, &sink);
    load.reader = &reader;
    load.sink = &sink;
    const mk_code rc = front_end(&load, ctx, &err);
    need(rc == MK_OK || (err.code == rc && err.message[0] != '\0'));
    mk_load__reader_free(&reader);
    mk_load__free(&load);
    mk_arena_free(&arena);
}

#endif

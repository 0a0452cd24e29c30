/* Tables: any bytes, with the mapping and separator chosen by the first byte.
 *
 * Whatever comes, the front end ends with rows or a typed error, and every event it hands over is one
 * that could be logged: UTF-8 names that are not empty, times in range, props that are an object or
 * a value in canonical form. */
#include <stdlib.h>

#include "load/load_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    const unsigned choice = data[0];
    mk_load_options options = {.path = "fuzz", .skip_bad = choice & 64 ? 1000 : 0};
    static const char *const mappings[] = {
        NULL, "src=1,dst=2,vt_s=3,vt_e=4,props=*", "uid=1,label=2,vt_s=3,props=*",
        "src=a,dst=b,vt_s=c,rel_type=d,props=e:int,f:float,g:json,h:bool,i:time"};
    options.mapping = mappings[choice % 4];
    options.no_header = (choice & 4) != 0;
    options.prefix = choice & 8 ? "n" : NULL;
    mk_arena arena;
    mk_load_report report = {0};
    mk_load_sink sink = {.event = take_event, .op = take_op, .arena = &arena};
    mk_load_memory memory = {.text = {(const char *)data + 1, size - 1}, .step = choice & 32 ? 7 : 0};
    mk_load_reader reader;
    mk_load load;
    mk_err err;

    mk_arena_init(&arena, &mk_alloc_default);
    mk_load__init(&load, &options, &report);
    mk_load__reader_init(&reader, &mk_alloc_default, mk_load__memory_read, &memory, &sink);
    load.reader = &reader;
    load.sink = &sink;
    const mk_code rc = mk_load__csv(&load, choice & 16 ? '\t' : ',', &err);
    need(rc == MK_OK || (err.code == rc && err.message[0] != '\0'));
    mk_load__reader_free(&reader);
    mk_load__free(&load);
    mk_arena_free(&arena);
    return 0;
}

/* test_load_support.h — a sink that writes down what it is given, one line a row.
 *
 *   event: src>dst rel disc [vt_s,vt_e) props @line     (disc "*" when absent, vt_e "-" when absent)
 *   node:  node uid label [vt_s,vt_e) props @line
 *   other: op KIND @line */
#ifndef MK_TESTS_LOAD_SUPPORT_H
#define MK_TESTS_LOAD_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "load/load_internal.h"

typedef struct rig {
    mk_load_sink sink;
    mk_arena arena;
    mk_buf out;
    mk_load_options options;
    mk_load_report report;
    mk_load_memory memory;
    mk_load_reader reader;
    mk_load load;
    mk_err err;
    uint64_t events;
    bool quiet; /* count only */
} rig;

static inline mk_code rig_event(mk_load_sink *sink, const mk_event *event, uint64_t line, mk_err *err)
{
    rig *r = sink->ctx;

    (void)err;
    r->events++;
    sink->seen++;
    sink->done++;
    if (r->quiet) {
        mk_arena_reset(sink->arena);
        return MK_OK;
    }
    mk_buf_str(&r->out, event->src);
    mk_buf_c(&r->out, '>');
    mk_buf_str(&r->out, event->dst);
    mk_buf_c(&r->out, ' ');
    mk_buf_str(&r->out, event->rel_type);
    mk_buf_c(&r->out, ' ');
    if (event->disc_kind == MK_DISC_DEFAULT)
        mk_buf_c(&r->out, '*');
    mk_buf_str(&r->out, event->disc);
    mk_buf_z(&r->out, " [");
    mk_buf_i64(&r->out, event->vt_s);
    mk_buf_c(&r->out, ',');
    if (event->has_vt_e)
        mk_buf_i64(&r->out, event->vt_e);
    else
        mk_buf_c(&r->out, '-');
    mk_buf_z(&r->out, ") ");
    mk_buf_str(&r->out, event->props);
    mk_buf_printf(&r->out, " @%llu\n", (unsigned long long)line);
    mk_arena_reset(sink->arena);
    return MK_OK;
}

static inline mk_code rig_op(mk_load_sink *sink, const mk_op *op, uint64_t line, mk_err *err)
{
    rig *r = sink->ctx;

    (void)err;
    sink->seen++;
    sink->done++;
    if (op->kind == MK_OP_ASSERT_NODE) {
        mk_buf_z(&r->out, "node ");
        mk_buf_str(&r->out, op->uid);
        mk_buf_c(&r->out, ' ');
        mk_buf_str(&r->out, op->label);
        mk_buf_z(&r->out, " [");
        mk_buf_i64(&r->out, op->vt_s);
        mk_buf_c(&r->out, ',');
        if (op->vt_e == MK_OPEN_END)
            mk_buf_z(&r->out, "open");
        else
            mk_buf_i64(&r->out, op->vt_e);
        mk_buf_z(&r->out, ") ");
        mk_buf_str(&r->out, op->props);
    } else {
        mk_buf_printf(&r->out, "op %d %.*s", (int)op->kind, MK_STR_ARG(op->source));
    }
    mk_buf_printf(&r->out, " @%llu\n", (unsigned long long)line);
    mk_arena_reset(sink->arena);
    return MK_OK;
}

static inline mk_code rig_flush(mk_load_sink *sink, mk_err *err)
{
    (void)err;
    sink->done = sink->seen;
    return MK_OK;
}

/* Set options between rig_init and rig_open. */
static inline void rig_init(rig *r)
{
    memset(r, 0, sizeof *r);
    r->options.path = "in.txt";
    mk_arena_init(&r->arena, &mk_alloc_default);
    mk_buf_init(&r->out, &mk_alloc_default);
    r->sink = (mk_load_sink){
        .ctx = r, .event = rig_event, .op = rig_op, .flush = rig_flush, .arena = &r->arena};
}

static inline void rig_open(rig *r, mk_str text, size_t step)
{
    mk_load__init(&r->load, &r->options, &r->report);
    r->memory = (mk_load_memory){.text = text, .step = step};
    mk_load__reader_init(&r->reader, &mk_alloc_default, mk_load__memory_read, &r->memory, &r->sink);
    r->load.sink = &r->sink;
    r->load.reader = &r->reader;
}

static inline void rig_free(rig *r)
{
    mk_load__reader_free(&r->reader);
    mk_load__free(&r->load);
    mk_buf_free(&r->out);
    mk_arena_free(&r->arena);
}

/* What was written down so far, as a C string. */
static inline const char *rig_text(rig *r)
{
    mk_buf_c(&r->out, '\0');
    r->out.n--;
    return r->out.p;
}

#endif

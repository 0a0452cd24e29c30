/* batch.c — events and ops collected and committed one batch at a time.
 *
 * Up to 50,000 events become one ingest_events op in one batch; other ops go up to 10,000 a batch.
 * What was read first is committed first. A batch is all or nothing; when the store refuses it because
 * of one row, that row is named by file and line, and may be left out and the rest tried again when
 * bad rows are to be passed over.
 * Discriminators of events without one continue from what the store has seen, so that loading a file
 * twice makes new edges instead of two beliefs about one. Source: store spec, 7.7, 7.8, 24.1. */
#include "load/batch_internal.h"

#include <stdio.h>
#include <stdlib.h>

static mk_code take_event(mk_load_sink *sink, const mk_event *event, uint64_t line, mk_err *err);
static mk_code take_op(mk_load_sink *sink, const mk_op *op, uint64_t line, mk_err *err);
static mk_code take_flush(mk_load_sink *sink, mk_err *err);

void mk_batcher__init(mk_batcher *batcher, mk_load *load)
{
    const mk_load_options *options = load->options;
    const mk_alloc *alloc = options->alloc != NULL ? options->alloc : &mk_alloc_default;

    *batcher = (mk_batcher){.load = load};
    mk_arena_init(&batcher->arenas[0], alloc);
    mk_arena_init(&batcher->arenas[1], alloc);
    mk_intern_init(&batcher->made, alloc, mk_entropy64());
    batcher->event_cap = options->batch_events > 0 ? options->batch_events : MK_LOAD_BATCH_EVENTS;
    batcher->op_cap = options->batch_ops > 0 ? options->batch_ops : MK_LOAD_BATCH_OPS;
    batcher->sink = (mk_load_sink){.ctx = batcher,
                                   .event = take_event,
                                   .op = take_op,
                                   .flush = take_flush,
                                   .arena = &batcher->arenas[0]};
}

void mk_batcher__free(mk_batcher *batcher)
{
    const mk_alloc *alloc = batcher->arenas[0].alloc;

    if (batcher->events != NULL)
        mk_free(alloc, batcher->events, batcher->event_room * sizeof *batcher->events);
    if (batcher->ops != NULL)
        mk_free(alloc, batcher->ops, batcher->op_room * sizeof *batcher->ops);
    if (batcher->lines != NULL)
        mk_free(alloc, batcher->lines, batcher->line_room * sizeof *batcher->lines);
    mk_intern_free(&batcher->made);
    mk_arena_free(&batcher->arenas[0]);
    mk_arena_free(&batcher->arenas[1]);
}

/* ---- what the store refused ---- */

/* The index behind `word` in a path such as "ops[0].events[17].src". */
static bool index_in_path(const char *path, const char *word, size_t count, size_t *out)
{
    const char *at = strstr(path, word);

    if (at == NULL)
        return false;
    at += strlen(word);
    if (*at < '0' || *at > '9')
        return false;
    char *stop;
    const unsigned long long value = strtoull(at, &stop, 10);
    if (*stop != ']' || value >= count)
        return false;
    *out = (size_t)value;
    return true;
}

/* Puts file and line where the store said which event or op it was. */
static bool locate(mk_batcher *batcher, size_t count, const char *word, size_t *index, mk_err *err)
{
    if (!index_in_path(err->path, word, count, index))
        return false;
    mk_load__path(batcher->load, batcher->lines[*index], NULL, err);
    return true;
}

static void remove_at(void *items, size_t size, uint64_t *lines, size_t *count, size_t index)
{
    char *p = items;
    const size_t behind = *count - index - 1;

    memmove(p + index * size, p + (index + 1) * size, behind * size);
    memmove(lines + index, lines + index + 1, behind * sizeof *lines);
    (*count)--;
}

/* ---- committing ---- */

static void batch_done(mk_batcher *batcher, mk_tt tt, bool wrote)
{
    mk_load_report *report = batcher->load->report;

    if (wrote) {
        if (report->batches == 0)
            report->first_tt = tt;
        report->last_tt = tt;
        report->batches++;
    }
    batcher->event_count = batcher->op_count = 0;
    batcher->sink.done = batcher->sink.seen;
    if (batcher->made.count > 0) {
        const mk_alloc *alloc = batcher->made.alloc;
        const uint64_t seed = batcher->made.seed;
        mk_intern_free(&batcher->made);
        mk_intern_init(&batcher->made, alloc, seed);
    }
}

/* Writes, and while the store names a row that may be passed over, leaves it out and writes again. */
static mk_code write_tolerant(mk_batcher *batcher, mk_op *bulk, mk_tt *tt, mk_err *err)
{
    mk_load *load = batcher->load;
    const bool events = bulk != NULL;
    size_t *count = events ? &batcher->event_count : &batcher->op_count;
    size_t index;

    while (*count > 0) {
        if (events)
            bulk->event_count = *count;
        const mk_code rc = load->target->write(load->target->ctx, events ? bulk : batcher->ops,
                                               events ? 1 : *count, tt, err);
        if (rc == MK_OK)
            return MK_OK;
        if (!locate(batcher, *count, events ? "events[" : "ops[", &index, err))
            return rc;
        const mk_code stop = mk_load__tolerate(load, batcher->lines[index], rc, err);
        if (stop != MK_OK)
            return stop;
        if (events)
            remove_at(batcher->events, sizeof *batcher->events, batcher->lines, count, index);
        else
            remove_at(batcher->ops, sizeof *batcher->ops, batcher->lines, count, index);
    }
    return MK_OK;
}

static mk_code flush_events(mk_batcher *batcher, mk_err *err)
{
    mk_load *load = batcher->load;
    const mk_load_options *options = load->options;
    const uint64_t last_line = batcher->lines[batcher->event_count - 1];
    const int64_t next = load->target->next_disc(load->target->ctx);
    mk_tt tt = {0};

    if (batcher->offset < next)
        batcher->offset = next;
    mk_op bulk = {.kind = MK_OP_INGEST_EVENTS,
                  .events = batcher->events,
                  .offset = batcher->offset,
                  .node_label = mk_load__option(options->node_label, "Node"),
                  .source = mk_load__option(options->source, "ingest"),
                  .provenance_ref = mk_load__option(options->provenance_ref, ""),
                  .provenance_null = options->provenance_ref == NULL};
    const mk_code rc = write_tolerant(batcher, &bulk, &tt, err);
    if (rc != MK_OK)
        return rc;
    const size_t written = batcher->event_count;
    load->report->events += written;
    load->report->done_line = last_line;
    batcher->offset += (int64_t)written;
    batch_done(batcher, tt, written > 0);
    return MK_OK;
}

static mk_code flush_ops(mk_batcher *batcher, mk_err *err)
{
    mk_load *load = batcher->load;
    const uint64_t last_line = batcher->lines[batcher->op_count - 1];
    mk_tt tt = {0};
    const mk_code rc = write_tolerant(batcher, NULL, &tt, err);

    if (rc != MK_OK)
        return rc;
    const size_t written = batcher->op_count;
    load->report->ops += written;
    load->report->done_line = last_line;
    batch_done(batcher, tt, written > 0);
    return MK_OK;
}

static mk_code flush_held(mk_batcher *batcher, mk_err *err)
{
    if (batcher->event_count > 0)
        return flush_events(batcher, err);
    if (batcher->op_count > 0)
        return flush_ops(batcher, err);
    return MK_OK;
}

mk_code mk_batcher__flush(mk_batcher *batcher, mk_err *err)
{
    const mk_code rc = flush_held(batcher, err);

    if (rc == MK_OK) {
        mk_arena_reset(&batcher->arenas[0]);
        mk_arena_reset(&batcher->arenas[1]);
    }
    return rc;
}

/* Commits a batch of the other kind before a row that is already in the current arena. */
static mk_code change_kind(mk_batcher *batcher, mk_err *err)
{
    const mk_code rc = flush_held(batcher, err);

    if (rc != MK_OK)
        return rc;
    mk_arena *other = &batcher->arenas[batcher->sink.arena == &batcher->arenas[0]];
    mk_arena_reset(other);
    batcher->sink.arena = other;
    return MK_OK;
}

/* ---- taking ---- */

static mk_code room(mk_batcher *batcher, void **items, size_t *cap, size_t need, size_t size,
                    mk_err *err)
{
    const mk_alloc *alloc = batcher->arenas[0].alloc;
    void *lines = batcher->lines;
    mk_code rc;

    MK_TRY(rc, mk_grow(alloc, items, cap, need, size, err));
    rc = mk_grow(alloc, &lines, &batcher->line_room, need, sizeof *batcher->lines, err);
    batcher->lines = lines;

out:
    return rc;
}

static mk_code take_event(mk_load_sink *sink, const mk_event *event, uint64_t line, mk_err *err)
{
    mk_batcher *batcher = sink->ctx;
    mk_code rc = MK_OK;

    if (batcher->op_count > 0)
        MK_TRY(rc, change_kind(batcher, err));
    if (batcher->event_count == batcher->event_room || batcher->event_count >= batcher->line_room) {
        void *events = batcher->events;
        rc = room(batcher, &events, &batcher->event_room, batcher->event_count + 1,
                  sizeof *batcher->events, err);
        batcher->events = events;
        if (rc != MK_OK)
            goto out;
    }
    batcher->events[batcher->event_count] = *event;
    batcher->lines[batcher->event_count++] = line;
    sink->seen++;
    if (batcher->event_count >= batcher->event_cap)
        rc = mk_batcher__flush(batcher, err);

out:
    return rc;
}

static mk_code add_op(mk_batcher *batcher, const mk_op *op, uint64_t line, mk_err *err)
{
    void *ops = batcher->ops;
    const mk_code rc =
        room(batcher, &ops, &batcher->op_room, batcher->op_count + 1, sizeof *batcher->ops, err);

    batcher->ops = ops;
    if (rc != MK_OK)
        return rc;
    batcher->ops[batcher->op_count] = *op;
    batcher->lines[batcher->op_count++] = line;
    return MK_OK;
}

/* Asserts `uid` from the edge's start on, unless it is a node in the store or becomes one in this
 * batch. */
static mk_code make_endpoint(mk_batcher *batcher, const mk_op *edge, mk_str uid, uint64_t line,
                             mk_err *err)
{
    mk_load *load = batcher->load;
    bool has = false;
    uint32_t code;
    mk_code rc;

    if (mk_intern_find(&batcher->made, uid) != MK_INTERN_NONE)
        return MK_OK;
    MK_TRY(rc, load->target->has_node(load->target->ctx, uid, &has, err));
    MK_TRY(rc, mk_intern_add(&batcher->made, uid, &code, err));
    if (has)
        goto out;
    const mk_op node = {.kind = MK_OP_ASSERT_NODE,
                        .uid = uid,
                        .label = mk_load__option(load->options->node_label, "Node"),
                        .props = MK_STR("{}"),
                        .vt_s = edge->vt_s,
                        .vt_e = MK_OPEN_END,
                        .source = edge->source,
                        .provenance_ref = edge->provenance_ref,
                        .provenance_null = edge->provenance_null};
    rc = add_op(batcher, &node, line, err);

out:
    return rc;
}

static mk_code take_op(mk_load_sink *sink, const mk_op *op, uint64_t line, mk_err *err)
{
    mk_batcher *batcher = sink->ctx;
    const bool endpoints = batcher->load->options->create_endpoints;
    uint32_t code;
    mk_code rc = MK_OK;

    if (batcher->event_count > 0)
        MK_TRY(rc, change_kind(batcher, err));
    if (endpoints && op->kind == MK_OP_ASSERT_EDGE) {
        MK_TRY(rc, make_endpoint(batcher, op, op->src, line, err));
        MK_TRY(rc, make_endpoint(batcher, op, op->dst, line, err));
    }
    MK_TRY(rc, add_op(batcher, op, line, err));
    if (endpoints && op->kind == MK_OP_ASSERT_NODE)
        MK_TRY(rc, mk_intern_add(&batcher->made, op->uid, &code, err));
    sink->seen++;
    if (batcher->op_count >= batcher->op_cap)
        rc = mk_batcher__flush(batcher, err);

out:
    return rc;
}

static mk_code take_flush(mk_load_sink *sink, mk_err *err)
{
    return mk_batcher__flush(sink->ctx, err);
}

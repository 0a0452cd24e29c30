/* load.c — one load from open to report.
 *
 * Opens the input, finds out what it is, runs the front end into the batcher and commits what is left.
 * On any error what is held is dropped: a batch is loaded whole or not at all. */
#include "load/load.h"

#include <sys/stat.h>

#include "base/instream.h"
#include "load/batch_internal.h"
#include "store/view.h"

/* Enough of the input to tell its format. */
#define HEAD_BYTES 65536

/* ---- the store as a target ---- */

typedef struct store_target {
    mk_load_target target;
    const mk_alloc *alloc;
    mk_store *store;
    mk_view *view; /* of the newest state that was asked about */
    mk_tt view_tt;
} store_target;

static mk_code target_write(void *ctx, const mk_op *ops, size_t count, mk_tt *tt, mk_err *err)
{
    const store_target *self = ctx;

    return mk_store_write(self->store, ops, count, NULL, tt, err);
}

static int64_t target_next_disc(void *ctx)
{
    const store_target *self = ctx;

    return mk_store_next_disc(self->store);
}

static mk_code any_node(store_target *self, uint32_t id, bool *has, mk_err *err)
{
    mk_arena arena;
    mk_node_ref *refs;
    size_t count = 0;

    mk_arena_init(&arena, self->alloc);
    const mk_code rc = mk_view_node_refs(self->view, &arena, id, &refs, &count, err);
    mk_arena_free(&arena);
    *has = count > 0;
    return rc;
}

static mk_code target_has_node(void *ctx, mk_str uid, bool *has, mk_err *err)
{
    store_target *self = ctx;
    const mk_tt now = mk_store_last_tt(self->store);

    *has = false;
    if (self->view == NULL || self->view_tt.us != now.us) {
        mk_view_close(self->view);
        self->view = NULL;
        const mk_code rc = mk_view_at(self->store, (mk_tt){MK_OPEN_END}, 0, &self->view, err);
        if (rc != MK_OK)
            return rc;
        self->view_tt = now;
    }
    const uint32_t id = mk_view_entity(self->view, uid);
    if (id == MK_NO_ID)
        return MK_OK;
    return any_node(self, id, has, err);
}

static mk_tt target_last_tt(void *ctx)
{
    const store_target *self = ctx;

    return mk_store_last_tt(self->store);
}

static mk_code target_replay_line(void *ctx, mk_str line, bool *applied, mk_err *why, mk_err *err)
{
    const store_target *self = ctx;

    return mk_store_replay_line(self->store, line, true, applied, why, err);
}

static mk_code target_replay_flush(void *ctx, mk_err *err)
{
    const store_target *self = ctx;

    return mk_store_replay_flush(self->store, err);
}

static void store_target_init(store_target *self, mk_store *store, const mk_alloc *alloc)
{
    *self = (store_target){.alloc = alloc,
                           .store = store,
                           .target = {.write = target_write,
                                      .next_disc = target_next_disc,
                                      .has_node = target_has_node,
                                      .last_tt = target_last_tt,
                                      .replay_line = target_replay_line,
                                      .replay_flush = target_replay_flush}};
    self->target.ctx = self;
}

/* ---- the input ---- */

static mk_code stream_read(void *ctx, void *p, size_t n, size_t *got, mk_err *err)
{
    return mk_instream_read(ctx, p, n, got, err);
}

static uint64_t stream_bytes(void *ctx, uint64_t *total)
{
    *total = mk_instream_total_bytes(ctx);
    return mk_instream_read_bytes(ctx);
}

static bool is_folder(const char *path)
{
    struct stat st;

    return strcmp(path, "-") != 0 && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static mk_code unknown_format(const mk_load *load, mk_err *err)
{
    mk_fail(err, MK_E_INVALID_ARG, "cannot tell the format of %s", load->name);
    mk_err_path(err, "%s", load->name);
    mk_err_hint(err, "name it: --format edges, csv, tsv, jsonl, eventlog or git");
    return MK_E_INVALID_ARG;
}

/* Looks at the first bytes, which stay in the reader's window. */
static mk_code detect(mk_load *load, mk_load_options *options, mk_err *err)
{
    bool grew = true;
    mk_code rc = MK_OK;

    while (grew && mk_load__window(load->reader).n < HEAD_BYTES)
        MK_TRY(rc, mk_load__grow(load->reader, &grew, err));
    mk_load_preset preset = MK_LOAD_PRESET_NONE;
    options->format = mk_load_detect(options->path, mk_load__window(load->reader), &preset);
    if (options->preset == MK_LOAD_PRESET_NONE && options->columns == NULL)
        options->preset = preset;
    if (options->format == MK_LOAD_AUTO && mk_load__window(load->reader).n > 0)
        rc = unknown_format(load, err);

out:
    return rc;
}

static mk_code run_format(mk_load *load, mk_load_format format, mk_err *err)
{
    switch (format) {
    case MK_LOAD_EDGES:
        return mk_load__edges(load, err);
    case MK_LOAD_CSV:
        return mk_load__csv(load, ',', err);
    case MK_LOAD_TSV:
        return mk_load__csv(load, '\t', err);
    case MK_LOAD_JSONL:
        return mk_load__jsonl(load, err);
    case MK_LOAD_EVENTLOG:
        return mk_load__eventlog(load, err);
    case MK_LOAD_GIT:
        return mk_load__git(load, err);
    case MK_LOAD_AUTO:
        break; /* an empty input */
    }
    return MK_OK;
}

static mk_code run_stream(mk_load *load, mk_load_options *options, mk_err *err)
{
    const mk_alloc *alloc = options->alloc;
    mk_instream *stream = NULL;
    mk_load_reader reader = {0};
    mk_code rc;

    MK_TRY(rc, mk_instream_open(alloc, options->path, &stream, err));
    mk_load__reader_init(&reader, alloc, stream_read, stream, load->sink);
    load->reader = &reader;
    load->bytes_read = stream_bytes;
    load->bytes_ctx = stream;
    if (options->format == MK_LOAD_AUTO)
        MK_TRY(rc, detect(load, options, err));
    load->report->format = options->format;
    rc = run_format(load, options->format, err);
    load->report->bytes = reader.bytes;

out:
    if (rc != MK_OK && err->path[0] == '\0')
        mk_load__path(load, reader.lines + 1, NULL, err);
    mk_instream_close(stream);
    /* The reader's blocks hold strings of the last batch, so that is committed before they go. */
    if (rc == MK_OK)
        rc = load->sink->flush(load->sink, err);
    if (rc == MK_OK)
        load->report->done_line = reader.last;
    load->reader = NULL;
    mk_load__reader_free(&reader);
    return rc;
}

/* ---- the run ---- */

static mk_code check_options(const mk_load_options *options, mk_err *err)
{
    const struct {
        const char *name, *text;
    } texts[] = {
        {"rel_type", options->rel_type},     {"prefix", options->prefix},
        {"node_label", options->node_label}, {"source", options->source},
        {"mapping", options->mapping},       {"provenance_ref", options->provenance_ref},
    };

    if (options->path == NULL || options->path[0] == '\0') {
        mk_fail(err, MK_E_INVALID_ARG, "no input is named");
        mk_err_hint(err, "name a file, or - for standard input");
        return MK_E_INVALID_ARG;
    }
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const mk_str text = mk_load__option(texts[i].text, "");
        if (mk_utf8_check(text) == text.n)
            continue;
        mk_fail(err, MK_E_INVALID_ARG, "%s is not UTF-8", texts[i].name);
        mk_err_path(err, "%s", texts[i].name);
        return MK_E_INVALID_ARG;
    }
    const bool edges = options->format == MK_LOAD_EDGES || options->format == MK_LOAD_AUTO;
    if (!edges && (options->preset != MK_LOAD_PRESET_NONE || options->columns != NULL)) {
        mk_fail(err, MK_E_INVALID_ARG, "presets and column lists are for edge lists");
        mk_err_path(err, options->columns != NULL ? "columns" : "preset");
        mk_err_hint(err, "leave it out, or use --format edges; tables take a mapping");
        return MK_E_INVALID_ARG;
    }
    return MK_OK;
}

/* What is left open by the caller, so that nobody below needs to ask again. */
static mk_load_options complete(const mk_load_options *given)
{
    mk_load_options options = *given;

    if (options.alloc == NULL)
        options.alloc = &mk_alloc_default;
    if (options.clock == NULL)
        options.clock = &mk_clock_system;
    if (options.format == MK_LOAD_AUTO) {
        if (options.preset != MK_LOAD_PRESET_NONE || options.columns != NULL)
            options.format = MK_LOAD_EDGES;
        else if (is_folder(options.path))
            options.format = MK_LOAD_GIT;
    }
    return options;
}

static void measure(mk_load_report *report, int64_t us)
{
    report->seconds = us > 0 ? (double)us / 1e6 : 0;
    report->rows_per_s = us > 0 ? (double)report->rows / report->seconds : 0;
}

mk_code mk_load_run(mk_store *store, const mk_load_options *given, mk_load_report *report,
                    mk_err *err)
{
    mk_load_report unused;
    mk_err local;
    store_target target;
    mk_batcher batcher;
    mk_load load;

    if (err == NULL)
        err = &local;
    if (report == NULL)
        report = &unused;
    *report = (mk_load_report){0};
    mk_code rc = check_options(given, err);
    if (rc != MK_OK)
        return rc;
    mk_load_options options = complete(given);
    const int64_t started = options.clock->now_us(options.clock->ctx);
    store_target_init(&target, store, options.alloc);
    mk_load__init(&load, &options, report);
    mk_batcher__init(&batcher, &load);
    load.sink = &batcher.sink;
    load.target = &target.target;
    report->format = options.format;
    if (options.format == MK_LOAD_GIT)
        rc = mk_load__git(&load, err);
    else
        rc = run_stream(&load, &options, err);
    measure(report, options.clock->now_us(options.clock->ctx) - started);
    mk_batcher__free(&batcher);
    mk_load__free(&load);
    mk_view_close(target.view);
    return rc;
}

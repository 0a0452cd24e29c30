/* synth.c — one run of a generator: chunks of events, batches, text. See synth.h. */
#include "load/synth_internal.h"

#include "store/record.h"

/* ---- kinds ---- */

static const char *const kind_names[] = {"v1", "registry", "skewed"};

bool mk_synth_kind_named(const char *name, mk_synth_kind *out)
{
    for (size_t i = 0; i < sizeof kind_names / sizeof kind_names[0]; i++)
        if (strcmp(name, kind_names[i]) == 0) {
            *out = (mk_synth_kind)i;
            return true;
        }
    return false;
}

const char *mk_synth_kind_name(mk_synth_kind kind) { return kind_names[kind]; }

mk_synth_options mk_synth_defaults(mk_synth_kind kind)
{
    mk_synth_options options = {.kind = kind, .events = 100000, .nodes = 1000};
    if (kind == MK_SYNTH_REGISTRY)
        options.events = 20000;
    if (kind == MK_SYNTH_SKEWED) {
        options.nodes = 10000;
        options.cycles = options.paths = options.bursts = 3;
        options.corrections = 5;
        options.skew = 3;
    }
    return options;
}

mk_code mk_synth__refuse(mk_err *err, const char *option, uint64_t value, const char *hint)
{
    mk_fail(err, MK_E_INVALID_ARG, "%s: %llu cannot be made", option, (unsigned long long)value);
    mk_err_path(err, "%s", option);
    mk_err_hint(err, "%s", hint);
    return MK_E_INVALID_ARG;
}

/* ---- batches ---- */

static mk_str ingest(void) { return MK_STR("ingest"); }

mk_tt mk_synth__tick(const mk_synth_out *out)
{
    return (mk_tt){INT64_C(1000000000000000) + (int64_t)out->report->batches + 1};
}

mk_code mk_synth__ops(mk_synth_out *out, const mk_op *ops, size_t count, mk_tt tt, mk_err *err)
{
    out->report->batches++;
    out->report->ops += count;
    return out->each(out->ctx, ops, count, tt, err);
}

mk_code mk_synth__flush(mk_synth_out *out, mk_tt tt, mk_err *err)
{
    if (out->held == 0)
        return MK_OK;
    const mk_op op = {.kind = MK_OP_INGEST_EVENTS,
                      .source = ingest(),
                      .provenance_null = true,
                      .events = out->events,
                      .event_count = out->held,
                      .offset = (int64_t)out->offset,
                      .node_label = MK_STR("Node")};
    out->report->batches++;
    out->report->events += out->held;
    out->offset += out->held;
    out->held = 0;
    return out->each(out->ctx, &op, 1, tt, err);
}

mk_code mk_synth__take(mk_synth_out *out, mk_tt tt, mk_err *err)
{
    const mk_synth_event *e = &out->texts[out->held];
    out->events[out->held++] = (mk_event){.src = mk_str_of(e->src),
                                          .dst = mk_str_of(e->dst),
                                          .rel_type = mk_str_of(e->rel_type),
                                          .disc_kind = MK_DISC_DEFAULT,
                                          .props = mk_str_of(e->props),
                                          .vt_s = e->vt_s,
                                          .vt_e = e->vt_e,
                                          .has_vt_e = e->vt_e != 0};
    return out->held < MK_SYNTH_CHUNK ? MK_OK : mk_synth__flush(out, tt, err);
}

void mk_synth__uid(char *out, const char *prefix, uint64_t number, const char *rest)
{
    char digits[20];
    const size_t before = strlen(prefix), behind = strlen(rest);
    const size_t n = mk_u64_text(digits, number);
    MK_ASSERT(before + n + behind < MK_SYNTH_UID);
    memcpy(out, prefix, before);
    memcpy(out + before, digits, n);
    memcpy(out + before + n, rest, behind + 1);
}

/* ---- one run ---- */

void mk_synth_report_init(mk_synth_report *report, const mk_alloc *alloc)
{
    *report = (mk_synth_report){0};
    mk_buf_init(&report->manifest, alloc);
}

void mk_synth_report_free(mk_synth_report *report) { mk_buf_free(&report->manifest); }

typedef struct kind_functions {
    mk_code (*check)(const mk_synth_options *options, mk_err *err);
    mk_code (*run)(mk_synth_out *out, mk_err *err);
} kind_functions;

static const kind_functions kinds[] = {
    [MK_SYNTH_V1] = {mk_synth__v1_check, mk_synth__v1},
    [MK_SYNTH_REGISTRY] = {mk_synth__registry_check, mk_synth__registry},
    [MK_SYNTH_SKEWED] = {mk_synth__skewed_check, mk_synth__skewed},
};

mk_code mk_synth_check(const mk_synth_options *options, mk_err *err)
{
    return kinds[options->kind].check(options, err);
}

mk_code mk_synth_run(const mk_synth_options *options, mk_synth_fn *each, void *ctx,
                     mk_synth_report *report, mk_err *err)
{
    const mk_alloc *alloc = options->alloc != NULL ? options->alloc : &mk_alloc_default;
    const size_t texts_size = MK_SYNTH_CHUNK * sizeof(mk_synth_event);
    const size_t events_size = MK_SYNTH_CHUNK * sizeof(mk_event);
    mk_synth_out out = {.options = options, .alloc = alloc, .each = each, .ctx = ctx,
                        .report = report, .texts = mk_new(alloc, texts_size),
                        .events = mk_new(alloc, events_size)};
    mk_code rc;

    report->batches = report->events = report->ops = 0;
    mk_buf_clear(&report->manifest);
    if (out.texts == NULL || out.events == NULL) {
        rc = mk_fail_nomem(err);
        goto out;
    }
    MK_TRY(rc, mk_synth_check(options, err));
    MK_TRY(rc, kinds[options->kind].run(&out, err));
    rc = mk_buf_done(&report->manifest, err);

out:
    mk_free(alloc, out.events, events_size);
    mk_free(alloc, out.texts, texts_size);
    return rc;
}

/* ---- as text ---- */

static void put_string(mk_buf *out, const char *name, mk_str text)
{
    mk_buf_z(out, name);
    mk_canon_string(out, text);
}

static void put_time(mk_buf *out, const char *name, int64_t us)
{
    mk_buf_z(out, name);
    mk_buf_i64(out, us);
}

/* The reference's spelling: sorted members, a blank behind `:` and `,`. Props are canonical inside. */
static void put_event(const mk_event *event, bool with_disc, uint64_t number, mk_buf *out)
{
    char disc[MK_SYNTH_UID];
    if (with_disc) {
        mk_synth__uid(disc, "#", number, "");
        put_string(out, "{\"disc\": ", mk_str_of(disc));
        put_string(out, ", \"dst\": ", event->dst);
    } else {
        put_string(out, "{\"dst\": ", event->dst);
    }
    if (event->props.n > 0) {
        mk_buf_z(out, ", \"props\": ");
        mk_buf_str(out, event->props);
    }
    put_string(out, ", \"rel_type\": ", event->rel_type);
    put_string(out, ", \"src\": ", event->src);
    if (event->has_vt_e)
        put_time(out, ", \"vt_e\": ", event->vt_e);
    put_time(out, ", \"vt_s\": ", event->vt_s);
    mk_buf_z(out, "}\n");
}

void mk_synth_lines(mk_synth_kind kind, const mk_op *ops, size_t count, mk_buf *out)
{
    for (size_t i = 0; i < count; i++) {
        const mk_op *op = &ops[i];
        if (op->kind != MK_OP_INGEST_EVENTS) {
            mk_op_write(out, op);
            mk_buf_c(out, '\n');
            continue;
        }
        for (size_t k = 0; k < op->event_count; k++)
            put_event(&op->events[k], kind != MK_SYNTH_V1, (uint64_t)op->offset + k, out);
    }
}

/* cmd_synth.c — synth: made data, into a file or a store. Layer: cli. */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "cli/cli.h"
#include "load/synth.h"
#include "store/record.h"

/* ---- options ---- */

/* Options that only some kinds have. */
typedef struct kind_option {
    const char *name;
    unsigned kinds; /* bits by mk_synth_kind */
    uint64_t min, max;
} kind_option;

#define BIT(kind) (1u << (kind))
static const kind_option kind_options[] = {
    {"nodes", BIT(MK_SYNTH_V1) | BIT(MK_SYNTH_SKEWED), 2, UINT32_MAX},
    {"seed", BIT(MK_SYNTH_V1) | BIT(MK_SYNTH_SKEWED), 0, INT64_MAX},
    {"rings", BIT(MK_SYNTH_V1), 0, 1000000},
    {"pingpong", BIT(MK_SYNTH_V1), 0, 1000000},
    {"bursts", BIT(MK_SYNTH_V1) | BIT(MK_SYNTH_SKEWED), 0, 1000000},
    {"cycles", BIT(MK_SYNTH_SKEWED), 0, 1000000},
    {"paths", BIT(MK_SYNTH_SKEWED), 0, 1000000},
    {"corrections", BIT(MK_SYNTH_SKEWED), 0, 50},
    {"skew", BIT(MK_SYNTH_SKEWED), 1, 5},
};

static mk_code read_kind_option(const mk_cli *cli, const kind_option *option, mk_synth_kind kind,
                                uint64_t *out, mk_err *err)
{
    if (mk_options_has(&cli->options, option->name) && !(option->kinds & BIT(kind))) {
        mk_fail_usage(err, "--%s is not for %s", option->name, mk_synth_kind_name(kind));
        mk_err_hint(err, "merkhet synth --help says what each kind takes");
        return MK_E_INVALID_ARG;
    }
    return mk_options_u64(&cli->options, option->name, option->min, option->max, out, err);
}

static mk_code read_options(const mk_cli *cli, mk_synth_options *out, mk_err *err)
{
    const char *name = cli->options.words[0];
    mk_synth_kind kind;
    mk_code rc;

    if (!mk_synth_kind_named(name, &kind)) {
        mk_fail_usage(err, "there is no kind \"%.60s\"", name);
        mk_err_hint(err, "one of v1, registry, skewed");
        return MK_E_INVALID_ARG;
    }
    *out = mk_synth_defaults(kind);
    out->alloc = cli->alloc;
    uint64_t corrections = out->corrections, skew = out->skew;
    uint64_t *const values[] = {&out->nodes,  &out->seed,  &out->rings,  &out->pingpongs, &out->bursts,
                                &out->cycles, &out->paths, &corrections, &skew};
    MK_TRY(rc, mk_options_u64(&cli->options, "n", 0, INT64_MAX, &out->events, err));
    for (size_t i = 0; i < sizeof kind_options / sizeof kind_options[0]; i++)
        MK_TRY(rc, read_kind_option(cli, &kind_options[i], kind, values[i], err));
    out->corrections = (unsigned)corrections;
    out->skew = (unsigned)skew;

out:
    return rc;
}

/* ---- where it goes ---- */

typedef struct target {
    mk_cli *cli;
    const mk_synth_options *options;
    bool log;        /* text: an event log, else lines */
    mk_store *store; /* NULL: text */
    mk_file *file;   /* NULL: standard output */
    uint64_t size;   /* of the file so far */
    uint64_t events;
    mk_buf text;
} target;

static mk_code put_text(target *t, mk_err *err)
{
    mk_code rc;
    MK_TRY(rc, mk_buf_done(&t->text, err));
    if (t->file == NULL)
        rc = mk_cli__put_buf(t->cli, &t->text, err);
    else
        rc = mk_fs_posix.write_at(mk_fs_posix.ctx, t->file, t->text.p, t->text.n, t->size, err);
    t->size += t->text.n;
    mk_buf_clear(&t->text);
out:
    return rc;
}

static mk_code take_batch(void *ctx, const mk_op *ops, size_t count, mk_tt tt, mk_err *err)
{
    target *t = ctx;
    mk_code rc = MK_OK;
    if (t->store != NULL)
        MK_TRY(rc, mk_store_write(t->store, ops, count, NULL, NULL, err));
    else if (t->log)
        MK_TRY(rc, mk_record_write(&t->text, ops, count, tt, err));
    else
        mk_synth_lines(t->options->kind, ops, count, &t->text);
    if (t->store == NULL)
        MK_TRY(rc, put_text(t, err));
    if (ops[0].kind == MK_OP_INGEST_EVENTS)
        t->events += ops[0].event_count;
    mk_cli__progress(t->cli, "synth: %llu of %llu events", (unsigned long long)t->events,
                     (unsigned long long)t->options->events);
out:
    return rc;
}

static mk_code open_file(const char *path, mk_file **out, mk_err *err)
{
    return mk_fs_posix.open(mk_fs_posix.ctx, path, MK_OPEN_WRITE | MK_OPEN_CREATE | MK_OPEN_TRUNCATE,
                            out, err);
}

static mk_code write_file(const char *path, const mk_buf *text, mk_err *err)
{
    mk_file *file;
    mk_code rc = open_file(path, &file, err);
    if (rc != MK_OK)
        return rc;
    rc = mk_fs_posix.write_at(mk_fs_posix.ctx, file, text->p, text->n, 0, err);
    if (rc == MK_OK)
        rc = mk_fs_posix.write_at(mk_fs_posix.ctx, file, "\n", 1, text->n, err);
    mk_fs_posix.close(mk_fs_posix.ctx, file);
    return rc;
}

/* ---- one run ---- */

#define PATH_SIZE 4096

/* A command line, understood. Empty paths: not wanted. */
typedef struct plan {
    mk_synth_options synth;
    bool store, log;
    char output[PATH_SIZE]; /* "" is standard output */
    char manifest[PATH_SIZE];
} plan;

static mk_code read_format(const mk_cli *cli, plan *p, mk_err *err)
{
    const char *format = mk_options_value(&cli->options, "format");
    p->log = p->synth.kind != MK_SYNTH_V1;
    if (format == NULL)
        return MK_OK;
    p->log = strcmp(format, "log") == 0;
    if (p->log || strcmp(format, "lines") == 0)
        return MK_OK;
    mk_fail_usage(err, "--format: there is no \"%.60s\"", format);
    mk_err_hint(err, "one of lines, log");
    return MK_E_INVALID_ARG;
}

/* A folder gets both files under the names that the reference uses. */
static mk_code read_plan(const mk_cli *cli, plan *p, mk_err *err)
{
    const mk_options *o = &cli->options;
    const char *output = mk_options_value(o, "output"), *manifest = mk_options_value(o, "manifest");
    struct stat info;
    mk_code rc;

    p->output[0] = p->manifest[0] = '\0';
    MK_TRY(rc, read_options(cli, &p->synth, err));
    MK_TRY(rc, read_format(cli, p, err));
    p->store = mk_options_has(o, "store");
    if (p->store && (output != NULL || mk_options_has(o, "format"))) {
        rc = mk_fail_usage(err, "--store takes no --output and no --format");
        goto out;
    }
    const bool folder = output != NULL && stat(output, &info) == 0 && S_ISDIR(info.st_mode);
    if (folder) {
        snprintf(p->output, PATH_SIZE, "%.4000s/%s", output, p->log ? "eventlog.jsonl" : "events.jsonl");
        snprintf(p->manifest, PATH_SIZE, "%.4000s/manifest.json", output);
    } else if (output != NULL && strcmp(output, "-") != 0) {
        snprintf(p->output, PATH_SIZE, "%s", output);
    }
    if (manifest != NULL)
        snprintf(p->manifest, PATH_SIZE, "%s", manifest);

out:
    return rc;
}

static mk_code report(mk_cli *cli, const plan *p, const mk_synth_report *r, mk_err *err)
{
    mk_buf out;
    if (cli->json)
        return mk_cli__put_json(cli, mk_buf_view(&r->manifest), err);
    mk_buf_init(&out, cli->alloc);
    mk_buf_printf(&out, "%-16s %s\n%-16s ", "kind", mk_synth_kind_name(p->synth.kind), "events");
    mk_text_count(&out, r->events);
    mk_buf_printf(&out, "\n%-16s ", "other operations");
    mk_text_count(&out, r->ops);
    mk_buf_printf(&out, "\n%-16s ", "batches");
    mk_text_count(&out, r->batches);
    mk_buf_printf(&out, "\n%-16s %s\n", "written to", p->store ? mk_cli__store_dir(cli) : p->output);
    const mk_code rc = mk_cli__put_buf(cli, &out, err);
    mk_buf_free(&out);
    return rc;
}

static mk_code open_target(mk_cli *cli, const plan *p, target *t, mk_err *err)
{
    if (p->store)
        return mk_cli__open(cli, mk_cli__store_dir(cli), MK_OPEN_CREATE_WRITER, false, &t->store, err);
    if (p->log)
        mk_buf_z(&t->text, MK_SYNTH_LOG_HEADER);
    return p->output[0] != '\0' ? open_file(p->output, &t->file, err) : MK_OK;
}

static mk_code check_is_new(mk_store *store, mk_err *err)
{
    if (store == NULL || mk_store_batches(store) == 0)
        return MK_OK;
    mk_fail(err, MK_E_STATE, "the store at %s holds %u batches already", mk_store_dir(store),
            mk_store_batches(store));
    mk_err_reason(err, "not_empty");
    mk_err_hint(err, "name a new folder: later operations refer to events by their number");
    return MK_E_STATE;
}

static mk_code run_synth(mk_cli *cli, mk_err *err)
{
    plan p;
    target t = {.cli = cli, .options = &p.synth};
    mk_synth_report r;
    mk_code rc;

    mk_buf_init(&t.text, cli->alloc);
    mk_synth_report_init(&r, cli->alloc);
    MK_TRY(rc, read_plan(cli, &p, err));
    t.log = p.log;
    MK_TRY(rc, mk_synth_check(&p.synth, err));
    MK_TRY(rc, open_target(cli, &p, &t, err));
    MK_TRY(rc, check_is_new(t.store, err));
    MK_TRY(rc, mk_synth_run(&p.synth, take_batch, &t, &r, err));
    MK_TRY(rc, put_text(&t, err));
    mk_cli__progress_end(cli);
    if (p.manifest[0] != '\0')
        MK_TRY(rc, write_file(p.manifest, &r.manifest, err));
    if (p.store || p.output[0] != '\0')
        rc = report(cli, &p, &r, err);

out:
    if (t.file != NULL)
        mk_fs_posix.close(mk_fs_posix.ctx, t.file);
    mk_synth_report_free(&r);
    mk_buf_free(&t.text);
    return mk_cli__close(t.store, rc, err);
}

static const mk_option synth_options[] = {
    {.name = "n", .letter = 'n', .value = "N",
     .doc = "events; default 100000, for registry 20000"},
    {.name = "nodes", .value = "N", .doc = "v1, skewed: default 1000 and 10000"},
    {.name = "seed", .value = "N", .doc = "v1, skewed: another seed, other data; default 0"},
    {.name = "rings", .value = "N", .doc = "v1: planted cycles of three; default 0"},
    {.name = "pingpong", .value = "N", .doc = "v1: planted exchanges of two; default 0"},
    {.name = "bursts", .value = "N", .doc = "v1, skewed: planted bursts; default 0 and 3"},
    {.name = "cycles", .value = "N", .doc = "skewed: planted cycles of 3 to 6; default 3"},
    {.name = "paths", .value = "N", .doc = "skewed: planted paths of 3 to 6 hops; default 3"},
    {.name = "corrections", .value = "PERCENT",
     .doc = "skewed: share of events that are corrected later; default 5"},
    {.name = "skew", .value = "G",
     .doc = "skewed: 1 (even) to 5; degrees fall off with exponent 2 + 1/(G-1); default 3"},
    {.name = "output", .letter = 'o', .value = "FILE",
     .doc = "a file, or a folder for data and manifest.json; default standard output"},
    {.name = "format", .value = "NAME",
     .doc = "lines for ingest (default of v1) or log for replay (of the others)"},
    {.name = "manifest", .value = "FILE", .doc = "also write what was made, and what is planted where"},
    {0},
};

const mk_command mk_commands_synth[] = {
    {.name = "synth",
     .words = "KIND",
     .summary = "makes data sets, the same everywhere for the same seed",
     .help = "v1        the reference's benchmark stream, byte for byte: instant messages over 90\n"
             "          days; who is well known becomes better known. Planted rings, ping-pongs, bursts.\n"
             "registry  the reference's evaluation store: intervals in communities of 50, one burst,\n"
             "          then corrections and retractions, one batch each.\n"
             "skewed    power-law degrees, instants and intervals, planted cycles, paths and bursts\n"
             "          with their places in the manifest, corrections in clusters and several deep.\n\n"
             "With --store the batches are written into a new store. Otherwise they are text: lines of\n"
             "events and operations, or an event log that keeps batches and transaction times apart.\n"
             "With -o or --store the manifest is printed (--json) or summed up. Memory stays at one\n"
             "batch; v1 needs 24 bytes an event.",
     .example = "merkhet synth v1 --nodes 50 -n 1000 --rings 2 -o events.jsonl --manifest rings.json\n"
                "merkhet ingest events.jsonl --store talk\n"
                "merkhet synth skewed -n 5000 --nodes 500 --store world\n"
                "merkhet synth registry -n 2000 | merkhet replay - --store registry",
     .options = synth_options,
     .words_min = 1,
     .words_max = 1,
     .run = run_synth},
    {0},
};

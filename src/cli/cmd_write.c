/* cmd_write.c — assert, retract, correct: one operation from options, or a batch as JSON lines. Layer: cli.
 *
 * All operations of one call are one batch: one transaction time, all of it or nothing. */
#include <stdio.h>
#include <unistd.h>

#include "api_json.h"
#include "base/instream.h"
#include "cli/cli.h"

typedef enum verb { VERB_ASSERT, VERB_RETRACT, VERB_CORRECT } verb;

typedef struct writing {
    mk_cli *cli;
    mk_store *store;
    mk_arena arena;
    mk_buf text; /* what came in on standard input */
    mk_api_origin origin;
    mk_str request_id;
    mk_str node_label;
    bool create_endpoints;
    mk_op *ops;
    size_t count;
} writing;

/* ---- one operation from options ---- */

static mk_str option_text(const mk_cli *cli, const char *name)
{
    const char *text = mk_options_value(&cli->options, name);
    return text != NULL ? mk_str_of(text) : (mk_str){0};
}

/* Sets what the operation is about: a node or an edge. */
static mk_code read_subject(const mk_cli *cli, mk_op *op, mk_err *err)
{
    const mk_options *o = &cli->options;
    const char *const *edge = mk_options_values(o, "edge");
    op->on_node = mk_options_has(o, "node");
    if (op->on_node == (edge != NULL)) {
        mk_fail_usage(err, op->on_node ? "--node and --edge exclude each other"
                                       : "neither --node nor --edge is given");
        mk_err_hint(err, "write --node UID, or --edge SRC REL DST, or - to read JSON lines");
        return MK_E_INVALID_ARG;
    }
    if (op->on_node) {
        op->uid = option_text(cli, "node");
        if (mk_options_has(o, "disc"))
            return mk_fail_usage(err, "--disc goes with --edge");
        return MK_OK;
    }
    op->src = mk_str_of(edge[0]);
    op->rel_type = mk_str_of(edge[1]);
    op->dst = mk_str_of(edge[2]);
    op->disc = option_text(cli, "disc");
    return MK_OK;
}

static mk_code read_props(writing *w, mk_op *op, mk_err *err)
{
    const char *text = mk_options_value(&w->cli->options, "props");
    mk_json *tree;
    mk_code rc = MK_OK;
    op->props = MK_STR("{}");
    if (text == NULL)
        return MK_OK;
    MK_TRY(rc, mk_json_parse(&w->arena, mk_str_of(text), NULL, &tree, err));
    if (tree->kind != MK_JSON_OBJECT) {
        rc = mk_fail(err, MK_E_SCHEMA, "the properties are no JSON object: %.200s", text);
        mk_err_hint(err, "write --props '{\"name\":\"value\"}'");
        goto out;
    }
    MK_TRY(rc, mk_canon_tree(&w->text, &w->arena, tree, err));
    op->props = mk_buf_view(&w->text);
out:
    if (rc != MK_OK)
        mk_err_path(err, "--props");
    return rc;
}

static mk_code read_one(writing *w, verb which, mk_err *err)
{
    const mk_cli *cli = w->cli;
    mk_op *op = mk_arena_get0(&w->arena, sizeof *op);
    mk_code rc;
    if (op == NULL)
        return mk_fail_nomem(err);
    MK_TRY(rc, read_subject(cli, op, err));
    op->kind = which == VERB_RETRACT   ? MK_OP_RETRACT
               : which == VERB_CORRECT ? MK_OP_CORRECT
               : op->on_node          ? MK_OP_ASSERT_NODE
                                      : MK_OP_ASSERT_EDGE;
    op->vt_e = MK_OPEN_END;
    op->source = w->origin.source.n != 0 ? w->origin.source : MK_STR("ingest");
    op->provenance_ref = w->origin.provenance_ref;
    op->provenance_null = w->origin.provenance_ref.n == 0;
    if (which == VERB_RETRACT) {
        if (!mk_options_has(&cli->options, "at")) {
            rc = mk_fail_usage(err, "--at is missing");
            mk_err_hint(err, "write --at TIME: from then on it no longer holds");
            goto out;
        }
        MK_TRY(rc, mk_options_time(&cli->options, "at", &op->t, err));
    } else {
        MK_TRY(rc, mk_options_time(&cli->options, "from", &op->vt_s, err));
        MK_TRY(rc, mk_options_time(&cli->options, "to", &op->vt_e, err));
        MK_TRY(rc, read_props(w, op, err));
    }
    if (which == VERB_ASSERT && op->on_node)
        op->label = mk_options_has(&cli->options, "label") ? option_text(cli, "label") : MK_STR("Node");
    w->ops = op;
    w->count = 1;
out:
    return rc;
}

/* ---- writing ---- */

static mk_code commit(writing *w, mk_tt *tt, mk_err *err)
{
    const mk_write_options options = {.request_id = w->request_id};
    mk_code rc;
    if (w->create_endpoints)
        MK_TRY(rc, mk_api_add_endpoints(w->store, &w->arena, w->node_label, &w->ops, &w->count, err));
    rc = mk_store_write(w->store, w->ops, w->count, &options, tt, err);
out:
    return rc;
}

static mk_code put_done(writing *w, size_t ops, mk_tt tt, mk_err *err)
{
    mk_buf out;
    mk_code rc;
    mk_buf_init(&out, w->cli->alloc);
    if (w->cli->json) {
        mk_buf_printf(&out, "{\"ops\":%zu,\"tt\":%lld}\n", ops, (long long)tt.us);
    } else {
        mk_buf_printf(&out, "%zu operation%s, believed since ", ops, ops == 1 ? "" : "s");
        mk_text_time(&out, tt.us);
        mk_buf_c(&out, '\n');
    }
    rc = mk_cli__put_buf(w->cli, &out, err);
    mk_buf_free(&out);
    return rc;
}

static mk_code write_batch(writing *w, mk_err *err)
{
    mk_tt tt;
    mk_code rc;
    if (w->count == 0) {
        mk_fail(err, MK_E_INVALID_ARG, "there is no operation to write");
        mk_err_hint(err, "give one JSON object a line, such as {\"op\":\"assert_node\",\"uid\":\"ada\","
                         "\"label\":\"Person\",\"props\":{},\"vt_s\":0}");
        return MK_E_INVALID_ARG;
    }
    MK_TRY(rc, mk_cli__open(w->cli, mk_cli__store_dir(w->cli), MK_OPEN_CREATE_WRITER, false, &w->store,
                            err));
    MK_TRY(rc, commit(w, &tt, err));
    rc = put_done(w, w->count, tt, err);
out:
    return rc;
}

/* Each line its own batch, acknowledged by a line of output before the next is read. */
static mk_code write_each(writing *w, mk_err *err)
{
    mk_instream *in = NULL;
    mk_code rc;
    MK_TRY(rc, mk_instream_open(w->cli->alloc, "-", &in, err));
    MK_TRY(rc, mk_cli__open(w->cli, mk_cli__store_dir(w->cli), MK_OPEN_CREATE_WRITER, false, &w->store,
                            err));
    for (;;) {
        mk_str line;
        bool more, ended;
        mk_tt tt;
        MK_TRY(rc, mk_instream_line(in, MK_RECORD_MAX, true, &line, &more, &ended, err));
        if (!more)
            break;
        mk_arena_reset(&w->arena);
        rc = mk_api_read_ops(&w->arena, line, &w->origin, &w->ops, &w->count, err);
        if (rc == MK_OK && w->count == 0)
            continue;
        if (rc == MK_OK)
            rc = commit(w, &tt, err);
        if (rc != MK_OK) {
            char inside[sizeof err->path];
            memcpy(inside, err->path, sizeof inside);
            mk_err_path(err, "line %llu%s%s", (unsigned long long)mk_instream_line_number(in),
                        inside[0] ? ": " : "", inside);
            break;
        }
        MK_TRY(rc, put_done(w, w->count, tt, err));
        MK_TRY(rc, mk_cli__flush(err));
    }
out:
    mk_instream_close(in);
    return rc;
}

/* True when the operation is described by options and not on standard input. */
static bool has_flags(const mk_cli *cli)
{
    static const char *const names[] = {"node", "edge", "disc", "props", "from", "to", "at"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        for (const mk_option *o = cli->options.tables[0]; o->name != NULL; o++)
            if (strcmp(o->name, names[i]) == 0 && mk_options_has(&cli->options, names[i]))
                return true;
    return false;
}

static mk_code check_input(const mk_cli *cli, bool flags, bool each, mk_err *err)
{
    const bool dash = cli->options.word_count == 1;
    if (dash && strcmp(cli->options.words[0], "-") != 0) {
        mk_fail_usage(err, "unexpected \"%.60s\"", cli->options.words[0]);
        mk_err_hint(err, "- reads JSON lines from standard input; --node and --edge describe one operation");
        return MK_E_INVALID_ARG;
    }
    if (flags && (dash || each))
        return mk_fail_usage(err, "options that describe an operation and JSON lines exclude each other");
    if (!flags && !dash && isatty(STDIN_FILENO)) {
        mk_fail_usage(err, "there is nothing to %s", cli->command->name);
        mk_err_hint(err, "describe one operation with --node or --edge, or pass - and type JSON lines");
        return MK_E_INVALID_ARG;
    }
    if (each && mk_options_has(&cli->options, "request-id"))
        return mk_fail_usage(err, "--request-id names one batch, and --each writes many");
    return MK_OK;
}

static mk_code run_verb(mk_cli *cli, verb which, mk_err *err)
{
    const bool flags = has_flags(cli), each = mk_options_has(&cli->options, "each");
    writing w = {.cli = cli};
    mk_code rc;
    mk_arena_init(&w.arena, cli->alloc);
    mk_buf_init(&w.text, cli->alloc);
    w.origin.source = option_text(cli, "source");
    w.origin.provenance_ref = option_text(cli, "provenance-ref");
    w.request_id = option_text(cli, "request-id");
    if (which == VERB_ASSERT) {
        w.create_endpoints = mk_options_has(&cli->options, "create-endpoints");
        w.node_label = mk_options_has(&cli->options, "label") ? option_text(cli, "label") : MK_STR("Node");
    }
    MK_TRY(rc, check_input(cli, flags, each, err));
    if (each) {
        rc = write_each(&w, err);
        goto out;
    }
    if (flags) {
        MK_TRY(rc, read_one(&w, which, err));
    } else {
        MK_TRY(rc, mk_cli__read_all("-", MK_RECORD_MAX, "the batch on standard input", &w.text, err));
        MK_TRY(rc, mk_api_read_ops(&w.arena, mk_buf_view(&w.text), &w.origin, &w.ops, &w.count, err));
    }
    rc = write_batch(&w, err);
out:
    rc = mk_cli__close(w.store, rc, err);
    mk_buf_free(&w.text);
    mk_arena_free(&w.arena);
    return rc;
}

static mk_code run_assert(mk_cli *cli, mk_err *err)
{
    return run_verb(cli, VERB_ASSERT, err);
}

static mk_code run_retract(mk_cli *cli, mk_err *err)
{
    return run_verb(cli, VERB_RETRACT, err);
}

static mk_code run_correct(mk_cli *cli, mk_err *err)
{
    return run_verb(cli, VERB_CORRECT, err);
}

/* ---- the table ---- */

#define SUBJECT                                                                                    \
    {.name = "node", .value = "UID", .doc = "the node it is about"},                               \
    {.name = "edge", .value = "SRC REL DST", .count = 3, .doc = "the edge it is about"},           \
    {.name = "disc", .value = "TEXT", .doc = "tells edges of one type between two nodes apart"}
#define INTERVAL                                                                                   \
    {.name = "props", .value = "JSON", .doc = "properties, an object; default {}"},                \
    {.name = "from", .value = "TIME", .doc = "valid from; default 0, 1970-01-01T00:00:00Z"},       \
    {.name = "to", .value = "TIME", .doc = "valid until, exclusive; default open"}
#define ORIGIN                                                                                     \
    {.name = "source", .value = "TEXT", .doc = "kept with every version; default ingest"},         \
    {.name = "provenance-ref", .value = "TEXT", .doc = "kept with every version"},                 \
    {.name = "request-id",                                                                         \
     .value = "TEXT",                                                                              \
     .doc = "a repeat writes nothing and prints the first time"},                                  \
    {.name = "each", .doc = "JSON lines: every line is its own batch, acknowledged in turn"}

static const mk_option assert_options[] = {
    SUBJECT,
    {.name = "label", .value = "NAME",
     .doc = "label of the node, or of the ends that are created; default Node"},
    INTERVAL,
    ORIGIN,
    {.name = "create-endpoints", .doc = "also assert the ends of edges that are no nodes yet"},
    {0},
};
static const mk_option retract_options[] = {
    SUBJECT,
    {.name = "at", .value = "TIME", .doc = "from then on it no longer holds"},
    ORIGIN,
    {0},
};
static const mk_option correct_options[] = {SUBJECT, INTERVAL, ORIGIN, {0}};

#define LINES_HELP                                                                                 \
    "Without --node and --edge, JSON lines are read from standard input: one operation a line\n"   \
    "(assert_node, assert_edge, retract, correct, ingest_events in any mixture), all of them\n"    \
    "one atomic batch."

const mk_command mk_commands_write[] = {
    {.name = "assert",
     .words = "[-]",
     .summary = "states that a node or an edge held over an interval of valid time",
     .help = "What was believed over that interval is no longer believed, but stays in the past.\n"
             LINES_HELP,
     .example = "merkhet assert --store team --node ada --label Person --from 2024-01-01\n"
                "merkhet assert --store team --edge ada WORKS_ON orion --from 2024-02-01 "
                "--create-endpoints",
     .options = assert_options,
     .words_max = 1,
     .run = run_assert},
    {.name = "retract",
     .words = "[-]",
     .summary = "states that what held at a time held no longer from then on",
     .help = "Only the version valid at that time is cut short; later versions stay.\n"
             LINES_HELP,
     .example = "merkhet assert --store team --node ada --label Person --from 2024-01-01\n"
                "merkhet retract --store team --node ada --at 2024-06-01",
     .options = retract_options,
     .words_max = 1,
     .run = run_retract},
    {.name = "correct",
     .words = "[-]",
     .summary = "replaces the properties of a node or an edge over an interval of valid time",
     .help = "The whole interval is covered, gaps in it too; there has to be something to correct.\n"
             LINES_HELP,
     .example = "merkhet assert --store team --node ada --label Person --from 2024-01-01\n"
                "merkhet correct --store team --node ada --props '{\"role\":\"lead\"}' --from 2024-03-01",
     .options = correct_options,
     .words_max = 1,
     .run = run_correct},
    {0},
};

/* cmd_memory.c — memory build, list, show: notes about weeks. Layer: cli. */
#include <stdio.h>

#include "agent/memory.h"
#include "base/canon.h"
#include "cli/cli.h"

/* ---- building ---- */

static void show_progress(void *ctx, size_t done, size_t total)
{
    mk_cli__progress(ctx, "notes: %zu of %zu windows", done, total);
}

/* The model that --texts model asks for. */
static mk_code open_model(mk_cli *cli, mk_model **model, mk_err *err)
{
    const char *texts = mk_options_value(&cli->options, "texts");
    mk_code rc;
    *model = NULL;
    if (texts == NULL || strcmp(texts, "numbers") == 0)
        return MK_OK;
    if (strcmp(texts, "model") != 0) {
        rc = mk_fail_usage(err, "--texts: \"%.60s\" is neither numbers nor model", texts);
        goto out;
    }
    MK_TRY(rc, mk_cli__model_open(cli, model, err));
    if (*model == NULL) {
        rc = mk_fail(err, MK_E_INVALID_ARG, "no model is configured");
        mk_err_path(err, "MERKHET_LLM_URL");
        mk_err_hint(err, "set MERKHET_LLM_URL, or leave out --texts");
    }
out:
    return rc;
}

static mk_code put_built(mk_cli *cli, const mk_memory_built *built, mk_err *err)
{
    mk_buf out;
    mk_code rc;
    mk_buf_init(&out, cli->alloc);
    if (cli->json) {
        mk_buf_printf(&out, "{\"accepted\":%zu,\"rejected\":%zu,\"tt\":%lld,\"windows\":%zu,\"written\":%zu}",
                      built->accepted, built->rejected, (long long)built->tt.us, built->windows,
                      built->written);
        rc = mk_cli__put_json(cli, mk_buf_view(&out), err);
    } else {
        mk_buf_printf(&out, "weeks %zu, notes written %zu", built->windows, built->written);
        if (built->accepted + built->rejected != 0)
            mk_buf_printf(&out, ", with a model's text %zu, texts rejected %zu", built->accepted,
                          built->rejected);
        mk_buf_c(&out, '\n');
        rc = mk_cli__put_buf(cli, &out, err);
    }
    mk_buf_free(&out);
    return rc;
}

static mk_code run_build(mk_cli *cli, mk_err *err)
{
    mk_memory_build_options options = {.progress = show_progress, .progress_ctx = cli};
    mk_memory_built built;
    mk_store *store = NULL;
    mk_arena arena;
    mk_code rc;
    mk_arena_init(&arena, cli->alloc);
    options.to = mk_options_has(&cli->options, "from") ? MK_OPEN_END : 0;
    MK_TRY(rc, mk_options_time(&cli->options, "from", &options.from, err));
    MK_TRY(rc, mk_options_time(&cli->options, "to", &options.to, err));
    MK_TRY(rc, open_model(cli, &options.model, err));
    MK_TRY(rc, mk_cli__open(cli, mk_cli__store_dir(cli), MK_OPEN_WRITER, false, &store, err));
    MK_TRY(rc, mk_memory_build(store, &options, &arena, &built, err));
    mk_cli__progress_end(cli);
    rc = put_built(cli, &built, err);
out:
    rc = mk_cli__close(store, rc, err);
    mk_model_close(options.model);
    mk_arena_free(&arena);
    return rc;
}

/* ---- showing ---- */

static mk_code put_json_notes(mk_cli *cli, const mk_note *notes, size_t count, mk_err *err)
{
    mk_buf out;
    mk_code rc;
    mk_buf_init(&out, cli->alloc);
    mk_buf_z(&out, "{\"notes\":[");
    for (size_t i = 0; i < count; i++) {
        if (i != 0)
            mk_buf_c(&out, ',');
        mk_note_json(&notes[i], &out);
    }
    mk_buf_z(&out, "]}");
    MK_TRY(rc, mk_buf_done(&out, err));
    rc = mk_cli__put_json(cli, mk_buf_view(&out), err);
out:
    mk_buf_free(&out);
    return rc;
}

static mk_code put_table_notes(mk_cli *cli, const mk_note *notes, size_t count, mk_arena *arena, mk_err *err)
{
    static const char *const names[] = {"from", "to", "stands", "note"};
    char text[MK_TIME_TEXT_MAX];
    mk_table table;
    mk_code rc;
    MK_TRY(rc, mk_table_begin(&table, arena, names, 4, err));
    for (size_t i = 0; i < count; i++) {
        MK_TRY(rc, mk_table_cell(&table, (mk_str){text, mk_time_text(text, notes[i].t_a)}, err));
        MK_TRY(rc, mk_table_cell(&table, (mk_str){text, mk_time_text(text, notes[i].t_b)}, err));
        MK_TRY(rc, mk_table_cell(&table, notes[i].stale ? MK_STR("no") : MK_STR("yes"), err));
        MK_TRY(rc, mk_table_cell(&table, notes[i].text, err));
    }
    rc = mk_table_put(cli, &table, err);
out:
    return rc;
}

/* One note, a line a member. */
static void put_note(mk_buf *out, const mk_note *note)
{
    mk_buf_z(out, "from      ");
    mk_text_time(out, note->t_a);
    mk_buf_z(out, "\nto        ");
    mk_text_time(out, note->t_b);
    mk_buf_z(out, "\nas of tt  ");
    mk_text_time(out, note->as_of_tt);
    mk_buf_z(out, "\nwritten   ");
    mk_text_time(out, note->written_tt);
    mk_buf_printf(out, "\nstands    %s\nwritten by %s\nfacts     ",
                  note->stale ? "no: what is believed about this window has changed since" : "yes",
                  note->by_model ? "a model, every number a fact" : "merkhet");
    mk_text_safe(out, note->facts);
    mk_buf_z(out, "\nnote      ");
    mk_text_safe(out, note->text);
    mk_buf_c(out, '\n');
}

static mk_code put_full_notes(mk_cli *cli, const mk_note *notes, size_t count, mk_err *err)
{
    mk_buf out;
    mk_code rc;
    mk_buf_init(&out, cli->alloc);
    for (size_t i = 0; i < count; i++) {
        if (i != 0)
            mk_buf_c(&out, '\n');
        put_note(&out, &notes[i]);
    }
    rc = mk_cli__put_buf(cli, &out, err);
    mk_buf_free(&out);
    return rc;
}

/* The notes over [from, to) in full, or as a table. */
static mk_code show_notes(mk_cli *cli, int64_t from, int64_t to, bool full, mk_err *err)
{
    int64_t as_of = MK_OPEN_END;
    mk_store *store = NULL;
    mk_note *notes;
    mk_arena arena;
    size_t count;
    mk_code rc;
    mk_arena_init(&arena, cli->alloc);
    MK_TRY(rc, mk_options_time(&cli->options, "as-of-tt", &as_of, err));
    MK_TRY(rc, mk_cli__open(cli, mk_cli__store_dir(cli), MK_OPEN_READER, false, &store, err));
    MK_TRY(rc, mk_memory_list(store, (mk_tt){as_of}, from, to, &arena, &notes, &count, err));
    if (full && count == 0) {
        rc = mk_fail(err, MK_E_NOT_FOUND, "there is no note about that time");
        mk_err_hint(err, "`merkhet memory list` shows the notes, `merkhet memory build` writes them");
    } else if (cli->json) {
        rc = put_json_notes(cli, notes, count, err);
    } else {
        rc = full ? put_full_notes(cli, notes, count, err) : put_table_notes(cli, notes, count, &arena, err);
    }
out:
    rc = mk_cli__close(store, rc, err);
    mk_arena_free(&arena);
    return rc;
}

static mk_code run_list(mk_cli *cli, mk_err *err)
{
    int64_t from = MK_TIME_MIN, to = MK_OPEN_END;
    mk_code rc;
    MK_TRY(rc, mk_options_time(&cli->options, "from", &from, err));
    MK_TRY(rc, mk_options_time(&cli->options, "to", &to, err));
    rc = show_notes(cli, from, to, false, err);
out:
    return rc;
}

static mk_code run_show(mk_cli *cli, mk_err *err)
{
    int64_t at;
    mk_code rc;
    MK_TRY(rc, mk_time_parse(mk_str_of(cli->options.words[0]), &at, err));
    rc = show_notes(cli, at, at < MK_OPEN_END ? at + 1 : at, true, err);
out:
    return rc;
}

/* ---- the table ---- */

static const mk_option build_options[] = {
    {.name = "from", .value = "TIME", .doc = "only weeks that end after this valid time"},
    {.name = "to", .value = "TIME", .doc = "only weeks that begin before this valid time"},
    {.name = "texts", .value = "HOW", .doc = "numbers (default), or model: MERKHET_LLM_URL writes them"},
    {0},
};
static const mk_option list_options[] = {
    {.name = "from", .value = "TIME", .doc = "only weeks that end after this valid time"},
    {.name = "to", .value = "TIME", .doc = "only weeks that begin before this valid time"},
    {.name = "as-of-tt", .value = "TIME", .doc = "the notes of that time, and whether they stood then"},
    {0},
};
static const mk_option show_options[] = {
    {.name = "as-of-tt", .value = "TIME", .doc = "the note of that time, and whether it stood then"},
    {0},
};

#define EXAMPLE_STORE                                                                              \
    "merkhet assert --store team --edge ada WROTE_TO bob --from 2024-05-01 --to 2024-05-02 "       \
    "--create-endpoints\n"                                                                         \
    "merkhet memory build --store team\n"

const mk_command mk_commands_memory[] = {
    {.name = "memory build",
     .words = "",
     .summary = "writes notes about weeks: events, newcomers, bursts",
     .help = "A note that stands is left alone; one whose week has changed since is written anew.\n"
             "A model's text is kept only when every number in it is one of the computed facts.",
     .example = EXAMPLE_STORE "merkhet memory list --store team",
     .options = build_options,
     .run = run_build},
    {.name = "memory list",
     .words = "",
     .summary = "lists the notes and whether they stand",
     .help = "A note stands until a write of any kind changes what is believed about its week.",
     .example = EXAMPLE_STORE "merkhet memory list --store team",
     .options = list_options,
     .run = run_list},
    {.name = "memory show",
     .words = "TIME",
     .summary = "shows the note about a valid time in full",
     .example = EXAMPLE_STORE "merkhet memory show 2024-05-01 --store team",
     .options = show_options,
     .words_min = 1,
     .words_max = 1,
     .run = run_show},
    {0},
};

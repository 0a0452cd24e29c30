/* cmd_replay_bundle.c — replay-bundle: does this store still say what the bundle says? Layer: cli. */
#include "agent/replay.h"
#include "cli/cli.h"

#define REPLAY_MEMORY_MAX ((size_t)4 << 30)

static void put_line(mk_buf *out, const mk_replayed_step *s)
{
    mk_buf_printf(out, "  %-4.*s %-32.*s ", MK_STR_ARG(s->step_id), MK_STR_ARG(s->op));
    if (s->same) {
        mk_buf_printf(out, "same    %.*s\n", (int)(s->result_then.n < 16 ? s->result_then.n : 16),
                      s->result_then.p);
        return;
    }
    mk_buf_printf(out, "DIFFERS\n       then %-8.*s %.*s\n       now  %-8.*s %.*s\n",
                  MK_STR_ARG(s->status_then),
                  MK_STR_ARG(s->result_then), MK_STR_ARG(s->status_now), MK_STR_ARG(s->result_now));
}

static void put_replay(const mk_replay *r, mk_buf *out)
{
    if (!r->ran) {
        mk_buf_z(out, "not run: ");
        mk_text_safe(out, r->why);
        mk_buf_c(out, '\n');
        for (size_t i = 0; i < r->check.fault_count; i++) {
            mk_buf_z(out, "  ");
            mk_text_safe(out, r->check.faults[i]);
            mk_buf_c(out, '\n');
        }
        return;
    }
    mk_buf_z(out, r->same ? "the store says the same\n" : "the store says something else\n");
    mk_buf_z(out, "believed at     ");
    mk_text_time(out, r->as_of_tt);
    mk_buf_printf(out, "\nanswer          %s\n\nsteps\n", r->same_answer ? "same" : "differs");
    for (size_t i = 0; i < r->step_count; i++)
        put_line(out, &r->steps[i]);
}

static mk_code run_replay_bundle(mk_cli *cli, mk_err *err)
{
    mk_plan_run_options options = {0};
    mk_store *store = NULL;
    mk_replay replay;
    mk_arena arena;
    mk_buf bundle, out;
    mk_code rc;
    mk_arena_init(&arena, cli->alloc);
    arena.limit = REPLAY_MEMORY_MAX;
    mk_buf_init(&bundle, cli->alloc);
    mk_buf_init(&out, cli->alloc);
    MK_TRY(rc, mk_cli__mask(cli, &options.mask, err));
    MK_TRY(rc, mk_cli__read_all(cli->options.words[0], MK_BUNDLE_MAX, "the bundle", &bundle, err));
    MK_TRY(rc, mk_cli__open(cli, mk_cli__store_dir(cli), MK_OPEN_READER, false, &store, err));
    MK_TRY(rc, mk_replay_bundle(store, mk_buf_view(&bundle), &options, &arena, &replay, err));
    if (cli->json)
        mk_replay_json(&replay, &out);
    else
        put_replay(&replay, &out);
    MK_TRY(rc, mk_buf_done(&out, err));
    MK_TRY(rc, cli->json ? mk_cli__put_json(cli, mk_buf_view(&out), err) : mk_cli__put_buf(cli, &out, err));
    cli->refused = !replay.same;
out:
    rc = mk_cli__close(store, rc, err);
    mk_buf_free(&out);
    mk_buf_free(&bundle);
    mk_arena_free(&arena);
    return rc;
}

static const mk_option replay_options[] = {
    {.name = "show", .value = "CLASSES", .doc = "see these too: resolution,knowledge,notes"},
    {0},
};

const mk_command mk_commands_replay_bundle[] = {
    {.name = "replay-bundle",
     .words = "BUNDLE|-",
     .summary = "runs the plan of a bundle again at its belief and compares",
     .help = "Prints for every step whether call, result and status are the same. Exit status 1 when\n"
             "anything differs, or when the bundle itself is damaged.",
     .example = "merkhet assert --store team --edge ada KNOWS bob --from 2024-01-01 --create-endpoints\n"
                "merkhet ask \"$(merkhet ask --store team | sed -n '2s/^ *//p')\" --store team "
                "--save-bundle b.json\n"
                "merkhet replay-bundle b.json --store team",
     .options = replay_options,
     .words_min = 1,
     .words_max = 1,
     .run = run_replay_bundle},
    {0},
};

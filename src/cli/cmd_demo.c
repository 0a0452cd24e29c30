/* cmd_demo.c — demo graph: the main job as a story that checks itself. Layer: cli.
 *
 * Every step prints the command that a reader could type and runs this very program with it, in a fresh
 * folder that is removed at the end. A step that does not end as the story says ends the demo with an error.
 * Needs no network, no model, and no more than a few seconds. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"
#include "cli/cli.h"

extern char **environ;

enum { ARGS_MAX = 16, PATH_SIZE = 256, OUTPUT_MAX = 1 << 20 };

typedef struct demo {
    mk_cli *cli;
    char dir[PATH_SIZE]; /* where it works */
    int64_t before;      /* newest belief before the correction */
} demo;

/* ---- the world of the story ---- */

#define PERSON(uid, role)                                                                          \
    "{\"op\":\"assert_node\",\"uid\":\"" uid "\",\"label\":\"Person\","                           \
    "\"props\":{\"role\":\"" role "\"},\"vt_s\":\"2024-01-01\"}\n"

/* Four people who write to each other in May and June 2024. */
static const char team[] =
    PERSON("ada", "analyst") PERSON("grace", "engineer") PERSON("alan", "engineer") PERSON("barbara", "lead")
    "{\"op\":\"ingest_events\",\"events\":["
    "{\"src\":\"ada\",\"dst\":\"grace\",\"rel_type\":\"MESSAGE\",\"vt_s\":\"2024-05-02T09:00:00Z\"},"
    "{\"src\":\"ada\",\"dst\":\"alan\",\"rel_type\":\"MESSAGE\",\"vt_s\":\"2024-05-06T10:30:00Z\"},"
    "{\"src\":\"ada\",\"dst\":\"grace\",\"rel_type\":\"MESSAGE\",\"vt_s\":\"2024-05-17T16:00:00Z\"},"
    "{\"src\":\"grace\",\"dst\":\"alan\",\"rel_type\":\"MESSAGE\",\"vt_s\":\"2024-05-21T08:15:00Z\"},"
    "{\"src\":\"alan\",\"dst\":\"barbara\",\"rel_type\":\"MESSAGE\",\"vt_s\":\"2024-05-29T14:45:00Z\"},"
    "{\"src\":\"ada\",\"dst\":\"barbara\",\"rel_type\":\"MESSAGE\",\"vt_s\":\"2024-06-03T11:00:00Z\"}]}\n";
/* What turns out later: this message of theirs was never sent. */
#define WRONG_DISC "#2"
#define WRONG_TIME "2024-05-17T16:00:00Z"

#define QUESTION "How many MESSAGE events did ada send in May 2024?"

/* ---- showing and running ---- */

static mk_code failed(mk_err *err, const char *what)
{
    mk_fail(err, MK_E_STATE, "the demo stopped: %s", what);
    mk_err_reason(err, "demo");
    return MK_E_STATE;
}

static mk_code say(demo *d, const char *text, mk_err *err)
{
    mk_buf line;
    mk_buf_init(&line, d->cli->alloc);
    mk_buf_printf(&line, d->cli->colour ? "\n\033[1m%s\033[0m\n" : "\n%s\n", text);
    const mk_code rc = mk_cli__put_buf(d->cli, &line, err);
    mk_buf_free(&line);
    return rc;
}

/* Characters that a shell takes as they are. */
#define PLAIN "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=-"

/* The command as a reader would type it. */
static mk_code show(demo *d, const char *const *args, mk_err *err)
{
    mk_buf line;
    mk_buf_init(&line, d->cli->alloc);
    mk_buf_c(&line, '$');
    for (; *args != NULL; args++) {
        const bool plain = (*args)[strspn(*args, PLAIN)] == '\0';
        mk_buf_printf(&line, plain ? " %s" : " '%s'", *args);
    }
    mk_buf_c(&line, '\n');
    mk_code rc = mk_cli__put_buf(d->cli, &line, err);
    if (rc == MK_OK)
        rc = mk_cli__flush(err);
    mk_buf_free(&line);
    return rc;
}

/* Runs `file` in the demo's folder and waits. With `out` its standard output goes to that file there. */
static mk_code spawn(demo *d, const char *file, const char *const *args, const char *out, int *status,
                     mk_err *err)
{
    posix_spawn_file_actions_t actions;
    pid_t child;
    int rc = posix_spawn_file_actions_init(&actions);
    if (rc != 0)
        return mk_fail_nomem(err);
    rc = posix_spawn_file_actions_addchdir_np(&actions, d->dir);
    /* What a refusal says belongs to the story, so it stands where the story is read. */
    if (rc == 0 && out != NULL)
        rc = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out, O_WRONLY | O_CREAT | O_TRUNC,
                                              0600);
    if (rc == 0)
        rc = posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    if (rc == 0)
        rc = posix_spawnp(&child, file, &actions, NULL, (char *const *)args, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (rc != 0) {
        mk_fail(err, MK_E_STATE, "%s cannot be run: %s", args[0], strerror(rc));
        return MK_E_STATE;
    }
    while (waitpid(child, status, 0) == -1)
        if (errno != EINTR)
            return failed(err, "a command was lost");
    *status = WIFEXITED(*status) ? WEXITSTATUS(*status) : 128;
    return MK_OK;
}

static mk_code run_args(demo *d, const char *const *args, const char *out, int wanted, mk_err *err)
{
    const bool own = strcmp(args[0], "merkhet") == 0;
    int status = -1;
    mk_code rc;
    MK_TRY(rc, show(d, args, err));
    MK_TRY(rc, spawn(d, own ? "/proc/self/exe" : args[0], args, out, &status, err));
    if (status != wanted)
        rc = failed(err, wanted == 0 ? "the command above failed"
                                     : "the command above should have been refused");
out:
    return rc;
}
#define RUN(d, wanted, err, ...)                                                                           \
    run_args((d), (const char *const[]){__VA_ARGS__, NULL}, NULL, (wanted), (err))
#define RUN_INTO(d, out, wanted, err, ...)                                                                 \
    run_args((d), (const char *const[]){__VA_ARGS__, NULL}, (out), (wanted), (err))

/* ---- files of the demo ---- */

static const char *path_of(const demo *d, const char *name, char out[PATH_SIZE + 64])
{
    snprintf(out, PATH_SIZE + 64, "%s/%s", d->dir, name);
    return out;
}

static mk_code put_file(demo *d, const char *name, const char *text, mk_err *err)
{
    return mk_fs_replace(&mk_fs_posix, d->dir, name, mk_str_of(text), err);
}

static mk_code read_json(demo *d, const char *name, mk_arena *arena, mk_json **out, mk_err *err)
{
    char path[PATH_SIZE + 64];
    mk_buf text;
    mk_code rc;
    mk_buf_init(&text, d->cli->alloc);
    MK_TRY(rc, mk_fs_read_all(&mk_fs_posix, path_of(d, name, path), OUTPUT_MAX, &text, err));
    rc = mk_json_parse(arena, mk_buf_view(&text), NULL, out, err);
out:
    mk_buf_free(&text);
    return rc;
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    (void)info;
    (void)kind;
    (void)walk;
    return remove(path);
}

/* ---- the story ---- */

static mk_code ask_first(demo *d, mk_err *err)
{
    mk_store *store = NULL;
    char path[PATH_SIZE + 64];
    mk_code rc;
    MK_TRY(rc, say(d, "1. Facts with the time they hold; the store adds when it learned them", err));
    MK_TRY(rc, put_file(d, "team.jsonl", team, err));
    MK_TRY(rc, RUN(d, 0, err, "merkhet", "ingest", "team.jsonl", "--store", "team"));
    MK_TRY(rc, say(d, "2. A question in words; every claim of the answer is looked up in the results", err));
    MK_TRY(rc, RUN(d, 0, err, "merkhet", "ask", QUESTION, "--store", "team"));
    MK_TRY(rc, mk_cli__open(d->cli, path_of(d, "team", path), MK_OPEN_READER, false, &store, err));
    d->before = mk_store_last_tt(store).us;
out:
    return mk_cli__close(store, rc, err);
}

#define MOTIF_ARGS                                                                                         \
    "{\"motif\":\"M_triangle_cyclic\",\"delta\":86400000000,\"window\":{\"t_a\":%s,\"t_b\":%s}}"

/* The window that the refusal offers, from its own JSON. */
static mk_code offered_window(const mk_json *error, int64_t *t_a, int64_t *t_b, mk_err *err)
{
    const mk_json *offers = mk_json_get(mk_json_get(error, "details"), "counter_offers");
    for (size_t i = 0; offers != NULL && offers->kind == MK_JSON_ARRAY && i < offers->n; i++) {
        const mk_json *value = mk_json_get(&offers->items[i], "value");
        const mk_json *a = mk_json_get(value, "t_a"), *b = mk_json_get(value, "t_b");
        if (a == NULL || b == NULL || a->kind != MK_JSON_INT || b->kind != MK_JSON_INT)
            continue;
        *t_a = a->i;
        *t_b = b->i;
        return MK_OK;
    }
    return failed(err, "the refusal offered no window");
}

static mk_code refuse_cost(demo *d, mk_err *err)
{
    char wide[160], narrow[160], from[24], to[24];
    mk_arena arena;
    mk_json *error;
    int64_t t_a = 0, t_b = 0;
    mk_code rc;
    mk_arena_init(&arena, d->cli->alloc);
    snprintf(wide, sizeof wide, MOTIF_ARGS, "\"2020-01-01\"", "\"2020-04-01\"");
    MK_TRY(rc, say(d, "3. Too dear a call is refused before it runs, and the refusal names what would pass",
                   err));
    MK_TRY(rc, RUN_INTO(d, "synth.txt", 0, err, "merkhet", "synth", "v1", "-n", "20000", "--store",
                        "market"));
    MK_TRY(rc, RUN(d, 1, err, "merkhet", "call", "count_temporal_motifs", wide, "--store", "market",
                   "--expansions-max", "1000000"));
    MK_TRY(rc, RUN_INTO(d, "refusal.json", 1, err, "merkhet", "call", "count_temporal_motifs", wide,
                        "--store", "market", "--expansions-max", "1000000", "--json"));
    MK_TRY(rc, read_json(d, "refusal.json", &arena, &error, err));
    MK_TRY(rc, offered_window(error, &t_a, &t_b, err));
    snprintf(from, sizeof from, "%lld", (long long)t_a);
    snprintf(to, sizeof to, "%lld", (long long)t_b);
    snprintf(narrow, sizeof narrow, MOTIF_ARGS, from, to);
    rc = RUN(d, 0, err, "merkhet", "call", "count_temporal_motifs", narrow, "--store", "market",
             "--expansions-max", "1000000");
out:
    mk_arena_free(&arena);
    return rc;
}

static mk_code correct(demo *d, mk_err *err)
{
    char before[24], after[24], path[PATH_SIZE + 64];
    mk_store *store = NULL;
    mk_code rc;
    MK_TRY(rc, say(d, "4. A correction: one message was never sent. Nothing is overwritten", err));
    MK_TRY(rc, RUN(d, 0, err, "merkhet", "retract", "--edge", "ada", "MESSAGE", "grace", "--disc",
                   WRONG_DISC, "--at", WRONG_TIME, "--store", "team", "--source", "audit"));
    MK_TRY(rc, RUN(d, 0, err, "merkhet", "ask", QUESTION, "--store", "team"));
    snprintf(before, sizeof before, "%lld", (long long)d->before);
    MK_TRY(rc, RUN(d, 0, err, "merkhet", "ask", QUESTION, "--store", "team", "--as-of-tt", before));
    MK_TRY(rc, mk_cli__open(d->cli, path_of(d, "team", path), MK_OPEN_READER, false, &store, err));
    snprintf(after, sizeof after, "%lld", (long long)mk_store_last_tt(store).us);
    MK_TRY(rc, say(d, "   and what changed between the two, by which transaction:", err));
    rc = RUN(d, 0, err, "merkhet", "ask", QUESTION, "--store", "team", "--explain-diff", before, after);
out:
    return mk_cli__close(store, rc, err);
}

static mk_code tamper(demo *d, mk_err *err)
{
    mk_code rc;
    MK_TRY(rc, say(d, "5. An answer travels with its evidence: whoever changes it is caught", err));
    MK_TRY(rc, RUN_INTO(d, "answer.txt", 0, err, "merkhet", "ask", QUESTION, "--store", "team",
                        "--save-bundle", "answer.json", "--html", "answer.html"));
    MK_TRY(rc, RUN(d, 0, err, "merkhet", "verify", "answer.json"));
    MK_TRY(rc, RUN(d, 0, err, "merkhet", "replay-bundle", "answer.json", "--store", "team"));
    MK_TRY(rc, say(d, "   Now somebody wants the old number back:", err));
    MK_TRY(rc, RUN(d, 0, err, "sed", "-i", "s/\"value\":2/\"value\":3/", "answer.json"));
    rc = RUN(d, 1, err, "merkhet", "verify", "answer.json");
out:
    return rc;
}

static mk_code more_questions(demo *d, mk_err *err)
{
    mk_code rc;
    MK_TRY(rc, say(d, "6. What else can be asked here", err));
    rc = RUN(d, 0, err, "merkhet", "ask", "--store", "team");
out:
    return rc;
}

static mk_code run_graph(mk_cli *cli, mk_err *err)
{
    const bool keep = mk_options_has(&cli->options, "keep");
    demo d = {.cli = cli};
    const char *base = getenv("TMPDIR");
    mk_code rc;
    if (base == NULL || *base == '\0')
        base = "/tmp";
    snprintf(d.dir, sizeof d.dir, "%.200s/merkhet-demo-XXXXXX", base);
    if (mkdtemp(d.dir) == NULL) {
        mk_fail(err, MK_E_STATE, "no folder can be made below %.200s: %s", base, strerror(errno));
        mk_err_hint(err, "set TMPDIR to a folder that can be written to");
        return MK_E_STATE;
    }
    MK_TRY(rc, ask_first(&d, err));
    MK_TRY(rc, refuse_cost(&d, err));
    MK_TRY(rc, correct(&d, err));
    MK_TRY(rc, tamper(&d, err));
    MK_TRY(rc, more_questions(&d, err));
    if (keep) {
        mk_buf line;
        mk_buf_init(&line, cli->alloc);
        mk_buf_printf(&line, "\nEverything is in %s; open answer.html there in a browser.\n", d.dir);
        rc = mk_cli__put_buf(cli, &line, err);
        mk_buf_free(&line);
    }
out:
    if (!keep)
        (void)nftw(d.dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    return rc;
}

static const mk_option demo_options[] = {
    {.name = "keep", .doc = "leave the folder, with the answer as a page"},
    {0},
};

const mk_command mk_commands_demo[] = {
    {.name = "demo graph",
     .words = "",
     .summary = "shows the main job: ask, refuse, correct, ask again, catch a changed answer",
     .help = "Prints every command it runs and checks that each ends as it should. Works in a fresh\n"
             "folder below TMPDIR, without a network and without a model, in a few seconds.",
     .example = "merkhet demo graph",
     .options = demo_options,
     .run = run_graph},
    {0},
};

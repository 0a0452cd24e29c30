/* main.c — finds the command, reads its options, runs it, reports. Layer: cli.
 *
 * Exit status: 0 done, 1 refused or failed with a typed error, 2 used wrongly. */
#include "cli/cli.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const mk_command *const tables[] = {
    mk_commands_store, mk_commands_ingest,        mk_commands_replay, mk_commands_log,    mk_commands_write,
    mk_commands_call,  mk_commands_synth,         mk_commands_bench,  mk_commands_mcp,    mk_commands_serve,
    mk_commands_plan,  mk_commands_trace,         mk_commands_verify, mk_commands_memory, mk_commands_ask,
    mk_commands_demo,  mk_commands_replay_bundle, mk_commands_eval,
};
#define TABLE_COUNT (sizeof tables / sizeof tables[0])
#define COMMANDS_MAX 64

static const mk_option common[] = {
    {.name = "store", .value = "DIR", .letter = 's',
     .doc = "the store; default MERKHET_STORE, then ./.merkhet"},
    {.name = "json", .doc = "canonical JSON, errors included"},
    {.name = "help", .letter = 'h', .doc = "this text"},
    {0},
};

/* In the order in which a newcomer meets them. */
static const char *const order[] = {
    "init", "ingest", "replay", "assert", "retract", "correct", "call", "ops", "plan check",
    "plan run", "ask", "replay-bundle", "trace list", "trace show", "trace pin", "trace gc",
    "memory build", "memory list", "memory show", "digest", "stats", "log show", "log verify",
    "log export", "rebuild", "checkpoint", "compact", "verify", "synth", "bench registry",
    "bench ops", "mcp", "serve", "eval run", "eval faults", "demo graph",
};

static const mk_command *find_command(const char *name)
{
    for (size_t t = 0; t < TABLE_COUNT; t++)
        for (const mk_command *c = tables[t]; c->name != NULL; c++)
            if (strcmp(c->name, name) == 0)
                return c;
    return NULL;
}

/* ---- help ---- */

static void print_options(FILE *to, const mk_option *options)
{
    for (const mk_option *o = options; o->name != NULL; o++) {
        char left[80];
        const char letter[] = {'-', o->letter, ',', ' ', '\0'};
        snprintf(left, sizeof left, "  %s--%s%s%s", o->letter ? letter : "    ", o->name,
                 o->value ? " " : "", o->value ? o->value : "");
        if (strlen(left) > 30)
            fprintf(to, "%s\n%31s%s\n", left, "", o->doc);
        else
            fprintf(to, "%-30s %s\n", left, o->doc);
    }
}

/* The example with each of its lines set in. */
static void print_example(FILE *to, const char *text)
{
    fputs("\nExample:\n", to);
    while (*text != '\0') {
        const size_t n = strcspn(text, "\n");
        fprintf(to, "  %.*s\n", (int)n, text);
        text += n + (text[n] == '\n');
    }
}

static void print_command_help(FILE *to, const mk_command *command)
{
    fprintf(to, "merkhet %s%s%s [options]\n\n%s.\n", command->name, command->words[0] ? " " : "",
            command->words, command->summary);
    if (command->help != NULL)
        fprintf(to, "\n%s\n", command->help);
    fputs("\nOptions:\n", to);
    print_options(to, command->options);
    print_options(to, common);
    print_example(to, command->example);
}

static void print_help(FILE *to)
{
    fputs("merkhet: a bi-temporal property-graph database\n\n"
          "merkhet COMMAND [options]\n\nCommands:\n", to);
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++)
        fprintf(to, "  %-15s %s\n", order[i], find_command(order[i])->summary);
    fputs("  version         the version of the program\n"
          "  help            this text; help COMMAND for one command\n\n"
          "Options of every command:\n", to);
    print_options(to, common);
    fputs("\nTimes are integers, microseconds since 1970-01-01T00:00:00Z, or ISO 8601 text; \"open\" is\n"
          "no end. Exit status: 0 done, 1 refused or failed, 2 used wrongly.\n", to);
    print_example(to, "merkhet assert --store team --node ada --label Person --from 2024-01-01\n"
                      "merkhet call entity_history '{\"uid\":\"ada\"}' --store team");
}

static void print_group_help(FILE *to, const char *group)
{
    fprintf(to, "merkhet %s COMMAND [options]\n\nCommands:\n", group);
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++)
        if (mk_str_starts(mk_str_of(order[i]), mk_str_of(group)) && order[i][strlen(group)] == ' ')
            fprintf(to, "  %-15s %s\n", order[i], find_command(order[i])->summary);
}

/* True when `word` is the first of two words of some command. */
static bool is_group(const char *word)
{
    const size_t n = strlen(word);
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++)
        if (strncmp(order[i], word, n) == 0 && order[i][n] == ' ')
            return true;
    return false;
}

/* ---- finding the command ---- */

static mk_code unknown_command(const char *name, mk_err *err)
{
    const char *names[COMMANDS_MAX];
    size_t n = 0;
    for (; n < sizeof order / sizeof order[0]; n++)
        names[n] = order[n];
    names[n++] = "log";
    names[n++] = "help";
    names[n++] = "version";
    names[n] = NULL;
    const char *near = mk_nearest(name, names);
    mk_fail_usage(err, "there is no command \"%s\"", name);
    if (near != NULL)
        mk_err_hint(err, "did you mean \"merkhet %s\"?", near);
    else
        mk_err_hint(err, "`merkhet help` lists the commands");
    return MK_E_INVALID_ARG;
}

/* Takes one or two words off argv. */
static mk_code take_command(int *argc, char ***argv, const mk_command **out, mk_err *err)
{
    char name[64];
    const char *first = (*argv)[0];
    const bool group = is_group(first);
    if (group && *argc < 2) {
        mk_fail_usage(err, "\"merkhet %s\" needs one more word", first);
        mk_err_hint(err, "`merkhet help %s` lists them", first);
        return MK_E_INVALID_ARG;
    }
    snprintf(name, sizeof name, "%s%s%s", first, group ? " " : "", group ? (*argv)[1] : "");
    *out = find_command(name);
    if (*out == NULL)
        return unknown_command(name, err);
    *argc -= 1 + group;
    *argv += 1 + group;
    return MK_OK;
}

static mk_code run(mk_cli *cli, int argc, char **argv, mk_err *err)
{
    mk_code rc;
    MK_TRY(rc, take_command(&argc, &argv, &cli->command, err));
    const mk_command *command = cli->command;
    rc = mk_options_parse(&cli->options, command->options, common, argc, argv, err);
    if (rc != MK_OK)
        goto out;
    if (mk_options_has(&cli->options, "help")) {
        print_command_help(stdout, command);
        goto out;
    }
    if (cli->options.word_count < command->words_min || cli->options.word_count > command->words_max) {
        rc = mk_fail_usage(err, cli->options.word_count < command->words_min ? "something is missing"
                                                                             : "too many words: \"%s\"",
                           cli->options.word_count > command->words_max
                               ? cli->options.words[command->words_max]
                               : "");
        mk_err_hint(err, "write merkhet %s%s%s", command->name, command->words[0] ? " " : "",
                    command->words);
        goto out;
    }
    rc = command->run(cli, err);

out:
    mk_cli__progress_end(cli);
    return rc;
}

/* merkhet help [COMMAND]; also what --help before a command prints. */
static mk_code help(int argc, char **argv, mk_err *err)
{
    const mk_command *command;
    if (argc == 0 || argv[0][0] == '-') {
        print_help(stdout);
        return MK_OK;
    }
    if (argc == 1 && is_group(argv[0])) {
        print_group_help(stdout, argv[0]);
        return MK_OK;
    }
    const mk_code rc = take_command(&argc, &argv, &command, err);
    if (rc == MK_OK)
        print_command_help(stdout, command);
    return rc;
}

static bool is_one_of(const char *word, const char *a, const char *b, const char *c)
{
    return strcmp(word, a) == 0 || strcmp(word, b) == 0 || strcmp(word, c) == 0;
}

static mk_code dispatch(mk_cli *cli, int argc, char **argv, mk_err *err)
{
    if (argc == 0) {
        print_help(stderr);
        mk_fail_usage(err, "name a command");
        return MK_E_INVALID_ARG;
    }
    if (is_one_of(argv[0], "help", "--help", "-h"))
        return help(argc - 1, argv + 1, err);
    if (is_one_of(argv[0], "version", "--version", "-V")) {
        printf(cli->json ? "{\"version\":\"%s\"}\n" : "merkhet %s\n", MK_PROGRAM_VERSION);
        return MK_OK;
    }
    if (argc >= 2 && is_group(argv[0]) && is_one_of(argv[1], "--help", "-h", "-h")) {
        print_group_help(stdout, argv[0]);
        return MK_OK;
    }
    return run(cli, argc, argv, err);
}

int main(int argc, char **argv)
{
    mk_cli cli = {.alloc = &mk_alloc_default};
    mk_err err = {0};

    /* A descriptor that is missing here would be given to the first file of the store. */
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) == -1 && open("/dev/null", O_RDWR) != fd)
            return 1;
    /* A limit on the size of files is an error to report, not a reason to die. */
    signal(SIGXFSZ, SIG_IGN);
    /* Known before the options are read, so that a mistake in them is reported in the right form. */
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        cli.json |= strcmp(argv[i], "--json") == 0;
    const char *no_colour = getenv("NO_COLOR");
    cli.out_is_terminal = isatty(STDOUT_FILENO) != 0;
    cli.err_is_terminal = isatty(STDERR_FILENO) != 0;
    cli.colour = cli.out_is_terminal && (no_colour == NULL || no_colour[0] == '\0');

    mk_code rc = dispatch(&cli, argc - 1, argv + 1, &err);
    if (rc == MK_OK)
        rc = mk_cli__flush(&err);
    else
        (void)fflush(stdout); /* what came before the error; the error itself is what counts */
    if (rc == MK_OK)
        return cli.refused ? 1 : 0;
    mk_cli__report_error(&cli, &err);
    return mk_err_is_usage(&err) ? 2 : 1;
}

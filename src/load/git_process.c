/* git_process.c — running `git log` without a shell.
 *
 * Every argument is its own string, the repository follows -C and the revision follows
 * --end-of-options, so no name can become an option. Settings of the user or the repository that
 * would change the output or start programs (pager, colours, external diff, text conversion,
 * signature checks, order files) are overridden. Of the environment, GIT_* settings are respected but
 * for those that would point git at another repository than the one named. */
#include "load/git_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Not passed on: they name another repository, or a program to run for each diff. */
static const char *const env_dropped[] = {
    "GIT_DIR=",    "GIT_WORK_TREE=",    "GIT_INDEX_FILE=", "GIT_COMMON_DIR=",
    "GIT_PREFIX=", "GIT_EXTERNAL_DIFF=", "GIT_PAGER=",      "PAGER=",
    "LC_ALL=",     "GIT_TRACE=",        "GIT_OPTIONAL_LOCKS=", "GIT_TERMINAL_PROMPT=",
};
static char env_pager[] = "GIT_PAGER=cat", env_locale[] = "LC_ALL=C",
            env_locks[] = "GIT_OPTIONAL_LOCKS=0", env_prompt[] = "GIT_TERMINAL_PROMPT=0";
static char *const env_added[] = {env_pager, env_locale, env_locks, env_prompt};
#define ADDED_COUNT (sizeof env_added / sizeof env_added[0])

static bool is_dropped(const char *entry)
{
    for (size_t i = 0; i < sizeof env_dropped / sizeof env_dropped[0]; i++)
        if (strncmp(entry, env_dropped[i], strlen(env_dropped[i])) == 0)
            return true;
    return false;
}

static char **make_environment(const mk_alloc *alloc, size_t *size)
{
    size_t count = 0, n = 0;

    while (environ != NULL && environ[count] != NULL)
        count++;
    *size = (count + ADDED_COUNT + 1) * sizeof(char *);
    char **env = mk_new(alloc, *size);
    if (env == NULL)
        return NULL;
    for (size_t i = 0; i < count; i++)
        if (!is_dropped(environ[i]))
            env[n++] = environ[i];
    for (size_t i = 0; i < ADDED_COUNT; i++)
        env[n++] = env_added[i];
    env[n] = NULL;
    return env;
}

static mk_code spawn(char *const *argv, char *const *env, int output, int message, int *pid,
                     mk_err *err)
{
    posix_spawn_file_actions_t actions;
    pid_t child = 0;
    int rc = posix_spawn_file_actions_init(&actions);

    if (rc != 0)
        return mk_fail_nomem(err);
    rc = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (rc == 0)
        rc = posix_spawn_file_actions_adddup2(&actions, output, 1);
    if (rc == 0 && message >= 0)
        rc = posix_spawn_file_actions_adddup2(&actions, message, 2);
    if (rc == 0 && message < 0)
        rc = posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    if (rc == 0)
        rc = posix_spawnp(&child, "git", &actions, NULL, argv, env);
    posix_spawn_file_actions_destroy(&actions);
    *pid = (int)child;
    if (rc == 0)
        return MK_OK;
    errno = rc; /* for %m, which is safe among threads */
    mk_fail(err, MK_E_STATE, "git cannot be started: %m");
    mk_err_reason(err, rc == ENOENT ? "git_missing" : "git_failed");
    mk_err_hint(err, "install git, and see that it is found through PATH");
    return MK_E_STATE;
}

mk_code mk_git__start(const mk_alloc *alloc, const char *repository, const char *revision,
                      git_process *process, mk_err *err)
{
    const char *const argv[] = {"git", "--no-pager", "-c", "log.showSignature=false", "-c",
                                "log.showRoot=true", "-c", "core.fsmonitor=false", "-c",
                                "diff.relative=false", "-c", "diff.ignoreSubmodules=none", "-C",
                                repository, "log", "--reverse", "--topo-order", "--raw", "--numstat",
                                "-z", "--find-renames=50%", "--no-ext-diff", "--no-textconv",
                                "--no-color", "--no-notes", "--no-decorate", "--no-abbrev",
                                "-O/dev/null", "--diff-algorithm=default", "--encoding=UTF-8",
                                "--format=tformat:" MK_GIT_FORMAT, "--end-of-options",
                                revision != NULL ? revision : "HEAD", "--", NULL};
    int ends[2] = {-1, -1};
    size_t env_size = 0;
    char **env = NULL;
    mk_code rc;

    *process = (git_process){.output = -1, .message = -1};
    if (pipe2(ends, O_CLOEXEC) != 0) {
        rc = mk_fail(err, MK_E_STATE, "no pipe to git: %m");
        goto out;
    }
    process->message = memfd_create("git-messages", MFD_CLOEXEC);
    env = make_environment(alloc, &env_size);
    if (env == NULL) {
        rc = mk_fail_nomem(err);
        goto out;
    }
    /* posix_spawn takes pointers to non-const for historical reasons and writes to none of them. */
    MK_TRY(rc, spawn((char *const *)(uintptr_t)argv, env, ends[1], process->message, &process->pid,
                     err));
    process->output = ends[0];
    ends[0] = -1;

out:
    if (env != NULL)
        mk_free(alloc, env, env_size);
    for (int i = 0; i < 2; i++)
        if (ends[i] >= 0)
            close(ends[i]);
    if (rc != MK_OK && process->message >= 0) {
        close(process->message);
        process->message = -1;
    }
    return rc;
}

mk_code mk_git__read(void *ctx, void *p, size_t n, size_t *got, mk_err *err)
{
    git_process *process = ctx;
    ssize_t result;

    do
        result = read(process->output, p, n);
    while (result < 0 && errno == EINTR);
    if (result < 0)
        return mk_fail(err, MK_E_STATE, "reading from git: %m");
    *got = (size_t)result;
    process->bytes += *got;
    return MK_OK;
}

/* The first line git wrote on its standard error, without "fatal: ". */
static void message_of(const git_process *process, char *text, size_t size)
{
    ssize_t n = process->message < 0 ? 0 : pread(process->message, text, size - 1, 0);

    text[n > 0 ? n : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    if (strncmp(text, "fatal: ", 7) == 0)
        memmove(text, text + 7, strlen(text + 7) + 1);
}

mk_code mk_git__finish(git_process *process, const char *repository, bool abandon, mk_err *err)
{
    char text[400];
    int status = 0;
    pid_t rc;

    if (process->output >= 0)
        close(process->output); /* a git that still writes gets SIGPIPE */
    do
        rc = waitpid(process->pid, &status, 0);
    while (rc < 0 && errno == EINTR);
    message_of(process, text, sizeof text);
    if (process->message >= 0)
        close(process->message);
    *process = (git_process){.output = -1, .message = -1};
    /* Killed by our closing the pipe: whoever stopped reading knows why. */
    if (abandon || (rc > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0) ||
        (rc > 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE))
        return MK_OK;
    mk_fail(err, MK_E_STATE, "git log failed in %s: %s", repository,
            text[0] != '\0' ? text : "it gave no reason");
    mk_err_path(err, "%s", repository);
    mk_err_reason(err, "git_failed");
    mk_err_hint(err, "name a repository with at least one commit, and a revision that it has");
    return MK_E_STATE;
}

/* git_internal.h — a repository's history in memory. Layer: load, inside only. */
#ifndef MK_LOAD_GIT_INTERNAL_H
#define MK_LOAD_GIT_INTERNAL_H

#include "base/hash.h"
#include "load/load_internal.h"

/* What a commit did to a path. */
typedef struct git_touch {
    char status;             /* A, M, D, R; git's T is M here */
    uint32_t path, old_path; /* codes in git_history.paths; old_path for R */
    uint32_t mode;           /* of the path after the commit, octal as git writes it; 0 for D */
    int similarity;          /* R: percent */
    int64_t additions, deletions; /* lines; -1 for binary files */
} git_touch;

typedef struct git_commit {
    mk_str hash, parents; /* parents separated by one space */
    mk_str subject;
    int64_t authored_us, committed_us;
    uint32_t author, committer; /* codes in git_history.people */
    size_t first_touch, touch_count;
} git_commit;

typedef struct git_history {
    const mk_alloc *alloc;
    mk_arena arena;   /* strings */
    mk_intern people; /* keys: e-mail in lower case, or the name */
    mk_str *names;    /* by person: the name last seen */
    size_t name_cap;
    mk_intern paths; /* as UTF-8 text */
    git_commit *commits;
    size_t commit_count, commit_cap;
    git_touch *touches;
    size_t touch_count, touch_cap;
    size_t next_numstat; /* touch of the last commit that the next counts are likely for */
} git_history;

void mk_git__history_init(git_history *history, const mk_alloc *alloc);
void mk_git__history_free(git_history *history);

/* Reads what `git log` prints with MK_GIT_FORMAT, -z, --raw and --numstat. Errors: MK_E_STATE for output
 * that is not that, MK_E_NOMEM, MK_E_CANCELLED. */
MK_CHECK mk_code mk_git__parse(mk_load *load, git_history *history, mk_err *err);

/* One token per field, each ended by NUL; the first holds the mark. Messages cannot hold NUL, and paths
 * stand only where a path is expected, so nothing in a repository can be taken for a mark. */
#define MK_GIT_FORMAT "%x01%H%x00%P%x00%at%x00%ct%x00%aN%x00%aE%x00%cN%x00%cE%x00%s%x00"

/* A running `git log`. */
typedef struct git_process {
    int output;  /* read end of its standard output */
    int message; /* file that takes its standard error, or -1 */
    int pid;
    uint64_t bytes;
} git_process;

MK_CHECK mk_code mk_git__start(const mk_alloc *alloc, const char *repository, const char *revision,
                               git_process *process, mk_err *err);
mk_code mk_git__read(void *ctx, void *p, size_t n, size_t *got, mk_err *err);
/* Waits for the end. MK_E_STATE with git's own words when it failed; with `abandon` its fate does not
 * matter. Closes everything. */
mk_code mk_git__finish(git_process *process, const char *repository, bool abandon, mk_err *err);

#endif

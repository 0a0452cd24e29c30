/* What `git log` prints: any bytes. The parser ends with a history whose parts all point at each other, or
 * with a typed error; nothing in a repository, however named, may bring it down. */
#include "load/git_internal.h"
#include "load_sink.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_history(const git_history *history)
{
    for (size_t i = 0; i < history->commit_count; i++) {
        const git_commit *commit = &history->commits[i];
        need(commit->author < history->people.count && commit->committer < history->people.count);
        need(commit->first_touch <= history->touch_count);
        need(commit->touch_count <= history->touch_count - commit->first_touch);
        need(mk_utf8_check(commit->subject) == commit->subject.n);
    }
    for (size_t i = 0; i < history->touch_count; i++) {
        const git_touch *touch = &history->touches[i];
        need(touch->path < history->paths.count);
        need(touch->status != 'R' || touch->old_path < history->paths.count);
    }
    for (size_t i = 0; i < history->paths.count; i++)
        need(mk_utf8_check(history->paths.strings[i]) == history->paths.strings[i].n);
}

static mk_code front_end(mk_load *load, void *ctx, mk_err *err)
{
    git_history history;
    (void)ctx;
    mk_git__history_init(&history, &mk_alloc_default);
    const mk_code rc = mk_git__parse(load, &history, err);
    if (rc == MK_OK)
        check_history(&history);
    mk_git__history_free(&history);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    const mk_load_options options = {.path = "fuzz", .format = MK_LOAD_GIT};
    run_front_end(data, size, data[0] & 1 ? 7 : 0, &options, front_end, NULL);
    return 0;
}

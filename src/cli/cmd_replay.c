/* cmd_replay.c — replay: a store from an event log. Layer: cli.
 *
 * The store is built beside its place, in DIR.replay-PID, and renamed into it when it is whole and
 * durable, so that whatever goes wrong leaves the target as it was. Lines are kept byte for byte; a
 * batch that failed where the log was written fails here in the same way and is kept without effect.
 * Source: store spec, 10.2, 10.5, 10.6. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/instream.h"
#include "cli/cli.h"
#include "store/record.h"

#define PATH_SIZE 4096

typedef struct replay {
    mk_cli *cli;
    const char *name; /* of the log, for messages */
    mk_instream *in;
    mk_store *store;
    uint64_t applied, failed;
    char digest[65];
} replay;

/* ---- reading the log ---- */

static mk_code at_line(const replay *r, mk_err *err)
{
    char inside[sizeof err->path];
    memcpy(inside, err->path, sizeof inside);
    mk_err_path(err, "%s:%llu%s%s", r->name, (unsigned long long)mk_instream_line_number(r->in),
                inside[0] != '\0' ? ": " : "", inside);
    return err->code;
}

static mk_code bad_header(const replay *r, const char *why, const char *reason, mk_err *err)
{
    mk_fail(err, MK_E_STATE, "%s is not an event log that can be replayed: %s", r->name, why);
    mk_err_path(err, "%s:1", r->name);
    mk_err_reason(err, reason);
    mk_err_hint(err, "the first line has to be {\"format\":\"tgms-eventlog\",\"version\":1}");
    return MK_E_STATE;
}

static mk_code check_header(const replay *r, mk_str line, bool any, mk_err *err)
{
    mk_arena arena;
    mk_json *tree;
    mk_err why;
    mk_arena_init(&arena, r->cli->alloc);
    mk_code rc = any ? mk_json_parse(&arena, line, NULL, &tree, &why) : MK_E_SCHEMA;
    const mk_json *format = rc == MK_OK ? mk_json_get(tree, "format") : NULL;
    const mk_json *version = rc == MK_OK ? mk_json_get(tree, "version") : NULL;
    if (rc == MK_E_NOMEM)
        rc = mk_fail_nomem(err);
    else if (format == NULL || format->kind != MK_JSON_STRING ||
             !mk_str_eq(format->text, MK_STR("tgms-eventlog")))
        rc = bad_header(r, "it has no header", "damaged", err);
    else if (version == NULL || version->kind != MK_JSON_INT || version->b || version->i != 1)
        rc = bad_header(r, "its version is not 1", "newer_format", err);
    mk_arena_free(&arena);
    return rc;
}

static bool is_blank(mk_str line)
{
    for (size_t i = 0; i < line.n; i++)
        if (line.p[i] != ' ' && line.p[i] != '\t' && line.p[i] != '\r')
            return false;
    return true;
}

static mk_code next_line(replay *r, mk_str *line, bool *more, bool *ended, mk_err *err)
{
    mk_code rc = mk_instream_line(r->in, MK_RECORD_MAX + 1, false, line, more, ended, err);
    if (rc != MK_OK)
        (void)at_line(r, err);
    return rc;
}

/* True when nothing but blank lines follows. */
static mk_code at_end(replay *r, bool *end, mk_err *err)
{
    mk_str line;
    bool more = true, ended;
    mk_code rc = MK_OK;
    while (more) {
        MK_TRY(rc, next_line(r, &line, &more, &ended, err));
        if (more && !is_blank(line))
            break;
    }
    *end = !more;
out:
    return rc;
}

/* A last line that is cut or damaged was never acknowledged by its writer (10.5); earlier it is damage. */
static mk_code torn_or_damaged(replay *r, mk_err *err)
{
    const uint64_t number = mk_instream_line_number(r->in);
    mk_err why;
    bool end = false;
    (void)at_line(r, err);
    if (strcmp(err->reason, "damaged") != 0)
        return err->code;
    const mk_code rc = at_end(r, &end, &why);
    if (rc != MK_OK || !end)
        return err->code;
    mk_cli__warn(r->cli, "%s:%llu: the last line is damaged and was left out (%s)", r->name,
                 (unsigned long long)number, err->message);
    return MK_OK;
}

static mk_code replay_lines(replay *r, mk_err *err)
{
    mk_str line;
    bool more, ended;
    mk_code rc;
    MK_TRY(rc, next_line(r, &line, &more, &ended, err));
    MK_TRY(rc, check_header(r, line, more, err));
    for (;;) {
        bool applied = true;
        mk_err why;
        MK_TRY(rc, next_line(r, &line, &more, &ended, err));
        if (!more)
            break;
        if (is_blank(line))
            continue;
        if (!ended) {
            mk_cli__warn(r->cli, "%s:%llu: the last line has no end and was left out", r->name,
                         (unsigned long long)mk_instream_line_number(r->in));
            break;
        }
        rc = mk_store_replay_line(r->store, line, true, &applied, &why, err);
        if (rc != MK_OK) {
            rc = torn_or_damaged(r, err);
            break;
        }
        r->applied += applied;
        r->failed += !applied;
        mk_cli__progress(r->cli, "replay: %llu batches",
                         (unsigned long long)r->applied + r->failed);
    }
out:
    return rc;
}

/* ---- folders ---- */

static mk_code folder_failed(const char *what, const char *path, mk_err *err)
{
    const int number = errno;
    char text[128] = "";
    mk_fail(err, MK_E_STATE, "cannot %s %s: %s", what, path,
            strerror_r(number, text, sizeof text));
    mk_err_path(err, "%s", path);
    mk_err_reason(err, number == ENOSPC ? "no_space" : number == EROFS ? "read_only" : "io");
    return MK_E_STATE;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st;
    (void)kind;
    (void)ftw;
    return remove(path);
}

/* Only ever called on folders that this command made, or on a store that was found empty. */
static void remove_folder(const char *path)
{
    (void)nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

static mk_code sync_parent(const char *path, mk_err *err)
{
    char parent[PATH_SIZE];
    snprintf(parent, sizeof parent, "%s", path);
    char *slash = strrchr(parent, '/');
    if (slash == NULL)
        snprintf(parent, sizeof parent, ".");
    else
        slash[slash == parent] = '\0';
    return mk_fs_posix.sync_dir(mk_fs_posix.ctx, parent, err);
}

/* The target may be missing, an empty folder, or a store without a batch; *old is that store, locked. */
static mk_code check_target(mk_cli *cli, const char *dir, mk_store **old, mk_err *err)
{
    mk_err why;
    mk_code rc = mk_cli__open(cli, dir, MK_OPEN_WRITER, false, old, &why);
    if (rc == MK_E_NOT_FOUND)
        return MK_OK;
    if (rc != MK_OK) {
        *err = why;
        return rc;
    }
    if (mk_store_log_frames(*old) == 0)
        return MK_OK;
    mk_fail(err, MK_E_STATE, "the store %s has batches already", dir);
    mk_err_path(err, "%s", dir);
    mk_err_reason(err, "not_empty");
    mk_err_hint(err, "replay into a new store: name another folder with --store");
    return MK_E_STATE;
}

/* `made` takes the place of `dir`. An empty store that stands there steps aside first and comes back
 * when the second rename fails. */
static mk_code put_in_place(const char *made, const char *dir, bool old, mk_err *err)
{
    char aside[PATH_SIZE];
    if (old) {
        snprintf(aside, sizeof aside, "%s.old-%ld", dir, (long)getpid());
        if (rename(dir, aside) != 0)
            return folder_failed("rename", dir, err);
    }
    if (rename(made, dir) != 0) {
        const mk_code rc = folder_failed("put the store in its place at", dir, err);
        if (old)
            (void)rename(aside, dir);
        return rc;
    }
    if (old)
        remove_folder(aside);
    return sync_parent(dir, err);
}

/* ---- the command ---- */

static mk_code build(replay *r, const char *path, const char *made, mk_err *err)
{
    mk_code rc;
    MK_TRY(rc, mk_instream_open(r->cli->alloc, path, &r->in, err));
    MK_TRY(rc, mk_cli__open(r->cli, made, MK_OPEN_CREATE_WRITER, false, &r->store, err));
    MK_TRY(rc, replay_lines(r, err));
    MK_TRY(rc, mk_store_replay_flush(r->store, err));
    MK_TRY(rc, mk_store_checkpoint(r->store, err));
    rc = mk_store_digest(r->store, r->digest, NULL, NULL, err);
out:
    mk_cli__progress_end(r->cli);
    mk_instream_close(r->in);
    rc = mk_cli__close(r->store, rc, err);
    r->store = NULL;
    r->in = NULL;
    return rc;
}

static mk_code put_result(const replay *r, mk_err *err)
{
    mk_buf out;
    mk_code rc;
    mk_buf_init(&out, r->cli->alloc);
    if (r->cli->json) {
        mk_buf_printf(&out, "{\"batches\":%llu,\"failed\":%llu,\"digest\":\"%s\"}\n",
                      (unsigned long long)r->applied, (unsigned long long)r->failed, r->digest);
    } else {
        mk_buf_z(&out, "batches applied  ");
        mk_text_count(&out, r->applied);
        mk_buf_z(&out, "\nbatches failed   ");
        mk_text_count(&out, r->failed);
        mk_buf_printf(&out, "\ndigest           %s\n", r->digest);
    }
    rc = mk_cli__put_buf(r->cli, &out, err);
    mk_buf_free(&out);
    return rc;
}

static mk_code run_replay(mk_cli *cli, mk_err *err)
{
    const char *path = cli->options.words[0];
    replay r = {.cli = cli, .name = strcmp(path, "-") == 0 ? "standard input" : path};
    char dir[PATH_SIZE - 64], made[PATH_SIZE];
    mk_store *old = NULL;
    bool building = false;
    mk_code rc;

    size_t n = (size_t)snprintf(dir, sizeof dir, "%s", mk_cli__store_dir(cli));
    if (n >= sizeof dir)
        return mk_fail(err, MK_E_LIMIT, "the path of the store is too long");
    while (n > 1 && dir[n - 1] == '/')
        dir[--n] = '\0';
    snprintf(made, sizeof made, "%s.replay-%ld", dir, (long)getpid());

    MK_TRY(rc, check_target(cli, dir, &old, err));
    building = true;
    MK_TRY(rc, build(&r, path, made, err));
    rc = put_in_place(made, dir, old != NULL, err);
    building = rc != MK_OK;
out:
    if (building)
        remove_folder(made);
    rc = mk_cli__close(old, rc, err);
    return rc == MK_OK ? put_result(&r, err) : rc;
}

static const mk_option replay_options[] = {{0}};

const mk_command mk_commands_replay[] = {
    {.name = "replay",
     .words = "LOG",
     .summary = "builds a store from an event log, with the belief times that the log records",
     .help = "LOG is what `merkhet log export` writes, or the reference's own eventlog.jsonl; it may be\n"
             "compressed with gzip or zstd; - is standard input. The store must be new or without a\n"
             "batch. With --json: batches is the number of batches applied, failed the number of\n"
             "those that failed where the log was written and fail here too (kept, without effect).",
     .example = "merkhet assert --store team --node ada --label Person\n"
                "merkhet log export --store team > team.jsonl\n"
                "merkhet replay team.jsonl --store copy --json",
     .options = replay_options,
     .words_min = 1,
     .words_max = 1,
     .run = run_replay},
    {0},
};

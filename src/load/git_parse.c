/* git_parse.c — what `git log` prints, into commits, people and touched paths.
 *
 * The output is a row of NUL-terminated tokens. A commit is nine fields, the first behind a mark; then
 * for each path a raw token (":modes ids status") followed by one path, two for renames; then for each path a
 * numstat token ("added<TAB>deleted<TAB>path", or an empty path and two more tokens for renames). Where
 * a path is due the token is a path whatever it looks like; elsewhere the first byte tells.
 * Source: git-log(1), git-diff(1) "raw output format" and "other diff formats". */
#include "load/git_internal.h"

#define FIELD_COUNT 9 /* hash, parents, two times, two names with addresses, subject */

void mk_git__history_init(git_history *history, const mk_alloc *alloc)
{
    *history = (git_history){.alloc = alloc};
    mk_arena_init(&history->arena, alloc);
    mk_intern_init(&history->people, alloc, mk_entropy64());
    mk_intern_init(&history->paths, alloc, mk_entropy64());
}

void mk_git__history_free(git_history *history)
{
    mk_intern_free(&history->people);
    mk_intern_free(&history->paths);
    if (history->names != NULL)
        mk_free(history->alloc, history->names, history->name_cap * sizeof *history->names);
    if (history->commits != NULL)
        mk_free(history->alloc, history->commits, history->commit_cap * sizeof *history->commits);
    if (history->touches != NULL)
        mk_free(history->alloc, history->touches, history->touch_cap * sizeof *history->touches);
    mk_arena_free(&history->arena);
}

static mk_code unexpected(mk_load *load, const git_history *history, mk_str token, mk_err *err)
{
    mk_fail(err, MK_E_STATE, "git log printed something unexpected: '%.*s'", MK_LOAD_QUOTE(token));
    mk_load__path(load, history->commit_count, NULL, err);
    mk_err_reason(err, "git_failed");
    mk_err_hint(err, "git 2.24 or newer is needed");
    return MK_E_STATE;
}

/* The next token without its NUL; *more false at the end. A cut last token is no token. */
static mk_code next_token(mk_load_reader *reader, mk_str *token, bool *more, mk_err *err)
{
    size_t looked_at = 0;
    bool grew = true;

    for (;;) {
        const mk_str window = mk_load__window(reader);
        const char *nul = window.n > looked_at
                              ? memchr(window.p + looked_at, '\0', window.n - looked_at)
                              : NULL;
        if (nul != NULL) {
            *token = (mk_str){window.p, (size_t)(nul - window.p)};
            *more = true;
            mk_load__take(reader, token->n + 1, token->n, 0);
            return MK_OK;
        }
        looked_at = window.n;
        const mk_code rc = mk_load__grow(reader, &grew, err);
        if (rc != MK_OK || !grew) {
            *more = false;
            return rc;
        }
    }
}

/* A token that has to come. */
static mk_code need_token(mk_load *load, const git_history *history, mk_str *token, mk_err *err)
{
    bool more = false;
    const mk_code rc = next_token(load->reader, token, &more, err);

    if (rc == MK_OK && !more)
        return unexpected(load, history, MK_STR("the end"), err);
    return rc;
}

/* Text that git does not promise to be UTF-8: a byte that is not is written as \xHH. */
static mk_code clean_text(git_history *history, mk_str raw, mk_str *out, mk_err *err)
{
    mk_buf text;
    mk_code rc;

    if (mk_utf8_check(raw) == raw.n) {
        *out = mk_arena_copy(&history->arena, raw);
        return out->p != NULL ? MK_OK : mk_fail_nomem(err);
    }
    mk_buf_init(&text, history->alloc);
    while (raw.n > 0) {
        const size_t good = mk_utf8_check(raw);
        mk_buf_put(&text, raw.p, good);
        if (good < raw.n)
            mk_buf_printf(&text, "\\x%02x", (unsigned)(unsigned char)raw.p[good]);
        const size_t step = good + (good < raw.n);
        raw = (mk_str){raw.p + step, raw.n - step};
    }
    MK_TRY(rc, mk_buf_done(&text, err));
    *out = mk_arena_copy(&history->arena, mk_buf_view(&text));
    if (out->p == NULL)
        rc = mk_fail_nomem(err);

out:
    mk_buf_free(&text);
    return rc;
}

/* ---- people and paths ---- */

static mk_code person(git_history *history, mk_str name, mk_str email, uint32_t *code, mk_err *err)
{
    mk_str key = email.n > 0 ? email : name.n > 0 ? name : MK_STR("unknown");
    mk_code rc;

    if (email.n > 0) {
        char *p = mk_arena_get(&history->arena, key.n);
        if (p == NULL)
            return mk_fail_nomem(err);
        for (size_t i = 0; i < key.n; i++)
            p[i] = key.p[i] >= 'A' && key.p[i] <= 'Z' ? (char)(key.p[i] | 0x20) : key.p[i];
        key.p = p;
    }
    MK_TRY(rc, mk_intern_add(&history->people, key, code, err));
    void *names = history->names;
    rc = mk_grow(history->alloc, &names, &history->name_cap, history->people.count, sizeof(mk_str),
                 err);
    history->names = names;
    if (rc == MK_OK)
        history->names[*code] = name;

out:
    return rc;
}

static mk_code path_code(git_history *history, mk_str raw, uint32_t *code, mk_err *err)
{
    mk_str text;
    mk_code rc;

    if (mk_utf8_check(raw) == raw.n)
        return mk_intern_add(&history->paths, raw, code, err);
    MK_TRY(rc, clean_text(history, raw, &text, err));
    rc = mk_intern_add(&history->paths, text, code, err);

out:
    return rc;
}

/* ---- a commit ---- */

static mk_code seconds(mk_load *load, const git_history *history, mk_str text, int64_t *us,
                       mk_err *err)
{
    int64_t value;

    if (!mk_str_to_i64(text, &value) || __builtin_mul_overflow(value, INT64_C(1000000), us))
        return unexpected(load, history, text, err);
    /* Forged dates exist; they are kept inside what the store can hold. */
    if (*us >= MK_OPEN_END)
        *us = MK_OPEN_END - 1;
    if (*us < MK_TIME_MIN)
        *us = MK_TIME_MIN;
    return MK_OK;
}

static mk_code add_commit(mk_load *load, git_history *history, mk_str mark, mk_err *err)
{
    mk_str fields[FIELD_COUNT];
    git_commit commit = {.first_touch = history->touch_count};
    mk_code rc;

    MK_TRY(rc, mk_load__count_row(load, err));
    MK_TRY(rc, clean_text(history, (mk_str){mark.p + 1, mark.n - 1}, &fields[0], err));
    for (size_t i = 1; i < FIELD_COUNT; i++) {
        mk_str token;
        MK_TRY(rc, need_token(load, history, &token, err));
        MK_TRY(rc, clean_text(history, token, &fields[i], err));
    }
    if (fields[0].n < 40) {
        rc = unexpected(load, history, fields[0], err);
        goto out;
    }
    commit.hash = fields[0];
    commit.parents = fields[1];
    commit.subject = fields[8];
    MK_TRY(rc, seconds(load, history, fields[2], &commit.authored_us, err));
    MK_TRY(rc, seconds(load, history, fields[3], &commit.committed_us, err));
    MK_TRY(rc, person(history, fields[6], fields[7], &commit.committer, err));
    MK_TRY(rc, person(history, fields[4], fields[5], &commit.author, err));
    void *commits = history->commits;
    rc = mk_grow(history->alloc, &commits, &history->commit_cap, history->commit_count + 1,
                 sizeof commit, err);
    history->commits = commits;
    history->next_numstat = 0;
    if (rc == MK_OK)
        history->commits[history->commit_count++] = commit;

out:
    return rc;
}

/* ":100644 100644 <id> <id> R100", then the path or paths. */
static mk_code add_touch(mk_load *load, git_history *history, mk_str raw, mk_err *err)
{
    git_touch touch = {.additions = 0, .deletions = 0};
    mk_str token;
    size_t spaces = 0, i = 1;
    mk_code rc;

    for (; i < raw.n && spaces < 4; i++) {
        if (raw.p[i] == ' ')
            spaces++;
        else if (spaces == 1 && raw.p[i] >= '0' && raw.p[i] <= '7')
            touch.mode = (touch.mode * 8 + (uint32_t)(raw.p[i] - '0')) & 0xFFFFFF;
    }
    if (i >= raw.n || history->commit_count == 0)
        return unexpected(load, history, raw, err);
    touch.status = raw.p[i] == 'T' ? 'M' : raw.p[i] == 'C' ? 'A' : raw.p[i];
    const bool two = raw.p[i] == 'R' || raw.p[i] == 'C';
    for (i++; i < raw.n && raw.p[i] >= '0' && raw.p[i] <= '9'; i++)
        touch.similarity = (touch.similarity * 10 + (raw.p[i] - '0')) % 1000;
    if (strchr("AMDR", touch.status) == NULL)
        return unexpected(load, history, raw, err);
    MK_TRY(rc, need_token(load, history, &token, err));
    MK_TRY(rc, path_code(history, token, &touch.path, err));
    touch.old_path = touch.path;
    if (two) {
        MK_TRY(rc, need_token(load, history, &token, err));
        MK_TRY(rc, path_code(history, token, &touch.path, err));
    }
    void *touches = history->touches;
    rc = mk_grow(history->alloc, &touches, &history->touch_cap, history->touch_count + 1,
                 sizeof touch, err);
    history->touches = touches;
    if (rc == MK_OK) {
        history->touches[history->touch_count++] = touch;
        history->commits[history->commit_count - 1].touch_count++;
    }

out:
    return rc;
}

/* One number of a numstat line; "-" for binary files. */
static bool line_count(mk_str *text, int64_t *out)
{
    const char *tab = memchr(text->p, '\t', text->n);

    if (tab == NULL)
        return false;
    const mk_str number = {text->p, (size_t)(tab - text->p)};
    *text = (mk_str){tab + 1, text->n - number.n - 1};
    *out = -1;
    return mk_str_eq(number, MK_STR("-")) || mk_str_to_i64(number, out);
}

static mk_code add_numstat(mk_load *load, git_history *history, mk_str line, mk_err *err)
{
    mk_str rest = line;
    int64_t additions, deletions;
    uint32_t path;
    mk_code rc;

    if (history->commit_count == 0 || !line_count(&rest, &additions) ||
        !line_count(&rest, &deletions))
        return unexpected(load, history, line, err);
    if (rest.n == 0) {
        MK_TRY(rc, need_token(load, history, &rest, err));
        MK_TRY(rc, need_token(load, history, &rest, err));
    }
    MK_TRY(rc, path_code(history, rest, &path, err));
    /* Both lists have one order, so the first look nearly always hits. */
    const git_commit *commit = &history->commits[history->commit_count - 1];
    for (size_t i = 0; i < commit->touch_count; i++) {
        const size_t at = (history->next_numstat + i) % commit->touch_count;
        git_touch *touch = &history->touches[commit->first_touch + at];
        if (touch->path == path) {
            touch->additions = additions;
            touch->deletions = deletions;
            history->next_numstat = at + 1;
            break;
        }
    }

out:
    return rc;
}

mk_code mk_git__parse(mk_load *load, git_history *history, mk_err *err)
{
    mk_str token;
    bool more;
    mk_code rc;

    for (;;) {
        MK_TRY(rc, next_token(load->reader, &token, &more, err));
        if (!more)
            break;
        while (token.n > 0 && token.p[0] == '\n')
            token = (mk_str){token.p + 1, token.n - 1};
        if (token.n == 0)
            continue;
        if (token.p[0] == '\x01')
            MK_TRY(rc, add_commit(load, history, token, err));
        else if (token.p[0] == ':')
            MK_TRY(rc, add_touch(load, history, token, err));
        else
            MK_TRY(rc, add_numstat(load, history, token, err));
    }

out:
    return rc;
}

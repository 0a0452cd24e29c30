/* git.c — a repository's history as a graph: people, files, commits.
 *
 * The whole history is read first, because a person or a file is one node whose first and last
 * moments are known only at the end. Then nodes are asserted, and edges follow as events.
 *
 *   person:E-MAIL  Person   {email, name}                 from their first commit on
 *   file:PATH      File     {path, kind?}                 one version per life of the path
 *   commit:HASH    Commit   {committed_at, hash, merge?, subject}   from its author date on
 *
 *   person -AUTHORED-> commit      at the author date
 *   person -COMMITTED-> commit     at the commit date, when it was somebody else
 *   commit -PARENT-> commit        from the child's author date on
 *   commit -ADDED|MODIFIED|DELETED|RENAMED-> file   at the author date {additions, deletions, ...}
 *   person -CHANGED-> file         the same, so that "who changed this file" is one step
 *   file -RENAMED_TO-> file        at the author date {commit, similarity}
 *
 * Valid time is the author date. A path's life ends when it is deleted or renamed away; it starts at
 * the earliest change that belongs to it, since rebased commits may be dated before the one that adds
 * the file. What a merge commit itself changes is not looked at: its parents' commits are there. */
#include "load/git_internal.h"

/* One stretch in which a path existed. */
typedef struct git_life {
    uint32_t path;
    uint32_t mode;     /* last seen */
    uint32_t previous; /* life of the same path, or NO_LIFE */
    int64_t vt_s, vt_e;
} git_life;

#define NO_LIFE UINT32_MAX

typedef struct emitter {
    mk_load *load;
    const git_history *history;
    const mk_alloc *alloc;
    mk_arena arena;   /* uids */
    mk_str *people;   /* uids by person */
    mk_str *files;    /* uids by path */
    mk_str *commits;  /* uids by commit */
    int64_t *first;   /* by person */
    uint32_t *current; /* by path: its newest life */
    git_life *lives;
    size_t life_count, life_cap;
    mk_str source, reference;
    bool reference_null;
    uint64_t line; /* ordinal of the commit at hand */
} emitter;

/* ---- lives of paths ---- */

static mk_code life_start(emitter *e, uint32_t path, uint32_t mode, int64_t at, mk_err *err)
{
    const uint32_t previous = e->current[path];
    void *lives = e->lives;
    const mk_code rc =
        mk_grow(e->alloc, &lives, &e->life_cap, e->life_count + 1, sizeof *e->lives, err);

    e->lives = lives;
    if (rc != MK_OK)
        return rc;
    if (previous != NO_LIFE && at < e->lives[previous].vt_e)
        at = e->lives[previous].vt_e;
    e->lives[e->life_count] =
        (git_life){.path = path, .mode = mode, .previous = previous, .vt_s = at, .vt_e = MK_OPEN_END};
    e->current[path] = (uint32_t)e->life_count++;
    return MK_OK;
}

static bool is_alive(const emitter *e, uint32_t path)
{
    return e->current[path] != NO_LIFE && e->lives[e->current[path]].vt_e == MK_OPEN_END;
}

/* A change of a path that lives: its life began no later than that, but after the life before it. */
static void life_seen(emitter *e, uint32_t path, uint32_t mode, int64_t at)
{
    git_life *life = &e->lives[e->current[path]];

    life->mode = mode;
    if (life->previous != NO_LIFE && at < e->lives[life->previous].vt_e)
        at = e->lives[life->previous].vt_e;
    if (at < life->vt_s)
        life->vt_s = at;
}

static void life_end(emitter *e, uint32_t path, int64_t at)
{
    if (!is_alive(e, path))
        return;
    git_life *life = &e->lives[e->current[path]];
    life->vt_e = at > life->vt_s ? at : life->vt_s + 1;
}

static mk_code follow(emitter *e, const git_commit *commit, mk_err *err)
{
    for (size_t i = 0; i < commit->touch_count; i++) {
        const git_touch *touch = &e->history->touches[commit->first_touch + i];
        mk_code rc = MK_OK;
        if (touch->status == 'D' || touch->status == 'R')
            life_end(e, touch->old_path, commit->authored_us);
        if (touch->status == 'D')
            continue;
        if (is_alive(e, touch->path))
            life_seen(e, touch->path, touch->mode, commit->authored_us);
        else
            rc = life_start(e, touch->path, touch->mode, commit->authored_us, err);
        if (rc != MK_OK)
            return rc;
    }
    return MK_OK;
}

static void meet(emitter *e, uint32_t person, int64_t at)
{
    if (at < e->first[person])
        e->first[person] = at;
}

static mk_code follow_all(emitter *e, mk_err *err)
{
    for (size_t i = 0; i < e->history->commit_count; i++) {
        const git_commit *commit = &e->history->commits[i];
        const mk_code rc = follow(e, commit, err);
        if (rc != MK_OK)
            return rc;
        meet(e, commit->author, commit->authored_us);
        meet(e, commit->committer, commit->committed_us);
    }
    return MK_OK;
}

/* ---- names ---- */

static mk_code make_uid(emitter *e, const char *kind, mk_str name, mk_str *out, mk_err *err)
{
    const mk_str prefix = mk_load__option(e->load->options->prefix, ""), word = mk_str_of(kind);
    char *p = mk_arena_get(&e->arena, prefix.n + word.n + name.n);

    if (p == NULL)
        return mk_fail_nomem(err);
    memcpy(p, prefix.p, prefix.n);
    memcpy(p + prefix.n, word.p, word.n);
    memcpy(p + prefix.n + word.n, name.p, name.n);
    *out = (mk_str){p, prefix.n + word.n + name.n};
    return MK_OK;
}

static mk_code make_uids(emitter *e, const char *kind, const mk_str *names, size_t count, mk_str **out,
                         mk_err *err)
{
    *out = mk_arena_get(&e->arena, (count + 1) * sizeof **out);
    if (*out == NULL)
        return mk_fail_nomem(err);
    for (size_t i = 0; i < count; i++) {
        const mk_code rc = make_uid(e, kind, names[i], &(*out)[i], err);
        if (rc != MK_OK)
            return rc;
    }
    return MK_OK;
}

static mk_code make_commit_uids(emitter *e, mk_err *err)
{
    const size_t count = e->history->commit_count;

    e->commits = mk_arena_get(&e->arena, (count + 1) * sizeof *e->commits);
    if (e->commits == NULL)
        return mk_fail_nomem(err);
    for (size_t i = 0; i < count; i++) {
        const mk_code rc =
            make_uid(e, "commit:", e->history->commits[i].hash, &e->commits[i], err);
        if (rc != MK_OK)
            return rc;
    }
    return MK_OK;
}

static mk_code prepare(emitter *e, mk_err *err)
{
    const git_history *history = e->history;
    const size_t people = history->people.count, paths = history->paths.count;
    mk_code rc;

    MK_TRY(rc, make_uids(e, "person:", history->people.strings, people, &e->people, err));
    MK_TRY(rc, make_uids(e, "file:", history->paths.strings, paths, &e->files, err));
    MK_TRY(rc, make_commit_uids(e, err));
    e->first = mk_arena_get(&e->arena, (people + 1) * sizeof *e->first);
    e->current = mk_arena_get(&e->arena, (paths + 1) * sizeof *e->current);
    if (e->first == NULL || e->current == NULL) {
        rc = mk_fail_nomem(err);
        goto out;
    }
    for (size_t i = 0; i < people; i++)
        e->first[i] = MK_OPEN_END - 1;
    for (size_t i = 0; i < paths; i++)
        e->current[i] = NO_LIFE;

out:
    return rc;
}

/* ---- properties ---- */

static mk_buf *props_open(emitter *e)
{
    mk_buf *buf = &e->load->scratch;

    mk_buf_clear(buf);
    mk_buf_c(buf, '{');
    return buf;
}

/* Members have to come in the order of their names. */
static void member(mk_buf *buf, const char *name)
{
    if (buf->n > 1)
        mk_buf_c(buf, ',');
    mk_buf_c(buf, '"');
    mk_buf_z(buf, name);
    mk_buf_z(buf, "\":");
}

static void member_text(mk_buf *buf, const char *name, mk_str text)
{
    member(buf, name);
    mk_canon_string(buf, text);
}

static void member_number(mk_buf *buf, const char *name, int64_t value)
{
    member(buf, name);
    mk_buf_i64(buf, value);
}

static mk_code props_close(emitter *e, mk_str *out, mk_err *err)
{
    mk_buf *buf = &e->load->scratch;

    mk_buf_c(buf, '}');
    const mk_code rc = mk_buf_done(buf, err);
    if (rc != MK_OK)
        return rc;
    *out = mk_arena_copy(e->load->sink->arena, mk_buf_view(buf));
    return out->p != NULL ? MK_OK : mk_fail_nomem(err);
}

/* ---- nodes ---- */

static mk_code node(emitter *e, mk_str uid, const char *label, int64_t vt_s, int64_t vt_e, mk_err *err)
{
    mk_op op = {.kind = MK_OP_ASSERT_NODE,
                .uid = uid,
                .label = mk_str_of(label),
                .vt_s = vt_s,
                .vt_e = vt_e,
                .source = e->source,
                .provenance_ref = e->reference,
                .provenance_null = e->reference_null};
    const mk_code rc = props_close(e, &op.props, err);

    if (rc != MK_OK)
        return rc;
    return e->load->sink->op(e->load->sink, &op, e->line, err);
}

static mk_code emit_people(emitter *e, mk_err *err)
{
    const git_history *history = e->history;

    for (size_t i = 0; i < history->people.count; i++) {
        mk_buf *buf = props_open(e);
        const mk_str key = history->people.strings[i];
        if (memchr(key.p, '@', key.n) != NULL)
            member_text(buf, "email", key);
        member_text(buf, "name", history->names[i].n > 0 ? history->names[i] : key);
        const mk_code rc = node(e, e->people[i], "Person", e->first[i], MK_OPEN_END, err);
        if (rc != MK_OK)
            return rc;
    }
    return MK_OK;
}

static mk_code emit_files(emitter *e, mk_err *err)
{
    for (size_t i = 0; i < e->life_count; i++) {
        const git_life *life = &e->lives[i];
        mk_buf *buf = props_open(e);
        if ((life->mode & 0170000) == 0120000)
            member_text(buf, "kind", MK_STR("symlink"));
        else if ((life->mode & 0170000) == 0160000)
            member_text(buf, "kind", MK_STR("submodule"));
        member_text(buf, "path", e->history->paths.strings[life->path]);
        const mk_code rc = node(e, e->files[life->path], "File", life->vt_s, life->vt_e, err);
        if (rc != MK_OK)
            return rc;
    }
    return MK_OK;
}

static mk_code emit_commits(emitter *e, mk_err *err)
{
    for (size_t i = 0; i < e->history->commit_count; i++) {
        const git_commit *commit = &e->history->commits[i];
        mk_buf *buf = props_open(e);
        e->line = i + 1;
        member_number(buf, "committed_at", commit->committed_us);
        member_text(buf, "hash", commit->hash);
        if (commit->parents.n > 0 && memchr(commit->parents.p, ' ', commit->parents.n) != NULL) {
            member(buf, "merge");
            mk_buf_z(buf, "true");
        }
        member_text(buf, "subject", commit->subject);
        const mk_code rc =
            node(e, e->commits[i], "Commit", commit->authored_us, MK_OPEN_END, err);
        if (rc != MK_OK)
            return rc;
    }
    return MK_OK;
}

/* ---- edges ---- */

/* Discriminators are given, so that the same history always makes the same edges. */
static mk_code edge(emitter *e, mk_str src, const char *rel_type, mk_str dst, mk_str disc, int64_t at,
                    mk_str props, mk_err *err)
{
    const mk_event event = {.src = src,
                            .dst = dst,
                            .rel_type = mk_str_of(rel_type),
                            .disc = disc,
                            .disc_kind = MK_DISC_GIVEN,
                            .vt_s = at,
                            .props = props};

    return e->load->sink->event(e->load->sink, &event, e->line, err);
}

static mk_code emit_parents(emitter *e, size_t index, mk_err *err)
{
    const git_commit *commit = &e->history->commits[index];
    mk_str rest = commit->parents;

    while (rest.n > 0) {
        const char *space = memchr(rest.p, ' ', rest.n);
        const mk_str hash = {rest.p, space != NULL ? (size_t)(space - rest.p) : rest.n};
        mk_event event = {.src = e->commits[index],
                          .rel_type = MK_STR("PARENT"),
                          .disc_kind = MK_DISC_GIVEN,
                          .vt_s = commit->authored_us,
                          .vt_e = MK_OPEN_END,
                          .has_vt_e = true};
        mk_code rc = make_uid(e, "commit:", hash, &event.dst, err);
        if (rc == MK_OK)
            rc = e->load->sink->event(e->load->sink, &event, e->line, err);
        if (rc != MK_OK)
            return rc;
        rest = space != NULL ? (mk_str){space + 1, rest.n - hash.n - 1} : (mk_str){"", 0};
    }
    return MK_OK;
}

/* {additions, commit?, deletions} or {binary, commit?}, and for a rename where it came from. */
static mk_code touch_props(emitter *e, const git_touch *touch, const mk_str *hash, mk_str *out,
                           mk_err *err)
{
    mk_buf *buf = props_open(e);
    const bool binary = touch->additions < 0;

    if (binary) {
        member(buf, "binary");
        mk_buf_z(buf, "true");
    } else {
        member_number(buf, "additions", touch->additions);
    }
    if (hash != NULL)
        member_text(buf, "commit", *hash);
    if (!binary)
        member_number(buf, "deletions", touch->deletions);
    if (touch->status == 'R') {
        member_text(buf, "from", e->history->paths.strings[touch->old_path]);
        member_number(buf, "similarity", touch->similarity);
    }
    return props_close(e, out, err);
}

static mk_code emit_touch(emitter *e, size_t index, const git_touch *touch, mk_err *err)
{
    const git_commit *commit = &e->history->commits[index];
    const char *const rel_type = touch->status == 'A'   ? "ADDED"
                                 : touch->status == 'D' ? "DELETED"
                                 : touch->status == 'R' ? "RENAMED"
                                                        : "MODIFIED";
    const mk_str file = e->files[touch->path], none = {"", 0};
    const int64_t at = commit->authored_us;
    mk_str props;
    mk_code rc;

    MK_TRY(rc, touch_props(e, touch, NULL, &props, err));
    MK_TRY(rc, edge(e, e->commits[index], rel_type, file, none, at, props, err));
    MK_TRY(rc, touch_props(e, touch, &commit->hash, &props, err));
    MK_TRY(rc, edge(e, e->people[commit->author], "CHANGED", file, commit->hash, at, props, err));
    if (touch->status != 'R')
        goto out;
    mk_buf *buf = props_open(e);
    member_text(buf, "commit", commit->hash);
    member_number(buf, "similarity", touch->similarity);
    MK_TRY(rc, props_close(e, &props, err));
    rc = edge(e, e->files[touch->old_path], "RENAMED_TO", file, commit->hash, at, props, err);

out:
    return rc;
}

static mk_code emit_edges(emitter *e, size_t index, mk_err *err)
{
    const git_commit *commit = &e->history->commits[index];
    const mk_str none = {"", 0};
    mk_code rc;

    e->line = index + 1;
    MK_TRY(rc, edge(e, e->people[commit->author], "AUTHORED", e->commits[index], none,
                    commit->authored_us, none, err));
    if (commit->committer != commit->author)
        MK_TRY(rc, edge(e, e->people[commit->committer], "COMMITTED", e->commits[index], none,
                        commit->committed_us, none, err));
    MK_TRY(rc, emit_parents(e, index, err));
    for (size_t i = 0; i < commit->touch_count; i++)
        MK_TRY(rc, emit_touch(e, index, &e->history->touches[commit->first_touch + i], err));

out:
    return rc;
}

/* ---- the whole ---- */

/* A second run would assert every node again and add every edge twice. */
static mk_code check_new(emitter *e, mk_err *err)
{
    bool has = false;

    if (e->load->target == NULL || e->history->commit_count == 0)
        return MK_OK;
    const mk_code rc =
        e->load->target->has_node(e->load->target->ctx, e->commits[0], &has, err);
    if (rc != MK_OK || !has)
        return rc;
    mk_fail(err, MK_E_STATE, "the store already holds this history: commit %.*s is a node",
            MK_STR_ARG(e->history->commits[0].hash));
    mk_err_path(err, "%s", e->load->name);
    mk_err_reason(err, "already_loaded");
    mk_err_hint(err, "load it into a new store, or give --prefix to keep both apart");
    return MK_E_STATE;
}

static mk_code emit(emitter *e, mk_err *err)
{
    mk_code rc;

    MK_TRY(rc, prepare(e, err));
    MK_TRY(rc, check_new(e, err));
    MK_TRY(rc, follow_all(e, err));
    MK_TRY(rc, emit_people(e, err));
    MK_TRY(rc, emit_files(e, err));
    MK_TRY(rc, emit_commits(e, err));
    for (size_t i = 0; i < e->history->commit_count; i++) {
        if (i % 4096 == 0)
            MK_TRY(rc, mk_load__progress(e->load, err));
        MK_TRY(rc, emit_edges(e, i, err));
    }
    rc = e->load->sink->flush(e->load->sink, err);

out:
    return rc;
}

static mk_code read_history(mk_load *load, git_history *history, const mk_alloc *alloc, mk_err *err)
{
    git_process process;
    mk_load_reader reader;
    mk_err of_git;
    mk_code rc = mk_git__start(alloc, load->options->path, load->options->revision, &process, err);

    if (rc != MK_OK)
        return rc;
    mk_load__reader_init(&reader, alloc, mk_git__read, &process, load->sink);
    load->reader = &reader;
    rc = mk_git__parse(load, history, err);
    load->report->bytes = process.bytes;
    /* Output that is cut short is explained best by git itself. */
    const mk_code finished =
        mk_git__finish(&process, load->name, rc != MK_OK && rc != MK_E_STATE, &of_git);
    if (finished != MK_OK) {
        rc = finished;
        if (err != NULL)
            *err = of_git;
    }
    load->reader = NULL;
    mk_load__reader_free(&reader);
    return rc;
}

mk_code mk_load__git(mk_load *load, mk_err *err)
{
    const mk_load_options *options = load->options;
    const mk_alloc *alloc = load->sink->arena->alloc;
    emitter e = {.load = load,
                 .alloc = alloc,
                 .source = mk_load__option(options->source, "ingest"),
                 .reference = mk_load__option(options->provenance_ref, ""),
                 .reference_null = options->provenance_ref == NULL};
    git_history history;
    mk_code rc;

    mk_git__history_init(&history, alloc);
    mk_arena_init(&e.arena, alloc);
    e.history = &history;
    MK_TRY(rc, read_history(load, &history, alloc, err));
    rc = emit(&e, err);
    if (rc == MK_OK)
        load->report->done_line = history.commit_count;

out:
    if (e.lives != NULL)
        mk_free(alloc, e.lives, e.life_cap * sizeof *e.lives);
    mk_arena_free(&e.arena);
    mk_git__history_free(&history);
    return rc;
}

/* writing.c — see writing.h. Layer: serve. */
#include "serve/writing.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/canon.h"
#include "base/timetext.h"
#include "store/record.h"

/* ---- the writer ---- */

/* Whether a process has the file open: its links below /proc say so. */
static bool has_open(long pid, const char *file)
{
    char folder[64], path[400], target[4096];
    bool found = false;
    snprintf(folder, sizeof folder, "/proc/%ld/fd", pid);
    DIR *d = opendir(folder);
    for (struct dirent *e; d != NULL && !found && (e = readdir(d)) != NULL;) {
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        const ssize_t n = readlink(path, target, sizeof target - 1);
        if (n > 0) {
            target[n] = '\0';
            found = strcmp(target, file) == 0;
        }
    }
    if (d != NULL)
        closedir(d);
    return found;
}

/* Who holds the lock of a store: the lock belongs to an open file, so whoever has it open. 0: it is not to be
 * seen. */
static long holder_of(const char *dir)
{
    char path[PATH_MAX], file[PATH_MAX];
    long found = 0;
    snprintf(path, sizeof path, "%s/lock", dir);
    DIR *d = realpath(path, file) != NULL ? opendir("/proc") : NULL;
    for (struct dirent *e; d != NULL && found == 0 && (e = readdir(d)) != NULL;) {
        const long pid = strtol(e->d_name, NULL, 10);
        if (pid > 0 && pid != getpid() && has_open(pid, file))
            found = pid;
    }
    if (d != NULL)
        closedir(d);
    return found;
}

static mk_code locked(mk_service *service, mk_err *err)
{
    char extra[48];
    const long pid = holder_of(service->dir);
    mk_fail(err, MK_E_STATE,
            pid > 0 ? "process %ld is writing to this store" : "another process is writing to this store",
            pid);
    mk_err_reason(err, "locked");
    mk_err_retry(err, MK_RETRY_AS_IS);
    mk_err_hint(err, "try again once it has finished; reading works meanwhile");
    if (pid > 0)
        mk_err_extra(err, extra, (size_t)snprintf(extra, sizeof extra, "\"holder_pid\":%ld", pid));
    return MK_E_STATE;
}

static mk_code writer_of(mk_service *service, mk_store **out, mk_err *err)
{
    const mk_store_options options = {.mode = MK_OPEN_WRITER, .alloc = service->alloc};
    mk_code rc = MK_OK;
    if (!service->options.write) {
        mk_fail(err, MK_E_STATE, "this server only reads");
        mk_err_reason(err, "read_only");
        mk_err_hint(err, "start it with --write");
        return MK_E_STATE;
    }
    MK_TRY(rc, mk_service_store(service, out, err));
    if (mk_store_writable(*out))
        return MK_OK;
    pthread_mutex_lock(&service->mutex);
    if (service->writer == NULL)
        rc = mk_store_open(service->dir, &options, &service->writer, err);
    *out = service->writer;
    pthread_mutex_unlock(&service->mutex);
    if (rc == MK_E_STATE && strcmp(err->reason, "locked") == 0)
        rc = locked(service, err);
out:
    return rc;
}

/* ---- batches ---- */

static mk_code read_ops(const mk_caller *caller, const mk_json *list, const mk_writing *how, mk_op **ops,
                        mk_err *err)
{
    mk_code rc = MK_OK;
    if (list == NULL || list->kind != MK_JSON_ARRAY || list->n == 0 || list->n > MK_WRITE_OPS_MAX) {
        mk_fail(err, MK_E_SCHEMA, "ops: a list of 1 to %u operations is needed", MK_WRITE_OPS_MAX);
        mk_err_path(err, "ops");
        return MK_E_SCHEMA;
    }
    *ops = mk_arena_get0(caller->arena, list->n * sizeof **ops);
    if (*ops == NULL)
        return mk_fail_nomem(err);
    for (size_t i = 0; i < list->n; i++) {
        char path[32];
        mk_op *op = &(*ops)[i];
        snprintf(path, sizeof path, "ops[%zu]", i);
        MK_TRY(rc, mk_op_from_json(&list->items[i], caller->arena, path, op, err));
        op->source = caller->principal.n != 0 ? caller->principal : MK_STR("public");
        op->provenance_ref = how->reference;
        op->provenance_null = how->reference.n == 0;
    }
out:
    return rc;
}

/* Ids are each principal's own: two that chose the same one must not swallow each other's batch, nor learn of
 * it. Those of "public" are as on the command line. */
static mk_code own_id(const mk_caller *caller, mk_str id, mk_str *out, mk_err *err)
{
    *out = id;
    if (id.n != 0 && memchr(id.p, '\n', id.n) != NULL) {
        mk_fail(err, MK_E_INVALID_ARG, "request_id: a line break is not allowed");
        mk_err_path(err, "request_id");
        return MK_E_INVALID_ARG;
    }
    if (id.n == 0 || caller->principal.n == 0 || mk_str_eq(caller->principal, MK_STR("public")))
        return MK_OK;
    char *p = mk_arena_get(caller->arena, caller->principal.n + 1 + id.n);
    if (p == NULL)
        return mk_fail_nomem(err);
    memcpy(p, caller->principal.p, caller->principal.n);
    p[caller->principal.n] = '\n'; /* in no id and in no principal, so that what is joined stays apart */
    memcpy(p + caller->principal.n + 1, id.p, id.n);
    *out = (mk_str){p, caller->principal.n + 1 + id.n};
    return MK_OK;
}

mk_code mk_serve_write(mk_service *service, const mk_caller *caller, const mk_json *ops,
                       const mk_writing *how, mk_buf *out, mk_err *err)
{
    mk_write_options options = {0};
    mk_store *store;
    mk_op *list;
    mk_tt tt;
    mk_code rc;
    MK_TRY(rc, writer_of(service, &store, err));
    MK_TRY(rc, own_id(caller, how->request_id, &options.request_id, err));
    MK_TRY(rc, read_ops(caller, ops, how, &list, err));
    MK_TRY(rc, mk_store_write(store, list, ops->n, &options, &tt, err));
    atomic_store(&service->looked_us, 0); /* readers of this very server see it at once */
    mk_buf_printf(out, "{\"ops\":%zu,\"tt\":%lld}", ops->n, (long long)tt.us);
    rc = mk_buf_done(out, err);
out:
    return rc;
}

/* ---- facts, as a model writes them ---- */

static const mk_json *given(const mk_json *object, const char *name)
{
    const mk_json *value = mk_json_get(object, name);
    return value == NULL || value->kind == MK_JSON_NULL ||
                   (value->kind == MK_JSON_STRING && value->text.n == 0)
               ? NULL
               : value;
}

static mk_code put_member(const mk_caller *caller, const char *name, const mk_json *value, mk_buf *out,
                          mk_err *err)
{
    mk_buf_printf(out, ",\"%s\":", name);
    return mk_canon_tree(out, caller->arena, value, err);
}

/* Properties as an object, or as text that holds one. */
static mk_code put_props(const mk_caller *caller, const mk_json *value, size_t index, mk_buf *out,
                         mk_err *err)
{
    mk_json *tree;
    mk_code rc = MK_OK;
    if (value == NULL) {
        mk_buf_z(out, ",\"props\":{}");
        return MK_OK;
    }
    if (value->kind == MK_JSON_STRING) {
        rc = mk_json_parse(caller->arena, value->text, NULL, &tree, err);
        if (rc == MK_OK)
            value = tree;
    }
    if (rc == MK_OK && value->kind == MK_JSON_OBJECT)
        return put_member(caller, "props", value, out, err);
    mk_fail(err, MK_E_SCHEMA, "facts[%zu].props: an object is needed", index);
    mk_err_path(err, "facts[%zu].props", index);
    return MK_E_SCHEMA;
}

static mk_code put_time(const mk_json *fact, const char *name, const char *as, bool needed, size_t index,
                        mk_buf *out, mk_err *err)
{
    const mk_json *value = given(fact, name);
    int64_t t;
    if (value == NULL && !needed)
        return MK_OK;
    if (value != NULL && value->kind == MK_JSON_INT && !value->b)
        t = value->i;
    else if (value == NULL || value->kind != MK_JSON_STRING ||
             (mk_time_parse(value->text, &t, NULL) != MK_OK && !mk_str_to_i64(value->text, &t))) {
        mk_fail(err, MK_E_SCHEMA, "facts[%zu].%s: a time is needed, ISO 8601 or microseconds", index, name);
        mk_err_path(err, "facts[%zu].%s", index, name);
        return MK_E_SCHEMA;
    }
    mk_buf_printf(out, ",\"%s\":%lld", as, (long long)t);
    return MK_OK;
}

/* What the fact is about: members of their own, or inside of "ref". */
static mk_code put_subject(const mk_caller *caller, const mk_json *fact, bool node, bool as_ref, size_t index,
                           mk_buf *out, mk_err *err)
{
    static const char *const of_node[] = {"uid", NULL}, *const of_edge[] = {"src", "rel_type", "dst", "disc",
                                                                            NULL};
    mk_code rc = MK_OK;
    if (as_ref)
        mk_buf_printf(out, ",\"ref\":{\"kind\":\"%s\"", node ? "node" : "edge");
    for (const char *const *name = node ? of_node : of_edge; *name != NULL; name++) {
        const mk_json *value = given(fact, *name);
        if (value != NULL) {
            MK_TRY(rc, put_member(caller, *name, value, out, err));
        } else if (strcmp(*name, "disc") != 0) {
            mk_fail(err, MK_E_SCHEMA,
                    "facts[%zu]: uid names a node, src, rel_type and dst an edge; %s is missing", index,
                    *name);
            mk_err_path(err, "facts[%zu].%s", index, *name);
            rc = MK_E_SCHEMA;
            goto out;
        }
    }
    if (as_ref)
        mk_buf_c(out, '}');
out:
    return rc;
}

static mk_code check_members(const mk_json *fact, size_t index, mk_err *err)
{
    static const char *const known[] = {"uid",  "label", "src",  "rel_type", "dst",
                                        "disc", "props", "vt_s", "vt_e",     "t"};
    for (size_t m = 0; m < fact->n; m++) {
        bool found = false;
        for (size_t k = 0; k < sizeof known / sizeof *known; k++)
            found |= mk_str_eq(fact->members[m].key, mk_str_of(known[k]));
        if (found)
            continue;
        mk_fail(err, MK_E_SCHEMA, "facts[%zu]: there is no member \"%.*s\"", index,
                (int)(fact->members[m].key.n > 40 ? 40 : fact->members[m].key.n), fact->members[m].key.p);
        mk_err_path(err, "facts[%zu]", index);
        mk_err_hint(err, "uid, label, src, rel_type, dst, disc, props, vt_s, vt_e and t are known");
        return MK_E_SCHEMA;
    }
    return MK_OK;
}

static mk_code put_op(const mk_caller *caller, mk_write_verb verb, const mk_json *fact, size_t index,
                      mk_buf *out, mk_err *err)
{
    mk_code rc;
    if (fact->kind != MK_JSON_OBJECT) {
        mk_fail(err, MK_E_SCHEMA, "facts[%zu]: an object is needed", index);
        mk_err_path(err, "facts[%zu]", index);
        return MK_E_SCHEMA;
    }
    MK_TRY(rc, check_members(fact, index, err));
    const bool node = given(fact, "uid") != NULL;
    mk_buf_printf(out, "{\"op\":\"%s\"",
                  verb == MK_WRITE_RETRACT   ? "retract"
                  : verb == MK_WRITE_CORRECT ? "correct"
                  : node                     ? "assert_node"
                                             : "assert_edge");
    MK_TRY(rc, put_subject(caller, fact, node, verb != MK_WRITE_ASSERT, index, out, err));
    if (verb == MK_WRITE_RETRACT) {
        MK_TRY(rc, put_time(fact, "t", "t", true, index, out, err));
    } else {
        if (verb == MK_WRITE_ASSERT && node) {
            static const mk_json plain = {.kind = MK_JSON_STRING, .text = {"Node", 4}};
            const mk_json *label = given(fact, "label");
            MK_TRY(rc, put_member(caller, "label", label != NULL ? label : &plain, out, err));
        }
        MK_TRY(rc, put_props(caller, given(fact, "props"), index, out, err));
        MK_TRY(rc, put_time(fact, "vt_s", "vt_s", true, index, out, err));
        MK_TRY(rc, put_time(fact, "vt_e", "vt_e", false, index, out, err));
    }
    mk_buf_c(out, '}');
    rc = mk_buf_done(out, err);
out:
    return rc;
}

mk_code mk_serve_facts(mk_service *service, const mk_caller *caller, mk_write_verb verb,
                       const mk_json *arguments, mk_str reference, mk_buf *out, mk_err *err)
{
    const mk_json *facts =
        arguments != NULL && arguments->kind == MK_JSON_OBJECT ? mk_json_get(arguments, "facts") : NULL;
    const mk_json *id =
        arguments != NULL && arguments->kind == MK_JSON_OBJECT ? given(arguments, "request_id") : NULL;
    mk_json *ops;
    mk_buf text;
    mk_code rc;
    mk_buf_init(&text, service->alloc);
    if (facts == NULL || (facts->kind != MK_JSON_ARRAY && facts->kind != MK_JSON_OBJECT) ||
        (id != NULL && id->kind != MK_JSON_STRING)) {
        rc = mk_fail(err, MK_E_SCHEMA,
                     id != NULL && id->kind != MK_JSON_STRING ? "request_id: text is needed"
                                                              : "facts: a list of facts is needed");
        mk_err_path(err, id != NULL && id->kind != MK_JSON_STRING ? "request_id" : "facts");
        goto out;
    }
    const mk_json *items = facts->kind == MK_JSON_ARRAY ? facts->items : facts; /* one is a list of one */
    const size_t n = facts->kind == MK_JSON_ARRAY ? facts->n : 1;
    mk_buf_c(&text, '[');
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            mk_buf_c(&text, ',');
        MK_TRY(rc, put_op(caller, verb, &items[i], i, &text, err));
    }
    mk_buf_c(&text, ']');
    MK_TRY(rc, mk_buf_done(&text, err));
    const mk_str kept = mk_arena_copy(caller->arena, mk_buf_view(&text));
    if (kept.p == NULL) {
        rc = mk_fail_nomem(err);
        goto out;
    }
    MK_TRY(rc, mk_json_parse(caller->arena, kept, NULL, &ops, err));
    const mk_writing how = {.request_id = id != NULL ? id->text : (mk_str){NULL, 0},
                            .reference = id != NULL ? id->text : reference};
    rc = mk_serve_write(service, caller, ops, &how, out, err);
out:
    mk_buf_free(&text);
    return rc;
}

/* suite.c — reading suites of questions. Layer: eval.
 *
 * A suite is outside data: every member is looked at before it is used, and what is wrong is named by its
 * path. What a task does not need for its form may be absent, never of the wrong type. */
#include "eval/suite.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/canon.h"
#include "base/sha256.h"

typedef struct reading {
    mk_arena *arena;
    mk_eval_suite *out;
    const char *list; /* "dev", "test", or "" for a suite that is a list */
    size_t index;
    mk_err *err;
} reading;

static mk_code wrong(reading *r, const char *member, const char *fmt, ...) MK_PRINTF(3, 4);
static mk_code wrong(reading *r, const char *member, const char *fmt, ...)
{
    char text[256];
    va_list list;
    va_start(list, fmt);
    vsnprintf(text, sizeof text, fmt, list);
    va_end(list);
    mk_fail(r->err, MK_E_SCHEMA, "not a suite: %s", text);
    mk_err_path(r->err, "%s[%zu]%s%s", r->list, r->index, member[0] != '\0' ? "." : "", member);
    return MK_E_SCHEMA;
}

/* ---- members of a task ---- */

static mk_code read_text(reading *r, const mk_json *task, const char *name, bool required, mk_str *out)
{
    const mk_json *value = mk_json_get(task, name);
    if (value == NULL && !required)
        return MK_OK;
    if (value == NULL || value->kind != MK_JSON_STRING || value->text.n == 0)
        return wrong(r, name, "%s must be a text that is not empty", name);
    *out = value->text;
    return MK_OK;
}

static mk_code read_uids(reading *r, const mk_json *task, mk_eval_task *out)
{
    const mk_json *list = mk_json_get(task, "input_uids");
    if (list == NULL)
        return MK_OK;
    if (list->kind != MK_JSON_ARRAY || list->n > MK_SUITE_UIDS_MAX)
        return wrong(r, "input_uids", "a list of at most %d identifiers is needed", MK_SUITE_UIDS_MAX);
    mk_str *uids = mk_arena_get(r->arena, list->n * sizeof *uids);
    if (uids == NULL)
        return mk_fail_nomem(r->err);
    for (size_t i = 0; i < list->n; i++) {
        if (list->items[i].kind != MK_JSON_STRING)
            return wrong(r, "input_uids", "item %zu is no text", i);
        uids[i] = list->items[i].text;
    }
    out->uids = uids;
    out->uid_count = list->n;
    return MK_OK;
}

static mk_code read_plan(reading *r, const mk_json *task, mk_eval_task *out)
{
    const mk_json *plan = mk_json_get(task, "oracle_plan");
    mk_buf text;
    mk_code rc;
    if (plan == NULL)
        return MK_OK;
    if (plan->kind != MK_JSON_OBJECT)
        return wrong(r, "oracle_plan", "a plan is an object");
    mk_buf_init(&text, r->arena->alloc);
    MK_TRY(rc, mk_canon_tree(&text, r->arena, plan, r->err));
    MK_TRY(rc, mk_buf_done(&text, r->err));
    out->plan = mk_arena_copy(r->arena, mk_buf_view(&text));
    if (out->plan.p == NULL)
        rc = mk_fail_nomem(r->err);
out:
    mk_buf_free(&text);
    return rc;
}

static mk_code read_gold(reading *r, const mk_json *task, mk_eval_task *out)
{
    static const mk_json null = {.kind = MK_JSON_NULL};
    out->gold = mk_json_get(task, "gold");
    if (out->gold == NULL && mk_task_wants_abstention(out))
        out->gold = &null;
    return out->gold != NULL ? MK_OK : wrong(r, "gold", "the right answer is missing");
}

static mk_code read_task(reading *r, const mk_json *task, bool frozen, mk_eval_task *out)
{
    mk_str source = {0};
    mk_code rc;
    if (task->kind != MK_JSON_OBJECT)
        return wrong(r, "", "a task is an object");
    *out = (mk_eval_task){.family = MK_STR("list")};
    MK_TRY(rc, read_text(r, task, "id", true, &out->id));
    MK_TRY(rc, read_text(r, task, frozen ? "question_text" : "question", true, &out->question));
    MK_TRY(rc, read_text(r, task, frozen ? "answer_kind" : "kind", true, &out->kind));
    MK_TRY(rc, read_text(r, task, "dataset", false, &out->family)); /* of a list, where it has no family */
    MK_TRY(rc, read_text(r, task, "family", frozen, &out->family));
    MK_TRY(rc, read_text(r, task, "gold_source", false, &source));
    MK_TRY(rc, read_gold(r, task, out));
    MK_TRY(rc, read_uids(r, task, out));
    MK_TRY(rc, read_plan(r, task, out));
    out->plan_is_gold = out->plan.n > 0 && (source.n == 0 || mk_str_eq(source, MK_STR("oracle_plan")));
out:
    return rc;
}

/* ---- lists of tasks ---- */

static mk_code read_list(reading *r, const mk_json *list, bool frozen)
{
    mk_code rc = MK_OK;
    for (r->index = 0; rc == MK_OK && r->index < list->n; r->index++)
        rc = read_task(r, &list->items[r->index], frozen, &r->out->tasks[r->out->count++]);
    return rc;
}

static mk_code make_room(reading *r, size_t count)
{
    if (count > MK_SUITE_TASKS_MAX)
        return mk_fail(r->err, MK_E_LIMIT, "the suite has %zu tasks, at most %d are possible", count,
                       MK_SUITE_TASKS_MAX);
    r->out->tasks = mk_arena_get(r->arena, count * sizeof *r->out->tasks);
    return r->out->tasks != NULL ? MK_OK : mk_fail_nomem(r->err);
}

/* The digest names the very tasks that numbers are reported for, so a suite that was edited is refused. */
static mk_code check_split(reading *r, const mk_json *suite, const mk_json *test)
{
    const mk_json *stated = mk_json_get(suite, "test_split_sha");
    uint8_t sha[32];
    mk_buf text;
    mk_code rc;
    mk_buf_init(&text, r->arena->alloc);
    MK_TRY(rc, mk_canon_tree(&text, r->arena, test, r->err));
    MK_TRY(rc, mk_buf_done(&text, r->err));
    mk_sha256_of(text.p, text.n, sha);
    mk_hex(r->out->split_sha_found, sha, sizeof sha);
    r->out->split_sha_found[64] = '\0';
    if (stated == NULL || stated->kind != MK_JSON_STRING)
        goto out;
    r->out->split_sha = stated->text;
    if (!mk_str_eq(stated->text, mk_str_of(r->out->split_sha_found))) {
        rc = mk_fail(r->err, MK_E_STATE, "the tasks in `test` are not those of its test_split_sha");
        mk_err_path(r->err, "test_split_sha");
        mk_err_hint(r->err, "the digest of these tasks is %s", r->out->split_sha_found);
    }
out:
    mk_buf_free(&text);
    return rc;
}

static mk_code read_frozen(reading *r, const mk_json *suite)
{
    static const mk_json none = {.kind = MK_JSON_ARRAY};
    const mk_json *dev = mk_json_get(suite, "dev"), *test = mk_json_get(suite, "test");
    const mk_json *dataset = mk_json_get(suite, "dataset");
    mk_code rc;
    if (test == NULL || test->kind != MK_JSON_ARRAY || (dev != NULL && dev->kind != MK_JSON_ARRAY)) {
        mk_fail(r->err, MK_E_SCHEMA, "not a suite: the lists `dev` and `test` are needed");
        mk_err_hint(r->err, "a suite may also be a list of {\"id\",\"question\",\"kind\",\"gold\"}");
        return MK_E_SCHEMA;
    }
    if (dataset != NULL && dataset->kind == MK_JSON_STRING)
        r->out->dataset = dataset->text;
    dev = dev != NULL ? dev : &none;
    MK_TRY(rc, make_room(r, dev->n + test->n));
    r->list = "dev";
    MK_TRY(rc, read_list(r, dev, true));
    r->list = "test";
    MK_TRY(rc, read_list(r, test, true));
    rc = check_split(r, suite, test);
out:
    return rc;
}

mk_code mk_suite_read(mk_str text, mk_arena *arena, mk_eval_suite *out, mk_err *err)
{
    reading r = {.arena = arena, .out = out, .list = "", .err = err};
    mk_json *tree;
    mk_code rc;
    *out = (mk_eval_suite){.count = 0};
    if (text.n > MK_SUITE_SIZE_MAX)
        return mk_fail(err, MK_E_LIMIT, "the suite has %zu bytes, at most %zu are possible", text.n,
                       MK_SUITE_SIZE_MAX);
    MK_TRY(rc, mk_json_parse(arena, text, NULL, &tree, err));
    if (tree->kind == MK_JSON_OBJECT) {
        rc = read_frozen(&r, tree);
    } else if (tree->kind == MK_JSON_ARRAY) {
        MK_TRY(rc, make_room(&r, tree->n));
        rc = read_list(&r, tree, false);
    } else {
        rc = mk_fail(err, MK_E_SCHEMA, "not a suite: an object or a list is needed");
    }
out:
    return rc;
}

bool mk_task_wants_abstention(const mk_eval_task *task)
{
    return mk_str_eq(task->kind, MK_STR("abstain"));
}

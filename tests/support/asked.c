/* asked.c — see asked.h. */
#include "asked.h"

#include <stdio.h>
#include <stdlib.h>

#include "api_json.h"

static void must(const asked *a, mk_code rc, const char *what)
{
    if (rc == MK_OK)
        return;
    fprintf(stderr, "%s: %s: %s\n", what, mk_code_name(rc), a->err.message);
    abort();
}

void asked_write(asked *a, const char *operations)
{
    const mk_api_origin origin = {.source = MK_STR("test")};
    mk_op *ops;
    size_t count;
    must(a, mk_api_read_ops(&a->arena, mk_str_of(operations), &origin, &ops, &count, &a->err), "operations");
    must(a, mk_store_write(a->store, ops, count, NULL, NULL, &a->err), "write");
    mk_view_close(a->view);
    must(a, mk_view_at(a->store, (mk_tt){MK_OPEN_END}, 0, &a->view, &a->err), "view");
}

void asked_open(asked *a, const char *operations)
{
    const mk_store_options options = {.mode = MK_OPEN_CREATE_WRITER, .manual = true};
    char path[TMPDIR_PATH_MAX];
    *a = (asked){.store = NULL};
    tmpdir_make(&a->dir);
    mk_arena_init(&a->arena, &mk_alloc_default);
    must(a, mk_store_open(tmpdir_join(&a->dir, "store", path), &options, &a->store, &a->err), "open");
    asked_write(a, operations);
}

void asked_close(asked *a)
{
    mk_view_close(a->view);
    must(a, mk_store_close(a->store, &a->err), "close");
    mk_arena_free(&a->arena);
    tmpdir_remove(&a->dir);
}

const mk_json *asked_run(asked *a, const char *plan, const mk_plan_run_options *options, mk_objects *objects,
                         mk_trace *trace)
{
    mk_plan_report report;
    mk_json *tree;
    must(a, mk_plan_check(mk_str_of(plan), NULL, &a->arena, &report, &a->err), "check");
    if (!report.has_plan) {
        fprintf(stderr, "no plan: %s\n", plan);
        abort();
    }
    must(a, mk_plan_run(a->store, &report.plan, options, objects, &a->arena, trace, &a->err), "run");
    must(a, mk_json_parse(&a->arena, trace->json, NULL, &tree, &a->err), "trace");
    return tree;
}

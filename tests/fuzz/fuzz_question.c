/* Questions: any bytes, over one small store. A reading is a plan that passes the check; everything else says
 * what is missing, or is a typed error. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/offline.h"
#include "plan/plan.h"
#include "store/store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[] = "/tmp/merkhet-fuzz-XXXXXX";
static mk_store *store;
static mk_view *view;

static void need(bool truth)
{
    if (!truth)
        abort();
}

static void remove_folder(void)
{
    char command[64];
    mk_view_close(view);
    need(mk_store_close(store, NULL) == MK_OK);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    need(system(command) == 0);
}

static void write_op(mk_op op)
{
    op.source = MK_STR("ingest");
    op.provenance_null = true;
    if (op.props.n == 0)
        op.props = MK_STR("{}");
    need(mk_store_write(store, &op, 1, NULL, NULL, NULL) == MK_OK);
}

static void make_store(void)
{
    static const char *const uids[] = {"n1", "n2", "South_Korea", "file:a/b.c", "the"};
    const mk_store_options options = {.mode = MK_OPEN_CREATE_WRITER, .manual = true};
    need(mkdtemp(folder) != NULL);
    need(mk_store_open(folder, &options, &store, NULL) == MK_OK);
    for (size_t i = 0; i < 5; i++)
        write_op((mk_op){.kind = MK_OP_ASSERT_NODE,
                         .uid = mk_str_of(uids[i]),
                         .label = MK_STR("Account"),
                         .props = MK_STR("{\"name\":\"Lee Ray\"}"),
                         .vt_e = MK_OPEN_END});
    for (int64_t i = 0; i < 20; i++)
        write_op((mk_op){.kind = MK_OP_ASSERT_EDGE,
                         .src = mk_str_of(uids[i % 5]),
                         .dst = mk_str_of(uids[(i + 1) % 5]),
                         .rel_type = i % 2 ? MK_STR("Make_a_visit") : MK_STR("RATE"),
                         .disc = MK_STR(""),
                         .props = MK_STR("{\"rating\":2}"),
                         .vt_s = 1330000000000000 + i * 86400000000,
                         .vt_e = 1330000000000001 + i * 86400000000});
    need(mk_view_at(store, (mk_tt){MK_OPEN_END}, 0, &view, NULL) == MK_OK);
    atexit(remove_folder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const mk_str ids[] = {MK_STR("n1")};
    const mk_offline_options options = {.allowed = ids, .allowed_count = 1};
    mk_offline_result result;
    mk_plan_report report;
    mk_arena arena;
    if (size > 2000)
        return 0;
    if (store == NULL)
        make_store();
    mk_arena_init(&arena, &mk_alloc_default);
    const mk_code rc =
        mk_offline_plan(store, view, (mk_str){(const char *)data, size}, &options, &arena, &result, NULL);
    need(rc == MK_OK || rc == MK_E_INVALID_ARG || rc == MK_E_LIMIT);
    if (rc == MK_OK && result.planned) {
        need(result.understood.n > 0);
        need(mk_plan_check(result.plan, NULL, &arena, &report, NULL) == MK_OK);
        need(report.valid);
    } else if (rc == MK_OK) {
        need(result.missing_count > 0);
    }
    mk_arena_free(&arena);
    return 0;
}

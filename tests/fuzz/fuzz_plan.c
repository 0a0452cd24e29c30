/* Plans: any bytes. Whatever they are, the check ends with a report that is JSON, and finds nothing in a plan
 * that it then calls invalid. */
#include <stdlib.h>

#include "plan/plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool truth)
{
    if (!truth)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const mk_view_stats stats = {.entities = 10,
                                 .node_versions = 10,
                                 .edge_versions = 1000,
                                 .has_extent = true,
                                 .vt_max = 1000,
                                 .max_out_degree = 9};
    const mk_str ids[] = {MK_STR("a")};
    const mk_plan_check_options options = {
        .stats = &stats, .ground = true, .allowed = ids, .allowed_count = 1};
    mk_plan_report report;
    mk_arena arena;
    mk_json *tree;
    mk_buf text;
    if (size > 65536)
        return 0;
    mk_arena_init(&arena, &mk_alloc_default);
    mk_buf_init(&text, &mk_alloc_default);
    need(mk_plan_check((mk_str){(const char *)data, size}, &options, &arena, &report, NULL) == MK_OK);
    need(report.valid == (report.has_plan && report.violation_count == 0));
    need(report.valid || report.violation_count > 0);
    mk_plan_repair_json(&report, &text);
    need(mk_json_parse(&arena, mk_buf_view(&text), NULL, &tree, NULL) == MK_OK);
    mk_buf_free(&text);
    mk_arena_free(&arena);
    return 0;
}

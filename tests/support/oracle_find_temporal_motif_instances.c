/* oracle_find_temporal_motif_instances.c — the list by three nested loops. Source: operators spec, 7.7. */
#include "oracle_motif.h"

static void args(const oracle_world *world, mk_buf *out)
{
    oracle_motif_args(world, out);
    oracle_gen_page(world, true, out);
    mk_buf_c(out, '}');
}

static void put_edge(mk_buf *out, const model_row *row)
{
    mk_buf_z(out, "{\"dst\":");
    mk_canon_string(out, row->dst);
    mk_buf_z(out, ",\"eid\":");
    mk_canon_string(out, row->identity);
    mk_buf_z(out, ",\"rel_type\":");
    mk_canon_string(out, row->rel_type);
    mk_buf_z(out, ",\"src\":");
    mk_canon_string(out, row->src);
    mk_buf_printf(out, ",\"t\":%lld}", (long long)row->vt_s);
}

static void put_instance(mk_buf *out, const model_row *const edges[3])
{
    for (int i = 0; i < 3; i++) {
        mk_buf_z(out, i == 0 ? "{\"edges\":[" : ",");
        put_edge(out, edges[i]);
    }
    mk_buf_z(out, "]}");
}

/* Calls for every instance in the order of its edges; writes those of the page, if there is one. */
static size_t go_through(const mk_json *args_, const model_list *list, const oracle_page *page, mk_buf *out)
{
    size_t count = 0;
    for (size_t i = 0; i < list->n; i++)
        for (size_t j = i + 1; j < list->n; j++)
            for (size_t k = j + 1; k < list->n; k++) {
                const model_row *edges[3] = {list->rows[i], list->rows[j], list->rows[k]};
                if (!oracle_motif_is_instance(args_, edges[0], edges[1], edges[2]))
                    continue;
                if (page != NULL && count >= page->from && count < page->to) {
                    if (count > page->from)
                        mk_buf_c(out, ',');
                    put_instance(out, edges);
                }
                count++;
            }
    return count;
}

static void answer(const oracle_world *world, const mk_json *args_, mk_arena *arena, oracle_answer *out)
{
    model_list list;
    oracle_page page;
    if (!oracle_motif_events(world, args_, arena, &list, out))
        return;
    const size_t total = go_through(args_, &list, NULL, NULL);
    if (!oracle_page_of(args_, total, 100, &page, out))
        return;
    oracle_put_cursor(&out->payload, &page);
    mk_buf_z(&out->payload, ",\"rows\":[");
    go_through(args_, &list, &page, &out->payload);
    mk_buf_printf(&out->payload, "],\"rows_total\":%zu,\"truncated\":%s}", total,
                  page.truncated ? "true" : "false");
}

const oracle oracle_find_temporal_motif_instances = {
    .op = "find_temporal_motif_instances", .args = args, .answer = answer};

/* oracle_snapshot_subgraph.c — random calls, answered by the model. Source: operators spec, 7.2. */
#include "oracle_model.h"

static void args(const oracle_world *world, mk_buf *out)
{
    mk_buf_z(out, "{\"seeds\":");
    oracle_gen_uids(world, 4, out);
    mk_buf_printf(out, ",\"t_valid\":%lld", (long long)oracle_gen_time(world));
    if (genops_chance(world->gen, 80))
        mk_buf_printf(out, ",\"hops\":%d", (int)genops_below(world->gen, 4));
    if (genops_chance(world->gen, 40)) {
        mk_buf_z(out, ",\"rel_types\":");
        oracle_gen_rel_types(world, out);
    }
    oracle_gen_as_of(world, out);
    oracle_gen_page(world, true, out);
    mk_buf_c(out, '}');
}

static void answer(const oracle_world *world, const mk_json *args_, mk_arena *arena, oracle_answer *out)
{
    (void)arena;
    oracle_from_model(world, "snapshot_subgraph", args_, out);
}

const oracle oracle_snapshot_subgraph = {
    .op = "snapshot_subgraph", .args = args, .answer = answer};

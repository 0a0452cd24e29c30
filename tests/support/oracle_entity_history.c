/* oracle_entity_history.c — random calls, answered by the model. Source: operators spec, 7.1. */
#include "oracle_model.h"

static void args(const oracle_world *world, mk_buf *out)
{
    mk_buf_z(out, "{\"uid\":");
    oracle_gen_uid(world, out);
    if (genops_chance(world->gen, 50))
        mk_buf_printf(out, ",\"include_edges\":%s", genops_chance(world->gen, 75) ? "true" : "false");
    oracle_gen_as_of(world, out);
    oracle_gen_page(world, true, out);
    mk_buf_c(out, '}');
}

static void answer(const oracle_world *world, const mk_json *args_, mk_arena *arena, oracle_answer *out)
{
    (void)arena;
    oracle_from_model(world, "entity_history", args_, out);
}

const oracle oracle_entity_history = {.op = "entity_history", .args = args, .answer = answer};
